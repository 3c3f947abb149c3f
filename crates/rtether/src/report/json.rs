//! The result as one JSON document, schema `rtether.result/1`.
//!
//! Times are nanoseconds, exact to the picosecond below 2.4 hours and rounded down to a nanosecond
//! above. Columns that were not requested are `null`.

mod flow;
mod place;
mod shared;

use std::borrow::Cow;
use std::io::{self, Write};
use std::sync::LazyLock;

use rtether_model::quantity::Duration;
use rtether_model::record::{Record, Segment, StreamRecord};
use schemars::{JsonSchema, Schema, SchemaGenerator};
use serde::Serialize;
use serde::ser::Serializer;
use serde_json::Value;

use super::checked::Checked;
use super::stages::{self, StageJson};
use super::sums::{self, SummedJson};
use crate::adversary::Search;
use crate::bound::assumed::AssumedJson;
use crate::help::Change;
use crate::scenario::{EditJson, Override, Replacement};
use crate::words::Conclusion;
use flow::FlowJson;
use place::{NodeJson, PortJson};
use rtether_report::document::{self, Document, Members};
use rtether_report::number::Ns;
pub use rtether_report::number::ns;
use shared::MediumJson;
pub(super) use shared::{bulk_wait, mean_wait};

pub use flow::throughput;

/// Optional parts of the document.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Options {
    /// Latency over time, per stream.
    pub buckets: bool,
    /// Latency distribution, per stream.
    pub histogram: bool,
}

/// What was simulated, proved and measured, and the verdict. Counters are sums over all runs, and a
/// column that was not requested or does not apply is `null`.
#[derive(Serialize, JsonSchema)]
pub(crate) struct ResultJson<'a> {
    /// Version of rtether.
    version: &'static str,
    /// Title of the scenario.
    scenario: &'a str,
    conclusion: Conclusion,
    /// Seeds that ran, in order.
    seeds: &'a [u64],
    /// Whether a signal ended the run, or the proofs after it.
    partial: bool,
    /// Simulated time of a run.
    duration_ns: Ns,
    /// Its start that does not count.
    warmup_ns: Ns,
    /// With `check --adversarial`: how the search for bad releases went.
    #[serde(skip_serializing_if = "Option::is_none")]
    adversarial: Option<AdversarialJson>,
    /// All streams together.
    totals: TotalsJson,
    /// Numbers of streams by verdict.
    verdict: VerdictJson,
    /// What the verdict rests on; only if the scenario assumes anything, or stacks take no time.
    #[serde(skip_serializing_if = "Option::is_none")]
    assumed: Option<AssumedJson<'a>>,
    /// What would help the stream that failed worst (else the first whose bound exceeds its limit),
    /// or `null`.
    help: Option<HelpJson<'a>>,
    /// Each flow and listener.
    flows: Each<'a, FlowJson<'a>>,
    /// Each sending port.
    ports: Each<'a, PortJson<'a>>,
    /// Each node.
    nodes: Each<'a, NodeJson<'a>>,
    /// Each collision domain.
    media: Each<'a, MediumJson<'a>>,
    /// Each stage of the run, if it has any.
    #[serde(skip_serializing_if = "Option::is_none")]
    stages: Option<Vec<StageJson<'a>>>,
    /// Requirements over several flows, if there are any.
    #[serde(skip_serializing_if = "Option::is_none")]
    sums: Option<Vec<SummedJson>>,
}

impl Document for ResultJson<'_> {
    const SCHEMA: &'static str = "rtether.result/1";
}

/// Values that are made as they are written: those of all streams together would take several times
/// the memory of their records.
struct Each<'a, T>(Box<dyn Fn() -> Box<dyn Iterator<Item = T> + 'a> + 'a>);

impl<'a, T> Each<'a, T> {
    fn of<I: Iterator<Item = T> + 'a>(make: impl Fn() -> I + 'a) -> Self {
        Self(Box::new(move || Box::new(make())))
    }
}

impl<T: Serialize> Serialize for Each<'_, T> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_seq((self.0)())
    }
}

impl<T: JsonSchema> JsonSchema for Each<'_, T> {
    fn schema_name() -> Cow<'static, str> {
        Vec::<T>::schema_name()
    }

    fn inline_schema() -> bool {
        true
    }

    fn json_schema(generator: &mut SchemaGenerator) -> Schema {
        Vec::<T>::json_schema(generator)
    }
}

#[derive(Serialize, JsonSchema)]
struct AdversarialJson {
    /// What differs from run to run.
    varied: VariedJson,
    /// Plants that were tried.
    plants: u64,
    /// Seed of the search.
    seed: u64,
    /// Whether Ctrl-C ended it: then the same number of plants need not find the same.
    interrupted: bool,
    /// Streams for which something was found.
    streams: usize,
    /// Those of them that take longer than any packet of the run.
    later: usize,
    /// Streams for which there was no time to simulate the whole plant with what was found; nothing
    /// is said of them.
    unconfirmed: usize,
}

#[derive(Serialize, JsonSchema)]
#[allow(clippy::struct_excessive_bools, reason = "each is a member of its own")]
struct VariedJson {
    /// Flows with drawn phases.
    phases: usize,
    /// Flows with fixed phases.
    fixed_phases: usize,
    /// Flows with drawn times of release.
    release_times: usize,
    /// Whether costs of stacks are drawn.
    stack_costs: bool,
    /// Whether latencies of switches are drawn.
    switch_latencies: bool,
    /// Whether frames are lost to bit errors.
    bit_errors: bool,
    /// Whether waits after collisions are drawn.
    back_off: bool,
    /// Whether timers are drawn.
    timers: bool,
}

#[derive(Serialize, JsonSchema)]
struct TotalsJson {
    /// Packets released.
    released: u64,
    /// Packets delivered.
    delivered: u64,
    /// Packets dropped.
    lost: u64,
    /// Packets under way at the end.
    in_flight: u64,
    /// Events of the simulation.
    events: u64,
}

#[derive(Serialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
struct VerdictJson {
    /// All streams.
    streams: usize,
    /// Streams that meet every requirement.
    ok: usize,
    /// Those of them that are proved.
    proved: usize,
    /// Those of them that were seen to hold.
    held: usize,
    /// Packets in which they did.
    #[serde(rename = "held_packets")]
    held_packets: u64,
    /// Streams whose bound is required and exceeds its limit.
    not_proved: usize,
    /// Streams with late packets.
    late: usize,
    /// Streams with lost packets.
    lost: usize,
    /// Streams of which nothing is known.
    no_answer: usize,
    /// Streams without a limit on their latency.
    no_deadline: usize,
    /// Streams whose deadline no requirement judges.
    unjudged: usize,
    /// The verdict in words.
    summary: String,
}

#[derive(Serialize, JsonSchema)]
struct HelpJson<'a> {
    /// Name of the flow.
    flow: &'a str,
    /// Name of the listener.
    listener: &'a str,
    /// Its bound.
    bound_ns: Option<Ns>,
    /// Deadline of the flow.
    deadline_ns: Option<Ns>,
    /// The least that the bound has to meet.
    limit_ns: Ns,
    /// Why there is no bound.
    reason: Option<&'a str>,
    /// What would give one.
    remedy: Option<&'a str>,
    /// What must drop nothing for the bound to be a proof.
    only_if: Option<&'a str>,
    /// Streams with a deadline.
    deadlines: usize,
    /// How many of these are proved.
    proved: usize,
    /// Changes that were tried.
    tried: usize,
    /// What to say where no single change proves it.
    remark: String,
    /// The best changes; `null` if there were too many to try.
    changes: Option<Vec<ChangeJson<'a>>>,
}

#[derive(Serialize, JsonSchema)]
struct ChangeJson<'a> {
    /// The change in words.
    change: &'a str,
    /// `PATH=VALUE` of `--set`, or `null`.
    edit: Option<String>,
    /// File to write it in.
    file: Option<&'a str>,
    /// Line to write it in.
    line: Option<usize>,
    /// What to replace in the file; `null` if no single place makes the change.
    replace: Option<EditJson<'a>>,
    /// Bound of the stream after the change.
    bound_ns: Ns,
    /// How much lower that is.
    gain_ns: Option<Ns>,
    /// What it then proves, as the word of a basis.
    proof: &'static str,
    /// Streams whose deadline is then proved.
    proved: usize,
}

impl<'a> ResultJson<'a> {
    fn of(checked: &'a Checked, options: Options) -> Self {
        let results = &checked.results;
        let record = &results.record;
        let observed = record.observed;
        let scenario = &checked.scenario;
        let assumed = &checked.assumed;
        Self {
            version: env!("CARGO_PKG_VERSION"),
            scenario: &scenario.name,
            conclusion: checked.conclusion,
            seeds: &results.seeds,
            partial: results.partial,
            duration_ns: Ns(record.duration),
            warmup_ns: Ns(record.warmup),
            adversarial: checked.adversarial.as_ref().map(|own| AdversarialJson::of(checked, own)),
            totals: TotalsJson::of(record),
            verdict: VerdictJson::of(checked),
            assumed: assumed.is_any(scenario).then(|| assumed.json(scenario)),
            help: HelpJson::of(checked),
            flows: Each::of(move || {
                checked.streams().map(move |stream| FlowJson::of(checked, &stream, options))
            }),
            ports: Each::of(move || {
                record.ports.iter().map(move |port| PortJson::of(checked, port, observed))
            }),
            nodes: Each::of(move || {
                record.nodes.iter().map(move |node| NodeJson::of(checked, node, observed))
            }),
            media: Each::of(move || {
                let domains = checked.domains().into_iter();
                domains.map(move |domain| MediumJson::of(checked, &domain, observed))
            }),
            stages: (!scenario.stages.is_empty()).then(|| stages::json(checked)),
            sums: (!scenario.sums.is_empty()).then(|| sums::json(checked)),
        }
    }
}

/// Returns the document.
///
/// # Panics
/// Never: its members have text as names.
pub fn document(checked: &Checked, options: Options) -> Value {
    document::value(&ResultJson::of(checked, options))
}

/// Returns the document as indented text with a trailing newline.
///
/// # Panics
/// Never: its members have text as names.
pub fn text(checked: &Checked, options: Options) -> String {
    document::text(&ResultJson::of(checked, options))
}

/// Writes the same text, without making all of it in memory first.
///
/// # Errors
/// Those of `out`.
pub fn write(checked: &Checked, options: Options, out: &mut dyn Write) -> io::Result<()> {
    document::write(&ResultJson::of(checked, options), out)
}

impl AdversarialJson {
    fn of(checked: &Checked, search: &Search) -> Self {
        let varied = &checked.varied;
        Self {
            varied: VariedJson {
                phases: varied.phases,
                fixed_phases: varied.fixed,
                release_times: varied.times,
                stack_costs: varied.stacks,
                switch_latencies: varied.latencies,
                bit_errors: varied.errors,
                back_off: varied.backoff,
                timers: varied.timers,
            },
            plants: search.tried,
            seed: search.seed,
            interrupted: search.is_cut,
            streams: search.streams,
            later: search.later,
            unconfirmed: search.unconfirmed,
        }
    }
}

impl TotalsJson {
    fn of(record: &Record) -> Self {
        let sum = |count: fn(&StreamRecord) -> u64| record.streams.iter().map(count).sum();
        Self {
            released: sum(|stream| stream.released),
            delivered: sum(|stream| stream.delivered),
            lost: sum(|stream| stream.dropped),
            in_flight: sum(|stream| stream.in_flight),
            events: record.events,
        }
    }
}

impl VerdictJson {
    fn of(checked: &Checked) -> Self {
        let counts = checked.counts();
        Self {
            streams: counts.streams,
            ok: counts.ok,
            proved: counts.proved,
            held: counts.held,
            held_packets: counts.packets,
            not_proved: counts.not_proved,
            late: counts.late,
            lost: counts.lost,
            no_answer: counts.no_answer,
            no_deadline: counts.no_deadline,
            unjudged: counts.unjudged,
            summary: checked.summary(),
        }
    }
}

impl<'a> HelpJson<'a> {
    fn of(checked: &'a Checked) -> Option<Self> {
        let help = checked.help.as_ref()?;
        let stream = checked.stream(help.stream);
        let changes = help.changes.as_ref();
        Some(Self {
            flow: &stream.flow.name,
            listener: checked.node_name(stream.record.listener_id()),
            bound_ns: help.bound.map(Ns),
            deadline_ns: stream.flow.deadline.map(Ns),
            limit_ns: Ns(help.limit),
            reason: help.no_bound.as_ref().map(|own| own.reason.as_str()),
            remedy: help.no_bound.as_ref().map(|own| own.remedy.as_str()),
            only_if: help.only_if.as_deref(),
            deadlines: help.deadlines,
            proved: help.proved,
            tried: help.tried,
            remark: help.remark(),
            changes: changes.map(|changes| changes.iter().map(ChangeJson::of).collect()),
        })
    }
}

impl<'a> ChangeJson<'a> {
    fn of(change: &'a Change) -> Self {
        Self {
            change: &change.words,
            edit: change.edit.as_ref().map(Override::text),
            file: change.place.as_ref().map(|(file, _)| file.as_str()),
            line: change.place.as_ref().map(|(_, line)| *line),
            replace: change.written.as_ref().map(Replacement::json),
            bound_ns: Ns(change.bound),
            gain_ns: change.gain.map(Ns),
            proof: change.proof.name(),
            proved: change.proved,
        }
    }
}

/// Times by segment: `driver_queue_ns`.
type BySegment = Members<&'static str, Option<Ns>>;

fn by_segment(value: impl Fn(Segment) -> Option<Duration>) -> BySegment {
    let spans = Segment::ALL.map(|segment| (segment_key(segment), value(segment).map(Ns)));
    Members(spans.into())
}

/// Returns the column name of a segment: `driver_queue_ns`.
pub fn segment_key(segment: Segment) -> &'static str {
    static KEYS: LazyLock<[String; Segment::ALL.len()]> = LazyLock::new(|| {
        Segment::ALL.map(|segment| format!("{}_ns", segment.name().replace(' ', "_")))
    });
    &KEYS[segment.index()]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nanoseconds_are_exact_decimals() {
        for (ps, text) in [
            (1_000, "1"),
            (1_001, "1.001"),
            (-1_500, "-1.5"),
            (8_796_093_022_207_999, "8796093022207.999"),
            (8_796_093_022_208_001, "8796093022208"),
        ] {
            assert_eq!(ns(Duration::from_ps(ps)).to_string(), text);
        }
    }
}
