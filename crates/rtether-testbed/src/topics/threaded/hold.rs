//! What publishers and subscribers have of their participant, until they are closed.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration as WallDuration, Instant as WallInstant};

use super::Failure;
use super::shared::{Endpoint, Shared, Turn};

/// A participant, as one of its endpoints has it.
pub(super) struct Hold {
    shared: Arc<Shared>,
    is_closed: AtomicBool,
}

impl Hold {
    pub(super) fn new(shared: Arc<Shared>) -> Self {
        Self { shared, is_closed: AtomicBool::new(false) }
    }

    /// Takes a turn.
    ///
    /// # Errors
    /// The endpoint or its participant is closed.
    pub(super) fn turn(&self) -> Result<Turn<'_>, Failure> {
        if self.is_closed.load(Ordering::Relaxed) {
            return Err(Failure::Closed);
        }
        self.shared.turn()
    }

    /// Waits until `look` finds something, but not longer than `patience`.
    ///
    /// # Errors
    /// It is closed, before or meanwhile, or those of `look`.
    pub(super) fn wait<T>(
        &self,
        patience: WallDuration,
        mut look: impl FnMut(&mut Turn<'_>) -> Result<Option<T>, Failure>,
    ) -> Result<Option<T>, Failure> {
        let until = WallInstant::now() + patience;
        let bell = self.shared.bell();
        loop {
            let mut turn = self.turn()?;
            // What comes later rings again.
            let rings = bell.rings();
            let found = look(&mut turn)?;
            drop(turn);
            if found.is_some() || !bell.wait(rings, until) {
                return Ok(found);
            }
        }
    }

    /// Notes that the endpoint is closed, and ends its waits; returns whether it was open.
    pub(super) fn end(&self) -> bool {
        let was_open = !self.is_closed.swap(true, Ordering::Relaxed);
        if was_open {
            self.shared.bell().ring();
        }
        was_open
    }

    /// Deletes the endpoint, unless the participant is closed.
    pub(super) fn delete(&self, own: Endpoint) {
        let Ok(mut turn) = self.shared.turn() else {
            return;
        };
        if let Ok(domain) = turn.domain() {
            let (now, participant) = (domain.now(), domain.participant_mut());
            match own {
                Endpoint::Writer(writer) => participant.delete_writer(now, writer),
                Endpoint::Reader(reader) => participant.delete_reader(now, reader),
            }
        }
        turn.forget(own);
    }
}
