//! Any text as the configuration of a shim. Oracles: no panic; a configuration exactly if there is
//! no error; each diagnostic is an object of JSON on a line of its own.

use rtether::scenario::render::Style;
use rtether_testbed::shim::config::load;
use rtether_testbed::shim::prepare;

/// No device has this name, which is too long for one.
const NOWHERE: &str = "no-device-at-all";

/// Returns whether it is a configuration.
pub(crate) fn check(octets: &[u8]) -> bool {
    let text = String::from_utf8_lossy(octets);
    let loaded = load("fuzz.yaml", &text);
    assert_eq!(loaded.config.is_none(), loaded.has_errors());
    let said = loaded.text(Style::Plain);
    assert_eq!(said.is_empty(), loaded.diagnostics.is_empty());
    let lines = loaded.json_lines().lines().count();
    assert_eq!(lines, loaded.diagnostics.len());
    let _ = loaded.json();
    if let Some(config) = &loaded.config {
        // What it says is looked at before the device, or after it: both are refused.
        prepare(NOWHERE, config.backend, &config.settings).expect_err("no device");
    }
    loaded.config.is_some()
}
