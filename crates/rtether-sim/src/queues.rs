//! The queues of one egress port and its transmission selection (IEEE 802.1Q-2022, 8.6.6 to 8.6.8).
//!
//! Scope: FCFS, strict priority, weighted round robin by frames, strict over weighted round robin
//! (1P3Q1T), and earliest deadline first. Tail drop against a limit in octets for the whole port;
//! frames in transmission are not counted. No credit-based shaper, no gates, no preemption.

use alloc::boxed::Box;
use alloc::sync::Arc;
use alloc::vec;
use alloc::vec::Vec;

use rtether_model::network::{QueueMap, Selection};
use rtether_model::quantity::Bytes;
use rtether_model::record::QueueRecord;

use crate::packet::{Fifo, Pool};

const MAX: usize = QueueMap::MAX_QUEUES as usize;

/// One queue and its counters.
#[derive(Clone, Copy, Default)]
struct Lane {
    fifo: Fifo,
    record: QueueRecord,
}

/// Waiting frames of one port. A port that has never made a frame wait does not use it.
pub(crate) struct EgressQueues {
    lanes: Box<[Lane]>,
    count: u8,
    selection: Selection,
    /// For earliest deadline first: local deadline of each flow at this port, picoseconds; the
    /// largest number for a flow without one.
    local_deadlines: Option<Arc<[i64]>>,
    /// Queue whose turn it is in round robin, and the frames it may still send.
    turn: u8,
    credit: u8,
    waiting: u32,
    backlog: u64,
    backlog_max: u64,
    limit: u64,
}

impl EgressQueues {
    /// Creates empty queues; with FCFS and earliest deadline first all priorities share queue 0.
    pub(crate) fn new(count: u8, selection: Selection, limit: Bytes) -> Self {
        let count = match selection {
            Selection::Fcfs | Selection::EarliestDeadline => 1,
            Selection::StrictPriority | Selection::Wrr { .. } | Selection::StrictWrr { .. } => {
                count
            }
        };
        Self {
            lanes: vec![Lane::default(); usize::from(count)].into_boxed_slice(),
            count,
            selection,
            local_deadlines: None,
            // The lowest queue has no credit left, so the round begins at the highest.
            turn: 0,
            credit: 0,
            waiting: 0,
            backlog: 0,
            backlog_max: 0,
            limit: limit.get(),
        }
    }

    /// Sets the local deadline of each flow, if the port serves by earliest deadline.
    pub(crate) fn set_local_deadlines(&mut self, of_flow: &Arc<[i64]>) {
        if self.selection == Selection::EarliestDeadline {
            self.local_deadlines = Some(Arc::clone(of_flow));
        }
    }

    /// Returns whether no frame waits.
    #[inline]
    pub(crate) const fn is_empty(&self) -> bool {
        self.waiting == 0
    }

    /// Returns whether a frame of `size` octets fits.
    #[inline]
    pub(crate) const fn fits(&self, size: u64) -> bool {
        self.backlog + size <= self.limit
    }

    /// Returns the number of queues.
    #[inline]
    pub(crate) const fn count(&self) -> u8 {
        self.count
    }

    /// Returns the queue for frames of a traffic class.
    #[inline]
    pub(crate) fn queue_for(&self, class: u8) -> u8 {
        class.min(self.count - 1)
    }

    /// Adds a frame whose `mark` is its arrival; the caller has checked [`Self::fits`].
    #[inline]
    pub(crate) fn push(&mut self, pool: &mut Pool, id: u32, queue: u8, size: u64) {
        let lane = &mut self.lanes[usize::from(queue)];
        match &self.local_deadlines {
            None => lane.fifo.push(pool, id),
            Some(of_flow) => lane.fifo.insert(pool, id, |packet| {
                packet.mark.saturating_add(of_flow[packet.flow as usize])
            }),
        }
        lane.record.depth_max = lane.record.depth_max.max(lane.fifo.len());
        self.waiting += 1;
        self.backlog += size;
        self.backlog_max = self.backlog_max.max(self.backlog);
    }

    /// Removes and returns the frame that transmission selection chooses, with its queue.
    #[inline]
    pub(crate) fn pop(&mut self, pool: &Pool) -> Option<(u32, u8)> {
        if self.waiting == 0 {
            return None;
        }
        let queue = if self.count == 1 { 0 } else { self.select() };
        let id = self.lanes[usize::from(queue)].fifo.pop(pool)?;
        self.waiting -= 1;
        self.backlog -= pool.get(id).frame_size().unsigned_abs();
        Some((id, queue))
    }

    /// Notes that a frame has waited `waited_ps` in `queue`.
    #[inline]
    pub(crate) fn note_waited(&mut self, queue: u8, waited_ps: i64) {
        self.lanes[usize::from(queue)].record.waited_ps += i128::from(waited_ps);
    }

    /// Counts a frame of `queue` as sent. A port with one queue takes the number from its own
    /// counter, and need not call this for every frame.
    #[inline]
    pub(crate) fn note_sent(&mut self, queue: u8) {
        self.lanes[usize::from(queue)].record.sent += 1;
    }

    /// Counts a tail drop, or a frame that the medium has given up.
    pub(crate) fn note_dropped(&mut self, queue: u8) {
        self.lanes[usize::from(queue)].record.dropped += 1;
    }

    /// Chooses among several queues that are not all empty.
    fn select(&mut self) -> u8 {
        match self.selection {
            Selection::Fcfs | Selection::StrictPriority | Selection::EarliestDeadline => {
                self.highest(self.count)
            }
            Selection::Wrr { weights } => self.round_robin(self.count, weights),
            Selection::StrictWrr { weights } => {
                let top = self.count - 1;
                if self.lanes[usize::from(top)].fifo.len() > 0 {
                    top
                } else {
                    self.round_robin(top, weights)
                }
            }
        }
    }

    fn highest(&self, below: u8) -> u8 {
        (0..below)
            .rev()
            .find(|&q| self.lanes[usize::from(q)].fifo.len() > 0)
            .unwrap_or(0)
    }

    /// Stays with the current queue while it has frames and credit, else moves to the next lower
    /// one.
    fn round_robin(&mut self, below: u8, weights: [u8; MAX]) -> u8 {
        if self.turn >= below {
            self.turn = below - 1;
            self.credit = weights[usize::from(self.turn)];
        }
        for _ in 0..=below {
            if self.credit > 0 && self.lanes[usize::from(self.turn)].fifo.len() > 0 {
                self.credit -= 1;
                return self.turn;
            }
            self.turn = if self.turn == 0 {
                below - 1
            } else {
                self.turn - 1
            };
            self.credit = weights[usize::from(self.turn)];
        }
        self.highest(below)
    }

    /// Returns the number of waiting frames.
    pub(crate) const fn waiting(&self) -> u32 {
        self.waiting
    }

    /// Returns the octets waiting.
    pub(crate) const fn backlog(&self) -> u64 {
        self.backlog
    }

    /// Returns the largest backlog so far, in octets.
    pub(crate) const fn backlog_max(&self) -> Bytes {
        Bytes::new(self.backlog_max)
    }

    /// Returns the counters, lowest queue first.
    pub(crate) fn records(&self) -> Vec<QueueRecord> {
        self.lanes.iter().map(|lane| lane.record).collect()
    }

    /// Returns all waiting frames.
    pub(crate) fn iter<'a>(&'a self, pool: &'a Pool) -> impl Iterator<Item = u32> + 'a {
        self.lanes.iter().flat_map(|lane| lane.fifo.iter(pool))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::packet::Packet;
    use std::vec::Vec;

    fn packet(size: u16) -> Packet {
        Packet {
            size,
            ..Packet::default()
        }
    }

    /// Fills every queue with `each` frames and returns the queues of the first `take` frames to
    /// leave.
    fn order(selection: Selection, count: u8, each: u32, take: usize) -> Vec<u8> {
        let mut pool = Pool::default();
        let mut queues = EgressQueues::new(count, selection, Bytes::new(1_000_000));
        for queue in 0..count {
            for _ in 0..each {
                let id = pool.insert(packet(100));
                queues.push(&mut pool, id, queues.queue_for(queue), 100);
            }
        }
        (0..take)
            .map_while(|_| queues.pop(&pool))
            .map(|(_, queue)| queue)
            .collect()
    }

    #[test]
    fn selections_by_hand() {
        let weights = [1, 2, 3, 0, 0, 0, 0, 0];
        assert_eq!(
            order(Selection::StrictPriority, 3, 2, 6),
            [2, 2, 1, 1, 0, 0]
        );
        assert_eq!(order(Selection::Fcfs, 3, 2, 6), [0; 6]);
        let wrr = order(Selection::Wrr { weights }, 3, 6, 12);
        assert_eq!(wrr, [2, 2, 2, 1, 1, 0, 2, 2, 2, 1, 1, 0]);
        let mixed = order(
            Selection::StrictWrr {
                weights: [1, 2, 3, 9, 0, 0, 0, 0],
            },
            4,
            2,
            8,
        );
        assert_eq!(mixed, [3, 3, 2, 2, 1, 1, 0, 0]);
    }

    #[test]
    fn earliest_deadline_first_by_hand() {
        // Flow 0 is due after 10, flow 1 after 3, flow 2 never. Arrivals at 0 to 6.
        let mut pool = Pool::default();
        let mut queues = EgressQueues::new(4, Selection::EarliestDeadline, Bytes::new(1_000));
        queues.set_local_deadlines(&Arc::from([10, 3, i64::MAX]));
        assert_eq!(queues.count(), 1);
        for (mark, flow) in [(0, 2), (1, 0), (2, 1), (3, 2), (4, 0), (5, 1), (8, 1)] {
            let id = pool.insert(Packet {
                mark,
                flow,
                ..packet(100)
            });
            queues.push(&mut pool, id, 0, 100);
        }
        // Due: 11, 5, 14, 8 and 11; of equal ones, the earlier arrival first.
        let sent: Vec<(i64, u32)> = core::iter::from_fn(|| queues.pop(&pool))
            .map(|(id, _)| (pool.get(id).mark, pool.get(id).flow))
            .collect();
        let expected = [(2, 1), (5, 1), (1, 0), (8, 1), (4, 0), (0, 2), (3, 2)];
        assert_eq!(sent, expected);
        assert!(queues.is_empty() && queues.backlog() == 0);
    }

    #[test]
    fn round_robin_serves_what_is_there() {
        let mut pool = Pool::default();
        let weights = [1, 1, 1, 0, 0, 0, 0, 0];
        let mut queues = EgressQueues::new(3, Selection::Wrr { weights }, Bytes::new(1_000));
        for _ in 0..4 {
            let id = pool.insert(packet(100));
            queues.push(&mut pool, id, 0, 100);
        }
        assert!(!queues.fits(601) && queues.fits(600));
        let sent: Vec<u8> = core::iter::from_fn(|| queues.pop(&pool))
            .map(|(_, q)| q)
            .collect();
        assert_eq!(sent, [0; 4]);
        assert!(queues.is_empty() && queues.backlog() == 0);
    }
}
