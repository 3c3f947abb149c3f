//! The verdict on the bounds of a plant.

use rtether_bounds::Analysis;

use super::counts;
use crate::scenario::Scenario;
use crate::sums;
use crate::touching::strictly;
use crate::words::{Conclusion, Standing};

/// Returns whether every bound, and every sum of bounds, meets its limit; no answer if none exceeds it,
/// but a flow with a deadline has no bound, or one that is a proof only if nothing is dropped.
pub(super) fn conclusion(scenario: &Scenario, analysis: &Analysis) -> Conclusion {
    let counts = counts(scenario, analysis);
    let sums = sums::proved(scenario, analysis);
    let any = |standing| sums.iter().any(|sum| sum.added.standing == standing);
    let found = if counts.late > 0 || any(Standing::NotProved) {
        Conclusion::Failed
    } else if counts.unknown + counts.if_delivered + counts.if_nothing_dropped > 0
        || any(Standing::NoBound)
        || any(Standing::IfDelivered)
        || any(Standing::IfNothingDropped)
    {
        Conclusion::NoAnswer
    } else {
        Conclusion::Met
    };
    strictly(scenario, found)
}
