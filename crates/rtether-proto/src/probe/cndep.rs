//! CNDEP, the byte-oriented controller protocol of Kakanakov, Shopov and Spasov over UDP (K7; R117,
//! R118).
//!
//! The papers name the parts of a packet and the commands, but not the values of the octets; those
//! are our configurable profile ([`Profile`]). One datagram is one packet: start delimiter, code,
//! data, end delimiter. There is no byte stuffing, since the datagram frames the packet.

use alloc::vec::Vec;
use core::fmt;

/// Octet values and format of packets.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Profile {
    /// First octet.
    pub start: u8,
    /// Last octet.
    pub end: u8,
    /// Codes of Test, Get, Set, OK, Data and Error.
    pub codes: [u8; 6],
    /// Whether a sequence octet follows the code in request and reply.
    pub has_sequence: bool,
}

impl Profile {
    /// The values decided in the catalogue (K7).
    pub const DEFAULT: Self = Self {
        start: 0x02,
        end: 0x03,
        codes: [0x01, 0x02, 0x03, 0x81, 0x82, 0x8F],
        has_sequence: false,
    };

    /// The UDP port decided in the catalogue (K7).
    pub const PORT: u16 = 5000;
}

/// Content of a packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Body<'a> {
    /// Checks that the board is there.
    Test,
    /// Requests the value of a parameter.
    Get {
        /// The parameter.
        id: u8,
    },
    /// Sets a parameter.
    Set {
        /// The parameter.
        id: u8,
        /// Its value.
        value: &'a [u8],
    },
    /// Answers Test and Set.
    Ok,
    /// Answers Get.
    Data {
        /// The parameter.
        id: u8,
        /// Its value.
        value: &'a [u8],
    },
    /// Answers a request that failed.
    Error(Fault),
}

/// Why a request failed; the value is the octet on the wire.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fault {
    /// Unknown code.
    UnknownCode = 1,
    /// The data do not match the code.
    BadFormat = 2,
    /// Unknown parameter.
    BadParameter = 3,
    /// The parameter cannot be set.
    NotPermitted = 4,
}

impl fmt::Display for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::UnknownCode => "unknown code",
            Self::BadFormat => "bad format",
            Self::BadParameter => "bad parameter",
            Self::NotPermitted => "not permitted",
        })
    }
}

/// A packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Packet<'a> {
    /// Sequence number of the request; zero if the profile has none.
    pub sequence: u8,
    /// The content.
    pub body: Body<'a>,
}

/// Why a datagram is not a packet. If it has delimiters and a sequence number, it can be answered.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Malformed {
    /// What is wrong.
    pub fault: Fault,
    /// The request's sequence number; `None` if the delimiters are missing too.
    pub sequence: Option<u8>,
}

impl fmt::Display for Malformed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.sequence {
            Some(_) => write!(f, "{}", self.fault),
            None => write!(f, "not a packet: delimiters are missing"),
        }
    }
}

impl core::error::Error for Malformed {}

impl<'a> Packet<'a> {
    /// Parses a datagram.
    pub fn parse(datagram: &'a [u8], profile: &Profile) -> Result<Self, Malformed> {
        let foreign = Malformed { fault: Fault::BadFormat, sequence: None };
        let [start, code, rest @ .., end] = datagram else {
            return Err(foreign);
        };
        if (*start, *end) != (profile.start, profile.end) {
            return Err(foreign);
        }
        let (sequence, data) = match (profile.has_sequence, rest) {
            (false, data) => (0, data),
            (true, [sequence, data @ ..]) => (*sequence, data),
            (true, []) => return Err(foreign),
        };
        let wrong = |fault| Malformed { fault, sequence: Some(sequence) };
        let index = profile.codes.iter().position(|known| known == code);
        let body = match (index.ok_or(wrong(Fault::UnknownCode))?, data) {
            (0, []) => Body::Test,
            (1, [id]) => Body::Get { id: *id },
            (2, [id, value @ ..]) => Body::Set { id: *id, value },
            (3, []) => Body::Ok,
            (4, [id, value @ ..]) => Body::Data { id: *id, value },
            (5, [1]) => Body::Error(Fault::UnknownCode),
            (5, [2]) => Body::Error(Fault::BadFormat),
            (5, [3]) => Body::Error(Fault::BadParameter),
            (5, [4]) => Body::Error(Fault::NotPermitted),
            _ => return Err(wrong(Fault::BadFormat)),
        };
        Ok(Self { sequence, body })
    }

    /// Appends the packet to `out`.
    pub fn write(&self, profile: &Profile, out: &mut Vec<u8>) {
        let code = |index: usize| profile.codes[index];
        let sequence = profile.has_sequence.then_some(self.sequence);
        let mut put = |code: u8, id: Option<u8>, value: &[u8]| {
            out.extend([profile.start, code]);
            out.extend(sequence);
            out.extend(id);
            out.extend(value);
            out.push(profile.end);
        };
        match self.body {
            Body::Test => put(code(0), None, &[]),
            Body::Get { id } => put(code(1), Some(id), &[]),
            Body::Set { id, value } => put(code(2), Some(id), value),
            Body::Ok => put(code(3), None, &[]),
            Body::Data { id, value } => put(code(4), Some(id), value),
            Body::Error(fault) => put(code(5), Some(fault as u8), &[]),
        }
    }
}

/// Longest value of a parameter, in octets; longer ones are refused. An answer then has at most 18
/// octets, which with UDP and IP headers fit the smallest Ethernet frame: no answer is longer on
/// the wire than its request.
pub const VALUE_MAX: usize = 13;

/// The parameters of a board and its answers (R118). The host models the time a board takes.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Board {
    parameters: Vec<Parameter>,
    /// Datagrams without delimiters, which get no answer.
    pub unanswered: u64,
}

#[derive(Clone, Debug, PartialEq, Eq)]
struct Parameter {
    id: u8,
    value: Vec<u8>,
    is_writable: bool,
}

impl Board {
    /// Adds or replaces a parameter; values longer than [`VALUE_MAX`] are truncated.
    pub fn define(&mut self, id: u8, value: &[u8], is_writable: bool) {
        self.parameters.retain(|parameter| parameter.id != id);
        let value = value[..value.len().min(VALUE_MAX)].to_vec();
        self.parameters.push(Parameter { id, value, is_writable });
    }

    /// Appends the answer to a datagram to `out`; returns `false` if there is none.
    pub fn answer(&mut self, datagram: &[u8], profile: &Profile, out: &mut Vec<u8>) -> bool {
        let (sequence, fault) = match Packet::parse(datagram, profile) {
            Ok(packet) => {
                let body = match packet.body {
                    Body::Test => Ok(Body::Ok),
                    Body::Get { id } => self.get(id),
                    Body::Set { id, value } => self.set(id, value),
                    // Answers are not answered.
                    Body::Ok | Body::Data { .. } | Body::Error(_) => {
                        self.unanswered += 1;
                        return false;
                    }
                };
                match body {
                    Ok(body) => {
                        let sequence = packet.sequence;
                        Packet { sequence, body }.write(profile, out);
                        return true;
                    }
                    Err(fault) => (packet.sequence, fault),
                }
            }
            Err(Malformed { fault, sequence: Some(sequence) }) => (sequence, fault),
            Err(_) => {
                self.unanswered += 1;
                return false;
            }
        };
        let body = Body::Error(fault);
        Packet { sequence, body }.write(profile, out);
        true
    }

    fn get(&self, id: u8) -> Result<Body<'_>, Fault> {
        let found = self.parameters.iter().find(|known| known.id == id);
        let value = &found.ok_or(Fault::BadParameter)?.value;
        Ok(Body::Data { id, value })
    }

    fn set(&mut self, id: u8, value: &[u8]) -> Result<Body<'static>, Fault> {
        let found = self.parameters.iter_mut().find(|known| known.id == id);
        let parameter = found.ok_or(Fault::BadParameter)?;
        if !parameter.is_writable {
            return Err(Fault::NotPermitted);
        }
        if value.len() > VALUE_MAX {
            return Err(Fault::BadFormat);
        }
        parameter.value = value.to_vec();
        Ok(Body::Ok)
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn board() -> Board {
        let mut board = Board::default();
        board.define(7, &[1, 2], true);
        board.define(8, &[9], false);
        board
    }

    fn answer(board: &mut Board, datagram: &[u8]) -> Vec<u8> {
        let mut out = Vec::new();
        board.answer(datagram, &Profile::DEFAULT, &mut out);
        out
    }

    #[test]
    fn commands_by_hand() {
        let mut board = board();
        for (request, reply) in [
            (&[2, 1, 3][..], &[2, 0x81, 3][..]),
            (&[2, 2, 7, 3], &[2, 0x82, 7, 1, 2, 3]),
            (&[2, 3, 7, 5, 3], &[2, 0x81, 3]),
            (&[2, 2, 7, 3], &[2, 0x82, 7, 5, 3]),
            (&[2, 3, 8, 5, 3], &[2, 0x8F, 4, 3]),
            (&[2, 2, 9, 3], &[2, 0x8F, 3, 3]),
            (&[2, 1, 1, 3], &[2, 0x8F, 2, 3]),
            (&[2, 0x44, 3], &[2, 0x8F, 1, 3]),
            // An answer, and octets without delimiters, are not answered.
            (&[2, 0x81, 3], &[]),
            (&[2, 1], &[]),
            (&[], &[]),
        ] {
            assert_eq!(answer(&mut board, request), reply, "{request:02x?}");
        }
        assert_eq!(board.unanswered, 3);
    }

    proptest! {
        /// Oracle: the round trip.
        #[test]
        fn what_is_written_is_read(
            sequence: u8,
            has_sequence: bool,
            id: u8,
            value: Vec<u8>,
            which in 0..6u8,
        ) {
            let profile = Profile { has_sequence, ..Profile::DEFAULT };
            let body = match which {
                0 => Body::Test,
                1 => Body::Get { id },
                2 => Body::Set { id, value: &value },
                3 => Body::Ok,
                4 => Body::Data { id, value: &value },
                _ => Body::Error(Fault::BadParameter),
            };
            let sequence = if has_sequence { sequence } else { 0 };
            let packet = Packet { sequence, body };
            let mut out = Vec::new();
            packet.write(&profile, &mut out);
            prop_assert_eq!(Packet::parse(&out, &profile), Ok(packet));
        }

        /// Anything the profile does not allow gets an error or no answer.
        #[test]
        fn no_octets_make_it_panic(datagram: Vec<u8>) {
            let mut out = Vec::new();
            let is_answered = board().answer(&datagram, &Profile::DEFAULT, &mut out);
            prop_assert_eq!(is_answered, !out.is_empty());
            prop_assert!(out.len() <= 18);
        }
    }
}
