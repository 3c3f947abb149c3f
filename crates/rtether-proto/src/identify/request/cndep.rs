//! CNDEP: is the board there? The answer repeats nothing of the request, so that it belongs to the
//! latest one.

use alloc::vec::Vec;

use super::answer::{Malformed, Outcome};
use super::carrier::Carrier;
use super::message::{Heard, Request};
use crate::probe::cndep::{Body, Packet, Profile};

const CARRIER: Carrier = Carrier::Udp;

/// Builds the command that changes nothing.
pub(super) fn request() -> Request {
    let mut octets = Vec::new();
    Packet { sequence: 0, body: Body::Test }.write(&Profile::DEFAULT, &mut octets);
    Request { frame: CARRIER.frame(octets.len()), octets }
}

/// Reads an answer.
pub(super) fn read(octets: &[u8]) -> Result<Heard, Malformed> {
    let packet = Packet::parse(octets, &Profile::DEFAULT);
    let outcome = match packet.map_err(|_| Malformed::Unexpected("packet"))?.body {
        Body::Ok => Outcome::Done,
        Body::Error(fault) => Outcome::Refused(fault as u32),
        Body::Test | Body::Get { .. } | Body::Set { .. } | Body::Data { .. } => {
            return Err(Malformed::Unexpected("code"));
        }
    };
    Ok(Heard { token: None, frame: CARRIER.frame(octets.len()), outcome })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Oracle: octets of the profile, by hand.
    #[test]
    fn a_test_by_hand() {
        assert_eq!(request().octets, [2, 1, 3]);
        assert_eq!(read(&[2, 0x81, 3]).map(|own| own.outcome), Ok(Outcome::Done));
        assert_eq!(read(&[2, 0x8F, 4, 3]).map(|own| own.outcome), Ok(Outcome::Refused(4)));
        // A request, data that nobody asked for, and no packet.
        assert_eq!(read(&[2, 1, 3]), Err(Malformed::Unexpected("code")));
        assert_eq!(read(&[2, 0x82, 7, 3]), Err(Malformed::Unexpected("code")));
        assert_eq!(read(&[2]), Err(Malformed::Unexpected("packet")));
    }
}
