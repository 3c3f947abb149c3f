//! ICMP echo (RFC 792; RFC 1122, 3.2.2.6), as `ping` sends it.
//!
//! The buffer starts at the ICMP header. Identifier and sequence have 16 bits;
//! [`super::Prober::widen`] recovers the full sequence number.

use super::message::Malformed;

/// Size of the header.
pub const HEADER: usize = 8;

const REPLY: u8 = 0;
const REQUEST: u8 = 8;

/// Identifier and sequence of an echo message.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Echo {
    /// Distinguishes runs.
    pub identifier: u16,
    /// The lower half of the sequence.
    pub sequence: u16,
}

/// Writes an echo request; the data behind the header are kept. Returns `false` if there is no room
/// for the header.
pub fn write_request(message: &mut [u8], echo: Echo) -> bool {
    write(message, REQUEST, echo)
}

/// Writes a reply to no request, which costs its receiver time and is not answered; as
/// [`write_request`] otherwise.
pub fn write_silent(message: &mut [u8], echo: Echo) -> bool {
    write(message, REPLY, echo)
}

fn write(message: &mut [u8], kind: u8, echo: Echo) -> bool {
    let Some(head) = message.first_chunk_mut::<HEADER>() else {
        return false;
    };
    *head = [0; HEADER];
    head[0] = kind;
    head[4..6].copy_from_slice(&echo.identifier.to_be_bytes());
    head[6..].copy_from_slice(&echo.sequence.to_be_bytes());
    let sum = checksum(message);
    message[2..4].copy_from_slice(&sum.to_be_bytes());
    true
}

/// Parses an echo reply and verifies its checksum.
pub fn parse_reply(message: &[u8]) -> Result<Echo, Malformed> {
    parse(message, REPLY)
}

/// Turns an echo request into its reply, in place.
pub fn answer(message: &mut [u8]) -> Result<(), Malformed> {
    parse(message, REQUEST)?;
    message[0] = REPLY;
    message[2..4].fill(0);
    let sum = checksum(message);
    message[2..4].copy_from_slice(&sum.to_be_bytes());
    Ok(())
}

fn parse(message: &[u8], kind: u8) -> Result<Echo, Malformed> {
    let head: &[u8; HEADER] =
        message.first_chunk().ok_or(Malformed::TooShort { len: message.len() })?;
    if head[0] != kind {
        return Err(Malformed::Foreign { offset: 0 });
    }
    if head[1] != 0 {
        return Err(Malformed::Foreign { offset: 1 });
    }
    // The checksum over a message that includes its own is zero.
    if checksum(message) != 0 {
        return Err(Malformed::Foreign { offset: 2 });
    }
    Ok(Echo {
        identifier: u16::from_be_bytes([head[4], head[5]]),
        sequence: u16::from_be_bytes([head[6], head[7]]),
    })
}

/// Returns the Internet checksum (RFC 1071).
fn checksum(octets: &[u8]) -> u16 {
    let words = octets.chunks(2).map(|pair| {
        let low = pair.get(1).copied().unwrap_or(0);
        u64::from(u16::from_be_bytes([pair[0], low]))
    });
    let mut sum: u64 = words.sum();
    while sum > 0xFFFF {
        sum = (sum & 0xFFFF) + (sum >> 16);
    }
    !u16::try_from(sum).unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use std::{vec, vec::Vec};

    use proptest::prelude::*;

    use super::*;

    #[test]
    fn the_checksum_of_the_rfc() {
        // RFC 1071, 3: the words 0001 f203 f4f5 f6f7 add up to ddf2.
        let octets = [0x00, 0x01, 0xF2, 0x03, 0xF4, 0xF5, 0xF6, 0xF7];
        assert_eq!(checksum(&octets), !0xDDF2);
    }

    #[test]
    fn a_request_by_hand() {
        // 0800 + 1234 + 0001 + 6100 = 7b35; its complement is 84ca.
        let mut message = [0, 0, 0, 0, 0, 0, 0, 0, 0x61];
        let echo = Echo { identifier: 0x1234, sequence: 1 };
        assert!(write_request(&mut message, echo));
        assert_eq!(message, [8, 0, 0x84, 0xCA, 0x12, 0x34, 0, 1, 0x61]);
        answer(&mut message).unwrap();
        assert_eq!(parse_reply(&message), Ok(echo));
        assert_eq!(message[2..4], [0x8C, 0xCA]);
    }

    proptest! {
        /// Oracle: a changed bit changes the sum.
        #[test]
        fn a_flipped_bit_is_seen(data: Vec<u8>, identifier: u16, sequence: u16, bit: prop::sample::Index) {
            let mut message = vec![0; HEADER];
            message.extend(&data);
            let echo = Echo { identifier, sequence };
            prop_assert!(write_request(&mut message, echo));
            prop_assert!(answer(&mut message).is_ok());
            prop_assert_eq!(parse_reply(&message), Ok(echo));
            let bit = bit.index(8 * message.len());
            message[bit / 8] ^= 1 << (bit % 8);
            prop_assert!(parse_reply(&message).is_err());
        }

        #[test]
        fn no_octets_make_it_panic(mut message: Vec<u8>) {
            let _ = parse_reply(&message);
            let _ = answer(&mut message);
        }
    }
}
