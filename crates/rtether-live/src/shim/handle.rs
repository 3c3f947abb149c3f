//! Control of a running shim from other threads.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use super::{Settings, ShimError, Status};

/// Handle to a shim that runs in another thread.
#[derive(Clone, Debug)]
pub struct Handle {
    shared: Arc<Shared>,
    /// Check of a change from old to new settings by the back end.
    check: fn(&Settings, &Settings) -> Result<(), ShimError>,
}

#[derive(Debug)]
struct Shared {
    stop: AtomicBool,
    status: Mutex<Status>,
    published: AtomicU64,
    is_set: AtomicBool,
    /// The settings in force, or about to be applied.
    settings: Mutex<Settings>,
}

impl Handle {
    /// Creates the state shared with a shim; `check` compares old and new settings.
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

    /// Returns how often the status has been published; if the number stops growing, the shim's
    /// thread is stuck.
    pub fn published(&self) -> u64 {
        self.shared.published.load(Ordering::Relaxed)
    }

    /// Changes the settings while the shim runs, without losing a frame. They take effect within
    /// milliseconds.
    ///
    /// # Errors
    /// If the settings are invalid or cannot be changed while the shim runs; the old ones then
    /// stay.
    pub fn set(&self, settings: Settings) -> Result<(), ShimError> {
        let present = self.shared.settings.lock();
        let mut present = present.unwrap_or_else(PoisonError::into_inner);
        (self.check)(&present, &settings)?;
        *present = settings;
        self.shared.is_set.store(true, Ordering::Release);
        Ok(())
    }

    /// Asks the shim to stop, which takes a few milliseconds.
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

    /// Returns the settings if they have changed since the last call.
    pub(super) fn poll_settings(&self) -> Option<Settings> {
        if !self.shared.is_set.swap(false, Ordering::Acquire) {
            return None;
        }
        let settings = self.shared.settings.lock();
        Some(settings.unwrap_or_else(PoisonError::into_inner).clone())
    }
}
