//! Endpoints that send both ways: everything arrives in both directions.

use proptest::prelude::*;
use rtether_model::quantity::{BitRate, Bytes, Duration, Instant};
use rtether_sim::tcp::{Config, Endpoint};

use crate::tcp::bottleneck::{Agenda, Bottleneck, Wire};

/// IPv4 and TCP headers.
const HEADERS: Bytes = Bytes::new(40);

struct Pair {
    ends: [Endpoint; 2],
    /// The wire from each end to the other.
    wires: [Bottleneck; 2],
    /// Segments and the end at which they arrive.
    agenda: Agenda<(usize, rtether_sim::tcp::Segment)>,
    now: Instant,
    segments: u64,
}

impl Pair {
    fn new(config: Config, wire: Wire, seed: u64) -> Self {
        Self {
            ends: [(); 2].map(|()| Endpoint::connected(config)),
            wires: [seed, !seed].map(|seed| Bottleneck::new(wire, seed)),
            agenda: Agenda::new(),
            now: Instant::ZERO,
            segments: 0,
        }
    }

    fn write(&mut self, end: usize, octets: u64) {
        self.ends[end].write(self.now, Bytes::new(octets));
        self.transmit();
    }

    fn transmit(&mut self) {
        for end in 0..2 {
            while let Some(segment) = self.ends[end].poll_transmit(self.now) {
                self.segments += 1;
                let size = HEADERS + segment.payload_size();
                let arrivals = self.wires[end].offer(self.now, size);
                for at in arrivals.into_iter().flatten() {
                    self.agenda.push(at, (1 - end, segment));
                }
            }
            assert_eq!(self.ends[end].invariants(), Ok(()));
        }
    }

    /// Handles all events up to and at `until`.
    fn run(&mut self, until: Instant) {
        loop {
            let timers = self.ends.iter().map(Endpoint::poll_timeout);
            let next = timers.chain([self.agenda.next()]).flatten().min();
            let Some(at) = next.filter(|at| *at <= until) else {
                break;
            };
            self.now = at;
            while let Some((end, segment)) = self.agenda.pop(at) {
                self.ends[end].handle_segment(at, &segment);
                self.transmit();
            }
            for end in &mut self.ends {
                end.handle_timeout(at);
            }
            self.transmit();
        }
        self.now = until;
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(200))]

    /// Oracle: the totals written.
    #[test]
    fn both_directions_arrive(
        (mss, receive_window, delayed) in (1..1_461_u32, 1..70_000_u32, 1..4_u32),
        (loss_ppm, duplication_ppm, jitter_us) in (0..300_000_u64, 0..200_000_u64, 0..20_000_i64),
        nagle in any::<bool>(),
        writes in prop::collection::vec((0..400_000_i64, 0..2_usize, 1..5_000_u64), 1..40),
        seed in any::<u64>(),
    ) {
        let config = Config {
            mss,
            receive_window,
            delayed_ack_segments: delayed,
            max_retries: 1_000,
            nagle,
            ..Config::default()
        };
        let wire = Wire {
            loss_ppm,
            duplication_ppm,
            jitter: Duration::from_us(jitter_us),
            ..Wire::new(BitRate::from_mbps(10), Duration::from_us(500))
        };
        let mut pair = Pair::new(config, wire, seed);
        let mut written = [0; 2];
        for (pause_us, end, octets) in writes {
            pair.run(pair.now + Duration::from_us(pause_us));
            pair.write(end, octets);
            written[end] += octets;
        }
        pair.run(Instant::ZERO + Duration::from_secs(3_000_000));
        for (end, octets) in written.into_iter().enumerate() {
            prop_assert_eq!(pair.ends[1 - end].delivered().get(), octets);
            prop_assert_eq!(pair.ends[end].backlog(), Bytes::ZERO);
        }
    }
}

#[test]
fn a_dialogue_needs_no_pure_acknowledgements() {
    // Oracle: one segment per write, and one acknowledgement of the last.
    let wire = Wire::new(BitRate::from_mbps(10), Duration::from_us(500));
    let mut pair = Pair::new(Config::default(), wire, 1);
    for round in 0..100 {
        pair.write(round % 2, 100);
        pair.run(pair.now + Duration::from_ms(5));
    }
    pair.run(pair.now + Duration::from_secs(1));
    assert_eq!(pair.segments, 101);
    assert_eq!(pair.ends[0].delivered().get(), 5_000);
    assert_eq!(pair.ends[1].delivered().get(), 5_000);
}
