//! Links and switches by the kernel: veth, bridge, HTB.
//!
//! HTB shapes each sending port to the rate of its link. It counts preamble, gap and FCS (`overhead
//! 24`) and the shortest frame (`mpu 84`), so that frames are spaced as on a wire. Its classes are
//! the queues of a port in strict priority: each is guaranteed almost nothing and borrows the rest.
//! Queues hold as many octets as in the model.

use rtether_live::link::MacAddress;
use rtether_live::namespace::CommandLine;
use rtether_model::network::{Link, Network, NodeKind, Pcp, PortId, QueueMap, Switch};
use rtether_model::quantity::BitRate;

use super::{DEVICE, Host, namespace_of};

/// Minor number of the first queue's class.
const CLASS: u32 = 0x10;
/// Offset at which a socket filter reads the tag of a frame (`SKF_AD_OFF + SKF_AD_VLAN_TAG`).
const TAG: u32 = 0xFFFF_F000 + 44;

/// Appends the commands that create bridges, links and queues.
pub(super) fn links(network: &Network, tag: &str, hosts: &[Host], commands: &mut Vec<CommandLine>) {
    for (id, node) in network.iter_nodes() {
        if let NodeKind::Switch(_) = node.kind {
            let name = super::namespace_of(tag, id);
            // STP is off: the only loops are those of standby links, which are not created.
            commands.push(CommandLine::words(&format!(
                "ip -n {name} link add bridge0 type bridge stp_state 0 mcast_snooping 0 forward_delay 0"
            )));
            commands.push(CommandLine::words(&format!(
                "ip -n {name} link set bridge0 addrgenmode none up"
            )));
        }
    }
    for link in network.links.iter().filter(|link| !link.standby) {
        let ends = link.ends.map(|port| device_of(network, tag, hosts, port));
        let device = |(namespace, device, mac): &(String, String, Option<_>)| {
            let address = mac.map_or_else(String::new, |mac| format!(" address {mac}"));
            format!("{device} netns {namespace}{address}")
        };
        commands.push(CommandLine::words(&format!(
            "ip link add {} type veth peer name {}",
            device(&ends[0]),
            device(&ends[1])
        )));
        for (port, (namespace, device, _)) in link.ends.iter().zip(&ends) {
            if network.switch(port.node).is_some() {
                commands.push(CommandLine::words(&format!(
                    "ip -n {namespace} link set {device} addrgenmode none master bridge0 up"
                )));
            }
            commands.extend(queues(network, link, *port, namespace, device));
        }
    }
}

/// Returns the commands that give a sending port its rate and queues.
fn queues(
    network: &Network,
    link: &Link,
    port: PortId,
    namespace: &str,
    device: &str,
) -> Vec<CommandLine> {
    let (map, limit) = match &network.node(port.node).kind {
        NodeKind::Switch(switch) => (queue_map(switch), switch.buffer.per_port.get()),
        NodeKind::EndStation(station) => (None, station.driver_queue.get()),
        NodeKind::Hub(_) => (None, 0),
    };
    let rate = rate(link.rate);
    let tc = |text: String| CommandLine::words(&format!("tc -n {namespace} {text}"));
    // A bucket of one frame: the next leaves once this one is through.
    let shape = "burst 1600 cburst 1600 overhead 24 mpu 84 quantum 1600";
    let count = map.map_or(1, QueueMap::count);
    let lowest = CLASS + u32::from(map.map_or(0, |map| map.queue_of(Pcp::default())));
    let mut commands = vec![
        tc(format!("qdisc add dev {device} root handle 1: htb default {lowest:x}")),
        tc(format!("class add dev {device} parent 1: classid 1:1 htb rate {rate} {shape}")),
    ];
    for queue in 0..count {
        let minor = CLASS + u32::from(queue);
        let priority = count - 1 - queue;
        commands.push(tc(format!(
            "class add dev {device} parent 1:1 classid 1:{minor:x} htb rate 8kbit ceil {rate} \
             {shape} prio {priority}"
        )));
        commands.push(tc(format!(
            "qdisc add dev {device} parent 1:{minor:x} handle {minor:x}: bfifo limit {limit}"
        )));
    }
    if let Some(map) = map {
        let filter = tc(format!("filter add dev {device} parent 1: protocol all bpf bytecode"));
        commands.push(filter.argument(bytecode(map)));
    }
    commands
}

/// Returns the queue map of a port with strict-priority queues.
fn queue_map(switch: &Switch) -> Option<QueueMap> {
    (switch.plan().queues() > 1).then_some(switch.queues)
}

fn rate(rate: BitRate) -> String {
    format!("{}bit", rate.as_bps())
}

/// Returns a classic filter program that maps the PCP of a frame to a class.
///
/// `A` is the tag control information, 0 without a tag; its upper three bits are the PCP. The
/// result of the program is the class.
fn bytecode(map: QueueMap) -> String {
    const LOAD: u16 = 0x20;
    const SHIFT_RIGHT: u16 = 0x74;
    const JUMP_IF_EQUAL: u16 = 0x15;
    const RETURN: u16 = 0x06;
    let mut program = vec![(LOAD, 0, 0, TAG), (SHIFT_RIGHT, 0, 0, 13)];
    for pcp in 0..8 {
        let queue = Pcp::new(pcp).map_or(0, |pcp| map.queue_of(pcp));
        let class = 1 << 16 | (CLASS + u32::from(queue));
        program.push((JUMP_IF_EQUAL, 0, 1, u32::from(pcp)));
        program.push((RETURN, 0, 0, class));
    }
    // Unreachable, since three bits have no other value; but a program must end with a return.
    program.push((RETURN, 0, 0, 0));
    let steps = program.iter();
    let steps = steps.map(|(code, yes, no, k)| format!("{code} {yes} {no} {k}"));
    let steps: Vec<String> = steps.collect();
    format!("{},{}", steps.len(), steps.join(","))
}

/// Returns namespace and device of a port and, for a host, its address.
fn device_of(
    network: &Network,
    tag: &str,
    hosts: &[Host],
    port: PortId,
) -> (String, String, Option<MacAddress>) {
    let namespace = namespace_of(tag, port.node);
    match network.node(port.node).kind {
        NodeKind::EndStation(_) => {
            let host = hosts.iter().find(|host| host.node == port.node);
            (namespace, DEVICE.to_owned(), host.map(|host| host.mac))
        }
        NodeKind::Switch(_) | NodeKind::Hub(_) => (namespace, format!("p{}", port.port), None),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Oracle: the semantics of classic filter programs (Documentation/networking/filter.rst),
    /// interpreted in the test.
    #[test]
    fn the_program_finds_the_class_of_each_priority() {
        let map = QueueMap::standard(4).unwrap();
        let text = bytecode(map);
        let mut parts = text.split(',');
        assert_eq!(parts.next().unwrap(), "19");
        let program: Vec<[u32; 4]> = parts
            .map(|step| {
                let numbers = step.split(' ').map(|n| n.parse().unwrap());
                numbers.collect::<Vec<u32>>().try_into().unwrap()
            })
            .collect();
        for tci in [0u32, 0x2001, 0x4005, 0x6FFF, 0x8000, 0xA00A, 0xCFFE, 0xE000] {
            let (mut at, mut a) = (0, 0);
            let class = loop {
                let [code, yes, no, k] = program[at];
                at += 1;
                match code {
                    0x20 => a = tci,
                    0x74 => a >>= k,
                    0x15 => at += if a == k { yes } else { no } as usize,
                    _ => break k,
                }
            };
            let pcp = Pcp::new(u8::try_from(tci >> 13).unwrap()).unwrap();
            assert_eq!(class, 0x1_0010 + u32::from(map.queue_of(pcp)), "{tci:x}");
        }
    }
}
