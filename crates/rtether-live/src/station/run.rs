//! The loop of a station.

use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::sync::atomic::{AtomicBool, Ordering};

use rtether_model::quantity::{Duration, Instant};
use rustix::event::{PollFd, PollFlags, Timespec, poll};

use super::mark::Mark;
use super::sockets::{Inlet, Outlet};
use super::{
    Answer, Answered, Arrived, Carrier, Duties, Incoming, Log, Outgoing, RECORDS_MAX, Sent,
    StationError, missed,
};
use crate::clock::{Clock, to_std};
use crate::link::Device;
use crate::wall::Stamps;

/// Interval at which a station checks for a stop.
const LOOK: Duration = Duration::from_ms(50);
/// Largest age of a stamp; an older one is of another clock.
const AGE_MAX: Duration = Duration::from_secs(1);
/// Timers served, and packets received from one socket, before the others get their turn: an
/// overloaded station still receives, and ends in time.
const AT_ONCE: usize = 64;
/// Largest packet, in octets: a datagram, which the kernel fragments and reassembles.
const BUFFER: usize = 65_536;

/// Purpose of a timer; simultaneous ones are served in this order.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Due {
    /// A release of a flow; the second number identifies the current schedule.
    Release(usize, u32),
    /// An answer to a request of an incoming stream.
    Answer(usize, Request),
}

/// A request to be answered.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
struct Request {
    number: u32,
    released_at: Instant,
    /// Time from the kernel to here.
    receive: Option<Duration>,
}

struct Flow {
    duty: Outgoing,
    outlets: Vec<Outlet>,
    number: u32,
    /// Packets of the current release still to be sent.
    left: u32,
    /// Answers to the last release still awaited.
    awaited: u32,
    /// Changes whenever the next release is rescheduled.
    wish: u32,
}

struct Receiver {
    duty: Incoming,
    outlet: Option<Outlet>,
}

/// A station with its sockets open, in the namespace of the thread that opened it.
pub struct Station {
    clock: Clock,
    flows: Vec<Flow>,
    streams: Vec<Receiver>,
    inlets: Vec<Inlet>,
    stamps: Stamps,
    /// When the clocks were last compared.
    looked_at: Instant,
    timers: BinaryHeap<Reverse<(Instant, Due)>>,
    payload: Vec<u8>,
    buffer: Vec<u8>,
    log: Log,
    until: Instant,
    end: Instant,
}

fn failed(doing: &str) -> impl Fn(std::io::Error) -> StationError {
    move |source| StationError::Socket { doing: doing.to_owned(), source }
}

impl Station {
    /// Opens the sockets.
    ///
    /// # Errors
    /// If one cannot be opened.
    pub fn open(duties: Duties) -> Result<Self, StationError> {
        let clock = Clock::start();
        let device = Device::named(&duties.device)?;
        let opening = failed("opening a socket");
        let mut carriers: Vec<Carrier> = duties.incoming.iter().map(|i| i.carrier).collect();
        let answered = duties.outgoing.iter().filter(|flow| flow.answers > 0);
        carriers.extend(answered.map(|flow| flow.carrier));
        let mut inlets = Vec::new();
        for (index, &carrier) in carriers.iter().enumerate() {
            if !carriers[..index].contains(&carrier) {
                let inlet = Inlet::open(&device, duties.address, &duties.groups, carrier);
                inlets.push(inlet.map_err(&opening)?);
            }
        }
        let own = (&device, duties.address);
        let outlet = |carrier, peer, tagging, payload| {
            Outlet::open(own, carrier, peer, tagging, payload).map_err(&opening)
        };
        let mut flows = Vec::new();
        for duty in duties.outgoing {
            let peers = duty.peers.iter();
            let outlets = peers.map(|&peer| outlet(duty.carrier, peer, duty.tagging, duty.payload));
            flows.push(Flow {
                outlets: outlets.collect::<Result<_, _>>()?,
                duty,
                number: 0,
                left: 0,
                awaited: 0,
                wish: 0,
            });
        }
        let mut streams = Vec::new();
        for duty in duties.incoming {
            let back =
                |answer: Answer| outlet(duty.carrier, answer.peer, answer.tagging, answer.payload);
            let outlet = duty.answer.map(back).transpose()?;
            streams.push(Receiver { duty, outlet });
        }
        let mut station = Self {
            clock,
            flows,
            streams,
            inlets,
            stamps: Stamps::new(clock),
            looked_at: Instant::ZERO,
            timers: BinaryHeap::new(),
            payload: vec![0; BUFFER],
            buffer: vec![0; BUFFER],
            log: Log::default(),
            until: duties.until,
            end: duties.until + duties.grace,
        };
        for index in 0..station.flows.len() {
            let first = station.flows[index].duty.releases.first();
            station.schedule(index, first);
        }
        Ok(station)
    }

    /// Runs until its time is over or `stop`; times count from the start of `clock`. Returns the
    /// log in every case, with the error if one ended the run.
    pub fn run(mut self, clock: Clock, stop: &AtomicBool) -> (Log, Option<StationError>) {
        self.clock = clock;
        self.stamps = Stamps::new(clock);
        let ended = self.turn(stop);
        self.log.oddities.clock_steps = self.stamps.steps();
        (self.log, ended.err())
    }

    /// Schedules the next release of a flow, and cancels the previous schedule.
    fn schedule(&mut self, index: usize, at: Option<Instant>) {
        let flow = &mut self.flows[index];
        flow.wish = flow.wish.wrapping_add(1);
        if let Some(at) = at.filter(|&at| at < self.until) {
            let due = Due::Release(index, flow.wish);
            self.timers.push(Reverse((at, due)));
        }
    }

    fn turn(&mut self, stop: &AtomicBool) -> Result<(), StationError> {
        while !stop.load(Ordering::Relaxed) {
            let now = self.clock.now();
            if now >= self.end {
                break;
            }
            if now - self.looked_at >= LOOK {
                self.stamps.look();
                self.looked_at = now;
            }
            self.serve_timers()?;
            self.wait().map_err(failed("waiting for packets"))?;
            self.take_in()?;
        }
        if !stop.load(Ordering::Relaxed) {
            self.log.oddities.unsent += self.overdue();
        }
        Ok(())
    }

    /// Returns how many packets were due before the end and were not sent.
    fn overdue(&mut self) -> u64 {
        let mut count = 0;
        while let Some(Reverse((at, due))) = self.timers.pop() {
            match due {
                Due::Release(index, wish) if wish == self.flows[index].wish => {
                    let flow = &mut self.flows[index];
                    let releases = &mut flow.duty.releases;
                    let sent = match flow.left {
                        0 => 0,
                        left => releases.burst() - left,
                    };
                    let due = missed(releases, Some(at), self.until) - u64::from(sent);
                    count += due * flow.outlets.len() as u64;
                }
                Due::Answer(..) => count += u64::from(at < self.end),
                Due::Release(..) => {}
            }
        }
        count
    }

    fn serve_timers(&mut self) -> Result<(), StationError> {
        for _ in 0..AT_ONCE {
            let now = self.clock.now();
            let next = self.timers.peek();
            let Some(&Reverse((at, due))) = next.filter(|Reverse((at, _))| *at <= now) else {
                break;
            };
            self.timers.pop();
            match due {
                Due::Release(index, wish) if wish == self.flows[index].wish => {
                    self.release(index, at)?;
                }
                Due::Release(..) => {}
                Due::Answer(index, request) => {
                    // Answering late counts as receiving the request late.
                    let receive = request.receive.map(|receive| receive + (now - at));
                    self.answer(index, Request { receive, ..request })?;
                }
            }
        }
        Ok(())
    }

    /// Sends one packet of a release to each peer; the timer is set again until all are sent.
    fn release(&mut self, index: usize, due: Instant) -> Result<(), StationError> {
        let flow = &mut self.flows[index];
        if flow.left == 0 {
            flow.left = flow.duty.releases.burst();
        }
        let number = flow.number;
        flow.number = flow.number.wrapping_add(1);
        flow.awaited = flow.duty.answers;
        for (stream, outlet) in (flow.duty.stream..).zip(&mut flow.outlets) {
            let at = self.clock.now();
            let mark = Mark { stream, is_answer: false, number, released_at: at };
            let payload = &mut self.payload[..flow.duty.payload];
            mark.write(payload);
            let is_sent = sent(outlet.send(payload), &mut self.log)?;
            let call = self.clock.now() - at;
            if is_sent && self.log.sent.len() == RECORDS_MAX {
                self.log.oddities.unrecorded += 1;
            } else if is_sent {
                self.log.sent.push(Sent { stream, number, at, call, late: at - due });
            }
        }
        flow.left = flow.left.saturating_sub(1);
        let next = match flow.left {
            0 => flow.duty.releases.next(due),
            _ => Some(due),
        };
        self.schedule(index, next);
        Ok(())
    }

    /// Sends the answer to a request.
    fn answer(&mut self, index: usize, request: Request) -> Result<(), StationError> {
        let Receiver { duty, outlet } = &mut self.streams[index];
        let (Some(answer), Some(outlet)) = (duty.answer, outlet) else {
            return Ok(());
        };
        let mark = Mark {
            stream: duty.stream,
            is_answer: true,
            number: request.number,
            released_at: request.released_at,
        };
        let payload = &mut self.payload[..answer.payload];
        mark.write(payload);
        let at = self.clock.now();
        sent(outlet.send(payload), &mut self.log)?;
        let call = self.clock.now() - at;
        if self.log.answered.len() == RECORDS_MAX {
            self.log.oddities.unrecorded += 1;
            return Ok(());
        }
        self.log.answered.push(Answered {
            stream: duty.stream,
            number: request.number,
            receive: request.receive,
            call,
        });
        Ok(())
    }

    fn wait(&mut self) -> std::io::Result<()> {
        let now = self.clock.now();
        let look = Ord::min(now + LOOK, self.end);
        let next = self.timers.peek().map_or(look, |Reverse((at, _))| look.min(*at));
        let left = to_std(next - now);
        let limit = Timespec {
            tv_sec: i64::try_from(left.as_secs()).unwrap_or(i64::MAX),
            tv_nsec: i64::from(left.subsec_nanos()),
        };
        let fds = self.inlets.iter();
        let mut fds: Vec<PollFd<'_>> = fds.map(|inlet| PollFd::new(inlet, PollFlags::IN)).collect();
        match poll(&mut fds, Some(&limit)) {
            Ok(_) | Err(rustix::io::Errno::INTR) => Ok(()),
            Err(error) => Err(error.into()),
        }
    }

    fn take_in(&mut self) -> Result<(), StationError> {
        for index in 0..self.inlets.len() {
            for _ in 0..AT_ONCE {
                let found = self.inlets[index].receive(&mut self.buffer);
                let Some((payload, stamp)) = found.map_err(failed("receiving"))? else {
                    break;
                };
                let now = self.clock.now();
                let kernel = stamp.and_then(|stamp| self.stamps.map(stamp, now - AGE_MAX, now));
                let receive = kernel.map(|at| now - at);
                match Mark::read(&self.buffer[payload]) {
                    Some(mark) => {
                        let is_answer = mark.is_answer || self.inlets[index].is_for_answers();
                        self.handle(Mark { is_answer, ..mark }, now, receive)?;
                    }
                    None => self.log.oddities.foreign += 1,
                }
            }
        }
        Ok(())
    }

    fn handle(
        &mut self,
        mark: Mark,
        now: Instant,
        receive: Option<Duration>,
    ) -> Result<(), StationError> {
        if mark.is_answer {
            let own = |flow: &Flow| {
                let streams = flow.duty.stream..;
                streams.take(flow.duty.answers as usize).any(|s| s == mark.stream)
            };
            let Some(index) = self.flows.iter().position(own) else {
                self.log.oddities.foreign += 1;
                return Ok(());
            };
            self.record(mark.stream, mark, now, receive);
            self.note_answer(index, mark.number, now);
            return Ok(());
        }
        let own = |stream: &Receiver| stream.duty.named == mark.stream;
        let Some(index) = self.streams.iter().position(own) else {
            self.log.oddities.foreign += 1;
            return Ok(());
        };
        let duty = &self.streams[index].duty;
        let request = Request { number: mark.number, released_at: mark.released_at, receive };
        match duty.answer {
            None => self.record(duty.stream, mark, now, receive),
            Some(answer) if answer.thinking.is_nothing() => self.answer(index, request)?,
            // Limits the memory that a flood of requests can take.
            Some(_) if self.timers.len() >= RECORDS_MAX => self.log.oddities.unsent += 1,
            Some(answer) => {
                let due = Due::Answer(index, request);
                self.timers.push(Reverse((now + answer.thinking.takes(now), due)));
            }
        }
        Ok(())
    }

    /// Schedules the next request of an adaptive flow after the last answer to the previous one.
    fn note_answer(&mut self, index: usize, number: u32, now: Instant) {
        let flow = &mut self.flows[index];
        if flow.awaited == 0 || number != flow.number.wrapping_sub(1) {
            return;
        }
        flow.awaited -= 1;
        if flow.awaited == 0 && flow.duty.releases.is_adaptive() {
            let next = flow.duty.releases.after_answer(now);
            self.schedule(index, next);
        }
    }

    fn record(&mut self, stream: u16, mark: Mark, now: Instant, receive: Option<Duration>) {
        if self.log.arrived.len() == RECORDS_MAX {
            self.log.oddities.unrecorded += 1;
            return;
        }
        self.log.arrived.push(Arrived {
            stream,
            number: mark.number,
            released_at: mark.released_at,
            latency: now - mark.released_at,
            receive,
            is_answer: mark.is_answer,
        });
    }
}

/// Counts what the system refused; a permanent error ends the run.
fn sent(result: std::io::Result<()>, log: &mut Log) -> Result<bool, StationError> {
    match result {
        Ok(()) => Ok(true),
        Err(error) if crate::meter::is_passing(&error) => {
            log.oddities.unsent += 1;
            Ok(false)
        }
        Err(source) => Err(StationError::Socket { doing: "sending".into(), source }),
    }
}
