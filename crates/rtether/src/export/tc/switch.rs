//! A switch, as a bridge.

use std::fmt::Write;

use rtether_model::network::{
    AddressTable, MulticastForwarding, NodeId, PortId, PortVlan, Switch, TagHandling,
};

use rtether_model::quantity::Bytes;

use super::port::{Limits, Queues};
use super::{Plant, Script};

/// Returns the script of a switch.
pub(super) fn script(plant: &Plant<'_>, id: NodeId, switch: &Switch) -> String {
    let source = format!("switches.{}", plant.network().node(id).name);
    let ports: Vec<u16> = linked(plant, id, switch);
    let mut devices = vec![("BRIDGE".to_owned(), "br0".to_owned(), "the bridge".to_owned())];
    devices.extend(ports.iter().map(|port| {
        let to = plant.link(PortId { node: id, port: *port });
        let to = to.map_or("", |(_, other)| other);
        let number = port + 1;
        (format!("P{number}"), format!("eth{number}"), format!("port {number}, to {to}"))
    }));
    let mut script = Script::new(plant, id, "a switch, as a bridge of Linux", &devices);
    bridge(&mut script, &source, switch);
    script.say("links: the ports");
    for port in &ports {
        script.run(&format!("ip link set dev \"$P{}\" master \"$BRIDGE\" up", port + 1));
    }
    script.run("ip link set dev \"$BRIDGE\" up");
    for &port in &ports {
        let at = PortId { node: id, port };
        let device = format!("\"$P{}\"", port + 1);
        plant.speed(&mut script, &device, at);
        vlans(&mut script, &source, switch, port);
        priorities(&mut script, &source, switch, port);
        queues(plant, &mut script, &source, switch, at);
    }
    script.0
}

/// Returns the ports with a link.
fn linked(plant: &Plant<'_>, id: NodeId, switch: &Switch) -> Vec<u16> {
    let count = u16::try_from(switch.ports.len()).unwrap_or(u16::MAX);
    let is_linked = |&port: &u16| plant.link(PortId { node: id, port }).is_some();
    (0..count).filter(is_linked).collect()
}

fn has_vlans(switch: &Switch) -> bool {
    let mut ports = switch.ports.iter();
    ports.any(|port| port.vlan != PortVlan::Transparent)
}

fn bridge(script: &mut Script, source: &str, switch: &Switch) {
    let (snooping, word) = match switch.multicast {
        MulticastForwarding::Managed => (1, "managed, which Linux does for groups of IP only"),
        MulticastForwarding::Unmanaged => (0, "unmanaged"),
    };
    let mut line = format!("ip link set dev \"$BRIDGE\" type bridge mcast_snooping {snooping}");
    script.say(&format!("{source}.multicast: {word}"));
    if let AddressTable::Learning { aging } = switch.addresses {
        script.also(&format!("{source}.aging: {aging}, in hundredths of a second"));
        let hundredths = aging.as_ns_floor() / 10_000_000;
        _ = write!(line, " ageing_time {hundredths}");
    }
    if has_vlans(switch) {
        script.also(&format!("{source}.port_settings: VLANs"));
        line.push_str(" vlan_filtering 1 vlan_default_pvid 0");
    }
    script.add("$BRIDGE", "name \"$BRIDGE\" type bridge");
    script.run(&line);
}

fn vlans(script: &mut Script, source: &str, switch: &Switch, port: u16) {
    let number = port + 1;
    if !has_vlans(switch) {
        return;
    }
    let mut add = |what: &str| {
        script.run(&format!("bridge vlan add dev \"$P{number}\" {what}"));
    };
    let Some(settings) = switch.ports.get(usize::from(port)) else {
        return;
    };
    match &settings.vlan {
        PortVlan::Transparent => {
            add("vid 1-4094");
            add("vid 1 pvid untagged");
        }
        PortVlan::Access(vid) => add(&format!("vid {} pvid untagged", vid.get())),
        PortVlan::Trunk { allowed, native } => {
            match allowed {
                None => add("vid 1-4094"),
                Some(all) => {
                    for vid in all.iter().filter(|&vid| Some(*vid) != *native) {
                        add(&format!("vid {}", vid.get()));
                    }
                }
            }
            if let Some(vid) = native {
                add(&format!("vid {} pvid untagged", vid.get()));
            }
        }
    }
    let what = format!("{source}.port_settings.{number}: the VLANs above");
    script.also(&what);
}

/// Writes which priority frames have that arrive: a bridge does not look at tags by itself.
fn priorities(script: &mut Script, source: &str, switch: &Switch, port: u16) {
    let Some(settings) = switch.ports.get(usize::from(port)) else {
        return;
    };
    let number = port + 1;
    let default = settings.default_pcp.get();
    let strips = switch.tags == TagHandling::Strip;
    if switch.queues.count() == 1 && default == 0 && !strips {
        return;
    }
    script.say(&format!(
        "{source}.pcp_map: the priority of a tag, which a bridge does not look at by itself"
    ));
    let add = format!("tc filter add dev \"$P{number}\" ingress");
    script.run(&format!("tc qdisc replace dev \"$P{number}\" clsact"));
    // A filter that is there is not taken again.
    let remove = |pref: u8| {
        format!("tc filter del dev \"$P{number}\" ingress pref {pref} 2> /dev/null || :")
    };
    script.run(&remove(1));
    script.run(&remove(9));
    // Linux takes a frame for one of priority 0 if nothing else is said.
    let first = u8::from(default == 0 && !strips);
    let pop = if strips { " pipe action vlan pop" } else { "" };
    for pcp in first..8 {
        script.run(&format!(
            "{add} protocol 802.1Q pref 1 flower vlan_prio {pcp} action skbedit priority {pcp}{pop}"
        ));
    }
    if strips {
        script.also(&format!("{source}.tags: strip, the `vlan pop` above"));
    }
    if default > 0 {
        script.say(&format!("{source}.port_settings.{number}.default_pcp: frames without a tag"));
        let push = match settings.vlan.vid_of_untagged() {
            Some(vid) if has_vlans(switch) => {
                format!(" pipe action vlan push id {} priority {default}", vid.get())
            }
            _ => String::new(),
        };
        script.run(&format!(
            "{add} protocol all pref 9 matchall action skbedit priority {default}{push}"
        ));
    }
}

fn queues(plant: &Plant<'_>, script: &mut Script, source: &str, switch: &Switch, port: PortId) {
    let Some((rate, _)) = plant.link(port) else {
        return;
    };
    let limits = match switch.thresholds_at(port.port) {
        Some(octets) => Limits::Octets(octets.map(Bytes::get), "thresholds"),
        None => Limits::Octets([switch.buffer.per_port.get(); 8], "buffer"),
    };
    let own = switch.ports.get(usize::from(port.port));
    let source = match own.and_then(|own| own.selection) {
        Some(_) => format!("{source}.port_settings.{}", port.port + 1),
        None => source.to_owned(),
    };
    let queues = Queues {
        device: &format!("\"$P{}\"", port.port + 1),
        source: &source,
        port,
        rate,
        map: switch.queues,
        plan: switch.plan_at(port.port),
        limits: &limits,
    };
    queues.write(plant, script);
}
