//! The program, run by the kernel, compared with parser and classifier of `rtether-proto`.

mod random;

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};
use std::os::fd::OwnedFd;

use rtether_model::endnode::{HeaderMatch, PortRange, Prefix, TosMatch};
use rtether_model::network::{Pcp, QueueMap};
use rtether_proto::endnode::{
    Classifier, MalformedCounters, Tag, parse, push_tag as push_tag_octets,
};
use rtether_proto::smoother::{self as engine, Class};

use super::super::shape::{Treatment, class};
use super::*;
use crate::bpf::{self, ProgramType, test_run};
use crate::shim::strip::VLAN_POP;
use random::{Random, frame, rule};

/// A program in the kernel, and the classifier it must agree with.
struct Pair {
    classifier: Classifier,
    real_time: Option<smoother::Rule>,
    queues: u8,
    /// One takes the frame as it is, the other with the outermost tag in metadata.
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
            Some(smoother::Rule::TypeOfService { mask: 0xFF, values: [0, 0xFF] }),
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
            programs: programs.map(|code| bpf::load(ProgramType::Classifier, &code).unwrap()),
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
                Class::RealTime => Treatment::RealTime,
                Class::Bulk => Treatment::Bulk,
            },
            _ => Treatment::Passing,
        };
        class(kind as u16 + u16::from(queue))
    }
}

/// Returns a program that first removes a tag, upon which the kernel moves the next one into
/// metadata.
fn behind_a_tag(policy: &Policy<'_>, counts: &Counts) -> Vec<Instruction> {
    let mut program = Assembler::default();
    program.registers(MOVE, PACKET, 1);
    program.call(VLAN_POP);
    write_egress(&mut program, policy, counts);
    program.finish()
}

/// Returns whether programs can be loaded here; prints the reason if not.
pub(super) fn is_possible() -> bool {
    let empty =
        bpf::load(ProgramType::Classifier, &crate::shim::strip::program(Vid::PRIORITY_ONLY));
    if let Err(error) = &empty {
        rtether_testkit::skip(&error.to_string());
    }
    empty.is_ok()
}

/// Runs the program; `None` for an untagged packet with a truncated header, which the kernel
/// accepts from a device but not in a test run.
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
    if !is_possible() {
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
    // Every path through the program was taken.
    for reason in MalformedReason::ALL {
        let is_possible = reason != MalformedReason::ShortFrame;
        assert_eq!(reasons.count(reason) > 10, is_possible, "{reason:?}");
    }
    assert!(reasons.well_formed() > 10_000);
}

/// Returns the program for two queues and a smoother, and its counters.
fn with_rules(rules: &[Rule]) -> (Vec<Instruction>, Counts) {
    let policy = Policy {
        table: &PriorityTable::HIGH_LOW,
        rules,
        icmp_unclassified: true,
        real_time: Some(smoother::Rule::LINUX),
        queues: 2,
        tags: Tags::default(),
    };
    let counts = Counts::new().unwrap();
    (egress(&policy, &counts), counts)
}

/// Oracle: the kernel's verifier; the classifier's limit on rules.
#[test]
fn the_longest_program_is_accepted() {
    if !is_possible() {
        return;
    }
    let headers = HeaderMatch {
        ethertype: Some(0x86DD),
        tos: Some(TosMatch::dscp(46)),
        protocol: Some(17),
        source: Some(Prefix::host(IpAddr::V6(Ipv6Addr::LOCALHOST))),
        destination: Some(Prefix::host(IpAddr::V6(Ipv6Addr::LOCALHOST))),
        source_port: Some(PortRange::one(7400)),
        destination_port: Some(PortRange::one(7400)),
    };
    let longest = Rule { headers, class: 1 };
    let rules = vec![longest; Classifier::MAX_RULES];
    let (code, _counts) = with_rules(&rules);
    assert!(code.len() < 20_000, "{}", code.len());
    bpf::load(ProgramType::Classifier, &code).unwrap();
}

/// Oracle: the kernel's verifier, which gives up after a million instructions; each outcome of a
/// comparison that it tracks is a separate path through the rules that follow.
#[test]
fn as_many_different_rules_are_accepted() {
    if !is_possible() {
        return;
    }
    let rule = |number: u16| Rule {
        headers: HeaderMatch {
            protocol: Some([6, 17][usize::from(number % 2)]),
            source: Some(Prefix::host(Ipv4Addr::from_bits(0x0A00_0000 + u32::from(number)).into())),
            source_port: Some(PortRange { first: 7 * number, last: 9 * number }),
            destination_port: Some(PortRange { first: 5 * number, last: 8 * number }),
            ..HeaderMatch::default()
        },
        class: 1,
    };
    let last = u16::try_from(Classifier::MAX_RULES).unwrap();
    let rules: Vec<Rule> = (0..last).map(rule).collect();
    let (code, _counts) = with_rules(&rules);
    bpf::load(ProgramType::Classifier, &code).unwrap();
}

/// The program's cost per frame: a figure, not a limit (`--ignored --nocapture`).
#[test]
#[ignore = "long"]
#[allow(clippy::print_stderr, reason = "figures are printed")]
fn figures() {
    if !is_possible() {
        return;
    }
    let never = Rule {
        headers: HeaderMatch {
            destination_port: Some(PortRange::one(1)),
            ..HeaderMatch::default()
        },
        class: 0,
    };
    let mut udp = vec![0; 12];
    udp.extend([0x08, 0x00, 0x45, 0xB8, 0, 92, 0, 0, 0x40, 0, 64, 17, 0, 0]);
    udp.extend([10, 0, 0, 1, 10, 0, 0, 2, 0x1C, 0xE8, 0x1C, 0xE8, 0, 72, 0, 0]);
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
                tags: Tags { insert, ..Tags::default() },
            };
            let counts = Counts::new().unwrap();
            let program = egress(&policy, &counts);
            let loaded = bpf::load(ProgramType::Classifier, &program).unwrap();
            let ran = test_run(&loaded, &udp, 1_000_000).unwrap();
            let tags = if insert.is_some() { "with" } else { "without" };
            eprintln!("{} rules {tags} a tag: {} ns", rules.len(), ran.ns);
        }
    }
}
