//! `--awake` refused by the system. Oracle: the permissions of `/dev/cpu_dma_latency`, root only.

use crate::{skip, stderr, stdout, without_rights};

#[test]
fn a_wish_for_cores_that_stay_awake_is_not_dropped_in_silence() {
    let test = "a_wish_for_cores_that_stay_awake_is_not_dropped_in_silence";
    let id = std::process::Command::new("id").arg("-u").output().unwrap();
    if stdout(&id).trim() != "0" {
        return skip(test, "needs root, to give it up");
    }
    if !std::path::Path::new("/dev/cpu_dma_latency").exists() {
        return skip(test, "the kernel has no /dev/cpu_dma_latency");
    }
    // There is no responder, and none of them gets far; the warning comes before that.
    let ping = ["ping", "127.0.0.1:9", "-n", "1", "--awake"];
    let echo = ["echo", "192.0.2.1", "--awake"];
    for arguments in [&ping[..], &echo, &["calibrate", "--awake"]] {
        let message = stderr(&without_rights(arguments));
        assert!(message.contains("deep sleep"), "{arguments:?}: {message}");
        assert!(message.contains("run as root"), "{arguments:?}: {message}");
    }
    let message = stderr(&without_rights(&ping[..4]));
    assert!(!message.contains("deep sleep"), "{message}");
}
