//! The first word of every verdict. Oracle: the exit code of the same command, by the documented
//! table.

use rtether_testkit::{Ended, Folder, Run, read_document};
use serde_json::Value;

use super::{rtether, scenarios};

/// Returns the word that goes with an exit code.
fn word(ended: &Ended) -> &'static str {
    match ended.code {
        Some(0) => "PASS",
        Some(1) => "FAIL",
        Some(3) => "NO ANSWER",
        Some(5) => "CONTRADICTION",
        other => panic!("exit code {other:?}: {}", ended.err),
    }
}

/// Runs the words of a line with more arguments behind, in a folder.
fn with(folder: &Folder, line: &[&str], more: &[&str]) -> Ended {
    let mut command = rtether();
    command.args(line).args(more).current_dir(folder.path());
    command.run()
}

/// Checks that the word begins a line of the text, and is in the document, by the exit code of each.
fn agrees(folder: &Folder, line: &[&str]) -> &'static str {
    let shown = with(folder, line, &[]);
    let expected = word(&shown);
    let text = shown.out.replace("\r\n", "\n");
    let begins = |line: &&str| {
        let rest = line.strip_prefix(expected);
        rest.is_some_and(|rest| rest.starts_with(". ") || rest == ".")
    };
    let found = text.lines().filter(begins).count();
    assert_eq!(found, 1, "{line:?} is {expected}, and says:\n{text}");
    let document = with(folder, line, &["--json"]);
    let value = document.json();
    assert_eq!(value["conclusion"], word(&document), "{line:?}");
    expected
}

/// A plant of two flows with `deadline`s of 1 ms, one with more than the link carries of 100 B.
const PLANT: &str = "rtether: 1
name: words
nodes: { a: { stack: zero }, b: { stack: zero }, c: { stack: zero } }
switches: { sw: { ports: 3 } }
links:
  - { ends: [a, \"sw:1\"], rate: 100 Mbit/s }
  - { ends: [b, \"sw:2\"], rate: 100 Mbit/s }
  - { ends: [c, \"sw:3\"], rate: 100 Mbit/s }
flows:
  - { name: f, from: a, to: c, period: 1 ms, size: 100 B, deadline: DEADLINE }
  - { name: g, from: b, to: c, period: 1 ms, size: 100 B }
accept: [{ flow: \"*\", sim: deadline, lost: 0 }]
run: { for: 100 ms }
";

/// Returns a folder with the plant: in time, late, and with a flow of which nothing is known.
fn plants() -> Folder {
    let folder = Folder::new("words");
    let write = |name: &str, text: &str| std::fs::write(folder.path().join(name), text).unwrap();
    write("good.yaml", &PLANT.replace("DEADLINE", "1 ms"));
    write("late.yaml", &PLANT.replace("DEADLINE", "20 us"));
    let silent = PLANT.replace("DEADLINE", "1 ms");
    let silent = silent.replacen("period: 1 ms", "period: 9 s, phase: 8 s", 1);
    write("silent.yaml", &silent);
    let unknown = PLANT.replace("DEADLINE", "1 ms");
    write(
        "unknown.yaml",
        &unknown.replace(
            "period: 1 ms, size: 100 B, deadline",
            "kind: poisson, mean_gap: 9 ms, size: 100 B, deadline",
        ),
    );
    // Gaps that vary, so that a run forgets its phases and shows a limit.
    let load = "  - { name: load, from: b, to: c, kind: sporadic, min_gap: 600 us, mean_gap: 615.2 us, size: 1472 B }\naccept:";
    let loaded = PLANT.replace("DEADLINE", "2 ms");
    write("loaded.yaml", &loaded.replacen("accept:", load, 1).replace("100 ms", "1 s, seeds: 4"));
    folder
}

#[test]
fn every_verb_says_its_exit_code() {
    let folder = plants();
    let new = |deadline: &str| {
        format!("{{ name: x, from: a, to: c, period: 1 ms, size: 80 B, deadline: {deadline} }}")
    };
    let poisson =
        "{ name: x, from: a, to: c, kind: poisson, mean_gap: 9 ms, size: 80 B, deadline: 1 ms }";
    let (easy, hard) = (new("1 ms"), new("20 us"));
    let lines: &[(&[&str], &str)] = &[
        (&["check", "good.yaml"], "PASS"),
        (&["check", "late.yaml"], "FAIL"),
        (&["check", "silent.yaml"], "NO ANSWER"),
        (&["sim", "good.yaml"], "PASS"),
        (&["sim", "late.yaml"], "FAIL"),
        (&["sim", "silent.yaml"], "NO ANSWER"),
        (&["bound", "good.yaml"], "PASS"),
        (&["bound", "late.yaml"], "FAIL"),
        (&["bound", "unknown.yaml"], "NO ANSWER"),
        (&["bound", "late.yaml", "--ports"], "FAIL"),
        (&["bound", "good.yaml", "--diameter"], "PASS"),
        (&["bound", "late.yaml", "--diameter"], "FAIL"),
        (&["bound", "unknown.yaml", "--diameter"], "NO ANSWER"),
        (&["bound", "late.yaml", "--what-if", "flows.f.deadline=1ms"], "PASS"),
        (&["bound", "good.yaml", "--what-if", "flows.f.deadline=20us"], "FAIL"),
        (&["check", "good.yaml", "--fail", "links"], "FAIL"),
        (&["check", "good.yaml", "--fail", "trunks"], "PASS"),
        (&["admit", "good.yaml", "--flow", &easy], "PASS"),
        (&["admit", "good.yaml", "--flow", &hard], "FAIL"),
        (&["admit", "good.yaml", "--flow", poisson], "NO ANSWER"),
        (&["limit", "loaded.yaml", "--miss", "50%", "--tolerance", "50%"], "PASS"),
        (&["limit", "good.yaml", "--miss", "1e-6"], "NO ANSWER"),
    ];
    for (line, expected) in lines {
        assert_eq!(agrees(&folder, line), *expected, "{line:?}");
    }
    let json = |name: &str| {
        let found = with(&folder, &["check", name], &["--json"]).out;
        std::fs::write(folder.path().join(name).with_extension("json"), found).unwrap();
    };
    json("good.yaml");
    json("late.yaml");
    assert_eq!(agrees(&folder, &["diff", "good.json", "good.json"]), "PASS");
    assert_eq!(agrees(&folder, &["diff", "good.json", "late.json"]), "FAIL");
}

/// A packet beyond its bound cannot be had from outside; `Conclusion` has its word and its code.
#[test]
fn every_form_of_a_check_says_it() {
    let folder = plants();
    for name in ["good.yaml", "late.yaml", "silent.yaml"] {
        let files = ["--junit", "out.xml", "--report", "out.html"];
        let ended = with(&folder, &["check", name, "--quiet"], &files);
        let expected = word(&ended);
        assert!(ended.out.starts_with(&format!("{expected}. ")), "{}", ended.out);
        let read = |name: &str| std::fs::read_to_string(folder.path().join(name)).unwrap();
        let property = format!("<property name=\"conclusion\" value=\"{expected}\">");
        assert!(read("out.xml").contains(&property), "{name}");
        let page = read("out.html");
        assert!(page.contains(&format!("<strong>{expected}: ")), "{name}");
    }
    for name in ["good.yaml", "late.yaml", "unknown.yaml"] {
        let ended = with(&folder, &["bound", name], &["--report", "out.html"]);
        let page = std::fs::read_to_string(folder.path().join("out.html")).unwrap();
        let expected = format!("<strong>{}: ", word(&ended));
        assert!(page.contains(&expected), "{name}");
    }
}

/// What a search finds late fails in every form. Oracle: by hand. A frame of 154 octets with preamble takes
/// 12.32 us on each of two links, and those of `f` and `g` meet in a share of their phases, where `f`
/// waits for one more and its gap, 37.92 us in all.
#[test]
fn what_is_found_late_fails() {
    let folder = plants();
    let text = PLANT.replace("DEADLINE", "30 us");
    std::fs::write(folder.path().join("tight.yaml"), text).unwrap();
    assert_eq!(agrees(&folder, &["check", "tight.yaml"]), "PASS");
    let line = ["check", "tight.yaml", "--adversarial", "60"];
    assert_eq!(agrees(&folder, &line), "FAIL");
    let files = ["--junit", "out.xml", "--report", "out.html", "--quiet"];
    let ended = with(&folder, &line, &files);
    let tried = " Adversary: 60 plants tried (seed 1): ";
    assert!(ended.out.contains(tried), "{}", ended.out);
    assert!(ended.out.contains(", 1 beyond their deadline."), "{}", ended.out);
    let read = |name: &str| std::fs::read_to_string(folder.path().join(name)).unwrap();
    let reason = "found: max 37";
    assert!(read("out.xml").contains(reason) && read("out.html").contains(reason));
    let json = with(&folder, &line, &["--json"]).out;
    let value = read_document(&json);
    let flow = &value["flows"][0];
    let found = flow["found"]["latency_ns"].as_f64().unwrap();
    assert!((37_900.0..=37_920.0).contains(&found), "{found}");
    assert!(flow["sim"]["max_ns"].as_f64().unwrap() < 30_000.0);
    assert_eq!(flow["verdict"], "late");
    let search = &value["adversarial"];
    assert_eq!((&search["plants"], &search["unconfirmed"]), (&60.into(), &0.into()));
}

/// Where nothing may rest on an assumption, every verdict that does is no answer, and what judges nothing
/// refuses to be asked. Oracle: the same line without `--strict`, which passes; the file.
#[test]
fn no_verdict_is_met_by_an_assumption() {
    let folder = plants();
    let text = PLANT.replace("DEADLINE", "1 ms");
    let assumed = text.replace("ports: 3", "ports: 3, latency: 5 us")
        + "assumed: { switches.sw.latency: { is: 5 us, why: no data sheet } }\n";
    std::fs::write(folder.path().join("assumed.yaml"), assumed).unwrap();
    let new = "{ name: x, from: a, to: c, period: 1 ms, size: 80 B, deadline: 1 ms }";
    let lines: &[&[&str]] = &[
        &["check", "assumed.yaml"],
        &["check", "assumed.yaml", "--fail", "trunks"],
        &["check", "assumed.yaml", "--adversarial", "20"],
        &["bound", "assumed.yaml"],
        &["bound", "assumed.yaml", "--ports"],
        &["bound", "assumed.yaml", "--diameter"],
        &["bound", "assumed.yaml", "--what-if", "flows.f.deadline=2ms"],
        &["admit", "assumed.yaml", "--flow", new],
    ];
    for line in lines {
        assert_eq!(agrees(&folder, line), "PASS", "{line:?}");
        let strict = [line, &["--strict"][..]].concat();
        assert_eq!(agrees(&folder, &strict), "NO ANSWER", "{line:?}");
        let said = with(&folder, &strict, &[]).err;
        assert!(said.contains("--strict: 1 assumption touches"), "{line:?}: {said}");
        // Once the value is written, nothing is assumed.
        let written = [&strict[..], &["--set", "switches.sw.latency=6us"]].concat();
        assert_eq!(agrees(&folder, &written), "PASS", "{line:?}");
    }
    for more in [&["--sensitivity"][..], &["--waits", "50us"]] {
        let line = [&["bound", "assumed.yaml", "--strict"], more].concat();
        let ended = with(&folder, &line, &[]);
        assert_eq!(ended.code, Some(2), "{line:?}: {}", ended.err);
        assert!(ended.err.contains("cannot be used with"), "{}", ended.err);
    }
    let line = ["check", "good.yaml", "--fail", "links", "--adversarial", "9"];
    let ended = with(&folder, &line, &[]);
    assert_eq!(ended.code, Some(2), "{}", ended.err);
}

/// Where no packet was due, no verb says that anything holds, whatever is required. Oracle: the file, whose
/// packets are released 8 s after the start of a run of 100 ms.
#[test]
fn nothing_delivered_is_no_answer() {
    let folder = plants();
    let text = PLANT.replace("DEADLINE", "1 ms").replace("period: 1 ms", "period: 9 s, phase: 8 s");
    let accepts = [
        "{ flow: f, lost: 0 }",
        "{ flow: f, lost: 1 %, missed: 1 % }",
        "{ sum: [f, g], max: 2 ms }",
    ];
    for accept in accepts {
        let text = text.replace("{ flow: \"*\", sim: deadline, lost: 0 }", accept);
        std::fs::write(folder.path().join("due.yaml"), &text).unwrap();
        let lines: [&[&str]; 4] = [
            &["check", "due.yaml"],
            &["sim", "due.yaml"],
            &["check", "due.yaml", "--fail", "trunks"],
            &["check", "due.yaml", "--adversarial", "20"],
        ];
        for line in lines {
            assert_eq!(agrees(&folder, line), "NO ANSWER", "{line:?} of {accept}");
        }
        let ended = with(&folder, &["check", "due.yaml", "--junit", "out.xml"], &[]);
        assert!(!ended.out.contains("held"), "{accept}: {}", ended.out);
        let junit = std::fs::read_to_string(folder.path().join("out.xml")).unwrap();
        assert!(junit.contains(" failures=\"0\" errors=\"1\""), "{accept}: {junit}");
    }
    // What has an answer before and none after is a new failure.
    let json = |name: &str| {
        let found = with(&folder, &["check", name], &["--json"]).out;
        std::fs::write(folder.path().join(name).with_extension("json"), found).unwrap();
    };
    std::fs::write(folder.path().join("due.yaml"), &text).unwrap();
    json("good.yaml");
    json("due.yaml");
    assert_eq!(agrees(&folder, &["diff", "good.json", "due.json"]), "FAIL");
    // So is a point of a study.
    let study =
        "study: 1\nscenario: due.yaml\nparameters: { flows.f.size: [64 B, 128 B] }\nseeds: 1\n";
    std::fs::write(folder.path().join("study.yaml"), study).unwrap();
    let ended = with(&folder, &["sweep", "study.yaml", "--out", "points"], &[]);
    assert_eq!(ended.code, Some(0), "{}", ended.err);
    let mut points = 0;
    for entry in std::fs::read_dir(folder.path().join("points/points")).unwrap() {
        let text = std::fs::read_to_string(entry.unwrap().path()).unwrap_or_default();
        let value: Value = serde_json::from_str(&text).unwrap_or_default();
        if value["schema"] == "rtether.point/1" {
            points += 1;
            assert_eq!(value["conclusion"], "NO ANSWER", "{text}");
        }
    }
    assert_eq!(points, 2);
}

/// Beside *held* is what was varied. Oracle: the file, which draws two phases, or has them all.
#[test]
fn what_was_varied_is_said_beside_held() {
    let folder = plants();
    let text = std::fs::read_to_string(folder.path().join("good.yaml")).unwrap();
    let fixed = "releases: [{ flow: f, at: [0 us] }, { flow: g, at: [0 us] }]\nrun:";
    std::fs::write(folder.path().join("fixed.yaml"), text.replace("run:", fixed)).unwrap();
    let cases = [
        ("good.yaml", "1", "1 run of 100 ms, 1 set of phases"),
        ("good.yaml", "3", "3 runs of 100 ms, 3 sets of phases"),
        ("fixed.yaml", "3", "3 runs of 100 ms, phases fixed by the file"),
    ];
    for (name, runs, expected) in cases {
        let more = ["--quiet", "--junit", "out.xml", "--report", "out.html", "--runs", runs];
        let ended = with(&folder, &["sim", name], &more);
        let words = format!(" packets of {expected} (not proved)");
        assert!(ended.out.contains(&words), "{}", ended.out);
        for file in ["out.xml", "out.html"] {
            let read = std::fs::read_to_string(folder.path().join(file)).unwrap();
            assert!(read.contains(&words), "{file} of {name}");
        }
    }
}

/// Streams without a deadline are counted apart. Oracle: by hand; `g` has none, and is not late.
#[test]
fn what_has_no_deadline_is_not_held() {
    let folder = plants();
    let ended = with(&folder, &["sim", "good.yaml"], &["--quiet"]);
    let start = "PASS. 2 streams: 1 held in 100 packets of 1 run of 100 ms, 1 set of phases (not proved), 1 without a deadline. ";
    assert!(ended.out.starts_with(start), "{}", ended.out);
    let json = with(&folder, &["sim", "good.yaml"], &["--json"]).out;
    let value = read_document(&json);
    let counted = &value["verdict"];
    assert_eq!((&counted["held"], &counted["no-deadline"]), (&1.into(), &1.into()));
    assert_eq!(value["flows"][1]["basis"]["word"], "no-deadline");
}

/// The examples, in every verb that takes a plant.
#[test]
fn the_examples_say_their_exit_codes() {
    let folder = Folder::new("examples-words");
    for entry in std::fs::read_dir(scenarios()).unwrap() {
        let path = entry.unwrap().path();
        if path.extension().is_none_or(|own| own != "yaml") {
            continue;
        }
        let name = path.display().to_string();
        agrees(&folder, &["bound", &name, "--ports"]);
        agrees(&folder, &["check", &name, "--for", "20ms", "--warmup", "0s", "--runs", "1"]);
    }
}
