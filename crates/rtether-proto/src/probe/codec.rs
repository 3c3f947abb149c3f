//! Encoding of requests and decoding of replies.

use alloc::vec::Vec;

use super::cndep::{Body, Packet, Profile};
use super::icmp::{self, Echo};
use super::message::{self, Kind, Message};
use super::prober::Request;

/// The wire format of a run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Codec {
    /// Our own message.
    Message {
        /// Distinguishes runs.
        session: u32,
    },
    /// ICMP echo.
    Icmp {
        /// Distinguishes runs.
        identifier: u16,
    },
    /// CNDEP, with the same command in each request.
    Cndep {
        /// Octet values.
        profile: Profile,
        /// The command.
        command: Command,
    },
}

/// A CNDEP request.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Command {
    /// Test.
    Test,
    /// Get of a parameter.
    Get(u8),
    /// Set of a parameter.
    Set(u8, Vec<u8>),
}

/// Meaning of a received payload.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Received {
    /// The reply to the request with this sequence number.
    Reply(u32),
    /// The reply to a request whose sequence number has these lower 16 bits.
    ReplyLow(u16),
    /// The reply to the oldest request.
    ReplyInOrder,
    /// An error answer; it still answers the oldest request.
    Refusal,
    /// Well-formed, but not for this run.
    Foreign,
    /// Anything else.
    Malformed,
}

impl Codec {
    /// Returns the size of the smallest payload, in octets.
    pub fn size_min(&self) -> usize {
        match self {
            Self::Message { .. } => message::SIZE_MIN,
            Self::Icmp { .. } => icmp::HEADER,
            Self::Cndep { .. } => 0,
        }
    }

    /// Writes a request into `payload` and leaves the octets behind its header unchanged. CNDEP
    /// packets have the length they need.
    pub fn write(&self, request: Request, payload: &mut Vec<u8>) {
        match self {
            Self::Message { session } => {
                let message =
                    Message { session: *session, sequence: request.sequence, kind: Kind::Request };
                if payload.len() < message::SIZE_MIN {
                    payload.resize(message::SIZE_MIN, 0);
                }
                message.write(payload);
            }
            Self::Icmp { identifier } => {
                let echo = Echo { identifier: *identifier, sequence: low(request.sequence) };
                if payload.len() < icmp::HEADER {
                    payload.resize(icmp::HEADER, 0);
                }
                icmp::write_request(payload, echo);
            }
            Self::Cndep { profile, command } => {
                payload.clear();
                let body = match command {
                    Command::Test => Body::Test,
                    Command::Get(id) => Body::Get { id: *id },
                    Command::Set(id, value) => Body::Set { id: *id, value },
                };
                let [.., sequence] = request.sequence.to_be_bytes();
                Packet { sequence, body }.write(profile, payload);
            }
        }
    }

    /// Decodes a received payload; `oldest` is the oldest outstanding request.
    pub fn read(&self, payload: &[u8], oldest: Option<u32>) -> Received {
        match self {
            Self::Message { session } => match Message::parse(payload) {
                Ok(message) if message.session != *session => Received::Foreign,
                Ok(message) => match message.kind {
                    Kind::Reply { .. } => Received::Reply(message.sequence),
                    Kind::Request | Kind::Wake => Received::Foreign,
                },
                Err(_) => Received::Malformed,
            },
            Self::Icmp { identifier } => match icmp::parse_reply(payload) {
                Ok(echo) if echo.identifier == *identifier => Received::ReplyLow(echo.sequence),
                Ok(_) => Received::Foreign,
                // A raw socket sees all ICMP messages of the host.
                Err(message::Malformed::Foreign { offset: 0 }) => Received::Foreign,
                Err(_) => Received::Malformed,
            },
            Self::Cndep { profile, command } => {
                let Ok(packet) = Packet::parse(payload, profile) else {
                    return Received::Malformed;
                };
                let expected = oldest.map(|sequence| sequence.to_be_bytes()[3]);
                if profile.has_sequence && expected != Some(packet.sequence) {
                    return Received::Foreign;
                }
                match (packet.body, command) {
                    (Body::Error(_), _) => Received::Refusal,
                    (Body::Ok, Command::Test | Command::Set(..)) => Received::ReplyInOrder,
                    (Body::Data { id, .. }, Command::Get(asked)) if id == *asked => {
                        Received::ReplyInOrder
                    }
                    _ => Received::Foreign,
                }
            }
        }
    }

    /// Returns the message that wakes up a responder; `None` if the format has none.
    pub fn wake(&self) -> Option<[u8; message::SIZE_MIN]> {
        let Self::Message { session } = self else {
            return None;
        };
        let mut payload = [0; message::SIZE_MIN];
        let message = Message { session: *session, sequence: 0, kind: Kind::Wake };
        message.write(&mut payload).then_some(payload)
    }
}

fn low(sequence: u32) -> u16 {
    let [_, _, high, low] = sequence.to_be_bytes();
    u16::from_be_bytes([high, low])
}

#[cfg(test)]
mod tests {
    use std::vec;

    use super::*;
    use crate::probe::cndep::Board;

    const REQUEST: Request = Request { sequence: 0x1_2345, series: 0 };

    #[test]
    fn answers_of_each_format_are_recognized() {
        let codec = Codec::Message { session: 7 };
        let mut payload = vec![0; 30];
        codec.write(REQUEST, &mut payload);
        assert_eq!(codec.read(&payload, None), Received::Foreign);
        let zero = rtether_model::quantity::Instant::ZERO;
        message::answer(&mut payload, zero, zero).unwrap();
        assert_eq!(codec.read(&payload, None), Received::Reply(0x1_2345));
        let other = Codec::Message { session: 8 };
        assert_eq!(other.read(&payload, None), Received::Foreign);

        let codec = Codec::Icmp { identifier: 3 };
        let mut payload = vec![0; 64];
        codec.write(REQUEST, &mut payload);
        assert_eq!(codec.read(&payload, None), Received::Foreign);
        icmp::answer(&mut payload).unwrap();
        assert_eq!(codec.read(&payload, None), Received::ReplyLow(0x2345));
    }

    #[test]
    fn a_board_answers_what_was_asked() {
        let profile = Profile { has_sequence: true, ..Profile::DEFAULT };
        let mut board = Board::default();
        board.define(1, &[5], true);
        for (command, expected) in [
            (Command::Test, Received::ReplyInOrder),
            (Command::Get(1), Received::ReplyInOrder),
            (Command::Set(1, vec![6]), Received::ReplyInOrder),
            (Command::Get(2), Received::Refusal),
        ] {
            let codec = Codec::Cndep { profile, command };
            let (mut request, mut reply) = (vec![], vec![]);
            codec.write(REQUEST, &mut request);
            assert!(board.answer(&request, &profile, &mut reply));
            assert_eq!(codec.read(&reply, Some(0x1_2345)), expected, "{codec:?}");
            assert_eq!(codec.read(&reply, Some(0x1_2346)), Received::Foreign);
        }
    }
}
