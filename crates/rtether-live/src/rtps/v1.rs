//! Identity of a participant of RTPS 1.0 on this host.

use std::hash::{BuildHasher, RandomState};
use std::net::SocketAddr;

use rtether_rtps::guid::GuidPrefix;
use rtether_rtps::locator::Locator;
use rtether_rtps::wire::v1::{Role, Source};

/// Returns the prefix of a participant at an address: the host is the address, as in ORTE, and the
/// number of the application is random.
pub(super) fn prefix(place: Option<Locator>, role: Role) -> GuidPrefix {
    let host = match place {
        Some(Locator::Udp(SocketAddr::V4(place))) => place.ip().to_bits(),
        _ => 0,
    };
    // The kernel draws the keys of the standard library's hashes.
    let [a, b, c, ..] = RandomState::new().hash_one(host).to_be_bytes();
    Source::new(host, u32::from_be_bytes([0, a, b, c]), role).prefix()
}
