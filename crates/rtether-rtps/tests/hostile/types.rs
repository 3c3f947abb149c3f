//! Requests for descriptions of types, and replies, from strangers and with anything in them.
//!
//! Oracle: what is sent is limited by what came, and nothing is counted as an answer that was not
//! asked for.

use std::sync::Arc;

use rtether_rtps::cdr::Extensibility;
use rtether_rtps::dynamic::{Member, Structure, Type};
use rtether_rtps::guid::{EntityId, Guid};
use rtether_rtps::wire::{Submessage, parse};
use rtether_rtps::xtypes::lookup::{instance_of, reply, request};
use rtether_rtps::xtypes::{Description, Hash};

use crate::hostile::world::{Forger, MS, ON_LINK, World};

const SERVICE: u32 = 0b1111 << 12;

fn description() -> Description {
    let member = Member {
        name: "data".to_owned(),
        id: 0,
        is_key: false,
        default: None,
        kind: Type::Text(None),
    };
    let kind = Structure::new("T".to_owned(), Extensibility::Final, vec![member]);
    Description::of(&Arc::new(kind.unwrap()))
}

/// A participant with a description, and a forger that has answered, or not.
fn world(has_answered: bool) -> (World, Forger, Description) {
    let mut world = World::with(|config| config.type_lookup = true);
    let description = description();
    for (hash, object) in &description.objects {
        assert!(world.participant.offer_type(*hash, object));
    }
    let mut forger = Forger::new(0, ON_LINK);
    forger.data.endpoints |= SERVICE;
    world.feed(&forger.announcement());
    if has_answered {
        world.hear_from(&forger, ON_LINK);
    }
    world.wait(10 * MS);
    world.sent.clear();
    (world, forger, description)
}

/// Returns how many replies were sent.
fn replies(world: &World) -> usize {
    let is_reply = |part: &Submessage<'_>| matches!(part, Submessage::Data(data) if data.writer == EntityId::TYPE_REPLY_WRITER);
    let sent = world.sent.iter();
    let count = |datagram: &[u8]| {
        let message = parse(datagram).unwrap();
        message.submessages().filter(|part| part.as_ref().is_ok_and(is_reply)).count()
    };
    sent.map(|(_, datagram)| count(datagram)).sum()
}

fn root(description: &Description) -> Hash {
    description.objects.last().unwrap().0
}

/// Feeds a request of the forger, with this writer in its identity.
fn ask(world: &mut World, forger: &mut Forger, writer: Guid, hashes: &[Hash]) {
    let own = world.participant.prefix();
    let payload = request((writer, 1), own, hashes);
    let datagram = forger.next(EntityId::TYPE_REQUEST_WRITER, &payload);
    world.feed(&datagram);
}

#[test]
fn who_asks_is_answered_and_nobody_else() {
    let (mut world, mut forger, description) = world(true);
    let writer = forger.guid(EntityId::TYPE_REQUEST_WRITER);
    ask(&mut world, &mut forger, writer, &[root(&description)]);
    assert_eq!(replies(&world), 1, "{:?}", world.sent);
    let (_, octets) = world.sent_to(|to| *to == ON_LINK);
    assert!(octets < 1_000, "{octets}");
    // Unknown types are not answered, nor requests in another's name.
    world.sent.clear();
    let unknown = Hash { is_complete: true, octets: [7; 14] };
    ask(&mut world, &mut forger, writer, &[unknown]);
    let stranger = Guid::new(rtether_rtps::guid::GuidPrefix([5; 12]), writer.entity);
    ask(&mut world, &mut forger, stranger, &[root(&description)]);
    assert_eq!(replies(&world), 0);
    assert_eq!(world.participant.counters().forged, 1);
}

#[test]
fn a_participant_may_be_named_by_one_of_its_endpoints() {
    // Oracle: Fast DDS 3.2, which writes the GUID of the writer that announced the type.
    let (mut world, mut forger, description) = world(true);
    let writer = forger.guid(EntityId::TYPE_REQUEST_WRITER);
    let own = world.participant.prefix();
    let mut other = own;
    other.0[11] ^= 1;
    for (named, entity, answered) in
        [(own, "000003c2", 1), (own, "000001c1", 2), (other, "000003c2", 2)]
    {
        let mut payload = request((writer, 1), named, &[root(&description)]);
        let name = instance_of(named);
        let at = payload.windows(name.len()).position(|part| part == name);
        let end = at.unwrap() + name.len();
        payload[end - entity.len()..end].copy_from_slice(entity.as_bytes());
        let datagram = forger.next(EntityId::TYPE_REQUEST_WRITER, &payload);
        world.feed(&datagram);
        assert_eq!(replies(&world), answered, "{entity}");
    }
}

#[test]
fn what_is_asked_for_many_times_is_sent_once() {
    let sent = |times: usize| {
        let (mut world, mut forger, description) = world(true);
        let writer = forger.guid(EntityId::TYPE_REQUEST_WRITER);
        ask(&mut world, &mut forger, writer, &vec![root(&description); times]);
        assert_eq!(replies(&world), 1);
        world.sent_to(|to| *to == ON_LINK).1
    };
    assert_eq!(sent(64), sent(1));
}

#[test]
fn who_has_not_answered_is_not_answered() {
    let (mut world, mut forger, description) = world(false);
    let writer = forger.guid(EntityId::TYPE_REQUEST_WRITER);
    for _ in 0..100 {
        ask(&mut world, &mut forger, writer, &[root(&description); 64]);
    }
    assert_eq!(replies(&world), 0);
}

#[test]
fn floods_of_requests_are_limited() {
    let (mut world, mut forger, description) = world(true);
    let writer = forger.guid(EntityId::TYPE_REQUEST_WRITER);
    for _ in 0..2_000 {
        ask(&mut world, &mut forger, writer, &[root(&description)]);
    }
    // Fifty in a second; the others are counted.
    assert!((1..=50).contains(&replies(&world)), "{}", replies(&world));
    assert!(world.participant.counters().unanswered >= 1_900);
}

#[test]
fn malformed_ones_are_counted() {
    let (mut world, mut forger, description) = world(true);
    let writer = forger.guid(EntityId::TYPE_REQUEST_WRITER);
    let own = world.participant.prefix();
    let asked = request((writer, 1), own, &[root(&description)]);
    let objects: Vec<(Hash, &[u8])> =
        description.objects.iter().map(|(hash, object)| (*hash, object.as_slice())).collect();
    let told = reply((writer, 1), &objects);
    let mut count = 0;
    for (entity, whole) in
        [(EntityId::TYPE_REQUEST_WRITER, asked), (EntityId::TYPE_REPLY_WRITER, told)]
    {
        for cut in (4..whole.len() - 4).step_by(4) {
            let datagram = forger.next(entity, &whole[..cut]);
            world.feed(&datagram);
            count += 1;
        }
    }
    assert_eq!(world.participant.counters().malformed, count);
    assert_eq!(replies(&world), 0);
}

#[test]
fn replies_count_only_if_asked_for() {
    let (mut world, mut forger, description) = world(true);
    let own = Guid::new(world.participant.prefix(), EntityId::TYPE_REQUEST_WRITER);
    let objects: Vec<(Hash, &[u8])> =
        description.objects.iter().map(|(hash, object)| (*hash, object.as_slice())).collect();
    let answer = |forger: &mut Forger, world: &mut World| {
        let datagram = forger.next(EntityId::TYPE_REPLY_WRITER, &reply((own, 1), &objects));
        world.feed(&datagram);
        world.participant.poll_types()
    };
    assert_eq!(answer(&mut forger, &mut world), None);
    assert_eq!(world.participant.counters().strangers, 1);
    let now = world.clock();
    let hashes = [root(&description)];
    assert!(world.participant.ask_types(now, forger.prefix, &hashes));
    let came = answer(&mut forger, &mut world).unwrap();
    assert_eq!((came.from, came.types.len()), (forger.prefix, 2));
    // Once.
    assert_eq!(answer(&mut forger, &mut world), None);
    // Nobody is asked who does not serve, or is gone.
    let (inline, key) = forger.end_of(EntityId::PARTICIPANT);
    let bye = forger.message(|message| {
        let content = rtether_rtps::wire::Content::Key(&key);
        let (reader, writer) = (EntityId::SPDP_READER, EntityId::SPDP_WRITER);
        let number = rtether_rtps::sequence::SequenceNumber(2);
        assert!(message.data(reader, writer, number, &inline, content));
    });
    world.feed(&bye);
    assert!(!world.participant.ask_types(now, forger.prefix, &hashes));
}
