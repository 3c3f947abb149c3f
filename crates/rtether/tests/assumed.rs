//! What a verdict rests on: which assumptions count, and which of them matters most.

use std::fmt::Write;

use rtether::assumed::Assumed;
use rtether::bound::{self, Bounds};
use rtether::check::{Options, be_strict, check};
use rtether::report::format::Render;
use rtether::report::gate;
use rtether::scenario::{Override, Scenario, load, load_with};
use rtether::verdict::Conclusion;
use rtether_model::quantity::Duration;
use rtether_testkit::Dice;

/// Plants of an ordinary run, and of a long one.
const PLANTS: [u64; 2] = [60, 5_000];

fn scenario(text: &str) -> Scenario {
    let loaded = load("plant.yaml", text);
    loaded.into_scenario().unwrap_or_else(|words| panic!("{words}"))
}

fn assumed(scenario: &Scenario) -> Assumed {
    Assumed::of(scenario, Some(&bound::analyze(scenario)))
}

/// Two stations and their switch, whose costs are assumed; the deadline is met at the lower ends
/// of the stacks only.
const PAIR: &str = "rtether: 1
stacks: { device: { send: { unknown: 20 us .. 200 us }, receive: { unknown: 20 us .. 200 us } } }
nodes: { a: { stack: device }, b: { stack: device } }
switches: { s: { ports: 2, latency: { unknown: 1 us .. 10 us } } }
links: [{ ends: [a, \"s:1\"], rate: 100 Mbit/s }, { ends: [b, \"s:2\"], rate: 100 Mbit/s }]
flows: [{ name: f, from: a, to: b, period: 2 ms, size: 64 B, deadline: 300 us }]
run: { for: 100 ms }
assumed:
  stacks.device: { is: { send: { unknown: 20 us .. 200 us }, receive: { unknown: 20 us .. 200 us } }, why: no figures }
  switches.s.latency: { is: { unknown: 1 us .. 10 us }, why: no data sheet }
";

/// Oracle: by hand. The stacks alone take 400 us at most and 40 us at least; the rest is below
/// 40 us, with frames of at most 9 us, twice, and the switch.
#[test]
fn the_kind_that_gains_a_proof_is_the_first() {
    let found = assumed(&scenario(PAIR));
    let first = found.first().expect("one that matters");
    assert_eq!(first.name, "stack");
    assert_eq!(first.ends, Some([20, 200].map(Duration::from_us)));
    assert_eq!((found.judged, found.proved), (1, Some(0)));
    assert_eq!(first.relief.map(|relief| relief.0), Some(1));
    assert_eq!(found.condition(), " if 2 assumptions hold");
    let words = " First: `stack` of 2 stations, 20 us .. 200 us; at the upper end 0 of 1 proved, \
                 at the lower end 1.";
    assert_eq!(found.sentences(&scenario(PAIR)), words);
    // With more time, it is proved at either end, and the stacks still matter most.
    let found = assumed(&scenario(&PAIR.replace("300 us", "900 us")));
    assert_eq!(found.proved, Some(1));
    assert_eq!(found.first().map(|first| first.name.as_str()), Some("stack"));
}

/// Oracle: by hand, both assumptions are on the way of the flow; as `check` counts them.
#[test]
fn bounds_in_csv_count_what_touches_a_flow() {
    let scenario = scenario(PAIR);
    let analysis = bound::analyze(&scenario);
    let csv = Bounds { scenario: &scenario, analysis: &analysis }.rows().csv();
    let mut lines = csv.lines();
    assert!(lines.next().is_some_and(|titles| titles.ends_with(",assumptions")), "{csv}");
    assert!(lines.next().is_some_and(|row| row.ends_with(",2")), "{csv}");
    assert_eq!(Assumed::of(&scenario, Some(&analysis)).by_flow, [2]);
}

/// Oracle: by hand. On a link with bit errors a packet need not arrive, so that no stream over it is
/// proved, whatever the costs are; the bound within the deadline is none more.
#[test]
fn what_may_not_arrive_is_not_proved_at_either_end() {
    let good = PAIR.replace("300 us", "900 us");
    let lossy = good.replace("rate: 100 Mbit/s }, {", "rate: 100 Mbit/s, errors: 1 % }, {");
    assert_ne!(good, lossy);
    let found = assumed(&scenario(&lossy));
    assert_eq!((found.judged, found.proved), (1, Some(0)));
    let reliefs = found.kinds.iter().filter_map(|kind| kind.relief);
    assert!(reliefs.clone().count() > 0);
    for relief in reliefs {
        assert_eq!(relief.0, 0, "{:?}", found.kinds);
    }
}

/// Oracle: the definition of `--strict`, and the forms of the result.
#[test]
fn a_strict_reader_takes_no_assumption() {
    let plant = scenario(&PAIR.replace("300 us", "900 us"));
    let mut checked = check(&plant, Options::default()).expect("a run");
    assert_eq!(checked.conclusion, Conclusion::Met);
    let summary = checked.summary();
    assert!(summary.contains("1 proved if 2 assumptions hold"), "{summary}");
    assert!(summary.contains(" First: `stack` of 2 stations"), "{summary}");
    let junit = gate::junit(&checked);
    assert!(junit.contains("if 2 assumptions hold"), "{junit}");
    let page = rtether::report::html::render(&checked);
    assert!(page.contains("proved if 2 assumptions hold"), "the banner");
    assert!(page.contains("What it rests on"));
    be_strict(&mut checked);
    assert_eq!(checked.conclusion, Conclusion::NoAnswer);
    // Once the values are written, nothing is left to object to.
    let written =
        [("stacks.device", "{ send: 50 us, receive: 50 us }"), ("switches.s.latency", "4 us")];
    let written = written.map(|(path, value)| Override::new("--set", path, value));
    let loaded = load_with("plant.yaml", PAIR, &written);
    let mut checked = check(&loaded.scenario.expect("sound"), Options::default()).expect("a run");
    be_strict(&mut checked);
    assert_eq!(checked.conclusion, Conclusion::Met);
    assert_eq!(checked.assumed.count(), 0);
    assert!(!checked.summary().contains("assumption"), "{}", checked.summary());
}

/// Oracle: by hand.
#[test]
fn stacks_without_cost_are_said_once() {
    let text = PAIR.split("assumed:").next().expect("a part");
    let text = text.replace("stack: device", "stack: zero");
    let text = text.replace("stacks: {", "x-stacks: {");
    let found = assumed(&scenario(&text));
    assert_eq!((found.zero, found.count()), (2, 0));
    assert_eq!(found.sentences(&scenario(&text)), " The stacks of 2 stations take no time.");
    let mixed = text.replace("b: { stack: zero }", "b: { stack: skeie-controller }");
    let found = assumed(&scenario(&mixed));
    assert_eq!(found.sentences(&scenario(&mixed)), " The stack of 1 station takes no time.");
    // What is assumed is counted as such.
    let text = text + "assumed: { nodes.a.stack: { is: zero, why: INET has none } }\n";
    assert_eq!(assumed(&scenario(&text)).count(), 1);
}

/// A plant of one or two networks, each with a switch and some stations, all of whose costs are
/// assumed, as its text; and the values at the lower ends, by path.
fn random(number: u64) -> (String, Vec<(String, String)>) {
    let mut dice = Dice::new(number.wrapping_mul(0x9e37_79b9_7f4a_7c15) ^ 0xa55a);
    let (mut stacks, mut nodes, mut switches) = (String::new(), String::new(), String::new());
    let (mut links, mut flows, mut notes) = (String::new(), String::new(), String::new());
    let mut lower = Vec::new();
    let mut assume = |path: String, is: String, least: String| {
        _ = writeln!(notes, "  {path}: {{ is: {is}, why: drawn }}");
        lower.push((path, least));
    };
    for network in 0..dice.between(1, 2) {
        let stations = dice.between(2, 5);
        let managed = dice.pick(&["managed", "unmanaged"]);
        let most = dice.between(2, 30);
        let latency = format!("{{ unknown: 1 us .. {most} us }}");
        _ = writeln!(
            switches,
            "  s{network}: {{ ports: 8, latency: {latency}, multicast: {managed} }}"
        );
        assume(format!("switches.s{network}.latency"), latency, "1 us".into());
        for station in 0..stations {
            let name = format!("n{network}{station}");
            let most = dice.between(6, 150);
            let ends = format!("{{ unknown: 5 us .. {most} us }}");
            let stack = format!("{{ send: {ends}, receive: {ends} }}");
            _ = writeln!(stacks, "  {name}: {stack}");
            assume(format!("stacks.{name}"), stack, "{ send: 5 us, receive: 5 us }".into());
            _ = writeln!(nodes, "  {name}: {{ stack: {name} }}");
            _ = writeln!(
                links,
                "  - {{ ends: [{name}, \"s{network}:{}\"], rate: 100 Mbit/s }}",
                station + 1
            );
        }
        for flow in 0..dice.between(1, 5) {
            let from = dice.between(0, stations - 1);
            let to = (from + dice.between(1, stations - 1)) % stations;
            let deadline = match dice.index(3) {
                0 => String::new(),
                _ => format!(", deadline: {} us", dice.between(60, 600)),
            };
            let period = dice.pick(&[2, 4, 8]);
            let name = format!("f{network}{flow}");
            _ = writeln!(
                flows,
                "  - {{ name: {name}, from: n{network}{from}, to: n{network}{to}, period: {period} ms, \
                 size: 100 B{deadline} }}"
            );
            let longer = format!("{} ms", 2 * period);
            assume(format!("flows.{name}.period"), format!("{period} ms"), longer);
        }
    }
    let text = format!(
        "rtether: 1\nstacks:\n{stacks}nodes:\n{nodes}switches:\n{switches}links:\n{links}\
         flows:\n{flows}run: {{ for: 20 ms }}\nassumed:\n{notes}"
    );
    (text, lower)
}

/// Returns the bounds of judged streams after some values have been written into the file.
fn written(text: &str, changes: &[(String, String)], judged: &[bool]) -> Vec<Option<Duration>> {
    let changes = changes.iter();
    let changes: Vec<Override> =
        changes.map(|(path, value)| Override::new("--set", path, value)).collect();
    let loaded = load_with("plant.yaml", text, &changes);
    let words = loaded.text(rtether::scenario::render::Style::Plain);
    let scenario = loaded.scenario.unwrap_or_else(|| panic!("{words}"));
    let bounds = bound::latencies(&bound::analyze(&scenario));
    let own = bounds.into_iter().zip(judged).filter(|(_, judged)| **judged);
    own.map(|(bound, _)| bound).collect()
}

/// Oracle: the file with other values written into it, read and analyzed again. An assumption that
/// touches no judged stream changes no bound of these; the number of proofs at the lower end of a
/// kind is that of a file with these values; and no kind gains more than the first.
#[test]
fn what_counts_and_what_matters_most_is_what_other_values_change() {
    let number = |name| std::env::var(name).ok();
    let plants = match number("RTETHER_CASE") {
        Some(text) => {
            let case: u64 = text.parse().expect("a number");
            case..case + 1
        }
        None => 0..PLANTS[usize::from(number("RTETHER_NIGHTLY").is_some_and(|own| own == "1"))],
    };
    let (mut aside, mut first) = (0, 0);
    for case in plants.clone() {
        let repeat = format!("RTETHER_CASE={case} cargo test -p rtether --test it assumed::");
        let (text, lower) = random(case);
        let scenario = scenario(&text);
        let judged: Vec<bool> = scenario.flows.iter().map(|own| own.deadline.is_some()).collect();
        let deadlines: Vec<Duration> =
            scenario.flows.iter().filter_map(|own| own.deadline).collect();
        let found = assumed(&scenario);
        let now = written(&text, &[], &judged);
        let proved = |bounds: &[Option<Duration>]| {
            let both = bounds.iter().zip(&deadlines);
            both.filter(|(bound, deadline)| bound.is_some_and(|bound| bound <= **deadline)).count()
        };
        assert_eq!(found.proved, Some(proved(&now)), "{repeat}");
        for (index, change) in lower.iter().enumerate() {
            if !found.touching.contains(&index) {
                aside += 1;
                let other = written(&text, core::slice::from_ref(change), &judged);
                assert_eq!(other, now, "{} was said to touch nothing: {repeat}", change.0);
            }
        }
        let mut gains = Vec::new();
        for kind in &found.kinds {
            let Some((relieved, _)) = kind.relief else {
                continue;
            };
            let own = lower.iter().enumerate();
            let own = own.filter(|(index, (path, _))| {
                let is_stack = path.starts_with("stacks.") && kind.name == "stack";
                let is_latency = path.ends_with(".latency") && kind.name == "latency";
                found.touching.contains(index) && (is_stack || is_latency)
            });
            let own: Vec<(String, String)> = own.map(|(_, change)| change.clone()).collect();
            let other = written(&text, &own, &judged);
            assert_eq!(relieved, proved(&other), "{}: {repeat}", kind.name);
            gains.push((relieved, kind.name.as_str()));
        }
        if let Some(own) = found.first() {
            first += 1;
            let most = gains.iter().map(|gain| gain.0).max();
            assert_eq!(own.relief.map(|relief| relief.0), most, "{repeat}");
        }
    }
    if plants.end - plants.start > 1 {
        assert!(aside > 20 && first > 20, "{aside} aside, {first} with a first one");
    }
}
