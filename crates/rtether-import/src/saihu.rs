//! Networks of output ports as Saihu has them, in JSON: `network`, `flows` and `servers`.
//!
//! Such a file knows output ports and no nodes, so that names tell them: `s1-o2` is the second port
//! of `s1`, as our export writes it, or the third in a file that has a port 0; a server with another name is a node of its own with one port.
//! Where a path leads from one port to another, a link joins their nodes; behind its last port is the
//! listener. A flow's curve becomes the release that has it: a period, with jitter if less than two
//! packets come at once, else bursts, as far apart as its rate says.

use std::collections::{BTreeMap, BTreeSet};

use rtether_model::quantity::Duration;
use serde_json::{Map, Value};

use crate::error::ImportError;
use crate::plan::{Assumption, Code, Count, Finding, Plan};
use crate::sheet::{Names, Sheet, rate as rate_words, scalar, time};
use crate::text::{plain, quote};

/// Most servers, and most flows.
const MOST: usize = 20_000;
/// Most ports on a path.
const LONGEST: usize = 1_000;
/// Most ports of a switch in a scenario.
const MAX_PORTS: usize = 1_024;
/// Octets around the payload of a frame: preamble and gap, addresses, type and check sequence.
const AROUND: u64 = 20 + 18;
/// Octets on the wire of the shortest and the longest frame without a tag, and of a tag.
const SHORTEST: u64 = 84;
const LONGEST_FRAME: u64 = 1_538;
const TAG: u64 = 4;
const PS: f64 = 1e12;

/// Returns whether a text is such a file, as far as one sees at once.
pub(crate) fn is_saihu(text: &str) -> bool {
    text.trim_start().starts_with('{') && text.contains("\"servers\"")
}

/// Reads a file.
pub(crate) fn import(name: &str, text: &str) -> Result<Plan, ImportError> {
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
    let (scenario, assumptions) = write(name, &read, &network);
    let count = |name, title, number| Count { name, title, number };
    Ok(Plan {
        format: "network of output ports (Saihu)".into(),
        scenario,
        assumptions,
        findings,
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
    if longest > LONGEST_FRAME + TAG {
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

/// A port by its node and number.
type Port = (String, usize);

/// Nodes and links.
#[derive(Default)]
struct Network {
    stations: BTreeSet<String>,
    switches: BTreeMap<String, usize>,
    /// Both ends, rate in megabits per second, and latency.
    links: Vec<([Port; 2], u64, Duration)>,
    /// Listener of each path, by flow.
    listeners: Vec<Vec<String>>,
}

/// How the ports of a file count: from one as ours, or from zero.
#[derive(Clone, Copy)]
struct Numbers {
    first: usize,
}

impl Numbers {
    /// A file that has a port 0 counts from it.
    fn of(servers: &BTreeMap<&str, Server>) -> Self {
        let mut servers = servers.keys();
        let has_zero = servers.any(|server| matches!(parts(server), Some((_, 0))));
        Self { first: usize::from(!has_zero) }
    }

    /// Returns the node and the number of an output port, from one.
    fn port(self, server: &str) -> Port {
        match parts(server) {
            Some((node, number)) if number >= self.first => {
                (node.to_owned(), number - self.first + 1)
            }
            Some(_) | None => (server.to_owned(), 1),
        }
    }
}

/// Returns the node and the number that the name of an output port has.
fn parts(server: &str) -> Option<(&str, usize)> {
    let (node, number) = server.rsplit_once("-o")?;
    let number = number.parse::<usize>().ok()?;
    (!node.is_empty() && number <= MAX_PORTS).then_some((node, number))
}

impl Network {
    fn of(read: &Read<'_>) -> Result<Self, String> {
        let mut network = Self::default();
        // Where each port leads.
        let mut ahead: BTreeMap<&str, String> = BTreeMap::new();
        let mut inner: BTreeSet<String> = BTreeSet::new();
        for flow in &read.flows {
            let mut own = Vec::new();
            for (ports, listener) in &flow.paths {
                let last = ports.last().copied().unwrap_or_default();
                let behind = match (listener, ahead.get(last)) {
                    (Some(listener), _) => (*listener).to_owned(),
                    (None, Some(known)) => known.clone(),
                    (None, None) => format!("{last}.end"),
                };
                let next = ports.iter().skip(1).map(|next| read.numbers.port(next).0);
                for (number, (at, to)) in ports.iter().zip(next.chain([behind.clone()])).enumerate()
                {
                    if !read.servers.contains_key(at) {
                        return Err(format!("there is no server {}", quote(at)));
                    }
                    if number > 0 {
                        inner.insert(read.numbers.port(at).0);
                    }
                    match ahead.get(at) {
                        Some(known) if *known != to => {
                            return Err(format!(
                                "the server {} leads to {} and to {}; a port has one link",
                                quote(at),
                                quote(known),
                                quote(&to)
                            ));
                        }
                        Some(_) => {}
                        None => _ = ahead.insert(at, to),
                    }
                }
                own.push(behind);
            }
            network.listeners.push(own);
        }
        network.nodes(read.numbers, &ahead, &inner)?;
        network.join(read, &ahead)?;
        Ok(network)
    }

    /// Takes nodes that send on what others send for switches.
    fn nodes(
        &mut self,
        numbers: Numbers,
        ahead: &BTreeMap<&str, String>,
        inner: &BTreeSet<String>,
    ) -> Result<(), String> {
        let mut talkers: BTreeMap<String, usize> = BTreeMap::new();
        for (server, to) in ahead {
            let (node, number) = numbers.port(server);
            if inner.contains(&node) {
                let most = self.switches.entry(node).or_default();
                *most = number.max(*most);
            } else if *talkers.entry(node.clone()).or_insert(number) == number {
                self.stations.insert(node);
            } else {
                return Err(format!("the station {} has several ports", quote(&node)));
            }
            if !inner.contains(to) {
                self.stations.insert(to.clone());
            }
        }
        Ok(())
    }

    /// Joins nodes: two ports that lead to each other's nodes are one link.
    fn join(&mut self, read: &Read<'_>, ahead: &BTreeMap<&str, String>) -> Result<(), String> {
        let mut open: BTreeMap<(String, String), Vec<Port>> = BTreeMap::new();
        for (server, to) in ahead {
            let own = read.numbers.port(server);
            let pair = (own.0.clone(), to.clone());
            open.entry(pair).or_default().push(own);
        }
        let mut by_port: BTreeMap<Port, &str> = BTreeMap::new();
        for server in ahead.keys() {
            if let Some(other) = by_port.insert(read.numbers.port(server), server) {
                let (one, other) = (quote(server), quote(other));
                return Err(format!("the servers {other} and {one} are one port"));
            }
        }
        let mut done = BTreeSet::new();
        for (server, to) in ahead {
            let own = read.numbers.port(server);
            if !done.insert(own.clone()) {
                continue;
            }
            let back = open.get_mut(&(to.clone(), own.0.clone()));
            let back = back.and_then(|ports| {
                let at = ports.iter().position(|port| !done.contains(port))?;
                Some(ports.remove(at))
            });
            let mut latency = read.servers[server].latency;
            let end = match back {
                Some(back) => {
                    let name = by_port.get(&back);
                    if let Some(other) = name.and_then(|name| read.servers.get(name)) {
                        if other.rate != read.servers[server].rate {
                            let what = "the two directions of the link of";
                            let ends = format!("{} and {}", quote(&own.0), quote(to));
                            return Err(format!("{what} {ends} have two rates"));
                        }
                        latency = latency.max(other.latency);
                    }
                    done.insert(back.clone());
                    back
                }
                None => match self.switches.get_mut(to) {
                    Some(most) => {
                        *most += 1;
                        (to.clone(), *most)
                    }
                    None => (to.clone(), 1),
                },
            };
            let megabits = read.servers[server].rate / 1_000_000;
            self.links.push(([own, end], megabits, latency));
        }
        let mut wide = self.switches.iter();
        match wide.find(|(_, ports)| **ports > MAX_PORTS) {
            Some((node, ports)) => Err(format!("the switch {} has {ports} ports", quote(node))),
            None => Ok(()),
        }
    }
}

fn write(name: &str, read: &Read<'_>, network: &Network) -> (String, Vec<Assumption>) {
    let mut names = Names::default();
    let nodes = network.stations.iter().chain(network.switches.keys());
    let named: BTreeMap<&str, String> =
        nodes.map(|node| (node.as_str(), names.take(node))).collect();
    let of = |node: &str| named.get(node).map_or("", String::as_str);
    let mut sheet = Sheet::default();
    let title = name.rsplit_once('.').map_or(name, |(title, _)| title);
    let from = plain(name, 80);
    sheet.line(&format!("# From {from} (a network of output ports) by `rtether import`."));
    sheet.line("# What the file does not say is marked `assumed`: check these lines first.");
    sheet.line("rtether: 1");
    sheet.line(&format!("name: {}", scalar(&plain(title, 80))));
    sheet.line("");
    sheet.line("nodes:");
    for station in &network.stations {
        sheet.line(&format!("  {}: {{ stack: zero }}", scalar(of(station))));
    }
    if !network.switches.is_empty() {
        sheet.line("");
        sheet.line("switches:");
        for (switch, ports) in &network.switches {
            sheet.line(&format!(
                "  {}: {{ ports: {ports}, latency: 0 s, selection: fcfs }}",
                scalar(of(switch))
            ));
        }
    }
    sheet.line("");
    sheet.line("links:");
    for ([one, other], megabits, latency) in &network.links {
        let end = |(node, port): &Port| {
            if network.switches.contains_key(node) {
                scalar(&format!("{}:{port}", of(node)))
            } else {
                scalar(of(node))
            }
        };
        let wire = match latency.as_ps() {
            0 => String::new(),
            _ => format!(", propagation: {}", time(*latency)),
        };
        let line = format!(
            "  - {{ ends: [{}, {}], rate: {}{wire} }}",
            end(one),
            end(other),
            rate_words(*megabits)
        );
        sheet.explained(&line, "the latency of the port, and of the switch behind it");
    }
    sheet.line("");
    sheet.line("flows:");
    let mut names = Names::default();
    let mut longest = Duration::ZERO;
    for (flow, listeners) in read.flows.iter().zip(&network.listeners) {
        let own = names.take(flow.name);
        let span = write_flow(&mut sheet, (flow, &read.talker(flow)), &own, &of, listeners);
        longest = longest.max(span);
    }
    sheet.line("");
    let run = Duration::from_us((longest.as_ps() / 100_000).clamp(10_000, 10_000_000));
    let line = format!("run: {{ for: {} }}", time(run));
    sheet.assumed(&line, "run.for", "several periods of every flow");
    sheet.accept(false);
    sheet.done()
}

/// Writes a flow; returns its period, or the least time between its bursts.
fn write_flow<'n>(
    sheet: &mut Sheet,
    (flow, talker): (&Flow<'_>, &str),
    name: &str,
    of: &impl Fn(&str) -> &'n str,
    listeners: &[String],
) -> Duration {
    sheet.line(&format!("  - name: {}", scalar(name)));
    sheet.line(&format!("    from: {}", scalar(of(talker))));
    let to: BTreeSet<&str> = listeners.iter().map(|to| of(to)).collect();
    let to: Vec<String> = to.into_iter().map(scalar).collect();
    sheet.line(&format!("    to: [{}]", to.join(", ")));
    if to.len() > 1 {
        sheet.line("    delivery: multicast");
    }
    sheet.line("    over: raw");
    let longest = flow.longest.max(SHORTEST);
    let tag = if longest > LONGEST_FRAME { TAG } else { 0 };
    let size = (longest - AROUND - tag).max(1);
    let line = format!("    size: {size} B");
    sheet.explained(&line, &format!("packets of {} octets on the wire", flow.longest));
    if tag > 0 {
        sheet.assumed("    pcp: 0", &format!("flows.{name}.pcp"), "they have a tag");
    }
    #[allow(clippy::cast_precision_loss, reason = "octets of a burst, and picoseconds")]
    let span = |octets: u64| whole(octets as f64 * 8.0 * PS / flow.rate);
    let duration = |ps: u64| Duration::from_ps(i64::try_from(ps).unwrap_or(i64::MAX));
    let count = flow.burst / flow.longest;
    let rest = flow.burst % flow.longest;
    if count == 1 {
        let period = span(flow.longest);
        sheet.line(&format!("    period: {}", time(duration(period))));
        if rest > 0 {
            let late = u128::from(period) * u128::from(rest) / u128::from(flow.longest);
            let late = u64::try_from(late).unwrap_or(u64::MAX);
            let line = format!("    jitter: {}", time(duration(late)));
            sheet.explained(&line, "what more may come at once");
        }
        return duration(period);
    }
    let count = count + u64::from(rest > 0);
    let gap = span(flow.longest.saturating_mul(count));
    let line = format!("    min_gap: {}", time(duration(gap)));
    sheet.explained(&line, "the rate of its curve");
    let why = if rest > 0 { "more than its curve has, in whole frames" } else { "its curve" };
    sheet.explained(&format!("    burst: {count}"), why);
    duration(gap)
}
