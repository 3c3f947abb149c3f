//! Placement of the calling thread.

use super::status::{Failure, Status, guard};
use crate::thread::{Placement, keep_cores_awake};

/// Places the calling thread: on one core (any if negative), at a real-time priority of
/// `SCHED_FIFO` (1 to 99; 0 for none), and with all memory of the process resident if `lock_memory`
/// is 1.
#[unsafe(no_mangle)]
pub extern "C" fn rtether_thread_place(core: i32, priority: i32, lock_memory: i32) -> Status {
    guard(|| {
        let wish = u8::try_from(priority).ok().filter(|one| *one <= 99);
        let unknown = || Failure::argument("priorities are 1 to 99, or 0 for none");
        let priority = Some(wish.ok_or_else(unknown)?).filter(|one| *one > 0);
        let placement = Placement {
            core: usize::try_from(core).ok(),
            priority,
            lock_memory: super::memory::choice(
                lock_memory,
                "lock_memory",
                &[(0, false), (1, true)],
            )?,
        };
        let applied = placement.apply();
        applied.map_err(|error| Failure::new(Status::System, error.to_string()))
    })
}

/// Keeps all cores from deep sleep until the process ends.
#[unsafe(no_mangle)]
pub extern "C" fn rtether_thread_keep_cores_awake() -> Status {
    guard(|| {
        let kept = keep_cores_awake();
        kept.map_err(|error| Failure::new(Status::System, error.to_string()))
    })
}
