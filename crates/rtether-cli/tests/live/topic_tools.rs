//! `rtether pub`, `sub` and `spy` with types from files, rates and traces.

use std::fs;
use std::io::Write;
use std::path::PathBuf;
use std::process::{Command, Stdio};

use serde_json::{Value, json};

use crate::topic::{Hosts, code, interrupt, objects, run};
use crate::{rtether, skip, stderr, stdout};

/// A folder for files; removed on drop.
struct Folder(PathBuf);

impl Folder {
    fn new(test: &str) -> Self {
        let path = std::env::temp_dir().join(format!("rtether-{test}-{}", std::process::id()));
        fs::create_dir_all(&path).unwrap();
        Self(path)
    }

    fn file(&self, name: &str, text: &str) -> String {
        let path = self.path(name);
        fs::write(&path, text).unwrap();
        path
    }

    fn path(&self, name: &str) -> String {
        self.0.join(name).to_str().unwrap().to_owned()
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        drop(fs::remove_dir_all(&self.0));
    }
}

const AXIS: &str = "module Cell {
    enum Mode { OFF, SLOW, FAST };
    struct Point { double x; double y; };
    @appendable struct Axis {
        @key long number;
        Mode mode;
        sequence<Point, 4> path;
        string<16> name;
    };
};
";

#[test]
fn mistakes_in_files_are_told_with_their_place() {
    // Oracle: the documented exit code of wrong input, and the place by hand.
    let folder = Folder::new("idl-mistakes");
    let good = folder.file("good.idl", AXIS);
    let bad = folder.file("bad.idl", &AXIS.replace("Mode mode", "Mood mode"));
    let latin = folder.path("latin.idl");
    fs::write(&latin, [0xE9]).unwrap();
    for (arguments, messages) in [
        (
            &["sub", "T", "--idl", &bad][..],
            &["bad.idl:6:9", "`Mood`", "help: "][..],
        ),
        (
            &["sub", "T", "--idl", &good, "--type", "Robot"],
            &["`Robot`", "Cell::Axis"],
        ),
        (&["sub", "T", "--idl", &latin], &["UTF-8"]),
        (&["sub", "T", "--type", "Robot"], &["shape", "--idl"]),
        (&["pub", "T", "--value", "x: 1"], &["--idl"]),
        (
            &["pub", "T", "--idl", &good, "--value", "mode: QUICK"],
            &["`mode`", "OFF, SLOW, FAST"],
        ),
        (
            &["ping", "10.0.0.1", "--trace", "t.pcapng"],
            &["--via rtps"],
        ),
    ] {
        let output = run(arguments);
        assert_eq!(code(&output), Some(2), "{arguments:?}: {}", stderr(&output));
        for message in messages {
            assert!(
                stderr(&output).contains(message),
                "{arguments:?}: {}",
                stderr(&output)
            );
        }
    }
}

#[test]
fn values_of_a_file_of_idl_arrive() {
    let Some(hosts) = Hosts::new("values_of_a_file_of_idl_arrive") else {
        return;
    };
    // Oracle: the lines fed, all of them and in order; omitted members are zero or empty.
    let folder = Folder::new("idl-values");
    let idl = folder.file("cell.idl", AXIS);
    let common = [
        "Axes",
        "--idl",
        &idl,
        "--type",
        "Axis",
        "--reliable",
        "--depth",
        "0",
    ];
    let read = ["-n", "3", "--for", "30 s", "--json"];
    let reading = Hosts::start(&hosts.far, &[&["sub"][..], &common, &read].concat());
    let write = ["--values", "-", "--period", "1 ms", "--xcdr", "2"];
    let program = env!("CARGO_BIN_EXE_rtether");
    let mut writing = Command::new("ip")
        .args(["netns", "exec", &hosts.near, program, "pub"])
        .args(common)
        .args(write)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let lines =
        "number: 1, mode: FAST\n{\"number\": 2, \"path\": [{\"x\": 0.5}]}\nname: \"\u{fc}\"\n";
    let mut input = writing.stdin.take().unwrap();
    input.write_all(lines.as_bytes()).unwrap();
    drop(input);
    let read = reading.wait_with_output().unwrap();
    let written = writing.wait_with_output().unwrap();
    assert_eq!(code(&read), Some(0), "{}", stderr(&read));
    assert_eq!(code(&written), Some(0), "{}", stderr(&written));
    let objects = objects(&read);
    let values: Vec<&Value> = objects
        .iter()
        .map(|object| &object["value"])
        .take(3)
        .collect();
    let expected = [
        json!({"number": 1, "mode": "FAST", "path": [], "name": ""}),
        json!({"number": 2, "mode": "OFF", "path": [{"x": 0.5, "y": 0.0}], "name": ""}),
        json!({"number": 0, "mode": "OFF", "path": [], "name": "\u{fc}"}),
    ];
    assert_eq!(values, expected.iter().collect::<Vec<_>>());
    assert!(stdout(&written).contains("FAST"), "{}", stdout(&written));
}

#[test]
fn rates_are_those_of_the_writer() {
    let Some(hosts) = Hosts::new("rates_are_those_of_the_writer") else {
        return;
    };
    // Oracle: the writer's own count, since it begins at the first match: every sample arrived or
    // was counted as missed. A shape without octets has 36 or 40 in XCDR1, depending on the color.
    let arguments = [
        "pub", "Square", "--period", "10 ms", "--count", "100", "--json",
    ];
    let spying = Hosts::start(
        &hosts.far,
        &["spy", "--rates", "--for", "2500 ms", "--json"],
    );
    let writing = Hosts::start(
        &hosts.near,
        &[
            &arguments[..],
            &["--durability", "transient-local", "--for", "6 s"],
        ]
        .concat(),
    );
    let spied = spying.wait_with_output().unwrap();
    interrupt(&writing);
    drop(writing.wait_with_output());
    assert_eq!(code(&spied), Some(0), "{}", stderr(&spied));
    let census: Value = serde_json::from_slice(&spied.stdout).unwrap();
    let rate = &census["endpoints"][0]["rate"];
    let samples = rate["samples"].as_u64().unwrap();
    let missed = rate["missed"].as_u64().unwrap();
    assert!(
        (1..100).contains(&samples) && samples + missed < 100,
        "{census:#}"
    );
    // Header, length and text of the color, three numbers, length of the octets.
    assert_eq!(
        rate["payload_bytes"].as_u64(),
        Some(samples * (4 + 4 + 8 + 12 + 4))
    );
    let span = rate["span_ns"].as_u64().unwrap();
    assert_eq!(
        rate["rate_millihertz"].as_u64(),
        Some(samples * 1_000_000_000_000 / span)
    );
}

#[test]
fn a_trace_is_read_by_tshark() {
    let test = "a_trace_is_read_by_tshark";
    let version = Command::new("tshark").arg("--version").output();
    if !version.is_ok_and(|output| output.status.success()) {
        return skip(test, "there is no tshark; `apt-get install tshark`");
    }
    let Some(hosts) = Hosts::new(test) else {
        return;
    };
    let folder = Folder::new("trace");
    let trace = folder.path("sub.pcapng");
    let read = [
        "sub", "Square", "-n", "5", "--depth", "0", "--for", "30 s", "--trace", &trace,
    ];
    let reading = Hosts::start(&hosts.far, &read);
    let writing = Hosts::start(
        &hosts.near,
        &["pub", "Square", "-n", "5", "--period", "5 ms"],
    );
    let read = reading.wait_with_output().unwrap();
    drop(writing.wait_with_output());
    assert_eq!(code(&read), Some(0), "{}", stderr(&read));
    assert!(
        stderr(&read).contains("datagrams in the trace"),
        "{}",
        stderr(&read)
    );
    // Oracle: the dissector: every packet is RTPS, none is malformed or has a wrong checksum, and
    // it contains the samples and the discovery data of both sides.
    let dissect = |filter: &str| {
        let output = Command::new("tshark")
            .args([
                "-r",
                &trace,
                "-o",
                "ip.check_checksum:TRUE",
                "-o",
                "udp.check_checksum:TRUE",
            ])
            .args(["-T", "fields", "-e", "ip.src", "-Y", filter])
            .output()
            .unwrap();
        assert!(output.status.success(), "{}", stderr(&output));
        stdout(&output)
            .lines()
            .map(str::to_owned)
            .collect::<Vec<_>>()
    };
    let all = dissect("frame");
    assert!(all.contains(&"10.78.31.1".to_owned()), "{all:?}");
    assert!(all.contains(&"10.78.31.2".to_owned()), "{all:?}");
    assert_eq!(dissect("rtps").len(), all.len());
    let wrong = "_ws.malformed || ip.checksum.status == 0 || udp.checksum.status == 0";
    assert_eq!(dissect(wrong).len(), 0);
    // Entity kind 2: a user-defined writer with a key.
    let samples = dissect("rtps.sm.id == 0x15 && rtps.sm.wrEntityId.entityKind == 0x02");
    assert_eq!(samples.len(), 5);
    let times = Command::new("tshark")
        .args([
            "-r",
            &trace,
            "-T",
            "fields",
            "-e",
            "frame.time_epoch",
            "-c",
            "1",
        ])
        .output()
        .unwrap();
    let first: f64 = stdout(&times).trim().parse().unwrap();
    let now = std::time::UNIX_EPOCH.elapsed().unwrap().as_secs_f64();
    assert!((now - 60.0..now).contains(&first), "{first} of {now}");
}

#[test]
fn a_trace_that_cannot_be_written_is_told() {
    // Oracle: `/dev/full` has no room; the participant still runs to its end.
    let alone = [
        "--domain",
        "224",
        "--interface",
        "127.0.0.1",
        "--no-multicast",
    ];
    let arguments = ["spy", "--for", "200 ms", "--trace", "/dev/full"];
    let output = rtether().args(arguments).args(alone).output().unwrap();
    assert_eq!(code(&output), Some(3), "{}", stderr(&output));
    assert!(
        stderr(&output).contains("the trace ended"),
        "{}",
        stderr(&output)
    );
    let output = rtether()
        .args(["spy", "--trace", "/nowhere/at.all"])
        .args(alone)
        .output()
        .unwrap();
    assert_eq!(code(&output), Some(4), "{}", stderr(&output));
}
