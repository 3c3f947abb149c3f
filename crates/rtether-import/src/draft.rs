//! The draft of a plant: every importer fills one, and here alone it becomes the text of a scenario.
//!
//! An importer says what stations, switches, links and flows there are, and of each value on what
//! basis it stands. Sections are in the order of [`PlantDraft`], and values in the order in which
//! the importer gives them, which is that of its source. What is said of no value by itself fits one
//! line. Importers name nodes by [`Names`](crate::sheet::Names), since links and flows refer to
//! these; flows are named here.

use std::collections::BTreeSet;
use std::fmt::{self, Display, Formatter};

use rtether_model::quantity::Duration;

pub(crate) use crate::basis::{Basis, Value};
use crate::options::{Class, Options};
use crate::plan::{Assumption, Identified};
use crate::sheet::{Names, Sheet, rate, scalar, thousandths, time};
use crate::text::plain;

/// Longest description that a scenario takes.
const DESCRIPTION: usize = 190;

/// What a plant is thought to be.
#[derive(Debug)]
pub(crate) struct PlantDraft {
    /// Lines of the first comment.
    pub(crate) head: Vec<String>,
    pub(crate) title: String,
    pub(crate) stacks: Vec<Draft>,
    pub(crate) stations: Vec<Draft>,
    /// Stations that are left out, since no flow begins or ends there.
    pub(crate) idle: Vec<String>,
    pub(crate) switches: Vec<Draft>,
    pub(crate) links: Vec<LinkDraft>,
    pub(crate) flows: Vec<Draft>,
    /// How long to simulate.
    pub(crate) run: Value<Duration>,
    /// Whether flows have deadlines; `None` if nothing is required of any.
    pub(crate) has_deadlines: Option<bool>,
}

/// A link between two nodes, each with its port if it is a switch.
#[derive(Debug)]
pub(crate) struct LinkDraft {
    pub(crate) ends: [String; 2],
    /// Megabits per second.
    pub(crate) megabits: u64,
    pub(crate) propagation: Duration,
    pub(crate) is_standby: bool,
    pub(crate) basis: Basis,
}

/// A stack, station, switch or flow.
#[derive(Debug)]
pub(crate) struct Draft {
    name: String,
    /// Of all values together.
    basis: Basis,
    values: Vec<(&'static str, Value<Text>)>,
}

/// What a value is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Text {
    Word(&'static str),
    Name(String),
    Names(Vec<String>),
    /// The nodes on each way of a flow.
    Ways(Vec<Vec<String>>),
    Number(u64),
    Count(usize),
    Numbers(Vec<usize>),
    Octets(u64),
    Time(Duration),
    /// A time that is somewhere between two.
    Between(Duration, Duration),
    /// Thousandths of packets in a second.
    Often(u64),
    /// Bits in a second.
    Bits(u64),
    /// Rates of queues, in bits in a second.
    Slopes(Vec<u64>),
    /// The same of ports that differ.
    Shapers(Vec<(usize, Vec<u64>)>),
}

impl PlantDraft {
    /// Returns the text of the scenario, what was assumed, and what became of profiles.
    pub(crate) fn write(mut self, options: &Options) -> (String, Vec<Assumption>, Identified) {
        let identified = self.identify(options);
        let mut sheet = Sheet::default();
        for line in &self.head {
            sheet.line(&format!("# {line}"));
        }
        sheet.line("rtether: 1");
        sheet.line(&format!("name: {}", scalar(&self.title)));
        section(&mut sheet, "stacks", &self.stacks);
        section(&mut sheet, "nodes", &self.stations);
        for name in &self.idle {
            let name = plain(name, 80);
            sheet.line(&format!("  # left out, since no flow begins or ends there: {name}"));
        }
        section(&mut sheet, "switches", &self.switches);
        self.write_links(&mut sheet);
        self.write_flows(&mut sheet);
        let run = time(self.run.value);
        sheet.line("");
        sheet.noted(&format!("run: {{ for: {run} }}"), &run, "run.for", &self.run.basis);
        if let Some(has_deadlines) = self.has_deadlines {
            let deadline = if has_deadlines { " sim: deadline," } else { "" };
            sheet.line("");
            sheet.line("accept:");
            sheet.line(&format!("  - {{ flow: \"*\",{deadline} lost: 0 }}"));
        }
        let (text, assumptions) = sheet.done();
        (text, assumptions, identified)
    }

    /// Gives stations the stacks of their profiles, and leaves out the stacks that nobody has then.
    fn identify(&mut self, options: &Options) -> Identified {
        let mut found = Identified::default();
        for profile in options.profiles() {
            let of = self.stations.iter_mut().filter(|own| profile.is_of(&own.name));
            let before = found.stations.len();
            for station in of {
                let values = station.values.iter_mut().find(|(key, _)| *key == "stack");
                let Some((_, value)) = values else { continue };
                if matches!(value.basis, Basis::Assumed(_)) {
                    found.ended.push(format!("nodes.{}.stack", station.name));
                }
                *value = Value { value: Text::Name(profile.file.clone()), basis: Basis::Stated };
                found.stations.push(station.name.clone());
            }
            if found.stations.len() == before {
                found.unknown.push(profile.station.clone());
            }
        }
        if !found.stations.is_empty() {
            self.leave_out_idle_stacks(&mut found);
        }
        found
    }

    fn leave_out_idle_stacks(&mut self, found: &mut Identified) {
        let values = self.stations.iter().flat_map(|own| &own.values);
        let names = values.filter(|(key, _)| *key == "stack").map(|(_, own)| own.value.to_string());
        let used: BTreeSet<String> = names.collect();
        self.stacks.retain(|stack| {
            let is_used = used.contains(&scalar(&stack.name));
            if !is_used {
                found.ended.extend(stack.assumed("stacks"));
            }
            is_used
        });
    }

    fn write_links(&self, sheet: &mut Sheet) {
        if self.links.is_empty() {
            return;
        }
        sheet.line("");
        sheet.line("links:");
        for (number, link) in self.links.iter().enumerate() {
            let [one, other] = link.ends.each_ref().map(|end| scalar(end));
            let propagation = match link.propagation {
                Duration::ZERO => String::new(),
                span => format!(", propagation: {}", time(span)),
            };
            let standby = if link.is_standby { ", standby: true" } else { "" };
            let rate = rate(link.megabits * 1_000_000);
            let text = format!("{{ ends: [{one}, {other}], rate: {rate}{propagation}{standby} }}");
            let path = format!("links.{number}");
            sheet.noted(&format!("  - {text}"), &text, &path, &link.basis);
        }
    }

    fn write_flows(&self, sheet: &mut Sheet) {
        sheet.line("");
        sheet.line("flows:");
        let mut names = Names::default();
        for flow in &self.flows {
            let name = names.take(&flow.name);
            sheet.line(&format!("  - name: {}", scalar(&name)));
            flow.write_values(sheet, &format!("flows.{name}"));
        }
    }
}

/// Returns the first comment: what a plan is from, and what is not said there.
pub(crate) fn head(from: &str, silent: &str) -> Vec<String> {
    vec![
        format!("From {from} by `rtether import`."),
        format!("What {silent} is marked `assumed`: check these lines first."),
    ]
}

/// Writes stacks, stations or switches, if there are some.
pub(crate) fn section(sheet: &mut Sheet, key: &str, drafts: &[Draft]) {
    if drafts.is_empty() {
        return;
    }
    sheet.line("");
    sheet.line(&format!("{key}:"));
    for draft in drafts {
        let path = format!("{key}.{}", draft.name);
        let name = scalar(&draft.name);
        if draft.values.iter().all(|(_, value)| value.basis == Basis::Stated) {
            let values = draft.values.iter().map(|(key, value)| format!("{key}: {}", value.value));
            let text = format!("{{ {} }}", values.collect::<Vec<String>>().join(", "));
            sheet.noted(&format!("  {name}: {text}"), &text, &path, &draft.basis);
        } else {
            sheet.noted(&format!("  {name}:"), "", &path, &draft.basis);
            draft.write_values(sheet, &path);
        }
    }
}

impl Draft {
    pub(crate) fn new(name: &str) -> Self {
        Self::with(name, Basis::Stated)
    }

    /// Begins a draft with what is said of it as a whole.
    pub(crate) fn with(name: &str, basis: Basis) -> Self {
        Self { name: name.to_owned(), basis, values: Vec::new() }
    }

    /// Returns the paths of what is assumed of it.
    fn assumed(&self, section: &str) -> Vec<String> {
        let path = format!("{section}.{}", self.name);
        let values = self.values.iter().filter(|(_, own)| matches!(own.basis, Basis::Assumed(_)));
        let values = values.map(|(key, _)| format!("{path}.{key}"));
        let is_whole = matches!(self.basis, Basis::Assumed(_));
        is_whole.then(|| path.clone()).into_iter().chain(values).collect()
    }

    /// Begins a station with its stack.
    pub(crate) fn station(name: &str, stack: String, basis: Basis) -> Self {
        let mut station = Self::with(name, basis);
        station.state("stack", Text::Name(stack));
        station
    }

    /// Begins a flow that a person has described.
    pub(crate) fn described(name: &str, class: Class, description: &str) -> Self {
        let mut flow = Self::new(name);
        flow.state("class", Text::Word(class.name()));
        flow.state("description", Text::Name(plain(description, DESCRIPTION)));
        flow
    }

    /// Gives a value that the file states.
    pub(crate) fn state(&mut self, key: &'static str, text: impl Into<Text>) {
        self.give(key, text, Basis::Stated);
    }

    /// Gives a value, and what in the file it is from.
    pub(crate) fn explain(&mut self, key: &'static str, text: impl Into<Text>, from: &str) {
        self.give(key, text, Basis::Follows(from.to_owned()));
    }

    /// Gives a value that the file does not state.
    pub(crate) fn assume(&mut self, key: &'static str, text: impl Into<Text>, why: &str) {
        self.give(key, text, Basis::Assumed(why.to_owned()));
    }

    pub(crate) fn give(&mut self, key: &'static str, text: impl Into<Text>, basis: Basis) {
        self.values.push((key, Value { value: text.into(), basis }));
    }

    /// Gives the values that there are.
    pub(crate) fn state_all<T: Into<Text>, const N: usize>(
        &mut self,
        values: [(&'static str, Option<T>); N],
    ) {
        for (key, value) in values {
            if let Some(value) = value {
                self.state(key, value);
            }
        }
    }

    /// Gives what is assumed of a switch of which the file says nothing but that it is there.
    pub(crate) fn assume_usual(&mut self) {
        let latency = Text::Between(Duration::from_us(1), Duration::from_us(10));
        self.assume("latency", latency, "store and forward, time of the switch itself");
        self.assume("queues", 8_usize, "one queue for each priority, highest first");
    }

    /// Places the first release of a slow flow within the run; `number` spreads them.
    pub(crate) fn spread(&mut self, period: Duration, run: Duration, number: usize) {
        if period.as_ps() <= run.as_ps() / 2 {
            return;
        }
        // Spread over the first half of the run by a step prime to it.
        let step = i64::try_from(number % 97).unwrap_or(0) * 37 % 97;
        let phase = Duration::from_ps(run.as_ps() / 200 * step);
        self.assume("phase", phase, "within the run, which is short");
    }

    fn write_values(&self, sheet: &mut Sheet, path: &str) {
        for (key, Value { value, basis }) in &self.values {
            let text = value.to_string();
            // What has lines of its own begins behind this one.
            let gap = if text.starts_with('\n') { "" } else { " " };
            sheet.noted(&format!("    {key}:{gap}{text}"), &text, &format!("{path}.{key}"), basis);
        }
    }
}

impl From<Duration> for Text {
    fn from(span: Duration) -> Self {
        Self::Time(span)
    }
}

impl From<u64> for Text {
    fn from(number: u64) -> Self {
        Self::Number(number)
    }
}

impl From<usize> for Text {
    fn from(count: usize) -> Self {
        Self::Count(count)
    }
}

impl From<&'static str> for Text {
    fn from(word: &'static str) -> Self {
        Self::Word(word)
    }
}

impl Display for Text {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        match self {
            Self::Word(word) => f.write_str(word),
            Self::Name(name) => f.write_str(&scalar(name)),
            Self::Names(names) => list(names, |name| scalar(name)).fmt(f),
            Self::Ways(ways) => match ways.as_slice() {
                [way] => list(way, |node| scalar(node)).fmt(f),
                ways => list(ways, |way| list(way, |node| scalar(node))).fmt(f),
            },
            Self::Number(number) => number.fmt(f),
            Self::Count(count) => count.fmt(f),
            Self::Numbers(numbers) => list(numbers, usize::to_string).fmt(f),
            Self::Octets(octets) => write!(f, "{octets} B"),
            Self::Time(span) => time(*span).fmt(f),
            Self::Between(least, most) => {
                write!(f, "{{ unknown: {} .. {} }}", time(*least), time(*most))
            }
            Self::Often(rate) => write!(f, "{} /s", thousandths(*rate)),
            Self::Bits(rate) => write!(f, "{rate} bit/s"),
            Self::Slopes(slopes) => list(slopes, |slope| rate(*slope)).fmt(f),
            Self::Shapers(ports) => ports.iter().try_for_each(|(port, slopes)| {
                let slopes = list(slopes, |slope| rate(*slope));
                write!(f, "\n      {port}: {{ selection: cbs, idle_slopes: {slopes} }}")
            }),
        }
    }
}

fn list<T>(items: &[T], text: impl Fn(&T) -> String) -> String {
    format!("[{}]", items.iter().map(text).collect::<Vec<String>>().join(", "))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Oracle: the language of scenarios, by hand. What is said of no value alone fits one line.
    #[test]
    fn a_draft_becomes_a_scenario() {
        let mut relay = Draft::new("relay");
        relay.state("ports", 2_usize);
        relay.assume("latency", Duration::from_us(1), "usual");
        let mut flow = Draft::new("trip");
        flow.state("from", Text::Name("no".into()));
        flow.explain("to", Text::Names(vec!["b".into(), "1".into()]), "list");
        let draft = PlantDraft {
            head: head("a.csv", "the list does not say"),
            title: "a".into(),
            stacks: Vec::new(),
            stations: vec![Draft::station("b", "zero".into(), Basis::Assumed("unnamed".into()))],
            idle: vec!["c".into()],
            switches: vec![relay],
            links: vec![LinkDraft {
                ends: ["b".into(), "relay:1".into()],
                megabits: 2_500,
                propagation: Duration::from_ns(50),
                is_standby: true,
                basis: Basis::Stated,
            }],
            flows: vec![flow],
            run: Value::stated(Duration::from_ms(10)),
            has_deadlines: Some(true),
        };
        let (text, assumptions, _) = draft.write(&Options::new());
        let lines: Vec<&str> = text.lines().filter(|line| !line.is_empty()).collect();
        let expected = "\
# From a.csv by `rtether import`.
# What the list does not say is marked `assumed`: check these lines first.
rtether: 1
name: a
nodes:
  b: { stack: zero }                        # assumed: unnamed
  # left out, since no flow begins or ends there: c
switches:
  relay:
    ports: 2
    latency: 1 us                           # assumed: usual
links:
  - { ends: [b, \"relay:1\"], rate: 2500 Mbit/s, propagation: 50 ns, standby: true }
flows:
  - name: trip
    from: \"no\"
    to: [b, \"1\"]                            # list
run: { for: 10 ms }
accept:
  - { flow: \"*\", sim: deadline, lost: 0 }
# An assumption ends when its value is written, here or in a file of yours.
assumed:
  \"nodes.b\": { is: { stack: zero }, why: \"unnamed\" }
  \"switches.relay.latency\": { is: 1 us, why: \"usual\" }";
        assert_eq!(lines.join("\n"), expected);
        let places: Vec<_> = assumptions.iter().map(|own| (own.line, own.key.as_str())).collect();
        assert_eq!(places, [(7, "nodes.b"), (13, "switches.relay.latency")]);
    }

    /// Oracle: the forms of values in the reference of scenarios.
    #[test]
    fn values_have_the_forms_of_scenarios() {
        let way = |nodes: [&str; 2]| nodes.map(str::to_owned).to_vec();
        for (text, expected) in [
            (Text::Ways(vec![way(["a", "b"])]), "[a, b]"),
            (Text::Ways(vec![way(["a", "b"]), way(["a", "c"])]), "[[a, b], [a, c]]"),
            (Text::Numbers(vec![0, 1]), "[0, 1]"),
            (Text::Octets(64), "64 B"),
            (
                Text::Between(Duration::from_us(1), Duration::from_ms(1)),
                "{ unknown: 1 us .. 1 ms }",
            ),
            (Text::Often(16_700), "16.7 /s"),
            (Text::Bits(1_000_000), "1000000 bit/s"),
            (Text::Slopes(vec![0, 20_000_000]), "[0 bit/s, 20 Mbit/s]"),
            (
                Text::Shapers(vec![(2, vec![5])]),
                "\n      2: { selection: cbs, idle_slopes: [5 bit/s] }",
            ),
        ] {
            assert_eq!(text.to_string(), expected);
        }
    }
}
