//! Policer of a rule: a token bucket of `B` octets that fills at rate `R` and begins full.
//!
//! A frame conforms if the bucket holds all its octets, and takes them; one that does not conform
//! takes none, and is dropped or demoted. Flow meters of IEEE 802.1Q-2022, 8.6.5 have two such
//! buckets; this is the one for committed traffic.
//!
//! **Theorem.** Conforming frames that arrive in any closed window of length `t` have at most
//! `B + R t` octets; and a frame is refused only if it would break this together with conforming
//! frames before it. *Proof.* The level is `B` at most, rises by `R t` in the window, and what
//! conforms is taken from it, so the sum is at most `B + R t`. Let `s` be the last time before a
//! refused frame at which the bucket was full, or the start. From `s` on, nothing that flowed in
//! was lost, so the level is `B + R t` less the conforming frames since `s`; it is below the size of
//! the frame, and the window from `s` would hold more than `B + R t`.
//!
//! The level counts picoseconds at one bit per second, so that neither rate nor time is rounded.

use rtether_model::ingress::{Cause, Exceed, Police};
use rtether_model::quantity::{Bytes, Instant};

use super::{Marks, Offer};

/// Units of the level in an octet: 8 bits for 10^12 ps each.
const OCTET: u128 = 8_000_000_000_000;

/// A token bucket, and what becomes of frames that do not conform.
#[derive(Clone, Debug)]
pub(super) struct Policer {
    exceed: Exceed,
    rate: u128,
    depth: u128,
    level: u128,
    at: Instant,
}

impl Policer {
    /// Creates one that is full.
    pub(super) fn new(Police { rate, burst, exceed }: Police) -> Self {
        let depth = u128::from(burst.get()) * OCTET;
        Self { exceed, rate: rate.as_bps().into(), depth, level: depth, at: Instant::ZERO }
    }

    /// Takes a frame; returns what becomes of one that does not conform.
    pub(super) fn offer(&mut self, now: Instant, size: Bytes) -> Option<(Cause, Offer)> {
        if self.admits(now, size) {
            return None;
        }
        let offer = match self.exceed {
            Exceed::Drop => Offer::Drop,
            Exceed::Demote(pcp) => Offer::Mark(Marks::priority(pcp)),
        };
        Some((Cause::Exceeded, offer))
    }

    /// Returns whether a frame conforms, and takes its octets if so.
    fn admits(&mut self, now: Instant, size: Bytes) -> bool {
        let elapsed = u128::try_from((now - self.at).as_ps()).unwrap_or(0);
        // Below 2^128: a time has 63 bits, a rate at most 64.
        let filled = self.level.saturating_add(self.rate * elapsed);
        self.level = filled.min(self.depth);
        self.at = now;
        let needed = u128::from(size.get()) * OCTET;
        let conforms = needed <= self.level;
        if conforms {
            self.level -= needed;
        }
        conforms
    }
}
