//! Random plants of many flows: never fewer proofs than with deadline-monotonic or rate-monotonic
//! priorities, or in one class.

use std::time::Instant;

use rtether::bound::{self, Methods};
use rtether::design::{End, Question};
use rtether::scenario::Scenario;
use rtether_model::quantity::Duration;

use super::draw::{self, Large};
use super::{counts, designed, keeps_comments, scenario};

/// Designs plants, and compares what is proved with the three orders.
fn compare(plants: impl Iterator<Item = (u64, usize)>, trials: Option<usize>) {
    for (seed, flows) in plants {
        let plant = draw::large(seed, flows);
        let orders = [plant.by_deadline(), plant.by_period(), plant.one_class()];
        let proved = orders.map(|text| counts(&scenario(&text)).ok);
        let text = plant.text(&vec![0; flows]);
        let begin = Instant::now();
        let found = designed(&text, Question { trials, ..Question::default() });
        let time = begin.elapsed();
        println!(
            "seed {seed}, {flows} flows, {} deadlines: {proved:?} by order, {} designed with {} edits, {} trials, {time:.1?}",
            found.goals,
            found.proved[1],
            found.edits.len(),
            found.trials,
        );
        let after = scenario(&found.text);
        assert_eq!(counts(&after).ok, found.proved[1], "seed {seed}");
        assert!(proved.iter().all(|own| *own <= found.proved[1]), "seed {seed}: {proved:?}");
        assert_eq!(found.end == End::Proved, found.proved[1] == found.goals, "seed {seed}");
        keeps_comments(&text, &found.text);
    }
}

/// Oracle: `bound` of the text with the priorities of each order.
#[test]
fn no_order_proves_more_of_two_plants() {
    compare([(0, 500), (1, 500)].into_iter(), Some(60));
}

/// Oracle: `bound` of the text with the priorities of each order.
#[test]
#[ignore = "long"]
fn no_order_proves_more_of_200_plants() {
    compare(
        (0..200).map(|seed| (seed, 500 + usize::try_from(seed * 1_013 % 4_501).unwrap())),
        Some(100),
    );
}

/// Bounds of streams with a deadline, and these.
fn judged(scenario: &Scenario, methods: Methods) -> Vec<(Option<Duration>, Duration)> {
    let bounds = bound::latencies(&bound::analyze_with(scenario, methods));
    let deadlines = scenario.flows.iter().map(|flow| flow.deadline);
    let both = bounds.into_iter().zip(deadlines);
    both.filter_map(|(bound, deadline)| Some((bound, deadline?))).collect()
}

/// Oracle: all methods.
#[test]
fn fewer_methods_prove_the_same() {
    let small = (0..40).map(|seed| draw::plant(seed, 6, "[pcp, queues, layers]"));
    let large = (0..2).map(|seed| Large::by_deadline(&draw::large(seed, 300)));
    let (mut late, mut all) = (0, 0);
    for text in small.chain(large) {
        let plant = scenario(&text);
        let [found, full] =
            [Methods::UntilProved, Methods::All].map(|methods| judged(&plant, methods));
        for ((found, limit), (full, _)) in found.into_iter().zip(full) {
            let [is_within, is_proved] =
                [found, full].map(|own| own.is_some_and(|own| own <= limit));
            assert_eq!(is_within, is_proved, "{text}");
            assert!(is_within || found == full, "{found:?} instead of {full:?}\n{text}");
            late += usize::from(!is_within);
            all += 1;
        }
    }
    assert!(late > 20 && all > 2 * late, "{late} of {all} are late");
}
