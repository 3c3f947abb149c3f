//! What is imported loads without a diagnostic, and is judged as it is.

use std::fs;
use std::path::Path;

use rtether::check::{Options as CheckOptions, check};
use rtether::import::{Class, File, Imported, Options, Plan, import, import_all};
use rtether::report::format::Render;
use rtether::scenario::{Scenario, load, render};
use rtether::verdict::Conclusion;
use rtether_testkit::read_document;

fn read(path: &str) -> String {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    fs::read_to_string(root.join(path)).expect("a file of the repository")
}

fn plan(text: &str) -> Plan {
    let plan = import("plant.scd", text.as_bytes(), &Options::new());
    plan.unwrap_or_else(|error| panic!("{error}"))
}

/// Loads what was imported; warnings count as well.
fn scenario(plan: &Plan) -> Scenario {
    let loaded = load("plant.yaml", &plan.scenario);
    let words = loaded.text(render::Style::Plain);
    assert!(words.is_empty(), "{words}");
    let scenario = loaded.into_scenario().expect("no diagnostic");
    // Every assumption is data of the scenario, and names the value that is there.
    let own = &scenario.assumptions;
    assert_eq!(own.ended, Vec::<String>::new());
    let held = own.held.iter().map(|one| (&one.path, &one.why));
    let listed = plan.assumptions.iter().map(|one| (&one.key, &one.text));
    let [mut held, mut listed] = [held.collect::<Vec<_>>(), listed.collect()];
    held.sort();
    listed.sort();
    assert_eq!(held.len(), listed.len());
    assert!(held.iter().zip(&listed).all(|(held, listed)| held.1 == listed.1));
    scenario
}

/// Oracle: the promise of the import: its result passes as it is.
#[test]
fn an_imported_plant_passes() {
    for path in
        ["docs/guides/bay.scd", "crates/rtether-import/tests/data/autogen-substation-demo.scd"]
    {
        let scenario = scenario(&plan(&read(path)));
        let checked = check(&scenario, CheckOptions::default()).expect("a run");
        assert_eq!(checked.conclusion, Conclusion::Met, "{path}");
    }
}

/// Returns the bay with copies of its relays and merging units, `count` in all.
fn large(count: usize) -> String {
    let bay = read("docs/guides/bay.scd");
    let (head, rest) = bay.split_once("<Communication>").expect("part");
    let (communication, rest) = rest.split_once("</Communication>").expect("part");
    let (devices, templates) = rest.split_once("<DataTypeTemplates>").expect("part");
    let copies = |text: &str| -> String {
        let copy = |n: usize| {
            let mut text = text.replace("\"4001\"", &format!("\"{}\"", 4001 + n));
            text = text.replace(">L", &format!(">L{n}."));
            text = text.replace(">Relay2<", &format!(">Relay2x{n}<"));
            for name in ["Relay1", "Relay2", "MU1", "Control", "SwitchA"] {
                text = text.replace(&format!("\"{name}\""), &format!("\"{name}x{n}\""));
            }
            text
        };
        (0..count).map(copy).collect()
    };
    // Each subnetwork once, with the access points of all copies.
    let (station, process) = communication.split_once("</SubNetwork>").expect("part");
    let (station_head, station_points) = station.split_once("</BitRate>").expect("part");
    let (process_head, process_points) = process.split_once("ProcessBus\">").expect("part");
    let process_points = process_points.split("</SubNetwork>").next().expect("part");
    format!(
        "{head}<Communication>{station_head}</BitRate>{}</SubNetwork>{process_head}ProcessBus\">{}</SubNetwork></Communication>{}<DataTypeTemplates>{templates}",
        copies(station_points),
        copies(process_points),
        copies(devices),
    )
}

/// Oracle: arithmetic. 30 merging units send 30 x 4000 frames of 148 octets with preamble, tag and
/// gap: 142 Mbit/s, more than links of 100 Mbit/s carry, so the switch is assumed to filter. 60
/// publishers of GOOSE every 4 ms take 60 x 250 x some 190 octets: 23 Mbit/s.
#[test]
fn a_large_plant_is_not_overloaded_by_what_is_assumed() {
    let plan = plan(&large(30));
    let lines = |part: &str| plan.scenario.lines().filter(|l| l.contains(part)).count();
    assert_eq!(lines("multicast: managed"), 1);
    assert_eq!(lines("over: sv"), 30);
    assert_eq!(lines("over: goose"), 120);
    scenario(&plan);
}

/// Oracle: as many copies of one control block at `MinTime` 0.5 ms as would take more than a link.
#[test]
fn events_that_would_overload_are_assumed_to_be_rarer() {
    let bay = large(30).replace(">4</MinTime>", ">0.5</MinTime>");
    let plan = plan(&bay);
    let mut gaps = plan.scenario.lines().filter(|l| l.contains("min_gap:"));
    let first = gaps.next().expect("an event");
    assert!(first.contains("times MinTime"), "{first}");
    scenario(&plan);
}

/// Oracle: the plan itself.
#[test]
fn json_holds_all() {
    let plan = plan(&read("docs/guides/bay.scd"));
    let imported = Imported { file: "bay.scd", plan: &plan };
    let json = read_document(&imported.json());
    assert_eq!(json["schema"], "rtether.import/1");
    assert_eq!(json["scenario"], plan.scenario);
    assert_eq!(json["counts"]["goose_blocks"], 3);
    let count = |key: &str| json[key].as_array().expect("a list").len();
    assert_eq!(count("assumptions"), plan.assumptions.len());
    assert_eq!(count("findings"), plan.findings.len());
    assert_eq!(imported.rows().len(), plan.findings.len());
}

/// Oracle: the promise of the import. Three switches in a ring would flood for ever without ways.
#[test]
fn an_imported_list_passes() {
    let flows = "src,dst,size,period,deadline\n4,[5],400,2000000,1000000\n5,\"[4,6]\",100,500000,500000\n6,[4],3000,1000000,1000000\n";
    let links = "link,q_num,rate,t_proc,t_prop\n\"(1, 2)\",8,1,2000,0\n\"(2, 3)\",8,1,2000,0\n\"(3, 1)\",8,1,2000,0\n\"(1, 4)\",8,1,2000,0\n\"(2, 5)\",8,1,2000,0\n\"(3, 6)\",8,1,2000,0\n";
    let files = [("flows.csv", flows), ("links.csv", links)];
    let files = files.map(|(name, text)| File { name, octets: text.as_bytes() });
    for files in [&files[..], &files[..1]] {
        let plan = import_all(files, &Options::new());
        let plan = plan.unwrap_or_else(|error| panic!("{error}"));
        let scenario = scenario(&plan);
        let checked = check(&scenario, CheckOptions::default()).expect("a run");
        assert_eq!(checked.conclusion, Conclusion::Met);
    }
}

/// Oracle: the promise of the import, also for plants without deadlines, for which a line of `accept`
/// that names them would be a mistake, and for a list that names a listener twice.
#[test]
fn plants_without_deadlines_pass() {
    let options =
        Options::new().with_deadline(Class::Goose, None).with_deadline(Class::SampledValues, None);
    let bay = read("docs/guides/bay.scd");
    let list = "src,dst,size,period\na,\"[b, c, b]\",100,1000000\n".to_owned();
    for (name, text) in [("bay.scd", bay), ("list.csv", list)] {
        let plan = import(name, text.as_bytes(), &options);
        let plan = plan.unwrap_or_else(|error| panic!("{error}"));
        let checked = check(&scenario(&plan), CheckOptions::default()).expect("a run");
        assert_eq!(checked.conclusion, Conclusion::Met, "{name}");
    }
}

/// Oracle: the promise of the import.
#[test]
fn imported_requirements_pass() {
    let text = read("fuzz/corpus/import/qcc-json");
    let plan = import("uni.json", text.as_bytes(), &Options::new());
    let plan = plan.unwrap_or_else(|error| panic!("{error}"));
    let checked = check(&scenario(&plan), CheckOptions::default()).expect("a run");
    assert_eq!(checked.conclusion, Conclusion::Met);
}
