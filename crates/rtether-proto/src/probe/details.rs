//! Optional details in a reply: the identity of the answering host, the quality of its clock, and
//! the times at which the message passed points in it.
//!
//! A request asks for details by a bit in its fourth octet ([`ask`]) and must have room for them
//! behind the header. Layout of the message:
//!
//! | octets | |
//! |---|---|
//! | 24 to 39 | identity of the host until it reboots |
//! | 40 to 43 | largest error of its clock in microseconds; all ones if it is not synchronized |
//! | 44 to 51 | the kernel's timestamp of the request, zero if none |
//! | 52 to 59 | when the program received the request |
//! | 60 to 67 | when the program sent this reply |
//! | 68 to 71 | sequence of an earlier reply, for which the kernel has timestamps by now |
//! | 72 to 79 | when that reply entered the queueing discipline, zero if unknown |
//! | 80 to 87 | when that reply was handed to the driver, zero if unknown |
//!
//! Numbers are big-endian; times are in nanoseconds since 1970 by the answering host.

use super::message::{KIND_AT, SIZE_MIN, WITH_DETAILS};

/// Size of the smallest message with details, in octets.
pub const SIZE: usize = SIZE_MIN + 64;

/// Nanoseconds since 1970.
pub type RealNs = i64;

/// Timestamps of a reply sent earlier.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Earlier {
    /// Its sequence number.
    pub sequence: u32,
    /// When it entered the queueing discipline.
    pub queued_at: Option<RealNs>,
    /// When it was handed to the driver.
    pub driver_at: Option<RealNs>,
}

/// Details of a reply.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Details {
    /// Identifies a host between two boots.
    pub host: [u8; 16],
    /// Largest error of the clock in microseconds; `None` if it is not synchronized.
    pub clock_error_us: Option<u32>,
    /// The kernel's timestamp of the request.
    pub arrived_at: Option<RealNs>,
    /// When the program received the request.
    pub read_at: RealNs,
    /// When the program sent this reply.
    pub answered_at: RealNs,
    /// Timestamps of an earlier reply.
    pub earlier: Earlier,
}

/// Asks for details in a request; returns `false` if there is no room for them.
pub fn ask(request: &mut [u8]) -> bool {
    let Some(head) = request.first_chunk_mut::<SIZE>() else {
        return false;
    };
    head[KIND_AT] |= WITH_DETAILS;
    head[SIZE_MIN..].fill(0);
    true
}

/// Returns whether a message has details, or asks for them.
pub fn are_in(message: &[u8]) -> bool {
    message.len() >= SIZE && message[KIND_AT] & WITH_DETAILS != 0
}

impl Details {
    /// Parses the details of a message; `None` if it has none.
    pub fn parse(message: &[u8]) -> Option<Self> {
        if !are_in(message) {
            return None;
        }
        let (host, rest) = message[SIZE_MIN..].split_first_chunk::<16>()?;
        let (error, rest) = rest.split_first_chunk::<4>()?;
        let (arrived, rest) = time(rest)?;
        let (read_at, rest) = time(rest)?;
        let (answered_at, rest) = time(rest)?;
        let (sequence, rest) = rest.split_first_chunk::<4>()?;
        let (queued, rest) = time(rest)?;
        let (driver, _) = time(rest)?;
        let known = |at: RealNs| (at != 0).then_some(at);
        let error = u32::from_be_bytes(*error);
        Some(Self {
            host: *host,
            clock_error_us: (error != u32::MAX).then_some(error),
            arrived_at: known(arrived),
            read_at,
            answered_at,
            earlier: Earlier {
                sequence: u32::from_be_bytes(*sequence),
                queued_at: known(queued),
                driver_at: known(driver),
            },
        })
    }

    /// Writes the details into a message; returns `false` if there is no room.
    pub fn write(&self, message: &mut [u8]) -> bool {
        let Some(head) = message.first_chunk_mut::<SIZE>() else {
            return false;
        };
        head[KIND_AT] |= WITH_DETAILS;
        let error = self.clock_error_us.unwrap_or(u32::MAX);
        let zero_or = |at: Option<RealNs>| at.unwrap_or(0).to_be_bytes();
        head[24..40].copy_from_slice(&self.host);
        head[40..44].copy_from_slice(&error.to_be_bytes());
        head[44..52].copy_from_slice(&zero_or(self.arrived_at));
        head[52..60].copy_from_slice(&self.read_at.to_be_bytes());
        head[60..68].copy_from_slice(&self.answered_at.to_be_bytes());
        head[68..72].copy_from_slice(&self.earlier.sequence.to_be_bytes());
        head[72..80].copy_from_slice(&zero_or(self.earlier.queued_at));
        head[80..].copy_from_slice(&zero_or(self.earlier.driver_at));
        true
    }
}

fn time(octets: &[u8]) -> Option<(RealNs, &[u8])> {
    let (time, rest) = octets.split_first_chunk::<8>()?;
    Some((RealNs::from_be_bytes(*time), rest))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use std::vec::Vec;

    use super::super::message::{Kind, Message};
    use super::*;

    fn message() -> Message {
        Message { session: 1, sequence: 2, kind: Kind::Request }
    }

    #[test]
    fn a_request_that_asks_is_a_request_all_the_same() {
        let mut payload = [0xAA; SIZE];
        assert!(message().write(&mut payload) && !are_in(&payload));
        assert!(ask(&mut payload) && are_in(&payload));
        assert_eq!(Message::parse(&payload), Ok(message()));
        assert_eq!(
            Details::parse(&payload),
            Some(Details { clock_error_us: Some(0), ..Details::default() })
        );
        assert!(!ask(&mut payload[..SIZE - 1]));
        assert_eq!(Details::parse(&payload[..SIZE - 1]), None);
    }

    proptest! {
        /// Oracle: the round trip.
        #[test]
        fn what_is_written_is_read(
            host: [u8; 16],
            error in proptest::option::of(0..u32::MAX),
            times in [1..i64::MAX, 1..i64::MAX, 1..i64::MAX, 1..i64::MAX, 1..i64::MAX],
            sequence: u32,
            is_stamped: bool,
        ) {
            let details = Details {
                host,
                clock_error_us: error,
                arrived_at: is_stamped.then_some(times[0]),
                read_at: times[1],
                answered_at: times[2],
                earlier: Earlier {
                    sequence,
                    queued_at: is_stamped.then_some(times[3]),
                    driver_at: is_stamped.then_some(times[4]),
                },
            };
            let mut payload = [0; SIZE + 3];
            prop_assert!(message().write(&mut payload) && details.write(&mut payload));
            prop_assert_eq!(Details::parse(&payload), Some(details));
            prop_assert_eq!(Message::parse(&payload), Ok(message()));
        }

        #[test]
        fn no_octets_make_it_panic(mut payload: Vec<u8>) {
            let _ = Details::parse(&payload);
            let _ = ask(&mut payload);
        }
    }
}
