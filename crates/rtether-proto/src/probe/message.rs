//! The meter's own message format, for UDP, TCP and raw Ethernet.
//!
//! | octets | |
//! |---|---|
//! | 0 to 1 | `0x72 0x54` |
//! | 2 | version, 1 |
//! | 3 | 1 request, 2 reply, 3 wake-up; with 16 added, [`super::details`] follow octet 23 |
//! | 4 to 7 | session: replies to other runs of the meter are ignored |
//! | 8 to 11 | sequence |
//! | 12 to 15 | reply: time between receipt and answer in nanoseconds, all ones if longer |
//! | 16 to 23 | reply: the peer's clock at receipt in nanoseconds |
//! | 24 and on | padding, copied into the reply |
//!
//! Numbers are big-endian. Fields of replies are zero in a request.

use core::fmt;

use rtether_model::quantity::{Duration, Instant};

/// Size of a message without padding: the smallest payload.
pub const SIZE_MIN: usize = 24;

/// Set in octet 3 if details follow the header.
pub(super) const WITH_DETAILS: u8 = 0x10;
/// Offset of the octet with the kind of message.
pub(super) const KIND_AT: usize = 3;

const MAGIC: [u8; 2] = [0x72, 0x54];
const VERSION: u8 = 1;

/// Kind of a message.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// Requests a reply.
    Request,
    /// Answers a request.
    Reply {
        /// Time between receipt of the request and sending of the reply, at most 4.29 s.
        hold: Duration,
        /// When the request was received, by the peer's clock and its origin.
        received_at: Instant,
    },
    /// Wakes up a sleeping responder for the requests that follow; it has no reply.
    Wake,
}

/// The header of a message.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Message {
    /// The run of the meter that it belongs to.
    pub session: u32,
    /// The request's number in the run.
    pub sequence: u32,
    /// Kind of message.
    pub kind: Kind,
}

/// Why octets are not a message.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Malformed {
    /// Shorter than a message.
    TooShort {
        /// Number of octets.
        len: usize,
    },
    /// Magic number, version or kind do not match.
    Foreign {
        /// Offset of the first octet that differs.
        offset: usize,
    },
}

impl fmt::Display for Malformed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::TooShort { len } => write!(f, "{len} octets are too few for a probe message"),
            Self::Foreign { offset } => write!(f, "not a probe message: octet {offset} differs"),
        }
    }
}

impl core::error::Error for Malformed {}

impl Message {
    /// Parses the header of a payload.
    pub fn parse(payload: &[u8]) -> Result<Self, Malformed> {
        let head: &[u8; SIZE_MIN] =
            payload.first_chunk().ok_or(Malformed::TooShort { len: payload.len() })?;
        for (offset, expected) in [(0, MAGIC[0]), (1, MAGIC[1]), (2, VERSION)] {
            if head[offset] != expected {
                return Err(Malformed::Foreign { offset });
            }
        }
        let word =
            |at: usize| u32::from_be_bytes([head[at], head[at + 1], head[at + 2], head[at + 3]]);
        let kind = match head[KIND_AT] & !WITH_DETAILS {
            1 => Kind::Request,
            2 => {
                let ns = (u64::from(word(16)) << 32 | u64::from(word(20))).cast_signed();
                Kind::Reply {
                    hold: Duration::from_ns(i64::from(word(12))),
                    received_at: Instant::from_ps(ns.saturating_mul(1_000)),
                }
            }
            3 => Kind::Wake,
            _ => return Err(Malformed::Foreign { offset: KIND_AT }),
        };
        Ok(Self { session: word(4), sequence: word(8), kind })
    }

    /// Writes the header, without the flag for details; the octets behind it are unchanged. Returns
    /// `false` if there is no room.
    pub fn write(&self, payload: &mut [u8]) -> bool {
        let Some(head) = payload.first_chunk_mut::<SIZE_MIN>() else {
            return false;
        };
        let (kind, hold, received) = match self.kind {
            Kind::Request => (1, 0, 0),
            Kind::Wake => (3, 0, 0),
            Kind::Reply { hold, received_at } => {
                let ns = hold.as_ns_floor().max(0);
                let hold = u32::try_from(ns).unwrap_or(u32::MAX);
                (2, hold, received_at.since_start().as_ns_floor())
            }
        };
        head[..2].copy_from_slice(&MAGIC);
        head[2..4].copy_from_slice(&[VERSION, kind]);
        head[4..8].copy_from_slice(&self.session.to_be_bytes());
        head[8..12].copy_from_slice(&self.sequence.to_be_bytes());
        head[12..16].copy_from_slice(&hold.to_be_bytes());
        head[16..].copy_from_slice(&received.to_be_bytes());
        true
    }
}

/// Turns a request into its reply of the same length, in place.
///
/// `received_at` and `now` are by the host's clock. Fails for anything other than a request,
/// including replies, so that two responders never answer each other.
pub fn answer(payload: &mut [u8], received_at: Instant, now: Instant) -> Result<(), Malformed> {
    let request = Message::parse(payload)?;
    if request.kind != Kind::Request {
        return Err(Malformed::Foreign { offset: 3 });
    }
    let kind = Kind::Reply { hold: now - received_at, received_at };
    Message { kind, ..request }.write(payload);
    Ok(())
}

#[cfg(test)]
mod tests {
    use std::vec::Vec;

    use proptest::prelude::*;

    use super::*;

    #[test]
    fn a_reply_by_hand() {
        let mut payload = [0xAA; 26];
        let request = Message { session: 0x0102_0304, sequence: 5, kind: Kind::Request };
        assert!(request.write(&mut payload));
        answer(&mut payload, Instant::from_ps(7_000), Instant::from_ps(259_000)).unwrap();
        assert_eq!(
            payload,
            [
                0x72, 0x54, 1, 2, 1, 2, 3, 4, 0, 0, 0, 5, 0, 0, 0, 252, 0, 0, 0, 0, 0, 0, 0, 7,
                0xAA, 0xAA
            ]
        );
        // A reply is not answered again.
        let again = answer(&mut payload, Instant::ZERO, Instant::ZERO);
        assert_eq!(again, Err(Malformed::Foreign { offset: 3 }));
    }

    #[test]
    fn what_is_no_message_says_where() {
        assert_eq!(Message::parse(&[0x72; 23]), Err(Malformed::TooShort { len: 23 }));
        assert_eq!(Message::parse(&[0x72; 24]), Err(Malformed::Foreign { offset: 1 }));
    }

    proptest! {
        /// Oracle: the round trip.
        #[test]
        fn what_is_written_is_read(session: u32, sequence: u32, hold: u32, at in 0..i64::MAX / 1_000) {
            let kind = Kind::Reply {
                hold: Duration::from_ns(i64::from(hold)),
                received_at: Instant::from_ps(at * 1_000),
            };
            let message = Message { session, sequence, kind };
            let mut payload = [0; 60];
            prop_assert!(message.write(&mut payload));
            prop_assert_eq!(Message::parse(&payload), Ok(message));
        }

        #[test]
        fn no_octets_make_it_panic(payload: Vec<u8>) {
            let mut copy = payload.clone();
            let answered = answer(&mut copy, Instant::ZERO, Instant::ZERO);
            prop_assert_eq!(answered.is_err(), copy == payload);
        }
    }
}
