//! The papers' values and claims, as committed in `reference/`.

use std::collections::BTreeMap;

use rtether_model::quantity::Duration;
use serde::Deserialize;

/// An experiment of a paper.
#[derive(Clone, Debug, Deserialize, PartialEq, Eq)]
pub struct Experiment {
    /// Its id, used on the command line.
    #[serde(rename = "experiment_id")]
    pub id: String,
    /// Number of the paper.
    pub paper: String,
    /// Section or figure.
    #[serde(rename = "where")]
    pub place: String,
    /// `yes`, `partial` or `no`.
    pub simulation: String,
    /// `yes`, `spirit` (mechanism only) or `no`.
    pub live_one_machine: String,
    /// What counts as success, in short.
    pub success: String,
}

/// A statement to judge.
#[derive(Clone, Debug, Deserialize, PartialEq, Eq)]
pub struct Claim {
    /// Number, such as `C005`.
    #[serde(rename = "claim_id")]
    pub id: String,
    /// Experiments it is about, joined by `|`.
    #[serde(rename = "experiment_id")]
    pub experiments: String,
    /// The claim in words.
    pub statement: String,
    /// The computed quantity.
    pub metric: String,
    /// Relation between metric and reference.
    pub op: String,
    /// The value it is compared with.
    pub reference: String,
    /// `sim`, `live`, `both` or `analysis`.
    pub modes: String,
    /// `must` or `should`.
    pub strength: String,
    /// Paper and place.
    pub source: String,
}

impl Claim {
    /// Returns whether the claim is about this experiment.
    pub fn concerns(&self, experiment: &str) -> bool {
        self.experiments.split('|').any(|id| id == experiment)
    }

    /// Returns the expected result as one phrase.
    pub fn expected(&self) -> String {
        format!("{} {} {}", self.metric, self.op, self.reference)
    }

    /// Returns whether a value is in the accepted range; times are in seconds, everything else in
    /// the unit of the reference.
    ///
    /// # Panics
    /// If the reference is not a number or a range.
    pub(crate) fn accepts(&self, value: f64) -> bool {
        let (low, high) = self.range().expect("the reference is a number or a range");
        match self.op.as_str() {
            "<" => value < high,
            "<=" => value <= high,
            ">" => value > low,
            ">=" => value >= low,
            _ => (low..=high).contains(&value),
        }
    }

    /// Reads the reference: `1e-3`, `[0.24,0.36] ms` or `25 s (+-10 %)`.
    fn range(&self) -> Option<(f64, f64)> {
        let (numbers, rest) = match self.reference.strip_prefix('[') {
            Some(range) => range.split_once(']')?,
            None => self.reference.split_once(' ').unwrap_or((&self.reference, "")),
        };
        let (low, high) = numbers.split_once(',').unwrap_or((numbers, numbers));
        let unit = rest.split_whitespace().next().unwrap_or("");
        let number = |text: &str| match exact_time(text, unit) {
            Some(time) => Some(time.as_secs_f64()),
            None => text.parse::<f64>().ok(),
        };
        let (low, high) = (number(low)?, number(high)?);
        let Some((_, off)) = rest.split_once("(+-") else {
            return Some((low, high));
        };
        let off = off.trim_end_matches(')');
        let off = match off.strip_suffix(" %") {
            Some(percent) => high * percent.parse::<f64>().ok()? / 100.0,
            None => number(off)?,
        };
        Some((low - off, high + off))
    }
}

/// A value printed in a paper.
#[derive(Clone, Debug, Deserialize, PartialEq, Eq)]
pub struct Value {
    /// Experiment.
    #[serde(rename = "experiment_id")]
    pub experiment: String,
    /// Subject: direction, level or quantity.
    pub subject: String,
    /// Condition of the measurement.
    pub condition: String,
    /// Statistic.
    pub statistic: String,
    /// The number as printed.
    pub value: String,
    /// Its unit.
    pub unit: String,
    /// Precision of the printed value.
    pub qualifier: String,
    /// Whether it may be compared.
    pub flag: String,
    /// Paper and place.
    pub source: String,
}

impl Value {
    /// Returns the value in the paper's words: `just below 0.3 ms`.
    pub fn words(&self) -> String {
        let qualifier = match self.qualifier.as_str() {
            "exact" => "",
            "approx" | "about_same" => "about ",
            "just_below" => "just below ",
            "just_above" => "just above ",
            "lt" | "max_lt" => "below ",
            "gt" | "some_gt" => "above ",
            "max" | "range_high" => "up to ",
            "range_low" => "from ",
            _ => "",
        };
        format!("{qualifier}{} {}", self.value, self.unit)
    }

    /// Returns what was measured, with the condition.
    pub fn name(&self) -> String {
        format!("{} ({})", self.subject.replace('_', " "), self.condition)
    }

    /// Returns the value as an exact time; `None` if it is not a time.
    pub fn time(&self) -> Option<Duration> {
        exact_time(&self.value, &self.unit)
    }
}

/// Returns a decimal number with a unit as a time; `None` if it is not one.
fn exact_time(value: &str, unit: &str) -> Option<Duration> {
    let unit = match unit {
        "s" => Duration::from_secs(1),
        "ms" => Duration::from_ms(1),
        "us" => Duration::from_us(1),
        _ => return None,
    };
    let (whole, fraction) = value.split_once('.').unwrap_or((value, ""));
    let digits: i64 = format!("{whole}{fraction}").parse().ok()?;
    let scale = 10i64.checked_pow(u32::try_from(fraction.len()).ok()?)?;
    Some(unit * digits / scale)
}

const EXPERIMENTS: &str = include_str!("../reference/experiments.csv");
const CLAIMS: &str = include_str!("../reference/claims.csv");
/// Returns all experiments, in the order of the papers.
pub fn experiments() -> Vec<Experiment> {
    read(EXPERIMENTS)
}

/// Returns all claims.
pub fn claims() -> Vec<Claim> {
    read(CLAIMS)
}

const VALUES: [&str; 19] = [
    include_str!("../reference/skeie_volume.csv"),
    include_str!("../reference/skeie_simulation.csv"),
    include_str!("../reference/skeie_baseline.csv"),
    include_str!("../reference/skeie_table1.csv"),
    include_str!("../reference/skeie_table2.csv"),
    include_str!("../reference/skeie_table3.csv"),
    include_str!("../reference/kakanakov_background.csv"),
    include_str!("../reference/kakanakov_table1_icmp.csv"),
    include_str!("../reference/kakanakov_table2_cndep.csv"),
    include_str!("../reference/kweon_parameters.csv"),
    include_str!("../reference/kweon_fig6_fig7_nongreedy.csv"),
    include_str!("../reference/kweon_fig8_sequence.csv"),
    include_str!("../reference/kweon_fig9_fig10_greedy.csv"),
    include_str!("../reference/kweon_fig12_fig13_nt.csv"),
    include_str!("../reference/dolejs_backoff.csv"),
    include_str!("../reference/dolejs_fig2_hub.csv"),
    include_str!("../reference/dolejs_fig9_10_11_orte.csv"),
    // In place of the printed table, whose rows are shifted.
    include_str!("../reference/valentim_table2_reconstructed.csv"),
    include_str!("../reference/valentim_text.csv"),
];

/// Returns the values of an experiment that may be compared.
pub fn values(experiment: &str) -> Vec<Value> {
    let mut values = printed(experiment);
    values.retain(|value| value.flag == "ok");
    values
}

/// Returns all values of an experiment, including wrong ones: for display, never a target.
pub fn printed(experiment: &str) -> Vec<Value> {
    VALUES
        .into_iter()
        .flat_map(read_values)
        .filter(|value| value.experiment == experiment)
        .filter(|value| !value.value.is_empty() && value.qualifier != "axis")
        .collect()
}

/// Returns the comparable times of one statistic of an experiment, by subject.
pub fn times(experiment: &str, statistic: &str) -> BTreeMap<String, Duration> {
    let values = values(experiment).into_iter();
    values
        .filter(|value| value.statistic == statistic)
        .filter_map(|value| Some((value.subject.clone(), value.time()?)))
        .collect()
}

/// Returns the first comparable time of a statistic of an experiment; zero if there is none.
pub fn time(experiment: &str, statistic: &str) -> Duration {
    let mut times = times(experiment, statistic).into_values();
    times.next().unwrap_or_default()
}

/// Panics on a malformed table; the tables are compiled in, and a test reads all of them.
pub(crate) fn read<T: for<'de> Deserialize<'de>>(text: &str) -> Vec<T> {
    csv::Reader::from_reader(text.as_bytes())
        .deserialize()
        .collect::<Result<_, _>>()
        .expect("the tables in reference/ have the columns of their types")
}

/// Condition columns differ between tables; those before `statistic` (or `parameter`) are joined.
fn read_values(text: &str) -> Vec<Value> {
    let mut reader = csv::Reader::from_reader(text.as_bytes());
    let headers = reader.headers().cloned().unwrap_or_default();
    let column = |name: &str| headers.iter().position(|header| header == name);
    let statistic = column("statistic").or_else(|| column("parameter"));
    let (Some(statistic), condition) = (statistic, column("condition")) else {
        return Vec::new();
    };
    reader
        .records()
        .filter_map(Result::ok)
        .map(|record| {
            let cell =
                |at: Option<usize>| at.and_then(|at| record.get(at)).unwrap_or("").to_owned();
            let subjects = (1..statistic).filter(|&at| Some(at) != condition);
            let subject: Vec<&str> = subjects.filter_map(|at| record.get(at)).collect();
            Value {
                experiment: cell(Some(0)),
                subject: subject.join(", "),
                condition: cell(condition),
                statistic: cell(Some(statistic)),
                value: cell(column("value")),
                unit: cell(column("unit")),
                qualifier: cell(column("qualifier")),
                flag: cell(column("flag")),
                source: cell(column("source")),
            }
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_tables_are_complete_and_belong_together() {
        // Oracle: the catalogue counts 47 experiments and 99 claims.
        let (experiments, claims) = (experiments(), claims());
        assert_eq!((experiments.len(), claims.len()), (47, 99));
        for claim in &claims {
            for id in claim.experiments.split('|') {
                let is_group = experiments.iter().any(|experiment| experiment.id.starts_with(id));
                assert!(is_group, "{} names {id}", claim.id);
            }
        }
    }

    #[test]
    fn values_read_as_the_paper_says_them() {
        let values = values("skeie-flat");
        let quiet = &values[0];
        assert_eq!(quiet.subject, "pisa_to_controller, application");
        assert_eq!(quiet.words(), "just below 0.3 ms");
        assert!(values.iter().all(|value| value.flag == "ok"));
    }

    #[test]
    fn ranges_are_read_with_unit_and_tolerance() {
        // Oracle: the rows of the claims.
        let accepts = |id: &str, value: f64| {
            let claim = claims().into_iter().find(|claim| claim.id == id);
            claim.expect(id).accepts(value)
        };
        for (id, inside, outside) in [
            ("C001", 103.9, 104.1),
            ("C005", 0.000_25, 0.000_37),
            ("C009", 0.001_1, 0.001),
            ("C028", 1.05, 1.06),
            ("C049", 0.001, 0.06),
            ("C056", 22.6, 22.4),
            ("C066", 0.0, 1.0),
        ] {
            assert!(accepts(id, inside) && !accepts(id, outside), "{id}");
        }
    }

    #[test]
    fn times_are_read_exactly() {
        let icmp = times("kakanakov-icmp-a", "min");
        assert_eq!(icmp["EP9302, a"], Duration::from_us(232));
        assert_eq!(icmp["PIC, a"], Duration::from_us(1871));
        // The misprinted rows of Valentim's table are excluded from comparison.
        let rtt = times("valentim-rtt", "mean_half_rtt");
        assert_eq!(rtt.keys().filter(|key| key.starts_with("10M")).count(), 4);
        assert!(!times("valentim-loopback", "mean_loopback").contains_key("loopback, UDP, 512"));
    }
}
