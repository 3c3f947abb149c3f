//! `rtether calibrate`.

use std::io::Write;
use std::process::{Command, Stdio};
use std::time::Duration;

use serde_json::Value;

use crate::{rtether, skip, stderr};

/// Returns whether this host can be calibrated; reports why not.
fn is_possible(test: &str) -> bool {
    let asked = rtether()
        .args(["doctor", "--watch", "0s", "--for", "calibrate"])
        .output()
        .unwrap();
    if asked.status.success() {
        return true;
    }
    skip(test, &stderr(&asked));
    false
}

fn namespaces(process: u32) -> Vec<String> {
    let list = Command::new("ip").args(["netns", "list"]).output().unwrap();
    let text = String::from_utf8_lossy(&list.stdout).into_owned();
    let own = format!("rtether-calibrate-{process}");
    let names = text.lines().filter(|line| line.starts_with(&own));
    names.map(str::to_owned).collect()
}

#[test]
fn parts_make_up_the_round_trip_and_the_profile_is_a_scenario() {
    // Oracle: arithmetic. The parts of both ends and the far end's own code add up to the round
    // trip, so twice the sum of the smallest parts is at most its median; and the profile loads and
    // runs.
    if !is_possible("calibrate") {
        return;
    }
    let file = std::env::temp_dir().join(format!("rtether-ho-{}.yaml", std::process::id()));
    let output = rtether()
        .args(["calibrate", "--json", "-n", "100", "-s", "64", "-s", "1000"])
        .args([
            "--over",
            "veth",
            "--waiting",
            "block",
            "--name",
            "box",
            "--out",
        ])
        .arg(&file)
        .output()
        .unwrap();
    assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
    let document: Value = serde_json::from_slice(&output.stdout).unwrap();
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
    let profile = std::fs::read_to_string(&file).unwrap();
    std::fs::remove_file(&file).unwrap();
    let scenario = format!(
        "rtether: 1\n{profile}nodes:\n  a: {{ stack: box-udp-block }}\n  b: {{ stack: box-raw-block \
         }}\nlinks:\n  - {{ ends: [a, b], rate: 1 Gbit/s }}\nflows:\n  - {{ name: f, from: a, to: b, \
         period: 1 ms, size: 64 B }}\naccept:\n  - {{ flow: f, lost: 0 }}\nrun: {{ for: 1 s }}\n"
    );
    let mut check = rtether()
        .args(["check", "-", "--json"])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let mut input = check.stdin.take().unwrap();
    input.write_all(scenario.as_bytes()).unwrap();
    drop(input);
    let output = check.wait_with_output().unwrap();
    assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
}

#[test]
fn nothing_is_left_behind_after_ctrl_c() {
    // Oracle: the list of namespaces; those of the process contain its number.
    if !is_possible("nothing_is_left_behind_after_ctrl_c") {
        return;
    }
    let child = rtether()
        .args(["calibrate", "--waiting", "block", "--csv"])
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
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
    let kill = Command::new("kill")
        .args(["-INT", &process.to_string()])
        .status();
    assert!(kill.unwrap().success());
    let output = child.wait_with_output().unwrap();
    assert_eq!(output.status.code(), Some(130));
    assert!(output.stdout.starts_with(b"path,via,waiting,"));
    assert_eq!(namespaces(process), Vec::<String>::new());
}
