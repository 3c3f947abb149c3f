//! The graph of nodes, topics, services and actions.

use std::collections::{BTreeMap, BTreeSet};

use rtether_rtps::guid::{Guid, GuidPrefix};

use super::names::{Kind, Part, Seen};
use super::nodes::Nodes;

/// A topic, service or action, with who is on which side.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Interface {
    /// Types; more than one does not match.
    pub types: BTreeSet<String>,
    /// Who writes the topic, or calls the service or action.
    pub from: BTreeSet<String>,
    /// Who reads the topic, or serves the service or action.
    pub to: BTreeSet<String>,
    /// Hashes of the type; for services those of requests and replies, for actions those of all
    /// parts.
    pub hashes: BTreeSet<String>,
    /// Endpoints that announce no hash.
    pub without_hash: usize,
    /// Whether every node has it.
    pub is_plumbing: bool,
}

/// Endpoints of one topic and type name that announce different hashes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Clash {
    /// What they belong to.
    pub kind: Kind,
    /// The topic, service or action.
    pub name: String,
    /// Which topic of it.
    pub part: Part,
    /// Their type.
    pub type_name: String,
    /// Who announces each hash.
    pub hashes: BTreeMap<String, BTreeSet<String>>,
}

/// Nodes of one full name.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Twins {
    /// The name.
    pub name: String,
    /// Their participants.
    pub participants: Vec<String>,
}

/// A domain in the words of ROS.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Graph {
    /// Nodes with their participants, by name.
    pub nodes: Vec<(String, String)>,
    /// Topics, services and actions by kind and name.
    pub interfaces: BTreeMap<(Kind, String), Interface>,
    /// Topics on which hashes differ.
    pub clashes: Vec<Clash>,
    /// Nodes of one name.
    pub twins: Vec<Twins>,
    /// Node of each endpoint that has one, by its GUID as text.
    pub owners: BTreeMap<String, String>,
    /// Samples of `ros_discovery_info` that were not of its type.
    pub malformed: u64,
}

/// A topic of DDS: its interface, member of an action, part and type.
type Subject<'a> = (Kind, &'a str, Option<&'a str>, Part, &'a str);

impl Graph {
    /// Draws the graph of endpoints; `who` names a participant.
    pub fn of(seen: &[Seen], nodes: &Nodes, who: impl Fn(GuidPrefix) -> Option<String>) -> Self {
        let mut this = Self { malformed: nodes.malformed, ..Self::default() };
        // Those of participants that have gone do not count.
        let told = nodes.iter();
        let told = told.filter_map(|(prefix, node)| Some((node.name.clone(), who(prefix)?)));
        this.nodes = told.collect();
        this.nodes.sort();
        let owners = nodes.by_endpoint();
        let owners = owners.iter();
        this.owners =
            owners.map(|(guid, name)| (Guid::to_string(guid), (*name).to_owned())).collect();
        this.find_twins();
        let mut hashes: BTreeMap<Subject<'_>, BTreeMap<String, BTreeSet<String>>> = BTreeMap::new();
        for one in seen {
            this.add(one);
            let Some(hash) = &one.hash else {
                continue;
            };
            let subject = (
                one.kind,
                one.name.as_str(),
                one.member.as_deref(),
                one.part,
                one.type_name.as_str(),
            );
            let by_hash = hashes.entry(subject).or_default();
            let who = by_hash.entry(hash.clone()).or_default();
            who.insert(one.who.clone());
        }
        let differing = hashes.into_iter().filter(|(_, hashes)| hashes.len() > 1);
        this.clashes = differing
            .map(|((kind, name, member, part, type_name), hashes)| Clash {
                kind,
                name: member.map_or_else(|| name.to_owned(), |it| format!("{name} {it}")),
                part,
                type_name: type_name.to_owned(),
                hashes,
            })
            .collect();
        this
    }

    fn add(&mut self, one: &Seen) {
        let key = (one.kind, one.name.clone());
        let interface = self.interfaces.entry(key).or_default();
        interface.is_plumbing |= one.is_plumbing();
        if !one.type_name.is_empty() {
            interface.types.insert(one.type_name.clone());
        }
        match &one.hash {
            Some(hash) => {
                interface.hashes.insert(hash.clone());
            }
            None => interface.without_hash += 1,
        }
        // Of an action its services tell: the node that serves them writes its topics.
        if one.kind == Kind::Action && one.part == Part::Samples {
            return;
        }
        let is_from = match one.part {
            Part::Samples => one.is_writer,
            Part::Request | Part::Reply => !one.serves(),
        };
        let side = if is_from { &mut interface.from } else { &mut interface.to };
        side.insert(one.who.clone());
    }

    fn find_twins(&mut self) {
        let mut by_name: BTreeMap<&str, Vec<String>> = BTreeMap::new();
        for (name, participant) in &self.nodes {
            by_name.entry(name).or_default().push(participant.clone());
        }
        let twins = by_name.into_iter().filter(|(_, all)| all.len() > 1);
        self.twins = twins
            .map(|(name, participants)| Twins { name: name.to_owned(), participants })
            .collect();
    }

    /// Returns topics that are written and not read, or read and not written, and services and
    /// actions that are called and not served; those of every node do not count.
    pub fn one_sided(&self) -> impl Iterator<Item = (Kind, &str, &Interface)> {
        let all = self.interfaces.iter();
        let own = all.filter(|(_, one)| !one.is_plumbing);
        own.filter(|((kind, _), one)| match kind {
            Kind::Topic | Kind::Dds => one.from.is_empty() || one.to.is_empty(),
            Kind::Service | Kind::Action => one.to.is_empty(),
        })
        .map(|((kind, name), one)| (*kind, name.as_str(), one))
    }
}
