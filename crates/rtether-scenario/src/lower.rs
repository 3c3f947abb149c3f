//! Lowers the tree to the model: the meaning of every key.

use std::collections::{BTreeMap, BTreeSet};
use std::ops::Range;
use std::rc::Rc;

use rtether_model::characters::is_unseen;
use rtether_model::flow::Flow;
use rtether_model::network::{Link, Network, Node, NodeId, NodeKind, PortId};

use super::codes;
use super::diagnostic::{Diagnostic, Span, quote};
use super::help::Help;
use super::reader::{Fields, Reader};
use super::suggest;

mod accept;
mod access;
mod admission;
mod assumed;
mod bulk;
mod design;
mod flows;
mod hubs;
mod ingress;
mod jitter;
mod layer;
mod links;
mod nodes;
mod offers;
mod priorities;
mod profile;
mod registration;
mod releases;
mod routers;
mod routes;
mod run;
mod shim;
mod smoother;
mod stacks;
mod stages;
mod switches;
mod tags;
mod traffic;

pub(super) use accept::accept;
pub(super) use assumed::assumed;
pub(super) use design::design;
pub(super) use flows::flows;
pub(super) use hubs::hubs;
pub(super) use ingress::ingress;
pub(super) use links::{links, rate as link_rate};
pub(super) use nodes::nodes;
pub(super) use profile::profile;
pub(super) use registration::register;
pub(super) use routers::routers;
pub(super) use run::{DEFAULT_LENGTH, Run, RunPlaces, run};
pub(super) use shim::shim;
pub(super) use switches::switches;

/// Most nodes of a plant.
pub(super) const MAX_NODES: usize = 100_000;
/// Most switches and hubs of a plant.
pub(super) const MAX_SWITCHES: usize = 10_000;
/// Most ports of all switches and hubs together.
pub(super) const MAX_PORTS: usize = 200_000;
/// Most streams: pairs of a flow and a listener.
pub(super) const MAX_STREAMS: usize = 1_000_000;
/// Most transfers of all bulk flows together.
pub(super) const MAX_TRANSFERS: usize = 1_000_000;

/// A station or some ports of a switch with rules for frames.
pub(super) struct Ruled {
    pub(super) node: NodeId,
    /// Ports of a switch that have these rules, from zero; empty for those without rules of their
    /// own, none for the layer of a station.
    pub(super) ports: Option<Range<usize>>,
    /// Where each rule is written.
    pub(super) spans: Rc<[Span]>,
}

/// The plant under construction.
#[derive(Default)]
pub(super) struct Plant {
    pub(super) network: Network,
    pub(super) flows: Vec<Flow>,
    /// Where each node was declared.
    pub(super) node_spans: Vec<Span>,
    /// Where each link was declared.
    pub(super) link_spans: Vec<Span>,
    /// Where each flow was declared.
    pub(super) flow_spans: Vec<Span>,
    /// Who has rules for frames, and where these are written.
    pub(super) ruled: Vec<Ruled>,
    /// Switches that do not say what they do with addresses.
    pub(super) plain: BTreeSet<NodeId>,
    /// Switches and routers without a `pcp_map`.
    pub(super) unmapped: BTreeSet<NodeId>,
    /// Where it says how deadlines are divided, if it does.
    pub(super) partition_span: Option<Span>,
    /// Where it says who grants channels.
    pub(super) admission_span: Span,
    ids: BTreeMap<String, NodeId>,
    flow_names: BTreeMap<String, Span>,
    ports_in_use: BTreeMap<PortId, Span>,
    joints: routes::Joints,
    /// What is known of switches only with the rest of the plant.
    pending: Vec<(NodeId, switches::Pending)>,
    /// What ports offer to the other end of a link.
    offers: offers::Offers,
    switches: usize,
    ports: usize,
    streams: usize,
    transfers: usize,
    full: bool,
    /// A hub could not be read, so a mismatch with it is not reported.
    hubs_are_broken: bool,
}

impl Plant {
    /// Frees the places that vectors have because they grew: a plant lives as long as its run.
    pub(super) fn shrink(&mut self) {
        self.network.nodes.shrink_to_fit();
        self.network.links.shrink_to_fit();
        self.flows.shrink_to_fit();
    }

    /// Adds a node; returns `None`, after reporting it, if the name is taken or the plant is full.
    pub(super) fn add_node(
        &mut self,
        reader: &mut Reader<'_>,
        name: &str,
        span: Span,
        kind: NodeKind,
    ) -> Option<NodeId> {
        if let Some(first) = self.ids.get(name) {
            let first = self.node_spans[first.index()];
            let title = format!("two nodes are named {}", quote(name));
            reader.report(
                Diagnostic::new(&codes::DUPLICATE_NAME, title, span, "the second one")
                    .also(first, "the first one")
                    .help("give one of them another name"),
            );
            return None;
        }
        let ports = match &kind {
            NodeKind::EndStation(_) => None,
            NodeKind::Switch(switch) => Some(switch.ports.len()),
            NodeKind::Hub(hub) => Some(usize::from(hub.ports)),
        };
        if let Some(ports) = ports {
            self.switches += 1;
            self.ports += ports;
        }
        let too_many = if self.network.nodes.len() >= MAX_NODES {
            Some("100 000 nodes")
        } else if self.switches > MAX_SWITCHES {
            Some("10 000 switches and hubs")
        } else if self.ports > MAX_PORTS {
            Some("200 000 ports of switches and hubs")
        } else {
            None
        };
        if let Some(limit) = too_many {
            self.overflow(reader, span, limit);
            return None;
        }
        let id = NodeId(u32::try_from(self.network.nodes.len()).ok()?);
        let name = name.to_owned();
        self.ids.insert(name.clone(), id);
        self.node_spans.push(span);
        self.network.nodes.push(Node { name, kind });
        Some(id)
    }

    /// Reports once that the plant is too large.
    fn overflow(&mut self, reader: &mut Reader<'_>, span: Span, limit: &str) {
        if !std::mem::replace(&mut self.full, true) {
            let title = format!("the plant has more than {limit}");
            let label = "the limit is reached here";
            reader.report(Diagnostic::new(&codes::TOO_LARGE, title, span, label));
        }
    }

    pub(super) fn add_link(&mut self, link: Link, span: Span) {
        for end in link.ends {
            self.ports_in_use.insert(end, span);
        }
        self.network.links.push(link);
        self.link_spans.push(span);
    }

    /// Adds a flow, or reports that its name is taken.
    pub(super) fn add_flow(&mut self, reader: &mut Reader<'_>, flow: Flow, span: Span) {
        use rtether_model::flow::Traffic;
        if let Some(&first) = self.flow_names.get(&flow.name) {
            let title = format!("two flows are named {}", quote(&flow.name));
            reader.report(
                Diagnostic::new(&codes::DUPLICATE_NAME, title, span, "the second one")
                    .also(first, "the first one")
                    .help("give one of them another name"),
            );
            return;
        }
        self.streams += flow.listeners.len();
        if let Traffic::Bulk(bulk) = &flow.traffic {
            self.transfers += bulk.transfers.len();
        }
        if self.streams > MAX_STREAMS {
            return self.overflow(reader, span, "one million streams");
        }
        if self.transfers > MAX_TRANSFERS {
            return self.overflow(reader, span, "one million transfers");
        }
        self.flow_names.insert(flow.name.clone(), span);
        self.flows.push(flow);
        self.flow_spans.push(span);
    }

    pub(super) fn find(&self, name: &str) -> Option<NodeId> {
        self.ids.get(name).copied()
    }

    /// Returns the node of this name, or reports that there is none.
    pub(super) fn node_or_report(
        &self,
        reader: &mut Reader<'_>,
        name: &str,
        span: Span,
        role: &str,
        proposal: &str,
    ) -> Option<NodeId> {
        if let Some(id) = self.find(name) {
            return Some(id);
        }
        if reader.names_are_missing {
            return None;
        }
        let names = self.network.nodes.iter().map(|node| node.name.as_str());
        let near = if reader.sink.is_full() { None } else { suggest::nearest_name(name, names) };
        let title = format!("no node named {}", quote(name));
        let help = match near {
            Some(near) => {
                let words = format!("a node named {} exists; write it instead", quote(near));
                Help::from(words).writes(near)
            }
            None => format!("declare it, for example {proposal}").into(),
        };
        reader.report(Diagnostic::new(&codes::UNKNOWN_NODE, title, span, role).help(help));
        None
    }

    /// Returns the kind of a forwarding node as a word and its number of ports; `None` for an end
    /// station.
    pub(super) fn ports_of(&self, id: NodeId) -> Option<(&'static str, u16)> {
        ports_of(&self.network, id)
    }
}

/// Returns the kind of a forwarding node as a word and its number of ports; `None` for an end
/// station.
pub(super) fn ports_of(network: &Network, id: NodeId) -> Option<(&'static str, u16)> {
    match &network.node(id).kind {
        NodeKind::EndStation(_) => None,
        NodeKind::Switch(switch) => {
            let ports = u16::try_from(switch.ports.len()).unwrap_or(u16::MAX);
            Some(("switch", ports))
        }
        NodeKind::Hub(hub) => Some(("hub", hub.ports)),
    }
}

/// Reports a name that could not be written elsewhere in the file.
fn check_name(reader: &mut Reader<'_>, what: &str, name: &str, span: Span, forbidden: &[char]) {
    let length = name.chars().count();
    let reason;
    let why = if name.trim().is_empty() {
        "it is empty"
    } else if name.trim() != name {
        "it begins or ends with a space"
    } else if length > 100 {
        "it is longer than 100 characters"
    } else if let Some(unseen) = unseen(name) {
        reason = unseen;
        &reason
    } else if let Some(c) = forbidden.iter().find(|c| name.contains(**c)) {
        match c {
            ':' => "`:` stands between a switch or hub and its port",
            _ => "`*` stands for any text in patterns",
        }
    } else {
        return;
    };
    let title = format!("{} cannot name a {what}", quote(name));
    reader.report(Diagnostic::new(&codes::BAD_NAME, title, span, why));
}

/// Returns which character of a text is invisible, if one is.
fn unseen(text: &str) -> Option<String> {
    let unseen = text.chars().find(|c| is_unseen(*c))?;
    let kind = match unseen {
        c if c.is_control() => "a control character",
        '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}' => {
            "a character that turns the direction of text"
        }
        _ => "an invisible character",
    };
    Some(format!("it holds {kind}, U+{:04X}", u32::from(unseen)))
}

/// Checks the version of the format.
pub(super) fn version(reader: &mut Reader<'_>, top: &Fields<'_>) {
    if reader.require(top, "rtether")
        && let Some(version) = reader.scalar(top, "rtether")
        && version.value != "1"
    {
        let title = format!("version {} of the format", quote(version.value));
        let label = "this program reads version 1";
        reader.report(
            Diagnostic::new(&codes::UNSUPPORTED_VERSION, title, version.span, label)
                .help(Help::write("rtether: 1").certain(false)),
        );
    }
}

/// Checks the version and returns the title.
pub(super) fn header(reader: &mut Reader<'_>, top: &Fields<'_>, file: &str) -> String {
    version(reader, top);
    if let Some(name) = reader.scalar(top, "name") {
        if let Some(why) = unseen(name.value) {
            // It stands on one line of many files, among them scripts.
            let title = format!("{} cannot name a scenario", quote(name.value));
            reader.report(Diagnostic::new(&codes::BAD_NAME, title, name.span, &why));
        }
        return name.value.to_owned();
    }
    let file = file.rsplit(['/', '\\']).next().unwrap_or(file);
    let stem = file.trim_end_matches(".yaml").trim_end_matches(".yml");
    let seen = |c| if is_unseen(c) { '_' } else { c };
    stem.chars().map(seen).collect()
}

/// Reads what is about flows, once all of them are known.
pub(super) fn with_flows(reader: &mut Reader<'_>, top: &Fields<'_>, plant: &mut Plant) {
    access::access(reader, top, plant);
    admission::admission(reader, top, plant);
    releases::releases(reader, top, plant);
}
