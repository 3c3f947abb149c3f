/*
 * Publishes shapes: a send callback fills in each value, once in a period.
 *
 *   publisher DOMAIN ADDRESS COUNT [COLOR [xcdr2]]
 *
 * ADDRESS is that of this host in the network that is meant.
 */
#include "shape.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static rtether_domain *domain;

static void stop(int number)
{
    (void)number;
    rtether_domain_stop(domain);
}

typedef struct progress {
    int32_t sent;
    int32_t count;
    int is_running; /* callbacks come also while something is waited for */
} progress;

/* What D4's sendCallBack is: fills in the instance before it is sent. */
static int32_t fill_in(void *value, void *user)
{
    shape *it = (shape *)value;
    progress *so_far = (progress *)user;
    if (!so_far->is_running) {
        return 1; /* nothing to send */
    }
    if (so_far->sent == so_far->count) {
        so_far->is_running = 0;
        rtether_domain_stop(domain);
        return 1;
    }
    so_far->sent += 1;
    it->x = so_far->sent;
    it->y = 2 * so_far->sent;
    return 0;
}

int main(int argc, char **argv)
{
    static shape instance;
    progress so_far = {0, 10, 0};
    rtether_domain_options where;
    rtether_publication_options what;
    rtether_publication *publication;

    (void)rtether_domain_options_init(&where, sizeof where);
    where.name = "C publisher";
    where.domain = argc > 1 ? (uint32_t)strtoul(argv[1], NULL, 10) : 0;
    where.interface_address = argc > 2 ? argv[2] : NULL;
    check("domain", rtether_domain_create(&where, &domain));
    check("type", shape_register(domain));

    if (argc > 3) {
        so_far.count = (int32_t)strtol(argv[3], NULL, 10);
    }
    (void)snprintf(instance.color, sizeof instance.color, "%s", argc > 4 ? argv[4] : "BLUE");
    instance.size = 30;
    (void)rtether_publication_options_init(&what, sizeof what);
    what.topic = "Square";
    what.type_name = "ShapeType";
    what.instance = &instance;
    what.persistence_ns = 3000000000; /* 3 s */
    what.strength = 1;
    what.ownership = RTETHER_OWNERSHIP_EXCLUSIVE;
    what.durability = RTETHER_DURABILITY_TRANSIENT_LOCAL;
    what.depth = 0; /* keeps all */
    what.encoding = argc > 5 && strcmp(argv[5], "xcdr2") == 0 ? RTETHER_ENCODING_XCDR2
                                                             : RTETHER_ENCODING_XCDR1;
    what.dscp = 46;
    what.on_send = fill_in;
    what.user = &so_far;
    what.period_ns = 10000000; /* 10 ms */
    check("publication", rtether_publication_create(domain, &what, &publication));

    (void)signal(SIGINT, stop);
    (void)signal(SIGTERM, stop);
    if (rtether_publication_wait_matched(publication, 1, 20000000000) == RTETHER_STATUS_OK) {
        so_far.is_running = 1;
        check("run", rtether_domain_run(domain, RTETHER_INFINITE));
        /* Explicitly, besides the period: one more, and that the shape is gone. */
        instance.x = -1;
        check("send", rtether_publication_send(publication));
        check("dispose", rtether_publication_dispose(publication, &instance));
        check("acknowledged", rtether_publication_wait_acknowledged(publication, 10000000000));
    }
    printf("sent %d\n", (int)so_far.sent);
    check("end", rtether_publication_destroy(publication));
    check("leave", rtether_domain_destroy(domain));
    return so_far.sent == so_far.count ? 0 : 1;
}
