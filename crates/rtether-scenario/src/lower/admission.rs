//! Admission: the manager of a switch, as a station behind a port of its own.

use rtether_model::admission::Admission;
use rtether_model::flow::Flow;
use rtether_model::network::{
    Cost, EndStation, Jitter, LinearStack, Link, NodeId, NodeKind, PortId, Servers, Stack,
    SwitchPort,
};
use rtether_model::quantity::{BitRate, Bytes, Duration};
use rtether_model::wire;

use super::Plant;
use crate::codes;
use crate::diagnostic::{Diagnostic, Span, quote};
use crate::keys::table::ADMISSION;
use crate::reader::{Fields, Reader};

/// Longest time until a frame is repeated: that of all attempts is within the range of bounds.
const LONGEST_RETRY: Duration = Duration::from_secs(10);

/// Reads `admission:`, once nodes, links and flows are known.
pub(crate) fn admission(reader: &mut Reader<'_>, top: &Fields<'_>, plant: &mut Plant) {
    let Some(fields) = reader.one(top, "admission", &ADMISSION) else {
        return;
    };
    let span = top.key_span("admission").unwrap_or(fields.at);
    plant.admission_span = span;
    let number = |reader: &mut Reader<'_>, key: &str| {
        let count = reader.count(&fields, key)?;
        u32::try_from(count.value).ok()
    };
    let channels = number(reader, "channels").unwrap_or(Admission::CHANNELS);
    let accepts = number(reader, "accepts").unwrap_or(Admission::ACCEPTS);
    let attempts = number(reader, "attempts").unwrap_or(Admission::ATTEMPTS);
    let cost = reader.time_up_to(&fields, "cost", Duration::from_secs(1), "of a frame");
    let mut retry = reader.time_up_to(&fields, "retry", LONGEST_RETRY, "for one frame");
    if retry == Some(Duration::ZERO) {
        reader.positive_time(&fields, "retry");
        retry = None;
    }
    let Some(switch) = switch(reader, &fields, plant) else {
        return;
    };
    let Some(manager) = manager(reader, plant, switch, (span, cost)) else {
        return;
    };
    let mut admission = Admission {
        manager,
        channels,
        accepts,
        retry: retry.unwrap_or(Admission::RETRY),
        attempts,
        other: Bytes::ZERO,
    };
    plant.network.admission = Some(admission);
    admission.other = longest_other(plant);
    plant.network.admission = Some(admission);
}

/// Returns the switch that is named.
fn switch(reader: &mut Reader<'_>, fields: &Fields<'_>, plant: &Plant) -> Option<NodeId> {
    if !reader.require(fields, "at") {
        return None;
    }
    let at = reader.scalar(fields, "at")?;
    let proposal = "`switches: { sw1: { ports: 8 } }`";
    let node = plant.node_or_report(reader, at.value, at.span, "manages channels", proposal)?;
    let own = plant.network.switch(node);
    if own.is_some_and(|switch| switch.router.is_none()) {
        return Some(node);
    }
    let title = format!("{} is not a switch", quote(at.value));
    let label = "channels are managed by a switch";
    reader.report(
        Diagnostic::new(&codes::ADMISSION_PLANT, title, at.span, label)
            .also(plant.node_spans[node.index()], "declared here")
            .help("name a switch"),
    );
    None
}

/// Adds the station of the manager.
fn manager(
    reader: &mut Reader<'_>,
    plant: &mut Plant,
    switch: NodeId,
    (span, cost): (Span, Option<Duration>),
) -> Option<NodeId> {
    let stack = match cost.filter(|&cost| cost > Duration::ZERO) {
        None => Stack::Zero,
        Some(base) => Stack::Linear(LinearStack {
            send: Cost::default(),
            receive: Cost { base, per_octet: Duration::ZERO },
            interface: Cost::default(),
            jitter: Jitter::default(),
            servers: Servers::Shared,
        }),
    };
    let name = format!("{}.manager", plant.network.node(switch).name);
    let station = NodeKind::EndStation(EndStation::new(stack));
    let manager = plant.add_node(reader, &name, span, station)?;
    let links = plant.network.links.iter();
    let own = links.filter(|link| link.ends.iter().any(|end| end.node == switch));
    let fastest = own.map(|link| link.rate).max();
    let NodeKind::Switch(own) = &mut plant.network.nodes[switch.index()].kind else {
        return None;
    };
    let port = PortId { node: switch, port: u16::try_from(own.ports.len()).ok()? };
    own.ports.push(SwitchPort::default());
    let rate = fastest.unwrap_or(BitRate::from_mbps(1_000));
    plant.add_link(Link::new([port, PortId::first(manager)], rate), span);
    Some(manager)
}

/// Returns the longest frame of flows that do not ask.
fn longest_other(plant: &Plant) -> Bytes {
    let full = wire::HEADER + wire::MAX_FRAME_PAYLOAD + wire::FCS;
    let longest = |flow: &Flow| {
        if flow.is_acknowledged() {
            return full;
        }
        let answer = flow.reply.map_or(Bytes::ZERO, |reply| reply.payload);
        let frames = [flow.frames(flow.payload), flow.frames(answer)];
        let frames = frames.map(|frames| frames.full.max(frames.last));
        frames[0].max(frames[1])
    };
    let (asking, others): (Vec<&Flow>, Vec<&Flow>) =
        plant.flows.iter().partition(|flow| flow.asks(&plant.network));
    let messages = asking.iter().map(|flow| {
        let octets = Admission::request(flow.listeners.len());
        wire::frame_size(octets, wire::Encapsulation::Raw)
    });
    let others = others.into_iter().map(longest);
    others.chain(messages).max().unwrap_or(Bytes::ZERO)
}
