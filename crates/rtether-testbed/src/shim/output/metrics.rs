//! The status in the text format of Prometheus (version 0.0.4).

use std::fmt::{Display, Write};

use rtether_live::shim::{QueueStatus, SmootherStatus};
use rtether_model::quantity::{BitRate, Duration};

use super::{Report, direction_name, malformed, mode_name};

/// Returns the metrics of one shim.
pub fn metrics(report: &Report) -> String {
    let mut page = Page::new(&report.device);
    process(&mut page, report);
    traffic(&mut page, report);
    reports(&mut page, report);
    queues(&mut page, &report.status.queues);
    if let Some(smoother) = &report.status.smoother {
        states(&mut page, smoother);
        packets(&mut page, smoother);
    }
    page.out
}

/// A page to which metrics are added one by one.
struct Page {
    out: String,
    device: String,
}

/// Labels of a sample in addition to the device.
type Labels<'a> = &'a [(&'a str, &'a str)];

impl Page {
    fn new(device: &str) -> Self {
        Self { out: String::new(), device: escaped(device) }
    }

    /// Starts a counter.
    fn counter(&mut self, name: &str, help: &str) {
        self.head(name, "counter", help);
    }

    /// Starts a gauge.
    fn gauge(&mut self, name: &str, help: &str) {
        self.head(name, "gauge", help);
    }

    fn head(&mut self, name: &str, kind: &str, help: &str) {
        _ = writeln!(self.out, "# HELP rtether_shim_{name} {help}");
        _ = writeln!(self.out, "# TYPE rtether_shim_{name} {kind}");
    }

    fn sample(&mut self, name: &str, labels: Labels<'_>, value: impl Display) {
        _ = write!(self.out, "rtether_shim_{name}{{device=\"{}\"", self.device);
        for (label, text) in labels {
            _ = write!(self.out, ",{label}=\"{}\"", escaped(text));
        }
        _ = writeln!(self.out, "}} {value}");
    }

    /// Adds a metric with one sample.
    fn one(&mut self, name: &str, help: &str, value: impl Display) {
        self.gauge(name, help);
        self.sample(name, &[], value);
    }
}

fn escaped(text: &str) -> String {
    text.replace('\\', "\\\\").replace('"', "\\\"").replace('\n', "\\n")
}

fn seconds(time: Duration) -> f64 {
    time.as_secs_f64()
}

fn process(page: &mut Page, report: &Report) {
    page.gauge("info", "The shim itself; always 1.");
    let backend = report.status.backend.name();
    page.sample("info", &[("backend", backend), ("config", &report.config)], 1);
    let help = "Time since the shim was set up.";
    page.one("up_seconds", help, report.up.as_secs());
    let help = "Whether a watchdog restores the device if the process dies.";
    page.one("watched", help, u8::from(report.is_watched));
    if let Some(is_real_time) = report.status.is_real_time {
        let help = "Whether the thread that forwards has a real-time priority.";
        page.one("real_time", help, u8::from(is_real_time));
    }
    let help = "Rate of the link.";
    page.one("link_rate_bits_per_second", help, report.rate.as_bps());
    page.counter("reloads_total", "Reloads by outcome.");
    for (outcome, count) in [("taken", report.reloads.0), ("refused", report.reloads.1)] {
        page.sample("reloads_total", &[("outcome", outcome)], count);
    }
}

fn traffic(page: &mut Page, report: &Report) {
    let status = &report.status;
    let ways = [
        ("transmit", &status.transmitted, status.bypassed.transmit),
        ("receive", &status.received, status.bypassed.receive),
    ];
    let way = |direction| [("direction", direction)];
    page.counter("taken_frames_total", "Frames taken in.");
    for (direction, traffic, _) in ways {
        page.sample("taken_frames_total", &way(direction), traffic.taken);
    }
    page.counter("frames_total", "Frames handed on.");
    for (direction, traffic, _) in ways {
        page.sample("frames_total", &way(direction), traffic.frames);
    }
    page.counter("bytes_total", "Octets of frames handed on, without check sequence.");
    for (direction, traffic, _) in ways {
        page.sample("bytes_total", &way(direction), traffic.octets);
    }
    let help = "Frames that bypassed the shim because it gave no sign of life.";
    page.counter("bypassed_frames_total", help);
    for (direction, _, bypassed) in ways {
        page.sample("bypassed_frames_total", &way(direction), bypassed);
    }
    page.counter("dropped_frames_total", "Frames lost, by reason.");
    for (reason, count) in status.drops.named() {
        page.sample("dropped_frames_total", &[("reason", reason)], count);
    }
    let help = "Malformed frames by reason; they are forwarded.";
    page.counter("malformed_frames_total", help);
    for (reason, count) in malformed(status) {
        page.sample("malformed_frames_total", &[("reason", reason)], count);
    }
}

fn reports(page: &mut Page, report: &Report) {
    let help = "Hub reports that did not come.";
    page.counter("missed_reports_total", help);
    page.sample("missed_reports_total", &[], report.status.missed_reports);
    if let Some(probes) = &report.status.probes {
        page.counter("probes_total", "Probes between shims, by outcome.");
        for (outcome, count) in probes.named() {
            page.sample("probes_total", &[("outcome", outcome)], count);
        }
    }
}

fn queues(page: &mut Page, queues: &[QueueStatus]) {
    if queues.is_empty() {
        return;
    }
    page.gauge("queue_depth_frames", "Frames that wait.");
    each(page, queues, "queue_depth_frames", |queue| Some(queue.depth));
    page.counter("queue_accepted_total", "Frames that found room.");
    each(page, queues, "queue_accepted_total", |queue| Some(queue.accepted));
    page.counter("queue_released_total", "Frames that left.");
    each(page, queues, "queue_released_total", |queue| Some(queue.released));
    page.counter("queue_dropped_total", "Frames that found the queue full.");
    each(page, queues, "queue_dropped_total", |queue| Some(queue.dropped));
    // The kernel does not measure waiting times.
    if queues.iter().any(|queue| queue.waited.is_some()) {
        let help = "Mean wait of the frames that left.";
        page.gauge("queue_wait_mean_seconds", help);
        let mean = |queue: &QueueStatus| Some(seconds(queue.waited?.mean));
        each(page, queues, "queue_wait_mean_seconds", mean);
        page.gauge("queue_wait_max_seconds", "Longest of these.");
        let max = |queue: &QueueStatus| Some(seconds(queue.waited?.max));
        each(page, queues, "queue_wait_max_seconds", max);
    }
}

/// Adds a sample for each queue that has a value.
fn each<T: Display>(
    page: &mut Page,
    queues: &[QueueStatus],
    name: &str,
    value: impl Fn(&QueueStatus) -> Option<T>,
) {
    for queue in queues {
        if let Some(value) = value(queue) {
            let direction = direction_name(queue.direction);
            let number = queue.class.to_string();
            let labels = [("direction", direction), ("queue", number.as_str())];
            page.sample(name, &labels, value);
        }
    }
}

fn states(page: &mut Page, smoother: &SmootherStatus) {
    let state = &smoother.state;
    page.gauge("smoother_info", "The smoother; always 1.");
    page.sample("smoother_info", &[("mode", mode_name(&smoother.mode))], 1);
    if let Some(credits) = state.credits {
        let help = "Credits; below zero if borrowed.";
        page.one("smoother_credits_bytes", help, credits);
    }
    if let Some(period) = state.period {
        let help = "Present period of refreshes.";
        page.one("smoother_period_seconds", help, seconds(period));
    }
    if let Some(rate) = state.rate.map(BitRate::as_bps) {
        let help = "Present limit of bulk traffic.";
        page.one("smoother_rate_bits_per_second", help, rate);
    }
    let help = "Octets that wait in the smoother.";
    page.one("smoother_backlog_bytes", help, state.backlog.get());
}

fn packets(page: &mut Page, smoother: &SmootherStatus) {
    let statistics = &smoother.statistics;
    let classes = [("real-time", &statistics.real_time), ("bulk", &statistics.bulk)];
    let labels = |class| [("class", class)];
    page.counter("smoother_packets_total", "Packets that left the smoother.");
    for (name, class) in classes {
        page.sample("smoother_packets_total", &labels(name), class.sent);
    }
    let help = "Octets of these, as IP datagrams.";
    page.counter("smoother_bytes_total", help);
    for (name, class) in classes {
        page.sample("smoother_bytes_total", &labels(name), class.sent_size.get());
    }
    page.counter("smoother_dropped_packets_total", "Packets dropped because a queue was full.");
    for (name, class) in classes {
        page.sample("smoother_dropped_packets_total", &labels(name), class.dropped);
    }
    for (name, help, count) in [
        ("smoother_reports_total", "Reports of congestion.", statistics.reports),
        ("smoother_decreases_total", "How often the rate was lowered.", statistics.decreases),
        ("smoother_holds_total", "Calls that held bulk packets back.", statistics.holds),
    ] {
        page.counter(name, help);
        page.sample(name, &[], count);
    }
}
