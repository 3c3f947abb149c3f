//! Fragments of samples that do not exist.

use rtether_rtps::engine::{ReaderId, TopicName};
use rtether_rtps::guid::EntityId;
use rtether_rtps::qos::Reliability;

use crate::hostile::world::{Forger, MS, ON_LINK, World, endpoint, matched};

/// Header fields of a `DATA_FRAG`.
#[derive(Clone, Copy)]
struct Frag {
    sequence: i64,
    first: u32,
    size: u16,
    sample: u32,
}

/// Returns a message with fragments of the size of `payload`.
fn fragments(forger: &Forger, writer: EntityId, frag: Frag, payload: &[u8]) -> Vec<u8> {
    let mut body = vec![0, 0, 28, 0, 0, 0, 0, 0];
    body.extend_from_slice(&writer.0);
    let [low @ .., a, b, c, d] = frag.sequence.to_le_bytes();
    body.extend_from_slice(&[a, b, c, d]);
    body.extend_from_slice(&low);
    body.extend_from_slice(&frag.first.to_le_bytes());
    let count = payload.len().div_ceil(usize::from(frag.size));
    body.extend_from_slice(&u16::try_from(count).unwrap().to_le_bytes());
    body.extend_from_slice(&frag.size.to_le_bytes());
    body.extend_from_slice(&frag.sample.to_le_bytes());
    body.extend_from_slice(payload);
    let mut message = forger.message(|_| {});
    message.extend_from_slice(&[0x16, 1]);
    message.extend_from_slice(&u16::try_from(body.len()).unwrap().to_le_bytes());
    message.extend_from_slice(&body);
    message
}

const LARGE: u32 = 16 << 20;

fn one(sequence: i64, first: u32) -> Frag {
    Frag { sequence, first, size: 1_024, sample: LARGE }
}

#[test]
fn one_fragment_each_of_many_large_samples() {
    // Oracle: at most twice the largest sample is reserved, and far less for single fragments.
    let (mut world, mut forger) = (World::new(), Forger::new(0, ON_LINK));
    world.feed(&forger.announcement());
    let payload = [7; 1_024];
    for number in 0..512 {
        let writer = EntityId::writer(number, false);
        let data = endpoint(forger.guid(writer), Reliability::Reliable);
        let datagram = forger.endpoint(&data);
        world.feed(&datagram);
        for sequence in 1..20 {
            for first in [1, 2, 60, 10_000, LARGE / 1_024] {
                world.feed(&fragments(&forger, writer, one(sequence, first), &payload));
            }
            let octets = world.participant.fragment_octets(world.reader);
            assert!(octets <= 32 << 20, "{octets}");
        }
    }
    let octets = world.participant.fragment_octets(world.reader);
    println!("512 writers, 48640 fragments of samples of 16 MB: {octets} octets set aside");
    // A genuine sample still gets through: the others become stale.
    world.wait(1_000 * MS);
    let writer = EntityId::writer(0, false);
    for first in 1..=LARGE / 1_024 {
        world.feed(&fragments(&forger, writer, one(1, first), &payload));
        world.sent.clear();
    }
    assert_eq!(world.take(), 1);
    assert!(world.participant.fragment_octets(world.reader) <= 32 << 20);
}

#[test]
fn a_large_sample_takes_no_more_than_has_come() {
    // Oracle: room for what has arrived, as much again, and 64 KiB.
    let (mut world, forger, writer, _) = matched();
    let payload = [7; 1_024];
    for first in 1..=LARGE / 1_024 {
        if first > 1 {
            let octets = world.participant.fragment_octets(world.reader);
            let come = usize::try_from(first - 1).unwrap() * 1_024;
            assert!(octets <= 2 * come + (64 << 10), "{octets} for {come}");
        }
        world.feed(&fragments(&forger, writer, one(1, first), &payload));
        world.sent.clear();
    }
    assert_eq!(world.take(), 1);
    assert_eq!(world.participant.fragment_octets(world.reader), 0);
}

#[test]
fn samples_beyond_the_limit() {
    let (mut world, forger, writer, _) = matched();
    for sample in [LARGE + 1, u32::MAX] {
        let frag = Frag { sample, ..one(1, 1) };
        world.feed(&fragments(&forger, writer, frag, &[7; 1_024]));
    }
    assert_eq!(world.participant.fragment_octets(world.reader), 0);
    let counters = world.participant.reader_counters(world.reader);
    assert_eq!(counters.rejected, 2);
}

#[test]
fn fragments_that_overlap_or_change_their_minds() {
    // Oracle: the sample consists of the genuine fragments, once all of them are there.
    let (mut world, forger, writer, _) = matched();
    let sample: Vec<u8> = [0, 1, 0, 0]
        .into_iter()
        .chain((0..3_000_u32).map(|at| u8::try_from(at % 251).unwrap()))
        .collect();
    let size = u32::try_from(sample.len()).unwrap();
    let honest = |first: u32, chunk: &[u8]| {
        let frag = Frag { sequence: 1, first, size: 100, sample: size };
        fragments(&forger, writer, frag, chunk)
    };
    let chunks: Vec<Vec<u8>> = (1..).zip(sample.chunks(100)).map(|(n, c)| honest(n, c)).collect();
    for chunk in &chunks[..10] {
        world.feed(chunk);
    }
    // Duplicates, several fragments in one, and more fragments than the sample has.
    world.feed(&chunks[3]);
    world.feed(&honest(9, &sample[800..1_500]));
    let beyond = Frag { sequence: 1, first: 31, size: 100, sample: size };
    world.feed(&fragments(&forger, writer, beyond, &[0; 200]));
    assert_eq!(world.participant.counters().malformed, 1);
    // Another size: accepting it restarts the sample, and so do the genuine ones after it.
    for (fragment, total) in [(100, 5_000), (64, size), (100, LARGE)] {
        let other = Frag { sequence: 1, first: 1, size: fragment, sample: total };
        let payload = vec![9; usize::from(fragment)];
        world.feed(&fragments(&forger, writer, other, &payload));
    }
    for chunk in chunks.iter().rev() {
        world.feed(chunk);
    }
    let now = world.clock();
    let taken = world.participant.take(now, world.reader, |_, payload, _| payload.to_vec());
    assert_eq!(taken, Some(sample));
}

#[test]
fn best_effort_samples_go_on_after_some_that_never_were_whole() {
    // Oracle: each complete sample is taken, regardless of incomplete ones before it.
    let (mut world, mut forger) = (World::new(), Forger::new(0, ON_LINK));
    world.feed(&forger.announcement());
    let writer = EntityId::writer(1, false);
    let mut data = endpoint(forger.guid(writer), Reliability::BestEffort);
    data.qos.reliability = Reliability::BestEffort;
    let now = world.clock();
    let name = rtether_rtps::engine::TopicName { topic: "hostile too", type_name: "T" };
    let qos = crate::hostile::world::qos(Reliability::BestEffort);
    world.reader = world.participant.create_reader(now, name, None, qos).unwrap();
    let datagram = forger.endpoint(&data);
    world.feed(&datagram);
    assert_eq!(world.participant.writers_of(world.reader), 1);
    let frag = |sequence, first| Frag { sequence, first, size: 100, sample: 200 };
    for sequence in 1..=20 {
        world.feed(&fragments(&forger, writer, frag(sequence, 1), &[0; 100]));
    }
    for first in 1..=2 {
        world.feed(&fragments(&forger, writer, frag(21, first), &[0; 100]));
    }
    assert_eq!(world.take(), 1);
}

#[test]
fn the_smallest_fragments() {
    // Oracle: a million fragments of one octet are reassembled, and requested promptly.
    let (mut world, forger, writer, _) = matched();
    let frag = |first| Frag { sequence: 1, first, size: 1, sample: 1 << 20 };
    let payload = vec![0; 60_000];
    let mut first = 1;
    while first <= 1 << 20 {
        let left = (1 << 20) - usize::try_from(first).unwrap() + 1;
        let chunk = &payload[..left.min(payload.len())];
        world.feed(&fragments(&forger, writer, frag(first), chunk));
        first += u32::try_from(chunk.len()).unwrap();
    }
    assert_eq!(world.take(), 1);
}

const SHARED: usize = 4 << 20;
const READERS: usize = 12;

/// A participant whose readers of one topic share 4 MiB, and the readers.
fn crowd(reliability: Reliability) -> (World, Vec<ReaderId>) {
    let mut world = World::with(|config| config.fragments_max = SHARED);
    let name = TopicName { topic: "hostile too", type_name: "T" };
    let now = world.clock();
    let participant = &mut world.participant;
    let mut create =
        || participant.create_reader(now, name, None, crate::hostile::world::qos(reliability));
    let readers = (0..READERS).map(|_| create().unwrap()).collect();
    (world, readers)
}

/// Matches writers, and sends the beginning of 16 samples of 16 MB from each; checks the limit.
fn attack(world: &mut World, forger: &mut Forger, reliability: Reliability, begin: i64) {
    for number in 0..32 {
        let writer = EntityId::writer(number, false);
        let data = endpoint(forger.guid(writer), reliability);
        let datagram = forger.endpoint(&data);
        world.feed(&datagram);
        for sequence in begin..begin + 16 {
            let frag = one(sequence, 1);
            world.feed(&fragments(forger, writer, frag, &[7; 1_024]));
            world.sent.clear();
            let octets = world.participant.all_fragment_octets();
            assert!(octets <= SHARED, "{octets}");
        }
    }
}

/// Sends a sample of 100 kB to all readers; returns how many receive it.
fn genuine(world: &mut World, forger: &Forger, sequence: i64, readers: &[ReaderId]) -> usize {
    let writer = EntityId::writer(77, false);
    let size = 100 * 1_024;
    for first in 1..=100 {
        let frag = Frag { sequence, first, size: 1_024, sample: size };
        world.feed(&fragments(forger, writer, frag, &[0; 1_024]));
        world.sent.clear();
        assert!(world.participant.all_fragment_octets() <= SHARED);
    }
    let now = world.clock();
    let mut had = |id: &&ReaderId| {
        let taken = world.participant.take(now, **id, |_, payload, _| payload.len());
        taken == Some(100 * 1_024)
    };
    readers.iter().filter(|id| had(id)).count()
}

#[test]
fn fragments_for_many_readers_stay_within_what_they_share() {
    // Oracle: 4 MiB, which the individual limits of 12 readers exceed 96 times. A genuine sample
    // finds room, since the participant with the largest share gives way; within one participant,
    // once others are stale for half a second.
    let (mut world, readers) = crowd(Reliability::Reliable);
    let (mut forger, mut honest) = (Forger::new(0, ON_LINK), Forger::new(1, ON_LINK));
    world.feed(&forger.announcement());
    world.feed(&honest.announcement());
    let data = endpoint(honest.guid(EntityId::writer(77, false)), Reliability::Reliable);
    let datagram = honest.endpoint(&data);
    world.feed(&datagram);
    attack(&mut world, &mut forger, Reliability::Reliable, 1);
    assert!(world.participant.all_fragment_octets() > SHARED / 2);
    let crowded = world.participant.counters().crowded;
    assert!(crowded > 1_000, "{crowded}");
    for round in 0..7 {
        assert_eq!(genuine(&mut world, &honest, 1 + round, &readers), READERS);
        world.wait(100 * MS);
        attack(&mut world, &mut forger, Reliability::Reliable, 1);
    }
    let guid = forger.guid(EntityId::writer(77, false));
    let datagram = forger.endpoint(&endpoint(guid, Reliability::Reliable));
    world.feed(&datagram);
    assert_eq!(genuine(&mut world, &forger, 1, &readers), 0);
    world.wait(1_000 * MS);
    assert_eq!(genuine(&mut world, &forger, 1, &readers), READERS);
}

#[test]
fn the_oldest_best_effort_samples_make_room() {
    // Oracle: a genuine sample gets through at once during an attack.
    let (mut world, readers) = crowd(Reliability::BestEffort);
    let (mut forger, mut honest) = (Forger::new(0, ON_LINK), Forger::new(1, ON_LINK));
    world.feed(&forger.announcement());
    world.feed(&honest.announcement());
    let writer = EntityId::writer(77, false);
    let data = endpoint(honest.guid(writer), Reliability::BestEffort);
    let datagram = honest.endpoint(&data);
    world.feed(&datagram);
    for round in 0..3 {
        attack(&mut world, &mut forger, Reliability::BestEffort, 1 + 16 * round);
        assert_eq!(genuine(&mut world, &honest, 1 + round, &readers), READERS);
    }
    assert!(world.participant.counters().crowded > 1_000);
}
