//! Networks of the INET framework for `OMNeT++`: `Plant.ned` with nodes and links, `omnetpp.ini`
//! with flows, priorities and queues.
//!
//! Stations are `TsnDevice`, switches `TsnSwitch`; a flow is a source of UDP packets at its talker
//! and a sink at its listener, and its priority that of a stream that is known by the port. Queues of
//! a switch are those of its egress traffic shaping. Names of nodes become identifiers.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write;

use rtether_model::flow::{Delivery, Flow, Phase, Traffic};
use rtether_model::network::{
    Duplex, EndStation, Feature, ForwardingMode, NodeId, NodeKind, Pcp, PortVlan, Stack, Switch,
};
use rtether_model::quantity::Duration;
use rtether_model::wire::Encapsulation;
use rtether_report::text::few;

use super::{Exported, Reasons};
use crate::scenario::Scenario;

/// Port of the first flow.
const FIRST_PORT: usize = 1_000;

/// Writes the files.
pub(super) fn export(scenario: &Scenario) -> Result<Exported, Reasons> {
    let reasons = reasons(scenario);
    if !reasons.is_empty() {
        return Err(Reasons(reasons));
    }
    let names = identifiers(scenario);
    Ok(Exported {
        files: vec![
            ("Plant.ned".to_owned(), ned(scenario, &names)),
            ("omnetpp.ini".to_owned(), ini(scenario, &names)),
        ],
        notes: notes(scenario),
    })
}

/// Returns an identifier for each node, unlike the others and the words of NED.
fn identifiers(scenario: &Scenario) -> Vec<String> {
    let mut known: BTreeSet<String> = [
        "allowunconnected",
        "bool",
        "channel",
        "channelinterface",
        "configurator",
        "connections",
        "const",
        "default",
        "double",
        "exists",
        "extends",
        "false",
        "for",
        "gates",
        "if",
        "import",
        "index",
        "inout",
        "input",
        "int",
        "like",
        "module",
        "moduleinterface",
        "network",
        "object",
        "output",
        "package",
        "parameters",
        "parent",
        "property",
        "simple",
        "sizeof",
        "string",
        "submodules",
        "this",
        "true",
        "typename",
        "types",
        "visualizer",
        "volatile",
        "xml",
        "xmldoc",
    ]
    .map(str::to_owned)
    .into();
    let nodes = scenario.network.nodes.iter();
    nodes
        .map(|node| {
            let plain = |c: char| if c.is_ascii_alphanumeric() { c } else { '_' };
            let mut base: String = node.name.chars().map(plain).collect();
            if !base.starts_with(|c: char| c.is_ascii_alphabetic()) {
                base.insert(0, 'n');
            }
            let mut name = base.clone();
            let mut number = 2;
            while !known.insert(name.clone()) {
                name = format!("{base}_{number}");
                number += 1;
            }
            name
        })
        .collect()
}

fn ned(scenario: &Scenario, names: &[String]) -> String {
    let network = &scenario.network;
    let mut text = format!(
        "// {}, by `rtether export`.\n\nimport inet.networks.base.TsnNetworkBase;\n\
         import inet.node.ethernet.EthernetLink;\nimport inet.node.tsn.TsnDevice;\n\
         import inet.node.tsn.TsnSwitch;\n\nnetwork Plant extends TsnNetworkBase\n{{\n    submodules:\n",
        scenario.name
    );
    for (node, name) in network.nodes.iter().zip(names) {
        let kind = match node.kind {
            NodeKind::Switch(_) => "TsnSwitch",
            NodeKind::EndStation(_) | NodeKind::Hub(_) => "TsnDevice",
        };
        _ = writeln!(text, "        {name}: {kind}; // {}", node.name);
    }
    text.push_str("    connections:\n");
    for link in network.links.iter().filter(|link| !link.standby) {
        let [one, other] = [0, 1].map(|end: usize| &names[link.ends[end].node.index()]);
        let delay = span(link.propagation);
        _ = writeln!(
            text,
            "        {one}.ethg++ <--> EthernetLink {{ delay = {delay}; }} <--> {other}.ethg++;"
        );
    }
    text + "}\n"
}

/// Returns a time as NED has it: a whole number of a unit.
fn span(time: Duration) -> String {
    let ps = time.as_ps();
    let units = [("s", 1_000_000_000_000), ("ms", 1_000_000_000), ("us", 1_000_000), ("ns", 1_000)];
    let whole = units.into_iter().find(|(_, unit)| ps % unit == 0);
    let (unit, divisor) = whole.unwrap_or(("ps", 1));
    format!("{}{unit}", ps / divisor)
}

fn ini(scenario: &Scenario, names: &[String]) -> String {
    let mut text = format!(
        "# {}, by `rtether export`.\n[General]\nnetwork = Plant\nsim-time-limit = {}\n\
         # Addresses are known beforehand.\n*.*.ipv4.arp.typename = \"GlobalArp\"\n",
        scenario.name,
        span(scenario.run.duration)
    );
    rates(scenario, names, &mut text);
    for (id, node) in scenario.network.iter_nodes() {
        if let NodeKind::Switch(switch) = &node.kind {
            queues(switch, &names[id.index()], &mut text);
        }
    }
    apps(scenario, names, &mut text);
    text
}

/// Writes the rates of interfaces, which are numbered by the links of their nodes.
fn rates(scenario: &Scenario, names: &[String], text: &mut String) {
    let mut next: BTreeMap<NodeId, usize> = BTreeMap::new();
    text.push_str("\n# links: rates\n");
    for link in scenario.network.links.iter().filter(|link| !link.standby) {
        for end in link.ends {
            let number = next.entry(end.node).or_default();
            let name = &names[end.node.index()];
            let rate = link.rate.as_bps();
            _ = writeln!(text, "*.{name}.eth[{number}].bitrate = {rate}bps");
            *number += 1;
        }
    }
}

/// Writes the queues of a switch.
fn queues(switch: &Switch, name: &str, text: &mut String) {
    let count = switch.queues.count();
    let plan = switch.plan();
    if plan.queues() == 1 {
        return;
    }
    let queue = format!("*.{name}.eth[*].macLayer.queue");
    _ = writeln!(
        text,
        "\n# switches: {count} queues\n*.{name}.hasEgressTrafficShaping = true\n\
         {queue}.numTrafficClasses = {count}"
    );
    // A row for each priority; the column of the number of classes is read.
    let rows = (0..8).map(|value| {
        let own = Pcp::new(value).map_or(0, |pcp| switch.queues.queue_of(pcp));
        let cells = vec![own.to_string(); 8];
        format!("[{}]", cells.join(", "))
    });
    let rows: Vec<String> = rows.collect();
    _ = writeln!(text, "{queue}.classifier.mapping = [{}]", rows.join(", "));
    for (number, slope) in plan.idle_slopes().into_iter().enumerate() {
        let rate = slope.as_bps();
        if rate > 0 {
            let of = format!("{queue}.transmissionSelectionAlgorithm[{number}]");
            _ = writeln!(
                text,
                "{of}.typename = \"Ieee8021qCreditBasedShaper\"\n{of}.idleSlope = {rate}bps"
            );
        }
    }
}

/// A source or a sink.
struct App {
    lines: Vec<(&'static str, String)>,
}

/// Writes sources and sinks, and the priorities of flows.
fn apps(scenario: &Scenario, names: &[String], text: &mut String) {
    let mut apps: BTreeMap<NodeId, Vec<App>> = BTreeMap::new();
    let mut streams: BTreeMap<NodeId, Vec<(usize, &Flow)>> = BTreeMap::new();
    let mut port = FIRST_PORT;
    for flow in &scenario.flows {
        for listener in &flow.listeners {
            let to = &names[listener.index()];
            let label = format!("\"{}\"", flow.name.replace(['"', '\\'], "'"));
            let mut source = vec![
                ("typename", "\"UdpSourceApp\"".to_owned()),
                ("display-name", label.clone()),
                ("io.destAddress", format!("\"{to}\"")),
                ("io.destPort", port.to_string()),
                ("source.packetLength", format!("{}B", flow.payload.get())),
            ];
            source.extend(times(flow));
            apps.entry(flow.talker).or_default().push(App { lines: source });
            let sink = vec![
                ("typename", "\"UdpSinkApp\"".to_owned()),
                ("display-name", label),
                ("io.localPort", port.to_string()),
            ];
            apps.entry(*listener).or_default().push(App { lines: sink });
            if flow.tag.is_some() {
                streams.entry(flow.talker).or_default().push((port, flow));
            }
            port += 1;
        }
    }
    for (node, own) in &apps {
        let name = &names[node.index()];
        _ = writeln!(text, "\n# {name}\n*.{name}.numApps = {}", own.len());
        for (number, app) in own.iter().enumerate() {
            for (key, value) in &app.lines {
                _ = writeln!(text, "*.{name}.app[{number}].{key} = {value}");
            }
        }
        if let Some(own) = streams.get(node) {
            let known = own.iter().map(|(port, _)| {
                format!("{{stream: \"s{port}\", packetFilter: expr(udp.destPort == {port})}}")
            });
            let known: Vec<String> = known.collect();
            let coded = own.iter().map(|(port, flow)| {
                let pcp = flow.tag.map_or(0, |tag| tag.pcp.get());
                format!("{{stream: \"s{port}\", pcp: {pcp}}}")
            });
            let coded: Vec<String> = coded.collect();
            let bridging = format!("*.{name}.bridging");
            _ = writeln!(
                text,
                "*.{name}.hasOutgoingStreams = true\n\
                 {bridging}.streamIdentifier.identifier.mapping = [{}]\n\
                 {bridging}.streamCoder.encoder.mapping = [{}]",
                known.join(", "),
                coded.join(", ")
            );
        }
    }
}

/// Returns when a source sends.
fn times(flow: &Flow) -> Vec<(&'static str, String)> {
    let interval = "source.productionInterval";
    let offset = "source.initialProductionOffset";
    let mean = |least: Duration, mean: Duration| {
        let more = (mean - least).max(Duration::ZERO);
        match more {
            Duration::ZERO => span(least),
            more => format!("{} + exponential({})", span(least), span(more)),
        }
    };
    let start = span(flow.start);
    match flow.traffic {
        Traffic::Periodic { period, phase, .. } => {
            let first = match phase {
                Phase::Fixed(phase) => span(flow.start + phase),
                Phase::Random => format!("{start} + uniform(0s, {})", span(period)),
            };
            vec![(interval, span(period)), (offset, first)]
        }
        Traffic::Flood { interval: own } => vec![(interval, span(own)), (offset, start)],
        Traffic::Sporadic { min_gap, mean_gap, .. } => {
            vec![(interval, mean(min_gap, mean_gap)), (offset, start)]
        }
        Traffic::Poisson { mean_interval } => {
            let gap = format!("exponential({})", span(mean_interval));
            vec![(interval, gap), (offset, start)]
        }
        // Refused.
        Traffic::Adaptive { .. } | Traffic::Bulk(_) => Vec::new(),
    }
}

fn notes(scenario: &Scenario) -> Vec<String> {
    let network = &scenario.network;
    let nodes = |is: &dyn Fn(&NodeKind) -> bool| -> Vec<String> {
        let found = network.nodes.iter().filter(|node| is(&node.kind));
        found.map(|node| node.name.clone()).collect()
    };
    let flows = |is: &dyn Fn(&Flow) -> bool| -> Vec<String> {
        let found = scenario.flows.iter().filter(|flow| is(flow));
        found.map(|flow| flow.name.clone()).collect()
    };
    let stacks = nodes(
        &|kind| matches!(kind, NodeKind::EndStation(station) if !matches!(station.stack, Stack::Zero)),
    );
    let latencies = nodes(
        &|kind| matches!(kind, NodeKind::Switch(switch) if switch.latency + switch.unknown_latency > Duration::ZERO),
    );
    let late = flows(&|flow| {
        matches!(flow.traffic, Traffic::Periodic { release_jitter, .. }
            if release_jitter > Duration::ZERO)
    });
    let lines = [
        (stacks, "the stacks of INET take no time: their costs are left out"),
        (latencies, "switches of INET take no time: their latency is left out"),
        (late, "sources of INET keep to their period: jitter is left out"),
        (
            flows(&|flow| flow.tag.is_some_and(|tag| tag.vid.get() > 0)),
            "they have their priority, and no VLAN",
        ),
    ];
    let lines = lines.into_iter();
    lines.filter_map(|(names, why)| Some(format!("{}: {why}", few(&names)?))).collect()
}

/// Returns all that is not exported.
fn reasons(scenario: &Scenario) -> Vec<String> {
    let network = &scenario.network;
    let mut reasons = Vec::new();
    let mut refuse = |names: Vec<String>, why: &str| {
        reasons.extend(few(&names).map(|names| format!("{names}: {why}")));
    };
    let nodes = |is: &dyn Fn(&NodeKind) -> bool| -> Vec<String> {
        let found = network.nodes.iter().filter(|node| is(&node.kind));
        found.map(|node| node.name.clone()).collect()
    };
    let is_more = |station: &EndStation| {
        station.layer.is_some()
            || station.tasks.is_some()
            || station.arp.is_some()
            || station.by_deadline
    };
    refuse(nodes(&|kind| matches!(kind, NodeKind::Hub(_))), "hubs are not exported");
    refuse(
        nodes(&|kind| matches!(kind, NodeKind::EndStation(station) if is_more(station))),
        "stations with tasks, queues or address resolution are not exported; try `--without-stacks`",
    );
    refuse(
        nodes(
            &|kind| matches!(kind, NodeKind::EndStation(station) if station.redundancy.is_some()),
        ),
        "stations in two networks are not exported",
    );
    refuse(
        nodes(&|kind| matches!(kind, NodeKind::Switch(switch) if !is_plain(switch))),
        "switches are exported that store and forward, are in no VLAN, have no rules or mirror, and \
         send by `fcfs`, `strict` or `cbs`, the same at all ports",
    );
    let half = network.links.iter().filter(|link| link.duplex != Duplex::Full);
    let half = half.map(|link| network.node(link.ends[0].node).name.clone());
    refuse(half.collect(), "links at half duplex are not exported");
    let flows = |is: &dyn Fn(&Flow) -> bool| -> Vec<String> {
        let found = scenario.flows.iter().filter(|flow| is(flow));
        found.map(|flow| flow.name.clone()).collect()
    };
    refuse(
        flows(&|flow| {
            flow.encapsulation != Encapsulation::Udp
                || flow.delivery == Delivery::Multicast
                || flow.reply.is_some()
                || flow.gap.is_some()
                || flow.stop.is_some()
                || !flow.routes.is_empty()
        }),
        "flows over UDP to single listeners are exported, without answer, gap, route and end",
    );
    refuse(
        flows(&|flow| {
            matches!(flow.traffic, Traffic::Adaptive { .. } | Traffic::Bulk(_))
                || matches!(flow.traffic, Traffic::Sporadic { burst, .. } if burst > 1)
        }),
        "a source of INET sends one packet at a time; try `--without-flows`",
    );
    reasons
}

fn is_plain(switch: &Switch) -> bool {
    let mut ports = switch.ports.iter();
    switch.router.is_none()
        && switch.mirror.is_none()
        && !switch.has_ingress()
        && switch.mode == ForwardingMode::StoreAndForward
        && ports.all(|port| port.vlan == PortVlan::Transparent && port.selection.is_none())
        && switch.plan().needs_only(&[Feature::Queues, Feature::Credits])
}
