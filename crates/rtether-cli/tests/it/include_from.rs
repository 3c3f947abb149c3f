//! Which files a file may name. Oracle: the files themselves, and what is beneath which folder.

use std::os::unix::fs::symlink;
use std::path::Path;
use std::process::{Command, Stdio};

use rtether_testkit::{Folder, Run};

use super::{rtether, run_in};

const PLANT: &str = "rtether: 1
include: [../shared/stacks.yaml]
nodes: { a: { stack: slow }, b: { stack: slow } }
links: [{ ends: [a, b], rate: 100 Mbit/s }]
flows: [{ name: f, from: a, to: b, period: 4 ms, size: 64 B, deadline: 3 ms }]
run: { for: 100 ms }
";
const STACKS: &str = "stacks: { slow: { send: 10 us, receive: 10 us } }\n";
const STUDY: &str = "study: 1
scenario: ../plants/line.yaml
parameters: { flows.f.period: [4 ms] }
";

/// A plant that includes a file beside its folder, a study of it, and a file that is nobody's business.
fn folder() -> Folder {
    let folder = Folder::new("include-from");
    folder.write("plants/line.yaml", PLANT);
    folder.write("shared/stacks.yaml", STACKS);
    folder.write("studies/study.yaml", STUDY);
    folder.write("secret", "hunter2:*:19000:0:99999:7:::\n");
    folder
}

#[test]
fn the_message_shows_the_flag_that_works() {
    let folder = folder();
    for line in [
        "check plants/line.yaml",
        "sim plants/line.yaml",
        "bound plants/line.yaml",
        "bound plants/line.yaml --what-if flows.f.period=8ms",
        "why plants/line.yaml f",
        "limit plants/line.yaml --miss 1e-1 --runs 1",
        "admit plants/line.yaml --flow {name:g,from:a,to:b,period:4ms,size:64B,deadline:3ms}",
        "export plants/line.yaml --to tc --out tc",
        "check plants/line.yaml --fail links",
    ] {
        let refused = run_in(&folder, line);
        assert_eq!(refused.code, Some(2), "{line}: {}", refused.err);
        let remedy = "add `--include-from shared`";
        assert!(refused.err.contains(remedy), "{line}: {}", refused.err);
        let read = run_in(&folder, &format!("{line} --include-from none --include-from shared"));
        assert!(!read.err.contains("--include-from"), "{line}: {}", read.err);
        assert!(!read.err.contains("unread-file"), "{line}: {}", read.err);
    }
    let held = run_in(&folder, "check plants/line.yaml --include-from shared");
    held.exits(0);
}

/// The scenario of a study is named by a file, too.
#[test]
fn a_study_names_files_beneath_its_folder() {
    let folder = folder();
    let refused = run_in(&folder, "sweep studies/study.yaml --out out");
    assert_eq!(refused.code, Some(2), "{}", refused.err);
    let remedy = "add `--include-from plants`";
    assert!(refused.err.contains(remedy), "{}", refused.err);
    let line = "sweep studies/study.yaml --out out --include-from plants";
    let refused = run_in(&folder, line);
    let remedy = "add `--include-from shared`";
    assert!(refused.err.contains(remedy), "{}", refused.err);
    run_in(&folder, &format!("{line} --include-from shared")).exits(0);
}

#[test]
fn nothing_is_shown_of_other_files() {
    let folder = folder();
    symlink(folder.path().join("secret"), folder.path().join("plants/own.yaml")).unwrap();
    let pipe = folder.file("plants/pipe.yaml");
    Command::new("mkfifo").arg(&pipe).run().exits(0);
    for (named, why) in [
        ("../secret", "outside the folder"),
        ("own.yaml", "a link leads to"),
        ("pipe.yaml", "no regular file"),
        ("../../../../../../../../../proc/self/environ", "outside the folder"),
    ] {
        let text = PLANT.replace("../shared/stacks.yaml", named);
        folder.write("plants/line.yaml", text);
        let refused = run_in(&folder, "check plants/line.yaml");
        assert_eq!(refused.code, Some(2), "{named}: {}", refused.err);
        assert!(refused.err.contains(why), "{named}: {}", refused.err);
        assert!(!refused.err.contains("hunter2"), "{named}: {}", refused.err);
    }
    // Not even if it may be read.
    let allowed = PLANT.replace("../shared/stacks.yaml", "../secret");
    folder.write("plants/line.yaml", allowed);
    let refused = run_in(&folder, "check plants/line.yaml --include-from .");
    assert_eq!(refused.code, Some(2), "{}", refused.err);
    assert!(!refused.err.contains("hunter2"), "{}", refused.err);
    assert!(refused.err.contains("no part of a scenario"), "{}", refused.err);
}

/// What is typed is the user's own; what comes from a pipe may name files of the working folder.
#[test]
fn paths_of_the_command_line_are_free() {
    let folder = folder();
    let place = folder.path().join("plants");
    let whole = PLANT.replace("include: [../shared/stacks.yaml]", STACKS.trim_end());
    folder.write("whole.yaml", &whole);
    let mut above = rtether();
    above.current_dir(&place).args(["check", "../whole.yaml"]);
    above.run().exits(0);
    let mut piped = Command::new("bash");
    let line = "\"$0\" check <(cat ../whole.yaml) && cat ../whole.yaml | \"$0\" check /dev/stdin";
    piped.current_dir(&place).args(["-c", line]);
    piped.arg(env!("CARGO_BIN_EXE_rtether"));
    piped.run().exits(0);
    for (include, code) in [("shared/stacks.yaml", 0), ("../shared/stacks.yaml", 2)] {
        let text = folder.write("in.yaml", PLANT.replace("../shared/stacks.yaml", include));
        let mut command = rtether();
        let input = std::fs::File::open(text).unwrap();
        command.current_dir(folder.path()).args(["check", "-"]);
        command.stdin(Stdio::from(input)).run().exits(code);
    }
}

#[test]
fn import_checks_what_it_includes() {
    let folder = folder();
    let bay = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/guides/bay.scd");
    std::fs::copy(bay, folder.path().join("bay.scd")).unwrap();
    folder.write("shared/own.yaml", "changes: { run.for: 50 ms }\n");
    let line = "import bay.scd -o plants/bay.yaml --include ../shared/own.yaml";
    let refused = run_in(&folder, line);
    assert_eq!(refused.code, Some(2), "{}", refused.err);
    let remedy = "add `--include-from shared`";
    assert!(refused.err.contains(remedy), "{}", refused.err);
    run_in(&folder, &format!("{line} --include-from shared")).exits(0);
    let again = "import bay.scd --against plants/bay.yaml --include-from shared";
    run_in(&folder, again).exits(0);
}

/// The action and the hook of pre-commit hand their arguments on.
#[test]
fn the_hook_takes_the_flag() {
    let folder = folder();
    let program = Path::new(env!("CARGO_BIN_EXE_rtether")).parent().unwrap();
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../packaging/ci/check-each.sh");
    let hook = |words: &[&str]| {
        let mut command = Command::new("bash");
        let path = format!("{}:/usr/bin:/bin", program.display());
        command.arg(&script).args(words).current_dir(folder.path());
        command.env("PATH", path).run()
    };
    hook(&["--", "plants/line.yaml"]).exits(2);
    hook(&["--include-from", "shared", "--", "plants/line.yaml"]).exits(0);
}
