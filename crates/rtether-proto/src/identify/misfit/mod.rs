//! What no device of the model does.
//!
//! The model has a cost, a jitter that each packet draws for itself, a scan, and servers that work one
//! packet after the other. A device that delays answers on purpose, stops for a while, or works at
//! several requests at once has figures all the same, and they may even predict another series of
//! single requests; they do not say what it does with others. Each kind is looked for by what the
//! model cannot give:
//!
//! - [`Misfit::Steps`]: round trips are on a comb, and those of a scan are not (its answers are).
//! - [`Misfit::Pauses`]: some round trips are far beyond what the others vary by.
//! - [`Misfit::Threads`]: several requests of a train are answered in the time of one, which servers
//!   need for each of them.

mod pauses;
mod steps;
mod threads;

use alloc::collections::BTreeMap;
use alloc::vec::Vec;
use core::fmt;

use rtether_model::quantity::Duration;

use super::path::Path;
use super::sizes::Exchange;
use super::volley::Observation;

/// Answers that are needed to tell.
const NEEDED: usize = 60;
/// Round trips of one size, fewer of which are left alone: any few are on some comb.
const OF_ONE_SIZE: usize = 8;

/// What a device does that the model does not have.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Misfit {
    /// Answers are delayed by a multiple of some time.
    Steps {
        /// That time.
        step: Duration,
        /// How many of its multiples have been seen several times, none included.
        groups: usize,
    },
    /// Some answers are late, as if the device had stopped meanwhile.
    Pauses {
        /// Answers that were.
        late: usize,
        /// Of this many.
        answers: usize,
        /// The latest, more than the median of its size.
        longest: Duration,
    },
    /// Requests are worked at side by side.
    Threads {
        /// This many, or more.
        threads: usize,
    },
}

/// The kind of a [`Misfit`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum MisfitKind {
    /// [`Misfit::Steps`].
    Steps,
    /// [`Misfit::Pauses`].
    Pauses,
    /// [`Misfit::Threads`].
    Threads,
}

impl Misfit {
    /// Returns what single requests and trains show that the model does not have.
    pub fn all(observations: &[Observation], path: &Path) -> Vec<Self> {
        let mut sizes: BTreeMap<Exchange, Vec<f64>> = BTreeMap::new();
        for own in observations {
            if let Some((sent, answered)) = own.single() {
                sizes.entry(own.sizes()).or_default().push((answered - sent).as_ns_f64());
            }
        }
        let mut trips: Vec<Vec<f64>> =
            sizes.into_values().filter(|own| own.len() >= OF_ONE_SIZE).collect();
        for own in &mut trips {
            own.sort_unstable_by(f64::total_cmp);
        }
        let mut found = Vec::new();
        if trips.iter().map(Vec::len).sum::<usize>() >= NEEDED {
            // What is delayed by many steps is late, too.
            found.extend(steps::find(&trips).or_else(|| pauses::find(&trips)));
        }
        found.extend(threads::find(observations, path));
        found
    }

    /// Returns its kind.
    pub const fn kind(self) -> MisfitKind {
        match self {
            Self::Steps { .. } => MisfitKind::Steps,
            Self::Pauses { .. } => MisfitKind::Pauses,
            Self::Threads { .. } => MisfitKind::Threads,
        }
    }
}

impl MisfitKind {
    /// Returns the word in files.
    pub const fn word(self) -> &'static str {
        match self {
            Self::Steps => "steps",
            Self::Pauses => "pauses",
            Self::Threads => "threads",
        }
    }
}

impl fmt::Display for Misfit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Steps { step, groups } => {
                let step = rounded(*step);
                write!(f, "answers are delayed by multiples of {step}, at least {groups} of them")
            }
            Self::Pauses { late, answers, longest } => write!(
                f,
                "{late} of {answers} answers are late by up to {}, as if it had paused",
                rounded(*longest)
            ),
            Self::Threads { threads } => {
                write!(f, "at least {threads} requests are worked at side by side")
            }
        }
    }
}

/// Returns a time with three digits.
fn rounded(time: Duration) -> Duration {
    let digits = time.as_ps().checked_ilog10().map_or(0, |own| own.saturating_sub(2));
    let unit = 10_i64.pow(digits);
    Duration::from_ps((time.as_ps() + unit / 2) / unit * unit)
}

#[cfg(test)]
mod tests {
    use super::super::{Sent, Volley};
    use super::*;
    use alloc::string::ToString;
    use rtether_model::quantity::{Bytes, Instant};

    /// Returns requests of one size that were answered after these times.
    fn answered(trips: impl Iterator<Item = Duration>) -> Vec<Observation> {
        let size = Bytes::new(64);
        let sizes = Exchange { request: size, answer: size };
        let all = trips.map(|trip| {
            let answered = Some(Instant::ZERO + trip);
            let packets = alloc::vec![Sent { at: Instant::ZERO, answered, sizes }];
            Observation { volley: Volley::request(sizes, Duration::ZERO), packets }
        });
        all.collect()
    }

    fn said(seen: &[Observation]) -> Vec<alloc::string::String> {
        Misfit::all(seen, &Path::default()).iter().map(ToString::to_string).collect()
    }

    /// Oracle: by hand. Of four steps of 50 ms few answers have waited for two and for three.
    #[test]
    fn steps_are_found_of_which_few_have_answers() {
        let seen = answered((0..120_i64).map(|number| {
            let steps = [0, 1, 0, 1, 0, 0, 1, 0, 2, 0, 1, 0, 1, 0, 0, 1, 0, 1, 0, 3];
            let step = steps[usize::try_from(number % 20).unwrap()];
            Duration::from_ms(50 * step) + Duration::from_us(300 + number * 37 % 900)
        }));
        let expected = "answers are delayed by multiples of 50 ms, at least 4 of them";
        assert_eq!(said(&seen), [expected]);
    }

    /// Oracle: by hand. Two groups may be two ways through a program.
    #[test]
    fn two_groups_are_no_steps() {
        let seen = answered((0..120_i64).map(|number| {
            Duration::from_ms(number % 2 * 10) + Duration::from_us(300 + number * 37 % 900)
        }));
        assert_eq!(said(&seen), [""; 0]);
    }

    /// Oracle: by hand.
    #[test]
    fn late_answers_are_counted() {
        let all = (0..100_i64).map(|number| {
            let late = if number % 20 == 7 { Duration::from_ms(number) } else { Duration::ZERO };
            late + Duration::from_us(300 + number * 37 % 50)
        });
        let seen = answered(all);
        // The first of five is 7 ms late, the last one 87 ms and some microseconds.
        assert_eq!(said(&seen), ["5 of 100 answers are late by up to 87 ms, as if it had paused"]);
    }

    /// Oracle: by hand: 1, 1.05, 2 and 2.05 ms after a train of four.
    #[test]
    fn trains_show_threads() {
        let mut seen = answered((0..8).map(|_| Duration::from_us(1_000)));
        let sizes = seen[0].volley.sizes;
        for answers in [[1_000, 1_050, 2_000, 2_050]; 8] {
            let packets = answers.map(|us| {
                let answered = Some(Instant::ZERO + Duration::from_us(us));
                Sent { at: Instant::ZERO, answered, sizes }
            });
            let volley = Volley { requests: 4, ..Volley::request(sizes, Duration::ZERO) };
            seen.push(Observation { volley, packets: packets.to_vec() });
        }
        assert_eq!(said(&seen), ["at least 2 requests are worked at side by side"]);
    }

    /// Oracle: by hand.
    #[test]
    fn times_are_said_with_three_digits() {
        let said =
            [9_999_876_543, 12_345, 7, 0, 87_012_000_000].map(|ps| rounded(Duration::from_ps(ps)));
        let expected = [10_000_000_000, 12_300, 7, 0, 87_000_000_000].map(Duration::from_ps);
        assert_eq!(said, expected);
    }
}
