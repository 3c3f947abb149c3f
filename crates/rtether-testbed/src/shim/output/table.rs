//! The status for people, and in all formats.

use std::fmt::Write;

use rtether::report::document;
use rtether::report::format::{Part, Render};
use rtether::report::table::{Cell, Screen, Table};
use rtether_live::shim::{QueueStatus, SmootherStatus, Status, Traffic};
use rtether_model::quantity::Duration;

use super::{
    NOT_REAL_TIME, Report, ShimJson, detector_name, direction_name, malformed, mode_name,
    signal_name,
};

impl Render for Report {
    fn parts(&self, _: Screen) -> Vec<Part> {
        let mut parts = vec![Part::Lines(head(self) + &traffic(&self.status))];
        let queues = self.rows();
        if !queues.is_empty() {
            parts.extend([Part::Lines("\n".into()), queues.into()]);
        }
        parts.push(rest(self).into());
        parts
    }

    /// The queues.
    fn rows(&self) -> Table {
        queues(&self.status.queues)
    }

    fn json(&self) -> String {
        document::text(&ShimJson::of(self))
    }
}

fn traffic(status: &Status) -> String {
    let mut out = String::new();
    for (name, traffic, bypassed) in [
        ("transmitted", &status.transmitted, status.bypassed.transmit),
        ("received", &status.received, status.bypassed.receive),
    ] {
        let Traffic { taken, frames, octets } = traffic;
        _ = writeln!(
            out,
            "{name:<12} {frames} frames, {octets} B; {taken} taken in, {bypassed} bypassed"
        );
    }
    out
}

/// Returns smoother, probes and losses.
fn rest(report: &Report) -> String {
    let status = &report.status;
    let mut out = String::new();
    if let Some(smoother) = &status.smoother {
        out.push_str(&smoother_text(report, smoother));
    }
    if let Some(probes) = &status.probes {
        _ = write!(out, "\nprobes       ");
        let counts = probes.named().map(|(name, count)| format!("{count} {name}"));
        _ = writeln!(out, "{}", counts.join(", "));
    }
    out.push_str(&losses(status));
    out
}

fn head(report: &Report) -> String {
    let (taken, refused) = report.reloads;
    let watched = if report.is_watched {
        "watched"
    } else {
        "not watched: `rtether shim down` is needed if it dies"
    };
    let thread = match report.status.is_real_time {
        Some(false) => format!("{NOT_REAL_TIME}\n"),
        Some(true) | None => String::new(),
    };
    format!(
        "{}: back end {}, {}, up {} s, process {}, {watched}\n\
         configuration {}, {taken} reloads, {refused} refused\n{thread}\n",
        report.device,
        report.status.backend.name(),
        report.rate,
        report.up.as_secs(),
        report.pid,
        report.config,
    )
}

fn queues(queues: &[QueueStatus]) -> Table {
    let wait = |time: Option<Duration>| time.map(|time| Cell::from(time).shown(microseconds(time)));
    Table::of(queues)
        .both("queue", "direction", |queue| direction_name(queue.direction))
        .both("", "class", |queue| queue.class.to_string())
        .both("waiting", "waiting_frames", |queue| queue.depth)
        .both("accepted", "accepted_frames", |queue| queue.accepted)
        .both("released", "released_frames", |queue| queue.released)
        .both("dropped", "dropped_frames", |queue| queue.dropped)
        .both("mean wait", "mean_wait_ns", |queue| wait(queue.waited.map(|waited| waited.mean)))
        .both("longest", "longest_wait_ns", |queue| wait(queue.waited.map(|waited| waited.max)))
        .done()
}

fn microseconds(time: Duration) -> String {
    format!("{:.1} us", time.as_us_f64())
}

fn smoother_text(report: &Report, smoother: &SmootherStatus) -> String {
    let SmootherStatus { mode, state, statistics } = smoother;
    let mut out = format!("\nsmoother     {}", mode_name(mode));
    if let Some(rate) = state.rate {
        _ = write!(out, ", {rate} for bulk");
    }
    if let Some(period) = state.period {
        _ = write!(out, ", period {period}");
    }
    if let (Some(credits), Some(depth)) = (state.credits, state.depth) {
        _ = write!(out, ", credits {credits} of {} B", depth.get());
    }
    _ = writeln!(out);
    _ = writeln!(
        out,
        "  waiting    {} real-time and {} bulk packets, {} B",
        state.real_time_packets,
        state.bulk_packets,
        state.backlog.get()
    );
    for (name, class) in [("real-time", &statistics.real_time), ("bulk", &statistics.bulk)] {
        _ = writeln!(
            out,
            "  {name:<10} {} offered, {} sent, {} dropped; longest wait {}",
            class.offered,
            class.sent,
            class.dropped,
            microseconds(class.waited_max)
        );
    }
    let detector = report.detector.map_or("none", detector_name);
    _ = writeln!(
        out,
        "  signal     {detector} from {}: {} reports, {} decreases, {} holds",
        signal_name(report.status.signal),
        statistics.reports,
        statistics.decreases,
        statistics.holds
    );
    out
}

/// Returns dropped and malformed frames, omitting counts of zero.
fn losses(status: &Status) -> String {
    let list = |counts: &mut dyn Iterator<Item = (&'static str, u64)>| {
        let some = counts.filter(|(_, count)| *count > 0);
        let words: Vec<String> =
            some.map(|(reason, count)| format!("{count} {}", reason.replace('_', " "))).collect();
        if words.is_empty() { "none".to_owned() } else { words.join(", ") }
    };
    format!(
        "\ndropped      {}\nmalformed    {}\n",
        list(&mut status.drops.named().into_iter()),
        list(&mut malformed(status))
    )
}
