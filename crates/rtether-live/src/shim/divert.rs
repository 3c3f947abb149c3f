//! Filters that divert the frames of a device through the shim while it is alive.
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
//! Frames that the shim itself sends out of DEV bypass its egress filter (`PACKET_QDISC_BYPASS`).
//! "Pass" means that later filters still run. The shim is alive if it has written the time into a
//! map within the last [`FRESH`]; if it hangs or is killed, the device works as before after that
//! time, even if the filters are still attached.

use std::io;
use std::os::fd::OwnedFd;
use std::path::Path;

use rtether_model::network::Vid;
use rtether_model::quantity::Duration;

use super::status::Directions;
use super::strip::{self, GO_ON};
use crate::bpf::{
    self, ATOMIC_ADD_64, CALL, EXIT, Instruction, JUMP_IF_OTHER, JUMP_IF_VALUE_GREATER, LOAD_32,
    LOAD_64, MOVE_VALUE, Numbers, ProgramType, STORE_VALUE_32, SUBTRACT, in_frame, op,
};
use crate::emulator::COLLISION_ETHERTYPE;

/// A sign of life is valid for this long.
pub(super) const FRESH: Duration = Duration::from_ms(250);

/// Mark of frames that come back from the shim: `rthe`.
const MARK: i32 = 0x7274_6865;
/// Offsets in `struct __sk_buff`.
const SKB_MARK: i16 = 8;
const SKB_PROTOCOL: i16 = 16;
/// Numbers of helper functions (`enum bpf_func_id`).
const TIME_NS: i32 = 5;
const REDIRECT: i32 = 23;
/// Redirect flag: into the device instead of out of it.
const INTO: i32 = 1;

/// The maps that the filter programs share with the shim.
#[derive(Debug)]
pub(super) struct Diversion {
    alive: Numbers<1>,
    /// Frames diverted and passed, in each direction.
    counts: Numbers<4>,
}

/// Positions in `counts`.
#[derive(Clone, Copy)]
enum Way {
    Transmit = 0,
    Receive = 2,
}

impl Diversion {
    /// Creates the maps; the shim does not count as alive yet.
    pub(super) fn new() -> io::Result<Self> {
        Ok(Self { alive: Numbers::new()?, counts: Numbers::new()? })
    }

    /// Gives a sign of life.
    pub(super) fn beat(&self) -> io::Result<()> {
        self.alive.set(&[now_ns()])
    }

    /// Lets all frames pass from now on.
    pub(super) fn end(&self) -> io::Result<()> {
        self.alive.set(&[0])
    }

    /// Returns how many frames were diverted and how many were passed instead.
    pub(super) fn counts(&self) -> io::Result<[Directions; 2]> {
        let [out, passed_out, into, passed_in] = self.counts.get()?;
        let both = |transmit, receive| Directions { transmit, receive };
        Ok([both(out, into), both(passed_out, passed_in)])
    }

    /// Pins the program for the device's egress, which redirects frames to device number `to`.
    pub(super) fn pin_from_stack(&self, path: &Path, to: i32) -> io::Result<()> {
        pin(path, &self.divert(Way::Transmit, to))
    }

    /// Pins the program for the device's ingress.
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
        program.push(op(LOAD_64, 7, 7, 0, 0)); //   clock, so that it is not later
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

/// Pins the program for the ingress of `rtr`: frames written there appear as received by device
/// number `device`.
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

/// Pins the ingress program that removes tags of this VLAN and priority tags.
pub(super) fn pin_strip(path: &Path, vid: Vid) -> io::Result<()> {
    pin(path, &strip::program(vid))
}

fn pin(path: &Path, program: &[Instruction]) -> io::Result<()> {
    let loaded: OwnedFd = bpf::load(ProgramType::Classifier, program)?;
    bpf::pin(&loaded, path)
}

/// Returns the monotonic clock, the same as `bpf_ktime_get_ns`.
fn now_ns() -> u64 {
    let mut now = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    // SAFETY: the pointer is to a live value, which the kernel fills in; this clock always exists.
    unsafe { libc::clock_gettime(libc::CLOCK_MONOTONIC, &raw mut now) };
    let [seconds, ns] = [now.tv_sec, now.tv_nsec].map(|part| u64::try_from(part).unwrap_or(0));
    seconds * 1_000_000_000 + ns
}
