//! Readers that come after the writer began.

use rtether_rtps::qos::{Durability, History, Qos, Reliability};
use rtether_rtps::reader::ReaderCounters;
use rtether_rtps::typed::{Publication, Subscription};
use rtether_rtps::types::Ping;

use crate::net::{Faults, Net};

const MS: i64 = 1_000_000;

fn qos(durability: Durability, history: History) -> Qos {
    Qos { reliability: Reliability::Reliable, durability, history, ..Qos::writer() }
}

/// What a late reader had.
#[derive(Debug)]
struct Late {
    /// Written when the writer found it.
    before: u64,
    written: u64,
    taken: u64,
    counters: ReaderCounters,
}

/// A writer writes each 10 ms; an early reader is there from the beginning, and a late one comes
/// after 300 samples.
fn run(seed: u64, durability: Durability, history: History, faults: Faults) -> Late {
    let mut net = Net::new(3, seed, faults);
    net.start(0, |_| {});
    net.start(1, |_| {});
    let (clock, writer) = net.at(0);
    let own = qos(durability, history);
    let mut publication = Publication::create(writer, clock, "late", own.clone()).unwrap();
    let reading = Qos { history: History::KeepAll, ..own };
    let (clock, early) = net.at(1);
    let mut first = Subscription::<Ping>::create(early, clock, "late", reading.clone()).unwrap();
    net.run(0);
    net.run(1);
    net.run_for(1_000);
    let mut late: Option<Subscription<Ping>> = None;
    let (mut written, mut taken, mut before) = (0, 0, None);
    for round in 1..=600 {
        if round == 300 {
            net.start(2, |_| {});
            let (clock, reader) = net.at(2);
            let one = Subscription::create(reader, clock, "late", reading.clone()).unwrap();
            late = Some(one);
            net.run(2);
        }
        let until = net.now + 10 * MS;
        while net.step(until).is_some() {
            let (_, writer) = net.at(0);
            while writer.poll_event().is_some() {}
            // The early reader and the late one, whose address may still be unproved.
            let is_found = writer.known_readers_of(publication.id()) == 2;
            before = before.or(is_found.then_some(written));
        }
        // The last samples have time to come whatever is lost.
        if round < 500 {
            let (clock, writer) = net.at(0);
            let value = Ping { sequence: round, ..Ping::default() };
            publication.publish(writer, clock, &value).unwrap();
            written += 1;
            net.run(0);
        } else {
            net.faults = Faults::default();
        }
        let (clock, early) = net.at(1);
        while first.take(early, clock).is_some() {}
        if let Some(late) = &mut late {
            let (clock, reader) = net.at(2);
            while late.take(reader, clock).is_some() {
                taken += 1;
            }
        }
    }
    let id = late.unwrap().id();
    Late { before: before.unwrap(), written, taken, counters: net.at(2).1.reader_counters(id) }
}

/// Policies of writers of which a late reader lacks what came before it.
const KINDS: [(Durability, History); 4] = [
    (Durability::Volatile, History::KeepLast(1)),
    (Durability::Volatile, History::KeepLast(10)),
    (Durability::Volatile, History::KeepAll),
    (Durability::TransientLocal, History::KeepLast(1)),
];

#[test]
fn a_late_reader_has_lost_nothing_on_a_network_that_loses_nothing() {
    for (durability, history) in KINDS {
        let late = run(1, durability, history, Faults::default());
        assert!((300..400).contains(&late.before), "{late:?}");
        assert_eq!(late.counters.lost, 0, "{history:?}: {late:?}");
        assert_eq!(late.taken + late.counters.not_owed, late.written);
        // One that is not promised may come before the addresses are proved.
        let more = late.before - late.counters.not_owed;
        assert!(more <= 10, "{history:?}: {late:?}");
    }
}

#[test]
fn a_late_reader_has_lost_what_was_written_for_it_and_is_gone() {
    let mut lost = 0;
    for seed in 0..30 {
        let faults = Faults { loss: 300, ..Faults::default() };
        let late = run(seed, Durability::Volatile, History::KeepLast(1), faults);
        let counted = late.taken + late.counters.lost + late.counters.not_owed;
        assert_eq!(counted, late.written, "seed {seed}: {late:?}");
        let apart = late.counters.not_owed.abs_diff(late.before);
        assert!(apart <= 10, "seed {seed}: {late:?}");
        lost += late.counters.lost;
    }
    assert!(lost > 100, "{lost}");
}
