//! Quantities and the fields of tags on the command line.

use rtether_testbed::load::Bytes;
use rtether_testbed::{BitRate, Duration, Pcp, Vid};

/// Parses a time.
pub(crate) fn time(text: &str) -> Result<Duration, String> {
    rtether::scenario::time(text)
}

/// Parses a time above zero.
pub(crate) fn positive(text: &str) -> Result<Duration, String> {
    match time(text)? {
        Duration::ZERO => Err("write a time above zero".into()),
        time => Ok(time),
    }
}

/// Returns a parser of times up to this many seconds.
pub(crate) fn at_most(
    seconds: i64,
) -> impl Fn(&str) -> Result<Duration, String> + Clone + Send + Sync + 'static {
    move |text| match time(text)? {
        time if time > Duration::from_secs(seconds) => Err(format!("write at most {seconds} s")),
        time => Ok(time),
    }
}

/// Parses a rate.
pub(crate) fn rate(text: &str) -> Result<BitRate, String> {
    rtether::scenario::rate(text)
}

/// Parses a size.
pub(crate) fn size(text: &str) -> Result<Bytes, String> {
    rtether::scenario::size(text)
}

/// Parses a priority code point.
pub(crate) fn pcp(text: &str) -> Result<Pcp, String> {
    let value = text.parse().ok().and_then(Pcp::new);
    value.ok_or_else(|| "write a number from 0 to 7".into())
}

/// Parses a VLAN identifier.
pub(crate) fn vid(text: &str) -> Result<Vid, String> {
    let value = text.parse().ok().and_then(Vid::new);
    value.ok_or_else(|| "write a number from 0 to 4094".into())
}
