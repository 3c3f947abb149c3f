//! `rtether pub`, `sub` and `spy` with types from files, rates and traces.

use std::fs;
use std::io::Write;
use std::process::{Command, Stdio};

use rtether_testkit::{Finish, Folder, Run, signal, skip};
use serde_json::{Value, json};

use crate::hosts::Hosts;
use crate::rtether;
use crate::topic::{line, objects};

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
    let good = folder.write("good.idl", AXIS);
    let bad = folder.write("bad.idl", AXIS.replace("Mode mode", "Mood mode"));
    fs::create_dir_all(folder.file("plant_msgs/msg")).unwrap();
    let wide = folder.write("plant_msgs/msg/Wide.msg", "# no\nwstring a\n");
    let latin = folder.file("latin.idl");
    fs::write(&latin, [0xE9]).unwrap();
    for (arguments, messages) in [
        (&["sub", "T", "--idl", &bad][..], &["bad.idl:6:9", "`Mood`", "help: "][..]),
        (&["sub", "T", "--idl", &good, "--type", "Robot"], &["`Robot`", "Cell::Axis"]),
        (&["sub", "T", "--idl", &latin], &["UTF-8"]),
        (&["sub", "T", "--type", "Robot"], &["shape", "--idl"]),
        (&["pub", "T", "--value", "x: 1"], &["--idl"]),
        (&["pub", "T", "--idl", &good, "--value", "mode: QUICK"], &["`mode`", "OFF, SLOW, FAST"]),
        (&["sub", "/t", "--msg", "String"], &["std_msgs/msg/String"]),
        (
            &["sub", "/t", "--msg", "nowhere_msgs/msg/Robot"],
            &["nowhere_msgs/msg/Robot.msg", "--msg-path"],
        ),
        (&["sub", "/t", "--msg", &wide], &["Wide.msg:2:1", "wide strings"]),
        (&["ping", "10.0.0.1", "--trace", "t.pcapng"], &["--via rtps"]),
    ] {
        let output = rtether().args(arguments).run();
        output.exits(2);
        for message in messages {
            output.says(message);
        }
    }
}

#[test]
fn values_of_a_file_of_idl_arrive() {
    let Some(hosts) = Hosts::new() else { return };
    // Oracle: the lines fed, all of them and in order; omitted members are zero or empty.
    let folder = Folder::new("idl-values");
    let idl = folder.write("cell.idl", AXIS);
    let common = format!("Axes --idl {idl} --type Axis --reliable --depth 0");
    let read = format!("sub {common} -n 3 --for 30s --json");
    let reading = Hosts::start(&hosts.far, &read);
    let write = format!("pub {common} --values - --period 1ms --xcdr 2");
    let write: Vec<&str> = write.split(' ').collect();
    let mut writing = Hosts::command(&hosts.near, &write).stdin(Stdio::piped()).start();
    let lines =
        "number: 1, mode: FAST\n{\"number\": 2, \"path\": [{\"x\": 0.5}]}\nname: \"\u{fc}\"\n";
    let mut input = writing.stdin.take().unwrap();
    input.write_all(lines.as_bytes()).unwrap();
    drop(input);
    let read = reading.finish();
    let written = writing.finish();
    read.exits(0);
    written.exits(0);
    let objects = objects(&read);
    let values: Vec<&Value> = objects.iter().map(|object| &object["value"]).take(3).collect();
    let expected = [
        json!({"number": 1, "mode": "FAST", "path": [], "name": ""}),
        json!({"number": 2, "mode": "OFF", "path": [{"x": 0.5, "y": 0.0}], "name": ""}),
        json!({"number": 0, "mode": "OFF", "path": [], "name": "\u{fc}"}),
    ];
    assert_eq!(values, expected.iter().collect::<Vec<_>>());
    written.shows("FAST");
}

/// Writes packages of messages; returns their folder.
fn packages(folder: &Folder) -> String {
    for package in ["plant_msgs/msg", "shop_msgs/msg"] {
        fs::create_dir_all(folder.file(package)).unwrap();
    }
    let pose = "std_msgs/Header header\nshop_msgs/Point place\nPart[<=2] parts  # of the robot\n\
                uint8[3] code\nint32 LIMIT=3\n";
    folder.write("plant_msgs/msg/Pose.msg", pose);
    folder.write("plant_msgs/msg/Part.msg", "string<=8 name\nint16[] turns\n");
    folder.write("shop_msgs/msg/Point.msg", "float64 x\nfloat64 y\n");
    folder.file("plant_msgs/msg/Pose.msg")
}

#[test]
fn values_of_a_message_of_ros_arrive() {
    let Some(hosts) = Hosts::new() else { return };
    // Oracle: the line fed; omitted members are zero or empty. One side names the file, the other
    // the message and the folder.
    let folder = Folder::new("messages");
    let file = packages(&folder);
    let around = file.strip_suffix("/plant_msgs/msg/Pose.msg").unwrap();
    let read = format!("sub /pose --msg plant_msgs/msg/Pose --msg-path {around} -n 1 --json");
    let reading = Hosts::start(&hosts.far, &format!("{read} --for 30s --reliable"));
    let write = format!("pub /pose --msg {file} -n 1 --reliable --values -");
    let write: Vec<&str> = write.split(' ').collect();
    let mut writing = Hosts::command(&hosts.near, &write).stdin(Stdio::piped()).start();
    let value = "header: {stamp: {sec: 7}, frame_id: map}, place: {x: 1.5, y: -2}, \
                 parts: [{name: arm, turns: [1, -1]}], code: [1, 2, 3]\n";
    let mut input = writing.stdin.take().unwrap();
    input.write_all(value.as_bytes()).unwrap();
    drop(input);
    let read = reading.finish();
    writing.finish().exits(0);
    read.exits(0);
    let expected = json!({
        "header": {"stamp": {"sec": 7, "nanosec": 0}, "frame_id": "map"},
        "place": {"x": 1.5, "y": -2.0},
        "parts": [{"name": "arm", "turns": [1, -1]}],
        "code": [1, 2, 3],
    });
    assert_eq!(objects(&read)[0]["value"], expected);
}

#[test]
fn a_described_type_needs_no_file() {
    let Some(hosts) = Hosts::new() else { return };
    // Oracle: the values that are written, with the names of the file that only the writer has.
    let folder = Folder::new("described");
    let file = packages(&folder);
    let write = format!("pub /pose --msg {file} --describe-type --for 20s --json --value");
    let mut write: Vec<&str> = write.split(' ').collect();
    write.push("parts: [{name: arm, turns: [1, -1]}], code: [1, 2, 3]");
    let writing = Hosts::command(&hosts.near, &write).start();
    let read = Hosts::start(&hosts.far, "sub /pose -n 1 --for 15s --json").finish();
    let nothing = Hosts::start(&hosts.far, "sub /nowhere -n 1 --for 1s").finish();
    signal(writing.id(), "-INT");
    drop(writing.wait_with_output());
    read.exits(0).says("plant_msgs::msg::dds_::Pose_");
    let value = &objects(&read)[0]["value"];
    assert_eq!(value["parts"], json!([{"name": "arm", "turns": [1, -1]}]));
    assert_eq!(value["header"]["stamp"], json!({"sec": 0, "nanosec": 0}));
    nothing.exits(3).says("nobody writes or reads");
}

#[test]
fn a_type_that_nobody_describes_is_told() {
    let Some(hosts) = Hosts::new() else { return };
    let folder = Folder::new("undescribed");
    let file = packages(&folder);
    let writing = Hosts::start(&hosts.near, &format!("pub /pose --msg {file} --for 20s --json"));
    let read = Hosts::start(&hosts.far, "sub /pose -n 1 --for 15s").finish();
    signal(writing.id(), "-INT");
    drop(writing.wait_with_output());
    read.exits(2).says("does not describe its type").says("--msg");
}

#[test]
fn delays_say_what_the_clocks_allow() {
    let Some(hosts) = Hosts::new() else { return };
    // Oracle: where the writer is: on the same host there is one clock, on another there are two;
    // and the figures of the samples themselves.
    let read = "sub Square -n 20 --for 30s --reliable --depth 0 --delay --json";
    let here = Hosts::start(&hosts.near, read);
    let there = Hosts::start(&hosts.far, &format!("{read} --clock-error 1ms"));
    let write = "pub Square --period 10ms --reliable --depth 0 --for 20s --json";
    let writing = Hosts::start(&hosts.near, write);
    let (here, there) = (here.finish(), there.finish());
    signal(writing.id(), "-INT");
    drop(writing.wait_with_output());
    for (read, is_one, error) in [(&here, true, 0), (&there, false, 1_000_000)] {
        read.exits(0);
        let objects = objects(read);
        let (summary, samples) = objects.split_last().unwrap();
        let delays = &summary["delays"]["writers"][0];
        let latencies = samples.iter().map(|one| one["latency_ns"].as_i64().unwrap());
        let (least, most) = (latencies.clone().min(), latencies.max());
        assert_eq!(delays["samples"], 20);
        assert_eq!(delays["min_ns"].as_i64(), least);
        assert_eq!(delays["max_ns"].as_i64(), most);
        assert_eq!(delays["one_clock"], is_one);
        assert_eq!(delays["clock_error_ns"], error);
    }
}

#[test]
fn rates_are_those_of_the_writer() {
    let Some(hosts) = Hosts::new() else { return };
    // Oracle: the writer's own count, since it begins at the first match: every sample arrived or
    // was counted as missed. A shape without octets has 36 or 40 in XCDR1, depending on the color.
    let spying = Hosts::start(&hosts.far, "spy --rates --for 2500ms --json");
    let write = "pub Square --period 10ms --count 100 --durability transient-local --for 6s --json";
    let writing = Hosts::start(&hosts.near, write);
    let spied = spying.finish();
    signal(writing.id(), "-INT");
    drop(writing.wait_with_output());
    spied.exits(0);
    let census = spied.json();
    let rate = &census["endpoints"][0]["rate"];
    let samples = rate["samples"].as_u64().unwrap();
    let missed = rate["missed"].as_u64().unwrap();
    assert!((1..100).contains(&samples) && samples + missed < 100, "{census:#}");
    // Header, length and text of the color, three numbers, length of the octets.
    assert_eq!(rate["payload_bytes"].as_u64(), Some(samples * (4 + 4 + 8 + 12 + 4)));
    let span = rate["span_ns"].as_u64().unwrap();
    assert_eq!(rate["rate_millihertz"].as_u64(), Some(samples * 1_000_000_000_000 / span));
}

#[test]
fn a_trace_is_read_by_tshark() {
    let version = Command::new("tshark").arg("--version").output();
    if !version.is_ok_and(|output| output.status.success()) {
        return skip("there is no tshark; `apt-get install tshark`");
    }
    let Some(hosts) = Hosts::new() else { return };
    let folder = Folder::new("trace");
    let trace = folder.file("sub.pcapng");
    let read = format!("sub Square -n 5 --depth 0 --for 30s --trace {trace}");
    let reading = Hosts::start(&hosts.far, &read);
    let writing = Hosts::start(&hosts.near, "pub Square -n 5 --period 5ms");
    let read = reading.finish();
    drop(writing.wait_with_output());
    read.exits(0).says("datagrams in the trace");
    // Oracle: the dissector: every packet is RTPS, none is malformed or has a wrong checksum, and
    // it contains the samples and the discovery data of both sides.
    let dissect = |filter: &str| {
        let output = Command::new("tshark")
            .args(["-r", &trace, "-o", "ip.check_checksum:TRUE"])
            .args(["-o", "udp.check_checksum:TRUE"])
            .args(["-T", "fields", "-e", "ip.src", "-Y", filter])
            .run();
        output.exits(0);
        output.out.lines().map(str::to_owned).collect::<Vec<_>>()
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
        .args(["-r", &trace, "-T", "fields"])
        .args(["-e", "frame.time_epoch", "-c", "1"])
        .run();
    let first: f64 = times.out.trim().parse().unwrap();
    let now = std::time::UNIX_EPOCH.elapsed().unwrap().as_secs_f64();
    assert!((now - 60.0..now).contains(&first), "{first} of {now}");
}

#[test]
fn a_trace_that_cannot_be_written_is_told() {
    // Oracle: `/dev/full` has no room; the participant still runs to its end.
    let alone = "spy --domain 224 --interface 127.0.0.1 --no-multicast";
    line(&format!("{alone} --for 200ms --trace /dev/full")).exits(3).says("the trace ended");
    line(&format!("{alone} --trace /nowhere/at.all")).exits(4);
}

#[test]
#[ignore = "long"]
fn fast_dds_asks_for_a_type() {
    // Oracle: the type and the samples that Fast DDS prints. It is in no package of Debian in a
    // version that asks as the standard says; `interop/ask.sh` tells where to get it.
    let Some(prefix) = std::env::var_os("RTETHER_FASTDDS") else {
        skip("needs Fast DDS 3, whose folder is in RTETHER_FASTDDS");
        return;
    };
    if !rtether_testkit::is_root() {
        return;
    }
    let script = concat!(env!("CARGO_MANIFEST_DIR"), "/../../interop/ask.sh");
    let mut ask = Command::new(script);
    ask.arg(env!("CARGO_BIN_EXE_rtether")).arg(prefix);
    let ended = ask.run();
    assert_eq!(ended.code, Some(0), "{}{}", ended.out, ended.err);
    assert_eq!(ended.out.matches("ok ").count(), 5, "{}", ended.out);
}
