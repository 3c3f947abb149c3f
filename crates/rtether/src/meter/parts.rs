//! Parts of a round trip, from time stamps on both sides.
//!
//! The parts of each round trip add up to it exactly; their medians need not add up to its median.

use rtether_model::quantity::{Duration, Instant};
use rtether_proto::probe::Sample;

/// Time stamps of a request and its reply, by the clock of the run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Path {
    /// The round trip.
    pub sample: Sample,
    /// The request entered the queueing discipline.
    pub queued_at: Option<Instant>,
    /// The request was handed to the driver.
    pub driver_at: Option<Instant>,
    /// The driver handed in the reply.
    pub arrived_at: Option<Instant>,
    /// Time stamps of the peer.
    pub peer: Option<PeerPath>,
}

/// Time stamps at the peer, by its clock.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PeerPath {
    /// Whether the peer shares our clock: it is the same host.
    pub has_our_clock: bool,
    /// The driver handed in the request.
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

/// Relation of the two hosts' clocks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Clocks {
    /// The same clock.
    Same,
    /// Two synchronized clocks.
    Apart {
        /// Largest offset, from the estimates of both kernels.
        error: Duration,
    },
}

/// A part of the round trip.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Part {
    /// From the program to the queueing discipline.
    ToQueue,
    /// From there to the driver.
    ToDriver,
    /// From there to the peer's driver.
    WireOut,
    /// The wire in both directions, if the peer has another clock.
    WireBoth,
    /// The wire in both directions and the peer, if the peer has no stamps.
    WireAndPeer,
    /// From the peer's driver to its program.
    PeerToProgram,
    /// In the peer's program.
    PeerProgram,
    /// From there to the queueing discipline.
    PeerToQueue,
    /// From there to the driver.
    PeerToDriver,
    /// From there to our driver.
    WireBack,
    /// From our driver to the program.
    ToProgram,
}

impl Part {
    /// Returns the label for display.
    pub const fn label(self) -> &'static str {
        match self {
            Self::ToQueue => "program to queue",
            Self::ToDriver => "queue to driver",
            Self::WireOut => "wire, out",
            Self::WireBoth => "wire, both ways",
            Self::WireAndPeer => "wire and peer",
            Self::PeerToProgram => "peer: driver to program",
            Self::PeerProgram => "peer: program",
            Self::PeerToQueue => "peer: program to queue",
            Self::PeerToDriver => "peer: queue to driver",
            Self::WireBack => "wire, back",
            Self::ToProgram => "driver to program",
        }
    }

    /// Returns the name in files.
    pub const fn name(self) -> &'static str {
        match self {
            Self::ToQueue => "to_queue",
            Self::ToDriver => "to_driver",
            Self::WireOut => "wire_out",
            Self::WireBoth => "wire_both",
            Self::WireAndPeer => "wire_and_peer",
            Self::PeerToProgram => "peer_to_program",
            Self::PeerProgram => "peer_program",
            Self::PeerToQueue => "peer_to_queue",
            Self::PeerToDriver => "peer_to_driver",
            Self::WireBack => "wire_back",
            Self::ToProgram => "to_program",
        }
    }
}

/// The parts of a fully stamped round trip, in order.
pub const WHOLE: [Part; 9] = [
    Part::ToQueue,
    Part::ToDriver,
    Part::WireOut,
    Part::PeerToProgram,
    Part::PeerProgram,
    Part::PeerToQueue,
    Part::PeerToDriver,
    Part::WireBack,
    Part::ToProgram,
];

impl Path {
    /// Returns the end of the round trip.
    fn end(&self) -> Instant {
        self.sample.sent_at + self.sample.round_trip
    }

    /// Splits the round trip as far as stamps allow; `None` if one of our own is missing.
    pub fn parts(&self) -> Option<Vec<(Part, Duration)>> {
        let (queued, driver, arrived) = (self.queued_at?, self.driver_at?, self.arrived_at?);
        let mut parts =
            vec![(Part::ToQueue, queued - self.sample.sent_at), (Part::ToDriver, driver - queued)];
        match self.peer.and_then(|peer| Some((peer, peer.inside()?))) {
            Some((peer, (peer_arrived, inside, peer_driver))) if peer.has_our_clock => {
                parts.push((Part::WireOut, peer_arrived - driver));
                parts.extend(inside);
                parts.push((Part::WireBack, arrived - peer_driver));
            }
            Some((_, (peer_arrived, inside, peer_driver))) => {
                let wire = (arrived - driver) - (peer_driver - peer_arrived);
                parts.push((Part::WireBoth, wire));
                parts.extend(inside);
            }
            None => parts.push((Part::WireAndPeer, arrived - driver)),
        }
        parts.push((Part::ToProgram, self.end() - arrived));
        Some(parts)
    }

    /// Returns the delay from program to program in each direction; with the time in the peer's
    /// program they add up to the round trip.
    pub fn one_way(&self) -> Option<(Duration, Duration)> {
        let peer = self.peer?;
        Some((peer.read_at - self.sample.sent_at, self.end() - peer.answered_at))
    }
}

/// First stamp, parts between, last stamp.
type Inside = (Instant, [(Part, Duration); 4], Instant);

impl PeerPath {
    fn inside(&self) -> Option<Inside> {
        let (arrived, queued, driver) = (self.arrived_at?, self.queued_at?, self.driver_at?);
        let parts = [
            (Part::PeerToProgram, self.read_at - arrived),
            (Part::PeerProgram, self.answered_at - self.read_at),
            (Part::PeerToQueue, queued - self.answered_at),
            (Part::PeerToDriver, driver - queued),
        ];
        Some((arrived, parts, driver))
    }
}

/// Round trips split into the same parts: the most common set.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Decomposition {
    /// The parts, in order.
    pub parts: Vec<Part>,
    /// The parts of each round trip, in the same order.
    pub rows: Vec<(Sample, Vec<Duration>)>,
    /// Round trips with other stamps, or none.
    pub left_out: u64,
}

impl Decomposition {
    /// Splits round trips into parts.
    pub fn of(paths: &[Path]) -> Self {
        let all: Vec<_> =
            paths.iter().filter_map(|path| Some((path.sample, path.parts()?))).collect();
        let kinds = all.iter().map(|(_, parts)| parts.len());
        let count = |kind: usize| all.iter().filter(|(_, parts)| parts.len() == kind).count();
        // The number of parts identifies the set.
        let mut kinds: Vec<usize> = kinds.collect();
        kinds.sort_unstable();
        kinds.dedup();
        let Some(kind) = kinds.into_iter().max_by_key(|&kind| (count(kind), kind)) else {
            return Self { left_out: paths.len() as u64, ..Self::default() };
        };
        let chosen = all.iter().filter(|(_, parts)| parts.len() == kind);
        let rows: Vec<_> = chosen
            .clone()
            .map(|(sample, parts)| (*sample, parts.iter().map(|(_, span)| *span).collect()))
            .collect();
        let parts = chosen.take(1).flat_map(|(_, parts)| parts.iter().map(|(part, _)| *part));
        Self { parts: parts.collect(), left_out: (paths.len() - rows.len()) as u64, rows }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn at(ns: i64) -> Instant {
        Instant::ZERO + Duration::from_ns(ns)
    }

    /// A round trip whose nine parts are 1, 2, 4, ... ns; the peer's clock is off by `off`.
    fn path(off: i64) -> Path {
        let marks: Vec<i64> = (0..=9).map(|n| 100 + (1 << n) - 1).collect();
        let there = |n: usize| at(marks[n] + off);
        Path {
            sample: Sample {
                sequence: 0,
                series: 0,
                sent_at: at(marks[0]),
                round_trip: Duration::from_ns(511),
                is_reordered: false,
            },
            queued_at: Some(at(marks[1])),
            driver_at: Some(at(marks[2])),
            arrived_at: Some(at(marks[8])),
            peer: Some(PeerPath {
                has_our_clock: off == 0,
                arrived_at: Some(there(3)),
                read_at: there(4),
                answered_at: there(5),
                queued_at: Some(there(6)),
                driver_at: Some(there(7)),
            }),
        }
    }

    fn ns(path: &Path) -> Vec<(Part, i64)> {
        let parts = path.parts().expect("stamps");
        parts.iter().map(|(part, span)| (*part, span.as_ns_floor())).collect()
    }

    #[test]
    fn parts_by_hand() {
        let expected: Vec<_> = WHOLE.into_iter().zip((0..).map(|n| 1 << n)).collect();
        assert_eq!(ns(&path(0)), expected);
        // Another clock, one hour off: only the sum of both wires is known, 4 + 128.
        let remote = ns(&path(3_600_000_000_000));
        assert_eq!(remote[2], (Part::WireBoth, 132));
        assert_eq!(remote.len(), 8);
        let mut own = path(0);
        own.peer = None;
        let rest = 4 + 8 + 16 + 32 + 64 + 128;
        assert_eq!(ns(&own)[2], (Part::WireAndPeer, rest));
        own.driver_at = None;
        assert_eq!(own.parts(), None);
    }

    #[test]
    fn the_common_way_is_taken_and_the_rest_counted() {
        let mut bare = path(0);
        bare.arrived_at = None;
        let mut own = path(0);
        own.peer = None;
        let found = Decomposition::of(&[path(0), bare, own, path(0)]);
        assert_eq!((found.parts, found.rows.len(), found.left_out), (WHOLE.to_vec(), 2, 2));
        assert_eq!(Decomposition::of(&[bare]).left_out, 1);
    }

    proptest! {
        /// For any stamps, the parts add up to the round trip.
        #[test]
        fn parts_add_up(
            marks in proptest::array::uniform10(0..1_000_000_i64),
            off: i32,
            has_our_clock: bool,
            has_peer_stamps: bool,
        ) {
            let there = |n: usize| at(marks[n] + i64::from(off));
            let path = Path {
                sample: Sample { round_trip: at(marks[9]) - at(marks[0]), sent_at: at(marks[0]), ..path(0).sample },
                queued_at: Some(at(marks[1])),
                driver_at: Some(at(marks[2])),
                arrived_at: Some(at(marks[8])),
                peer: Some(PeerPath {
                    has_our_clock,
                    arrived_at: has_peer_stamps.then_some(there(3)),
                    read_at: there(4),
                    answered_at: there(5),
                    queued_at: Some(there(6)),
                    driver_at: Some(there(7)),
                }),
            };
            let sum = path.parts().expect("stamps").into_iter().map(|(_, span)| span.as_ps()).sum();
            prop_assert_eq!(Duration::from_ps(sum), path.sample.round_trip);
            let (out, back) = path.one_way().expect("a peer");
            prop_assert_eq!(out + back + (there(5) - there(4)), path.sample.round_trip);
        }
    }
}
