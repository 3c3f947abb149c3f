//! Kernel filter for the frames of a participant, so that no thread is woken for others.
//!
//! One socket receives from all devices. From the wire it accepts frames for the station or the
//! group; from loopback those of participants on the same device of this host, which do not return
//! from the wire. On loopback the source address is made from the device index, so that devices
//! stay separate.
//!
//! ```text
//! from loopback: source = mark of the device, source port is not the own one
//! from the device: destination = own address or the group
//! both: destination port = own port or that of the group
//! ```

use std::io;
use std::os::fd::AsFd;

use crate::option;

/// Octets before the ports.
pub(super) const HEADER: usize = 14;
/// Octets before the message: the header, and source and destination port.
pub(super) const OVERHEAD: usize = HEADER + 4;

/// Instructions of a classic filter (`linux/bpf_common.h`): load four octets, two octets, or the
/// length of the frame; jump if equal, if greater or equal.
const WORD: u16 = 0x20;
const HALF: u16 = 0x28;
const LENGTH: u16 = 0x80;
const IF_EQUAL: u16 = 0x15;
const UNLESS_BELOW: u16 = 0x35;
const RETURN: u16 = 0x06;
/// Offset of the device index (`linux/filter.h`: `SKF_AD_OFF` and `SKF_AD_IFINDEX`).
const DEVICE: u32 = 0xFFFF_F008;
const ALL: u32 = u32::MAX;
/// Octets of a datagram that a filter sees before its content.
const UDP_HEADER: u32 = 8;

/// Frames to accept.
#[derive(Clone, Copy, Debug)]
pub(super) struct Sieve {
    pub(super) device: u32,
    pub(super) loopback: u32,
    pub(super) own: [u8; 6],
    pub(super) own_port: u16,
    /// Group and its port; own address and port if the group is not joined.
    pub(super) group: [u8; 6],
    pub(super) group_port: u16,
}

/// Returns the source address of frames on loopback: locally administered, not that of a station.
pub(super) fn mark(device: u32) -> [u8; 6] {
    let [a, b, c, d] = device.to_be_bytes();
    [2, 0, a, b, c, d]
}

fn halves(address: [u8; 6]) -> (u32, u32) {
    let [upper @ .., low, lowest] = address;
    (u32::from_be_bytes(upper), u32::from(u16::from_be_bytes([low, lowest])))
}

const fn load(code: u16, at: u32) -> libc::sock_filter {
    step(code, at, 0, 0)
}

/// Skips `yes` instructions if the condition holds, otherwise `no`.
const fn step(code: u16, k: u32, yes: u8, no: u8) -> libc::sock_filter {
    libc::sock_filter { code, jt: yes, jf: no, k }
}

impl Sieve {
    fn program(&self) -> [libc::sock_filter; 23] {
        let (own, own_end) = halves(self.own);
        let (group, group_end) = halves(self.group);
        let (mark, mark_end) = halves(mark(self.device));
        let (own_port, group_port) = (u32::from(self.own_port), u32::from(self.group_port));
        let message = u32::try_from(OVERHEAD).unwrap_or(0);
        [
            load(WORD, DEVICE),
            step(IF_EQUAL, self.loopback, 10, 0), // to 12
            step(IF_EQUAL, self.device, 0, 18),   // else drop
            load(LENGTH, 0),
            // Frames that end before the message are accepted, to be counted as malformed.
            step(UNLESS_BELOW, message, 0, 17),
            load(WORD, 0),
            step(IF_EQUAL, own, 0, 2), // else to 9
            load(HALF, 4),
            step(IF_EQUAL, own_end, 9, 12), // to 18, else drop
            step(IF_EQUAL, group, 0, 11),
            load(HALF, 4),
            step(IF_EQUAL, group_end, 6, 9), // to 18, else drop
            // 12: loopback
            load(WORD, 6),
            step(IF_EQUAL, mark, 0, 7),
            load(HALF, 10),
            step(IF_EQUAL, mark_end, 0, 5),
            load(HALF, 14),
            step(IF_EQUAL, own_port, 3, 0),
            // 18: both
            load(HALF, 16),
            step(IF_EQUAL, own_port, 2, 0),
            step(IF_EQUAL, group_port, 1, 0),
            // 21: drop, 22: accept
            step(RETURN, 0, 0, 0),
            step(RETURN, ALL, 0, 0),
        ]
    }

    /// Attaches the filter to a socket.
    pub(super) fn attach(&self, socket: &impl AsFd) -> io::Result<()> {
        attach(socket, &mut self.program())
    }
}

/// Makes a UDP socket accept only datagrams that arrived over one of two devices. Of others only
/// the header is kept, so that an empty datagram remains that can be counted.
///
/// A socket bound to a device (`SO_BINDTODEVICE`) would not receive from participants of its own
/// host, whose datagrams arrive over loopback.
pub(super) fn only_from(socket: &impl AsFd, devices: [u32; 2]) -> io::Result<()> {
    let mut program = [
        load(WORD, DEVICE),
        step(IF_EQUAL, devices[0], 1, 0),
        step(IF_EQUAL, devices[1], 0, 1),
        step(RETURN, ALL, 0, 0),
        step(RETURN, UDP_HEADER, 0, 0),
    ];
    attach(socket, &mut program)
}

fn attach(socket: &impl AsFd, program: &mut [libc::sock_filter]) -> io::Result<()> {
    let program = libc::sock_fprog {
        len: u16::try_from(program.len()).unwrap_or(0),
        filter: program.as_mut_ptr(),
    };
    option::set(socket, libc::SOL_SOCKET, libc::SO_ATTACH_FILTER, &program)
}
