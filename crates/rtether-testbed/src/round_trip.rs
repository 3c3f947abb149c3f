//! Round trips over two topics: the responder returns each sample of one topic on the other.
//!
//! As in the measurements of Dolejs et al.: each side publishes the topic to which the other
//! subscribes.

use std::io;
use std::sync::atomic::{AtomicBool, Ordering};

use rtether_live::clock::Clock;
use rtether_live::host::rights::cores;
use rtether_live::responder::Answered;
use rtether_live::rtps::Domain;
use rtether_live::stall::Sleeper;
use rtether_model::quantity::Instant;
use rtether_proto::probe::{Event, Prober};
use rtether_rtps::qos::{History, Qos, Reliability};
use rtether_rtps::time;
use rtether_rtps::typed::{Publication, PublishError, Subscription};
use rtether_rtps::types::Ping;
use rtether_rtps::writer::WriteError;

use crate::topics::{LOOK, SIZE_MAX, no_room, place, span};
use crate::watchers::{gaps, watchers};
use crate::{EchoOptions, LiveError, Marks, PingOptions, Via, session, why_ended};
use rtether::meter::{Measurement, Subject};

/// Topics of requests and answers.
const REQUESTS: &str = "rtether/ping";
const ANSWERS: &str = "rtether/pong";
/// How long to wait for a responder.
const PATIENCE: time::Duration = time::Duration::from_s(10);
/// From the match to the first request: the other side may learn of the match later.
const SETTLE: time::Duration = time::Duration::from_ms(500);

/// Writer and reader of one side.
struct Ends {
    out: Publication<Ping>,
    back: Subscription<Ping>,
}

impl Ends {
    fn open(domain: &mut Domain, out: &str, back: &str, marks: Marks) -> Result<Self, LiveError> {
        let qos = Qos {
            reliability: Reliability::Reliable,
            history: History::KeepLast(1),
            transport_priority: priority(marks),
            ..Qos::reader()
        };
        let (now, participant) = (domain.now(), domain.participant_mut());
        let out = Publication::create(participant, now, out, qos.clone());
        let back = Subscription::create(participant, now, back, qos);
        Ok(Self { out: out.ok_or_else(no_room)?, back: back.ok_or_else(no_room)? })
    }

    fn is_matched(&self, domain: &Domain) -> bool {
        let participant = domain.participant();
        participant.readers_of(self.out.id()) > 0 && participant.writers_of(self.back.id()) > 0
    }

    /// Publishes and sends a value; returns whether there was room for it.
    fn send(&mut self, domain: &mut Domain, value: &Ping) -> io::Result<bool> {
        let now = domain.now();
        match self.out.publish(domain.participant_mut(), now, value) {
            Ok(_) => domain.flush().map(|()| true),
            Err(PublishError::Write(WriteError::Full)) => Ok(false),
            Err(error) => Err(io::Error::other(error.to_string())),
        }
    }

    fn take(&mut self, domain: &mut Domain) -> Option<Ping> {
        let now = domain.now();
        loop {
            let received = self.back.take(domain.participant_mut(), now)?;
            if let Some(value) = received.value.filter(|_| received.info.is_valid) {
                return Some(value);
            }
        }
    }
}

/// Returns the priority of samples as a DSCP, whose upper three bits are the PCP.
fn priority(marks: Marks) -> i32 {
    let pcp = marks.pcp.map(|pcp| i32::from(pcp.get()) << 3);
    pcp.unwrap_or(marks.dscp.into())
}

/// Waits for an arrival, at most until `until` or the next look.
fn step(domain: &mut Domain, until: time::Instant) -> io::Result<()> {
    let look = domain.now() + LOOK;
    domain.step(until.min(look))?;
    domain.participant_mut().discard_events(|_| false);
    Ok(())
}

/// Refuses options that topics do not support.
fn check(options: &PingOptions) -> Result<(), LiveError> {
    let unsuited = |option, help| Err(LiveError::Unsuited { option, via: Via::Rtps.name(), help });
    if options.stamps {
        return unsuited("--stamps", "use `--via udp` or `--via raw`");
    }
    if options.one_way {
        return unsuited("--one-way", "use udp, raw, xdp or tcp");
    }
    if options.payload > usize::try_from(SIZE_MAX).unwrap_or(usize::MAX) {
        return Err(LiveError::Topic(format!("at most {SIZE_MAX} octets of payload fit a sample")));
    }
    Ok(())
}

/// Measures round trips over topics.
pub(crate) fn ask(
    options: &PingOptions,
    stop: &AtomicBool,
    watch: &mut impl FnMut(&Event),
) -> Result<Measurement, LiveError> {
    check(options)?;
    // Listed before this thread is pinned to one.
    let cores = cores();
    let (mut domain, _) = options.participant.open("rtether ping", options.thread)?;
    let ends = Ends::open(&mut domain, REQUESTS, ANSWERS, options.marks)?;
    let mut measurement = Measurement::new(Subject {
        target: format!("domain {}", options.participant.domain),
        via: options.via.name().to_owned(),
        command: String::new(),
        payload: options.payload,
        series: options.config.series,
        samples: options.config.samples,
        deadline: options.deadline,
    });
    let mut asking = Asking {
        domain,
        ends,
        value: Ping { session: session(), payload: vec![0; options.payload], ..Ping::default() },
        unsent: 0,
        foreign: 0,
    };
    match asking.find(stop) {
        Ok(true) => {}
        // The table reports that there was no answer.
        Ok(false) => return Ok(measurement),
        Err(error) => {
            measurement.ended = Some(why_ended(&error));
            return Ok(measurement);
        }
    }
    let clock = Clock::start();
    let mut prober = Prober::new(options.config, clock.now())?;
    let mut sleeper = Sleeper::new(clock.now());
    let watchers = watchers(options, &cores, clock, sleeper.awaited());
    let ended = asking.run(&mut prober, (clock, &mut sleeper), stop, |event| {
        watch(&event);
        measurement.record(event);
    });
    measurement.gaps = gaps(sleeper.stalls().clone(), watchers);
    measurement.counters = prober.counters();
    let malformed = asking.ends.back.malformed();
    measurement.oddities.extend([
        ("malformed", malformed),
        ("foreign", asking.foreign),
        ("unsent", asking.unsent + asking.domain.unsent()),
    ]);
    let participant = asking.domain.participant();
    let versions = participant.counters().versions;
    measurement.oddities.extend(versions.iter().map(odd));
    measurement.ended = match ended {
        Err(error) => Some(why_ended(&error)),
        Ok(()) if !prober.is_finished() => Some("interrupted".to_owned()),
        Ok(()) => None,
    };
    Ok(measurement)
}

/// Returns the name and the count of datagrams of a version that is not spoken.
const fn odd(([major, minor], count): ([u8; 2], u64)) -> (&'static str, u64) {
    let name = match (major, minor) {
        (1, 0) => "of RTPS 1.0",
        (1, _) => "of RTPS 1",
        (2, _) => "of RTPS 2",
        _ => "of other versions of RTPS",
    };
    (name, count)
}

/// The requesting side.
struct Asking {
    domain: Domain,
    ends: Ends,
    value: Ping,
    unsent: u64,
    foreign: u64,
}

impl Asking {
    /// Waits for a responder; returns whether there is one.
    fn find(&mut self, stop: &AtomicBool) -> io::Result<bool> {
        let begin = self.domain.now();
        let mut until = begin + PATIENCE;
        let mut is_found = false;
        while self.domain.now() < until && !stop.load(Ordering::Relaxed) {
            step(&mut self.domain, until)?;
            if !is_found && self.ends.is_matched(&self.domain) {
                is_found = true;
                until = self.domain.now() + SETTLE;
            }
        }
        Ok(is_found)
    }

    fn run(
        &mut self,
        prober: &mut Prober,
        (clock, sleeper): (Clock, &mut Sleeper),
        stop: &AtomicBool,
        mut on_event: impl FnMut(Event),
    ) -> io::Result<()> {
        while !prober.is_finished() && !stop.load(Ordering::Relaxed) {
            let now = clock.now();
            if let Some(request) = prober.poll_transmit(now) {
                self.value.sequence = request.sequence;
                self.value.sent_ns = now.since_start().as_ns_floor();
                if !self.ends.send(&mut self.domain, &self.value)? {
                    self.unsent += 1;
                }
            }
            let now = clock.now();
            sleeper.falls_asleep(now, !prober.is_idle());
            self.wait(prober, now)?;
            while let Some(answer) = self.ends.take(&mut self.domain) {
                if answer.session == self.value.session {
                    prober.handle_reply(clock.now(), answer.sequence);
                } else {
                    self.foreign += 1;
                }
                while let Some(event) = prober.poll_event() {
                    on_event(event);
                }
            }
            let now = clock.now();
            sleeper.wakes(now);
            prober.handle_timeout(now);
            while let Some(event) = prober.poll_event() {
                on_event(event);
            }
        }
        Ok(())
    }

    fn wait(&mut self, prober: &Prober, now: Instant) -> io::Result<()> {
        let mut until = self.domain.now() + LOOK;
        if let Some(due) = prober.poll_timeout() {
            let left = if due > now { span(due - now) } else { time::Duration::ZERO };
            until = until.min(self.domain.now() + left);
        }
        step(&mut self.domain, until)
    }
}

/// Returns every request as an answer, until `stop`.
pub(crate) fn answer(
    options: &EchoOptions,
    stop: &AtomicBool,
    ready: impl FnOnce(&str),
) -> Result<Answered, LiveError> {
    let (mut domain, confined) = options.participant.open("rtether echo", options.thread)?;
    let mut ends = Ends::open(&mut domain, ANSWERS, REQUESTS, options.marks)?;
    let (number, address) = (options.participant.domain, place(&domain.address()));
    let confined = confined.map_or_else(String::new, |confined| format!(", {confined}"));
    ready(&format!("{address} in domain {number} via rtps{confined}"));
    let mut answered = Answered::default();
    while !stop.load(Ordering::Relaxed) {
        let stepped = step(&mut domain, time::Instant::NEVER);
        stepped.map_err(|error| LiveError::socket("answering via rtps".to_owned(), error))?;
        while let Some(value) = ends.take(&mut domain) {
            match ends.send(&mut domain, &value) {
                Ok(true) => answered.answered += 1,
                Ok(false) => answered.unsent += 1,
                Err(error) => {
                    return Err(LiveError::socket("answering via rtps".to_owned(), error));
                }
            }
        }
    }
    answered.versions = domain.participant().counters().versions;
    answered.malformed = ends.back.malformed();
    answered.unsent += domain.unsent();
    Ok(answered)
}
