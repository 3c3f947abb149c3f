//! ETHERNET Powerlink: a cycle of a managing node, with an isochronous and an asynchronous phase.
//!
//! The managing node begins each cycle with a SoC frame. It asks each controlled node (PReq), which
//! answers with a real-time frame in place of the PRes, or an empty one, and sends one of its own.
//! The SoA frame then grants one node one ordinary frame. Nodes tell in their answers whether they
//! have ordinary frames; the managing node grants in turn. If an answer does not come in time, it
//! goes on with the next node.
//!
//! Left out: multiplexed nodes, poll response chaining, and what nodes do about losses beyond the
//! cycle (error counters, return to an earlier state, redundant managing nodes).

use alloc::vec::Vec;

use rtether_model::access::{CONTROL, ORDINARY, Powerlink as Plan, REAL_TIME};
use rtether_model::quantity::{Duration, Instant};

use super::{Control, Heard, Message, Queue, Turn};

/// State of all nodes.
#[derive(Clone, Debug)]
pub(super) struct Powerlink {
    plan: Plan,
    response: Duration,
    nodes: Vec<u32>,
    step: Step,
    /// When the next cycle begins.
    next: Instant,
    /// By member: whether the managing node knows of ordinary frames that wait there.
    wants: Vec<bool>,
    /// Member after which the managing node looks for the next grant.
    granted: usize,
    /// By member: what it does and when, once it has been asked or granted.
    due: Vec<Option<(Instant, u8)>>,
}

/// What the managing node is at.
#[derive(Clone, Copy, Debug)]
enum Step {
    /// Waits for the cycle to begin.
    Rest,
    /// Asks a node.
    Ask(usize),
    /// Waits for its answer; `None` while the request is being sent.
    Await(usize, Option<Instant>),
    /// Sends its own real-time frame.
    Own,
    /// Grants the asynchronous phase.
    Grant,
    /// Waits for the granted member; `None` while the grant is being sent.
    Granted(u32, Option<Instant>),
    /// Sends its own ordinary frame.
    OwnOrdinary,
}

impl Powerlink {
    pub(super) fn new(plan: &Plan, response: Duration, members: usize) -> Self {
        let all = 0..u32::try_from(members).unwrap_or(u32::MAX);
        Self {
            plan: plan.clone(),
            response,
            nodes: all.filter(|member| *member != plan.master).collect(),
            step: Step::Rest,
            next: Instant::ZERO,
            wants: alloc::vec![false; members],
            granted: 0,
            due: alloc::vec![None; members],
        }
    }

    pub(super) fn poll(&mut self, now: Instant, member: u32, queue: &Queue) -> Turn {
        if member == self.plan.master {
            return self.manage(now, queue);
        }
        let due = &mut self.due[member as usize];
        let Some((time, class)) = *due else {
            return Turn::Silent;
        };
        if now < time {
            return Turn::NotBefore(time);
        }
        *due = None;
        let wants = queue.heads[usize::from(ORDINARY)].is_some();
        match queue.send(class, u32::from(wants)) {
            Some(turn) => turn,
            None if class == REAL_TIME => control(Message::Answer { wants }),
            None => Turn::Silent,
        }
    }

    /// Returns what the managing node does.
    fn manage(&mut self, now: Instant, queue: &Queue) -> Turn {
        loop {
            match self.step {
                Step::Rest if now < self.next => return Turn::NotBefore(self.next),
                Step::Rest => {
                    // A cycle that took too long costs the next ones.
                    while self.next <= now {
                        self.next += self.plan.cycle;
                    }
                    self.step = Step::Ask(0);
                    return control(Message::CycleStart);
                }
                Step::Ask(node) => {
                    let Some(&to) = self.nodes.get(node) else {
                        self.step = Step::Own;
                        continue;
                    };
                    self.step = Step::Await(node, None);
                    return control(Message::Request { to });
                }
                Step::Await(_, None) | Step::Granted(_, None) => return Turn::Silent,
                Step::Await(_, Some(until)) | Step::Granted(_, Some(until)) if now < until => {
                    return Turn::NotBefore(until);
                }
                Step::Await(node, _) => self.step = Step::Ask(node + 1),
                Step::Granted(..) => self.step = Step::Rest,
                Step::Own => {
                    self.step = Step::Grant;
                    if let Some(turn) = queue.send(REAL_TIME, 0) {
                        return turn;
                    }
                }
                Step::Grant => return self.grant(queue),
                Step::OwnOrdinary => {
                    self.step = Step::Rest;
                    if let Some(turn) = queue.send(ORDINARY, 0) {
                        return turn;
                    }
                }
            }
        }
    }

    /// Grants the asynchronous phase to the next member that has ordinary frames.
    fn grant(&mut self, queue: &Queue) -> Turn {
        let master = self.plan.master;
        self.wants[master as usize] = queue.heads[usize::from(ORDINARY)].is_some();
        let count = self.wants.len();
        let mut turns = (1..=count).map(|step| (self.granted + step) % count);
        let found = turns.find(|&member| self.wants[member]);
        let to = found.and_then(|member| u32::try_from(member).ok());
        self.step = match to {
            None => Step::Rest,
            Some(own) if own == master => Step::OwnOrdinary,
            Some(other) => Step::Granted(other, None),
        };
        if let Some(member) = found {
            self.granted = member;
            self.wants[member] = false;
        }
        control(Message::Grant { to })
    }

    pub(super) fn hear(&mut self, at: Instant, member: u32, from: Option<u32>, heard: &Heard) {
        if member != self.plan.master {
            let class = match *heard {
                Heard::Control(Message::Request { to }) if to == member => REAL_TIME,
                Heard::Control(Message::Grant { to }) if to == Some(member) => ORDINARY,
                Heard::Control(_) | Heard::Data { .. } | Heard::Busy | Heard::Noise => return,
            };
            self.due[member as usize] = Some((at + self.response, class));
            return;
        }
        if let Some(from) = from.filter(|from| *from != member) {
            match *heard {
                Heard::Control(Message::Answer { wants }) => self.wants[from as usize] = wants,
                Heard::Data { class, note } if class == REAL_TIME => {
                    self.wants[from as usize] = note > 0;
                }
                Heard::Control(_) | Heard::Data { .. } | Heard::Busy | Heard::Noise => {}
            }
        }
        let is_own = from == Some(member);
        match self.step {
            Step::Await(node, _) if is_own => {
                self.step = Step::Await(node, Some(at + self.plan.timeout));
            }
            Step::Await(node, _) if from == self.nodes.get(node).copied() => {
                self.step = Step::Ask(node + 1);
            }
            Step::Granted(to, _) if is_own => {
                self.step = Step::Granted(to, Some(at + self.plan.timeout));
            }
            Step::Granted(to, _) if from == Some(to) => self.step = Step::Rest,
            Step::Rest
            | Step::Ask(_)
            | Step::Await(..)
            | Step::Own
            | Step::Grant
            | Step::Granted(..)
            | Step::OwnOrdinary => {}
        }
    }
}

const fn control(message: Message) -> Turn {
    Turn::Control(Control { message, size: CONTROL })
}
