// Peer on Fast DDS 2 or 3: publisher, subscriber, echo and ping for interoperability tests.
#include "common.h"
#include "fastdds_types.hpp"

#include <fastdds/dds/core/LoanableSequence.hpp>
#include <fastdds/dds/core/condition/WaitSet.hpp>
#include <fastdds/dds/domain/DomainParticipant.hpp>
#include <fastdds/dds/domain/DomainParticipantFactory.hpp>
#include <fastdds/dds/publisher/DataWriter.hpp>
#include <fastdds/dds/publisher/DataWriterListener.hpp>
#include <fastdds/dds/publisher/Publisher.hpp>
#include <fastdds/dds/subscriber/DataReader.hpp>
#include <fastdds/dds/subscriber/DataReaderListener.hpp>
#include <fastdds/dds/subscriber/SampleInfo.hpp>
#include <fastdds/dds/subscriber/Subscriber.hpp>

#include <cstdio>
#include <map>
#include <string>

using namespace eprosima::fastdds::dds;

namespace {

constexpr int wait_ms = 50;

Duration_t milliseconds(int64_t ms)
{
    return Duration_t(static_cast<int32_t>(ms / 1000), static_cast<uint32_t>(ms % 1000 * 1000000));
}

template<typename T>
T* made(T* entity, const char* what)
{
    if (entity == nullptr) {
        peer_fail(what, "Fast DDS made none");
    }
    return entity;
}

void must(ReturnCode_t code, const char* what)
{
    if (!is_ok(code)) {
        peer_fail(what, ("code " + std::to_string(number_of(code))).c_str());
    }
}

class WriterListener : public DataWriterListener {
public:
    void on_publication_matched(DataWriter*, const PublicationMatchedStatus& status) override
    {
        peer_on_match(status.current_count, status.current_count_change);
    }
    void on_offered_incompatible_qos(DataWriter*, const OfferedIncompatibleQosStatus& status) override
    {
        peer_on_incompatible(status.last_policy_id);
    }
    void on_offered_deadline_missed(DataWriter*, const OfferedDeadlineMissedStatus&) override
    {
        peer_line("deadline missed");
    }
};

class ReaderListener : public DataReaderListener {
public:
    void on_subscription_matched(DataReader*, const SubscriptionMatchedStatus& status) override
    {
        peer_on_match(status.current_count, status.current_count_change);
    }
    void on_requested_incompatible_qos(DataReader*,
                                       const RequestedIncompatibleQosStatus& status) override
    {
        peer_on_incompatible(status.last_policy_id);
    }
    void on_requested_deadline_missed(DataReader*, const RequestedDeadlineMissedStatus&) override
    {
        peer_line("deadline missed");
    }
};

// UDP over IPv4 only: the built-in transports would add shared memory.
DomainParticipantQos participant_qos(const peer_options& o)
{
    auto udp = std::make_shared<eprosima::fastdds::rtps::UDPv4TransportDescriptor>();
    if (o.interface_address != nullptr) {
        udp->interfaceWhiteList.push_back(o.interface_address);
    }
    if (o.datagram > 0) {
        udp->maxMessageSize = o.datagram;
    }
    DomainParticipantQos qos = PARTICIPANT_QOS_DEFAULT;
    qos.name("peer");
    qos.transport().use_builtin_transports = false;
    qos.transport().user_transports.push_back(udp);
    if (!o.multicast) {
        // An empty locator in the unicast list turns the multicast ones of discovery off.
        auto& builtin = qos.wire_protocol().builtin;
        builtin.metatrafficUnicastLocatorList.push_back(rtps::Locator_t());
        for (size_t i = 0; i < o.address_count; i++) {
            rtps::Locator_t peer;
            peer.kind = LOCATOR_KIND_UDPv4;
            rtps::IPLocator::setIPv4(peer, o.addresses[i]);
            builtin.initialPeersList.push_back(peer);
        }
    }
    return qos;
}

DataWriterQos writer_qos(const peer_options& o)
{
    DataWriterQos qos = DATAWRITER_QOS_DEFAULT;
    qos.reliability().kind = o.reliable ? RELIABLE_RELIABILITY_QOS : BEST_EFFORT_RELIABILITY_QOS;
    qos.reliability().max_blocking_time = milliseconds(10000);
    qos.durability().kind =
        o.transient_local ? TRANSIENT_LOCAL_DURABILITY_QOS : VOLATILE_DURABILITY_QOS;
    qos.history().kind = o.depth == 0 ? KEEP_ALL_HISTORY_QOS : KEEP_LAST_HISTORY_QOS;
    qos.history().depth = o.depth == 0 ? 1 : o.depth;
    if (o.deadline_ms > 0) {
        qos.deadline().period = milliseconds(o.deadline_ms);
    }
    if (o.lifespan_ms > 0) {
        qos.lifespan().duration = milliseconds(o.lifespan_ms);
    }
    if (o.strength >= 0) {
        qos.ownership().kind = EXCLUSIVE_OWNERSHIP_QOS;
        qos.ownership_strength().value = static_cast<uint32_t>(o.strength);
    }
    qos.writer_data_lifecycle().autodispose_unregistered_instances = false;
    qos.representation().m_value.push_back(o.xcdr == 2 ? XCDR2_DATA_REPRESENTATION
                                                       : XCDR_DATA_REPRESENTATION);
    qos.endpoint().history_memory_policy = rtps::PREALLOCATED_WITH_REALLOC_MEMORY_MODE;
    qos.data_sharing().off();
    return qos;
}

DataReaderQos reader_qos(const peer_options& o)
{
    DataReaderQos qos = DATAREADER_QOS_DEFAULT;
    qos.reliability().kind = o.reliable ? RELIABLE_RELIABILITY_QOS : BEST_EFFORT_RELIABILITY_QOS;
    qos.durability().kind =
        o.transient_local ? TRANSIENT_LOCAL_DURABILITY_QOS : VOLATILE_DURABILITY_QOS;
    qos.history().kind = o.depth == 0 ? KEEP_ALL_HISTORY_QOS : KEEP_LAST_HISTORY_QOS;
    qos.history().depth = o.depth == 0 ? 1 : o.depth;
    if (o.deadline_ms > 0) {
        qos.deadline().period = milliseconds(o.deadline_ms);
    }
    if (o.filter_ms > 0) {
        qos.time_based_filter().minimum_separation = milliseconds(o.filter_ms);
    }
    if (o.strength >= 0) {
        qos.ownership().kind = EXCLUSIVE_OWNERSHIP_QOS;
    }
    representation(qos).m_value.push_back(o.xcdr == 2 ? XCDR2_DATA_REPRESENTATION
                                                      : XCDR_DATA_REPRESENTATION);
    qos.endpoint().history_memory_policy = rtps::PREALLOCATED_WITH_REALLOC_MEMORY_MODE;
    qos.data_sharing().off();
    return qos;
}

Publisher* publisher(DomainParticipant* participant, const peer_options& o)
{
    PublisherQos qos = PUBLISHER_QOS_DEFAULT;
    if (o.partition != nullptr) {
        qos.partition().push_back(o.partition);
    }
    return made(participant->create_publisher(qos), "creating the publisher");
}

Subscriber* subscriber(DomainParticipant* participant, const peer_options& o)
{
    SubscriberQos qos = SUBSCRIBER_QOS_DEFAULT;
    if (o.partition != nullptr) {
        qos.partition().push_back(o.partition);
    }
    return made(participant->create_subscriber(qos), "creating the subscriber");
}

Topic* topic(DomainParticipant* participant, const char* name, const TypeSupport& type)
{
    must(type.register_type(participant), "registering the type");
    return made(participant->create_topic(name, type.get_type_name(), TOPIC_QOS_DEFAULT),
                "creating the topic");
}

// What the listeners do not take stays for the waitset: the arrival of data.
StatusMask listened()
{
    StatusMask mask = StatusMask::all();
    return mask >> StatusMask::data_available() >> StatusMask::data_on_readers();
}

void finish(DataWriter* writer, const peer_options& o, Shape& shape)
{
    if (o.final == PEER_FINAL_DISPOSE) {
        must(writer->dispose(&shape, HANDLE_NIL), "disposing");
    }
    if (o.final == PEER_FINAL_UNREGISTER) {
        must(writer->unregister_instance(&shape, HANDLE_NIL), "unregistering");
    }
    if (o.reliable &&
        !is_ok(writer->wait_for_acknowledgments(milliseconds(PEER_ACKNOWLEDGE_MS)))) {
        std::fprintf(stderr, "peer: not everything was acknowledged\n");
    }
}

void publish(DomainParticipant* participant, const peer_options& o, WriterListener& listener)
{
    Topic* square = topic(participant, o.topic, TypeSupport(new ShapeSupport(o.xcdr)));
    DataWriterQos qos = writer_qos(o);
    // The default is 3 s: a lost last sample and one lost heartbeat take longer than a case lasts.
    set_heartbeat_period(qos, milliseconds(100));
    DataWriter* writer = made(publisher(participant, o)->create_datawriter(square, qos, &listener,
                                                                           listened()),
                              "creating the writer");
    Shape shape;
    shape.color = o.color;
    shape.shapesize = PEER_SHAPE_SIZE;
    shape.payload.resize(o.size);
    peer_fill(shape.payload.data(), o.size);
    peer_wait_match(&o);
    int64_t next = peer_now();
    int64_t sent = 0;
    while ((o.count == 0 || sent < o.count) && !peer_over(&o)) {
        shape.x = static_cast<int32_t>(++sent);
        shape.y = 2 * shape.x;
        if (!write(writer, &shape)) {
            peer_fail("writing", "refused");
        }
        next += o.period_ms * 1000000;
        if (o.count == 0 || sent < o.count) {
            peer_sleep_until(&o, next);
        }
    }
    finish(writer, o, shape);
    peer_line("sent %lld", static_cast<long long>(sent));
    while (o.for_ms > 0 && !peer_over(&o)) {
        peer_sleep_until(&o, peer_now() + 20000000);
    }
}

// The keys of instances: Fast DDS cannot tell the key that belongs to a handle.
using Colors = std::map<InstanceHandle_t, std::string>;

void print_samples(const LoanableSequence<Shape>& shapes, const SampleInfoSeq& infos,
                   Colors& colors)
{
    for (LoanableCollection::size_type i = 0; i < shapes.length(); i++) {
        const SampleInfo& info = infos[i];
        if (info.valid_data) {
            const Shape& shape = shapes[i];
            colors[info.instance_handle] = shape.color;
            peer_on_sample(shape.color.c_str(), shape.x, shape.y, shape.shapesize,
                           shape.payload.data(), static_cast<uint32_t>(shape.payload.size()));
        }
        if (info.sample_rank != 0 || info.instance_state == ALIVE_INSTANCE_STATE) {
            continue;
        }
        peer_on_instance(colors[info.instance_handle].c_str(),
                         info.instance_state == NOT_ALIVE_DISPOSED_INSTANCE_STATE
                             ? PEER_DISPOSED
                             : PEER_NO_WRITERS);
    }
}

// Waits for the arrival of data; wakes up in between to look for the end.
class Arrival {
public:
    explicit Arrival(DataReader* reader)
    {
        StatusCondition& condition = reader->get_statuscondition();
        must(condition.set_enabled_statuses(StatusMask::data_available()), "choosing statuses");
        must(waitset_.attach_condition(condition), "attaching the condition");
    }
    void wait()
    {
        ConditionSeq active;
        waitset_.wait(active, milliseconds(wait_ms));
    }

private:
    WaitSet waitset_;
};

void subscribe(DomainParticipant* participant, const peer_options& o, ReaderListener& listener)
{
    Topic* square = topic(participant, o.topic, TypeSupport(new ShapeSupport(o.xcdr)));
    DataReader* reader = made(subscriber(participant, o)->create_datareader(square, reader_qos(o),
                                                                            &listener, listened()),
                              "creating the reader");
    Arrival arrival(reader);
    Colors colors;
    while (!peer_over(&o) && (o.count == 0 || peer_sample_count() < o.count)) {
        arrival.wait();
        LoanableSequence<Shape> shapes;
        SampleInfoSeq infos;
        while (is_ok(reader->take(shapes, infos))) {
            print_samples(shapes, infos, colors);
            reader->return_loan(shapes, infos);
        }
    }
}

struct Link {
    DataWriter* writer;
    DataReader* reader;
};

// Writer on one topic and reader on the other: reliable, keep last 1, XCDR1.
Link open_link(DomainParticipant* participant, const char* out, const char* in,
               WriterListener& listener)
{
    peer_options plain = {};
    plain.reliable = true;
    plain.depth = 1;
    plain.strength = -1;
    plain.xcdr = 1;
    TypeSupport type(new OctetsSupport);
    Topic* out_topic = topic(participant, out, type);
    Topic* in_topic = topic(participant, in, type);
    return {made(publisher(participant, plain)->create_datawriter(out_topic, writer_qos(plain),
                                                                  &listener, listened()),
                 "creating the writer"),
            made(subscriber(participant, plain)->create_datareader(in_topic, reader_qos(plain)),
                 "creating the reader")};
}

void echo(DomainParticipant* participant, const peer_options& o, WriterListener& listener)
{
    Link link = open_link(participant, "PongTopic", "PingTopic", listener);
    Arrival arrival(link.reader);
    Octets octets;
    SampleInfo info;
    while (!peer_over(&o)) {
        arrival.wait();
        while (is_ok(link.reader->take_next_sample(&octets, &info))) {
            if (info.valid_data && !write(link.writer, &octets)) {
                peer_fail("writing", "refused");
            }
        }
    }
}

// Waits for one answer; false if none came within five seconds or the end was asked for.
bool await_answer(DataReader* reader, Arrival& arrival, Octets& octets, const peer_options& o)
{
    const int64_t give_up = peer_now() + 5000000000;
    SampleInfo info;
    while (peer_now() < give_up && !peer_over(&o)) {
        arrival.wait();
        if (is_ok(reader->take_next_sample(&octets, &info)) && info.valid_data) {
            return true;
        }
    }
    return false;
}

void ping(DomainParticipant* participant, const peer_options& o, WriterListener& listener)
{
    Link link = open_link(participant, "PingTopic", "PongTopic", listener);
    Arrival arrival(link.reader);
    Octets question;
    Octets answer;
    question.payload.resize(o.size);
    const size_t total = static_cast<size_t>(o.count) + PEER_WARM_UP;
    std::vector<int64_t> times;
    times.reserve(total);
    SubscriptionMatchedStatus incoming;
    while ((peer_matched() == 0 || incoming.current_count == 0) && !peer_over(&o)) {
        peer_sleep_until(&o, peer_now() + 5000000);
        link.reader->get_subscription_matched_status(incoming);
    }
    peer_sleep_until(&o, peer_now() + PEER_OTHER_MATCH_NS);
    int64_t next = peer_now();
    while (times.size() < total && !peer_over(&o)) {
        int64_t begin = peer_now();
        if (!write(link.writer, &question)) {
            peer_fail("writing", "refused");
        }
        if (!await_answer(link.reader, arrival, answer, o)) {
            break;
        }
        times.push_back(peer_now() - begin);
        next += o.period_ms * 1000000;
        if (o.period_ms > 0) {
            peer_sleep_until(&o, next);
        }
    }
    if (times.size() < total) {
        peer_fail("ping", "an answer is missing");
    }
    peer_print_rtt(times.data() + PEER_WARM_UP, times.size() - PEER_WARM_UP);
}

} // namespace

int main(int argc, char** argv)
{
    peer_options options;
    peer_parse(argc, argv, &options);
    WriterListener writer_listener;
    ReaderListener reader_listener;
    auto* factory = DomainParticipantFactory::get_instance();
    DomainParticipant* participant =
        made(factory->create_participant(options.domain, participant_qos(options)),
             "creating the participant");
    switch (options.verb) {
    case PEER_PUB: publish(participant, options, writer_listener); break;
    case PEER_SUB: subscribe(participant, options, reader_listener); break;
    case PEER_ECHO: echo(participant, options, writer_listener); break;
    case PEER_PING: ping(participant, options, writer_listener); break;
    }
    must(participant->delete_contained_entities(), "ending");
    must(factory->delete_participant(participant), "ending");
    peer_line("done");
    return peer_exit_code();
}
