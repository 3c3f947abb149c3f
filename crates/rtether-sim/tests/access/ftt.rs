//! FTT-Ethernet: trigger message, synchronous and asynchronous window.

use rtether_model::access::{Access, Domain, Ftt, Scheme, Synchronous};
use rtether_model::network::NodeId;
use rtether_model::quantity::{Bytes, Duration};

use super::{follow, latencies, ns, once, ordinary, plant, us};
use crate::support::Plant;

/// Cycle of the plant.
const CYCLE: Duration = us(200);

/// Master and two others at 100 Mbit/s, which answer after 1 us; messages of these sizes, each due
/// once in that many cycles, in a cycle of 200 us.
fn triggered(
    messages: [(u64, u32); 2],
    flows: impl Fn(&mut Plant, &[NodeId]),
    change: fn(&mut Access),
) -> Plant {
    let (mut plant, hub, ends) = plant(100, 3);
    flows(&mut plant, &ends);
    let message = |(member, (size, every)): (u32, (u64, u32))| Synchronous {
        member,
        size: Bytes::new(size),
        every,
    };
    let domain = Domain::of(&plant.network, hub).unwrap();
    let mut ftt = Ftt {
        cycle: CYCLE,
        master: 0,
        window: Duration::ZERO,
        messages: (1..).zip(messages).map(message).collect(),
    };
    ftt.window = ftt.shortest_window(&domain);
    let access = follow(&mut plant, hub, Scheme::Ftt(ftt));
    for (own, sizes) in access.members.iter_mut().zip([[64, 0], [1_518, 64], [1_518, 106]]) {
        own.largest = sizes.map(Bytes::new);
    }
    access.check(&domain).unwrap();
    change(access);
    plant
}

/// Oracle: by hand. The trigger message takes 5.76 us; station 1 sends from 6.76 to 12.52 us,
/// station 2, whose time is 6.72 us later, from 13.48 to 22.60 us. Behind the gap, at 23.56 us, the
/// master sends its own ordinary frame of 64 octets, until 29.32, and asks station 1 from 30.28 to
/// 36.04, which sends 1518 octets from 37.04 to 159.12 us. Station 2 would need 129.80 us, and is
/// asked first in the next cycle: at 223.56, and sends from 230.32 to 352.40 us. A message that
/// comes after its time waits for the next cycle.
#[test]
fn a_cycle_of_ftt_ethernet() {
    let plant = triggered(
        [(64, 1), (106, 1)],
        |plant, ends| {
            plant.flow(once("1", [ends[1], ends[0]], 64, us(0)));
            plant.flow(once("2", [ends[2], ends[1]], 106, us(0)));
            plant.flow(once("late", [ends[1], ends[0]], 64, us(7)));
            plant.flow(ordinary("async m", [ends[0], ends[1]], 64, us(0)));
            plant.flow(ordinary("async 1", [ends[1], ends[0]], 1_518, us(0)));
            plant.flow(ordinary("async 2", [ends[2], ends[0]], 1_518, us(0)));
        },
        |_| {},
    );
    let record = plant.run(1);
    let expected = [12_520, 22_600, 200_000 + 12_520 - 7_000, 29_320, 159_120, 352_400];
    assert_eq!(latencies(&record), expected.map(|time| Some(ns(time))));
    assert_eq!(record.media[0].collisions.iter().sum::<u64>(), 0);
}

/// Oracle: by hand. Of two messages that are due once in four cycles, the shortest window of 1.68 +
/// 2.52 + 10.08 us holds one: the first in cycle 0, the second in cycle 1, and the first again in
/// cycle 4.
#[test]
fn messages_share_a_window_by_their_periods() {
    let plant = triggered(
        [(64, 4), (106, 4)],
        |plant, ends| {
            plant.flow(once("1", [ends[1], ends[0]], 64, us(0)));
            plant.flow(once("2", [ends[2], ends[1]], 106, us(0)));
            plant.flow(once("next", [ends[1], ends[0]], 64, us(10)));
        },
        |own| {
            if let Scheme::Ftt(ftt) = &own.scheme {
                assert_eq!(ftt.window, ns(14_280));
            }
        },
    );
    let second = 200_000 + 6_760 + 9_120;
    let expected = [12_520, second, 4 * 200_000 + 12_520 - 10_000];
    assert_eq!(latencies(&plant.run(1)), expected.map(|time| Some(ns(time))));
}

/// Oracle: by hand. The first trigger message is lost: stations are silent until the next one, and
/// the master asks for ordinary frames all the same. If the second is lost, nothing changes for
/// frames of the first.
#[test]
fn a_lost_trigger_message_is_a_silent_cycle() {
    let flows = |plant: &mut Plant, ends: &[NodeId]| {
        plant.flow(once("1", [ends[1], ends[0]], 64, us(0)));
        plant.flow(once("2", [ends[2], ends[1]], 106, us(0)));
        plant.flow(ordinary("async", [ends[1], ends[0]], 64, us(0)));
    };
    let messages = [(64, 1), (106, 1)];
    let lossy = triggered(messages, flows, |own| own.faults.lost = vec![1]);
    // The master has no ordinary frame, and asks station 1 first.
    let answer = 23_560 + 5_760 + 1_000 + 5_760;
    let expected = [200_000 + 12_520, 200_000 + 22_600, answer];
    assert_eq!(latencies(&lossy.run(1)), expected.map(|time| Some(ns(time))));
    // Before the second one the master asks four times, and is answered three times without data.
    let later = triggered(messages, flows, |own| own.faults.lost = vec![9]);
    let expected = [12_520, 22_600, answer];
    assert_eq!(latencies(&later.run(1)), expected.map(|time| Some(ns(time))));
}

/// Oracle: by hand. A lost request costs what the answer would have taken: station 1 is asked again
/// in its turn, behind station 2.
#[test]
fn a_lost_request_costs_its_visit() {
    let plant = triggered(
        [(64, 1), (106, 1)],
        |plant, ends| {
            plant.flow(ordinary("async", [ends[1], ends[0]], 64, us(0)));
            plant.flow(once("1", [ends[1], ends[0]], 64, us(0)));
        },
        |own| own.faults.lost = vec![2],
    );
    // Asked in vain until 153.36 us; station 2 in the next cycle at 223.56, empty until 236.08;
    // then station 1 at 237.04, which answers at 243.80 us.
    let expected = [ns(200_000 + 49_560), ns(12_520)];
    assert_eq!(latencies(&plant.run(1)), expected.map(Some));
}

/// Without the master, nobody sends.
#[test]
fn a_dead_master_ends_everything() {
    let plant = triggered(
        [(64, 1), (106, 1)],
        |plant, ends| {
            plant.flow(once("before", [ends[1], ends[0]], 64, us(0)));
            plant.flow(once("after", [ends[2], ends[1]], 106, us(150)));
        },
        |own| own.faults.silent = vec![(own.members[0].node, us(100))],
    );
    assert_eq!(latencies(&plant.run(1)), [Some(ns(12_520)), None]);
}
