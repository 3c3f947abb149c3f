//! Failures of the process of a shim.

use std::time::{Duration, Instant};

use rtether_testkit::{signal, wait_for};

use super::bed::{Bed, CONFIG, finish, lost};

/// Requests in one second, the longest interruption of traffic allowed.
const SECOND: u64 = 200;

#[test]
fn a_killed_shim_leaves_nothing_and_traffic_flows() {
    // Oracle: requests every 5 ms are lost for less than a second, and `tc` and `ip` report the
    // same as before, without a call of `down`.
    let Some(bed) = Bed::new() else { return };
    let before = bed.look();
    for config in bed.configs() {
        let mut shim = bed.up(config, &[]);
        let ping = bed.start_ping(600, "5 ms");
        std::thread::sleep(Duration::from_millis(700));
        shim.kill().unwrap();
        let begin = Instant::now();
        wait_for("the device is restored", || bed.look() == before);
        let restored = begin.elapsed();
        shim.wait().unwrap();
        let lost = lost(ping);
        assert!(lost < SECOND, "{lost} requests lost");
        assert!(restored < Duration::from_secs(5), "{restored:?}");
        wait_for("the watchdog ends", || bed.processes().is_empty());
        assert_eq!(bed.files(), [""; 0]);
    }
}

#[test]
fn without_its_watchdog_a_killed_shim_lets_traffic_pass_and_down_restores() {
    let Some(bed) = Bed::new() else { return };
    let before = bed.look();
    let mut shim = bed.up(CONFIG, &[]);
    // Stopped, it cannot start another watchdog.
    signal(shim.id(), "-STOP");
    let others = bed.processes();
    let watchdog = others.iter().find(|pid| **pid != shim.id().to_string());
    signal(watchdog.unwrap().parse().unwrap(), "-KILL");
    let ping = bed.start_ping(200, "5 ms");
    shim.kill().unwrap();
    shim.wait().unwrap();
    assert!(lost(ping) < SECOND);
    assert_ne!(bed.look(), before, "nobody has restored it");
    assert_eq!(bed.files().len(), 3);
    bed.line("shim down wire").exits(0).shows("a shim that died");
    assert_eq!(bed.look(), before);
    assert_eq!(bed.files(), [""; 0]);
}

#[test]
fn a_new_shim_takes_over_from_a_dead_one() {
    let Some(bed) = Bed::new() else { return };
    let before = bed.look();
    let mut shim = bed.up(CONFIG, &[]);
    signal(shim.id(), "-STOP");
    for pid in bed.processes() {
        signal(pid.parse().unwrap(), "-KILL");
    }
    shim.wait().unwrap();
    let shim = bed.up(CONFIG, &[]);
    assert_eq!(bed.ping(50, "2 ms"), 0);
    bed.end(shim);
    assert_eq!(bed.look(), before);
}

#[test]
fn a_shim_that_hangs_is_bypassed_and_can_be_ended() {
    // Oracle: a stopped process answers no requests and gives no sign of life.
    let Some(bed) = Bed::new() else { return };
    let before = bed.look();
    for config in bed.configs() {
        let mut shim = bed.up(config, &[]);
        let ping = bed.start_ping(400, "5 ms");
        std::thread::sleep(Duration::from_millis(300));
        signal(shim.id(), "-STOP");
        let lost = lost(ping);
        assert!(lost < SECOND, "{lost} requests lost");
        bed.line("shim down wire").exits(0).shows("was killed");
        shim.wait().unwrap();
        assert_eq!(bed.look(), before);
        wait_for("the watchdog ends", || bed.processes().is_empty());
        assert_eq!(bed.files(), [""; 0]);
    }
}

#[test]
fn a_watchdog_that_ends_is_started_again() {
    let Some(bed) = Bed::new() else { return };
    let before = bed.look();
    let mut shim = bed.up(CONFIG, &[]);
    let watchdog = || {
        let own = shim.id().to_string();
        bed.processes().into_iter().find(|pid| *pid != own)
    };
    let first = watchdog().unwrap();
    // Neither Ctrl-C nor the end of a terminal ends it.
    for name in ["-INT", "-HUP", "-TERM"] {
        signal(first.parse().unwrap(), name);
    }
    std::thread::sleep(Duration::from_millis(100));
    assert_eq!(watchdog(), Some(first.clone()));
    signal(first.parse().unwrap(), "-KILL");
    wait_for("there is another one", || watchdog().is_some_and(|pid| pid != first));
    wait_for("it watches", || bed.status()["is_watched"] == true);
    shim.kill().unwrap();
    wait_for("the device is restored", || bed.look() == before);
    shim.wait().unwrap();
}

#[test]
fn a_device_that_goes_away_ends_its_shim() {
    let Some(bed) = Bed::new() else { return };
    let shim = bed.up(CONFIG, &[]);
    bed.remove_device();
    finish(shim).exits(4).says("no network device `wire`");
    assert_eq!(bed.files(), [""; 0]);
    wait_for("the watchdog ends", || bed.processes().is_empty());
}

#[test]
fn a_shim_that_cannot_be_set_up_leaves_nothing() {
    // Oracle: another kind of device has the TAP name that the shim needs.
    let Some(bed) = Bed::new() else { return };
    bed.take_name_of_tap();
    let before = bed.look();
    let config = &bed.file(CONFIG);
    let output = bed.run(&["shim", "up", "wire", "--config", config]);
    let said = &output.exits(4).err;
    assert!(said.contains("TAP") || said.contains("rts"), "{said}");
    assert!(!said.contains("died"), "{said}");
    assert_eq!(bed.look(), before);
    assert_eq!(bed.files(), [""; 0]);
    assert_eq!(bed.processes(), [""; 0]);
}
