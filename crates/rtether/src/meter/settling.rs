//! Whether a sample is large enough: how its mean settles (R132).

use rtether_model::quantity::Duration;
use rtether_model::record::Summary;

use super::Measurement;
use crate::stats::interval::{Batch, Sample as Units};

/// How the mean of a sample settles with its size.
#[derive(Clone, Debug, PartialEq)]
pub struct Settling {
    /// Means of the first samples, at sizes of 10, 20, 50, 100, ... below all.
    pub means: Vec<First>,
    /// Half the 95 % interval of the mean of all, from consecutive batches, so that samples which
    /// depend on their neighbours are not taken for independent ones; `None` if they depend on each
    /// other for too long.
    pub half_interval: Option<Duration>,
    /// Samples at which half the interval would be 1 % of the mean.
    pub enough: Option<u64>,
}

/// Mean of the first samples.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct First {
    /// Number of samples.
    pub count: usize,
    /// Their mean.
    pub mean: Duration,
    /// Its distance from the mean of all, as a part of that.
    pub apart: f64,
}

/// Batches whose spread tells the interval.
const BATCHES: usize = 20;
/// Samples in the smallest batch.
const LEAST: usize = 5;
/// Wanted half interval, as a part of the mean.
const WANTED: f64 = 0.01;

impl Measurement {
    /// Returns how the mean settles; `None` below 100 samples, or if the mean is zero.
    pub fn settling(&self) -> Option<Settling> {
        let times: Vec<f64> =
            self.samples.iter().map(|sample| sample.round_trip.as_secs_f64()).collect();
        let all = mean(&times);
        if times.len() < BATCHES * LEAST || all <= 0.0 {
            return None;
        }
        let interval = self.batches().map(|sample| sample.mean());
        let half = interval.map(|(low, high)| (high - low) / 2);
        // The interval shrinks with the root of the size.
        let enough = half.map(|half| {
            let factor = (half.as_secs_f64() / (WANTED * all)).powi(2);
            whole(count(times.len()) * factor)
        });
        Some(Settling {
            means: sizes(times.len()).map(|size| first(&times[..size], all)).collect(),
            half_interval: half,
            enough,
        })
    }

    /// Returns consecutive batches of the requests; `None` if they tell no spread.
    pub(super) fn batches(&self) -> Option<Units> {
        let size = self.samples.len().div_ceil(BATCHES).max(1);
        let deadline = self.subject.deadline.unwrap_or(Duration::MAX);
        let mut batches = vec![Batch::default(); self.samples.len().div_ceil(size)];
        let (mut lost, mut before) = (self.counters.lost, None);
        for (at, sample) in self.samples.iter().enumerate() {
            let batch = &mut batches[at / size];
            batch.answered += 1;
            batch.missed += u64::from(sample.round_trip > deadline);
            batch.sum_ps += i128::from(sample.round_trip.as_ps());
            // Requests that are missing before this one were lost then.
            let place = (sample.series, sample.sequence);
            let missing = match before {
                Some((series, last)) if series == place.0 => place.1.saturating_sub(last + 1),
                _ => 0,
            };
            let missing = u64::from(missing).min(lost);
            batch.lost += missing;
            batch.missed += missing;
            lost -= missing;
            before = Some(place);
        }
        let last = batches.last_mut()?;
        last.lost += lost;
        last.missed += lost;
        let mut all = Summary::default();
        self.samples.iter().for_each(|sample| all.record(sample.round_trip));
        Units::of_batches(&batches, all.standard_deviation()?)
    }
}

fn first(times: &[f64], all: f64) -> First {
    let own = mean(times);
    First { count: times.len(), mean: seconds(own), apart: (own - all).abs() / all }
}

/// Returns 10, 20, 50, 100, ... below a size.
fn sizes(all: usize) -> impl Iterator<Item = usize> {
    let decades = std::iter::successors(Some(10_usize), |decade| decade.checked_mul(10));
    let sizes = decades.flat_map(|decade| [1, 2, 5].map(|part| decade.saturating_mul(part)));
    sizes.take_while(move |&size| size < all)
}

fn mean(values: &[f64]) -> f64 {
    values.iter().sum::<f64>() / count(values.len())
}

#[allow(clippy::cast_precision_loss, reason = "samples are fewer than 2^53")]
const fn count(number: usize) -> f64 {
    number as f64
}

#[allow(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "not negative, and saturating is meant"
)]
const fn whole(number: f64) -> u64 {
    number.ceil() as u64
}

#[allow(clippy::cast_possible_truncation, reason = "a round trip fits 63 bits")]
fn seconds(time: f64) -> Duration {
    Duration::from_ps((time * 1e12).round() as i64)
}
