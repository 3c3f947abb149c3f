//! Constraints on the parameters of a smoother.

use rtether_model::quantity::{Bytes, Duration};
use rtether_model::smoother::{Adaptive, Config, Increase, Mode, Nt, TurnBucket};
use thiserror::Error;

/// Why parameters are refused.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
pub enum ConfigError {
    /// A parameter must be larger than zero.
    #[error("`{0}` must be larger than zero")]
    NotPositive(&'static str),
    /// A time or size beyond what any smoother needs.
    #[error("`{0}` must be at most one day, or 1 GB")]
    TooLarge(&'static str),
    /// A minimum above its maximum.
    #[error("`{low}` must not exceed `{high}`")]
    Reversed {
        /// The lower end.
        low: &'static str,
        /// The upper end.
        high: &'static str,
    },
    /// Congestion would shorten the period.
    #[error("`growth_percent` must be at least 100, otherwise congestion would raise the rate")]
    Shrinks,
    /// A share above 100 %.
    #[error("`{0}` must be at most 100 %")]
    AboveWhole(&'static str),
    /// The largest packet would never be served.
    #[error("`depth_step` must be at least `mtu`, else the largest packet is never served")]
    NeverServed,
}

/// Returns an error if the parameters are invalid.
pub(super) fn check(config: &Config) -> Result<(), ConfigError> {
    size("mtu", config.limits.mtu)?;
    for (name, packets) in [
        ("real_time_packets", config.limits.real_time_packets),
        ("bulk_packets", config.limits.bulk_packets),
    ] {
        if packets == 0 {
            return Err(ConfigError::NotPositive(name));
        }
    }
    match config.mode {
        Mode::None => Ok(()),
        Mode::Fixed(fixed) => {
            size("depth", fixed.depth)?;
            time("period", fixed.period)
        }
        Mode::Adaptive(adaptive) => check_adaptive(&adaptive),
        Mode::Nt(nt) => check_nt(&nt, config.limits.mtu),
        Mode::Rtether(places) => check_places(&places),
    }
}

fn check_adaptive(adaptive: &Adaptive) -> Result<(), ConfigError> {
    size("depth", adaptive.depth)?;
    not_negative("hold", adaptive.hold)?;
    time("tick", adaptive.tick)?;
    if adaptive.growth_percent < 100 {
        return Err(ConfigError::Shrinks);
    }
    periods(adaptive.period_min, adaptive.period_max)?;
    match adaptive.increase {
        Increase::Harmonic(delta) => not_negative("delta", delta),
        Increase::SlowStart(interval) => time("interval", interval),
        Increase::Linear(step) if step.as_bps() == 0 => Err(ConfigError::NotPositive("step")),
        Increase::Linear(_) => Ok(()),
    }
}

fn check_places(places: &TurnBucket) -> Result<(), ConfigError> {
    size("depth", places.depth)?;
    not_negative("guard", places.guard)?;
    periods(places.period_min, places.period_max)?;
    if places.growth_percent < 100 {
        return Err(ConfigError::Shrinks);
    }
    for (name, share) in
        [("target_percent", places.target_percent), ("threshold_percent", places.threshold_percent)]
    {
        match share {
            0 => return Err(ConfigError::NotPositive(name)),
            1..=100 => {}
            _ => return Err(ConfigError::AboveWhole(name)),
        }
    }
    if places.gain_percent > 100 {
        return Err(ConfigError::AboveWhole("gain_percent"));
    }
    if places.step.as_bps() == 0 {
        return Err(ConfigError::NotPositive("step"));
    }
    time("window", places.window)
}

fn check_nt(nt: &Nt, mtu: Bytes) -> Result<(), ConfigError> {
    size("depth_max", nt.depth_max)?;
    periods(nt.period_min, nt.period_max)?;
    not_negative("delta", nt.delta)?;
    not_negative("jitter", nt.jitter)?;
    if nt.depth_step < mtu {
        return Err(ConfigError::NeverServed);
    }
    if nt.depth_step > nt.depth_max {
        return Err(ConfigError::Reversed { low: "depth_step", high: "depth_max" });
    }
    Ok(())
}

fn periods(min: Duration, max: Duration) -> Result<(), ConfigError> {
    time("period_min", min)?;
    time("period_max", max)?;
    if min > max {
        return Err(ConfigError::Reversed { low: "period_min", high: "period_max" });
    }
    Ok(())
}

/// Far enough below the limits of `i64` that sums and doubles of a few of them cannot overflow.
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
    use rtether_model::smoother::Fixed;
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
            Mode::Rtether(TurnBucket::DEFAULT),
        ] {
            assert_eq!(check(&Config::new(mode)), Ok(()));
        }
    }

    #[test]
    fn a_refused_parameter_is_named() {
        let no_depth = Mode::Fixed(Fixed { depth: Bytes::ZERO, ..Fixed::PAPER });
        let reversed =
            Mode::Adaptive(Adaptive { period_min: Duration::from_secs(1), ..Adaptive::HIMD });
        let small = Mode::Nt(Nt { depth_step: Bytes::new(1499), ..Nt::paper(1) });
        for (mode, message) in [
            (no_depth, "`depth` must be larger than zero"),
            (reversed, "`period_min` must not exceed `period_max`"),
            (small, "`depth_step` must be at least `mtu`, else the largest packet is never served"),
        ] {
            let error = check(&Config::new(mode)).expect_err("refused");
            assert_eq!(error.to_string(), message);
        }
    }
}
