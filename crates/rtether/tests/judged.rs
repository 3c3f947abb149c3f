//! Claims judged: what is refuted is shown by a run of the plant, from which nothing can be left out.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

use rtether::adversary::{Effort, Progress};
use rtether::bound;
use rtether::judge::{Claim, Claimed, JudgeError, Judgment, Ruling, Shrunk, claims, judge};
use rtether::run::{self, Progress as Runs};
use rtether::scenario::{Scenario, Written};
use rtether_model::quantity::Duration;

use super::adversary::{draw, load};

/// Plants drawn, in the ordinary run and with `RTETHER_NIGHTLY`.
const CASES: [u64; 2] = [8, 1_000];
/// Plants that a search tries.
const TRIES: u64 = 400;

/// Two stations that nothing waits for, and four that send to `b`.
const STAR: &str = "rtether: 1
stacks: { unused: { rate: 1000 packets/s } }
nodes: { a: { stack: zero }, b: { stack: zero }, c: { stack: zero }, d: { stack: zero }, e: { stack: zero }, x: { stack: zero }, y: { stack: zero } }
switches: { s: { ports: 7, latency: 5 us } }
links:
  - { ends: [a, \"s:1\"], rate: 100 Mbit/s }
  - { ends: [b, \"s:2\"], rate: 100 Mbit/s }
  - { ends: [c, \"s:3\"], rate: 100 Mbit/s }
  - { ends: [d, \"s:4\"], rate: 100 Mbit/s }
  - { ends: [e, \"s:5\"], rate: 100 Mbit/s }
  - { ends: [x, \"s:6\"], rate: 100 Mbit/s }
  - { ends: [y, \"s:7\"], rate: 100 Mbit/s }
flows:
  - { name: f, from: a, to: b, period: 1 ms, size: 16 B, deadline: 40 us }
  - { name: g, from: c, to: b, period: 2 ms, size: 16 B }
  - { name: h, from: d, to: b, period: 3 ms, size: 16 B }
  - { name: i, from: e, to: b, min_gap: 1 ms, mean_gap: 1 s, size: 16 B }
  - { name: far, from: x, to: y, period: 1 ms, size: 1000 B }
design: { allow: [pcp] }
run: { for: 1 s }
";

fn judged(text: &str, list: &str, effort: Effort) -> Result<Judgment, JudgeError> {
    let scenario = load(text);
    let claims = claims("claims.csv", list.as_bytes()).expect("claims");
    let written = Written::from(text.to_owned());
    judge((&scenario, &written), ("claims.csv", claims), &Progress::begin(effort), true)
}

fn rulings(judgment: &Judgment) -> Vec<Ruling> {
    judgment.claims.iter().map(|own| own.ruling).collect()
}

fn shrunk(judgment: &Judgment, claim: usize) -> &Shrunk {
    let run = judgment.claims[claim].run.expect("a run");
    &judgment.runs[run].shrunk
}

/// Simulates a scenario; returns the largest latency of a flow's only stream, and what it lost.
fn shown(text: &str, flow: &str) -> Option<(Option<Duration>, u64)> {
    let scenario = Written::from(text.to_owned()).load().scenario?;
    let record = run::simulate(&scenario, &Runs::default()).ok()?.record;
    let at = scenario.flows.iter().position(|own| own.name == flow)?;
    let stream = record.streams.iter().find(|own| own.flow as usize == at)?;
    Some((stream.worst.as_ref().map(|worst| worst.latency), stream.dropped))
}

/// Oracle: by hand. A frame of `f` takes 5.76 us on each of two links, 5 us in the switch, and waits for
/// at most three frames of 6.72 us: 36.68 us. Beyond 29 us it has waited for two of them.
#[test]
fn a_claim_is_proved_or_refuted_by_the_least_run() {
    let list = "flow,bound_us\nf,36.68\nf,36.6\nf,29\nf,reached\n";
    let judgment = judged(STAR, list, Effort::Plants(TRIES)).expect("it is about the plant");
    let [proved, refuted] = [Ruling::Proved, Ruling::Refuted];
    assert_eq!(rulings(&judgment), [proved, refuted, refuted, proved]);
    // One run is beyond both, and needs all who send to `b`.
    let all = shrunk(&judgment, 1);
    assert_eq!(all, shrunk(&judgment, 2));
    assert_eq!(all.flows, [4, 5], "{}", all.text);
    let alone = judged(STAR, "flow,bound\nf,29 us\n", Effort::Plants(TRIES)).unwrap();
    let two = shrunk(&alone, 0);
    assert_eq!(two.flows, [3, 5], "{}", two.text);
    assert!(!two.text.contains("design") && !two.text.contains("stacks:"), "{}", two.text);
    assert!(two.until < Duration::from_ms(20), "{}", two.text);
    let (latency, _) = shown(&two.text, "f").expect("it runs");
    assert_eq!(latency, two.latency);
    assert!(latency > Some(Duration::from_us(29)));
    // Without any line of it, it shows nothing of that.
    let lines: Vec<&str> = two.text.lines().collect();
    for left_out in 0..lines.len() {
        let rest = lines.iter().enumerate().filter(|(number, _)| *number != left_out);
        let text = rest.map(|(_, line)| *line).collect::<Vec<_>>().join("\n") + "\n";
        let kept = ["run:", "rtether:", "  for:", "  seed:", "  seeds:"];
        if kept.iter().any(|key| lines[left_out].starts_with(key)) {
            continue;
        }
        let still = shown(&text, "f").and_then(|(latency, _)| latency);
        assert!(still <= Some(Duration::from_us(29)), "without `{}`", lines[left_out]);
    }
}

/// Oracle: by hand. Of three packets that come together, the stack serves one, one waits, and there is no
/// room for the third; packets of one instant come in the order of names.
#[test]
fn a_loss_refutes_that_there_is_none() {
    let queue = "b: { stack: { rate: 3000 packets/s }, stack_queue: 1 }";
    let text = STAR.replace("b: { stack: zero }", queue);
    let text = text.replace("ms, size: 16 B", "ms, size: 16 B, phase: 0 us");
    let judgment = judged(&text, "flow,bound\nh,no loss\nfar,no loss\n", Effort::Plants(1));
    let judgment = judgment.unwrap();
    assert_eq!(rulings(&judgment), [Ruling::Refuted, Ruling::Proved]);
    let own = shrunk(&judgment, 0);
    assert_eq!(own.flows, [3, 5], "{}", own.text);
    let (_, lost) = shown(&own.text, "h").expect("it runs");
    assert_eq!(lost, own.lost);
    assert!(lost > 0);
    assert!(judgment.claims[0].lack.as_ref().is_some_and(|lack| lack.contains("stack of b")));
}

/// Oracle: by hand. Ports that select by deadline serve the three others first, whatever is claimed of
/// `f`: it waits for a frame of each, 1250 octets with all around, 100 us at 100 Mbit/s.
#[test]
fn a_claim_is_no_deadline() {
    let text = STAR
        .replace("s: { ports: 7, latency: 5 us }", "s: { ports: 7, latency: 5 us, selection: edf }")
        .replace("size: 16 B", "size: 1184 B, deadline: 800 us")
        .replace(
            "size: 1184 B, deadline: 800 us, deadline: 40 us",
            "size: 1184 B, deadline: 20 ms",
        );
    let list = "flow,bound_us\nf,495\n";
    let judgment = judged(&text, list, Effort::Plants(2_000)).unwrap();
    assert_eq!(rulings(&judgment), [Ruling::Refuted], "{:?}", judgment.claims);
    assert_eq!(shrunk(&judgment, 0).flows, [4, 5]);
}

/// Oracle: by hand. A fluid that passes two links of one rate is delayed by its burst once; a frame of
/// 1538 octets is sent twice.
#[test]
fn fluid_claims_without_packets_are_refuted() {
    let text = "rtether: 1
nodes: { a: { stack: zero }, b: { stack: zero } }
switches: { s: { ports: 2 } }
links: [{ ends: [a, \"s:1\"], rate: 100 Mbit/s }, { ends: [b, \"s:2\"], rate: 100 Mbit/s }]
flows: [{ name: f, from: a, to: b, period: 1 ms, size: 1472 B }]
run: { for: 10 ms }
";
    let judgment = judged(text, "flow,bound_us\nf,123.04\nf,246.08\n", Effort::Plants(50)).unwrap();
    assert_eq!(rulings(&judgment), [Ruling::Refuted, Ruling::Proved]);
}

fn wrong(list: &str) -> String {
    judged(STAR, list, Effort::Plants(1)).expect_err(list).to_string()
}

/// Oracle: the loader's names.
#[test]
fn claims_about_nothing_are_named() {
    let far = wrong("flow,bound_us\nfar,9\nfra,1\n");
    assert!(far.contains("claims.csv:3:") && far.contains("did you mean `far`?"), "{far}");
    let listener = wrong("flow,listener,bound_us\nf,c,1\n");
    assert!(listener.contains("claims.csv:2:") && listener.contains("listener"), "{listener}");
    let deadline = wrong("flow,bound\nfar,reached\n");
    assert!(deadline.contains("has no deadline"), "{deadline}");
}

/// Claims of different strength about each stream of a plant.
fn draw_claims(scenario: &Scenario) -> Vec<Claim> {
    let bounds = bound::analyze(scenario);
    let mut all = Vec::new();
    for stream in &bounds.streams {
        let flow = &scenario.flows[stream.flow.index()];
        let listener = scenario.network.node(stream.listener).name.clone();
        let own = Claim {
            flow: flow.name.clone(),
            listener: Some(listener),
            claimed: Claimed::NoLoss,
            by: None,
            line: None,
        };
        all.push(own.clone());
        let Ok(bound) = &stream.bound else { continue };
        let tenth = bound.latency.as_ps() / 10;
        let times = [3, 7, 9].map(|tenths| Duration::from_ps(tenth * tenths));
        let times = times.into_iter().chain([bound.latency]);
        all.extend(times.map(|time| Claim { claimed: Claimed::Bound(time), ..own.clone() }));
    }
    all
}

fn judged_claims(scenario: &Scenario, written: &Written, claims: &[Claim]) -> Judgment {
    let progress = Progress::begin(Effort::Plants(100));
    judge((scenario, written), ("drawn", claims.to_vec()), &progress, false).expect("its own flows")
}

/// Oracle: the simulator on the file that was written, the bounds engine, and the same on one thread.
#[test]
fn what_is_refuted_is_shown_and_what_is_proved_is_not() {
    let is_nightly = std::env::var("RTETHER_NIGHTLY").is_ok_and(|value| value == "1");
    let mut counts = [0; 3];
    for number in 0..CASES[usize::from(is_nightly)] {
        let text = draw(number);
        let Some(scenario) = Written::from(text.clone()).load().scenario else { continue };
        let written = Written::from(text.clone());
        let claims = draw_claims(&scenario);
        let judgment = judged_claims(&scenario, &written, &claims);
        if number < 4 {
            let pool = rayon::ThreadPoolBuilder::new().num_threads(1).build().unwrap();
            let alone = pool.install(|| judged_claims(&scenario, &written, &claims));
            assert_eq!(format!("{judgment:?}"), format!("{alone:?}"), "case {number}");
        }
        for (at, own) in judgment.claims.iter().enumerate() {
            match own.ruling {
                Ruling::Contradiction => panic!("case {number}: {own:?}\n{text}"),
                Ruling::Proved => {
                    counts[0] += 1;
                    assert!(own.lack.is_none() && own.proved.is_some(), "case {number}: {own:?}");
                }
                Ruling::Open => counts[1] += 1,
                Ruling::Refuted => {
                    counts[2] += 1;
                    assert_shown(shrunk(&judgment, at), own, number);
                }
            }
        }
    }
    println!("claims proved, open and refuted: {counts:?}");
    assert!(counts.iter().all(|count| *count > 0), "{counts:?}");
}

fn assert_shown(run: &Shrunk, own: &rtether::judge::Judged, number: u64) {
    let text = &run.text;
    let loaded = load(text);
    let record = run::simulate(&loaded, &Runs::default()).unwrap().record;
    let listener = own.claim.listener.as_deref().expect("a listener");
    let of = record.streams.iter().find(|stream| {
        loaded.flows[stream.flow as usize].name == own.claim.flow
            && loaded.network.nodes[stream.listener as usize].name == listener
    });
    let of = of.unwrap_or_else(|| panic!("case {number}: no such stream\n{text}"));
    let is_shown = match own.limit {
        Some(limit) => of.latency.max > limit,
        None => of.dropped > 0,
    };
    assert!(is_shown, "case {number}: {own:?}\n{text}");
}

fn validation() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../validation")
}

/// A plant in which a bound was once too small: its name in `unsound/`, and after how many plants the
/// search refutes that bound; `None` if it does not.
#[derive(Debug)]
struct Unsound {
    name: String,
    plants: Option<u64>,
}

/// Reads a cell of the column `plants`.
fn plants(word: &str) -> Option<u64> {
    (word != "open").then(|| word.parse().unwrap_or_else(|_| panic!("`{word}` is no number")))
}

fn unsound() -> Vec<Unsound> {
    let mut rows = csv::Reader::from_path(validation().join("unsound.csv")).expect("a list");
    let titles = rows.headers().expect("titles").clone();
    let [names_at, plants_at, note_at] = ["scenario", "plants", "note"]
        .map(|title| titles.iter().position(|own| own == title).expect(title));
    let mut all = Vec::new();
    for row in rows.records() {
        let row = row.expect("a row");
        let names: Vec<&str> = row[names_at].split_whitespace().collect();
        let plants: Vec<Option<u64>> = row[plants_at].split_whitespace().map(plants).collect();
        assert_eq!(names.len(), plants.len(), "{row:?}");
        let is_whole = !plants.is_empty() && plants.iter().all(Option::is_some);
        assert!(is_whole || !row[note_at].is_empty(), "why is it not refuted? {row:?}");
        let both = names.into_iter().zip(plants);
        all.extend(both.map(|(name, plants)| Unsound { name: name.to_owned(), plants }));
    }
    all
}

/// Oracle: `validation/unsound.csv`, bounds that we proved and that a run exceeds. None is proved today,
/// and no run that refutes one is beyond the bound of today.
#[test]
fn what_was_unsound_is_refuted() {
    let folder = validation().join("unsound");
    let mut named = BTreeSet::new();
    let mut refuted = 0;
    for Unsound { name, plants } in unsound() {
        let [text, list] = ["yaml", "csv"].map(|kind| {
            let file = format!("{name}.{kind}");
            let text = fs::read_to_string(folder.join(&file))
                .unwrap_or_else(|why| panic!("{file}: {why}"));
            named.insert(file);
            text
        });
        // More than it takes today: other moves of the search come in another order.
        let tries = plants.map_or(1, |plants| 4 * plants + 100);
        let judgment = judged(&text, &list, Effort::Plants(tries));
        let judgment = judgment.unwrap_or_else(|why| panic!("{name}: {why}"));
        assert!(!judgment.claims.is_empty(), "{name} claims nothing");
        for own in &judgment.claims {
            let is_right = match plants {
                Some(_) => own.ruling == Ruling::Refuted,
                None => own.ruling == Ruling::Open || own.ruling == Ruling::Refuted,
            };
            assert!(is_right, "{name} in {tries} plants: {own:?}");
            let is_within = own.lack.is_some() || own.proved >= own.found;
            assert!(is_within, "{name}: a run is beyond the bound of today: {own:?}");
            refuted += usize::from(own.ruling == Ruling::Refuted);
        }
    }
    let files = fs::read_dir(&folder).expect("a folder").map(|file| {
        let name = file.expect("a file").file_name();
        name.into_string().expect("a name")
    });
    assert_eq!(files.collect::<BTreeSet<String>>(), named, "files, and those that a row names");
    println!("{refuted} claims refuted, of {} plants", named.len() / 2);
}
