//! Single failures against plants in which the element is really absent: written without it, and
//! loaded as users load theirs.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write;

use rtether::Checked;
use rtether::check::{self, check};
use rtether::fail::{self, Element, Failures, Question, Row, Which};
use rtether::run::Progress;
use rtether::scenario::{Override, Scenario, load, load_with};
use rtether::verdict::{Conclusion, Standing, Verdict};
use rtether_model::flow::{Bulk, Flow, Phase, Traffic};
use rtether_model::network::{NodeKind, PortId, Stack};
use rtether_model::quantity::Duration;

fn read(text: &str) -> Scenario {
    let loaded = load("test.yaml", text).into_scenario();
    loaded.unwrap_or_else(|words| panic!("{words}\n{text}"))
}

fn judge(scenario: &Scenario, which: Which, recovery: Option<Duration>) -> Failures {
    let question = Question { which, recovery };
    fail::judge(scenario, question, &Progress::default()).unwrap()
}

/// Flow and listener.
type Stream = (String, String);

/// What a check says of a stream.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Said {
    verdict: Verdict,
    standing: Standing,
    margin: Option<Duration>,
    bound: Option<Duration>,
    max: Option<Duration>,
}

fn said(checked: &Checked) -> BTreeMap<Stream, Said> {
    let said = checked.streams().map(|stream| {
        let listener = checked.node_name(stream.record.listener_id());
        let said = Said {
            verdict: stream.verdict(),
            standing: stream.standing(),
            margin: stream.assessment.margin,
            bound: stream.bound,
            max: stream.max(),
        };
        ((stream.flow.name.clone(), listener.to_owned()), said)
    });
    said.collect()
}

fn streams(failures: &Failures, some: &[usize]) -> BTreeSet<Stream> {
    let names = some.iter().map(|&one| &failures.streams[one]);
    names.map(|name| (name.flow.clone(), name.listener.clone())).collect()
}

/// Compares a row with the check of a plant that was written without the element.
fn compare(failures: &Failures, row: &Row, absent: &Scenario) -> BTreeMap<Stream, Said> {
    let what = row.name();
    let checked =
        (!absent.flows.is_empty()).then(|| check(absent, check::Options::default()).unwrap());
    let after = checked.as_ref().map(said).unwrap_or_default();
    let before: BTreeSet<Stream> =
        streams(failures, &(0..failures.streams.len()).collect::<Vec<_>>());
    let kept: BTreeSet<Stream> = after.keys().cloned().collect();
    let cut_off: BTreeSet<Stream> = before.difference(&kept).cloned().collect();
    assert_eq!(streams(failures, &row.cut_off), cut_off, "{what}");
    let count = |verdict| after.values().filter(|said| said.verdict == verdict).count();
    assert_eq!(row.late, count(Verdict::Late), "{what}");
    assert_eq!(row.lost, count(Verdict::Lost), "{what}");
    let worst = row.worst.unwrap();
    let name = streams(failures, &[worst.stream]).pop_first().unwrap();
    if cut_off.is_empty() {
        let least = after.values().filter_map(|said| said.margin);
        assert_eq!(worst.margin, after[&name].margin, "{what}");
        assert_eq!(worst.standing, Some(after[&name].standing), "{what}");
        assert!(worst.margin.is_none() || worst.margin >= least.min(), "{what}");
        assert_eq!(row.conclusion, checked.unwrap().conclusion, "{what}");
    } else {
        assert!(cut_off.contains(&name), "{what}");
        assert_eq!(row.conclusion, Conclusion::Failed, "{what}");
    }
    after
}

/// Compares the counts of a row that are relative to the plant without a failure.
fn compare_with_whole(
    failures: &Failures,
    row: &Row,
    before: &BTreeMap<Stream, Said>,
    after: &BTreeMap<Stream, Said>,
) {
    let is_proved = |said: &Said| said.standing == Standing::Proved;
    let lost = after.iter().filter(|(name, said)| is_proved(&before[*name]) && !is_proved(said));
    let unproved: BTreeSet<Stream> = lost.map(|(name, _)| name.clone()).collect();
    assert_eq!(streams(failures, &row.unproved), unproved, "{}", row.name());
    let is_worse = |name: &Stream, said: &Said| {
        let (old, new) = (before[name], *said);
        let least = |span: Option<Duration>| span.unwrap_or(Duration::MAX);
        let margins = old.margin.zip(new.margin);
        let figures = |said: Said| (!is_proved(&said), least(said.bound), least(said.max));
        let is_failing = |said: Said| !matches!(said.verdict, Verdict::Ok | Verdict::Unjudged);
        match (is_failing(old), is_failing(new)) {
            (false, true) => true,
            (true, false) => false,
            _ if margins.is_some_and(|(old, new)| old != new) => {
                margins.unwrap().0 > margins.unwrap().1
            }
            _ => figures(new) > figures(old),
        }
    };
    let worse = after.iter().filter(|(name, said)| is_worse(name, said));
    assert_eq!(row.worse, worse.count(), "{}", row.name());
}

/// A ring of switches with one station each. The link from the last switch to the first is on
/// standby. Each station sends to the next one, asks the first one, and the first sends to all even
/// ones at once.
struct Ring {
    switches: usize,
    /// Index of an absent ring link, station link or switch.
    without: Option<(char, usize)>,
}

impl Ring {
    fn is_absent(&self, kind: char, index: usize) -> bool {
        self.without == Some((kind, index))
    }

    /// Whether a station has a way to its switch.
    fn has(&self, station: usize) -> bool {
        !self.is_absent('d', station) && !self.is_absent('s', station)
    }

    fn text(&self) -> String {
        let n = self.switches;
        let mut text = "rtether: 1\nname: ring\nnodes:\n".to_owned();
        for i in 1..=n {
            _ = writeln!(text, "  d{i}: {{ stack: {{ rate: 50000 packets/s }} }}");
        }
        text += "switches:\n";
        for i in (1..=n).filter(|&i| !self.is_absent('s', i)) {
            _ = writeln!(text, "  s{i}: {{ ports: 4, latency: 5 us }}");
        }
        text += "links:\n";
        // By hand: the ring stays closed only if what is absent is at its open end.
        let is_closed = match self.without {
            Some(('r', _)) => true,
            Some(('s', i)) => i != 1 && i != n,
            _ => false,
        };
        for i in 1..=n {
            let next = i % n + 1;
            let is_gone =
                self.is_absent('r', i) || self.is_absent('s', i) || self.is_absent('s', next);
            let standby = if i == n && !is_closed { ", standby: true" } else { "" };
            if !is_gone {
                _ = writeln!(
                    text,
                    "  - {{ ends: [\"s{i}:1\", \"s{next}:2\"], rate: 100 Mbit/s{standby} }}"
                );
            }
        }
        for i in (1..=n).filter(|&i| self.has(i)) {
            _ = writeln!(text, "  - {{ ends: [d{i}, \"s{i}:3\"], rate: 100 Mbit/s }}");
        }
        text += "flows:\n";
        self.flows(&mut text);
        text += "accept:\n  - { flow: \"*\", sim: deadline, lost: 0 }\nrun: { for: 100 ms, warmup: 10 ms }\n";
        text
    }

    fn flows(&self, text: &mut String) {
        let n = self.switches;
        for i in (1..=n).filter(|&i| self.has(i)) {
            let next = i % n + 1;
            if self.has(next) {
                _ = writeln!(
                    text,
                    "  - {{ name: next {i}, from: d{i}, to: d{next}, period: 2 ms, size: 100 B, deadline: 400 us }}"
                );
            }
            if i > 1 && self.has(1) {
                _ = writeln!(
                    text,
                    "  - {{ name: ask {i}, from: d{i}, to: d1, period: 10 ms, size: 64 B, reply: {{ size: 64 B }}, deadline: 2 ms }}"
                );
            }
        }
        let even: Vec<String> =
            (2..=n).step_by(2).filter(|&i| self.has(i)).map(|i| format!("d{i}")).collect();
        if self.has(1) {
            _ = writeln!(
                text,
                "  - {{ name: all, from: d1, to: [{}], delivery: multicast, over: goose, period: 5 ms, size: 120 B, deadline: 1 ms }}",
                even.join(", ")
            );
        }
    }
}

/// Oracle: the ring written without the element, its standby link in use where the ring is open.
#[test]
fn a_ring_of_twenty_without_each_element() {
    let n = 20;
    let ring = |without| read(&Ring { switches: n, without }.text());
    let whole = ring(None);
    let failures = judge(&whole, Which::Both, None);
    let mut absent: Vec<(char, usize)> = (1..n).map(|i| ('r', i)).collect();
    absent.extend((1..=n).map(|i| ('d', i)));
    absent.extend((1..=n).map(|i| ('s', i)));
    let elements = Element::all(&whole.network, Which::Both);
    assert_eq!((failures.planned, failures.rows.len()), (absent.len(), absent.len() + 1));
    let before = compare(&failures, &failures.rows[0], &whole);
    for ((absent, row), element) in absent.iter().zip(failures.failures()).zip(elements) {
        let plant = ring(Some(*absent));
        let after = compare(&failures, row, &plant);
        compare_with_whole(&failures, row, &before, &after);
        let damaged = fail::without(&whole, element);
        let own = check(&damaged.scenario, check::Options::default()).unwrap();
        assert_eq!(said(&own), after, "{}", row.name());
    }
    // The plant is such that all effects occur.
    let some = |is: fn(&Row) -> bool| failures.failures().iter().any(is);
    assert!(some(|row| !row.cut_off.is_empty()) && some(|row| row.late > 0));
    assert!(some(|row| !row.unproved.is_empty()) && some(|row| row.worse > row.late));
    assert!(some(|row| row.conclusion == Conclusion::Met));
    assert_eq!(failures.rows[0].conclusion, Conclusion::Met);
}

/// Writes a plant of IP-rate stations, plain switches, periodic UDP streams and files, line by line.
fn written(scenario: &Scenario) -> String {
    let network = &scenario.network;
    let name = |node| &network.node(node).name;
    let mut text = "rtether: 1\nname: written\nnodes:\n".to_owned();
    let mut switches = String::new();
    for node in &network.nodes {
        match &node.kind {
            NodeKind::EndStation(station) => {
                let Stack::IpRate { service } = station.stack else { panic!() };
                let rate = 1_000_000_000_000 / service.as_ps();
                _ = writeln!(text, "  {}: {{ stack: {{ rate: {rate} packets/s }} }}", node.name);
            }
            NodeKind::Switch(switch) => {
                let (ports, latency) = (switch.ports.len(), switch.latency.as_ps());
                _ = writeln!(
                    switches,
                    "  {}: {{ ports: {ports}, latency: {latency} ps }}",
                    node.name
                );
            }
            NodeKind::Hub(_) => panic!(),
        }
    }
    let end = |port: PortId| match network.switch(port.node) {
        Some(_) => format!("\"{}:{}\"", name(port.node), port.port + 1),
        None => name(port.node).clone(),
    };
    _ = write!(text, "switches:\n{switches}links:\n");
    for link in &network.links {
        let [a, b] = link.ends.map(end);
        _ = writeln!(text, "  - {{ ends: [{a}, {b}], rate: {} bit/s }}", link.rate.as_bps());
    }
    text += "flows:\n";
    for flow in &scenario.flows {
        let [from, to] = [flow.talker, flow.listeners[0]].map(name);
        let deadline = flow.deadline.map(|span| format!(", deadline: {} ps", span.as_ps()));
        _ = writeln!(
            text,
            "  - {{ name: \"{}\", class: \"{}\", from: {from}, to: {to}{}{} }}",
            flow.name,
            flow.class,
            traffic(flow),
            deadline.unwrap_or_default()
        );
    }
    let run = scenario.run;
    let [length, bucket] = [run.duration, run.bucket].map(Duration::as_ps);
    text + &format!(
        "run: {{ for: {length} ps, bucket: {bucket} ps }}\naccept:\n  - {{ flow: \"*\", sim: deadline, lost: 0 }}\n"
    )
}

fn traffic(flow: &Flow) -> String {
    match &flow.traffic {
        Traffic::Periodic { period, phase, .. } => {
            assert_eq!(*phase, Phase::Random);
            format!(", period: {} ps, size: {} B", period.as_ps(), flow.payload.get())
        }
        Traffic::Bulk(Bulk { transfers, tcp, .. }) => {
            let [file] = transfers.as_slice() else { panic!() };
            format!(
                ", over: tcp, start: {} ps, total: {} B, tcp: {{ window: {} B }}",
                file.start.as_ps(),
                file.size.unwrap().get(),
                tcp.window.get()
            )
        }
        Traffic::Sporadic { .. }
        | Traffic::Poisson { .. }
        | Traffic::Flood { .. }
        | Traffic::Adaptive { .. } => panic!(),
    }
}

/// The substation for a second, with one of everything in it.
fn substation() -> Scenario {
    let text = include_str!("../../../scenarios/substation.yaml");
    let changes = [
        "run.for=400ms",
        "run.warmup=0 s",
        "generate.substation.file_every=4ms",
        "generate.substation.bay_file_at=100ms",
        "generate.substation.upload_at=200ms",
        "generate.substation.file_size=100 kB",
    ];
    let changes = changes.map(|change| Override::parse(change).unwrap());
    load_with("substation.yaml", text, &changes).scenario.unwrap()
}

/// Oracle: the substation written out, without the lines of the link or switch and of the flows whose
/// only way it is on.
#[test]
fn the_substation_without_each_element() {
    let generated = substation();
    let text = written(&generated);
    let whole = read(&text);
    let failures = judge(&generated, Which::Both, None);
    let elements = Element::all(&generated.network, Which::Both);
    assert_eq!(
        elements.len(),
        132 + 11,
        "by hand: 10 bays of 12 stations and an uplink, two stations at the top"
    );
    let before = compare(&failures, &failures.rows[0], &whole);
    let checked = check(&generated, check::Options::default()).unwrap();
    assert!(said(&checked) == before, "it is not written as it is generated");
    for (row, element) in failures.failures().iter().zip(elements) {
        let absent = read(&without(&text, row.name()));
        if let Element::Link(_) = element {
            let damaged = fail::without(&whole, element).scenario;
            assert!(damaged.network == absent.network, "{}", row.name());
            assert!(damaged.flows == absent.flows, "{}", row.name());
        }
        let after = compare(&failures, row, &absent);
        compare_with_whole(&failures, row, &before, &after);
    }
}

/// Removes an element and the flows that need it, by the names: everything in a bay has its name.
fn without(text: &str, name: &str) -> String {
    let bay = |node: &str| node.split('.').next().unwrap().to_owned();
    let is_switch = |node: &str| node == "top" || node.ends_with(".switch");
    let ends: Vec<&str> = name.split(" - ").map(|end| end.split(':').next().unwrap()).collect();
    let is_lost = |from: &str, to: &str| match ends.as_slice() {
        ["top"] => bay(from) != bay(to),
        [switch] => [from, to].iter().any(|end| bay(end) == bay(switch)),
        // An uplink: its bay from the others.
        [a, b] if is_switch(a) && is_switch(b) => {
            let own = if *a == "top" { bay(b) } else { bay(a) };
            (bay(from) == own) != (bay(to) == own)
        }
        [a, b] => [from, to].iter().any(|end| end == a || end == b),
        _ => panic!(),
    };
    let value = |line: &str, key: &str| {
        let (_, rest) = line.split_once(&format!(", {key}: "))?;
        Some(rest.split([',', ' ']).next().unwrap().to_owned())
    };
    let is_kept = |line: &&str| {
        if let Some((_, rest)) = line.split_once("ends: [") {
            let (both, _) = rest.split_once(']').unwrap();
            let both = both.replace('"', "").replace(", ", " - ");
            let is_of = |end: &str| end.split(':').next().unwrap() == name;
            return both != name && !both.split(" - ").any(is_of);
        }
        if let (Some(from), Some(to)) = (value(line, "from"), value(line, "to")) {
            return !is_lost(&from, &to);
        }
        !line.starts_with(&format!("  {name}: {{ ports"))
    };
    text.lines().filter(is_kept).map(|line| line.to_owned() + "\n").collect()
}

/// Oracle: the rule, ceil(recovery / period), and the losses that `accept` allows.
#[test]
fn a_recovery_costs_packets() {
    let accept = |lines: &str| {
        let ring = Ring { switches: 4, without: None };
        let text = ring.text();
        let (head, _) = text.split_once("accept:").unwrap();
        read(&format!("{head}accept: {lines}\nrun: {{ for: 20 ms }}\n"))
    };
    let told = |scenario: &Scenario, recovery: i64| {
        let failures = judge(scenario, Which::Trunks, Some(Duration::from_us(recovery)));
        let row = failures.failures()[0].clone();
        assert_eq!(row.name(), "s1:1 - s2:2");
        let told = row.interrupted.iter();
        told.map(|one| (failures.streams[one.stream].unique.clone(), one.packets))
            .collect::<BTreeMap<String, Option<u64>>>()
    };
    let none = accept("[{ flow: \"*\", sim: deadline, lost: 0 }]");
    let all = told(&none, 11_000);
    // By hand: between 1 and all others, and to 4 no more through 2 and 3.
    let names: Vec<&str> = all.keys().map(String::as_str).collect();
    assert_eq!(names, ["all > d2", "all > d4", "ask 2", "ask 3", "ask 4", "next 1", "next 4"]);
    assert_eq!((all["next 1"], all["ask 2"], all["all > d2"]), (Some(6), Some(2), Some(3)));
    assert!(told(&none, 0).is_empty());
    // One lost packet is accepted, and the recovery is within deadlines and periods.
    let one = accept("[{ flow: \"*\", sim: deadline, lost: 1 }]");
    assert!(told(&one, 300).is_empty());
    let longer = told(&one, 500);
    assert_eq!(longer.keys().collect::<Vec<_>>(), ["next 1", "next 4"]);
}

/// Oracle: VLAN 10 is allowed on the standby link, and 20 is not.
#[test]
fn a_flow_outside_the_vlans_of_its_new_way_is_cut_off() {
    let scenario = read(
        "rtether: 1
nodes: { a: { stack: zero }, b: { stack: zero } }
switches:
  s1: { ports: 3, port_settings: { 1: { trunk: [10, 20] }, 2: { trunk: [10] }, 3: { trunk: [10, 20] } } }
  s2: { ports: 3, port_settings: { 1: { trunk: [10, 20] }, 2: { trunk: [10] }, 3: { trunk: [10, 20] } } }
links:
  - { ends: [a, \"s1:3\"], rate: 1 Gbit/s }
  - { ends: [b, \"s2:3\"], rate: 1 Gbit/s }
  - { ends: [\"s1:1\", \"s2:1\"], rate: 1 Gbit/s }
  - { ends: [\"s1:2\", \"s2:2\"], rate: 1 Gbit/s, standby: true }
flows:
  - { name: ten, from: a, to: b, period: 1 ms, size: 64 B, pcp: 4, vlan: 10 }
  - { name: twenty, from: a, to: b, period: 1 ms, size: 64 B, pcp: 4, vlan: 20 }
run: { for: 10 ms }
",
    );
    let failures = judge(&scenario, Which::Trunks, None);
    let [row] = failures.failures() else { panic!() };
    let failure = row.failure.as_ref().unwrap();
    assert_eq!(failure.activated, ["s1:2 - s2:2"]);
    assert_eq!((row.cut_off.as_slice(), row.rerouted), (&[1][..], 1));
    assert_eq!(failures.conclusion(), Conclusion::Failed);
}

/// Oracle: a run that was cancelled before it began has no row.
#[test]
fn an_interrupted_judgment_says_so() {
    let scenario = read(&Ring { switches: 3, without: None }.text());
    let progress = Progress::default();
    progress.cancel();
    let question = Question { which: Which::Links, recovery: None };
    let failures = fail::judge(&scenario, question, &progress).unwrap();
    assert!(failures.partial && failures.rows.is_empty());
    assert_eq!(failures.conclusion(), Conclusion::Interrupted);
    assert!(failures.summary().starts_with("INTERRUPTED. 0 of 5 failures judged."));
}

/// Oracle: by hand. A stated route does not move: only the links on it cut its flow off.
#[test]
fn a_flow_with_a_route_has_no_other_way() {
    let text = "rtether: 1
nodes: { a: { stack: zero }, b: { stack: zero } }
switches: { s1: { ports: 3 }, s2: { ports: 3 }, s3: { ports: 2 } }
links:
  - { ends: [a, \"s1:1\"], rate: 100 Mbit/s }
  - { ends: [b, \"s2:1\"], rate: 100 Mbit/s }
  - { ends: [\"s1:2\", \"s2:2\"], rate: 100 Mbit/s }
  - { ends: [\"s2:3\", \"s3:1\"], rate: 100 Mbit/s }
  - { ends: [\"s3:2\", \"s1:3\"], rate: 100 Mbit/s }
flows:
  - { name: long, from: a, to: b, period: 1 ms, size: 60 B, deadline: 1 ms, route: [a, s1, s3, s2, b] }
  - { name: short, from: b, to: a, period: 1 ms, size: 60 B, deadline: 1 ms, route: [b, s2, s1, a] }
run: { for: 10 ms }
";
    let failures = judge(&read(text), Which::Trunks, None);
    let cut_off = failures.rows[1..].iter().map(|row| {
        let names = streams(&failures, &row.cut_off).into_iter();
        let names: Vec<String> = names.map(|(flow, _)| flow).collect();
        (row.name(), names)
    });
    let expected = [("s1:2 - s2:2", "short"), ("s2:3 - s3:1", "long"), ("s3:2 - s1:3", "long")];
    let expected = expected.map(|(link, flow)| (link, vec![flow.to_owned()]));
    let found: Vec<(String, Vec<String>)> =
        cut_off.map(|(name, one)| (name.to_owned(), one)).collect();
    let found: Vec<(&str, Vec<String>)> =
        found.iter().map(|(name, one)| (name.as_str(), one.clone())).collect();
    assert_eq!(found, expected);
}

/// Oracle: by hand. A Poisson flow has no bound, so that its deadline is only seen to hold.
#[test]
fn what_was_only_seen_to_hold_is_not_called_proved() {
    let said = |more: &str| {
        let scenario = read(&format!(
            "rtether: 1
nodes: {{ a: {{ stack: zero }}, b: {{ stack: zero }} }}
switches: {{ s1: {{ ports: 3 }}, s2: {{ ports: 3 }} }}
links:
  - {{ ends: [a, \"s1:3\"], rate: 1 Gbit/s }}
  - {{ ends: [b, \"s2:3\"], rate: 1 Gbit/s }}
  - {{ ends: [\"s1:1\", \"s2:1\"], rate: 1 Gbit/s }}
  - {{ ends: [\"s1:2\", \"s2:2\"], rate: 1 Gbit/s, standby: true }}
flows:
  - {{ name: steady, from: a, to: b, period: 1 ms, size: 64 B, pcp: 6, deadline: 900 us }}
{more}run: {{ for: 100 ms }}
"
        ));
        let failures = judge(&scenario, Which::Trunks, None);
        assert_eq!(failures.conclusion(), Conclusion::Met);
        let [row] = failures.failures() else { panic!() };
        (failures.summary(), row.basis)
    };
    let (summary, basis) = said("");
    assert!(
        summary.starts_with("PASS. Requirements after 1 single failure: 1 proved. "),
        "{summary}"
    );
    assert_eq!((basis.proved, basis.held), (1, 0));
    let random = "  - { name: random, from: b, to: a, kind: poisson, mean_gap: 1 ms, size: 64 B, deadline: 10 ms }\n";
    let (summary, basis) = said(random);
    assert_eq!((basis.proved, basis.held), (1, 1));
    let expected = format!(
        "PASS. Requirements after 1 single failure: 1 held in {} packets (not proved). ",
        basis.packets
    );
    assert!(summary.starts_with(&expected), "{summary}");
    assert!((60..140).contains(&basis.packets), "{}", basis.packets);
}

/// Oracle: the plant without the link, read from a file in which the link on standby is in use. Ports that
/// register VLANs hear what is declared behind them after the failure.
#[test]
fn ports_register_anew_after_a_failure() {
    let text = |links: &str| {
        format!(
            "rtether: 1\nnodes: {{ a: {{ stack: zero }}, b: {{ stack: zero }} }}\nswitches:\n\
             \x20 w0: {{ ports: 3, port_settings: {{ 1-2: {{ trunk: registered }}, 3: {{ trunk: [10] }} }} }}\n\
             \x20 w1: {{ ports: 3, port_settings: {{ 1-2: {{ trunk: registered }}, 3: {{ trunk: [10] }} }} }}\n\
             \x20 w2: {{ ports: 3, port_settings: {{ 1-2: {{ trunk: registered }} }} }}\n\
             links:\n{links}\
             \x20 - {{ ends: [a, \"w0:3\"], rate: 100 Mbit/s }}\n\
             \x20 - {{ ends: [b, \"w1:3\"], rate: 100 Mbit/s }}\n\
             flows:\n\
             \x20 - {{ name: f, from: a, to: b, period: 1 ms, size: 100 B, vlan: 10, deadline: 1 ms }}\n\
             run: {{ for: 20 ms, seeds: 1 }}\n"
        )
    };
    let first = "  - { ends: [\"w0:1\", \"w1:1\"], rate: 100 Mbit/s }\n";
    let others = "  - { ends: [\"w1:2\", \"w2:1\"], rate: 100 Mbit/s }\n\
                  \x20 - { ends: [\"w2:2\", \"w0:2\"], rate: 100 Mbit/s, standby: true }\n";
    let failures = judge(&read(&text(&[first, others].concat())), Which::Trunks, None);
    let absent = read(&text(&others.replace(", standby: true", "")));
    let row = &failures.rows[1];
    assert_eq!(row.name(), "w0:1 - w1:1");
    let after = compare(&failures, row, &absent);
    assert_eq!(after.len(), 1);
}
