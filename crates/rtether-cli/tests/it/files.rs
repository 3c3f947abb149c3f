//! Scenarios in several files, and imports that come again. Oracle: the files themselves, by hand.

use std::fs;
use std::path::Path;

use rtether_testkit::Folder;
use serde_json::Value;

use super::run_in;

/// The station of the example of the guide.
const BAY: &str = include_str!("../../../../docs/guides/bay.scd");

fn write(folder: &Folder, name: &str, text: &str) {
    let path = folder.path().join(name);
    fs::create_dir_all(path.parent().unwrap_or(Path::new("."))).unwrap();
    fs::write(path, text).unwrap();
}

fn read(folder: &Folder, name: &str) -> String {
    fs::read_to_string(folder.path().join(name)).unwrap()
}

const OWN: &str = "flows:
  - { name: logging, from: Control, to: Relay1.S1, period: 50 ms, size: 400 B, deadline: 20 ms }
changes:
  flows.Relay1/LD0/gcbTrip event.deadline: 2 ms
";

/// An edit by hand survives the second import, also of a plant that has changed.
#[test]
fn a_second_import_keeps_what_was_edited_by_hand() {
    let folder = Folder::new("again");
    write(&folder, "bay.scd", BAY);
    let first = run_in(&folder, "import bay.scd -o bay.yaml");
    assert_eq!(first.code, Some(0), "{}", first.err);
    write(&folder, "own.yaml", OWN);
    write(&folder, "bay.yaml", &format!("include: own.yaml\n{}", read(&folder, "bay.yaml")));
    let flows = |folder: &Folder| -> Vec<(String, Value)> {
        let ended = run_in(folder, "check bay.yaml --json --for 100ms");
        let result = ended.json();
        let flows = result["flows"].as_array().unwrap().iter();
        flows.map(|f| (f["name"].as_str().unwrap().to_owned(), f["deadline_ns"].clone())).collect()
    };
    let trip = |name: &str| ("Relay1/LD0/gcbTrip event".to_owned() + name, Value::from(2_000_000));
    let logging = ("logging".to_owned(), Value::from(20_000_000));
    let found = flows(&folder);
    assert!(found.contains(&trip("")) && found.contains(&logging), "{found:?}");

    // The plant has changed: a relay has another name for its control block.
    let changed = BAY.replace("gcbPosition", "gcbPlace");
    assert_ne!(changed, BAY);
    write(&folder, "bay.scd", &changed);
    let second = run_in(&folder, "import bay.scd -o bay.yaml");
    assert_eq!(second.code, Some(0), "{}", second.err);
    let said = "bay.yaml written again, `include` kept\nflows since the last import: \
        new `Relay2/LD0/gcbPlace event`, `Relay2/LD0/gcbPlace heartbeat`; \
        gone `Relay2/LD0/gcbPosition event`, `Relay2/LD0/gcbPosition heartbeat`\n";
    assert!(second.err.ends_with(said), "{}", second.err);
    assert_eq!(read(&folder, "own.yaml"), OWN);
    let found = flows(&folder);
    assert!(found.contains(&trip("")) && found.contains(&logging), "{found:?}");
    assert!(found.iter().any(|(name, _)| name == "Relay2/LD0/gcbPlace event"));

    // What was changed by hand is gone from the plant: the file of the user says where.
    write(&folder, "bay.scd", &BAY.replace("gcbTrip", "gcbOff"));
    let third = run_in(&folder, "import bay.scd -o bay.yaml");
    assert_eq!(third.code, Some(2), "{}", third.err);
    assert!(third.err.contains("error[unknown-path]"), "{}", third.err);
    assert!(third.err.contains(" own.yaml:4:9"), "{}", third.err);
}

#[test]
fn an_edit_of_what_was_imported_is_not_lost() {
    let folder = Folder::new("edited");
    write(&folder, "bay.scd", BAY);
    assert_eq!(run_in(&folder, "import bay.scd -o bay.yaml").code, Some(0));
    let edited = read(&folder, "bay.yaml").replace("deadline: 3 ms", "deadline: 2 ms");
    write(&folder, "bay.yaml", &edited);
    let again = run_in(&folder, "import bay.scd -o bay.yaml");
    assert_eq!(again.code, Some(2));
    let said = "`bay.yaml` was edited by hand since it was imported; move your flows, and values";
    assert!(again.err.contains(said), "{}", again.err);
    assert_eq!(read(&folder, "bay.yaml"), edited);
    assert_eq!(run_in(&folder, "import bay.scd -o bay.yaml --force").code, Some(0));
    assert!(!read(&folder, "bay.yaml").contains("deadline: 2 ms"));
    // A scenario that nothing was imported into stays, too.
    write(&folder, "bay.yaml", "rtether: 1\n");
    let other = run_in(&folder, "import bay.scd -o bay.yaml");
    assert_eq!(other.code, Some(2));
    assert!(other.err.contains("is already there"), "{}", other.err);
}

#[test]
fn an_import_includes_a_file_that_is_named() {
    let folder = Folder::new("include");
    write(&folder, "bay.scd", BAY);
    let missing = run_in(&folder, "import bay.scd -o bay.yaml --include own.yaml");
    assert_eq!(missing.code, Some(2));
    assert!(missing.err.contains("error[unread-file]"), "{}", missing.err);
    write(&folder, "own.yaml", OWN);
    let again = run_in(&folder, "import bay.scd -o bay.yaml");
    assert_eq!(again.code, Some(0), "{}", again.err);
    assert!(read(&folder, "bay.yaml").contains("\ninclude: [own.yaml]\n"));
}

const PLANT: &str = "rtether: 1
include: cells/two.yaml
nodes: { a: { stack: zero }, b: { stack: zero } }
switches: { sw: { ports: 4 } }
links:
  - { ends: [a, \"sw:1\"], rate: 10 Mbit/s }
  - { ends: [b, \"sw:2\"], rate: 10 Mbit/s }
flows:
  - { name: big, from: a, to: b, period: 10 ms, size: 1400 B }
run: { for: 1 s }
";
const TWO: &str = "nodes:
  c: { stack: zero }
links:
  - { ends: [c, \"sw:3\"], rate: 10 Mbit/s }
flows:
  - { name: tight, from: c, to: b, period: 10 ms, size: 64 B, pcp: 1, deadline: 1 ms }
";

/// Oracle: the lines of the texts above; at 10 Mbit/s a frame of 1400 octets takes more than 1 ms.
#[test]
fn verbs_point_into_the_file_that_says_it() {
    let folder = Folder::new("verbs");
    write(&folder, "p/plant.yaml", PLANT);
    write(&folder, "p/cells/two.yaml", TWO);
    let check = run_in(&folder, "check p/plant.yaml --json --sarif out.sarif");
    let result = check.json();
    let changes = result["help"]["changes"].as_array().unwrap();
    let of = |edit: &str| {
        let change = changes.iter().find(|own| {
            let own = own["edit"].as_str().unwrap_or_default();
            own.starts_with(edit)
        });
        let change = change.unwrap_or_else(|| panic!("no {edit} in {changes:?}"));
        (change["file"].clone(), change["line"].clone())
    };
    assert_eq!(of("links[2].rate"), ("p/cells/two.yaml".into(), 4.into()));
    assert_eq!(of("links[1].rate"), ("p/plant.yaml".into(), 7.into()));
    let why = run_in(&folder, "why p/plant.yaml tight --for 100ms");
    assert_eq!(why.code, Some(0), "{}", why.err);
    write(&folder, "p/cells/two.yaml", &TWO.replace("from: c", "from: d"));
    for verb in ["check", "sim", "bound", "why"] {
        let flow = if verb == "why" { " tight" } else { "" };
        let wrong = run_in(&folder, &format!("{verb} p/plant.yaml{flow} --message-format json"));
        assert_eq!(wrong.code, Some(2), "{verb}: {}", wrong.err);
        let message: Value = serde_json::from_str(wrong.err.lines().next().unwrap()).unwrap();
        assert_eq!(message["spans"][0]["file"], "p/cells/two.yaml", "{verb}");
        assert_eq!(message["spans"][0]["line"], 6, "{verb}");
    }
    let sarif = run_in(&folder, "check p/plant.yaml --sarif out.sarif --annotations");
    assert!(sarif.err.contains("::error file=p/cells/two.yaml,line=6"), "{}", sarif.err);
    assert!(read(&folder, "out.sarif").contains("\"uri\": \"p/cells/two.yaml\""));
}
