//! A participant of RTPS 1.0: the manager of this host, a publication or a subscription.
//!
//! `rtps1 manager PEER...` | `rtps1 pub|sub TOPIC small|large best|strict [COUNT] [PERIOD_MS]
//! [STRENGTH] [PERSISTENCE_MS] [SEPARATION_MS] [DEADLINE_MS] [LOSS]` | `rtps1 echo|ping TOPIC`
//!
//! Samples are those of `interop/orte.c`. Prints `sample NUMBER WRITER MS`, and `rtt` of `ping`.
#![allow(clippy::print_stdout, reason = "this is its output")]

use std::error::Error;
use std::net::Ipv4Addr;

use rtether_live::rtps::{Domain, DomainOptions};
use rtether_rtps::cdr::Data;
use rtether_rtps::engine::{Event, Protocol};
use rtether_rtps::qos::{History, Ownership, Qos, Reliability};
use rtether_rtps::time::{Duration, Instant};
use rtether_rtps::typed::{Publication, Subscription};
use rtether_rtps::wire::v1::Role;

type Outcome = Result<(), Box<dyn Error>>;

mod small {
    use super::Data;

    /// A number, and octets that have its lowest eight bits.
    #[derive(Clone, Debug, Data)]
    #[rtps(final)]
    pub(crate) struct Numbered {
        pub(crate) number: u32,
        pub(crate) fill: [u8; 60],
    }
}

mod large {
    use super::Data;

    /// The same in a datagram of several frames.
    #[derive(Clone, Debug, Data)]
    #[rtps(final)]
    pub(crate) struct Numbered {
        pub(crate) number: u32,
        pub(crate) fill: [u8; 9_996],
    }
}

/// A sample of either size.
trait Sample: Data + Clone {
    fn new(number: u32) -> Self;
    fn number(&self) -> u32;
    fn is_whole(&self) -> bool;
}

macro_rules! sample {
    ($module:ident) => {
        impl Sample for $module::Numbered {
            fn new(number: u32) -> Self {
                let [low, ..] = number.to_le_bytes();
                let fill = [low; _];
                Self { number, fill }
            }

            fn number(&self) -> u32 {
                self.number
            }

            fn is_whole(&self) -> bool {
                let [low, ..] = self.number.to_le_bytes();
                self.fill.iter().all(|octet| *octet == low)
            }
        }
    };
}
sample!(small);
sample!(large);

/// What the command line says, by position.
struct Wish {
    topic: String,
    count: u32,
    period: Duration,
    qos: Qos,
    loss: u16,
}

fn number(arguments: &[String], at: usize, usual: i64) -> i64 {
    let text = arguments.get(at).and_then(|text| text.parse().ok());
    text.unwrap_or(usual)
}

impl Wish {
    fn of(arguments: &[String]) -> Self {
        let ms = |at| Duration::from_ms(number(arguments, at, 0));
        let is_strict = arguments.get(3).is_some_and(|text| text == "strict");
        let deadline = ms(9);
        let narrow = |at, usual| i32::try_from(number(arguments, at, usual)).unwrap_or(0);
        let qos = Qos {
            reliability: if is_strict { Reliability::Reliable } else { Reliability::BestEffort },
            history: History::KeepAll,
            ownership: Ownership::Exclusive,
            strength: narrow(6, 1),
            persistence: Some(ms(7)),
            time_based_filter: ms(8),
            deadline: deadline.or_never(),
            ..Qos::writer()
        };
        Self {
            topic: arguments.get(1).cloned().unwrap_or_default(),
            count: u32::try_from(number(arguments, 4, 100)).unwrap_or(0),
            period: Duration::from_ms(number(arguments, 5, 50)),
            qos,
            loss: u16::try_from(number(arguments, 10, 0)).unwrap_or(0),
        }
    }
}

fn open(role: Role, peers: Vec<Ipv4Addr>, loss: u16) -> Result<Domain, Box<dyn Error>> {
    Ok(Domain::open(&DomainOptions {
        protocol: Protocol::Rtps1(role),
        multicast: peers.is_empty(),
        peers,
        lease: Duration::from_s(180),
        announce_period: Some(Duration::from_s(2)),
        loss,
        ..DomainOptions::default()
    })?)
}

fn manage(peers: &[String]) -> Outcome {
    let peers: Result<Vec<Ipv4Addr>, _> = peers.iter().map(|text| text.parse()).collect();
    let mut domain = open(Role::Manager, peers?, 0)?;
    loop {
        domain.step(Instant::NEVER)?;
        while let Some(event) = domain.participant_mut().poll_event() {
            println!("{event:?}");
        }
    }
}

fn wait(domain: &mut Domain, span: Duration) -> Outcome {
    let until = domain.now() + span;
    while domain.now() < until {
        domain.step(until)?;
    }
    Ok(())
}

fn publish<T: Sample>(wish: &Wish) -> Outcome {
    let mut domain = open(Role::Application, Vec::new(), wish.loss)?;
    let now = domain.now();
    let made = Publication::create(domain.participant_mut(), now, &wish.topic, wish.qos.clone());
    let mut publication: Publication<T> = made.ok_or("no room")?;
    while domain.participant().readers_of(publication.id()) == 0 {
        wait(&mut domain, Duration::from_ms(50))?;
    }
    wait(&mut domain, Duration::from_ms(300))?;
    for number in 1..=wish.count {
        let now = domain.now();
        while publication.publish(domain.participant_mut(), now, &T::new(number)).is_err() {
            wait(&mut domain, Duration::from_ms(1))?;
        }
        wait(&mut domain, wish.period)?;
    }
    wait(&mut domain, Duration::from_s(3))
}

fn subscribe<T: Sample>(wish: &Wish) -> Outcome {
    let mut domain = open(Role::Application, Vec::new(), wish.loss)?;
    let now = domain.now();
    let made = Subscription::create(domain.participant_mut(), now, &wish.topic, wish.qos.clone());
    let mut subscription: Subscription<T> = made.ok_or("no room")?;
    loop {
        domain.step(Instant::NEVER)?;
        let now = domain.now();
        while let Some(event) = domain.participant_mut().poll_event() {
            if let Event::DeadlineMissed { .. } = event {
                println!("deadline {}", now.as_ns() / 1_000_000);
            }
        }
        while let Some(taken) = subscription.take(domain.participant_mut(), now) {
            let Some(value) = taken.value else { continue };
            let (number, ms) = (value.number(), now.as_ns() / 1_000_000);
            println!("sample {number} {} {ms}", taken.info.writer.prefix);
            if !value.is_whole() {
                println!("broken {number}");
            }
        }
    }
}

fn round_trips(wish: &Wish, is_echo: bool) -> Outcome {
    let mut domain = open(Role::Application, Vec::new(), 0)?;
    let back = format!("{}/back", wish.topic);
    let (out, back) = if is_echo {
        (back.as_str(), wish.topic.as_str())
    } else {
        (wish.topic.as_str(), back.as_str())
    };
    let qos = Qos { reliability: Reliability::Reliable, ..wish.qos.clone() };
    let now = domain.now();
    let participant = domain.participant_mut();
    let made = Publication::create(participant, now, out, qos.clone());
    let mut out: Publication<small::Numbered> = made.ok_or("no room")?;
    let made = Subscription::create(participant, now, back, qos);
    let mut back: Subscription<small::Numbered> = made.ok_or("no room")?;
    if !is_echo {
        while domain.participant().readers_of(out.id()) == 0 {
            wait(&mut domain, Duration::from_ms(50))?;
        }
        wait(&mut domain, Duration::from_s(1))?;
    }
    let (mut spans, mut sent, mut number) = (Vec::new(), domain.now(), 0);
    loop {
        let now = domain.now();
        if !is_echo && (number == 0 || now >= sent + wish.period) {
            number += 1;
            if number > wish.count {
                break;
            }
            sent = now;
            let value = small::Numbered::new(number);
            out.publish(domain.participant_mut(), now, &value)?;
        }
        let until = if is_echo { Instant::NEVER } else { sent + wish.period };
        domain.step(until)?;
        let now = domain.now();
        while let Some(taken) = back.take(domain.participant_mut(), now) {
            let Some(value) = taken.value else { continue };
            if is_echo {
                out.publish(domain.participant_mut(), now, &value)?;
                domain.flush()?;
            } else if value.number == number {
                spans.push((domain.now() - sent).as_ns());
            }
        }
    }
    spans.sort_unstable();
    let of = |share: usize| spans.get(spans.len() * share / 100).copied().unwrap_or(0);
    println!("rtt {} of {} p50 {} p99 {} ns", spans.len(), wish.count, of(50), of(99));
    Ok(())
}

fn main() -> Outcome {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let wish = Wish::of(&arguments);
    let is_large = arguments.get(2).is_some_and(|text| text == "large");
    match (arguments.first().map(String::as_str), is_large) {
        (Some("manager"), _) => manage(&arguments[1..]),
        (Some("pub"), false) => publish::<small::Numbered>(&wish),
        (Some("pub"), true) => publish::<large::Numbered>(&wish),
        (Some("sub"), false) => subscribe::<small::Numbered>(&wish),
        (Some("sub"), true) => subscribe::<large::Numbered>(&wish),
        (Some("ping"), _) => round_trips(&wish, false),
        (Some("echo"), _) => round_trips(&wish, true),
        _ => Err("usage: rtps1 manager|pub|sub|ping|echo ...".into()),
    }
}
