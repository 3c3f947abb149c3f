//! Reads arbitrary octets as answers of devices in each protocol: no panic, and texts that are short
//! and visible; a stream yields no message above its limit.
//!
//! `cargo +nightly fuzz run identify_answers -- -max_len=4096`
#![no_main]

use libfuzzer_sys::fuzz_target;
use rtether_proto::identify::request::{
    Framing, Outcome, Splitter, TEXT_MAX, enip, modbus, opcua, snmp,
};

fuzz_target!(|octets: &[u8]| {
    let answers = [modbus::answer, snmp::answer, enip::answer, opcua::answer];
    for answer in answers.map(|read| read(octets)) {
        if let Ok(Outcome::Identity(text)) = answer.map(|own| own.outcome) {
            assert!(text.len() <= TEXT_MAX && text.bytes().all(|own| (b' '..=b'~').contains(&own)));
        }
    }
    stream(octets, Framing::Modbus);
    stream(octets, Framing::Enip);
    stream(octets, Framing::OpcUa);
});

fn stream(mut octets: &[u8], framing: Framing) {
    let mut splitter = Splitter::new(framing);
    while !octets.is_empty() {
        let room = splitter.room();
        let (now, later) = octets.split_at(room.len().min(octets.len()));
        assert!(!now.is_empty());
        room[..now.len()].copy_from_slice(now);
        splitter.advance(now.len());
        octets = later;
        loop {
            match splitter.poll() {
                Ok(Some(message)) => assert!(message.len() <= framing.most()),
                Ok(None) => break,
                Err(_) => return,
            }
        }
    }
}
