//! Switches and port settings.

use std::collections::BTreeSet;

use rtether_model::network::{
    AddressTable, Buffer, NodeKind, Pcp, PortVlan, QueueMap, Selection, Switch, SwitchPort, Vid,
};
use rtether_model::quantity::{Bytes, Duration};

use super::{Plant, check_name};
use crate::codes;
use crate::diagnostic::{Diagnostic, Span, quote};
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
    Switch {
        latency,
        selection: Selection::StrictPriority,
        ..Switch::new(ports)
    }
}

fn switch(reader: &mut Reader<'_>, fields: &Fields<'_>) -> Switch {
    let known = reader.require(fields, "ports");
    let ports = reader.count(fields, "ports").map(|count| count.value);
    // If the number of ports is unknown, no port is reported as missing.
    let count = if known { ports } else { None }.unwrap_or(1024);
    let second = Duration::from_secs(1);
    let latency = reader.times_up_to(fields, "latency", second, "of a switch");
    let (least, most) = latency.unwrap_or_default();
    let mut switch = plain(usize::try_from(count).unwrap_or(1024), least);
    switch.latency_jitter = most - least;
    switch.mode = reader.meaning(fields, &FORWARDING);
    switch.queues = queues(reader, fields, 1);
    switch.selection = Chosen::read(reader, fields).of(reader, switch.queues.count());
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
        let queues = switch.queues.count();
        port_setting(reader, fields, entry, queues, &mut switch.ports);
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

/// A selection as it was written; how many queues there are may be known later.
#[derive(Clone)]
pub(super) struct Chosen {
    selection: Selection,
    values: Option<Values>,
}

/// Values of a selection, one for each queue.
#[derive(Clone)]
struct Values {
    key: &'static str,
    example: &'static str,
    owner: String,
    /// How many there are; `None` without the key.
    found: Option<usize>,
    at: Span,
}

impl Chosen {
    /// Reads `selection` and the key that it needs.
    pub(super) fn read(reader: &mut Reader<'_>, fields: &Fields<'_>) -> Self {
        let errors = reader.sink.errors();
        let selected = reader.meaning(fields, &SELECTION);
        let keys: BTreeSet<&str> = SELECTION.meanings().filter_map(Selected::key).collect();
        // Which keys belong to a misspelled selection is not known.
        if reader.sink.errors() == errors {
            for key in keys.into_iter().filter(|key| Some(*key) != selected.key()) {
                reader.misplaced(fields, &[key], "this selection");
            }
        }
        let (key, make) = match selected {
            Selected::Alone(selection) => {
                return Self {
                    selection,
                    values: None,
                };
            }
            Selected::PerQueue(key, make) => (key, make),
        };
        let entry = fields.get(key);
        let list = entry.map(|_| reader.values(fields, key).unwrap_or_default());
        let mut values = [1; 8];
        for (slot, value) in values.iter_mut().zip(list.iter().flatten()) {
            *slot = *value;
        }
        let selected_at = fields.key_span(SELECTION.key).unwrap_or(fields.at);
        Self {
            selection: make(values),
            values: Some(Values {
                key,
                example: fields.spec(key).example,
                owner: fields.owner.clone(),
                found: list.map(|list| list.len()),
                at: entry.map_or(selected_at, |entry| entry.value.span),
            }),
        }
    }

    /// Returns the selection for this number of queues.
    pub(super) fn of(&self, reader: &mut Reader<'_>, queues: u8) -> Selection {
        if let Some(values) = &self.values {
            values.check(reader, queues);
        }
        self.selection
    }
}

impl Values {
    fn check(&self, reader: &mut Reader<'_>, queues: u8) {
        let Self {
            key, owner, found, ..
        } = self;
        let diagnostic = match *found {
            // Empty after a mistake, which has been reported.
            Some(0) => return,
            Some(found) if found == usize::from(queues) => return,
            Some(found) => {
                let title = format!("`{key}` needs {queues} values, found {found}");
                let label = "one for each queue, from queue 0";
                Diagnostic::new(&codes::VALUE_OUT_OF_RANGE, title, self.at, label)
            }
            None => {
                let title = format!("{owner} has no `{key}`");
                let label = "this selection gives each queue its share";
                let example = self.example.trim_matches(['[', ']']).split(", ").cycle();
                let list: Vec<&str> = example.take(queues.into()).collect();
                Diagnostic::new(&codes::MISSING_KEY, title, self.at, label)
                    .help(format!("add `{key}: [{}]`", list.join(", ")))
            }
        };
        reader.report(diagnostic);
    }
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
    queues: u8,
    ports: &mut [SwitchPort],
) {
    let owner = format!("port {} of {}", entry.key, switch.owner);
    let Some(fields) = reader.fields(&entry.value, &PORT, owner, entry.key_span) else {
        return;
    };
    let setting = setting(reader, &fields);
    let selection = Chosen::read(reader, &fields).of(reader, queues);
    let selection = fields.has(SELECTION.key).then_some(selection);
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
        port.selection = selection.or(port.selection);
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
