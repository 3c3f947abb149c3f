//! How long the application of a listener takes to answer.

use rtether_model::flow::{Phase, Reply};
use rtether_model::quantity::{Duration, Instant};

use crate::random::{Draw, Purpose};

/// When an application answers requests: a time after each, or at the first scan after that.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Thinking {
    after: Duration,
    scan: Option<Grid>,
}

/// The times of scans.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Grid {
    period: Duration,
    phase: Duration,
}

impl Thinking {
    /// Draws the phase of the scans of a listener, if they have none. A device has one scan: its flows
    /// with the same period share it.
    pub fn new(reply: &Reply, listener: &str, seed: u64) -> Self {
        let scan = reply.scan.map(|scan| Grid {
            period: scan.period,
            phase: match scan.phase {
                Phase::Fixed(phase) => phase,
                Phase::Random => {
                    let mut draw = Draw::new(seed, listener, Purpose::Scan);
                    Duration::from_ps(draw.up_to(scan.period.as_ps() - 1))
                }
            },
        });
        Self { after: reply.after, scan }
    }

    /// Creates one that takes this time after each request.
    pub const fn after(time: Duration) -> Self {
        Self { after: time, scan: None }
    }

    /// Returns whether it takes no time.
    pub const fn is_nothing(&self) -> bool {
        self.after.as_ps() == 0 && self.scan.is_none()
    }

    /// Returns how long it takes to answer a request that arrives now.
    pub fn takes(&self, now: Instant) -> Duration {
        let Some(Grid { period, phase }) = self.scan else {
            return self.after;
        };
        let ready = now + self.after;
        let beyond = (ready.as_ps() - phase.as_ps()).rem_euclid(period.as_ps());
        let wait = if beyond == 0 { 0 } else { period.as_ps() - beyond };
        self.after + Duration::from_ps(wait)
    }
}

#[cfg(test)]
mod tests {
    use rtether_model::flow::Scan;
    use rtether_model::quantity::Bytes;

    use super::*;

    fn thinking(phase: Phase, seed: u64) -> Thinking {
        let scan = Some(Scan { period: Duration::from_ms(10), phase });
        let reply = Reply { payload: Bytes::new(60), after: Duration::from_ms(1), scan };
        Thinking::new(&reply, "plc", seed)
    }

    /// Oracle: by hand. Scans are at 2, 12, 22 ms.
    #[test]
    fn an_answer_leaves_at_the_first_scan_after_its_time() {
        let own = thinking(Phase::Fixed(Duration::from_ms(2)), 1);
        for (arrives, leaves) in [(0, 2), (1, 2), (2, 12), (11, 12), (12, 22), (21, 22)] {
            let now = Instant::ZERO + Duration::from_ms(arrives);
            assert_eq!(
                now + own.takes(now),
                Instant::ZERO + Duration::from_ms(leaves),
                "{arrives}"
            );
        }
    }

    /// Oracle: the definition: at most `after` and a period, and at a multiple of the period apart.
    #[test]
    fn drawn_phases_differ_by_seed_and_keep_the_grid() {
        let all = [0, 1, 2, 3, 4, 5, 6, 7, 8, 9].map(|seed| thinking(Phase::Random, seed));
        assert!(all.iter().any(|own| own != &all[0]));
        for own in all {
            let [one, other] = [3, 57].map(|ms| {
                let now = Instant::ZERO + Duration::from_ms(ms);
                let takes = own.takes(now);
                assert!(Duration::from_ms(1) <= takes && takes < Duration::from_ms(11));
                (now + takes).as_ps()
            });
            assert_eq!((one - other).rem_euclid(10_000_000_000), 0);
        }
    }
}
