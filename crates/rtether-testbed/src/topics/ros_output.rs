//! The graph of ROS in all formats.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write;

use schemars::JsonSchema;
use serde::Serialize;

use super::ros::{Clash, Graph, Interface, Kind, Part as Role};
use super::spy::Census;
use rtether::report::format::Part;
use rtether::report::table::Table;
use rtether::report::text::plural;

/// Digits of a hash that are shown.
const HASH_SHOWN: usize = 15;

/// Returns the graph for people; `dropped` says which datagrams were, `verdict` what the spy judged.
pub(super) fn parts(census: &Census, graph: &Graph, [dropped, verdict]: [&str; 2]) -> Vec<Part> {
    let counts = [
        (Kind::Topic, "topic"),
        (Kind::Service, "service"),
        (Kind::Action, "action"),
        (Kind::Dds, "DDS topic"),
    ];
    let mut head = format!(
        "Domain {}: {}, {}",
        census.domain,
        plural(census.participants.len(), "participant"),
        plural(graph.nodes.len(), "node")
    );
    for (kind, word) in counts {
        let all = graph.interfaces.iter();
        let own = all.filter(|((one, _), it)| *one == kind && !it.is_plumbing);
        let count = own.count();
        if count > 0 {
            _ = write!(head, ", {}", plural(count, word));
        }
    }
    head.push('\n');
    let mut parts = vec![Part::Lines(head)];
    for table in [nodes(graph), interfaces(graph)] {
        if !table.is_empty() {
            parts.extend([Part::Lines("\n".into()), table.into()]);
        }
    }
    let mut text = plumbing(graph);
    text.push_str(dropped);
    clashes(&mut text, graph);
    twins(&mut text, graph);
    mismatches(&mut text, census);
    text.push_str(verdict);
    parts.push(text.into());
    parts
}

fn nodes(graph: &Graph) -> Table {
    let does = |name: &str, kinds: &[Kind], is_from: bool| {
        let all = graph.interfaces.iter();
        let own = all.filter(|((kind, _), it)| kinds.contains(kind) && !it.is_plumbing);
        own.filter(|(_, one)| (if is_from { &one.from } else { &one.to }).contains(name)).count()
    };
    let topics = [Kind::Topic, Kind::Dds];
    let services = [Kind::Service, Kind::Action];
    Table::of(&graph.nodes)
        .shown("node", |(name, _)| name)
        .amount("writes", |(name, _)| does(name, &topics, true))
        .amount("reads", |(name, _)| does(name, &topics, false))
        .amount("serves", |(name, _)| does(name, &services, false))
        .amount("calls", |(name, _)| does(name, &services, true))
        .shown("participant", |(_, participant)| participant)
        .rank(1)
        .done()
}

fn interfaces(graph: &Graph) -> Table {
    let all = graph.interfaces.iter();
    Table::of(all.filter(|(_, one)| !one.is_plumbing))
        .shown("kind", |((kind, _), _)| kind.name())
        .rank(2)
        .shown("name", |((_, name), _)| name)
        .shown("type", |(_, one)| joined(&one.types))
        .shown("from", |(_, one)| joined(&one.from))
        .shown("to", |(_, one)| joined(&one.to))
        .shown("type hash", |((kind, _), one)| hash(*kind, one))
        .rank(1)
        .done()
}

fn joined(names: &BTreeSet<String>) -> String {
    let names: Vec<&str> = names.iter().map(String::as_str).collect();
    names.join(", ")
}

fn short(hash: &str) -> String {
    match hash.get(..HASH_SHOWN) {
        Some(head) if head.len() < hash.len() => format!("{head}\u{2026}"),
        _ => hash.to_owned(),
    }
}

/// Returns the hash of a topic; services and actions have several.
fn hash(kind: Kind, one: &Interface) -> String {
    let hashes: Vec<String> = one.hashes.iter().map(|hash| short(hash)).collect();
    match (hashes.as_slice(), kind) {
        ([], _) => String::new(),
        ([one], _) => one.clone(),
        (many, Kind::Topic | Kind::Dds) => format!("{} differ", many.len()),
        (many, Kind::Service | Kind::Action) => format!("{} parts", many.len()),
    }
}

/// Returns what is left out for people, since every node has it.
fn plumbing(graph: &Graph) -> String {
    let all = graph.interfaces.iter().filter(|(_, one)| one.is_plumbing);
    let (mut services, mut topics) = (0, Vec::new());
    for ((kind, name), _) in all {
        match kind {
            Kind::Service => services += 1,
            Kind::Topic | Kind::Action | Kind::Dds => topics.push(name.as_str()),
        }
    }
    let mut left_out = Vec::new();
    if services > 0 {
        left_out.push(plural(services, "service") + " for parameters and types");
    }
    left_out.extend(topics.into_iter().map(str::to_owned));
    if left_out.is_empty() {
        return String::new();
    }
    format!("\nnot listed, in every node: {}\n", left_out.join(", "))
}

fn clashes(text: &mut String, graph: &Graph) {
    if graph.clashes.is_empty() {
        return;
    }
    _ = writeln!(
        text,
        "\n{} with different type hashes, which read wrong values without a word:",
        plural(graph.clashes.len(), "topic")
    );
    for clash in &graph.clashes {
        let hashes = clash.hashes.iter();
        let hashes = hashes.map(|(hash, who)| format!("{} of {}", short(hash), joined(who)));
        _ = writeln!(
            text,
            "  `{}`{} ({}): {}",
            clash.name,
            part(clash),
            clash.type_name,
            hashes.collect::<Vec<_>>().join(", ")
        );
    }
}

const fn part(clash: &Clash) -> &'static str {
    match clash.part {
        Role::Samples => "",
        Role::Request => " requests",
        Role::Reply => " replies",
    }
}

fn twins(text: &mut String, graph: &Graph) {
    for twins in &graph.twins {
        _ = writeln!(
            text,
            "\n{} nodes have the name {}: {}",
            twins.participants.len(),
            twins.name,
            twins.participants.join(", ")
        );
    }
    if graph.malformed > 0 {
        _ = writeln!(
            text,
            "\n{} of `ros_discovery_info` could not be read",
            plural(usize::try_from(graph.malformed).unwrap_or(usize::MAX), "sample")
        );
    }
}

/// Names of endpoints by their GUIDs: topic and node.
fn named(census: &Census) -> BTreeMap<&str, (String, &str)> {
    let rows = census.endpoints.iter();
    rows.map(|one| (one.guid.as_str(), (one.seen.named(), one.seen.who.as_str()))).collect()
}

fn mismatches(text: &mut String, census: &Census) {
    if census.apart.is_empty() {
        text.push('\n');
        return;
    }
    _ = writeln!(text, "\n{} do not match:", plural(census.apart.len(), "pair"));
    let names = named(census);
    for pair in &census.apart {
        let [writer, reader] = pair.identities.each_ref().map(|guid| names.get(guid.as_str()));
        let (topic, writer) = writer.map_or((&pair.topic, &*pair.writer), |(a, b)| (a, *b));
        let reader = reader.map_or(&*pair.reader, |(_, who)| *who);
        let reason = &pair.reason;
        _ = writeln!(text, "  `{topic}`: {writer} writes, {reader} reads: {reason}");
    }
    if census.is_cut {
        text.push_str("  and possibly others; there are too many to compare all\n");
    }
}

/// The domain in the words of ROS.
#[derive(Serialize, JsonSchema)]
pub(super) struct GraphJson<'a> {
    /// Nodes, by name.
    nodes: Vec<NodeJson<'a>>,
    /// Topics, services and actions, by kind and name.
    interfaces: Vec<InterfaceJson<'a>>,
    /// Topics whose endpoints announce different hashes of one type, and read wrong values.
    hash_clashes: Vec<ClashJson<'a>>,
    /// Names that several nodes have.
    nodes_of_one_name: Vec<NameJson<'a>>,
    /// Samples of `ros_discovery_info` that are not of its type.
    malformed: u64,
}

#[derive(Serialize, JsonSchema)]
struct NodeJson<'a> {
    /// Its full name.
    name: &'a str,
    /// Name and place of its participant.
    participant: &'a str,
}

#[derive(Serialize, JsonSchema)]
struct InterfaceJson<'a> {
    /// `topic`, `service`, `action`, or `DDS topic` for one outside ROS.
    kind: &'static str,
    /// Its name.
    name: &'a str,
    /// Its types; more than one does not match.
    types: &'a BTreeSet<String>,
    /// Who writes the topic, or calls the service or action: nodes, else participants.
    from: &'a BTreeSet<String>,
    /// Who reads the topic, or serves the service or action.
    to: &'a BTreeSet<String>,
    /// Hashes of the type; of services those of requests and replies, of actions those of all parts.
    hashes: &'a BTreeSet<String>,
    /// Endpoints that announce no hash.
    without_hash: usize,
    /// Whether it is one that every node has.
    in_every_node: bool,
}

#[derive(Serialize, JsonSchema)]
struct ClashJson<'a> {
    /// What the endpoints belong to, as in `interfaces`.
    kind: &'static str,
    /// Its name; of an action with the member.
    name: &'a str,
    /// `requests` or `replies` of a service; else empty.
    part: &'static str,
    /// Name of the type.
    #[serde(rename = "type")]
    type_name: &'a str,
    /// Who announces each hash.
    hashes: &'a BTreeMap<String, BTreeSet<String>>,
}

#[derive(Serialize, JsonSchema)]
struct NameJson<'a> {
    /// The name.
    name: &'a str,
    /// Participants of the nodes.
    participants: &'a [String],
}

impl<'a> GraphJson<'a> {
    pub(super) fn of(graph: &'a Graph) -> Self {
        let nodes = graph.nodes.iter();
        let twins = graph.twins.iter();
        Self {
            nodes: nodes.map(|(name, participant)| NodeJson { name, participant }).collect(),
            interfaces: graph.interfaces.iter().map(InterfaceJson::of).collect(),
            hash_clashes: graph.clashes.iter().map(ClashJson::of).collect(),
            nodes_of_one_name: twins
                .map(|one| NameJson { name: &one.name, participants: &one.participants })
                .collect(),
            malformed: graph.malformed,
        }
    }
}

impl<'a> InterfaceJson<'a> {
    fn of(((kind, name), one): (&'a (Kind, String), &'a Interface)) -> Self {
        Self {
            kind: kind.name(),
            name,
            types: &one.types,
            from: &one.from,
            to: &one.to,
            hashes: &one.hashes,
            without_hash: one.without_hash,
            in_every_node: one.is_plumbing,
        }
    }
}

impl<'a> ClashJson<'a> {
    fn of(clash: &'a Clash) -> Self {
        Self {
            kind: clash.kind.name(),
            name: &clash.name,
            part: part(clash).trim(),
            type_name: &clash.type_name,
            hashes: &clash.hashes,
        }
    }
}
