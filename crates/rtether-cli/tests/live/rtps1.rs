//! RTPS 1.0 beside other things: a program in C, and participants of 2.5.

use std::path::PathBuf;
use std::process::Command;

use rtether_testkit::{Finish, Folder, Run, c_library, signal, skip, until_says};

use crate::hosts::Hosts;
use crate::topic::objects;

/// Builds the program of numbered samples on the C library; `None` where there is no compiler.
fn numbered() -> Option<PathBuf> {
    if Command::new("cc").arg("--version").output().is_err() {
        skip("needs cc");
        return None;
    }
    let library = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join("c-of-topics");
    c_library(&library);
    let live = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../rtether-live");
    let program = library.join("numbered");
    Command::new("cc")
        .args(["-std=c11", "-o"])
        .arg(&program)
        .arg(live.join("tests/c/numbered.c"))
        .arg("-I")
        .arg(live.join("include"))
        .arg("-L")
        .arg(&library)
        .arg("-lrtether")
        .arg(format!("-Wl,-rpath,{}", library.display()))
        .run()
        .exits(0);
    Some(program)
}

#[test]
fn a_program_in_c_has_topics_with_the_command() {
    let Some(hosts) = Hosts::new() else { return };
    let Some(numbered) = numbered() else { return };
    // Oracle: the samples written, all of them and in order, since both sides are strict; their
    // octets, which follow from their numbers.
    let folder = Folder::new("numbered");
    let idl = "@final struct Numbered { unsigned long number; octet fill[60]; };";
    let idl = folder.write("numbered.idl", idl);
    let line = |number| format!("{{number: {number}, fill: {:?}}}", [number; 60]);
    let values: Vec<String> = (1..=60_u8).map(line).collect();
    let values = folder.write("values.yaml", format!("[{}]", values.join(",\n")));
    let in_c = |host: &str, verb: &str, topic: &str| {
        let words = format!("{verb} {topic} small strict 60 10 3 1000 0 0");
        let mut command = Command::new("ip");
        command.args(["netns", "exec", host]).arg(&numbered);
        command.args(words.split(' ')).start()
    };
    let managing = hosts.managers();
    let of = format!("--idl {idl} --type Numbered --rtps 1.0 --reliable --depth 0 -n 60 --for 40s");
    let reading = Hosts::start(&hosts.near, &format!("sub FromC {of} --json"));
    let in_c_reading = in_c(&hosts.far, "sub", "ToC");
    let in_c_writing = in_c(&hosts.far, "pub", "FromC");
    let to_c = format!("pub ToC {of} --values {values} --period 10ms --json");
    let writing = Hosts::start(&hosts.near, &to_c);
    let (read, written) = (reading.finish(), writing.finish());
    let (in_c_read, in_c_written) = (in_c_reading.finish(), in_c_writing.finish());
    for child in managing {
        signal(child.id(), "-INT");
        child.finish().exits(130);
    }
    for ended in [&read, &written, &in_c_read, &in_c_written] {
        ended.exits(0);
    }
    let objects = objects(&read);
    let samples = objects.iter().filter(|one| one["value"].is_object());
    let samples: Vec<(u64, u64)> = samples
        .filter_map(|one| {
            let value = &one["value"];
            Some((value["number"].as_u64()?, value["fill"][59].as_u64()?))
        })
        .collect();
    assert_eq!(samples, (1..=60).map(|n| (n, n)).collect::<Vec<_>>());
    let lines = in_c_read.out.lines();
    let numbers: Vec<&str> = lines.filter_map(|line| line.split(' ').nth(1)).collect();
    let expected: Vec<String> = (1..=60).map(|number: u32| number.to_string()).collect();
    assert_eq!(numbers, expected);
    assert!(!in_c_read.out.contains("broken"), "{}", in_c_read.out);
}

#[test]
fn both_versions_are_on_one_host_at_once() {
    let Some(hosts) = Hosts::new() else { return };
    // Oracle: each reader gets the samples written in its version, told apart by their size, all of
    // them and in order; each spy finds the participants of its version, and counts datagrams of
    // the other, as managers do, which listen to the group of 2.5.
    let versions = [("1.0", 40), ("2.5", 70)];
    let line = |verb: &str, version: &str| {
        format!("{verb} Square --rtps {version} --reliable --depth 0 -n 150 --for 40s --json")
    };
    let mut reading = versions.map(|(version, _)| Hosts::start(&hosts.far, &line("sub", version)));
    // Managers start after the participants of one host, and before those of the other.
    let said = reading.each_mut().map(|child| until_says(child, "participant of domain 0"));
    let mut managing = [&hosts.near, &hosts.far].map(|host| Hosts::start(host, "manager --json"));
    let told = managing.each_mut().map(|child| until_says(child, ":7400"));
    let writing = versions.map(|(version, size)| {
        let own = format!("--period 30ms --size {size}");
        Hosts::start(&hosts.near, &format!("{} {own}", line("pub", version)))
    });
    let spying = versions.map(|(version, _)| {
        let spy = format!("spy --rtps {version} --for 4s --json");
        Hosts::start(&hosts.far, &spy)
    });
    let spied = spying.map(Finish::finish);
    let read = reading.map(Finish::finish);
    let written = writing.map(Finish::finish);
    let managed = managing.map(|child| {
        signal(child.id(), "-INT");
        child.finish()
    });
    drop((said, told));
    for ended in read.iter().chain(&written).chain(&spied) {
        ended.exits(0);
    }
    for (read, (version, size)) in read.iter().zip(versions) {
        let objects = objects(read);
        let samples = objects.iter().filter(|one| one["value"].is_object());
        let samples: Vec<_> = samples
            .map(|one| {
                let size = one["value"]["payload_bytes"].as_u64();
                (one["sequence"].as_u64().unwrap(), size.unwrap())
            })
            .collect();
        let expected: Vec<_> = (1..=150).map(|number| (number, size)).collect();
        assert_eq!(samples, expected, "{version}");
    }
    for (spied, (own, other)) in spied.iter().zip([("1.0", "2.5"), ("2.5", "1.0")]) {
        let census = spied.json();
        let participants = census["participants"].as_array().unwrap();
        assert!(participants.len() >= 2, "{census:#}");
        let is_own = participants.iter().all(|one| one["version"] == own);
        assert!(is_own, "{census:#}");
        if own == "2.5" {
            assert!(census["other_versions"][other].as_u64() > Some(0), "{census:#}");
        }
    }
    for managed in managed {
        managed.exits(130);
        let census = managed.json();
        assert!(census["other_versions"]["2.5"].as_u64() > Some(0), "{census:#}");
    }
}
