//! Summation frames, as of `EtherCAT`: one frame of the master passes through all members.
//!
//! In each cycle the master sends process data. Each member takes out what is for it as the frame
//! passes, and puts in its real-time frames, as many as it has places; what is for another member
//! than the master goes with the process data of the next cycle. Members also tell whether an
//! ordinary frame waits in their mailbox: behind the process data the master reads the mailbox of
//! one of them in turn, or writes an ordinary frame of its own, and passes on what it has read if
//! that is for another member.
//!
//! Nothing is sent again: a lost frame takes along what was in it. Each member counts up the working
//! counter; if one is silent, the counter is short and the master discards what it gets back.
//!
//! Left out: the wiring (a hop is as long as the longest way of the medium, and a silent member does
//! not cut off those behind it), several datagrams with a counter each, distributed clocks, states,
//! and the repetition of mailboxes.

use alloc::vec::Vec;

use rtether_model::access::{Access, Domain, Member, ORDINARY, REAL_TIME, Summation as Plan};
use rtether_model::quantity::{Bytes, Duration, Instant};

use super::{Control, Heard, Message, Queue, Return, Turn};

/// State of all members.
#[derive(Clone, Debug)]
pub(super) struct Summation {
    plan: Plan,
    members: Vec<Member>,
    /// By member: see [`Plan::way`].
    ways: Vec<Duration>,
    step: Step,
    /// When the next cycle begins.
    next: Instant,
    /// By member: what it puts into the frame that passes.
    loads: Vec<Option<Load>>,
    /// Members that have counted up the working counter.
    counted: usize,
    /// By member: whether it told that ordinary frames wait, in the process data that are under way,
    /// and in those that the master has back.
    told: Vec<bool>,
    wants: Vec<bool>,
    /// Member after which the master looks for the next mailbox.
    visited: usize,
}

/// What a member may put into a frame.
#[derive(Clone, Copy, Debug)]
struct Load {
    /// When the frame passes.
    at: Instant,
    class: u8,
    left: u32,
    has_counted: bool,
}

/// What the master is at.
#[derive(Clone, Copy, Debug)]
enum Step {
    /// Waits for the cycle to begin.
    Rest,
    /// Puts its own frames into the process data.
    Fill(u32),
    /// Waits for its frame to come back.
    Away(Errand),
    /// Chooses a mailbox.
    Choose,
    /// Writes its own ordinary frame, which it has put in, into a mailbox.
    Write,
    /// Passes on what it has read from a mailbox of this size.
    PassOn(Bytes),
}

/// What a frame of the master is for.
#[derive(Clone, Copy, Debug)]
enum Errand {
    /// Process data.
    Process,
    /// It reads the mailbox of a member, or writes its own frame.
    Mailbox(u32),
    /// It passes on what it has read.
    Relay,
}

impl Summation {
    pub(super) fn new(plan: &Plan, access: &Access, domain: &Domain) -> Self {
        let count = access.members.len();
        let all = 0..u32::try_from(count).unwrap_or(u32::MAX);
        Self {
            plan: plan.clone(),
            members: access.members.clone(),
            ways: all.map(|member| plan.way(domain, (member, count))).collect(),
            step: Step::Rest,
            next: Instant::ZERO,
            loads: alloc::vec![None; count],
            counted: 0,
            told: alloc::vec![false; count],
            wants: alloc::vec![false; count],
            visited: 0,
        }
    }

    pub(super) fn way(&self, member: u32) -> Option<Duration> {
        self.ways.get(member as usize).copied()
    }

    pub(super) fn poll(&mut self, now: Instant, member: u32, queue: &Queue) -> Turn {
        if member == self.plan.master {
            return self.manage(now, queue);
        }
        let index = member as usize;
        let Some(load) = &mut self.loads[index] else {
            return Turn::Silent;
        };
        if now != load.at {
            // The frame has passed.
            self.loads[index] = None;
            return Turn::Silent;
        }
        if !load.has_counted {
            load.has_counted = true;
            self.counted += 1;
            if load.class == REAL_TIME {
                self.told[index] = queue.heads[usize::from(ORDINARY)].is_some();
            }
        }
        let class = load.class;
        if load.left == 0 || queue.heads[usize::from(class)].is_none() {
            return Turn::Silent;
        }
        load.left -= 1;
        Turn::Load { class }
    }

    /// Returns what the master does.
    fn manage(&mut self, now: Instant, queue: &Queue) -> Turn {
        loop {
            match self.step {
                Step::Rest | Step::Away(_) if now < self.next => {
                    return Turn::NotBefore(self.next);
                }
                Step::Rest | Step::Away(_) => {
                    while self.next <= now {
                        self.next += self.plan.cycle;
                    }
                    self.step = Step::Fill(self.plan.places[self.plan.master as usize]);
                }
                Step::Fill(left) => {
                    if left > 0 && queue.heads[usize::from(REAL_TIME)].is_some() {
                        self.step = Step::Fill(left - 1);
                        return Turn::Load { class: REAL_TIME };
                    }
                    let octets = self.plan.octets;
                    let message = Message::Process { octets };
                    return self.send(Errand::Process, message, self.plan.process());
                }
                Step::Choose => match self.choose(queue) {
                    None => self.step = Step::Rest,
                    Some(own) if own == self.plan.master => {
                        self.step = Step::Write;
                        return Turn::Load { class: ORDINARY };
                    }
                    Some(other) => return self.serve(other),
                },
                Step::Write => return self.serve(self.plan.master),
                Step::PassOn(octets) => {
                    let message = Message::Mailbox { of: None, octets };
                    return self.send(Errand::Relay, message, Plan::mailbox(octets));
                }
            }
        }
    }

    /// Returns the largest ordinary frame of a member.
    fn mailbox(&self, member: u32) -> Bytes {
        self.members[member as usize].largest[usize::from(ORDINARY)]
    }

    fn serve(&mut self, member: u32) -> Turn {
        let (of, octets) = (Some(member), self.mailbox(member));
        let message = Message::Mailbox { of, octets };
        self.send(Errand::Mailbox(member), message, Plan::mailbox(octets))
    }

    fn send(&mut self, errand: Errand, message: Message, size: Bytes) -> Turn {
        self.step = Step::Away(errand);
        self.counted = 0;
        Turn::Control(Control { message, size })
    }

    /// Returns the next member in turn that has an ordinary frame.
    fn choose(&mut self, queue: &Queue) -> Option<u32> {
        let master = self.plan.master as usize;
        self.wants[master] = queue.heads[usize::from(ORDINARY)].is_some();
        let count = self.wants.len();
        let mut turns = (1..=count).map(|step| (self.visited + step) % count);
        let found = turns.find(|&member| self.wants[member])?;
        self.visited = found;
        self.wants[found] = false;
        u32::try_from(found).ok()
    }

    pub(super) fn hear(&mut self, at: Instant, member: u32, heard: &Heard) -> Option<Return> {
        let Step::Away(errand) = self.step else {
            return None;
        };
        if member != self.plan.master {
            if *heard == Heard::Busy {
                self.loads[member as usize] = self.load(at, member, errand);
            }
            return None;
        }
        let is_whole = match *heard {
            Heard::Control(_) => true,
            Heard::Noise => false,
            Heard::Busy | Heard::Data { .. } => return None,
        };
        self.step = match errand {
            Errand::Process if is_whole => Step::Choose,
            Errand::Mailbox(of) if of != member && self.plan.relays => {
                Step::PassOn(self.mailbox(of))
            }
            Errand::Process | Errand::Mailbox(_) | Errand::Relay => Step::Rest,
        };
        let expected = match errand {
            Errand::Process => self.members.len() - 1,
            Errand::Mailbox(of) => usize::from(of != member),
            Errand::Relay => 0,
        };
        let is_valid = is_whole && self.counted == expected;
        if is_valid && matches!(errand, Errand::Process) {
            self.wants.copy_from_slice(&self.told);
        }
        Some(Return { is_valid })
    }

    /// Returns what a member may put into a frame whose first bit comes to it.
    fn load(&self, at: Instant, member: u32, errand: Errand) -> Option<Load> {
        let (class, left) = match errand {
            Errand::Process => (REAL_TIME, self.plan.places[member as usize]),
            Errand::Mailbox(of) if of == member => (ORDINARY, 1),
            Errand::Mailbox(_) | Errand::Relay => return None,
        };
        Some(Load { at, class, left, has_counted: false })
    }
}
