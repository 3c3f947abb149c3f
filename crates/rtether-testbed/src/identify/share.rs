//! What this host and the network take of a round trip.

use std::net::{Ipv4Addr, UdpSocket};
use std::sync::atomic::AtomicBool;

use rtether::report::text::time;
use rtether::scenario::Scenario;
use rtether_live::host::address::interfaces;
use rtether_live::host::files::Files;
use rtether_model::network::{NodeId, NodeKind};
use rtether_model::quantity::{BitRate, Bytes, Duration, Instant};
use rtether_proto::identify::{Exchange, Path};
use rtether_sim::emulation::{Destination, Emulation, Foreign, Headers, Output, Setup};

use crate::Waiting;
use crate::calibrate::{self, CalibrateOptions, Fit, Protocol, Row, calibrate};

/// Octets of a preamble with its start (IEEE 802.3, 3.1.1), which precede a frame on each link.
const PREAMBLE: i64 = 8;
/// Frames whose times say what a network takes.
const SMALL: Bytes = Bytes::new(SMALL_OCTETS.cast_unsigned());
const LARGE: Bytes = Bytes::new(LARGE_OCTETS.cast_unsigned());
const SMALL_OCTETS: i64 = 64;
const LARGE_OCTETS: i64 = 1_518;
/// Round trips for each size that say what this host takes.
const SAMPLES: u32 = 200;

/// What is taken out of round trips.
#[derive(Clone, Debug, Default)]
pub struct Share {
    /// That of the network.
    pub network: NetworkShare,
    /// That of this host; `None` if it was not measured.
    pub host: Option<Path>,
}

/// What a network takes, and from where that is known.
#[derive(Clone, Debug, Default)]
pub struct NetworkShare {
    /// Both directions.
    pub path: Path,
    /// In words.
    pub source: String,
}

impl Share {
    /// Returns the sum.
    pub fn path(&self) -> Path {
        let (network, host) = (self.network.path, self.host.unwrap_or_default());
        Path {
            constant: network.constant + host.constant,
            request_octet: network.request_octet + host.request_octet,
            answer_octet: network.answer_octet + host.answer_octet,
        }
    }

    /// Returns what was taken out and from where that is known, as lines.
    pub fn lines(&self) -> String {
        let smallest = Exchange { request: SMALL, answer: SMALL };
        let network = time(self.network.path.of(smallest));
        let host = self.host.map_or_else(
            || "this host not measured, so that it is a part of the figures".into(),
            |host| format!("this host {} (measured as by calibrate)", time(host.of(smallest))),
        );
        format!("taken out of the smallest: network {network} ({}), {host}\n", self.network.source)
    }
}

/// Takes the network's share from a scenario: frames of both ends through it, without other traffic.
///
/// # Errors
/// Why there is none, in words.
pub fn between(scenario: &Scenario, from: &str, to: &str) -> Result<NetworkShare, String> {
    let ends = [station(scenario, from)?, station(scenario, to)?];
    let there = [crossing(scenario, ends, SMALL)?, crossing(scenario, ends, LARGE)?];
    let [prober, device] = ends;
    let ends = [device, prober];
    let back = [crossing(scenario, ends, SMALL)?, crossing(scenario, ends, LARGE)?];
    let [request_octet, answer_octet] =
        [there, back].map(|[small, large]| (large - small) / (LARGE_OCTETS - SMALL_OCTETS));
    let path = Path {
        constant: there[0] + back[0] - (request_octet + answer_octet) * SMALL_OCTETS,
        request_octet,
        answer_octet,
    };
    Ok(NetworkShare { path, source: format!("from {from} to {to} in the scenario") })
}

fn station(scenario: &Scenario, name: &str) -> Result<NodeId, String> {
    let network = &scenario.network;
    let found = network.find(name);
    found
        .filter(|&id| matches!(network.node(id).kind, NodeKind::EndStation(_)))
        .ok_or_else(|| format!("`{name}` is no end station of the scenario"))
}

fn cannot(why: impl std::fmt::Display) -> String {
    format!("the network cannot carry frames from outside: {why}")
}

/// Returns how long a frame takes through an idle network.
fn crossing(scenario: &Scenario, [from, to]: [NodeId; 2], size: Bytes) -> Result<Duration, String> {
    let mut network = scenario.network.clone();
    for node in &mut network.nodes {
        if let NodeKind::EndStation(station) = &mut node.kind {
            // Between its ends, and not in them.
            station.emulate = false;
        }
    }
    let setup = Setup { groups: &[], ..Setup::new(&network, scenario.run.seed) };
    let mut emulation = Emulation::new(&setup).map_err(cannot)?;
    let frame = Foreign {
        size,
        destination: Destination::One(to),
        tag: None,
        headers: Headers::default(),
        token: 0,
    };
    let sent = emulation.inject(from, Instant::ZERO, frame);
    sent.map_err(cannot)?;
    while let Some(at) = emulation.next_event() {
        // That is before the time that is given.
        emulation.run_until(at + Duration::from_ps(1));
        while let Some(output) = emulation.poll_output() {
            match output {
                Output::Delivered { station, at, .. } if station == to => {
                    return Ok(at.since_start());
                }
                Output::Dropped { .. } => return Err(cannot("it drops them")),
                Output::Delivered { .. } | Output::Collision { .. } | Output::Finished { .. } => {}
            }
        }
    }
    Err(cannot("they do not arrive"))
}

/// Estimates the network's share: two links at the rate of the device of this host that leads there,
/// with a switch between them that takes no time.
pub fn estimated(to: Ipv4Addr) -> NetworkShare {
    if to.is_loopback() {
        let source = "none, the device is this host".into();
        return NetworkShare { path: Path::default(), source };
    }
    let known = toward(to).and_then(|(name, rate)| Some((name, rate, rate.octet_time()?)));
    let Some((name, rate, octet)) = known else {
        let source = "nothing taken out: the rate of the device is not known, name --path".into();
        return NetworkShare { path: Path::default(), source };
    };
    let links = 2;
    let path = Path {
        constant: octet * links * 2 * PREAMBLE,
        request_octet: octet * links,
        answer_octet: octet * links,
    };
    let mbps = rate.as_bps() / 1_000_000;
    NetworkShare {
        path,
        source: format!("estimated: two links of {mbps} Mbit/s as {name} has, name --path"),
    }
}

/// Returns the device that leads to an address, and its rate.
fn toward(to: Ipv4Addr) -> Option<(String, BitRate)> {
    let socket = UdpSocket::bind((Ipv4Addr::UNSPECIFIED, 0)).ok()?;
    // Sends nothing.
    socket.connect((to, 9)).ok()?;
    let std::net::IpAddr::V4(own) = socket.local_addr().ok()?.ip() else { return None };
    let mut all = interfaces().ok()?.into_iter();
    let name = all.find(|device| device.addresses.contains(&own))?.name;
    let speed = Files::default().text(&format!("sys/class/net/{name}/speed"))?;
    // Minus one if the device does not know.
    let mbps = speed.trim().parse().ok().filter(|&mbps: &u64| mbps > 0)?;
    Some((name, BitRate::from_mbps(mbps)))
}

/// Measures what this host takes to send and to receive, between two namespaces; `None` if it may
/// not make any.
pub fn of_host(stop: &AtomicBool) -> Option<Path> {
    let options = CalibrateOptions {
        paths: vec![calibrate::Path::Veth],
        protocols: vec![Protocol::Udp],
        waitings: vec![Waiting::Block],
        sizes: vec![64, 1_024],
        samples: SAMPLES,
        priority: Some(0),
        ..CalibrateOptions::default()
    };
    let rows = calibrate(&options, stop, |_, _, _| {}).ok()?.rows;
    let send = fitted(&rows, |row| row.sends().collect())?;
    let receive = fitted(&rows, |row| row.receives().collect())?;
    Some(Path {
        constant: send.cost.base + receive.cost.base,
        request_octet: send.cost.per_octet,
        answer_octet: receive.cost.per_octet,
    })
}

fn fitted(rows: &[Row], of: impl Fn(&Row) -> Vec<Duration>) -> Option<Fit> {
    let sizes: Vec<(Bytes, Vec<Duration>)> =
        rows.iter().map(|row| (row.frame(), of(row))).collect();
    calibrate::fit(&sizes)
}

#[cfg(test)]
mod tests {
    use super::*;

    const PLANT: &str = "rtether: 1
nodes: { probe: { stack: zero }, plc: { stack: { send: 1 ms, receive: 1 ms } } }
switches: { sw: { ports: 2, latency: 10 us } }
links:
  - { ends: [probe, \"sw:1\"], rate: 100 Mbit/s }
  - { ends: [\"sw:2\", plc], rate: 10 Mbit/s, propagation: 2 us }
flows: [{ name: f, from: probe, to: plc, period: 10 ms, size: 64 B }]
";

    /// Oracle: by hand. An octet takes 80 ns and 800 ns, and so do eight of preamble; the switch takes 10
    /// us and the wire 2 us, and the device itself is no part of the network.
    #[test]
    fn a_scenario_says_what_its_network_takes() {
        let loaded = rtether::scenario::load("plant.yaml", PLANT);
        let scenario = loaded.scenario.expect("a scenario");
        let found = between(&scenario, "probe", "plc").map(|own| own.path);
        let octet = Duration::from_ns(880);
        let constant = (octet * PREAMBLE + Duration::from_us(12)) * 2;
        assert_eq!(found, Ok(Path { constant, request_octet: octet, answer_octet: octet }));
        let wrong = between(&scenario, "probe", "sw").map(|own| own.source);
        assert_eq!(wrong, Err("`sw` is no end station of the scenario".to_owned()));
    }
}
