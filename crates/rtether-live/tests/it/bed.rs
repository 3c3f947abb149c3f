//! Hosts whose devices lead to an emulator, all in namespaces of their own.

use std::net::Ipv4Addr;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};

use rtether_live::clock::Clock;
use rtether_live::emulator::{
    Emulator, EmulatorError, EmulatorReport, Options, Port, offloads_off,
};
use rtether_live::link::{Device, MacAddress};
use rtether_live::namespace::{Namespace, run};
use rtether_live::wait::Waiting;
use rtether_model::network::{
    EndStation, Hub, Link, MulticastForwarding, Network, NodeId, NodeKind, PortId, QueueMap,
    Selection, Stack, Switch,
};
use rtether_model::quantity::BitRate;

use rtether_testkit::skip;

/// Device of every host.
pub(crate) const DEVICE: &str = "eth";

/// Node 0 is the center; the others are the hosts in order.
pub(crate) fn star(center: NodeKind, hosts: u16, mbps: u64) -> Network {
    let mut network = Network::default();
    let center = network.add("center", center);
    for (port, host) in (0..hosts).map(|host| (host, format!("host{host}"))) {
        let own = network.add(host, NodeKind::EndStation(EndStation::new(Stack::Zero)));
        let ends = [(center, port), (own, 0)].map(|(node, port)| PortId { node, port });
        let link = Link::new(ends, BitRate::from_mbps(mbps));
        network.links.push(link);
    }
    network
}

/// A switch with eight queues and strict priority.
pub(crate) fn switch(ports: u16) -> NodeKind {
    NodeKind::Switch(Switch {
        queues: QueueMap::standard(8).unwrap(),
        selection: Selection::StrictPriority,
        multicast: MulticastForwarding::Unmanaged,
        ..Switch::new(usize::from(ports))
    })
}

pub(crate) fn hub(ports: u16) -> NodeKind {
    NodeKind::Hub(Hub::new(BitRate::from_mbps(10), ports))
}

/// Hosts around an emulated center.
pub(crate) struct Bed {
    pub(crate) hosts: Vec<Namespace>,
    pub(crate) addresses: Vec<MacAddress>,
    pub(crate) center: Namespace,
    network: Network,
}

impl Bed {
    /// Creates the hosts of a star; if that is not possible, prints why and returns `None`.
    pub(crate) fn new(network: Network) -> Option<Self> {
        let bed = Self::with_offloads(network)?;
        for host in &bed.hosts {
            inside(host, || offloads_off(DEVICE).unwrap());
        }
        Some(bed)
    }

    /// Like [`Self::new`], with the offloads of the hosts' devices unchanged.
    pub(crate) fn with_offloads(network: Network) -> Option<Self> {
        match Self::build(network) {
            Ok(bed) => Some(bed),
            Err(reason) => {
                skip(&reason.to_string());
                None
            }
        }
    }

    fn build(network: Network) -> Result<Self, Box<dyn std::error::Error>> {
        static NUMBER: AtomicU32 = AtomicU32::new(0);
        let number = NUMBER.fetch_add(1, Ordering::Relaxed);
        let tag = format!("em{}-{number}", std::process::id());
        let center = Namespace::create(&format!("{tag}c"))?;
        let mut hosts = Vec::new();
        for index in 0..network.nodes.len() - 1 {
            let host = Namespace::create(&format!("{tag}h{index}"))?;
            // Router and neighbor discovery would send frames that no test expects.
            let switch = "/proc/sys/net/ipv6/conf/all/disable_ipv6";
            let _ = inside(&host, || std::fs::write(switch, "1"));
            run(&format!(
                "ip link add port{index} netns {} type veth peer name {DEVICE} netns {}",
                center.name(),
                host.name()
            ))?;
            center.run(&format!("ip link set port{index} up"))?;
            let address = address(index);
            host.run(&format!("ip address add {address}/24 dev {DEVICE}"))?;
            host.run(&format!("ip link set {DEVICE} up"))?;
            hosts.push(host);
        }
        let address = |host| inside(host, || Device::named(DEVICE).unwrap().address());
        Ok(Self { addresses: hosts.iter().map(address).collect(), hosts, center, network })
    }

    /// Runs the emulator while `work` runs in a thread of its own, and returns both results.
    pub(crate) fn run<T: Send>(
        &self,
        change: impl FnOnce(&mut Options),
        work: impl FnOnce() -> T + Send,
    ) -> (T, Result<EmulatorReport, EmulatorError>) {
        let mut options = Options::new(Clock::start(), 1);
        options.waiting = Waiting::Block;
        change(&mut options);
        let ports: Vec<Port> = (0u32..)
            .zip(&self.addresses)
            .map(|(index, &address)| Port {
                station: NodeId(index + 1),
                device: format!("port{index}"),
                address,
            })
            .collect();
        let (stop, is_ready) = (AtomicBool::new(false), AtomicBool::new(false));
        std::thread::scope(|scope| {
            let emulator = scope.spawn(|| {
                self.center.enter().unwrap();
                let mut emulator = Emulator::new(&self.network, &ports, options).unwrap();
                is_ready.store(true, Ordering::Release);
                emulator.run(&stop)?;
                emulator.finish()
            });
            while !is_ready.load(Ordering::Acquire) {
                std::thread::yield_now();
            }
            let result = scope.spawn(work).join();
            stop.store(true, Ordering::Relaxed);
            let report = emulator.join().unwrap();
            (result.unwrap(), report)
        })
    }
}

/// Returns the address of a host.
pub(crate) fn address(index: usize) -> Ipv4Addr {
    Ipv4Addr::new(10, 78, 0, u8::try_from(index + 1).unwrap())
}

/// Runs `work` in a namespace.
pub(crate) fn inside<T: Send>(host: &Namespace, work: impl FnOnce() -> T + Send) -> T {
    std::thread::scope(|scope| {
        let thread = scope.spawn(|| {
            host.enter().unwrap();
            work()
        });
        thread.join().unwrap()
    })
}
