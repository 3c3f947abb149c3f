/* What both peers share: the command line, the lines they print, times and figures. */
#ifndef RTETHER_INTEROP_COMMON_H
#define RTETHER_INTEROP_COMMON_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

enum peer_verb { PEER_PUB, PEER_SUB, PEER_ECHO, PEER_PING };
enum peer_final { PEER_FINAL_NONE, PEER_FINAL_DISPOSE, PEER_FINAL_UNREGISTER };
enum peer_instance { PEER_ALIVE, PEER_DISPOSED, PEER_NO_WRITERS };

enum {
    PEER_MAX_ADDRESSES = 8,
    PEER_COLOR_LENGTH = 128, /* bound of the key, without its terminator */
    PEER_WARM_UP = 1000,     /* round trips before the first that counts */
    PEER_ACKNOWLEDGE_MS = 5000,
    PEER_SHAPE_SIZE = 30,
    PEER_OTHER_MATCH_NS = 1500000000 /* for the other side to match as well */
};

struct peer_options {
    enum peer_verb verb;
    uint32_t domain;
    const char *topic;
    const char *color;
    bool reliable;
    bool transient_local;
    int32_t depth;       /* 0: keep all */
    int64_t deadline_ms; /* 0: none, here and in the next two */
    int64_t filter_ms;
    int64_t lifespan_ms;
    int32_t strength; /* -1: ownership is shared */
    const char *partition; /* NULL: the default partition */
    int xcdr;
    int64_t period_ms;
    int64_t count; /* 0: no limit */
    uint32_t size;
    uint32_t datagram; /* 0: the implementation chooses */
    enum peer_final final;
    int64_t for_ms; /* 0: not given */
    bool multicast;
    bool wait_match;
    const char *interface_address; /* NULL: the implementation chooses */
    const char *addresses[PEER_MAX_ADDRESSES];
    size_t address_count;
};

/* Reads the command line; ends the program with 2 if it is wrong, with 0 after --help.
 * Also lets SIGINT and SIGTERM end the program in an orderly way. */
void peer_parse(int argc, char **argv, struct peer_options *options);

/* True once a signal asked for the end or the time given with --for is over. */
bool peer_over(const struct peer_options *options);

/* Nanoseconds of the monotonic clock. */
int64_t peer_now(void);

/* Sleeps until `at` (nanoseconds, monotonic) in steps short enough to notice `peer_over`. */
void peer_sleep_until(const struct peer_options *options, int64_t at);

/* Prints one line and flushes it. */
void peer_line(const char *format, ...) __attribute__((format(printf, 1, 2)));

/* Prints the reason on standard error and ends the program with 1. */
void peer_fail(const char *what, const char *why) __attribute__((noreturn));

/* Prints `matched N` or `unmatched` and remembers N for `peer_matched`. */
void peer_on_match(int32_t current, int32_t change);
int32_t peer_matched(void);

/* With --wait-match: returns once a reader has matched and had time to match the writer. */
void peer_wait_match(const struct peer_options *options);

/* Prints `incompatible NAME` for a policy by its number in the DDS standard. */
void peer_on_incompatible(uint32_t policy);

/* Prints one sample and marks its instance as alive. */
void peer_on_sample(const char *color, int32_t x, int32_t y, int32_t size, const uint8_t *payload,
                    uint32_t length);

/* Prints `disposed` or `unregistered` if the instance was not in that state already. */
void peer_on_instance(const char *color, enum peer_instance state);

/* Number of samples that `peer_on_sample` has seen. */
int64_t peer_sample_count(void);

/* Fills a payload with the pattern that `peer_on_sample` expects. */
void peer_fill(uint8_t *payload, uint32_t length);

/* Prints `rtt_us median p99 p99.9 min max` of `count` times in nanoseconds; sorts them. */
void peer_print_rtt(int64_t *times, size_t count);

/* What the program returns: 0, or 1 if a payload was not what had been written. */
int peer_exit_code(void);

#ifdef __cplusplus
}
#endif

#endif
