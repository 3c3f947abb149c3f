//! Verdicts on packets that never arrived, and on requirements that judge nothing.

use rtether::adversary::{Found, Outcome, Search, Target};
use rtether::check::{Options, add_found, check};
use rtether::report::format::{Format, Render};
use rtether::report::table::Screen;
use rtether::report::{Checked, Verdicts, json};
use rtether::run::{Progress, Results, simulate};
use rtether::scenario::{Scenario, Statistic, Written, load};
use rtether::verdict::{
    Assessment, Column, Conclusion, Standing, Verdict, add_measured, assess, assess_measured,
    assess_with, name_of,
};
use rtether_model::quantity::{Duration, Instant};

/// A flood of high priority fills the link to `c` from 2 s on: packets of `low` wait forever.
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
    let loaded = load("test.yaml", text).into_scenario();
    let scenario = loaded.unwrap_or_else(|words| panic!("{words}"));
    let results = simulate(&scenario, &Progress::default()).unwrap();
    let assessments = assess(&scenario, &results);
    (scenario, results, assessments)
}

/// Oracle: of 300 packets, one every 10 ms, 200 leave before the flood; the other 100 wait, the
/// last of them for 5 ms, which exceeds the deadline of 1 ms.
#[test]
fn packets_under_way_past_their_deadline_are_late() {
    let (scenario, results, assessments) = starved("", "run: { for: 3 s }");
    let low = &assessments[0];
    assert_eq!(low.verdict, Verdict::Late);
    let reason = "100 packets were still under way after their deadline";
    assert_eq!(low.reasons, [reason]);
    assert_eq!(low.margin, None, "nobody knows how late they will be");
    assert!(results.record.streams[0].latency.max < scenario.flows[0].deadline.unwrap());

    let checked = Checked::new(scenario.clone(), results.clone(), assessments.clone());
    let text = Verdicts::from(&checked).render(Format::Table, Screen::default());
    let header = text.lines().nth(1).unwrap();
    assert!(header.contains("missed"), "{text}");
    let row: Vec<&str> =
        text.lines().find(|line| line.starts_with(" low")).unwrap().split_whitespace().collect();
    assert!(row.windows(2).any(|pair| pair == ["0", "100"]), "lost, missed: {text}");
    assert!(checked.summary().contains(reason), "{}", checked.summary());
    let document = json::document(&checked, json::Options::default());
    assert!(document["flows"][0]["margin_ns"].is_null());
}

/// Oracle: the last packet is released at 2.005 s and the run ends 0.5 ms later, within its
/// deadline of 1 ms.
#[test]
fn packets_under_way_within_their_deadline_are_no_misses() {
    let (_, results, assessments) = starved("", "run: { for: 2005.5 ms }");
    let low = &results.record.streams[0];
    assert_eq!((low.released, low.in_flight, low.missed), (201, 1, 0));
    assert_eq!(assessments[0].verdict, Verdict::Ok);
    assert!(assessments[0].margin.is_some());
}

/// Oracle: 2 of 202 packets are in flight past their deadline, which is 0.99 %: more than the 0.1 %
/// that p99.9 leaves out, less than the 2 % of p98. A limit above the deadline is not known to be
/// exceeded, one below it is.
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

/// Oracle: a flow that starts after the end of the run releases no packet, so there is no answer.
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
        assert_eq!(assessments[0].reasons, ["no packet was released"], "{accept}");
    }
}

/// Oracle: only `lost` is required of a flow with a deadline.
#[test]
fn the_summary_says_which_deadlines_are_not_judged() {
    let (scenario, results, assessments) =
        starved("accept: [{ flow: low, lost: 0 }]", "run: { for: 1 s }");
    let checked = Checked::new(scenario.clone(), results.clone(), assessments.clone());
    let summary = checked.summary();
    assert!(summary.contains("The deadline of 1 stream is not judged."), "{summary}");
}

/// Oracle: the names as written in scenario files.
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

/// A converging pair: simulation is in time, the bound of `f` exceeds its deadline.
const TIGHT: &str = "rtether: 1
nodes: { a: { stack: zero }, b: { stack: zero }, c: { stack: { send: 1 us, receive: 100 us } } }
switches: { sw: { ports: 3 } }
links:
  - { ends: [a, \"sw:1\"], rate: 100 Mbit/s }
  - { ends: [b, \"sw:2\"], rate: 100 Mbit/s }
  - { ends: [c, \"sw:3\"], rate: 100 Mbit/s }
flows:
  - { name: f, from: a, to: c, period: 10 ms, size: 1000 B, deadline: 300 us }
  - { name: g, from: b, to: c, period: 10 ms, phase: 5 ms, jitter: 1 us, size: 1000 B, deadline: 1 ms }
run: { for: 1 s, seeds: 2 }
";

fn proved(text: &str) -> (Scenario, Results, rtether::bound::Analysis) {
    let (scenario, results, _) = judged(text);
    let analysis = rtether::bound::analyze(&scenario);
    (scenario, results, analysis)
}

/// Oracle: by hand. 1054 octets with preamble take 84.3 us on each link, the stacks 101 us; waiting
/// for one packet of the other flow takes 100 us more than the deadline leaves.
#[test]
fn margin_and_blame_are_those_of_the_requirement_that_failed() {
    let text = format!("{TIGHT}accept: proved\n");
    let (scenario, results, analysis) = proved(&text);
    let assessments = assess_with(&scenario, &results, Some(&analysis));
    let f = &assessments[0];
    let bound = analysis.streams[0].bound.as_ref().unwrap();
    assert_eq!(f.verdict, Verdict::NotProved);
    assert_eq!(f.failed, Some(Column::Bound));
    assert_eq!(f.margin, Some(scenario.flows[0].deadline.unwrap() - bound.latency));
    assert!(f.margin.unwrap().is_negative());
    let blame = f.responsible.unwrap();
    let hop = bound.responsible().unwrap();
    assert_eq!((blame.column, blame.place), (Column::Bound, hop.place));
    assert_eq!((blame.delay, blame.of), (hop.delay(), bound.latency));

    let checked = Checked::new(scenario.clone(), results.clone(), assessments.clone())
        .with_analysis(analysis.clone());
    let summary = checked.summary();
    assert!(summary.contains("1 proved, 1 not proved"), "{summary}");
    assert!(!summary.contains("late"), "{summary}");
    assert!(summary.contains("% of the bound in the switch queue of sw to c"), "{summary}");
    let document = json::document(&checked, json::Options::default());
    let flow = &document["flows"][0];
    assert_eq!(flow["verdict"], "not-proved");
    assert_eq!(flow["failed"]["column"], "bound");
    assert!(flow["margin_ns"].as_f64().unwrap() < 0.0, "{flow}");
    assert_eq!(flow["basis"]["sim"], "held");
    assert_eq!(flow["basis"]["bound"], "not-proved");
    let table = Verdicts::from(&checked).render(Format::Table, Screen::default());
    assert!(table.contains("of the bound: switch queue"), "{table}");
    let page = rtether::report::html::render(&checked);
    assert!(page.contains("of the bound: switch queue"), "{page}");
    let margin = rtether::report::text::time(f.margin.unwrap());
    assert!(page.contains(&margin), "{margin}");
}

/// Oracle: a limit not required, or not computed, is not a proof; a requirement on the bound alone
/// is.
#[test]
fn what_held_does_not_look_like_a_proof() {
    let (scenario, results, analysis) = proved(TIGHT);
    let assessments = assess_with(&scenario, &results, Some(&analysis));
    assert!(assessments.iter().all(|one| one.verdict == Verdict::Ok));
    // 100 packets in each of two runs.
    assert_eq!(assessments[0].standing(), Standing::Held { packets: 200 });
    assert_eq!(assessments[0].bound, Standing::NotProved);
    assert_eq!(assessments[1].standing(), Standing::Proved);
    let checked = Checked::new(scenario.clone(), results.clone(), assessments.clone());
    let counts = checked.counts();
    assert_eq!((counts.ok, counts.proved, counts.held), (2, 1, 1));
    let summary = checked.summary();
    let head = "PASS. 2 streams: 1 proved, 1 held in 200 packets of 2 runs of 1 s, 2 sets of phases and release times, 1 phase fixed by the file (not proved). ";
    assert!(summary.starts_with(head), "{summary}");
    let page = rtether::report::html::render(&checked);
    assert!(!page.contains("All requirements hold"));
    assert!(page.contains("1 proved, 1 held so far, not proved"));

    let alone = assess(&scenario, &results);
    assert!(alone.iter().all(|one| one.standing() == Standing::Held { packets: 200 }));
    assert!(alone.iter().all(|one| one.bound == Standing::Unjudged));
}

/// Oracle: a limit tighter than the deadline, met in simulation but not by the bound.
#[test]
fn a_bound_has_to_be_within_every_limit() {
    let text = format!("{TIGHT}accept: [{{ flow: g, sim: {{ p99: 300 us }} }}]\n");
    let (scenario, results, analysis) = proved(&text);
    let assessments = assess_with(&scenario, &results, Some(&analysis));
    assert_eq!(assessments[1].bound, Standing::Proved, "of the deadline");
    assert!(matches!(assessments[1].standing(), Standing::Held { .. }));
}

/// Oracle: by hand, a stack that takes 78 us longer than the simulated one. The simulation of
/// another plant stands in for a measurement.
#[test]
fn a_measured_miss_is_a_miss() {
    let text = |accept: &str| format!("{TIGHT}{accept}\n");
    for (accept, verdict) in [
        ("", Verdict::Late),
        ("accept: [{ flow: f, sim: { max: deadline } }]", Verdict::Late),
        ("accept: [{ flow: f, sim: 1 s, live: deadline }]", Verdict::Late),
        ("accept: [{ flow: f, sim: deadline, live: 1 ms }]", Verdict::Ok),
        ("accept: [{ flow: f, sim: deadline, live: { p50: 1 ms } }]", Verdict::Ok),
    ] {
        let (scenario, _, mut assessments) = judged(&text(accept));
        let mut slow = judged(&text(accept).replace("receive: 100 us", "receive: 178 us")).1;
        slow.seeds.clear();
        let measured = assess_measured(&scenario, &slow);
        assert_eq!(assessments[0].verdict, Verdict::Ok, "{accept}");
        add_measured(&mut assessments, &measured);
        assert_eq!(assessments[0].verdict, verdict, "{accept}");
        if verdict == Verdict::Late {
            let f = &assessments[0];
            assert_eq!(f.failed, Some(Column::Measured));
            assert_eq!(f.measured, Standing::Late);
            assert!(matches!(f.simulated, Standing::Held { .. }));
            assert!(f.margin.unwrap().is_negative());
            assert!(f.reasons[0].starts_with("measured: max 3"), "{:?}", f.reasons);
            assert_eq!(f.responsible, None, "nobody knows where");
        }
    }
}

/// Oracle: by hand. A queue of two frames of 1000 octets and a burst of four leave one frame of each
/// burst out: of those released, a quarter. The same record stands for a measurement.
#[test]
fn a_share_of_packets_may_be_lost() {
    let plant = |accept: &str| {
        judged(&format!(
            "rtether: 1
nodes: {{ a: {{ stack: zero }}, b: {{ stack: zero }}, c: {{ stack: zero }} }}
switches: {{ sw: {{ ports: 3, latency: 5 us, buffer: 2100 B }} }}
links:
  - {{ ends: [a, \"sw:1\"], rate: 1 Gbit/s }}
  - {{ ends: [b, \"sw:2\"], rate: 100 Mbit/s }}
flows: [{{ name: f, from: a, to: b, kind: sporadic, min_gap: 10 ms, burst: 4, size: 972 B }}]
accept: [{{ flow: f, lost: {accept} }}]
run: {{ for: 1 s, warmup: 0 s }}
"
        ))
    };
    let (_, results, _) = plant("0");
    let record = &results.record.streams[0];
    let (dropped, released) = (record.dropped, record.released);
    assert!(dropped > 0 && dropped < released, "{dropped} of {released}");
    let exact = dropped * 1_000_000_000 / released + 1;
    for (accept, verdict) in [
        (format!("{exact} ppb"), Verdict::Ok),
        (format!("{} ppb", exact - 2), Verdict::Lost),
        (dropped.to_string(), Verdict::Ok),
        ((dropped - 1).to_string(), Verdict::Lost),
        ("100 %".to_owned(), Verdict::Ok),
    ] {
        let (scenario, results, simulated) = plant(&accept);
        let measured = assess_measured(&scenario, &results);
        assert_eq!(simulated[0].verdict, verdict, "{accept}");
        assert_eq!(measured[0].verdict, verdict, "{accept}");
    }
    let (_, _, assessments) = plant("1 %");
    let reason = format!("{dropped} of {released} packets lost, 1 % accepted");
    assert_eq!(assessments[0].reasons, [reason]);
}

/// Oracle: one octet takes 5.76 us to the other end, and the run ends after 1 us: of 1000 packets none
/// has arrived, none is lost and none can be late. Whatever is required, that is no answer, by
/// simulation and by measurement alike.
#[test]
fn without_a_packet_delivered_there_is_no_answer() {
    let accepts = [
        "",
        "accept: [{ flow: \"*\", lost: 5 }]",
        "accept: [{ flow: \"*\", lost: 1 % }]",
        "accept: [{ flow: \"*\", missed: 1 % }]",
        "accept: [{ flow: \"*\", sim: { p99: 1 ms } }]",
    ];
    for accept in accepts {
        let (scenario, results, assessments) = judged(&format!(
            "rtether: 1
nodes: {{ a: {{ stack: zero }}, b: {{ stack: zero }} }}
links: [{{ ends: [a, b], rate: 100 Mbit/s }}]
flows: [{{ name: f, from: a, to: b, rate: 1000000000 packets/s, size: 1 B, deadline: 1 ms }}]
{accept}
run: {{ for: 1 us, overload: allow }}
"
        ));
        let stream = &results.record.streams[0];
        assert!(stream.released > 0 && stream.delivered == 0, "{accept}");
        let measured = assess_measured(&scenario, &results);
        for own in [&assessments[0], &measured[0]] {
            assert_eq!(own.verdict, Verdict::NoAnswer, "{accept}");
            assert_eq!(own.standing(), Standing::NoAnswer, "{accept}");
            assert_eq!(own.reasons[0], "no packet was delivered", "{accept}");
        }
        let checked = Checked::new(scenario, results, assessments);
        let said = checked.summary();
        assert!(said.starts_with("NO ANSWER. 1 stream: 1 no-answer"), "{accept}: {said}");
    }
}

/// A packet found above its bound contradicts the bound, whatever else was found. Oracle: by hand. What a
/// search would have found is made up, since no bound is wrong; releases at 0 are allowed.
#[test]
fn what_is_found_above_its_bound_is_a_contradiction() {
    // The bound of `f` is above its deadline, so that a packet as late as the bound is late.
    let cases = [
        (1, 0, 5, "CONTRADICTION"),
        (0, 0, 1, "FAIL"),
        (-1, 0, 0, "PASS"),
        // Nothing on its way may drop a packet.
        (-1, 2, 5, "CONTRADICTION"),
    ];
    for (above, dropped, code, word) in cases {
        let text = format!("{TIGHT}accept: [{{ flow: \"*\", sim: deadline }}]\n");
        let written = Written::from(text);
        let scenario = written.load().into_scenario().unwrap();
        let mut checked = check(&scenario, Options::default()).unwrap();
        assert_eq!(checked.conclusion, Conclusion::Met);
        let stream = checked.stream(0);
        let bound = stream.bound.unwrap();
        let latency = match above {
            1 => bound + Duration::from_ps(1),
            0 => bound,
            _ => stream.record.latency.max,
        };
        let target = Target::all(&scenario.flows)[0];
        let found = Found {
            target,
            releases: vec![(target.flow, vec![Duration::ZERO])],
            seed: 1,
            until: scenario.run.duration,
            latency,
            released_at: Instant::ZERO,
            responsible: stream.record.worst.unwrap().responsible,
            dropped,
        };
        let search =
            Search { tried: 1, seed: 1, is_cut: false, streams: 1, later: 1, unconfirmed: 0 };
        let found = vec![Some(found), None];
        add_found(&mut checked, Outcome { search, found });
        assert_eq!((checked.conclusion.word(), checked.conclusion.code()), (word, code));
        assert!(checked.summary().starts_with(&format!("{word}. ")));
        let notes: Vec<&str> = checked.notes.iter().map(|note| note.text.as_str()).collect();
        let said = notes
            .iter()
            .any(|text| text.contains("exceeds its proved bound") || text.contains("found lost"));
        assert_eq!(said, code == 5, "{notes:?}");
    }
}
