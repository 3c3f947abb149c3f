//! Filters that send the frames of a device through the shim while it is alive.
//!
//! ```text
//! egress of DEV:    alive? redirect to the TAP `rts`: from the stack
//!                   else pass
//! ingress of DEV:   marked by us? take the mark off and pass
//!                   a report of a hub? pass
//!                   alive? redirect to the TAP `rtr`: from the wire
//!                   else pass
//! ingress of `rtr`: mark, and redirect to the ingress of DEV: received
//! ```
//!
//! What we send out of DEV ourselves does not pass its egress filter (`PACKET_QDISC_BYPASS`). To
//! pass is to go on with other filters, not to end them. Alive is who has written the time into a
//! map within the last [`FRESH`]: a shim that hangs, or is killed, leaves the device as it was after
//! that time, whatever becomes of the filters.

use std::io;
use std::os::fd::OwnedFd;
use std::path::Path;

use rtether_model::network::Vid;
use rtether_model::quantity::Duration;

use super::status::Directions;
use super::strip::{self, GO_ON};
use crate::bpf::{
    self, ATOMIC_ADD_64, CALL, EXIT, Instruction, JUMP_IF_OTHER, JUMP_IF_VALUE_GREATER, Kind,
    LOAD_32, LOAD_64, MOVE_VALUE, Numbers, STORE_VALUE_32, SUBTRACT, in_frame, op,
};
use crate::emulator::COLLISION_ETHERTYPE;

/// A sign of life counts for so long.
pub(super) const FRESH: Duration = Duration::from_ms(250);

/// Marks what comes back from the shim: `rthe`.
const MARK: i32 = 0x7274_6865;
/// Offsets in `struct __sk_buff`.
const SKB_MARK: i16 = 8;
const SKB_PROTOCOL: i16 = 16;
/// Numbers of helper functions (`enum bpf_func_id`).
const TIME_NS: i32 = 5;
const REDIRECT: i32 = 23;
/// Flag of a redirection: not out of the device, but into it.
const INTO: i32 = 1;

/// Programs and what they share with the shim.
#[derive(Debug)]
pub(super) struct Diversion {
    alive: Numbers<1>,
    /// Frames diverted and passed, from the stack and from the wire.
    counts: Numbers<4>,
}

/// Positions in the counts.
#[derive(Clone, Copy)]
enum Way {
    Transmit = 0,
    Receive = 2,
}

impl Diversion {
    /// Makes the maps; nobody is alive yet.
    pub(super) fn new() -> io::Result<Self> {
        Ok(Self {
            alive: Numbers::new()?,
            counts: Numbers::new()?,
        })
    }

    /// Gives a sign of life.
    pub(super) fn beat(&self) -> io::Result<()> {
        self.alive.set(&[now_ns()])
    }

    /// Lets all frames pass from now on.
    pub(super) fn end(&self) -> io::Result<()> {
        self.alive.set(&[0])
    }

    /// Returns how many frames were diverted, and how many were passed instead.
    pub(super) fn counts(&self) -> io::Result<[Directions; 2]> {
        let [out, passed_out, into, passed_in] = self.counts.get()?;
        let both = |transmit, receive| Directions { transmit, receive };
        Ok([both(out, into), both(passed_out, passed_in)])
    }

    /// Pins the program for the egress of the device: its frames go to the device of this number.
    pub(super) fn pin_from_stack(&self, path: &Path, to: i32) -> io::Result<()> {
        pin(path, &self.divert(Way::Transmit, to))
    }

    /// Pins the program for the ingress of the device.
    pub(super) fn pin_from_wire(&self, path: &Path, to: i32) -> io::Result<()> {
        let mut program = vec![
            op(LOAD_32, 2, 1, SKB_MARK, 0),                            // r2 = mark
            op(JUMP_IF_OTHER, 2, 0, 3, MARK),                          // not ours: see below
            op(STORE_VALUE_32, 1, 0, SKB_MARK, 0),                     // mark = 0
            op(MOVE_VALUE, 0, 0, 0, GO_ON),                            // go on
            op(EXIT, 0, 0, 0, 0),                                      //
            op(LOAD_32, 2, 1, SKB_PROTOCOL, 0),                        // r2 = EtherType
            op(JUMP_IF_OTHER, 2, 0, 2, in_frame(COLLISION_ETHERTYPE)), // no report: see below
            op(MOVE_VALUE, 0, 0, 0, GO_ON),                            // go on
            op(EXIT, 0, 0, 0, 0),                                      //
        ];
        program.extend(self.divert(Way::Receive, to));
        pin(path, &program)
    }

    fn divert(&self, way: Way, to: i32) -> Vec<Instruction> {
        let fresh = i32::try_from(FRESH.as_ps() / 1_000).unwrap_or(i32::MAX);
        let mut program = Vec::with_capacity(24);
        program.extend(self.alive.address(7, 0)); // r7 = last sign of life, read before the
        program.push(op(LOAD_64, 7, 7, 0, 0)); //   clock, lest it be later than that
        program.push(op(CALL, 0, 0, 0, TIME_NS)); // r0 = time
        program.push(op(SUBTRACT, 0, 7, 0, 0)); // r0 = its age
        program.push(op(JUMP_IF_VALUE_GREATER, 0, 0, 8, fresh)); // too old: pass
        program.extend(self.counts.address(1, way as i32)); // one more is diverted
        program.push(op(MOVE_VALUE, 2, 0, 0, 1));
        program.push(op(ATOMIC_ADD_64, 1, 2, 0, 0));
        program.push(op(MOVE_VALUE, 1, 0, 0, to)); // redirect
        program.push(op(MOVE_VALUE, 2, 0, 0, 0));
        program.push(op(CALL, 0, 0, 0, REDIRECT));
        program.push(op(EXIT, 0, 0, 0, 0));
        program.extend(self.counts.address(1, way as i32 + 1)); // pass: one more is passed
        program.push(op(MOVE_VALUE, 2, 0, 0, 1));
        program.push(op(ATOMIC_ADD_64, 1, 2, 0, 0));
        program.push(op(MOVE_VALUE, 0, 0, 0, GO_ON));
        program.push(op(EXIT, 0, 0, 0, 0));
        program
    }
}

/// Pins the program for the ingress of `rtr`: what we write there has been received by the device
/// of this number.
pub(super) fn pin_received(path: &Path, device: i32) -> io::Result<()> {
    let program = [
        op(STORE_VALUE_32, 1, 0, SKB_MARK, MARK), // mark
        op(MOVE_VALUE, 1, 0, 0, device),          // redirect into the device
        op(MOVE_VALUE, 2, 0, 0, INTO),            //
        op(CALL, 0, 0, 0, REDIRECT),              //
        op(EXIT, 0, 0, 0, 0),                     //
    ];
    pin(path, &program)
}

/// Pins a program for the ingress of the device that takes tags of this VLAN and of none off.
pub(super) fn pin_strip(path: &Path, vid: Vid) -> io::Result<()> {
    pin(path, &strip::program(vid))
}

fn pin(path: &Path, program: &[Instruction]) -> io::Result<()> {
    let loaded: OwnedFd = bpf::load(Kind::Classifier, program)?;
    bpf::pin(&loaded, path)
}

/// Returns what `bpf_ktime_get_ns` returns: the monotonic clock.
fn now_ns() -> u64 {
    let mut now = libc::timespec {
        tv_sec: 0,
        tv_nsec: 0,
    };
    // SAFETY: the pointer is to a live value, which the kernel fills in; this clock always exists.
    unsafe { libc::clock_gettime(libc::CLOCK_MONOTONIC, &raw mut now) };
    let [seconds, ns] = [now.tv_sec, now.tv_nsec].map(|part| u64::try_from(part).unwrap_or(0));
    seconds * 1_000_000_000 + ns
}
