//! The file of a study.

use rtether_scenario::{Data, Value, tree};
use thiserror::Error;

use super::sample::{Parameter, Range, Values};

/// Largest number of points.
const MOST_POINTS: u64 = 1_000_000;

/// A mistake in a study.
#[derive(Clone, Debug, Error, PartialEq, Eq)]
#[error("{name}:{line}: {message}")]
pub struct StudyError {
    /// Name of the file.
    pub name: String,
    /// Line, from 1.
    pub line: usize,
    /// What is wrong, and what would be right.
    pub message: String,
}

/// How points are chosen.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Sampling {
    /// Every combination of values.
    Grid,
    /// Each value drawn by itself.
    Random,
    /// Each value drawn from a stratum of its own.
    LatinHypercube,
}

/// What results are summed over.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Grouping {
    Class,
    Flow,
}

/// A study.
#[derive(Clone, Debug)]
pub struct Study {
    /// Path of the scenario, relative to the file of the study.
    pub scenario: String,
    pub(super) parameters: Vec<Parameter>,
    pub(super) sampling: Sampling,
    /// Number of drawn points; a grid has its own.
    pub(super) drawn: u64,
    pub(super) seeds: u32,
    /// Seed of the first run of each point, and of what is drawn.
    pub(super) seed: u64,
    pub(super) proves: bool,
    pub(super) grouping: Grouping,
}

impl Study {
    /// Reads a study; `name` is shown in errors.
    ///
    /// # Errors
    /// The first mistake, with its line.
    pub fn read(name: &str, text: &str) -> Result<Self, StudyError> {
        let reader = Reader { name, text };
        let root = tree(text).map_err(|mistake| {
            let at = mistake.primary.span.start;
            reader.error(at, &[&mistake.title, ": ", &mistake.primary.text].concat())
        })?;
        let mut study = Self {
            scenario: String::new(),
            parameters: Vec::new(),
            sampling: Sampling::Grid,
            drawn: 0,
            seeds: 1,
            seed: 1,
            proves: false,
            grouping: Grouping::Class,
        };
        let mut version = None;
        for (key, value) in reader.map(&root)? {
            match key {
                "study" => version = Some(reader.whole(value, 1..=1)?),
                "scenario" => reader.word(value)?.clone_into(&mut study.scenario),
                "parameters" => study.parameters = reader.parameters(value)?,
                "sample" => study.sampling = reader.sampling(value)?,
                "points" => study.drawn = reader.whole(value, 1..=MOST_POINTS)?,
                "seeds" => {
                    let seeds = reader.whole(value, 1..=100_000)?;
                    study.seeds = u32::try_from(seeds).unwrap_or(1);
                }
                "seed" => study.seed = reader.whole(value, 0..=u64::MAX)?,
                "prove" => {
                    study.proves = reader.choice(value, &[("true", true), ("false", false)])?;
                }
                "groups" => {
                    let words = [("class", Grouping::Class), ("flow", Grouping::Flow)];
                    study.grouping = reader.choice(value, &words)?;
                }
                _ => {
                    let known =
                        "study, scenario, parameters, sample, points, seeds, seed, prove, groups";
                    let message = format!("unknown key `{key}`; there are {known}");
                    return Err(reader.error(value.span.start, &message));
                }
            }
        }
        let missing = |what: &str| reader.error(0, what);
        if version.is_none() {
            return Err(missing("the first line of a study is `study: 1`"));
        }
        if study.scenario.is_empty() {
            return Err(missing("`scenario: plant.yaml` is missing: the file that is run"));
        }
        study.check().map_err(|message| missing(&message))?;
        Ok(study)
    }

    /// Returns what is wrong with the study as a whole.
    fn check(&self) -> Result<(), String> {
        if self.parameters.is_empty() {
            return Err("`parameters` is missing: which values of the scenario are varied".into());
        }
        let is_grid = self.sampling == Sampling::Grid;
        if !is_grid && self.drawn == 0 {
            return Err("`points: 64` is missing: how many are drawn".into());
        }
        if is_grid && self.drawn > 0 {
            return Err("a grid has its own number of points; leave `points` out".into());
        }
        for parameter in &self.parameters {
            if is_grid && parameter.steps().is_none() {
                let path = &parameter.path;
                return Err(format!("`{path}` needs `steps` in a grid, or a list of values"));
            }
        }
        let total = self.combinations().and_then(|all| all.checked_mul(self.seeds.into()));
        match total {
            Some(total) if total <= MOST_POINTS => Ok(()),
            _ => Err(format!("a study has at most {MOST_POINTS} points with all seeds")),
        }
    }

    /// Returns the number of combinations of values; `None` if there are too many to count.
    pub(super) fn combinations(&self) -> Option<u64> {
        if self.sampling != Sampling::Grid {
            return Some(self.drawn);
        }
        let steps = self.parameters.iter().filter_map(Parameter::steps);
        steps.into_iter().try_fold(1_u64, u64::checked_mul)
    }
}

/// Reads values and says where they are wrong.
struct Reader<'a> {
    name: &'a str,
    text: &'a str,
}

impl Reader<'_> {
    fn error(&self, at: u32, message: &str) -> StudyError {
        let before = self.text.get(..at as usize).unwrap_or_default();
        StudyError {
            name: self.name.to_owned(),
            line: before.matches('\n').count() + 1,
            message: message.to_owned(),
        }
    }

    fn wrong<T>(&self, value: &Value, message: &str) -> Result<T, StudyError> {
        Err(self.error(value.span.start, message))
    }

    fn map<'v>(&self, value: &'v Value) -> Result<Vec<(&'v str, &'v Value)>, StudyError> {
        match &value.data {
            Data::Map(entries) => {
                let entries = entries.iter();
                Ok(entries.map(|entry| (entry.key.as_str(), &entry.value)).collect())
            }
            Data::Null | Data::Scalar(_) | Data::List(_) => self.wrong(value, "keys are expected"),
        }
    }

    fn word<'v>(&self, value: &'v Value) -> Result<&'v str, StudyError> {
        match &value.data {
            Data::Scalar(word) => Ok(word),
            Data::Null | Data::Map(_) | Data::List(_) => self.wrong(value, "a word is expected"),
        }
    }

    fn whole(
        &self,
        value: &Value,
        range: std::ops::RangeInclusive<u64>,
    ) -> Result<u64, StudyError> {
        let number = self.word(value)?.parse().ok();
        let number = number.filter(|number| range.contains(number));
        let (low, high) = (range.start(), range.end());
        number.ok_or_else(|| {
            let message = format!("a whole number from {low} to {high} is expected");
            self.error(value.span.start, &message)
        })
    }

    fn choice<T: Copy>(&self, value: &Value, words: &[(&str, T)]) -> Result<T, StudyError> {
        let word = self.word(value)?;
        let found = words.iter().find(|(known, _)| *known == word);
        found.map(|(_, meaning)| *meaning).ok_or_else(|| {
            let known: Vec<&str> = words.iter().map(|(word, _)| *word).collect();
            let message = format!("`{word}` is none of {}", known.join(", "));
            self.error(value.span.start, &message)
        })
    }

    fn sampling(&self, value: &Value) -> Result<Sampling, StudyError> {
        let words = [
            ("grid", Sampling::Grid),
            ("random", Sampling::Random),
            ("latin-hypercube", Sampling::LatinHypercube),
        ];
        self.choice(value, &words)
    }

    fn parameters(&self, value: &Value) -> Result<Vec<Parameter>, StudyError> {
        let entries = self.map(value)?.into_iter();
        let read = entries.map(|(path, value)| {
            Ok(Parameter { path: path.to_owned(), values: self.values(value)? })
        });
        read.collect()
    }

    fn values(&self, value: &Value) -> Result<Values, StudyError> {
        if let Data::List(list) = &value.data {
            let words = list.iter().map(|one| Ok(self.word(one)?.to_owned()));
            let words = words.collect::<Result<Vec<String>, StudyError>>()?;
            if words.is_empty() {
                return self.wrong(value, "values are expected");
            }
            return Ok(Values::List(words));
        }
        let (mut low, mut high, mut range) = (None, None, Range::default());
        for (key, value) in self.map(value)? {
            match key {
                "from" => low = Some(self.quantity(value)?),
                "to" => high = Some(self.quantity(value)?),
                "steps" => range.steps = Some(self.whole(value, 2..=MOST_POINTS)?),
                "scale" => {
                    range.is_log = self.choice(value, &[("linear", false), ("log", true)])?;
                }
                "whole" => {
                    range.is_whole = self.choice(value, &[("true", true), ("false", false)])?;
                }
                _ => return self.wrong(value, "there are from, to, steps, scale and whole"),
            }
        }
        let (Some((low, unit)), Some((high, other))) = (low, high) else {
            return self.wrong(value, "a list, or `{ from: 10 ms, to: 40 ms }` is expected");
        };
        if unit != other || low >= high || (range.is_log && low <= 0.0) {
            let message =
                "`from` is below `to`, in the same unit, and above zero on a scale of log";
            return self.wrong(value, message);
        }
        Ok(Values::Range(Range { low, high, unit, ..range }))
    }

    /// Reads a number and its unit.
    fn quantity(&self, value: &Value) -> Result<(f64, String), StudyError> {
        let word = self.word(value)?.trim();
        let end = word.find(|c: char| !c.is_ascii_digit() && !".+-".contains(c));
        let (number, unit) = word.split_at(end.unwrap_or(word.len()));
        match number.parse::<f64>() {
            Ok(number) if number.is_finite() => Ok((number, unit.trim().to_owned())),
            _ => self.wrong(value, "a number with its unit is expected"),
        }
    }
}
