//! The program that unpacks the other one. Oracle: what `xz --format=lzma` has packed.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on may panic")]

use std::io::Write;
use std::process::{Command, Output, Stdio};

const TEXT: &str = "In time, in time, in time: every packet is in time.\n";
const PACKED: [u8; 57] = [
    0x04, 0x00, 0x00, 0x80, 0x00, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0x00, 0x24, 0x9c,
    0x5c, 0x69, 0xa4, 0x7b, 0x1e, 0x83, 0x37, 0x64, 0x4b, 0xca, 0x61, 0x88, 0x9a, 0xe8, 0x74, 0xee,
    0xaa, 0x6c, 0x49, 0xb3, 0x5f, 0x0b, 0xa1, 0xba, 0xc7, 0x11, 0x31, 0x8c, 0x88, 0xc1, 0x4f, 0xee,
    0x7c, 0x74, 0x07, 0xff, 0xff, 0xf2, 0xf3, 0x40, 0x00,
];

fn unpack(packed: &[u8]) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_unpack"));
    let (input, output) = (Stdio::piped(), Stdio::piped());
    let command = command.stdin(input).stdout(output).stderr(Stdio::piped());
    let mut child = command.spawn().unwrap();
    let mut input = child.stdin.take().unwrap();
    input.write_all(packed).unwrap();
    drop(input);
    child.wait_with_output().unwrap()
}

#[test]
fn what_was_packed_comes_back() {
    let output = unpack(&PACKED);
    assert_eq!(String::from_utf8_lossy(&output.stdout), TEXT);
    assert!(output.status.success());
}

#[test]
fn what_is_cut_off_or_asks_for_much_memory_is_refused() {
    assert!(!unpack(&PACKED[..40]).status.success());
    let mut large = PACKED;
    large[4] = 0x7f;
    assert!(!unpack(&large).status.success());
}
