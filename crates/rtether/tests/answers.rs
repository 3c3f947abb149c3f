//! Admission, what-if, sensitivity and ports on plants whose bounds are worked out by hand.
//!
//! A frame with 60 octets of payload has 106 octets, takes 9.12 us to the other end of a 100 Mbit/s
//! link (with preamble), and occupies it for 10.08 us (with preamble and gap).

use rtether::bound::{
    self, Admission, Bounds, Decision, Sensitivity, SensitivityError, State, Steps, WhatIf,
};
use rtether::report::format::{Format, Render};
use rtether::report::table::Screen;
use rtether::scenario::{self, Override, Scenario, Source};
use rtether_bounds::Methods;
use rtether_model::quantity::Duration;
use rtether_testkit::read_document;

fn table(answer: &impl Render) -> String {
    answer.render(Format::Table, Screen::default())
}

/// Four stations on one switch.
fn plant(flows: &str) -> String {
    format!(
        "rtether: 1\nname: star\n\
         nodes: {{ a: {{ stack: zero }}, b: {{ stack: zero }}, c: {{ stack: zero }}, d: {{ stack: zero }} }}\n\
         switches: {{ sw: {{ ports: 4, latency: 0 us }} }}\n\
         links:\n\
         \x20 - {{ ends: [a, \"sw:1\"], rate: 100 Mbit/s }}\n\
         \x20 - {{ ends: [b, \"sw:2\"], rate: 100 Mbit/s }}\n\
         \x20 - {{ ends: [c, \"sw:3\"], rate: 100 Mbit/s }}\n\
         \x20 - {{ ends: [d, \"sw:4\"], rate: 100 Mbit/s }}\n\
         flows:\n{flows}\
         run: {{ for: 10 ms, seeds: 1 }}\n"
    )
}

fn flow(name: &str, from: &str, more: &str) -> String {
    format!("  - {{ name: {name}, from: {from}, to: b, period: 1 ms, size: 60 B{more} }}\n")
}

fn load(text: &str) -> Scenario {
    let loaded = scenario::load("star.yaml", text).into_scenario();
    loaded.unwrap_or_else(|words| panic!("{words}"))
}

fn us(span: f64) -> Duration {
    #[allow(clippy::cast_possible_truncation, reason = "some microseconds")]
    let ps = (span * 1e6).round() as i64;
    Duration::from_ps(ps)
}

fn admit(text: &str, added: &str) -> Admission {
    let added = [Source { name: "added.yaml".into(), text: added.into() }];
    let overload = Override::parse("run.overload=allow").unwrap();
    let loaded = scenario::load_and_add("star.yaml", text, &[overload], &added);
    bound::admit(&loaded.without_added.unwrap(), &loaded.scenario.unwrap())
}

/// Oracle: `f` alone takes 18.24 us, behind a frame of `g` 28.32 us.
#[test]
fn a_flow_is_admitted_if_no_deadline_suffers() {
    let new = "{ name: g, from: c, to: b, period: 1 ms, size: 60 B, deadline: 29 us }";
    let text = plant(&flow("f", "a", ", deadline: 28.32 us"));
    let admission = admit(&text, new);
    assert_eq!(admission.decision, Decision::Yes, "{}", admission.headline());
    assert_eq!(
        admission.headline(),
        "PASS. Yes: `g` to b takes at most 28.32 us (slack 680 ns); 1 bound of other flows grows and no \
         other deadline is missed"
    );
    let text = plant(&flow("f", "a", ", deadline: 28.31 us"));
    let admission = admit(&text, new);
    assert_eq!(admission.decision, Decision::No);
    assert_eq!(
        admission.headline(),
        "FAIL. No: `f` to b would take up to 28.32 us instead of 18.24 us; its deadline is 28.31 us"
    );
    // A stream that is late anyway does not count against admission.
    let text = plant(&flow("f", "a", ", deadline: 18 us"));
    assert_eq!(admit(&text, new).decision, Decision::Yes);
    // The new flow's own deadline counts.
    let own = new.replace("29 us", "28 us");
    assert_eq!(admit(&plant(&flow("f", "a", "")), &own).decision, Decision::No);
}

/// Oracle: Poisson arrivals have no bound; 126 octets every 10 us are more than 100 Mbit/s.
#[test]
fn no_answer_is_not_a_no() {
    let text = plant(&flow("f", "a", ", deadline: 30 us"));
    let poisson = "[{ name: g, from: c, to: b, kind: poisson, mean_gap: 1 ms, size: 60 B }]";
    let admission = admit(&text, poisson);
    assert_eq!(admission.decision, Decision::Unknown);
    assert!(admission.headline().ends_with("unlimited arrivals of `g`"));
    let flood = "flows:\n  - { name: g, from: c, to: b, period: 10 us, size: 60 B }\n";
    let admission = admit(&text, flood);
    assert_eq!(admission.decision, Decision::No);
    assert!(admission.headline().contains("overload: "), "{}", admission.headline());
    // Without an affected deadline, an unlimited flow is admitted.
    let text = plant(&flow("f", "a", ""));
    assert_eq!(admit(&text, poisson).decision, Decision::Yes);
}

/// Oracle: loading and analyzing the scenario with the flows in it.
#[test]
fn several_flows_are_admitted_together() {
    let text = plant(&flow("f", "a", ", deadline: 38 us"));
    let two = [flow("g", "c", ""), flow("h", "d", "")].concat();
    let admission = admit(&text, &two);
    // Behind both: 18.24 + 20.16 us.
    assert_eq!(admission.decision, Decision::No);
    let whole = load(&plant(&[flow("f", "a", ", deadline: 38 us"), two].concat()));
    let analysis = bound::analyze(&whole);
    assert_eq!(bound::latencies(&analysis), bound::latencies(&admission.analysis));
    assert_eq!(bound::latencies(&analysis)[0], Some(us(38.4)));
}

/// Oracle: by hand. `g` alone takes 18.24 us.
#[test]
fn a_file_may_have_no_flow_yet_and_requirements_for_it() {
    let new = "{ name: g, from: c, to: b, period: 1 ms, size: 60 B, deadline: 19 us }";
    let empty = plant("").replace("flows:\n", "");
    assert_eq!(admit(&empty, new).decision, Decision::Yes);
    let text = empty + "accept: [{ flow: g, sim: deadline }]\n";
    let admission = admit(&text, new);
    assert!(admission.headline().contains("takes at most 18.24 us"));
}

fn what_if(text: &str, changes: &[&str]) -> WhatIf {
    let changes = changes.iter().map(|c| Override::parse_for("--what-if", c).unwrap());
    let changes: Vec<Override> = changes.collect();
    let after = scenario::load_with("star.yaml", text, &changes).scenario.unwrap();
    bound::what_if(&load(text), &after, &changes)
}

/// Oracle: by hand. Wire time and waiting on the second link shrink to a tenth.
#[test]
fn what_if_tells_what_a_faster_link_does() {
    let text = plant(&[flow("f", "a", ", deadline: 20 us"), flow("g", "d", "")].concat());
    let found = what_if(&text, &["links[1].rate=1 Gbit/s"]);
    let sides = |index: usize| {
        let difference = &found.comparison.differences[index];
        let side = |side: &Option<bound::Side>| side.as_ref().and_then(|side| side.bound);
        (side(&difference.before), side(&difference.after))
    };
    assert_eq!(found.comparison.differences.len(), 2);
    // 9.12 us over the first link, 1.008 us behind the other frame, 0.912 us over the second.
    assert_eq!(sides(0), (Some(us(28.32)), Some(us(11.04))));
    assert_eq!(sides(0), sides(1));
    let idle = what_if(&text, &["flows.f.class=other"]);
    assert_eq!((idle.comparison.differences.len(), idle.comparison.same), (0, 2));
    assert!(table(&idle).contains("No change: 2 streams."));
    // A removed flow is a difference, too.
    let only = flow("f", "a", ", deadline: 20 us");
    let before = load(&text);
    let after = load(&plant(&only));
    let gone = bound::what_if(&before, &after, &[]);
    let first = &gone.comparison.differences[0];
    assert_eq!((first.flow.as_str(), first.after.is_none()), ("g", true));
}

fn sensitivity(scenario: &Scenario, flow: Option<&str>) -> Sensitivity {
    bound::sensitivity(scenario, flow, &Steps::default()).unwrap()
}

/// Oracle: by hand, as noted on each line.
#[test]
fn the_best_single_change_comes_first() {
    let flows = [flow("f", "a", ", deadline: 50 us"), flow("g", "c", ""), flow("h", "d", "")];
    let text =
        plant(&flows.concat()).replace("a: { stack: zero }", "a: { stack: { service: 4 us } }");
    let text = text.replace("ports: 4,", "ports: 4, queues: 2, selection: strict,");
    let scenario = load(&text);
    let found = sensitivity(&scenario, None);
    assert_eq!((found.flow.as_str(), found.bound), ("f", us(4.0 + 18.24 + 20.16)));
    let gains: Vec<(&str, Duration)> =
        found.trials.iter().map(|trial| (trial.change.as_str(), trial.gain.unwrap())).collect();
    let faster = "1 Gbit/s instead of 100 Mbit/s";
    let expected = [
        // 9.12 and 20.16 us shrink to a tenth.
        (format!("link b - sw: {faster}"), us(0.9 * (9.12 + 20.16))),
        // One frame in front instead of two; a 4-octet tag on both links.
        ("flow f: PCP 4 instead of 0".into(), us(10.08 - 0.64)),
        (format!("link a - sw: {faster}"), us(0.9 * 9.12)),
        ("stack of a: half the cost".into(), us(2.0)),
    ];
    assert_eq!(gains[0], (expected[0].0.as_str(), expected[0].1));
    for (change, gain) in &expected {
        assert!(gains.contains(&(change.as_str(), *gain)), "{change}: {gains:?}");
    }
    assert!(gains.windows(2).all(|pair| pair[0].1 >= pair[1].1));
    // All frames are in the lowest queue, so none can be demoted.
    assert_eq!(found.trials.len(), expected.len());
    assert!(!found.partial);
}

/// Oracle: demoting another flow of the same priority removes one frame in front.
#[test]
fn what_goes_before_may_step_back() {
    let flows = [
        flow("f", "a", ", pcp: 4, deadline: 40 us"),
        flow("g", "c", ", pcp: 4, deadline: 40 us"),
        flow("h", "d", ", pcp: 4"),
    ];
    let text =
        plant(&flows.concat()).replace("ports: 4,", "ports: 4, queues: 2, selection: strict,");
    let found = sensitivity(&load(&text), Some("f"));
    let back = found.trials.iter().find(|t| t.change.starts_with("flow g"));
    let back = back.unwrap();
    // One frame of its own class in front, and one lower frame in transmission: as many as before.
    assert_eq!((back.gain, back.others_late), (Some(Duration::ZERO), 0));
    let text = text.replace("pcp: 4, deadline: 40 us", "pcp: 4, deadline: 39.2 us");
    let back = sensitivity(&load(&text), Some("f"));
    let back = back.trials.iter().find(|t| t.change == "link c - sw");
    assert_eq!(back, None, "links that the flow does not pass are not tried");
}

/// Oracle: the reasons given by `bound`.
#[test]
fn what_cannot_be_tried_says_why() {
    let text =
        plant("  - { name: f, from: a, to: b, kind: poisson, mean_gap: 1 ms, size: 60 B }\n");
    let scenario = load(&text);
    let attempt = |flow| bound::sensitivity(&scenario, flow, &Steps::default()).unwrap_err();
    assert_eq!(attempt(None), SensitivityError::Nothing);
    assert_eq!(attempt(Some("f")).to_string(), "`f` to b has no bound: unlimited arrivals of `f`");
    assert_eq!(
        attempt(Some("fl")).to_string(),
        "no flow is named `fl`; `rtether bound` lists them"
    );
    let steps = Steps::default();
    steps.cancel();
    let text = plant(&flow("f", "a", ""));
    let cut = bound::sensitivity(&load(&text), None, &steps).unwrap();
    assert!(cut.partial && cut.trials.is_empty());
}

/// Oracle: 10.08 us per millisecond and talker; two further frames of 106 octets may wait.
#[test]
fn ports_say_how_busy_they_are() {
    let text = plant(&[flow("f", "a", ""), flow("g", "c", ""), flow("h", "d", "")].concat());
    let state = |text: &str| {
        let overload = Override::parse("run.overload=allow").unwrap();
        let loaded = scenario::load_with("star.yaml", text, &[overload]);
        let scenario = loaded.scenario.unwrap();
        let analysis = bound::analyze(&scenario);
        let port = bound::ports(&scenario, &analysis).find(|port| {
            let node = &scenario.network.node(port.bound.port.node).name;
            node == "sw" && port.bound.port.port == 1
        });
        let port = port.unwrap();
        let backlog = port.bound.backlog.map(rtether_model::quantity::Bytes::get);
        (port.bound.utilization_ppm, port.bound.queueing, backlog, port.state())
    };
    let (utilization, wait, backlog, found) = state(&text);
    // Three times 1.008 %.
    assert_eq!((utilization, wait, found), (Some(30_240), Some(us(20.16)), State::Ok));
    // At least what can happen, and at most three frames.
    assert!(backlog.is_some_and(|octets| (2 * 106..=3 * 106).contains(&octets)));
    let small =
        text.replace("latency: 0 us", "latency: 0 us, buffer: 1522 B, shared_buffer: 1522 B");
    assert_eq!(state(&small).3, State::Ok);
    let many: String = (0..20).map(|n| flow(&format!("x{n}"), "a", "")).collect();
    let many: String = many + &(0..20).map(|n| flow(&format!("y{n}"), "c", "")).collect::<String>();
    let full = plant(&many).replace("latency: 0 us", "latency: 0 us, buffer: 1522 B");
    assert_eq!(state(&full).3, State::Buffer);
    let flood = text.replace("period: 1 ms", "period: 20 us");
    assert_eq!(state(&flood).3, State::Overload);
    let poisson = text.replace("period: 1 ms", "kind: poisson, mean_gap: 1 ms");
    assert_eq!(state(&poisson).3, State::NoBound);
}

/// Oracle: the loader, which refuses a link of a hub with another rate, and plans turns for frames with a
/// tag.
#[test]
fn no_trial_leaves_turns_as_they_were() {
    let text = "rtether: 1\nname: hub\n\
        nodes: { a: { stack: { service: 5 us } }, b: { stack: zero }, c: { stack: zero } }\n\
        switches: { sw: { ports: 2, queues: 2 } }\n\
        hubs: { h: { ports: 3, rate: 10 Mbit/s, access: { scheme: tdma } } }\n\
        links:\n\
        \x20 - { ends: [a, \"h:1\"] }\n\
        \x20 - { ends: [b, \"h:2\"] }\n\
        \x20 - { ends: [\"sw:1\", \"h:3\"] }\n\
        \x20 - { ends: [c, \"sw:2\"], rate: 10 Mbit/s }\n\
        flows:\n\
        \x20 - { name: f, from: a, to: c, period: 10 ms, size: 60 B, deadline: 9 ms }\n\
        \x20 - { name: g, from: b, to: c, period: 10 ms, size: 60 B }\n\
        run: { for: 10 ms, seeds: 1 }\n";
    let written = scenario::Written::from(text.to_owned());
    let scenario = load(text);
    let mut found = sensitivity(&scenario, None);
    found.find_edits(&scenario, &written);
    let words: Vec<&str> = found.trials.iter().map(|trial| &trial.change[..]).collect();
    assert!(words.contains(&"stack of a: half the cost"), "{words:?}");
    let hub = words.iter().filter(|words| words.contains("- h") || words.contains(" h -"));
    assert_eq!(hub.count(), 0, "{words:?}");
    for trial in &found.trials {
        let edited = written.with(trial.edit.as_ref().unwrap()).unwrap();
        let only = bound::Methods::TotalFlow;
        let analysis = bound::analyze_with(&edited, only);
        assert_eq!(trial.bound, bound::latencies(&analysis)[0], "{}", trial.change);
    }
}

/// Oracle: reviewed by eye; the numbers are those of the tests above.
#[test]
fn answers_look_as_agreed() {
    let flows = [flow("f", "a", ", deadline: 28 us"), flow("g", "d", "")];
    let text = plant(&flows.concat());
    let scenario = load(&text);
    let admission = admit(&plant(&flows[0]), flows[1].trim_start_matches("  - "));
    insta::assert_snapshot!("admit_table", table(&admission));
    insta::assert_snapshot!("admit_json", admission.json());
    insta::assert_snapshot!("admit_csv", admission.rows().csv());
    let found = what_if(&text, &["links.1.rate=1 Gbit/s", "flows.f.deadline=1 ms"]);
    insta::assert_snapshot!("what_if_table", table(&found));
    insta::assert_snapshot!("what_if_json", found.json());
    let found = sensitivity(&scenario, None);
    insta::assert_snapshot!("sensitivity_table", table(&found));
    insta::assert_snapshot!("sensitivity_json", found.json());
    insta::assert_snapshot!("sensitivity_csv", found.rows().csv());
    let places = bound::Places { scenario: &scenario, analysis: &bound::analyze(&scenario) };
    insta::assert_snapshot!("ports_table", table(&places));
    insta::assert_snapshot!("ports_csv", places.rows().csv());
}

/// Oracle: by hand. One flow passes each station's port, and two the port to `b`; the port of `c`
/// does not look at deadlines.
#[test]
fn parts_of_deadlines_by_hand() {
    let flows = flow("f", "a", ", deadline: 300 us") + &flow("g", "c", ", deadline: 600 us");
    let text = plant(&flows)
        .replace("a: { stack: zero }", "a: { stack: zero, selection: edf }")
        .replace("ports: 4,", "ports: 4, selection: edf,");
    let parts = |partition: &str| {
        let scenario = load(&format!("{text}partition: {partition}\n"));
        let analysis = bound::analyze(&scenario);
        let bounds = Bounds { scenario: &scenario, analysis: &analysis };
        let json = bounds.render(Format::Json, Screen::default());
        let document = read_document(&json);
        [0, 1].map(|stream| {
            let hops = document["streams"][stream]["hops"].as_array().unwrap();
            let parts = hops.iter().map(|hop| hop["local_deadline_ns"].as_f64());
            parts.collect::<Vec<_>>()
        })
    };
    let found = [[Some(150e3), Some(150e3)], [None, Some(300e3)]];
    assert_eq!(parts("equal"), found.map(Vec::from));
    let found = [[Some(100e3), Some(200e3)], [None, Some(400e3)]];
    assert_eq!(parts("proportional"), found.map(Vec::from));
}

/// The relays and the engineering station of the GOOSE plant with priorities of their own.
fn with_priorities(text: &str) -> String {
    let layers = "priorities: { queues: 8 }, receive_queues: { selection: instances }, \
                  transmit_queues: { strategy: moderate }";
    let mut text = text.to_owned();
    for station in ["relay1: { stack: relay", "relay3: { stack: relay", "receive: 15 us }"] {
        assert_eq!(text.matches(station).count(), 1, "{station}");
        text = text.replace(station, &format!("{station}, {layers}"));
    }
    text
}

/// Oracle: by hand: each connection has at most a window of 46 segments and one without data under way,
/// which is far below 1 MB and 200 packets, below whatever priority; and in the GOOSE plant a switch
/// floods no more of it in 300 s.
#[test]
fn windows_fit_the_memory_of_every_place() {
    let goose = include_str!("../../../scenarios/goose-multicast.yaml");
    let substation = include_str!("../../../scenarios/substation.yaml");
    let layered = with_priorities(goose);
    for (name, text, places) in [
        ("goose", goose, 17),
        ("goose with priorities", &layered, 17),
        ("substation", substation, 386),
    ] {
        let scenario = load(text);
        let analysis = bound::analyze_with(&scenario, Methods::TotalFlow);
        let ports = bound::ports(&scenario, &analysis);
        let ports = ports.map(|port| (format!("{:?}", port.bound), port.state()));
        let stacks = bound::stacks(&analysis);
        let stacks = stacks.map(|stack| (format!("{:?}", stack.bound), stack.state()));
        let all: Vec<(String, State)> = ports.chain(stacks).collect();
        assert_eq!(all.len(), places, "{name}");
        for (place, state) in all {
            assert_eq!(state, State::Ok, "{name}: {place}");
        }
    }
}
