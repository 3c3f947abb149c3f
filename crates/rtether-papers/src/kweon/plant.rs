//! The test bed: PCs and a monitoring station on a 10 Mbit/s hub.

use rtether_model::endnode::{Detector, Layer, Smoothing};
use rtether_model::flow::{Bulk as BulkTraffic, Bursts, Flow, TcpParameters, Traffic, Transfer};
use rtether_model::network::{EndStation, NodeId, NodeKind, Stack};
use rtether_model::smoother::{Config, Limits, Mode, Rule};
use rtether_model::wire::Encapsulation;

use super::{Bulk, Case, DEADLINE, Scheme, WARMUP};
use crate::plant::{self, Plant, echoed, flow};
use crate::prelude::*;

const RATE: BitRate = BitRate::from_mbps(10);
const MESSAGE: Bytes = Bytes::new(100);
const MESSAGE_GAP: Duration = Duration::from_ms(300);
const FILE: Bytes = Bytes::new(1_000_000);
const FILE_GAP: Duration = Duration::from_secs(25);
/// Approximate number of messages in a run; several runs make a point.
const MESSAGES: i64 = 66_000;
/// Expedited forwarding.
const DSCP: u8 = 46;

/// Operating system of the PCs.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Platform {
    /// Ten PCs, messages over TCP, real time by type of service; every collision is visible.
    Linux,
    /// Four PCs, messages over UDP, real time by protocol; collisions are visible with the
    /// probability of the catalogue, 3b.
    Nt,
}

impl Platform {
    pub(crate) const fn stations(self) -> u16 {
        match self {
            Self::Linux => 10,
            Self::Nt => 4,
        }
    }

    const fn rule(self) -> Rule {
        match self {
            Self::Linux => Rule::LINUX,
            Self::Nt => Rule::NT,
        }
    }

    const fn visibility_per_million(self) -> u32 {
        match self {
            Self::Linux => 1_000_000,
            Self::Nt => 250_000,
        }
    }

    fn layer(self, mode: Mode, visibility_per_million: u32) -> Layer {
        let config = Config {
            mode,
            limits: Limits {
                // The TCP window limits the backlog.
                bulk_packets: 100_000,
                ..Limits::default()
            },
        };
        Layer {
            smoother: Some(Smoothing {
                config,
                rule: self.rule(),
                ring: 2,
                detector: Detector::OwnCollisions { visibility_per_million },
            }),
            ..Layer::default()
        }
    }
}

impl Case {
    /// Returns the layer of the PCs. The NT variant sees the same share of collisions on either
    /// platform.
    fn layer(self) -> Layer {
        let seen = if matches!(self.scheme, Scheme::Nt) { Platform::Nt } else { self.platform };
        let seen = seen.visibility_per_million();
        self.platform.layer(self.scheme.mode(), seen)
    }
}

/// Window of 32 KB; an acknowledgment for every second segment or after 20 ms.
const TCP: TcpParameters = TcpParameters {
    segment: Bytes::new(1460),
    window: Bytes::new(32_768),
    initial_window: 2,
    ack_every: 2,
    ack_delay: Duration::from_ms(20),
    min_rto: Duration::from_ms(200),
};

/// Returns the scenario of a point, and the number of its message flows, which come first.
pub(crate) fn scenario(case: Case) -> (Scenario, usize) {
    let per_second =
        Duration::from_secs(1).as_ps() * i64::from(case.platform.stations()) / MESSAGE_GAP.as_ps();
    lasting(case, Duration::from_secs(MESSAGES / per_second))
}

/// Returns the scenario of a point with `counted` time after warm-up, and the number of its message
/// flows.
pub(crate) fn lasting(case: Case, counted: Duration) -> (Scenario, usize) {
    let count = case.platform.stations();
    let mut plant = Plant::default();
    let hub = plant.hub(RATE, Duration::ZERO, count + 1);
    let attach = |plant: &mut Plant, name: String, port: u16, layer: Option<Layer>| {
        let station = EndStation {
            driver_queue: Bytes::new(10_000_000),
            layer: layer.map(Box::new),
            ..EndStation::new(Stack::Zero)
        };
        let node = plant.add(&name, NodeKind::EndStation(station));
        plant.link((node, 0), (hub, port), RATE);
        node
    };
    let pcs: Vec<NodeId> = (0..count)
        .map(|number| {
            let layer = case.layer();
            attach(&mut plant, format!("pc{}", number + 1), number, Some(layer))
        })
        .collect();
    let monitor = attach(&mut plant, "monitor".into(), count, None);
    let next = pcs.iter().cycle().skip(1);
    let mut flows: Vec<Flow> =
        pcs.iter().zip(next).map(|(&from, &to)| message(&plant, case.platform, from, to)).collect();
    let messages = flows.len();
    let active = pcs.iter().take(usize::from(case.active));
    flows.extend(active.map(|&pc| files(&plant, case.bulk, pc, monitor)));
    let name = "soft real time on a hub (Kweon)";
    let times = (WARMUP + counted, WARMUP);
    (plant::scenario(name, plant.network, flows, times), messages)
}

/// Where the bulk traffic of a station is smoothed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Station {
    /// Between IP and the driver.
    Below(Scheme),
    /// By its program, which writes at the fixed rate.
    AboveTcp,
}

/// Rate of 1500 octets every 36 ms.
const PACED: BitRate = BitRate::from_bps(333_333);

/// Returns a plant with two PCs and the monitor, and messages between the PCs; the number of message
/// flows; and the first PC. It sends a file of 3 MB from 1 s on, the second one of 1 MB from 3 s on, and
/// the first receives one of 1 MB from 10 s on.
pub(crate) fn burst(station: Station, length: Duration) -> (Scenario, u32, NodeId) {
    let scheme = match station {
        Station::Below(scheme) => scheme,
        Station::AboveTcp => Scheme::None,
    };
    let layer = || Case::nongreedy(scheme, 2).layer();
    let mut plant = Plant::default();
    let hub = plant.hub(RATE, Duration::ZERO, 3);
    let mut attach = |name: &str, port: u16, layer: Option<Layer>| {
        let station = EndStation {
            driver_queue: Bytes::new(10_000_000),
            layer: layer.map(Box::new),
            ..EndStation::new(Stack::Zero)
        };
        let node = plant.add(name, NodeKind::EndStation(station));
        plant.link((node, 0), (hub, port), RATE);
        node
    };
    let pcs = [("pc1", 0), ("pc2", 1)].map(|(name, port)| attach(name, port, Some(layer())));
    let monitor = attach("monitor", 2, None);
    let [first, second] = pcs;
    let mut flows = vec![
        message(&plant, Platform::Linux, first, second),
        message(&plant, Platform::Linux, second, first),
    ];
    for (name, ends, size, start) in [
        ("file of pc1", (first, monitor), 3_000_000, 1),
        ("file of pc2", (second, monitor), 1_000_000, 3),
        ("file for pc1", (monitor, first), 1_000_000, 10),
    ] {
        let is_paced = station == Station::AboveTcp && ends.0 != monitor;
        let traffic = Traffic::Bulk(BulkTraffic {
            transfers: vec![Transfer {
                start: Duration::from_secs(start),
                size: Some(Bytes::new(size)),
            }],
            bursts: None,
            rate: is_paced.then_some(PACED),
            tcp: TCP,
        });
        let form = (Encapsulation::Tcp, TCP.segment);
        flows.push(flow(name, ends, form, traffic));
    }
    let name = "a burst on a hub (Kweon)";
    let times = (length, Duration::ZERO);
    (plant::scenario(name, plant.network, flows, times), 2, first)
}

fn message(plant: &Plant, platform: Platform, from: NodeId, to: NodeId) -> Flow {
    let (encapsulation, connection) = match platform {
        Platform::Linux => (Encapsulation::Tcp, Some(TCP)),
        Platform::Nt => (Encapsulation::Udp, None),
    };
    let name = format!("messages of {}", plant.network.node(from).name);
    let traffic = Traffic::Poisson { mean_interval: MESSAGE_GAP };
    Flow {
        class: "messages".into(),
        dscp: DSCP,
        deadline: Some(DEADLINE),
        connection,
        ..echoed(flow(&name, (from, to), (encapsulation, MESSAGE), traffic))
    }
}

fn files(plant: &Plant, bulk: Bulk, from: NodeId, to: NodeId) -> Flow {
    let name = format!("files of {}", plant.network.node(from).name);
    let traffic = Traffic::Bulk(BulkTraffic {
        transfers: Vec::new(),
        bursts: Some(Bursts {
            size: FILE,
            mean_gap: match bulk {
                Bulk::NonGreedy => Some(FILE_GAP),
                Bulk::Greedy => None,
            },
        }),
        rate: None,
        tcp: TCP,
    });
    let form = (Encapsulation::Tcp, TCP.segment);
    Flow { class: "files".into(), ..flow(&name, (from, to), form, traffic) }
}
