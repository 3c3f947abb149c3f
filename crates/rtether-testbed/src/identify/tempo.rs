//! Keeps requests apart that no prober counts: those that find out whether a device answers.

use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::sleep;
use std::time::{Duration, Instant};

/// Between two requests: eight in a second.
const GAP: Duration = Duration::from_millis(125);
/// Before a prober that counts its own requests only: then no second has both.
const REST: Duration = Duration::from_secs(1);
/// Until a stop is looked for.
const LOOK: Duration = Duration::from_millis(25);

/// When the latest request was sent.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Tempo {
    last: Option<Instant>,
}

impl Tempo {
    /// Waits until a request may be sent, which counts as sent then.
    pub(super) fn request(&mut self, stop: &AtomicBool) {
        self.wait(GAP, stop);
        self.last = Some(Instant::now());
    }

    /// Waits until a prober may begin.
    pub(super) fn rest(&mut self, stop: &AtomicBool) {
        self.wait(REST, stop);
    }

    /// Notes that a prober has ended.
    pub(super) fn ended(&mut self) {
        // A second later nothing of it counts any more.
        self.last = Some(Instant::now() + REST.saturating_sub(GAP));
    }

    fn wait(self, gap: Duration, stop: &AtomicBool) {
        let Some(last) = self.last else { return };
        while !stop.load(Ordering::Relaxed) {
            let left = (last + gap).saturating_duration_since(Instant::now());
            if left.is_zero() {
                return;
            }
            sleep(left.min(LOOK));
        }
    }
}
