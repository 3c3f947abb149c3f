/* Peer on Cyclone DDS 0.10: publisher, subscriber, echo and ping for interoperability tests. */
#include "common.h"
#include "peer.h"

#include <dds/dds.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
    BATCH = 32,
    WAIT_MS = 50,
    FRAGMENT_OVERHEAD = 200 /* more than all headers around one fragment */
};

static void must(dds_return_t code, const char *what)
{
    if (code < 0)
        peer_fail(what, dds_strretcode(-code));
}

/* Starts the domain with a configuration of its own, so that none from outside counts:
 * UDP only (there is no other transport unless one is configured) and no shared memory. */
static void start_domain(const struct peer_options *o)
{
    char interface[128] = "";
    char peers[1024] = "";
    char sizes[128] = "";
    char text[2048];
    if (o->interface_address != NULL)
        snprintf(interface, sizeof interface,
                 "<Interfaces><NetworkInterface address=\"%s\"/></Interfaces>",
                 o->interface_address);
    if (o->datagram > 0)
        snprintf(sizes, sizeof sizes,
                 "<MaxMessageSize>%u B</MaxMessageSize><FragmentSize>%u B</FragmentSize>",
                 o->datagram, o->datagram - FRAGMENT_OVERHEAD);
    for (size_t i = 0; !o->multicast && i < o->address_count; i++) {
        size_t used = strlen(peers);
        snprintf(peers + used, sizeof peers - used, "<Peer Address=\"%s\"/>", o->addresses[i]);
    }
    snprintf(text, sizeof text,
             "<General>%s%s<Transport>udp</Transport>"
             "<AllowMulticast>%s</AllowMulticast></General>"
             "<Discovery><ParticipantIndex>auto</ParticipantIndex>"
             "<MaxAutoParticipantIndex>30</MaxAutoParticipantIndex>"
             "<Peers>%s</Peers></Discovery>"
             "<SharedMemory><Enable>false</Enable></SharedMemory>",
             interface, sizes, o->multicast ? "true" : "false", peers);
    must(dds_create_domain(o->domain, text), "starting the domain");
}

/* Policies that writers and readers have alike. */
static dds_qos_t *common_qos(const struct peer_options *o)
{
    dds_qos_t *qos = dds_create_qos();
    dds_history_kind_t history = o->depth == 0 ? DDS_HISTORY_KEEP_ALL : DDS_HISTORY_KEEP_LAST;
    int32_t depth = o->depth == 0 ? 1 : o->depth;
    dds_data_representation_id_t representation =
        o->xcdr == 2 ? DDS_DATA_REPRESENTATION_XCDR2 : DDS_DATA_REPRESENTATION_XCDR1;
    dds_qset_reliability(qos, o->reliable ? DDS_RELIABILITY_RELIABLE : DDS_RELIABILITY_BEST_EFFORT,
                         DDS_SECS(10));
    dds_qset_durability(
        qos, o->transient_local ? DDS_DURABILITY_TRANSIENT_LOCAL : DDS_DURABILITY_VOLATILE);
    dds_qset_history(qos, history, depth);
    if (o->deadline_ms > 0)
        dds_qset_deadline(qos, DDS_MSECS(o->deadline_ms));
    if (o->strength >= 0)
        dds_qset_ownership(qos, DDS_OWNERSHIP_EXCLUSIVE);
    dds_qset_data_representation(qos, 1, &representation);
    return qos;
}

static dds_qos_t *writer_qos(const struct peer_options *o)
{
    dds_qos_t *qos = common_qos(o);
    /* What a late reader gets is kept by the policy of the durability service. */
    dds_qset_durability_service(qos, 0,
                                o->depth == 0 ? DDS_HISTORY_KEEP_ALL : DDS_HISTORY_KEEP_LAST,
                                o->depth == 0 ? 1 : o->depth, DDS_LENGTH_UNLIMITED,
                                DDS_LENGTH_UNLIMITED, DDS_LENGTH_UNLIMITED);
    if (o->strength >= 0)
        dds_qset_ownership_strength(qos, o->strength);
    if (o->lifespan_ms > 0)
        dds_qset_lifespan(qos, DDS_MSECS(o->lifespan_ms));
    dds_qset_writer_data_lifecycle(qos, false);
    return qos;
}

static dds_qos_t *reader_qos(const struct peer_options *o)
{
    dds_qos_t *qos = common_qos(o);
    if (o->filter_ms > 0)
        dds_qset_time_based_filter(qos, DDS_MSECS(o->filter_ms));
    return qos;
}

static void on_publication_matched(dds_entity_t entity, const dds_publication_matched_status_t s,
                                   void *context)
{
    (void)entity;
    (void)context;
    peer_on_match((int32_t)s.current_count, s.current_count_change);
}

static void on_subscription_matched(dds_entity_t entity, const dds_subscription_matched_status_t s,
                                    void *context)
{
    (void)entity;
    (void)context;
    peer_on_match((int32_t)s.current_count, s.current_count_change);
}

/* Gives a policy the number it has in the standard. */
static void print_incompatible(uint32_t policy)
{
    if (policy == DDS_DATA_REPRESENTATION_QOS_POLICY_ID)
        policy = 23;
    else if (policy == DDS_TYPE_CONSISTENCY_ENFORCEMENT_QOS_POLICY_ID)
        policy = 24;
    peer_on_incompatible(policy);
}

static void on_offered_incompatible(dds_entity_t entity,
                                    const dds_offered_incompatible_qos_status_t s, void *context)
{
    (void)entity;
    (void)context;
    print_incompatible(s.last_policy_id);
}

static void on_requested_incompatible(dds_entity_t entity,
                                      const dds_requested_incompatible_qos_status_t s,
                                      void *context)
{
    (void)entity;
    (void)context;
    print_incompatible(s.last_policy_id);
}

static void on_offered_deadline(dds_entity_t entity, const dds_offered_deadline_missed_status_t s,
                                void *context)
{
    (void)entity;
    (void)s;
    (void)context;
    peer_line("deadline missed");
}

static void on_requested_deadline(dds_entity_t entity,
                                  const dds_requested_deadline_missed_status_t s, void *context)
{
    (void)entity;
    (void)s;
    (void)context;
    peer_line("deadline missed");
}

static dds_listener_t *listener(void)
{
    dds_listener_t *l = dds_create_listener(NULL);
    dds_lset_publication_matched(l, on_publication_matched);
    dds_lset_subscription_matched(l, on_subscription_matched);
    dds_lset_offered_incompatible_qos(l, on_offered_incompatible);
    dds_lset_requested_incompatible_qos(l, on_requested_incompatible);
    dds_lset_offered_deadline_missed(l, on_offered_deadline);
    dds_lset_requested_deadline_missed(l, on_requested_deadline);
    return l;
}

/* Cyclone DDS 0.10 offers XCDR1 for final types only; the final form has the same octets there. */
static dds_entity_t shape_topic(dds_entity_t participant, const struct peer_options *o)
{
    dds_topic_descriptor_t descriptor = o->xcdr == 2 ? ShapeType_desc : ShapeFinal_desc;
    descriptor.m_typename = "ShapeType";
    dds_entity_t topic = dds_create_topic(participant, &descriptor, o->topic, NULL, NULL);
    must(topic, "creating the topic");
    return topic;
}

/* Publisher or subscriber that carries the partition. */
static dds_entity_t group(dds_entity_t participant, const struct peer_options *o, bool writes)
{
    dds_qos_t *qos = dds_create_qos();
    if (o->partition != NULL)
        dds_qset_partition1(qos, o->partition);
    dds_entity_t entity = writes ? dds_create_publisher(participant, qos, NULL)
                                 : dds_create_subscriber(participant, qos, NULL);
    must(entity, "creating publisher or subscriber");
    dds_delete_qos(qos);
    return entity;
}

static void finish(dds_entity_t writer, const struct peer_options *o, const ShapeFinal *shape)
{
    if (o->final == PEER_FINAL_DISPOSE)
        must(dds_dispose(writer, shape), "disposing");
    if (o->final == PEER_FINAL_UNREGISTER)
        must(dds_unregister_instance(writer, shape), "unregistering");
    if (o->reliable && dds_wait_for_acks(writer, DDS_MSECS(PEER_ACKNOWLEDGE_MS)) < 0)
        fprintf(stderr, "peer: not everything was acknowledged\n");
}

static void publish(dds_entity_t participant, const struct peer_options *o)
{
    dds_qos_t *qos = writer_qos(o);
    dds_entity_t topic = shape_topic(participant, o);
    dds_entity_t writer =
        dds_create_writer(group(participant, o, true), topic, qos, listener());
    must(writer, "creating the writer");
    dds_delete_qos(qos);
    /* Both forms of the type are the same structure in memory. */
    ShapeFinal shape = {.shapesize = PEER_SHAPE_SIZE};
    snprintf(shape.color, sizeof shape.color, "%s", o->color);
    shape.additional_payload_size._buffer = malloc(o->size + 1);
    shape.additional_payload_size._length = o->size;
    shape.additional_payload_size._maximum = o->size;
    peer_fill(shape.additional_payload_size._buffer, o->size);
    peer_wait_match(o);
    int64_t next = peer_now();
    int64_t sent = 0;
    while ((o->count == 0 || sent < o->count) && !peer_over(o)) {
        shape.x = (int32_t)++sent;
        shape.y = 2 * shape.x;
        must(dds_write(writer, &shape), "writing");
        next += o->period_ms * 1000000;
        if (o->count == 0 || sent < o->count)
            peer_sleep_until(o, next);
    }
    finish(writer, o, &shape);
    peer_line("sent %lld", (long long)sent);
    while (o->for_ms > 0 && !peer_over(o))
        peer_sleep_until(o, peer_now() + 20000000);
}

static void print_samples(void **data, const dds_sample_info_t *infos, int32_t count)
{
    for (int32_t i = 0; i < count; i++) {
        const ShapeFinal *shape = data[i];
        if (infos[i].valid_data)
            peer_on_sample(shape->color, shape->x, shape->y, shape->shapesize,
                           shape->additional_payload_size._buffer,
                           shape->additional_payload_size._length);
        if (infos[i].sample_rank != 0 || infos[i].instance_state == DDS_IST_ALIVE)
            continue;
        peer_on_instance(shape->color, infos[i].instance_state == DDS_IST_NOT_ALIVE_DISPOSED
                                           ? PEER_DISPOSED
                                           : PEER_NO_WRITERS);
    }
}

static dds_entity_t waitset_for(dds_entity_t participant, dds_entity_t reader)
{
    dds_entity_t waitset = dds_create_waitset(participant);
    dds_entity_t condition = dds_create_readcondition(reader, DDS_ANY_STATE);
    must(waitset, "creating the waitset");
    must(dds_waitset_attach(waitset, condition, 0), "attaching the condition");
    return waitset;
}

static void subscribe(dds_entity_t participant, const struct peer_options *o)
{
    dds_qos_t *qos = reader_qos(o);
    dds_entity_t topic = shape_topic(participant, o);
    dds_entity_t reader =
        dds_create_reader(group(participant, o, false), topic, qos, listener());
    must(reader, "creating the reader");
    dds_delete_qos(qos);
    dds_entity_t waitset = waitset_for(participant, reader);
    while (!peer_over(o) && (o->count == 0 || peer_sample_count() < o->count)) {
        must(dds_waitset_wait(waitset, NULL, 0, DDS_MSECS(WAIT_MS)), "waiting");
        void *data[BATCH] = {NULL};
        dds_sample_info_t infos[BATCH];
        dds_return_t taken;
        while ((taken = dds_take(reader, data, infos, BATCH, BATCH)) > 0) {
            print_samples(data, infos, taken);
            dds_return_loan(reader, data, taken);
            data[0] = NULL;
        }
        must(taken, "taking");
    }
}

struct link {
    dds_entity_t writer, reader, waitset;
};

/* Writer on one topic and reader on the other: reliable, keep last 1, XCDR1. */
static struct link open_link(dds_entity_t participant, const char *out, const char *in)
{
    const struct peer_options plain = {.reliable = true, .depth = 1, .strength = -1, .xcdr = 1};
    dds_qos_t *to = writer_qos(&plain);
    dds_qos_t *from = reader_qos(&plain);
    dds_entity_t out_topic = dds_create_topic(participant, &Octets_desc, out, NULL, NULL);
    dds_entity_t in_topic = dds_create_topic(participant, &Octets_desc, in, NULL, NULL);
    struct link link = {.writer = dds_create_writer(participant, out_topic, to, listener()),
                        .reader = dds_create_reader(participant, in_topic, from, NULL)};
    must(link.writer, "creating the writer");
    must(link.reader, "creating the reader");
    link.waitset = waitset_for(participant, link.reader);
    dds_delete_qos(to);
    dds_delete_qos(from);
    return link;
}

static void echo(dds_entity_t participant, const struct peer_options *o)
{
    struct link link = open_link(participant, "PongTopic", "PingTopic");
    while (!peer_over(o)) {
        must(dds_waitset_wait(link.waitset, NULL, 0, DDS_MSECS(WAIT_MS)), "waiting");
        void *data[1] = {NULL};
        dds_sample_info_t info;
        dds_return_t taken;
        while ((taken = dds_take(link.reader, data, &info, 1, 1)) > 0) {
            if (info.valid_data)
                must(dds_write(link.writer, data[0]), "writing");
            dds_return_loan(link.reader, data, taken);
            data[0] = NULL;
        }
        must(taken, "taking");
    }
}

/* Waits for one answer; false if none came within five seconds or the end was asked for. */
static bool await_answer(const struct link *link, const struct peer_options *o)
{
    const int64_t give_up = peer_now() + 5000000000;
    while (peer_now() < give_up && !peer_over(o)) {
        must(dds_waitset_wait(link->waitset, NULL, 0, DDS_MSECS(WAIT_MS)), "waiting");
        void *data[1] = {NULL};
        dds_sample_info_t info;
        dds_return_t taken = dds_take(link->reader, data, &info, 1, 1);
        must(taken, "taking");
        if (taken > 0) {
            bool valid = info.valid_data;
            dds_return_loan(link->reader, data, taken);
            if (valid)
                return true;
        }
    }
    return false;
}

static void ping(dds_entity_t participant, const struct peer_options *o)
{
    struct link link = open_link(participant, "PingTopic", "PongTopic");
    Octets octets = {.payload = {._buffer = calloc(o->size + 1, 1),
                                 ._length = o->size,
                                 ._maximum = o->size}};
    const size_t total = (size_t)o->count + PEER_WARM_UP;
    int64_t *times = calloc(total, sizeof *times);
    dds_subscription_matched_status_t incoming = {.current_count = 0};
    while ((peer_matched() == 0 || incoming.current_count == 0) && !peer_over(o)) {
        peer_sleep_until(o, peer_now() + 5000000);
        dds_get_subscription_matched_status(link.reader, &incoming);
    }
    peer_sleep_until(o, peer_now() + PEER_OTHER_MATCH_NS);
    size_t done = 0;
    int64_t next = peer_now();
    while (done < total && !peer_over(o)) {
        int64_t begin = peer_now();
        must(dds_write(link.writer, &octets), "writing");
        if (!await_answer(&link, o))
            break;
        times[done++] = peer_now() - begin;
        next += o->period_ms * 1000000;
        if (o->period_ms > 0)
            peer_sleep_until(o, next);
    }
    if (done < total)
        peer_fail("ping", "an answer is missing");
    peer_print_rtt(times + PEER_WARM_UP, done - PEER_WARM_UP);
}

int main(int argc, char **argv)
{
    struct peer_options options;
    peer_parse(argc, argv, &options);
    start_domain(&options);
    dds_entity_t participant = dds_create_participant(options.domain, NULL, NULL);
    must(participant, "creating the participant");
    switch (options.verb) {
    case PEER_PUB: publish(participant, &options); break;
    case PEER_SUB: subscribe(participant, &options); break;
    case PEER_ECHO: echo(participant, &options); break;
    case PEER_PING: ping(participant, &options); break;
    }
    must(dds_delete(DDS_CYCLONEDDS_HANDLE), "ending");
    peer_line("done");
    return peer_exit_code();
}
