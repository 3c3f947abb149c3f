// What differs between Fast DDS 2 (with Fast CDR 1) and Fast DDS 3 (with Fast CDR 2), under one name.
#pragma once

#include <fastdds/dds/publisher/DataWriter.hpp>
#include <fastdds/dds/publisher/qos/DataWriterQos.hpp>
#include <fastdds/dds/subscriber/qos/DataReaderQos.hpp>
#include <fastdds/dds/topic/TopicDataType.hpp>

#include <fastcdr/Cdr.h>
#include <fastcdr/FastBuffer.h>

#include <cstddef>
#include <cstdint>
#include <functional>

#if __has_include(<fastdds/config.hpp>)
#define PEER_FASTDDS 3
#include <fastdds/rtps/transport/UDPv4TransportDescriptor.hpp>
#include <fastdds/utils/IPLocator.hpp>
#include <fastdds/utils/md5.hpp>
#else
#define PEER_FASTDDS 2
#include <fastdds/rtps/transport/UDPv4TransportDescriptor.h>
#include <fastrtps/utils/IPLocator.h>
#include <fastrtps/utils/md5.h>
#endif

#if PEER_FASTDDS == 3
namespace rtps = eprosima::fastdds::rtps;
using eprosima::fastdds::MD5;
using eprosima::fastdds::dds::ReturnCode_t;
#else
namespace rtps = eprosima::fastrtps::rtps;
using eprosima::fastrtps::types::ReturnCode_t;
#endif

using eprosima::fastcdr::Cdr;
using eprosima::fastcdr::FastBuffer;

inline int number_of(ReturnCode_t code)
{
#if PEER_FASTDDS == 3
    return code;
#else
    return static_cast<int>(code());
#endif
}

inline bool is_ok(ReturnCode_t code)
{
    return number_of(code) == 0;
}

inline bool write(eprosima::fastdds::dds::DataWriter* writer, void* sample)
{
#if PEER_FASTDDS == 3
    return is_ok(writer->write(sample));
#else
    return writer->write(sample);
#endif
}

inline eprosima::fastdds::dds::DataRepresentationQosPolicy&
representation(eprosima::fastdds::dds::DataReaderQos& qos)
{
#if PEER_FASTDDS == 3
    return qos.representation();
#else
    return qos.type_consistency().representation;
#endif
}

template<typename Duration>
void set_heartbeat_period(eprosima::fastdds::dds::DataWriterQos& qos, Duration period)
{
#if PEER_FASTDDS == 3
    qos.reliable_writer_qos().times.heartbeat_period = period;
#else
    qos.reliable_writer_qos().times.heartbeatPeriod = period;
#endif
}

// Both types of the tests have the same octets with the alignment of either version of CDR.
inline Cdr cdr_on(FastBuffer& buffer, Cdr::Endianness order)
{
#if PEER_FASTDDS == 3
    return Cdr(buffer, order, eprosima::fastcdr::CdrVersion::DDS_CDR);
#else
    return Cdr(buffer, order, Cdr::DDS_CDR);
#endif
}

inline uint32_t length_of(const Cdr& cdr)
{
#if PEER_FASTDDS == 3
    return static_cast<uint32_t>(cdr.get_serialized_data_length());
#else
    return static_cast<uint32_t>(cdr.getSerializedDataLength());
#endif
}

inline void put_octets(Cdr& cdr, const uint8_t* octets, size_t count)
{
#if PEER_FASTDDS == 3
    cdr.serialize_array(octets, count);
#else
    cdr.serializeArray(octets, count);
#endif
}

inline void take_octets(Cdr& cdr, uint8_t* octets, size_t count)
{
#if PEER_FASTDDS == 3
    cdr.deserialize_array(octets, count);
#else
    cdr.deserializeArray(octets, count);
#endif
}

// A type of the tests: `Value` is the structure, `Coder` has the functions `encode`, `decode`,
// `size` and `key`, which do not know the version.
template<typename Value, typename Coder>
class Support : public eprosima::fastdds::dds::TopicDataType {
public:
    Support(const char* name, bool has_key, Coder coder) : coder_(coder)
    {
        // A first guess of the size; histories grow with what they get.
#if PEER_FASTDDS == 3
        set_name(name);
        max_serialized_type_size = 256;
        is_compute_key_provided = has_key;
#else
        setName(name);
        m_typeSize = 256;
        m_isGetKeyDefined = has_key;
        auto_fill_type_object(false);
        auto_fill_type_information(false);
#endif
    }

#if PEER_FASTDDS == 3
    using Representation = eprosima::fastdds::dds::DataRepresentationId_t;
    bool serialize(const void* const data, rtps::SerializedPayload_t& payload,
                   Representation) override
    {
        return coder_.encode(*static_cast<const Value*>(data), payload);
    }
    bool deserialize(rtps::SerializedPayload_t& payload, void* data) override
    {
        return coder_.decode(payload, *static_cast<Value*>(data));
    }
    uint32_t calculate_serialized_size(const void* const data, Representation) override
    {
        return coder_.size(*static_cast<const Value*>(data));
    }
    bool compute_key(rtps::SerializedPayload_t& payload, rtps::InstanceHandle_t& handle,
                     bool) override
    {
        Value value;
        return coder_.decode(payload, value) && coder_.key(value, handle);
    }
    bool compute_key(const void* const data, rtps::InstanceHandle_t& handle, bool) override
    {
        return coder_.key(*static_cast<const Value*>(data), handle);
    }
    void* create_data() override { return new Value; }
    void delete_data(void* data) override { delete static_cast<Value*>(data); }
#else
    bool serialize(void* data, rtps::SerializedPayload_t* payload) override
    {
        return coder_.encode(*static_cast<Value*>(data), *payload);
    }
    bool deserialize(rtps::SerializedPayload_t* payload, void* data) override
    {
        return coder_.decode(*payload, *static_cast<Value*>(data));
    }
    std::function<uint32_t()> getSerializedSizeProvider(void* data) override
    {
        return [this, data] { return coder_.size(*static_cast<Value*>(data)); };
    }
    bool getKey(void* data, rtps::InstanceHandle_t* handle, bool) override
    {
        return coder_.key(*static_cast<Value*>(data), *handle);
    }
    void* createData() override { return new Value; }
    void deleteData(void* data) override { delete static_cast<Value*>(data); }
#endif

private:
    Coder coder_;
};
