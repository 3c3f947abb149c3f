//! A substation on one Ethernet (requirement R167; catalogue, section 1, S1 to S5).
//!
//! Each bay has a switch with its process interfaces (PISAs) and three bay nodes; the bay switches,
//! the Busbar unit and the file server attach to a top-level switch.

use rtether_model::quantity::Duration;

use super::{Pen, exact, length_of_run};
use crate::codes;
use crate::diagnostic::Diagnostic;
use crate::lower::{MAX_NODES, MAX_STREAMS};
use crate::reader::{Fields, Reader};
use crate::tree::{Data, Entry, MAX_VALUES, Value};

mod parameters;

use parameters::{Files, Parameters};

/// The bay nodes: name, and the description used in classes.
const BAY_NODES: [(&str, &str); 3] =
    [("bc", "bay controller"), ("pu", "protection unit"), ("du", "differential protection unit")];

/// Ports left free at every switch, for nodes added by hand.
const SPARE_PORTS: u64 = 4;

/// Most values that a flow is written with.
const VALUES_OF_A_FLOW: u64 = 24;

/// Returns the name of a bay: `bay01`.
fn bay_name(bay: u64) -> String {
    format!("bay{bay:02}")
}

impl Parameters<'_> {
    fn pisas_in_bay(&self) -> u64 {
        self.pisas.iter().map(|(_, count)| count).sum()
    }

    /// Returns the PISAs of a bay: name and kind.
    fn pisas_of(&self, bay: u64) -> impl Iterator<Item = (String, &'static str)> {
        self.pisas.into_iter().flat_map(move |(kind, count)| {
            (1..=count).map(move |n| (format!("{}.{kind}{n}", bay_name(bay)), kind))
        })
    }

    fn bay_nodes_of(bay: u64) -> [(String, &'static str); 3] {
        BAY_NODES.map(|(short, long)| (format!("{}.{short}", bay_name(bay)), long))
    }

    /// Returns a limit of plants that it exceeds, if it does; `others` are values of the file.
    fn excess(&self, others: usize) -> Option<&'static str> {
        let nodes = self.bays * (self.pisas_in_bay() + 4) + 3;
        let [(_, samplers), _, _, (_, breakers)] = self.pisas;
        // Streams of samplers and breakers; the exchange, both ways; a file.
        let streams = self.bays * (4 * (samplers + breakers) + 7 * self.pisas_in_bay() + 3) + 1;
        let left = MAX_VALUES.saturating_sub(others);
        let limits = [
            (nodes, MAX_NODES, "100 000 nodes"),
            (streams, MAX_STREAMS, "one million streams"),
            (streams * VALUES_OF_A_FLOW, left, "eight million values"),
        ];
        let mut above = limits.into_iter();
        let above = above.find(|&(count, most, _)| usize::try_from(count).is_ok_and(|n| n > most));
        above.map(|(.., limit)| limit)
    }
}

/// Returns nodes, links and flows in the words of a scenario.
pub(super) fn part(
    reader: &mut Reader<'_>,
    generate: &Fields<'_>,
    scenario: &Value,
) -> Option<Value> {
    let parameters = parameters::parameters(reader, generate)?;
    let pen = Pen(parameters.span);
    if let Some(limit) = parameters.excess(scenario.count()) {
        let title = format!("the plant has more than {limit}");
        let label = "the limit is reached here";
        reader.report(Diagnostic::new(&codes::TOO_LARGE, title, pen.0, label));
        return None;
    }
    let mut writer = Writer {
        pen,
        own: &parameters,
        nodes: Vec::new(),
        switches: Vec::new(),
        links: Vec::new(),
        flows: Vec::new(),
    };
    writer.plant();
    writer.traffic(length_of_run(scenario));
    Some(pen.map([
        ("stacks", pen.value(Data::Map(writer.stacks()))),
        ("nodes", pen.value(Data::Map(writer.nodes))),
        ("switches", pen.value(Data::Map(writer.switches))),
        ("links", pen.list(writer.links)),
        ("flows", pen.list(writer.flows)),
    ]))
}

struct Writer<'w> {
    pen: Pen,
    own: &'w Parameters<'w>,
    nodes: Vec<Entry>,
    switches: Vec<Entry>,
    links: Vec<Value>,
    flows: Vec<Value>,
}

impl Writer<'_> {
    /// Returns the stacks that nodes have.
    fn stacks(&self) -> Vec<Entry> {
        let has_pisas = self.own.bays * self.own.pisas_in_bay() > 0;
        let all = [
            ("pisa", "pisa_rate", has_pisas),
            ("bay", "bay_rate", self.own.bays > 0),
            ("busbar", "busbar_rate", true),
            // Without files the server has no traffic.
            ("server", "server_rate", self.own.files.is_some()),
        ];
        let used = all.into_iter().filter(|(.., is_used)| *is_used);
        let entries = used.map(|(name, rate, _)| {
            self.pen.entry(name, self.pen.map([("rate", self.own.value(rate))]))
        });
        entries.collect()
    }

    /// Writes nodes and links.
    fn plant(&mut self) {
        self.switch("top", self.own.bays + 2);
        self.attach("busbar", "busbar", "top", 1);
        if self.own.files.is_some() {
            self.attach("server", "server", "top", 2);
        }
        for bay in 1..=self.own.bays {
            let switch = format!("{}.switch", bay_name(bay));
            self.switch(&switch, self.own.pisas_in_bay() + 4);
            let pisas = self.own.pisas_of(bay).map(|(name, _)| (name, "pisa"));
            let others = Parameters::bay_nodes_of(bay).map(|(name, _)| (name, "bay"));
            for (port, (name, stack)) in (2..).zip(pisas.chain(others)) {
                self.attach(&name, stack, &switch, port);
            }
            self.link([format!("{switch}:1"), format!("top:{}", bay + 2)]);
        }
    }

    fn switch(&mut self, name: &str, ports: u64) {
        let ports = self.pen.text((ports + SPARE_PORTS).to_string());
        let latency = self.own.value("switch_latency");
        let switch = self.pen.map([("ports", ports), ("latency", latency)]);
        self.switches.push(self.pen.entry(name, switch));
    }

    /// Writes a station and its link to a port of a switch.
    fn attach(&mut self, name: &str, stack: &str, switch: &str, port: u64) {
        let node = self.pen.map([("stack", self.pen.text(stack))]);
        self.nodes.push(self.pen.entry(name, node));
        self.link([name.to_owned(), format!("{switch}:{port}")]);
    }

    fn link(&mut self, ends: [String; 2]) {
        let ends = self.pen.list(ends.into_iter().map(|end| self.pen.text(end)).collect());
        let link = self.pen.map([("ends", ends), ("rate", self.own.value("link_rate"))]);
        self.links.push(link);
    }

    /// Writes flows; files that would begin after the run are left out.
    fn traffic(&mut self, end: Duration) {
        for bay in 1..=self.own.bays {
            self.streams(bay);
        }
        if let Some(files) = &self.own.files {
            self.files(files, end);
        }
    }

    /// Writes the streams of one bay.
    fn streams(&mut self, bay: u64) {
        let bay_nodes = Parameters::bay_nodes_of(bay);
        for (pisa, kind) in self.own.pisas_of(bay) {
            if kind == "ct" {
                for (node, long) in &bay_nodes {
                    self.urgent("sample", &format!("ct-vt to {long}"), &pisa, node);
                }
                self.urgent("sample", "ct-vt to busbar", &pisa, "busbar");
            }
            if kind == "cb" {
                for (node, long) in &bay_nodes {
                    let class = format!("{long} to circuit breaker");
                    self.urgent("command", &class, node, &pisa);
                }
                self.urgent("command", "busbar to circuit breaker", "busbar", &pisa);
            }
        }
        for (pisa, _) in self.own.pisas_of(bay) {
            for (node, _) in &bay_nodes {
                self.exchange(&pisa, node);
                self.exchange(node, &pisa);
            }
        }
    }

    /// Writes a stream of samples or commands.
    fn urgent(&mut self, what: &str, class: &str, from: &str, to: &str) {
        let mut flow = self.stream(what, &format!("{from} > {to}"), class, [from, to]);
        flow.push(self.own("deadline", "deadline"));
        self.flows.push(self.pen.value(Data::Map(flow)));
    }

    /// Writes one direction of the slow exchange; the name marks it, as a faster stream may exist in
    /// parallel.
    fn exchange(&mut self, from: &str, to: &str) {
        let name = format!("exchange {from} > {to}");
        let flow = self.stream("exchange", &name, "exchange", [from, to]);
        self.flows.push(self.pen.value(Data::Map(flow)));
    }

    fn stream(&self, what: &str, name: &str, class: &str, ends: [&str; 2]) -> Vec<Entry> {
        let mut flow = self.flow(name, class, ends);
        flow.push(self.own("rate", &format!("{what}_rate")));
        flow.push(self.own("size", &format!("{what}_size")));
        flow.push(self.own("phase", "phase"));
        flow
    }

    /// Returns a key with the value of a parameter.
    fn own(&self, key: &str, parameter: &str) -> Entry {
        self.pen.entry(key, self.own.value(parameter))
    }

    fn has_node(&self, name: &str) -> bool {
        self.nodes.iter().any(|node| node.key == name)
    }

    fn flow(&self, name: &str, class: &str, [from, to]: [&str; 2]) -> Vec<Entry> {
        let texts = [("name", name), ("class", class), ("from", from), ("to", to)];
        texts.into_iter().map(|(key, text)| self.pen.entry(key, self.pen.text(text))).collect()
    }

    fn files(&mut self, files: &Files, end: Duration) {
        let mut number = 0i64;
        for bay in 1..=self.own.bays {
            for (pisa, _) in self.own.pisas_of(bay) {
                number += 1;
                // Past the end of the run, and so before the product below could overflow.
                if number > end.as_ps() / files.every.as_ps().max(1) {
                    break;
                }
                let at = files.every * number;
                self.file("file to pisa", ["server", &pisa], at, end);
            }
            for (node, _) in Parameters::bay_nodes_of(bay) {
                self.file("file to bay node", ["server", &node], files.bay_at, end);
            }
        }
        if files.uploads {
            let uploader = format!("{}.ct2", bay_name(1));
            self.file("file from pisa", [&uploader, "server"], files.upload_at, end);
        }
    }

    /// Writes a file transfer if its PISA exists and it begins within the run.
    fn file(&mut self, class: &str, ends: [&str; 2], at: Duration, end: Duration) {
        if at >= end || !ends.into_iter().all(|name| self.has_node(name)) {
            return;
        }
        let (pen, [from, to]) = (self.pen, ends);
        let size = if to == "server" { "upload_size" } else { "file_size" };
        let tcp =
            pen.map([("segment", self.own.value("segment")), ("window", self.own.value("window"))]);
        let mut flow = self.flow(&format!("file {from} > {to}"), class, ends);
        flow.push(pen.entry("over", pen.text("tcp")));
        flow.push(pen.entry("start", pen.text(exact(at))));
        flow.push(self.own("total", size));
        flow.push(pen.entry("tcp", tcp));
        self.flows.push(pen.value(Data::Map(flow)));
    }
}
