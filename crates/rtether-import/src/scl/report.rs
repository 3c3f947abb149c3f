//! Reports of servers to the clients that the file names (`ClientLN`): messages over TCP.
//!
//! A report carries a data set, as MMS (IEC 61850-8-1, ISO 9506). The file says when it is sent for
//! its integrity period alone (`intgPd`); of changes it says at most how long they are gathered
//! (`bufTime`).

use std::collections::BTreeSet;

use rtether_model::quantity::Duration;

use super::basic::Encoding;
use super::flow::{Flow, Release, member, octets};
use super::frames::Report as Message;
use super::model::{Model, Report};
use super::notes::Notes;
use super::xml::{Element, attribute, child, children, word};
use crate::draft::{Basis, Value};
use crate::options::Class;
use crate::plan::Code;
use crate::text::quote;

/// Time between two reports of changes, if the file says nothing of it.
const USUAL_GAP: Duration = Duration::from_secs(1);
/// Octets of a report whose data set is not known.
const USUAL_SIZE: u64 = 1_000;
/// Largest report: the size of a message that devices agree on.
const LARGEST: u64 = 65_000;
/// Longest period that a file may state, in milliseconds.
const LONGEST: i64 = 86_400_000;

/// Makes the flows of the reports that have clients. Returns the number of these reports, too.
pub(super) fn flows(model: &Model<'_>, notes: &mut Notes) -> (Vec<Flow>, usize) {
    let mut flows = Vec::new();
    let mut reported = 0;
    for report in &model.reports {
        let clients = clients(model, report, notes);
        if clients.is_empty() {
            continue;
        }
        reported += 1;
        let mut talkers: Vec<(usize, Vec<usize>)> = Vec::new();
        for (device, point) in clients {
            let Some((talker, listener)) = ways(model, report, device, point) else {
                let text = format!(
                    "the client {} of {} is in none of its subnetworks",
                    quote(model.devices[device].name),
                    quote(&path(model, report))
                );
                notes.add(report.element, Code::NoInterface, text);
                continue;
            };
            match talkers.iter_mut().find(|(own, _)| *own == talker) {
                Some((_, listeners)) => listeners.push(listener),
                None => talkers.push((talker, vec![listener])),
            }
        }
        let several = talkers.len() > 1;
        for (talker, listeners) in talkers {
            let at = several.then_some(model.interfaces[talker].point);
            flows.extend(of(model, report, (talker, at), &listeners, notes));
        }
    }
    (flows, reported)
}

/// Returns the clients of a report: devices, each with the access point that is named.
fn clients<'a>(
    model: &Model<'a>,
    report: &Report<'a>,
    notes: &mut Notes,
) -> BTreeSet<(usize, Option<&'a str>)> {
    let mut found = BTreeSet::new();
    let enabled = child(report.element, "RptEnabled");
    for element in enabled.into_iter().flat_map(|own| children(own, "ClientLN")) {
        let name = word(element, "iedName");
        match model.by_name.get(name) {
            Some(&device) if device != report.device => {
                found.insert((device, attribute(element, "apRef")));
            }
            Some(_) => {}
            None => {
                let text = format!("the client {} is not in the file", quote(name));
                notes.add(element, Code::UnknownDevice, text);
            }
        }
    }
    found
}

/// Returns the interfaces of a server and of a client in one subnetwork: that of the access point of
/// each, if it is named.
fn ways(
    model: &Model<'_>,
    report: &Report<'_>,
    client: usize,
    point: Option<&str>,
) -> Option<(usize, usize)> {
    let interfaces = || model.interfaces.iter().enumerate();
    let servers = interfaces().filter(|(_, own)| {
        own.device == report.device && (report.point.is_empty() || own.point == report.point)
    });
    for (server, own) in servers {
        let mut clients = interfaces().filter(|(_, other)| {
            other.device == client
                && other.subnetwork == own.subnetwork
                && point.is_none_or(|point| point == other.point)
        });
        if let Some((listener, _)) = clients.next() {
            return Some((server, listener));
        }
    }
    None
}

/// Returns device, logical device and report control block.
fn path(model: &Model<'_>, report: &Report<'_>) -> String {
    let device = model.devices[report.device].name;
    let (prefix, class, instance) = report.node;
    let name = word(report.element, "name");
    format!("{device}/{}/{prefix}{class}{instance}.{name}", report.logical)
}

/// Returns the flows of a report from an interface: of changes, and of its period.
fn of<'a>(
    model: &Model<'a>,
    report: &Report<'a>,
    (talker, at): (usize, Option<&str>),
    listeners: &[usize],
    notes: &mut Notes,
) -> Vec<Flow> {
    let element = report.element;
    let options = child(element, "TrgOps");
    let is_set = |names: &[&str]| {
        let mut all = names.iter().filter_map(|name| options?.attribute(*name));
        all.any(|value| value == "true" || value == "1")
    };
    let size = size(model, report, notes);
    let at = at.map_or_else(String::new, |at| format!("@{at}"));
    let kind = match element.attribute("buffered") {
        Some("true" | "1") => "buffered",
        Some(_) | None => "unbuffered",
    };
    let flow = |suffix: &str, key: &'static str, gap: Duration, basis: Basis| Flow {
        name: format!("{}{at} {suffix}", path(model, report)),
        class: Class::Report,
        description: format!("{kind} report of {}", quote_set(element)),
        talker,
        listeners: listeners.to_vec(),
        subnetwork: model.interfaces[talker].subnetwork,
        release: Release::every(key, gap, basis),
        size: size.clone(),
        priority: None,
        vlan: None,
    };
    let mut flows = Vec::new();
    if is_set(&["dchg", "qchg", "dupd"]) {
        let (gap, why) = match milliseconds(element, "bufTime", notes) {
            Some(gap) => (gap, "bufTime; changes come as often as it allows"),
            None => (USUAL_GAP, "the file does not say how often data change"),
        };
        flows.push(flow("changes", "min_gap", gap, Basis::Assumed(why.into())));
    }
    if is_set(&["period"])
        && let Some(period) = milliseconds(element, "intgPd", notes)
    {
        flows.push(flow("period", "period", period, Basis::Follows("intgPd".into())));
    }
    flows
}

fn quote_set(element: Element<'_>) -> String {
    match attribute(element, "datSet") {
        Some(name) => format!("data set {name}"),
        None => "no data set".into(),
    }
}

/// Returns a time of an attribute in milliseconds; `None` if it is zero or missing.
fn milliseconds(element: Element<'_>, name: &str, notes: &mut Notes) -> Option<Duration> {
    let text = attribute(element, name)?;
    match text.parse::<i64>() {
        Ok(0) => None,
        Ok(number) if (1..=LONGEST).contains(&number) => Some(Duration::from_ms(number)),
        Ok(_) | Err(_) => {
            let text = format!("{name} {} is no time", quote(text));
            notes.add(element, Code::BadValue, text);
            None
        }
    }
}

/// Returns the octets of a report that holds its whole data set.
fn size<'a>(model: &Model<'a>, report: &Report<'a>, notes: &mut Notes) -> Value<u64> {
    let element = report.element;
    let name = word(element, "datSet");
    let set = children(report.parent, "DataSet").find(|own| word(*own, "name") == name);
    let members: Result<Vec<Element<'a>>, String> = set
        .map(|set| children(set, "FCDA").collect())
        .ok_or_else(|| format!("the data set {} is not in the file", quote(name)));
    let known = members.and_then(|members| {
        let mut data = 0_u64;
        for own in &members {
            let one = member(model, report.device, Encoding::Ber, *own)?;
            data = data.saturating_add(one);
        }
        Ok((members, data))
    });
    match known {
        Ok((members, data)) => {
            let size = message(model, report, &members, data).size();
            if size <= LARGEST {
                let words = format!("{} members, all in each report", members.len());
                return Value::assumed(size, words);
            }
            let text = format!("reports of {} may have {size} octets", quote(&path(model, report)));
            notes.add(element, Code::TooLarge, text);
            Value::assumed(LARGEST, format!("the largest; {size} octets do not fit"))
        }
        Err(why) => {
            let text = format!("the size of {} is not known: {why}", quote(&path(model, report)));
            notes.add(element, Code::UnknownSize, text);
            Value::assumed(USUAL_SIZE, why)
        }
    }
}

/// Describes a report for its size.
fn message(model: &Model<'_>, report: &Report<'_>, members: &[Element<'_>], data: u64) -> Message {
    let element = report.element;
    let fields = child(element, "OptFields");
    let has = |name: &str| {
        let value = fields.and_then(|fields| fields.attribute(name));
        matches!(value, Some("true" | "1"))
    };
    let buffered = matches!(element.attribute("buffered"), Some("true" | "1"));
    let logical = model.devices[report.device].logical.get(report.logical);
    let logical = logical.map_or(0, |own| own.name.len());
    let (prefix, class, instance) = report.node;
    let node = logical + 1 + prefix.len() + class.len() + instance.len();
    let own = word(element, "name").len() + "$BR$01".len();
    let id = attribute(element, "rptID").map_or(node + own, str::len);
    let set = node + 1 + word(element, "datSet").len();
    let reference = |member: &Element<'_>| {
        let parts = ["prefix", "lnClass", "lnInst", "fc", "doName", "daName"];
        let parts: usize = parts.iter().map(|part| word(*member, part).len()).sum();
        octets(logical + parts + "/$$$".len())
    };
    let overflow = fields.and_then(|own| own.attribute("bufOvfl")) != Some("false");
    let optional = [
        (has("seqNum"), Message::NUMBER),
        (has("timeStamp"), Message::TIME),
        (has("configRef"), Message::REVISION),
        (buffered && has("entryID"), Message::ENTRY),
        (buffered && overflow, Message::OVERFLOW),
    ];
    Message {
        id: octets(id),
        data_set: has("dataSet").then_some(octets(set)),
        references: has("dataRef").then(|| members.iter().map(reference).collect()),
        members: octets(members.len()),
        data,
        optional: optional
            .into_iter()
            .filter_map(|(is_sent, octets)| is_sent.then_some(octets))
            .sum(),
        has_reasons: has("reasonCode"),
    }
}
