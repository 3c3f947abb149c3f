//! Minimum time of a path, by the arithmetic of the wire and the base costs of the stacks.

use rtether_model::flow::{Flow, Traffic};
use rtether_model::network::{Cost, ForwardingMode, Network, NodeId, Stack};
use rtether_model::quantity::{Bytes, Duration};
use rtether_model::route::{Hop, Routing};
use rtether_model::wire;

/// Octets a cut-through switch waits for: preamble and header.
pub(super) const CUT_THROUGH_HEADER: Bytes = Bytes::new(22);

/// Lower bounds of all streams of a plant.
pub(super) struct Floors<'a> {
    pub(super) network: &'a Network,
    pub(super) routing: Routing,
}

impl<'a> Floors<'a> {
    pub(super) fn new(network: &'a Network) -> Self {
        Self { network, routing: Routing::new(network) }
    }

    /// Minimum latency of a frame of a stream; `frame` is its untagged size, and that of the reply
    /// comes from the flow.
    pub(super) fn latency(&self, flow: &Flow, listener: NodeId, frame: Bytes) -> Duration {
        let hops = self.routing.flow_path(self.network, flow, listener);
        let is_bulk = matches!(flow.traffic, Traffic::Bulk(_));
        let there =
            self.nodes(flow.talker, listener, frame, is_bulk) + self.hops(&hops.unwrap(), frame);
        let Some(reply) = flow.reply else {
            return there;
        };
        let back = self.routing.answer_path(self.network, flow, listener);
        let frames = flow.frames(reply.payload);
        let frame = frames.full.min(frames.last);
        there
            + reply.after
            + self.nodes(listener, flow.talker, frame, false)
            + self.hops(&back.unwrap(), frame)
    }

    /// Untagged frame size of a flow; the shortest one for bulk flows.
    pub(super) fn frame(flow: &Flow) -> Bytes {
        if matches!(flow.traffic, Traffic::Bulk(_)) {
            wire::MIN_FRAME
        } else {
            // The fragment that completes a datagram is the last one or a full one.
            let frames = flow.frames(flow.payload);
            frames.full.min(frames.last)
        }
    }

    /// Time in stacks and tasks at both ends.
    fn nodes(&self, from: NodeId, to: NodeId, frame: Bytes, is_bulk: bool) -> Duration {
        let [from, to] = [from, to].map(|node| self.network.end_station(node).unwrap());
        // TCP has a segment before the program that reads the file.
        let sending = from.tasks.map(|t| if is_bulk { t.segment } else { t.message });
        let receiving = to.tasks.filter(|_| !is_bulk).map(|tasks| tasks.message);
        let tasks = sending.into_iter().chain(receiving).sum::<Duration>();
        let stacks = [(from, 0), (to, 1)];
        let stacks = stacks.map(|(node, way)| stack_costs(&node.stack, is_bulk)[way].of(frame));
        tasks + stacks.into_iter().sum::<Duration>()
    }

    /// Time that the network interface of a node adds to a frame; zero for a switch.
    pub(super) fn interface(&self, node: NodeId, frame: Bytes) -> Duration {
        match self.network.end_station(node).map(|station| &station.stack) {
            Some(Stack::Linear(linear)) => linear.interface.of(frame),
            _ => Duration::ZERO,
        }
    }

    fn hops(&self, hops: &[Hop], frame: Bytes) -> Duration {
        let mut total = Duration::ZERO;
        for (index, hop) in hops.iter().enumerate() {
            let link = &self.network.links[hop.link.index()];
            let next = hops.get(index + 1);
            let is_cut_through = self.network.switch(hop.ingress.node).is_some_and(|switch| {
                let next = &self.network.links[next.unwrap().link.index()];
                switch.mode == ForwardingMode::CutThrough && next.rate <= link.rate
            });
            total += if is_cut_through {
                link.rate.time_ceil(CUT_THROUGH_HEADER)
            } else {
                wire::wire_time(frame, link.rate)
            };
            total += link.propagation;
            for end in [hop.egress.node, hop.ingress.node] {
                total += self.interface(end, frame);
            }
            let switch = self.network.switch(hop.ingress.node);
            total += switch.map_or(Duration::ZERO, |switch| switch.latency);
        }
        total
    }
}

/// Costs of sending and receiving.
fn stack_costs(stack: &Stack, is_bulk: bool) -> [Cost; 2] {
    match stack {
        Stack::Zero => [Cost::default(); 2],
        Stack::IpRate { service } => [Cost { base: *service, ..Cost::default() }; 2],
        Stack::Linear(linear) => [linear.send, linear.receive],
        Stack::Rtos(rtos) if is_bulk => [rtos.segment; 2],
        Stack::Rtos(rtos) => [rtos.datagram; 2],
    }
}
