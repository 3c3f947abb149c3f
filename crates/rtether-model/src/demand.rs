//! Whether a port sends all frames by their local deadlines, the earliest first.
//!
//! Of a flow that releases work `C` every `P`, each release late by up to `J`, all of which has to
//! leave a time `d` after it came, a window of length `t` holds at most
//! `C (1 + floor((t - d + J) / P))` that came in it and is due in it, and nothing for `t < d`. With
//! at most one frame `B(t)` in front that is due later, every frame leaves in time if the sum over
//! all flows and `B(t)` are at most `t` for every `t` up to the longest busy period, and only those
//! `t` count where the sum grows (L. George, N. Rivierre, M. Spuri, INRIA RR-2966, 1996). With
//! `J = 0` and `B = 0` this is the link test of H. Hoang and M. Jonsson (2004).

use alloc::vec::Vec;

use crate::quantity::Duration;

/// What a flow asks of one port.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Demand {
    /// Shortest time between two releases on their grid.
    pub period: Duration,
    /// How late a release may come to the port.
    pub jitter: Duration,
    /// Time after which it has to have left the port.
    pub deadline: Duration,
    /// Time on the link of all frames of a release.
    pub work: Duration,
    /// Time of the longest one among them.
    pub frame: Duration,
}

/// What fills all time, in the parts that [`peak`] counts in.
pub const FULL: u64 = 1_000_000;
/// Largest number of times that are examined, and of steps to the busy period.
const STEPS_MAX: usize = 1 << 12;

/// Returns the largest share of a window up to the longest busy period that is asked for, in
/// millionths, rounded up; at most [`FULL`] if every frame leaves in time. `other` is the longest frame of flows without a deadline.
/// `None` if the port is overloaded or busy for too long to tell.
pub fn peak(demands: &[Demand], other: Duration) -> Option<u64> {
    let demands = demands.iter().map(Window::of).collect::<Option<Vec<Window>>>()?;
    let other = i128::from(other.as_ps());
    let end = busy_period(&demands, other)?;
    let mut times = Vec::new();
    for own in &demands {
        // The first that is later, however many periods long the jitter is.
        let first = own.jitter / own.period + 1;
        let later = (first..).map(|n| own.deadline - own.jitter + n * own.period);
        let own = core::iter::once(own.deadline).chain(later);
        let room = STEPS_MAX - times.len();
        let found = own.take_while(|&time| time <= end).take(room + 1);
        times.extend(found);
        if times.len() > STEPS_MAX {
            return None;
        }
    }
    times.sort_unstable();
    times.dedup();
    let shares = times.into_iter().map(|time| {
        let work: i128 = demands.iter().map(|own| own.due_in(time)).sum();
        let later = demands.iter().filter(|own| own.deadline > time);
        let in_front = later.map(|own| own.frame).max().unwrap_or(0).max(other);
        let asked = (work + in_front) * i128::from(FULL);
        u64::try_from((asked + time - 1) / time).unwrap_or(u64::MAX)
    });
    Some(shares.max().unwrap_or(0))
}

/// A demand in picoseconds.
struct Window {
    period: i128,
    jitter: i128,
    deadline: i128,
    work: i128,
    frame: i128,
}

impl Window {
    fn of(demand: &Demand) -> Option<Self> {
        let [period, jitter, deadline, work, frame] =
            [demand.period, demand.jitter, demand.deadline, demand.work, demand.frame]
                .map(|time| i128::from(time.as_ps()));
        let is_sound = period > 0 && deadline > 0 && jitter >= 0 && work >= 0 && frame >= 0;
        is_sound.then_some(Self { period, jitter, deadline, work, frame })
    }

    /// Returns the work that comes and is due in a window.
    const fn due_in(&self, time: i128) -> i128 {
        if time < self.deadline {
            return 0;
        }
        self.work * (1 + (time - self.deadline + self.jitter) / self.period)
    }
}

/// Longest busy period in picoseconds, a day.
const LONGEST: i128 = 86_400_000_000_000_000;

/// Returns the longest time for which the port is busy: the least in which what came at its
/// beginning or after it has left, behind the longest frame.
fn busy_period(demands: &[Window], other: i128) -> Option<i128> {
    let longest = demands.iter().map(|own| own.frame).max().unwrap_or(0);
    let before = other.max(longest);
    let mut length = before;
    for _ in 0..STEPS_MAX {
        let work = demands.iter().map(|own| {
            let releases = (length + own.jitter + own.period - 1) / own.period;
            own.work * releases.max(1)
        });
        let longer = before + work.sum::<i128>();
        if longer <= length {
            return Some(length);
        }
        if longer > LONGEST {
            return None;
        }
        length = longer;
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    fn demand([period, jitter, deadline, work]: [i64; 4]) -> Demand {
        let [period, jitter, deadline, work] =
            [period, jitter, deadline, work].map(Duration::from_us);
        Demand { period, jitter, deadline, work, frame: work }
    }

    fn peak_of(demands: &[[i64; 4]], other: i64) -> Option<u64> {
        let demands: Vec<Demand> = demands.iter().copied().map(demand).collect();
        peak(&demands, Duration::from_us(other))
    }

    /// Oracle: by hand.
    #[test]
    fn shares_by_hand() {
        assert_eq!(peak_of(&[], 5), Some(0));
        // 6 of 20 us each: 18 of 20; one more is too much.
        assert_eq!(peak_of(&[[100, 0, 20, 3]; 6], 0), Some(900_000));
        assert_eq!(peak_of(&[[100, 0, 20, 3]; 7], 0), Some(1_050_000));
        // A frame without a deadline may be in front, here of 2 us.
        assert_eq!(peak_of(&[[100, 0, 20, 3]; 6], 2), Some(FULL));
        // So may the longer of the other flow, for the urgent one: 1 + 3 of 4, and 4 of 10.
        assert_eq!(peak_of(&[[10, 0, 4, 1], [20, 0, 10, 3]], 0), Some(FULL));
        // Late by up to a period, two come at once: 2 of 3; else the port is idle before 3.
        assert_eq!(peak_of(&[[10, 10, 3, 1]], 0), Some(666_667));
        assert_eq!(peak_of(&[[10, 0, 2, 1]], 0), Some(FULL / 2));
        assert_eq!(peak_of(&[[10, 0, 3, 1]], 0), Some(0));
    }

    /// Oracle: by hand; a search over each period of the jitter would take hours.
    #[test]
    fn a_jitter_of_very_many_periods_takes_no_time() {
        // 864 * 10^9 releases of 1 ps each may come at once; the port is busy for 0.9 s.
        let demand = Demand {
            period: Duration::from_ps(100_000),
            jitter: Duration::from_secs(86_400),
            deadline: Duration::from_secs(2),
            work: Duration::from_ps(1),
            frame: Duration::from_ps(1),
        };
        assert!(peak(&[demand], Duration::ZERO).is_some_and(|peak| peak < FULL));
    }

    #[test]
    fn overload_has_no_peak() {
        assert_eq!(peak_of(&[[10, 0, 10, 6], [10, 0, 10, 6]], 0), None);
        assert_eq!(peak_of(&[[0, 0, 10, 6]], 0), None);
        assert_eq!(peak_of(&[[10, 0, 0, 6]], 0), None);
    }

    /// Oracle: schedules followed unit by unit. A set that passes never misses a deadline, however
    /// late its releases are; most of those that fail do, in one of the schedules tried.
    #[test]
    fn what_passes_leaves_in_time() {
        let mut seed = 11u64;
        let mut draw = |below: i64| {
            seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
            i64::try_from(seed >> 33).unwrap_or(0) % below
        };
        let (mut passed, mut missed, mut failed) = (0, 0, 0);
        for _ in 0..400 {
            let flows: Vec<[i64; 4]> =
                (0..3).map(|_| [9 + draw(8), draw(8), 2 + draw(12), 1 + draw(3)]).collect();
            let passes = peak_of(&flows, 0).is_some_and(|peak| peak <= FULL);
            let mut is_late = false;
            for _ in 0..40 {
                let mut frames = Vec::new();
                for [period, jitter, deadline, work] in &flows {
                    let phase = draw(*period);
                    for n in 0..4 {
                        let late = if n == 0 { *jitter } else { draw(jitter + 1) };
                        let at = phase + n * period + late;
                        frames.push((at, at + deadline, *work));
                    }
                }
                is_late |= misses(frames);
            }
            assert!(!(passes && is_late), "{flows:?}");
            passed += i32::from(passes);
            failed += i32::from(!passes);
            missed += i32::from(!passes && is_late);
        }
        assert!(passed > 60 && missed * 3 > failed, "{passed} {missed} {failed}");
    }

    /// Follows frames (arrival, due, work) and returns whether one of them leaves late.
    fn misses(mut waiting: Vec<(i64, i64, i64)>) -> bool {
        let mut now = 0;
        while !waiting.is_empty() {
            let here = waiting.iter().filter(|frame| frame.0 <= now);
            let Some(&next) = here.min_by_key(|frame| (frame.1, frame.0)) else {
                now = waiting.iter().map(|frame| frame.0).min().unwrap_or(now);
                continue;
            };
            let position = waiting.iter().position(|frame| *frame == next);
            waiting.remove(position.unwrap_or(0));
            now += next.2;
            if now > next.1 {
                return true;
            }
        }
        false
    }
}
