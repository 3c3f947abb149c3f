//! Switches and port settings.

use std::collections::BTreeSet;

use rtether_model::network::{
    AddressTable, Buffer, ForwardingMode, MulticastForwarding, NodeKind, Pcp, PortVlan, QueueMap,
    Selection, Switch, SwitchPort, TagHandling, Vid,
};
use rtether_model::quantity::{Bytes, Duration};

use super::{Plant, check_name};
use crate::codes;
use crate::diagnostic::{Diagnostic, quote};
use crate::keys::table::{
    ADDRESSES, FORWARDING, MULTICAST, PORT, SELECTION, SWITCH, Selected, TAGGING, TRUNK,
};
use crate::reader::{At, Fields, Reader, found};
use crate::tree::{Data, Entry};

/// Reads `switches:`.
pub(crate) fn switches(reader: &mut Reader<'_>, top: &Fields<'_>, plant: &mut Plant) {
    let errors = reader.sink.errors();
    let entries = reader.named(top, "switches");
    plant.names_are_missing |= reader.sink.errors() > errors;
    for entry in entries {
        check_name(reader, "switch", &entry.key, entry.key_span, &[':', '*']);
        let owner = format!("switch {}", quote(&entry.key));
        let fields = reader.fields(&entry.value, &SWITCH, owner, entry.key_span);
        // A switch with mistakes still has a name and ports that links may use.
        let switch = match fields {
            Some(fields) => switch(reader, &fields),
            None => plain(64, Duration::ZERO),
        };
        plant.add_node(reader, &entry.key, entry.key_span, NodeKind::Switch(switch));
    }
}

/// Returns a switch with default settings.
pub(crate) fn plain(ports: usize, latency: Duration) -> Switch {
    let port = SwitchPort {
        vlan: PortVlan::Transparent,
        default_pcp: Pcp::default(),
    };
    Switch {
        latency,
        mode: ForwardingMode::StoreAndForward,
        queues: QueueMap::standard(1).expect("one queue is a valid number"),
        selection: Selection::StrictPriority,
        buffer: Buffer {
            per_port: Bytes::new(1 << 20),
            shared: None,
        },
        addresses: AddressTable::Static,
        multicast: MulticastForwarding::Managed,
        tags: TagHandling::Keep,
        ports: vec![port; ports],
    }
}

fn switch(reader: &mut Reader<'_>, fields: &Fields<'_>) -> Switch {
    let known = reader.require(fields, "ports");
    let ports = reader.count(fields, "ports").map(|count| count.value);
    // If the number of ports is unknown, no port is reported as missing.
    let count = if known { ports } else { None }.unwrap_or(1024);
    let second = Duration::from_secs(1);
    let latency = reader.time_up_to(fields, "latency", second, "of a switch");
    let latency = latency.unwrap_or(Duration::ZERO);
    let mut switch = plain(usize::try_from(count).unwrap_or(1024), latency);
    switch.mode = reader.meaning(fields, &FORWARDING);
    switch.queues = queues(reader, fields, 1);
    switch.selection = selection(reader, fields, switch.queues.count());
    switch.buffer = buffer(reader, fields);
    let aging = reader.positive_time(fields, "aging");
    switch.addresses = reader.meaning(fields, &ADDRESSES);
    match &mut switch.addresses {
        AddressTable::Learning { aging: own } => *own = aging.map_or(*own, |aging| aging.value),
        AddressTable::Static => {
            reader.misplaced(fields, &["aging"], "a switch that does not learn addresses");
        }
    }
    switch.multicast = reader.meaning(fields, &MULTICAST);
    switch.tags = reader.meaning(fields, &TAGGING);
    if let Some(pcp) = pcp(reader, fields, "default_pcp") {
        for port in &mut switch.ports {
            port.default_pcp = pcp;
        }
    }
    for entry in reader.named(fields, "port_settings") {
        port_setting(reader, fields, entry, &mut switch.ports);
    }
    switch
}

pub(super) fn pcp(reader: &mut Reader<'_>, fields: &Fields<'_>, key: &str) -> Option<Pcp> {
    let count = reader.count(fields, key)?.value;
    Pcp::new(u8::try_from(count).ok()?)
}

pub(super) fn vid(reader: &mut Reader<'_>, fields: &Fields<'_>, key: &str) -> Option<Vid> {
    let count = reader.count(fields, key)?.value;
    Vid::new(u16::try_from(count).ok()?)
}

/// Reads `queues` and `pcp_map`.
pub(super) fn queues(reader: &mut Reader<'_>, fields: &Fields<'_>, otherwise: u64) -> QueueMap {
    let count = reader
        .count(fields, "queues")
        .map_or(otherwise, |count| count.value);
    let count = u8::try_from(count).unwrap_or(1);
    let standard = QueueMap::standard(count).expect("the table limits queues to 1..8");
    let Some(entry) = fields.get("pcp_map") else {
        return standard;
    };
    let Some(map) = reader.counts(fields, "pcp_map", (0, u64::from(count) - 1)) else {
        return standard;
    };
    let map: Vec<u8> = map.iter().filter_map(|&q| u8::try_from(q).ok()).collect();
    let Ok(map) = <[u8; 8]>::try_from(map.as_slice()) else {
        let title = format!("`pcp_map` needs 8 queues, found {}", map.len());
        let label = "one for each priority 0 to 7";
        let usual = (0..8).filter_map(Pcp::new);
        let usual: Vec<String> = usual
            .map(|pcp| standard.queue_of(pcp).to_string())
            .collect();
        let help = format!("for example `pcp_map: [{}]`", usual.join(", "));
        let place = entry.value.span;
        reader.report(Diagnostic::new(&codes::VALUE_OUT_OF_RANGE, title, place, label).help(help));
        return standard;
    };
    QueueMap::new(count, map).unwrap_or(standard)
}

fn selection(reader: &mut Reader<'_>, fields: &Fields<'_>, queues: u8) -> Selection {
    let selected = reader.meaning(fields, &SELECTION);
    let keys: BTreeSet<&str> = SELECTION.meanings().filter_map(Selected::key).collect();
    for key in keys.into_iter().filter(|key| Some(*key) != selected.key()) {
        reader.misplaced(fields, &[key], "this selection");
    }
    match selected {
        Selected::Alone(selection) => selection,
        Selected::PerQueue(key, make) => make(per_queue(reader, fields, key, queues)),
    }
}

/// Reads one value for each queue.
fn per_queue(reader: &mut Reader<'_>, fields: &Fields<'_>, key: &str, queues: u8) -> [u64; 8] {
    let mut values = [1; 8];
    let Some(entry) = fields.get(key) else {
        let title = format!("{} has no `{key}`", fields.owner);
        let at = fields.key_span(SELECTION.key).unwrap_or(fields.at);
        let list: Vec<String> = (1..=queues).map(|value| value.to_string()).collect();
        let label = "this selection gives each queue its share";
        reader.report(
            Diagnostic::new(&codes::MISSING_KEY, title, at, label)
                .help(format!("add `{key}: [{}]`", list.join(", "))),
        );
        return values;
    };
    let list = reader.values(fields, key).unwrap_or_default();
    for (slot, value) in values.iter_mut().zip(&list) {
        *slot = *value;
    }
    if !list.is_empty() && list.len() != usize::from(queues) {
        let title = format!("`{key}` needs {queues} values, found {}", list.len());
        let label = "one for each queue, from queue 0";
        let place = entry.value.span;
        reader.report(Diagnostic::new(
            &codes::VALUE_OUT_OF_RANGE,
            title,
            place,
            label,
        ));
    }
    values
}

fn buffer(reader: &mut Reader<'_>, fields: &Fields<'_>) -> Buffer {
    let mut read = |key: &str| {
        let At { value, span } = reader.size(fields, key)?;
        if value < Bytes::new(1522) {
            let found = value.to_string();
            reader.out_of_range(
                key,
                span,
                "at least 1522 B",
                &found,
                "a full frame has to fit",
            );
        }
        Some(value)
    };
    Buffer {
        per_port: read("buffer").unwrap_or(Bytes::new(1 << 20)),
        shared: read("shared_buffer"),
    }
}

/// Reads the settings of a port or a range of ports.
fn port_setting(
    reader: &mut Reader<'_>,
    switch: &Fields<'_>,
    entry: &Entry,
    ports: &mut [SwitchPort],
) {
    let owner = format!("port {} of {}", entry.key, switch.owner);
    let Some(fields) = reader.fields(&entry.value, &PORT, owner, entry.key_span) else {
        return;
    };
    let setting = setting(reader, &fields);
    let (from, to) = entry
        .key
        .split_once('-')
        .unwrap_or((&entry.key, &entry.key));
    let number = |text: &str| text.trim().parse::<usize>().ok();
    let (Some(from), Some(to)) = (number(from), number(to)) else {
        let title = format!("{} is not a port", quote(&entry.key));
        let label = "a number from 1, or a range such as `2-4`";
        reader.report(Diagnostic::new(
            &codes::UNKNOWN_PORT,
            title,
            entry.key_span,
            label,
        ));
        return;
    };
    if from == 0 || to > ports.len() || from > to {
        let title = format!("{} has no port {}", switch.owner, found(&entry.key));
        let label = format!("its ports are 1 to {}", ports.len());
        reader.report(Diagnostic::new(
            &codes::UNKNOWN_PORT,
            title,
            entry.key_span,
            label,
        ));
        return;
    }
    for port in &mut ports[from - 1..to] {
        let (vlan, default_pcp) = &setting;
        port.vlan = vlan.clone();
        port.default_pcp = default_pcp.unwrap_or(port.default_pcp);
    }
}

fn setting(reader: &mut Reader<'_>, fields: &Fields<'_>) -> (PortVlan, Option<Pcp>) {
    let default_pcp = pcp(reader, fields, "default_pcp");
    reader.conflict(fields, "access", "trunk");
    if !fields.has("trunk") {
        reader.misplaced(fields, &["native"], "a port that is not a trunk");
    }
    let native = vid(reader, fields, "native");
    let vlan = if let Some(entry) = fields.get("trunk") {
        let allowed = match &entry.value.data {
            Data::Scalar(text) => TRUNK.means(text).unwrap_or_else(|| {
                let title = format!("`trunk` is a list of VLANs or `all`, found {}", found(text));
                let help = format!("write `trunk: [{text}]`");
                let label = format!("of {}", fields.owner);
                let place = entry.value.span;
                reader.report(Diagnostic::new(&codes::WRONG_TYPE, title, place, label).help(help));
                None
            }),
            Data::Null | Data::List(_) | Data::Map(_) => {
                let list = reader
                    .counts(fields, "trunk", (1, 4094))
                    .unwrap_or_default();
                let vids = list
                    .iter()
                    .filter_map(|&v| Vid::new(u16::try_from(v).ok()?));
                let mut vids: Vec<Vid> = vids.collect();
                vids.sort_unstable();
                vids.dedup();
                Some(vids)
            }
        };
        PortVlan::Trunk { allowed, native }
    } else {
        vid(reader, fields, "access").map_or(PortVlan::Transparent, PortVlan::Access)
    };
    (vlan, default_pcp)
}
