//! Cases that C cannot cause from outside: internal defects, and untrusted octets.

use std::ffi::{CStr, c_void};
use std::net::Ipv4Addr;
use std::sync::Arc;

use rtether_rtps::cdr::Encoding;
use rtether_rtps::types::ShapeType;

use super::cdr_read::{
    CdrReader, rtether_cdr_get_i32, rtether_cdr_get_octets, rtether_cdr_get_string,
    rtether_cdr_remaining,
};
use super::cdr_write::{
    CdrWriter, rtether_cdr_put_i32, rtether_cdr_put_octets, rtether_cdr_put_string,
};
use super::domain::{rtether_domain_destroy, rtether_domain_step};
use super::handle::DomainHandle;
use super::monitor::{Monitor, on};
use super::status::{Failure, Status, fail, rtether_last_error};
use super::table::{find, register, remove};
use super::values::{InstanceType, KeyFns};
use crate::rtps::{Domain, DomainOptions};

#[repr(C)]
#[derive(Clone, Debug, PartialEq)]
struct Shape {
    color: [u8; 16],
    numbers: [i32; 3],
    octets: [u8; 8],
    len: usize,
}

impl Shape {
    fn new(color: &str, len: usize) -> Self {
        let mut shape = Self { color: [0; 16], numbers: [1, -2, 30], octets: [0; 8], len };
        shape.color[..color.len()].copy_from_slice(color.as_bytes());
        shape.octets[..len].copy_from_slice(&[7; 8][..len]);
        shape
    }

    fn of_rust(&self) -> ShapeType {
        let color = CStr::from_bytes_until_nul(&self.color).unwrap();
        ShapeType {
            color: color.to_str().unwrap().to_owned(),
            x: self.numbers[0],
            y: self.numbers[1],
            shapesize: self.numbers[2],
            additional_payload_size: self.octets[..self.len].to_vec(),
        }
    }
}

unsafe extern "C" fn put_color(
    value: *const c_void,
    writer: *mut CdrWriter,
    _: *mut c_void,
) -> i32 {
    // SAFETY: the tests pass only shapes and writers.
    unsafe { rtether_cdr_put_string(writer, (*value.cast::<Shape>()).color.as_ptr().cast()) };
    0
}

unsafe extern "C" fn put(value: *const c_void, writer: *mut CdrWriter, user: *mut c_void) -> i32 {
    // SAFETY: the tests pass only shapes and writers.
    unsafe {
        put_color(value, writer, user);
        let shape = &*value.cast::<Shape>();
        for number in shape.numbers {
            rtether_cdr_put_i32(writer, number);
        }
        rtether_cdr_put_octets(writer, shape.octets.as_ptr(), shape.len);
    }
    0
}

unsafe extern "C" fn get_color(reader: *mut CdrReader, value: *mut c_void, _: *mut c_void) -> i32 {
    // SAFETY: the tests pass only shapes and readers.
    unsafe {
        let shape = &mut *value.cast::<Shape>();
        rtether_cdr_get_string(reader, shape.color.as_mut_ptr().cast(), shape.color.len());
    }
    0
}

unsafe extern "C" fn get(reader: *mut CdrReader, value: *mut c_void, user: *mut c_void) -> i32 {
    // SAFETY: the tests pass only shapes and readers.
    unsafe {
        get_color(reader, value, user);
        let shape = &mut *value.cast::<Shape>();
        for number in &mut shape.numbers {
            rtether_cdr_get_i32(reader, number);
        }
        if rtether_cdr_remaining(reader) >= 4 {
            let (place, room) = (shape.octets.as_mut_ptr(), shape.octets.len());
            rtether_cdr_get_octets(reader, place, room, &raw mut shape.len);
        }
    }
    0
}

fn kind(key_is_short: bool) -> InstanceType {
    InstanceType {
        name: "ShapeType".to_owned(),
        max_size: 64,
        value_size: size_of::<Shape>(),
        serialize: Some(put),
        deserialize: Some(get),
        key: Some(KeyFns { serialize: put_color, deserialize: get_color, is_short: key_is_short }),
        extensibility: rtether_rtps::cdr::Extensibility::Appendable,
        user: std::ptr::null_mut(),
    }
}

fn read(kind: &InstanceType, payload: &[u8], is_key: bool) -> Option<Shape> {
    let mut shape = Shape::new("", 0);
    shape.numbers = [0; 3];
    let done = kind.read(payload, is_key, (&raw mut shape).cast());
    done.is_ok().then_some(shape)
}

#[test]
fn payloads_and_keys_are_those_of_the_derived_type() {
    // Oracle: `#[derive(Data)]`, which other implementations can read.
    use rtether_rtps::cdr::{
        key_hash_in, to_bare_key_payload, to_key_payload, to_payload, write_key,
    };
    let kind = kind(false);
    for encoding in [Encoding::Xcdr1, Encoding::Xcdr2] {
        for (color, len) in [("", 0), ("RED", 1), ("BLUE", 8), ("a long color", 3)] {
            let shape = Shape::new(color, len);
            let value = (&raw const shape).cast();
            let (mut ours, mut theirs) = (Vec::new(), Vec::new());
            kind.write(value, encoding, &mut ours).unwrap();
            to_payload(&shape.of_rust(), encoding, &mut theirs).unwrap();
            assert_eq!(ours, theirs);
            assert_eq!(read(&kind, &theirs, false), Some(shape.clone()));

            for is_bare in [false, true] {
                theirs.clear();
                kind.write_key_payload(value, encoding, is_bare, &mut ours).unwrap();
                let to_key_payload = if is_bare { to_bare_key_payload } else { to_key_payload };
                to_key_payload(&shape.of_rust(), encoding, &mut theirs).unwrap();
                let (start, rest) = ours.split_at(theirs.len());
                assert!(start == theirs && rest.iter().all(|one| *one == 0));
                assert_eq!(read(&kind, &theirs, true).unwrap().color, shape.color);
            }

            let hash = kind.write_key(value, encoding, &mut ours).unwrap();
            let mut room = Vec::new();
            let expected = key_hash_in(&shape.of_rust(), encoding, &mut room).unwrap();
            assert_eq!(hash, Some(expected));
            write_key(&shape.of_rust(), Encoding::Xcdr2, &mut room).unwrap();
            assert_eq!(ours, room);
        }
    }
}

#[test]
fn octets_without_sense_are_refused() {
    // Oracle: every value read fits its memory, and each shorter payload is incomplete.
    let kind = kind(false);
    let shape = Shape::new("BLUE", 8);
    let mut payload = Vec::new();
    kind.write((&raw const shape).cast(), Encoding::Xcdr1, &mut payload).unwrap();
    for len in 0..payload.len() {
        // In XCDR1 the last member may be missing, as from older programs.
        let end_of_numbers = 4 + 12 + 12;
        let is_older = (end_of_numbers..end_of_numbers + 4).contains(&len);
        let got = read(&kind, &payload[..len], false);
        assert_eq!(got.is_some(), is_older, "{len} octets");
    }
    for (at, octet) in (4..payload.len()).flat_map(|at| [(at, 0xFF), (at, 0x00), (at, 0x80)]) {
        let mut bent = payload.clone();
        bent[at] = octet;
        if let Some(got) = read(&kind, &bent, false) {
            assert!(got.len <= 8 && got.color[15] == 0);
        }
    }
    let long = ShapeType {
        color: "longer than the sixteen octets of memory".to_owned(),
        ..ShapeType::default()
    };
    payload.clear();
    rtether_rtps::cdr::to_payload(&long, Encoding::Xcdr2, &mut payload).unwrap();
    assert_eq!(read(&kind, &payload, false), None);
}

#[test]
fn values_above_the_limit_are_refused() {
    let mut kind = kind(true);
    kind.max_size = 16;
    let shape = Shape::new("BLUE", 8);
    let refused = kind.write((&raw const shape).cast(), Encoding::Xcdr1, &mut Vec::new());
    assert_eq!(refused.unwrap_err().status, Status::TooLong);
}

fn open(domain: u16) -> Arc<Monitor> {
    let options =
        DomainOptions { domain, interface: Some(Ipv4Addr::LOCALHOST), ..DomainOptions::default() };
    Arc::new(Monitor::new(Domain::open(&options).unwrap(), None))
}

#[test]
fn what_a_call_uses_outlives_its_end() {
    let domain = open(98);
    let kept = Arc::downgrade(&domain);
    let handle = register::<DomainHandle>(domain).unwrap();
    let status = on(handle, |_, _| {
        assert_eq!(rtether_domain_destroy(handle), Status::Ok);
        assert_eq!(kept.strong_count(), 1);
        assert_eq!(rtether_domain_destroy(handle), Status::Argument);
        Ok(())
    });
    assert_eq!(status, Status::Ok);
    assert_eq!(kept.strong_count(), 0);
}

#[test]
fn a_panic_is_a_status_and_poisons_the_domain() {
    let domain = open(99);
    let broken = domain.with(|domain| domain.stepping(|_| panic!("on purpose")));
    assert_eq!(broken, Status::Panic);
    // SAFETY: the text stays where it is until this thread ends.
    let text = unsafe { CStr::from_ptr(rtether_last_error()) };
    assert!(text.to_str().unwrap().contains("on purpose"));
    assert_eq!(domain.with(|_| Ok(())), Status::Poisoned);
    let kept = Arc::downgrade(&domain);
    let handle = register::<DomainHandle>(domain).unwrap();
    // SAFETY: the handle is valid, and not used afterwards.
    unsafe {
        assert_eq!(rtether_domain_step(handle, 0), Status::Poisoned);
        assert_eq!(rtether_domain_destroy(handle), Status::Ok);
    }
    assert_eq!(kept.strong_count(), 0);
}

#[test]
fn threads_that_use_and_destroy_a_handle_agree() {
    // Oracle: exactly one of the destroying calls succeeds, no call finds the object afterwards,
    // and nothing of it is left.
    for round in 0..20 {
        let domain = open(100);
        let kept = Arc::downgrade(&domain);
        let handle = register::<DomainHandle>(domain).unwrap().expose_provenance();
        let start = std::sync::Barrier::new(4);
        let destroyed = std::sync::atomic::AtomicU32::new(0);
        std::thread::scope(|scope| {
            for thread in 0..4 {
                let (start, destroyed) = (&start, &destroyed);
                scope.spawn(move || {
                    let handle = std::ptr::with_exposed_provenance::<DomainHandle>(handle);
                    start.wait();
                    for _ in 0..200 {
                        drop(find(handle));
                    }
                    if thread < 2 && remove(handle).is_ok() {
                        destroyed.fetch_add(1, std::sync::atomic::Ordering::Relaxed);
                    }
                });
            }
        });
        assert_eq!(destroyed.into_inner(), 1, "round {round}");
        assert_eq!(kept.strong_count(), 0, "round {round}");
        let handle = std::ptr::with_exposed_provenance::<DomainHandle>(handle);
        assert!(find(handle).is_err());
    }
}

#[test]
fn the_text_of_an_error_stays_where_it_is() {
    // Oracle: the texts; the address taken first, with which a program may still read.
    let first = rtether_last_error();
    let said = |failure: Failure| {
        fail(&failure);
        assert_eq!(rtether_last_error(), first);
        // SAFETY: the address is that of this thread's text, which ends with a zero.
        unsafe { CStr::from_ptr(first) }.to_str().unwrap().to_owned()
    };
    assert_eq!(said(Failure::argument("one")), "one");
    assert_eq!(said(Failure::argument("a longer\0 one")), "a longer one");
    assert_eq!(said(Failure::quiet(Status::Empty)), "a longer one");
    // Two octets each: the last one that is cut in half is left out.
    assert_eq!(said(Failure::argument("\u{e9}".repeat(5_000))), "\u{e9}".repeat(511));
    let elsewhere = std::thread::spawn(|| rtether_last_error().addr()).join();
    assert_ne!(elsewhere.unwrap(), first.addr());
}
