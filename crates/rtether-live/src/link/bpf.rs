//! The XDP program that gives the meter its frames.
//!
//! ```text
//! if the frame has EtherType 0x88B5, tagged or not: redirect it to the socket of its queue,
//!     and pass it to the kernel if that queue has none
//! else: pass it to the kernel
//! ```
//!
//! It is short enough to be written as instructions, so that no compiler for BPF is needed. It is
//! attached by a `bpf_link`: the kernel detaches it when the last descriptor of the link is closed,
//! also when the process is killed.

use std::io;
use std::os::fd::{AsFd, AsRawFd, FromRawFd, OwnedFd, RawFd};

use super::frame::{ETHERTYPE, ETHERTYPE_TAG};

/// Commands, types and modes of `include/uapi/linux/bpf.h` and `if_link.h`.
const MAP_CREATE: libc::c_long = 0;
const MAP_UPDATE_ELEM: libc::c_long = 2;
const PROG_LOAD: libc::c_long = 5;
const LINK_CREATE: libc::c_long = 28;
const MAP_TYPE_XSKMAP: u32 = 17;
const PROG_TYPE_XDP: u32 = 6;
const ATTACH_XDP: u32 = 37;
const MODE_GENERIC: u32 = 1 << 1;
const MODE_NATIVE: u32 = 1 << 2;

/// One instruction: code, destination in the lower and source in the upper half of the next octet,
/// offset of a jump or a load, value (RFC 9669).
#[repr(C)]
#[derive(Clone, Copy)]
struct Instruction {
    code: u8,
    registers: u8,
    offset: i16,
    value: i32,
}

const fn op(code: u8, to: u8, from: u8, offset: i16, value: i32) -> Instruction {
    Instruction {
        code,
        registers: from << 4 | to,
        offset,
        value,
    }
}

const LOAD_32: u8 = 0x61;
const LOAD_16: u8 = 0x69;
const LOAD_CONSTANT_64: u8 = 0x18;
const MOVE: u8 = 0xBF;
const MOVE_VALUE: u8 = 0xB7;
const ADD_VALUE: u8 = 0x07;
const JUMP_IF_GREATER: u8 = 0x2D;
const JUMP_IF_EQUAL: u8 = 0x15;
const JUMP_IF_OTHER: u8 = 0x55;
const CALL: u8 = 0x85;
const EXIT: u8 = 0x95;
const PSEUDO_MAP_FD: u8 = 1;
const REDIRECT_MAP: i32 = 51;
const PASS: i32 = 2;

/// Returns a 16-bit field as the processor loads it from a frame.
fn in_frame(ethertype: u16) -> i32 {
    i32::from(u16::from_ne_bytes(ethertype.to_be_bytes()))
}

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

/// An attached program; dropped, it is detached.
#[derive(Debug)]
pub(super) struct Attached {
    _link: OwnedFd,
}

/// Attaches the program to a device and gives it the socket for a queue; native mode where the
/// driver has it. Returns what was tried with the error.
pub(super) fn attach(
    device: u32,
    queue: u32,
    socket: RawFd,
) -> Result<Attached, (&'static str, io::Error)> {
    let map = xsk_map(queue + 1).map_err(|error| ("making a map of sockets", error))?;
    insert(&map, queue, socket).map_err(|error| ("entering the socket into its map", error))?;
    let program = load(&map).map_err(|error| ("loading the program", error))?;
    let attached = link(&program, device, MODE_NATIVE);
    let link = attached.or_else(|error| match error.raw_os_error() {
        Some(libc::EOPNOTSUPP) => link(&program, device, MODE_GENERIC),
        _ => Err(error),
    });
    link.map(|link| Attached { _link: link })
        .map_err(|error| ("attaching the program", error))
}

fn xsk_map(entries: u32) -> io::Result<OwnedFd> {
    // Type, octets of a key, octets of a value, entries, flags.
    descriptor(MAP_CREATE, &[MAP_TYPE_XSKMAP, 4, 4, entries, 0])
}

fn insert(map: &OwnedFd, queue: u32, socket: RawFd) -> io::Result<()> {
    #[repr(C)]
    struct Element {
        map: RawFd,
        padding: u32,
        key: u64,
        value: u64,
        flags: u64,
    }
    let element = Element {
        map: map.as_raw_fd(),
        padding: 0,
        key: (&raw const queue).addr() as u64,
        value: (&raw const socket).addr() as u64,
        flags: 0,
    };
    call(MAP_UPDATE_ELEM, &element).map(|_| ())
}

fn load(map: &OwnedFd) -> io::Result<OwnedFd> {
    #[repr(C)]
    struct Load {
        kind: u32,
        count: u32,
        instructions: u64,
        license: u64,
        log_level: u32,
        log_size: u32,
        log: u64,
        rest: [u64; 12],
    }
    let instructions = program(map.as_fd().as_raw_fd());
    let license = c"Dual MIT/GPL";
    let load = Load {
        kind: PROG_TYPE_XDP,
        count: u32::try_from(instructions.len()).unwrap_or(0),
        instructions: instructions.as_ptr().addr() as u64,
        license: license.as_ptr().addr() as u64,
        log_level: 0,
        log_size: 0,
        log: 0,
        rest: [0; 12],
    };
    descriptor(PROG_LOAD, &load)
}

fn link(program: &OwnedFd, device: u32, mode: u32) -> io::Result<OwnedFd> {
    let program = u32::try_from(program.as_raw_fd()).unwrap_or(u32::MAX);
    descriptor(LINK_CREATE, &[program, device, ATTACH_XDP, mode])
}

fn descriptor<T>(command: libc::c_long, attributes: &T) -> io::Result<OwnedFd> {
    let result = call(command, attributes)?;
    let raw = RawFd::try_from(result).map_err(|_| io::ErrorKind::InvalidData)?;
    // SAFETY: these commands return a new descriptor that nobody else owns.
    Ok(unsafe { OwnedFd::from_raw_fd(raw) })
}

/// Calls `bpf`; the kernel takes members that are left out at the end as zero.
fn call<T>(command: libc::c_long, attributes: &T) -> io::Result<libc::c_long> {
    // SAFETY: pointer and length are those of a live structure of the layout that the command
    // expects; addresses inside it are of objects that live until the call returns.
    let result = unsafe {
        libc::syscall(
            libc::SYS_bpf,
            command,
            std::ptr::from_ref(attributes),
            size_of::<T>(),
        )
    };
    if result < 0 {
        Err(io::Error::last_os_error())
    } else {
        Ok(result)
    }
}
