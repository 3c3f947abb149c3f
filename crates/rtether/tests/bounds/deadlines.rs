//! Plants whose stations and switches select by deadline.

use rtether_bounds::analyze;
use rtether_model::flow::{Phase, Traffic};
use rtether_model::network::{NodeKind, Partition, Selection, Stack, Switch};
use rtether_model::partition::LocalDeadlines;
use rtether_model::quantity::Duration;
use rtether_model::route::Routing;
use rtether_testkit::Dice;

use crate::bounds::draw::plain_switch;
use crate::bounds::plant::{Plant, Variety, plain_flow};
use crate::bounds::{dice, for_each_case_up_to, soundness_of};

const NIGHTLY: u64 = 2_000;

/// Oracle: the simulator.
#[test]
fn deadlines_in_stations_keep_to_their_bounds() {
    let test = "deadlines_in_stations_keep_to_their_bounds";
    let mut tightness = soundness_of([64, NIGHTLY], test, Variety::Due);
    tightness.print("stations and switches that select by deadline");
    assert!(
        tightness.bounded * 2 > tightness.streams || std::env::var_os("RTETHER_CASE").is_some()
    );
}

impl Plant {
    /// Returns a line of one to three switches without stacks, all of whose ports select by
    /// deadline, with parts found by a search.
    fn searched(dice: &mut Dice) -> Self {
        let mut plant = Self::default();
        plant.network.partition = Partition::Search;
        let rates = [10, 100, 100, 1_000];
        let mut last = None;
        for _ in 0..dice.between(1, 3) {
            let latency_jitter = Duration::from_us(dice.pick(&[0, 0, 20]));
            let switch = plant.switch(Switch {
                selection: Selection::EarliestDeadline,
                latency_jitter,
                ..plain_switch()
            });
            for _ in 0..3 {
                let station = plant.station(Stack::Zero);
                plant.join(station, switch, dice.pick(&rates), false);
                plant.stations.push(station);
            }
            if let Some(last) = last.replace(switch) {
                plant.join(last, switch, dice.pick(&rates), false);
            }
        }
        for node in &mut plant.network.nodes {
            if let NodeKind::EndStation(station) = &mut node.kind {
                station.by_deadline = true;
            }
        }
        for index in 0..dice.between(3, 12) {
            let mut flow = plant.flow(dice, index, index % 2 == 1, 100);
            if flow.is_acknowledged() {
                flow = plain_flow("f", flow.talker, flow.listeners, 1_000);
            }
            if matches!(flow.traffic, Traffic::Adaptive { .. } | Traffic::Poisson { .. }) {
                flow.traffic = Traffic::periodic(Duration::from_ms(3), Phase::Random);
            }
            let deadline = dice.pick(&[500, 1_000, 2_000, 5_000]);
            flow.deadline = dice.chance(85).then(|| Duration::from_us(deadline));
            plant.flows.push(flow);
        }
        plant
    }
}

/// Oracle: the bounds, which prove every deadline that the search claims to keep, and prove fewer
/// with equal parts.
#[test]
#[allow(clippy::print_stdout, reason = "shown with --nocapture")]
fn what_a_search_finds_is_proved() {
    let [mut found, mut equal, mut cases] = [0; 3];
    for_each_case_up_to([400, NIGHTLY], "what_a_search_finds_is_proved", |number| {
        let mut plant = Plant::searched(&mut dice(number ^ (1 << 40)));
        cases += 1;
        let routing = Routing::new(&plant.network);
        let deadlines = LocalDeadlines::new(&plant.network, &plant.flows, &routing);
        let is_kept = |plant: &Plant| {
            let streams = analyze(&plant.network, &plant.flows).streams;
            streams.into_iter().all(|stream| {
                let deadline = plant.flows[stream.flow.index()].deadline;
                let bound = stream.bound.map(|bound| bound.latency);
                deadline.is_none_or(|deadline| bound.is_ok_and(|bound| bound <= deadline))
            })
        };
        if deadlines.is_feasible() == Some(true) {
            found += 1;
            let streams = || analyze(&plant.network, &plant.flows).streams;
            assert!(is_kept(&plant), "{:?}: {:?}", plant.flows, streams());
            plant.network.partition = Partition::Equal;
            equal += u32::from(is_kept(&plant));
        }
    });
    println!("{found} of {cases} plants found, {equal} of these proved with equal parts");
    let is_one_case = std::env::var_os("RTETHER_CASE").is_some();
    assert!(is_one_case || found > 100 && equal < found);
}
