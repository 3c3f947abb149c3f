//! A common interface to the modes.

use rtether_model::quantity::{Bytes, Duration, Instant};

use super::Class;
use super::adaptive::AdaptiveLaw;
use super::bucket::Bucket;
use super::congestion::Signal;
use super::event::{Log, Reason, Transmission};
use super::nt::NtLaw;
use super::turns::TurnLaw;
use rtether_model::smoother::Mode;

/// State of the current mode. A new mode needs a variant here and one in [`Mode`].
#[derive(Clone, Debug)]
pub(super) enum Law {
    None,
    Fixed { period: Duration, bucket: Bucket },
    Adaptive(AdaptiveLaw),
    Nt(NtLaw),
    TurnBucket(TurnLaw),
}

impl Law {
    pub(super) fn new(now: Instant, mode: Mode) -> Self {
        match mode {
            Mode::None => Self::None,
            Mode::Fixed(fixed) => Self::Fixed {
                period: fixed.period,
                bucket: Bucket::new(now, fixed.depth, fixed.period),
            },
            Mode::Adaptive(parameters) => Self::Adaptive(AdaptiveLaw::new(now, parameters)),
            Mode::Nt(parameters) => Self::Nt(NtLaw::new(now, parameters)),
            Mode::Rtether(parameters) => Self::TurnBucket(TurnLaw::new(now, parameters)),
        }
    }

    /// Changes parameters; the state is kept within a mode and starts afresh in another.
    pub(super) fn set(&mut self, now: Instant, mode: Mode, log: &mut Log) {
        match (&mut *self, mode) {
            (Self::Fixed { period, bucket }, Mode::Fixed(fixed)) => {
                log.period_changed(now, *period, fixed.period);
                *period = fixed.period;
                bucket.set(fixed.depth, fixed.period, fixed.period);
            }
            (Self::Adaptive(law), Mode::Adaptive(parameters)) => law.set(now, parameters, log),
            (Self::Nt(law), Mode::Nt(parameters)) => law.set(now, parameters, log),
            (Self::TurnBucket(law), Mode::Rtether(parameters)) => law.set(now, parameters, log),
            (_, mode) => *self = Self::new(now, mode),
        }
    }

    pub(super) fn handle_signal(&mut self, now: Instant, signal: Signal) {
        match (self, signal) {
            (Self::Adaptive(law), Signal::Congestion) => law.report(now),
            (Self::Nt(law), signal) => law.report(signal == Signal::Congestion),
            (Self::None | Self::Fixed { .. } | Self::TurnBucket(_), _)
            | (Self::Adaptive(_), Signal::Clear) => {}
        }
    }

    /// A bulk packet is out.
    pub(super) fn handle_completion(&mut self, sent: Transmission) {
        if let Self::TurnBucket(law) = self {
            law.on_complete(sent);
        }
    }

    /// A station kept the medium busy.
    pub(super) fn handle_busy(&mut self, now: Instant, busy: Duration, log: &mut Log) {
        if let Self::TurnBucket(law) = self {
            law.on_busy(now, busy, log);
        }
    }

    /// `sizes` are those of the bulk queue, from its head.
    pub(super) fn handle_timeout(
        &mut self,
        now: Instant,
        sizes: impl Iterator<Item = Bytes>,
        log: &mut Log,
    ) {
        match self {
            Self::None => {}
            Self::Fixed { period, bucket } => {
                if now >= bucket.due() {
                    bucket.refresh(now, *period, log);
                }
            }
            Self::Adaptive(law) => law.tick(now, log),
            Self::Nt(law) => law.serve(now, sizes, log),
            Self::TurnBucket(law) => law.refresh(now, log),
        }
    }

    /// Returns whether the bulk packet at the head may leave.
    pub(super) fn permits(&mut self, now: Instant, log: &mut Log) -> bool {
        match self {
            Self::None => true,
            Self::Fixed { bucket, .. } => bucket.credits() > 0,
            Self::Adaptive(law) => law.permits(now, log),
            Self::Nt(law) => law.permits(),
            Self::TurnBucket(law) => law.bucket.credits() > 0,
        }
    }

    pub(super) fn charge(&mut self, now: Instant, class: Class, size: Bytes, log: &mut Log) {
        match self {
            Self::None => {}
            Self::Fixed { bucket, .. } => bucket.charge(now, size, log),
            Self::Adaptive(law) => law.bucket.charge(now, size, log),
            Self::Nt(law) if class == Class::Bulk => law.on_transmit(),
            Self::Nt(_) => {}
            Self::TurnBucket(law) => {
                law.bucket.charge(now, size, log);
                if class == Class::Bulk {
                    law.on_release(now);
                }
            }
        }
    }

    pub(super) fn due(&self) -> Option<(Instant, Reason)> {
        match self {
            Self::None => None,
            Self::Fixed { bucket, .. } => Some((bucket.due(), Reason::Refresh)),
            Self::Adaptive(law) => Some((law.due(), Reason::Tick)),
            Self::Nt(law) => Some((law.due(), Reason::Service)),
            Self::TurnBucket(law) => Some((law.bucket.due(), Reason::Refresh)),
        }
    }

    pub(super) fn credits(&self) -> Option<i64> {
        match self {
            Self::Fixed { bucket, .. } => Some(bucket.credits()),
            Self::Adaptive(law) => Some(law.bucket.credits()),
            Self::TurnBucket(law) => Some(law.bucket.credits()),
            Self::None | Self::Nt(_) => None,
        }
    }

    /// Returns depth and period.
    pub(super) fn shape(&self) -> Option<(Bytes, Duration)> {
        match self {
            Self::None => None,
            Self::Fixed { period, bucket } => Some((bucket.depth(), *period)),
            Self::Adaptive(law) => Some((law.bucket.depth(), law.period())),
            Self::Nt(law) => Some((law.depth(), law.period())),
            Self::TurnBucket(law) => Some((law.bucket.depth(), law.period())),
        }
    }

    pub(super) fn invariants(&self, bulk_queued: usize) {
        match self {
            Self::None => {}
            Self::Fixed { bucket, .. } => bucket.invariants(),
            Self::Adaptive(law) => law.invariants(),
            Self::Nt(law) => law.invariants(bulk_queued),
            Self::TurnBucket(law) => law.invariants(),
        }
    }
}
