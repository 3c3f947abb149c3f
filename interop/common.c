#include "common.h"

#include <errno.h>
#include <getopt.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { MAX_INSTANCES = 64 };

static volatile sig_atomic_t signalled;
static int64_t started;
static int32_t matched; /* written by listeners, hence atomic */
static int64_t samples;
static bool wrong_payload;

static struct {
    char color[PEER_COLOR_LENGTH + 1];
    enum peer_instance state;
} instances[MAX_INSTANCES];
static size_t instance_count;

static const char usage[] =
    "usage: peer pub|sub|echo|ping [options]\n"
    "  --domain N               domain (0)\n"
    "  --topic T                topic of pub and sub (Square)\n"
    "  --color C                key of what pub writes (BLUE)\n"
    "  --reliable               reliable instead of best effort\n"
    "  --durability D           volatile or transient-local (volatile)\n"
    "  --depth N                history keeps the last N, 0 keeps all (1)\n"
    "  --deadline MS            deadline (none)\n"
    "  --strength N             exclusive ownership of this strength (shared)\n"
    "  --partition P            partition (the default one)\n"
    "  --filter MS              time-based filter of sub (none)\n"
    "  --lifespan MS            lifespan of what pub writes (none)\n"
    "  --xcdr 1|2               data representation (1)\n"
    "  --period MS              time between two samples (pub 100, ping 0)\n"
    "  --count N                samples to write, receive or send, 0: no limit\n"
    "                           (pub 10, sub 0, ping 10000)\n"
    "  --size N                 octets of additional payload (0)\n"
    "  --final F                dispose, unregister or none after the last sample (none)\n"
    "  --for SECONDS            end then at the latest; pub also stays until then\n"
    "                           (sub 10, others no limit)\n"
    "  --multicast yes|no       discovery and data by multicast (yes)\n"
    "  --peer ADDRESS           with --multicast no: whom to announce to, up to 8 times\n"
    "                           (127.0.0.1)\n"
    "  --interface ADDRESS      use only the interface with this IPv4 address\n"
    "  --datagram N             largest message in octets, 1000 to 65000 (its own choice)\n"
    "  --wait-match             pub begins 1.5 s after a reader has matched\n";

static void on_signal(int number)
{
    (void)number;
    signalled = 1;
}

static void bad_option(const char *name, const char *value)
{
    fprintf(stderr, "peer: --%s does not take `%s`\n%s", name, value, usage);
    exit(2);
}

static int64_t number(const char *name, const char *text, int64_t low, int64_t high)
{
    char *end = NULL;
    errno = 0;
    long long value = strtoll(text, &end, 10);
    if (errno != 0 || end == text || *end != '\0' || value < low || value > high)
        bad_option(name, text);
    return value;
}

static int word(const char *name, const char *text, const char *const *words)
{
    for (int i = 0; words[i] != NULL; i++)
        if (strcmp(words[i], text) == 0)
            return i;
    bad_option(name, text);
    return 0;
}

static void read_verb(const char *text, struct peer_options *o)
{
    static const char *const verbs[] = {"pub", "sub", "echo", "ping", NULL};
    for (int i = 0; verbs[i] != NULL; i++) {
        if (text != NULL && strcmp(verbs[i], text) == 0) {
            o->verb = (enum peer_verb)i;
            return;
        }
    }
    bool help = text != NULL && strcmp(text, "--help") == 0;
    fputs(usage, help ? stdout : stderr);
    exit(help ? 0 : 2);
}

static void read_option(char letter, const char *name, struct peer_options *o)
{
    static const char *const durabilities[] = {"volatile", "transient-local", NULL};
    static const char *const finals[] = {"none", "dispose", "unregister", NULL};
    static const char *const no_yes[] = {"no", "yes", NULL};
    const int64_t most_ms = INT32_MAX;
    switch (letter) {
    case 'd': o->domain = (uint32_t)number(name, optarg, 0, 232); break;
    case 't': o->topic = optarg; break;
    case 'c':
        if (strlen(optarg) > PEER_COLOR_LENGTH)
            bad_option(name, optarg);
        o->color = optarg;
        break;
    case 'r': o->reliable = true; break;
    case 'D': o->transient_local = word(name, optarg, durabilities) == 1; break;
    case 'k': o->depth = (int32_t)number(name, optarg, 0, INT32_MAX); break;
    case 'f': o->deadline_ms = number(name, optarg, 0, most_ms); break;
    case 's': o->strength = (int32_t)number(name, optarg, -1, INT32_MAX); break;
    case 'p': o->partition = optarg; break;
    case 'i': o->filter_ms = number(name, optarg, 0, most_ms); break;
    case 'l': o->lifespan_ms = number(name, optarg, 0, most_ms); break;
    case 'x': o->xcdr = (int)number(name, optarg, 1, 2); break;
    case 'P': o->period_ms = number(name, optarg, 0, most_ms); break;
    case 'n': o->count = number(name, optarg, 0, INT32_MAX); break;
    case 'z': o->size = (uint32_t)number(name, optarg, 0, 64 << 20); break;
    case 'F': o->final = (enum peer_final)word(name, optarg, finals); break;
    case 'T': o->for_ms = 1000 * number(name, optarg, 1, 1000000); break;
    case 'm': o->multicast = word(name, optarg, no_yes) == 1; break;
    case 'a':
        if (o->address_count == PEER_MAX_ADDRESSES)
            bad_option(name, optarg);
        o->addresses[o->address_count++] = optarg;
        break;
    case 'I': o->interface_address = optarg; break;
    case 'g': o->datagram = (uint32_t)number(name, optarg, 1000, 65000); break;
    case 'w': o->wait_match = true; break;
    default: fputs(usage, stderr); exit(2);
    }
}

static void set_defaults(struct peer_options *o)
{
    *o = (struct peer_options){.topic = "Square", .color = "BLUE", .depth = 1, .strength = -1,
                               .xcdr = 1, .period_ms = -1, .count = -1, .multicast = true};
}

void peer_parse(int argc, char **argv, struct peer_options *o)
{
    static const struct option known[] = {
        {"domain", 1, NULL, 'd'},    {"topic", 1, NULL, 't'},      {"color", 1, NULL, 'c'},
        {"reliable", 0, NULL, 'r'},  {"durability", 1, NULL, 'D'}, {"depth", 1, NULL, 'k'},
        {"deadline", 1, NULL, 'f'},  {"strength", 1, NULL, 's'},   {"partition", 1, NULL, 'p'},
        {"filter", 1, NULL, 'i'},    {"lifespan", 1, NULL, 'l'},   {"xcdr", 1, NULL, 'x'},
        {"period", 1, NULL, 'P'},    {"count", 1, NULL, 'n'},      {"size", 1, NULL, 'z'},
        {"final", 1, NULL, 'F'},     {"for", 1, NULL, 'T'},        {"multicast", 1, NULL, 'm'},
        {"peer", 1, NULL, 'a'},      {"interface", 1, NULL, 'I'},  {"wait-match", 0, NULL, 'w'},
        {"datagram", 1, NULL, 'g'},  {NULL, 0, NULL, 0}};
    set_defaults(o);
    read_verb(argc > 1 ? argv[1] : NULL, o);
    int index = 0;
    int letter;
    optind = 2;
    while ((letter = getopt_long(argc, argv, "", known, &index)) != -1)
        read_option((char)letter, letter == '?' ? "" : known[index].name, o);
    if (optind != argc) {
        fprintf(stderr, "peer: `%s` is no option\n%s", argv[optind], usage);
        exit(2);
    }
    if (o->period_ms < 0)
        o->period_ms = o->verb == PEER_PING ? 0 : 100;
    if (o->count < 0)
        o->count = o->verb == PEER_PUB ? 10 : o->verb == PEER_PING ? 10000 : 0;
    if (o->for_ms == 0 && o->verb == PEER_SUB)
        o->for_ms = 10000;
    if (o->address_count == 0)
        o->addresses[o->address_count++] = "127.0.0.1";
    struct sigaction action = {.sa_handler = on_signal};
    sigaction(SIGINT, &action, NULL);
    sigaction(SIGTERM, &action, NULL);
    started = peer_now();
}

int64_t peer_now(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (int64_t)now.tv_sec * 1000000000 + now.tv_nsec;
}

bool peer_over(const struct peer_options *o)
{
    return signalled != 0 || (o->for_ms > 0 && peer_now() >= started + o->for_ms * 1000000);
}

void peer_sleep_until(const struct peer_options *o, int64_t at)
{
    const int64_t step = 20000000;
    for (int64_t now = peer_now(); now < at && !peer_over(o); now = peer_now()) {
        int64_t until = at < now + step ? at : now + step;
        struct timespec wake = {.tv_sec = until / 1000000000, .tv_nsec = until % 1000000000};
        clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &wake, NULL);
    }
}

void peer_line(const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    flockfile(stdout);
    vprintf(format, arguments);
    putchar_unlocked('\n');
    fflush(stdout);
    funlockfile(stdout);
    va_end(arguments);
}

void peer_fail(const char *what, const char *why)
{
    fprintf(stderr, "peer: %s: %s\n", what, why);
    exit(1);
}

void peer_on_match(int32_t current, int32_t change)
{
    __atomic_store_n(&matched, current, __ATOMIC_RELEASE);
    if (change < 0)
        peer_line("unmatched");
    else
        peer_line("matched %d", (int)current);
}

int32_t peer_matched(void)
{
    return __atomic_load_n(&matched, __ATOMIC_ACQUIRE);
}

void peer_wait_match(const struct peer_options *o)
{
    if (!o->wait_match)
        return;
    while (peer_matched() == 0 && !peer_over(o))
        peer_sleep_until(o, peer_now() + 5000000);
    peer_sleep_until(o, peer_now() + PEER_OTHER_MATCH_NS);
}

void peer_on_incompatible(uint32_t policy)
{
    static const char *const names[] = {
        "0",          "USER_DATA",          "DURABILITY",     "PRESENTATION",
        "DEADLINE",   "LATENCY_BUDGET",     "OWNERSHIP",      "OWNERSHIP_STRENGTH",
        "LIVELINESS", "TIME_BASED_FILTER",  "PARTITION",      "RELIABILITY",
        "DESTINATION_ORDER", "HISTORY",     "RESOURCE_LIMITS", "ENTITY_FACTORY",
        "WRITER_DATA_LIFECYCLE", "READER_DATA_LIFECYCLE", "TOPIC_DATA", "GROUP_DATA",
        "TRANSPORT_PRIORITY", "LIFESPAN",   "DURABILITY_SERVICE", "DATA_REPRESENTATION",
        "TYPE_CONSISTENCY_ENFORCEMENT"};
    if (policy < sizeof names / sizeof *names)
        peer_line("incompatible %s", names[policy]);
    else
        peer_line("incompatible %u", policy);
}

/* Returns the state that is remembered for the instance, or NULL if the table is full. */
static enum peer_instance *instance_of(const char *color)
{
    for (size_t i = 0; i < instance_count; i++)
        if (strcmp(instances[i].color, color) == 0)
            return &instances[i].state;
    if (instance_count == MAX_INSTANCES)
        return NULL;
    snprintf(instances[instance_count].color, sizeof instances[0].color, "%s", color);
    return &instances[instance_count++].state;
}

void peer_fill(uint8_t *payload, uint32_t length)
{
    for (uint32_t i = 0; i < length; i++)
        payload[i] = (uint8_t)(i % 251);
}

void peer_on_sample(const char *color, int32_t x, int32_t y, int32_t size, const uint8_t *payload,
                    uint32_t length)
{
    samples++;
    enum peer_instance *state = instance_of(color);
    if (state != NULL)
        *state = PEER_ALIVE;
    peer_line("sample %s %d %d %d %u", color, (int)x, (int)y, (int)size, (unsigned)length);
    for (uint32_t i = 0; i < length; i++) {
        if (payload[i] != (uint8_t)(i % 251)) {
            fprintf(stderr, "peer: octet %u of the payload is %u\n", (unsigned)i, payload[i]);
            wrong_payload = true;
            break;
        }
    }
}

void peer_on_instance(const char *color, enum peer_instance new_state)
{
    enum peer_instance *state = instance_of(color);
    if (state == NULL || *state == new_state)
        return;
    *state = new_state;
    peer_line("%s %s", new_state == PEER_DISPOSED ? "disposed" : "unregistered", color);
}

int64_t peer_sample_count(void)
{
    return samples;
}

static int compare_times(const void *left, const void *right)
{
    int64_t a = *(const int64_t *)left;
    int64_t b = *(const int64_t *)right;
    return (a > b) - (a < b);
}

void peer_print_rtt(int64_t *times, size_t count)
{
    if (count == 0)
        peer_fail("ping", "no answer was measured");
    qsort(times, count, sizeof *times, compare_times);
    const size_t last = count - 1;
    const int64_t picks[] = {times[last / 2], times[last * 99 / 100], times[last * 999 / 1000],
                             times[0], times[last]};
    peer_line("rtt_us %.1f %.1f %.1f %.1f %.1f", (double)picks[0] / 1000, (double)picks[1] / 1000,
              (double)picks[2] / 1000, (double)picks[3] / 1000, (double)picks[4] / 1000);
}

int peer_exit_code(void)
{
    return wrong_payload ? 1 : 0;
}
