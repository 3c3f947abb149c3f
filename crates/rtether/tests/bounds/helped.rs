//! What would help helps: every edit that is shown is written into the file, which is then read and
//! analyzed as any other, in random plants.

use std::collections::BTreeMap;

use rtether::bound::{self, Methods, Steps, analyze_with};
use rtether::check::{self, Options};
use rtether::help::{Change, Help};
use rtether::report::format::{Format, Render};
use rtether::report::table::Screen;
use rtether::report::verdicts::Verdicts;
use rtether::report::{Checked, html};
use rtether::run::{Progress, simulate};
use rtether::scenario::{Override, Scenario, Written, load};
use rtether::verdict::Standing;
use rtether::why::{Explainer, Stream};
use rtether_model::quantity::Duration;
use rtether_testkit::read_document;

use crate::bounds::{admitted, dice, for_each_case_up_to};

/// Plants of the ordinary run, and of the nightly one.
const CASES: [u64; 2] = [300, 10_000];

/// Returns a plant with more flows than fit its deadlines, or with one of three requirements.
fn file(number: u64) -> (String, Vec<&'static str>) {
    let (text, own, added) = admitted::random(number);
    let mut dice = dice(number ^ 0x4e1b);
    let accept = dice.pick(&["", "accept: proved\n", "accept: { bound: 2 ms, lost: 0 }\n"]);
    let file = text.file(&[own, added].concat());
    let file = file.replace("warmup: 0 s }", "warmup: 0 s, overload: allow }");
    (file + accept, text.kinds)
}

/// Writes an edit into a file.
fn edited(text: &str, edit: &Override) -> String {
    format!("{text}changes: {{ \"{}\": {} }}\n", edit.path, edit.value)
}

fn read(text: &str) -> Scenario {
    let loaded = load("plant.yaml", text);
    loaded.into_scenario().unwrap_or_else(|words| panic!("{words}\n{text}"))
}

/// Returns the name of the first stream of the table of verdicts that failed, or has no answer, and whose
/// proof falls short; without one, of the first that is not proved.
fn first_in_need(checked: &Checked) -> Option<String> {
    let table = Verdicts::from(checked).render(Format::Table, Screen::default());
    let mut lines = table.lines();
    let header = lines.find(|line| line.contains(" verdict"))?;
    let place = |title: &str| Some(header[..header.find(title)?].chars().count());
    let [proof, verdict] = [place("proof")?, place("verdict")?];
    let word = |line: &str, at: usize| {
        let cell: String = line.chars().skip(at).collect();
        let word = cell.split("  ").next().unwrap_or_default();
        word.trim().replace('-', " ")
    };
    let rows: Vec<&str> = lines.skip(1).take_while(|line| !line.is_empty()).collect();
    let mut failed = rows.iter().filter(|row| {
        let is_failure = ["LATE", "LOST", "not proved", "no answer"]
            .iter()
            .any(|own| word(row, verdict) == *own);
        let short = ["not proved", "no bound", "if delivered", "if nothing dropped"];
        is_failure && short.contains(&&word(row, proof)[..])
    });
    let mut others = rows.iter().filter(|row| word(row, proof) == "not proved");
    let found = failed.next().or_else(|| others.next())?;
    Some(found.split_whitespace().next()?.to_owned())
}

/// Returns how many streams are proved by their deadlines, and what is proved of one: its bound, and
/// how it stands.
fn proved(
    scenario: &Scenario,
    stream: usize,
    limit: Duration,
) -> (usize, Option<(Duration, Standing)>) {
    let analysis = bound::analyze(scenario);
    let in_time = analysis.judged().filter(|(own, condition)| {
        let deadline = scenario.flows[own.flow.index()].deadline;
        let bound = own.bound.as_ref().ok().map(|bound| bound.latency);
        let both = bound.zip(deadline);
        condition.is_none() && both.is_some_and(|(bound, deadline)| bound <= deadline)
    });
    let bound = analysis.streams[stream].bound.as_ref().ok();
    let own = bound.map(|bound| {
        let effect = analysis.condition(stream).map(|own| own.effect);
        let standing =
            if bound.latency > limit { Standing::NotProved } else { Standing::of_proof(effect) };
        (bound.latency, standing)
    });
    (in_time.count(), own)
}

/// Checks that a change does what is said of it.
fn keeps_its_word(text: &str, help: &Help, change: &Change) {
    let Some(edit) = &change.edit else { return };
    let scenario = read(&edited(text, edit));
    let written = Written::from(text.to_owned());
    let by_option = written.with(edit).expect("an edit that the loader takes");
    assert_eq!(by_option.network, scenario.network);
    let (count, own) = proved(&scenario, help.stream, help.limit);
    assert_eq!(own, Some((change.bound, change.proof)), "{}", edit.argument());
    assert_eq!(count, change.proved, "{}", edit.argument());
    assert!(count >= help.proved, "{}", edit.argument());
    let gain = help.bound.map(|before| before - change.bound);
    assert_eq!(gain, change.gain);
    let (file, line) = change.place.clone().expect("where it is written");
    assert!(file == written.name && line <= text.lines().count(), "{file}:{line}");
    if change.proof == Standing::Proved {
        let results = simulate(&scenario, &Progress::default()).unwrap();
        let stream = &results.record.streams[help.stream];
        assert!(stream.latency.max <= help.limit && stream.dropped == 0, "{stream:?}");
    }
}

/// Checks words, page and JSON.
fn is_said_alike(checked: &Checked, help: &Help) {
    let name = checked.stream_name(&checked.stream(help.stream));
    assert_eq!(Some(&name), first_in_need(checked).as_ref());
    let proves = |change: &Change| change.proof == Standing::Proved;
    let changes = help.changes.as_ref().expect("a small plant");
    let is_proved = changes.iter().any(proves);
    let gains = changes.iter().any(|own| own.proved > help.proved);
    let remark = help.remark();
    for (words, holds) in [
        ("No single change proves anything", !is_proved && !gains),
        ("No single change proves it", !is_proved && gains),
        ("What would give it a bound", help.no_bound.is_some() && !is_proved),
    ] {
        assert_eq!(remark.contains(words), holds, "{words}: {remark}");
    }
    let shown = Verdicts::from(checked).render(Format::Table, Screen::default());
    let page = html::render(checked);
    let json = read_document(&Verdicts::from(checked).render(Format::Json, Screen::default()));
    assert_eq!(json["help"]["flow"], checked.stream(help.stream).flow.name);
    assert_eq!(json["help"]["remark"], remark);
    let plain = |text: &str| text.replace(['&', '<', '>', '\'', '"'], "");
    for change in changes {
        let text = change.edit.as_ref().map_or(&change.words, |edit| &edit.value);
        assert!(shown.contains(&change.words), "{shown}");
        assert!(plain(&page).contains(&plain(text)), "{text}");
    }
    assert!(shown.contains(&help.title(&name)), "{shown}");
}

/// Checks the trials of `bound --sensitivity`: what is shown is what total flow analysis says of the
/// edited file, and no more than all methods say.
fn sensitivity_keeps_its_word(text: &str, scenario: &Scenario) -> [usize; 2] {
    let written = Written::from(text.to_owned());
    let Ok(mut found) = bound::sensitivity(scenario, None, &Steps::default()) else {
        return [0; 2];
    };
    found.find_edits(scenario, &written);
    let is_it = |scenario: &Scenario, own: &rtether_bounds::StreamBound| {
        let name = &scenario.network.node(own.listener).name;
        (&scenario.flows[own.flow.index()].name, name) == (&found.flow, &found.listener)
    };
    let in_time = |scenario: &Scenario| -> Vec<bool> {
        let analysis = analyze_with(scenario, Methods::TotalFlow);
        let streams = analysis.streams.iter();
        let in_time = streams.map(|own| {
            let deadline = scenario.flows[own.flow.index()].deadline;
            let bound = own.bound.as_ref().ok().map(|bound| bound.latency);
            bound.zip(deadline).is_some_and(|(bound, deadline)| bound <= deadline)
        });
        in_time.collect()
    };
    let before = in_time(scenario);
    let own = analyze_with(scenario, Methods::TotalFlow).streams;
    let own = own.iter().position(|own| is_it(scenario, own));
    let mut edits = 0;
    for trial in &found.trials {
        let Some(edit) = &trial.edit else { continue };
        let scenario = read(&edited(text, edit));
        let [by_flow, by_all] = [Methods::TotalFlow, Methods::All].map(|methods| {
            let analysis = analyze_with(&scenario, methods);
            let own = analysis.streams.iter().find(|own| is_it(&scenario, own));
            own.unwrap().bound.as_ref().ok().map(|bound| bound.latency)
        });
        assert_eq!(trial.bound, by_flow, "{}", edit.argument());
        let both = before.iter().zip(in_time(&scenario)).enumerate();
        let late = both.filter(|&(at, (then, now))| Some(at) != own && *then && !now);
        assert_eq!(trial.others_late, late.count(), "{}", edit.argument());
        assert!(by_all <= by_flow, "{}", edit.argument());
        edits += 1;
    }
    [found.trials.len(), edits]
}

/// Oracle: the file with the edit in it, read, analyzed and simulated as any other; the rows of the table.
#[test]
#[allow(clippy::print_stdout, reason = "shown with --nocapture")]
fn what_would_help_keeps_its_word() {
    let mut counts: BTreeMap<&str, usize> = BTreeMap::new();
    for_each_case_up_to(CASES, "what_would_help_keeps_its_word", |number| {
        let mut count = |name, more| *counts.entry(name).or_default() += more;
        let (text, _) = file(number);
        let Some(scenario) = load("plant.yaml", &text).scenario else {
            return count("refused", 1);
        };
        let [trials, edits] = sensitivity_keeps_its_word(&text, &scenario);
        count("sensitivity: changes", trials);
        count("sensitivity: edits", edits);
        let options = Options { source: Some(Written::from(text.clone())), ..Options::default() };
        let checked = check::check(&scenario, options).unwrap();
        let Some(help) = &checked.help else {
            assert_eq!(first_in_need(&checked), None);
            return count("in no need", 1);
        };
        is_said_alike(&checked, help);
        count("helped", 1);
        let failed = checked.stream(help.stream).verdict().is_failure();
        count("of a failed stream", usize::from(failed));
        count("without a bound", usize::from(help.no_bound.is_some()));
        count("if not dropped", usize::from(help.only_if.is_some()));
        for change in help.changes.iter().flatten() {
            keeps_its_word(&text, help, change);
            let proves = change.proof == Standing::Proved;
            count("changes", 1);
            count("changes without an edit", usize::from(change.edit.is_none()));
            count("changes that prove it", usize::from(proves));
            count("hubs", usize::from(change.words.starts_with("hub")));
            count("memory", usize::from(change.words.contains("room for")));
        }
        let nothing = help.remark().contains("proves anything");
        count("no change proves anything", usize::from(nothing));
    });
    println!("{counts:#?}");
    if std::env::var_os("RTETHER_CASE").is_none() {
        for (kind, least) in [
            ("helped", 80),
            ("of a failed stream", 40),
            ("without a bound", 5),
            ("if not dropped", 5),
            ("changes that prove it", 20),
            ("hubs", 5),
            ("memory", 1),
            ("no change proves anything", 5),
            ("sensitivity: edits", 50),
        ] {
            let seen = counts.get(kind).copied().unwrap_or_default();
            assert!(seen >= least, "{kind}: {seen}");
        }
    }
}

fn help_of(text: &str) -> Help {
    let options = Options { source: Some(Written::from(text.to_owned())), ..Options::default() };
    let checked = check::check(&read(text), options).unwrap();
    let help = checked.help.clone().expect("something fell short");
    is_said_alike(&checked, &help);
    for change in help.changes.iter().flatten() {
        keeps_its_word(text, &help, change);
    }
    help
}

/// Oracle: the loader, which takes one rate for a hub and all links on it.
#[test]
fn a_hub_is_made_faster_as_a_whole() {
    let text = include_str!("sensitivity-hub.yaml").replace("1500 us", "400 us");
    let help = help_of(&text);
    let [change] = &help.changes.as_ref().unwrap()[..] else {
        panic!("{help:?}");
    };
    let edit = change.edit.as_ref().map(Override::text);
    assert_eq!(edit.as_deref(), Some("hubs.h.rate=100 Mbit/s"));
    assert_eq!((change.proof, change.proved), (Standing::Proved, 2));
    // With a rate of its own on a link, no single value makes the change.
    let text = text.replace("\"h:1\"] }", "\"h:1\"], rate: 10 Mbit/s }");
    let help = help_of(&text);
    let changes = help.changes.as_ref().unwrap();
    assert_eq!((&changes[0].edit, changes.len()), (&None, 1));
    assert_eq!((changes[0].bound, changes[0].proof), (change.bound, Standing::Proved));
    // Nor does any change where stations may collide.
    let text = text.replace(", access: { scheme: polling }", "") + "accept: proved\n";
    let help = help_of(&text);
    assert_eq!(help.changes, Some(Vec::new()));
    assert!(help.remark().contains("an `access` scheme"), "{}", help.remark());
}

/// Oracle: by hand, each buffer holds one frame beside the one that is sent.
#[test]
fn room_for_all_is_an_edit() {
    let text = "rtether: 1\n\
        nodes: { a: { stack: zero }, b: { stack: zero }, c: { stack: zero }, d: { stack: zero } }\n\
        switches: { s: { ports: 4, buffer: 1522 B } }\n\
        links:\n\
        \x20 - { ends: [a, \"s:1\"], rate: 100 Mbit/s }\n\
        \x20 - { ends: [b, \"s:2\"], rate: 100 Mbit/s }\n\
        \x20 - { ends: [c, \"s:3\"], rate: 100 Mbit/s }\n\
        \x20 - { ends: [d, \"s:4\"], rate: 100 Mbit/s }\n\
        flows:\n\
        \x20 - { name: f, from: a, to: d, period: 10 ms, size: 1400 B, deadline: 10 ms }\n\
        \x20 - { name: g, from: b, to: d, period: 10 ms, size: 1400 B, deadline: 10 ms }\n\
        \x20 - { name: h, from: c, to: d, period: 10 ms, size: 1400 B, deadline: 10 ms }\n\
        run: { for: 1 s }\naccept: proved\n";
    let help = help_of(text);
    let changes = help.changes.as_ref().unwrap();
    let edits: Vec<_> = changes.iter().map(|own| &own.edit).collect();
    let first = edits[0].as_ref().expect("one value").text();
    assert!(first.starts_with("switches.s.buffer="), "{first}");
    assert_eq!((changes[0].proof, changes[0].proved), (Standing::Proved, 3));
}

/// Oracle: the analysis of the file, in which a frame still comes by the slow network. The file is one
/// that random plants found.
#[test]
fn a_change_in_one_of_two_networks_is_no_more_than_that() {
    let text = include_str!("helped-prp.yaml");
    let scenario = read(text);
    let [changes, edits] = sensitivity_keeps_its_word(text, &scenario);
    assert!(changes > edits && edits > 0, "{changes} {edits}");
}

/// Oracle: the run of the file with the edits in it.
#[test]
fn the_pattern_near_a_bound_is_an_edit() {
    let mut found = 0;
    for_each_case_up_to([12, 300], "the_pattern_near_a_bound_is_an_edit", |number| {
        let (text, _) = file(number);
        let Some(scenario) = load("plant.yaml", &text).scenario else {
            return;
        };
        let Some(flow) = scenario.flows.first() else {
            return;
        };
        let stream = Stream::named(&scenario, &flow.name).unwrap();
        let mut why = Explainer::new(&scenario).explain(stream).unwrap();
        why.look_for_pattern();
        let Some(pattern) = why.pattern else { return };
        let edits = pattern.edits(&scenario);
        let edits = edits.iter();
        let edits = edits.map(|edit| format!("\"{}\": {}", edit.path, edit.value));
        let edits = edits.collect::<Vec<_>>().join(", ");
        let scenario = read(&format!("{text}changes: {{ {edits} }}\n"));
        let results = simulate(&scenario, &Progress::default()).unwrap();
        assert_eq!(results.record.streams[0].latency.max, pattern.latency, "{edits}");
        found += 1;
    });
    assert!(found > 0 || std::env::var_os("RTETHER_CASE").is_some());
}
