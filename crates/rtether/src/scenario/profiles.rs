//! Built-in stacks: devices of the papers that need no declaration.

use rtether_model::network::{EndStation, Stack};
use rtether_model::quantity::Duration;

/// A built-in stack.
pub(super) struct Profile {
    pub(super) name: &'static str,
    pub(super) description: &'static str,
    /// Where the numbers come from.
    pub(super) source: &'static str,
    pub(super) station: fn() -> EndStation,
}

/// All of them, in the order of the reference. Names begin with that of their paper, so that a
/// scenario does not take one by chance.
pub(super) static PROFILES: &[Profile] = &[
    Profile {
        name: "skeie-workstation",
        description: "5000 packets/s, sent and received together.",
        source: "Skeie, Johannessen and Holmeide, IEEE Trans. Industrial Informatics 2(1), 2006, section III",
        station: || ip_rate(5_000),
    },
    Profile {
        name: "skeie-controller",
        description: "20000 packets/s, sent and received together.",
        source: "Skeie, Johannessen and Holmeide, IEEE Trans. Industrial Informatics 2(1), 2006, section III",
        station: || ip_rate(20_000),
    },
];

/// Returns the built-in stack of this name.
pub(super) fn find(name: &str) -> Option<&'static Profile> {
    PROFILES.iter().find(|profile| profile.name == name)
}

/// Returns a station that handles so many packets in a second, whatever their size.
fn ip_rate(packets_per_second: i64) -> EndStation {
    let service = Duration::from_secs(1) / packets_per_second;
    EndStation::new(Stack::IpRate { service })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_unique_and_not_taken() {
        for (at, profile) in PROFILES.iter().enumerate() {
            assert_ne!(profile.name, "zero");
            assert!(
                PROFILES[..at]
                    .iter()
                    .all(|other| other.name != profile.name)
            );
        }
    }

    #[test]
    fn rates_are_those_of_the_catalogue() {
        // Catalogue 1a, S2: 200 us and 50 us a packet.
        for (name, us) in [("skeie-workstation", 200), ("skeie-controller", 50)] {
            let station = (find(name).expect("in the table").station)();
            let service = Duration::from_us(us);
            assert_eq!(station.stack, Stack::IpRate { service });
        }
    }
}
