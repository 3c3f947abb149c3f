//! The command as its users see it. Oracle: the documented exit codes, and a second run.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on may panic")]

mod bounds;
mod library;
#[cfg(target_os = "linux")]
mod live;
mod values;

use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};
use std::time::Duration;

fn rtether() -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_rtether"));
    command.env_remove("COLUMNS");
    command
}

fn scenarios() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../scenarios")
}

fn run(arguments: &[&str]) -> Output {
    rtether()
        .args(arguments)
        .current_dir(scenarios())
        .output()
        .unwrap()
}

fn stdout(output: &Output) -> String {
    String::from_utf8_lossy(&output.stdout).into_owned()
}

fn stderr(output: &Output) -> String {
    String::from_utf8_lossy(&output.stderr).into_owned()
}

#[test]
fn the_number_of_threads_changes_no_byte() {
    let result = |jobs: &str| {
        run(&[
            "check",
            "bottling-line.yaml",
            "--json",
            "--histogram",
            "--buckets",
            "--runs",
            "6",
            "--for",
            "3s",
            "-j",
            jobs,
        ])
    };
    let (one, two) = (result("1"), result("2"));
    assert!(!one.stdout.is_empty(), "{}", stderr(&one));
    assert_eq!(one.stdout, two.stdout);
    assert_eq!(one.status.code(), two.status.code());
}

#[test]
fn another_seed_is_another_run() {
    let result = |seed: &str| {
        run(&[
            "check",
            "bottling-line.yaml",
            "--json",
            "--for",
            "2s",
            "--seed",
            seed,
        ])
    };
    assert_ne!(result("1").stdout, result("2").stdout);
}

/// Oracle: the same rows as CSV, with the same names.
#[test]
fn every_result_has_one_object_per_row() {
    let flow = "{ name: x, from: plc1, to: drive1, period: 10 ms, size: 64 B, deadline: 5 ms }";
    for arguments in [
        &["check", "bottling-line.yaml", "--for", "2s"][..],
        &["sim", "bottling-line.yaml", "--for", "2s"],
        &["bound", "bottling-line.yaml"],
        &["bound", "bottling-line.yaml", "--ports"],
        &[
            "bound",
            "bottling-line.yaml",
            "--what-if",
            "flows.setpoint.pcp=0",
        ],
        &["admit", "bottling-line.yaml", "--flow", flow],
        &["why", "bottling-line.yaml", "setpoint", "--for", "2s"],
        &["reproduce", "skeie-volume"],
    ] {
        let [csv, objects] = ["csv", "ndjson"].map(|format| {
            let output = run(&[arguments, &["--format", format]].concat());
            assert!(
                !output.stdout.is_empty(),
                "{arguments:?}: {}",
                stderr(&output)
            );
            stdout(&output)
        });
        let header = csv.lines().next().unwrap();
        let mut count = 0;
        for line in objects.lines() {
            let object: serde_json::Value = serde_json::from_str(line).unwrap();
            let names = object.as_object().unwrap().keys();
            assert_eq!(names.cloned().collect::<Vec<_>>().join(","), header);
            count += 1;
        }
        let quoted = csv.matches('\n').count() - 1;
        assert_eq!(count, quoted, "{arguments:?}");
    }
}

/// Oracle: the width, and the bytes of a pipe.
#[test]
fn tables_fit_the_columns_unless_they_are_wide() {
    let arguments = ["check", "bottling-line.yaml", "--for", "2s"];
    let piped = run(&arguments);
    for columns in [60, 80, 120, 200] {
        let in_columns = |more: &[&str]| {
            let mut command = rtether();
            command.args(arguments).args(more);
            command.current_dir(scenarios());
            command
                .env("COLUMNS", columns.to_string())
                .output()
                .unwrap()
        };
        let text = stdout(&in_columns(&[]));
        let widest = text.lines().map(|line| line.chars().count()).max();
        assert!(widest <= Some(columns), "{text}");
        assert_eq!(in_columns(&["--wide"]).stdout, piped.stdout);
        assert_eq!(
            in_columns(&["--csv"]).stdout,
            run(&[&arguments[..], &["--csv"]].concat()).stdout
        );
    }
}

/// Oracle: the output without the flag, and the arguments.
#[test]
fn verbose_tells_what_is_done_and_changes_no_result() {
    let arguments = ["check", "dolejs-4nodes.yaml", "--for", "1s", "--seed", "7"];
    let (plain, verbose) = (run(&arguments), run(&[&arguments[..], &["-v"]].concat()));
    assert_eq!(plain.stdout, verbose.stdout);
    for said in [
        "read dolejs-4nodes.yaml: ",
        "of 1 s, seeds from 7",
        "simulated ",
    ] {
        assert!(stderr(&verbose).contains(said), "{}", stderr(&verbose));
        assert!(!stderr(&plain).contains(said), "{}", stderr(&plain));
    }
}

#[test]
fn json_holds_what_it_promises() {
    let output = run(&["check", "dolejs-4nodes.yaml", "--json", "--for", "1s"]);
    assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
    let document: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!(document["schema"], "rtether.result/1");
    let flow = document["flows"][0].as_object().unwrap();
    for key in [
        "name",
        "talker",
        "listener",
        "deadline_ns",
        "bound_ns",
        "sim",
        "measured",
        "verdict",
    ] {
        assert!(flow.contains_key(key), "{key}");
    }
    // Oracle: no simulated value exceeds the proved bound.
    let bound = flow["bound_ns"].as_f64().unwrap();
    assert!(bound >= flow["sim"]["max_ns"].as_f64().unwrap());
    assert!(flow["measured"].is_null());
    for key in [
        "count",
        "lost",
        "p50_ns",
        "p99_ns",
        "p999_ns",
        "max_ns",
        "miss_ratio",
    ] {
        assert!(
            flow["sim"]
                .get(key)
                .is_some_and(serde_json::Value::is_number),
            "{key}"
        );
    }
}

#[test]
fn a_missed_deadline_is_exit_code_1() {
    let output = run(&[
        "check",
        "dolejs-4nodes.yaml",
        "--for",
        "1s",
        "-q",
        "--set",
        "flows.issue 1-2.deadline=150us",
    ]);
    assert_eq!(output.status.code(), Some(1), "{}", stderr(&output));
    assert!(stdout(&output).contains("1 late"), "{}", stdout(&output));
}

#[test]
fn wrong_input_is_exit_code_2() {
    for arguments in [
        &["check", "nowhere.yaml"][..],
        &[
            "check",
            "dolejs-4nodes.yaml",
            "--set",
            "flows.nobody.deadline=1ms",
        ],
        &["check", "dolejs-4nodes.yaml", "--set", "no equals sign"],
        &["chekc", "dolejs-4nodes.yaml"],
        &["new", "x", "--template", "dodecahedron"],
        &["reproduce", "skeie-falt"],
        // Nothing runs unless all names are known.
        &["reproduce", "skeie-volume", "skeie-falt"],
        &["reproduce", "valentim-outliers"],
    ] {
        let output = run(arguments);
        assert_eq!(
            output.status.code(),
            Some(2),
            "{arguments:?}: {}",
            stderr(&output)
        );
        assert!(
            output.stdout.is_empty() && !output.stderr.is_empty(),
            "{arguments:?}"
        );
    }
    assert!(stderr(&run(&["reproduce", "skeie-falt"])).contains("did you mean `skeie-flat`"));
}

#[test]
fn what_cannot_be_written_is_exit_code_4_and_leaves_nothing() {
    let output = run(&[
        "check",
        "dolejs-4nodes.yaml",
        "--for",
        "1s",
        "--report",
        "/proc/no/report.html",
    ]);
    assert_eq!(output.status.code(), Some(4));
    assert!(stderr(&output).contains("/proc/no/report.html"));
}

#[test]
fn all_results_in_one_directory() {
    let directory = std::env::temp_dir().join(format!("rtether-out-{}", std::process::id()));
    let path = directory.to_str().unwrap();
    let output = run(&[
        "check",
        "dolejs-4nodes.yaml",
        "--for",
        "1s",
        "-q",
        "--out",
        path,
    ]);
    assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
    let mut names: Vec<String> = std::fs::read_dir(&directory)
        .unwrap()
        .map(|entry| entry.unwrap().file_name().to_string_lossy().into_owned())
        .collect();
    names.sort();
    let expected = [
        "buckets.csv",
        "collisions.csv",
        "flows.csv",
        "histogram.csv",
        "layer-queues.csv",
        "media.csv",
        "nodes.csv",
        "ports.csv",
        "report.html",
        "result.json",
        "smoothers.csv",
        "transfers.csv",
    ];
    assert_eq!(names, expected);
    std::fs::remove_dir_all(&directory).unwrap();
}

#[test]
fn traces_hold_every_frame_and_every_delivery() {
    let directory = std::env::temp_dir().join(format!("rtether-trace-{}", std::process::id()));
    std::fs::create_dir_all(&directory).unwrap();
    let file = |name: &str| directory.join(name).to_str().unwrap().to_owned();
    let (pcap, packets) = (file("run.pcapng"), file("packets.csv"));
    let output = run(&[
        "sim",
        "dolejs-4nodes.yaml",
        "--for",
        "1s",
        "-q",
        "--pcap",
        &pcap,
        "--packets",
        &packets,
    ]);
    assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
    // 100 round trips and 100 issues of two pairs, over two links each way: the block type of an
    // enhanced packet occurs once for each of 2 * (100 * 4 + 100 * 2) frames.
    let capture = std::fs::read(&pcap).unwrap();
    let mut frames = 0;
    let mut at = 0;
    while at + 8 <= capture.len() {
        let word = |from: usize| u32::from_le_bytes(capture[from..from + 4].try_into().unwrap());
        frames += usize::from(word(at) == 6);
        at += usize::try_from(word(at + 4)).unwrap();
    }
    assert_eq!((at, frames), (capture.len(), 1200));
    let lines = std::fs::read_to_string(&packets).unwrap();
    assert_eq!(lines.lines().count(), 1 + 400);
    std::fs::remove_dir_all(&directory).unwrap();
}

#[test]
fn a_scenario_from_a_template_passes() {
    let directory = std::env::temp_dir().join(format!("rtether-new-{}", std::process::id()));
    std::fs::create_dir_all(&directory).unwrap();
    let in_directory = |arguments: &[&str]| {
        rtether()
            .args(arguments)
            .current_dir(&directory)
            .output()
            .unwrap()
    };
    for shape in ["line", "star", "ring", "substation", "hub"] {
        // The name defaults to that of the shape.
        let output = in_directory(&["new", "--template", shape]);
        assert_eq!(
            output.status.code(),
            Some(0),
            "{shape}: {}",
            stderr(&output)
        );
        let file = format!("{shape}.yaml");
        let output = in_directory(&["check", &file, "--for", "2s", "-q", "--runs", "1"]);
        assert_eq!(
            output.status.code(),
            Some(0),
            "{shape}: {}{}",
            stdout(&output),
            stderr(&output)
        );
        let again = in_directory(&["new", shape, "--template", shape]);
        assert_eq!(
            again.status.code(),
            Some(2),
            "an existing file is not replaced"
        );
    }
    std::fs::remove_dir_all(&directory).unwrap();
}

#[test]
fn ctrl_c_ends_with_partial_results() {
    let mut child = rtether()
        .args([
            "check",
            "substation.yaml",
            "--for",
            "2000 s",
            "--json",
            "-v",
        ])
        .current_dir(scenarios())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let said = BufReader::new(child.stderr.take().unwrap());
    let mut lines = said.lines().map(Result::unwrap);
    assert!(lines.any(|line| line.contains("simulating ")), "it begins");
    std::thread::sleep(Duration::from_secs(3));
    let pid = child.id().to_string();
    assert!(
        Command::new("kill")
            .args(["-INT", &pid])
            .status()
            .unwrap()
            .success()
    );
    let output = child.wait_with_output().unwrap();
    assert_eq!(output.status.code(), Some(130));
    let document: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!(document["partial"], true);
    assert!(document["duration_ns"].as_f64().unwrap() < 2e12);
}

#[test]
fn ctrl_c_ends_a_trace_too() {
    let directory = std::env::temp_dir().join(format!("rtether-cut-{}", std::process::id()));
    std::fs::create_dir_all(&directory).unwrap();
    let packets = directory.join("packets.csv");
    // A trace that cannot be written ends the command and leaves no file.
    let child = rtether()
        .args(["sim", "substation.yaml", "--for", "4 s", "-q", "--packets"])
        .arg(&packets)
        .args(["--pcap", "/dev/null/not-a-directory"])
        .current_dir(scenarios())
        .output()
        .unwrap();
    assert_eq!(child.status.code(), Some(4), "{}", stderr(&child));
    let mut cut = rtether()
        .args([
            "sim",
            "substation.yaml",
            "--for",
            "2000 s",
            "-q",
            "--packets",
        ])
        .arg(&packets)
        .current_dir(scenarios())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    std::thread::sleep(Duration::from_secs(2));
    let pid = cut.id().to_string();
    assert!(
        Command::new("kill")
            .args(["-INT", &pid])
            .status()
            .unwrap()
            .success()
    );
    assert_eq!(cut.wait().unwrap().code(), Some(130));
    let left: Vec<_> = std::fs::read_dir(&directory)
        .unwrap()
        .map(|e| e.unwrap().file_name())
        .collect();
    assert!(left.iter().all(|name| name == "packets.csv"), "{left:?}");
    std::fs::remove_dir_all(&directory).unwrap();
}

#[test]
fn a_reader_that_leaves_early_is_no_failure() {
    let mut child = rtether()
        .args(["schema"])
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    drop(child.stdout.take());
    let output = child.wait_with_output().unwrap();
    assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
}
