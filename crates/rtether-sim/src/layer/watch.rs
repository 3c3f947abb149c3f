//! What tells a smoother of congestion (W7).

use rtether_model::endnode::Detector;
use rtether_model::quantity::{BitRate, Bytes, Duration, Instant};
use rtether_proto::smoother::congestion::{
    Backlog, Cleared, ClearingRate, CongestionSignal, OwnCollisions, Signal, Utilization,
};

use crate::random::{Draw, Purpose};

/// A detector.
pub(super) enum Watch {
    Collisions(OwnCollisions),
    Clearing(ClearingRate),
    Backlog(Backlog),
    Utilization(Utilization),
}

/// What is known when a frame is out.
pub(super) struct Completed {
    pub(super) attempts: u32,
    pub(super) wire_size: Bytes,
    /// Time at the head of the ring.
    pub(super) busy: Duration,
    pub(super) backlog: Bytes,
}

impl Watch {
    pub(super) fn new(detector: Detector, name: &str, seed: u64, rate: BitRate) -> Self {
        match detector {
            Detector::OwnCollisions {
                visibility_per_million,
            } => {
                let seed = Draw::new(seed, name, Purpose::Visibility).seed();
                let collisions = OwnCollisions::with_visibility(visibility_per_million, seed);
                Self::Collisions(collisions)
            }
            Detector::ClearingRate { floor } => Self::Clearing(ClearingRate::new(floor)),
            Detector::Backlog { low, high } => Self::Backlog(Backlog::new(low, high)),
            Detector::Utilization {
                threshold_percent,
                window,
            } => {
                let start = Instant::ZERO;
                Self::Utilization(Utilization::new(start, rate, threshold_percent, window))
            }
        }
    }

    pub(super) fn completed(&mut self, now: Instant, frame: &Completed) -> Signal {
        match self {
            Self::Collisions(collisions) => collisions.observe(now, frame.attempts),
            Self::Clearing(clearing) => clearing.observe(
                now,
                Cleared {
                    wire_size: frame.wire_size,
                    busy: frame.busy,
                },
            ),
            Self::Backlog(backlog) => backlog.observe(now, frame.backlog),
            Self::Utilization(utilization) => utilization.observe(now, frame.wire_size),
        }
    }
}
