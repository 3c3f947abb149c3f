/* Round trips over two keys of zenoh-pico, which sleep while they wait, for benches/one-core.sh.
 *
 * usage: round_trip echo|ping LOCATOR SIZE COUNT
 *
 * `echo` listens at LOCATOR and returns each sample of one key under the other, from the callback, until
 * it is ended; `ping` connects to it and prints median, 99th and 99.9th percentile in nanoseconds.
 * The library reads in a thread of its own, as it does by default; that of `ping` sleeps until the
 * callback has told it of the answer. */
#include <semaphore.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "zenoh-pico.h"

static z_owned_publisher_t out;
static sem_t answered;

static long long now(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return t.tv_sec * 1000000000LL + t.tv_nsec;
}

static int compare(const void *a, const void *b) {
    long long x = *(const long long *)a, y = *(const long long *)b;
    return (x > y) - (x < y);
}

static void returns(z_loaned_sample_t *sample, void *context) {
    z_owned_bytes_t payload;
    (void)context;
    z_bytes_clone(&payload, z_sample_payload(sample));
    z_publisher_put(z_loan(out), z_move(payload), NULL);
}

static void counts(z_loaned_sample_t *sample, void *context) {
    (void)sample;
    (void)context;
    sem_post(&answered);
}

static void fail(const char *what) {
    fprintf(stderr, "no %s\n", what);
    exit(1);
}

int main(int argc, char **argv) {
    if (argc != 5) return 2;
    int echoes = !strcmp(argv[1], "echo"), size = atoi(argv[3]), count = atoi(argv[4]);
    z_owned_config_t config;
    z_owned_session_t session;
    z_owned_closure_sample_t closure;
    z_view_keyexpr_t request, answer;
    sem_init(&answered, 0, 0);
    alarm(60);
    z_config_default(&config);
    zp_config_insert(z_loan_mut(config), Z_CONFIG_MODE_KEY, "peer");
    /* A group is listened to by both. */
    int listens = echoes || !strncmp(argv[2], "udp", 3);
    zp_config_insert(z_loan_mut(config), listens ? Z_CONFIG_LISTEN_KEY : Z_CONFIG_CONNECT_KEY, argv[2]);
    if (z_open(&session, z_move(config), NULL) < 0) fail("session");
    z_view_keyexpr_from_str_unchecked(&request, "bench/request");
    z_view_keyexpr_from_str_unchecked(&answer, "bench/answer");
    const z_loaned_keyexpr_t *in = echoes ? z_loan(request) : z_loan(answer);
    const z_loaned_keyexpr_t *to = echoes ? z_loan(answer) : z_loan(request);
    if (z_declare_publisher(z_loan(session), &out, to, NULL) < 0) fail("publisher");
    z_closure(&closure, echoes ? returns : counts, NULL, NULL);
    if (z_declare_background_subscriber(z_loan(session), in, z_move(closure), NULL) < 0)
        fail("subscriber");
    if (echoes) {
        puts("ready");
        fflush(stdout);
        for (;;) pause();
    }
    /* Until both have declared what they publish. */
    sleep(1);
    static unsigned char octets[65536];
    long long *taken = calloc(count, sizeof *taken);
    for (int i = -1000; i < count; i++) {
        z_owned_bytes_t payload;
        long long start = now();
        z_bytes_copy_from_buf(&payload, octets, size);
        if (z_publisher_put(z_loan(out), z_move(payload), NULL) < 0) fail("room");
        sem_wait(&answered);
        if (i >= 0) taken[i] = now() - start;
    }
    qsort(taken, count, sizeof *taken, compare);
    printf("%lld %lld %lld\n", taken[count / 2], taken[count * 99LL / 100],
           taken[count * 999LL / 1000]);
    return 0;
}
