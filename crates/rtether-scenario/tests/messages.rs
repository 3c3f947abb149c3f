//! Every mistake has a message that is understood at first sight: snapshots of all of them.
//!
//! `bad/` holds one file per mistake; the snapshots are reviewed, never accepted in bulk.

use std::collections::BTreeSet;
use std::fmt::Write as _;
use std::fs;
use std::path::{Path, PathBuf};

use rtether_scenario::{Override, codes, load, load_with, render};

fn files(folder: &str) -> Vec<PathBuf> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join(folder);
    let entries = fs::read_dir(&folder).unwrap_or_else(|e| panic!("{}: {e}", folder.display()));
    let mut paths: Vec<PathBuf> =
        entries.map(|entry| entry.expect("a readable folder").path()).collect();
    paths.retain(|path| path.extension().is_some_and(|ext| ext == "yaml"));
    paths.sort();
    paths
}

#[test]
fn bad_files_say_what_is_wrong() {
    for path in files("tests/bad") {
        let text = fs::read_to_string(&path).unwrap();
        let file = path.file_name().unwrap().to_str().unwrap().to_owned();
        let loaded = load(&file, &text);
        assert!(!loaded.diagnostics.is_empty(), "{file} loads without a word");
        assert_eq!(loaded.scenario.is_none(), loaded.has_errors(), "{file}");
        let stem = file.trim_end_matches(".yaml");
        insta::with_settings!({ snapshot_path => "bad/snapshots", prepend_module_to_snapshot => false, omit_expression => true }, {
            insta::assert_snapshot!(stem, loaded.text(render::Style::Plain));
        });
    }
}

/// Oracle: the number of mistakes in the text. A thousand flows without a unit say it twenty times, and
/// a mistake of another kind behind them is seen.
#[test]
fn of_many_mistakes_of_a_kind_twenty_are_shown() {
    let mut text = "rtether: 1\nnodes: { a: { stack: zero }, b: { stack: zero } }\n\
        links: [{ ends: [a, b], rate: 100 Mbit/s }]\nflows:\n"
        .to_owned();
    for number in 0..150 {
        writeln!(text, "  - {{ name: f{number}, from: a, to: b, period: 4, size: 64 B }}").unwrap();
    }
    text += "  - { name: last, from: a, to: c, period: 4 ms, size: 64 B }\n";
    let loaded = load("many.yaml", &text);
    let of = |code: &str| loaded.diagnostics.iter().filter(|own| own.code == code).count();
    assert_eq!((of("missing-unit"), of("unknown-node")), (20, 1));
    let words = loaded.text(render::Style::Plain);
    assert!(words.contains("help: 130 more of this kind are counted and not shown"), "{words}");
}

#[test]
fn good_files_load_without_a_word() {
    let mut paths = files("../../scenarios");
    paths.extend(files("../../benches/scenarios"));
    assert!(paths.len() >= 8);
    for path in paths {
        let text = fs::read_to_string(&path).unwrap();
        let loaded = load(&path.display().to_string(), &text);
        let words = loaded.text(render::Style::Plain);
        assert!(words.is_empty() && loaded.scenario.is_some(), "{words}");
    }
}

#[test]
fn every_kind_of_mistake_is_shown_by_a_file() {
    let mut seen = BTreeSet::new();
    for path in files("tests/bad") {
        let text = fs::read_to_string(&path).unwrap();
        seen.extend(load("", &text).diagnostics.iter().map(|d| d.code));
    }
    // These need a `--set` path, very many mistakes, or a shim configuration.
    let elsewhere = ["unknown-path", "too-many-mistakes", "no-collisions-seen", "backend-cannot"];
    for code in codes::ALL {
        assert!(
            seen.contains(code.name) || elsewhere.contains(&code.name),
            "no file for {}",
            code.name
        );
    }
}

#[test]
fn messages_keep_the_house_style() {
    for path in files("tests/bad") {
        let text = fs::read_to_string(&path).unwrap();
        let file = path.display().to_string();
        for d in load(&file, &text).diagnostics {
            let first = d.title.chars().next().unwrap();
            assert!(!d.title.ends_with('.'), "{file}: {}", d.title);
            assert!(
                first.is_lowercase() || !first.is_alphabetic() || d.title.starts_with("TCP"),
                "{file}: {}",
                d.title
            );
            for word in ["invalid", "illegal", "failed to", "u64", "None"] {
                assert!(!d.title.contains(word), "{file}: {}", d.title);
            }
            assert!(codes::ALL.iter().any(|code| code.name == d.code), "{}", d.code);
        }
    }
}

#[test]
fn color_changes_nothing_but_color() {
    let text = "rtether: 1\nnodes: 4\n";
    let loaded = load("x.yaml", text);
    let plain = loaded.text(render::Style::Plain);
    let colored = loaded.text(render::Style::Colored);
    let mut stripped = String::new();
    let mut rest = colored.as_str();
    while let Some((before, after)) = rest.split_once('\u{1b}') {
        stripped.push_str(before);
        rest = after.split_once('m').map_or("", |(_, rest)| rest);
    }
    stripped.push_str(rest);
    assert_ne!(plain, colored);
    assert_eq!(plain, stripped);
}

#[test]
fn programs_get_lines_and_columns() {
    let loaded = load("x.yaml", "rtether: 1\nnodes:\n  \u{e4}: { stack: zreo }\n");
    let json = loaded.json();
    let first = &json[0];
    assert_eq!(first["code"], "unknown-stack");
    assert_eq!(first["severity"], "error");
    // Columns count characters: two spaces, the name, `: { stack: `.
    assert_eq!(first["spans"][0]["line"], 3);
    assert_eq!(first["spans"][0]["column"], 15);
    assert_eq!(first["spans"][0]["primary"], true);
    assert_eq!(first["help"][0], "did you mean `stack: zero`?");
}

#[test]
fn very_many_mistakes_are_counted() {
    use std::fmt::Write;
    let mut text = String::from("rtether: 1\nnodes:\n");
    for n in 0..1000 {
        writeln!(text, "  n{n}: {{ stack: missing }}").unwrap();
    }
    let loaded = load("x.yaml", &text);
    assert!(loaded.diagnostics.len() < 300);
    assert!(loaded.diagnostics.iter().any(|d| d.code == "too-many-mistakes"));
}

/// Oracle: stations without flows are warned of, and a plant with warnings can be run; in the other
/// file 300 flows start after the end of the run, and the last one ends at no node.
#[test]
fn very_many_warnings_refuse_nothing_and_hide_no_error() {
    let mut plant =
        String::from("rtether: 1\nnodes:\n  a: { stack: zero }\n  b: { stack: zero }\n");
    for number in 0..300 {
        let _ = writeln!(plant, "  s{number}: {{ stack: zero }}");
    }
    plant.push_str("links:\n  - { ends: [a, b], rate: 100 Mbit/s }\n");
    plant.push_str("flows:\n  - { name: x, from: a, to: b, period: 2 ms, size: 64 B }\n");
    let loaded = load("many.yaml", &plant);
    assert!(loaded.scenario.is_some() && !loaded.has_errors());
    let last = loaded.diagnostics.last().expect("warnings");
    assert_eq!(last.title, "100 more mistakes are not shown");

    for number in 0..300 {
        let _ = writeln!(
            plant,
            "  - {{ name: f{number}, from: a, to: b, period: 2 ms, size: 64 B, start: 100 h }}"
        );
    }
    plant.push_str("  - { name: last, from: a, to: nowhere, period: 2 ms, size: 64 B }\n");
    let loaded = load("many.yaml", &plant);
    assert!(loaded.scenario.is_none() && loaded.has_errors());
    let codes: Vec<&str> = loaded.diagnostics.iter().map(|d| d.code).collect();
    assert!(codes.contains(&"unknown-node"), "{codes:?}");
}

fn with(changes: &[&str]) -> rtether_scenario::Loaded {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../scenarios/bottling-line.yaml");
    let text = fs::read_to_string(path).expect("the scenario is there");
    let changes: Vec<Override> =
        changes.iter().map(|c| Override::parse(c).expect("PATH=VALUE")).collect();
    load_with("bottling-line.yaml", &text, &changes)
}

#[test]
fn overrides_replace_values() {
    use rtether_model::flow::Traffic;
    use rtether_model::quantity::{BitRate, Duration};
    let loaded = with(&[
        "flows.setpoint.period=1ms",
        "nodes.hmi.stack=plc",
        "run.seeds=4",
        "run.seed=7",
        "links.0.rate=1 Gbit/s",
        "flows.poll io.reply.after=50 us",
        "stacks.linux={ rate: 1000 packets/s }",
    ]);
    let scenario = loaded.scenario.expect("the overrides are sound");
    assert_eq!((scenario.run.runs, scenario.run.seed), (4, 7));
    assert_eq!(scenario.network.links[0].rate, BitRate::from_mbps(1000));
    let Traffic::Periodic { period, .. } = scenario.flows[0].traffic else {
        panic!("{:?}", scenario.flows[0]);
    };
    assert_eq!(period, Duration::from_ms(1));
    assert_eq!(scenario.flows[2].reply.unwrap().after, Duration::from_us(50));
}

/// Returns the names of the flows that have priority 3 after a change.
fn tagged(change: &str) -> Vec<String> {
    let scenario = with(&[change]).into_scenario().unwrap_or_else(|words| panic!("{words}"));
    let flows = scenario.flows.into_iter();
    let tagged = flows.filter(|flow| flow.tag.is_some_and(|tag| tag.pcp.get() == 3));
    tagged.map(|flow| flow.name).collect()
}

/// Oracle: names and keys in the file, by eye; no flow there has priority 3.
#[test]
fn one_override_reaches_all_that_a_selector_means() {
    let all = ["setpoint", "feedback", "poll io", "emergency stop", "recipe upload", "event log"];
    assert_eq!(tagged("flows[*].pcp=3"), all);
    assert_eq!(tagged("flows[name=setpoint].pcp=3"), ["setpoint"]);
    assert_eq!(
        tagged("flows[name=*e*o*].pcp=3"),
        ["setpoint", "emergency stop", "recipe upload", "event log"]
    );
    assert_eq!(tagged("flows[from=plc1].pcp=3"), ["setpoint", "poll io", "event log"]);
    assert_eq!(tagged("flows[from=plc1][name=*o*].pcp=3"), ["setpoint", "poll io", "event log"]);
    assert_eq!(tagged("flows[to=drive1].pcp=3"), ["setpoint", "emergency stop", "recipe upload"]);
}

/// Returns 3000 keys with one value.
fn list(name: &str, value: &str) -> String {
    let all: Vec<String> = (0..3_000).map(|number| format!("{name}{number}: {value}")).collect();
    all.join(", ")
}

/// Oracle: the limit of eight million values. A small file has a large one copied: 3000 keys into each
/// of 3000 nodes, and the second change into each of those.
#[test]
fn a_selector_does_not_make_a_small_file_large() {
    let (nodes, keys) = (list("n", "{ stack: zero }"), list("k", "1"));
    let text = format!(
        "rtether: 1\nnodes: {{ {nodes} }}\nchanges:\n  'nodes[*].a': {{ {keys} }}\n  \
         'nodes[*].stack': {{ {keys} }}\n"
    );
    let loaded = rtether_scenario::load("bomb.yaml", &text);
    assert_eq!(loaded.diagnostics[0].code, "too-large", "{}", loaded.text(render::Style::Plain));
}

#[test]
fn wrong_overrides_are_shown_like_any_mistake() {
    let words: Vec<String> = [
        "flows.setpiont.period=1ms",
        "flows.setpoint.period=1",
        "flows.setpoint.perod=1ms",
        "nodes.hmi2.stack=linux",
        "nodes.hmi.stack=linus",
        "run.seeds.more=4",
        "links.9.rate=1 Gbit/s",
        "run.seeds=[4",
        "flows[class=contrl].pcp=4",
        "flows[period=7 s].pcp=4",
        "flows[from=plc2][name=setpoint].pcp=4",
        "hubs[*].rate=10 Mbit/s",
        "nodes[stack=plc].stakc=linux",
    ]
    .iter()
    .map(|change| {
        let loaded = with(&[change]);
        assert!(loaded.has_errors(), "{change}");
        loaded.text(render::Style::Plain)
    })
    .collect();
    insta::with_settings!({ snapshot_path => "bad/snapshots", prepend_module_to_snapshot => false, omit_expression => true }, {
        insta::assert_snapshot!("overrides", words.join("\n"));
    });
}

/// Oracle: the limit of 100 000 records, of 20 stages and 6000 streams.
#[test]
fn stages_of_a_large_plant_are_limited() {
    let text = |streams: usize| {
        let mut text = String::from(
            "rtether: 1\nnodes: { a: { stack: zero }, b: { stack: zero } }\n\
             links: [{ ends: [a, b], rate: 1 Gbit/s }]\nflows:\n",
        );
        text.extend((0..streams).map(|flow| {
            format!("  - {{ name: f{flow}, from: a, to: b, period: 1 s, size: 60 B }}\n")
        }));
        text += "run:\n  for: 1 s\n  stages:\n";
        text.extend((0..20).map(|stage| format!("    - {{ name: s{stage}, from: {stage} ms }}\n")));
        text
    };
    let loaded = rtether_scenario::load("many.yaml", &text(6_000)).into_scenario();
    let message = loaded.expect_err("too many records");
    assert!(message.contains("a list of at most 16 with 6000 streams"), "{message}");
    let loaded = rtether_scenario::load("fewer.yaml", &text(5_000)).into_scenario();
    assert_eq!(loaded.expect("just enough").stages.len(), 20);
}
