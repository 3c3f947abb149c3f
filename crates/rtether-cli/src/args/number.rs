//! Integers on the command line, with readable error messages.

use std::net::Ipv4Addr;
use std::num::NonZeroUsize;
use std::ops::RangeInclusive;

/// Returns a parser of integers within these limits.
pub(super) fn within<T>(
    limits: RangeInclusive<T>,
) -> impl Fn(&str) -> Result<T, String> + Clone + Send + Sync + 'static
where
    T: TryFrom<i128> + Into<i128> + Copy + Send + Sync + 'static,
{
    let (least, most): (i128, i128) = ((*limits.start()).into(), (*limits.end()).into());
    move |text| {
        let number = text.parse::<i128>().ok();
        let number = number.filter(|number| (least..=most).contains(number));
        let number = number.and_then(|number| T::try_from(number).ok());
        number.ok_or_else(|| format!("write a whole number {}", span(least, most)))
    }
}

/// Leaves out an upper limit that is only that of the type.
fn span(least: i128, most: i128) -> String {
    if most >= i128::from(u32::MAX) {
        format!("from {least}")
    } else {
        format!("from {least} to {most}")
    }
}

pub(super) fn seed(text: &str) -> Result<u64, String> {
    let wrong = |_| format!("write a whole number from 0 to {}", u64::MAX);
    text.parse().map_err(wrong)
}

pub(super) fn octets(text: &str) -> Result<usize, String> {
    text.parse()
        .map_err(|_| "write a whole number of octets".into())
}

pub(super) fn core(text: &str) -> Result<usize, String> {
    text.parse()
        .map_err(|_| "write the number of a core; they count from 0".into())
}

pub(super) fn threads(text: &str) -> Result<NonZeroUsize, String> {
    text.parse()
        .map_err(|_| "write a whole number of threads, at least 1".into())
}

pub(super) fn strength(text: &str) -> Result<i32, String> {
    let wrong = |_| format!("write a whole number from {} to {}", i32::MIN, i32::MAX);
    text.parse().map_err(wrong)
}

pub(super) fn ipv4(text: &str) -> Result<Ipv4Addr, String> {
    text.parse()
        .map_err(|_| "write an IPv4 address, for example 10.0.0.2".into())
}

#[cfg(test)]
mod tests {
    use super::within;

    #[test]
    fn limits_are_said_and_kept() {
        // Oracle: the limits in the call.
        let priority = within(1_u8..=99);
        assert_eq!(priority("99"), Ok(99));
        for wrong in [
            "0",
            "100",
            "-1",
            "1e3",
            "",
            "ten",
            "99999999999999999999999",
        ] {
            let said = priority(wrong);
            assert_eq!(
                said,
                Err("write a whole number from 1 to 99".into()),
                "{wrong}"
            );
        }
        let count = within(1_u64..=u64::MAX);
        assert_eq!(count("0"), Err("write a whole number from 1".into()));
    }
}
