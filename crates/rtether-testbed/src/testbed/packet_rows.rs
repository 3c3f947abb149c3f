//! Measured packets as CSV.

use std::io::{self, Write};

use rtether_model::network::NodeId;
use rtether_model::quantity::Duration;

use super::Measured;
use rtether::report::text::exact_ns;
use rtether::scenario::Scenario;
use rtether::sheet::Sheet;

const COLUMNS: [&str; 8] = [
    "flow",
    "listener",
    "number",
    "released_ns",
    "received_ns",
    "latency_ns",
    "stalled",
    "outcome",
];

/// Writes one CSV line for each packet kept, times in nanoseconds from the start of the run.
///
/// `outcome` is `delivered`, `late` (after the deadline of its flow) or `lost`. Late packets
/// touched by a stall do not count as missed.
///
/// # Errors
/// Those of the writer.
pub fn packets_csv(scenario: &Scenario, measured: &Measured, writer: impl Write) -> io::Result<()> {
    let flows = scenario.flows.iter();
    let streams = flows.flat_map(|flow| flow.listeners.iter().map(move |&node| (flow, node)));
    let streams: Vec<_> = streams.collect();
    let name = |id: NodeId| scenario.network.node(id).name.as_str();
    let mut writer = Sheet::from_writer(writer);
    writer.write_record(COLUMNS)?;
    for packet in &measured.packets.kept {
        let Some(&(flow, listener)) = streams.get(usize::from(packet.stream)) else {
            continue;
        };
        let released = packet.released_at.since_start();
        let ns = |time: Duration| exact_ns(time.as_ps());
        let if_received = |time: Option<Duration>| time.map_or_else(String::new, ns);
        let is_late = |latency| flow.deadline.is_some_and(|deadline| latency > deadline);
        writer.write_record([
            flow.name.as_str(),
            name(listener),
            &packet.number.to_string(),
            &ns(released),
            &if_received(packet.latency.map(|latency| released + latency)),
            &if_received(packet.latency),
            if packet.is_stalled { "true" } else { "false" },
            match packet.latency {
                None => "lost",
                Some(latency) if is_late(latency) => "late",
                Some(_) => "delivered",
            },
        ])?;
    }
    writer.flush()
}
