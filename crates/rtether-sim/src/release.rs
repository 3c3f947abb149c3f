//! Release times for hosts that send real packets: those of the simulator's flows.

use rtether_model::flow::Flow;
use rtether_model::quantity::Instant;

use crate::agenda::NEVER;
use crate::source::Source;

/// When a flow releases its packets, counted from the start of the run.
///
/// The same flow and seed give the same times as in a [`crate::Simulation`]; only requests that
/// wait for answers depend on when these come.
pub struct Releases {
    source: Source,
}

impl Releases {
    /// Returns the times of one flow; a bulk flow has none.
    pub fn new(flow: &Flow, seed: u64) -> Self {
        Self {
            source: Source::new(flow, seed),
        }
    }

    /// Returns the first release; called once, before all others.
    pub fn first(&mut self) -> Option<Instant> {
        at(self.source.first())
    }

    /// Returns the release after the one that was due at `now`. For a request that waits for an
    /// answer it is the time at which it is given up.
    pub fn next(&mut self, now: Instant) -> Option<Instant> {
        at(self.source.next(now.as_ps()))
    }

    /// Returns the request that follows an answer at `now`.
    pub fn after_answer(&self, now: Instant) -> Option<Instant> {
        at(self.source.after_answer(now.as_ps()))
    }

    /// Returns whether requests wait for answers.
    pub fn is_adaptive(&self) -> bool {
        self.source.is_adaptive()
    }

    /// Returns the packets of each release.
    pub fn burst(&self) -> u32 {
        self.source.burst()
    }
}

fn at(ps: i64) -> Option<Instant> {
    (ps != NEVER).then(|| Instant::from_ps(ps))
}
