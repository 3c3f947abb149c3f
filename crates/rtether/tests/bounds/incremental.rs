//! An incremental analysis gives the same result as a full one.

use rtether_bounds::{Analysis, Analyzer, Changes, Methods, Reason, StreamBound, analyze_with};
use rtether_model::flow::{Flow, FlowId};
use rtether_model::network::{Network, NodeKind, Stack};
use rtether_model::quantity::{BitRate, Duration};
use rtether_testkit::Dice;

use crate::bounds::dice;
use crate::bounds::for_each_case_up_to;
use crate::bounds::plant::{Plant, Variety};

/// Changes per plant.
const STEPS: u64 = 12;
/// Most plants: each takes twelve full analyses, and time in the nightly run is limited.
const CASES: [u64; 2] = [100, 2_000];

/// Counts what the cases covered, to show that the test is not vacuous.
#[derive(Default)]
struct Met {
    evaluations: u64,
    full_evaluations: u64,
    cycles: usize,
    openings: usize,
    causes: usize,
}

/// Makes one random change.
fn step(dice: &mut Dice, plant: &Plant, analyzer: &mut Analyzer, number: u64) -> Changes {
    let count = analyzer.flows().len();
    let flow = |dice: &mut Dice| plant.flow(dice, 1000 + number, true, 100);
    let at = |dice: &mut Dice| FlowId(u32::try_from(dice.index(count)).unwrap());
    match dice.index(10) {
        0..=2 => {
            let flow = flow(dice);
            analyzer.add(flow)
        }
        3..=4 if count > 1 => analyzer.remove(at(dice)),
        5..=6 if count > 0 => {
            let (at, by) = (at(dice), flow(dice));
            analyzer.replace(at, by)
        }
        7..=8 if count > 0 => {
            let at = at(dice);
            let mut by = analyzer.flows()[at.index()].clone();
            by.deadline = Some(Duration::from_us(dice.time(1, 10_000)));
            analyzer.replace(at, by)
        }
        _ => analyzer.set_network(changed(dice, analyzer.network())),
    }
}

/// Changes a rate, a stack or a latency.
fn changed(dice: &mut Dice, network: &Network) -> Network {
    let mut network = network.clone();
    if dice.chance(50) {
        let link = dice.index(network.links.len());
        network.links[link].rate = BitRate::from_mbps(dice.pick(&[10, 100, 1000]));
        return network;
    }
    let node = dice.index(network.nodes.len());
    match &mut network.nodes[node].kind {
        NodeKind::EndStation(station) if station.stack == Stack::Zero => {
            let service = Duration::from_us(dice.time(1, 100));
            station.stack = Stack::IpRate { service };
        }
        NodeKind::EndStation(station) => station.stack = Stack::Zero,
        NodeKind::Switch(switch) => switch.latency = Duration::from_us(dice.time(0, 20)),
        NodeKind::Hub(_) => {}
    }
    network
}

/// Returns an analysis without its effort counter.
fn without_effort(mut analysis: Analysis) -> Analysis {
    analysis.effort.evaluations = 0;
    analysis
}

/// Oracle: a full analysis of the same network and flows, equal in every field.
fn edits_are_full(number: u64, met: &mut Met) {
    let mut dice = dice(number ^ 0xadd0);
    let mut plant = match number % 8 {
        0 | 4 => Plant::random(number, Variety::Plain),
        5 => Plant::random(number, Variety::Due),
        7 => Plant::policed(number),
        _ => Plant::random(number, Variety::Full),
    };
    for index in 0..dice.between(0, 20) {
        let flow = plant.flow(&mut dice, 100 + index, true, 100);
        plant.flows.push(flow);
    }
    let mut analyzer = Analyzer::new(plant.network.clone(), plant.flows.clone());
    for number in 0..STEPS {
        let (before, old_flows) = (analyzer.analysis(), analyzer.flows().to_vec());
        let changes = step(&mut dice, &plant, &mut analyzer, number);
        let full = analyze_with(analyzer.network(), analyzer.flows(), Methods::TotalFlow);
        met.evaluations += changes.effort.evaluations;
        met.full_evaluations += full.effort.evaluations;
        met.cycles += usize::from(full.effort.is_cyclic);
        met.openings += usize::from(full.effort.is_cyclic != before.effort.is_cyclic);
        let unlimited = |s: &&rtether_bounds::StreamBound| {
            matches!(s.bound, Err(Reason::UnlimitedArrivals { .. }))
        };
        met.causes += full.streams.iter().filter(unlimited).count();
        let again = without_effort(analyzer.analysis());
        assert_eq!(analyzer.streams(), full.streams, "step {number}");
        assert_eq!(again, without_effort(full), "step {number}");
        check_changes(&before, &again, &changes);
        for change in &changes.streams {
            let before = change.before.as_ref().map(|old| named(old, &old_flows));
            let after = change.after.as_ref();
            let after = after.map(|new| named(new, analyzer.flows()));
            assert_ne!(before, after, "step {number}");
        }
    }
}

#[test]
#[allow(clippy::print_stdout, reason = "shown with --nocapture")]
fn an_analysis_again_is_a_full_one() {
    let mut met = Met::default();
    for_each_case_up_to(CASES, "an_analysis_again_is_a_full_one", |number| {
        edits_are_full(number, &mut met);
    });
    println!("{} evaluations, {} of full analyses", met.evaluations, met.full_evaluations);
    let is_one_case = std::env::var_os("RTETHER_CASE").is_some();
    println!("{} cycles, {} openings, {} causes", met.cycles, met.openings, met.causes);
    assert!(is_one_case || met.cycles > 100 && met.openings > 3 && met.causes > 100);
}

/// Of several flows without a limit, one is named for each missing bound.
#[test]
fn the_flow_named_for_a_missing_bound_is_that_of_a_full_analysis() {
    edits_are_full(372, &mut Met::default());
}

/// Returns a bound with the names of the flows in it, whose numbers an edit may change or give to
/// others.
fn named(stream: &StreamBound, flows: &[Flow]) -> (StreamBound, String, Option<String>) {
    let name = |flow: FlowId| flows[flow.index()].name.clone();
    let mut numberless = stream.clone();
    let cause = match &mut numberless.bound {
        Err(Reason::UnlimitedArrivals { flow } | Reason::FloodingLoop { flow }) => Some(flow),
        Ok(_) | Err(_) => None,
    };
    let cause = cause.map(|flow| name(core::mem::replace(flow, FlowId(0))));
    let own = core::mem::replace(&mut numberless.flow, FlowId(0));
    (numberless, name(own), cause)
}

/// Checks that the changes lead from one analysis to the other, up to flow numbers.
fn check_changes(before: &Analysis, after: &Analysis, changes: &Changes) {
    let gone = changes.streams.iter().filter(|c| c.after.is_none()).count();
    let came = changes.streams.iter().filter(|c| c.before.is_none()).count();
    assert_eq!(before.streams.len() + came, after.streams.len() + gone);
    for change in &changes.streams {
        for (side, all) in [(&change.before, before), (&change.after, after)] {
            if let Some(stream) = side {
                assert!(all.streams.contains(stream), "{stream:?}");
            }
        }
    }
    // Streams that are not among the changes are the same in both.
    let rest = |all: &Analysis, side: fn(&rtether_bounds::StreamChange) -> bool| {
        let listed = changes.streams.iter().filter(|change| side(change)).count();
        all.streams.len() - listed
    };
    assert_eq!(
        rest(before, |change| change.before.is_some()),
        rest(after, |change| change.after.is_some())
    );
    let bounds = |all: &Analysis, listed: Vec<&rtether_bounds::StreamBound>| {
        let rest = all.streams.iter().filter(|s| !listed.contains(s));
        let finite = rest.filter_map(|stream| stream.bound.clone().ok());
        finite.collect::<Vec<_>>()
    };
    assert_eq!(
        bounds(before, changes.streams.iter().filter_map(|c| c.before.as_ref()).collect()),
        bounds(after, changes.streams.iter().filter_map(|c| c.after.as_ref()).collect()),
    );
}
