//! Stacks and their costs.

use std::collections::BTreeMap;

use rtether_model::arp::Arp;
use rtether_model::endnode::Detector;
use rtether_model::network::{Cost, EndStation, LinearStack, RtosStack, Stack, Tasks};
use rtether_model::quantity::Duration;
use rtether_model::unknown::{CostName, Unknown};
use rtether_model::wire::MAX_TAGGED_FRAME;

use super::check_name;
use super::jitter::{LONGEST, jitter};
use super::layer::Parts;
use crate::codes;
use crate::device::is_file;
use crate::diagnostic::{Diagnostic, Span, quote};
use crate::keys::table::{ARP, ORDER, REDUNDANCY, SERVERS, STACK, STATION_SELECTION, TASKS};
use crate::profiles;
use crate::reader::{Fields, Reader};

/// A stack and the layer below it.
#[derive(Clone)]
pub(super) struct Station {
    pub(super) model: EndStation,
    /// Layer settings as given, for nodes that override some.
    pub(super) parts: Parts,
}

impl From<EndStation> for Station {
    fn from(model: EndStation) -> Self {
        let parts = Parts::default();
        Self { model, parts }
    }
}

/// A declared stack.
pub(super) struct Declared {
    pub(super) station: Station,
    pub(super) span: Span,
    pub(super) used: bool,
}

/// Reads `stacks:`; a stack with mistakes is kept at zero cost, so that its name is known.
pub(super) fn stacks(reader: &mut Reader<'_>, top: &Fields<'_>) -> BTreeMap<String, Declared> {
    let mut stacks = BTreeMap::new();
    for entry in reader.named(top, "stacks") {
        check_name(reader, "stack", &entry.key, entry.key_span, &[':', '*']);
        let built_in = profiles::find(&entry.key).is_some();
        if built_in || entry.key == "zero" {
            let name = quote(&entry.key);
            let label = if built_in {
                format!("{name} is built in")
            } else {
                "`zero` is always there and takes no time".to_owned()
            };
            let title = format!("a stack is named {name}");
            reader.report(
                Diagnostic::new(&codes::DUPLICATE_NAME, title, entry.key_span, label)
                    .help("give the stack another name"),
            );
        }
        let owner = format!("stack {}", quote(&entry.key));
        let station = reader
            .fields(&entry.value, &STACK, owner, entry.key_span)
            .and_then(|fields| stack(reader, &fields));
        let declared = Declared {
            station: station.unwrap_or_else(|| zero().into()),
            span: entry.key_span,
            used: false,
        };
        stacks.insert(entry.key.clone(), declared);
    }
    stacks
}

/// Returns a station with zero processing time.
pub(crate) fn zero() -> EndStation {
    EndStation::new(Stack::Zero)
}

/// Reads one stack.
pub(super) fn stack(reader: &mut Reader<'_>, fields: &Fields<'_>) -> Option<Station> {
    let mut station = Station::from(zero());
    if fields.has("stack") {
        without_profile(reader, fields);
        return None;
    }
    let model = if fields.has("rate") || fields.has("service") {
        ip_rate(reader, fields, &mut station.model.unknown)
    } else if RTOS_KEYS.iter().any(|key| fields.has(key)) {
        rtos(reader, fields, &mut station.model.unknown)
    } else if LINEAR_KEYS.iter().any(|key| fields.has(key)) {
        linear(reader, fields, &mut station.model.unknown)
    } else {
        let title = format!("{} has no cost", fields.owner);
        let label = "belongs to this";
        reader.report(
            Diagnostic::new(&codes::MISSING_KEY, title, fields.at, label)
                .help("add `rate: 5000 packets/s`, or `send: 50 us` and `receive: 50 us`")
                .help("for a node that takes no time, write `stack: zero` there"),
        );
        None
    };
    settings(reader, fields, &mut station);
    station.model.stack = model?;
    Some(station)
}

/// Reports that the profile of a stack is none, unless that was told where it was to be read.
fn without_profile(reader: &mut Reader<'_>, fields: &Fields<'_>) {
    if let Some(own) = reader.scalar(fields, "stack")
        && !is_file(own.value)
    {
        let title = format!("{} is no profile", quote(own.value));
        let label = "names of profiles end with `.yaml`, `.yml` or `.json`";
        let wrong = Diagnostic::new(&codes::UNREAD_FILE, title, own.span, label);
        reader
            .report(wrong.help("of a node, `stack` may also name a declared or a built-in stack"));
    }
}

/// Keys of a stack with a cost per direction.
const LINEAR_KEYS: [&str; 3] = ["send", "receive", "both"];

/// Keys of a stack with a cost per kind of packet.
const RTOS_KEYS: [&str; 3] = ["datagram", "segment", "acknowledgement"];

/// Reads what nodes may set as well: limits, tasks, the layer below the stack, and emulation.
pub(super) fn settings(reader: &mut Reader<'_>, fields: &Fields<'_>, station: &mut Station) {
    limits(reader, fields, &mut station.model);
    if fields.has("selection") {
        station.model.by_deadline = reader.meaning(fields, &STATION_SELECTION);
    }
    if let Some(emulate) = reader.flag(fields, "emulate") {
        station.model.emulate = emulate;
    }
    if let Some(inner) = reader.one(fields, "arp", &ARP) {
        station.model.arp = Some(arp(reader, &inner));
    }
    if fields.has("redundancy") {
        station.model.redundancy = reader.word(fields, &REDUNDANCY).map(|word| word.means);
    }
    if let Some(inner) = reader.one(fields, "tasks", &TASKS) {
        let own = &mut station.model;
        let of_tasks = [CostName::TaskMessage, CostName::TaskSegment];
        own.unknown.retain(|one| !of_tasks.contains(&one.cost));
        own.tasks = Some(tasks(reader, &inner, &mut own.unknown));
    }
    let layer = ["priorities", "receive_queues", "transmit_queues", "smoother"];
    if layer.iter().any(|key| fields.has(key)) {
        station.parts = Parts::read(reader, fields).or(&station.parts);
        station.model.layer = station.parts.join(reader);
        refuse_wire_only(reader, fields, station);
    }
    refuse_two_choices(reader, fields, station);
    refuse_layer_in_two_networks(reader, fields, station);
}

/// Refuses a layer or tasks at a station in two networks.
fn refuse_layer_in_two_networks(reader: &mut Reader<'_>, fields: &Fields<'_>, station: &Station) {
    let own = &station.model;
    if own.redundancy.is_none() || (own.layer.is_none() && own.tasks.is_none()) {
        return;
    }
    let keys = ["redundancy", "tasks", "transmit_queues", "receive_queues", "smoother"];
    let at = keys.iter().find_map(|key| fields.key_span(key));
    let title = format!("{} is in two networks and has a layer or tasks", fields.owner);
    let label = "a layer drives one port";
    reader.report(
        Diagnostic::new(&codes::CONFLICTING_KEYS, title, at.unwrap_or(fields.at), label)
            .help("leave out `redundancy`, or the layer and `tasks`"),
    );
}

/// Refuses a port that selects by deadline what a layer has chosen already.
fn refuse_two_choices(reader: &mut Reader<'_>, fields: &Fields<'_>, station: &Station) {
    let layer = station.model.layer.as_ref();
    let chooses = layer.is_some_and(|own| own.transmit.is_some() || own.smoother.is_some());
    let keys = ["selection", "transmit_queues", "smoother"];
    let at = keys.iter().find_map(|key| fields.key_span(key));
    if let (true, true, Some(at)) = (chooses, station.model.by_deadline, at) {
        let title = format!("{} selects by deadline below its layer", fields.owner);
        let label = "transmit queues and smoothers choose before the port can";
        reader.report(
            Diagnostic::new(&codes::CONFLICTING_KEYS, title, at, label)
                .help("use `selection: fcfs`, or leave out `transmit_queues` and `smoother`"),
        );
    }
}

/// Refuses detectors that a simulated network cannot feed: it carries neither probes nor marks.
fn refuse_wire_only(reader: &mut Reader<'_>, fields: &Fields<'_>, station: &Station) {
    let layer = station.model.layer.as_ref();
    let smoother = layer.and_then(|layer| layer.smoother);
    let detector = smoother.map(|smoothing| smoothing.detector);
    if let Some(Detector::ProbeDelay { .. } | Detector::Marks { .. }) = detector {
        let title = "this detector is for shims of real interfaces";
        let at = fields.key_span("smoother").unwrap_or(fields.at);
        let label = "the simulator cannot feed this detector";
        reader.report(
            Diagnostic::new(&codes::MISPLACED_KEY, title, at, label)
                .help("use `collisions`, `clearing-rate`, `backlog` or `utilization`"),
        );
    }
}

fn tasks(reader: &mut Reader<'_>, fields: &Fields<'_>, unknown: &mut Vec<Unknown>) -> Tasks {
    let mut time = |key, cost| {
        let [least, most] = reader.ends_of_time(fields, key, LONGEST, "of a single packet")?;
        note(unknown, cost, most - least);
        Some(least)
    };
    let message = time("message", CostName::TaskMessage);
    let segment = time("segment", CostName::TaskSegment);
    Tasks {
        message: message.unwrap_or(Duration::ZERO),
        segment: segment.unwrap_or(Duration::ZERO),
        messages_first: reader.meaning(fields, &ORDER),
    }
}

/// Notes by how much a cost may be above its least.
fn note(unknown: &mut Vec<Unknown>, cost: CostName, more: Duration) {
    if more > Duration::ZERO {
        unknown.push(Unknown { cost, more });
    }
}

/// Reads a cost, or both ends of one that is not known, which is noted; returns the least.
fn cost(
    reader: &mut Reader<'_>,
    fields: &Fields<'_>,
    cost: CostName,
    unknown: &mut Vec<Unknown>,
) -> Option<Cost> {
    let key = cost.key();
    let Some([least, most]) = reader.unknown(fields, key, LONGEST, "of a single packet").ok()?
    else {
        return reader.cost(fields, key);
    };
    note(unknown, cost, most - least);
    Some(Cost { base: least, per_octet: Duration::ZERO })
}

/// Longest time until a request is repeated: that of all attempts is within the range of bounds.
const LONGEST_RETRY: Duration = Duration::from_secs(10);

fn arp(reader: &mut Reader<'_>, fields: &Fields<'_>) -> Arp {
    let mut arp = Arp::DEFAULT;
    let mut time = |key, most, why| {
        let found = reader.time_up_to(fields, key, most, why)?;
        if found > Duration::ZERO {
            return Some(found);
        }
        reader.positive_time(fields, key);
        None
    };
    if let Some(lifetime) = time("lifetime", LONGEST, "an hour") {
        arp.lifetime = lifetime;
    }
    if let Some(retry) = time("retry", LONGEST_RETRY, "for one request") {
        arp.retry = retry;
    }
    if let Some(attempts) = reader.count(fields, "attempts") {
        arp.attempts = u32::try_from(attempts.value).unwrap_or(u32::MAX);
    }
    if let Some(hold) = reader.size(fields, "hold") {
        arp.hold = hold.value;
    }
    arp
}

fn limits(reader: &mut Reader<'_>, fields: &Fields<'_>, station: &mut EndStation) {
    if let Some(limit) = reader.count(fields, "stack_queue") {
        station.stack_queue = u32::try_from(limit.value).unwrap_or(u32::MAX);
    }
    if let Some(limit) = reader.size(fields, "driver_queue") {
        // Below a full frame, an idle station would drop frames.
        if limit.value < MAX_TAGGED_FRAME {
            let (rule, found) = (format!("at least {MAX_TAGGED_FRAME}"), limit.value.to_string());
            let why = "a full frame has to fit";
            reader.out_of_range("driver_queue", limit.span, &rule, &found, why);
        }
        station.driver_queue = limit.value;
    }
}

fn ip_rate(
    reader: &mut Reader<'_>,
    fields: &Fields<'_>,
    unknown: &mut Vec<Unknown>,
) -> Option<Stack> {
    let other_models = [
        "send",
        "receive",
        "both",
        "interface",
        "servers",
        "jitter",
        "outliers",
        "datagram",
        "segment",
        "acknowledgement",
    ];
    reader.misplaced(fields, &other_models, "a stack with one rate for all packets");
    reader.conflict(fields, "rate", "service");
    let known = reader.unknown(fields, "service", LONGEST, "of a single packet").ok()?;
    let service = if let Some([least, most]) = known {
        note(unknown, CostName::Service, most - least);
        return Some(Stack::IpRate { service: least });
    } else if fields.has("rate") {
        reader.interval(fields, "rate")?
    } else {
        reader.positive_time(fields, "service")?
    };
    if service.value > LONGEST {
        let found = service.value.to_string();
        let why = "an hour for one packet";
        reader.out_of_range("service", service.span, "at most 3600 s", &found, why);
        return None;
    }
    Some(Stack::IpRate { service: service.value })
}

fn rtos(reader: &mut Reader<'_>, fields: &Fields<'_>, unknown: &mut Vec<Unknown>) -> Option<Stack> {
    let linear_only = ["send", "receive", "both", "interface", "servers"];
    let what = "a stack with a cost for each kind of packet";
    reader.misplaced(fields, &linear_only, what);
    let names = [CostName::Datagram, CostName::Segment, CostName::Acknowledgement];
    let mut costs = names.map(|name| {
        reader.require(fields, name.key());
        cost(reader, fields, name, unknown)
    });
    let jitter = jitter(reader, fields);
    Some(Stack::Rtos(RtosStack {
        datagram: costs[0].take()?,
        segment: costs[1].take()?,
        acknowledgement: costs[2].take()?,
        jitter,
    }))
}

fn linear(
    reader: &mut Reader<'_>,
    fields: &Fields<'_>,
    unknown: &mut Vec<Unknown>,
) -> Option<Stack> {
    let is_whole =
        fields.has("both") || reader.require(fields, "send") & reader.require(fields, "receive");
    let send = direction(reader, fields, CostName::Send, unknown);
    let receive = direction(reader, fields, CostName::Receive, unknown);
    if let Some([least, most]) = reader.ends_of_time(fields, "both", LONGEST, "of a single packet")
    {
        note(unknown, CostName::Both, most);
        note(unknown, CostName::Sum, most - least);
    }
    let interface = cost(reader, fields, CostName::Interface, unknown);
    let servers = reader.meaning(fields, &SERVERS);
    let jitter = jitter(reader, fields);
    is_whole.then_some(())?;
    Some(Stack::Linear(LinearStack {
        send: send?,
        receive: receive?,
        interface: interface.unwrap_or_default(),
        jitter,
        servers,
    }))
}

/// Reads the cost of a direction, which is nothing if a sum is all that is known.
fn direction(
    reader: &mut Reader<'_>,
    fields: &Fields<'_>,
    name: CostName,
    unknown: &mut Vec<Unknown>,
) -> Option<Cost> {
    if fields.has("both") && !fields.has(name.key()) {
        return Some(Cost::default());
    }
    cost(reader, fields, name, unknown)
}
