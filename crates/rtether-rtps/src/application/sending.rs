//! Send callbacks: calls at a period, which update and send.

use alloc::boxed::Box;

use super::slots::{Called, Filled, Source, Timer};
use super::{Context, PublicationHandle};
use crate::cdr::Data;
use crate::time::Duration;

/// Shortest period of a send callback.
const PERIOD_MIN: Duration = Duration::from_us(1);

impl Context<'_> {
    /// Makes a publication send periodically: now and after each period, of at least 1 us, `fill`
    /// is called to update the instance, and returns whether to send it.
    ///
    /// Missed periods are not made up for: of those that have passed when the host calls, all but
    /// the last are skipped and counted, and later ones keep their times.
    pub fn send_every<T, F>(
        &mut self,
        publication: &PublicationHandle<T>,
        period: Duration,
        instance: T,
        fill: F,
    ) where
        T: Data + Send + 'static,
        F: FnMut(&mut Context<'_>, &mut T) -> bool + Send + 'static,
    {
        self.set_timer(publication.number, period, Filled { instance, fill });
    }

    /// Calls `call` now and after each period, like [`Self::send_every`]; the callback sends for
    /// itself.
    pub fn call_every<T>(
        &mut self,
        publication: &PublicationHandle<T>,
        period: Duration,
        call: impl FnMut(&mut Context<'_>) + Send + 'static,
    ) {
        self.set_timer(publication.number, period, Called(call));
    }

    fn set_timer(&mut self, number: u32, period: Duration, source: impl Source + 'static) {
        if let Some(slot) = self.application.publications.get_mut(&number) {
            slot.timer = Some(Timer {
                period: period.max(PERIOD_MIN),
                due_at: self.now,
                source: Some(Box::new(source)),
            });
        }
    }

    /// Stops [`Self::send_every`] or [`Self::call_every`].
    pub fn send_no_more<T>(&mut self, publication: &PublicationHandle<T>) {
        let slot = self.application.publications.get_mut(&publication.number);
        if let Some(slot) = slot {
            slot.timer = None;
        }
    }
}
