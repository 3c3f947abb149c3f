//! The seven parts of a round trip (000 IV; R5).
//!
//! Master, network, slave (receive, application, send), network, master. Each network part is a) the
//! transmitting drop link, b) the switch from port to port, c) its output buffer, d) the receiving
//! drop link. Only c depends on load and tags; a, b and d follow from frame and rates.

use rtether_model::flow::FlowId;
use rtether_model::network::NodeKind;
use rtether_model::quantity::Instant;
use rtether_model::record::{Place, Segment};
use rtether_model::wire::wire_time;
use rtether_sim::observe::{Delivery, PacketInfo};
use rtether_sim::timeline::{Timeline, Trails};

use super::plant::{self, FAST, Load, MASTER, SLAVE, SLOW, Setup};
use crate::observe::run_one;
use crate::prelude::*;

/// Names of the parts, in the order in which a message passes them.
const NAMES: [&str; 13] = [
    "1 master, send: stack and buffers",
    "2a request, transmitting drop link",
    "2b request, switch from port to port",
    "2c request, output buffer",
    "2d request, receiving drop link",
    "3 slave, receive",
    "4 slave, application",
    "5 slave, send: stack and buffers",
    "6a reply, transmitting drop link",
    "6b reply, switch from port to port",
    "6c reply, output buffer",
    "6d reply, receiving drop link",
    "7 master, receive",
];

/// Mean of each part.
type Means = [Duration; NAMES.len()];

/// Returns the part to which a place belongs; `has_turned` once the message was at the slave.
const fn part(place: Place, has_turned: bool) -> usize {
    let is_master = place.port.node.0 == MASTER.0;
    let is_slave = place.port.node.0 == SLAVE.0;
    match place.segment {
        Segment::Protocol | Segment::TalkerStack | Segment::DriverQueue | Segment::MediumAccess
            if is_master =>
        {
            0
        }
        Segment::Wire if is_master => 1,
        Segment::Wire if is_slave => 8,
        Segment::Wire => [4, 11][has_turned as usize],
        Segment::SwitchLatency => [2, 9][has_turned as usize],
        Segment::SwitchQueue => [3, 10][has_turned as usize],
        Segment::ReceiveQueue | Segment::ReceiveStack if is_slave => 5,
        Segment::Application if is_slave => 6,
        Segment::Protocol | Segment::TalkerStack | Segment::DriverQueue | Segment::MediumAccess => {
            7
        }
        Segment::ReceiveQueue | Segment::ReceiveStack | Segment::Application => 12,
    }
}

/// Splits round trips; the parts add up to their mean, but for rounding to a picosecond.
fn means(timelines: &[Timeline]) -> Means {
    let mut sums = [Duration::ZERO; NAMES.len()];
    for timeline in timelines {
        let mut has_turned = false;
        for step in &timeline.parts {
            has_turned |= step.place.port.node == SLAVE;
            sums[part(step.place, has_turned)] += step.time();
        }
    }
    let count = i64::try_from(timelines.len()).expect("a count fits 63 bits");
    sums.map(|sum| sum / count.max(1))
}

/// Simulates a series and follows its messages.
fn follow(load: Load, progress: &Progress) -> Result<Vec<Timeline>, ReproduceError> {
    let scenario = plant::scenario(&Setup::plain(load));
    let from = Instant::ZERO + scenario.run.warmup;
    let is_counted = |packet: &PacketInfo, _: &Delivery| packet.released_at >= from;
    let mut trails = Trails::new(
        &scenario.network,
        &scenario.flows,
        // The messages are the first flow.
        Some(FlowId(0)),
        from,
        is_counted,
    );
    run_one(&scenario, 1, progress, &mut trails)?;
    Ok(trails.into_found())
}

/// Returns what the paper can calculate of each part.
fn calculable() -> [Option<Duration>; NAMES.len()] {
    let frame = Bytes::new(160);
    let [fast, slow] = [FAST, SLOW].map(|rate| wire_time(frame, rate));
    let through = plant::scenario(&Setup::plain(Load::None)).network.nodes.iter().find_map(
        |node| match &node.kind {
            NodeKind::Switch(switch) => Some(switch.latency),
            NodeKind::EndStation(_) | NodeKind::Hub(_) => None,
        },
    );
    let mut parts = [None; NAMES.len()];
    for (part, time) in [(1, fast), (4, slow), (8, slow), (11, fast)] {
        parts[part] = Some(time);
    }
    (parts[2], parts[9]) = (through, through);
    parts
}

/// Shows the parts without load and with a file in either direction.
pub(super) fn show(page: &mut Page, progress: &Progress) -> Outcome {
    const LOADS: [Load; 3] = [Load::None, Load::Receive, Load::Transmit];
    let [none, receive, transmit] = LOADS.map(|load| follow(load, progress));
    let all = [none?, receive?, transmit?].map(|found| means(&found));
    let words = |part: usize| {
        let [none, receive, transmit] = all.map(|means| means[part]);
        format!("{none}; file received {receive}, sent {transmit}")
    };
    for (part, (name, time)) in NAMES.into_iter().zip(calculable()).enumerate() {
        let paper = match time {
            Some(_) if name.ends_with("port to port") => "calculable, no number".to_owned(),
            Some(time) => format!("{time}, calculated"),
            None if name.ends_with("output buffer") => "depends on load and tag".to_owned(),
            None => "not calculable".to_owned(),
        };
        page.row(name, paper, words(part), "000 Skeie IV");
    }
    let links = |means: &Means, parts: &[usize]| -> Duration {
        parts.iter().map(|&part| means[part]).sum()
    };
    for (quantity, parts, paper) in [
        ("drop links, one way", &[1, 4][..], "148 us"),
        ("drop links, round trip", &[1, 4, 8, 11], "296 us"),
    ] {
        page.row(quantity, paper, links(&all[0], parts), "000 Skeie IV");
    }
    let groups = NAMES.iter().enumerate().map(|(part, name)| {
        let columns = all.map(|means| column(means[part], None));
        ((*name).to_owned(), columns.into())
    });
    page.columns(
        "The parts of a round trip, untagged messages and a FIFO stack.",
        ["Seven parts of a round trip", "means"],
        Axis::time("time"),
        ["no load", "file received", "file sent"],
        groups.collect(),
    );
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::plant::PATCH;

    /// Oracle: the latency of each message; the paper's drop links of 13.44 and 134.4 us, which
    /// 168 octets take at 100 and 10 Mbit/s, and the cables, which the paper leaves out.
    #[test]
    fn seven_parts_add_up_and_the_calculable_ones_are_the_papers() {
        let progress = Progress::default();
        for load in [Load::None, Load::Transmit] {
            let found = follow(load, &progress).expect("a scenario that runs");
            assert!(found.len() > 150, "{}", found.len());
            for timeline in &found {
                let sum: Duration = means(std::slice::from_ref(timeline)).into_iter().sum();
                assert_eq!(sum, timeline.latency);
            }
            let means = means(&found);
            for (part, time) in calculable().into_iter().enumerate() {
                let (name, own) = (NAMES[part], means[part]);
                let cable = if name.contains("link") { PATCH } else { Duration::ZERO };
                assert!(time.is_none_or(|time| time + cable == own), "{name}: {own}");
            }
            assert_eq!(means[1] + means[4], Duration::from_ns(147_840) + PATCH * 2);
            // Nothing but a file on the way back fills the buffer at the master's port.
            assert_eq!(means[3], Duration::ZERO);
        }
    }
}
