//! A descriptor held for the time when there is none left.
//!
//! Whoever wants a connection when the process has as many files as it may have is not refused by
//! the system but waits, and the listener stays readable without being served. With the spare one
//! put down, the connection can be taken, told, and closed.

use std::fs::File;
use std::os::fd::OwnedFd;

/// The descriptor.
#[derive(Debug)]
pub(crate) struct Spare(Option<OwnedFd>);

impl Spare {
    /// Takes one; without any left, none is held until there is.
    pub(crate) fn new() -> Self {
        Self(File::open("/dev/null").ok().map(OwnedFd::from))
    }

    /// Does something that takes a descriptor and gives it back.
    pub(crate) fn lend<T>(&mut self, action: impl FnOnce() -> T) -> T {
        self.0 = None;
        let done = action();
        *self = Self::new();
        done
    }
}
