//! Assigns hosts to stations.

use std::fmt;

use rtether_live::namespace::CommandLine;
use rtether_model::network::{NodeId, NodeKind};

use super::super::{Backend, TestbedError, refuse};
use super::VERB;
use super::wire::DEVICE_MAX;
use crate::ssh::{OPTIONS, is_host};
use rtether::scenario::{Scenario, nearest_name};

/// ssh drops a connection after fifteen seconds of silence.
const ALIVE: [&str; 4] = ["-o", "ServerAliveInterval=5", "-o", "ServerAliveCountMax=3"];

/// A host and the station it plays.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Remote {
    /// The station.
    pub node: NodeId,
    /// Its name.
    pub name: String,
    /// Name of the host for ssh.
    pub target: String,
    /// The device whose addresses it uses; `None` for that of the connection.
    pub device: Option<String>,
}

impl Remote {
    /// Returns the command that starts the agent.
    pub fn command(&self) -> Vec<&str> {
        let mut words = vec!["ssh"];
        words.extend(OPTIONS);
        words.extend(ALIVE);
        words.extend(["--", &self.target, "rtether", VERB]);
        words
    }

    /// Returns its name in messages.
    pub(super) fn called(&self) -> String {
        format!("`{}` ({})", self.name, self.target)
    }
}

/// All hosts of a run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Deployment {
    /// In the order of nodes.
    pub hosts: Vec<Remote>,
}

impl Deployment {
    /// Plans a run; `hosts` are written `NODE=TARGET` or `NODE=TARGET%DEVICE`.
    ///
    /// # Errors
    /// Everything wrong with `hosts`, and everything in the scenario that stations do not support.
    pub fn new(scenario: &Scenario, hosts: &[String]) -> Result<Self, TestbedError> {
        let mut reasons = refuse::reasons(scenario, Backend::Ssh);
        let mut found: Vec<Remote> = Vec::new();
        for text in hosts {
            match remote(scenario, text) {
                Err(reason) => reasons.push(reason),
                Ok(host) if found.iter().any(|other| other.node == host.node) => {
                    reasons.push(format!("`--host {text}`: `{}` has a host already", host.name));
                }
                Ok(host) => found.push(host),
            }
        }
        let nodes = scenario.network.iter_nodes();
        let stations = nodes.filter(|(_, node)| matches!(node.kind, NodeKind::EndStation(_)));
        for (id, node) in stations {
            if !found.iter().any(|host| host.node == id) {
                let name = &node.name;
                reasons.push(format!("`{name}` has no host; add `--host {name}=TARGET%DEVICE`"));
            }
        }
        if !reasons.is_empty() {
            return Err(TestbedError::Unsupported { backend: Backend::Ssh.name(), reasons });
        }
        found.sort_by_key(|host| host.node);
        Ok(Self { hosts: found })
    }
}

fn remote(scenario: &Scenario, text: &str) -> Result<Remote, String> {
    let wrong = |why: &str| format!("`--host {text}`: {why}");
    let Some((name, target)) = text.split_once('=') else {
        return Err(wrong("write NODE=TARGET or NODE=TARGET%DEVICE"));
    };
    let (target, device) = match target.rsplit_once('%') {
        Some((target, device)) => (target, Some(device)),
        None => (target, None),
    };
    let mut nodes = scenario.network.iter_nodes();
    let Some((node, found)) = nodes.find(|(_, node)| node.name == name) else {
        let nodes = scenario.network.nodes.iter();
        let stations = nodes.filter(|node| matches!(node.kind, NodeKind::EndStation(_)));
        let hint = nearest_name(name, stations.map(|node| node.name.as_str()));
        let hint = hint.map_or_else(String::new, |hint| format!("; did you mean `{hint}`?"));
        return Err(wrong(&format!("there is no node `{name}`{hint}")));
    };
    if !matches!(found.kind, NodeKind::EndStation(_)) {
        return Err(wrong(&format!(
            "`{name}` is not an end station; the network between hosts is the real one"
        )));
    }
    if !is_host(target) {
        return Err(wrong(&format!(
            "`{target}` is no host; write a name, an address, or USER@HOST"
        )));
    }
    let is_device = |name: &str| {
        (1..=DEVICE_MAX).contains(&name.len())
            && !name.contains(|c: char| c.is_whitespace() || c.is_control() || c == '/')
    };
    if let Some(device) = device.filter(|device| !is_device(device)) {
        return Err(wrong(&format!("`{device}` is no name of a device")));
    }
    Ok(Remote {
        node,
        name: name.to_owned(),
        target: target.to_owned(),
        device: device.map(str::to_owned),
    })
}

impl fmt::Display for Deployment {
    /// Formats the plan as a shell script, with what each agent is told.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "# starts an agent on each host; what is between them is used as it is")?;
        for host in &self.hosts {
            let words = host.command();
            let command = words.iter().fold(None, |command: Option<CommandLine>, word| {
                Some(match command {
                    None => CommandLine::words(word),
                    Some(command) => command.argument((*word).to_owned()),
                })
            });
            let device = host.device.as_deref();
            let device = device.unwrap_or("the device of the connection");
            writeln!(f, "# plays `{}` on {device}", host.name)?;
            if let Some(command) = command {
                writeln!(f, "{command}")?;
            }
        }
        Ok(())
    }
}
