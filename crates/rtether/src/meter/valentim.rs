//! Half a round trip in parts, by the method of Valentim, Guedes and Viegas (R7; 004, III.B).
//!
//! Inputs: the round trip over the network, the round trip over loopback with the same payload, and
//! the computed time of the frame on the wire. Both hosts are assumed equal. A loopback round trip
//! passes the stack twice, so half of it is one pass down and one up; the rest of half the network
//! round trip belongs to both network cards. The method cannot separate sending from receiving, so
//! each gets half.

use rtether_model::quantity::{BitRate, Bytes, Duration};
use rtether_model::wire::{Encapsulation, frame_size, wire_time};

/// Inputs of the method.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Given {
    /// Mean round trip over the network.
    pub round_trip: Duration,
    /// Mean round trip over loopback.
    pub loopback: Duration,
    /// Octets of payload.
    pub payload: Bytes,
    /// Encapsulation of the payload.
    pub encapsulation: Encapsulation,
    /// Rate of the wire.
    pub rate: BitRate,
}

/// The parts of half a round trip, with the paper's names.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Costs {
    /// Stack of the sender (SUT).
    pub sut: Duration,
    /// Stack of the receiver (SDT).
    pub sdt: Duration,
    /// Network card of the sender (NUT).
    pub nut: Duration,
    /// Network card of the receiver (NDT).
    pub ndt: Duration,
    /// Preamble, headers, padding and check sequence on the wire (HTX).
    pub htx: Duration,
    /// Payload on the wire (DTX).
    pub dtx: Duration,
}

/// Contradictory inputs: stack and wire take longer than half a round trip.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "half a round trip is shorter than stack and wire together by {} ns: the wire is faster than \
     stated, or loopback and network were measured differently",
    .by.as_ns_floor()
)]
pub struct Contradiction {
    /// The excess.
    pub by: Duration,
}

impl Costs {
    /// Splits half a round trip, rounded down to a picosecond.
    ///
    /// # Errors
    /// If nothing is left for the network cards.
    pub fn of(given: &Given) -> Result<Self, Contradiction> {
        let half = given.round_trip / 2;
        let stack = given.loopback / 2;
        let frame = frame_size(given.payload, given.encapsulation);
        let wire = wire_time(frame, given.rate);
        let dtx = given.rate.time_floor(given.payload);
        let card = half - wire - stack;
        if card.is_negative() {
            return Err(Contradiction { by: wire + stack - half });
        }
        let (sut, nut) = (stack / 2, card / 2);
        Ok(Self { sut, sdt: stack - sut, nut, ndt: card - nut, htx: wire - dtx, dtx })
    }

    /// Returns the parts with their names.
    pub fn named(&self) -> [(&'static str, &'static str, Duration); 6] {
        [
            ("SUT", "stack of the sender", self.sut),
            ("NUT", "network card of the sender", self.nut),
            ("HTX", "headers on the wire", self.htx),
            ("DTX", "payload on the wire", self.dtx),
            ("NDT", "network card of the receiver", self.ndt),
            ("SDT", "stack of the receiver", self.sdt),
        ]
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn the_first_row_of_the_paper() {
        // Table II: UDP, 64 octets, hub of 100 Mbit/s: half a round trip 44 us, loopback 26 us.
        // The frame has 8 + 14 + 28 + 64 + 4 = 118 octets with its preamble: 9.44 us, of which
        // 5.12 us are payload. Cards: 44 - 9.44 - 13 = 21.56 us.
        let costs = Costs::of(&Given {
            round_trip: Duration::from_us(88),
            loopback: Duration::from_us(26),
            payload: Bytes::new(64),
            encapsulation: Encapsulation::Udp,
            rate: BitRate::from_mbps(100),
        })
        .expect("possible");
        let ns = costs.named().map(|(name, _, span)| (name, span.as_ns_floor()));
        assert_eq!(
            ns,
            [
                ("SUT", 6_500),
                ("NUT", 10_780),
                ("HTX", 4_320),
                ("DTX", 5_120),
                ("NDT", 10_780),
                ("SDT", 6_500)
            ]
        );
    }

    proptest! {
        #[test]
        fn parts_add_up_exactly_or_the_figures_contradict(
            round_trip in 0..10_000_000_000_i64,
            loopback in 0..10_000_000_000_i64,
            payload in 0..1_400_u64,
            rate in 1..10_000_u64,
            is_raw: bool,
        ) {
            let given = Given {
                round_trip: Duration::from_ps(round_trip),
                loopback: Duration::from_ps(loopback),
                payload: Bytes::new(payload),
                encapsulation: if is_raw { Encapsulation::Raw } else { Encapsulation::Udp },
                rate: BitRate::from_mbps(rate),
            };
            match Costs::of(&given) {
                Ok(costs) => {
                    let parts = costs.named().map(|(.., span)| span);
                    prop_assert!(parts.iter().all(|span| !span.is_negative()));
                    let sum = parts.iter().map(|span| span.as_ps()).sum();
                    prop_assert_eq!(Duration::from_ps(sum), given.round_trip / 2);
                }
                Err(Contradiction { by }) => prop_assert!(by > Duration::ZERO),
            }
        }
    }
}
