//! Plants for timed runs.
#![allow(dead_code, reason = "each benchmark uses a part")]

use rtether_model::flow::{Flow, Phase, Traffic};
use rtether_model::network::{Duplex, EndStation, Hub, Network, NodeId, NodeKind, Stack, Switch};
use rtether_model::quantity::{BitRate, Bytes, Duration, Instant};
use rtether_model::record::Record;
use rtether_sim::observe::NoObserver;
use rtether_sim::{Config, Simulation};

/// A plant with its traffic, and the duration of the run.
pub(crate) struct Workload {
    pub(crate) network: Network,
    pub(crate) flows: Vec<Flow>,
    pub(crate) duration: Duration,
}

impl Workload {
    pub(crate) fn simulation(&self) -> Simulation {
        let config = Config { seed: 1, warmup: Duration::ZERO, bucket: Duration::ZERO };
        Simulation::new(&self.network, &self.flows, &config).expect("a plant that can be built")
    }

    pub(crate) fn run(&self) -> Record {
        run(self.simulation(), self.duration)
    }

    fn station(&mut self, stack: &Stack) -> NodeId {
        // Events of one instant go by name: padded, so that names have the order of numbers.
        let name = format!("s{:05}", self.network.nodes.len());
        let station =
            EndStation { driver_queue: Bytes::new(1 << 20), ..EndStation::new(stack.clone()) };
        self.network.add(name, NodeKind::EndStation(station))
    }

    fn switch(&mut self) -> NodeId {
        let name = format!("sw{}", self.network.nodes.len());
        self.network.add(name, NodeKind::Switch(Switch::new(0)))
    }

    /// Joins two nodes; a switch gets a new port.
    fn join(&mut self, a: NodeId, b: NodeId, mbps: u64) {
        self.network.join(a, b, BitRate::from_mbps(mbps));
    }

    /// Adds a flow of 60 octets over UDP.
    fn flow(&mut self, talker: NodeId, listener: NodeId, period: Duration, phase: Phase) {
        self.flows.push(Flow {
            // The last packets arrive before the end.
            stop: Some(self.duration - Duration::from_us(500)),
            ..Flow::new(
                format!("f{:06}", self.flows.len()),
                talker,
                vec![listener],
                Bytes::new(60),
                Traffic::periodic(period, phase),
            )
        });
    }
}

/// Runs to the end.
pub(crate) fn run(mut simulation: Simulation, duration: Duration) -> Record {
    simulation.run_until(Instant::ZERO + duration, &mut NoObserver);
    simulation.finish()
}

/// Returns the number of packets delivered by all streams.
pub(crate) fn delivered(record: &Record) -> u64 {
    record.streams.iter().map(|stream| stream.delivered).sum()
}

fn empty(duration: Duration) -> Workload {
    Workload { network: Network::default(), flows: Vec::new(), duration }
}

/// Eighteen stations at one switch; sixteen send 1440 packets a second to each of the other two,
/// all in step: 46 080 packets a second.
pub(crate) fn star(stack: &Stack, duration: Duration) -> Workload {
    let mut star = empty(duration);
    let switch = star.switch();
    let stations: Vec<NodeId> = (0..18).map(|_| star.station(stack)).collect();
    for &station in &stations {
        star.join(switch, station, 100);
    }
    for &talker in &stations[..16] {
        for &listener in &stations[16..] {
            let period = Duration::from_secs(1) / 1_440;
            star.flow(talker, listener, period, Phase::Fixed(Duration::ZERO));
        }
    }
    star
}

/// Eleven stations at a hub of 100 Mbit/s, as in `benches/scenarios/hub.yaml`: ten send 5000
/// packets of 128 octets a second to the eleventh, as Poisson processes.
pub(crate) fn hub(duration: Duration) -> Workload {
    let mut plant = empty(duration);
    let hub = NodeKind::Hub(Hub::new(BitRate::from_mbps(100), 0));
    let hub = plant.network.add("hub", hub);
    let stations: Vec<NodeId> = (0..11).map(|_| plant.station(&Stack::Zero)).collect();
    for &station in &stations {
        plant.join(hub, station, 100);
    }
    for link in &mut plant.network.links {
        link.duplex = Duplex::Half;
        link.propagation = Duration::from_ns(25);
    }
    let mean_interval = Duration::from_us(200);
    for &talker in &stations[..10] {
        let phase = Phase::Fixed(Duration::ZERO);
        plant.flow(talker, stations[10], mean_interval, phase);
    }
    for flow in &mut plant.flows {
        flow.payload = Bytes::new(128);
        flow.traffic = Traffic::Poisson { mean_interval };
    }
    plant
}

/// A tree of switches with 24 ports at the stations and 48 above, 100 Mbit/s at the stations and 1
/// Gbit/s above. Each station has a flow; one in four crosses the tree, the others stay at or near
/// their switch. `packets` is the number in the whole run, rounded to whole flows.
pub(crate) fn tree(stations: u32, packets: u64, duration: Duration, stack: &Stack) -> Workload {
    let mut tree = empty(duration);
    let mut level = Vec::new();
    let mut all = Vec::new();
    for first in (0..stations).step_by(23) {
        let switch = tree.switch();
        level.push(switch);
        for _ in first..stations.min(first + 23) {
            let station = tree.station(stack);
            tree.join(switch, station, 100);
            all.push(station);
        }
    }
    while level.len() > 1 {
        let below = std::mem::take(&mut level);
        for children in below.chunks(47) {
            let upper = tree.switch();
            level.push(upper);
            for &child in children {
                tree.join(upper, child, 1_000);
            }
        }
    }
    let each = i64::try_from(packets / u64::from(stations)).expect("few packets");
    for (index, &talker) in all.iter().enumerate() {
        let distance = if index % 4 == 0 { all.len() / 2 } else { 1 };
        let listener = all[(index + distance) % all.len()];
        tree.flow(talker, listener, duration / each, Phase::Random);
    }
    tree
}

/// A substation: 40 bay nodes, 4 000 packets a second each, through stacks of 20 us.
pub(crate) fn substation(duration: Duration) -> Workload {
    let stack = Stack::IpRate { service: Duration::from_us(20) };
    let packets = 160 * u64::try_from(duration.as_ps() / 1_000_000_000).expect("a positive time");
    tree(40, packets, duration, &stack)
}
