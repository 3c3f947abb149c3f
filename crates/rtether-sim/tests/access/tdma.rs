//! TDMA as of RTnet.

use rtether_model::access::{Access, Backup, Scheme, Slot, Tdma};
use rtether_model::quantity::{Bytes, Duration};

use super::{follow, latencies, ns, once, plant, us};
use crate::support::Plant;

fn slot(member: u32, offset: i64, turn: u32, of: u32) -> Slot {
    Slot { member, offset: us(offset), size: Bytes::new(1_518), of, turn }
}

/// Three stations at 10 Mbit/s, a cycle of 5 ms; the first is master, and frames of 106 octets from
/// the second to the first are released at these times.
fn run(releases: &[Duration], backup: Option<Backup>, change: fn(&mut Access)) -> Plant {
    let (mut plant, hub, ends) = plant(10, 3);
    for (number, &at) in releases.iter().enumerate() {
        plant.flow(once(&format!("f{number}"), [ends[1], ends[0]], 106, at));
    }
    let tdma = Tdma {
        cycle: us(5_000),
        master: 0,
        backup,
        slots: vec![slot(1, 2_000, 0, 1), slot(2, 3_500, 0, 1)],
    };
    change(follow(&mut plant, hub, Scheme::Tdma(tdma)));
    plant
}

/// Oracle: by hand. The slot begins at 2 ms; a frame of 106 octets takes 91.2 us.
#[test]
fn a_frame_waits_for_its_slot() {
    let ps = Duration::from_ps(1);
    for (release, expected) in [
        (us(2_000) - ps, ns(91_200) + ps),
        (us(2_000), ns(91_200)),
        (us(2_000) + ps, ns(5_091_200) - ps),
    ] {
        let record = run(&[release], None, |_| {}).run(20);
        assert_eq!(latencies(&record), [Some(expected)]);
        // Sync frames at 0, 5, 10 and 15 ms, 57.6 us each, and the frame.
        assert_eq!(record.media[0].control, 4);
        assert_eq!(record.media[0].carried, ns(57_600) * 4 + ns(91_200));
        assert_eq!(record.media[0].collisions.iter().sum::<u64>(), 0);
    }
}

/// Oracle: by hand. A slot takes one frame: the second one goes in the next cycle.
#[test]
fn a_slot_takes_one_frame() {
    let record = run(&[us(100), us(100), us(100)], None, |_| {}).run(20);
    let expected = [0, 1, 2].map(|cycles| Some(ns(1_991_200) + us(5_000) * cycles));
    assert_eq!(latencies(&record), expected);
}

/// Oracle: by hand. Without its Sync frame, the station is silent for a cycle.
#[test]
fn a_lost_sync_costs_a_cycle() {
    let record = run(&[us(100)], None, |own| own.faults.lost = vec![1]).run(20);
    assert_eq!(latencies(&record), [Some(ns(6_991_200))]);
}

/// Oracle: by hand. The backup master sends its Sync frame at 200 us with the time at which the
/// cycle was due, so slots do not move.
#[test]
fn a_backup_master_keeps_the_slots() {
    let backup = Some(Backup { member: 2, offset: us(200) });
    let record = run(&[us(100), us(5_100)], backup, |own| {
        own.faults.silent = vec![(own.members[0].node, us(4_000))];
    })
    .run(20);
    assert_eq!(latencies(&record), [Some(ns(1_991_200)); 2]);
    // Without it, the second frame is never sent.
    let record = run(&[us(100), us(5_100)], None, |own| {
        own.faults.silent = vec![(own.members[0].node, us(4_000))];
    })
    .run(20);
    assert_eq!(latencies(&record), [Some(ns(1_991_200)), None]);
}

/// Oracle: by hand. Two stations share a slot: one has the first, third, ... cycle, the other the
/// second, fourth, ...
#[test]
fn slots_may_be_shared() {
    let (mut plant, hub, ends) = plant(10, 3);
    plant.flow(once("a", [ends[1], ends[0]], 106, us(5_100)));
    plant.flow(once("b", [ends[2], ends[0]], 106, us(5_100)));
    let tdma = Tdma {
        cycle: us(5_000),
        master: 0,
        backup: None,
        slots: vec![slot(1, 2_000, 0, 2), slot(2, 2_000, 1, 2)],
    };
    follow(&mut plant, hub, Scheme::Tdma(tdma));
    let record = plant.run(20);
    assert_eq!(latencies(&record), [Some(ns(6_991_200)), Some(ns(1_991_200))]);
}

/// A station that does not follow the scheme sends when it likes, and may delay a Sync frame, but
/// slots stay where they are: the frame says when the cycle was due.
#[test]
fn a_station_without_discipline_delays_the_sync_frame_only() {
    let (mut plant, hub, ends) = plant(10, 3);
    plant.flow(once("a", [ends[1], ends[0]], 106, us(5_100)));
    plant.flow(once("rogue", [ends[2], ends[0]], 1_518, us(4_900)));
    let tdma =
        Tdma { cycle: us(5_000), master: 0, backup: None, slots: vec![slot(1, 2_000, 0, 1)] };
    follow(&mut plant, hub, Scheme::Tdma(tdma)).members.pop();
    let record = plant.run(20);
    assert_eq!(latencies(&record), [Some(ns(1_991_200)), Some(ns(1_220_800))]);
}
