//! Waits of bulk packets for the credits of a smoother. Its output is bounded in [`crate::output_limit`].
//!
//! Only bulk packets wait here: real-time packets, and those that bypass the smoother, are at the
//! port at once ([`super::driver`]). Sizes are octets of IP datagrams.
//!
//! **Buckets.** Refreshes are at most `G` apart, each adds `D` credits to a bucket of `D`. Take a
//! bulk packet that leaves the smoother at `l`, and let 0 be the last time before which no bulk
//! packet was there and a credit was left. From 0 to `l` either there is no credit or the port is
//! busy: with a credit, the packet at the head waits for real-time ones or for room below, and then
//! there are frames below. *Without credit:* then a refresh loses nothing, and each such time ends
//! with one, so it lasts at most `n G` with `n` refreshes in it. Before the last of them no credit
//! was left: the credit or more at time 0, and `(n - 1) D`, had been spent, so `n <= 1 + O / D`
//! with the octets `O` that had left since, of earlier bulk packets and of real-time ones. *Busy
//! port:* what was below or waited as a real-time packet at time 0, at most `W`, and what has come
//! since. Together: the wait is the least `s - t` with `s = G + W + q + own(t) - c + higher(s)`,
//! where each charged packet counts its octets times `G / D` in addition to its transmission,
//! except the packet itself, and `q` does the same for the real-time packets within `W`.
//!
//! **`W`.** Let `e` be the last time before 0 at which a bulk packet was handed out. No real-time
//! packet waited then, and with it at most `R` frames were below, the smoother's room. Since then
//! only packets have come that do not wait for credits: `W` is at most `R` times the longest frame
//! plus the backlog of these packets alone.
//!
//! **Windows** (see [`crate::window`]): the time looked at begins at the last one with a credit,
//! when one bulk packet may have left; that packet counts once more.
//!
//! **Modes.** *None*: `G` is zero. *Fixed*: the period. *HIMD, slow start, linear*: congestion
//! empties the bucket and holds all bulk packets, so that there is no guarantee while a detector
//! may report it again and again. A full-duplex link has no collisions, so with a detector of own
//! collisions the period stays the shortest, and a refresh waits for a tick. *Rtether*: likewise,
//! but a frame that did not start at once moves the next refresh to one period and a guard after
//! its start. With `R - 1` frames below before it, it starts at most `R` longest frames after its
//! release: `G` is the period, the guard, and these. *NT*: a service comes at most the longest
//! period (the shortest without congestion) plus its jitter after the previous one, and lets at
//! least the packet at the head go, which keeps this permission until the next service renews it.
//! So each bulk packet costs `G`, and real-time ones nothing.

use alloc::vec::Vec;

use rtether_model::endnode::{Detector, Smoothing};
use rtether_model::smoother::Mode;

use super::port::{Port, Waits, waits_behind};
use crate::analysis::LayerPart;
use crate::classify::Level;
use crate::curve::Load;
use crate::frame::AROUND;
use crate::source::{INFINITE, add};
use crate::wait::{Unbounded, backlog};

/// A smoother above a port.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Pace {
    smoothing: Smoothing,
    /// Whether the frames below leave in order of arrival.
    is_in_order: bool,
}

/// Cost of the credits for a bulk packet.
enum Credits {
    /// Time between refreshes, and the octets of one.
    Octets(i64, i64),
    /// Time for each bulk packet.
    Packets(i64),
}

impl Pace {
    pub(crate) const fn new(smoothing: Smoothing, is_in_order: bool) -> Self {
        Self { smoothing, is_in_order }
    }

    /// Returns the waits of packets of a level.
    pub(crate) fn waits(&self, port: &Port<'_>, queue: u8) -> Waits {
        let own = port.of(|other| other == queue);
        if queue != Level::Bulk as u8 {
            return Ok(alloc::vec![0; own.len()]);
        }
        let others = port.of(|other| other != queue);
        let full = i64::from(self.smoothing.ring).saturating_mul(port.longest(|_| true));
        let below = add(full, backlog(&mut others.clone())?);
        let credits = self.credits(full)?;

        let real_time = port.of(|other| other == Level::RealTime as u8);
        let bypass = port.of(|other| other == Level::Bypass as u8);
        let charged = |loads: &[Load], is_bulk| -> Vec<Load> {
            let each = loads.iter().map(|load| {
                let octets = port.visits.sizes(load.visit)[1] - AROUND;
                load.with(credits.price(octets, is_bulk))
            });
            each.collect()
        };
        let mut all = charged(&own, true);
        let mut higher = charged(&real_time, false);
        higher.extend(bypass);
        let mut base = add(credits.first(), below);
        if !real_time.is_empty() {
            base = add(base, credits.price(below / port.curve.octet.max(1), false));
        }
        if own.iter().any(|load| load.in_flight > 0) {
            base = add(base, all.iter().map(|load| load.cost).max().unwrap_or(0));
        }
        if base >= INFINITE {
            return Err(Unbounded::Layer(LayerPart::Congestion));
        }
        let mut found = waits_behind(&own, base, &mut all, &mut higher)?;
        if let Credits::Octets(..) = credits {
            // A packet takes its own credits only when it leaves.
            for (wait, (own, all)) in found.iter_mut().zip(own.iter().zip(charged(&own, true))) {
                *wait = (*wait - (all.cost - own.cost)).max(0);
            }
        }
        Ok(found)
    }

    /// Returns the guarantee of the mode; `full` is the time that a full ring takes.
    fn credits(&self, full: i64) -> Result<Credits, Unbounded> {
        // The other detectors react to load, which also exists without collisions.
        let is_calm = matches!(self.smoothing.detector, Detector::OwnCollisions { .. });
        let octets = |size: rtether_model::quantity::Bytes| {
            i64::try_from(size.get()).unwrap_or(INFINITE).max(1)
        };
        match self.smoothing.config.mode {
            Mode::None => Ok(Credits::Packets(0)),
            Mode::Fixed(fixed) => Ok(Credits::Octets(fixed.period.as_ps(), octets(fixed.depth))),
            Mode::Adaptive(_) if !is_calm => Err(Unbounded::Layer(LayerPart::Congestion)),
            Mode::Adaptive(law) => {
                let (period, tick) = (law.period_min.as_ps(), law.tick.as_ps().max(1));
                let ticks = period / tick + i64::from(period % tick > 0);
                Ok(Credits::Octets(ticks * tick, octets(law.depth)))
            }
            Mode::Nt(law) => {
                let period = if is_calm { law.period_min } else { law.period_max };
                Ok(Credits::Packets((period + law.jitter).as_ps()))
            }
            Mode::Rtether(_) if !self.is_in_order => {
                Err(Unbounded::Layer(LayerPart::QueuesBelowSmoother))
            }
            Mode::Rtether(law) => {
                let period = (law.period_min + law.guard).as_ps();
                Ok(Credits::Octets(add(period, full), octets(law.depth)))
            }
        }
    }
}

impl Credits {
    /// Returns the time that the credits for `octets` of one packet take.
    fn price(&self, octets: i64, is_bulk: bool) -> i64 {
        match *self {
            Self::Octets(gap, depth) => {
                let time = i128::from(gap) * i128::from(octets);
                let time = (time + i128::from(depth) - 1) / i128::from(depth);
                i64::try_from(time).unwrap_or(INFINITE).min(INFINITE)
            }
            Self::Packets(gap) if is_bulk => gap,
            Self::Packets(_) => 0,
        }
    }

    /// Returns the time until the first refresh.
    const fn first(&self) -> i64 {
        match *self {
            Self::Octets(gap, _) => gap,
            Self::Packets(_) => 0,
        }
    }
}
