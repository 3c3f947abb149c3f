//! Discovery on demand of publications and subscriptions.

use std::net::Ipv4Addr;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;

use rtether_live::rtps::{Domain, DomainOptions};
use rtether_model::quantity::Duration;
use rtether_rtps::engine::{NewReader, TopicName};
use rtether_rtps::qos::Qos;
use rtether_rtps::time;
use rtether_testbed::topics::{
    Discovery, ParticipantOptions, Protocol, PublishOptions, Role, Said, SubscribeOptions, Summary,
    TopicOptions, TopicType, Values, publish, subscribe,
};
use rtether_testbed::{LiveError, Thread};

use crate::topics::{domain, participant};

fn topic(participant: ParticipantOptions) -> TopicOptions {
    TopicOptions {
        participant,
        thread: Thread::default(),
        topic: "shared".to_owned(),
        kind: TopicType::Ping,
        qos: Qos::reader(),
        count: None,
        duration: Some(Duration::from_secs(20)),
    }
}

fn write(topic: TopicOptions, stop: &AtomicBool) -> Result<Summary, LiveError> {
    let options = PublishOptions {
        topic,
        period: Duration::from_ms(20),
        size: 0,
        linger: Duration::ZERO,
        color: String::new(),
        describes: false,
    };
    publish(&options, Values::Made, stop, |_: Said<'_>| ())
}

fn read(topic: TopicOptions, stop: &AtomicBool, has_read: &AtomicBool) -> Summary {
    let options = SubscribeOptions { topic, delay: false, clock_error: None };
    let read = subscribe(&options, stop, |said| {
        if matches!(said, Said::Sample(_)) {
            has_read.store(true, Ordering::Relaxed);
        }
    });
    read.expect("a subscription")
}

/// Opens a participant with a topic of its own.
fn other(number: u16, discovery: Discovery) -> Domain {
    let mut other = Domain::open(&DomainOptions {
        domain: number,
        interface: Some(Ipv4Addr::LOCALHOST),
        peers: vec![Ipv4Addr::LOCALHOST],
        multicast: false,
        discovery,
        ..DomainOptions::default()
    })
    .expect("a participant");
    let now = other.now();
    let new = NewReader {
        name: TopicName { topic: "another", type_name: "rtether::Ping" },
        key_of: None,
        qos: Qos::reader(),
        filter: None,
        subscriber: None,
    };
    let reader = other.participant_mut().add_reader(now, new);
    reader.expect("room");
    other
}

/// Returns how many participants of `pub` and `sub` it knows, and how many endpoints of them.
fn known(other: &Domain) -> (usize, usize) {
    let participant = other.participant();
    let all = participant.participants();
    let theirs = all.filter(|one| one.name != "rtether");
    let theirs: Vec<_> = theirs.map(|one| one.prefix).collect();
    let endpoints = participant.endpoints();
    let endpoints = endpoints.filter(|(_, one)| theirs.contains(&one.guid.prefix));
    (theirs.len(), endpoints.count())
}

#[test]
fn endpoints_are_exchanged_with_those_that_share_the_topic() {
    // Oracle: how many endpoints two participants have that do not share the topic: one that
    // discovers on demand none, one that discovers all both.
    let number = domain(2);
    let on_demand = || ParticipantOptions { discovery: Discovery::OnDemand, ..participant(number) };
    let mut others = [Discovery::OnDemand, Discovery::All].map(|kind| other(number, kind));
    let [stop, has_read] = [const { AtomicBool::new(false) }; 2];
    let (written, read) = thread::scope(|scope| {
        let writing = scope.spawn(|| write(topic(on_demand()), &stop));
        let reading = scope.spawn(|| read(topic(on_demand()), &stop, &has_read));
        let end = others[0].now() + time::Duration::from_s(15);
        let is_done = |others: &[Domain; 2]| {
            has_read.load(Ordering::Relaxed) && others.each_ref().map(known) == [(2, 0), (2, 2)]
        };
        while !is_done(&others) && others[0].now() < end {
            for other in &mut others {
                let look = other.now() + time::Duration::from_ms(5);
                other.step(look).expect("a step");
            }
        }
        stop.store(true, Ordering::Relaxed);
        let written = writing.join().expect("no panic").expect("a publication");
        (written, reading.join().expect("no panic"))
    });
    assert_eq!(others.each_ref().map(known), [(2, 0), (2, 2)]);
    assert!(read.samples > 0);
    assert_eq!((written.matched, read.matched), (1, 1));
}

#[test]
fn rtps_1_0_does_not_know_it() {
    // Oracle: `Discovery::OnDemand`: in RTPS 1.0 as `All`, which would not be what was asked for.
    let asked = ParticipantOptions {
        discovery: Discovery::OnDemand,
        protocol: Protocol::Rtps1(Role::Application),
        ..participant(domain(3))
    };
    let refused = write(topic(asked), &AtomicBool::new(false)).expect_err("refused");
    assert!(refused.is_wrong_input());
    assert!(refused.to_string().contains("RTPS 1.0"), "{refused}");
}
