//! Summation frames: timelines by hand, and a ring stepped octet by octet.

use rtether_model::access::{Access, Scheme, Summation};
use rtether_model::network::NodeId;
use rtether_model::quantity::{Bytes, Duration, Instant};
use rtether_testkit::Dice;

use super::{follow, latencies, ns, once, ordinary, plant, us};
use crate::support::Plant;

/// A master and slaves at 100 Mbit/s, 1 us in each slave; the master has mailboxes for frames of
/// 1518 octets, the first two slaves for 64.
fn line(slaves: usize, values: Summation) -> (Plant, Vec<NodeId>) {
    let (mut plant, hub, ends) = plant(100, slaves + 1);
    let access = follow(&mut plant, hub, Scheme::Summation(values));
    for (number, own) in access.members.iter_mut().enumerate() {
        let ordinary = [1_518, 64, 64].get(number).copied().unwrap_or(0);
        own.largest[0] = Bytes::new(ordinary);
    }
    (plant, ends)
}

/// Three slaves with 12 octets, every 400 us.
fn three(change: fn(&mut Access)) -> (Plant, Vec<NodeId>) {
    let values = Summation {
        cycle: us(400),
        master: 0,
        pass: us(1),
        octets: Bytes::new(12),
        places: vec![2; 4],
        relays: true,
    };
    let (mut plant, ends) = line(3, values);
    change(&mut plant.network.access[0]);
    (plant, ends)
}

/// One frame of each kind for the cycle at 400 us, which takes 8.76 us: 12 octets and headers are
/// padded to 64, which take 5.76 us, and the three slaves 1 us each.
fn one_of_each(plant: &mut Plant, ends: &[NodeId]) {
    plant.flow(once("in, first", [ends[1], ends[0]], 64, us(50)));
    // The first bit is at slave 3 at 402 us, and was at slave 2 at 401 us.
    plant.flow(once("in, last", [ends[3], ends[0]], 64, ns(401_999)));
    plant.flow(once("in, late", [ends[2], ends[0]], 64, ns(401_001)));
    plant.flow(once("out", [ends[0], ends[2]], 64, us(399)));
    plant.flow(once("across", [ends[1], ends[3]], 64, us(50)));
}

/// Oracle: by hand. Slaves' frames are back at the master at 408.76 us; one that came too late, in
/// the next cycle. The master's frame is at slave 2 at 400 + 1 + 5.76 us. What is for another slave is
/// passed on in the next cycle, and there at 800 + 2 + 5.76 us.
#[test]
fn a_cycle_of_three_slaves() {
    let (mut plant, ends) = three(|_| {});
    one_of_each(&mut plant, &ends);
    let record = plant.run(2);
    let expected = [
        408_760 - 50_000,
        408_760 - 401_999,
        808_760 - 401_001,
        406_760 - 399_000,
        807_760 - 50_000,
    ];
    assert_eq!(latencies(&record), expected.map(|time| Some(ns(time))));
    // Cycles at 0, 400, ... 1600 us, and the 12 octets of each are data.
    let medium = &record.media[0];
    assert_eq!(medium.control, 5);
    assert_eq!(medium.control_time, ns((64 + 8 - 12) * 80) * 5);
}

/// Oracle: by hand. If the frame at 400 us is lost, so is all that was in it. If the one at 800 us
/// is, what it should pass on is lost, and what came late.
#[test]
fn a_lost_frame_takes_its_contents_along() {
    let (mut plant, ends) = three(|own| own.faults.lost = vec![2]);
    one_of_each(&mut plant, &ends);
    let late = Some(ns(808_760 - 401_001));
    let record = plant.run(2);
    assert_eq!(latencies(&record), [None, None, late, None, None]);
    let (mut plant, ends) = three(|own| own.faults.lost = vec![3]);
    one_of_each(&mut plant, &ends);
    let found = latencies(&plant.run(2));
    let arrived: Vec<bool> = found.iter().map(Option::is_some).collect();
    assert_eq!(arrived, [true, true, false, true, false]);
}

/// Oracle: by hand. A slave that does not answer leaves the working counter short: the master
/// discards what slaves have put in, and its own frames arrive. Without the master nothing does.
#[test]
fn a_silent_station_costs_all_that_comes_back() {
    let (mut plant, ends) = three(|own| own.faults.silent = vec![(own.members[2].node, us(0))]);
    one_of_each(&mut plant, &ends);
    let out = Some(ns(7_760));
    assert_eq!(latencies(&plant.run(2)), [None, None, None, out, None]);
    let (mut plant, ends) = three(|own| own.faults.silent = vec![(own.members[0].node, us(390))]);
    one_of_each(&mut plant, &ends);
    assert_eq!(latencies(&plant.run(2)), [None; 5]);
}

/// Oracle: by hand. A mailbox for frames of 64 octets has 60 without FCS, and 102 with all headers:
/// 8.80 us. Slave 1 is asked at 408.76 us; what it sends is back at 420.56, and passed on to slave 3
/// by 431.36 us. Slave 2 has its turn in the next cycle, and is back at 820.56. The master's frame
/// of 1518 octets takes 1626 octet times, from 1208.76 to 1338.84 us, when it is at slave 1.
#[test]
fn ordinary_frames_take_turns() {
    let (mut plant, ends) = three(|_| {});
    plant.flow(ordinary("1 to 3", [ends[1], ends[3]], 64, us(50)));
    plant.flow(ordinary("2 to master", [ends[2], ends[0]], 64, us(50)));
    plant.flow(ordinary("master to 1", [ends[0], ends[1]], 1_518, us(50)));
    let expected = [431_360, 820_560, 1_338_840].map(|time| Some(ns(time - 50_000)));
    assert_eq!(latencies(&plant.run(2)), expected);
}

/// Oracle: by hand. The master's ordinary frame comes in the picosecond in which the process data are
/// back: it is written at once or in the next cycle, and what was in these is at the master.
#[test]
fn a_frame_comes_as_another_is_back() {
    let (mut plant, ends) = three(|_| {});
    plant.flow(once("in", [ends[1], ends[0]], 64, us(50)));
    plant.flow(ordinary("out", [ends[0], ends[1]], 1_518, ns(408_760)));
    let found = latencies(&plant.run(2));
    assert_eq!(found[0], Some(ns(408_760 - 50_000)));
    let written = [130_080, 530_080].map(|time| Some(ns(time)));
    assert!(written.contains(&found[1]), "{found:?}");
}

/// Two frames in a row: 1487 octets of process data fill one of 1518, and leave 1 for one of 64. Each
/// slave puts in and takes out with the whole of it. Oracle: by hand, 122.08 + 0.96 + 5.76 + 3 us.
#[test]
fn process_data_of_several_frames() {
    let (mut plant, ends) = three(|own| {
        let Scheme::Summation(own) = &mut own.scheme else { unreachable!("it is one") };
        own.octets = Bytes::new(1_487);
    });
    plant.flow(once("in", [ends[1], ends[0]], 64, us(50)));
    plant.flow(once("out", [ends[0], ends[3]], 64, us(50)));
    let expected = [531_800 - 50_000, 530_800 - 50_000];
    let record = plant.run(2);
    assert_eq!(latencies(&record), expected.map(|time| Some(ns(time))));
}

/// What the stepped ring knows of a frame.
#[derive(Clone, Copy)]
struct Frame {
    from: usize,
    to: usize,
    /// Octet times of its release.
    at: i64,
    /// Set once it has arrived.
    arrived: Option<i64>,
    state: State,
}

#[derive(Clone, Copy, PartialEq)]
enum State {
    Waits,
    Aboard,
    /// Read by the master, for a slave.
    Kept,
    /// Leaves it with the frame that is under way.
    PassedOn,
}

/// A ring as a shift register: each slave holds `hold` octets, and every step moves all of them by
/// one. The master sends a frame of `length` octets, preamble included, every `cycle` steps; a
/// station looks at what is in front of it, and nothing else.
fn stepped(slaves: usize, [hold, length, cycle]: [i64; 3], places: usize, frames: &mut [Frame]) {
    #[derive(Clone, Copy, PartialEq)]
    enum Octet {
        First,
        Inner,
        Last,
    }
    let hold = usize::try_from(hold).unwrap();
    let mut ring: Vec<Option<Octet>> = vec![None; hold * slaves];
    for step in 0..cycle * 12 {
        let position = step % cycle;
        let octet = match position {
            0 => Some(Octet::First),
            _ if position + 1 == length => Some(Octet::Last),
            _ if position < length => Some(Octet::Inner),
            _ => None,
        };
        // Without delay, what goes in comes out at once.
        ring.insert(0, octet);
        let back = ring.pop().unwrap();
        for station in 0..=slaves {
            let seen = match station.checked_sub(1) {
                Some(slave) if hold > 0 => ring[slave * hold],
                _ => octet,
            };
            if seen == Some(Octet::First) {
                let mut left = places;
                let own = frames.iter_mut();
                for frame in own.filter(|own| own.from == station && own.at < step) {
                    if frame.state == State::Waits && left > 0 {
                        left -= 1;
                        frame.state = State::Aboard;
                    }
                }
                let kept = frames.iter_mut().filter(|own| own.state == State::Kept);
                kept.filter(|_| station == 0).for_each(|own| own.state = State::PassedOn);
            }
            if seen == Some(Octet::Last) && station > 0 {
                let from_master = |own: &&mut Frame| {
                    own.to == station
                        && (own.state == State::PassedOn
                            || own.from == 0 && own.state == State::Aboard)
                };
                let own = frames.iter_mut().filter(|own| own.arrived.is_none());
                for frame in own.filter(from_master) {
                    frame.arrived = Some(step + 1);
                }
            }
        }
        if back == Some(Octet::Last) {
            for frame in frames.iter_mut() {
                if frame.from > 0 && frame.state == State::Aboard {
                    frame.state = State::Kept;
                    frame.arrived = (frame.to == 0).then_some(step + 1);
                }
            }
        }
    }
}

/// Oracle: the stepped ring, on random lines with random frames. Releases fall between two octets.
#[test]
fn a_ring_stepped_octet_by_octet() {
    for seed in 0..300 {
        let mut dice = Dice::new(seed);
        let slaves = dice.index(6) + 1;
        let hold = dice.time(0, 20);
        let octets = dice.pick(&[0_i64, 12, 60, 400]);
        let length = 8 + (octets + 32).max(64);
        let cycle = length + hold * i64::try_from(slaves).unwrap() + 12 + dice.time(0, 200);
        let places = dice.index(3) + 1;
        let mut frames: Vec<Frame> = (0..dice.between(1, 12))
            .map(|_| {
                let from = dice.index(slaves + 1);
                let to = (from + 1 + dice.index(slaves)) % (slaves + 1);
                let at = dice.time(0, cycle * 4);
                Frame { from, to, at, arrived: None, state: State::Waits }
            })
            .collect();
        frames.sort_by_key(|frame| frame.at);
        let octet = ns(80);
        let values = Summation {
            cycle: octet * cycle,
            master: 0,
            pass: octet * hold,
            octets: Bytes::new(octets.unsigned_abs()),
            places: vec![u32::try_from(places).unwrap(); slaves + 1],
            relays: false,
        };
        let (mut plant, ends) = line(slaves, values);
        for own in &mut plant.network.access[0].members {
            own.largest[0] = Bytes::ZERO;
        }
        for (number, own) in frames.iter().enumerate() {
            let released = octet * own.at + ns(40);
            let between = [ends[own.from], ends[own.to]];
            plant.flow(once(&format!("{number}"), between, 64, released));
        }
        stepped(slaves, [hold, length, cycle], places, &mut frames);
        let expected: Vec<Option<Duration>> = frames
            .iter()
            .map(|own| Some(octet * own.arrived? - (octet * own.at + ns(40))))
            .collect();
        assert!(expected.iter().all(Option::is_some), "seed {seed}");
        let mut simulation = plant.simulation(1);
        let end = Instant::ZERO + octet * (cycle * 12);
        simulation.run_until(end, &mut rtether_sim::observe::NoObserver);
        simulation.invariants().unwrap();
        assert_eq!(latencies(&simulation.finish()), expected, "seed {seed}");
    }
}
