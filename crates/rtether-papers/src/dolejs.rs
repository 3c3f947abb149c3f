//! `dolejs-sim-4nodes`: pure communication time of two pairs (003 Dolejs, 4.1, figure 11).

use rtether::report::chart::{LineChart, Rule, RuleKind};
use rtether::run;

use crate::observe::{distribution, load, merge};
use crate::orte::RTPS;
use crate::prelude::*;

const SCENARIO: &str = include_str!("../scenarios/publish-subscribe.yaml");

pub(crate) fn run(page: &mut Page, progress: &Progress) -> Outcome {
    page.title("Communication time of two pairs over a switch");
    let mut scenario = load("publish-subscribe.yaml", SCENARIO, &[])?;
    for flow in &mut scenario.flows {
        flow.encapsulation = RTPS;
    }
    let results = run::simulate(&scenario, progress);
    let results = results.map_err(|error| ReproduceError::Scenario(error.to_string()))?;
    // The paper halves the round trip; so does this experiment.
    let all = merge(&results.record.streams);
    let one_way = all.latency.mean().map(|trip| trip / 2);
    let one_way = one_way.ok_or_else(|| ReproduceError::Scenario("no issue came back".into()))?;
    page.check("C076", [one_way], one_way);
    page.compare(reference::values("dolejs-sim-4nodes"), |_| {
        let ours = format!("{one_way} (largest {})", all.latency.max / 2);
        Some(("communication time, mean", ours))
    });
    let paper = reference::time("dolejs-sim-4nodes", "mean");
    let halves = distribution(&all.histogram).into_iter();
    let halves = halves.map(|(trip, share)| (trip.as_secs_f64() / 2.0, share));
    let chart = LineChart {
        title: "Communication time".into(),
        note: "half of the round trip".into(),
        x: Axis::time("one way").between(0.0, 300e-6),
        y: Axis::share("packets"),
        series: vec![curve("simulated", Style::Steps, halves)],
        rules: vec![Rule {
            at: paper.as_secs_f64(),
            label: "paper, mean".into(),
            kind: RuleKind::Bound,
        }],
        bands: Vec::new(),
    };
    page.draw("The counterpart of figure 11.", chart.render());
    page.note(format!(
        "Ours is {:.2} of the paper's: the version is RTPS 1.0, as the paper's, with 48 octets of headers \
         before the value; two serializations of 1024 octets with them take 180.2 us, over UDP alone \
         172.5 us (`scenarios/dolejs-4nodes.yaml`). What is more is the HEARTBEAT in the same \
         datagram; what the paper's switch adds is not known.",
        ratio(one_way, paper)
    ));
    Ok(())
}
