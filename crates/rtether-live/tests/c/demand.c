/*
 * Two domains that discover on demand and share a topic, until standard input ends, or for 30 s:
 * demand DOMAIN ADDRESS
 * Prints a line with the first sample.
 */
#define _POSIX_C_SOURCE 200809L

#include "rtether.h"

#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

static void check(const char *what, rtether_status status)
{
    if (status != RTETHER_STATUS_OK) {
        fprintf(stderr, "%s: status %d: %s\n", what, (int)status, rtether_last_error());
        exit(1);
    }
}

static rtether_domain *open_domain(char **argv, const char *name)
{
    rtether_domain *domain = NULL;
    rtether_domain_options where;
    rtether_type_options type;
    check("defaults", rtether_domain_options_init(&where, sizeof where));
    where.name = name;
    where.domain = (uint32_t)strtoul(argv[1], NULL, 10);
    where.interface_address = argv[2];
    where.discovery = RTETHER_DISCOVERY_ON_DEMAND;
    check("domain", rtether_domain_create(&where, &domain));
    check("defaults", rtether_type_options_init(&type, sizeof type));
    type.name = "word";
    type.max_size = sizeof(int32_t);
    check("type", rtether_type_register(domain, &type));
    return domain;
}

int main(int argc, char **argv)
{
    static int32_t word = 7;
    struct pollfd input = {STDIN_FILENO, POLLIN, 0};
    int has_told = 0;
    const int64_t end = rtether_now() + 30000000000;
    rtether_domain *writes;
    rtether_domain *reads;
    rtether_publication_options give;
    rtether_subscription_options take;
    rtether_publication *publication;
    rtether_subscription *subscription;

    if (argc < 3) {
        return 2;
    }
    writes = open_domain(argv, "C writes");
    reads = open_domain(argv, "C reads");
    check("defaults", rtether_publication_options_init(&give, sizeof give));
    give.topic = "shared";
    give.type_name = "word";
    check("publication", rtether_publication_create(writes, &give, &publication));
    check("defaults", rtether_subscription_options_init(&take, sizeof take));
    take.topic = "shared";
    take.type_name = "word";
    take.mode = RTETHER_MODE_PULLED;
    check("subscription", rtether_subscription_create(reads, &take, &subscription));
    while (poll(&input, 1, 0) == 0 && rtether_now() < end) {
        rtether_info info;
        int32_t value = 0;
        check("write", rtether_publication_write(publication, &word));
        check("step", rtether_domain_step(writes, 5000000));
        check("step", rtether_domain_step(reads, 5000000));
        info.size = sizeof info;
        while (rtether_subscription_take(subscription, &value, &info) == RTETHER_STATUS_OK) {
            if (!has_told && value == word) {
                has_told = 1;
                printf("a sample\n");
                (void)fflush(stdout);
            }
        }
    }
    check("end", rtether_publication_destroy(publication));
    check("end", rtether_subscription_destroy(subscription));
    check("leave", rtether_domain_destroy(writes));
    check("leave", rtether_domain_destroy(reads));
    return has_told ? 0 : 1;
}
