//! RTPS with other implementations: the peers of `interop/` in both directions, each pair in
//! network namespaces of its own.
//!
//! Oracle: the output of the other implementation. Needs root, iproute2, and the peers' libraries,
//! which `cargo xtask test` installs if permitted (`RTETHER_IDLC` is the path of the IDL compiler
//! that comes with them), but for Fast DDS 3, whose folder is in `RTETHER_FASTDDS`; a test that cannot run prints why, and is counted.
#![allow(
    clippy::unwrap_used,
    clippy::print_stdout,
    reason = "a test that cannot go on may panic, and says what it has seen"
)]

use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::OnceLock;

use rtether_testkit::{example, skip};

/// Cases that every pair must pass.
const CASES: &[&str] = &[
    "reliable",
    "transient_local",
    "dispose",
    "deadline",
    "strength",
    "large",
    "ping",
    "DURABILITY",
];
/// Cases that hold with a fifth of all datagrams lost, each way.
const LOSSY: &[&str] = &["burst"];
const LOSS: &str = "--loss 200";
/// Cases reserved for the nightly run.
const LONG: &[&str] = &[
    "best_effort",
    "burst",
    "unicast",
    "transient_local_last",
    "unregister",
    "lifespan",
    "partition",
    "other_partition",
    "other_topic",
    "RELIABILITY",
    "DEADLINE",
    "OWNERSHIP",
];
const LONG_LOSSY: &[&str] = &["reliable", "large"];
/// Cases in which Fast DDS 2.9 does not participate, since it neither sends nor compares data
/// representations.
const REPRESENTATION: &[&str] = &["xcdr2", "dispose_xcdr2", "DATA_REPRESENTATION"];
/// Cases for readers of rtether only, not of the peers.
const FILTER: &[&str] = &["filter", "content"];

fn folder(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").join(name)
}

/// Returns the folder of the peers, built once, or the reason why they cannot be built.
fn peers() -> Result<&'static Path, String> {
    static BUILT: OnceLock<Result<PathBuf, String>> = OnceLock::new();
    let built = BUILT.get_or_init(|| {
        if std::env::var_os("RTETHER_IDLC").is_none() {
            return Err("RTETHER_IDLC is not set; run `cargo xtask test`".to_owned());
        }
        let out = Path::new(env!("CARGO_TARGET_TMPDIR")).join("interop");
        let build = Command::new(folder("interop/build.sh")).arg(&out).output();
        let build = build.map_err(|error| error.to_string())?;
        if build.status.success() {
            Ok(out)
        } else {
            Err(String::from_utf8_lossy(&build.stderr).into_owned())
        }
    });
    built.as_deref().map_err(Clone::clone)
}

/// Returns our peer.
fn own() -> &'static Path {
    static BUILT: OnceLock<PathBuf> = OnceLock::new();
    BUILT.get_or_init(|| example("rtether-live", "rtps_peer"))
}

fn check([publisher, subscriber]: [&str; 2], cases: &[&[&str]], lossy: &[&str]) {
    let is_root = rustix::process::geteuid().is_root();
    let peers = match peers() {
        Ok(peers) if is_root => peers,
        Ok(_) => return skip("needs root"),
        Err(reason) => return skip(&reason),
    };
    let program = |name: &str| {
        if name == "rtether" { own().to_owned() } else { peers.join(format!("peer-{name}")) }
    };
    let mut failed = Vec::new();
    let usual = cases.iter().copied().flatten().map(|case| (case, ""));
    for (case, extra) in usual.chain(lossy.iter().map(|case| (case, LOSS))) {
        let extra_for = |name: &str| if name == "rtether" { extra } else { "" };
        let run = Command::new(folder("interop/check.sh"))
            .args([program(publisher), program(subscriber)])
            .args(["veth", case])
            .env("PUB_EXTRA", extra_for(publisher))
            .env("SUB_EXTRA", extra_for(subscriber))
            .output()
            .unwrap();
        let words = String::from_utf8_lossy(&run.stdout).into_owned();
        print!("{extra} {publisher} to {subscriber}: {words}");
        if !run.status.success() {
            failed.push(words + &String::from_utf8_lossy(&run.stderr));
        }
    }
    assert!(
        failed.is_empty(),
        "{}\nrepeat: interop/check.sh {} {} veth CASE",
        failed.concat(),
        program(publisher).display(),
        program(subscriber).display()
    );
}

#[test]
fn samples_go_to_cyclone_dds() {
    let pair = ["rtether", "cyclone"];
    check(pair, &[CASES], LOSSY);
}

#[test]
fn samples_come_from_cyclone_dds() {
    let pair = ["cyclone", "rtether"];
    check(pair, &[CASES], LOSSY);
}

#[test]
fn samples_go_to_fast_dds() {
    let pair = ["rtether", "fastdds"];
    check(pair, &[CASES], LOSSY);
}

#[test]
fn samples_come_from_fast_dds() {
    let pair = ["fastdds", "rtether"];
    check(pair, &[CASES], LOSSY);
}

#[test]
#[ignore = "nightly"]
fn further_cases_hold_with_cyclone_dds() {
    let (there, back) = (["rtether", "cyclone"], ["cyclone", "rtether"]);
    check(there, &[LONG, REPRESENTATION], LONG_LOSSY);
    check(back, &[LONG, REPRESENTATION, FILTER], LONG_LOSSY);
}

#[test]
#[ignore = "nightly"]
fn further_cases_hold_with_fast_dds() {
    let (there, back) = (["rtether", "fastdds"], ["fastdds", "rtether"]);
    check(there, &[LONG], LONG_LOSSY);
    check(back, &[LONG, FILTER], LONG_LOSSY);
}

#[test]
#[ignore = "nightly"]
fn further_cases_hold_with_fast_dds_3() {
    if std::env::var_os("RTETHER_FASTDDS").is_none() {
        return skip("needs Fast DDS 3, whose folder is in RTETHER_FASTDDS");
    }
    let (there, back) = (["rtether", "fastdds3"], ["fastdds3", "rtether"]);
    let cases = [CASES, LONG, REPRESENTATION];
    check(there, &cases, &[LOSSY, LONG_LOSSY].concat());
    check(back, &[&cases[..], &[FILTER]].concat(), &[LOSSY, LONG_LOSSY].concat());
}

#[test]
#[ignore = "nightly"]
fn all_cases_hold_with_ourselves() {
    let all = &[CASES, LONG, REPRESENTATION, FILTER, &["leave"]];
    let pair = ["rtether", "rtether"];
    check(pair, all, LONG_LOSSY);
}
