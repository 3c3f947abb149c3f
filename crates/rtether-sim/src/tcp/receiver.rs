//! The receiving end: reassembly and acknowledgements (RFC 9293, 3.10.7.4; RFC 5681, 4.2).
//!
//! The application reads at once, so that the window is constant and there is no window update. The
//! receiver retransmits nothing: a lost SYN-ACK is sent again when the SYN comes again, and a lost
//! acknowledgement is replaced by the next one or requested by a retransmission.

use rtether_model::quantity::{Bytes, Instant};

use super::config::{Config, MAX_RANGES};
use super::segment::{Flags, Segment};

/// Sequence number of the receiver's own segments: 0 for its SYN, 1 afterwards.
const OWN_SEQ: u64 = 1;

/// Sequence numbers from `start` up to, not including, `end`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Range {
    start: u64,
    end: u64,
}

/// Counters of a receiver.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ReceiverStatistics {
    /// Segments received, of any kind.
    pub segments_received: u64,
    /// Acknowledgements sent, SYN-ACKs included; not those carried by data of the other direction.
    pub acks_sent: u64,
    /// Segments with no new data.
    pub duplicates: u64,
    /// Segments that arrived after a gap in the sequence.
    pub out_of_order: u64,
    /// Segments refused for lack of a free range.
    pub refused_ranges: u64,
    /// Segments refused because they reach beyond the window.
    pub refused_window: u64,
}

/// The receiving end of a connection.
#[derive(Clone, Debug)]
pub struct Receiver {
    config: Config,
    open: bool,
    /// The first sequence number missing.
    next: u64,
    /// Ranges received beyond `next`: the first `range_count`, ascending, not touching one another.
    ranges: [Range; MAX_RANGES],
    range_count: usize,
    /// Sequence number of the FIN, once one was seen.
    fin: Option<u64>,
    syn_ack_due: bool,
    ack_due: bool,
    /// Segments received in order and not yet acknowledged.
    unacknowledged: u32,
    delayed_until: Option<Instant>,
    statistics: ReceiverStatistics,
}

impl Receiver {
    /// Returns a receiver waiting for a SYN.
    ///
    /// # Panics
    /// If `config` has a size, a count or a timeout of zero.
    pub fn new(config: Config) -> Self {
        config.assert_usable();
        Self {
            config,
            open: false,
            next: 0,
            ranges: [Range::default(); MAX_RANGES],
            range_count: 0,
            fin: None,
            syn_ack_due: false,
            ack_due: false,
            unacknowledged: 0,
            delayed_until: None,
            statistics: ReceiverStatistics::default(),
        }
    }

    /// Returns the receiver of a connection that has long been open, without a handshake.
    ///
    /// # Panics
    /// If `config` has a size, a count or a timeout of zero.
    pub fn connected(config: Config) -> Self {
        Self { open: true, next: 1, ..Self::new(config) }
    }

    /// Handles a segment of the sender.
    pub fn handle_segment(&mut self, now: Instant, segment: &Segment) {
        self.statistics.segments_received += 1;
        if segment.flags.syn {
            // Also for a repeated SYN: the sender has missed our answer.
            if !self.open {
                self.open = true;
                self.next = segment.end();
            }
            self.syn_ack_due = true;
        } else if self.open && segment.end() > segment.seq {
            self.take(now, segment);
        }
        debug_assert!(self.invariants().is_ok(), "{:?}", self.invariants());
    }

    /// Sends the delayed acknowledgement if it is due.
    pub fn handle_timeout(&mut self, now: Instant) {
        if self.delayed_until.is_some_and(|at| at <= now) {
            self.delayed_until = None;
            self.ack_due = true;
        }
    }

    /// Returns the next segment to send, if any.
    pub fn poll_transmit(&mut self, _now: Instant) -> Option<Segment> {
        let (seq, syn) = if self.syn_ack_due { (OWN_SEQ - 1, true) } else { (OWN_SEQ, false) };
        if !syn && !self.ack_due {
            return None;
        }
        self.syn_ack_due = false;
        self.statistics.acks_sent += 1;
        Some(Segment {
            seq,
            // Either segment acknowledges everything received.
            ack: self.take_ack(),
            len: 0,
            window: self.config.receive_window,
            flags: Flags { syn, ack: true, fin: false },
        })
    }

    /// Returns the acknowledgement number for a data segment of the other direction that leaves
    /// now. No acknowledgement is due afterwards.
    pub const fn take_ack(&mut self) -> u64 {
        self.ack_due = false;
        self.unacknowledged = 0;
        self.delayed_until = None;
        self.next
    }

    /// Returns whether data before the last data received is missing.
    pub const fn has_holes(&self) -> bool {
        self.range_count > 0
    }

    /// Returns when to call `handle_timeout`, if ever.
    pub const fn poll_timeout(&self) -> Option<Instant> {
        self.delayed_until
    }

    /// Returns whether everything up to the sender's FIN has arrived.
    pub fn is_done(&self) -> bool {
        self.fin.is_some_and(|fin| self.next > fin)
    }

    /// Returns the octets handed to the application, in order and without gaps.
    pub fn delivered(&self) -> Bytes {
        Bytes::new(self.next.saturating_sub(1) - u64::from(self.is_done()))
    }

    /// Returns the counters.
    pub const fn statistics(&self) -> ReceiverStatistics {
        self.statistics
    }

    /// Checks the invariants after a call; the error names the one violated.
    pub fn invariants(&self) -> Result<(), &'static str> {
        let ranges = &self.ranges[..self.range_count];
        if ranges.iter().any(|r| r.start >= r.end) {
            return Err("an out-of-order range is empty");
        }
        if ranges.first().is_some_and(|r| r.start <= self.next) {
            return Err("an out-of-order range is in order");
        }
        if ranges.windows(2).any(|pair| pair[0].end >= pair[1].start) {
            return Err("out-of-order ranges touch or are not sorted");
        }
        if ranges.last().is_some_and(|r| r.end > self.right_edge()) {
            return Err("an out-of-order range reaches beyond the window");
        }
        if self.unacknowledged > 0 && self.delayed_until.is_none() && !self.ack_due {
            return Err("data is not acknowledged and no timer runs");
        }
        Ok(())
    }

    /// First sequence number not accepted: one beyond the window, to admit the FIN.
    fn right_edge(&self) -> u64 {
        self.next + u64::from(self.config.receive_window) + 1
    }

    /// Processes a segment with data or a FIN and decides when to acknowledge it.
    fn take(&mut self, now: Instant, segment: &Segment) {
        let arrived = Range { start: segment.seq.max(self.next), end: segment.end() };
        if arrived.end > self.right_edge() {
            self.statistics.refused_window += 1;
            self.ack_due = true;
            return;
        }
        if segment.flags.fin {
            self.fin = Some(arrived.end - 1);
        }
        if arrived.end <= self.next {
            self.statistics.duplicates += 1;
            self.ack_due = true;
        } else if arrived.start > self.next {
            self.store(arrived);
            self.ack_due = true;
        } else {
            let hole_filled = self.range_count > 0;
            self.advance(arrived.end);
            self.unacknowledged += 1;
            let at_once = hole_filled
                || self.is_done()
                || self.unacknowledged >= self.config.delayed_ack_segments;
            if at_once {
                self.ack_due = true;
            } else if self.delayed_until.is_none() {
                self.delayed_until = Some(now + self.config.delayed_ack_timeout);
            }
        }
    }

    /// Advances `next` to `end` and over every range it reaches.
    fn advance(&mut self, end: u64) {
        self.next = end;
        let ranges = &self.ranges[..self.range_count];
        let reached = ranges.iter().take_while(|r| r.start <= end).count();
        if let Some(last) = reached.checked_sub(1) {
            // Ranges do not touch, so only the last one reached can extend further.
            self.next = end.max(ranges[last].end);
            // It cannot touch another one: the next range starts beyond its end.
            self.ranges.copy_within(reached..self.range_count, 0);
            self.range_count -= reached;
        }
    }

    /// Adds a range beyond `next`, merged with those it touches.
    fn store(&mut self, arrived: Range) {
        let ranges = &self.ranges[..self.range_count];
        let first = ranges.partition_point(|r| r.end < arrived.start);
        let after = ranges.partition_point(|r| r.start <= arrived.end);
        if ranges[first..after].iter().any(|r| r.start <= arrived.start && arrived.end <= r.end) {
            self.statistics.duplicates += 1;
            return;
        }
        self.statistics.out_of_order += 1;
        if first == after {
            if self.range_count >= self.config.reassembly_ranges {
                self.statistics.refused_ranges += 1;
                return;
            }
            self.ranges.copy_within(first..self.range_count, first + 1);
            self.ranges[first] = arrived;
            self.range_count += 1;
            return;
        }
        self.ranges[first] = Range {
            start: arrived.start.min(ranges[first].start),
            end: arrived.end.max(ranges[after - 1].end),
        };
        self.ranges.copy_within(after..self.range_count, first + 1);
        self.range_count -= after - first - 1;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use rtether_model::quantity::Duration;

    const START: Instant = Instant::ZERO;

    fn data(seq: u64, len: u32) -> Segment {
        Segment { seq, len, ..Segment::default() }
    }

    fn last(seq: u64, len: u32) -> Segment {
        Segment { flags: Flags { fin: true, ..Flags::default() }, ..data(seq, len) }
    }

    /// A receiver that has answered the SYN.
    fn open(config: Config) -> Receiver {
        let mut receiver = Receiver::new(config);
        let syn = Segment { flags: Flags { syn: true, ..Flags::default() }, ..Segment::default() };
        receiver.handle_segment(START, &syn);
        let answer = receiver.poll_transmit(START).unwrap();
        assert_eq!((answer.seq, answer.ack), (0, 1));
        assert!(answer.flags.syn && answer.flags.ack);
        receiver
    }

    /// Passes a segment to the receiver and returns the acknowledgement sent at once.
    fn give(receiver: &mut Receiver, now: Instant, segment: Segment) -> Option<u64> {
        receiver.handle_segment(now, &segment);
        let ack = receiver.poll_transmit(now).map(|s| s.ack);
        assert_eq!(receiver.poll_transmit(now), None);
        ack
    }

    #[test]
    fn every_second_segment_is_acknowledged_at_once() {
        let mut r = open(Config::default());
        assert_eq!(give(&mut r, START, data(1, 100)), None);
        assert_eq!(r.poll_timeout(), Some(START + Duration::from_ms(40)));
        assert_eq!(give(&mut r, START, data(101, 100)), Some(201));
        assert_eq!(r.poll_timeout(), None);
        // A lone segment waits for the timer.
        assert_eq!(give(&mut r, START, data(201, 100)), None);
        let due = r.poll_timeout().unwrap();
        r.handle_timeout(due - Duration::from_ps(1));
        assert_eq!(r.poll_transmit(due), None);
        r.handle_timeout(due);
        assert_eq!(r.poll_transmit(due).unwrap().ack, 301);
        assert_eq!(r.delivered().get(), 300);
    }

    #[test]
    fn holes_are_acknowledged_at_once_and_filled() {
        let mut r = open(Config::default());
        // 2 and 4 arrive, then 3, then 1.
        assert_eq!(give(&mut r, START, data(101, 100)), Some(1));
        assert_eq!(give(&mut r, START, data(301, 100)), Some(1));
        assert_eq!(r.range_count, 2);
        assert_eq!(give(&mut r, START, data(201, 100)), Some(1));
        assert_eq!(r.ranges[0], Range { start: 101, end: 401 });
        assert_eq!((r.range_count, r.delivered().get()), (1, 0));
        assert_eq!(give(&mut r, START, data(1, 100)), Some(401));
        assert_eq!((r.range_count, r.delivered().get()), (0, 400));
        // Old data is acknowledged again and delivered once.
        assert_eq!(give(&mut r, START, data(1, 100)), Some(401));
        assert_eq!(r.delivered().get(), 400);
        assert_eq!(r.statistics().duplicates, 1);
    }

    #[test]
    fn overlapping_segments_count_once() {
        let mut r = open(Config::default());
        assert_eq!(give(&mut r, START, data(151, 100)), Some(1));
        assert_eq!(give(&mut r, START, data(201, 100)), Some(1));
        assert_eq!(give(&mut r, START, data(101, 60)), Some(1));
        assert_eq!(r.ranges[0], Range { start: 101, end: 301 });
        assert_eq!(give(&mut r, START, data(1, 220)), Some(301));
        assert_eq!(r.delivered().get(), 300);
    }

    #[test]
    fn the_range_list_is_bounded_and_refuses_the_newest() {
        let mut r = open(Config { reassembly_ranges: 2, ..Config::default() });
        for seq in [101, 301, 501] {
            assert_eq!(give(&mut r, START, data(seq, 100)), Some(1));
        }
        assert_eq!((r.range_count, r.statistics().refused_ranges), (2, 1));
        // Data that touches a known range needs no new one.
        assert_eq!(give(&mut r, START, data(401, 100)), Some(1));
        assert_eq!(r.statistics().refused_ranges, 1);
        assert_eq!(give(&mut r, START, data(1, 100)), Some(201));
    }

    #[test]
    fn data_beyond_the_window_is_refused() {
        let mut r = open(Config { receive_window: 200, ..Config::default() });
        assert_eq!(give(&mut r, START, data(201, 100)), Some(1));
        assert_eq!(r.statistics().refused_window, 1);
        assert_eq!(give(&mut r, START, data(101, 100)), Some(1));
        assert_eq!(give(&mut r, START, data(1, 100)), Some(201));
    }

    #[test]
    fn fin_is_acknowledged_when_everything_before_it_is_there() {
        let mut r = open(Config::default());
        assert_eq!(give(&mut r, START, last(101, 100)), Some(1));
        assert!(!r.is_done());
        // 1 + 200 octets + FIN.
        assert_eq!(give(&mut r, START, data(1, 100)), Some(202));
        assert!(r.is_done());
        assert_eq!(r.delivered().get(), 200);
        // The acknowledgement was lost.
        assert_eq!(give(&mut r, START, last(101, 100)), Some(202));
        assert_eq!(r.delivered().get(), 200);
    }

    #[test]
    fn nothing_happens_before_the_syn() {
        let mut r = Receiver::new(Config::default());
        assert_eq!(give(&mut r, START, data(1, 100)), None);
        assert_eq!(r.delivered().get(), 0);
    }
}
