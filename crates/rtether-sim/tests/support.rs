//! Small plants for tests, built by name.

use rtether_model::flow::{Flow, Phase, Tag, Traffic};
use rtether_model::network::{
    EndStation, Hub, Link, Network, NodeId, NodeKind, Pcp, PortVlan, Stack, Switch, Vid,
};
use rtether_model::quantity::{BitRate, Bytes, Duration, Instant};
use rtether_model::record::Record;
use rtether_sim::observe::{NoObserver, Observer};
use rtether_sim::{Config, Simulation};

/// A network under construction.
#[derive(Clone, Debug, Default)]
pub(crate) struct Plant {
    pub(crate) network: Network,
    pub(crate) flows: Vec<Flow>,
}

/// A store-and-forward switch without latency, one queue, ample memory and static addresses.
pub(crate) fn plain_switch() -> Switch {
    Switch::new(0)
}

/// A flow of 60 octets over UDP every millisecond, released at 0, 1, 2, ... ms.
pub(crate) fn periodic(name: &str, talker: NodeId, listener: NodeId) -> Flow {
    Flow::new(
        name.into(),
        talker,
        vec![listener],
        Bytes::new(60),
        Traffic::periodic(Duration::from_ms(1), Phase::Fixed(Duration::ZERO)),
    )
}

/// A tag, ready for [`Flow::tag`].
#[allow(clippy::unnecessary_wraps, reason = "assigned to an optional field")]
pub(crate) fn tag(pcp: u8, vid: u16) -> Option<Tag> {
    Some(Tag { pcp: Pcp::new(pcp).unwrap(), vid: Vid::new(vid).unwrap() })
}

impl Plant {
    pub(crate) fn station(&mut self, stack: Stack) -> NodeId {
        let name = format!("s{}", self.network.nodes.len());
        let station = EndStation { driver_queue: Bytes::new(1_518_000), ..EndStation::new(stack) };
        self.network.add(name, NodeKind::EndStation(station))
    }

    pub(crate) fn switch(&mut self, switch: Switch) -> NodeId {
        let name = format!("sw{}", self.network.nodes.len());
        self.network.add(name, NodeKind::Switch(switch))
    }

    pub(crate) fn hub(&mut self, mbps: u64, delay: Duration) -> NodeId {
        let name = format!("hub{}", self.network.nodes.len());
        let hub = Hub { delay, ..Hub::new(BitRate::from_mbps(mbps), 0) };
        self.network.add(name, NodeKind::Hub(hub))
    }

    /// Joins two nodes by their next free ports; a switch gets a new one.
    pub(crate) fn join(&mut self, a: NodeId, b: NodeId, mbps: u64) -> &mut Link {
        self.network.join(a, b, BitRate::from_mbps(mbps))
    }

    /// Sets the VLAN of a switch port.
    pub(crate) fn vlan(&mut self, switch: NodeId, port: usize, vlan: PortVlan) {
        if let NodeKind::Switch(switch) = &mut self.network.nodes[switch.index()].kind {
            switch.ports[port].vlan = vlan;
        }
    }

    pub(crate) fn flow(&mut self, flow: Flow) -> &mut Flow {
        self.flows.push(flow);
        self.flows.last_mut().unwrap()
    }

    pub(crate) fn simulation(&self, seed: u64) -> Simulation {
        let config = Config { seed, warmup: Duration::ZERO, bucket: Duration::ZERO };
        Simulation::new(&self.network, &self.flows, &config).unwrap()
    }

    /// Runs for `ms` milliseconds and checks conservation.
    pub(crate) fn run(&self, ms: i64) -> Record {
        self.run_with(ms, 1, &mut NoObserver)
    }

    pub(crate) fn run_with<O: Observer>(&self, ms: i64, seed: u64, observer: &mut O) -> Record {
        let mut simulation = self.simulation(seed);
        simulation.run_until(Instant::ZERO + Duration::from_ms(ms), observer);
        simulation.invariants().unwrap();
        simulation.finish()
    }
}

/// Two stations at one switch, all at 100 Mbit/s, and the flow of [`periodic`] between them.
pub(crate) fn two_stations(stack: &Stack) -> Plant {
    let mut plant = Plant::default();
    let switch = plant.switch(plain_switch());
    let [a, b] = [(); 2].map(|()| plant.station(stack.clone()));
    plant.join(switch, a, 100);
    plant.join(switch, b, 100);
    plant.flow(periodic("f", a, b));
    plant
}
