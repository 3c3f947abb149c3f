//! Ctrl-C for verbs that have something to clean up.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use crate::exit::{self, Exit};

/// Returns what Ctrl-C (or SIGTERM, SIGHUP) sets. Nothing ends the process at once, since what has
/// been made must be removed.
pub(crate) fn on_signal() -> Result<Arc<AtomicBool>, Exit> {
    let stop = Arc::new(AtomicBool::new(false));
    let on_signal = Arc::clone(&stop);
    let set = ctrlc::set_handler(move || on_signal.store(true, Ordering::Relaxed));
    set.map_err(|error| exit::fail(&format!("listening for Ctrl-C: {error}")))?;
    Ok(stop)
}
