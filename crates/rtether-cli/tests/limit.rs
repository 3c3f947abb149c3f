//! `rtether limit` as its users see it.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on may panic")]

use std::process::Command;
use std::time::Duration;

use rtether_testkit::{Ended, Finish, Folder, Run, signal, until_says};

/// One small flow with a deadline, and 20 Mbit/s to the same 100 Mbit/s port, in gaps that vary a
/// little, so that a run forgets its phases.
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
  - { name: load, from: b, to: c, kind: sporadic, min_gap: 600 us, mean_gap: 615.2 us, size: 1472 B }
run: { for: 1 s, seeds: 4 }
";

/// A scenario in a separate directory, removed at the end.
struct Plant(Folder);

impl Plant {
    fn new(test: &str, text: &str) -> Self {
        let folder = Folder::new(test);
        folder.write("plant.yaml", text);
        Self(folder)
    }

    fn command(&self, arguments: &[&str]) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_rtether"));
        command.args(["limit", "plant.yaml"]).args(arguments);
        command.current_dir(self.0.path());
        command
    }

    fn run(&self, arguments: &[&str]) -> Ended {
        self.command(arguments).run()
    }

    fn line(&self, line: &str) -> Ended {
        self.run(&line.split(' ').collect::<Vec<_>>())
    }
}

#[test]
fn the_limit_is_found_and_told_in_every_form() {
    let plant = Plant::new("forms", SCENARIO);
    let json = plant.line("--miss 1% --json");
    json.exits(0);
    let document = json.json();
    assert_eq!(document["schema"], "rtether.limit/1");
    assert_eq!(document["end"], "found");
    // 100 Mbit/s less the 1.04 Mbit/s of the flow with the deadline.
    let limit = document["limit"]["load_bps"].as_f64().unwrap();
    assert!((limit / 98.96e6 - 1.0).abs() < 0.02, "{limit}");
    let table = plant.run(&["--miss", "0.01", "--confidence", "95 %", "--report", "page.html"]);
    let table = table.out;
    assert!(table.starts_with("plant\nPASS. The limit is 98."), "{table}");
    let page = plant.0.read("page.html");
    assert!(page.contains("Input limit of the network"));
    let csv = plant.line("--miss 10000ppm --csv");
    let mut rows = csv.out;
    rows.retain(|c| c != '\r');
    assert!(rows.starts_with("kind,name,factor_ratio,load_bps"), "{rows}");
    assert!(rows.contains("\nlimit equal,b,") && rows.contains("\nlimit by need,b,"));
    // One line, which is the second of the table.
    let line = plant.line("--miss 1% --quiet").out;
    assert_eq!(line.trim_end(), table.lines().nth(1).unwrap());
    // The same on any number of threads.
    let again = plant.line("--miss 1% --json --runs 4 -j 1");
    assert_eq!(json.out, again.out);
}

#[test]
fn exit_codes_say_how_it_ended() {
    let plant = Plant::new("codes", SCENARIO);
    let heavy =
        SCENARIO.replace("min_gap: 600 us, mean_gap: 615.2 us", "min_gap: 40 us, mean_gap: 41 us");
    let heavy = heavy.replace("for: 1 s", "for: 1 s, overload: allow");
    Plant::new("heavy", &heavy).line("--miss 1%").exits(1);
    plant.run(&["--miss", "1e-6"]).exits(3);
    for wrong in [
        "--miss 2",
        "--miss often",
        "--confidence 100%",
        "--tolerance 0",
        "--flows nobody",
        "--json --csv",
    ] {
        let output = plant.line(wrong);
        output.exits(2);
        assert!(output.out.is_empty() && !output.err.is_empty());
    }
    plant.line("--miss 1% --report /proc/no/page.html").exits(4);
}

#[test]
fn what_cannot_be_scaled_names_the_remedy() {
    let greedy = SCENARIO
        .replace("kind: sporadic, min_gap: 600 us, mean_gap: 615.2 us, size: 1472 B", "over: tcp");
    let plant = Plant::new("greedy", &greedy);
    plant.run(&[]).exits(2).says("`load`").says("give it a `rate`");
}

#[test]
fn ctrl_c_ends_with_the_loads_tried() {
    let plant = Plant::new("cut", SCENARIO);
    let mut child = plant.command(&["--miss", "1%", "--json", "-v", "--for", "20000 s"]).start();
    let _said = until_says(&mut child, "read ");
    std::thread::sleep(Duration::from_secs(1));
    signal(child.id(), "-INT");
    let document = child.finish().exits(130).json();
    assert_eq!(document["partial"], true);
    assert_eq!(document["end"], "interrupted");
}
