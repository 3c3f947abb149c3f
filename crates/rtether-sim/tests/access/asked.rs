//! Schemes in which a master asks: polling and Powerlink.

use rtether_model::access::{Access, Domain, Polling, Powerlink, Scheme};
use rtether_model::network::NodeId;
use rtether_model::quantity::Duration;

use super::{follow, latencies, ns, once, ordinary, plant, us};
use crate::support::Plant;

/// Master and two slaves at 100 Mbit/s; a slave answers after 1 us.
fn polled(flows: impl Fn(&mut Plant, &[NodeId]), change: fn(&mut Access)) -> Plant {
    let (mut plant, hub, ends) = plant(100, 3);
    flows(&mut plant, &ends);
    let polling = Polling { cycle: Duration::ZERO, master: 0, timeout: us(20), retries: 1 };
    change(follow(&mut plant, hub, Scheme::Polling(polling)));
    plant
}

/// Oracle: by hand. A request takes 5.76 us, an answer comes 1 us later, and the next request after
/// the gap of 0.96 us: slave 1 answers at 6.76 to 12.52, slave 2 at 20.24 to 26.00 us, and the
/// second round begins at 26.96 us.
#[test]
fn slaves_answer_in_turn() {
    let plant = polled(
        |plant, ends| {
            plant.flow(once("2", [ends[2], ends[0]], 64, us(0)));
            plant.flow(once("1", [ends[1], ends[2]], 64, us(7)));
        },
        |_| {},
    );
    let expected = [Some(ns(26_000)), Some(ns(26_960 + 12_520 - 7_000))];
    assert_eq!(latencies(&plant.run(1)), expected);
}

/// Oracle: by hand. The master's own frame of 9.12 us follows the answer of slave 2 and a gap.
#[test]
fn the_master_sends_last() {
    let plant = polled(
        |plant, ends| {
            plant.flow(once("m", [ends[0], ends[1]], 106, us(0)));
        },
        |_| {},
    );
    assert_eq!(latencies(&plant.run(1)), [Some(ns(26_960 + 9_120))]);
}

/// Oracle: by hand. The first request is lost: the master asks again 20 us after its end, at 25.76
/// us. Twice lost, it goes on, and asks slave 1 in the next round.
#[test]
fn a_lost_request_is_repeated() {
    let one = |plant: &mut Plant, ends: &[NodeId]| {
        plant.flow(once("1", [ends[1], ends[0]], 64, us(0)));
    };
    let plant = polled(one, |own| own.faults.lost = vec![1]);
    assert_eq!(latencies(&plant.run(1)), [Some(ns(25_760 + 12_520))]);
    let plant = polled(one, |own| own.faults.lost = vec![1, 2]);
    // Slave 2 is asked at 51.52 us; the round ends 13.48 us later.
    let expected = [Some(ns(51_520 + 13_480 + 12_520))];
    assert_eq!(latencies(&plant.run(1)), expected);
}

/// Managing node and two others at 100 Mbit/s, as in the shortest cycle.
fn powerlink(flows: impl Fn(&mut Plant, &[NodeId]), change: fn(&mut Access)) -> Plant {
    let (mut plant, hub, ends) = plant(100, 3);
    flows(&mut plant, &ends);
    let scheme = Powerlink { cycle: ns(163_480), master: 0, timeout: us(130) };
    let domain = Domain::of(&plant.network, hub).unwrap();
    let access = follow(&mut plant, hub, Scheme::Powerlink(scheme));
    for own in &mut access.members {
        own.largest = [1_518, 64].map(rtether_model::quantity::Bytes::new);
    }
    access.members[0].largest[1] = rtether_model::quantity::Bytes::ZERO;
    access.check(&domain).unwrap();
    change(access);
    plant
}

/// Oracle: by hand. SoC 0 to 5.76; PReq 6.72 to 12.48, PRes 13.48 to 19.24; 20.20 to 25.96, 26.96 to
/// 32.72; SoA 33.68 to 39.44; the ordinary frame of 1518 octets 40.44 to 162.52; the next SoC at
/// 163.48 us.
#[test]
fn a_cycle_of_powerlink() {
    let plant = powerlink(
        |plant, ends| {
            plant.flow(once("1", [ends[1], ends[0]], 64, us(0)));
            plant.flow(once("2", [ends[2], ends[0]], 64, us(0)));
            plant.flow(ordinary("async", [ends[1], ends[0]], 1_518, us(0)));
            plant.flow(once("next", [ends[1], ends[2]], 64, us(50)));
        },
        |_| {},
    );
    let record = plant.run(1);
    let expected = [19_240, 32_720, 162_520, 163_480 + 19_240 - 50_000];
    assert_eq!(latencies(&record), expected.map(|time| Some(ns(time))));
}

/// Oracle: by hand. Both nodes have ordinary frames: the second one is granted in the next cycle.
#[test]
fn one_ordinary_frame_a_cycle() {
    let plant = powerlink(
        |plant, ends| {
            plant.flow(ordinary("1", [ends[1], ends[0]], 1_518, us(0)));
            plant.flow(ordinary("2", [ends[2], ends[0]], 1_518, us(0)));
            plant.flow(ordinary("late", [ends[2], ends[0]], 64, us(27)));
        },
        |_| {},
    );
    let record = plant.run(2);
    let [one, two] = [ns(162_520), ns(163_480 + 162_520)];
    // The late one is behind its node's first, which tells of it in its answer of cycle 2.
    let late = ns(2 * 163_480 + 40_440 + 5_760 - 27_000);
    assert_eq!(latencies(&record), [one, two, late].map(Some));
}

/// Oracle: by hand. The PReq of node 1 (the second control frame) is lost: the managing node goes on
/// 130 us after its end, which leaves room for the rest of the cycle, and node 1 answers in the next.
#[test]
fn a_lost_request_costs_a_cycle() {
    let plant = powerlink(
        |plant, ends| {
            plant.flow(once("1", [ends[1], ends[0]], 64, us(0)));
            plant.flow(once("2", [ends[2], ends[0]], 64, us(0)));
        },
        |own| own.faults.lost = vec![2],
    );
    let record = plant.run(1);
    // PReq of node 2 at 142.48, PRes at 149.24 to 155.00, SoA to 161.72 us: still in time.
    let expected = [ns(163_480 + 19_240), ns(155_000)];
    assert_eq!(latencies(&record), expected.map(Some));
}
