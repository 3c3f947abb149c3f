//! What a smoother tells: events for traces and assertions, counters for reports.

use alloc::collections::VecDeque;

use rtether_model::quantity::{Bytes, Duration, Instant};

use super::Class;

/// Something that happened; drained with `poll_event`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Event {
    /// The period changed.
    PeriodChanged {
        /// When.
        at: Instant,
        /// Before.
        from: Duration,
        /// After.
        to: Duration,
    },
    /// The amount released at once changed.
    DepthChanged {
        /// When.
        at: Instant,
        /// Before.
        from: Bytes,
        /// After.
        to: Bytes,
    },
    /// The credits changed.
    CreditsChanged {
        /// When.
        at: Instant,
        /// After the change, in octets; below zero if borrowed.
        credits: i64,
        /// Why.
        cause: Cause,
    },
    /// A detector reported congestion.
    CongestionReported {
        /// When.
        at: Instant,
    },
    /// A packet was handed to the driver.
    Released {
        /// When.
        at: Instant,
        /// Its class.
        class: Class,
        /// Its size as charged.
        size: Bytes,
        /// How long it was in the smoother.
        waited: Duration,
    },
    /// A packet was refused.
    Dropped {
        /// When.
        at: Instant,
        /// Its class.
        class: Class,
        /// Its size.
        size: Bytes,
        /// Why.
        reason: DropReason,
    },
}

/// Why credits changed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Cause {
    /// A period is over.
    Refresh,
    /// A packet left.
    Transmit,
    /// Congestion emptied the bucket.
    Congestion,
}

/// Why a packet was refused.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DropReason {
    /// Its queue is full.
    QueueFull,
    /// It is larger than the MTU.
    TooLarge,
}

/// Counters since the start.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Statistics {
    /// Of real-time packets.
    pub real_time: ClassStatistics,
    /// Of bulk packets.
    pub bulk: ClassStatistics,
    /// Refreshes, or services in NT mode.
    pub refreshes: u64,
    /// Credits lost because the bucket was full, in octets.
    pub credits_lost: u64,
    /// Congestion reports.
    pub reports: u64,
    /// How often the period was doubled or the depth lowered.
    pub decreases: u64,
    /// Calls that found a bulk packet held back by recent congestion.
    pub holds: u64,
    /// Events thrown away because nobody drained them.
    pub events_lost: u64,
}

/// Counters of one class.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ClassStatistics {
    /// Packets handed in.
    pub offered: u64,
    /// Octets handed in.
    pub offered_size: Bytes,
    /// Packets handed to the driver.
    pub sent: u64,
    /// Octets handed to the driver.
    pub sent_size: Bytes,
    /// Packets refused.
    pub dropped: u64,
    /// Octets refused.
    pub dropped_size: Bytes,
    /// Most packets that waited at once.
    pub queued_max: usize,
    /// Time in the smoother, of all packets that left.
    pub waited: Duration,
    /// Longest time in the smoother, of packets that left.
    pub waited_max: Duration,
}

/// Events that may wait; the oldest is thrown away and counted when one more comes.
const EVENTS_MAX: usize = 4096;

/// Events and counters on their way out.
#[derive(Clone, Debug, Default)]
pub(super) struct Log {
    events: VecDeque<Event>,
    pub(super) statistics: Statistics,
}

impl Log {
    pub(super) fn push(&mut self, event: Event) {
        if self.events.len() == EVENTS_MAX {
            self.events.pop_front();
            self.statistics.events_lost += 1;
        }
        self.events.push_back(event);
    }

    pub(super) fn pop(&mut self) -> Option<Event> {
        self.events.pop_front()
    }

    pub(super) fn is_drained(&self) -> bool {
        self.events.is_empty()
    }

    pub(super) fn of(&mut self, class: Class) -> &mut ClassStatistics {
        match class {
            Class::RealTime => &mut self.statistics.real_time,
            Class::Bulk => &mut self.statistics.bulk,
        }
    }

    pub(super) fn period_changed(&mut self, at: Instant, from: Duration, to: Duration) {
        if from != to {
            self.push(Event::PeriodChanged { at, from, to });
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn events_are_bounded_and_the_loss_is_counted() {
        let mut log = Log::default();
        for ps in 0..5000 {
            let at = Instant::from_ps(ps);
            log.push(Event::CongestionReported { at });
        }
        assert_eq!(log.statistics.events_lost, 5000 - 4096);
        let at = Instant::from_ps(5000 - 4096);
        assert_eq!(log.pop(), Some(Event::CongestionReported { at }));
    }
}
