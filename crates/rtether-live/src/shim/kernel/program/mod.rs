//! The programs at the device's `clsact` hooks, generated from the same table and rules as
//! [`rtether_proto::endnode::Classifier`].
//!
//! ```text
//! egress:    read the headers, as rtether_proto::endnode::parse does     (headers)
//!            class: tag, else the first rule that matches, else untagged (rules)
//!            priority of the packet = HTB class of its queue
//!            no tag? push one with the priority of its class
//! ingress:   an acknowledgement of TCP? count its octets, and those that echo a mark   (echoes)
//!            a tag of our VLAN or of none? pop it
//! ```
//!
//! The egress program follows as many tags and extension headers as the parser does; a test runs it
//! in the kernel and compares both on arbitrary frames. Malformed frames are counted by reason and
//! classified by the fields read so far.
//!
//! If the device can insert tags itself, the kernel keeps a frame's outermost tag in metadata; the
//! program looks there first. Both programs leave the fate of the frame to the filters after them.

mod echoes;
mod headers;
mod rules;

use rtether_model::endnode::{PriorityTable, Rule};
use rtether_model::network::{Pcp, Vid};
use rtether_model::smoother;
use rtether_proto::endnode::MalformedReason;

use super::assembler::{ADD, AND_VALUE, Assembler, OR_VALUE, SHIFT_LEFT_VALUE};
use crate::bpf::{
    ATOMIC_ADD_64, EXIT, Instruction, JUMP_IF_EQUAL, JUMP_IF_OTHER, LOAD_32, MOVE, Numbers,
    in_frame,
};
use crate::shim::Tags;
use crate::shim::strip::{self, GO_ON};
pub(super) use echoes::Echoes;

/// Configuration of the egress program.
#[derive(Clone, Copy, Debug)]
pub(super) struct Policy<'a> {
    pub(super) table: &'a PriorityTable,
    pub(super) rules: &'a [Rule],
    pub(super) icmp_unclassified: bool,
    /// Which packets are real-time; `None` without a smoother.
    pub(super) real_time: Option<smoother::Rule>,
    /// Number of transmit queues; higher classes use the highest queue.
    pub(super) queues: u8,
    pub(super) tags: Tags,
}

/// Counters: well-formed frames, malformed ones by reason, and frames left untagged for lack of
/// memory.
pub(super) type Counts = Numbers<{ REASONS + 2 }>;
pub(super) const REASONS: usize = MalformedReason::ALL.len();
/// Position of the last of these counters.
pub(super) const UNTAGGED: usize = REASONS + 1;

/// Register of the packet, preserved across calls.
const PACKET: u8 = 6;
/// Position while headers are read; afterwards the class.
const OFFSET: u8 = 7;
/// Why the frame is malformed; 0 if it is not.
const REASON: u8 = 8;
/// End of the frame, or of the IP packet in it.
const END: u8 = 9;

/// Stack slots, from the end of the stack downwards. For a slot at a multiple of 8, the verifier
/// tracks what comparisons reveal about its value and explores the code behind them once per
/// outcome: seconds for a hundred rules, and beyond its limit for more. So no slot is at a multiple
/// of 8.
const ETHERTYPE: i16 = -4;
/// 4 or 6; 0 if the frame is not IP.
const VERSION: i16 = -12;
const TOS: i16 = -20;
const PROTOCOL: i16 = -28;
const SOURCE_PORT: i16 = -36;
const DESTINATION_PORT: i16 = -44;
/// Control information of the outermost tag, with [`HAS_TAG`] set.
const TAG: i16 = -52;
/// 16 octets each.
const SOURCE: i16 = -72;
const DESTINATION: i16 = -88;
/// 40 octets, the longest header.
const BUFFER: i16 = -128;

const HAS_TAG: i32 = 1 << 16;
/// Larger than any port.
const NO_PORT: i32 = 1 << 16;

/// Offsets in `struct __sk_buff`.
const SKB_LEN: i16 = 0;
const SKB_VLAN_PRESENT: i16 = 20;
const SKB_VLAN_TCI: i16 = 24;
const SKB_PRIORITY: i16 = 32;
/// Numbers of helper functions (`enum bpf_func_id`).
const VLAN_PUSH: i32 = 18;
const LOAD_BYTES: i32 = 26;
/// EtherType of a tag.
const TAG_TYPE: u16 = 0x8100;

/// Returns the program for outgoing packets.
pub(super) fn egress(policy: &Policy<'_>, counts: &Counts) -> Vec<Instruction> {
    let mut program = Assembler::default();
    program.registers(MOVE, PACKET, 1);
    write_egress(&mut program, policy, counts);
    program.finish()
}

/// Returns the program for incoming packets: counts echoes of marks, and removes tags of this VLAN
/// and priority tags.
pub(super) fn ingress(echoes: Option<&Echoes>, strip: Option<Vid>) -> Vec<Instruction> {
    let mut program = Assembler::default();
    if let Some(echoes) = echoes {
        echoes::write(&mut program, echoes);
    }
    if let Some(vid) = strip {
        program.extend(strip::program(vid));
    } else {
        program.set(0, GO_ON);
        program.value(EXIT, 0, 0);
    }
    program.finish()
}

/// Register 6 holds the packet.
fn write_egress(program: &mut Assembler, policy: &Policy<'_>, counts: &Counts) {
    let classify = program.label();
    headers::write(program, classify);
    program.bind(classify);
    count(program, counts);
    rules::write_class(program, policy);
    rules::write_priority(program, policy);
    if let Some(priorities) = policy.tags.insert {
        push_tag(program, priorities.map(Pcp::get), policy.tags.vid, counts);
    }
    program.set(0, GO_ON);
    program.value(EXIT, 0, 0);
}

/// Counts the frame by its reason.
fn count(program: &mut Assembler, counts: &Counts) {
    program.extend(counts.address(1, 0));
    // Bounds the index for the verifier.
    program.value(AND_VALUE, REASON, 15);
    program.value(SHIFT_LEFT_VALUE, REASON, 3);
    program.registers(ADD, 1, REASON);
    program.set(2, 1);
    program.registers(ATOMIC_ADD_64, 1, 2);
}

fn add_one(program: &mut Assembler, counts: &Counts, index: usize) {
    program.extend(counts.address(1, i32::try_from(index).unwrap_or(0)));
    program.set(2, 1);
    program.registers(ATOMIC_ADD_64, 1, 2);
}

/// Tags an untagged frame.
fn push_tag(program: &mut Assembler, priorities: [u8; 8], vid: Vid, counts: &Counts) {
    let done = program.label();
    program.load(LOAD_32, 1, TAG);
    program.jump_if(JUMP_IF_OTHER, 1, 0, done);
    rules::look_up(program, 3, OFFSET, priorities);
    program.value(SHIFT_LEFT_VALUE, 3, 13);
    program.value(OR_VALUE, 3, vid.get().into());
    program.registers(MOVE, 1, PACKET);
    program.set(2, in_frame(TAG_TYPE));
    program.call(VLAN_PUSH);
    program.jump_if(JUMP_IF_EQUAL, 0, 0, done);
    add_one(program, counts, UNTAGGED);
    program.bind(done);
}

#[cfg(test)]
mod tests;
