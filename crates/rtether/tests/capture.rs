//! Captures of whole scenarios, read by an independent tool.
//!
//! Oracle: `tshark`, which follows the sequence numbers of every connection.

use std::path::PathBuf;
use std::process::Command;

use rtether::run::{Progress, simulate_seed};
use rtether::scenario::{Override, Scenario, load_with};
use rtether::trace::CaptureLog;
use rtether_model::network::PortId;
use rtether_model::quantity::{Bytes, Instant};
use rtether_proto::access::Control;
use rtether_sim::observe::{Observer, PacketInfo};
use rtether_testkit::skip;

/// Octets of the FCS, which captures do not have.
const FCS: u64 = 4;

/// The decoder: the one given by the variable, else from the search path.
fn tshark() -> Command {
    Command::new(std::env::var_os("RTETHER_TSHARK").unwrap_or_else(|| "tshark".into()))
}

fn tshark_is_missing() -> bool {
    let is_missing = tshark().arg("--version").output().is_err();
    if is_missing {
        skip("tshark is not installed");
    }
    is_missing
}

fn capture(scenario: &Scenario) -> Vec<u8> {
    let mut bytes = Vec::new();
    let mut log = CaptureLog::new(scenario, &mut bytes);
    simulate_seed(scenario, 1, &Progress::default(), &mut log).expect("runs");
    log.finish().expect("memory takes everything");
    bytes
}

#[test]
fn connections_at_a_hub_are_told_apart() {
    if tshark_is_missing() {
        return;
    }
    let text = include_str!("../../../scenarios/hub.yaml");
    // Consecutive files, so that connections reuse the same ports.
    let set = ["run.for=8 s", "run.warmup=0 s", "flows.files 1.bursts.mean_gap=1 s"];
    let set = set.map(|set| Override::parse(set).expect("a path and a value"));
    let scenario = load_with("hub.yaml", text, &set).scenario;
    let bytes = capture(&scenario.expect("the scenario is right"));
    let path = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join("hub.pcapng");
    std::fs::write(&path, &bytes).expect("the directory for temporary files");
    let read = |filter: &str| {
        let fields = ["-T", "fields", "-e", "tcp.stream"];
        let output = tshark()
            .args(["-n", "-o", "ip.check_checksum:TRUE", "-o", "tcp.check_checksum:TRUE", "-r"])
            .arg(&path)
            .args(["-Y", filter])
            .args(fields)
            .output()
            .expect("tshark, found before");
        assert!(output.status.success());
        String::from_utf8_lossy(&output.stdout).lines().count()
    };
    let opened = read("tcp.flags.syn == 1 && tcp.flags.ack == 0");
    assert!(opened >= 2, "{opened} connections for files");
    // Ten connections for messages are open from the start.
    assert_eq!(read(&format!("tcp.stream >= {}", 10 + opened)), 0);
    assert!(read(&format!("tcp.stream == {}", 9 + opened)) > 0);
    // The medium loses nothing here, and no segment is mistaken for a retransmission.
    for wrong in [
        "tcp.analysis.retransmission",
        "tcp.analysis.lost_segment",
        "tcp.analysis.out_of_order",
        "tcp.analysis.ack_lost_segment",
        "_ws.malformed",
        "tcp.checksum.status == 0",
        "ip.checksum.status == 0",
    ] {
        assert_eq!(read(wrong), 0, "{wrong}");
    }
}

/// Oracle: `tshark`, which reassembles the fragments and verifies the checksums of IP and UDP.
#[test]
fn fragments_are_put_together() {
    if tshark_is_missing() {
        return;
    }
    let text = "
rtether: 1
run: { for: 100 ms, warmup: 0 s }
nodes: { a: { stack: zero }, b: { stack: zero } }
switches: { sw: { ports: 2 } }
links:
  - { ends: [a, \"sw:1\"], rate: 100 Mbit/s }
  - { ends: [b, \"sw:2\"], rate: 100 Mbit/s }
flows:
  - { name: one, from: a, to: b, period: 10 ms, size: 5000 B, reply: { size: 65507 B }, deadline: 9 ms }
  - { name: two, from: a, to: b, period: 10 ms, size: 1473 B, pcp: 3 }
";
    let scenario = load_with("fragments.yaml", text, &[]).scenario;
    let bytes = capture(&scenario.expect("the scenario is right"));
    let path = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join("fragments.pcapng");
    std::fs::write(&path, &bytes).expect("the directory for temporary files");
    let read = |filter: &str, field: &str| {
        let output = tshark()
            .args(["-n", "-o", "ip.check_checksum:TRUE", "-o", "udp.check_checksum:TRUE"])
            .arg("-r")
            .arg(&path)
            .args(["-Y", filter, "-T", "fields", "-e", field])
            .output()
            .expect("tshark, found before");
        assert!(output.status.success());
        let text = String::from_utf8_lossy(&output.stdout).into_owned();
        text.lines().map(str::to_owned).collect::<Vec<_>>()
    };
    // As sent, at the port of the first station.
    let sent = |size: u64| {
        let filter = format!("frame.interface_id == 0 && udp.length == {}", size + 8);
        read(&filter, "ip.reassembled.length")
    };
    assert_eq!(sent(5_000), ["5008"; 10]);
    assert_eq!(sent(1_473), ["1481"; 10]);
    let answers = read("udp.length == 65515", "ip.reassembled.length");
    assert!(answers.len() >= 9 && answers.iter().all(|octets| octets == "65515"));
    for wrong in [
        "ip.fragment.error",
        "ip.fragment.overlap.conflict",
        "ip.fragment.toolongfragment",
        "_ws.malformed",
        "udp.checksum.status == 0",
        "ip.checksum.status == 0",
    ] {
        assert_eq!(read(wrong, "frame.number"), [""; 0], "{wrong}");
    }
}

/// Oracle: `tshark`, which decodes ARP and pairs requests with replies.
#[test]
fn requests_for_addresses_are_decoded() {
    if tshark_is_missing() {
        return;
    }
    let text = "
rtether: 1
run: { for: 10 ms, warmup: 0 s }
nodes: { a: { stack: zero, arp: {} }, b: { stack: zero } }
switches: { sw: { ports: 2, port_settings: { 1: { trunk: [7] }, 2: { access: 7 } } } }
links:
  - { ends: [a, \"sw:1\"], rate: 100 Mbit/s }
  - { ends: [b, \"sw:2\"], rate: 100 Mbit/s }
flows:
  - { name: one, from: a, to: b, period: 10 ms, size: 60 B, pcp: 5, vlan: 7 }
";
    let loaded = load_with("arp.yaml", text, &[]);
    let bytes = capture(&loaded.into_scenario().expect("the scenario is right"));
    let path = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join("arp.pcapng");
    std::fs::write(&path, &bytes).expect("the directory for temporary files");
    let fields = [
        "eth.dst",
        "vlan.id",
        "arp.opcode",
        "arp.src.proto_ipv4",
        "arp.dst.proto_ipv4",
        "arp.dst.hw_mac",
        "frame.len",
    ];
    let output = tshark()
        .arg("-n")
        .arg("-r")
        .arg(&path)
        .args(["-Y", "arp", "-T", "fields", "-E", "separator=,"])
        .args(fields.iter().flat_map(|field| ["-e", field]))
        .output()
        .expect("tshark, found before");
    assert!(output.status.success());
    let text = String::from_utf8_lossy(&output.stdout);
    let a = "02:00:00:00:00:00";
    let zero = "00:00:00:00:00:00";
    // Without the FCS; the tag is that of the VLAN between the station and its switch.
    let expected = [
        format!("ff:ff:ff:ff:ff:ff,7,1,10.0.0.0,10.0.0.1,{zero},64"),
        format!("ff:ff:ff:ff:ff:ff,,1,10.0.0.0,10.0.0.1,{zero},60"),
        format!("{a},,2,10.0.0.1,10.0.0.0,{a},60"),
        format!("{a},7,2,10.0.0.1,10.0.0.0,{a},64"),
    ];
    assert_eq!(text.lines().collect::<Vec<_>>(), expected);
}

/// Runs the drives with a scheme; returns what `tshark` says of its capture.
fn controlled(scheme: &str, fields: &[&str]) -> Vec<String> {
    let text = include_str!("../../../scenarios/drives.yaml");
    let text = text.replace("scheme: powerlink", &format!("scheme: {scheme}"));
    let set = Override::parse("run.for=10 ms").expect("a path and a value");
    let scenario = load_with("drives.yaml", &text, &[set]).scenario;
    let bytes = capture(&scenario.expect("the scenario is right"));
    let path = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join(format!("{scheme}.pcapng"));
    std::fs::write(&path, &bytes).expect("the directory for temporary files");
    let read = |arguments: &[&str]| {
        let output = tshark().arg("-n").arg("-r").arg(&path).args(arguments).output();
        let output = output.expect("it was asked for its version");
        assert!(output.status.success(), "{scheme}: {}", String::from_utf8_lossy(&output.stderr));
        String::from_utf8(output.stdout).expect("text")
    };
    let malformed = "_ws.malformed || (_ws.expert.severity >= error && !tcp)";
    assert_eq!(read(&["-Y", malformed]), "", "{scheme}");
    let fields = fields.iter().flat_map(|field| ["-e", *field]);
    let arguments: Vec<&str> = ["-T", "fields"].into_iter().chain(fields).collect();
    read(&arguments).lines().map(str::to_owned).collect()
}

/// Oracle: `tshark`'s decoder of Powerlink, and the cycle: SoC, a PReq for each node, SoA.
#[test]
fn powerlink_is_read_by_others() {
    if tshark_is_missing() {
        return;
    }
    let found = controlled("powerlink", &["epl.mtyp", "epl.src", "epl.dest"]);
    let of = |kind: &str| found.iter().filter(|line| line.starts_with(kind)).count();
    let (starts, requests, answers, grants) = (of("1\t"), of("3\t"), of("4\t"), of("5\t"));
    assert!(starts > 20 && answers > 0, "{starts} {answers}");
    // Seventeen nodes beside the managing one; the run ends within a cycle.
    assert!(requests.abs_diff(17 * starts) <= 17 && grants.abs_diff(starts) <= 1);
    let first: Vec<&str> = found.iter().map(String::as_str).take(2).collect();
    assert_eq!(first, ["1\t240\t255", "3\t240\t1"]);
}

/// Oracle: `tshark`'s decoder of `RTmac`, and the cycles of the plan, which it reads from the
/// frames.
#[test]
fn sync_frames_are_read_by_others() {
    if tshark_is_missing() {
        return;
    }
    let fields = ["tdma.id", "tdma.sync.cycle", "tdma.sync.sched_xmit"];
    let found = controlled("tdma", &fields);
    let syncs: Vec<Vec<u64>> = found
        .iter()
        .filter(|line| line.starts_with("0x"))
        .map(|line| line.split('\t').skip(1).map(|one| one.parse().expect("a number")).collect())
        .collect();
    assert!(syncs.len() > 20, "{}", syncs.len());
    let cycle = syncs[1][1];
    for (number, sync) in (0u64..).zip(&syncs) {
        assert_eq!(sync[0], number);
        assert!(sync[1].abs_diff(number * cycle) <= number, "{sync:?}");
    }
}

/// Oracle: `tshark`, which checks the trailers of PRP: network, size and sequence number.
#[test]
fn both_copies_have_their_trailers() {
    if tshark_is_missing() {
        return;
    }
    let text = "
rtether: 1
run: { for: 2 ms, warmup: 0 s }
nodes: { a: { stack: zero, redundancy: prp }, b: { stack: zero, redundancy: prp } }
switches: { first: { ports: 2 }, second: { ports: 2 } }
links:
  - { ends: [a, \"first:1\"], rate: 100 Mbit/s }
  - { ends: [b, \"first:2\"], rate: 100 Mbit/s }
  - { ends: [a, \"second:1\"], rate: 100 Mbit/s }
  - { ends: [b, \"second:2\"], rate: 100 Mbit/s }
flows:
  - { name: tagged, from: a, to: b, period: 1 ms, size: 60 B, pcp: 5 }
  - { name: short, from: b, to: a, period: 1 ms, size: 1 B, over: raw }
";
    let loaded = load_with("prp.yaml", text, &[]);
    let bytes = capture(&loaded.into_scenario().expect("the scenario is right"));
    let path = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join("prp.pcapng");
    std::fs::write(&path, &bytes).expect("the directory for temporary files");
    let fields =
        ["frame.len", "prp.trailer.prp_sequence_nr", "prp.trailer.prp_lan", "prp.trailer.prp_size"];
    let output = tshark()
        .args(["-n", "-o", "prp.enable:TRUE", "-r"])
        .arg(&path)
        .args(["-Y", "prp", "-T", "fields", "-E", "separator=,"])
        .args(fields.iter().flat_map(|field| ["-e", field]))
        .output()
        .expect("tshark, found before");
    assert!(output.status.success());
    let text = String::from_utf8_lossy(&output.stdout);
    let mut lines: Vec<&str> = text.lines().collect();
    lines.sort_unstable();
    // Without the FCS: 60 octets over UDP, tagged, and the shortest frame; each on two links of two
    // networks (A is 10, B is 11) in two periods.
    let mut expected = Vec::new();
    for (length, size) in [(112, 94), (66, 52)] {
        for sequence in 0..2 {
            for network in [10, 10, 11, 11] {
                expected.push(format!("{length},{sequence},{network},{size}"));
            }
        }
    }
    expected.sort_unstable();
    assert_eq!(lines, expected);
}

/// All that `tshark` may say of GOOSE and sampled values, whose payload of zeros is none of theirs
/// (limitations of `rtether_sim::trace`).
const NO_PDU: [&str; 2] =
    ["Internal error, zero-byte GOOSE PDU", "Internal error, zero-byte SV PDU"];

/// Severity of an error among what `tshark` notes (`PI_ERROR`).
const ERROR: u32 = 0x80_0000;

/// When and how long frames are: nanoseconds, and octets without the FCS.
type Frames = Vec<(u64, u64)>;

/// What the simulator sends.
#[derive(Default)]
struct Sent {
    frames: Frames,
    control: Frames,
}

impl Observer for Sent {
    fn transmitted(&mut self, now: Instant, _port: PortId, packet: &PacketInfo) {
        self.frames.push(frame(now, packet.frame_size));
    }

    fn controlled(&mut self, now: Instant, _port: PortId, control: &Control) {
        self.control.push(frame(now, control.size));
    }
}

fn frame(at: Instant, size: Bytes) -> (u64, u64) {
    (at.as_ps().unsigned_abs() / 1000, size.get() - FCS)
}

/// Oracle: `tshark`, which dissects every frame of every scenario in the repository, and the events of
/// the same run.
#[test]
fn frames_are_dissected_when_and_as_long_as_they_were() {
    if tshark_is_missing() {
        return;
    }
    let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/../../scenarios");
    let files = std::fs::read_dir(folder).expect("the scenarios").map(|file| file.unwrap().path());
    let mut files: Vec<PathBuf> =
        files.filter(|path| path.extension().is_some_and(|own| own == "yaml")).collect();
    files.sort();
    assert!(files.len() > 10, "{files:?}");
    let mut count = 0;
    for file in files {
        let name = file.file_name().unwrap().to_string_lossy().into_owned();
        let text = std::fs::read_to_string(&file).unwrap();
        let set = ["run.for=30 ms", "run.warmup=0 s"].map(|set| Override::parse(set).unwrap());
        let scenario = load_with(&name, &text, &set).into_scenario().unwrap();
        let mut bytes = Vec::new();
        let mut both = (CaptureLog::new(&scenario, &mut bytes), Sent::default());
        simulate_seed(&scenario, 1, &Progress::default(), &mut both).expect("runs");
        let (log, sent) = both;
        log.finish().expect("memory takes everything");
        count += sent.frames.len();
        dissect(&name, &bytes, sent);
    }
    assert!(count > 1_000, "{count}");
}

/// Compares what `tshark` reads, which verifies all checksums, with what was sent.
fn dissect(name: &str, bytes: &[u8], sent: Sent) {
    let path = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join(format!("{name}.pcapng"));
    std::fs::write(&path, bytes).expect("the directory for temporary files");
    let fields = [
        "frame.time_epoch",
        "frame.len",
        "frame.cap_len",
        "_ws.malformed",
        "_ws.expert.severity",
        "_ws.expert.message",
    ];
    let output = tshark()
        .args(["-n", "-o", "ip.check_checksum:TRUE", "-o", "udp.check_checksum:TRUE"])
        .args(["-o", "tcp.check_checksum:TRUE", "-r"])
        .arg(&path)
        .args(["-T", "fields", "-E", "aggregator=|"])
        .args(fields.iter().flat_map(|field| ["-e", field]))
        .output()
        .expect("tshark, found before");
    assert!(output.status.success(), "{name}: {}", String::from_utf8_lossy(&output.stderr));
    let text = String::from_utf8(output.stdout).expect("text");
    let mut read: Frames = text.lines().map(|line| sound(name, line)).collect();
    let mut expected = sent.frames;
    // Of access schemes the scenarios have Powerlink alone, all of whose control frames are written.
    expected.extend(sent.control);
    read.sort_unstable();
    expected.sort_unstable();
    assert_eq!((read.is_empty(), read.len()), (false, expected.len()), "{name}");
    let differ = read.iter().zip(&expected).find(|(read, sent)| read != sent);
    assert_eq!(differ, None, "{name}");
}

/// Reads time and length of a frame with which nothing is wrong.
fn sound(name: &str, line: &str) -> (u64, u64) {
    let cells: Vec<&str> = line.split('\t').collect();
    let [time, length, captured, malformed, severities, messages] = cells[..] else {
        panic!("{name}: {line}");
    };
    let severities = severities.split('|').filter(|own| !own.is_empty());
    let worst = severities.map(|own| own.parse().expect("a severity")).max();
    let is_wrong = worst.is_some_and(|worst: u32| worst >= ERROR);
    assert!(!is_wrong || NO_PDU.contains(&messages), "{name}: {line}");
    assert_eq!((captured, malformed), (length, ""), "{name}: {line}");
    // Seconds have nine decimals.
    (time.replace('.', "").parse().expect("a time"), length.parse().expect("a length"))
}
