//! Stacks of the papers' devices, calibrated from what the papers print (R55, R56).
//!
//! No paper parts sending from receiving: both get half of what was measured. Where a test computer
//! or a second board was part of a measurement, its share is in the profile, since nothing tells
//! the two apart; the other end of a simulated measurement then has a stack that takes no time.

use rtether_model::network::{Cost, Jitter, LinearStack, Servers};
use rtether_model::quantity::{BitRate, Bytes, Duration};

use super::{fit, kakanakov, reference, valentim};

/// A calibrated stack.
#[derive(Clone, Debug, PartialEq)]
pub struct Profile {
    /// Short name.
    pub name: &'static str,
    /// What the device is.
    pub device: &'static str,
    /// Rate of its port.
    pub rate: BitRate,
    /// Cost model.
    pub stack: LinearStack,
    /// Paper and place of the values, and how they became a cost model.
    pub source: &'static str,
}

const ICMP: &str = "001 Kakanakov Table 1, column a: minimum, average, maximum, deviation";
const CNDEP: &str = "001 Kakanakov Table 2, column a: minimum, median, average, maximum";
const EP9302: &str = "Cirrus EP9302, ARM9, 200 MHz, Debian";
const PIC: &str = "Microchip PIC18F25J10 with ENC28J60, no operating system";
const IPC: &str = "Beck DK40 with SC12, 80186, RTOS";
const TINI: &str = "Dallas TINI DS80C400, Java";
const PENTIUM: &str = "Pentium III, 800 MHz, Realtek 10/100, Linux 2.6.12";

/// Returns all profiles.
pub fn all() -> Vec<Profile> {
    use kakanakov::Protocol::{Cndep, Icmp};
    use valentim::Protocol::{Raw, Udp};
    let board = |name, protocol, board, device| {
        let (rate, stack) = kakanakov::calibrate(protocol, board);
        let source = match protocol {
            Icmp => ICMP,
            Cndep => CNDEP,
        };
        profile(name, device, rate, stack, source)
    };
    let fast = BitRate::from_mbps(100);
    let pentium = |name, protocol| {
        let source = "004 Valentim Table II: lines through loopback and the 100 Mbit/s hub";
        profile(name, PENTIUM, fast, valentim::stack(protocol), source)
    };
    let line = |name, device, key| {
        let source = "001 Kakanakov 1.2: line through the stack delays by size";
        profile(name, device, fast, symmetric(stack_delay(key)), source)
    };
    vec![
        board("ep9302-icmp", Icmp, kakanakov::Board::Ep9302, EP9302),
        board("ep9302-cndep", Cndep, kakanakov::Board::Ep9302, EP9302),
        board("pic-icmp", Icmp, kakanakov::Board::Pic, PIC),
        board("pic-cndep", Cndep, kakanakov::Board::Pic, PIC),
        board("ipc-icmp", Icmp, kakanakov::Board::Ipc, IPC),
        board("ipc-cndep", Cndep, kakanakov::Board::Ipc, IPC),
        board("tini-icmp", Icmp, kakanakov::Board::Tini, TINI),
        board("tini-cndep", Cndep, kakanakov::Board::Tini, TINI),
        line("i586-166", "Intel 586, 166 MHz", HIGH),
        line("arm7-40", "ARM-7, 40 MHz", MEDIUM),
        pentium("pentium3-800-udp", Udp),
        pentium("pentium3-800-raw", Raw),
        profile(
            "celeron-566-orte",
            "Celeron, 566 MHz, Linux 2.6.5, RTPS in user space",
            fast,
            symmetric(Cost {
                base: celeron(),
                per_octet: Duration::ZERO,
            }),
            "003 Dolejs 4.1: half of the mean over loopback at 1024 B; its growth is not printed",
        ),
    ]
}

/// Returns the profile of this name.
pub fn find(name: &str) -> Option<Profile> {
    all().into_iter().find(|profile| profile.name == name)
}

const fn profile(
    name: &'static str,
    device: &'static str,
    rate: BitRate,
    stack: LinearStack,
    source: &'static str,
) -> Profile {
    Profile {
        name,
        device,
        rate,
        stack,
        source,
    }
}

/// Returns a stack that costs the same both ways.
const fn symmetric(cost: Cost) -> LinearStack {
    LinearStack {
        send: cost,
        receive: cost,
        interface: Cost {
            base: Duration::ZERO,
            per_octet: Duration::ZERO,
        },
        jitter: Jitter {
            spread: rtether_model::network::Spread::None,
            outliers: None,
        },
        servers: Servers::Shared,
    }
}

/// Names of the device classes of Kakanakov, 1.2.
pub(super) const HIGH: &str = "high performance";
pub(super) const MEDIUM: &str = "medium performance";

/// Returns the stack delays of a device class by size, without the one with a misprinted size.
pub(super) fn stack_delays(class: &str) -> Vec<(Bytes, Duration)> {
    let values = reference::values("kakanakov-stack").into_iter();
    values
        .filter(|value| value.condition.starts_with(class))
        .filter_map(|value| {
            let (_, size) = value.condition.rsplit_once("; ")?;
            let octets = size.strip_suffix(" byte")?.parse().ok()?;
            Some((Bytes::new(octets), value.time()?))
        })
        .collect()
}

fn stack_delay(class: &str) -> Cost {
    fit::line(&stack_delays(class)).expect("the table has two sizes of each class")
}

/// A message passes the stack twice within the node.
fn celeron() -> Duration {
    let times = reference::times("dolejs-orte-loopback", "mean");
    times.into_values().next().unwrap_or_default() / 2
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn profiles_are_told_apart_and_cost_something() {
        let all = all();
        for (at, profile) in all.iter().enumerate() {
            assert_eq!(
                all.iter().position(|other| other.name == profile.name),
                Some(at)
            );
            let frame = Bytes::new(64);
            let cost = profile.stack.send.of(frame) + profile.stack.receive.of(frame);
            assert!(cost > Duration::ZERO, "{}: {cost}", profile.name);
        }
        assert!(find("celeron-566-orte").is_some() && find("celeron").is_none());
    }

    #[test]
    fn the_misprinted_size_is_1000_octets() {
        // Oracle: catalogue 2d, 1. The line through the other two sizes of the class gives the
        // printed 4.65 ms at 1000 octets.
        let delay = stack_delay(MEDIUM).of(Bytes::new(1000));
        let printed = Duration::from_us(4_650);
        assert!(
            (delay - printed).as_ps().abs() < Duration::from_us(20).as_ps(),
            "{delay}"
        );
        // Half of 0.67 ms.
        assert_eq!(celeron(), Duration::from_us(335));
    }
}
