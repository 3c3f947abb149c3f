//! `skeie-sync`: synchronization beside other traffic (000 Skeie II, on the work of Jasperneite and
//! Neumann: switched Ethernet "might not be good enough for time synchronization").
//!
//! As there, nodes take no time. A clock sends a message to all others every second eighth; what its
//! delay varies by is what a receiver cannot tell from an error of the clock.

use rtether_model::flow::{Delivery, Flow, Phase, Tag, Traffic};
use rtether_model::network::{NodeKind, Pcp, QueueMap, Selection, Stack, Vid};
use rtether_model::record::StreamRecord;
use rtether_model::wire::Encapsulation;
use rtether_sim::observe::NoObserver;

use crate::observe::{merge, run_one};
use crate::plant::{self, Plant, flow};
use crate::prelude::*;

const FAST: BitRate = BitRate::from_mbps(100);
const STATIONS: u16 = 8;
/// A message of the size of a Sync of IEEE 1588, with its interval in power systems.
const SYNC: (Encapsulation, Bytes) = (Encapsulation::Udp, Bytes::new(44));
const INTERVAL: Duration = Duration::from_ms(125);
const LENGTH: Duration = Duration::from_secs(100);

/// What else is sent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Load {
    Nothing,
    /// Every station sends values to its neighbor.
    Values,
    /// And full frames at random times, a third of its link.
    ValuesAndBulk,
}

fn simulate(
    load: Load,
    has_priority: bool,
    progress: &Progress,
) -> Result<StreamRecord, ReproduceError> {
    let mut plant = Plant::default();
    let mut switch = plant::switch(usize::from(STATIONS), Duration::from_us(1));
    switch.queues = QueueMap::standard(2).expect("two queues");
    switch.selection = Selection::StrictPriority;
    let switch = plant.add("switch", NodeKind::Switch(switch));
    let stations: Vec<_> = (0..STATIONS)
        .map(|port| {
            let station = plant.station(&format!("station {port}"), Stack::Zero);
            plant.link((station, 0), (switch, port), FAST);
            station
        })
        .collect();
    let clock = stations[0];
    let tag = Pcp::new(7).filter(|_| has_priority).map(|pcp| Tag { pcp, vid: Vid::PRIORITY_ONLY });
    let traffic = Traffic::periodic(INTERVAL, Phase::Random);
    let mut flows = vec![Flow {
        listeners: stations[1..].to_vec(),
        delivery: Delivery::Multicast,
        tag,
        ..flow("synchronization", (clock, stations[1]), SYNC, traffic)
    }];
    let neighbors = stations[1..].iter().zip(stations[1..].iter().cycle().skip(1));
    for (&from, &to) in neighbors {
        let name = |what: &str| format!("{what} of {}", from.0);
        if load != Load::Nothing {
            let form = (Encapsulation::Udp, Bytes::new(32));
            let traffic = Traffic::periodic(Duration::from_ms(1), Phase::Random);
            flows.push(flow(&name("values"), (from, to), form, traffic));
        }
        if load == Load::ValuesAndBulk {
            let form = (Encapsulation::Raw, Bytes::new(1500));
            let mean_interval = Duration::from_us(3 * 123);
            let traffic = Traffic::Poisson { mean_interval };
            flows.push(flow(&name("bulk"), (from, to), form, traffic));
        }
    }
    let times = (LENGTH, Duration::ZERO);
    let scenario = plant::scenario("synchronization", plant.network, flows, times);
    let record = run_one(&scenario, 1, progress, &mut NoObserver)?;
    Ok(merge(&record.streams[..usize::from(STATIONS) - 1]))
}

pub(crate) fn run(page: &mut Page, progress: &Progress) -> Outcome {
    page.title("Synchronization beside other traffic");
    let mut spreads = Vec::new();
    for (load, words) in [
        (Load::Nothing, "alone"),
        (Load::Values, "beside values"),
        (Load::ValuesAndBulk, "beside values and full frames"),
    ] {
        for has_priority in [false, true] {
            let stream = simulate(load, has_priority, progress)?;
            let spread = stream.latency.max - stream.latency.min;
            let queue = if has_priority { "highest queue" } else { "one queue" };
            page.row(
                format!("delay of a message, {words}, {queue}"),
                "no number",
                format!("{} to {}: varies by {spread}", stream.latency.min, stream.latency.max),
                "000 Skeie II",
            );
            if load == Load::ValuesAndBulk && has_priority {
                spreads.push(spread);
            }
        }
    }
    page.check("C097", spreads.clone(), listed(spreads, ", "));
    page.note(
        "A microsecond is what IEC 61850-5 asks for sampled values. Even the highest priority waits for \
         the rest of a full frame: clocks in power systems measure what frames wait in each switch \
         (transparent clocks, IEEE 1588), which is not modeled.",
    );
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Oracle: by hand. 44 octets over UDP are 90 of a frame, with a tag 94, 102 on the wire: 8.16 us
    /// a link; a switch of 1 us and 50 ns of cable. Alone nothing varies; in the highest queue it
    /// waits for one frame of 1518 octets with its gap at most, 123.04 us.
    #[test]
    fn one_frame_is_what_priority_leaves() {
        let of = |load| simulate(load, true, &Progress::default()).expect("runs").latency;
        let alone = of(Load::Nothing);
        let way = Duration::from_ns(2 * 8_160 + 1_000 + 50);
        assert_eq!((alone.min, alone.max), (way, way));
        let beside = of(Load::ValuesAndBulk);
        assert!(beside.max - way <= Duration::from_ns(123_040), "{beside:?}");
        assert!(beside.max - way > Duration::from_us(60), "{beside:?}");
    }
}
