//! Waits between the stack of an end station and the wire: transmit queues, ring and port, fed by
//! the stack or by a smoother. They form one place: a packet arrives when it leaves the stack (a
//! bulk packet: the smoother) and waits until its transmission begins. `own`, `higher` and `base`
//! are as in [`super::receive`], the strategies those of `docs/models/end-node-layer.md`. A port that
//! runs empty gets its next frame at once.
//!
//! **Fifo** is order of arrival.
//!
//! **Moderate.** High frames enter at once, a low one when the ring is empty. Let `e` be the last
//! time at which a low frame entered before the transmission of a high one began; the high frame
//! was not there yet, and no other high frame waited in software. If the ring had to be completely
//! empty, only that low frame and high ones that came since `e` go first: `base` is the longest low
//! frame. If one might be in transmission (`NoneWaiting`), that frame, high or low, goes first too.
//! Likewise a low frame of class `k` waits for `all >= k` and for one lower frame, or for one lower
//! frame and another.
//!
//! **Strict.** A high frame takes the first low one along behind it; after the idle release `I`
//! without an entry, a low frame enters alone. *High:* the ring is a queue in order of arrival of
//! high frames, each with a low one behind it, and of low frames at least `I` apart; the low frame
//! that a high frame took along itself comes behind it and does not delay it. *Low, class `k`:* let
//! 0 be the last time before which none of `all >= k` waited in software, and let `n` of them enter
//! from then on, up to the one looked at. Between two of these entries at most one high frame
//! enters, and while there is room at most `I` passes. While there is no room the port is busy,
//! with what was in the ring at time 0 and what entered since: so the last of them enters within
//! `W + n (I + H + L)`, with `H` and `L` the longest high frame and the frames' own, and then waits
//! for the ring, `W` again. `W` is a ring full of the longest frames. Without idle release low
//! frames may wait forever.
//!
//! **Rings.** Each of the highest classes has its own ring, and the port serves the highest first:
//! strict priority. With a single descriptor a ring is empty for a moment after each of its frames,
//! and a lower frame may then go: each frame of such a ring brings one. The other classes share the
//! lowest ring in order of entry. For one of them (i) everything else counts as higher; (ii) let 0
//! be the last time at which none of `all >= k` waited in software. At that time the lowest ring
//! held at most as many frames as it has room for, the higher ones at most their backlog behind one
//! frame, and only `all >= k` has entered since.
//!
//! **Selection.** Frames enter the ring by a transmission selection whenever there is room, and leave
//! it in order of entry. Let 0 be the last time before which no frame of the class waited in
//! software. At that time the ring held at most as many frames as it has room for; what enters from
//! then on is chosen as at a port that serves these queues, only earlier, so that fewer frames of
//! other queues have come: the wait is that at such a port behind a ring full of the longest
//! frames. Under the credit-based shaper frames may also wait while there is room; a ring of a single
//! descriptor is then a port, and [`super::credit`] has the proof for longer ones.
//!
//! **Several high classes** share the ring in order of arrival while it has room, and enter by
//! priority while it has none. If all frames that may be there at once fit the ring, they are one
//! queue in order of arrival; otherwise the others count as higher.
//!
//! **Below a smoother** that hands out packets while fewer than `R` frames are below it. In order
//! of arrival there: *bulk* packets find at most `R - 1` frames. *Real-time:* let `e` be the last
//! time at which a bulk packet was handed out before the transmission looked at began. The packet
//! was not there yet, no other real-time one waited, and there were at most `R` frames below with
//! the bulk packet: `base` is `R` times the longest frame, and packets that bypass the smoother are
//! higher. *Bypassing packets:* the same with the last packet of either kind that was handed out.
//! Where there is no bulk packet, or no paced packet at all, the base is zero. Alternatively
//! everything else may count as higher, because a port never pauses while a frame waits. For
//! transmit queues that reorder below a smoother only this last bound is used; a strict strategy
//! there may fill the room with low frames that wait for high ones.

use alloc::vec::Vec;

use rtether_model::endnode::{RingEmpty, TransmitConfig, TransmitStrategy};
use rtether_model::network::{PortPlan, Selection};

use super::Discipline;
use super::port::{Port, Waits, smaller, waits_behind};
use crate::analysis::LayerPart;
use crate::classify::Level;
use crate::curve::Load;
use crate::source::add;
use crate::wait::{Unbounded, backlog};

/// Transmit queues and ring of a station, and the smoother above them.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Driver {
    strategy: TransmitStrategy,
    /// Descriptors of each ring.
    ring: i64,
    classes: u8,
    high_from: u8,
    /// Frames allowed below the smoother; `None` without a smoother.
    pub(crate) below: Option<i64>,
}

/// Returns the queue of a class at a port of a station.
pub(crate) const fn queue_of(level: Level, class: u8) -> u8 {
    level as u8 * 8 + class
}

/// Returns the class of a queue.
pub(crate) const fn class_of(queue: u8) -> u8 {
    queue % 8
}

/// Returns the level of a queue.
pub(crate) const fn level_of(queue: u8) -> u8 {
    queue / 8
}

impl Driver {
    /// Returns what lies between stack and port; `None` if it serves in order of arrival.
    pub(crate) fn new(transmit: Option<&TransmitConfig>, below: Option<i64>) -> Option<Self> {
        let (strategy, ring) = transmit.map_or((TransmitStrategy::Fifo, 1), |transmit| {
            (transmit.strategy, transmit.ring_limit.into())
        });
        let classes = transmit.map_or(1, |transmit| transmit.queue_limits.len());
        let classes = u8::try_from(classes.clamp(1, 8)).unwrap_or(8);
        let high_from = transmit.and_then(|transmit| transmit.high_from);
        let is_plain = strategy == TransmitStrategy::Fifo && below.is_none();
        (!is_plain).then_some(Self {
            strategy,
            ring,
            classes,
            high_from: high_from.unwrap_or(classes - 1),
            below,
        })
    }

    /// Returns the strategy of transmit queues that no smoother is above.
    pub(crate) const fn strategy_alone(&self) -> Option<TransmitStrategy> {
        if self.below.is_none() { Some(self.strategy) } else { None }
    }

    /// Returns the queue that packets of a class use.
    pub(crate) fn class(&self, class: u8) -> u8 {
        match self.strategy {
            TransmitStrategy::Fifo => 0,
            TransmitStrategy::Moderate { .. }
            | TransmitStrategy::Strict { .. }
            | TransmitStrategy::Rings { .. }
            | TransmitStrategy::Selection(_) => class.min(self.classes - 1),
        }
    }

    /// Returns whether frames leave in the order in which they arrive.
    pub(crate) fn is_in_order(&self) -> bool {
        self.strategy == TransmitStrategy::Fifo
    }

    /// Returns whether the port may be idle while a frame waits.
    pub(crate) fn pauses(&self) -> bool {
        match self.strategy {
            TransmitStrategy::Strict { .. } => true,
            TransmitStrategy::Selection(selection) => self.discipline(selection).pauses(),
            TransmitStrategy::Fifo
            | TransmitStrategy::Moderate { .. }
            | TransmitStrategy::Rings { .. } => false,
        }
    }

    /// Returns the discipline by which frames enter the ring.
    fn discipline(&self, selection: Selection) -> Discipline {
        Discipline::of_port(&PortPlan::new(selection, self.classes))
    }

    /// Returns the waits of a queue.
    pub(crate) fn waits(&self, port: &Port<'_>, queue: u8) -> Waits {
        if let Some(below) = self.below {
            return self.below_smoother(port, queue, below);
        }
        match self.strategy {
            TransmitStrategy::Fifo => port.waits(queue, 0, |_| false),
            TransmitStrategy::Moderate { empty } => self.moderate(port, queue, empty),
            TransmitStrategy::Strict { idle_release } => {
                let idle = idle_release.map(rtether_model::quantity::Duration::as_ps);
                if queue >= self.high_from {
                    self.strict_high(port, queue, idle)
                } else {
                    self.strict_low(port, queue, idle)
                }
            }
            TransmitStrategy::Rings { count } => self.rings(port, queue, count),
            TransmitStrategy::Selection(selection) => self.selected(port, queue, selection),
        }
    }

    fn selected(&self, port: &Port<'_>, queue: u8, selection: Selection) -> Waits {
        let discipline = self.discipline(selection);
        // A shaper may leave frames waiting while the ring has room.
        let is_shaped = discipline.pauses();
        if is_shaped && self.ring == 1 {
            return discipline.waits(port, queue);
        }
        let longest = port.longest(|_| true);
        let curve = port.curve.behind(self.ring.saturating_mul(longest));
        let behind = Port { curve, ..*port };
        let found = discipline.waits(&behind, queue)?;
        // The curve of a shaper ends at the entry.
        let rest = if is_shaped { self.ring - 1 } else { 0 };
        let rest = rest.saturating_mul(longest);
        Ok(found.into_iter().map(|wait| add(wait, rest)).collect())
    }

    fn below_smoother(&self, port: &Port<'_>, queue: u8, below: i64) -> Waits {
        if self.pauses() {
            return Err(Unbounded::Layer(LayerPart::StrictBelowSmoother));
        }
        let until_empty = port.waits(queue, 0, |other| other != queue);
        if !self.is_in_order() {
            return until_empty;
        }
        let longest = port.longest(|_| true);
        let is_bulk = |other: u8| level_of(other) == Level::Bulk as u8;
        let is_bypass = |other: u8| level_of(other) == Level::Bypass as u8;
        if is_bulk(queue) {
            let wait = (below - 1).saturating_mul(longest);
            let all = port.of(|other| other == queue).len();
            return Ok(alloc::vec![wait; all]);
        }
        let may_be_in_front = if is_bypass(queue) {
            !port.of(|other| !is_bypass(other)).is_empty()
        } else {
            !port.of(is_bulk).is_empty()
        };
        let base = if may_be_in_front { below.saturating_mul(longest) } else { 0 };
        let is_higher = |other| is_bypass(other) && other != queue;
        smaller(until_empty, port.waits(queue, base, is_higher))
    }

    fn moderate(&self, port: &Port<'_>, queue: u8, empty: RingEmpty) -> Waits {
        let is_high = |other: u8| other >= self.high_from;
        let lower = if is_high(queue) {
            port.longest(|other| !is_high(other))
        } else {
            port.longest(|other| other < queue)
        };
        let base = match empty {
            RingEmpty::NoneWaitingOrSending => lower,
            RingEmpty::NoneWaiting if lower == 0 => 0,
            RingEmpty::NoneWaiting => lower + port.longest(|_| true),
        };
        if is_high(queue) {
            self.high(port, queue, base, 0, None)
        } else {
            port.waits(queue, base, |other| other > queue)
        }
    }

    /// Waits of high frames that share the ring, where each brings `extra` work and `beside` is
    /// other work in the same order of arrival.
    fn high(
        &self,
        port: &Port<'_>,
        queue: u8,
        base: i64,
        extra: i64,
        beside: Option<Load>,
    ) -> Waits {
        let is_high = |other: u8| other >= self.high_from;
        let own = port.of(|other| other == queue);
        let heavier = |loads: Vec<Load>| loads.iter().map(|l| l.with(extra)).collect();
        let others: Vec<Load> = heavier(port.of(|other| is_high(other) && other != queue));
        let mut all: Vec<Load> = heavier(own.clone());
        all.extend(beside);
        if others.is_empty() {
            return waits_behind(&own, base, &mut all, &mut []);
        }
        let by_class = waits_behind(&own, base, &mut all.clone(), &mut others.clone());
        all.extend(others);
        if self.fits_ring(&all, base) {
            let in_order = waits_behind(&own, base, &mut all, &mut []);
            return smaller(by_class, in_order);
        }
        by_class
    }

    /// Returns whether all frames that may be there at once fit the ring.
    fn fits_ring(&self, all: &[Load], base: i64) -> bool {
        let shortest = all.iter().map(|load| load.cost).min().unwrap_or(0);
        let is_counted = all.iter().all(|load| load.packets == load.burst);
        let Ok(work) = backlog(&mut all.to_vec()) else {
            return false;
        };
        // A frame brings at most one other with it, and at most two are in front.
        let frames = 2 * (add(work, base) / shortest.max(1) + 1) + 2;
        is_counted && frames <= self.ring
    }

    fn strict_high(&self, port: &Port<'_>, queue: u8, idle: Option<i64>) -> Waits {
        let low = port.longest(|other| other < self.high_from);
        let alone = idle.filter(|_| low > 0).map(|idle| Load {
            visit: port.of(|_| true)[0].visit,
            ..Load::periodic(low, idle.max(1))
        });
        let found = self.high(port, queue, 0, low, alone)?;
        Ok(found.into_iter().map(|wait| (wait - low).max(0)).collect())
    }

    fn strict_low(&self, port: &Port<'_>, queue: u8, idle: Option<i64>) -> Waits {
        let idle = idle.ok_or(Unbounded::Layer(LayerPart::TransmitQueues))?;
        let full = self.ring.saturating_mul(port.longest(|_| true));
        let high = port.longest(|other| other >= self.high_from);
        let extra = add(idle, high);
        let own = port.of(|other| other == queue);
        let between = port.of(|other| other > queue && other < self.high_from);
        let mut all: Vec<Load> = own.iter().map(|load| load.with(extra)).collect();
        let mut higher: Vec<Load> = between.iter().map(|load| load.with(extra)).collect();
        waits_behind(&own, add(full, full), &mut all, &mut higher)
    }

    fn rings(&self, port: &Port<'_>, queue: u8, count: u8) -> Waits {
        let shared = self.classes - count;
        let extra = |lower: i64| if self.ring == 1 { lower } else { 0 };
        if queue > shared {
            let lower = port.longest(|other| other < queue);
            let own = port.of(|other| other == queue);
            let heavier = |loads: &[Load]| -> Vec<Load> {
                loads.iter().map(|load| load.with(extra(lower))).collect()
            };
            let mut higher = heavier(&port.of(|other| other > queue));
            return waits_behind(&own, lower, &mut heavier(&own), &mut higher);
        }
        let until_empty = port.waits(queue, 0, |other| other != queue);
        let above = |other: u8| other > shared;
        let longest = port.longest(|other| !above(other));
        let upper = port.of(above);
        let mut upper: Vec<Load> = upper.iter().map(|l| l.with(extra(longest))).collect();
        let Ok(waiting) = backlog(&mut upper) else {
            return until_empty;
        };
        let full = self.ring.saturating_mul(longest);
        let base = add(full, add(waiting, longest));
        let by_entry = port.waits(queue, base, |other| other > queue);
        smaller(until_empty, by_entry)
    }
}
