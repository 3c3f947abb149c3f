//! Access schemes of hubs.

use rtether_model::access::{
    Access, Backup, Domain, Ftt, Member, Problem, REAL_TIME, Scheme, SchemeKind, Slot, Synchronous,
    Tdma, TimedToken, Wish,
};
use rtether_model::network::NodeId;
use rtether_model::quantity::{Bytes, Duration};

use super::Plant;
use super::links::head;
use crate::codes;
use crate::diagnostic::{Diagnostic, Span, quote};
use crate::keys::table::{ACCESS, RESERVATION, SCHEME, SILENT, SLOT, SYNCHRONOUS};
use crate::reader::{Fields, Reader};
use crate::tree::{Data, Entry};

/// Longest cycle.
const CYCLE_MAX: Duration = Duration::from_secs(10);

/// Reads `access:` of all hubs, once nodes, links and flows are known.
pub(crate) fn access(reader: &mut Reader<'_>, top: &Fields<'_>, plant: &mut Plant) {
    let Some(hubs) = top.get("hubs") else {
        return;
    };
    let Data::Map(hubs) = &hubs.value.data else {
        return;
    };
    let mut first: Vec<(Domain, Span)> = Vec::new();
    for entry in hubs {
        let Some((own, hub)) = written(entry).zip(plant.find(&entry.key)) else {
            continue;
        };
        let owner = format!("`access` of hub {}", quote(&entry.key));
        let fields = reader.fields(&own.value, &ACCESS, owner, own.key_span);
        let Some((fields, domain)) = fields.zip(Domain::of(&plant.network, hub)) else {
            continue;
        };
        if let Some((_, span)) = first.iter().find(|(other, _)| other.hubs.contains(&hub)) {
            let title = format!("{} is the second scheme of its medium", fields.owner);
            reader.report(
                Diagnostic::new(&codes::HUB_MISMATCH, title, own.key_span, "the second one")
                    .also(*span, "the first one")
                    .help("keep one of them, or put a switch between the hubs"),
            );
            continue;
        }
        if let Some(access) = read(reader, &fields, plant, (hub, &domain)) {
            plant.network.access.push(access);
        }
        first.push((domain, own.key_span));
    }
}

/// Returns the entry of the scheme in that of a hub.
fn written(hub: &Entry) -> Option<&Entry> {
    let Data::Map(keys) = &hub.value.data else {
        return None;
    };
    keys.iter().find(|entry| entry.key == "access")
}

fn read(
    reader: &mut Reader<'_>,
    fields: &Fields<'_>,
    plant: &Plant,
    (hub, domain): (NodeId, &Domain),
) -> Option<Access> {
    let errors = reader.sink.errors();
    let kind = reader.meaning(fields, &SCHEME);
    misplaced(reader, fields, kind);
    let named = Named { plant, domain };
    let others = named.all(reader, fields, "others");
    let wish = Wish {
        others: others.unwrap_or_default(),
        master: named.one(reader, fields, "master"),
        backup: named.one(reader, fields, "backup"),
        response: reader.time_up_to(fields, "response", Duration::from_secs(1), "of a station"),
    };
    let plant_parts = (&plant.network, &plant.flows[..]);
    let mut access = Access::plan(kind, plant_parts, hub, &wish)?;
    let cycle = reader.positive_time(fields, "cycle").map(|own| own.value);
    if let Some(cycle) = cycle.filter(|cycle| *cycle > CYCLE_MAX) {
        let span = fields.get("cycle").map_or(fields.at, |own| own.value.span);
        let rule = format!("at most {CYCLE_MAX}");
        reader.out_of_range("cycle", span, &rule, &cycle.to_string(), "of a medium");
    }
    let members: Vec<NodeId> = access.members.iter().map(|own| own.node).collect();
    let time = |reader: &mut Reader<'_>, key: &str| {
        reader.time_up_to(fields, key, CYCLE_MAX, "of a medium")
    };
    match &mut access.scheme {
        Scheme::Tdma(tdma) => {
            let largest = |member: u32| access.members[member as usize].largest_of_all();
            slots(reader, fields, (tdma, &named), &members, largest);
            tdma.cycle = cycle.unwrap_or(tdma.cycle);
        }
        Scheme::Polling(polling) => {
            polling.cycle = cycle.unwrap_or(polling.cycle);
            let retries = reader.count(fields, "retries");
            let retries = retries.and_then(|own| u32::try_from(own.value).ok());
            polling.retries = retries.unwrap_or(polling.retries);
        }
        Scheme::Powerlink(powerlink) => {
            powerlink.cycle = cycle.unwrap_or(powerlink.cycle);
        }
        Scheme::Ftt(ftt) => {
            messages(reader, fields, (ftt, &named), &access.members);
            ftt.window = time(reader, "window").unwrap_or_else(|| ftt.shortest_window(domain));
            let shortest = ftt.shortest(domain, &access.members, access.response);
            ftt.cycle = cycle.unwrap_or(shortest);
        }
        Scheme::TimedToken(token) => {
            reservations(reader, fields, (token, &named), &members);
            token.cycle = cycle.unwrap_or(token.cycle);
        }
        Scheme::VirtualToken(token) => {
            token.silence = time(reader, "silence").unwrap_or(token.silence);
        }
        Scheme::Summation(own) => {
            own.pass = time(reader, "pass").unwrap_or(own.pass);
            own.cycle = cycle.unwrap_or_else(|| own.shortest(domain, &access.members));
        }
        Scheme::DemandPriority(demand) => {
            demand.signalling = time(reader, "signalling").unwrap_or(demand.signalling);
            demand.promotion = time(reader, "promotion").unwrap_or(demand.promotion);
        }
    }
    faults(reader, fields, &named, &mut access);
    let is_whole = reader.sink.errors() == errors;
    if is_whole && let Err(problem) = access.check(domain) {
        impossible(reader, fields, &problem);
    }
    if is_whole {
        without_slot(reader, fields, plant, &access);
        by_deadline(reader, fields, plant, &access);
    }
    Some(access)
}

/// Reports keys that a scheme does not have.
fn misplaced(reader: &mut Reader<'_>, fields: &Fields<'_>, kind: SchemeKind) {
    let what = format!("`scheme: {}`", kind.name());
    let own: &[&str] = match kind {
        SchemeKind::CsmaCd => &["scheme"],
        SchemeKind::Tdma => &["cycle", "master", "backup", "backup_at", "slots"],
        SchemeKind::Polling => &["cycle", "master", "response", "retries"],
        SchemeKind::Powerlink => &["cycle", "master", "response"],
        SchemeKind::Ftt => &["cycle", "master", "response", "messages", "window"],
        SchemeKind::TimedToken => &["cycle", "response", "reservations"],
        SchemeKind::VirtualToken => &["silence"],
        SchemeKind::DemandPriority => &["signalling", "promotion"],
        SchemeKind::Summation => &["cycle", "master", "pass"],
    };
    let common: &[&str] =
        if kind == SchemeKind::CsmaCd { &[] } else { &["scheme", "others", "lost", "silent"] };
    let is_known = |key: &&str| own.contains(key) || common.contains(key);
    let foreign: Vec<&str> = ACCESS.names().filter(|key| !is_known(key)).collect();
    reader.misplaced(fields, &foreign, &what);
}

/// Reads the synchronous messages of FTT-Ethernet.
fn messages(
    reader: &mut Reader<'_>,
    fields: &Fields<'_>,
    (ftt, named): (&mut Ftt, &Named<'_>),
    members: &[Member],
) {
    if !fields.has("messages") {
        return;
    }
    ftt.messages.clear();
    for item in reader.items(fields, "messages") {
        let owner = format!("a synchronous message of {}", fields.owner);
        let Some(inner) = reader.fields(item, &SYNCHRONOUS, owner, head(item)) else {
            continue;
        };
        let given = reader.require(&inner, "node");
        let node = named.one(reader, &inner, "node");
        let size = reader.size(&inner, "size").map(|size| size.value);
        let every = reader.count(&inner, "every");
        let every = every.map_or(1, |own| u32::try_from(own.value).unwrap_or(1));
        let own = (0u32..).zip(members).find(|(_, own)| Some(own.node) == node);
        if let (true, Some((member, own))) = (given, own) {
            let size = size.unwrap_or(own.largest[usize::from(REAL_TIME)]);
            ftt.messages.push(Synchronous { member, size, every });
        }
    }
}

/// Reads the reservations of a timed token.
fn reservations(
    reader: &mut Reader<'_>,
    fields: &Fields<'_>,
    (token, named): (&mut TimedToken, &Named<'_>),
    members: &[NodeId],
) {
    if !fields.has("reservations") {
        return;
    }
    token.reservations.fill(Duration::ZERO);
    for item in reader.items(fields, "reservations") {
        let owner = format!("a reservation of {}", fields.owner);
        let Some(inner) = reader.fields(item, &RESERVATION, owner, head(item)) else {
            continue;
        };
        let given = reader.require(&inner, "node") & reader.require(&inner, "time");
        let node = named.one(reader, &inner, "node");
        let time = reader.time_up_to(&inner, "time", CYCLE_MAX, "of a cycle");
        let member = node.and_then(|node| members.iter().position(|own| *own == node));
        if let (true, Some(member), Some(time)) = (given, member, time) {
            token.reservations[member] = time;
        }
    }
}

/// Names of nodes on a medium.
struct Named<'a> {
    plant: &'a Plant,
    domain: &'a Domain,
}

impl Named<'_> {
    /// Returns the node that a key names.
    fn one(&self, reader: &mut Reader<'_>, fields: &Fields<'_>, key: &str) -> Option<NodeId> {
        let name = reader.scalar(fields, key)?;
        self.find(reader, name.value, name.span)
    }

    /// Returns the nodes that a key lists.
    fn all(&self, reader: &mut Reader<'_>, fields: &Fields<'_>, key: &str) -> Option<Vec<NodeId>> {
        let mut found = Vec::new();
        for item in reader.items(fields, key) {
            let Data::Scalar(text) = &item.data else {
                reader.wrong_type(fields, key, item, "a list of names");
                return None;
            };
            found.extend(self.find(reader, text, item.span));
        }
        Some(found)
    }

    fn find(&self, reader: &mut Reader<'_>, name: &str, span: Span) -> Option<NodeId> {
        let role = "on this medium";
        let proposal = "under `nodes`";
        let node = self.plant.node_or_report(reader, name, span, role, proposal)?;
        if self.domain.nodes.contains(&node) {
            return Some(node);
        }
        let title = format!("{} is not on the medium of this hub", quote(name));
        let label = "a scheme is for the nodes that share a medium";
        let own = self.domain.nodes.iter();
        let own: Vec<String> =
            own.take(5).map(|node| quote(&self.plant.network.node(*node).name)).collect();
        reader.report(
            Diagnostic::new(&codes::UNKNOWN_NODE, title, span, label)
                .help(format!("on it are {}", own.join(", "))),
        );
        None
    }
}

/// Reads the slots and the backup master's offset.
fn slots(
    reader: &mut Reader<'_>,
    fields: &Fields<'_>,
    (tdma, named): (&mut Tdma, &Named<'_>),
    members: &[NodeId],
    largest: impl Fn(u32) -> Bytes,
) {
    let backup_at = reader.time_up_to(fields, "backup_at", CYCLE_MAX, "of a cycle");
    if let (Some(backup), Some(offset)) = (&mut tdma.backup, backup_at) {
        *backup = Backup { offset, ..*backup };
    }
    if !fields.has("slots") {
        return;
    }
    let mut all = Vec::new();
    for item in reader.items(fields, "slots") {
        let owner = format!("a slot of {}", fields.owner);
        let Some(inner) = reader.fields(item, &SLOT, owner, head(item)) else {
            continue;
        };
        let given = reader.require(&inner, "node") & reader.require(&inner, "at");
        let node = named.one(reader, &inner, "node");
        let offset = reader.time_up_to(&inner, "at", CYCLE_MAX, "of a cycle");
        let size = reader.size(&inner, "size").map(|size| size.value);
        let count = |found: Option<crate::reader::At<u64>>| {
            found.map_or(1, |own| u32::try_from(own.value).unwrap_or(1))
        };
        let of = count(reader.count(&inner, "of"));
        let turn = count(reader.count(&inner, "turn"));
        if turn > of {
            let span = inner.get("turn").map_or(inner.at, |own| own.value.span);
            let rule = format!("at most {of}");
            reader.out_of_range(
                "turn",
                span,
                &rule,
                &turn.to_string(),
                "the number of cycles in `of`",
            );
            continue;
        }
        let member = node.and_then(|node| members.iter().position(|own| *own == node));
        let member = member.and_then(|at| u32::try_from(at).ok());
        if let (true, Some(member), Some(offset)) = (given, member, offset) {
            all.push(Slot {
                member,
                offset,
                size: size.unwrap_or_else(|| largest(member)),
                of,
                turn: turn - 1,
            });
        }
    }
    all.sort_by_key(|slot| slot.offset);
    let end = all.last().map(|slot| slot.offset);
    tdma.slots = all;
    if !fields.has("cycle") && end.is_some() {
        tdma.cycle = tdma.shortest(named.domain);
    }
}

/// Reads what goes wrong.
fn faults(reader: &mut Reader<'_>, fields: &Fields<'_>, named: &Named<'_>, access: &mut Access) {
    access.faults.lost = reader.values(fields, "lost").unwrap_or_default();
    for item in reader.items(fields, "silent") {
        let owner = format!("a silent station of {}", fields.owner);
        let Some(inner) = reader.fields(item, &SILENT, owner, head(item)) else {
            continue;
        };
        reader.require(&inner, "node");
        let node = named.one(reader, &inner, "node");
        let from = reader.time(&inner, "from");
        let from = from.map_or(Duration::ZERO, |from| from.value);
        access.faults.silent.extend(node.map(|node| (node, from)));
    }
}

/// Reports values that contradict each other.
fn impossible(reader: &mut Reader<'_>, fields: &Fields<'_>, problem: &Problem) {
    let (key, help) = match problem {
        Problem::NoMember => {
            ("others", "a master or the owner of a slot has to follow the scheme".to_owned())
        }
        Problem::ShortCycle { least } => ("cycle", format!("write `cycle: {least}`, or more")),
        Problem::SlotBeforeSync { least, .. } | Problem::Overlap { least, .. } => {
            ("slots", format!("begin it at {least} or later"))
        }
        Problem::ShortWindow { least } => ("window", format!("write `window: {least}`, or more")),
        Problem::ShortSilence { least } => {
            ("silence", format!("write `silence: {least}`, or more"))
        }
        Problem::NotInLine => {
            ("scheme", "leave out `others`, and take switches off this medium".to_owned())
        }
        Problem::BadTurn { .. } => ("slots", "`turn` counts from 1 to `of`".to_owned()),
    };
    let title = format!("{} cannot work: {problem}", fields.owner);
    let span = fields.get(key).map_or(fields.at, |own| own.value.span);
    reader.report(Diagnostic::new(&codes::ACCESS_IMPOSSIBLE, title, span, "given here").help(help));
}

/// Reports stations that want to choose what the scheme chooses.
fn by_deadline(reader: &mut Reader<'_>, fields: &Fields<'_>, plant: &Plant, access: &Access) {
    for own in &access.members {
        let station = plant.network.end_station(own.node);
        if station.is_some_and(|station| station.by_deadline) {
            let name = quote(&plant.network.node(own.node).name);
            let title = format!("{name} selects by deadline on a medium with `access`");
            let label = "the scheme chooses among its frames";
            reader.report(
                Diagnostic::new(&codes::ACCESS_IMPOSSIBLE, title, fields.at, label)
                    .help("leave out `selection: edf` of this station, or `access`"),
            );
        }
    }
}

/// Reports stations that have frames to send and no slot for them.
fn without_slot(reader: &mut Reader<'_>, fields: &Fields<'_>, plant: &Plant, access: &Access) {
    for (member, own) in (0u32..).zip(&access.members) {
        let (size, has_slot, word) = match &access.scheme {
            Scheme::Tdma(tdma) => {
                let size = own.largest_of_all();
                let mut slots = tdma.slots.iter().filter(|slot| slot.member == member);
                (size, slots.any(|slot| slot.size >= size), "slot")
            }
            Scheme::Ftt(ftt) => {
                let size = own.largest[usize::from(REAL_TIME)];
                let mut messages = ftt.messages.iter().filter(|own| own.member == member);
                (size, messages.any(|own| own.size >= size), "message")
            }
            Scheme::Polling(_)
            | Scheme::Powerlink(_)
            | Scheme::TimedToken(_)
            | Scheme::VirtualToken(_)
            | Scheme::DemandPriority(_)
            | Scheme::Summation(_) => return,
        };
        if size == Bytes::ZERO || has_slot {
            continue;
        }
        let key = if word == "slot" { "slots" } else { "messages" };
        let name = quote(&plant.network.node(own.node).name);
        let title = format!("{name} sends frames of {size} and has no {word} for them");
        let span = fields.get(key).map_or(fields.at, |own| own.value.span);
        let help = format!("give it a {word} with `size: {size}`, or list it in `others`");
        let label = "none of these";
        reader.report(Diagnostic::new(&codes::ACCESS_IMPOSSIBLE, title, span, label).help(help));
    }
}
