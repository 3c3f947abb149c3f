//! Captures: what is read, what is seen, and what becomes of it.

use std::io::{self, Read, Write as _};
use std::time::Duration;

use capture::{element, ethernet, goose, iec61850, ipv4, pcap, pcapng, samples, udp};
use flate2::Compression;
use flate2::write::GzEncoder;
use rtether_import::{
    Code, File, ImportError, Options, Plan, Source, import, import_all, import_captures,
};
use rtether_testkit::processor_time;

use crate::capture;

fn plan(name: &str, octets: &[u8]) -> Plan {
    let plan = import(name, octets, &Options::new());
    plan.unwrap_or_else(|error| panic!("{error}"))
}

fn wrong(octets: &[u8]) -> ImportError {
    import("x.pcap", octets, &Options::new()).expect_err("no plan")
}

/// The lines of a plan without comments.
fn lines(plan: &Plan) -> Vec<&str> {
    let lines = plan.scenario.lines();
    lines.map(|line| line.split(" # ").next().unwrap_or_default().trim()).collect()
}

fn has(plan: &Plan, wanted: &[&str]) {
    let lines = lines(plan);
    for line in wanted {
        assert!(lines.contains(line), "{line}\n{}", plan.scenario);
    }
}

/// Frames at these times, which are nanoseconds after 1000 s.
fn at(times: impl IntoIterator<Item = u64>, frame: &[u8]) -> Vec<(u64, Vec<u8>)> {
    let times = times.into_iter();
    times.map(|ns| (1_000_000_000_000 + ns, frame.to_vec())).collect()
}

/// Oracle: how the capture was made, and IEC 61850-9-2: 8 octets of header and 94 of message.
#[test]
fn sampled_values_are_read() {
    let tag = Some(4 << 13 | 1);
    let frames: Vec<(u64, Vec<u8>)> = (0..4800_u64)
        .map(|n| {
            let count = u16::try_from(n % 4800).expect("it fits");
            let message = iec61850(0x4001, &samples("4001", count));
            let frame = ethernet(7, 0x0401, tag, 0x88BA, &message);
            (n * 1_000_000_000 / 4800, frame)
        })
        .collect();
    assert_eq!(frames[0].1.len(), 120);
    let plan = plan("sv.pcap", &pcap(&frames));
    has(
        &plan,
        &[
            "- name: \"4001\"",
            "class: sv",
            "description: \"multicast address 03-00-00-00-04-01, APPID 4001\"",
            "from: \"02-00-00-00-00-07\"",
            "to: [unknown]",
            "over: sv",
            "rate: 4800 /s",
            "size: 94 B",
            "pcp: 4",
            "vlan: 1",
            "deadline: 3 ms",
        ],
    );
    assert_eq!(plan.format, "capture (pcap)");
    assert_eq!(plan.findings, []);
}

/// Oracle: the times: a heartbeat every second, and an event with repetitions after 2, 4, 8 ms and
/// so on, up to a second.
#[test]
fn goose_is_parted_into_heartbeat_and_events() {
    let ms = 1_000_000;
    let mut frames = Vec::new();
    let mut now = 0;
    for state in 1..=4_u8 {
        let fast = [2, 4, 8, 16, 32, 64, 128, 256, 512];
        let gaps = fast.into_iter().chain([1000; 12]);
        for (sequence, gap) in (0..).zip(gaps) {
            let message = iec61850(0x0001, &goose("trip", state, sequence));
            frames.push((now * ms, ethernet(1, 0x0101, Some(6 << 13), 0x88B8, &message)));
            now += gap;
        }
        now -= 300;
    }
    let plan = plan("goose.pcap", &pcap(&frames));
    has(
        &plan,
        &[
            "- name: trip event",
            "- name: trip heartbeat",
            "class: goose",
            "class: heartbeat",
            "min_gap: 2 ms",
            "period: 1 s",
            "pcp: 6",
        ],
    );
    assert!(!plan.scenario.contains("vlan:"), "a tag with a priority alone");
}

/// Oracle: how the capture was made. A sporadic stream in bursts, a connection that carries a file, a
/// datagram in two fragments, and frames that come too rarely.
#[test]
fn kinds_of_traffic() {
    let ms = 1_000_000;
    let mut frames = at((0..500).map(|n| n * 2 * ms), &{
        let inside = ipv4(1, 2, 17, &udp(5000, 6000, &[0; 64]));
        ethernet(1, 2, None, 0x0800, &inside)
    });
    let alarm = ethernet(2, 0x0203, Some(7 << 13 | 0xa), 0x88B5, &[0; 46]);
    for n in 0..40 {
        let begin = n * 23 * ms + n * n % 17 * ms;
        frames.extend(at([begin, begin + 7_000, begin + 14_000], &alarm));
    }
    let mut tcp = vec![0xC0, 0, 0x1F, 0x90];
    tcp.extend([0, 0, 0, 0, 0, 0, 0, 0, 0x50, 0x10, 1, 0, 0, 0, 0, 0]);
    tcp.extend([0; 1460]);
    let segment = ethernet(1, 3, None, 0x0800, &ipv4(1, 3, 6, &tcp));
    frames.extend(at((0..800).map(|n| n * ms + n % 7 * 100_000), &segment));
    let mut first = ipv4(3, 2, 17, &udp(7000, 7001, &[0; 1472]));
    first[6] = 0x20;
    let length = frames.len();
    first[24..26].copy_from_slice(&2008_u16.to_be_bytes());
    let mut second = ipv4(3, 2, 17, &[0; 528]);
    second[7] = 185;
    for n in 0..50 {
        frames.extend(at([n * 20 * ms], &ethernet(3, 2, None, 0x0800, &first)));
        let behind = ethernet(3, 2, None, 0x0800, &second);
        frames.extend(at([n * 20 * ms + 100_000], &behind));
    }
    assert_eq!(frames.len(), length + 100);
    frames.extend(at([5, 6], &ethernet(9, 8, None, 0x9000, &[0; 46])));
    frames.sort();
    let plan = plan("line.pcap", &pcap(&frames));
    has(
        &plan,
        &[
            "- name: \"10.0.0.1 > 10.0.0.2 UDP 5000 to 6000\"",
            "period: 2 ms",
            "size: 64 B",
            "deadline: 2 ms",
            "- name: \"02-00-00-00-00-02 > 03-00-00-00-02-03 type 88B5\"",
            "burst: 3",
            "pcp: 7",
            "vlan: 10",
            "- name: \"10.0.0.1 > 10.0.0.3 TCP to port 8080\"",
            "kind: bulk",
            "size: 2000 B",
            "period: 20 ms",
            "\"10.0.0.1\": { stack: station }",
        ],
    );
    let codes: Vec<Code> = plan.findings.iter().map(|finding| finding.code).collect();
    assert_eq!(codes, [Code::TooFew]);
}

/// A capture of another link type: the packets of these frames behind `head`.
fn without_ethernet(link_type: u32, head: &[u8], frames: &[(u64, Vec<u8>)]) -> Vec<u8> {
    let packets = frames.iter().map(|(at, frame)| {
        let packet = [head, &frame[14..]].concat();
        (*at, packet)
    });
    let mut octets = pcap(&packets.collect::<Vec<_>>());
    octets[20..24].copy_from_slice(&link_type.to_be_bytes());
    octets
}

/// Oracle: the same packets behind a header of Ethernet; the registry of link types.
#[test]
fn packets_of_ip_are_read_without_ethernet() {
    let inside = ipv4(1, 2, 17, &udp(5000, 6000, &[0; 64]));
    let frames = at((0..200).map(|n| n * 500_000), &ethernet(1, 2, None, 0x0800, &inside));
    let cooked = [&[0, 0, 0, 1, 0, 6][..], &[0; 8], &[8, 0]].concat();
    let cooked_2 = [&[8, 0][..], &[0; 18]].concat();
    for (link_type, head) in [
        (0, &[2, 0, 0, 0][..]),
        (0, &[0, 0, 0, 2]),
        (12, &[]),
        (101, &[]),
        (108, &[0, 0, 0, 2]),
        (113, &cooked),
        (228, &[]),
        (276, &cooked_2),
    ] {
        let plan = plan("a.pcap", &without_ethernet(link_type, head, &frames));
        has(
            &plan,
            &[
                "- name: \"10.0.0.1 > 10.0.0.2 UDP 5000 to 6000\"",
                "period: 500 us",
                "size: 64 B",
                "\"10.0.0.1\": { stack: station }",
            ],
        );
        let text = &plan.findings[0].text;
        assert!(text.contains(&format!("link type {link_type}:")), "{text}");
    }
    // Of what has no IP, the link type is named.
    let wrong = wrong(&without_ethernet(127, &[], &frames));
    assert!(wrong.what.contains("link type 127"), "{wrong}");
    let arp = without_ethernet(113, &[&[0; 14][..], &[8, 6]].concat(), &frames);
    assert!(import("x.pcap", &arp, &Options::new()).is_err());
}

/// Oracle: the header of pcap, which states four octets of check sequence; frames without a length
/// of their own would else have them as data.
#[test]
fn a_stated_check_sequence_is_no_data() {
    let frame = ethernet(1, 2, None, 0x88B5, &[0; 100]);
    let usual = at((0..100).map(|n| n * 1_000_000), &frame);
    let checked = at((0..100).map(|n| n * 1_000_000), &[&frame[..], &[9; 4]].concat());
    let mut octets = pcap(&checked);
    octets[20..24].copy_from_slice(&0x2400_0001_u32.to_be_bytes());
    let size = |octets: &[u8]| {
        let plan = plan("a.pcap", octets);
        has(&plan, &["size: 100 B"]);
    };
    size(&pcap(&usual));
    size(&octets);
}

/// Oracle: IEC 62439-3: a tag of HSR, or a trailer of PRP, of 6 octets; numbers are those of a
/// station. The ring has each frame twice, and so have the two networks.
#[test]
fn copies_of_redundant_networks_count_once() {
    for is_ring in [true, false] {
        let mut frames = Vec::new();
        for number in 0..500_u64 {
            let sequence = u16::try_from((number + 65_300) & 0xffff).expect("two octets");
            let [high, low] = sequence.to_be_bytes();
            let data = [7; 100];
            for lane in [0, 1_u8] {
                let frame = if is_ring {
                    let tag = [lane << 4, 106, high, low, 0x88, 0xB5];
                    ethernet(1, 2, Some(6 << 13 | 9), 0x892F, &[&tag[..], &data].concat())
                } else {
                    let trailer = [high, low, 0xA0 | lane << 4, 106, 0x88, 0xFB];
                    ethernet(1, 2, Some(6 << 13 | 9), 0x88B5, &[&data[..], &trailer].concat())
                };
                frames.push((number * 1_000_000 + u64::from(lane) * 40_000, frame));
            }
        }
        let plan = plan("a.pcap", &pcap(&frames));
        let name = "- name: \"02-00-00-00-00-01 > 02-00-00-00-00-02 type 88B5\"";
        has(&plan, &[name, "period: 1 ms", "size: 100 B", "vlan: 9", "pcp: 6"]);
        let found = &plan.findings[0];
        assert_eq!(found.code, Code::Redundancy);
        let copies = if is_ring { "500 of them are copies in rings" } else { "500 in networks" };
        assert!(found.text.contains(copies), "{found:?}");
    }
}

/// Oracle: IEC 61850-8-1: after it has started anew a device sends its first state quickly again, and
/// its number begins anew with it.
#[test]
fn goose_that_starts_anew_has_an_event() {
    let ms = 1_000_000;
    let mut frames = Vec::new();
    let mut now = 0;
    for _ in 0..3 {
        let fast = [2, 4, 8, 16, 32, 64, 128, 256, 512];
        for (sequence, gap) in (1..).zip(fast.into_iter().chain([1000; 12])) {
            let message = iec61850(0x0001, &goose("trip", 1, sequence));
            frames.push((now * ms, ethernet(1, 0x0101, None, 0x88B8, &message)));
            now += gap;
        }
    }
    let plan = plan("goose.pcap", &pcap(&frames));
    has(&plan, &["- name: trip event", "- name: trip heartbeat", "period: 1 s"]);
}

/// Oracle: the same traffic. Each way to write it down gives the same plan.
#[test]
fn all_formats_say_the_same() {
    let inside = ipv4(1, 2, 17, &udp(5000, 6000, &[0; 64]));
    let frame = ethernet(1, 2, Some(5 << 13 | 7), 0x0800, &inside);
    let frames = at((0..200).map(|n| n * 500_000), &frame);
    // Without what is said of points.
    let flows = |plan: &Plan| {
        let text = plan.scenario.split("flows:").nth(1)?;
        let lines = text.lines();
        let lines = lines.map(|line| line.split("# seen at").next().unwrap_or_default().trim_end());
        Some(lines.collect::<Vec<&str>>().join("\n"))
    };
    let usual = flows(&plan("a.pcap", &pcap(&frames)));
    assert!(usual.as_ref().is_some_and(|text| text.contains("period: 500 us")));
    // Microseconds, in the other order of octets.
    let mut little = Vec::new();
    for number in [0xA1B2_C3D4_u32, 0x0004_0002, 0, 0, 262_144, 1] {
        little.extend(number.to_le_bytes());
    }
    for (ns, frame) in &frames {
        let length = u32::try_from(frame.len()).expect("it fits");
        let us = ns / 1000;
        let seconds = u32::try_from(us / 1_000_000).expect("it fits");
        let rest = u32::try_from(us % 1_000_000).expect("it fits");
        for number in [seconds, rest, length, length] {
            little.extend(number.to_le_bytes());
        }
        little.extend(frame);
    }
    assert_eq!(flows(&plan("a.pcap", &little)), usual);
    // The second point of capture is behind a switch, and counts in microseconds.
    let both = frames.iter().flat_map(|(ns, frame)| {
        let later = (ns + 20_000) / 1000;
        [(0, *ns, frame.clone()), (1, later, frame.clone())]
    });
    let both: Vec<(u32, u64, Vec<u8>)> = both.collect();
    let octets = pcapng(&[("eth0", 9), ("eth1", 6)], &both);
    let two = plan("a.pcapng", &octets);
    assert_eq!(flows(&two), usual);
    assert_eq!(two.format, "capture (pcapng)");
    assert!(two.scenario.contains("# seen at eth0, 20 us later at eth1\n"), "{}", two.scenario);
    let mut gzip = GzEncoder::new(Vec::new(), Compression::fast());
    gzip.write_all(&octets).expect("memory");
    let gzip = gzip.finish().expect("memory");
    assert_eq!(flows(&plan("a.pcapng.gz", &gzip)), usual);
    // Two sections in one file, and two files.
    assert_eq!(flows(&plan("a.pcapng", &[octets.clone(), octets].concat())), usual);
    let octets = pcap(&frames);
    let files = ["a.pcap", "b.pcap"].map(|name| File { name, octets: &octets });
    let several = import_all(&files, &Options::new()).expect("a plan");
    assert_eq!(flows(&several), usual);
}

/// Oracle: how the capture was made: datagrams with a number, 18 to 29 us later at a second point,
/// where one is lost, and those of another stream that only the first has.
#[test]
fn frames_are_found_again_at_other_points() {
    let mut frames = Vec::new();
    for n in 0..100_u32 {
        let at = u64::from(n) * 1_000_000;
        let inside = ipv4(1, 2, 17, &udp(5000, 6000, &n.to_be_bytes()));
        let frame = ethernet(1, 2, None, 0x0800, &inside);
        frames.push((0, at, frame.clone()));
        if n != 50 {
            frames.push((1, at + 18_000 + u64::from(n % 12) * 1000, frame));
        }
        let other = ipv4(1, 3, 17, &udp(5000, 6000, &n.to_be_bytes()));
        frames.push((0, at + 300, ethernet(1, 3, None, 0x0800, &other)));
    }
    frames.sort_by_key(|frame| frame.1);
    let octets = pcapng(&[("a", 9), ("b", 9)], &frames);
    let plan = plan("line.pcapng", &octets);
    let seen = "# seen at a, 23373 ns later at b (18 us to 29 us)\n";
    assert!(plan.scenario.contains(seen), "{}", plan.scenario);
    assert_eq!(plan.scenario.matches("# seen at").count(), 1);
}

/// Oracle: IEEE 802.3: 64 octets with tag, preamble and gap, 88 in all, take 7.04 us at 100 Mbit/s.
#[test]
fn frames_with_equal_stamps_are_not_closer_than_on_a_link() {
    let frame = ethernet(1, 2, None, 0x88B5, &[0; 46]);
    let times = std::iter::repeat_n(5, 20).chain([1_000_000_000]);
    let plan = plan("a.pcap", &pcap(&at(times, &frame)));
    has(&plan, &["min_gap: 7040 ns", "size: 46 B"]);
    let at_once = pcap(&at([5, 5, 5], &frame));
    assert!(wrong(&at_once).what.contains("none of its 3 packets"));
}

/// Oracle: the file is cut: what is before is used, and said.
#[test]
fn a_capture_that_is_cut_off() {
    let frame = ethernet(1, 2, None, 0x88B5, &[0; 100]);
    let octets = pcap(&at((0..100).map(|n| n * 1_000_000), &frame));
    let cut = plan("a.pcap", &octets[..octets.len() - 20]);
    has(&cut, &["period: 1 ms", "size: 100 B"]);
    assert_eq!(cut.findings[0].code, Code::CutOff);
    assert_eq!(cut.findings[0].line, 99);
    let mut gzip = GzEncoder::new(Vec::new(), Compression::fast());
    gzip.write_all(&octets).expect("memory");
    let gzip = gzip.finish().expect("memory");
    let cut = import("a.gz", &gzip[..gzip.len() - 9], &Options::new()).expect("a plan");
    assert_eq!(cut.findings[0].code, Code::CutOff);
}

/// Oracle: each of these is no capture, or shows nothing.
#[test]
fn what_is_no_capture() {
    let empty = pcap(&[]);
    assert!(wrong(&empty).what.contains("none of its 0 packets"));
    assert!(wrong(&empty[..10]).what.contains("ends within"));
    let mut gzip = GzEncoder::new(Vec::new(), Compression::fast());
    gzip.write_all(b"<SCL/> and more").expect("memory");
    let gzip = gzip.finish().expect("memory");
    assert!(wrong(&gzip).what.contains("no capture"));
    let mut huge = pcap(&at([0], &[0; 60]));
    huge[32..36].copy_from_slice(&[0x7f, 0, 0, 0]);
    assert!(wrong(&huge).what.contains("octets"));
    let mut other = pcap(&at([0, 1, 2], &[0; 60]));
    other[23] = 101;
    assert!(wrong(&other).what.contains("link type 101"));
}

/// A connect request of PROFINET with one relation each way, at 8 ms.
fn connect() -> Vec<u8> {
    let block = |kind: u16, content: &[u8]| {
        let mut out = kind.to_be_bytes().to_vec();
        out.extend(u16::try_from(content.len() + 2).expect("it fits").to_be_bytes());
        out.extend([1, 0]);
        out.extend(content);
        out
    };
    let mut controller = vec![0; 20];
    controller.extend([2, 0, 0, 0, 0, 1]);
    controller.extend([0; 24]);
    controller.extend([0, 4]);
    controller.extend(b"plc1");
    let relation = |kind: u16, frame: u16| {
        let numbers = [kind, kind, 0x8892, 0, 1, 40, frame, 32, 8, 1, 0, 0, 0, 24, 24, 0xC000];
        let mut content: Vec<u8> = numbers.iter().flat_map(|n| n.to_be_bytes()).collect();
        content.extend([0; 8]);
        block(0x0102, &content)
    };
    let mut out = vec![4, 0, 0x20, 0];
    out.extend([0; 76 + 20]);
    out.extend(block(0x0101, &controller));
    out.extend(relation(1, 0xC002));
    out.extend(relation(2, 0xFFFF));
    out
}

/// Oracle: the request: 32 x 31.25 us x 8, priority 6, given up after 24 periods. One direction is in
/// the capture too, the other is only stated.
#[test]
fn profinet_states_its_periods() {
    let request = ipv4(1, 2, 17, &udp(49_200, 34_964, &connect()));
    let mut frames = at([0], &ethernet(1, 2, None, 0x0800, &request));
    let mut cyclic = vec![0xC0, 0x02];
    cyclic.extend([0; 44]);
    let cyclic = ethernet(2, 1, Some(6 << 13), 0x8892, &cyclic);
    // A sender that is late by up to 2 ms, on a grid of its own clock.
    frames.extend(at((1..200).map(|n| n * 8_000_100 + n % 3 * 1_000_000), &cyclic));
    let plan = plan("line.pcap", &pcap(&frames));
    has(
        &plan,
        &[
            "plc1: { stack: station }",
            "- name: \"02-00-00-00-00-02 > 02-00-00-00-00-01 PROFINET C002\"",
            "- name: \"02-00-00-00-00-01 > 02-00-00-00-00-02 PROFINET\"",
            "deadline: 192 ms",
            "size: 40 B",
            "pcp: 6",
        ],
    );
    let periods = lines(&plan).into_iter().filter(|line| *line == "period: 8 ms");
    assert_eq!(periods.count(), 2);
    assert!(plan.scenario.contains("# connect request, packet 1"));
}

/// Oracle: CIP volume 1: periods in microseconds, given up after 4 x 2^2 of them.
#[test]
fn ethernet_ip_states_its_periods() {
    let tcp = |from: u16, to: u16, service: &[u8]| {
        let mut data = vec![0x6F, 0];
        data.extend([0; 28]);
        data.extend([2, 0, 0, 0, 0, 0, 0xB2, 0]);
        data.extend(u16::try_from(service.len()).expect("it fits").to_le_bytes());
        data.extend(service);
        let mut out = from.to_be_bytes().to_vec();
        out.extend(to.to_be_bytes());
        out.extend([0, 0, 0, 0, 0, 0, 0, 0, 0x50, 0x18, 1, 0, 0, 0, 0, 0]);
        out.extend(data);
        out
    };
    let mut request = vec![0x54, 0, 10, 14];
    request.extend([0; 8]);
    request.extend([9, 0, 0, 0, 0, 0, 0, 0, 2, 0, 0, 0]);
    request.extend(10_000_u32.to_le_bytes());
    request.extend([32, 0]);
    request.extend(20_000_u32.to_le_bytes());
    request.extend([32, 0, 1]);
    let mut answer = vec![0xD4, 0, 0, 0];
    answer.extend([1, 0, 0, 0, 2, 0, 0, 0, 9, 0]);
    answer.extend([0; 20]);
    let request = ipv4(1, 2, 6, &tcp(50_000, 44_818, &request));
    let answer = ipv4(2, 1, 6, &tcp(44_818, 50_000, &answer));
    let mut frames = at([0], &ethernet(1, 2, None, 0x0800, &request));
    frames.extend(at([1000], &ethernet(2, 1, None, 0x0800, &answer)));
    let mut cyclic = vec![2, 0, 2, 0x80, 8, 0, 1, 0, 0, 0, 0, 0, 0, 0, 0xB1, 0, 4, 0];
    cyclic.extend([0; 4]);
    let cyclic = ipv4(1, 2, 17, &udp(2222, 2222, &cyclic));
    // Far from even, as seen behind a busy port.
    let times = (1..100_u64).map(|n| n * 10_000_000 + n * n % 13 * 700_000);
    frames.extend(at(times, &ethernet(1, 2, None, 0x0800, &cyclic)));
    let plan = plan("line.pcap", &pcap(&frames));
    has(&plan, &["period: 10 ms", "deadline: 160 ms", "size: 22 B"]);
    assert!(plan.scenario.contains("Forward Open, packet 1"));
}

/// Oracle: the headers. Streams of RTPS and OPC UA are told apart by who writes, not by their ports.
#[test]
fn publications_have_names() {
    let rtps = |writer: u32| {
        let mut out = b"RTPS\x02\x03\x01\x0f".to_vec();
        out.extend([0; 12]);
        out.extend([0x09, 1, 8, 0]);
        out.extend([0; 8]);
        out.extend([0x15, 5, 40, 0, 0, 0, 16, 0, 0, 0, 0, 0]);
        out.extend(writer.to_be_bytes());
        out.extend([0; 28]);
        out
    };
    let mut frames = Vec::new();
    for (writer, period) in [(0x103_u32, 10_000_000), (0x203, 25_000_000), (0x1_00C2, 100_000_000)]
    {
        let inside = ipv4(1, 2, 17, &udp(7411, 7413, &rtps(writer)));
        let times = (0..40).map(|n| n * period + period / 3);
        frames.extend(at(times, &ethernet(1, 2, None, 0x0800, &inside)));
    }
    let mut opc = vec![0x91, 1, 0x39, 0x30];
    opc.extend([0; 40]);
    frames.extend(at((0..40).map(|n| n * 4_000_000), &ethernet(3, 0x0105, None, 0xB62C, &opc)));
    frames.sort();
    let plan = plan("line.pcap", &pcap(&frames));
    has(
        &plan,
        &[
            "- name: \"10.0.0.1 > 10.0.0.2 RTPS writer 00000103\"",
            "period: 10 ms",
            "- name: \"10.0.0.1 > 10.0.0.2 RTPS writer 00000203\"",
            "period: 25 ms",
            "- name: \"10.0.0.1 > 10.0.0.2 RTPS discovery 000100c2\"",
            "- name: \"02-00-00-00-00-03 > 03-00-00-00-01-05 OPC UA PubSub\"",
            "period: 4 ms",
        ],
    );
}

/// Oracle: each comment that says `assumed` is in the list with its line.
#[test]
fn assumptions_are_comments_on_their_lines() {
    let message = iec61850(0x0001, &element(0x61, &[]));
    let frame = ethernet(1, 0x0101, None, 0x88B8, &message);
    let plan = plan("a.pcap", &pcap(&at((0..30).map(|n| n * 1_000_000), &frame)));
    let lines: Vec<&str> = plan.scenario.lines().collect();
    assert!(!plan.assumptions.is_empty());
    for assumption in &plan.assumptions {
        assert!(lines[assumption.line - 1].ends_with(&format!("# assumed: {}", assumption.text)));
    }
    let marked = lines.iter().filter(|line| line.contains("# assumed: "));
    assert_eq!(marked.count(), plan.assumptions.len());
}

/// A capture that is made as it is read: `left` packets of 250 stations, one every microsecond.
struct Endless {
    left: u64,
    number: u64,
    block: Vec<u8>,
}

impl Read for Endless {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        if self.block.is_empty() && self.left > 0 {
            let station = u8::try_from(self.number % 250).expect("it fits") + 1;
            let inside = ipv4(station, 251, 17, &udp(5000, 6000, &[0; 64]));
            let frame = ethernet(station, 251, Some(5 << 13 | 7), 0x0800, &inside);
            let octets = pcap(&[(self.number * 1000, frame)]);
            let begin = if self.number == 0 { 0 } else { 24 };
            self.block.extend(&octets[begin..]);
            self.number += 1;
            self.left -= 1;
        }
        let count = self.block.len().min(buffer.len());
        buffer[..count].copy_from_slice(&self.block[..count]);
        self.block.drain(..count);
        Ok(count)
    }
}

/// Oracle: how it is made; and time, which is that of the packets alone.
#[test]
fn packets_are_read_one_by_one() {
    let is_nightly = std::env::var_os("RTETHER_NIGHTLY").is_some();
    let left = if is_nightly { 10_000_000 } else { 200_000 };
    let begin = processor_time();
    let source = Source {
        name: "long.pcap".into(),
        reader: Box::new(Endless { left, number: 0, block: Vec::new() }),
    };
    let plan = import_captures(vec![source], &Options::new()).expect("a plan");
    let taken = processor_time().saturating_sub(begin);
    // Generous: debug builds, and the packets have to be made.
    assert!(taken < Duration::from_mins(4), "{taken:?}");
    let lines = lines(&plan);
    let periods = lines.iter().filter(|line| **line == "period: 250 us");
    assert_eq!(periods.count(), 250);
    assert_eq!(plan.findings, []);
}
