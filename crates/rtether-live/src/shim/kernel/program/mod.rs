//! The programs at the device's `clsact` hooks, written from the same table and rules that
//! [`rtether_proto::endnode::Classifier`] is made of.
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
//! The egress program follows as many tags and extension headers as the parser does; the test
//! compares both on arbitrary frames, by running the program in the kernel. Frames that contradict
//! themselves are counted by reason and keep the class that was found up to there.
//!
//! The kernel keeps the outermost tag of a frame beside its octets if the device can write it
//! itself; the program looks there first. Both programs leave the decision about the frame to the
//! filters behind them.

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

/// What the egress program decides by.
#[derive(Clone, Copy, Debug)]
pub(super) struct Policy<'a> {
    pub(super) table: &'a PriorityTable,
    pub(super) rules: &'a [Rule],
    pub(super) icmp_unclassified: bool,
    /// Which packets are real-time; `None` without a smoother.
    pub(super) real_time: Option<smoother::Rule>,
    /// Transmit queues; a higher class uses the highest.
    pub(super) queues: u8,
    pub(super) tags: Tags,
}

/// Well-formed frames, then malformed ones by reason, then those for whose tag there was no memory.
pub(super) type Counts = Numbers<{ REASONS + 2 }>;
pub(super) const REASONS: usize = MalformedReason::ALL.len();
/// Position in the counts.
pub(super) const UNTAGGED: usize = REASONS + 1;

/// Registers that calls leave alone.
const PACKET: u8 = 6;
/// While headers are read: where; then the class.
const OFFSET: u8 = 7;
/// What is wrong with the frame; 0 for nothing.
const REASON: u8 = 8;
/// End of the frame, or of the IP packet in it.
const END: u8 = 9;

/// Places in the stack, from its end on downwards. Of a number at a multiple of 8 the kernel
/// remembers what comparisons have told of it, and looks at what follows once for each outcome:
/// seconds for a hundred rules, and too often for more. So none stands there.
const ETHERTYPE: i16 = -4;
/// 4 or 6, 0 for no IP.
const VERSION: i16 = -12;
const TOS: i16 = -20;
const PROTOCOL: i16 = -28;
const SOURCE_PORT: i16 = -36;
const DESTINATION_PORT: i16 = -44;
/// Control information of the outermost tag and [`HAS_TAG`].
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
/// The type of a tag.
const TAG_TYPE: u16 = 0x8100;

/// Returns the program for packets that leave the device.
pub(super) fn egress(policy: &Policy<'_>, counts: &Counts) -> Vec<Instruction> {
    let mut program = Assembler::default();
    program.registers(MOVE, PACKET, 1);
    write_egress(&mut program, policy, counts);
    program.finish()
}

/// Returns the program for packets that come in: counts echoes of marks, and takes tags of this VLAN
/// and of none off.
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

/// Register 6 is the packet.
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

/// Counts the frame by what is wrong with it.
fn count(program: &mut Assembler, counts: &Counts) {
    program.extend(counts.address(1, 0));
    // So that the kernel knows that it stays inside.
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

/// Puts a tag on a frame that has none.
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
