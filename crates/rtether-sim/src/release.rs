//! Release times of the simulator's flows, for hosts that send real packets.

use rtether_model::flow::Flow;
use rtether_model::quantity::Instant;

use crate::agenda::NEVER;
use crate::source::Source;

/// Release times of a flow, counted from the start of the run.
///
/// The same flow and seed give the same times as in a [`crate::Simulation`]; only adaptive requests
/// depend on when their answers arrive.
pub struct Releases {
    source: Source,
}

impl Releases {
    /// Returns the release times of a flow; a bulk flow has none.
    pub fn new(flow: &Flow, seed: u64) -> Self {
        Self { source: Source::new(flow, seed) }
    }

    /// Returns the first release; called once, before all others.
    pub fn first(&mut self) -> Option<Instant> {
        at(self.source.first())
    }

    /// Returns the release after the one due at `now`. For an adaptive request this is the time at
    /// which it is given up.
    pub fn next(&mut self, now: Instant) -> Option<Instant> {
        at(self.source.next(now.as_ps()))
    }

    /// Returns the release that follows an answer at `now`.
    pub fn after_answer(&self, now: Instant) -> Option<Instant> {
        at(self.source.after_answer(now.as_ps()))
    }

    /// Returns whether requests wait for answers.
    pub fn is_adaptive(&self) -> bool {
        self.source.is_adaptive()
    }

    /// Returns the number of packets per release.
    pub fn burst(&self) -> u32 {
        self.source.burst()
    }
}

fn at(ps: i64) -> Option<Instant> {
    (ps != NEVER).then(|| Instant::from_ps(ps))
}
