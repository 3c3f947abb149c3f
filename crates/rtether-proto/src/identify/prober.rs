//! Sends volleys, one after the other, and notes what comes back.

use alloc::collections::VecDeque;
use alloc::vec::Vec;

use rtether_model::quantity::{Bytes, Duration, Instant};

use super::agenda::{Agenda, Pace};
use super::sizes::{Exchange, Sizes};
use super::volley::{Observation, Sent, Volley};

/// A request without an answer after this time is lost.
const TIMEOUT: Duration = Duration::from_secs(2);
/// Losses where none are expected that end a measurement.
const LOSSES: u64 = 3;
/// Requests without load in a second.
const RATE: usize = 10;
/// Round trips at the beginning, and latest ones, that are compared.
const FIRST: usize = 50;
const LATEST: usize = 20;
/// Slow ones among the latest that end a measurement. Half of them are so by chance in one of two
/// hundred measurements if answers wait for a scan, three quarters in one of some thousand.
const SLOW: usize = 18;
/// Lost requests that are remembered.
const REMEMBERED: usize = 64;

/// A packet to be sent now.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Packet {
    /// The prober's name for it.
    pub id: u32,
    /// Octets of its frame, from addresses to frame check sequence, without tag.
    pub request: Bytes,
    /// Octets of the frame that is to answer it; `None` if it is to be silent.
    pub answer: Option<Bytes>,
    /// Whether it has high priority.
    pub high: bool,
}

/// What a prober asks for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ask {
    /// Send this packet.
    Send(Packet),
    /// Ask again at this time, or when an answer has come.
    Wait(Instant),
    /// The measurement is over.
    Done(End),
}

/// Why a measurement is over.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum End {
    /// All is sent.
    Complete,
    /// Requests were lost, so that the device may be overloaded.
    Losses,
    /// Nine in ten of the latest round trips are more than twice the first ones of the same sizes.
    Slower,
}

/// Counters of packets and answers.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counters {
    /// Packets handed out, silent ones included.
    pub sent: u64,
    /// Requests answered in time.
    pub answered: u64,
    /// Requests without an answer in time.
    pub lost: u64,
    /// Answers to lost requests, which are not used.
    pub late: u64,
    /// Further answers to a request.
    pub doubled: u64,
    /// Answers to no request, to a silent one, or from before it was sent.
    pub unknown: u64,
}

/// The volley under way.
#[derive(Clone, Debug)]
struct Current {
    observation: Observation,
    /// Name of its first packet.
    first: u32,
}

/// Asks for packets, and is told when they were sent and answered. One volley is outstanding at a
/// time: without load that is one request.
#[derive(Clone, Debug)]
pub struct Prober {
    agenda: Agenda,
    is_quiet: bool,
    planned: Option<Volley>,
    current: Option<Current>,
    next: u32,
    /// When the latest requests were sent, the oldest first.
    recent: VecDeque<Instant>,
    /// Names of the latest lost requests.
    gone: VecDeque<u32>,
    observations: Vec<Observation>,
    end: Option<End>,
    counters: Counters,
    /// Losses where none are expected.
    losses: u64,
    start: Instant,
}

impl Prober {
    /// Creates a prober of single requests: at most ten in any second, of all sizes in random order,
    /// with random gaps.
    pub fn quiet(sizes: Sizes, pace: Pace, seed: u64, start: Instant) -> Self {
        Self::new(Agenda::quiet(sizes, pace, seed), true, start)
    }

    /// Creates a prober with load: bursts that double until a packet is lost, then trains, silent
    /// packets and priorities within what the device has shown to hold.
    pub fn load(sizes: Sizes, pace: Pace, seed: u64, start: Instant) -> Self {
        Self::new(Agenda::load(sizes, pace, seed), false, start)
    }

    fn new(agenda: Agenda, is_quiet: bool, start: Instant) -> Self {
        let mut own = Self {
            agenda,
            is_quiet,
            planned: None,
            current: None,
            next: 0,
            recent: VecDeque::with_capacity(RATE),
            gone: VecDeque::with_capacity(REMEMBERED),
            observations: Vec::new(),
            end: None,
            counters: Counters::default(),
            losses: 0,
            start,
        };
        own.planned = own.agenda.next(None);
        own
    }

    /// Returns what to do now. A packet counts as sent now unless [`Self::sent`] knows better.
    pub fn poll(&mut self, now: Instant) -> Ask {
        if self.is_over(now) {
            self.close();
        }
        if let Some(end) = self.end {
            return Ask::Done(end);
        }
        if let Some(current) = &self.current
            && current.observation.packets.len() == current.observation.volley.packets()
        {
            // An answer exactly at the end is in time.
            return Ask::Wait(self.last_sent() + TIMEOUT + Duration::from_ps(1));
        }
        if self.current.is_none() {
            let Some(volley) = self.planned else {
                self.end = Some(End::Complete);
                return Ask::Done(End::Complete);
            };
            let due = self.due(&volley);
            if now < due {
                return Ask::Wait(due);
            }
            let packets = Vec::with_capacity(volley.packets());
            let observation = Observation { volley, packets };
            self.current = Some(Current { observation, first: self.next });
            self.planned = None;
        }
        self.hand_out(now)
    }

    /// Notes when a packet left, as measured, and the octets of its frame: what was planned does not
    /// count.
    pub fn sent(&mut self, id: u32, at: Instant, request: Bytes) {
        if id.checked_add(1) == Some(self.next)
            && let Some(last) = self.recent.back_mut()
        {
            *last = at;
        }
        if let Some((sent, _)) = self.packet(id) {
            sent.at = at;
            sent.sizes.request = request;
        }
    }

    /// Returns the latest packet whose name has these bits under a mask; protocols carry no more of
    /// a name than these.
    pub fn named(&self, bits: u32, mask: u32) -> Option<u32> {
        let last = self.next.checked_sub(1)?;
        // What the bits stand above the last name belongs to the time before they began anew.
        let above = bits.wrapping_sub(last) & mask;
        let back = if above == 0 { 0 } else { mask.wrapping_add(1).wrapping_sub(above) };
        last.checked_sub(back).filter(|_| bits & !mask == 0)
    }

    /// Notes when the answer to a packet came, and the octets of its frame.
    pub fn answered(&mut self, id: u32, at: Instant, answer: Bytes) {
        let is_gone = self.gone.contains(&id);
        let is_known = id < self.next;
        match self.packet(id) {
            Some((sent, true)) if sent.answered.is_some() => self.counters.doubled += 1,
            Some((sent, true)) if at >= sent.at && at - sent.at <= TIMEOUT => {
                sent.answered = Some(at);
                sent.sizes.answer = answer;
                self.counters.answered += 1;
            }
            Some((sent, true)) if at >= sent.at => self.counters.late += 1,
            Some(_) => self.counters.unknown += 1,
            None if is_gone => self.counters.late += 1,
            None if is_known => self.counters.doubled += 1,
            None => self.counters.unknown += 1,
        }
    }

    /// Returns the counters.
    pub const fn counters(&self) -> Counters {
        self.counters
    }

    /// Returns what was observed until now, volley by volley.
    pub fn observations(&self) -> &[Observation] {
        &self.observations
    }

    /// Returns a packet of the volley under way, and whether it is to be answered.
    fn packet(&mut self, id: u32) -> Option<(&mut Sent, bool)> {
        let Current { observation, first } = self.current.as_mut()?;
        let place = usize::try_from(id.checked_sub(*first)?).ok()?;
        let is_request = place >= usize::from(observation.volley.silent);
        observation.packets.get_mut(place).map(|sent| (sent, is_request))
    }

    fn last_sent(&self) -> Instant {
        self.recent.back().copied().unwrap_or(self.start)
    }

    /// Returns when a volley may begin.
    fn due(&self, volley: &Volley) -> Instant {
        let Some(last) = self.recent.back() else { return self.start };
        let due = *last + volley.gap;
        match self.recent.front() {
            Some(oldest) if self.is_quiet && self.recent.len() == RATE => {
                due.max(*oldest + Duration::from_secs(1))
            }
            _ => due,
        }
    }

    /// Hands out the next packet of the volley under way.
    fn hand_out(&mut self, now: Instant) -> Ask {
        let Some(Current { observation, .. }) = &mut self.current else {
            return Ask::Wait(now);
        };
        let place = observation.packets.len();
        let Volley { sizes, silent, high, .. } = observation.volley;
        observation.packets.push(Sent { at: now, answered: None, sizes });
        let is_last = observation.packets.len() == observation.volley.packets();
        if self.recent.len() == RATE {
            self.recent.pop_front();
        }
        self.recent.push_back(now);
        self.counters.sent += 1;
        let id = self.next;
        self.next += 1;
        Ask::Send(Packet {
            id,
            request: sizes.request,
            answer: (place >= usize::from(silent)).then_some(sizes.answer),
            high: high && is_last,
        })
    }

    /// Returns whether all of the volley under way is sent, and answered or lost.
    fn is_over(&self, now: Instant) -> bool {
        let Some(Current { observation, .. }) = &self.current else { return false };
        observation.packets.len() == observation.volley.packets()
            && (observation.lost() == 0 || now > self.last_sent() + TIMEOUT)
    }

    /// Ends the volley under way and plans the next one.
    fn close(&mut self) {
        let Some(Current { observation, first }) = self.current.take() else { return };
        let silent = usize::from(observation.volley.silent);
        for (id, sent) in (first..).zip(&observation.packets).skip(silent) {
            if sent.answered.is_none() {
                if self.gone.len() == REMEMBERED {
                    self.gone.pop_front();
                }
                self.gone.push_back(id);
                self.counters.lost += 1;
                self.losses += u64::from(!self.agenda.expects_losses());
            }
        }
        let has_lost = observation.lost() > 0;
        self.observations.push(observation);
        self.planned = self.agenda.next(Some(has_lost));
        if self.losses >= LOSSES {
            self.end = Some(End::Losses);
        } else if self.is_quiet && self.is_slower() {
            self.end = Some(End::Slower);
        }
    }

    /// Returns whether nine in ten of the latest round trips are twice those of the first with their sizes.
    fn is_slower(&self) -> bool {
        let all = self.observations.iter();
        let trips = all.filter_map(|own| own.single().map(|(at, to)| (own.volley.sizes, to - at)));
        if self.observations.len() < FIRST + LATEST {
            return false;
        }
        let first: Vec<(Exchange, Duration)> = trips.clone().take(FIRST).collect();
        let slow = trips.rev().take(LATEST).filter(|&(sizes, trip)| {
            let alike = first.iter().filter(|own| own.0 == sizes).map(|own| own.1);
            median(alike.collect()).is_some_and(|usual| trip > usual * 2)
        });
        slow.count() >= SLOW
    }
}

/// Returns the middle one.
fn median(mut times: Vec<Duration>) -> Option<Duration> {
    times.sort_unstable();
    times.get(times.len() / 2).copied()
}
