//! Signals in transit, and the carrier that each station senses.
//!
//! The process *Deference* of IEEE 802.3-2022, 4.2.8 runs in every station all the time; here it is
//! evaluated only on demand. A station watches for carrier; with the first carrier (its own
//! transmission included) it begins to defer; after all carrier has ended it times the gap; then it
//! may send at once, with or without carrier, and watches again. So the only state is since when a
//! station has been watching, and the signals that reach it after that.

use alloc::vec::Vec;

use super::config::Timing;

/// Number of signals from which on each is checked for whether it is still needed.
const KEPT: usize = 6;
/// Largest number of stations at one repeater with a table of delays (8 KiB); else they are summed.
const MOST_IN_TABLE: u32 = 32;

/// Largest number of stations with several repeaters whose delays are checked (16 million sums).
const MOST_CHECKED: usize = 256;

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
    /// Whether it is known that no delay is longer than by way of a third station.
    pub(super) is_metric: bool,
}

/// The cables, and the signals on them that still matter.
#[derive(Clone, Debug)]
pub(super) struct Wire {
    pub(super) cables: Cables,
    diameter: i64,
    gap: i64,
    gap_first: i64,
    /// In the order of their starts; the first [`Self::over`] only say since when stations watch.
    signals: Vec<Signal>,
    /// Number of signals of earlier busy periods that every station has heard or will hear until
    /// the end of the gap after them: from then on it watches.
    over: usize,
    /// Index of the first signal of the current busy period: the last signal whose station began it
    /// a full gap after all earlier ones had passed it.
    period: usize,
    /// Whether it is known that signals that may still be heard overlap at every station, when the
    /// last of them has reached all, and when the gap after them ends at all.
    is_whole: bool,
    heard: i64,
    horizon: i64,
    /// Since when all stations have been watching for carrier, and since when each has; earlier
    /// signals no longer matter.
    watch: i64,
    watch_of: Vec<i64>,
}

impl Cables {
    pub(super) fn new(distance: Vec<i64>, repeater: i64) -> Self {
        let mut cables = Self { distance, repeater, between: Vec::new(), is_metric: true };
        let count = u32::try_from(cables.distance.len()).unwrap_or(u32::MAX);
        if count <= MOST_IN_TABLE {
            let pairs = (0..count).flat_map(|a| (0..count).map(move |b| (a, b)));
            cables.between = pairs.map(|(a, b)| cables.propagation(a, b)).collect();
        }
        cables
    }

    /// Returns cables with given delays between stations, row by row.
    pub(super) fn with_paths(distance: Vec<i64>, between: Vec<i64>) -> Self {
        let count = distance.len();
        let rows = || between.chunks_exact(count.max(1));
        let is_shortest = |row: &[i64]| {
            let mut by_way_of = row.iter().zip(rows());
            by_way_of.all(|(first, rest)| {
                let mut ways = row.iter().zip(rest);
                ways.all(|(direct, second)| *direct <= first + second)
            })
        };
        let is_metric = count <= MOST_CHECKED && rows().all(is_shortest);
        Self { distance, repeater: 0, between, is_metric }
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
            over: 0,
            period: 0,
            is_whole: false,
            heard: 0,
            horizon: i64::MIN,
            watch: 0,
            watch_of: alloc::vec![0; count],
        }
    }

    /// Returns the cables, and the signals that may still be heard.
    #[inline]
    pub(super) fn present(&mut self) -> (&Cables, &mut [Signal]) {
        (&self.cables, &mut self.signals[self.over..])
    }

    /// Adds a signal that begins now.
    pub(super) fn begin(&mut self, signal: Signal) {
        let mut others = self.signals[self.over..].iter();
        if others.all(|other| self.sensed(other, signal.station).1 + self.gap <= signal.start) {
            self.period = self.signals.len();
        }
        self.signals.push(signal);
    }

    /// Forgets signals that all stations have taken into account.
    pub(super) fn forget(&mut self, now: i64) {
        if now >= self.horizon {
            self.watch = now;
            self.signals.clear();
            (self.over, self.period) = (0, 0);
        } else if self.signals.len() >= self.over + KEPT {
            self.forget_heard(now);
        }
    }

    /// Forgets signals that had passed every station when it last began to watch.
    fn forget_heard(&mut self, now: i64) {
        for (station, index) in (0..).zip(0..self.watch_of.len()) {
            self.watch_of[index] = self.watching_since(station, now);
        }
        (self.over, self.period) = (0, 0);
        let cables = &self.cables;
        let watch = &self.watch_of;
        self.signals.retain(|signal| {
            let mut stations = (0..).zip(watch);
            stations.any(|(station, watch)| {
                signal.end + cables.propagation(signal.station, station) > *watch
            })
        });
    }

    /// Finds out when all signals are over and whether they overlap, once those that start now have
    /// changed the ends of others.
    pub(super) fn compare(&mut self) {
        let present = &self.signals[self.over..];
        let (mut first_end, mut last_end) = (i64::MAX, 0);
        for signal in present {
            first_end = first_end.min(signal.end);
            last_end = last_end.max(signal.end);
        }
        self.horizon = last_end + self.diameter + self.gap;
        let last_start = present.last().map_or(0, |last| last.start);
        self.heard = last_start + self.diameter;
        self.is_whole = self.heard <= first_end;
    }

    /// Returns whether a station that wants to send from `ready` on has to wait until all signals are
    /// over, unless there are more.
    #[inline]
    pub(super) const fn defers(&self, ready: i64) -> bool {
        self.is_whole && ready > self.heard
    }

    /// Looks no longer at the signals of earlier busy periods, if it is known when the gap after
    /// them ends at every station, and that nothing is heard there before.
    ///
    /// It is if they have reached every station and overlap there, so that all defer for the same
    /// carrier, and if those that have sent since waited for the end of that gap. All that send from
    /// now on wait for it, too, and as delays are metric, are nowhere heard before it ends.
    pub(super) fn begin_period(&mut self, now: i64) {
        let (signals, over, period) = (&self.signals, self.over, self.period);
        let Some(earlier @ [.., last]) = signals.get(over..period) else {
            return;
        };
        let first_end = earlier.iter().fold(now, |end, signal| end.min(signal.end));
        if !self.cables.is_metric || last.start + self.diameter >= first_end {
            return;
        }
        let has_waited = |signal: &Signal| self.gap_after(earlier, signal.station) <= signal.start;
        if signals[period..].iter().all(has_waited) {
            // Not `drain`: what is left is short, as are the lists of `put` and `take`.
            for at in over..self.signals.len() {
                self.signals.swap(at - over, at);
            }
            self.signals.truncate(self.signals.len() - over);
            (self.over, self.period) = (period - over, period - over);
        }
    }

    /// Returns when the gap after the last of these signals ends at a station.
    #[inline]
    fn gap_after(&self, signals: &[Signal], station: u32) -> i64 {
        let mut last = i64::MIN;
        for signal in signals {
            last = last.max(self.sensed(signal, station).1 + self.gap);
        }
        last
    }

    /// Returns since when a station has been watching for carrier.
    #[inline]
    fn watch(&self, station: u32) -> i64 {
        let watch = self.watch.max(self.watch_of[station as usize]);
        watch.max(self.gap_after(&self.signals[..self.over], station))
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
    pub(super) const fn horizon(&self) -> i64 {
        self.horizon
    }

    /// Returns when `station` may send if it wants to from `ready` on and no further signal comes.
    ///
    /// Carrier that arrives at the very instant of the decision is not sensed yet.
    #[inline]
    pub(super) fn may_send(&self, station: u32, ready: i64) -> i64 {
        // Mostly there is one carrier, and the station has to wait until it is over.
        if self.is_whole {
            let (mut first, mut last) = (i64::MAX, i64::MIN);
            for signal in &self.signals[self.over..] {
                let (from, to) = self.sensed(signal, station);
                first = first.min(from);
                last = last.max(to);
            }
            let watch = self.watch.max(self.watch_of[station as usize]);
            if first.max(watch) < ready && watch < last {
                return ready.max(last + self.gap);
            }
        }
        self.may_send_among(station, ready)
    }

    /// As [`Self::may_send`], whatever the signals are.
    #[inline(never)]
    fn may_send_among(&self, station: u32, ready: i64) -> i64 {
        let mut watch = self.watch(station);
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

    /// Returns since when `station` has been watching at `now`; if it is deferring at `now`, since
    /// when it was watching before.
    fn watching_since(&self, station: u32, now: i64) -> i64 {
        let mut watch = self.watch(station);
        while let Some(carrier) = self.carrier(station, watch) {
            let end = self.gap_end(station, carrier);
            if end > now {
                break;
            }
            watch = end;
        }
        watch
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
        for signal in &self.signals[self.over..] {
            let (from, to) = self.sensed(signal, station);
            if to > watch {
                let from = from.max(watch);
                is_whole &= last == watch || (from <= last && first <= to);
                first = first.min(from);
                last = last.max(to);
            }
        }
        (last > watch).then_some(Carrier { first, last, is_whole })
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
            for signal in &self.signals[self.over..] {
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
            .map(|&(station, start, end)| Signal { station, start: start * BIT, end: end * BIT })
            .collect();
        wire.may_send(0, ready * BIT) / BIT
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
