//! Random plants with datagrams above one frame, and files with deadlines.

use rtether_model::flow::{Flow, Reply, Traffic};
use rtether_model::quantity::{Bytes, Duration};
use rtether_model::wire::Encapsulation;

use super::{Case, balance, for_each_case};
use rtether_testkit::Dice;

/// Enlarges the messages of flows: datagrams, answers and files.
fn enlarge(dice: &mut Dice, flow: &mut Flow) {
    let size = |dice: &mut Dice| match dice.between(0, 3) {
        0 => Bytes::new(dice.between(1_473, 1_500)),
        1 => Bytes::new(1_480 * dice.between(2, 8) - 8),
        2 => Bytes::new(dice.between(1_473, 65_507)),
        _ => Bytes::new(dice.between(1_473, 9_000)),
    };
    if let Traffic::Bulk(bulk) = &flow.traffic {
        let ends = bulk.transfers.iter().all(|transfer| transfer.size.is_some());
        flow.deadline = ends.then(|| Duration::from_us(dice.time(50, 20_000)));
    } else if flow.encapsulation == Encapsulation::Udp {
        if dice.chance(60) {
            flow.payload = size(dice);
        }
        flow.reply = flow.reply.map(|reply| Reply {
            payload: if dice.chance(50) { size(dice) } else { reply.payload },
            ..reply
        });
    }
}

/// Oracles: as for frames, ledger and wires, observers that know the network, not the simulator.
/// The parts of every latency add up, and only datagrams with a missing fragment are lost.
#[test]
fn the_books_of_large_messages_balance() {
    for_each_case(|case| {
        let mut dice = Dice::new(case.number.wrapping_add(1 << 40));
        let mut case = Case::new(case.number);
        for flow in &mut case.plant.flows {
            enlarge(&mut dice, flow);
        }
        balance(&case);
    });
}
