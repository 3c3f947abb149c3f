//! The commands that create and remove a test bed.

use std::collections::BTreeSet;

use rtether_live::filter;
use rtether_live::namespace::{CommandLine, PREFIX};
use rtether_model::network::{NodeId, NodeKind};
use rtether_model::wire::Encapsulation;

use super::{Backend, DEVICE, Host, NAMES, Plan, Step, kernel, layers, namespace_of};
use rtether::scenario::Scenario;

/// Parses formatted text into a command.
pub(super) fn command(text: &str) -> CommandLine {
    CommandLine::words(text)
}

pub(super) fn plan(scenario: &Scenario, backend: Backend, tag: &str, hosts: Vec<Host>) -> Plan {
    let network = &scenario.network;
    let mut set_up = Vec::new();
    let mut namespaces: Vec<String> = hosts.iter().map(|host| host.namespace.clone()).collect();
    let emulator = match backend {
        // Nothing is created between real hosts; they have a plan of their own.
        Backend::Kernel | Backend::Ssh => {
            let switches = network.iter_nodes();
            let switches = switches.filter(|(_, node)| matches!(node.kind, NodeKind::Switch(_)));
            namespaces.extend(switches.map(|(id, _)| namespace_of(tag, id)));
            None
        }
        Backend::Emulated => {
            let name = format!("{}-emulator", namespace_of(tag, NodeId(0)));
            namespaces.push(name.clone());
            let devices = (0..hosts.len()).map(|index| format!("s{index}"));
            Some((name, devices.collect::<Vec<_>>()))
        }
    };
    for name in &namespaces {
        set_up.push(command(&format!("ip netns add {name}")));
    }
    let shims = layers::settings(network, None).into_iter();
    let shims = shims.map(|(node, _)| namespace_of(tag, node)).collect();
    match &emulator {
        None => kernel::links(network, tag, &hosts, &mut set_up),
        Some((name, devices)) => {
            for (host, device) in hosts.iter().zip(devices) {
                set_up.push(command(&format!(
                    "ip link add {DEVICE} netns {} address {} type veth peer name {device} netns {name}",
                    host.namespace, host.mac
                )));
                set_up.push(command(&format!(
                    "ip -n {name} link set {device} addrgenmode none promisc on up"
                )));
            }
        }
    }
    for host in &hosts {
        set_up.extend(addresses(host));
    }
    set_up.extend(neighbors(scenario, &hosts));
    let mut set_up: Vec<Step> = set_up.into_iter().map(Step::Command).collect();
    set_up.extend(tags(scenario, tag, &hosts));
    let tear_down = namespaces.iter();
    let tear_down = tear_down.map(|name| command(&format!("ip netns delete {name}")));
    Plan { backend, set_up, tear_down: tear_down.collect(), hosts, emulator, shims }
}

/// Without IPv6 addresses a host sends nothing that is not in the scenario.
fn addresses(host: &Host) -> [CommandLine; 5] {
    let Host { namespace, ip, .. } = host;
    [
        format!("ip -n {namespace} link set lo up"),
        format!("ip -n {namespace} link set {DEVICE} addrgenmode none"),
        format!("ip -n {namespace} address add {ip}/24 dev {DEVICE}"),
        format!("ip -n {namespace} link set {DEVICE} up"),
        format!("ip -n {namespace} route add 239.77.0.0/24 dev {DEVICE}"),
    ]
    .map(|text| command(&text))
}

/// Static neighbor entries for all pairs that communicate, so that there is no ARP traffic.
fn neighbors(scenario: &Scenario, hosts: &[Host]) -> Vec<CommandLine> {
    let mut pairs = BTreeSet::new();
    for flow in &scenario.flows {
        for &listener in &flow.listeners {
            pairs.insert((flow.talker, listener));
            pairs.insert((listener, flow.talker));
        }
    }
    let host = |node: NodeId| hosts.iter().find(|host| host.node == node);
    let known = pairs.into_iter().filter_map(|(from, to)| Some((host(from)?, host(to)?)));
    let commands = known.filter(|(from, to)| from.node != to.node).map(|(from, to)| {
        command(&format!(
            "ip -n {} neighbor add {} lladdr {} dev {DEVICE} nud permanent",
            from.namespace, to.ip, to.mac
        ))
    });
    commands.collect()
}

/// Where the tag filters are pinned while the test bed is set up.
pub(super) const RUN: &str = "/run";

/// Returns the steps that push and pop the tags of UDP flows, if there are any.
///
/// Once attached, the filters stay without their files, so the files are removed before the run.
fn tags(scenario: &Scenario, tag: &str, hosts: &[Host]) -> Vec<Step> {
    let mut nodes = BTreeSet::new();
    for flow in &scenario.flows {
        let is_ip = matches!(flow.encapsulation, Encapsulation::Udp | Encapsulation::Tcp);
        if flow.tag.is_some() && is_ip {
            nodes.insert(flow.talker);
            nodes.extend(&flow.listeners);
        }
    }
    if nodes.is_empty() {
        return Vec::new();
    }
    let folder = format!("{RUN}/{PREFIX}{NAMES}{tag}");
    let step = |text: String| Step::Command(command(&text));
    let mut steps = vec![
        step(format!("mkdir {folder}")),
        step(format!("mount -t bpf none {folder}")),
        Step::Pin(folder.clone().into()),
    ];
    for host in hosts.iter().filter(|host| nodes.contains(&host.node)) {
        let name = &host.namespace;
        let add = format!("tc -n {name} filter add dev {DEVICE}");
        steps.push(step(format!("tc -n {name} qdisc add dev {DEVICE} clsact")));
        // A shim sits between them: it sees the tags of both directions.
        for (way, order, program) in [("egress", 1, filter::PUSH), ("ingress", 65_000, filter::POP)]
        {
            steps.push(step(format!(
                "{add} {way} pref {order} bpf direct-action object-pinned {folder}/{program}"
            )));
        }
    }
    steps.push(step(format!("umount {folder}")));
    steps.push(step(format!("rmdir {folder}")));
    steps
}
