//! Numbers on the command line, with readable error messages.

use std::net::Ipv4Addr;
use std::num::NonZeroUsize;
use std::ops::RangeInclusive;

/// Returns a parser of integers within these limits.
pub(crate) fn within<T>(
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

pub(crate) fn seed(text: &str) -> Result<u64, String> {
    let wrong = |_| format!("write a whole number from 0 to {}", u64::MAX);
    text.parse().map_err(wrong)
}

pub(crate) fn octets(text: &str) -> Result<usize, String> {
    text.parse().map_err(|_| "write a whole number of octets".into())
}

pub(crate) fn core(text: &str) -> Result<usize, String> {
    text.parse().map_err(|_| "write the number of a core; they count from 0".into())
}

pub(crate) fn threads(text: &str) -> Result<NonZeroUsize, String> {
    text.parse().map_err(|_| "write a whole number of threads, at least 1".into())
}

pub(crate) fn strength(text: &str) -> Result<i32, String> {
    let wrong = |_| format!("write a whole number from {} to {}", i32::MIN, i32::MAX);
    text.parse().map_err(wrong)
}

pub(crate) fn ipv4(text: &str) -> Result<Ipv4Addr, String> {
    text.parse().map_err(|_| "write an IPv4 address, for example 10.0.0.2".into())
}

/// Parses a share between zero and one, both excluded: `1e-3`, `0.1 %`, `100 ppm`.
pub(crate) fn share(text: &str) -> Result<f64, String> {
    let (number, parts) = [("%", 1e2), ("ppm", 1e6), ("", 1.0)]
        .into_iter()
        .find_map(|(name, parts)| Some((text.strip_suffix(name)?.trim_end(), parts)))
        .unwrap_or((text, 1.0));
    let value = number.parse::<f64>().map(|value| value / parts);
    match value {
        Ok(value) if value > 0.0 && value < 1.0 => Ok(value),
        Ok(_) | Err(_) => {
            Err("write a ratio between 0 and 1, for example 1e-3, 0.1% or 100ppm".into())
        }
    }
}

/// Parses a share of at least a millionth, the smallest that a test can resolve.
pub(crate) fn tolerance(text: &str) -> Result<f64, String> {
    match share(text)? {
        value if value < 1e-6 => Err("write at least 1e-6, for example 2% or 1e-3".into()),
        value => Ok(value),
    }
}

#[cfg(test)]
mod tests {
    use super::within;

    #[test]
    fn limits_are_said_and_kept() {
        // Oracle: the limits in the call.
        let priority = within(1_u8..=99);
        assert_eq!(priority("99"), Ok(99));
        for wrong in ["0", "100", "-1", "1e3", "", "ten", "99999999999999999999999"] {
            let said = priority(wrong);
            assert_eq!(said, Err("write a whole number from 1 to 99".into()), "{wrong}");
        }
        let count = within(1_u64..=u64::MAX);
        assert_eq!(count("0"), Err("write a whole number from 1".into()));
    }
}
