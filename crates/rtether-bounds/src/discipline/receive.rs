//! Waits at the processors of an end station: application tasks, stack instances, receive queues.
//!
//! The rules are those of `docs/models/end-node-layer.md`. In every formula `own` packets are
//! served in order of arrival, `higher` ones count up to the beginning of the service looked at,
//! and the wait is the least `s - t` with `s = base + own(t) - c + higher(s)`, as in
//! [`crate::wait`]; `all >= k` means classes `k` and above. The results of `wait` and `window` hold
//! for any `own`, `higher` and `base` such that, from some time 0 at or before the arrival until
//! the service begins, nothing else uses the time.
//!
//! **Preemptive** (tasks with messages first, stack instances). Only classes `all >= k` use the
//! time between the arrival of a packet of class `k` and its completion `f`, from the last time 0
//! on at which none of them was there: `f = own(t) + higher(f)`. The wait is `f - t - c`. Packets
//! of several classes may complete closer together than their service lasts, so that such a place
//! does not space them.
//!
//! **Both directions in one processor.** The server compares the highest waiting class of each
//! direction; if they are equal the directions take turns. A higher class may take a turn in
//! between, so the other direction's packets of class `k` count as higher ones.
//!
//! **Algorithm A** is then strict priority without preemption: one packet of a lower class may be in
//! service at time 0.
//!
//! **Algorithm B** promotes the heads of all queues but the top one after each `N` picks. (i) It
//! always serves while a packet waits: everything else counts as higher. (ii) Where the processor
//! serves received frames only, let 0 be the last time before which none was in the queues of
//! `all >= k`, or in service from one. Then one frame of a lower class may be in service, and each
//! round of promotions lets one frame from below into these queues. With `n` frames of `all >= k`
//! picked before, the number of rounds `R` is at most `(n + R + N - 1) / N`, so
//! `R <= n / (N - 1) + 1`. So each frame of `all >= k` brings `L / (N - 1)` more, plus `L` once,
//! where `L` is the longest lower frame. A promoted frame is not delayed by its promotion: it was
//! at the head, and the frames served before it are of higher queues in any case.
//!
//! **Algorithm C** lets a frame below the top class pass only after one of the top class, or after
//! the idle release `I` without one. So the processor may be idle, or serve the other direction,
//! while a frame is held back. *Top class:* it is never held back. With `AllQueues` it waits as
//! under A. With `BelowTop` each of its frames lets one lower frame pass, and one may pass before
//! the first. *Another class `k`,* with idle release: (i) it is held back only within `I` after a
//! top frame was picked, so each top frame brings `I` besides its service, plus `I` once for one
//! picked before time 0. While a frame of `all >= k` waits no lower one passes. (ii) With
//! `BelowTop` the frame picked after a top frame is one below. So between two of these it is held
//! back for at most `I` and waits for at most one top frame, and each frame of `k` and of the
//! classes between brings these. All packets to be sent count as higher. *Packets to be sent* of
//! class `k`, one processor: let 0 be the time at which the processor last was idle or began to
//! serve a packet that is not of `all >= k` and did not pass by `BelowTop`. Then the only waiting
//! packets of `all >= k` are received frames that are held back. They have arrived within their
//! longest wait, so received frames below the top class count with a jitter larger by that wait.
//! With `BelowTop` each top frame lets one lower frame pass, and one may pass before the first.

use alloc::vec::Vec;
use core::cmp::Ordering;

use rtether_model::endnode::{LowTurn, ReceiveSelection};

use super::port::{Port, Waits, smaller, waits_behind};
use crate::analysis::LayerPart;
use crate::curve::Load;
use crate::source::add;
use crate::wait::Unbounded;

/// Receive queues, and queues of the same classes for packets to be sent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct ReceiveQueues {
    pub(crate) selection: ReceiveSelection,
    /// The highest class.
    pub(crate) top: u8,
}

impl ReceiveQueues {
    /// Returns the waits of a queue.
    pub(crate) fn waits(self, port: &Port<'_>, queue: u8) -> Waits {
        let Self { selection, top } = self;
        let both = Both { port, selection, top };
        both.waits(queue)
    }

    /// As [`super::Discipline::rank`]. The other direction of a class may take any of the turns.
    pub(crate) fn rank(self, queue: u8, other: u8) -> Option<Ordering> {
        let rank = class_of(other).cmp(&class_of(queue));
        let is_other = rank == Ordering::Equal && other != queue;
        let is_plain = self.selection == ReceiveSelection::HighestFirst;
        is_plain.then_some(if is_other { Ordering::Greater } else { rank })
    }

    /// Returns whether the processor may be idle while a packet waits.
    pub(crate) const fn pauses(self) -> bool {
        matches!(self.selection, ReceiveSelection::LowFlag { .. })
    }
}

/// Returns the waits of a queue where a higher one preempts.
pub(crate) fn preemptive(port: &Port<'_>, queue: u8) -> Waits {
    let own = port.of(|other| other == queue);
    // Up to completion nothing is subtracted.
    let whole: Vec<Load> = own.iter().map(|load| Load { cost: 0, least: 0, ..*load }).collect();
    let mut all = own.clone();
    let mut higher = port.of(|other| other > queue);
    let found = waits_behind(&whole, 0, &mut all, &mut higher)?;
    let pairs = found.into_iter().zip(&own);
    Ok(pairs.map(|(stay, load)| (stay - load.cost).max(0)).collect())
}

/// Queue of a class in one direction at a processor with receive queues.
pub(crate) const fn queue_of(class: u8, is_inbound: bool) -> u8 {
    2 * class + is_inbound as u8
}

/// Returns the class of a queue.
pub(crate) const fn class_of(queue: u8) -> u8 {
    queue / 2
}

const fn is_inbound(queue: u8) -> bool {
    queue % 2 == 1
}

/// Queues of both directions.
struct Both<'a> {
    port: &'a Port<'a>,
    selection: ReceiveSelection,
    top: u8,
}

impl Both<'_> {
    fn waits(&self, queue: u8) -> Waits {
        match self.selection {
            ReceiveSelection::HighestFirst => self.highest_first(queue),
            ReceiveSelection::Promoting { picks } => self.promoting(queue, picks.get().into()),
            ReceiveSelection::LowFlag { low_turn, .. } if !is_inbound(queue) => {
                self.to_be_sent(queue, low_turn)
            }
            ReceiveSelection::LowFlag { low_turn, .. } if class_of(queue) == self.top => {
                self.top(queue, low_turn)
            }
            ReceiveSelection::LowFlag { idle_release, low_turn } => {
                let idle = idle_release.ok_or(Unbounded::Layer(LayerPart::ReceiveQueues))?;
                self.low(queue, idle.as_ps(), low_turn)
            }
        }
    }

    /// Returns the longest packet of the lower classes.
    fn lower(&self, queue: u8) -> i64 {
        let class = class_of(queue);
        self.port.longest(|other| class_of(other) < class)
    }

    /// Returns the longest received frame of the lower classes.
    fn lower_inbound(&self, queue: u8) -> i64 {
        let class = class_of(queue);
        let is_lower = |other| is_inbound(other) && class_of(other) < class;
        self.port.longest(is_lower)
    }

    fn highest_first(&self, queue: u8) -> Waits {
        let class = class_of(queue);
        let is_higher = |other| other != queue && class_of(other) >= class;
        self.port.waits(queue, self.lower(queue), is_higher)
    }

    fn promoting(&self, queue: u8, picks: i64) -> Waits {
        let until_empty = self.port.waits(queue, 0, |other| other != queue);
        let serves_both = !self.port.of(|other| !is_inbound(other)).is_empty();
        if picks < 2 || !is_inbound(queue) || serves_both {
            if is_inbound(queue) || self.has_inbound() {
                return until_empty;
            }
            return self.highest_first(queue);
        }
        let lower = self.lower(queue);
        let extra = lower / (picks - 1) + i64::from(lower % (picks - 1) > 0);
        let own = self.port.of(|other| other == queue);
        let with_extra = |loads: Vec<Load>| loads.iter().map(|l| l.with(extra)).collect();
        let mut all: Vec<Load> = with_extra(own.clone());
        let mut higher: Vec<Load> = with_extra(self.port.of(|other| other > queue));
        let by_rounds = waits_behind(&own, 2 * lower, &mut all, &mut higher);
        smaller(until_empty, by_rounds)
    }

    fn has_inbound(&self) -> bool {
        !self.port.of(is_inbound).is_empty()
    }

    /// Top class of received frames under algorithm C.
    fn top(&self, queue: u8, low_turn: LowTurn) -> Waits {
        let is_higher = |other| other != queue && class_of(other) >= self.top;
        let extra = match low_turn {
            LowTurn::AllQueues => 0,
            LowTurn::BelowTop => self.lower_inbound(queue),
        };
        let base = self.lower(queue);
        self.port.waits_with(queue, base, extra, is_higher)
    }

    /// A lower class of received frames under algorithm C.
    fn low(&self, queue: u8, idle: i64, low_turn: LowTurn) -> Waits {
        let is_top = |other: u8| is_inbound(other) && class_of(other) == self.top;
        let is_between = |other: u8| is_inbound(other) && other > queue && !is_top(other);
        let own = self.port.of(|other| other == queue);
        let outbound = self.port.of(|other| !is_inbound(other));
        let lower = self.lower_inbound(queue);

        let mut higher = self.port.of(is_between);
        higher.extend(self.port.of(is_top).iter().map(|load| load.with(idle)));
        higher.extend(&outbound);
        let base = add(lower, idle);
        let by_top = waits_behind(&own, base, &mut own.clone(), &mut higher);
        if low_turn == LowTurn::AllQueues {
            return by_top;
        }
        let top = self.port.longest(is_top);
        let extra = add(idle, top);
        let mut all: Vec<Load> = own.iter().map(|load| load.with(extra)).collect();
        let between = self.port.of(is_between);
        let mut higher: Vec<Load> = between.iter().map(|load| load.with(extra)).collect();
        higher.extend(&outbound);
        let by_turns = waits_behind(&own, lower.max(top), &mut all, &mut higher);
        smaller(by_top, by_turns)
    }

    /// Packets to be sent, on a processor with algorithm C.
    fn to_be_sent(&self, queue: u8, low_turn: LowTurn) -> Waits {
        let class = class_of(queue);
        let own = self.port.of(|other| other == queue);
        let mut higher = self.port.of(|other| !is_inbound(other) && other > queue);
        let passing = match low_turn {
            LowTurn::AllQueues => 0,
            LowTurn::BelowTop => self.lower_inbound(queue),
        };
        for other in class..=self.top {
            let inbound = queue_of(other, true);
            let loads = self.port.of(|queue| queue == inbound);
            if other == self.top {
                higher.extend(loads.iter().map(|load| load.with(passing)));
            } else if !loads.is_empty() {
                let held = self.waits(inbound)?;
                let pairs = loads.iter().zip(held);
                higher.extend(pairs.map(|(load, wait)| Load {
                    jitter: add(load.jitter, wait),
                    slack: add(load.slack, wait),
                    ..*load
                }));
            }
        }
        waits_behind(&own, add(self.lower(queue), passing), &mut own.clone(), &mut higher)
    }
}
