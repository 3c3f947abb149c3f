//! Streaming statistics of one stream.
//!
//! Sums are kept in 64 bits and carried over into the record's 128 bits before they can overflow,
//! since 128-bit additions per segment and packet would be a tenth of the run.

use rtether_model::network::PortId;
use rtether_model::quantity::{Duration, Instant};
use rtether_model::record::{Bucket, Place, Segment, StreamRecord, Worst};

use crate::packet::Packet;

/// What is being learned of one stream.
pub(crate) struct StreamStats {
    /// Filled as packets arrive; complete after [`Self::flush`].
    pub(crate) record: StreamRecord,
    /// Longest permitted latency in picoseconds; `i64::MAX` for none.
    pub(crate) deadline: i64,
    /// Octets of payload per packet.
    payload: u64,
    segments: [i64; Segment::COUNT],
    /// Packets until the sums are carried over.
    room: u32,
    worst_place: u32,
    worst_part: i64,
    bucket_end: i64,
}

/// Packets after which sums are carried over: with latencies below 2^43 ps (8.8 s) no sum of so
/// many leaves 63 bits. Longer latencies are carried over at once.
const CARRY_AFTER: u32 = 1 << 19;
const LONG: i64 = 1 << 43;

impl StreamStats {
    /// Creates empty statistics.
    pub(crate) fn new(flow: u32, listener: u32, deadline: Option<Duration>, payload: u64) -> Self {
        Self {
            record: StreamRecord {
                flow,
                listener,
                ..StreamRecord::default()
            },
            deadline: deadline.map_or(i64::MAX, Duration::as_ps),
            payload,
            segments: [0; Segment::COUNT],
            room: CARRY_AFTER,
            worst_place: 0,
            worst_part: 0,
            bucket_end: 0,
        }
    }

    /// Takes in a delivered packet.
    #[inline]
    pub(crate) fn deliver(&mut self, now: i64, packet: &Packet, bucket: i64, payload: Option<u64>) {
        let latency = now - packet.released_at;
        let mut ethernet = 0;
        for segment in Segment::ALL {
            let spent = packet.segments[segment.index()];
            self.segments[segment.index()] += spent;
            if segment.is_ethernet() {
                ethernet += spent;
            }
        }
        debug_assert_eq!(
            latency,
            packet.segments.iter().sum::<i64>(),
            "segments of flow {} do not add up to the latency",
            packet.flow
        );
        let record = &mut self.record;
        record.delivered += 1;
        record.payload_bytes += payload.unwrap_or(self.payload);
        record.missed += u64::from(latency > self.deadline);
        if latency > record.latency.max.as_ps() || record.latency.count == 0 {
            self.worst_place = packet.worst_place;
            self.worst_part = packet.worst;
            record.worst = Some(worst_of(packet, latency));
        }
        record.latency.record(Duration::from_ps(latency));
        record.histogram.record(Duration::from_ps(latency));
        record.ethernet.record(Duration::from_ps(ethernet));
        if bucket > 0 {
            self.deliver_to_bucket(now, latency, bucket);
        }
        self.room -= 1;
        if self.room == 0 || latency >= LONG {
            self.flush();
        }
    }

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

    /// Carries the sums over into the record.
    pub(crate) fn flush(&mut self) {
        self.room = CARRY_AFTER;
        for (total, sum) in self.record.segments_ps.iter_mut().zip(&mut self.segments) {
            *total += i128::from(core::mem::take(sum));
        }
    }

    /// Completes the record: `place` translates the code of a place.
    pub(crate) fn finish(
        mut self,
        seed: u64,
        place: impl Fn(u32) -> (Segment, PortId),
    ) -> StreamRecord {
        self.flush();
        if let Some(worst) = &mut self.record.worst {
            let (segment, port) = place(self.worst_place);
            worst.responsible = (Place { segment, port }, Duration::from_ps(self.worst_part));
            worst.seed = seed;
        }
        let record = &mut self.record;
        record.in_flight = record.released - record.delivered - record.dropped;
        self.record
    }
}

/// Returns the worst packet; place and seed are filled in at the end.
fn worst_of(packet: &Packet, latency: i64) -> Worst {
    let nowhere = PortId {
        node: rtether_model::network::NodeId(0),
        port: 0,
    };
    Worst {
        released_at: Instant::from_ps(packet.released_at),
        latency: Duration::from_ps(latency),
        segments: packet.segments.map(Duration::from_ps),
        responsible: (
            Place {
                segment: Segment::Wire,
                port: nowhere,
            },
            Duration::ZERO,
        ),
        seed: 0,
    }
}
