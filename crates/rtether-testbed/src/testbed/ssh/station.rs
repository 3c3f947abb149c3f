//! The station that an agent plays.

use std::net::Ipv4Addr;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::sync::mpsc::{Receiver, SyncSender};
use std::time::Duration as Span;

use rtether_live::clock::{Clock, monotonic_ns};
use rtether_live::host::address::{Interface, interfaces};
use rtether_live::host::{clock_identity, network_identity};
use rtether_live::link::{Device, MacAddress};
use rtether_live::thread::keep_cores_awake;
use rtether_model::network::{NodeId, NodeKind};
use rtether_model::wire::Encapsulation;

use super::wire::{Here, Order, Role, StationAddresses};
use crate::testbed::{Backend, Host, Options, Plan, duties, refuse, run};
use rtether::scenario::{self, Override, Scenario};

pub(super) use crate::testbed::station_logs::StationLogs;

/// Events for the thread of the agent that carries out the orders.
pub(super) enum Event {
    /// An order of the coordinator.
    Order(Order),
    /// A line that is not an order.
    Malformed(String),
    /// The connection ended.
    Closed,
    /// The station's sockets are open, or the reason why not.
    Opened(Result<(), String>),
    /// The station has ended.
    Ended(Result<StationLogs, String>),
}

/// Latest start accepted, in nanoseconds from now.
const START_MAX: i64 = 60_000_000_000;
/// Set by sshd: addresses and ports of both ends, separated by spaces.
const CONNECTION: &str = "SSH_CONNECTION";
/// Remedy if the system denies a right.
const RIGHTS: &str = "; let ssh log in as root, or \
                      `sudo setcap cap_sys_nice,cap_ipc_lock,cap_net_raw+ep` on the program there";

/// Why a station cannot be played.
#[derive(Debug)]
pub(super) struct Refusal {
    pub(super) why: String,
    /// Whether the input is wrong, rather than the host.
    pub(super) is_input: bool,
}

/// A station, before it knows the others.
pub(super) struct Player {
    scenario: Scenario,
    node: NodeId,
    options: Options,
    pub(super) here: Here,
}

/// What a station needs in addition.
pub(super) struct Ready {
    pub(super) addresses: Vec<StationAddresses>,
    pub(super) events: SyncSender<Event>,
    /// The start, by the monotonic clock.
    pub(super) start: Receiver<i64>,
    pub(super) stop: Arc<AtomicBool>,
}

fn input(why: String) -> Refusal {
    Refusal { why, is_input: true }
}

fn unfit(why: String) -> Refusal {
    Refusal { why, is_input: false }
}

impl Player {
    /// Parses the scenario and finds the device.
    pub(super) fn new(role: &Role, text: &str) -> Result<Self, Refusal> {
        let changes = role.changes.iter();
        let changes: Vec<Override> =
            changes.map(|(path, value)| Override::new("--set", path, value.as_str())).collect();
        let loaded = scenario::load_with("scenario", text, &changes).into_scenario();
        let scenario =
            loaded.map_err(|said| input(format!("it cannot read the scenario: {said}")))?;
        let reasons = refuse::reasons(&scenario, Backend::Ssh);
        if let Some(reason) = reasons.into_iter().next() {
            return Err(input(reason));
        }
        let node = NodeId(role.node);
        let found = scenario.network.nodes.get(node.index());
        let is_station = found.is_some_and(|node| matches!(node.kind, NodeKind::EndStation(_)));
        if !is_station {
            return Err(input(format!("no end station has the number {}", role.node)));
        }
        let here = here(role.device.as_deref(), speaks_ip(&scenario, node))?;
        let options = Options {
            backend: Backend::Ssh,
            duration: scenario.run.duration,
            seed: scenario.run.seed,
            priority: role.priority,
        };
        Ok(Self { scenario, node, options, here })
    }

    /// Opens the station's sockets, waits for the start and plays; reports to `ready.events`.
    pub(super) fn play(self, ready: Ready) {
        let Ready { addresses, events, start, stop } = ready;
        let outcome = self.plan(&addresses).and_then(|(plan, watches)| {
            let mut duties = duties::duties(&self.scenario, &plan, &self.options);
            duties.retain(|node, _| *node == self.node);
            for own in duties.values_mut() {
                own.station.device.clone_from(&self.here.device);
            }
            if self.options.priority.is_some() {
                // If the host refuses, `doctor` tells.
                let _ = keep_cores_awake();
            }
            let begin = |errors: &[String]| begin(errors, &events, &start);
            let (scenario, options) = (&self.scenario, &self.options);
            let found = run::play(scenario, &plan, duties, options, &stop, watches, begin);
            found.map_err(|error| error.to_string())
        });
        // The receiver may be gone.
        drop(events.send(Event::Ended(outcome)));
    }

    /// Returns the plan of all stations, and whether to watch for stalls.
    fn plan(&self, addresses: &[StationAddresses]) -> Result<(Plan, bool), String> {
        let nodes = self.scenario.network.iter_nodes();
        let stations = nodes.filter(|(_, node)| matches!(node.kind, NodeKind::EndStation(_)));
        let stations: Vec<NodeId> = stations.map(|(id, _)| id).collect();
        if stations.len() != addresses.len() {
            return Err(format!("{} addresses for {} stations", addresses.len(), stations.len()));
        }
        let own = stations.iter().position(|node| *node == self.node);
        let watches = own.is_some_and(|own| addresses[own].watches);
        let hosts = stations.into_iter().zip(addresses).map(|(node, peer)| {
            let mac: MacAddress = peer.mac.parse().map_err(|error| format!("{error}"))?;
            Ok(Host { node, namespace: String::new(), ip: peer.ip, mac })
        });
        let plan = Plan {
            backend: Backend::Ssh,
            set_up: Vec::new(),
            tear_down: Vec::new(),
            hosts: hosts.collect::<Result<_, String>>()?,
            emulator: None,
            shims: Vec::new(),
        };
        Ok((plan, watches))
    }
}

/// Reports that all is ready, and returns the clock once it is time to begin.
fn begin(errors: &[String], events: &SyncSender<Event>, start: &Receiver<i64>) -> Option<Clock> {
    let opened = match errors.first() {
        None => Ok(()),
        Some(error) => Err(with_remedy(error)),
    };
    let is_open = opened.is_ok();
    events.send(Event::Opened(opened)).ok()?;
    if !is_open {
        return None;
    }
    let at = start.recv().ok()?;
    let left = at.saturating_sub(monotonic_ns());
    if !(1..=START_MAX).contains(&left) {
        let why = "the start came too late, or is not a time of this host: the connection is slow";
        drop(events.send(Event::Opened(Err(why.into()))));
        return None;
    }
    let clock = Clock::starting_at(at);
    std::thread::sleep(Span::from_nanos(left.unsigned_abs()));
    Some(clock)
}

/// Adds a remedy to an error, from the point of view of the coordinator.
fn with_remedy(error: &str) -> String {
    let has = |text: &str| error.contains(text);
    let remedy = if has("real-time priority") || has("memory resident") {
        "; or `--priority 0`, which asks for neither"
    } else if has("ermitted") && !has("setcap") {
        RIGHTS
    } else if has("already in use") {
        "; another agent runs there, or another program has UDP port 7255 or TCP port 7256"
    } else if has("unreachable") {
        "; its device has no way to the other hosts, so name the one that has: `TARGET%DEVICE`"
    } else {
        ""
    };
    format!("{error}{remedy}")
}

/// Returns whether a node has flows over IP.
fn speaks_ip(scenario: &Scenario, node: NodeId) -> bool {
    let own = |of: &&rtether_model::flow::Flow| of.talker == node || of.listeners.contains(&node);
    let mut flows = scenario.flows.iter().filter(own);
    flows.any(|flow| {
        matches!(flow.encapsulation, Encapsulation::Udp | Encapsulation::Tcp | Encapsulation::Icmp)
    })
}

/// Returns the device and addresses of this host.
fn here(device: Option<&str>, needs_ip: bool) -> Result<Here, Refusal> {
    let found = interfaces();
    let found = found.map_err(|error| unfit(format!("listing network devices: {error}")))?;
    let connection = std::env::var(CONNECTION).ok();
    let (device, ip) = choose(&found, device, connection.as_deref())?;
    if needs_ip && ip.is_unspecified() {
        let name = &device.name;
        return Err(unfit(format!(
            "`{name}` has no address for its flows over UDP or TCP; give it one, for example `ip \
             address add 10.0.0.2/24 dev {name}`"
        )));
    }
    if !device.is_up {
        let name = &device.name;
        let why = format!("`{name}` is down; `ip link set {name} up`");
        return Err(unfit(why));
    }
    let mac = Device::named(&device.name).map_err(|error| input(error.to_string()))?;
    Ok(Here {
        device: device.name.clone(),
        ip,
        mac: mac.address().to_string(),
        clock: clock_identity(),
        network: network_identity(),
    })
}

/// Chooses the named device, or that of the connection, and its address; 0.0.0.0 if it has none.
fn choose<'i>(
    found: &'i [Interface],
    device: Option<&str>,
    connection: Option<&str>,
) -> Result<(&'i Interface, Ipv4Addr), Refusal> {
    if let Some(name) = device {
        let Some(device) = found.iter().find(|own| own.name == name) else {
            let names: Vec<&str> = found.iter().map(|own| own.name.as_str()).collect();
            let names = names.join(", ");
            return Err(input(format!("no network device `{name}`; there are {names}")));
        };
        let ip = device.addresses.first().copied();
        return Ok((device, ip.unwrap_or(Ipv4Addr::UNSPECIFIED)));
    }
    // The third word is the address of this end.
    let own = connection.and_then(|text| text.split(' ').nth(2));
    let ip = own.and_then(|text| text.parse::<Ipv4Addr>().ok());
    let device = ip.and_then(|ip| found.iter().find(|own| own.addresses.contains(&ip)));
    device.zip(ip).ok_or_else(|| {
        input("the device of the connection is not known; name one, as in `TARGET%eth0`".into())
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn interface(name: &str, addresses: &[&str]) -> Interface {
        Interface {
            name: name.into(),
            is_up: true,
            addresses: addresses.iter().map(|ip| ip.parse().unwrap()).collect(),
            prefix_lengths: addresses.iter().map(|_| 24).collect(),
        }
    }

    /// Oracle: ssh(1) on `SSH_CONNECTION`: client address, client port, server address, server port.
    #[test]
    fn a_device_is_named_or_that_of_the_connection() {
        let found = [
            interface("lo", &["127.0.0.1"]),
            interface("eth0", &["10.0.0.1", "10.0.0.2"]),
            interface("eth1", &[]),
        ];
        let chosen = |device, connection| {
            let chosen = choose(&found, device, connection);
            chosen.map(|(device, ip)| (device.name.as_str(), ip.to_string()))
        };
        let right = |name, ip: &str| Some((name, ip.to_owned()));
        let by = "10.0.0.9 51000 10.0.0.2 22";
        assert_eq!(chosen(None, Some(by)).ok(), right("eth0", "10.0.0.2"));
        assert_eq!(chosen(Some("eth0"), None).ok(), right("eth0", "10.0.0.1"));
        assert_eq!(chosen(Some("eth1"), Some(by)).ok(), right("eth1", "0.0.0.0"));
        for connection in
            [None, Some(""), Some("fe80::1 1 fe80::2%eth0 22"), Some("a b 10.0.0.7 c")]
        {
            let refusal = chosen(None, connection).expect_err("unknown");
            assert!(refusal.is_input && refusal.why.contains("TARGET%eth0"));
        }
        let refusal = chosen(Some("eth7"), Some(by)).expect_err("unknown");
        assert!(refusal.is_input && refusal.why.contains("there are lo, eth0, eth1"));
    }

    #[test]
    fn errors_have_a_remedy_for_the_other_side() {
        let raw = with_remedy("opening a socket: Operation not permitted (os error 1)");
        assert!(raw.contains("log in as root") && raw.contains("setcap"));
        let priority =
            with_remedy("cannot run at real-time priority 40: ...; or `sudo setcap ...`");
        assert!(priority.ends_with("or `--priority 0`, which asks for neither"));
        let used = with_remedy("opening a socket: Address already in use (os error 98)");
        assert!(used.contains("another agent runs there"));
        let way = with_remedy("opening a socket: Network is unreachable (os error 101)");
        assert!(way.contains("`TARGET%DEVICE`"));
        assert_eq!(with_remedy("sending: no"), "sending: no");
    }
}
