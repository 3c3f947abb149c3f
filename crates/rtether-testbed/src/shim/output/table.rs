//! The status as a table for the terminal.

use std::fmt::Write;

use comfy_table::{LineStyle, Table, TableStyle};
use rtether_live::shim::{QueueStatus, SmootherStatus, Status, Traffic};
use rtether_model::quantity::Duration;

use super::{
    NOT_REAL_TIME, Report, detector_name, direction_name, malformed, mode_name, signal_name,
};

/// Returns the status as a table.
pub fn table(report: &Report) -> String {
    let status = &report.status;
    let mut out = head(report);
    for (name, traffic, bypassed) in [
        ("transmitted", &status.transmitted, status.bypassed.transmit),
        ("received", &status.received, status.bypassed.receive),
    ] {
        let Traffic {
            taken,
            frames,
            octets,
        } = traffic;
        _ = writeln!(
            out,
            "{name:<12} {frames} frames, {octets} B; {taken} taken in, {bypassed} bypassed"
        );
    }
    if !status.queues.is_empty() {
        _ = writeln!(out, "\n{}", queues(&status.queues));
    }
    if let Some(smoother) = &status.smoother {
        out.push_str(&smoother_text(report, smoother));
    }
    if let Some(probes) = &status.probes {
        _ = write!(out, "\nprobes       ");
        let counts = probes
            .named()
            .map(|(name, count)| format!("{count} {name}"));
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
    let mut table = Table::new();
    let rule = LineStyle::none().fill('\u{2500}').junction('\u{2500}');
    table.load_style(TableStyle::new().header_separator(rule));
    table.set_header([
        "queue",
        "",
        "waiting",
        "accepted",
        "released",
        "dropped",
        "mean wait",
        "longest",
    ]);
    for queue in queues {
        let wait = |time: Option<Duration>| time.map_or_else(|| "-".to_owned(), microseconds);
        table.add_row([
            direction_name(queue.direction).to_owned(),
            queue.class.to_string(),
            queue.depth.to_string(),
            queue.accepted.to_string(),
            queue.released.to_string(),
            queue.dropped.to_string(),
            wait(queue.waited.map(|waited| waited.mean)),
            wait(queue.waited.map(|waited| waited.max)),
        ]);
    }
    table
}

fn microseconds(time: Duration) -> String {
    format!("{:.1} us", time.as_us_f64())
}

fn smoother_text(report: &Report, smoother: &SmootherStatus) -> String {
    let SmootherStatus {
        mode,
        state,
        statistics,
    } = smoother;
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
    for (name, class) in [
        ("real-time", &statistics.real_time),
        ("bulk", &statistics.bulk),
    ] {
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
        let words: Vec<String> = some
            .map(|(reason, count)| format!("{count} {}", reason.replace('_', " ")))
            .collect();
        if words.is_empty() {
            "none".to_owned()
        } else {
            words.join(", ")
        }
    };
    format!(
        "\ndropped      {}\nmalformed    {}\n",
        list(&mut status.drops.named().into_iter()),
        list(&mut malformed(status))
    )
}
