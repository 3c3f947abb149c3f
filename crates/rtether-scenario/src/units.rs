//! Parses quantities from text, exactly or not at all.
//!
//! `250 us`, `0.25 ms`, `100 Mbit/s`, `1.5 kB`, `20 m`, `1440 packets/s`. A number is read as a
//! decimal fraction and multiplied by its unit in integers; a value that is not a whole number of
//! base units (0.3 ps) is an error and never rounded. One exception: the interval of a packet rate
//! is rounded to the nearest picosecond.

use std::ops::Range;

use super::help::Help;

mod decimal;
#[cfg(test)]
mod tests;

use decimal::Decimal;

/// What a value measures.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Quantity {
    /// Base unit: picosecond.
    Time,
    /// Base unit: bit per second.
    BitRate,
    /// Base unit: one per second.
    PacketRate,
    /// Base unit: octet.
    Size,
    /// Base unit: millimetre.
    Length,
    /// Base unit: one part of a billion.
    Ratio,
}

impl Quantity {
    pub(super) const ALL: [Self; 6] =
        [Self::Time, Self::BitRate, Self::PacketRate, Self::Size, Self::Length, Self::Ratio];

    /// Returns the name with its article.
    pub(super) const fn name(self) -> &'static str {
        match self {
            Self::Time => "a time",
            Self::BitRate => "a bit rate",
            Self::PacketRate => "a packet rate",
            Self::Size => "a size",
            Self::Length => "a length",
            Self::Ratio => "a ratio",
        }
    }

    /// Returns an example value of this quantity.
    pub(super) const fn example(self) -> &'static str {
        match self {
            Self::Time => "2 ms",
            Self::BitRate => "100 Mbit/s",
            Self::PacketRate => "1440 packets/s",
            Self::Size => "64 B",
            Self::Length => "20 m",
            Self::Ratio => "0.1 %",
        }
    }

    /// Returns the unit to propose for a bare number, and the list of usual units.
    pub(super) const fn usual_units(self) -> (&'static str, &'static str) {
        match self {
            Self::Time => ("ms", "ps, ns, us, ms or s"),
            Self::BitRate => ("Mbit/s", "bit/s, kbit/s, Mbit/s or Gbit/s"),
            Self::PacketRate => ("packets/s", "packets/s or Hz"),
            Self::Size => ("B", "B, kB, MB, KiB or MiB"),
            Self::Length => ("m", "m or km"),
            Self::Ratio => ("%", "%, ppm or ppb"),
        }
    }

    const fn largest(self) -> (u128, &'static str) {
        match self {
            Self::Time => (864_000_000_000_000_000, "10 days"),
            Self::BitRate => (1_000_000_000_000, "1000 Gbit/s"),
            Self::PacketRate => (1_000_000_000_000, "10^12 packets/s"),
            Self::Size => (1_000_000_000_000, "1000 GB"),
            Self::Length => (1_000_000_000, "1000 km"),
            Self::Ratio => (1_000_000_000, "1"),
        }
    }

    const fn smallest(self) -> &'static str {
        match self {
            Self::Time => "1 ps",
            Self::BitRate => "1 bit/s",
            Self::PacketRate => "1 packets/s",
            Self::Size => "1 B",
            Self::Length => "1 mm",
            Self::Ratio => "1 ppb",
        }
    }

    pub(super) fn units(self) -> impl Iterator<Item = &'static str> {
        UNITS.iter().filter(move |(_, quantity, _)| *quantity == self).map(|(name, ..)| *name)
    }
}

/// Every unit: name, quantity, and number of base units.
const UNITS: &[(&str, Quantity, u128)] = &[
    ("ps", Quantity::Time, 1),
    ("ns", Quantity::Time, 1_000),
    ("us", Quantity::Time, 1_000_000),
    ("µs", Quantity::Time, 1_000_000),
    ("μs", Quantity::Time, 1_000_000),
    ("ms", Quantity::Time, 1_000_000_000),
    ("s", Quantity::Time, 1_000_000_000_000),
    ("min", Quantity::Time, 60_000_000_000_000),
    ("h", Quantity::Time, 3_600_000_000_000_000),
    ("bit/s", Quantity::BitRate, 1),
    ("kbit/s", Quantity::BitRate, 1_000),
    ("Mbit/s", Quantity::BitRate, 1_000_000),
    ("Gbit/s", Quantity::BitRate, 1_000_000_000),
    ("bit", Quantity::BitRate, 1),
    ("kbit", Quantity::BitRate, 1_000),
    ("mbit", Quantity::BitRate, 1_000_000),
    ("gbit", Quantity::BitRate, 1_000_000_000),
    ("Mbit", Quantity::BitRate, 1_000_000),
    ("Gbit", Quantity::BitRate, 1_000_000_000),
    ("packets/s", Quantity::PacketRate, 1),
    ("packet/s", Quantity::PacketRate, 1),
    ("frames/s", Quantity::PacketRate, 1),
    ("/s", Quantity::PacketRate, 1),
    ("Hz", Quantity::PacketRate, 1),
    ("kHz", Quantity::PacketRate, 1_000),
    ("B", Quantity::Size, 1),
    ("kB", Quantity::Size, 1_000),
    ("MB", Quantity::Size, 1_000_000),
    ("GB", Quantity::Size, 1_000_000_000),
    ("KiB", Quantity::Size, 1 << 10),
    ("MiB", Quantity::Size, 1 << 20),
    ("GiB", Quantity::Size, 1 << 30),
    ("mm", Quantity::Length, 1),
    ("cm", Quantity::Length, 10),
    ("m", Quantity::Length, 1_000),
    ("km", Quantity::Length, 1_000_000),
    ("%", Quantity::Ratio, 10_000_000),
    ("ppm", Quantity::Ratio, 1_000),
    ("ppb", Quantity::Ratio, 1),
];

/// What is wrong with a quantity, and in which part of the text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct UnitError {
    pub(super) problem: Problem,
    /// In bytes of the text.
    pub(super) range: Range<usize>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Problem {
    /// The text does not start with a number.
    NotANumber,
    /// A number without a unit.
    MissingUnit,
    /// An unknown unit; the hint suggests what may be meant.
    UnknownUnit { unit: String, hint: Option<Box<Help>> },
    /// A unit of another quantity.
    WrongQuantity { found: Quantity },
    /// Not a whole number of base units.
    TooFine { smallest: &'static str },
    /// Larger than allowed.
    TooLarge { largest: &'static str },
    /// Negative.
    Negative,
}

/// Reads a quantity in base units.
pub(super) fn read(text: &str, want: Quantity) -> Result<u64, UnitError> {
    let (number, factor, range) = split(text, want)?;
    in_base_units(number, factor, want, range)
}

/// Reads an unsigned whole number without unit.
pub(super) fn read_count(text: &str) -> Result<u64, UnitError> {
    let whole = 0..text.len();
    let fail = |problem| Err(UnitError { problem, range: whole.clone() });
    match Decimal::scan(text.trim()) {
        Some((number, "")) if number.negative => fail(Problem::Negative),
        Some((number, "")) => match number.times(1).map(u64::try_from) {
            Some(Ok(count)) => Ok(count),
            Some(Err(_)) => fail(Problem::TooLarge { largest: "2^64" }),
            None => fail(Problem::TooFine { smallest: "1" }),
        },
        _ => fail(Problem::NotANumber),
    }
}

/// Returns the whole number that an invalid text may mean: its leading digits, or the value of a
/// hexadecimal number.
pub(super) fn count_to_propose(text: &str) -> Option<u64> {
    let hexadecimal = text.strip_prefix("0x").or_else(|| text.strip_prefix("0X"));
    if let Some(digits) = hexadecimal {
        return u64::from_str_radix(digits, 16).ok();
    }
    let digits: String = text.chars().take_while(char::is_ascii_digit).collect();
    digits.parse().ok()
}

/// Reads a packet rate and returns the time between two packets in picoseconds, rounded to the
/// nearest.
pub(super) fn read_interval(text: &str) -> Result<u64, UnitError> {
    let (number, factor, range) = split(text, Quantity::PacketRate)?;
    let too_large = UnitError {
        problem: Problem::TooLarge { largest: Quantity::PacketRate.largest().1 },
        range: range.clone(),
    };
    // interval = 10^12 / (mantissa * 10^exponent * factor)
    let Some(divisor) = number.mantissa.checked_mul(factor) else {
        return Err(too_large);
    };
    let shift = 12 - number.exponent;
    if shift < 0 {
        return Err(too_large);
    }
    let dividend = 10u128.checked_pow(shift.unsigned_abs());
    let interval = dividend.and_then(|d| (d + divisor / 2).checked_div(divisor));
    match interval.map(u64::try_from) {
        Some(Ok(0)) => Err(too_large),
        Some(Ok(ps)) if u128::from(ps) <= Quantity::Time.largest().0 => Ok(ps),
        _ => Err(UnitError {
            problem: Problem::TooFine { smallest: "one packet in 10 days" },
            range,
        }),
    }
}

/// Returns the quantity whose unit the text ends with.
pub(super) fn quantity_of(text: &str) -> Option<Quantity> {
    let (_, unit) = Decimal::scan(text.trim())?;
    find(unit.trim()).map(|(quantity, _)| quantity)
}

/// Returns the unit of an example value if it measures `want`, else the usual unit.
pub(super) fn unit_to_propose(example: &'static str, want: Quantity) -> &'static str {
    let unit = Decimal::scan(example).map(|(_, unit)| unit.trim());
    unit.filter(|unit| find(unit).is_some_and(|(found, _)| found == want))
        .unwrap_or(want.usual_units().0)
}

fn find(unit: &str) -> Option<(Quantity, u128)> {
    UNITS.iter().find(|(name, ..)| *name == unit).map(|&(_, quantity, factor)| (quantity, factor))
}

fn split(text: &str, want: Quantity) -> Result<(Decimal, u128, Range<usize>), UnitError> {
    let lead = text.len() - text.trim_start().len();
    let body = text.trim();
    let whole = lead..lead + body.len();
    let error = |problem, range| Err(UnitError { problem, range });
    let Some((number, rest)) = Decimal::scan(body) else {
        return error(Problem::NotANumber, whole);
    };
    let unit = rest.trim();
    let unit_range = whole.end - unit.len()..whole.end;
    if unit.is_empty() {
        // A ratio needs no unit: 1e-9.
        if want == Quantity::Ratio {
            return Ok((number, 1_000_000_000, whole));
        }
        return error(Problem::MissingUnit, whole);
    }
    let Some((found, factor)) = find(unit) else {
        let hint = hint(unit, &body[..body.len() - rest.len()], want).map(Box::new);
        let unit = unit.to_owned();
        return error(Problem::UnknownUnit { unit, hint }, unit_range);
    };
    if found != want {
        return error(Problem::WrongQuantity { found }, whole);
    }
    if number.negative {
        return error(Problem::Negative, whole);
    }
    Ok((number, factor, whole))
}

fn in_base_units(
    number: Decimal,
    factor: u128,
    want: Quantity,
    range: Range<usize>,
) -> Result<u64, UnitError> {
    let (most, largest) = want.largest();
    let problem = if number.negative {
        Problem::Negative
    } else if number.exceeds(most, factor) {
        Problem::TooLarge { largest }
    } else {
        match number.times(factor) {
            Some(value) if value > most => Problem::TooLarge { largest },
            Some(value) => {
                return u64::try_from(value)
                    .map_err(|_| UnitError { problem: Problem::TooLarge { largest }, range });
            }
            None => Problem::TooFine { smallest: want.smallest() },
        }
    };
    Err(UnitError { problem, range })
}

/// Suggests what an unknown unit may mean; never guesses between bits and bytes.
fn hint(unit: &str, number: &str, want: Quantity) -> Option<Help> {
    let number = number.trim();
    if number.starts_with('-') {
        return None;
    }
    let ask = |prefix: &str| {
        let times_eight = Decimal::scan(number)
            .and_then(|(n, _)| n.times(8))
            .map_or_else(|| format!("8 x {number}"), |n| n.to_string());
        // A small b is a bit (IEEE Std 260.1).
        let is_bits = unit.contains('b') && !unit.contains('B');
        let words = format!(
            "bits or bytes? write `{number} {prefix}bit/s` for bits, \
             `{times_eight} {prefix}bit/s` for bytes"
        );
        let new = format!("{number} {prefix}bit/s");
        Help::from(words).writes(new).certain(is_bits)
    };
    let ask_size = |prefix: &str| {
        let words = format!(
            "bits or bytes? write `{number} {prefix}B` for bytes; a size cannot be in bits"
        );
        let is_bytes = !unit.contains('b');
        Help::from(words).writes(format!("{number} {prefix}B")).certain(is_bytes)
    };
    let say = |unit: &str| Help::write(format!("{number} {unit}"));
    Some(match (unit, want) {
        ("Mb" | "mb" | "Mb/s" | "mb/s" | "Mbps" | "mbps" | "MBps", Quantity::BitRate) => ask("M"),
        ("MB/s" | "MB" | "MiB/s", Quantity::BitRate) => ask("M"),
        ("kb" | "Kb" | "kb/s" | "kbps" | "Kbps" | "kB/s" | "KB/s", Quantity::BitRate) => ask("k"),
        ("Gb" | "gb" | "Gb/s" | "Gbps" | "gbps" | "GB/s", Quantity::BitRate) => ask("G"),
        ("b" | "b/s" | "bps" | "B/s" | "Bps", Quantity::BitRate) => ask(""),
        ("Mb" | "mb", Quantity::Size) => ask_size("M"),
        ("kb" | "Kb" | "KB" | "K" | "k", Quantity::Size) => ask_size("k"),
        ("b", Quantity::Size) => ask_size(""),
        ("byte" | "bytes" | "octet" | "octets" | "Byte" | "Bytes", Quantity::Size) => say("B"),
        ("sec" | "secs" | "second" | "seconds" | "S", Quantity::Time) => say("s"),
        ("msec" | "msecs" | "millis" | "mS" | "MS", Quantity::Time) => say("ms"),
        ("usec" | "usecs" | "micros" | "uS", Quantity::Time) => say("us"),
        ("nsec" | "nsecs" | "nS", Quantity::Time) => say("ns"),
        ("minutes" | "minute" | "mins", Quantity::Time) => say("min"),
        ("pps" | "fps" | "packets" | "msg/s" | "1/s", Quantity::PacketRate) => say("packets/s"),
        ("hz" | "HZ", Quantity::PacketRate) => say("Hz"),
        ("meter" | "meters" | "metre" | "metres" | "M", Quantity::Length) => say("m"),
        _ => return None,
    })
}
