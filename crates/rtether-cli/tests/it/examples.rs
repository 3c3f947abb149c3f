//! The example in the help of each verb, as it stands, in the shells that people have. Oracle: the
//! documented exit codes: an answer, not a mistake.

use std::os::unix::fs::symlink;
use std::process::Command;

use rtether_testkit::{Folder, Run, skip};

use super::{rtether, scenarios};

/// Verbs that need no network, and do not take minutes.
const VERBS: [&str; 14] = [
    "admit",
    "bound",
    "check",
    "compare",
    "completions",
    "diff",
    "export",
    "import",
    "limit",
    "man",
    "new",
    "schema",
    "sim",
    "why",
];
const SHELLS: [&str; 3] = ["bash", "zsh", "fish"];

const FLOW: &str =
    "{ name: x, from: plc1, to: drive1, period: 8 ms, size: 64 B, deadline: 5 ms }\n";

/// Returns the files that the examples name.
fn files() -> Vec<(&'static str, Vec<u8>)> {
    let folder = Folder::new("examples");
    let of = |line: &str| {
        let mut command = rtether();
        command.current_dir(folder.path()).args(line.split(' '));
        command.run().exits(0).out.clone()
    };
    of("new plant --template ring");
    of("new hub --template hub");
    let checked = of("check plant.yaml --json");
    let bay = scenarios().join("../docs/guides/bay.scd");
    vec![
        ("plant.yaml", folder.read("plant.yaml").into()),
        ("hub.yaml", folder.read("hub.yaml").into()),
        ("before.json", checked.clone().into()),
        ("after.json", checked.into()),
        ("plant.scd", std::fs::read(bay).unwrap()),
        ("new-flow.yaml", FLOW.into()),
    ]
}

/// Returns the example in the help of a verb.
fn example(verb: &str) -> String {
    let help = rtether().args([verb, "--help"]).env("COLUMNS", "1000").run().out;
    let mut lines = help.lines().filter_map(|line| line.strip_prefix("Example: "));
    let example = lines.next().unwrap_or_else(|| panic!("{verb} has no example"));
    example.to_owned()
}

#[test]
fn each_runs_as_it_stands_in_each_shell() {
    let files = files();
    for shell in SHELLS {
        if Command::new(shell).arg("--version").output().is_err() {
            skip(&format!("needs {shell}"));
            continue;
        }
        for verb in VERBS {
            let folder = Folder::new("example");
            // What the example writes is not there before.
            let writes = matches!(verb, "new" | "import");
            let given = files.iter().filter(|(name, _)| !writes || *name != "plant.yaml");
            for (name, octets) in given {
                folder.write(name, octets);
            }
            symlink(env!("CARGO_BIN_EXE_rtether"), folder.file("rtether")).unwrap();
            let path = format!("{}:/usr/bin:/bin", folder.path().display());
            let example = example(verb);
            let mut command = Command::new(shell);
            command.args(["-c", &example]).current_dir(folder.path());
            let ended = command.env("PATH", path).env("HOME", folder.path()).run();
            let is_answer = matches!(ended.code, Some(0 | 1 | 3));
            assert!(is_answer, "{shell}, {example}: {:?}\n{}", ended.code, ended.err);
        }
    }
}
