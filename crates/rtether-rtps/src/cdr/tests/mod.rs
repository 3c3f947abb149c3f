//! Test types of all kinds; the submodules check their serialization.

mod cyclone;
mod hostile;
mod keys;
mod layouts;
mod round_trips;

use alloc::string::String;
use alloc::vec::Vec;
use std::fmt::Write as _;

use super::*;

#[derive(Clone, Copy, Debug, PartialEq, Data)]
pub(super) enum Color {
    Red,
    Green = 5,
    Blue,
    Black = -1,
}

#[derive(Clone, Debug, PartialEq, Data)]
#[rtps(final)]
pub(super) struct Inner {
    pub(super) a: u8,
    pub(super) b: u64,
}

#[derive(Clone, Debug, PartialEq, Data)]
#[rtps(appendable)]
pub(super) struct App {
    #[rtps(key)]
    pub(super) a: u16,
    pub(super) b: u8,
}

#[derive(Clone, Debug, PartialEq, Data)]
#[rtps(final)]
pub(super) struct Mix {
    #[rtps(key)]
    pub(super) o: u8,
    #[rtps(key)]
    pub(super) l: u64,
    pub(super) s: String,
    pub(super) inner: Inner,
    #[rtps(key)]
    pub(super) app: App,
    pub(super) e: Color,
    pub(super) es: Vec<Color>,
    pub(super) ls: Vec<u64>,
    pub(super) iss: Vec<Inner>,
    pub(super) ss: Vec<String>,
    pub(super) arr: [u16; 3],
    pub(super) aa: [App; 2],
    pub(super) d: f64,
    pub(super) f: f32,
    pub(super) t: bool,
    pub(super) c: char,
}

#[derive(Clone, Debug, PartialEq, Data)]
#[rtps(appendable)]
pub(super) struct Opt {
    #[rtps(key)]
    pub(super) k: u8,
    pub(super) a: Option<u8>,
    pub(super) b: Option<u64>,
    #[rtps(max = 5)]
    pub(super) c: Option<String>,
}

#[derive(Clone, Debug, PartialEq, Data)]
#[rtps(mutable)]
pub(super) struct Mut {
    pub(super) a: u8,
    pub(super) b: u64,
    pub(super) s: String,
    #[rtps(max = 3)]
    pub(super) v: Vec<u8>,
    pub(super) n: App,
    #[rtps(key)]
    pub(super) k: u32,
}

#[derive(Clone, Debug, PartialEq, Data)]
#[rtps(mutable)]
pub(super) struct Lengths {
    pub(super) u: u16,
    pub(super) e: Color,
    pub(super) q: Vec<u32>,
    pub(super) w: Vec<u64>,
    pub(super) h: Vec<u16>,
    pub(super) t: bool,
    pub(super) es: Vec<Color>,
    pub(super) o: Option<u64>,
    pub(super) p: Option<u8>,
    pub(super) a: [u16; 2],
}

/// A recursive type.
#[derive(Clone, Debug, PartialEq, Data)]
#[rtps(final)]
pub(super) struct Tree {
    pub(super) branches: Vec<Self>,
}

#[derive(Clone, Debug, PartialEq, Data)]
#[rtps(name = "generic", final)]
pub(super) struct Pair<T, const N: usize>(pub(super) T, #[rtps(max = 4)] pub(super) Vec<[T; N]>)
where
    T: Clone;

pub(super) const ENCODINGS: [Encoding; 2] = [Encoding::Xcdr1, Encoding::Xcdr2];
pub(super) const ORDERS: [ByteOrder; 2] = [ByteOrder::Little, ByteOrder::Big];

pub(super) fn payload<T: Data>(value: &T, encoding: Encoding, order: ByteOrder) -> Vec<u8> {
    let mut out = Vec::new();
    to_payload_in(value, encoding, order, &mut out).expect("a value that can be written");
    assert_eq!(out.len() % 4, 0);
    out
}

pub(super) fn hex(octets: &[u8]) -> String {
    octets.iter().fold(String::new(), |mut text, octet| {
        write!(text, "{octet:02x}").expect("room");
        text
    })
}

pub(super) fn unhex(text: &str) -> Vec<u8> {
    let digits: Vec<u8> = text
        .chars()
        .filter_map(|c| c.to_digit(16))
        .map(|digit| u8::try_from(digit).expect("a digit"))
        .collect();
    digits.chunks(2).map(|two| two[0] << 4 | two[1]).collect()
}

pub(super) fn mix() -> Mix {
    let inner = |a, b| Inner { a, b };
    let app = |a, b| App { a, b };
    Mix {
        o: 1,
        l: 0x0102_0304_0506_0708,
        s: "hé".into(),
        inner: inner(7, 8),
        app: app(3, 4),
        e: Color::Green,
        es: [Color::Red, Color::Green].into(),
        ls: [9].into(),
        iss: [inner(1, 2), inner(3, 4)].into(),
        ss: ["a".into(), "bc".into()].into(),
        arr: [1, 2, 3],
        aa: [app(5, 6), app(7, 8)],
        d: 1.5,
        f: -2.25,
        t: true,
        c: 'x',
    }
}

pub(super) fn mutable() -> Mut {
    Mut { a: 1, b: 2, s: "xyz".into(), v: [1, 2, 3].into(), n: App { a: 3, b: 4 }, k: 9 }
}
