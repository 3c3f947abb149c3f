//! Threads of the host: this crate starts none.

use alloc::vec::Vec;

/// What carries out independent parts of the analysis.
pub trait Workers: Sync {
    /// Returns how many parts it carries out at a time; at least one.
    fn count(&self) -> usize;

    /// Carries out parts `0..parts`, in any order and at the same time, and returns their results in
    /// the order of the parts.
    fn map<T: Send>(&self, parts: usize, work: impl Fn(usize) -> T + Sync) -> Vec<T>;

    /// Returns whether the user has cancelled. It is asked before each stream is looked at as a whole;
    /// the streams that are left keep their bounds by total flow analysis.
    fn is_cancelled(&self) -> bool {
        false
    }
}

/// The calling thread.
#[derive(Clone, Copy, Debug, Default)]
pub struct Alone;

impl Workers for Alone {
    fn count(&self) -> usize {
        1
    }

    fn map<T: Send>(&self, parts: usize, work: impl Fn(usize) -> T + Sync) -> Vec<T> {
        (0..parts).map(work).collect()
    }
}
