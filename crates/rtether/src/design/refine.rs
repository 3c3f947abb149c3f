//! Numbers of a design by bisection: each as near to what is written as the proofs allow.
//!
//! Bounds do not follow numbers in one direction, so that only what was tried counts: the search
//! halves the interval between a number with which all is proved and one with which something is not.

use super::Work;
use super::parameter::{Parameter, set};
use super::prune::edits;
use super::search::Found;
use super::space::{Space, with};
use super::trial::{Halt, Judged};

/// Moves the numbers of a design towards what is written, as long as all of `needed` is proved.
pub(super) fn refine(
    work: &Work<'_>,
    space: &mut Space,
    found: &mut Found,
    (needed, first): (&Judged, &Judged),
) -> Result<(), Halt> {
    for number in edits(&found.point) {
        let own = &space.parameters[number];
        if own.grain == 0 {
            continue;
        }
        let Some(mut interval) = Interval::new(own, found.point[number]) else { continue };
        while let Some(middle) = interval.middle() {
            let own = &mut space.parameters[number];
            let Ok(value) = u8::try_from(own.values.len()) else { break };
            own.values.push(set(&own.path, format!("{middle} {}", interval.unit).trim_end()));
            own.costs.push(own.costs[usize::from(found.point[number])]);
            let point = with(&found.point, number, value);
            let mut trials = work.trials(space, first);
            trials.left += 1;
            let judged = trials.judge(&point)?;
            if judged.keeps(needed) {
                *found = Found { point, judged };
                interval.good = middle;
            } else {
                interval.bad = middle;
            }
        }
    }
    Ok(())
}

/// The numbers between one that proves and one that does not.
struct Interval {
    good: u64,
    bad: u64,
    unit: String,
    /// Numbers are multiples of this.
    grain: u64,
}

impl Interval {
    /// Returns that between the number of a value and the next one towards what is written.
    fn new(own: &Parameter, value: u8) -> Option<Self> {
        let numbers: Vec<u64> = own
            .values
            .iter()
            .skip(1)
            .filter_map(|changes| {
                let [one] = &changes[..] else { return None };
                number(&one.value).map(|(number, _)| number)
            })
            .collect();
        let (written, unit) = number(&own.old)?;
        let good = *numbers.get(usize::from(value) - 1)?;
        let between = numbers.iter().copied().chain([written]);
        let is_raised = good > written;
        let bad = if is_raised {
            between.filter(|own| *own < good).max()?
        } else {
            between.filter(|own| *own > good).min()?
        };
        Some(Self { good, bad, unit: unit.to_owned(), grain: own.grain })
    }

    /// Returns a number in the middle; `None` if they are neighbors.
    fn middle(&self) -> Option<u64> {
        let (low, high) = (self.good.min(self.bad), self.good.max(self.bad));
        let middle = u64::midpoint(low, high) / self.grain * self.grain;
        (low < middle && middle < high).then_some(middle)
    }
}

/// Splits a number from its unit.
fn number(text: &str) -> Option<(u64, &str)> {
    let (number, unit) = text.split_once(' ').unwrap_or((text, ""));
    Some((number.parse().ok()?, unit))
}
