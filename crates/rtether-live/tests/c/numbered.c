/*
 * A publication or a subscription of numbered samples over RTPS 1.0.
 *
 *   numbered pub|sub TOPIC small|large best|strict COUNT PERIOD_MS STRENGTH PERSISTENCE_MS \
 *            SEPARATION_MS DEADLINE_MS [DOMAIN [ADDRESS]]
 *
 * Samples and output are those of `interop/orte.c` and of the example `rtps1`. A subscription ends
 * after COUNT samples, or by a signal; 0 is no count, and no deadline.
 */
#include "rtether.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define FILL_MAX 9996
#define MS INT64_C(1000000)

typedef struct numbered {
    uint32_t number;
    uint8_t fill[FILL_MAX];
} numbered;

typedef struct progress {
    int64_t seen;
    int64_t count;
} progress;

static rtether_domain *domain;
static size_t fill;

static void stop(int number)
{
    (void)number;
    rtether_domain_stop(domain);
}

static void check(const char *what, rtether_status status)
{
    if (status != RTETHER_STATUS_OK) {
        fprintf(stderr, "%s: status %d: %s\n", what, (int)status, rtether_last_error());
        exit(1);
    }
}

static int32_t put(const void *value, rtether_cdr_writer *writer, void *user)
{
    const numbered *it = (const numbered *)value;
    size_t at;
    (void)user;
    (void)rtether_cdr_put_u32(writer, it->number);
    for (at = 0; at < fill; at++) {
        (void)rtether_cdr_put_u8(writer, it->fill[at]);
    }
    return 0;
}

static int32_t get(rtether_cdr_reader *reader, void *value, void *user)
{
    numbered *it = (numbered *)value;
    size_t at;
    (void)user;
    (void)rtether_cdr_get_u32(reader, &it->number);
    for (at = 0; at < fill; at++) {
        (void)rtether_cdr_get_u8(reader, &it->fill[at]);
    }
    return 0;
}

static void receive(const rtether_info *info, void *value, void *user)
{
    const numbered *it = (const numbered *)value;
    progress *so_far = (progress *)user;
    long long at = (long long)(rtether_now() / MS);
    size_t octet;
    if (info->status == RTETHER_INFO_STATUS_DEADLINE) {
        printf("deadline %lld\n", at);
    }
    if (info->status == RTETHER_INFO_STATUS_NEW_DATA) {
        printf("sample %lu ", (unsigned long)it->number);
        for (octet = 0; octet < 12; octet++) {
            printf("%02x", info->publication[octet]);
        }
        printf(" %lld\n", at);
        for (octet = 0; octet < fill; octet++) {
            if (it->fill[octet] != (it->number & 0xff)) {
                printf("broken %lu\n", (unsigned long)it->number);
                break;
            }
        }
        so_far->seen += 1;
        if (so_far->seen == so_far->count) {
            rtether_domain_stop(domain);
        }
    }
    (void)fflush(stdout);
}

static int publish(rtether_publication_options *what, int64_t count, int64_t period)
{
    static numbered value;
    rtether_publication *publication;
    int64_t next;
    check("publication", rtether_publication_create(domain, what, &publication));
    check("match", rtether_publication_wait_matched(publication, 1, 60000 * MS));
    /* The other side may learn of the match later. */
    check("settle", rtether_domain_run(domain, 500 * MS));
    next = rtether_now();
    while (value.number < (uint64_t)count) {
        rtether_status written;
        value.number += 1;
        memset(value.fill, (int)(value.number & 0xff), fill);
        while ((written = rtether_publication_write(publication, &value)) == RTETHER_STATUS_FULL) {
            check("room", rtether_domain_run(domain, MS));
        }
        check("write", written);
        next += period;
        if (next > rtether_now()) {
            check("run", rtether_domain_run(domain, next - rtether_now()));
        }
    }
    if (what->reliability == RTETHER_RELIABILITY_STRICT_RELIABLE) {
        check("acknowledged", rtether_publication_wait_acknowledged(publication, 30000 * MS));
    }
    check("end", rtether_publication_destroy(publication));
    return 0;
}

static int subscribe(rtether_subscription_options *what, int64_t count)
{
    progress so_far = {0, 0};
    rtether_subscription *subscription;
    so_far.count = count;
    what->on_receive = receive;
    what->user = &so_far;
    check("subscription", rtether_subscription_create(domain, what, &subscription));
    check("run", rtether_domain_run(domain, RTETHER_INFINITE));
    /* The last acknowledgment is sent by the next step. */
    check("settle", rtether_domain_step(domain, 0));
    check("end", rtether_subscription_destroy(subscription));
    return so_far.seen < count;
}

int main(int argc, char **argv)
{
    rtether_domain_options where;
    rtether_type_options type;
    rtether_publication_options written;
    rtether_subscription_options read;
    int64_t numbers[7] = {0, 0, 0, 0, 0, 0, 0};
    int at, is_strict, ended;

    if (argc < 11 || argc > 13) {
        fprintf(stderr, "usage: numbered pub|sub TOPIC small|large best|strict COUNT PERIOD_MS "
                        "STRENGTH PERSISTENCE_MS SEPARATION_MS DEADLINE_MS [DOMAIN [ADDRESS]]\n");
        return 2;
    }
    for (at = 5; at < argc && at < 12; at++) {
        numbers[at - 5] = strtoll(argv[at], NULL, 10);
    }
    fill = strcmp(argv[3], "large") == 0 ? FILL_MAX : 60;
    is_strict = strcmp(argv[4], "strict") == 0;
    (void)rtether_domain_options_init(&where, sizeof where);
    where.protocol = RTETHER_PROTOCOL_RTPS1_0;
    where.domain = (uint32_t)numbers[6];
    where.interface_address = argc > 12 ? argv[12] : NULL;
    check("domain", rtether_domain_create(&where, &domain));
    (void)rtether_type_options_init(&type, sizeof type);
    type.name = "Numbered";
    type.max_size = sizeof(uint32_t) + fill;
    type.value_size = sizeof(numbered);
    type.serialize = put;
    type.deserialize = get;
    check("type", rtether_type_register(domain, &type));
    (void)signal(SIGINT, stop);
    (void)signal(SIGTERM, stop);

    (void)rtether_publication_options_init(&written, sizeof written);
    (void)rtether_subscription_options_init(&read, sizeof read);
    written.topic = read.topic = argv[2];
    written.type_name = read.type_name = type.name;
    written.reliability = read.reliability =
        is_strict ? RTETHER_RELIABILITY_STRICT_RELIABLE : RTETHER_RELIABILITY_BEST_EFFORT;
    written.ownership = RTETHER_OWNERSHIP_EXCLUSIVE;
    written.strength = (int32_t)numbers[2];
    written.persistence_ns = numbers[3] * MS;
    written.depth = read.depth = 0; /* keeps all */
    read.minimum_separation_ns = numbers[4] * MS;
    read.deadline_ns = numbers[5] > 0 ? numbers[5] * MS : RTETHER_INFINITE;
    if (strcmp(argv[1], "pub") == 0) {
        ended = publish(&written, numbers[0], numbers[1] * MS);
    } else {
        ended = subscribe(&read, numbers[0]);
    }
    check("leave", rtether_domain_destroy(domain));
    return ended;
}
