// The floor under the simulator: the star of benches/README.md in as few lines as it takes.
//
// A binary heap of events, a ring of packets for each link, and for each flow a count, a mean, a
// maximum and a histogram with logarithmic bins. It knows this plant and nothing else: no names, no
// files, no queue limits, no priorities, no losses. What rtether needs beyond it, it pays for what
// this program cannot do.
//
// usage: star [SECONDS]      prints what `examples/star` prints

#include <algorithm>
#include <array>
#include <bit>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <queue>
#include <vector>

using Time = std::int64_t; // ps

constexpr unsigned kSenders = 16, kReceivers = 2, kFlows = kSenders * kReceivers;
constexpr Time kSecond = 1'000'000'000'000, kPeriod = kSecond / 1440;
constexpr Time kOctet = 80'000;            // at 100 Mbit/s
constexpr unsigned kFrame = 60 + 8 + 20 + 18; // payload, UDP, IP, Ethernet
constexpr Time kLastBit = (kFrame + 8) * kOctet, kSlot = (kFrame + 20) * kOctet;

struct Packet {
    Time released;
    unsigned flow;
};

// Frames on a link and waiting for it, in their order.
struct Link {
    std::array<Packet, 64> ring;
    unsigned head = 0, tail = 0;
    Time free = 0;
};

struct Event {
    Time time;
    unsigned what; // links by number, then flows
    bool operator<(const Event &other) const {
        return time != other.time ? time > other.time : what > other.what;
    }
};

struct Statistics {
    std::uint64_t count = 0;
    Time sum = 0, max = 0;
    std::array<std::uint32_t, 64 * 128> bins{};
};

static std::priority_queue<Event> events;
static std::array<Link, kSenders + kReceivers> links;
static std::vector<Statistics> statistics(kFlows);

static void send(unsigned link, Packet packet, Time now) {
    Link &own = links[link];
    Time start = std::max(now, own.free);
    own.free = start + kSlot;
    own.ring[own.tail++ % 64] = packet;
    events.push({start + kLastBit, link});
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
    for (unsigned flow = 0; flow < kFlows; flow++) events.push({0, kSenders + kReceivers + flow});
    while (!events.empty() && events.top().time < end) {
        auto [now, what] = events.top();
        events.pop();
        handled++;
        if (what >= kSenders + kReceivers) {
            unsigned flow = what - kSenders - kReceivers;
            send(flow / kReceivers, {now, flow}, now);
            if (now + kPeriod < stop) events.push({now + kPeriod, what});
            continue;
        }
        Link &link = links[what];
        Packet packet = link.ring[link.head++ % 64];
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
