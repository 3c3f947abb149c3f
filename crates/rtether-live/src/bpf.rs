//! Programs for the kernel (eBPF), written as instructions: they are too short to need a compiler.

use std::ffi::CString;
use std::io;
use std::marker::PhantomData;
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd, RawFd};
use std::path::Path;

/// Commands of `include/uapi/linux/bpf.h`.
const MAP_CREATE: libc::c_long = 0;
const MAP_LOOKUP_ELEM: libc::c_long = 1;
const MAP_UPDATE_ELEM: libc::c_long = 2;
const PROG_LOAD: libc::c_long = 5;
const OBJ_PIN: libc::c_long = 6;
const LINK_CREATE: libc::c_long = 28;
const MAP_TYPE_ARRAY: u32 = 2;
/// Turns a constant into the address of the value of a single-element map.
const PSEUDO_MAP_VALUE: u8 = 2;
/// Attachment of programs to a device, and its flags (`linux/bpf.h`, `linux/if_link.h`).
const ATTACH_XDP: u32 = 37;
/// Attaches in the network stack, above the driver.
pub(crate) const XDP_GENERIC: u32 = 1 << 1;
/// Attaches in the driver.
pub(crate) const XDP_NATIVE: u32 = 1 << 2;

/// Type of a program.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ProgramType {
    /// A `tc` filter.
    Classifier = 3,
    /// Frames at the driver.
    Xdp = 6,
}

/// One instruction: code, destination in the lower and source in the upper half of the next octet,
/// offset of a jump or load, value (RFC 9669).
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub(crate) struct Instruction {
    code: u8,
    registers: u8,
    offset: i16,
    value: i32,
}

/// Returns an instruction from register `from` to register `to`.
pub(crate) const fn op(code: u8, to: u8, from: u8, offset: i16, value: i32) -> Instruction {
    let registers = if cfg!(target_endian = "big") { to << 4 | from } else { from << 4 | to };
    Instruction { code, registers, offset, value }
}

impl Instruction {
    /// Returns the instruction with this offset.
    pub(crate) const fn with_offset(self, offset: i16) -> Self {
        Self { offset, ..self }
    }
}

pub(crate) const LOAD_64: u8 = 0x79;
pub(crate) const LOAD_32: u8 = 0x61;
pub(crate) const LOAD_16: u8 = 0x69;
pub(crate) const LOAD_CONSTANT_64: u8 = 0x18;
pub(crate) const STORE_VALUE_32: u8 = 0x62;
/// Atomically adds a register to memory.
pub(crate) const ATOMIC_ADD_64: u8 = 0xDB;
pub(crate) const MOVE: u8 = 0xBF;
pub(crate) const MOVE_VALUE: u8 = 0xB7;
pub(crate) const ADD_VALUE: u8 = 0x07;
pub(crate) const SUBTRACT: u8 = 0x1F;
pub(crate) const AND_VALUE_32: u8 = 0x54;
pub(crate) const JUMP_IF_VALUE_GREATER: u8 = 0x25;
pub(crate) const JUMP_IF_GREATER: u8 = 0x2D;
pub(crate) const JUMP_IF_EQUAL: u8 = 0x15;
pub(crate) const JUMP_IF_OTHER: u8 = 0x55;
pub(crate) const CALL: u8 = 0x85;
pub(crate) const EXIT: u8 = 0x95;

/// Returns a 16-bit number as the processor loads it from a frame.
pub(crate) fn in_frame(number: u16) -> i32 {
    i32::from(u16::from_ne_bytes(number.to_be_bytes()))
}

/// A map from 32-bit keys to integers of one type, or arrays of them.
#[derive(Debug)]
pub(crate) struct Map<T> {
    descriptor: OwnedFd,
    values: PhantomData<T>,
}

impl<T> Map<T> {
    pub(crate) fn new(kind: u32, entries: u32) -> io::Result<Self> {
        let size = u32::try_from(size_of::<T>()).unwrap_or(u32::MAX);
        // Type, key size and value size in octets, entries, flags.
        let descriptor = descriptor(MAP_CREATE, &[kind, 4, size, entries, 0])?;
        let values = PhantomData;
        Ok(Self { descriptor, values })
    }

    pub(crate) fn set(&self, key: u32, value: &T) -> io::Result<()> {
        self.element(MAP_UPDATE_ELEM, key, std::ptr::from_ref(value).addr())
    }

    fn read(&self, key: u32, value: &mut T) -> io::Result<()> {
        self.element(MAP_LOOKUP_ELEM, key, std::ptr::from_mut(value).addr())
    }

    fn element(&self, command: libc::c_long, key: u32, value: usize) -> io::Result<()> {
        #[repr(C)]
        struct Element {
            map: RawFd,
            padding: u32,
            key: u64,
            value: u64,
            flags: u64,
        }
        let element = Element {
            map: self.as_raw_fd(),
            padding: 0,
            key: (&raw const key).addr() as u64,
            value: value as u64,
            flags: 0,
        };
        call(command, &element).map(|_| ())
    }
}

impl<T> AsRawFd for Map<T> {
    fn as_raw_fd(&self) -> RawFd {
        self.descriptor.as_raw_fd()
    }
}

/// Numbers shared between programs and this process: an array map with one element.
#[derive(Debug)]
pub(crate) struct Numbers<const N: usize> {
    map: Map<[u64; N]>,
}

impl<const N: usize> Numbers<N> {
    /// Creates the map, with all numbers zero.
    pub(crate) fn new() -> io::Result<Self> {
        let map = Map::new(MAP_TYPE_ARRAY, 1)?;
        Ok(Self { map })
    }

    /// Returns the two halves of the instruction that loads the address of number `index`.
    pub(crate) fn address(&self, register: u8, index: i32) -> [Instruction; 2] {
        let map = self.map.as_raw_fd();
        [op(LOAD_CONSTANT_64, register, PSEUDO_MAP_VALUE, 0, map), op(0, 0, 0, 0, index * 8)]
    }

    /// Reads all numbers.
    pub(crate) fn get(&self) -> io::Result<[u64; N]> {
        let mut numbers = [0; N];
        self.map.read(0, &mut numbers)?;
        Ok(numbers)
    }

    /// Sets all numbers; what a program adds meanwhile is lost.
    pub(crate) fn set(&self, numbers: &[u64; N]) -> io::Result<()> {
        self.map.set(0, numbers)
    }
}

/// Attempts to load a program.
const LOAD_ATTEMPTS: usize = 10;

/// Loads a program.
pub(crate) fn load(kind: ProgramType, program: &[Instruction]) -> io::Result<OwnedFd> {
    #[repr(C)]
    struct Load {
        kind: u32,
        count: u32,
        instructions: u64,
        license: u64,
    }
    let license = c"Dual MIT/GPL";
    let load = Load {
        kind: kind as u32,
        count: u32::try_from(program.len()).unwrap_or(0),
        instructions: program.as_ptr().addr() as u64,
        license: license.as_ptr().addr() as u64,
    };
    // The kernel aborts the verification of a program when a signal arrives.
    let is_interrupted = |error: &io::Error| error.kind() == io::ErrorKind::WouldBlock;
    let mut attempts = (0..LOAD_ATTEMPTS).map(|_| descriptor(PROG_LOAD, &load));
    let last = attempts.find(|loaded| !loaded.as_ref().is_err_and(is_interrupted));
    last.unwrap_or_else(|| Err(io::ErrorKind::WouldBlock.into()))
}

/// Attaches a program to a device until the descriptor is closed, also if the process is killed.
pub(crate) fn attach_xdp(program: &OwnedFd, device: u32, mode: u32) -> io::Result<OwnedFd> {
    let program = u32::try_from(program.as_raw_fd()).unwrap_or(u32::MAX);
    descriptor(LINK_CREATE, &[program, device, ATTACH_XDP, mode])
}

/// Pins a program in a `bpf` file system.
pub(crate) fn pin(program: &OwnedFd, path: &Path) -> io::Result<()> {
    #[repr(C)]
    struct Pin {
        path: u64,
        descriptor: RawFd,
        flags: u32,
    }
    let path = CString::new(path.as_os_str().as_encoded_bytes())?;
    let pin = Pin { path: path.as_ptr().addr() as u64, descriptor: program.as_raw_fd(), flags: 0 };
    call(OBJ_PIN, &pin).map(|_| ())
}

/// Calls `bpf` with a command that returns a descriptor.
fn descriptor<T>(command: libc::c_long, attributes: &T) -> io::Result<OwnedFd> {
    let result = call(command, attributes)?;
    let raw = RawFd::try_from(result).map_err(|_| io::ErrorKind::InvalidData)?;
    // SAFETY: these commands return a new descriptor that has no other owner.
    Ok(unsafe { OwnedFd::from_raw_fd(raw) })
}

/// Calls `bpf`; the kernel takes omitted trailing members as zero.
fn call<T>(command: libc::c_long, attributes: &T) -> io::Result<libc::c_long> {
    // SAFETY: pointer and length are those of a live structure of the layout that the command
    // expects; addresses inside it are of objects that live until the call returns.
    let result = unsafe {
        libc::syscall(libc::SYS_bpf, command, std::ptr::from_ref(attributes), size_of::<T>())
    };
    if result < 0 { Err(io::Error::last_os_error()) } else { Ok(result) }
}

/// Result of running a program on a packet.
#[cfg(test)]
#[derive(Debug)]
pub(crate) struct Ran {
    /// Return value of the program.
    pub(crate) result: u32,
    /// `priority` of the packet.
    pub(crate) priority: u32,
    /// Mean time of all runs.
    pub(crate) ns: u32,
}

/// Runs a `tc` program `repeat` times on a frame of at least 14 octets.
#[cfg(test)]
pub(crate) fn test_run(program: &OwnedFd, frame: &[u8], repeat: u32) -> io::Result<Ran> {
    const PROG_TEST_RUN: libc::c_long = 10;
    /// Index of `priority` among the 32-bit members of `struct __sk_buff`.
    const PRIORITY: usize = 8;
    #[repr(C)]
    struct Run {
        program: RawFd,
        result: u32,
        data_size: u32,
        data_size_out: u32,
        data: u64,
        data_out: u64,
        repeat: u32,
        duration: u32,
        context_size: u32,
        context_size_out: u32,
        context: u64,
        context_out: u64,
    }
    let mut context = [0_u32; 48];
    let mut run = Run {
        program: program.as_raw_fd(),
        result: 0,
        data_size: u32::try_from(frame.len()).unwrap_or(u32::MAX),
        data_size_out: 0,
        data: frame.as_ptr().addr() as u64,
        data_out: 0,
        repeat,
        duration: 0,
        context_size: 0,
        context_size_out: u32::try_from(size_of_val(&context)).unwrap_or(0),
        context: 0,
        context_out: (&raw mut context).expose_provenance() as u64,
    };
    // SAFETY: pointer and length are those of a live structure of the layout that the command
    // expects and writes to; addresses inside it are of objects that live until the call returns.
    let result =
        unsafe { libc::syscall(libc::SYS_bpf, PROG_TEST_RUN, &raw mut run, size_of::<Run>()) };
    if result < 0 {
        return Err(io::Error::last_os_error());
    }
    Ok(Ran { result: run.result, priority: context[PRIORITY], ns: run.duration })
}
