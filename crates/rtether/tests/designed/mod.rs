//! Designs: what is found, on the demo plants and on random ones. Oracles: `bound` of the written
//! text, all designs of a small space one by one, and the same design without one of its edits.

mod demos;
mod draw;
mod exhaustive;
mod explained;
mod kinds;
mod large;

use rtether::bound::{self, Bounds, Counts};
use rtether::check::{Options, check};
use rtether::design::{Answer, End, Outcome, Progress, Question, design};
use rtether::report::format::Render;
use rtether::scenario::{Override, Scenario, Written, load, load_with};
use rtether::verdict::Conclusion;
use rtether_testkit::follows_schema;

fn scenario(text: &str) -> Scenario {
    let loaded = load("plant.yaml", text).into_scenario();
    loaded.unwrap_or_else(|words| panic!("{words}\n{text}"))
}

fn designed(text: &str, question: Question) -> Outcome {
    let written = Written::from(text.to_owned());
    let found = design(&scenario(text), &written, question, &Progress::default());
    found.unwrap_or_else(|why| panic!("{why}"))
}

/// Returns the verdicts on the bounds of a scenario.
fn counts(scenario: &Scenario) -> Counts {
    bound::counts(scenario, &bound::analyze(scenario))
}

/// Checks what holds for each outcome.
fn is_sound(text: &str, outcome: &Outcome) {
    let after = scenario(&outcome.text);
    let analysis = bound::analyze(&after);
    let counts = bound::counts(&after, &analysis);
    assert_eq!(counts.ok, outcome.proved[1], "{}", outcome.text);
    assert!(outcome.proved[1] >= outcome.proved[0]);
    let conclusion = Bounds { scenario: &after, analysis: &analysis }.conclusion();
    assert_eq!(outcome.end == End::Proved, conclusion == Conclusion::Met);
    keeps_comments(text, &outcome.text);
    needs_each_edit(text, outcome);
    keeps_its_bounds(&outcome.text);
}

/// Oracle: eight runs of the simulator, none of which is above a bound of the new plant.
fn keeps_its_bounds(text: &str) {
    let run = ["run.for=200 ms", "run.warmup=0 s", "run.seeds=8", "run.overload=allow"];
    let run = run.map(|change| Override::parse(change).unwrap());
    let scenario = load_with("plant.yaml", text, &run).into_scenario().unwrap();
    let checked = check(&scenario, Options::default()).unwrap();
    assert_ne!(checked.conclusion, Conclusion::Contradiction, "{text}");
}

/// Each comment of the file is in the new text.
fn keeps_comments(old: &str, new: &str) {
    for (_, comment) in old.lines().filter_map(|line| line.split_once("# ")) {
        assert!(new.contains(comment), "{comment:?} is missing in\n{new}");
    }
}

/// Removing any single edit loses a proof, of those that it names.
fn needs_each_edit(text: &str, outcome: &Outcome) {
    if outcome.end == End::Interrupted {
        return;
    }
    let written = Written::from(text.to_owned());
    for left_out in 0..outcome.edits.len() {
        let others = outcome.edits.iter().enumerate().filter(|(number, _)| *number != left_out);
        let changes: Vec<Override> =
            others.flat_map(|(_, edit)| edit.changes.iter().cloned()).collect();
        let edit = &outcome.edits[left_out];
        let Some(without) = written.with_all(&changes) else { continue };
        let lost = lost(&outcome.after.0, &without);
        assert!(!lost.is_empty(), "{} is not needed:\n{}", edit.path, outcome.text);
        assert_eq!(lost, edit.needed_by, "{}", edit.path);
    }
}

/// Returns the deadlines that one scenario proves and another does not, by name.
fn lost(with: &Scenario, without: &Scenario) -> Vec<String> {
    let [with_own, without_own] = [with, without].map(|scenario| {
        let analysis = bound::analyze(scenario);
        let proved = analysis.judged().map(|(stream, condition)| {
            let flow = &scenario.flows[stream.flow.index()];
            let bound = stream.bound.as_ref().ok().map(|own| own.latency);
            let is_within = flow.deadline.is_some_and(|own| bound.is_some_and(|b| b <= own));
            is_within && condition.is_none()
        });
        proved.collect::<Vec<bool>>()
    });
    let analysis = bound::analyze(with);
    let both = with_own.into_iter().zip(without_own).zip(&analysis.streams);
    let lost = both.filter(|((with, without), _)| *with && !without).map(|(_, stream)| {
        let flow = &with.flows[stream.flow.index()];
        match flow.listeners.len() {
            1 => flow.name.clone(),
            _ => format!("{} to {}", flow.name, with.network.node(stream.listener).name),
        }
    });
    let mut lost: Vec<String> = lost.collect();
    lost.sort();
    lost
}

/// Oracle: the same search on one thread.
#[test]
fn the_number_of_threads_changes_nothing() {
    let text = draw::plant(7, 4, "[pcp, queues, layers]");
    let [one, three] = [1, 3].map(|threads| {
        let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
        pool.install(|| designed(&text, Question { trials: Some(300), ..Question::default() }))
    });
    assert_eq!((one.edits, one.text, one.trials), (three.edits, three.text, three.trials));
}

/// Oracle: the words of the interface.
#[test]
fn what_is_ended_at_once_is_the_plant_as_it_was() {
    let text = draw::plant(3, 4, "[pcp]");
    let written = Written::from(text.clone());
    let progress = Progress::default();
    progress.cancel();
    let found = design(&scenario(&text), &written, Question::default(), &progress).unwrap();
    assert_eq!(found.end, End::Interrupted);
    assert_eq!(found.conclusion(), Conclusion::Interrupted);
    assert_eq!((found.edits.len(), &found.text), (0, &text));
}

/// Oracle: the schema of the document.
#[test]
fn the_document_follows_its_schema() {
    let text = draw::plant(5, 3, "[pcp]");
    let outcome = designed(&text, Question::default());
    follows_schema(&serde_json::from_str(&Answer { outcome: &outcome }.json()).unwrap());
}
