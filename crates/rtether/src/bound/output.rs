//! Bounds in all formats.

use std::collections::BTreeMap;
use std::io::{self, Write};

use rtether_bounds::{Analysis, Bound, Condition, PortBound, StreamBound};
use rtether_model::flow::Flow;
use rtether_model::quantity::Duration;
use rtether_report::document;
use rtether_report::format::{Part, Render};
use rtether_report::table::{Cell, Screen, Table};
use rtether_report::text::{percent, plain_line, plural, time};

use super::conclusion::conclusion;
use super::condition::only_if;
use super::document::with;
use super::names::{Names, flow_limit, policer};
use super::{MODEL, Statistical, counts, reason, responsible, statistical, verdict};
use crate::bound::assumed;
use crate::scenario::Scenario;
use crate::sums;
use crate::touching::condition_of;
use crate::words::Conclusion;

/// Converts millionths to a share.
#[allow(clippy::cast_precision_loss, reason = "for display")]
pub(super) fn share(ppm: u64) -> f64 {
    ppm as f64 / 1e6
}

/// The bounds of a scenario, in all formats.
#[derive(Clone, Copy, Debug)]
pub struct Bounds<'a> {
    /// The scenario.
    pub scenario: &'a Scenario,
    /// Its bounds.
    pub analysis: &'a Analysis,
}

impl Render for Bounds<'_> {
    fn parts(&self, _: Screen) -> Vec<Part> {
        let Self { scenario, analysis } = *self;
        let footnote = if statistical(scenario).iter().any(Option::is_some) {
            format!("{MODEL}\n")
        } else {
            String::new()
        };
        let rest = format!(
            "\n{footnote}busiest ports  {}\n{}{}{}\n",
            busiest(scenario, analysis),
            open_flows(scenario, analysis),
            policers(scenario, analysis),
            self.conclusion().sentence(&summary(scenario, analysis))
        );
        let title = format!("{}\n", plain_line(&scenario.name));
        let mut parts = vec![title.into(), self.streams().into()];
        let sums = sums::proved(scenario, analysis);
        if !sums.is_empty() {
            let table = sums::table(&sums, "bound", "bound_ns");
            parts.extend(["\n".to_owned().into(), table.into()]);
        }
        parts.extend([rest.into(), sums::said(&sums).into()]);
        parts
    }

    fn rows(&self) -> Table {
        let sums = sums::proved(self.scenario, self.analysis);
        let sums = sums::table(&sums, "bound", "bound_ns");
        self.streams().append(&sums)
    }

    fn json(&self) -> String {
        with(self.scenario, self.analysis, |document| document::text(document))
    }

    fn write_json(&self, out: &mut dyn Write) -> io::Result<()> {
        with(self.scenario, self.analysis, |document| document::write(document, out))
    }
}

impl Bounds<'_> {
    /// Returns whether every bound, and every sum of bounds, meets its limit; no answer if none exceeds
    /// it, but a flow with a deadline has no bound.
    pub fn conclusion(&self) -> Conclusion {
        conclusion(self.scenario, self.analysis)
    }

    /// Returns a row per stream.
    fn streams(&self) -> Table {
        let Self { scenario, analysis } = *self;
        let names = Names::new(scenario);
        let statistical = statistical(scenario);
        let has_statistical = statistical.iter().any(Option::is_some);
        let name = |id| scenario.network.node(id).name.as_str();
        let assumptions = assumed::by_flow(scenario);
        let is_one = |judged| verdict(scenario, judged).starts_with("if-");
        let has_conditions = analysis.judged().any(is_one);
        let streams = analysis.judged().zip(statistical);
        let rows = streams.map(|((stream, condition), said)| Row {
            condition,
            flow: &scenario.flows[stream.flow.index()],
            stream,
            bound: stream.bound.as_ref().ok(),
            said,
        });
        Table::of(rows)
            .both("flow", "flow", |row| &row.flow.name)
            .shown("talker > listener", |row| {
                format!("{} > {}", name(row.flow.talker), name(row.stream.listener))
            })
            .rank(2)
            .file("talker", |row| name(row.flow.talker))
            .file("listener", |row| name(row.stream.listener))
            .file("verdict", |row| verdict(scenario, (row.stream, row.condition)))
            .file("deadline_ns", |row| row.flow.deadline)
            .number("bound", "bound_ns", |row| match row.bound {
                Some(bound) => bound.latency.into(),
                None => Cell::default().shown("none"),
            })
            .amount("deadline", |row| row.flow.deadline)
            .number("slack", "slack_ns", |row| row.bound.and_then(|bound| bound.slack))
            .file("method", |row| row.bound.map(|bound| bound.method.name()))
            .file("responsible", |row| Some(responsible(&names, row.bound?)?.0))
            .file("late_statistical_ratio", |row| row.said.map(|said| said.late_ratio))
            .file("reason", |row| row.reason(scenario))
            .shown("verdict", |row| super::words(verdict(scenario, (row.stream, row.condition))))
            .file("only_if", |row| Some(only_if(&names, analysis, row.condition?)))
            .file("assumptions", |row| assumptions[row.stream.flow.index()])
            .when(has_conditions, |rows| {
                rows.shown("only", |row| {
                    let judged = (row.stream, row.condition);
                    let condition = row.condition?;
                    let is_one = verdict(scenario, judged).starts_with("if-");
                    is_one.then(|| only_if(&names, analysis, condition))
                })
                .rank(1)
            })
            .when(has_statistical, |rows| {
                rows.shown("statistical", |row| row.said.map(|said| said.words())).rank(4)
            })
            .shown("largest part, or why there is no bound", |row| row.remark(scenario, &names))
            .rank(3)
            .done()
    }
}

/// A stream and what is said of it.
struct Row<'a> {
    flow: &'a Flow,
    stream: &'a StreamBound,
    condition: Option<&'a Condition>,
    bound: Option<&'a Bound>,
    said: Option<Statistical>,
}

impl Row<'_> {
    fn reason(&self, scenario: &Scenario) -> Option<String> {
        let why = self.stream.bound.as_ref().err();
        why.map(|why| reason(scenario, why))
    }

    fn remark(&self, scenario: &Scenario, names: &Names<'_>) -> String {
        let largest = self.bound.and_then(|bound| responsible(names, bound));
        let largest = largest.map(|(place, share)| format!("{} {place}", percent(share)));
        self.reason(scenario).or(largest).unwrap_or_default()
    }
}

/// Returns the number of streams with each verdict, in words.
fn summary(scenario: &Scenario, analysis: &Analysis) -> String {
    let found = counts(scenario, analysis);
    let proved = format!("proved{}", condition_of(scenario));
    let words = [
        (found.ok, proved.as_str()),
        (found.if_delivered, "proved if delivered"),
        (found.if_nothing_dropped, "proved if nothing is dropped"),
        (found.late, "not proved"),
        (found.unknown, "without a bound"),
        (found.unjudged, "without a deadline"),
    ];
    let words = words.into_iter().filter(|(number, _)| *number > 0);
    let words: Vec<String> = words.map(|(number, word)| format!("{number} {word}")).collect();
    format!(
        "{}: {}.{}",
        plural(analysis.streams.len(), "stream"),
        words.join(", "),
        conditions(scenario, analysis),
    )
}

/// Returns what the proofs that are none rest on, as a sentence; empty without any.
fn conditions(scenario: &Scenario, analysis: &Analysis) -> String {
    let first = analysis.judged().find_map(|judged| {
        let is_one = verdict(scenario, judged).starts_with("if-");
        judged.1.filter(|_| is_one)
    });
    first.map_or_else(String::new, |condition| {
        format!(" Only {}.", only_if(&Names::new(scenario), analysis, condition))
    })
}

pub(super) fn signed(span: Duration) -> String {
    if span.is_negative() { format!("-{}", time(Duration::ZERO - span)) } else { time(span) }
}

fn busiest(scenario: &Scenario, analysis: &Analysis) -> String {
    let mut ports: Vec<&PortBound> = analysis.ports.iter().collect();
    ports.sort_by_key(|port| std::cmp::Reverse(port.utilization_ppm.unwrap_or(u64::MAX)));
    let names = Names::new(scenario);
    let words = ports.into_iter().take(3).map(|port| {
        let load =
            port.utilization_ppm.map_or_else(|| "unlimited".into(), |ppm| percent(share(ppm)));
        format!("{} {load}", names.port(port.port))
    });
    words.collect::<Vec<_>>().join(", ")
}

/// Returns one line on what limits the flows with unlimited releases; empty without any.
fn open_flows(scenario: &Scenario, analysis: &Analysis) -> String {
    let mut limits: BTreeMap<String, usize> = BTreeMap::new();
    for open in &analysis.open_flows {
        *limits.entry(flow_limit(scenario, open.limit)).or_default() += 1;
    }
    let words = limits.iter().map(|(limit, flows)| match flows {
        1 => format!("1 flow by {limit}"),
        _ => format!("{flows} flows by {limit}"),
    });
    let words: Vec<String> = words.collect();
    if words.is_empty() {
        return String::new();
    }
    format!("bulk limited   {}\n", words.join(", "))
}

/// Returns one line on rules whose limits frames may exceed; empty without any.
fn policers(scenario: &Scenario, analysis: &Analysis) -> String {
    let open = analysis.policers.iter().filter(|policer| !policer.is_kept);
    let mut names: Vec<String> = open.map(|own| policer(scenario, own)).collect();
    names.dedup();
    if names.is_empty() {
        return String::new();
    }
    let others = names.len().saturating_sub(3);
    let more = if others > 0 { format!(" and {others} more") } else { String::new() };
    let named = names[..names.len() - others].join(", ");
    format!("not kept       {named}{more}: frames may be dropped or demoted\n")
}
