//! Ethernet addresses.

use core::fmt;
use core::str::FromStr;

/// An Ethernet address.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct MacAddress(pub [u8; 6]);

impl fmt::Display for MacAddress {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (index, octet) in self.0.iter().enumerate() {
            let colon = if index > 0 { ":" } else { "" };
            write!(f, "{colon}{octet:02x}")?;
        }
        Ok(())
    }
}

/// A text that is not an Ethernet address.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ParseMacError;

impl fmt::Display for ParseMacError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("an Ethernet address has six octets, such as 02:00:00:00:00:01")
    }
}

impl core::error::Error for ParseMacError {}

impl FromStr for MacAddress {
    type Err = ParseMacError;

    fn from_str(text: &str) -> Result<Self, ParseMacError> {
        let mut octets = [0; 6];
        let mut parts = text.split([':', '-']);
        for octet in &mut octets {
            let part = parts.next().filter(|part| part.len() == 2);
            let value = part.and_then(|part| u8::from_str_radix(part, 16).ok());
            *octet = value.ok_or(ParseMacError)?;
        }
        if parts.next().is_some() {
            return Err(ParseMacError);
        }
        Ok(Self(octets))
    }
}

#[cfg(test)]
mod tests {
    use std::string::ToString;

    use super::*;

    #[test]
    fn addresses_are_read_and_written() {
        let text = "02:0a:ff:00:10:01";
        let address: MacAddress = text.parse().expect("an address");
        assert_eq!(address.0, [2, 10, 255, 0, 16, 1]);
        assert_eq!(address.to_string(), text);
        for wrong in ["", "02:0a:ff:00:10", "02:0a:ff:00:10:01:02", "2:0a:ff:00:10:01", "plc"] {
            assert_eq!(wrong.parse::<MacAddress>(), Err(ParseMacError), "{wrong}");
        }
    }
}
