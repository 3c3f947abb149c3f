//! `rtether limit` as its users see it.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on may panic")]

use std::io::{BufRead, BufReader};
use std::path::PathBuf;
use std::process::{Command, Output, Stdio};
use std::time::Duration;

/// One small flow with a deadline, and a flood of 20 Mbit/s to the same 100 Mbit/s port.
const SCENARIO: &str = "
rtether: 1
nodes:
  a: { stack: zero }
  b: { stack: zero }
  c: { stack: zero }
switches:
  sw: { ports: 3, latency: 0 us, buffer: 256 KiB }
links:
  - { ends: [a, \"sw:1\"], rate: 100 Mbit/s, length: 0 m }
  - { ends: [b, \"sw:2\"], rate: 1 Gbit/s, length: 0 m }
  - { ends: [c, \"sw:3\"], rate: 100 Mbit/s, length: 0 m }
flows:
  - { name: alarm, from: a, to: c, period: 1 ms, size: 64 B, deadline: 2 ms }
  - { name: load, from: b, to: c, kind: flood, rate: 20 Mbit/s, size: 1472 B }
run: { for: 1 s }
";

/// A scenario in a separate directory, removed at the end.
struct Plant(PathBuf);

impl Plant {
    fn new(test: &str, text: &str) -> Self {
        let name = format!("rtether-limit-{test}-{}", std::process::id());
        let directory = std::env::temp_dir().join(name);
        std::fs::create_dir_all(&directory).unwrap();
        std::fs::write(directory.join("plant.yaml"), text).unwrap();
        Self(directory)
    }

    fn command(&self, arguments: &[&str]) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_rtether"));
        command.args(["limit", "plant.yaml"]).args(arguments);
        command.current_dir(&self.0);
        command
    }

    fn run(&self, arguments: &[&str]) -> Output {
        self.command(arguments).output().unwrap()
    }
}

impl Drop for Plant {
    fn drop(&mut self) {
        drop(std::fs::remove_dir_all(&self.0));
    }
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

#[test]
fn the_limit_is_found_and_told_in_every_form() {
    let plant = Plant::new("forms", SCENARIO);
    let json = plant.run(&["--miss", "1%", "--json"]);
    assert_eq!(json.status.code(), Some(0), "{}", text(&json.stderr));
    let document: serde_json::Value = serde_json::from_slice(&json.stdout).unwrap();
    assert_eq!(document["schema"], "rtether.limit/1");
    assert_eq!(document["end"], "found");
    // 100 Mbit/s less the 1.04 Mbit/s of the flow with the deadline.
    let limit = document["limit"]["load_bps"].as_f64().unwrap();
    assert!((limit / 98.96e6 - 1.0).abs() < 0.02, "{limit}");
    let table = plant.run(&[
        "--miss",
        "0.01",
        "--confidence",
        "95 %",
        "--report",
        "page.html",
    ]);
    let table = text(&table.stdout);
    assert!(table.starts_with("plant\nThe limit is 98."), "{table}");
    let page = std::fs::read_to_string(plant.0.join("page.html")).unwrap();
    assert!(page.contains("Input limit of the network"));
    let csv = plant.run(&["--miss", "10000ppm", "--csv"]);
    let mut rows = text(&csv.stdout);
    rows.retain(|c| c != '\r');
    assert!(
        rows.starts_with("kind,name,factor_ratio,load_bps"),
        "{rows}"
    );
    assert!(rows.contains("\nlimit equal,b,") && rows.contains("\nlimit by need,b,"));
    // One line, which is the second of the table.
    let line = text(&plant.run(&["--miss", "1%", "--quiet"]).stdout);
    assert_eq!(line.trim_end(), table.lines().nth(1).unwrap());
    // The same on any number of threads.
    let again = plant.run(&["--miss", "1%", "--json", "--runs", "1", "-j", "1"]);
    assert_eq!(json.stdout, again.stdout);
}

#[test]
fn exit_codes_say_how_it_ended() {
    let plant = Plant::new("codes", SCENARIO);
    let code = |arguments: &[&str]| plant.run(arguments).status.code();
    let heavy = SCENARIO.replace("rate: 20 Mbit/s", "rate: 300 Mbit/s");
    let heavy = heavy.replace("for: 1 s", "for: 1 s, overload: allow");
    let heavy = Plant::new("heavy", &heavy).run(&["--miss", "1%"]);
    assert_eq!(heavy.status.code(), Some(1), "{}", text(&heavy.stderr));
    assert_eq!(code(&["--miss", "1e-6"]), Some(3));
    for wrong in [
        &["--miss", "2"][..],
        &["--miss", "often"],
        &["--confidence", "100%"],
        &["--tolerance", "0"],
        &["--flows", "nobody"],
        &["--json", "--csv"],
    ] {
        let output = plant.run(wrong);
        assert_eq!(output.status.code(), Some(2), "{wrong:?}");
        assert!(output.stdout.is_empty() && !output.stderr.is_empty());
    }
    assert_eq!(
        code(&["--miss", "1%", "--report", "/proc/no/page.html"]),
        Some(4)
    );
}

#[test]
fn what_cannot_be_scaled_names_the_remedy() {
    let greedy = SCENARIO.replace("kind: flood, rate: 20 Mbit/s, size: 1472 B", "over: tcp");
    let plant = Plant::new("greedy", &greedy);
    let output = plant.run(&[]);
    assert_eq!(output.status.code(), Some(2));
    let message = text(&output.stderr);
    assert!(
        message.contains("`load`") && message.contains("give it a `rate`"),
        "{message}"
    );
}

#[test]
fn ctrl_c_ends_with_the_loads_tried() {
    let plant = Plant::new("cut", SCENARIO);
    let mut child = plant
        .command(&["--miss", "1%", "--json", "-v", "--for", "20000 s"])
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let said = BufReader::new(child.stderr.take().unwrap());
    let mut lines = said.lines().map(Result::unwrap);
    assert!(lines.any(|line| line.contains("read ")), "it begins");
    std::thread::sleep(Duration::from_secs(1));
    let pid = child.id().to_string();
    let killed = Command::new("kill").args(["-INT", &pid]).status().unwrap();
    assert!(killed.success());
    let output = child.wait_with_output().unwrap();
    assert_eq!(output.status.code(), Some(130));
    let document: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!(document["partial"], true);
    assert_eq!(document["end"], "interrupted");
}
