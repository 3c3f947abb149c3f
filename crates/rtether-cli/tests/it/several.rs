//! `check` of several scenarios. Oracle: the same files checked alone.

use rtether_testkit::{Ended, Folder, Run};
use serde_json::Value;

use super::rtether;

const PLANT: &str = "rtether: 1
name: NAME
nodes: { a: { stack: zero }, b: { stack: zero } }
links: [{ ends: [a, b], rate: 100 Mbit/s }]
flows: [{ name: f, from: a, to: b, period: 4 ms, size: 64 B, deadline: DEADLINE }]
run: { for: 100 ms, warmup: WARMUP }
";

/// Names, deadlines and times left out: met, late, and a run in which nothing is delivered.
const PLANTS: [(&str, &str, &str); 3] =
    [("met", "1 ms", "0 ms"), ("late", "1 us", "0 ms"), ("silent", "1 ms", "99 ms")];

fn folder() -> Folder {
    let folder = Folder::new("several");
    for (name, deadline, warmup) in PLANTS {
        let text = PLANT.replace("NAME", name).replace("DEADLINE", deadline);
        folder.write(&format!("{name}.yaml"), text.replace("WARMUP", warmup));
    }
    folder.write("wrong.yaml", "rtether: 1\nnodes: 3\n");
    folder
}

fn check(folder: &Folder, line: &str) -> Ended {
    let mut command = rtether();
    command.current_dir(folder.path()).arg("check");
    command.args(line.split(' ')).run()
}

#[test]
fn the_exit_code_is_the_worst() {
    let folder = folder();
    let alone = |name: &str| check(&folder, name).code;
    assert_eq!(
        ["met.yaml", "late.yaml", "silent.yaml", "wrong.yaml"].map(alone),
        [0, 1, 3, 2].map(Some)
    );
    for (line, code) in [
        ("met.yaml met.yaml", 0),
        ("met.yaml silent.yaml", 3),
        ("late.yaml silent.yaml met.yaml", 1),
        ("silent.yaml late.yaml", 1),
        ("wrong.yaml late.yaml", 2),
        ("late.yaml wrong.yaml met.yaml", 2),
        ("met.yaml nosuch.yaml", 2),
    ] {
        check(&folder, line).exits(code);
    }
    let both = check(&folder, "met.yaml late.yaml --quiet");
    let alone = ["met.yaml --quiet", "late.yaml --quiet"].map(|line| check(&folder, line).out);
    assert_eq!(both.out, alone.concat());
}

#[test]
fn json_is_an_array_and_each_has_a_suite() {
    let folder = folder();
    let ended =
        check(&folder, "met.yaml wrong.yaml late.yaml --json --junit out.xml --sarif out.sarif");
    ended.exits(2);
    let all = ended.json();
    let alone = ["met.yaml", "late.yaml"].map(|name| {
        let ended = check(&folder, &format!("{name} --json"));
        ended.json()
    });
    assert_eq!(all, Value::from(alone.to_vec()));
    let junit = folder.read("out.xml");
    assert_eq!(junit.matches("<testsuite ").count(), 3, "{junit}");
    assert!(
        junit.contains(
            "<testsuites name=\"rtether check\" tests=\"3\" failures=\"1\" errors=\"1\">"
        ),
        "{junit}"
    );
    let sarif: Value = serde_json::from_str(&folder.read("out.sarif")).unwrap();
    let results = sarif["runs"][0]["results"].as_array().unwrap();
    let files = results
        .iter()
        .map(|own| own["locations"][0]["physicalLocation"]["artifactLocation"]["uri"].as_str());
    let files: Vec<&str> = files.flatten().collect();
    assert!(files.contains(&"wrong.yaml") && files.contains(&"late.yaml"), "{files:?}");
}

#[test]
fn what_has_one_result_is_refused() {
    let folder = folder();
    for option in [
        "--report out.html",
        "--out all",
        "--csv",
        "--format openmetrics",
        "--fail links",
        "--baseline met.json",
        "--adversarial 5 --adversarial-out worst.yaml",
        "--live emulated",
    ] {
        let ended = check(&folder, &format!("met.yaml late.yaml {option}"));
        ended.exits(2).says("has the result of one scenario");
    }
    assert_eq!(folder.names(), ["late.yaml", "met.yaml", "silent.yaml", "wrong.yaml"]);
}
