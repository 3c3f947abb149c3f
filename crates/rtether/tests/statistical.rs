//! The statistical statement about shared media against simulation.

#![allow(clippy::unwrap_used, reason = "a test may panic")]

use std::fmt::Write as _;

use rtether::bound;
use rtether::run::{self, Progress};
use rtether::scenario::{self, Scenario};
use rtether_model::quantity::Duration;
use rtether_model::record::MediumRecord;

const HUB: &str = include_str!("../../../scenarios/hub.yaml");

fn load(set: &[String]) -> Scenario {
    let overrides: Vec<_> = set
        .iter()
        .map(|set| rtether::scenario::Override::parse(set).unwrap())
        .collect();
    let loaded = scenario::load_with("hub.yaml", HUB, &overrides);
    let words = loaded.text(scenario::render::Style::Plain);
    loaded.scenario.unwrap_or_else(|| panic!("{words}"))
}

/// Six stations at a hub that ask their neighbors, with other traffic towards a sink; `factor`
/// multiplies its load, 6 x 25 frames of 1046 octets a second at 10 Mbit/s.
fn asking(factor: f64) -> Scenario {
    let gap = 40.0 / factor;
    let mut text = "rtether: 1\nname: hub\nnodes:\n  sink: { stack: zero }\n".to_owned();
    let mut links = "  - { ends: [sink, 'hub:7'], length: 10 m }\n".to_owned();
    let mut flows = String::new();
    for n in 1..=6 {
        let to = n % 6 + 1;
        writeln!(text, "  s{n}: {{ stack: zero }}").unwrap();
        writeln!(links, "  - {{ ends: [s{n}, 'hub:{n}'], length: 10 m }}").unwrap();
        writeln!(
            flows,
            "  - {{ name: ask {n}, class: messages, from: s{n}, to: s{to}, kind: poisson, \
             mean_gap: 100 ms, size: 100 B, reply: {{ size: 100 B }}, deadline: 20 ms }}\n  \
             - {{ name: load {n}, from: s{n}, to: sink, kind: poisson, mean_gap: {gap:.6} ms, \
             size: 1000 B }}"
        )
        .unwrap();
    }
    text += "hubs:\n  hub: { ports: 7, rate: 10 Mbit/s }\nlinks:\n";
    text += &links;
    text += "flows:\n";
    text += &flows;
    text += "run: { for: 200 s, warmup: 1 s, seeds: 2 }\n";
    let loaded = scenario::load("hub.yaml", &text);
    let words = loaded.text(scenario::render::Style::Plain);
    loaded.scenario.unwrap_or_else(|| panic!("{words}"))
}

/// What is said and seen of the messages of a plant at one deadline.
struct Point {
    deadline: Duration,
    said: f64,
    missed: u64,
    released: u64,
}

/// Simulates a plant once and holds the model against it at several deadlines, all messages pooled.
fn compare(name: &str, mut plant: Scenario) -> Vec<Point> {
    let results = run::simulate(&plant, &Progress::default()).unwrap();
    let use_of = |m: &MediumRecord| m.utilization(results.record.observed);
    println!(
        "{name}: medium in use {:.2}",
        use_of(&results.record.media[0])
    );
    let points = [5, 10, 20, 40, 80].map(|ms| {
        let deadline = Duration::from_ms(ms);
        for flow in plant.flows.iter_mut().filter(|f| f.deadline.is_some()) {
            flow.deadline = Some(deadline);
        }
        let mut point = Point {
            deadline,
            said: 0.0,
            missed: 0,
            released: 0,
        };
        for (stream, said) in results
            .record
            .streams
            .iter()
            .zip(bound::statistical(&plant))
        {
            let Some(said) = said else { continue };
            point.said = point.said.max(said.late_ratio);
            let bins = stream.histogram.bins();
            let late = bins.filter(|(upper, _)| *upper > deadline);
            point.missed += late.map(|(_, count)| count).sum::<u64>() + stream.dropped;
            point.released += stream.released;
        }
        let (missed, released) = (point.missed, point.released);
        println!(
            "  {deadline}: seen {missed} of {released}, said {:.1e}",
            point.said
        );
        point
    });
    points.into()
}

#[test]
fn explore() {
    compare("hub.yaml", load(&["run.seeds=1".to_owned()]));
    for gap in ["12 s", "8 s", "5 s"] {
        let set = [1, 2].map(|n| format!("flows.files {n}.bursts.mean_gap={gap}"));
        compare(gap, load(&set));
    }
    for factor in [1.0, 2.0, 3.0, 3.5, 4.0, 4.5, 5.0] {
        compare(&format!("factor {factor}"), asking(factor));
    }
}
