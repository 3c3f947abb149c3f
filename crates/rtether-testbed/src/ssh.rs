//! Runs rtether on another host by ssh.

use rtether::characters::is_unseen;
use std::io::{self, Read};

/// Arguments before the host: no prompts, and no shared-connection master, which would hold our
/// pipes open after the command has ended.
pub(super) const OPTIONS: [&str; 6] =
    ["-o", "BatchMode=yes", "-o", "ConnectTimeout=10", "-o", "ControlMaster=no"];
/// ssh itself failed.
pub(super) const SSH_FAILED: i32 = 255;
/// The shell does not know the command, or may not run it.
pub(super) const NO_COMMAND: [i32; 2] = [127, 126];
/// Characters kept of a message from another host.
const CHARACTERS: usize = 500;
/// Octets accepted from another host at once.
const LIMIT: u64 = 4 << 20;

/// Returns whether ssh would take a text as a host, rather than an option or several words.
pub(super) fn is_host(text: &str) -> bool {
    !text.is_empty()
        && !text.starts_with('-')
        && !text.chars().any(|c| c.is_whitespace() || c.is_control())
}

/// Reads up to the limit, then discards the rest so that the peer does not block.
pub(super) fn drain(from: Option<impl Read>) -> String {
    let mut octets = Vec::new();
    if let Some(mut from) = from {
        // A broken connection shows in the exit code.
        drop(from.by_ref().take(LIMIT).read_to_end(&mut octets));
        drop(io::copy(&mut from, &mut io::sink()));
    }
    String::from_utf8_lossy(&octets).into_owned()
}

/// Returns the last non-blank line, without control characters that could upset a terminal.
pub(super) fn last_line(text: &str) -> String {
    let line = text.lines().rev().find(|line| !line.trim().is_empty());
    harmless(line.unwrap_or_default())
}

/// Returns the start of a text from outside, on one line and without control characters.
pub(super) fn harmless(text: &str) -> String {
    let characters = text.trim().chars();
    let characters = characters.map(|c| if is_unseen(c) { ' ' } else { c });
    characters.take(CHARACTERS).collect()
}
