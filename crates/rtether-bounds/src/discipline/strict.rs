//! Strict priority without preemption: a higher queue goes first; at most one frame of a lower one
//! is in front ([`crate::wait`] has the proof).

use super::port::{Port, Waits};

/// Returns the waits of a queue.
pub(crate) fn waits(port: &Port<'_>, queue: u8) -> Waits {
    let lower = port.longest(|other| other < queue);
    port.waits(queue, lower, |other| other > queue)
}
