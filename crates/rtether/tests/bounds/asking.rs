//! Plants whose flows ask for channels.

use rtether_bounds::analyze;
use rtether_model::admission::Admission;
use rtether_model::flow::{Flow, Phase, Traffic};
use rtether_model::network::{NodeKind, Partition, Selection, Stack, Switch};
use rtether_model::quantity::{BitRate, Bytes, Duration};
use rtether_testkit::Dice;

use crate::bounds::draw::plain_switch;
use crate::bounds::plant::{Plant, plain_flow};
use crate::bounds::{
    RUNS, Tightness, adversarial, check, check_diameter, dice, for_each_case, simulate,
};

impl Plant {
    /// Returns a line of one to three switches, one of which has a manager; most flows ask.
    fn asking(dice: &mut Dice) -> Self {
        let mut plant = Self::default();
        let rates = [10, 100, 100, 1_000];
        let by_deadline = dice.chance(70);
        let mut switches = Vec::new();
        for _ in 0..dice.between(1, 3) {
            let selection = if by_deadline {
                Selection::EarliestDeadline
            } else {
                dice.pick(&[Selection::Fcfs, Selection::StrictPriority])
            };
            let switch = plant.switch(Switch {
                selection,
                latency_jitter: Duration::from_us(dice.pick(&[0, 0, 20])),
                ..plain_switch()
            });
            for _ in 0..3 {
                let station = plant.station(Stack::Zero);
                plant.join(station, switch, dice.pick(&rates), false);
                plant.stations.push(station);
            }
            if let Some(&last) = switches.last() {
                plant.join(last, switch, dice.pick(&rates), false);
            }
            switches.push(switch);
        }
        if by_deadline {
            for node in &mut plant.network.nodes {
                if let NodeKind::EndStation(station) = &mut node.kind {
                    station.by_deadline = true;
                }
            }
        }
        let manager = plant.station(Stack::Zero);
        let at = dice.pick(&switches);
        plant.network.join(at, manager, BitRate::from_mbps(1_000));
        let errors = dice.pick(&[0, 0, 50_000_000, 200_000_000]);
        for link in &mut plant.network.links {
            link.errors_per_billion = errors;
        }
        plant.network.partition = dice.pick(&[
            Partition::Equal,
            Partition::Equal,
            Partition::Proportional,
            Partition::Search,
        ]);
        plant.network.admission = Some(Admission {
            manager,
            channels: dice.pick(&[3, 100]),
            accepts: dice.pick(&[1, 3, 100]),
            retry: Duration::from_us(dice.pick(&[100, 1_000, 4_000])),
            attempts: dice.pick(&[1, 2, 3]),
            other: Bytes::new(1_518),
        });
        for index in 0..dice.between(3, 12) {
            let flow = plant.asking_flow(dice, index);
            plant.flows.push(flow);
        }
        plant
    }

    /// Returns a flow that mostly asks.
    fn asking_flow(&self, dice: &mut Dice, index: u64) -> Flow {
        let mut flow = self.flow(dice, index, index % 2 == 1, 100);
        if flow.is_acknowledged() {
            flow = plain_flow("f", flow.talker, flow.listeners, 1_000);
        }
        if matches!(flow.traffic, Traffic::Adaptive { .. } | Traffic::Poisson { .. }) {
            flow.traffic = Traffic::periodic(Duration::from_ms(3), Phase::Random);
        }
        let deadline = dice.pick(&[1_000, 2_000, 5_000, 20_000]);
        flow.deadline = dice.chance(85).then(|| Duration::from_us(deadline));
        flow.deadline = flow.deadline.filter(|_| flow.obstacle_to_channel().is_none());
        if dice.chance(20) {
            flow.stop = Some(Duration::from_us(dice.pick(&[500, 12_000, 20_000])));
        }
        flow
    }
}

/// Oracle: the simulator, as in the other tests, whose stations and manager send no more messages
/// than the bounds count with if these bounds hold for flows that do not ask.
#[test]
#[allow(clippy::print_stdout, reason = "shown with --nocapture")]
fn channels_keep_to_their_bounds() {
    let mut tightness = Tightness::default();
    let (mut granted, mut refused, mut undecided) = (0, 0, 0);
    for_each_case("channels_keep_to_their_bounds", |number| {
        let number = number.wrapping_add(1 << 49);
        let plant = Plant::asking(&mut dice(number));
        let analysis = analyze(&plant.network, &plant.flows);
        let mut dice = dice(!number);
        let mut most = vec![Duration::ZERO; analysis.streams.len()];
        for run in 0..RUNS {
            let flows = adversarial(&plant, &mut dice, run);
            let record = simulate(&plant, &flows, number ^ run);
            for (most, seen) in most.iter_mut().zip(check(&analysis, &record)) {
                *most = (*most).max(seen);
            }
            for stream in &record.streams {
                let asks = plant.flows[stream.flow_id().index()].asks(&plant.network);
                let Some(channel) = stream.channel else {
                    assert!(!asks);
                    continue;
                };
                granted += channel.granted;
                refused += channel.refused.iter().sum::<u64>();
                undecided += channel.undecided;
                assert!(channel.granted > 0 || stream.released == 0);
            }
        }
        tightness.by_diameter += check_diameter(&plant, &most);
        tightness.add(&analysis, &most);
    });
    tightness.print("plants whose flows ask for channels");
    println!("{granted} granted, {refused} refused, {undecided} undecided");
    let is_one = std::env::var_os("RTETHER_CASE").is_some();
    assert!(is_one || tightness.bounded * 2 > tightness.streams);
    assert!(is_one || (granted > 2_000 && refused > 500));
}
