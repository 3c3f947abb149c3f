//! Publications and subscriptions in the terms of Dolejs et al. (D3, D4), and the corresponding
//! policies of DDS.

use alloc::vec;

use crate::qos::{History, Ownership, Qos, Reliability, Representation, ResourceLimits};
use crate::time::Duration;

/// Samples per instance that wait for a callback: as many small ones as fit a datagram.
const QUEUE_IMMEDIATE: u32 = 64;
/// Waiting samples in strict reliable mode.
const QUEUE_STRICT: u32 = 4_096;

/// Options of a publication.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PublicationOptions {
    /// Strength among the publications of the topic, for subscriptions that take only the strongest
    /// (R139). `None`: subscriptions take all. The two kinds do not match.
    pub strength: Option<i32>,
    /// How long its last sample keeps weaker publications away; the publication promises to send
    /// more often. Subscriptions with a shorter deadline do not match.
    pub persistence: Duration,
    /// Time after which a sample expires.
    pub validity: Duration,
    /// Whether subscriptions may request lost samples.
    pub reliability: Reliability,
    /// Maximum number of unacknowledged samples; beyond it, a send finds no room.
    pub queue: u32,
    /// DSCP of its packets and PCP of its frames.
    pub priority: i32,
    /// Whether best-effort subscriptions are sent only what their minimum separation allows, as in
    /// ORTE: less traffic, but they count omitted samples as lost.
    pub separates: bool,
}

impl Default for PublicationOptions {
    fn default() -> Self {
        Self {
            strength: None,
            persistence: Duration::INFINITE,
            validity: Duration::INFINITE,
            reliability: Reliability::Reliable,
            queue: 256,
            priority: 0,
            separates: false,
        }
    }
}

impl PublicationOptions {
    /// Returns the corresponding policies.
    pub fn qos(&self) -> Qos {
        Qos {
            reliability: self.reliability,
            history: History::KeepAll,
            limits: ResourceLimits { samples: Some(self.queue), ..ResourceLimits::default() },
            ownership: ownership(self.strength.is_some()),
            strength: self.strength.unwrap_or(0),
            persistence: self.strength.map(|_| self.persistence),
            deadline: self.persistence,
            lifespan: self.validity,
            transport_priority: self.priority,
            ..Qos::writer()
        }
    }
}

/// When callbacks are called.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Mode {
    /// When something arrives or becomes due.
    #[default]
    Immediate,
    /// When the application pulls.
    Pulled,
}

/// Options of a subscription.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SubscriptionOptions {
    /// When the callback is called.
    pub mode: Mode,
    /// Best effort, or strict reliable: all samples, in order, and the publication waits.
    pub reliability: Reliability,
    /// The application is notified when no sample has arrived for this time, and again after each
    /// further such time.
    pub deadline: Duration,
    /// Shortest time between samples; of those that arrive within it, the last one is delivered at
    /// its end. Ignored in strict reliable mode (D3).
    pub minimum_separation: Duration,
    /// Whether only the strongest publication is taken.
    pub strongest_only: bool,
    /// Maximum number of waiting samples. Best effort: per instance, then the oldest is dropped;
    /// default 64 if immediate and 1 if pulled. Strict reliable: in total, then the publication
    /// waits; default 4096.
    pub queue: Option<u32>,
}

impl Default for SubscriptionOptions {
    fn default() -> Self {
        Self {
            mode: Mode::Immediate,
            reliability: Reliability::BestEffort,
            deadline: Duration::INFINITE,
            minimum_separation: Duration::ZERO,
            strongest_only: false,
            queue: None,
        }
    }
}

impl SubscriptionOptions {
    /// Returns the corresponding policies.
    pub fn qos(&self) -> Qos {
        let is_strict = self.reliability == Reliability::Reliable;
        let (history, samples, minimum_separation) = if is_strict {
            let queue = self.queue.unwrap_or(QUEUE_STRICT);
            (History::KeepAll, Some(queue), Duration::ZERO)
        } else {
            let usual = match self.mode {
                Mode::Immediate => QUEUE_IMMEDIATE,
                Mode::Pulled => 1,
            };
            let queue = self.queue.unwrap_or(usual);
            (History::KeepLast(queue), None, self.minimum_separation)
        };
        Qos {
            reliability: self.reliability,
            history,
            limits: ResourceLimits { samples, ..ResourceLimits::default() },
            ownership: ownership(self.strongest_only),
            deadline: self.deadline,
            time_based_filter: minimum_separation,
            representations: vec![Representation::Xcdr1, Representation::Xcdr2],
            ..Qos::reader()
        }
    }
}

fn ownership(is_exclusive: bool) -> Ownership {
    if is_exclusive { Ownership::Exclusive } else { Ownership::Shared }
}
