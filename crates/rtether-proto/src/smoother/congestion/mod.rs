//! Detectors: how a station notices that the medium is congested (002 Kweon 2.1).
//!
//! The paper uses the station's own collisions and names the buffer-clearing rate of the driver and
//! the utilization heard in promiscuous mode. Where no medium collides any more, backlog, the delay
//! of a probe in the bulk class and congestion marks (ECN) serve. Each detector is fed what the
//! driver observes and answers with a [`Signal`] for [`super::Smoother::handle_signal`].

mod medium;
mod own;

pub use medium::{EcnMarks, Marked, MarkedShare, ProbeDelay, Utilization};
pub use own::{Backlog, Cleared, ClearingRate, OwnCollisions};

use rtether_model::quantity::Instant;

/// What a detector says.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Signal {
    /// The medium is congested.
    Congestion,
    /// It is not.
    Clear,
}

impl Signal {
    const fn congestion_if(is_congested: bool) -> Self {
        if is_congested {
            Self::Congestion
        } else {
            Self::Clear
        }
    }
}

/// Something that notices congestion.
pub trait CongestionSignal {
    /// What it is fed.
    type Observation;

    /// Takes an observation made at `now` and returns what follows from all so far. `now` never
    /// decreases.
    fn observe(&mut self, now: Instant, observation: Self::Observation) -> Signal;

    /// Returns what the observations so far mean at `now`.
    fn signal(&self, now: Instant) -> Signal;
}
