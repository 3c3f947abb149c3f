//! Reads arbitrary octets as values of types of all kinds: no panic, and what is read is written and
//! read again the same.
//!
//! `cargo +nightly fuzz run cdr -- -max_len=512`
#![no_main]

use libfuzzer_sys::fuzz_target;
use rtether_rtps::cdr::{
    ByteOrder, Data, Encoding, from_key_payload, from_payload, key_hash, to_key_payload,
    to_payload_in,
};
use rtether_rtps::types::{Octets, Ping, ShapeType};

#[derive(Data)]
enum Color {
    Red,
    Green = 5,
}

#[derive(Data)]
#[rtps(appendable)]
struct Grown {
    #[rtps(key)]
    key: [u16; 2],
    colors: Vec<Color>,
    #[rtps(max = 3)]
    texts: Vec<String>,
    absent: Option<u64>,
    branches: Vec<Grown>,
}

#[derive(Data)]
#[rtps(mutable)]
struct List {
    #[rtps(key, id = 7)]
    key: u64,
    truth: bool,
    grown: Option<Grown>,
    numbers: Vec<f64>,
    character: char,
}

fuzz_target!(|octets: &[u8]| {
    check::<ShapeType>(octets);
    check::<Octets>(octets);
    check::<Ping>(octets);
    check::<Grown>(octets);
    check::<List>(octets);
});

fn check<T: Data>(octets: &[u8]) {
    let _ = from_key_payload::<T>(octets);
    let Ok(value) = from_payload::<T>(octets) else {
        return;
    };
    for encoding in [Encoding::Xcdr1, Encoding::Xcdr2] {
        for order in [ByteOrder::Big, ByteOrder::Little] {
            let mut once = Vec::new();
            to_payload_in(&value, encoding, order, &mut once).expect("a value that was read");
            let again = from_payload::<T>(&once).expect("a value that was written");
            let mut twice = Vec::new();
            to_payload_in(&again, encoding, order, &mut twice).expect("a value that was read");
            assert_eq!(once, twice);
        }
        let mut key = Vec::new();
        to_key_payload(&value, encoding, &mut key).expect("the key of a value");
        let key = from_key_payload::<T>(&key).expect("a key that was written");
        assert_eq!(key_hash(&key), key_hash(&value));
    }
}
