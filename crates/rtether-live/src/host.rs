//! Which host this is, and how good its clock is.

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
    // SAFETY: all zeros are a valid `timex`, with which nothing is changed.
    let mut state: libc::timex = unsafe { std::mem::zeroed() };
    // SAFETY: the pointer is to a live structure.
    let result = unsafe { libc::adjtimex(&raw mut state) };
    let is_synchronized = result >= 0 && state.status & libc::STA_UNSYNC == 0;
    if result == libc::TIME_ERROR || !is_synchronized {
        return None;
    }
    u32::try_from(state.maxerror).ok()
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
