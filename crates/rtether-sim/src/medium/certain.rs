//! Transmissions known to succeed before they end.

use rtether_model::quantity::Instant;

use super::{Medium, NEVER};

impl Medium {
    /// Returns the frame that a station is sending and when its last bit leaves, if at `now` no
    /// collision with it is possible any more; all events before `now` have been handled.
    ///
    /// By then all other stations have heard it, and a station that was in the part of the gap that
    /// ignores carrier (4.2.3.2.2) has either started or will defer. Always `None` on a segment
    /// that is too long.
    pub fn committed(&self, now: Instant, station: u32) -> Option<(u32, Instant)> {
        let mut all = self.sending.iter();
        let sending = all.find(|sending| sending.station == station)?;
        let state = &self.stations[station as usize];
        if state.detected != NEVER || !self.is_within_slot() {
            return None;
        }
        let heard = state.start + self.wire.diameter() + self.timing.gap;
        (now.as_ps() > heard).then(|| (state.frame, Instant::from_ps(sending.due)))
    }
}
