//! The part of the ingress program that counts the echoes of congestion marks in TCP (RFC 3168,
//! 6.1.3).
//!
//! It matches `echoed_mark` of the other back end: it counts the octets from the IP header to the
//! end of the frame, for segments with ACK and without SYN. It does not look behind extension
//! headers, nor behind more than one tag.

use super::super::assembler::{
    ADD, AND_VALUE, Assembler, IF_ABOVE, IF_BELOW, IF_EQUAL, IF_OTHER, LOAD_8, Label,
    SHIFT_LEFT_VALUE,
};
use super::{LOAD_BYTES, PACKET, SKB_LEN};
use crate::bpf::{ADD_VALUE, ATOMIC_ADD_64, LOAD_32, MOVE, Numbers, in_frame, op};

/// Octets of the segments counted, and of those that echo a mark.
pub(in super::super) type Echoes = Numbers<2>;

/// Offset in `struct __sk_buff`.
const SKB_PROTOCOL: i16 = 16;
const IPV4: u16 = 0x0800;
const IPV6: u16 = 0x86DD;
/// Octets of the Ethernet header without a tag, which the kernel keeps beside the frame.
const HEADER: i32 = 14;
const IPV6_HEADER: i32 = 40;
/// Offsets of the protocol in both IP headers and of the flags in TCP.
const PROTOCOL_4: i32 = 9;
const PROTOCOL_6: i32 = 6;
const FLAGS: i32 = 13;
const TCP: i32 = 6;
const SYN_ACK: i32 = 0x12;
const ACK: i32 = 0x10;
const ECHO: i32 = 0x40;
/// Stack slot for one octet.
const OCTET: i16 = -8;
/// Register for the offset of the segment, later its flags; and for the octet read, later the
/// length.
const START: u8 = 7;
const FOUND: u8 = 8;

/// Writes this part; register 1 holds the packet before and after.
pub(super) fn write(program: &mut Assembler, echoes: &Echoes) {
    let (four, six, segment) = (program.label(), program.label(), program.label());
    let done = program.label();
    program.registers(MOVE, PACKET, 1);
    program.push(op(LOAD_32, FOUND, PACKET, SKB_PROTOCOL, 0));
    program.jump_if(IF_EQUAL, FOUND, in_frame(IPV4), four);
    program.jump_if(IF_EQUAL, FOUND, in_frame(IPV6), six);
    program.jump(done);

    program.bind(four);
    load(program, None, HEADER + PROTOCOL_4, done);
    program.jump_if(IF_OTHER, FOUND, TCP, done);
    load(program, None, HEADER, done);
    // Upper four bits: version 4; lower four: header length in words, at least five.
    program.jump_if(IF_BELOW, FOUND, 0x45, done);
    program.jump_if(IF_ABOVE, FOUND, 0x4F, done);
    program.value(AND_VALUE, FOUND, 0x0F);
    program.value(SHIFT_LEFT_VALUE, FOUND, 2);
    program.registers(MOVE, START, FOUND);
    program.jump(segment);

    program.bind(six);
    load(program, None, HEADER + PROTOCOL_6, done);
    program.jump_if(IF_OTHER, FOUND, TCP, done);
    program.set(START, IPV6_HEADER);

    program.bind(segment);
    load(program, Some(START), HEADER + FLAGS, done);
    program.registers(MOVE, START, FOUND);
    program.value(AND_VALUE, FOUND, SYN_ACK);
    program.jump_if(IF_OTHER, FOUND, ACK, done);
    program.push(op(LOAD_32, FOUND, PACKET, SKB_LEN, 0));
    program.value(ADD_VALUE, FOUND, -HEADER);
    add(program, echoes, 0);
    program.value(AND_VALUE, START, ECHO);
    program.jump_if(IF_EQUAL, START, 0, done);
    add(program, echoes, 1);
    program.bind(done);
    program.registers(MOVE, 1, PACKET);
}

/// Loads an octet of the frame, or jumps to `otherwise` if the frame is too short.
fn load(program: &mut Assembler, from: Option<u8>, offset: i32, otherwise: Label) {
    program.registers(MOVE, 1, PACKET);
    program.set(2, offset);
    if let Some(from) = from {
        program.registers(ADD, 2, from);
    }
    program.address(3, OCTET);
    program.set(4, 1);
    program.call(LOAD_BYTES);
    program.jump_if(IF_OTHER, 0, 0, otherwise);
    program.load(LOAD_8, FOUND, OCTET);
}

fn add(program: &mut Assembler, echoes: &Echoes, index: i32) {
    program.extend(echoes.address(1, index));
    program.registers(ATOMIC_ADD_64, 1, FOUND);
}

#[cfg(test)]
mod tests {
    use rtether_model::network::Vid;
    use rtether_proto::endnode::parse;

    use super::super::tests::is_possible;
    use super::*;
    use crate::bpf::{self, ProgramType, test_run};
    use crate::shim::frames::echoed_mark;

    /// Returns a frame with an IP header of `words` 32-bit words and a segment with these flags.
    fn frame(ethertype: u16, protocol: u8, words: u8, flags: u8, padding: usize) -> Vec<u8> {
        let mut frame = [&[2; 12][..], &ethertype.to_be_bytes()].concat();
        let mut packet = vec![0; if ethertype == IPV6 { 40 } else { usize::from(words) * 4 }];
        let length = u16::try_from(packet.len() + 20).unwrap();
        if ethertype == IPV6 {
            (packet[0], packet[5], packet[6]) = (0x60, 20, protocol);
        } else {
            packet[..1].fill(0x40 | words);
            packet[2..4].copy_from_slice(&length.to_be_bytes());
            packet[9] = protocol;
        }
        let mut segment = [0; 20];
        (segment[12], segment[13]) = (0x50, flags);
        frame.extend(packet);
        frame.extend(segment);
        frame.resize(frame.len() + padding, 0);
        frame
    }

    /// Oracle: `echoed_mark` of the other back end, on the same frames.
    #[test]
    fn octets_are_those_of_the_other_back_end() {
        if !is_possible() {
            return;
        }
        for strip in [None, Some(Vid::PRIORITY_ONLY)] {
            let echoes = Echoes::new().unwrap();
            let code = super::super::ingress(Some(&echoes), strip);
            let program = bpf::load(ProgramType::Classifier, &code).unwrap();
            let (mut all, mut marked, mut others) = (0, 0, 0);
            for ethertype in [IPV4, IPV6, 0x88B5] {
                for protocol in [6, 17] {
                    for words in [5, 6, 15] {
                        for flags in 0..=255 {
                            let octets = frame(ethertype, protocol, words, flags, words.into());
                            test_run(&program, &octets, 1).unwrap();
                            match echoed_mark(&octets, &parse(&octets)) {
                                Some(found) => {
                                    all += found.size.get();
                                    marked += u64::from(found.is_marked) * found.size.get();
                                }
                                None => others += 1,
                            }
                            assert_eq!(echoes.get().unwrap(), [all, marked], "{octets:02x?}");
                        }
                    }
                }
            }
            // A quarter of all flag values have ACK without SYN, and half of these echo a mark.
            assert!(marked * 2 == all && others > 1_000, "{marked} of {all}, {others}");
        }
    }
}
