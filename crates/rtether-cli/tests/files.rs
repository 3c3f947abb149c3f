//! Input and output files of the command, and messages about missing ones.
//!
//! Oracle throughout: the documented exit codes, and the files in the directory afterwards.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on may panic")]

use std::fs;
use std::path::PathBuf;
use std::process::{Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use rtether_testkit::{Ended, Folder, Run};

const SCENARIO: &str = "
rtether: 1
nodes: { a: { stack: zero }, b: { stack: zero } }
links: [{ ends: [a, b], rate: 100 Mbit/s }]
flows: [{ name: x, from: a, to: b, period: 1 ms, size: 64 B, deadline: 1 ms }]
run: { for: 100 ms }
";

/// A scenario in a separate directory, removed at the end.
struct Plant(Folder);

impl Plant {
    fn new(test: &str) -> Self {
        let folder = Folder::new(test);
        folder.write("plant.yaml", SCENARIO);
        Self(folder)
    }

    fn command(&self, arguments: &[&str]) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_rtether"));
        command.args(arguments).current_dir(self.0.path());
        command
    }

    fn run(&self, arguments: &[&str]) -> Ended {
        self.command(arguments).run()
    }

    fn line(&self, line: &str) -> Ended {
        self.run(&line.split(' ').collect::<Vec<_>>())
    }

    fn path(&self, name: &str) -> PathBuf {
        self.0.path().join(name)
    }
}

#[test]
fn a_report_that_cannot_be_written_costs_no_run() {
    let plant = Plant::new("before");
    let begin = Instant::now();
    for verb in ["check", "limit"] {
        let output = plant.run(&[verb, "plant.yaml", "--for", "100 h", "--report", "no/r.html"]);
        output.exits(4);
        output.says("no directory `no`; make it first");
    }
    assert!(begin.elapsed() < Duration::from_secs(20));
    assert_eq!(plant.0.names(), ["plant.yaml"]);
}

#[test]
fn the_table_is_printed_even_if_a_file_fails() {
    let plant = Plant::new("full");
    // A device that is always full.
    plant
        .line("check plant.yaml --report /dev/full")
        .exits(4)
        .shows("1 stream: 1 proved.")
        .says("/dev/full");
    assert!(fs::metadata("/dev/full").is_ok());
}

#[test]
fn pipes_are_written_straight_and_links_followed() {
    let plant = Plant::new("pipe");
    let fifo = plant.path("fifo");
    Command::new("mkfifo").arg(&fifo).run().exits(0);
    let reader = thread::spawn(move || fs::read_to_string(fifo).unwrap());
    plant.line("check plant.yaml -q --report fifo").exits(0);
    assert!(reader.join().unwrap().contains("</html>"));

    fs::write(plant.path("real.html"), "old").unwrap();
    std::os::unix::fs::symlink("real.html", plant.path("link.html")).unwrap();
    std::os::unix::fs::symlink("new.html", plant.path("dangling.html")).unwrap();
    for (link, real) in [("link.html", "real.html"), ("dangling.html", "new.html")] {
        plant.run(&["check", "plant.yaml", "-q", "--report", link]).exits(0);
        assert!(fs::symlink_metadata(plant.path(link)).unwrap().is_symlink());
        assert!(plant.0.read(real).contains("</html>"), "{real}");
    }
    let names = ["dangling.html", "fifo", "link.html", "new.html", "plant.yaml", "real.html"];
    assert_eq!(plant.0.names(), names);
}

#[test]
fn the_scenario_is_not_overwritten_and_no_file_is_written_twice() {
    let plant = Plant::new("same");
    fs::hard_link(plant.path("plant.yaml"), plant.path("other.yaml")).unwrap();
    fs::remove_file(plant.path("other.yaml")).unwrap();
    std::os::unix::fs::symlink("plant.yaml", plant.path("link.yaml")).unwrap();
    for arguments in [
        "check plant.yaml --report plant.yaml",
        "check plant.yaml --report ./link.yaml",
        "limit plant.yaml --report plant.yaml",
        "compare plant.yaml --report plant.yaml",
        "bound plant.yaml --report plant.yaml",
        "why plant.yaml x --svg ./link.yaml",
        "sim plant.yaml --pcap x --packets ./x",
        "sim plant.yaml --out d --report d/report.html",
    ] {
        // The directory must exist for two names of a file in it to be recognized as the same.
        fs::create_dir_all(plant.path("d")).unwrap();
        plant.line(arguments).exits(2);
        assert_eq!(plant.0.read("plant.yaml"), SCENARIO);
    }
    assert_eq!(plant.0.names(), ["d", "link.yaml", "plant.yaml"]);
}

#[test]
fn a_file_of_the_user_with_the_name_of_a_draft_survives() {
    let plant = Plant::new("part");
    fs::write(plant.path("r.html.part"), "mine").unwrap();
    plant.line("check plant.yaml -q --report r.html").exits(0);
    assert_eq!(plant.0.read("r.html.part"), "mine");
}

#[test]
fn the_second_ctrl_c_leaves_no_draft() {
    let plant = Plant::new("twice");
    let mut child = plant
        .command(&[
            "sim",
            "plant.yaml",
            "--for",
            "200 h",
            "--packets",
            "p.csv",
            "--report",
            "r.html",
        ])
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    let begin = Instant::now();
    let limit = Duration::from_mins(1);
    while plant.0.names().len() < 3 && begin.elapsed() < limit {
        thread::sleep(Duration::from_millis(20));
    }
    thread::sleep(Duration::from_millis(300));
    let pid = child.id().to_string();
    while child.try_wait().unwrap().is_none() && begin.elapsed() < limit {
        let mut kill = Command::new("kill");
        drop(kill.args(["-INT", &pid]).stderr(Stdio::null()).status());
        thread::sleep(Duration::from_millis(5));
    }
    // No effect on a process that has ended.
    drop(child.kill());
    assert_eq!(child.wait().unwrap().code(), Some(130));
    let names = plant.0.names();
    assert!(names.iter().all(|name| !name.contains("part")), "{names:?}");
}

#[test]
fn what_cannot_be_read_comes_with_a_remedy() {
    let plant = Plant::new("read");
    fs::write(plant.path("latin1.yaml"), b"rtether: 1\nname: F\xf6rderband\n").unwrap();
    fs::write(plant.path("utf16.yaml"), b"\xff\xfer\0t\0").unwrap();
    for (file, words) in [
        ("plnat.yaml", "did you mean `./plant.yaml`"),
        ("nowhere/x.yaml", "no directory `nowhere`"),
        (".", "it is a directory, not a scenario file"),
        ("latin1.yaml", "line 2, column 8: octet 0xf6 is not UTF-8"),
        ("utf16.yaml", "UTF-16"),
    ] {
        plant.run(&["check", file]).exits(2).says(words);
    }
}

/// Oracle: every line is an object with a title.
#[test]
fn a_file_that_is_no_result_is_told_in_words() {
    let plant = Plant::new("no-result");
    let deep = "[".repeat(100_000);
    for (name, text) in [
        ("empty", ""),
        ("half", "{\n  \"schema\":"),
        ("deep", &*deep),
        ("other", "{\"schema\":\"rtether.bound/1\"}"),
    ] {
        fs::write(plant.path(name), text).unwrap();
    }
    for (file, words) in [
        ("empty", "`empty`: it is empty; `rtether check"),
        ("half", "`half`: it is not JSON at line 2, column 11; `rtether check"),
        ("deep", "`deep`: it is not JSON at line 1, column 128; `rtether check"),
        ("plant.yaml", "`plant.yaml`: it is not JSON at line 2, column 1; `rtether check"),
        (".", "`.`: it is a directory; `rtether check"),
        ("other", "`other`: `rtether.bound/1` where `rtether.result/1` is expected"),
    ] {
        for arguments in [&["diff", file, file][..], &["check", "plant.yaml", "--baseline", file]] {
            let output = plant.run(arguments);
            output.exits(2).says(words);
            assert_eq!(output.out, "", "no run for nothing");
        }
    }
}

#[test]
fn a_name_of_a_file_is_no_command_for_the_terminal() {
    let plant = Plant::new("name");
    for arguments in [
        &["check", "a\u{1b}[31m\nb.yaml"][..],
        &["diff", "plant.yaml", "a\u{1b}[31m\nb"],
        &["diff", "a\u{1b}[31m\nb", "plant.yaml"],
    ] {
        let output = plant.run(arguments);
        output.exits(2);
        let said = output.err;
        assert!(!said.contains('\u{1b}') && said.lines().count() == 1, "{said:?}");
    }
}

#[test]
fn messages_in_json_are_one_object_per_line() {
    let plant = Plant::new("json");
    fs::write(plant.path("bad.yaml"), "rtether: 2\nnodse: {}\nlinsk: []\n").unwrap();
    for (arguments, least) in [
        (&["bad.yaml"][..], 2),
        (&["nowhere.yaml"], 1),
        (&["plant.yaml", "--set", "no equals sign"], 1),
        (&["plant.yaml", "--for", "5 parsec"], 1),
        (&["plant.yaml", "--report", "no/r.html"], 1),
    ] {
        let mut all = vec!["check", "--message-format", "json"];
        all.extend(arguments);
        let output = plant.run(&all);
        let text = output.err;
        assert!(text.lines().count() >= least, "{text}");
        for line in text.lines() {
            let object: serde_json::Value = serde_json::from_str(line).unwrap();
            assert!(object["title"].is_string(), "{line}");
            assert_eq!(object["severity"], "error", "{line}");
        }
    }
}

#[test]
fn messages_name_the_flag() {
    let plant = Plant::new("flag");
    for (flag, value) in [("--for", "5 parsec"), ("--warmup", "1 h"), ("--runs", "0")] {
        plant.run(&["check", "plant.yaml", flag, value]).exits(2).says(&format!("--> {flag}:"));
    }
}

#[test]
fn flags_that_would_do_nothing_are_refused() {
    let plant = Plant::new("flags");
    for arguments in [
        &["check", "plant.yaml", "--json", "-q"][..],
        &["check", "plant.yaml", "-j", "0"],
        &["bound", "plant.yaml", "--runs", "2"],
        &["bound", "plant.yaml", "-j", "2"],
        &["schema", "--no-progress"],
        &["man", "nothing"],
        &["limit", "plant.yaml", "--tolerance", "1e-300"],
        &["new", "a\nb"],
    ] {
        plant.run(arguments).exits(2);
    }
    plant.line("check plant.yaml -q -j 100000").exits(0);
}

/// Oracle: `git diff --check` and the like complain about trailing spaces.
#[test]
fn tables_have_no_spaces_at_the_end() {
    let plant = Plant::new("spaces");
    for arguments in ["check plant.yaml", "bound plant.yaml"] {
        let output = plant.line(arguments);
        let text = output.out;
        assert!(text.lines().count() > 3);
        assert!(text.lines().all(|line| !line.ends_with(' ')), "{text}");
    }
}

/// Oracle: a flag that only this verb has.
#[test]
fn every_verb_has_a_manual_page() {
    let plant = Plant::new("man");
    for (verb, word) in [("sim", "pcap"), ("limit", "tolerance"), ("new", "template")] {
        plant.run(&["man", verb]).exits(0).shows(word).shows(&format!("rtether-{verb}"));
    }
}

/// Runs the command from a shell, which closes or fills its outputs.
fn shell(plant: &Plant, script: &str) -> Ended {
    let mut shell = Command::new("sh");
    shell.args(["-c", script, env!("CARGO_BIN_EXE_rtether")]);
    shell.current_dir(plant.0.path()).run()
}

#[test]
fn nobody_to_write_to_is_a_failure_and_a_reader_who_leaves_is_none() {
    let plant = Plant::new("stdout");
    for script in [
        "exec \"$0\" check plant.yaml >&-",
        "exec \"$0\" check plant.yaml --json >&-",
        "exec \"$0\" check plant.yaml >/dev/full",
        "exec \"$0\" schema >&-",
        "exec \"$0\" schema >/dev/full",
        "exec \"$0\" --help >/dev/full",
        "exec \"$0\" man check >&-",
    ] {
        shell(&plant, script).exits(4).says("standard output");
    }
    for script in ["exec \"$0\" check plant.yaml >/dev/null", "exec \"$0\" check plant.yaml <&-"] {
        shell(&plant, script).exits(0);
    }
    let mut command = plant.command(&["schema"]);
    let mut child = command.stdout(Stdio::piped()).spawn().unwrap();
    drop(child.stdout.take());
    assert_eq!(child.wait().unwrap().code(), Some(0));
}

#[test]
fn a_directory_of_results_is_written_whole_or_not_at_all() {
    // Oracle: the size of the largest file, above the limit on file sizes.
    let plant = Plant::new("all");
    let limited = "trap '' XFSZ; ulimit -f 16; exec \"$0\" check plant.yaml -q --out a/out";
    shell(&plant, limited).exits(4).says("a/out/");
    assert_eq!(plant.0.names(), ["plant.yaml"], "no directory is left either");
    // The old directory stays as it was.
    plant.line("check plant.yaml -q --out a/out").exits(0);
    let contents = || {
        let entries = fs::read_dir(plant.path("a/out")).unwrap();
        let mut all: Vec<(String, Vec<u8>)> = entries
            .map(|entry| entry.unwrap().path())
            .map(|path| (path.display().to_string(), fs::read(path).unwrap()))
            .collect();
        all.sort();
        all
    };
    let before = contents();
    assert!(before.len() > 3 && before.iter().any(|(_, octets)| octets.len() > 16 * 1024));
    let longer = limited.replace("-q", "-q --for 200ms");
    shell(&plant, &longer).exits(4);
    assert_eq!(contents(), before);
    // And is replaced as a whole.
    plant.line("check plant.yaml -q --for 200ms --out a/out").exits(0);
    let after = contents();
    let names = |all: &[(String, Vec<u8>)]| {
        let names = all.iter().map(|(name, _)| name.clone());
        names.collect::<Vec<_>>()
    };
    assert_eq!(names(&after), names(&before), "and no draft is left");
    let changed = |name: &str| {
        let is = |(path, _): &&(String, Vec<u8>)| path.ends_with(name);
        before.iter().find(is) != after.iter().find(is)
    };
    assert!(changed("result.json") && changed("report.html"));
}

#[test]
fn as_root_no_link_of_another_user_is_followed() {
    use std::os::unix::fs::{lchown, symlink};
    if !rustix::process::geteuid().is_root() {
        // Without root, the test cannot create links of other users, and the kernel protects.
        return;
    }
    let plant = Plant::new("links");
    let nobody = Some(65_534);
    fs::create_dir(plant.path("mine")).unwrap();
    fs::write(plant.path("mine/kept"), "kept").unwrap();
    symlink("mine/kept", plant.path("file")).unwrap();
    symlink("mine/new", plant.path("dangling")).unwrap();
    symlink("mine", plant.path("folder")).unwrap();
    for name in ["file", "dangling", "folder"] {
        lchown(plant.path(name), nobody, nobody).unwrap();
    }
    for arguments in [
        ["--report", "file"],
        ["--report", "dangling"],
        ["--report", "folder/kept"],
        ["--out", "folder/out"],
        ["--out", "folder"],
    ] {
        plant
            .run(&[&["check", "plant.yaml", "-q"], &arguments[..]].concat())
            .exits(4)
            .says("link of user 65534");
    }
    // Nor is another name of one of root's files, which a trace would write into.
    fs::hard_link(plant.path("mine/kept"), plant.path("hard")).unwrap();
    let trace = ["spy", "--for", "100 ms", "--trace", "hard"];
    plant.run(&trace).exits(4).says("has 2 names");
    assert_eq!(plant.0.read("mine/kept"), "kept");
    assert_eq!(fs::read_dir(plant.path("mine")).unwrap().count(), 1);
    // Links of root are followed.
    lchown(plant.path("folder"), Some(0), Some(0)).unwrap();
    plant.line("check plant.yaml -q --report folder/new").exits(0);
    assert!(plant.0.read("mine/new").contains("</html>"));
}
