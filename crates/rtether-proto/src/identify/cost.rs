//! What a request and its answer cost in the device, and how much that varies.
//!
//! A round trip less the network's share is `fixed + request_octet a + answer_octet b + jitter`.
//! The slopes come from least squares, since the jitter does not depend on the sizes (minima, as of
//! pathchar, use one round trip in thirty). What is left has the fixed cost as its lower end. The
//! jitter is a sum of two, one for each direction; if both come down to zero, its distribution
//! begins as a square, whatever its shape. Then, of the smallest `k` residuals, the ratio
//! `(x1 - end) / (xk - end)` is the root of a minimum of `k - 1` uniform numbers, which gives end and
//! interval without any parameter of the jitter (Robson and Whitlock 1964 for a density, Cooke 1979).

use alloc::vec::Vec;

use super::figure::{Figure, HALF, Unidentified, count};
use super::line::{Line, Point};
use super::path::Path;
use super::quantile::{Quantile, of_sorted};
use super::volley::Observation;

/// Answers that an estimate needs.
const NEEDED: usize = 60;
/// The share of the residuals near their lower end, and the least number of them.
const NEAR_SHARE: usize = 12;
const NEAR_LEAST: usize = 8;
/// Residuals are outliers above the median by this many times what the median is above the 5 % quantile;
/// nothing with an exponential tail comes there.
const FAR: f64 = 8.0;

/// Costs of one request with its answer.
#[derive(Clone, Debug, PartialEq)]
pub struct Costs {
    /// Both directions together, independent of sizes, least: what is more is jitter.
    pub fixed: Result<Figure, Unidentified>,
    /// For each octet of the request.
    pub request_octet: Result<Figure, Unidentified>,
    /// For each octet of the answer.
    pub answer_octet: Result<Figure, Unidentified>,
    /// For each octet that both have more, if request and answer have one size.
    pub both_octets: Result<Figure, Unidentified>,
    /// Fixed cost with its jitter: quantiles, outliers included.
    pub quantiles: Vec<Quantile>,
    /// Mean of the jitter of both directions together, without outliers.
    pub jitter: Result<Figure, Unidentified>,
}

impl Costs {
    const fn unknown(why: Unidentified) -> Self {
        Self {
            fixed: Err(why),
            request_octet: Err(why),
            answer_octet: Err(why),
            both_octets: Err(why),
            quantiles: Vec::new(),
            jitter: Err(why),
        }
    }

    /// Estimates the costs from single requests.
    pub fn estimate(observations: &[Observation], path: &Path) -> Self {
        let points = points(observations, path);
        if points.len() < NEEDED {
            let answers = points.len();
            return Self::unknown(Unidentified::TooFew { answers, needed: NEEDED });
        }
        let Some(fit) = Fit::of(points) else { return Self::unknown(Unidentified::SizesFixed) };
        fit.costs()
    }
}

/// Rows of single requests: one, octets of the request, octets of the answer.
fn points(observations: &[Observation], path: &Path) -> Vec<Point> {
    let singles = observations.iter().filter_map(|own| Some((own.sizes(), own.single()?)));
    let rows = singles.map(|(sizes, (sent, answered))| Point {
        x: [1.0, octets(sizes.request.get()), octets(sizes.answer.get())],
        y: (answered - sent - path.of(sizes)).as_ns_f64(),
    });
    rows.collect()
}

#[allow(clippy::cast_precision_loss, reason = "frames are far below 2^52 octets")]
const fn octets(size: u64) -> f64 {
    size as f64
}

/// The line through all round trips, and what they have above its slopes.
struct Fit {
    line: Line,
    /// Whether request, answer, or both as one, were varied.
    varies: [bool; 3],
    /// Mean sizes.
    centre: [f64; 3],
    /// Variance of what the sizes of a request cost, over all of them: any may be at the lower end.
    lever: f64,
    /// The same of what they cost beside the mean sizes.
    tilt: f64,
    /// Above the slopes, at the mean sizes, in order; outliers are the last ones.
    residuals: Vec<f64>,
    /// Number of residuals that are no outliers.
    usual: usize,
}

impl Fit {
    fn of(mut points: Vec<Point>) -> Option<Self> {
        let varies = [1, 2].map(|column| {
            points.iter().any(|own| (own.x[column] - points[0].x[column]).abs() > 0.0)
        });
        let is_alike =
            varies == [true; 2] && points.iter().all(|own| (own.x[1] - own.x[2]).abs() < 0.5);
        for point in &mut points {
            // A constant size cannot be told from the fixed cost, one that is alike not from the other.
            for column in [1, 2] {
                if !varies[column - 1] || (is_alike && column == 2) {
                    point.x[column] = 0.0;
                }
            }
        }
        let mut kept = points.clone();
        let mut line = Line::fit(&kept)?;
        // Outliers would hide the slopes; they do not depend on sizes, so that none is preferred.
        for _ in 0..2 {
            let rest = sorted(kept.iter().map(|own| line.residual(own)));
            let middle = of_sorted(&rest, 0.5);
            let far = middle + FAR * (middle - of_sorted(&rest, 0.05)) + 1.0;
            kept.retain(|own| line.residual(own) <= far);
            line = Line::fit(&kept)?;
        }
        let centre = [0, 1, 2]
            .map(|column| kept.iter().map(|own| own.x[column]).sum::<f64>() / count(kept.len()));
        let levers = kept.iter().map(|own| line.variance(&[0.0, own.x[1], own.x[2]]));
        let lever = levers.sum::<f64>() / count(kept.len());
        let tilts = kept
            .iter()
            .map(|own| line.variance(&[0.0, own.x[1] - centre[1], own.x[2] - centre[2]]));
        let tilt = tilts.sum::<f64>() / count(kept.len());
        let level = line.slope.iter().zip(&centre).map(|(slope, x)| slope * x).sum::<f64>();
        let residuals = sorted(points.iter().map(|own| line.residual(own) + level));
        let varies = [varies[0] && !is_alike, varies[1] && !is_alike, is_alike];
        Some(Self { line, varies, centre, lever, tilt, residuals, usual: kept.len() })
    }

    fn costs(&self) -> Costs {
        // What the mean sizes cost, which the lower end contains.
        let sizes = self.centre[1] * self.line.slope[1] + self.centre[2] * self.line.slope[2];
        let spread = HALF * libm::sqrt(self.lever);
        // A quantile has all sizes about it, so that only their mean counts.
        let centre = self.line.variance(&[0.0, self.centre[1], self.centre[2]]);
        let end = self.lower_end();
        let below = libm::hypot(end.value - end.low, spread);
        let above = libm::hypot(end.high - end.value, spread);
        Costs {
            fixed: Ok(Figure::around(end.value - sizes, below, above)),
            request_octet: self.slope(1, self.varies[0]),
            answer_octet: self.slope(2, self.varies[1]),
            both_octets: self.slope(1, self.varies[2]),
            quantiles: Quantile::all(&self.residuals, sizes, HALF * libm::sqrt(centre)),
            jitter: Ok(self.jitter(&end)),
        }
    }

    /// Returns the mean above the lower end. It is as sure as that end, as the mean of as many
    /// residuals, and as the slopes, which move the one at the end and leave the mean where it is.
    fn jitter(&self, end: &End) -> Figure {
        let usual = &self.residuals[..self.usual];
        let mean = usual.iter().sum::<f64>() / count(usual.len());
        let squares = usual.iter().map(|own| (own - mean) * (own - mean)).sum::<f64>();
        let of_mean = squares / count(usual.len() - 1) / count(usual.len());
        let both = HALF * libm::sqrt(of_mean + self.tilt);
        // An end that is higher leaves less.
        let below = libm::hypot(end.high - end.value, both);
        let above = libm::hypot(end.value - end.low, both);
        Figure::around(mean - end.value, below, above)
    }

    fn slope(&self, column: usize, is_varied: bool) -> Result<Figure, Unidentified> {
        let half = HALF * libm::sqrt(self.line.covariance[column][column]);
        let figure = Figure::around(self.line.slope[column], half, half);
        if is_varied { Ok(figure) } else { Err(Unidentified::SizesFixed) }
    }

    /// Estimates where the residuals begin.
    fn lower_end(&self) -> End {
        let near = (self.residuals.len() / NEAR_SHARE).max(NEAR_LEAST);
        let (first, last) = (self.residuals[0], self.residuals[near - 1]);
        let [low, value, high] = [0.975, 0.5, 0.025].map(|share: f64| {
            // The quantile of the minimum of `near - 1` uniform numbers.
            let uniform = 1.0 - libm::pow(1.0 - share, 1.0 / count(near - 1));
            let root = libm::sqrt(uniform);
            first - (last - first) * root / (1.0 - root)
        });
        End { value, low, high }
    }
}

/// The lower end of a distribution with its interval, in nanoseconds.
struct End {
    value: f64,
    low: f64,
    high: f64,
}

fn sorted(values: impl Iterator<Item = f64>) -> Vec<f64> {
    let mut values: Vec<f64> = values.collect();
    values.sort_unstable_by(f64::total_cmp);
    values
}

#[cfg(test)]
mod tests {
    use super::super::figure::from_ns;
    use super::super::{Exchange, Sent, Volley};
    use super::*;
    use crate::smoother::random::Random;
    use rtether_model::quantity::{Bytes, Duration, Instant};

    const MEAN: Duration = Duration::from_us(10);

    /// Draws the jitter of one direction, of three shapes with one mean; the outliers of the third
    /// do not count as jitter.
    fn drawn(shape: u64, random: &mut Random) -> Duration {
        let even = Duration::from_ps(random.up_to(2 * MEAN.as_ps()));
        match shape {
            0 => even,
            1 => {
                // At most one, and not zero.
                let uniform = Duration::from_ps(1 + random.up_to(999_999)).as_us_f64();
                from_ns(-libm::log(uniform) * MEAN.as_ns_f64())
            }
            _ if random.up_to(99) == 0 => even + MEAN * (12 + random.up_to(8)),
            _ => even,
        }
    }

    /// Asks a device with 270 requests of nine sizes.
    fn asked(seed: u64) -> Vec<Observation> {
        let mut random = Random::new(seed);
        let sizes = [64, 791, 1_518].map(Bytes::new);
        let trips = (0..270).map(|number| {
            let (request, answer) = (sizes[number % 3], sizes[number / 3 % 3]);
            let octets = i64::try_from(request.get() * 40 + answer.get() * 10);
            let fixed = Duration::from_us(300) + Duration::from_ns(octets.unwrap());
            let jitter = drawn(seed % 3, &mut random) + drawn(seed % 3, &mut random);
            let sizes = Exchange { request, answer };
            let answered = Some(Instant::ZERO + fixed + jitter);
            let packets = alloc::vec![Sent { at: Instant::ZERO, answered, sizes }];
            Observation { volley: Volley::request(sizes, Duration::ZERO), packets }
        });
        trips.collect()
    }

    /// Oracle: the mean that was drawn from: of 95 % intervals, 92 to 98 in a hundred hold it.
    #[test]
    fn the_interval_of_the_jitter_covers_it() {
        let held = (0..600_u32).filter(|&seed| {
            let costs = Costs::estimate(&asked(seed.into()), &Path::default());
            costs.jitter.is_ok_and(|own| own.holds(MEAN * 2))
        });
        let held = held.count();
        assert!((600 * 92..=600 * 98).contains(&(held * 100)), "{held} of 600");
    }
}
