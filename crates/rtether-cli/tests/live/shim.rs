//! `rtether shim` as its users see it, between two namespaces of this host. Oracles: the output of
//! `tc`, `ip` and `/proc` before, meanwhile and after; lost requests of `rtether ping`;
//! notifications of the service manager; the documented exit codes.
//!
//! Needs root, iproute2 and TUN; a test that cannot run prints why, and is counted.

mod bed;
mod fail;
mod privileges;
mod reload;
mod unit;

use std::os::unix::fs::PermissionsExt;
use std::os::unix::net::UnixDatagram;
use std::time::Duration;

use rtether_testkit::{Run, repeated, signal, wait_for};

use crate::rtether;
use bed::{Bed, CONFIG, finish};

#[test]
fn a_device_is_after_it_as_it_was_before() {
    let Some(bed) = Bed::new() else { return };
    let before = bed.look();
    let configs = bed.configs();
    for (config, name) in
        configs.iter().flat_map(|config| ["-INT", "-TERM", "down"].map(|name| (config, name)))
    {
        let shim = bed.up(config, &[]);
        assert_ne!(bed.look(), before, "filters are there");
        assert_eq!(bed.ping(50, "2 ms"), 0, "all pass it");
        wait_for("they are counted", || {
            bed.status()["transmitted"]["frames"].as_u64().unwrap() >= 50
        });
        if name == "down" {
            bed.line("shim down wire").exits(0).shows("has ended");
        } else {
            signal(shim.id(), name);
        }
        finish(shim).exits(0).shows("transmitted");
        assert_eq!(bed.look(), before, "{name}");
        assert_eq!(bed.files(), [""; 0], "{name}");
        assert_eq!(bed.processes(), [""; 0], "{name}");
    }
}

#[test]
fn a_dry_run_changes_nothing() {
    let Some(bed) = Bed::new() else { return };
    let before = bed.look();
    let config = &bed.file(CONFIG);
    bed.run(&["shim", "up", "wire", "--config", config, "--dry-run"])
        .exits(0)
        .shows("tc qdisc add dev wire clsact")
        .shows("tc qdisc del dev wire clsact");
    let output = bed.run(&["shim", "up", "wire", "--config", config, "--dry-run", "--json"]);
    let document = output.json();
    assert_eq!(document["schema"], "rtether.shim-plan/1");
    assert_eq!(document["down"][0], "tc qdisc del dev wire clsact");
    assert_eq!(bed.look(), before);
    assert_eq!(bed.files(), [""; 0]);
}

#[test]
fn there_is_one_shim_for_each_device_of_each_namespace() {
    let Some(bed) = Bed::new() else { return };
    let near = bed.up(CONFIG, &[]);
    let config = &bed.file(CONFIG);
    bed.run(&["shim", "up", "wire", "--config", config]).exits(4).says("has a shim already");
    // The device at the other end has the same name in another namespace.
    let far = bed.up_far(CONFIG);
    assert_eq!(bed.files().len(), 6, "{:?}", bed.files());
    assert_eq!(bed.ping(50, "2 ms"), 0, "all pass both");
    signal(near.id(), "-TERM");
    finish(near).exits(0);
    assert_eq!(bed.files().len(), 3);
    signal(far.id(), "-TERM");
    finish(far).exits(0);
    assert_eq!(bed.files(), [""; 0]);
}

#[test]
fn without_a_shim_there_is_nothing_to_ask() {
    let Some(bed) = Bed::new() else { return };
    let config = &bed.file(CONFIG);
    for (arguments, code, words) in [
        (&["status", "wire"] as &[&str], 3, "rtether shim up wire"),
        (&["set", "wire", "--config", config], 3, "rtether shim up wire"),
        (&["down", "wire"], 0, ""),
        (&["down", "none"], 2, "no network device `none`"),
        (&["up", "none", "--config", config], 2, "no network device `none`"),
        (&["status", "../etc/passwd"], 2, "cannot be the name of a device"),
        (&["up", "wire", "--config", "missing.yaml"], 2, "missing.yaml"),
    ] {
        bed.run(&[&["shim"], arguments].concat()).exits(code).says(words);
    }
    assert_eq!(bed.files(), [""; 0]);
}

#[test]
fn a_status_has_three_forms() {
    let Some(bed) = Bed::new() else { return };
    let shim = bed.up(CONFIG, &[]);
    assert_eq!(bed.ping(20, "2 ms"), 0);
    let table = bed.line("shim status wire").out;
    assert!(table.starts_with("wire: back end user, 100 Mbit/s"), "{table}");
    let sample = "rtether_shim_frames_total{device=\"wire\",direction=\"transmit\"} ";
    wait_for("frames are counted", || {
        let metrics = bed.line("shim status wire --metrics").out;
        let value = metrics.lines().find_map(|line| line.strip_prefix(sample));
        value.unwrap().parse::<u64>().unwrap() >= 20
    });
    let status = bed.status();
    assert_eq!(status["schema"], "rtether.shim/1");
    assert_eq!(status["pid"], shim.id());
    assert_eq!(status["rate_bps"], 100_000_000);
    assert_eq!(status["is_watched"], true);
    assert_eq!(status["queues"].as_array().unwrap().len(), 2);
    bed.end(shim);
}

#[test]
fn the_socket_belongs_to_its_user() {
    let Some(bed) = Bed::new() else { return };
    let shim = bed.up(CONFIG, &[]);
    for name in bed.files() {
        let path = bed.runtime().join(name);
        let mode = std::fs::metadata(&path).unwrap().permissions().mode();
        assert_eq!(mode & 0o777, 0o600, "{}", path.display());
    }
    bed.end(shim);
}

#[test]
fn the_manager_of_services_hears_how_it_is() {
    let Some(bed) = Bed::new() else { return };
    let path = bed.runtime().with_extension("notify");
    let manager = UnixDatagram::bind(&path).unwrap();
    manager.set_read_timeout(Some(Duration::from_secs(20))).unwrap();
    let read = || {
        let mut octets = [0; 500];
        let size = repeated(|| manager.recv(&mut octets)).unwrap();
        String::from_utf8(octets[..size].to_vec()).unwrap()
    };
    let socket = path.to_str().unwrap();
    let shim = bed.up(CONFIG, &[("NOTIFY_SOCKET", socket), ("WATCHDOG_USEC", "200000")]);
    assert_eq!(read(), "READY=1");
    assert!(read().starts_with("STATUS=back end user, 100 Mbit/s"));
    // Every 100 ms, half of 200 ms: ten in a second, give or take stalls of the machine.
    let begin = std::time::Instant::now();
    for _ in 0..10 {
        assert_eq!(read(), "WATCHDOG=1");
    }
    assert!(begin.elapsed() > Duration::from_millis(500));
    signal(shim.id(), "-TERM");
    wait_for("the end is told", || match read().as_str() {
        "STOPPING=1" => true,
        "WATCHDOG=1" => false,
        other => panic!("{other}"),
    });
    finish(shim).exits(0);
    std::fs::remove_file(path).unwrap();
}

#[test]
fn a_connection_survives_up_and_down() {
    // Oracle: no message on one TCP connection is lost while shims come and go between stack and
    // device. Frames may be: the kernel stops the device for a moment when hooks change.
    let Some(mut bed) = Bed::new() else { return };
    bed.echo_over_tcp();
    for config in bed.configs() {
        let ping = bed.ping_over_tcp(400, "5 ms");
        for _ in 0..2 {
            let shim = bed.up(config, &[]);
            std::thread::sleep(Duration::from_millis(200));
            bed.end(shim);
        }
        let counters = &finish(ping).json()["counters"];
        // While TCP waits to repeat a frame, its socket may have no room for a request.
        assert_eq!(counters["lost"], counters["unsent"], "{config}{counters}");
    }
}

#[test]
fn editors_get_the_schema() {
    let output = rtether().args(["schema", "--shim"]).run();
    let committed = include_str!("../../../../docs/reference/shim.schema.json");
    assert_eq!(output.out, committed);
}
