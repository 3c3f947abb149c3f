//! A peer like those in `interop/`, with the RTPS engine of rtether: same command line, same
//! output.
//!
//! ```sh
//! cargo run --release -p rtether-live --example rtps_peer -- sub --reliable
//! ```
#![allow(clippy::print_stdout, clippy::print_stderr, reason = "an example for the terminal")]

mod options;
mod rates;

use std::process::ExitCode;

use options::{Final, Options, Verb};
use rtether_live::rtps::{Domain, DomainOptions, EthernetOptions};
use rtether_live::wait::Waiting;
use rtether_rtps::cdr::Data;
use rtether_rtps::engine::{Event, NewFilter};
use rtether_rtps::filter::Judge;
use rtether_rtps::qos::{History, Ownership, Qos, Reliability, Representation};
use rtether_rtps::reader::InstanceState;
use rtether_rtps::time::{Duration, Instant};
use rtether_rtps::typed::{
    Publication, PublicationOptions, PublishError, Subscription, SubscriptionOptions,
};
use rtether_rtps::types::ShapeType;
use rtether_rtps::writer::WriteError;

/// As in `interop/peer.idl`.
#[derive(Data)]
#[rtps(final)]
struct Octets {
    payload: Vec<u8>,
}

type Failure = Box<dyn std::error::Error>;

/// Longest time between checks whether to stop.
const LOOK: Duration = Duration::from_ms(100);
/// Time between the match and the first sample.
const SETTLE: Duration = Duration::from_ms(1_500);
/// Longest wait for acknowledgments.
const ACKNOWLEDGED: Duration = Duration::from_s(5);
const WARM_UP: usize = 1_000;

fn main() -> ExitCode {
    let options = match Options::parse(std::env::args().skip(1)) {
        Ok(options) => options,
        Err(error) => {
            eprintln!("{error}");
            return ExitCode::from(2);
        }
    };
    let done = match options.verb {
        Verb::Publish => publish(&options),
        Verb::Subscribe => subscribe(&options),
        Verb::Echo => echo(&options),
        Verb::Ping => ping(&options),
        Verb::Pump => rates::pump(&options),
        Verb::Drain => rates::drain(&options),
    };
    match done {
        Ok(()) => {
            println!("done");
            ExitCode::SUCCESS
        }
        Err(error) => {
            eprintln!("error: {error}");
            ExitCode::FAILURE
        }
    }
}

fn open(options: &Options) -> Result<Domain, Failure> {
    let frames =
        |device: &String| EthernetOptions { vlan: options.vlan, ..EthernetOptions::on(device) };
    Ok(Domain::open(&DomainOptions {
        domain: options.domain,
        interface: options.interface,
        peers: options.peers.clone(),
        multicast: options.multicast,
        loss: options.loss,
        ethernet: options.device.as_ref().map(frames),
        waiting: if options.spins { Waiting::Spin } else { Waiting::Block },
        ..DomainOptions::default()
    })?)
}

fn no_room() -> Failure {
    "no room for an endpoint".into()
}

/// Prints events; updates the number of matched endpoints.
fn report(domain: &mut Domain, matched: &mut usize) {
    while let Some(event) = domain.participant_mut().poll_event() {
        match event {
            Event::ReaderMatched { .. } | Event::WriterMatched { .. } => {
                *matched += 1;
                println!("matched {matched}");
            }
            Event::ReaderUnmatched { .. } | Event::WriterUnmatched { .. } => {
                *matched = matched.saturating_sub(1);
                println!("unmatched");
            }
            Event::OfferedIncompatible { policies, .. }
            | Event::RequestedIncompatible { policies, .. } => {
                for mismatch in policies {
                    let name = mismatch.policy.name().to_uppercase().replace(' ', "_");
                    println!("incompatible {name}");
                    eprintln!("{mismatch}");
                }
            }
            Event::DeadlineMissed { overdue, .. }
            | Event::OfferedDeadlineMissed { overdue, .. } => {
                for _ in 0..overdue {
                    println!("deadline missed");
                }
            }
            Event::ParticipantFound { .. }
            | Event::ParticipantLost { .. }
            | Event::Refused { .. }
            | Event::Withheld { .. }
            | Event::WriterSilent { .. } => {}
        }
    }
}

fn end(domain: &Domain, options: &Options) -> Instant {
    options.for_s.map_or(Instant::NEVER, |s| domain.now() + Duration::from_s(s))
}

fn wait(domain: &mut Domain, matched: &mut usize, until: Instant) -> Result<(), Failure> {
    while domain.now() < until {
        domain.step(until.min(domain.now() + LOOK))?;
        report(domain, matched);
    }
    Ok(())
}

fn publish(options: &Options) -> Result<(), Failure> {
    let mut domain = open(options)?;
    let now = domain.now();
    let (topic, qos) = (options.topic.as_str(), options.qos.clone());
    let more = PublicationOptions {
        judge: Some(Judge::of::<ShapeType>()),
        ..PublicationOptions::default()
    };
    let participant = domain.participant_mut();
    let mut publication = Publication::<ShapeType>::open(participant, now, topic, qos, more)?;
    let mut matched = 0;
    let end = end(&domain, options);
    if options.waits {
        while matched == 0 && domain.now() < end {
            domain.step(domain.now() + LOOK)?;
            report(&mut domain, &mut matched);
        }
        let settled = domain.now() + SETTLE;
        wait(&mut domain, &mut matched, settled)?;
    }
    let mut value = ShapeType {
        color: options.color.clone(),
        shapesize: 30,
        additional_payload_size: (0..options.size)
            .map(|i| u8::try_from(i % 251).unwrap_or(0))
            .collect(),
        ..ShapeType::default()
    };
    let mut due = domain.now();
    let mut sent = 0;
    while (options.count == 0 || sent < options.count) && domain.now() < end {
        value.x += 1;
        value.y = 2 * value.x;
        loop {
            let now = domain.now();
            match publication.publish(domain.participant_mut(), now, &value) {
                Ok(_) => break,
                Err(PublishError::Write(WriteError::Full)) => {
                    domain.step(now + Duration::from_ms(1))?;
                }
                Err(error) => return Err(error.into()),
            }
        }
        sent += 1;
        due = due + Duration::from_ms(options.period_ms);
        domain.flush()?;
        wait(&mut domain, &mut matched, due.min(end))?;
    }
    let now = domain.now();
    match options.at_end {
        Final::Nothing => {}
        Final::Dispose => drop(publication.dispose(domain.participant_mut(), now, &value)?),
        Final::Unregister => drop(publication.unregister(domain.participant_mut(), now, &value)?),
    }
    let patience = domain.now() + ACKNOWLEDGED;
    domain.flush()?;
    while options.qos.reliability == Reliability::Reliable
        && !domain.participant().is_acknowledged(publication.id())
        && domain.now() < patience
    {
        domain.step(domain.now() + Duration::from_ms(10))?;
        report(&mut domain, &mut matched);
    }
    println!("sent {sent}");
    if options.for_s.is_some() {
        wait(&mut domain, &mut matched, end)?;
    }
    Ok(())
}

fn subscribe(options: &Options) -> Result<(), Failure> {
    let mut domain = open(options)?;
    let now = domain.now();
    let mut qos = options.qos.clone();
    qos.lifespan = Duration::INFINITE;
    let topic = options.topic.as_str();
    let filter = options.content.as_ref().map(|expression| NewFilter {
        topic: "content",
        expression,
        parameters: &[],
        judge: Judge::of::<ShapeType>(),
    });
    let more = SubscriptionOptions { filter, ..SubscriptionOptions::default() };
    let participant = domain.participant_mut();
    let mut subscription = Subscription::<ShapeType>::open(participant, now, topic, qos, more)?;
    let (mut matched, mut samples) = (0, 0);
    let end = end(&domain, options);
    while domain.now() < end && (options.count == 0 || samples < options.count) {
        domain.step(end.min(domain.now() + LOOK))?;
        report(&mut domain, &mut matched);
        let now = domain.now();
        while let Some(received) = subscription.take(domain.participant_mut(), now) {
            let Some(value) = received.value else {
                continue;
            };
            let color = &value.color;
            match received.info.state {
                _ if received.info.is_valid => {
                    let payload = &value.additional_payload_size;
                    let is_right = |(i, octet): (usize, &u8)| usize::from(*octet) == i % 251;
                    if !payload.iter().enumerate().all(is_right) {
                        return Err("a payload is not as written".into());
                    }
                    let (x, y, size) = (value.x, value.y, value.shapesize);
                    println!("sample {color} {x} {y} {size} {}", payload.len());
                    samples += 1;
                }
                InstanceState::Disposed => println!("disposed {color}"),
                InstanceState::NoWriters => println!("unregistered {color}"),
                InstanceState::Alive => {}
            }
        }
    }
    if subscription.malformed() > 0 {
        return Err("a sample is no ShapeType".into());
    }
    Ok(())
}

fn round_trip_qos() -> Qos {
    Qos {
        reliability: Reliability::Reliable,
        history: History::KeepLast(1),
        ownership: Ownership::Shared,
        representations: vec![Representation::Xcdr1],
        ..Qos::reader()
    }
}

fn echo(options: &Options) -> Result<(), Failure> {
    let mut domain = open(options)?;
    let now = domain.now();
    let participant = domain.participant_mut();
    let ping = Subscription::<Octets>::create(participant, now, "PingTopic", round_trip_qos());
    let pong = Publication::<Octets>::create(participant, now, "PongTopic", round_trip_qos());
    let (ping, pong) = (ping.ok_or_else(no_room)?, pong.ok_or_else(no_room)?);
    let end = end(&domain, options);
    let mut payload = Vec::new();
    while domain.now() < end {
        domain.step(end.min(domain.now() + LOOK))?;
        let now = domain.now();
        let participant = domain.participant_mut();
        loop {
            payload.clear();
            let taken = participant.take(now, ping.id(), |_, octets, _| {
                payload.extend_from_slice(octets);
            });
            if taken.is_none() {
                break;
            }
            participant.write(now, pong.id(), &rtether_rtps::engine::NewSample::value(&payload))?;
        }
        participant.discard_events(|_| false);
        domain.flush()?;
    }
    Ok(())
}

fn ping(options: &Options) -> Result<(), Failure> {
    let mut domain = open(options)?;
    let now = domain.now();
    let participant = domain.participant_mut();
    let ping = Publication::<Octets>::create(participant, now, "PingTopic", round_trip_qos());
    let pong = Subscription::<Octets>::create(participant, now, "PongTopic", round_trip_qos());
    let (mut ping, pong) = (ping.ok_or_else(no_room)?, pong.ok_or_else(no_room)?);
    let mut matched = 0;
    while matched < 2 {
        domain.step(domain.now() + LOOK)?;
        report(&mut domain, &mut matched);
    }
    let settled = domain.now() + SETTLE;
    wait(&mut domain, &mut matched, settled)?;
    let value = Octets { payload: vec![0; options.size] };
    let mut taken_ns = Vec::new();
    let total = usize::try_from(options.count)? + WARM_UP;
    for number in 0..total {
        let start = domain.now();
        ping.publish(domain.participant_mut(), start, &value)?;
        let patience = start + Duration::from_s(1);
        let mut came = false;
        while !came && domain.now() < patience {
            domain.step(patience)?;
            let now = domain.now();
            came = domain.participant_mut().take(now, pong.id(), |_, _, _| ()).is_some();
        }
        if came && number >= WARM_UP {
            taken_ns.push((domain.now() - start).as_ns());
        }
        domain.participant_mut().discard_events(|_| false);
        let next = start + Duration::from_ms(options.period_ms);
        wait(&mut domain, &mut matched, next)?;
    }
    taken_ns.sort_unstable();
    let at = |part: usize| taken_ns.get(taken_ns.len() * part / 1_000).copied().unwrap_or(0);
    let us = |ns: i64| format!("{}.{:03}", ns / 1_000, ns % 1_000);
    let (min, max) = (at(0), taken_ns.last().copied().unwrap_or(0));
    let line = [at(500), at(990), at(999), min, max].map(us).join(" ");
    println!("rtt_us {line}");
    Ok(())
}
