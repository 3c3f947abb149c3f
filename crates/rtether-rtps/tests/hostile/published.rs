//! Published weaknesses of other implementations, sent to a participant with endpoints.
//!
//! Oracle of all: the test completes, memory and traffic stay within limits, and a genuine sample
//! still arrives. Those tested elsewhere:
//!
//! - CVE-2025-64438, GAP of a huge range: `protocol::gap_with_a_huge_range`
//! - CVE-2026-45092, tables without a limit: `discovery::a_million_participants`,
//!   `discovery::a_million_endpoints`
//! - CVE-2023-50257, end in another's name: `discovery::good_bye_from_another`,
//!   `protocol::heartbeat_and_end_in_the_name_of_another`
//! - CVE-2021-38425, -38429, -38487, -43547, amplification:
//!   `discovery::one_announcement_makes_few_octets_go_to_whom_it_names`
//! - `RustDDS` 277 to 281, remote panics: `mutations::mutations_of_recorded_datagrams`

use rtether_rtps::guid::EntityId;
use rtether_rtps::locator::Locator;
use rtether_rtps::qos::Reliability;
use rtether_rtps::sequence::SequenceNumber;
use rtether_rtps::time::{Duration, WallTime};
use rtether_rtps::typed::Subscription;
use rtether_rtps::types::ShapeType;
use rtether_rtps::wire::{Content, Heartbeat, InlineQos};

use crate::hostile::world::{Forger, MS, ON_LINK, VALUE, World, endpoint, matched, qos};

const ANY: EntityId = EntityId::UNKNOWN;

/// Returns a message with one submessage of given octets.
fn raw(forger: &Forger, kind: u8, flags: u8, body: &[u8]) -> Vec<u8> {
    let mut message = forger.message(|_| {});
    message.extend_from_slice(&[kind, flags]);
    message.extend_from_slice(&u16::try_from(body.len()).unwrap().to_le_bytes());
    message.extend_from_slice(body);
    message
}

/// Returns a number in wire format, little-endian.
fn number(number: i64) -> [u8; 8] {
    let mut octets = number.to_le_bytes();
    octets.rotate_left(4);
    octets
}

/// Sends the next genuine sample, and checks that it arrives.
fn honest(world: &mut World, forger: &Forger, writer: EntityId, sequence: i64) {
    world.feed(&forger.sample(writer, sequence, &InlineQos::default(), &VALUE));
    assert_eq!(world.take(), 1, "sample {sequence}");
}

/// CVE-2025-65016: a HEARTBEAT that begins at 2^32, with the maximum count, causes an infinite
/// loop.
#[test]
fn a_heartbeat_from_two_to_the_32_with_the_last_count() {
    let (mut world, forger, writer, _) = matched();
    honest(&mut world, &forger, writer, 1);
    let mut said = |first: i64, last: i64, count: i32| {
        let heartbeat = Heartbeat {
            reader: ANY,
            writer,
            first: SequenceNumber(first),
            last: SequenceNumber(last),
            count,
            is_final: false,
            is_liveliness: false,
        };
        world.feed(&forger.message(|message| assert!(message.heartbeat(&heartbeat))));
        world.wait(10 * MS);
    };
    said(1, 1, 1);
    // A leap must be declared twice.
    said(1 << 32, 1 << 32, i32::MAX - 1);
    said(1 << 32, 1 << 32, i32::MAX);
    // Genuine heartbeats with counts that look old, until they are accepted again.
    for count in 2..12 {
        said(1, 2, count);
    }
    let lost = world.participant.reader_counters(world.reader).lost;
    assert!(lost < 1 << 33, "{lost}");
    assert!(world.sent.len() < 100, "{}", world.sent.len());
    honest(&mut world, &forger, writer, 2);
}

/// CVE-2025-63829: times with a fraction of a second or more, which some implementations normalize
/// second by second.
#[test]
fn times_whose_fraction_looks_like_more_than_a_second() {
    // Oracle: on the wire the unit is 2^-32 s, so that no fraction reaches a second.
    let (mut world, forger, writer, _) = matched();
    let mut sequence = 0;
    for fraction in [999_999_999_u32, 1_000_000_000, 1 << 31, u32::MAX] {
        for seconds in [0, 1_700_000_000, 0x7FFF_FFFF, 0x8000_0000, 0xFFFF_FFFE_u32] {
            sequence += 1;
            let mut datagram = forger.message(|_| {});
            datagram.extend_from_slice(&[0x09, 1, 8, 0]);
            datagram.extend_from_slice(&seconds.to_le_bytes());
            datagram.extend_from_slice(&fraction.to_le_bytes());
            let data = forger.sample(writer, sequence, &InlineQos::default(), &VALUE);
            datagram.extend_from_slice(&data[20..]);
            world.feed(&datagram);
            let now = world.clock();
            let taken = world.participant.take(now, world.reader, |info, _, _| info.source_time);
            let time = taken.unwrap().unwrap();
            let begin = WallTime::from_ns(i64::from(seconds) * 1_000_000_000);
            let since = time.as_ns() - begin.as_ns();
            assert!((0..1_000_000_000).contains(&since), "{since} ns");
        }
    }
    // The same as lease, deadline, lifespan and separation of a writer.
    for fraction in [1_000_000_000, u32::MAX] {
        for seconds in [0, 1, i32::MAX - 1, i32::MAX] {
            let (mut world, mut forger) = (World::new(), Forger::new(0, ON_LINK));
            let span = Duration::from_wire(seconds, fraction);
            forger.data.lease = span;
            world.feed(&forger.announcement());
            let mut data = endpoint(forger.guid(writer), Reliability::Reliable);
            data.qos.liveliness.lease = span;
            data.qos.deadline = span;
            data.qos.lifespan = span;
            data.qos.time_based_filter = Duration::from_wire(0, fraction);
            let datagram = forger.endpoint(&data);
            world.feed(&datagram);
            let datagram = forger.next(writer, &VALUE);
            world.feed(&datagram);
            world.wait(3_000 * MS);
            assert!(world.sent.len() < 1_000, "{}", world.sent.len());
        }
    }
}

/// CVE-2025-62799, CVE-2025-65865, CVE-2026-22590: sums of the numbers in a `DATA_FRAG` that
/// overflow, or lie beyond the sample or the datagram.
#[test]
fn sums_of_fragments_that_overflow() {
    let (mut world, forger, writer, _) = matched();
    let ends = [0, 1, 2, 0x7FFF_FFFF, 0x8000_0000, u32::MAX];
    let shorts = [0, 1, 0x7FFF, 0x8000, u16::MAX];
    for first in ends {
        for count in shorts {
            for size in shorts {
                for sample in ends {
                    for len in [0, 1, 8, 1_024] {
                        let mut body = vec![0, 0, 28, 0, 0, 0, 0, 0];
                        body.extend_from_slice(&writer.0);
                        body.extend_from_slice(&number(1));
                        body.extend_from_slice(&first.to_le_bytes());
                        body.extend_from_slice(&count.to_le_bytes());
                        body.extend_from_slice(&size.to_le_bytes());
                        body.extend_from_slice(&sample.to_le_bytes());
                        body.resize(body.len() + len, 7);
                        world.feed(&raw(&forger, 0x16, 1, &body));
                        world.sent.clear();
                        let octets = world.participant.all_fragment_octets();
                        assert!(octets <= 1 << 17, "{octets}");
                    }
                }
            }
        }
    }
    world.take();
    // Some were complete samples of an octet or two; the next number is another.
    honest(&mut world, &forger, writer, 2);
}

/// CVE-2026-49861, CVE-2026-53590, CVE-2026-55063, CVE-2023-39946: parameter lists that make
/// readers allocate what they announce, whose lengths lie beyond the datagram, or whose strings
/// have no NUL.
#[test]
fn parameter_lists_without_end_or_with_lengths_of_their_own() {
    let mut payload = Vec::new();
    Forger::new(0, ON_LINK).data.encode(&mut payload);
    let whole = payload.len() - 4;
    let list = |id: u16, len: u16, value: &[u8], has_end: bool| {
        let mut octets = payload[..whole].to_vec();
        octets.extend_from_slice(&id.to_le_bytes());
        octets.extend_from_slice(&len.to_le_bytes());
        octets.extend_from_slice(value);
        if has_end {
            octets.extend_from_slice(&[1, 0, 0, 0]);
        }
        octets
    };
    let (name, user_data, property) = (0x62, 0x2C, 0x59);
    let most = u32::MAX.to_le_bytes();
    let wrong = [
        // No NUL, a length beyond the parameter, one beyond the list, one that is not a multiple of
        // four.
        list(name, 8, &[4, 0, 0, 0, b'a', b'a', b'a', b'a'], true),
        list(name, 8, &[255, 255, 255, 255, b'a', b'a', b'a', 0], true),
        list(name, 8, &[5, 0, 0, 0, b'a', b'a', b'a', 0], true),
        list(name, 0xFFF0, &[4, 0, 0, 0, b'a', b'a', b'a', 0], true),
        list(name, 7, &[3, 0, 0, 0, b'a', b'a', 0], true),
        // 4 GiB.
        list(user_data, 4, &most, true),
        list(user_data, 8, &[255, 255, 255, 127, 0, 0, 0, 0], true),
        // No sentinel.
        list(name, 8, &[4, 0, 0, 0, b'a', b'a', b'a', 0], false),
        payload[..whole].to_vec(),
    ];
    for (at, octets) in wrong.iter().enumerate() {
        let (mut world, forger) = (World::new(), Forger::new(0, ON_LINK));
        world.feed(&forger.sample(EntityId::SPDP_WRITER, 1, &InlineQos::default(), octets));
        let counters = world.participant.counters();
        assert_eq!((world.participants(), counters.malformed), (0, 1), "{at}");
        world.feed(&forger.announcement());
        assert_eq!(world.participants(), 1, "{at}: the honest one");
    }
    // A property list of maximum announced length, which is not read here, costs nothing.
    let (mut world, forger) = (World::new(), Forger::new(0, ON_LINK));
    let octets = list(property, 4, &most, true);
    world.feed(&forger.sample(EntityId::SPDP_WRITER, 1, &InlineQos::default(), &octets));
    assert!(world.participants() <= 1);
}

/// CVE-2026-22591: a content filter larger than the memory reserved for it.
#[test]
fn filters_larger_than_any_limit() {
    // Oracle: such a filter is ignored, and its reader gets everything; one that announces missing
    // parameters is malformed, and so is its reader.
    const NONE: u32 = u32::MAX;
    for (expression, parameters) in [(60_000, 0), (5_000, 1), (10, 7_000), (0, 17), (9, NONE)] {
        let (mut world, mut forger) = (World::new(), Forger::new(0, ON_LINK));
        world.feed(&forger.announcement());
        let reader = EntityId::reader(1, false);
        let data = endpoint(forger.guid(reader), Reliability::BestEffort);
        let mut payload = Vec::new();
        data.encode(&mut payload, false);
        payload.truncate(payload.len() - 4);
        let mut value = Vec::new();
        let mut text = |len: usize| {
            value.extend_from_slice(&u32::try_from(len + 1).unwrap().to_le_bytes());
            value.resize(value.len() + len, b'x');
            value.push(0);
            value.resize(value.len().next_multiple_of(4), 0);
        };
        for len in [4, 4, 6, expression] {
            text(len);
        }
        value.extend_from_slice(&u32::to_le_bytes(parameters));
        for _ in 0..if parameters == NONE { 0 } else { parameters } {
            value.extend_from_slice(&[2, 0, 0, 0, b'1', 0, 0, 0]);
        }
        payload.extend_from_slice(&[0x35, 0]);
        payload.extend_from_slice(&u16::try_from(value.len()).unwrap().to_le_bytes());
        payload.extend_from_slice(&value);
        payload.extend_from_slice(&[1, 0, 0, 0]);
        let datagram = forger.next(EntityId::SUBSCRIPTIONS_WRITER, &payload);
        world.feed(&datagram);
        let readers = usize::from(parameters != NONE);
        assert_eq!(world.participant.known_readers_of(world.writer), readers);
        world.sent.clear();
        assert!(world.write());
        let (sent, _) = world.sent_to(|to| *to == ON_LINK);
        assert_eq!(sent, readers, "{expression}");
    }
}

/// CVE-2023-39534, CVE-2023-39945 and similar: GAP, HEARTBEAT and DATA with invalid numbers.
#[test]
fn gaps_and_numbers_that_are_none() {
    // Oracle: one count of `malformed` for each.
    let (mut world, forger, writer, _) = matched();
    honest(&mut world, &forger, writer, 1);
    let head = |more: &[&[u8]]| {
        let mut body = vec![0; 4];
        body.extend_from_slice(&writer.0);
        for octets in more {
            body.extend_from_slice(octets);
        }
        body
    };
    let (none, most) = ([0; 4], u32::MAX.to_le_bytes());
    let gaps = [
        (number(0), number(2), none),
        (number(-1), number(2), none),
        (number(i64::MIN), number(2), none),
        (number(2), number(0), none),
        (number(2), number(-5), none),
        (number(2), number(3), most),
        (number(2), number(3), 257_u32.to_le_bytes()),
    ];
    let mut wrong: Vec<Vec<u8>> = Vec::new();
    for (start, base, bits) in &gaps {
        wrong.push(raw(&forger, 0x08, 1, &head(&[start, base, bits])));
    }
    for (first, last) in [(0, 5), (-1, 5), (5, 3), (i64::MIN, i64::MAX)] {
        let body = head(&[&number(first), &number(last), &[9, 0, 0, 0]]);
        wrong.push(raw(&forger, 0x07, 1, &body));
    }
    for sequence in [0, -1, i64::MIN] {
        let mut body = vec![0, 0, 16, 0];
        body.extend_from_slice(&head(&[&number(sequence), &VALUE]));
        wrong.push(raw(&forger, 0x15, 5, &body));
    }
    for (at, datagram) in wrong.iter().enumerate() {
        world.feed(datagram);
        let malformed = world.participant.counters().malformed;
        assert_eq!(malformed, u64::try_from(at).unwrap() + 1, "{at}");
    }
    honest(&mut world, &forger, writer, 2);
}

/// CVE-2023-23932: strings in samples whose length does not match their content.
#[test]
fn strings_of_samples_with_lengths_of_their_own() {
    // Oracle: each is counted, and the genuine value after them arrives.
    let mut world = World::new();
    let (now, topic) = (world.clock(), "shapes");
    let quality = qos(Reliability::BestEffort);
    let participant = &mut world.participant;
    let mut subscription: Subscription<ShapeType> =
        Subscription::create(participant, now, topic, quality).unwrap();
    let mut forger = Forger::new(0, ON_LINK);
    world.feed(&forger.announcement());
    let entity = EntityId::writer(1, true);
    let mut data = endpoint(forger.guid(entity), Reliability::BestEffort);
    topic.clone_into(&mut data.topic);
    "ShapeType".clone_into(&mut data.type_name);
    let datagram = forger.endpoint(&data);
    world.feed(&datagram);
    let value = |len: u32, text: &[u8]| {
        let mut octets = vec![0, 1, 0, 0];
        octets.extend_from_slice(&len.to_le_bytes());
        octets.extend_from_slice(text);
        octets.resize(octets.len().next_multiple_of(4), 0);
        octets.extend_from_slice(&[1, 0, 0, 0, 2, 0, 0, 0, 3, 0, 0, 0]);
        octets
    };
    let lengths = [0x7FFF_FFFF, 0x8000_0000, u32::MAX, u32::MAX - 3, 1_000];
    let mut count = 0;
    for octets in lengths.map(|len| value(len, b"RED\0")) {
        count += 1;
        let datagram = forger.next(entity, &octets);
        world.feed(&datagram);
    }
    // No NUL at the end.
    count += 1;
    let datagram = forger.next(entity, &value(4, b"REDS"));
    world.feed(&datagram);
    let (id, now) = (subscription.id(), world.clock());
    assert!(subscription.take(&mut world.participant, now).is_none());
    assert_eq!(world.participant.reader_counters(id).malformed, count);
    let datagram = forger.next(entity, &value(4, b"RED\0"));
    world.feed(&datagram);
    let taken = subscription.take(&mut world.participant, now).unwrap();
    assert_eq!(taken.value.unwrap().color, "RED");
}

/// Cyclone DDS 1772: a locator with port 0, to which nothing can be sent, prevents all other
/// transmissions.
#[test]
fn places_without_a_port() {
    let Locator::Udp(at) = ON_LINK else {
        panic!("{ON_LINK}");
    };
    let nowhere = Locator::Udp((at.ip(), 0).into());
    let (mut world, mut forger, _, _) = matched();
    let mut other = Forger::new(1, nowhere);
    world.feed(&other.announcement());
    // An invalid locator before a valid one.
    other.data.metatraffic_unicast = vec![nowhere, ON_LINK];
    other.data.default_unicast = vec![nowhere, ON_LINK];
    world.feed(&other.announcement());
    for (sender, port) in [(&mut other, 1), (&mut forger, 7)] {
        let mut data = endpoint(sender.guid(EntityId::reader(port, false)), Reliability::Reliable);
        data.unicast = vec![nowhere];
        let datagram = sender.endpoint(&data);
        world.feed(&datagram);
    }
    world.sent.clear();
    assert!(world.write());
    world.wait(1_000 * MS);
    let is_nowhere = |to: &Locator| matches!(to, Locator::Udp(at) if at.port() == 0);
    assert_eq!(world.sent_to(is_nowhere), (0, 0));
    assert!(world.sent_to(|to| *to == ON_LINK).0 > 0, "all else is sent");
    let datagram = forger.message(|message| {
        let (number, inline) = (SequenceNumber(1), InlineQos::default());
        let writer = EntityId::writer(1, false);
        assert!(message.data(ANY, writer, number, &inline, Content::Data(&VALUE)));
    });
    world.feed(&datagram);
    assert_eq!(world.take(), 1);
}
