//! Two small programs for the kernel's packet filter (eBPF) that put IEEE 802.1Q tags on packets of
//! ordinary sockets and take them off again, on hosts without VLAN devices.
//!
//! `push` stands where packets leave a device: the priority of a socket (`SO_PRIORITY`) of
//! [`TAG_PRIORITY`] or more carries the tag's control information in its lower 16 bits. `pop` stands
//! where they come in, since the kernel drops IP packets with a tag of a VLAN it does not have.
//! Both are attached by `tc` as direct actions, from the files they are pinned to.

use std::ffi::CString;
use std::io;
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd};
use std::path::Path;

/// Beginning of the priorities that [`push`] turns into a tag: the lower 16 bits are its control
/// information.
pub const TAG_PRIORITY: u32 = 1 << 31;

/// Offsets in `struct __sk_buff`.
const VLAN_PRESENT: i16 = 20;
const PRIORITY: i16 = 32;
/// Numbers of helper functions (`enum bpf_func_id`).
const VLAN_PUSH: i32 = 18;
const VLAN_POP: i32 = 19;
/// `0x8100` in the order of the network, as a 16-bit number of this machine.
const TAG_TYPE: i32 = if cfg!(target_endian = "big") {
    0x8100
} else {
    0x0081
};

/// One instruction: operation, registers (destination in the lower half), offset, constant.
type Instruction = (u8, u8, i16, i32);

// Operations, named after `linux/bpf_common.h`.
const LOAD_WORD: u8 = 0x61;
const MOVE: u8 = 0xBF;
const MOVE_CONSTANT: u8 = 0xB7;
const AND32_CONSTANT: u8 = 0x54;
const JUMP_IF_ZERO: u8 = 0x15;
const CALL: u8 = 0x85;
const EXIT: u8 = 0x95;

/// Register 1 is the packet at the start; 0 is the result, 0 meaning "go on" (`TC_ACT_OK`); 6 to 9
/// survive calls.
const PUSH: [Instruction; 12] = [
    (MOVE, 0x16, 0, 0),
    (LOAD_WORD, 0x67, PRIORITY, 0),
    (MOVE, 0x78, 0, 0),
    (AND32_CONSTANT, 0x08, 0, i32::MIN),
    (JUMP_IF_ZERO, 0x08, 5, 0),
    (MOVE, 0x61, 0, 0),
    (MOVE_CONSTANT, 0x02, 0, TAG_TYPE),
    (MOVE, 0x73, 0, 0),
    (AND32_CONSTANT, 0x03, 0, 0xFFFF),
    (CALL, 0x00, 0, VLAN_PUSH),
    (MOVE_CONSTANT, 0x00, 0, 0),
    (EXIT, 0x00, 0, 0),
];
const POP: [Instruction; 5] = [
    (LOAD_WORD, 0x12, VLAN_PRESENT, 0),
    (JUMP_IF_ZERO, 0x02, 1, 0),
    (CALL, 0x00, 0, VLAN_POP),
    (MOVE_CONSTANT, 0x00, 0, 0),
    (EXIT, 0x00, 0, 0),
];

/// Loads both programs and pins them as `push` and `pop` in a folder of a `bpf` file system.
///
/// # Errors
/// If the kernel refuses a program, for lack of `CAP_BPF` or `CAP_NET_ADMIN` or because it has no
/// such filters.
pub fn pin(folder: &Path) -> io::Result<()> {
    for (name, program) in [("push", &PUSH[..]), ("pop", &POP[..])] {
        let loaded = load(program)?;
        pin_at(&loaded, &folder.join(name))?;
    }
    Ok(())
}

/// Arguments of `BPF_PROG_LOAD`, from `linux/bpf.h`; the kernel takes what lies behind as zeros.
#[repr(C)]
#[derive(Default)]
struct LoadArguments {
    kind: u32,
    count: u32,
    instructions: u64,
    license: u64,
    log_level: u32,
    log_size: u32,
    log: u64,
    kernel_version: u32,
    flags: u32,
}

/// Arguments of `BPF_OBJ_PIN`.
#[repr(C)]
#[derive(Default)]
struct PinArguments {
    path: u64,
    descriptor: u32,
    flags: u32,
}

fn load(program: &[Instruction]) -> io::Result<OwnedFd> {
    const PROG_LOAD: libc::c_int = 5;
    const SCHED_CLS: u32 = 3;
    let code: Vec<u8> = program.iter().flat_map(|step| encode(*step)).collect();
    let arguments = LoadArguments {
        kind: SCHED_CLS,
        count: u32::try_from(program.len()).unwrap_or(0),
        instructions: code.as_ptr() as u64,
        license: c"Dual MIT/GPL".as_ptr() as u64,
        ..LoadArguments::default()
    };
    // SAFETY: code and license are live and of the stated lengths; the kernel only reads them.
    let result = unsafe {
        libc::syscall(
            libc::SYS_bpf,
            PROG_LOAD,
            &raw const arguments,
            size_of_val(&arguments),
        )
    };
    let descriptor = libc::c_int::try_from(result).unwrap_or(-1);
    if descriptor < 0 {
        return Err(io::Error::last_os_error());
    }
    // SAFETY: the kernel has just given us this descriptor, and nobody else has it.
    Ok(unsafe { OwnedFd::from_raw_fd(descriptor) })
}

fn encode((code, registers, offset, constant): Instruction) -> [u8; 8] {
    // The source register is the upper half of the octet; on a big-endian machine the lower.
    let registers = if cfg!(target_endian = "big") {
        registers.rotate_left(4)
    } else {
        registers
    };
    // Above, registers are written source first: `0x16` moves 1 to 6.
    let [o0, o1] = offset.to_ne_bytes();
    let [c0, c1, c2, c3] = constant.to_ne_bytes();
    [code, registers, o0, o1, c0, c1, c2, c3]
}

fn pin_at(program: &OwnedFd, path: &Path) -> io::Result<()> {
    const OBJ_PIN: libc::c_int = 6;
    let path = CString::new(path.as_os_str().as_encoded_bytes())?;
    let arguments = PinArguments {
        path: path.as_ptr() as u64,
        descriptor: u32::try_from(program.as_raw_fd()).unwrap_or(u32::MAX),
        flags: 0,
    };
    // SAFETY: the path is a live string with an end; the kernel only reads it.
    let result = unsafe {
        libc::syscall(
            libc::SYS_bpf,
            OBJ_PIN,
            &raw const arguments,
            size_of_val(&arguments),
        )
    };
    if result == 0 {
        Ok(())
    } else {
        Err(io::Error::last_os_error())
    }
}
