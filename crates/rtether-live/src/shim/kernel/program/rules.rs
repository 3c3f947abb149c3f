//! Maps header fields to a class, and the class to a queue.

use std::net::IpAddr;

use rtether_model::endnode::{HeaderMatch, PortRange, Prefix, TosMatch};
use rtether_model::network::Pcp;
use rtether_model::smoother;

use super::super::assembler::{
    ADD, AND_VALUE, Assembler, IF_ABOVE, IF_BELOW, IF_EQUAL, IF_OTHER, IF_OTHER_32, Label,
    SHIFT_LEFT_VALUE, SHIFT_RIGHT, SHIFT_RIGHT_VALUE, STORE_32,
};
use super::super::shape::{self, Treatment};
use super::{
    DESTINATION, DESTINATION_PORT, ETHERTYPE, OFFSET, PACKET, PROTOCOL, Policy, REASON,
    SKB_PRIORITY, SOURCE, SOURCE_PORT, TAG, TOS, VERSION,
};
use crate::bpf::{AND_VALUE_32, LOAD_32, MOVE, op};

/// Register of the class, once headers are read.
const CLASS: u8 = OFFSET;
/// Register of the queue, once the reason is counted.
const QUEUE: u8 = REASON;
const ICMP: i32 = 1;
const ICMP_V6: i32 = 58;

/// Writes the classifier's decision: tag, rules, untagged entry.
pub(super) fn write_class(program: &mut Assembler, policy: &Policy<'_>) {
    let [by_rules, by_default, decided] = [(); 3].map(|()| program.label());
    program.load(LOAD_32, 2, TAG);
    program.jump_if(IF_EQUAL, 2, 0, by_rules);
    program.value(SHIFT_RIGHT_VALUE, 2, 13);
    program.value(AND_VALUE_32, 2, 7);
    let classes = [0, 1, 2, 3, 4, 5, 6, 7].map(|pcp| policy.table.class_of(Pcp::new(pcp)));
    look_up(program, CLASS, 2, classes);
    program.jump(decided);
    program.bind(by_rules);
    if policy.icmp_unclassified {
        let is_none = program.label();
        program.load(LOAD_32, 1, VERSION);
        program.jump_if(IF_EQUAL, 1, 0, is_none);
        program.load(LOAD_32, 1, PROTOCOL);
        program.jump_if(IF_EQUAL, 1, ICMP, by_default);
        program.jump_if(IF_EQUAL, 1, ICMP_V6, by_default);
        program.bind(is_none);
    }
    let mut is_open = true;
    for rule in policy.rules {
        let next = program.label();
        write_match(program, &rule.headers, next);
        program.set(CLASS, rule.class.into());
        program.jump(decided);
        program.bind(next);
        // The verifier rejects unreachable instructions.
        is_open = program.is_target(next);
        if !is_open {
            break;
        }
    }
    program.bind(by_default);
    if is_open || program.is_target(by_default) {
        program.set(CLASS, policy.table.class_of(None).into());
    }
    program.bind(decided);
}

/// Jumps to `next` unless the frame meets the conditions.
fn write_match(program: &mut Assembler, wanted: &HeaderMatch, next: Label) {
    if let Some(ethertype) = wanted.ethertype {
        program.load(LOAD_32, 1, ETHERTYPE);
        // A stored type of 0 means that the frame has none; no frame has type 0.
        let never = if ethertype == 0 { -1 } else { ethertype.into() };
        program.jump_if(IF_OTHER, 1, never, next);
    }
    if wanted.tos.is_some() || wanted.protocol.is_some() {
        program.load(LOAD_32, 1, VERSION);
        program.jump_if(IF_EQUAL, 1, 0, next);
    }
    if let Some(TosMatch { value, mask }) = wanted.tos {
        program.load(LOAD_32, 1, TOS);
        program.value(AND_VALUE, 1, mask.into());
        program.jump_if(IF_OTHER, 1, (value & mask).into(), next);
    }
    if let Some(protocol) = wanted.protocol {
        program.load(LOAD_32, 1, PROTOCOL);
        program.jump_if(IF_OTHER, 1, protocol.into(), next);
    }
    for (prefix, slot) in [(wanted.source, SOURCE), (wanted.destination, DESTINATION)] {
        if let Some(prefix) = prefix {
            write_prefix(program, prefix, slot, next);
        }
    }
    let ports = [(wanted.source_port, SOURCE_PORT), (wanted.destination_port, DESTINATION_PORT)];
    for (range, slot) in ports {
        if let Some(PortRange { first, last }) = range {
            program.load(LOAD_32, 1, slot);
            program.jump_if(IF_BELOW, 1, first.into(), next);
            program.jump_if(IF_ABOVE, 1, last.into(), next);
        }
    }
}

/// Compares the address word by word.
fn write_prefix(program: &mut Assembler, prefix: Prefix, slot: i16, next: Label) {
    let (version, words, wanted) = match prefix.address {
        IpAddr::V4(address) => (4, 1, u128::from(address.to_bits()) << 96),
        IpAddr::V6(address) => (6, 4, address.to_bits()),
    };
    program.load(LOAD_32, 1, VERSION);
    program.jump_if(IF_OTHER, 1, version, next);
    let bits = u32::from(prefix.bits).min(32 * words);
    let mask = !u128::MAX.checked_shr(bits).unwrap_or(0);
    for word in 0..words {
        let shift = 96 - 32 * word;
        let part = |whole: u128| u32::try_from(whole >> shift & 0xFFFF_FFFF).unwrap_or(0);
        let (mask, wanted) = (part(mask), part(wanted & mask));
        if mask == 0 {
            break;
        }
        let at = slot + 4 * i16::try_from(word).unwrap_or(0);
        program.load_big(LOAD_32, 1, at, 32);
        program.value(AND_VALUE_32, 1, mask.cast_signed());
        program.jump_if(IF_OTHER_32, 1, wanted.cast_signed(), next);
    }
}

/// Sets the packet's priority to the HTB class of its queue.
pub(super) fn write_priority(program: &mut Assembler, policy: &Policy<'_>) {
    let is_below = program.label();
    let top = i32::from(policy.queues) - 1;
    program.registers(MOVE, QUEUE, CLASS);
    program.jump_if(IF_BELOW, QUEUE, top, is_below);
    program.set(QUEUE, top);
    program.bind(is_below);
    if let Some(rule) = policy.real_time {
        write_kind(program, rule);
    } else {
        program.set(1, shape::first_of(Treatment::Passing).cast_signed());
    }
    program.registers(ADD, 1, QUEUE);
    program.push(op(STORE_32, PACKET, 1, SKB_PRIORITY, 0));
}

/// Leaves the HTB class of the lowest queue of the packet's kind in register 1.
fn write_kind(program: &mut Assembler, rule: smoother::Rule) {
    let [real_time, done] = [(); 2].map(|()| program.label());
    let set = |program: &mut Assembler, kind| {
        program.set_bits(1, shape::first_of(kind));
    };
    set(program, Treatment::Passing);
    program.load(LOAD_32, 2, VERSION);
    program.jump_if(IF_EQUAL, 2, 0, done);
    match rule {
        smoother::Rule::TypeOfService { mask, values } => {
            program.load(LOAD_32, 2, TOS);
            program.value(AND_VALUE, 2, mask.into());
            for value in values {
                program.jump_if(IF_EQUAL, 2, value.into(), real_time);
            }
        }
        smoother::Rule::Protocol(protocol) => {
            program.load(LOAD_32, 2, PROTOCOL);
            program.jump_if(IF_EQUAL, 2, protocol.into(), real_time);
        }
    }
    set(program, Treatment::Bulk);
    program.jump(done);
    program.bind(real_time);
    set(program, Treatment::RealTime);
    program.bind(done);
}

/// Sets register `to` to the entry of `table`, whose entries are below 16, at the index in register
/// `index`; clobbers `index`.
pub(super) fn look_up(program: &mut Assembler, to: u8, index: u8, table: [u8; 8]) {
    let entries = table.into_iter().rev();
    let packed = entries.fold(0, |packed: u32, entry| packed << 4 | u32::from(entry & 0xF));
    program.value(SHIFT_LEFT_VALUE, index, 2);
    program.set_bits(to, packed);
    program.registers(SHIFT_RIGHT, to, index);
    program.value(AND_VALUE_32, to, 0xF);
}
