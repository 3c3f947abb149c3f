//! Probability that a frame waits longer than a time at a port of a switch (catalogue R19). A
//! model, never a bound.
//!
//! All frames at the port have one size and one priority, and come at random: the flows are
//! Poisson, or sporadic with single packets. Two models, exact in themselves, stand side by side:
//!
//! - *Poisson*: frames come independently of each other and of the links they come by: M/D/1.
//! - *binomial*: time is divided into slots of one frame, in each of which every link that leads to
//!   the port brings one with the probability of its load. A link that is no faster than the port
//!   can bring no more, so that one link alone never lets a frame wait. Faster links can.
//!
//! Both take arrivals for independent over time, although queues on the way have put frames in
//! rows, and the memory for unlimited. Sporadic flows come less at random than either says.
//!
//! Sources: 000 Skeie II with Song, both arrivals at a switch with one priority; M. Karol, M.
//! Hluchyj and S. Morgan, IEEE Transactions on Communications 35(12), 1987, for the queue in slots;
//! G. J. Franx, Operations Research Letters 29(5), 2001, for M/D/1.

use rtether_report::text::real_len;

mod chain;
mod output;
mod queue;
#[cfg(test)]
mod tests;

use std::collections::BTreeMap;

use rtether_model::flow::{Delivery, Flow, Traffic};
use rtether_model::network::{Network, NodeKind, PortId, Switch};
use rtether_model::quantity::{Bytes, Duration};
use rtether_model::route::{Hop, Routing};
use rtether_model::wire;

use crate::scenario::Scenario;
pub(crate) use output::WaitsJson;
use queue::{Random, Slotted, quantile};

/// The assumptions in one sentence, shown with every table.
const MODEL: &str = "a model, not a bound: frames of one size and priority that come independently \
    of each other, at any moment (Poisson, M/D/1) or in slots of one frame with at most one from each \
    link (binomial), into unlimited memory; check it by simulation";

/// Load beyond which the models are of no use: waits are longer than any run.
const FULL: f64 = 0.9999;

/// Waits at one port of a switch.
#[derive(Clone, Debug)]
pub struct PortWaits {
    /// The port.
    pub port: PortId,
    /// The models, or why there is none.
    pub model: Result<Model, NoModel>,
}

/// Why there is no model for a port.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NoModel {
    /// Frames of a flow that is periodic, waits for answers, or goes over TCP or RTPS.
    Regular,
    /// Frames of several sizes.
    Sizes,
    /// Frames of several priorities.
    Priorities,
    /// A load of one, or nearly.
    Overload,
    /// The link is half duplex.
    SharedMedium,
}

impl NoModel {
    /// Returns the reason in words.
    pub const fn words(self) -> &'static str {
        match self {
            Self::Regular => "a flow there is not aperiodic",
            Self::Sizes => "frames of several sizes",
            Self::Priorities => "frames of several priorities",
            Self::Overload => "overload",
            Self::SharedMedium => "shared medium",
        }
    }
}

/// The models of one port.
#[derive(Clone, Debug)]
pub struct Model {
    /// Time of a frame on the link, with preamble and gap.
    pub frame: Duration,
    /// Share of time in which the port sends.
    pub load: f64,
    /// Links by which the frames come.
    pub inputs: usize,
    random: Random,
    /// `None` if a faster link brings more than one frame in a slot.
    slotted: Option<Slotted>,
}

impl Model {
    fn new(frame: Duration, inputs: &[f64]) -> Result<Self, NoModel> {
        let load: f64 = inputs.iter().sum();
        if load >= FULL {
            return Err(NoModel::Overload);
        }
        Ok(Self {
            frame,
            load,
            inputs: inputs.len(),
            random: Random::new(frame, load),
            slotted: Some(Slotted::new(frame, inputs.iter().copied())),
        })
    }

    /// Returns the probability that a frame waits longer than this, with Poisson arrivals.
    pub fn poisson(&self, time: Duration) -> f64 {
        self.random.beyond(time)
    }

    /// Returns the same with binomial arrivals; `None` if a faster link leads to the port.
    pub fn binomial(&self, time: Duration) -> Option<f64> {
        Some(self.slotted.as_ref()?.beyond(time))
    }

    /// Returns the mean waits in frames, with Poisson and with binomial arrivals.
    pub fn mean_frames(&self) -> (f64, Option<f64>) {
        let slotted = self.slotted.as_ref();
        (self.random.mean_frames(), slotted.map(Slotted::mean_frames))
    }

    /// Returns the wait that is exceeded with at most this probability by Poisson arrivals, in
    /// whole nanoseconds; `None` beyond a second.
    pub fn exceeded_with(&self, most: f64) -> Option<Duration> {
        quantile(|time| self.random.beyond(time), most)
    }
}

/// Waits at the ports of all switches, and the time that is asked for.
#[derive(Debug)]
pub struct Waits<'a> {
    /// The scenario.
    pub scenario: &'a Scenario,
    /// The time.
    pub time: Duration,
    /// Ports with frames, by node and port.
    pub ports: Vec<PortWaits>,
}

impl Waits<'_> {
    /// Returns whether a time may be asked for: up to a second.
    pub fn takes(time: Duration) -> bool {
        !time.is_negative() && time <= queue::LONGEST
    }
}

/// What is known of the frames at a port.
#[derive(Default)]
struct Load {
    /// Frames per second by link on which they come.
    inputs: BTreeMap<PortId, f64>,
    size: Option<Bytes>,
    queue: Option<u8>,
    refused: Option<NoModel>,
}

impl Load {
    fn refuse(&mut self, reason: NoModel) {
        self.refused.get_or_insert(reason);
    }
}

/// Computes the waits at the ports of all switches of a scenario.
pub fn waits(scenario: &Scenario, time: Duration) -> Waits<'_> {
    let network = &scenario.network;
    let routing = Routing::new(network);
    let mut loads: BTreeMap<PortId, Load> = BTreeMap::new();
    for flow in &scenario.flows {
        let rate = mean_rate(flow);
        let mut seen = Vec::new();
        for &listener in &flow.listeners {
            let there = routing.flow_path(network, flow, listener);
            let hops = there.unwrap_or_default();
            add(network, &mut loads, flow, (flow.payload, rate), &hops, &mut seen);
            if flow.reply.is_some() || flow.is_acknowledged() {
                let back = routing.answer_path(network, flow, listener);
                let payload = flow.reply.map_or(Bytes::ZERO, |reply| reply.payload);
                let hops = back.unwrap_or_default();
                add(network, &mut loads, flow, (payload, rate), &hops, &mut Vec::new());
            }
        }
    }
    let ports = loads
        .into_iter()
        .map(|(port, load)| PortWaits { port, model: model(network, &routing, port, &load) });
    Waits { scenario, time, ports: ports.collect() }
}

/// Returns the packets of an aperiodic flow to one listener per second.
fn mean_rate(flow: &Flow) -> Option<f64> {
    let is_plain = flow.connection.is_none() && !flow.is_published() && !flow.is_fragmented();
    let gap = match flow.traffic {
        Traffic::Poisson { mean_interval } => mean_interval,
        Traffic::Sporadic { mean_gap, burst: 1, .. } => mean_gap,
        Traffic::Sporadic { .. }
        | Traffic::Periodic { .. }
        | Traffic::Flood { .. }
        | Traffic::Adaptive { .. }
        | Traffic::Bulk(_) => return None,
    };
    (is_plain && gap > Duration::ZERO).then(|| 1.0 / gap.as_secs_f64())
}

/// Adds the frames of a flow on its way to the ports of switches; `seen` are those that a group has
/// already passed.
fn add(
    network: &Network,
    loads: &mut BTreeMap<PortId, Load>,
    flow: &Flow,
    (payload, rate): (Bytes, Option<f64>),
    hops: &[Hop],
    seen: &mut Vec<PortId>,
) {
    let mut is_tagged = flow.tag.is_some();
    let mut pcp = flow.tag.map_or(0, |tag| tag.pcp.get());
    for pair in hops.windows(2) {
        let [before, hop] = [&pair[0], &pair[1]];
        let port = hop.egress;
        let NodeKind::Switch(switch) = &network.node(port.node).kind else {
            continue;
        };
        if !is_tagged {
            pcp = switch.ports[usize::from(before.ingress.port)].default_pcp.get();
        }
        is_tagged = leaves_tagged(switch, port.port, flow, is_tagged);
        if flow.delivery == Delivery::Multicast && seen.contains(&port) {
            continue;
        }
        seen.push(port);
        let load = loads.entry(port).or_default();
        let Some(rate) = rate else {
            load.refuse(NoModel::Regular);
            continue;
        };
        let tag = if is_tagged { wire::TAG } else { Bytes::ZERO };
        let size = flow.frames(payload).full + tag;
        if load.size.is_some_and(|known| known != size) {
            load.refuse(NoModel::Sizes);
        }
        load.size = Some(size);
        let queue = if switch.selection_at(port.port).uses_queues() {
            switch.queues.queue_of_value(pcp)
        } else {
            0
        };
        if load.queue.is_some_and(|known| known != queue) {
            load.refuse(NoModel::Priorities);
        }
        load.queue = Some(queue);
        *load.inputs.entry(before.ingress).or_default() += rate;
    }
}

/// Returns whether frames of a flow leave a port with a tag.
fn leaves_tagged(switch: &Switch, port: u16, flow: &Flow, is_tagged: bool) -> bool {
    let vid = flow.tag.map(|tag| tag.vid).filter(|vid| vid.get() != 0);
    let vlan = &switch.ports[usize::from(port)].vlan;
    let own = vid.and_then(|vid| vlan.sends_tagged(vid));
    let keeps = switch.tags == rtether_model::network::TagHandling::Keep;
    keeps && own.unwrap_or(is_tagged)
}

fn model(
    network: &Network,
    routing: &Routing,
    port: PortId,
    load: &Load,
) -> Result<Model, NoModel> {
    if let Some(refused) = load.refused {
        return Err(refused);
    }
    let link = |port| routing.link_at(port).map(|id| &network.links[id.index()]);
    let own = link(port).ok_or(NoModel::SharedMedium)?;
    let mut links = load.inputs.keys().filter_map(|&port| link(port)).chain([own]);
    if links.any(|link| network.is_half_duplex(link)) {
        return Err(NoModel::SharedMedium);
    }
    let size = load.size.unwrap_or(wire::MIN_FRAME);
    let frame = wire::occupancy(size, own.rate);
    let inputs = load.inputs.values();
    let inputs: Vec<f64> = inputs.map(|rate| rate * frame.as_secs_f64()).collect();
    let mut model = Model::new(frame, &inputs)?;
    let is_faster = |&port: &PortId| link(port).is_some_and(|link| link.rate > own.rate);
    if load.inputs.keys().any(is_faster) {
        model.slotted = None;
    }
    Ok(model)
}
