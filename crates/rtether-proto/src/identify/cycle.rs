//! The scan cycle of a device, from the times of its answers.
//!
//! A controller that answers at its scan has answers on a comb, and requests at random times do not.
//! The score of a frequency is the power of the answers less that of the requests, so that the
//! timetable of the prober makes no peak. What chance gives is found by giving round trips to other
//! requests: timetable and distribution stay, only the comb goes. Harmonics score as high as the
//! fundamental; below it, no comb does.

use alloc::vec::Vec;

use rtether_model::quantity::Duration;

use super::agenda::shuffle;
use super::figure::{Figure, HALF, Unidentified, count, from_ns};
use super::line::{Line, Point};
use super::periodogram::{Grid, power, turn};
use super::volley::Observation;
use crate::smoother::random::Random;

/// Answers that an estimate needs.
const NEEDED: usize = 60;
/// Frequencies looked for, in hertz; the shortest cycle is 100 us.
const LOWEST: f64 = 5.0;
const HIGHEST: f64 = 10_000.0;
/// Length of the first windows in seconds.
const WINDOW: f64 = 1.0;
/// Times that round trips are given to other requests.
const SHUFFLES: usize = 8;
/// Standard deviations of the largest scores of chance by which a cycle is above their mean: of largest
/// values (Gumbel), fewer than one in five hundred are.
const CLEAR: f64 = 5.0;
/// A comb at the fundamental scores at least this share of the best harmonic.
const FUNDAMENTAL: f64 = 0.6;
/// Length of the resultant of all answers under which their phases are no longer those of one comb.
const IN_STEP: f64 = 0.3;

/// A scan cycle.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Cycle {
    /// Time from scan to scan, by the clock of the prober.
    pub period: Figure,
    /// Standard deviation of the answers about the comb: jitter of scan, stack and network.
    pub jitter: Duration,
}

impl Cycle {
    /// Estimates the cycle from single requests at random times.
    ///
    /// # Errors
    /// Why there is none or it is not known.
    pub fn estimate(observations: &[Observation]) -> Result<Self, Unidentified> {
        let Times { requests, answers } = Times::of(observations);
        if answers.len() < NEEDED {
            return Err(Unidentified::TooFew { answers: answers.len(), needed: NEEDED });
        }
        let grid = Grid::new(LOWEST, HIGHEST, WINDOW);
        let timetable = power(&requests, WINDOW, grid);
        let score = above(&power(&answers, WINDOW, grid), &timetable);
        let peak = largest(&score);
        if peak < threshold(&requests, &answers, &timetable, grid) {
            return Err(Unidentified::NoCycle);
        }
        let Some(first) = score.iter().position(|own| *own >= peak * FUNDAMENTAL) else {
            return Err(Unidentified::NoCycle);
        };
        // The top of the first peak that is high enough, half its width away at most.
        let top =
            (first..score.len().min(first + 6)).max_by(|a, b| score[*a].total_cmp(&score[*b]));
        refine(&answers, grid.at(top.unwrap_or(first)))
    }
}

/// Times of requests and of their answers, in seconds from the first request.
struct Times {
    requests: Vec<f64>,
    answers: Vec<f64>,
}

impl Times {
    fn of(observations: &[Observation]) -> Self {
        let singles: Vec<_> = observations.iter().filter_map(Observation::single).collect();
        let start = singles.first().map(|(sent, _)| *sent);
        let both = singles.iter().filter_map(|&(sent, answered)| {
            let start = start?;
            Some(((sent - start).as_secs_f64(), (answered - start).as_secs_f64()))
        });
        let (requests, answers) = both.unzip();
        Self { requests, answers }
    }
}

fn above(power: &[f64], timetable: &[f64]) -> Vec<f64> {
    power.iter().zip(timetable).map(|(power, own)| power - own).collect()
}

fn largest(scores: &[f64]) -> f64 {
    scores.iter().copied().fold(0.0, f64::max)
}

/// Returns the score that chance does not reach.
fn threshold(requests: &[f64], answers: &[f64], timetable: &[f64], grid: Grid) -> f64 {
    let mut random = Random::new(answers.len() as u64);
    let mut trips: Vec<f64> = answers.iter().zip(requests).map(|(to, from)| to - from).collect();
    let chance = [(); SHUFFLES].map(|()| {
        shuffle(&mut trips, &mut random);
        let answers: Vec<f64> = trips.iter().zip(requests).map(|(trip, at)| at + trip).collect();
        largest(&above(&power(&answers, WINDOW, grid), timetable))
    });
    let mean = chance.iter().sum::<f64>() / count(SHUFFLES);
    let squares = chance.iter().map(|own| (own - mean) * (own - mean)).sum::<f64>();
    mean + CLEAR * libm::sqrt(squares / count(SHUFFLES - 1))
}

/// Follows a frequency with windows that grow to the whole run, and then counts scans.
fn refine(answers: &[f64], frequency: f64) -> Result<Cycle, Unidentified> {
    let whole = answers.last().copied().unwrap_or(0.0) - answers[0];
    let (mut frequency, mut window) = (frequency, WINDOW);
    while window < whole {
        let wide = 1.0 / window;
        window *= 2.0;
        let grid = Grid::new(frequency - wide, frequency + wide, window);
        let power = power(answers, window, grid);
        let best = (0..power.len()).max_by(|a, b| power[*a].total_cmp(&power[*b]));
        frequency = grid.at(best.unwrap_or(0));
    }
    // Twice: the first line puts answers at the edge to the right scan.
    let mut own = Comb::of(answers, frequency)?;
    for _ in 0..2 {
        own = Comb::of(answers, 1.0 / own.period)?;
    }
    let half = HALF * own.deviation * 1e9;
    let jitter = from_ns(own.jitter * 1e9);
    Ok(Cycle { period: Figure::around(own.period * 1e9, half, half), jitter })
}

/// The line of answers over the numbers of their scans, in seconds.
struct Comb {
    period: f64,
    /// Standard deviation of the period's estimate.
    deviation: f64,
    jitter: f64,
}

impl Comb {
    fn of(answers: &[f64], frequency: f64) -> Result<Self, Unidentified> {
        let turns: Vec<(f64, f64)> = answers.iter().map(|time| turn(time * frequency)).collect();
        let sine = turns.iter().map(|(sine, _)| sine).sum::<f64>();
        let cosine = turns.iter().map(|(_, cosine)| cosine).sum::<f64>();
        if libm::hypot(sine, cosine) < IN_STEP * count(answers.len()) {
            return Err(Unidentified::CycleVaries);
        }
        let phase = libm::atan2(sine, cosine) / core::f64::consts::TAU;
        // Numbers from the middle of the run keep the columns of the fit apart.
        let middle = answers[answers.len() / 2];
        let points: Vec<Point> = answers
            .iter()
            .map(|time| {
                let scan = libm::round(time * frequency - phase) - libm::round(middle * frequency);
                Point { x: [1.0, scan, 0.0], y: time - middle }
            })
            .collect();
        let line = Line::fit(&points).ok_or(Unidentified::NoCycle)?;
        let squares: f64 = points.iter().map(|own| line.residual(own)).map(|own| own * own).sum();
        Ok(Self {
            period: line.slope[1],
            deviation: libm::sqrt(line.covariance[1][1]),
            jitter: libm::sqrt(squares / count(points.len())),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::identify::{Exchange, Sent, Volley};
    use rtether_model::quantity::{Bytes, Instant};

    /// Requests at random times, answered at the next multiple of a period (none if it is zero) with
    /// jitter after it.
    fn answered(number: usize, period: Duration, jitter: Duration, seed: u64) -> Vec<Observation> {
        let mut random = Random::new(seed);
        let mut at = Instant::ZERO;
        let exchange = Exchange { request: Bytes::new(64), answer: Bytes::new(64) };
        let all = (0..number).map(|_| {
            at += Duration::from_ms(62) + Duration::from_ps(random.up_to(125_000_000_000));
            let ready = (at + Duration::from_us(100)).as_ps();
            let late = Duration::from_ps(random.up_to(jitter.as_ps()));
            let wait =
                if period == Duration::ZERO { 0 } else { (-ready).rem_euclid(period.as_ps()) };
            let answered = Some(Instant::from_ps(ready + wait) + late);
            let volley = Volley::request(exchange, Duration::ZERO);
            Observation { volley, packets: alloc::vec![Sent { at, answered, sizes: volley.sizes }] }
        });
        all.collect()
    }

    /// Oracle: the comb that the answers are on.
    #[test]
    fn a_comb_is_found_and_nothing_else() {
        for (seed, us) in [(1, 10_000), (2, 2_500), (3, 777)] {
            let period = Duration::from_us(us);
            let seen = answered(120, period, period / 20, seed);
            let Cycle { period: found, jitter } = Cycle::estimate(&seen).unwrap();
            assert!((found.value - period).as_ps().abs() < period.as_ps() / 10_000, "{found:?}");
            // A uniform jitter has a root of twelve to its standard deviation.
            let expected = period.as_us_f64() / 20.0 / 12_f64.sqrt();
            assert!((jitter.as_us_f64() / expected - 1.0).abs() < 0.2, "{jitter}");
        }
        for seed in 0..3 {
            let plain = answered(120, Duration::ZERO, Duration::from_us(300), seed);
            assert_eq!(Cycle::estimate(&plain), Err(Unidentified::NoCycle));
        }
        let few = answered(59, Duration::from_ms(1), Duration::ZERO, 1);
        let too_few = Unidentified::TooFew { answers: 59, needed: 60 };
        assert_eq!(Cycle::estimate(&few), Err(too_few));
    }
}
