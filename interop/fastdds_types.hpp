// The two types of the tests for Fast DDS, written by hand: Fast DDS 2 has no XCDR2 of its own, and
// a type made this way carries no type information into discovery.
#pragma once

#include "fastdds_version.hpp"

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
struct ShapeCoder {
    int xcdr;
    bool encode(const Shape& shape, rtps::SerializedPayload_t& payload) const;
    bool decode(const rtps::SerializedPayload_t& payload, Shape& shape) const;
    uint32_t size(const Shape& shape) const;
    bool key(const Shape& shape, rtps::InstanceHandle_t& handle) const;
};

class ShapeSupport : public Support<Shape, ShapeCoder> {
public:
    explicit ShapeSupport(int xcdr) : Support("ShapeType", true, ShapeCoder{xcdr}) {}
};

// `Octets`, final and without a key, in XCDR1.
struct OctetsCoder {
    bool encode(const Octets& octets, rtps::SerializedPayload_t& payload) const;
    bool decode(const rtps::SerializedPayload_t& payload, Octets& octets) const;
    uint32_t size(const Octets& octets) const;
    bool key(const Octets&, rtps::InstanceHandle_t&) const { return false; }
};

class OctetsSupport : public Support<Octets, OctetsCoder> {
public:
    OctetsSupport() : Support("Octets", false, OctetsCoder{}) {}
};
