//! One run of a study: its values, its name, its result.

use md5::{Digest, Md5};
use rtether_model::histogram::Histogram;
use rtether_model::quantity::Duration;
use rtether_model::record::Summary;
use rtether_report::document::{self, Document, Members};
use rtether_report::number::Ns;
use rtether_scenario::{Loaded, Override, Written, render};
use schemars::JsonSchema;
use serde::Serialize;

use super::sample::{Draw, as_float};
use super::study::{Grouping, Sampling, Study};
use crate::check::{self, Options};
use crate::report::Checked;
use crate::run::{self, Progress};
use crate::words::Conclusion;

/// A point of a study.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Point {
    /// What is changed in the scenario, path and value.
    pub values: Vec<(String, String)>,
    /// Seed of the run.
    pub seed: u64,
}

impl Study {
    /// Returns all points, always in the same order: the seeds of one combination of values follow
    /// each other.
    pub fn points(&self) -> Vec<Point> {
        let combinations = match self.sampling {
            Sampling::Grid => self.grid(),
            Sampling::Random => self.drawn(false),
            Sampling::LatinHypercube => self.drawn(true),
        };
        let seeds = |values: Vec<(String, String)>| {
            (0..u64::from(self.seeds))
                .map(move |run| Point { values: values.clone(), seed: self.seed.wrapping_add(run) })
        };
        combinations.into_iter().flat_map(seeds).collect()
    }

    fn grid(&self) -> Vec<Vec<(String, String)>> {
        let combination = |mut index: u64| {
            let mut values = Vec::new();
            // The last parameter changes fastest.
            for parameter in self.parameters.iter().rev() {
                let steps = parameter.steps().unwrap_or(1);
                values.push((parameter.path.clone(), parameter.step(index % steps)));
                index /= steps;
            }
            values.reverse();
            values
        };
        (0..self.combinations().unwrap_or(0)).map(combination).collect()
    }

    fn drawn(&self, has_strata: bool) -> Vec<Vec<(String, String)>> {
        let count = self.drawn;
        let columns = self.parameters.iter().enumerate().map(|(index, parameter)| {
            let mut draw = Draw::new(self.seed, index);
            let order = if has_strata { draw.order(count) } else { Vec::new() };
            let shares = (0..usize::try_from(count).unwrap_or(0)).map(|point| {
                let share = draw.share();
                match order.get(point) {
                    Some(&stratum) => (as_float(stratum) + share) / as_float(count),
                    None => share,
                }
            });
            let values = shares.map(|share| (parameter.path.clone(), parameter.at(share)));
            values.collect::<Vec<_>>()
        });
        let columns: Vec<_> = columns.collect();
        let rows = 0..usize::try_from(count).unwrap_or(0);
        let row = |row: usize| columns.iter().map(|column| column[row].clone()).collect();
        rows.map(row).collect()
    }

    /// Loads a scenario with the values of the first point: a path that is wrong is wrong in all of
    /// them.
    pub fn first(&self, written: &Written) -> Loaded {
        let mut written = written.clone();
        let first = self.points().into_iter().next();
        written.changes.extend(first.iter().flat_map(Point::changes));
        written.load()
    }

    /// Runs a point of a scenario, as it is written. `None` if it was cancelled.
    ///
    /// The result is one JSON document; of a point whose scenario is refused it says why.
    pub fn run(&self, written: &Written, point: &Point, progress: &Progress) -> Option<String> {
        let mut written = written.clone();
        let changes = &mut written.changes;
        changes.extend(point.changes());
        changes.push(Override::new("seeds", "run.seeds", "1"));
        changes.push(Override::new("seed", "run.seed", point.seed.to_string()));
        let loaded = written.load();
        let words = loaded.text(render::Style::Plain);
        let Some(mut scenario) = loaded.scenario else {
            return Some(document::line(&PointJson {
                refused: Some(words),
                ..PointJson::of(point)
            }));
        };
        scenario.run.bucket = Duration::ZERO;
        let results = match run::simulate(&scenario, progress) {
            Ok(results) if results.partial => return None,
            Ok(results) => results,
            Err(error) => {
                let refused = Some(error.to_string());
                return Some(document::line(&PointJson { refused, ..PointJson::of(point) }));
            }
        };
        let options = Options { proves: self.proves, ..Options::default() };
        let checked = check::conclude(scenario, results, options);
        let groups = self.groups(&checked);
        let groups = groups.iter().map(|(name, group)| group.json(name)).collect();
        Some(document::line(&PointJson {
            conclusion: Some(checked.conclusion),
            groups: Some(groups),
            ..PointJson::of(point)
        }))
    }

    /// Sums the streams of each class or flow; a flow without a class is one of its own.
    fn groups(&self, checked: &Checked) -> Vec<(String, Group)> {
        let mut groups: Vec<(String, Group)> = Vec::new();
        for stream in checked.streams() {
            let name = match self.grouping {
                Grouping::Class if !stream.flow.class.is_empty() => &stream.flow.class,
                Grouping::Class | Grouping::Flow => &stream.flow.name,
            };
            let place = groups.iter().position(|(known, _)| known == name);
            let place = place.unwrap_or_else(|| {
                groups.push((name.clone(), Group::default()));
                groups.len() - 1
            });
            groups[place].1.add(&stream);
        }
        groups
    }
}

/// One run of a study.
#[derive(Serialize, JsonSchema)]
pub(crate) struct PointJson<'a> {
    /// Version of rtether.
    version: &'static str,
    /// Paths of the scenario, and the values that were set.
    parameters: Members<&'a str, &'a str>,
    /// Seed of the run.
    seed: u64,
    /// In place of the rest: why the scenario cannot be run.
    #[serde(skip_serializing_if = "Option::is_none")]
    refused: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    conclusion: Option<Conclusion>,
    /// Each class of flows, or flow.
    #[serde(skip_serializing_if = "Option::is_none")]
    groups: Option<Vec<GroupJson<'a>>>,
}

impl<'a> PointJson<'a> {
    fn of(point: &'a Point) -> Self {
        let values = point.values.iter();
        Self {
            version: env!("CARGO_PKG_VERSION"),
            parameters: Members(values.map(|(path, value)| (&**path, &**value)).collect()),
            seed: point.seed,
            refused: None,
            conclusion: None,
            groups: None,
        }
    }
}

#[derive(Serialize, JsonSchema)]
struct GroupJson<'a> {
    /// Its name.
    name: &'a str,
    /// Packets released.
    released_packets: u64,
    /// Packets delivered.
    delivered_packets: u64,
    /// Packets late, lost or under way past their deadline at the end.
    missed_packets: u64,
    /// Their share; `null` if none was released.
    miss_ratio: Option<f64>,
    /// Mean latency.
    delay_mean_ns: Option<Ns>,
    /// Median latency.
    delay_p50_ns: Option<Ns>,
    /// 99th percentile of latency.
    delay_p99_ns: Option<Ns>,
    /// Largest latency.
    delay_max_ns: Option<Ns>,
    /// The largest part of a deadline that was used.
    deadline_used: Option<f64>,
    /// The largest bound, if bounds were proved.
    bound_ns: Option<Ns>,
}

impl Document for PointJson<'_> {
    const SCHEMA: &'static str = "rtether.point/1";
}

/// Streams that are looked at together.
#[derive(Default)]
struct Group {
    released: u64,
    delivered: u64,
    missed: u64,
    latency: Summary,
    histogram: Histogram,
    bound: Option<Duration>,
    /// Largest latency as a part of its deadline.
    used: Option<f64>,
}

impl Group {
    fn add(&mut self, stream: &crate::report::Stream<'_>) {
        let record = stream.record;
        self.released += record.released;
        self.delivered += record.delivered;
        self.missed += record.missed;
        self.latency.merge(&record.latency);
        self.histogram.merge(&record.histogram);
        self.bound = self.bound.max(stream.bound);
        if let Some((max, deadline)) = stream.max().zip(stream.flow.deadline) {
            let used = max.as_secs_f64() / deadline.as_secs_f64();
            self.used = Some(self.used.unwrap_or(0.0).max(used));
        }
    }

    fn json<'a>(&self, name: &'a str) -> GroupJson<'a> {
        let max = (self.latency.count > 0).then_some(self.latency.max);
        let ratio = (self.released > 0).then(|| as_float(self.missed) / as_float(self.released));
        GroupJson {
            name,
            released_packets: self.released,
            delivered_packets: self.delivered,
            missed_packets: self.missed,
            miss_ratio: ratio,
            delay_mean_ns: self.latency.mean().map(Ns),
            delay_p50_ns: self.histogram.quantile(1, 2).map(Ns),
            delay_p99_ns: self.histogram.quantile(99, 100).map(Ns),
            delay_max_ns: max.map(Ns),
            deadline_used: self.used,
            bound_ns: self.bound.map(Ns),
        }
    }
}

impl Point {
    /// Returns its values as changes of the scenario.
    pub fn changes(&self) -> impl Iterator<Item = Override> {
        let values = self.values.iter();
        values.map(|(path, value)| Override::new("parameters", path, value))
    }

    /// Returns its name: a hash of the version, the scenario, the changes and the seed. It tells
    /// points apart and secures nothing.
    pub fn name(&self, study: &Study, written: &Written) -> String {
        let mut hash = Md5::new();
        let mut add = |part: &str| {
            hash.update(part.len().to_be_bytes());
            hash.update(part.as_bytes());
        };
        add(env!("CARGO_PKG_VERSION"));
        for text in written.texts() {
            add(text);
        }
        for (path, value) in &self.values {
            add(path);
            add(value);
        }
        add(&self.seed.to_string());
        add(&format!("{:?} {}", study.grouping, study.proves));
        let octets = hash.finalize();
        let octets: Vec<String> = octets.iter().map(|octet| format!("{octet:02x}")).collect();
        octets.concat()
    }
}
