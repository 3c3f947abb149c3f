//! What tells the smoother of congestion: one detector and what it is fed.

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
    /// One for each path: delays of two of them have no common origin.
    Probe(Vec<ProbeDelay>),
    Marks(MarkedShare),
}

/// What is known when a frame is out.
#[derive(Clone, Copy, Debug)]
pub(super) struct Completed {
    pub(super) attempts: u32,
    pub(super) wire_size: Bytes,
    /// Time at the head of the ring.
    pub(super) busy: Duration,
    pub(super) backlog: Bytes,
}

impl Watch {
    /// `seed` is for collisions that are not seen.
    pub(super) fn new(now: Instant, detector: Detector, seed: u64, rate: BitRate) -> Self {
        match detector {
            Detector::OwnCollisions {
                visibility_per_million,
            } => {
                let collisions = OwnCollisions::with_visibility(visibility_per_million, seed);
                Self::Collisions(collisions)
            }
            Detector::ClearingRate { floor } => Self::Clearing(ClearingRate::new(floor)),
            Detector::Backlog { low, high } => Self::Backlog(Backlog::new(low, high)),
            Detector::Utilization {
                threshold_percent,
                window,
            } => Self::Utilization(Utilization::new(now, rate, threshold_percent, window)),
            Detector::ProbeDelay { excess, epoch } => {
                Self::Probe(alloc::vec![ProbeDelay::new(now, excess, epoch); PATHS_MAX])
            }
            Detector::Marks {
                threshold_percent,
                window,
            } => Self::Marks(MarkedShare::new(now, threshold_percent, window)),
        }
    }

    /// A frame is out; `None` if that tells the detector nothing.
    pub(super) fn completed(&mut self, now: Instant, frame: &Completed) -> Option<Signal> {
        Some(match self {
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
            Self::Probe(_) | Self::Marks(_) => return None,
        })
    }

    /// So many octets wait below the smoother. The upper mark may be passed between two
    /// completions; the signal comes with the next.
    pub(super) fn entered(&mut self, now: Instant, backlog: Bytes) {
        if let Self::Backlog(detector) = self {
            detector.observe(now, backlog);
        }
    }

    /// A frame of somebody was heard; the signal comes with the next completion.
    pub(super) fn heard(&mut self, now: Instant, wire_size: Bytes) {
        if let Self::Utilization(utilization) = self {
            utilization.observe(now, wire_size);
        }
    }

    /// A probe is back or lost. Each path that is congested says so, and a path that is not says so
    /// for all if none of the others is.
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

    /// A packet came back. There is a signal once for each window: one mark more in the same window
    /// is no new congestion.
    pub(super) fn marked(&mut self, now: Instant, packet: Marked) -> Option<Signal> {
        let Self::Marks(share) = self else {
            return None;
        };
        let is_new = share.is_complete(now);
        let signal = share.observe(now, packet);
        is_new.then_some(signal)
    }
}
