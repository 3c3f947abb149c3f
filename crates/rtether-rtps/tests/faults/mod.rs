//! Participants on a network that loses, duplicates, delays and truncates datagrams, in virtual
//! time.
//!
//! Oracle: the samples written. A strict reliable subscription receives every sample of a writer
//! from the first one received, in order and without duplicates, unless one of the two has lost the
//! other meanwhile. A volatile subscription is promised none of the samples written before its
//! writer knew of it. After the faults all participants find each other again. A failure prints the
//! command that reproduces it.

mod large;
mod v1;

use rtether_rtps::engine::Event;
use rtether_rtps::guid::Guid;
use rtether_rtps::qos::{Durability, History, Qos, Reliability};
use rtether_rtps::typed::{Publication, PublishError, Subscription};
use rtether_rtps::types::Ping;
use rtether_rtps::writer::WriteError;
use std::collections::{BTreeMap, BTreeSet};

use crate::net::{Faults, Net, Random};

const MS: i64 = 1_000_000;
const SEED: &str = "RTETHER_SEED";

/// What a subscription has received from each writer.
#[derive(Default)]
struct Had {
    /// The last number.
    of: BTreeMap<Guid, u32>,
    /// Writers that lost this reader, or were lost by it: samples may be missing.
    broken: BTreeSet<Guid>,
    /// What each writer had written when it found this reader: a volatile reader is promised none
    /// of it, although some may arrive.
    before: BTreeMap<Guid, u32>,
}

struct Side {
    publication: Publication<Ping>,
    subscription: Subscription<Ping>,
    had: Had,
    written: u32,
}

fn qos(reliability: Reliability, durability: Durability) -> Qos {
    let mut qos = Qos::writer();
    qos.reliability = reliability;
    qos.durability = durability;
    qos.history = History::KeepAll;
    qos.limits.samples = Some(64);
    qos
}

struct Plant {
    net: Net,
    sides: Vec<Option<Side>>,
    durability: Durability,
    seed: u64,
    large: bool,
    /// RTPS 1.0: behind the hosts, a manager for each of them.
    is_v1: bool,
}

impl Plant {
    fn new(seed: u64, is_v1: bool) -> Self {
        let mut random = Random(seed);
        let hosts = 2 + usize::try_from(random.below(3)).unwrap();
        let faults = Faults {
            loss: random.below(500),
            duplication: random.below(200),
            corruption: random.below(100),
            jitter_us: random.below(5_000),
            disorder: 0,
        };
        // RTPS 1.0 has no durability.
        let durability = if random.chance(500) && !is_v1 {
            Durability::TransientLocal
        } else {
            Durability::Volatile
        };
        let large = random.chance(100);
        let mut this = Self {
            net: Net::new(if is_v1 { 2 * hosts } else { hosts }, random.next(), faults),
            sides: (0..hosts).map(|_| None).collect(),
            durability,
            seed,
            large,
            is_v1,
        };
        for host in 0..hosts {
            this.start_manager(host);
            this.start(host);
        }
        this
    }

    fn start(&mut self, host: usize) {
        let shape = self.application(host);
        self.net.start(host, |config| {
            config.datagram_max = 1_000;
            shape.adapt(config);
        });
        let (clock, participant) = self.net.at(host);
        let qos = qos(Reliability::Reliable, self.durability);
        self.sides[host] = Some(Side {
            publication: Publication::create(participant, clock, "faults", qos.clone()).unwrap(),
            subscription: Subscription::create(participant, clock, "faults", qos).unwrap(),
            had: Had::default(),
            written: 0,
        });
    }

    fn fail(&self, what: &str) -> ! {
        panic!(
            "{what}, at {} ms\nrepeat: {SEED}={} cargo test -p rtether-rtps --test it -- \
             faults::one_seed{} --nocapture",
            self.net.now / MS,
            self.seed,
            if self.is_v1 { "_of_rtps_1_0" } else { "" }
        );
    }

    fn write(&mut self, host: usize) {
        let (Some(one), Some(side)) = (&mut self.net.hosts[host], &mut self.sides[host]) else {
            return;
        };
        let clock = one.clock(self.net.now);
        let octets = if self.large { 20_000 } else { 8 };
        let value = Ping {
            sequence: side.written + 1,
            payload: vec![u8::try_from(side.written % 251).unwrap(); octets],
            ..Ping::default()
        };
        match side.publication.publish(&mut one.participant, clock, &value) {
            Ok(number) => {
                side.written += 1;
                assert_eq!(number.0, i64::from(side.written));
            }
            // The application writes it later.
            Err(PublishError::Write(WriteError::Full)) => {}
            Err(error) => panic!("{error}"),
        }
        self.net.run(host);
    }

    /// Takes the waiting samples, and checks that each is the next expected one.
    fn check(&mut self, host: usize) {
        let now = self.net.now;
        let (Some(one), Some(side)) = (&mut self.net.hosts[host], &mut self.sides[host]) else {
            return;
        };
        let clock = one.clock(now);
        let own = one.participant.writer_guid(side.publication.id()).unwrap();
        let (mut left, mut come) = (Vec::new(), Vec::new());
        while let Some(event) = one.participant.poll_event() {
            if let Event::WriterUnmatched { writer, .. } = event {
                side.had.broken.insert(writer);
            } else if let Event::ReaderUnmatched { reader, .. } = event {
                left.push(reader);
            } else if let Event::ReaderMatched { reader, .. } = event {
                come.push(reader);
            }
        }
        let written = side.written;
        for reader in left {
            if let Some(had) = self.had_of(reader) {
                had.broken.insert(own);
            }
        }
        for reader in come {
            if let Some(had) = self.had_of(reader) {
                had.before.insert(own, written);
            }
        }
        let (Some(one), Some(side)) = (&mut self.net.hosts[host], &mut self.sides[host]) else {
            return;
        };
        let mut wrong = None;
        while let Some(received) = side.subscription.take(&mut one.participant, clock) {
            let Some(value) = received.value.filter(|_| received.info.is_valid) else {
                continue;
            };
            let fill = u8::try_from((value.sequence - 1) % 251).unwrap();
            if value.payload.iter().any(|octet| *octet != fill) {
                wrong = Some(format!("sample {} is broken", value.sequence));
            }
            let writer = received.info.writer;
            let is_broken = side.had.broken.remove(&writer);
            let had = side.had.of.entry(writer).or_insert(value.sequence - 1);
            let is_next = value.sequence == *had + 1;
            let before = side.had.before.get(&writer).copied().unwrap_or(0);
            let is_unpromised =
                self.durability == Durability::Volatile && value.sequence <= before + 1;
            let is_later = (is_broken || is_unpromised) && value.sequence > *had;
            if !is_next && !is_later {
                wrong = Some(format!("{} after {had} from {writer}", value.sequence));
            }
            *had = value.sequence;
        }
        if side.subscription.malformed() > 0 {
            wrong = Some("a sample is no value".to_owned());
        }
        if let Some(wrong) = wrong {
            self.fail(&format!("host {host}: {wrong}"));
        }
    }

    /// Returns what a reader has received, if it still exists.
    fn had_of(&mut self, reader: Guid) -> Option<&mut Had> {
        let mut all = self.net.hosts.iter().zip(&mut self.sides);
        all.find_map(|(one, side)| {
            let (one, side) = (one.as_ref()?, side.as_mut()?);
            let own = one.participant.reader_guid(side.subscription.id());
            (own == Some(reader)).then_some(&mut side.had)
        })
    }

    fn run_until(&mut self, until: i64) {
        while let Some(host) = self.net.step(until) {
            // Managers have no samples.
            if host < self.sides.len() {
                self.check(host);
            }
        }
    }

    /// Returns whether every subscription has received everything.
    fn is_complete(&self) -> bool {
        let guid = |host: usize| {
            let one = self.net.hosts[host].as_ref()?;
            let side = self.sides[host].as_ref()?;
            one.participant.writer_guid(side.publication.id())
        };
        (0..self.sides.len()).all(|reader| {
            (0..self.sides.len()).all(|writer| {
                let (Some(side), Some(from)) = (&self.sides[reader], &self.sides[writer]) else {
                    return true;
                };
                let had = guid(writer).and_then(|guid| side.had.of.get(&guid));
                had == Some(&from.written)
            })
        })
    }
}

/// Runs one plant: faults for a while, then none.
fn run(seed: u64, is_v1: bool) {
    let mut plant = Plant::new(seed, is_v1);
    let mut random = Random(seed ^ 0xFA_17);
    let hosts = plant.sides.len();
    for _ in 0..40 {
        match random.below(12) {
            0 => {
                let pair = (0, 1 + usize::try_from(random.below(9)).unwrap() % (hosts - 1));
                if !plant.net.cut.remove(&pair) {
                    plant.net.cut.insert(pair);
                }
            }
            1 => {
                let host = usize::try_from(random.below(9)).unwrap() % hosts;
                plant.net.crash(host);
                plant.sides[host] = None;
                if random.chance(700) {
                    plant.start(host);
                }
            }
            2 if is_v1 => {
                let host = usize::try_from(random.below(9)).unwrap() % hosts;
                plant.net.crash(hosts + host);
                if random.chance(700) {
                    plant.start_manager(host);
                }
            }
            _ => {
                let host = usize::try_from(random.below(9)).unwrap() % hosts;
                for _ in 0..=random.below(4) {
                    plant.write(host);
                }
            }
        }
        let span = i64::try_from(random.below(60)).unwrap();
        plant.run_until(plant.net.now + span * MS);
    }
    plant.net.faults = Faults::default();
    plant.net.cut.clear();
    for host in 0..hosts {
        if is_v1 && plant.net.hosts[hosts + host].is_none() {
            plant.start_manager(host);
        }
        if plant.sides[host].is_none() {
            plant.start(host);
        }
    }
    // Leases expire and discovery completes again; then each writes once more.
    plant.run_until(plant.net.now + 3_000 * MS);
    for host in 0..hosts {
        let before = plant.sides[host].as_ref().unwrap().written;
        plant.write(host);
        let after = plant.sides[host].as_ref().unwrap().written;
        if after == before {
            plant.fail(&format!("host {host} is blocked although all is well"));
        }
    }
    plant.run_until(plant.net.now + 3_000 * MS);
    if !plant.is_complete() {
        for (host, side) in plant.sides.iter().enumerate() {
            let side = side.as_ref().unwrap();
            println!("host {host} wrote {}, had {:?}", side.written, side.had.of);
        }
        plant.fail("not everything has arrived");
    }
}

#[test]
fn nothing_is_lost_doubled_or_out_of_order() {
    for seed in 0..1_000 {
        run(seed, false);
    }
}

/// The same in RTPS 1.0: managers crash, too.
#[test]
fn nothing_is_lost_doubled_or_out_of_order_in_rtps_1_0() {
    for seed in 0..1_000 {
        run(seed, true);
    }
}

/// A hundred thousand plants.
#[test]
#[ignore = "nightly"]
fn nothing_is_lost_in_a_hundred_thousand_plants() {
    for seed in 1_000..101_000 {
        run(seed, false);
    }
}

/// Repeats the seed of a failure.
#[test]
fn one_seed() {
    if let Some(seed) = std::env::var(SEED).ok().and_then(|seed| seed.parse().ok()) {
        run(seed, false);
    }
}

/// The same in RTPS 1.0.
#[test]
fn one_seed_of_rtps_1_0() {
    if let Some(seed) = std::env::var(SEED).ok().and_then(|seed| seed.parse().ok()) {
        run(seed, true);
    }
}
