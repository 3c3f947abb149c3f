//! Sets of publishers that never end, or never existed.
//!
//! Oracle: their memory stays within limits, nothing of them is delivered, and a genuine set of
//! another publisher is.

use rtether_rtps::engine::{NewReader, TopicName};
use rtether_rtps::guid::EntityId;
use rtether_rtps::qos::{AccessScope, History, Presentation, Qos, Reliability};
use rtether_rtps::sequence::SequenceNumber;
use rtether_rtps::wire::{Content, InlineQos};

use crate::hostile::world::{Forger, ON_LINK, VALUE, World, endpoint};

const NAME: TopicName<'_> = TopicName { topic: "grouped", type_name: "T" };

fn qos() -> Qos {
    Qos {
        reliability: Reliability::BestEffort,
        history: History::KeepAll,
        presentation: Presentation {
            scope: AccessScope::Group,
            is_coherent: true,
            is_ordered: true,
        },
        ..Qos::writer()
    }
}

/// A sample, or the end marker, of a set; numbers are those of the writer, of its set, and of the
/// group's set.
fn part(
    forger: &Forger,
    writer: EntityId,
    number: i64,
    set: i64,
    group: i64,
    end: bool,
) -> Vec<u8> {
    let inline = InlineQos {
        coherent_set: Some(if end { SequenceNumber::UNKNOWN } else { SequenceNumber(set) }),
        group_set: Some(SequenceNumber(group)),
        group_sequence: (!end).then_some(SequenceNumber(number)),
        // Not the digest of the only writer.
        group_digest: end.then_some([1, 2, 3, 4]),
        ..InlineQos::default()
    };
    let content = if end { Content::None } else { Content::Data(&VALUE) };
    let (reader, number) = (EntityId::UNKNOWN, SequenceNumber(number));
    forger.message(|message| {
        assert!(message.data(reader, writer, number, &inline, content));
    })
}

#[test]
fn sets_without_an_end_and_ends_without_a_set() {
    let mut world = World::new();
    let subscriber = world.participant.create_subscriber().unwrap();
    let now = world.clock();
    let new = NewReader {
        name: NAME,
        key_of: None,
        qos: qos(),
        filter: None,
        subscriber: Some(subscriber),
    };
    let reader = world.participant.add_reader(now, new).unwrap();
    let mut forger = Forger::new(0, ON_LINK);
    world.feed(&forger.announcement());
    let writer = EntityId::writer(1, false);
    let mut data = endpoint(forger.guid(writer), Reliability::BestEffort);
    NAME.topic.clone_into(&mut data.topic);
    data.qos = qos();
    data.group = Some(EntityId::publisher(7));
    let datagram = forger.endpoint(&data);
    world.feed(&datagram);
    assert_eq!(world.participant.writers_of(reader), 1);
    // Sets with unknown writers in their digest, each with one sample, and their end markers.
    for round in 0..10_000 {
        let (first, group) = (2 * round + 1, 1 + round % 3 * (i64::MAX / 4));
        for datagram in [
            part(&forger, writer, first, first, group, false),
            part(&forger, writer, first + 1, first, group, true),
        ] {
            world.feed(&datagram);
        }
        assert!(world.participant.next_in_group(now, subscriber).is_none());
    }
    let counters = world.participant.reader_counters(reader);
    assert!(counters.incoherent >= 10_000 - 64, "{counters:?}");
    // End markers alone, and numbers at their limit.
    for round in 0..10_000 {
        let group = if round % 2 == 0 { i64::MAX - 1 } else { 1 };
        let datagram = part(&forger, writer, 20_001 + round, 1, group, true);
        world.feed(&datagram);
    }
    assert!(world.participant.next_in_group(now, subscriber).is_none());
    // A writer without a group is delivered independently.
    let mut other = Forger::new(1, ON_LINK);
    world.feed(&other.announcement());
    data.guid = other.guid(writer);
    data.group = None;
    let datagram = other.endpoint(&data);
    world.feed(&datagram);
    for datagram in [part(&other, writer, 1, 1, 1, false), part(&other, writer, 2, 1, 1, true)] {
        world.feed(&datagram);
    }
    assert_eq!(world.participant.next_in_group(now, subscriber), Some(reader));
}
