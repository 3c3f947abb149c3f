//! `rtether bound`, and bounds beside a simulation.

use rtether_testkit::Folder;
use serde_json::Value;

use super::{line, run};

#[test]
fn bounds_have_a_verdict_or_a_reason() {
    // The series of this scenario never meet, but a bound holds for all phases: some are late.
    let output = line("bound dolejs-4nodes.yaml --json");
    output.exits(1);
    let document = output.json();
    assert_eq!(document["schema"], "rtether.bound/1");
    for stream in document["streams"].as_array().unwrap() {
        let slack = stream["slack_ns"].as_f64().unwrap();
        assert_eq!(stream["verdict"] == "ok", slack >= 0.0, "{stream}");
        let hops = stream["hops"].as_array().unwrap();
        let parts = |hop: &serde_json::Value| {
            hop["queueing_ns"].as_f64().unwrap() + hop["passage_ns"].as_f64().unwrap()
        };
        let sum: f64 = hops.iter().map(parts).sum();
        assert!((sum - stream["bound_ns"].as_f64().unwrap()).abs() < 1e-3);
    }
    // A shared medium never has a number, and the exit code reports no answer.
    line("bound hub.yaml --csv").exits(3).shows("no-bound");
}

#[test]
fn bulk_flows_say_what_limits_them() {
    // Every flow with a deadline has a bound beside the files, which are limited by their windows.
    let output = line("bound bottling-line.yaml --json");
    output.exits(1);
    let document = output.json();
    for stream in document["streams"].as_array().unwrap() {
        let is_file = stream["deadline_ns"].is_null();
        assert_eq!(stream["bound_ns"].is_null(), is_file, "{stream}");
    }
    let expected = serde_json::json!([
        { "flow": "recipe upload", "limit": "window" },
        { "flow": "event log", "limit": "window" },
    ]);
    assert_eq!(document["open_flows"], expected);
}

#[test]
fn sim_says_that_it_judges_no_bounds() {
    // A bound of a picosecond never holds; `check` reports that, `sim` that it did not check.
    let accept = |line: &str| {
        let change = format!("accept={line}");
        let arguments = ["dolejs-4nodes.yaml", "--quiet", "--for", "1s", "--set"];
        ["check", "sim"].map(|verb| run(&[&[verb], &arguments[..], &[change.as_str()]].concat()))
    };
    let [checked, simulated] = accept("[{ flow: '*', sim: deadline, bound: 1 ns }]");
    checked.exits(1);
    simulated.exits(0);
    let note = "requirements of `bound` are not judged here; `rtether check` does";
    simulated.says(note);
    assert!(!checked.err.contains(note));
    let [_, simulated] = accept("[{ flow: '*', sim: deadline }]");
    assert!(!simulated.err.contains(note));
}

#[test]
fn what_is_statistical_stands_in_a_column_of_its_own() {
    let output = line("bound hub.yaml --json");
    let document = output.json();
    let streams = document["streams"].as_array().unwrap();
    for stream in streams {
        assert!(stream["bound_ns"].is_null() && stream["slack_ns"].is_null());
        let reason = stream["reason"].as_str().unwrap();
        assert!(reason.starts_with("shared medium"), "{reason}");
        let said = &stream["statistical"];
        assert_eq!(said.is_null(), stream["deadline_ns"].is_null(), "{stream}");
        if let Some(ratio) = said["late_ratio"].as_f64() {
            assert!(ratio > 0.0 && ratio < 1.0, "{stream}");
            assert!(said["model"].as_str().unwrap().contains("not a bound"));
        }
    }
    line("bound hub.yaml").shows("statistical").shows("P(late) <= ").shows("is no bound");
    let output = line("bound goose-multicast.yaml");
    assert!(!output.out.contains("statistical"));
}

#[test]
fn the_diameter_alone_proves_less() {
    let output = line("bound dolejs-4nodes.yaml --diameter --json");
    let document = output.exits(1).json();
    assert_eq!(document["schema"], "rtether.diameter/1");
    assert_eq!(document["places"], 4);
    for stream in document["streams"].as_array().unwrap() {
        let [own, least] = ["diameter_ns", "bound_ns"].map(|name| stream[name].as_f64().unwrap());
        assert!(least < own, "{stream}");
    }
    line("bound goose-multicast.yaml --diameter")
        .exits(3)
        .shows("The diameter says nothing: unlimited arrivals of `disturbance record`.");
    line("bound hub.yaml --diameter --ports").exits(2);
}

#[test]
fn bounds_have_a_page() {
    let folder = Folder::new("bound");
    let page = folder.file("bounds.html");
    line(&format!("bound goose-multicast.yaml --report {page}")).exits(1);
    let text = folder.read("bounds.html");
    for words in ["id=\"bounds\"", "id=\"ports\"", "id=\"stacks\"", "hop-mark"] {
        assert!(text.contains(words), "{words}");
    }
    let run = "goose-multicast.yaml --for 2s --report";
    line(&format!("check {run} {page}")).exits(0);
    let text = folder.read("bounds.html");
    assert!(text.contains("id=\"bounds\"") && text.contains("Bounds of ports"));
    // Without bounds there is no section.
    line(&format!("sim {run} {page}"));
    assert!(!folder.read("bounds.html").contains("id=\"bounds\""));
    let missing = folder.file("missing/bounds.html");
    line(&format!("bound goose-multicast.yaml --report {missing}")).exits(4);
}

#[test]
fn a_certificate_says_what_checks_it() {
    let folder = Folder::new("certificate");
    let file = folder.file("plant.json");
    line(&format!("bound bottling-line.yaml --certificate {file}"))
        .exits(1)
        .says("has claims for 5 of 5 streams with a bound")
        .says(&format!("to check them: python3 verify {file}"));
    let text = folder.read("plant.json");
    let document: serde_json::Value = serde_json::from_str(&text).unwrap();
    assert_eq!(document["schema"], "rtether.certificate/1");
    // A word of ours alone certifies nothing.
    assert!(!text.contains("certified"));
    line(&format!("bound bottling-line.yaml --certificate {file}")).exits(1);
    assert_eq!(folder.read("plant.json"), text, "the same scenario, the same octets");
    line(&format!("bound hub.yaml --certificate {}", folder.file("hub.json")))
        .exits(3)
        .says("no certificate: its format cannot express a hub");
    assert_eq!(folder.names(), ["plant.json"]);
    line("bound hub.yaml --certificate hub.yaml").exits(2);
}

/// Oracle: what `bound` writes of the same scenario.
#[test]
fn check_writes_the_same_certificate() {
    let folder = Folder::new("certificate");
    let [own, other] = ["own.json", "other.json"].map(|name| folder.file(name));
    line(&format!("bound bottling-line.yaml --certificate {own}")).exits(1);
    line(&format!("check bottling-line.yaml --certificate {other}"))
        .exits(1)
        .says("has claims for 5 of 5 streams with a bound");
    assert_eq!(folder.read("own.json"), folder.read("other.json"));
    // There is a result, but no certificate of it.
    line(&format!("check hub.yaml --certificate {}", folder.file("hub.json")))
        .exits(3)
        .shows("message 1")
        .says("no certificate: its format cannot express a hub");
    assert_eq!(folder.names(), ["other.json", "own.json"]);
    for more in ["hub.yaml", "--fail links"] {
        line(&format!("check bottling-line.yaml {more} --certificate {own}")).exits(2);
    }
}

#[test]
fn both_ends_of_what_is_known_are_shown() {
    let folder = Folder::new("tightness");
    let page = folder.file("tightness.html");
    let output =
        line(&format!("bound goose-multicast.yaml --tightness 100 --json --report {page}"));
    let document: Value = output.exits(1).json();
    assert_eq!(document["schema"], "rtether.tightness/1");
    assert_eq!(document["tried"], 100);
    for stream in document["streams"].as_array().unwrap() {
        let [found, proved] = ["found_ns", "proved_ns"].map(|name| stream[name].as_f64());
        assert!(proved.is_none_or(|proved| found.unwrap() <= proved), "{stream}");
    }
    assert!(folder.read("tightness.html").contains("Found and proved"));
    line("bound goose-multicast.yaml --tightness 100 --ports").exits(2);
}
