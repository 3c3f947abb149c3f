//! When packets are sent, and what their tag says.

use rtether_model::quantity::Duration;

use super::flow::Release;
use super::model::{Address, Kind};
use super::notes::Notes;
use super::xml::{Element, attribute, child, content};
use crate::draft::{Basis, Text, Value};
use crate::options::{Frequency, Options};
use crate::plan::Code;
use crate::sheet::{thousandths, time};
use crate::text::quote;

const PS_PER_MS: i128 = 1_000_000_000;
/// Longest time that a file may state.
const LONGEST: i128 = 86_400 * 1_000 * PS_PER_MS;
/// Repetition after an event, if the file does not state it: a value that many devices come with.
const USUAL_MIN: Duration = Duration::from_ms(4);
/// Heartbeat, if the file does not state it: a value that many devices come with.
const USUAL_MAX: Duration = Duration::from_ms(1000);
/// Samples in a period for protection (IEC 61850-9-2LE), if the file does not state them.
const USUAL_RATE: u64 = 80;
/// More samples in a period than any device takes.
const ODD_RATE: u64 = 1000;

/// Returns the shortest and the longest time between two GOOSE packets.
pub(super) fn times(address: &Address<'_>, notes: &mut Notes) -> [Value<Duration>; 2] {
    let mut read = |name: &'static str, usual: Duration, what: &str| {
        let assumed =
            |what: &str| Value::assumed(usual, format!("{what}; {} is usual", time(usual)));
        let Some(element) = child(address.element, name) else {
            return assumed(&format!("the file has no {name}"));
        };
        milliseconds(element).map_or_else(
            || {
                let text = format!("{name} {} is no {what}", quote(content(element)));
                notes.add(element, Code::BadValue, text);
                assumed(&format!("{name} is no time"))
            },
            |span| Value { value: span, basis: Basis::Follows(name.into()) },
        )
    };
    let times = [read("MinTime", USUAL_MIN, "time"), read("MaxTime", USUAL_MAX, "time")];
    let [min, max] = times.each_ref().map(|own| own.value);
    if min > max && times.iter().all(|own| matches!(own.basis, Basis::Follows(_))) {
        let (min, max) = (time(min), time(max));
        let text = format!("MinTime {min} is longer than MaxTime {max}");
        notes.add(address.element, Code::BadValue, text);
    }
    times
}

/// Ranges of identifiers of applications: GOOSE, those of them for tripping, and sampled values (IEC
/// 61850-8-1, annex C, and 61850-9-2, 5.3.3.4.3).
const GOOSE_IDS: std::ops::RangeInclusive<u16> = 0..=0x3FFF;
const TRIP_IDS: std::ops::RangeInclusive<u16> = 0x8000..=0xBFFF;
const SAMPLES_IDS: std::ops::RangeInclusive<u16> = 0x4000..=0x7FFF;

/// Notes what cannot be in the address of a control block: no group, or an identifier of another
/// form or range.
pub(super) fn check(kind: Kind, address: &Address<'_>, notes: &mut Notes) {
    let mut bad = |text: String| notes.add(address.element, Code::BadValue, text);
    if let Some(text) = address.parameter("MAC-Address") {
        let why = match group(text) {
            None => Some("no address: write 01-0C-CD-01-00-01"),
            Some([0xff, 0xff, 0xff, 0xff, 0xff, 0xff]) => {
                Some("that of all stations, not of a group")
            }
            Some([first, ..]) if first & 1 == 0 => Some("that of one station, not of a group"),
            Some(_) => None,
        };
        if let Some(why) = why {
            bad(format!("MAC-Address {} is {why}", quote(text)));
        }
    }
    let Some(text) = address.parameter("APPID") else {
        return;
    };
    let number = u16::from_str_radix(text, 16).ok();
    let is_hex = text.len() == 4 && text.bytes().all(|octet| octet.is_ascii_hexdigit());
    let Some(number) = number.filter(|_| is_hex) else {
        bad(format!("APPID {} is none of four hexadecimal digits", quote(text)));
        return;
    };
    let is_fit = match kind {
        Kind::Goose => GOOSE_IDS.contains(&number) || TRIP_IDS.contains(&number),
        Kind::Samples => SAMPLES_IDS.contains(&number),
    };
    if !is_fit {
        let what = match kind {
            Kind::Goose => "GOOSE, 0000 to 3FFF or 8000 to BFFF",
            Kind::Samples => "sampled values, 4000 to 7FFF",
        };
        bad(format!("APPID {} is not in the range of {what}", quote(text)));
    }
}

/// Returns the octets of an address as SCL writes it.
fn group(text: &str) -> Option<[u8; 6]> {
    let parts: Vec<&str> = text.split('-').collect();
    let is_octet = |part: &&str| part.len() == 2 && part.bytes().all(|own| own.is_ascii_hexdigit());
    let octets = parts.iter().filter(|part| is_octet(part));
    let octets = octets.filter_map(|part| u8::from_str_radix(part, 16).ok());
    let octets: Vec<u8> = octets.collect();
    octets.try_into().ok().filter(|_| parts.len() == 6)
}

/// Reads a time, in milliseconds unless its multiplier says otherwise.
fn milliseconds(element: Element<'_>) -> Option<Duration> {
    let unit = match element.attribute("multiplier") {
        None | Some("m") => PS_PER_MS,
        Some("") => 1_000 * PS_PER_MS,
        Some("u" | "µ" | "μ") => PS_PER_MS / 1_000,
        Some(_) => return None,
    };
    decimal(content(element), unit)
}

/// Reads a positive decimal number of a unit.
fn decimal(text: &str, unit: i128) -> Option<Duration> {
    let (whole, part) = text.split_once('.').unwrap_or((text, ""));
    let part = part.trim_end_matches('0');
    let is_decimal = |text: &str| text.bytes().all(|octet| octet.is_ascii_digit());
    if whole.is_empty() || whole.len() > 18 || part.len() > 12 {
        return None;
    }
    if !is_decimal(whole) || !is_decimal(part) {
        return None;
    }
    let fraction = format!("{part:0<12}").parse::<i128>().ok()? * unit;
    let ps = whole.parse::<i128>().ok()?.checked_mul(unit)? + fraction / 1_000_000_000_000;
    let ps = Some(ps).filter(|ps| (1..=LONGEST).contains(ps))?;
    i64::try_from(ps).ok().map(Duration::from_ps)
}

/// Returns how often packets of sampled values are sent.
pub(super) fn rate(
    block: Element<'_>,
    per_packet: u64,
    options: &Options,
    notes: &mut Notes,
) -> Release {
    let stated = attribute(block, "smpRate");
    let number = stated.and_then(|text| text.parse::<u64>().ok());
    let number = number.filter(|number| (1..=1_000_000).contains(number));
    let Some(number) = number else {
        if let Some(text) = stated {
            let text = format!("smpRate {} is no rate", quote(text));
            notes.add(block, Code::BadValue, text);
        }
        return per_period(USUAL_RATE, per_packet, options, Some("smpRate is missing or wrong"));
    };
    match attribute(block, "smpMod").unwrap_or("SmpPerPeriod") {
        "SmpPerSec" => per_second(number, per_packet, None),
        "SecPerSmp" => {
            let ps = i128::from(number) * i128::from(per_packet) * 1_000 * PS_PER_MS;
            let ps = i64::try_from(ps.min(LONGEST)).unwrap_or(i64::MAX);
            let basis = Basis::Follows(format!("{number} s per sample"));
            Release::every("period", Duration::from_ps(ps), basis)
        }
        mode => {
            if mode != "SmpPerPeriod" {
                let text = format!("smpMod {} is not known", quote(mode));
                notes.add(block, Code::BadValue, text);
            }
            if number > ODD_RATE {
                let text = format!("{number} samples in a period of the power system");
                notes.add(block, Code::BadValue, text);
                let why = format!("{number} samples per second, too many for a period");
                return per_second(number, per_packet, Some(why));
            }
            per_period(number, per_packet, options, None)
        }
    }
}

/// Samples in a period of the power system.
fn per_period(samples: u64, per_packet: u64, options: &Options, why: Option<&str>) -> Release {
    let (frequency, is_stated) = options.frequency();
    let hertz = hertz(frequency);
    let count = format!("{samples} samples a period at {hertz}");
    let basis = match (why, is_stated) {
        (Some(why), _) => Basis::Assumed(format!("{count}; {why}")),
        (None, true) => Basis::Follows(count),
        (None, false) => Basis::Assumed(format!("{hertz}; {count}")),
    };
    packets(samples * frequency.millihertz(), per_packet, basis)
}

fn per_second(samples: u64, per_packet: u64, why: Option<String>) -> Release {
    let count = format!("{samples} samples a second");
    let basis = why.map_or(Basis::Follows(count), Basis::Assumed);
    packets(samples * 1_000, per_packet, basis)
}

/// Returns the rate of packets from that of samples, in thousandths per second.
fn packets(samples: u64, per_packet: u64, basis: Basis) -> Release {
    let ps = 1_000_000_000_000_000 * i128::from(per_packet) / i128::from(samples.max(1));
    let period = Duration::from_ps(i64::try_from(ps.max(1)).unwrap_or(i64::MAX));
    let mut release = Release::every("period", period, basis);
    if samples.is_multiple_of(per_packet) {
        release.key = "rate";
        release.text = Text::Often(samples / per_packet);
    }
    release
}

fn hertz(frequency: Frequency) -> String {
    format!("{} Hz", thousandths(frequency.millihertz()))
}

/// Returns the priority of the tag.
pub(super) fn priority(address: &Address<'_>, notes: &mut Notes) -> Value<u8> {
    let Some(text) = address.parameter("VLAN-PRIORITY") else {
        return Value::assumed(4, "no VLAN-PRIORITY; 4 is the default of IEC 61850".into());
    };
    let number = text.parse::<u8>().ok().filter(|number| *number <= 7);
    number.map_or_else(
        || {
            let text = format!("VLAN-PRIORITY {} is none", quote(text));
            notes.add(address.element, Code::BadValue, text);
            Value::assumed(4, "VLAN-PRIORITY is wrong; 4 is the default".into())
        },
        Value::stated,
    )
}

/// Returns the VLAN of the tag, which is written in hexadecimal; `None` for a tag with a priority
/// alone.
pub(super) fn vlan(address: &Address<'_>, notes: &mut Notes) -> Option<u16> {
    let text = address.parameter("VLAN-ID")?;
    match u16::from_str_radix(text, 16) {
        Ok(0) => None,
        Ok(number @ 1..=4094) => Some(number),
        Ok(_) | Err(_) => {
            let text = format!("VLAN-ID {} is none; the tag has a priority alone", quote(text));
            notes.add(address.element, Code::BadValue, text);
            None
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::scl::xml;

    /// Oracle: decimal notation.
    #[test]
    fn times_are_exact() {
        for (text, expected) in [
            ("4", Some(4_000_000_000)),
            ("0.5", Some(500_000_000)),
            ("2000.000", Some(2_000_000_000_000)),
            ("0", None),
            ("-4", None),
            ("4 ms", None),
            ("1e3", None),
            ("999999999999999999999", None),
            ("", None),
        ] {
            let read = decimal(text, PS_PER_MS).map(Duration::as_ps);
            assert_eq!(read, expected, "{text}");
        }
    }

    fn rate_of(attributes: &str, per_packet: u64, options: &Options) -> Release {
        let text = format!("<SampledValueControl {attributes}/>");
        let document = xml::parse(&text).expect("XML");
        let mut notes = Notes::new(&[("", &document)]);
        rate(document.root_element(), per_packet, options, &mut notes)
    }

    fn line(release: &Release) -> String {
        format!("{}: {}", release.key, release.text)
    }

    /// Oracle: IEC 61850-9-2LE (80 samples a period: 4000 /s at 50 Hz, 4800 /s at 60 Hz) and IEC
    /// 61869-9 (F4800S2I4U4: two samples in a packet, 2400 /s).
    #[test]
    fn rates_of_samples() {
        let plain = Options::new();
        let sixty = Options::new().with_frequency(Frequency::parse("60").expect("hertz"));
        for (attributes, per_packet, options, expected) in [
            ("smpRate='80'", 1, &plain, "rate: 4000 /s"),
            ("smpRate='80'", 1, &sixty, "rate: 4800 /s"),
            ("smpRate='256' smpMod='SmpPerPeriod'", 8, &plain, "rate: 1600 /s"),
            ("smpRate='4800' smpMod='SmpPerSec'", 2, &plain, "rate: 2400 /s"),
            ("smpRate='2' smpMod='SecPerSmp'", 1, &plain, "period: 2 s"),
            ("smpRate='100' smpMod='SmpPerSec'", 3, &plain, "period: 30 ms"),
            ("smpRate='x'", 1, &plain, "rate: 4000 /s"),
        ] {
            let read = rate_of(attributes, per_packet, options);
            assert_eq!(line(&read), expected, "{attributes}");
        }
        assert!(matches!(rate_of("smpRate='80'", 1, &plain).basis, Basis::Assumed(_)));
        assert!(matches!(rate_of("smpRate='80'", 1, &sixty).basis, Basis::Follows(_)));
        // Too many for a period: 4000 of them at 50 Hz would be 200 000 a second.
        let odd = rate_of("smpRate='4000'", 1, &plain);
        assert_eq!(line(&odd), "rate: 4000 /s");
        assert!(matches!(odd.basis, Basis::Assumed(_)));
    }

    /// Oracle: a third of a second in picoseconds, rounded down, so that no packet comes late.
    #[test]
    fn rates_that_are_no_decimal_numbers_are_periods() {
        let third = rate_of("smpRate='10' smpMod='SmpPerSec'", 3, &Options::new());
        assert_eq!(line(&third), "period: 300 ms");
        let odd = rate_of("smpRate='7' smpMod='SmpPerSec'", 3, &Options::new());
        assert_eq!(odd.gap.as_ps(), 428_571_428_571);
    }
}
