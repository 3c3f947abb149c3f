//! Parser, classifier and tagger on any octets. The checks are those of the fuzz targets of the
//! same names; here they run on the corpora and on random frames.

mod classifier;
mod reading;
mod tagger;

use std::path::Path;

use proptest::prelude::*;

/// Returns the files of a corpus with their names.
fn corpus(name: &str) -> Vec<(String, Vec<u8>)> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let directory = root.join("fuzz/corpus").join(name);
    let entries = std::fs::read_dir(directory).expect("a corpus");
    let mut files: Vec<_> = entries
        .map(|entry| {
            let path = entry.expect("an entry").path();
            let octets = std::fs::read(&path).expect("a readable file");
            (path.display().to_string(), octets)
        })
        .collect();
    files.sort();
    assert!(!files.is_empty());
    files
}

#[test]
fn corpus_of_the_classifier() {
    // The comparison must cover more than frames that neither parser reads.
    let mut with_ports = 0;
    for (_, octets) in corpus("classifier") {
        let seen = classifier::check(&octets);
        with_ports += u32::from(seen.ports);
    }
    assert!(with_ports >= 8, "{with_ports}");
}

#[test]
fn corpus_of_the_tagger() {
    for (_, octets) in corpus("tagger") {
        tagger::check(&octets);
    }
}

/// Octets that begin like a frame, so that random ones reach every header.
fn plausible() -> impl Strategy<Value = Vec<u8>> {
    let tag = prop_oneof![Just([0x81, 0x00]), Just([0x88, 0xA8])];
    let tags = proptest::collection::vec((tag, any::<[u8; 2]>()), 0..6);
    let start = prop_oneof![
        Just(vec![0x08, 0x00, 0x45]),
        Just(vec![0x08, 0x00, 0x47]),
        Just(vec![0x86, 0xDD, 0x60]),
        any::<[u8; 3]>().prop_map(|octets| octets.to_vec()),
    ];
    let next = prop::sample::select(vec![0_u8, 1, 6, 17, 43, 44, 51, 58, 60, 132, 135]);
    let rest =
        proptest::collection::vec(prop_oneof![1 => any::<u8>(), 2 => 0_u8..2, 2 => next], 0..160);
    let head = any::<[u8; 5]>();
    (head, tags, start, rest).prop_map(|(head, tags, start, rest)| {
        let tags = tags.into_iter().flat_map(|(kind, tci)| [kind, tci]);
        let mut octets = head.to_vec();
        octets.extend([2; 12]);
        octets.extend(tags.flatten());
        octets.extend(start);
        octets.extend(rest);
        octets
    })
}

/// A frame with correct lengths: tags, IPv4 with options or IPv6 with extension headers, and the
/// start of a transport header; padded, or jumbo.
fn well_formed() -> impl Strategy<Value = Vec<u8>> {
    let tags = proptest::collection::vec((any::<bool>(), 0..0x0FFF_u16, 0..16_u8), 0..4);
    let protocol = prop::sample::select(vec![6_u8, 17, 33, 58, 132]);
    let payload = prop_oneof![20..200_usize, Just(8_960)];
    let parts = proptest::collection::vec((0..4_u8, 0..3_u8), 0..4);
    let fields = (any::<u8>(), any::<[u8; 32]>(), any::<[u8; 4]>());
    let head = any::<[u8; 5]>();
    (head, tags, any::<bool>(), parts, (protocol, payload, 0..30_usize), fields).prop_map(
        |(head, tags, is_v6, parts, (protocol, payload, padding), (tos, addresses, ports))| {
            let mut octets = head.to_vec();
            octets.extend([2; 12]);
            for (is_service, vid, high) in tags {
                octets.extend(if is_service { [0x88, 0xA8] } else { [0x81, 0x00] });
                octets.extend((u16::from(high) << 12 | vid).to_be_bytes());
            }
            let upper = transport(ports, payload);
            if is_v6 {
                v6(&mut octets, tos, &addresses, &parts, protocol, &upper);
            } else {
                v4(&mut octets, tos, &addresses, parts.len(), protocol, &upper);
            }
            octets.extend(std::iter::repeat_n(0, padding));
            octets
        },
    )
}

/// Two ports, a UDP length, and a TCP header of 20 octets, which also suits other protocols.
fn transport(ports: [u8; 4], size: usize) -> Vec<u8> {
    let mut octets = vec![0; size];
    octets[..4].copy_from_slice(&ports);
    let length = u16::try_from(size).expect("a jumbo frame at most");
    octets[4..6].copy_from_slice(&length.to_be_bytes());
    octets[12] = 0x50;
    octets
}

fn v4(octets: &mut Vec<u8>, tos: u8, addresses: &[u8; 32], options: usize, next: u8, upper: &[u8]) {
    let words = u8::try_from(options).expect("few");
    let total = 20 + 4 * options + upper.len();
    octets.extend([0x08, 0x00, 0x45 + words, tos]);
    octets.extend(u16::try_from(total).expect("a jumbo frame at most").to_be_bytes());
    octets.extend([0, 0, 0x40, 0, 64, next, 0, 0]);
    octets.extend(&addresses[..8]);
    octets.extend(std::iter::repeat_n(1, 4 * options));
    octets.extend(upper);
}

/// Extension headers are given as kind and length.
fn v6(
    octets: &mut Vec<u8>,
    tos: u8,
    addresses: &[u8; 32],
    extensions: &[(u8, u8)],
    last: u8,
    upper: &[u8],
) {
    const KINDS: [u8; 4] = [60, 43, 44, 51];
    let mut chain = Vec::new();
    for (index, &(kind, words)) in extensions.iter().enumerate() {
        let next = extensions.get(index + 1);
        let next = next.map_or(last, |&(kind, _)| KINDS[usize::from(kind)]);
        match KINDS[usize::from(kind)] {
            44 => chain.extend([next, 0, 0, 0, 0, 0, 0, 1]),
            51 => {
                // In units of four octets, less two, and a multiple of eight octets.
                chain.extend([next, 2 * words + 2]);
                chain.extend(std::iter::repeat_n(1, 8 * usize::from(words) + 14));
            }
            _ => {
                chain.extend([next, words]);
                chain.extend(std::iter::repeat_n(0, 8 * usize::from(words) + 6));
            }
        }
    }
    let first = extensions.first();
    let first = first.map_or(last, |&(kind, _)| KINDS[usize::from(kind)]);
    let length = u16::try_from(chain.len() + upper.len()).expect("a jumbo frame at most");
    octets.extend([0x86, 0xDD, 0x60 | tos >> 4, tos << 4, 0, 0]);
    octets.extend(length.to_be_bytes());
    octets.extend([first, 64]);
    octets.extend(addresses);
    octets.extend(chain);
    octets.extend(upper);
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(4096))]

    #[test]
    fn any_octets(octets in proptest::collection::vec(any::<u8>(), 0..200)) {
        classifier::check(&octets);
        tagger::check(&octets);
    }

    #[test]
    fn plausible_octets(octets in plausible()) {
        classifier::check(&octets);
        tagger::check(&octets);
    }

    #[test]
    fn well_formed_frames_are_read_to_the_end(octets in well_formed()) {
        let seen = classifier::check(&octets);
        prop_assert!(seen.network, "etherparse read no addresses");
        tagger::check(&octets);
    }
}
