//! What is known of one property of a device.

use core::fmt;

use rtether_model::quantity::Duration;

/// A time with the interval that holds the true one in 95 % of all measurements.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Figure {
    /// The estimate.
    pub value: Duration,
    /// Lower end.
    pub low: Duration,
    /// Upper end.
    pub high: Duration,
}

/// Why a property cannot be told.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Unidentified {
    /// Fewer answers than the estimate needs.
    TooFew {
        /// Answers there are.
        answers: usize,
        /// Answers needed.
        needed: usize,
    },
    /// The sizes were not varied, or not apart from each other.
    SizesFixed,
    /// Nothing in the answers repeats in step.
    NoCycle,
    /// Something repeats, but its length varies too much for one number.
    CycleVaries,
    /// The device is at least as fast as packets follow each other on the line.
    FasterThanLine,
    /// Another property that it follows from is not known.
    NeedsOther,
    /// No burst was long enough to lose a packet.
    NoLoss {
        /// Requests in the longest burst.
        longest: usize,
    },
    /// The queue is so short that all possibilities answer alike.
    QueueTooShort,
    /// The measurement is compatible with more than one possibility.
    Ambiguous,
}

impl fmt::Display for Unidentified {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::TooFew { answers, needed } => write!(f, "{answers} answers, {needed} needed"),
            Self::SizesFixed => f.write_str("sizes were not varied apart from each other"),
            Self::NoCycle => f.write_str("nothing repeats in step"),
            Self::CycleVaries => f.write_str("the cycle varies"),
            Self::FasterThanLine => f.write_str("faster than packets follow on the line"),
            Self::NeedsOther => f.write_str("it follows from what is not known"),
            Self::NoLoss { longest } => write!(f, "nothing lost in bursts of up to {longest}"),
            Self::QueueTooShort => f.write_str("the queue is too short to tell"),
            Self::Ambiguous => f.write_str("the measurement fits more than one possibility"),
        }
    }
}

impl core::error::Error for Unidentified {}

impl Figure {
    /// Returns the figure of an estimate in nanoseconds, and how far its interval reaches below and
    /// above it.
    pub(super) fn around(value: f64, below: f64, above: f64) -> Self {
        Self { value: from_ns(value), low: from_ns(value - below), high: from_ns(value + above) }
    }

    /// Returns whether the interval has a value in it.
    pub fn holds(&self, value: Duration) -> bool {
        (self.low..=self.high).contains(&value)
    }
}

/// Half of a 95 % interval of a normal distribution, in standard deviations.
pub(super) const HALF: f64 = 1.96;

/// Returns a time in nanoseconds; what is beyond 106 days saturates.
#[allow(clippy::cast_possible_truncation, reason = "an estimate has no exact value to lose")]
pub(super) fn from_ns(ns: f64) -> Duration {
    Duration::from_ps(libm::round(ns * 1e3) as i64)
}

/// Returns a count as a number to compute with.
#[allow(clippy::cast_precision_loss, reason = "counts here are far below 2^52")]
pub(super) const fn count(number: usize) -> f64 {
    number as f64
}
