//! A plan against frames as they come.
//!
//! Oracle: faults that the test itself puts into traffic of the plan, each found in its flow, by its
//! name and within its time, and nothing else. Frames are those of the simulator; how they are
//! delayed is drawn from a seed, within their deadlines.

use std::path::Path;
use std::sync::OnceLock;

use rtether::against::Deviation;
use rtether::report::format::{Format, Render};
use rtether::report::table::Screen;
use rtether::run::{Progress, simulate_seed};
use rtether::scenario::{Scenario, load};
use rtether::trace::CaptureLog;
use rtether::watch::{Alert, Outcome, Settings, Watch, metrics};
use rtether_testkit::{Arrival, BAY, Bay, Dice, Does, Fault, STRANGER, read_document};

use crate::watched;

const MS: i64 = 1_000_000;
const SECOND: i64 = 1_000 * MS;
/// A day, as any real clock shows.
const DAY: i64 = 86_400 * SECOND;

fn scenario(text: &str) -> Scenario {
    load("bay.yaml", text).into_scenario().expect("a plan")
}

fn plan() -> Scenario {
    scenario(BAY)
}

fn bay() -> &'static Bay {
    static BAY: OnceLock<Bay> = OnceLock::new();
    BAY.get_or_init(|| {
        let scenario = scenario(&Bay::shown());
        let mut octets = Vec::new();
        let mut log = CaptureLog::new(&scenario, &mut octets);
        simulate_seed(&scenario, 1, &Progress::default(), &mut log).expect("runs");
        log.finish().expect("memory takes everything");
        Bay::of(&octets)
    })
}

/// Traffic of the plan for a time, in order.
fn traffic(seconds: i64, seed: u64) -> Vec<Arrival> {
    bay().traffic(DAY, 0..seconds, seed)
}

fn watch(arrivals: &[Arrival]) -> (Vec<Alert>, Outcome) {
    let mut watch = Watch::new(plan(), Settings::default());
    let mut alerts = Vec::new();
    show(&mut watch, arrivals, &mut alerts);
    let end = arrivals.last().map_or(DAY, |(at, _)| *at);
    let outcome = watch.end(end, &mut |alert| alerts.push(alert.clone()));
    (alerts, outcome)
}

fn show(watch: &mut Watch, arrivals: &[Arrival], alerts: &mut Vec<Alert>) {
    let mut tell = |alert: &Alert| alerts.push(alert.clone());
    let mut now = arrivals.first().map_or(DAY, |(at, _)| *at);
    for (at, frame) in arrivals {
        while now < *at {
            watch.tick(now, now, &mut tell);
            now += 50 * MS;
        }
        watch.take(*at, frame, frame.len(), &mut tell);
    }
}

/// Returns what is told besides remarks.
fn told(alerts: &[Alert]) -> Vec<(&str, &str)> {
    let alerts = alerts.iter();
    let alerts = alerts.filter_map(|alert| Some((alert.flow.as_str(), alert.deviation?.name())));
    alerts.collect()
}

#[test]
fn traffic_of_the_plan_raises_no_alert() {
    let (alerts, outcome) = watch(&traffic(60, 1));
    assert_eq!(told(&alerts), [], "{alerts:?}");
    assert!(!outcome.deviates());
    // The alarm has not come, and need not.
    assert_eq!(alerts[0].text.split(" from").next(), Some("learned 5 of 6 planned flows"));
    let json = read_document(&outcome.json());
    assert_eq!(json["deviates"], false);
    assert_eq!(json["flows"][0]["name"], "samples");
}

#[test]
fn each_fault_is_found_by_its_name_and_in_time() {
    let clean = traffic(50, 2);
    for (number, fault) in Bay::faults().into_iter().enumerate() {
        let Fault { flow, does, deviation, within } = fault;
        let mut all = clean.clone();
        let when = bay().spoil(&mut all, flow, does, DAY + 20 * SECOND);
        let (alerts, outcome) = watch(&all);
        let found: Vec<&Alert> = alerts.iter().filter(|a| a.deviation.is_some()).collect();
        let first = found.first().unwrap_or_else(|| panic!("{number}: {flow}"));
        let name = if deviation == "not-planned" {
            // The frame is there under the address of its talker, and missing in its flow.
            STRANGER
        } else {
            flow
        };
        let found_as = (first.flow.as_str(), first.deviation.map(Deviation::name));
        assert_eq!(found_as, (name, Some(deviation)), "{number}");
        assert!((when..=when + within).contains(&first.at), "{number}: {first:?}");
        let others = found.iter().filter(|alert| alert.flow != name && alert.flow != flow);
        assert_eq!(others.count(), 0, "{number}: {found:?}");
        assert!(outcome.deviates());
    }
}

/// Oracle: the plan, in which there is no alarm for the first minutes.
#[test]
fn a_planned_event_is_no_stranger_when_it_comes_at_last() {
    let mut all = traffic(40, 3);
    let alarm = bay().frames["alarm"].clone();
    all.push((DAY + 30 * SECOND, alarm.clone()));
    all.push((DAY + 35 * SECOND, alarm.clone()));
    // Too soon, by half of its gap.
    all.push((DAY + 35 * SECOND + 50 * MS, alarm));
    all.sort_by_key(|(at, _)| *at);
    let (alerts, outcome) = watch(&all);
    assert_eq!(told(&alerts), [("alarm", "faster")]);
    let alarm = outcome.flows.iter().find(|flow| flow.name == "alarm");
    assert_eq!(alarm.map(|flow| flow.frames), Some(3));
}

/// Oracle: by hand; what a plant lacks and has too much is found when learning ends.
#[test]
fn what_deviates_from_the_begin_is_told_once() {
    let mut all = traffic(30, 4);
    let templates = &bay().frames;
    all.retain(|(_, frame)| *frame != templates["status"]);
    for (_, frame) in &mut all {
        if *frame == templates["heartbeat"] {
            frame[14] ^= 0x20;
        }
    }
    let (alerts, _) = watch(&all);
    assert_eq!(told(&alerts), [("heartbeat", "priority"), ("status", "missing")]);
}

/// Oracle: the limits of the module, and the size of what they allow.
#[test]
fn strangers_and_alerts_are_limited() {
    let mut watch = Watch::new(plan(), Settings::default());
    let mut alerts = 0_u64;
    let mut remarks = Vec::new();
    let mut frame = bay().frames["setpoint"].clone();
    let mut tell = |alert: &Alert| match alert.deviation {
        Some(_) => alerts += 1,
        None => remarks.push(alert.text.clone()),
    };
    for (at, frame) in traffic(12, 5) {
        watch.tick(at, at, &mut tell);
        watch.take(at, &frame, frame.len(), &mut tell);
    }
    let begin = DAY + 20 * SECOND;
    for number in 0..50_000_u32 {
        frame[6..10].copy_from_slice(&(number | 0x0600_0000).to_be_bytes());
        let stamp = begin + i64::from(number) * 10_000;
        watch.take(stamp, &frame, frame.len(), &mut tell);
        // Frames wait before they are taken, so the present time is ahead of their stamps; and the
        // clock of both is set back.
        let set = if number > 20_000 { 3_600 * SECOND } else { 0 };
        watch.tick(stamp + 12 * SECOND - set, stamp, &mut tell);
    }
    // Pauses are ten seconds, and all of it took half a second.
    watch.tick(begin + 11 * SECOND, begin + 11 * SECOND, &mut tell);
    let outcome = watch.outcome();
    assert!(alerts <= 200, "{alerts}");
    assert_eq!(outcome.flows.iter().filter(|flow| !flow.is_planned).count(), 1000);
    assert_eq!(outcome.counts.forgotten, 49_000);
    assert!(remarks.iter().any(|text| text.ends_with("more alerts are counted and not shown")));
}

/// Oracle: the plan of the test; whether a frame of a sporadic flow is missing, only its talker knows.
#[test]
fn what_a_plan_cannot_tell_is_said() {
    let text = "rtether: 1\nnodes: { a: { stack: zero }, b: { stack: zero } }\n\
        links: [{ ends: [a, b], rate: 100 Mbit/s }]\nflows:\n\
        - { name: steady, from: a, to: b, period: 1 ms, size: 64 B, jitter: 999 us }\n\
        - { name: event, from: a, to: b, min_gap: 1 ms, size: 64 B }\n";
    let watch = |text: &str| Watch::new(scenario(text), Settings::default());
    assert_eq!(
        watch(text).blind().as_deref(),
        Some("lost frames cannot be told without a period: `event`")
    );
    let (steady, _) = text.split_once("- { name: event").expect("the last flow");
    assert_eq!(watch(steady).blind(), None);
}

#[test]
fn what_is_no_frame_of_a_plan_is_counted() {
    // Oracle: IEEE 802.1AB, RFC 826: types of Ethernet.
    let mut watch = Watch::new(plan(), Settings::default());
    let mut tell = |_: &Alert| {};
    let mut frame = vec![0xff; 60];
    for kind in [[0x08, 0x06], [0x88, 0xcc], [0x00, 0x26]] {
        frame[12..14].copy_from_slice(&kind);
        watch.take(DAY, &frame, frame.len(), &mut tell);
    }
    watch.take(DAY, &frame[..13], 60, &mut tell);
    let counts = watch.counts();
    assert_eq!((counts.frames, counts.service, counts.unread), (4, 3, 1));
}

/// Oracle: the text format of Prometheus, 0.0.4.
#[test]
fn metrics_can_be_read() {
    let mut all = traffic(20, 6);
    bay().spoil(&mut all, "samples", Does::Remove(3), DAY + 15 * SECOND);
    let (_, outcome) = watch(&all);
    let page = metrics(&outcome, "eth\"0");
    for line in page.lines() {
        let is_comment = line.starts_with("# HELP rtether_watch_") || line.starts_with("# TYPE ");
        let is_sample = line
            .strip_prefix("rtether_watch_")
            .and_then(|line| line.split_once("{device=\"eth\\\"0\""))
            .and_then(|(_, rest)| rest.rsplit_once("} "))
            .is_some_and(|(_, value)| value.parse::<u64>().is_ok());
        assert!(is_comment || is_sample, "{line}");
    }
    let lost = "flow=\"samples\",listener=\"\",deviation=\"missing\"} 3";
    assert!(page.contains(lost), "{page}");
    let table = outcome.render(Format::Table, Screen::default());
    assert!(table.contains("missing 3"), "{table}");
}

/// Ten million frames with ten faults, in parts, since they are too many to be kept.
#[test]
#[ignore = "long"]
fn ten_million_frames_hide_and_invent_nothing() {
    const PART: i64 = 850;
    let mut watch = Watch::new(plan(), Settings::default());
    let (mut alerts, mut expected) = (Vec::new(), Vec::new());
    let faults = Bay::faults().into_iter();
    let faults = faults.filter(|fault| !matches!(fault.does, Does::Pace(_)));
    let faults: Vec<Fault> = faults.collect();
    assert_eq!(faults.len(), 11);
    for (number, fault) in (0..).zip(faults) {
        let begin = number * PART;
        let mut all = bay().traffic(DAY, begin..begin + PART, 7 + number.unsigned_abs());
        bay().spoil(&mut all, fault.flow, fault.does, DAY + (begin + 400) * SECOND);
        show(&mut watch, &all, &mut alerts);
        // A frame under another address is missing in its own flow.
        let also = (fault.deviation == "not-planned").then_some(("samples", "missing"));
        let name = if also.is_some() { STRANGER } else { fault.flow };
        expected.extend([(name, fault.deviation)].into_iter().chain(also));
    }
    let frames = watch.counts().frames;
    assert!(frames > 10_000_000, "{frames}");
    assert_eq!(told(&alerts), expected);
}

/// Oracle: `watched::check`, for the corpus of the fuzz target and for it with wrong octets.
#[test]
fn any_frames_are_survived_and_counted() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fuzz/corpus/watch");
    let entries = std::fs::read_dir(root).expect("a corpus").flatten();
    let corpus: Vec<Vec<u8>> =
        entries.map(|entry| std::fs::read(entry.path()).expect("readable")).collect();
    let frames: u64 = corpus.iter().map(|octets| watched::check(octets)).sum();
    assert!(frames > 50, "{frames}");
    let mut dice = Dice::new(22);
    for _ in 0..200 {
        let mut octets = corpus[dice.index(corpus.len())].clone();
        for _ in 0..=dice.index(30) {
            let at = dice.index(octets.len());
            octets[at] = u8::try_from(dice.index(256)).expect("an octet");
        }
        watched::check(&octets);
    }
}
