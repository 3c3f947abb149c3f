// The star of benches/README.md with the classes of htsim (Broadcom/csg-htsim).
//
// usage: star queues|pipes|histogram [SECONDS]
//
//   queues     a queue for each link, no pipe: cables have no delay. Count, mean, min, max
//   pipes      a queue and a pipe for each link, as programs of htsim are written
//   histogram  pipes, and a histogram with logarithmic bins for each flow, as rtether has
//
// A queue of htsim passes a packet on when its time on the wire is over. With 126 octets that time
// has the gap in it, so that every packet is 2 x 0.96 us later than with rtether, which passes it on
// with the last bit.

#include <array>
#include <bit>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <limits>
#include <memory>
#include <vector>

#include "cbrpacket.h"
#include "config.h"
#include "eventlist.h"
#include "network.h"
#include "pipe.h"
#include "queue.h"

constexpr unsigned kSenders = 16, kReceivers = 2;
constexpr simtime_picosec kSecond = 1'000'000'000'000, kPeriod = kSecond / 1440;
constexpr int kWire = 126; // 60 octets over UDP, with preamble and gap

// What arrives of one flow. The number of a packet tells when it was released.
class Sink : public PacketSink {
public:
    Sink(bool has_histogram) : bins_(has_histogram ? 64 * 128 : 0) {}
    void receivePacket(Packet &packet) override {
        simtime_picosec delay = EventList::now() - packet.id() * kPeriod;
        count++;
        sum += delay;
        least = std::min(least, delay);
        most = std::max(most, delay);
        if (!bins_.empty()) {
            int shift = std::max(56 - std::countl_zero(delay | 1), 0);
            bins_[shift * 128 + (delay >> shift)]++;
        }
        packet.free();
    }
    const string &nodename() override { return name_; }

    uint64_t count = 0;
    simtime_picosec sum = 0, least = std::numeric_limits<simtime_picosec>::max(), most = 0;

private:
    string name_ = "sink";
    std::vector<uint32_t> bins_;
};

class Source : public EventSource {
public:
    Source(EventList &events, const Route &route, simtime_picosec stop)
        : EventSource(events, "source"), flow_(nullptr), route_(route), stop_(stop) {
        events.sourceIsPending(*this, 0);
    }
    void doNextEvent() override {
        CbrPacket::newpkt(flow_, const_cast<Route &>(route_), number_++, kWire)->sendOn();
        if (eventlist().now() + kPeriod < stop_) eventlist().sourceIsPendingRel(*this, kPeriod);
    }

private:
    PacketFlow flow_;
    const Route &route_;
    simtime_picosec stop_;
    packetid_t number_ = 0;
};

int main(int argc, char **argv) {
    const char *form = argc > 1 ? argv[1] : "pipes";
    bool has_pipes = strcmp(form, "queues") != 0, has_histogram = strcmp(form, "histogram") == 0;
    simtime_picosec end = (argc > 2 ? atoll(argv[2]) : 10) * kSecond;
    EventList &events = EventList::getTheEventList();
    events.setEndtime(end);

    std::vector<std::unique_ptr<Queue>> queues;
    std::vector<std::unique_ptr<Pipe>> pipes;
    for (unsigned link = 0; link < kSenders + kReceivers; link++) {
        queues.push_back(std::make_unique<Queue>(speedFromMbps(uint64_t(100)), 1 << 20, events, nullptr));
        pipes.push_back(std::make_unique<Pipe>(0, events));
    }
    std::vector<std::unique_ptr<Sink>> sinks;
    std::vector<std::unique_ptr<Route>> routes;
    std::vector<std::unique_ptr<Source>> sources;
    for (unsigned flow = 0; flow < kSenders * kReceivers; flow++) {
        sinks.push_back(std::make_unique<Sink>(has_histogram));
        auto route = std::make_unique<Route>();
        for (unsigned link : {flow / kReceivers, kSenders + flow % kReceivers}) {
            route->push_back(queues[link].get());
            if (has_pipes) route->push_back(pipes[link].get());
        }
        route->push_back(sinks.back().get());
        routes.push_back(std::move(route));
        sources.push_back(std::make_unique<Source>(events, *routes.back(), end - 500'000'000));
    }
    while (events.doNextEvent()) {
    }

    uint64_t received = 0;
    simtime_picosec sum = 0, most = 0;
    for (auto &sink : sinks) {
        received += sink->count;
        sum += sink->sum;
        most = std::max(most, sink->most);
    }
    printf("{\"received\": %llu, \"delay_mean_ps\": %llu, \"delay_max_ps\": %llu}\n",
           (unsigned long long)received, (unsigned long long)(sum / received), (unsigned long long)most);
}
