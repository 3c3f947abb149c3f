//! A series of sizes that no estimate has used, predicted and then measured.
//!
//! Costs and quantiles predict the median and the 99 % quantile of its round trips. A prediction
//! fails if the measured quantile is off by more than its tolerance. Intervals do not excuse it: of a
//! hundred answers the 99 % quantile has no upper end, so that nothing could fail.

use alloc::vec::Vec;

use rtether_model::quantity::Duration;

use super::cost::Costs;
use super::figure::{Unidentified, from_ns};
use super::path::Path;
use super::quantile::Quantile;
use super::sizes::Exchange;
use super::volley::Observation;

/// Predicted quantiles, per million, and by how much of the prediction they may be off, in percent.
const CHECKED: [(u32, i64); 2] = [(500_000, 10), (990_000, 25)];
/// Answers that a series needs.
const NEEDED: usize = 20;

/// A series held against its prediction.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Confirmation {
    /// Sizes of its frames.
    pub sizes: Exchange,
    /// Answers in it.
    pub answers: usize,
    /// The median and the 99 % quantile of round trips, host and network included.
    pub quantiles: [Compared; 2],
}

/// One quantile.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Compared {
    /// What was predicted.
    pub predicted: Quantile,
    /// What was measured.
    pub measured: Quantile,
    /// Whether they agree.
    pub agrees: bool,
}

impl Confirmation {
    /// Compares a series of one size with what costs predict of it.
    ///
    /// # Errors
    /// Why there is no prediction or no series.
    pub fn of(
        costs: &Costs,
        observations: &[Observation],
        path: &Path,
    ) -> Result<Self, Unidentified> {
        let trips = observations.iter().filter_map(|own| own.single().map(|(at, to)| to - at));
        let mut trips: Vec<f64> = trips.map(Duration::as_ns_f64).collect();
        trips.sort_unstable_by(f64::total_cmp);
        if trips.len() < NEEDED {
            return Err(Unidentified::TooFew { answers: trips.len(), needed: NEEDED });
        }
        let answered = observations.iter().find(|own| own.single().is_some());
        let sizes = answered.map(Observation::sizes).ok_or(Unidentified::NeedsOther)?;
        let all = Quantile::all(&trips, 0.0, 0.0);
        let [median, high] = CHECKED.map(|(per_million, percent)| {
            let predicted = costs.predict(per_million, sizes, path)?;
            let measured = all.iter().find(|own| own.per_million == per_million).copied()?;
            let agrees = agrees(&predicted, &measured, percent);
            Some(Compared { predicted, measured, agrees })
        });
        let quantiles = median.zip(high).ok_or(Unidentified::NeedsOther)?.into();
        Ok(Self { sizes, answers: trips.len(), quantiles })
    }

    /// Returns whether all agree.
    pub fn is_confirmed(&self) -> bool {
        self.quantiles.iter().all(|own| own.agrees)
    }
}

/// Returns whether what was measured is within a share of what was predicted.
fn agrees(predicted: &Quantile, measured: &Quantile, percent: i64) -> bool {
    let off = (measured.value - predicted.value).as_ps().abs();
    off <= predicted.value.as_ps() / 100 * percent
}

impl Costs {
    /// Predicts a quantile of round trips of these sizes, per million, with the network's share.
    /// `None` if it is not one of [`Costs::quantiles`].
    pub fn predict(&self, per_million: u32, sizes: Exchange, path: &Path) -> Option<Quantile> {
        let own = self.quantiles.iter().find(|own| own.per_million == per_million)?;
        let slopes = [
            (&self.request_octet, sizes.request),
            (&self.answer_octet, sizes.answer),
            (&self.both_octets, sizes.request),
        ];
        let octets = slopes.into_iter().filter_map(|(slope, size)| {
            let ns = slope.as_ref().ok()?.value.as_ns_f64();
            Some(from_ns(ns * octets(size.get())))
        });
        let more = octets.fold(path.of(sizes), |sum, own| sum + own);
        Some(Quantile {
            per_million,
            value: own.value + more,
            low: own.low.map(|low| low + more),
            high: own.high.map(|high| high + more),
        })
    }
}

#[allow(clippy::cast_precision_loss, reason = "frames are far below 2^52 octets")]
const fn octets(size: u64) -> f64 {
    size as f64
}

#[cfg(test)]
mod tests {
    use super::*;

    fn quantile(value: i64) -> Quantile {
        Quantile { per_million: 500_000, value: Duration::from_us(value), low: None, high: None }
    }

    /// Oracle: by hand: 100 us within 10 % are 90 to 110 us, whatever is known of the ends.
    #[test]
    fn what_is_off_by_more_than_its_share_does_not_agree() {
        let agrees_with_100 =
            [89, 90, 110, 111].map(|us| agrees(&quantile(100), &quantile(us), 10));
        assert_eq!(agrees_with_100, [false, true, true, false]);
    }
}
