//! The keys of conditions on the headers of frames.

use super::{Key, Kind, Optional, Words, key};

const PORTS: Kind = Kind::Any(&[Kind::Count { min: 0, max: 65_535 }, Kind::Text]);
const PROTOCOLS: Kind = Kind::Any(&[Kind::Word(&PROTOCOL), Kind::Count { min: 0, max: 255 }]);

/// Numbers of protocols above IP.
pub(crate) static PROTOCOL: Words<u8> =
    Words::new("protocol", &[("icmp", 1), ("tcp", 6), ("udp", 17)]);

pub(super) const DSCP: Key = key(
    "dscp",
    Kind::Count { min: 0, max: 63 },
    Optional,
    "46",
    "Differentiated services code point.",
);

pub(super) const PROTOCOL_KEY: Key =
    key(PROTOCOL.key, PROTOCOLS, Optional, "udp", "Protocol above IP, by name or number.");

pub(super) const PORT_RANGE: Key =
    key("port", PORTS, Optional, "5000", "Destination port, or a range such as `5000-5010`.");

pub(super) const SOURCE_PORT: Key =
    key("source_port", PORTS, Optional, "5000", "Source port, or a range.");

pub(super) const ETHERTYPE: Key =
    key("ethertype", Kind::Text, Optional, "0x88b8", "EtherType, in hexadecimal.");
