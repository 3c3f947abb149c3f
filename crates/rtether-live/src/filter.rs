//! Two small programs for the kernel's packet filter (eBPF) that push IEEE 802.1Q tags on packets
//! of ordinary sockets and pop them, on hosts without VLAN devices.
//!
//! `push` is attached where packets leave a device: a socket priority (`SO_PRIORITY`) of
//! [`TAG_PRIORITY`] or more carries the tag control information in its lower 16 bits. `pop` is
//! attached where packets arrive, since the kernel drops IP packets tagged with a VLAN it does not
//! have. Both are attached by `tc` as direct actions, from their pinned files.

use std::io;
use std::path::Path;

use crate::bpf::{
    self, AND_VALUE_32, CALL, EXIT, Instruction, JUMP_IF_EQUAL, LOAD_32, MOVE, MOVE_VALUE,
    ProgramType, in_frame, op,
};

/// First of the priorities that `push` turns into a tag: the lower 16 bits are the tag control
/// information.
pub const TAG_PRIORITY: u32 = 1 << 31;

/// Offsets in `struct __sk_buff`.
const VLAN_PRESENT: i16 = 20;
const PRIORITY: i16 = 32;
/// Numbers of helper functions (`enum bpf_func_id`).
const VLAN_PUSH: i32 = 18;
const VLAN_POP: i32 = 19;
/// Result that passes a packet to the next filter (`TC_ACT_UNSPEC`).
const GO_ON: i32 = -1;
/// `EtherType` of a tag.
const TAG_TYPE: u16 = 0x8100;

/// Register 1 is the packet at the start, 6 to 9 survive calls; the result passes the packet to the
/// next filter (`TC_ACT_UNSPEC`), which may be that of a shim.
fn push() -> [Instruction; 12] {
    [
        op(MOVE, 6, 1, 0, 0),                        // r6 = packet
        op(LOAD_32, 7, 6, PRIORITY, 0),              // r7 = priority
        op(MOVE, 8, 7, 0, 0),                        // r8 = its highest bit
        op(AND_VALUE_32, 8, 0, 0, i32::MIN),         //
        op(JUMP_IF_EQUAL, 8, 0, 5, 0),               // not set: go on
        op(MOVE, 1, 6, 0, 0),                        // r1 = packet
        op(MOVE_VALUE, 2, 0, 0, in_frame(TAG_TYPE)), // r2 = type of a tag
        op(MOVE, 3, 7, 0, 0),                        // r3 = control information
        op(AND_VALUE_32, 3, 0, 0, 0xFFFF),           //
        op(CALL, 0, 0, 0, VLAN_PUSH),                //
        op(MOVE_VALUE, 0, 0, 0, GO_ON),              // go on
        op(EXIT, 0, 0, 0, 0),                        //
    ]
}

fn pop() -> [Instruction; 5] {
    [
        op(LOAD_32, 2, 1, VLAN_PRESENT, 0), // r2 = whether there is a tag
        op(JUMP_IF_EQUAL, 2, 0, 1, 0),      // none: go on
        op(CALL, 0, 0, 0, VLAN_POP),        //
        op(MOVE_VALUE, 0, 0, 0, GO_ON),     // go on
        op(EXIT, 0, 0, 0, 0),               //
    ]
}

/// Names under which the two programs are pinned, and by which a shim recognizes filters that it
/// tolerates beside its own: `push` before its own, so that it sees the tag, `pop` after.
pub const PUSH: &str = "rtether-tag-push";
/// See [`PUSH`].
pub const POP: &str = "rtether-tag-pop";
/// Common prefix of both names.
pub(crate) const NAMES: &str = "rtether-tag-";

/// Loads both programs and pins them as [`PUSH`] and [`POP`] in a folder of a `bpf` file system.
///
/// # Errors
/// If the kernel refuses a program, for lack of `CAP_BPF` or `CAP_NET_ADMIN` or of support for such
/// filters.
pub fn pin(folder: &Path) -> io::Result<()> {
    for (name, program) in [(PUSH, &push()[..]), (POP, &pop()[..])] {
        let loaded = bpf::load(ProgramType::Classifier, program)?;
        bpf::pin(&loaded, &folder.join(name))?;
    }
    Ok(())
}
