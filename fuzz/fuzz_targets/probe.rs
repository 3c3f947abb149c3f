//! Reads arbitrary octets as each format of the meter: no panic, no answer longer than what it
//! answers, and a stream never yields more than its limit.
//!
//! `cargo +nightly fuzz run probe -- -max_len=2048`
#![no_main]

use libfuzzer_sys::fuzz_target;
use rtether_model::quantity::Instant;
use rtether_proto::probe::cndep::{Board, Profile};
use rtether_proto::probe::details::Details;
use rtether_proto::probe::framing::Deframer;
use rtether_proto::probe::{Codec, Command, icmp, message};

const STREAM_MAX: usize = 64;

fuzz_target!(|octets: &[u8]| {
    for codec in [
        Codec::Message { session: 0 },
        Codec::Icmp { identifier: 0 },
        Codec::Cndep { profile: Profile::DEFAULT, command: Command::Get(7) },
    ] {
        let _ = codec.read(octets, Some(0));
    }
    if let Some(details) = Details::parse(octets) {
        let mut copy = octets.to_vec();
        assert!(details.write(&mut copy));
        assert_eq!(Details::parse(&copy), Some(details));
    }
    let mut copy = octets.to_vec();
    let _ = message::answer(&mut copy, Instant::ZERO, Instant::ZERO);
    let mut copy = octets.to_vec();
    let _ = icmp::answer(&mut copy);
    let mut board = Board::default();
    board.define(7, &[1, 2], true);
    let mut reply = Vec::new();
    board.answer(octets, &Profile::DEFAULT, &mut reply);
    assert!(reply.len() <= 18);
    stream(octets);
});

/// The first octet says into how long parts the stream is cut.
fn stream(octets: &[u8]) {
    let Some((cut, mut rest)) = octets.split_first() else {
        return;
    };
    let mut deframer = Deframer::new(STREAM_MAX);
    while !rest.is_empty() {
        let room = deframer.room();
        assert!(!room.is_empty());
        let len = room.len().min(rest.len()).min(usize::from(*cut) + 1);
        room[..len].copy_from_slice(&rest[..len]);
        deframer.advance(len);
        rest = &rest[len..];
        loop {
            match deframer.poll() {
                Ok(Some(payload)) => assert!(payload.len() <= STREAM_MAX),
                Ok(None) => break,
                Err(_) => return,
            }
        }
    }
}
