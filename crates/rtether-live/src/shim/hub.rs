//! A port that learns from the reports of an emulated hub when its frames are out.
//!
//! The port holds the frame that the hub is working on and the next one, as a network card
//! prefetches: a station that hands over its next frame only after the report loses the medium to
//! others.

use std::collections::VecDeque;

use rtether_model::quantity::{Duration, Instant};

/// Largest number of frames the port holds.
const AHEAD: usize = 2;
/// A report that has not come by then counts as lost; this allows for sixteen attempts and many
/// frames of other stations.
const PATIENCE: Duration = Duration::from_secs(1);

/// A frame held by the port.
#[derive(Clone, Copy, Debug)]
struct Fetched {
    ring: u8,
    /// The device took it; otherwise no report will come.
    is_sent: bool,
}

/// Frames held by the port, and state from the hub's reports.
#[derive(Clone, Debug, Default)]
pub(super) struct Hub {
    /// Oldest first; only the oldest can have begun.
    fetched: VecDeque<Fetched>,
    has_begun: bool,
    /// The hub's latest completion count.
    completed: Option<u64>,
    /// When the oldest frame began.
    heard_at: Option<Instant>,
    /// Reports that did not come.
    pub(super) missed: u64,
}

/// The next event for the engines.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Step {
    /// The oldest frame of this ring begins.
    Begin(u8),
    /// The frame that has begun is over, because the device did not take it.
    End,
}

impl Hub {
    /// Returns whether the port can take another frame.
    pub(super) fn has_room(&self) -> bool {
        self.fetched.len() < AHEAD
    }

    /// Adds a frame; `is_sent` is whether the device took it.
    pub(super) fn fetch(&mut self, ring: u8, is_sent: bool) {
        self.fetched.push_back(Fetched { ring, is_sent });
    }

    /// Returns the next event that needs no report; call until it returns `None`.
    pub(super) fn step(&mut self, now: Instant) -> Option<Step> {
        let Fetched { ring, is_sent } = *self.fetched.front()?;
        if !self.has_begun {
            self.has_begun = true;
            self.heard_at = Some(now);
            return Some(Step::Begin(ring));
        }
        if is_sent {
            return None;
        }
        self.end();
        Some(Step::End)
    }

    /// Ends the frame that has begun; returns whether there was one.
    pub(super) fn end(&mut self) -> bool {
        self.has_begun = false;
        self.fetched.pop_front().is_some()
    }

    /// Takes a report and returns how many frames have completed since the previous one.
    pub(super) fn note(&mut self, completed: u64) -> u64 {
        // The first report counts one completion: earlier ones predate the shim.
        let before = self.completed.unwrap_or(completed.wrapping_sub(1));
        self.completed = Some(completed);
        let new = completed.wrapping_sub(before);
        new.min(self.fetched.len() as u64)
    }

    /// Returns when the report of the current frame is overdue.
    pub(super) fn due(&self) -> Option<Instant> {
        let since = self.heard_at.filter(|_| self.has_begun)?;
        Some(since + PATIENCE)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(ms: i64) -> Instant {
        Instant::ZERO + Duration::from_ms(ms)
    }

    #[test]
    fn one_frame_begins_when_the_other_is_out() {
        let mut hub = Hub::default();
        assert_eq!(hub.step(at(0)), None);
        hub.fetch(1, true);
        assert_eq!(hub.step(at(0)), Some(Step::Begin(1)));
        assert!(hub.has_room());
        hub.fetch(0, true);
        assert!(!hub.has_room());
        assert_eq!(hub.step(at(1)), None);
        assert_eq!(hub.due(), Some(at(1_000)));
        // The hub carried frames before the shim was up.
        assert_eq!(hub.note(40), 1);
        assert!(hub.end());
        assert_eq!(hub.step(at(2)), Some(Step::Begin(0)));
        assert_eq!(hub.due(), Some(at(1_002)));
        assert_eq!(hub.note(40), 0, "a report of a collision");
        assert_eq!(hub.note(41), 1);
        assert!(hub.end() && !hub.end());
        assert_eq!((hub.step(at(3)), hub.due()), (None, None));
        assert_eq!(hub.note(42), 0, "a frame that passed by");
    }

    #[test]
    fn reports_that_are_lost_are_made_up_for() {
        let mut hub = Hub::default();
        hub.note(7);
        hub.fetch(0, true);
        hub.fetch(0, true);
        assert_eq!(hub.note(9), 2);
    }

    #[test]
    fn frames_that_were_not_sent_end_in_their_turn() {
        let mut hub = Hub::default();
        hub.fetch(0, true);
        hub.fetch(1, false);
        assert_eq!(hub.step(at(0)), Some(Step::Begin(0)));
        assert_eq!(hub.step(at(0)), None);
        assert!(hub.end());
        assert_eq!(hub.step(at(1)), Some(Step::Begin(1)));
        assert_eq!(hub.step(at(1)), Some(Step::End));
        assert_eq!(hub.step(at(1)), None);
        assert!(hub.has_room());
    }
}
