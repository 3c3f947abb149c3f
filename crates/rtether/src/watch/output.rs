//! What became of a watch, in every format, and for Prometheus.

use std::collections::BTreeMap;
use std::fmt::Write;

use rtether_report::document::{self, Document, Members};
use rtether_report::format::{Part, Render};
use rtether_report::table::{Screen, Table};
use rtether_report::text::{plain_line, plural};
use schemars::JsonSchema;
use serde::Serialize;

use super::{Counts, Watch};
use crate::against::Deviation;
use crate::words::Conclusion;

/// How a flow stands.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FlowStand {
    /// Its name, as planned if it is.
    pub name: String,
    /// Talker and listener of the plan; empty for a group, and if it is not planned.
    pub talker: String,
    /// See [`Self::talker`].
    pub listener: String,
    /// Its frames since learning ended.
    pub frames: u64,
    /// Whether it is in the plan.
    pub is_planned: bool,
    /// Whether it should send and does not.
    pub is_silent: bool,
    /// How often it has deviated, in each way.
    pub deviations: BTreeMap<Deviation, u64>,
}

/// How all flows stand.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Outcome {
    /// Name of the plan.
    pub plan: String,
    /// What was counted.
    pub counts: Counts,
    /// Flows of the plan, then the others.
    pub flows: Vec<FlowStand>,
    /// Time since the begin, in nanoseconds.
    pub span: i64,
    /// Whether it is still learning which stream is which flow.
    pub is_learning: bool,
    /// Whether it was interrupted before its planned end.
    pub is_partial: bool,
}

/// How the flows of a plan stand after a watch.
#[derive(Serialize, JsonSchema)]
pub(crate) struct WatchJson<'a> {
    /// Title of the plan.
    plan: &'a str,
    conclusion: Conclusion,
    /// How its flows stand.
    summary: String,
    /// Whether anything has deviated.
    deviates: bool,
    /// Whether it was still learning at the end.
    learning: bool,
    /// From the first frame to the last.
    duration_ns: i64,
    #[serde(flatten)]
    counts: Counts,
    /// Planned flows in the order of the plan, then streams that are not planned.
    flows: Vec<FlowJson<'a>>,
}

#[derive(Serialize, JsonSchema)]
struct FlowJson<'a> {
    /// Its name.
    name: &'a str,
    /// Station that sends.
    talker: &'a str,
    /// Station that receives; `null` for a group.
    listener: Option<&'a String>,
    /// Whether it is in the plan.
    planned: bool,
    /// Whether it should send now and does not.
    silent: bool,
    /// Its frames since learning.
    frames: u64,
    /// How often each deviation happened, by the words of `rtether.against/1`.
    deviations: Members<&'static str, u64>,
}

impl Document for WatchJson<'_> {
    const SCHEMA: &'static str = "rtether.watch/1";
}

impl Outcome {
    pub(super) fn of(watch: &Watch) -> Self {
        let planned = watch.monitors.iter().map(|monitor| FlowStand {
            name: monitor.way.name.clone(),
            talker: monitor.way.from.clone(),
            listener: monitor.way.to.clone(),
            frames: monitor.frames,
            is_planned: true,
            is_silent: monitor.is_silent,
            deviations: monitor
                .found
                .iter()
                .map(|(deviation, found)| (*deviation, found.count))
                .collect(),
        });
        let strangers = watch.strangers.values().map(|stranger| FlowStand {
            name: stranger.name.clone(),
            talker: String::new(),
            listener: String::new(),
            frames: stranger.frames,
            is_planned: false,
            is_silent: false,
            deviations: BTreeMap::from([(Deviation::NotPlanned, stranger.frames)]),
        });
        Self {
            plan: watch.plan.name.clone(),
            counts: watch.counts,
            flows: planned.chain(strangers).collect(),
            span: watch.begin.map_or(0, |begin| watch.now.saturating_sub(begin)),
            is_learning: watch.learner.is_some(),
            is_partial: false,
        }
    }

    /// Returns whether anything deviates, or has deviated.
    pub fn deviates(&self) -> bool {
        self.flows.iter().any(|flow| !flow.deviations.is_empty())
    }

    /// Returns the verdict: failed if anything deviates, no answer without a frame.
    pub fn conclusion(&self) -> Conclusion {
        if self.is_partial {
            return Conclusion::Interrupted;
        }
        Conclusion::meets((self.counts.frames > 0).then(|| !self.deviates()))
    }

    /// Returns the verdict in a sentence.
    pub fn summary(&self) -> String {
        self.conclusion().sentence(&self.said())
    }

    /// Says how many flows match, and what was counted.
    fn said(&self) -> String {
        let planned = self.flows.iter().filter(|flow| flow.is_planned);
        let (planned, well) = planned.fold((0, 0), |(all, well), flow| {
            (all + 1, well + usize::from(flow.deviations.is_empty()))
        });
        let mut words =
            vec![format!("{well} of {} without deviation", plural(planned, "planned flow"))];
        let others = self.flows.len() - planned;
        if others > 0 {
            words.push(format!("{} not in the plan", plural(others, "stream")));
        }
        let Counts { frames, service, dropped, untold, .. } = self.counts;
        words.push(format!("{frames} frames"));
        let more = [
            (service, "of the network itself"),
            (dropped, "dropped"),
            (untold, "alerts not shown"),
        ];
        let more = more.into_iter().filter(|(count, _)| *count > 0);
        words.extend(more.map(|(count, what)| format!("{count} {what}")));
        words.join(", ")
    }
}

impl FlowStand {
    /// Returns how often it has deviated, by the words of documents, in the order of these.
    fn counted(&self) -> Members<&'static str, u64> {
        let counts = self.deviations.iter().map(|(deviation, count)| (deviation.name(), *count));
        Members(counts.collect::<BTreeMap<_, _>>().into_iter().collect())
    }

    fn standing(&self) -> String {
        if self.deviations.is_empty() {
            let word = if self.frames > 0 { "matches" } else { "quiet" };
            return word.to_owned();
        }
        let names = self.deviations.iter();
        let names: Vec<String> =
            names.map(|(deviation, count)| format!("{} {count}", deviation.name())).collect();
        names.join(", ")
    }
}

impl Render for Outcome {
    fn parts(&self, _: Screen) -> Vec<Part> {
        let flows = self.flows.iter();
        let apart: Vec<&FlowStand> = flows.filter(|flow| !flow.deviations.is_empty()).collect();
        let mut parts = Vec::new();
        if !apart.is_empty() {
            let table = Table::of(apart)
                .shown("flow", |flow| flow.name.clone())
                .shown("deviations", |flow| flow.standing())
                .shown("talker", |flow| flow.talker.clone())
                .rank(2)
                .shown("listener", |flow| flow.listener.clone())
                .rank(2)
                .shown("frames", |flow| flow.frames.to_string());
            parts.push(table.done().into());
        }
        let said = format!("{}: {}", plain_line(&self.plan), self.said());
        parts.push((self.conclusion().sentence(&said) + "\n").into());
        parts
    }

    /// One row for each flow.
    fn rows(&self) -> Table {
        Table::of(&self.flows)
            .file("flow", |flow| flow.name.clone())
            .file("talker", |flow| flow.talker.clone())
            .file("listener", |flow| flow.listener.clone())
            .file("planned", |flow| flow.is_planned.to_string())
            .file("silent", |flow| flow.is_silent.to_string())
            .file("frames", |flow| flow.frames)
            .file("standing", |flow| flow.standing())
            .done()
    }

    fn json(&self) -> String {
        let flows = self.flows.iter().map(|flow| FlowJson {
            name: &flow.name,
            talker: &flow.talker,
            listener: (!flow.listener.is_empty()).then_some(&flow.listener),
            planned: flow.is_planned,
            silent: flow.is_silent,
            frames: flow.frames,
            deviations: flow.counted(),
        });
        document::text(&WatchJson {
            plan: &self.plan,
            conclusion: self.conclusion(),
            summary: self.summary(),
            deviates: self.deviates(),
            learning: self.is_learning,
            duration_ns: self.span,
            counts: self.counts,
            flows: flows.collect(),
        })
    }
}

/// Returns how things stand in the text format of Prometheus; `device` is a label of each sample.
pub fn metrics(outcome: &Outcome, device: &str) -> String {
    let mut page = Page { out: String::new(), device: escaped(device) };
    page.counts(outcome);
    page.flows(outcome);
    page.out
}

/// A page to which metrics are added one by one.
struct Page {
    out: String,
    device: String,
}

impl Page {
    fn head(&mut self, name: &str, help: &str) {
        let kind = if name.ends_with("_total") { "counter" } else { "gauge" };
        _ = writeln!(self.out, "# HELP rtether_watch_{name} {help}");
        _ = writeln!(self.out, "# TYPE rtether_watch_{name} {kind}");
    }

    fn sample(&mut self, name: &str, labels: &str, value: u64) {
        let device = &self.device;
        _ = writeln!(self.out, "rtether_watch_{name}{{device=\"{device}\"{labels}}} {value}");
    }

    fn counts(&mut self, outcome: &Outcome) {
        let counts = outcome.counts;
        let strangers = outcome.flows.iter().filter(|flow| !flow.is_planned);
        let strangers = u64::try_from(strangers.count()).unwrap_or(u64::MAX);
        let learning = u64::from(outcome.is_learning);
        for (name, help, value) in [
            ("frames_total", "Frames seen.", counts.frames),
            ("service_frames_total", "Frames that keep the network going.", counts.service),
            ("unread_frames_total", "Frames with headers that cannot be read.", counts.unread),
            ("dropped_frames_total", "Frames dropped before they were seen.", counts.dropped),
            ("alerts_total", "Alerts told.", counts.alerts),
            ("untold_alerts_total", "Alerts counted and not told.", counts.untold),
            ("strangers", "Streams that are not in the plan.", strangers),
            ("learning", "Whether streams are still bound to flows.", learning),
        ] {
            self.head(name, help);
            self.sample(name, "", value);
        }
    }

    fn flows(&mut self, outcome: &Outcome) {
        let planned = || outcome.flows.iter().filter(|flow| flow.is_planned);
        self.head("flow_frames_total", "Frames of a planned flow.");
        for flow in planned() {
            self.sample("flow_frames_total", &labels(flow), flow.frames);
        }
        self.head("flow_silent", "Whether a planned flow is missing now.");
        for flow in planned() {
            self.sample("flow_silent", &labels(flow), flow.is_silent.into());
        }
        self.head("deviations_total", "Deviations of a planned flow.");
        for flow in planned() {
            for (deviation, count) in &flow.deviations {
                let name = deviation.name();
                let labels = format!("{},deviation=\"{name}\"", labels(flow));
                self.sample("deviations_total", &labels, *count);
            }
        }
    }
}

/// Returns the labels of a flow; names may repeat for several listeners.
fn labels(flow: &FlowStand) -> String {
    let (name, listener) = (escaped(&flow.name), escaped(&flow.listener));
    format!(",flow=\"{name}\",listener=\"{listener}\"")
}

fn escaped(text: &str) -> String {
    text.replace('\\', "\\\\").replace('"', "\\\"").replace('\n', "\\n")
}
