//! Stacks of the papers' devices, by name (R55), for `stack: NAME` in a scenario without a
//! declaration, and for the experiments.
//!
//! Values fitted to printed tables are rounded here; the fits are with the experiments, and a test
//! checks that both agree. No paper separates sending from receiving: each gets half of what was
//! measured. If a measurement included a test computer or a second board, its share is in the
//! stack, since the two cannot be separated; the other end then has the stack `zero`.

use rtether_model::network::{
    Cost, EndStation, Jitter, LinearStack, Outliers, RtosStack, Servers, Spread, Stack,
};
use rtether_model::quantity::{Bytes, Duration};

/// A named stack.
#[derive(Clone, Copy, Debug)]
pub struct Profile {
    /// Name in scenarios.
    pub name: &'static str,
    /// What the device is and what it costs, in Markdown.
    pub description: &'static str,
    /// Paper and place of the numbers, and how costs were derived from them.
    pub source: &'static str,
    station: fn() -> EndStation,
}

impl Profile {
    /// Returns an end station with this stack.
    pub fn station(&self) -> EndStation {
        (self.station)()
    }
}

/// Returns the profile of this name.
pub fn find(name: &str) -> Option<&'static Profile> {
    PROFILES.iter().find(|profile| profile.name == name)
}

/// Returns a station that handles `packets_per_second`, regardless of size.
fn ip_rate(packets_per_second: i64) -> EndStation {
    let service = Duration::from_secs(1) / packets_per_second;
    EndStation::new(Stack::IpRate { service })
}

/// Returns a station whose stack costs the same in both directions.
const fn linear(cost: Cost, interface: Cost, jitter: Jitter) -> EndStation {
    EndStation::new(Stack::Linear(LinearStack {
        send: cost,
        receive: cost,
        interface,
        jitter,
        servers: Servers::Shared,
    }))
}

/// Returns a board of 001 Kakanakov that answers echo requests: exponential jitter.
const fn icmp(ns: i64, mean_ns: i64, max_us: i64, per_million: u32) -> EndStation {
    let max = Duration::from_us(max_us);
    let mean = Duration::from_ns(mean_ns);
    let jitter = jitter(Spread::Exponential { mean, max }, per_million, max);
    linear(cost(ns, 0), NO_COST, jitter)
}

/// Returns a board of 001 Kakanakov that answers commands: uniform jitter.
const fn cndep(ns: i64, max_us: i64, outliers_us: i64, per_million: u32) -> EndStation {
    let max = Duration::from_us(max_us);
    let outliers = Duration::from_us(outliers_us);
    let jitter = jitter(Spread::Uniform { max }, per_million, outliers);
    linear(cost(ns, 0), NO_COST, jitter)
}

const fn jitter(spread: Spread, per_million: u32, max: Duration) -> Jitter {
    let min = Duration::ZERO;
    let outliers = Some(Outliers { per_million, min, max });
    Jitter { spread, outliers }
}

const fn cost(ns: i64, ps_per_octet: i64) -> Cost {
    Cost { base: Duration::from_ns(ns), per_octet: Duration::from_ps(ps_per_octet) }
}

const NO_COST: Cost = cost(0, 0);
const NO_JITTER: Jitter = Jitter { spread: Spread::None, outliers: None };

/// One pass through the board's stack: four of them are 404 us of the 700 us round trip.
pub const VXWORKS_DATAGRAM: Duration = Duration::from_us(101);
/// Processor time of a TCP segment with data (catalogue 1b).
pub const VXWORKS_SEGMENT: Duration = Duration::from_us(50);

/// The uniform jitter of four passes has the standard deviation measured without load: 14 us = 24.2
/// us * sqrt(4 / 12).
fn vxworks() -> EndStation {
    let max = Duration::from_ns(24_200);
    // Fitted costs are means and include the mean jitter, max / 2.
    let cost = |mean| Cost { base: mean - max / 2, ..NO_COST };
    EndStation::new(Stack::Rtos(RtosStack {
        datagram: cost(VXWORKS_DATAGRAM),
        segment: cost(VXWORKS_SEGMENT),
        acknowledgement: cost(Duration::from_us(25)),
        jitter: Jitter { spread: Spread::Uniform { max }, outliers: None },
    }))
}

/// The driver queue holds more than a TCP window for each of several connections.
fn pc_tcp() -> EndStation {
    EndStation { driver_queue: Bytes::new(10_000_000), ..EndStation::new(Stack::Zero) }
}

const SKEIE: &str =
    "Skeie, Johannessen and Holmeide, IEEE Trans. Industrial Informatics 2(1), 2006, section III";
const VXWORKS: &str = "the same, section IV: fitted to the mean and the deviation of the round trip without load; the costs of TCP are chosen";
const ICMP: &str = "Kakanakov et al., table 1, column a: minimum, average, maximum and deviation";
const CNDEP: &str = "Kakanakov et al., table 2, column a: minimum, median, average and maximum";
const LINES: &str = "Kakanakov et al., 1.2: line through stack delays by size";
const KWEON: &str = "Kweon, Shin and Workman, section 3: stacks are not described; zero cost is \
                     fitted to the time of a file with ten active nodes";
const ORTE: &str =
    "Dolejs et al., 4.1: half of the mean over loopback at 1024 B; its growth is not printed";
const LOOPBACK: &str =
    "Valentim et al., table II: lines through loopback and the 100 Mbit/s hub, by frame size";

/// All profiles, in the order of the reference. Names are those of a paper or device, so that a
/// scenario does not use one by accident.
#[rustfmt::skip]
pub static PROFILES: &[Profile] = &[
    Profile { name: "skeie-workstation", source: SKEIE, station: || ip_rate(5_000),
        description: "Workstation of OPNET: 5000 packets/s, sent and received together." },
    Profile { name: "skeie-controller", source: SKEIE, station: || ip_rate(20_000),
        description: "Controller: 20000 packets/s, sent and received together." },
    Profile { name: "skeie-vxworks", source: VXWORKS, station: vxworks,
        description: "Board with `VxWorks`, one network task: 101 us a datagram, 50 us a TCP segment, 25 us an acknowledgement, in the mean; jitter of 24.2 us." },
    Profile { name: "ep9302-icmp", source: ICMP, station: || icmp(107_200, 27_400, 3_787, 568),
        description: "Cirrus EP9302, ARM9, 200 MHz, Debian, 100 Mbit/s, answering echoes: 107.2 us each way, jitter of 27.4 us in the mean, outliers to 3.79 ms." },
    Profile { name: "ep9302-cndep", source: CNDEP, station: || cndep(849_200, 140, 28_400, 9_859),
        description: "The same, answering commands over UDP: 849.2 us each way, jitter to 140 us, outliers to 28.4 ms." },
    Profile { name: "pic-icmp", source: ICMP, station: || icmp(847_500, 36_200, 4_269, 2_025),
        description: "Microchip PIC18F25J10 with ENC28J60, no operating system, 10 Mbit/s, answering echoes: 847.5 us each way, jitter of 36.2 us in the mean, outliers to 4.27 ms." },
    Profile { name: "pic-cndep", source: CNDEP, station: || cndep(1_657_400, 50, 23_920, 20_066),
        description: "The same, answering commands over UDP: 1.657 ms each way, jitter to 50 us, outliers to 23.9 ms." },
    Profile { name: "ipc-icmp", source: ICMP, station: || icmp(1_248_500, 195_400, 8_897, 1_141),
        description: "Beck DK40 with SC12 (IPC), 80186, RTOS, 10 Mbit/s, answering echoes: 1.249 ms each way, jitter of 195.4 us in the mean, outliers to 8.9 ms." },
    Profile { name: "ipc-cndep", source: CNDEP, station: || cndep(3_397_400, 860, 13_070, 29_074),
        description: "The same, answering commands over UDP: 3.397 ms each way, jitter to 860 us, outliers to 13.1 ms." },
    Profile { name: "tini-icmp", source: ICMP, station: || icmp(671_700, 113_100, 4_310, 3_653),
        description: "Dallas TINI DS80C400, Java, 100 Mbit/s, answering echoes: 671.7 us each way, jitter of 113.1 us in the mean, outliers to 4.31 ms." },
    Profile { name: "tini-cndep", source: CNDEP, station: || cndep(7_689_200, 1_570, 82_860, 120),
        description: "The same, answering commands over UDP: 7.689 ms each way, jitter to 1.57 ms, outliers to 82.9 ms." },
    Profile { name: "i586-166", source: LINES, station: || linear(cost(769_200, 2_127_000), NO_COST, NO_JITTER),
        description: "Intel 586, 166 MHz: 769.2 us + 2.127 us/B each way." },
    Profile { name: "arm7-40", source: LINES, station: || linear(cost(1_540_900, 3_118_000), NO_COST, NO_JITTER),
        description: "ARM-7, 40 MHz: 1.541 ms + 3.118 us/B each way." },
    Profile { name: "pc-tcp", source: KWEON, station: pc_tcp,
        description: "PC or laptop, 486 or Pentium of 75 MHz, of a test bed for traffic smoothers: takes no time; its driver holds 10 MB. Give it a `smoother`, which leaves the card a ring of 2 frames." },
    Profile { name: "celeron-566-orte", source: ORTE, station: || linear(cost(335_000, 0), NO_COST, NO_JITTER),
        description: "Celeron, 566 MHz, Linux 2.6.5, RTPS in user space: 335 us each way." },
    Profile { name: "pentium3-800-udp", source: LOOPBACK, station: || linear(cost(6_122, 3_630), cost(9_834, 4_000), NO_JITTER),
        description: "Pentium III, 800 MHz, Realtek 10/100, Linux 2.6.12, UDP: 6.122 us + 3.63 ns/B each way, interface 9.834 us + 4 ns/B." },
    Profile { name: "pentium3-800-raw", source: LOOPBACK, station: || linear(cost(2_236, 756), cost(11_792, 6_730), NO_JITTER),
        description: "The same, raw frames: 2.236 us + 0.756 ns/B each way, interface 11.792 us + 6.73 ns/B." },
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_unique_and_not_taken() {
        for (at, profile) in PROFILES.iter().enumerate() {
            assert_ne!(profile.name, "zero");
            assert!(PROFILES[..at].iter().all(|other| other.name != profile.name));
        }
    }

    #[test]
    fn rates_are_those_of_the_catalogue() {
        // Catalogue 1a, S2: 200 us and 50 us a packet.
        for (name, us) in [("skeie-workstation", 200), ("skeie-controller", 50)] {
            let station = find(name).expect("in the table").station();
            let service = Duration::from_us(us);
            assert_eq!(station.stack, Stack::IpRate { service });
        }
    }
}
