// The floor under the simulator: the star of benches/README.md in as few lines as it takes.
//
// A tournament of timers, one for each link and each flow; a ring of frames for each link; and for
// each flow a count, a mean, a maximum and a histogram with logarithmic bins. It knows this plant and
// nothing else: no names, no files, no queue limits, no priorities, no losses. What rtether takes
// beyond it, it takes for what this program cannot do.
//
// usage: star [SECONDS]      prints what `examples/star` prints

#include <algorithm>
#include <array>
#include <bit>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <limits>
#include <vector>

using Time = std::int64_t; // ps

constexpr unsigned kSenders = 16, kReceivers = 2, kFlows = kSenders * kReceivers;
constexpr Time kSecond = 1'000'000'000'000, kPeriod = kSecond / 1440;
constexpr Time kOctet = 80'000;            // at 100 Mbit/s
constexpr unsigned kFrame = 60 + 8 + 20 + 18; // payload, UDP, IP, Ethernet
constexpr Time kLastBit = (kFrame + 8) * kOctet, kSlot = (kFrame + 20) * kOctet;

constexpr unsigned kLinks = kSenders + kReceivers, kTimers = 64;
constexpr Time kNever = std::numeric_limits<Time>::max();
static_assert(kLinks + kFlows <= kTimers, "a timer for each link and each flow");

struct Packet {
    Time released, arrives;
    unsigned flow;
};

// Frames on a link and waiting for it, in their order.
struct Link {
    std::array<Packet, 64> ring;
    unsigned head = 0, tail = 0;
    Time free = 0;
};

// Timers by number, links first, then flows. An inner place of the tree has the number of the timer
// below it that is due first; of two that are due together, the lower number.
struct Timers {
    std::array<Time, kTimers> due;
    std::array<std::uint8_t, kTimers> first;

    Timers() {
        due.fill(kNever);
        for (unsigned own = kTimers; own-- > 0;) set(own, kNever);
    }

    void set(unsigned own, Time time) {
        due[own] = time;
        unsigned place = (kTimers + own) / 2;
        unsigned low = own & ~1u, winner = due[low | 1] < due[low] ? low | 1 : low;
        first[place] = std::uint8_t(winner);
        while (place /= 2) {
            unsigned left = first[2 * place], right = first[2 * place + 1];
            first[place] = std::uint8_t(due[right] < due[left] ? right : left);
        }
    }
};

struct Statistics {
    std::uint64_t count = 0;
    Time sum = 0, max = 0;
    std::array<std::uint32_t, 64 * 128> bins{};
};

static Timers timers;
static std::array<Link, kLinks> links;
static std::vector<Statistics> statistics(kFlows);

static void send(unsigned link, Packet packet, Time now) {
    Link &own = links[link];
    Time start = std::max(now, own.free);
    own.free = start + kSlot;
    packet.arrives = start + kLastBit;
    if (own.head == own.tail) timers.set(link, packet.arrives);
    own.ring[own.tail++ % 64] = packet;
}

static void record(Packet packet, Time now) {
    Statistics &own = statistics[packet.flow];
    Time delay = now - packet.released;
    own.count++;
    own.sum += delay;
    own.max = std::max(own.max, delay);
    int shift = std::max(56 - std::countl_zero(std::uint64_t(delay) | 1), 0);
    own.bins[shift * 128 + (delay >> shift)]++;
}

int main(int argc, char **argv) {
    Time end = (argc > 1 ? std::atoll(argv[1]) : 10) * kSecond;
    Time stop = end - 500'000'000;
    std::uint64_t handled = 0;
    for (unsigned flow = 0; flow < kFlows; flow++) timers.set(kLinks + flow, 0);
    for (;;) {
        unsigned what = timers.first[1];
        Time now = timers.due[what];
        if (now >= end) break;
        handled++;
        if (what >= kLinks) {
            unsigned flow = what - kLinks;
            timers.set(what, now + kPeriod < stop ? now + kPeriod : kNever);
            send(flow / kReceivers, {now, 0, flow}, now);
            continue;
        }
        Link &link = links[what];
        Packet packet = link.ring[link.head++ % 64];
        timers.set(what, link.head != link.tail ? link.ring[link.head % 64].arrives : kNever);
        if (what < kSenders) {
            send(kSenders + packet.flow % kReceivers, packet, now);
        } else {
            record(packet, now);
        }
    }
    std::uint64_t received = 0;
    Time sum = 0, max = 0;
    for (const Statistics &own : statistics) {
        received += own.count;
        sum += own.sum;
        max = std::max(max, own.max);
    }
    std::printf("{\"received\": %llu, \"events\": %llu, \"delay_mean_ps\": %lld, \"delay_max_ps\": %lld}\n",
                (unsigned long long)received, (unsigned long long)handled,
                (long long)(sum / (Time)received), (long long)max);
}
