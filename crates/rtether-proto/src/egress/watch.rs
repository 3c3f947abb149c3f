//! The smoother's congestion detector and its inputs.

use alloc::vec::Vec;

use rtether_model::endnode::Detector;
use rtether_model::quantity::{BitRate, Bytes, Duration, Instant};

use crate::probe::PATHS_MAX;
use crate::smoother::congestion::{
    Backlog, Cleared, ClearingRate, CongestionSignal, Marked, MarkedShare, OwnCollisions,
    ProbeDelay, Signal, Utilization,
};

/// A detector.
#[derive(Clone, Debug)]
pub(super) enum Watch {
    Collisions(OwnCollisions),
    Clearing(ClearingRate),
    Backlog(Backlog),
    Utilization(Utilization),
    /// One per path: delays on different paths have no common origin.
    Probe(Vec<ProbeDelay>),
    Marks(MarkedShare),
}

/// Properties of a completed frame.
#[derive(Clone, Copy, Debug)]
pub(super) struct Completed {
    pub(super) attempts: u32,
    pub(super) wire_size: Bytes,
    /// Time at the head of the ring.
    pub(super) busy: Duration,
    pub(super) backlog: Bytes,
}

impl Watch {
    /// `seed` selects the collisions that are not seen.
    pub(super) fn new(now: Instant, detector: Detector, seed: u64, rate: BitRate) -> Self {
        match detector {
            Detector::OwnCollisions { visibility_per_million } => {
                let collisions = OwnCollisions::with_visibility(visibility_per_million, seed);
                Self::Collisions(collisions)
            }
            Detector::ClearingRate { floor } => Self::Clearing(ClearingRate::new(floor)),
            Detector::Backlog { low, high } => Self::Backlog(Backlog::new(low, high)),
            Detector::Utilization { threshold_percent, window } => {
                Self::Utilization(Utilization::new(now, rate, threshold_percent, window))
            }
            Detector::ProbeDelay { excess, epoch } => {
                Self::Probe(alloc::vec![ProbeDelay::new(now, excess, epoch); PATHS_MAX])
            }
            Detector::Marks { threshold_percent, window } => {
                Self::Marks(MarkedShare::new(now, threshold_percent, window))
            }
        }
    }

    /// Processes a completed frame; `None` if the detector does not use completions.
    pub(super) fn completed(&mut self, now: Instant, frame: &Completed) -> Option<Signal> {
        Some(match self {
            Self::Collisions(collisions) => collisions.observe(now, frame.attempts),
            Self::Clearing(clearing) => {
                clearing.observe(now, Cleared { wire_size: frame.wire_size, busy: frame.busy })
            }
            Self::Backlog(backlog) => backlog.observe(now, frame.backlog),
            Self::Utilization(utilization) => utilization.observe(now, frame.wire_size),
            Self::Probe(_) | Self::Marks(_) => return None,
        })
    }

    /// The backlog below the smoother is now `backlog`. The upper mark may be crossed between two
    /// completions; the signal follows with the next one.
    pub(super) fn entered(&mut self, now: Instant, backlog: Bytes) {
        if let Self::Backlog(detector) = self {
            detector.observe(now, backlog);
        }
    }

    /// Another station's frame was heard; the signal follows with the next completion.
    pub(super) fn heard(&mut self, now: Instant, wire_size: Bytes) {
        if let Self::Utilization(utilization) = self {
            utilization.observe(now, wire_size);
        }
    }

    /// A probe was answered or lost. A congested path signals congestion by itself; clear is
    /// signaled only when all paths are clear.
    pub(super) fn probed(
        &mut self,
        now: Instant,
        path: u8,
        delay: Option<Duration>,
    ) -> Option<Signal> {
        let Self::Probe(paths) = self else {
            return None;
        };
        let signal = paths.get_mut(usize::from(path))?.observe(now, delay);
        let is_clear = paths.iter().all(|path| path.signal(now) == Signal::Clear);
        (signal == Signal::Congestion || is_clear).then_some(signal)
    }

    /// A packet came back. There is one signal per window: another mark in the same window is not
    /// new congestion.
    pub(super) fn marked(&mut self, now: Instant, packet: Marked) -> Option<Signal> {
        let Self::Marks(share) = self else {
            return None;
        };
        let is_new = share.is_complete(now);
        let signal = share.observe(now, packet);
        is_new.then_some(signal)
    }
}
