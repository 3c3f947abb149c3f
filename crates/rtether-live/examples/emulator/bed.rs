//! Hosts in namespaces and the emulated network between them.

use std::error::Error;
use std::net::{Ipv4Addr, UdpSocket};
use std::sync::atomic::{AtomicBool, Ordering};

use rtether_live::clock::Clock;
use rtether_live::emulator::{Emulator, EmulatorReport, Options, Port, offloads_off};
use rtether_live::link::Device;
use rtether_live::namespace::{Namespace, run};
use rtether_live::thread::Placement;
use rtether_model::network::{
    EndStation, Hub, MulticastForwarding, Network, NodeId, NodeKind, QueueMap, Selection, Stack,
    Switch,
};
use rtether_model::quantity::{BitRate, Duration};

use super::{Plan, send};

const DEVICE: &str = "eth";
/// UDP port of all hosts.
pub(super) const PORT: u16 = 7_254;

/// Error of a thread.
pub(super) type Failure = Box<dyn Error + Send + Sync>;

/// Hosts around an emulated center.
pub(super) struct Bed {
    network: Network,
    center: Namespace,
    hosts: Vec<Namespace>,
    ports: Vec<Port>,
}

impl Bed {
    pub(super) fn new(plan: &Plan) -> Result<Self, Failure> {
        let tag = format!("emx{}", std::process::id());
        let center = Namespace::create(&format!("{tag}c"))?;
        let (mut hosts, mut ports) = (Vec::new(), Vec::new());
        for index in 0..plan.hosts {
            let host = Namespace::create(&format!("{tag}h{index}"))?;
            let device = format!("port{index}");
            let address = inside(&host, || {
                let switch = "/proc/sys/net/ipv6/conf/all/disable_ipv6";
                // The kernel may have no IPv6 to disable.
                let _ = std::fs::write(switch, "1");
                Ok(())
            });
            address?;
            run(&format!(
                "ip link add {device} netns {} type veth peer name {DEVICE} netns {}",
                center.name(),
                host.name()
            ))?;
            center.run(&format!("ip link set {device} up"))?;
            host.run(&format!("ip address add {}/24 dev {DEVICE}", address_of(index)))?;
            host.run(&format!("ip link set {DEVICE} up"))?;
            let address = inside(&host, || {
                offloads_off(DEVICE)?;
                Ok(Device::named(DEVICE)?.address())
            })?;
            hosts.push(host);
            ports.push(Port { station: NodeId(u32::from(index) + 1), device, address });
        }
        // Static neighbor entries: no address resolution while measuring.
        for host in &hosts {
            for (index, port) in (0..).zip(&ports) {
                host.run(&format!(
                    "ip neighbor replace {} lladdr {} dev {DEVICE}",
                    address_of(index),
                    port.address
                ))?;
            }
        }
        Ok(Self { network: network(plan), center, hosts, ports })
    }

    /// Returns the report, the datagrams sent and the stalls of their sender.
    pub(super) fn measure(
        &self,
        plan: &Plan,
        length: Duration,
        guard: Option<Duration>,
    ) -> Result<(EmulatorReport, u64, u64), Failure> {
        let cores = std::thread::available_parallelism()?.get();
        let clock = Clock::start();
        let mut sockets = Vec::new();
        for (index, host) in (0..).zip(&self.hosts) {
            let address = (address_of(index), PORT);
            sockets.push(inside(host, || Ok(UdpSocket::bind(address)?))?);
        }
        let (stop, is_ready) = (AtomicBool::new(false), AtomicBool::new(false));
        std::thread::scope(|scope| {
            let emulator = scope.spawn(|| -> Result<Emulator, Failure> {
                // Makes waiting threads stop if opening fails.
                let opened = self.open(clock, guard, cores - 1);
                is_ready.store(true, Ordering::Release);
                let mut emulator = opened?;
                emulator.run(&stop)?;
                Ok(emulator)
            });
            while !is_ready.load(Ordering::Acquire) {
                std::thread::yield_now();
            }
            let sender = scope.spawn(|| send(plan, &sockets, clock, length));
            let sent = sender.join();
            std::thread::sleep(std::time::Duration::from_millis(20));
            stop.store(true, Ordering::Relaxed);
            let emulator = emulator.join().map_err(|_| "the emulator panicked")?;
            let (sent, stalls) = sent.map_err(|_| "the sender panicked")??;
            // The replay runs in a thread on which nothing waits.
            Ok((emulator?.finish()?, sent, stalls))
        })
    }

    fn open(
        &self,
        clock: Clock,
        guard: Option<Duration>,
        core: usize,
    ) -> Result<Emulator, Failure> {
        self.center.enter()?;
        let mut options = Options::new(clock, 1);
        options.guard = guard;
        let emulator = Emulator::new(&self.network, &self.ports, options)?;
        let placement = Placement { core: Some(core), priority: Some(50), lock_memory: true };
        placement.apply()?;
        Ok(emulator)
    }
}

/// Returns the address of a host.
pub(super) fn address_of(host: u16) -> Ipv4Addr {
    let [_, low] = host.to_be_bytes();
    Ipv4Addr::new(10, 79, 0, low + 1)
}

/// Runs `work` in a namespace.
fn inside<T: Send>(
    host: &Namespace,
    work: impl FnOnce() -> Result<T, Failure> + Send,
) -> Result<T, Failure> {
    std::thread::scope(|scope| {
        let thread = scope.spawn(|| {
            host.enter()?;
            work()
        });
        thread.join().map_err(|_| "a thread panicked")?
    })
}

fn network(plan: &Plan) -> Network {
    let rate = BitRate::from_mbps(plan.mbps);
    let center = if plan.is_hub {
        NodeKind::Hub(Hub::new(rate, 0))
    } else {
        NodeKind::Switch(Switch {
            queues: QueueMap::standard(4).expect("four queues are legal"),
            selection: Selection::StrictPriority,
            multicast: MulticastForwarding::Unmanaged,
            ..Switch::new(0)
        })
    };
    let mut network = Network::default();
    let center = network.add("center", center);
    for host in 0..plan.hosts {
        let station = NodeKind::EndStation(EndStation::new(Stack::Zero));
        let station = network.add(format!("host{host}"), station);
        network.join(center, station, rate);
    }
    network
}
