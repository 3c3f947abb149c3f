//! A descriptor reserved for the time when there are none left.
//!
//! When the process has reached its limit of open files, a new connection is not refused by the
//! system but waits, and the listener stays readable. With the spare descriptor closed, the
//! connection can be accepted, told, and closed.

use std::os::fd::{AsFd, OwnedFd};

/// The descriptor: a duplicate of something open, since a service may not open files.
#[derive(Debug)]
pub(crate) struct Spare(Option<OwnedFd>);

impl Spare {
    /// Duplicates `of`; if that fails, holds none until the next attempt.
    pub(crate) fn new(of: &impl AsFd) -> Self {
        Self(of.as_fd().try_clone_to_owned().ok())
    }

    /// Runs an action that uses and returns one descriptor.
    pub(crate) fn lend<T>(&mut self, of: &impl AsFd, action: impl FnOnce() -> T) -> T {
        self.0 = None;
        let done = action();
        *self = Self::new(of);
        done
    }
}
