//! Discovery of endpoints on demand, in virtual time: the matches are those of the usual discovery,
//! whatever is created and deleted when, with participants that do not know it among them.
//!
//! Oracle: the same plant with the usual discovery.

use std::collections::BTreeSet;

use rtether_rtps::engine::{Discovery, Event, ReaderId, WriterId};
use rtether_rtps::qos::{History, Qos, Reliability};
use rtether_rtps::time::Duration;
use rtether_rtps::typed::{Publication, Subscription};
use rtether_rtps::types::Ping;

use crate::net::{Faults, Net, Random};

/// Which participants discover on demand.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Who {
    None,
    All,
    /// Those with an even number; the others are as those of other implementations.
    Even,
}

/// What happens at a host.
#[derive(Clone, Copy, Debug)]
enum Act {
    Start,
    Write {
        topic: u64,
        is_reliable: bool,
    },
    Read {
        topic: u64,
        is_reliable: bool,
    },
    /// Deletes the writer, or reader, of this number.
    Stop {
        is_writer: bool,
        number: usize,
    },
}

/// An act at a time in milliseconds, at a host.
type Deed = (i64, usize, Act);

#[derive(Default)]
struct Side {
    publications: Vec<Option<Publication<Ping>>>,
    subscriptions: Vec<Option<Subscription<Ping>>>,
}

/// A match: host, whether its endpoint is a writer, the number of the endpoint, and the GUID of the
/// other.
type Match = (usize, bool, usize, [u8; 16]);

struct Outcome {
    matches: BTreeSet<Match>,
    octets: u64,
}

fn plan(random: &mut Random, hosts: usize) -> Vec<Deed> {
    let topics = 1 + random.below(12);
    let mut deeds = Vec::new();
    for host in 0..hosts {
        let start = i64::try_from(random.below(3)).unwrap() * 700;
        deeds.push((start, host, Act::Start));
        let mut counts = [0; 2];
        for _ in 0..random.below(7) {
            // Most at the start, some later.
            let later = if random.chance(600) { 0 } else { random.below(3_000) };
            let (topic, is_reliable) = (random.below(topics), random.chance(700));
            let is_writer = random.chance(500);
            let act = if is_writer {
                Act::Write { topic, is_reliable }
            } else {
                Act::Read { topic, is_reliable }
            };
            counts[usize::from(is_writer)] += 1;
            deeds.push((start + i64::try_from(later).unwrap(), host, act));
        }
        if random.chance(300) {
            let is_writer = random.chance(500);
            let number = counts[usize::from(is_writer)];
            if number > 0 {
                let number = usize::try_from(random.below(number)).unwrap();
                deeds.push((5_000, host, Act::Stop { is_writer, number }));
            }
        }
    }
    deeds.sort_by_key(|(at, ..)| *at);
    deeds
}

fn qos(is_reliable: bool) -> Qos {
    let mut qos = Qos::writer();
    qos.history = History::KeepLast(1);
    qos.reliability = if is_reliable { Reliability::Reliable } else { Reliability::BestEffort };
    qos
}

fn act(net: &mut Net, sides: &mut [Side], who: Who, (_, host, act): Deed) {
    if matches!(act, Act::Start) {
        net.start(host, |config| {
            config.lease = Duration::from_s(10);
            config.announce_period = Duration::from_s(1);
            if who == Who::All || who == Who::Even && host % 2 == 0 {
                config.discovery = Discovery::OnDemand;
            }
        });
        return;
    }
    let side = &mut sides[host];
    let (clock, participant) = net.at(host);
    match act {
        Act::Start => {}
        Act::Write { topic, is_reliable } => {
            let topic = format!("topic/{topic}");
            let new = Publication::create(participant, clock, &topic, qos(is_reliable));
            side.publications.push(Some(new.unwrap()));
        }
        Act::Read { topic, is_reliable } => {
            let topic = format!("topic/{topic}");
            let new = Subscription::create(participant, clock, &topic, qos(is_reliable));
            side.subscriptions.push(Some(new.unwrap()));
        }
        Act::Stop { is_writer, number } => {
            if is_writer {
                let gone = side.publications.get_mut(number).and_then(Option::take);
                participant.delete_writer(clock, gone.unwrap().id());
            } else {
                let gone = side.subscriptions.get_mut(number).and_then(Option::take);
                participant.delete_reader(clock, gone.unwrap().id());
            }
        }
    }
    net.run(host);
}

fn writer(side: &Side, id: WriterId) -> Option<usize> {
    let mut all = side.publications.iter();
    all.position(|one| one.as_ref().is_some_and(|one| one.id() == id))
}

fn reader(side: &Side, id: ReaderId) -> Option<usize> {
    let mut all = side.subscriptions.iter();
    all.position(|one| one.as_ref().is_some_and(|one| one.id() == id))
}

/// Takes the events of a host into its matches.
#[allow(clippy::wildcard_enum_match_arm, reason = "other events are no matches")]
fn note(net: &mut Net, side: &Side, host: usize, matches: &mut BTreeSet<Match>) {
    if net.hosts[host].is_none() {
        // A datagram for a host that has not started.
        return;
    }
    let (_, participant) = net.at(host);
    while let Some(event) = participant.poll_event() {
        match event {
            Event::ReaderMatched { writer: id, reader } => {
                if let Some(number) = writer(side, id) {
                    matches.insert((host, true, number, reader.octets()));
                }
            }
            Event::ReaderUnmatched { writer: id, reader } => {
                if let Some(number) = writer(side, id) {
                    matches.remove(&(host, true, number, reader.octets()));
                }
            }
            Event::WriterMatched { reader: id, writer } => {
                if let Some(number) = reader(side, id) {
                    matches.insert((host, false, number, writer.octets()));
                }
            }
            Event::WriterUnmatched { reader: id, writer } => {
                if let Some(number) = reader(side, id) {
                    matches.remove(&(host, false, number, writer.octets()));
                }
            }
            _ => {}
        }
    }
}

fn run(seed: u64, hosts: usize, deeds: &[Deed], who: Who, faults: Faults) -> Outcome {
    let mut net = Net::new(hosts, seed, faults);
    let mut sides: Vec<Side> = (0..hosts).map(|_| Side::default()).collect();
    let mut matches = BTreeSet::new();
    let mut deeds = deeds.iter().copied().peekable();
    while let Some(deed) = deeds.next() {
        act(&mut net, &mut sides, who, deed);
        let until = deeds.peek().map_or(deed.0 + 8_000, |next| next.0) * 1_000_000;
        while let Some(host) = net.step(until) {
            note(&mut net, &sides[host], host, &mut matches);
        }
    }
    for (host, side) in sides.iter().enumerate() {
        note(&mut net, side, host, &mut matches);
    }
    // A deleted endpoint is in none.
    matches.retain(|(host, is_writer, number, _)| {
        let side = &sides[*host];
        if *is_writer {
            side.publications[*number].is_some()
        } else {
            side.subscriptions[*number].is_some()
        }
    });
    Outcome { matches, octets: net.octets }
}

fn compare(seeds: std::ops::Range<u64>, faults: Faults) {
    let (mut usual, mut on_demand, mut all) = (0, 0, 0);
    for seed in seeds {
        let mut random = Random(seed);
        let hosts = 2 + usize::try_from(random.below(7)).unwrap();
        let deeds = plan(&mut random, hosts);
        // Without faults the usual discovery has no chance to differ.
        let expected = run(seed, hosts, &deeds, Who::None, Faults::default());
        for who in [Who::All, Who::Even] {
            let found = run(seed, hosts, &deeds, who, faults);
            assert_eq!(found.matches, expected.matches, "seed {seed}, {who:?}");
            if who == Who::All {
                on_demand += found.octets;
            }
        }
        usual += expected.octets;
        all += expected.matches.len();
    }
    assert!(all > 0);
    println!("{all} matches, {usual} octets by the usual discovery, {on_demand} on demand");
}

#[test]
fn the_matches_are_those_of_the_usual_discovery() {
    compare(0..60, Faults::default());
}

#[test]
fn the_matches_are_those_of_the_usual_discovery_with_loss_and_disorder() {
    let faults =
        Faults { loss: 100, duplication: 20, jitter_us: 500, disorder: 50, ..Faults::default() };
    compare(1_000..1_040, faults);
}

#[test]
#[ignore = "long"]
fn the_matches_of_many_plants_are_those_of_the_usual_discovery() {
    compare(10_000..11_000, Faults::default());
}

/// Oracle: the counters of matched endpoints.
#[test]
fn strangers_exchange_announcements_of_participants_only() {
    let mut net = Net::new(2, 1, Faults::default());
    let mut sides = [Side::default(), Side::default()];
    for host in 0..2 {
        act(&mut net, &mut sides, Who::All, (0, host, Act::Start));
        let write = Act::Write { topic: u64::try_from(host).unwrap(), is_reliable: true };
        act(&mut net, &mut sides, Who::All, (0, host, write));
    }
    net.run_for(2_000);
    let (_, participant) = net.at(0);
    assert_eq!(participant.participants().count(), 1);
    assert_eq!(participant.endpoints().count(), 0);
    let read = Act::Read { topic: 0, is_reliable: true };
    act(&mut net, &mut sides, Who::All, (2_000, 1, read));
    // The proof of the address takes four heartbeats.
    net.run_for(40);
    let (_, participant) = net.at(0);
    let id = sides[0].publications[0].as_ref().unwrap().id();
    assert_eq!(participant.readers_of(id), 1);
}

/// Oracle: the counters of known endpoints.
#[test]
fn who_wants_to_know_everything_is_told() {
    let mut net = Net::new(3, 1, Faults::default());
    let mut sides = [Side::default(), Side::default(), Side::default()];
    for host in 0..3 {
        act(&mut net, &mut sides, Who::All, (0, host, Act::Start));
        let write = Act::Write { topic: u64::try_from(host).unwrap(), is_reliable: true };
        act(&mut net, &mut sides, Who::All, (0, host, write));
    }
    net.run_for(1_000);
    let (clock, participant) = net.at(0);
    assert_eq!(participant.endpoints().count(), 0);
    participant.discover_all(clock);
    net.run_for(1_000);
    for (host, expected) in [(0, 2), (1, 1), (2, 1)] {
        let (_, participant) = net.at(host);
        assert_eq!(participant.endpoints().count(), expected, "host {host}");
    }
}
