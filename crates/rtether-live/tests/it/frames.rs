//! RTPS in Ethernet frames: participants of two hosts without IP addresses.

use std::io::Read;

use rtether_live::link::{Link, Raw, RawOptions};
use rtether_live::rtps::{Domain, DomainOptions, ETHERTYPE, EthernetOptions};
use rtether_rtps::engine::{NewSample, ReaderId, TopicName, WriterId};
use rtether_rtps::locator::Locator;
use rtether_rtps::qos::{History, Qos, Reliability};
use rtether_rtps::time::Duration;
use rtether_rtps::writer::WriteError;
use rtether_testkit::Dice;
use rustix::thread::{CapabilitySet, capabilities, set_capabilities};
use socket2::{Protocol, Socket, Type};

use crate::bed::inside;
use crate::wire::{DEVICE, Wire};
use rtether_live::namespace::Namespace;

const NAME: TopicName<'_> = TopicName { topic: "frames", type_name: "Octets" };
/// Longest wait for any condition.
const PATIENCE: Duration = Duration::from_s(20);
/// Octets before a message without a tag: frame header and two ports.
const HEAD: usize = 18;

fn on(device: &str) -> DomainOptions {
    DomainOptions { ethernet: Some(EthernetOptions::on(device)), ..DomainOptions::default() }
}

fn open(host: &Namespace, options: &DomainOptions) -> Domain {
    inside(host, || Domain::open(options).unwrap())
}

/// Ensures that no IP packet can pass between the hosts.
fn without_ip() -> Option<Wire> {
    let wire = Wire::new()?;
    for host in [&wire.near, &wire.far] {
        host.run(&format!("ip address flush dev {DEVICE}")).unwrap();
    }
    Some(wire)
}

fn reliable() -> Qos {
    Qos { reliability: Reliability::Reliable, history: History::KeepAll, ..Qos::writer() }
}

fn writer(domain: &mut Domain, qos: Qos) -> WriterId {
    let (now, participant) = (domain.now(), domain.participant_mut());
    participant.create_writer(now, NAME, false, qos).unwrap()
}

fn reader(domain: &mut Domain) -> ReaderId {
    let (now, participant) = (domain.now(), domain.participant_mut());
    let reader = participant.create_reader(now, NAME, None, reliable());
    reader.unwrap()
}

/// Steps all domains until a condition holds; panics if it never does.
fn until(domains: &mut [Domain], mut is_so: impl FnMut(&mut [Domain]) -> bool) {
    let begin = domains[0].now();
    while !is_so(domains) {
        assert!(domains[0].now() - begin < PATIENCE, "nothing more comes");
        for domain in &mut *domains {
            domain.step(domain.now()).unwrap();
            domain.participant_mut().discard_events(|_| false);
        }
    }
}

/// Steps all domains until the second has a sample.
fn until_taken(domains: &mut [Domain], back: ReaderId) {
    until(domains, |all| {
        let (now, participant) = (all[1].now(), all[1].participant_mut());
        participant.take(now, back, |_, _, _| ()).is_some()
    });
}

fn go_on_for(domains: &mut [Domain], span: Duration) {
    let end = domains[0].now() + span;
    until(domains, |domains| domains[0].now() >= end);
}

fn write(domains: &mut [Domain], writer: WriterId, payload: &[u8]) {
    until(domains, |domains| {
        let now = domains[0].now();
        let sample = NewSample::value(payload);
        let written = domains[0].participant_mut().write(now, writer, &sample);
        match written {
            Ok(_) => true,
            Err(WriteError::Full) => false,
            Err(error) => panic!("{error}"),
        }
    });
}

/// A payload with an XCDR1 header.
fn payload(number: usize, size: usize) -> Vec<u8> {
    let octets = (0..size).map(|at| u8::try_from((number + at) % 251).unwrap());
    [0, 1, 0, 0].into_iter().chain(octets).collect()
}

/// Oracle: the samples written; with a tenth of all frames lost each way, also in fragments.
#[test]
fn participants_of_two_hosts_and_of_one_talk_in_frames() {
    let Some(wire) = without_ip() else { return };
    let options = DomainOptions { loss: 100, ..on(DEVICE) };
    let hosts = [&wire.near, &wire.near, &wire.far, &wire.far];
    let mut domains = hosts.map(|host| open(host, &options));
    let places: Vec<Locator> = domains.iter().map(Domain::address).collect();
    assert_ne!(places[0], places[1]);
    assert_ne!(places[2], places[3]);
    let out = writer(&mut domains[0], reliable());
    let readers: Vec<ReaderId> = domains[1..].iter_mut().map(reader).collect();
    until(&mut domains, |all| {
        all[0].participant().readers_of(out) == 3
            && (1..4).all(|at| all[at].participant().writers_of(readers[at - 1]) == 1)
    });
    // Small samples in sequence, some around the size of a frame, and a megabyte. All are of whole
    // words, since others come back padded.
    let words = (0..200).chain(340..380).map(|words| 4 * words);
    let sizes: Vec<usize> = words.chain([1 << 20]).collect();
    let mut taken = [0; 3];
    for (number, size) in sizes.iter().enumerate() {
        write(&mut domains, out, &payload(number, *size));
    }
    until(&mut domains, |all| {
        for (at, id) in readers.iter().enumerate() {
            let now = all[at + 1].now();
            let number = &mut taken[at];
            let participant = all[at + 1].participant_mut();
            while let Some(is_right) = participant
                .take(now, *id, |_, octets, _| octets == payload(*number, sizes[*number]))
            {
                assert!(is_right, "sample {number} of reader {at}");
                *number += 1;
            }
        }
        taken == [sizes.len(); 3]
    });
    for domain in &domains {
        assert_eq!(domain.participant().counters().malformed, 0);
    }
    let strangers = |all: &[Domain]| -> Vec<usize> {
        all.iter().map(|one| one.participant().participants().count()).collect()
    };
    // Readers may find each other later than the writer: announcements are lost, too.
    until(&mut domains, |all| strangers(all) == [3; 4]);
}

/// Oracle: a station that receives nothing from the others finds none.
#[test]
fn devices_types_and_transports_stay_apart() {
    let Some(wire) = Wire::new() else { return };
    let pair = "ip link add other type veth peer name end";
    wire.near.run(pair).unwrap();
    wire.near.run("ip link set end up").unwrap();
    wire.near.run("ip link set other up").unwrap();
    let other_type = DomainOptions {
        ethernet: Some(EthernetOptions { ethertype: 0x88B5, ..EthernetOptions::on(DEVICE) }),
        ..DomainOptions::default()
    };
    let other_domain = DomainOptions { domain: 1, ..on(DEVICE) };
    let udp = DomainOptions::default();
    let apart = [on(DEVICE), on("lo"), on("other"), other_type, other_domain, udp];
    let mut domains: Vec<Domain> = apart.iter().map(|one| open(&wire.near, one)).collect();
    go_on_for(&mut domains, Duration::from_ms(500));
    for (at, domain) in domains.iter().enumerate() {
        let known = domain.participant().participants().count();
        assert_eq!(known, 0, "participant {at}");
    }
    // Participants that belong together do find each other.
    domains.push(open(&wire.near, &on("lo")));
    until(&mut domains, |all| {
        [1, 6].iter().all(|at| all[*at].participant().participants().count() == 1)
    });
    let known = |at: usize| domains[at].participant().participants().count();
    assert_eq!([0, 2, 3, 4, 5].map(known), [0; 5]);
}

/// Captures the frames that leave a host, as octets on the wire.
fn capture(host: &Namespace) -> Socket {
    inside(host, || {
        let all = Protocol::from(i32::from(0x0003_u16.to_be()));
        let socket = Socket::new(socket2::Domain::PACKET, Type::RAW, Some(all)).unwrap();
        socket.set_nonblocking(true).unwrap();
        socket
    })
}

fn frames(mut capture: &Socket) -> Vec<Vec<u8>> {
    let mut frames = Vec::new();
    let mut buffer = [0; 2_048];
    while let Ok(len) = capture.read(&mut buffer) {
        frames.push(buffer[..len].to_vec());
    }
    frames
}

/// Returns the tags of frames with this message.
fn tags(frames: &[Vec<u8>], message: &[u8]) -> Vec<u16> {
    let wanted = frames.iter().filter(|frame| {
        frame.get(12..14) == Some(&[0x81, 0][..])
            && frame.get(16..18) == Some(&ETHERTYPE.to_be_bytes()[..])
            && frame.windows(message.len()).any(|part| part == message)
    });
    wanted.map(|frame| u16::from_be_bytes([frame[14], frame[15]])).collect()
}

/// Oracle: IEEE 802.1Q-2018, 9.6: PCP in the upper three bits, VLAN in the lower twelve; DSCP 46 is
/// class 5.
#[test]
fn priorities_are_in_tags() {
    let Some(wire) = without_ip() else { return };
    for (vlan, expected) in [(0, 5 << 13), (7, 5 << 13 | 7)] {
        let options = DomainOptions {
            ethernet: Some(EthernetOptions { vlan, ..EthernetOptions::on(DEVICE) }),
            ..DomainOptions::default()
        };
        let mut domains = [open(&wire.near, &options), open(&wire.far, &options)];
        let urgent = Qos { transport_priority: 46, ..reliable() };
        let out = writer(&mut domains[0], urgent);
        let back = reader(&mut domains[1]);
        until(&mut domains, |all| {
            all[0].participant().readers_of(out) == 1 && all[1].participant().writers_of(back) == 1
        });
        let capture = capture(&wire.near);
        write(&mut domains, out, b"this is urgent");
        until_taken(&mut domains, back);
        let frames = frames(&capture);
        assert_eq!(tags(&frames, b"this is urgent"), [expected], "VLAN {vlan}");
    }
}

/// Returns the payload of a frame for this port, with some octets changed and its end truncated.
fn mutated(frame: &[u8], port: u16, dice: &mut Dice) -> Vec<u8> {
    let mut payload = frame[HEAD - 4..].to_vec();
    payload[2..4].copy_from_slice(&port.to_be_bytes());
    for _ in 0..dice.index(8) {
        let at = 4 + dice.index(payload.len() - 4);
        payload[at] = u8::try_from(dice.index(256)).unwrap();
    }
    payload.truncate(4 + dice.index(payload.len()));
    payload
}

/// Oracle: no input stops a participant from working, and malformed input is counted; frames for
/// other ports are not received at all.
#[test]
fn frames_that_make_no_sense_are_counted() {
    let Some(wire) = without_ip() else { return };
    // The EtherType of the meter, whose socket plays the attacker.
    let options = DomainOptions {
        ethernet: Some(EthernetOptions { ethertype: 0x88B5, ..EthernetOptions::on(DEVICE) }),
        ..DomainOptions::default()
    };
    let mut domains = [open(&wire.near, &options), open(&wire.far, &options)];
    let _out = writer(&mut domains[0], reliable());
    let back = reader(&mut domains[1]);
    let capture = capture(&wire.near);
    until(&mut domains, |all| all[1].participant().writers_of(back) == 1);
    let seen: Vec<Vec<u8>> = frames(&capture)
        .into_iter()
        .filter(|frame| frame.get(HEAD..HEAD + 4) == Some(b"RTPS"))
        .collect();
    assert!(seen.len() > 4, "{} frames", seen.len());
    let station = wire.far_address();
    let mut attacker =
        inside(&wire.near, || Raw::connect(DEVICE, station, RawOptions::default()).unwrap());
    let Locator::Ethernet { port, .. } = domains[1].address() else {
        panic!("no place in frames");
    };
    // Lets the discovery of both settle.
    go_on_for(&mut domains, Duration::from_ms(500));
    let mut dice = Dice::new(0x5EED);
    let before = domains[1].participant().counters();
    for round in 0..20_000 {
        let frame = &seen[dice.index(seen.len())];
        attacker.send(&mutated(frame, port, &mut dice)).unwrap();
        if round % 50 == 0 {
            domains[1].step(domains[1].now()).unwrap();
            domains[1].participant_mut().discard_events(|_| false);
        }
    }
    go_on_for(&mut domains, Duration::from_ms(100));
    let after = domains[1].participant().counters();
    assert!(after.datagrams - before.datagrams >= 20_000);
    assert!(after.malformed > before.malformed + 1_000, "{after:?}");
    let mut payload = seen[0][HEAD - 4..].to_vec();
    payload[2..4].copy_from_slice(&(port + 2).to_be_bytes());
    let before = domains[1].participant().counters().datagrams;
    for _ in 0..100 {
        attacker.send(&payload).unwrap();
    }
    domains[1].step(domains[1].now()).unwrap();
    let unseen = domains[1].participant().counters().datagrams - before;
    assert!(unseen < 100, "{unseen} of 100 for another port");
    // A new participant is still found and heard.
    drop(domains);
    let mut fresh = [open(&wire.near, &options), open(&wire.far, &options)];
    let out = writer(&mut fresh[0], reliable());
    let back = reader(&mut fresh[1]);
    until(&mut fresh, |all| all[0].participant().readers_of(out) == 1);
    write(&mut fresh, out, b"still here");
    until_taken(&mut fresh, back);
}

/// Oracle: the documented remedies.
#[test]
fn why_there_are_no_frames_is_said() {
    let Some(wire) = without_ip() else { return };
    let refused = |options: &DomainOptions| {
        inside(&wire.near, || match Domain::open(options) {
            Ok(_) => "it is open".to_owned(),
            Err(error) => error.to_string(),
        })
    };
    let unnamed = refused(&on("none0"));
    assert!(unnamed.contains("`none0`; `ip -br link`"), "{unnamed}");
    let mut ip = on(DEVICE);
    ip.peers.push([10, 0, 0, 1].into());
    let ip = refused(&ip);
    assert!(ip.contains("frames have no IP addresses"), "{ip}");
    let without_right = inside(&wire.near, || {
        let mut rights = capabilities(None).unwrap();
        rights.effective.remove(CapabilitySet::NET_RAW);
        rights.permitted.remove(CapabilitySet::NET_RAW);
        set_capabilities(None, rights).unwrap();
        Domain::open(&on(DEVICE)).err().unwrap().to_string()
    });
    assert!(without_right.contains("cap_net_raw+ep"), "{without_right}");
    wire.near.run(&format!("ip link set {DEVICE} down")).unwrap();
    let down = refused(&on(DEVICE));
    assert!(down.contains("is down; `ip link set wire up`"), "{down}");
}

/// Oracle: samples pass again when the device returns; what was sent meanwhile is counted as
/// unsent.
#[test]
fn a_device_may_go_down_and_come_back() {
    let Some(wire) = without_ip() else { return };
    let mut domains = [&wire.near, &wire.far].map(|host| open(host, &on(DEVICE)));
    let out = writer(&mut domains[0], reliable());
    let back = reader(&mut domains[1]);
    until(&mut domains, |all| {
        all[0].participant().readers_of(out) == 1 && all[1].participant().writers_of(back) == 1
    });
    wire.near.run(&format!("ip link set {DEVICE} down")).unwrap();
    write(&mut domains, out, b"meanwhile");
    go_on_for(&mut domains, Duration::from_ms(100));
    assert!(domains[0].unsent() > 0);
    wire.near.run(&format!("ip link set {DEVICE} up")).unwrap();
    until_taken(&mut domains, back);
}
