//! Verdicts on what never arrived, and on requirements that say nothing.

#![allow(clippy::unwrap_used, reason = "a test may panic")]

use rtether::report::{Outcome, json, table};
use rtether::run::{Progress, Results, simulate};
use rtether::scenario::{Scenario, Statistic, load, render};
use rtether::verdict::{Assessment, Verdict, assess, name_of};

/// A flood of high priority fills the link to `c` from 2 s on: what `low` sends waits for ever.
fn starved(accept: &str, run: &str) -> (Scenario, Results, Vec<Assessment>) {
    judged(&format!(
        "rtether: 1
nodes: {{ a: {{ stack: zero }}, b: {{ stack: zero }}, c: {{ stack: zero }} }}
switches: {{ sw: {{ ports: 4, latency: 5 us, queues: 8, buffer: 100 MB }} }}
links:
  - {{ ends: [a, \"sw:1\"], rate: 100 Mbit/s }}
  - {{ ends: [b, \"sw:2\"], rate: 1 Gbit/s }}
  - {{ ends: [c, \"sw:3\"], rate: 100 Mbit/s }}
flows:
  - {{ name: low, from: a, to: c, period: 10 ms, phase: 5 ms, size: 64 B, pcp: 1, deadline: 1 ms }}
  - {{ name: high, from: b, to: c, kind: flood, rate: 200 Mbit/s, size: 1400 B, pcp: 7, start: 2 s }}
{accept}
{run}
"
    ))
}

fn judged(text: &str) -> (Scenario, Results, Vec<Assessment>) {
    let loaded = load("test.yaml", text);
    let words = loaded.text(render::Style::Plain);
    let scenario = loaded.scenario.unwrap_or_else(|| panic!("{words}"));
    let results = simulate(&scenario, &Progress::default()).unwrap();
    let assessments = assess(&scenario, &results);
    (scenario, results, assessments)
}

/// Oracle: of 300 packets, one every 10 ms, 200 leave before the flood; the other 100 wait, the last
/// of them for 5 ms, which is beyond the deadline of 1 ms.
#[test]
fn packets_under_way_past_their_deadline_are_late() {
    let (scenario, results, assessments) = starved("", "run: { for: 3 s }");
    let low = &assessments[0];
    assert_eq!(low.verdict, Verdict::Late);
    let reason = "100 packets were still under way after their deadline";
    assert_eq!(low.reasons, [reason]);
    assert_eq!(low.margin, None, "nobody knows how late they will be");
    assert!(results.record.streams[0].latency.max < scenario.flows[0].deadline.unwrap());

    let outcome = Outcome::new(&scenario, &results, &assessments);
    let text = table::render(&outcome, table::Options::default());
    let header = text.lines().nth(1).unwrap();
    assert!(header.contains("missed"), "{text}");
    let row: Vec<&str> = text
        .lines()
        .find(|line| line.starts_with(" low"))
        .unwrap()
        .split_whitespace()
        .collect();
    assert!(
        row.windows(2).any(|pair| pair == ["0", "100"]),
        "lost, missed: {text}"
    );
    assert!(outcome.summary().contains(reason), "{}", outcome.summary());
    let document = json::document(&outcome, json::Options::default());
    assert!(document["flows"][0]["margin_ns"].is_null());
}

/// Oracle: the last packet is released at 2.005 s and the run ends 0.5 ms later, within its deadline
/// of 1 ms.
#[test]
fn packets_under_way_within_their_deadline_are_no_misses() {
    let (_, results, assessments) = starved("", "run: { for: 2005.5 ms }");
    let low = &results.record.streams[0];
    assert_eq!((low.released, low.in_flight, low.missed), (201, 1, 0));
    assert_eq!(assessments[0].verdict, Verdict::Ok);
    assert!(assessments[0].margin.is_some());
}

/// Oracle: 2 of 202 packets are under way past their deadline, which is 0.99 %: more than the
/// 0.1 % that p99.9 leaves out, less than the 2 % of p98. A limit above the deadline is not known to
/// be exceeded, one below it is.
#[test]
fn quantiles_count_packets_under_way() {
    for (accept, verdict) in [
        ("sim: { p99.9: deadline }", Verdict::Late),
        ("sim: { p98: deadline }", Verdict::Ok),
        ("sim: 900 us", Verdict::Late),
        ("sim: 5 s", Verdict::Ok),
    ] {
        let accept = format!("accept: [{{ flow: low, {accept} }}]");
        let (_, results, assessments) = starved(&accept, "run: { for: 2017 ms }");
        let low = &results.record.streams[0];
        assert_eq!((low.released, low.missed), (202, 2));
        assert_eq!(assessments[0].verdict, verdict, "{accept}");
    }
}

/// Oracle: a flow that starts after the end of the run releases nothing, so nothing was shown.
#[test]
fn without_a_packet_there_is_no_answer() {
    for accept in ["lost: 0", "missed: 1 %", "sim: deadline"] {
        let (_, _, assessments) = judged(&format!(
            "rtether: 1
nodes: {{ a: {{ stack: zero }}, c: {{ stack: zero }} }}
links: [{{ ends: [a, c], rate: 100 Mbit/s }}]
flows: [{{ name: low, from: a, to: c, period: 10 ms, size: 64 B, deadline: 1 ms, start: 5 s }}]
run: {{ for: 1 s }}
accept: [{{ flow: low, {accept} }}]
"
        ));
        assert_eq!(assessments[0].verdict, Verdict::NoAnswer, "{accept}");
        assert_eq!(
            assessments[0].reasons,
            ["no packet was released"],
            "{accept}"
        );
    }
}

/// Oracle: only `lost` is required of a flow with a deadline.
#[test]
fn the_summary_says_which_deadlines_are_not_judged() {
    let (scenario, results, assessments) =
        starved("accept: [{ flow: low, lost: 0 }]", "run: { for: 1 s }");
    let outcome = Outcome::new(&scenario, &results, &assessments);
    let summary = outcome.summary();
    assert!(
        summary.contains("The deadline of 1 stream is not judged."),
        "{summary}"
    );
}

/// Oracle: the names as scenario files write them.
#[test]
fn quantiles_keep_their_name() {
    for (part, whole, name) in [
        (1, 2, "p50"),
        (999, 1_000, "p99.9"),
        (99_999, 100_000, "p99.999"),
        (99_999_999, 100_000_000, "p99.999999"),
        (1, 100_000_000, "p0.000001"),
    ] {
        assert_eq!(name_of(Statistic::Quantile { part, whole }), name);
    }
}
