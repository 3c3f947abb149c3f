//! Discovery among many participants that start at once, in virtual time: its duration and cost.
//!
//! Oracle: each endpoint has as many matches as there are other participants; datagrams grow no
//! faster than the pairs of participants. Figures are printed with `--nocapture`.

use rtether_rtps::qos::{History, Qos, Reliability};
use rtether_rtps::time::Duration;
use rtether_rtps::typed::{Publication, Subscription};
use rtether_rtps::types::Ping;
use std::time::Instant;

use crate::net::{Faults, Net};

const MS: i64 = 1_000_000;
/// Writers, and readers, of each participant, each on a topic shared by all.
const TOPICS: usize = 5;
/// Maximum number of datagrams per ordered pair of participants: announcements, and for each of the
/// three built-in and the five own endpoints samples, heartbeats and acknowledgments each way; four
/// more heartbeats and acknowledgments prove the address.
const PER_PAIR_MAX: u64 = 72;

struct Side {
    publications: Vec<Publication<Ping>>,
    subscriptions: Vec<Subscription<Ping>>,
}

struct Figures {
    matched_ms: i64,
    datagrams: u64,
    octets: u64,
}

fn qos() -> Qos {
    let mut qos = Qos::writer();
    qos.reliability = Reliability::Reliable;
    qos.history = History::KeepLast(1);
    qos
}

fn start(net: &mut Net, host: usize) -> Side {
    net.start(host, |config| {
        config.lease = Duration::from_s(10);
        config.announce_period = Duration::from_s(3);
    });
    let (clock, participant) = net.at(host);
    let topics: Vec<String> = (0..TOPICS).map(|topic| format!("scale/{topic}")).collect();
    let side = Side {
        publications: topics
            .iter()
            .map(|topic| Publication::create(participant, clock, topic, qos()).unwrap())
            .collect(),
        subscriptions: topics
            .iter()
            .map(|topic| Subscription::create(participant, clock, topic, qos()).unwrap())
            .collect(),
    };
    net.run(host);
    side
}

fn is_matched(net: &Net, sides: &[Side]) -> bool {
    net.hosts.iter().flatten().zip(sides).all(|(one, side)| {
        let participant = &one.participant;
        let mut writers = side.publications.iter();
        let mut readers = side.subscriptions.iter();
        writers.all(|one| participant.readers_of(one.id()) == sides.len())
            && readers.all(|one| participant.writers_of(one.id()) == sides.len())
    })
}

fn measure(hosts: usize) -> Figures {
    let began = Instant::now();
    let mut net = Net::new(hosts, 1, Faults::default());
    let sides: Vec<Side> = (0..hosts).map(|host| start(&mut net, host)).collect();
    let step = 5 * MS;
    while !is_matched(&net, &sides) {
        assert!(net.now < 30_000 * MS, "not all have found each other");
        let until = net.now + step;
        while net.step(until).is_some() {}
    }
    let matched_ms = net.now / MS;
    // The last acknowledgments belong to the cost.
    let until = net.now + 1_000 * MS;
    while net.step(until).is_some() {}
    let pairs = u64::try_from(hosts * (hosts - 1)).unwrap();
    println!(
        "{hosts} participants: matched after {matched_ms} ms, {} datagrams ({} a pair), {} octets \
         ({} a pair), {} ms of computing",
        net.sent,
        net.sent / pairs,
        net.octets,
        net.octets / pairs,
        began.elapsed().as_millis()
    );
    Figures { matched_ms, datagrams: net.sent, octets: net.octets }
}

fn check(sizes: &[usize]) {
    for hosts in sizes.iter().copied() {
        let figures = measure(hosts);
        let pairs = u64::try_from(hosts * (hosts - 1)).unwrap();
        assert!(figures.datagrams <= PER_PAIR_MAX * pairs);
        assert!(figures.octets <= PER_PAIR_MAX * pairs * 200);
        // A host accepts 64 new participants a second; the rest waits for the next announcement.
        let rounds = i64::try_from((hosts - 2) / 64).unwrap();
        assert!(figures.matched_ms <= 500 + 3_500 * rounds);
    }
}

#[test]
fn a_few_find_each_other() {
    check(&[2, 10, 20]);
}

#[test]
#[ignore = "nightly"]
fn many_find_each_other() {
    check(&[50, 100]);
}
