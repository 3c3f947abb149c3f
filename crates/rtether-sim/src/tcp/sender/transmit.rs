//! Choice of the next segment, and bookkeeping when it is sent.

use core::mem;

use rtether_model::quantity::Instant;

use super::{Recovery, Sender};
use crate::tcp::segment::{Flags, Segment};

/// Segments beyond the window that duplicate acknowledgements may release (RFC 3042, 2).
const LIMITED_TRANSMIT: u32 = 2;
/// Next sequence number expected by the sender, which receives no data: after the receiver's SYN.
const PEER_NEXT: u64 = 1;

impl Sender {
    /// Returns the first unacknowledged segment, if recovery asks for it.
    pub(super) fn next_retransmission(&mut self) -> Option<Segment> {
        if !mem::take(&mut self.due.retransmit) {
            return None;
        }
        let end = self.highest.min(self.written);
        let len = self.capped(end - self.unacknowledged);
        let fin = self.highest > self.written && self.unacknowledged + u64::from(len) == end;
        Some(self.segment(self.unacknowledged, len, fin))
    }

    /// Returns the next segment in sequence, new or resent after a timeout.
    pub(super) fn next_data(&mut self, now: Instant) -> Option<Segment> {
        let unsent = self.written.saturating_sub(self.next);
        let fin_due = self.finished && self.next <= self.written;
        if unsent == 0 && !fin_due {
            self.congestion_limited = false;
            return None;
        }
        self.restart_if_idle(now);
        let allowance = self.congestion_allowance();
        let peer_window = u64::from(self.peer_window);
        let edge = self.unacknowledged + allowance.min(peer_window);
        let open = edge.saturating_sub(self.next);
        let len = self.capped(unsent.min(open));
        // A full segment, or all remaining data unless Nagle holds it, or as much as the window of
        // an idle connection allows (RFC 1122, 4.2.3.4).
        let quiet = self.next == self.unacknowledged;
        let all = u64::from(len) == unsent && (quiet || self.finished || !self.config.nagle);
        if (len == self.config.mss || all || (quiet && len > 0)) && (len > 0 || fin_due) {
            let fin = fin_due && u64::from(len) == unsent;
            return Some(self.segment(self.next, len, fin));
        }
        self.congestion_limited = allowance < peer_window && open < unsent;
        None
    }

    /// Returns the octets beyond the first unacknowledged one that congestion control allows.
    fn congestion_allowance(&self) -> u64 {
        let window = self.window.size();
        // Limited transmit applies to new data only (RFC 3042, 2).
        if self.recovery == Recovery::None && self.next == self.highest {
            let segments = self.duplicates.min(LIMITED_TRANSMIT);
            window + u64::from(segments) * u64::from(self.config.mss)
        } else {
            window
        }
    }

    fn restart_if_idle(&mut self, now: Instant) {
        let idle = self.highest == self.unacknowledged
            && self.last_data.is_some_and(|at| now - at > self.estimator.rto());
        if idle && self.config.restart_after_idle {
            self.window.on_idle();
        }
    }

    fn capped(&self, octets: u64) -> u32 {
        u32::try_from(octets).map_or(self.config.mss, |octets| octets.min(self.config.mss))
    }

    pub(super) fn segment(&self, seq: u64, len: u32, fin: bool) -> Segment {
        Segment {
            seq,
            ack: PEER_NEXT,
            len,
            window: self.config.receive_window,
            flags: Flags { ack: true, fin, syn: false },
        }
    }

    /// Advances the sequence numbers and the timer for a segment sent now.
    pub(super) fn record_sent(&mut self, now: Instant, segment: &Segment) {
        self.segments_sent += 1;
        let end = segment.end();
        if end == segment.seq {
            return;
        }
        // Every segment that occupies sequence numbers also acknowledges, except the SYN, which has
        // nothing to acknowledge.
        self.due.ack = false;
        self.last_data = Some(now);
        let again = segment.seq < self.highest || (segment.flags.syn && self.timeouts > 0);
        if again {
            self.retransmissions += 1;
        } else if self.timed.is_none() && self.recovery == Recovery::None {
            // In recovery, the acknowledgement would come only after the hole is filled.
            self.timed = Some((end, now));
        }
        if segment.flags.syn {
            // Sequence numbers move when the SYN is acknowledged.
            self.timer = Some(now + self.estimator.rto());
            return;
        }
        if segment.seq == self.next {
            self.next = end;
            self.highest = self.highest.max(end);
        }
        if self.timer.is_none() {
            self.timer = Some(now + self.estimator.rto());
        }
    }
}
