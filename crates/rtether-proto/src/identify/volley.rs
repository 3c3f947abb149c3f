//! What is sent at once, and what became of it.

use alloc::vec::Vec;

use rtether_model::quantity::{Duration, Instant};

use super::sizes::Exchange;

/// Packets sent back to back; the next volley waits until all of them are answered or lost.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Volley {
    /// Sizes of requests and answers; silent packets have that of a request.
    pub sizes: Exchange,
    /// Packets without an answer, ahead of the requests.
    pub silent: u16,
    /// Requests of low priority.
    pub requests: u16,
    /// Whether one request of high priority follows.
    pub high: bool,
    /// Least time since the last packet sent before.
    pub gap: Duration,
}

impl Volley {
    /// One request.
    pub const fn request(sizes: Exchange, gap: Duration) -> Self {
        Self { sizes, silent: 0, requests: 1, high: false, gap }
    }

    /// Returns the number of packets.
    pub fn packets(&self) -> usize {
        usize::from(self.silent) + usize::from(self.requests) + usize::from(self.high)
    }
}

/// A packet of a volley.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Sent {
    /// When it was sent, by the clock of the host, last bit.
    pub at: Instant,
    /// When its answer came; `None` for silent packets and lost requests.
    pub answered: Option<Instant>,
    /// Sizes of both frames as they were; until there is an answer, the planned size.
    pub sizes: Exchange,
}

/// What became of a volley. Only what was measured is in it, nothing that was planned.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Observation {
    /// What was sent.
    pub volley: Volley,
    /// Its packets, in the order of sending.
    pub packets: Vec<Sent>,
}

impl Observation {
    /// Returns the requests, without the silent packets ahead of them.
    pub fn requests(&self) -> &[Sent] {
        self.packets.get(usize::from(self.volley.silent)..).unwrap_or_default()
    }

    /// Returns the number of requests without an answer.
    pub fn lost(&self) -> usize {
        self.requests().iter().filter(|sent| sent.answered.is_none()).count()
    }

    /// Returns when its only packet was sent and answered; `None` if there were others or it is
    /// lost.
    pub fn single(&self) -> Option<(Instant, Instant)> {
        match self.packets[..] {
            [Sent { at, answered, .. }] => Some((at, answered?)),
            _ => None,
        }
    }

    /// Returns the sizes of its first request and of the answer as they were; those planned if it
    /// has none.
    pub fn sizes(&self) -> Exchange {
        self.requests().first().map_or(self.volley.sizes, |sent| sent.sizes)
    }

    /// Returns the time from the first packet to the last answer; `None` if a request is lost.
    pub fn whole(&self) -> Option<Duration> {
        let last = self.requests().iter().map(|sent| sent.answered);
        let last = last.collect::<Option<Vec<Instant>>>()?.into_iter().max()?;
        Some(last - self.packets.first()?.at)
    }
}
