//! Nodes and links, of ports that paths join.

use std::collections::{BTreeMap, BTreeSet};

use rtether_model::quantity::Duration;

use super::{Read, Server};
use crate::text::quote;

/// Most ports of a switch in a scenario.
const MAX_PORTS: usize = 1_024;

/// A port by its node and number.
pub(super) type Port = (String, usize);

/// Nodes and links.
#[derive(Default)]
pub(super) struct Network {
    pub(super) stations: BTreeSet<String>,
    pub(super) switches: BTreeMap<String, usize>,
    /// Both ends, rate in megabits per second, and latency.
    pub(super) links: Vec<([Port; 2], u64, Duration)>,
    /// Listener of each path, by flow.
    pub(super) listeners: Vec<Vec<String>>,
}

/// How the ports of a file count: from one as ours, or from zero.
#[derive(Clone, Copy)]
pub(super) struct Numbers {
    first: usize,
}

impl Numbers {
    /// A file that has a port 0 counts from it.
    pub(super) fn of(servers: &BTreeMap<&str, Server>) -> Self {
        let mut servers = servers.keys();
        let has_zero = servers.any(|server| matches!(parts(server), Some((_, 0))));
        Self { first: usize::from(!has_zero) }
    }

    /// Returns the node and the number of an output port, from one.
    pub(super) fn port(self, server: &str) -> Port {
        match parts(server) {
            Some((node, number)) if number >= self.first => {
                (node.to_owned(), number - self.first + 1)
            }
            Some(_) | None => (server.to_owned(), 1),
        }
    }
}

/// Returns the node and the number that the name of an output port has.
fn parts(server: &str) -> Option<(&str, usize)> {
    let (node, number) = server.rsplit_once("-o")?;
    let number = number.parse::<usize>().ok()?;
    (!node.is_empty() && number <= MAX_PORTS).then_some((node, number))
}

impl Network {
    pub(super) fn of(read: &Read<'_>) -> Result<Self, String> {
        let mut network = Self::default();
        // Where each port leads.
        let mut ahead: BTreeMap<&str, String> = BTreeMap::new();
        let mut inner: BTreeSet<String> = BTreeSet::new();
        for flow in &read.flows {
            let mut own = Vec::new();
            for (ports, listener) in &flow.paths {
                let last = ports.last().copied().unwrap_or_default();
                let behind = match (listener, ahead.get(last)) {
                    (Some(listener), _) => (*listener).to_owned(),
                    (None, Some(known)) => known.clone(),
                    (None, None) => format!("{last}.end"),
                };
                let next = ports.iter().skip(1).map(|next| read.numbers.port(next).0);
                for (number, (at, to)) in ports.iter().zip(next.chain([behind.clone()])).enumerate()
                {
                    if !read.servers.contains_key(at) {
                        return Err(format!("there is no server {}", quote(at)));
                    }
                    if number > 0 {
                        inner.insert(read.numbers.port(at).0);
                    }
                    match ahead.get(at) {
                        Some(known) if *known != to => {
                            return Err(format!(
                                "the server {} leads to {} and to {}; a port has one link",
                                quote(at),
                                quote(known),
                                quote(&to)
                            ));
                        }
                        Some(_) => {}
                        None => _ = ahead.insert(at, to),
                    }
                }
                own.push(behind);
            }
            network.listeners.push(own);
        }
        network.nodes(read.numbers, &ahead, &inner)?;
        network.join(read, &ahead)?;
        Ok(network)
    }

    /// Takes nodes that send on what others send for switches.
    fn nodes(
        &mut self,
        numbers: Numbers,
        ahead: &BTreeMap<&str, String>,
        inner: &BTreeSet<String>,
    ) -> Result<(), String> {
        let mut talkers: BTreeMap<String, usize> = BTreeMap::new();
        for (server, to) in ahead {
            let (node, number) = numbers.port(server);
            if inner.contains(&node) {
                let most = self.switches.entry(node).or_default();
                *most = number.max(*most);
            } else if *talkers.entry(node.clone()).or_insert(number) == number {
                self.stations.insert(node);
            } else {
                return Err(format!("the station {} has several ports", quote(&node)));
            }
            if !inner.contains(to) {
                self.stations.insert(to.clone());
            }
        }
        Ok(())
    }

    /// Joins nodes: two ports that lead to each other's nodes are one link.
    fn join(&mut self, read: &Read<'_>, ahead: &BTreeMap<&str, String>) -> Result<(), String> {
        let mut open: BTreeMap<(String, String), Vec<Port>> = BTreeMap::new();
        for (server, to) in ahead {
            let own = read.numbers.port(server);
            let pair = (own.0.clone(), to.clone());
            open.entry(pair).or_default().push(own);
        }
        let mut by_port: BTreeMap<Port, &str> = BTreeMap::new();
        for server in ahead.keys() {
            if let Some(other) = by_port.insert(read.numbers.port(server), server) {
                let (one, other) = (quote(server), quote(other));
                return Err(format!("the servers {other} and {one} are one port"));
            }
        }
        let mut done = BTreeSet::new();
        for (server, to) in ahead {
            let own = read.numbers.port(server);
            if !done.insert(own.clone()) {
                continue;
            }
            let back = open.get_mut(&(to.clone(), own.0.clone()));
            let back = back.and_then(|ports| {
                let at = ports.iter().position(|port| !done.contains(port))?;
                Some(ports.remove(at))
            });
            let mut latency = read.servers[server].latency;
            let end = match back {
                Some(back) => {
                    let name = by_port.get(&back);
                    if let Some(other) = name.and_then(|name| read.servers.get(name)) {
                        if other.rate != read.servers[server].rate {
                            let what = "the two directions of the link of";
                            let ends = format!("{} and {}", quote(&own.0), quote(to));
                            return Err(format!("{what} {ends} have two rates"));
                        }
                        latency = latency.max(other.latency);
                    }
                    done.insert(back.clone());
                    back
                }
                None => match self.switches.get_mut(to) {
                    Some(most) => {
                        *most += 1;
                        (to.clone(), *most)
                    }
                    None => (to.clone(), 1),
                },
            };
            let megabits = read.servers[server].rate / 1_000_000;
            self.links.push(([own, end], megabits, latency));
        }
        let mut wide = self.switches.iter();
        match wide.find(|(_, ports)| **ports > MAX_PORTS) {
            Some((node, ports)) => Err(format!("the switch {} has {ports} ports", quote(node))),
            None => Ok(()),
        }
    }
}
