//! Sends frames at their times, for tests of what looks at a device: `replay DEVICE FILE`.
//!
//! The file has frames one after the other: time in nanoseconds (8 octets), length (4 octets), both
//! with the least octet first, and the octets without check sequence. The largest delay is printed.

#![allow(
    clippy::print_stdout,
    unsafe_code,
    reason = "an example for the terminal; the one system call has its reason"
)]

use std::env;
use std::error::Error;
use std::fs;
use std::io;
use std::os::fd::AsRawFd;
use std::thread;
use std::time::{Duration, Instant};

use rtether_live::link::Device;
use socket2::{Domain, Socket, Type};

/// Time before a frame during which it does not sleep.
const SPIN: Duration = Duration::from_micros(300);

fn main() -> Result<(), Box<dyn Error>> {
    let mut arguments = env::args().skip(1);
    let (device, file) =
        arguments.next().zip(arguments.next()).ok_or("usage: replay DEVICE FILE")?;
    let frames = fs::read(file)?;
    let index = Device::named(&device)?.index();
    let socket = Socket::new(Domain::PACKET, Type::RAW, None)?;
    let mut rest = frames.as_slice();
    let (begin, mut first, mut worst) = (Instant::now(), None, Duration::ZERO);
    while let Some((at, frame)) = next(&mut rest) {
        let first = *first.get_or_insert(at);
        let due = begin + Duration::from_nanos(at.abs_diff(first));
        if let Some(left) = due.checked_duration_since(Instant::now() + SPIN) {
            thread::sleep(left);
        }
        while Instant::now() < due {
            std::hint::spin_loop();
        }
        send(&socket, index, frame)?;
        worst = worst.max(due.elapsed());
    }
    println!("{}", worst.as_micros());
    Ok(())
}

fn next<'a>(rest: &mut &'a [u8]) -> Option<(u64, &'a [u8])> {
    let (at, more) = rest.split_first_chunk()?;
    let (length, more) = more.split_first_chunk()?;
    let length = usize::try_from(u32::from_le_bytes(*length)).ok()?;
    let (frame, more) = more.split_at_checked(length)?;
    *rest = more;
    Some((u64::from_le_bytes(*at), frame))
}

fn send(socket: &Socket, device: i32, frame: &[u8]) -> io::Result<()> {
    let to = libc::sockaddr_ll {
        sll_family: libc::sa_family_t::try_from(libc::AF_PACKET).unwrap_or_default(),
        sll_protocol: 0,
        sll_ifindex: device,
        sll_hatype: 0,
        sll_pkttype: 0,
        sll_halen: 6,
        sll_addr: [0; 8],
    };
    let length = libc::socklen_t::try_from(size_of_val(&to)).unwrap_or(0);
    // SAFETY: the descriptor is open; pointers and lengths are those of live buffers, which the
    // kernel only reads.
    let sent = unsafe {
        libc::sendto(
            socket.as_raw_fd(),
            frame.as_ptr().cast(),
            frame.len(),
            0,
            (&raw const to).cast(),
            length,
        )
    };
    if sent < 0 {
        return Err(io::Error::last_os_error());
    }
    Ok(())
}
