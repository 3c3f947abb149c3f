//! Cost of a run against the size of the plant: `scaling` prints the table of `benches/README.md`.
//!
//! Each row runs in its own process (`scaling STATIONS PACKETS`), so that its memory can be
//! measured.
#![allow(clippy::print_stdout, reason = "its output is its purpose")]

#[path = "../benches/workload/mod.rs"]
mod workload;

use rtether_model::network::Stack;
use rtether_model::quantity::Duration;
use std::process::Command;

const SIZES: [u32; 4] = [10, 100, 1_000, 10_000];
/// Processor time for which a row is repeated at least, in nanoseconds: the clock is coarse.
const ENOUGH: f64 = 2e9;

fn main() {
    let arguments: Vec<u64> = std::env::args()
        .skip(1)
        .map(|text| text.parse().expect("usage: scaling [STATIONS PACKETS]"))
        .collect();
    match arguments[..] {
        [stations, packets] => row(u32::try_from(stations).expect("a number of stations"), packets),
        _ => table(),
    }
}

/// Ten simulated seconds each: a million packets in total, then 1 000 packets per station, then 1
/// 000 stations with increasing numbers of packets.
fn table() {
    println!(
        "| stations | packets | events per packet | ns per packet | build ms | peak RSS MiB |"
    );
    println!("|---|---|---|---|---|---|");
    let rows = SIZES.map(|size| (size, 1_000_000));
    let constant_rate = SIZES.map(|size| (size, 1_000 * u64::from(size)));
    let more = [100_000, 1_000_000, 10_000_000].map(|packets| (1_000, packets));
    for (stations, packets) in rows.into_iter().chain(constant_rate).chain(more) {
        let this = std::env::current_exe().expect("the path of this program");
        let arguments = [u64::from(stations), packets].map(|number| number.to_string());
        let status = Command::new(this).args(arguments).status();
        assert!(status.is_ok_and(|status| status.success()), "a row failed");
    }
}

/// Prints one row; times are means of processor time.
fn row(stations: u32, packets: u64) {
    let plant = workload::tree(stations, packets, Duration::from_secs(10), &Stack::Zero);
    let (mut running, mut building) = (0.0, 0.0);
    let (mut delivered, mut events, mut runs) = (0, 0, 0.0);
    while running < ENOUGH {
        let begin = processor_time();
        let simulation = plant.simulation();
        let built = processor_time();
        let record = workload::run(simulation, plant.duration);
        running += processor_time() - built;
        building += built - begin;
        delivered += workload::delivered(&record);
        events += record.events;
        runs += 1.0;
    }
    println!(
        "| {stations} | {packets} | {:.1} | {:.0} | {:.1} | {:.1} |",
        to_f64(events) / to_f64(delivered),
        running / to_f64(delivered),
        building / runs / 1e6,
        peak_mebibytes().unwrap_or(f64::NAN)
    );
}

#[allow(clippy::cast_precision_loss, reason = "figures for people")]
fn to_f64(value: u64) -> f64 {
    value as f64
}

/// Returns the processor time of this process in nanoseconds, on Linux.
fn processor_time() -> f64 {
    let text = std::fs::read_to_string("/proc/self/schedstat").expect("a Linux system");
    let first = text.split_whitespace().next().expect("three numbers");
    first.parse().expect("a number")
}

/// Returns the peak memory of this process, on Linux.
fn peak_mebibytes() -> Option<f64> {
    let status = std::fs::read_to_string("/proc/self/status").ok()?;
    let line = status.lines().find(|line| line.starts_with("VmHWM"))?;
    let kibibytes: u32 = line.split_whitespace().nth(1)?.parse().ok()?;
    Some(f64::from(kibibytes) / 1024.0)
}
