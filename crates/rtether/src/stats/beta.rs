//! Quantiles of the beta distribution, for any parameters up to 2^53, in a fixed number of steps.
//!
//! In logits, `t = ln(x / (1 - x))`, the density is proportional to `x^a (1 - x)^b`: smooth, with
//! one peak, and falling at least exponentially on both sides. Its mass between two points of
//! negligible density is summed over panels by Gauss-Legendre quadrature; the panel that holds the
//! quantile is then bisected. This needs neither the gamma function, which would lose all digits
//! for large parameters, nor a series whose length grows with them.

use libm::{exp, expm1, log, log1p, sqrt};

/// A density below `exp(-FAR)` times the peak is negligible.
const FAR: f64 = 45.0;

/// Number of panels the range is cut into.
const PANELS: u32 = 128;

/// Steps of a bisection. The range is at most some hundred logits wide, and doubles have 53 bits.
const HALVINGS: u32 = 64;

/// Eight-point Gauss-Legendre rule on (-1, 1): positive nodes and their weights.
const RULE: [(f64, f64); 4] = [
    (0.183_434_642_495_649_8, 0.362_683_783_378_362),
    (0.525_532_409_916_329, 0.313_706_645_877_887_3),
    (0.796_666_477_413_626_7, 0.222_381_034_453_374_48),
    (0.960_289_856_497_536_3, 0.101_228_536_290_376_26),
];

/// The distribution; both parameters are positive.
#[derive(Clone, Copy, Debug)]
pub(super) struct Beta {
    a: f64,
    b: f64,
}

/// A quantile `x`, also as odds `x / (1 - x)`, which stay exact for `x` close to one.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Quantile {
    pub(super) value: f64,
    pub(super) odds: f64,
}

impl Beta {
    pub(super) const fn new(a: f64, b: f64) -> Self {
        Self { a, b }
    }

    /// Returns the value with probability `p` below it; `p` lies strictly between 0 and 1.
    pub(super) fn quantile(self, p: f64) -> Quantile {
        let Self { a, b } = self;
        let (low, high) = (self.end(-1.0), self.end(1.0));
        let width = (high - low) / f64::from(PANELS);
        let start = |panel: u32| low + width * f64::from(panel);
        let total: f64 = (0..PANELS).map(|panel| self.mass(start(panel), start(panel + 1))).sum();
        let mut missing = p * total;
        let mut from = low;
        for panel in 0..PANELS {
            from = start(panel);
            let mass = self.mass(from, start(panel + 1));
            if mass >= missing {
                break;
            }
            missing -= mass;
        }
        let at = halve(from, from + width, |at| self.mass(from, at) < missing);
        let odds = a / b * exp(at);
        // x = m e^u / (1 + m (e^u - 1)), where m is the peak.
        let mean = a / (a + b);
        let value = mean * exp(at) / (1.0 + mean * expm1(at));
        Quantile { value: value.clamp(0.0, 1.0), odds }
    }

    /// Returns the log of the density relative to the peak, at `u` logits from the peak.
    fn log_density(self, u: f64) -> f64 {
        let Self { a, b } = self;
        // x / m = e^u / s and (1 - x) / (1 - m) = 1 / s with s = 1 + m (e^u - 1).
        a * u - (a + b) * log1p(a / (a + b) * expm1(u))
    }

    /// Returns where the density becomes negligible on one side of the peak.
    fn end(self, side: f64) -> f64 {
        let is_far = |distance: f64| self.log_density(side * distance) < -FAR;
        let mut far = sqrt((self.a + self.b) / self.a / self.b);
        for _ in 0..HALVINGS {
            if is_far(far) {
                break;
            }
            far *= 2.0;
        }
        side * halve(0.0, far, |distance| !is_far(distance))
    }

    /// Returns the unnormalized mass between two points.
    fn mass(self, from: f64, to: f64) -> f64 {
        let (middle, half) = (from.midpoint(to), (to - from) / 2.0);
        let density = |u: f64| exp(self.log_density(u));
        let of = |(node, weight): &(f64, f64)| {
            weight * (density(middle - half * node) + density(middle + half * node))
        };
        half * RULE.iter().map(of).sum::<f64>()
    }
}

/// Returns where `is_below` turns from true to false, by bisection.
fn halve(mut low: f64, mut high: f64, is_below: impl Fn(f64) -> bool) -> f64 {
    for _ in 0..HALVINGS {
        let middle = low.midpoint(high);
        if middle <= low || middle >= high {
            break;
        }
        if is_below(middle) {
            low = middle;
        } else {
            high = middle;
        }
    }
    low.midpoint(high)
}

/// Returns the quantile of Beta(1, b): no hits in `b` trials.
pub(super) fn first_power(b: f64, p: f64) -> f64 {
    -expm1(log1p(-p) / b)
}

/// Returns the quantile of Beta(a, 1): `a` hits in `a` trials.
pub(super) fn last_power(a: f64, p: f64) -> f64 {
    exp(log(p) / a)
}
