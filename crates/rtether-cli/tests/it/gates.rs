//! What tools for changes read. Oracle: the formats as their definitions have them, by hand, and the
//! lines of the scenario.

use std::path::Path;
use std::process::Command;

use rtether_testkit::{Folder, Run};
use serde_json::Value;

use super::rtether;

const PLANT: &str = "rtether: 1
name: gates & \"quotes\"
nodes:
  a: { stack: zero }
  b: { stack: zero }
  idle: { stack: zero }
switches:
  sw: { ports: 3 }
links:
  - { ends: [a, \"sw:1\"], rate: 10 Mbit/s }
  - { ends: [b, \"sw:2\"], rate: 10 Mbit/s }
  - { ends: [idle, \"sw:3\"], rate: 10 Mbit/s }
flows:
  - { name: held, class: fast, from: a, to: b, period: 10 ms, size: 60 B, deadline: 5 ms }
  - { name: late, from: a, to: b, period: 10 ms, size: 1400 B }
  - { name: free, from: b, to: a, period: 10 ms, size: 60 B }
accept:
  - { flow: held, sim: deadline }
  - { flow: late, sim: { max: 1 ms } }
run: { for: 100 ms, warmup: 0 s }
";

fn written(folder: &Folder, text: &str) -> (rtether_testkit::Ended, String, Value) {
    let plant = folder.path().join("plant.yaml");
    std::fs::write(&plant, text).unwrap();
    let mut command = rtether();
    command.current_dir(folder.path()).args([
        "check",
        "plant.yaml",
        "--junit",
        "junit.xml",
        "--sarif",
        "out.sarif",
        "--annotations",
    ]);
    let ended = command.run();
    let read = |name: &str| std::fs::read_to_string(folder.path().join(name)).unwrap();
    let sarif = serde_json::from_str(&read("out.sarif")).unwrap();
    (ended, read("junit.xml"), sarif)
}

#[test]
fn streams_are_test_cases_and_failures_have_lines() {
    let folder = Folder::new("gates");
    let (ended, junit, sarif) = written(&folder, PLANT);
    assert_eq!(ended.code, Some(1), "{}", ended.err);
    assert!(junit.contains("tests=\"3\" failures=\"1\" errors=\"0\""), "{junit}");
    assert!(junit.contains("name=\"gates &amp; &quot;quotes&quot;\""), "{junit}");
    assert!(junit.contains("<skipped message=\"no requirement\">"), "{junit}");
    assert!(junit.contains("classname=\"gates &amp; &quot;quotes&quot;.fast\""), "{junit}");
    let results = sarif["runs"][0]["results"].as_array().unwrap();
    let found: Vec<(&str, &str, u64)> = results
        .iter()
        .map(|result| {
            let place = &result["locations"][0]["physicalLocation"];
            assert_eq!(place["artifactLocation"]["uri"], "plant.yaml");
            let line = place["region"]["startLine"].as_u64().unwrap();
            let words = ["ruleId", "level"].map(|key| result[key].as_str().unwrap());
            (words[0], words[1], line)
        })
        .collect();
    assert_eq!(found, [("unused-node", "warning", 6), ("late", "error", 15)]);
    let rules = sarif["runs"][0]["tool"]["driver"]["rules"].as_array().unwrap();
    assert_eq!(rules.len(), 2);
    let annotations: Vec<&str> = ended.err.lines().filter(|l| l.starts_with("::")).collect();
    assert_eq!(annotations.len(), 2, "{}", ended.err);
    assert!(annotations[0].starts_with(
        "::warning file=plant.yaml,line=6,endLine=6,col=3,endColumn=7,title=unused-node::"
    ));
    assert!(annotations[1].starts_with("::error file=plant.yaml,line=15,endLine=15,"));
    assert!(!ended.out.contains("::"), "annotations are on standard error");
}

#[test]
fn a_scenario_with_mistakes_leaves_its_mistakes() {
    let folder = Folder::new("gates-mistakes");
    let (ended, junit, sarif) = written(&folder, &PLANT.replace("10 Mbit/s", "10 MBit"));
    assert_eq!(ended.code, Some(2));
    assert!(ended.out.is_empty());
    assert!(junit.contains("tests=\"3\" failures=\"0\" errors=\"3\""), "{junit}");
    assert!(junit.contains("name=\"plant.yaml:10:"), "{junit}");
    let results = sarif["runs"][0]["results"].as_array().unwrap();
    assert_eq!(results.len(), 3);
    assert!(results.iter().all(|result| result["level"] == "error"));
    // A file that cannot be written is an error of its own, before anything runs.
    let mut command = rtether();
    command.current_dir(folder.path());
    command.args(["check", "plant.yaml", "--junit", "plant.yaml"]);
    let ended = command.run();
    assert_eq!(ended.code, Some(2));
    let kept = std::fs::read_to_string(folder.path().join("plant.yaml")).unwrap();
    assert!(kept.starts_with("rtether: 1"));
}

/// Oracle: the exit code; a check that fails leaves no file in which all is held.
#[test]
fn whatever_fails_a_check_is_in_the_files() {
    let folder = Folder::new("gates-sums");
    let sum = "  - { sum: [held, free], max: 1 ms }";
    let text = PLANT.replace("  - { flow: late, sim: { max: 1 ms } }", sum);
    let (ended, junit, sarif) = written(&folder, &text);
    assert_eq!(ended.code, Some(1), "{}", ended.err);
    assert!(junit.contains("failures=\"1\" errors=\"0\""), "{junit}");
    assert!(junit.contains("name=\"sum of held, free\""), "{junit}");
    let results = sarif["runs"][0]["results"].as_array().unwrap();
    let errors = results.iter().filter(|result| result["level"] == "error");
    assert_eq!(errors.count(), 1);
    assert!(ended.err.contains("::error title=late::sum of held, free: "));
    // Single failures have no such files yet, and it is said.
    let mut command = rtether();
    command.current_dir(folder.path());
    command.args(["check", "plant.yaml", "--fail", "links", "--junit", "failures.xml"]);
    let ended = command.run();
    assert_eq!(ended.code, Some(2), "{}", ended.err);
    assert!(!folder.path().join("failures.xml").exists());
}

#[test]
fn the_hook_judges_each_scenario_and_ends_with_the_worst_code() {
    let folder = Folder::new("hook");
    let program = Path::new(env!("CARGO_BIN_EXE_rtether"));
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    std::fs::write(folder.path().join("late.yaml"), PLANT).unwrap();
    let held = PLANT.replace("1 ms }", "9 ms }");
    std::fs::write(folder.path().join("held.yaml"), held).unwrap();
    let hook = |search: &Path, words: &[&str]| {
        let mut command = Command::new("bash");
        command.arg(root.join("packaging/ci/check-each.sh"));
        let path = format!("{}:/usr/bin:/bin", search.display());
        command.args(words).current_dir(folder.path()).env("PATH", path).run()
    };
    let own = program.parent().unwrap();
    let all = hook(own, &["held.yaml", "late.yaml", "held.yaml"]);
    assert_eq!(all.code, Some(1), "{}", all.err);
    assert_eq!(all.out.matches(".yaml:\n").count(), 3, "{}", all.out);
    let held = hook(own, &["--runs", "1", "--", "held.yaml"]);
    assert_eq!(held.code, Some(0), "{}", held.err);
    assert_eq!(hook(own, &["--runs", "none", "--", "held.yaml"]).code, Some(2));
    let missing = hook(folder.path(), &["held.yaml"]);
    assert_eq!(missing.code, Some(4));
    assert!(missing.err.contains("install.md"), "{}", missing.err);
}
