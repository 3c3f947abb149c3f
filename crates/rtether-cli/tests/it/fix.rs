//! `check --fix`. Oracles: `git apply` on the diff that it prints, `check` of what comes of it, and
//! files written by hand.

use std::fs::File;
use std::process::Command;

use rtether_testkit::{Ended, Folder, Run, is_root};

use super::rtether;

/// Four slips with one meaning each, and a missing key whose value is the author's.
const SLIPS: &str = "rtether: 1  # of the format
nodes: { plc: { stack: zero }, drive: { stack: zero } }  # two stations
links:
  - { ends: [plc, drvie], rate: 100 Mbit/s }  # one cable
flows:
  - name: set
    from: plc   # who asks
    to: drive
    perod: 4,5 ms  # decimal comma, wrong key
    size: 64    # octets
  - { name: act, from: drive, to: plc, period: 4 msec, deadline: 2 ms }
";

/// [`SLIPS`] as its author meant it, by hand; `act` has no size yet.
const MENDED: &str = "rtether: 1  # of the format
nodes: { plc: { stack: zero }, drive: { stack: zero } }  # two stations
links:
  - { ends: [plc, drive], rate: 100 Mbit/s }  # one cable
flows:
  - name: set
    from: plc   # who asks
    to: drive
    period: 4.5 ms  # decimal comma, wrong key
    size: 64 B    # octets
  - { name: act, from: drive, to: plc, period: 4 ms, deadline: 2 ms }
";

/// One frame takes 6.72 us at 100 Mbit/s, and 67.2 us at 10.
const LATE: &str = "rtether: 1
nodes: { a: { stack: zero }, b: { stack: zero } }
links:
  - { ends: [a, b], rate: 10 Mbit/s }  # to be replaced next year
flows:
  - { name: f, from: a, to: b, period: 4 ms, size: 46 B, over: raw, deadline: 50 us }
run: { for: 1 s }
";

fn fix(folder: &Folder, line: &str) -> Ended {
    let mut command = rtether();
    command.current_dir(folder.path()).args(["check"]);
    command.args(line.split(' ')).run()
}

/// Applies a diff by another program.
fn applied(folder: &Folder, diff: &str) {
    folder.write("x.diff", diff);
    let mut git = Command::new("git");
    git.current_dir(folder.path());
    git.args(["apply", "-p0", "x.diff"]).run().exits(0);
}

#[test]
fn the_diff_is_what_write_writes() {
    let folder = Folder::new("fix");
    folder.write("plant.yaml", SLIPS);
    let shown = fix(&folder, "--fix plant.yaml");
    // Nothing is written, so the file is as wrong as it was.
    shown.exits(2).says("`--write` writes them").says("yours to choose");
    assert_eq!(folder.read("plant.yaml"), SLIPS);
    applied(&folder, &shown.out);
    assert_eq!(folder.read("plant.yaml"), MENDED);
    folder.write("plant.yaml", SLIPS);
    let written = fix(&folder, "--fix --write plant.yaml");
    written.exits(2).says("edits written");
    assert_eq!(folder.read("plant.yaml"), MENDED);
    assert_eq!(written.out, shown.out);
    // What is left is for the author: an example fills the gap.
    fix(&folder, "--fix --write plant.yaml").exits(2).says("no edit to make");
    fix(&folder, "--fix=all --write plant.yaml").exits(0).says("PASS. ");
    fix(&folder, "plant.yaml").exits(0);
}

#[test]
fn what_would_help_is_an_edit_if_all_are_asked_for() {
    let folder = Folder::new("fix-help");
    folder.write("late.yaml", LATE);
    let none = fix(&folder, "--fix late.yaml");
    none.exits(1).says("no edit to make");
    assert_eq!(none.out, "");
    let all = fix(&folder, "--fix=all --write late.yaml");
    all.exits(0).says("PASS. ");
    assert_eq!(folder.read("late.yaml"), LATE.replace("10 Mbit/s", "100 Mbit/s"));
    fix(&folder, "late.yaml").exits(0);
    // The same edit as data, in the result and for editors.
    folder.write("late.yaml", LATE);
    let result = fix(&folder, "late.yaml --json --sarif x.sarif").json();
    let edit = &result["help"]["changes"][0]["replace"];
    assert_eq!(edit["file"], "late.yaml");
    assert_eq!((&edit["line"], &edit["replacement"]), (&4.into(), &"100 Mbit/s".into()));
    let sarif: serde_json::Value = serde_json::from_str(&folder.read("x.sarif")).unwrap();
    let results = sarif["runs"][0]["results"].as_array().unwrap();
    let late = results.iter().find(|own| own["ruleId"] == "late").unwrap();
    let fixed = &late["fixes"][0]["artifactChanges"][0];
    let replacement = &fixed["replacements"][0];
    assert_eq!(replacement["deletedRegion"]["startLine"], 4);
    assert_eq!(replacement["insertedContent"]["text"], "100 Mbit/s");
}

/// Each edit names its file; the diff has all of them.
#[test]
fn included_files_are_mended_too() {
    let folder = Folder::new("fix-include");
    let flows = "flows: [{ name: f, from: a, to: b, period: 2 msec, size: 64 B }]  # ours\n";
    let main = "rtether: 1\ninclude: [flows.yaml]\nnodes: { a: { stack: zero }, b: { stack: zero } }\n\
        links: [{ ends: [a, b], rate: 0,1 Gbit/s }]\n";
    folder.write("flows.yaml", flows);
    folder.write("main.yaml", main);
    let found = fix(&folder, "--fix --write main.yaml --json");
    found.exits(0);
    let document = found.json();
    let files: Vec<_> =
        document["made"].as_array().unwrap().iter().map(|own| &own["file"]).collect();
    assert!(
        files.contains(&&"flows.yaml".into()) && files.contains(&&"main.yaml".into()),
        "{files:?}"
    );
    assert_eq!(
        (&document["before"], &document["after"]),
        (&serde_json::Value::Null, &"PASS".into())
    );
    assert_eq!(folder.read("flows.yaml"), flows.replace("msec", "ms"));
    assert_eq!(folder.read("main.yaml"), main.replace("0,1", "0.1"));
}

/// Oracle: the messages of the loader as data, with the place of each edit.
#[test]
fn messages_carry_their_edits() {
    let folder = Folder::new("fix-json");
    folder.write("plant.yaml", SLIPS);
    let found = fix(&folder, "plant.yaml --message-format json");
    let first: serde_json::Value = serde_json::from_str(found.err.lines().next().unwrap()).unwrap();
    let edit = &first["edits"][0];
    let (start, end) = (edit["start"].as_u64().unwrap(), edit["end"].as_u64().unwrap());
    let range = usize::try_from(start).unwrap()..usize::try_from(end).unwrap();
    assert!(!SLIPS[range].is_empty(), "{first}");
    assert_eq!((&edit["file"], &edit["tried"]), (&"plant.yaml".into(), &true.into()));
}

#[test]
fn what_cannot_be_written_says_why() {
    let folder = Folder::new("fix-refused");
    folder.write("plant.yaml", SLIPS);
    let mut piped = rtether();
    piped.current_dir(folder.path()).args(["check", "--fix", "-"]);
    let shown = piped.stdin(File::open(folder.file("plant.yaml")).unwrap()).run();
    shown.exits(2);
    assert!(shown.out.contains("+    period: 4.5 ms"), "{}", shown.out);
    fix(&folder, "--fix --write -").exits(2).says("standard input is none");
    fix(&folder, "--write plant.yaml").exits(2).says("--fix");
    fix(&folder, "--fix --sarif x.sarif plant.yaml").exits(2).says("cannot be used with");
    if !is_root() {
        return;
    }
    // A user who may read the folder, and write nothing in it.
    let mut command = Command::new("setpriv");
    command.args(["--reuid", "65534", "--regid", "65534", "--clear-groups"]);
    command.args([env!("CARGO_BIN_EXE_rtether"), "check", "--fix", "--write", "plant.yaml"]);
    let refused = command.current_dir(folder.path()).run();
    refused.exits(4).says("writing `plant.yaml`: ").says("nothing is written");
    assert_eq!(folder.read("plant.yaml"), SLIPS);
}

/// Line ends of another system stay.
#[test]
fn line_ends_stay() {
    let folder = Folder::new("fix-crlf");
    let text = SLIPS.replace('\n', "\r\n");
    folder.write("plant.yaml", &text);
    fix(&folder, "--fix=all --write plant.yaml").exits(0);
    let after = folder.read("plant.yaml");
    assert_eq!(after.matches('\n').count(), after.matches("\r\n").count(), "{after:?}");
}
