//! Source checks, and what a neighbor with a forged source address achieves.

use std::net::{IpAddr, Ipv4Addr};

use rtether_rtps::engine::{Config, TopicName};
use rtether_rtps::guid::EntityId;
use rtether_rtps::locator::{Locator, Origin};
use rtether_rtps::qos::Reliability;
use rtether_rtps::sequence::{NumberSet, SequenceNumber};
use rtether_rtps::wire::{AckNack, Fragment, Gap, Heartbeat, InlineQos, NackFrag};

use crate::hostile::world::{Forger, MS, NAME, ON_LINK, VALUE, World, endpoint, matched, qos};

/// Another host of the network.
const ELSEWHERE: Locator = Locator::udp(Ipv4Addr::new(10, 0, 1, 66), 7_410);
const ANY: EntityId = EntityId::UNKNOWN;
const LEAP: i64 = 1_000_000;

/// A participant with a forger whose best-effort writer is matched with its reader.
fn best_effort(adapt: impl FnOnce(&mut Config)) -> (World, Forger, EntityId) {
    let (mut world, mut forger) = (World::with(adapt), Forger::new(0, ON_LINK));
    let writer = EntityId::writer(1, false);
    let name = TopicName { topic: "hostile too", ..NAME };
    let (now, qos) = (world.clock(), qos(Reliability::BestEffort));
    world.reader = world.participant.create_reader(now, name, None, qos).unwrap();
    world.feed(&forger.announcement());
    let data = endpoint(forger.guid(writer), Reliability::BestEffort);
    let datagram = forger.endpoint(&data);
    world.feed(&datagram);
    assert_eq!(world.participant.writers_of(world.reader), 1);
    (world, forger, writer)
}

fn impostors(world: &World) -> u64 {
    world.participant.counters().impostors
}

fn sample(forger: &Forger, writer: EntityId, number: i64) -> Vec<u8> {
    forger.sample(writer, number, &InlineQos::default(), &VALUE)
}

#[test]
fn a_sample_of_another_host_neither_arrives_nor_silences_the_writer() {
    // Oracle: the samples that the writer itself has sent.
    let (mut world, forger, writer) = best_effort(|_| {});
    for number in 1..=10 {
        world.feed(&sample(&forger, writer, number));
        world.feed_from(ELSEWHERE, &sample(&forger, writer, LEAP + number));
    }
    assert_eq!((world.take(), impostors(&world)), (10, 10));
    assert_eq!(world.participant.reader_counters(world.reader).lost, 0);
}

#[test]
fn a_number_of_a_neighbor_that_spoofs_the_address_costs_two_samples() {
    // Oracle: three consecutive numbers below the position reset it; a leap above 2^16 is held back
    // until a later number.
    let (mut world, forger, writer) = best_effort(|_| {});
    world.feed(&sample(&forger, writer, 1));
    world.feed(&sample(&forger, writer, LEAP));
    assert_eq!(world.take(), 1, "a leap waits");
    for number in 2..=10 {
        world.feed(&sample(&forger, writer, number));
    }
    assert_eq!(world.take(), 9, "and nothing else does");
    for number in 0..2 {
        world.feed(&sample(&forger, writer, LEAP + number));
    }
    assert_eq!(world.take(), 1);
    for number in 11..=20 {
        world.feed(&sample(&forger, writer, number));
    }
    assert_eq!(world.take(), 8, "two of ten");
    // For an unknown writer, the first number may leap.
    let (mut world, forger, writer) = best_effort(|_| {});
    world.feed(&sample(&forger, writer, LEAP));
    for number in 1..=50 {
        world.feed(&sample(&forger, writer, number));
    }
    assert_eq!(world.take(), 1 + 48);
}

#[test]
fn a_leap_of_fragments_silences_nobody() {
    let (mut world, forger, writer) = best_effort(|_| {});
    let payload = [0, 1, 0, 0, 1, 2, 3, 4, 5, 6, 7, 8];
    let fragment = |number: i64, fragment: u32| {
        forger.message(|message| {
            let part = Fragment { number: fragment, size: 4, sample: &payload, is_key: false };
            let (number, inline) = (SequenceNumber(number), InlineQos::default());
            assert!(message.data_frag(ANY, writer, number, &inline, part));
        })
    };
    let whole = |world: &mut World, number: i64| {
        for part in 1..=3 {
            world.feed(&fragment(number, part));
        }
    };
    whole(&mut world, 1);
    for number in 0..2 {
        whole(&mut world, LEAP + number);
    }
    assert_eq!(world.take(), 2);
    for number in 2..=20 {
        whole(&mut world, number);
    }
    assert_eq!(world.take(), 17);
    // Fragments of samples far ahead, without the rest, keep no places.
    for number in 0..64 {
        world.feed(&fragment(2 * LEAP + number, 1));
        world.wait(MS);
    }
    for number in 21..=30 {
        whole(&mut world, number);
        world.wait(MS);
    }
    assert_eq!(world.take(), 10);
}

/// Messages that may be sent in a participant's name: about the receiver's writer `own`, its own
/// `writer`, its own `reader`, and itself.
fn words(forger: &Forger, own: EntityId, writer: EntityId, reader: EntityId) -> [Vec<u8>; 10] {
    let ack = AckNack { reader, writer: own, set: NumberSet::empty(2), count: 50, is_final: true };
    let nack = NackFrag {
        reader,
        writer: own,
        sequence: SequenceNumber(1),
        set: NumberSet::from_words(1, 32, [u32::MAX]).unwrap(),
        count: 50,
    };
    let gap = Gap { reader: ANY, writer, start: SequenceNumber(1), set: NumberSet::empty(100) };
    let heartbeat = Heartbeat {
        reader: ANY,
        writer,
        first: SequenceNumber(100),
        last: SequenceNumber(100),
        count: 50,
        is_final: true,
        is_liveliness: false,
    };
    let (endpoint, endpoint_key) = forger.end_of(writer);
    let (participant, participant_key) = forger.end_of(EntityId::PARTICIPANT);
    let mut moved = Forger::new(0, ELSEWHERE);
    moved.data.metatraffic_unicast.push(ON_LINK);
    moved.data.default_unicast.push(ON_LINK);
    let part = Fragment { number: 1, size: 4, sample: &VALUE, is_key: false };
    [
        forger.message(|message| assert!(message.ack_nack(&ack))),
        forger.message(|message| assert!(message.nack_frag(&nack))),
        forger.message(|message| assert!(message.gap(&gap))),
        forger.message(|message| assert!(message.heartbeat(&heartbeat))),
        sample(forger, writer, 1),
        forger.message(|message| {
            let (first, inline) = (SequenceNumber::FIRST, InlineQos::default());
            assert!(message.data_frag(ANY, writer, first, &inline, part));
        }),
        forger.sample(EntityId::PUBLICATIONS_WRITER, 2, &endpoint, &endpoint_key),
        // The good-bye, the announcement again, and one that adds the attacker's address.
        forger.sample(EntityId::SPDP_WRITER, 2, &participant, &participant_key),
        forger.announcement(),
        moved.announcement(),
    ]
}

#[test]
fn nothing_that_another_host_says_counts() {
    // Oracle: unchanged state, and one count for each.
    let (mut world, forger, writer, reader) = matched();
    let own = world.participant.writer_guid(world.writer).unwrap().entity;
    assert!(world.write());
    let said = words(&forger, own, writer, reader);
    world.sent.clear();
    for (count, datagram) in (1..).zip(&said) {
        world.feed_from(ELSEWHERE, datagram);
        assert_eq!(impostors(&world), count, "of {count}");
    }
    assert_eq!(world.sent_to(|_| true), (0, 0));
    assert_eq!((world.participants(), world.endpoints()), (1, 2));
    assert!(!world.participant.is_acknowledged(world.writer));
    assert_eq!(world.participant.fragment_octets(world.reader), 0);
    world.feed(&sample(&forger, writer, 1));
    assert_eq!(world.take(), 1);
}

#[test]
fn a_relay_speaks_for_another_from_its_addresses_only() {
    // Oracle: one count for the message from elsewhere, and the sample from the right address.
    let (mut world, forger, writer, _) = matched();
    world.feed(&sample(&forger, writer, 1));
    assert_eq!(world.take(), 1);
    // A relay names the participant for which it speaks; its address is not one of that
    // participant's, either.
    let other = Forger::new(7, ELSEWHERE);
    world.feed_from(ELSEWHERE, &other.announcement());
    let mut relayed = other.message(|_| {});
    relayed.extend_from_slice(&[0x0C, 1, 20, 0, 0, 0, 0, 0, 2, 4, 1, 16]);
    relayed.extend_from_slice(&forger.prefix.0);
    relayed.extend_from_slice(&sample(&forger, writer, 2)[20..]);
    world.feed_from(ELSEWHERE, &relayed);
    assert_eq!((world.take(), impostors(&world)), (0, 1));
    world.feed(&relayed);
    assert_eq!(world.take(), 1, "from its own address it may");
}

#[test]
fn an_announcement_comes_from_where_it_says() {
    let mut world = World::new();
    world.feed_from(ELSEWHERE, &Forger::new(1, ON_LINK).announcement());
    assert_eq!((world.participants(), impostors(&world)), (0, 1));
    world.feed(&Forger::new(1, ON_LINK).announcement());
    assert_eq!((world.participants(), impostors(&world)), (1, 1));
    // No other participant may use the participant's own prefix.
    let mut own = Forger::new(1, ON_LINK);
    own.prefix = world.participant.prefix();
    world.feed(&sample(&own, EntityId::writer(1, false), 1));
    assert_eq!(impostors(&world), 2);
}

#[test]
fn this_host_speaks_from_any_of_its_addresses() {
    // Oracle: Fast DDS announces the addresses of its host, and sends to its own host from loopback.
    let loopback = Locator::udp(Ipv4Addr::LOCALHOST, 7_411);
    let second = Locator::udp(Ipv4Addr::new(192, 0, 2, 1), 7_411);
    let first = Locator::udp(Ipv4Addr::new(10, 0, 1, 1), 7_412);
    for (announced, origin, is_believed) in [
        (first, loopback, true),
        (second, loopback, true),
        (second, first, true),
        (loopback, first, true),
        (ON_LINK, loopback, false),
        (ON_LINK, first, false),
        (first, ON_LINK, false),
    ] {
        let second: IpAddr = Ipv4Addr::new(192, 0, 2, 1).into();
        let mut world = World::with(|config| config.own_addresses = vec![second]);
        world.feed_from(origin, &Forger::new(1, announced).announcement());
        let what = format!("{announced} from {origin}");
        assert_eq!(world.participants(), usize::from(is_believed), "{what}");
    }
    let station = Locator::Ethernet { address: [2, 0, 0, 0, 0, 1], vid: 0, port: 7_410 };
    assert_eq!(station.origin(), Origin::Station([2, 0, 0, 0, 0, 1]));
}

#[test]
fn anybody_is_believed_where_that_is_wished_for() {
    let (mut world, forger, writer) = best_effort(|config| config.any_source = true);
    world.feed_from(ELSEWHERE, &sample(&forger, writer, 1));
    assert_eq!((world.take(), impostors(&world)), (1, 0));
}

#[test]
fn a_huge_leap_of_a_reliable_writer_is_said_twice() {
    // Oracle: 2^16 numbers may be given up at once; beyond that a heartbeat or gap must be
    // repeated.
    let (mut world, forger, writer, _) = matched();
    let heartbeat = |first: i64, last: i64, count: i32| {
        forger.message(|message| {
            assert!(message.heartbeat(&Heartbeat {
                reader: ANY,
                writer,
                first: SequenceNumber(first),
                last: SequenceNumber(last),
                count,
                is_final: true,
                is_liveliness: false,
            }));
        })
    };
    let gap = |start: i64, base: i64| {
        forger.message(|message| {
            assert!(message.gap(&Gap {
                reader: ANY,
                writer,
                start: SequenceNumber(start),
                set: NumberSet::empty(base),
            }));
        })
    };
    world.feed(&heartbeat(1, 1, 1));
    world.feed(&sample(&forger, writer, 1));
    assert_eq!(world.take(), 1);
    // One datagram, and a duplicate of it, as networks produce.
    for _ in 0..2 {
        world.feed(&heartbeat(LEAP, LEAP, 2));
    }
    world.feed(&sample(&forger, writer, 2));
    assert_eq!(world.take(), 1);
    world.feed(&gap(3, LEAP));
    world.feed(&sample(&forger, writer, 3));
    assert_eq!(world.take(), 1);
    world.feed(&gap(5, LEAP));
    for number in 4..=10 {
        world.feed(&sample(&forger, writer, number));
    }
    assert_eq!(world.take(), 7, "a gap ahead of the place is none, either");
    assert_eq!(world.participant.reader_counters(world.reader).lost, 0);
    // A genuine writer repeats it.
    for count in 3..=4 {
        world.feed(&heartbeat(2 * LEAP, 2 * LEAP, count));
    }
    world.feed(&sample(&forger, writer, 2 * LEAP));
    assert_eq!(world.take(), 1);
}
