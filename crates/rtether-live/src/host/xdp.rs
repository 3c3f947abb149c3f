//! Tries what `AF_XDP` needs.

use std::ffi::CString;
use std::io;
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd};

// `linux/bpf.h`, `linux/if_link.h`.
const BPF_PROG_LOAD: libc::c_long = 5;
const BPF_LINK_CREATE: libc::c_long = 28;
const BPF_PROG_TYPE_XDP: u32 = 6;
const BPF_XDP: u32 = 37;
const XDP_FLAGS_DRV_MODE: u32 = 1 << 2;
/// `r0 = XDP_PASS; exit`.
const PASS: [u64; 2] = [0x0000_0002_0000_00b7, 0x0000_0000_0000_0095];

/// Opens an `AF_XDP` socket and closes it.
pub(super) fn try_socket() -> io::Result<()> {
    // SAFETY: no pointer is passed.
    let socket = unsafe { libc::socket(libc::AF_XDP, libc::SOCK_RAW | libc::SOCK_CLOEXEC, 0) };
    owned(socket.into()).map(drop)
}

/// Attaches a program that passes every frame to a device's driver, and takes it off.
pub(super) fn try_native(device: &str) -> io::Result<()> {
    let name = CString::new(device).map_err(|_| io::ErrorKind::InvalidInput)?;
    // SAFETY: the string ends with a zero and is alive.
    let index = unsafe { libc::if_nametoindex(name.as_ptr()) };
    if index == 0 {
        return Err(io::Error::last_os_error());
    }
    let license = c"GPL";
    let [program_low, program_high] = halves(PASS.as_ptr().addr());
    let [license_low, license_high] = halves(license.as_ptr().addr());
    let program = bpf(
        BPF_PROG_LOAD,
        &mut [
            BPF_PROG_TYPE_XDP,
            2,
            program_low,
            program_high,
            license_low,
            license_high,
        ],
    )?;
    let descriptor = u32::try_from(program.as_raw_fd()).map_err(|_| io::ErrorKind::InvalidInput)?;
    // Closing the link takes the program off.
    bpf(
        BPF_LINK_CREATE,
        &mut [descriptor, index, BPF_XDP, XDP_FLAGS_DRV_MODE],
    )
    .map(drop)
}

/// Returns an address in the order of two words of this machine.
fn halves(address: usize) -> [u32; 2] {
    let octets = (address as u64).to_ne_bytes();
    let mut words = octets.as_chunks::<4>().0.iter();
    [(); 2].map(|()| words.next().map_or(0, |word| u32::from_ne_bytes(*word)))
}

/// Calls `bpf` with the first words of its attributes; the kernel takes the rest as zero.
fn bpf(command: libc::c_long, words: &mut [u32]) -> io::Result<OwnedFd> {
    let size = size_of_val(words);
    // SAFETY: the attributes are as long as said; the addresses in them are those of constants.
    let result = unsafe { libc::syscall(libc::SYS_bpf, command, words.as_mut_ptr(), size) };
    owned(result)
}

fn owned(result: libc::c_long) -> io::Result<OwnedFd> {
    let descriptor = i32::try_from(result).map_err(|_| io::ErrorKind::InvalidData)?;
    if descriptor < 0 {
        return Err(io::Error::last_os_error());
    }
    // SAFETY: the kernel has just handed out this descriptor, which nobody else knows.
    Ok(unsafe { OwnedFd::from_raw_fd(descriptor) })
}
