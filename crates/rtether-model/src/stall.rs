//! Stalls of a host: times in which a thread did not run although it was ready, and for how long they
//! are felt.
//!
//! What has piled up during a stall is assumed to take as long as the stall to clear. Each stall has
//! its own aftermath: several that are close together have been shorter than one from the first to
//! the last, and so is what has piled up.

use alloc::vec::Vec;

use crate::quantity::{Duration, Instant};

/// A stall.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Stall {
    /// Last time before it at which the thread ran.
    pub from: Instant,
    /// First time after it at which the thread ran.
    pub until: Instant,
}

impl Stall {
    /// Returns its length.
    pub fn length(&self) -> Duration {
        self.until - self.from
    }

    /// Returns the time during which it is felt: itself, and as long again.
    fn felt(self) -> Self {
        Self { until: self.until + self.length(), ..self }
    }
}

/// Returns what several watchers saw as one list, sorted: stalls that overlap or meet are one.
pub fn distinct(stalls: impl IntoIterator<Item = Stall>) -> Vec<Stall> {
    let mut all: Vec<Stall> = stalls.into_iter().collect();
    all.sort_by_key(|stall| stall.from);
    let mut merged = Vec::new();
    for stall in all {
        append(&mut merged, stall);
    }
    merged
}

/// Appends a time that does not begin before the last one.
fn append(all: &mut Vec<Stall>, next: Stall) {
    match all.last_mut() {
        Some(last) if next.from <= last.until => last.until = last.until.max(next.until),
        _ => all.push(next),
    }
}

/// Times during which stalls are felt, sorted and disjoint.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Felt(Vec<Stall>);

impl FromIterator<Stall> for Felt {
    fn from_iter<T: IntoIterator<Item = Stall>>(stalls: T) -> Self {
        Self(distinct(stalls.into_iter().map(Stall::felt)))
    }
}

impl Felt {
    /// Adds a stall that does not begin before the last one.
    pub fn add(&mut self, stall: Stall) {
        append(&mut self.0, stall.felt());
    }

    /// Adds what another watcher felt.
    pub fn extend(&mut self, other: Self) {
        let own = core::mem::take(&mut self.0);
        self.0 = distinct(own.into_iter().chain(other.0));
    }

    /// Returns whether stalls were felt within a span of time.
    pub fn touch(&self, from: Instant, until: Instant) -> bool {
        self.during(from, until).next().is_some()
    }

    /// Returns for how long stalls were felt within a span of time: an upper limit on the delay they
    /// caused in it.
    pub fn within(&self, from: Instant, until: Instant) -> Duration {
        let parts = self.during(from, until);
        let parts = parts.map(|felt| felt.until.min(until) - felt.from.max(from));
        parts.fold(Duration::ZERO, |sum, part| sum + part)
    }

    /// Returns the times that overlap a span; one that only meets it has no effect there.
    fn during(&self, from: Instant, until: Instant) -> impl Iterator<Item = &Stall> {
        let next = self.0.partition_point(|felt| felt.until <= from);
        self.0[next..].iter().take_while(move |felt| felt.from < until)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn stall((from, until): (i64, i64)) -> Stall {
        let at = |us| Instant::ZERO + Duration::from_us(us);
        Stall { from: at(from), until: at(until) }
    }

    /// Oracle: by hand. Twelve gaps of 0.6 ms, each begun at 95 % of the aftermath that one gap from
    /// the first to the last would have, are 7.2 ms of gaps; a rule that gave the merged gap the
    /// aftermath made 1.9 s of them.
    #[test]
    fn stalls_close_together_have_each_its_own_aftermath() {
        let mut all = Vec::from([stall((100_000, 100_600))]);
        for _ in 0..11 {
            let end = all[all.len() - 1].until.since_start().as_ns_floor() / 1_000;
            let from = end + (end - 100_000) * 95 / 100;
            all.push(stall((from, from + 600)));
        }
        let last = all[11].until;
        let seen = distinct(all.iter().copied());
        let seen: Vec<Duration> = seen.iter().map(Stall::length).collect();
        assert_eq!(seen, [Duration::from_us(600); 12]);
        let felt = Felt::from_iter(all);
        let felt = felt.within(Instant::ZERO, last + Duration::from_ms(10));
        // The second one begins within the aftermath of the first, 30 us before it ends.
        assert_eq!(felt, Duration::from_us(12 * 1_200 - 30));
    }

    /// Oracle: the definition, microsecond by microsecond: a time is felt if it lies in a gap or in an
    /// aftermath as long as that gap.
    #[test]
    fn what_is_felt_is_each_gap_and_as_long_again() {
        // A small generator of our own, since the crate has no dependencies (Knuth's constants).
        let mut state = 1_u64;
        let mut draw = |below: i64| {
            state = state
                .wrapping_mul(6_364_136_223_846_793_005)
                .wrapping_add(1_442_695_040_888_963_407);
            i64::try_from(state >> 33).unwrap() % below
        };
        for case in 0..500 {
            let count = draw(12);
            let gaps: Vec<(i64, i64)> = (0..count)
                .map(|_| (draw(300), draw(40)))
                .map(|(from, length)| (from, from + 1 + length))
                .collect();
            let is_in = |at: i64, is_felt: bool| {
                let mut gaps = gaps.iter();
                gaps.any(|&(from, until)| {
                    from <= at && at < until + if is_felt { until - from } else { 0 }
                })
            };
            let count_in = |from: i64, until: i64, is_felt| {
                (from..until).filter(|at| is_in(*at, is_felt)).count()
            };
            let stalls = || gaps.iter().copied().map(stall);
            let (felt, mut pieces) = (stalls().collect::<Felt>(), Felt::default());
            for one in stalls() {
                pieces.extend(Felt::from_iter([one]));
            }
            assert_eq!(pieces, felt, "case {case}: {gaps:?}");
            let seen: Duration = distinct(stalls())
                .iter()
                .map(Stall::length)
                .fold(Duration::ZERO, |sum, one| sum + one);
            let span = |count: usize| Duration::from_us(i64::try_from(count).unwrap());
            assert_eq!(seen, span(count_in(0, 400, false)), "case {case}: {gaps:?}");
            for _ in 0..10 {
                let from = draw(400);
                let until = from + 1 + draw(60);
                let Stall { from: begin, until: end } = stall((from, until));
                let expected = span(count_in(from, until, true));
                assert_eq!(
                    felt.within(begin, end),
                    expected,
                    "case {case}: {gaps:?} in {from}..{until}"
                );
                assert_eq!(
                    felt.touch(begin, end),
                    expected > Duration::ZERO,
                    "case {case}: {gaps:?}"
                );
            }
        }
    }
}
