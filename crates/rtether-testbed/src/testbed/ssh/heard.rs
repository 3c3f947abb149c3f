//! What both sides make of arbitrary octets from their peer: from the wire to the measurement,
//! without a connection.

use rtether_model::network::{NodeId, NodeKind};
use serde::Serialize;
use serde::de::DeserializeOwned;

use super::clocks::{Course, Estimate, Exchange};
use super::merge::{self, NodeClock};
use super::records::Report;
use super::wire::{self, Lines, Order, Reading, Word};
use crate::testbed::measured::Measured;
use crate::testbed::run::put_together;
use crate::testbed::{Backend, Options};
use rtether::scenario::Scenario;

/// Outcome of some octets.
#[derive(Debug)]
pub struct Heard {
    /// Number of lines that an agent would carry out.
    pub orders: usize,
    /// Number of lines that the coordinator would accept.
    pub words: usize,
    /// Whether each of them survives writing and parsing.
    pub is_said_alike: bool,
    /// What the coordinator would show if all hosts had sent the words.
    pub measured: Measured,
}

/// Reads octets as each side does, up to the first line that is too long.
pub fn heard(scenario: &Scenario, octets: &[u8]) -> Heard {
    let nodes = scenario.network.iter_nodes();
    let stations = nodes.filter(|(_, node)| matches!(node.kind, NodeKind::EndStation(_)));
    let mut reports: Vec<(NodeId, Report)> =
        stations.map(|(id, _)| (id, Report::default())).collect();
    let mut readings = Vec::new();
    let (mut orders, mut words, mut is_said_alike) = (0, 0, true);
    let mut lines = Lines::new(octets);
    while let Ok(Some(line)) = lines.next() {
        if let Ok(order) = wire::parse::<Order>(&line) {
            orders += 1;
            is_said_alike &= is_alike(&order);
        }
        let Ok(word) = wire::parse::<Word>(&line) else {
            continue;
        };
        words += 1;
        is_said_alike &= is_alike(&word);
        if let Word::Clock(reading) = word {
            readings.extend(word.is_sound().then_some(reading));
        }
        for (_, report) in &mut reports {
            // In a run, a host that sends nonsense is left out; here it stays.
            let _ = report.take(word.clone());
        }
    }
    let measured = measured(scenario, reports, &readings);
    Heard { orders, words, is_said_alike, measured }
}

fn is_alike<T: Serialize + DeserializeOwned + PartialEq>(message: &T) -> bool {
    // Omitted values are written as `null`, for which there may be no room.
    wire::line(message).is_none_or(|line| wire::parse::<T>(&line).as_ref() == Ok(message))
}

/// Returns the coordinator's measurement; the first clock reading counts as before the run, the
/// last as after it.
fn measured(scenario: &Scenario, reports: Vec<(NodeId, Report)>, readings: &[Reading]) -> Measured {
    let estimate = |reading: &Reading| {
        let exchange = Exchange { asked: 0, answered: 1_000, reading: *reading, own: *reading };
        Estimate::of(&[exchange])
    };
    let before = readings.first().and_then(estimate);
    let after = readings.last().and_then(estimate);
    let both = before.zip(after);
    let clocks: Vec<NodeClock> = (0..)
        .zip(&reports)
        .map(|(group, (node, _))| NodeClock {
            node: *node,
            group,
            course: both
                .filter(|_| group > 0)
                .map(|(before, after)| Course::new(before, after, before.best().ns, 0)),
        })
        .collect();
    let mut ends = merge::ends(scenario);
    let collected = merge::collect(reports, &clocks, &mut ends);
    let options = Options {
        backend: Backend::Ssh,
        duration: scenario.run.duration,
        seed: scenario.run.seed,
        priority: None,
    };
    let mut measured = put_together(scenario, &options, collected, None, false);
    merge::withhold(scenario, &mut measured.streams, &ends, &clocks);
    measured
}
