//! Skipped tests (CONTRIBUTING.md).

use std::fs::OpenOptions;
use std::io::Write;

/// Reports that a test cannot run here, so that it is counted as skipped.
#[allow(clippy::print_stderr, reason = "a skipped test says so")]
pub(crate) fn skip(test: &str, reason: &str) {
    let line = format!("SKIP: {test}: {}\n", reason.replace('\n', " "));
    eprint!("{line}");
    if let Some(path) = std::env::var_os("RTETHER_SKIP_LOG") {
        let log = OpenOptions::new().append(true).create(true).open(path);
        let written = log.and_then(|mut log| log.write_all(line.as_bytes()));
        written.expect("the log of skipped tests can be written");
    }
}
