//! Detectors of congestion on the medium (002 Kweon 2.1).
//!
//! The paper uses the station's own collisions, and mentions the buffer-clearing rate of the driver
//! and the utilization heard in promiscuous mode. On media without collisions, backlog, the delay
//! of a probe in the bulk class and congestion marks (ECN) serve. The driver feeds its observations
//! to a detector, which returns a [`Signal`] for [`super::Smoother::handle_signal`].

mod medium;
mod own;

pub use medium::{EcnMarks, Marked, MarkedShare, ProbeDelay, Utilization};
pub use own::{Backlog, Cleared, ClearingRate, OwnCollisions};

use rtether_model::quantity::Instant;

/// Output of a detector.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Signal {
    /// The medium is congested.
    Congestion,
    /// The medium is not congested.
    Clear,
}

impl Signal {
    const fn congestion_if(is_congested: bool) -> Self {
        if is_congested { Self::Congestion } else { Self::Clear }
    }
}

/// A detector of congestion.
pub trait CongestionSignal {
    /// Its input.
    type Observation;

    /// Processes an observation made at `now` and returns the resulting signal. `now` never
    /// decreases.
    fn observe(&mut self, now: Instant, observation: Self::Observation) -> Signal;

    /// Returns the signal at `now` from the observations so far.
    fn signal(&self, now: Instant) -> Signal;
}
