//! The command as its users see it. Oracle: the documented exit codes, and a second run.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on may panic")]

mod bounds;
mod completions;
mod design;
mod examples;
mod files;
mod fix;
mod foreign;
mod gates;
mod include_from;
mod library;
mod profile;
mod several;
mod values;
mod words;

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Duration;

use rtether_testkit::{Ended, Finish, Folder, Run, signal, until_says};

fn rtether() -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_rtether"));
    command.env_remove("COLUMNS");
    command
}

/// Runs a command line in a folder.
fn run_in(folder: &Folder, line: &str) -> Ended {
    let mut command = rtether();
    command.current_dir(folder.path()).args(line.split(' '));
    command.run()
}

fn scenarios() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../scenarios")
}

fn run(arguments: &[&str]) -> Ended {
    rtether().args(arguments).current_dir(scenarios()).run()
}

/// Runs the words of a line.
fn line(line: &str) -> Ended {
    run(&line.split(' ').collect::<Vec<_>>())
}

#[test]
fn the_number_of_threads_changes_no_byte() {
    let check = "check bottling-line.yaml --json --histogram --buckets --runs 6 --for 3s";
    let [one, two] = ["1", "2"].map(|jobs| line(&format!("{check} -j {jobs}")));
    assert!(!one.out.is_empty(), "{}", one.err);
    assert_eq!(one.out, two.out);
    assert_eq!(one.code, two.code);
}

#[test]
fn another_seed_is_another_run() {
    let check = "check bottling-line.yaml --json --for 2s --seed";
    let [one, two] = ["1", "2"].map(|seed| line(&format!("{check} {seed}")).out);
    assert_ne!(one, two);
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
        &["bound", "bottling-line.yaml", "--what-if", "flows.setpoint.pcp=0"],
        &["admit", "bottling-line.yaml", "--flow", flow],
        &["why", "bottling-line.yaml", "setpoint", "--for", "2s"],
        &["reproduce", "skeie-volume"],
    ] {
        let [csv, objects] = ["csv", "ndjson"].map(|format| {
            let output = run(&[arguments, &["--format", format]].concat());
            assert!(!output.out.is_empty(), "{arguments:?}: {}", output.err);
            output.out
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
            command.env("COLUMNS", columns.to_string()).run()
        };
        let text = in_columns(&[]).out;
        let widest = text.lines().map(|line| line.chars().count()).max();
        assert!(widest <= Some(columns), "{text}");
        assert_eq!(in_columns(&["--wide"]).out, piped.out);
        assert_eq!(in_columns(&["--csv"]).out, run(&[&arguments[..], &["--csv"]].concat()).out);
    }
}

/// Oracle: the output without the flag, and the arguments.
#[test]
fn verbose_tells_what_is_done_and_changes_no_result() {
    let arguments = ["check", "dolejs-4nodes.yaml", "--for", "1s", "--seed", "7"];
    let (plain, verbose) = (run(&arguments), run(&[&arguments[..], &["-v"]].concat()));
    assert_eq!(plain.out, verbose.out);
    for said in ["read dolejs-4nodes.yaml: ", "of 1 s, seeds from 7", "simulated "] {
        verbose.says(said);
        assert!(!plain.err.contains(said), "{}", plain.err);
    }
}

#[test]
fn json_holds_what_it_promises() {
    let output = line("check dolejs-4nodes.yaml --json --for 1s");
    output.exits(0);
    let document = output.json();
    assert_eq!(document["schema"], "rtether.result/1");
    let flow = document["flows"][0].as_object().unwrap();
    for key in
        ["name", "talker", "listener", "deadline_ns", "bound_ns", "sim", "measured", "verdict"]
    {
        assert!(flow.contains_key(key), "{key}");
    }
    // Oracle: no simulated value exceeds the proved bound.
    let bound = flow["bound_ns"].as_f64().unwrap();
    assert!(bound >= flow["sim"]["max_ns"].as_f64().unwrap());
    assert!(flow["measured"].is_null());
    for key in ["count", "lost", "p50_ns", "p99_ns", "p999_ns", "max_ns", "miss_ratio"] {
        assert!(flow["sim"].get(key).is_some_and(serde_json::Value::is_number), "{key}");
    }
}

#[test]
fn a_missed_deadline_is_exit_code_1() {
    let late = ["--set", "flows.issue 1-2.deadline=150us"];
    let arguments = ["check", "dolejs-4nodes.yaml", "--for", "1s", "-q"];
    run(&[arguments.as_slice(), &late].concat()).exits(1).shows("1 late");
}

#[test]
fn wrong_input_is_exit_code_2() {
    for arguments in [
        &["check", "nowhere.yaml"][..],
        &["check", "hub.yaml", "--set", "flows.nobody.deadline=1ms"],
        &["check", "hub.yaml", "--set", "no equals sign"],
        &["chekc", "dolejs-4nodes.yaml"],
        &["new", "x", "--template", "dodecahedron"],
        &["reproduce", "skeie-falt"],
        // Nothing runs unless all names are known.
        &["reproduce", "skeie-volume", "skeie-falt"],
        &["reproduce", "valentim-outliers"],
    ] {
        let output = run(arguments);
        output.exits(2);
        assert!(output.out.is_empty() && !output.err.is_empty(), "{arguments:?}");
    }
    line("reproduce skeie-falt").says("did you mean `skeie-flat`");
}

#[test]
fn what_cannot_be_written_is_exit_code_4_and_leaves_nothing() {
    line("check dolejs-4nodes.yaml --for 1s --report /proc/no/report.html")
        .exits(4)
        .says("/proc/no/report.html");
}

#[test]
fn all_results_in_one_directory() {
    let folder = Folder::new("out");
    let out = folder.path().to_str().unwrap();
    let arguments = ["check", "dolejs-4nodes.yaml", "--for", "1s", "-q"];
    run(&[&arguments[..], &["--out", out]].concat()).exits(0);
    let expected = [
        "buckets.csv",
        "collisions.csv",
        "flows.csv",
        "histogram.csv",
        "ingress.csv",
        "layer-queues.csv",
        "media.csv",
        "nodes.csv",
        "ports.csv",
        "report.html",
        "result.json",
        "smoothers.csv",
        "stages.csv",
        "transfers.csv",
    ];
    assert_eq!(folder.names(), expected);
}

#[test]
fn traces_hold_every_frame_and_every_delivery() {
    let folder = Folder::new("trace");
    let (pcap, packets) = (folder.file("run.pcapng"), folder.file("packets.csv"));
    let arguments = ["sim", "dolejs-4nodes.yaml", "--for", "1s", "-q"];
    let files = ["--pcap", &pcap, "--packets", &packets];
    run(&[&arguments[..], &files].concat()).exits(0);
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
    assert_eq!(folder.read("packets.csv").lines().count(), 1 + 400);
}

#[test]
fn a_scenario_from_a_template_passes() {
    let folder = Folder::new("new");
    let in_folder = |arguments: &[&str]| rtether().args(arguments).current_dir(folder.path()).run();
    for shape in ["line", "star", "ring", "substation", "hub"] {
        // The name defaults to that of the shape.
        in_folder(&["new", "--template", shape]).exits(0);
        let file = format!("{shape}.yaml");
        in_folder(&["check", &file, "--for", "2s", "-q", "--runs", "1"]).exits(0);
        in_folder(&["new", shape, "--template", shape]).exits(2);
    }
}

#[test]
fn discovery_of_ros_nodes_is_simulated_before_they_are_there() {
    let folder = Folder::new("ros2");
    let in_folder = |arguments: &[&str]| rtether().args(arguments).current_dir(folder.path()).run();
    in_folder(&["new", "plant", "--template", "ros2", "--nodes", "5"]).exits(0);
    let found = in_folder(&["sim", "plant.yaml", "--discovery", "--json"]);
    let document = found.exits(0).json();
    assert_eq!(document["schema"], "rtether.discovery/1");
    // Oracle: the template has five streams that say something, and a link for each direction.
    assert_eq!(document["participants"], 5);
    assert_eq!(document["streams_met"], 5);
    assert_eq!(document["links"].as_array().unwrap().len(), 10);
    in_folder(&["new", "x", "--nodes", "5"]).exits(2);
    rtether().args(["sim", "hub.yaml", "--discovery"]).current_dir(scenarios()).run().exits(3);
}

#[test]
fn ctrl_c_ends_with_partial_results() {
    let mut child = rtether()
        .args(["check", "substation.yaml", "--for", "2000 s"])
        .args(["--json", "-v"])
        .current_dir(scenarios())
        .start();
    let _said = until_says(&mut child, "simulating ");
    std::thread::sleep(Duration::from_secs(3));
    signal(child.id(), "-INT");
    let document = child.finish().exits(130).json();
    assert_eq!(document["partial"], true);
    assert!(document["duration_ns"].as_f64().unwrap() < 2e12);
}

#[test]
fn ctrl_c_ends_a_trace_too() {
    let folder = Folder::new("cut");
    let packets = folder.file("packets.csv");
    // A trace that cannot be written ends the command and leaves no file.
    rtether()
        .args(["sim", "substation.yaml", "--for", "4 s", "-q", "--packets"])
        .arg(&packets)
        .args(["--pcap", "/dev/null/not-a-directory"])
        .current_dir(scenarios())
        .run()
        .exits(4);
    let mut cut = rtether()
        .args(["sim", "substation.yaml", "--for", "2000 s", "-q"])
        .args(["--packets", &packets])
        .current_dir(scenarios())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    std::thread::sleep(Duration::from_secs(2));
    signal(cut.id(), "-INT");
    assert_eq!(cut.wait().unwrap().code(), Some(130));
    let left = folder.names();
    assert!(left.iter().all(|name| name == "packets.csv"), "{left:?}");
}

#[test]
fn a_reader_that_leaves_early_is_no_failure() {
    let mut child = rtether().args(["schema"]).start();
    drop(child.stdout.take());
    child.finish().exits(0);
}
