//! The parts of a bound as tables and JSON.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use rtether_bounds::Share;
use rtether_model::flow::FlowId;
use rtether_model::quantity::Duration;
use rtether_model::record::Segment;
use rtether_report::document;
use rtether_report::format::{Part as Piece, Render};
use rtether_report::number::Ns;
use rtether_report::table::{Screen, Table};
use rtether_report::text::{percent, plural, share, time};
use schemars::JsonSchema;
use serde::Serialize;

use super::advice::{loses, remedy};
use super::{Hop, Parts, WhyBound};
use crate::bound::condition::OnlyIf;
use crate::bound::reason;
use crate::scenario::Override;
use crate::why::WhyJson;

/// A line of the table: a part, or a wait in it, or what the waits leave uncovered.
struct Row<'a> {
    number: usize,
    hop: &'a Hop,
    line: Line<'a>,
}

/// What a line shows.
#[derive(Clone, Copy)]
enum Line<'a> {
    /// The whole part.
    Part,
    /// A wait in it.
    Wait(&'a Share),
    /// The shorter waits of a part with many, for people.
    Others(usize, Duration),
    /// What the waits leave uncovered.
    Rest(Duration),
}

/// Waits of a part that people see, if there are more than a few.
const MOST_WAITS: usize = 12;

impl Row<'_> {
    fn share(&self) -> Option<&Share> {
        match self.line {
            Line::Wait(share) => Some(share),
            Line::Part | Line::Others(..) | Line::Rest(_) => None,
        }
    }

    fn time(&self) -> Duration {
        match self.line {
            Line::Part => self.hop.time(),
            Line::Wait(share) => share.time,
            Line::Others(_, time) | Line::Rest(time) => time,
        }
    }
}

/// Returns what the packet does in a part while it waits for no other one.
const fn rest_name(hop: &Hop) -> &'static str {
    if matches!(
        hop.place.segment,
        Segment::TalkerStack | Segment::ReceiveStack | Segment::Application
    ) {
        "own service"
    } else {
        "fixed"
    }
}

/// Returns lines for waits; for people, the longest of many and one line for the others.
fn waits(shares: &[Share], is_for_people: bool) -> Vec<Line<'_>> {
    let mut longest: Vec<&Share> = shares.iter().collect();
    if !is_for_people || shares.len() <= MOST_WAITS {
        return longest.into_iter().map(Line::Wait).collect();
    }
    longest.sort_by_key(|share| std::cmp::Reverse(share.time));
    let others = longest.split_off(MOST_WAITS - 2);
    // In their order, as in files.
    let is_shown = |share: &&Share| longest.iter().any(|known| std::ptr::eq(*known, *share));
    let mut lines: Vec<Line<'_>> = shares.iter().filter(is_shown).map(Line::Wait).collect();
    let time = others.iter().map(|share| share.time).sum();
    lines.push(Line::Others(others.len(), time));
    lines
}

impl WhyBound<'_> {
    /// Returns the name of the flow, with the listener if there are several.
    pub fn stream_name(&self) -> String {
        self.stream.name(self.scenario)
    }

    /// Returns a wait in words: which packets are waited for.
    pub(in crate::why) fn share_name(&self, share: &Share) -> String {
        match share.flow {
            Some(flow) => {
                let reply = if share.is_reply { ", replies" } else { "" };
                format!("`{}`{reply}", self.scenario.flow_name(flow))
            }
            None if share.flows > 0 => format!("{} other flows", share.flows),
            None => "rounding".to_owned(),
        }
    }

    /// Returns a line per part and wait; for people, only the longest of many waits.
    fn lines(parts: &Parts, is_for_people: bool) -> Vec<Row<'_>> {
        let mut rows = Vec::new();
        for (number, hop) in parts.hops.iter().enumerate() {
            let mut lines = vec![Line::Part];
            lines.extend(waits(&hop.shares, is_for_people));
            if !hop.shares.is_empty() && hop.rest() > Duration::ZERO {
                lines.push(Line::Rest(hop.rest()));
            }
            rows.extend(lines.into_iter().map(|line| Row { number, hop, line }));
        }
        rows
    }

    fn table(&self, rows: Vec<Row<'_>>, whole: Duration) -> Table {
        let is_part = |row: &Row<'_>| matches!(row.line, Line::Part);
        Table::of(rows)
            .file("hop", |row| row.number)
            .amount("at", |row| is_part(row).then(|| time(row.hop.enter)))
            .rank(2)
            .number("time", "time_ns", Row::time)
            .amount("share", |row| percent(share(row.time(), whole)))
            .rank(1)
            .shown("where, and behind which flow", |row| match row.line {
                Line::Part => row.hop.name.clone(),
                Line::Wait(share) => format!("  {}", self.share_name(share)),
                Line::Others(count, _) => format!("  {count} more, each shorter"),
                Line::Rest(_) => format!("  {}", rest_name(row.hop)),
            })
            .shown("longest packet", |row| {
                let packet = row.share()?.packet;
                (packet > Duration::ZERO).then(|| time(packet))
            })
            .rank(3)
            .both("cause", "cause", |row| match row.line {
                Line::Wait(share) => Some(share.cause.name()),
                Line::Part | Line::Others(..) | Line::Rest(_) => None,
            })
            .rank(4)
            .file("place", |row| row.hop.name.clone())
            .file("enter_ns", |row| row.hop.enter)
            .file("leave_ns", |row| row.hop.leave)
            .file("flow", |row| {
                let flow = row.share().and_then(|share| share.flow);
                flow.map(|flow| self.scenario.flow_name(flow).to_owned())
            })
            .file("flows", |row| row.share().map(|share| share.flows))
            .file("is_reply", |row| row.share().map(|share| share.is_reply))
            .file("packet_ns", |row| row.share().map(|share| share.packet))
            .done()
    }

    /// Returns the first lines for people.
    pub(crate) fn headline(&self) -> String {
        let name = self.stream_name();
        match &self.found {
            Ok(parts) => format!(
                "{name}: bound {}\nby {}{}\n\n",
                self.judged(parts.composition.latency),
                parts.composition.method.name(),
                self.only_if.as_ref().map_or_else(String::new, |own| format!(", {}", own.words))
            ),
            Err(why) => format!("{name}: no bound\n{}\n\n", reason(self.scenario, why)),
        }
    }

    /// Returns a bound beside the deadline: `1 ms, within its deadline 2 ms if delivered`.
    fn judged(&self, latency: Duration) -> String {
        let only_if = self.only_if.as_ref();
        let condition = only_if.map_or_else(String::new, |own| format!(" {}", own.word));
        let deadline = self.scenario.flows[self.stream.flow.index()].deadline;
        match deadline.map(|deadline| (latency <= deadline, time(deadline))) {
            None => time(latency) + &condition,
            Some((true, deadline)) => {
                format!("{}, within its deadline {deadline}{condition}", time(latency))
            }
            Some((false, deadline)) => {
                format!("{}{condition}, above its deadline {deadline}", time(latency))
            }
        }
    }

    /// Returns the lines below the table: the methods, and the longest part.
    fn end(parts: &Parts) -> String {
        let mut text = String::from("\n");
        let whole = parts.composition.latency;
        if let Some(longest) = parts.hops.iter().rev().max_by_key(|hop| hop.time()) {
            let part = percent(share(longest.time(), whole));
            let _ = writeln!(text, "Longest part: {part} {}.", longest.name);
        }
        let (least, method) = (parts.bound.latency, parts.composition.method);
        if least < whole {
            let _ = writeln!(
                text,
                "The least bound is {} ({}); its waits cannot be split by flow, so the parts are those of \
                 {} ({}).",
                time(least),
                parts.bound.method.name(),
                time(whole),
                method.name()
            );
        }
        for &(other, latency) in &parts.bound.by_method {
            if latency > least {
                let name = other.name();
                let _ = writeln!(text, "By {name}: {}; {}.", time(latency), loses(other));
            }
        }
        text
    }
}

/// Most flows whose releases are named for people.
const MANY: usize = 12;

/// Returns the first of the releases of a flow.
fn first(releases: &[Duration]) -> Duration {
    releases.first().copied().unwrap_or_default()
}

impl WhyBound<'_> {
    /// Returns the lines on the pattern of arrivals.
    fn pattern(&self, parts: &Parts) -> String {
        let Some(pattern) = &self.pattern else {
            return String::new();
        };
        let bound = parts.bound.latency;
        let near = if pattern.latency == bound {
            "The bound is attained".to_owned()
        } else {
            let below = bound - pattern.latency;
            format!(
                "Simulated up to {}, {} or {} below the bound",
                time(pattern.latency),
                time(below),
                percent(share(below, bound))
            )
        };
        let name = |flow: FlowId| &self.scenario.flows[flow.index()].name;
        let releases = pattern.releases.iter().take(MANY);
        let mut releases: Vec<String> =
            releases.map(|(flow, at)| format!("`{}` {}", name(*flow), time(first(at)))).collect();
        match pattern.releases.len().saturating_sub(MANY) {
            0 => {}
            more => releases.push(format!("and {} in JSON", plural(more, "flow"))),
        }
        let mut text = format!("{near}, with these first releases: {}.\n", releases.join(", "));
        if pattern.releases.len() <= MANY {
            let edits = pattern.edits(self.scenario);
            let edits: Vec<String> = edits.iter().map(Override::argument).collect();
            let _ = writeln!(text, "As edits: {}", edits.join(" "));
        } else {
            text.push_str("The edits that make it are in JSON (`--json`).\n");
        }
        text
    }

    /// Returns the pattern of arrivals as documents have it.
    fn pattern_json(&self, parts: &Parts) -> Option<PatternJson<'_>> {
        let pattern = self.pattern.as_ref()?;
        let releases = pattern.releases.iter().map(|(flow, at)| ReleaseJson {
            flow: &self.scenario.flows[flow.index()].name,
            ns: Ns(first(at)),
        });
        Some(PatternJson {
            latency_ns: Ns(pattern.latency),
            is_attained: pattern.latency == parts.bound.latency,
            releases: releases.collect(),
            edits: pattern.edits(self.scenario).iter().map(Override::text).collect(),
        })
    }
}

impl Render for WhyBound<'_> {
    fn parts(&self, _: Screen) -> Vec<Piece> {
        match &self.found {
            Ok(parts) => vec![
                self.headline().into(),
                self.table(Self::lines(parts, true), parts.composition.latency).into(),
                Self::end(parts).into(),
                self.pattern(parts).into(),
            ],
            Err(why) => {
                let remedy = remedy(self.scenario, self.stream.flow, why);
                vec![self.headline().into(), format!("What would give it one: {remedy}.\n").into()]
            }
        }
    }

    /// One row for each part, followed by one for each wait in it.
    fn rows(&self) -> Table {
        match &self.found {
            Ok(parts) => self.table(Self::lines(parts, false), parts.composition.latency),
            Err(_) => self.table(Vec::new(), Duration::ZERO),
        }
    }

    fn json(&self) -> String {
        let flow = &self.scenario.flows[self.stream.flow.index()];
        let parts = self.found.as_ref().ok();
        let why = self.found.as_ref().err();
        let by_method = parts.map(|parts| {
            let all = parts.bound.by_method.iter();
            all.map(|(method, latency)| (method.name(), Ns(*latency))).collect()
        });
        let hops = parts.iter().flat_map(|parts| &parts.hops);
        document::text(&WhyJson::Bound(BoundJson {
            scenario: &self.scenario.name,
            flow: &flow.name,
            listener: &self.scenario.network.node(self.stream.listener).name,
            is_bound: true,
            latency_ns: parts.map(|parts| Ns(parts.composition.latency)),
            deadline_ns: flow.deadline.map(Ns),
            method: parts.map(|parts| parts.composition.method.name()),
            bound_ns: parts.map(|parts| Ns(parts.bound.latency)),
            by_method_ns: by_method,
            only_if: self.only_if.as_ref().map(|own| &own.places),
            pattern: parts.and_then(|parts| self.pattern_json(parts)),
            reason: why.map(|why| reason(self.scenario, why)),
            remedy: why.map(|why| remedy(self.scenario, self.stream.flow, why)),
            hops: hops.map(|hop| self.hop(hop)).collect(),
        }))
    }
}

/// The parts of a bound, of `rtether why --bound`.
#[derive(Serialize, JsonSchema)]
pub(crate) struct BoundJson<'a> {
    /// Title of the scenario.
    scenario: &'a str,
    /// Name of the flow.
    flow: &'a str,
    /// Name of the listener.
    listener: &'a str,
    /// `true`.
    is_bound: bool,
    /// The bound that the parts add up to; `null` without one.
    latency_ns: Option<Ns>,
    /// Deadline of the flow, or `null`.
    deadline_ns: Option<Ns>,
    /// Its method; `null` without a bound.
    method: Option<&'static str>,
    /// The least bound, which differs only if its waits cannot be split.
    bound_ns: Option<Ns>,
    /// That of each method.
    by_method_ns: Option<BTreeMap<&'static str, Ns>>,
    /// What must drop nothing for the bound to be a proof, or `null`.
    only_if: Option<&'a OnlyIf>,
    /// Releases that come near the bound, or `null`.
    pattern: Option<PatternJson<'a>>,
    /// Why there is no bound; else `null`.
    reason: Option<String>,
    /// What would give one; else `null`.
    remedy: Option<String>,
    /// The parts in the order in which a packet passes them, without a gap.
    hops: Vec<HopJson<'a>>,
}

#[derive(Serialize, JsonSchema)]
struct PatternJson<'a> {
    /// Simulated latency.
    latency_ns: Ns,
    /// Whether that is the bound.
    is_attained: bool,
    /// First release of each flow.
    releases: Vec<ReleaseJson<'a>>,
    /// `PATH=VALUE` of `--set` that make the pattern.
    edits: Vec<String>,
}

#[derive(Serialize, JsonSchema)]
struct ReleaseJson<'a> {
    /// Name of the flow.
    flow: &'a str,
    /// Its first release.
    ns: Ns,
}

#[derive(Serialize, JsonSchema)]
struct HopJson<'a> {
    /// The place in words.
    place: &'a str,
    /// Its kind, as in the segments of a stream.
    part: &'static str,
    /// Its node.
    node: &'a str,
    /// The latest time at which the packet comes, counted from its release.
    enter_ns: Ns,
    /// The latest time at which it leaves.
    leave_ns: Ns,
    /// The difference.
    ns: Ns,
    /// What each flow adds to the wait.
    waits: Vec<WaitJson<'a>>,
    /// The part of `ns` that is not covered by waits.
    rest_ns: Ns,
}

#[derive(Serialize, JsonSchema)]
struct WaitJson<'a> {
    /// Name of the flow; `null` for rounding, and where many are taken together.
    flow: Option<&'a str>,
    /// Their number.
    flows: u32,
    /// Whether these are replies.
    is_reply: bool,
    /// Why the packet waits for it.
    cause: &'static str,
    /// How long.
    ns: Ns,
    /// Longest service of one of its packets.
    packet_ns: Ns,
}

impl WhyBound<'_> {
    fn hop<'a>(&'a self, hop: &'a Hop) -> HopJson<'a> {
        let waits = hop.shares.iter().map(|share| WaitJson {
            flow: share.flow.map(|flow| self.scenario.flow_name(flow)),
            flows: share.flows,
            is_reply: share.is_reply,
            cause: share.cause.name(),
            ns: Ns(share.time),
            packet_ns: Ns(share.packet),
        });
        HopJson {
            place: &hop.name,
            part: hop.place.segment.name(),
            node: &self.scenario.network.node(hop.place.port.node).name,
            enter_ns: Ns(hop.enter),
            leave_ns: Ns(hop.leave),
            ns: Ns(hop.time()),
            waits: waits.collect(),
            rest_ns: Ns(hop.rest()),
        }
    }
}
