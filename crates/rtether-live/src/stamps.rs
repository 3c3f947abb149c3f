//! Collects the stamps of requests and replies, by request.
//!
//! Kernel stamps are of `CLOCK_REALTIME`, round trips of the monotonic clock. If a check at a reply
//! shows that the clock of the day has been set, the stamps of that reply are dropped.

use std::collections::VecDeque;

use rtether_model::quantity::{Duration, Instant};
use rtether_proto::probe::Sample;
use rtether_proto::probe::details::{Details, Earlier};

use crate::clock::Clock;
use crate::timestamping::{RealNs, Sent, StampPoint};
use crate::wall::{Offset, Stamps};

/// Requests and replies kept for stamps; older ones are passed on without.
const WAITING: usize = 64;
/// Round trips kept, in 60 MB; further ones are counted.
pub const KEPT: usize = 1 << 18;
/// How far stamps may seem to lie outside their round trip, since clocks are read one after
/// another.
const TOLERANCE: Duration = Duration::from_us(1);

/// When a request passed the points of the answering host, by that host's clock.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PeerTrack {
    /// Identity of the host.
    pub host: [u8; 16],
    /// Largest error of its clock in microseconds; `None` if it is not synchronized.
    pub clock_error_us: Option<u32>,
    /// The driver delivered the request.
    pub arrived_at: Option<Instant>,
    /// The program read the request.
    pub read_at: Instant,
    /// The program sent the reply.
    pub answered_at: Instant,
    /// The reply entered the queueing discipline.
    pub queued_at: Option<Instant>,
    /// The reply was handed to the driver.
    pub driver_at: Option<Instant>,
}

impl PeerTrack {
    /// Converts times; `None` if the peer's clock shows a time that cannot lie in the run.
    fn new(details: Details, offset: Offset) -> Option<Self> {
        Some(Self {
            host: details.host,
            clock_error_us: details.clock_error_us,
            arrived_at: details.arrived_at.and_then(|at| offset.to_run(at)),
            read_at: offset.to_run(details.read_at)?,
            answered_at: offset.to_run(details.answered_at)?,
            queued_at: None,
            driver_at: None,
        })
    }
}

/// When a request and its reply passed each point.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Track {
    /// The round trip.
    pub sample: Sample,
    /// The request entered the queueing discipline.
    pub queued_at: Option<Instant>,
    /// The request was handed to the driver.
    pub driver_at: Option<Instant>,
    /// Report of the peer.
    pub peer: Option<PeerTrack>,
    /// The driver delivered the reply.
    pub arrived_at: Option<Instant>,
}

/// A request waiting for stamps.
#[derive(Clone, Copy, Debug)]
struct Outgoing {
    number: u32,
    sequence: u32,
    queued_at: Option<RealNs>,
    driver_at: Option<RealNs>,
}

/// Collects stamps.
#[derive(Clone, Debug)]
pub struct Collector {
    stamps: Stamps,
    /// Number of payloads sent on the socket.
    number: u32,
    outgoing: VecDeque<Outgoing>,
    /// Round trips about which the peer may still report.
    waiting: VecDeque<(Track, Offset)>,
    tracks: Vec<Track>,
    dropped: u64,
}

impl Collector {
    /// Returns a collector for a run that begins now, with room for `expected` round trips.
    pub fn new(clock: Clock, expected: usize) -> Self {
        Self {
            stamps: Stamps::new(clock),
            number: 0,
            outgoing: VecDeque::with_capacity(WAITING),
            waiting: VecDeque::with_capacity(WAITING),
            tracks: Vec::with_capacity(expected.min(KEPT)),
            dropped: 0,
        }
    }

    /// Notes that the socket has sent a payload; a request if it has a sequence.
    pub fn on_send(&mut self, sequence: Option<u32>) {
        let number = self.number;
        self.number = number.wrapping_add(1);
        if let Some(sequence) = sequence {
            if self.outgoing.len() == WAITING {
                self.outgoing.pop_front();
            }
            self.outgoing.push_back(Outgoing {
                number,
                sequence,
                queued_at: None,
                driver_at: None,
            });
        }
    }

    /// Takes a stamp of a sent payload.
    pub fn on_stamp(&mut self, sent: Sent) {
        let mut all = self.outgoing.iter_mut().rev();
        if let Some(request) = all.find(|request| request.number == sent.number) {
            match sent.place {
                StampPoint::Queue => request.queued_at = Some(sent.at),
                StampPoint::Driver => request.driver_at = Some(sent.at),
            }
        }
    }

    /// Takes a round trip, with the kernel's stamp of the reply and the report of the peer.
    pub fn on_reply(&mut self, sample: Sample, arrived: Option<RealNs>, details: Option<Details>) {
        let is_usable = !self.stamps.look();
        let (stamps, offset) = (self.stamps, self.stamps.offset());
        let within = |at: Option<RealNs>| {
            let end = sample.sent_at + sample.round_trip;
            let at = at.filter(|_| is_usable)?;
            stamps.map(at, sample.sent_at - TOLERANCE, end + TOLERANCE)
        };
        let request = self.outgoing.iter().find(|r| r.sequence == sample.sequence);
        let (queued, driver) = request.map_or((None, None), |r| (r.queued_at, r.driver_at));
        let details = details.filter(|_| is_usable);
        if let Some(details) = &details {
            self.on_earlier(&details.earlier);
        }
        let track = Track {
            sample,
            queued_at: within(queued),
            driver_at: within(driver),
            peer: details.and_then(|details| PeerTrack::new(details, offset)),
            arrived_at: within(arrived),
        };
        self.waiting.push_back((track, offset));
        if self.waiting.len() == WAITING {
            self.hand_out(1);
        }
    }

    /// Takes the peer's report on an earlier reply, and passes on all round trips before it.
    fn on_earlier(&mut self, earlier: &Earlier) {
        let of = |(track, _): &(Track, Offset)| track.sample.sequence == earlier.sequence;
        let Some(index) = self.waiting.iter().position(of) else {
            return;
        };
        // All stamps of a round trip are converted with the same offset.
        let (track, offset) = &mut self.waiting[index];
        let round_trip = track.sample.round_trip;
        if let Some(peer) = &mut track.peer {
            // Rejects stamps of a reply to another meter with the same sequence.
            let soon = peer.answered_at + round_trip + TOLERANCE;
            let within = |at: Option<RealNs>| {
                let at = offset.to_run(at?)?;
                (peer.answered_at - TOLERANCE <= at && at <= soon).then_some(at)
            };
            let stamps = (within(earlier.queued_at), within(earlier.driver_at));
            (peer.queued_at, peer.driver_at) = stamps;
        }
        self.hand_out(index + 1);
    }

    fn hand_out(&mut self, count: usize) {
        for (track, _) in self.waiting.drain(..count) {
            if self.tracks.len() < KEPT {
                self.tracks.push(track);
            } else {
                self.dropped += 1;
            }
        }
    }

    /// Returns all round trips, the number of those not kept, and how often the clock was set.
    pub fn finish(mut self) -> (Vec<Track>, u64, u64) {
        self.hand_out(self.waiting.len());
        (self.tracks, self.dropped, self.stamps.steps())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::wall::real_now;

    #[test]
    fn stamps_find_their_request() {
        let clock = Clock::start();
        let mut collector = Collector::new(clock, 2);
        // A wake-up message precedes it, and the kernel counts that, too.
        collector.on_send(None);
        collector.on_send(Some(0));
        let sent_at = clock.now();
        let real = real_now();
        for (number, place, after) in [
            (0, StampPoint::Queue, 9),
            (1, StampPoint::Queue, 1_000),
            (1, StampPoint::Driver, 2_000),
        ] {
            let at = real + after;
            collector.on_stamp(Sent { number, place, at });
        }
        let sample = Sample {
            sequence: 0,
            series: 0,
            sent_at,
            round_trip: Duration::from_us(50),
            is_reordered: false,
        };
        collector.on_reply(sample, Some(real + 40_000), None);
        // An hour off, so not of this request.
        collector.on_reply(sample, Some(real + 3_600_000_000_000), None);
        let (tracks, dropped, steps) = collector.finish();
        let [track, other] = tracks[..] else {
            panic!("{tracks:?}");
        };
        let queued_for = track.driver_at.unwrap() - track.queued_at.unwrap();
        assert_eq!(queued_for, Duration::from_us(1));
        assert_eq!(track.arrived_at.unwrap() - track.driver_at.unwrap(), Duration::from_us(38));
        assert_eq!((other.arrived_at, dropped, steps), (None, 0, 0));
    }

    /// Oracle: by hand. A peer without a clock battery starts in 1970, and a malicious one sends
    /// any time.
    #[test]
    fn a_peer_far_off_in_time_tells_nothing() {
        let clock = Clock::start();
        let mut collector = Collector::new(clock, 4);
        for (sequence, at) in [(0, 1), (1, i64::MIN), (2, i64::MAX), (3, real_now())] {
            let sample = Sample {
                sequence,
                series: 0,
                sent_at: clock.now(),
                round_trip: Duration::from_us(50),
                is_reordered: false,
            };
            let details = Details {
                arrived_at: Some(at),
                read_at: at,
                answered_at: at,
                earlier: Earlier {
                    sequence: sequence.saturating_sub(1),
                    queued_at: Some(at),
                    driver_at: Some(at),
                },
                ..Details::default()
            };
            collector.on_reply(sample, Some(at), Some(details));
        }
        let (tracks, ..) = collector.finish();
        let known: Vec<bool> = tracks.iter().map(|track| track.peer.is_some()).collect();
        assert_eq!(known, [false, false, false, true]);
    }
}
