//! Numbers that no genuine endpoint sends.

use rtether_rtps::engine::NewSample;
use rtether_rtps::guid::EntityId;
use rtether_rtps::qos::Reliability;
use rtether_rtps::sequence::{NumberSet, SequenceNumber};
use rtether_rtps::time::WallTime;
use rtether_rtps::wire::{AckNack, Content, Gap, Heartbeat, InlineQos, NackFrag};

use crate::hostile::world::{ENDED, Forger, MS, ON_LINK, VALUE, World, endpoint, matched};

const HUGE: i64 = 1 << 62;
const ANY: EntityId = EntityId::UNKNOWN;

fn heartbeat(writer: EntityId, first: i64, last: i64, count: i32) -> Heartbeat {
    Heartbeat {
        reader: ANY,
        writer,
        first: SequenceNumber(first),
        last: SequenceNumber(last),
        count,
        is_final: false,
        is_liveliness: false,
    }
}

fn full(base: i64) -> NumberSet {
    NumberSet::from_words(base, 256, [u32::MAX; 8]).unwrap()
}

/// Returns the entity id of the writer.
fn own_writer(world: &World) -> EntityId {
    world.participant.writer_guid(world.writer).unwrap().entity
}

#[test]
fn gap_with_a_huge_range() {
    // CVE-2025-64438. Oracle: it completes at once, and stores nothing; iterating over the range
    // would take years, so that no time limit, which would only measure the machine, is needed.
    let (mut world, forger, writer, _) = matched();
    for (start, base) in [(5, HUGE), (1, 1 << 40), (1 << 40, HUGE)] {
        let gap = Gap { reader: ANY, writer, start: SequenceNumber(start), set: full(base) };
        world.feed(&forger.message(|message| assert!(message.gap(&gap))));
    }
    world.wait(10_000 * MS);
    assert_eq!(world.take(), 0);
    assert!(world.sent.len() < 200, "{}", world.sent.len());
}

#[test]
fn heartbeats_with_huge_ranges() {
    // Oracle: missing samples are requested 256 numbers at a time, once per heartbeat; sums of lost
    // samples do not overflow, from any number of writers.
    let (mut world, forger, writer, _) = matched();
    world.sent.clear();
    for count in 1..=100 {
        let heartbeat = heartbeat(writer, 1, HUGE, count);
        world.feed(&forger.message(|message| assert!(message.heartbeat(&heartbeat))));
        world.wait(10 * MS);
    }
    let (count, octets) = world.sent_to(|_| true);
    println!("100 heartbeats of huge ranges: {count} datagrams, {octets} octets");
    assert!(octets <= 130 * 120, "{octets}");
    let (mut world, mut forger) = (World::new(), Forger::new(0, ON_LINK));
    world.feed(&forger.announcement());
    for number in 0..20 {
        let writer = EntityId::writer(number, false);
        let data = endpoint(forger.guid(writer), Reliability::Reliable);
        let datagram = forger.endpoint(&data);
        world.feed(&datagram);
        // What was there before the reader is not lost; a leap is said twice.
        for (first, last, count) in [(2, 2, 1), (HUGE, HUGE, 2), (HUGE, HUGE, 3)] {
            let heartbeat = heartbeat(writer, first, last, count);
            world.feed(&forger.message(|message| assert!(message.heartbeat(&heartbeat))));
        }
    }
    let counters = world.participant.reader_counters(world.reader);
    assert_eq!(counters.not_owed, 2 * 20);
    assert_eq!(world.participant.reader_counters(world.reader).lost, u64::MAX);
    world.wait(10_000 * MS);
    // When they go, their counts remain in the total.
    forger.data.lease = rtether_rtps::time::Duration::from_ms(1);
    world.feed(&forger.announcement());
    world.wait(10 * MS);
    assert_eq!(world.participant.writers_of(world.reader), 0);
    assert_eq!(world.participant.reader_counters(world.reader).lost, u64::MAX);
}

#[test]
fn acknowledgments_of_what_was_never_written() {
    let (mut world, forger, _, reader) = matched();
    let writer = own_writer(&world);
    for _ in 0..3 {
        assert!(world.write());
    }
    world.sent.clear();
    for (count, base) in (1..).zip([5, 1_000, HUGE - 1, HUGE]) {
        let ack = AckNack { reader, writer, set: full(base), count, is_final: false };
        world.feed(&forger.message(|message| assert!(message.ack_nack(&ack))));
    }
    assert!(!world.participant.is_acknowledged(world.writer));
    assert_eq!(world.sent.len(), 0, "not a word to this");
    // From the end: requests for samples not yet written are not stored, either.
    let ack = AckNack { reader, writer, set: full(4), count: 9, is_final: true };
    world.feed(&forger.message(|message| assert!(message.ack_nack(&ack))));
    assert!(world.participant.is_acknowledged(world.writer));
    world.sent.clear();
    assert!(world.write());
    assert_eq!(world.sent.len(), 1, "once, since it was asked for before it was there");
}

#[test]
fn fragments_of_what_was_never_written() {
    let (mut world, forger, _, reader) = matched();
    let writer = own_writer(&world);
    assert!(world.write());
    world.wait(1_000 * MS);
    world.sent.clear();
    let mut count = 0;
    for sequence in [1, 2, 1_000, HUGE] {
        for base in [1, 2, i64::from(u32::MAX)] {
            count += 1;
            let nack = NackFrag {
                reader,
                writer,
                sequence: SequenceNumber(sequence),
                set: full(base),
                count,
            };
            world.feed(&forger.message(|message| assert!(message.nack_frag(&nack))));
        }
    }
    let (sent, _) = world.sent_to(|_| true);
    assert!(sent <= 12 + 1, "{sent} datagrams");
}

#[test]
fn strangers_leave_nothing_behind() {
    // Oracle: they are counted, and have no other effect.
    let mut world = World::new();
    let writer = own_writer(&world);
    for number in 0..10_000_u32 {
        let forger = Forger::new(number, ON_LINK);
        let own = EntityId::writer(number, false);
        let ack = AckNack {
            reader: EntityId::reader(number, false),
            writer,
            set: full(1),
            count: 1,
            is_final: false,
        };
        let nack = NackFrag {
            reader: ack.reader,
            writer,
            sequence: SequenceNumber(1),
            set: full(1),
            count: 1,
        };
        let gap = Gap { reader: ANY, writer: own, start: SequenceNumber(1), set: full(HUGE) };
        world.feed(&forger.message(|message| {
            assert!(message.heartbeat(&heartbeat(own, 1, HUGE, 1)));
            assert!(message.ack_nack(&ack) && message.nack_frag(&nack) && message.gap(&gap));
            let (number, inline) = (SequenceNumber(1), InlineQos::default());
            assert!(message.data(ANY, own, number, &inline, Content::Data(&VALUE)));
        }));
    }
    assert_eq!(world.participant.counters().strangers, 50_000);
    assert_eq!((world.participants(), world.endpoints()), (0, 0));
    assert_eq!(world.sent.len(), 0);
}

#[test]
fn a_flood_in_one_datagram() {
    // Oracle: 1024 submessages are read; many requests get one answer.
    let (mut world, forger, writer, reader) = matched();
    let own = own_writer(&world);
    assert!(world.write());
    world.sent.clear();
    let flood = forger.message(|message| {
        let mut count = 0;
        while message.room() > 200 {
            count += 1;
            let ack =
                AckNack { reader, writer: own, set: NumberSet::empty(1), count, is_final: false };
            assert!(message.ack_nack(&ack));
            assert!(message.heartbeat(&heartbeat(writer, 1, 1, count)));
        }
    });
    world.feed(&flood);
    world.wait(9 * MS);
    println!("{} octets of questions: {} answers", flood.len(), world.sent.len());
    assert!(world.sent.len() <= 4);
    // Submessages without content.
    let mut nothing = forger.message(|_| {});
    while nothing.len() < 60_000 {
        nothing.extend_from_slice(&[0x09, 0x02, 0, 0]);
    }
    world.feed(&nothing);
    assert!(world.participant.is_acknowledged(world.writer) || world.write());
}

#[test]
fn times_in_the_far_future() {
    // Oracle: the writer's timestamp is reported, and affects nothing.
    let (mut world, forger, writer, _) = matched();
    let times = [u32::MAX, u32::MAX - 1, 0, 1 << 31];
    for (number, seconds) in (1..).zip(times) {
        let time = WallTime::from_wire(seconds, 0);
        world.feed(&forger.message(|message| {
            assert!(message.info_timestamp(Some(time)));
            let (number, inline) = (SequenceNumber(number), InlineQos::default());
            assert!(message.data(ANY, writer, number, &inline, Content::Data(&VALUE)));
        }));
    }
    assert_eq!(world.take(), 4);
}

#[test]
fn heartbeat_and_end_in_the_name_of_another() {
    // CVE-2023-50257. Oracle: a writer with the same entity id in another participant does not
    // affect this one.
    let (mut world, mut victim, writer, _) = matched();
    let other = Forger::new(1, ON_LINK);
    world.feed(&other.announcement());
    let gone = InlineQos { status: ENDED, ..InlineQos::default() };
    world.feed(&other.message(|message| {
        assert!(message.heartbeat(&heartbeat(writer, HUGE, HUGE, i32::MAX)));
        assert!(message.data(ANY, writer, SequenceNumber(1), &gone, Content::None));
    }));
    let datagram = victim.next(writer, &VALUE);
    world.feed(&datagram);
    assert_eq!(world.take(), 1);
    assert_eq!(world.participant.reader_counters(world.reader).lost, 0);
}

#[test]
fn a_heartbeat_that_lied_is_made_good() {
    // Oracle: an attacker that sees whole datagrams can forge them; but from a few the endpoints
    // recover after the genuine writer has sent four times.
    let (mut world, mut victim, writer, _) = matched();
    let datagram = victim.next(writer, &VALUE);
    world.feed(&datagram);
    let say = |world: &mut World, first, last, count| {
        let heartbeat = heartbeat(writer, first, last, count);
        world.feed(&victim.message(|message| assert!(message.heartbeat(&heartbeat))));
    };
    say(&mut world, 1, 1, 1);
    // All future samples are declared gone, and all genuine heartbeats look old.
    say(&mut world, HUGE, HUGE, 1 + i32::MAX / 2);
    for count in 2..=8 {
        say(&mut world, 1, 1, count);
    }
    assert_eq!(world.take(), 1);
    let datagram = victim.next(writer, &VALUE);
    world.feed(&datagram);
    assert_eq!(world.take(), 1, "the next true sample");
}

#[test]
fn what_others_declare_gone_is_counted_apart() {
    // Oracle: by hand. 998 samples after the first are declared gone by another host; the writer's
    // own heartbeats show that it never had them, so none is lost.
    let (mut world, mut victim, writer, _) = matched();
    let datagram = victim.next(writer, &VALUE);
    world.feed(&datagram);
    let say = |world: &mut World, first, last, count| {
        let heartbeat = heartbeat(writer, first, last, count);
        world.feed(&victim.message(|message| assert!(message.heartbeat(&heartbeat))));
        let counters = world.participant.reader_counters(world.reader);
        (counters.lost, counters.contradicted)
    };
    assert_eq!(say(&mut world, 1, 1, 1), (0, 0));
    assert_eq!(say(&mut world, 1_000, 1_000, 2), (998, 0));
    let after: Vec<(u64, u64)> = (3..=6).map(|count| say(&mut world, 1, 1, count)).collect();
    assert_eq!(after, [(998, 0), (998, 0), (0, 998), (0, 998)]);
    // Leaps that nobody contradicts, and what a writer really gives up, are no lie.
    assert_eq!(say(&mut world, 11, 12, 7), (9, 998));
}

#[test]
fn one_question_for_a_long_history() {
    // Oracle: a mebioctet per request; a reader that really lacks everything asks again and gets
    // it.
    let (mut world, forger, _, reader) = matched();
    let writer = own_writer(&world);
    let large = vec![0; 1 << 20];
    let now = world.clock();
    let written = (0..8).map(|_| {
        let sample = NewSample::value(&large);
        world.participant.write(now, world.writer, &sample)
    });
    assert!(written.into_iter().all(|written| written.is_ok()));
    // A second after the first of them the reader counts as silent, and gets the rest.
    world.wait(2_000 * MS);
    world.sent.clear();
    let ask = |world: &mut World, count| {
        let ack = AckNack { reader, writer, set: full(1), count, is_final: true };
        let question = forger.message(|message| assert!(message.ack_nack(&ack)));
        world.feed(&question);
        world.wait(9 * MS);
        let (datagrams, octets) = world.sent_to(|_| true);
        println!("{} octets ask for {octets} octets in {datagrams} datagrams", question.len());
        octets
    };
    assert!(ask(&mut world, 1) <= (1 << 20) + 10_000);
    let last = world.sent.last().unwrap().1.clone();
    assert_eq!(last[36], 7, "a heartbeat behind the destination");
    assert!(ask(&mut world, 2) <= (2 << 20) + 20_000);
}

#[test]
fn fragments_of_what_is_not_meant_for_a_reader() {
    // Oracle: a GAP (kind 8) after the destination. Otherwise a reader that had received some
    // fragments before it was matched would request the rest forever, and get heartbeats that do
    // not mention it.
    let (mut world, mut forger, _, _) = matched();
    assert!(world.write());
    let late = EntityId::reader(3, false);
    let data = endpoint(forger.guid(late), Reliability::Reliable);
    let datagram = forger.endpoint(&data);
    world.feed(&datagram);
    world.sent.clear();
    let nack = NackFrag {
        reader: late,
        writer: own_writer(&world),
        sequence: SequenceNumber(1),
        set: full(1),
        count: 1,
    };
    world.feed(&forger.message(|message| assert!(message.nack_frag(&nack))));
    assert_eq!(world.sent.len(), 1);
    assert_eq!(world.sent[0].1[36], 8);
}
