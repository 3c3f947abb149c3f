//! Whether a sample is large enough: how its mean settles (R132).

use rtether_model::quantity::Duration;

use super::Measurement;

/// How the mean of a sample settles with its size.
#[derive(Clone, Debug, PartialEq)]
pub struct Settling {
    /// Means of the first samples, at sizes of 10, 20, 50, 100, ... below all.
    pub means: Vec<First>,
    /// Half the 95 % interval of the mean of all, from the means of twenty consecutive batches,
    /// so that samples which depend on their neighbours are not taken for independent ones.
    pub half_interval: Duration,
    /// Samples at which half the interval would be 1 % of the mean.
    pub enough: u64,
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

/// Batches whose means tell the interval.
const BATCHES: usize = 20;
/// Student's t for 95 % and 19 degrees of freedom.
const STUDENT: f64 = 2.093;
/// Samples in the smallest batch.
const LEAST: usize = 5;
/// Wanted half interval, as a part of the mean.
const WANTED: f64 = 0.01;

impl Measurement {
    /// Returns how the mean settles; `None` below 100 samples, or if the mean is zero.
    pub fn settling(&self) -> Option<Settling> {
        let times: Vec<f64> = self
            .samples
            .iter()
            .map(|sample| sample.round_trip.as_secs_f64())
            .collect();
        let batch = times.len() / BATCHES;
        let all = mean(&times);
        if batch < LEAST || all <= 0.0 {
            return None;
        }
        // Samples beyond the last whole batch belong to none.
        let means: Vec<f64> = times.chunks_exact(batch).take(BATCHES).map(mean).collect();
        let middle = mean(&means);
        let squares: f64 = means.iter().map(|own| (own - middle).powi(2)).sum();
        let deviation = (squares / count(BATCHES - 1)).sqrt();
        let half = STUDENT * deviation / count(BATCHES).sqrt();
        // The interval shrinks with the root of the size.
        let factor = (half / (WANTED * all)).powi(2);
        Some(Settling {
            means: sizes(times.len())
                .map(|size| first(&times[..size], all))
                .collect(),
            half_interval: seconds(half),
            enough: whole(count(batch * BATCHES) * factor),
        })
    }
}

fn first(times: &[f64], all: f64) -> First {
    let own = mean(times);
    First {
        count: times.len(),
        mean: seconds(own),
        apart: (own - all).abs() / all,
    }
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
