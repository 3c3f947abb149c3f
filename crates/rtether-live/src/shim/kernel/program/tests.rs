//! The program, run by the kernel, against the parser and the classifier of `rtether-proto`.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};
use std::os::fd::OwnedFd;

use rtether_model::endnode::{PortRange, Prefix, TosMatch};
use rtether_model::network::{Pcp, QueueMap};
use rtether_proto::endnode::{
    Classifier, MalformedCounters, Tag, parse, push_tag as push_tag_octets,
};
use rtether_proto::smoother::{self as engine, Class};

use super::super::shape::{Kind, class};
use super::*;
use crate::bpf::{self, Kind as ProgramKind, test_run};

/// A generator of numbers (xorshift, 64 bits).
struct Random(u64);

impl Random {
    fn next(&mut self) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0
    }

    fn below(&mut self, limit: usize) -> usize {
        usize::try_from(self.next() % limit as u64).unwrap()
    }

    fn one_in(&mut self, count: usize) -> bool {
        self.below(count) == 0
    }

    fn octet(&mut self) -> u8 {
        self.next().to_be_bytes()[3]
    }

    fn pick<T: Copy>(&mut self, from: &[T]) -> T {
        from[self.below(from.len())]
    }
}

const PROTOCOLS: [u8; 14] = [1, 6, 17, 33, 132, 136, 58, 2, 50, 47, 89, 59, 41, 255];
const EXTENSIONS: [u8; 8] = [0, 43, 44, 51, 60, 135, 139, 140];
const TOS: [u8; 6] = [0, 0xB8, 0xB9, 0x10, 0x28, 0xFF];
const PORTS: [u16; 6] = [0, 80, 7400, 7401, 0xFFFE, 0xFFFF];

fn address_v4(random: &mut Random) -> Ipv4Addr {
    Ipv4Addr::new(
        random.pick(&[10, 10, 192]),
        random.pick(&[0, 128, 168]),
        random.pick(&[0, 7]),
        random.pick(&[1, 2, 129, 255]),
    )
}

/// Few addresses, so that long prefixes match too; they differ in any of the four words.
fn address_v6(random: &mut Random) -> Ipv6Addr {
    let word = random.below(5);
    let bit = random.pick(&[0, 1, 31]);
    let base = 0xFE80_0000_0000_0001_0002_0003_0000_0005_u128;
    let change = 1_u128.checked_shl(u32::try_from(32 * word + bit).unwrap());
    Ipv6Addr::from_bits(base ^ change.unwrap_or(0))
}

fn ports(random: &mut Random, into: &mut Vec<u8>) {
    for _ in 0..2 {
        into.extend(random.pick(&PORTS).to_be_bytes());
    }
    let rest = random.below(30);
    into.extend((0..rest).map(|_| random.octet()));
}

/// Returns a length that mostly is the right one.
fn length(random: &mut Random, right: usize) -> [u8; 2] {
    let length = match random.below(12) {
        0 => right.saturating_sub(random.below(right + 1)),
        1 => right + random.below(40),
        2 => random.below(1 << 16),
        _ => right,
    };
    u16::try_from(length).unwrap_or(u16::MAX).to_be_bytes()
}

fn packet_v4(random: &mut Random) -> Vec<u8> {
    let words = random.pick(&[5, 5, 5, 6, 10, 15, 4, 0]);
    let mut above = Vec::new();
    ports(random, &mut above);
    let total = length(random, usize::from(words) * 4 + above.len());
    let version = if random.one_in(20) { 5 } else { 4 };
    let fragment = if random.one_in(8) {
        random.next()
    } else {
        0x4000
    };
    let [f0, f1, ..] = fragment.to_le_bytes();
    let mut packet = vec![
        version << 4 | words,
        random.pick(&TOS),
        total[0],
        total[1],
        0,
        0,
    ];
    packet.extend([f1, f0, 64, random.pick(&PROTOCOLS), 0, 0]);
    packet.extend(address_v4(random).octets());
    packet.extend(address_v4(random).octets());
    packet.extend((5..words).flat_map(|_| [1; 4]));
    packet.extend(above);
    packet
}

fn packet_v6(random: &mut Random) -> Vec<u8> {
    let chain = random.pick(&[0, 0, 0, 1, 2, 3, 7, 8, 9, 11]);
    let mut next = Vec::new();
    for _ in 0..chain {
        next.push(random.pick(&EXTENSIONS));
    }
    next.push(random.pick(&PROTOCOLS));
    let mut above = Vec::new();
    for (index, &following) in next.iter().enumerate().skip(1) {
        let words = random.pick(&[0, 0, 0, 1, 2]);
        let octets = match next[index - 1] {
            44 => 8,
            51 => (usize::from(words) + 2) * 4,
            _ => (usize::from(words) + 1) * 8,
        };
        let words = if random.one_in(30) { 200 } else { words };
        let fragment = if random.one_in(8) { random.octet() } else { 0 };
        let start = above.len();
        above.extend([following, words, 0, fragment]);
        above.resize(start + octets, 0);
    }
    ports(random, &mut above);
    let length = if random.one_in(15) {
        [0, 0]
    } else {
        length(random, above.len())
    };
    let version = if random.one_in(20) { 4 } else { 6 };
    let tos = random.pick(&TOS);
    let mut packet = vec![
        version << 4 | tos >> 4,
        tos << 4,
        0,
        0,
        length[0],
        length[1],
    ];
    packet.extend([next[0], 64]);
    packet.extend(address_v6(random).octets());
    packet.extend(address_v6(random).octets());
    packet.extend(above);
    packet
}

/// Returns a frame, mostly well-formed, of 14 octets at least: no device takes shorter ones.
fn frame(random: &mut Random) -> Vec<u8> {
    let mut frame: Vec<u8> = (0..12).map(|_| random.octet()).collect();
    for _ in 0..random.pick(&[0, 0, 0, 0, 1, 1, 2, 3, 4, 5, 6]) {
        frame.extend(random.pick(&[[0x81, 0x00], [0x88, 0xA8]]));
        let control = if random.one_in(12) {
            [random.octet() | 0x0F, 0xFF]
        } else {
            [random.octet(), random.octet()]
        };
        frame.extend(control);
    }
    let (kind, payload) = match random.below(10) {
        0 => (
            random.pick(&[0x0806, 0x88BA, 0x8100, 0x88A8, 1536]),
            vec![0; 46],
        ),
        1 => (random.pick(&[0, 46, 1500, 1501, 1535]), vec![0; 46]),
        2..6 => (0x0800, packet_v4(random)),
        _ => (0x86DD, packet_v6(random)),
    };
    frame.extend(u16::to_be_bytes(kind));
    frame.extend(payload);
    if random.one_in(5) {
        frame.truncate(14.max(random.below(frame.len() + 1)));
    }
    if random.one_in(5) {
        let at = random.below(frame.len());
        frame[at] = random.octet();
    }
    frame
}

fn rule(random: &mut Random, classes: u8) -> Rule {
    let prefix = |random: &mut Random| {
        let is_v4 = random.one_in(2);
        Prefix {
            address: if is_v4 {
                address_v4(random).into()
            } else {
                address_v6(random).into()
            },
            bits: random.pick(&[0, 1, 8, 24, 31, 32, 33, 48, 64, 65, 127, 128, 255]),
        }
    };
    let range = |random: &mut Random| {
        let [a, b] = [random.pick(&PORTS), random.pick(&PORTS)];
        PortRange { first: a, last: b }
    };
    let types = [0x0800, 0x86DD, 0x0806, 0x88BA, 0, 1500, 1536];
    // Rules that ask for one thing show best whether it is compared.
    let wanted = match random.below(30) {
        0 => 0,
        1..10 => random.below(128),
        _ => 1 << random.below(7),
    };
    let wants = |field: u32| wanted >> field & 1 == 1;
    Rule {
        ethertype: wants(0).then(|| random.pick(&types)),
        tos: wants(1).then(|| TosMatch {
            value: random.pick(&TOS),
            mask: random.pick(&[0xFC, 0xFF, 0, 0x10]),
        }),
        protocol: wants(2).then(|| random.pick(&PROTOCOLS)),
        source: wants(3).then(|| prefix(random)),
        destination: wants(4).then(|| prefix(random)),
        source_port: wants(5).then(|| range(random)),
        destination_port: wants(6).then(|| range(random)),
        class: u8::try_from(random.below(usize::from(classes))).unwrap(),
    }
}

/// A program in the kernel, and what it must agree with.
struct Pair {
    classifier: Classifier,
    real_time: Option<smoother::Rule>,
    queues: u8,
    /// Takes the frame as it is, and with the outermost tag beside it.
    programs: [OwnedFd; 2],
    counts: [Counts; 2],
}

impl Pair {
    fn new(random: &mut Random, rules: usize) -> Self {
        let classes = u8::try_from(1 + random.below(8)).unwrap();
        let map = QueueMap::new(
            classes,
            [(); 8].map(|()| u8::try_from(random.below(usize::from(classes))).unwrap()),
        );
        let untagged = u8::try_from(random.below(usize::from(classes))).unwrap();
        let table = PriorityTable::new(map.unwrap(), untagged).unwrap();
        let rules: Vec<Rule> = (0..rules).map(|_| rule(random, classes)).collect();
        let kinds = [
            None,
            Some(smoother::Rule::LINUX),
            Some(smoother::Rule::NT),
            Some(smoother::Rule::TypeOfService {
                mask: 0xFF,
                values: [0, 0xFF],
            }),
        ];
        let [real_time, icmp_unclassified] = [random.below(4), random.below(2)];
        let policy = Policy {
            table: &table,
            rules: &rules,
            icmp_unclassified: icmp_unclassified == 1,
            real_time: kinds[real_time],
            queues: u8::try_from(1 + random.below(usize::from(classes))).unwrap(),
            tags: Tags {
                insert: Some([1, 2, 3, 4, 5, 6, 7, 0].map(|pcp| Pcp::new(pcp).unwrap())),
                ..Tags::default()
            },
        };
        let counts = [(); 2].map(|()| Counts::new().unwrap());
        let plain = egress(&policy, &counts[0]);
        let programs = [plain, behind_a_tag(&policy, &counts[1])];
        Self {
            real_time: policy.real_time,
            queues: policy.queues,
            classifier: Classifier::new(table, rules.clone())
                .unwrap()
                .icmp_unclassified(policy.icmp_unclassified),
            programs: programs.map(|code| bpf::load(ProgramKind::Classifier, &code).unwrap()),
            counts,
        }
    }

    /// Returns the priority that the frame must get.
    fn expected(&self, frame: &[u8]) -> u32 {
        let key = parse(frame).key;
        let queue = self.classifier.classify(&key).class.min(self.queues - 1);
        let datagram = key.tos.zip(key.protocol);
        let kind = match (self.real_time, datagram) {
            (Some(rule), Some((tos, protocol))) => match engine::classify(rule, tos, protocol) {
                Class::RealTime => Kind::RealTime,
                Class::Bulk => Kind::Bulk,
            },
            _ => Kind::Passing,
        };
        class(kind as u16 + u16::from(queue))
    }
}

/// Returns a program that first takes a tag off, upon which the kernel also moves the next one out
/// of the octets.
fn behind_a_tag(policy: &Policy<'_>, counts: &Counts) -> Vec<Instruction> {
    let mut program = Assembler::default();
    program.registers(MOVE, PACKET, 1);
    program.call(VLAN_POP);
    write_egress(&mut program, policy, counts);
    program.finish()
}

/// Returns whether programs can be loaded here; says why not.
fn is_possible(test: &str) -> bool {
    let empty = bpf::load(ProgramKind::Classifier, &ingress(Vid::PRIORITY_ONLY));
    if let Err(error) = &empty {
        crate::shim::kernel::skip(test, &error.to_string());
    }
    empty.is_ok()
}

/// Runs the program; `None` for an untagged packet without a whole header, which the kernel takes
/// from a device, but not for such a run.
fn run(program: &OwnedFd, frame: &[u8]) -> Option<bpf::Ran> {
    match test_run(program, frame, 1) {
        Ok(ran) => Some(ran),
        Err(error) => {
            let is_short = error.raw_os_error() == Some(libc::EINVAL) && frame.len() < 14 + 40;
            assert!(is_short, "{error}");
            None
        }
    }
}

/// Oracle: parser and classifier of `rtether-proto`, on arbitrary frames.
#[test]
fn class_and_reason_are_those_of_the_engine() {
    if !is_possible("class_and_reason_are_those_of_the_engine") {
        return;
    }
    let (mut random, mut reasons) = (Random(7), MalformedCounters::default());
    let is_nightly = std::env::var_os("RTETHER_NIGHTLY").is_some();
    for round in 0..if is_nightly { 240 } else { 24 } {
        let pair = Pair::new(&mut random, round);
        let mut seen = [MalformedCounters::default(); 2];
        for _ in 0..1_000 {
            let frame = frame(&mut random);
            let expected = pair.expected(&frame);
            let parsed = parse(&frame);
            let mut with_tag = frame.clone();
            let tag = Tag::new(Pcp::default(), Vid::PRIORITY_ONLY);
            push_tag_octets(&mut with_tag, tag).unwrap();
            for (index, octets) in [frame, with_tag].iter().enumerate() {
                let Some(ran) = run(&pair.programs[index], octets) else {
                    assert_eq!(index, 0, "{octets:02x?}");
                    continue;
                };
                assert_eq!(ran.result, GO_ON.cast_unsigned());
                assert_eq!(ran.priority, expected, "{parsed:?} {octets:02x?} {round}");
                seen[index].note(&parsed);
                reasons.note(&parsed);
            }
        }
        for (counts, seen) in pair.counts.iter().zip(seen) {
            let counts = counts.get().unwrap();
            assert_eq!(counts[0], seen.well_formed());
            for (count, reason) in counts[1..].iter().zip(MalformedReason::ALL) {
                assert_eq!(*count, seen.count(reason), "{reason:?}");
            }
            assert_eq!(counts[UNTAGGED], 0);
        }
    }
    // Every way through the program was taken.
    for reason in MalformedReason::ALL {
        let is_possible = reason != MalformedReason::ShortFrame;
        assert_eq!(reasons.count(reason) > 10, is_possible, "{reason:?}");
    }
    assert!(reasons.well_formed() > 10_000);
}

/// Oracle: the kernel's verifier; the classifier's limit on rules.
#[test]
fn the_longest_program_is_accepted() {
    if !is_possible("the_longest_program_is_accepted") {
        return;
    }
    let longest = Rule {
        ethertype: Some(0x86DD),
        tos: Some(TosMatch::dscp(46)),
        protocol: Some(17),
        source: Some(Prefix::host(IpAddr::V6(Ipv6Addr::LOCALHOST))),
        destination: Some(Prefix::host(IpAddr::V6(Ipv6Addr::LOCALHOST))),
        source_port: Some(PortRange::one(7400)),
        destination_port: Some(PortRange::one(7400)),
        class: 1,
    };
    let rules = vec![longest; Classifier::MAX_RULES];
    let policy = Policy {
        table: &PriorityTable::HIGH_LOW,
        rules: &rules,
        icmp_unclassified: true,
        real_time: Some(smoother::Rule::LINUX),
        queues: 2,
        tags: Tags::default(),
    };
    let counts = Counts::new().unwrap();
    let code = egress(&policy, &counts);
    assert!(code.len() < 20_000, "{}", code.len());
    bpf::load(ProgramKind::Classifier, &code).unwrap();
}

/// What the program costs each frame: not a limit, a figure (`--ignored --nocapture`).
#[test]
#[ignore = "long"]
#[allow(clippy::print_stderr, reason = "figures are printed")]
fn figures() {
    if !is_possible("figures of the program") {
        return;
    }
    let never = Rule {
        destination_port: Some(PortRange::one(1)),
        ..Rule::default()
    };
    let mut udp = vec![0; 12];
    udp.extend([0x08, 0x00, 0x45, 0xB8, 0, 92, 0, 0, 0x40, 0, 64, 17, 0, 0]);
    udp.extend([
        10, 0, 0, 1, 10, 0, 0, 2, 0x1C, 0xE8, 0x1C, 0xE8, 0, 72, 0, 0,
    ]);
    udp.resize(14 + 92, 0);
    for rules in [0, 16, 256] {
        let rules = vec![never; rules];
        for insert in [None, Some([Pcp::default(); 8])] {
            let policy = Policy {
                table: &PriorityTable::HIGH_LOW,
                rules: &rules,
                icmp_unclassified: false,
                real_time: Some(smoother::Rule::LINUX),
                queues: 2,
                tags: Tags {
                    insert,
                    ..Tags::default()
                },
            };
            let counts = Counts::new().unwrap();
            let program = egress(&policy, &counts);
            let loaded = bpf::load(ProgramKind::Classifier, &program).unwrap();
            let ran = test_run(&loaded, &udp, 1_000_000).unwrap();
            let tags = if insert.is_some() { "with" } else { "without" };
            eprintln!("{} rules {tags} a tag: {} ns", rules.len(), ran.ns);
        }
    }
}
