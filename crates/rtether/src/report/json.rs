//! The result as one JSON document, schema `rtether.result/1`.
//!
//! Times are nanoseconds, exact to the picosecond below 2.4 hours and rounded down to a nanosecond
//! above. Columns that were not requested are `null`.

use rtether_model::admission::Refusal;
use rtether_model::quantity::{Duration, Instant};
use rtether_model::record::{
    ChannelRecord, NodeRecord, PortRecord, QueueRecord, Record, Segment, StreamRecord, Summary,
    TransferRecord, Worst,
};
use serde::ser::{Serialize, SerializeMap, Serializer};
use serde_json::{Map, Value, json};

mod shared;

use super::about::MEMBERS;
use super::checked::{Checked, Stream};
use super::{stages, sums};
use crate::help::Change;
use crate::measured::Measurement;
use crate::run::{Confidence, Interval};
use crate::scenario::Override;
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

impl<I: Iterator<Item = Value>, F: Fn() -> I> Serialize for Each<F> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_seq((self.0)())
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
        map.serialize_entry("seeds", &results.seeds)?;
        map.serialize_entry("partial", &results.partial)?;
        map.serialize_entry("duration_ns", &ns(record.duration))?;
        map.serialize_entry("warmup_ns", &ns(record.warmup))?;
        map.serialize_entry("totals", &totals(record))?;
        map.serialize_entry("verdict", &verdict(checked))?;
        map.serialize_entry("help", &help(checked))?;
        let flows = || checked.streams().map(|s| stream(checked, &s, options));
        map.serialize_entry("flows", &Each(flows))?;
        let ports = || record.ports.iter().map(|p| port(checked, p, observed));
        map.serialize_entry("ports", &Each(ports))?;
        let nodes = || record.nodes.iter().map(|n| node(checked, n, observed));
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

/// Returns the packet counts of all streams together, and the number of simulation events.
fn totals(record: &Record) -> Value {
    let sum = |count: fn(&StreamRecord) -> u64| record.streams.iter().map(count).sum::<u64>();
    json!({
        "released": sum(|stream| stream.released),
        "delivered": sum(|stream| stream.delivered),
        "lost": sum(|stream| stream.dropped),
        "in_flight": sum(|stream| stream.in_flight),
        "events": record.events,
    })
}

/// Returns the document as indented text with a trailing newline.
///
/// # Panics
/// Never: its members have text as names.
pub fn text(checked: &Checked, options: Options) -> String {
    let document = Document { checked, options };
    let mut text = serde_json::to_string_pretty(&document).expect("names are text");
    text.push('\n');
    text
}

fn ns_or_null(span: Option<Duration>) -> Value {
    span.map_or(Value::Null, ns)
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
        "unjudged": counts.unjudged,
        "summary": checked.summary(),
    })
}

/// Returns what would help the worst stream that is not proved, or `null`.
fn help(checked: &Checked) -> Value {
    let Some(help) = &checked.help else {
        return Value::Null;
    };
    let stream = checked.stream(help.stream);
    let change = |change: &Change| {
        json!({
            "change": change.words,
            "edit": change.edit.as_ref().map(Override::text),
            "file": change.place.as_ref().map(|(file, _)| file),
            "line": change.place.as_ref().map(|(_, line)| line),
            "bound_ns": ns(change.bound),
            "gain_ns": ns(change.gain),
            "proved": change.proved,
        })
    };
    let changes = help.changes.as_ref();
    json!({
        "flow": stream.flow.name,
        "listener": checked.node_name(stream.record.listener_id()),
        "bound_ns": ns(help.bound),
        "deadline_ns": ns(help.deadline),
        "deadlines": help.deadlines,
        "proved": help.proved,
        "changes": changes.map(|changes| changes.iter().map(change).collect::<Vec<_>>()),
    })
}

fn stream(checked: &Checked, stream: &Stream<'_>, options: Options) -> Value {
    let texts = MEMBERS.map(|(name, _, text)| (name, text(checked, stream).into()));
    let figures = [
        ("deadline_ns", ns_or_null(stream.flow.deadline)),
        ("bound_ns", ns_or_null(stream.bound)),
        (
            "statistical",
            json!(stream.statistical.as_ref().map(crate::bound::said)),
        ),
        ("sim", simulated(checked, stream, options)),
        (
            "measured",
            json!(stream.measured.as_ref().map(Measurement::json)),
        ),
        ("verdict", stream.verdict().name().into()),
        ("basis", basis(stream)),
        ("failed", failed(checked, stream)),
        ("margin_ns", ns_or_null(stream.assessment.margin)),
        ("reasons", json!(stream.assessment.reasons)),
    ];
    let channel = stream.record.channel.as_ref();
    let channel = channel.map(|own| ("channel", channel_of(own)));
    let members = texts.into_iter().chain(figures).chain(channel);
    members
        .map(|(name, value)| (name.to_owned(), value))
        .collect()
}

/// Returns what became of the requests for a channel.
fn channel_of(channel: &ChannelRecord) -> Value {
    let refused = Refusal::ALL.into_iter().map(|reason| {
        let count = channel.refused[reason.index()];
        (reason.name().to_owned(), count.into())
    });
    json!({
        "granted": channel.granted,
        "refused": refused.collect::<Map<String, Value>>(),
        "undecided": channel.undecided,
        "wait_mean_ns": ns_or_null(channel.wait_mean()),
        "wait_max_ns": ns_or_null((channel.granted > 0).then_some(channel.wait_max)),
    })
}

/// Returns what the verdict rests on, over all columns and in each.
fn basis(stream: &Stream<'_>) -> Value {
    let said = stream.assessment;
    json!({
        "word": said.standing().name(),
        "packets": said.standing().packets(),
        "sim": said.simulated.said(),
        "bound": said.bound.said(),
        "measured": said.measured.said(),
    })
}

/// Returns the column of the requirement that failed worst, and where most of its time goes.
fn failed(checked: &Checked, stream: &Stream<'_>) -> Value {
    let Some(column) = stream.assessment.failed else {
        return Value::Null;
    };
    let responsible = stream.assessment.responsible.map(|blame| {
        json!({
            "place": checked.place_name(blame.place),
            "node": checked.node_name(blame.place.port.node),
            "port": blame.place.port.port,
            "segment": blame.place.segment.name(),
            "delay_ns": ns(blame.delay),
            "share": super::text::share(blame.delay, blame.of),
        })
    });
    json!({ "column": column.name(), "responsible": responsible })
}

fn simulated(checked: &Checked, stream: &Stream<'_>, options: Options) -> Value {
    let record = stream.record;
    let mut fields = Map::new();
    let mut put = |name: &str, value: Value| {
        fields.insert(name.into(), value);
    };
    put("count", record.delivered.into());
    put("released", record.released.into());
    put("lost", record.dropped.into());
    put("in_flight", record.in_flight.into());
    put("missed", record.missed.into());
    put("miss_ratio", record.miss_ratio().into());
    put("min_ns", ns_or_null(minimum(&record.latency)));
    put("mean_ns", ns_or_null(record.latency.mean()));
    put("std_ns", ns_or_null(record.latency.standard_deviation()));
    put("p50_ns", ns_or_null(record.quantile(1, 2)));
    put("p99_ns", ns_or_null(record.quantile(99, 100)));
    put("p999_ns", ns_or_null(record.quantile(999, 1_000)));
    put("max_ns", ns_or_null(stream.max()));
    put("ethernet", ethernet(record));
    put("segments", by_segment(|segment| stream.mean_in(segment)));
    put("node_share", record.node_share().into());
    put("confidence", confidence(&stream.confidence));
    let worst = record.worst.as_ref();
    put(
        "worst",
        worst.map_or(Value::Null, |w| worst_packet(checked, w)),
    );
    put("throughput_bps", throughput(checked, record).into());
    put("transfers", record.transfers.iter().map(transfer).collect());
    let buckets = options.buckets.then(|| buckets(checked, record));
    put("buckets", buckets.unwrap_or(Value::Null));
    let histogram = options.histogram.then(|| histogram(record));
    put("histogram", histogram.unwrap_or(Value::Null));
    Value::Object(fields)
}

fn minimum(summary: &Summary) -> Option<Duration> {
    (summary.count > 0).then_some(summary.min)
}

fn ethernet(record: &StreamRecord) -> Value {
    let summary = &record.ethernet;
    let max = (summary.count > 0).then_some(summary.max);
    json!({ "mean_ns": ns_or_null(summary.mean()), "max_ns": ns_or_null(max) })
}

/// Returns an object with a member per segment: `driver_queue_ns`.
fn by_segment(value: impl Fn(Segment) -> Option<Duration>) -> Value {
    let members = Segment::ALL.map(|segment| (segment_key(segment), ns_or_null(value(segment))));
    Value::Object(members.into_iter().collect())
}

/// Returns the column name of a segment: `driver_queue_ns`.
pub fn segment_key(segment: Segment) -> String {
    format!("{}_ns", segment.name().replace(' ', "_"))
}

fn confidence(confidence: &Confidence) -> Value {
    let interval = |interval: Option<Interval>| {
        interval.map_or(Value::Null, |i| json!([ns(i.low), ns(i.high)]))
    };
    json!({
        "level": 0.95,
        "mean_ns": interval(confidence.mean),
        "p99_ns": interval(confidence.p99),
        "miss_ratio": confidence.miss_ratio.map_or(Value::Null, |(low, high)| json!([low, high])),
    })
}

fn worst_packet(checked: &Checked, worst: &Worst) -> Value {
    let (place, delay) = worst.responsible;
    json!({
        "released_at_ns": ns(worst.released_at.since_start()),
        "latency_ns": ns(worst.latency),
        "seed": worst.seed,
        "segments": by_segment(|segment| Some(worst.segments[segment.index()])),
        "responsible": {
            "place": checked.place_name(place),
            "node": checked.node_name(place.port.node),
            "port": place.port.port,
            "segment": place.segment.name(),
            "delay_ns": ns(delay),
            "share": super::text::share(delay, worst.latency),
        },
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

fn transfer(transfer: &TransferRecord) -> Value {
    let finished = transfer.finished_at;
    let span = finished.map(|end| end - transfer.started_at);
    json!({
        "started_at_ns": ns(transfer.started_at.since_start()),
        "finished_at_ns": ns_or_null(finished.map(Instant::since_start)),
        "duration_ns": ns_or_null(span),
        "delivered_bytes": transfer.delivered.get(),
        "retransmissions": transfer.retransmissions,
        "timeouts": transfer.timeouts,
    })
}

fn buckets(checked: &Checked, record: &StreamRecord) -> Value {
    let list = record.buckets.iter().map(|bucket| {
        let max = (bucket.count > 0).then_some(bucket.max);
        json!({
            "count": bucket.count,
            "mean_ns": ns_or_null(bucket.mean()),
            "max_ns": ns_or_null(max),
        })
    });
    json!({
        "length_ns": ns(checked.results.record.bucket),
        "values": list.collect::<Vec<_>>(),
    })
}

/// Returns pairs of a bin's upper edge and its count.
fn histogram(record: &StreamRecord) -> Value {
    let bins = record.histogram.bins();
    let pairs = bins.map(|(upper, count)| json!([ns(upper), count]));
    json!({ "bins_ns_count": pairs.collect::<Vec<_>>() })
}

fn port(checked: &Checked, port: &PortRecord, observed: Duration) -> Value {
    let rate = checked.scenario.network.links[port.link.index()].rate;
    json!({
        "node": checked.node_name(port.port.node),
        "port": port.port.port,
        "peer": checked.peer_name(port.port),
        "link": port.link.0,
        "rate_bps": rate.as_bps(),
        "utilization": port.utilization(observed),
        "backlog_max_bytes": port.backlog_max.get(),
        "offered": port.offered,
        "sent": port.sent,
        "sent_wire_bytes": port.sent_wire.get(),
        "dropped": port.dropped,
        "queued": port.queued,
        "corrupted": port.corrupted,
        "queues": port.queues.iter().map(queue).collect::<Vec<_>>(),
        "access": port.access.as_ref().map_or(Value::Null, shared::access),
    })
}

fn queue(queue: &QueueRecord) -> Value {
    let mean = queue.waited_ps.checked_div(i128::from(queue.sent));
    let mean = mean.and_then(|ps| i64::try_from(ps).ok());
    json!({
        "sent": queue.sent,
        "dropped": queue.dropped,
        "depth_max": queue.depth_max,
        "mean_wait_ns": ns_or_null(mean.map(Duration::from_ps)),
    })
}

fn node(checked: &Checked, node: &NodeRecord, observed: Duration) -> Value {
    let mut value = counters(checked, node, observed);
    if !node.ingress.is_empty() {
        value["policed"] = node.policed.into();
        let rules = node.ingress.iter().map(|rule| {
            json!({
                "port": rule.port + 1,
                "rule": rule.rule + 1,
                "matched": rule.matched,
                "exceeded": rule.exceeded,
            })
        });
        value["ingress"] = rules.collect();
    }
    if let Some(arp) = &node.arp {
        value["arp"] = json!({
            "requests": arp.requests,
            "replies": arp.replies,
            "handled": arp.handled,
            "held": arp.held,
            "dropped": arp.dropped,
            "waiting": arp.waiting,
            "failures": arp.failures,
        });
    }
    if let Some(own) = &node.admission {
        value["admission"] = json!({
            "requests": own.requests,
            "granted": own.granted,
            "refused": own.refused,
            "released": own.released,
            "repeated": own.repeated,
            "abandoned": own.abandoned,
            "malformed": own.malformed,
            "kept": own.kept,
        });
    }
    value
}

fn counters(checked: &Checked, node: &NodeRecord, observed: Duration) -> Value {
    json!({
        "name": checked.node_name(node.node),
        "kind": checked.kind_name(node.node),
        "stack_utilization": node.stack_utilization(observed),
        "stack_queue_max": node.stack_queue_max,
        "stack_dropped": node.stack_dropped,
        "in_stack": node.in_stack,
        "released": node.released,
        "delivered": node.delivered,
        "arrived": node.arrived,
        "copied": node.copied,
        "filtered": node.filtered,
        "discarded": node.discarded,
        "layer_dropped": node.layer_dropped,
        "layer": node.layer.as_ref().map_or(Value::Null, shared::layer),
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
