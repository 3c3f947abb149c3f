//! A station.

use std::collections::{BTreeMap, BTreeSet};

use rtether_model::flow::Flow;
use rtether_model::network::{
    EndStation, NodeId, Pcp, PortId, PortPlan, QueueMap, Redundancy, Selection,
};

use super::port::{Limits, Queues};
use super::{Plant, Script};

/// Returns the script of a station.
pub(super) fn script(plant: &Plant<'_>, id: NodeId, station: &EndStation) -> String {
    let name = &plant.network().node(id).name;
    let source = format!("nodes.{name}");
    let devices: Vec<(String, String, String)> = (0..station.ports())
        .map(|port| {
            let to = plant.link(PortId { node: id, port });
            let to = to.map_or_else(String::new, |(_, other)| format!(", to {other}"));
            (variable(station, port), format!("eth{port}"), format!("the interface{to}"))
        })
        .collect();
    let mut script = Script::new(plant, id, "a station", &devices);
    for port in 0..station.ports() {
        let at = PortId { node: id, port };
        let device = format!("\"${}\"", variable(station, port));
        script.say("links: the interface");
        script.run(&format!("ip link set dev {device} up"));
        plant.speed(&mut script, &device, at);
        queues(plant, &mut script, &source, station, at, &device);
    }
    let mut top = "DEV";
    if station.redundancy == Some(Redundancy::Prp) {
        script.say(&format!("{source}.redundancy: prp"));
        script.run("PRP=${PRP:-prp0}");
        let rest = "name \"$PRP\" type hsr slave1 \"$DEV1\" slave2 \"$DEV2\" proto 1";
        script.add("$PRP", rest);
        script.run("ip link set dev \"$PRP\" up");
        top = "PRP";
    }
    tags(plant, &mut script, id, top);
    script.0
}

fn variable(station: &EndStation, port: u16) -> String {
    match station.ports() {
        1 => "DEV".to_owned(),
        _ => format!("DEV{}", port + 1),
    }
}

fn queues(
    plant: &Plant<'_>,
    script: &mut Script,
    source: &str,
    station: &EndStation,
    port: PortId,
    device: &str,
) {
    let Some((rate, _)) = plant.link(port) else {
        return;
    };
    if station.by_deadline {
        return by_deadline(plant, script, source, port.node, device);
    }
    let transmit = station.layer.as_ref().and_then(|layer| {
        let own = layer.transmit.as_ref()?;
        Some((own, layer.table))
    });
    let one = QueueMap::ONE;
    let (map, plan, limits) = match transmit {
        None => {
            let octets = [station.driver_queue.get(); 8];
            (one, PortPlan::new(Selection::Fcfs, 1), Limits::Octets(octets, "driver_queue"))
        }
        Some((own, table)) => {
            let of = |pcp: u8| table.class_of(Pcp::new(pcp));
            let map = std::array::from_fn(|pcp| of(u8::try_from(pcp).unwrap_or(0)));
            let map = QueueMap::new(table.count(), map).unwrap_or(one);
            script.say(&format!("{source}.transmit_queues.ring: descriptors"));
            script.run(&format!("try ethtool -G {device} tx {}", own.ring_limit));
            let limits = Limits::Frames(own.queue_limits.clone(), "limit");
            match own.plan() {
                Some(plan) => (map, plan, limits),
                // Strategies without a plan are refused, but for one queue.
                None => (one, PortPlan::new(Selection::Fcfs, 1), limits),
            }
        }
    };
    let queues = Queues {
        device,
        source: &match transmit {
            None => source.to_owned(),
            Some(_) => format!("{source}.transmit_queues"),
        },
        port,
        rate,
        map,
        plan,
        limits: &limits,
    };
    queues.write(plant, script);
}

/// Returns the flows that a station sends.
fn own<'s>(plant: &Plant<'s>, id: NodeId) -> impl Iterator<Item = &'s Flow> {
    let flows = plant.scenario.flows.iter();
    flows.filter(move |flow| flow.talker == id)
}

/// Returns the priority that frames of a flow have in Linux.
fn priority(flow: &Flow) -> u8 {
    flow.tag.map_or(0, |tag| tag.pcp.get())
}

/// Writes a queue by deadline: `etf` in its deadline mode sends the earliest first, at once.
fn by_deadline(plant: &Plant<'_>, script: &mut Script, source: &str, id: NodeId, device: &str) {
    let urgent = own(plant, id).filter(|flow| flow.deadline.is_some());
    let urgent: BTreeSet<u8> = urgent.map(priority).collect();
    let bands: Vec<&str> =
        (0..16).map(|priority| if urgent.contains(&(priority & 7)) { "0" } else { "1" }).collect();
    script.say(&format!("{source}.selection: edf; frames without a deadline go last"));
    script
        .also("programs set SO_TXTIME, and give each frame its local deadline as time of sending");
    script.clear(device);
    script.run(&format!(
        "tc qdisc replace dev {device} root handle 1: prio bands 2 priomap {}",
        bands.join(" ")
    ));
    script.run(&format!(
        "tc qdisc replace dev {device} parent 1:1 handle 10: etf clockid CLOCK_TAI delta 0 \
         deadline_mode"
    ));
}

/// The kernel takes no longer name; the end of a device's tells it from others.
const SHORT: &str = "short() {
    name=$1
    while [ ${#name} -gt 15 ]; do name=${name#?}; done
    echo \"$name\"
}";

/// Writes the devices of VLANs, whose frames have the priority that programs ask for.
fn tags(plant: &Plant<'_>, script: &mut Script, id: NodeId, top: &str) {
    let mut vlans: BTreeMap<u16, Vec<&str>> = BTreeMap::new();
    let mut asked: BTreeMap<u8, Vec<&str>> = BTreeMap::new();
    for flow in &plant.scenario.flows {
        let Some(tag) = flow.tag else { continue };
        if flow.talker == id || flow.listeners.contains(&id) {
            vlans.entry(tag.vid.get()).or_default().push(&flow.name);
        }
        if flow.talker == id {
            asked.entry(tag.pcp.get()).or_default().push(&flow.name);
        }
    }
    if !vlans.is_empty() {
        script.say("a name has at most 15 characters: the last ones");
        script.run(SHORT);
    }
    for (vid, flows) in vlans {
        script.say(&format!("flows: vlan {vid} of {}", list(&flows)));
        script.run(&format!("vlan=$(short \"${top}.{vid}\")"));
        let rest = format!(
            "link \"${top}\" name \"$vlan\" type vlan id {vid} egress-qos-map 0:0 1:1 2:2 3:3 4:4 5:5 6:6 \
             7:7"
        );
        script.add("$vlan", &rest);
        script.run("ip link set dev \"$vlan\" up");
    }
    if !asked.is_empty() {
        script.say("flows: pcp, which programs ask for with SO_PRIORITY");
        for (pcp, flows) in asked {
            script.also(&format!("  {pcp}: {}", list(&flows)));
        }
    }
}

/// Returns the first names, and how many follow.
fn list(flows: &[&str]) -> String {
    let shown: Vec<&str> = flows.iter().take(8).copied().collect();
    let rest = match flows.len().saturating_sub(8) {
        0 => String::new(),
        rest => format!(" and {rest} more"),
    };
    format!("{}{rest}", shown.join(", "))
}
