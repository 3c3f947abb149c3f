//! Plants of the examples, and the measurement of their processor time.

use std::time::{Duration as WallDuration, Instant};

use rtether_model::flow::{Flow, Phase, Traffic};
use rtether_model::network::{EndStation, Network, NodeId, NodeKind, Stack, Switch};
use rtether_model::quantity::{BitRate, Bytes, Duration};

/// Stations at each switch.
const PER_SWITCH: u32 = 14;

/// Processor time for which a measurement is repeated.
const ENOUGH: WallDuration = WallDuration::from_millis(400);

/// Returns the mean processor time of `work` in milliseconds, over as many runs as fit 0.4 s.
pub(crate) fn mean_ms(mut work: impl FnMut(u32)) -> f64 {
    let begin = Instant::now();
    let first = processor_time().unwrap_or_default();
    let mut runs = 0;
    loop {
        work(runs);
        runs += 1;
        let now = processor_time();
        let spent = now.map_or_else(|| begin.elapsed(), |now| now.saturating_sub(first));
        if spent >= ENOUGH {
            return spent.as_secs_f64() * 1e3 / f64::from(runs);
        }
    }
}

/// Returns the processor time of this thread so far, to within some milliseconds; `None` where
/// Linux does not provide it.
fn processor_time() -> Option<WallDuration> {
    let text = std::fs::read_to_string("/proc/thread-self/schedstat").ok()?;
    let nanoseconds = text.split_whitespace().next()?.parse().ok()?;
    Some(WallDuration::from_nanos(nanoseconds))
}

/// How switches are linked with each other.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Layout {
    /// Each with every other one, at 100 Mbit/s.
    Mesh,
    /// One after the other, at 1 Gbit/s.
    Line,
    /// Eight below each, at 10 Gbit/s; nine flows of ten stay at their switch.
    Tree,
}

/// Switches with fourteen stations each, all station links at 100 Mbit/s.
pub(crate) fn network(layout: Layout, switches: u32) -> Network {
    let mut network = Network::default();
    let switches: Vec<NodeId> = (0..switches)
        .map(|index| {
            let switch = Switch { latency: Duration::from_us(1), ..Switch::new(0) };
            network.add(format!("w{index}"), NodeKind::Switch(switch))
        })
        .collect();
    for (index, &a) in switches.iter().enumerate() {
        let (first, others, mbps) = match layout {
            Layout::Mesh => (index + 1, usize::MAX, 100),
            Layout::Line => (index + 1, 1, 1000),
            Layout::Tree => (8 * index + 1, 8, 10_000),
        };
        for &b in switches.iter().skip(first).take(others) {
            network.join(a, b, BitRate::from_mbps(mbps));
        }
    }
    for index in 0..PER_SWITCH as usize * switches.len() {
        let station = NodeKind::EndStation(EndStation::new(Stack::Zero));
        let station = network.add(format!("s{index}"), station);
        network.join(station, switches[index % switches.len()], BitRate::from_mbps(100));
    }
    network
}

/// Periods of 8 to 128 ms and frames of 64 to 563 octets, by number; in a mesh between any two
/// stations, in a line from its first switch to its last, in a tree mostly at one switch.
pub(crate) fn flow(layout: Layout, switches: u32, index: u32) -> Flow {
    let mix = |salt: u32| {
        let mut x = (index + 1).wrapping_mul(0x9e37_79b9) ^ salt.wrapping_mul(0x85eb_ca6b);
        x ^= x >> 16;
        x = x.wrapping_mul(0x7feb_352d);
        x ^ (x >> 15)
    };
    let stations = PER_SWITCH * switches;
    let (talker, listener) = match layout {
        Layout::Mesh => {
            let talker = mix(1) % stations;
            let distance = 1 + mix(2) % (stations - 1);
            (talker, (talker + distance) % stations)
        }
        Layout::Line => {
            // Station n is at switch n mod `switches`.
            let talker = mix(1) % PER_SWITCH;
            let listener = (talker + 1 + mix(2) % (PER_SWITCH - 1)) % PER_SWITCH;
            (talker * switches, listener * switches + switches - 1)
        }
        Layout::Tree => {
            let talker = mix(1) % stations;
            let crosses = index.is_multiple_of(10);
            let distance = if crosses {
                1 + mix(2) % (stations - 1)
            } else {
                switches * (1 + mix(2) % (PER_SWITCH - 1))
            };
            (talker, (talker + distance) % stations)
        }
    };
    Flow::new(
        format!("f{index}"),
        NodeId(switches + talker),
        vec![NodeId(switches + listener)],
        Bytes::new(u64::from(18 + mix(3) % 500)),
        Traffic::periodic(Duration::from_ms(1 << (3 + mix(4) % 5)), Phase::Random),
    )
}
