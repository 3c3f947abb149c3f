//! Source checks: a participant may send only from addresses that it has announced.
//!
//! Addresses are compared, not ports. A station on the same link can still forge source addresses;
//! preventing that takes cryptography.

use super::{Participant, Remote};
use crate::discovery::ParticipantData;
use crate::guid::GuidPrefix;
use crate::locator::{Locator, Origin};

impl Participant {
    /// Returns whether a participant may send from this address. Unknown participants always may.
    pub(super) fn may_speak(&self, from: GuidPrefix, origin: Origin) -> bool {
        if from == self.config.prefix {
            return self.config.any_source || self.is_own(origin);
        }
        let remote = self.remotes.get(&from);
        remote.is_none_or(|remote| self.is_address_of(&remote.data, origin))
    }

    /// Returns whether a participant has announced an address.
    ///
    /// Some implementations send from loopback on their own host although they announce other
    /// addresses, and a host with several addresses chooses by its routes: the addresses of this
    /// host count as one.
    pub(super) fn is_address_of(&self, data: &ParticipantData, origin: Origin) -> bool {
        if self.config.any_source {
            return true;
        }
        let mut announced = addresses(data);
        if self.is_own(origin) {
            announced.any(|address| self.is_own(address))
        } else {
            announced.any(|address| address == origin)
        }
    }

    /// Returns whether a participant was first heard from an address of this host, and so uses its
    /// clocks.
    pub fn is_on_this_host(&self, prefix: GuidPrefix) -> bool {
        let remote = self.remotes.get(&prefix);
        prefix == self.config.prefix || remote.is_some_and(|remote| self.is_own(remote.origin))
    }

    /// Returns whether an address is one of this host.
    pub(super) fn is_own(&self, origin: Origin) -> bool {
        let is_told = match origin {
            Origin::Host => true,
            Origin::Ip(address) => {
                address.is_loopback() || self.config.own_addresses.contains(&address)
            }
            Origin::Station(_) => false,
        };
        let mut own = self.config.metatraffic_unicast.iter();
        is_told || own.any(|own| own.origin() == origin)
    }
}

/// Returns the addresses that a participant has announced.
fn addresses(data: &ParticipantData) -> impl Iterator<Item = Origin> {
    let all = data.metatraffic_unicast.iter();
    all.chain(&data.default_unicast).map(Locator::origin)
}

/// Returns whether a participant has announced an address, or was first heard from there.
pub(super) fn is_at(remote: &Remote, origin: Origin) -> bool {
    remote.origin == origin || addresses(&remote.data).any(|address| address == origin)
}
