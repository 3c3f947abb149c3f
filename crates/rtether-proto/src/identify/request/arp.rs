//! ARP: who has the address of the device? One request, and who answers has it.
//!
//! A reply repeats nothing of its request (RFC 826), so that it belongs to the latest one.

use core::net::Ipv4Addr;

use rtether_model::quantity::Bytes;

use super::answer::Outcome;
use super::message::{Heard, Request};
use crate::mechanism::arp::{Address, Message, Operation};

/// Request and reply are padded to the smallest frame.
pub(super) const FRAME: Bytes = Bytes::new(64);

/// Builds the request of a host for the address of a device.
pub(super) fn request(own: Address, device: Ipv4Addr) -> Request {
    Request { octets: Message::request(own, device).to_octets().to_vec(), frame: FRAME }
}

/// Reads a message; those that do not tell this host of the device are no answers.
pub(super) fn read(octets: &[u8], own: Address, device: Ipv4Addr) -> Option<Heard> {
    let found = Message::parse(octets)?;
    let is_answer = found.operation == Operation::Reply
        && found.sender.protocol == device
        && found.target == own;
    is_answer.then_some(Heard { token: None, frame: FRAME, outcome: Outcome::Done })
}

#[cfg(test)]
mod tests {
    use super::*;
    use rtether_model::mac::MacAddress;

    /// Oracle: RFC 826, by hand.
    #[test]
    fn replies_of_the_device_are_answers() {
        let [near, far] = [1, 2].map(|host| Address {
            hardware: MacAddress([2, 0, 0, 0, 0, host]),
            protocol: Ipv4Addr::new(10, 0, 0, host),
        });
        let asked = request(near, far.protocol);
        let head = [0, 1, 8, 0, 6, 4, 0, 1, 2, 0, 0, 0, 0, 1, 10, 0, 0, 1];
        assert_eq!(asked.octets, [&head[..], &[0; 6], &[10, 0, 0, 2]].concat());
        let reply = Message::parse(&asked.octets).unwrap().answer(far).unwrap().to_octets();
        let heard = read(&reply, near, far.protocol).unwrap();
        assert_eq!((heard.token, heard.frame, heard.outcome), (None, FRAME, Outcome::Done));
        // Its own request, a reply to another host, and one of another device.
        assert_eq!(read(&asked.octets, near, far.protocol), None);
        assert_eq!(read(&reply, far, far.protocol), None);
        assert_eq!(read(&reply, near, near.protocol), None);
        assert_eq!(read(&reply[..27], near, far.protocol), None);
    }
}
