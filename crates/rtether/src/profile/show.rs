//! A profile shown: each figure with its interval, or why there is none.

use std::fmt::Write as _;

use rtether_model::network::Servers;
use rtether_proto::identify::Order;
use rtether_report::chart::{Axis, Column, ColumnChart};
use rtether_report::document::{self, Document};
use rtether_report::format::{Part, Render};
use rtether_report::markup::Markup;
use rtether_report::number::Ns;
use rtether_report::table::{Screen, Table};
use rtether_report::text::plural;
use schemars::JsonSchema;
use serde::Serialize;

use super::{FIGURES, Profile, Range, Series};

/// Keys of what is found and no time.
pub(super) const WORDS: [&str; 3] = ["servers", "order", "queue"];

/// What was found of a figure.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Found {
    /// A time with its interval.
    Time(Range),
    /// What is no time.
    Word(String),
}

/// A profile, to be shown in every format.
#[derive(Clone, Copy, Debug)]
pub struct Shown<'p> {
    /// The profile.
    pub profile: &'p Profile,
}

/// A row: a figure of a series.
struct FigureOf<'p> {
    series: &'p Series,
    figure: &'static str,
    found: Option<Found>,
}

/// The profile of a device.
#[derive(Debug, Serialize, JsonSchema)]
pub struct ProfileJson<'p> {
    /// What the device is.
    device: &'p str,
    /// Version of its firmware, if known.
    firmware: Option<&'p str>,
    /// Where it was asked.
    address: Option<&'p str>,
    /// When it was asked.
    date: &'p str,
    /// The host that asked.
    host: Option<&'p str>,
    /// The series that gives the stack of a scenario.
    stack_from: Option<&'p str>,
    /// The series that gives the scan cycle of answers.
    reply_from: Option<&'p str>,
    /// What verdicts rest on that take the stack from it, beyond its intervals.
    assumptions: Vec<String>,
    /// What was found, by protocol.
    series: Vec<SeriesJson<'p>>,
}

#[derive(Debug, Serialize, JsonSchema)]
struct SeriesJson<'p> {
    /// The protocol.
    protocol: &'p str,
    /// `quiet`, `load` or `capture`.
    method: &'static str,
    /// Requests sent.
    sent: u64,
    /// Requests answered.
    answered: u64,
    /// Requests without an answer.
    lost: u64,
    /// Whether it has predicted a further series; `null` if none was measured.
    confirmed: Option<bool>,
    /// What the device does that the model does not have.
    misfits: Vec<MisfitJson<'p>>,
    /// Every figure.
    figures: Vec<FigureJson<'p>>,
    /// Round trips less the share of the network.
    histogram: Vec<BinJson>,
}

#[derive(Debug, Serialize, JsonSchema)]
struct FigureJson<'p> {
    /// Key of the figure.
    figure: &'static str,
    /// The estimate; `null` if it is not known, or no time.
    value_ns: Option<Ns>,
    /// Lower end of its 95 % interval.
    low_ns: Option<Ns>,
    /// Upper end.
    high_ns: Option<Ns>,
    /// What is no time.
    word: Option<String>,
    /// Why it is not known.
    why: Option<&'p str>,
}

#[derive(Debug, Serialize, JsonSchema)]
struct MisfitJson<'p> {
    /// `steps`, `pauses` or `threads`.
    kind: &'static str,
    /// What was seen.
    why: &'p str,
}

#[derive(Debug, Serialize, JsonSchema)]
struct BinJson {
    /// Lower end.
    from_ns: Ns,
    /// Upper end, which is not in the bin.
    to_ns: Ns,
    /// Round trips.
    count: u64,
}

impl Document for ProfileJson<'_> {
    const SCHEMA: &'static str = "rtether.profile/1";
}

impl Found {
    /// Returns what a series has of a figure.
    pub(super) fn of(series: &Series, figure: &str) -> Option<Self> {
        let word = match figure {
            "servers" => series.servers.map(|own| match own {
                Servers::Shared => "shared".to_owned(),
                Servers::PerDirection => "per-direction".to_owned(),
            }),
            "order" => series.order.map(|own| match own {
                Order::Arrival => "arrival".to_owned(),
                Order::Priority => "priority".to_owned(),
            }),
            "queue" => series.queue.map(|own| own.to_string()),
            _ => return series.figure(figure).map(Self::Time),
        };
        word.map(Self::Word)
    }

    pub(super) fn shown(&self) -> String {
        match self {
            Self::Time(Range { value, low, high }) => format!("{value} ({low} .. {high})"),
            Self::Word(word) => word.clone(),
        }
    }

    const fn range(&self) -> Option<Range> {
        match self {
            Self::Time(range) => Some(*range),
            Self::Word(_) => None,
        }
    }

    fn word(&self) -> Option<String> {
        match self {
            Self::Time(_) => None,
            Self::Word(word) => Some(word.clone()),
        }
    }
}

impl FigureOf<'_> {
    fn range(&self) -> Option<Range> {
        self.found.as_ref().and_then(Found::range)
    }

    fn why(&self) -> Option<&str> {
        if self.found.is_some() { None } else { self.series.reason(self.figure) }
    }
}

impl<'p> Shown<'p> {
    /// Returns the figures that are found, or have a reason not to be.
    fn figures(self) -> Vec<FigureOf<'p>> {
        let all = self.profile.requests.iter().flat_map(|series| {
            let figures = FIGURES.into_iter().chain(WORDS);
            figures.map(move |figure| FigureOf { series, figure, found: Found::of(series, figure) })
        });
        all.filter(|own| own.found.is_some() || own.why().is_some()).collect()
    }

    /// Returns how many figures are found.
    pub(super) fn known(self) -> usize {
        self.figures().iter().filter(|own| own.found.is_some()).count()
    }

    /// Returns the figures as a table.
    pub(super) fn table(self) -> Table {
        Table::of(self.figures())
            .both("protocol", "protocol", |own| own.series.protocol.clone())
            .both("figure", "figure", |own| own.figure)
            .number("value", "value_ns", |own| own.range().map(|own| own.value))
            .number("from", "low_ns", |own| own.range().map(|own| own.low))
            .number("to", "high_ns", |own| own.range().map(|own| own.high))
            .both("is", "word", |own| match &own.found {
                Some(found) => found.word().unwrap_or_default(),
                None => "unknown".to_owned(),
            })
            .both("why", "why", |own| own.why().unwrap_or_default().to_owned())
            .done()
    }

    /// Returns what the device is and what was asked, in lines.
    fn head(self) -> String {
        let own = self.profile;
        let firmware = own.firmware.as_ref().map_or_else(String::new, |own| format!(", {own}"));
        let address = own.address.as_ref().map_or_else(String::new, |own| format!(" at {own}"));
        let host = own.host.as_ref().map_or_else(String::new, |own| format!(" from {own}"));
        let mut head = format!("{}{firmware}{address}, {}{host}\n", own.device, own.date);
        for series in &own.requests {
            let confirmed = match series.confirmed {
                _ if !series.misfits.is_empty() => "not confirmed",
                Some(trial) if trial.holds => "confirmed",
                Some(_) => "not confirmed",
                None => "without a trial",
            };
            let (protocol, method) = (&series.protocol, series.method.word());
            let (sent, lost) = (series.sent, series.lost);
            let _ = writeln!(head, "{protocol}: {method}, {sent} sent, {lost} lost, {confirmed}");
            for misfit in &series.misfits {
                let _ = writeln!(head, "{protocol}: not as the model has it: {}", misfit.why);
            }
        }
        head.push('\n');
        head
    }

    /// Returns what a scenario takes from it, in lines.
    pub(super) fn tail(self) -> String {
        let mut tail = match &self.profile.stack_from {
            Some(series) => format!("\nA scenario takes the stack from `{series}`"),
            None => "\nA scenario can take no stack from it".to_owned(),
        };
        if let Some(series) = &self.profile.reply_from {
            let _ = write!(tail, ", the scan of answers from `{series}`");
        }
        let assumptions = self.profile.assumptions();
        if !assumptions.is_empty() {
            let number = plural(assumptions.len(), "assumption");
            let _ = write!(tail, "; {number}: {}", assumptions.join("; "));
        }
        tail.push_str(".\n");
        tail
    }

    /// Returns a picture of the round trips of the series that gives the stack, or of the first one;
    /// `None` if there are none.
    pub fn picture(self) -> Option<Markup> {
        let named = self.profile.stack_from.as_deref();
        let stack = named.and_then(|name| self.profile.series(name));
        let mut all = stack.into_iter().chain(&self.profile.requests);
        all.find(|own| !own.histogram.is_empty()).map(picture)
    }
}

#[allow(clippy::cast_precision_loss, reason = "a picture shows no digit beyond 2^52")]
pub(super) fn picture(series: &Series) -> Markup {
    // Each group has its name below: some of them are enough to read the axis.
    let every = series.histogram.len().div_ceil(8).max(1);
    let bins = series.histogram.iter().enumerate();
    let groups = bins.map(|(number, bin)| {
        let name = if number % every == 0 { bin.from.to_string() } else { String::new() };
        (name, vec![Some(Column { value: bin.count as f64, ..Column::default() })])
    });
    ColumnChart {
        title: format!("Round trips of {}, less the share of the network", series.protocol),
        note: plural(series.histogram.len(), "bin"),
        y: Axis::number("round trips"),
        series: vec![series.protocol.clone()],
        groups: groups.collect(),
        ..ColumnChart::default()
    }
    .render()
}

impl Render for Shown<'_> {
    fn parts(&self, _: Screen) -> Vec<Part> {
        vec![self.head().into(), self.table().into(), self.tail().into()]
    }

    fn rows(&self) -> Table {
        self.table()
    }

    fn json(&self) -> String {
        let own = self.profile;
        let series = own.requests.iter().map(|series| SeriesJson {
            protocol: &series.protocol,
            method: series.method.word(),
            sent: series.sent,
            answered: series.answered,
            lost: series.lost,
            confirmed: series.confirmed.map(|trial| trial.holds),
            misfits: series
                .misfits
                .iter()
                .map(|own| MisfitJson { kind: own.kind.word(), why: &own.why })
                .collect(),
            figures: figures(series),
            histogram: series
                .histogram
                .iter()
                .map(|bin| BinJson { from_ns: Ns(bin.from), to_ns: Ns(bin.to), count: bin.count })
                .collect(),
        });
        document::text(&ProfileJson {
            device: &own.device,
            firmware: own.firmware.as_deref(),
            address: own.address.as_deref(),
            date: &own.date,
            host: own.host.as_deref(),
            stack_from: own.stack_from.as_deref(),
            reply_from: own.reply_from.as_deref(),
            assumptions: own.assumptions(),
            series: series.collect(),
        })
    }
}

fn figures(series: &Series) -> Vec<FigureJson<'_>> {
    let all = FIGURES.into_iter().chain(WORDS).map(|figure| {
        let found = Found::of(series, figure);
        let range = found.as_ref().and_then(Found::range);
        FigureJson {
            figure,
            value_ns: range.map(|own| Ns(own.value)),
            low_ns: range.map(|own| Ns(own.low)),
            high_ns: range.map(|own| Ns(own.high)),
            word: found.as_ref().and_then(Found::word),
            why: if found.is_some() { None } else { series.reason(figure) },
        }
    });
    all.filter(|own| own.value_ns.is_some() || own.word.is_some() || own.why.is_some()).collect()
}
