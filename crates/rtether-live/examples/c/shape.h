/* ShapeType, with which implementations of DDS show each other what they can do. */
#ifndef SHAPE_H
#define SHAPE_H

#include <rtether.h>

#define SHAPE_COLOR_MAX 128
#define SHAPE_OCTETS_MAX 1024

typedef struct shape {
    char color[SHAPE_COLOR_MAX + 1]; /* the key */
    int32_t x;
    int32_t y;
    int32_t size;
    size_t octets_len;
    uint8_t octets[SHAPE_OCTETS_MAX]; /* make the sample larger */
} shape;

/* Registers the type with a domain. */
rtether_status shape_register(rtether_domain *domain);

/* Ends the program with the library's words if a call has failed. */
void check(const char *what, rtether_status status);

#endif
