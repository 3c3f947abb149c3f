//! Routes of flows: from names of nodes to the ports by which frames leave them.

use std::cell::OnceCell;
use std::collections::{BTreeMap, BTreeSet};

use rtether_model::flow::Delivery;
use rtether_model::network::{Network, NodeId, PortId};
use rtether_model::wire::Encapsulation;

use super::Plant;
use super::links::port_number;
use crate::codes;
use crate::diagnostic::{Diagnostic, Span, quote};
use crate::help::Help;
use crate::reader::{Fields, Reader};
use crate::tree::{Data, Value};

const KEY: &str = "route";

/// Links by the nodes they join, in both directions; found when the first route asks for them.
#[derive(Default)]
pub(super) struct Joints(OnceCell<BTreeMap<[NodeId; 2], Vec<Joint>>>);

/// A link as seen from the node that sends.
#[derive(Clone, Copy)]
struct Joint {
    egress: PortId,
    ingress: PortId,
    is_standby: bool,
}

impl Joints {
    fn between(&self, network: &Network, nodes: [NodeId; 2]) -> &[Joint] {
        let all = self.0.get_or_init(|| {
            let mut all: BTreeMap<[NodeId; 2], Vec<Joint>> = BTreeMap::new();
            for link in &network.links {
                let [a, b] = link.ends;
                for (egress, ingress) in [(a, b), (b, a)] {
                    let is_standby = link.standby;
                    let own = all.entry([egress.node, ingress.node]).or_default();
                    own.push(Joint { egress, ingress, is_standby });
                }
            }
            all
        });
        all.get(&nodes).map_or(&[], Vec::as_slice)
    }
}

/// One name on a route.
#[derive(Clone, Copy)]
struct Stop {
    node: NodeId,
    /// The port that is named with it, of the link before it or behind it.
    port: Option<PortId>,
    span: Span,
}

/// A flow for which routes are read.
pub(super) struct Ends<'a> {
    /// `None` if it is missing or wrong.
    pub(super) talker: Option<NodeId>,
    pub(super) listeners: &'a [NodeId],
    pub(super) delivery: Delivery,
    pub(super) encapsulation: Encapsulation,
}

/// Talker and listeners of a flow, the listeners by number.
type EndNodes = (NodeId, BTreeSet<NodeId>);

/// Reads the routes of a flow, in the order of its listeners; none if it has no route, or a wrong
/// one.
pub(super) fn routes(
    reader: &mut Reader<'_>,
    fields: &Fields<'_>,
    plant: &Plant,
    flow: &Ends<'_>,
) -> Vec<Vec<PortId>> {
    if matches!(flow.encapsulation, Encapsulation::Rtps { .. }) {
        let what = "a flow over RTPS, whose participants speak to all others";
        reader.misplaced(fields, &[KEY], what);
    }
    let items = reader.items(fields, KEY);
    let (Some(entry), Some(first), Some(talker)) = (fields.get(KEY), items.first(), flow.talker)
    else {
        return Vec::new();
    };
    let lists = match first.data {
        Data::List(_) => items,
        Data::Null | Data::Scalar(_) | Data::Map(_) => std::slice::from_ref(&entry.value),
    };
    let ends = (talker, flow.listeners.iter().copied().collect());
    let mut found: BTreeMap<NodeId, Route> = BTreeMap::new();
    for list in lists {
        let Some((listener, route)) = route(reader, fields, plant, &ends, list) else {
            return Vec::new();
        };
        let span = route.span;
        if let Some(first) = found.insert(listener, route) {
            let name = quote(&plant.network.node(listener).name);
            let title = format!("{} has two routes to {name}", fields.owner);
            let diagnostic = refused(title, span, "the second one");
            reader.report(diagnostic.also(first.span, "the first one"));
            return Vec::new();
        }
    }
    if let Some(&other) = flow.listeners.iter().find(|own| !found.contains_key(own)) {
        let name = quote(&plant.network.node(other).name);
        let title = format!("{} has no route to {name}", fields.owner);
        let label = "each listener needs one, or none has one";
        let help = "write one list of nodes for each listener: `[[a, s1, b], [a, s1, s2, c]]`";
        reader.report(refused(title, entry.value.span, label).help(help));
        return Vec::new();
    }
    if flow.delivery == Delivery::Multicast && !is_tree(reader, fields, plant, &found) {
        return Vec::new();
    }
    let in_order = flow.listeners.iter().filter_map(|own| found.remove(own));
    in_order.map(|route| route.egress).collect()
}

/// A route that has been read.
struct Route {
    egress: Vec<PortId>,
    ingress: Vec<PortId>,
    span: Span,
}

/// Reads one list of nodes; returns its listener and the route.
fn route(
    reader: &mut Reader<'_>,
    fields: &Fields<'_>,
    plant: &Plant,
    ends: &EndNodes,
    list: &Value,
) -> Option<(NodeId, Route)> {
    let stops = stops(reader, fields, plant, list)?;
    let last = stops.last()?;
    if let Err(diagnostic) = check_stops(fields, plant, ends, &stops) {
        reader.report(*diagnostic);
        return None;
    }
    let mut route = Route { egress: Vec::new(), ingress: Vec::new(), span: list.span };
    for pair in stops.windows(2) {
        let joint = step(reader, plant, [&pair[0], &pair[1]])?;
        route.egress.push(joint.egress);
        route.ingress.push(joint.ingress);
    }
    let passed: BTreeSet<&PortId> = route.egress.iter().chain(&route.ingress).collect();
    for stop in &stops {
        if let Some(port) = stop.port.filter(|port| !passed.contains(port)) {
            let name = quote(&plant.network.node(stop.node).name);
            let title = format!("the route does not pass port {} of {name}", port.port + 1);
            let label = "the port of the link before or behind this node";
            reader.report(refused(title, stop.span, label));
            return None;
        }
    }
    Some((last.node, route))
}

/// Checks that a route leads from the talker over switches and hubs, each once, to a listener.
fn check_stops(
    fields: &Fields<'_>,
    plant: &Plant,
    (talker, listeners): &EndNodes,
    stops: &[Stop],
) -> Result<(), Box<Diagnostic>> {
    let name = |node: NodeId| quote(&plant.network.node(node).name);
    let [first, middle @ .., last] = stops else {
        return Ok(());
    };
    let owner = &fields.owner;
    if first.node != *talker {
        let title = format!("the route of {owner} begins at {}", name(first.node));
        let label = format!("its talker is {}", name(*talker));
        return Err(Box::new(refused(title, first.span, label)));
    }
    if !listeners.contains(&last.node) {
        let title = format!("the route of {owner} ends at {}", name(last.node));
        let label = "not a listener of the flow";
        return Err(Box::new(refused(title, last.span, label)));
    }
    for stop in middle {
        if plant.ports_of(stop.node).is_none() {
            let title = format!("a route passes end station {}", name(stop.node));
            let label = "only switches and hubs forward";
            return Err(Box::new(refused(title, stop.span, label)));
        }
    }
    let mut passed = BTreeMap::new();
    for stop in stops {
        if let Some(before) = passed.insert(stop.node, stop.span) {
            let title = format!("a route passes {} twice", name(stop.node));
            let again = refused(title, stop.span, "the second time");
            return Err(Box::new(again.also(before, "the first time")));
        }
    }
    Ok(())
}

/// Reads the nodes of a route.
fn stops(
    reader: &mut Reader<'_>,
    fields: &Fields<'_>,
    plant: &Plant,
    list: &Value,
) -> Option<Vec<Stop>> {
    let items = match &list.data {
        Data::List(items) => items.as_slice(),
        Data::Null | Data::Scalar(_) | Data::Map(_) => &[],
    };
    let mut stops = Vec::new();
    for item in items {
        let Data::Scalar(text) = &item.data else {
            reader.wrong_type(
                fields,
                KEY,
                item,
                "names of nodes, or one list of them for each listener",
            );
            return None;
        };
        stops.push(stop(reader, plant, text, item.span)?);
    }
    if stops.len() < 2 {
        let title = format!("a route has at least two nodes, found {}", stops.len());
        let help = Help::example("route: [plc1, sw1, sw2, drive1]");
        let label = "from the talker to a listener";
        reader.report(refused(title, list.span, label).help(help));
        return None;
    }
    Some(stops)
}

/// Reads `NODE`, `SWITCH:PORT` or `HUB:PORT`.
fn stop(reader: &mut Reader<'_>, plant: &Plant, text: &str, span: Span) -> Option<Stop> {
    let (name, port) = match text.rsplit_once(':') {
        Some((name, port)) => (name, Some(port)),
        None => (text, None),
    };
    let proposal = format!("`{name}: {{ ports: 8 }}` under `switches:`");
    let node = plant.node_or_report(reader, name, span, "on a route", &proposal)?;
    let port = match port {
        Some(port) => Some(port_number(reader, plant, (node, port), span, || None)?),
        None => None,
    };
    Some(Stop { node, port, span })
}

/// Returns the link from one node of a route to the next.
fn step(reader: &mut Reader<'_>, plant: &Plant, [from, to]: [&Stop; 2]) -> Option<Joint> {
    let all = plant.joints.between(&plant.network, [from.node, to.node]);
    // A port named with a node restricts the link on its own side only.
    let is_named = |port: PortId, stop: &Stop, other: fn(&Joint) -> PortId| {
        let is_here = all.iter().any(|joint| Some(other(joint)) == stop.port);
        !is_here || stop.port == Some(port)
    };
    let fits = |joint: &&Joint| {
        is_named(joint.egress, from, |joint| joint.egress)
            && is_named(joint.ingress, to, |joint| joint.ingress)
    };
    let mut used = all.iter().filter(fits).filter(|joint| !joint.is_standby);
    let (first, second) = (used.next(), used.next());
    if let (Some(&joint), None) = (first, second) {
        return Some(joint);
    }
    let name = |stop: &Stop| &plant.network.node(stop.node).name;
    let (a, b) = (quote(name(from)), quote(name(to)));
    let diagnostic = if let Some(joint) = first {
        let named = format!("{}:{}", name(from), joint.egress.port + 1);
        refused(format!("several links join {a} and {b}"), to.span, "which one?").help(
            Help::from(format!("name the port: `\"{named}\"`"))
                .writes(format!("\"{named}\""))
                .certain(false),
        )
    } else if all.iter().any(|joint| joint.is_standby) {
        let title = format!("the link between {a} and {b} is on standby");
        refused(title, to.span, "it carries nothing until another link fails")
            .help("remove `standby` from the link, or take another way")
    } else {
        refused(format!("no link joins {a} and {b}"), to.span, "")
            .help("name every switch and hub on the way")
    };
    reader.report(diagnostic);
    None
}

/// Returns whether the routes of a multicast flow form a tree, or reports that they do not.
fn is_tree(
    reader: &mut Reader<'_>,
    fields: &Fields<'_>,
    plant: &Plant,
    routes: &BTreeMap<NodeId, Route>,
) -> bool {
    let mut into: BTreeMap<NodeId, (PortId, Span)> = BTreeMap::new();
    for route in routes.values() {
        for (&egress, ingress) in route.egress.iter().zip(&route.ingress) {
            let (first, span) = *into.entry(ingress.node).or_insert((egress, route.span));
            if first == egress {
                continue;
            }
            let name = quote(&plant.network.node(ingress.node).name);
            let title = format!("two routes of {} reach {name} over different links", fields.owner);
            let label = "the second one";
            let diagnostic = refused(title, route.span, label)
                .also(span, "the first one")
                .help("let both take the same way to this node: a frame is copied where they part");
            reader.report(diagnostic);
            return false;
        }
    }
    true
}

fn refused(title: String, span: Span, label: impl Into<String>) -> Diagnostic {
    Diagnostic::new(&codes::BAD_ROUTE, title, span, label)
}
