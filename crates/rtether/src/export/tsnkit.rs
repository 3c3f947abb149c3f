//! Streams and topology of tsnkit, as CSV.
//!
//! `task.csv` has `stream,src,dst,size,period,deadline,jitter`, with octets of the payload of a frame
//! and nanoseconds; `topo.csv` has both directions of each link with `link,q_num,rate,t_proc,t_prop`:
//! the queues of the port, whole gigabits per second, and nanoseconds. Nodes are numbers, which
//! `nodes.csv` gives to names. An import of the first two is the same plant.

use std::fmt::Write;

use rtether_model::flow::{Delivery, Flow, Traffic};
use rtether_model::network::{Duplex, EndStation, NodeId, NodeKind, Stack};
use rtether_model::quantity::{Bytes, Duration};
use rtether_model::wire::frame_size;

use super::{Exported, Reasons, few};
use crate::scenario::Scenario;

/// Rates that tsnkit is told, in gigabits per second.
const RATES: [u64; 8] = [1, 10, 25, 40, 50, 100, 200, 400];
/// Header and check sequence of a frame, and its largest payload.
const AROUND: Bytes = Bytes::new(18);
const LARGEST: u64 = 1_500;

/// Writes the files.
pub(super) fn export(scenario: &Scenario) -> Result<Exported, Reasons> {
    let reasons = reasons(scenario);
    if !reasons.is_empty() {
        return Err(Reasons(reasons));
    }
    Ok(Exported {
        files: vec![
            ("task.csv".to_owned(), streams(scenario)),
            ("topo.csv".to_owned(), links(scenario)),
            ("nodes.csv".to_owned(), nodes(scenario)),
        ],
        notes: notes(scenario),
    })
}

/// Returns the payload of a frame that has what a flow sends.
fn size(flow: &Flow) -> u64 {
    let frame = frame_size(flow.payload, flow.encapsulation);
    // Short frames are padded; without that, the payload is what it is.
    let padded = frame.get() - AROUND.get();
    let own = flow.encapsulation.header_size() + flow.payload;
    padded.min(own.get())
}

fn whole_ns(time: Duration) -> Option<i64> {
    (time.as_ps() % 1_000 == 0).then(|| time.as_ns_floor())
}

fn period(flow: &Flow) -> Option<Duration> {
    match flow.traffic {
        Traffic::Periodic { period, .. } => Some(period),
        Traffic::Flood { interval } => Some(interval),
        Traffic::Sporadic { .. }
        | Traffic::Poisson { .. }
        | Traffic::Adaptive { .. }
        | Traffic::Bulk(_) => None,
    }
}

fn streams(scenario: &Scenario) -> String {
    let mut text = String::from("stream,src,dst,size,period,deadline,jitter\n");
    let mut number = 0;
    for flow in &scenario.flows {
        let Some(period) = period(flow).and_then(whole_ns) else {
            continue;
        };
        let deadline = flow.deadline.map_or(period, Duration::as_ns_floor);
        let groups: Vec<Vec<NodeId>> = match flow.delivery {
            Delivery::Multicast => vec![flow.listeners.clone()],
            Delivery::Unicast => flow.listeners.iter().map(|to| vec![*to]).collect(),
        };
        for group in groups {
            let to: Vec<String> = group.iter().map(|to| to.0.to_string()).collect();
            let (from, size, to) = (flow.talker.0, size(flow), to.join(", "));
            // Arrivals may vary by a whole period: the scenario has no such requirement.
            _ = writeln!(
                text,
                "{number},{from},\"[{to}]\",{size},{period},{deadline},{period}"
            );
            number += 1;
        }
    }
    text
}

fn links(scenario: &Scenario) -> String {
    let network = &scenario.network;
    let mut text = String::from("link,q_num,rate,t_proc,t_prop\n");
    for link in &network.links {
        let (rate, wire) = (link.rate.as_bps() / 1_000_000_000, link.propagation);
        for [from, to] in [[0, 1], [1, 0]] {
            let [from, to] = [from, to].map(|end: usize| link.ends[end].node);
            let (queues, latency) = match &network.node(from).kind {
                NodeKind::Switch(switch) => (
                    switch.queues.count(),
                    switch.latency + switch.unknown_latency,
                ),
                NodeKind::EndStation(_) | NodeKind::Hub(_) => (8, Duration::ZERO),
            };
            let [latency, wire] = [latency, wire].map(Duration::as_ns_floor);
            let (from, to) = (from.0, to.0);
            _ = writeln!(text, "\"({from}, {to})\",{queues},{rate},{latency},{wire}");
        }
    }
    text
}

fn nodes(scenario: &Scenario) -> String {
    let rows = scenario.network.nodes.iter().enumerate();
    let rows = rows.map(|(number, node)| {
        let name = node.name.replace('"', "\"\"");
        format!("{number},\"{name}\"\n")
    });
    format!("node,name\n{}", rows.collect::<String>())
}

fn notes(scenario: &Scenario) -> Vec<String> {
    let network = &scenario.network;
    let is_free = |station: &EndStation| matches!(station.stack, Stack::Zero);
    let costs = network
        .nodes
        .iter()
        .filter(|node| matches!(&node.kind, NodeKind::EndStation(station) if !is_free(station)));
    let costs: Vec<String> = costs.map(|node| node.name.clone()).collect();
    let late = scenario.flows.iter().filter(|flow| {
        matches!(flow.traffic, Traffic::Periodic { release_jitter, .. }
            if release_jitter > Duration::ZERO)
    });
    let late: Vec<String> = late.map(|flow| flow.name.clone()).collect();
    let tagged = scenario.flows.iter().filter(|flow| flow.tag.is_some());
    let tagged: Vec<String> = tagged.map(|flow| flow.name.clone()).collect();
    let lines = [
        (costs, "tsnkit schedules the network: stacks are left out"),
        (
            late,
            "tsnkit decides when they are sent: jitter is left out",
        ),
        (
            tagged,
            "tsnkit decides which queue they have: priorities are left out",
        ),
    ];
    let lines = lines.into_iter();
    lines
        .filter_map(|(names, why)| Some(format!("{}: {why}", few(&names)?)))
        .collect()
}

/// Returns all that tsnkit cannot be told.
fn reasons(scenario: &Scenario) -> Vec<String> {
    let network = &scenario.network;
    let mut reasons = Vec::new();
    let mut refuse = |names: Vec<String>, why: &str| {
        reasons.extend(few(&names).map(|names| format!("{names}: {why}")));
    };
    let hubs = network.nodes.iter();
    let hubs = hubs.filter(|node| matches!(node.kind, NodeKind::Hub(_)));
    refuse(
        hubs.map(|node| node.name.clone()).collect(),
        "tsnkit knows no shared medium",
    );
    let links = network.links.iter().filter(|link| {
        let gigabits = link.rate.as_bps() / 1_000_000_000;
        let is_whole = link.rate.as_bps() % 1_000_000_000 == 0 && RATES.contains(&gigabits);
        link.duplex != Duplex::Full || !is_whole || whole_ns(link.propagation).is_none()
    });
    let links = links.map(|link| {
        let [one, other] = [0, 1].map(|end: usize| network.node(link.ends[end].node).name.as_str());
        format!("{one} - {other}")
    });
    refuse(
        links.collect(),
        "tsnkit knows whole gigabits per second, full duplex, and nanoseconds; try \
         `--set links[N].rate=\"1 Gbit/s\"`",
    );
    let flows = |is: &dyn Fn(&Flow) -> bool| -> Vec<String> {
        let found = scenario.flows.iter().filter(|flow| is(flow));
        found.map(|flow| flow.name.clone()).collect()
    };
    refuse(
        flows(&|flow| {
            period(flow).and_then(whole_ns).is_none()
                || flow.connection.is_some()
                || flow.is_published()
        }),
        "tsnkit knows periods of whole nanoseconds, and no other traffic",
    );
    refuse(
        flows(&|flow| flow.reply.is_some()),
        "tsnkit knows no answers",
    );
    refuse(
        flows(&|flow| size(flow) > LARGEST),
        "tsnkit knows messages of one frame",
    );
    reasons
}
