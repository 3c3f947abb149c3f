#include "shape.h"

#include <stdio.h>
#include <stdlib.h>

/* A writer and a reader keep the first thing that goes wrong, so that no status is looked at here. */

static int32_t put_color(const void *value, rtether_cdr_writer *writer, void *user)
{
    const shape *it = (const shape *)value;
    (void)user;
    (void)rtether_cdr_put_string(writer, it->color);
    return 0;
}

static int32_t put_shape(const void *value, rtether_cdr_writer *writer, void *user)
{
    const shape *it = (const shape *)value;
    (void)put_color(value, writer, user);
    (void)rtether_cdr_put_i32(writer, it->x);
    (void)rtether_cdr_put_i32(writer, it->y);
    (void)rtether_cdr_put_i32(writer, it->size);
    (void)rtether_cdr_put_octets(writer, it->octets, it->octets_len);
    return 0;
}

static int32_t get_color(rtether_cdr_reader *reader, void *value, void *user)
{
    shape *it = (shape *)value;
    (void)user;
    (void)rtether_cdr_get_string(reader, it->color, sizeof it->color);
    return 0;
}

static int32_t get_shape(rtether_cdr_reader *reader, void *value, void *user)
{
    shape *it = (shape *)value;
    (void)get_color(reader, value, user);
    (void)rtether_cdr_get_i32(reader, &it->x);
    (void)rtether_cdr_get_i32(reader, &it->y);
    (void)rtether_cdr_get_i32(reader, &it->size);
    /* Older programs do not have the last member. */
    if (rtether_cdr_remaining(reader) >= 4) {
        (void)rtether_cdr_get_octets(reader, it->octets, sizeof it->octets, &it->octets_len);
    }
    return 0;
}

rtether_status shape_register(rtether_domain *domain)
{
    rtether_type_options type;
    (void)rtether_type_options_init(&type, sizeof type);
    type.name = "ShapeType";
    type.max_size = SHAPE_COLOR_MAX + SHAPE_OCTETS_MAX + 32;
    type.value_size = sizeof(shape);
    type.serialize = put_shape;
    type.deserialize = get_shape;
    type.serialize_key = put_color;
    type.deserialize_key = get_color;
    type.key_max_size = SHAPE_COLOR_MAX + 5;
    type.extensibility = RTETHER_EXTENSIBILITY_APPENDABLE;
    return rtether_type_register(domain, &type);
}

void check(const char *what, rtether_status status)
{
    if (status != RTETHER_STATUS_OK) {
        fprintf(stderr, "%s: status %d: %s\n", what, (int)status, rtether_last_error());
        exit(1);
    }
}
