//! Scenarios in several files: what they say together, and every mistake at its own file and line.

use std::cell::RefCell;
use std::collections::BTreeMap;

use rtether_model::quantity::Duration;
use rtether_scenario::{Loaded, Override, Written, load, load_from, render};

const PLANT: &str = "rtether: 1
include: [cells/two.yaml, own.yaml]
nodes: { a: { stack: zero }, b: { stack: zero } }
switches: { sw: { ports: 4 } }
links:
  - { ends: [a, \"sw:1\"], rate: 100 Mbit/s }
  - { ends: [b, \"sw:2\"], rate: 100 Mbit/s }
flows:
  - { name: first, from: a, to: b, period: 2 ms, size: 64 B, deadline: 3 ms }
run: { for: 1 s }
";
const TWO: &str = "rtether: 1
include: ../stacks.yaml
nodes: { c: { stack: slow } }
links: [{ ends: [c, \"sw:3\"], rate: 100 Mbit/s }]
flows: [{ name: second, from: c, to: a, period: 4 ms, size: 64 B }]
changes: { flows.first.period: 8 ms, run.for: 2 s }
";
const STACKS: &str = "stacks: { slow: { service: 100 us } }\n";
const OWN: &str = "flows:
  - { name: third, from: b, to: c, period: 1 ms, size: 64 B }
changes:
  flows.first.deadline: 5 ms
  run.for: 3 s
";

type Files<'f> = [(&'f str, &'f str)];

fn read(files: &Files<'_>, path: &str) -> Result<String, String> {
    let found = files.iter().find(|(name, _)| *name == path);
    let found = found.ok_or_else(|| "there is no such file".to_owned())?;
    Ok(found.1.to_owned())
}

fn load_all(text: &str, files: &Files<'_>, changes: &[Override]) -> Loaded {
    load_from("p/plant.yaml", text, &|path| read(files, path), changes, &[])
}

fn whole() -> [(&'static str, &'static str); 3] {
    [("p/cells/two.yaml", TWO), ("p/stacks.yaml", STACKS), ("p/own.yaml", OWN)]
}

/// Oracle: the same plant in one file, written by hand.
#[test]
fn several_files_are_one_scenario() {
    let one = "rtether: 1
name: plant
stacks: { slow: { service: 100 us } }
nodes: { a: { stack: zero }, b: { stack: zero }, c: { stack: slow } }
switches: { sw: { ports: 4 } }
links:
  - { ends: [a, \"sw:1\"], rate: 100 Mbit/s }
  - { ends: [b, \"sw:2\"], rate: 100 Mbit/s }
  - { ends: [c, \"sw:3\"], rate: 100 Mbit/s }
flows:
  - { name: first, from: a, to: b, period: 8 ms, size: 64 B, deadline: 5 ms }
  - { name: second, from: c, to: a, period: 4 ms, size: 64 B }
  - { name: third, from: b, to: c, period: 1 ms, size: 64 B }
run: { for: 3 s }
";
    let several = load_all(PLANT, &whole(), &[]);
    let words = several.text(render::Style::Plain);
    let one = load("plant.yaml", one).into_scenario().expect("one file");
    let names: Vec<&str> = several.included().iter().map(|f| f.name.as_str()).collect();
    assert_eq!(names, ["p/cells/two.yaml", "p/stacks.yaml", "p/own.yaml"]);
    let several = several.scenario.expect(&words);
    assert_eq!(several.network, one.network);
    assert_eq!(several.flows, one.flows);
    assert_eq!(several.run, one.run);
}

/// Oracle: the rule that a file has the last word over those that it includes, and `--set` over all.
#[test]
fn the_file_above_has_the_last_word() {
    let duration = |text: &str, changes: &[Override]| {
        let loaded = load_all(text, &whole(), changes);
        loaded.into_scenario().expect("a plant").run.duration
    };
    assert_eq!(duration(PLANT, &[]), Duration::from_ms(3000));
    let above = format!("{PLANT}changes: {{ run.for: 5 s }}\n");
    assert_eq!(duration(&above, &[]), Duration::from_ms(5000));
    let set = Override::new("--set", "run.for", "7 s");
    assert_eq!(duration(&above, &[set]), Duration::from_ms(7000));
}

/// Oracle: the lines of the texts above, counted by hand.
#[test]
fn an_edit_names_the_file_that_holds_the_value() {
    let loaded = load_all(PLANT, &whole(), &[]);
    let written = Written::of(&loaded, Vec::new());
    let place = |path: &str| {
        let (file, line) = written.place(&Override::new("--set", path, "1"))?;
        Some(format!("{file}:{line}"))
    };
    for (path, expected) in [
        ("flows.first.size", "p/plant.yaml:9"),
        ("flows.first.pcp", "p/plant.yaml:9"),
        // Written in the plant, but changed elsewhere.
        ("flows.first.deadline", "p/own.yaml:4"),
        ("flows.second.period", "p/cells/two.yaml:5"),
        ("links[2].rate", "p/cells/two.yaml:4"),
        ("stacks.slow.service", "p/stacks.yaml:1"),
        ("flows.third.pcp", "p/own.yaml:2"),
        ("run.for", "p/own.yaml:5"),
    ] {
        assert_eq!(place(path).as_deref(), Some(expected), "{path}");
    }
    // The same files are read again for a change.
    let change = Override::new("--set", "flows.third.period", "6 ms");
    let changed = written.with(&change).expect("the files are kept");
    assert_eq!(changed.flows.len(), 3);
}

fn messages(text: &str, files: &Files<'_>) -> String {
    let loaded = load_all(text, files, &[]);
    assert!(loaded.scenario.is_none() && loaded.has_errors());
    loaded.text(render::Style::Plain)
}

/// Every mistake names its file and line; the snapshot is reviewed.
#[test]
fn mistakes_are_shown_in_their_own_file() {
    let plant = PLANT.replace("[cells/two.yaml, own.yaml]", "own.yaml");
    let of_own = |own: &str| messages(&plant, &[("p/own.yaml", own)]);
    let of_plant = |include: &str| {
        let plant = PLANT.replace("[cells/two.yaml, own.yaml]", include);
        messages(&plant, &whole())
    };
    let words = [
        of_own("flows:\n  - { name: third, from: b, to: nowhere, period: 1 ms, size: 64 B }\n"),
        of_own("flows:\n  - { name: first, from: b, to: a, period: 1 ms, size: 64 B }\n"),
        of_own("nodes: { b: { stack: zero }, sw: { stack: zero } }\n"),
        of_own("run: { for: 2 s }\nflwos: []\nrtether: 2\n"),
        of_own("flows: { third: {} }\n"),
        of_own("- 1\n"),
        of_own("flows: [\n"),
        of_own("changes:\n  flows.frist.deadline: 5 ms\n  \"flows.first.periode\": 5 ms\n"),
        of_own("changes: 5 ms\n"),
        of_own("changes: { flows.first.deadline: 5 parsec }\n"),
        of_own("include: [plant.yaml]\n"),
        of_own("include: [a: 1, /etc/passwd, missing.yaml, ..]\n"),
        of_plant("[own.yaml, cells/../own.yaml]"),
    ];
    insta::with_settings!({ snapshot_path => "bad/snapshots", prepend_module_to_snapshot => false, omit_expression => true }, {
        insta::assert_snapshot!("include-files", words.join("\n"));
    });
}

/// The scenario of a stranger may name any file of the host. Oracle: the texts themselves, of which no word may be seen.
#[test]
fn nothing_is_quoted_of_a_file_that_is_no_part() {
    let plant = PLANT.replace("[cells/two.yaml, own.yaml]", "[own.yaml]");
    for secret in [
        "hunter2:*:19000:0:99999:7:::\n",
        "hunter2 = 1\n[section]\n",
        "{ hunter2: 1 }\n",
        "- hunter2\n",
        "hunter2: 1\nflows: []\n",
        "\"hunter2\n",
        "HOME=hunter2\0PATH=/bin\0",
    ] {
        let loaded = load_all(&plant, &[("p/own.yaml", secret)], &[]);
        let text = loaded.text(render::Style::Plain);
        let json = loaded.json_lines();
        assert!(text.contains("`p/own.yaml` is no part of a scenario"), "{text}");
        assert!(text.contains("p/plant.yaml:2:11"), "{text}");
        assert!(!text.contains("hunter2") && !json.contains("hunter2"), "{text}");
    }
}

/// Oracle: the limits in the reference: 64 files, 8 deep, 64 MiB and eight million values together.
#[test]
fn hostile_files_end_with_a_message() {
    let codes = |files: &dyn Fn(&str) -> Result<String, String>, text: &str| {
        let loaded = load_from("plant.yaml", text, files, &[], &[]);
        let codes = loaded.diagnostics.iter().map(|d| d.code);
        codes.collect::<Vec<&str>>()
    };
    // Each file includes the next one: the ninth is refused, and no file beyond it is asked for.
    let asked = RefCell::new(0);
    let deep = |path: &str| {
        *asked.borrow_mut() += 1;
        Ok(format!("include: x{path}\n"))
    };
    let plant = PLANT.replace("[cells/two.yaml, own.yaml]", "own.yaml");
    assert_eq!(codes(&deep, &plant), ["too-large"]);
    assert_eq!(*asked.borrow(), 8);
    // Each includes two others: at most 64 are read.
    let asked = RefCell::new(0);
    let wide = |path: &str| {
        *asked.borrow_mut() += 1;
        Ok(format!("include: [a{path}, b{path}]\n"))
    };
    assert!(codes(&wide, &plant).contains(&"too-large"));
    assert_eq!(*asked.borrow(), 64);
    // Comments of 40 MiB, twice.
    let large = |_: &str| Ok(format!("flows: []\n#{}\n", "x".repeat(40 << 20)));
    let two = PLANT.replace("cells/two.yaml", "two.yaml");
    assert_eq!(codes(&large, &two), ["too-large"]);
    // Aliases that expand to more than four million values in each file.
    let bomb = |_: &str| {
        let thousand = "1, ".repeat(2200);
        let more = "*a, ".repeat(2000);
        Ok(format!("x-a: &a [{thousand}]\nnodes: [{more}]\n"))
    };
    assert!(codes(&bomb, &two).contains(&"too-large"));
}

/// Oracle: RFC 8259 and YAML 1.2: any octets, in any file, end with a scenario or a message.
#[test]
fn texts_cut_anywhere_end_with_a_message() {
    let mut seen = BTreeMap::new();
    for text in [TWO, OWN, STACKS] {
        for end in 0..text.len() {
            let cut = |path: &str| match path {
                "p/own.yaml" => Ok(text[..end].to_owned()),
                path => read(&whole(), path),
            };
            let plant = PLANT.replace("cells/two.yaml, ", "");
            let loaded = load_from("p/plant.yaml", &plant, &cut, &[], &[]);
            assert_eq!(loaded.scenario.is_none(), loaded.has_errors());
            *seen.entry(loaded.has_errors()).or_insert(0) += 1;
        }
    }
    assert_eq!(seen.len(), 2, "{seen:?}");
}

#[test]
fn set_does_not_reach_what_is_read_before() {
    // By the rule that only files include files.
    for path in ["include", "changes.run.for"] {
        let set = Override::new("--set", path, "own.yaml");
        let loaded = load_all(PLANT, &whole(), &[set]);
        assert_eq!(loaded.diagnostics[0].code, "unknown-path", "{path}");
    }
}

const ASSUMED: &str = "
assumed:
  switches.sw.latency: { is: { unknown: 1 us .. 10 us }, why: not in the data sheet }
  links.1: { is: { rate: 100 Mbit/s, ends: [b, \"sw:2\"] }, why: nobody looked }
  flows.first.deadline: { is: 3 ms, why: as the other lines have it }
  run.for: { is: 1 s, why: long enough }
  nodes.c: { is: { stack: zero }, why: there may be one }
";

/// Returns the paths of assumptions that hold, and of those that have ended.
fn assumptions(loaded: Loaded) -> [Vec<String>; 2] {
    let scenario = loaded.into_scenario().expect("no mistake");
    let own = scenario.assumptions;
    let held = own.held.into_iter().map(|one| one.path);
    [held.collect(), own.ended]
}

/// By the table of keys: an assumption holds as long as its value stands in its own file, and no
/// other file or option writes it, not even the same value.
#[test]
fn an_assumption_ends_when_somebody_writes_its_value() {
    let plant = PLANT.replace("include: [cells/two.yaml, own.yaml]\n", "");
    let plant = plant.replace("ports: 4", "ports: 4, latency: { unknown: 1 us .. 10 us }");
    let text = format!("{plant}{ASSUMED}");
    let (latency, link, deadline) = ("switches.sw.latency", "links.1", "flows.first.deadline");
    let [held, ended] = assumptions(load("plant.yaml", &text));
    assert_eq!(held, [latency, link, deadline, "run.for"]);
    assert_eq!(ended, ["nodes.c"]);
    let set = |path: &str, value: &str| {
        let change = Override::new("--set", path, value);
        assumptions(rtether_scenario::load_with("plant.yaml", &text, &[change]))[1].clone()
    };
    // The same value, a part of a value, and another value.
    assert_eq!(set(deadline, "3 ms"), [deadline, "nodes.c"]);
    assert_eq!(set("links.1.rate", "1 Gbit/s"), [link, "nodes.c"]);
    assert_eq!(set(latency, "4 us"), [latency, "nodes.c"]);
    // In the file itself: what was assumed is no longer there.
    let edited =
        text.replace("ports: 4, latency: { unknown: 1 us .. 10 us }", "ports: 4, latency: 4 us");
    let [held, _] = assumptions(load("plant.yaml", &edited));
    assert_eq!(held, [link, deadline, "run.for"]);
    // By `changes` of a file of the user, which a second import keeps.
    let own = [("p/own.yaml", "changes: { switches.sw.latency: 4 us }")];
    let included = format!("{text}include: own.yaml\n");
    let [held, _] = assumptions(load_all(&included, &own, &[]));
    assert_eq!(held, [link, deadline, "run.for"]);
    // Files may bring assumptions of their own, about what they hold.
    let own = [(
        "p/own.yaml",
        "flows: [{ name: third, from: b, to: a, period: 1 ms, size: 64 B }]\n\
         assumed: { flows.third.size: { is: 64 B, why: guessed } }",
    )];
    let [held, _] = assumptions(load_all(&included, &own, &[]));
    assert_eq!(held, [latency, link, deadline, "run.for", "flows.third.size"]);
}
