//! The draft of the plant.

use std::collections::{BTreeMap, BTreeSet};

use rtether_model::quantity::Duration;
use rtether_model::wire::{FCS, HEADER, MAX_FRAME, MIN_FRAME, TAG, wire_size};

use super::network::Network;
use super::{Flow, Read};
use crate::draft::{Basis, Draft, LinkDraft, PlantDraft, Text, Value, head};
use crate::sheet::Names;
use crate::text::plain;

/// Octets on the wire around the payload of a frame, and those of the shortest and the longest frame
/// without a tag.
const AROUND: u64 = wire_size(HEADER).get() + FCS.get();
const SHORTEST: u64 = wire_size(MIN_FRAME).get();
const LONGEST: u64 = wire_size(MAX_FRAME).get();

pub(super) fn draft(name: &str, read: &Read<'_>, network: &Network) -> PlantDraft {
    let mut names = Names::default();
    let nodes = network.stations.iter().chain(network.switches.keys());
    let named: BTreeMap<&str, String> =
        nodes.map(|node| (node.as_str(), names.take(node))).collect();
    let stations = network.stations.iter();
    let title = name.rsplit_once('.').map_or(name, |(title, _)| title);
    let flows = read.flows.iter().zip(&network.listeners);
    let flows = flows.map(|(own, to)| flow_draft(own, &read.talker(own), to, &named));
    let (flows, spans): (Vec<Draft>, Vec<Duration>) = flows.unzip();
    let longest = spans.into_iter().max().unwrap_or(Duration::ZERO);
    let run = Duration::from_us((longest.as_ps() / 100_000).clamp(10_000, 10_000_000));
    PlantDraft {
        head: head(
            &format!("{} (a network of output ports)", plain(name, 80)),
            "the file does not say",
        ),
        title: plain(title, 80),
        stacks: Vec::new(),
        stations: stations
            .map(|node| Draft::station(&named[node.as_str()], "zero".into(), Basis::Stated))
            .collect(),
        idle: Vec::new(),
        switches: network.switches.iter().map(|own| switch(own, &named)).collect(),
        links: links(network, &named),
        flows,
        run: Value::assumed(run, "several periods of every flow".into()),
        has_deadlines: Some(false),
    }
}

fn switch((node, ports): (&String, &usize), named: &BTreeMap<&str, String>) -> Draft {
    let mut switch = Draft::new(&named[node.as_str()]);
    switch.state("ports", *ports);
    switch.state("latency", Duration::ZERO);
    switch.state("selection", "fcfs");
    switch
}

fn links(network: &Network, named: &BTreeMap<&str, String>) -> Vec<LinkDraft> {
    let links = network.links.iter().map(|(ends, megabits, latency)| LinkDraft {
        ends: ends.each_ref().map(|(node, port)| {
            let name = &named[node.as_str()];
            let is_switch = network.switches.contains_key(node);
            if is_switch { format!("{name}:{port}") } else { name.clone() }
        }),
        megabits: *megabits,
        propagation: *latency,
        is_standby: false,
        basis: Basis::Follows("the latency of the port, and of the switch behind it".into()),
    });
    links.collect()
}

/// Drafts a flow; returns also its period, or the least time between its bursts.
fn flow_draft(
    flow: &Flow<'_>,
    talker: &str,
    listeners: &[String],
    named: &BTreeMap<&str, String>,
) -> (Draft, Duration) {
    let mut draft = Draft::new(flow.name);
    draft.state("from", Text::Name(named[talker].clone()));
    let to: BTreeSet<&String> = listeners.iter().map(|to| &named[to.as_str()]).collect();
    let is_multicast = to.len() > 1;
    draft.state("to", Text::Names(to.into_iter().cloned().collect()));
    if is_multicast {
        draft.state("delivery", "multicast");
    }
    draft.state("over", "raw");
    let longest = flow.longest.max(SHORTEST);
    let tag = if longest > LONGEST { TAG.get() } else { 0 };
    let size = Text::Octets((longest - AROUND - tag).max(1));
    draft.explain("size", size, &format!("packets of {} octets on the wire", flow.longest));
    if tag > 0 {
        draft.assume("pcp", 0_usize, "they have a tag");
    }
    let count = flow.burst / flow.longest;
    let rest = flow.burst % flow.longest;
    if count == 1 {
        let period = flow.span(flow.longest);
        draft.state("period", period);
        if rest > 0 {
            let late = i128::from(period.as_ps()) * i128::from(rest) / i128::from(flow.longest);
            let late = Duration::from_ps(i64::try_from(late).unwrap_or(i64::MAX));
            draft.explain("jitter", late, "what more may come at once");
        }
        return (draft, period);
    }
    let count = count + u64::from(rest > 0);
    let gap = flow.span(flow.longest.saturating_mul(count));
    draft.explain("min_gap", gap, "the rate of its curve");
    let why = if rest > 0 { "more than its curve has, in whole frames" } else { "its curve" };
    draft.explain("burst", count, why);
    (draft, gap)
}
