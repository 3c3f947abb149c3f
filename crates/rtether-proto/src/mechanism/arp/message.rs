//! Requests and replies (RFC 826).

use core::net::Ipv4Addr;

use rtether_model::mac::MacAddress;

/// Octets of a message for IPv4 over Ethernet.
pub const MESSAGE_SIZE: usize = 28;

/// Hardware type Ethernet, protocol type IPv4, and the lengths of both addresses.
const PREFIX: [u8; 6] = [0, 1, 0x08, 0x00, 6, 4];

/// The two addresses of a station.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Address {
    /// On Ethernet.
    pub hardware: MacAddress,
    /// In IPv4.
    pub protocol: Ipv4Addr,
}

/// What a message is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Operation {
    /// Who has the address of the target?
    Request,
    /// The sender has it.
    Reply,
}

/// A message of ARP.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Message {
    /// Request or reply.
    pub operation: Operation,
    /// Who sends it.
    pub sender: Address,
    /// Whom it is about; in a request the hardware address is zero.
    pub target: Address,
}

impl Message {
    /// Returns the request of a station for the address of another one.
    pub const fn request(own: Address, to: Ipv4Addr) -> Self {
        Self {
            operation: Operation::Request,
            sender: own,
            target: Address { hardware: MacAddress([0; 6]), protocol: to },
        }
    }

    /// Returns the reply of a station with these addresses, if this is a request for it.
    pub fn answer(&self, own: Address) -> Option<Self> {
        let asks = self.operation == Operation::Request && self.target.protocol == own.protocol;
        asks.then_some(Self { operation: Operation::Reply, sender: own, target: self.sender })
    }

    /// Returns the octets behind the `EtherType` 0x0806.
    pub fn to_octets(&self) -> [u8; MESSAGE_SIZE] {
        let mut octets = [0; MESSAGE_SIZE];
        octets[..6].copy_from_slice(&PREFIX);
        octets[7] = match self.operation {
            Operation::Request => 1,
            Operation::Reply => 2,
        };
        for (address, own) in [self.sender, self.target].iter().zip([8, 18]) {
            octets[own..own + 6].copy_from_slice(&address.hardware.0);
            octets[own + 6..own + 10].copy_from_slice(&address.protocol.octets());
        }
        octets
    }

    /// Reads a message, which padding may follow; `None` if it is short, for other addresses than
    /// Ethernet and IPv4, or neither a request nor a reply.
    pub fn parse(octets: &[u8]) -> Option<Self> {
        let octets: &[u8; MESSAGE_SIZE] = octets.first_chunk()?;
        let operation = match (&octets[..6] == PREFIX.as_slice(), octets[6], octets[7]) {
            (true, 0, 1) => Operation::Request,
            (true, 0, 2) => Operation::Reply,
            _ => return None,
        };
        let address = |at: usize| {
            Some(Address {
                hardware: MacAddress(*octets.get(at..)?.first_chunk()?),
                protocol: Ipv4Addr::from(*octets.get(at + 6..)?.first_chunk::<4>()?),
            })
        };
        Some(Self { operation, sender: address(8)?, target: address(18)? })
    }
}
