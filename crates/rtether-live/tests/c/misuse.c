/*
 * What goes wrong is refused: wrong arguments, sizes, orders and threads. Oracle: the statuses that the
 * header promises; and an address sanitizer or valgrind, which say what a status does not.
 */
#define _POSIX_C_SOURCE 200809L

#include "shape.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

static int failures;

#define EXPECT(expected, call)                                                             \
    do {                                                                                   \
        rtether_status got = (call);                                                       \
        if (got != (expected)) {                                                           \
            fprintf(stderr, "line %d: %s: status %d, not %d: %s\n", __LINE__, #call,       \
                    (int)got, (int)(expected), rtether_last_error());                      \
            failures += 1;                                                                 \
        }                                                                                  \
    } while (0)

static rtether_domain *open_domain(void)
{
    rtether_domain *domain = NULL;
    rtether_domain_options options;
    EXPECT(RTETHER_STATUS_OK, rtether_domain_options_init(&options, sizeof options));
    options.interface_address = "127.0.0.1";
    options.domain = 77;
    EXPECT(RTETHER_STATUS_OK, rtether_domain_create(&options, &domain));
    EXPECT(RTETHER_STATUS_OK, shape_register(domain));
    return domain;
}

/* Arguments of a call are evaluated in any order: the address may be taken before the failure. */
static void a_text_taken_before_a_failure(void)
{
    const char *before;
    EXPECT(RTETHER_STATUS_ARGUMENT, rtether_domain_options_init(NULL, 104));
    before = rtether_last_error();
    EXPECT(RTETHER_STATUS_ARGUMENT, rtether_domain_create(NULL, NULL));
    if (strlen(before) == 0 || before != rtether_last_error()) {
        fprintf(stderr, "the text has moved\n");
        failures += 1;
    }
}

static void without_handles(void)
{
    char text[8];
    size_t count;
    EXPECT(RTETHER_STATUS_ARGUMENT, rtether_domain_create(NULL, NULL));
    EXPECT(RTETHER_STATUS_ARGUMENT, rtether_domain_step(NULL, 0));
    EXPECT(RTETHER_STATUS_ARGUMENT, rtether_domain_run(NULL, 0));
    EXPECT(RTETHER_STATUS_OK, rtether_domain_destroy(NULL));
    rtether_domain_stop(NULL);
    EXPECT(RTETHER_STATUS_ARGUMENT, rtether_type_register(NULL, NULL));
    EXPECT(RTETHER_STATUS_ARGUMENT, rtether_type_options_init(NULL, sizeof(rtether_type_options)));
    EXPECT(RTETHER_STATUS_ARGUMENT, rtether_publication_create(NULL, NULL, NULL));
    EXPECT(RTETHER_STATUS_ARGUMENT, rtether_publication_send(NULL));
    EXPECT(RTETHER_STATUS_ARGUMENT, rtether_publication_write(NULL, NULL));
    EXPECT(RTETHER_STATUS_ARGUMENT, rtether_publication_matched(NULL, &count));
    EXPECT(RTETHER_STATUS_ARGUMENT, rtether_publication_mismatch(NULL, text, sizeof text));
    EXPECT(RTETHER_STATUS_OK, rtether_publication_destroy(NULL));
    EXPECT(RTETHER_STATUS_ARGUMENT, rtether_subscription_take(NULL, NULL, NULL));
    EXPECT(RTETHER_STATUS_OK, rtether_subscription_destroy(NULL));
    EXPECT(RTETHER_STATUS_ARGUMENT, rtether_cdr_put_u32(NULL, 1));
    EXPECT(RTETHER_STATUS_ARGUMENT, rtether_cdr_get_u32(NULL, NULL));
    EXPECT(RTETHER_STATUS_ARGUMENT, rtether_thread_place(-1, 100, 0));
    if (strlen(rtether_last_error()) == 0 || strlen(rtether_version()) == 0) {
        fprintf(stderr, "no words\n");
        failures += 1;
    }
}

static void sizes(rtether_domain *domain)
{
    struct {
        rtether_publication_options known;
        int32_t later[2];
    } newer;
    rtether_publication_options options;
    rtether_publication *publication = NULL;
    shape value;
    memset(&value, 0, sizeof value);
    EXPECT(RTETHER_STATUS_VERSION, rtether_publication_options_init(&options, 8));
    EXPECT(RTETHER_STATUS_VERSION, rtether_publication_options_init(&options, (size_t)-1));
    EXPECT(RTETHER_STATUS_OK, rtether_publication_options_init(&newer.known, sizeof newer));
    newer.known.topic = "sizes";
    newer.known.type_name = "ShapeType";
    /* A program that is newer than the library, and wants nothing new of it, is served. */
    EXPECT(RTETHER_STATUS_OK, rtether_publication_create(domain, &newer.known, &publication));
    EXPECT(RTETHER_STATUS_OK, rtether_publication_destroy(publication));
    newer.later[1] = 1;
    EXPECT(RTETHER_STATUS_VERSION, rtether_publication_create(domain, &newer.known, &publication));
    newer.known.size = 0;
    EXPECT(RTETHER_STATUS_VERSION, rtether_publication_create(domain, &newer.known, &publication));
    if (publication != NULL) {
        fprintf(stderr, "a publication that is not there\n");
        failures += 1;
    }
}

static void values(rtether_domain *domain)
{
    rtether_publication_options options;
    rtether_publication *it = NULL;
    const char *broken[] = {"\xff"};
    EXPECT(RTETHER_STATUS_OK, rtether_publication_options_init(&options, sizeof options));
    EXPECT(RTETHER_STATUS_ARGUMENT, rtether_publication_create(domain, &options, &it));
    options.topic = "values";
    options.type_name = "Unknown";
    EXPECT(RTETHER_STATUS_UNKNOWN_TYPE, rtether_publication_create(domain, &options, &it));
    options.type_name = "ShapeType";
    options.reliability = 2;
    EXPECT(RTETHER_STATUS_ARGUMENT, rtether_publication_create(domain, &options, &it));
    options.reliability = RTETHER_RELIABILITY_BEST_EFFORT;
    options.encoding = -1;
    EXPECT(RTETHER_STATUS_ARGUMENT, rtether_publication_create(domain, &options, &it));
    options.encoding = RTETHER_ENCODING_XCDR1;
    options.dscp = 64;
    EXPECT(RTETHER_STATUS_ARGUMENT, rtether_publication_create(domain, &options, &it));
    options.dscp = 0;
    options.persistence_ns = -1;
    EXPECT(RTETHER_STATUS_ARGUMENT, rtether_publication_create(domain, &options, &it));
    options.persistence_ns = RTETHER_INFINITE;
    options.partitions_len = 1;
    EXPECT(RTETHER_STATUS_ARGUMENT, rtether_publication_create(domain, &options, &it));
    options.partitions = broken;
    EXPECT(RTETHER_STATUS_ARGUMENT, rtether_publication_create(domain, &options, &it));
    /* A name is registered once. */
    EXPECT(RTETHER_STATUS_ARGUMENT, shape_register(domain));
}

/* RTPS 1.0 has fewer policies, and no instances. */
static void first_version(void)
{
    static int32_t word;
    static const char *const partitions[] = {"a"};
    rtether_domain *domain = NULL;
    rtether_domain_options where;
    rtether_type_options type;
    rtether_publication_options options;
    rtether_subscription_options read;
    rtether_publication *it = NULL;
    rtether_subscription *mine_too = NULL;
    EXPECT(RTETHER_STATUS_OK, rtether_domain_options_init(&where, sizeof where));
    where.interface_address = "127.0.0.1";
    where.domain = 77;
    where.protocol = 2;
    EXPECT(RTETHER_STATUS_ARGUMENT, rtether_domain_create(&where, &domain));
    where.protocol = RTETHER_PROTOCOL_RTPS2_5;
    where.discovery = 2;
    EXPECT(RTETHER_STATUS_ARGUMENT, rtether_domain_create(&where, &domain));
    where.protocol = RTETHER_PROTOCOL_RTPS1_0;
    where.discovery = RTETHER_DISCOVERY_ON_DEMAND;
    EXPECT(RTETHER_STATUS_ARGUMENT, rtether_domain_create(&where, &domain));
    where.discovery = RTETHER_DISCOVERY_ALL;
    EXPECT(RTETHER_STATUS_OK, rtether_domain_create(&where, &domain));
    EXPECT(RTETHER_STATUS_OK, rtether_type_options_init(&type, sizeof type));
    type.name = "word";
    type.max_size = sizeof word;
    EXPECT(RTETHER_STATUS_OK, rtether_type_register(domain, &type));

    EXPECT(RTETHER_STATUS_OK, rtether_publication_options_init(&options, sizeof options));
    options.topic = "first version";
    options.type_name = "word";
    options.encoding = RTETHER_ENCODING_XCDR2;
    EXPECT(RTETHER_STATUS_ARGUMENT, rtether_publication_create(domain, &options, &it));
    options.encoding = RTETHER_ENCODING_XCDR1;
    options.durability = RTETHER_DURABILITY_TRANSIENT_LOCAL;
    EXPECT(RTETHER_STATUS_ARGUMENT, rtether_publication_create(domain, &options, &it));
    options.durability = RTETHER_DURABILITY_VOLATILE;
    options.lifespan_ns = 1000000000;
    EXPECT(RTETHER_STATUS_ARGUMENT, rtether_publication_create(domain, &options, &it));
    options.lifespan_ns = RTETHER_INFINITE;
    options.partitions = partitions;
    options.partitions_len = 1;
    EXPECT(RTETHER_STATUS_ARGUMENT, rtether_publication_create(domain, &options, &it));
    if (strstr(rtether_last_error(), "RTPS 1.0 has no `partitions`") == NULL) {
        fprintf(stderr, "%s\n", rtether_last_error());
        failures += 1;
    }
    options.partitions_len = 0;
    EXPECT(RTETHER_STATUS_OK, rtether_publication_create(domain, &options, &it));
    EXPECT(RTETHER_STATUS_OK, rtether_publication_write(it, &word));
    EXPECT(RTETHER_STATUS_ARGUMENT, rtether_publication_dispose(it, &word));
    EXPECT(RTETHER_STATUS_ARGUMENT, rtether_publication_unregister(it, &word));
    EXPECT(RTETHER_STATUS_OK, rtether_publication_destroy(it));

    EXPECT(RTETHER_STATUS_OK, rtether_subscription_options_init(&read, sizeof read));
    read.topic = "first version";
    read.type_name = "word";
    read.mode = RTETHER_MODE_PULLED;
    read.durability = RTETHER_DURABILITY_TRANSIENT_LOCAL;
    EXPECT(RTETHER_STATUS_ARGUMENT, rtether_subscription_create(domain, &read, &mine_too));
    read.durability = RTETHER_DURABILITY_VOLATILE;
    EXPECT(RTETHER_STATUS_OK, rtether_subscription_create(domain, &read, &mine_too));
    EXPECT(RTETHER_STATUS_OK, rtether_domain_destroy(domain));
    EXPECT(RTETHER_STATUS_OK, rtether_subscription_destroy(mine_too));
}

/* A program from before the protocol could be chosen. */
static void before_protocols(void)
{
    rtether_domain *domain = NULL;
    struct {
        rtether_domain_options known;
        int64_t behind;
    } old;
    const size_t size = offsetof(rtether_domain_options, protocol);
    memset(&old, 0x55, sizeof old);
    EXPECT(RTETHER_STATUS_VERSION, rtether_domain_options_init(&old.known, size - 1));
    EXPECT(RTETHER_STATUS_OK, rtether_domain_options_init(&old.known, size));
    if (old.known.size != size || old.known.protocol != 0x55555555) {
        fprintf(stderr, "what an old program does not know was written\n");
        failures += 1;
    }
    old.known.interface_address = "127.0.0.1";
    old.known.domain = 77;
    EXPECT(RTETHER_STATUS_OK, rtether_domain_create(&old.known, &domain));
    EXPECT(RTETHER_STATUS_OK, rtether_domain_destroy(domain));
}

static int32_t refuse(const void *value, rtether_cdr_writer *writer, void *user)
{
    (void)value;
    (void)rtether_cdr_put_u8(writer, 1);
    return *(const int32_t *)user;
}

static rtether_domain *inner;
static rtether_publication *inner_publication;
static rtether_cdr_writer *gone;

static int32_t call_back(const void *value, rtether_cdr_writer *writer, void *user)
{
    size_t count;
    int32_t word = 0;
    (void)value;
    (void)user;
    gone = writer;
    EXPECT(RTETHER_STATUS_BUSY, rtether_domain_participants(inner, &count));
    EXPECT(RTETHER_STATUS_BUSY, rtether_domain_step(inner, 0));
    EXPECT(RTETHER_STATUS_BUSY, rtether_domain_run(inner, 1000000));
    EXPECT(RTETHER_STATUS_BUSY, rtether_domain_destroy(inner));
    EXPECT(RTETHER_STATUS_BUSY, rtether_publication_write(inner_publication, &word));
    EXPECT(RTETHER_STATUS_BUSY, rtether_publication_destroy(inner_publication));
    EXPECT(RTETHER_STATUS_ARGUMENT, rtether_cdr_put_octets(writer, NULL, 1));
    return 0;
}

static void writing(rtether_domain *domain)
{
    static int32_t word = 7;
    char small[4];
    rtether_type_options type;
    rtether_publication_options options;
    rtether_publication *it = NULL;
    shape value;

    EXPECT(RTETHER_STATUS_OK, rtether_type_options_init(&type, sizeof type));
    type.name = "none";
    EXPECT(RTETHER_STATUS_ARGUMENT, rtether_type_register(domain, &type));
    type.max_size = 4;
    type.serialize_key = refuse;
    EXPECT(RTETHER_STATUS_ARGUMENT, rtether_type_register(domain, &type));
    type.serialize_key = NULL;
    type.extensibility = 9;
    EXPECT(RTETHER_STATUS_ARGUMENT, rtether_type_register(domain, &type));
    type.extensibility = RTETHER_EXTENSIBILITY_FINAL;
    type.name = "refused";
    type.serialize = refuse;
    type.user = &word;
    EXPECT(RTETHER_STATUS_OK, rtether_type_register(domain, &type));
    type.name = "inner";
    type.serialize = call_back;
    EXPECT(RTETHER_STATUS_OK, rtether_type_register(domain, &type));

    EXPECT(RTETHER_STATUS_OK, rtether_publication_options_init(&options, sizeof options));
    options.topic = "writing";
    options.type_name = "refused";
    EXPECT(RTETHER_STATUS_OK, rtether_publication_create(domain, &options, &it));
    EXPECT(RTETHER_STATUS_ARGUMENT, rtether_publication_send(it)); /* without an instance */
    EXPECT(RTETHER_STATUS_REFUSED, rtether_publication_write(it, &word));
    EXPECT(RTETHER_STATUS_ARGUMENT, rtether_publication_mismatch(it, NULL, 0));
    EXPECT(RTETHER_STATUS_TOO_LONG, rtether_publication_mismatch(it, small, 0));
    EXPECT(RTETHER_STATUS_OK, rtether_publication_mismatch(it, small, sizeof small));
    EXPECT(RTETHER_STATUS_OK, rtether_publication_destroy(it));

    inner = domain;
    options.type_name = "inner";
    EXPECT(RTETHER_STATUS_OK, rtether_publication_create(domain, &options, &it));
    inner_publication = it;
    EXPECT(RTETHER_STATUS_REFUSED, rtether_publication_write(it, &word));
    EXPECT(RTETHER_STATUS_OK, rtether_publication_destroy(it));
    /* The writer is gone with the call, and so is the publication. */
    EXPECT(RTETHER_STATUS_ARGUMENT, rtether_cdr_put_u8(gone, 1));
    EXPECT(RTETHER_STATUS_ARGUMENT, rtether_cdr_put_string(gone, "text"));
    EXPECT(RTETHER_STATUS_ARGUMENT, rtether_publication_write(it, &word));

    memset(&value, 0, sizeof value);
    memset(value.color, 'x', SHAPE_COLOR_MAX);
    options.type_name = "ShapeType";
    EXPECT(RTETHER_STATUS_OK, rtether_publication_create(domain, &options, &it));
    value.octets_len = SHAPE_OCTETS_MAX;
    EXPECT(RTETHER_STATUS_OK, rtether_publication_write(it, &value));
    value.color[0] = '\xff';
    EXPECT(RTETHER_STATUS_REFUSED, rtether_publication_write(it, &value));
    EXPECT(RTETHER_STATUS_ARGUMENT, rtether_publication_dispose(it, NULL));
    EXPECT(RTETHER_STATUS_OK, rtether_publication_destroy(it));
}

static rtether_domain *own;
static rtether_subscription *mine;
static int deadlines;

static void on_receive(const rtether_info *info, void *value, void *user)
{
    (void)user;
    if (info->status != RTETHER_INFO_STATUS_DEADLINE || value == NULL) {
        fprintf(stderr, "something came\n");
        failures += 1;
    }
    EXPECT(RTETHER_STATUS_BUSY, rtether_domain_step(own, 0));
    EXPECT(RTETHER_STATUS_BUSY, rtether_domain_destroy(own));
    deadlines += 1;
    if (deadlines == 3) {
        /* A subscription may end itself. */
        EXPECT(RTETHER_STATUS_OK, rtether_subscription_destroy(mine));
        mine = NULL;
        rtether_domain_stop(own);
    }
}

static void *from_elsewhere(void *user)
{
    EXPECT(RTETHER_STATUS_BUSY, rtether_domain_step(own, 0));
    EXPECT(RTETHER_STATUS_BUSY, rtether_domain_destroy(own));
    rtether_domain_stop(own);
    return user;
}

/* As long as it runs, this thread is in the domain. */
static int32_t while_inside(void *value, void *user)
{
    pthread_t thread;
    (void)value;
    (void)user;
    if (pthread_create(&thread, NULL, from_elsewhere, NULL) != 0) {
        exit(2);
    }
    (void)pthread_join(thread, NULL);
    return 1;
}

static rtether_publication *waited_for;

/* Ends what the call that leads here waits for. */
static int32_t end_it(void *value, void *user)
{
    (void)value;
    (void)user;
    EXPECT(RTETHER_STATUS_OK, rtether_publication_destroy(waited_for));
    return 0;
}

static void callbacks_and_threads(void)
{
    static shape instance;
    rtether_subscription_options options;
    rtether_publication_options published;
    rtether_publication *publication = NULL;
    int64_t before = rtether_now();
    own = open_domain();
    EXPECT(RTETHER_STATUS_OK, rtether_subscription_options_init(&options, sizeof options));
    options.topic = "deadlines";
    options.type_name = "ShapeType";
    EXPECT(RTETHER_STATUS_ARGUMENT, rtether_subscription_create(own, &options, &mine));
    options.on_receive = on_receive;
    options.deadline_ns = 20000000;
    options.minimum_separation_ns = 30000000;
    EXPECT(RTETHER_STATUS_ARGUMENT, rtether_subscription_create(own, &options, &mine));
    options.minimum_separation_ns = 0;
    EXPECT(RTETHER_STATUS_OK, rtether_subscription_create(own, &options, &mine));
    EXPECT(RTETHER_STATUS_OK, rtether_domain_run(own, 10000000000));
    if (deadlines != 3 || rtether_now() - before < 60000000) {
        fprintf(stderr, "%d deadlines\n", deadlines);
        failures += 1;
    }
    (void)rtether_publication_options_init(&published, sizeof published);
    published.topic = "threads";
    published.type_name = "ShapeType";
    published.on_send = while_inside;
    EXPECT(RTETHER_STATUS_ARGUMENT, rtether_publication_create(own, &published, &publication));
    published.period_ns = 1000000;
    published.instance = &instance;
    EXPECT(RTETHER_STATUS_OK, rtether_publication_create(own, &published, &publication));
    /* The other thread asks in vain, and then stops this one. */
    EXPECT(RTETHER_STATUS_OK, rtether_domain_run(own, RTETHER_INFINITE));
    EXPECT(RTETHER_STATUS_OK, rtether_publication_destroy(publication));
    published.on_send = end_it;
    EXPECT(RTETHER_STATUS_OK, rtether_publication_create(own, &published, &waited_for));
    EXPECT(RTETHER_STATUS_TIMEOUT, rtether_publication_wait_matched(waited_for, 1, 50000000));
    EXPECT(RTETHER_STATUS_OK, rtether_domain_destroy(own));
}

static void orders(void)
{
    rtether_domain *domain = open_domain();
    rtether_publication_options published;
    rtether_subscription_options subscribed;
    rtether_publication *publication = NULL;
    rtether_subscription *subscription = NULL;
    rtether_info info;
    shape value;
    size_t count;
    memset(&value, 0, sizeof value);
    (void)rtether_publication_options_init(&published, sizeof published);
    (void)rtether_subscription_options_init(&subscribed, sizeof subscribed);
    published.topic = subscribed.topic = "orders";
    published.type_name = subscribed.type_name = "ShapeType";
    subscribed.mode = RTETHER_MODE_PULLED;
    EXPECT(RTETHER_STATUS_OK, rtether_publication_create(domain, &published, &publication));
    EXPECT(RTETHER_STATUS_OK, rtether_subscription_create(domain, &subscribed, &subscription));
    EXPECT(RTETHER_STATUS_EMPTY, rtether_subscription_take(subscription, &value, NULL));
    info.size = 3;
    EXPECT(RTETHER_STATUS_VERSION, rtether_subscription_take(subscription, &value, &info));
    EXPECT(RTETHER_STATUS_ARGUMENT, rtether_subscription_take(subscription, NULL, NULL));
    EXPECT(RTETHER_STATUS_TIMEOUT, rtether_publication_wait_matched(publication, 9, 1000000));
    /* The domain goes first; its handles answer until they go, too. */
    EXPECT(RTETHER_STATUS_OK, rtether_domain_destroy(domain));
    EXPECT(RTETHER_STATUS_CLOSED, rtether_publication_write(publication, &value));
    EXPECT(RTETHER_STATUS_CLOSED, rtether_publication_wait_acknowledged(publication, 0));
    EXPECT(RTETHER_STATUS_CLOSED, rtether_subscription_take(subscription, &value, NULL));
    EXPECT(RTETHER_STATUS_CLOSED, rtether_subscription_matched(subscription, &count));
    EXPECT(RTETHER_STATUS_OK, rtether_subscription_destroy(subscription));
    EXPECT(RTETHER_STATUS_OK, rtether_publication_destroy(publication));
}

/* Handles that are none, are none any more, or are of something else. */
static void wrong_handles(void)
{
    rtether_domain *domain = open_domain();
    rtether_domain *second;
    rtether_publication_options published;
    rtether_publication *publication = NULL;
    shape value;
    size_t count;
    char memory[256];
    uintptr_t bits;
    memset(&value, 0, sizeof value);
    memset(memory, 0x5a, sizeof memory);
    (void)rtether_publication_options_init(&published, sizeof published);
    published.topic = "wrong";
    published.type_name = "ShapeType";
    EXPECT(RTETHER_STATUS_OK, rtether_publication_create(domain, &published, &publication));
    EXPECT(RTETHER_STATUS_ARGUMENT, rtether_domain_step((rtether_domain *)publication, 0));
    EXPECT(RTETHER_STATUS_ARGUMENT, rtether_domain_destroy((rtether_domain *)publication));
    EXPECT(RTETHER_STATUS_ARGUMENT, rtether_publication_write((rtether_publication *)domain, &value));
    EXPECT(RTETHER_STATUS_ARGUMENT, rtether_subscription_destroy((rtether_subscription *)domain));
    EXPECT(RTETHER_STATUS_ARGUMENT, rtether_domain_step((rtether_domain *)memory, 0));
    EXPECT(RTETHER_STATUS_ARGUMENT, rtether_domain_destroy((rtether_domain *)memory));
    rtether_domain_stop((rtether_domain *)memory);
    EXPECT(RTETHER_STATUS_ARGUMENT, rtether_publication_create((rtether_domain *)memory, &published,
                                                               &publication));
    EXPECT(RTETHER_STATUS_ARGUMENT, rtether_cdr_put_u8((rtether_cdr_writer *)memory, 1));
    EXPECT(RTETHER_STATUS_ARGUMENT, rtether_cdr_get_u8((rtether_cdr_reader *)memory, NULL));
    if (rtether_cdr_remaining((rtether_cdr_reader *)memory) != 0) {
        fprintf(stderr, "octets of a reader that is none\n");
        failures += 1;
    }
    /* One bit that is wrong, whichever. */
    for (bits = 1; bits != 0; bits <<= 1) {
        rtether_domain *bent = (rtether_domain *)((uintptr_t)domain ^ bits);
        EXPECT(RTETHER_STATUS_ARGUMENT, rtether_domain_participants(bent, &count));
    }
    publication = NULL;
    EXPECT(RTETHER_STATUS_OK, rtether_publication_create(domain, &published, &publication));
    EXPECT(RTETHER_STATUS_OK, rtether_publication_destroy(publication));
    EXPECT(RTETHER_STATUS_ARGUMENT, rtether_publication_write(publication, &value));
    EXPECT(RTETHER_STATUS_ARGUMENT, rtether_publication_wait_matched(publication, 1, 0));
    EXPECT(RTETHER_STATUS_ARGUMENT, rtether_publication_destroy(publication));
    EXPECT(RTETHER_STATUS_OK, rtether_domain_destroy(domain));
    second = open_domain();
    EXPECT(RTETHER_STATUS_ARGUMENT, rtether_domain_step(domain, 0));
    EXPECT(RTETHER_STATUS_ARGUMENT, rtether_domain_destroy(domain));
    rtether_domain_stop(domain);
    EXPECT(RTETHER_STATUS_OK, rtether_domain_step(second, 0));
    EXPECT(RTETHER_STATUS_OK, rtether_domain_destroy(second));
}

/* A child has no use of what its parent has made, and leaves it alone. */
static void forks(void)
{
    rtether_domain *domain = open_domain();
    size_t count;
    int status = -1;
    pid_t child;
    (void)fflush(stdout);
    child = fork();
    if (child == 0) {
        rtether_domain *mine_alone;
        EXPECT(RTETHER_STATUS_CLOSED, rtether_domain_step(domain, 0));
        EXPECT(RTETHER_STATUS_CLOSED, rtether_domain_participants(domain, &count));
        EXPECT(RTETHER_STATUS_CLOSED, rtether_domain_destroy(domain));
        mine_alone = open_domain();
        EXPECT(RTETHER_STATUS_OK, rtether_domain_step(mine_alone, 0));
        EXPECT(RTETHER_STATUS_OK, rtether_domain_destroy(mine_alone));
        _exit(failures == 0 ? 0 : 1);
    }
    if (child < 0 || waitpid(child, &status, 0) != child || status != 0) {
        fprintf(stderr, "the child: %d\n", status);
        failures += 1;
    }
    EXPECT(RTETHER_STATUS_OK, rtether_domain_participants(domain, &count));
    EXPECT(RTETHER_STATUS_OK, rtether_domain_step(domain, 0));
    EXPECT(RTETHER_STATUS_OK, rtether_domain_destroy(domain));
}

static void places(void)
{
    rtether_domain *domain = NULL;
    rtether_domain_options options;
    EXPECT(RTETHER_STATUS_OK, rtether_domain_options_init(&options, sizeof options));
    options.domain = 233;
    EXPECT(RTETHER_STATUS_ARGUMENT, rtether_domain_create(&options, &domain));
    options.domain = 70000;
    EXPECT(RTETHER_STATUS_ARGUMENT, rtether_domain_create(&options, &domain));
    options.domain = 77;
    options.interface_address = "192.0.2.77"; /* of no host: RFC 5737 */
    EXPECT(RTETHER_STATUS_ARGUMENT, rtether_domain_create(&options, &domain));
    options.interface_address = "localhost";
    EXPECT(RTETHER_STATUS_ARGUMENT, rtether_domain_create(&options, &domain));
    options.interface_address = NULL;
    options.spin = 2;
    EXPECT(RTETHER_STATUS_ARGUMENT, rtether_domain_create(&options, &domain));
    options.spin = 0;
    options.datagram_max = 10;
    EXPECT(RTETHER_STATUS_ARGUMENT, rtether_domain_create(&options, &domain));
}

int main(void)
{
    rtether_domain *domain;
    a_text_taken_before_a_failure();
    without_handles();
    places();
    domain = open_domain();
    sizes(domain);
    values(domain);
    writing(domain);
    first_version();
    before_protocols();
    EXPECT(RTETHER_STATUS_ARGUMENT, rtether_domain_step(domain, -1));
    EXPECT(RTETHER_STATUS_OK, rtether_domain_step(domain, 0));
    EXPECT(RTETHER_STATUS_OK, rtether_domain_destroy(domain));
    callbacks_and_threads();
    orders();
    wrong_handles();
    forks();
    printf("%d failures\n", failures);
    return failures == 0 ? 0 : 1;
}
