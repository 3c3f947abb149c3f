//! The input limit of a hub: the search, the closed form for comparison, and fresh seeds.

use std::fmt::Write as _;

use rtether::limit::{self, End, Limit, Question, Stage};
use rtether::run::{self, Progress};
use rtether::scenario::{self, Scenario};
use rtether::stats::clopper_pearson;

const STATIONS: u32 = 6;
const TARGET: f64 = 1e-2;

/// Stations on a 10 Mbit/s hub that send requests to their neighbors and load to a sink; in
/// addition, two stations on a switch. `factor` multiplies the load, 6 x 25 frames of 1046 octets a
/// second.
fn plant(factor: f64) -> Scenario {
    let gap = 40.0 / factor;
    let mut text = "rtether: 1\nname: hub\nnodes:\n".to_owned();
    for n in 1..=STATIONS {
        writeln!(text, "  s{n}: {{ stack: zero }}").unwrap();
    }
    text += "  sink: { stack: zero }\n  far1: { stack: zero }\n  far2: { stack: zero }\n\
             hubs:\n  hub: { ports: 7, rate: 10 Mbit/s }\nswitches:\n  sw: { ports: 2 }\nlinks:\n";
    for n in 1..=STATIONS {
        writeln!(text, "  - {{ ends: [s{n}, 'hub:{n}'], length: 10 m }}").unwrap();
    }
    text += "  - { ends: [sink, 'hub:7'], length: 10 m }\n\
             \x20 - { ends: [far1, 'sw:1'], rate: 10 Mbit/s }\n\
             \x20 - { ends: [far2, 'sw:2'], rate: 10 Mbit/s }\nflows:\n";
    for n in 1..=STATIONS {
        let to = n % STATIONS + 1;
        writeln!(
            text,
            "  - {{ name: ask {n}, class: ask, from: s{n}, to: s{to}, kind: poisson, \
             mean_gap: 100 ms, size: 100 B, reply: {{ size: 100 B }}, deadline: 20 ms }}\n  \
             - {{ name: load {n}, class: load, from: s{n}, to: sink, kind: poisson, \
             mean_gap: {gap:.6} ms, size: 1000 B }}"
        )
        .unwrap();
    }
    text += "run: { for: 100 s, warmup: 1 s, seeds: 2 }\n";
    let loaded = scenario::load("hub.yaml", &text).into_scenario();
    loaded.unwrap_or_else(|words| panic!("{words}"))
}

fn find(scenario: &Scenario) -> Limit {
    let question = Question {
        flows: Some("load".into()),
        miss_ratio: TARGET,
        confidence: 0.95,
        tolerance: 0.03,
    };
    limit::find(scenario, &question, &Progress::default()).unwrap()
}

/// Returns misses and releases of each flow with a deadline, for seeds not used in any search.
fn fresh(factor: f64) -> Vec<(u64, u64)> {
    let mut scenario = plant(factor);
    scenario.run.seed += 1_000;
    let results = run::simulate(&scenario, &Progress::default()).unwrap();
    let streams = results.record.streams.iter();
    let asked = streams.filter(|s| scenario.flows[s.flow_id().index()].deadline.is_some());
    asked.map(|s| (s.missed, s.released)).collect()
}

fn pooled(misses: &[(u64, u64)]) -> (u64, u64) {
    let missed = misses.iter().map(|one| one.0).sum();
    (missed, misses.iter().map(|one| one.1).sum())
}

#[test]
fn the_limit_of_a_hub_holds_with_other_seeds() {
    let limit = find(&plant(1.0));
    assert!(matches!(limit.end, End::Found { .. }), "{:?}", limit.end);
    let (low, high) = (limit.passing().unwrap(), limit.failing().unwrap());
    assert!(high.factor - low.factor <= 0.03 * high.factor);
    assert!(low.factor > 1.5 && low.utilization < 0.9, "{low:?}");
    assert_eq!(limit.stations.len(), 6);

    // Oracle: at the limit the target lies within or above the binomial interval of every flow;
    // well beyond the limit, below it.
    for (missed, released) in fresh(low.factor) {
        let interval = clopper_pearson(missed, released).unwrap();
        assert!(interval.0 <= TARGET, "{missed} of {released}");
    }
    for (missed, released) in fresh(low.factor * 1.3) {
        let interval = clopper_pearson(missed, released).unwrap();
        assert!(interval.0 > TARGET, "{missed} of {released}");
    }

    // The closed form: 10 ms for each of two accesses, and the collisions at the limit. It exceeds
    // the observed ratio, since it counts every access that can be late as late.
    let [access] = &limit.access[..] else { panic!("{:?}", limit.access) };
    assert_eq!((access.medium.as_str(), access.accesses), ("hub", 2));
    let (missed, released) = pooled(&fresh(low.factor));
    assert!(missed > 0, "{released} packets at the limit");
    let seen = clopper_pearson(missed, released).unwrap();
    assert!(access.probability > seen.0, "{access:?} {missed} of {released}");
    // Far below the limit no packet is late.
    assert_eq!(pooled(&fresh(low.factor / 3.0)).0, 0);
}

#[test]
fn a_hub_that_is_in_nobodys_way_is_not_overloaded_for_long() {
    // Oracle: the medium carries 10 Mbit/s, regardless of its number of links. Loads of twice that
    // are enough: 150 frames of 1046 octets, with preambles and gaps, are 1.279 Mbit/s, times 16.
    let mut scenario = plant(1.0);
    let far = scenario.network.find("far1").unwrap();
    scenario.flows.retain(|flow| flow.class == "load" || flow.name == "ask 1");
    let ask = scenario.flows.iter_mut().find(|flow| flow.name == "ask 1").unwrap();
    ask.talker = far;
    ask.listeners = vec![scenario.network.find("far2").unwrap()];
    let limit = find(&scenario);
    assert!(matches!(limit.end, End::Unlimited { .. }), "{:?}", limit.end);
    let search = limit.trials.iter();
    let search = search.filter(|trial| trial.stage == Stage::Search);
    let factors: Vec<f64> = search.map(|trial| trial.factor).collect();
    assert_eq!(factors, [1.0, 2.0, 4.0, 8.0, 16.0]);
    assert!(limit.access.is_empty());
}
