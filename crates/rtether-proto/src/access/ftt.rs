//! FTT-Ethernet: a master triggers the synchronous messages of each elementary cycle.
//!
//! The master begins each cycle with a trigger message, which lists the synchronous messages of the
//! cycle, and when each is sent from there. A message is due once in its number of cycles; the
//! master lists those that are due, the one with the earliest end of its period first, until one
//! does not fit the window. A station sends its oldest real-time frame when a message of its own is
//! listed; one that does not hear the trigger message is silent. Behind the last message the master
//! asks members in turn for an ordinary frame, and goes on in the next cycle with the one after. It
//! asks nobody whose largest frame does not fit into what is left of the cycle.
//!
//! Left out: backup masters, and changes of the messages while the network runs.

use alloc::vec::Vec;

use rtether_model::access::{Access, CONTROL, Domain, Ftt as Plan, ORDINARY, REAL_TIME};
use rtether_model::quantity::{Bytes, Duration, Instant};

use super::{Control, Heard, Message, Queue, Turn};

/// State of all stations.
#[derive(Clone, Debug)]
pub(super) struct Ftt {
    plan: Plan,
    turn_around: Duration,
    /// By message: its part of the window.
    slots: Vec<Duration>,
    /// By member: time for a request and the answer, or for the master's own frame; `None` without
    /// ordinary frames.
    visits: Vec<Option<Duration>>,
    request: Duration,
    gap: Duration,
    response: Duration,
    /// By message: how often it has been listed, or has missed its period.
    listed: Vec<u64>,
    /// When the next cycle begins.
    next: Instant,
    step: Step,
    /// Member that the master asks next.
    turn: usize,
    /// Contents of the last trigger message: message, and when from there.
    trigger: Vec<(usize, Duration)>,
    stations: Vec<Station>,
}

/// What a station knows.
#[derive(Clone, Debug, Default)]
struct Station {
    /// When it sends synchronous messages, and their largest size; the first ones are done.
    due: Vec<(Instant, Bytes)>,
    done: usize,
    /// When it answers a request.
    answer: Option<Instant>,
}

/// What the master is at.
#[derive(Clone, Copy, Debug)]
enum Step {
    /// Waits for the cycle to begin.
    Rest,
    /// Sends the trigger message.
    Trigger,
    /// Asks from this time on.
    Ask(Instant),
    /// Waits for a member until this time; `None` while the request is being sent.
    Await(u32, Option<Instant>),
}

impl Ftt {
    pub(super) fn new(plan: &Plan, access: &Access, domain: &Domain) -> Self {
        let visit = |(member, own): (u32, &rtether_model::access::Member)| {
            let size = own.largest[usize::from(ORDINARY)];
            let visit = if member == plan.master {
                domain.frame(size) + domain.gap()
            } else {
                Plan::exchange(domain, access.response, size)
            };
            (size > Bytes::ZERO).then_some(visit)
        };
        let slot = |own: &rtether_model::access::Synchronous| Plan::slot(domain, own.size);
        Self {
            plan: plan.clone(),
            turn_around: Plan::turn_around(domain, access.response),
            slots: plan.messages.iter().map(slot).collect(),
            visits: (0u32..).zip(&access.members).map(visit).collect(),
            request: domain.frame(CONTROL),
            gap: domain.gap(),
            response: access.response,
            listed: alloc::vec![0; plan.messages.len()],
            next: Instant::ZERO,
            step: Step::Rest,
            turn: 0,
            trigger: Vec::new(),
            stations: alloc::vec![Station::default(); access.members.len()],
        }
    }

    pub(super) fn poll(&mut self, now: Instant, member: u32, queue: &Queue) -> Turn {
        let is_master = member == self.plan.master;
        match self.stations[member as usize].synchronous(now, queue) {
            Turn::Silent if is_master => self.lead(now, queue),
            Turn::Silent => self.stations[member as usize].answer(now, queue),
            // Its own messages are over before it asks.
            turn @ (Turn::Control(_)
            | Turn::Data { .. }
            | Turn::Load { .. }
            | Turn::NotBefore(_)) => turn,
        }
    }

    /// Returns what the master does.
    fn lead(&mut self, now: Instant, queue: &Queue) -> Turn {
        loop {
            match self.step {
                Step::Rest if now < self.next => return Turn::NotBefore(self.next),
                Step::Rest => {
                    self.list(now);
                    self.step = Step::Trigger;
                    return Turn::Control(Control {
                        message: Message::Trigger,
                        size: Plan::trigger(self.trigger.len()),
                    });
                }
                Step::Trigger | Step::Await(_, None) => return Turn::Silent,
                Step::Ask(time) | Step::Await(_, Some(time)) if now < time => {
                    return Turn::NotBefore(time);
                }
                Step::Await(..) => self.step = Step::Ask(now),
                Step::Ask(_) => {
                    let Some(member) = self.ask(now, queue) else {
                        self.step = Step::Rest;
                        continue;
                    };
                    if member == self.plan.master {
                        return queue.send(ORDINARY, 0).unwrap_or(Turn::Silent);
                    }
                    self.step = Step::Await(member, None);
                    return Turn::Control(Control {
                        message: Message::Request { to: member },
                        size: CONTROL,
                    });
                }
            }
        }
    }

    /// Chooses the messages of the cycle that begins.
    fn list(&mut self, now: Instant) {
        // A cycle that took too long costs the next ones.
        while self.next <= now {
            self.next += self.plan.cycle;
        }
        let cycle = (self.next - Instant::ZERO).as_ps() / self.plan.cycle.as_ps().max(1) - 1;
        let cycle = u64::try_from(cycle).unwrap_or(0);
        let mut due = Vec::new();
        for (message, own) in self.plan.messages.iter().enumerate() {
            let every = u64::from(own.every.max(1));
            let listed = &mut self.listed[message];
            *listed = (*listed).max(cycle / every);
            if *listed * every <= cycle {
                due.push(((*listed + 1) * every, message));
            }
        }
        due.sort_unstable();
        self.trigger.clear();
        let mut used = Duration::ZERO;
        for (_, message) in due {
            let slot = self.slots[message];
            if used + slot > self.plan.window {
                break;
            }
            self.trigger.push((message, self.turn_around + used));
            self.listed[message] += 1;
            used += slot;
        }
    }

    /// Returns the member that is asked next; `None` if its largest frame does not fit into what is
    /// left of the cycle. The master passes over itself if it has no frame.
    fn ask(&mut self, now: Instant, queue: &Queue) -> Option<u32> {
        let count = self.visits.len();
        let has_own = queue.heads[usize::from(ORDINARY)].is_some();
        let master = self.plan.master as usize;
        let turns = (0..count).map(|step| (self.turn + step) % count);
        let mut turns = turns.filter(|&member| member != master || has_own);
        let (member, visit) = turns.find_map(|member| Some((member, self.visits[member]?)))?;
        if now + visit > self.next {
            return None;
        }
        self.turn = member + 1;
        u32::try_from(member).ok()
    }

    pub(super) fn hear(&mut self, at: Instant, member: u32, from: Option<u32>, heard: &Heard) {
        if *heard == Heard::Control(Message::Trigger) {
            self.triggered(at, member);
        }
        if member != self.plan.master {
            if *heard == Heard::Control(Message::Request { to: member }) {
                self.stations[member as usize].answer = Some(at + self.response);
            }
            return;
        }
        let is_own = from == Some(member);
        match self.step {
            Step::Trigger if is_own => {
                let last = self.trigger.last();
                let used =
                    last.map_or(self.turn_around, |&(message, time)| time + self.slots[message]);
                self.step = Step::Ask(at + used);
            }
            Step::Await(to, _) if is_own => {
                let visit = self.visits[to as usize].unwrap_or(Duration::ZERO);
                self.step = Step::Await(to, Some(at + visit - self.request));
            }
            Step::Await(to, _) if from == Some(to) => self.step = Step::Ask(at + self.gap),
            // Its own frame has ended, a synchronous or an ordinary one.
            Step::Ask(time) if is_own => self.step = Step::Ask(time.max(at + self.gap)),
            Step::Rest | Step::Trigger | Step::Ask(_) | Step::Await(..) => {}
        }
    }

    /// Notes that a station hears the trigger message.
    fn triggered(&mut self, at: Instant, member: u32) {
        let messages = &self.plan.messages;
        let own = self.trigger.iter().filter_map(|&(message, time)| {
            let own = &messages[message];
            (own.member == member).then_some((at + time, own.size))
        });
        let station = &mut self.stations[member as usize];
        station.due.clear();
        station.due.extend(own);
        station.done = 0;
        station.answer = None;
    }
}

impl Station {
    /// Returns what the station does with its synchronous messages; silent if none is left.
    fn synchronous(&mut self, now: Instant, queue: &Queue) -> Turn {
        while let Some(&(time, size)) = self.due.get(self.done) {
            if now < time {
                return Turn::NotBefore(time);
            }
            let head = queue.heads[usize::from(REAL_TIME)];
            if now == time && head.is_some_and(|head| head <= size) {
                self.done += 1;
                return Turn::Data { class: REAL_TIME, note: 0 };
            }
            // A frame that comes in this very picosecond is still in time.
            if now == time && self.done + 1 == self.due.len() {
                return Turn::Silent;
            }
            if now == time {
                return Turn::NotBefore(self.due[self.done + 1].0);
            }
            self.done += 1;
        }
        Turn::Silent
    }

    /// Returns what a slave does that was asked for an ordinary frame.
    fn answer(&mut self, now: Instant, queue: &Queue) -> Turn {
        match self.answer {
            Some(time) if now < time => Turn::NotBefore(time),
            Some(_) => {
                self.answer = None;
                queue.send(ORDINARY, 0).unwrap_or(Turn::Control(Control {
                    message: Message::Answer { wants: false },
                    size: CONTROL,
                }))
            }
            None => Turn::Silent,
        }
    }
}
