//! What each station does: the scenario's flows as duties of `rtether_live::station`.

use std::collections::BTreeMap;

use rtether_live::emulator::Group;
use rtether_live::link::MacAddress;
use rtether_live::station::published::{Policy, Published, Subscribed, Topics};
use rtether_live::station::tcp::{TcpIncoming, TcpOutgoing, TcpTraffic};
use rtether_live::station::{Answer, Carrier, Duties, Incoming, Outgoing, Peer, Tagging};
use rtether_model::flow::{Delivery, Flow, Reply, Traffic};
use rtether_model::network::NodeId;
use rtether_model::quantity::{Bytes, Duration, Instant};
use rtether_model::wire::Encapsulation;
use rtether_sim::release::Releases;
use rtether_sim::thinking::Thinking;

use super::{Backend, DEVICE, Options, Plan};
use rtether::scenario::Scenario;

/// Time after the end in which packets under way may still arrive.
pub(super) const GRACE: Duration = Duration::from_secs(1);

/// What a host does: its station, and what it sends and receives over TCP and RTPS.
pub(super) struct HostDuties {
    pub(super) station: Duties,
    pub(super) tcp_outgoing: Vec<TcpOutgoing>,
    pub(super) tcp_incoming: Vec<TcpIncoming>,
    pub(super) topics: Topics,
}

/// Returns the duties of the hosts, by node.
pub(super) fn duties(
    scenario: &Scenario,
    plan: &Plan,
    options: &Options,
) -> BTreeMap<NodeId, HostDuties> {
    let mut duties: BTreeMap<NodeId, HostDuties> = BTreeMap::new();
    for host in &plan.hosts {
        let own = Duties {
            device: DEVICE.into(),
            address: host.ip,
            outgoing: Vec::new(),
            incoming: Vec::new(),
            groups: Vec::new(),
            until: Instant::ZERO + options.duration,
            grace: GRACE,
        };
        let own = HostDuties {
            station: own,
            tcp_outgoing: Vec::new(),
            tcp_incoming: Vec::new(),
            topics: Topics { address: host.ip, published: Vec::new(), subscribed: Vec::new() },
        };
        duties.insert(host.node, own);
    }
    let mut stream = 0u16;
    for (number, flow) in (0u8..=255).cycle().zip(&scenario.flows) {
        match flow.encapsulation {
            Encapsulation::Tcp => add_tcp(&mut duties, (scenario, plan, options), flow, stream),
            Encapsulation::Rtps { is_reliable, .. } => {
                let policy = Policy { is_reliable, dscp: flow.dscp };
                add_topic(&mut duties, (scenario, options), flow, stream, policy);
            }
            Encapsulation::Udp
            | Encapsulation::Icmp
            | Encapsulation::Raw
            | Encapsulation::Goose
            | Encapsulation::SampledValues
            | Encapsulation::Profinet
            | Encapsulation::Arp => {
                add(&mut duties, (scenario, plan, options), flow, stream, number);
            }
        }
        stream += u16::try_from(flow.listeners.len()).unwrap_or(0);
    }
    duties
}

fn add(
    duties: &mut BTreeMap<NodeId, HostDuties>,
    (scenario, plan, options): (&Scenario, &Plan, &Options),
    flow: &Flow,
    first: u16,
    number: u8,
) {
    let peer = |node: NodeId| {
        let host = plan.host(node)?;
        Some(Peer { ip: host.ip, mac: host.mac })
    };
    let (carrier, group) = carrier(flow.encapsulation, number);
    let tagging = tagging(plan, flow);
    let is_multicast = flow.delivery == Delivery::Multicast;
    let peers: Vec<Peer> = if is_multicast {
        vec![group]
    } else {
        flow.listeners.iter().filter_map(|&node| peer(node)).collect()
    };
    let listeners = u32::try_from(flow.listeners.len()).unwrap_or(0);
    if let Some(own) = duties.get_mut(&flow.talker) {
        own.station.outgoing.push(Outgoing {
            stream: first,
            releases: Releases::new(flow, options.seed),
            peers,
            answers: if flow.reply.is_some() { listeners } else { 0 },
            payload: octets(flow.payload),
            carrier,
            tagging,
        });
    }
    if carrier == Carrier::Echo {
        // The listeners' kernels answer.
        return;
    }
    for (stream, node) in (first..).zip(&flow.listeners) {
        let answer = flow.reply.zip(peer(flow.talker));
        let answer = answer.map(|(reply, peer)| Answer {
            peer,
            payload: octets(reply.payload),
            thinking: thinking(scenario, options, &reply, *node),
            tagging,
        });
        if let Some(own) = duties.get_mut(node) {
            if is_multicast && carrier == Carrier::Udp && !own.station.groups.contains(&group.ip) {
                own.station.groups.push(group.ip);
            }
            own.station.incoming.push(Incoming {
                stream,
                named: if is_multicast { first } else { stream },
                carrier,
                answer,
            });
        }
    }
}

/// Returns the addresses of the multicast flows, for the emulated network.
pub(super) fn groups(scenario: &Scenario) -> Vec<Group> {
    let flows = (0u8..=255).cycle().zip(&scenario.flows);
    let groups = flows.filter(|(_, flow)| flow.delivery == Delivery::Multicast);
    let groups = groups.map(|(number, flow)| {
        let (carrier, group) = carrier(flow.encapsulation, number);
        let address = match carrier {
            // RFC 1112, 6.4: the lower 23 bits of the group.
            Carrier::Udp | Carrier::Echo => {
                let [_, b, c, d] = group.ip.octets();
                MacAddress([0x01, 0x00, 0x5E, b & 0x7F, c, d])
            }
            Carrier::Raw { .. } => group.mac,
        };
        let flow = flow.clone();
        Group { address, flow }
    });
    groups.collect()
}

fn tagging(plan: &Plan, flow: &Flow) -> Tagging {
    Tagging {
        dscp: flow.dscp,
        tag: flow.tag.map(|tag| (tag.pcp, tag.vid)),
        // Devices of real hosts are left unchanged.
        has_filter: plan.backend != Backend::Ssh,
    }
}

fn octets(payload: Bytes) -> usize {
    usize::try_from(payload.get()).unwrap_or_default()
}

/// Returns how long a listener takes to answer, as in the simulation.
fn thinking(scenario: &Scenario, options: &Options, reply: &Reply, listener: NodeId) -> Thinking {
    Thinking::new(reply, &scenario.network.node(listener).name, options.seed)
}

/// Adds the streams of a TCP flow.
fn add_tcp(
    duties: &mut BTreeMap<NodeId, HostDuties>,
    (scenario, plan, options): (&Scenario, &Plan, &Options),
    flow: &Flow,
    first: u16,
) {
    for (stream, &node) in (first..).zip(&flow.listeners) {
        let Some(host) = plan.host(node) else {
            continue;
        };
        let answer = flow
            .reply
            .map(|reply| (octets(reply.payload), thinking(scenario, options, &reply, node)));
        let tcp =
            if let Traffic::Bulk(bulk) = &flow.traffic { Some(bulk.tcp) } else { flow.connection };
        let window = tcp.map(|tcp| tcp.window);
        let window = window.map(|window| u32::try_from(window.get()).unwrap_or(u32::MAX));
        let (traffic, message) = match &flow.traffic {
            Traffic::Bulk(bulk) => {
                let gap = bulk.bursts.and_then(|bursts| bursts.mean_gap);
                let due = gap.map(|mean_interval| Flow {
                    traffic: Traffic::Poisson { mean_interval },
                    ..flow.clone()
                });
                let files = TcpTraffic::Files {
                    bulk: bulk.clone(),
                    due: due.map(|due| Releases::new(&due, options.seed)),
                };
                (files, None)
            }
            Traffic::Periodic { .. }
            | Traffic::Sporadic { .. }
            | Traffic::Poisson { .. }
            | Traffic::Flood { .. }
            | Traffic::Adaptive { .. } => {
                let payload = octets(flow.payload);
                let messages = TcpTraffic::Messages {
                    releases: Releases::new(flow, options.seed),
                    payload,
                    answer: answer.map(|(size, _)| size),
                };
                (messages, Some(payload))
            }
        };
        if let Some(own) = duties.get_mut(&flow.talker) {
            own.tcp_outgoing.push(TcpOutgoing {
                stream,
                peer: Peer { ip: host.ip, mac: host.mac },
                tagging: tagging(plan, flow),
                traffic,
            });
        }
        if let Some(own) = duties.get_mut(&node) {
            own.tcp_incoming.push(TcpIncoming {
                stream,
                message,
                answer,
                tagging: tagging(plan, flow),
                window,
            });
        }
    }
}

/// Adds the streams of a flow over RTPS.
fn add_topic(
    duties: &mut BTreeMap<NodeId, HostDuties>,
    (scenario, options): (&Scenario, &Options),
    flow: &Flow,
    first: u16,
    policy: Policy,
) {
    if let Some(own) = duties.get_mut(&flow.talker) {
        own.topics.published.push(Published {
            stream: first,
            listeners: u16::try_from(flow.listeners.len()).unwrap_or(0),
            topic: flow.name.clone(),
            policy,
            releases: Releases::new(flow, options.seed),
            payload: octets(flow.payload),
            is_answered: flow.reply.is_some(),
        });
    }
    for (place, node) in (0u16..).zip(&flow.listeners) {
        if let Some(own) = duties.get_mut(node) {
            own.topics.subscribed.push(Subscribed {
                stream: first + place,
                place,
                topic: flow.name.clone(),
                policy,
                answer: flow.reply.map(|reply| {
                    (octets(reply.payload), thinking(scenario, options, &reply, *node))
                }),
            });
        }
    }
}

/// Returns the carrier of an encapsulation, and the group of the flow.
fn carrier(encapsulation: Encapsulation, number: u8) -> (Carrier, Peer) {
    let header = usize::try_from(encapsulation.header_size().get()).unwrap_or(0);
    let raw = |ethertype| Carrier::Raw { ethertype, header };
    let carrier = match encapsulation {
        Encapsulation::Udp | Encapsulation::Rtps { .. } | Encapsulation::Tcp => Carrier::Udp,
        Encapsulation::Icmp => Carrier::Echo,
        Encapsulation::Raw => raw(0x88B5),
        Encapsulation::Goose => raw(0x88B8),
        Encapsulation::SampledValues => raw(0x88BA),
        Encapsulation::Profinet => raw(0x8892),
        Encapsulation::Arp => raw(0x0806),
    };
    let group = Peer {
        ip: std::net::Ipv4Addr::new(239, 77, 0, number),
        // The groups recommended by IEC 61850-8-1 for GOOSE; 239.77.0.x maps to 01:00:5e:4d:00:x.
        mac: MacAddress([0x01, 0x0C, 0xCD, 0x01, 0x00, number]),
    };
    (carrier, group)
}
