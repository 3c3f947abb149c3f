//! `ping` and `echo` as their users see them, between two namespaces of this host.
//!
//! Needs root and iproute2; a test that cannot run says why.

#[path = "../common/skip.rs"]
mod skip;

use std::io::{BufRead, BufReader};
use std::os::unix::process::CommandExt;
use std::path::PathBuf;
use std::process::{Child, Command, Output, Stdio};
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

use super::{stderr, stdout};
use skip::skip;

const FAR: &str = "10.78.9.2";

/// Two hosts with a wire; removed on drop, with all processes started in them.
struct Hosts {
    near: String,
    far: String,
}

fn ip(arguments: &str) -> Result<String, String> {
    let output = Command::new("ip")
        .args(arguments.split_whitespace())
        .output();
    let output = output.map_err(|error| error.to_string())?;
    if output.status.success() {
        Ok(stdout(&output))
    } else {
        Err(format!("ip {arguments}: {}", stderr(&output)))
    }
}

impl Hosts {
    fn new(test: &str) -> Option<Self> {
        static NUMBER: AtomicU32 = AtomicU32::new(0);
        let number = NUMBER.fetch_add(1, Ordering::Relaxed);
        let tag = format!("rtether-mtc{}-{number}", std::process::id());
        let hosts = Self {
            near: format!("{tag}a"),
            far: format!("{tag}b"),
        };
        match hosts.build() {
            Ok(()) => Some(hosts),
            Err(reason) => {
                skip(test, &reason);
                None
            }
        }
    }

    fn build(&self) -> Result<(), String> {
        let Self { near, far } = self;
        ip(&format!("netns add {near}"))?;
        ip(&format!("netns add {far}"))?;
        ip(&format!(
            "link add wire netns {near} type veth peer name wire netns {far}"
        ))?;
        for (host, address) in [(near, "10.78.9.1"), (far, FAR)] {
            ip(&format!("-n {host} address add {address}/24 dev wire"))?;
            ip(&format!("-n {host} link set wire up"))?;
        }
        for host in [near, far] {
            // Until the kernel has seen the carrier, it drops what is sent.
            while !ip(&format!("-n {host} -br link show wire"))?.contains(" UP ") {
                std::thread::sleep(Duration::from_millis(5));
            }
        }
        Ok(())
    }

    fn command(host: &str, arguments: &[&str]) -> Command {
        let mut command = Command::new("ip");
        let program = env!("CARGO_BIN_EXE_rtether");
        command
            .args(["netns", "exec", host, program])
            .args(arguments);
        command
    }

    fn ping(&self, arguments: &[&str]) -> Output {
        let mut command = Self::command(&self.near, &["ping"]);
        command.args(arguments).output().unwrap()
    }

    /// Starts `echo` in the far host and waits until it is ready.
    fn echo(&self, arguments: &[&str]) -> Child {
        let mut command = Self::command(&self.far, &["echo"]);
        command
            .args(arguments)
            .stdout(Stdio::null())
            .stderr(Stdio::piped());
        let mut child = command.spawn().unwrap();
        let mut lines = BufReader::new(child.stderr.take().unwrap()).lines();
        let line = lines.next().unwrap().unwrap();
        assert!(line.contains("answering at"), "{line}");
        child
    }

    fn far_ethernet(&self) -> String {
        let text = ip(&format!("-n {} -o link show wire", self.far)).unwrap();
        let (_, rest) = text.split_once("link/ether ").unwrap();
        rest.split(' ').next().unwrap().to_owned()
    }
}

impl Drop for Hosts {
    fn drop(&mut self) {
        for host in [&self.near, &self.far] {
            // Missing if it could not be created.
            let _ = ip(&format!("netns delete {host}"));
        }
    }
}

fn interrupt(child: &Child) {
    let id = child.id().to_string();
    let sent = Command::new("kill").args(["-INT", &id]).status().unwrap();
    assert!(sent.success());
}

fn rows(path: &PathBuf) -> usize {
    std::fs::read_to_string(path).unwrap().lines().count() - 1
}

#[test]
fn ctrl_c_gives_what_was_measured() {
    let Some(hosts) = Hosts::new("ctrl_c") else {
        return;
    };
    let directory = tempfile();
    let samples = directory.join("samples.csv");
    let echo = hosts.echo(&[]);
    let mut command = Hosts::command(&hosts.near, &["ping", FAR, "-n", "100000", "--json"]);
    command.arg("--samples").arg(&samples);
    let ping = command
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    std::thread::sleep(Duration::from_millis(600));
    interrupt(&ping);
    let output = ping.wait_with_output().unwrap();
    assert_eq!(output.status.code(), Some(130), "{}", stderr(&output));
    let document: serde_json::Value = serde_json::from_str(&stdout(&output)).unwrap();
    assert_eq!(document["ended_early"], "interrupted");
    let count = document["all"]["count"].as_u64().unwrap();
    assert!(count > 10, "{document}");
    assert_eq!(rows(&samples) as u64, count);
    end(echo);
    std::fs::remove_dir_all(directory).unwrap();
}

#[test]
fn a_device_removed_meanwhile_leaves_partial_results() {
    let Some(hosts) = Hosts::new("removed") else {
        return;
    };
    let directory = tempfile();
    let samples = directory.join("samples.csv");
    let echo = hosts.echo(&[]);
    let mut command = Hosts::command(&hosts.near, &["ping", FAR, "-n", "100000"]);
    command.arg("--samples").arg(&samples);
    let ping = command
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    std::thread::sleep(Duration::from_millis(600));
    ip(&format!("-n {} link delete wire", hosts.near)).unwrap();
    let output = ping.wait_with_output().unwrap();
    assert_eq!(output.status.code(), Some(4), "{}", stderr(&output));
    let message = stderr(&output);
    assert!(
        message.contains("ended early") && message.contains("ip route"),
        "{message}"
    );
    assert!(stdout(&output).contains("median"), "{}", stdout(&output));
    assert!(rows(&samples) > 10);
    end(echo);
    std::fs::remove_dir_all(directory).unwrap();
}

#[test]
fn a_killed_responder_leaves_no_program_behind() {
    let Some(hosts) = Hosts::new("killed") else {
        return;
    };
    let peer = hosts.far_ethernet();
    let xdp = ["--via", "xdp", "--device", "wire"];
    let short = ["-n", "20", "--timeout", "200ms"];
    let mut echo = hosts.echo(&xdp);
    let is_attached = || {
        let text = ip(&format!("-n {} -details link show wire", hosts.far)).unwrap();
        text.contains("prog")
    };
    assert!(is_attached(), "nothing to be left behind");
    let answered = hosts.ping(&[&[peer.as_str()], &xdp[..], &short[..]].concat());
    assert_eq!(answered.status.code(), Some(0), "{}", stderr(&answered));
    echo.kill().unwrap();
    echo.wait().unwrap();
    // The kernel detaches the program once it has cleaned up after the process.
    let is_gone = (0..100).any(|_| {
        std::thread::sleep(Duration::from_millis(20));
        !is_attached()
    });
    assert!(is_gone, "the program is still attached");
    let silent = hosts.ping(&[&[peer.as_str()], &xdp[..], &short[..]].concat());
    assert_eq!(silent.status.code(), Some(3), "{}", stderr(&silent));
    assert!(
        stdout(&silent).contains("is `rtether echo` running"),
        "{}",
        stdout(&silent)
    );
    // The queue is free again for the next one.
    end(hosts.echo(&xdp));
}

#[test]
fn stamps_of_both_sides_add_up_in_the_file() {
    let Some(hosts) = Hosts::new("stamps") else {
        return;
    };
    let directory = tempfile();
    let file = directory.join("parts.csv");
    let echo = hosts.echo(&["--stamps"]);
    let path = file.to_str().unwrap();
    let output = hosts.ping(&[FAR, "-n", "50", "--stamps", "--parts", path, "--json"]);
    assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
    let document: serde_json::Value = serde_json::from_str(&stdout(&output)).unwrap();
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
    std::fs::remove_dir_all(directory).unwrap();
}

#[test]
fn one_way_delays_need_a_peer_that_knows_its_clock() {
    let Some(hosts) = Hosts::new("one_way") else {
        return;
    };
    let echo = hosts.echo(&[]);
    let output = hosts.ping(&[FAR, "-n", "50", "--one-way", "--json"]);
    let document: serde_json::Value = serde_json::from_str(&stdout(&output)).unwrap();
    // Both namespaces share a kernel, and so its clock.
    assert_eq!(document["one_way"]["clock_error_ns"], 0.0);
    let median = |n: usize| {
        document["one_way"]["directions"][n]["median_ns"]
            .as_f64()
            .unwrap()
    };
    let round_trip = document["all"]["median_ns"].as_f64().unwrap();
    assert!(median(0) > 0.0 && median(1) > 0.0, "{document}");
    assert!(median(0) + median(1) < 2.0 * round_trip, "{document}");
    end(echo);
    let refused = hosts.ping(&[FAR, "-n", "5", "--one-way", "--timeout", "50ms"]);
    assert_eq!(refused.status.code(), Some(4));
    assert!(
        stderr(&refused).contains("start `rtether echo` there"),
        "{}",
        stderr(&refused)
    );
}

/// Runs as user nobody, with a copy of the program that this user may not read.
#[test]
fn without_rights_the_remedy_is_named() {
    let directory = tempfile();
    let program = directory.join("rtether");
    std::fs::copy(env!("CARGO_BIN_EXE_rtether"), &program).unwrap();
    let run = |arguments: &[&str]| {
        let mut command = Command::new(&program);
        command
            .arg("ping")
            .args(arguments)
            .uid(65_534)
            .gid(65_534)
            .current_dir("/");
        command.output()
    };
    let raw = ["00:00:00:00:00:00", "--via", "raw", "--device", "lo"];
    match run(&raw) {
        Ok(output) => {
            assert_eq!(output.status.code(), Some(4));
            assert!(
                stderr(&output).contains("setcap cap_net_raw"),
                "{}",
                stderr(&output)
            );
            let xdp = ["00:00:00:00:00:00", "--via", "xdp", "--device", "lo"];
            let output = run(&xdp).unwrap();
            assert!(
                stderr(&output).contains("setcap cap_net_raw,cap_net_admin"),
                "{}",
                stderr(&output)
            );
            let output = run(&["127.0.0.1", "--priority", "50"]).unwrap();
            assert!(
                stderr(&output).contains("run as root"),
                "{}",
                stderr(&output)
            );
        }
        Err(error) => skip("without_rights", &format!("cannot become nobody: {error}")),
    }
    std::fs::remove_dir_all(directory).unwrap();
}

#[test]
fn valentims_parts_add_up() {
    // Over loopback in both roles; a slow wire contradicts the figures, a fast one does not.
    let Some(hosts) = Hosts::new("valentim") else {
        return;
    };
    ip(&format!("-n {} link set lo up", hosts.near)).unwrap();
    let echo = hosts.echo(&[]);
    let run = |rate: &str| {
        let output = hosts.ping(&[FAR, "-n", "200", "--valentim", rate, "--json"]);
        let text = stdout(&output);
        let document: serde_json::Value = serde_json::from_str(&text).unwrap();
        document["valentim"].clone()
    };
    let slow = run("10 kbit/s");
    assert!(slow["parts"].is_null(), "{slow}");
    assert!(
        slow["contradiction"].as_str().unwrap().contains("shorter"),
        "{slow}"
    );
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
    interrupt(&echo);
    let status = echo.wait().unwrap();
    assert_eq!(status.code(), Some(0));
}

fn tempfile() -> PathBuf {
    static NUMBER: AtomicU32 = AtomicU32::new(0);
    let number = NUMBER.fetch_add(1, Ordering::Relaxed);
    let name = format!("rtether-mt-{}-{number}", std::process::id());
    let path = std::env::temp_dir().join(name);
    std::fs::create_dir_all(&path).unwrap();
    path
}
