//! What a test bed does not support: reported before anything is created, all at once, each with a
//! remedy.

use rtether_live::station::mark::Mark;
use rtether_model::flow::{Delivery, Flow, Traffic};
use rtether_model::network::{
    EndStation, Feature, ForwardingMode, Network, NodeId, NodeKind, Pcp, PortVlan, Switch,
};
use rtether_model::quantity::Duration;
use rtether_model::route::Routing;
use rtether_model::wire::{Encapsulation, RtpsVersion};
use rtether_sim::emulation::{Emulation, Setup};

use super::{Backend, STATIONS_MAX, layers};
use rtether::scenario::Scenario;

/// Returns every reason, in the order of nodes, links and flows.
pub(super) fn reasons(scenario: &Scenario, backend: Backend) -> Vec<String> {
    let network = &scenario.network;
    let mut reasons = Vec::new();
    let stations = network.nodes.iter();
    let count = stations.filter(|node| matches!(node.kind, NodeKind::EndStation(_))).count();
    if count > STATIONS_MAX {
        reasons.push(format!(
            "{count} end stations are more than the {STATIONS_MAX} that one host takes"
        ));
    }
    if network.admission.is_some() && backend != Backend::Emulated {
        let why = "`admission` lets stations ask for channels, which hosts do not do; simulate it";
        reasons.push(why.into());
    }
    for (id, node) in network.iter_nodes() {
        let found = match &node.kind {
            NodeKind::EndStation(station) if station.redundancy.is_some() => {
                Some("has `redundancy`, which test beds do not play; simulate it".into())
            }
            NodeKind::EndStation(station) => of_station(scenario, id, station, backend),
            NodeKind::Switch(switch) if backend == Backend::Kernel => {
                of_kernel_switch(switch).map(str::to_owned)
            }
            NodeKind::Switch(_) => None,
            NodeKind::Hub(_) if backend == Backend::Kernel => {
                Some("is a hub, which the kernel does not have; use `--backend emulated`".into())
            }
            NodeKind::Hub(_) if network.access.iter().any(|own| own.hub == id) => {
                Some("has an `access` scheme, which test beds do not play; simulate it".into())
            }
            NodeKind::Hub(_) => None,
        };
        reasons.extend(found.map(|why| format!("`{}` {why}", node.name)));
    }
    match backend {
        Backend::Kernel => {
            reasons.extend(of_kernel_links(network));
            reasons.extend(of_kernel_loop(network));
        }
        Backend::Emulated => {
            let setup = Setup { groups: &scenario.flows, ..Setup::new(network, scenario.run.seed) };
            let obstacle = Emulation::new(&setup).err();
            reasons.extend(obstacle.map(|error| error.to_string()));
        }
        // Links and switches are real.
        Backend::Ssh => {}
    }
    let streams: usize = scenario.flows.iter().map(|flow| flow.listeners.len()).sum();
    if streams > Mark::STREAMS {
        reasons.push(format!("{streams} streams are more than {}", Mark::STREAMS));
    }
    for flow in &scenario.flows {
        reasons.extend(of_flow(flow).map(|why| format!("flow `{}` {why}", flow.name)));
    }
    reasons
}

fn of_station(
    scenario: &Scenario,
    id: NodeId,
    station: &EndStation,
    backend: Backend,
) -> Option<String> {
    let is_end = |flow: &&Flow| flow.talker == id || flow.listeners.contains(&id);
    let mut own = scenario.flows.iter().filter(is_end);
    let has_fragments = own.clone().any(Flow::is_fragmented);
    let is_published = own.clone().any(Flow::is_published);
    let has_tcp = own.any(|flow| flow.encapsulation == Encapsulation::Tcp);
    let why = if station.emulate && backend != Backend::Emulated {
        Some(
            "has `emulate: true`, and there is no emulated network below it; use `--backend \
             emulated`, or leave the stack to this host with `--set` and `emulate=false`",
        )
    } else if station.emulate && station.tasks.is_some() && has_tcp {
        Some(
            "has `emulate: true`, tasks, and flows over TCP, whose segments do not tell messages \
             from files; remove the tasks with `--set`, or simulate",
        )
    } else if station.emulate && station.tasks.is_some() && has_fragments {
        Some(
            "has `emulate: true`, tasks, and flows with datagrams above one frame, whose fragments \
             would each take a task its time; remove the tasks with `--set`, or simulate",
        )
    } else if station.emulate && station.tasks.is_some() && is_published {
        Some(
            "has `emulate: true`, tasks, and flows over RTPS, whose acknowledgements and announcements would \
             each take a task its time; remove the tasks with `--set`, or simulate",
        )
    } else if station.tasks.is_some() && !station.emulate {
        Some(
            "has tasks, which this host does not run; use `--backend emulated` and write \
             `emulate: true` there, or remove them with `--set`",
        )
    } else if station.by_deadline {
        Some(
            "selects by deadline, which no host here does; remove its `selection: edf` with `--set`, \
             or simulate",
        )
    } else if station.layer.is_some() && backend == Backend::Ssh {
        Some(
            "has priority queues or a smoother; have `rtether shim up` run on that host, and \
             remove them here with `--set`",
        )
    } else {
        return layers::refusal(&scenario.network, id, station);
    };
    why.map(str::to_owned)
}

fn of_kernel_switch(switch: &Switch) -> Option<&'static str> {
    let is_plain = |vlan: &PortVlan| *vlan == PortVlan::Transparent;
    if switch.mode == ForwardingMode::CutThrough {
        Some("is cut-through, a bridge of the kernel stores frames; use `--backend emulated`")
    } else if !switch.plan().needs_only(&[Feature::Queues]) {
        Some("has a selection other than fcfs and strict priority; use `--backend emulated`")
    } else if switch.plans().any(|plan| plan != switch.plan()) {
        Some("has ports with a selection of their own; use `--backend emulated`")
    } else if switch.ports.iter().any(|port| !is_plain(&port.vlan)) {
        Some("has VLANs, which bridges of this kind do not filter; use `--backend emulated`")
    } else if switch.ports.iter().any(|port| port.default_pcp != Pcp::default()) {
        Some("gives priorities to untagged frames; use `--backend emulated`")
    } else if switch.router.is_some() {
        Some("is a router; use `--backend emulated`")
    } else if switch.mirror.is_some() {
        Some("has a mirror port; use `--backend emulated`")
    } else if (0..).zip(&switch.ports).any(|(port, _)| switch.thresholds_at(port).is_some()) {
        Some("has thresholds for its queues; use `--backend emulated`")
    } else if switch.has_ingress() {
        Some("marks or polices frames that arrive (`ingress`); use `--backend emulated`")
    } else if switch.tags == rtether_model::network::TagHandling::Strip {
        Some("takes tags off, a bridge of the kernel keeps them; use `--backend emulated`")
    } else {
        None
    }
}

fn of_kernel_links(network: &Network) -> Vec<String> {
    let name = |index: usize| {
        let ends = network.links[index].ends;
        let [a, b] = ends.map(|end| network.node(end.node).name.as_str());
        format!("link {a} to {b}")
    };
    let mut reasons = Vec::new();
    for (index, link) in network.links.iter().enumerate() {
        if link.errors_per_billion > 0 {
            let link = name(index);
            reasons.push(format!("{link} has bit errors; use `--backend emulated`"));
        }
        // A link to a hub is refused together with the hub.
        let joins_hub = link.ends.iter().any(|end| network.hub(end.node).is_some());
        if network.is_half_duplex(link) && !joins_hub {
            let link = name(index);
            reasons.push(format!("{link} is half-duplex; use `--backend emulated`"));
        }
    }
    reasons
}

/// Returns why bridges of the kernel cannot be joined in a loop: they learn, and flood what they do
/// not know.
fn of_kernel_loop(network: &Network) -> Option<String> {
    let links = Routing::new(network).find_loop(network)?;
    let switch = network.links[links.first()?.index()].ends[0].node;
    let name = &network.node(switch).name;
    Some(format!(
        "`{name}` is part of a loop, in which bridges of the kernel would flood for ever and follow no \
         `route`; put links on standby until one way is left, or simulate"
    ))
}

/// Returns how an echo flow differs from the kernel's own ICMP echo replies.
fn of_echo(flow: &Flow) -> Option<String> {
    let size = flow.payload.get();
    let Some(reply) = flow.reply else {
        return Some(format!(
            "which the kernel of the listener answers; write `reply: {{ size: {size} B }}`"
        ));
    };
    if reply.payload != flow.payload {
        Some(format!(
            "whose answer holds what the request does; write `reply: {{ size: {size} B }}`"
        ))
    } else if reply.after > Duration::ZERO {
        Some("which the kernel answers at once; leave out `after`".into())
    } else if reply.scan.is_some() {
        Some("which the kernel answers at once; leave out `scan`".into())
    } else if flow.tag.is_some() {
        Some("which the kernel answers without a tag; leave out `pcp` and `vlan`".into())
    } else if flow.delivery == Delivery::Multicast {
        Some("which the kernel does not answer to a group; write `delivery: unicast`".into())
    } else {
        None
    }
}

fn of_flow(flow: &Flow) -> Option<String> {
    let least = Mark::SIZE as u64;
    let answer = flow.reply.map_or(least, |reply| reply.payload.get());
    if matches!(flow.traffic, Traffic::Bulk(_)) {
        None
    } else if flow.gap.is_some() {
        Some("has a `gap`, which hosts do not keep; simulate it".into())
    } else if flow.encapsulation == Encapsulation::Icmp
        && let Some(why) = of_echo(flow)
    {
        Some(format!("is ICMP, {why}"))
    } else if matches!(flow.encapsulation, Encapsulation::Rtps { version: RtpsVersion::V1_0, .. }) {
        Some(
            "is published over RTPS 1.0, which is simulated here; to measure it, run `rtether manager` and \
             `rtether pub --rtps 1.0`, or write `over: rtps`"
                .into(),
        )
    } else if flow.is_published() && flow.tag.is_some() {
        Some(
            "is published over RTPS with a tag, which a participant leaves to the network; write `dscp` in \
             place of `pcp` and `vlan`"
                .into(),
        )
    } else if flow.payload.get().min(answer) < least {
        Some(format!(
            "has packets of less than {least} B, which what is measured with them needs; write \
             at least that"
        ))
    } else {
        None
    }
}
