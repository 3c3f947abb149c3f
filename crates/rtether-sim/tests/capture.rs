//! Captures read by an independent decoder: `tshark`, where it is installed.

use std::path::PathBuf;
use std::process::Command;

use rtether_model::flow::Ports;
use rtether_model::quantity::{BitRate, Bytes, Duration, Instant};
use rtether_model::wire::Encapsulation;
use rtether_sim::tcp::{Config, Receiver, Segment, Sender};
use rtether_sim::trace::{Capture, Destination, FrameDescription, Tag};
use rtether_testkit::skip;

/// The decoder: the command in `RTETHER_TSHARK`, or `tshark` in the search path.
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

/// Writes the capture and returns the lines that `tshark` prints for it.
fn read(name: &str, capture: &[u8], arguments: &[&str]) -> Vec<String> {
    let path = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join(name);
    std::fs::write(&path, capture).expect("the directory for temporary files");
    let output = tshark()
        .args(["-n", "-o", "ip.check_checksum:TRUE", "-o", "udp.check_checksum:TRUE"])
        .args(["-o", "tcp.check_checksum:TRUE", "-r"])
        .arg(&path)
        .args(arguments)
        .output()
        .expect("tshark, found before");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8_lossy(&output.stdout).lines().map(String::from).collect()
}

fn fields<'a>(names: &[&'a str]) -> Vec<&'a str> {
    let mut arguments = vec!["-T", "fields", "-E", "separator=,"];
    arguments.extend(names.iter().flat_map(|name| ["-e", name]));
    arguments
}

fn description(encapsulation: Encapsulation) -> FrameDescription {
    FrameDescription {
        source: 1,
        destination: Destination::Station(2),
        tag: None,
        encapsulation,
        payload: Bytes::new(100),
        dscp: 46,
        flow: 3,
        ports: Ports::UNSET,
        reply: false,
        identification: 77,
        tcp: None,
    }
}

/// One frame of each kind, alternately on two ports, at times that show the resolution.
fn capture_of_all() -> Vec<u8> {
    let mut out = vec![];
    let mut capture = Capture::begin(&mut out);
    let ports = ["sw1/1", "sw1/2"]
        .map(|name| capture.add_interface(&mut out, name, BitRate::from_mbps(100)));
    let tag = Some(Tag { pcp: 6, vid: 100 });
    let group = Destination::Group(7);
    let frames = [
        (0, FrameDescription { tag, ..description(Encapsulation::Udp) }),
        (
            1,
            FrameDescription {
                destination: group,
                payload: Bytes::ZERO,
                ..description(Encapsulation::Udp)
            },
        ),
        (999, FrameDescription { reply: true, ..description(Encapsulation::Icmp) }),
        (123_456_789, FrameDescription { tag, ..description(Encapsulation::Goose) }),
        (1_000_000_001, description(Encapsulation::SampledValues)),
        (2_000_000_001, description(Encapsulation::Profinet)),
        (
            3_000_000_001,
            FrameDescription {
                destination: Destination::Broadcast,
                ..description(Encapsulation::Raw)
            },
        ),
    ];
    for ((at_ns, frame), port) in frames.iter().zip(ports.iter().cycle()) {
        let mut bytes = vec![];
        frame.append_to(&mut bytes);
        capture.add_frame(&mut out, *port, Instant::ZERO + Duration::from_ns(*at_ns), &bytes);
    }
    out
}

#[test]
fn tshark_reads_every_encapsulation() {
    if tshark_is_missing() {
        return;
    }
    let names = [
        "frame.time_epoch",
        "frame.interface_name",
        "frame.len",
        "eth.dst",
        "vlan.priority",
        "vlan.id",
        "ip.dst",
        "ip.dsfield.dscp",
        "ip.checksum.status",
        "udp.dstport",
        "udp.checksum.status",
        "icmp.type",
        "icmp.checksum.status",
        "goose.appid",
        "sv.appid",
        "pn_rt.cycle_counter",
    ];
    let lines = read("every-encapsulation.pcapng", &capture_of_all(), &fields(&names));
    let expected = [
        "0.000000000,sw1/1,146,02:00:00:00:00:02,6,100,10.0.0.2,46,1,49152,1,,,,,",
        "0.000000001,sw1/2,60,01:00:5e:00:00:07,,,239.0.0.7,46,1,49152,1,,,,,",
        "0.000000999,sw1/1,142,02:00:00:00:00:02,,,10.0.0.2,46,1,,,0,1,,,",
        "0.123456789,sw1/2,126,02:00:00:00:00:02,6,100,,,,,,,,0x0003,,",
        "1.000000001,sw1/1,122,02:00:00:00:00:02,,,,,,,,,,,0x4003,",
        "2.000000001,sw1/2,120,02:00:00:00:00:02,,,,,,,,,,,,77",
        "3.000000001,sw1/1,114,ff:ff:ff:ff:ff:ff,,,,,,,,,,,,",
    ];
    assert_eq!(lines, expected);
}

/// Runs a transfer over a link of 1 ms that loses the `lost`-th segment of the sender, and returns
/// its capture at the sender.
fn transfer(octets: u64, lost: usize) -> Vec<u8> {
    let mut out = vec![];
    let mut capture = Capture::begin(&mut out);
    let port = capture.add_interface(&mut out, "plc/1", BitRate::from_mbps(100));
    let (mut sender, mut receiver) =
        (Sender::new(Config::default()), Receiver::new(Config::default()));
    let mut now = Instant::ZERO;
    let mut record = |now, number: u32, segment: Segment| {
        let reply = number == 2;
        let mut bytes = vec![];
        FrameDescription {
            source: number,
            destination: Destination::Station(3 - number),
            payload: segment.payload_size(),
            reply,
            tcp: Some(segment),
            ..description(Encapsulation::Tcp)
        }
        .append_to(&mut bytes);
        capture.add_frame(&mut out, port, now, &bytes);
    };
    sender.open(now);
    sender.write(now, Bytes::new(octets));
    sender.finish();
    let mut count = 0;
    while !sender.is_done() {
        let mut arriving = vec![];
        while let Some(segment) = sender.poll_transmit(now) {
            record(now, 1, segment);
            count += 1;
            if count != lost {
                arriving.push(segment);
            }
        }
        now += Duration::from_ms(1);
        let mut returning = vec![];
        receiver.handle_timeout(now);
        for segment in arriving {
            receiver.handle_segment(now, &segment);
            returning.extend(receiver.poll_transmit(now));
        }
        returning.extend(receiver.poll_transmit(now));
        for segment in returning {
            record(now, 2, segment);
            sender.handle_segment(now, &segment);
        }
        sender.handle_timeout(now);
    }
    out
}

#[test]
fn tshark_finds_nothing_to_object_to_in_a_tcp_transfer() {
    if tshark_is_missing() {
        return;
    }
    let capture = transfer(100_000, 0);
    let problems = ["-Y", "tcp.analysis.flags || tcp.checksum.status == 0 || _ws.malformed"];
    assert_eq!(read("clean.pcapng", &capture, &problems), [] as [&str; 0]);
    // 100000 octets, counted by `tshark`.
    let lens = read("clean.pcapng", &capture, &fields(&["tcp.len"]));
    let total: u64 = lens.iter().map(|len| len.parse::<u64>().expect("a number")).sum();
    assert_eq!(total, 100_000);
}

#[test]
fn tshark_recognizes_a_fast_retransmission() {
    if tshark_is_missing() {
        return;
    }
    let capture = transfer(100_000, 4);
    let lines = read("loss.pcapng", &capture, &["-Y", "tcp.analysis.fast_retransmission"]);
    assert_eq!(lines.len(), 1, "{lines:?}");
    let all = read("loss.pcapng", &capture, &["-Y", "tcp.analysis.retransmission"]);
    assert_eq!(all.len(), 1, "{all:?}");
}
