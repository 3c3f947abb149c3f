//! Saihu's networks of output ports, as JSON: `network`, `flows` with arrival curves, `servers` with
//! service curves.
//!
//! Saihu and its tools count bits as a fluid; frames are not, and tools differ in what they know of
//! that. So there are two files of one plant.
//!
//! - A flow's curve counts a frame when its last bit has come. A periodic flow with period T, jitter
//!   J and L octets on the wire is limited by L (1 + J / T) + L t / T, which lies above its stairs.
//! - A port serves at the rate of its link, C, behind the latency of the wire and of the switch
//!   behind it.
//! - `packets.json` says that links shape and switches store and forward (`IS`, `PK`): for tools that
//!   know packetizers, xTFA and the linear TFA.
//! - `fluid.json` is for those that do not, panco and DNC. A packetizer takes the largest frame M
//!   there off the service curve (Le Boudec and Thiran 2001, theorem 1.7.1), so that M / C is a part
//!   of a port's latency, but for ports behind which there is none. A link that sends frames exceeds
//!   C t by one, so links do not shape: their capacity is a thousand times their rate.
//!
//! A multicast flow has its branches under `multicast` in the first, and is a flow for each listener
//! in the second.

use std::collections::{BTreeMap, BTreeSet};

use rtether_model::flow::{Delivery, Flow, Traffic};
use rtether_model::network::{Cost, Duplex, EndStation, ForwardingMode, NodeKind, Stack};
use rtether_model::quantity::{Bytes, Duration};
use rtether_model::route::{Hop, Routing};

use rtether_model::wire::{Frames, TAG, wire_size};
use rtether_report::number::ns;
use rtether_report::text::few;
use serde_json::{Value, json};

use super::{Exported, Reasons};
use crate::scenario::Scenario;

/// Writes the file.
pub(super) fn export(scenario: &Scenario) -> Result<Exported, Reasons> {
    let reasons = reasons(scenario);
    if !reasons.is_empty() {
        return Err(Reasons(reasons));
    }
    let plant = Plant::of(scenario)?;
    let copied = scenario.flows.iter().filter(|flow| flow.listeners.len() > 1);
    let copied: Vec<String> = copied.map(|flow| flow.name.clone()).collect();
    let mut notes = vec![
        "packets.json is for xTFA and the linear TFA, fluid.json for tools that know no packets"
            .to_owned(),
    ];
    if let Some(names) = few(&copied) {
        notes.push(format!(
            "fluid.json has a flow for each listener of {names}: on common ways their frames count \
             as often"
        ));
    }
    let file = |form: Form| format!("{:#}\n", plant.document(&scenario.name, form));
    Ok(Exported {
        files: vec![
            ("packets.json".to_owned(), file(Form::Packets)),
            ("fluid.json".to_owned(), file(Form::Fluid)),
        ],
        notes,
    })
}

/// How frames are told.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Form {
    Packets,
    Fluid,
}

/// Ports and ways of a plant.
struct Plant<'s> {
    ports: BTreeMap<String, Port>,
    /// Each flow with its ways.
    flows: Vec<(&'s Flow, Vec<Way<'s>>)>,
}

/// A listener, and the names of ports on the way to it.
type Way<'s> = (&'s str, Vec<String>);

impl<'s> Plant<'s> {
    fn of(scenario: &'s Scenario) -> Result<Self, Reasons> {
        let network = &scenario.network;
        let routing = Routing::new(network);
        let mut plant = Self { ports: BTreeMap::new(), flows: Vec::new() };
        for flow in &scenario.flows {
            let mut paths = Vec::new();
            for &listener in &flow.listeners {
                let hops = routing
                    .flow_path(network, flow, listener)
                    .map_err(|_| Reasons(vec![format!("`{}`: it has no single way", flow.name)]))?;
                let to = network.node(listener).name.as_str();
                paths.push((to, path(scenario, &hops, flow, &mut plant.ports)));
            }
            plant.flows.push((flow, paths));
        }
        Ok(plant)
    }

    fn document(&self, name: &str, form: Form) -> Value {
        let flows = self.flows.iter().flat_map(|(flow, paths)| {
            if form == Form::Packets && flow.delivery == Delivery::Multicast {
                return vec![describe(flow, paths)];
            }
            let paths = paths.iter();
            let flows = paths.map(|path| describe(flow, std::slice::from_ref(path)));
            flows.collect()
        });
        let options: &[&str] = match form {
            Form::Packets => &["IS", "PK"],
            Form::Fluid => &[],
        };
        let servers = self.ports.values().map(|port| port.describe(form));
        json!({
            "network": {
                "name": name,
                "packetizer": form == Form::Packets,
                "multiplexing": "FIFO",
                "analysis_option": options,
                "time_unit": "ns",
                "data_unit": "B",
                "rate_unit": "bps",
            },
            "flows": flows.collect::<Vec<Value>>(),
            "servers": servers.collect::<Vec<Value>>(),
        })
    }
}

/// An output port.
struct Port {
    name: String,
    rate: u64,
    latency: Duration,
    /// Octets of the largest frame on the wire.
    largest: Bytes,
    /// Whether another port comes behind it.
    is_inner: bool,
}

impl Port {
    fn describe(&self, form: Form) -> Value {
        let frame = if self.is_inner && form == Form::Fluid {
            let bits = u128::from(self.largest.get()) * 8 * 1_000_000_000_000;
            let time = bits.div_ceil(u128::from(self.rate.max(1)));
            Duration::from_ps(i64::try_from(time).unwrap_or(i64::MAX))
        } else {
            Duration::ZERO
        };
        // Saihu takes a curve without latency for one that another makes redundant.
        let latency = (self.latency + frame).max(Duration::from_ps(1));
        let capacity = match form {
            Form::Packets => self.rate,
            Form::Fluid => self.rate.saturating_mul(1_000),
        };
        json!({
            "name": self.name,
            "service_curve": { "latencies": [ns(latency)], "rates": [self.rate] },
            "capacity": capacity,
        })
    }
}

/// Returns the names of the ports on a way, and notes them.
fn path(
    scenario: &Scenario,
    hops: &[Hop],
    flow: &Flow,
    ports: &mut BTreeMap<String, Port>,
) -> Vec<String> {
    let network = &scenario.network;
    let frame = largest(flow);
    let mut names = Vec::new();
    for (number, hop) in hops.iter().enumerate() {
        let node = |id| network.node(id);
        let name = format!("{}-o{}", node(hop.egress.node).name, hop.egress.port + 1);
        let link = &network.links[hop.link.index()];
        let behind = match &node(hop.ingress.node).kind {
            NodeKind::Switch(switch) => {
                switch.latency + switch.unknown_latency + switch.latency_jitter
            }
            NodeKind::EndStation(_) | NodeKind::Hub(_) => Duration::ZERO,
        };
        let port = ports.entry(name.clone()).or_insert_with(|| Port {
            name: name.clone(),
            rate: link.rate.as_bps(),
            latency: link.propagation + behind,
            largest: Bytes::ZERO,
            is_inner: false,
        });
        port.largest = port.largest.max(frame);
        port.is_inner |= number + 1 < hops.len();
        names.push(name);
    }
    names
}

/// Returns the octets of a flow's frames on the wire: those of a message, and of the largest frame.
fn octets(flow: &Flow) -> (Bytes, Bytes) {
    let frames = Frames::of_packet(flow.payload, flow.encapsulation);
    let tag = flow.tag.map_or(Bytes::ZERO, |_| TAG);
    let of = |frame: Bytes| wire_size(frame + tag);
    let all = of(frames.full).get() * u64::from(frames.count - 1) + of(frames.last).get();
    (Bytes::new(all), of(frames.full).max(of(frames.last)))
}

fn largest(flow: &Flow) -> Bytes {
    octets(flow).1
}

/// Returns a flow with its ways: the first, and those of further listeners.
fn describe(flow: &Flow, paths: &[Way<'_>]) -> Value {
    let (message, frame) = octets(flow);
    // What comes at once, and in which time again.
    let (times, period, jitter) = match flow.traffic {
        Traffic::Periodic { period, release_jitter, .. } => (1, period, release_jitter),
        Traffic::Flood { interval } => (1, interval, Duration::ZERO),
        Traffic::Sporadic { min_gap, burst, .. } => (burst, min_gap, Duration::ZERO),
        // Refused above.
        Traffic::Poisson { .. } | Traffic::Adaptive { .. } | Traffic::Bulk(_) => {
            return Value::Null;
        }
    };
    let wide = |time: Duration| u128::try_from(time.as_ps()).unwrap_or(0);
    let period = wide(period).max(1);
    let at_once = u128::from(message.get()) * u128::from(times);
    let burst = at_once + (at_once * wide(jitter)).div_ceil(period);
    let rate = (at_once * 8 * 1_000_000_000_000).div_ceil(period);
    let number = |value: u128| u64::try_from(value).unwrap_or(u64::MAX);
    let Some(((to, path), others)) = paths.split_first() else {
        return Value::Null;
    };
    let mut document = json!({
        "name": match others {
            [] => format!("{} > {to}", flow.name),
            _ => flow.name.clone(),
        },
        "path": path,
        "path_name": to,
        "arrival_curve": { "bursts": [number(burst)], "rates": [number(rate)] },
        "max_packet_length": frame.get(),
        "min_packet_length": wire_size(Bytes::new(64)).get(),
    });
    if !others.is_empty() {
        let others = others.iter();
        let others = others.map(|(to, path)| json!({ "name": to, "path": path }));
        document["multicast"] = others.collect();
    }
    document
}

/// Returns all that Saihu cannot be told.
fn reasons(scenario: &Scenario) -> Vec<String> {
    let network = &scenario.network;
    let mut reasons = Vec::new();
    let mut refuse = |names: Vec<String>, why: &str| {
        if let Some(names) = few(&names) {
            reasons.push(format!("{names}: {why}"));
        }
    };
    let nodes = |is: &dyn Fn(&NodeKind) -> bool| -> Vec<String> {
        let found = network.nodes.iter().filter(|node| is(&node.kind));
        found.map(|node| node.name.clone()).collect()
    };
    refuse(nodes(&|kind| matches!(kind, NodeKind::Hub(_))), "Saihu knows no shared medium");
    refuse(
        nodes(&|kind| matches!(kind, NodeKind::EndStation(station) if !is_plain(station))),
        "Saihu knows no stacks, tasks, queues or smoothers of stations; try `--without-stacks`",
    );
    refuse(
        nodes(
            &|kind| matches!(kind, NodeKind::EndStation(station) if station.redundancy.is_some()),
        ),
        "Saihu knows no station in two networks",
    );
    refuse(
        nodes(&|kind| {
            matches!(kind, NodeKind::Switch(switch)
                if switch.router.is_some() || switch.mode != ForwardingMode::StoreAndForward)
        }),
        "only switches that store and forward are exported",
    );
    let half = network.links.iter().filter(|link| link.duplex != Duplex::Full);
    let half = half.map(|link| network.node(link.ends[0].node).name.clone());
    refuse(half.collect(), "Saihu knows no half duplex");
    let flows = |is: &dyn Fn(&Flow) -> bool| -> Vec<String> {
        let found = scenario.flows.iter().filter(|flow| is(flow));
        found.map(|flow| flow.name.clone()).collect()
    };
    refuse(
        flows(&|flow| {
            let open = matches!(
                flow.traffic,
                Traffic::Poisson { .. } | Traffic::Adaptive { .. } | Traffic::Bulk(_)
            );
            open || flow.connection.is_some() || flow.is_published()
        }),
        "nothing limits what they release; try `--without-flows`",
    );
    refuse(
        flows(&|flow| flow.reply.is_some()),
        "when answers are sent depends on delays, which Saihu computes",
    );
    if has_priorities(scenario) {
        refuse(
            nodes(&selects),
            "ports with several priorities, of which Saihu knows none; try \
             `--set switches.NAME.selection=fcfs`",
        );
    }
    reasons
}

/// Returns whether flows have different priorities.
fn has_priorities(scenario: &Scenario) -> bool {
    let flows = scenario.flows.iter();
    let all: BTreeSet<u8> = flows.map(|flow| flow.tag.map_or(0, |tag| tag.pcp.get())).collect();
    all.len() > 1
}

/// Returns whether ports of a switch do not send in order of arrival.
fn selects(kind: &NodeKind) -> bool {
    match kind {
        NodeKind::Switch(switch) => {
            switch.plans().chain([switch.plan()]).any(|plan| !plan.needs_only(&[]))
        }
        NodeKind::EndStation(_) | NodeKind::Hub(_) => false,
    }
}

/// Returns whether a station only sends and receives.
fn is_plain(station: &EndStation) -> bool {
    let zero = |cost: &Cost| *cost == Cost::default();
    let is_free = match &station.stack {
        Stack::Zero => true,
        Stack::Linear(own) => {
            zero(&own.send)
                && zero(&own.receive)
                && zero(&own.interface)
                && own.jitter.outliers.is_none()
                && own.jitter.spread == rtether_model::network::Spread::None
        }
        Stack::IpRate { .. } | Stack::Rtos(_) => false,
    };
    is_free
        && station.unknown.is_empty()
        && station.layer.is_none()
        && station.tasks.is_none()
        && station.arp.is_none()
        && !station.by_deadline
}
