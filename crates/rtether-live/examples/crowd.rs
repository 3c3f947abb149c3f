//! One of many participants that start at once, for `benches/discovery.sh`.
//!
//! `crowd KIND INDEX COUNT ADDRESS SECONDS`: publishes and subscribes as those of
//! `examples/discovery.rs` of `rtether-rtps`, in one domain, with KIND `usual`, `on-demand` or
//! `static`, or as a node of `rtether new --template ros2` with `ros2`, and prints after how many
//! milliseconds it had all its matches.
#![allow(clippy::print_stdout, reason = "an example says what it found")]

use rtether_live::rtps::{Domain, DomainOptions};
use rtether_rtps::engine::{Discovery, ExpectedEndpoint, TopicName};
use rtether_rtps::qos::{History, Qos, Reliability};
use rtether_rtps::time::Duration;

const TYPE: &str = "Sample";
/// Type of what the simulation publishes.
const SIMULATED: &str = "rtether::Octets";
/// Topics of a node of ROS 2 that say nothing.
const PLUMBING: usize = 8;

fn qos() -> Qos {
    let mut qos = Qos::writer();
    qos.reliability = Reliability::Reliable;
    qos.history = History::KeepLast(1);
    qos
}

/// Returns the topics of a participant, and whether it publishes each.
fn topics(host: usize, hosts: usize) -> Vec<(bool, String)> {
    let (next, after) = ((host + 1) % hosts, (host + 2) % hosts);
    let last = if host == 0 { "clock".to_owned() } else { format!("plant/{host}/3") };
    vec![
        (true, format!("plant/{host}/0")),
        (true, format!("plant/{host}/1")),
        (true, format!("plant/{host}/2")),
        (true, last),
        (false, format!("plant/{next}/0")),
        (false, format!("plant/{next}/1")),
        (false, format!("plant/{after}/2")),
        (false, "clock".to_owned()),
    ]
}

/// Returns the same of a node of the template, whose topics have the names of its flows.
fn topics_of_node(host: usize, hosts: usize) -> Vec<(bool, String)> {
    let before = (host + hosts - 1) % hosts;
    let ends = [(true, host + 1), (false, before + 1)];
    let topics = ends.into_iter().flat_map(|(is_writer, node)| {
        let state = (is_writer, format!("state {node}"));
        let silent = (1..=PLUMBING).map(move |part| (is_writer, format!("silent {node}.{part}")));
        [state].into_iter().chain(silent)
    });
    topics.collect()
}

fn expected(host: usize, hosts: usize) -> Vec<ExpectedEndpoint> {
    let endpoint = |(number, (is_writer, topic))| ExpectedEndpoint {
        number,
        is_writer,
        has_key: false,
        topic,
        type_name: TYPE.to_owned(),
        qos: qos(),
    };
    (1..).zip(topics(host, hosts)).map(endpoint).collect()
}

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let [kind, host, hosts, address, seconds] = &arguments[..] else {
        return Err("usage: crowd KIND INDEX COUNT ADDRESS SECONDS".into());
    };
    let (host, hosts): (usize, usize) = (host.parse()?, hosts.parse()?);
    let mut domain = Domain::open(&DomainOptions {
        name: if kind == "ros2" { format!("node{}", host + 1) } else { format!("station-{host}") },
        interface: Some(address.parse()?),
        discovery: if kind == "on-demand" { Discovery::OnDemand } else { Discovery::All },
        ..DomainOptions::default()
    })?;
    let begun = domain.now();
    for other in (0..hosts).filter(|other| kind == "static" && *other != host) {
        let endpoints = expected(other, hosts);
        let name = format!("station-{other}");
        domain.participant_mut().expect(&name, &endpoints);
    }
    let (mut writers, mut readers) = (Vec::new(), Vec::new());
    let now = domain.now();
    let is_node = kind == "ros2";
    let (type_name, all) = if is_node {
        (SIMULATED, topics_of_node(host, hosts))
    } else {
        (TYPE, topics(host, hosts))
    };
    for (is_writer, topic) in all {
        let topic = &topic;
        let name = TopicName { topic, type_name };
        let participant = domain.participant_mut();
        if is_writer {
            writers.extend(participant.create_writer(now, name, false, qos()));
        } else {
            readers.extend(participant.create_reader(now, name, None, qos()));
        }
    }
    let wanted = if is_node {
        vec![1; writers.len()]
    } else {
        vec![1, 1, 1, if host == 0 { hosts } else { 0 }]
    };
    let until = begun + Duration::from_s(seconds.parse()?);
    let mut matched = None;
    while domain.now() < until {
        domain.step(until)?;
        let participant = domain.participant_mut();
        participant.discard_events(|_| false);
        let is_read = readers.iter().all(|one| participant.writers_of(*one) == 1);
        let mut both = writers.iter().zip(&wanted);
        if matched.is_none()
            && is_read
            && both.all(|(one, all)| participant.readers_of(*one) == *all)
        {
            matched = Some(domain.now() - begun);
        }
    }
    match matched {
        Some(after) => println!("{}", after.as_ns() / 1_000_000),
        None => println!("-"),
    }
    Ok(())
}
