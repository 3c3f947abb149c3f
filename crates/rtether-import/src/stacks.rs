//! What a device is assumed to take for a frame, if the file does not say.
//!
//! Nothing is known but published figures: 15 us each way for raw frames on a PC of 2004, 50 us a
//! packet for a controller, 101 us for a board with a real-time operating system, 200 us for a
//! workstation (Valentim et al., table II; Skeie, Johannessen and Holmeide, IEEE Trans. Industrial
//! Informatics 2(1), 2006, sections III and IV). So a cost lies somewhere between 20 and 200 us;
//! controllers of eight bits take more (Kakanakov et al., tables 1 and 2).
//!
//! A device keeps up with what it is made to send and receive. Where its frames would keep it busy
//! for more than four fifths of the time at the upper end, it is faster.

use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet};

use rtether_model::quantity::Duration;

use crate::draft::{Basis, Draft, Text};
use crate::sheet::time;

/// Upper ends, in nanoseconds; the lower one is a tenth. The least keeps up with any link: 100 Gbit/s
/// have 149 million frames a second in both directions together.
const UPPER: [u64; 15] =
    [200_000, 100_000, 50_000, 20_000, 10_000, 5_000, 2_000, 1_000, 500, 200, 100, 50, 20, 5, 1];
/// Parts per million of its time that a device may be busy.
const BUSY: u128 = 800_000;

/// The stacks of stations, from what they send and receive.
#[derive(Debug)]
pub(crate) struct Stacks<K> {
    /// Name of the usual stack, such as `device`.
    name: &'static str,
    /// Frames in a million seconds.
    rates: BTreeMap<K, u128>,
}

impl<K: Ord> Stacks<K> {
    pub(crate) const fn new(name: &'static str) -> Self {
        let rates = BTreeMap::new();
        Self { name, rates }
    }

    /// Counts a flow at one of its ends: some frames at a time, no nearer than the gap.
    pub(crate) fn add(&mut self, station: K, frames: u64, gap: Duration) {
        let gap = u128::from(gap.as_ps().max(1).unsigned_abs());
        let rate = u128::from(frames) * 1_000_000_000_000_000_000 / gap;
        *self.rates.entry(station).or_default() += rate;
    }

    /// Returns the upper end of the cost of a station, in nanoseconds.
    fn upper(&self, station: &K) -> u64 {
        let rate = self.rates.get(station).copied().unwrap_or(0);
        // Nanoseconds in a million seconds are parts per million of a second, times a thousand million.
        let fits = |ns: &u64| rate * u128::from(*ns) <= BUSY * 1_000_000_000;
        UPPER.into_iter().find(fits).unwrap_or(UPPER[UPPER.len() - 1])
    }

    /// Returns the name of the stack of a station.
    pub(crate) fn of(&self, station: &K) -> String {
        self.named(self.upper(station))
    }

    fn named(&self, upper: u64) -> String {
        if upper == UPPER[0] {
            return self.name.to_owned();
        }
        format!("{}-{}", self.name, time(span(upper)).replace(' ', ""))
    }

    /// Returns the stacks of these stations; `why` says what does not state their costs.
    pub(crate) fn drafts<'k>(&self, stations: impl Iterator<Item = &'k K>, why: &str) -> Vec<Draft>
    where
        K: 'k,
    {
        // The slowest first.
        let upper: BTreeSet<Reverse<u64>> =
            stations.map(|station| Reverse(self.upper(station))).collect();
        upper.into_iter().map(|Reverse(upper)| self.draft(upper, why)).collect()
    }

    fn draft(&self, upper: u64, why: &str) -> Draft {
        let why = if upper == UPPER[0] {
            format!(
                "{why}: published ones take about 20 to 200 us; `rtether calibrate` measures it"
            )
        } else {
            format!("{why}; it keeps up with the frames that it has")
        };
        let mut stack = Draft::with(&self.named(upper), Basis::Assumed(why));
        let most = span(upper);
        let least = Duration::from_ps(most.as_ps() / 10);
        stack.state("send", Text::Between(least, most));
        stack.state("receive", Text::Between(least, most));
        stack
    }
}

fn span(ns: u64) -> Duration {
    Duration::from_ns(i64::try_from(ns).unwrap_or(0))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::draft::section;
    use crate::sheet::Sheet;

    /// Oracle: by hand. A frame each 10 ns leaves 8 ns for it, one each microsecond 800 ns.
    #[test]
    fn a_device_keeps_up_with_any_link() {
        let mut stacks = Stacks::new("device");
        stacks.add("fast", 1, Duration::from_ns(10));
        stacks.add("slower", 1, Duration::from_us(1));
        assert_eq!(stacks.of(&"fast"), "device-5ns");
        assert_eq!(stacks.of(&"slower"), "device-500ns");
    }

    /// Oracle: by hand. 16 000 frames a second leave 50 us each with four fifths of the time.
    #[test]
    fn a_busy_device_keeps_up() {
        let mut stacks = Stacks::new("device");
        for _ in 0..4 {
            stacks.add("relay", 1, Duration::from_us(250));
        }
        stacks.add("unit", 1, Duration::from_us(250));
        stacks.add("slow", 1, Duration::from_ms(1));
        let names = ["relay", "unit", "slow", "idle"].map(|name| stacks.of(&name));
        assert_eq!(names, ["device-50us", "device", "device", "device"]);
        let drafts = stacks.drafts(["relay", "slow"].iter(), "no cost");
        let mut sheet = Sheet::default();
        section(&mut sheet, "stacks", &drafts);
        let (text, assumptions) = sheet.done();
        assert_eq!(assumptions.len(), 2);
        let line = "  device-50us: { send: { unknown: 5 us .. 50 us }, receive: { unknown: 5 us .. 50 us } }";
        assert!(text.contains(line), "{text}");
    }
}
