//! Which host this is, and how good its clock is.

use super::clock::discipline;

/// Octets that tell this host from others until it starts again; the same in all of its network
/// namespaces. None if the kernel does not say.
pub fn identity() -> Option<[u8; 16]> {
    let text = std::fs::read_to_string("/proc/sys/kernel/random/boot_id").ok()?;
    parse(text.trim())
}

/// Returns what tells the monotonic clock of this program from others: the start of the kernel, and
/// the time namespace, which may set it off (`time_namespaces(7)`). None if the kernel does not say.
pub fn clock_identity() -> Option<String> {
    Some(format!("{} {}", boot()?, namespace("time")))
}

/// Returns what tells the network of this program from others, that of other network namespaces of
/// the same host included. None if the kernel does not say.
pub fn network_identity() -> Option<String> {
    Some(format!("{} {}", boot()?, namespace("net")))
}

fn boot() -> Option<String> {
    identity().map(|octets| format!("{:032x}", u128::from_be_bytes(octets)))
}

/// Returns the name of a namespace of this process; empty where the kernel has no such namespaces,
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

/// Returns the largest error of the clock of the day in microseconds, as whoever disciplines it (NTP
/// or PTP) has told the kernel; none if nobody does.
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

    /// Oracle: what the kernel names namespaces (`namespaces(7)`).
    #[test]
    fn clocks_and_networks_have_names_of_their_own() {
        let (clock, network) = (clock_identity().unwrap(), network_identity().unwrap());
        assert_eq!(clock[..32], network[..32]);
        assert!(network[33..].starts_with("net:["), "{network}");
        assert_ne!(clock, network);
    }
}
