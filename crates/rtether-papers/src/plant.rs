//! Small networks built in code, where a matrix of experiments would need dozens of scenario files.

use rtether_model::flow::{Flow, Phase, Reply, Traffic};
use rtether_model::network::{
    Buffer, EndStation, Hub, Link, Network, NodeId, NodeKind, PortId, Stack, Switch,
};
use rtether_model::quantity::{BitRate, Bytes, Duration};
use rtether_model::wire::Encapsulation;

use rtether::scenario::{Assumptions, Design, RunPlan, Scenario};

/// Delay of a patch cable of 5 m.
pub(crate) const PATCH: Duration = Duration::from_ns(25);

/// A network under construction.
#[derive(Default)]
pub(crate) struct Plant {
    pub(crate) network: Network,
}

impl Plant {
    pub(crate) fn add(&mut self, name: &str, kind: NodeKind) -> NodeId {
        self.network.add(name, kind)
    }

    pub(crate) fn station(&mut self, name: &str, stack: Stack) -> NodeId {
        self.add(name, NodeKind::EndStation(EndStation::new(stack)))
    }

    pub(crate) fn hub(&mut self, rate: BitRate, delay: Duration, ports: u16) -> NodeId {
        let hub = Hub { delay, ..Hub::new(rate, ports) };
        self.add("hub", NodeKind::Hub(hub))
    }

    /// Joins two ports with a patch cable.
    pub(crate) fn link(&mut self, a: (NodeId, u16), b: (NodeId, u16), rate: BitRate) {
        let port = |(node, port)| PortId { node, port };
        self.network.links.push(Link { propagation: PATCH, ..Link::new([port(a), port(b)], rate) });
    }
}

/// Returns a scenario of one run with seed 1.
pub(crate) fn scenario(
    name: &str,
    network: Network,
    flows: Vec<Flow>,
    (duration, warmup): (Duration, Duration),
) -> Scenario {
    Scenario {
        name: name.into(),
        network,
        flows,
        run: RunPlan { duration, warmup, runs: 1, seed: 1, bucket: Duration::ZERO },
        accept: Vec::new(),
        stages: Vec::new(),
        sums: Vec::new(),
        assumptions: Assumptions::default(),
        design: Design::default(),
    }
}

/// Returns releases at multiples of a period.
pub(crate) const fn periodic(period: Duration) -> Traffic {
    Traffic::periodic(period, Phase::Fixed(Duration::ZERO))
}

/// Returns a store-and-forward switch, not VLAN-aware, with one queue per port and 8 MB of frame
/// memory.
pub(crate) fn switch(ports: usize, latency: Duration) -> Switch {
    let memory = Bytes::new(8_000_000);
    Switch {
        latency,
        buffer: Buffer { per_port: memory, shared: Some(memory) },
        ..Switch::new(ports)
    }
}

/// Returns an untagged flow from one station to another.
pub(crate) fn flow(
    name: &str,
    (talker, listener): (NodeId, NodeId),
    (encapsulation, payload): (Encapsulation, Bytes),
    traffic: Traffic,
) -> Flow {
    Flow { encapsulation, ..Flow::new(name.into(), talker, vec![listener], payload, traffic) }
}

/// Returns the flow with an immediate reply of the same size.
pub(crate) fn echoed(mut flow: Flow) -> Flow {
    flow.reply = Some(Reply::new(flow.payload, Duration::ZERO));
    flow
}
