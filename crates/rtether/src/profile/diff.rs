//! Two profiles compared, figure by figure.

use rtether_report::document::{self, Document};
use rtether_report::format::{Part, Render};
use rtether_report::number::Ns;
use rtether_report::table::{Screen, Table};
use rtether_report::text::plural;
use schemars::JsonSchema;
use serde::Serialize;

use super::merge::Named;
use super::show::{self, Found};
use super::{FIGURES, Range, Series};

/// Two profiles compared.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Difference {
    names: [String; 2],
    figures: Vec<Compared>,
}

/// A figure of both profiles.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Compared {
    /// Protocol of the series.
    pub protocol: String,
    /// Key of the figure.
    pub figure: &'static str,
    /// What each of them has found; `None` if it has not.
    pub found: [Option<Found>; 2],
}

/// Two profiles compared, figure by figure.
#[derive(Debug, Serialize, JsonSchema)]
pub struct ProfileDiffJson<'a> {
    /// The files, in the order given.
    profiles: &'a [String; 2],
    /// How many figures differ beyond their intervals.
    differing: usize,
    /// Every figure that one of them has.
    figures: Vec<ComparedJson<'a>>,
}

#[derive(Debug, Serialize, JsonSchema)]
struct ComparedJson<'a> {
    /// Protocol of the series.
    protocol: &'a str,
    /// Key of the figure.
    figure: &'a str,
    /// In the first file; `null` if it is not known there.
    before: Option<FoundJson>,
    /// In the second file.
    after: Option<FoundJson>,
    /// Whether both know it, and no value is in both intervals.
    differs: bool,
}

/// What was found, as documents have it.
#[derive(Debug, Serialize, JsonSchema)]
pub(super) struct FoundJson {
    /// The estimate; `null` for what is no time.
    value_ns: Option<Ns>,
    /// Lower end of its 95 % interval.
    low_ns: Option<Ns>,
    /// Upper end.
    high_ns: Option<Ns>,
    /// What is no time: servers, order, queue.
    word: Option<String>,
}

impl Document for ProfileDiffJson<'_> {
    const SCHEMA: &'static str = "rtether.profile-diff/1";
}

impl From<&Found> for FoundJson {
    fn from(found: &Found) -> Self {
        match found {
            Found::Time(Range { value, low, high }) => Self {
                value_ns: Some(Ns(*value)),
                low_ns: Some(Ns(*low)),
                high_ns: Some(Ns(*high)),
                word: None,
            },
            Found::Word(word) => {
                Self { value_ns: None, low_ns: None, high_ns: None, word: Some(word.clone()) }
            }
        }
    }
}

impl Compared {
    /// Returns whether both know it, and their intervals are apart.
    pub fn differs(&self) -> bool {
        match &self.found {
            [Some(Found::Time(one)), Some(Found::Time(other))] => one.is_apart(other),
            [Some(Found::Word(one)), Some(Found::Word(other))] => one != other,
            _ => false,
        }
    }
}

impl Compared {
    /// Returns what one of them has found.
    fn side(&self, side: usize) -> String {
        self.found[side].as_ref().map_or_else(String::new, Found::shown)
    }
}

/// Compares two profiles.
pub fn diff(before: &Named, after: &Named) -> Difference {
    let mut figures = Vec::new();
    let all = before.1.requests.iter().chain(&after.1.requests);
    let mut protocols: Vec<&str> = Vec::new();
    for series in all {
        if !protocols.contains(&series.protocol.as_str()) {
            protocols.push(&series.protocol);
        }
    }
    for protocol in protocols {
        let both = [before, after].map(|(_, own)| own.series(protocol));
        for figure in FIGURES.into_iter().chain(show::WORDS) {
            let found = both.map(|own: Option<&Series>| Found::of(own?, figure));
            if found.iter().any(Option::is_some) {
                figures.push(Compared { protocol: protocol.to_owned(), figure, found });
            }
        }
    }
    Difference { names: [before.0.clone(), after.0.clone()], figures }
}

impl Difference {
    /// Returns how many figures differ beyond their intervals.
    pub fn count(&self) -> usize {
        self.figures.iter().filter(|own| own.differs()).count()
    }

    /// Returns all figures.
    pub fn figures(&self) -> &[Compared] {
        &self.figures
    }

    fn table(&self) -> Table {
        Table::of(&self.figures)
            .both("protocol", "protocol", |own| own.protocol.clone())
            .both("figure", "figure", |own| own.figure)
            .both(self.names[0].clone(), "before", |own| own.side(0))
            .both(self.names[1].clone(), "after", |own| own.side(1))
            .both("differs", "differs", |own| if own.differs() { "yes" } else { "" })
            .done()
    }

    fn summary(&self) -> String {
        match self.count() {
            0 => "No figure differs beyond its interval.".to_owned(),
            count => {
                let verb = if count == 1 { "differs" } else { "differ" };
                format!("{} {verb} beyond the intervals.", plural(count, "figure"))
            }
        }
    }
}

impl Render for Difference {
    fn parts(&self, _: Screen) -> Vec<Part> {
        vec![self.table().into(), format!("\n{}\n", self.summary()).into()]
    }

    fn rows(&self) -> Table {
        self.table()
    }

    fn json(&self) -> String {
        document::text(&ProfileDiffJson {
            profiles: &self.names,
            differing: self.count(),
            figures: self
                .figures
                .iter()
                .map(|own| ComparedJson {
                    protocol: &own.protocol,
                    figure: own.figure,
                    before: own.found[0].as_ref().map(FoundJson::from),
                    after: own.found[1].as_ref().map(FoundJson::from),
                    differs: own.differs(),
                })
                .collect(),
        })
    }
}
