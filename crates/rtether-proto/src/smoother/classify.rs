//! Which packets are real-time.

use super::Class;

/// How a packet is classified by its IP header.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Rule {
    /// Real-time if the type-of-service octet equals one of two values under a mask (the Linux
    /// variant).
    TypeOfService {
        /// Bits that are compared.
        mask: u8,
        /// Values that mean real-time.
        values: [u8; 2],
    },
    /// Real-time if the protocol is this one (the NT variant, where a program cannot set the type
    /// of service): 17 is UDP.
    Protocol(u8),
}

impl Rule {
    /// Expedited forwarding (0xb8) or the older low-delay bit alone (0x10), ECN bits ignored.
    pub const LINUX: Self = Self::TypeOfService {
        mask: 0xfc,
        values: [0xb8, 0x10],
    };
    /// UDP is real-time, everything else (TCP, ICMP) is not.
    pub const NT: Self = Self::Protocol(17);

    /// Returns the class of a packet with this type-of-service octet and protocol number.
    pub fn classify(self, type_of_service: u8, protocol: u8) -> Class {
        let is_real_time = match self {
            Self::TypeOfService { mask, values } => values.contains(&(type_of_service & mask)),
            Self::Protocol(real_time) => protocol == real_time,
        };
        if is_real_time {
            Class::RealTime
        } else {
            Class::Bulk
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_two_variants_read_different_fields() {
        // Oracle: RFC 3246 (EF is 46, so the octet is 184), RFC 1349 (low delay is 0x10); protocol
        // numbers 1, 6, 17 of IANA.
        for (type_of_service, expected) in [
            (0xb8, Class::RealTime),
            (0xb9, Class::RealTime),
            (0x10, Class::RealTime),
            (0x18, Class::Bulk),
            (0x00, Class::Bulk),
            (0x28, Class::Bulk),
        ] {
            assert_eq!(Rule::LINUX.classify(type_of_service, 6), expected);
        }
        assert_eq!(Rule::NT.classify(0, 17), Class::RealTime);
        assert_eq!(Rule::NT.classify(0xb8, 6), Class::Bulk);
        assert_eq!(Rule::NT.classify(0xb8, 1), Class::Bulk);
    }
}
