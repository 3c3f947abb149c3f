//! What other threads say to a shim that runs, and hear from it.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use super::{Settings, ShimError, Status};

/// A shim that runs in some other thread.
#[derive(Clone, Debug)]
pub struct Handle {
    shared: Arc<Shared>,
    /// What the back end does not refuse.
    check: fn(&Settings, &Settings) -> Result<(), ShimError>,
}

#[derive(Debug)]
struct Shared {
    stop: AtomicBool,
    status: Mutex<Status>,
    published: AtomicU64,
    is_set: AtomicBool,
    /// Those in force, or that will be at once.
    settings: Mutex<Settings>,
}

impl Handle {
    /// Returns what is shared with a shim of these settings; `check` looks at old and new ones.
    pub(super) fn new(
        settings: Settings,
        status: Status,
        check: fn(&Settings, &Settings) -> Result<(), ShimError>,
    ) -> Self {
        let shared = Arc::new(Shared {
            stop: AtomicBool::new(false),
            status: Mutex::new(status),
            published: AtomicU64::new(0),
            is_set: AtomicBool::new(false),
            settings: Mutex::new(settings),
        });
        Self { shared, check }
    }

    /// Returns the status, which is at most about 100 ms old while the shim runs.
    pub fn status(&self) -> Status {
        let status = self.shared.status.lock();
        status.unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Returns how often the status was published: a number that no longer grows tells of a thread
    /// that no longer goes on.
    pub fn published(&self) -> u64 {
        self.shared.published.load(Ordering::Relaxed)
    }

    /// Changes the settings while the shim runs, without the loss of a frame; they are in force some
    /// milliseconds later.
    ///
    /// # Errors
    /// If they make no sense, or cannot be changed while it runs. Then the old ones stay.
    pub fn set(&self, settings: Settings) -> Result<(), ShimError> {
        let present = self.shared.settings.lock();
        let mut present = present.unwrap_or_else(PoisonError::into_inner);
        (self.check)(&present, &settings)?;
        *present = settings;
        self.shared.is_set.store(true, Ordering::Release);
        Ok(())
    }

    /// Ends the run in some milliseconds.
    pub fn stop(&self) {
        self.shared.stop.store(true, Ordering::Release);
    }

    pub(super) fn is_stopped(&self) -> bool {
        self.shared.stop.load(Ordering::Acquire)
    }

    pub(super) fn publish(&self, status: Status) {
        let shared = self.shared.status.lock();
        *shared.unwrap_or_else(PoisonError::into_inner) = status;
        self.shared.published.fetch_add(1, Ordering::Relaxed);
    }

    /// Returns settings that are new since the last call.
    pub(super) fn poll_settings(&self) -> Option<Settings> {
        if !self.shared.is_set.swap(false, Ordering::Acquire) {
            return None;
        }
        let settings = self.shared.settings.lock();
        Some(settings.unwrap_or_else(PoisonError::into_inner).clone())
    }
}
