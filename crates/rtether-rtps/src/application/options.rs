//! Publications and subscriptions in the words of Dolejs et al. (D3, D4), and the policies of DDS that
//! they stand for.

use alloc::vec;

use crate::qos::{History, Ownership, Qos, Reliability, Representation, ResourceLimits};
use crate::time::Duration;

/// Samples that wait for a callback, of each instance: as many as a datagram holds small ones.
const QUEUE_IMMEDIATE: u32 = 64;
/// Samples that wait where none may be lost.
const QUEUE_STRICT: u32 = 4_096;

/// What a publication is to be.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PublicationOptions {
    /// Weight against other publications of the topic, at subscriptions that take the strongest one
    /// alone (R139). `None`: subscriptions take all; the two kinds do not meet.
    pub strength: Option<i32>,
    /// For how long its last sample keeps weaker publications away; it promises to send more often. A
    /// subscription with a shorter deadline does not meet it.
    pub persistence: Duration,
    /// After which a sample is worth nothing.
    pub validity: Duration,
    /// Whether subscriptions may ask for lost samples.
    pub reliability: Reliability,
    /// Samples that wait for acknowledgment at most; then a send finds no room.
    pub queue: u32,
    /// DSCP of its packets and PCP of its frames.
    pub priority: i32,
    /// Whether subscriptions that may lose samples are sent no more than their minimum separation lets
    /// through, as ORTE does: less traffic, but they count what is left out as lost.
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
    /// Returns the policies.
    pub fn qos(&self) -> Qos {
        Qos {
            reliability: self.reliability,
            history: History::KeepAll,
            limits: ResourceLimits {
                samples: Some(self.queue),
                ..ResourceLimits::default()
            },
            ownership: ownership(self.strength.is_some()),
            strength: self.strength.unwrap_or(0),
            deadline: self.persistence,
            lifespan: self.validity,
            transport_priority: self.priority,
            ..Qos::writer()
        }
    }
}

/// When the application is told.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Mode {
    /// When something has arrived, or is due.
    #[default]
    Immediate,
    /// When it asks.
    Pulled,
}

/// What a subscription is to be.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SubscriptionOptions {
    /// When the application is told.
    pub mode: Mode,
    /// Best effort, or strict reliable: all samples, in order, and the publication waits.
    pub reliability: Reliability,
    /// The application is told when no sample has come for so long, and again after each time as long.
    pub deadline: Duration,
    /// The least time between samples; of those that come within it the last one is handed on at its
    /// end. Nothing for strict reliable ones (D3).
    pub minimum_separation: Duration,
    /// Whether the strongest publication counts alone.
    pub strongest_only: bool,
    /// Samples that wait. Best effort: of each instance, then the oldest is dropped; 64 if immediate and
    /// 1 if pulled, if not given. Strict reliable: of all, then the publication waits; 4096, if not given.
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
    /// Returns the policies.
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
            limits: ResourceLimits {
                samples,
                ..ResourceLimits::default()
            },
            ownership: ownership(self.strongest_only),
            deadline: self.deadline,
            time_based_filter: minimum_separation,
            representations: vec![Representation::Xcdr1, Representation::Xcdr2],
            ..Qos::reader()
        }
    }
}

fn ownership(is_exclusive: bool) -> Ownership {
    if is_exclusive {
        Ownership::Exclusive
    } else {
        Ownership::Shared
    }
}
