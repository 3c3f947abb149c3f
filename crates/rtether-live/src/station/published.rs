//! Flows over RTPS of a host: one participant, with a topic for each flow and one for the answers of
//! each listener.
//!
//! As in the simulation, a flow releases nothing before all its endpoints have found each other.

use std::collections::BTreeMap;
use std::io;
use std::mem;
use std::net::Ipv4Addr;
use std::sync::atomic::{AtomicBool, Ordering};

use rtether_model::quantity::{Duration, Instant};
use rtether_rtps::time;
use rtether_rtps::typed::{Publication, PublishError, Subscription};
use rtether_rtps::types::Octets;
use rtether_rtps::writer::WriteError;
use rtether_sim::release::Releases;
use rtether_sim::thinking::Thinking;
use rtether_sim::topic::{answers, policies};

use super::mark::Mark;
use super::{Answered, Arrived, Log, RECORDS_MAX, Sent, StationError, missed};
use crate::clock::Clock;
use crate::rtps::{Domain, DomainOptions};

/// Interval at which a host checks for a stop.
const LOOK: Duration = Duration::from_ms(50);
/// How long to wait before looking again for the reader of an answer.
const RETRY: Duration = Duration::from_ms(1);
/// Releases served before arrivals get their turn.
const AT_ONCE: usize = 64;

/// Policies of a flow.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Policy {
    /// Whether lost samples are sent again.
    pub is_reliable: bool,
    /// DSCP of the datagrams.
    pub dscp: u8,
}

/// A flow that starts here.
pub struct Published {
    /// First of its streams, which count up, one for each listener.
    pub stream: u16,
    /// Number of listeners.
    pub listeners: u16,
    /// Its topic.
    pub topic: String,
    /// Its policies.
    pub policy: Policy,
    /// Times of the releases.
    pub releases: Releases,
    /// Size of the value, in octets.
    pub payload: usize,
    /// Whether listeners answer.
    pub is_answered: bool,
}

/// A stream that ends here.
pub struct Subscribed {
    /// The stream.
    pub stream: u16,
    /// Position of this host in the list of listeners.
    pub place: u16,
    /// Its topic.
    pub topic: String,
    /// Its policies.
    pub policy: Policy,
    /// Size of the answer in octets, and how long the application takes for it; `None` for none.
    pub answer: Option<(usize, Thinking)>,
}

/// All of them.
pub struct Topics {
    /// Address of the host.
    pub address: Ipv4Addr,
    /// Flows that start here.
    pub published: Vec<Published>,
    /// Streams that end here.
    pub subscribed: Vec<Subscribed>,
}

struct Flow {
    duty: Published,
    out: Publication<Octets>,
    back: Vec<Subscription<Octets>>,
    value: Octets,
    is_matched: bool,
    next: Option<Instant>,
    number: u32,
    /// Answers to the last release still awaited.
    awaited: u16,
}

struct Stream {
    duty: Subscribed,
    inlet: Subscription<Octets>,
    back: Option<(Publication<Octets>, Octets)>,
}

/// A host with its participant, in the namespace of the thread that opened it.
pub struct TopicHost {
    domain: Domain,
    flows: Vec<Flow>,
    streams: Vec<Stream>,
    /// Answers that are not due yet, with the index of their stream.
    due: BTreeMap<(Instant, u64), (usize, Mark)>,
    planned: u64,
    clock: Clock,
    log: Log,
}

fn failed(source: io::Error) -> StationError {
    StationError::Socket { doing: "publishing and subscribing".into(), source }
}

fn no_room<T>(created: Option<T>) -> Result<T, StationError> {
    created.ok_or_else(|| failed(io::Error::other("more topics than a participant takes")))
}

fn value(size: usize) -> Octets {
    Octets { octets: vec![0; size] }
}

impl TopicHost {
    /// Opens the participant and creates its endpoints.
    ///
    /// # Errors
    /// If a socket cannot be opened, or there are too many topics.
    pub fn open(topics: Topics) -> Result<Self, StationError> {
        let mut domain = Domain::open(&DomainOptions {
            name: "rtether live".into(),
            interface: Some(topics.address),
            ..DomainOptions::default()
        })?;
        let flows = topics.published.into_iter();
        let flows = flows.map(|duty| Flow::open(duty, &mut domain));
        let flows = flows.collect::<Result<_, _>>()?;
        let streams = topics.subscribed.into_iter();
        let streams = streams.map(|duty| Stream::open(duty, &mut domain));
        Ok(Self {
            flows,
            streams: streams.collect::<Result<_, _>>()?,
            domain,
            due: BTreeMap::new(),
            planned: 0,
            clock: Clock::start(),
            log: Log::default(),
        })
    }

    /// Runs until `end` or `stop`, with the last release before `until`; times count from the start
    /// of `clock`. Returns the log in every case, with the error if one ended the run.
    pub fn run(
        mut self,
        clock: Clock,
        [until, end]: [Instant; 2],
        stop: &AtomicBool,
    ) -> (Log, Option<StationError>) {
        self.clock = clock;
        let ended = self.turn([until, end], stop).map_err(failed);
        let mut ended = ended.err();
        if !stop.load(Ordering::Relaxed) {
            for flow in self.flows.iter_mut().filter(|flow| flow.is_matched) {
                let left = missed(&mut flow.duty.releases, flow.next, until);
                self.log.oddities.unsent += left * u64::from(flow.duty.listeners);
            }
            let lonely = self.flows.iter().find(|flow| !flow.is_matched);
            ended = ended.or_else(|| lonely.map(Flow::unmatched));
        }
        (self.log, ended)
    }

    fn turn(&mut self, [until, end]: [Instant; 2], stop: &AtomicBool) -> io::Result<()> {
        for flow in &mut self.flows {
            flow.next = flow.duty.releases.first();
        }
        while !stop.load(Ordering::Relaxed) && self.clock.now() < end {
            self.release(until)?;
            self.answer()?;
            let look = Ord::min(self.clock.now() + LOOK, end);
            let next = self.flows.iter().filter_map(|flow| flow.next);
            let next = next.filter(|&at| at < until);
            let due = self.due.keys().next().map(|&(at, _)| at);
            let next = next.chain(due).fold(look, Ord::min);
            let left = next - self.clock.now();
            let left = time::Duration::from_ns(left.as_ps().max(0) / 1_000);
            self.domain.step(self.domain.now() + left)?;
            self.domain.participant_mut().discard_events(|_| false);
            self.take_in()?;
        }
        Ok(())
    }

    /// Publishes what is due.
    fn release(&mut self, until: Instant) -> io::Result<()> {
        for flow in &mut self.flows {
            for _ in 0..AT_ONCE {
                let now = self.clock.now();
                let Some(due) = flow.next.filter(|&at| at <= now && at < until) else {
                    break;
                };
                flow.next = flow.duty.releases.next(due);
                if !flow.is_matched {
                    flow.is_matched = flow.finds_all(&self.domain);
                }
                if flow.is_matched {
                    for _ in 0..flow.duty.releases.burst() {
                        flow.publish(due, &mut self.domain, self.clock, &mut self.log)?;
                    }
                }
            }
        }
        Ok(())
    }

    /// Publishes the answers that are due.
    fn answer(&mut self) -> io::Result<()> {
        let now = self.clock.now();
        let later = self.due.split_off(&(now, u64::MAX));
        for (_, (index, mark)) in mem::replace(&mut self.due, later) {
            self.answer_or_wait(index, mark)?;
        }
        Ok(())
    }

    /// Publishes an answer once the reader of the talker has been found: what is written before is
    /// not meant for it.
    fn answer_or_wait(&mut self, index: usize, mark: Mark) -> io::Result<()> {
        let stream = &mut self.streams[index];
        if stream.finds_talker(&self.domain) {
            stream.answer(mark, &mut self.domain, self.clock, &mut self.log)
        } else {
            self.plan(self.clock.now() + RETRY, index, mark);
            Ok(())
        }
    }

    /// Plans an answer.
    fn plan(&mut self, at: Instant, index: usize, mark: Mark) {
        // Limits the memory that a flood of requests can take.
        if self.due.len() >= RECORDS_MAX {
            self.log.oddities.unsent += 1;
            return;
        }
        self.planned += 1;
        self.due.insert((at, self.planned), (index, mark));
    }

    /// Takes all samples that wait.
    fn take_in(&mut self) -> io::Result<()> {
        for index in 0..self.streams.len() {
            let next = |host: &mut Self| {
                let stream = &mut host.streams[index];
                take(&mut stream.inlet, &mut host.domain, &mut host.log)
            };
            while let Some(mark) = next(self) {
                let now = self.clock.now();
                let stream = &self.streams[index];
                match stream.duty.answer {
                    None => record(&mut self.log, stream.duty.stream, mark, now),
                    Some((_, thinking)) if !thinking.is_nothing() => {
                        self.plan(now + thinking.takes(now), index, mark);
                    }
                    Some(_) => self.answer_or_wait(index, mark)?,
                }
            }
        }
        for flow in &mut self.flows {
            flow.take_in(&mut self.domain, self.clock, &mut self.log);
        }
        Ok(())
    }
}

impl Flow {
    fn open(duty: Published, domain: &mut Domain) -> Result<Self, StationError> {
        let Policy { is_reliable, dscp } = duty.policy;
        let (now, participant) = (domain.now(), domain.participant_mut());
        let offered = policies(is_reliable, dscp, true);
        let out = no_room(Publication::create(participant, now, &duty.topic, offered))?;
        let mut back = Vec::new();
        for place in (0..u32::from(duty.listeners)).filter(|_| duty.is_answered) {
            let topic = answers(&duty.topic, place);
            let requested = policies(is_reliable, dscp, false);
            let inlet = Subscription::create(participant, now, &topic, requested);
            back.push(no_room(inlet)?);
        }
        Ok(Self {
            out,
            back,
            value: value(duty.payload),
            is_matched: false,
            next: None,
            number: 0,
            awaited: 0,
            duty,
        })
    }

    /// Returns whether all its endpoints have found each other.
    fn finds_all(&self, domain: &Domain) -> bool {
        let participant = domain.participant();
        let mut back = self.back.iter();
        participant.readers_of(self.out.id()) == usize::from(self.duty.listeners)
            && back.all(|inlet| participant.writers_of(inlet.id()) == 1)
    }

    fn unmatched(&self) -> StationError {
        let topic = &self.duty.topic;
        let why = format!("the listeners of `{topic}` were not found, nothing was published");
        failed(io::Error::new(io::ErrorKind::NotFound, why))
    }

    /// Publishes one sample, for all listeners.
    fn publish(
        &mut self,
        due: Instant,
        domain: &mut Domain,
        clock: Clock,
        log: &mut Log,
    ) -> io::Result<()> {
        let (at, number) = (clock.now(), self.number);
        self.number = self.number.wrapping_add(1);
        let mark = Mark { stream: self.duty.stream, is_answer: false, number, released_at: at };
        mark.write(&mut self.value.octets);
        if !send(&mut self.out, &self.value, domain)? {
            log.oddities.unsent += u64::from(self.duty.listeners);
            return Ok(());
        }
        let call = clock.now() - at;
        self.awaited = self.duty.listeners;
        for stream in (self.duty.stream..).take(usize::from(self.duty.listeners)) {
            if log.sent.len() == RECORDS_MAX {
                log.oddities.unrecorded += 1;
                continue;
            }
            log.sent.push(Sent { stream, number, at, call, late: at - due });
        }
        Ok(())
    }

    /// Takes the answers, and schedules the next request of an adaptive flow after the last one.
    fn take_in(&mut self, domain: &mut Domain, clock: Clock, log: &mut Log) {
        for (stream, inlet) in (self.duty.stream..).zip(&mut self.back) {
            while let Some(mark) = take(inlet, domain, log) {
                let now = clock.now();
                record(log, stream, mark, now);
                if self.awaited == 0 || mark.number != self.number.wrapping_sub(1) {
                    continue;
                }
                self.awaited -= 1;
                if self.awaited == 0 && self.duty.releases.is_adaptive() {
                    self.next = self.duty.releases.after_answer(now);
                }
            }
        }
    }
}

impl Stream {
    fn open(duty: Subscribed, domain: &mut Domain) -> Result<Self, StationError> {
        let Policy { is_reliable, dscp } = duty.policy;
        let (now, participant) = (domain.now(), domain.participant_mut());
        let requested = policies(is_reliable, dscp, false);
        let inlet = no_room(Subscription::create(participant, now, &duty.topic, requested))?;
        let mut back = None;
        if let Some((size, _)) = duty.answer {
            let topic = answers(&duty.topic, duty.place.into());
            let offered = policies(is_reliable, dscp, true);
            let out = no_room(Publication::create(participant, now, &topic, offered))?;
            back = Some((out, value(size)));
        }
        Ok(Self { duty, inlet, back })
    }

    /// Returns whether the talker's reader of answers is known.
    fn finds_talker(&self, domain: &Domain) -> bool {
        let back = self.back.as_ref();
        back.is_some_and(|(out, _)| domain.participant().readers_of(out.id()) > 0)
    }

    /// Answers a request.
    fn answer(
        &mut self,
        request: Mark,
        domain: &mut Domain,
        clock: Clock,
        log: &mut Log,
    ) -> io::Result<()> {
        let Some((out, value)) = &mut self.back else {
            return Ok(());
        };
        let at = clock.now();
        let stream = self.duty.stream;
        let mark = Mark { stream, is_answer: true, ..request };
        mark.write(&mut value.octets);
        if !send(out, value, domain)? {
            log.oddities.unsent += 1;
        } else if log.answered.len() == RECORDS_MAX {
            log.oddities.unrecorded += 1;
        } else {
            log.answered.push(Answered {
                stream,
                number: request.number,
                receive: None,
                call: clock.now() - at,
            });
        }
        Ok(())
    }
}

/// Publishes and sends a value; returns whether there was room for it.
fn send(out: &mut Publication<Octets>, value: &Octets, domain: &mut Domain) -> io::Result<bool> {
    let now = domain.now();
    match out.publish(domain.participant_mut(), now, value) {
        Ok(_) => domain.flush().map(|()| true),
        Err(PublishError::Write(WriteError::Full)) => Ok(false),
        Err(error) => Err(io::Error::other(error)),
    }
}

/// Takes the next measured sample that waits.
fn take(inlet: &mut Subscription<Octets>, domain: &mut Domain, log: &mut Log) -> Option<Mark> {
    let now = domain.now();
    loop {
        let received = inlet.take(domain.participant_mut(), now)?;
        // The end of a writer comes without a value.
        if !received.info.is_valid {
            continue;
        }
        let value = received.value;
        match value.and_then(|value| Mark::read(&value.octets)) {
            Some(mark) => return Some(mark),
            None => log.oddities.foreign += 1,
        }
    }
}

fn record(log: &mut Log, stream: u16, mark: Mark, now: Instant) {
    if log.arrived.len() == RECORDS_MAX {
        log.oddities.unrecorded += 1;
        return;
    }
    log.arrived.push(Arrived {
        stream,
        number: mark.number,
        released_at: mark.released_at,
        latency: now - mark.released_at,
        receive: None,
        is_answer: mark.is_answer,
    });
}
