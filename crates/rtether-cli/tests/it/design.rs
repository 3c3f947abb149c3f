//! `design`. Oracles: `bound` and `check` of the written file, `diff`, and the documented exit codes.

use std::fmt::Write as _;
use std::time::Duration;

use rtether_testkit::{Dice, Ended, Finish, Folder, Run, follows_schema, signal};

use super::{rtether, scenarios};

fn in_folder(folder: &Folder, line: &str) -> Ended {
    rtether().current_dir(folder.path()).args(line.split(' ')).run()
}

/// Returns a folder with a demo plant.
fn demo(test: &str, name: &str) -> Folder {
    let folder = Folder::new(test);
    folder.write("plant.yaml", std::fs::read_to_string(scenarios().join(name)).unwrap());
    folder
}

#[test]
fn what_is_written_is_proved_and_simulates_below_its_bounds() {
    let folder = demo("design", "goose-multicast.yaml");
    let mut text = folder.read("plant.yaml");
    text.push_str("design: { allow: [pcp, queues, layers] }  # no windows\n");
    folder.write("plant.yaml", text);
    let found = in_folder(&folder, "design plant.yaml -o new.yaml --report page.html --json");
    let document = found.exits(0).json();
    follows_schema(&document);
    assert_eq!(document["schema"], "rtether.design/1");
    assert_eq!(document["proved_after"], 7);
    in_folder(&folder, "bound new.yaml").exits(0);
    in_folder(&folder, "check new.yaml -q --runs 8 --for 1s").exits(0);
    let (old, new) = (folder.read("plant.yaml"), folder.read("new.yaml"));
    let edited = new.lines().filter(|line| old.lines().all(|own| own != *line));
    assert_eq!(edited.count(), 3, "{new}");
    let page = folder.read("page.html");
    let path = document["edits"][0]["path"].as_str().unwrap();
    assert!(page.contains(path) && page.contains("7 of 7"), "the page tells the edits");
    // The same edits as options.
    let edits = document["edits"].as_array().unwrap().iter();
    let changes = edits.flat_map(|edit| edit["changes"].as_array().unwrap());
    let mut command = rtether();
    command.current_dir(folder.path()).args(["bound", "plant.yaml"]);
    for change in changes {
        command.args(["--set", change.as_str().unwrap()]);
    }
    command.run().exits(0);
    // There is nothing left to do.
    in_folder(&folder, "design new.yaml").exits(0).shows("7 of 7 deadlines proved as it is");
}

#[test]
fn what_is_impossible_is_said_at_once() {
    let folder = demo("design-hub", "hub.yaml");
    let found = in_folder(&folder, "design plant.yaml -o new.yaml");
    found.exits(1).shows("FAIL. No edit that is allowed proves message 1");
    assert_eq!(folder.read("new.yaml"), folder.read("plant.yaml"));
}

/// Oracle: `bound`, which says the same of the same plant.
#[test]
fn what_a_design_rests_on_is_said() {
    let folder = Folder::new("design-assumed");
    let bay = scenarios().join("../docs/guides/bay.scd");
    folder.write("bay.scd", std::fs::read(bay).unwrap());
    in_folder(&folder, "import bay.scd -o plant.yaml").exits(0);
    let words = "if 34 assumptions hold";
    in_folder(&folder, "bound plant.yaml").exits(0).shows(words);
    in_folder(&folder, "design plant.yaml").exits(0).shows(&format!("as it is {words}"));
    let explain = ["design", "plant.yaml", "--explain", "Relay1/LD0/gcbTrip event to Control"];
    rtether().current_dir(folder.path()).args(explain).run().exits(0).shows(words);
    // A proof holds for each value of the intervals of its stacks.
    let tight = ["--trials", "300", "-o", "new.yaml", "--set", "flows[*].deadline=1.1 ms"];
    let mut command = rtether();
    command.current_dir(folder.path()).args(["design", "plant.yaml", "--json"]).args(tight);
    let document = command.run().json();
    let bounds = in_folder(&folder, "bound new.yaml --csv").out;
    let proved = bounds.lines().filter(|line| line.contains(",ok,")).count();
    assert_eq!(document["proved_after"], proved);
    assert!(document["proved_before"].as_u64() < document["proved_after"].as_u64());
}

#[test]
fn wrong_input_of_a_design_is_exit_code_2() {
    let folder = demo("design-wrong", "goose-multicast.yaml");
    in_folder(&folder, "design plant.yaml -o plant.yaml").exits(2).says("would replace");
    in_folder(&folder, "design plant.yaml -o new.yaml --report new.yaml").exits(2);
    in_folder(&folder, "design nowhere.yaml").exits(2);
    in_folder(&folder, "design plant.yaml --set design.allow=[pcp,colour]")
        .exits(2)
        .says("`allow` cannot be `colour`");
    in_folder(&folder, "design plant.yaml -o /proc/no/new.yaml").exits(4);
}

#[test]
fn what_prevents_a_deadline_is_named() {
    let folder = demo("design-explain", "bottling-line.yaml");
    in_folder(&folder, "design plant.yaml --explain setpont")
        .exits(2)
        .says("no flow is named `setpont`; did you mean `setpoint`?");
    in_folder(&folder, "design plant.yaml --explain setpoint -o new.yaml").exits(2);
    let mut text = folder.read("plant.yaml");
    text =
        text.replace("size: 64 B,  pcp: 6, deadline: 1 ms", "size: 64 B, pcp: 6, deadline: 200 us");
    text.push_str("design: { allow: [pcp] }\n");
    folder.write("late.yaml", text);
    let found = in_folder(&folder, "design late.yaml --explain setpoint --json");
    let document = found.exits(1).json();
    follows_schema(&document);
    assert_eq!(document["schema"], "rtether.explained/1");
    // By hand: its packets take 200 us in drive1, and some time before.
    let causes = document["causes"].as_array().unwrap();
    assert!(causes.iter().any(|own| own["name"] == "receive of drive1"), "{document}");
    let rows = in_folder(&folder, "design late.yaml --explain setpoint --csv").exits(1).out.clone();
    assert_eq!(rows.lines().count(), causes.len() + 1, "{rows}");
    in_folder(&folder, "design plant.yaml --explain feedback").exits(0).shows("feedback (deadline");
}

/// A plant in which 43 of 60 deadlines are proved as it is, and more with edits.
fn crowd() -> String {
    let mut text = "rtether: 1\nnodes:\n".to_owned();
    for node in 0..24 {
        writeln!(text, "  n{node}: {{ stack: {{ send: 20 us, receive: 20 us }} }}").unwrap();
    }
    text.push_str("switches: { sw: { ports: 24 } }\nlinks:\n");
    for node in 0..24 {
        let port = node + 1;
        writeln!(text, "  - {{ ends: [n{node}, \"sw:{port}\"], rate: 100 Mbit/s }}").unwrap();
    }
    text.push_str("flows:  # of the crowd\n");
    for flow in 0..60 {
        let (from, to) = (flow % 24, (flow * 7 + 1) % 23);
        let to = if to == from { 23 } else { to };
        writeln!(
            text,
            "  - {{ name: f{flow}, from: n{from}, to: n{to}, period: 4 ms, size: 200 B, deadline: {} us }}",
            110 + flow % 6 * 100
        )
        .unwrap();
    }
    text
}

/// Oracle: `bound` of the written file proves what the document says, whenever the design is ended.
#[test]
fn ctrl_c_ends_a_design_with_the_best_so_far() {
    let folder = Folder::new("design-cut");
    folder.write("plant.yaml", crowd());
    let mut dice = Dice::new(20);
    let mut most = 0;
    for number in 0..10 {
        let child = rtether()
            .current_dir(folder.path())
            .args(["design", "plant.yaml", "-o", "new.yaml", "--trials", "1000000", "--json"])
            .start();
        // Some before the first trial, some in the midst of the search.
        let moment = dice.between(1, [200, 2000][number % 2]);
        std::thread::sleep(Duration::from_millis(moment));
        signal(child.id(), "-INT");
        let ended = child.finish();
        ended.exits(130);
        if ended.out.is_empty() {
            // The file was not yet read.
            assert!(moment < 200, "nothing after {moment} ms");
            continue;
        }
        let document = ended.json();
        assert_eq!(document["end"], "interrupted");
        let bounds = in_folder(&folder, "bound new.yaml --csv").out;
        let proved = bounds.lines().filter(|line| line.contains(",ok,")).count();
        assert_eq!(document["proved_after"], proved, "ended after {moment} ms");
        most = most.max(proved);
    }
    assert!(most >= 43, "{most}");
}
