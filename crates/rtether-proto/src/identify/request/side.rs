//! Requests and answers of others, as a capture shows them: which belong together.
//!
//! Only what the requests of this module ask for counts: reads. A message is recognized by its port
//! and by fields that every message of the protocol has; its token is what the answer repeats.

use super::Framing;

/// Functions of Modbus that read registers or the identity.
const MODBUS_READS: [u8; 3] = [3, 4, 0x2B];
/// Commands of EtherNet/IP that ask (volume 2, 2-4): identity, services, interfaces, a session, data.
const ENIP_ASKS: [u16; 5] = [0x63, 0x04, 0x64, 0x65, 0x6F];
/// Requests of SNMP that read, and their response (RFC 3416, 3).
const SNMP_READS: [u8; 3] = [0xA0, 0xA1, 0xA5];
const SNMP_RESPONSE: u8 = 0xA2;

/// A protocol in which a conversation is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Conversation {
    /// ICMP echo.
    Echo,
    /// SNMP over UDP.
    Snmp,
    /// Modbus over TCP.
    Modbus,
    /// EtherNet/IP over TCP or UDP.
    Enip,
}

/// A message that asks or answers, with what both have in common.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Side {
    /// It asks; requests of other kinds, such as functions and commands, cost the device other times.
    Request(u128, u16),
    /// It answers.
    Answer(u128),
}

impl Conversation {
    /// Returns the port of the server; `None` for ICMP.
    pub const fn port(self) -> Option<u16> {
        match self {
            Self::Echo => None,
            Self::Snmp => Some(161),
            Self::Modbus => Some(502),
            Self::Enip => Some(44_818),
        }
    }

    /// Returns how its messages are cut out of a stream.
    pub const fn framing(self) -> Option<Framing> {
        match self {
            Self::Echo | Self::Snmp => None,
            Self::Modbus => Some(Framing::Modbus),
            Self::Enip => Some(Framing::Enip),
        }
    }

    /// Reads a message; `from_server` says whether the server has sent it. `None` if it neither asks
    /// to read nor answers that.
    pub fn read(self, octets: &[u8], from_server: bool) -> Option<Side> {
        let (token, kind) = match self {
            Self::Echo => return echo(octets),
            Self::Snmp => snmp(octets, from_server)?,
            Self::Modbus => modbus(octets, from_server)?,
            Self::Enip => enip(octets)?,
        };
        Some(if from_server { Side::Answer(token) } else { Side::Request(token, kind) })
    }
}

fn echo(octets: &[u8]) -> Option<Side> {
    let [kind, 0, _, _, a, b, c, d] = *octets.first_chunk()? else { return None };
    let token = u32::from_be_bytes([a, b, c, d]).into();
    match kind {
        8 => Some(Side::Request(token, 0)),
        0 => Some(Side::Answer(token)),
        _ => None,
    }
}

/// Transaction, unit and function; an exception has the function with its upper bit.
fn modbus(octets: &[u8], from_server: bool) -> Option<(u128, u16)> {
    let [high, low, 0, 0, _, _, unit, function] = *octets.first_chunk()? else { return None };
    let asked = if from_server { function & 0x7F } else { function };
    let token = u32::from_be_bytes([high, low, unit, asked]).into();
    MODBUS_READS.contains(&asked).then_some((token, asked.into()))
}

/// Command and sender context.
fn enip(octets: &[u8]) -> Option<(u128, u16)> {
    let head: &[u8; 24] = octets.first_chunk()?;
    let command = u16::from_le_bytes([head[0], head[1]]);
    let context = head.get(12..20)?.first_chunk().map(|own| u64::from_le_bytes(*own))?;
    let token = u128::from(command) << 64 | u128::from(context);
    ENIP_ASKS.contains(&command).then_some((token, command))
}

/// The request-id, behind version and community.
fn snmp(octets: &[u8], from_server: bool) -> Option<(u128, u16)> {
    let (0x30, message, _) = element(octets)? else { return None };
    let (0x02, _, rest) = element(message)? else { return None };
    let (0x04, _, rest) = element(rest)? else { return None };
    let (kind, request, _) = element(rest)?;
    let (0x02, id, _) = element(request)? else { return None };
    let is_wanted = if from_server { kind == SNMP_RESPONSE } else { SNMP_READS.contains(&kind) };
    let is_short = id.len() <= 8;
    let token = id.iter().take(8).fold(0, |sum, own| sum << 8 | u128::from(*own));
    (is_wanted && is_short).then_some((token, kind.into()))
}

/// Splits the first element off (X.690, 8.1): tag, content, and what follows.
fn element(octets: &[u8]) -> Option<(u8, &[u8], &[u8])> {
    let [tag, length, rest @ ..] = octets else { return None };
    let digits = match length {
        0..=0x7F => 0,
        0x81..=0x84 => usize::from(length & 0x7F),
        _ => return None,
    };
    let (long, rest) = rest.split_at_checked(digits)?;
    let length = match digits {
        0 => usize::from(*length),
        _ => long.iter().fold(0, |sum, own| sum << 8 | usize::from(*own)),
    };
    let (content, rest) = rest.split_at_checked(length)?;
    Some((*tag, content, rest))
}

#[cfg(test)]
mod tests {
    use super::super::{enip, modbus, snmp};
    use super::*;

    /// Oracle: requests that this module builds, and what answers them by hand.
    #[test]
    fn requests_and_answers_have_one_token() {
        let request = modbus::registers(7, 1, 0, 2).unwrap();
        let answer = [0, 7, 0, 0, 0, 3, 1, 0x83, 2];
        let own = Conversation::Modbus;
        let Some(Side::Request(token, _)) = own.read(&request, false) else {
            panic!("{request:?}")
        };
        assert_eq!(own.read(&answer, true), Some(Side::Answer(token)));
        // A write.
        assert_eq!(own.read(&[0, 7, 0, 0, 0, 6, 1, 6, 0, 1, 0, 3], false), None);

        let request = snmp::get_bulk(7, b"public", 3).unwrap();
        let mut answer = request.clone();
        let at = answer.iter().position(|octet| *octet == 0xA5).unwrap();
        answer[at] = SNMP_RESPONSE;
        let own = Conversation::Snmp;
        assert_eq!(own.read(&request, false), Some(Side::Request(0x4000_0007, 0xA5)));
        assert_eq!(own.read(&answer, true), Some(Side::Answer(0x4000_0007)));
        // A set.
        answer[at] = 0xA3;
        assert_eq!(own.read(&answer, false), None);

        let own = Conversation::Enip;
        let request = enip::list_identity(9);
        let Some(Side::Request(token, _)) = own.read(&request, false) else {
            panic!("{request:?}")
        };
        assert_eq!(own.read(&request, true), Some(Side::Answer(token)));
        assert_eq!(own.read(&enip::silent(3).unwrap(), false), None);

        let own = Conversation::Echo;
        assert_eq!(own.read(&[8, 0, 1, 1, 0, 5, 0, 6], false), Some(Side::Request(0x5_0006, 0)));
        assert_eq!(own.read(&[0, 0, 1, 1, 0, 5, 0, 6], true), Some(Side::Answer(0x5_0006)));
        for own in [own, Conversation::Snmp, Conversation::Modbus, Conversation::Enip] {
            for length in 0..40 {
                for octet in [0, 0x30, 0x84, 0xFF] {
                    own.read(&alloc::vec![octet; length], true);
                }
            }
        }
    }
}
