//! What a latency meter has measured: statistics, tables and files (R119 to R132).
//!
//! The engine is `rtether_proto::probe`; its events go into a [`Measurement`], whoever hosted it:
//! a socket, or a wire in virtual time.

mod exchange;
mod gaps;
mod output;
mod parts;
mod split;
mod statistics;
mod valentim;

use rtether_model::quantity::Duration;
use rtether_proto::probe::{Counters, Event, Sample};

pub use exchange::{hdr_log, prometheus};
pub use gaps::Gap;
pub use output::{csv, json, samples_csv, table};
pub use parts::{Clocks, Decomposition, Part, Path, PeerPath, WHOLE};
pub use split::parts_csv;
pub use statistics::{Combined, Statistics};

pub use valentim::{Contradiction, Costs, Given};

use crate::stats::clopper_pearson;

/// What was asked for.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Subject {
    /// To whom.
    pub target: String,
    /// How: `udp`, `raw`, `icmp`, `cndep`.
    pub via: String,
    /// Octets of the payload of a request.
    pub payload: usize,
    /// Number of series.
    pub series: u32,
    /// Requests in each.
    pub samples: u32,
    /// Round trips beyond count as missed; so do losses.
    pub deadline: Option<Duration>,
}

/// Round trips with what happened besides.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Measurement {
    /// What was asked for.
    pub subject: Subject,
    /// Round trips in time, in the order of the replies.
    pub samples: Vec<Sample>,
    /// Replies after the timeout: sequence and round trip.
    pub late: Vec<(u32, Duration)>,
    /// How often what happened.
    pub counters: Counters,
    /// Counters of the host, in words.
    pub oddities: Vec<(&'static str, u64)>,
    /// When this host stood still, [merged](Gap::merged).
    pub gaps: Vec<Gap>,
    /// Where requests and replies were when, if that was asked for.
    pub paths: Vec<Path>,
    /// Whether kernel time stamps were asked for.
    pub is_stamped: bool,
    /// What allows delays of one direction, if they were asked for.
    pub clocks: Option<Clocks>,
    /// Half a round trip by the method of Valentim, if that was asked for.
    pub valentim: Option<Valentim>,
    /// Why it ended early, if it did.
    pub ended: Option<String>,
}

/// Half a round trip by the method of Valentim.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Valentim {
    /// What was measured and computed.
    pub given: Given,
    /// The parts.
    pub costs: Result<Costs, Contradiction>,
}

/// A round trip far from the others.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Outlier {
    /// The round trip.
    pub sample: Sample,
    /// Number of outliers that this one stands for: those that followed without a pause, as when
    /// the host stood still.
    pub count: u32,
}

/// How many interquartile ranges above the third quartile an outlier lies: three is Tukey's "far
/// out".
const FAR_OUT: i64 = 3;

/// Samples for which there is room from the start: 32 MiB.
const RESERVED: u32 = 1 << 20;

impl Measurement {
    /// Returns one without any samples.
    pub fn new(subject: Subject) -> Self {
        // Memory that grows while it measures costs time, and is copied.
        let expected = subject.series.saturating_mul(subject.samples).min(RESERVED);
        Self {
            samples: Vec::with_capacity(usize::try_from(expected).unwrap_or(0)),
            subject,
            ..Self::default()
        }
    }

    /// Takes in what the meter says.
    pub fn record(&mut self, event: Event) {
        match event {
            Event::Sample(sample) => self.samples.push(sample),
            Event::Late {
                request,
                round_trip,
            } => self.late.push((request.sequence, round_trip)),
            // Counted by the meter.
            Event::Lost(_) | Event::Duplicate(_) => {}
        }
    }

    /// Returns the statistics of one series; `None` without samples.
    pub fn of_series(&self, series: u32) -> Option<Statistics> {
        let own = self.samples.iter().filter(|s| s.series == series);
        Statistics::of(own.map(|sample| sample.round_trip))
    }

    /// Returns the statistics of all samples; `None` without any.
    pub fn all(&self) -> Option<Statistics> {
        Statistics::of(self.samples.iter().map(|sample| sample.round_trip))
    }

    /// Returns both combined standard deviations; `None` without samples.
    pub fn combined(&self) -> Option<Combined> {
        let series = (0..self.subject.series).filter_map(|series| self.of_series(series));
        Combined::of(&series.collect::<Vec<_>>(), self.all().as_ref()?)
    }

    /// Returns misses, requests that are decided, and the 95 % interval of their ratio; `None`
    /// without a deadline or without requests.
    pub fn misses(&self) -> Option<(u64, u64, (f64, f64))> {
        let deadline = self.subject.deadline?;
        let late = self.samples.iter().filter(|s| s.round_trip > deadline);
        let misses = late.count() as u64 + self.counters.lost;
        let due = self.counters.answered + self.counters.lost;
        Some((misses, due, clopper_pearson(misses, due)?))
    }

    /// Returns the round trips that are far from the others, in the order of their requests;
    /// neighbors are put together.
    pub fn outliers(&self) -> Vec<Outlier> {
        let Some(all) = self.all() else {
            return Vec::new();
        };
        let range = (all.quartiles[1] - all.quartiles[0]).as_ps();
        // Where most values are equal, nothing below one per cent is far.
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
