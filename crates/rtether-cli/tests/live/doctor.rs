//! `rtether doctor`.

use rtether_testkit::{Ended, Finish, Folder, Run};

use crate::rtether;

/// Asks with a program `ssh` that runs a script.
fn doctor(script: &str, arguments: &[&str]) -> Ended {
    let folder = Folder::new("doctor");
    rtether()
        .args(["doctor", "--watch", "0s", "--no-probe"])
        .args(arguments)
        .env("PATH", folder.script("ssh", script))
        .run()
}

#[test]
fn a_host_without_ssh_or_without_rtether_is_told_apart() {
    doctor("echo 'connect: refused' >&2; exit 255", &["plant"])
        .exits(2)
        .says("cannot connect to `plant`: connect: refused");
    doctor("exit 127", &["plant"]).exits(2).says("has no rtether");
    doctor("echo hello", &["plant"]).exits(2).says("did not answer with a list of findings");
    doctor("echo hello", &["--", "-oProxyCommand=false"]).says("is not a host");
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
    let output = doctor(&script, &["plant", "--json"]);
    output.exits(0);
    let own = doctor(&script, &["--json"]);
    let ids = |output: &Ended| {
        let document = output.json();
        assert_eq!(document["schema"], "rtether.doctor/1");
        let findings = document["findings"].as_array().unwrap();
        let ids = findings.iter().map(|of| of["id"].as_str().unwrap().to_owned());
        ids.collect::<Vec<_>>()
    };
    assert_eq!(ids(&output), ids(&own));
    assert!(ids(&own).contains(&"rights.net-raw".to_owned()));
}

#[test]
fn what_is_impossible_ends_with_four_and_a_remedy() {
    // Oracle: without a namespace nothing was probed, so a test bed is not known to be possible.
    let output = rtether()
        .args(["doctor", "--watch", "0s", "--no-probe"])
        .args(["--for", "testbed-kernel"])
        .run();
    output.exits(4).says("link.veth: could not be tried");
    assert_eq!(output.out, "");
    rtether().args(["doctor", "--for", "flying"]).run().exits(2);
}

#[test]
fn nothing_is_left_behind() {
    // Oracle: the list of namespaces; those of the process would contain its number.
    let doctor = rtether().args(["doctor", "--watch", "1ms", "--csv"]).start();
    let name = format!("rtether-doctor-{}", doctor.id());
    let output = doctor.finish();
    output.exits(0);
    assert!(output.out.starts_with("id,is_there,state,found,meaning,remedy\n"));
    assert!(!std::path::Path::new("/run/netns").join(name).exists());
}
