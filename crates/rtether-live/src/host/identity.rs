//! Identity of this host, and the quality of its clock.

use super::clock::discipline;

/// Returns octets that identify this host until it reboots; the same in all its network namespaces.
/// `None` if the kernel does not say.
pub fn identity() -> Option<[u8; 16]> {
    let text = std::fs::read_to_string("/proc/sys/kernel/random/boot_id").ok()?;
    parse(text.trim())
}

/// Returns the identity of the monotonic clock: the boot of the kernel, and the time namespace,
/// which may offset it (`time_namespaces(7)`). `None` if the kernel does not say.
pub fn clock_identity() -> Option<String> {
    Some(format!("{} {}", boot()?, namespace("time")))
}

/// Returns the identity of the network namespace, unique among hosts. `None` if the kernel does not
/// say.
pub fn network_identity() -> Option<String> {
    Some(format!("{} {}", boot()?, namespace("net")))
}

fn boot() -> Option<String> {
    identity().map(|octets| format!("{:032x}", u128::from_be_bytes(octets)))
}

/// Returns the name of a namespace of this process; empty if the kernel does not support the kind,
/// so that there is only one.
fn namespace(kind: &str) -> String {
    let link = std::fs::read_link(format!("/proc/self/ns/{kind}"));
    link.map_or_else(|_| String::new(), |name| name.display().to_string())
}

fn parse(text: &str) -> Option<[u8; 16]> {
    let digits: String = text.chars().filter(|c| *c != '-').collect();
    let value = u128::from_str_radix(&digits, 16).ok()?;
    (digits.len() == 32).then_some(value.to_be_bytes())
}

/// Returns the largest error of the clock of the day in microseconds, as set by NTP or PTP; `None`
/// if it is not synchronized.
pub fn clock_error_us() -> Option<u32> {
    let discipline = discipline().ok().filter(|found| found.is_synchronized)?;
    u32::try_from(discipline.error_max.as_ps() / 1_000_000).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_identity_is_read() {
        let text = "00010203-0405-0607-0809-0a0b0c0d0e0f";
        let expected = [0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15];
        assert_eq!(parse(text), Some(expected));
        assert_eq!(parse("0001"), None);
        assert_eq!(identity(), identity());
    }

    /// Oracle: the kernel's names of namespaces (`namespaces(7)`).
    #[test]
    fn clocks_and_networks_have_names_of_their_own() {
        let (clock, network) = (clock_identity().unwrap(), network_identity().unwrap());
        assert_eq!(clock[..32], network[..32]);
        assert!(network[33..].starts_with("net:["), "{network}");
        assert_ne!(clock, network);
    }
}
