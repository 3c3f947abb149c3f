//! `rtether doctor`.

use std::os::unix::fs::PermissionsExt;
use std::path::PathBuf;
use std::process::Output;

use crate::{rtether, stderr, stdout};

/// A directory with a program `ssh` that runs the test's script.
struct Ssh(PathBuf);

impl Ssh {
    fn new(name: &str, script: &str) -> Self {
        let directory =
            std::env::temp_dir().join(format!("rtether-ho-ssh-{name}-{}", std::process::id()));
        std::fs::create_dir_all(&directory).unwrap();
        let program = directory.join("ssh");
        std::fs::write(&program, format!("#!/bin/sh\n{script}\n")).unwrap();
        std::fs::set_permissions(&program, std::fs::Permissions::from_mode(0o755)).unwrap();
        Self(directory)
    }

    fn doctor(&self, arguments: &[&str]) -> Output {
        let path = format!("{}:{}", self.0.display(), std::env::var("PATH").unwrap());
        rtether()
            .args(["doctor", "--watch", "0s", "--no-probe"])
            .args(arguments)
            .env("PATH", path)
            .output()
            .unwrap()
    }
}

impl Drop for Ssh {
    fn drop(&mut self) {
        drop(std::fs::remove_dir_all(&self.0));
    }
}

#[test]
fn a_host_without_ssh_or_without_rtether_is_told_apart() {
    let refused = Ssh::new("refused", "echo 'connect: refused' >&2; exit 255");
    let output = refused.doctor(&["plant"]);
    assert_eq!(output.status.code(), Some(2));
    assert!(stderr(&output).contains("cannot connect to `plant`: connect: refused"));

    let without = Ssh::new("without", "exit 127");
    let output = without.doctor(&["plant"]);
    assert_eq!(output.status.code(), Some(2));
    assert!(
        stderr(&output).contains("has no rtether"),
        "{}",
        stderr(&output)
    );

    let babbling = Ssh::new("babbling", "echo hello");
    let output = babbling.doctor(&["plant"]);
    assert_eq!(output.status.code(), Some(2));
    assert!(stderr(&output).contains("did not answer with a list of findings"));

    let output = babbling.doctor(&["--", "-oProxyCommand=false"]);
    assert!(
        stderr(&output).contains("is not a host"),
        "{}",
        stderr(&output)
    );
}

#[test]
fn the_findings_of_another_host_are_shown() {
    // Oracle: the program's own output for the same command.
    let program = env!("CARGO_BIN_EXE_rtether");
    // The last argument is the command; the words before it are checked by finding the host.
    let script = format!(
        "[ \"$7\" = -- ] && [ \"$8\" = plant ] || exit 9\n\
         rtether() {{ {program} \"$@\"; }}\neval \"$9\""
    );
    let ssh = Ssh::new("shown", &script);
    let output = ssh.doctor(&["plant", "--json"]);
    assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
    let own = ssh.doctor(&["--json"]);
    let ids = |output: &Output| {
        let document: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
        assert_eq!(document["schema"], "rtether.doctor/1");
        let findings = document["findings"].as_array().unwrap();
        let ids = findings
            .iter()
            .map(|of| of["id"].as_str().unwrap().to_owned());
        ids.collect::<Vec<_>>()
    };
    assert_eq!(ids(&output), ids(&own));
    assert!(ids(&own).contains(&"rights.net-raw".to_owned()));
}

#[test]
fn what_is_impossible_ends_with_four_and_a_remedy() {
    // Oracle: without a namespace nothing was probed, so a test bed is not known to be possible.
    let output = rtether()
        .args([
            "doctor",
            "--watch",
            "0s",
            "--no-probe",
            "--for",
            "testbed-kernel",
        ])
        .output()
        .unwrap();
    assert_eq!(output.status.code(), Some(4), "{}", stderr(&output));
    assert!(stderr(&output).contains("link.veth: could not be tried"));
    assert_eq!(stdout(&output), "");
    let output = rtether()
        .args(["doctor", "--for", "flying"])
        .output()
        .unwrap();
    assert_eq!(output.status.code(), Some(2));
}

#[test]
fn nothing_is_left_behind() {
    // Oracle: the list of namespaces; those of the process would contain its number.
    let doctor = rtether()
        .args(["doctor", "--watch", "1ms", "--csv"])
        .stdout(std::process::Stdio::piped())
        .spawn()
        .unwrap();
    let name = format!("rtether-doctor-{}", doctor.id());
    let output = doctor.wait_with_output().unwrap();
    assert_eq!(output.status.code(), Some(0));
    assert!(stdout(&output).starts_with("id,is_there,state,found,meaning,remedy\n"));
    assert!(!std::path::Path::new("/run/netns").join(name).exists());
}
