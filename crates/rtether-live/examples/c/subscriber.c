/*
 * Subscribes to shapes: a receive callback is called with each, and when a deadline is over.
 *
 *   subscriber DOMAIN ADDRESS immediate|pulled [shared]
 *
 * ADDRESS is that of this host in the network that is meant. It ends when a shape is gone, or after 20 s.
 */
#include "shape.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static rtether_domain *domain;
static volatile sig_atomic_t is_over;

static void stop(int number)
{
    (void)number;
    is_over = 1;
    rtether_domain_stop(domain);
}

/* What D4's recvCallBack is. */
static void receive(const rtether_info *info, void *value, void *user)
{
    const shape *it = (const shape *)value;
    (void)user;
    switch (info->status) {
    case RTETHER_INFO_STATUS_NEW_DATA:
        printf("%s %d %d %d %u\n", it->color, (int)it->x, (int)it->y, (int)it->size,
               (unsigned)it->octets_len);
        break;
    case RTETHER_INFO_STATUS_DEADLINE:
        printf("deadline\n");
        break;
    case RTETHER_INFO_STATUS_DISPOSED:
        printf("%s is gone\n", it->color);
        is_over = 1;
        rtether_domain_stop(domain);
        break;
    case RTETHER_INFO_STATUS_NO_PUBLICATION:
        printf("nobody writes %s\n", it->color);
        is_over = 1;
        rtether_domain_stop(domain);
        break;
    }
    (void)fflush(stdout);
}

static void report(const rtether_event *event, void *user)
{
    static const char *const words[] = {
        "found", "left", "lost", "matched", "unmatched", "incompatible",
    };
    (void)user;
    if ((unsigned)event->kind < sizeof words / sizeof *words) {
        fprintf(stderr, "%s %s\n", words[event->kind], event->text);
    }
}

int main(int argc, char **argv)
{
    static shape instance;
    int is_pulled = argc > 3 && strcmp(argv[3], "pulled") == 0;
    int is_shared = argc > 4 && strcmp(argv[4], "shared") == 0;
    rtether_domain_options where;
    rtether_subscription_options what;
    rtether_subscription *subscription;
    rtether_counts counts;
    int64_t end;

    (void)rtether_domain_options_init(&where, sizeof where);
    where.name = "C subscriber";
    where.domain = argc > 1 ? (uint32_t)strtoul(argv[1], NULL, 10) : 0;
    where.interface_address = argc > 2 ? argv[2] : NULL;
    where.on_event = report;
    check("domain", rtether_domain_create(&where, &domain));
    check("type", shape_register(domain));

    (void)rtether_subscription_options_init(&what, sizeof what);
    what.topic = "Square";
    what.type_name = "ShapeType";
    what.mode = is_pulled ? RTETHER_MODE_PULLED : RTETHER_MODE_IMMEDIATE;
    what.reliability = RTETHER_RELIABILITY_STRICT_RELIABLE;
    what.durability = is_shared ? RTETHER_DURABILITY_VOLATILE : RTETHER_DURABILITY_TRANSIENT_LOCAL;
    what.ownership = is_shared ? RTETHER_OWNERSHIP_SHARED : RTETHER_OWNERSHIP_EXCLUSIVE;
    what.depth = 0; /* keeps all */
    what.instance = &instance;
    what.deadline_ns = is_shared ? RTETHER_INFINITE : 20000000000; /* 20 s */
    what.minimum_separation_ns = 0;
    what.on_receive = receive;
    check("subscription", rtether_subscription_create(domain, &what, &subscription));

    (void)signal(SIGINT, stop);
    (void)signal(SIGTERM, stop);
    end = rtether_now() + 20000000000;
    if (!is_pulled) {
        check("run", rtether_domain_run(domain, end - rtether_now()));
    }
    while (is_pulled && !is_over && rtether_now() < end) {
        rtether_info info;
        shape value;
        check("step", rtether_domain_step(domain, 10000000));
        info.size = sizeof info;
        while (rtether_subscription_take(subscription, &value, &info) == RTETHER_STATUS_OK) {
            receive(&info, &value, NULL);
        }
    }
    counts.size = sizeof counts;
    check("counts", rtether_subscription_counts(subscription, &counts));
    printf("lost %u, malformed %u\n", (unsigned)counts.lost, (unsigned)counts.malformed);
    check("end", rtether_subscription_destroy(subscription));
    check("leave", rtether_domain_destroy(domain));
    return is_over ? 0 : 1;
}
