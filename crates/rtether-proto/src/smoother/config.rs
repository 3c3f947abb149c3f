//! Parameters of a smoother, with the values of the paper, and what they must satisfy.

use rtether_model::quantity::{BitRate, Bytes, Duration};
use thiserror::Error;

/// Everything that can be set, at the start and while running.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Config {
    /// How bulk packets are held back.
    pub mode: Mode,
    /// Limits of packets and queues.
    pub limits: Limits,
}

/// Limits of packets and queues.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limits {
    /// Largest packet, as an IP datagram; a larger one is refused and counted.
    pub mtu: Bytes,
    /// Real-time packets that may wait; the next one is refused and counted.
    pub real_time_packets: usize,
    /// Bulk packets that may wait; the next one is refused and counted.
    pub bulk_packets: usize,
}

/// How bulk packets are held back. More modes may come.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Mode {
    /// Not at all; real-time packets still go first.
    None,
    /// Credit bucket with a constant period.
    Fixed(Fixed),
    /// Credit bucket with a period that follows congestion (the Linux variant).
    Adaptive(Adaptive),
    /// Periodic service of a limited amount, both of which follow congestion (the NT variant).
    Nt(Nt),
}

/// Credit bucket with a constant period.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Fixed {
    /// Depth of the bucket, CBD.
    pub depth: Bytes,
    /// Time between refreshes, RP.
    pub period: Duration,
}

/// Credit bucket whose period doubles on congestion and shrinks in time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Adaptive {
    /// Depth of the bucket, CBD.
    pub depth: Bytes,
    /// How long bulk packets are held after a collision, alpha.
    pub hold: Duration,
    /// Time between two calls of *refresh*, tau. A refresh waits for such a call, so the period is
    /// rounded up to a multiple.
    pub tick: Duration,
    /// Shortest period, also at the start, `RPmin`.
    pub period_min: Duration,
    /// Longest period, `RPmax`.
    pub period_max: Duration,
    /// How the period shrinks.
    pub increase: Increase,
    /// How often one collision doubles the period.
    pub doubling: Doubling,
    /// Whether doubling also postpones the refresh that is due next, to a (doubled) period after
    /// the last one. The paper does not.
    pub shift_refresh: bool,
    /// Whether emptying the bucket on congestion also forgives debt, as the paper's procedure does
    /// when taken literally. Then no arrival curve is promised.
    pub forgive_debt: bool,
}

/// How the period shrinks, so that the rate grows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Increase {
    /// By this time every tick (HIMD): the rate grows harmonically.
    Harmonic(Duration),
    /// To one half, every such interval without a doubling: the rate grows exponentially.
    SlowStart(Duration),
    /// So that the rate grows by this much every tick.
    Linear(BitRate),
}

/// How often one collision report doubles the period.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Doubling {
    /// Once: when it first holds a bulk packet back.
    PerReport,
    /// At every call that finds a bulk packet held back by it, as the paper's procedure does when
    /// taken literally. Each `poll_transmit` is a call.
    PerCall,
}

/// Periodic service of a limited amount.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Nt {
    /// Least amount released at once, also at the start, and the step by which it changes.
    pub depth_step: Bytes,
    /// Largest amount released at once.
    pub depth_max: Bytes,
    /// Shortest period, also at the start: the granularity of timers.
    pub period_min: Duration,
    /// Longest period.
    pub period_max: Duration,
    /// By how much the period shrinks at a service without congestion.
    pub delta: Duration,
    /// Each period is longer by a random time up to this, lest stations lock in step.
    pub jitter: Duration,
    /// Seed of the jitter; each station needs its own.
    pub seed: u64,
}

impl Default for Limits {
    /// Ethernet's 1500 octets and 1000 packets in each queue.
    fn default() -> Self {
        Self {
            mtu: Bytes::new(1500),
            real_time_packets: 1000,
            bulk_packets: 1000,
        }
    }
}

impl Fixed {
    /// One MTU every 36 ms, 0.33 Mbit/s (002 Kweon 3.2, where 3.6 ms is a misprint).
    pub const PAPER: Self = Self {
        depth: Bytes::new(1500),
        period: Duration::from_ms(36),
    };
}

impl Adaptive {
    /// Harmonic increase, multiplicative decrease with the values of 002 Kweon 3.2: the period
    /// falls by 0.1 s each second, from at most 100 ms to at least 3 ms (4 Mbit/s).
    pub const HIMD: Self = Self {
        depth: Bytes::new(1500),
        hold: Duration::from_ms(10),
        tick: Duration::from_ms(1),
        period_min: Duration::from_ms(3),
        period_max: Duration::from_ms(100),
        increase: Increase::Harmonic(Duration::from_us(100)),
        doubling: Doubling::PerReport,
        shift_refresh: false,
        forgive_debt: false,
    };
    /// Slow-start increase. The paper gives no numbers: with 200 ms the way from the longest to the
    /// shortest period takes about a second, as it does with [`Adaptive::HIMD`].
    pub const SLOW_START: Self = Self {
        increase: Increase::SlowStart(Duration::from_ms(200)),
        ..Self::HIMD
    };
    /// Linear increase. The paper gives no numbers: with 4 kbit/s each tick the way from the
    /// longest to the shortest period takes about a second, as it does with [`Adaptive::HIMD`].
    pub const LINEAR: Self = Self {
        increase: Increase::Linear(BitRate::from_bps(4_000)),
        ..Self::HIMD
    };
}

impl Nt {
    /// The values of 002 Kweon 4.1; the jitter is ours.
    pub const fn paper(seed: u64) -> Self {
        Self {
            depth_step: Bytes::new(1500),
            depth_max: Bytes::new(4500),
            period_min: Duration::from_ms(10),
            period_max: Duration::from_ms(1000),
            delta: Duration::from_ms(10),
            jitter: Duration::from_ms(1),
            seed,
        }
    }
}

/// Why parameters are refused.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
pub enum ConfigError {
    /// A parameter must be larger than zero.
    #[error("`{0}` must be larger than zero")]
    NotPositive(&'static str),
    /// A time or size beyond what any smoother needs.
    #[error("`{0}` must be at most one day, or 1 GB")]
    TooLarge(&'static str),
    /// A shortest value above the longest.
    #[error("`{low}` must not exceed `{high}`")]
    Reversed {
        /// The lower end.
        low: &'static str,
        /// The upper end.
        high: &'static str,
    },
    /// The largest packet would never be served.
    #[error("`depth_step` must be at least `mtu`, else the largest packet is never served")]
    NeverServed,
}

impl Config {
    /// Returns a configuration with the default limits.
    pub fn new(mode: Mode) -> Self {
        Self {
            mode,
            limits: Limits::default(),
        }
    }

    pub(super) fn check(&self) -> Result<(), ConfigError> {
        size("mtu", self.limits.mtu)?;
        for (name, packets) in [
            ("real_time_packets", self.limits.real_time_packets),
            ("bulk_packets", self.limits.bulk_packets),
        ] {
            if packets == 0 {
                return Err(ConfigError::NotPositive(name));
            }
        }
        match self.mode {
            Mode::None => Ok(()),
            Mode::Fixed(fixed) => {
                size("depth", fixed.depth)?;
                time("period", fixed.period)
            }
            Mode::Adaptive(adaptive) => adaptive.check(),
            Mode::Nt(nt) => nt.check(self.limits.mtu),
        }
    }
}

impl Adaptive {
    fn check(&self) -> Result<(), ConfigError> {
        size("depth", self.depth)?;
        not_negative("hold", self.hold)?;
        time("tick", self.tick)?;
        periods(self.period_min, self.period_max)?;
        match self.increase {
            Increase::Harmonic(delta) => not_negative("delta", delta),
            Increase::SlowStart(interval) => time("interval", interval),
            Increase::Linear(step) if step.as_bps() == 0 => Err(ConfigError::NotPositive("step")),
            Increase::Linear(_) => Ok(()),
        }
    }
}

impl Nt {
    fn check(&self, mtu: Bytes) -> Result<(), ConfigError> {
        size("depth_max", self.depth_max)?;
        periods(self.period_min, self.period_max)?;
        not_negative("delta", self.delta)?;
        not_negative("jitter", self.jitter)?;
        if self.depth_step < mtu {
            return Err(ConfigError::NeverServed);
        }
        if self.depth_step > self.depth_max {
            return Err(ConfigError::Reversed {
                low: "depth_step",
                high: "depth_max",
            });
        }
        Ok(())
    }
}

fn periods(min: Duration, max: Duration) -> Result<(), ConfigError> {
    time("period_min", min)?;
    time("period_max", max)?;
    if min > max {
        return Err(ConfigError::Reversed {
            low: "period_min",
            high: "period_max",
        });
    }
    Ok(())
}

/// So far below the ends of `i64` that sums and doubles of a few of them cannot overflow.
const LONGEST: Duration = Duration::from_secs(86_400);
const LARGEST: Bytes = Bytes::new(1_000_000_000);

fn time(name: &'static str, value: Duration) -> Result<(), ConfigError> {
    if value <= Duration::ZERO {
        return Err(ConfigError::NotPositive(name));
    }
    not_negative(name, value)
}

fn not_negative(name: &'static str, value: Duration) -> Result<(), ConfigError> {
    if value.is_negative() {
        return Err(ConfigError::NotPositive(name));
    }
    if value > LONGEST {
        return Err(ConfigError::TooLarge(name));
    }
    Ok(())
}

fn size(name: &'static str, value: Bytes) -> Result<(), ConfigError> {
    if value == Bytes::ZERO {
        return Err(ConfigError::NotPositive(name));
    }
    if value > LARGEST {
        return Err(ConfigError::TooLarge(name));
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::string::ToString;

    #[test]
    fn the_values_of_the_paper_pass() {
        for mode in [
            Mode::None,
            Mode::Fixed(Fixed::PAPER),
            Mode::Adaptive(Adaptive::HIMD),
            Mode::Adaptive(Adaptive::SLOW_START),
            Mode::Adaptive(Adaptive::LINEAR),
            Mode::Nt(Nt::paper(1)),
        ] {
            assert_eq!(Config::new(mode).check(), Ok(()));
        }
    }

    #[test]
    fn a_refused_parameter_is_named() {
        let no_depth = Mode::Fixed(Fixed {
            depth: Bytes::ZERO,
            ..Fixed::PAPER
        });
        let reversed = Mode::Adaptive(Adaptive {
            period_min: Duration::from_secs(1),
            ..Adaptive::HIMD
        });
        let small = Mode::Nt(Nt {
            depth_step: Bytes::new(1499),
            ..Nt::paper(1)
        });
        for (mode, message) in [
            (no_depth, "`depth` must be larger than zero"),
            (reversed, "`period_min` must not exceed `period_max`"),
            (
                small,
                "`depth_step` must be at least `mtu`, else the largest packet is never served",
            ),
        ] {
            let error = Config::new(mode).check().expect_err("refused");
            assert_eq!(error.to_string(), message);
        }
    }
}
