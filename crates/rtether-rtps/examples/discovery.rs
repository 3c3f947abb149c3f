//! What discovery costs among many participants that start at once: the usual one, on demand, and
//! with static endpoints, in virtual time.
//!
//! `cargo run --release -p rtether-rtps --example discovery > benches/discovery.csv` prints a row for
//! each kind and number of participants: when all have matched, and the octets sent, and datagrams and
//! octets delivered until a second later (a multicast is sent once, and delivered to each host); then
//! the octets delivered in a further minute, for each second.
//!
//! A participant publishes four topics and subscribes to four: two of its neighbor's, one of the
//! next, and the clock of the first.

#[path = "../tests/common/net.rs"]
#[allow(dead_code, reason = "shared with tests that need more of it")]
#[allow(clippy::unwrap_used, reason = "tests share it")]
mod net;

use net::{Faults, Net};
use rtether_rtps::engine::{
    Discovery, ExpectedEndpoint, Participant, ReaderId, TopicName, WriterId,
};
use rtether_rtps::qos::{History, Qos, Reliability};
use rtether_rtps::time::{Duration, Instant};

const MS: i64 = 1_000_000;
const TYPE: &str = "Sample";

/// How endpoints are discovered.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    Usual,
    OnDemand,
    Static,
}

impl Kind {
    const fn name(self) -> &'static str {
        match self {
            Self::Usual => "usual",
            Self::OnDemand => "on demand",
            Self::Static => "static",
        }
    }
}

fn qos() -> Qos {
    let mut qos = Qos::writer();
    qos.reliability = Reliability::Reliable;
    qos.history = History::KeepLast(1);
    qos
}

/// Returns the topics that a participant publishes, and those to which it subscribes.
fn topics(host: usize, hosts: usize) -> [Vec<String>; 2] {
    let own = (0..4).map(|number| format!("plant/{host}/{number}"));
    let mut written: Vec<String> = own.collect();
    if host == 0 {
        written.pop();
        written.push("clock".to_owned());
    }
    let (next, after) = ((host + 1) % hosts, (host + 2) % hosts);
    let read = vec![
        format!("plant/{next}/0"),
        format!("plant/{next}/1"),
        format!("plant/{after}/2"),
        "clock".to_owned(),
    ];
    [written, read]
}

fn name(host: usize) -> String {
    format!("station-{host}")
}

/// Returns the endpoints of a participant, as others expect them.
fn expected(host: usize, hosts: usize) -> Vec<ExpectedEndpoint> {
    let [written, read] = topics(host, hosts);
    let written = written.into_iter().map(|topic| (true, topic));
    let all = written.chain(read.into_iter().map(|topic| (false, topic)));
    let endpoint = |(number, (is_writer, topic))| ExpectedEndpoint {
        number,
        is_writer,
        has_key: false,
        topic,
        type_name: TYPE.to_owned(),
        qos: qos(),
    };
    (1..).zip(all).map(endpoint).collect()
}

struct Side {
    writers: Vec<WriterId>,
    readers: Vec<ReaderId>,
}

fn create(participant: &mut Participant, now: Instant, host: usize, hosts: usize) -> Side {
    let [written, read] = topics(host, hosts);
    let name = |topic| TopicName { topic, type_name: TYPE };
    let mut side = Side { writers: Vec::new(), readers: Vec::new() };
    for topic in &written {
        let new = participant.create_writer(now, name(topic), false, qos());
        side.writers.extend(new);
    }
    for topic in &read {
        let new = participant.create_reader(now, name(topic), None, qos());
        side.readers.extend(new);
    }
    side
}

/// Returns whether a participant has all its matches: each reader its writer, and each writer its
/// reader, all those of the clock, or none.
fn is_matched(participant: &Participant, side: &Side, host: usize, hosts: usize) -> bool {
    let mut readers = side.readers.iter();
    let is_read = readers.all(|reader| participant.writers_of(*reader) == 1);
    let wanted = [1, 1, 1, if host == 0 { hosts } else { 0 }];
    let mut writers = side.writers.iter().zip(wanted);
    is_read && writers.all(|(writer, wanted)| participant.readers_of(*writer) == wanted)
}

#[allow(clippy::print_stdout, reason = "an example says what it found")]
fn measure(kind: Kind, hosts: usize) {
    let mut net = Net::new(hosts, 1, Faults::default());
    let mut sides = Vec::new();
    for host in 0..hosts {
        let adapt = |config: &mut rtether_rtps::engine::Config| {
            config.lease = Duration::from_s(10);
            config.announce_period = Duration::from_s(3);
            config.name = name(host);
            if kind == Kind::OnDemand {
                config.discovery = Discovery::OnDemand;
            }
        };
        net.start_with(host, adapt, |participant, now| {
            for other in (0..hosts).filter(|other| kind == Kind::Static && *other != host) {
                participant.expect(&name(other), &expected(other, hosts));
            }
            sides.push(create(participant, now, host, hosts));
        });
    }
    let all_matched = |net: &Net| {
        let mut all = net.hosts.iter().flatten().zip(&sides).enumerate();
        all.all(|(host, (one, side))| is_matched(&one.participant, side, host, hosts))
    };
    while !all_matched(&net) && net.now < 60_000 * MS {
        let until = net.now + MS;
        while net.step(until).is_some() {}
    }
    let matched = net.now / MS;
    net.run_for(1_000);
    let (datagrams, octets, sent) = (net.sent, net.octets, net.octets_sent);
    net.run_for(60_000);
    let each_second = (net.octets - octets) / 60;
    let name = kind.name();
    println!("{name},{hosts},{matched},{sent},{datagrams},{octets},{each_second}");
}

#[allow(clippy::print_stdout, reason = "an example says what it found")]
fn main() {
    println!("discovery,participants,matched_ms,octets_sent,datagrams,octets,octets_per_s");
    for kind in [Kind::Usual, Kind::OnDemand, Kind::Static] {
        for hosts in [10, 20, 50, 100] {
            measure(kind, hosts);
        }
    }
}
