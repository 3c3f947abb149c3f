//! Tools of the experiments: scenarios of the repository, and packets within time windows.

use std::collections::BTreeMap;
use std::fmt::Display;
use std::sync::{Mutex, PoisonError};

use rtether_model::histogram::Histogram;
use rtether_model::quantity::{Duration, Instant};
use rtether_model::record::{Record, StreamRecord};
use rtether_sim::observe::{Delivery, Observer, PacketInfo};

use super::ReproduceError;
use rtether::run::{self, Progress};
use rtether::scenario::{self, Override, Scenario};

/// Loads a scenario of the repository with some values replaced.
pub(crate) fn load(name: &str, text: &str, set: &[String]) -> Result<Scenario, ReproduceError> {
    let overrides: Option<Vec<Override>> = set.iter().map(|set| Override::parse(set)).collect();
    let overrides = overrides.ok_or_else(|| ReproduceError::Scenario(set.join(", ")))?;
    let loaded = scenario::load_with(name, text, &overrides);
    loaded.into_scenario().map_err(ReproduceError::Scenario)
}

/// A delivered packet.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Sample {
    pub(crate) stream: usize,
    pub(crate) released_at: Instant,
    pub(crate) delivered_at: Instant,
    pub(crate) latency: Duration,
    pub(crate) ethernet: Duration,
}

/// Keeps the packets of some streams that are released within time windows.
#[derive(Debug)]
pub(crate) struct Sampler {
    /// Kept streams, by position in the record.
    streams: Vec<bool>,
    /// Start and end of each window.
    windows: Vec<(Instant, Instant)>,
    pub(crate) samples: Vec<Sample>,
}

impl Sampler {
    /// Keeps the streams of flows with one of these classes.
    pub(crate) fn new(
        scenario: &Scenario,
        classes: &[&str],
        windows: &[(Duration, Duration)],
    ) -> Self {
        let flows = scenario.flows.iter();
        let streams = flows.flat_map(|flow| {
            let is_kept = classes.contains(&flow.class.as_str());
            flow.listeners.iter().map(move |_| is_kept)
        });
        let at = |time: Duration| Instant::ZERO + time;
        Self {
            streams: streams.collect(),
            windows: windows.iter().map(|&(from, until)| (at(from), at(until))).collect(),
            samples: Vec::new(),
        }
    }
}

impl Observer for Sampler {
    fn delivered(&mut self, now: Instant, packet: &PacketInfo, delivery: &Delivery) {
        let released_at = packet.released_at;
        let is_inside = |(from, until): &(Instant, Instant)| (*from..*until).contains(&released_at);
        if self.streams[delivery.stream] && self.windows.iter().any(is_inside) {
            self.samples.push(Sample {
                stream: delivery.stream,
                released_at,
                delivered_at: now,
                latency: delivery.latency,
                ethernet: delivery.ethernet,
            });
        }
    }
}

/// Runs one replication under an observer.
pub(crate) fn run_one<O: Observer>(
    scenario: &Scenario,
    seed: u64,
    progress: &Progress,
    observer: &mut O,
) -> Result<Record, ReproduceError> {
    if progress.is_cancelled() {
        return Err(ReproduceError::Interrupted);
    }
    run::simulate_seed(scenario, seed, progress, observer)
        .map_err(|error| ReproduceError::Scenario(error.to_string()))
}

/// Merges streams into one; an empty one if there are none.
pub(crate) fn merge<'a>(streams: impl IntoIterator<Item = &'a StreamRecord>) -> StreamRecord {
    let mut streams = streams.into_iter();
    let mut all = streams.next().cloned().unwrap_or_default();
    for stream in streams {
        let mut stream = stream.clone();
        (stream.flow, stream.listener) = (all.flow, all.listener);
        all.merge(&stream);
    }
    all
}

/// Returns the mean; `None` without values.
pub(crate) fn mean(values: impl IntoIterator<Item = Duration>) -> Option<Duration> {
    let (mut sum, mut count) = (Duration::ZERO, 0i64);
    for value in values {
        sum += value;
        count += 1;
    }
    (count > 0).then(|| sum / count)
}

/// Returns the median; with an even number of values, the lower of the middle two.
pub(crate) fn median(mut values: Vec<Duration>) -> Option<Duration> {
    values.sort_unstable();
    let middle = values.len().checked_sub(1)? / 2;
    Some(values[middle])
}

/// Formats a time for a table.
pub(crate) fn shown(time: Option<Duration>) -> String {
    time.map_or_else(|| "too few packets".into(), |time| time.to_string())
}

/// Returns `a / b`, for display and comparison.
pub(crate) fn ratio(a: Duration, b: Duration) -> f64 {
    a.as_ns_f64() / b.as_ns_f64()
}

/// Returns the smallest and the largest time.
pub(crate) fn extremes(times: impl IntoIterator<Item = Duration>) -> (Duration, Duration) {
    let ends = (Duration::MAX, Duration::ZERO);
    let times = times.into_iter();
    times.fold(ends, |(least, most), time| (least.min(time), most.max(time)))
}

/// Formats values as a list.
pub(crate) fn listed(values: impl IntoIterator<Item: Display>, separator: &str) -> String {
    let words = values.into_iter().map(|value| value.to_string());
    words.collect::<Vec<_>>().join(separator)
}

/// Returns the times of a histogram, each with the share of values up to it.
pub(crate) fn distribution(histogram: &Histogram) -> Vec<(Duration, f64)> {
    let total = count_f64(histogram.total().max(1));
    let mut seen = 0.0;
    let shares = histogram.bins().map(|(upper, count)| {
        seen += count_f64(count);
        (upper, seen / total)
    });
    shares.collect()
}

/// Results of runs that several experiments need, each made once in this process.
pub(crate) struct Known<K, V>(Mutex<BTreeMap<K, V>>);

impl<K: Ord, V: Clone> Known<K, V> {
    pub(crate) const fn new() -> Self {
        Self(Mutex::new(BTreeMap::new()))
    }

    /// Returns the result for a key; calls `make` if it is not known.
    pub(crate) fn get(
        &self,
        key: K,
        make: impl FnOnce() -> Result<V, ReproduceError>,
    ) -> Result<V, ReproduceError> {
        let known = || self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(value) = known().get(&key) {
            return Ok(value.clone());
        }
        let value = make()?;
        known().insert(key, value.clone());
        Ok(value)
    }
}

/// Converts a count for drawing.
#[allow(clippy::cast_precision_loss, reason = "for a drawing")]
pub(crate) const fn count_f64(count: u64) -> f64 {
    count as f64
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn means_and_medians() {
        let us = |values: &[i64]| values.iter().map(|&v| Duration::from_us(v)).collect::<Vec<_>>();
        assert_eq!(mean(us(&[1, 2, 6])), Some(Duration::from_us(3)));
        assert_eq!(median(us(&[9, 1, 5])), Some(Duration::from_us(5)));
        assert_eq!(median(us(&[4, 1, 9, 5])), Some(Duration::from_us(4)));
        assert_eq!((mean(us(&[])), median(us(&[]))), (None, None));
    }
}
