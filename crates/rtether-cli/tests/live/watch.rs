//! `watch` at one end of a wire, and a plant at the other.
//!
//! Oracle: the faults that the test puts into the traffic; what the kernel says of the process.

use std::fs;
use std::path::PathBuf;
use std::process::{Child, Command};
use std::time::{Duration, Instant};

use rtether_testkit::{
    Arrival, BAY, Bay, Does, Finish, Folder, Run, STRANGER, example, signal, skip, until_says,
};
use serde_json::Value;

use crate::hosts::Hosts;

const MS: i64 = 1_000_000;
const SECOND: i64 = 1_000 * MS;
/// A program that sends frames may be stopped for this long without a deviation.
const STALL: u64 = 120_000;

/// The plan with periods and deadlines that a program on a busy host keeps.
fn plan() -> String {
    let mut text = BAY.replace("rate: 1000 /s", "rate: 100 /s");
    for deadline in ["3 ms", "5 ms", "20 ms"] {
        text = text.replace(&format!("deadline: {deadline}"), "deadline: 200 ms");
    }
    text
}

struct Bed {
    hosts: Hosts,
    folder: Folder,
    bay: Bay,
    /// The program that sends.
    replay: PathBuf,
}

impl Bed {
    fn new(test: &str) -> Option<Self> {
        let hosts = Hosts::new()?;
        let folder = Folder::new(test);
        folder.write("plan.yaml", plan());
        folder.write("shown.yaml", Bay::shown());
        let mut sim = crate::rtether();
        let sim =
            sim.current_dir(folder.path()).args("sim shown.yaml --pcap shown.pcapng".split(' '));
        assert_eq!(sim.run().code, Some(0));
        let mut bay = Bay::of(&fs::read(folder.path().join("shown.pcapng")).unwrap());
        bay.samples = 10 * MS;
        let replay = example("rtether-live", "replay");
        Some(Self { hosts, folder, bay, replay })
    }

    fn watch(&self, line: &str) -> Child {
        let mut command = Hosts::command(&self.hosts.near, &[]);
        let line = format!("watch wire --plan plan.yaml {line}");
        let command = command.args(line.split(' '));
        command.current_dir(self.folder.path()).start()
    }

    /// Sends traffic from the other end; returns the largest delay of the program, in microseconds.
    fn send(&self, all: &[Arrival]) -> u64 {
        let mut octets = Vec::new();
        for (at, frame) in all {
            octets.extend(at.to_le_bytes());
            octets.extend(u32::try_from(frame.len()).unwrap().to_le_bytes());
            octets.extend(frame);
        }
        let file = self.folder.write("frames", &octets);
        let sent = Command::new("ip")
            .args(["netns", "exec", &self.hosts.far])
            .arg(&self.replay)
            .args(["wire", &file])
            .run();
        sent.exits(0);
        sent.out.trim().parse().unwrap()
    }
}

/// Returns flow and deviation of each alert.
fn alerts(out: &str) -> Vec<(String, String)> {
    let objects = out.lines().filter_map(|line| serde_json::from_str::<Value>(line).ok());
    let alerts = objects.filter_map(|object| {
        let deviation = object.get("deviation")?.as_str()?.to_owned();
        Some((object["flow"].as_str()?.to_owned(), deviation))
    });
    alerts.collect()
}

fn status(pid: u32, name: &str) -> Option<String> {
    let status = fs::read_to_string(format!("/proc/{pid}/status")).ok()?;
    let line = status.lines().find(|line| line.starts_with(name))?;
    line.split_whitespace().nth(1).map(str::to_owned)
}

/// Returns the memory of a process in kilobytes, while it runs.
fn memory(pid: u32) -> Option<u64> {
    status(pid, "VmRSS:")?.parse().ok()
}

/// The program that runs in the namespace: `ip` becomes it.
fn started(child: &mut Child) {
    drop(until_says(child, "watching `wire`"));
}

#[test]
fn faults_on_a_wire_are_found_in_the_order_in_which_they_come() {
    let Some(bed) = Bed::new("watch") else { return };
    let mut child = bed.watch("--learn 5s --pause 1s --metrics watch.prom --format ndjson");
    started(&mut child);
    let pid = child.id();
    assert_eq!(status(pid, "CapEff:").as_deref(), Some("0000000000000000"), "rights are given up");
    assert_ne!(status(pid, "Uid:").as_deref(), Some("0"));
    let mut all = bed.bay.traffic(0, 0..26, 1);
    let faults = [
        ("heartbeat", Does::Shift(350 * MS), "late"),
        ("setpoint", Does::Remove(2), "missing"),
        ("samples", Does::Copy(3 * MS), "faster"),
        ("status", Does::Remove(60), "missing"),
        ("trip", Does::Copy(100_000), "faster"),
        ("status", Does::Change(|frame| frame[15] ^= 1), "vlan"),
        ("samples", Does::Change(|frame| frame[14] ^= 0x20), "priority"),
        ("samples", Does::Change(|frame| frame[11] ^= 0x55), "not-planned"),
    ];
    let mut expected: Vec<(String, String)> = Vec::new();
    for (number, (flow, does, deviation)) in (0..).zip(faults) {
        bed.bay.spoil(&mut all, flow, does, 9 * SECOND + number * 2 * SECOND);
        let name = if deviation == "not-planned" { STRANGER } else { flow };
        expected.push((name.to_owned(), deviation.to_owned()));
    }
    // A frame under another address is missing in its own flow.
    expected.push(("samples".to_owned(), "missing".to_owned()));
    let stall = bed.send(&all);
    signal(pid, "-INT");
    let ended = child.finish();
    let found = alerts(&ended.out);
    if found != expected && stall > STALL {
        return skip("the host stopped the sender for long");
    }
    assert_eq!(found, expected, "{}", ended.out);
    ended.exits(1);
    let page = bed.folder.read("watch.prom");
    let line = "rtether_watch_deviations_total{device=\"wire\",flow=\"status\",listener=\"plc\",deviation=\"vlan\"} 1";
    assert!(page.lines().any(|own| own == line), "{page}");
}

/// Oracle: the exit code of an interruption, and its word.
#[test]
fn a_watch_that_ends_early_says_so() {
    let Some(bed) = Bed::new("early") else { return };
    let mut child = bed.watch("--for 60s --json");
    started(&mut child);
    signal(child.id(), "-INT");
    let ended = child.finish();
    ended.exits(130);
    assert_eq!(ended.json()["conclusion"], "INTERRUPTED");
}

/// Watches traffic without faults; memory must not grow once learning has ended.
fn quiet(bed: &Bed, seconds: i64) {
    let mut child = bed.watch("--learn 5s --json");
    started(&mut child);
    let pid = child.id();
    let all = bed.bay.traffic(0, 0..seconds, 2);
    let (stall, before, after) = std::thread::scope(|scope| {
        let sending = scope.spawn(|| {
            let stall = bed.send(&all);
            // At once: a plant that has ended is silent.
            signal(pid, "-INT");
            stall
        });
        std::thread::sleep(Duration::from_secs(9));
        let before = memory(pid).unwrap();
        let mut after = before;
        while !sending.is_finished() {
            std::thread::sleep(Duration::from_millis(500));
            after = memory(pid).unwrap_or(after);
        }
        (sending.join().unwrap(), before, after)
    });
    let ended = child.finish();
    let result = ended.json();
    if result["deviates"] == true && stall > STALL {
        return skip("the host stopped the sender for long");
    }
    assert_eq!(result["deviates"], false, "{}", ended.err);
    ended.exits(0);
    assert_eq!(result["dropped"], 0);
    let frames = result["frames"].as_u64().unwrap() - result["service"].as_u64().unwrap();
    assert_eq!(frames, all.len() as u64);
    assert!(after <= before + 512, "{before} kB, then {after} kB");
}

/// Oracle: what is sent. While the watch stands still more comes than it takes at once, and
/// its time is over when it goes on.
#[test]
fn what_waits_at_the_end_is_seen_or_counted() {
    let Some(bed) = Bed::new("watch-end") else {
        return;
    };
    let mut child = bed.watch("--learn 200ms --for 3s --json");
    started(&mut child);
    std::thread::sleep(Duration::from_millis(500));
    signal(child.id(), "-STOP");
    let frame = &bed.bay.frames["setpoint"];
    let all: Vec<Arrival> = (0..20_000).map(|n| (n * 10_000, frame.clone())).collect();
    bed.send(&all);
    std::thread::sleep(Duration::from_secs(3));
    signal(child.id(), "-CONT");
    let ended = child.finish();
    let result = ended.json();
    let [frames, dropped] = ["frames", "dropped"].map(|key| result[key].as_u64().unwrap());
    // The hosts themselves send a few, too.
    assert!(frames + dropped >= 20_000, "{frames} seen, {dropped} dropped");
}

#[test]
fn a_plant_without_faults_raises_no_alert_and_takes_no_memory() {
    let Some(bed) = Bed::new("watch-quiet") else {
        return;
    };
    quiet(&bed, 14);
}

#[test]
#[ignore = "long"]
fn half_an_hour_raises_no_alert_and_takes_no_memory() {
    let Some(bed) = Bed::new("watch-long") else {
        return;
    };
    let begin = Instant::now();
    quiet(&bed, 1_800);
    assert!(begin.elapsed() > Duration::from_mins(30));
}

#[test]
fn what_cannot_be_watched_is_said() {
    let Some(bed) = Bed::new("watch-wrong") else {
        return;
    };
    let ended = |line: &str| {
        let mut command = Hosts::command(&bed.hosts.near, &[]);
        command.args(line.split(' ')).current_dir(bed.folder.path()).run()
    };
    let none = ended("watch nosuch --plan plan.yaml --for 1s");
    assert!(none.err.contains("no network device `nosuch`"), "{}", none.err);
    let none = ended("watch wire --plan nosuch.yaml");
    none.exits(2);
    // Nobody sends: no answer.
    let quiet = ended("watch wire --plan plan.yaml --for 300ms --json");
    let result = quiet.json();
    assert_eq!(result["flows"][0]["frames"], 0);
}
