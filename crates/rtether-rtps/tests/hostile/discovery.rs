//! Announcements of strangers.

use std::net::Ipv4Addr;

use rtether_rtps::engine::Event;
use rtether_rtps::guid::{EntityId, Guid, GuidPrefix};
use rtether_rtps::locator::Locator;
use rtether_rtps::qos::Reliability;
use rtether_rtps::time::Duration;

use crate::hostile::world::{Forger, MS, ON_LINK, World, endpoint, matched};

#[test]
fn samples_go_on_for_no_longer_than_heartbeats_to_a_reader_that_never_answers() {
    // Oracle: twenty heartbeats, and as many as there are announcements after; the writer keeps
    // working.
    let (mut world, mut forger, _, _) = matched();
    // Of a program that has ended, at the host of its participant.
    let elsewhere = Locator::udp(Ipv4Addr::new(10, 0, 1, 99), 7_420);
    let reader = EntityId::reader(3, false);
    let mut data = endpoint(forger.guid(reader), Reliability::Reliable);
    data.unicast = vec![elsewhere];
    let datagram = forger.endpoint(&data);
    world.feed(&datagram);
    world.wait(290_000 * MS);
    let (count, octets) = world.sent_to(|to| *to == elsewhere);
    println!("a reader that never answers: {count} datagrams, {octets} octets in five minutes");
    assert_eq!(count, 20);
    for _ in 0..10 {
        let datagram = forger.announcement();
        world.feed(&datagram);
        world.wait(1_000 * MS);
    }
    assert_eq!(world.sent_to(|to| *to == elsewhere).0, 30);
    // It blocks no other reader: the history keeps 64 samples for live readers.
    for _ in 0..1_000 {
        assert!(world.write());
    }
}

#[test]
fn nothing_goes_to_places_elsewhere_or_to_groups_that_are_none() {
    // Oracle: the network is 10.0.1.0/24.
    for address in [
        Ipv4Addr::new(192, 0, 2, 1),
        Ipv4Addr::new(10, 0, 2, 1),
        Ipv4Addr::new(10, 0, 1, 255),
        Ipv4Addr::BROADCAST,
        Ipv4Addr::UNSPECIFIED,
        Ipv4Addr::new(224, 0, 0, 1),
        Ipv4Addr::new(239, 255, 0, 1),
    ] {
        let mut world = World::with(|config| config.any_source = true);
        let mut forger = Forger::new(0, Locator::udp(address, 7_410));
        world.feed(&forger.announcement());
        let mut data = endpoint(forger.guid(EntityId::reader(1, false)), Reliability::BestEffort);
        data.unicast = vec![Locator::udp(address, 7_411)];
        let datagram = forger.endpoint(&data);
        world.feed(&datagram);
        let writer = endpoint(forger.guid(EntityId::writer(1, false)), Reliability::Reliable);
        let datagram = forger.endpoint(&writer);
        world.feed(&datagram);
        world.write();
        world.wait(60_000 * MS);
        world.participant.leave();
        world.wait(1_000 * MS);
        assert_eq!(world.sent_to(|_| true), (0, 0), "{address}");
        assert_eq!(world.participant.counters().unanswered, 1);
    }
}

#[test]
fn a_million_endpoints() {
    // Oracle: the limits of the parameters; 512 of each kind for one participant, 1000 for all.
    let mut world = World::with(|config| config.remote_endpoints_max = 1_000);
    let (mut one, mut other) = (Forger::new(1, ON_LINK), Forger::new(2, ON_LINK));
    world.feed(&one.announcement());
    world.feed(&other.announcement());
    for number in 0..250_000 {
        for entity in [EntityId::writer(number, false), EntityId::reader(number, true)] {
            let data = endpoint(one.guid(entity), Reliability::BestEffort);
            let datagram = one.endpoint(&data);
            world.feed(&datagram);
            if number == 510 {
                assert_eq!(world.endpoints(), 1_000);
            }
            let data = endpoint(other.guid(entity), Reliability::BestEffort);
            let datagram = other.endpoint(&data);
            world.feed(&datagram);
        }
        world.sent.clear();
    }
    assert_eq!(world.endpoints(), 1_000);
    assert_eq!(world.participant.counters().refused, 999_000);
    assert!(world.participant.writers_of(world.reader) <= 512);
}

#[test]
fn endpoints_that_claim_the_name_of_another() {
    let mut world = World::new();
    let (mut one, other) = (Forger::new(1, ON_LINK), Forger::new(2, ON_LINK));
    world.feed(&one.announcement());
    world.feed(&other.announcement());
    let own = world.participant.prefix();
    for guid in [
        other.guid(EntityId::writer(1, false)),
        Guid::new(own, EntityId::writer(1, false)),
        one.guid(EntityId::PUBLICATIONS_WRITER),
    ] {
        let datagram = one.endpoint(&endpoint(guid, Reliability::Reliable));
        world.feed(&datagram);
    }
    assert_eq!(world.endpoints(), 0);
    assert_eq!(world.participant.counters().forged, 3);
    // A GUID other than that of its messages, and ours.
    let mut two = Forger::new(3, ON_LINK);
    two.data.prefix = other.prefix;
    world.feed(&two.announcement());
    two.prefix = own;
    two.data.prefix = own;
    world.feed(&two.announcement());
    assert_eq!(world.participants(), 2);
    assert_eq!(world.participant.counters().forged, 4);
}

#[test]
fn guids_that_are_there_twice() {
    // Oracle: one endpoint per GUID; the last announcement counts.
    let (mut world, mut forger, writer, _) = matched();
    for round in 0..1_000 {
        let mut data = endpoint(forger.guid(writer), Reliability::Reliable);
        if round % 2 == 0 {
            data.topic = "another".to_owned();
        }
        let datagram = forger.endpoint(&data);
        world.feed(&datagram);
        assert_eq!(world.endpoints(), 2);
        assert_eq!(world.participant.writers_of(world.reader), round % 2);
    }
    let events = std::iter::from_fn(|| world.participant.poll_event()).count();
    assert!(events <= 1_024);
    // A participant that moves is still the same one.
    forger.data.metatraffic_unicast = vec![Locator::udp(Ipv4Addr::new(10, 0, 1, 77), 7_410)];
    world.feed(&forger.announcement());
    assert_eq!(world.participants(), 1);
}

#[test]
fn good_bye_from_another() {
    // CVE-2023-50257: a good-bye counts only from the participant itself, which returns with its
    // next announcement.
    let (mut world, victim, _, _) = matched();
    let other = Forger::new(1, ON_LINK);
    let (gone, key) = victim.end_of(EntityId::PARTICIPANT);
    world.feed(&other.announcement());
    assert_eq!(world.participants(), 2);
    world.feed(&other.sample(EntityId::SPDP_WRITER, 2, &gone, &key));
    assert_eq!(world.participants(), 2);
    assert_eq!(world.participant.counters().forged, 1);
    // One with the victim's prefix and address cannot be told from a genuine one; the next
    // announcement undoes it.
    world.feed(&victim.sample(EntityId::SPDP_WRITER, 2, &gone, &key));
    // Samples that the good-bye has overtaken are waited for.
    world.wait(20 * MS);
    assert_eq!(world.participants(), 1);
    world.feed(&victim.announcement());
    assert_eq!(world.participants(), 2);
}

#[test]
fn end_of_endpoints_of_another() {
    let (mut world, victim, writer, _) = matched();
    let other = Forger::new(1, ON_LINK);
    world.feed(&other.announcement());
    let (gone, key) = victim.end_of(writer);
    let before = world.participant.counters().forged;
    world.feed(&other.sample(EntityId::PUBLICATIONS_WRITER, 1, &gone, &key));
    assert_eq!(world.participant.writers_of(world.reader), 1);
    assert_eq!(world.participant.counters().forged, before + 1);
}

#[test]
fn leases_of_any_length() {
    // Oracle: a lease of zero is rejected; an infinite one is limited, and can be shortened.
    for lease in [Duration::ZERO, Duration::from_s(-5), Duration::from_s(i32::MIN.into())] {
        let (mut world, mut forger) = (World::new(), Forger::new(0, ON_LINK));
        forger.data.lease = lease;
        world.feed(&forger.announcement());
        assert_eq!(world.participants(), 0);
        assert_eq!(world.participant.counters().malformed, 1);
        assert_eq!(world.sent_to(|_| true), (0, 0));
    }
    let (mut world, mut forger) = (World::new(), Forger::new(0, ON_LINK));
    world.feed(&forger.announcement());
    // Before the answer no lease exceeds 30 s, after it 300 s.
    world.wait(29_000 * MS);
    assert_eq!(world.participants(), 1);
    world.wait(2_000 * MS);
    assert_eq!(world.participants(), 0);
    world.feed(&forger.announcement());
    assert!(world.hear_from(&forger, ON_LINK));
    world.wait(299_000 * MS);
    assert_eq!(world.participants(), 1);
    world.wait(2_000 * MS);
    assert_eq!(world.participants(), 0);
    world.feed(&forger.announcement());
    forger.data.lease = Duration::from_ms(1);
    world.feed(&forger.announcement());
    world.wait(10 * MS);
    assert_eq!(world.participants(), 0);
    // Liveliness leases of zero or less.
    let (mut world, mut forger) = (World::new(), Forger::new(0, ON_LINK));
    world.feed(&forger.announcement());
    for (number, ns) in [0, -1, -1_000_000_000, 1].into_iter().enumerate() {
        let entity = EntityId::writer(u32::try_from(number).unwrap(), false);
        let mut data = endpoint(forger.guid(entity), Reliability::Reliable);
        data.qos.liveliness.lease = Duration::from_ns(ns);
        data.qos.deadline = Duration::from_ns(ns);
        data.qos.lifespan = Duration::from_ns(ns);
        let datagram = forger.endpoint(&data);
        world.feed(&datagram);
        let datagram = forger.next(entity, &crate::hostile::world::VALUE);
        world.feed(&datagram);
        world.wait(1_000 * MS);
        world.take();
    }
    let events = std::iter::from_fn(|| world.participant.poll_event());
    let silent = events.filter(|event| matches!(event, Event::WriterSilent { .. }));
    assert!(silent.count() <= 8);
}

#[test]
fn prefix_of_nobody() {
    let (mut world, mut forger) = (World::new(), Forger::new(0, ON_LINK));
    forger.prefix = GuidPrefix::UNKNOWN;
    forger.data.prefix = GuidPrefix::UNKNOWN;
    world.feed(&forger.announcement());
    world.wait(1_000 * MS);
    assert!(world.participants() <= 1);
}
