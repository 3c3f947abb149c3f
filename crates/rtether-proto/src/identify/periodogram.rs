//! How well times fit a comb of some frequency.
//!
//! Times are cut into windows, in each of which the comb may have a phase of its own: the clock of the
//! device drifts, and a window has a peak wide enough for a grid of frequencies to meet.

use alloc::vec::Vec;

use super::figure::count;

/// Steps of the grid within the width of a peak.
const STEPS: f64 = 6.0;

/// Frequencies to try, in hertz.
#[derive(Clone, Copy, Debug)]
pub(super) struct Grid {
    pub from: f64,
    pub step: f64,
    pub steps: usize,
}

impl Grid {
    /// Returns a grid that is fine enough for windows of this many seconds.
    pub(super) fn new(from: f64, to: f64, window: f64) -> Self {
        let step = 1.0 / (STEPS * window);
        let places = 0..usize::MAX;
        let steps = places.take_while(|&place| from + step * count(place) <= to).count().max(1);
        Self { from, step, steps }
    }

    pub(super) fn at(&self, place: usize) -> f64 {
        self.from + self.step * count(place)
    }
}

/// Returns for each frequency the mean over all windows of `|sum exp(i 2 pi f t)|^2 / n`, with `n` times
/// in a window: about one if there is no comb, and `n` if all times are on it. Times are in seconds and
/// in order; windows begin at the first one.
pub(super) fn power(times: &[f64], window: f64, grid: Grid) -> Vec<f64> {
    let mut total = alloc::vec![0.0; grid.steps];
    let mut windows = 0;
    let start = times.first().copied().unwrap_or(0.0);
    for own in times.chunk_by(|a, b| same_window(a - start, b - start, window)) {
        windows += 1;
        // Turning each by one step of the grid at a time needs no further sines.
        let mut turned: Vec<[f64; 4]> = own
            .iter()
            .map(|time| {
                let (sine, cosine) = turn(time * grid.from);
                let (step_sine, step_cosine) = turn(time * grid.step);
                [cosine, sine, step_cosine, step_sine]
            })
            .collect();
        let share = 1.0 / count(own.len());
        for total in &mut total {
            let (mut real, mut imaginary) = (0.0, 0.0);
            for [cosine, sine, step_cosine, step_sine] in &mut turned {
                real += *cosine;
                imaginary += *sine;
                let next = *cosine * *step_cosine - *sine * *step_sine;
                *sine = *cosine * *step_sine + *sine * *step_cosine;
                *cosine = next;
            }
            *total += (real * real + imaginary * imaginary) * share;
        }
    }
    for total in &mut total {
        *total /= f64::from(windows.max(1));
    }
    total
}

/// Returns sine and cosine of a number of turns.
pub(super) fn turn(turns: f64) -> (f64, f64) {
    libm::sincos((turns - libm::floor(turns)) * core::f64::consts::TAU)
}

fn same_window(a: f64, b: f64, window: f64) -> bool {
    (libm::floor(a / window) - libm::floor(b / window)).abs() < 0.5
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Oracle: the definition. Ten times on a comb of 100 Hz have the power 10 at 100 and 200 Hz.
    #[test]
    fn a_comb_has_power_at_its_frequency_and_multiples() {
        let times = [0.0, 0.13, 0.17, 0.3, 0.31, 0.5, 0.58, 0.71, 0.83, 0.9];
        for frequency in [100.0, 200.0] {
            let grid = Grid { from: frequency - 5.0, step: 0.5, steps: 20 };
            let power = power(&times, 1.0, grid);
            assert!((power[10] - 10.0).abs() < 1e-6, "{power:?}");
            assert!(power[0] < 5.0 && power[19] < 5.0);
        }
        assert_eq!(Grid::new(0.0, 1.0, 1.0).steps, 7);
    }
}
