//! Certificates. Oracle: the checker in `verify/`, which shares no code with rtether, has its own frame
//! arithmetic, and evaluates each place from the certificate alone.

use std::env;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use rtether::certificate::{Certificate, certificate, of_plant};
use rtether_bounds::analyze;
use rtether_testkit::{Folder, skip};
use serde_json::Value;

use crate::bounds::for_each_case_up_to;
use crate::bounds::plant::{Plant, Variety};

/// Certificates that one process checks.
const BATCH: usize = 250;

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

/// Returns the interpreter for the checker, which needs nothing but the standard library.
fn python() -> Option<PathBuf> {
    let python = env::var_os("RTETHER_PYTHON").map(PathBuf::from);
    if python.is_none() {
        skip("needs Python, whose path is in RTETHER_PYTHON");
    }
    python
}

/// Runs a script of `verify/tests` on files, which asks the second checker, too; returns what they say.
fn survey(python: &Path, arguments: &[String]) -> Value {
    let script = root().join("verify/tests/survey.py");
    let mut survey = Command::new(python);
    survey.arg(script);
    match env::var_os("RTETHER_NODE") {
        Some(node) => drop(survey.arg("--second").arg(node)),
        None => skip("needs Node for the second checker, whose path is in RTETHER_NODE"),
    }
    let output = survey.args(arguments).output();
    let output = output.expect("Python runs");
    let errors = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{errors}");
    let found: Value = serde_json::from_slice(&output.stdout).expect("one line of JSON");
    let differ = &found["second"]["differ"];
    assert!(
        differ.is_null() || *differ == serde_json::json!([]),
        "the checkers differ: {differ:#}"
    );
    found
}

/// Oracle: arithmetic by hand, in Python.
#[test]
fn the_checker_passes_its_own_tests() {
    let Some(python) = python() else { return };
    let tests = root().join("verify/tests");
    let output =
        Command::new(python).args(["-m", "unittest", "discover", "-s"]).arg(tests).output();
    let output = output.expect("Python runs");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
}

/// Returns the certificate of a scenario in this checkout.
fn of_scenario(name: &str) -> Certificate {
    let path = root().join(name);
    let text = fs::read_to_string(&path).expect("a scenario");
    let loaded = rtether::scenario::load(name, &text);
    let scenario = loaded.scenario.expect("a good scenario");
    let analysis = rtether::bound::analyze(&scenario);
    certificate(&scenario, &analysis).expect("a plant that the format can express")
}

/// Every stream with a bound of these scenarios is certified, with the number of total flow analysis to
/// the picosecond, and whatever claims less is rejected.
#[test]
fn whole_scenarios_are_certified() {
    let Some(python) = python() else { return };
    let folder = Folder::new("certified");
    for name in [
        "benches/scenarios/star.yaml",
        "scenarios/bottling-line.yaml",
        "scenarios/goose-multicast.yaml",
        "scenarios/skeie-flat.yaml",
        "scenarios/substation.yaml",
    ] {
        let own = of_scenario(name);
        assert!(own.bounded > 0 && own.covered == own.bounded, "{name}: {own:?}");
        let file = folder.write("certificate.json", &own.text);
        let found = survey(&python, std::slice::from_ref(&file));
        assert_eq!(found["failures"], serde_json::json!([]), "{name}");
        assert_eq!(found["certified"], own.bounded, "{name}: {found}");
        assert!(found["tight"].as_u64() > Some(0), "{name}: {found}");
        let mutations = if name.ends_with("substation.yaml") { 4 } else { 40 };
        let found = survey(&python, &["--mutate".to_owned(), mutations.to_string(), file]);
        assert_eq!(found["survived"], serde_json::json!([]), "{name}");
    }
}

/// Bounds of random plants so far.
struct Tally {
    python: PathBuf,
    variety: usize,
    bounded: u64,
    certified: u64,
}

impl Tally {
    /// Checks certificates, none of which may be rejected, and removes them.
    fn check(&mut self, files: &mut Vec<String>) {
        let found = survey(&self.python, files);
        println!("variety {}: {found}", self.variety);
        assert_eq!(found["failures"], serde_json::json!([]), "variety {}", self.variety);
        let mutated = ["--mutate".to_owned(), "1".to_owned()];
        let mutated: Vec<String> = mutated.into_iter().chain(files.iter().cloned()).collect();
        let found_changed = survey(&self.python, &mutated);
        println!("variety {}, changed: {found_changed}", self.variety);
        // A check of nothing would pass, too.
        let is_one_case = env::var_os("RTETHER_CASE").is_some();
        assert!(found_changed["mutations"].as_u64() > Some(0) || is_one_case);
        if env::var_os("RTETHER_NODE").is_some() && !is_one_case {
            assert!(found["second"]["accepted"].as_u64() > Some(0), "{found}");
            assert!(found_changed["second"]["rejected"].as_u64() > Some(0), "{found_changed}");
        }
        assert_eq!(found_changed["survived"], serde_json::json!([]), "variety {}", self.variety);
        self.bounded += found["bounded"].as_u64().expect("a number");
        self.certified += found["certified"].as_u64().expect("a number");
        for file in files.drain(..) {
            fs::remove_file(file).expect("a file of its own");
        }
    }
}

/// No claim of the analysis is below what the checker's own rule needs, whatever the plant.
#[test]
fn claims_of_random_plants_are_accepted() {
    let Some(python) = python() else { return };
    let test = "claims_of_random_plants_are_accepted";
    let varieties = [
        Variety::Plain,
        Variety::Full,
        Variety::Layered,
        Variety::Routed,
        Variety::Jittered,
        Variety::Internetwork,
        Variety::Deficit,
    ];
    for (variety, kind) in varieties.into_iter().enumerate() {
        let mut tally = Tally { python: python.clone(), variety, bounded: 0, certified: 0 };
        let folder = Folder::new("certified");
        let mut files = Vec::new();
        let [mut beyond, mut covered] = [0; 2];
        for_each_case_up_to([40, 2_000], test, |case| {
            let plant = Plant::random(case, kind);
            let analysis = analyze(&plant.network, &plant.flows);
            match of_plant("random", (&plant.network, &plant.flows), &analysis) {
                Ok(own) => {
                    covered += own.covered;
                    files.push(folder.write(&format!("{case}.json"), &own.text));
                }
                Err(_) => beyond += 1,
            }
            if files.len() == BATCH {
                tally.check(&mut files);
            }
        });
        if !files.is_empty() {
            tally.check(&mut files);
        }
        let Tally { bounded, certified, .. } = tally;
        println!(
            "variety {variety}: {certified} of {bounded} bounds certified, {covered} claimed; \
             {beyond} plants beyond the format"
        );
        let is_one_case = env::var_os("RTETHER_CASE").is_some();
        assert!(certified > 0 || is_one_case, "variety {variety}");
    }
}
