//! Writes the scenario.

use std::collections::{BTreeMap, BTreeSet};

use rtether_model::quantity::Duration;

use super::copies::{Attached, Copies};
use super::flows::{Flow, Release, Why};
use super::frame::Mac;
use super::label;
use super::streams::Streams;
use super::ways::Ways;
use crate::draft::section;
use crate::options::{Class, Options};
use crate::plan::Assumption;
use crate::sheet::{Names, Sheet, scalar, time};
use crate::stacks::Stacks;
use crate::text::plain;

/// Rates that links may have, in megabits per second.
const RATES: [u64; 4] = [100, 1_000, 10_000, 100_000];
/// Largest share of a link that is assumed to be used, in percent.
const MOST: u128 = 40;
/// Octets of tag, preamble and gap around a frame.
const AROUND: u64 = 4 + 8 + 12;
/// Octets of a full segment on the wire, and such segments that a connection sends at once.
const SEGMENT: u64 = 1542;
const WINDOW: u64 = 10;
/// Frames that a simulation of the plan may have, and its length in milliseconds.
const FRAMES: u128 = 5_000_000;
const LONGEST: u128 = 10_000;
/// Longest description that a scenario takes.
const DESCRIPTION: usize = 190;
/// Jitter below a microsecond is that of the stamps, in picoseconds.
const STAMPS: i64 = 1_000_000;
const MILLISECOND: i64 = 1_000_000_000;

/// A picosecond's bits at a megabit per second, inverted: a bit takes 10^6 ps.
const BIT: u128 = 1_000_000;

impl Flow {
    /// Returns the octets on the wire of what it releases at once.
    fn octets(&self) -> u64 {
        match self.release {
            Release::Bulk { .. } => SEGMENT * WINDOW,
            Release::Sporadic { burst, .. } => self.frame().saturating_mul(burst),
            Release::Periodic { .. } => self.frame(),
        }
    }

    /// Returns the octets of a message on the wire, with all its frames.
    fn frame(&self) -> u64 {
        let frames = self.size.div_ceil(1480).max(1);
        (self.size + frames * (self.over.around() + AROUND)).max(64 + AROUND)
    }

    /// Returns bits per second in the mean.
    fn load(&self) -> u128 {
        let often = |span: Duration| u128::try_from(span.as_ps().max(1)).unwrap_or(1);
        let bits = u128::from(self.octets()) * 8 * 1_000_000_000_000;
        match self.release {
            Release::Periodic { period, .. } => bits / often(period),
            Release::Sporadic { mean, .. } => bits / often(mean),
            // Headers, and answers.
            Release::Bulk { rate } => u128::from(rate) * 11 / 10,
        }
    }

    /// Returns frames per second in the mean.
    fn frames_per_second(&self) -> u128 {
        match self.release {
            Release::Bulk { rate } => u128::from(rate) / (1460 * 8) * 2 + 1,
            Release::Periodic { .. } | Release::Sporadic { .. } => {
                self.load() / 8 / u128::from(self.frame().max(1)) + 1
            }
        }
    }
}

/// What is assumed about the network.
struct Network {
    /// Megabits per second.
    rate: u64,
    /// Whether a group has frames.
    has_unknown: bool,
    /// Simulated milliseconds.
    duration: i64,
}

impl Network {
    fn of(flows: &[Flow], options: &Options) -> Self {
        let mut loads: BTreeMap<Mac, u128> = BTreeMap::new();
        let mut together: BTreeMap<Mac, u64> = BTreeMap::new();
        let (mut flooded, mut flooded_together) = (0, 0);
        for flow in flows {
            *loads.entry(flow.talker).or_default() += 0;
            let (load, at_once) = match flow.listener {
                Some(listener) => {
                    (loads.entry(listener).or_default(), together.entry(listener).or_default())
                }
                None => (&mut flooded, &mut flooded_together),
            };
            *load += flow.load();
            *at_once = at_once.saturating_add(flow.octets());
        }
        let load = loads.values().max().copied().unwrap_or(0) + flooded;
        let octets = together.values().max().copied().unwrap_or(0);
        let octets = octets.saturating_add(flooded_together);
        let deadlines = flows.iter().filter_map(|flow| deadline(flow, options));
        let least = deadlines.map(|(span, _)| span.as_ps()).min();
        let least = least.map_or(u128::MAX, |span| u128::try_from(span).unwrap_or(1));
        let is_enough = |rate: &u64| {
            let rate = u128::from(*rate);
            // All that may come at once is through in half of the least deadline, twice.
            let through = u128::from(octets) * 8 * BIT / rate;
            load * 100 <= rate * 1_000_000 * MOST && through <= least / 4
        };
        let rate = RATES.into_iter().find(is_enough).unwrap_or(RATES[3]);
        let ports = u128::try_from(loads.len() + 1).unwrap_or(1);
        let frames = flows.iter().map(|flow| {
            let copies = if flow.listener.is_some() { 2 } else { ports };
            flow.frames_per_second().saturating_mul(copies)
        });
        let frames: u128 = frames.sum();
        let duration = (FRAMES * 1000 / frames.max(1)).clamp(10, LONGEST);
        Self {
            rate,
            has_unknown: flows.iter().any(|flow| flow.listener.is_none()),
            duration: i64::try_from(duration).unwrap_or(10),
        }
    }
}

impl Network {
    /// Returns the least gap between releases of a sporadic flow and the mean one, as they are
    /// written: so that a short run shows some.
    fn gaps(&self, flow: &Flow) -> [Duration; 2] {
        let Release::Sporadic { least, mean, .. } = &flow.release else {
            return [Duration::ZERO; 2];
        };
        let run = Duration::from_ms(self.duration).as_ps();
        // Stamps may be equal; frames on one link are not.
        let apart = self.wire_time(u128::from(flow.octets()));
        let least = Duration::from_ps(least.as_ps().max(apart).min(run / 2));
        let most = least.max(Duration::from_ps(run / 20));
        [least, (*mean).max(least).min(most)]
    }

    /// Returns the picoseconds that octets take on a link.
    fn wire_time(&self, octets: u128) -> i64 {
        let time = octets * 8 * BIT / u128::from(self.rate.max(1));
        i64::try_from(time).unwrap_or(i64::MAX)
    }
}

/// Returns the deadline of a flow, and why it is that.
fn deadline(flow: &Flow, options: &Options) -> Option<(Duration, Why)> {
    let class = options.deadline(flow.class);
    if class.is_stated {
        let why = format!("--deadline {}", flow.class.name());
        return class.time.map(|span| (span, Why::Read(why)));
    }
    if let Some((span, why)) = &flow.deadline {
        return Some((*span, Why::Read(why.clone())));
    }
    let name = flow.class.name();
    match (class.time, &flow.release) {
        (Some(span), _) => Some((span, Why::Seen(format!("IEC 61850-5; --deadline {name}=TIME")))),
        (None, Release::Periodic { period, .. }) if flow.class == Class::Periodic => {
            let why = format!("the period; --deadline {name}=TIME");
            Some((*period, Why::Seen(why)))
        }
        (None, _) => None,
    }
}

/// Points of capture.
pub(super) struct Points<'a> {
    pub(super) names: &'a [String],
    pub(super) ways: &'a Ways,
}

/// Most further points that a comment names.
const MOST_POINTS: usize = 3;

impl Points<'_> {
    /// Says where a flow was seen, and how much later at other points; nothing if at one.
    fn words(&self, flow: &Flow) -> Option<String> {
        let ways = self.ways.from(&flow.path, flow.interface);
        let named = |point: usize| self.names.get(point).map_or("", String::as_str);
        let others = ways.iter().take(MOST_POINTS).map(|(point, delay)| {
            let ns = |ns: i64| time(Duration::from_ns(ns));
            let (mean, least, most) = (delay.mean(), delay.least, delay.most);
            let range = if least == most {
                String::new()
            } else {
                format!(" ({} to {})", ns(least), ns(most))
            };
            format!("{} later at {}{range}", ns(mean), named(*point))
        });
        let others: Vec<String> = others.collect();
        let begin = named(flow.interface);
        (!others.is_empty()).then(|| format!("seen at {begin}, {}", others.join(", ")))
    }
}

/// Writes the scenario. `head` are the lines of its first comment.
pub(super) fn write(
    head: &[String],
    title: &str,
    points: &Points<'_>,
    (streams, copies): (&Streams, &Copies),
    flows: &[Flow],
    options: &Options,
) -> (String, Vec<Assumption>) {
    let network = Network::of(flows, options);
    let mut sheet = Sheet::default();
    for line in head {
        sheet.line(&format!("# {}", plain(line, 200)));
    }
    sheet.line("rtether: 1");
    sheet.line(&format!("name: {}", scalar(title)));
    let stations = Stations::name((streams, copies), flows, &network);
    let stacks = stacks(flows, &network);
    let unknown = network.has_unknown.then_some(None);
    let named: Vec<Option<Mac>> = stations.names.keys().copied().map(Some).collect();
    let all = named.iter().chain(&unknown);
    section(&mut sheet, "stacks", &stacks.drafts(all, "a capture shows no cost of stacks"));
    stations.write(&mut sheet, &network, &stacks);
    sheet.line("");
    sheet.line("flows:");
    let mut names = Names::default();
    for (number, flow) in flows.iter().enumerate() {
        let writer = Writer {
            flow,
            name: names.take(&flow.name),
            stations: &stations,
            network: &network,
            points,
            options,
            number,
        };
        writer.write(&mut sheet);
    }
    sheet.line("");
    let span = Duration::from_ms(network.duration);
    let why = "long enough for a first look";
    sheet.assumed(&format!("run: {{ for: {} }}", time(span)), "run.for", why);
    // Bulk alone has nothing to hold.
    let is_bulk = |flow: &Flow| matches!(flow.release, Release::Bulk { .. });
    if !flows.iter().all(is_bulk) {
        sheet.accept(flows.iter().any(|flow| deadline(flow, options).is_some()));
    }
    sheet.done()
}

/// Returns the stacks of stations, by address; `None` are the members of groups.
fn stacks(flows: &[Flow], network: &Network) -> Stacks<Option<Mac>> {
    let mut stacks = Stacks::new("station");
    for flow in flows {
        let frames = flow.size.div_ceil(1400).max(1);
        let (frames, gap) = match &flow.release {
            // As many segments as make its rate.
            Release::Bulk { rate } => {
                let bits = i64::try_from(*rate).unwrap_or(i64::MAX).max(1);
                (1, Duration::from_ps(12_000_000_000_000_000 / bits))
            }
            Release::Periodic { period, .. } => (frames, *period),
            Release::Sporadic { burst, .. } => {
                let [_, mean] = network.gaps(flow);
                (frames.saturating_mul(*burst), mean)
            }
        };
        stacks.add(Some(flow.talker), frames, gap);
        stacks.add(flow.listener, frames, gap);
    }
    stacks
}

/// Names of stations.
struct Stations {
    names: BTreeMap<Mac, String>,
    comments: BTreeMap<Mac, String>,
    unknown: String,
    switch: String,
    second: Option<Second>,
}

/// A second network, where frames have the numbers of redundant ones.
struct Second {
    switch: String,
    /// Whether a ring (HSR) is what two networks stand for.
    is_ring: bool,
    attached: BTreeMap<Mac, Option<Attached>>,
}

impl Second {
    /// Returns whether a station is in it: all but those whose own frames have no numbers.
    fn has(&self, mac: Mac) -> bool {
        self.attached.get(&mac) != Some(&Some(Attached::Once))
    }

    /// Writes how a station is in both networks.
    fn write(&self, sheet: &mut Sheet, (mac, name): (Mac, &str)) {
        let line = "    redundancy: prp";
        let key = format!("nodes.{name}.redundancy");
        match self.attached.get(&mac).copied().flatten() {
            Some(Attached::Once) => {}
            Some(Attached::Twice) => sheet.explained(line, "its frames have the trailer of PRP"),
            Some(Attached::Ring) => {
                let why = "its frames have the tag of HSR, as long as the trailer of PRP; two \
                           networks stand for the ring";
                sheet.assumed(line, &key, why);
            }
            None => sheet.assumed(line, &key, "it sends nothing here; as the others do"),
        }
    }
}

impl Stations {
    fn name((streams, copies): (&Streams, &Copies), flows: &[Flow], network: &Network) -> Self {
        let ends = flows.iter().flat_map(|flow| [Some(flow.talker), flow.listener]);
        let ends: BTreeSet<Mac> = ends.flatten().collect();
        let mut names = Names::default();
        let mut named = BTreeMap::new();
        let mut comments = BTreeMap::new();
        for mac in ends {
            let station = streams.stations.get(&mac).cloned().unwrap_or_default();
            named.insert(mac, names.take(&label::station(mac, &station)));
            let mut addresses: Vec<String> =
                station.addresses.iter().copied().map(label::ip).collect();
            addresses.insert(0, label::mac(mac));
            comments.insert(mac, addresses.join(", "));
        }
        let unknown = if network.has_unknown { names.take("unknown") } else { String::new() };
        let switch = names.take("switch");
        let second = copies.is_ring().map(|is_ring| Second {
            switch: names.take("switch B"),
            is_ring,
            attached: named.keys().map(|mac| (*mac, copies.attached(*mac))).collect(),
        });
        Self { names: named, comments, unknown, switch, second }
    }

    fn named(&self, mac: Mac) -> &str {
        self.names.get(&mac).map_or("", String::as_str)
    }

    fn write(&self, sheet: &mut Sheet, network: &Network, stacks: &Stacks<Option<Mac>>) {
        sheet.line("");
        sheet.line("nodes:");
        for (mac, name) in &self.names {
            self.node(sheet, (*mac, name), &stacks.of(&Some(*mac)));
        }
        let second = self.second.as_ref();
        if network.has_unknown {
            let twice = second.map_or("", |_| ", redundancy: prp");
            let line =
                format!("  {}: {{ stack: {}{twice} }}", scalar(&self.unknown), stacks.of(&None));
            let why = "stands for the members of groups, which a capture does not name";
            sheet.assumed(&line, &format!("nodes.{}", self.unknown), why);
        }
        let members: Vec<(Option<Mac>, &str)> = self.members(network).collect();
        let twice: Vec<&str> = second.map_or_else(Vec::new, |second| {
            let members = members.iter();
            let twice = members.filter(|(mac, _)| mac.is_none_or(|mac| second.has(mac)));
            twice.map(|(_, name)| *name).collect()
        });
        let all: Vec<&str> = members.iter().map(|(_, name)| *name).collect();
        let mut networks = vec![(self.switch.as_str(), all)];
        networks.extend(second.map(|second| (second.switch.as_str(), twice)));
        sheet.line("");
        sheet.line("switches:");
        for (switch, names) in &networks {
            self.switch(sheet, switch, names.len());
        }
        sheet.line("");
        sheet.line("links:");
        let mut number = 0;
        for (switch, names) in &networks {
            for (port, name) in (1..).zip(names) {
                let end = scalar(&format!("{switch}:{port}"));
                let rate = crate::sheet::rate(network.rate * 1_000_000);
                let line = format!("  - {{ ends: [{}, {end}], rate: {rate} }}", scalar(name));
                let why = "fast enough for what was seen";
                sheet.assumed(&line, &format!("links.{number}"), why);
                number += 1;
            }
        }
    }

    /// Returns all stations with their names, and last what stands for members of groups.
    fn members(&self, network: &Network) -> impl Iterator<Item = (Option<Mac>, &str)> {
        let names = self.names.iter().map(|(mac, name)| (Some(*mac), name.as_str()));
        let unknown = network.has_unknown.then_some((None, self.unknown.as_str()));
        names.chain(unknown)
    }

    fn node(&self, sheet: &mut Sheet, (mac, name): (Mac, &str), stack: &str) {
        let comment = self.comments.get(&mac).map_or("", String::as_str);
        let named = scalar(name);
        match &self.second {
            Some(second) if second.has(mac) => {
                sheet.explained(&format!("  {named}:"), comment);
                sheet.line(&format!("    stack: {stack}"));
                second.write(sheet, (mac, name));
            }
            Some(_) | None => {
                sheet.explained(&format!("  {named}: {{ stack: {stack} }}"), comment);
            }
        }
    }

    fn switch(&self, sheet: &mut Sheet, name: &str, ports: usize) {
        let key = |key: &str| format!("switches.{name}.{key}");
        sheet.line(&format!("  {}:", scalar(name)));
        let why = match &self.second {
            None => "one switch; a capture does not show the cables",
            Some(second) if second.is_ring => {
                "one switch for each direction of the ring, which is not modeled"
            }
            Some(_) => "one switch for each network; a capture does not show the cables",
        };
        sheet.assumed(&format!("    ports: {ports}"), &key("ports"), why);
        let why = "store and forward, time of the switch itself";
        sheet.assumed("    latency: { unknown: 1 us .. 10 us }", &key("latency"), why);
        let why = "one queue for each priority, highest first";
        sheet.assumed("    queues: 8", &key("queues"), why);
        let why = "no filters: multicast reaches every port";
        sheet.assumed("    multicast: unmanaged", &key("multicast"), why);
    }
}

/// Writes one flow.
struct Writer<'a> {
    flow: &'a Flow,
    name: String,
    stations: &'a Stations,
    network: &'a Network,
    points: &'a Points<'a>,
    options: &'a Options,
    number: usize,
}

impl Writer<'_> {
    fn noted(&self, sheet: &mut Sheet, line: &str, key: &str, why: &Why) {
        let line = format!("    {line}");
        // A period may be written as a rate.
        let key = line.trim().split(':').next().unwrap_or(key);
        match why {
            Why::Read(why) => sheet.explained(&line, why),
            Why::Seen(why) => {
                let key = format!("flows.{}.{key}", self.name);
                sheet.assumed(&line, &key, why);
            }
        }
    }

    fn assumed(&self, sheet: &mut Sheet, line: &str, key: &str, why: &str) {
        self.noted(sheet, line, key, &Why::Seen(why.to_owned()));
    }

    fn write(&self, sheet: &mut Sheet) {
        let flow = self.flow;
        sheet.line(&format!("  - name: {}", scalar(&self.name)));
        sheet.line(&format!("    class: {}", flow.class.name()));
        let description = plain(&flow.description, DESCRIPTION);
        sheet.line(&format!("    description: {}", scalar(&description)));
        let from = self.stations.named(flow.talker);
        let from = format!("    from: {}", scalar(from));
        match self.points.words(flow) {
            Some(words) => sheet.explained(&from, &words),
            None => sheet.line(&from),
        }
        if let Some(listener) = flow.listener {
            let to = scalar(self.stations.named(listener));
            sheet.line(&format!("    to: {to}"));
        } else {
            let to = format!("to: [{}]", scalar(&self.stations.unknown));
            self.assumed(sheet, &to, "to", "members of the group are not known");
            sheet.line("    delivery: multicast");
        }
        sheet.line(&format!("    over: {}", flow.over.word()));
        self.release(sheet);
        if !matches!(flow.release, Release::Bulk { .. }) {
            let size = format!("size: {} B", flow.size);
            match &flow.size_why {
                Some(why) => self.noted(sheet, &size, "size", why),
                None => sheet.line(&format!("    {size}")),
            }
        }
        if let Some(tag) = flow.tag {
            let pcp = format!("pcp: {}", tag.pcp);
            match &flow.tag_why {
                Some(why) => self.noted(sheet, &pcp, "pcp", &Why::Read(why.clone())),
                None => sheet.line(&format!("    {pcp}")),
            }
            if tag.vid > 0 {
                sheet.line(&format!("    vlan: {}", tag.vid));
            }
        }
        if flow.dscp > 0 {
            sheet.line(&format!("    dscp: {}", flow.dscp));
        }
        if let Some((span, why)) = deadline(flow, self.options) {
            let line = format!("deadline: {}", time(span));
            self.noted(sheet, &line, "deadline", &why);
        }
    }

    fn release(&self, sheet: &mut Sheet) {
        let run = Duration::from_ms(self.network.duration);
        match &self.flow.release {
            Release::Bulk { rate } => {
                sheet.line("    kind: bulk");
                let line = format!("rate: {rate} bit/s");
                self.assumed(sheet, &line, "rate", "the mean while it was seen");
            }
            Release::Periodic { period, rate, jitter, why } => {
                let line = match rate {
                    Some(rate) => format!("rate: {rate} /s"),
                    None => format!("period: {}", time(*period)),
                };
                self.noted(sheet, &line, "period", why);
                sheet.phase(&self.name, *period, run, self.number);
                if jitter.as_ps() >= STAMPS {
                    let jitter = rounded_up(*jitter).min(Duration::from_ps(period.as_ps() - 1));
                    let line = format!("jitter: {}", time(jitter));
                    let why = "as seen: of the sender, the way and the capture together";
                    self.assumed(sheet, &line, "jitter", why);
                }
            }
            // A grid of the least gap sends no less, and once in any run.
            Release::Sporadic { least, burst: 1, .. } if least.as_ps() > run.as_ps() / 2 => {
                let line = format!("period: {}", time(*least));
                let why = "the least gap that was seen; on a grid, so that a short run has one";
                self.assumed(sheet, &line, "period", why);
                sheet.phase(&self.name, *least, run, self.number);
            }
            Release::Sporadic { mean, burst, why, .. } => {
                let [least, shown] = self.network.gaps(self.flow);
                self.noted(sheet, &format!("min_gap: {}", time(least)), "min_gap", why);
                if shown > least {
                    let why = if shown == *mean {
                        "the mean that was seen".to_owned()
                    } else {
                        format!(
                            "{} was seen; more often, so that a short run shows it",
                            time(rounded_up(*mean))
                        )
                    };
                    let line = format!("mean_gap: {}", time(rounded_up(shown)));
                    self.assumed(sheet, &line, "mean_gap", &why);
                }
                if *burst > 1 {
                    let line = format!("burst: {burst}");
                    self.assumed(sheet, &line, "burst", "the most that came together");
                }
            }
        }
    }
}

/// Rounds a time up to two digits, or three above a millisecond.
fn rounded_up(span: Duration) -> Duration {
    let ps = span.as_ps();
    let most = if ps > MILLISECOND { 1000 } else { 100 };
    let mut unit = 1;
    while ps / unit >= most {
        unit *= 10;
    }
    Duration::from_ps((ps + unit - 1) / unit * unit)
}
