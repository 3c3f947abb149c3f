//! A port that is told when its frames are out, by the reports of an emulated hub.
//!
//! The port holds the frame that the hub works on and the next one, as a card fetches ahead: a
//! station that hands over its next frame only when it has been told loses the medium to others.

use std::collections::VecDeque;

use rtether_model::quantity::{Duration, Instant};

/// Frames that the port has at most.
const AHEAD: usize = 2;
/// A report that has not come by then is lost: sixteen attempts and the frames of many others.
const PATIENCE: Duration = Duration::from_secs(1);

/// A frame that the port has.
#[derive(Clone, Copy, Debug)]
struct Fetched {
    ring: u8,
    /// The device has it; if not, no report will come.
    is_sent: bool,
}

/// What the port has and what the hub has told.
#[derive(Clone, Debug, Default)]
pub(super) struct Hub {
    /// Oldest first, which is the one that has begun.
    fetched: VecDeque<Fetched>,
    has_begun: bool,
    /// Frames that the hub has completed so far, as it says.
    completed: Option<u64>,
    /// The oldest frame has begun, or another one was complete.
    heard_at: Option<Instant>,
    /// Reports that did not come.
    pub(super) missed: u64,
}

/// What follows for the engines.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Step {
    /// The oldest frame of this ring begins.
    Begin(u8),
    /// The frame that has begun is over, for the device did not take it.
    End,
}

impl Hub {
    /// Returns whether the port fetches another frame.
    pub(super) fn has_room(&self) -> bool {
        self.fetched.len() < AHEAD
    }

    /// The port has fetched a frame, and the device has taken it or not.
    pub(super) fn fetch(&mut self, ring: u8, is_sent: bool) {
        self.fetched.push_back(Fetched { ring, is_sent });
    }

    /// Returns what happens next without a report, until there is nothing more.
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

    /// The frame that has begun is complete; says whether there was one.
    pub(super) fn end(&mut self) -> bool {
        self.has_begun = false;
        self.fetched.pop_front().is_some()
    }

    /// Takes a report and returns how many frames are complete since the last one.
    pub(super) fn note(&mut self, completed: u64) -> u64 {
        // Frames that others have sent before are of no interest.
        let before = self.completed.unwrap_or(completed.wrapping_sub(1));
        self.completed = Some(completed);
        let new = completed.wrapping_sub(before);
        new.min(self.fetched.len() as u64)
    }

    /// Returns when a report is overdue.
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
        // The hub has carried frames before the shim was there.
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
