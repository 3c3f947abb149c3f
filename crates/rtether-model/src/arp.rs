//! Address resolution of an end station (RFC 826; catalogue R57).
//!
//! A station that sends an IPv4 packet to a neighbor whose address it does not know broadcasts a
//! request, and holds the packet until the reply is there.

use crate::quantity::{Bytes, Duration};

/// Parameters of address resolution.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Arp {
    /// How long an address is known after a request or reply of its station (RFC 1122, 2.3.2.1).
    pub lifetime: Duration,
    /// Time after which an unanswered request is repeated.
    pub retry: Duration,
    /// Requests, the first one included, after which the packets held are dropped.
    pub attempts: u32,
    /// Octets of frames held for one neighbor. For one that does not fit the oldest ones are
    /// dropped; the latest is always held (RFC 1122, 2.3.2.2).
    pub hold: Bytes,
}

impl Arp {
    /// What stations do unless told otherwise: a minute as RFC 1122 suggests; retry, attempts and
    /// octets held as Linux has them.
    pub const DEFAULT: Self = Self {
        lifetime: Duration::from_secs(60),
        retry: Duration::from_secs(1),
        attempts: 3,
        hold: Bytes::new(212_992),
    };

    /// Returns the longest time for which a packet is held: it leaves with the reply, or is dropped
    /// when the last request has not been answered for the time of a retry.
    pub fn held_max(&self) -> Duration {
        self.retry * i64::from(self.attempts)
    }
}

impl Default for Arp {
    fn default() -> Self {
        Self::DEFAULT
    }
}
