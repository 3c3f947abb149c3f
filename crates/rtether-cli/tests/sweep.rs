//! Studies that are killed and go on. Oracle: the same study without an interruption.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on may panic")]

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::Duration;

use rtether_testkit::{Dice, Ended, Folder, Run};

const STUDY: &str = "study: 1
scenario: plant.yaml
parameters:
  flows.f.period: { from: 1 ms, to: 8 ms }
  flows.g.size: [60 B, 1400 B]
  \"links[0].rate\": [10 Mbit/s, 100 Mbit/s]
sample: latin-hypercube
points: 12
seeds: 2
";

const PLANT: &str = "rtether: 1
name: p
nodes: { a: { stack: zero }, b: { stack: zero } }
switches: { sw: { ports: 2, latency: 5 us } }
links:
  - { ends: [a, \"sw:1\"], rate: 100 Mbit/s }
  - { ends: [b, \"sw:2\"], rate: 100 Mbit/s }
flows:
  - { name: f, class: fast, from: a, to: b, period: 2 ms, size: 60 B, deadline: 1 ms }
  - { name: g, from: a, to: b, period: 4 ms, size: 60 B, jitter: 1 ms }
run: { for: 60 s, warmup: 0 s }
";

fn folder(name: &str) -> Folder {
    let folder = Folder::new(name);
    fs::write(folder.path().join("study.yaml"), STUDY).unwrap();
    fs::write(folder.path().join("plant.yaml"), PLANT).unwrap();
    folder
}

fn sweep(folder: &Folder, words: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_rtether"));
    command.args(["sweep", "study.yaml", "--out"]).args(words);
    command.current_dir(folder.path());
    command
}

fn run(folder: &Folder, words: &[&str]) -> Ended {
    sweep(folder, words).run()
}

/// Returns all files of a result with their contents.
fn files(folder: &Path) -> BTreeMap<String, Vec<u8>> {
    let mut found = BTreeMap::new();
    for part in ["", "points"] {
        for entry in fs::read_dir(folder.join(part)).unwrap() {
            let path = entry.unwrap().path();
            if path.is_file() {
                let name = path.strip_prefix(folder).unwrap().display().to_string();
                found.insert(name, fs::read(path).unwrap());
            }
        }
    }
    found
}

/// Compares results; says in which files they differ.
fn same(found: &BTreeMap<String, Vec<u8>>, expected: &BTreeMap<String, Vec<u8>>) {
    let names = found.keys().chain(expected.keys());
    let other: Vec<&String> = names
        .filter(|name| found.get(*name) != expected.get(*name))
        .collect();
    assert!(other.is_empty(), "{other:?}");
}

fn undisturbed(folder: &Folder) -> BTreeMap<String, Vec<u8>> {
    let ended = run(folder, &["whole"]);
    assert_eq!(ended.code, Some(0), "{}", ended.err);
    let files = files(&folder.path().join("whole"));
    assert_eq!(files.len(), 24 + 4, "{:?}", files.keys());
    files
}

#[test]
fn shards_in_any_order_make_the_same_files() {
    let folder = folder("sweep-shards");
    let whole = undisturbed(&folder);
    for shard in ["3/3", "1/3"] {
        let ended = run(&folder, &["parts", "--shard", shard]);
        assert_eq!(
            (ended.code, ended.out.as_str()),
            (Some(0), ""),
            "{}",
            ended.err
        );
    }
    assert!(!folder.path().join("parts/points.csv").exists());
    let last = run(&folder, &["parts", "--shard", "2/3", "-j", "1"]);
    assert!(
        last.out.starts_with("24 points\n"),
        "{}{}",
        last.out,
        last.err
    );
    same(&files(&folder.path().join("parts")), &whole);
    assert_eq!(run(&folder, &["parts", "--shard", "4/3"]).code, Some(2));
}

#[test]
fn points_that_are_there_are_not_run_again() {
    let folder = folder("sweep-again");
    let whole = undisturbed(&folder);
    let (name, _) = whole
        .iter()
        .find(|(name, _)| name.starts_with("points/"))
        .unwrap();
    let file = folder.path().join("whole").join(name);
    let marked = fs::read_to_string(&file)
        .unwrap()
        .replace("\"seed\":", "\"mark\":1,\"seed\":");
    fs::write(&file, &marked).unwrap();
    assert_eq!(run(&folder, &["whole"]).code, Some(0));
    assert_eq!(fs::read_to_string(&file).unwrap(), marked);
    // Another scenario has other points.
    let other = PLANT.replace("latency: 5 us", "latency: 6 us");
    fs::write(folder.path().join("plant.yaml"), other).unwrap();
    assert_eq!(run(&folder, &["whole"]).code, Some(0));
    assert_eq!(files(&folder.path().join("whole")).len(), 48 + 4);
}

#[test]
fn killing_it_at_any_moment_changes_no_byte() {
    let folder = folder("sweep-killed");
    let whole = undisturbed(&folder);
    let seeds = match std::env::var_os("RTETHER_NIGHTLY") {
        Some(_) => 100,
        None => 3,
    };
    let mut kills = 0;
    for seed in 0..seeds {
        let mut dice = Dice::new(seed);
        let out = format!("killed-{seed}");
        loop {
            let mut command = sweep(&folder, &[&out]);
            command.stdout(Stdio::null()).stderr(Stdio::null());
            let mut child = command.spawn().unwrap();
            std::thread::sleep(Duration::from_millis(dice.between(0, 120)));
            if child
                .try_wait()
                .unwrap()
                .is_some_and(|status| status.success())
            {
                break;
            }
            // SIGKILL.
            child.kill().unwrap();
            child.wait().unwrap();
            kills += 1;
        }
        same(&files(&folder.path().join(&out)), &whole);
        fs::remove_dir_all(folder.path().join(&out)).unwrap();
    }
    println!("{kills} kills of {seeds} studies");
    assert!(kills >= seeds, "{kills}");
}

#[test]
fn mistakes_are_told_before_anything_runs() {
    let folder = folder("sweep-mistakes");
    let say = |study: &str| {
        fs::write(folder.path().join("study.yaml"), study).unwrap();
        let ended = run(&folder, &["out"]);
        assert_eq!(ended.code, Some(2), "{}", ended.err);
        assert!(!folder.path().join("out").exists());
        ended.err
    };
    assert!(say(&STUDY.replace("seeds: 2", "seeds: x")).contains("study.yaml:9"));
    assert!(say(&STUDY.replace("flows.g.size", "flows.h.size")).contains("flows.h"));
    assert!(say(&STUDY.replace("plant.yaml", "plan.yaml")).contains("plan.yaml"));
}
