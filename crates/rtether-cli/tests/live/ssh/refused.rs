//! Hosts that do not take part. Oracle: the documented exit codes, and the name of the host and the
//! remedy in the message.

use std::io::Write;
use std::process::Stdio;
use std::time::{Duration, Instant};

use rtether_testkit::{Ended, Finish, Folder, Run, is_root};

use super::live;
use crate::{copy_program, rtether};

const SCENARIO: &str = "
rtether: 1
nodes: { a: { stack: zero }, b: { stack: zero } }
links: [{ ends: [a, b], rate: 100 Mbit/s }]
flows:
  - { name: f, from: a, to: b, period: 2 ms, size: 64 B }
run: { for: 1 s }
";

/// Plays `ssh`: runs the command on this host. The command is what follows the target.
fn on_this_host() -> String {
    let program = env!("CARGO_BIN_EXE_rtether");
    format!("while [ \"$1\" != -- ]; do shift; done\nshift 3\nexec {program} \"$@\"")
}

fn run(test: &str, script: &str, hosts: &[&str]) -> Ended {
    let folder = Folder::new(test);
    let path = folder.script("ssh", script);
    let scenario = folder.write("plant.yaml", SCENARIO);
    live(&scenario, hosts).env("PATH", path).run()
}

/// Checks that a program `ssh` with this script for `plant-a` ends a run with this exit code and
/// these words.
fn is_refused(test: &str, script: &str, exit: i32, parts: [&str; 2]) {
    // The other host is slow, so the first failure is that of `a`.
    let script = format!("case \"$*\" in *plant-b*) cat > /dev/null; exit;; esac\n{script}");
    let begun = Instant::now();
    let output = run(test, &script, &["a=plant-a", "b=plant-b"]);
    output.exits(exit);
    for part in parts {
        output.says(part);
    }
    // A process that does not end by itself is killed after three seconds.
    assert!(begun.elapsed() < Duration::from_secs(25), "{test}");
}

#[test]
fn a_host_without_an_agent_is_named_with_a_remedy() {
    let script = "echo 'connect: refused' >&2; exit 255";
    let parts = ["cannot connect to `plant-a`: connect: refused", "ssh plant-a true"];
    is_refused("connection", script, 2, parts);
    let parts = ["`plant-a` has no rtether", "scp"];
    is_refused("program", "exit 127", 2, parts);
    let script = "echo \"error: unrecognized subcommand 'live-agent'\" >&2; exit 2";
    let parts = ["`a` (plant-a) has another rtether (without `live-agent`", "scp"];
    is_refused("verb", script, 2, parts);
    let hello = "echo '{\"hello\":{\"version\":\"77.0.0\",\"format\":\"rtether.agent/1\"}}'";
    let parts = ["`a` (plant-a) has another rtether (77.0.0, here", "scp"];
    is_refused("version", &format!("{hello}\ncat > /dev/null"), 2, parts);
}

#[test]
fn an_agent_that_makes_no_sense_is_named() {
    let version = env!("CARGO_PKG_VERSION");
    let hello = "{\"hello\":{\"version\":\"VERSION\",\"format\":\"rtether.agent/1\"}}";
    let hello = format!("echo '{}'", hello.replace("VERSION", version));
    let what = "what `a` (plant-a) says";
    for (test, script, part) in [
        ("babble", "echo 'Welcome!'", "`ssh plant-a true` must not"),
        ("oversize", "head -c 100000 /dev/zero | tr '\\0' x", "a line of more than"),
        ("binary", "head -c 10 /dev/zero | tr '\\0' '\\377'; echo", "no UTF-8"),
        ("turn", "echo '\"ready\"'", "out of turn"),
        ("overflow", "echo '{\"stalls\":[[9223372036854775807,0]]}'", "implausible values"),
    ] {
        let script = format!("{hello}\n{script}\ncat > /dev/null");
        is_refused(test, &script, 2, [what, part]);
    }
    let gone = format!("{hello}\nread role\necho 'Killed' >&2");
    let parts = ["the connection to `a` (plant-a) ended", "Killed"];
    is_refused("gone", &gone, 4, parts);
}

#[test]
fn an_agent_says_what_its_host_lacks() {
    let hosts = ["a=here%nosuch0", "b=here"];
    let output = run("device", &on_this_host(), &hosts);
    output.exits(2);
    let message = output.err;
    let named = "`a` (here): no network device `nosuch0`; there are lo";
    // Both agents write at once, and `b` also has an error: it was not started by ssh.
    let other = "`b` (here): the device of the connection is not known";
    assert!(message.contains(named) || message.contains(other), "{message}");

    run("lo", &on_this_host(), &["a=here%lo", "b=here%lo"])
        .exits(2)
        .says("`a` and `b` are in the same network namespace");
}

#[test]
fn an_agent_without_rights_names_the_remedy() {
    if !is_root() {
        return;
    }
    let folder = Folder::new("rights");
    // Readable by others: the build folder may not be.
    let program = folder.file("rtether");
    copy_program(&program);
    // Each host is a separate network, with `lo` up.
    let script = format!(
        "while [ \"$1\" != -- ]; do shift; done\nshift 3\n\
         exec unshare --net sh -c 'ip link set lo up; \
         exec setpriv --reuid 65534 --regid 65534 --clear-groups {program} live-agent'"
    );
    let path = folder.script("ssh", &script);
    let raw = SCENARIO.replace("name: f,", "name: f, over: raw,");
    let scenario = folder.write("plant.yaml", &raw);
    // With a priority, memory is locked first, which has a separate limit.
    for (priority, expected, remedy) in
        [("0", "opening a socket", "setcap"), ("40", "cannot", "`--priority 0`")]
    {
        live(&scenario, &["a=one%lo", "b=two%lo"])
            .args(["--priority", priority])
            .env("PATH", &path)
            .run()
            .exits(4)
            .says(expected)
            .says(remedy);
    }
}

#[test]
fn hosts_that_make_no_sense_are_refused_before_anything_is_started() {
    let script = "echo started >&2; exit 255";
    let output = run("wrong", script, &["c=x"]);
    output.exits(2).says("there is no node `c`").says("`a` has no host; add `--host a=");
    assert!(!output.err.contains("started"), "{output:?}");

    let folder = Folder::new("other");
    let scenario = folder.write("plant.yaml", SCENARIO);
    rtether()
        .args(["live", "--dry-run", "--host", "a=x"])
        .arg(&scenario)
        .run()
        .exits(2)
        .says("`--host` is for `--backend ssh`");
}

#[test]
fn a_dry_run_shows_the_commands() {
    let output = {
        let folder = Folder::new("dry");
        let path = folder.script("ssh", "echo started >&2; exit 255");
        let scenario = folder.write("plant.yaml", SCENARIO);
        live(&scenario, &["a=plant-a%eth1", "b=me@plant-b"])
            .arg("--dry-run")
            .env("PATH", path)
            .run()
    };
    output.exits(0);
    let ssh = "ssh -o BatchMode=yes -o ConnectTimeout=10 -o ControlMaster=no \
               -o ServerAliveInterval=5 -o ServerAliveCountMax=3 --";
    let expected = format!(
        "# starts an agent on each host; what is between them is used as it is\n\
         # plays `a` on eth1\n{ssh} plant-a rtether live-agent\n\
         # plays `b` on the device of the connection\n{ssh} me@plant-b rtether live-agent\n"
    );
    assert_eq!(output.out, expected);
}

/// The response of an agent to this input, as seen by a user who starts one by hand.
fn agent(test: &str, input: &[u8]) -> Ended {
    let mut child = rtether().arg("live-agent").stdin(Stdio::piped()).start();
    let begun = Instant::now();
    // It may have ended before reading everything.
    drop(child.stdin.take().unwrap().write_all(input));
    let output = child.finish();
    assert!(begun.elapsed() < Duration::from_secs(10), "{test}");
    output
}

#[test]
fn an_agent_ends_with_its_input() {
    agent("nothing", b"").exits(4).says("the coordinator is gone");
    agent("malformed", b"GET / HTTP/1.1\r\n\r\n").exits(2).says("not from a coordinator");
    agent("oversize", &vec![b'x'; 1 << 20]).exits(2).shows("{\"failed\":");
}
