//! The sending end: transmission, retransmission and their timing.
//!
//! RFC 9293 (handshake, windows), RFC 5681 and RFC 6582 (loss detection and recovery), RFC 3042
//! (limited transmit), RFC 6298 (timer), RFC 1122, 4.2.3.4 (Nagle, silly window). The arithmetic of
//! window and timeout is in `congestion` and `rto`. After a timeout the sender goes back to the
//! first unacknowledged octet and resends everything in slow start, skipping what is acknowledged
//! meanwhile; without SACK at the receiver there is no better way.

mod transmit;

use core::mem;

use rtether_model::quantity::{Bytes, Duration, Instant};

use super::Config;
use super::congestion::Window;
use super::rto::Estimator;
use super::segment::{Flags, Segment};

/// Number of duplicate acknowledgements that indicate a loss (RFC 5681, 3.2).
const DUPLICATE_THRESHOLD: u32 = 3;
/// Sequence number of the first octet of data, after the SYN.
const FIRST_DATA: u64 = 1;

/// State of a connection at the sender.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum State {
    /// Not opened yet.
    Closed,
    /// The SYN is sent or due.
    SynSent,
    /// Data can flow.
    Established,
    /// Everything, FIN included, is acknowledged.
    Done,
    /// Given up after `max_retries` timeouts in a row.
    Failed,
}

/// Counters and estimates of a sender.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct SenderStatistics {
    /// Segments sent, of any kind.
    pub segments_sent: u64,
    /// Segments sent that begin with octets sent before.
    pub retransmissions: u64,
    /// Retransmission timeouts.
    pub timeouts: u64,
    /// Recoveries entered after duplicate acknowledgements.
    pub fast_retransmits: u64,
    /// Octets of data acknowledged.
    pub bytes_acked: Bytes,
    /// Smoothed round-trip time (RFC 6298), `None` before the first measurement.
    pub smoothed_rtt: Option<Duration>,
    /// Retransmission timeout, back-off included.
    pub rto: Duration,
    /// Congestion window; without congestion control larger than any receive window.
    pub congestion_window: Bytes,
    /// Slow-start threshold, `None` before the first loss.
    pub slow_start_threshold: Option<Bytes>,
}

/// Which loss is being repaired.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Recovery {
    None,
    /// After duplicate acknowledgements, until everything below `until` is acknowledged;
    /// `advanced`: a partial acknowledgement has come.
    Fast {
        until: u64,
        advanced: bool,
    },
}

/// What to send besides data in sequence.
#[derive(Clone, Copy, Debug, Default)]
struct Due {
    syn: bool,
    ack: bool,
    /// The first unacknowledged segment, again.
    retransmit: bool,
}

/// The sending end of a connection.
#[derive(Clone, Debug)]
pub struct Sender {
    config: Config,
    state: State,
    /// First unacknowledged octet.
    unacknowledged: u64,
    /// Next octet to send; goes back after a timeout.
    next: u64,
    /// End of everything sent so far.
    highest: u64,
    /// End of the data the application has written.
    written: u64,
    /// No more data will be written; the FIN has sequence number `written`.
    finished: bool,
    /// Taken from the SYN-ACK; the receiver's window is constant.
    peer_window: u32,
    window: Window,
    /// The congestion window, not the application or the receiver, stopped the last transmission.
    congestion_limited: bool,
    recovery: Recovery,
    /// End of what was sent before the last timeout; duplicates below it do not prove a loss (RFC
    /// 6582, 3.2, step 1).
    timeout_guard: u64,
    duplicates: u32,
    estimator: Estimator,
    /// The one segment being timed: its end and its time of transmission.
    timed: Option<(u64, Instant)>,
    timer: Option<Instant>,
    /// Timeouts since the last progress.
    retries: u32,
    last_data: Option<Instant>,
    due: Due,
    segments_sent: u64,
    retransmissions: u64,
    timeouts: u64,
    fast_retransmits: u64,
}

impl Sender {
    /// Returns a sender with its connection not opened yet.
    ///
    /// # Panics
    /// If `config` has a size, a count or a timeout of zero.
    pub fn new(config: Config) -> Self {
        config.assert_usable();
        Self {
            config,
            state: State::Closed,
            unacknowledged: 0,
            next: 0,
            highest: 0,
            written: FIRST_DATA,
            finished: false,
            peer_window: 0,
            window: Window::new(&config),
            congestion_limited: false,
            recovery: Recovery::None,
            timeout_guard: 0,
            duplicates: 0,
            estimator: Estimator::new(&config),
            timed: None,
            timer: None,
            retries: 0,
            last_data: None,
            due: Due::default(),
            segments_sent: 0,
            retransmissions: 0,
            timeouts: 0,
            fast_retransmits: 0,
        }
    }

    /// Returns a sender whose connection has long been open, without a handshake.
    ///
    /// The round-trip time is unknown. `peer_window` is the receiver's window, in octets.
    ///
    /// # Panics
    /// If `config` has a size, a count or a timeout of zero.
    pub fn connected(config: Config, peer_window: u32) -> Self {
        Self {
            state: State::Established,
            unacknowledged: FIRST_DATA,
            next: FIRST_DATA,
            highest: FIRST_DATA,
            peer_window,
            ..Self::new(config)
        }
    }

    /// Starts the handshake; does nothing on a connection already opened.
    pub fn open(&mut self, _now: Instant) {
        if self.state == State::Closed {
            self.state = State::SynSent;
            self.due.syn = true;
        }
    }

    /// Makes `size` more octets available for sending, before or after the handshake.
    ///
    /// # Panics
    /// If [`Self::finish`] was called.
    pub fn write(&mut self, _now: Instant, size: Bytes) {
        assert!(!self.finished, "data after the end of data");
        self.written += size.get();
    }

    /// Ends the data: a FIN follows the last octet.
    pub fn finish(&mut self) {
        self.finished = true;
    }

    /// Handles a segment of the receiver.
    pub fn handle_segment(&mut self, now: Instant, segment: &Segment) {
        match self.state {
            State::SynSent if segment.flags.syn && segment.ack == FIRST_DATA => {
                self.establish(now, segment);
            }
            State::Established if segment.flags.syn => {
                // The receiver has missed our acknowledgement of its SYN.
                self.due.ack = true;
            }
            State::Established if segment.flags.ack => self.handle_ack(now, segment),
            State::Closed | State::SynSent | State::Established | State::Done | State::Failed => {}
        }
        debug_assert!(self.invariants().is_ok(), "{:?}: {self:?}", self.invariants());
    }

    /// Handles the retransmission timer if it is due (RFC 6298, 5.4 to 5.7).
    pub fn handle_timeout(&mut self, now: Instant) {
        if self.timer.is_none_or(|at| at > now) {
            return;
        }
        self.timer = None;
        if self.retries >= self.config.max_retries {
            self.state = State::Failed;
            return;
        }
        self.timeouts += 1;
        self.estimator.back_off();
        // Karn: retransmitted segments are not timed.
        self.timed = None;
        if self.state == State::SynSent {
            self.due.syn = true;
        } else {
            // Not `highest`: after an earlier timeout, that is no longer in flight.
            self.window.on_timeout(self.next - self.unacknowledged, self.retries == 0);
            self.recovery = Recovery::None;
            self.due.retransmit = false;
            self.duplicates = 0;
            self.timeout_guard = self.highest;
            self.next = self.unacknowledged;
        }
        self.retries += 1;
        debug_assert!(self.invariants().is_ok(), "{:?}: {self:?}", self.invariants());
    }

    /// Returns the next segment to send now, if any.
    pub fn poll_transmit(&mut self, now: Instant) -> Option<Segment> {
        let segment = match self.state {
            State::Closed | State::Done | State::Failed => None,
            State::SynSent => mem::take(&mut self.due.syn).then(|| Segment {
                flags: Flags { syn: true, ..Flags::default() },
                window: self.config.receive_window,
                ..Segment::default()
            }),
            State::Established => {
                self.next_retransmission().or_else(|| self.next_data(now)).or_else(|| {
                    mem::take(&mut self.due.ack).then(|| self.segment(self.next, 0, false))
                })
            }
        }?;
        self.record_sent(now, &segment);
        debug_assert!(self.invariants().is_ok(), "{:?}: {self:?}", self.invariants());
        Some(segment)
    }

    /// Returns when to call `handle_timeout`, if ever.
    pub const fn poll_timeout(&self) -> Option<Instant> {
        self.timer
    }

    /// Returns whether the connection is over: everything acknowledged, or given up.
    pub fn is_done(&self) -> bool {
        matches!(self.state, State::Done | State::Failed)
    }

    /// Returns how far the connection has come.
    pub const fn state(&self) -> State {
        self.state
    }

    /// Returns the sequence number after everything sent so far.
    pub const fn end_of_sent(&self) -> u64 {
        self.highest
    }

    /// Returns the octets written and not yet acknowledged.
    pub fn backlog(&self) -> Bytes {
        Bytes::new(self.written.saturating_sub(self.unacknowledged.max(FIRST_DATA)))
    }

    /// Returns the counters and the current estimates.
    pub fn statistics(&self) -> SenderStatistics {
        let acked = self.unacknowledged.min(self.written).saturating_sub(FIRST_DATA);
        SenderStatistics {
            segments_sent: self.segments_sent,
            retransmissions: self.retransmissions,
            timeouts: self.timeouts,
            fast_retransmits: self.fast_retransmits,
            bytes_acked: Bytes::new(acked),
            smoothed_rtt: self.estimator.smoothed(),
            rto: self.estimator.rto(),
            congestion_window: Bytes::new(self.window.size()),
            slow_start_threshold: self.window.threshold().map(Bytes::new),
        }
    }

    /// Checks the invariants after a call; the error names the one violated.
    pub fn invariants(&self) -> Result<(), &'static str> {
        let end = self.written + u64::from(self.finished);
        if self.unacknowledged > self.next || self.next > self.highest {
            return Err("sequence numbers are out of order");
        }
        if self.highest > end {
            return Err("more was sent than written");
        }
        if self.highest - self.unacknowledged > u64::from(self.peer_window) + 1 {
            return Err("more is in flight than the receiver accepts");
        }
        if self.window.size() < u64::from(self.config.mss) {
            return Err("the congestion window is below one segment");
        }
        let waiting = self.highest > self.unacknowledged && self.next > self.unacknowledged;
        if waiting && self.timer.is_none() && !self.is_done() {
            return Err("data is in flight and no timer runs");
        }
        if self.timed.is_some_and(|(end, _)| end <= self.unacknowledged) {
            return Err("an acknowledged segment is being timed");
        }
        Ok(())
    }

    /// Handles the receiver's answer to the SYN.
    fn establish(&mut self, now: Instant, segment: &Segment) {
        self.state = State::Established;
        self.due.syn = false;
        self.unacknowledged = FIRST_DATA;
        self.next = FIRST_DATA;
        self.highest = FIRST_DATA;
        self.peer_window = segment.window;
        self.due.ack = true;
        self.timer = None;
        if let Some((_, sent)) = self.timed.take() {
            self.estimator.measure(now - sent);
        } else {
            self.estimator.restart_after_lost_syn();
        }
        if self.retries > 1 {
            self.window.on_lost_syns();
        }
        self.retries = 0;
    }

    fn handle_ack(&mut self, now: Instant, segment: &Segment) {
        if segment.ack > self.highest {
            // Acknowledges octets never sent (RFC 9293, 3.10.7.4): not from our receiver.
            return;
        }
        if segment.ack > self.unacknowledged {
            self.advance(now, segment.ack);
        } else if segment.ack == self.unacknowledged
            && self.highest > self.unacknowledged
            && segment.is_pure_ack()
        {
            self.handle_duplicate();
        }
    }

    /// Handles `ack`, which acknowledges new octets.
    fn advance(&mut self, now: Instant, ack: u64) {
        let acked = ack - self.unacknowledged;
        self.unacknowledged = ack;
        self.next = self.next.max(ack);
        self.duplicates = 0;
        self.due.retransmit = false;
        self.retries = 0;
        if let Some((_, sent)) = self.timed.take_if(|(end, _)| *end <= ack) {
            self.estimator.measure(now - sent);
        }
        if ack >= self.timeout_guard {
            self.window.on_timeout_repaired();
        }
        let mut restart_timer = true;
        match self.recovery {
            Recovery::None => {
                if self.congestion_limited {
                    self.window.on_ack(acked);
                }
            }
            Recovery::Fast { until, .. } if ack >= until => {
                self.window.on_full_ack(self.highest - ack);
                self.recovery = Recovery::None;
            }
            Recovery::Fast { until, advanced } => {
                self.window.on_partial_ack(acked);
                self.due.retransmit = true;
                // The "impatient" variant of RFC 6582, 4: many losses end in a timeout.
                restart_timer = !advanced;
                self.recovery = Recovery::Fast { until, advanced: true };
            }
        }
        if ack == self.highest {
            // RFC 6298, 5.2.
            self.timer = None;
        } else if restart_timer {
            // RFC 6298, 5.3. After going back nothing may be in flight: sending arms the timer.
            self.timer = (self.next > ack).then(|| now + self.estimator.rto());
        }
        if self.finished && ack == self.written + 1 {
            self.state = State::Done;
        }
    }

    fn handle_duplicate(&mut self) {
        self.duplicates += 1;
        if self.recovery != Recovery::None {
            self.window.on_duplicate();
            return;
        }
        // Segments sent before a timeout arrive again when resent, and cause duplicates that do not
        // prove a loss. RFC 6582 also ignores duplicates after a fast recovery; but there, nothing
        // that had arrived was resent, and duplicates do prove a loss.
        if self.duplicates != DUPLICATE_THRESHOLD || self.unacknowledged <= self.timeout_guard {
            return;
        }
        self.fast_retransmits += 1;
        self.window.on_fast_retransmit(self.highest - self.unacknowledged);
        self.recovery = Recovery::Fast { until: self.highest, advanced: false };
        self.due.retransmit = true;
        self.timed = None;
    }
}

#[cfg(test)]
mod tests;
