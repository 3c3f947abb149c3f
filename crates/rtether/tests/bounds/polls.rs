//! Plants in which half of the flows are requests with replies, many of them from one master.

use rtether_bounds::analyze;
use rtether_model::flow::{Flow, Reply, Traffic};
use rtether_model::network::{NodeKind, Stack};
use rtether_model::quantity::{Bytes, Duration};
use rtether_testkit::Dice;

use crate::bounds::dice;
use crate::bounds::plant::{Plant, Variety};
use crate::bounds::{RUNS, Tightness, adversarial, check, for_each_case, simulate, with_phases};

impl Plant {
    /// Returns a full plant, every fourth with layers, in which half of the flows have replies.
    pub(crate) fn polled(number: u64) -> Self {
        let variety = if number % 4 == 3 { Variety::Layered } else { Variety::Full };
        let mut plant = Self::random(number.wrapping_add(1 << 41), variety);
        let mut dice = dice(number.wrapping_add(1 << 42));
        let has_stacks = dice.chance(60);
        for node in &mut plant.network.nodes {
            if let NodeKind::EndStation(station) = &mut node.kind
                && has_stacks
                && dice.chance(60)
            {
                let service = Duration::from_us(dice.pick(&[5, 20, 50]));
                station.stack = Stack::IpRate { service };
            }
        }
        let master = dice.chance(60).then(|| dice.pick(&plant.stations));
        for flow in &mut plant.flows {
            if dice.chance(50) {
                ask(&mut dice, flow);
                let is_other = |master| !flow.listeners.contains(&master);
                if let Some(master) = master.filter(|&master| is_other(master)) {
                    flow.talker = master;
                }
            }
        }
        plant
    }
}

/// Makes a flow of packets one of requests.
fn ask(dice: &mut Dice, flow: &mut Flow) {
    if matches!(flow.traffic, Traffic::Bulk(_)) {
        return;
    }
    flow.reply = Some(Reply::new(
        Bytes::new(dice.pick(&[0, 40, 100, 100, 400])),
        Duration::from_us(dice.pick(&[0, 0, 0, 10, 100, 333])),
    ));
    let Traffic::Periodic { period, .. } = flow.traffic else {
        return;
    };
    if dice.chance(10) {
        flow.traffic = Traffic::Adaptive {
            pause: Duration::from_us(dice.pick(&[0, 100, 1_000])),
            timeout: period * 4,
        };
    }
}

/// Oracle: the simulator, as in the other tests.
#[test]
fn replies_keep_to_their_bounds() {
    let test = "replies_keep_to_their_bounds";
    let (mut tightness, mut answered, mut flows) = (Tightness::default(), 0, 0);
    for_each_case(test, |number| {
        let plant = Plant::polled(number);
        answered += plant.flows.iter().filter(|f| f.reply.is_some()).count();
        flows += plant.flows.len();
        let analysis = analyze(&plant.network, &plant.flows);
        let mut dice = dice(!number);
        let mut most = vec![Duration::ZERO; analysis.streams.len()];
        for run in 0..RUNS {
            // Requests that leave a master at about the same time, or as at other plants.
            let phases = if run % 2 == 1 {
                let spread = dice.pick(&[1, 20_000_000, 150_000_000, 1_000_000_000]);
                with_phases(&plant.flows, |_, _| Duration::from_ps(dice.time(0, spread)))
            } else {
                adversarial(&plant, &mut dice, run)
            };
            let record = simulate(&plant, &phases, number ^ run);
            for (most, seen) in most.iter_mut().zip(check(&analysis, &record)) {
                *most = (*most).max(seen);
            }
        }
        tightness.add(&analysis, &most);
    });
    tightness.print("plants with polls");
    assert!(answered * 5 > flows * 2 || std::env::var_os("RTETHER_CASE").is_some());
}
