//! Properties that network devices report (`linux/ethtool.h`).

use std::ffi::c_char;
use std::io;
use std::net::UdpSocket;
use std::os::fd::AsRawFd;

use crate::fit::fit;

const ETHTOOL_GCOALESCE: u32 = 0x0e;
const ETHTOOL_GTSO: u32 = 0x1e;
const ETHTOOL_GGSO: u32 = 0x23;
const ETHTOOL_GGRO: u32 = 0x2b;
const ETHTOOL_GET_TS_INFO: u32 = 0x41;

/// Time stamping that a device offers.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Stamping {
    /// Bits of `SOF_TIMESTAMPING_*`.
    flags: u32,
    /// Number of its hardware clock, `/dev/ptpN`.
    pub clock: Option<u32>,
}

impl Stamping {
    /// Returns whether the device can stamp frames in both directions.
    pub const fn is_hardware(self) -> bool {
        const BOTH: u32 = libc::SOF_TIMESTAMPING_TX_HARDWARE | libc::SOF_TIMESTAMPING_RX_HARDWARE;
        self.flags & BOTH == BOTH
    }

    /// Returns whether the kernel can stamp frames as they are sent.
    pub const fn is_software_sent(self) -> bool {
        self.flags & libc::SOF_TIMESTAMPING_TX_SOFTWARE != 0
    }

    /// Returns whether the kernel can stamp frames as they arrive.
    pub const fn is_software_received(self) -> bool {
        self.flags & libc::SOF_TIMESTAMPING_RX_SOFTWARE != 0
    }
}

/// Interrupt moderation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Coalescing {
    /// Microseconds that a received frame may wait for its interrupt.
    pub receive_us: u32,
    /// Microseconds that the completion of a transmission may wait for its interrupt.
    pub send_us: u32,
    /// Whether the driver varies them.
    pub is_adaptive: bool,
}

/// Answers of a device; `None` where it has none.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Settings {
    /// Time stamping.
    pub stamping: Option<Stamping>,
    /// TCP segmentation by the device.
    pub tso: Option<bool>,
    /// Segmentation late in the kernel.
    pub gso: Option<bool>,
    /// Received segments merged early in the kernel.
    pub gro: Option<bool>,
    /// Interrupt moderation.
    pub coalescing: Option<Coalescing>,
}

/// Queries a device of this namespace.
///
/// # Errors
/// If no socket can be opened for the query.
pub fn settings(name: &str) -> io::Result<Settings> {
    let socket = UdpSocket::bind(("127.0.0.1", 0))?;
    let flag = |command| ask::<2>(&socket, name, command).map(|words| words[1] != 0);
    Ok(Settings {
        stamping: ask::<11>(&socket, name, ETHTOOL_GET_TS_INFO).map(|words| Stamping {
            flags: words[1],
            // All ones if there is no clock.
            clock: (words[2] < u32::MAX).then_some(words[2]),
        }),
        tso: flag(ETHTOOL_GTSO),
        gso: flag(ETHTOOL_GGSO),
        gro: flag(ETHTOOL_GGRO),
        coalescing: ask::<23>(&socket, name, ETHTOOL_GCOALESCE).map(|words| Coalescing {
            receive_us: words[1],
            send_us: words[5],
            is_adaptive: words[10] != 0 || words[11] != 0,
        }),
    })
}

/// Sends one query, whose answer has `WORDS` words, the first of which is the command.
fn ask<const WORDS: usize>(socket: &UdpSocket, name: &str, command: u32) -> Option<[u32; WORDS]> {
    let mut words = [0; WORDS];
    words[0] = command;
    // SAFETY: all fields are integers or a pointer, for which zero is a value.
    let mut request: libc::ifreq = unsafe { std::mem::zeroed() };
    if name.len() >= request.ifr_name.len() {
        return None;
    }
    for (to, from) in request.ifr_name.iter_mut().zip(name.bytes()) {
        *to = c_char::from_ne_bytes([from]);
    }
    request.ifr_ifru.ifru_data = words.as_mut_ptr().cast();
    // SAFETY: the request names a live array of as many words as the kernel fills for the command.
    let result =
        unsafe { libc::ioctl(socket.as_raw_fd(), fit(libc::SIOCETHTOOL), &raw mut request) };
    (result == 0).then_some(words)
}
