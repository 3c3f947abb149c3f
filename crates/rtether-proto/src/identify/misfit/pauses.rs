//! Answers that are late beyond all that the others vary by.
//!
//! A jitter of the model has outliers, which are some tens of its usual size; a pause has the length of
//! other work. Late is what is above three quarters of the others by twenty times what these vary by,
//! and by the whole cost of a request.

use alloc::vec::Vec;

use super::Misfit;
use crate::identify::figure::from_ns;
use crate::identify::quantile::of_sorted;

/// Late answers, fewer of which may be the work of this host.
const LATE: usize = 3;
/// How many times what three quarters vary by. The sum of two uniform jitters with the largest outliers
/// that a model of a stack has, twenty of their means, does not come there, even with two of them.
const FAR: f64 = 20.0;

/// Looks for late answers among the sorted round trips of each size.
pub(super) fn find(trips: &[Vec<f64>]) -> Option<Misfit> {
    let mut above: Vec<f64> = Vec::new();
    let mut cost = 0.0_f64;
    for own in trips {
        let median = of_sorted(own, 0.5);
        above.extend(own.iter().map(|trip| trip - median));
        cost = cost.max(median);
    }
    above.sort_unstable_by(f64::total_cmp);
    let [low, high] = [0.05, 0.75].map(|share| of_sorted(&above, share));
    let far = high + cost.max(FAR * (high - low));
    let late = above.iter().filter(|own| **own > far).count();
    let longest = from_ns(above.last().copied()?);
    (late >= LATE).then_some(Misfit::Pauses { late, answers: above.len(), longest })
}
