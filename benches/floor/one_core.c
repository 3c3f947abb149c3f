/* The floor of a round trip with both ends on one core and ordinary scheduling, for
 * benches/one-core.sh: one thread for each end, which sleeps in the call that receives.
 *
 * usage: one_core serve|ping SIZE COUNT PORT
 *
 * On 127.0.0.1. `serve` answers until it is ended; `ping` prints median, 99th and 99.9th percentile
 * in nanoseconds. Both end after a minute whatever happens. */
#include <arpa/inet.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

static long long now(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return t.tv_sec * 1000000000LL + t.tv_nsec;
}

static int compare(const void *a, const void *b) {
    long long x = *(const long long *)a, y = *(const long long *)b;
    return (x > y) - (x < y);
}

int main(int argc, char **argv) {
    static char buffer[65536];
    if (argc != 5) {
        fprintf(stderr, "usage: see the head of one_core.c\n");
        return 2;
    }
    int serves = !strcmp(argv[1], "serve"), size = atoi(argv[2]), count = atoi(argv[3]);
    struct sockaddr_in at = {.sin_family = AF_INET, .sin_port = htons(atoi(argv[4])),
                             .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    int fd = socket(AF_INET, SOCK_DGRAM, 0);
    alarm(60);
    if (serves ? bind(fd, (void *)&at, sizeof at) : connect(fd, (void *)&at, sizeof at)) {
        perror("address");
        return 1;
    }
    if (serves) {
        puts("ready");
        fflush(stdout);
        for (;;) {
            struct sockaddr_in from;
            socklen_t length = sizeof from;
            ssize_t n = recvfrom(fd, buffer, sizeof buffer, 0, (void *)&from, &length);
            if (n >= 0) sendto(fd, buffer, n, 0, (void *)&from, sizeof from);
        }
    }
    long long *taken = calloc(count, sizeof *taken);
    for (int i = 0; i < count; i++) {
        long long start = now();
        if (send(fd, buffer, size, 0) < 0 || recv(fd, buffer, sizeof buffer, 0) < 0) {
            perror("round trip");
            return 1;
        }
        taken[i] = now() - start;
    }
    qsort(taken, count, sizeof *taken, compare);
    printf("%lld %lld %lld\n", taken[count / 2], taken[count * 99LL / 100],
           taken[count * 999LL / 1000]);
    return 0;
}
