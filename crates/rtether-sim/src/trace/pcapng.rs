//! pcapng writer: section header, interface and enhanced packet blocks.
//!
//! Format: draft-ietf-opsawg-pcapng, sections 4.1 to 4.3, version 1.0, little endian. Blocks are
//! appended to a buffer of the caller, which may write it out and clear it at any time; the file is
//! the concatenation. Times count nanoseconds since the start of the run, shown by most tools as
//! 1970-01-01; they are rounded down from picoseconds.

use alloc::vec::Vec;

use rtether_model::quantity::{BitRate, Instant};

/// Block types (section 4).
const SECTION_HEADER: u32 = 0x0A0D_0D0A;
const INTERFACE_DESCRIPTION: u32 = 1;
const ENHANCED_PACKET: u32 = 6;
/// Tells the reader the byte order (section 4.1).
const BYTE_ORDER_MAGIC: u32 = 0x1A2B_3C4D;
/// The length of the section is not known in advance (section 4.1).
const UNKNOWN_LENGTH: u64 = u64::MAX;
/// Ethernet, in the registry of link types.
const LINKTYPE_ETHERNET: u16 = 1;
/// Options (sections 3.5, 4.1 and 4.2).
const OPTION_END: u16 = 0;
const SHB_USERAPPL: u16 = 4;
const IF_NAME: u16 = 2;
const IF_SPEED: u16 = 8;
const IF_TSRESOL: u16 = 9;
/// Resolution of timestamps: 10^-9 s.
const NANOSECONDS: u8 = 9;

/// An interface of a capture, in order of declaration.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct InterfaceId(u32);

/// A capture being written; holds only the number of interfaces.
#[derive(Clone, Debug)]
pub struct Capture {
    interfaces: u32,
}

impl Capture {
    /// Starts a capture: appends the section header.
    pub fn begin(out: &mut Vec<u8>) -> Self {
        block(out, SECTION_HEADER, |out| {
            out.extend(BYTE_ORDER_MAGIC.to_le_bytes());
            // Version 1.0.
            out.extend(1_u16.to_le_bytes());
            out.extend(0_u16.to_le_bytes());
            out.extend(UNKNOWN_LENGTH.to_le_bytes());
            option(out, SHB_USERAPPL, b"rtether");
            option(out, OPTION_END, &[]);
        });
        Self { interfaces: 0 }
    }

    /// Declares an interface of `speed`, usually a port; `name` is truncated to 65535 octets.
    pub fn add_interface(&mut self, out: &mut Vec<u8>, name: &str, speed: BitRate) -> InterfaceId {
        block(out, INTERFACE_DESCRIPTION, |out| {
            out.extend(LINKTYPE_ETHERNET.to_le_bytes());
            // Reserved; then snapshot length zero: no limit on the length of packets.
            out.extend(0_u16.to_le_bytes());
            out.extend(0_u32.to_le_bytes());
            option(out, IF_NAME, name.as_bytes());
            option(out, IF_SPEED, &speed.as_bps().to_le_bytes());
            option(out, IF_TSRESOL, &[NANOSECONDS]);
            option(out, OPTION_END, &[]);
        });
        let id = InterfaceId(self.interfaces);
        self.interfaces += 1;
        id
    }

    /// Appends `frame`, addresses to payload without FCS, as seen on `interface` at `at`.
    ///
    /// A time before the start of the run is written as the start.
    ///
    /// # Panics
    /// If the frame has 4 GiB or more.
    pub fn add_frame(&self, out: &mut Vec<u8>, interface: InterfaceId, at: Instant, frame: &[u8]) {
        let ns = u64::try_from(at.since_start().as_ns_floor()).unwrap_or(0);
        self.add_frame_at(out, interface, ns, frame);
    }

    /// Like [`Capture::add_frame`], with the time in nanoseconds since the epoch of the capture;
    /// 1970-01-01 for real-time clocks.
    ///
    /// # Panics
    /// If the frame has 4 GiB or more.
    pub fn add_frame_at(&self, out: &mut Vec<u8>, interface: InterfaceId, ns: u64, frame: &[u8]) {
        debug_assert!(interface.0 < self.interfaces, "an interface of another capture");
        let [b0, b1, b2, b3, high @ ..] = ns.to_le_bytes();
        let length = u32::try_from(frame.len()).expect("a frame under 4 GiB").to_le_bytes();
        block(out, ENHANCED_PACKET, |out| {
            out.extend(interface.0.to_le_bytes());
            // The upper half comes first, each half little endian (section 4.3).
            out.extend(high);
            out.extend([b0, b1, b2, b3]);
            // Captured length, original length.
            out.extend(length);
            out.extend(length);
            out.extend(frame);
            pad(out, frame.len());
        });
    }
}

/// Appends a block with its length at both ends (section 3.1).
fn block(out: &mut Vec<u8>, kind: u32, body: impl FnOnce(&mut Vec<u8>)) {
    let start = out.len();
    out.extend(kind.to_le_bytes());
    out.extend([0; 4]);
    body(out);
    let length = u32::try_from(out.len() - start + 4).expect("a block under 4 GiB").to_le_bytes();
    out[start + 4..start + 8].copy_from_slice(&length);
    out.extend(length);
}

/// Appends an option (section 3.5).
fn option(out: &mut Vec<u8>, code: u16, value: &[u8]) {
    let length = u16::try_from(value.len()).unwrap_or(u16::MAX);
    let value = &value[..usize::from(length)];
    out.extend(code.to_le_bytes());
    out.extend(length.to_le_bytes());
    out.extend(value);
    pad(out, value.len());
}

/// Pads to a multiple of four octets after `length`.
fn pad(out: &mut Vec<u8>, length: usize) {
    out.extend(core::iter::repeat_n(0, length.next_multiple_of(4) - length));
}

#[cfg(test)]
mod tests {
    use super::*;
    use rtether_model::quantity::Duration;

    #[test]
    fn a_capture_octet_by_octet() {
        let mut out = Vec::new();
        let mut capture = Capture::begin(&mut out);
        #[rustfmt::skip]
        let section = [
            0x0A, 0x0D, 0x0D, 0x0A, 44, 0, 0, 0, 0x4D, 0x3C, 0x2B, 0x1A, 1, 0, 0, 0,
            0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF,
            4, 0, 7, 0, b'r', b't', b'e', b't', b'h', b'e', b'r', 0, 0, 0, 0, 0,
            44, 0, 0, 0,
        ];
        assert_eq!(out, section);

        out.clear();
        let id = capture.add_interface(&mut out, "sw1/2", BitRate::from_mbps(100));
        #[rustfmt::skip]
        let interface = [
            1, 0, 0, 0, 56, 0, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0,
            2, 0, 5, 0, b's', b'w', b'1', b'/', b'2', 0, 0, 0,
            8, 0, 8, 0, 0x00, 0xE1, 0xF5, 0x05, 0, 0, 0, 0,
            9, 0, 1, 0, 9, 0, 0, 0, 0, 0, 0, 0,
            56, 0, 0, 0,
        ];
        assert_eq!(out, interface);

        out.clear();
        // 5 s = 5e9 ns = 0x1_2A05_F200; the picoseconds are cut off.
        let at = Instant::ZERO + Duration::from_secs(5) + Duration::from_ps(999);
        capture.add_frame(&mut out, id, at, &[0xAA, 0xBB, 0xCC, 0xDD, 0xEE]);
        #[rustfmt::skip]
        let packet = [
            6, 0, 0, 0, 40, 0, 0, 0, 0, 0, 0, 0,
            1, 0, 0, 0, 0x00, 0xF2, 0x05, 0x2A, 5, 0, 0, 0, 5, 0, 0, 0,
            0xAA, 0xBB, 0xCC, 0xDD, 0xEE, 0, 0, 0,
            40, 0, 0, 0,
        ];
        assert_eq!(out, packet);
    }

    #[test]
    fn interfaces_are_numbered_in_order() {
        let mut out = Vec::new();
        let mut capture = Capture::begin(&mut out);
        let ids = ["a", "b"].map(|name| capture.add_interface(&mut out, name, BitRate::default()));
        assert_eq!(ids, [InterfaceId(0), InterfaceId(1)]);
        assert_eq!(out.len() % 4, 0);
    }
}
