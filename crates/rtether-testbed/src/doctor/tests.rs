//! Oracle: made-up hosts whose state the test writes down.

use rtether::report::format::Render;
use rtether_live::confine::Allowed;
use rtether_live::host::device::{Coalescing, Settings};
use rtether_live::host::features::Feature;
use rtether_live::host::files::Files;
use rtether_live::host::rights::{Rights, capability};
use rtether_testkit::Folder;

use super::machine::Ticks;
use super::*;

/// Returns a directory tree with these files.
fn tree(files: &[(&str, &str)]) -> Folder {
    let folder = Folder::new("doctor");
    for (path, text) in files {
        folder.write(path, text);
    }
    folder
}

#[test]
fn rights_are_read_from_the_status() {
    let status = "Name:\tx\nUid:\t1000\t1000\t1000\t1000\nCapEff:\t0000000000002000\n";
    let tree = tree(&[("proc/self/status", status)]);
    let rights = Rights::read(&Files::under(tree.path())).expect("it is complete");
    assert!(!rights.is_root);
    assert!(rights.has(capability::NET_RAW) && !rights.has(capability::NET_ADMIN));
    let findings = rights::of_process(rights);
    let of = |id: &str| findings.iter().find(|of| of.id == id).expect("it is there");
    assert!(of("rights.net-raw").is_there);
    assert!(!of("rights.net-admin").is_there);
    let remedy = of("rights.net-admin").remedy.as_deref();
    assert!(remedy.is_some_and(|text| text.contains("cap_net_admin")));
}

#[test]
fn what_services_cannot_give_up_is_said() {
    let refused = || std::io::Error::from(std::io::ErrorKind::PermissionDenied);
    let findings = rights::confinement(&Allowed {
        user: Some(Err(refused())),
        files: Ok(()),
        calls: Err(refused()),
    });
    let there: Vec<_> = findings.iter().map(|of| (&*of.id, of.is_there)).collect();
    let expected = [("confine.user", false), ("confine.files", true), ("confine.calls", false)];
    assert_eq!(there, expected);
    let remedy = findings[2].remedy.as_deref();
    assert!(remedy.is_some_and(|text| text.contains("CONFIG_SECCOMP_FILTER")));
    let goal = goal("confinement").expect("there is one");
    let report = Report { host: "x".into(), findings };
    assert_eq!(goal.obstacles(&report).len(), 2);
}

#[test]
fn processors_are_judged_by_their_files() {
    let cpu = "sys/devices/system/cpu/cpu0";
    let tree = tree(&[
        (&format!("{cpu}/cpufreq/scaling_governor"), "powersave\n"),
        (&format!("{cpu}/cpuidle/state0/latency"), "2\n"),
        (&format!("{cpu}/cpuidle/state0/name"), "C1\n"),
        (&format!("{cpu}/cpuidle/state1/latency"), "133\n"),
        (&format!("{cpu}/cpuidle/state1/name"), "C6\n"),
        ("proc/stat", "cpu  10 0 20 60 1 2 3 4 5 6\ncpu0 1 1\n"),
    ]);
    let governor = machine::governor(&Files::under(tree.path()));
    assert_eq!((governor.state, governor.found.as_str()), (State::Note, "powersave"));
    let idle = machine::idle(&Files::under(tree.path()));
    assert_eq!(idle.found, "C6, 133 us to leave");
    assert_eq!(idle.state, State::Note);
    let before = machine::ticks(&Files::under(tree.path())).expect("it is complete");
    assert_eq!((before.all, before.stolen), (100, 4));
    let after = Ticks { all: 200, stolen: 5 };
    let steal = machine::steal(Some(before), Some(after)).expect("both are there");
    assert_eq!(steal.state, State::Problem);
    assert!(steal.found.starts_with("1 of 100"), "{}", steal.found);
}

#[test]
fn moderated_interrupts_are_a_problem_when_frames_wait_long() {
    let state = |receive_us, is_adaptive| {
        let coalescing = Coalescing { receive_us, send_us: 0, is_adaptive };
        devices::moderation("eth0", coalescing).state
    };
    assert_eq!(state(0, false), State::Ok);
    assert_eq!(state(0, true), State::Note);
    assert_eq!(state(50, false), State::Problem);
}

#[test]
fn a_goal_is_possible_when_all_it_needs_is_there() {
    let refused = |id: &str, refusal: Option<&str>| {
        kernel::of_feature(&Feature { id: id.into(), refusal: refusal.map(Into::into) })
    };
    let mut report = Report::default();
    report.findings.extend(devices::stamping(&[("eth0".into(), Settings::default())]));
    let hardware = goal("timestamps-hw").expect("it is known");
    let needs: Vec<&str> = hardware.obstacles(&report).iter().map(|o| o.need).collect();
    assert_eq!(needs, ["timestamps.hardware", "clock.hardware"]);
    let said = obstacles_text(hardware, &hardware.obstacles(&report));
    assert!(said.contains("remedy: a network card") && said.contains("could not be tried"));

    let xdp = goal("ping-xdp").expect("it is known");
    report.findings = rights::of_process(Rights { is_root: true, effective: u64::MAX });
    report.findings.push(refused("xdp.socket", Some("Address family not supported")));
    assert_eq!(xdp.obstacles(&report).len(), 1);
    report.findings.pop();
    report.findings.push(refused("xdp.socket", None));
    assert_eq!(xdp.obstacles(&report), []);
}

#[test]
fn what_goals_need_is_looked_at() {
    // Oracle: the findings on this host, with all probes. An ordinary user cannot try features, so
    // they are then not expected.
    let options = DoctorOptions { watch: Duration::from_ms(5), probe: true, sample: Some(20_000) };
    let report = examine(&options, &AtomicBool::new(false), |_| ());
    let is_tried = report.find("link.namespace").is_some_and(|of| of.is_there);
    for goal in GOALS {
        for obstacle in goal.obstacles(&report) {
            let is_feature = ["link.", "qdisc.", "filter.", "xdp."]
                .iter()
                .any(|group| obstacle.need.starts_with(group));
            assert!(
                obstacle.finding.is_some() || (is_feature && !is_tried),
                "{} of {}",
                obstacle.need,
                goal.name
            );
        }
    }
    let ids: std::collections::BTreeSet<&str> =
        report.findings.iter().map(|of| of.id.as_str()).collect();
    assert_eq!(ids.len(), report.findings.len(), "a name is used twice");
    assert!(report.findings.iter().all(|of| of.state == State::Ok || of.remedy.is_some()));
    assert_eq!(parse(&report.json()), Ok(report));
}

#[test]
fn findings_of_another_host_are_not_trusted() {
    assert!(parse("{").is_err());
    assert!(parse("{\"schema\": \"rtether.ping/1\"}").is_err());
    let long = "x".repeat(10_000);
    let text = format!(
        r#"{{"schema": "rtether.doctor/1", "host": "a\u001b[2Jb", "findings": [
            {{"id": "a.b", "state": "ok", "found": "{long}", "meaning": "", "remedy": null}}]}}"#
    );
    let report = parse(&text).expect("it is well-formed");
    assert_eq!(report.host, "a[2Jb");
    assert_eq!(report.findings[0].found.len(), 500);
    assert!(!report.findings[0].is_there);
}

#[test]
fn what_a_sample_takes_is_counted() {
    // Oracle: by hand: 6 MB are 4286 datagrams of 1400 octets, each charged 2304; 64 kB are 45
    // fragments of 1480 octets, so that 4 MiB hold 40 such datagrams.
    let tree = tree(&[
        ("proc/sys/net/core/rmem_max", "212992\n"),
        ("proc/sys/net/ipv4/ipfrag_high_thresh", "4194304\n"),
        ("proc/sys/net/ipv4/ipfrag_time", "30\n"),
        ("sys/class/net/eth0/operstate", "up\n"),
        ("sys/class/net/eth0/mtu", "1500\n"),
        ("sys/class/net/eth0/speed", "1000\n"),
        ("sys/class/net/wg0/operstate", "up\n"),
        ("sys/class/net/wg0/mtu", "1420\n"),
        ("sys/class/net/eth1/operstate", "down\n"),
    ]);
    let files = Files::under(tree.path());
    let size = 6_000_000;
    let buffers = samples::buffers(&files, size);
    assert_eq!(buffers.state, State::Note);
    assert!(buffers.found.contains("4286 x 2304 = 9874 kB"), "{}", buffers.found);
    let remedy = buffers.remedy.unwrap_or_default();
    assert!(remedy.contains("rmem_max=4937472"), "{remedy}");
    let small = samples::buffers(&files, 100_000);
    assert_eq!(small.state, State::Ok);
    let fragments = samples::reassembly(&files, size);
    assert_eq!(fragments.state, State::Note);
    assert!(fragments.found.contains("45 x 2304 = 103 kB, so 40 incomplete ones fit"));
    assert!(fragments.found.contains("are 92 datagrams"));
    // 92 datagrams twice, each 103 680 octets.
    let remedy = fragments.remedy.unwrap_or_default();
    assert!(remedy.contains("ipfrag_high_thresh=19077120"), "{remedy}");
    let devices = samples::devices(&files, size);
    let of = |id: &str| devices.iter().find(|of| of.id == id).expect("it is up");
    // 6 000 000 + 4286 x (28 + 72 + 38) octets.
    assert!(of("rtps.device-eth0").found.contains("4286 frames, 6591 kB on the wire, 52.731 ms"));
    assert_eq!(of("rtps.device-wg0").state, State::Note);
    assert_eq!(devices.len(), 2);
}
