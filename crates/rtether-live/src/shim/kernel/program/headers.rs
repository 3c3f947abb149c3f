//! Reads the headers of a frame into the stack, in the same steps as
//! `rtether_proto::endnode::parse`.
//!
//! On a malformed frame, the fields read so far are kept.

use rtether_proto::endnode::{MAX_EXTENSIONS, MAX_TAGS, MalformedReason};

use super::super::assembler::{
    ADD, Assembler, IF_BELOW, IF_EQUAL, IF_OTHER, IF_REGISTER_ABOVE, LOAD_8, Label, OR, OR_VALUE,
    SHIFT_LEFT_VALUE, SHIFT_RIGHT_VALUE, STORE_32,
};
use super::{
    BUFFER, DESTINATION, DESTINATION_PORT, END, ETHERTYPE, HAS_TAG, LOAD_BYTES, NO_PORT, OFFSET,
    PACKET, PROTOCOL, REASON, SKB_LEN, SKB_VLAN_PRESENT, SKB_VLAN_TCI, SOURCE, SOURCE_PORT, TAG,
    TOS, VERSION,
};
use crate::bpf::{ADD_VALUE, AND_VALUE_32, LOAD_16, LOAD_32, MOVE, op};

/// Length of the two MAC addresses.
const ADDRESSES: i32 = 12;
/// IEEE 802.3-2022, 3.2.6.
const MAX_LENGTH: i32 = 1500;
const MIN_ETHERTYPE: i32 = 1536;
const TAGS: [i32; 2] = [0x8100, 0x88A8];
const IPV4: i32 = 0x0800;
const IPV6: i32 = 0x86DD;
const RESERVED_VID: i32 = 0x0FFF;
/// IANA: hop-by-hop, routing, fragment, authentication, destination options, mobility, host
/// identity and shim6.
const EXTENSIONS: [i32; 8] = [HOP_BY_HOP, 43, FRAGMENT, AUTHENTICATION, 60, 135, 139, 140];
const HOP_BY_HOP: i32 = 0;
const FRAGMENT: i32 = 44;
const AUTHENTICATION: i32 = 51;
/// TCP, UDP, DCCP, SCTP and UDP-Lite begin with two ports.
const WITH_PORTS: [i32; 5] = [6, 17, 33, 132, 136];

/// Writes the parser, which continues at `done` with the reason set.
pub(super) fn write(program: &mut Assembler, done: Label) {
    let [ip_v4, ip_v6, ports] = [(); 3].map(|()| program.label());
    clear(program);
    program.push(op(LOAD_32, END, PACKET, SKB_LEN, 0));
    tags(program, done);
    // Register 5 holds the type.
    program.value(ADD_VALUE, OFFSET, 2);
    no_reason(program);
    program.jump_if(IF_BELOW, 5, MAX_LENGTH + 1, done);
    reason(program, MalformedReason::UndefinedType);
    program.jump_if(IF_BELOW, 5, MIN_ETHERTYPE, done);
    program.store(STORE_32, ETHERTYPE, 5);
    no_reason(program);
    program.jump_if(IF_EQUAL, 5, IPV4, ip_v4);
    program.jump_if(IF_OTHER, 5, IPV6, done);
    program.bind(ip_v6);
    read_ipv6(program, ports, done);
    program.bind(ip_v4);
    read_ipv4(program, ports, done);
    program.bind(ports);
    read_ports(program, done);
}

/// Clears all fields.
fn clear(program: &mut Assembler) {
    program.set(1, 0);
    for slot in [ETHERTYPE, VERSION, TOS, PROTOCOL, TAG] {
        program.store(STORE_32, slot, 1);
    }
    for address in [SOURCE, DESTINATION] {
        for word in 0..4 {
            program.store(STORE_32, address + 4 * word, 1);
        }
    }
    program.set(1, NO_PORT);
    for slot in [SOURCE_PORT, DESTINATION_PORT] {
        program.store(STORE_32, slot, 1);
    }
}

/// Reads the tags, and leaves the type behind them in register 5 and its position in the offset.
fn tags(program: &mut Assembler, done: Label) {
    let no_more = program.label();
    let counted = [(); MAX_TAGS + 1].map(|()| program.label());
    program.set(OFFSET, ADDRESSES);
    read(program, 2, MalformedReason::ShortFrame, done);
    program.load_big(LOAD_16, 5, BUFFER, 16);
    // The kernel may have moved the outermost tag into the packet's metadata.
    program.push(op(LOAD_32, 1, PACKET, SKB_VLAN_PRESENT, 0));
    program.jump_if(IF_EQUAL, 1, 0, counted[0]);
    program.push(op(LOAD_32, 1, PACKET, SKB_VLAN_TCI, 0));
    keep_tag(program, true, done);
    program.jump(counted[1]);
    for (number, &label) in counted.iter().enumerate() {
        let is_tag = program.label();
        program.bind(label);
        program.jump_if(IF_EQUAL, 5, TAGS[0], is_tag);
        program.jump_if(IF_OTHER, 5, TAGS[1], no_more);
        program.bind(is_tag);
        if number == MAX_TAGS {
            reason(program, MalformedReason::TooManyTags);
            program.jump(done);
            break;
        }
        read(program, 6, MalformedReason::ShortTag, done);
        program.load_big(LOAD_16, 1, BUFFER + 2, 16);
        keep_tag(program, number == 0, done);
        program.value(ADD_VALUE, OFFSET, 4);
        program.load_big(LOAD_16, 5, BUFFER + 4, 16);
    }
    program.bind(no_more);
}

/// Checks the tag control information in register 1, and stores it if this is the outermost tag.
fn keep_tag(program: &mut Assembler, is_outermost: bool, done: Label) {
    reason(program, MalformedReason::ReservedVid);
    program.registers(MOVE, 2, 1);
    program.value(AND_VALUE_32, 2, RESERVED_VID);
    program.jump_if(IF_EQUAL, 2, RESERVED_VID, done);
    if is_outermost {
        program.value(OR_VALUE, 1, HAS_TAG);
        program.store(STORE_32, TAG, 1);
    }
}

/// Reads the fixed header, and finds the ports unless this is a later fragment.
fn read_ipv4(program: &mut Assembler, ports: Label, done: Label) {
    read(program, 20, MalformedReason::ShortIpHeader, done);
    read_version(program, 4, done);
    program.load(LOAD_8, 2, BUFFER + 1);
    program.store(STORE_32, TOS, 2);
    program.load(LOAD_8, 5, BUFFER + 9);
    program.store(STORE_32, PROTOCOL, 5);
    for (from, to) in [(12, SOURCE), (16, DESTINATION)] {
        program.load(LOAD_32, 2, BUFFER + from);
        program.store(STORE_32, to, 2);
    }
    program.value(AND_VALUE_32, 1, 0x0F);
    program.value(SHIFT_LEFT_VALUE, 1, 2);
    program.load_big(LOAD_16, 2, BUFFER + 2, 16);
    reason(program, MalformedReason::IpHeaderLength);
    program.jump_if(IF_BELOW, 1, 20, done);
    program.jump_if_register(IF_REGISTER_ABOVE, 1, 2, done);
    end_at(program, 2, done);
    program.load_big(LOAD_16, 2, BUFFER + 6, 16);
    program.value(AND_VALUE_32, 2, 0x1FFF);
    program.jump_if(IF_OTHER, 2, 0, done);
    program.registers(ADD, OFFSET, 1);
    program.jump(ports);
}

/// Reads the fixed header and the extension headers.
fn read_ipv6(program: &mut Assembler, ports: Label, done: Label) {
    let extensions = program.label();
    read(program, 40, MalformedReason::ShortIpHeader, done);
    read_version(program, 6, done);
    program.load_big(LOAD_16, 2, BUFFER, 16);
    program.value(SHIFT_RIGHT_VALUE, 2, 4);
    program.value(AND_VALUE_32, 2, 0xFF);
    program.store(STORE_32, TOS, 2);
    program.load(LOAD_8, 5, BUFFER + 6);
    for (from, to) in [(8, SOURCE), (24, DESTINATION)] {
        for word in 0..4 {
            program.load(LOAD_32, 2, BUFFER + from + 4 * word);
            program.store(STORE_32, to + 4 * word, 2);
        }
    }
    program.value(ADD_VALUE, OFFSET, 40);
    program.load_big(LOAD_16, 2, BUFFER + 4, 16);
    // The protocol is kept even if the length is wrong.
    program.store(STORE_32, PROTOCOL, 5);
    program.registers(MOVE, 3, 2);
    program.registers(OR, 3, 5);
    // Length 0 with hop-by-hop options (protocol 0): a jumbogram, which extends to the end of the
    // frame.
    program.jump_if(IF_EQUAL, 3, HOP_BY_HOP, extensions);
    end_at(program, 2, done);
    program.bind(extensions);
    for _ in 0..=MAX_EXTENSIONS {
        skip_extension(program, ports, done);
    }
    reason(program, MalformedReason::TooManyExtensions);
    program.jump(done);
}

/// Jumps to `ports` unless the protocol in register 5 is an extension header; otherwise skips the
/// header and leaves the next protocol in register 5.
fn skip_extension(program: &mut Assembler, ports: Label, done: Label) {
    let [is_extension, fragment, authentication, skipped] = [(); 4].map(|()| program.label());
    program.store(STORE_32, PROTOCOL, 5);
    for number in EXTENSIONS {
        program.jump_if(IF_EQUAL, 5, number, is_extension);
    }
    program.jump(ports);
    program.bind(is_extension);
    within(program, 8, MalformedReason::ShortExtension, done);
    read(program, 8, MalformedReason::ShortExtension, done);
    program.load(LOAD_32, 1, PROTOCOL);
    program.load(LOAD_8, 5, BUFFER);
    program.load(LOAD_8, 2, BUFFER + 1);
    program.jump_if(IF_EQUAL, 1, FRAGMENT, fragment);
    program.jump_if(IF_EQUAL, 1, AUTHENTICATION, authentication);
    program.value(ADD_VALUE, 2, 1);
    program.value(SHIFT_LEFT_VALUE, 2, 3);
    program.jump(skipped);
    program.bind(authentication);
    program.value(ADD_VALUE, 2, 2);
    program.value(SHIFT_LEFT_VALUE, 2, 2);
    program.jump(skipped);
    program.bind(fragment);
    program.load_big(LOAD_16, 3, BUFFER + 2, 16);
    program.value(AND_VALUE_32, 3, 0xFFF8);
    program.set(2, 8);
    program.jump_if(IF_EQUAL, 3, 0, skipped);
    // Only the first fragment carries the headers behind this one.
    program.store(STORE_32, PROTOCOL, 5);
    no_reason(program);
    program.jump(done);
    program.bind(skipped);
    program.registers(ADD, OFFSET, 2);
    program.jump_if_register(IF_REGISTER_ABOVE, OFFSET, END, done);
}

/// Reads the ports at the offset, if the protocol in register 5 has ports.
fn read_ports(program: &mut Assembler, done: Label) {
    let has_ports = program.label();
    for number in WITH_PORTS {
        program.jump_if(IF_EQUAL, 5, number, has_ports);
    }
    no_reason(program);
    program.jump(done);
    program.bind(has_ports);
    within(program, 4, MalformedReason::ShortPorts, done);
    read(program, 4, MalformedReason::ShortPorts, done);
    for (from, to) in [(0, SOURCE_PORT), (2, DESTINATION_PORT)] {
        program.load_big(LOAD_16, 1, BUFFER + from, 16);
        program.store(STORE_32, to, 1);
    }
    no_reason(program);
}

/// Checks and stores the IP version; leaves the first octet in register 1.
fn read_version(program: &mut Assembler, version: i32, done: Label) {
    program.load(LOAD_8, 1, BUFFER);
    program.registers(MOVE, 2, 1);
    program.value(SHIFT_RIGHT_VALUE, 2, 4);
    reason(program, MalformedReason::WrongIpVersion);
    program.jump_if(IF_OTHER, 2, version, done);
    program.store(STORE_32, VERSION, 2);
}

/// Ends the packet `length` (a register) octets behind the offset, if the frame is that long.
fn end_at(program: &mut Assembler, length: u8, done: Label) {
    program.registers(MOVE, 3, OFFSET);
    program.registers(ADD, 3, length);
    reason(program, MalformedReason::IpPacketLength);
    program.jump_if_register(IF_REGISTER_ABOVE, 3, END, done);
    program.registers(MOVE, END, 3);
    no_reason(program);
}

/// Checks that the packet has `octets` octets from the offset on.
fn within(program: &mut Assembler, octets: i32, short: MalformedReason, done: Label) {
    program.registers(MOVE, 1, OFFSET);
    program.value(ADD_VALUE, 1, octets);
    reason(program, short);
    program.jump_if_register(IF_REGISTER_ABOVE, 1, END, done);
}

/// Copies octets at the offset into the buffer; clobbers registers 1 to 5.
fn read(program: &mut Assembler, octets: i32, short: MalformedReason, done: Label) {
    program.registers(MOVE, 1, PACKET);
    program.registers(MOVE, 2, OFFSET);
    program.address(3, BUFFER);
    program.set(4, octets);
    program.call(LOAD_BYTES);
    reason(program, short);
    program.jump_if(IF_OTHER, 0, 0, done);
}

/// Sets the reason to report if the next check fails.
fn reason(program: &mut Assembler, reason: MalformedReason) {
    let number = i32::try_from(reason as usize).unwrap_or(0) + 1;
    program.set(REASON, number);
}

fn no_reason(program: &mut Assembler) {
    program.set(REASON, 0);
}
