//! Parameters of a shared segment, and its constants as times.

use rtether_model::network::Backoff;
use rtether_model::quantity::{BitRate, Bytes, Duration};
use rtether_model::wire;
use thiserror::Error;

/// Transmissions of one frame before it is given up (`attemptLimit`, IEEE 802.3-2022, 4.4.2).
pub const ATTEMPT_LIMIT: u32 = 16;
/// Collisions after which the range of the back-off stops growing (`backoffLimit`, 4.4.2).
pub(super) const BACKOFF_LIMIT: u32 = 10;

/// Bits of the slot, of the jam, of the inter-frame gap (4.4.2), and of the part of the gap in
/// which carrier restarts it: two thirds (4.2.3.2.2).
const SLOT_BITS: i64 = 512;
const JAM_BITS: i64 = 32;
const GAP_BITS: i64 = 96;
const GAP_FIRST_BITS: i64 = 64;
const PREAMBLE_BITS: i64 = 64;
const _: () = assert!(
    wire::PREAMBLE.get() == 8 && wire::GAP.get() == 12,
    "the constants above are those of the wire"
);

/// Returns the number of possible slot counts after `collisions` collisions of a frame.
pub(super) fn choices(backoff: Backoff, collisions: u32) -> u32 {
    let power = 1 << collisions.min(BACKOFF_LIMIT);
    match backoff {
        Backoff::Standard => power,
        Backoff::UpperEndIncluded => power + 1,
    }
}

/// Parameters of a shared segment.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Config {
    /// 10 or 100 Mbit/s.
    pub rate: BitRate,
    /// From the first bit at one port of the repeater to the first bit at the others.
    pub repeater_delay: Duration,
    /// Ranges of the back-off.
    pub backoff: Backoff,
}

/// How one station is attached.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Attachment {
    /// One-way delay between the station and the repeater, interface included.
    pub distance: Duration,
    /// Seed of the station's back-off generator. Stations with equal seeds draw alike.
    pub seed: u64,
}

/// Why a segment cannot be built.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
pub enum MediumError {
    /// Half duplex is modeled at 10 and 100 Mbit/s only.
    #[error("a shared segment runs at 10 or 100 Mbit/s, found {0}")]
    Rate(BitRate),
    /// A delay is negative.
    #[error("the delay of station {station} or of the repeater is negative")]
    Negative {
        /// Number of the station.
        station: u32,
    },
    /// Two stations are further apart than a slot, one way.
    #[error("the two most distant stations are {0} apart, more than a slot of 512 bit times")]
    TooLong(Duration),
    /// Too many stations: more than 65536 at one repeater, or 4096 with several.
    #[error("a shared segment has at most 65536 stations, found {0}")]
    Crowded(usize),
}

/// The constants of 4.4.2 in picoseconds.
#[derive(Clone, Copy, Debug)]
pub(super) struct Timing {
    pub(super) octet: i64,
    pub(super) slot: i64,
    pub(super) jam: i64,
    pub(super) preamble: i64,
    pub(super) gap: i64,
    pub(super) gap_first: i64,
}

impl Timing {
    /// Returns the times at `rate`; `None` at a rate without half duplex in this model.
    pub(super) fn at(rate: BitRate) -> Option<Self> {
        if ![10_000_000, 100_000_000].contains(&rate.as_bps()) {
            return None;
        }
        let octet = rate.octet_time()?.as_ps();
        let bit = octet / 8;
        Some(Self {
            octet,
            slot: SLOT_BITS * bit,
            jam: JAM_BITS * bit,
            preamble: PREAMBLE_BITS * bit,
            gap: GAP_BITS * bit,
            gap_first: GAP_FIRST_BITS * bit,
        })
    }

    /// Returns the time from the first bit of the preamble to the last bit of a frame.
    pub(super) fn frame(&self, frame_size: Bytes) -> i64 {
        let octets = i64::try_from((wire::PREAMBLE + frame_size).get()).unwrap_or(i64::MAX);
        octets.saturating_mul(self.octet)
    }
}
