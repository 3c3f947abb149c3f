//! `rtether calibrate`.

use std::io::Write;
use std::process::Stdio;
use std::time::Duration;

use rtether_testkit::{Finish, Folder, Run, handles_signals, signal, skip, wait_for};

use crate::rtether;

/// Returns whether this host can be calibrated; reports why not.
fn is_possible() -> bool {
    let asked = rtether().args(["doctor", "--watch", "0s", "--for", "calibrate"]).run();
    if asked.code == Some(0) {
        return true;
    }
    skip(&asked.err);
    false
}

fn namespaces(process: u32) -> Vec<String> {
    rtether_testkit::namespaces(&format!("rtether-calibrate-{process}"))
}

#[test]
fn parts_make_up_the_round_trip_and_the_profile_is_a_scenario() {
    // Oracle: arithmetic. The parts of both ends and the far end's own code add up to the round
    // trip, so twice the sum of the smallest parts is at most its median; and the profile loads and
    // runs.
    if !is_possible() {
        return;
    }
    let folder = Folder::new("calibrate");
    let output = rtether()
        .args(["calibrate", "--json", "-n", "100", "-s", "64", "-s", "1000"])
        .args(["--over", "veth", "--waiting", "block"])
        .args(["--name", "box", "--out"])
        .arg(folder.file("box.yaml"))
        .run();
    output.exits(0);
    let document = output.json();
    assert_eq!(document["schema"], "rtether.calibrate/1");
    let rows = document["rows"].as_array().unwrap();
    assert_eq!(rows.len(), 6);
    for row in rows {
        let figure = |part: &str, name: &str| row[part][name].as_f64();
        let all = row["count"].as_u64().unwrap() + row["stalled"].as_u64().unwrap();
        let missing = row["lost"].as_u64().unwrap() + row["unstamped"].as_u64().unwrap();
        assert_eq!(all + missing, 100, "{row}");
        let total = figure("round_trip", "median_ns").unwrap();
        if row["via"] == "icmp" {
            assert_eq!(figure("send", "median_ns"), None);
            continue;
        }
        let least = figure("send", "min_ns").unwrap() + figure("receive", "min_ns").unwrap();
        assert!(least > 0.0 && 2.0 * least <= total, "{row}");
    }
    let profile = folder.read("box.yaml");
    let scenario = format!(
        "rtether: 1\n{profile}nodes:\n  a: {{ stack: box-udp-block }}\n  b: {{ stack: box-raw-block \
         }}\nlinks:\n  - {{ ends: [a, b], rate: 1 Gbit/s }}\nflows:\n  - {{ name: f, from: a, to: b, \
         period: 1 ms, size: 64 B }}\naccept:\n  - {{ flow: f, lost: 0 }}\nrun: {{ for: 1 s }}\n"
    );
    let mut check = rtether().args(["check", "-", "--json"]).stdin(Stdio::piped()).start();
    let mut input = check.stdin.take().unwrap();
    input.write_all(scenario.as_bytes()).unwrap();
    drop(input);
    check.finish().exits(0);
}

#[test]
fn nothing_is_left_behind_after_ctrl_c() {
    // Oracle: the list of namespaces; those of the process contain its number.
    if !is_possible() {
        return;
    }
    let child = rtether().args(["calibrate", "--waiting", "block", "--csv"]).start();
    let process = child.id();
    // Wait for both, for at most five seconds.
    for _ in 0..100 {
        if namespaces(process).len() == 2 {
            break;
        }
        std::thread::sleep(Duration::from_millis(50));
    }
    assert_eq!(namespaces(process).len(), 2);
    std::thread::sleep(Duration::from_millis(300));
    signal(child.id(), "-INT");
    let output = child.finish();
    output.exits(130);
    assert!(output.out.starts_with("path,via,waiting,"));
    assert_eq!(namespaces(process), Vec::<String>::new());
}

/// Oracle: the exit code of an interruption, and a profile of before, which once was replaced by an
/// empty one.
#[test]
fn a_profile_outlives_an_interruption_before_anything_was_measured() {
    if !is_possible() {
        return;
    }
    let folder = Folder::new("calibrate-at-once");
    folder.write("host.yaml", "of before");
    let child = rtether()
        .args(["calibrate", "-n", "1000000", "--out"])
        .arg(folder.file("host.yaml"))
        .start();
    let id = child.id();
    wait_for("it can be interrupted", || handles_signals(id));
    signal(id, "-TERM");
    child.finish().exits(130).says("interrupted before anything was measured");
    assert_eq!(folder.read("host.yaml"), "of before");
    assert_eq!(namespaces(id), [""; 0]);
}
