//! What is certain before it happens.

use rtether_model::quantity::Instant;

use super::{Medium, NEVER, Phase};

impl Medium {
    /// Returns the frame that a station sends and when its last bit leaves, if it is certain at `now`
    /// that nothing will collide with it; what is due before `now` has been handled.
    ///
    /// All others have heard it then, and who was in a gap, in which carrier is not looked at
    /// (4.2.3.2.2), has begun or will not. Always `None` on a segment that is too long.
    pub fn committed(&self, now: Instant, station: u32) -> Option<(u32, Instant)> {
        let index = station as usize;
        let state = &self.stations[index];
        if state.phase != Phase::Sending || state.detected != NEVER || !self.is_within_slot() {
            return None;
        }
        let heard = state.start + self.wire.diameter() + self.timing.gap;
        (now.as_ps() > heard).then(|| (state.frame, Instant::from_ps(self.due[index])))
    }
}
