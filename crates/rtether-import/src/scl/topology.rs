//! Stations, switches and the links between them.
//!
//! SCL describes cables (`PhysConn`), but tools copy their names from device to device. A name is
//! trusted if exactly two devices have it and one of them is a switch. What is not joined by such
//! cables meets at the switch of its subnetwork, or at one that the file does not describe.

use std::collections::{BTreeMap, BTreeSet};

use rtether_model::wire::ETHERNET_MBPS;

use super::flow::Flow;
use super::model::{Block, Interface, Model};
use super::notes::Notes;
use super::subscribe::Listeners;
use super::xml::{Element, attribute, child, children, content, word};
use crate::cabling::Cabling;
use crate::plan::Code;
use crate::sheet::Names;
use crate::text::quote;

/// Most ports of a switch in a scenario.
pub(super) const MAX_PORTS: usize = 1024;

/// A node of the scenario.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Node {
    /// A station, by number.
    Station(usize),
    /// A switch, by number.
    Switch(usize),
}

/// An interface of a device, or a listener that the file does not name.
#[derive(Debug)]
pub(super) struct Station {
    pub(super) name: String,
    /// Device of which this is one of several interfaces.
    pub(super) part_of: Option<usize>,
    /// Whether it stands for listeners that are not named.
    pub(super) is_unknown: bool,
}

/// A switch.
#[derive(Debug)]
pub(super) struct Switch {
    pub(super) name: String,
    /// Whether it is a device of the file.
    pub(super) is_device: bool,
    /// Subnetwork whose load it carries.
    pub(super) subnetwork: usize,
    pub(super) ports: usize,
}

/// A link.
#[derive(Debug)]
pub(super) struct Link {
    pub(super) ends: [(Node, usize); 2],
    pub(super) subnetwork: usize,
    /// What describes it, such as its cable; `None` for a link that nothing describes.
    pub(super) source: Option<String>,
    /// Rate in megabits per second, if it is stated for this link.
    pub(super) megabits: Option<u64>,
    /// Whether it closes a ring.
    pub(super) is_standby: bool,
}

/// The plant without its flows.
#[derive(Debug, Default)]
pub(super) struct Topology {
    pub(super) stations: Vec<Station>,
    pub(super) switches: Vec<Switch>,
    pub(super) links: Vec<Link>,
    /// Interfaces that are left out, since no flow begins or ends there.
    pub(super) idle: Vec<String>,
    /// Node of each interface of the model, if it is not left out.
    nodes: Vec<Option<Node>>,
    /// Station of listeners that are not named, by subnetwork.
    unknown: BTreeMap<usize, usize>,
    /// Switches that only the user's cabling names.
    listed: Vec<usize>,
    /// For each node one that it is joined with, itself at the end.
    joined: BTreeMap<Node, Node>,
}

impl Topology {
    /// Builds the plant of these flows.
    ///
    /// A cabling that the user states takes the place of the cables in the file.
    pub(super) fn build(
        model: &Model<'_>,
        listeners: &Listeners<'_>,
        flows: &[Flow],
        cabling: Option<&Cabling>,
        notes: &mut Notes,
    ) -> Self {
        let ends = |flow: &Flow| [&[flow.talker], flow.listeners.as_slice()].concat();
        let used: BTreeSet<usize> = flows.iter().flat_map(ends).collect();
        let unheard = flows.iter().filter(|flow| flow.listeners.is_empty());
        let unknown: BTreeSet<usize> = unheard.map(|flow| flow.subnetwork).collect();
        let mut names = Names::default();
        let mut topology = Self::default();
        if let Some(cabling) = cabling {
            let switches = switch_devices(model, listeners, &Cables::default());
            topology.place(model, &switches, &used, &mut names);
            topology.cable(model, cabling, &mut names, notes);
        } else {
            let cables = Cables::read(model, notes);
            let switches = switch_devices(model, listeners, &cables);
            topology.place(model, &switches, &used, &mut names);
            topology.connect(model, &cables, notes);
        }
        for subnetwork in 0..model.subnetworks.len() {
            topology.complete(model, subnetwork, unknown.contains(&subnetwork), &mut names);
        }
        topology
    }

    /// Returns the station of an interface; `None` if that is a switch.
    pub(super) fn station(&self, interface: usize) -> Option<usize> {
        match self.nodes.get(interface)? {
            Some(Node::Station(station)) => Some(*station),
            Some(Node::Switch(_)) | None => None,
        }
    }

    /// Returns the station of listeners that are not named.
    pub(super) fn unknown(&self, subnetwork: usize) -> Option<usize> {
        self.unknown.get(&subnetwork).copied()
    }

    /// Returns whether a node stands for listeners that are not named.
    pub(super) fn is_unknown(&self, node: Node) -> bool {
        matches!(node, Node::Station(station) if self.stations[station].is_unknown)
    }

    /// Returns the name of an end of a link.
    pub(super) fn end(&self, (node, port): (Node, usize)) -> String {
        match node {
            Node::Station(station) => self.stations[station].name.clone(),
            Node::Switch(switch) => format!("{}:{port}", self.switches[switch].name),
        }
    }

    /// Makes a node of each interface that is used.
    fn place(
        &mut self,
        model: &Model<'_>,
        switches: &BTreeSet<usize>,
        used: &BTreeSet<usize>,
        names: &mut Names,
    ) {
        let mut interfaces: BTreeMap<usize, usize> = BTreeMap::new();
        for number in used {
            *interfaces.entry(model.interfaces[*number].device).or_default() += 1;
        }
        let mut known: BTreeMap<usize, Node> = BTreeMap::new();
        for (number, interface) in model.interfaces.iter().enumerate() {
            let device = interface.device;
            let own = model.devices[device].name;
            if switches.contains(&device) {
                let next = Node::Switch(self.switches.len());
                let node = *known.entry(device).or_insert(next);
                if node == next {
                    self.switches.push(Switch {
                        name: names.take(own),
                        is_device: true,
                        subnetwork: interface.subnetwork,
                        ports: 0,
                    });
                }
                self.nodes.push(Some(node));
                continue;
            }
            if !used.contains(&number) {
                self.idle.push(format!("{own}.{}", interface.point));
                self.nodes.push(None);
                continue;
            }
            let is_only = interfaces.get(&device) == Some(&1);
            let name = if is_only { own.to_owned() } else { format!("{own}.{}", interface.point) };
            self.nodes.push(Some(Node::Station(self.stations.len())));
            self.stations.push(Station {
                name: names.take(&name),
                part_of: (!is_only).then_some(device),
                is_unknown: false,
            });
        }
    }

    /// Makes a link of each cable that is trusted.
    fn connect(&mut self, model: &Model<'_>, cables: &Cables<'_>, notes: &mut Notes) {
        let mut used = BTreeSet::new();
        for (name, [one, other]) in cables.trusted() {
            let [Some(begin), Some(end)] = [one, other].map(|end| self.nodes[end.interface]) else {
                continue;
            };
            let ends = [begin, end];
            let reason = if let Some(reason) = refused(ends, &used) {
                reason
            } else if one.is_redundant || other.is_redundant {
                "is a redundant connection, which is not modeled"
            } else {
                used.extend(ends);
                let subnetwork = model.interfaces[one.interface].subnetwork;
                self.link(ends, subnetwork, Some(format!("cable {}", quote(name))), None);
                continue;
            };
            let text = format!("the cable {} {reason}", quote(name));
            notes.add(one.element, Code::UnusedCable, text);
        }
    }

    /// Makes a link of each that the user states. What is no device of the file is a switch, as is
    /// one without flows that has several links.
    fn cable(
        &mut self,
        model: &Model<'_>,
        cabling: &Cabling,
        names: &mut Names,
        notes: &mut Notes,
    ) {
        let degrees = cabling.degrees();
        let mut listed: BTreeMap<&str, Node> = BTreeMap::new();
        let mut used = BTreeSet::new();
        for cable in cabling.links() {
            let [one, other] = [0, 1].map(|end: usize| {
                let (name, port) = &cable.ends[end];
                match self.device_at(model, name, port) {
                    At::Node(node) => Ok(node),
                    At::Several => Err("does not say which access point: name it as its port"),
                    At::Idle if degrees.get(name.as_str()) <= Some(&1) => Err(""),
                    At::Idle | At::Nothing => {
                        let node = listed.entry(name).or_insert_with(|| {
                            self.listed.push(self.switches.len());
                            self.switches.push(Switch {
                                name: names.take(name),
                                is_device: true,
                                subnetwork: 0,
                                ports: 0,
                            });
                            Node::Switch(self.switches.len() - 1)
                        });
                        Ok(*node)
                    }
                }
            });
            let ends = one.and_then(|one| Ok([one, other?]));
            let reason = match ends {
                Ok(ends) => match refused(ends, &used) {
                    None => {
                        used.extend(ends);
                        self.link(ends, 0, Some(cable.source.clone()), cable.megabits);
                        continue;
                    }
                    Some(reason) => reason,
                },
                Err(reason) => reason,
            };
            // A device without flows has no link, as it is left out.
            if !reason.is_empty()
                && let Some(device) = model.devices.first()
            {
                let [one, other] = cable.ends.each_ref().map(|(name, _)| quote(name));
                let text = format!("the link of {one} and {other} ({}) {reason}", cable.source);
                notes.add(device.element, Code::UnusedCable, text);
            }
        }
        self.spread(model);
    }

    /// Returns what a name of a cabling is: a device, or one of its access points.
    fn device_at(&self, model: &Model<'_>, name: &str, port: &str) -> At {
        let interfaces = || model.interfaces.iter().zip(&self.nodes);
        let of = |is: &dyn Fn(&Interface<'_>) -> bool| -> Vec<Option<Node>> {
            let own = interfaces().filter(|(interface, _)| is(interface));
            own.map(|(_, node)| *node).collect()
        };
        let found = if let Some(&device) = model.by_name.get(name) {
            let all = of(&|interface| interface.device == device);
            let own = of(&|interface| interface.device == device && interface.point == port);
            if own.is_empty() { all } else { own }
        } else if let Some((device, point)) = name.rsplit_once('.')
            && let Some(&device) = model.by_name.get(device)
        {
            of(&|interface| interface.device == device && interface.point == point)
        } else {
            return At::Nothing;
        };
        let nodes: BTreeSet<Node> = found.iter().flatten().copied().collect();
        match (nodes.len(), nodes.first()) {
            (1, Some(&node)) => At::Node(node),
            (0, _) => At::Idle,
            _ => At::Several,
        }
    }

    /// Gives switches and links of a cabling the subnetwork of the first station behind them.
    fn spread(&mut self, model: &Model<'_>) {
        let mut known: BTreeMap<Node, usize> = BTreeMap::new();
        let places = model.interfaces.iter().zip(self.nodes.clone());
        for (interface, node) in places.rev() {
            if let Some(node) = node {
                known.insert(self.root(node), interface.subnetwork);
            }
        }
        for number in self.listed.clone() {
            let root = self.root(Node::Switch(number));
            self.switches[number].subnetwork = known.get(&root).copied().unwrap_or(0);
        }
        for number in 0..self.links.len() {
            let ends = self.links[number].ends;
            let station = ends.iter().find_map(|(node, _)| match node {
                Node::Station(_) => {
                    let at = self.nodes.iter().position(|own| *own == Some(*node))?;
                    Some(model.interfaces[at].subnetwork)
                }
                Node::Switch(_) => None,
            });
            let root = self.root(ends[0].0);
            let own = station.or_else(|| known.get(&root).copied());
            self.links[number].subnetwork = own.unwrap_or(0);
        }
    }

    /// Joins what is apart in a subnetwork, at a switch that the file does not describe.
    fn complete(
        &mut self,
        model: &Model<'_>,
        subnetwork: usize,
        has_unknown: bool,
        names: &mut Names,
    ) {
        let interfaces = model.interfaces.iter().zip(&self.nodes);
        let members = interfaces.filter(|(interface, _)| interface.subnetwork == subnetwork);
        let mut members: Vec<Node> = members.filter_map(|(_, node)| *node).collect();
        let roots: BTreeSet<Node> = members.iter().map(|&node| self.root(node)).collect();
        for switch in self.listed.clone() {
            if roots.contains(&self.root(Node::Switch(switch))) {
                members.push(Node::Switch(switch));
            }
        }
        // One node of each part: a switch, if there is one, since a station has one port.
        let mut parts: BTreeMap<Node, Node> = BTreeMap::new();
        for &node in &members {
            let part = parts.entry(self.root(node)).or_insert(node);
            *part = (*part).max(node);
        }
        if parts.is_empty() {
            return;
        }
        let own = model.subnetworks[subnetwork].name;
        let own = if own.is_empty() { "network" } else { own };
        let switches = parts.values().filter_map(|part| match part {
            Node::Switch(switch) => Some(*switch),
            Node::Station(_) => None,
        });
        let switches: Vec<usize> = switches.collect();
        let hub = if let [only] = switches.as_slice() {
            *only
        } else {
            self.switches.push(Switch {
                name: names.take(own),
                is_device: false,
                subnetwork,
                ports: 0,
            });
            self.switches.len() - 1
        };
        let hub = Node::Switch(hub);
        // In order of the file. Once a part is linked, another node stands for it.
        for node in members {
            if let Some(&part) = parts.get(&self.root(node))
                && self.root(part) != self.root(hub)
            {
                self.link([part, hub], subnetwork, None, None);
            }
        }
        if has_unknown {
            let station = self.stations.len();
            self.stations.push(Station {
                name: names.take(&format!("{own}.unknown")),
                part_of: None,
                is_unknown: true,
            });
            self.unknown.insert(subnetwork, station);
            self.link([Node::Station(station), hub], subnetwork, None, None);
        }
    }

    fn link(
        &mut self,
        ends: [Node; 2],
        subnetwork: usize,
        source: Option<String>,
        megabits: Option<u64>,
    ) {
        let roots = ends.map(|node| self.root(node));
        let ends = ends.map(|node| match node {
            Node::Station(_) => (node, 0),
            Node::Switch(switch) => {
                self.switches[switch].ports += 1;
                (node, self.switches[switch].ports)
            }
        });
        self.joined.insert(roots[0], roots[1]);
        self.links.push(Link {
            ends,
            subnetwork,
            source,
            megabits,
            is_standby: roots[0] == roots[1],
        });
    }

    /// Returns the node that stands for all that are joined with this one.
    fn root(&mut self, node: Node) -> Node {
        let mut at = node;
        while let Some(&next) = self.joined.get(&at).filter(|next| **next != at) {
            at = next;
        }
        if at != node {
            // Shortens the next search.
            self.joined.insert(node, at);
        }
        at
    }
}

/// One end of a cable.
#[derive(Clone, Copy, Debug)]
struct End<'a> {
    interface: usize,
    device: usize,
    element: Element<'a>,
    is_redundant: bool,
}

/// What a name of a cabling is.
enum At {
    Node(Node),
    /// A device of which no flow is here.
    Idle,
    /// A device with several access points.
    Several,
    /// No device.
    Nothing,
}

/// Returns why there is no link between two nodes, as the end of a sentence.
fn refused(ends: [Node; 2], used: &BTreeSet<Node>) -> Option<&'static str> {
    let is_switch = |node: &Node| matches!(node, Node::Switch(_));
    if !ends.iter().any(is_switch) {
        return Some("joins two stations, none of which is a switch");
    }
    let is_free = |node: &Node| is_switch(node) || !used.contains(node);
    let why = "is the second one of a station, which has one interface here";
    (!ends.iter().all(is_free)).then_some(why)
}

/// Cables by name.
#[derive(Debug, Default)]
struct Cables<'a>(BTreeMap<&'a str, Vec<End<'a>>>);

impl<'a> Cables<'a> {
    fn read(model: &Model<'a>, notes: &mut Notes) -> Self {
        let mut cables: BTreeMap<&str, Vec<End<'a>>> = BTreeMap::new();
        for (number, interface) in model.interfaces.iter().enumerate() {
            for element in children(interface.element, "PhysConn") {
                let mut parameters = children(element, "P");
                let cable = parameters.find(|p| attribute(*p, "type") == Some("Cable"));
                let Some(name) = cable.map(content).filter(|name| !name.is_empty()) else {
                    continue;
                };
                cables.entry(name).or_default().push(End {
                    interface: number,
                    device: interface.device,
                    element,
                    is_redundant: word(element, "type").starts_with("Red"),
                });
            }
        }
        let cables = Self(cables);
        for (name, ends) in &cables.0 {
            if pair(ends).is_none() {
                let text = match ends.as_slice() {
                    [_] => format!("the cable {} has one end", quote(name)),
                    [_, _] => format!("the cable {} has both ends at one device", quote(name)),
                    ends => format!("the cable {} has {} ends", quote(name), ends.len()),
                };
                notes.add(ends[0].element, Code::UnusedCable, text);
            }
        }
        cables
    }

    /// Returns the cables with exactly two ends, at two devices.
    fn trusted(&self) -> impl Iterator<Item = (&'a str, [End<'a>; 2])> {
        let pairs = self.0.iter().map(|(name, ends)| (*name, pair(ends)));
        pairs.filter_map(|(name, ends)| Some((name, ends?)))
    }
}

fn pair<'a>(ends: &[End<'a>]) -> Option<[End<'a>; 2]> {
    match ends {
        [one, other] if one.device != other.device => Some([*one, *other]),
        _ => None,
    }
}

/// Returns the devices that are switches: those with a logical node of a bridge (LBRI), and those
/// with two or more trusted cables that neither publish nor listen.
fn switch_devices(
    model: &Model<'_>,
    listeners: &Listeners<'_>,
    cables: &Cables<'_>,
) -> BTreeSet<usize> {
    let publishers = model.blocks.iter().map(|block: &Block<'_>| block.device);
    let subscribers = listeners.values().flatten().map(|(device, _)| *device);
    let busy: BTreeSet<usize> = publishers.chain(subscribers).collect();
    let mut count: BTreeMap<usize, usize> = BTreeMap::new();
    for (_, ends) in cables.trusted() {
        for end in ends {
            *count.entry(end.device).or_default() += 1;
        }
    }
    let devices = model.devices.iter().enumerate();
    let switches = devices.filter(|(number, device)| {
        let cables = count.get(number).copied().unwrap_or(0);
        !busy.contains(number) && (device.is_bridge || cables >= 2)
    });
    switches.map(|(number, _)| number).collect()
}

/// The rate that a subnetwork states.
pub(super) enum Stated {
    /// Megabits per second.
    Rate(u64),
    /// Megabits per second, as a number without a multiplier, which would be that of bits.
    Megabits(u64),
    /// What is no rate of Ethernet.
    Wrong,
}

/// Returns the rate that a subnetwork states, with its words.
pub(super) fn rate(subnetwork: Element<'_>) -> Option<(Stated, &str)> {
    let element = child(subnetwork, "BitRate")?;
    let text = content(element);
    let whole = match text.split_once('.') {
        Some((whole, part)) if part.bytes().all(|digit| digit == b'0') => whole,
        Some(_) => "",
        None => text,
    };
    let number = whole.parse::<u64>().ok();
    let bits = |unit: u64| number?.checked_mul(unit).filter(|bits| bits % 1_000_000 == 0);
    let megabits = |unit| bits(unit).map(|bits| bits / 1_000_000);
    let known = |rate: &u64| ETHERNET_MBPS.contains(rate);
    let multiplier = attribute(element, "multiplier");
    let unit = match multiplier {
        Some("G") => 1_000_000_000,
        Some("M") => 1_000_000,
        Some("k") => 1_000,
        None => 1,
        Some(_) => 0,
    };
    let guessed = number.filter(|_| multiplier.is_none()).filter(known);
    let stated = match (megabits(unit).filter(known), guessed) {
        (Some(rate), _) => Stated::Rate(rate),
        (None, Some(rate)) => Stated::Megabits(rate),
        (None, None) => Stated::Wrong,
    };
    Some((stated, text))
}
