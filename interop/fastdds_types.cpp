#include "fastdds_types.hpp"

#include <fastcdr/Cdr.h>
#include <fastcdr/FastBuffer.h>
#include <fastcdr/exceptions/Exception.h>
#include <fastrtps/utils/md5.h>

#include <cstring>

#include "common.h"

using eprosima::fastcdr::Cdr;
using eprosima::fastcdr::FastBuffer;
using eprosima::fastrtps::rtps::InstanceHandle_t;
using eprosima::fastrtps::rtps::SerializedPayload_t;

namespace {

// Identifiers of the encapsulation, little-endian forms; the big-endian ones are one less.
constexpr uint16_t cdr_le = 0x0001;
constexpr uint16_t cdr2_le = 0x0007;
constexpr uint16_t delimited_cdr2_le = 0x0009;

constexpr uint32_t header_size = 4;

char* body_of(SerializedPayload_t* payload)
{
    return reinterpret_cast<char*>(payload->data) + header_size;
}

// Writes the encapsulation header and sets the length, filled up to a multiple of four.
void close(SerializedPayload_t* payload, uint16_t encapsulation, uint32_t body_size)
{
    uint32_t fill = (4 - body_size % 4) % 4;
    std::memset(body_of(payload) + body_size, 0, fill);
    payload->data[0] = static_cast<uint8_t>(encapsulation >> 8);
    payload->data[1] = static_cast<uint8_t>(encapsulation & 0xff);
    payload->data[2] = 0;
    payload->data[3] = static_cast<uint8_t>(fill);
    payload->length = header_size + body_size + fill;
    payload->encapsulation = CDR_LE;
}

uint16_t encapsulation_of(const SerializedPayload_t* payload)
{
    return static_cast<uint16_t>(payload->data[0] << 8 | payload->data[1]);
}

Cdr::Endianness order_of(uint16_t encapsulation)
{
    return (encapsulation & 1) != 0 ? Cdr::LITTLE_ENDIANNESS : Cdr::BIG_ENDIANNESS;
}

void write_octets(Cdr& cdr, const std::vector<uint8_t>& octets)
{
    cdr.serialize(static_cast<uint32_t>(octets.size()));
    cdr.serializeArray(octets.data(), octets.size());
}

void read_octets(Cdr& cdr, std::vector<uint8_t>& octets, uint32_t limit)
{
    uint32_t length = 0;
    cdr.deserialize(length);
    if (length > limit) {
        throw eprosima::fastcdr::exception::NotEnoughMemoryException("sequence too long");
    }
    octets.resize(length);
    cdr.deserializeArray(octets.data(), length);
}

uint32_t rounded(uint32_t size)
{
    return (size + 3) / 4 * 4;
}

// Length, characters and terminator, filled up to what the next four octets need.
uint32_t string_size(const std::string& text)
{
    return 4 + rounded(static_cast<uint32_t>(text.size()) + 1);
}

} // namespace

ShapeSupport::ShapeSupport(int xcdr) : xcdr_(xcdr)
{
    setName("ShapeType");
    // A first guess; histories grow with what they get.
    m_typeSize = 256;
    m_isGetKeyDefined = true;
    auto_fill_type_object(false);
    auto_fill_type_information(false);
}

bool ShapeSupport::serialize(void* data, SerializedPayload_t* payload)
{
    const Shape& shape = *static_cast<Shape*>(data);
    FastBuffer buffer(body_of(payload), payload->max_size - header_size);
    Cdr cdr(buffer, Cdr::LITTLE_ENDIANNESS, Cdr::DDS_CDR);
    try {
        if (xcdr_ == 2) {
            cdr.serialize(uint32_t{0}); // length of what follows, set below
        }
        cdr.serialize(shape.color);
        cdr.serialize(shape.x);
        cdr.serialize(shape.y);
        cdr.serialize(shape.shapesize);
        write_octets(cdr, shape.payload);
    } catch (const eprosima::fastcdr::exception::Exception&) {
        return false;
    }
    uint32_t size = static_cast<uint32_t>(cdr.getSerializedDataLength());
    if (xcdr_ == 2) {
        uint32_t inner = size - 4;
        for (int i = 0; i < 4; i++) {
            payload->data[header_size + i] = static_cast<uint8_t>(inner >> 8 * i);
        }
    }
    close(payload, xcdr_ == 2 ? delimited_cdr2_le : cdr_le, size);
    return true;
}

bool ShapeSupport::deserialize(SerializedPayload_t* payload, void* data)
{
    if (payload->length < header_size) {
        return false;
    }
    Shape& shape = *static_cast<Shape*>(data);
    shape = Shape();
    uint16_t encapsulation = encapsulation_of(payload);
    FastBuffer buffer(body_of(payload), payload->length - header_size);
    Cdr cdr(buffer, order_of(encapsulation), Cdr::DDS_CDR);
    try {
        if ((encapsulation | 1) == delimited_cdr2_le) {
            uint32_t length = 0;
            cdr.deserialize(length);
        } else if ((encapsulation | 1) != cdr_le && (encapsulation | 1) != cdr2_le) {
            return false;
        }
        cdr.deserialize(shape.color);
        if (cdr.getSerializedDataLength() + 12 > payload->length - header_size) {
            return true; // the key alone, as in a dispose
        }
        cdr.deserialize(shape.x);
        cdr.deserialize(shape.y);
        cdr.deserialize(shape.shapesize);
        read_octets(cdr, shape.payload, payload->length);
    } catch (const eprosima::fastcdr::exception::Exception&) {
        return false;
    }
    return true;
}

std::function<uint32_t()> ShapeSupport::getSerializedSizeProvider(void* data)
{
    const Shape* shape = static_cast<Shape*>(data);
    uint32_t delimiter = xcdr_ == 2 ? 4 : 0;
    return [shape, delimiter] {
        return header_size + delimiter + string_size(shape->color) + 16 +
               rounded(static_cast<uint32_t>(shape->payload.size()));
    };
}

bool ShapeSupport::getKey(void* data, InstanceHandle_t* handle, bool)
{
    // The key may be longer than sixteen octets, hence always the digest.
    const Shape& shape = *static_cast<Shape*>(data);
    std::vector<char> octets(string_size(shape.color));
    FastBuffer buffer(octets.data(), octets.size());
    Cdr cdr(buffer, Cdr::BIG_ENDIANNESS, Cdr::DDS_CDR);
    cdr.serialize(shape.color);
    MD5 md5;
    md5.init();
    md5.update(octets.data(), static_cast<MD5::size_type>(cdr.getSerializedDataLength()));
    md5.finalize();
    for (int i = 0; i < 16; i++) {
        handle->value[i] = md5.digest[i];
    }
    return true;
}

OctetsSupport::OctetsSupport()
{
    setName("Octets");
    m_typeSize = 256;
    m_isGetKeyDefined = false;
    auto_fill_type_object(false);
    auto_fill_type_information(false);
}

bool OctetsSupport::serialize(void* data, SerializedPayload_t* payload)
{
    FastBuffer buffer(body_of(payload), payload->max_size - header_size);
    Cdr cdr(buffer, Cdr::LITTLE_ENDIANNESS, Cdr::DDS_CDR);
    try {
        write_octets(cdr, static_cast<Octets*>(data)->payload);
    } catch (const eprosima::fastcdr::exception::Exception&) {
        return false;
    }
    close(payload, cdr_le, static_cast<uint32_t>(cdr.getSerializedDataLength()));
    return true;
}

bool OctetsSupport::deserialize(SerializedPayload_t* payload, void* data)
{
    if (payload->length < header_size) {
        return false;
    }
    uint16_t encapsulation = encapsulation_of(payload);
    FastBuffer buffer(body_of(payload), payload->length - header_size);
    Cdr cdr(buffer, order_of(encapsulation), Cdr::DDS_CDR);
    try {
        read_octets(cdr, static_cast<Octets*>(data)->payload, payload->length);
    } catch (const eprosima::fastcdr::exception::Exception&) {
        return false;
    }
    return true;
}

std::function<uint32_t()> OctetsSupport::getSerializedSizeProvider(void* data)
{
    const Octets* octets = static_cast<Octets*>(data);
    return [octets] {
        return header_size + 4 + rounded(static_cast<uint32_t>(octets->payload.size()));
    };
}
