//! Rights that a service gives up once it runs.

use rtether_live::confine::{Confined, Confinement, confine};
use rtether_live::privileges;

use super::{LiveError, Thread};

/// Gives up the privileges that a running service no longer needs.
pub(super) fn give_up(
    confinement: Option<&Confinement>,
    thread: Thread,
) -> Result<Option<Confined>, LiveError> {
    let Some(confinement) = confinement else {
        return Ok(None);
    };
    // Memory allocated later must stay resident too, which takes a limit or a right.
    if let Some(priority) = thread.placement.priority
        && !privileges::allow_real_time(priority)
    {
        return Ok(None);
    }
    let confined = confine(confinement);
    let failed = |error| LiveError::socket("giving up user and rights".to_owned(), error);
    confined.map(Some).map_err(failed)
}
