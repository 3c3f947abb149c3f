//! Links and their ends.

use rtether_model::network::{Duplex, ForwardingMode, Hub, Link, NodeId, PortId};
use rtether_model::quantity::{BitRate, Duration};
use rtether_model::wire::ETHERNET_MBPS;

use super::Plant;
use super::hubs::runs_half_duplex;
use crate::codes;
use crate::diagnostic::{Diagnostic, Span, quote};
use crate::help::Help;
use crate::keys::table::{DUPLEX, LINK};
use crate::reader::{At, Fields, Reader, bits_per_second, found, picoseconds};
use crate::tree::{Data, Value};
use crate::units::Quantity;

/// Propagation in copper and fiber: two thirds of the speed of light.
const PS_PER_MM: u64 = 5;

/// Reads `links:`.
pub(crate) fn links(reader: &mut Reader<'_>, top: &Fields<'_>, plant: &mut Plant) {
    for item in reader.items(top, "links") {
        let at = head(item);
        let Some(fields) = reader.fields(item, &LINK, "a link".into(), at) else {
            continue;
        };
        let given = reader.require(&fields, "ends");
        let ends = ends(reader, &fields, plant);
        let rate = rate_of_link(reader, &fields, plant, ends);
        let duplex = duplex(reader, &fields, plant, ends, rate);
        let propagation = propagation(reader, &fields);
        let errors = errors(reader, &fields, plant, ends);
        let standby = reader.flag(&fields, "standby").unwrap_or(false);
        let (Some((ends, span)), Some(rate), true) = (ends, rate, given) else {
            continue;
        };
        let link = Link { ends, rate, propagation, errors_per_billion: errors, standby, duplex };
        plant.add_link(link, span);
    }
}

/// Returns the hubs at the ends of a link.
fn hubs_of(plant: &Plant, ends: Option<Ends>) -> impl Iterator<Item = (NodeId, Hub)> {
    let nodes = ends.map(|(ends, _)| ends.map(|end| end.node));
    let hub = |node| plant.network.hub(node).map(|hub| (node, *hub));
    nodes.into_iter().flatten().filter_map(hub)
}

/// Reads the rate; defaults to that of the hub.
fn rate_of_link(
    reader: &mut Reader<'_>,
    fields: &Fields<'_>,
    plant: &Plant,
    ends: Option<Ends>,
) -> Option<BitRate> {
    let given = rate(reader, fields, "rate");
    let hubs: Vec<(NodeId, Hub)> = hubs_of(plant, ends).collect();
    let Some(&(first, hub)) = hubs.first() else {
        let agreed = ends.and_then(|(ends, _)| plant.offers.rate(ends));
        if agreed.is_some() && !fields.has("rate") {
            return agreed;
        }
        // If an end could not be read, the link may lead to a hub.
        if ends.is_some() || !fields.has("ends") {
            reader.require(fields, "rate");
        }
        if let (Some(rate), Some((ends, span))) = (given, ends) {
            offered(reader, plant, (ends, span), rate);
        }
        return given;
    };
    if plant.hubs_are_broken || (fields.has("rate") && given.is_none()) {
        return given.or(Some(hub.rate));
    }
    let place = fields.get("rate").map(|entry| entry.value.span);
    let place = place.or(ends.map(|(_, span)| span)).unwrap_or(fields.at);
    let rate = given.unwrap_or(hub.rate);
    let Some(&(other, unlike)) = hubs.iter().find(|(_, hub)| hub.rate != rate) else {
        return Some(rate);
    };
    let name = |node: NodeId| quote(&plant.network.node(node).name);
    let declared = plant.node_spans[other.index()];
    let diagnostic = if given.is_some() {
        let title =
            format!("a link of {rate} at hub {}, which runs at {}", name(other), unlike.rate);
        let label = "a hub repeats bit by bit, at one rate";
        let help = format!("leave out `rate`, or write `rate: {}`", unlike.rate);
        Diagnostic::new(&codes::HUB_MISMATCH, title, place, label).help(help)
    } else {
        let (a, b) = (name(first), name(other));
        let title = format!("hub {a} runs at {rate} and hub {b} at {}", unlike.rate);
        let label = "hubs that are linked have one rate";
        Diagnostic::new(&codes::HUB_MISMATCH, title, place, label).help("put a switch between them")
    };
    reader.report(diagnostic.also(declared, "declared here"));
    Some(rate)
}

/// Reports a rate that an end of a link does not offer.
fn offered(reader: &mut Reader<'_>, plant: &Plant, (ends, span): Ends, rate: BitRate) {
    for end in ends {
        let Some(most) = plant.offers.of(end).rate.filter(|most| *most < rate) else {
            continue;
        };
        let node = &plant.network.node(end.node).name;
        let title = format!("a link of {rate} at {}, which offers {most}", quote(node));
        let label = "both ends have to run at its rate";
        reader.report(
            Diagnostic::new(&codes::CONFLICTING_KEYS, title, span, label)
                .also(plant.node_spans[end.node.index()], "declared here")
                .help(format!(
                    "leave out `rate`, or write `rate: {most}`: both ends agree on the slower one"
                )),
        );
    }
}

/// Reads the duplex mode and checks that both ends support it.
fn duplex(
    reader: &mut Reader<'_>,
    fields: &Fields<'_>,
    plant: &Plant,
    ends: Option<Ends>,
    rate: Option<BitRate>,
) -> Duplex {
    let word = reader.word(fields, &DUPLEX);
    let hub = hubs_of(plant, ends).next();
    if let (Some((hub, _)), Some(word)) =
        (hub, word.as_ref().filter(|word| word.means == Duplex::Full))
    {
        let name = quote(&plant.network.node(hub).name);
        let title = format!("a link of hub {name} cannot be full-duplex");
        let label = "only one station at a hub may send at a time";
        reader.report(
            Diagnostic::new(&codes::CONFLICTING_KEYS, title, word.span, label)
                .also(plant.node_spans[hub.index()], "declared here")
                .help("remove `duplex`, or use a switch"),
        );
        return Duplex::Half;
    }
    let word = word.map(|word| word.means);
    let offers_half = ends.is_some_and(|(ends, _)| plant.offers.is_half(ends));
    let agreed = if offers_half { Duplex::Half } else { Duplex::Full };
    if hub.is_none() && word.unwrap_or(agreed) == Duplex::Full {
        return Duplex::Full;
    }
    let place = fields.get("rate").map(|entry| entry.value.span);
    let place = place.or(ends.map(|(_, span)| span));
    if let (None, Some(rate), Some(place)) = (hub, rate, place) {
        runs_half_duplex(reader, rate, place, "a link");
    }
    let ends = ends.into_iter();
    for (end, span) in ends.flat_map(|(ends, span)| ends.map(|end| (end, span))) {
        cut_through(reader, plant, end.node, span);
    }
    Duplex::Half
}

/// Reads the corrupted frames per billion; a link between hubs may not have any.
fn errors(reader: &mut Reader<'_>, fields: &Fields<'_>, plant: &Plant, ends: Option<Ends>) -> u32 {
    let Some(errors) = reader.quantity(fields, "errors", Quantity::Ratio) else {
        return 0;
    };
    let hubs: Vec<NodeId> = hubs_of(plant, ends).map(|(hub, _)| hub).collect();
    let &[first, second] = &hubs[..] else {
        return u32::try_from(errors.value).unwrap_or(0);
    };
    if errors.value > 0 {
        let name = |hub: NodeId| quote(&plant.network.node(hub).name);
        let (a, b) = (name(first), name(second));
        let title = format!("the link between hubs {a} and {b} cannot have `errors`");
        let label = "every station behind it would have to see the same errors, which is not \
                     modeled";
        reader.report(
            Diagnostic::new(&codes::CONFLICTING_KEYS, title, errors.span, label)
                .also(plant.node_spans[first.index()], "a hub")
                .also(plant.node_spans[second.index()], "another one")
                .help("remove `errors` here, and give them to the links of stations and switches"),
        );
    }
    0
}

/// Reports a cut-through switch at half duplex.
fn cut_through(reader: &mut Reader<'_>, plant: &Plant, node: NodeId, span: Span) {
    let switch = plant.network.switch(node);
    if switch.is_none_or(|switch| switch.mode != ForwardingMode::CutThrough) {
        return;
    }
    let name = quote(&plant.network.node(node).name);
    let title = format!("cut-through switch {name} has a half-duplex link");
    let label = "it could not take back a frame that collides";
    reader.report(
        Diagnostic::new(&codes::CUT_THROUGH_HALF_DUPLEX, title, span, label)
            .also(plant.node_spans[node.index()], "declared here")
            .help(format!("write `mode: store-and-forward` in {name}, or use full duplex")),
    );
}

/// Returns where to point for a list item: its first key.
pub(super) fn head(item: &Value) -> Span {
    match &item.data {
        Data::Map(entries) => entries.first().map_or(item.span, |entry| entry.key_span),
        Data::Null | Data::Scalar(_) | Data::List(_) => item.span,
    }
}

/// Reads one of the Ethernet rates.
pub(crate) fn rate(reader: &mut Reader<'_>, fields: &Fields<'_>, key: &str) -> Option<BitRate> {
    let At { value, span } = reader.quantity(fields, key, Quantity::BitRate)?;
    let rate = bits_per_second(value);
    if ETHERNET_MBPS.iter().any(|mbps| BitRate::from_mbps(*mbps) == rate) {
        return Some(rate);
    }
    let title = format!("{rate} is not an Ethernet rate");
    let label = "10 or 100 Mbit/s, 1, 2.5, 5, 10, 25, 40, 50, 100, 200 or 400 Gbit/s";
    let next = ETHERNET_MBPS.iter().map(|mbps| BitRate::from_mbps(*mbps)).find(|next| *next > rate);
    let help = next.map(|next| {
        let entry = format!("{key}: {next}");
        Help::from(format!("the next is `{entry}`")).writes(entry).certain(false)
    });
    reader.report(Diagnostic::new(&codes::NONSTANDARD_RATE, title, span, label).help_if(help));
    None
}

fn propagation(reader: &mut Reader<'_>, fields: &Fields<'_>) -> Duration {
    reader.conflict(fields, "length", "propagation");
    if let Some(time) = reader.time(fields, "propagation") {
        if time.value > Duration::from_secs(1) {
            let found = time.value.to_string();
            let why = "longer than any cable on earth";
            reader.out_of_range("propagation", time.span, "at most 1 s", &found, why);
        }
        return time.value;
    }
    let length = reader.quantity(fields, "length", Quantity::Length);
    length.map_or(Duration::ZERO, |mm| picoseconds(mm.value * PS_PER_MM))
}

/// The two ports of a link, and the place of the value.
type Ends = ([PortId; 2], Span);

/// Reads both ends and checks that they are free.
fn ends(reader: &mut Reader<'_>, fields: &Fields<'_>, plant: &mut Plant) -> Option<Ends> {
    let entry = fields.get("ends")?;
    let span = entry.value.span;
    let items = reader.items(fields, "ends");
    if let Data::List(_) = entry.value.data
        && items.len() != 2
    {
        let title = format!("a link has two ends, found {}", items.len());
        let label = "`NODE`, `SWITCH:PORT` or `HUB:PORT`, twice";
        let help = Help::example("ends: [plc1, \"sw1:1\"]");
        reader.report(Diagnostic::new(&codes::WRONG_TYPE, title, span, label).help(help));
        return None;
    }
    let mut ports = Vec::new();
    for item in items {
        let Data::Scalar(text) = &item.data else {
            reader.wrong_type(fields, "ends", item, "names of nodes");
            continue;
        };
        if let Some(port) = end(reader, plant, text, item.span) {
            ports.push((port, item.span));
        }
    }
    let &[(a, a_span), (b, b_span)] = ports.as_slice() else {
        return None;
    };
    if a.node == b.node {
        let name = quote(&plant.network.node(a.node).name);
        let title = format!("a link joins {name} to itself");
        let label = "both ends are at the same node";
        reader
            .report(Diagnostic::new(&codes::LINK_TO_ITSELF, title, b_span, label).also(a_span, ""));
        return None;
    }
    let free = [(a, a_span), (b, b_span)].map(|(port, span)| is_free(reader, plant, port, span));
    if free != [true, true] {
        return None;
    }
    for (port, span) in [(a, a_span), (b, b_span)] {
        plant.ports_in_use.insert(port, span);
    }
    Some(([a, b], span))
}

/// Reads `NODE`, `SWITCH:PORT` or `HUB:PORT`.
fn end(reader: &mut Reader<'_>, plant: &Plant, text: &str, span: Span) -> Option<PortId> {
    let (name, port) = match text.rsplit_once(':') {
        Some((name, port)) => (name, Some(port)),
        None => (text, None),
    };
    let proposal = match port {
        Some(_) => format!("`{name}: {{ ports: 8 }}` under `switches:`"),
        None => format!("`{name}: {{ stack: zero }}` under `nodes:`"),
    };
    let node = plant.node_or_report(reader, name, span, "end of a link", &proposal)?;
    let free = || first_free(plant, node).map(|port| take_port(name, port));
    match (port, plant.ports_of(node)) {
        (None, None) => Some(port_of_station(plant, node)),
        (Some(port), _) => port_number(reader, plant, (node, port), span, free),
        (None, Some((kind, _))) => {
            let title = format!("the port of {kind} {} is missing", quote(name));
            let label = format!("`{}:PORT` is needed", kind.to_uppercase());
            reader.report(Diagnostic::new(&codes::WRONG_END, title, span, label).help_if(free()));
            None
        }
    }
}

/// Returns the port of a station that a link takes: of two the one that is free.
fn port_of_station(plant: &Plant, node: NodeId) -> PortId {
    let first = PortId::first(node);
    let station = plant.network.end_station(node);
    let is_second = station.is_some_and(|own| own.ports() > 1);
    if is_second && plant.ports_in_use.contains_key(&first) {
        return PortId { node, port: 1 };
    }
    first
}

/// Reads the port of a switch or hub; `remedy` helps if there is no such port.
pub(super) fn port_number(
    reader: &mut Reader<'_>,
    plant: &Plant,
    (node, text): (NodeId, &str),
    span: Span,
    remedy: impl FnOnce() -> Option<Help>,
) -> Option<PortId> {
    let name = &plant.network.node(node).name;
    let Some((kind, count)) = plant.ports_of(node) else {
        let title = format!("{} is an end station and has no ports", quote(name));
        let label = "end stations have one network interface";
        reader
            .report(Diagnostic::new(&codes::WRONG_END, title, span, label).help(Help::write(name)));
        return None;
    };
    let number = text.trim().parse::<u16>().ok();
    if let Some(number) = number.filter(|&n| n >= 1 && n <= count) {
        let port = number - 1;
        return Some(PortId { node, port });
    }
    let title = format!("{kind} {} has no port {}", quote(name), found(text));
    let label = format!("its ports are 1 to {count}");
    reader.report(Diagnostic::new(&codes::UNKNOWN_PORT, title, span, label).help_if(remedy()));
    None
}

/// Proposes a port that no link takes.
fn take_port(name: &str, port: u16) -> Help {
    let end = format!("\"{name}:{port}\"");
    Help::from(format!("port {port} is free: `{end}`")).writes(end).certain(false)
}

/// Returns the lowest unlinked port of a switch or hub, counting from 1.
fn first_free(plant: &Plant, node: NodeId) -> Option<u16> {
    let (_, count) = plant.ports_of(node)?;
    (0..count)
        .find(|&port| !plant.ports_in_use.contains_key(&PortId { node, port }))
        .map(|port| port + 1)
}

fn is_free(reader: &mut Reader<'_>, plant: &Plant, port: PortId, span: Span) -> bool {
    let Some(&first) = plant.ports_in_use.get(&port) else {
        return true;
    };
    let name = &plant.network.node(port.node).name;
    let diagnostic = if let Some((kind, _)) = plant.ports_of(port.node) {
        let number = port.port + 1;
        let title = format!("port {number} of {kind} {} has two links", quote(name));
        let help = first_free(plant, port.node).map_or_else(
            || format!("all ports are in use; give {} more", quote(name)).into(),
            |port| take_port(name, port),
        );
        Diagnostic::new(&codes::PORT_IN_USE, title, span, "the second one")
            .also(first, "the first one")
            .help(help)
    } else {
        let (most, label, help) = if port.port == 0 {
            let help = "put a switch between them, or give the station `redundancy` if it is in two \
                        networks";
            ("one link", "the second one", help)
        } else {
            ("two links", "the third one", "a station is in two networks at most")
        };
        let title = format!("end station {} has more than {most}", quote(name));
        Diagnostic::new(&codes::SEVERAL_LINKS, title, span, label)
            .also(first, "the one before")
            .help(help)
    };
    reader.report(diagnostic);
    false
}
