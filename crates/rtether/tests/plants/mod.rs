//! Made-up plants with made-up results: deterministic, and plausible to look at.

mod examples;
mod shared;

pub(crate) use examples::{chain, hostile, line, star, substation, workshop};
use rtether::run::{Confidence, Interval, Results};
use rtether::scenario::{Assumptions, Design, Requirement, RunPlan, Scenario};
use rtether_model::flow::{Delivery, Flow, Phase, Traffic};
use rtether_model::ingress::{Cause, IngressRule, RuleCounts};
use rtether_model::network::{
    Buffer, EndStation, Hub, Link, LinkId, Network, Node, NodeId, NodeKind, PortId, QueueMap,
    Selection, Stack, Switch,
};
use rtether_model::quantity::{BitRate, Bytes, Duration, Instant};
use rtether_model::record::{
    Bucket, IngressRecord, NodeRecord, Place, PortRecord, QueueRecord, Record, Segment,
    StreamRecord, Worst,
};
use rtether_model::route::Routing;

/// Builds a scenario, addressing nodes by name.
pub(crate) struct Builder {
    pub(crate) scenario: Scenario,
    pub(crate) packets: u64,
}

impl Builder {
    pub(crate) fn new(name: &str) -> Self {
        let run = RunPlan {
            duration: Duration::from_secs(2),
            warmup: Duration::from_ms(100),
            runs: 4,
            seed: 1,
            bucket: Duration::from_ms(20),
        };
        let scenario = Scenario {
            name: name.into(),
            network: Network::default(),
            flows: Vec::new(),
            run,
            accept: vec![Requirement::default_for_all()],
            stages: Vec::new(),
            sums: Vec::new(),
            assumptions: Assumptions::default(),
            design: Design::default(),
        };
        Self { scenario, packets: 2_000 }
    }

    pub(crate) fn station(&mut self, name: &str) -> NodeId {
        let service = Duration::from_us(50);
        let station = EndStation {
            stack_queue: 100,
            driver_queue: Bytes::new(100_000),
            ..EndStation::new(Stack::IpRate { service })
        };
        self.node(name, NodeKind::EndStation(station))
    }

    pub(crate) fn switch(&mut self, name: &str) -> NodeId {
        let switch = Switch {
            latency: Duration::from_us(10),
            queues: QueueMap::standard(4).unwrap(),
            selection: Selection::StrictPriority,
            buffer: Buffer::per_port(Bytes::new(65_536)),
            ..Switch::new(0)
        };
        self.node(name, NodeKind::Switch(switch))
    }

    pub(crate) fn hub(&mut self, name: &str) -> NodeId {
        let hub = Hub { delay: Duration::from_ns(400), ..Hub::new(BitRate::from_mbps(10), 0) };
        self.node(name, NodeKind::Hub(hub))
    }

    /// Puts priority queues and a smoother between stack and driver.
    pub(crate) fn layer(&mut self, node: NodeId) {
        if let NodeKind::EndStation(station) = &mut self.scenario.network.nodes[node.index()].kind {
            station.layer = Some(Box::default());
        }
    }

    fn node(&mut self, name: &str, kind: NodeKind) -> NodeId {
        self.scenario.network.add(name, kind)
    }

    pub(crate) fn link(&mut self, a: NodeId, b: NodeId, mbps: u64) -> &mut Link {
        let network = &mut self.scenario.network;
        let link = network.join(a, b, BitRate::from_mbps(mbps));
        link.propagation = Duration::from_ns(100);
        link
    }

    pub(crate) fn flow(
        &mut self,
        name: &str,
        class: &str,
        from: NodeId,
        to: &[NodeId],
        deadline: Option<Duration>,
    ) {
        self.scenario.flows.push(Flow {
            class: class.into(),
            delivery: if to.len() > 1 { Delivery::Multicast } else { Delivery::Unicast },
            deadline,
            ..Flow::new(
                name.into(),
                from,
                to.to_vec(),
                Bytes::new(64),
                Traffic::periodic(Duration::from_ms(2), Phase::Random),
            )
        });
    }

    pub(crate) fn results(&self) -> Results {
        let mut dice = Dice(7);
        let network = &self.scenario.network;
        let routing = Routing::new(network);
        let mut record = Record {
            duration: self.scenario.run.duration,
            observed: self.scenario.run.duration * i64::from(self.scenario.run.runs),
            warmup: self.scenario.run.warmup,
            bucket: self.scenario.run.bucket,
            runs: self.scenario.run.runs,
            ..Record::default()
        };
        record.nodes =
            network.iter_nodes().map(|(id, node)| node_record(id, node, &mut dice)).collect();
        record.ports = ports(network, &mut dice);
        shared::fill(network, &mut record, &mut dice);
        for (number, flow) in self.scenario.flows.iter().enumerate() {
            for &listener in &flow.listeners {
                let hops = routing.flow_path(network, flow, listener).unwrap();
                let last = hops.last().unwrap().egress;
                let mut stream = StreamRecord {
                    flow: u32::try_from(number).unwrap(),
                    listener: listener.0,
                    ..StreamRecord::default()
                };
                let busy = dice.below(100) < 2;
                self.fill(&mut stream, flow, (hops.len(), last, busy), &mut dice);
                record.events += stream.delivered * 8;
                record.streams.push(stream);
            }
        }
        let confidence = record.streams.iter().map(confidence).collect();
        let seeds = (1..=u64::from(record.runs)).collect();
        Results { record, stages: Vec::new(), confidence, seeds, partial: false }
    }

    fn fill(
        &self,
        stream: &mut StreamRecord,
        flow: &Flow,
        way: (usize, PortId, bool),
        dice: &mut Dice,
    ) {
        let (hops, last, busy) = way;
        let network = &self.scenario.network;
        let mut links = network.links.iter();
        let at_hub = links.any(|link| {
            let [a, b] = link.ends.map(|end| end.node);
            (a == flow.talker && network.hub(b).is_some())
                || (b == flow.talker && network.hub(a).is_some())
        });
        let hops = i64::try_from(hops).unwrap();
        let slices = self.scenario.run.duration.as_ps() / self.scenario.run.bucket.as_ps();
        stream.buckets = vec![Bucket::default(); usize::try_from(slices).unwrap()];
        for number in 0..self.packets {
            let mut segments = [Duration::ZERO; Segment::COUNT];
            segments[Segment::TalkerStack.index()] = Duration::from_us(50) + dice.tail(20);
            segments[Segment::DriverQueue.index()] = dice.tail(if busy { 400 } else { 15 });
            if at_hub {
                segments[Segment::MediumAccess.index()] = dice.tail(120);
            }
            segments[Segment::Wire.index()] = Duration::from_ns(8_160) * hops;
            segments[Segment::SwitchLatency.index()] = Duration::from_us(10) * (hops - 1);
            segments[Segment::SwitchQueue.index()] = dice.tail(12 * hops);
            segments[Segment::ReceiveQueue.index()] = dice.tail(30);
            segments[Segment::ReceiveStack.index()] = Duration::from_us(50);
            let latency: Duration = segments.iter().copied().sum();
            let slot = number * u64::try_from(slices).unwrap() / self.packets;
            let bucket = &mut stream.buckets[usize::try_from(slot).unwrap()];
            bucket.count += 1;
            bucket.sum_ps += i128::from(latency.as_ps());
            bucket.max = bucket.max.max(latency);
            stream.released += 1;
            stream.delivered += 1;
            stream.payload_bytes += 64;
            stream.latency.record(latency);
            stream.histogram.record(latency);
            let inner = Segment::ALL.iter().filter(|s| s.is_ethernet());
            stream.ethernet.record(inner.map(|s| segments[s.index()]).sum());
            for (own, part) in stream.segments_ps.iter_mut().zip(segments) {
                *own += i128::from(part.as_ps());
            }
            stream.missed += u64::from(flow.deadline.is_some_and(|d| latency > d));
            if stream.worst.is_none_or(|worst| latency > worst.latency) {
                let place = place_of(&segments, flow, last);
                stream.worst = Some(Worst {
                    released_at: Instant::ZERO
                        + Duration::from_us(950) * i64::try_from(number).unwrap(),
                    latency,
                    segments,
                    awaited: [Duration::ZERO; Segment::COUNT],
                    responsible: (place, segments[place.segment.index()]),
                    seed: 1 + number % 4,
                });
            }
        }
    }
}

fn place_of(segments: &[Duration; Segment::COUNT], flow: &Flow, last: PortId) -> Place {
    let segment = *Segment::ALL.iter().max_by_key(|s| segments[s.index()]).unwrap();
    let port = match segment {
        Segment::TalkerStack | Segment::DriverQueue | Segment::MediumAccess => {
            PortId::first(flow.talker)
        }
        Segment::Wire | Segment::SwitchLatency | Segment::SwitchQueue => last,
        Segment::ReceiveQueue
        | Segment::ReceiveStack
        | Segment::Application
        | Segment::Protocol => PortId::first(flow.listeners[0]),
    };
    Place { segment, port }
}

fn node_record(id: NodeId, node: &Node, dice: &mut Dice) -> NodeRecord {
    let is_switch = !matches!(node.kind, NodeKind::EndStation(_));
    NodeRecord {
        node: id,
        released: if is_switch { 0 } else { 8_000 },
        delivered: if is_switch { 0 } else { 7_990 },
        arrived: 8_000 + dice.below(9_000),
        copied: 0,
        filtered: dice.below(10),
        policed: 0,
        ingress: ingress_records(&node.kind),
        discarded: 0,
        stack_dropped: 0,
        in_stack: 0,
        stack_queue_max: u32::try_from(dice.below(12)).unwrap(),
        stack_busy: if is_switch {
            Duration::ZERO
        } else {
            Duration::from_ms(i64::try_from(dice.below(5_000)).unwrap())
        },
        layer_dropped: 0,
        layer: None,
        arp: None,
        admission: None,
    }
}

fn ingress_records(kind: &NodeKind) -> Vec<IngressRecord> {
    let NodeKind::Switch(switch) = kind else {
        return Vec::new();
    };
    let ports = (0..).take(switch.ports.len());
    let rules = ports
        .flat_map(|port| (0..).take(switch.ingress_at(port).len()).map(move |rule| (port, rule)));
    let mut counts = RuleCounts::default();
    (0..7).for_each(|_| counts.note(Cause::Exceeded));
    counts.matched += 1_200;
    rules.map(|(port, rule)| IngressRecord { port, rule, counts }).collect()
}

fn ports(network: &Network, dice: &mut Dice) -> Vec<PortRecord> {
    let mut ports: Vec<PortRecord> = Vec::new();
    for (id, link) in network.iter_links().filter(|(_, link)| !link.standby) {
        let core = link.ends.iter().all(|end| network.switch(end.node).is_some());
        // A hub is never the original sender.
        let senders = link.ends.into_iter();
        let senders = senders.filter(|end| network.hub(end.node).is_none());
        ports.extend(senders.map(|port| port_record(port, id, core, dice)));
    }
    ports.sort_by_key(|port| port.port);
    ports
}

fn port_record(port: PortId, link: LinkId, core: bool, dice: &mut Dice) -> PortRecord {
    let sent = 5_000 + dice.below(90_000);
    let busy = dice.below(if core { 7_000 } else { 1_500 });
    PortRecord {
        port,
        link,
        offered: sent,
        sent,
        sent_wire: Bytes::new(sent * 84),
        dropped: 0,
        queued: 0,
        corrupted: 0,
        busy: Duration::from_ms(i64::try_from(busy).unwrap()),
        backlog_max: Bytes::new(dice.below(20_000)),
        queues: vec![
            QueueRecord {
                backlog_max: Bytes::ZERO,
                sent,
                depth_max: 3,
                waited_ps: 77,
                ..QueueRecord::default()
            };
            4
        ],
        access: None,
    }
}

fn confidence(stream: &StreamRecord) -> Confidence {
    let around =
        |value: Duration| Interval { low: value - value / 50, high: Some(value + value / 50) };
    Confidence {
        mean: stream.latency.mean().map(around),
        p99: stream.quantile(99, 100).map(around),
        miss_ratio: stream.miss_ratio().map(|ratio| (ratio * 0.5, ratio * 1.5 + 0.001)),
        units: 16,
        ..Confidence::default()
    }
}

/// A small random number generator (multiplier of Knuth's MMIX).
pub(crate) struct Dice(u64);

impl Dice {
    pub(crate) fn below(&mut self, limit: u64) -> u64 {
        self.0 =
            self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) % limit
    }

    /// Returns a time that is mostly below `us` microseconds and sometimes far above.
    fn tail(&mut self, us: i64) -> Duration {
        let mut part = |limit: u64| i64::try_from(self.below(limit)).unwrap();
        let (a, b) = (part(1_000), part(1_000));
        Duration::from_ns(us * a * b * a / 1_000_000)
    }
}
