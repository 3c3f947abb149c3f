// Asks with Fast DDS 3: finds a writer of a topic, lets Fast DDS ask its participant for the type
// (TypeLookup of DDS-XTypes 1.3), and reads samples without having known it.
//
//   peer-fastdds-ask TOPIC COUNT SECONDS [VENDOR]
//
// Up to 3.6 at least, Fast DDS ignores the type information of other vendors and asks none of their
// participants. With VENDOR, four hexadecimal digits, what is received from that vendor is read as
// if it came from Fast DDS: then it asks, and what it makes of the answer is seen.
//
// Prints the type in IDL, then each sample as JSON on one line, then `done`.
// Exit codes: 0 COUNT samples were read, 1 there were fewer, 2 wrong usage, 3 no type came.
#include <fastdds/dds/core/LoanableSequence.hpp>
#include <fastdds/dds/domain/DomainParticipant.hpp>
#include <fastdds/dds/domain/DomainParticipantFactory.hpp>
#include <fastdds/dds/domain/DomainParticipantListener.hpp>
#include <fastdds/dds/subscriber/DataReader.hpp>
#include <fastdds/dds/subscriber/SampleInfo.hpp>
#include <fastdds/dds/subscriber/Subscriber.hpp>
#include <fastdds/dds/topic/Topic.hpp>
#include <fastdds/dds/xtypes/dynamic_types/DynamicDataFactory.hpp>
#include <fastdds/dds/xtypes/dynamic_types/DynamicPubSubType.hpp>
#include <fastdds/dds/xtypes/dynamic_types/DynamicTypeBuilderFactory.hpp>
#include <fastdds/dds/xtypes/utils.hpp>
#include <fastdds/rtps/transport/UDPv4TransportDescriptor.hpp>

#include <dlfcn.h>
#include <sys/socket.h>

#include <chrono>
#include <condition_variable>
#include <cstdio>
#include <cstdlib>
#include <iostream>
#include <mutex>
#include <cstring>
#include <regex>
#include <sstream>
#include <string>
#include <thread>

using namespace eprosima::fastdds::dds;
using Clock = std::chrono::steady_clock;

namespace {

// The vendor whose messages are read as those of Fast DDS; 0: none.
unsigned foreign_vendor = 0;

// The vendor stands behind magic and version in the header of a message (RTPS 2.5, 9.4.4).
void adopt(unsigned char* message, ssize_t size)
{
    if (size >= 8 && std::memcmp(message, "RTPS", 4) == 0 &&
        (message[6] << 8 | message[7]) == foreign_vendor) {
        message[6] = 0x01;
        message[7] = 0x0f;
    }
}

// What discovery says of the writer. The callback only notes it: entities must not be made there.
class Discovery : public DomainParticipantListener {
public:
    explicit Discovery(std::string topic) : topic_(std::move(topic)) {}

    void on_data_writer_discovery(DomainParticipant*, eprosima::fastdds::rtps::WriterDiscoveryStatus,
                                  const PublicationBuiltinTopicData& info, bool&) override
    {
        if (info.topic_name.to_string() != topic_) {
            return;
        }
        std::lock_guard<std::mutex> guard(mutex_);
        is_found_ = true;
        name_ = info.type_name.to_string();
        information_ = info.type_information.type_information;
        found_.notify_all();
    }

    bool wait(Clock::time_point until)
    {
        std::unique_lock<std::mutex> guard(mutex_);
        return found_.wait_until(guard, until, [this] { return is_found_; });
    }

    const std::string& name() const { return name_; }
    const xtypes::TypeInformation& information() const { return information_; }

private:
    std::string topic_;
    std::mutex mutex_;
    std::condition_variable found_;
    bool is_found_ = false;
    std::string name_;
    xtypes::TypeInformation information_;
};

// UDP over IPv4 only: the built-in transports would add shared memory.
DomainParticipantQos participant_qos()
{
    DomainParticipantQos qos = PARTICIPANT_QOS_DEFAULT;
    qos.name("fastdds-ask");
    qos.transport().use_builtin_transports = false;
    qos.transport().user_transports.push_back(
        std::make_shared<eprosima::fastdds::rtps::UDPv4TransportDescriptor>());
    return qos;
}

// The type that the registry holds once Fast DDS has asked for it; none if it has not.
DynamicType::_ref_type asked(const xtypes::TypeInformation& information)
{
    auto& registry = DomainParticipantFactory::get_instance()->type_object_registry();
    const xtypes::TypeIdentifier& id = information.complete().typeid_with_size().type_id();
    xtypes::TypeObject object;
    if (registry.get_type_object(id, object) != RETCODE_OK) {
        return nullptr;
    }
    auto builder = DynamicTypeBuilderFactory::get_instance()->create_type_w_type_object(object);
    return builder ? builder->build() : nullptr;
}

// The type that was asked for, announced as its writer does. Fast DDS would describe it again, with
// other flags of sequences and arrays, and not match what it then takes for another type.
class AskedType : public DynamicPubSubType {
public:
    AskedType(DynamicType::_ref_type type, const xtypes::TypeInformation& information)
        : DynamicPubSubType(type), information_(information)
    {
    }

    void register_type_object_representation() override
    {
        type_identifiers_.type_identifier1(information_.complete().typeid_with_size().type_id());
        type_identifiers_.type_identifier2(information_.minimal().typeid_with_size().type_id());
    }

private:
    xtypes::TypeInformation information_;
};

void print(const DynamicData::_ref_type& data)
{
    std::ostringstream text;
    json_serialize(data, DynamicDataJsonFormat::EPROSIMA, text);
    std::cout << std::regex_replace(text.str(), std::regex("\n *"), "") << std::endl;
}

int read(DataReader* reader, const DynamicType::_ref_type& type, long count, Clock::time_point until)
{
    long seen = 0;
    while (seen < count && Clock::now() < until) {
        auto data = DynamicDataFactory::get_instance()->create_data(type);
        SampleInfo info;
        if (reader->take_next_sample(&data, &info) != RETCODE_OK) {
            std::this_thread::sleep_for(std::chrono::milliseconds(5));
        } else if (info.valid_data) {
            print(data);
            seen++;
        }
    }
    std::cout << "done" << std::endl;
    return seen < count ? 1 : 0;
}

int subscribe(DomainParticipant* participant, const char* topic, const Discovery& discovery,
              long count, Clock::time_point until)
{
    DynamicType::_ref_type type = asked(discovery.information());
    if (!type) {
        std::fprintf(stderr, "%s: nobody described it\n", discovery.name().c_str());
        return 3;
    }
    idl_serialize(type, std::cout);
    TypeSupport support(new AskedType(type, discovery.information()));
    support.register_type(participant, discovery.name());
    Topic* made = participant->create_topic(topic, discovery.name(), TOPIC_QOS_DEFAULT);
    Subscriber* subscriber = participant->create_subscriber(SUBSCRIBER_QOS_DEFAULT);
    DataReader* reader = subscriber->create_datareader(made, DATAREADER_QOS_DEFAULT);
    if (reader == nullptr) {
        std::fprintf(stderr, "Fast DDS made no reader\n");
        return 1;
    }
    return read(reader, type, count, until);
}

int ask(const char* topic, long count, Clock::time_point until)
{
    Discovery discovery(topic);
    auto* factory = DomainParticipantFactory::get_instance();
    DomainParticipant* participant =
        factory->create_participant(0, participant_qos(), &discovery, StatusMask::none());
    if (participant == nullptr) {
        std::fprintf(stderr, "Fast DDS made no participant\n");
        return 1;
    }
    int code = 3;
    if (discovery.wait(until)) {
        code = subscribe(participant, topic, discovery, count, until);
    } else {
        std::fprintf(stderr, "no writer of %s was found\n", topic);
    }
    // Deleted while it hears of an endpoint, a participant of Fast DDS 3.2 may wait for itself.
    std::this_thread::sleep_for(std::chrono::seconds(1));
    participant->delete_contained_entities();
    factory->delete_participant(participant);
    return code;
}

} // namespace

// In place of the library's: Fast DDS receives by it.
extern "C" ssize_t recvfrom(int socket, void* octets, size_t room, int flags, sockaddr* from,
                            socklen_t* from_size)
{
    using Receive = ssize_t (*)(int, void*, size_t, int, sockaddr*, socklen_t*);
    static auto real = reinterpret_cast<Receive>(dlsym(RTLD_NEXT, "recvfrom"));
    ssize_t size = real(socket, octets, room, flags, from, from_size);
    if (foreign_vendor != 0) {
        adopt(static_cast<unsigned char*>(octets), size);
    }
    return size;
}

int main(int argc, char** argv)
{
    if (argc != 4 && argc != 5) {
        std::fprintf(stderr, "usage: peer-fastdds-ask TOPIC COUNT SECONDS [VENDOR]\n");
        return 2;
    }
    if (argc == 5) {
        foreign_vendor = static_cast<unsigned>(std::strtoul(argv[4], nullptr, 16));
    }
    auto until = Clock::now() + std::chrono::seconds(std::atol(argv[3]));
    return ask(argv[1], std::atol(argv[2]), until);
}
