// The two types of the tests for Fast DDS 2, written by hand: it has no XCDR2 of its own, and a
// type made this way carries no type information into discovery.
#pragma once

#include <fastdds/dds/topic/TopicDataType.hpp>

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

struct Shape {
    std::string color;
    int32_t x = 0;
    int32_t y = 0;
    int32_t shapesize = 0;
    std::vector<uint8_t> payload;
};

struct Octets {
    std::vector<uint8_t> payload;
};

// `ShapeType`, appendable: plain CDR as XCDR1, delimited CDR2 as XCDR2.
class ShapeSupport : public eprosima::fastdds::dds::TopicDataType {
public:
    explicit ShapeSupport(int xcdr);
    bool serialize(void* data, eprosima::fastrtps::rtps::SerializedPayload_t* payload) override;
    bool deserialize(eprosima::fastrtps::rtps::SerializedPayload_t* payload, void* data) override;
    std::function<uint32_t()> getSerializedSizeProvider(void* data) override;
    bool getKey(void* data, eprosima::fastrtps::rtps::InstanceHandle_t* handle, bool) override;
    void* createData() override { return new Shape; }
    void deleteData(void* data) override { delete static_cast<Shape*>(data); }

private:
    int xcdr_;
};

// `Octets`, final and without a key, in XCDR1.
class OctetsSupport : public eprosima::fastdds::dds::TopicDataType {
public:
    OctetsSupport();
    bool serialize(void* data, eprosima::fastrtps::rtps::SerializedPayload_t* payload) override;
    bool deserialize(eprosima::fastrtps::rtps::SerializedPayload_t* payload, void* data) override;
    std::function<uint32_t()> getSerializedSizeProvider(void* data) override;
    bool getKey(void*, eprosima::fastrtps::rtps::InstanceHandle_t*, bool) override { return false; }
    void* createData() override { return new Octets; }
    void deleteData(void* data) override { delete static_cast<Octets*>(data); }
};
