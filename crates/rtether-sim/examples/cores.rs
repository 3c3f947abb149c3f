//! What one run of a tree of 1 000 stations could gain from two cores: `cores` prints the table of
//! `benches/README.md`.
//!
//! Two parts of a plant can be simulated at once for as long as no frame of one can reach the other:
//! the look-ahead, the shortest time on a link between them with the latency of the switch behind
//! it. So a run is a sequence of windows of that length, each as long as its slower part, with a
//! meeting of both cores after each. The program counts the events of both parts in each window,
//! measures an event of the run on one core and a meeting of two cores, and adds up. Nothing that
//! passes from part to part is counted, so that the result is a limit.
#![allow(clippy::print_stdout, reason = "its output is its purpose")]
#![allow(clippy::cast_precision_loss, reason = "figures for people")]

#[path = "../benches/workload/mod.rs"]
mod workload;

use std::sync::atomic::{AtomicU32, Ordering};
use std::thread;
use std::time::Instant as Clock;

use rtether_model::network::{NodeId, NodeKind, PortId, Stack};
use rtether_model::quantity::{Duration, Instant};
use rtether_sim::observe::{Observer, PacketInfo};

/// Latency of each switch, most of the look-ahead: a frame of 102 octets takes less than a
/// microsecond on a link of 1 Gbit/s.
const LATENCY: Duration = Duration::from_us(4);
const LOOK_AHEAD: Duration = Duration::from_us(5);
const STATIONS: u32 = 1_000;
/// Packets of a run.
const PACKETS: i64 = 200_000;
const MEETINGS: u32 = 200_000;

/// Counts the events of both parts in each window.
struct Windows {
    /// By node: the part that it belongs to.
    part: Vec<usize>,
    end: Instant,
    events: [u64; 2],
    number: u64,
    /// Events of the busier part, over all windows, and of both.
    longest: u64,
    all: u64,
}

impl Windows {
    fn count(&mut self, now: Instant, node: NodeId) {
        if now >= self.end {
            self.close();
            // What nobody does takes no time: the next window begins with an event.
            self.end = now + LOOK_AHEAD;
        }
        self.events[self.part[node.index()]] += 1;
    }

    fn close(&mut self) {
        let [one, other] = core::mem::take(&mut self.events);
        self.number += u64::from(one + other > 0);
        self.longest += one.max(other);
        self.all += one + other;
    }
}

impl Observer for Windows {
    fn released(&mut self, now: Instant, packet: &PacketInfo) {
        self.count(now, packet.source);
    }

    fn transmitted(&mut self, now: Instant, port: PortId, _: &PacketInfo) {
        self.count(now, port.node);
    }

    fn reached(&mut self, now: Instant, station: NodeId, _: &PacketInfo) {
        self.count(now, station);
    }
}

fn main() {
    let meeting = meeting();
    println!("A meeting of two cores takes {meeting:.0} ns.\n");
    println!(
        "| packets a second | ns per event | events per window | times as fast, meetings free | with meetings |"
    );
    println!("|--:|--:|--:|--:|--:|");
    for per_second in [100_000, 1_000_000, 10_000_000] {
        row(per_second, meeting);
    }
}

fn row(per_second: i64, meeting: f64) {
    let duration = Duration::from_secs(PACKETS) / per_second;
    let packets = PACKETS.unsigned_abs();
    let mut plant = workload::tree(STATIONS, packets, duration, &Stack::Zero);
    for node in &mut plant.network.nodes {
        if let NodeKind::Switch(switch) = &mut node.kind {
            switch.latency = LATENCY;
        }
    }
    // Stations and their switches were added in order; the root came last.
    let half = plant.network.nodes.len() / 2;
    let part = (0..plant.network.nodes.len()).map(|node| usize::from(node >= half));
    let mut windows = Windows {
        part: part.collect(),
        end: Instant::ZERO,
        events: [0; 2],
        number: 0,
        longest: 0,
        all: 0,
    };
    plant.simulation().run_until(Instant::ZERO + duration, &mut windows);
    windows.close();
    let simulation = plant.simulation();
    let begin = Clock::now();
    workload::run(simulation, duration);
    let event = begin.elapsed().as_secs_f64() * 1e9 / windows.all as f64;
    let one = windows.all as f64 * event;
    let two = windows.longest as f64 * event;
    println!(
        "| {per_second} | {event:.0} | {:.1} | {:.2} | {:.2} |",
        windows.all as f64 / windows.number as f64,
        one / two,
        one / (two + windows.number as f64 * meeting)
    );
}

/// Returns how long it takes two threads that spin to wait for each other, in nanoseconds.
fn meeting() -> f64 {
    let arrived = [AtomicU32::new(0), AtomicU32::new(0)];
    let meet = |own: usize| {
        for number in 1..=MEETINGS {
            arrived[own].store(number, Ordering::Release);
            while arrived[1 - own].load(Ordering::Acquire) < number {
                core::hint::spin_loop();
            }
        }
    };
    let begin = Clock::now();
    thread::scope(|scope| {
        scope.spawn(|| meet(0));
        meet(1);
    });
    begin.elapsed().as_secs_f64() * 1e9 / f64::from(MEETINGS)
}
