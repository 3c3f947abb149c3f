//! The XDP program that delivers frames to the meter.
//!
//! ```text
//! if the frame has EtherType 0x88B5, tagged or not: redirect it to the socket of its queue,
//!     and pass it to the kernel if that queue has none
//! else: pass it to the kernel
//! ```
//!
//! It is short enough to be written as instructions, without a BPF compiler. It is attached by a
//! `bpf_link`: the kernel detaches it when the last descriptor of the link is closed, also if the
//! process is killed.

use std::io;
use std::os::fd::{AsRawFd, OwnedFd, RawFd};

use super::frame::{ETHERTYPE, ETHERTYPE_TAG};
use crate::bpf::{
    self, ADD_VALUE, CALL, EXIT, Instruction, JUMP_IF_EQUAL, JUMP_IF_GREATER, JUMP_IF_OTHER,
    LOAD_16, LOAD_32, LOAD_CONSTANT_64, MOVE, MOVE_VALUE, Map, ProgramType, XDP_GENERIC,
    XDP_NATIVE, attach_xdp, in_frame, op,
};

/// Types and helpers of `include/uapi/linux/bpf.h`.
const MAP_TYPE_XSKMAP: u32 = 17;
const PSEUDO_MAP_FD: u8 = 1;
const REDIRECT_MAP: i32 = 51;
const PASS: i32 = 2;

fn program(map: RawFd) -> [Instruction; 20] {
    [
        op(LOAD_32, 2, 1, 0, 0),          // r2 = beginning of the frame
        op(LOAD_32, 3, 1, 4, 0),          // r3 = its end
        op(MOVE, 4, 2, 0, 0),             // r4 = r2 + 14
        op(ADD_VALUE, 4, 0, 0, 14),       //
        op(JUMP_IF_GREATER, 4, 3, 13, 0), // too short: pass
        op(LOAD_16, 5, 2, 12, 0),         // r5 = EtherType
        op(JUMP_IF_EQUAL, 5, 0, 5, in_frame(ETHERTYPE)), // ours: redirect
        op(JUMP_IF_OTHER, 5, 0, 10, in_frame(ETHERTYPE_TAG)), // no tag: pass
        op(ADD_VALUE, 4, 0, 0, 4),        // r4 = r2 + 18
        op(JUMP_IF_GREATER, 4, 3, 8, 0),  // too short: pass
        op(LOAD_16, 5, 2, 16, 0),         // r5 = EtherType behind the tag
        op(JUMP_IF_OTHER, 5, 0, 6, in_frame(ETHERTYPE)), // another one: pass
        op(LOAD_32, 2, 1, 16, 0),         // redirect: r2 = queue
        op(LOAD_CONSTANT_64, 1, PSEUDO_MAP_FD, 0, map), // r1 = sockets by queue
        op(0, 0, 0, 0, 0),                //   its second half
        op(MOVE_VALUE, 3, 0, 0, PASS),    // r3 = what to do without a socket
        op(CALL, 0, 0, 0, REDIRECT_MAP),  //
        op(EXIT, 0, 0, 0, 0),             //
        op(MOVE_VALUE, 0, 0, 0, PASS),    // pass: r0 = XDP_PASS
        op(EXIT, 0, 0, 0, 0),             //
    ]
}

/// An attached program, detached on drop.
#[derive(Debug)]
pub(super) struct Attached {
    _link: OwnedFd,
}

/// Attaches the program to a device and enters the socket for a queue; in native mode if the driver
/// supports it. An error comes with the step that failed.
pub(super) fn attach(
    device: u32,
    queue: u32,
    socket: RawFd,
) -> Result<Attached, (&'static str, io::Error)> {
    let map = Map::new(MAP_TYPE_XSKMAP, queue + 1);
    let map = map.map_err(|error| ("making a map of sockets", error))?;
    map.set(queue, &socket).map_err(|error| ("entering the socket into its map", error))?;
    let program = program(map.as_raw_fd());
    let program =
        bpf::load(ProgramType::Xdp, &program).map_err(|error| ("loading the program", error))?;
    let attached = attach_xdp(&program, device, XDP_NATIVE);
    let link = attached.or_else(|error| match error.raw_os_error() {
        Some(libc::EOPNOTSUPP) => attach_xdp(&program, device, XDP_GENERIC),
        _ => Err(error),
    });
    link.map(|link| Attached { _link: link }).map_err(|error| ("attaching the program", error))
}
