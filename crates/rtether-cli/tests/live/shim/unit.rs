//! The systemd unit. Oracles: `systemd-analyze`, and that the rights it leaves are sufficient.

use std::path::Path;
use std::process::{Command, Stdio};

use super::bed::{Bed, CONFIG, finish, signal, until_at_work};
use crate::{skip, stderr, stdout};

const UNIT: &str = include_str!("../../../../../packaging/systemd/rtether-shim@.service");

/// Runs `systemd-analyze` on the unit, with its program replaced by an existing one.
fn analyze(test: &str, arguments: &[&str]) -> Option<std::process::Output> {
    let folder = std::env::temp_dir().join(format!("rtether-unit-{test}-{}", std::process::id()));
    std::fs::create_dir_all(&folder).unwrap();
    let path = folder.join("rtether-shim@.service");
    let text = UNIT.replace("/usr/bin/rtether", env!("CARGO_BIN_EXE_rtether"));
    std::fs::write(&path, text).unwrap();
    let mut command = Command::new("systemd-analyze");
    let output = command.args(arguments).arg(&path).output();
    std::fs::remove_dir_all(folder).unwrap();
    if output.is_err() {
        skip(test, "needs systemd-analyze");
    }
    output.ok()
}

#[test]
fn the_unit_has_no_mistake() {
    if let Some(output) = analyze("the_unit_has_no_mistake", &["verify"]) {
        assert!(output.status.success(), "{}", stderr(&output));
        assert_eq!(stderr(&output), "");
    }
}

#[test]
fn the_unit_has_little_in_its_reach() {
    // 0 is the least exposure, 10 the most; a unit without restrictions has 9.6.
    let test = "the_unit_has_little_in_its_reach";
    let wish = ["security", "--offline=true", "--threshold=36", "--no-pager"];
    if let Some(output) = analyze(test, &wish) {
        let text = stdout(&output);
        assert!(output.status.success(), "{text}{}", stderr(&output));
        assert!(text.contains("Overall exposure level"), "{text}");
    }
}

#[test]
fn the_rights_of_the_unit_are_enough() {
    let Some(bed) = Bed::new("the_rights_of_the_unit_are_enough") else {
        return;
    };
    let before = bed.look();
    let line = UNIT
        .lines()
        .find_map(|line| line.strip_prefix("CapabilityBoundingSet="));
    let rights: Vec<String> = line
        .unwrap()
        .split(' ')
        .map(|right| format!("+{}", right.strip_prefix("CAP_").unwrap().to_lowercase()))
        .collect();
    let bounds = format!("-all,{}", rights.join(","));
    let config = bed.file(CONFIG);
    // systemd mounts a file system for programs there.
    let script = format!(
        "mount -t bpf none /sys/fs/bpf && exec setpriv --bounding-set {bounds} --no-new-privs \
         {} shim up wire --config {}",
        env!("CARGO_BIN_EXE_rtether"),
        config.display()
    );
    let mut command = bed.inside(Path::new("sh"));
    command.args(["-c", &script]);
    command.stdout(Stdio::piped()).stderr(Stdio::piped());
    let shim = until_at_work(command.spawn().unwrap());
    assert_eq!(bed.ping(50, "2 ms"), 0);
    let status = format!("/proc/{}/status", bed.status()["pid"]);
    let status = std::fs::read_to_string(status).unwrap();
    assert!(status.contains("CapEff:\t0000008000003000"), "{status}");
    signal(shim.id(), "-TERM");
    let output = finish(shim);
    assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
    assert_eq!(bed.look(), before);
    // `ExecStopPost` has the same rights.
    let mut down = bed.inside(Path::new("setpriv"));
    down.args(["--bounding-set", &bounds, "--no-new-privs"]);
    down.args([env!("CARGO_BIN_EXE_rtether"), "shim", "down", "wire"]);
    let output = down.output().unwrap();
    assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
}
