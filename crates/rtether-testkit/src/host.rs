//! What a test needs of its host, and leaves there.

use std::fs::OpenOptions;
use std::io::Write;
use std::process::Command;

/// Reports that the test of this thread cannot run here, so that it is counted as skipped.
#[allow(clippy::print_stderr, reason = "a skipped test says so")]
pub fn skip(reason: &str) {
    let thread = std::thread::current();
    let test = thread.name().unwrap_or("a test");
    let line = format!("SKIP: {test}: {}\n", reason.replace('\n', " "));
    eprint!("{line}");
    if let Some(path) = std::env::var_os("RTETHER_SKIP_LOG") {
        let log = OpenOptions::new().append(true).create(true).open(path);
        let written = log.and_then(|mut log| log.write_all(line.as_bytes()));
        written.expect("the log of skipped tests can be written");
    }
}

/// Returns whether a test runs as root; if not, it is skipped.
pub fn is_root() -> bool {
    let id = Command::new("id").arg("-u").output();
    let is_root = id.is_ok_and(|output| output.stdout.trim_ascii() == b"0");
    if !is_root {
        skip("needs root");
    }
    is_root
}

/// Returns the network namespaces of this host whose names contain a part.
pub fn namespaces(part: &str) -> Vec<String> {
    let entries = std::fs::read_dir("/run/netns");
    let entries = entries.into_iter().flatten().flatten();
    let names = entries.filter_map(|entry| entry.file_name().into_string().ok());
    names.filter(|name| name.contains(part)).collect()
}
