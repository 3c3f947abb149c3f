//! The queues of one egress port (IEEE 802.1Q-2022, 8.6.6 and 8.6.7); [`rtether_proto::port`]
//! selects among them.
//!
//! Tail drop against a limit in octets for the whole port, and a threshold for each queue; frames in
//! transmission are not counted.

use alloc::boxed::Box;
use alloc::collections::VecDeque;
use alloc::sync::Arc;
use alloc::vec;
use alloc::vec::Vec;

use rtether_model::network::{Feature, PortPlan};
use rtether_model::quantity::{BitRate, Bytes, Instant};
use rtether_model::record::QueueRecord;
use rtether_proto::port::{Decision, Selector, Unlimited, Waiting};

use crate::packet::{Fifo, Packet, Pool};

/// One queue and its counters.
#[derive(Clone, Copy, Default)]
struct Lane {
    fifo: Fifo,
    /// Not kept if there is no other queue: it would be that of the port.
    backlog: Backlog,
    record: QueueRecord,
}

/// Frames and octets that wait, also those that are on the link ahead of time, and the most so far.
#[derive(Clone, Copy, Default)]
struct Backlog {
    octets: u64,
    octets_max: u64,
    frames: u32,
    frames_max: u32,
}

impl Backlog {
    #[inline]
    fn add(&mut self, size: u64) {
        self.come(size);
        self.note();
    }

    #[inline]
    fn come(&mut self, size: u64) {
        self.frames += 1;
        self.octets += size;
    }

    #[inline]
    fn note(&mut self) {
        self.frames_max = self.frames_max.max(self.frames);
        self.octets_max = self.octets_max.max(self.octets);
    }

    #[inline]
    fn subtract(&mut self, size: u64) {
        self.frames -= 1;
        self.octets -= size;
    }
}

/// The frames in the queues, as the selection sees them.
struct Frames<'a> {
    lanes: &'a [Lane],
    pool: &'a Pool,
}

impl Waiting for Frames<'_> {
    #[inline]
    fn has_frame(&self, queue: u8) -> bool {
        self.lanes[usize::from(queue)].fifo.len() > 0
    }

    fn head_size(&self, queue: u8) -> u32 {
        let head = self.lanes[usize::from(queue)].fifo.head();
        head.map_or(0, |id| u32::try_from(self.pool.get(id).frame_size()).unwrap_or(u32::MAX))
    }

    fn head_since(&self, queue: u8) -> Instant {
        let head = self.lanes[usize::from(queue)].fifo.head();
        head.map_or(Instant::ZERO, |id| Instant::from_ps(self.pool.get(id).mark))
    }
}

/// Returns when a frame that waits is due, by the local deadline of its flow.
fn due(packet: &Packet, of_flow: &[i64]) -> i64 {
    packet.mark.saturating_add(of_flow[packet.flow as usize])
}

/// What a port that could send gets from its queues.
pub(crate) enum Next {
    /// A frame, and the queue that it was in.
    Frame(u32, u8),
    /// Nothing before this time.
    NotBefore(i64),
    /// No frame waits.
    Empty,
}

/// When a frame that still waits will leave.
struct Departure {
    at: i64,
    waited: i64,
    size: u64,
}

/// Waiting frames of one port. A port that has never made a frame wait does not use it.
pub(crate) struct EgressQueues {
    lanes: Box<[Lane]>,
    /// Nothing but the order of arrival decides when a frame leaves.
    is_in_order: bool,
    /// Frames of such a port that are on the link already, by the times at which they will be.
    departures: VecDeque<Departure>,
    /// Time of the first of these; the largest number if there is none.
    departs_at: i64,
    /// Frame that the idle port sends unless a better one comes at this time, and its queue. It
    /// takes no memory, and uses up no turn if it stays the only one.
    candidate: Option<(u32, u8)>,
    selector: Selector,
    /// For earliest deadline first: local deadline of each flow at this port, picoseconds; the
    /// largest number for a flow without one.
    local_deadlines: Option<Arc<[i64]>>,
    backlog: Backlog,
    limit: u64,
    /// Octets that may wait in each queue; `None` if only the limit counts.
    thresholds: Option<Box<[u64; 8]>>,
}

impl EgressQueues {
    /// Creates the empty queues of a port with this plan, on a link of this rate if it has one.
    pub(crate) fn new(plan: &PortPlan, rate: Option<BitRate>, limit: Bytes) -> Self {
        let selector = Selector::new(plan, rate);
        Self {
            lanes: vec![Lane::default(); usize::from(selector.queues())].into_boxed_slice(),
            is_in_order: false,
            departures: VecDeque::new(),
            departs_at: i64::MAX,
            candidate: None,
            selector,
            local_deadlines: plan.needs(Feature::Deadlines).then(|| Arc::from([])),
            backlog: Backlog::default(),
            limit: limit.get(),
            thresholds: None,
        }
    }

    /// Limits the octets that may wait in each queue.
    pub(crate) fn set_thresholds(&mut self, thresholds: [Bytes; 8]) {
        self.thresholds = Some(Box::new(thresholds.map(Bytes::get)));
    }

    /// Returns whether the port serves by earliest deadline.
    pub(crate) const fn is_by_deadline(&self) -> bool {
        self.local_deadlines.is_some()
    }

    /// Returns whether something else than the order of arrival decides which frame is next.
    pub(crate) fn has_choice(&self) -> bool {
        self.count() > 1 || self.is_by_deadline()
    }

    /// Says that nothing but these queues decides when a frame leaves.
    pub(crate) fn set_alone(&mut self) {
        self.is_in_order = !self.has_choice() && !self.is_asked_when_idle();
    }

    /// Returns whether the time at which a frame leaves is known when it comes.
    #[inline]
    pub(crate) const fn is_in_order(&self) -> bool {
        self.is_in_order
    }

    /// Adds a frame that leaves at `at`, in order; the caller has checked [`Self::fits`].
    #[inline]
    pub(crate) fn schedule(&mut self, at: i64, waited: i64, size: u64) {
        self.departures.push_back(Departure { at, waited, size });
        self.departs_at = self.departs_at.min(at);
        self.backlog.add(size);
    }

    /// Takes note of the frames that have left before `now`, and returns their number.
    #[inline]
    pub(crate) fn settle(&mut self, now: i64) -> u64 {
        if self.departs_at >= now {
            return 0;
        }
        self.settle_some(now)
    }

    fn settle_some(&mut self, now: i64) -> u64 {
        let mut left = 0;
        self.departs_at = loop {
            let Some(first) = self.departures.front() else {
                break i64::MAX;
            };
            if first.at >= now {
                break first.at;
            }
            let (waited, size) = (first.waited, first.size);
            self.departures.pop_front();
            self.backlog.subtract(size);
            self.note_waited(0, waited);
            left += 1;
        };
        left
    }

    /// Returns the number of frames on the link that will leave only later, and their octets.
    pub(crate) fn scheduled(&self) -> (u64, u64) {
        let octets = self.departures.iter().map(|frame| frame.size).sum();
        (self.departures.len() as u64, octets)
    }

    /// Sets the local deadline of each flow, for a port that serves by earliest deadline.
    pub(crate) fn set_local_deadlines(&mut self, of_flow: Arc<[i64]>) {
        self.local_deadlines = Some(of_flow);
    }

    /// Returns whether frames may not pass by the queues, even if these are empty.
    pub(crate) const fn is_asked_when_idle(&self) -> bool {
        self.selector.is_asked_when_idle()
    }

    /// Returns whether no frame waits.
    #[inline]
    pub(crate) const fn is_empty(&self) -> bool {
        self.backlog.frames == 0
    }

    /// Returns whether a frame of `size` octets fits into a queue.
    #[inline]
    pub(crate) fn fits(&self, queue: u8, size: u64) -> bool {
        let queue = usize::from(queue);
        let keeps = |own: &[u64; 8]| self.of_queue(queue).octets + size <= own[queue];
        self.backlog.octets + size <= self.limit && self.thresholds.as_deref().is_none_or(keeps)
    }

    /// Returns the number of queues.
    #[inline]
    pub(crate) const fn count(&self) -> u8 {
        self.selector.queues()
    }

    /// Returns the queue for frames of a traffic class.
    #[inline]
    pub(crate) fn queue_for(&self, class: u8) -> u8 {
        class.min(self.count() - 1)
    }

    /// Adds a frame whose `mark` is its arrival; the caller has checked [`Self::fits`].
    #[inline]
    pub(crate) fn push(&mut self, pool: &mut Pool, id: u32, queue: u8, size: u64) {
        self.line_up(pool, id, queue, false);
        if self.candidate.is_some() {
            // What waits is known after the selection.
            self.come(queue, size);
        } else {
            self.add(queue, size);
        }
    }

    #[cold]
    fn come(&mut self, queue: u8, size: u64) {
        self.backlog.come(size);
        if self.lanes.len() > 1 {
            self.lanes[usize::from(queue)].backlog.come(size);
        }
    }

    /// Makes a frame the one that an idle port sends unless a better one comes at this time.
    pub(crate) const fn propose(&mut self, id: u32, queue: u8) {
        self.candidate = Some((id, queue));
    }

    /// Removes and returns the frame that came first to an idle port, with its queue.
    #[inline]
    pub(crate) const fn take_candidate(&mut self) -> Option<(u32, u8)> {
        self.candidate.take()
    }

    /// Lets a frame that came first to an idle port wait: others have come at the same time.
    pub(crate) fn put_first(&mut self, pool: &mut Pool, id: u32, queue: u8, size: u64) {
        self.line_up(pool, id, queue, true);
        self.come(queue, size);
    }

    /// Notes what waits after a selection.
    pub(crate) fn note_left(&mut self) {
        self.backlog.note();
        self.lanes.iter_mut().for_each(|lane| lane.backlog.note());
    }

    /// Puts a frame into its queue: behind its equals, or before them if it `is_first`.
    #[inline]
    fn line_up(&mut self, pool: &mut Pool, id: u32, queue: u8, is_first: bool) {
        let lane = &mut self.lanes[usize::from(queue)];
        match &self.local_deadlines {
            None if is_first => lane.fifo.insert(pool, id, -1, |_| 0),
            None => lane.fifo.push(pool, id),
            Some(of_flow) => {
                let own = due(pool.get(id), of_flow) - i64::from(is_first);
                lane.fifo.insert(pool, id, own, |packet| due(packet, of_flow));
            }
        }
    }

    #[inline]
    fn add(&mut self, queue: u8, size: u64) {
        self.backlog.add(size);
        if self.lanes.len() > 1 {
            self.lanes[usize::from(queue)].backlog.add(size);
        }
    }

    #[inline]
    fn subtract(&mut self, queue: u8, size: u64) {
        self.backlog.subtract(size);
        if self.lanes.len() > 1 {
            self.lanes[usize::from(queue)].backlog.subtract(size);
        }
    }

    fn of_queue(&self, queue: usize) -> &Backlog {
        match &self.lanes[..] {
            [_] => &self.backlog,
            lanes => &lanes[queue].backlog,
        }
    }

    /// Removes and returns the frame that transmission selection chooses at `now`.
    #[inline]
    pub(crate) fn pop(&mut self, pool: &Pool, now: i64) -> Next {
        if self.is_empty() {
            return Next::Empty;
        }
        let frames = Frames { lanes: &self.lanes, pool };
        let queue = match self.selector.poll(Instant::from_ps(now), &Unlimited, &frames) {
            Decision::Send(queue) => queue,
            Decision::NotBefore(time) => return Next::NotBefore(time.as_ps()),
            Decision::Empty => return Next::Empty,
        };
        self.pop_from(pool, queue)
    }

    /// Removes and returns the oldest frame of a queue.
    #[inline]
    pub(crate) fn pop_from(&mut self, pool: &Pool, queue: u8) -> Next {
        let lane = &mut self.lanes[usize::from(queue)];
        let Some(id) = lane.fifo.pop(pool) else {
            return Next::Empty;
        };
        self.subtract(queue, pool.get(id).frame_size().unsigned_abs());
        Next::Frame(id, queue)
    }

    /// Returns the octets of the oldest frame of a queue.
    pub(crate) fn head(&self, pool: &Pool, queue: u8) -> Option<u64> {
        let head = self.lanes.get(usize::from(queue))?.fifo.head();
        head.map(|id| pool.get(id).frame_size().unsigned_abs())
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

    /// Returns the number of waiting frames.
    pub(crate) fn waiting(&self) -> u32 {
        self.backlog.frames + u32::from(self.candidate.is_some())
    }

    /// Returns the octets waiting.
    pub(crate) const fn backlog(&self) -> u64 {
        self.backlog.octets
    }

    /// Returns the largest backlog so far, in octets.
    pub(crate) const fn backlog_max(&self) -> Bytes {
        Bytes::new(self.backlog.octets_max)
    }

    /// Returns the counters, lowest queue first.
    pub(crate) fn records(&self) -> Vec<QueueRecord> {
        let records = self.lanes.iter().enumerate().map(|(queue, lane)| {
            let backlog = self.of_queue(queue);
            QueueRecord {
                depth_max: backlog.frames_max,
                backlog_max: Bytes::new(backlog.octets_max),
                ..lane.record
            }
        });
        records.collect()
    }

    /// Returns all waiting frames.
    pub(crate) fn iter<'a>(&'a self, pool: &'a Pool) -> impl Iterator<Item = u32> + 'a {
        let queued = self.lanes.iter().flat_map(|lane| lane.fifo.iter(pool));
        queued.chain(self.candidate.map(|(id, _)| id))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::packet::Packet;
    use rtether_model::network::Selection;
    use std::vec::Vec;

    fn queues(selection: Selection, count: u8, limit: u64) -> EgressQueues {
        EgressQueues::new(&PortPlan::new(selection, count), None, Bytes::new(limit))
    }

    fn packet(size: u16) -> Packet {
        Packet { size, ..Packet::default() }
    }

    fn sent(queues: &mut EgressQueues, pool: &Pool) -> Option<(u32, u8)> {
        match queues.pop(pool, 0) {
            Next::Frame(id, queue) => Some((id, queue)),
            Next::NotBefore(_) | Next::Empty => None,
        }
    }

    /// Fills every queue with `each` frames and returns the queues of the first `take` frames to
    /// leave.
    fn order(selection: Selection, count: u8, each: u32, take: usize) -> Vec<u8> {
        let mut pool = Pool::default();
        let mut queues = queues(selection, count, 1_000_000);
        for queue in 0..count {
            for _ in 0..each {
                let id = pool.insert(packet(100));
                queues.push(&mut pool, id, queues.queue_for(queue), 100);
            }
        }
        (0..take).map_while(|_| sent(&mut queues, &pool)).map(|(_, queue)| queue).collect()
    }

    #[test]
    fn selections_by_hand() {
        let weights = [1, 2, 3, 0, 0, 0, 0, 0];
        assert_eq!(order(Selection::StrictPriority, 3, 2, 6), [2, 2, 1, 1, 0, 0]);
        assert_eq!(order(Selection::Fcfs, 3, 2, 6), [0; 6]);
        let wrr = order(Selection::Wrr { weights }, 3, 6, 12);
        assert_eq!(wrr, [2, 2, 2, 1, 1, 0, 2, 2, 2, 1, 1, 0]);
        let mixed = order(Selection::StrictWrr { weights: [1, 2, 3, 9, 0, 0, 0, 0] }, 4, 2, 8);
        assert_eq!(mixed, [3, 3, 2, 2, 1, 1, 0, 0]);
    }

    #[test]
    fn earliest_deadline_first_by_hand() {
        // Flow 0 is due after 10, flow 1 after 3, flow 2 never. Arrivals at 0 to 6.
        let mut pool = Pool::default();
        let mut queues = queues(Selection::EarliestDeadline, 4, 1_000);
        queues.set_local_deadlines(Arc::from([10, 3, i64::MAX]));
        assert_eq!(queues.count(), 1);
        for (mark, flow) in [(0, 2), (1, 0), (2, 1), (3, 2), (4, 0), (5, 1), (8, 1)] {
            let id = pool.insert(Packet { mark, flow, ..packet(100) });
            queues.push(&mut pool, id, 0, 100);
        }
        // Due: 11, 5, 14, 8 and 11; of equal ones, the earlier arrival first.
        let sent: Vec<(i64, u32)> = core::iter::from_fn(|| sent(&mut queues, &pool))
            .map(|(id, _)| (pool.get(id).mark, pool.get(id).flow))
            .collect();
        let expected = [(2, 1), (5, 1), (1, 0), (8, 1), (4, 0), (0, 2), (3, 2)];
        assert_eq!(sent, expected);
        assert!(queues.is_empty() && queues.backlog() == 0);
    }

    #[test]
    fn a_queue_fills_up_to_its_threshold() {
        // By hand: 250 octets of queue 0, 1000 of queue 1, 1000 in all.
        let mut pool = Pool::default();
        let mut queues = queues(Selection::StrictPriority, 2, 1_000);
        queues.set_thresholds([250, 1_000, 0, 0, 0, 0, 0, 0].map(Bytes::new));
        let mut push = |queues: &mut EgressQueues, queue: u8| {
            let fits = queues.fits(queue, 100);
            if fits {
                let id = pool.insert(packet(100));
                queues.push(&mut pool, id, queue, 100);
            }
            fits
        };
        assert_eq!(
            [0, 0, 0, 1, 1].map(|queue| push(&mut queues, queue)),
            [true, true, false, true, true]
        );
        assert!(queues.fits(1, 600) && !queues.fits(1, 601) && !queues.fits(0, 51));
        for expected in [1, 1, 0] {
            assert_eq!(sent(&mut queues, &pool).map(|(_, queue)| queue), Some(expected));
        }
        // The room that was left is there again.
        assert!(queues.fits(0, 150) && !queues.fits(0, 151) && queues.fits(1, 900));
        let most = queues.records().into_iter().map(|own| own.backlog_max.get());
        assert!(most.eq([200, 200]));
    }

    #[test]
    fn round_robin_serves_what_is_there() {
        let mut pool = Pool::default();
        let weights = [1, 1, 1, 0, 0, 0, 0, 0];
        let mut queues = queues(Selection::Wrr { weights }, 3, 1_000);
        for _ in 0..4 {
            let id = pool.insert(packet(100));
            queues.push(&mut pool, id, 0, 100);
        }
        assert!(!queues.fits(0, 601) && queues.fits(0, 600));
        let sent: Vec<u8> =
            core::iter::from_fn(|| sent(&mut queues, &pool)).map(|(_, q)| q).collect();
        assert_eq!(sent, [0; 4]);
        assert!(queues.is_empty() && queues.backlog() == 0);
    }
}
