//! Many strangers: admission, and traffic to addresses that never answer.

use std::net::Ipv4Addr;

use rtether_rtps::engine::{Event, Parting};
use rtether_rtps::guid::EntityId;
use rtether_rtps::locator::{Locator, Origin};
use rtether_rtps::qos::Reliability;

use crate::hostile::reflection::wire;
use crate::hostile::world::{Forger, MS, ON_LINK, World, endpoint, matched};

/// Default limit of known participants.
const PLACES: usize = 256;
/// Locator of the genuine publisher.
const GENUINE: Locator = at(7);

const fn at(host: u8) -> Locator {
    Locator::udp(Ipv4Addr::new(10, 0, 1, host), 7_410)
}

/// Makes a publisher announce itself, answer and announce its writer; returns whether it is found.
fn is_found(world: &mut World, number: u32, place: Locator) -> bool {
    let mut genuine = Forger::new(number, place);
    let before = world.participant.writers_of(world.reader);
    world.feed_from(place, &genuine.announcement());
    world.hear_from(&genuine, place);
    let data = endpoint(genuine.guid(EntityId::writer(1, false)), Reliability::Reliable);
    let datagram = genuine.endpoint(&data);
    world.feed_from(place, &datagram);
    world.participant.writers_of(world.reader) == before + 1
}

fn refusals(world: &mut World) -> Vec<Origin> {
    let events = std::iter::from_fn(|| world.participant.poll_event());
    events
        .filter_map(
            |event| {
                if let Event::Refused { origin, .. } = event { Some(origin) } else { None }
            },
        )
        .collect()
}

/// Announcements of forged participants from one address in sequence; then a genuine one.
fn flood(count: u32) {
    let mut world = World::new();
    for number in 0..count {
        world.feed(&Forger::new(number, ON_LINK).announcement());
        world.sent.clear();
    }
    // Oracle: eight unanswered participants per address.
    assert_eq!(world.participants(), 8);
    let counters = world.participant.counters();
    assert_eq!(counters.refused, u64::from(count) - 8);
    assert_eq!(refusals(&mut world), [ON_LINK.origin()], "one warning");
    assert!(is_found(&mut world, u32::MAX, GENUINE));
}

#[test]
fn a_publisher_is_found_after_300_announcements_from_one_address() {
    flood(300);
}

#[test]
fn a_publisher_is_found_after_100000_announcements_from_one_address() {
    flood(100_000);
}

#[test]
fn a_publisher_at_the_address_of_a_flood_is_found_within_a_second() {
    // An attacker that forges the publisher's source address, or another program there.
    let mut world = World::new();
    for number in 0..300 {
        world.feed(&Forger::new(number, ON_LINK).announcement());
    }
    assert!(!is_found(&mut world, u32::MAX, ON_LINK));
    world.wait(1_000 * MS);
    assert!(is_found(&mut world, u32::MAX, ON_LINK));
}

#[test]
fn a_hundred_thousand_participants_of_97_addresses() {
    // Oracle: half of the places are for participants that have answered.
    let mut world = World::new();
    for number in 0..100 {
        let place = at(100 + u8::try_from(number % 10).unwrap());
        assert!(is_found(&mut world, 0x8000_0000 + number, place));
    }
    let mut datagram = Forger::new(0, ON_LINK).announcement();
    // Only number and locator change: in the header, the GUID and the locators.
    let find = |octets: &[u8], wanted: &[u8]| -> Vec<usize> {
        let last = octets.len() - wanted.len();
        (0..last).filter(|at| octets[*at..].starts_with(wanted)).collect()
    };
    let names = find(&datagram, &[9, 9, 9, 9, 9, 9, 9, 9, 0, 0, 0, 0]);
    let places = find(&datagram, &[10, 0, 1, 99]);
    assert_eq!((names.len(), places.len()), (2, 2));
    for number in 0..100_000_u32 {
        let host = u8::try_from(number % 97).unwrap();
        for name in &names {
            datagram[name + 8..name + 12].copy_from_slice(&number.to_be_bytes());
        }
        for place in &places {
            datagram[place + 3] = host;
        }
        world.feed_from(at(host), &datagram);
        world.sent.clear();
        if number % 64 == 0 {
            world.now += 100 * MS;
        }
        if number % 1_000 == 0 {
            for number in 0..100 {
                let place = at(100 + u8::try_from(number % 10).unwrap());
                let known = Forger::new(0x8000_0000 + number, place);
                world.feed_from(place, &known.announcement());
            }
            assert_eq!(world.participant.writers_of(world.reader), 100);
        }
    }
    assert!(world.participants() <= 100 + PLACES / 2);
    assert_eq!(world.participant.writers_of(world.reader), 100);
    let counters = world.participant.counters();
    assert!(counters.refused + counters.evicted > 90_000);
    // One warning in ten seconds; events of others do not displace any of the last 1024.
    assert!(refusals(&mut world).len() <= 1_024);
}

#[test]
fn the_busiest_address_makes_room() {
    // Oracle: 16 addresses with eight each fill half of the table; the 17th is entitled to one.
    let mut world = World::new();
    for number in 0..128_u32 {
        let place = at(u8::try_from(10 + number / 8).unwrap());
        world.feed_from(place, &Forger::new(number, place).announcement());
    }
    assert_eq!(world.participants(), PLACES / 2);
    assert!(is_found(&mut world, u32::MAX, GENUINE));
    assert_eq!(world.participants(), PLACES / 2);
    assert_eq!(world.participant.counters().evicted, 1);
}

#[test]
fn one_address_has_no_more_than_half_of_the_places_whatever_it_answers() {
    let mut world = World::new();
    for number in 0..1_000 {
        let forger = Forger::new(number, ON_LINK);
        world.feed(&forger.announcement());
        assert_eq!(world.hear_from(&forger, ON_LINK), number < 128);
    }
    assert_eq!(world.participants(), PLACES / 2);
    assert!(is_found(&mut world, u32::MAX, GENUINE));
}

/// Fills the table with participants that answer, from four addresses; returns their number.
fn fill(world: &mut World) -> u32 {
    let mut number = 0;
    while world.participants() < PLACES && number < 1_000 {
        let place = at(200 + u8::try_from(number % 4).unwrap());
        let forger = Forger::new(number, place);
        world.feed_from(place, &forger.announcement());
        world.hear_from(&forger, place);
        world.sent.clear();
        number += 1;
    }
    number
}

/// Formerly a full table kept newcomers out for the rest of the leases: 295 s after 105 kB of
/// announcements whose senders seemed to answer.
#[test]
fn silent_participants_make_room_for_one_that_answers() {
    // Oracle: a period of ten seconds, of which three pass without an announcement; a sixteenth of
    // the places is left to those that have not answered.
    let mut world = World::new();
    fill(&mut world);
    let known = world.participants();
    assert!(known >= PLACES - PLACES / 16, "{known}");
    assert!(!is_found(&mut world, u32::MAX, GENUINE));
    // Some go on.
    for _ in 0..6 {
        world.wait(5_000 * MS);
        for number in 0..40 {
            let place = at(200 + u8::try_from(number % 4).unwrap());
            let datagram = Forger::new(number, place).announcement();
            world.feed_from(place, &datagram);
        }
    }
    while world.participant.poll_event().is_some() {}
    for number in 0..200 {
        let place = at(10 + u8::try_from(number % 4).unwrap());
        assert!(is_found(&mut world, 0x8000_0000 + number, place), "{number}");
    }
    assert!(!is_found(&mut world, u32::MAX, GENUINE), "all others live");
    let events = std::iter::from_fn(|| world.participant.poll_event());
    let silences: Vec<i64> = events
        .filter_map(|event| {
            if let Event::ParticipantLost { why: Parting::MadeRoom(silence), .. } = event {
                Some(silence.as_ns() / MS)
            } else {
                None
            }
        })
        .collect();
    assert_eq!(silences.len(), 200);
    assert!(silences.iter().all(|ms| *ms >= 30_000), "{silences:?}");
    for number in 0..40 {
        let prefix = Forger::new(number, GENUINE).prefix;
        let mut all = world.participant.participants();
        assert!(all.any(|one| one.prefix == prefix), "{number} lives");
    }
}

#[test]
fn an_assertion_of_liveliness_prolongs_no_lease_beyond_the_limit() {
    // Oracle: 300 s; formerly the announced lease, here for ever.
    let (mut world, mut forger, _, _) = matched();
    let mut payload = [0; 25];
    payload[1] = 1;
    payload[4..16].copy_from_slice(&forger.prefix.0);
    payload[19] = 1;
    payload[20] = 1;
    let datagram = forger.next(EntityId::MESSAGE_WRITER, &payload);
    world.feed(&datagram);
    world.wait(301_000 * MS);
    assert_eq!(world.participants(), 0);
}

#[test]
fn all_of_a_host_are_found_by_those_on_the_same_host() {
    // Oracle: only the limit of the table, as long as new participants answer.
    let here = at(1);
    let mut world = World::new();
    for number in 0..200 {
        assert!(is_found(&mut world, number, here), "{number}");
    }
}

#[test]
fn an_address_that_never_answers_gets_three_times_what_came_from_there() {
    // CVE-2021-38425 and similar. Oracle: octets of the datagrams, both ways.
    let mut world = World::new();
    let mut forger = Forger::new(0, ON_LINK);
    let mut received = 0;
    let mut feed = |world: &mut World, datagram: Vec<u8>| {
        received += datagram.len();
        world.feed(&datagram);
        let (_, sent) = world.sent_to(|to| *to == ON_LINK);
        assert!(sent <= 3 * received, "{sent} octets for {received}");
    };
    feed(&mut world, forger.announcement());
    let (count, octets) = world.sent_to(|to| *to == ON_LINK);
    println!("the first announcement draws {count} datagrams of {octets} octets");
    assert!(count > 0);
    for number in 1..100 {
        let entity = EntityId::reader(number, false);
        let data = endpoint(forger.guid(entity), Reliability::BestEffort);
        let datagram = forger.endpoint(&data);
        feed(&mut world, datagram);
        for _ in 0..20 {
            world.write();
        }
        world.wait(10_000 * MS);
        feed(&mut world, forger.announcement());
    }
    assert!(world.participant.counters().withheld > 0);
    let events = std::iter::from_fn(|| world.participant.poll_event());
    let warnings = events.filter(|event| matches!(event, Event::Withheld { to } if *to == ON_LINK));
    let warnings = warnings.count();
    assert!((1..=100).contains(&warnings), "{warnings} warnings");
    // After an answer nothing is withheld.
    let withheld = world.participant.counters().withheld;
    assert!(world.hear_from(&forger, ON_LINK));
    let (before, _) = world.sent_to(|to| *to == ON_LINK);
    for _ in 0..20 {
        world.write();
    }
    let (after, _) = world.sent_to(|to| *to == ON_LINK);
    assert!(after >= before + 20);
    assert_eq!(world.participant.counters().withheld, withheld);
}

#[test]
fn a_victim_that_somebody_names_gets_no_data() {
    // Oracle: nothing ever came from the victim: numbers to prove it, in datagrams of 68 octets, and
    // three times what came from the one that names it. That one answers from its own address.
    let victim = at(98);
    let mut world = World::new();
    let mut forger = Forger::new(0, ON_LINK);
    forger.data.metatraffic_unicast.push(victim);
    forger.data.default_unicast = vec![victim];
    world.feed(&forger.announcement());
    assert!(world.hear_from(&forger, ON_LINK));
    for reliability in [Reliability::BestEffort, Reliability::Reliable] {
        let number = 1 + u32::from(reliability == Reliability::Reliable);
        let mut data = endpoint(forger.guid(EntityId::reader(number, false)), reliability);
        data.unicast = vec![victim];
        let datagram = forger.endpoint(&data);
        world.feed(&datagram);
    }
    assert_eq!(world.participant.known_readers_of(world.writer), 2);
    let mut came = 0;
    for _ in 0..50 {
        world.write();
        world.wait(1_000 * MS);
        came += wire(forger.announcement().len());
        world.feed(&forger.announcement());
    }
    let (count, octets) = world.sent_to(|to| *to == victim);
    assert_eq!(octets, 68 * count);
    assert!((1..=40).contains(&count) && count * wire(68) <= 3 * came, "{count}");
    assert!(world.sent_to(|to| *to == ON_LINK).0 > 0);
}

#[test]
fn of_several_addresses_that_one_is_used_from_which_the_participant_speaks() {
    let other = at(98);
    let mut world = World::new();
    let mut forger = Forger::new(0, other);
    forger.data.metatraffic_unicast.push(ON_LINK);
    forger.data.default_unicast.push(ON_LINK);
    world.feed(&forger.announcement());
    assert!(world.hear_from(&forger, ON_LINK));
    let reader = endpoint(forger.guid(EntityId::reader(1, false)), Reliability::BestEffort);
    let datagram = forger.endpoint(&reader);
    world.feed(&datagram);
    let (before, _) = world.sent_to(|to| *to == ON_LINK);
    assert!(world.write());
    assert_eq!(world.sent_to(|to| *to == ON_LINK).0, before + 1);
    assert_eq!(world.sent_to(|to| *to == other), (0, 0));
}
