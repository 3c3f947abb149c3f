//! The text of a scenario.

use std::collections::{BTreeMap, BTreeSet};

use rtether_model::quantity::Duration;

use super::flows::{Begin, Flow, Times};
use super::plant::{Link, Node, Plant, Sort};
use super::token::tokens;
use super::value::{Number, Unit, Value};
use super::{Notes, duration};
use crate::error::ImportError;
use crate::options::{Class, Options};
use crate::plan::{Assumption, Code};
use crate::sheet::{Names, Sheet, scalar, time};
use crate::text::{plain, quote};
use crate::ways::{Neighbors, way};

/// Rates of Ethernet in bits in a second.
const RATES: [u64; 11] = [
    10_000_000,
    100_000_000,
    1_000_000_000,
    2_500_000_000,
    5_000_000_000,
    10_000_000_000,
    25_000_000_000,
    40_000_000_000,
    100_000_000_000,
    200_000_000_000,
    400_000_000_000,
];
/// Rate of links that nothing states.
const USUAL_RATE: f64 = 100e6;
/// Most flows times nodes, for each of which a way is searched.
const MAX_STEPS: usize = 10_000_000;
/// Packets that a simulation may have, so that the first check is quick.
const MESSAGES: f64 = 1_000_000.0;
/// Queue of each priority, for each number of queues, as INET has them (IEEE 802.1Q, table 8-5).
const MAPS: [[usize; 8]; 8] = [
    [0, 0, 0, 0, 0, 0, 0, 0],
    [0, 0, 0, 0, 1, 1, 1, 1],
    [0, 0, 0, 0, 1, 1, 2, 2],
    [0, 0, 1, 1, 2, 2, 3, 3],
    [0, 0, 1, 1, 2, 2, 3, 4],
    [1, 0, 2, 2, 3, 3, 4, 5],
    [1, 0, 2, 3, 4, 4, 5, 6],
    [1, 0, 2, 3, 4, 5, 6, 7],
];

/// Writes a scenario.
pub(super) fn write(
    plant: &Plant<'_>,
    flows: &[Flow],
    limit: Option<&str>,
    options: &Options,
    notes: &mut Notes<'_>,
) -> Result<Written, ImportError> {
    let mut names = Names::default();
    let ends = flows.iter().flat_map(|flow| flow.to.iter().chain([&flow.from]));
    let ends: BTreeSet<usize> = ends.copied().collect();
    let is_used = |number: usize, node: &Node| {
        let is_end = ends.contains(&number);
        is_end || (node.sort() == Sort::Switch && !node.ports.is_empty())
    };
    let nodes = plant.nodes.iter().enumerate();
    let named = nodes.map(|(number, node)| is_used(number, node).then(|| names.take(&node.name)));
    let mut writer = Writer { plant, names: named.collect(), sheet: Sheet::default(), options };
    let ways = writer.ways(flows, notes)?;
    writer.head(&notes.files);
    writer.nodes(notes);
    writer.links(notes)?;
    writer.flows(flows, ways.as_ref());
    writer.run(flows, limit, notes);
    let has_deadline = flows.iter().any(|flow| writer.deadline(flow).is_some());
    writer.sheet.accept(has_deadline);
    let count = |sort: Sort| {
        let nodes = plant.nodes.iter().enumerate();
        let used = nodes.filter(|(number, _)| writer.is_used(*number));
        used.filter(|(_, node)| node.sort() == sort).count()
    };
    let counts = [count(Sort::Station), count(Sort::Switch), writer.once().len()];
    let (scenario, assumptions) = writer.sheet.done();
    Ok(Written { scenario, assumptions, counts })
}

/// What was written.
pub(super) struct Written {
    pub(super) scenario: String,
    pub(super) assumptions: Vec<Assumption>,
    /// Stations, switches, and links.
    pub(super) counts: [usize; 3],
}

struct Writer<'w, 't> {
    plant: &'w Plant<'t>,
    /// Names in the scenario; `None` for a node that is no switch, and that no flow needs.
    names: Vec<Option<String>>,
    sheet: Sheet,
    options: &'w Options,
}

/// Settings of the queues of a switch.
struct Queues {
    count: usize,
    map: Option<Vec<usize>>,
    /// Idle slopes of the ports that have some, in bits in a second.
    slopes: BTreeMap<usize, Vec<u64>>,
}

impl<'w> Writer<'w, '_> {
    fn name(&self, node: usize) -> &str {
        let name = self.names.get(node).and_then(Option::as_ref);
        name.map_or("", String::as_str)
    }

    fn is_used(&self, node: usize) -> bool {
        self.names.get(node).is_some_and(Option::is_some)
    }

    /// Returns the neighbors of nodes if links close a ring. Refuses flows between parts that no
    /// link joins.
    fn ways(&self, flows: &[Flow], notes: &Notes<'_>) -> Result<Option<Neighbors>, ImportError> {
        let mut neighbors = Neighbors::new();
        for link in self.once() {
            let [(one, _), (other, _)] = link.ends;
            for (one, other) in [(one, other), (other, one)] {
                let own = neighbors.entry(self.name(one).to_owned()).or_default();
                own.insert(self.name(other).to_owned());
            }
        }
        let place = (notes.files.len() - 1, 1);
        let pairs = flows.iter().flat_map(|flow| flow.to.iter().map(|to| (flow.from, *to)));
        let pairs: BTreeSet<(usize, usize)> = pairs.collect();
        if pairs.len().saturating_mul(neighbors.len()) > MAX_STEPS {
            let what = format!("it has {} nodes, for {} flows", neighbors.len(), flows.len());
            return Err(notes.wrong(place, what, "import a part of it"));
        }
        for (from, to) in pairs {
            if way(&neighbors, self.name(from), self.name(to)).is_none() {
                let name = |node: usize| quote(&self.plant.nodes[node].name);
                let what = format!("no links lead from {} to {}", name(from), name(to));
                return Err(notes.wrong(place, what, "add the missing ones to the network"));
            }
        }
        let is_ring = self.once().len() >= neighbors.len();
        Ok(is_ring.then_some(neighbors))
    }

    /// Returns the links that are used, without those that join what others have joined.
    fn once(&self) -> Vec<&'w Link> {
        let mut known = BTreeSet::new();
        let links = self.plant.links.iter();
        let links = links.filter(|link| link.ends.iter().all(|(node, _)| self.is_used(*node)));
        let mut is_new = |link: &&Link| {
            let [(one, _), (other, _)] = link.ends;
            known.insert((one.min(other), one.max(other)))
        };
        links.filter(|link| is_new(link)).collect()
    }

    fn head(&mut self, files: &[&str]) {
        let from: Vec<String> = files.iter().map(|name| plain(name, 80)).collect();
        let from = plain(&from.join(", "), 200);
        self.sheet.line(&format!("# From {from} (INET) by `rtether import`."));
        self.sheet
            .line("# What the files do not say is marked `assumed`: check these lines first.");
        self.sheet.line("rtether: 1");
        let name = scalar(&plain(self.plant.name, 80));
        self.sheet.line(&format!("name: {name}"));
        self.sheet.line("");
        self.sheet.line("stacks:");
        let why = "stacks of INET take no time; `rtether calibrate` measures yours";
        let line = "  station: { send: 0 us, receive: 0 us }";
        self.sheet.assumed(line, "stacks.station", why);
    }

    fn nodes(&mut self, notes: &mut Notes<'_>) {
        let nodes = &self.plant.nodes;
        let used = nodes.iter().enumerate();
        let used: Vec<(usize, &Node)> = used.filter(|(number, _)| self.is_used(*number)).collect();
        let (switches, stations): (Vec<_>, Vec<_>) =
            used.into_iter().partition(|(_, node)| node.sort() == Sort::Switch);
        self.sheet.line("");
        self.sheet.line("nodes:");
        for (number, _) in stations {
            let name = scalar(self.name(number));
            self.sheet.line(&format!("  {name}: {{ stack: station }}"));
        }
        if switches.is_empty() {
            return;
        }
        self.sheet.line("");
        self.sheet.line("switches:");
        for (number, node) in switches {
            self.switch(number, node, notes);
        }
    }

    fn switch(&mut self, number: usize, node: &Node, notes: &mut Notes<'_>) {
        let name = self.name(number).to_owned();
        self.sheet.line(&format!("  {}:", scalar(&name)));
        let ports = node.ports.last().map_or(1, |last| last + 1);
        self.sheet.line(&format!("    ports: {ports}"));
        let why = "switches of INET take no time";
        let key = format!("switches.{name}.latency");
        self.sheet.assumed("    latency: 0 us", &key, why);
        let through = format!("{}.hasCutthroughSwitching", node.name);
        if matches!(self.plant.value(&through), Some((Ok(Value::Flag(true)), _))) {
            self.sheet.line("    mode: cut-through");
        }
        let shaping = format!("{}.hasEgressTrafficShaping", node.name);
        if !matches!(self.plant.value(&shaping), Some((Ok(Value::Flag(true)), _))) {
            self.sheet.line("    selection: fcfs");
            return;
        }
        let queues = self.queues(node, notes);
        self.sheet.line(&format!("    queues: {}", queues.count));
        let usual = MAPS.get(queues.count - 1).copied().unwrap_or_default();
        let map = queues.map.unwrap_or_else(|| usual.to_vec());
        let map: Vec<String> = map.iter().map(usize::to_string).collect();
        self.sheet.line(&format!("    pcp_map: [{}]", map.join(", ")));
        let list = |slopes: &[u64]| {
            let all: Vec<String> = slopes.iter().map(|own| bits(*own)).collect();
            all.join(", ")
        };
        let first = queues.slopes.values().next();
        let all_same = queues.slopes.len() == node.ports.len()
            && queues.slopes.values().all(|own| Some(own) == first);
        match first {
            Some(slopes) if all_same => {
                self.sheet.line("    selection: cbs");
                self.sheet.line(&format!("    idle_slopes: [{}]", list(slopes)));
            }
            None => self.sheet.line("    selection: strict"),
            Some(_) => {
                self.sheet.line("    selection: strict");
                self.sheet.line("    port_settings:");
                for (port, slopes) in &queues.slopes {
                    let slopes = list(slopes);
                    let port = port + 1;
                    self.sheet.line(&format!(
                        "      {port}: {{ selection: cbs, idle_slopes: [{slopes}] }}"
                    ));
                }
            }
        }
    }

    /// Reads the queues of a switch.
    fn queues(&self, node: &Node, notes: &mut Notes<'_>) -> Queues {
        let mut queues = Queues { count: 0, map: None, slopes: BTreeMap::new() };
        let mut first = None;
        for port in &node.ports {
            let path = format!("{}.eth[{port}].macLayer.queue", node.name);
            let Some((count, place)) = self.plant.value(&format!("{path}.numTrafficClasses"))
            else {
                continue;
            };
            let count = count.ok().and_then(|count| count.whole(8)).filter(|count| *count > 0);
            match (count, first) {
                (Some(count), None) => {
                    first = Some(count);
                    queues.count = count;
                }
                (Some(count), Some(first)) if count == first => {}
                _ => {
                    let what = format!(
                        "ports of {} with other numbers of queues, or none",
                        quote(&node.name)
                    );
                    notes.find(place, Code::BadValue, what);
                }
            }
        }
        queues.count = first.unwrap_or(8);
        for port in &node.ports {
            let path = format!("{}.eth[{port}].macLayer.queue", node.name);
            queues.map = queues.map.take().or_else(|| self.map(&path, queues.count));
            let slopes: Vec<u64> =
                (0..queues.count).map(|class| self.slope(&path, class, notes)).collect();
            if slopes.iter().any(|own| *own > 0) {
                queues.slopes.insert(*port, slopes);
            }
        }
        queues
    }

    /// Returns the queue of each priority, if it is stated.
    fn map(&self, path: &str, count: usize) -> Option<Vec<usize>> {
        let (rows, _) = self.plant.value(&format!("{path}.classifier.mapping"))?;
        let rows = rows.ok()?;
        let rows = rows.list().iter();
        let map: Vec<usize> =
            rows.filter_map(|row| row.list().get(count - 1)?.whole(count - 1)).collect();
        (map.len() == 8).then_some(map)
    }

    /// Returns the idle slope of a queue, 0 without a shaper.
    fn slope(&self, path: &str, class: usize, notes: &mut Notes<'_>) -> u64 {
        let own = format!("{path}.transmissionSelectionAlgorithm[{class}]");
        let Some((Ok(Value::Text(typename)), place)) = self.plant.value(&format!("{own}.typename"))
        else {
            return 0;
        };
        if typename.is_empty() {
            return 0;
        }
        let slope = self.plant.value(&format!("{own}.idleSlope"));
        let slope = slope.and_then(|(value, _)| value.ok()?.number());
        let slope = slope.filter(|own| own.unit == Unit::Rate && own.is_fixed());
        match slope.and_then(|own| rate(own.mean)) {
            Some(slope) if typename == "Ieee8021qCreditBasedShaper" => slope,
            _ => {
                let what = format!(
                    "shapers of the type {} are read with a fixed slope, if they are Ieee8021qCreditBasedShaper; this one is left out",
                    quote(&typename)
                );
                notes.find(place, Code::NotRead, what);
                0
            }
        }
    }

    fn links(&mut self, notes: &mut Notes<'_>) -> Result<(), ImportError> {
        self.sheet.line("");
        self.sheet.line("links:");
        let ini = (notes.files.len() - 1, 1);
        for (number, link) in self.once().into_iter().enumerate() {
            let (rate, why) = self.rate(link, notes)?;
            let wrong = || {
                let ends = link.ends.map(|(node, _)| quote(&self.plant.nodes[node].name));
                let what = format!("the link of {} and {} has {rate} bit/s", ends[0], ends[1]);
                notes.wrong(ini, what, "give it a rate of Ethernet")
            };
            let bits_rate = self::rate(rate).filter(|own| RATES.contains(own)).ok_or_else(wrong)?;
            let ends = link.ends.map(|(node, port)| {
                let name = self.name(node);
                match self.plant.nodes[node].sort() {
                    Sort::Switch => scalar(&format!("{name}:{}", port + 1)),
                    Sort::Station | Sort::Other => scalar(name),
                }
            });
            let wire = match link.delay {
                Duration::ZERO => String::new(),
                delay => format!(", propagation: {}", time(delay)),
            };
            let line = format!(
                "  - {{ ends: [{}, {}], rate: {}{wire} }}",
                ends[0],
                ends[1],
                bits(bits_rate)
            );
            let reasons: Vec<&str> = why.into_iter().chain(link.assumed).collect();
            if reasons.is_empty() {
                self.sheet.line(&line);
            } else {
                let key = format!("links.{number}");
                self.sheet.assumed(&line, &key, &reasons.join(", "));
            }
        }
        let used = self.plant.links.iter();
        let used = used.filter(|link| link.ends.iter().all(|(node, _)| self.is_used(*node)));
        let more = used.count() - self.once().len();
        if more > 0 {
            let what =
                format!("{more} links join nodes that others have joined; they are left out");
            notes.find(ini, Code::UnusedCable, what);
        }
        Ok(())
    }

    /// Returns the rate of a link, and why it is assumed.
    fn rate(
        &self,
        link: &Link,
        notes: &mut Notes<'_>,
    ) -> Result<(f64, Option<&'static str>), ImportError> {
        let mut found: Option<f64> = None;
        for (node, port) in link.ends {
            let name = &self.plant.nodes[node].name;
            let path = format!("{name}.eth[{port}].bitrate");
            let Some((value, place)) = self.plant.value(&path) else {
                continue;
            };
            let wrong = |what: String| {
                let what = format!("{}: {what}", quote(&path));
                notes.wrong(place, what, "write a rate there, such as 100Mbps")
            };
            let value = value.map_err(wrong)?;
            let own = value.number().filter(|own| own.unit == Unit::Rate && own.is_fixed());
            let own = own.ok_or_else(|| wrong("it is no rate".into()))?.mean;
            match found {
                Some(other) if (other - own).abs() > 0.5 => {
                    let what = format!(
                        "both ends of a link at {} have other rates; the lower one is taken",
                        quote(name)
                    );
                    notes.find(place, Code::BadValue, what);
                    found = Some(other.min(own));
                }
                // No rate is that of the channel.
                _ if own == 0.0 => {}
                _ => found = Some(own),
            }
        }
        Ok(match found.or(link.rate) {
            Some(rate) => (rate, None),
            None => (USUAL_RATE, Some("no rate is stated")),
        })
    }

    fn flows(&mut self, flows: &[Flow], ways: Option<&Neighbors>) {
        self.sheet.line("");
        self.sheet.line("flows:");
        // A name of several stations says less than one with its station.
        let mut count: BTreeMap<&str, usize> = BTreeMap::new();
        for name in flows.iter().filter_map(|flow| flow.name.as_deref()) {
            *count.entry(name).or_default() += 1;
        }
        let mut names = Names::default();
        for flow in flows {
            let wanted = match flow.name.as_deref() {
                Some(name) if count.get(name) == Some(&1) => name.to_owned(),
                Some(name) => format!("{} {name}", self.name(flow.from)),
                None => flow.place.clone(),
            };
            let name = names.take(&wanted);
            self.flow(flow, &name, ways);
        }
    }

    fn flow(&mut self, flow: &Flow, name: &str, ways: Option<&Neighbors>) {
        let key = |key: &str| format!("flows.{name}.{key}");
        self.sheet.line(&format!("  - name: {}", scalar(name)));
        let from = scalar(self.name(flow.from));
        self.sheet.line(&format!("    from: {from}"));
        let to: Vec<String> = flow.to.iter().map(|to| scalar(self.name(*to))).collect();
        self.sheet.line(&format!("    to: [{}]", to.join(", ")));
        if let Some(neighbors) = ways {
            let ways = flow.to.iter();
            let ways = ways.filter_map(|to| way(neighbors, self.name(flow.from), self.name(*to)));
            let ways = ways.map(|way| {
                let nodes: Vec<String> = way.iter().map(|node| scalar(node)).collect();
                format!("[{}]", nodes.join(", "))
            });
            let ways: Vec<String> = ways.collect();
            let ways = match ways.as_slice() {
                [one] => one.clone(),
                ways => format!("[{}]", ways.join(", ")),
            };
            let line = format!("    route: {ways}");
            self.sheet.assumed(&line, &key("route"), "the shortest way");
        }
        if flow.is_raw {
            self.sheet.line("    over: raw");
        }
        self.times(flow, name);
        let line = format!("    size: {} B", flow.size);
        if flow.is_size_random {
            let why = "the most that it draws";
            self.sheet.assumed(&line, &key("size"), why);
        } else {
            self.sheet.line(&line);
        }
        let numbers = [
            ("pcp", flow.pcp),
            ("vlan", flow.vlan.filter(|vlan| *vlan > 0)),
            ("dscp", Some(flow.dscp).filter(|dscp| *dscp > 0 && !flow.is_raw)),
        ];
        for (key, number) in numbers {
            if let Some(number) = number {
                self.sheet.line(&format!("    {key}: {number}"));
            }
        }
        if let Some((deadline, source)) = self.deadline(flow) {
            let line = format!("    deadline: {}", time(deadline));
            self.sheet.explained(&line, source);
        }
    }

    /// Returns the deadline of a flow and where it is stated.
    fn deadline(&self, flow: &Flow) -> Option<(Duration, &'static str)> {
        let (class, source) = match flow.times {
            Times::Periodic(_) => (Class::Periodic, "--deadline periodic"),
            Times::Random { .. } => (Class::Sporadic, "--deadline sporadic"),
        };
        let stated = self.options.deadline(class);
        if stated.is_stated {
            return stated.time.map(|time| (time, source));
        }
        flow.deadline.map(|time| (time, "maxLatency"))
    }

    /// Writes when a flow sends.
    fn times(&mut self, flow: &Flow, name: &str) {
        let key = |key: &str| format!("flows.{name}.{key}");
        let why = "drawn in another way by INET; distributed exponentially here";
        let start = |begin: Begin| match begin {
            Begin::At(start) | Begin::Within { start, .. } => start,
        };
        let mut start = start(flow.begin);
        match flow.times {
            Times::Periodic(period) => {
                self.sheet.line(&format!("    period: {}", time(period)));
                match flow.begin {
                    Begin::At(own) => {
                        self.sheet.line(&format!("    phase: {}", time(own)));
                        start = Duration::ZERO;
                    }
                    Begin::Within { is_guess: true, .. } => {
                        let why = "drawn in another way by INET";
                        self.sheet.assumed("    phase: random", &key("phase"), why);
                    }
                    Begin::Within { .. } => {}
                }
            }
            Times::Random { least: Duration::ZERO, mean, is_guess } => {
                self.sheet.line("    kind: poisson");
                let line = format!("    mean_gap: {}", time(mean));
                if is_guess {
                    self.sheet.assumed(&line, &key("mean_gap"), why);
                } else {
                    self.sheet.line(&line);
                }
            }
            Times::Random { least, mean, is_guess } => {
                self.sheet.line(&format!("    min_gap: {}", time(least)));
                let line = format!("    mean_gap: {}", time(mean));
                if is_guess {
                    self.sheet.assumed(&line, &key("mean_gap"), why);
                } else {
                    self.sheet.line(&line);
                }
            }
        }
        if start > Duration::ZERO {
            self.sheet.line(&format!("    start: {}", time(start)));
        }
        if let Some(stop) = flow.stop {
            self.sheet.line(&format!("    stop: {}", time(stop)));
        }
    }

    /// Writes how long to simulate: what the file states, if that is not too much.
    fn run(&mut self, flows: &[Flow], limit: Option<&str>, notes: &mut Notes<'_>) {
        let mean = |flow: &Flow| match flow.times {
            Times::Periodic(period) => period.as_ps(),
            Times::Random { mean, .. } => mean.as_ps(),
        };
        #[allow(clippy::cast_precision_loss, reason = "up to a day, and an estimate")]
        let means = || flows.iter().map(|flow| mean(flow).max(1) as f64);
        let rate: f64 = means().map(f64::recip).sum();
        let most = (MESSAGES / rate).clamp(1e6, 86_400e12);
        let stated = limit.and_then(|text| {
            let words = tokens(text).ok()?;
            let value = super::value::fixed(&words, text)?;
            duration(Some(value).filter(|own: &Number| own.unit == Unit::Time)?.mean)
        });
        if limit.is_some() && stated.is_none() {
            let place = (notes.files.len() - 1, 1);
            notes.find(place, Code::BadValue, "`sim-time-limit` is no time up to a day".into());
        }
        self.sheet.line("");
        let usual = means().fold(0.0, f64::max) * 10.0;
        let longest = duration(most.floor()).unwrap_or(Duration::from_ms(1));
        match stated {
            Some(stated) if stated <= longest => {
                self.sheet.line(&format!("run: {{ for: {} }}", time(stated)));
            }
            _ => {
                let why = if stated.is_some() {
                    "less than `sim-time-limit`, for a quick check"
                } else {
                    "several periods of every flow"
                };
                let span = duration(usual.max(1e10)).map_or(longest, |usual| usual.min(longest));
                let span = if stated.is_some() { longest } else { span };
                // Whole microseconds read better.
                let span = Duration::from_us(span.as_ps().div_euclid(1_000_000).max(1));
                let line = format!("run: {{ for: {} }}", time(span));
                self.sheet.assumed(&line, "run.for", why);
            }
        }
    }
}

/// Returns a rate of whole bits in a second.
#[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "it is within limits")]
fn rate(value: f64) -> Option<u64> {
    let value = value.round();
    (0.0..=1e15).contains(&value).then_some(value as u64)
}

/// Returns a rate as a scenario has it.
fn bits(rate: u64) -> String {
    let units = [(1_000_000_000, "Gbit/s"), (1_000_000, "Mbit/s")];
    let whole = units.into_iter().find(|(unit, _)| rate > 0 && rate.is_multiple_of(*unit));
    match whole {
        // Whole bits are exact at any rate.
        None => format!("{rate} bit/s"),
        Some((unit, word)) => format!("{} {word}", rate / unit),
    }
}
