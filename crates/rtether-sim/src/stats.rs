//! Streaming statistics of one stream.
//!
//! Fields written on every delivery are kept separately, in three cache lines and one of the
//! histogram, and carried over into the record occasionally. Sums of latency and Ethernet delay
//! follow from the sums of the segments; those have 64 bits and are carried over before they can
//! overflow, since 128-bit additions per segment and packet would be a tenth of the run.

use alloc::boxed::Box;
use alloc::vec::Vec;

use rtether_model::histogram::Histogram;
use rtether_model::network::PortId;
use rtether_model::quantity::{Duration, Instant};
use rtether_model::record::{
    Bucket, Place, Segment, StreamRecord, Summary, Tally, TransferRecord, Worst,
};

use crate::message::Spent;
use crate::packet::Packet;

/// Statistics of one stream during the run.
#[repr(align(64))]
pub(crate) struct StreamStats {
    /// Longest permitted latency in picoseconds; `i64::MAX` for none.
    deadline: i64,
    delivered: u64,
    latency: Extremes,
    ethernet: Extremes,
    /// Time by segment, not carried over yet.
    segments: [i64; Segment::OF_PACKETS],
    histogram: Histogram,
    rest: Box<Rest>,
}
const _: () = assert!(size_of::<StreamStats>() == 192, "statistics are three cache lines");

/// Fields that few deliveries write.
struct Rest {
    /// Complete after [`StreamStats::finish`].
    record: StreamRecord,
    /// Octets of payload per packet.
    payload: u64,
    worst_place: u32,
    worst_part: i64,
    bucket_end: i64,
}

/// Minimum, maximum and sum of squares of some times, in picoseconds. The sum of squares saturates,
/// see [`Summary::sum_sq_ps2`].
struct Extremes {
    min: i64,
    max: i64,
    sum_sq: u128,
}

impl Extremes {
    #[inline]
    fn record(&mut self, time: i64) {
        self.min = self.min.min(time);
        self.max = self.max.max(time);
        let magnitude = u128::from(time.unsigned_abs());
        self.sum_sq = self.sum_sq.saturating_add(magnitude * magnitude);
    }

    /// Returns the summary of `count` times that add up to `sum_ps`.
    const fn summary(&self, count: u64, sum_ps: i128) -> Summary {
        Summary {
            count,
            min: Duration::from_ps(self.min),
            max: Duration::from_ps(self.max),
            sum_ps,
            sum_sq_ps2: self.sum_sq,
        }
    }
}

impl Default for Extremes {
    fn default() -> Self {
        Self { min: i64::MAX, max: 0, sum_sq: 0 }
    }
}

/// Packets after which sums are carried over: with latencies below 2^43 ps (8.8 s) their sum fits
/// 63 bits. Longer latencies are carried over at once.
const CARRY_AFTER: u64 = 1 << 19;
const LONG: i64 = 1 << 43;

impl StreamStats {
    /// Creates empty statistics.
    pub(crate) fn new(flow: u32, listener: u32, deadline: Option<Duration>, payload: u64) -> Self {
        let record = StreamRecord { flow, listener, ..StreamRecord::default() };
        Self {
            deadline: deadline.map_or(i64::MAX, Duration::as_ps),
            delivered: 0,
            latency: Extremes::default(),
            ethernet: Extremes::default(),
            segments: [0; Segment::OF_PACKETS],
            histogram: Histogram::default(),
            rest: Box::new(Rest { record, payload, worst_place: 0, worst_part: 0, bucket_end: 0 }),
        }
    }

    /// Records a delivered packet. `payload` is given where packet sizes differ.
    #[inline]
    pub(crate) fn deliver(&mut self, now: i64, packet: &Packet, bucket: i64, payload: Option<u64>) {
        self.note_delivered(now, packet, bucket, payload, 0);
    }

    /// Records a message that was delivered, with the parts of its packet and what it waited for.
    pub(crate) fn deliver_whole(
        &mut self,
        now: i64,
        (packet, spent): (&Packet, &Spent),
        bucket: i64,
        payload: Option<u64>,
    ) {
        let awaited = spent.awaited();
        let sum = awaited.iter().sum();
        let is_worst = now - packet.released_at > self.latency.max || self.delivered == 0;
        self.note_delivered(now, packet, bucket, payload, sum);
        let record = &mut self.rest.record;
        record.segments_ps[Segment::Protocol.index()] += i128::from(sum);
        for (total, part) in record.awaited_ps.iter_mut().zip(awaited) {
            *total += i128::from(*part);
        }
        if let Some(worst) = record.worst.as_mut().filter(|_| is_worst) {
            worst.awaited = awaited.map(Duration::from_ps);
            worst.segments[Segment::Protocol.index()] = Duration::from_ps(sum);
        }
    }

    #[inline]
    fn note_delivered(
        &mut self,
        now: i64,
        packet: &Packet,
        bucket: i64,
        payload: Option<u64>,
        awaited: i64,
    ) {
        let latency = now - packet.released_at;
        let mut ethernet = 0;
        let parts = self.segments.iter_mut().zip(packet.segments);
        for (segment, (sum, spent)) in Segment::ALL.into_iter().zip(parts) {
            *sum += spent;
            if segment.is_ethernet() {
                ethernet += spent;
            }
        }
        debug_assert_eq!(
            latency,
            packet.segments.iter().sum::<i64>() + awaited,
            "segments of flow {} do not add up to the latency",
            packet.flow
        );
        if latency > self.deadline {
            self.note_missed();
        }
        if latency > self.latency.max || self.delivered == 0 {
            self.rest.worst_place = packet.worst_place;
            self.rest.worst_part = packet.worst;
            self.rest.record.worst = Some(worst_of(packet, latency));
        }
        self.delivered += 1;
        self.latency.record(latency);
        self.ethernet.record(ethernet);
        self.histogram.record(Duration::from_ps(latency));
        if let Some(payload) = payload {
            self.rest.record.payload_bytes += payload;
        }
        if bucket > 0 {
            self.rest.deliver_to_bucket(now, latency, bucket);
        }
        if self.delivered.is_multiple_of(CARRY_AFTER) || latency >= LONG {
            self.carry();
        }
    }

    /// Returns the longest permitted latency in picoseconds; `i64::MAX` for none.
    pub(crate) const fn deadline(&self) -> i64 {
        self.deadline
    }

    /// Counts a release that is not one of the flow's, but of a segment or file.
    pub(crate) fn note_released(&mut self) {
        self.rest.record.released += 1;
    }

    /// Counts a loss.
    pub(crate) fn note_lost(&mut self) {
        self.rest.record.dropped += 1;
        if self.deadline != i64::MAX {
            self.note_missed();
        }
    }

    /// Counts a packet that is late, lost or overdue.
    pub(crate) fn note_missed(&mut self) {
        self.rest.record.missed += 1;
    }

    /// Adds the records of a bulk flow.
    pub(crate) fn set_transfers(&mut self, transfers: Vec<TransferRecord>) {
        self.rest.record.transfers = transfers;
    }

    /// Returns what was counted so far; `released` is the number of counted releases of its flow.
    pub(crate) fn tally(&self, released: u64) -> Tally {
        let record = &self.rest.record;
        let carried = record.segments_ps.iter().sum::<i128>();
        let others = self.segments.iter().map(|&sum| i128::from(sum));
        Tally {
            released: record.released + released,
            delivered: self.delivered,
            missed: record.missed,
            sum_ps: carried + others.sum::<i128>(),
            bins: Tally::bins_of(&self.histogram),
        }
    }

    /// Carries the sums over into the record.
    fn carry(&mut self) {
        let totals = &mut self.rest.record.segments_ps;
        // Packets have none of the last, the protocol's.
        for (total, sum) in totals.iter_mut().zip(&mut self.segments) {
            *total += i128::from(core::mem::take(sum));
        }
    }

    /// Completes the record: `released` is the number of counted releases of its flow, `place`
    /// translates the code of a place.
    pub(crate) fn finish(
        mut self,
        seed: u64,
        released: u64,
        place: impl Fn(u32) -> (Segment, PortId),
    ) -> StreamRecord {
        self.carry();
        let Rest { mut record, payload, worst_place, worst_part, .. } = *self.rest;
        if let Some(worst) = &mut record.worst {
            let (segment, port) = place(worst_place);
            worst.responsible = (Place { segment, port }, Duration::from_ps(worst_part));
            worst.seed = seed;
        }
        let sum = |is_part: fn(Segment) -> bool| -> i128 {
            let parts = Segment::ALL.iter().filter(|&&segment| is_part(segment));
            parts.map(|segment| record.segments_ps[segment.index()]).sum()
        };
        let (sum, ethernet_sum) = (sum(|_| true), sum(Segment::is_ethernet));
        record.released += released;
        record.delivered = self.delivered;
        record.payload_bytes += self.delivered * payload;
        record.latency = self.latency.summary(self.delivered, sum);
        record.ethernet = self.ethernet.summary(self.delivered, ethernet_sum);
        record.histogram = self.histogram;
        record.in_flight = record.released - record.delivered - record.dropped;
        record
    }
}

impl Rest {
    fn deliver_to_bucket(&mut self, now: i64, latency: i64, bucket: i64) {
        while now >= self.bucket_end {
            self.record.buckets.push(Bucket::default());
            self.bucket_end += bucket;
        }
        if let Some(last) = self.record.buckets.last_mut() {
            last.count += 1;
            last.sum_ps += i128::from(latency);
            last.max = last.max.max(Duration::from_ps(latency));
        }
    }
}

/// Returns the worst packet; place and seed are filled in at the end.
fn worst_of(packet: &Packet, latency: i64) -> Worst {
    let nowhere = PortId::first(rtether_model::network::NodeId(0));
    Worst {
        released_at: Instant::from_ps(packet.released_at),
        latency: Duration::from_ps(latency),
        segments: packet.spent(),
        awaited: [Duration::ZERO; Segment::COUNT],
        responsible: (Place { segment: Segment::Wire, port: nowhere }, Duration::ZERO),
        seed: 0,
    }
}
