//! Hosts that do not take part. Oracle: the documented exit codes, and the name of the host and the
//! remedy in the message.

use std::io::Write;
use std::path::Path;
use std::process::{Command, Output, Stdio};
use std::time::{Duration, Instant};

use super::{Folder, code, live};
use crate::{rtether, skip, stderr, stdout};

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

fn run(test: &str, script: &str, hosts: &[&str]) -> Output {
    let folder = Folder::new(test);
    let path = folder.ssh(script);
    let scenario = folder.file("plant.yaml", SCENARIO);
    live(&scenario, hosts).env("PATH", path).output().unwrap()
}

/// Checks that a program `ssh` with this script for `plant-a` ends a run with this exit code and
/// these words.
fn is_refused(test: &str, script: &str, exit: i32, parts: [&str; 2]) {
    // The other host is slow, so the first failure is that of `a`.
    let script = format!("case \"$*\" in *plant-b*) cat > /dev/null; exit;; esac\n{script}");
    let begun = Instant::now();
    let output = run(test, &script, &["a=plant-a", "b=plant-b"]);
    let message = stderr(&output);
    assert_eq!(code(&output), exit, "{test}: {message}");
    for part in parts {
        assert!(message.contains(part), "{test}: {message}");
    }
    // A process that does not end by itself is killed after three seconds.
    assert!(begun.elapsed() < Duration::from_secs(25), "{test}");
}

#[test]
fn a_host_without_an_agent_is_named_with_a_remedy() {
    let script = "echo 'connect: refused' >&2; exit 255";
    let parts = [
        "cannot connect to `plant-a`: connect: refused",
        "ssh plant-a true",
    ];
    is_refused("connection", script, 2, parts);
    let parts = ["`plant-a` has no rtether", "scp"];
    is_refused("program", "exit 127", 2, parts);
    let script = "echo \"error: unrecognized subcommand 'live-agent'\" >&2; exit 2";
    let parts = [
        "`a` (plant-a) has another rtether (without `live-agent`",
        "scp",
    ];
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
        (
            "oversize",
            "head -c 100000 /dev/zero | tr '\\0' x",
            "a line of more than",
        ),
        (
            "binary",
            "head -c 10 /dev/zero | tr '\\0' '\\377'; echo",
            "no UTF-8",
        ),
        ("turn", "echo '\"ready\"'", "out of turn"),
        (
            "overflow",
            "echo '{\"stalls\":[[9223372036854775807,0]]}'",
            "implausible values",
        ),
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
    assert_eq!(code(&output), 2, "{}", stderr(&output));
    let message = stderr(&output);
    let named = "`a` (here): no network device `nosuch0`; there are lo";
    // Both agents write at once, and `b` also has an error: it was not started by ssh.
    let other = "`b` (here): the device of the connection is not known";
    assert!(
        message.contains(named) || message.contains(other),
        "{message}"
    );

    let output = run("lo", &on_this_host(), &["a=here%lo", "b=here%lo"]);
    assert_eq!(code(&output), 2, "{}", stderr(&output));
    let message = stderr(&output);
    assert!(
        message.contains("`a` and `b` are in the same network namespace"),
        "{message}"
    );
}

#[test]
fn an_agent_without_rights_names_the_remedy() {
    let test = "an_agent_without_rights_names_the_remedy";
    let id = Command::new("id").arg("-u").output().unwrap();
    if id.stdout.trim_ascii() != b"0" {
        skip(test, "needs root");
        return;
    }
    let folder = Folder::new("rights");
    // Readable by others: the build folder may not be.
    let program = folder.0.join("rtether");
    std::fs::copy(env!("CARGO_BIN_EXE_rtether"), &program).unwrap();
    // Each host is a separate network, with `lo` up.
    let script = format!(
        "while [ \"$1\" != -- ]; do shift; done\nshift 3\n\
         exec unshare --net sh -c 'ip link set lo up; \
         exec setpriv --reuid 65534 --regid 65534 --clear-groups {} live-agent'",
        program.display()
    );
    let path = folder.ssh(&script);
    let raw = SCENARIO.replace("name: f,", "name: f, over: raw,");
    let scenario = folder.file("plant.yaml", &raw);
    // With a priority, memory is locked first, which has a separate limit.
    for (priority, expected, remedy) in [
        ("0", "opening a socket", "setcap"),
        ("40", "cannot", "`--priority 0`"),
    ] {
        let output = live(&scenario, &["a=one%lo", "b=two%lo"])
            .args(["--priority", priority])
            .env("PATH", &path)
            .output()
            .unwrap();
        let message = stderr(&output);
        assert_eq!(code(&output), 4, "{message}");
        assert!(
            message.contains(expected) && message.contains(remedy),
            "{message}"
        );
    }
}

#[test]
fn hosts_that_make_no_sense_are_refused_before_anything_is_started() {
    let script = "echo started >&2; exit 255";
    let output = run("wrong", script, &["c=x"]);
    assert_eq!(code(&output), 2);
    let message = stderr(&output);
    assert!(message.contains("there is no node `c`"), "{message}");
    assert!(
        message.contains("`a` has no host; add `--host a="),
        "{message}"
    );
    assert!(!message.contains("started"), "{message}");

    let folder = Folder::new("other");
    let scenario = folder.file("plant.yaml", SCENARIO);
    let output = rtether()
        .args(["live", "--dry-run", "--host", "a=x"])
        .arg(&scenario)
        .output()
        .unwrap();
    assert_eq!(code(&output), 2);
    assert!(stderr(&output).contains("`--host` is for `--backend ssh`"));
}

#[test]
fn a_dry_run_shows_the_commands() {
    let output = {
        let folder = Folder::new("dry");
        let path = folder.ssh("echo started >&2; exit 255");
        let scenario = folder.file("plant.yaml", SCENARIO);
        live(&scenario, &["a=plant-a%eth1", "b=me@plant-b"])
            .arg("--dry-run")
            .env("PATH", path)
            .output()
            .unwrap()
    };
    assert_eq!(code(&output), 0, "{}", stderr(&output));
    let ssh = "ssh -o BatchMode=yes -o ConnectTimeout=10 -o ControlMaster=no \
               -o ServerAliveInterval=5 -o ServerAliveCountMax=3 --";
    let expected = format!(
        "# starts an agent on each host; what is between them is used as it is\n\
         # plays `a` on eth1\n{ssh} plant-a rtether live-agent\n\
         # plays `b` on the device of the connection\n{ssh} me@plant-b rtether live-agent\n"
    );
    assert_eq!(stdout(&output), expected);
}

/// The response of an agent to this input, as seen by a user who starts one by hand.
fn agent(test: &str, input: &[u8]) -> Output {
    let mut child = Command::new(Path::new(env!("CARGO_BIN_EXE_rtether")))
        .arg("live-agent")
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let begun = Instant::now();
    // It may have ended before reading everything.
    drop(child.stdin.take().unwrap().write_all(input));
    let output = child.wait_with_output().unwrap();
    assert!(begun.elapsed() < Duration::from_secs(10), "{test}");
    output
}

#[test]
fn an_agent_ends_with_its_input() {
    let output = agent("nothing", b"");
    assert_eq!(code(&output), 4);
    assert!(stderr(&output).contains("the coordinator is gone"));
    let output = agent("malformed", b"GET / HTTP/1.1\r\n\r\n");
    assert_eq!(code(&output), 2);
    assert!(
        stderr(&output).contains("not from a coordinator"),
        "{}",
        stderr(&output)
    );
    let output = agent("oversize", &vec![b'x'; 1 << 20]);
    assert_eq!(code(&output), 2);
    assert!(
        stdout(&output).contains("{\"failed\":"),
        "{}",
        stdout(&output)
    );
}
