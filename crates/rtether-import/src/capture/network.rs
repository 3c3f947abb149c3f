//! What is assumed about the network: how fast links and devices are, and how long to simulate.

use std::collections::BTreeMap;

use rtether_model::quantity::Duration;
use rtether_model::wire::{
    Encapsulation, FCS, FRAGMENT, HEADER, MAX_TAGGED_FRAME, MIN_FRAME, TAG, wire_size,
};

use super::flows::{Flow, Release};
use super::frame::Mac;
use crate::options::Options;
use crate::stacks::Stacks;

/// Rates that links are assumed to have, in megabits per second.
const RATES: [u64; 4] = [100, 1_000, 10_000, 100_000];
/// Largest share of a link that is assumed to be used, in percent.
const MOST: u128 = 40;
/// Octets of a full segment on the wire, and such segments that a connection sends at once.
const SEGMENT: u64 = wire_size(MAX_TAGGED_FRAME).get();
const WINDOW: u64 = 10;
/// Frames that a simulation of the plan may have, and its length in milliseconds.
const FRAMES: u128 = 5_000_000;
const LONGEST: u128 = 10_000;
/// A picosecond's bits at a megabit per second, inverted: a bit takes 10^6 ps.
const BIT: u128 = 1_000_000;

impl Flow {
    /// Returns the octets on the wire of what it releases at once.
    fn octets(&self) -> u64 {
        match self.release {
            Release::Bulk { .. } => SEGMENT * WINDOW,
            Release::Sporadic { burst, .. } => self.frame().saturating_mul(burst),
            Release::Periodic { .. } => self.frame(),
        }
    }

    /// Returns the octets of a message on the wire, with all its frames.
    fn frame(&self) -> u64 {
        let over = self.over.encapsulation();
        let frames = self.size.div_ceil(FRAGMENT.get()).max(1);
        let around = wire_size(HEADER + over.header_size() + FCS + TAG).get();
        (self.size + frames * around).max(wire_size(MIN_FRAME + TAG).get())
    }

    /// Returns bits per second in the mean.
    fn load(&self) -> u128 {
        let often = |span: Duration| u128::try_from(span.as_ps().max(1)).unwrap_or(1);
        let bits = u128::from(self.octets()) * 8 * 1_000_000_000_000;
        match self.release {
            Release::Periodic { period, .. } => bits / often(period),
            Release::Sporadic { mean, .. } => bits / often(mean),
            // Headers, and answers.
            Release::Bulk { rate } => u128::from(rate) * 11 / 10,
        }
    }

    /// Returns frames per second in the mean.
    fn frames_per_second(&self) -> u128 {
        match self.release {
            // Segments, and as many acknowledgments.
            Release::Bulk { rate } => {
                u128::from(rate / Encapsulation::Tcp.max_payload().bits()) * 2 + 1
            }
            Release::Periodic { .. } | Release::Sporadic { .. } => {
                self.load() / 8 / u128::from(self.frame().max(1)) + 1
            }
        }
    }
}

/// What is assumed about the network.
pub(super) struct Network {
    /// Megabits per second.
    pub(super) rate: u64,
    /// Whether a group has frames.
    pub(super) has_unknown: bool,
    pub(super) run: Duration,
}

impl Network {
    pub(super) fn of(flows: &[Flow], options: &Options) -> Self {
        let mut loads: BTreeMap<Mac, u128> = BTreeMap::new();
        let mut together: BTreeMap<Mac, u64> = BTreeMap::new();
        let (mut flooded, mut flooded_together) = (0, 0);
        for flow in flows {
            *loads.entry(flow.talker).or_default() += 0;
            let (load, at_once) = match flow.listener {
                Some(listener) => {
                    (loads.entry(listener).or_default(), together.entry(listener).or_default())
                }
                None => (&mut flooded, &mut flooded_together),
            };
            *load += flow.load();
            *at_once = at_once.saturating_add(flow.octets());
        }
        let load = loads.values().max().copied().unwrap_or(0) + flooded;
        let octets = together.values().max().copied().unwrap_or(0);
        let octets = octets.saturating_add(flooded_together);
        let deadlines = flows.iter().filter_map(|flow| flow.deadline(options));
        let least = deadlines.map(|(span, _)| span.as_ps()).min();
        let least = least.map_or(u128::MAX, |span| u128::try_from(span).unwrap_or(1));
        let is_enough = |rate: &u64| {
            let rate = u128::from(*rate);
            // All that may come at once is through in half of the least deadline, twice.
            let through = u128::from(octets) * 8 * BIT / rate;
            load * 100 <= rate * 1_000_000 * MOST && through <= least / 4
        };
        let rate = RATES.into_iter().find(is_enough).unwrap_or(RATES[3]);
        let ports = u128::try_from(loads.len() + 1).unwrap_or(1);
        let frames = flows.iter().map(|flow| {
            let copies = if flow.listener.is_some() { 2 } else { ports };
            flow.frames_per_second().saturating_mul(copies)
        });
        let frames: u128 = frames.sum();
        let duration = (FRAMES * 1000 / frames.max(1)).clamp(10, LONGEST);
        Self {
            rate,
            has_unknown: flows.iter().any(|flow| flow.listener.is_none()),
            run: Duration::from_ms(i64::try_from(duration).unwrap_or(10)),
        }
    }

    /// Returns the least gap between releases of a sporadic flow and the mean one, as they are
    /// written: so that a short run shows some.
    pub(super) fn gaps(&self, flow: &Flow) -> [Duration; 2] {
        let Release::Sporadic { least, mean, .. } = &flow.release else {
            return [Duration::ZERO; 2];
        };
        let run = self.run.as_ps();
        // Stamps may be equal; frames on one link are not.
        let apart = self.wire_time(u128::from(flow.octets()));
        let least = Duration::from_ps(least.as_ps().max(apart).min(run / 2));
        let most = least.max(Duration::from_ps(run / 20));
        [least, (*mean).max(least).min(most)]
    }

    /// Returns the picoseconds that octets take on a link.
    fn wire_time(&self, octets: u128) -> i64 {
        let time = octets * 8 * BIT / u128::from(self.rate.max(1));
        i64::try_from(time).unwrap_or(i64::MAX)
    }
}

/// Returns the stacks of stations, by address; `None` are the members of groups.
pub(super) fn stacks(flows: &[Flow], network: &Network) -> Stacks<Option<Mac>> {
    let mut stacks = Stacks::new("station");
    for flow in flows {
        let frames = flow.size.div_ceil(1400).max(1);
        let (frames, gap) = match &flow.release {
            // As many segments as make its rate.
            Release::Bulk { rate } => {
                let bits = i64::try_from(*rate).unwrap_or(i64::MAX).max(1);
                (1, Duration::from_ps(12_000_000_000_000_000 / bits))
            }
            Release::Periodic { period, .. } => (frames, *period),
            Release::Sporadic { burst, .. } => {
                let [_, mean] = network.gaps(flow);
                (frames.saturating_mul(*burst), mean)
            }
        };
        stacks.add(Some(flow.talker), frames, gap);
        stacks.add(flow.listener, frames, gap);
    }
    stacks
}
