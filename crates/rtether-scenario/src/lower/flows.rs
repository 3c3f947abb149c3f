//! Flows: talker, listeners, protocol.

use rtether_model::flow::{Delivery, Flow, Ports, Reply, Scan, Tag, TcpParameters, Traffic};
use rtether_model::network::{NodeId, Stack, Vid};
use rtether_model::quantity::{Bytes, Duration};
use rtether_model::wire::{Encapsulation, RtpsVersion};

use super::bulk;
use super::links::head;
use super::routes::{Ends, routes};
use super::tags::{pcp, vid};
use super::traffic::{self, BULK_ONLY, phase};
use super::{Plant, check_name, unseen};
use crate::codes;
use crate::diagnostic::{Diagnostic, Span, quote};
use crate::keys::table::{DELIVERY, FLOW, KIND, OVER, REPLY, Release, SCAN_PHASE};
use crate::plan::RunPlan;
use crate::reader::{At, Fields, Reader};
use crate::tree::{Data, Value};

/// Largest message over TCP, or sample over RTPS; the engine keeps none larger.
const MAX_MESSAGE: Bytes = Bytes::new(16_000_000);

/// Characters of a description, enough for a sentence.
const LONGEST_DESCRIPTION: usize = 200;

/// Reads `flows:`.
pub(crate) fn flows(reader: &mut Reader<'_>, top: &Fields<'_>, plant: &mut Plant, run: &RunPlan) {
    for item in reader.items(top, "flows") {
        let (owner, at) = owner(item);
        let Some(fields) = reader.fields(item, &FLOW, owner, at) else {
            continue;
        };
        if let Some(flow) = flow(reader, &fields, plant, run) {
            plant.add_flow(reader, flow, at);
        }
    }
}

/// Returns the name of a flow for messages, and where to point.
fn owner(item: &Value) -> (String, Span) {
    if let Data::Map(entries) = &item.data
        && let Some(entry) = entries.iter().find(|entry| entry.key == "name")
        && let Data::Scalar(name) = &entry.value.data
    {
        return (format!("flow {}", quote(name)), entry.value.span);
    }
    ("a flow".to_owned(), head(item))
}

fn flow(
    reader: &mut Reader<'_>,
    fields: &Fields<'_>,
    plant: &Plant,
    run: &RunPlan,
) -> Option<Flow> {
    let errors = reader.sink.errors();
    if reader.require(fields, "name")
        && let Some(name) = reader.scalar(fields, "name")
    {
        check_name(reader, "flow", name.value, name.span, &['*']);
    }
    if let Some(class) = reader.scalar(fields, "class") {
        check_name(reader, "class", class.value, class.span, &['*']);
    }
    let description = description(reader, fields);
    let talker = talker(reader, fields, plant);
    let listeners = listeners(reader, fields, plant);
    let encapsulation = encapsulation(reader, fields);
    let kind = traffic::kind(reader, fields, encapsulation);
    let tag = tag(reader, fields);
    let (dscp, ports) = ip(reader, fields, encapsulation);
    let start = reader.time(fields, "start");
    let stop = reader.time(fields, "stop");
    check_times(reader, start, stop, run);
    let payload = payload(reader, fields, kind, encapsulation);
    let traffic = traffic::traffic(reader, fields, kind, (payload, encapsulation, tag), run);
    let reply = reply(reader, fields, encapsulation);
    let connection = connection(reader, fields, kind, encapsulation);
    let deadline = reader.positive_time(fields, "deadline");
    let gap = reader.positive_time(fields, "gap");
    match kind {
        Release::Flood => {
            let what = "a flood, which sends without regard to what arrives";
            reader.misplaced(fields, &["reply", "deadline"], what);
        }
        Release::Bulk => reader.misplaced(fields, &["reply"], "a bulk transfer"),
        Release::Periodic | Release::Sporadic | Release::Poisson | Release::Adaptive => {}
    }
    bulk::check_end(reader, fields, traffic.as_ref());
    let delivery = delivery(reader, fields, encapsulation);
    one_listener(reader, fields, kind, &listeners);
    if let Some(talker) = talker.as_ref().filter(|own| listeners.contains(&own.value)) {
        to_itself(reader, fields, plant, talker, (encapsulation, delivery));
    }
    let ends = Ends {
        talker: talker.as_ref().map(|talker| talker.value),
        listeners: &listeners,
        delivery,
        encapsulation,
    };
    let routes = routes(reader, fields, plant, &ends);
    // Mistakes of this flow have been reported; half a flow would only cause more.
    (reader.sink.errors() == errors).then_some(())?;
    let name = reader.scalar(fields, "name")?.value.to_owned();
    let traffic = traffic?;
    let class = reader.scalar(fields, "class");
    Some(Flow {
        class: class.map_or(String::new(), |class| class.value.to_owned()),
        description,
        delivery,
        routes,
        encapsulation,
        tag,
        dscp,
        ports,
        start: start.map_or(Duration::ZERO, |time| time.value),
        stop: stop.map(|time| time.value),
        gap: gap.map(|time| time.value),
        reply,
        connection,
        deadline: deadline.map(|time| time.value),
        ..Flow::new(name, talker?.value, listeners, segment_of(&traffic).or(payload)?, traffic)
    })
}

/// Reads a line of text; empty if it is missing or wrong.
fn description(reader: &mut Reader<'_>, fields: &Fields<'_>) -> String {
    const KEY: &str = "description";
    let Some(At { value: text, span }) = reader.scalar(fields, KEY) else {
        return String::new();
    };
    let length = text.chars().count();
    let is_long = length > LONGEST_DESCRIPTION;
    let long = is_long.then(|| format!("it has {length} characters"));
    if let Some(why) = unseen(text).or(long) {
        let rule = format!("one line of at most {LONGEST_DESCRIPTION} characters");
        reader.out_of_range(KEY, span, &rule, &quote(text), why);
        return String::new();
    }
    text.to_owned()
}

fn talker(reader: &mut Reader<'_>, fields: &Fields<'_>, plant: &Plant) -> Option<At<NodeId>> {
    reader.require(fields, "from");
    let At { value: name, span } = reader.scalar(fields, "from")?;
    let value = station(reader, &fields.owner, plant, name, span, "talker")?;
    Some(At { value, span })
}

/// Returns the end station with this name, or reports that there is none.
pub(super) fn station(
    reader: &mut Reader<'_>,
    owner: &str,
    plant: &Plant,
    name: &str,
    span: Span,
    role: &str,
) -> Option<NodeId> {
    let label = || format!("{role} of {owner}");
    // Nearly all names are known, so texts are built only for the others.
    let id = plant.find(name).or_else(|| {
        let proposal = format!("`{name}: {{ stack: zero }}` under `nodes:`");
        plant.node_or_report(reader, name, span, &label(), &proposal)
    })?;
    if let Some((kind, _)) = plant.ports_of(id) {
        let title = format!("{} is a {kind}; flows run between end stations", quote(name));
        let help = format!("add an end station under `nodes:` and link it to the {kind}");
        let label = label();
        reader.report(Diagnostic::new(&codes::NOT_AN_END_STATION, title, span, label).help(help));
        return None;
    }
    Some(id)
}

fn listeners(reader: &mut Reader<'_>, fields: &Fields<'_>, plant: &Plant) -> Vec<NodeId> {
    reader.require(fields, "to");
    let Some(entry) = fields.get("to") else {
        return Vec::new();
    };
    let items = match &entry.value.data {
        Data::List(items) => items.as_slice(),
        Data::Null | Data::Scalar(_) | Data::Map(_) => std::slice::from_ref(&entry.value),
    };
    if items.is_empty() {
        reader.wrong_type(fields, "to", &entry.value, "at least one name");
    }
    let mut list: Vec<NodeId> = Vec::new();
    let mut seen = std::collections::BTreeSet::new();
    for item in items {
        let Data::Scalar(name) = &item.data else {
            reader.wrong_type(fields, "to", item, "a name or a list of names");
            continue;
        };
        let Some(id) = station(reader, &fields.owner, plant, name, item.span, "listener") else {
            continue;
        };
        if !seen.insert(id) {
            let title = format!("{} names {} twice", fields.owner, quote(name));
            let label = "already a listener";
            reader.report(Diagnostic::new(&codes::FLOW_TO_ITSELF, title, item.span, label));
        }
        list.push(id);
    }
    list
}

fn encapsulation(reader: &mut Reader<'_>, fields: &Fields<'_>) -> Encapsulation {
    // A flow that is evidently bulk needs no `over: tcp`.
    if !fields.has(OVER.key) && says_bulk(fields) {
        return Encapsulation::Tcp;
    }
    reader.meaning(fields, &OVER)
}

fn says_bulk(fields: &Fields<'_>) -> bool {
    let is_bulk = |text: &str| KIND.means(text) == Some(Release::Bulk);
    match fields.get(KIND.key).map(|entry| &entry.value.data) {
        Some(kind) => matches!(kind, Data::Scalar(text) if is_bulk(text)),
        None => BULK_ONLY.iter().any(|key| fields.has(key)),
    }
}

fn tag(reader: &mut Reader<'_>, fields: &Fields<'_>) -> Option<Tag> {
    let pcp = pcp(reader, fields, "pcp");
    let vid = vid(reader, fields, "vlan");
    (pcp.is_some() || vid.is_some())
        .then(|| Tag { pcp: pcp.unwrap_or_default(), vid: vid.unwrap_or(Vid::PRIORITY_ONLY) })
}

/// Reads what headers of IP, UDP and TCP say.
fn ip(reader: &mut Reader<'_>, fields: &Fields<'_>, over: Encapsulation) -> (u8, Ports) {
    (dscp(reader, fields, over), ports(reader, fields, over))
}

fn dscp(reader: &mut Reader<'_>, fields: &Fields<'_>, over: Encapsulation) -> u8 {
    if !over.is_ip() {
        reader.misplaced(fields, &["dscp"], "a flow without IP");
    }
    let dscp = reader.count(fields, "dscp");
    dscp.map_or(0, |dscp| u8::try_from(dscp.value).unwrap_or(0))
}

fn ports(reader: &mut Reader<'_>, fields: &Fields<'_>, over: Encapsulation) -> Ports {
    if !over.has_ports() {
        let what = if matches!(over, Encapsulation::Rtps { .. }) {
            "a flow over RTPS, whose participants choose their ports"
        } else {
            "a flow without UDP or TCP"
        };
        reader.misplaced(fields, &["port", "source_port"], what);
        return Ports::UNSET;
    }
    let mut read = |key| {
        let number = reader.count(fields, key)?;
        u16::try_from(number.value).ok()
    };
    Ports { source: read("source_port"), destination: read("port") }
}

fn delivery(reader: &mut Reader<'_>, fields: &Fields<'_>, over: Encapsulation) -> Delivery {
    let word = reader.word(fields, &DELIVERY);
    let is_group = matches!(over, Encapsulation::Goose | Encapsulation::SampledValues);
    let usual = if is_group { Delivery::Multicast } else { Delivery::Unicast };
    let delivery = word.as_ref().map_or(usual, |word| word.means);
    let obstacle = if over == Encapsulation::Tcp {
        Some(("TCP has no multicast", "a connection has one receiver"))
    } else if matches!(over, Encapsulation::Rtps { .. }) {
        Some(("samples over RTPS are sent to each reader", "only discovery goes to a group"))
    } else {
        None
    };
    if let (Delivery::Multicast, Some((title, label)), Some(word)) = (delivery, obstacle, word) {
        reader.report(
            Diagnostic::new(&codes::CONFLICTING_KEYS, title, word.span, label)
                .help("remove `delivery`, or use `over: udp`"),
        );
    }
    delivery
}

/// Reports a flow to its own station that needs more than its stack: what leaves by a port, and
/// samples, which a participant of RTPS hands to its own readers without a datagram.
fn to_itself(
    reader: &mut Reader<'_>,
    fields: &Fields<'_>,
    plant: &Plant,
    talker: &At<NodeId>,
    (over, delivery): (Encapsulation, Delivery),
) {
    let station = plant.network.end_station(talker.value);
    let takes_time = station.is_some_and(|own| own.stack != Stack::Zero || own.tasks.is_some());
    let (why, help) = if delivery == Delivery::Multicast {
        ("a group has other members", "write another flow, with `delivery: unicast`")
    } else if matches!(over, Encapsulation::Rtps { .. }) {
        (
            "a participant of RTPS keeps samples for its own readers",
            "write `over: udp`, with 48 octets more for the headers",
        )
    } else if fields.has("route") {
        ("a route leaves the station", "remove `route`")
    } else if !takes_time {
        (
            "its stack takes no time",
            "give the station a stack that does, such as `stack: { send: 20 us, receive: 20 us }`",
        )
    } else if fields.has("gap") {
        ("no port keeps a gap for it", "remove `gap`")
    } else {
        return;
    };
    let place = fields.get("to").map_or(fields.at, |entry| entry.value.span);
    let title = format!("{} cannot send to its own station: {why}", fields.owner);
    let diagnostic =
        Diagnostic::new(&codes::FLOW_TO_ITSELF, title, place, "the talker is a listener");
    reader.report(diagnostic.also(talker.span, "talker").help(help));
}

/// Reports several listeners of traffic that follows the answers of one.
fn one_listener(reader: &mut Reader<'_>, fields: &Fields<'_>, kind: Release, listeners: &[NodeId]) {
    let what = match kind {
        Release::Bulk => "a transfer has one receiver",
        Release::Adaptive => "the next request waits for one answer",
        Release::Periodic | Release::Sporadic | Release::Poisson | Release::Flood => return,
    };
    if listeners.len() > 1 {
        let place = fields.get("to").map_or(fields.at, |entry| entry.value.span);
        let title = format!("{} has several listeners", fields.owner);
        reader.report(
            Diagnostic::new(&codes::CONFLICTING_KEYS, title, place, what)
                .help("write one flow for each listener"),
        );
    }
}

/// Returns the connection that carries messages; bulk transfers open one each.
fn connection(
    reader: &mut Reader<'_>,
    fields: &Fields<'_>,
    kind: Release,
    over: Encapsulation,
) -> Option<TcpParameters> {
    if over != Encapsulation::Tcp || kind == Release::Bulk {
        return None;
    }
    Some(bulk::tcp(reader, fields))
}

fn check_times(
    reader: &mut Reader<'_>,
    start: Option<At<Duration>>,
    stop: Option<At<Duration>>,
    run: &RunPlan,
) {
    let from = start.map_or(Duration::ZERO, |time| time.value);
    if let Some(stop) = stop.filter(|stop| stop.value <= from) {
        let found = stop.value.to_string();
        let rule = format!("after the start, {from}");
        reader.out_of_range("stop", stop.span, &rule, &found, "the flow would send nothing");
    }
    if let Some(start) = start.filter(|start| start.value >= run.duration) {
        let title = format!("the flow starts at {}, after the end of the run", start.value);
        let label = format!("the run takes {}", run.duration);
        reader.report(
            Diagnostic::new(&codes::NEVER_STARTS, title, start.span, label)
                .help("make `run: { for: ... }` longer, or start the flow earlier"),
        );
    }
}

/// Reads the payload size and checks that the protocol can carry it.
fn payload(
    reader: &mut Reader<'_>,
    fields: &Fields<'_>,
    kind: Release,
    over: Encapsulation,
) -> Option<Bytes> {
    if kind == Release::Bulk {
        if let Some(span) = fields.key_span("size") {
            let title = "`size` has no meaning for a bulk transfer";
            let label = "TCP decides what goes into a packet";
            reader.report(
                Diagnostic::new(&codes::MISPLACED_KEY, title, span, label)
                    .help("write `total` for the size of a transfer")
                    .help("write `tcp: { segment: 1460 B }` for the size of a segment"),
            );
        }
        return Some(Bytes::ZERO);
    }
    reader.require(fields, "size");
    let At { value, span } = reader.size(fields, "size")?;
    check_payload(reader, "size", value, span, over)
}

fn check_payload(
    reader: &mut Reader<'_>,
    key: &str,
    size: Bytes,
    span: Span,
    over: Encapsulation,
) -> Option<Bytes> {
    // RTPS 1.0 has no fragments.
    let is_stream =
        matches!(over, Encapsulation::Tcp | Encapsulation::Rtps { version: RtpsVersion::V2_5, .. });
    let most = if is_stream { MAX_MESSAGE } else { over.max_packet() };
    if size <= most {
        return Some(size);
    }
    let title = format!("`{key}` must be at most {most}, found {size}");
    let (label, help) = if is_stream {
        let help = "write `kind: bulk` and `total` for a file, which may have a `deadline` too";
        ("of a message over TCP, or a sample".to_owned(), help)
    } else if over == Encapsulation::Udp {
        let label = "a datagram has at most 65535 B, 28 of them headers, however it is fragmented";
        let help = "write `over: tcp` or `over: rtps`, whose messages may be larger";
        (label.to_owned(), help)
    } else {
        let headers = over.header_size();
        let label = format!("a frame carries 1500 B, {headers} of them headers");
        (label, "write `over: udp`, whose datagrams are fragmented")
    };
    reader.report(Diagnostic::new(&codes::PAYLOAD_TOO_LARGE, title, span, label).help(help));
    None
}

fn reply(reader: &mut Reader<'_>, fields: &Fields<'_>, over: Encapsulation) -> Option<Reply> {
    let inner = reader.one(fields, "reply", &REPLY)?;
    reader.require(&inner, "size");
    let size = reader.size(&inner, "size");
    let after = reader.time(&inner, "after");
    let period = reader.positive_time(&inner, "scan");
    let phase = phase(reader, &inner, &SCAN_PHASE);
    if !inner.has("scan") {
        reader.misplaced(&inner, &[SCAN_PHASE.key], "an answer without `scan`");
    }
    let size = size?;
    Some(Reply {
        payload: check_payload(reader, "size", size.value, size.span, over)?,
        after: after.map_or(Duration::ZERO, |time| time.value),
        scan: period.map(|period| Scan { period: period.value, phase }),
    })
}

/// Returns the segment size of a bulk transfer, which replaces the payload.
fn segment_of(traffic: &Traffic) -> Option<Bytes> {
    match traffic {
        Traffic::Bulk(bulk) => Some(bulk.tcp.segment),
        Traffic::Periodic { .. }
        | Traffic::Sporadic { .. }
        | Traffic::Poisson { .. }
        | Traffic::Adaptive { .. }
        | Traffic::Flood { .. } => None,
    }
}

#[cfg(test)]
mod tests {
    use crate::load;

    /// Returns the descriptions of a plant with one flow, and the messages.
    fn described(line: &str) -> (Option<String>, String) {
        let text = format!(
            "rtether: 1\n\
             nodes: {{ a: {{ stack: zero }}, b: {{ stack: zero }} }}\n\
             links: [{{ ends: [a, b], rate: 100 Mbit/s }}]\n\
             flows: [{{ name: x, from: a, to: b, period: 2 ms, size: 64 B, {line} }}]\n"
        );
        let loaded = load("test.yaml", &text);
        let words = loaded.text(crate::render::Style::Plain);
        let flow = loaded.scenario.map(|plant| plant.flows[0].clone());
        (flow.map(|flow| flow.description), words)
    }

    #[test]
    fn a_description_is_one_line_of_text() {
        let read = |line: &str| described(line).0.expect("no mistake");
        assert_eq!(read("description: 'öffnet: Ventil * #2'"), "öffnet: Ventil * #2");
        assert_eq!(read("description: 12"), "12");
        assert_eq!(read("pcp: 1"), "");
        let longest = "ö".repeat(200);
        assert_eq!(read(&format!("description: {longest}")), longest);
    }

    #[test]
    fn other_descriptions_are_refused() {
        let too_long = format!("description: {}", "ö".repeat(201));
        for (line, why) in [
            (too_long.as_str(), "it has 201 characters"),
            ("description: \"a\\nb\"", "it holds a control character, U+000A"),
            ("description: \"a\\u202eb\"", "turns the direction of text, U+202E"),
            ("description: [a]", "needs a text"),
        ] {
            let (flow, words) = described(line);
            assert!(flow.is_none() && words.contains(why), "{words}");
        }
    }
}
