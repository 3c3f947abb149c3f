//! Switches and port settings.

use std::collections::BTreeSet;
use std::ops::Range;

use rtether_model::network::{
    AddressTable, Buffer, Mirror, NodeId, NodeKind, Pcp, PortVlan, Selection, Switch, Vid,
};
use rtether_model::quantity::{Bytes, Duration};
use rtether_model::wire::MAX_TAGGED_FRAME;

use super::ingress::{self, Written};
use super::offers::Offer;
use super::tags::{pcp, queues, vid};
use super::{Plant, check_name};
use crate::codes;
use crate::diagnostic::{Diagnostic, Span, quote};
use crate::help::Help;
use crate::keys::table::{
    ADDRESSES, DIRECTION, FORWARDING, MIRROR, MULTICAST, PORT, SELECTION, SWITCH, Selected,
    TAGGING, TRUNK, Unlisted,
};
use crate::reader::{At, Fields, Reader, found};
use crate::tree::{Data, Entry};
use crate::units;

/// What is known of a switch, or of some of its ports, only with the rest of the plant.
#[derive(Default)]
pub(super) struct Pending {
    /// Ports from zero; none for what holds for all ports without their own.
    pub(super) ports: Range<usize>,
    /// Whether their VLANs are those registered.
    pub(super) is_registered: bool,
    /// Their rules, which may name stations not yet declared.
    pub(super) rules: Option<Vec<Written>>,
    /// What they offer to the other end of a link.
    offer: Offer,
}

impl Pending {
    /// Reads the rules of all ports of a node, and what they offer.
    pub(super) fn of_node(reader: &mut Reader<'_>, fields: &Fields<'_>) -> Self {
        Self {
            rules: ingress::read(reader, fields),
            offer: Offer::read(reader, fields),
            ..Self::default()
        }
    }

    /// Gives it to a plant.
    pub(super) fn join(self, plant: &mut Plant, node: NodeId) {
        plant.offers.add(node, self.ports.clone(), self.offer);
        plant.pending.push((node, self));
    }
}

/// Reads `switches:`.
pub(crate) fn switches(reader: &mut Reader<'_>, top: &Fields<'_>, plant: &mut Plant) {
    let errors = reader.sink.errors();
    let entries = reader.named(top, "switches");
    reader.names_are_missing |= reader.sink.errors() > errors;
    for entry in entries {
        check_name(reader, "switch", &entry.key, entry.key_span, &[':', '*']);
        let owner = format!("switch {}", quote(&entry.key));
        let fields = reader.fields(&entry.value, &SWITCH, owner, entry.key_span);
        // A switch with mistakes still has a name and ports that links may use.
        let is_plain = fields.as_ref().is_some_and(|own| !own.has(ADDRESSES.key));
        let is_unmapped = fields.as_ref().is_some_and(|own| !own.has("pcp_map"));
        let (switch, pending) = match fields {
            Some(fields) => switch(reader, &fields),
            None => (plain(64, Duration::ZERO), Vec::new()),
        };
        let node = plant.add_node(reader, &entry.key, entry.key_span, NodeKind::Switch(switch));
        if let Some(node) = node {
            for own in pending {
                own.join(plant, node);
            }
            plant.plain.extend(is_plain.then_some(node));
            plant.unmapped.extend(is_unmapped.then_some(node));
        }
    }
}

/// Returns a switch with default settings.
pub(crate) fn plain(ports: usize, latency: Duration) -> Switch {
    Switch { latency, selection: Selection::StrictPriority, ..Switch::new(ports) }
}

/// Returns a switch, and what needs the rest of the plant.
fn switch(reader: &mut Reader<'_>, fields: &Fields<'_>) -> (Switch, Vec<Pending>) {
    let known = reader.require(fields, "ports");
    let ports = reader.count(fields, "ports").map(|count| count.value);
    // If the number of ports is unknown, no port is reported as missing.
    let count = if known { ports } else { None }.unwrap_or(1024);
    let second = Duration::from_secs(1);
    let unknown = reader.unknown(fields, "latency", second, "of a switch");
    let latency = match unknown {
        Ok(None) => reader.times_up_to(fields, "latency", second, "of a switch"),
        Ok(Some([least, _])) => Some((least, least)),
        Err(()) => None,
    };
    let (least, most) = latency.unwrap_or_default();
    let ends = unknown.ok().flatten().unwrap_or_default();
    let mut switch = plain(usize::try_from(count).unwrap_or(1024), least);
    switch.latency_jitter = most - least;
    switch.unknown_latency = ends[1] - ends[0];
    switch.mode = reader.meaning(fields, &FORWARDING);
    switch.queues = queues(reader, fields, 1);
    switch.selection = Chosen::read(reader, fields).of(reader, switch.queues.count());
    switch.buffer = buffer(reader, fields);
    switch.thresholds = thresholds(reader, fields, &switch, switch.selection);
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
    switch.icmp_unclassified = reader.flag(fields, "icmp_unclassified").unwrap_or(false);
    switch.mirror = mirror(reader, fields, switch.ports.len());
    let mut pending = vec![Pending::of_node(reader, fields)];
    for entry in reader.named(fields, "port_settings") {
        let own = port_setting(reader, fields, entry, &mut switch);
        pending.extend(own);
    }
    (switch, pending)
}

/// A selection as it was written; how many queues there are may be known later.
#[derive(Clone)]
pub(super) struct Chosen {
    selection: Selection,
    /// Those of each of its keys.
    values: Vec<Values>,
}

/// Values of a selection for queues, from queue 0.
#[derive(Clone)]
struct Values {
    key: &'static str,
    example: &'static str,
    owner: String,
    /// 1 beyond the last.
    list: [u64; 8],
    /// How many there are; `None` without the key.
    found: Option<usize>,
    at: Span,
}

impl Chosen {
    /// Reads `selection` and the keys that it needs.
    pub(super) fn read(reader: &mut Reader<'_>, fields: &Fields<'_>) -> Self {
        let errors = reader.sink.errors();
        let selected = reader.meaning(fields, &SELECTION);
        let keys: BTreeSet<&str> = SELECTION.meanings().flat_map(Selected::keys).copied().collect();
        // Which keys belong to a misspelled selection is not known.
        if reader.sink.errors() == errors {
            for key in keys.into_iter().filter(|key| !selected.keys().contains(key)) {
                reader.misplaced(fields, &[key], "this selection");
            }
        }
        match selected {
            Selected::Alone(selection) => Self { selection, values: Vec::new() },
            Selected::PerQueue(key, make) => {
                let own = Values::read(reader, fields, key);
                Self { selection: make(own.list), values: vec![own] }
            }
            Selected::Below(keys, make) => {
                let both = keys.map(|key| Values::read(reader, fields, key));
                Self { selection: make(both.each_ref().map(|own| own.list)), values: both.into() }
            }
        }
    }

    /// Returns the selection for this number of queues.
    pub(super) fn of(&self, reader: &mut Reader<'_>, queues: u8) -> Selection {
        let each = "one for each queue, from queue 0";
        match &self.values[..] {
            [slopes, quanta] => {
                // How many quanta there are follows from the slopes.
                if slopes.check(reader, queues, each)
                    && let Some(turns) = slopes.turns_below(reader, queues)
                {
                    let each = "one for each queue below the lowest one with an idle slope";
                    quanta.check(reader, turns, each);
                }
            }
            all => {
                for own in all {
                    own.check(reader, queues, each);
                }
            }
        }
        self.selection
    }
}

impl Values {
    fn read(reader: &mut Reader<'_>, fields: &Fields<'_>, key: &'static str) -> Self {
        let entry = fields.get(key);
        let found = entry.map(|_| reader.values(fields, key).unwrap_or_default());
        let mut list = [1; 8];
        for (slot, value) in list.iter_mut().zip(found.iter().flatten()) {
            *slot = *value;
        }
        let selected_at = fields.key_span(SELECTION.key).unwrap_or(fields.at);
        Self {
            key,
            example: fields.spec(key).example,
            owner: fields.owner.clone(),
            list,
            found: found.map(|found| found.len()),
            at: entry.map_or(selected_at, |entry| entry.value.span),
        }
    }

    /// Returns whether there are as many values as there have to be, `each` says for what.
    fn check(&self, reader: &mut Reader<'_>, count: u8, each: &str) -> bool {
        let Self { key, owner, found, .. } = self;
        let diagnostic = match *found {
            // Empty after a mistake, which has been reported.
            Some(0) => return false,
            Some(found) if found == usize::from(count) => return true,
            Some(found) => {
                let title = format!("`{key}` needs {count} values, found {found}");
                Diagnostic::new(&codes::VALUE_OUT_OF_RANGE, title, self.at, each)
            }
            None => {
                let title = format!("{owner} has no `{key}`");
                let label = "this selection gives each queue its share";
                let example = self.example.trim_matches(['[', ']']).split(", ").cycle();
                let list: Vec<&str> = example.take(count.into()).collect();
                Diagnostic::new(&codes::MISSING_KEY, title, self.at, label)
                    .help(Help::add(format!("{key}: [{}]", list.join(", "))))
            }
        };
        reader.report(diagnostic);
        false
    }

    /// Returns the number of queues below the lowest one with an idle slope, which take turns.
    fn turns_below(&self, reader: &mut Reader<'_>, queues: u8) -> Option<u8> {
        let lowest = (0..queues).zip(self.list).find(|(_, slope)| *slope > 0);
        let help = match lowest {
            Some((turns @ 1.., _)) => return Some(turns),
            Some(_) => "give queue 0 an idle slope of 0 bit/s, or write `selection: cbs`",
            None => "give the highest queues an idle slope, or write `selection: drr`",
        };
        let what = if lowest.is_some() { "no queue that takes turns" } else { "no shaped queue" };
        let title = format!("the idle slopes of {} leave {what}", self.owner);
        let label = "turns are for the queues below the lowest one with an idle slope";
        reader
            .report(Diagnostic::new(&codes::VALUE_OUT_OF_RANGE, title, self.at, label).help(help));
        None
    }
}

pub(super) fn buffer(reader: &mut Reader<'_>, fields: &Fields<'_>) -> Buffer {
    let mut read = |key: &str| {
        let At { value, span } = reader.size(fields, key)?;
        if value < MAX_TAGGED_FRAME {
            let (rule, found) = (format!("at least {MAX_TAGGED_FRAME}"), value.to_string());
            reader.out_of_range(key, span, &rule, &found, "a full frame has to fit");
        }
        Some(value)
    };
    Buffer {
        per_port: read("buffer").unwrap_or(Bytes::new(1 << 20)),
        shared: read("shared_buffer"),
    }
}

/// Reads `mirror` of a switch with this many ports.
fn mirror(reader: &mut Reader<'_>, switch: &Fields<'_>, count: usize) -> Option<Mirror> {
    let fields = reader.one(switch, "mirror", &MIRROR)?;
    reader.require(&fields, "to");
    let to = reader.count(&fields, "to");
    let direction = reader.meaning(&fields, &DIRECTION);
    let listed = fields.has("ports");
    let ports = reader.values(&fields, "ports").unwrap_or_default();
    let number = |port: u64| u16::try_from(port - 1).unwrap_or(u16::MAX);
    let to = to?;
    let at = fields.get("ports").map_or(to.span, |entry| entry.value.span);
    for (port, span) in ports.iter().map(|&port| (port, at)).chain([(to.value, to.span)]) {
        if usize::from(number(port)) >= count {
            let title = format!("{} has no port {port}", switch.owner);
            let label = format!("its ports are 1 to {count}");
            reader.report(Diagnostic::new(&codes::UNKNOWN_PORT, title, span, label));
            return None;
        }
    }
    if ports.contains(&to.value) {
        let title = format!("port {} cannot look at itself", to.value);
        let label = format!("of {}", fields.owner);
        reader.report(
            Diagnostic::new(&codes::MIRROR_PORT, title, at, label)
                .help(format!("remove {} from `ports`", to.value)),
        );
        return None;
    }
    let all = 1..=u64::try_from(count).unwrap_or(0);
    let ports: Vec<u64> =
        if listed { ports } else { all.filter(|port| *port != to.value).collect() };
    Some(Mirror { to: number(to.value), ports: ports.into_iter().map(number).collect(), direction })
}

/// Reads `thresholds` for ports with this selection.
pub(super) fn thresholds(
    reader: &mut Reader<'_>,
    fields: &Fields<'_>,
    switch: &Switch,
    selection: Selection,
) -> Option<[Bytes; 8]> {
    const KEY: &str = "thresholds";
    let at = fields.get(KEY)?.value.span;
    if !selection.uses_queues() {
        let what = "a port whose frames share one queue (`fcfs`, `edf`)";
        reader.misplaced(fields, &[KEY], what);
        return None;
    }
    let list = reader.values(fields, KEY)?;
    let queues = usize::from(switch.queues.count());
    if list.len() != queues {
        let title = format!("`{KEY}` needs {queues} values, found {}", list.len());
        let label = "one for each queue, from queue 0";
        let diagnostic = Diagnostic::new(&codes::VALUE_OUT_OF_RANGE, title, at, label);
        reader.report(diagnostic);
        return None;
    }
    let most = switch.buffer.per_port;
    let range = MAX_TAGGED_FRAME.get()..=most.get();
    if let Some(wrong) = list.iter().find(|size| !range.contains(size)) {
        let rule = format!("{MAX_TAGGED_FRAME} to {most}");
        let why = "a full frame has to fit, and the port has no more room";
        reader.out_of_range(KEY, at, &rule, &Bytes::new(*wrong).to_string(), why);
        return None;
    }
    let mut thresholds = [most; 8];
    for (own, size) in thresholds.iter_mut().zip(list) {
        *own = Bytes::new(size);
    }
    Some(thresholds)
}

/// Reads the settings of a port or a range of ports; returns what needs the rest of the plant.
fn port_setting(
    reader: &mut Reader<'_>,
    switch: &Fields<'_>,
    entry: &Entry,
    plant: &mut Switch,
) -> Option<Pending> {
    let owner = format!("port {} of {}", entry.key, switch.owner);
    let fields = reader.fields(&entry.value, &PORT, owner, entry.key_span)?;
    let setting = setting(reader, &fields);
    let selection = Chosen::read(reader, &fields).of(reader, plant.queues.count());
    let selection = fields.has(SELECTION.key).then_some(selection);
    let chosen = selection.unwrap_or(plant.selection);
    let thresholds = thresholds(reader, &fields, plant, chosen);
    let ports = &mut plant.ports;
    let (from, to) = entry.key.split_once('-').unwrap_or((&entry.key, &entry.key));
    let number = |text: &str| text.trim().parse::<usize>().ok();
    let (Some(from), Some(to)) = (number(from), number(to)) else {
        let title = format!("{} is not a port", quote(&entry.key));
        let label = "a number from 1, or a range such as `2-4`";
        reader.report(Diagnostic::new(&codes::UNKNOWN_PORT, title, entry.key_span, label));
        return None;
    };
    if from == 0 || to > ports.len() || from > to {
        let title = format!("{} has no port {}", switch.owner, found(&entry.key));
        let label = format!("its ports are 1 to {}", ports.len());
        reader.report(Diagnostic::new(&codes::UNKNOWN_PORT, title, entry.key_span, label));
        return None;
    }
    for port in &mut ports[from - 1..to] {
        let (vlan, default_pcp, _) = &setting;
        port.vlan = vlan.clone();
        port.default_pcp = default_pcp.unwrap_or(port.default_pcp);
        port.selection = selection.or(port.selection);
        port.thresholds = thresholds.or(port.thresholds);
    }
    let (.., is_registered) = setting;
    Some(Pending {
        ports: from - 1..to,
        is_registered,
        rules: ingress::read(reader, &fields),
        offer: Offer::read(reader, &fields),
    })
}

/// Returns VLANs and priority of a port, and whether its VLANs are those registered.
fn setting(reader: &mut Reader<'_>, fields: &Fields<'_>) -> (PortVlan, Option<Pcp>, bool) {
    let default_pcp = pcp(reader, fields, "default_pcp");
    reader.conflict(fields, "access", "trunk");
    if !fields.has("trunk") {
        reader.misplaced(fields, &["native"], "a port that is not a trunk");
    }
    let native = vid(reader, fields, "native");
    let mut is_registered = false;
    let vlan = if let Some(entry) = fields.get(TRUNK.key) {
        let allowed = match &entry.value.data {
            Data::Scalar(text) => match TRUNK.means(text) {
                Some(Unlisted::All) => None,
                Some(Unlisted::Registered) => {
                    is_registered = true;
                    Some(Vec::new())
                }
                None => {
                    no_trunk(reader, fields, text, entry.value.span);
                    None
                }
            },
            Data::Null | Data::List(_) | Data::Map(_) => {
                let list = reader.counts(fields, TRUNK.key, (1, 4094)).unwrap_or_default();
                let vids = list.iter().filter_map(|&v| Vid::new(u16::try_from(v).ok()?));
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
    (vlan, default_pcp, is_registered)
}

/// Reports VLANs of a trunk that are neither a list nor one of the words.
fn no_trunk(reader: &mut Reader<'_>, fields: &Fields<'_>, text: &str, at: Span) {
    let title = format!("`trunk` is a list of VLANs, `all` or `registered`, found {}", found(text));
    let label = format!("of {}", fields.owner);
    let help = match units::read_count(text) {
        Ok(_) => Help::write(format!("trunk: [{text}]")),
        Err(_) => Help::example("trunk: [10, 20]"),
    };
    reader.report(Diagnostic::new(&codes::WRONG_TYPE, title, at, label).help(help));
}
