//! Schemes in which a turn goes round: timed token, virtual token, and grants of the hub.

use rtether_model::access::{Access, DemandPriority, Scheme, TimedToken, VirtualToken};
use rtether_model::quantity::Duration;

use super::{follow, latencies, ns, once, ordinary, plant, us};
use crate::support::Plant;

/// Oracle: by hand, with `t2` of 20 us at 10 Mbit/s. Node 1 sends 0 to 57.6 us, node 2 is silent,
/// node 3 sends 77.6 to 135.2 us.
#[test]
fn silence_passes_the_turn_on() {
    let (mut plant, hub, ends) = plant(10, 3);
    plant.flow(once("1", [ends[0], ends[1]], 64, us(0)));
    plant.flow(once("3", [ends[2], ends[1]], 64, us(0)));
    // Node 2 has its turn from 57.6 us on: what comes later waits for the next one. The turn of node
    // 1 begins at 135.2, that of node 2 at 155.2 us.
    plant.flow(once("2", [ends[1], ends[0]], 64, us(60)));
    let silence = us(20);
    follow(&mut plant, hub, Scheme::VirtualToken(VirtualToken { silence }));
    let expected = [57_600, 135_200, 155_200 + 57_600 - 60_000];
    let record = plant.run(1);
    assert_eq!(latencies(&record), expected.map(|time| Some(ns(time))));
    assert_eq!(record.media[0].control, 0);
}

/// Oracle: by hand. A turn is used after a gap of 9.6 us behind another frame.
#[test]
fn used_turns_follow_each_other_at_the_gap() {
    let (mut plant, hub, ends) = plant(10, 3);
    for end in 0..3 {
        plant.flow(once(&format!("{end}"), [ends[end], ends[(end + 1) % 3]], 64, us(0)));
    }
    let silence = us(20);
    follow(&mut plant, hub, Scheme::VirtualToken(VirtualToken { silence }));
    let expected = [57_600, 124_800, 192_000].map(|time| Some(ns(time)));
    assert_eq!(latencies(&plant.run(1)), expected);
}

/// Oracle: by hand, at 100 Mbit/s with 1 us of signalling before each frame. All request at 0 but the
/// fourth: 2 is high and sends 1.00 to 6.76 us, then 1 (normal) to 129.84, 4 (high, from 8 us) to
/// 136.60, and 3 (normal) to 143.36 us.
#[test]
fn the_hub_grants_high_requests_first() {
    let (mut plant, hub, ends) = plant(100, 5);
    let to = ends[4];
    plant.flow(ordinary("1", [ends[0], to], 1_518, us(0)));
    plant.flow(once("2", [ends[1], to], 64, us(0)));
    plant.flow(ordinary("3", [ends[2], to], 64, us(0)));
    plant.flow(once("4", [ends[3], to], 64, us(8)));
    let demand = DemandPriority { signalling: us(1), promotion: Duration::from_ms(250) };
    follow(&mut plant, hub, Scheme::DemandPriority(demand));
    let expected = [129_840, 6_760, 143_360, 136_600 - 8_000];
    let record = plant.run(1);
    assert_eq!(latencies(&record), expected.map(|time| Some(ns(time))));
}

/// Oracle: by hand. A normal request that is older than 10 us counts as high: behind 2, which came
/// first in turn, 3 goes before the second frame of 2.
#[test]
fn old_requests_are_promoted() {
    let (mut plant, hub, ends) = plant(100, 4);
    let to = ends[3];
    for frame in 0..3 {
        plant.flow(once(&format!("2.{frame}"), [ends[1], to], 64, us(0)));
    }
    plant.flow(ordinary("3", [ends[2], to], 64, us(0)));
    let demand = DemandPriority { signalling: us(1), promotion: us(7) };
    follow(&mut plant, hub, Scheme::DemandPriority(demand));
    // At 6.76 us it is decided for 7.76 us, when the request of 3 is old.
    let expected = [6_760, 20_280, 27_040, 13_520].map(|time| Some(ns(time)));
    assert_eq!(latencies(&plant.run(1)), expected);
}

/// Three stations at 10 Mbit/s, a cycle of 3 ms; the first and the third reserve time for one frame
/// of 106 octets, and all have an ordinary frame of 1518. A visit costs 68.2 us: gap 9.6, token 57.6,
/// response 1.
fn token(change: fn(&mut Access)) -> Plant {
    let (mut plant, hub, ends) = plant(10, 3);
    plant.flow(once("real 1", [ends[0], ends[1]], 106, us(0)));
    plant.flow(once("real 3", [ends[2], ends[1]], 106, us(0)));
    for end in 0..3 {
        let name = format!("ordinary {}", end + 1);
        plant.flow(ordinary(&name, [ends[end], ends[(end + 1) % 3]], 1_518, us(0)));
    }
    let token = TimedToken {
        cycle: us(3_000),
        reservations: vec![ns(100_800), Duration::ZERO, ns(100_800)],
        timeout: us(1_300),
    };
    change(follow(&mut plant, hub, Scheme::TimedToken(token)));
    plant
}

/// Oracle: by hand. 1 sends its real-time frame 0 to 91.2; token 100.8 to 158.4; 3 sends 168.0 to
/// 259.2; token 268.8 to 326.4; 1 sends its ordinary frame 336.0 to 1556.8; token 1566.4 to 1624.0; 2
/// sends 1633.6 to 2854.4; token 2864.0 to 2921.6. The frame of 3 does not fit into the 77.4 us that
/// are left: token to 1, 2931.2 to 2988.8; no real-time frame, token to 3, 2998.4 to 3056.0; none
/// either, and the ordinary visits go on with 3, which sends 3065.6 to 4286.4 us.
#[test]
fn a_timed_token_goes_round() {
    let record = token(|_| {}).run(10);
    let expected = [91_200, 259_200, 1_556_800, 2_854_400, 4_286_400];
    assert_eq!(latencies(&record), expected.map(|time| Some(ns(time))));
}

/// Oracle: by hand, with a timeout of 1.3 ms. 2 is dead: the token to it, 1566.4 to 1624.0, is
/// repeated 2924.0 to 2981.6, and at 4281.6 us station 1 begins a new cycle without it: token to 3,
/// to 4339.2; ordinary visits begin with 1, 4348.8 to 4406.4, which passes on to 3, 4416.0 to 4473.6,
/// which sends 4483.2 to 5704.0 us.
#[test]
fn a_dead_station_is_passed_by() {
    let record = token(|own| own.faults.silent = vec![(own.members[1].node, us(0))]).run(10);
    let expected = [91_200, 259_200, 1_556_800, 0, 5_704_000];
    let expected = expected.map(|time| (time > 0).then(|| ns(time)));
    assert_eq!(latencies(&record), expected);
}

/// Oracle: by hand. The token to 3 (the first control frame) is lost: it is repeated 1.3 ms after its
/// end, at 1458.4, and 3 sends 1525.6 to 1616.8 us.
#[test]
fn a_lost_token_is_repeated() {
    let record = token(|own| own.faults.lost = vec![1]).run(10);
    assert_eq!(latencies(&record)[..2], [ns(91_200), ns(1_616_800)].map(Some));
}
