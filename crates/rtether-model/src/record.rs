//! What a run says: the record every engine fills, so that any two can be laid over each other.
//!
//! A *stream* is one flow to one of its listeners. Latency runs from the release by the talker's
//! application to the delivery to the listener's application; for a flow with a reply, back to the
//! talker's. Latency splits into [`Segment`]s that add up to it exactly, packet by packet. The
//! *Ethernet delay* is the part between the two stacks: driver queue, wire and switches.

use alloc::vec::Vec;

use crate::flow::FlowId;
use crate::histogram::Histogram;
use crate::network::NodeId;
use crate::network::{LinkId, PortId};
use crate::quantity::{Bytes, Duration, Instant};

/// Where a part of the latency is spent.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Segment {
    /// Sending stack: waiting for it and being served.
    TalkerStack,
    /// FIFO queue between stack and wire of the sending station.
    DriverQueue,
    /// From the head of the queue to the start of the transmission that succeeds, on a shared
    /// medium: deference, collisions and back-off.
    MediumAccess,
    /// Transmission and propagation on all links, network interfaces included.
    Wire,
    /// Fixed latency of switches.
    SwitchLatency,
    /// Egress queues of switches.
    SwitchQueue,
    /// Waiting for the receiving stack.
    ReceiveQueue,
    /// Service by the receiving stack.
    ReceiveStack,
    /// Application tasks, and the listener's application before it replies.
    Application,
}

impl Segment {
    /// Number of segments.
    pub const COUNT: usize = 9;
    /// All segments in the order a packet passes them.
    pub const ALL: [Self; Self::COUNT] = [
        Self::TalkerStack,
        Self::DriverQueue,
        Self::MediumAccess,
        Self::Wire,
        Self::SwitchLatency,
        Self::SwitchQueue,
        Self::ReceiveQueue,
        Self::ReceiveStack,
        Self::Application,
    ];

    /// Returns the position in [`Segment::ALL`].
    pub const fn index(self) -> usize {
        self as usize
    }

    /// Returns the name used in tables and files.
    pub const fn name(self) -> &'static str {
        match self {
            Self::TalkerStack => "talker stack",
            Self::DriverQueue => "driver queue",
            Self::MediumAccess => "medium access",
            Self::Wire => "wire",
            Self::SwitchLatency => "switch latency",
            Self::SwitchQueue => "switch queue",
            Self::ReceiveQueue => "receive queue",
            Self::ReceiveStack => "receive stack",
            Self::Application => "application",
        }
    }

    /// Returns whether the time is spent inside an end station.
    pub const fn is_in_node(self) -> bool {
        matches!(
            self,
            Self::TalkerStack | Self::ReceiveQueue | Self::ReceiveStack | Self::Application
        )
    }

    /// Returns whether the time belongs to the Ethernet delay.
    pub const fn is_ethernet(self) -> bool {
        !self.is_in_node()
    }
}

/// A place on a packet's way.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Place {
    /// What happens there.
    pub segment: Segment,
    /// The node, or the sending port of a link. End stations use port 0.
    pub port: PortId,
}

/// Count, extremes and moments of a set of times, exact.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Summary {
    /// Number of values.
    pub count: u64,
    /// Smallest value; [`Duration::MAX`] without values.
    pub min: Duration,
    /// Largest value; zero without values.
    pub max: Duration,
    /// Sum in picoseconds.
    pub sum_ps: i128,
    /// Sum of squares in square picoseconds.
    pub sum_sq_ps2: u128,
}

impl Default for Summary {
    fn default() -> Self {
        Self {
            count: 0,
            min: Duration::MAX,
            max: Duration::ZERO,
            sum_ps: 0,
            sum_sq_ps2: 0,
        }
    }
}

impl Summary {
    /// Takes in one value, not negative.
    #[inline]
    pub fn record(&mut self, value: Duration) {
        let ps = value.as_ps();
        self.count += 1;
        self.min = Ord::min(self.min, value);
        self.max = Ord::max(self.max, value);
        self.sum_ps += i128::from(ps);
        let magnitude = u128::from(ps.unsigned_abs());
        self.sum_sq_ps2 += magnitude * magnitude;
    }

    /// Takes in all values of `other`.
    pub fn merge(&mut self, other: &Self) {
        self.count += other.count;
        self.min = Ord::min(self.min, other.min);
        self.max = Ord::max(self.max, other.max);
        self.sum_ps += other.sum_ps;
        self.sum_sq_ps2 += other.sum_sq_ps2;
    }

    /// Returns the mean, rounded down to a picosecond; `None` without values.
    pub fn mean(&self) -> Option<Duration> {
        let mean = self.sum_ps.checked_div(i128::from(self.count))?;
        i64::try_from(mean).ok().map(Duration::from_ps)
    }

    /// Returns the population standard deviation (the `mdev` of iputils), rounded down to a
    /// picosecond; `None` without values.
    pub fn standard_deviation(&self) -> Option<Duration> {
        let count = u128::from(self.count);
        let sum = u128::try_from(self.sum_ps).ok()?;
        let (quotient, rest) = (sum.checked_div(count)?, sum % count);
        // count * variance = sum of squares - sum^2 / count, with sum = quotient * count + rest
        // spread out so that no product leaves 128 bits.
        let square_of_sum = quotient * quotient * count + 2 * quotient * rest + rest * rest / count;
        let variance = self.sum_sq_ps2.saturating_sub(square_of_sum) / count;
        i64::try_from(variance.isqrt()).ok().map(Duration::from_ps)
    }
}

/// One slice of the time axis.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Bucket {
    /// Packets delivered in it.
    pub count: u64,
    /// Sum of their latencies in picoseconds.
    pub sum_ps: i128,
    /// Largest of their latencies.
    pub max: Duration,
}

impl Bucket {
    /// Returns the mean latency, rounded down to a picosecond; `None` without packets.
    pub fn mean(&self) -> Option<Duration> {
        let mean = self.sum_ps.checked_div(i128::from(self.count))?;
        i64::try_from(mean).ok().map(Duration::from_ps)
    }
}

/// The packet with the largest latency.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Worst {
    /// When it was released.
    pub released_at: Instant,
    /// Its latency.
    pub latency: Duration,
    /// Where the time went.
    pub segments: [Duration; Segment::COUNT],
    /// The single place where most of it went, and how much.
    pub responsible: (Place, Duration),
    /// Seed of the run it was seen in.
    pub seed: u64,
}

/// One flow to one listener.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct StreamRecord {
    /// The flow; position in the scenario's list.
    pub flow: u32,
    /// The listening node.
    pub listener: u32,
    /// Packets released after warm-up.
    pub released: u64,
    /// Of these, delivered.
    pub delivered: u64,
    /// Of these, dropped on the way.
    pub dropped: u64,
    /// Of these, still under way at the end.
    pub in_flight: u64,
    /// Of these, late, dropped, or under way for longer than the deadline. Zero without deadline.
    pub missed: u64,
    /// Application payload delivered, in octets.
    pub payload_bytes: u64,
    /// Latency of delivered packets.
    pub latency: Summary,
    /// Distribution of the same.
    pub histogram: Histogram,
    /// Ethernet delay of delivered packets.
    pub ethernet: Summary,
    /// Time per segment, summed over delivered packets, in picoseconds.
    pub segments_ps: [i128; Segment::COUNT],
    /// The worst packet.
    pub worst: Option<Worst>,
    /// Latency over time; empty unless asked for. Bucket `i` begins at `i * bucket`.
    pub buckets: Vec<Bucket>,
    /// Transfers of a bulk flow.
    pub transfers: Vec<TransferRecord>,
}

/// One finished or running TCP transfer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TransferRecord {
    /// When the connection was opened.
    pub started_at: Instant,
    /// When the last octet was delivered; `None` if it was still running.
    pub finished_at: Option<Instant>,
    /// Octets delivered in order.
    pub delivered: Bytes,
    /// Segments sent again.
    pub retransmissions: u64,
    /// Retransmission timeouts.
    pub timeouts: u64,
}

/// Counters of one sending port.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PortRecord {
    /// The port.
    pub port: PortId,
    /// Its link.
    pub link: LinkId,
    /// Frames that were to be queued here.
    pub offered: u64,
    /// Frames sent.
    pub sent: u64,
    /// Octets sent, preamble and gap included.
    pub sent_wire: Bytes,
    /// Frames dropped because a buffer was full.
    pub dropped: u64,
    /// Frames waiting at the end.
    pub queued: u64,
    /// Frames sent from here that were corrupted on the link.
    pub corrupted: u64,
    /// Time the link was occupied in this direction, gaps included.
    pub busy: Duration,
    /// Largest number of octets that waited.
    pub backlog_max: Bytes,
    /// Counters of each queue, lowest first.
    pub queues: Vec<QueueRecord>,
    /// Access to the shared medium, if the port has one.
    pub access: Option<AccessRecord>,
}

/// Access of one port to a shared medium.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct AccessRecord {
    /// Transmissions that collided.
    pub collisions: u64,
    /// Frames sent after at least one collision.
    pub sent_after_collision: u64,
    /// Frames dropped after the last attempt collided too.
    pub excessive_collisions: u64,
    /// Frames dropped after a late collision.
    pub late_collisions: u64,
}

/// One collision domain.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct MediumRecord {
    /// Ports that share it, in the order of nodes and ports.
    pub ports: Vec<PortId>,
    /// Transmissions that collided, by number of the attempt: the first entry counts first
    /// attempts. Each port in a collision counts once.
    pub collisions: Vec<u64>,
    /// Time of frames that were sent, preamble included, gap excluded.
    pub carried: Duration,
    /// Time that ports spent on transmissions that collided; ports that collide count each.
    pub wasted: Duration,
}

/// The layer between stack and driver of an end station.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct LayerRecord {
    /// Receive queues, lowest first.
    pub receive: Vec<ClassRecord>,
    /// Transmit queues, lowest first.
    pub transmit: Vec<ClassRecord>,
    /// The smoother.
    pub smoother: Option<SmootherRecord>,
}

/// Counters of one queue of the layer (R85).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ClassRecord {
    /// Frames that came.
    pub arrived: u64,
    /// Frames that left.
    pub left: u64,
    /// Frames dropped because it was full.
    pub dropped: u64,
    /// Largest number of frames that waited.
    pub depth_max: u32,
    /// Time frames waited, summed, in picoseconds.
    pub waited_ps: i128,
    /// Frames that were moved up from it.
    pub promoted: u64,
    /// Frames that an idle release let go.
    pub idle_releases: u64,
}

/// Counters of a smoother.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct SmootherRecord {
    /// Real-time octets that left, as IP datagrams.
    pub real_time: Bytes,
    /// Bulk octets that left.
    pub bulk: Bytes,
    /// Packets refused because a queue was full.
    pub dropped: u64,
    /// Congestion signals.
    pub signals: u64,
    /// Time bulk packets waited, summed, in picoseconds.
    pub bulk_waited_ps: i128,
    /// Largest number of bulk packets that waited.
    pub bulk_depth_max: u32,
}

/// Counters of one egress queue.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct QueueRecord {
    /// Frames sent from it.
    pub sent: u64,
    /// Frames dropped at it.
    pub dropped: u64,
    /// Largest number of frames that waited.
    pub depth_max: u32,
    /// Time frames waited, summed, in picoseconds.
    pub waited_ps: i128,
}

/// Counters of one node.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NodeRecord {
    /// The node.
    pub node: NodeId,
    /// Packets its applications released (each unicast copy counts).
    pub released: u64,
    /// Packets delivered to its applications.
    pub delivered: u64,
    /// Frames that arrived from its links.
    pub arrived: u64,
    /// Copies made by flooding and multicast, beyond the frame itself.
    pub copied: u64,
    /// Frames for others that a station's interface ignored, or that a switch had no port for.
    pub filtered: u64,
    /// Frames discarded for a wrong FCS.
    pub discarded: u64,
    /// Packets dropped because the stack's queue was full.
    pub stack_dropped: u64,
    /// Packets in the stack at the end (waiting or being served), or in switch latency.
    pub in_stack: u64,
    /// Largest number of packets that waited for the stack.
    pub stack_queue_max: u32,
    /// Time the stack's servers were busy, summed over servers.
    pub stack_busy: Duration,
    /// Packets dropped by the layer between stack and driver.
    pub layer_dropped: u64,
    /// That layer, if the node has one.
    pub layer: Option<LayerRecord>,
}

/// Everything one run, or several merged ones, said.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Record {
    /// Simulated or measured time of the longest run, warm-up included.
    pub duration: Duration,
    /// The same, summed over all runs: what counters refer to.
    pub observed: Duration,
    /// Start of every run that is not counted in streams.
    pub warmup: Duration,
    /// Length of a bucket of the time axis; zero for none.
    pub bucket: Duration,
    /// Runs merged into this record.
    pub runs: u32,
    /// Streams in the order of flows and their listeners.
    pub streams: Vec<StreamRecord>,
    /// Ports with a link in use, in the order of nodes and ports.
    pub ports: Vec<PortRecord>,
    /// All nodes, in order.
    pub nodes: Vec<NodeRecord>,
    /// Collision domains, in the order of their first node.
    pub media: Vec<MediumRecord>,
    /// Events handled.
    pub events: u64,
}

impl StreamRecord {
    /// Returns the flow's index.
    pub const fn flow_id(&self) -> FlowId {
        FlowId(self.flow)
    }

    /// Returns the listener's index.
    pub const fn listener_id(&self) -> NodeId {
        NodeId(self.listener)
    }

    /// Returns packets dropped or late over packets released; `None` if nothing was released.
    pub fn miss_ratio(&self) -> Option<f64> {
        ratio(self.missed, self.released)
    }

    /// Returns a quantile of the latency, at most 0.8 % too high and never above the maximum.
    pub fn quantile(&self, part: u64, whole: u64) -> Option<Duration> {
        self.histogram
            .quantile(part, whole)
            .map(|q| Ord::min(q, self.latency.max))
    }

    /// Returns the share of the latency that was spent inside end stations.
    pub fn node_share(&self) -> Option<f64> {
        let inside: i128 = Segment::ALL
            .iter()
            .filter(|s| s.is_in_node())
            .map(|s| self.segments_ps[s.index()])
            .sum();
        let total = self.latency.sum_ps;
        (total > 0).then(|| to_f64(inside) / to_f64(total))
    }

    /// Adds the packets of another run of the same stream.
    pub fn merge(&mut self, other: &Self) {
        debug_assert_eq!((self.flow, self.listener), (other.flow, other.listener));
        self.released += other.released;
        self.delivered += other.delivered;
        self.dropped += other.dropped;
        self.in_flight += other.in_flight;
        self.missed += other.missed;
        self.payload_bytes += other.payload_bytes;
        self.latency.merge(&other.latency);
        self.histogram.merge(&other.histogram);
        self.ethernet.merge(&other.ethernet);
        for (own, others) in self.segments_ps.iter_mut().zip(other.segments_ps) {
            *own += others;
        }
        // The first of equals stays, so that merging in seed order is deterministic.
        if other
            .worst
            .is_some_and(|w| self.worst.is_none_or(|own| w.latency > own.latency))
        {
            self.worst = other.worst;
        }
        if other.buckets.len() > self.buckets.len() {
            self.buckets.resize(other.buckets.len(), Bucket::default());
        }
        for (own, others) in self.buckets.iter_mut().zip(&other.buckets) {
            own.count += others.count;
            own.sum_ps += others.sum_ps;
            own.max = Ord::max(own.max, others.max);
        }
        self.transfers.extend_from_slice(&other.transfers);
    }
}

impl PortRecord {
    /// Returns the share of `time` in which the link was occupied.
    pub fn utilization(&self, time: Duration) -> f64 {
        ratio(
            self.busy.as_ps().unsigned_abs(),
            time.as_ps().unsigned_abs(),
        )
        .unwrap_or(0.0)
    }

    /// Adds the counters of another run of the same port.
    pub fn merge(&mut self, other: &Self) {
        debug_assert_eq!(self.port, other.port);
        self.offered += other.offered;
        self.sent += other.sent;
        self.sent_wire += other.sent_wire;
        self.dropped += other.dropped;
        self.queued += other.queued;
        self.corrupted += other.corrupted;
        self.busy += other.busy;
        self.backlog_max = Ord::max(self.backlog_max, other.backlog_max);
        for (own, others) in self.queues.iter_mut().zip(&other.queues) {
            own.sent += others.sent;
            own.dropped += others.dropped;
            own.depth_max = Ord::max(own.depth_max, others.depth_max);
            own.waited_ps += others.waited_ps;
        }
        if let (Some(own), Some(others)) = (&mut self.access, &other.access) {
            own.collisions += others.collisions;
            own.sent_after_collision += others.sent_after_collision;
            own.excessive_collisions += others.excessive_collisions;
            own.late_collisions += others.late_collisions;
        }
    }
}

impl MediumRecord {
    /// Returns the share of `time` in which frames were carried.
    pub fn utilization(&self, time: Duration) -> f64 {
        let carried = self.carried.as_ps().unsigned_abs();
        ratio(carried, time.as_ps().unsigned_abs()).unwrap_or(0.0)
    }

    /// Adds the counters of another run of the same collision domain.
    pub fn merge(&mut self, other: &Self) {
        for (own, others) in self.collisions.iter_mut().zip(&other.collisions) {
            *own += others;
        }
        self.carried += other.carried;
        self.wasted += other.wasted;
    }
}

impl ClassRecord {
    /// Adds the counters of another queue, or of another run of the same one.
    pub fn merge(&mut self, other: &Self) {
        self.arrived += other.arrived;
        self.left += other.left;
        self.dropped += other.dropped;
        self.depth_max = Ord::max(self.depth_max, other.depth_max);
        self.waited_ps += other.waited_ps;
        self.promoted += other.promoted;
        self.idle_releases += other.idle_releases;
    }
}

impl LayerRecord {
    /// Adds the counters of another run of the same layer.
    pub fn merge(&mut self, other: &Self) {
        let queues = self.receive.iter_mut().zip(&other.receive);
        let queues = queues.chain(self.transmit.iter_mut().zip(&other.transmit));
        for (own, others) in queues {
            own.merge(others);
        }
        if let (Some(own), Some(others)) = (&mut self.smoother, &other.smoother) {
            own.real_time += others.real_time;
            own.bulk += others.bulk;
            own.dropped += others.dropped;
            own.signals += others.signals;
            own.bulk_waited_ps += others.bulk_waited_ps;
            own.bulk_depth_max = Ord::max(own.bulk_depth_max, others.bulk_depth_max);
        }
    }
}

impl NodeRecord {
    /// Returns the share of `time` in which the stack was busy (up to 2 with two servers).
    pub fn stack_utilization(&self, time: Duration) -> f64 {
        ratio(
            self.stack_busy.as_ps().unsigned_abs(),
            time.as_ps().unsigned_abs(),
        )
        .unwrap_or(0.0)
    }

    /// Adds the counters of another run of the same node.
    pub fn merge(&mut self, other: &Self) {
        debug_assert_eq!(self.node, other.node);
        self.released += other.released;
        self.delivered += other.delivered;
        self.arrived += other.arrived;
        self.copied += other.copied;
        self.filtered += other.filtered;
        self.discarded += other.discarded;
        self.stack_dropped += other.stack_dropped;
        self.in_stack += other.in_stack;
        self.stack_queue_max = Ord::max(self.stack_queue_max, other.stack_queue_max);
        self.stack_busy += other.stack_busy;
        self.layer_dropped += other.layer_dropped;
        if let (Some(own), Some(others)) = (&mut self.layer, &other.layer) {
            own.merge(others);
        }
    }
}

impl Record {
    /// Adds another run of the same scenario. Merge in seed order: equal worst packets keep the
    /// first.
    pub fn merge(&mut self, other: &Self) {
        self.runs += other.runs;
        self.duration = Ord::max(self.duration, other.duration);
        self.observed += other.observed;
        self.events += other.events;
        for (own, others) in self.streams.iter_mut().zip(&other.streams) {
            own.merge(others);
        }
        for (own, others) in self.ports.iter_mut().zip(&other.ports) {
            own.merge(others);
        }
        for (own, others) in self.nodes.iter_mut().zip(&other.nodes) {
            own.merge(others);
        }
        for (own, others) in self.media.iter_mut().zip(&other.media) {
            own.merge(others);
        }
    }
}

#[allow(
    clippy::cast_precision_loss,
    reason = "a ratio for display and claims needs no 53rd bit"
)]
fn ratio(part: u64, whole: u64) -> Option<f64> {
    (whole > 0).then(|| part as f64 / whole as f64)
}

#[allow(
    clippy::cast_precision_loss,
    reason = "a ratio for display and claims needs no 53rd bit"
)]
fn to_f64(value: i128) -> f64 {
    value as f64
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn moments_by_hand() {
        // 2, 4, 4, 4, 5, 5, 7, 9: mean 5, population standard deviation 2.
        let mut summary = Summary::default();
        for ns in [2, 4, 4, 4, 5, 5, 7, 9] {
            summary.record(Duration::from_ns(ns));
        }
        assert_eq!(summary.mean(), Some(Duration::from_ns(5)));
        assert_eq!(summary.standard_deviation(), Some(Duration::from_ns(2)));
        assert_eq!(
            (summary.min, summary.max),
            (Duration::from_ns(2), Duration::from_ns(9))
        );
        assert_eq!(Summary::default().mean(), None);
        assert_eq!(Summary::default().standard_deviation(), None);
    }

    #[test]
    fn segments_are_in_order() {
        for (index, segment) in Segment::ALL.iter().enumerate() {
            assert_eq!(segment.index(), index);
        }
    }
}
