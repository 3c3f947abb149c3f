//! Results of the latency meter: statistics, tables and files (R119 to R132).
//!
//! The engine is `rtether_proto::probe`; its events go into a [`Measurement`], whether the driver
//! is a socket or a wire in virtual time.

mod exchange;
mod gaps;
mod output;
mod parts;
mod settling;
mod split;
mod statistics;
mod valentim;

use rtether_model::quantity::Duration;
use rtether_proto::probe::{Counters, Event, Sample};

pub use exchange::{hdr_log, prometheus};
pub use gaps::Gaps;
pub(crate) use output::PingJson;
pub use output::samples;
pub use parts::{Clocks, Decomposition, Part, Path, PeerPath, WHOLE};
pub use rtether_model::stall::Stall;
pub use settling::{First, Settling};
pub use split::parts;
pub use statistics::{Combined, Statistics};

pub use valentim::{Contradiction, Costs, Given};

use crate::stats::TAIL;

/// What to measure.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Subject {
    /// Target.
    pub target: String,
    /// Protocol: `udp`, `raw`, `icmp`, `cndep`.
    pub via: String,
    /// Command of CNDEP, such as `GET 3`; empty for other protocols.
    pub command: String,
    /// Octets of the payload of a request.
    pub payload: usize,
    /// Number of series.
    pub series: u32,
    /// Requests in each.
    pub samples: u32,
    /// Longer round trips count as missed; so do losses.
    pub deadline: Option<Duration>,
}

/// Round trips and accompanying events.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Measurement {
    /// What was to be measured.
    pub subject: Subject,
    /// Round trips within the timeout, in the order of the replies.
    pub samples: Vec<Sample>,
    /// Replies after the timeout: sequence and round trip.
    pub late: Vec<(u32, Duration)>,
    /// Event counters.
    pub counters: Counters,
    /// Counters of the host, with their descriptions.
    pub oddities: Vec<(&'static str, u64)>,
    /// Stalls of this host.
    pub gaps: Gaps,
    /// Time stamps of requests and replies, if requested.
    pub paths: Vec<Path>,
    /// Whether kernel time stamps were requested.
    pub is_stamped: bool,
    /// Clock relation for one-way delays, if these were requested.
    pub clocks: Option<Clocks>,
    /// Half a round trip by the method of Valentim, if requested.
    pub valentim: Option<Valentim>,
    /// Why the measurement ended early, if it did; [`INTERRUPTED`] if the user ended it.
    pub ended: Option<String>,
}

/// Why a measurement ended that the user interrupted.
pub const INTERRUPTED: &str = "interrupted";

/// Half a round trip by the method of Valentim.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Valentim {
    /// Inputs of the method.
    pub given: Given,
    /// The resulting parts.
    pub costs: Result<Costs, Contradiction>,
}

/// Requests with a round trip beyond the deadline, or without an answer.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Misses {
    /// Their number.
    pub misses: u64,
    /// Requests that were answered or lost.
    pub due: u64,
    /// The 95 % interval of their ratio; `None` if the requests are too few, or depend on each other
    /// for too long.
    pub interval: Option<(f64, f64)>,
}

/// A round trip far from the others.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Outlier {
    /// The round trip.
    pub sample: Sample,
    /// Number of outliers this one stands for: itself and those that followed without a pause, as
    /// after a stall of the host.
    pub count: u32,
}

/// Distance of an outlier above the third quartile, in interquartile ranges: Tukey's "far out".
const FAR_OUT: i64 = 3;

/// Most samples preallocated: 32 MiB.
const RESERVED: u32 = 1 << 20;

impl Measurement {
    /// Returns an empty measurement.
    pub fn new(subject: Subject) -> Self {
        // Growing memory during a measurement costs time, because it is copied.
        let expected = subject.series.saturating_mul(subject.samples).min(RESERVED);
        Self {
            samples: Vec::with_capacity(usize::try_from(expected).unwrap_or(0)),
            subject,
            ..Self::default()
        }
    }

    /// Records an event of the meter.
    pub fn record(&mut self, event: Event) {
        match event {
            Event::Sample(sample) => self.samples.push(sample),
            Event::Late { request, round_trip } => self.late.push((request.sequence, round_trip)),
            // The meter's counters have these.
            Event::Lost(_) | Event::Duplicate(_) => {}
        }
    }

    /// Returns the statistics of one series; `None` without samples.
    pub fn of_series(&self, series: u32) -> Option<Statistics> {
        let own = self.samples.iter().filter(|s| s.series == series);
        Statistics::of(own.map(|sample| sample.round_trip))
    }

    /// Returns the statistics of all samples; `None` if there are none.
    pub fn all(&self) -> Option<Statistics> {
        Statistics::of(self.samples.iter().map(|sample| sample.round_trip))
    }

    /// Returns both combined standard deviations; `None` without samples.
    pub fn combined(&self) -> Option<Combined> {
        let series = (0..self.subject.series).filter_map(|series| self.of_series(series));
        Combined::of(&series.collect::<Vec<_>>(), self.all().as_ref()?)
    }

    /// Returns misses and decided requests (answered or lost), with the 95 % interval of their ratio
    /// if there are enough; `None` without a deadline or without requests.
    pub fn misses(&self) -> Option<Misses> {
        let deadline = self.subject.deadline?;
        let late = self.samples.iter().filter(|s| s.round_trip > deadline);
        let misses = late.count() as u64 + self.counters.lost;
        let due = self.counters.answered + self.counters.lost;
        let sample = self.batches();
        (due > 0).then(|| Misses { misses, due, interval: sample.and_then(|own| own.missed(TAIL)) })
    }

    /// Returns outliers in request order; consecutive ones are merged.
    pub fn outliers(&self) -> Vec<Outlier> {
        let Some(all) = self.all() else {
            return Vec::new();
        };
        let range = (all.quartiles[1] - all.quartiles[0]).as_ps();
        // If most values are equal, an excess below 1 % of the median is not far out.
        let least = all.median.as_ps() / 100;
        let far = all.quartiles[1] + Duration::from_ps((FAR_OUT * range).max(least));
        let mut found: Vec<Sample> = self.samples.clone();
        found.retain(|sample| sample.round_trip > far);
        found.sort_by_key(|sample| sample.sequence);
        let mut outliers: Vec<Outlier> = Vec::new();
        let mut last = None;
        for sample in found {
            let follows = last == sample.sequence.checked_sub(1) && last.is_some();
            last = Some(sample.sequence);
            match outliers.last_mut() {
                Some(before) if follows => {
                    before.count += 1;
                    if sample.round_trip > before.sample.round_trip {
                        before.sample = sample;
                    }
                }
                _ => outliers.push(Outlier { sample, count: 1 }),
            }
        }
        outliers
    }
}

#[cfg(test)]
mod tests;
