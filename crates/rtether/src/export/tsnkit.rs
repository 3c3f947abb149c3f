//! Streams and topology of tsnkit, as CSV.
//!
//! `task.csv` has `stream,src,dst,size,period,deadline,jitter`; `topo.csv` has both directions of each
//! link with `link,q_num,rate,t_proc,t_prop`: the queues of the port, whole gigabits per second, and
//! nanoseconds. Nodes are numbers, which `nodes.csv` gives to names. What tsnkit 0.3.0 makes of them,
//! read in its source:
//!
//! - A frame takes `size` octets of a link and nothing more, so `size` has the preamble and the gap, too.
//! - `t_proc` passes between the end of a transmission over a link and the next link. It is the latency
//!   of the switch that the link *enters*, and its propagation, since no scheduler reads `t_prop`.
//! - Time has slots of 100 ns. Sizes, periods, deadlines and times are rounded up; a deadline must not
//!   be, and a period that is rounded is another one.
//! - It refuses deadlines above the period, several listeners, and rates but those in `RATES`. A plant
//!   with slower links is told in larger units: rates and sizes times 10 or 100, so that every frame
//!   takes its true time.

use std::collections::BTreeSet;
use std::fmt::Write;

use rtether_model::flow::{Delivery, Flow, Traffic};
use rtether_model::network::{Duplex, EndStation, Link, NodeId, NodeKind, Stack};
use rtether_model::quantity::{Bytes, Duration};
use rtether_model::wire::{Frames, TAG, wire_size};
use rtether_report::text::few;

use super::{Exported, Reasons};
use crate::scenario::Scenario;

/// Rates that tsnkit takes, in gigabits per second.
const RATES: [u64; 4] = [1, 10, 100, 1_000];
/// What rates and sizes may be multiplied by.
const UNITS: [u64; 3] = [1, 10, 100];
/// Slot of its time.
const SLOT: Duration = Duration::from_ns(100);

/// Writes the files.
pub(super) fn export(scenario: &Scenario) -> Result<Exported, Reasons> {
    let reasons = reasons(scenario);
    if !reasons.is_empty() {
        return Err(Reasons(reasons));
    }
    let unit = unit(scenario);
    Ok(Exported {
        files: vec![
            ("task.csv".to_owned(), streams(scenario, unit)),
            ("topo.csv".to_owned(), links(scenario, unit)),
            ("nodes.csv".to_owned(), nodes(scenario)),
        ],
        notes: notes(scenario, unit),
    })
}

/// Returns whether tsnkit knows this multiple of the rate of a link.
fn has_known_rate(link: &Link, unit: u64) -> bool {
    let rate = link.rate.as_bps().saturating_mul(unit);
    rate.is_multiple_of(1_000_000_000) && RATES.contains(&(rate / 1_000_000_000))
}

/// Returns what rates and sizes are multiplied by: the least that leaves the fewest links unknown.
fn unit(scenario: &Scenario) -> u64 {
    let unknown = |unit: &u64| {
        let links = used(scenario);
        links.filter(|link| !has_known_rate(link, *unit)).count()
    };
    UNITS.into_iter().min_by_key(unknown).unwrap_or(1)
}

/// Returns what a frame of a flow takes of a link.
fn size(flow: &Flow) -> Bytes {
    let frames = Frames::of_packet(flow.payload, flow.encapsulation);
    wire_size(frames.last + flow.tag.map_or(Bytes::ZERO, |_| TAG))
}

/// Returns a time in nanoseconds, rounded up.
fn whole_ns(time: Duration) -> i64 {
    (time + Duration::from_ps(999)).as_ns_floor()
}

/// Returns whether a time is a whole number of slots.
fn is_slots(time: Duration) -> bool {
    time.as_ps() % SLOT.as_ps() == 0
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

fn streams(scenario: &Scenario, unit: u64) -> String {
    let mut text = String::from("stream,src,dst,size,period,deadline,jitter\n");
    let mut number = 0;
    for flow in &scenario.flows {
        let Some(period) = period(flow) else {
            continue;
        };
        let deadline = flow.deadline.map_or(period, |own| own.min(period));
        let deadline = deadline.as_ps() / SLOT.as_ps() * SLOT.as_ps() / 1_000;
        let (from, size) = (flow.talker.0, size(flow).get() * unit);
        let period = period.as_ns_floor();
        for to in &flow.listeners {
            // Arrivals may vary by a whole period: the scenario has no such requirement.
            _ = writeln!(
                text,
                "{number},{from},\"[{}]\",{size},{period},{deadline},{period}",
                to.0
            );
            number += 1;
        }
    }
    text
}

fn links(scenario: &Scenario, unit: u64) -> String {
    let network = &scenario.network;
    let mut text = String::from("link,q_num,rate,t_proc,t_prop\n");
    for link in used(scenario) {
        let rate = link.rate.as_bps() * unit / 1_000_000_000;
        for [from, to] in [[0, 1], [1, 0]] {
            let [from, to] = [from, to].map(|end: usize| link.ends[end].node);
            let queues = match &network.node(from).kind {
                NodeKind::Switch(switch) => switch.queues.count(),
                NodeKind::EndStation(_) | NodeKind::Hub(_) => 8,
            };
            let latency = match &network.node(to).kind {
                NodeKind::Switch(own) => own.latency + own.unknown_latency + own.latency_jitter,
                NodeKind::EndStation(_) | NodeKind::Hub(_) => Duration::ZERO,
            };
            let behind = whole_ns(latency + link.propagation);
            let (from, to) = (from.0, to.0);
            _ = writeln!(text, "\"({from}, {to})\",{queues},{rate},{behind},0");
        }
    }
    text
}

/// Returns the links that carry frames.
fn used(scenario: &Scenario) -> impl Iterator<Item = &Link> {
    let links = scenario.network.links.iter();
    links.filter(|link| !link.standby)
}

fn nodes(scenario: &Scenario) -> String {
    let rows = scenario.network.nodes.iter().enumerate();
    let rows = rows.map(|(number, node)| {
        let name = node.name.replace('"', "\"\"");
        format!("{number},\"{name}\"\n")
    });
    format!("node,name\n{}", rows.collect::<String>())
}

fn notes(scenario: &Scenario, unit: u64) -> Vec<String> {
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
    let listed = |is: &dyn Fn(&Flow) -> bool| -> Vec<String> {
        let found = scenario.flows.iter().filter(|flow| is(flow));
        found.map(|flow| flow.name.clone()).collect()
    };
    let shortened = listed(&|flow| flow.deadline > period(flow));
    let groups = listed(&|flow| flow.delivery == Delivery::Multicast && flow.listeners.len() > 1);
    let far = used(scenario).filter(|link| link.propagation > Duration::ZERO);
    let far: Vec<String> = far.map(|link| ends(scenario, link)).collect();
    let standby = network.links.iter().filter(|link| link.standby);
    let standby: Vec<String> = standby.map(|link| ends(scenario, link)).collect();
    let lines = [
        (shortened, "tsnkit takes no deadline above the period: the period is written"),
        (groups, "tsnkit sends to one listener: a group is a stream for each"),
        (far, "tsnkit's schedulers overlook `t_prop`: the propagation is a part of `t_proc`"),
        (standby, "on standby: left out"),
        (costs, "tsnkit schedules the network: stacks are left out"),
        (late, "tsnkit decides when they are sent: jitter is left out"),
        (tagged, "tsnkit decides which queue they have: priorities are left out"),
    ];
    let scaled = (unit > 1).then(|| {
        format!(
            "tsnkit knows no rate below 1 Gbit/s: rates and sizes are {unit} times as large, so that \
             times are true"
        )
    });
    let lines = lines.into_iter();
    let lines = lines.filter_map(|(names, why)| Some(format!("{}: {why}", few(&names)?)));
    scaled.into_iter().chain(lines).collect()
}

/// Returns a link in words.
fn ends(scenario: &Scenario, link: &Link) -> String {
    let [one, other] = link.ends.map(|end| scenario.network.node(end.node).name.as_str());
    format!("{one} - {other}")
}

/// Returns all that tsnkit cannot be told.
fn reasons(scenario: &Scenario) -> Vec<String> {
    let found = about_network(scenario).into_iter();
    let found = found.chain(about_flows(scenario));
    found.filter_map(|(names, why)| Some(format!("{}: {why}", few(&names)?))).collect()
}

/// Names, and why tsnkit does not know what they are.
type Unknown = (Vec<String>, &'static str);

fn about_network(scenario: &Scenario) -> Vec<Unknown> {
    let network = &scenario.network;
    let unit = unit(scenario);
    let mut links_at = vec![0; network.nodes.len()];
    let mut known = BTreeSet::new();
    let (mut strange, mut again) = (Vec::new(), Vec::new());
    for link in used(scenario) {
        let [one, other] = link.ends.map(|end| end.node);
        links_at[one.index()] += 1;
        links_at[other.index()] += 1;
        if !known.insert((one.min(other), one.max(other))) {
            again.push(ends(scenario, link));
        }
        if link.duplex != Duplex::Full || !has_known_rate(link, unit) {
            strange.push(ends(scenario, link));
        }
    }
    let nodes = |is: &dyn Fn(NodeId, &NodeKind) -> bool| -> Vec<String> {
        let found = network.iter_nodes().filter(|(id, node)| is(*id, &node.kind));
        found.map(|(_, node)| node.name.clone()).collect()
    };
    vec![
        (nodes(&|_, kind| matches!(kind, NodeKind::Hub(_))), "tsnkit knows no shared medium"),
        (
            nodes(&|_, kind| matches!(kind, NodeKind::Switch(own) if own.router.is_some())),
            "tsnkit knows no processor that packets wait for",
        ),
        (
            nodes(&|id, _| links_at[id.index()] == 0),
            "tsnkit knows nodes by their links: remove what has none",
        ),
        (
            nodes(&|id, kind| matches!(kind, NodeKind::EndStation(_)) && links_at[id.index()] > 1),
            "tsnkit takes a station with two links for a switch",
        ),
        (
            strange,
            "tsnkit knows 1, 10, 100 and 1000 Gbit/s, or a tenth or a hundredth of all, full duplex; \
             try `--set links[N].rate=\"1 Gbit/s\"`",
        ),
        (again, "tsnkit knows one link between two nodes"),
    ]
}

fn about_flows(scenario: &Scenario) -> Vec<Unknown> {
    let flows = |is: &dyn Fn(&Flow) -> bool| -> Vec<String> {
        let found = scenario.flows.iter().filter(|flow| is(flow));
        found.map(|flow| flow.name.clone()).collect()
    };
    let is_sent_by_clock = |flow: &Flow| {
        period(flow).is_some_and(is_slots) && flow.connection.is_none() && !flow.is_published()
    };
    vec![
        (
            flows(&|flow| !is_sent_by_clock(flow)),
            "tsnkit knows periods of whole 100 ns, and no other traffic; try `--without-flows`",
        ),
        (flows(&|flow| flow.reply.is_some()), "tsnkit knows no answers"),
        (
            flows(&|flow| Frames::of_packet(flow.payload, flow.encapsulation).count > 1),
            "tsnkit knows messages of one frame",
        ),
    ]
}
