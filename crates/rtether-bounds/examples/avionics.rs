//! Bounds of a plant like an avionics network: many flows over eight linked switches.
//!
//! `cargo run --release -p rtether-bounds --example avionics -- FLOWS` prints the processor time of
//! the analysis, its results, and the time after one flow has changed; 6000 flows pass about 250
//! ports. With `total-flow` after the number only that method is applied.

#[path = "plants/mod.rs"]
#[allow(dead_code, reason = "another example uses the rest")]
mod plants;

use rtether_bounds::{Analyzer, Methods, analyze_with};
use rtether_model::flow::{Flow, FlowId};
use rtether_model::network::Network;
use rtether_model::quantity::Duration;

use plants::Layout::Mesh;
use plants::{flow, mean_ms, network};

const SWITCHES: u32 = 8;

fn main() {
    let flows = std::env::args().nth(1);
    let flows: u32 = flows.map_or(6_000, |text| text.parse().expect("a number of flows"));
    let methods = match std::env::args().nth(2).as_deref() {
        Some("total-flow") => Methods::TotalFlow,
        _ => Methods::All,
    };
    let network = network(Mesh, SWITCHES);
    let flows: Vec<Flow> = (0..flows).map(|index| flow(Mesh, SWITCHES, index)).collect();
    let analysis = analyze_with(&network, &flows, methods);
    let time = mean_ms(|_| {
        analyze_with(&network, &flows, methods);
    });
    let bounds = analysis.streams.iter().filter_map(|s| s.bound.as_ref().ok());
    let better = bounds.clone().filter(|b| b.latency < b.by_method[0].1);
    let better = better.count();
    let latencies: Vec<Duration> = bounds.map(|bound| bound.latency).collect();
    let longest = latencies.iter().max().copied().unwrap_or_default();
    let load = analysis.ports.iter().filter_map(|p| p.utilization_ppm).max();
    #[allow(clippy::print_stdout, reason = "an example says what it found")]
    {
        println!(
            "{} of {} flows bounded, {} visits at {} ports, largest bound {longest}, largest \
             utilization {} %, {better} better than by total flow analysis, {:.2} ms",
            latencies.len(),
            flows.len(),
            analysis.effort.visits,
            analysis.ports.len(),
            load.unwrap_or(0) / 10_000,
            time,
        );
    }
    change_flows(network, &flows);
}

/// Replaces flows one after the other and prints the time that takes.
fn change_flows(network: Network, flows: &[Flow]) {
    let mut analyzer = Analyzer::new(network, flows.to_vec());
    let count = u32::try_from(flows.len()).expect("flows have 32-bit numbers");
    let (mut changes, mut evaluations, mut streams) = (0, 0, 0);
    let time = mean_ms(|change| {
        // A step that meets all flows for any count.
        let at = FlowId(change * 97 % count);
        let found = analyzer.replace(at, flow(Mesh, SWITCHES, count + change));
        changes += 1;
        evaluations += found.effort.evaluations;
        streams += found.streams.len() as u64;
    });
    #[allow(clippy::print_stdout, reason = "an example says what it found")]
    {
        println!(
            "one flow replaced: {time:.2} ms, {} places evaluated and {} streams changed (means of \
             {changes})",
            evaluations / changes,
            streams / changes,
        );
    }
}
