//! What a test needs of its host, and leaves there.

use std::fs::OpenOptions;
use std::io::Write;
use std::process::Command;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

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

/// Returns the processor time that this thread has taken, which other work on the host does not
/// lengthen; where it is not counted, the time of day.
pub fn processor_time() -> Duration {
    let counted = std::fs::read_to_string("/proc/thread-self/schedstat").ok();
    let counted = counted.and_then(|text| text.split(' ').next()?.parse().ok());
    counted.map_or_else(
        || SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default(),
        Duration::from_nanos,
    )
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
