//! Collision domains: half-duplex links, alone or joined by hubs.

use std::collections::{BTreeMap, BTreeSet};

use rtether_model::network::{LinkId, Network, NodeId};
use rtether_model::quantity::{BitRate, Bytes, Duration};

use super::{Plant, codes, quote};
use crate::codes::Severity;
use crate::diagnostic::Diagnostic;
use crate::reader::Reader;

/// Slot time in octets: 512 bits (IEEE 802.3-2022, 4.4.2).
const SLOT: Bytes = Bytes::new(64);

/// All collision domains of a network.
pub struct Domains {
    of_link: Vec<Option<usize>>,
    list: Vec<Domain>,
}

/// One collision domain.
pub struct Domain {
    /// In the order of the file.
    pub hubs: BTreeSet<NodeId>,
    pub links: BTreeSet<LinkId>,
    pub rate: BitRate,
}

impl Domains {
    /// Finds the collision domains of a network.
    pub fn new(network: &Network) -> Self {
        let at_hub = links_at_hubs(network);
        let mut domains = Self { of_link: vec![None; network.links.len()], list: Vec::new() };
        for (first, link) in network.iter_links() {
            let known = domains.of_link[first.index()].is_some();
            if known || link.standby || !network.is_half_duplex(link) {
                continue;
            }
            let mut domain =
                Domain { hubs: BTreeSet::new(), links: BTreeSet::new(), rate: link.rate };
            let mut open = vec![first];
            while let Some(id) = open.pop() {
                if !domain.links.insert(id) {
                    continue;
                }
                domains.of_link[id.index()] = Some(domains.list.len());
                for end in network.links[id.index()].ends {
                    if network.hub(end.node).is_some() && domain.hubs.insert(end.node) {
                        open.extend(at_hub.get(&end.node).into_iter().flatten());
                    }
                }
            }
            domains.list.push(domain);
        }
        domains
    }

    /// Returns the index of the domain that a link belongs to; `None` at full duplex.
    pub fn of(&self, link: LinkId) -> Option<usize> {
        self.of_link[link.index()]
    }

    /// Returns all domains, in index order.
    pub fn iter(&self) -> impl Iterator<Item = &Domain> {
        self.list.iter()
    }

    /// Returns the domain with this number.
    pub fn get(&self, number: usize) -> &Domain {
        &self.list[number]
    }
}

/// Returns the links in use at each hub.
fn links_at_hubs(network: &Network) -> BTreeMap<NodeId, Vec<LinkId>> {
    let mut at_hub: BTreeMap<NodeId, Vec<LinkId>> = BTreeMap::new();
    for (id, link) in network.iter_links().filter(|(_, link)| !link.standby) {
        for end in link.ends {
            if network.hub(end.node).is_some() {
                at_hub.entry(end.node).or_default().push(id);
            }
        }
    }
    at_hub
}

/// Checks the consistency of each domain.
pub(super) fn check(reader: &mut Reader<'_>, plant: &Plant, domains: &Domains) {
    for domain in &domains.list {
        check_backoff(reader, plant, domain);
        check_length(reader, plant, domain);
    }
}

fn check_backoff(reader: &mut Reader<'_>, plant: &Plant, domain: &Domain) {
    let network = &plant.network;
    let rule = |hub: NodeId| network.hub(hub).map(|hub| hub.backoff);
    let Some(&first) = domain.hubs.first() else {
        return;
    };
    let Some(&other) = domain.hubs.iter().find(|&&hub| rule(hub) != rule(first)) else {
        return;
    };
    let name = |hub: NodeId| quote(&network.node(hub).name);
    let title = format!(
        "hubs {} and {} share a collision domain and differ in `backoff`",
        name(first),
        name(other)
    );
    let label = "the second one";
    let place = plant.node_spans[other.index()];
    reader.report(
        Diagnostic::new(&codes::HUB_MISMATCH, title, place, label)
            .also(plant.node_spans[first.index()], "the first one")
            .help("write the same `backoff` for both, or put a switch between them"),
    );
}

/// A node at the edge of a domain: distance, node, and the link that attaches it.
type Rim = (Duration, NodeId, LinkId);

fn check_length(reader: &mut Reader<'_>, plant: &Plant, domain: &Domain) {
    let network = &plant.network;
    // In a tree, the node farthest from any node is one end of the longest path.
    let Some(&start) = domain.links.first() else {
        return;
    };
    let start = network.links[start.index()].ends[0].node;
    let Some((_, from, first)) = farthest(network, domain, start) else {
        return;
    };
    let Some((length, to, last)) = farthest(network, domain, from) else {
        return;
    };
    let slot = domain.rate.time_ceil(SLOT);
    if length * 2 < slot {
        return;
    }
    let (a, b) = (quote(&network.node(from).name), quote(&network.node(to).name));
    let (title, label, severity) = if length > slot {
        let title = format!("{a} and {b} are {length} apart, more than a slot");
        let label = format!("a slot at {} is {slot}", domain.rate);
        (title, label, Severity::Error)
    } else {
        let title = format!("{a} and {b} are {length} apart and may notice collisions too late");
        let label = format!("half a slot at {} is {}", domain.rate, slot / 2);
        (title, label, Severity::Warning)
    };
    let mut diagnostic =
        Diagnostic::new(&codes::SEGMENT_TOO_LONG, title, plant.link_spans[last.index()], label)
            .with_severity(severity)
            .help("use shorter cables, or a switch between the two");
    if first != last {
        diagnostic = diagnostic.also(plant.link_spans[first.index()], "the other end");
    }
    reader.report(diagnostic);
}

/// Returns the edge node farthest from `start`; cables and hubs count.
fn farthest(network: &Network, domain: &Domain, start: NodeId) -> Option<Rim> {
    let mut at: BTreeMap<NodeId, Vec<LinkId>> = BTreeMap::new();
    for &link in &domain.links {
        for end in network.links[link.index()].ends {
            at.entry(end.node).or_default().push(link);
        }
    }
    let mut best: Option<Rim> = None;
    let mut seen = BTreeSet::from([start]);
    let mut open = vec![(start, Duration::ZERO)];
    while let Some((node, distance)) = open.pop() {
        for &id in at.get(&node).into_iter().flatten() {
            let link = &network.links[id.index()];
            for end in link.ends.iter().filter(|end| end.node != node) {
                let reached = distance + link.propagation;
                if !seen.insert(end.node) {
                    continue;
                }
                if let Some(hub) = network.hub(end.node) {
                    open.push((end.node, reached + hub.delay));
                } else if best.is_none_or(|(far, ..)| reached > far) {
                    best = Some((reached, end.node, id));
                }
            }
        }
    }
    best
}
