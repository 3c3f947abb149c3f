//! A flow and listener.

use rtether_model::admission::Refusal;
use rtether_model::quantity::Instant;
use rtether_model::record::{ChannelRecord, SampleRecord, StreamRecord, TransferRecord, Worst};
use schemars::JsonSchema;
use serde::Serialize;

use super::super::checked::{Checked, Stream};
use super::super::text::share;
use super::{BySegment, Options, by_segment};
use crate::adversary::Found;
use crate::bound::{Said, said};
use crate::measured::MeasuredJson;
use crate::run::{Confidence, Interval, Needs};
use crate::scenario::Override;
use crate::verdict::Blame;
use rtether_report::document::Members;
use rtether_report::number::Ns;

#[derive(Serialize, JsonSchema)]
pub(super) struct FlowJson<'a> {
    /// Name of the flow.
    name: &'a str,
    /// Its class; empty if it has none.
    class: &'a str,
    /// What it is for; empty if nothing was said.
    description: &'a str,
    /// End station that sends.
    talker: &'a str,
    /// End station that receives.
    listener: &'a str,
    /// Deadline of the flow.
    deadline_ns: Option<Ns>,
    /// Proved bound.
    bound_ns: Option<Ns>,
    /// On shared media, what a model says; no bound.
    statistical: Option<Said>,
    /// What was simulated.
    sim: SimJson<'a>,
    /// With `check --adversarial`: the worst that a search has found, or `null`.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[allow(clippy::option_option, reason = "without a search it is absent, else it may be null")]
    found: Option<Option<FoundJson>>,
    /// What was measured.
    measured: Option<MeasuredJson>,
    /// `ok`, `late`, `lost`, `not-proved`, `no-answer`, `no-deadline` or `unjudged`.
    verdict: &'static str,
    /// What it rests on.
    basis: BasisJson<'a>,
    /// The requirement that failed worst; `null` if none did.
    failed: Option<FailedJson<'a>>,
    /// Limit of that requirement minus what exceeds it, else deadline minus largest latency; `null`
    /// if packets are under way past their deadline and none was delivered late.
    margin_ns: Option<Ns>,
    /// Why, in sentences.
    reasons: &'a [String],
    /// Of flows that ask for a channel: what became of it.
    #[serde(skip_serializing_if = "Option::is_none")]
    channel: Option<ChannelJson>,
    /// Of flows over RTPS: what became of the samples, over the whole run.
    #[serde(skip_serializing_if = "Option::is_none")]
    samples: Option<SamplesJson>,
}

#[derive(Serialize, JsonSchema)]
struct SimJson<'a> {
    /// Packets delivered.
    count: u64,
    /// Packets released.
    released: u64,
    /// Packets dropped.
    lost: u64,
    /// Packets under way at the end.
    in_flight: u64,
    /// Packets late, lost or under way past their deadline at the end.
    missed: u64,
    /// Their share of those released.
    miss_ratio: Option<f64>,
    /// Least latency from application to application.
    min_ns: Option<Ns>,
    /// Mean latency.
    mean_ns: Option<Ns>,
    /// Standard deviation; `null` where the squares have no room in 128 bits, too.
    std_ns: Option<Ns>,
    /// Median latency. Quantiles are upper edges of histogram bins: never below the exact quantile,
    /// at most 0.8 % above it, and never above the maximum.
    p50_ns: Option<Ns>,
    /// 99th percentile of latency.
    p99_ns: Option<Ns>,
    /// 99.9th percentile of latency.
    p999_ns: Option<Ns>,
    /// Largest latency.
    max_ns: Option<Ns>,
    /// The part between the two stacks.
    ethernet: EthernetJson,
    /// Mean time in each segment: `talker_stack_ns`, `driver_queue_ns`, `medium_access_ns`,
    /// `wire_ns`, `switch_latency_ns`, `switch_queue_ns`, `receive_queue_ns`, `receive_stack_ns`,
    /// `application_ns`, `protocol_ns` (waiting for acknowledgments, windows, repetitions or earlier
    /// data).
    segments: BySegment,
    /// The mean time in the protocol by where what was waited for was meanwhile; there,
    /// `protocol_ns` is a timer of an end.
    awaited: BySegment,
    /// Share of the latency inside end nodes.
    node_share: Option<f64>,
    /// Confidence intervals, from the spread of independent units.
    confidence: ConfidenceJson,
    /// The slowest packet.
    worst: Option<WorstJson<'a>>,
    /// Payload rate.
    throughput_bps: Option<u64>,
    /// Transfers of bulk flows.
    transfers: Vec<TransferJson>,
    /// With `--buckets`: latency over time.
    buckets: Option<BucketsJson>,
    /// With `--histogram`: the distribution.
    histogram: Option<HistogramJson>,
}

#[derive(Serialize, JsonSchema)]
struct EthernetJson {
    /// Its mean.
    mean_ns: Option<Ns>,
    /// The largest.
    max_ns: Option<Ns>,
}

#[derive(Serialize, JsonSchema)]
struct ConfidenceJson {
    /// 0.95.
    level: f64,
    /// Number of units.
    units: u32,
    /// What they are: `batches` or `runs`.
    kind: &'static str,
    /// What it takes where there are none: `needs more runs`, `needs a longer warm-up`.
    needs: Option<&'static str>,
    /// Ends of the interval of the mean latency; an upper end that takes more packets is `null`.
    mean_ns: Option<(Ns, Option<Ns>)>,
    /// That of the 99th percentile.
    p99_ns: Option<(Ns, Option<Ns>)>,
    /// That of the ratio of missed packets.
    miss_ratio: Option<(f64, f64)>,
}

#[derive(Serialize, JsonSchema)]
struct WorstJson<'a> {
    /// When it was released.
    released_at_ns: Ns,
    /// How long it took.
    latency_ns: Ns,
    /// Seed of its run.
    seed: u64,
    /// Time in each segment.
    segments: BySegment,
    /// The time in the protocol by where what was waited for was meanwhile.
    awaited: BySegment,
    /// The place that takes most of it.
    responsible: ResponsibleJson<'a>,
}

#[derive(Serialize, JsonSchema)]
struct ResponsibleJson<'a> {
    /// The place in words.
    place: String,
    /// Its node.
    node: &'a str,
    /// Its port.
    port: u16,
    /// Its segment.
    segment: &'static str,
    /// Time there.
    delay_ns: Ns,
    /// Its share of the whole.
    share: f64,
}

#[derive(Serialize, JsonSchema)]
struct TransferJson {
    /// When it began.
    started_at_ns: Ns,
    /// When it was complete, or `null`.
    finished_at_ns: Option<Ns>,
    /// The time between.
    duration_ns: Option<Ns>,
    /// Payload delivered.
    delivered_bytes: u64,
    /// Segments sent again.
    retransmissions: u64,
    /// Timers that ran out.
    timeouts: u64,
}

#[derive(Serialize, JsonSchema)]
struct BucketsJson {
    /// Length of a slice of time.
    length_ns: Ns,
    /// Each slice.
    values: Vec<BucketJson>,
}

#[derive(Serialize, JsonSchema)]
struct BucketJson {
    /// Packets.
    count: u64,
    /// Their mean latency.
    mean_ns: Option<Ns>,
    /// Their largest latency.
    max_ns: Option<Ns>,
}

#[derive(Serialize, JsonSchema)]
struct HistogramJson {
    /// Pairs of the upper edge of a bin and its count.
    bins_ns_count: Vec<(Ns, u64)>,
}

#[derive(Serialize, JsonSchema)]
struct FoundJson {
    /// How long the packet takes, simulated in the whole plant.
    latency_ns: Ns,
    /// Its release, counted from the start of the run.
    released_ns: Ns,
    /// Packets of the stream that are lost in this run.
    lost: u64,
    /// The changes that make this plant, as arguments of `--set`.
    changes: Vec<String>,
}

#[derive(Serialize, JsonSchema)]
struct BasisJson<'a> {
    /// `proved` (a bound is within the deadline and every limit on latency), `held` (none of the
    /// packets delivered contradicted a requirement, which proves nothing), `late`, `lost`,
    /// `not-proved` (a bound is required and exceeds its limit), `no-answer`, `no-deadline` or
    /// `unjudged`.
    word: &'static str,
    /// Packets in which requirements held.
    packets: Option<u64>,
    /// The same of what was simulated.
    sim: Option<&'static str>,
    /// The same of the bound: also `if-delivered` or `if-nothing-dropped`, where it meets the
    /// deadline and is a proof only under a condition, `not-proved` whether or not it is required,
    /// and `no-bound`.
    bound: Option<&'static str>,
    /// The condition in words.
    only_if: Option<&'a str>,
    /// The same of what was measured.
    measured: Option<&'static str>,
}

#[derive(Serialize, JsonSchema)]
struct FailedJson<'a> {
    /// `sim`, `bound` or `measured`.
    column: &'static str,
    /// The place that takes most of the worst simulated packet, or of the bound; `null` if it was
    /// measured.
    responsible: Option<ResponsibleJson<'a>>,
}

#[derive(Serialize, JsonSchema)]
struct ChannelJson {
    /// Runs in which it was granted.
    granted: u64,
    /// Runs in which it was refused, by reason.
    refused: Members<&'static str, u64>,
    /// Runs that ended before it asked, or before it was answered.
    undecided: u64,
    /// Mean time from the request to the grant.
    wait_mean_ns: Option<Ns>,
    /// The longest.
    wait_max_ns: Option<Ns>,
}

#[derive(Serialize, JsonSchema)]
struct SamplesJson {
    /// Samples written; the sum of the others.
    written: u64,
    /// Taken by the listener's application.
    taken: u64,
    /// Lost for good, though the writer owed them.
    lost: u64,
    /// Refused for good for lack of room.
    rejected: u64,
    /// Replaced in the queue by later ones.
    replaced: u64,
    /// Within the minimum separation, or of a weaker writer.
    filtered: u64,
    /// Expired before they were taken.
    expired: u64,
    /// Written before the writer knew the reader.
    not_owed: u64,
    /// In the network, held for earlier ones, or in the queue at the end.
    under_way: u64,
}

impl<'a> FlowJson<'a> {
    pub(super) fn of(checked: &'a Checked, stream: &Stream<'a>, options: Options) -> Self {
        let found = stream.found.map(|own| FoundJson::of(checked, own));
        Self {
            name: &stream.flow.name,
            class: &stream.flow.class,
            description: &stream.flow.description,
            talker: checked.node_name(stream.flow.talker),
            listener: checked.node_name(stream.record.listener_id()),
            deadline_ns: stream.flow.deadline.map(Ns),
            bound_ns: stream.bound.map(Ns),
            statistical: stream.statistical.as_ref().map(said),
            sim: SimJson::of(checked, stream, options),
            found: checked.adversarial.is_some().then_some(found),
            measured: stream.measured.as_ref().map(MeasuredJson::of),
            verdict: stream.verdict().name(),
            basis: BasisJson::of(stream),
            failed: FailedJson::of(checked, stream),
            margin_ns: stream.assessment.margin.map(Ns),
            reasons: &stream.assessment.reasons,
            channel: stream.record.channel.as_ref().map(ChannelJson::of),
            samples: stream.record.samples.as_ref().map(SamplesJson::of),
        }
    }
}

impl<'a> SimJson<'a> {
    fn of(checked: &'a Checked, stream: &Stream<'a>, options: Options) -> Self {
        let record = stream.record;
        let latency = &record.latency;
        let ethernet = &record.ethernet;
        let max = (ethernet.count > 0).then_some(ethernet.max);
        Self {
            count: record.delivered,
            released: record.released,
            lost: record.dropped,
            in_flight: record.in_flight,
            missed: record.missed,
            miss_ratio: record.miss_ratio(),
            min_ns: (latency.count > 0).then_some(Ns(latency.min)),
            mean_ns: latency.mean().map(Ns),
            std_ns: latency.standard_deviation().map(Ns),
            p50_ns: record.quantile(1, 2).map(Ns),
            p99_ns: record.quantile(99, 100).map(Ns),
            p999_ns: record.quantile(999, 1_000).map(Ns),
            max_ns: stream.max().map(Ns),
            ethernet: EthernetJson { mean_ns: ethernet.mean().map(Ns), max_ns: max.map(Ns) },
            segments: by_segment(|segment| stream.mean_in(segment)),
            awaited: by_segment(|segment| stream.mean_awaited(segment)),
            node_share: record.node_share(),
            confidence: ConfidenceJson::of(&stream.confidence),
            worst: record.worst.as_ref().map(|own| WorstJson::of(checked, own)),
            throughput_bps: throughput(checked, record),
            transfers: record.transfers.iter().map(TransferJson::of).collect(),
            buckets: options.buckets.then(|| BucketsJson::of(checked, record)),
            histogram: options.histogram.then(|| HistogramJson::of(record)),
        }
    }
}

impl ConfidenceJson {
    fn of(confidence: &Confidence) -> Self {
        let interval = |own: Interval| (Ns(own.low), own.high.map(Ns));
        Self {
            level: 0.95,
            units: confidence.units,
            kind: confidence.kind.name(),
            needs: confidence.needs.map(Needs::words),
            mean_ns: confidence.mean.map(interval),
            p99_ns: confidence.p99.map(interval),
            miss_ratio: confidence.miss_ratio,
        }
    }
}

impl<'a> WorstJson<'a> {
    fn of(checked: &'a Checked, worst: &Worst) -> Self {
        let (place, delay) = worst.responsible;
        Self {
            released_at_ns: Ns(worst.released_at.since_start()),
            latency_ns: Ns(worst.latency),
            seed: worst.seed,
            segments: by_segment(|segment| Some(worst.segments[segment.index()])),
            awaited: by_segment(|segment| Some(worst.awaited[segment.index()])),
            responsible: ResponsibleJson {
                place: checked.place_name(place),
                node: checked.node_name(place.port.node),
                port: place.port.port,
                segment: place.segment.name(),
                delay_ns: Ns(delay),
                share: share(delay, worst.latency),
            },
        }
    }
}

impl<'a> ResponsibleJson<'a> {
    fn of(checked: &'a Checked, blame: Blame) -> Self {
        Self {
            place: checked.place_name(blame.place),
            node: checked.node_name(blame.place.port.node),
            port: blame.place.port.port,
            segment: blame.place.segment.name(),
            delay_ns: Ns(blame.delay),
            share: share(blame.delay, blame.of),
        }
    }
}

/// Returns the payload rate over the observed time of all runs.
pub fn throughput(checked: &Checked, record: &StreamRecord) -> Option<u64> {
    let whole = &checked.results.record;
    let counted = (whole.duration - whole.warmup) * i64::from(whole.runs.max(1));
    let counted = u128::try_from(counted.as_ps()).ok()?;
    let bits = u128::from(record.payload_bytes) * 8 * 1_000_000_000_000;
    u64::try_from(bits.checked_div(counted)?).ok()
}

impl TransferJson {
    fn of(transfer: &TransferRecord) -> Self {
        let finished = transfer.finished_at;
        Self {
            started_at_ns: Ns(transfer.started_at.since_start()),
            finished_at_ns: finished.map(Instant::since_start).map(Ns),
            duration_ns: finished.map(|end| Ns(end - transfer.started_at)),
            delivered_bytes: transfer.delivered.get(),
            retransmissions: transfer.retransmissions,
            timeouts: transfer.timeouts,
        }
    }
}

impl BucketsJson {
    fn of(checked: &Checked, record: &StreamRecord) -> Self {
        let values = record.buckets.iter().map(|bucket| BucketJson {
            count: bucket.count,
            mean_ns: bucket.mean().map(Ns),
            max_ns: (bucket.count > 0).then_some(Ns(bucket.max)),
        });
        Self { length_ns: Ns(checked.results.record.bucket), values: values.collect() }
    }
}

impl HistogramJson {
    fn of(record: &StreamRecord) -> Self {
        let bins = record.histogram.bins();
        Self { bins_ns_count: bins.map(|(upper, count)| (Ns(upper), count)).collect() }
    }
}

impl FoundJson {
    fn of(checked: &Checked, found: &Found) -> Self {
        Self {
            latency_ns: Ns(found.latency),
            released_ns: Ns(found.released_at - Instant::ZERO),
            lost: found.dropped,
            changes: found.edits(&checked.scenario).iter().map(Override::text).collect(),
        }
    }
}

impl<'a> BasisJson<'a> {
    fn of(stream: &Stream<'a>) -> Self {
        let said = stream.assessment;
        Self {
            word: said.standing().name(),
            packets: said.standing().packets(),
            sim: said.simulated.said(),
            bound: said.bound.said(),
            only_if: said.only_if.as_deref(),
            measured: said.measured.said(),
        }
    }
}

impl<'a> FailedJson<'a> {
    fn of(checked: &'a Checked, stream: &Stream<'a>) -> Option<Self> {
        let blame = stream.assessment.responsible;
        Some(Self {
            column: stream.assessment.failed?.name(),
            responsible: blame.map(|blame| ResponsibleJson::of(checked, blame)),
        })
    }
}

impl ChannelJson {
    fn of(channel: &ChannelRecord) -> Self {
        let refused = Refusal::ALL.map(|reason| (reason.name(), channel.refused[reason.index()]));
        Self {
            granted: channel.granted,
            refused: Members(refused.into()),
            undecided: channel.undecided,
            wait_mean_ns: channel.wait_mean().map(Ns),
            wait_max_ns: (channel.granted > 0).then_some(Ns(channel.wait_max)),
        }
    }
}

impl SamplesJson {
    fn of(samples: &SampleRecord) -> Self {
        Self {
            written: samples.written,
            taken: samples.taken,
            lost: samples.lost,
            rejected: samples.rejected,
            replaced: samples.replaced,
            filtered: samples.filtered,
            expired: samples.expired,
            not_owed: samples.not_owed,
            under_way: samples.under_way,
        }
    }
}
