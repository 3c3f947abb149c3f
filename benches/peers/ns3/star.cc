// The star benchmark in ns-3: see benches/README.md for the work that every simulator does here.
//
// Eighteen end stations on one switch: sixteen senders, each with one flow of UDP datagrams to each
// of two receivers. The applications only send, count and measure delay, so that the time spent is
// the simulator's. Prints one line of JSON.

#include "ns3/bridge-module.h"
#include "ns3/core-module.h"
#include "ns3/csma-module.h"
#include "ns3/internet-module.h"
#include "ns3/network-module.h"
#include "ns3/traffic-control-module.h"

#include <algorithm>
#include <array>
#include <cstdint>
#include <cstring>
#include <iostream>

using namespace ns3;

namespace
{

constexpr uint16_t kPort = 5000;
constexpr uint32_t kPayloadSize = 60;

/// What the receivers saw together.
struct Statistics
{
    uint64_t sent = 0;
    uint64_t received = 0;
    int64_t delaySumNs = 0;
    int64_t delayMaxNs = 0;
};

/// Sends one datagram per period to one receiver; its first bytes hold the time of sending.
class Sender : public Application
{
  public:
    Sender(Ipv4Address receiver, uint32_t rate, uint64_t count, Statistics& statistics)
        : m_receiver(receiver),
          m_rate(rate),
          m_count(count),
          m_statistics(statistics)
    {
    }

  private:
    void StartApplication() override
    {
        m_socket = Socket::CreateSocket(GetNode(), UdpSocketFactory::GetTypeId());
        m_socket->Bind();
        m_socket->Connect(InetSocketAddress(m_receiver, kPort));
        m_start = Simulator::Now();
        Send();
    }

    void StopApplication() override
    {
        m_next.Cancel();
    }

    void Send()
    {
        std::array<uint8_t, kPayloadSize> payload{};
        const int64_t now = Simulator::Now().GetNanoSeconds();
        std::memcpy(payload.data(), &now, sizeof now);
        m_socket->Send(Create<Packet>(payload.data(), kPayloadSize));
        ++m_statistics.sent;
        if (++m_index == m_count)
        {
            return;
        }
        // From the start and not from the last one, so that rounding does not add up.
        const Time due = m_start + NanoSeconds(m_index * 1'000'000'000 / m_rate);
        m_next = Simulator::Schedule(due - Simulator::Now(), &Sender::Send, this);
    }

    Ipv4Address m_receiver;
    uint32_t m_rate;
    uint64_t m_count;
    Statistics& m_statistics;
    Ptr<Socket> m_socket;
    EventId m_next;
    Time m_start;
    uint64_t m_index = 0;
};

/// Counts datagrams and takes their delay.
class Receiver : public Application
{
  public:
    explicit Receiver(Statistics& statistics)
        : m_statistics(statistics)
    {
    }

  private:
    void StartApplication() override
    {
        m_socket = Socket::CreateSocket(GetNode(), UdpSocketFactory::GetTypeId());
        m_socket->Bind(InetSocketAddress(Ipv4Address::GetAny(), kPort));
        m_socket->SetRecvCallback(MakeCallback(&Receiver::Receive, this));
    }

    void StopApplication() override
    {
        m_socket->Close();
    }

    void Receive(Ptr<Socket> socket)
    {
        while (Ptr<Packet> packet = socket->Recv())
        {
            int64_t sentAt = 0;
            packet->CopyData(reinterpret_cast<uint8_t*>(&sentAt), sizeof sentAt);
            const int64_t delay = Simulator::Now().GetNanoSeconds() - sentAt;
            ++m_statistics.received;
            m_statistics.delaySumNs += delay;
            m_statistics.delayMaxNs = std::max(m_statistics.delayMaxNs, delay);
        }
    }

    Statistics& m_statistics;
    Ptr<Socket> m_socket;
};

/// Cables every station to the switch and returns the stations' interfaces.
NetDeviceContainer
Cable(const NodeContainer& stations, const Ptr<Node>& switchNode)
{
    CsmaHelper cable;
    cable.SetChannelAttribute("DataRate", StringValue("100Mbps"));
    cable.SetChannelAttribute("Delay", TimeValue(Seconds(0)));
    NetDeviceContainer interfaces;
    NetDeviceContainer ports;
    for (uint32_t i = 0; i < stations.GetN(); ++i)
    {
        const NetDeviceContainer ends = cable.Install(NodeContainer(stations.Get(i), switchNode));
        interfaces.Add(ends.Get(0));
        ports.Add(ends.Get(1));
    }
    BridgeHelper().Install(switchNode, ports);
    return interfaces;
}

} // namespace

int
main(int argc, char* argv[])
{
    uint32_t senders = 16;
    uint32_t receivers = 2;
    uint32_t rate = 1440;
    uint32_t seconds = 10;
    uint32_t spacingUs = 0;
    bool trafficControl = true;
    CommandLine options(__FILE__);
    options.AddValue("senders", "Sending stations", senders);
    options.AddValue("receivers", "Receiving stations", receivers);
    options.AddValue("rate", "Datagrams per second and flow", rate);
    options.AddValue("seconds", "Simulated seconds", seconds);
    options.AddValue("spacing", "Microseconds between the starts of neighbors", spacingUs);
    options.AddValue("tc", "Keep the queueing discipline above each interface", trafficControl);
    options.Parse(argc, argv);

    // Without a random wait before address resolution no first datagram is lost to it.
    Config::SetDefault("ns3::ArpL3Protocol::RequestJitter",
                       StringValue("ns3::ConstantRandomVariable[Constant=0]"));
    // All senders resolve two addresses at the same instant.
    Config::SetDefault("ns3::ArpCache::PendingQueueSize", UintegerValue(100));

    NodeContainer stations(senders + receivers);
    Ptr<Node> switchNode = CreateObject<Node>();
    const NetDeviceContainer interfaces = Cable(stations, switchNode);
    InternetStackHelper stack;
    stack.SetIpv6StackInstall(false);
    stack.Install(stations);
    Ipv4AddressHelper addresses("10.0.0.0", "255.255.255.0");
    const Ipv4InterfaceContainer assigned = addresses.Assign(interfaces);
    if (!trafficControl)
    {
        TrafficControlHelper().Uninstall(interfaces);
    }

    Statistics statistics;
    const uint64_t perFlow = uint64_t{rate} * seconds;
    for (uint32_t r = 0; r < receivers; ++r)
    {
        stations.Get(senders + r)->AddApplication(CreateObject<Receiver>(statistics));
        for (uint32_t s = 0; s < senders; ++s)
        {
            Ptr<Sender> sender =
                CreateObject<Sender>(assigned.GetAddress(senders + r), rate, perFlow, statistics);
            sender->SetStartTime(MicroSeconds(uint64_t{s} * spacingUs));
            stations.Get(s)->AddApplication(sender);
        }
    }
    // The last datagrams still arrive.
    Simulator::Stop(Seconds(seconds) + MilliSeconds(10));
    Simulator::Run();
    const uint64_t events = Simulator::GetEventCount();
    Simulator::Destroy();

    const uint64_t divisor = std::max<uint64_t>(statistics.received, 1);
    std::cout << "{\"sent\": " << statistics.sent << ", \"received\": " << statistics.received
              << ", \"delay_mean_ns\": " << statistics.delaySumNs / static_cast<int64_t>(divisor)
              << ", \"delay_max_ns\": " << statistics.delayMaxNs << ", \"events\": " << events
              << "}" << std::endl;
    return statistics.received == statistics.sent ? 0 : 1;
}
