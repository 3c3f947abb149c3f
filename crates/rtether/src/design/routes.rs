//! Other ways of flows: around each link between switches on their way.

use rtether_model::flow::Flow;
use rtether_model::network::{Link, Network, NodeId};
use rtether_model::route::{Hop, Routing};

use super::parameter::{Kept, Parameter, set};
use crate::scenario::{Freedom, Override, Scenario, scalar};

/// Most flows that get other ways: those with a deadline first.
const MOST_FLOWS: usize = 100;

/// A flow with its way to each listener.
struct Routed<'a> {
    number: usize,
    flow: &'a Flow,
    ways: Vec<Vec<Vec<Hop>>>,
}

/// Returns whether some flow may have another way: the switches are joined in a loop.
pub(super) fn has_others(scenario: &Scenario) -> bool {
    Routing::new(&scenario.network).find_loop(&scenario.network).is_some()
}

/// Adds the ways of the flows that may change.
pub(super) fn routes(scenario: &Scenario, kept: &Kept, found: &mut Vec<Parameter>) {
    if !has_others(scenario) {
        return;
    }
    let mut flows = routed(scenario, kept);
    for (number, link) in scenario.network.links.iter().enumerate() {
        if joins_switches(&scenario.network, link) && !link.standby {
            go_around(&scenario.network, number, &mut flows);
        }
    }
    for Routed { number, flow, ways } in flows {
        let path = format!("flows.{}.route", flow.name);
        let others: Vec<Vec<Override>> =
            ways[1..].iter().map(|way| set(&path, &text(&scenario.network, flow, way))).collect();
        if !others.is_empty() {
            let old = text(&scenario.network, flow, &ways[0]);
            let parameter = Parameter::new(scenario, Freedom::Routes, (path, old), others);
            found.push(Parameter { flows: vec![number], ..parameter });
        }
    }
}

/// Returns the flows that may have another way, with the one that they have.
fn routed<'a>(scenario: &'a Scenario, kept: &Kept) -> Vec<Routed<'a>> {
    let network = &scenario.network;
    let routing = Routing::new(network);
    let mut flows: Vec<(usize, &Flow)> = kept.free_flows(scenario).collect();
    // Participants of RTPS speak to all others, and who is in two networks uses both.
    flows.retain(|(_, flow)| {
        let mut ends = flow.listeners.iter().chain([&flow.talker]);
        !flow.is_published() && !ends.any(|node| is_doubled(network, *node))
    });
    flows.sort_by_key(|(_, flow)| flow.deadline.is_none());
    let ways = flows.into_iter().take(MOST_FLOWS).filter_map(|(number, flow)| {
        let way = way(network, &routing, flow)?;
        Some(Routed { number, flow, ways: vec![way] })
    });
    ways.collect()
}

fn is_doubled(network: &Network, node: NodeId) -> bool {
    network.end_station(node).is_some_and(|own| own.redundancy.is_some())
}

/// Returns the way of a flow to each listener; `None` if there is none.
fn way(network: &Network, routing: &Routing, flow: &Flow) -> Option<Vec<Vec<Hop>>> {
    let paths = flow.listeners.iter().map(|to| routing.flow_path(network, flow, *to));
    paths.collect::<Result<_, _>>().ok()
}

/// Adds the ways around a link to those of the flows that take it.
fn go_around(network: &Network, link: usize, flows: &mut [Routed<'_>]) {
    let mut around = network.clone();
    around.links[link].standby = true;
    let routing = Routing::new(&around);
    for Routed { flow, ways, .. } in flows {
        let mut hops = ways[0].iter().flatten();
        if !hops.any(|hop| hop.link.index() == link) {
            continue;
        }
        let free = Flow { routes: Vec::new(), ..(*flow).clone() };
        let other = way(&around, &routing, &free);
        ways.extend(other.filter(|own| !ways.contains(own)));
    }
}

/// Returns whether a link in use joins the nodes of a hop.
fn is_between(link: &Link, hop: &Hop) -> bool {
    let [a, b] = link.ends.map(|end| end.node);
    let [from, to] = [hop.egress.node, hop.ingress.node];
    !link.standby && ([a, b] == [from, to] || [a, b] == [to, from])
}

fn joins_switches(network: &Network, link: &Link) -> bool {
    link.ends.iter().all(|end| network.switch(end.node).is_some())
}

/// Returns ways as the scenario says them.
fn text(network: &Network, flow: &Flow, ways: &[Vec<Hop>]) -> String {
    let lists: Vec<String> = ways.iter().map(|way| list(network, flow, way)).collect();
    if let [one] = &lists[..] { one.clone() } else { format!("[{}]", lists.join(", ")) }
}

/// Returns the nodes on a way, with the port where several links lead to the next one.
fn list(network: &Network, flow: &Flow, way: &[Hop]) -> String {
    let names = way.iter().map(|hop| {
        let name = &network.node(hop.egress.node).name;
        if network.links.iter().filter(|link| is_between(link, hop)).count() > 1 {
            scalar(&format!("{name}:{}", hop.egress.port + 1))
        } else {
            scalar(name)
        }
    });
    let last = way.last().map_or(flow.talker, |hop| hop.ingress.node);
    let names: Vec<String> = names.chain([scalar(&network.node(last).name)]).collect();
    format!("[{}]", names.join(", "))
}
