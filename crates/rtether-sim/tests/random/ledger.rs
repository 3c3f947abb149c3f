//! An observer with its own accounts of every stream, for comparison with the record.

use std::collections::BTreeMap;

use rtether_model::flow::{Flow, Traffic};
use rtether_model::ingress::Cause;
use rtether_model::network::{AddressTable, MulticastForwarding, Network, NodeId, NodeKind};
use rtether_model::quantity::{Bytes, Duration, Instant};
use rtether_model::record::{ClassRecord, Record, Segment, StreamRecord, TransferRecord};
use rtether_model::wire::{self, Encapsulation};
use rtether_sim::observe::{Delivery, DropReason, Observer, PacketInfo};

use super::path::Floors;
use crate::support::Plant;

/// Accounts of one stream.
#[derive(Default)]
struct Line {
    flow: usize,
    listener: Option<NodeId>,
    released: u64,
    dropped: u64,
    late: u64,
    payload: u64,
    latencies: Vec<i64>,
    ethernet: i128,
    segments: [i128; Segment::COUNT],
    /// Release times of counted packets neither delivered nor observed to drop, by number.
    open: BTreeMap<u32, Instant>,
    /// Release time and number of the last delivery.
    last: Option<(Instant, u32)>,
}

/// Accounts of one node.
#[derive(Clone, Default)]
struct NodeLine {
    released: u64,
    lost: BTreeMap<DropReason, u64>,
}

/// The accounts.
pub(super) struct Ledger<'a> {
    plant: &'a Plant,
    floors: Floors<'a>,
    warmup: Duration,
    streams: Vec<Line>,
    /// First stream of each flow.
    first: Vec<usize>,
    nodes: Vec<NodeLine>,
    /// Whether copies on paths without a listener can be dropped.
    has_floods: bool,
    /// Whether the simulator agrees on which packets count.
    checks_counting: bool,
    /// Whether stations are in two networks.
    is_redundant: bool,
}

impl<'a> Ledger<'a> {
    pub(super) fn new(plant: &'a Plant, warmup: Duration) -> Self {
        let (mut streams, mut first) = (Vec::new(), Vec::new());
        for (index, flow) in plant.flows.iter().enumerate() {
            first.push(streams.len());
            streams.extend(flow.listeners.iter().map(|&listener| Line {
                flow: index,
                listener: Some(listener),
                ..Line::default()
            }));
        }
        Self {
            plant,
            floors: Floors::new(&plant.network),
            warmup,
            streams,
            first,
            nodes: vec![NodeLine::default(); plant.network.nodes.len()],
            has_floods: has_floods(&plant.network),
            checks_counting: true,
            is_redundant: plant.network.nodes.iter().any(|node| match &node.kind {
                NodeKind::EndStation(own) => own.redundancy.is_some(),
                NodeKind::Switch(_) | NodeKind::Hub(_) => false,
            }),
        }
    }

    /// Counts by its own warm-up, regardless of the simulator's.
    pub(super) fn indifferent(mut self) -> Self {
        self.checks_counting = false;
        self
    }

    fn flow(&self, packet: &PacketInfo) -> &'a Flow {
        &self.plant.flows[packet.flow.index()]
    }

    /// Streams a packet belongs to; empty for acknowledgements and TCP without data.
    fn streams_of(&self, packet: &PacketInfo) -> std::ops::Range<usize> {
        let first = self.first[packet.flow.index()];
        let flow = self.flow(packet);
        if packet.tcp.is_some_and(|segment| packet.is_reverse || segment.len == 0) {
            return first..first;
        }
        let listener = if packet.is_reverse { Some(packet.source) } else { packet.destination };
        match listener {
            None => first..first + flow.listeners.len(),
            Some(node) => {
                let at = flow.listeners.iter().position(|&l| l == node).unwrap();
                first + at..first + at + 1
            }
        }
    }

    /// Whether a stream counts files, although segments are sent and lost.
    fn counts_files(&self, packet: &PacketInfo) -> bool {
        counts_files(self.flow(packet))
    }

    fn counts(&self, packet: &PacketInfo) -> bool {
        packet.released_at.since_start() >= self.warmup
    }

    /// Compares the accounts with the record.
    pub(super) fn compare(&self, record: &Record, drained: bool) {
        for (line, stream) in self.streams.iter().zip(&record.streams) {
            self.compare_stream(line, stream, record, drained);
        }
        for (seen, node) in self.nodes.iter().zip(&record.nodes) {
            let ports = record.ports.iter().filter(|port| port.port.node == node.node);
            let full: u64 = ports.map(|port| port.dropped).sum();
            assert_eq!(seen.released, node.released, "releases at {:?}", node.node);
            let seen_lost = |reasons: &[DropReason]| -> u64 {
                reasons.iter().filter_map(|reason| seen.lost.get(reason)).sum()
            };
            let lost = [
                (node.stack_dropped, seen_lost(&[DropReason::StackFull])),
                (
                    full,
                    seen_lost(&[
                        DropReason::BufferFull,
                        DropReason::ExcessiveCollisions,
                        DropReason::LateCollision,
                    ]),
                ),
                // Garbled frames are discarded by the node that receives them; these plants have no
                // media.
                (node.discarded, seen_lost(&[DropReason::FrameError, DropReason::Garbled])),
                (node.filtered, seen_lost(&[DropReason::Filtered])),
                (node.policed, seen_lost(&Cause::ALL.map(DropReason::Rule))),
                (node.layer_dropped, seen_lost(&[DropReason::LayerFull])),
                (node.arp.map_or(0, |arp| arp.dropped), seen_lost(&[DropReason::Unresolved])),
            ];
            for (counted, seen) in lost {
                assert_eq!(seen, counted, "losses at {:?}", node.node);
            }
            assert!(
                !drained || (node.in_stack == 0 && node.arp.is_none_or(|arp| arp.waiting == 0)),
                "a packet stays in {:?}",
                node.node
            );
        }
    }

    /// Names the rare events that occurred.
    pub(super) fn rarities(&self, record: &Record) -> Vec<&'static str> {
        let lost = |reason: DropReason| self.nodes.iter().any(|n| n.lost.contains_key(&reason));
        let streams = &record.streams;
        let transfers = || streams.iter().flat_map(|stream| &stream.transfers);
        let layers = || record.nodes.iter().filter_map(|node| node.layer.as_ref());
        let layer = |is_seen: fn(&ClassRecord) -> bool| {
            layers().any(|l| l.receive.iter().chain(&l.transmit).any(is_seen))
        };
        let seen = [
            ("full stack", lost(DropReason::StackFull)),
            ("full buffer", lost(DropReason::BufferFull)),
            ("frame error", lost(DropReason::FrameError)),
            ("filtered", lost(DropReason::Filtered)),
            ("policed", lost(DropReason::Rule(Cause::Exceeded))),
            ("full layer", lost(DropReason::LayerFull)),
            ("unresolved", lost(DropReason::Unresolved)),
            ("promotion", layer(|class| class.promoted > 0)),
            ("idle release", layer(|class| class.idle_releases > 0)),
            ("late", self.streams.iter().any(|line| line.late > 0)),
            ("in flight", streams.iter().any(|stream| stream.in_flight > 0)),
            ("second transfer", streams.iter().any(|s| s.transfers.len() > 1)),
            ("retransmission", transfers().any(|t| t.retransmissions > 0)),
            ("timeout", transfers().any(|t| t.timeouts > 0)),
            ("unfinished", transfers().any(|t| t.finished_at.is_none())),
        ];
        seen.into_iter().filter(|&(_, happened)| happened).map(|(name, _)| name).collect()
    }

    fn compare_stream(&self, line: &Line, stream: &StreamRecord, record: &Record, drained: bool) {
        let flow = &self.plant.flows[line.flow];
        let name = &flow.name;
        let delivered = line.latencies.len() as u64;
        let released = if counts_files(flow) {
            let due = files(flow).into_iter().map(|file| file.0);
            due.filter(|&due| due >= self.warmup && due < record.duration).count() as u64
        } else {
            line.released
        };
        assert_eq!(
            (stream.released, stream.delivered, stream.payload_bytes),
            (released, delivered, line.payload),
            "released, delivered, octets of {name}"
        );
        let sum = stream.delivered + stream.dropped + stream.in_flight;
        assert_eq!(stream.released, sum, "balance of {name}");
        assert!(!drained || stream.in_flight == 0, "{name} is not drained");
        let is_one_way = flow.delivery == rtether_model::flow::Delivery::Unicast;
        if counts_files(flow) {
            // A file is lost when it is given up, after 15 timeouts in a row.
            let is_given_up =
                |file: &&TransferRecord| file.finished_at.is_none() && file.timeouts >= 15;
            let given_up = stream.transfers.iter().filter(is_given_up).count() as u64;
            assert!(stream.dropped <= given_up, "losses of {name}");
        } else if is_one_way && !self.has_floods {
            assert_eq!(stream.dropped, line.dropped, "losses of {name}");
        }
        self.compare_missed(line, stream, record.duration);
        compare_latencies(line, stream);
        assert_eq!(stream.segments_ps, line.segments, "segments of {name}");
        assert_eq!(stream.ethernet.sum_ps, line.ethernet, "Ethernet delay of {name}");
        compare_buckets(stream, record);
        for transfer in &stream.transfers {
            let Traffic::Bulk(bulk) = &flow.traffic else {
                panic!("a transfer without bulk traffic")
            };
            let largest = bulk.transfers.iter().map(|t| t.size.map_or(u64::MAX, Bytes::get)).max();
            assert!(transfer.delivered.get() <= largest.unwrap(), "too much of {name}");
        }
    }

    /// Missed: late, lost, or still in transit after the deadline.
    fn compare_missed(&self, line: &Line, stream: &StreamRecord, end: Duration) {
        let flow = &self.plant.flows[line.flow];
        let Some(deadline) = flow.deadline else {
            assert_eq!(stream.missed, 0);
            return;
        };
        let certain = line.late + stream.dropped;
        assert!(
            (certain..=certain + stream.in_flight).contains(&stream.missed),
            "{} of {} missed, {certain} late or lost",
            stream.missed,
            flow.name
        );
        let is_bulk = matches!(flow.traffic, Traffic::Bulk(_));
        if !self.has_floods && !is_bulk {
            let overdue = line.open.values().filter(|at| end - at.since_start() > deadline);
            let is_multicast = flow.delivery == rtether_model::flow::Delivery::Multicast;
            // A lost multicast packet stays in the list: the observer is not told which listeners
            // lose it.
            let lost = if is_multicast { line.late } else { certain };
            let expected = lost + overdue.count() as u64;
            assert!(
                stream.missed == expected || (is_multicast && stream.missed >= expected),
                "{} of {} missed, not {expected}",
                stream.missed,
                flow.name
            );
        }
    }
}

fn counts_files(flow: &Flow) -> bool {
    matches!(flow.traffic, Traffic::Bulk(_)) && flow.deadline.is_some()
}

/// Due times and sizes of the files of a flow, in the order of sending.
fn files(flow: &Flow) -> Vec<(Duration, u64)> {
    let Traffic::Bulk(bulk) = &flow.traffic else { panic!("files of a flow that has none") };
    let mut transfers = bulk.transfers.clone();
    transfers.sort_by_key(|transfer| transfer.start);
    let files = transfers.iter().map(|file| (file.start, file.size.map_or(0, Bytes::get)));
    files.collect()
}

fn compare_latencies(line: &Line, stream: &StreamRecord) {
    let mut sorted = line.latencies.clone();
    sorted.sort_unstable();
    let square = |&ps: &i64| u128::from(ps.unsigned_abs()).pow(2);
    let latency = &stream.latency;
    assert_eq!(latency.count, sorted.len() as u64);
    assert_eq!(latency.sum_ps, sorted.iter().map(|&ps| i128::from(ps)).sum());
    assert_eq!(latency.sum_sq_ps2, sorted.iter().map(square).sum());
    let ends = [sorted.first(), sorted.last()].map(|end| end.copied().map(Duration::from_ps));
    assert_eq!(latency.min, ends[0].unwrap_or(Duration::MAX));
    assert_eq!(latency.max, ends[1].unwrap_or(Duration::ZERO));
    assert_eq!(stream.worst.map(|worst| worst.latency), ends[1]);
    assert_eq!(stream.ethernet.count, latency.count);
    let mut below = 0;
    for (upper, count) in stream.histogram.bins() {
        below += count;
        let expected = sorted.partition_point(|&ps| ps <= upper.as_ps());
        assert_eq!(below, expected as u64, "latencies up to {upper:?}");
    }
    assert_eq!((below, stream.histogram.total()), (latency.count, latency.count));
}

fn compare_buckets(stream: &StreamRecord, record: &Record) {
    if record.bucket == Duration::ZERO {
        return;
    }
    let count: u64 = stream.buckets.iter().map(|bucket| bucket.count).sum();
    let sum: i128 = stream.buckets.iter().map(|bucket| bucket.sum_ps).sum();
    let max = stream.buckets.iter().map(|bucket| bucket.max).max();
    assert_eq!((count, sum), (stream.delivered, stream.latency.sum_ps));
    assert_eq!(max.unwrap_or(Duration::ZERO), stream.latency.max);
}

/// Whether frames may be sent to ports without a listener, or twice.
fn has_floods(network: &Network) -> bool {
    network.nodes.iter().any(|node| match &node.kind {
        NodeKind::EndStation(own) => own.redundancy.is_some(),
        NodeKind::Hub(_) => false,
        NodeKind::Switch(switch) => {
            switch.addresses != AddressTable::Static
                || switch.multicast == MulticastForwarding::Unmanaged
        }
    })
}

impl Observer for Ledger<'_> {
    fn released(&mut self, now: Instant, packet: &PacketInfo) {
        self.nodes[packet.source.index()].released += 1;
        let is_reply = packet.is_reverse && packet.tcp.is_none();
        // Tasks handle whole datagrams; their fragments are created below them, later.
        let is_made = packet.fragment.is_some_and(|fragment| fragment.number > 0);
        assert!(is_reply || is_made || packet.released_at == now);
        let is_first = packet.fragment.is_none_or(|fragment| fragment.number == 0);
        if is_reply || !is_first || self.counts_files(packet) || !self.counts(packet) {
            return;
        }
        for stream in self.streams_of(packet) {
            self.streams[stream].released += 1;
            self.streams[stream].open.insert(packet.number, now);
        }
    }

    fn delivered(&mut self, now: Instant, packet: &PacketInfo, delivery: &Delivery) {
        assert!(self.streams_of(packet).contains(&delivery.stream));
        let is_counted = self.counts(packet);
        assert!(!self.checks_counting || delivery.is_counted == is_counted);
        let flow = self.flow(packet);
        let latency = now - packet.released_at;
        assert_eq!(delivery.latency, latency);
        assert_eq!(delivery.segments.iter().copied().sum::<Duration>(), latency);
        let inside = Segment::ALL.iter().filter(|segment| segment.is_ethernet());
        let ethernet: Duration = inside.map(|segment| delivery.segments[segment.index()]).sum();
        assert_eq!(delivery.ethernet, ethernet);
        assert!(delivery.segments.iter().all(|part| !part.is_negative()));

        let line = &self.streams[delivery.stream];
        let frame = match packet.tcp {
            Some(tcp) => wire::frame_size(tcp.payload_size(), Encapsulation::Tcp),
            None => Floors::frame(flow),
        };
        let floor = self.floors.latency(flow, line.listener.unwrap(), frame);
        assert!(latency >= floor, "{latency:?} of {} below {floor:?}", flow.name);

        let payload = match packet.tcp {
            Some(_) if self.counts_files(packet) => files(flow)[packet.number as usize].1,
            Some(tcp) => u64::from(tcp.len),
            None => flow.reply.map_or(flow.payload, |reply| reply.payload).get(),
        };
        let line = &mut self.streams[delivery.stream];
        let this = (packet.released_at, packet.number);
        if let Some(last) = line.last.replace(this) {
            let follows = if packet.tcp.is_some() { last <= this } else { last.1 < this.1 };
            // A frame that one network destroys comes later by the other.
            let is_in_order = follows && last.0 <= this.0;
            assert!(is_in_order || self.is_redundant, "{} is reordered", flow.name);
        }
        if is_counted {
            line.open.remove(&packet.number);
            line.latencies.push(latency.as_ps());
            line.payload += payload;
            line.ethernet += i128::from(ethernet.as_ps());
            line.late += u64::from(flow.deadline.is_some_and(|deadline| latency > deadline));
            for (sum, part) in line.segments.iter_mut().zip(delivery.segments) {
                *sum += i128::from(part.as_ps());
            }
        }
    }

    fn dropped(&mut self, _now: Instant, node: NodeId, packet: &PacketInfo, reason: DropReason) {
        *self.nodes[node.index()].lost.entry(reason).or_default() += 1;
        if packet.arp.is_some() {
            return;
        }
        let streams = self.streams_of(packet);
        if self.counts(packet) && streams.len() == 1 {
            let files = self.counts_files(packet);
            let line = &mut self.streams[streams.start];
            let is_alone = packet.fragment.is_none();
            let is_open = line.open.contains_key(&packet.number);
            line.dropped += u64::from((is_alone || is_open) && !files);
            if !self.has_floods && packet.destination.is_some() {
                line.open.remove(&packet.number);
            }
        }
    }
}
