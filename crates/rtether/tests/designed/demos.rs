//! The plants of this repository, with what can be proved of them.

use std::fs;
use std::path::Path;

use rtether::design::{DesignError, End, Outcome, Progress, Question, design};
use rtether::scenario::Written;

use super::{counts, designed, is_sound, scenario};

pub(super) fn read(name: &str) -> String {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../scenarios");
    fs::read_to_string(folder.join(name)).unwrap()
}

/// Designs a demo plant in which this may change.
fn demo(name: &str, allow: Option<&str>) -> Outcome {
    let section = allow.map(|allow| format!("design: {{ allow: {allow} }}\n"));
    let text = read(name) + section.as_deref().unwrap_or_default();
    // Where not all can be proved, the search uses all of its trials.
    let trials = allow.map(|_| 500);
    let outcome = designed(&text, Question { trials, ..Question::default() });
    is_sound(&text, &outcome);
    outcome
}

fn paths(outcome: &Outcome) -> Vec<&str> {
    outcome.edits.iter().map(|edit| edit.path.as_str()).collect()
}

/// Oracle: three edits found by hand, of which none can be left out. Layers in all relays are one edit
/// as those in one are, and leave the same least margin.
#[test]
fn three_edits_prove_all_of_the_relays() {
    let found = demo("goose-multicast.yaml", Some("[pcp, queues, layers]"));
    assert_eq!((found.end, found.proved, found.goals), (End::Proved, [5, 7], 7));
    assert_eq!(paths(&found), ["flows.reading.pcp", "stacks.relay", "nodes.eng"]);
}

/// Oracle: all is late behind the segments of one file.
#[test]
fn a_smaller_window_is_one_edit() {
    let found = demo("goose-multicast.yaml", None);
    assert_eq!((found.end, found.proved), (End::Proved, [5, 7]));
    assert_eq!(paths(&found), ["flows.disturbance record.tcp.window"]);
    assert_eq!((found.edits[0].old.as_str(), found.edits[0].new.as_str()), ("65535 B", "7300 B"));
}

/// Oracle: of all 256 assignments of priorities, with layers, none proves more; what ports hold counts.
#[test]
fn four_of_five_are_proved_of_the_bottling_line() {
    let found = demo("bottling-line.yaml", Some("[pcp, layers, limits]"));
    assert_eq!((found.end, found.proved, found.goals), (End::Best, [0, 4], 5));
    assert!(paths(&found).contains(&"switches[*].buffer"), "{:?}", paths(&found));
}

/// Oracle: a controller takes 800 us for a packet of each of its 16 flows, of which none has more than
/// 786 us: one at each of the two is late in any order, which leaves 30 of 32. All designs with one priority
/// for a class prove 16 at most; with flows of a class apart there are more.
#[test]
fn a_processor_that_cannot_do_all_is_named() {
    let found = demo("skeie-flat.yaml", Some("[pcp, queues, layers]"));
    assert_eq!((found.end, found.proved[0], found.goals), (End::Impossible, 0, 32));
    assert!((17..=30).contains(&found.proved[1]), "{:?}", found.proved);
    let why = "through the stack of controller0: if their packets meet there, they take 800 us";
    assert!(found.headline().contains(why), "{}", found.headline());
}

/// Oracle: by hand all are proved with controllers of 36 000 packets/s, and below 22 900 they could not even do
/// what comes.
#[test]
fn a_processor_is_no_faster_than_another_design_needs() {
    let section =
        "design: { allow: [pcp, queues, layers], cost: { stacks.controller.rate: 1 per 10 % } }";
    let text = format!("{}{section}\n", read("skeie-flat.yaml"));
    let found = designed(&text, Question { trials: Some(500), ..Question::default() });
    is_sound(&text, &found);
    assert_eq!((found.end, found.proved), (End::Proved, [0, 32]));
    let rate = found.edits.iter().find(|edit| edit.path == "stacks.controller.rate").unwrap();
    let rate: u64 = rate.new.split(' ').next().unwrap().parse().unwrap();
    assert!((22_900..=36_000).contains(&rate), "{rate} packets/s");
}

/// Oracle: no proof on a medium with collisions.
#[test]
fn a_hub_is_refused() {
    let text = read("hub.yaml");
    let found = designed(&text, Question::default());
    assert_eq!((found.end, found.proved, found.edits.len()), (End::Impossible, [0, 0], 0));
    assert_eq!(found.obstacles.len(), found.goals);
    assert!(found.headline().contains("shared medium"), "{}", found.headline());
}

/// Oracle: the same plant written out.
#[test]
fn a_generated_plant_is_designed_like_one_that_is_written() {
    let text = "rtether: 1  # one bay
generate: { substation: { feeder_bays: 1, transformer_bays: 0, busbar_rate: 20000 packets/s } }
design: { allow: [pcp, queues, layers] }
run: { for: 4 s }
";
    let question = Question { trials: Some(60), ..Question::default() };
    let generated = designed(text, question);
    is_sound(text, &generated);
    let whole = Written::from(text.to_owned()).whole().unwrap();
    let written = designed(&whole, question);
    assert_eq!(generated.proved, written.proved);
    assert!(generated.proved[1] > generated.proved[0], "{:?}", generated.proved);
    assert_eq!(generated.edits, written.edits);
    let is_wide = paths(&generated).iter().any(|path| path.starts_with("stacks."));
    assert!(is_wide, "{:?}", paths(&generated));
}

/// Oracle: the message.
#[test]
fn a_plant_without_deadlines_is_none_to_design() {
    let text = "rtether: 1\nnodes: { a: { stack: zero }, b: { stack: zero } }\n\
        links: [{ ends: [a, b], rate: 100 Mbit/s }]\n\
        flows: [{ name: f, from: a, to: b, period: 1 ms, size: 60 B }]\n";
    let written = Written::from(text.to_owned());
    let found = design(&scenario(text), &written, Question::default(), &Progress::default());
    assert_eq!(found.err(), Some(DesignError::NoDeadline));
}

/// Oracle: `bound` of the written text; with the rates as written the work of the controllers is too much.
#[test]
fn what_a_higher_rate_proves_is_not_impossible() {
    let mut text = read("skeie-flat.yaml");
    text.push_str(
        "design: { allow: [pcp, queues, layers], cost: { stacks.controller.rate: 1 per 20 % } }\n",
    );
    let outcome = designed(&text, Question { trials: Some(300), ..Question::default() });
    is_sound(&text, &outcome);
    assert_ne!(outcome.end, End::Impossible);
    assert!(outcome.obstacles.is_empty() && outcome.proved[1] >= 16, "{}", outcome.headline());
    println!("{}", outcome.headline());
}

/// Oracle: by hand, a request and its answer wait for one another at `slow`, with frames of 1 us on the
/// way; the rate that makes both in time, and one that is smaller by a hundredth does not.
#[test]
fn a_rate_is_raised_by_as_little_as_proofs_need() {
    let text = "rtether: 1  # two streams to one stack
design: { allow: [pcp], cost: { stacks.slow.rate: 10 per 10 % } }
stacks: { slow: { rate: 10000 packets/s } }  # 100 us
nodes: { a: { stack: zero }, b: { stack: zero }, c: { stack: slow } }
switches: { sw: { ports: 3 } }
links:
  - { ends: [a, \"sw:1\"], rate: 1 Gbit/s }
  - { ends: [b, \"sw:2\"], rate: 1 Gbit/s }
  - { ends: [c, \"sw:3\"], rate: 1 Gbit/s }
flows:
  - { name: f, from: a, to: c, period: 2 ms, size: 60 B, deadline: 170 us }
  - { name: g, from: b, to: c, period: 2 ms, size: 60 B, deadline: 170 us }
";
    let found = designed(text, Question::default());
    is_sound(text, &found);
    assert_eq!((found.end, found.proved), (End::Proved, [0, 2]));
    let [edit] = &found.edits[..] else { panic!("{:?}", found.edits) };
    assert_eq!(edit.path, "stacks.slow.rate");
    let number: u64 = edit.new.strip_suffix(" packets/s").unwrap().parse().unwrap();
    assert_eq!(edit.cost, (number - 10_000).div_ceil(1_000) * 10);
    let less = number - 100;
    let less = text.replace("10000 packets", &format!("{less} packets"));
    assert!(counts(&scenario(&less)).ok < 2, "{}", edit.new);
}
