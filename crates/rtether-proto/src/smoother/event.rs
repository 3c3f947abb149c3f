//! What a smoother is told of transmissions, and its output: what is due, events for traces and
//! assertions, counters for reports.

use alloc::collections::VecDeque;

use rtether_model::quantity::{Bytes, Duration, Instant};

use super::Class;

/// How a packet got onto the medium.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Transmission {
    /// Start of the successful transmission, or of the last attempt.
    pub started_at: Instant,
    /// Number of attempts; 1 if the frame did not collide.
    pub attempts: u32,
}

/// What is due at a timeout.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Reason {
    /// Refresh of the bucket.
    Refresh,
    /// Adaptation of the period; possibly a refresh.
    Tick,
    /// Release of bulk packets, then adaptation of depth or period.
    Service,
}

/// An event, drained with `poll_event`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Event {
    /// The period changed.
    PeriodChanged {
        /// Time of the event.
        at: Instant,
        /// Before.
        from: Duration,
        /// After.
        to: Duration,
    },
    /// The amount released at once changed.
    DepthChanged {
        /// Time of the event.
        at: Instant,
        /// Before.
        from: Bytes,
        /// After.
        to: Bytes,
    },
    /// The credits changed.
    CreditsChanged {
        /// Time of the event.
        at: Instant,
        /// After the change, in octets; below zero if borrowed.
        credits: i64,
        /// Why.
        cause: Cause,
    },
    /// A detector reported congestion.
    CongestionReported {
        /// Time of the event.
        at: Instant,
    },
    /// A packet was handed to the driver.
    Released {
        /// Time of the event.
        at: Instant,
        /// Its class.
        class: Class,
        /// Its charged size.
        size: Bytes,
        /// Time it spent in the smoother.
        waited: Duration,
    },
    /// A packet was refused.
    Dropped {
        /// Time of the event.
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
    /// The end of a period.
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
    /// Counters of real-time packets.
    pub real_time: ClassStatistics,
    /// Counters of bulk packets.
    pub bulk: ClassStatistics,
    /// Refreshes, or services in NT mode.
    pub refreshes: u64,
    /// Credits lost because the bucket was full, in octets.
    pub credits_lost: u64,
    /// Congestion reports.
    pub reports: u64,
    /// How often the period was lengthened or the depth lowered.
    pub decreases: u64,
    /// Calls that found a bulk packet held back by recent congestion.
    pub holds: u64,
    /// Events discarded because they were not drained.
    pub events_lost: u64,
}

/// Counters of one class.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ClassStatistics {
    /// Packets offered.
    pub offered: u64,
    /// Octets offered.
    pub offered_size: Bytes,
    /// Packets handed to the driver.
    pub sent: u64,
    /// Octets handed to the driver.
    pub sent_size: Bytes,
    /// Packets refused.
    pub dropped: u64,
    /// Octets refused.
    pub dropped_size: Bytes,
    /// Largest number of packets waiting at once.
    pub queued_max: usize,
    /// Total time in the smoother of all packets that left; 106 days if it is more.
    pub waited: Duration,
    /// Longest time in the smoother of a packet that left.
    pub waited_max: Duration,
}

/// Largest number of events kept; beyond it, the oldest is discarded and counted.
const EVENTS_MAX: usize = 4096;

/// Pending events, and counters.
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
