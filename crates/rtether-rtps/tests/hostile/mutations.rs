//! Recorded datagrams of real peers, with mutated octets.
//!
//! Oracle: nothing panics, limits hold, and the answers to a datagram are bounded.

use std::path::Path;

use net::Random;
use rtether_rtps::discovery::ParticipantData;
use rtether_rtps::engine::TopicName;
use rtether_rtps::guid::{EntityId, Guid, GuidPrefix};
use rtether_rtps::locator::Locator;
use rtether_rtps::qos::Reliability;
use rtether_rtps::reader::KeyOf;
use rtether_rtps::time::Duration;
use rtether_rtps::typed::key_of;
use rtether_rtps::types::ShapeType;
use rtether_rtps::wire::{HEADER_SIZE, Submessage, parse};

use crate::hostile::world::{Forger, MS, NAME, ON_LINK, World, endpoint};
use crate::net;

const MUTATIONS: u64 = 200_000;
/// Maximum number of datagrams triggered by one: new participants are greeted by all built-in
/// endpoints, and one that has lost everything requests a whole history.
const ANSWERS_MAX: usize = 20;

/// Returns the files of the corpus as datagrams: bare submessages get a header.
fn corpus() -> Vec<Vec<u8>> {
    let directory = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fuzz/corpus/rtps");
    let mut files: Vec<_> =
        std::fs::read_dir(directory).unwrap().map(|entry| entry.unwrap().path()).collect();
    files.sort();
    let files = files.iter().map(|path| std::fs::read(path).unwrap());
    files
        .map(|octets| {
            if octets.starts_with(b"RTPS") {
                octets
            } else {
                [&b"RTPS\x02\x05\x01\xFE"[..], &[7; 12], &octets].concat()
            }
        })
        .collect()
}

/// Makes every sender and endpoint of the recorded datagrams known, so that these pass the first
/// checks.
fn known(datagrams: &[Vec<u8>]) -> World {
    let mut world = World::with(|config| config.participants_max = 64);
    // Most recorded topics have a key.
    let now = world.clock();
    let qos = crate::hostile::world::qos(Reliability::Reliable);
    let name = TopicName { topic: "hostile too", type_name: "T" };
    let reader = KeyOf::Function(key_of::<ShapeType>);
    let reader = world.participant.create_reader(now, name, Some(reader), qos.clone());
    let writer = world.participant.create_writer(now, NAME, true, qos);
    (world.keyed, _) = (reader, writer.unwrap());
    let mut senders: Vec<GuidPrefix> = Vec::new();
    let mut entities: Vec<Guid> = Vec::new();
    for datagram in datagrams {
        let Ok(message) = parse(datagram) else {
            continue;
        };
        let from = message.header().prefix;
        senders.push(from);
        for part in message.submessages().flatten() {
            let entity = match part {
                Submessage::Data(data) => data.writer,
                Submessage::DataFrag(frag) => frag.writer,
                Submessage::Heartbeat(heartbeat) => heartbeat.writer,
                Submessage::AckNack(ack) => ack.reader,
                Submessage::NackFrag(nack) => nack.reader,
                Submessage::HeartbeatFrag(_)
                | Submessage::Gap(_)
                | Submessage::InfoTimestamp(_)
                | Submessage::InfoDestination(_)
                | Submessage::InfoSource(_)
                | Submessage::InfoReply { .. }
                | Submessage::Pad
                | Submessage::Unknown(_) => continue,
            };
            entities.push(Guid::new(from, entity));
        }
    }
    senders.sort();
    senders.dedup();
    entities.sort();
    entities.dedup();
    for prefix in senders {
        let mut forger = Forger::new(0, ON_LINK);
        forger.prefix = prefix;
        forger.data = ParticipantData {
            prefix,
            lease: Duration::INFINITE,
            endpoints: 0x0C3F,
            metatraffic_unicast: vec![ON_LINK],
            default_unicast: vec![ON_LINK],
            ..ParticipantData::new(prefix)
        };
        world.feed(&forger.announcement());
        world.hear_from(&forger, ON_LINK);
        world.wait(20 * MS);
        let own = entities.iter().filter(|guid| guid.prefix == prefix);
        for guid in own.filter(|guid| !guid.entity.is_built_in()) {
            if guid.entity.is_writer() || guid.entity.is_reader() {
                let datagram = forger.endpoint(&endpoint(*guid, Reliability::Reliable));
                world.feed(&datagram);
            }
        }
    }
    world
}

/// Rewrites messages to another participant for this one: destination and endpoints.
fn to_here(world: &World, datagram: &mut [u8]) {
    let own = world.participant.prefix();
    let writer = world.participant.writer_guid(world.writer).unwrap().entity;
    let mut at = HEADER_SIZE;
    while let Some(head) = datagram.get(at..).and_then(|rest| rest.first_chunk::<4>()) {
        let [kind, flags, low, high] = *head;
        let len = if flags & 1 == 1 {
            u16::from_le_bytes([low, high])
        } else {
            u16::from_be_bytes([low, high])
        };
        let body = at + 4;
        match kind {
            0x0E => {
                if let Some(to) = datagram.get_mut(body..body + 12) {
                    to.copy_from_slice(&own.0);
                }
            }
            // The writer addressed by ACKNACK and NACK_FRAG.
            0x06 | 0x12 => {
                if let Some(to) = datagram.get_mut(body + 4..body + 8)
                    && to[3] & 0xC0 == 0
                {
                    to.copy_from_slice(&writer.0);
                }
            }
            // The reader addressed by others: all.
            0x07 | 0x08 => set_any(datagram.get_mut(body..body + 4)),
            0x15 | 0x16 => set_any(datagram.get_mut(body + 4..body + 8)),
            _ => {}
        }
        if len == 0 {
            return;
        }
        at = body + usize::from(len);
    }
}

fn set_any(entity: Option<&mut [u8]>) {
    if let Some(entity) = entity.filter(|entity| entity[3] & 0xC0 == 0) {
        entity.copy_from_slice(&EntityId::UNKNOWN.0);
    }
}

fn mutate(random: &mut Random, octets: &mut Vec<u8>) {
    for _ in 0..=random.below(6) {
        let len = u64::try_from(octets.len()).unwrap();
        let at = usize::try_from(random.below(len)).unwrap();
        match random.below(8) {
            0 => octets[at] ^= 1 << random.below(8),
            1 => octets[at] = u8::try_from(random.below(256)).unwrap(),
            2 => octets[at] = [0, 1, 0x7F, 0x80, 0xFF][usize::try_from(random.below(5)).unwrap()],
            3 => octets.truncate(at.max(HEADER_SIZE)),
            4 => {
                let end = (at + 1 + usize::try_from(random.below(64)).unwrap()).min(octets.len());
                let copy = octets[at..end].to_vec();
                octets.splice(at..at, copy);
            }
            5 => {
                let end = (at + 1 + usize::try_from(random.below(16)).unwrap()).min(octets.len());
                if octets.len() - (end - at) > HEADER_SIZE {
                    octets.drain(at..end);
                }
            }
            6 => {
                // A number with one word set to a limit.
                let at = at / 4 * 4;
                let limits =
                    [[0; 4], [0xFF; 4], [0x7F, 0xFF, 0xFF, 0xFF], [0xFF, 0xFF, 0xFF, 0x7F]];
                let limit = limits[usize::try_from(random.below(4)).unwrap()];
                if let Some(word) = octets.get_mut(at..at + 4) {
                    word.copy_from_slice(&limit);
                }
            }
            _ => octets[at] = octets[at].wrapping_add(1),
        }
        octets.truncate(60_000);
    }
}

fn check(world: &mut World) {
    let count = world.sent.len();
    assert!(count <= ANSWERS_MAX, "{count} datagrams for one");
    let is_off_link = |to: &Locator| {
        !matches!(to, Locator::Udp(to) if to.ip().is_multicast()
            || matches!(to.ip(), std::net::IpAddr::V4(ip) if ip.octets()[..3] == [10, 0, 1]))
    };
    assert_eq!(world.sent_to(is_off_link), (0, 0));
    world.sent.clear();
    world.take();
    while world.participant.poll_event().is_some() {}
    assert!(world.participants() <= 64);
    assert!(world.participant.fragment_octets(world.reader) <= 32 << 20);
}

#[test]
fn recorded_datagrams() {
    let mut datagrams = corpus();
    assert!(datagrams.len() >= 40);
    let mut world = known(&datagrams);
    world.sent.clear();
    for datagram in &mut datagrams {
        to_here(&world, datagram);
        world.feed(datagram);
        check(&mut world);
        world.wait(MS);
        world.sent.clear();
    }
    // Most of them are from known peers, and are understood.
    let counters = world.participant.counters();
    let keyed = world.participant.reader_counters(world.keyed.unwrap());
    println!("{counters:?}\n{keyed:?}");
    assert!(keyed.delivered > 10);
    assert!(counters.malformed * 10 < counters.datagrams);
}

#[test]
fn mutations_of_recorded_datagrams() {
    let mut datagrams = corpus();
    let mut random = Random(7);
    let mut most = 0;
    let mut octets = (0_u64, 0_u64);
    for round in 0..20 {
        let mut world = known(&datagrams);
        for datagram in &mut datagrams {
            to_here(&world, datagram);
        }
        assert!(world.write());
        world.sent.clear();
        for _ in 0..MUTATIONS / 20 {
            let pick = random.below(u64::try_from(datagrams.len()).unwrap());
            let mut datagram = datagrams[usize::try_from(pick).unwrap()].clone();
            mutate(&mut random, &mut datagram);
            world.feed(&datagram);
            most = most.max(world.sent.len());
            octets.0 += u64::try_from(datagram.len()).unwrap();
            octets.1 += u64::try_from(world.sent_to(|_| true).1).unwrap();
            check(&mut world);
            if random.chance(100) {
                let span = i64::try_from(random.below(50)).unwrap();
                world.wait(span * MS);
                octets.1 += u64::try_from(world.sent_to(|_| true).1).unwrap();
                world.sent.clear();
            }
            if random.chance(10) {
                world.write();
            }
        }
        assert!(round < 20 && world.participants() <= 64);
    }
    println!(
        "{MUTATIONS} mutations: {octets:?} octets in and out, {most} datagrams for one at most"
    );
}
