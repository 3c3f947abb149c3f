//! What `admit` says of a flow is what an analysis of the whole file with that flow in it says.
//!
//! The plants are texts, since much of a plant follows from all of its flows when a file is read: the
//! turns of stations at a hub, the VLANs that ports register, channels, parts of deadlines.

#![allow(
    clippy::format_push_string,
    clippy::struct_excessive_bools,
    reason = "a text that grows, and facts that do not exclude each other"
)]

use std::collections::BTreeMap;
use std::fmt::Write as _;

use rtether::bound::{Admission, Decision, admit, analyze};
use rtether::scenario::{Override, Scenario, Source, load_and_add, load_with};
use rtether_bounds::{Analysis, StreamBound};
use rtether_model::flow::Flow;
use rtether_model::quantity::{Duration, Instant};
use rtether_sim::observe::NoObserver;
use rtether_sim::{Config, Simulation};
use rtether_testkit::Dice;

use crate::bounds::{dice, for_each_case_up_to};

/// Plants of the ordinary run, and of the nightly one.
const CASES: [u64; 2] = [150, 10_000];

const SCHEMES: [&str; 8] = [
    "tdma",
    "polling",
    "powerlink",
    "ftt-ethernet",
    "timed-token",
    "virtual-token",
    "demand-priority",
    "summation",
];

/// A scenario file in parts.
#[derive(Default)]
pub(crate) struct Text {
    /// Of each station, without its name.
    stations: Vec<String>,
    /// Sections with switches, routers and hubs.
    middle: String,
    links: Vec<String>,
    /// Stations that send and receive: their numbers.
    ends: Vec<usize>,
    /// Further keys of the scenario.
    more: String,
    /// What may be written of a flow here.
    has_priorities: bool,
    may_reply: bool,
    may_tcp: bool,
    vlan: Option<u16>,
    is_fast: bool,
    /// What it shows.
    pub(crate) kinds: Vec<&'static str>,
}

impl Text {
    fn station(&mut self, more: &str) -> usize {
        self.stations.push(format!("{{ {more} }}"));
        let number = self.stations.len() - 1;
        self.ends.push(number);
        number
    }

    fn link(&mut self, a: &str, b: &str, more: &str) {
        self.links.push(format!("  - {{ ends: [\"{a}\", \"{b}\"]{more} }}\n"));
    }

    /// Returns the file with some flows.
    pub(crate) fn file(&self, flows: &[String]) -> String {
        let mut text = "rtether: 1\nnodes:\n".to_owned();
        for (number, station) in self.stations.iter().enumerate() {
            writeln!(text, "  s{number}: {station}").unwrap();
        }
        text += &self.middle;
        text += "links:\n";
        text += &self.links.concat();
        if !flows.is_empty() {
            text += "flows:\n";
        }
        for flow in flows {
            writeln!(text, "  - {flow}").unwrap();
        }
        text + &self.more + "run: { for: 30 ms, seeds: 1, warmup: 0 s }\n"
    }
}

/// Returns the stack of a station, and a layer for some.
fn station(dice: &mut Dice, may_layer: bool) -> (String, bool) {
    let stack = dice.pick(&[
        "stack: zero",
        "stack: zero",
        "stack: { service: 20 us }",
        "stack: { send: 5 us + 2 ns/B, receive: 10 us }",
    ]);
    let layer = dice.pick(&[
        "receive_queues: { selection: highest-first }",
        "transmit_queues: { strategy: moderate }",
        "transmit_queues: { strategy: select, selection: wrr, weights: [1, 2], ring: 1 }",
        "receive_queues: { selection: instances }",
    ]);
    let has_layer = may_layer && dice.chance(25);
    let layer = if has_layer { layer } else { "" };
    let comma = if has_layer { ", priorities: { queues: 2 }, " } else { "" };
    (format!("{stack}{comma}{layer}"), has_layer)
}

/// Stations at a hub that take turns, some with a switch at it.
fn hub(dice: &mut Dice, scheme: &'static str) -> Text {
    let mut text =
        Text { kinds: vec![scheme], may_reply: true, is_fast: dice.chance(50), ..Text::default() };
    let rate = if text.is_fast { 100 } else { 10 };
    let count = dice.index(3) + 2;
    // Summation frames do not pass through a switch.
    let has_switch = scheme != "summation" && dice.chance(35);
    for port in 1..=count {
        let (own, _) = station(dice, false);
        let number = text.station(&own);
        text.link(&format!("s{number}"), &format!("h:{port}"), "");
    }
    let cycle = dice.pick(&["", "", "", ", response: 10 us"]);
    let has_response = ["polling", "powerlink", "ftt-ethernet", "timed-token"].contains(&scheme);
    let cycle = if has_response { cycle } else { "" };
    text.middle = format!(
        "hubs: {{ h: {{ ports: 6, rate: {rate} Mbit/s, access: {{ scheme: {scheme}{cycle} }} }} }}\n"
    );
    if has_switch {
        text.kinds.push("hub with switch");
        text.middle += "switches: { w: { ports: 4, latency: 5 us } }\n";
        text.link("w:1", "h:6", "");
        for port in 2..=3 {
            let number = text.station("stack: zero");
            text.link(&format!("s{number}"), &format!("w:{port}"), ", rate: 100 Mbit/s");
        }
    }
    text
}

/// Returns the keys of a switch that choose how its ports select.
fn selection(dice: &mut Dice, text: &mut Text) -> String {
    text.has_priorities = true;
    match dice.index(7) {
        0 => {
            text.kinds.push("deadlines");
            text.more = format!("partition: {}\n", dice.pick(&["equal", "proportional", "search"]));
            "selection: edf".into()
        }
        1 => {
            text.kinds.push("shaper");
            "queues: 2, selection: cbs, idle_slopes: [0 bit/s, 30 Mbit/s]".into()
        }
        2 => "queues: 2, selection: drr, quanta: [1522, 3044]".into(),
        3 => "queues: 2, selection: wrr, weights: [1, 2]".into(),
        4 | 5 => "queues: 4".into(),
        _ => "selection: fcfs".into(),
    }
}

/// Switches in a star, a line or a ring; or two networks; or a router.
fn switched(dice: &mut Dice) -> Text {
    let mut text = Text { may_reply: true, is_fast: true, ..Text::default() };
    let selection = selection(dice, &mut text);
    let mut keys = format!("ports: 8, latency: {} us, {selection}", dice.index(12));
    if dice.chance(25) {
        text.kinds.push("policers");
        let (rate, burst) = (dice.between(1, 30), dice.between(2, 8));
        let from = dice.pick(&["s0", "s1", "s2"]);
        keys +=
            &format!(", ingress: [{{ from: {from}, police: {rate} Mbit/s, burst: {burst} kB }}]");
    }
    if dice.chance(25) {
        text.kinds.push("buffers");
        keys += &format!(", buffer: {} B", dice.pick(&[1522, 4000, 20_000]));
    }
    let shape = dice.index(5);
    text.may_tcp = shape != 3 && dice.chance(40);
    match shape {
        0 | 1 => line_or_ring(dice, &mut text, &keys, shape == 1),
        2 => routed(dice, &mut text, &keys),
        3 => two_networks(dice, &mut text, &keys),
        _ => star(dice, &mut text, &keys),
    }
    text
}

fn add_stations(dice: &mut Dice, text: &mut Text, switch: &str, ports: core::ops::Range<u64>) {
    for port in ports {
        let (own, has_layer) = station(dice, true);
        if has_layer {
            text.kinds.push("layers");
        }
        let number = text.station(&own);
        let rate = dice.pick(&[100, 100, 1000]);
        text.link(
            &format!("s{number}"),
            &format!("{switch}:{port}"),
            &format!(", rate: {rate} Mbit/s"),
        );
    }
}

fn star(dice: &mut Dice, text: &mut Text, keys: &str) {
    let mut keys = keys.to_owned();
    match dice.index(4) {
        0 => {
            text.kinds.push("registered VLANs");
            text.vlan = Some(10);
            keys += ", port_settings: { 1-8: { trunk: registered } }";
        }
        1 if !keys.contains("ingress") => {
            text.kinds.push("channels");
            (text.may_reply, text.may_tcp) = (false, false);
            text.more += "admission: { at: w }\n";
        }
        _ => {}
    }
    text.middle = format!("switches: {{ w: {{ {keys} }} }}\n");
    let end = dice.between(4, 6);
    add_stations(dice, text, "w", 1..end);
    if dice.chance(20) && text.vlan.is_none() && text.more.is_empty() {
        text.kinds.push("addresses");
        for own in &mut text.stations {
            *own = own.replace(" }", ", arp: {} }");
        }
    }
}

fn line_or_ring(dice: &mut Dice, text: &mut Text, keys: &str, is_ring: bool) {
    let count = if is_ring { dice.between(3, 5) } else { 2 };
    text.middle = "switches:\n".into();
    for own in 0..count {
        writeln!(text.middle, "  w{own}: {{ {keys} }}").unwrap();
    }
    let links = if is_ring { count } else { 1 };
    if is_ring {
        text.kinds.push("ring");
    }
    for own in 0..links {
        let next = (own + 1) % count;
        text.link(&format!("w{own}:7"), &format!("w{next}:8"), ", rate: 100 Mbit/s");
    }
    for own in 0..count {
        let ports = if is_ring { 2 } else { 4 };
        add_stations(dice, text, &format!("w{own}"), 1..ports);
    }
}

fn routed(dice: &mut Dice, text: &mut Text, keys: &str) {
    text.kinds.push("router");
    text.middle = format!(
        "switches:\n  w0: {{ {keys} }}\n  w1: {{ {keys} }}\nrouters: {{ r: {{ ports: 2, cost: {} }} }}\n",
        dice.pick(&["5 us", "20 us", "20 us .. 35 us"])
    );
    for own in 0..2 {
        text.link(&format!("w{own}:8"), &format!("r:{}", own + 1), ", rate: 100 Mbit/s");
        add_stations(dice, text, &format!("w{own}"), 1..4);
    }
}

fn two_networks(dice: &mut Dice, text: &mut Text, keys: &str) {
    text.kinds.push("two networks");
    text.middle = format!("switches:\n  wa: {{ {keys} }}\n  wb: {{ {keys} }}\n");
    for port in 1..dice.between(4, 6) {
        let number = text.station("stack: zero, redundancy: prp");
        for network in ["wa", "wb"] {
            text.link(&format!("s{number}"), &format!("{network}:{port}"), ", rate: 100 Mbit/s");
        }
    }
}

/// Writes a flow, with its deadline still to come.
fn flow(dice: &mut Dice, text: &mut Text, name: &str) -> String {
    let from = dice.pick(&text.ends);
    let others: Vec<usize> = text.ends.iter().copied().filter(|to| *to != from).collect();
    let to = dice.pick(&others);
    let scale = if text.is_fast { 1 } else { 8 };
    let period = scale * dice.pick(&[1_000, 2_000, 2_000, 4_000, 8_000]);
    let size = dice.pick(&[20, 60, 64, 200, 700, 1_400]);
    let mut keys = format!("name: {name}, from: s{from}, to: s{to}, size: {size} B");
    let is_tcp = text.may_tcp && dice.chance(30);
    let kind = dice.index(10);
    keys += &match kind {
        _ if is_tcp => format!(", over: tcp, period: {period} us"),
        // A flood is what schemes with classes call ordinary.
        0 => format!(", kind: flood, rate: {} packets/s", 300_000 / period),
        1 | 2 => format!(", min_gap: {period} us, burst: {}", dice.between(1, 4)),
        _ => format!(", period: {period} us"),
    };
    if is_tcp {
        text.kinds.push("TCP");
    } else if text.may_reply && kind > 0 && dice.chance(25) {
        text.kinds.push("replies");
        keys += &format!(", reply: {{ size: {} B }}", dice.pick(&[10, 100, 1_000]));
    }
    if text.has_priorities && dice.chance(60) {
        keys += &format!(", pcp: {}", dice.between(0, 7));
    }
    if let Some(vlan) = text.vlan {
        keys += &format!(", vlan: {}", vlan + u16::from(dice.chance(30)));
    }
    keys
}

/// Returns a file, flows to add to it, and what it shows.
pub(crate) fn random(number: u64) -> (Text, Vec<String>, Vec<String>) {
    let mut dice = dice(number ^ 0x00ad_317e);
    let mut text = if dice.chance(60) {
        let at = usize::try_from(number % 8).unwrap();
        hub(&mut dice, SCHEMES[at])
    } else {
        switched(&mut dice)
    };
    let count = dice.between(0, 6);
    let own: Vec<String> =
        (0..count).map(|index| flow(&mut dice, &mut text, &format!("f{index}"))).collect();
    let more = dice.pick(&[1, 1, 1, 2]);
    let added: Vec<String> =
        (0..more).map(|index| flow(&mut dice, &mut text, &format!("new{index}"))).collect();
    // Deadlines near what flows take without the new ones, so that a little more may break them.
    let [alone, whole] = [&own[..], &[&own[..], &added[..]].concat()].map(|flows| {
        let flows: Vec<String> = flows.iter().map(|keys| format!("{{ {keys} }}")).collect();
        let scenario = loaded(&text.file(&flows));
        scenario.map(|scenario| rtether::bound::latencies(&analyze(&scenario)))
    });
    let with_deadline =
        |dice: &mut Dice, (keys, bound): (&String, Option<Duration>), percents: &[i64]| {
            let bound = bound.unwrap_or(Duration::from_ms(5));
            let deadline = bound.as_ps() / 100 * dice.pick(percents) / 1_000;
            match dice.index(10) {
                0 => format!("{{ {keys} }}"),
                _ if keys.contains("flood") => format!("{{ {keys} }}"),
                _ => format!("{{ {keys}, deadline: {deadline} ns }}"),
            }
        };
    let bound = |all: &Option<Vec<Option<Duration>>>, at: usize| {
        all.as_ref().and_then(|all| all.get(at).copied().flatten())
    };
    let [tight, own_tight] = if dice.chance(50) {
        [&[150, 200, 400][..], &[110, 200]]
    } else {
        [&[101, 103, 110, 200][..], &[60, 101, 120, 200]]
    };
    let own = own.iter().enumerate();
    let own: Vec<String> =
        own.map(|(at, keys)| with_deadline(&mut dice, (keys, bound(&alone, at)), tight)).collect();
    let first = own.len();
    let added = added.iter().enumerate();
    let added = added
        .map(|(at, keys)| with_deadline(&mut dice, (keys, bound(&whole, first + at)), own_tight))
        .collect();
    (text, own, added)
}

/// Reads a file in which more may arrive than fits.
fn loaded(text: &str) -> Option<Scenario> {
    load_with("plant.yaml", text, &overload()).scenario
}

fn overload() -> Vec<Override> {
    Override::parse("run.overload=allow").into_iter().collect()
}

/// Returns the answer that follows from two analyses.
fn expected(before: Option<(&Scenario, &Analysis)>, after: (&Scenario, &Analysis)) -> Decision {
    let verdict = |(scenario, analysis): (&Scenario, &Analysis), flow: &str, listener| {
        let mut streams = analysis.judged().map(|(own, condition)| {
            let flow = &scenario.flows[own.flow.index()];
            (flow, own, condition)
        });
        let is_it = |(own, stream, _): &(&Flow, &StreamBound, _)| {
            own.name == flow && stream.listener == listener
        };
        let (flow, stream, condition) = streams.find(is_it)?;
        let is_overloaded = matches!(stream.bound, Err(rtether_bounds::Reason::Overload { .. }));
        let state = match (&stream.bound, flow.deadline) {
            (Ok(bound), Some(deadline)) => {
                if bound.latency > deadline {
                    "late"
                } else if condition.is_some() {
                    "only if"
                } else {
                    "in time"
                }
            }
            (Ok(_), None) => "free",
            (Err(_), Some(_)) => "unknown",
            (Err(_), None) => "free",
        };
        Some((state, is_overloaded))
    };
    let mut answer = Decision::Yes;
    for stream in &after.1.streams {
        let name = &after.0.flows[stream.flow.index()].name;
        let now = verdict(after, name, stream.listener).unwrap();
        let then = before.and_then(|before| verdict(before, name, stream.listener));
        let was = |state: &str| then.is_some_and(|then| then.0 == state);
        let breaks = now.0 == "late" && !was("late") || now.1 && !then.is_some_and(|then| then.1);
        if breaks {
            return Decision::No;
        }
        if now.0 == "unknown" && !was("unknown") {
            answer = Decision::Unknown;
        }
        let is_new = ["only if", "late", "unknown"].iter().all(|state| !was(state));
        if now.0 == "only if" && is_new && answer == Decision::Yes {
            answer = Decision::OnlyIf;
        }
    }
    answer
}

/// Checks one plant; returns what it shows and the answer, or nothing if the file is refused.
fn check(number: u64) -> Option<(Vec<&'static str>, Decision)> {
    let (text, own, added) = random(number);
    let whole = loaded(&text.file(&[&own[..], &added[..]].concat()))?;
    let alone = loaded(&text.file(&own));
    if alone.is_none() && !own.is_empty() {
        return None;
    }
    let source = Source { name: "added.yaml".into(), text: format!("[{}]", added.join(", ")) };
    let both = load_and_add("plant.yaml", &text.file(&own), &overload(), &[source]);
    let (before, after) = both.without_added.clone().zip(both.scenario.clone()).unwrap();
    let found = admit(&before, &after);
    let full = analyze(&whole);
    assert_eq!(found.analysis.streams, full.streams, "{}", text.file(&own));
    assert_eq!(found.analysis.conditions, full.conditions);
    let before = alone.map(|alone| {
        let analysis = analyze(&alone);
        (alone, analysis)
    });
    let before = before.as_ref().map(|(scenario, analysis)| (scenario, analysis));
    check_differences(&found, before);
    assert_eq!(found.decision, expected(before, (&whole, &full)));
    simulated(&whole, &full, number);
    Some((text.kinds, found.decision))
}

/// Checks that bounds before the flows came are those of the file without them.
fn check_differences(found: &Admission, before: Option<(&Scenario, &Analysis)>) {
    for difference in &found.comparison.differences {
        let Some(side) = &difference.before else {
            continue;
        };
        let (scenario, analysis) = before.unwrap();
        let mut streams = analysis.streams.iter();
        let own = streams.find(|stream| {
            let flow = &scenario.flows[stream.flow.index()];
            let listener = &scenario.network.node(stream.listener).name;
            (&flow.name, listener) == (&difference.flow, &difference.listener)
        });
        let bound = own.unwrap().bound.as_ref().ok();
        assert_eq!(side.bound, bound.map(|bound| bound.latency));
    }
}

/// Checks that nothing in the plant with the new flows takes longer than it is proved to take, where
/// nothing was dropped.
fn simulated(scenario: &Scenario, analysis: &Analysis, seed: u64) {
    let config = Config { seed, warmup: Duration::ZERO, bucket: Duration::ZERO };
    let mut simulation = Simulation::new(&scenario.network, &scenario.flows, &config).unwrap();
    simulation.run_until(Instant::ZERO + Duration::from_ms(30), &mut NoObserver);
    let record = simulation.finish();
    let dropped = record.ports.iter().map(|port| port.dropped).sum::<u64>()
        + record.nodes.iter().map(|node| node.policed).sum::<u64>();
    if dropped > 0 {
        return;
    }
    for (bound, seen) in analysis.streams.iter().zip(&record.streams) {
        if let Ok(bound) = &bound.bound {
            let seen = seen.latency.max;
            assert!(seen <= bound.latency, "{seen} seen, {}", bound.latency);
        }
    }
}

/// Oracle: the file with the flows in it, read and analyzed as any other; and the simulator.
#[test]
#[allow(clippy::print_stdout, reason = "shown with --nocapture")]
fn admission_is_a_full_analysis() {
    let mut kinds: BTreeMap<&str, [usize; 3]> = BTreeMap::new();
    let mut refused = 0;
    for_each_case_up_to(CASES, "admission_is_a_full_analysis", |number| {
        let Some((mut shown, decision)) = check(number) else {
            refused += 1;
            return;
        };
        shown.push("all");
        shown.sort_unstable();
        shown.dedup();
        for kind in shown {
            let slot = match decision {
                Decision::Yes => 0,
                Decision::No => 1,
                Decision::OnlyIf | Decision::Unknown => 2,
            };
            kinds.entry(kind).or_default()[slot] += 1;
        }
    });
    println!("{refused} refused by the loader; yes, no, unknown:");
    for (kind, counts) in &kinds {
        println!("  {kind}: {counts:?}");
    }
    if std::env::var_os("RTETHER_CASE").is_none() {
        let [yes, no, unknown] = kinds["all"];
        let all = yes + no + unknown;
        assert!(5 * yes > all && 5 * no > all, "{yes} yes, {no} no of {all}");
        assert!(SCHEMES.iter().all(|scheme| kinds.contains_key(scheme)));
        assert!(3 * refused < all, "{refused} of the files are wrong");
    }
}

/// Oracle: the analysis of the file with the flow in it; the token comes around later, since its
/// cycle has room for the new frame.
#[test]
fn a_new_frame_lengthens_the_cycle_of_all_stations() {
    let text = "rtether: 1\n\
        nodes: { a: { stack: zero }, b: { stack: zero }, c: { stack: zero } }\n\
        hubs: { h: { ports: 3, rate: 10 Mbit/s, access: { scheme: timed-token } } }\n\
        links:\n\
        \x20 - { ends: [a, \"h:1\"] }\n\
        \x20 - { ends: [b, \"h:2\"] }\n\
        \x20 - { ends: [c, \"h:3\"] }\n\
        flows:\n\
        \x20 - { name: f, from: b, to: c, period: 8 ms, size: 64 B, deadline: 2500 us }\n\
        \x20 - { name: g, from: a, to: c, period: 8 ms, size: 64 B, deadline: 7 ms }\n\
        run: { for: 1 s }\n";
    let new = "{ name: new, from: a, to: c, period: 20 ms, size: 1400 B, deadline: 20 ms }";
    let source = Source { name: "--flow".into(), text: new.into() };
    let both = load_and_add("plant.yaml", text, &[], &[source]);
    let found = admit(&both.without_added.unwrap(), &both.scenario.unwrap());
    let whole = text.replace("run:", &format!("\x20 - {new}\nrun:"));
    let whole = loaded(&whole).unwrap();
    let full = analyze(&whole);
    assert_eq!(found.analysis.streams, full.streams);
    assert_eq!(found.decision, Decision::No);
    let first = found.objections().next().unwrap();
    assert_eq!(first.flow, "f");
    let bound = first.after.as_ref().unwrap().bound.unwrap();
    assert!(bound > Duration::from_us(3_000), "{bound}");
}
