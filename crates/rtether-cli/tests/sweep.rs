//! Studies that are killed and go on. Oracle: the same study without an interruption.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on may panic")]

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::Duration;

use rtether_testkit::{Dice, Ended, Folder, Run, skip};

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
    let other: Vec<&String> =
        names.filter(|name| found.get(*name) != expected.get(*name)).collect();
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
    for shard in ["0/3", "1/3"] {
        let ended = run(&folder, &["parts", "--shard", shard]);
        assert_eq!((ended.code, ended.out.as_str()), (Some(0), ""), "{}", ended.err);
    }
    assert!(!folder.path().join("parts/points.csv").exists());
    let last = run(&folder, &["parts", "--shard", "2/3", "-j", "1"]);
    assert!(last.out.starts_with("24 points\n"), "{}{}", last.out, last.err);
    same(&files(&folder.path().join("parts")), &whole);
    assert_eq!(run(&folder, &["parts", "--shard", "4/3"]).code, Some(2));
}

#[test]
fn shards_that_end_together_do_not_disturb_each_other() {
    let folder = folder("sweep-together");
    let whole = undisturbed(&folder);
    for _ in 0..8 {
        let together = ["1/4", "2/4", "3/4", "4/4"].map(|shard| {
            let mut command = sweep(&folder, &["whole", "--shard", shard]);
            command.stdout(Stdio::null()).stderr(Stdio::piped());
            command.spawn().unwrap()
        });
        for child in together {
            let ended = child.wait_with_output().unwrap();
            let said = String::from_utf8_lossy(&ended.stderr).into_owned();
            assert_eq!((ended.status.code(), said.as_str()), (Some(0), ""));
        }
        same(&files(&folder.path().join("whole")), &whole);
    }
}

/// Returns the search path with the command in front.
fn search() -> std::ffi::OsString {
    let own = Path::new(env!("CARGO_BIN_EXE_rtether")).parent().unwrap();
    let others = std::env::var_os("PATH").unwrap_or_default();
    let all = std::iter::once(own.to_owned()).chain(std::env::split_paths(&others));
    std::env::join_paths(all).unwrap()
}

/// Returns whether all these programs are there; the test skips itself otherwise.
fn has(programs: &[&str]) -> bool {
    let is_there =
        |name: &&str| std::env::split_paths(&search()).any(|way| way.join(name).exists());
    let missing = programs.iter().find(|name| !is_there(name));
    missing.inspect(|name| skip(&format!("needs {name}"))).is_none()
}

/// Returns the file of a recipe, as the guide shows it.
fn recipe(name: &str) -> String {
    let guides = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/guides");
    fs::read_to_string(guides.join(name)).unwrap()
}

#[test]
fn parallel_runs_shards_side_by_side() {
    if !has(&["parallel"]) {
        return;
    }
    let folder = folder("sweep-parallel");
    let whole = undisturbed(&folder);
    let guide = recipe("sweep.md");
    let line = guide.lines().find(|line| line.starts_with("parallel "));
    let mut command = Command::new("sh");
    command.args(["-c", line.unwrap()]).env("PATH", search());
    // It asks for a citation once in each home.
    command.env("HOME", folder.path()).current_dir(folder.path());
    let ended = command.run();
    assert_eq!(ended.code, Some(0), "{}", ended.err);
    same(&files(&folder.path().join("results")), &whole);
}

/// The daemons of Slurm on this machine, ended on drop.
struct Slurm(Vec<std::process::Child>);

impl Slurm {
    fn new(folder: &Path) -> Self {
        let port = || {
            let socket = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
            socket.local_addr().unwrap().port()
        };
        let host = fs::read_to_string("/proc/sys/kernel/hostname").unwrap();
        // Slurm knows a host by its name without the domain.
        let host = host.trim().split('.').next().unwrap();
        let place = folder.display();
        let (one, other) = (port(), port());
        let text = format!(
            "ClusterName=one\nSlurmctldHost={host}(127.0.0.1)\nAuthType=auth/none\n\
             CredType=cred/none\nSlurmUser=root\nSlurmdUser=root\nStateSaveLocation={place}/state\n\
             SlurmdSpoolDir={place}/spool\nSlurmctldPidFile={place}/ctld.pid\n\
             SlurmdPidFile={place}/d.pid\nSlurmctldPort={one}\nSlurmdPort={other}\n\
             ProctrackType=proctrack/linuxproc\nTaskPlugin=task/none\n\
             SelectType=select/cons_tres\nSelectTypeParameters=CR_CPU\nMailProg=/bin/true\n\
             SlurmdParameters=config_overrides\nReturnToService=2\n\
             NodeName={host} NodeAddr=127.0.0.1 CPUs=2 State=UNKNOWN\n\
             PartitionName=all Nodes=ALL Default=YES MaxTime=INFINITE State=UP\n"
        );
        fs::write(folder.join("slurm.conf"), text).unwrap();
        // To find out which control groups there are, it would need their file system, which a container
        // or a root for tests may lack; nothing here uses them.
        fs::write(folder.join("cgroup.conf"), "CgroupPlugin=cgroup/v1\n").unwrap();
        for part in ["state", "spool"] {
            fs::create_dir(folder.join(part)).unwrap();
        }
        let start = |mut command: Command, log: &str| {
            let log = fs::File::create(folder.join(log)).unwrap();
            command.arg("-D").arg("-f").arg(folder.join("slurm.conf"));
            command.stdout(Stdio::null()).stderr(log).env("PATH", search());
            command.spawn().unwrap()
        };
        let manager = start(Command::new("slurmctld"), "ctld.log");
        std::thread::sleep(Duration::from_secs(1));
        Self(vec![manager, start(Command::new("slurmd"), "d.log")])
    }
}

impl Drop for Slurm {
    fn drop(&mut self) {
        for child in &mut self.0 {
            rtether_testkit::signal(child.id(), "-TERM");
            drop(child.wait());
        }
    }
}

#[test]
fn an_array_of_slurm_runs_shards() {
    if !has(&["slurmctld", "slurmd", "sbatch"]) || !rtether_testkit::is_root() {
        return;
    }
    let folder = folder("sweep-slurm");
    let whole = undisturbed(&folder);
    fs::write(folder.path().join("sweep.slurm"), recipe("sweep.slurm")).unwrap();
    let slurm = Slurm::new(folder.path());
    let mut command = Command::new("timeout");
    command.args(["120", "sbatch", "--wait", "--array=1-3", "sweep.slurm"]);
    command.env("SLURM_CONF", folder.path().join("slurm.conf"));
    command.env("PATH", search()).current_dir(folder.path());
    let ended = command.run();
    let log = |name: &str| fs::read_to_string(folder.path().join(name)).unwrap_or_default();
    let logs = [log("ctld.log"), log("d.log")].concat();
    assert_eq!(ended.code, Some(0), "{}{}{logs}", ended.out, ended.err);
    drop(slurm);
    same(&files(&folder.path().join("results")), &whole);
}

#[test]
fn points_that_are_there_are_not_run_again() {
    let folder = folder("sweep-again");
    let whole = undisturbed(&folder);
    let (name, _) = whole.iter().find(|(name, _)| name.starts_with("points/")).unwrap();
    let file = folder.path().join("whole").join(name);
    let marked = fs::read_to_string(&file).unwrap().replace("\"seed\":", "\"mark\":1,\"seed\":");
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
    let begin = std::time::Instant::now();
    let whole = undisturbed(&folder);
    // So that the first run of each study is killed however fast the machine is.
    let most = u64::try_from(begin.elapsed().as_millis() / 2).unwrap();
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
            std::thread::sleep(Duration::from_millis(dice.between(0, most)));
            if child.try_wait().unwrap().is_some_and(|status| status.success()) {
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
