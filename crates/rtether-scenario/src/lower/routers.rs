//! Routers: switches whose frames pass a processor.

use rtether_model::network::{Cost, NodeKind, Router, Switch};
use rtether_model::quantity::Duration;

use super::switches::{Chosen, Pending, buffer, plain, thresholds};
use super::tags::queues;
use super::{Plant, check_name};
use crate::diagnostic::quote;
use crate::keys::table::ROUTER;
use crate::reader::{Fields, Reader};

/// Reads `routers:`.
pub(crate) fn routers(reader: &mut Reader<'_>, top: &Fields<'_>, plant: &mut Plant) {
    let errors = reader.sink.errors();
    let entries = reader.named(top, "routers");
    reader.names_are_missing |= reader.sink.errors() > errors;
    for entry in entries {
        check_name(reader, "router", &entry.key, entry.key_span, &[':', '*']);
        let owner = format!("router {}", quote(&entry.key));
        let fields = reader.fields(&entry.value, &ROUTER, owner, entry.key_span);
        // A router with mistakes still has a name and ports that links may use.
        let is_unmapped = fields.as_ref().is_some_and(|own| !own.has("pcp_map"));
        let (router, pending) = match fields {
            Some(fields) => (router(reader, &fields), Some(Pending::of_node(reader, &fields))),
            None => (plain(64, Duration::ZERO), None),
        };
        let node = plant.add_node(reader, &entry.key, entry.key_span, NodeKind::Switch(router));
        plant.unmapped.extend(node.filter(|_| is_unmapped));
        if let Some((node, pending)) = node.zip(pending) {
            pending.join(plant, node);
        }
    }
}

fn router(reader: &mut Reader<'_>, fields: &Fields<'_>) -> Switch {
    let known = reader.require(fields, "ports") & reader.require(fields, "cost");
    let ports = reader.count(fields, "ports").map(|count| count.value);
    // If the number of ports is unknown, no port is reported as missing.
    let count = if known { ports } else { None }.unwrap_or(1024);
    let second = Duration::from_secs(1);
    let unknown = reader.unknown(fields, "cost", second, "of a packet");
    let cost = match unknown {
        Ok(None) => reader.times_up_to(fields, "cost", second, "of a packet"),
        Ok(Some([least, _])) => Some((least, least)),
        Err(()) => None,
    };
    let (least, most) = cost.unwrap_or_default();
    let ends = unknown.ok().flatten().unwrap_or_default();
    let per_octet = reader.time_up_to(fields, "cost_per_octet", second, "of an octet");
    let queue = reader.count(fields, "queue").map(|count| count.value);
    let mut switch = plain(usize::try_from(count).unwrap_or(1024), Duration::ZERO);
    switch.router = Some(Router {
        cost: Cost { base: least, per_octet: per_octet.unwrap_or(Duration::ZERO) },
        jitter: most - least,
        unknown: ends[1] - ends[0],
        queue: queue.map_or(1000, |queue| u32::try_from(queue).unwrap_or(u32::MAX)),
    });
    switch.icmp_unclassified = reader.flag(fields, "icmp_unclassified").unwrap_or(false);
    switch.queues = queues(reader, fields, 1);
    switch.selection = Chosen::read(reader, fields).of(reader, switch.queues.count());
    switch.buffer = buffer(reader, fields);
    switch.thresholds = thresholds(reader, fields, &switch, switch.selection);
    switch
}
