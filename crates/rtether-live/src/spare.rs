//! A descriptor held for the time when there is none left.
//!
//! Whoever wants a connection when the process has as many files as it may have is not refused by
//! the system but waits, and the listener stays readable without being served. With the spare one
//! put down, the connection can be taken, told, and closed.

use std::os::fd::{AsFd, OwnedFd};

/// The descriptor: one more of something that is open, since a service may not open files.
#[derive(Debug)]
pub(crate) struct Spare(Option<OwnedFd>);

impl Spare {
    /// Takes one; without any left, none is held until there is.
    pub(crate) fn new(of: &impl AsFd) -> Self {
        Self(of.as_fd().try_clone_to_owned().ok())
    }

    /// Does something that takes a descriptor and gives it back.
    pub(crate) fn lend<T>(&mut self, of: &impl AsFd, action: impl FnOnce() -> T) -> T {
        self.0 = None;
        let done = action();
        *self = Self::new(of);
        done
    }
}
