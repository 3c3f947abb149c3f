// What memory allows: nanoseconds for a cache line that is read in order, at random places that are known
// in advance, and at places each of which is named by the one before; for sets of growing size.
//
// usage: memory [SEED]
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

struct line {
    uint64_t next, own[7];
};

static uint64_t state = 1;

static uint64_t draw(uint64_t below) {
    state ^= state << 13, state ^= state >> 7, state ^= state << 17;
    return state % below;
}

static double now(void) {
    struct timespec at;
    clock_gettime(CLOCK_MONOTONIC, &at);
    return at.tv_sec * 1e9 + at.tv_nsec;
}

int main(int count, char **words) {
    if (count > 1) state = strtoull(words[1], NULL, 10) | 1;
    printf("MiB,in order,at random,one by one\n");
    const size_t sizes[] = {1, 8, 16, 64, 256};
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
        size_t lines = sizes[i] * 16384;
        struct line *all = aligned_alloc(64, lines * sizeof *all);
        uint32_t *order = malloc(lines * sizeof *order);
        if (!all || !order) return 1;
        for (size_t n = 0; n < lines; n++) order[n] = n;
        for (size_t n = lines - 1; n > 0; n--) {
            size_t other = draw(n + 1);
            uint32_t own = order[n];
            order[n] = order[other], order[other] = own;
        }
        for (size_t n = 0; n < lines; n++) {
            all[order[n]] = (struct line){.next = order[(n + 1) % lines], .own = {n}};
        }
        uint64_t rounds = 64 / sizes[i] + 1, sum = 0;
        double best[3] = {1e18, 1e18, 1e18};
        for (int run = 0; run < 5; run++) {
            double times[4];
            times[0] = now();
            for (uint64_t r = 0; r < rounds; r++)
                for (size_t n = 0; n < lines; n++) sum += all[n].own[0];
            times[1] = now();
            for (uint64_t r = 0; r < rounds; r++)
                for (size_t n = 0; n < lines; n++) sum += all[order[n]].own[0];
            times[2] = now();
            uint64_t at = sum % lines;
            for (uint64_t n = 0; n < rounds * lines; n++) at = all[at].next;
            times[3] = now();
            sum += at;
            for (int k = 0; k < 3; k++) {
                double each = (times[k + 1] - times[k]) / (double)(rounds * lines);
                if (each < best[k]) best[k] = each;
            }
        }
        printf("%zu,%.2f,%.2f,%.2f\n", sizes[i], best[0], best[1], best[2]);
        if (sum == 42) puts("");
        free(all), free(order);
    }
}
