//! `ping` and `echo` as their users see them, between two namespaces of this host.
//!
//! Needs root and iproute2; a test that cannot run says why.

use std::io::{BufRead, BufReader};
use std::os::unix::process::CommandExt;
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use rtether_testkit::{Ended, Finish, Folder, Run, signal, skip, wait_for};
use serde_json::Value;

use crate::copy_program;
use crate::hosts::{FAR, Hosts, ip};

impl Hosts {
    fn ping(&self, arguments: &[&str]) -> Ended {
        Self::command(&self.near, &["ping"]).args(arguments).run()
    }

    /// Starts `echo` in the far host and waits until it is ready.
    fn echo(&self, arguments: &[&str]) -> Child {
        let mut command = Self::command(&self.far, &["echo"]);
        command.args(arguments).stdout(Stdio::null()).stderr(Stdio::piped());
        let mut child = command.spawn().unwrap();
        let mut lines = BufReader::new(child.stderr.take().unwrap()).lines();
        let line = lines.next().unwrap().unwrap();
        assert!(line.contains("answering at"), "{line}");
        child
    }

    /// Waits until the far host has sent `count` frames: a busy machine may start what asks it late.
    fn wait_for_frames(&self, count: u64) {
        wait_for("frames of the far host", || {
            let text = ip(&format!("-n {} -s -j link show wire", self.far)).unwrap();
            let links: Value = serde_json::from_str(&text).unwrap();
            links[0]["stats64"]["tx"]["packets"].as_u64() >= Some(count)
        });
    }

    fn far_ethernet(&self) -> String {
        let text = ip(&format!("-n {} -o link show wire", self.far)).unwrap();
        let (_, rest) = text.split_once("link/ether ").unwrap();
        rest.split(' ').next().unwrap().to_owned()
    }
}

fn rows(path: &str) -> usize {
    std::fs::read_to_string(path).unwrap().lines().count() - 1
}

#[test]
fn ctrl_c_gives_what_was_measured() {
    let Some(hosts) = Hosts::new() else { return };
    let folder = Folder::new("ping");
    let samples = folder.file("samples.csv");
    let echo = hosts.echo(&[]);
    let mut command = Hosts::command(&hosts.near, &["ping", FAR, "-n", "100000", "--json"]);
    command.arg("--samples").arg(&samples);
    let ping = command.start();
    hosts.wait_for_frames(50);
    signal(ping.id(), "-INT");
    let output = ping.finish();
    output.exits(130);
    let document = output.json();
    assert_eq!(document["ended_early"], "interrupted");
    let count = document["all"]["count"].as_u64().unwrap();
    assert!(count > 10, "{document}");
    assert_eq!(rows(&samples) as u64, count);
    end(echo);
}

#[test]
fn a_device_removed_meanwhile_leaves_partial_results() {
    let Some(hosts) = Hosts::new() else { return };
    let folder = Folder::new("ping");
    let samples = folder.file("samples.csv");
    let echo = hosts.echo(&[]);
    let mut command = Hosts::command(&hosts.near, &["ping", FAR, "-n", "100000"]);
    command.arg("--samples").arg(&samples);
    let ping = command.start();
    hosts.wait_for_frames(50);
    ip(&format!("-n {} link delete wire", hosts.near)).unwrap();
    ping.finish().exits(4).says("ended early").says("ip route").shows("median");
    assert!(rows(&samples) > 10);
    end(echo);
}

#[test]
fn a_killed_responder_leaves_no_program_behind() {
    let Some(hosts) = Hosts::new() else { return };
    let peer = hosts.far_ethernet();
    let xdp = ["--via", "xdp", "--device", "wire"];
    let short = ["-n", "20", "--timeout", "200ms"];
    let mut echo = hosts.echo(&xdp);
    let is_attached = || {
        let text = ip(&format!("-n {} -details link show wire", hosts.far)).unwrap();
        text.contains("prog")
    };
    assert!(is_attached(), "nothing to be left behind");
    hosts.ping(&[&[peer.as_str()], &xdp[..], &short[..]].concat()).exits(0);
    echo.kill().unwrap();
    echo.wait().unwrap();
    // The kernel detaches the program once it has cleaned up after the process.
    let is_gone = (0..100).any(|_| {
        std::thread::sleep(Duration::from_millis(20));
        !is_attached()
    });
    assert!(is_gone, "the program is still attached");
    hosts
        .ping(&[&[peer.as_str()], &xdp[..], &short[..]].concat())
        .exits(3)
        .shows("is `rtether echo` running");
    // The queue is free again for the next one.
    end(hosts.echo(&xdp));
}

#[test]
fn stamps_of_both_sides_add_up_in_the_file() {
    let Some(hosts) = Hosts::new() else { return };
    let folder = Folder::new("ping");
    let file = folder.file("parts.csv");
    let echo = hosts.echo(&["--stamps"]);
    let output = hosts.ping(&[FAR, "-n", "50", "--stamps", "--parts", &file, "--json"]);
    output.exits(0);
    let document = output.json();
    let parts = document["decomposition"]["parts"].as_array().unwrap();
    assert_eq!(parts.len(), 10, "{document}");
    let text = std::fs::read_to_string(&file).unwrap();
    let mut lines = text.lines();
    assert_eq!(lines.next().unwrap().split(',').count(), 3 + 9);
    for line in lines {
        let cells: Vec<i64> = line.split(',').map(|cell| cell.parse().unwrap()).collect();
        assert_eq!(cells[2], cells[3..].iter().sum::<i64>(), "{line}");
    }
    end(echo);
}

#[test]
fn one_way_delays_need_a_peer_that_knows_its_clock() {
    let Some(hosts) = Hosts::new() else { return };
    let echo = hosts.echo(&[]);
    let output = hosts.ping(&[FAR, "-n", "50", "--one-way", "--json"]);
    let document = output.json();
    // Both namespaces share a kernel, and so its clock.
    assert_eq!(document["one_way"]["clock_error_ns"], 0.0);
    let median = |n: usize| document["one_way"]["directions"][n]["median_ns"].as_f64().unwrap();
    let round_trip = document["all"]["median_ns"].as_f64().unwrap();
    assert!(median(0) > 0.0 && median(1) > 0.0, "{document}");
    assert!(median(0) + median(1) < 2.0 * round_trip, "{document}");
    end(echo);
    hosts
        .ping(&[FAR, "-n", "5", "--one-way", "--timeout", "50ms"])
        .exits(4)
        .says("start `rtether echo` there");
}

/// Runs as user nobody, with a copy of the program that this user may not read.
#[test]
fn without_rights_the_remedy_is_named() {
    let folder = Folder::new("ping");
    let program = folder.file("rtether");
    copy_program(&program);
    let run = |arguments: &[&str]| {
        let mut command = Command::new(&program);
        command.arg("ping").args(arguments).uid(65_534).gid(65_534).current_dir("/");
        command.output().map(Ended::from)
    };
    let raw = ["00:00:00:00:00:00", "--via", "raw", "--device", "lo"];
    match run(&raw) {
        Ok(output) => {
            output.exits(4).says("setcap cap_net_raw");
            let xdp = ["00:00:00:00:00:00", "--via", "xdp", "--device", "lo"];
            run(&xdp).unwrap().says("setcap cap_net_raw,cap_net_admin");
            run(&["127.0.0.1", "--priority", "50"]).unwrap().says("run as root");
        }
        Err(error) => skip(&format!("cannot become nobody: {error}")),
    }
}

#[test]
fn valentims_parts_add_up() {
    // Over loopback in both roles; a slow wire contradicts the figures, a fast one does not.
    let Some(hosts) = Hosts::new() else { return };
    ip(&format!("-n {} link set lo up", hosts.near)).unwrap();
    let echo = hosts.echo(&[]);
    let run = |rate: &str| {
        let output = hosts.ping(&[FAR, "-n", "200", "--valentim", rate, "--json"]);
        output.json()["valentim"].clone()
    };
    let slow = run("10 kbit/s");
    assert!(slow["parts"].is_null(), "{slow}");
    assert!(slow["contradiction"].as_str().unwrap().contains("shorter"), "{slow}");
    let fast = run("100 Gbit/s");
    if let Some(parts) = fast["parts"].as_object() {
        let sum: f64 = parts.values().filter_map(serde_json::Value::as_f64).sum();
        let half = fast["round_trip_mean_ns"].as_f64().unwrap() / 2.0;
        assert!((sum - half).abs() < 0.01, "{fast}");
    } else {
        // Loopback may take longer than the wire between namespaces; the message then says so.
        assert!(fast["contradiction"].is_string(), "{fast}");
    }
    end(echo);
}

fn end(mut echo: Child) {
    signal(echo.id(), "-INT");
    let status = echo.wait().unwrap();
    assert_eq!(status.code(), Some(0));
}
