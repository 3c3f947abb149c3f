//! Master and slaves: the master asks each slave in turn, and the slave answers at once.
//!
//! A slave answers with its oldest real-time frame, with an ordinary one if it has none, or with an
//! empty answer. The master asks again if nothing
//! comes in time, and then goes on with the next slave; it sends one frame of its own behind the
//! last. A cycle begins at the earliest one cycle time after the last one has begun.

use alloc::vec::Vec;

use rtether_model::access::{CONTROL, Polling as Plan};
use rtether_model::quantity::{Duration, Instant};

use super::{Control, Heard, Message, Queue, Turn};

/// State of all stations.
#[derive(Clone, Debug)]
pub(super) struct Polling {
    plan: Plan,
    response: Duration,
    slaves: Vec<u32>,
    step: Step,
    /// When the cycle began.
    began: Instant,
    /// By member: when it answers.
    answers: Vec<Option<Instant>>,
}

/// What the master is at.
#[derive(Clone, Copy, Debug)]
enum Step {
    /// Waits for the next cycle.
    Rest(Instant),
    /// Asks a slave, for which it has tried so often.
    Ask { slave: usize, tries: u32 },
    /// Waits for the answer; `None` while the request is being sent.
    Await { slave: usize, tries: u32, until: Option<Instant> },
    /// Sends its own frame.
    Own,
}

impl Polling {
    pub(super) fn new(plan: &Plan, response: Duration, members: usize) -> Self {
        let all = 0..u32::try_from(members).unwrap_or(u32::MAX);
        Self {
            plan: plan.clone(),
            response,
            slaves: all.filter(|member| *member != plan.master).collect(),
            step: Step::Rest(Instant::ZERO),
            began: Instant::ZERO,
            answers: alloc::vec![None; members],
        }
    }

    pub(super) fn poll(&mut self, now: Instant, member: u32, queue: &Queue) -> Turn {
        if member == self.plan.master {
            return self.lead(now, queue);
        }
        let answer = &mut self.answers[member as usize];
        match *answer {
            Some(time) if now < time => Turn::NotBefore(time),
            Some(_) => {
                *answer = None;
                queue.send_first(0).unwrap_or(Turn::Control(Control {
                    message: Message::Answer { wants: false },
                    size: CONTROL,
                }))
            }
            None => Turn::Silent,
        }
    }

    /// Returns what the master does.
    fn lead(&mut self, now: Instant, queue: &Queue) -> Turn {
        // Without slaves it has the medium for itself.
        if self.slaves.is_empty() {
            return queue.send_first(0).unwrap_or(Turn::Silent);
        }
        loop {
            match self.step {
                Step::Rest(until) if now < until => return Turn::NotBefore(until),
                Step::Rest(_) => {
                    self.began = now;
                    self.step = Step::Ask { slave: 0, tries: 0 };
                }
                Step::Ask { slave, tries } => {
                    let Some(&to) = self.slaves.get(slave) else {
                        self.step = Step::Own;
                        continue;
                    };
                    let until = None;
                    self.step = Step::Await { slave, tries, until };
                    return Turn::Control(Control {
                        message: Message::Request { to },
                        size: CONTROL,
                    });
                }
                Step::Await { until: None, .. } => return Turn::Silent,
                Step::Await { until: Some(until), .. } if now < until => {
                    return Turn::NotBefore(until);
                }
                Step::Await { slave, tries, .. } if tries < self.plan.retries => {
                    let tries = tries + 1;
                    self.step = Step::Ask { slave, tries };
                }
                Step::Await { slave, .. } => self.go_on(slave),
                Step::Own => {
                    self.step = Step::Rest(self.began + self.plan.cycle);
                    if let Some(turn) = queue.send_first(0) {
                        return turn;
                    }
                }
            }
        }
    }

    const fn go_on(&mut self, slave: usize) {
        let slave = slave + 1;
        self.step = Step::Ask { slave, tries: 0 };
    }

    pub(super) fn hear(&mut self, at: Instant, member: u32, from: Option<u32>, heard: &Heard) {
        if member != self.plan.master {
            if *heard == Heard::Control(Message::Request { to: member }) {
                self.answers[member as usize] = Some(at + self.response);
            }
            return;
        }
        let Step::Await { slave, tries, .. } = self.step else {
            return;
        };
        if from == Some(self.plan.master) {
            let until = Some(at + self.plan.timeout);
            self.step = Step::Await { slave, tries, until };
        } else if from == self.slaves.get(slave).copied() {
            self.go_on(slave);
        }
    }
}
