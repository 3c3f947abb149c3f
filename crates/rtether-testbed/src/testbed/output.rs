//! Measurements in all formats.

use rtether_model::flow::Flow;
use rtether_model::histogram::Histogram;
use rtether_model::network::NodeId;
use rtether_model::quantity::{Duration, Instant};
use rtether_model::record::Record;
use serde_json::{Value, json};

use super::{Backend, Emulation, Measured, MeasuredStream, layers, profile, ssh};
use rtether::measured::{Evidence, much_stalled, thousandths};
use rtether::report::Checked;
use rtether::report::format::{Part, Render};
use rtether::report::table::{Cell, Screen, Table};
use rtether::report::text::{plain_line, plural, time, time_or_dash};
use rtether::run::Results;
use rtether::scenario::Scenario;
use rtether::stages::Stages;
use rtether::sums::{self, MaxOfSum, OneSum};
use rtether::verdict::{self, Assessment, Conclusion, Standing, Verdict};

impl Measured {
    /// Judges the streams as `check` judges simulated ones: all delivered packets, without the time for
    /// which stalls were felt on their way. Where stalls touched many of them, a stream that holds must
    /// hold with the stalls, too, or there is no answer; where they touched all, there is none.
    pub fn assess(&self, scenario: &Scenario) -> Vec<Assessment> {
        let judged = |figures| {
            let record = self.record_of(scenario, figures);
            verdict::assess_measured(scenario, &self.results_of(record))
        };
        let mut assessments = judged(|own| (own.less_stalls.clone(), own.missed));
        let with_stalls = judged(|own| (own.with_stalls.clone(), own.missed_with_stalls));
        let both = assessments.iter_mut().zip(with_stalls);
        for ((own, with_stalls), stream) in both.zip(&self.streams) {
            leave_open_if_stalled(own, &with_stalls, stream);
        }
        let flows = scenario.flows.iter();
        let flows = flows.flat_map(|flow| flow.listeners.iter().map(move |_| flow));
        for ((flow, stream), assessment) in flows.zip(&self.streams).zip(&mut assessments) {
            if let Some(why) = &stream.withheld {
                ssh::leave_open(scenario, flow, why, assessment);
            }
        }
        assessments
    }

    /// Judges the requirements over several flows.
    pub fn sums(&self, scenario: &Scenario) -> Vec<OneSum> {
        let streams = self.streams.iter().map(|stream| {
            let max = stream.measurement().summand();
            (max.filter(|_| stream.withheld.is_none()), stream.delivered)
        });
        sums::observed(scenario, &streams.collect::<Vec<_>>())
    }

    /// Returns the measurement as evidence for a check.
    pub fn evidence(&self, scenario: &Scenario) -> Evidence {
        let streams = self.streams.iter();
        let emulated = super::emulated(scenario).into_iter();
        Evidence {
            streams: streams.map(|stream| (stream.measurement(), stream.distribution())).collect(),
            assessments: self.assess(scenario),
            tolerance: self.tolerance,
            error: self.errors.first().cloned(),
            is_partial: self.is_partial,
            emulated: emulated.map(str::to_owned).collect(),
            apart: (self.backend == Backend::Kernel).then_some(KERNEL),
        }
    }

    /// Returns the measurement as the results of one run.
    pub(super) fn results(&self, scenario: &Scenario) -> Results {
        self.results_of(self.record(scenario))
    }

    fn results_of(&self, record: Record) -> Results {
        Results {
            record,
            stages: Stages::new(),
            confidence: Vec::new(),
            seeds: Vec::new(),
            partial: self.is_partial,
        }
    }
}

/// What the kernel's links and bridges lack.
const KERNEL: &str = "the kernel's links and bridges pass a frame at once: live figures over `kernel` \
    have neither transmission times nor latencies of the plant and cannot be compared with those \
    simulated; `--live emulated` has them";

/// Withdraws an answer that only packets without a stall would give.
fn leave_open_if_stalled(own: &mut Assessment, with_stalls: &Assessment, stream: &MeasuredStream) {
    if own.verdict == Verdict::Unjudged {
        return;
    }
    let why = if stream.stalled > 0 && stream.stalled == stream.delivered {
        format!(
            "stalls of this host touched {} packets that were delivered",
            match stream.stalled {
                1 => "the".to_owned(),
                all => format!("all {all}"),
            }
        )
    } else if let Some(share) = much_stalled(stream.stalled, stream.delivered)
        && own.verdict == Verdict::Ok
        && with_stalls.verdict.is_failure()
    {
        let reason = with_stalls.reasons.first();
        format!(
            "stalls of this host touched {} of the packets, and with them {}",
            thousandths(share),
            reason.map_or("it does not hold", |reason| reason)
        )
    } else {
        return;
    };
    own.verdict = Verdict::NoAnswer;
    own.measured = Standing::NoAnswer;
    own.failed = None;
    own.margin = None;
    own.reasons = vec![why];
}

pub(super) struct Row<'a> {
    pub(super) flow: &'a Flow,
    pub(super) listener: NodeId,
    pub(super) stream: &'a MeasuredStream,
    pub(super) assessment: &'a Assessment,
}

pub(super) fn rows<'a>(
    scenario: &'a Scenario,
    measured: &'a Measured,
    assessments: &'a [Assessment],
) -> impl Iterator<Item = Row<'a>> {
    let flows = scenario.flows.iter();
    let ends = flows.flat_map(|flow| flow.listeners.iter().map(move |&node| (flow, node)));
    let said = measured.streams.iter().zip(assessments);
    ends.zip(said).map(|((flow, listener), (stream, assessment))| Row {
        flow,
        listener,
        stream,
        assessment,
    })
}

/// A measured scenario, in all formats.
#[derive(Clone, Copy, Debug)]
pub struct Run<'a> {
    /// The scenario.
    pub scenario: &'a Scenario,
    /// What was measured.
    pub measured: &'a Measured,
    /// The judgment of each stream.
    pub assessments: &'a [Assessment],
}

impl Render for Run<'_> {
    /// The measured streams, followed by facts about the run.
    fn parts(&self, _: Screen) -> Vec<Part> {
        let title = format!("{}\n", plain_line(&self.scenario.name));
        let footer = footer(self.scenario, self.measured, self.assessments);
        let mut parts = vec![title.into(), self.streams().into()];
        let sums = self.measured.sums(self.scenario);
        if !sums.is_empty() {
            let table = sums::table(&sums, "max", "max_ns");
            parts.extend(["\n".to_owned().into(), table.into()]);
        }
        parts.extend([format!("\n{footer}").into(), sums::said(&sums).into()]);
        parts.push((self.said() + "\n").into());
        parts
    }

    /// One row per stream, then one per sum of delays, times in nanoseconds.
    fn rows(&self) -> Table {
        let sums = self.measured.sums(self.scenario);
        let sums = sums::table(&sums, "max", "max_ns");
        self.streams().append(&sums)
    }

    fn json(&self) -> String {
        json(self)
    }
}

impl Run<'_> {
    /// Returns the verdict on what was measured.
    pub fn conclusion(&self) -> Conclusion {
        let Self { measured, .. } = *self;
        // Each host hears of the request to stop at a moment of its own: the first to end breaks the
        // connections of the others.
        let is_stopped = measured.is_partial && measured.backend == Backend::Ssh;
        if !measured.errors.is_empty() && !is_stopped {
            // An error also ends a run early, without a request to stop.
            return Conclusion::Unmeasured;
        }
        let worst = worst(self.assessments, &measured.sums(self.scenario));
        Conclusion::of([worst], measured.is_partial)
    }

    /// Returns the verdict in a line: its word, and what it rests on.
    fn said(&self) -> String {
        let Self { scenario, measured, .. } = *self;
        let results = measured.results(scenario);
        let checked = Checked::new(scenario.clone(), results, self.assessments.to_vec());
        let counts = checked.counts();
        let streams = plural(counts.streams, "stream");
        self.conclusion().sentence(&format!("{streams}: {}.", counts.words()))
    }

    /// Returns a row per stream.
    fn streams(&self) -> Table {
        let name = |id: NodeId| self.scenario.network.node(id).name.as_str();
        let max = |row: &Row<'_>| {
            let latency = &row.stream.latency;
            (latency.count > 0).then_some(latency.max)
        };
        Table::of(rows(self.scenario, self.measured, self.assessments))
            .both("flow", "flow", |row| &row.flow.name)
            .shown("talker > listener", |row| {
                format!("{} > {}", name(row.flow.talker), name(row.listener))
            })
            .rank(2)
            .file("talker", |row| name(row.flow.talker))
            .file("listener", |row| name(row.listener))
            .number("sent", "released", |row| row.stream.released)
            .rank(1)
            .file("delivered", |row| row.stream.delivered)
            .number("lost", "lost", |row| row.stream.lost)
            .number("missed", "missed", |row| row.stream.missed)
            .rank(1)
            .file("duplicates", |row| row.stream.duplicates)
            .file("reordered", |row| row.stream.reordered)
            .number("stalled", "stalled", |row| row.stream.stalled)
            .rank(1)
            .file("outside_profile", |row| row.stream.outside)
            .file("held_up", |row| row.stream.held_up)
            .file("mean_ns", |row| ns(row.stream.latency.mean()))
            .number("p50", "p50_ns", |row| ns(row.stream.quantile(1, 2)))
            .rank(3)
            .number("p99", "p99_ns", |row| ns(row.stream.quantile(99, 100)))
            .rank(3)
            .number("p99.9", "p999_ns", |row| ns(row.stream.quantile(999, 1_000)))
            .rank(4)
            .number("max", "max_ns", |row| ns(max(row)))
            .number("p50 with stalls", "p50_with_stalls_ns", |row| {
                ns(row.stream.with_stalls.quantile(1, 2))
            })
            .rank(2)
            .number("p99 with stalls", "p99_with_stalls_ns", |row| {
                ns(row.stream.with_stalls.quantile(99, 100))
            })
            .rank(2)
            .file("missed_with_stalls", |row| row.stream.missed_with_stalls)
            .file("p999_with_stalls_ns", |row| ns(row.stream.with_stalls.quantile(999, 1_000)))
            .file("max_with_stalls_ns", |row| ns(row.stream.with_stalls.max()))
            .number("deadline", "deadline_ns", |row| ns(row.flow.deadline))
            .both("verdict", "verdict", |row| {
                let said = row.assessment.standing().name();
                let verdict = row.assessment.verdict;
                Cell::from(verdict.name()).shown(if verdict.is_failure() {
                    said.to_uppercase()
                } else {
                    said.to_owned()
                })
            })
            .done()
    }
}

/// Returns whole nanoseconds, which is what clocks resolve.
fn ns(span: Option<Duration>) -> Cell {
    span.map(|span| Cell::from(span.as_ns_floor()).shown(time(span))).into()
}

fn footer(scenario: &Scenario, measured: &Measured, assessments: &[Assessment]) -> String {
    let facts = facts(measured).into_iter();
    let mut lines: Vec<String> = facts.map(|(name, text)| format!("{name:<15}{text}")).collect();
    lines.extend(ssh::lines(scenario, measured));
    let emulated = profile::said(scenario, measured);
    lines.extend(emulated.map(|said| format!("stacks         emulated at {said}")));
    let layers = layers::said(scenario, &measured.layers).into_iter();
    lines.extend(layers.map(|said| format!("layer          {said}")));
    for row in rows(scenario, measured, assessments) {
        lines.extend(files(&row));
        let share = much_stalled(row.stream.stalled, row.stream.delivered);
        lines.extend(share.map(|share| {
            let name = plain_line(&row.flow.name);
            format!("{name}: {}", rtether::check::biased(share))
        }));
    }
    for row in rows(scenario, measured, assessments) {
        for reason in &row.assessment.reasons {
            lines.push(format!("{}: {reason}", plain_line(&row.flow.name)));
        }
    }
    let verdicts = assessments.iter().map(|assessment| assessment.verdict);
    let failed = verdicts.clone().filter(|verdict| verdict.is_failure());
    let open = verdicts.filter(|verdict| *verdict == Verdict::NoAnswer);
    let said = match (failed.count(), open.count()) {
        (0, 0) => "every requirement held in the measured packets, which is not a proof".into(),
        (0, open) => format!("none failed as measured, no answer for {open}"),
        (failed, _) => format!("{failed} failed as measured"),
    };
    lines.push(format!("{}: {said}", plural(assessments.len(), "stream")));
    lines.join("\n") + "\n"
}

/// Returns facts about the run: what was measured, and under which conditions.
pub(super) fn facts(measured: &Measured) -> Vec<(&'static str, String)> {
    let mut facts = vec![(
        "measured",
        format!(
            "{} over `{}`, the first {} not counted",
            time(measured.duration),
            measured.backend.name(),
            time(measured.warmup)
        ),
    )];
    let mut stalls = match measured.longest_stall {
        Some(longest) => format!(
            "{}, the longest {}; packets they touched are counted as stalled, and left out of p50 to max",
            measured.stalls,
            time(longest)
        ),
        None => "none of more than 300 us".into(),
    };
    if !measured.watched_in_real_time {
        stalls += "; watched without real-time priority, so that waiting for a core looks like one";
    }
    facts.push(("host stalls", stalls));
    facts.push((
        "cores",
        match &measured.awake {
            Ok(()) => "kept from deep sleep".into(),
            Err(why) => format!("may sleep deeply: {why}"),
        },
    ));
    let mut late = Histogram::default();
    for stream in &measured.streams {
        late.merge(&stream.late);
    }
    facts.push((
        "late releases",
        format!(
            "p50 {}, p99 {}: latencies count from the release as it was",
            time_or_dash(late.quantile(1, 2)),
            time_or_dash(late.quantile(99, 100))
        ),
    ));
    let emulation = measured.emulation.as_ref();
    facts.extend(emulation.map(|emulation| ("emulator", emulated(emulation))));
    let held_up: u64 = measured.streams.iter().map(|stream| stream.held_up).sum();
    facts.extend((held_up > 0).then(|| ("held up", held_up_by(measured, held_up))));
    let oddities = measured.oddities;
    let odd = [
        (oddities.foreign, "foreign packets"),
        (oddities.unsent, "packets refused by the system"),
        (oddities.unrecorded, "packets without a record"),
        (oddities.clock_steps, "steps of the wall clock"),
    ];
    let odd = odd.iter().filter(|(count, _)| *count > 0);
    facts.extend(odd.map(|(count, what)| ("note", format!("{count} {what}"))));
    let failures = measured.failures.iter();
    facts.extend(failures.map(|failure| ("note", plain_line(failure))));
    let errors = measured.errors.iter();
    facts.extend(errors.map(|error| ("error", plain_line(error))));
    if measured.is_partial {
        let how = if measured.errors.is_empty() { "interrupted" } else { "ended early" };
        let what = "the figures are those of the part that was run";
        facts.push((how, what.into()));
    }
    facts
}

/// Summarizes the files of a flow.
fn files(row: &Row<'_>) -> Option<String> {
    let files = &row.stream.transfers;
    let first = files.first()?;
    let octets: u64 = files.iter().map(|file| file.delivered.get()).sum();
    let ends = files.iter().filter_map(|file| file.finished_at);
    let last = ends.clone().max();
    let retransmissions: u64 = files.iter().map(|file| file.retransmissions).sum();
    let throughput = last.map(|last| {
        let seconds = (last - first.started_at).as_secs_f64();
        format!(", {:.2} Mbit/s", to_f64(octets) * 8.0 / seconds / 1e6)
    });
    Some(format!(
        "{}: {}, {} complete, {octets} B{}; {retransmissions} segments sent again",
        plain_line(&row.flow.name),
        plural(files.len(), "file"),
        ends.count(),
        throughput.unwrap_or_default()
    ))
}

#[allow(clippy::cast_precision_loss, reason = "a rate for display needs no 53rd bit")]
fn to_f64(value: u64) -> f64 {
    value as f64
}

fn files_json(stream: &MeasuredStream) -> Value {
    let ns = |at: Instant| at.since_start().as_ns_floor();
    let files = stream.transfers.iter().map(|file| {
        json!({
            "started_ns": ns(file.started_at),
            "finished_ns": file.finished_at.map(ns),
            "delivered_bytes": file.delivered.get(),
            "retransmissions": file.retransmissions,
        })
    });
    files.collect()
}

fn emulated(emulation: &Emulation) -> String {
    let differing = match emulation.differing {
        Some(0) => "all decided as in their replay".into(),
        Some(differing) => format!(
            "{} were late, {differing} differ from the replay (by p50 {}, max {})",
            emulation.late,
            time_or_dash(emulation.apart_p50),
            time_or_dash(emulation.apart_max)
        ),
        None => "more than are recorded, so not replayed".into(),
    };
    format!(
        "{} frames, {differing}; sent late by p50 {}, p99 {}, max {}; {} dropped by \
         the network, {} by the emulator",
        emulation.frames,
        time_or_dash(emulation.late_p50),
        time_or_dash(emulation.late_p99),
        time(emulation.late_max),
        emulation.dropped,
        emulation.failed
    )
}

fn held_up_by(measured: &Measured, packets: u64) -> String {
    let stalls = measured.emulation.as_ref().map_or(0, |own| own.stalls);
    format!(
        "{packets} measured packets, by {stalls} stalls of the emulator: they count in the figures, but \
         prove nothing against a bound"
    )
}

fn emulated_json(emulation: &Emulation) -> Value {
    json!({
        "frames": emulation.frames,
        "late": emulation.late,
        "differing": emulation.differing,
        "apart_p50_ns": number(emulation.apart_p50),
        "apart_max_ns": number(emulation.apart_max),
        "late_p50_ns": number(emulation.late_p50),
        "late_p99_ns": number(emulation.late_p99),
        "late_max_ns": emulation.late_max.as_ns_floor(),
        "returned_max_ns": emulation.returned_max.as_ns_floor(),
        "dropped": emulation.dropped,
        "failed": emulation.failed,
        "collisions": emulation.collisions,
        "stalls": emulation.stalls,
    })
}

/// Returns the verdict over all streams.
fn worst(assessments: &[Assessment], sums: &[OneSum]) -> Verdict {
    let sums = sums.iter().map(|sum| {
        if sum.added.standing == Standing::Late {
            Verdict::Late
        } else if sum.added.standing == Standing::NoAnswer {
            Verdict::NoAnswer
        } else {
            Verdict::Ok
        }
    });
    let streams = assessments.iter().map(|own| own.verdict);
    streams.chain(sums).max().unwrap_or(Verdict::Unjudged)
}

fn number(time: Option<Duration>) -> Value {
    time.map_or(Value::Null, |time| json!(time.as_ns_floor()))
}

/// Returns the measurement as one JSON document (`rtether.live/1`), times in nanoseconds.
fn json(run: &Run<'_>) -> String {
    let Run { scenario, measured, assessments } = *run;
    let streams: Vec<Value> =
        rows(scenario, measured, assessments).map(|row| stream_json(scenario, &row)).collect();
    let mut document = json!({
        "format": "rtether.live/1",
        "scenario": scenario.name,
        "backend": measured.backend.name(),
        "duration_ns": measured.duration.as_ns_floor(),
        "warmup_ns": measured.warmup.as_ns_floor(),
        "partial": measured.is_partial,
        "conclusion": run.conclusion().word(),
        "verdict": worst(assessments, &measured.sums(scenario)).name(),
        "stalls": {
            "count": measured.stalls,
            "longest_ns": number(measured.longest_stall),
            "real_time": measured.watched_in_real_time,
        },
        "cores_awake": measured.awake.is_ok(),
        "oddities": {
            "foreign": measured.oddities.foreign,
            "unsent": measured.oddities.unsent,
            "unrecorded": measured.oddities.unrecorded,
            "clock_steps": measured.oddities.clock_steps,
        },
        "emulator": measured.emulation.as_ref().map(emulated_json),
        "layers": layers::json(scenario, &measured.layers),
        "hosts": ssh::json(scenario, measured),
        "emulated_stations": profile::emulated(scenario),
        "failures": measured.failures,
        "errors": measured.errors,
        "streams": streams,
    });
    let sums = measured.sums(scenario);
    if !sums.is_empty() {
        document["sums"] = json!(sums::json(&sums, |max_ns| MaxOfSum { max_ns }));
    }
    format!("{document:#}\n")
}

fn stream_json(scenario: &Scenario, row: &Row<'_>) -> Value {
    let name = |id: NodeId| scenario.network.node(id).name.as_str();
    let Row { flow, stream, .. } = row;
    let quantiles = |histogram: &Histogram| {
        let of = |part, whole| number(histogram.quantile(part, whole));
        json!({ "p50": of(1, 2), "p90": of(9, 10), "p99": of(99, 100), "p999": of(999, 1_000) })
    };
    let has_samples = stream.latency.count > 0;
    let extreme = |time: Duration| number(has_samples.then_some(time));
    json!({
        "flow": flow.name,
        "class": flow.class,
        "talker": name(flow.talker),
        "listener": name(row.listener),
        "released": stream.released,
        "delivered": stream.delivered,
        "lost": stream.lost,
        "missed": stream.missed,
        "duplicates": stream.duplicates,
        "reordered": stream.reordered,
        "stalled": stream.stalled,
        "outside_profile": stream.outside,
        "held_up": stream.held_up,
        "latency_ns": {
            "min": extreme(stream.latency.min),
            "mean": number(stream.latency.mean()),
            "p50": number(stream.quantile(1, 2)),
            "p90": number(stream.quantile(9, 10)),
            "p99": number(stream.quantile(99, 100)),
            "p999": number(stream.quantile(999, 1_000)),
            "max": extreme(stream.latency.max),
        },
        "send_ns": quantiles(&stream.send),
        "receive_ns": quantiles(&stream.receive),
        "uncertainty_ns": stream.uncertainty.as_ns_floor(),
        "late_release_ns": quantiles(&stream.late),
        "files": files_json(stream),
        "with_stalls": stream.measurement().with_stalls.json(),
        "max_less_stalls_ns": number(stream.less_stalls.max()),
        "worst_at_ns": number(stream.worst.map(|worst| worst.at.since_start())),
        "deadline_ns": number(flow.deadline),
        "verdict": row.assessment.verdict.name(),
        "basis": row.assessment.standing().name(),
        "reasons": row.assessment.reasons,
    })
}
