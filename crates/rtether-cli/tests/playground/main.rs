//! The page with rtether in it. Oracle: the command.
//!
//! `cargo xtask test --nightly --part long-playground` builds the page and opens it in a browser;
//! without a browser, or without the page in `RTETHER_PLAYGROUND`, these tests skip themselves. The
//! answers of the same functions without a browser are compared always. Set `RTETHER_SCREENSHOTS`
//! to a directory to keep pictures.

#![allow(
    clippy::unwrap_used,
    clippy::print_stdout,
    reason = "a test that cannot go on may panic, and says what it measures"
)]

mod book;
#[path = "../../../rtether/tests/screenshot/browser.rs"]
#[allow(dead_code, clippy::duplicate_mod, reason = "the tests of reports use all of it")]
mod browser;
mod page;

use std::fs;
use std::path::PathBuf;
use std::process::Command;

use rtether_testkit::{Folder, Run};
use serde_json::{Value, json};

pub(crate) fn root() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../..")
}

/// Returns path and text of every scenario.
pub(crate) fn scenarios() -> Vec<(String, String)> {
    let mut all = Vec::new();
    for entry in fs::read_dir(root().join("scenarios")).unwrap() {
        let path = entry.unwrap().path();
        if path.extension().is_some_and(|ending| ending == "yaml") {
            let name = path.file_name().unwrap().to_str().unwrap();
            let text = fs::read_to_string(&path).unwrap();
            all.push((format!("scenarios/{name}"), text));
        }
    }
    all.sort();
    assert!(all.len() > 10);
    all
}

/// Returns what the command prints.
pub(crate) fn command(arguments: &[&str]) -> String {
    let mut command = Command::new(env!("CARGO_BIN_EXE_rtether"));
    let ended = command.args(arguments).current_dir(root()).run();
    assert!(matches!(ended.code, Some(0 | 1 | 3)), "{}", ended.err);
    ended.out
}

/// Asks without a browser.
fn ask(question: &Value, files: &[u8]) -> Value {
    let line = format!("{question}\n");
    let answer = rtether_wasm::answer(&[line.as_bytes(), files].concat());
    serde_json::from_str(&answer).unwrap()
}

#[test]
fn answers_are_those_of_the_command() {
    for (name, text) in &scenarios() {
        let question = json!({ "do": "bound", "name": name, "text": text });
        let expected = command(&["bound", name, "--json"]);
        assert_eq!(ask(&question, b"")["json"], expected, "{name}");
    }
    let (name, text) = &scenarios()[0];
    assert_eq!(name, "scenarios/afdx.yaml");
    let question = json!({ "do": "check", "name": name, "text": text });
    let expected = command(&["check", name, "--json", "--no-progress"]);
    assert_eq!(ask(&question, b"")["json"], expected);
    for (bound, options) in [(false, &["--no-progress"][..]), (true, &["--bound", "--no-progress"])]
    {
        let question =
            json!({ "do": "why", "name": name, "text": text, "flow": "picture", "bound": bound });
        let expected = command(&[&["why", name, "picture", "--json"], options].concat());
        assert_eq!(ask(&question, b"")["json"], expected);
    }
}

/// A plant of one switch in which a flow needs a priority.
pub(crate) const CROWD: &str = "rtether: 1
design: { allow: [pcp] }
nodes: { a: { stack: zero }, b: { stack: zero }, c: { stack: zero }, d: { stack: zero } }
switches: { sw: { ports: 4, queues: 4 } }
links:
  - { ends: [a, \"sw:1\"], rate: 10 Mbit/s }
  - { ends: [b, \"sw:2\"], rate: 10 Mbit/s }
  - { ends: [c, \"sw:3\"], rate: 10 Mbit/s }
  - { ends: [d, \"sw:4\"], rate: 10 Mbit/s }
flows:
  - { name: late, from: a, to: c, period: 10 ms, size: 200 B, deadline: 2 ms }  # urgent
  - { name: bulk, from: b, to: c, period: 10 ms, size: 1400 B }
  - { name: more, from: d, to: c, period: 10 ms, size: 1400 B }
run: { for: 1 s }
";

#[test]
fn a_design_is_that_of_the_command() {
    let folder = Folder::new("playground-design");
    folder.write("plant.yaml", CROWD);
    let path = folder.path().join("plant.yaml");
    let path = path.to_str().unwrap();
    let question = json!({ "do": "design", "name": path, "text": CROWD });
    let answer = ask(&question, b"");
    assert_eq!(answer["json"], command(&["design", path, "--json", "--no-progress"]));
    assert_eq!(answer["edits"], json!(["flows.late.pcp"]));
    assert!(answer["text"].as_str().unwrap().contains("# urgent"), "{answer}");
    let hasty = CROWD.replace("2 ms", "1 ms");
    folder.write("plant.yaml", &hasty);
    let question = json!({ "do": "explain", "name": path, "text": hasty, "flow": "late" });
    let expected = command(&["design", path, "--explain", "late", "--json", "--no-progress"]);
    assert_eq!(ask(&question, b"")["json"], expected);
}

#[test]
fn an_import_is_that_of_the_command() {
    let octets = fs::read(root().join("docs/guides/bay.scd")).unwrap();
    let files = json!([{ "name": "bay.scd", "size": octets.len() }]);
    let answer = ask(&json!({ "do": "import", "files": files }), &octets);
    let expected = command(&["import", "docs/guides/bay.scd"]);
    assert_eq!(answer["scenario"], expected);
}

#[test]
fn mistakes_are_those_of_the_command() {
    let text = "rtether: 1\nflows: 3\n";
    let answer = ask(&json!({ "do": "load", "name": "x.yaml", "text": text }), b"");
    let expected = rtether::scenario::load("x.yaml", text).json();
    assert_eq!(answer["diagnostics"], expected);
    let unknown = ask(&json!({ "do": "dance" }), b"");
    assert_eq!(unknown["error"], "there is no question `dance`");
}
