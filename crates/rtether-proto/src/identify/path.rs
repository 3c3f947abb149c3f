//! The share of the network between prober and device.

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
    pub fn of(&self, sizes: Exchange) -> Duration {
        // Frames are far below 2^63 octets.
        let [request, answer] =
            [sizes.request, sizes.answer].map(|size| i64::try_from(size.get()).unwrap_or(0));
        self.constant + self.request_octet * request + self.answer_octet * answer
    }
}
