//! The systemd unit. Oracles: `systemd-analyze`, and that the rights it leaves are sufficient.

use std::path::Path;
use std::process::Command;

use rtether_testkit::{Ended, Folder, Run, signal, skip};

use super::bed::{Bed, CONFIG, finish, until_at_work};

const UNIT: &str = include_str!("../../../../../packaging/systemd/rtether-shim@.service");

/// Runs `systemd-analyze` on the text of the unit, with its program replaced by an existing one, on a
/// host whose every service has a mistake.
fn analyze(arguments: &[&str], text: &str) -> Option<Ended> {
    let folder = Folder::new("unit");
    let text = text.replace("/usr/bin/rtether", env!("CARGO_BIN_EXE_rtether"));
    let path = folder.write("rtether-shim@.service", text);
    folder.write(
        "host/sysinit.target.wants/foreign.service",
        "[Service]\nExecStart=/bin/true\nNoSuchKey=1\n",
    );
    let mut command = Command::new("systemd-analyze");
    // An empty name at the end stands for the folders of the host.
    command.env("SYSTEMD_UNIT_PATH", folder.file("host") + ":");
    let output = command.args(arguments).arg(&path).output();
    if output.is_err() {
        skip("needs systemd-analyze");
    }
    output.ok().map(Ended::from)
}

/// What `systemd-analyze verify` says of the unit; with it, it reads all units that the unit needs,
/// directly or not, and tells their mistakes, too.
fn mistakes(text: &str) -> Option<Vec<String>> {
    let said = analyze(&["verify"], text)?.err;
    let of_ours = said.lines().filter(|line| line.contains("rtether-shim@"));
    Some(of_ours.map(str::to_owned).collect())
}

#[test]
fn the_unit_has_no_mistake() {
    if let Some(said) = mistakes(UNIT) {
        assert!(said.is_empty(), "{said:#?}");
    }
}

#[test]
fn a_mistake_of_the_unit_is_found() {
    let keys = UNIT.replace("[Service]", "[Service]\nNoSuchKey=1");
    let program = UNIT.replace("/usr/bin/rtether", "/usr/bin/no-such-program");
    for text in [keys, program] {
        if let Some(said) = mistakes(&text) {
            assert!(
                said.iter()
                    .any(|line| line.contains("o-such-program") || line.contains("NoSuchKey")),
                "{said:#?}"
            );
        }
    }
}

#[test]
fn the_unit_has_little_in_its_reach() {
    // 0 is the least exposure, 10 the most; a unit without restrictions has 9.6.
    let wish = ["security", "--offline=true", "--threshold=36", "--no-pager"];
    if let Some(output) = analyze(&wish, UNIT) {
        output.exits(0).shows("Overall exposure level");
    }
}

#[test]
fn the_rights_of_the_unit_are_enough() {
    let Some(bed) = Bed::new() else { return };
    let before = bed.look();
    let line = UNIT.lines().find_map(|line| line.strip_prefix("CapabilityBoundingSet="));
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
         {} shim up wire --config {config}",
        env!("CARGO_BIN_EXE_rtether"),
    );
    let mut command = bed.inside(Path::new("sh"));
    command.args(["-c", &script]);
    let shim = until_at_work(command.start());
    assert_eq!(bed.ping(50, "2 ms"), 0);
    let status = format!("/proc/{}/status", bed.status()["pid"]);
    let status = std::fs::read_to_string(status).unwrap();
    assert!(status.contains("CapEff:\t0000008000003000"), "{status}");
    signal(shim.id(), "-TERM");
    finish(shim).exits(0);
    assert_eq!(bed.look(), before);
    // `ExecStopPost` has the same rights.
    let mut down = bed.inside(Path::new("setpriv"));
    down.args(["--bounding-set", &bounds, "--no-new-privs"]);
    down.args([env!("CARGO_BIN_EXE_rtether"), "shim", "down", "wire"]);
    down.run().exits(0);
}
