#include "fastdds_types.hpp"

#include <fastcdr/exceptions/Exception.h>
#include <fastcdr/exceptions/NotEnoughMemoryException.h>

#include <cstring>

#include "common.h"

using rtps::InstanceHandle_t;
using rtps::SerializedPayload_t;

namespace {

// Identifiers of the encapsulation, little-endian forms; the big-endian ones are one less.
constexpr uint16_t cdr_le = 0x0001;
constexpr uint16_t cdr2_le = 0x0007;
constexpr uint16_t delimited_cdr2_le = 0x0009;

constexpr uint32_t header_size = 4;

char* body_of(const SerializedPayload_t& payload)
{
    return reinterpret_cast<char*>(payload.data) + header_size;
}

// Writes the encapsulation header and sets the length, filled up to a multiple of four.
void close(SerializedPayload_t& payload, uint16_t encapsulation, uint32_t body_size)
{
    uint32_t fill = (4 - body_size % 4) % 4;
    std::memset(body_of(payload) + body_size, 0, fill);
    payload.data[0] = static_cast<uint8_t>(encapsulation >> 8);
    payload.data[1] = static_cast<uint8_t>(encapsulation & 0xff);
    payload.data[2] = 0;
    payload.data[3] = static_cast<uint8_t>(fill);
    payload.length = header_size + body_size + fill;
    payload.encapsulation = CDR_LE;
}

uint16_t encapsulation_of(const SerializedPayload_t& payload)
{
    return static_cast<uint16_t>(payload.data[0] << 8 | payload.data[1]);
}

Cdr::Endianness order_of(uint16_t encapsulation)
{
    return (encapsulation & 1) != 0 ? Cdr::LITTLE_ENDIANNESS : Cdr::BIG_ENDIANNESS;
}

void write_octets(Cdr& cdr, const std::vector<uint8_t>& octets)
{
    cdr.serialize(static_cast<uint32_t>(octets.size()));
    put_octets(cdr, octets.data(), octets.size());
}

void read_octets(Cdr& cdr, std::vector<uint8_t>& octets, uint32_t limit)
{
    uint32_t length = 0;
    cdr.deserialize(length);
    if (length > limit) {
        throw eprosima::fastcdr::exception::NotEnoughMemoryException("sequence too long");
    }
    octets.resize(length);
    take_octets(cdr, octets.data(), length);
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

bool ShapeCoder::encode(const Shape& shape, SerializedPayload_t& payload) const
{
    FastBuffer buffer(body_of(payload), payload.max_size - header_size);
    Cdr cdr = cdr_on(buffer, Cdr::LITTLE_ENDIANNESS);
    try {
        if (xcdr == 2) {
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
    uint32_t size = length_of(cdr);
    if (xcdr == 2) {
        uint32_t inner = size - 4;
        for (int i = 0; i < 4; i++) {
            payload.data[header_size + i] = static_cast<uint8_t>(inner >> 8 * i);
        }
    }
    close(payload, xcdr == 2 ? delimited_cdr2_le : cdr_le, size);
    return true;
}

bool ShapeCoder::decode(const SerializedPayload_t& payload, Shape& shape) const
{
    if (payload.length < header_size) {
        return false;
    }
    shape = Shape();
    uint16_t encapsulation = encapsulation_of(payload);
    FastBuffer buffer(body_of(payload), payload.length - header_size);
    Cdr cdr = cdr_on(buffer, order_of(encapsulation));
    try {
        if ((encapsulation | 1) == delimited_cdr2_le) {
            uint32_t length = 0;
            cdr.deserialize(length);
        } else if ((encapsulation | 1) != cdr_le && (encapsulation | 1) != cdr2_le) {
            return false;
        }
        cdr.deserialize(shape.color);
        if (length_of(cdr) + 12 > payload.length - header_size) {
            return true; // the key alone, as in a dispose
        }
        cdr.deserialize(shape.x);
        cdr.deserialize(shape.y);
        cdr.deserialize(shape.shapesize);
        read_octets(cdr, shape.payload, payload.length);
    } catch (const eprosima::fastcdr::exception::Exception&) {
        return false;
    }
    return true;
}

uint32_t ShapeCoder::size(const Shape& shape) const
{
    uint32_t delimiter = xcdr == 2 ? 4 : 0;
    return header_size + delimiter + string_size(shape.color) + 16 +
           rounded(static_cast<uint32_t>(shape.payload.size()));
}

bool ShapeCoder::key(const Shape& shape, InstanceHandle_t& handle) const
{
    // The key may be longer than sixteen octets, hence always the digest.
    std::vector<char> octets(string_size(shape.color));
    FastBuffer buffer(octets.data(), octets.size());
    Cdr cdr = cdr_on(buffer, Cdr::BIG_ENDIANNESS);
    cdr.serialize(shape.color);
    MD5 md5;
    md5.init();
    md5.update(octets.data(), static_cast<MD5::size_type>(length_of(cdr)));
    md5.finalize();
    for (int i = 0; i < 16; i++) {
        handle.value[i] = md5.digest[i];
    }
    return true;
}

bool OctetsCoder::encode(const Octets& octets, SerializedPayload_t& payload) const
{
    FastBuffer buffer(body_of(payload), payload.max_size - header_size);
    Cdr cdr = cdr_on(buffer, Cdr::LITTLE_ENDIANNESS);
    try {
        write_octets(cdr, octets.payload);
    } catch (const eprosima::fastcdr::exception::Exception&) {
        return false;
    }
    close(payload, cdr_le, length_of(cdr));
    return true;
}

bool OctetsCoder::decode(const SerializedPayload_t& payload, Octets& octets) const
{
    if (payload.length < header_size) {
        return false;
    }
    uint16_t encapsulation = encapsulation_of(payload);
    FastBuffer buffer(body_of(payload), payload.length - header_size);
    Cdr cdr = cdr_on(buffer, order_of(encapsulation));
    try {
        read_octets(cdr, octets.payload, payload.length);
    } catch (const eprosima::fastcdr::exception::Exception&) {
        return false;
    }
    return true;
}

uint32_t OctetsCoder::size(const Octets& octets) const
{
    return header_size + 4 + rounded(static_cast<uint32_t>(octets.payload.size()));
}
