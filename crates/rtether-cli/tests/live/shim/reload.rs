//! Configuration changes of a running shim.

use std::time::Duration;

use rtether_testkit::{Ended, signal, wait_for};

use super::bed::{Bed, CONFIG, KERNEL, lost};

fn set(bed: &Bed, text: &str) -> Ended {
    let path = bed.file(text);
    bed.run(&["shim", "set", "wire", "--config", &path])
}

#[test]
fn a_configuration_changes_without_losing_a_frame() {
    // Oracle: no request is lost while rates, queues and smoothers change.
    let Some(bed) = Bed::new() else { return };
    let shim = bed.up(CONFIG, &[]);
    let ping = bed.start_ping(1500, "1 ms");
    let variants = [
        CONFIG.replace("strict", "moderate"),
        format!("{CONFIG}smoother: {{ mode: fixed, period: 200 us }}\n"),
        CONFIG.replace("100 Mbit/s", "20 Mbit/s"),
        CONFIG.to_owned(),
    ];
    for text in variants.iter().cycle().take(8) {
        set(&bed, text).exits(0).shows("in force");
        std::thread::sleep(Duration::from_millis(50));
    }
    assert_eq!(lost(ping), 0);
    let status = bed.status();
    assert_eq!(status["reloads"]["taken"], 8);
    assert_eq!(status["rate_bps"], 100_000_000);
    bed.end(shim);
}

#[test]
fn counters_go_on_when_receive_queues_change() {
    // Oracle: at least as many frames as answered requests, whichever queues were added since.
    let Some(bed) = Bed::new() else { return };
    let queues = |text: &str| format!("{CONFIG}receive_queues: {{ {text} }}\n");
    let shim = bed.up(&queues("selection: highest-first"), &[]);
    assert_eq!(bed.ping(50, "2 ms"), 0);
    for text in ["selection: promoting", "selection: low-flag, limit: 20"] {
        set(&bed, &queues(text)).exits(0);
        let status = bed.status();
        let all = status["queues"].as_array().unwrap().iter();
        let received = all.filter(|queue| queue["direction"] == "receive");
        let released = received.map(|queue| queue["released"].as_u64().unwrap());
        assert!(released.sum::<u64>() >= 50, "{status}");
    }
    bed.end(shim);
}

#[test]
fn a_kernel_takes_other_rules() {
    // Oracle: as before. Changed rules need a new filter, which the kernel must accept from a
    // process that has given up most rights; a changed link rate needs new classes.
    let Some(bed) = Bed::new() else { return };
    if !bed.configs().contains(&KERNEL) {
        return;
    }
    let before = bed.look();
    let shim = bed.up(KERNEL, &[]);
    let ping = bed.start_ping(1500, "1 ms");
    let variants = [
        KERNEL.replace("dscp: 46", "dscp: 26"),
        KERNEL.replace("dscp: 46", "protocol: udp, port: 5000-5010"),
        KERNEL.replace("100 Mbit/s", "20 Mbit/s"),
        KERNEL.replace("150 us", "200 us"),
        KERNEL.to_owned(),
    ];
    for text in &variants {
        set(&bed, text).exits(0);
    }
    assert_eq!(lost(ping), 0);
    assert_eq!(bed.status()["reloads"]["taken"], 5);
    set(&bed, &KERNEL.replace("moderate", "strict")).exits(2).says("transmit_queues.strategy");
    bed.end(shim);
    assert_eq!(bed.look(), before);
}

#[test]
fn a_wrong_configuration_changes_nothing() {
    let Some(bed) = Bed::new() else { return };
    let shim = bed.up(CONFIG, &[]);
    for (text, words) in [
        ("rtether: 1\nrate: 5\n", "needs a unit"),
        ("rtether: 1\nrate: 5 Mbit/s\nbackend: kernel\n", "take it down and up again"),
        (
            "rtether: 1\nrate: 5 Mbit/s\nreceive_queues: { selection: instances }\n",
            "the kernel has a single stack",
        ),
    ] {
        set(&bed, text).exits(2).says(words).says("shim.yaml:");
        assert_eq!(bed.status()["rate_bps"], 100_000_000);
    }
    // The first one was rejected before it was sent.
    assert_eq!(bed.status()["reloads"]["refused"], 2);
    bed.end(shim);
}

#[test]
fn sighup_reads_the_file_again() {
    let Some(bed) = Bed::new() else { return };
    let shim = bed.up(CONFIG, &[]);
    bed.file(&CONFIG.replace("100 Mbit/s", "50 Mbit/s"));
    signal(shim.id(), "-HUP");
    wait_for("the new rate", || bed.status()["rate_bps"] == 50_000_000);
    bed.file("rtether: 1\nrate: fast\n");
    signal(shim.id(), "-HUP");
    wait_for("the refusal", || bed.status()["reloads"]["refused"] == 1);
    assert_eq!(bed.status()["rate_bps"], 50_000_000);
    bed.end(shim);
}
