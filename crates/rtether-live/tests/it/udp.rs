//! Participants over UDP on hosts with several devices.

use std::net::Ipv4Addr;

use rtether_live::namespace::Namespace;
use rtether_live::rtps::{Domain, DomainOptions};
use rtether_rtps::time::Duration;

use crate::bed::inside;
use crate::wire::{FAR, NEAR, Wire};

/// Address of an unconnected device of the near host.
const ASIDE: Ipv4Addr = Ipv4Addr::new(10, 78, 0, 1);
const PATIENCE: Duration = Duration::from_s(20);

fn open(host: &Namespace, name: &str, interface: Ipv4Addr, peers: &[Ipv4Addr]) -> Domain {
    let options = DomainOptions {
        name: name.to_owned(),
        interface: Some(interface),
        peers: peers.to_vec(),
        announce_period: Some(Duration::from_ms(100)),
        ..DomainOptions::default()
    };
    inside(host, || Domain::open(&options).unwrap())
}

fn known(domain: &Domain) -> Vec<String> {
    let all = domain.participant().participants();
    let mut names: Vec<String> = all.map(|one| one.name.clone()).collect();
    names.sort();
    names
}

/// Oracle: the wiring of the hosts. The far host sends to the near one's other address and to the
/// group, and the kernel accepts both at the wire, the group because another participant joined it.
/// Participants on the other device find only each other.
#[test]
fn what_comes_over_another_device_is_counted_and_dropped() {
    let Some(wire) = Wire::new() else { return };
    for command in [
        "ip link add aside type veth peer name end",
        "ip link set end up",
        "ip address add 10.78.0.1/24 dev aside",
        "ip link set aside up",
        "ip link set lo up",
    ] {
        wire.near.run(command).unwrap();
    }
    wire.far.run(&format!("ip route add {ASIDE} via {NEAR}")).unwrap();
    let mut domains = [
        open(&wire.near, "aside", ASIDE, &[]),
        open(&wire.near, "aside, too", ASIDE, &[]),
        open(&wire.near, "near", NEAR, &[]),
        open(&wire.far, "far", FAR, &[ASIDE]),
    ];
    let end = domains[0].now() + PATIENCE;
    while domains[0].now() < end {
        for domain in &mut domains {
            let until = domain.now() + Duration::from_ms(1);
            domain.step(until).unwrap();
        }
        let is_found = known(&domains[0]) == ["aside, too"]
            && known(&domains[1]) == ["aside"]
            && known(&domains[2]) == ["far"];
        if is_found && domains[..2].iter().all(|one| one.elsewhere() >= 3) {
            break;
        }
    }
    let all: Vec<_> = domains.iter().map(known).collect();
    assert_eq!(all[0], ["aside, too"], "{all:?}");
    assert_eq!(all[1], ["aside"], "{all:?}");
    assert_eq!(all[2], ["far"], "{all:?}");
    assert!(domains[..2].iter().all(|one| one.elsewhere() >= 3));
    assert_eq!(domains[2].elsewhere(), 0);
}
