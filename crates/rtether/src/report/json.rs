//! The result as one JSON document, schema `rtether.result/1`.
//!
//! Times are nanoseconds, exact to the picosecond below 2.4 hours and rounded down to a nanosecond
//! above. Columns that were not requested are `null`.

#![allow(non_camel_case_types, reason = "the type of a member of `object` has the member's name")]

use std::io::{self, Write};
use std::sync::LazyLock;

use rtether_model::admission::Refusal;
use rtether_model::quantity::{Duration, Instant};
use rtether_model::record::{
    AdmissionRecord, ArpRecord, ChannelRecord, IngressRecord, NodeRecord, PortRecord, QueueRecord,
    Record, SampleRecord, Segment, StreamRecord, Summary, TransferRecord, Worst,
};
use serde::Serialize;
use serde::ser::{SerializeMap, Serializer};
use serde_json::{Value, json};

/// An object with these members, written without making a [`Value`] first: that copies each name, and
/// took half the instructions of a run of a millisecond.
macro_rules! object {
    ({ $($name:ident: $value:expr),* $(,)? }) => {{
        #[derive(Serialize)]
        struct Object<$($name),*> {
            $($name: $name,)*
        }
        Object { $($name: $value,)* }
    }};
}

mod shared;

use super::about::MEMBERS;
use super::checked::{Checked, Stream};
use super::{stages, sums};
use crate::adversary::{Found, Search};
use crate::help::Change;
use crate::measured::Measurement;
use crate::run::{Confidence, Interval, Needs};
use crate::scenario::{Override, Replacement};
use rtether_report::format::{indented, write_indented};
use rtether_report::number::Ns;
pub use rtether_report::number::ns;
pub(super) use shared::{bulk_wait, mean_wait};

/// Name and version of the format.
pub const SCHEMA: &str = "rtether.result/1";

/// Optional parts of the document.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Options {
    /// Latency over time, per stream.
    pub buckets: bool,
    /// Latency distribution, per stream.
    pub histogram: bool,
}

/// The document. It is written stream by stream: the values of all streams together would take
/// several times the memory of their records.
struct Document<'a> {
    checked: &'a Checked,
    options: Options,
}

/// Values that are made as they are written.
struct Each<F>(F);

impl<I: Iterator<Item: Serialize>, F: Fn() -> I> Serialize for Each<F> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_seq((self.0)())
    }
}

/// Members whose names are not known here, made as they are written.
struct Members<F>(F);

impl<K: Serialize, V: Serialize, I: IntoIterator<Item = (K, V)>, F: Fn() -> I> Serialize
    for Members<F>
{
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_map((self.0)())
    }
}

impl Serialize for Document<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let Self { checked, options } = *self;
        let results = &checked.results;
        let record = &results.record;
        let observed = record.observed;
        let domains = checked.domains();
        let mut map = serializer.serialize_map(None)?;
        map.serialize_entry("schema", SCHEMA)?;
        map.serialize_entry("version", env!("CARGO_PKG_VERSION"))?;
        map.serialize_entry("scenario", &checked.scenario.name)?;
        map.serialize_entry("conclusion", checked.conclusion.word())?;
        map.serialize_entry("seeds", &results.seeds)?;
        map.serialize_entry("partial", &results.partial)?;
        map.serialize_entry("duration_ns", &ns(record.duration))?;
        map.serialize_entry("warmup_ns", &ns(record.warmup))?;
        if let Some(own) = &checked.adversarial {
            map.serialize_entry("adversarial", &search(checked, own))?;
        }
        map.serialize_entry("totals", &totals(record))?;
        map.serialize_entry("verdict", &verdict(checked))?;
        if checked.assumed.is_any(&checked.scenario) {
            map.serialize_entry("assumed", &checked.assumed.json(&checked.scenario))?;
        }
        map.serialize_entry("help", &help(checked))?;
        let flows = || checked.streams().map(|stream| Flow { checked, stream, options });
        map.serialize_entry("flows", &Each(flows))?;
        let ports = || record.ports.iter().map(|p| port(checked, p, observed));
        map.serialize_entry("ports", &Each(ports))?;
        let nodes = || record.nodes.iter().map(|record| Node { checked, record, observed });
        map.serialize_entry("nodes", &Each(nodes))?;
        let media = || domains.iter().map(|d| shared::medium(checked, d, observed));
        map.serialize_entry("media", &Each(media))?;
        if !checked.scenario.stages.is_empty() {
            map.serialize_entry("stages", &stages::json(checked))?;
        }
        if !checked.scenario.sums.is_empty() {
            map.serialize_entry("sums", &sums::json(checked))?;
        }
        map.end()
    }
}

/// Returns the document.
///
/// # Panics
/// Never: its members have text as names.
pub fn document(checked: &Checked, options: Options) -> Value {
    serde_json::to_value(Document { checked, options }).expect("names are text")
}

/// Returns what differs between runs.
fn varied(checked: &Checked) -> impl Serialize {
    let varied = &checked.varied;
    object!({
        phases: varied.phases,
        fixed_phases: varied.fixed,
        release_times: varied.times,
        stack_costs: varied.stacks,
        switch_latencies: varied.latencies,
        bit_errors: varied.errors,
        back_off: varied.backoff,
        timers: varied.timers,
    })
}

/// Returns how the search for bad releases went.
fn search(checked: &Checked, search: &Search) -> impl Serialize {
    object!({
        varied: varied(checked),
        plants: search.tried,
        seed: search.seed,
        interrupted: search.is_cut,
        streams: search.streams,
        later: search.later,
        unconfirmed: search.unconfirmed,
    })
}

/// Returns the worst that was found for a stream, with the changes that make it.
fn found(checked: &Checked, found: &Found) -> impl Serialize {
    let changes = found.edits(&checked.scenario);
    object!({
        latency_ns: Ns(found.latency),
        released_ns: Ns(found.released_at - Instant::ZERO),
        lost: found.dropped,
        changes: changes.iter().map(Override::text).collect::<Vec<_>>(),
    })
}

/// Returns the packet counts of all streams together, and the number of simulation events.
fn totals(record: &Record) -> impl Serialize {
    let sum = |count: fn(&StreamRecord) -> u64| record.streams.iter().map(count).sum::<u64>();
    object!({
        released: sum(|stream| stream.released),
        delivered: sum(|stream| stream.delivered),
        lost: sum(|stream| stream.dropped),
        in_flight: sum(|stream| stream.in_flight),
        events: record.events,
    })
}

/// Returns the document as indented text with a trailing newline.
///
/// # Panics
/// Never: its members have text as names.
pub fn text(checked: &Checked, options: Options) -> String {
    indented(&Document { checked, options })
}

/// Writes the same text, without making all of it in memory first.
///
/// # Errors
/// Those of `out`.
pub fn write(checked: &Checked, options: Options, out: &mut dyn Write) -> io::Result<()> {
    write_indented(&Document { checked, options }, out)
}

fn maybe_ns(span: Option<Duration>) -> Option<Ns> {
    span.map(Ns)
}

fn verdict(checked: &Checked) -> Value {
    let counts = checked.counts();
    json!({
        "streams": counts.streams,
        "ok": counts.ok,
        "proved": counts.proved,
        "held": counts.held,
        "held_packets": counts.packets,
        "not-proved": counts.not_proved,
        "late": counts.late,
        "lost": counts.lost,
        "no-answer": counts.no_answer,
        "no-deadline": counts.no_deadline,
        "unjudged": counts.unjudged,
        "summary": checked.summary(),
    })
}

/// Returns what would help the stream that failed worst, or `null`.
fn help(checked: &Checked) -> Option<impl Serialize> {
    let help = checked.help.as_ref()?;
    let stream = checked.stream(help.stream);
    let changes = help.changes.as_ref();
    Some(object!({
        flow: &stream.flow.name,
        listener: checked.node_name(stream.record.listener_id()),
        bound_ns: maybe_ns(help.bound),
        deadline_ns: maybe_ns(stream.flow.deadline),
        limit_ns: Ns(help.limit),
        reason: help.no_bound.as_ref().map(|own| &own.reason),
        remedy: help.no_bound.as_ref().map(|own| &own.remedy),
        only_if: &help.only_if,
        deadlines: help.deadlines,
        proved: help.proved,
        tried: help.tried,
        remark: help.remark(),
        changes: changes.map(|changes| changes.iter().map(change).collect::<Vec<_>>()),
    }))
}

fn change(change: &Change) -> impl Serialize {
    object!({
        change: &change.words,
        edit: change.edit.as_ref().map(Override::text),
        file: change.place.as_ref().map(|(file, _)| file),
        line: change.place.as_ref().map(|(_, line)| line),
        replace: change.written.as_ref().map(Replacement::json),
        bound_ns: Ns(change.bound),
        gain_ns: maybe_ns(change.gain),
        proof: change.proof.name(),
        proved: change.proved,
    })
}

/// What reports say of one stream.
struct Flow<'a> {
    checked: &'a Checked,
    stream: Stream<'a>,
    options: Options,
}

impl Serialize for Flow<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let Self { checked, stream, options } = self;
        let mut map = serializer.serialize_map(None)?;
        for (name, _, text) in MEMBERS {
            map.serialize_entry(name, &text(checked, stream))?;
        }
        map.serialize_entry("deadline_ns", &maybe_ns(stream.flow.deadline))?;
        map.serialize_entry("bound_ns", &maybe_ns(stream.bound))?;
        let statistical = stream.statistical.as_ref().map(crate::bound::said);
        map.serialize_entry("statistical", &statistical)?;
        map.serialize_entry("sim", &simulated(checked, stream, *options))?;
        let worst = stream.found.map(|own| found(checked, own));
        if checked.adversarial.is_some() {
            map.serialize_entry("found", &worst)?;
        }
        let measured = stream.measured.as_ref().map(Measurement::json);
        map.serialize_entry("measured", &measured)?;
        map.serialize_entry("verdict", stream.verdict().name())?;
        map.serialize_entry("basis", &basis(stream))?;
        map.serialize_entry("failed", &failed(checked, stream))?;
        map.serialize_entry("margin_ns", &maybe_ns(stream.assessment.margin))?;
        map.serialize_entry("reasons", &stream.assessment.reasons)?;
        if let Some(channel) = &stream.record.channel {
            map.serialize_entry("channel", &channel_of(channel))?;
        }
        if let Some(samples) = &stream.record.samples {
            map.serialize_entry("samples", &samples_of(samples))?;
        }
        map.end()
    }
}

/// Returns what became of the requests for a channel.
fn channel_of(channel: &ChannelRecord) -> impl Serialize {
    let count = |reason: Refusal| (reason.name(), channel.refused[reason.index()]);
    object!({
        granted: channel.granted,
        refused: Members(move || Refusal::ALL.into_iter().map(count)),
        undecided: channel.undecided,
        wait_mean_ns: maybe_ns(channel.wait_mean()),
        wait_max_ns: maybe_ns((channel.granted > 0).then_some(channel.wait_max)),
    })
}

/// Returns what became of the samples of a topic.
fn samples_of(samples: &SampleRecord) -> impl Serialize {
    object!({
        written: samples.written,
        taken: samples.taken,
        lost: samples.lost,
        rejected: samples.rejected,
        replaced: samples.replaced,
        filtered: samples.filtered,
        expired: samples.expired,
        not_owed: samples.not_owed,
        under_way: samples.under_way,
    })
}

/// Returns what the verdict rests on, over all columns and in each.
fn basis(stream: &Stream<'_>) -> impl Serialize {
    let said = stream.assessment;
    object!({
        word: said.standing().name(),
        packets: said.standing().packets(),
        sim: said.simulated.said(),
        bound: said.bound.said(),
        only_if: said.only_if.as_ref(),
        measured: said.measured.said(),
    })
}

/// Returns the column of the requirement that failed worst, and where most of its time goes.
fn failed(checked: &Checked, stream: &Stream<'_>) -> Option<impl Serialize> {
    let column = stream.assessment.failed?;
    let responsible = stream.assessment.responsible.map(|blame| {
        object!({
            place: checked.place_name(blame.place),
            node: checked.node_name(blame.place.port.node),
            port: blame.place.port.port,
            segment: blame.place.segment.name(),
            delay_ns: Ns(blame.delay),
            share: super::text::share(blame.delay, blame.of),
        })
    });
    Some(object!({ column: column.name(), responsible: responsible }))
}

fn simulated(checked: &Checked, stream: &Stream<'_>, options: Options) -> impl Serialize {
    let record = stream.record;
    object!({
        count: record.delivered,
        released: record.released,
        lost: record.dropped,
        in_flight: record.in_flight,
        missed: record.missed,
        miss_ratio: record.miss_ratio(),
        min_ns: maybe_ns(minimum(&record.latency)),
        mean_ns: maybe_ns(record.latency.mean()),
        std_ns: maybe_ns(record.latency.standard_deviation()),
        p50_ns: maybe_ns(record.quantile(1, 2)),
        p99_ns: maybe_ns(record.quantile(99, 100)),
        p999_ns: maybe_ns(record.quantile(999, 1_000)),
        max_ns: maybe_ns(stream.max()),
        ethernet: ethernet(record),
        segments: by_segment(|segment| stream.mean_in(segment)),
        awaited: by_segment(|segment| stream.mean_awaited(segment)),
        node_share: record.node_share(),
        confidence: confidence(&stream.confidence),
        worst: record.worst.as_ref().map(|own| worst_packet(checked, own)),
        throughput_bps: throughput(checked, record),
        transfers: record.transfers.iter().map(transfer).collect::<Vec<_>>(),
        buckets: options.buckets.then(|| buckets(checked, record)),
        histogram: options.histogram.then(|| histogram(record)),
    })
}

fn minimum(summary: &Summary) -> Option<Duration> {
    (summary.count > 0).then_some(summary.min)
}

fn ethernet(record: &StreamRecord) -> impl Serialize {
    let summary = &record.ethernet;
    let max = (summary.count > 0).then_some(summary.max);
    object!({ mean_ns: maybe_ns(summary.mean()), max_ns: maybe_ns(max) })
}

/// Returns an object with a member per segment: `driver_queue_ns`.
fn by_segment(value: impl Fn(Segment) -> Option<Duration>) -> impl Serialize {
    let spans = Segment::ALL.map(|segment| (segment_key(segment), maybe_ns(value(segment))));
    Members(move || spans)
}

/// Returns the column name of a segment: `driver_queue_ns`.
pub fn segment_key(segment: Segment) -> &'static str {
    static KEYS: LazyLock<[String; Segment::ALL.len()]> = LazyLock::new(|| {
        Segment::ALL.map(|segment| format!("{}_ns", segment.name().replace(' ', "_")))
    });
    &KEYS[segment.index()]
}

fn confidence(confidence: &Confidence) -> impl Serialize {
    let interval = |own: Option<Interval>| own.map(|own| (Ns(own.low), maybe_ns(own.high)));
    object!({
        level: 0.95,
        units: confidence.units,
        kind: confidence.kind.name(),
        needs: confidence.needs.map(Needs::words),
        mean_ns: interval(confidence.mean),
        p99_ns: interval(confidence.p99),
        miss_ratio: confidence.miss_ratio,
    })
}

fn worst_packet(checked: &Checked, worst: &Worst) -> impl Serialize {
    let (place, delay) = worst.responsible;
    object!({
        released_at_ns: Ns(worst.released_at.since_start()),
        latency_ns: Ns(worst.latency),
        seed: worst.seed,
        segments: by_segment(|segment| Some(worst.segments[segment.index()])),
        awaited: by_segment(|segment| Some(worst.awaited[segment.index()])),
        responsible: object!({
            place: checked.place_name(place),
            node: checked.node_name(place.port.node),
            port: place.port.port,
            segment: place.segment.name(),
            delay_ns: Ns(delay),
            share: super::text::share(delay, worst.latency),
        }),
    })
}

/// Returns the payload rate over the observed time of all runs.
pub fn throughput(checked: &Checked, record: &StreamRecord) -> Option<u64> {
    let whole = &checked.results.record;
    let counted = (whole.duration - whole.warmup) * i64::from(whole.runs.max(1));
    let counted = u128::try_from(counted.as_ps()).ok()?;
    let bits = u128::from(record.payload_bytes) * 8 * 1_000_000_000_000;
    u64::try_from(bits.checked_div(counted)?).ok()
}

fn transfer(transfer: &TransferRecord) -> impl Serialize {
    let finished = transfer.finished_at;
    let span = finished.map(|end| end - transfer.started_at);
    object!({
        started_at_ns: Ns(transfer.started_at.since_start()),
        finished_at_ns: maybe_ns(finished.map(Instant::since_start)),
        duration_ns: maybe_ns(span),
        delivered_bytes: transfer.delivered.get(),
        retransmissions: transfer.retransmissions,
        timeouts: transfer.timeouts,
    })
}

fn buckets(checked: &Checked, record: &StreamRecord) -> impl Serialize {
    let list = record.buckets.iter().map(|bucket| {
        let max = (bucket.count > 0).then_some(bucket.max);
        object!({
            count: bucket.count,
            mean_ns: maybe_ns(bucket.mean()),
            max_ns: maybe_ns(max),
        })
    });
    object!({
        length_ns: Ns(checked.results.record.bucket),
        values: list.collect::<Vec<_>>(),
    })
}

/// Returns pairs of a bin's upper edge and its count.
fn histogram(record: &StreamRecord) -> impl Serialize {
    let bins = record.histogram.bins();
    let pairs = bins.map(|(upper, count)| (Ns(upper), count));
    object!({ bins_ns_count: pairs.collect::<Vec<_>>() })
}

fn port(checked: &Checked, port: &PortRecord, observed: Duration) -> impl Serialize {
    let rate = checked.scenario.network.links[port.link.index()].rate;
    object!({
        node: checked.node_name(port.port.node),
        port: port.port.port,
        peer: checked.peer_name(port.port),
        link: port.link.0,
        rate_bps: rate.as_bps(),
        utilization: port.utilization(observed),
        backlog_max_bytes: port.backlog_max.get(),
        offered: port.offered,
        sent: port.sent,
        sent_wire_bytes: port.sent_wire.get(),
        dropped: port.dropped,
        queued: port.queued,
        corrupted: port.corrupted,
        queues: port.queues.iter().map(queue).collect::<Vec<_>>(),
        access: port.access.as_ref().map(shared::access),
    })
}

fn queue(queue: &QueueRecord) -> impl Serialize {
    let mean = queue.waited_ps.checked_div(i128::from(queue.sent));
    let mean = mean.and_then(|ps| i64::try_from(ps).ok());
    object!({
        sent: queue.sent,
        dropped: queue.dropped,
        depth_max: queue.depth_max,
        mean_wait_ns: maybe_ns(mean.map(Duration::from_ps)),
    })
}

/// A node with its counters.
struct Node<'a> {
    checked: &'a Checked,
    record: &'a NodeRecord,
    observed: Duration,
}

impl Serialize for Node<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let node = self.record;
        let mut map = serializer.serialize_map(None)?;
        map.serialize_entry("name", self.checked.node_name(node.node))?;
        map.serialize_entry("kind", self.checked.kind_name(node.node))?;
        let utilization = node.stack_utilization(self.observed);
        map.serialize_entry("stack_utilization", &utilization)?;
        map.serialize_entry("stack_queue_max", &node.stack_queue_max)?;
        map.serialize_entry("stack_dropped", &node.stack_dropped)?;
        map.serialize_entry("in_stack", &node.in_stack)?;
        map.serialize_entry("released", &node.released)?;
        map.serialize_entry("delivered", &node.delivered)?;
        map.serialize_entry("arrived", &node.arrived)?;
        map.serialize_entry("copied", &node.copied)?;
        map.serialize_entry("filtered", &node.filtered)?;
        map.serialize_entry("discarded", &node.discarded)?;
        map.serialize_entry("layer_dropped", &node.layer_dropped)?;
        map.serialize_entry("layer", &node.layer.as_ref().map(shared::layer))?;
        if !node.ingress.is_empty() {
            map.serialize_entry("policed", &node.policed)?;
            let rules = node.ingress.iter().map(rule);
            map.serialize_entry("ingress", &rules.collect::<Vec<_>>())?;
        }
        if let Some(own) = &node.arp {
            map.serialize_entry("arp", &arp(own))?;
        }
        if let Some(own) = &node.admission {
            map.serialize_entry("admission", &admission(own))?;
        }
        map.end()
    }
}

fn rule(rule: &IngressRecord) -> impl Serialize {
    object!({
        port: rule.port + 1,
        rule: rule.rule + 1,
        matched: rule.matched,
        exceeded: rule.exceeded,
    })
}

fn arp(own: &ArpRecord) -> impl Serialize {
    object!({
        requests: own.requests,
        replies: own.replies,
        handled: own.handled,
        held: own.held,
        dropped: own.dropped,
        waiting: own.waiting,
        failures: own.failures,
    })
}

fn admission(own: &AdmissionRecord) -> impl Serialize {
    object!({
        requests: own.requests,
        granted: own.granted,
        refused: own.refused,
        released: own.released,
        repeated: own.repeated,
        abandoned: own.abandoned,
        malformed: own.malformed,
        kept: own.kept,
    })
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
