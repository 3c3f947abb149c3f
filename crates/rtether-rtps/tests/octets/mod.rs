//! Messages and discovery data of arbitrary octets. The checks are those of the fuzz target `rtps`;
//! here they run over its corpus and over nearly valid octets.

mod check;
mod dynamic;
mod filter;
mod types;
mod v1;

use std::path::Path;

use proptest::prelude::*;
use rtether_rtps::discovery::{EndpointData, ParticipantData};
use rtether_rtps::wire::{self, parse};

#[test]
fn corpus() {
    let directory = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fuzz/corpus/rtps");
    // The corpus must not consist of errors only.
    let (mut messages, mut announcements) = (0, 0);
    for entry in std::fs::read_dir(directory).expect("a corpus") {
        let path = entry.expect("an entry").path();
        let octets = std::fs::read(&path).expect("a readable file");
        check::check(&octets);
        let message = [&b"RTPS\x02\x05\x01\xFE"[..], &[7; 12], &octets].concat();
        let parts = parse(&message).expect("a header").submessages();
        messages += u32::from(parts.into_iter().all(|part| part.is_ok()));
        let payload = [&[0, 3, 0, 0], octets.as_slice()].concat();
        announcements += u32::from(EndpointData::decode(&payload, true).is_ok());
        announcements += u32::from(ParticipantData::decode(&payload).is_ok());
    }
    assert!(messages >= 13, "{messages}");
    assert!(announcements >= 5, "{announcements}");
}

/// Returns the octets of a corpus.
fn corpus_of(target: &str) -> Vec<Vec<u8>> {
    let corpora = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fuzz/corpus");
    let entries = std::fs::read_dir(corpora.join(target)).expect("a corpus");
    let read = |path| std::fs::read(path).expect("a readable file");
    entries.map(|entry| read(entry.expect("an entry").path())).collect()
}

#[test]
fn corpus_of_types() {
    let known: usize = corpus_of("types").iter().map(|octets| types::check(octets)).sum();
    assert!(known >= 5, "{known}");
}

#[test]
fn corpus_of_filters() {
    // The corpus must not consist of errors only.
    let known = corpus_of("filter").iter().filter(|octets| filter::check(octets)).count();
    assert!(known >= 4, "{known}");
}

#[test]
fn corpus_of_dynamic_types() {
    let known: usize = corpus_of("dynamic").iter().map(|octets| dynamic::check(octets)).sum();
    assert!(known >= 3, "{known}");
}

#[test]
fn corpus_of_rtps_1_0() {
    // The corpus must not consist of errors only.
    let known = corpus_of("rtps1").iter().filter(|octets| v1::check(octets)).count();
    assert!(known >= 12, "{known}");
}

/// Returns the datagrams of a capture in the format of libpcap, of Ethernet frames without tags.
fn captured(name: &str) -> Vec<Vec<u8>> {
    const FRAME: usize = 14;
    const UDP: usize = 8;
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/captures");
    let octets = std::fs::read(path.join(name)).expect("a capture");
    let (head, mut records) = octets.split_at(24);
    assert_eq!(head[..4], [0xD4, 0xC3, 0xB2, 0xA1], "little-endian, microseconds");
    let mut datagrams = Vec::new();
    while let Some((record, rest)) = records.split_at_checked(16) {
        let len = u32::from_le_bytes([record[8], record[9], record[10], record[11]]);
        let (frame, rest) = rest.split_at(usize::try_from(len).expect("a length"));
        let ip = usize::from(frame[FRAME] & 0xF) * 4;
        datagrams.push(frame[FRAME + ip + UDP..].to_vec());
        records = rest;
    }
    datagrams
}

/// Oracle: what ORTE sent: two managers with their applications on two hosts, and on one.
#[test]
fn datagrams_of_orte_are_written_as_they_were() {
    let captures = ["orte-ping-two-hosts.pcap", "orte-ping-loopback.pcap"];
    let datagrams: Vec<_> = captures.into_iter().flat_map(captured).collect();
    assert_eq!(datagrams.len(), 112 + 64);
    for datagram in &datagrams {
        assert!(v1::check(datagram));
        let message = wire::v1::parse(datagram).expect("a header");
        let mut buffer = Vec::new();
        let source = message.header().source;
        let mut builder = wire::v1::Builder::new(&mut buffer, source, datagram.len());
        for part in message.submessages() {
            let part = part.expect("a submessage");
            assert!(v1::write(&mut builder, &part), "{part:?}");
        }
        assert_eq!(&buffer, datagram);
    }
}

/// Mostly small octets, as in lengths, counts and kinds.
fn octets(len: usize) -> impl Strategy<Value = Vec<u8>> {
    prop::collection::vec(prop_oneof![6 => 0_u8..8, 1 => any::<u8>()], 0..len)
}

proptest! {
    #[test]
    fn random_octets(octets in octets(300)) {
        check::check(&octets);
        dynamic::check(&octets);
        filter::check(&octets);
        v1::check(&octets);
    }

    /// Known kinds with correct lengths.
    #[test]
    fn random_submessages(
        parts in prop::collection::vec((0_u8..0x18, 0_u8..16, octets(80)), 0..6),
    ) {
        let mut message = Vec::new();
        for (kind, flags, body) in parts {
            let len = u16::try_from(body.len()).unwrap();
            message.extend([kind, flags]);
            message.extend(if flags & 1 == 1 { len.to_le_bytes() } else { len.to_be_bytes() });
            message.extend(body);
        }
        check::check(&message);
        v1::check(&message);
    }

    /// Known parameters with correct lengths, of an endpoint with its names.
    #[test]
    fn random_parameters(
        parameters in prop::collection::vec((0_u16..0x76, octets(60)), 0..8),
    ) {
        let mut list = Vec::new();
        list.extend([0x50, 0, 16, 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 0, 0, 1, 0xC1]);
        list.extend([0x5A, 0, 16, 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 0, 0, 1, 2]);
        list.extend([5, 0, 8, 0, 2, 0, 0, 0, b'a', 0, 0, 0, 7, 0, 8, 0, 2, 0, 0, 0, b'b', 0, 0, 0]);
        for (id, value) in parameters {
            let len = value.len() / 4 * 4;
            list.extend(id.to_le_bytes());
            list.extend(u16::try_from(len).unwrap().to_le_bytes());
            list.extend(&value[..len]);
        }
        list.extend([1, 0, 0, 0]);
        check::check(&list);
    }
}
