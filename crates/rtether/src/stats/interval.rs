//! Intervals from units: how sure are mean, quantile and miss ratio?
//!
//! `U` units have the sums `s` over `n` packets. A ratio of sums `r = S / N` has the variance
//! `U / (U - 1) * sum((s - r n)^2) / N^2`. Divided by that of as many independent packets it is the
//! *design effect* `d`, and `N / d` the number of independent packets worth as much.
//!
//! **Mean.** Student's t with Hall's (1992) cubic transformation, since means of waiting times are
//! skewed to the right. The fewer independent packets, the heavier the tails of the units: the
//! degrees of freedom `f` are `1 / f = 1 / (U - 1) + 15 d / N`. The 15 was found with M/D/1 at load
//! 0.9 and is confirmed by tests at other loads and lengths.
//!
//! **Quantile** (Woodruff 1952). The share of packets above the true quantile `q` is `1 - q` but for
//! `t sqrt(d q (1 - q) / N)`; the ends are the observed quantiles at these shares, rounded outwards
//! to bins of the histogram. `d` is that of exceeding the edge of a coarse bin next to the quantile.
//!
//! **Miss ratio.** Wilson's (1927) interval for `N / d` packets with Student's t in place of the
//! normal quantile.
//!
//! Rare events are too few to tell how they come together. A queue holds misses together for no
//! longer than latencies: for quantile and miss ratio, where `d` of the latency is larger than that of
//! the event, `d` lies between them, in the middle at 20 independent events; and it is at least 1.

use rtether_model::histogram::Histogram;
use rtether_model::quantity::Duration;
use rtether_model::record::StreamRecord;
use rtether_report::text::{real, real_len};

use super::unit::{Kind, Spread, Unit, ps};
use super::{Interval, Needs, TAIL, student_quantile};

/// Fewest units that tell a spread: runs are independent of each other; batches nearly.
const LEAST_RUNS: usize = 4;
const LEAST_BATCHES: usize = 8;
/// Fewest independent packets of a unit that is a batch: fewer depend on the batch before.
const LEAST_IN_BATCH: f64 = 2.0;
/// Loss of freedom by the tails of units, see above.
const TAILS: f64 = 15.0;
/// Independent events at which their own design effect counts half.
const FEW: f64 = 20.0;
/// A beginning differs if chance does it once in a hundred times.
const START_TAIL: f64 = 0.005;
/// It matters if it moves the mean by a tenth of the interval, and a thousandth of the mean.
const START_OF_INTERVAL: f64 = 0.2;
const START_OF_MEAN: f64 = 1e-3;

/// What the units of one or more streams together show.
pub(crate) struct Sample {
    units: Vec<Together>,
    kind: Kind,
    runs: u64,
    mean: Ratio,
    /// Variance of single latencies, in square picoseconds.
    variance: f64,
}

/// Consecutive requests of one measurement.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Batch {
    pub(crate) answered: u64,
    pub(crate) lost: u64,
    /// Late or lost.
    pub(crate) missed: u64,
    /// Sum of their times, in picoseconds.
    pub(crate) sum_ps: i128,
}

/// A unit, summed over streams.
#[derive(Clone, Debug, Default)]
struct Together {
    delivered: f64,
    released: f64,
    missed: f64,
    sum: f64,
    parts: Vec<Unit>,
}

/// A ratio of sums over units.
struct Ratio {
    value: f64,
    /// Standard error.
    error: f64,
    /// Skewness of the units.
    skewness: f64,
    /// Packets.
    count: f64,
}

impl Ratio {
    /// `pairs` are sum and number of packets of each unit.
    fn of(pairs: impl Iterator<Item = (f64, f64)>) -> Self {
        let pairs: Vec<(f64, f64)> = pairs.collect();
        let sum: f64 = pairs.iter().map(|own| own.0).sum();
        let count: f64 = pairs.iter().map(|own| own.1).sum();
        let value = if count > 0.0 { sum / count } else { 0.0 };
        let units = real_len(pairs.len());
        let moment = |power: i32| {
            let powers = pairs.iter().map(|(sum, count)| (sum - value * count).powi(power));
            powers.sum::<f64>() / units
        };
        let (second, third) = (moment(2), moment(3));
        let error = libm::sqrt(units * units / (units - 1.0) * second) / count;
        let skewness = if second > 0.0 { third / (second * libm::sqrt(second)) } else { 0.0 };
        Self { value, error, skewness, count }
    }

    /// Returns the design effect, if single packets have this variance.
    fn design(&self, variance: f64) -> f64 {
        if variance > 0.0 { self.error * self.error * self.count / variance } else { 0.0 }
    }
}

impl Sample {
    /// Joins the units of streams of one scenario; `deviation` is that of all their latencies.
    pub(crate) fn new(spreads: &[&Spread], deviation: Option<Duration>) -> Result<Self, Needs> {
        let first = spreads.first().ok_or(Needs::Runs)?;
        let most = spreads.iter().map(|own| own.units().len()).max().unwrap_or(0);
        let units: Vec<Together> = (0..most).map(|at| Together::of(spreads, at)).collect();
        let mean = Ratio::of(units.iter().map(|unit| (unit.sum, unit.delivered)));
        let deviation = deviation.map_or(0.0, |time| ps(time.as_ps().into()));
        let sample = Self {
            units,
            kind: first.kind(),
            runs: first.runs(),
            mean,
            variance: deviation * deviation,
        };
        if !sample.is_enough() {
            return Err(Needs::Runs);
        }
        if spreads.iter().any(|spread| sample.begins_otherwise(spread)) {
            return Err(Needs::Warmup);
        }
        Ok(sample)
    }

    /// Makes a sample of consecutive batches of one measurement; `None` if they are too few, or depend
    /// on each other. `deviation` is that of single times.
    pub(crate) fn of_batches(batches: &[Batch], deviation: Duration) -> Option<Self> {
        let units = batches.iter().map(|batch| Together {
            delivered: real(batch.answered),
            released: real(batch.answered + batch.lost),
            missed: real(batch.missed),
            sum: ps(batch.sum_ps),
            parts: Vec::new(),
        });
        let units: Vec<Together> = units.collect();
        let deviation = ps(deviation.as_ps().into());
        let mean = Ratio::of(units.iter().map(|unit| (unit.sum, unit.delivered)));
        let sample =
            Self { units, kind: Kind::Batches, runs: 1, mean, variance: deviation * deviation };
        sample.is_enough().then_some(sample)
    }

    /// Returns whether the units are enough, and long enough, to tell their spread.
    fn is_enough(&self) -> bool {
        let count = self.units.len();
        let is_enough = match self.kind {
            Kind::Runs => count >= LEAST_RUNS,
            Kind::Batches => {
                count >= LEAST_BATCHES && self.independent() >= LEAST_IN_BATCH * real_len(count)
            }
        };
        is_enough && self.mean.count >= real_len(count)
    }

    /// Returns how many independent packets are worth as much, by their latency.
    pub(crate) fn independent(&self) -> f64 {
        self.mean.count / self.mean.design(self.variance).max(1.0)
    }

    /// Returns the number of runs.
    pub(crate) const fn runs(&self) -> u64 {
        self.runs
    }

    fn freedom(&self) -> f64 {
        real_len(self.units.len() - 1)
    }

    /// Returns whether the beginning of the runs moves the mean too much.
    fn begins_otherwise(&self, spread: &Spread) -> bool {
        let start = spread.start();
        if start.runs < 4 {
            return false;
        }
        let runs = real(start.runs);
        let apart = start.sum / runs;
        let variance = (start.squares / runs - apart * apart).max(0.0) / (runs - 1.0);
        let moves = libm::fabs(apart) * start.part;
        let half = student_quantile(self.freedom(), TAIL) * self.mean.error;
        let is_chance =
            libm::fabs(apart) <= student_quantile(runs - 1.0, START_TAIL) * libm::sqrt(variance);
        !is_chance && moves > START_OF_INTERVAL * half && moves > START_OF_MEAN * self.mean.value
    }

    /// Returns the interval of the mean.
    pub(crate) fn mean(&self) -> (Duration, Duration) {
        let freedom = 1.0 / (1.0 / self.freedom() + TAILS / self.independent());
        let t = student_quantile(freedom, TAIL);
        let skewness = self.mean.skewness / libm::sqrt(self.freedom() + 1.0);
        let end = |t: f64| self.mean.value - self.mean.error * unskewed(t, skewness);
        (from_ps(end(t)), from_ps(end(-t)))
    }

    /// Returns the interval of a quantile of one stream with this record.
    pub(crate) fn quantile(&self, all: &StreamRecord, part: u64, whole: u64) -> Option<Interval> {
        let observed = all.histogram.quantile(part, whole)?;
        let above = 1.0 - real(part) / real(whole);
        let bin = Histogram::coarse_bin(observed);
        // The edge of the coarse bin whose share above is the nearer one.
        let [low, high] = [bin, bin + 1].map(|bin| self.exceed(bin));
        let far = |share: f64| libm::fabs(libm::log(share.max(1e-12) / above));
        let nearer = if far(low.value) <= far(high.value) { low } else { high };
        let design = self.of_rare(&nearer);
        let t = student_quantile(self.freedom(), TAIL);
        let half = t * libm::sqrt(design * above * (1.0 - above) / self.mean.count);
        let at = |share: f64| all.histogram.quantile(parts(share), PARTS);
        let low = Histogram::lower_edge(at((1.0 - above - half).max(0.0))?);
        // Beyond the largest packet nothing is known.
        let known = above - half >= 1.0 / self.mean.count;
        let high = if known { at(1.0 - above + half) } else { None };
        Some(Interval {
            low: Ord::max(low, all.latency.min),
            high: high.map(|high| Ord::min(high, all.latency.max)),
        })
    }

    /// Returns the share of packets in a coarse bin or above.
    fn exceed(&self, bin: usize) -> Ratio {
        let above = |unit: &Together| unit.parts.iter().map(|own| own.at_least(bin)).sum();
        Ratio::of(self.units.iter().map(|unit| (real(above(unit)), unit.delivered)))
    }

    /// Returns the interval of the miss ratio with this probability in each tail; `None` if nothing
    /// was released.
    pub(crate) fn missed(&self, tail: f64) -> Option<(f64, f64)> {
        let ratio = Ratio::of(self.units.iter().map(|unit| (unit.missed, unit.released)));
        if ratio.count < 1.0 {
            return None;
        }
        let packets = ratio.count / self.of_rare(&ratio);
        let t = student_quantile(self.freedom(), tail);
        Some(wilson(ratio.value, packets, t))
    }

    /// Returns the design effect of an event: its own, or between that and the latency's if that is
    /// larger, the closer to the latter the fewer events there are.
    fn of_rare(&self, event: &Ratio) -> f64 {
        let own = event.design(event.value * (1.0 - event.value));
        let latency = self.mean.design(self.variance);
        let events = if own > 0.0 { event.value * event.count / own } else { 0.0 };
        (own + (latency - own).max(0.0) * FEW / (FEW + events)).max(1.0)
    }

    /// Returns how many independent packets without a miss show a ratio with this one-sided
    /// confidence.
    pub(crate) fn needed(&self, ratio: f64, confidence: f64) -> f64 {
        let t = student_quantile(self.freedom(), 1.0 - confidence);
        t * t * (1.0 - ratio) / ratio
    }
}

impl Together {
    fn of(spreads: &[&Spread], at: usize) -> Self {
        let mut together = Self::default();
        for unit in spreads.iter().filter_map(|own| own.units().get(at)) {
            together.delivered += real(unit.delivered);
            together.released += real(unit.released);
            together.missed += real(unit.missed);
            together.sum += ps(unit.sum_ps);
            together.parts.push(unit.clone());
        }
        together
    }
}

/// Inverts Hall's transformation `s + a s^2 / 3 + a^2 s^3 / 27 + a / 6` with skewness `a`.
fn unskewed(t: f64, skewness: f64) -> f64 {
    if libm::fabs(skewness) < 1e-6 {
        return t;
    }
    3.0 * (libm::cbrt(1.0 + skewness * (t - skewness / 6.0)) - 1.0) / skewness
}

/// Returns Wilson's interval of a ratio seen in `packets` independent packets.
fn wilson(ratio: f64, packets: f64, t: f64) -> (f64, f64) {
    let square = t * t / packets;
    let middle = ratio + square / 2.0;
    let half = t * libm::sqrt((ratio * (1.0 - ratio) + square / 4.0) / packets);
    let end = |end: f64| (end / (1.0 + square)).clamp(0.0, 1.0);
    // No miss and nothing but misses are ends themselves, but for rounding.
    let low = if ratio <= 0.0 { 0.0 } else { end(middle - half) };
    let high = if ratio >= 1.0 { 1.0 } else { end(middle + half) };
    (low, high)
}

/// Denominator of shares of a histogram.
const PARTS: u64 = 1 << 40;

#[allow(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "a share between 0 and 1 of 2^40"
)]
fn parts(share: f64) -> u64 {
    (share.clamp(0.0, 1.0) * real(PARTS)) as u64
}

#[allow(clippy::cast_possible_truncation, reason = "an estimate is rounded to a nanosecond")]
fn from_ps(ps: f64) -> Duration {
    Duration::from_ns(libm::round(ps / 1e3) as i64)
}
