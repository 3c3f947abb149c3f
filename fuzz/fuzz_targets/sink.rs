//! Reads arbitrary octets as each message between the client of a load and its sink: no panic, what
//! is read is written and read again, and every datagram is counted once.
//!
//! `cargo +nightly fuzz run sink -- -max_len=2048`
#![no_main]

use libfuzzer_sys::fuzz_target;
use rtether_proto::load::{DATAGRAM_MIN, Datagram, Hello, Report, Tally};

fuzz_target!(|octets: &[u8]| {
    if let Some(Ok(hello)) = octets.first_chunk().map(Hello::read) {
        assert_eq!(Hello::read(&hello.write()), Ok(hello));
    }
    if let Some(Ok(report)) = octets.first_chunk().map(Report::read) {
        assert_eq!(Report::read(&report.write()), Ok(report));
    }
    if let Ok(datagram) = Datagram::read(octets) {
        let mut copy = octets.to_vec();
        datagram.write(&mut copy);
        assert_eq!(copy, octets);
    }
    let mut tally = Tally::default();
    let mut count = 0;
    // Sequences without the head, which would rarely be right.
    for sequence in octets.chunks_exact(8) {
        let mut payload = [0; DATAGRAM_MIN];
        Datagram { session: 0, sequence: 0 }.write(&mut payload);
        payload[12..].copy_from_slice(sequence);
        let datagram = Datagram::read(&payload).expect("a head that is right");
        tally.record(datagram.sequence, u64::MAX);
        count += 1;
    }
    assert_eq!(tally.received + tally.duplicates + tally.stale, count);
});
