//! Stacks that scenarios take from profiles. Oracles: the same scenario with the stack written out, and
//! snapshots of every message.

use rtether_model::flow::Phase;
use rtether_model::quantity::Duration;
use rtether_scenario::profile::{Method, Profile, Range, Series, Tail, Trial};
use rtether_scenario::{
    About, Assumptions, Loaded, Override, Scenario, Written, load, load_from, render,
};

const fn us(us: i64) -> Duration {
    Duration::from_us(us)
}

/// A profile of 318 us to 324 us, confirmed or not, with a scan of 10 ms.
fn drive(holds: bool) -> Profile {
    let tail = Tail { p50: us(330), p99: us(350) };
    let stack = Series {
        fixed: Some(Range { value: us(320), low: us(318), high: us(324) }),
        request_octet: Some(exact(Duration::from_ns(40))),
        answer_octet: Some(exact(Duration::from_ns(10))),
        confirmed: Some(Trial { holds, predicted: tail, measured: tail }),
        ..Series::new("closed", Method::Quiet)
    };
    let reply = Series {
        fixed: Some(exact(us(418))),
        scan: Some(exact(us(10_000))),
        ..Series::new("modbus", Method::Quiet)
    };
    let mut profile = Profile {
        device: "drive".to_owned(),
        date: "2026-11-30".to_owned(),
        requests: vec![stack, reply],
        ..Profile::default()
    };
    profile.choose();
    profile
}

const fn exact(value: Duration) -> Range {
    Range { value, low: value, high: value }
}

/// What the profile says, written out.
const STACK: &str =
    "{ send: 0 us + 10 ns/B, receive: 0 us + 40 ns/B, both: { unknown: 318 us .. 324 us } }";

fn plant(stacks: &str, stack: &str, reply: &str) -> String {
    format!(
        "rtether: 1\n{stacks}nodes:\n  plc: {{ stack: zero }}\n  drive: {{ stack: {stack} }}\n\
         links: [{{ ends: [plc, drive], rate: 100 Mbit/s }}]\n\
         flows: [{{ name: f, from: plc, to: drive, period: 40 ms, size: 60 B, reply: {reply} }}]\n"
    )
}

fn read(path: &str) -> Result<String, String> {
    match path {
        "drive.yaml" | "plants/drive.yaml" | "devices/drive.yaml" => Ok(drive(true).to_yaml()),
        "unsure.yaml" => Ok(drive(false).to_yaml()),
        "silent.yaml" => Ok("rtether: 1\nprofile: { device: d, date: 2026-11-30 }\n".to_owned()),
        "broken.yaml" => Ok(drive(true).to_yaml().replace("324 us", "324 m")),
        "nested.yaml" => Ok(
            "rtether: 1\nprofile: { device: d, date: 2026-11-30 }\nstack: { stack: drive.yaml }\n"
                .to_owned(),
        ),
        "secret.yaml" => Ok("password: hunter2\n".to_owned()),
        "part.yaml" => Ok("nodes:\n  more: { stack: devices/drive.yaml }\nlinks: []\n".to_owned()),
        _ => Err("there is no such file".to_owned()),
    }
}

fn loaded(text: &str, changes: &[Override]) -> Loaded {
    load_from("plant.yaml", text, &read, changes, &[])
}

fn good(text: &str, changes: &[Override]) -> Scenario {
    let loaded = loaded(text, changes);
    let words = loaded.text(render::Style::Plain);
    let scenario = loaded.scenario.unwrap_or_else(|| panic!("{words}"));
    // What is not like the scenario with everything written out is compared apart.
    Scenario { assumptions: Assumptions::default(), ..scenario }
}

fn set(path: &str, value: &str) -> [Override; 1] {
    [Override::new("--set", path, value)]
}

/// Oracle: the same scenario with the stack and the reply written out.
#[test]
fn a_profile_stands_for_its_stack() {
    let written = plant("", STACK, "{ size: 60 B, after: 100 us, scan: 10 ms }");
    let written = good(&written, &[]);
    let reply = "{ size: 60 B }";
    assert_eq!(good(&plant("", "drive.yaml", reply), &[]), written);
    assert_eq!(good(&plant("", "devices/../drive.yaml", reply), &[]), written);
    assert_eq!(good(&plant("", "{ stack: drive.yaml }", reply), &[]), written);
    assert_eq!(good(&plant("stacks: { d: { stack: drive.yaml } }\n", "d", reply), &[]), written);
    let by_option = set("nodes.drive.stack", "drive.yaml");
    assert_eq!(good(&plant("", "zero", reply), &by_option), written);
    let by_file = plant("changes: { nodes.drive.stack: drive.yaml }\n", "zero", reply);
    assert_eq!(good(&by_file, &[]), written);
    assert!(matches!(written.flows[0].reply.expect("one").scan.expect("one").phase, Phase::Random));
    // What is written beside the profile counts.
    let own = plant("", "{ stack: drive.yaml, receive: 1 us }", "{ size: 60 B, after: 0 us }");
    let expected = STACK.replace("receive: 0 us + 40 ns/B", "receive: 1 us");
    let expected = plant("", &expected, "{ size: 60 B, after: 0 us }");
    assert_eq!(good(&own, &[]), good(&expected, &[]));
    // A declared stack may have the name of a file.
    let declared = plant(
        &format!("stacks: {{ drive.yaml: {STACK} }}\n"),
        "drive.yaml",
        "{ size: 60 B, after: 100 us, scan: 10 ms }",
    );
    assert_eq!(good(&declared, &[]), written);
}

/// Oracle: by hand.
#[test]
fn profiles_are_relative_to_the_file_that_names_them() {
    let text = "rtether: 1\ninclude: part.yaml\n".to_owned()
        + plant("", "zero", "{ size: 60 B }").trim_start_matches("rtether: 1\n");
    let text = text.replace("links: [", "links: [{ ends: [more, plc], rate: 1 Gbit/s }, ");
    let loaded = loaded(&text, &[]);
    let names: Vec<&str> = loaded.included().iter().map(|own| own.name.as_str()).collect();
    assert_eq!(names, ["part.yaml", "devices/drive.yaml"]);
    let text = plant("", "drive.yaml", "{ size: 60 B }");
    let below = load_from("plants/plant.yaml", &text, &read, &[], &[]);
    assert_eq!(below.included()[0].name, "plants/drive.yaml");
}

/// Oracle: by hand. Each file is read once, for however many nodes.
#[test]
fn a_profile_is_read_once() {
    let nodes: Vec<String> =
        (0..50).map(|n| format!("  d{n}: {{ stack: drive.yaml }}\n")).collect();
    let nodes = nodes.concat();
    let text = format!("rtether: 1\nnodes:\n{nodes}");
    let count = std::cell::Cell::new(0);
    let loaded = load_from(
        "plant.yaml",
        &text,
        &|path| {
            count.set(count.get() + 1);
            read(path)
        },
        &[],
        &[],
    );
    assert_eq!(loaded.included().len(), 1);
    // Once more where edits of messages are tried.
    assert!(count.get() <= 2, "{}", count.get());
}

/// Oracle: by hand. A value of a profile is replaced as one of the scenario, and the profile stays.
#[test]
fn values_of_profiles_are_changed_in_the_scenario() {
    let text = plant("", "drive.yaml", "{ size: 60 B, after: 0 us }");
    let change = set("nodes.drive.stack.both", "5 us");
    let expected = STACK.replace("{ unknown: 318 us .. 324 us }", "5 us");
    let expected = good(&plant("", &expected, "{ size: 60 B, after: 0 us }"), &[]);
    assert_eq!(good(&text, &change), expected);
    let written = Written::of(&loaded(&text, &[]), Vec::new());
    assert_eq!((written.place(&change[0]), written.edit(&change[0])), (None, None));
    let settled = written.settled(&change).expect("a text");
    assert_eq!(settled, format!("{text}changes:\n  'nodes.drive.stack.both': 5 us\n"));
    // Of a stack of the scenario, what is written there is changed there.
    let own = plant("", "{ stack: drive.yaml, stack_queue: 4 }", "{ size: 60 B, after: 0 us }");
    let written = Written::of(&loaded(&own, &[]), Vec::new());
    let queue = set("nodes.drive.stack.stack_queue", "9");
    let settled = written.settled(&queue).expect("a text");
    assert_eq!(settled, own.replace("stack_queue: 4", "stack_queue: 9"));
    let settled = written.settled(&change).expect("a text");
    assert_eq!(good(&settled, &[]), good(&own, &change));
}

fn assumptions(stack: &str, changes: &[Override]) -> Assumptions {
    let text = plant("", stack, "{ size: 60 B }");
    loaded(&text, changes).scenario.expect("a scenario").assumptions
}

/// Oracle: by hand.
#[test]
fn what_is_not_confirmed_is_an_assumption() {
    let sure = assumptions("drive.yaml", &[]);
    assert_eq!((sure.held.len(), sure.ended.len()), (0, 0));
    let identified = &sure.identified[0];
    assert_eq!(
        (identified.path.as_str(), identified.file.as_str()),
        ("nodes.drive.stack", "drive.yaml")
    );
    assert!(matches!(&identified.about, About::Nodes(nodes) if nodes.len() == 1));
    let unsure = assumptions("unsure.yaml", &[]);
    let held = &unsure.held[0];
    assert_eq!((held.path.as_str(), held.kind()), ("nodes.drive.stack", "stack"));
    assert!(held.why.starts_with("unsure.yaml: not confirmed"), "{}", held.why);
    // It ends as others do.
    let changed = assumptions("unsure.yaml", &set("nodes.drive.stack.both", "5 us"));
    assert_eq!((changed.held.len(), changed.ended), (0, vec!["nodes.drive.stack".to_owned()]));
    let other = assumptions("unsure.yaml", &set("nodes.drive.stack", "zero"));
    assert_eq!((other.held.len(), other.identified.len()), (0, 0));
    // What is assumed of the node goes on.
    let node = "{ stack: drive.yaml }";
    let text = plant(
        &format!("assumed: {{ nodes.drive: {{ is: {node}, why: drawn }} }}\n"),
        "drive.yaml",
        "{ size: 60 B }",
    );
    let of_node = loaded(&text, &[]).scenario.expect("a scenario").assumptions;
    assert_eq!((of_node.held.len(), of_node.ended.len()), (1, 0));
    let better = assumptions("unsure.yaml", &set("nodes.drive.stack", "drive.yaml"));
    assert_eq!((better.held.len(), better.identified.len()), (0, 1));
}

/// Oracle: that a file with all of it is read as the same plant.
#[test]
fn one_file_holds_what_profiles_say() {
    for stack in ["drive.yaml", "unsure.yaml"] {
        let text = plant("", stack, "{ size: 60 B }");
        let loaded = loaded(&text, &[]);
        let whole = Written::of(&loaded, Vec::new()).whole().expect("a text");
        let again = load("plant.yaml", &whole).scenario.expect("a scenario");
        let mut expected = loaded.scenario.expect("a scenario");
        expected.assumptions.identified.clear();
        assert_eq!(again, expected, "{whole}");
    }
}

#[test]
fn what_is_wrong_with_a_profile_has_its_place() {
    let reply = "{ size: 60 B }";
    let two = plant("", "drive.yaml", reply)
        .replace("to: drive", "to: [drive, more]")
        .replace("  drive:", "  more: { stack: unsure.yaml }\n  drive:");
    for (name, text) in [
        ("absent", plant("", "gone.yaml", reply)),
        ("above", plant("", "/etc/drive.yaml", reply)),
        ("broken", plant("", "broken.yaml", reply)),
        ("nested", plant("", "nested.yaml", reply)),
        ("secret", plant("", "secret.yaml", reply)),
        ("silent", plant("", "silent.yaml", reply)),
        ("two", two),
        ("zero", plant("stacks: { d: { stack: zero } }\n", "d", reply)),
    ] {
        let loaded = loaded(&text, &[]);
        assert!(loaded.scenario.is_none(), "{name}");
        let words = loaded.text(render::Style::Plain);
        assert!(!words.contains("hunter2"), "{words}");
        insta::with_settings!({ snapshot_path => "bad/identified", prepend_module_to_snapshot => false, omit_expression => true }, {
            insta::assert_snapshot!(name, words);
        });
    }
    let by_option = loaded(&plant("", "zero", reply), &set("nodes.drive.stack", "gone.yaml"));
    assert!(by_option.scenario.is_none());
}
