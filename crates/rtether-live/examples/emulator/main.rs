//! Measures the emulator: how late frames leave, and how many fare differently than their
//! timestamps demand.
//!
//! `cargo run --release -p rtether-live --example emulator -- [SECONDS [GUARD_US]]`, as root, on an
//! otherwise idle machine with at least two cores. Creates namespaces and removes them.
//!
//! Hosts send UDP datagrams of all sizes to each other, at random times and to random hosts, from
//! one thread on the first core. The emulator has the last core and runs under `SCHED_FIFO`. Stalls
//! of 1 ms or more are those of the host or of the kernel's share for other threads; figures are
//! given with and without the windows of 100 ms that contain one.

#![allow(clippy::print_stdout, reason = "it prints what it measures")]

mod bed;

use std::net::UdpSocket;

use rtether_live::clock::Clock;
use rtether_live::emulator::EmulatorReport;
use rtether_live::thread::Placement;
use rtether_model::histogram::Histogram;
use rtether_model::quantity::{BitRate, Bytes, Duration, Instant};
use rtether_model::wire;

use bed::{Bed, Failure, PORT, address_of};

/// UDP and IP headers, Ethernet header and check sequence.
const OVERHEAD: u64 =
    wire::HEADER.get() + wire::Encapsulation::Udp.header_size().get() + wire::FCS.get();
/// A sender that is farther behind its schedule skips frames.
const BEHIND_MAX: Duration = Duration::from_us(50);
/// Time around a stall in which arrivals and departures may be affected.
const AROUND: Duration = Duration::from_ms(100);

/// One measurement.
struct Plan {
    name: &'static str,
    is_hub: bool,
    mbps: u64,
    hosts: u16,
    /// Percentage of the capacity of each link of a switch, or of the whole hub.
    load: i64,
}

const PLANS: [Plan; 5] = [
    Plan { name: "switch", is_hub: false, mbps: 100, hosts: 4, load: 50 },
    Plan { name: "switch", is_hub: false, mbps: 100, hosts: 2, load: 90 },
    Plan { name: "switch", is_hub: false, mbps: 10, hosts: 4, load: 50 },
    Plan { name: "switch", is_hub: false, mbps: 1_000, hosts: 2, load: 20 },
    Plan { name: "hub", is_hub: true, mbps: 10, hosts: 10, load: 50 },
];

fn main() -> Result<(), Failure> {
    let mut arguments = std::env::args().skip(1);
    let seconds = arguments.next().map_or(Ok(10), |text| text.parse())?;
    let guard = arguments.next().map(|text| text.parse()).transpose()?;
    let (length, guard) = (Duration::from_secs(seconds), guard.map(Duration::from_us));
    match guard {
        Some(guard) => println!("{seconds} s each, guard {} us", guard.as_us_f64()),
        None => println!("{seconds} s each, guard by the rate"),
    }
    println!(
        "departure error: p50 p99 p99.9 in us; differ: frames with another fate in the replay"
    );
    println!(
        "{:20} {:>5} {:>8} {:>9} {:>20} {:>20} {:>20} {:>22} {:>16} {:>16}",
        "network",
        "load",
        "frames",
        "stalled",
        "departure error",
        "without stalls",
        "until call returned",
        "late, latest us",
        "differ",
        "without stalls",
    );
    for plan in &PLANS {
        let bed = Bed::new(plan)?;
        let (report, sent, sender_stalls) = bed.measure(plan, length, guard)?;
        print(plan, &report, sent, sender_stalls);
    }
    Ok(())
}

/// Sends datagrams at random times; returns their number and that of the sender's stalls.
fn send(
    plan: &Plan,
    sockets: &[UdpSocket],
    clock: Clock,
    length: Duration,
) -> Result<(u64, u64), Failure> {
    // No real-time priority: its send times do not matter, and other threads need a core too.
    let placement = Placement { core: Some(0), ..Placement::default() };
    placement.apply()?;
    let hosts = sockets.len() as u64;
    let senders = if plan.is_hub { 1 } else { i64::from(plan.hosts) };
    let mean = wire::occupancy(Bytes::new(u64::midpoint(64, 1_518)), BitRate::from_mbps(plan.mbps));
    let gap = mean * 100 / (plan.load * senders);
    let mut dice = Dice(1);
    let payload = [0; 1_472];
    let (mut sent, mut stalls) = (0, 0);
    let mut due = clock.now() + Duration::from_ms(20);
    let end = due + length;
    let mut alive_at = clock.now();
    while due < end {
        let now = wait_until(due, clock, &mut alive_at, &mut stalls);
        let from = dice.below(hosts);
        let to = (from + 1 + dice.below(hosts - 1)) % hosts;
        let size = 64 + dice.below(1_518 - 64 + 1) - OVERHEAD;
        let to = (address_of(u16::try_from(to)?), PORT);
        let octets = &payload[..usize::try_from(size)?];
        match sockets[usize::try_from(from)?].send_to(octets, to) {
            Ok(_) => sent += 1,
            Err(error) if error.raw_os_error() == Some(libc_enobufs()) => {}
            Err(error) => return Err(error.into()),
        }
        // Delayed datagrams are skipped, not sent in one burst: no host would do that.
        due = dice.after(due, gap).max(now - BEHIND_MAX);
    }
    Ok((sent, stalls))
}

/// The system currently has no memory for a packet.
const fn libc_enobufs() -> i32 {
    105
}

/// Sleeps, then spins; counts gaps of 1 ms while spinning.
fn wait_until(due: Instant, clock: Clock, alive_at: &mut Instant, stalls: &mut u64) -> Instant {
    loop {
        let now = clock.now();
        if now - *alive_at > Duration::from_ms(1) {
            *stalls += 1;
        }
        *alive_at = now;
        if now >= due {
            return now;
        }
        let left = due - now;
        if left > Duration::from_us(200) {
            let ns = u64::try_from((left - Duration::from_us(150)).as_ns_floor()).unwrap_or(0);
            std::thread::sleep(std::time::Duration::from_nanos(ns));
            *alive_at = clock.now();
        }
    }
}

/// Pseudo-random numbers: the generator of Knuth's MMIX.
struct Dice(u64);

impl Dice {
    fn below(&mut self, limit: u64) -> u64 {
        let Self(state) = self;
        *state =
            state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        u64::try_from((u128::from(*state) * u128::from(limit)) >> 64).unwrap_or(0)
    }

    /// Returns a time after `at` by an exponentially distributed gap.
    fn after(&mut self, at: Instant, mean: Duration) -> Instant {
        #[allow(clippy::cast_precision_loss, reason = "53 bits are plenty")]
        let uniform = (self.below(1 << 53) + 1) as f64 / (1_u64 << 53) as f64;
        let ns = -uniform.ln() * mean.as_ns_f64();
        #[allow(clippy::cast_possible_truncation, reason = "milliseconds at most")]
        let ns = ns as i64;
        at + Duration::from_ns(ns)
    }
}

fn print(plan: &Plan, report: &EmulatorReport, sent: u64, sender_stalls: u64) {
    let departures = &report.departures;
    let counts = &report.counts;
    let name = format!("{} {} Mbit/s x{}", plan.name, plan.mbps, plan.hosts);
    let (differing, frames, calm_differing, calm_frames) = differences(report);
    let share = |part, whole| format!("{part} = {:.3}%", percent(part, whole));
    println!(
        "{name:20} {:>4.0}% {frames:8} {:>9} {:>20} {:>20} {:>20} {:>22} {:>16} {:>16}",
        load(plan, report),
        format!("{}/{}", departures.stalled, departures.windows),
        quantiles(&departures.all),
        quantiles(&departures.calm),
        quantiles(&departures.calm_returned),
        format!("{}, {:.1}", report.injected.late, report.injected.lateness_max.as_us_f64()),
        share(differing, frames),
        share(calm_differing, calm_frames),
    );
    let lost = counts.received != sent
        || counts.overruns + counts.no_room + counts.unsent + counts.unstamped > 0;
    if lost || counts.clock_steps > 0 {
        println!("    sent {sent}, {counts:?}");
    } else {
        println!(
            "    collisions {}, dropped in the network {:?}, naps {}, stalls {} and of the sender \
             {sender_stalls}{}",
            counts.collisions,
            counts.dropped,
            counts.naps,
            departures.stall_count,
            carried(report),
        );
    }
}

/// Returns what the hosts have offered, in percent of the capacity of their links, or of the hub.
fn load(plan: &Plan, report: &EmulatorReport) -> f64 {
    let arrivals = report.recording.arrivals();
    let rate = BitRate::from_mbps(plan.mbps);
    let times = arrivals.iter().map(|arrival| wire::occupancy(arrival.frame.size, rate));
    let senders = if plan.is_hub { 1.0 } else { f64::from(plan.hosts) };
    let (Some(first), Some(last)) = (arrivals.first(), arrivals.last()) else {
        return 0.0;
    };
    times.sum::<Duration>().as_secs_f64() * 100.0 / (last.at - first.at).as_secs_f64() / senders
}

/// Returns the share of time in which a hub has carried frames.
fn carried(report: &EmulatorReport) -> String {
    let media = report.record.media.iter();
    let times = media.map(|medium| {
        let share = medium.carried.as_secs_f64() / report.record.duration.as_secs_f64();
        format!(", carried {:.1} % of the time", share * 100.0)
    });
    times.collect()
}

/// Returns how many frames differ and their number, in total and for frames away from stalls.
fn differences(report: &EmulatorReport) -> (u64, u64, u64, u64) {
    let Some(comparison) = &report.comparison else {
        return (0, 0, 0, 0);
    };
    let is_calm = |at: Instant| {
        let stalls = &report.departures.stalls;
        // Stalls are ordered by time, and few are near.
        let first = stalls.partition_point(|stall| stall.at + stall.length + AROUND < at);
        stalls.get(first).is_none_or(|stall| at + AROUND < stall.at)
    };
    let (mut calm_frames, mut calm_differing) = (0, 0);
    for arrival in report.recording.arrivals() {
        if is_calm(arrival.at) {
            calm_frames += 1;
            let differs = comparison.tokens.binary_search(&arrival.frame.token);
            calm_differing += u64::from(differs.is_ok());
        }
    }
    (comparison.differing, comparison.frames, calm_differing, calm_frames)
}

fn percent(part: u64, whole: u64) -> f64 {
    #[allow(clippy::cast_precision_loss, reason = "a share for a reader")]
    let share = part as f64 * 100.0 / whole.max(1) as f64;
    share
}

fn quantiles(histogram: &Histogram) -> String {
    let at = |part| {
        let value = histogram.quantile(part, 1_000);
        value.map_or("-".to_owned(), |value| format!("{:.1}", value.as_us_f64()))
    };
    format!("{} {} {}", at(500), at(990), at(999))
}
