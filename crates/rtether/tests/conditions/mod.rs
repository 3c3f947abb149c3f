//! A proof that is void is no proof. Oracle: the simulator, which loses packets in each of these
//! plants, and the limits that are written in them.

use rtether::bound::{self, Bounds, Decision};
use rtether::check;
use rtether::report::Checked;
use rtether::report::format::{Format, Render};
use rtether::report::table::Screen;
use rtether::scenario::{self, Scenario, Source};
use rtether::verdict::{Conclusion, Standing};
use rtether::why;
use rtether_bounds::{Effect, Holder};
use rtether_testkit::read_document;

macro_rules! plant {
    ($name:literal) => {
        load(include_str!(concat!($name, ".yaml")))
    };
}

fn load(text: &str) -> Scenario {
    let loaded = scenario::load("plant.yaml", text);
    loaded.into_scenario().expect("a good scenario")
}

fn checked(scenario: &Scenario) -> Checked {
    check::check(scenario, check::Options::default()).unwrap()
}

/// Returns how the proof of each stream stands; none may be a proof of packets that were lost.
fn proofs(checked: &Checked) -> Vec<Standing> {
    let streams = checked.streams();
    let proofs = streams.map(|stream| {
        let own = stream.assessment;
        let is_sure = own.bound == Standing::Proved || own.standing() == Standing::Proved;
        assert!(!is_sure || stream.record.dropped == 0, "{}", stream.flow.name);
        own.bound
    });
    proofs.collect()
}

fn conclusion(scenario: &Scenario) -> Conclusion {
    let analysis = &bound::analyze(scenario);
    Bounds { scenario, analysis }.conclusion()
}

#[test]
fn a_policer_that_drops_everything_leaves_no_proof() {
    let scenario = plant!("proved-all-dropped");
    assert_eq!(conclusion(&scenario), Conclusion::NoAnswer);
    let found = checked(&scenario);
    assert_eq!(proofs(&found), [Standing::IfDelivered]);
    assert_eq!(found.conclusion, Conclusion::Failed);
    let place = "rule 1 of s at port 1 (not proved kept)";
    assert!(found.summary().contains(place), "{}", found.summary());
}

#[test]
fn flows_at_a_policer_that_is_exceeded_are_no_proof() {
    let scenario = plant!("proved-but-policed");
    assert_eq!(conclusion(&scenario), Conclusion::NoAnswer);
    let found = checked(&scenario);
    assert_eq!(proofs(&found), [Standing::IfDelivered; 2]);
    assert_eq!(found.conclusion, Conclusion::Failed);
}

/// Three frames that come to a port at the same time; its buffer has room for one beside the one that it
/// sends.
fn together() -> String {
    let text = include_str!("check-proved-buffer.yaml");
    text.replace("deadline: 10 ms", "deadline: 10 ms, phase: 0 us")
}

#[test]
fn a_buffer_that_overflows_leaves_no_proof() {
    let scenario = load(&together());
    assert_eq!(conclusion(&scenario), Conclusion::NoAnswer);
    let found = checked(&scenario);
    assert_eq!(proofs(&found), [Standing::IfDelivered; 3]);
    assert_eq!(found.conclusion, Conclusion::Failed);
    let summary = found.summary();
    assert!(summary.contains("the port of s to d (needs "), "{summary}");
    assert!(summary.contains("has 1522 B) drops nothing"), "{summary}");
}

/// Where only the simulation is required, its run decides.
#[test]
fn without_a_required_proof_the_run_decides() {
    let text = together().replace("accept: proved", "");
    let lost = checked(&load(&text));
    assert_eq!(lost.conclusion, Conclusion::Failed);
    let roomy = text.replace("buffer: 1522 B", "buffer: 3000 B");
    let found = checked(&load(&roomy));
    assert_eq!(found.conclusion, Conclusion::Met, "{}", found.summary());
    let held =
        |stream: rtether::report::Stream<'_>| matches!(stream.standing(), Standing::Held { .. });
    assert!(found.streams().all(held), "{}", found.summary());
    // With a required proof that is no answer.
    let text = together().replace("buffer: 1522 B", "buffer: 3000 B");
    let found = checked(&load(&text));
    assert_eq!(found.conclusion, Conclusion::NoAnswer, "{}", found.summary());
    // With room for all it is proved.
    let found = checked(&load(&text.replace("3000 B", "6000 B")));
    assert_eq!(proofs(&found), [Standing::Proved; 3]);
    assert_eq!(found.conclusion, Conclusion::Met);
}

/// TCP sends again after drops: its number itself is void, and so is that of what shares its ports.
#[test]
fn drops_of_tcp_void_numbers() {
    let scenario = plant!("bound-below-sim-buffer");
    let analysis = bound::analyze(&scenario);
    for (stream, condition) in analysis.judged() {
        let name = &scenario.flows[stream.flow.index()].name;
        let effect = condition.map(|own| own.effect);
        assert_eq!(effect, Some(Effect::IfNothingDropped), "{name}");
    }
    let found = checked(&scenario);
    let exceeds = |stream: rtether::report::Stream<'_>| stream.max() > stream.bound;
    assert!(found.streams().any(exceeds), "the case has lost its point");
    assert_ne!(found.conclusion, Conclusion::Contradiction);
}

#[test]
fn memory_that_is_too_small_is_judged() {
    for text in [
        include_str!("proved-router-queue.yaml"),
        include_str!("mem-router_queue_0.yaml"),
        include_str!("mem-driver_queue.yaml"),
        include_str!("mem-receive_limit.yaml"),
        include_str!("mem-transmit_limit.yaml"),
        include_str!("mem-spacer_1500.yaml"),
    ] {
        let scenario = load(text);
        assert_eq!(conclusion(&scenario), Conclusion::NoAnswer, "{text}");
        let found = checked(&scenario);
        let proofs = proofs(&found);
        let is_void = proofs.contains(&Standing::IfDelivered);
        assert!(is_void, "{proofs:?}: {text}");
        assert_eq!(found.conclusion, Conclusion::Failed, "{text}");
    }
}

/// Oracle: the buffer in which a packet may find no room, and TCP, which sends again.
#[test]
fn the_parts_of_a_bound_say_what_it_rests_on() {
    let explained = |scenario: &Scenario, name: &str| {
        let stream = why::Stream::named(scenario, name).unwrap();
        let found = why::Explainer::new(scenario).explain(stream).unwrap();
        let json = read_document(&found.json());
        let text = found.render(Format::Table, Screen::default());
        (text, json["only_if"].clone())
    };
    let scenario = load(&together());
    let name = &scenario.flows[0].name;
    let (text, only_if) = explained(&scenario, name);
    let (first, rest) = text.split_once('\n').unwrap();
    assert!(first.ends_with("within its deadline 10 ms if delivered"), "{text}");
    assert!(rest.starts_with("by "), "{text}");
    let second = rest.lines().next().unwrap();
    assert!(second.contains(", if the port of s to d (needs "), "{text}");
    assert_eq!(only_if["places"][0]["has"], 1_522);
    let late = load(&together().replace("deadline: 10 ms", "deadline: 1 us"));
    let (text, _) = explained(&late, name);
    assert!(text.contains(" if delivered, above its deadline 1 us\n"), "{text}");
    let scenario = plant!("bound-below-sim-buffer");
    let (text, only_if) = explained(&scenario, &scenario.flows[0].name);
    let first = text.lines().next().unwrap();
    assert!(first.contains(" if nothing is dropped"), "{text}");
    assert_eq!(only_if["word"], "if nothing is dropped");
    // With room for all it is proved.
    let scenario = load(&together().replace("1522 B", "6000 B"));
    let (text, only_if) = explained(&scenario, name);
    assert!(!text.contains(" if "), "{text}");
    assert_eq!(only_if, serde_json::Value::Null);
}

fn admit(text: &str, flow: &str) -> Decision {
    let added = [Source { name: "new".into(), text: flow.into() }];
    let loaded = scenario::load_and_add("plant.yaml", text, &[], &added);
    let before = loaded.without_added.clone().unwrap();
    let after = loaded.scenario.clone().unwrap();
    bound::admit(&before, &after).decision
}

#[test]
fn what_would_be_dropped_is_not_admitted() {
    let new = "{ name: h, from: c, to: d, period: 10 ms, size: 1400 B, deadline: 10 ms }";
    let decision = admit(include_str!("admit-buffer.yaml"), new);
    assert_eq!((decision, decision.conclusion().code()), (Decision::OnlyIf, 3));
    let new = "{ name: g, from: a, to: c, period: 1 ms, size: 400 B, deadline: 1 ms }";
    assert_eq!(admit(include_str!("admit-policer.yaml"), new), Decision::OnlyIf);
}

/// Where the bounds judge the memory of each key that limits one. A new key fails this test until a
/// place is named for it.
#[test]
fn every_key_that_limits_memory_is_judged() {
    let stations = "{ a: { stack: { service: 10 us, stack_queue: 7, driver_queue: 7777 B, \
         priorities: { queues: 2 }, receive_queues: { selection: highest-first, limit: 5, input_limit: 6 }, \
         transmit_queues: { strategy: strict, limit: 4 } } }, \
         b: { stack: { service: 10 us, stack_queue: 9 } }, \
         c: { stack: zero }, \
         d: { stack: { service: 10 us, smoother: { mode: fixed, real_time_limit: 11, bulk_limit: 12 } } }, \
         e: { stack: zero } }";
    let text = format!(
        "rtether: 1\nnodes: {stations}\n\
         switches: {{ s: {{ ports: 6, buffer: 9999 B, shared_buffer: 55555 B, thresholds: [3333 B] }} }}\n\
         routers: {{ r: {{ ports: 2, cost: 1 us, queue: 3 }} }}\n\
         links:\n\
         \x20 - {{ ends: [a, \"s:1\"], rate: 100 Mbit/s }}\n\
         \x20 - {{ ends: [b, \"s:2\"], rate: 100 Mbit/s }}\n\
         \x20 - {{ ends: [c, \"s:3\"], rate: 100 Mbit/s }}\n\
         \x20 - {{ ends: [d, \"s:4\"], rate: 100 Mbit/s }}\n\
         \x20 - {{ ends: [\"r:1\", \"s:5\"], rate: 100 Mbit/s }}\n\
         \x20 - {{ ends: [e, \"r:2\"], rate: 100 Mbit/s }}\n\
         flows:\n\
         \x20 - {{ name: f, from: a, to: b, period: 1 ms, size: 100 B }}\n\
         \x20 - {{ name: g, from: b, to: a, period: 1 ms, size: 100 B }}\n\
         \x20 - {{ name: h, from: c, to: b, min_gap: 9 ms, burst: 3, size: 100 B, gap: 1 ms }}\n\
         \x20 - {{ name: i, from: d, to: b, period: 1 ms, size: 100 B }}\n\
         \x20 - {{ name: j, from: e, to: b, period: 1 ms, size: 100 B }}\n"
    );
    let asking = "rtether: 1\nnodes: { a: { stack: zero, arp: { hold: 8888 B } }, b: { stack: zero } }\n\
        links: [{ ends: [a, b], rate: 100 Mbit/s }]\n\
        flows: [{ name: f, from: a, to: b, period: 1 ms, size: 100 B }]\n";
    let both = [&text, asking].map(|text| bound::analyze(&load(text)));
    for (section, key) in scenario::reference::memory_keys() {
        let (limit, is): (u64, fn(Holder) -> bool) = match (section, key) {
            (_, "buffer") => (9_999, |own| matches!(own, Holder::Buffer(_))),
            (_, "shared_buffer") => (55_555, |own| matches!(own, Holder::SharedBuffer(_))),
            (_, "thresholds") => (3_333, |own| matches!(own, Holder::Threshold(..))),
            (_, "queue") => (3, |own| matches!(own, Holder::Router(_))),
            (_, "stack_queue") => (9, |own| matches!(own, Holder::Stack(_))),
            (_, "driver_queue") => (7_777, |own| matches!(own, Holder::Buffer(_))),
            ("receive_queues", "limit") => (5, |own| matches!(own, Holder::ReceiveQueue(..))),
            (_, "input_limit") => (6, |own| matches!(own, Holder::Input(_))),
            ("transmit_queues", "limit") => (4, |own| matches!(own, Holder::TransmitQueue(..))),
            (_, "real_time_limit") => (11, |own| matches!(own, Holder::RealTime(_))),
            (_, "bulk_limit") => (12, |own| matches!(own, Holder::Bulk(_))),
            (_, "hold") => (8_888, |own| matches!(own, Holder::Address(_))),
            (_, "gap") => (1_000, |own| matches!(own, Holder::Gap(_))),
            other => panic!("no place of the bounds judges the memory of {other:?}"),
        };
        let mut memories = both.iter().flat_map(|analysis| &analysis.memories);
        let is_there = memories.any(|memory| memory.limit == limit && is(memory.holder));
        assert!(is_there, "`{key}` of {section} limits nothing");
    }
}
