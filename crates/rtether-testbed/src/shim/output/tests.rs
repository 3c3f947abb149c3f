//! Oracles: the documents' own formats, read back; every counter has a distinct value, so that none
//! can be mistaken for another.

use rtether::report::format::{Format, Render};
use rtether::report::table::Screen;
use std::collections::{BTreeMap, BTreeSet};

use rtether_live::shim::{
    Backend, Directions, Drops, ProbeStatus, QueueStatus, SmootherStatus, Traffic, Waited,
};
use rtether_model::quantity::{Bytes, Duration, Instant};
use rtether_model::smoother::{Adaptive, Config};
use rtether_proto::endnode::{MalformedCounters, parse};
use rtether_proto::probe::PathCounters;
use rtether_proto::smoother::{Class, Smoother};
use rtether_testkit::read_document;
use serde_json::{Value, json};

use super::*;

fn probed() -> ProbeStatus {
    ProbeStatus {
        own: PathCounters { sent: 61, answered: 62, lost: 63, absent: 64 },
        answers: 65,
        declined: 66,
        forged: 67,
        malformed: 68,
    }
}

fn report() -> Report {
    let mode = Mode::Adaptive(Adaptive::HIMD);
    let mut engine = Smoother::new(Instant::ZERO, Config::new(mode)).expect("the paper's values");
    let taken = engine.enqueue(Instant::ZERO, (), Bytes::new(1400), Class::Bulk);
    assert_eq!(taken, Ok(()));
    let mut malformed = MalformedCounters::default();
    malformed.note(&parse(&[0; 4]));
    let queue = |direction, class: u8| QueueStatus {
        direction,
        class,
        depth: 101,
        accepted: 102,
        released: 103,
        dropped: 104,
        waited: Some(Waited { mean: Duration::from_us(105), max: Duration::from_us(106) }),
    };
    let traffic = |taken| Traffic { taken, frames: taken + 1, octets: taken + 2 };
    Report {
        device: "eth\"0".to_owned(),
        pid: 4711,
        config: "a\\b\n.yaml".to_owned(),
        rate: BitRate::from_mbps(100),
        detector: Some(Detector::Backlog { low: Bytes::new(1), high: Bytes::new(2) }),
        up: std::time::Duration::from_secs(3),
        reloads: (5, 6),
        is_watched: true,
        status: Status {
            backend: Backend::User,
            is_real_time: Some(false),
            transmitted: traffic(10),
            received: traffic(20),
            queues: vec![queue(Direction::Transmit, 0), queue(Direction::Receive, 1)],
            smoother: Some(SmootherStatus {
                mode,
                state: engine.state(),
                statistics: *engine.statistics(),
            }),
            signal: Signal::Port,
            drops: Drops {
                transmit_full: 31,
                receive_full: 32,
                stack_overrun: 33,
                wire_overrun: 34,
                port_down: 35,
                port_refused: 36,
                stack_refused: 37,
                abandoned: 38,
            },
            bypassed: Directions { transmit: 41, receive: 42 },
            malformed,
            missed_reports: 51,
            probes: Some(probed()),
        },
    }
}

#[test]
fn json_holds_every_counter() {
    let document = read_document(&report().json());
    for (path, value) in [
        ("/schema", json!("rtether.shim/1")),
        ("/device", json!("eth\"0")),
        ("/config", json!("a\\b\n.yaml")),
        ("/backend", json!("user")),
        ("/rate_bps", json!(100_000_000)),
        ("/reloads/refused", json!(6)),
        ("/is_watched", json!(true)),
        ("/is_real_time", json!(false)),
        ("/transmitted/taken_frames", json!(10)),
        ("/transmitted/bytes", json!(12)),
        ("/received/frames", json!(21)),
        ("/queues/0/direction", json!("transmit")),
        ("/queues/1/queue", json!(1)),
        ("/queues/1/dropped", json!(104)),
        ("/queues/1/wait_max_ns", json!(106_000.0)),
        ("/smoother/mode", json!("himd")),
        ("/smoother/period_ns", json!(3_000_000.0)),
        ("/smoother/rate_bps", json!(4_000_000)),
        ("/smoother/backlog_bytes", json!(1400)),
        ("/smoother/bulk/offered", json!(1)),
        ("/signal", json!("port")),
        ("/detector", json!("backlog")),
        ("/drops/abandoned", json!(38)),
        ("/drops/port_down", json!(35)),
        ("/bypassed/receive", json!(42)),
        ("/malformed/short_frame", json!(1)),
        ("/malformed/short_ports", json!(0)),
        ("/missed_reports", json!(51)),
        ("/probes/sent", json!(61)),
        ("/probes/absent", json!(64)),
        ("/probes/answers", json!(65)),
        ("/probes/forged", json!(67)),
    ] {
        assert_eq!(document.pointer(path), Some(&value), "{path}");
    }
}

/// Reads the text format by its description (exposition formats of Prometheus): a sample is a name,
/// labels and a value; its type precedes it, and all samples of a name are contiguous.
fn read(page: &str) -> BTreeMap<String, f64> {
    let mut samples = BTreeMap::new();
    let mut types: BTreeMap<&str, &str> = BTreeMap::new();
    let mut done = BTreeSet::new();
    let mut present = "";
    for line in page.lines() {
        if let Some(rest) = line.strip_prefix("# TYPE ") {
            let (name, kind) = rest.split_once(' ').expect("name and type");
            assert_eq!(types.insert(name, kind), None, "{name} twice");
            assert_eq!(kind == "counter", name.ends_with("_total"), "{name}");
            continue;
        }
        if line.starts_with("# HELP ") {
            continue;
        }
        let (sample, value) = line.rsplit_once(' ').expect("sample and value");
        let name = sample.split('{').next().expect("a name");
        assert!(types.contains_key(name), "{name} has no type");
        assert!(name.bytes().all(|b| b.is_ascii_lowercase() || b == b'_'));
        if name != present {
            assert!(done.insert(name), "samples of {name} do not stand together");
            present = name;
        }
        let value: f64 = value.parse().expect("a number");
        assert_eq!(samples.insert(sample.to_owned(), value), None, "{sample}");
    }
    samples
}

#[test]
fn metrics_can_be_read() {
    let page = metrics(&report());
    assert!(page.ends_with('\n'));
    let samples = read(&page);
    let device = "device=\"eth\\\"0\"";
    for (name, labels, value) in [
        ("info", ",backend=\"user\",config=\"a\\\\b\\n.yaml\"", 1.0),
        ("up_seconds", "", 3.0),
        ("watched", "", 1.0),
        ("link_rate_bits_per_second", "", 1e8),
        ("reloads_total", ",outcome=\"refused\"", 6.0),
        ("taken_frames_total", ",direction=\"transmit\"", 10.0),
        ("frames_total", ",direction=\"receive\"", 21.0),
        ("bytes_total", ",direction=\"receive\"", 22.0),
        ("bypassed_frames_total", ",direction=\"transmit\"", 41.0),
        ("dropped_frames_total", ",reason=\"wire_overrun\"", 34.0),
        ("malformed_frames_total", ",reason=\"short_frame\"", 1.0),
        ("queue_depth_frames", ",direction=\"transmit\",queue=\"0\"", 101.0),
        ("queue_dropped_total", ",direction=\"receive\",queue=\"1\"", 104.0),
        ("queue_wait_max_seconds", ",direction=\"receive\",queue=\"1\"", 106e-6),
        ("missed_reports_total", "", 51.0),
        ("smoother_info", ",mode=\"himd\"", 1.0),
        ("smoother_period_seconds", "", 3e-3),
        ("smoother_rate_bits_per_second", "", 4e6),
        ("smoother_backlog_bytes", "", 1400.0),
        ("smoother_packets_total", ",class=\"bulk\"", 0.0),
    ] {
        let sample = format!("rtether_shim_{name}{{{device}{labels}}}");
        let found = samples.get(&sample).unwrap_or_else(|| panic!("{sample} in\n{page}"));
        assert!((found - value).abs() <= value * 1e-12, "{sample}: {found}");
    }
}

#[test]
fn a_kernel_that_does_not_tell_waits_has_none() {
    let mut report = report();
    for queue in &mut report.status.queues {
        queue.waited = None;
    }
    report.status.smoother = None;
    let page = metrics(&report);
    read(&page);
    assert!(!page.contains("queue_wait") && !page.contains("smoother_"), "{page}");
    let document = read_document(&report.json());
    assert_eq!(document["queues"][0]["wait_max_ns"], Value::Null);
    assert_eq!(document["smoother"], Value::Null);
}

#[test]
fn people_get_a_table() {
    insta::assert_snapshot!(report().render(Format::Table, Screen::default()));
}

/// Returns the names of metrics of a page.
fn names(page: &str) -> BTreeSet<String> {
    let samples = page.lines().filter(|line| !line.starts_with('#'));
    let names = samples.map(|line| line.split(['{', ' ']).next().unwrap_or_default());
    names.map(str::to_owned).collect()
}

/// Returns all metrics of the pages that the dashboard shows, each from what writes it.
fn exposed() -> BTreeSet<String> {
    const PLANT: &str = "rtether: 1
name: plant
nodes: { a: { stack: zero }, b: { stack: zero } }
links: [{ ends: [a, b], rate: 100 Mbit/s }]
flows: [{ name: f, from: a, to: b, period: 1 ms, size: 40 B, deadline: 1 ms }]
run: { for: 10 ms }
";
    let plant = || {
        let loaded = rtether::scenario::load("plant.yaml", PLANT);
        loaded.into_scenario().expect("a plant")
    };
    let settings = rtether::watch::Settings {
        learn: Some(Duration::from_ms(1)),
        ..rtether::watch::Settings::default()
    };
    let mut watch = rtether::watch::Watch::new(plant(), settings);
    // Learning ends, and a second later nothing has come.
    for now in [0, 10_000_000, 1_000_000_000] {
        watch.tick(now, now, &mut |_| ());
    }
    let outcome = watch.end(1_000_000_001, &mut |_| ());
    let checked = rtether::check(&plant(), rtether::check::Options::default()).expect("runs");
    let judged = rtether::report::Verdicts::from(&checked);
    let mut all = names(&metrics(&report()));
    all.extend(names(&rtether::watch::metrics(&outcome, "eth0")));
    all.extend(names(&judged.render(Format::OpenMetrics, Screen::default())));
    all
}

/// Oracle: each metric that the dashboard names is one that is written.
#[test]
fn the_dashboard_shows_metrics_that_there_are() {
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../../packaging/grafana/rtether.json");
    let text = std::fs::read_to_string(path).expect("the dashboard");
    let dashboard: Value = serde_json::from_str(&text).expect("JSON");
    let panels = dashboard["panels"].as_array().expect("panels").iter();
    let targets = panels.filter_map(|panel| panel["targets"].as_array()).flatten();
    let mut expressions: Vec<&str> = targets.filter_map(|own| own["expr"].as_str()).collect();
    let variables = dashboard["templating"]["list"].as_array().expect("variables");
    expressions.extend(variables.iter().filter_map(|own| own["query"]["query"].as_str()));
    let is_name = |c: char| c.is_ascii_alphanumeric() || c == '_';
    let words = expressions.iter().flat_map(|own| own.split(|c| !is_name(c)));
    let named: BTreeSet<&str> = words.filter(|word| word.starts_with("rtether_")).collect();
    assert!(named.len() > 10, "{named:?}");
    let exposed = exposed();
    for name in named {
        assert!(exposed.contains(name), "{name}: {exposed:#?}");
    }
}
