//! TDMA as of RTnet (discipline 2.1a): slots in a cycle that a Sync frame begins.
//!
//! The master sends a Sync frame each cycle, as soon as the medium lets it. A station that hears it
//! knows when the cycle was due, and at the offset of each of its slots it sends at most
//! one frame, real-time ones first. A slot at whose beginning none waits, or none that fits, is lost. A station
//! that has not heard the Sync frame is silent in this cycle. A backup master that hears none until
//! its own offset sends one with the time at which the cycle was due, so slots do not move.
//!
//! RTnet starts with calibration, in which each slave measures the time to the master, and with a
//! master that listens for three cycles; here both are over when a run begins.

use alloc::vec::Vec;

use rtether_model::access::{CONTROL, ORDINARY, REAL_TIME, Slot, Tdma as Plan};
use rtether_model::quantity::{Duration, Instant};

use super::{Control, Heard, Message, Queue, Turn};

/// State of all stations.
#[derive(Clone, Debug)]
pub(super) struct Tdma {
    cycle: Duration,
    master: u32,
    /// Backup master, and its offset in the cycle.
    backup: Option<(u32, Duration)>,
    stations: Vec<Station>,
}

/// What one station knows.
#[derive(Clone, Debug)]
struct Station {
    /// Its slots by offset.
    slots: Vec<Slot>,
    /// Number and start of the cycle whose Sync frame it has heard last.
    heard: Option<(u64, Instant)>,
    /// Slots of that cycle that are used or past.
    done: usize,
    /// Master and backup: the next cycle that wants a Sync frame.
    next: u64,
}

impl Tdma {
    pub(super) fn new(plan: &Plan, members: usize) -> Self {
        let members = 0..u32::try_from(members).unwrap_or(u32::MAX);
        let station = |member| {
            let own = plan.slots.iter().filter(|slot| slot.member == member);
            let mut slots: Vec<Slot> = own.copied().collect();
            slots.sort_by_key(|slot| slot.offset);
            Station { slots, heard: None, done: 0, next: 0 }
        };
        Self {
            cycle: plan.cycle,
            master: plan.master,
            backup: plan.backup.map(|own| (own.member, own.offset)),
            stations: members.map(station).collect(),
        }
    }

    pub(super) fn poll(&mut self, now: Instant, member: u32, queue: &Queue) -> Turn {
        let mut wake = None;
        if let Some(offset) = self.offset_of_sync(member) {
            let own = &mut self.stations[member as usize];
            let cycle = own.next;
            let scheduled = start(self.cycle, cycle);
            if now >= scheduled + offset {
                own.next += 1;
                return Turn::Control(Control {
                    message: Message::Sync { cycle, scheduled },
                    size: CONTROL,
                });
            }
            wake = Some(scheduled + offset);
        }
        match self.stations[member as usize].in_slots(now, queue) {
            Turn::NotBefore(time) => Turn::NotBefore(wake.map_or(time, |own| own.min(time))),
            Turn::Silent => wake.map_or(Turn::Silent, Turn::NotBefore),
            turn @ (Turn::Control(_) | Turn::Data { .. } | Turn::Load { .. }) => turn,
        }
    }

    /// Returns when in a cycle a station sends a Sync frame unless it has heard one.
    fn offset_of_sync(&self, member: u32) -> Option<Duration> {
        if member == self.master {
            return Some(Duration::ZERO);
        }
        let (_, offset) = self.backup.filter(|(own, _)| *own == member)?;
        Some(offset)
    }

    pub(super) fn hear(&mut self, member: u32, heard: &Heard) {
        let Heard::Control(Message::Sync { cycle, scheduled }) = *heard else {
            return;
        };
        let own = &mut self.stations[member as usize];
        own.next = own.next.max(cycle + 1);
        // The backup's Sync of a cycle whose first one was late begins nothing anew.
        if own.heard.is_none_or(|(last, _)| cycle > last) {
            own.heard = Some((cycle, scheduled));
            own.done = 0;
        }
    }
}

impl Station {
    /// Returns what the station does with its slots.
    fn in_slots(&mut self, now: Instant, queue: &Queue) -> Turn {
        let Some((cycle, begin)) = self.heard else {
            return Turn::Silent;
        };
        while let Some(slot) = self.slots.get(self.done) {
            let is_ours = cycle % u64::from(slot.of.max(1)) == u64::from(slot.turn);
            let time = begin + slot.offset;
            if is_ours && now < time {
                return Turn::NotBefore(time);
            }
            if is_ours && now == time {
                let fits = |class: &u8| {
                    let head = queue.heads[usize::from(*class)];
                    head.is_some_and(|size| size <= slot.size)
                };
                if let Some(class) = [REAL_TIME, ORDINARY].into_iter().find(fits) {
                    self.done += 1;
                    return Turn::Data { class, note: 0 };
                }
                // A frame that comes in this very picosecond is still in time.
                let later = self.slots[self.done + 1..].iter();
                let mut later =
                    later.filter(|slot| cycle % u64::from(slot.of.max(1)) == u64::from(slot.turn));
                return later
                    .next()
                    .map_or(Turn::Silent, |slot| Turn::NotBefore(begin + slot.offset));
            }
            self.done += 1;
        }
        Turn::Silent
    }
}

/// Returns when a cycle is due.
fn start(cycle: Duration, number: u64) -> Instant {
    let number = i64::try_from(number).unwrap_or(i64::MAX);
    Instant::ZERO + cycle * number
}
