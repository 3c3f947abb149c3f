//! What prevents a deadline. Oracle: the plant as a file without one of the flows and costs that are
//! named, and the edits that are said to prove the rest.

use rtether::bound;
use rtether::design::{Certainty, Explained, Progress, Question, explain};
use rtether::report::format::Render;
use rtether::scenario::{Override, Scenario, Written};
use rtether::verdict::Conclusion;
use rtether_testkit::follows_schema;

use super::demos::read;
use super::{draw, scenario};

fn explained(text: &str, flow: &str, question: Question) -> Explained {
    let written = Written::from(text.to_owned());
    let found = explain(&scenario(text), &written, flow, question, &Progress::default());
    found.unwrap_or_else(|why| panic!("{why}"))
}

/// Returns the text without all flows and costs but these; `changes` are edits on top. The lines of
/// flows and the keys of costs are those of [`draw::plant`].
fn without(text: &str, kept: &[&str], own: &str, changes: &[Override]) -> Scenario {
    let lines = text.lines().filter(|line| {
        let name = line.trim().strip_prefix("- { name: ").and_then(|own| own.split(',').next());
        name.is_none_or(|name| name == own || kept.contains(&name))
    });
    let left: String = lines.flat_map(|line| [line, "\n"]).collect();
    let plant = scenario(&left);
    let mut changes = changes.to_vec();
    for (number, link) in plant.network.links.iter().enumerate() {
        let [a, b] = link.ends.map(|end| plant.network.node(end.node).name.as_str());
        if !kept.contains(&&*format!("link {a} - {b}")) {
            changes.push(Override::new("test", format!("links[{number}].rate"), "400 Gbit/s"));
        }
    }
    for node in &plant.network.nodes {
        let name = &node.name;
        if name.starts_with("sw") {
            if !kept.contains(&&*format!("buffer of {name}")) {
                changes.push(Override::new("test", format!("switches.{name}.buffer"), "1 GiB"));
            }
            continue;
        }
        for key in ["send", "receive"] {
            let path = format!("nodes.{name}.stack.{key}");
            if text.contains("receive:") && !kept.contains(&&*format!("{key} of {name}")) {
                changes.push(Override::new("test", path, "0 us"));
            }
        }
    }
    let written = Written::from(left);
    written.with_all(&changes).unwrap_or_else(|| panic!("{changes:?}\n{text}"))
}

/// Returns whether the bound of a flow is a proof of its deadline.
fn proves(scenario: &Scenario, flow: &str) -> bool {
    let analysis = bound::analyze(scenario);
    let mut judged =
        analysis.judged().filter(|(own, _)| scenario.flows[own.flow.index()].name == flow);
    judged.all(|(own, condition)| {
        let deadline = scenario.flows[own.flow.index()].deadline.unwrap();
        condition.is_none() && own.bound.as_ref().is_ok_and(|own| own.latency <= deadline)
    })
}

/// Checks an explanation of a drawn plant: without any one of the causes a design proves the deadline.
fn is_minimal(text: &str, found: &Explained) {
    let names: Vec<&str> = found.causes.iter().map(|own| own.name.as_str()).collect();
    for (number, cause) in found.causes.iter().enumerate() {
        let mut kept = names.clone();
        kept.remove(number);
        let edits = cause.edits.iter().flat_map(|own| own.changes.iter().cloned());
        let plant = without(text, &kept, &found.stream, &edits.collect::<Vec<_>>());
        assert!(
            proves(&plant, &found.stream),
            "{} of {names:?} is not needed:\n{text}",
            cause.name
        );
        assert!(cause.bound.is_some_and(|bound| bound <= found.deadline), "{}", cause.name);
    }
    let plant = without(text, &names, &found.stream, &[]);
    let mut flows = plant.flows.iter().filter(|own| own.deadline.is_some());
    let is_proved = flows.all(|own| proves(&plant, &own.name));
    assert!(!is_proved, "{names:?} prevent nothing:\n{text}");
}

/// Returns the flow whose deadline no single design of the plant proves, if there is one.
fn hopeless(text: &str) -> Option<(String, Explained)> {
    let plant = scenario(text);
    let flows = plant.flows.iter().filter(|flow| flow.deadline.is_some());
    let mut found =
        flows.map(|flow| (flow.name.clone(), explained(text, &flow.name, Question::default())));
    found.find(|(_, found)| found.certainty != Certainty::Provable)
}

/// Explains plants whose deadlines are cut, until there are as many infeasible ones.
fn explain_many(count: usize, allow: &str) {
    let (mut done, mut causes, mut exact, mut alone) = (0, 0, 0, 0);
    for seed in 0..10_000 {
        if done == count {
            break;
        }
        let text = tight(&draw::plant(seed, 2 + usize::try_from(seed % 4).unwrap(), allow), seed);
        let Some((flow, found)) = hopeless(&text) else { continue };
        assert_eq!(flow, found.stream);
        is_minimal(&text, &found);
        done += 1;
        causes += found.causes.len();
        alone += usize::from(found.is_alone);
        exact += usize::from(found.conclusion() == Conclusion::Failed);
    }
    println!("{done} plants, {causes} causes; {exact} whatever the design, {alone} with others");
    assert_eq!(done, count, "infeasible plants");
    assert!(causes > done, "{causes} causes");
}

/// Returns a plant with deadlines of 70 to 90 % of what was drawn.
fn tight(text: &str, seed: u64) -> String {
    let share = 70 + seed * 7 % 21;
    let lines = text.lines().map(|line| {
        let Some((head, rest)) = line.split_once("deadline: ") else { return format!("{line}\n") };
        let (number, tail) = rest.split_once(' ').unwrap();
        let number: u64 = number.parse().unwrap();
        format!("{head}deadline: {} {tail}\n", number * share / 100)
    });
    lines.collect()
}

#[test]
fn what_prevents_a_deadline_is_needed() {
    explain_many(4, "[pcp]");
    explain_many(1, "[pcp, queues, layers]");
}

#[test]
#[ignore = "long"]
fn what_prevents_a_deadline_is_needed_in_100_plants() {
    explain_many(80, "[pcp]");
    explain_many(20, "[pcp, queues, layers]");
}

/// Oracle: by hand. A frame of 1400 B takes 1.15 ms at 10 Mbit/s, and may be under way already.
#[test]
fn a_frame_that_cannot_be_interrupted_is_named() {
    let text = "rtether: 1\ndesign: { allow: [pcp] }\n\
        nodes: { a: { stack: zero }, b: { stack: zero }, c: { stack: zero } }\n\
        switches: { sw: { ports: 3, queues: 4 } }\nlinks:\n  \
        - { ends: [a, \"sw:1\"], rate: 10 Mbit/s }\n  \
        - { ends: [b, \"sw:2\"], rate: 100 Mbit/s }\n  \
        - { ends: [c, \"sw:3\"], rate: 10 Mbit/s }\nflows:\n  \
        - { name: f, from: a, to: c, period: 10 ms, size: 100 B, deadline: 1 ms }\n  \
        - { name: g, from: b, to: c, period: 10 ms, size: 1400 B }\n  \
        - { name: h, from: b, to: a, period: 10 ms, size: 1400 B }\n";
    let found = explained(text, "f", Question::default());
    let names: Vec<&str> = found.causes.iter().map(|own| own.name.as_str()).collect();
    assert_eq!(names, ["link c - sw", "g"], "{}", found.headline());
    assert!(matches!(found.certainty, Certainty::All(_)), "{}", found.headline());
    follows_schema(&serde_json::from_str(&found.json()).unwrap());
    let later = text.replace("deadline: 1 ms", "deadline: 2 ms");
    let provable = explained(&later, "f", Question::default());
    assert_eq!(provable.certainty, Certainty::Provable, "{}", provable.headline());
    follows_schema(&serde_json::from_str(&provable.json()).unwrap());
}

/// Oracle: the messages.
#[test]
fn names_that_mean_nothing_are_refused_with_near_ones() {
    let text = read("bottling-line.yaml");
    let plant = scenario(&text);
    let written = Written::from(text);
    for (name, message) in [
        ("setpont", "no flow is named `setpont`; did you mean `setpoint`?"),
        ("xyz", "no flow is named `xyz`; `rtether bound` lists them"),
        ("emergency stop to plc2", "`emergency stop` has no listener `plc2`; did you mean `plc1`?"),
        (
            "event log",
            "`event log` has no deadline, so there is nothing to prove; `deadline` gives it one",
        ),
    ] {
        let found = explain(&plant, &written, name, Question::default(), &Progress::default());
        assert_eq!(found.unwrap_err().to_string(), message);
    }
}

/// Oracle: the words of the interface.
#[test]
fn an_explanation_that_is_ended_at_once_says_so() {
    let text = tight(&draw::plant(3, 4, "[pcp]"), 3);
    let flow =
        scenario(&text).flows.iter().find(|own| own.deadline.is_some()).unwrap().name.clone();
    let progress = Progress::default();
    progress.cancel();
    let written = Written::from(text.clone());
    let found = explain(&scenario(&text), &written, &flow, Question::default(), &progress).unwrap();
    assert_eq!(found.conclusion(), Conclusion::Interrupted);
}
