//! Answers that are delayed by a multiple of some time.
//!
//! Round trips of one size are then on a comb. How well they are is the length of the mean of
//! `exp(i 2 pi f t)` at the frequency of the comb, in which each size may have a phase of its own.
//! Groups that few answers are in weigh little there and still have their place: gaps between sorted
//! round trips would lose them, and find the others twice as far apart. A jitter of one piece is on a
//! wide comb, too, of which all is at one tooth; so there have to be answers on others, and on these as
//! exactly.

use alloc::collections::BTreeMap;
use alloc::vec::Vec;

use super::Misfit;
use crate::identify::figure::{count, from_ns};
use crate::identify::periodogram::turn;

/// Answers that make a group, and groups that make steps.
const GROUP: usize = 3;
const GROUPS: usize = 3;
/// Most steps within what round trips differ by.
const STEPS: f64 = 100.0;
/// Frequencies that are tried within the width of a peak.
const FINE: f64 = 8.0;
/// Fewest steps: with one and a half there is a peak at the first of two.
const FEWEST: f64 = 1.5;
/// Length of the mean from which on round trips are on a comb.
const ON_COMB: f64 = 0.7;
/// Answers on other teeth than the most frequent one: 20, and a tenth of all. As many at random are as
/// well on a comb in one of a hundred thousand.
const OTHERS: usize = 20;
const OTHERS_SHARE: usize = 10;
/// Times to fit the comb: the first puts answers at the edge to the right tooth.
const FITS: usize = 3;

/// A comb, in nanoseconds.
struct Comb {
    frequency: f64,
    /// The phase of each size, in turns.
    phases: Vec<f64>,
    /// Length of the mean.
    length: f64,
}

/// Looks for steps in the sorted round trips of each size.
pub(super) fn find(trips: &[Vec<f64>]) -> Option<Misfit> {
    let mut reach: Vec<f64> =
        trips.iter().flat_map(|own| own.iter().map(|trip| trip - own[0])).collect();
    reach.sort_unstable_by(f64::total_cmp);
    // What a single answer does makes no group.
    let reach = *reach.get(reach.len().checked_sub(GROUP)?)?;
    if reach <= 0.0 {
        return None;
    }
    let mut comb = Comb::of(trips, best(trips, reach)?);
    for _ in 0..FITS {
        comb = Comb::of(trips, comb.fitted(trips)?);
    }
    let groups = comb.groups(trips)?;
    Some(Misfit::Steps { step: from_ns(1.0 / comb.frequency), groups })
}

/// Returns the frequency of the comb that round trips are on best. Multiples of it are as good if there
/// is no jitter, so that the lowest one counts.
fn best(trips: &[Vec<f64>], reach: f64) -> Option<f64> {
    let step = 1.0 / (FINE * reach);
    let frequencies = (0..).map(|place| FEWEST / reach + step * count(place));
    let lengths: Vec<(f64, f64)> = frequencies
        .take_while(|frequency| *frequency <= STEPS / reach)
        .map(|frequency| (frequency, Comb::of(trips, frequency).length))
        .collect();
    let most = lengths.iter().map(|(_, length)| *length).fold(0.0, f64::max);
    if most < ON_COMB {
        return None;
    }
    let off = (1.0 - most) * 1.5 + 0.01;
    let first = lengths.iter().position(|(_, length)| 1.0 - length <= off)?;
    // To the top of that peak.
    let rising = lengths[first..].windows(2).take_while(|pair| pair[1].1 > pair[0].1);
    Some(lengths[first + rising.count()].0)
}

impl Comb {
    fn of(trips: &[Vec<f64>], frequency: f64) -> Self {
        let mut phases = Vec::with_capacity(trips.len());
        let (mut length, mut all) = (0.0, 0);
        for own in trips {
            let (mut sine, mut cosine) = (0.0, 0.0);
            for trip in own {
                let (one, other) = turn(trip * frequency);
                sine += one;
                cosine += other;
            }
            phases.push(libm::atan2(sine, cosine) / core::f64::consts::TAU);
            length += libm::hypot(sine, cosine);
            all += own.len();
        }
        Self { frequency, phases, length: length / count(all) }
    }

    /// Returns for each size the teeth of its round trips, the first of all being zero, and how far
    /// each is beside its tooth, in turns.
    fn teeth(&self, trips: &[Vec<f64>]) -> Vec<Vec<(f64, f64)>> {
        let sizes = trips.iter().zip(&self.phases);
        sizes
            .map(|(own, phase)| {
                let first = libm::round(own[0] * self.frequency - phase);
                let turns = own.iter().map(|trip| trip * self.frequency - phase);
                turns
                    .map(|turns| (libm::round(turns) - first, turns - libm::round(turns)))
                    .collect()
            })
            .collect()
    }

    /// Returns the frequency whose teeth are where the round trips are: the slope over the numbers of
    /// their teeth, of all sizes.
    fn fitted(&self, trips: &[Vec<f64>]) -> Option<f64> {
        let (mut squares, mut products) = (0.0, 0.0);
        for (own, teeth) in trips.iter().zip(self.teeth(trips)) {
            let tooth = teeth.iter().map(|(tooth, _)| tooth).sum::<f64>() / count(own.len());
            let trip = own.iter().sum::<f64>() / count(own.len());
            for (at, (number, _)) in own.iter().zip(&teeth) {
                squares += (number - tooth) * (number - tooth);
                products += (number - tooth) * (at - trip);
            }
        }
        (products > 0.0).then_some(squares / products)
    }

    /// Returns the number of groups; `None` if answers are not in steps.
    fn groups(&self, trips: &[Vec<f64>]) -> Option<usize> {
        let mut teeth: BTreeMap<i64, Vec<f64>> = BTreeMap::new();
        for (tooth, beside) in self.teeth(trips).into_iter().flatten() {
            teeth.entry(number(tooth)).or_default().push(beside);
        }
        let all = teeth.values().map(Vec::len).sum::<usize>();
        let (most, _) = teeth.iter().max_by_key(|(_, own)| own.len())?;
        let others = teeth.iter().filter(|(tooth, _)| *tooth != most);
        let others: Vec<f64> = others.flat_map(|(_, own)| own.iter().copied()).collect();
        let along = others.iter().map(|beside| turn(*beside).1).sum::<f64>();
        let groups = teeth.values().filter(|own| own.len() >= GROUP).count();
        let is_stepped = self.length >= ON_COMB
            && others.len() >= OTHERS.max(all / OTHERS_SHARE)
            && along >= ON_COMB * count(others.len())
            && groups >= GROUPS;
        is_stepped.then_some(groups)
    }
}

#[allow(clippy::cast_possible_truncation, reason = "a whole number below a few hundred")]
const fn number(tooth: f64) -> i64 {
    tooth as i64
}
