//! Stations, switches and links, and the ways of flows where these close rings.

use std::collections::{BTreeMap, BTreeSet};

use rtether_model::quantity::Duration;
use rtether_model::wire::ETHERNET_MBPS;

use super::flows::Row;
use crate::cabling::Cabling;
use crate::error::ImportError;
use crate::sheet::Names;
use crate::table::{Cells, Table};
use crate::text::quote;
use crate::ways::{Neighbors, way};

/// Most ports of a switch in a scenario.
const MAX_PORTS: usize = 1024;
/// Most nodes times flows, for each of which a way is searched among all nodes.
const MAX_STEPS: usize = 10_000_000;

/// The plant of a list.
#[derive(Debug, Default)]
pub(super) struct Network {
    /// Names in the scenario, by those of the lists.
    names: BTreeMap<String, String>,
    switches: BTreeMap<String, Switch>,
    pub(super) links: Vec<Link>,
    neighbors: Neighbors,
    /// Whether a list describes it.
    pub(super) is_stated: bool,
    /// Whether links are given beside the list.
    pub(super) is_cabled: bool,
}

/// A switch.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Switch {
    pub(super) ports: usize,
    pub(super) latency: Duration,
    pub(super) queues: u64,
}

/// What is assumed of a switch that nothing describes.
const USUAL: Switch = Switch { ports: 0, latency: Duration::from_us(10), queues: 8 };

/// A link between two nodes, each with its port.
#[derive(Debug)]
pub(super) struct Link {
    pub(super) ends: [(String, usize); 2],
    /// Rate in megabits per second, if it is stated.
    pub(super) megabits: Option<u64>,
    pub(super) propagation: Duration,
    /// Where it is stated.
    pub(super) source: String,
}

/// Returns whether a list has links.
pub(super) fn is_links(table: &Table) -> bool {
    table.find("link").is_some() && table.find("rate").is_some()
}

/// One direction of a link, as tsnkit writes it.
struct Way {
    ends: [String; 2],
    gigabits: u64,
    latency: Duration,
    propagation: Duration,
    queues: u64,
}

impl Way {
    fn read(cells: Cells<'_>, columns: &[Option<usize>; 5]) -> Result<Self, ImportError> {
        let [Some(link), Some(rate), ..] = *columns else {
            return Err(cells.wrong(0, "a link and its rate"));
        };
        let inside = cells.cell(link).trim_matches(|c: char| "()[] ".contains(c));
        let ends = inside.split_once(',');
        let ends = ends.map(|(one, other)| [one, other].map(|end| end.trim().to_owned()));
        let ends = ends.filter(|[one, other]| one != other && !one.is_empty() && !other.is_empty());
        let ends = ends.ok_or_else(|| cells.wrong(link, "two nodes, as (0, 1),"))?;
        let gigabits = cells.number(rate, 400)?;
        if !ETHERNET_MBPS.contains(&(gigabits * 1_000)) {
            return Err(cells.wrong(rate, "a rate of Ethernet in Gbit/s"));
        }
        // A second in nanoseconds, for both times.
        let ns = |column: Option<usize>| match column {
            None => Ok(Duration::ZERO),
            Some(column) => {
                let ns = cells.number(column, 1_000_000_000)?;
                Ok(Duration::from_ns(i64::try_from(ns).unwrap_or(0)))
            }
        };
        let queues = columns[4].map_or(Ok(1), |column| cells.number(column, 8))?;
        Ok(Self {
            ends,
            gigabits,
            latency: ns(columns[2])?,
            propagation: ns(columns[3])?,
            queues: queues.max(1),
        })
    }
}

impl Network {
    /// Reads a list of links. Nodes with one neighbor, and those at which flows end, are stations.
    pub(super) fn read(table: &Table, rows: &[Row]) -> Result<Self, ImportError> {
        let columns = ["link", "rate", "t_proc", "t_prop", "q_num"].map(|title| table.find(title));
        let mut network = Self { is_stated: true, ..Self::default() };
        let ways = table.rows().map(|cells| Way::read(cells, &columns));
        let ways = ways.collect::<Result<Vec<Way>, ImportError>>()?;
        for way in &ways {
            let [one, other] = &way.ends;
            for (one, other) in [(one, other), (other, one)] {
                let neighbors = network.neighbors.entry(one.clone()).or_default();
                neighbors.insert(other.clone());
            }
        }
        network.check(table.name(), rows)?;
        network.find_switches(Switch::default());
        let mut known = BTreeSet::new();
        for way in ways {
            // A port has the queues of the link that leaves it; what a frame waits for behind a link is
            // the latency of the switch that the link enters.
            if let Some(switch) = network.switches.get_mut(&way.ends[0]) {
                switch.queues = switch.queues.max(way.queues);
            }
            if let Some(switch) = network.switches.get_mut(&way.ends[1]) {
                switch.latency = switch.latency.max(way.latency);
            }
            let mut pair = way.ends.clone();
            pair.sort();
            if known.insert(pair) {
                let rate = Some(way.gigabits * 1_000);
                network.link(way.ends, rate, way.propagation, String::new());
            }
        }
        network.check_ports(table.name())?;
        Ok(network)
    }

    /// Takes links that are given beside a list.
    pub(super) fn cabled(name: &str, cabling: &Cabling, rows: &[Row]) -> Result<Self, ImportError> {
        let mut network = Self { is_cabled: true, ..Self::default() };
        for cable in cabling.links() {
            let [(one, _), (other, _)] = &cable.ends;
            for (one, other) in [(one, other), (other, one)] {
                let neighbors = network.neighbors.entry(one.clone()).or_default();
                neighbors.insert(other.clone());
            }
        }
        network.check(name, rows)?;
        network.find_switches(USUAL);
        let mut known = BTreeSet::new();
        for cable in cabling.links() {
            let ends = cable.ends.clone().map(|(node, _)| node);
            let mut pair = ends.clone();
            pair.sort();
            // A second cable between two nodes carries nothing that the first does not.
            if known.insert(pair) {
                let source = cable.source.clone();
                network.link(ends, cable.megabits, Duration::ZERO, source);
            }
        }
        network.check_ports(name)?;
        Ok(network)
    }

    /// Refuses stations without a link or with several, and plants that take too long.
    fn check(&self, name: &str, rows: &[Row]) -> Result<(), ImportError> {
        let network = self;
        let refuse = |what: String, remedy: &str| Err(ImportError::new(name, None, what, remedy));
        let ends = rows.iter().flat_map(|row| row.to.iter().chain([&row.from]));
        for end in ends {
            match network.neighbors.get(end).map_or(0, BTreeSet::len) {
                0 => {
                    return refuse(
                        format!("no link leads to the station {}", quote(end)),
                        "add one",
                    );
                }
                1 => {}
                count => {
                    let what = format!("the station {} has {count} links", quote(end));
                    return refuse(what, "put a switch there: a station has one interface");
                }
            }
        }
        if rows.len().saturating_mul(network.neighbors.len()) > MAX_STEPS {
            let what =
                format!("it has {} nodes, for {} flows", network.neighbors.len(), rows.len());
            return refuse(what, "import a part of it");
        }
        Ok(())
    }

    /// Takes nodes with several neighbors for switches.
    fn find_switches(&mut self, usual: Switch) {
        self.name();
        let nodes = self.neighbors.iter();
        let switches = nodes.filter(|(_, neighbors)| neighbors.len() > 1);
        let switches = switches.map(|(node, _)| (node.clone(), usual));
        self.switches = switches.collect();
    }

    fn check_ports(&self, name: &str) -> Result<(), ImportError> {
        let mut ports = self.switches.iter();
        match ports.find(|(_, switch)| switch.ports > MAX_PORTS) {
            None => Ok(()),
            Some((node, switch)) => {
                let what = format!("the switch {} has {} links", quote(node), switch.ports);
                let remedy = "a switch has at most 1024 ports";
                Err(ImportError::new(name, None, what, remedy))
            }
        }
    }

    /// Joins all stations at one switch.
    pub(super) fn star(name: &str, rows: &[Row]) -> Result<Self, ImportError> {
        let mut network = Self::default();
        let ends = rows.iter().flat_map(|row| row.to.iter().chain([&row.from]));
        let stations: BTreeSet<String> = ends.cloned().collect();
        if stations.len() > MAX_PORTS {
            let what = format!("it has {} stations", stations.len());
            let remedy = "give a list of links, too: a switch has at most 1024 ports";
            return Err(ImportError::new(name, None, what, remedy));
        }
        // No station has an empty name.
        let center = String::new();
        network.neighbors.insert(center.clone(), stations.clone());
        for station in &stations {
            let center = BTreeSet::from([center.clone()]);
            network.neighbors.insert(station.clone(), center);
        }
        network.name();
        network.names.insert(center.clone(), "switch".into());
        let mut names = Names::default();
        for station in &stations {
            names.take(&network.names[station]);
        }
        network.names.insert(center.clone(), names.take("switch"));
        network.switches.insert(center.clone(), USUAL);
        for station in stations {
            network.link([station, center.clone()], None, Duration::ZERO, String::new());
        }
        Ok(network)
    }

    /// Gives each node a name that the language takes.
    fn name(&mut self) {
        let mut names = Names::default();
        let nodes = self.neighbors.keys().filter(|node| !node.is_empty());
        self.names = nodes.map(|node| (node.clone(), names.take(node))).collect();
    }

    fn link(
        &mut self,
        ends: [String; 2],
        megabits: Option<u64>,
        propagation: Duration,
        source: String,
    ) {
        let ends = ends.map(|end| {
            let port = self.switches.get_mut(&end).map_or(0, |switch| {
                switch.ports += 1;
                switch.ports
            });
            (end, port)
        });
        self.links.push(Link { ends, megabits, propagation, source });
    }

    /// Returns the name of a node in the scenario.
    pub(super) fn named(&self, node: &str) -> &str {
        self.names.get(node).map_or("", String::as_str)
    }

    /// Returns the stations.
    pub(super) fn stations(&self) -> impl Iterator<Item = &String> {
        self.neighbors.keys().filter(|node| !self.is_switch(node))
    }

    /// Returns the switches.
    pub(super) fn switches(&self) -> impl Iterator<Item = (&str, Switch)> {
        let switches = self.switches.iter();
        switches.map(|(node, switch)| (node.as_str(), *switch))
    }

    /// Returns whether a node is a switch.
    pub(super) fn is_switch(&self, node: &str) -> bool {
        self.switches.contains_key(node)
    }

    /// Returns whether links close a ring: there are more than a tree has.
    pub(super) fn has_ring(&self) -> bool {
        self.links.len() >= self.neighbors.len()
    }

    /// Returns the shortest way between two stations.
    pub(super) fn way(&self, from: &str, to: &str) -> Option<Vec<&str>> {
        way(&self.neighbors, from, to)
    }
}
