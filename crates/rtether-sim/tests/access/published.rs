//! Figures computed or published elsewhere: cycles of several schemes at 100 Mbit/s, without cables
//! and with answers after 1 us, for N slaves with 36 octets each way, and what RFC 2816 says of
//! 802.12.
//!
//! With 36 octets all frames have 64. With more, cycles here are shorter where the request of a
//! master carries data elsewhere (Powerlink, polling): here it never does.

use rtether_model::access::{
    Access, CONTROL, DemandPriority, Domain, Member, Polling, Powerlink, Scheme, Tdma,
};
use rtether_model::network::NodeId;
use rtether_model::quantity::{Bytes, Duration};
use rtether_model::record::Record;

use super::{follow, latencies, ns, once, ordinary, plant, us};
use crate::support::Plant;

/// Frame with gap, of 64 octets.
const PITCH: Duration = ns(6_720);

/// The master and its slaves; the last slave sends at once, the first one again, at `again`.
fn slaves(count: usize, again: Duration) -> (Plant, NodeId) {
    let (mut plant, hub, ends) = plant(100, count + 1);
    plant.flow(once("last", [ends[count], ends[0]], 64, us(0)));
    plant.flow(once("again", [ends[1], ends[0]], 64, again));
    (plant, hub)
}

/// Lets all send real-time frames of 64 octets, the master none.
fn small(access: &mut Access) {
    for (number, own) in access.members.iter_mut().enumerate() {
        own.largest = [Bytes::ZERO, if number == 0 { Bytes::ZERO } else { CONTROL }];
    }
}

/// Checks when the last slave of a cycle is done, and when the first slave of the next one is.
fn cycle_is(record: &Record, [last, cycle, first]: [Duration; 3], again: Duration) {
    let expected = [last, cycle + first - again];
    assert_eq!(latencies(record), expected.map(Some));
}

/// Oracle: `N (2 F(64) + x + G)`: 134.80 us for ten slaves, 1348.00 us for a hundred.
#[test]
fn a_round_of_polling() {
    for (count, cycle) in [(10, ns(134_800)), (100, ns(1_348_000))] {
        let again = us(50);
        let (mut plant, hub) = slaves(count, again);
        let polling = Polling { cycle: Duration::ZERO, master: 0, timeout: us(20), retries: 1 };
        small(follow(&mut plant, hub, Scheme::Polling(polling)));
        let first = ns(5_760 + 1_000 + 5_760);
        cycle_is(&plant.run(2), [cycle - ns(960), cycle, first], again);
    }
}

/// Oracle: the same between SoC and SoA: 148.24 and 1361.44 us.
#[test]
fn the_shortest_cycle_of_powerlink() {
    for (count, cycle) in [(10, ns(148_240)), (100, ns(1_361_440))] {
        let again = us(50);
        let (mut plant, hub) = slaves(count, again);
        let domain = Domain::of(&plant.network, hub).unwrap();
        let mut scheme = Powerlink { cycle: Duration::ZERO, master: 0, timeout: us(20) };
        let access = follow(&mut plant, hub, Scheme::Powerlink(scheme.clone()));
        small(access);
        scheme.cycle = scheme.shortest(&domain, &access.members, us(1));
        assert_eq!(scheme.cycle, cycle);
        access.scheme = Scheme::Powerlink(scheme);
        let first = PITCH + ns(5_760 + 1_000 + 5_760);
        cycle_is(&plant.run(2), [cycle - PITCH - ns(960), cycle, first], again);
    }
}

/// Oracle: a Sync frame and two slots for each slave, 2 us apart: `(2 N + 1) (F(64) + G + 2 us)`,
/// 183.12 and 1752.72 us; with 100 octets, 118 in a frame, 269.52 us.
#[test]
fn a_cycle_of_slots() {
    for (slaves, size, cycle) in
        [(10, 64, ns(183_120)), (100, 64, ns(1_752_720)), (10, 118, ns(269_520))]
    {
        let slots = 2 * slaves;
        let (mut plant, hub, ends) = plant(100, slots);
        plant.flow(once("last", [ends[slots - 1], ends[0]], size, us(0)));
        let mut domain = Domain::of(&plant.network, hub).unwrap();
        // The guard.
        domain.reach = us(2);
        let member = |&node: &NodeId| Member { node, largest: [Bytes::ZERO, Bytes::new(size)] };
        let members: Vec<Member> = ends.iter().map(member).collect();
        let tdma = Tdma::plan(&domain, &members, 0, None);
        assert_eq!(tdma.cycle, cycle);
        follow(&mut plant, hub, Scheme::Tdma(tdma)).members = members;
        let last = cycle - us(2) - ns(960);
        assert_eq!(latencies(&plant.run(3)), [Some(last)]);
    }
}

/// Oracle: RFC 2816, 9.5: the largest access latency of a high request at one hub is that of one
/// normal frame over fibre, 122.08 us, and of two over twisted pair, 244.16 us, with the
/// signalling: 139 and 254 us of the tables leave 16.92 and 9.84 us for it. The hub here hears
/// requests during a frame, as over fibre: one frame, and the signalling of the plant.
#[test]
fn one_normal_frame_is_before_a_high_request() {
    let (frame, signalling) = (ns(122_080), ns(16_920));
    let (mut plant, hub, ends) = plant(100, 3);
    plant.flow(ordinary("first", [ends[0], ends[2]], 1_518, us(0)));
    plant.flow(ordinary("second", [ends[1], ends[2]], 1_518, us(0)));
    // Just after the first normal frame has begun.
    let moment = Duration::from_ps(1);
    plant.flow(once("high", [ends[2], ends[0]], 64, signalling + moment));
    let demand = DemandPriority { signalling, promotion: Duration::from_ms(250) };
    follow(&mut plant, hub, Scheme::DemandPriority(demand));
    let record = plant.run(1);
    let access = us(139);
    assert_eq!(frame + signalling, access);
    assert_eq!(latencies(&record)[2], Some(access + ns(5_760) - moment));
}
