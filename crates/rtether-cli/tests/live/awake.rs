//! `--awake` refused by the system. Oracle: the permissions of `/dev/cpu_dma_latency`, root only.

use rtether_testkit::{is_root, skip};

use crate::without_rights;

#[test]
fn a_wish_for_cores_that_stay_awake_is_not_dropped_in_silence() {
    if !is_root() {
        return;
    }
    if !std::path::Path::new("/dev/cpu_dma_latency").exists() {
        return skip("the kernel has no /dev/cpu_dma_latency");
    }
    // There is no responder, and none of them gets far; the warning comes before that.
    let ping = ["ping", "127.0.0.1:9", "-n", "1", "--awake"];
    let echo = ["echo", "192.0.2.1", "--awake"];
    for arguments in [&ping[..], &echo, &["calibrate", "--awake"]] {
        without_rights(arguments).says("deep sleep").says("run as root");
    }
    let message = without_rights(&ping[..4]).err;
    assert!(!message.contains("deep sleep"), "{message}");
}
