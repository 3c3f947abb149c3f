//! Waits of the frames of one flow for its gap (`rtether_proto::mechanism::gap`).
//!
//! **Theorem.** Let frames come to a place with the gap `g` at `a_1 <= a_2 <= ...`, and leave at
//! `d_n = max(a_n, d_(n-1) + g)`.
//! (1) Let a closed window of length `t` hold at most `b (floor((t + j) / p) + 1)` of them. If
//! `b g <= p`, none waits longer than the longer of `(k b - 1) g` and
//! `((k + 1) b - 1) g - (k p - j)` with `k = floor(j / p) + 1`.
//! (2) A closed window of length `t` behind it holds at most `floor(t / g) + 1` of them,
//! whatever came.
//! *Proof.* (2) Frames leave at least `g` apart. (1) Frame `n` leaves at the largest `a_i + (n - i) g`
//! with `i <= n`, and waits for the largest `(n - i) g - (a_n - a_i)`. The `m = n - i + 1` frames from
//! `i` to `n` came in a closed window of length `a_n - a_i`, which is at least `(r - 1) p - j` with
//! `r = ceil(m / b)` points of the grid, and not negative. For one `r` the wait grows with `m` up to
//! `m = r b`: it is at most `(r b - 1) g - max(0, (r - 1) p - j)`. While `(r - 1) p <= j`, up to
//! `r = k`, this grows with `r`; behind, each further point adds `b g - p <= 0`. So the largest is that
//! of `k` or of `k + 1`. QED
//!
//! The output is a limit on the flow ([`crate::output_limit`]) in place of its releases: the jitter
//! from before is gone.

use super::port::{Port, Waits};
use crate::curve::{JITTER_MAX, Load};
use crate::source::{INFINITE, add, times};
use crate::wait::{Unbounded, millionths};

/// Returns the waits of the frames of a queue, whose cost is the gap.
pub(super) fn waits(port: &Port<'_>, queue: u8) -> Waits {
    let own = port.of(|other| other == queue);
    own.iter().map(wait).collect()
}

fn wait(load: &Load) -> Result<i64, Unbounded> {
    // The limit of a processor on a flow without releases of its own is far above any gap.
    if load.jitter >= JITTER_MAX || load.is_of_limit {
        return Err(Unbounded::Visit(load.visit));
    }
    let (gap, period, burst) = (load.cost, load.period, load.burst);
    if times(gap, burst) > period {
        return Err(Unbounded::Overload(millionths(load.rate())));
    }
    let points = load.jitter / period + 1;
    let held = |points: i64| times(gap, times(burst, points).saturating_sub(1));
    let later = held(points + 1) - (times(period, points) - load.jitter);
    Ok(add(held(points).max(later), 0).min(INFINITE))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Returns the longest wait of frames that come as early and as densely as they may.
    fn densest(load: &Load) -> i64 {
        let (mut longest, mut next) = (0, i64::MIN);
        for frame in 0..(40 + load.jitter / load.period) * load.burst {
            let point = frame / load.burst;
            let come = (point * load.period - load.jitter).max(0);
            let leaves = next.max(come);
            longest = longest.max(leaves - come);
            next = leaves + load.cost;
        }
        longest
    }

    fn load(gap: i64, [period, burst, jitter]: [i64; 3]) -> Load {
        Load { burst, jitter, ..Load::periodic(gap, period) }
    }

    /// Oracle: by hand. A gap of a whole period: as much wait as jitter. Three at once, a gap of 200
    /// of 1000: two gaps. Jitter of 1500: six of them at once, then three 500 later.
    #[test]
    fn waits_by_hand() {
        assert_eq!(wait(&load(1_000, [1_000, 1, 0])), Ok(0));
        assert_eq!(wait(&load(1_000, [1_000, 1, 3_000])), Ok(3_000));
        assert_eq!(wait(&load(1_000, [1_000, 1, 2_500])), Ok(2_500));
        assert_eq!(wait(&load(200, [1_000, 3, 0])), Ok(400));
        assert_eq!(wait(&load(200, [1_000, 3, 1_500])), Ok(1_100));
        assert_eq!(wait(&load(333, [1_000, 3, 1_500])), Ok(8 * 333 - 500));
        // Rates are rounded up.
        let too_fast = wait(&load(334, [1_000, 3, 0]));
        assert_eq!(too_fast, Err(Unbounded::Overload(1_002_001)));
    }

    /// Oracle: the recursion itself on the densest arrivals, which attain the bound.
    #[test]
    fn no_arrivals_wait_longer_than_the_densest() {
        for gap in [1, 7, 50, 99, 100] {
            for burst in 1..5 {
                for jitter in [0, 1, 49, 100, 101, 250, 999] {
                    for period in [gap * burst, gap * burst + 3, 700] {
                        let load = load(gap, [period, burst, jitter]);
                        if gap * burst <= period {
                            assert_eq!(wait(&load), Ok(densest(&load)), "{load:?}");
                        }
                    }
                }
            }
        }
    }
}
