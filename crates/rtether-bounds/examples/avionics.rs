//! Bounds of a plant like an avionics network: many flows over eight linked switches.
//!
//! `cargo run --release -p rtether-bounds --example avionics -- FLOWS` prints the time of the
//! analysis and what came out, and the time after one flow has changed; 6000 flows pass about 250
//! ports.

#[path = "plants/mod.rs"]
#[allow(dead_code, reason = "another example uses the rest")]
mod plants;

use std::time::Instant;

use rtether_bounds::{Analyzer, analyze};
use rtether_model::flow::{Flow, FlowId};
use rtether_model::network::Network;
use rtether_model::quantity::Duration;

use plants::Layout::Mesh;
use plants::{flow, network};

const SWITCHES: u32 = 8;

fn main() {
    let flows = std::env::args().nth(1);
    let flows: u32 = flows.map_or(6_000, |text| text.parse().expect("a number of flows"));
    let network = network(Mesh, SWITCHES);
    let flows: Vec<Flow> = (0..flows)
        .map(|index| flow(Mesh, SWITCHES, index))
        .collect();
    let begin = Instant::now();
    let analysis = analyze(&network, &flows);
    let time = begin.elapsed();
    let bounds = analysis
        .streams
        .iter()
        .filter_map(|s| s.bound.as_ref().ok());
    let latencies: Vec<Duration> = bounds.map(|bound| bound.latency).collect();
    let longest = latencies.iter().max().copied().unwrap_or_default();
    let load = analysis
        .ports
        .iter()
        .filter_map(|p| p.utilization_ppm)
        .max();
    #[allow(clippy::print_stdout, reason = "an example says what it found")]
    {
        println!(
            "{} of {} flows bounded, {} visits at {} ports, largest bound {longest}, largest \
             utilization {} %, {:.2} ms",
            latencies.len(),
            flows.len(),
            analysis.effort.visits,
            analysis.ports.len(),
            load.unwrap_or(0) / 10_000,
            time.as_secs_f64() * 1e3,
        );
    }
    change_flows(network, &flows);
}

/// Replaces flows by others, one after the other, and prints the median of the times.
fn change_flows(network: Network, flows: &[Flow]) {
    const CHANGES: u32 = 101;
    let mut analyzer = Analyzer::new(network, flows.to_vec());
    let count = u32::try_from(flows.len()).expect("flows have 32-bit numbers");
    let mut times = Vec::new();
    let (mut evaluations, mut streams) = (0, 0);
    for change in 0..CHANGES {
        let at = FlowId(change * (count / CHANGES).max(1) % count);
        let begin = Instant::now();
        let changes = analyzer.replace(at, flow(Mesh, SWITCHES, count + change));
        times.push(begin.elapsed());
        evaluations += changes.effort.evaluations;
        streams += changes.streams.len();
    }
    times.sort_unstable();
    let mean = |sum: u64| sum / u64::from(CHANGES);
    #[allow(clippy::print_stdout, reason = "an example says what it found")]
    {
        println!(
            "one flow replaced: {:.2} ms (median of {CHANGES}, {:.2} at least, {:.2} at most), {} \
             places evaluated and {} streams changed on average",
            times[times.len() / 2].as_secs_f64() * 1e3,
            times[0].as_secs_f64() * 1e3,
            times[times.len() - 1].as_secs_f64() * 1e3,
            mean(evaluations),
            mean(streams as u64),
        );
    }
}
