//! Who may speak for whom: a participant from the addresses that it has announced, and nobody else.
//!
//! Addresses are compared, not ports. A neighbor on the same link can still write any address into his
//! packets; that takes protection by cryptography.

use super::{Participant, Remote};
use crate::discovery::ParticipantData;
use crate::guid::GuidPrefix;
use crate::locator::{Locator, Origin};

impl Participant {
    /// Returns whether what comes from there may be said by a participant. Of one that is not known
    /// nobody can tell.
    pub(super) fn may_speak(&self, from: GuidPrefix, origin: Origin) -> bool {
        if from == self.config.prefix {
            return self.config.any_source || self.is_own(origin);
        }
        let remote = self.remotes.get(&from);
        remote.is_none_or(|remote| self.is_address_of(&remote.data, origin))
    }

    /// Returns whether a participant is at an address, as it says itself.
    ///
    /// Some send on their own host by loopback although they announce other addresses of it, and a host
    /// with several chooses by its routes: what comes from this host may be said by all of this host.
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

/// Returns where a participant says that it is.
fn addresses(data: &ParticipantData) -> impl Iterator<Item = Origin> {
    let all = data.metatraffic_unicast.iter();
    all.chain(&data.default_unicast).map(Locator::origin)
}

/// Returns whether a participant announces an address, or has announced itself from there.
pub(super) fn is_at(remote: &Remote, origin: Origin) -> bool {
    remote.origin == origin || addresses(&remote.data).any(|address| address == origin)
}
