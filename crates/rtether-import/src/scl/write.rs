//! Writes the scenario.

use std::collections::BTreeSet;

use rtether_model::quantity::Duration;

use super::flow::Flow;
use super::flows::Published;
use super::model::Model;
use super::notes::Notes;
use super::release::Note;
use super::topology::{Stated, Topology, rate};
use crate::draft::section;
use crate::options::{Class, Options};
use crate::plan::{Assumption, Code};
use crate::sheet::{Names, Sheet, rate as words, scalar, time};
use crate::stacks::Stacks;
use crate::text::{plain, quote};

/// Rate of links, in megabits per second, if the file does not state one.
const USUAL_RATE: u64 = 100;
/// Fastest link of a scenario that is ten times another, in megabits per second.
const FASTEST: u64 = 100_000;
/// Octets of preamble, addresses, tag, type, header, check sequence and gap around a packet.
const AROUND: u64 = 8 + 12 + 4 + 2 + 8 + 4 + 12;
/// Parts per million of a link.
const WHOLE: u128 = 1_000_000;
/// Share of a link that events may take; more of them are assumed to come less often.
const EVENTS: u128 = WHOLE / 4;
/// Share of a link up to which everything is assumed to be flooded.
const FLOODED: u128 = WHOLE * 3 / 4;
/// Frames at ports that a simulation of the plant may take, so that the first check is quick.
const FRAMES: u128 = 10_000_000;
/// Simulated seconds at most, and at least.
const LONGEST: i64 = 10;
/// Longest description that a scenario takes.
const DESCRIPTION: usize = 190;

/// What is assumed about a subnetwork.
struct Network {
    rate: u64,
    rate_note: Note,
    /// How many times longer than in the file the time between events is.
    factor: i64,
    /// Load of every link if all is flooded, in parts per million.
    flooded: u128,
}

impl Network {
    /// Returns the rate of a link that carries everything, in megabits per second: the listeners
    /// that the file does not name have one link here, and one each in the plant.
    fn room(&self) -> u64 {
        let rates = [1, 10, 100, 1000].map(|times| self.rate * times);
        let fits = |rate: &u64| self.flooded * u128::from(self.rate) <= FLOODED * u128::from(*rate);
        let known = rates.into_iter().filter(|rate| *rate <= FASTEST).find(fits);
        known.unwrap_or(FASTEST)
    }
}

/// Writes the scenario. `head` are the lines of its first comment.
pub(super) fn write(
    head: &[String],
    title: &str,
    model: &Model<'_>,
    topology: &Topology,
    published: &Published,
    options: &Options,
    notes: &mut Notes,
) -> (String, Vec<Assumption>) {
    let networks = networks(model, published, notes);
    let mut sheet = Sheet::default();
    for line in head {
        sheet.line(&format!("# {}", plain(line, 200)));
    }
    sheet.line("rtether: 1");
    sheet.line(&format!("name: {}", scalar(title)));
    let stacks = stacks(topology, published, &networks);
    let stations: Vec<usize> = (0..topology.stations.len()).collect();
    let why = "SCL states no cost of devices";
    section(&mut sheet, "stacks", &stacks.drafts(stations.iter(), why));
    nodes(&mut sheet, model, topology, &stacks);
    switches(&mut sheet, topology, &networks);
    links(&mut sheet, topology, &networks, options);
    sheet.line("");
    sheet.line("flows:");
    let duration = duration(topology, published, &networks);
    let mut names = Names::default();
    for (number, flow) in published.flows.iter().enumerate() {
        let name = names.take(&flow.name);
        let network = &networks[flow.subnetwork];
        let writer = FlowWriter { flow, name: &name, topology, options, network, duration };
        writer.write(&mut sheet, number);
    }
    sheet.line("");
    let why = "long enough for every flow to be seen";
    let line = format!("run: {{ for: {duration} s }}");
    sheet.assumed(&line, "run.for", why);
    let mut classes = published.flows.iter().map(|flow| flow.class);
    sheet.accept(classes.any(|class| options.deadline(class).time.is_some()));
    sheet.done()
}

/// Returns what is assumed about each subnetwork.
fn networks(model: &Model<'_>, published: &Published, notes: &mut Notes) -> Vec<Network> {
    let mut networks: Vec<Network> = Vec::new();
    for subnetwork in &model.subnetworks {
        let name = quote(subnetwork.name);
        let mut bad = |text: &str, why: &str| {
            let text = format!("the BitRate {} of {name} is {why}", quote(text));
            notes.add(subnetwork.element, Code::BadValue, text);
        };
        let (rate, rate_note) = match rate(subnetwork.element) {
            Some((Stated::Rate(rate), _)) => (rate, Note::Follows("BitRate".into())),
            Some((Stated::Megabits(rate), text)) => {
                bad(text, "in bits per second, and taken for megabits");
                let why = "BitRate has no multiplier, and is no rate of Ethernet without";
                (rate, Note::Assumed(why.into()))
            }
            Some((Stated::Wrong, text)) => {
                bad(text, "none of Ethernet");
                (USUAL_RATE, Note::Assumed("BitRate is none of Ethernet".into()))
            }
            None => (USUAL_RATE, Note::Assumed("the file states no BitRate".into())),
        };
        networks.push(Network { rate, rate_note, factor: 1, flooded: 0 });
    }
    for (number, network) in networks.iter_mut().enumerate() {
        let flows = published.flows.iter().filter(|flow| flow.subnetwork == number);
        let (mut events, mut others) = (0_u128, 0_u128);
        for flow in flows {
            let load = load(flow, network.rate);
            match flow.class {
                Class::Goose => events = events.saturating_add(load),
                Class::Heartbeat
                | Class::SampledValues
                | Class::Periodic
                | Class::Sporadic
                | Class::Bulk => others = others.saturating_add(load),
                // Not flooded.
                Class::Report => {}
            }
        }
        while events > EVENTS {
            network.factor *= 2;
            events /= 2;
        }
        network.flooded = events.saturating_add(others);
    }
    networks
}

/// Returns the share of a link that a flow takes, in parts per million.
fn load(flow: &Flow, megabits: u64) -> u128 {
    let bits = u128::from((flow.size.value + AROUND) * 8);
    let gap = u128::try_from(flow.gap.as_ps()).unwrap_or(1).max(1);
    // A bit takes 10^6 picoseconds at 1 Mbit/s.
    bits * 1_000_000 * WHOLE / (gap * u128::from(megabits))
}

/// Returns the stacks of stations, by number.
fn stacks(topology: &Topology, published: &Published, networks: &[Network]) -> Stacks<usize> {
    let mut stacks = Stacks::new("device");
    for flow in &published.flows {
        let own = flow.listeners.iter().map(|to| topology.station(*to));
        let unknown = topology.unknown(flow.subnetwork);
        let unknown = unknown.filter(|_| flow.listeners.is_empty());
        let ends = own.chain([topology.station(flow.talker), unknown]).flatten();
        let ends: BTreeSet<usize> = ends.collect();
        let gap = time_between(flow, networks);
        let frames = flow.size.value.div_ceil(1400).max(1);
        for end in ends {
            stacks.add(end, frames, gap);
        }
    }
    stacks
}

/// Returns the time between two packets of a flow, at least.
fn time_between(flow: &Flow, networks: &[Network]) -> Duration {
    let factor = match flow.class {
        Class::Goose => networks[flow.subnetwork].factor,
        Class::Heartbeat
        | Class::SampledValues
        | Class::Report
        | Class::Periodic
        | Class::Sporadic
        | Class::Bulk => 1,
    };
    Duration::from_ps(flow.gap.as_ps().saturating_mul(factor))
}

fn nodes(sheet: &mut Sheet, model: &Model<'_>, topology: &Topology, stacks: &Stacks<usize>) {
    sheet.line("");
    sheet.line("nodes:");
    for (number, station) in topology.stations.iter().enumerate() {
        let name = scalar(&station.name);
        let line = format!("  {name}: {{ stack: {} }}", stacks.of(&number));
        let key = format!("nodes.{}", station.name);
        if station.is_unknown {
            let why = "stands for the listeners that the file does not name";
            sheet.assumed(&line, &key, why);
        } else if let Some(device) = station.part_of {
            let device = quote(model.devices[device].name);
            let why = format!("an interface of {device}, whose processor the others do not load");
            sheet.assumed(&line, &key, &why);
        } else {
            sheet.line(&line);
        }
    }
    for name in &topology.idle {
        let name = plain(name, 80);
        sheet.line(&format!("  # left out, since no flow begins or ends there: {name}"));
    }
}

fn switches(sheet: &mut Sheet, topology: &Topology, networks: &[Network]) {
    if topology.switches.is_empty() {
        return;
    }
    sheet.line("");
    sheet.line("switches:");
    for switch in &topology.switches {
        let key = |name: &str| format!("switches.{}.{name}", switch.name);
        let line = format!("  {}:", scalar(&switch.name));
        sheet.line(&line);
        let ports = format!("    ports: {}", switch.ports.max(1));
        if switch.is_device {
            sheet.line(&ports);
        } else {
            let why = "one switch; the file does not say how this subnetwork is cabled";
            sheet.assumed(&ports, &key("ports"), why);
        }
        let why = "store and forward, time of the switch itself";
        sheet.assumed("    latency: { unknown: 1 us .. 10 us }", &key("latency"), why);
        sheet.assumed(
            "    queues: 8",
            &key("queues"),
            "one queue for each priority, highest first",
        );
        let flooded = networks.get(switch.subnetwork).map_or(0, |network| network.flooded);
        if flooded <= FLOODED {
            let why = "no filters: multicast reaches every port";
            sheet.assumed("    multicast: unmanaged", &key("multicast"), why);
        } else {
            let percent = flooded / (WHOLE / 100);
            let why = format!("filters; without, multicast takes {percent} % of every link");
            sheet.assumed("    multicast: managed", &key("multicast"), &why);
        }
    }
}

fn links(sheet: &mut Sheet, topology: &Topology, networks: &[Network], options: &Options) {
    if topology.links.is_empty() {
        return;
    }
    sheet.line("");
    sheet.line("links:");
    for (number, link) in topology.links.iter().enumerate() {
        let ends = link.ends.map(|end| scalar(&topology.end(end)));
        let network = &networks[link.subnetwork];
        let is_unknown = link.ends.iter().any(|(node, _)| topology.is_unknown(*node));
        let megabits = match link.megabits {
            Some(stated) => stated,
            None if is_unknown => network.room(),
            None => network.rate,
        };
        let rate = words(megabits * 1_000_000);
        let standby = if link.is_standby { ", standby: true" } else { "" };
        let line = format!("  - {{ ends: [{}, {}], rate: {rate}{standby} }}", ends[0], ends[1]);
        let mut why = Vec::new();
        let mut known = Vec::new();
        match &link.source {
            Some(source) => known.push(source.clone()),
            None if options.cabling().is_some() => {
                why.push("no link of `--switches` names it".to_owned());
            }
            None => why.push("no such cable in the file".to_owned()),
        }
        if link.is_standby {
            why.push("it closes a ring, so it carries nothing".to_owned());
        }
        match &network.rate_note {
            _ if link.megabits.is_some() => {}
            _ if megabits != network.rate => why.push("fast enough for all listeners".to_owned()),
            Note::Assumed(reason) => why.push(reason.clone()),
            Note::Follows(reason) => known.push(format!("rate as {reason}")),
            Note::Stated => {}
        }
        if why.is_empty() {
            sheet.explained(&line, &known.join(", "));
        } else {
            why.extend(known);
            sheet.assumed(&line, &format!("links.{number}"), &why.join(", "));
        }
    }
}

/// Returns the simulated seconds: long enough for heartbeats, short enough for a first look.
fn duration(topology: &Topology, published: &Published, networks: &[Network]) -> i64 {
    let ports = u128::try_from(topology.links.len().max(1)).unwrap_or(1);
    let per_second = |flow: &Flow| {
        let gap = u128::try_from(flow.gap.as_ps()).unwrap_or(1).max(1);
        let factor = match flow.class {
            Class::Goose => networks[flow.subnetwork].factor,
            Class::Heartbeat
            | Class::SampledValues
            | Class::Report
            | Class::Periodic
            | Class::Sporadic
            | Class::Bulk => 1,
        };
        1_000_000_000_000 / gap / u128::try_from(factor).unwrap_or(1)
    };
    let all: u128 = published.flows.iter().map(per_second).sum();
    let seconds = FRAMES / (all.max(1) * ports);
    i64::try_from(seconds).unwrap_or(LONGEST).clamp(1, LONGEST)
}

/// Writes one flow.
struct FlowWriter<'a> {
    flow: &'a Flow,
    name: &'a str,
    topology: &'a Topology,
    options: &'a Options,
    network: &'a Network,
    /// Simulated seconds.
    duration: i64,
}

impl FlowWriter<'_> {
    fn key(&self, name: &str) -> String {
        format!("flows.{}.{name}", self.name)
    }

    fn noted(&self, sheet: &mut Sheet, line: &str, key: &str, note: &Note) {
        let line = format!("    {line}");
        match note {
            Note::Stated => sheet.line(&line),
            Note::Follows(why) => sheet.explained(&line, why),
            Note::Assumed(why) => sheet.assumed(&line, &self.key(key), why),
        }
    }

    fn write(&self, sheet: &mut Sheet, number: usize) {
        let flow = self.flow;
        sheet.line(&format!("  - name: {}", scalar(self.name)));
        sheet.line(&format!("    class: {}", flow.class.name()));
        let description = plain(&flow.description, DESCRIPTION);
        sheet.line(&format!("    description: {}", scalar(&description)));
        sheet.line(&format!("    from: {}", scalar(&self.station(flow.talker))));
        self.listeners(sheet);
        let over = match flow.class {
            Class::Goose | Class::Heartbeat => "goose",
            Class::Report => "tcp",
            Class::SampledValues | Class::Periodic | Class::Sporadic | Class::Bulk => "sv",
        };
        sheet.line(&format!("    over: {over}"));
        self.release(sheet, number);
        let size = format!("size: {} B", flow.size.value);
        self.noted(sheet, &size, "size", &flow.size.note);
        if let Some(priority) = &flow.priority {
            let line = format!("pcp: {}", priority.value);
            self.noted(sheet, &line, "pcp", &priority.note);
        }
        if let Some(vlan) = flow.vlan {
            sheet.line(&format!("    vlan: {vlan}"));
        }
        self.deadline(sheet);
    }

    fn station(&self, interface: usize) -> String {
        let station = self.topology.station(interface);
        station.map_or_else(String::new, |station| self.topology.stations[station].name.clone())
    }

    fn listeners(&self, sheet: &mut Sheet) {
        let names: BTreeSet<usize> = self.flow.listeners.iter().copied().collect();
        let names: Vec<String> = names.into_iter().map(|to| scalar(&self.station(to))).collect();
        if !names.is_empty() {
            sheet.line(&format!("    to: [{}]", names.join(", ")));
            return;
        }
        let unknown = self.topology.unknown(self.flow.subnetwork);
        let name = unknown.map_or("", |station| self.topology.stations[station].name.as_str());
        let line = format!("    to: [{}]", scalar(name));
        sheet.assumed(&line, &self.key("to"), "the file names no subscriber");
    }

    fn release(&self, sheet: &mut Sheet, number: usize) {
        let flow = self.flow;
        let key = flow.release.split(':').next().unwrap_or_default();
        if flow.class != Class::Goose {
            self.noted(sheet, &flow.release, key, &flow.release_note);
            let seconds = Duration::from_secs(self.duration);
            if flow.gap.as_ps() > seconds.as_ps() / 2 {
                // Spread over the first half of the run by a step prime to it.
                let step = i64::try_from(number % 97).unwrap_or(0) * 37 % 97;
                let phase = Duration::from_ms(self.duration * step * 5);
                let line = format!("    phase: {}", time(phase));
                sheet.assumed(&line, &self.key("phase"), "within the run, which is short");
            }
            return;
        }
        let often = "events come as often as it allows";
        let factor = self.network.factor;
        let why = match (&flow.release_note, factor) {
            (Note::Assumed(why), 1) => format!("{why}; {often}"),
            (Note::Assumed(why), _) => format!("{why}; events come {factor} times as rarely"),
            (Note::Stated | Note::Follows(_), 1) => format!("MinTime; {often}"),
            (Note::Stated | Note::Follows(_), _) => {
                format!("{factor} times MinTime; events that often would overload the network")
            }
        };
        let gap = flow.gap.as_ps().saturating_mul(factor);
        let line = format!("    min_gap: {}", time(Duration::from_ps(gap)));
        sheet.assumed(&line, &self.key("min_gap"), &why);
    }

    fn deadline(&self, sheet: &mut Sheet) {
        let class = self.flow.class;
        let deadline = self.options.deadline(class);
        let Some(span) = deadline.time else {
            return;
        };
        let line = format!("    deadline: {}", time(span));
        if deadline.is_stated {
            sheet.explained(&line, &format!("--deadline {}", class.name()));
        } else {
            let why = format!("IEC 61850-5; --deadline {}=TIME", class.name());
            sheet.assumed(&line, &self.key("deadline"), &why);
        }
    }
}
