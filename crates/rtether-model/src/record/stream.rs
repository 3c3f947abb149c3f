//! Results of a flow at one of its listeners.

use alloc::vec::Vec;

use super::{Place, Segment, Summary, ratio};
use crate::admission::Refusal;
use crate::flow::FlowId;
use crate::histogram::Histogram;
use crate::network::NodeId;
use crate::quantity::{Bytes, Duration, Instant};

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
    /// Time spent per segment.
    pub segments: [Duration; Segment::COUNT],
    /// The protocol's part of it, by where what the packet waited for was meanwhile; what an end spent
    /// waiting for a timer stays in the protocol.
    pub awaited: [Duration; Segment::COUNT],
    /// The place with the largest share, and this share: of the packet, and of what it waited for.
    pub responsible: (Place, Duration),
    /// Seed of its run.
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
    /// Distribution of these latencies.
    pub histogram: Histogram,
    /// Ethernet delay of delivered packets.
    pub ethernet: Summary,
    /// Time per segment, summed over delivered packets, in picoseconds.
    pub segments_ps: [i128; Segment::COUNT],
    /// The protocol's part of it, by where what packets waited for was meanwhile; the sum is that of
    /// [`Segment::Protocol`].
    pub awaited_ps: [i128; Segment::COUNT],
    /// The worst packet.
    pub worst: Option<Worst>,
    /// Latency over time; empty unless requested. Bucket `i` begins at `i * bucket`.
    pub buckets: Vec<Bucket>,
    /// Transfers of a bulk flow.
    pub transfers: Vec<TransferRecord>,
    /// What became of its requests for a channel; `None` if it need not ask.
    pub channel: Option<ChannelRecord>,
    /// What became of its samples; `None` without a topic.
    pub samples: Option<SampleRecord>,
}

/// Requests of a flow for a channel, one in each run.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ChannelRecord {
    /// Runs in which it was granted.
    pub granted: u64,
    /// Runs in which it was refused, by [`Refusal::index`].
    pub refused: [u64; Refusal::COUNT],
    /// Runs that ended before it asked, or before it was answered.
    pub undecided: u64,
    /// Longest time from the request to the grant.
    pub wait_max: Duration,
    /// Sum of these times, in picoseconds.
    pub wait_sum_ps: i128,
}

/// What became of the samples of a topic at one reader, all of them, warm-up included.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct SampleRecord {
    /// Written.
    pub written: u64,
    /// Of these, taken by the listener's application.
    pub taken: u64,
    /// Of these, lost for good, though the writer owed them.
    pub lost: u64,
    /// Of these, refused for good for lack of room.
    pub rejected: u64,
    /// Of these, replaced in the queue by later ones.
    pub replaced: u64,
    /// Of these, within the minimum separation, or of a weaker writer.
    pub filtered: u64,
    /// Of these, expired before they were taken.
    pub expired: u64,
    /// Of these, not owed: written before the writer knew the reader.
    pub not_owed: u64,
    /// Of these, under way: in the network, held for earlier ones, or in the queue. With best effort
    /// also what was lost after the last one that came, which nothing tells the reader.
    pub under_way: u64,
}

impl SampleRecord {
    /// Returns the samples with a figure, which are all that were written.
    pub fn accounted(&self) -> u64 {
        [
            self.taken,
            self.lost,
            self.rejected,
            self.replaced,
            self.filtered,
            self.expired,
            self.not_owed,
            self.under_way,
        ]
        .into_iter()
        .sum()
    }

    /// Adds another reader, or another run.
    pub fn merge(&mut self, other: &Self) {
        self.written += other.written;
        self.taken += other.taken;
        self.lost += other.lost;
        self.rejected += other.rejected;
        self.replaced += other.replaced;
        self.filtered += other.filtered;
        self.expired += other.expired;
        self.not_owed += other.not_owed;
        self.under_way += other.under_way;
    }
}

impl ChannelRecord {
    /// Returns the mean time from the request to the grant; `None` if nothing was granted.
    pub fn wait_mean(&self) -> Option<Duration> {
        let mean = self.wait_sum_ps.checked_div(i128::from(self.granted))?;
        i64::try_from(mean).ok().map(Duration::from_ps)
    }

    /// Returns the most frequent reason of refusals, the first of equals.
    pub fn refusal(&self) -> Option<Refusal> {
        let all = Refusal::ALL.into_iter().rev();
        all.filter(|reason| self.refused[reason.index()] > 0)
            .max_by_key(|reason| self.refused[reason.index()])
    }

    /// Adds the request of another run.
    pub fn merge(&mut self, other: &Self) {
        self.granted += other.granted;
        for (own, others) in self.refused.iter_mut().zip(other.refused) {
            *own += others;
        }
        self.undecided += other.undecided;
        self.wait_max = Ord::max(self.wait_max, other.wait_max);
        self.wait_sum_ps += other.wait_sum_ps;
    }
}

/// One finished or running TCP transfer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TransferRecord {
    /// When the connection was opened.
    pub started_at: Instant,
    /// When the last octet was delivered; `None` if the transfer was still running.
    pub finished_at: Option<Instant>,
    /// Octets delivered in order.
    pub delivered: Bytes,
    /// Retransmitted segments.
    pub retransmissions: u64,
    /// Retransmission timeouts.
    pub timeouts: u64,
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

    /// Returns packets missed over packets released; `None` if none was released.
    pub fn miss_ratio(&self) -> Option<f64> {
        ratio(self.missed, self.released)
    }

    /// Returns a quantile of the latency, at most 0.8 % too high and never above the maximum.
    pub fn quantile(&self, part: u64, whole: u64) -> Option<Duration> {
        self.histogram.quantile(part, whole).map(|q| Ord::min(q, self.latency.max))
    }

    /// Returns the share of the latency spent inside end stations.
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
        for (own, others) in self.awaited_ps.iter_mut().zip(other.awaited_ps) {
            *own += others;
        }
        // The first of equals is kept, so that merging in seed order is deterministic.
        if other.worst.is_some_and(|w| self.worst.is_none_or(|own| w.latency > own.latency)) {
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
        if let (Some(own), Some(others)) = (&mut self.channel, &other.channel) {
            own.merge(others);
        }
        if let (Some(own), Some(others)) = (&mut self.samples, &other.samples) {
            own.merge(others);
        }
    }
}

#[allow(clippy::cast_precision_loss, reason = "a ratio for display and claims needs no 53rd bit")]
fn to_f64(value: i128) -> f64 {
    value as f64
}
