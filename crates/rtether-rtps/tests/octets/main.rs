//! Messages and discovery data of arbitrary octets. The checks are those of the fuzz target `rtps`;
//! here they run over its corpus and over nearly valid octets.

mod check;
mod dynamic;
mod filter;

use std::path::Path;

use proptest::prelude::*;
use rtether_rtps::discovery::{EndpointData, ParticipantData};
use rtether_rtps::wire::parse;

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
    entries
        .map(|entry| read(entry.expect("an entry").path()))
        .collect()
}

#[test]
fn corpus_of_filters() {
    // The corpus must not consist of errors only.
    let known = corpus_of("filter")
        .iter()
        .filter(|octets| filter::check(octets))
        .count();
    assert!(known >= 4, "{known}");
}

#[test]
fn corpus_of_dynamic_types() {
    let known: usize = corpus_of("dynamic")
        .iter()
        .map(|octets| dynamic::check(octets))
        .sum();
    assert!(known >= 3, "{known}");
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
