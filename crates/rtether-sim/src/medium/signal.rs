//! Signals in transit, and the carrier that each station senses.
//!
//! The process *Deference* of IEEE 802.3-2022, 4.2.8 runs in every station all the time; here it is
//! evaluated only on demand. A station watches for carrier; with the first carrier (its own
//! transmission included) it begins to defer; after all carrier has ended it times the gap; then it
//! may send at once, with or without carrier, and watches again. So the only state is since when a
//! station has been watching, and the signals that reach it after that.

use alloc::vec::Vec;

use super::config::Timing;

/// Largest number of stations at one repeater with a table of delays (8 KiB); else they are summed.
const MOST_IN_TABLE: u32 = 32;

/// One transmission, in times at its station. A future end may still move.
#[derive(Clone, Copy, Debug)]
pub(super) struct Signal {
    pub(super) station: u32,
    pub(super) start: i64,
    pub(super) end: i64,
}

/// Carrier that a station senses: when it begins, and when the last signal ends that it is made of
/// or that comes later.
#[derive(Clone, Copy)]
struct Carrier {
    first: i64,
    last: i64,
    /// Whether it is known that no silence is in between.
    is_whole: bool,
}

/// The cables and the repeaters.
#[derive(Clone, Debug)]
pub(super) struct Cables {
    /// From each station to the repeater, or to the first of several.
    distance: Vec<i64>,
    repeater: i64,
    /// Between each pair of stations, row by row; empty for many stations at one repeater.
    between: Vec<i64>,
}

/// The cables, and the signals on them that still matter.
#[derive(Clone, Debug)]
pub(super) struct Wire {
    pub(super) cables: Cables,
    diameter: i64,
    gap: i64,
    gap_first: i64,
    /// In the order of their starts.
    pub(super) signals: Vec<Signal>,
    /// Index of the first signal of the current busy period: the last signal whose station began it
    /// a full gap after all earlier ones had passed it.
    period: usize,
    /// By station, for [`Self::new_period`].
    arrivals: Vec<i64>,
    quiet: Vec<i64>,
}

impl Cables {
    pub(super) fn new(distance: Vec<i64>, repeater: i64) -> Self {
        let mut cables = Self {
            distance,
            repeater,
            between: Vec::new(),
        };
        let count = u32::try_from(cables.distance.len()).unwrap_or(u32::MAX);
        if count <= MOST_IN_TABLE {
            let pairs = (0..count).flat_map(|a| (0..count).map(move |b| (a, b)));
            cables.between = pairs.map(|(a, b)| cables.propagation(a, b)).collect();
        }
        cables
    }

    /// Returns cables with given delays between stations, row by row.
    pub(super) const fn with_paths(distance: Vec<i64>, between: Vec<i64>) -> Self {
        Self {
            distance,
            repeater: 0,
            between,
        }
    }

    /// Returns the one-way delay between two stations; zero from a station to itself.
    #[inline]
    pub(super) fn propagation(&self, a: u32, b: u32) -> i64 {
        if !self.between.is_empty() {
            return self.between[a as usize * self.distance.len() + b as usize];
        }
        if a == b {
            return 0;
        }
        self.distance[a as usize] + self.repeater + self.distance[b as usize]
    }

    /// Makes each of `times`, by station, what `pick` chooses of it and of the time at which arrives
    /// there what leaves `from` at `time`.
    #[inline]
    fn spread(&self, from: u32, time: i64, times: &mut [i64], pick: impl Fn(i64, i64) -> i64) {
        let from = from as usize;
        let count = self.distance.len();
        if !self.between.is_empty() {
            let delays = &self.between[from * count..][..count];
            for (own, delay) in times.iter_mut().zip(delays) {
                *own = pick(*own, time + delay);
            }
            return;
        }
        let own = pick(times[from], time);
        let repeated = time + self.distance[from] + self.repeater;
        for (own, distance) in times.iter_mut().zip(&self.distance) {
            *own = pick(*own, repeated + distance);
        }
        times[from] = own;
    }

    /// Returns the delay between the two most distant stations.
    pub(super) fn diameter(&self) -> i64 {
        if let Some(&longest) = self.between.iter().max() {
            return longest;
        }
        let (mut first, mut second) = (0, 0);
        for &distance in &self.distance {
            if distance > first {
                (first, second) = (distance, first);
            } else {
                second = second.max(distance);
            }
        }
        first + self.repeater + second
    }
}

impl Wire {
    /// Returns the delay between the two most distant stations.
    pub(super) const fn diameter(&self) -> i64 {
        self.diameter
    }

    pub(super) fn new(cables: Cables, timing: &Timing) -> Self {
        let count = cables.distance.len();
        Self {
            diameter: cables.diameter(),
            cables,
            gap: timing.gap,
            gap_first: timing.gap_first,
            signals: Vec::with_capacity(16),
            period: 0,
            arrivals: alloc::vec![0; count],
            quiet: alloc::vec![0; count],
        }
    }

    /// Adds a signal that begins now.
    pub(super) fn begin(&mut self, signal: Signal) {
        let mut others = self.signals.iter();
        if others.all(|other| self.sensed(other, signal.station).1 + self.gap <= signal.start) {
            self.period = self.signals.len();
        }
        self.signals.push(signal);
    }

    /// Forgets all signals.
    pub(super) fn clear(&mut self) {
        self.signals.clear();
        self.period = 0;
    }

    /// Returns when the current busy period has reached each station, if it has by `now`, at each a
    /// full gap after all signals of earlier periods.
    ///
    /// Those may then be forgotten if each station watches from that arrival on: it heard nothing
    /// just before, and would be sending had it wanted to. The gap must be over at every station,
    /// not only at the one that began, since delays are arbitrary.
    pub(super) fn new_period(&mut self, now: i64) -> Option<&[i64]> {
        let (earlier, present) = self.signals.split_at(self.period);
        let first = present.first()?;
        if earlier.is_empty() || first.start + self.diameter > now {
            return None;
        }
        let (arrivals, quiet) = (&mut self.arrivals, &mut self.quiet);
        arrivals.fill(i64::MAX);
        for signal in present {
            let cables = &self.cables;
            cables.spread(signal.station, signal.start, arrivals, i64::min);
        }
        quiet.fill(i64::MIN);
        for signal in earlier {
            let cables = &self.cables;
            cables.spread(signal.station, signal.end + self.gap, quiet, i64::max);
        }
        let mut stations = quiet.iter().zip(&*arrivals);
        stations
            .all(|(quiet, arrival)| quiet <= arrival)
            .then_some(arrivals)
    }

    /// Forgets the signals of earlier busy periods.
    pub(super) fn forget_before_period(&mut self) {
        self.signals.drain(..self.period);
        self.period = 0;
    }

    /// Returns whether a signal overlaps with another one at the repeater.
    pub(super) fn meets_another(&self, station: u32, start: i64, end: i64) -> bool {
        let distance = |station: u32| self.cables.distance[station as usize];
        let own = distance(station);
        self.signals.iter().any(|other| {
            let shift = distance(other.station);
            other.station != station
                && other.start + shift < end + own
                && other.end + shift > start + own
        })
    }

    /// Returns the time from which every station watches again and no signal is in transit, unless
    /// a station starts before.
    pub(super) fn horizon(&self) -> i64 {
        let last = self.signals.iter().map(|signal| signal.end).max();
        last.map_or(i64::MIN, |end| end + self.diameter + self.gap)
    }

    /// Returns when `station`, watching since `watch`, may send if it wants to from `ready` on and
    /// no further signal comes.
    ///
    /// Carrier that arrives at the very instant of the decision is not sensed yet.
    pub(super) fn may_send(&self, station: u32, mut watch: i64, ready: i64) -> i64 {
        while let Some(carrier) = self.carrier(station, watch) {
            if ready.max(watch) <= carrier.first {
                break;
            }
            watch = self.gap_end(station, carrier);
            if watch >= carrier.last {
                break;
            }
        }
        ready.max(watch)
    }

    /// Returns since when `station`, watching since `watch`, has been watching at `now`; if it is
    /// deferring at `now`, since when it was watching before.
    pub(super) fn watching_since(&self, station: u32, mut watch: i64, now: i64) -> i64 {
        while let Some(carrier) = self.carrier(station, watch) {
            let end = self.gap_end(station, carrier);
            if end > now {
                break;
            }
            watch = end;
        }
        watch
    }

    /// Forgets signals that had passed every station when it last began to watch (`watch`).
    pub(super) fn forget(&mut self, watch: impl Fn(usize) -> i64) {
        self.period = 0;
        let cables = &self.cables;
        self.signals.retain(|signal| {
            (0..).zip(0..cables.distance.len()).any(|(number, index)| {
                signal.end + cables.propagation(signal.station, number) > watch(index)
            })
        });
    }

    /// Returns when a signal starts and ends at `station`.
    #[inline]
    fn sensed(&self, signal: &Signal, station: u32) -> (i64, i64) {
        let delay = self.cables.propagation(signal.station, station);
        (signal.start + delay, signal.end + delay)
    }

    /// Returns the carrier that a station senses from `watch` on.
    #[inline]
    fn carrier(&self, station: u32, watch: i64) -> Option<Carrier> {
        let (mut first, mut last) = (i64::MAX, watch);
        let mut is_whole = true;
        for signal in &self.signals {
            let (from, to) = self.sensed(signal, station);
            if to > watch {
                let from = from.max(watch);
                is_whole &= last == watch || (from <= last && first <= to);
                first = first.min(from);
                last = last.max(to);
            }
        }
        (last > watch).then_some(Carrier {
            first,
            last,
            is_whole,
        })
    }

    /// Returns the end of the gap after carrier that a station begins to sense.
    #[inline]
    fn gap_end(&self, station: u32, carrier: Carrier) -> i64 {
        if carrier.is_whole {
            return carrier.last + self.gap;
        }
        self.gap_end_in_parts(station, carrier)
    }

    /// Returns the end of the gap after carrier that silence may interrupt.
    fn gap_end_in_parts(&self, station: u32, carrier: Carrier) -> i64 {
        let mut quiet = carrier.first;
        let mut has_sent = false;
        loop {
            let before = quiet;
            let mut restart = None;
            for signal in &self.signals {
                let (from, to) = self.sensed(signal, station);
                if to > carrier.first && from <= quiet {
                    has_sent |= signal.station == station;
                    quiet = quiet.max(to);
                } else if from > quiet && from < quiet + self.gap_first {
                    restart = Some(from);
                }
            }
            if quiet == carrier.last {
                return quiet + self.gap;
            }
            if quiet > before {
                continue;
            }
            // A station that has just transmitted ignores carrier in the gap (4.2.8,
            // `wasTransmitting`).
            match restart {
                Some(from) if !has_sent => quiet = from,
                _ => return quiet + self.gap,
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use rtether_model::quantity::BitRate;

    const BIT: i64 = 100_000;

    /// Returns when a station 2 bits from all others, watching since the start, may send at or
    /// after `ready`; signals are (station, start, end), all in bits.
    fn may_send(signals: &[(u32, i64, i64)], ready: i64) -> i64 {
        let timing = Timing::at(BitRate::from_mbps(10)).unwrap();
        let mut wire = Wire::new(Cables::new(alloc::vec![0; 3], 2 * BIT), &timing);
        wire.signals = signals
            .iter()
            .map(|&(station, start, end)| Signal {
                station,
                start: start * BIT,
                end: end * BIT,
            })
            .collect();
        wire.may_send(0, 0, ready * BIT) / BIT
    }

    /// Oracle: [`Cables::propagation`], which sums where there is no table.
    #[test]
    fn a_signal_spreads_with_the_delay_to_each_station() {
        for count in [3, i64::from(MOST_IN_TABLE), 40] {
            let cables = Cables::new((1..=count).collect(), 100);
            for from in [0, 2] {
                let mut earliest = alloc::vec![1_104; usize::try_from(count).unwrap()];
                cables.spread(from, 1_000, &mut earliest, i64::min);
                for (station, time) in (0..).zip(earliest) {
                    assert_eq!(time, 1_104.min(1_000 + cables.propagation(from, station)));
                }
                let mut latest = alloc::vec![1_104; usize::try_from(count).unwrap()];
                cables.spread(from, 1_000, &mut latest, i64::max);
                for (station, time) in (0..).zip(latest) {
                    assert_eq!(time, 1_104.max(1_000 + cables.propagation(from, station)));
                }
            }
        }
    }

    #[test]
    fn the_gap_in_two_parts() {
        // Oracle: 4.2.3.2.2 and 4.2.8. The first signal is sensed from 2 to 100; part one of the
        // gap lasts until 164, the gap until 196.
        let first = (1, 0, 98);
        assert_eq!(may_send(&[], 7), 7);
        assert_eq!(may_send(&[first], 1), 1);
        assert_eq!(may_send(&[first], 2), 2, "carrier of this instant");
        assert_eq!(may_send(&[first], 3), 196);
        assert_eq!(may_send(&[first], 197), 197);
        // Sensed from 163, in part one: 300 + 96. From 164 it no longer matters.
        assert_eq!(may_send(&[first, (2, 161, 298)], 3), 396);
        assert_eq!(may_send(&[first, (2, 162, 298)], 3), 196);
        // The station did not want to send at 196, and senses carrier there.
        assert_eq!(may_send(&[first, (2, 162, 298)], 197), 396);
        // No silence in between.
        assert_eq!(may_send(&[first, (2, 98, 298)], 3), 396);
    }

    #[test]
    fn the_gap_after_a_transmission_of_its_own() {
        // Oracle: 4.2.8, `wasTransmitting`: carrier in part one is ignored. The station's own
        // signal lasts to 96, the other's to 100.
        let fragment = [(0, 0, 96), (1, 0, 98)];
        let again = |start| [fragment[0], fragment[1], (2, start, 298)];
        assert_eq!(may_send(&fragment, 3), 196);
        assert_eq!(may_send(&again(120), 3), 196);
        // Its own signal is covered by one that began before, which it ignored at the end of a gap.
        let covered = [(1, 0, 98), (2, 180, 400), (0, 196, 292), (1, 440, 600)];
        assert_eq!(may_send(&covered, 197), 402 + 96);
    }
}
