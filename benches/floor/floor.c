/* The floor: what a round trip takes in the least C that does the same system calls as `rtether ping`
 * and `rtether echo`, for benches/floor.sh.
 *
 * usage: floor serve|ping udp|raw|xdp block|spin SIZE COUNT CORE TARGET [DEVICE]
 *
 * TARGET is the server's IPv4 address for udp, its Ethernet address for raw and xdp. `serve` ends
 * after COUNT requests, `ping` prints median and 99th percentile in nanoseconds. Both run under
 * SCHED_FIFO, priority 50, and end after ten seconds whatever happens. Spinning sides rest like
 * rtether's do, so that the kernel does not stop them: COUNT is to be less than 0.8 s of requests. */
#define _GNU_SOURCE
#include <arpa/inet.h>
#include <errno.h>
#include <linux/if_packet.h>
#include <net/ethernet.h>
#include <net/if.h>
#include <netinet/ether.h>
#include <poll.h>
#include <sched.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#include "floor.h"

enum { PORT = 7255, HEADER = 14, FRAME_MAX = 2048 };

static int spin, size, fd;
static struct sockaddr_in peer;
static unsigned char own[6], other[6];

void fail(const char *what) {
    perror(what);
    exit(1);
}

static long long now(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return t.tv_sec * 1000000000LL + t.tv_nsec;
}

static int compare(const void *a, const void *b) {
    long long x = *(const long long *)a, y = *(const long long *)b;
    return (x > y) - (x < y);
}

static void place(int core) {
    cpu_set_t set;
    CPU_ZERO(&set);
    CPU_SET(core, &set);
    struct sched_param parameters = {.sched_priority = 50};
    if (sched_setaffinity(0, sizeof set, &set)) fail("sched_setaffinity");
    if (mlockall(MCL_CURRENT | MCL_FUTURE)) fail("mlockall");
    if (sched_setscheduler(0, SCHED_FIFO, &parameters)) fail("sched_setscheduler");
}

static void open_udp(const char *target, int serves) {
    fd = socket(AF_INET, SOCK_DGRAM | SOCK_NONBLOCK, 0);
    peer = (struct sockaddr_in){.sin_family = AF_INET, .sin_port = htons(PORT)};
    if (fd < 0 || !inet_aton(target, &peer.sin_addr)) fail("socket");
    if (serves ? bind(fd, (void *)&peer, sizeof peer) : connect(fd, (void *)&peer, sizeof peer))
        fail("address");
}

static void open_raw(const char *target, const char *device) {
    struct ifreq request = {0};
    strncpy(request.ifr_name, device, IFNAMSIZ - 1);
    fd = socket(AF_PACKET, SOCK_RAW | SOCK_NONBLOCK, htons(ETHERTYPE));
    if (fd < 0 || ioctl(fd, SIOCGIFHWADDR, &request)) fail("device");
    memcpy(own, request.ifr_hwaddr.sa_data, 6);
    struct sockaddr_ll address = {.sll_family = AF_PACKET,
                                  .sll_protocol = htons(ETHERTYPE),
                                  .sll_ifindex = (int)if_nametoindex(device)};
    if (bind(fd, (void *)&address, sizeof address)) fail("bind");
    struct ether_addr *parsed = ether_aton(target);
    if (!parsed) fail("Ethernet address");
    memcpy(other, parsed, 6);
}

/* Waits as a blocking side does. */
static void await(int socket) {
    struct pollfd one = {.fd = socket, .events = POLLIN};
    while (poll(&one, 1, 50) < 0 && errno == EINTR) {}
}

static ssize_t next(int kind, unsigned char *buffer, int wait) {
    socklen_t length = sizeof peer;
    for (;;) {
        if (wait) await(fd);
        ssize_t n = kind == 'u' && peer.sin_family == 0
                        ? recvfrom(fd, buffer, FRAME_MAX, 0, (void *)&peer, &length)
                        : recv(fd, buffer, FRAME_MAX, 0);
        if (n >= 0) return n;
        if (errno != EAGAIN && errno != EINTR) fail("recv");
    }
}

static void head(unsigned char *frame) {
    memcpy(frame, other, 6);
    memcpy(frame + 6, own, 6);
    frame[12] = ETHERTYPE >> 8;
    frame[13] = ETHERTYPE & 0xFF;
}

static void serve(int kind, int count) {
    static unsigned char buffer[FRAME_MAX];
    await(fd);
    for (int done = 0; done < count; done++) {
        /* An unconnected socket: the sender is asked for each time. */
        peer.sin_family = 0;
        ssize_t n = kind == 'x' ? xdp_next(buffer, !spin) : next(kind, buffer, !spin);
        if (kind == 'u') {
            sendto(fd, buffer, n, 0, (void *)&peer, sizeof peer);
        } else {
            memcpy(other, buffer + 6, 6);
            head(buffer);
            if (kind == 'x') xdp_send(buffer, n);
            else send(fd, buffer, n, 0);
        }
    }
}

static void ping(int kind, int count) {
    static unsigned char frame[FRAME_MAX], buffer[FRAME_MAX];
    long long *taken = calloc(count, sizeof *taken);
    int offset = kind == 'u' ? 0 : HEADER, length = offset + size;
    if (offset) head(frame);
    for (int sequence = 0; sequence < count; sequence++) {
        long long start = now();
        memcpy(frame + offset, &sequence, sizeof sequence);
        if (kind == 'x') xdp_send(frame, length);
        else if (send(fd, frame, length, 0) < 0) fail("send");
        do {
            if (kind == 'x') xdp_next(buffer, !spin);
            else next(kind, buffer, !spin);
        } while (memcmp(buffer + offset, &sequence, sizeof sequence));
        taken[sequence] = now() - start;
    }
    qsort(taken, count, sizeof *taken, compare);
    printf("%lld %lld\n", taken[count / 2], taken[count * 99LL / 100]);
}

int main(int argc, char **argv) {
    if (argc < 8) {
        fprintf(stderr, "usage: see the head of floor.c\n");
        return 2;
    }
    int serves = !strcmp(argv[1], "serve"), kind = argv[2][0], count = atoi(argv[5]);
    spin = !strcmp(argv[3], "spin");
    size = atoi(argv[4]);
    alarm(10);
    if (kind == 'u') {
        open_udp(argv[7], serves);
    } else {
        if (argc < 9) return 2;
        open_raw(argv[7], argv[8]);
        if (kind == 'x') {
            /* The packet socket has told the addresses. */
            close(fd);
            fd = xdp_open(argv[8]);
        }
    }
    place(atoi(argv[6]));
    if (serves) {
        puts("ready");
        fflush(stdout);
        serve(kind, count);
    } else {
        ping(kind, count);
    }
    return 0;
}
