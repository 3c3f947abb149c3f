//! Which host this is, and how good its clock is.

use super::clock::discipline;

/// Octets that tell this host from others until it starts again; the same in all of its network
/// namespaces. None if the kernel does not say.
pub fn identity() -> Option<[u8; 16]> {
    let text = std::fs::read_to_string("/proc/sys/kernel/random/boot_id").ok()?;
    parse(text.trim())
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
}
