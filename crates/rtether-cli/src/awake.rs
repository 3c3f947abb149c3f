//! Cores kept from deep sleep, where it was asked for.

use rtether::live::keep_cores_awake;

use crate::terminal;

/// Keeps cores awake if that is wanted, and says if the system does not let it: what is measured then
/// has the wake-ups in it.
pub(crate) fn keep(is_wanted: bool) {
    if !is_wanted {
        return;
    }
    if let Err(error) = keep_cores_awake() {
        terminal::remark(&format!(
            "warning: cores are not kept from deep sleep: {error}"
        ));
    }
}
