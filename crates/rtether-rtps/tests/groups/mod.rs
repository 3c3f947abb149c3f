//! Publishers and subscribers on a network that loses, duplicates and delays datagrams, in virtual
//! time.
//!
//! Oracle: a list of the sets written. What is taken at one time contains all samples of a set on
//! the subscriber's topics, or none; samples are taken in the order of writing; after the faults, a
//! reliable subscriber has received all.

use rtether_rtps::engine::{CreateError, PublisherId, SubscriberId};
use rtether_rtps::qos::{AccessScope, History, Presentation, Qos, Reliability};
use rtether_rtps::typed::{Publication, PublicationOptions, Subscription, SubscriptionOptions};
use rtether_rtps::types::Ping;

use crate::net::{Faults, Net, Random};

const MS: i64 = 1_000_000;
const TOPICS: [&str; 3] = ["a", "b", "c"];

fn qos(reliability: Reliability) -> Qos {
    Qos {
        reliability,
        history: History::KeepAll,
        presentation: Presentation {
            scope: AccessScope::Group,
            is_coherent: true,
            is_ordered: true,
        },
        ..Qos::writer()
    }
}

/// A subscriber to some of the topics.
struct Hearer {
    host: usize,
    id: SubscriberId,
    topics: Vec<usize>,
    subscriptions: Vec<Subscription<Ping>>,
    /// Sets received; 0 stands for a sample outside any set.
    sets: Vec<u32>,
    last: u32,
}

struct Plant {
    net: Net,
    reliability: Reliability,
    publisher: PublisherId,
    publications: Vec<Publication<Ping>>,
    hearers: Vec<Hearer>,
    /// Samples written: topic and set of each number, from 1.
    written: Vec<(usize, u32)>,
    sets: u32,
    seed: u64,
}

impl Plant {
    fn new(seed: u64, reliability: Reliability) -> Self {
        let mut net = Net::new(4, seed, Faults::default());
        net.start(0, |_| {});
        let (now, participant) = net.at(0);
        let publisher = participant.create_publisher().unwrap();
        let options =
            PublicationOptions { judge: None, publisher: Some(publisher), separates: false };
        let create = |topic| {
            let qos = qos(reliability);
            Publication::open(participant, now, topic, qos, options).unwrap()
        };
        let publications = TOPICS.map(create).into();
        Self {
            net,
            reliability,
            publisher,
            publications,
            hearers: Vec::new(),
            written: Vec::new(),
            sets: 0,
            seed,
        }
    }

    fn hear(&mut self, host: usize, topics: &[usize]) {
        self.net.start(host, |_| {});
        let (now, participant) = self.net.at(host);
        let id = participant.create_subscriber().unwrap();
        let options = SubscriptionOptions { filter: None, subscriber: Some(id) };
        let create = |topic: &usize| {
            let qos = qos(self.reliability);
            Subscription::open(participant, now, TOPICS[*topic], qos, options).unwrap()
        };
        self.hearers.push(Hearer {
            host,
            id,
            topics: topics.to_vec(),
            subscriptions: topics.iter().map(create).collect(),
            sets: Vec::new(),
            last: 0,
        });
    }

    fn write(&mut self, topic: usize, set: u32) {
        self.written.push((topic, set));
        let value = Ping {
            sequence: u32::try_from(self.written.len()).unwrap(),
            session: set,
            ..Ping::default()
        };
        let (now, participant) = self.net.at(0);
        let publication = &mut self.publications[topic];
        publication.publish(participant, now, &value).unwrap();
        self.net.run(0);
    }

    /// Writes a set of some samples of any topics.
    fn write_set(&mut self, random: &mut Random) {
        self.sets += 1;
        let publisher = self.publisher;
        let (_, participant) = self.net.at(0);
        participant.begin_group_set(publisher);
        for _ in 0..=random.below(5) {
            let topic = usize::try_from(random.below(3)).unwrap();
            self.write(topic, self.sets);
            self.run(i64::try_from(random.below(3)).unwrap());
        }
        let (now, participant) = self.net.at(0);
        participant.end_group_set(now, publisher).unwrap();
        self.net.run(0);
    }

    fn run(&mut self, ms: i64) {
        let until = self.net.now + ms * MS;
        while let Some(host) = self.net.step(until) {
            self.check(host);
        }
    }

    /// Takes the waiting samples, and checks that they are whole sets in order.
    fn check(&mut self, host: usize) {
        let hearers = self.hearers.iter_mut();
        for hearer in hearers.filter(|hearer| hearer.host == host) {
            let (now, participant) = self.net.at(host);
            let mut taken = Vec::new();
            while let Some(reader) = participant.next_in_group(now, hearer.id) {
                let mut all = hearer.subscriptions.iter_mut();
                let next = all.find(|one| one.id() == reader).unwrap();
                let received = next.take(participant, now).unwrap();
                let value = received.value.unwrap();
                assert!(received.info.group_sequence.is_some());
                taken.push((value.sequence, value.session));
            }
            let mut rest = taken.as_slice();
            while let Some((number, set)) = rest.first().copied() {
                let what = format!("seed {}, host {host}: {taken:?}", self.seed);
                assert!(number > hearer.last, "{what} after {}", hearer.last);
                let expected: Vec<(u32, u32)> = (1..)
                    .zip(&self.written)
                    .filter(|(other, (topic, of))| {
                        let is_in = if set == 0 { *other == number } else { *of == set };
                        is_in && hearer.topics.contains(topic)
                    })
                    .map(|(number, (_, set))| (number, *set))
                    .collect();
                assert!(rest.starts_with(&expected), "{what}: {expected:?}");
                rest = &rest[expected.len()..];
                hearer.last = expected.last().unwrap().0;
                hearer.sets.push(set);
            }
        }
    }

    /// Returns the sets with samples on a hearer's topics.
    fn sets_of(&self, hearer: &Hearer) -> Vec<u32> {
        let of = |(topic, set): &(usize, u32)| hearer.topics.contains(topic).then_some(*set);
        let mut sets: Vec<u32> = self.written.iter().filter_map(of).collect();
        sets.dedup();
        sets
    }
}

fn faults(random: &mut Random) -> Faults {
    Faults {
        loss: random.below(400),
        duplication: random.below(200),
        corruption: random.below(50),
        jitter_us: random.below(5_000),
        disorder: 0,
    }
}

#[test]
fn a_set_of_a_publisher_comes_to_all_readers_at_once() {
    for seed in 0..200 {
        let mut random = Random(seed);
        let mut plant = Plant::new(seed, Reliability::Reliable);
        plant.hear(1, &[0, 1, 2]);
        plant.hear(2, &[0, 2]);
        plant.run(600);
        plant.net.faults = faults(&mut random);
        for round in 0..20 {
            plant.write_set(&mut random);
            plant.run(i64::try_from(random.below(20)).unwrap());
            if round == 10 {
                // A late joiner, perhaps in the middle of a set, gets whole sets.
                plant.hear(3, &[1, 0]);
            }
        }
        plant.net.faults = Faults::default();
        plant.run(3_000);
        plant.write_set(&mut random);
        plant.run(1_000);
        for hearer in &plant.hearers {
            let expected = plant.sets_of(hearer);
            let is_late = hearer.host == 3;
            let had = &hearer.sets;
            let is_had = if is_late { expected.ends_with(had) } else { expected == *had };
            assert!(is_had, "seed {seed}, host {}: {had:?} of {expected:?}", hearer.host);
        }
    }
}

#[test]
fn parts_of_sets_never_come() {
    // Best effort: lost samples stay lost.
    let (mut had, mut all) = (0, 0);
    for seed in 0..200 {
        let mut random = Random(seed);
        let mut plant = Plant::new(seed, Reliability::BestEffort);
        plant.hear(1, &[0, 1, 2]);
        plant.hear(2, &[1]);
        plant.run(600);
        plant.net.faults.loss = random.below(200);
        for _ in 0..20 {
            plant.write_set(&mut random);
            plant.run(i64::try_from(random.below(5)).unwrap());
        }
        plant.run(100);
        for hearer in &plant.hearers {
            had += hearer.sets.len();
            all += plant.sets_of(hearer).len();
        }
    }
    assert!(had > all / 4 && had < all, "{had} of {all}");
}

#[test]
fn what_is_of_no_set_keeps_its_place() {
    let mut plant = Plant::new(1, Reliability::Reliable);
    plant.hear(1, &[0, 1, 2]);
    plant.run(600);
    let mut random = Random(1);
    for round in 0..50 {
        plant.write(round % 3, 0);
        plant.write_set(&mut random);
        plant.write(round % 2, 0);
        plant.run(i64::try_from(random.below(3)).unwrap());
    }
    plant.run(100);
    let samples = plant.hearers[0].sets.iter().filter(|set| **set == 0);
    assert_eq!(samples.count(), 100);
    let sets = plant.hearers[0].sets.iter().filter(|set| **set > 0);
    assert!(sets.copied().eq(1..=50));
}

#[test]
fn groups_that_are_not_there() {
    // Oracle: ids of one participant are invalid at another.
    let mut plant = Plant::new(1, Reliability::Reliable);
    plant.hear(1, &[0]);
    let (now, participant) = plant.net.at(1);
    let options =
        PublicationOptions { judge: None, publisher: Some(plant.publisher), separates: false };
    let qos = qos(Reliability::Reliable);
    let made = Publication::<Ping>::open(participant, now, "a", qos, options);
    assert_eq!(made.err(), Some(CreateError::Group));
    assert!(participant.end_group_set(now, plant.publisher).is_err());
    // Sets without samples leave no trace.
    let one = plant.net.hosts[0].as_mut().unwrap();
    one.participant.begin_group_set(plant.publisher);
    let now = one.clock(plant.net.now);
    assert!(one.participant.end_group_set(now, plant.publisher).is_ok());
    plant.write(0, 0);
    plant.run(1_000);
    assert_eq!(plant.hearers[0].sets.len(), 0, "nobody was there");
}
