//! What the points of a study tell together: each of them, quantiles over all, and which parameter
//! matters.

use std::collections::BTreeMap;

use rtether_report::document::{self, Document};
use rtether_report::format::{Part, Render};
use rtether_report::table::{Screen, Table};
use rtether_report::text::plural;
use schemars::JsonSchema;
use serde::Serialize;
use serde_json::Value;

use super::point::Point;
use super::sample::as_float;
use super::study::Study;

/// What is looked at over all points, of what a point says of a group.
const MEASURES: [&str; 5] =
    ["delay_max_ns", "delay_p99_ns", "delay_mean_ns", "miss_ratio", "deadline_used"];
/// That which people are shown.
const SHOWN: &str = "delay_max_ns";
/// Values of a parameter that are looked at one by one; more are put into classes of equal size.
const MOST_VALUES: usize = 16;
const CLASSES: usize = 10;

/// All points of a study, with their results.
#[derive(Clone, Debug)]
pub struct Answer {
    paths: Vec<String>,
    points: Vec<(Point, Value)>,
}

/// A number of each point that has it, with the point.
type Column<'a> = Vec<(&'a Point, f64)>;

/// What the points of a study tell together.
#[derive(Serialize, JsonSchema)]
pub(crate) struct SweepJson {
    /// Number of points.
    points: usize,
    /// How many of them have a scenario that was refused.
    refused: usize,
    /// How each measure of each group is spread.
    quantiles: Vec<Spread>,
    /// How much each parameter matters for each measure of each group.
    sensitivity: Vec<Effect>,
}

impl Document for SweepJson {
    const SCHEMA: &'static str = "rtether.sweep/1";
}

#[derive(Serialize, JsonSchema)]
struct Spread {
    /// Class or flow.
    group: String,
    /// Member of a group of `rtether.point/1`.
    measure: &'static str,
    /// Number of points that have it.
    points: usize,
    #[serde(flatten)]
    quantiles: Quantiles,
}

/// Quantiles over points.
#[derive(Serialize, JsonSchema)]
struct Quantiles {
    /// The least over them.
    min: f64,
    /// Quantile of 5 %.
    p5: f64,
    /// Quantile of 25 %.
    p25: f64,
    /// Median.
    p50: f64,
    /// Quantile of 75 %.
    p75: f64,
    /// Quantile of 95 %.
    p95: f64,
    /// The largest.
    max: f64,
}

/// The members of [`Quantiles`], with their names.
type Quantile = (&'static str, fn(&Quantiles) -> f64);
const QUANTILES: [Quantile; 7] = [
    ("min", |all| all.min),
    ("p5", |all| all.p5),
    ("p25", |all| all.p25),
    ("p50", |all| all.p50),
    ("p75", |all| all.p75),
    ("p95", |all| all.p95),
    ("max", |all| all.max),
];

impl Quantiles {
    /// Returns those of some numbers, the least first.
    fn of(sorted: &[f64]) -> Self {
        let quantile = |hundredths: u64| {
            // The value of this rank, from 1.
            let rank = (sorted.len() as u64 * hundredths).div_ceil(100).max(1);
            sorted[usize::try_from(rank).unwrap_or(1) - 1]
        };
        Self {
            min: quantile(0),
            p5: quantile(5),
            p25: quantile(25),
            p50: quantile(50),
            p75: quantile(75),
            p95: quantile(95),
            max: quantile(100),
        }
    }
}

#[derive(Serialize, JsonSchema)]
struct Effect {
    /// Class or flow.
    group: String,
    /// Member of a group of `rtether.point/1`.
    measure: &'static str,
    /// Path of the parameter.
    parameter: String,
    /// The part of the variance between points that is between values of the parameter (of more than
    /// 16 values between ten classes of equal size); `null` without variance.
    #[serde(rename = "explained_ratio")]
    explained: Option<f64>,
    /// Rank correlation by Spearman, -1 to 1; `null` for values without an order.
    #[serde(rename = "rank_correlation")]
    correlation: Option<f64>,
}

impl Answer {
    /// Takes the results of all points, in their order.
    ///
    /// # Errors
    /// The name of a result that is none.
    pub fn new(
        study: &Study,
        results: impl IntoIterator<Item = (Point, String)>,
    ) -> Result<Self, String> {
        let parse = |(point, text): (Point, String)| match serde_json::from_str(&text) {
            Ok(document) => Ok((point, document)),
            Err(error) => Err(format!("the result of {point:?} is none: {error}")),
        };
        Ok(Self {
            paths: study.parameters.iter().map(|one| one.path.clone()).collect(),
            points: results.into_iter().map(parse).collect::<Result<_, String>>()?,
        })
    }

    /// Returns the names of all groups, in the order of the first point that has them.
    fn groups(&self) -> Vec<String> {
        let mut names: Vec<String> = Vec::new();
        for (_, document) in &self.points {
            for group in document["groups"].as_array().into_iter().flatten() {
                let name = group["name"].as_str().unwrap_or_default();
                if !names.iter().any(|known| known == name) {
                    names.push(name.to_owned());
                }
            }
        }
        names
    }

    fn column(&self, group: &str, measure: &str) -> Column<'_> {
        let points = self.points.iter().filter_map(|(point, document)| {
            let groups = document["groups"].as_array()?;
            let own = groups.iter().find(|own| own["name"] == group)?;
            Some((point, own[measure].as_f64()?))
        });
        points.collect()
    }

    fn spreads(&self) -> Vec<Spread> {
        let mut all = Vec::new();
        for (group, measure, column) in self.columns() {
            let mut numbers: Vec<f64> = column.iter().map(|(_, number)| *number).collect();
            numbers.sort_by(f64::total_cmp);
            all.push(Spread {
                group,
                measure,
                points: numbers.len(),
                quantiles: Quantiles::of(&numbers),
            });
        }
        all
    }

    /// Returns every group and measure that has numbers.
    fn columns(&self) -> Vec<(String, &'static str, Column<'_>)> {
        let groups = self.groups().into_iter();
        let each = groups.flat_map(|group| MEASURES.map(|measure| (group.clone(), measure)));
        let columns = each.map(|(group, measure)| {
            let column = self.column(&group, measure);
            (group, measure, column)
        });
        columns.filter(|(.., column)| !column.is_empty()).collect()
    }

    fn effects(&self) -> Vec<Effect> {
        let mut all = Vec::new();
        for (group, measure, column) in self.columns() {
            for (index, path) in self.paths.iter().enumerate() {
                let values: Vec<&str> =
                    column.iter().map(|(point, _)| &*point.values[index].1).collect();
                let numbers: Vec<f64> = column.iter().map(|(_, number)| *number).collect();
                let order = in_order(&values);
                all.push(Effect {
                    group: group.clone(),
                    measure,
                    parameter: path.clone(),
                    explained: explained(&classes(&values, order.as_deref()), &numbers),
                    correlation: order
                        .and_then(|order| correlation(&ranks(&order), &ranks(&numbers))),
                });
            }
        }
        all
    }

    fn refused(&self) -> usize {
        let refused = self.points.iter().filter(|(_, document)| !document["refused"].is_null());
        refused.count()
    }

    /// Returns the files that go beside the points, each with its name and content.
    pub fn files(&self) -> [(&'static str, String); 4] {
        [
            ("points.csv", self.points().csv()),
            ("quantiles.csv", self.quantiles().csv()),
            ("sensitivity.csv", self.sensitivity().csv()),
            ("sweep.json", self.json()),
        ]
    }

    /// Returns one row for each point and group.
    pub fn points(&self) -> Table {
        let rows = self.points.iter().flat_map(|(point, document)| {
            let groups = document["groups"].as_array().cloned();
            let groups = groups.unwrap_or_else(|| vec![Value::Null]);
            groups.into_iter().map(move |group| (point, document, group))
        });
        let mut table = Table::of(rows.collect::<Vec<_>>());
        for (index, path) in self.paths.iter().enumerate() {
            table = table.file(path.clone(), move |(point, ..)| point.values[index].1.clone());
        }
        table = table
            .file("seed", |(point, ..)| point.seed)
            .file("conclusion", |(_, document, _)| {
                document["conclusion"].as_str().unwrap_or("refused").to_owned()
            })
            .file("group", |(.., group)| group["name"].as_str().map(str::to_owned));
        let counts = ["released_packets", "delivered_packets", "missed_packets"];
        for name in counts {
            table = table.file(name, move |(.., group)| group[name].as_u64());
        }
        for name in MEASURES.into_iter().chain(["bound_ns"]) {
            table = table.file(name, move |(.., group)| group[name].as_f64());
        }
        table.done()
    }

    /// Returns one row for each group and measure: quantiles over all points.
    pub fn quantiles(&self) -> Table {
        let mut table = Table::of(self.spreads())
            .file("group", |own| own.group.clone())
            .file("measure", |own| own.measure)
            .file("points", |own| own.points);
        for (name, of) in QUANTILES {
            table = table.file(name, move |own| of(&own.quantiles));
        }
        table.done()
    }

    /// Returns one row for each group, measure and parameter: how much it matters.
    pub fn sensitivity(&self) -> Table {
        Table::of(self.effects())
            .file("group", |own| own.group.clone())
            .file("measure", |own| own.measure)
            .file("parameter", |own| own.parameter.clone())
            .file("explained_ratio", |own| own.explained)
            .file("rank_correlation", |own| own.correlation)
            .done()
    }
}

impl Render for Answer {
    fn parts(&self, _: Screen) -> Vec<Part> {
        let refused = match self.refused() {
            0 => String::new(),
            some => format!("; {} refused", plural(some, "scenario")),
        };
        let head = format!("{}{refused}\n\n", plural(self.points.len(), "point"));
        let mut spreads = self.spreads();
        spreads.retain(|own| own.measure == SHOWN);
        let mut table = Table::of(spreads).shown("largest delay of", |own| own.group.clone());
        for (name, of) in QUANTILES {
            table = table.amount(name, move |own| microseconds(of(&own.quantiles)));
        }
        let mut effects = self.effects();
        effects.retain(|own| own.measure == SHOWN && own.explained.is_some());
        effects.sort_by(|one, other| {
            let explained = |own: &Effect| own.explained.unwrap_or_default();
            explained(other).total_cmp(&explained(one))
        });
        let effects = Table::of(effects)
            .shown("largest delay of", |own| own.group.clone())
            .shown("parameter", |own| own.parameter.clone())
            .amount("explains", |own| own.explained.map(|part| format!("{:.1} %", part * 100.0)))
            .amount("rank correlation", |own| own.correlation.map(|number| format!("{number:.2}")));
        vec![head.into(), table.done().into(), "\n".to_owned().into(), effects.done().into()]
    }

    fn rows(&self) -> Table {
        self.points()
    }

    fn json(&self) -> String {
        document::text(&SweepJson {
            points: self.points.len(),
            refused: self.refused(),
            quantiles: self.spreads(),
            sensitivity: self.effects(),
        })
    }
}

fn microseconds(ns: f64) -> String {
    format!("{:.2} us", ns / 1_000.0)
}

/// Returns the numbers of values that have one and the same unit; `None` for others.
fn in_order(values: &[&str]) -> Option<Vec<f64>> {
    let mut unit = None;
    let numbers = values.iter().map(|value| {
        let end = value.find(|c: char| !c.is_ascii_digit() && !".+-".contains(c));
        let (number, own) = value.split_at(end.unwrap_or(value.len()));
        if *unit.get_or_insert(own.trim()) != own.trim() {
            return None;
        }
        number.parse().ok()
    });
    numbers.collect()
}

/// Returns the class of each point: its value, or of many values that have an order one of some
/// classes of equal size.
fn classes(values: &[&str], order: Option<&[f64]>) -> Vec<usize> {
    let mut distinct: BTreeMap<&str, usize> = BTreeMap::new();
    for value in values {
        let next = distinct.len();
        distinct.entry(value).or_insert(next);
    }
    match order {
        Some(order) if distinct.len() > MOST_VALUES => {
            let mut places: Vec<usize> = (0..order.len()).collect();
            places.sort_by(|&a, &b| order[a].total_cmp(&order[b]));
            let mut classes = vec![0; order.len()];
            for (rank, place) in places.into_iter().enumerate() {
                classes[place] = rank * CLASSES / order.len();
            }
            classes
        }
        _ => values.iter().map(|value| distinct[value]).collect(),
    }
}

fn mean(numbers: &[f64]) -> f64 {
    numbers.iter().sum::<f64>() / as_float(numbers.len() as u64)
}

/// Returns the part of the variance that is between classes (the correlation ratio, squared); `None`
/// if there is no variance, or one
/// class.
fn explained(classes: &[usize], numbers: &[f64]) -> Option<f64> {
    let whole = mean(numbers);
    let total: f64 = numbers.iter().map(|number| (number - whole).powi(2)).sum();
    let mut members: BTreeMap<usize, Vec<f64>> = BTreeMap::new();
    for (class, number) in classes.iter().zip(numbers) {
        members.entry(*class).or_default().push(*number);
    }
    let between =
        members.values().map(|own| as_float(own.len() as u64) * (mean(own) - whole).powi(2));
    let between: f64 = between.sum();
    (total > 0.0 && members.len() > 1).then(|| (between / total).min(1.0))
}

/// Returns the rank of each number, from 1; equal ones share the mean of theirs.
fn ranks(numbers: &[f64]) -> Vec<f64> {
    let mut places: Vec<usize> = (0..numbers.len()).collect();
    places.sort_by(|&a, &b| numbers[a].total_cmp(&numbers[b]));
    let mut ranks = vec![0.0; numbers.len()];
    let mut before = 0;
    for run in places.chunk_by(|&a, &b| numbers[a].total_cmp(&numbers[b]).is_eq()) {
        let last = before + run.len() as u64;
        for &place in run {
            ranks[place] = f64::midpoint(as_float(before + 1), as_float(last));
        }
        before = last;
    }
    ranks
}

/// Returns the correlation of two lists; `None` if one has no variance.
fn correlation(one: &[f64], other: &[f64]) -> Option<f64> {
    let (a, b) = (mean(one), mean(other));
    let both = one.iter().zip(other);
    let shared: f64 = both.map(|(x, y)| (x - a) * (y - b)).sum();
    let spread = |list: &[f64], mean: f64| list.iter().map(|x| (x - mean).powi(2)).sum::<f64>();
    let scale = (spread(one, a) * spread(other, b)).sqrt();
    (scale > 0.0).then(|| (shared / scale).clamp(-1.0, 1.0))
}
