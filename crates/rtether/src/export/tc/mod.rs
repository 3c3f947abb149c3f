//! Settings of Linux hosts, as shell scripts of `ip`, `bridge`, `tc` and `ethtool`: one for each
//! switch, as a bridge, and one for each station.
//!
//! Linux has a queueing discipline for most rules of a port, and they are the exact ones in software
//! too: `prio` for strict priority, `cbs` below it for shaped queues, `ets` for deficit round robin,
//! `etf` by deadline, `bfifo` for memory. A size table (`stab`) makes them count octets as the plant
//! does, since Linux counts neither the check sequence nor padding, preamble and gap. What a port
//! costs in time is a property of the host, not a setting.

use std::collections::BTreeSet;
use std::fmt::Write;

use rtether_model::network::{Duplex, Network, NodeId, NodeKind, PortId};
use rtether_model::quantity::BitRate;
use rtether_model::route::Routing;

use super::{Exported, Reasons};
use crate::scenario::Scenario;

mod frames;
mod port;
mod refuse;
mod station;
mod switch;

use frames::Longest;
use rtether_report::text::few;

/// Writes a script for each host.
pub(super) fn export(scenario: &Scenario) -> Result<Exported, Reasons> {
    let reasons = refuse::reasons(scenario);
    if !reasons.is_empty() {
        return Err(Reasons(reasons));
    }
    let routing = Routing::new(&scenario.network);
    let plant = Plant { scenario, longest: Longest::of(scenario, &routing), routing };
    let mut names = BTreeSet::new();
    let mut files = Vec::new();
    for (id, node) in scenario.network.iter_nodes() {
        let text = match &node.kind {
            NodeKind::EndStation(station) => station::script(&plant, id, station),
            NodeKind::Switch(switch) => switch::script(&plant, id, switch),
            NodeKind::Hub(_) => continue,
        };
        files.push((file_name(&node.name, &mut names), text));
    }
    Ok(Exported { files, notes: notes(scenario) })
}

/// A plant with what is worked out once.
struct Plant<'s> {
    scenario: &'s Scenario,
    routing: Routing,
    longest: Longest,
}

impl Plant<'_> {
    fn network(&self) -> &Network {
        &self.scenario.network
    }

    /// Returns the rate at a port, and the name of what is at the other end; `None` without a link.
    fn link(&self, port: PortId) -> Option<(BitRate, &str)> {
        let network = self.network();
        let link = &network.links[self.routing.link_at(port)?.index()];
        let [one, other] = link.ends;
        let other = if one == port { other } else { one };
        Some((link.rate, &network.node(other.node).name))
    }

    /// Writes the rate of a port.
    fn speed(&self, script: &mut Script, device: &str, port: PortId) {
        let network = self.network();
        let Some(link) = self.routing.link_at(port) else {
            return;
        };
        let link = &network.links[link.index()];
        let is_half = network.is_half_duplex(link) || link.duplex == Duplex::Half;
        let (duplex, megabits) =
            (if is_half { "half" } else { "full" }, link.rate.as_bps() / 1_000_000);
        script.say(&format!("links: {}", link.rate));
        script.run(&format!("try ethtool -s {device} speed {megabits} duplex {duplex} autoneg on"));
    }
}

/// What a virtual device, or one that is set elsewhere, refuses must not end the script before its queues
/// are there. `ethtool` ends with 80 if nothing is to be changed.
const TRY: &str = "try() {
    \"$@\" || [ $? -eq 80 ] || echo \"$0: not done: $*\" >&2
}
";

/// A script in the making.
struct Script(String);

impl Script {
    /// Begins one. `devices` are variables, with their defaults and what they are.
    fn new(
        plant: &Plant<'_>,
        id: NodeId,
        what: &str,
        devices: &[(String, String, String)],
    ) -> Self {
        let name = &plant.network().node(id).name;
        let mut text = format!(
            "#!/bin/sh\n# {name} of {}: {what}\n\
             # Run as root, as often as you like. The names of devices are yours to set, here or in the\n\
             # environment.\nset -eu\n",
            plant.scenario.name
        );
        for (variable, default, what) in devices {
            _ = writeln!(text, "{variable}=${{{variable}:-{default}}} # {what}");
        }
        text.push_str(TRY);
        Self(text)
    }

    /// Adds a comment behind an empty line: where the next lines come from.
    fn say(&mut self, comment: &str) {
        _ = writeln!(self.0, "\n# {comment}");
    }

    /// Adds a further line of a comment.
    fn also(&mut self, comment: &str) {
        _ = writeln!(self.0, "# {comment}");
    }

    fn run(&mut self, command: &str) {
        _ = writeln!(self.0, "{command}");
    }

    /// Adds a device, unless a run before has done so.
    fn add(&mut self, device: &str, rest: &str) {
        self.run(&format!("[ -e \"/sys/class/net/{device}\" ] || ip link add {rest}"));
    }

    /// Removes the queues that a run before has left: not every discipline can be changed.
    fn clear(&mut self, device: &str) {
        self.run(&format!("tc qdisc del dev {device} root 2> /dev/null || :"));
    }
}

/// Returns a name that every file system takes, unlike the others.
fn file_name(node: &str, names: &mut BTreeSet<String>) -> String {
    let plain = |c: char| {
        if c.is_ascii_alphanumeric() || c == '-' || c == '_' { c } else { '_' }
    };
    let base: String = node.chars().take(100).map(plain).collect();
    let mut name = format!("{base}.sh");
    let mut number = 2;
    // Case matters on some systems only.
    while !names.insert(name.to_ascii_lowercase()) {
        name = format!("{base}-{number}.sh");
        number += 1;
    }
    name
}

fn notes(scenario: &Scenario) -> Vec<String> {
    let network = &scenario.network;
    let mut notes = Vec::new();
    let mut tell = |names: Vec<String>, what: &str| {
        notes.extend(few(&names).map(|names| format!("{names}: {what}")));
    };
    let nodes = |is: &dyn Fn(&NodeKind) -> bool| -> Vec<String> {
        let found = network.nodes.iter().filter(|node| is(&node.kind));
        found.map(|node| node.name.clone()).collect()
    };
    tell(nodes(&|kind| matches!(kind, NodeKind::Hub(_))), "a hub has nothing to set");
    tell(
        nodes(&|kind| matches!(kind, NodeKind::Switch(switch) if switch.buffer.shared.is_some())),
        "ports of Linux do not share memory: `shared_buffer` is left out",
    );
    tell(
        nodes(&|kind| {
            matches!(kind, NodeKind::Switch(switch)
                if switch.addresses == rtether_model::network::AddressTable::Static)
        }),
        "a bridge learns addresses: frames to one that has not sent yet are flooded",
    );
    let doubled = network.iter_nodes().filter(|(id, node)| {
        let is_double = matches!(&node.kind, NodeKind::EndStation(station) if station.ports() > 1);
        let mut flows = scenario.flows.iter();
        is_double
            && flows.any(|flow| {
                flow.tag.is_some() && (flow.talker == *id || flow.listeners.contains(id))
            })
    });
    tell(
        doubled.map(|(_, node)| node.name.clone()).collect(),
        "Linux 6.1 takes no VLAN on a device of PRP; see that yours does, or let programs tag",
    );
    let routed = scenario.flows.iter().filter(|flow| !flow.routes.is_empty());
    tell(
        routed.map(|flow| flow.name.clone()).collect(),
        "bridges choose the ways: `routes` are left out",
    );
    if network.admission.is_some() {
        notes.push("nothing in Linux asks a manager: `admission` is left out".to_owned());
    }
    notes
}
