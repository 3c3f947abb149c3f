//! Keeps cores out of deep sleep on request.

use rtether_testbed::keep_cores_awake;

use crate::terminal;

/// Keeps cores awake if `is_wanted`, and warns if the system refuses: measurements then include
/// wake-ups.
pub(crate) fn keep(is_wanted: bool) {
    if !is_wanted {
        return;
    }
    if let Err(error) = keep_cores_awake() {
        terminal::remark(&format!("warning: cores are not kept from deep sleep: {error}"));
    }
}
