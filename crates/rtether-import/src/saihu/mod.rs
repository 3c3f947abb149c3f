//! Networks of output ports as Saihu has them, in JSON: `network`, `flows` and `servers`.
//!
//! Such a file knows output ports and no nodes, so that names tell them: `s1-o2` is the second port
//! of `s1`, as our export writes it, or the third in a file that has a port 0; a server with another name is a node of its own with one port.
//! Where a path leads from one port to another, a link joins their nodes; behind its last port is the
//! listener. A flow's curve becomes the release that has it: a period, with jitter if less than two
//! packets come at once, else bursts, as far apart as its rate says.

mod draft;
mod network;

use std::collections::BTreeMap;

use rtether_model::quantity::Duration;
use rtether_model::wire::{MAX_TAGGED_FRAME, wire_size};
use serde_json::{Map, Value};

use crate::error::ImportError;
use crate::options::Options;
use crate::plan::{Code, Count, Finding, Plan};
use crate::text::{plain, quote};
use network::{Network, Numbers};

/// Most servers, and most flows.
const MOST: usize = 20_000;
/// Most ports on a path.
const LONGEST: usize = 1_000;
/// Octets on the wire of the longest frame, which has a tag.
const LONGEST_FRAME: u64 = wire_size(MAX_TAGGED_FRAME).get();
const PS: f64 = 1e12;

/// Returns whether a text is such a file, as far as one sees at once.
pub(crate) fn is_saihu(text: &str) -> bool {
    text.trim_start().starts_with('{') && text.contains("\"servers\"")
}

/// Reads a file.
pub(crate) fn import(name: &str, text: &str, options: &Options) -> Result<Plan, ImportError> {
    let refuse = |what: String, remedy: &str| ImportError::new(name, None, what, remedy);
    let document: Value = serde_json::from_str(text).map_err(|error| {
        let what = format!("it is not JSON: {}", plain(&error.to_string(), 200));
        ImportError::new(name, Some(error.line()), what, "export it again")
    })?;
    let read = Read::of(&document).map_err(|what| refuse(what, "write it as Saihu reads it"))?;
    let network = Network::of(&read).map_err(|what| refuse(what, "import a part of it"))?;
    let mut findings = Vec::new();
    if !read.is_fifo {
        findings.push(Finding {
            line: 1,
            code: Code::NotRead,
            text: "the multiplexing is not FIFO; ports here send in order of arrival".into(),
        });
    }
    if !read.has_packets {
        findings.push(Finding {
            line: 1,
            code: Code::NotRead,
            text: "it has no packetizer (`PK`): latencies may hold the time of a frame, which \
                   switches here take again"
                .into(),
        });
    }
    let draft = draft::draft(name, &read, &network);
    let (scenario, assumptions, identified) = draft.write(options);
    let count = |name, title, number| Count { name, title, number };
    Ok(Plan {
        format: "network of output ports (Saihu)".into(),
        scenario,
        assumptions,
        findings,
        identified,
        counts: vec![
            count("servers", "servers", read.servers.len()),
            count("flows", "flows", read.flows.len()),
            count("stations", "stations", network.stations.len()),
            count("switches", "switches", network.switches.len()),
            count("links", "links", network.links.len()),
        ],
    })
}

/// What the file says.
struct Read<'d> {
    servers: BTreeMap<&'d str, Server>,
    flows: Vec<Flow<'d>>,
    numbers: Numbers,
    is_fifo: bool,
    has_packets: bool,
}

#[derive(Clone, Copy)]
struct Server {
    /// Bits in a second.
    rate: u64,
    latency: Duration,
}

struct Flow<'d> {
    name: &'d str,
    /// Paths of ports, each with the name of its listener if there is one.
    paths: Vec<(Vec<&'d str>, Option<&'d str>)>,
    /// Octets at once, and bits in a second.
    burst: u64,
    rate: f64,
    /// Octets of the longest packet.
    longest: u64,
}

impl Flow<'_> {
    /// Returns the time that octets take at the rate of its curve.
    fn span(&self, octets: u64) -> Duration {
        #[allow(clippy::cast_precision_loss, reason = "octets of a burst, and picoseconds")]
        let ps = whole(octets as f64 * 8.0 * PS / self.rate);
        Duration::from_ps(i64::try_from(ps).unwrap_or(i64::MAX))
    }
}

/// Units of numbers without one.
struct Units {
    time: f64,
    data: f64,
    rate: f64,
}

impl<'d> Read<'d> {
    fn of(document: &'d Value) -> Result<Self, String> {
        let network = document.get("network").and_then(Value::as_object);
        let empty = Map::new();
        let network = network.unwrap_or(&empty);
        let word = |key: &str, usual: &'static str| -> String {
            let text = network.get(key).and_then(Value::as_str);
            text.unwrap_or(usual).to_owned()
        };
        let unit = |text: &str, of: fn(&str) -> Option<f64>| {
            of(text).ok_or_else(|| format!("the unit {} is not known", quote(text)))
        };
        let units = Units {
            time: unit(&word("time_unit", "us"), seconds)?,
            data: unit(&word("data_unit", "b"), bits)?,
            rate: unit(&word("rate_unit", "Mbps"), rate)?,
        };
        let options = network.get("analysis_option").and_then(Value::as_array);
        let has_option = options.is_some_and(|all| all.iter().any(|own| own == "PK"));
        let packetizer = network.get("packetizer").and_then(Value::as_bool);
        let list = |key: &str| {
            let found = document.get(key).and_then(Value::as_array);
            let found = found.ok_or_else(|| format!("it has no list `{key}`"))?;
            if found.len() > MOST {
                return Err(format!("it has {} {key}", found.len()));
            }
            Ok(found)
        };
        let mut servers = BTreeMap::new();
        for own in list("servers")? {
            let (name, server) = server(own, &units)?;
            if servers.insert(name, server).is_some() {
                return Err(format!("it has two servers {}", quote(name)));
            }
        }
        let flows = list("flows")?.iter();
        let flows: Vec<Flow<'_>> = flows.map(|own| flow(own, &units)).collect::<Result<_, _>>()?;
        if flows.is_empty() {
            return Err("it has no flows".into());
        }
        Ok(Self {
            numbers: Numbers::of(&servers),
            servers,
            flows,
            is_fifo: word("multiplexing", "FIFO").eq_ignore_ascii_case("fifo"),
            has_packets: packetizer.unwrap_or(has_option),
        })
    }
}

impl Read<'_> {
    /// Returns the node that sends a flow.
    fn talker(&self, flow: &Flow<'_>) -> String {
        let first = flow.paths.first().and_then(|(ports, _)| ports.first());
        self.numbers.port(first.copied().unwrap_or_default()).0
    }
}

/// Returns the seconds of a unit of time.
fn seconds(unit: &str) -> Option<f64> {
    Some(match unit {
        "s" => 1.0,
        "ms" => 1e-3,
        "us" | "µs" => 1e-6,
        "ns" => 1e-9,
        "ps" => 1e-12,
        _ => return None,
    })
}

/// Returns what a prefix multiplies by, and the rest.
fn prefixed(unit: &str) -> (f64, &str) {
    let known = [("k", 1e3), ("K", 1e3), ("M", 1e6), ("G", 1e9), ("T", 1e12)];
    let found = known.iter().find_map(|(prefix, times)| Some((*times, unit.strip_prefix(prefix)?)));
    found.unwrap_or((1.0, unit))
}

/// Returns the bits of a unit of data: `b` are bits, `B` octets.
fn bits(unit: &str) -> Option<f64> {
    match prefixed(unit) {
        (times, "b") => Some(times),
        (times, "B") => Some(times * 8.0),
        _ => None,
    }
}

/// Returns the bits in a second of a unit of rates.
fn rate(unit: &str) -> Option<f64> {
    match prefixed(unit) {
        (times, "bps" | "b/s") => Some(times),
        (times, "Bps" | "B/s") => Some(times * 8.0),
        _ => None,
    }
}

/// Returns a number in a base unit: it has a unit of its own, or the usual one.
fn number(value: &Value, usual: f64, of: fn(&str) -> Option<f64>) -> Option<f64> {
    let found = match value {
        Value::Number(number) => number.as_f64()? * usual,
        Value::String(text) => {
            let at = text.find(|c: char| c.is_alphabetic() || c == 'µ').unwrap_or(text.len());
            let (digits, unit) = text.split_at(at);
            let times = if unit.trim().is_empty() { usual } else { of(unit.trim())? };
            digits.trim().parse::<f64>().ok()? * times
        }
        Value::Null | Value::Bool(_) | Value::Array(_) | Value::Object(_) => return None,
    };
    (found.is_finite() && found >= 0.0).then_some(found)
}

/// Returns the only number of a list.
fn only(
    of: &Value,
    curve: &str,
    list: &str,
    usual: f64,
    unit: fn(&str) -> Option<f64>,
) -> Result<f64, String> {
    let values = of.get(curve).and_then(|curve| curve.get(list)).and_then(Value::as_array);
    match values.map(Vec::as_slice) {
        Some([one]) => number(one, usual, unit).ok_or_else(|| format!("`{list}` holds no number")),
        Some(_) => Err(format!("`{list}` of `{curve}` has several parts, where one is read")),
        None => Err(format!("`{curve}` has no `{list}`")),
    }
}

fn named(value: &Value) -> Result<&str, String> {
    let name = value.get("name").and_then(Value::as_str);
    name.filter(|name| !name.is_empty()).ok_or_else(|| "something has no name".into())
}

fn server<'d>(value: &'d Value, units: &Units) -> Result<(&'d str, Server), String> {
    let name = named(value)?;
    let wrong = |what: String| format!("the server {}: {what}", quote(name));
    let rate = only(value, "service_curve", "rates", units.rate, rate).map_err(wrong)?;
    let latency = only(value, "service_curve", "latencies", units.time, seconds).map_err(wrong)?;
    let rate = whole(rate);
    if rate == 0 || !rate.is_multiple_of(1_000_000) {
        return Err(wrong("its rate is no whole number of megabits per second".into()));
    }
    if latency > 1.0 {
        return Err(wrong("its latency is longer than a second".into()));
    }
    let latency = Duration::from_ps(i64::try_from(whole(latency * PS)).unwrap_or(0));
    // What our export writes for none.
    let latency = if latency.as_ps() <= 1 { Duration::ZERO } else { latency };
    Ok((name, Server { rate, latency }))
}

fn flow<'d>(value: &'d Value, units: &Units) -> Result<Flow<'d>, String> {
    let name = named(value)?;
    let wrong = |what: String| format!("the flow {}: {what}", quote(name));
    let path = |value: &'d Value, listener: Option<&'d str>| {
        let ports = value.get("path").and_then(Value::as_array);
        let ports: Option<Vec<&str>> =
            ports.and_then(|all| all.iter().map(Value::as_str).collect());
        let ports = ports.filter(|ports| !ports.is_empty() && ports.len() <= LONGEST);
        let ports = ports.ok_or_else(|| wrong("it has no path of servers".into()))?;
        Ok::<_, String>((ports, listener))
    };
    let own = value.get("path_name").and_then(Value::as_str);
    let mut paths = vec![path(value, own)?];
    for branch in value.get("multicast").and_then(Value::as_array).into_iter().flatten() {
        paths.push(path(branch, branch.get("name").and_then(Value::as_str))?);
    }
    let burst = only(value, "arrival_curve", "bursts", units.data, bits).map_err(wrong)?;
    let rate = only(value, "arrival_curve", "rates", units.rate, rate).map_err(wrong)?;
    let longest = value.get("max_packet_length");
    let longest = longest.and_then(|own| number(own, units.data, bits));
    let octets = |bits: f64| whole(bits / 8.0);
    let burst = octets(burst);
    let longest = longest.map_or(burst, octets).max(1);
    if rate <= 0.0 || burst == 0 {
        return Err(wrong("its curve has no burst or no rate".into()));
    }
    if longest > LONGEST_FRAME {
        return Err(wrong(format!("packets of {longest} octets are longer than a frame")));
    }
    Ok(Flow { name, paths, burst: burst.max(longest), rate, longest })
}

/// Returns the nearest whole number.
#[allow(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "it is above zero, and saturates"
)]
fn whole(value: f64) -> u64 {
    value.round() as u64
}
