//! The share of the network between prober and device.

use rtether_model::network::Cost;
use rtether_model::quantity::Duration;

use super::sizes::Exchange;

/// What the network takes of a round trip, without queues.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Path {
    /// Independent of sizes: latencies, preambles, and the host's own share.
    pub constant: Duration,
    /// For each octet of the request, from address to frame check sequence, over all links.
    pub request_octet: Duration,
    /// For each octet of the answer.
    pub answer_octet: Duration,
}

impl Path {
    /// Returns the share of an exchange.
    ///
    /// # Panics
    /// If a frame does not fit 63 bits.
    pub fn of(&self, sizes: Exchange) -> Duration {
        let request = Cost { base: self.constant, per_octet: self.request_octet };
        let answer = Cost { base: Duration::ZERO, per_octet: self.answer_octet };
        request.of(sizes.request) + answer.of(sizes.answer)
    }
}
