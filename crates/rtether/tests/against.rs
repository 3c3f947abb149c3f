//! A capture against a plan: each deviation is found, and none is invented.

use rtether::against::{Deviation, against, html};
use rtether::import::{Code, Finding, Identified, Options, Plan, import};
use rtether::report::format::{Format, Render};
use rtether::report::table::Screen;
use rtether::run::{Progress, simulate_seed};
use rtether::scenario::{Override, Scenario, load, load_with};
use rtether::trace::CaptureLog;
use rtether_testkit::read_document;

const PLAN: &str = "
rtether: 1
name: line
run: { for: 2 s, warmup: 0 s }
nodes: { plc: { stack: zero }, drive: { stack: zero }, panel: { stack: zero }, relay: { stack: zero } }
switches: { sw: { ports: 4 } }
links:
  - { ends: [plc, \"sw:1\"], rate: 100 Mbit/s }
  - { ends: [drive, \"sw:2\"], rate: 100 Mbit/s }
  - { ends: [panel, \"sw:3\"], rate: 100 Mbit/s }
  - { ends: [relay, \"sw:4\"], rate: 100 Mbit/s }
flows:
  - { name: setpoint, from: plc, to: drive, period: 2 ms, size: 64 B, pcp: 6, deadline: 500 us }
  - { name: actual, from: drive, to: plc, period: 2 ms, size: 128 B, pcp: 6, deadline: 1 ms }
  - { name: poll, from: panel, to: plc, period: 50 ms, size: 40 B, reply: { size: 200 B }, deadline: 10 ms }
  - { name: trip, from: relay, to: [plc, panel], over: goose, min_gap: 10 ms, mean_gap: 40 ms, burst: 3, size: 150 B, pcp: 7, vlan: 10 }
  - { name: log, from: plc, to: panel, kind: bulk, rate: 2 Mbit/s }
";

/// Simulates a plant, and imports the capture of it.
fn seen(text: &str, set: &[&str]) -> Scenario {
    let set = set.iter().map(|set| Override::parse(set).expect("an override"));
    let set: Vec<Override> = set.collect();
    let scenario = load_with("plant.yaml", text, &set).into_scenario();
    let scenario = scenario.expect("a right plant");
    let mut octets = Vec::new();
    let mut log = CaptureLog::new(&scenario, &mut octets);
    simulate_seed(&scenario, 1, &Progress::default(), &mut log).expect("runs");
    log.finish().expect("memory takes everything");
    let plan = import("plant.pcapng", &octets, &Options::new()).expect("a plan");
    load("seen.yaml", &plan.scenario).into_scenario().expect("right")
}

fn plan() -> Scenario {
    load("plan.yaml", PLAN).into_scenario().expect("a right plan")
}

/// Returns the deviations by the name of the flow, as planned if it is.
fn found(text: &str, set: &[&str]) -> Vec<(String, Vec<Deviation>)> {
    let compared = against(&plan(), &seen(text, set));
    let rows = compared.rows.into_iter().filter(|row| !row.deviations.is_empty());
    rows.map(|row| {
        let name = row.planned.map_or("?".into(), |way| way.name);
        (name, row.deviations)
    })
    .collect()
}

/// Oracle: the plant is the plan.
#[test]
fn nothing_deviates() {
    assert_eq!(found(PLAN, &[]), []);
}

/// Oracle: what was changed in the plant. The names of stations are not in the capture.
#[test]
fn each_deviation_is_found() {
    use Deviation::{Faster, Late, Missing, NotPlanned, Priority, Size, Slower, Vlan};
    let cases: [(&[&str], &str, &[Deviation]); 9] = [
        (&["flows.setpoint.period=4 ms"], "setpoint", &[Slower]),
        (&["flows.setpoint.period=1 ms"], "setpoint", &[Faster]),
        (&["flows.setpoint.size=80 B"], "setpoint", &[Size]),
        (&["flows.setpoint.pcp=3"], "setpoint", &[Priority]),
        (&["flows.setpoint.vlan=7"], "setpoint", &[Vlan]),
        (&["flows.setpoint.jitter=800 us"], "setpoint", &[Late]),
        (&["flows.setpoint.start=2 s"], "setpoint", &[Missing]),
        (&["flows.trip.min_gap=2 ms", "flows.trip.mean_gap=4 ms"], "trip", &[Faster]),
        (&["flows.actual.period=5 ms", "flows.actual.pcp=0"], "actual", &[Slower, Priority]),
    ];
    for (set, name, expected) in cases {
        let found = found(PLAN, set);
        assert_eq!(found, [(name.to_owned(), expected.to_vec())], "{set:?}");
    }
    let more = "  - { name: camera, from: panel, to: drive, period: 5 ms, size: 1000 B }\n";
    let found = found(&format!("{PLAN}{more}"), &[]);
    assert_eq!(found, [("?".to_owned(), vec![NotPlanned])]);
}

/// Oracle: the formats. What deviates is shown to people, everything is in files.
#[test]
fn formats() {
    let compared = against(&plan(), &seen(PLAN, &["flows.setpoint.period=4 ms"]));
    assert!(compared.deviates());
    assert_eq!(compared.summary(), "FAIL. 5 of 6 planned flows match, 1 slower");
    let json = read_document(&compared.json());
    assert_eq!(json["schema"], "rtether.against/1");
    assert_eq!(json["flows"][0]["deviations"][0], "slower");
    assert_eq!(json["flows"][0]["planned"]["time_ns"], 2_000_000);
    assert_eq!(json["flows"].as_array().map(Vec::len), Some(6));
    let csv = compared.rows().csv();
    assert_eq!(csv.lines().count(), 7, "{csv}");
    let shown = compared.render(Format::Table, Screen::default());
    assert!(shown.contains("every 2 ms / every 4 ms"), "{shown}");
    assert!(!shown.contains("trip"), "{shown}");
}

/// Oracle: a reader of XML, and what deviates, is found and is the same in the other formats.
#[test]
fn the_page_has_what_deviates_and_all_flows() {
    let imported = Plan {
        format: "capture".into(),
        scenario: String::new(),
        assumptions: Vec::new(),
        findings: vec![Finding {
            line: 7,
            code: Code::TooFew,
            text: "two <frames> & no more".into(),
        }],
        counts: Vec::new(),
        identified: Identified::default(),
    };
    let compared = against(&plan(), &seen(PLAN, &["flows.setpoint.period=4 ms"]));
    let page = html(&compared, &imported);
    let body = page.strip_prefix("<!DOCTYPE html>\n").expect("a page");
    let document = roxmltree::Document::parse(body).expect("XML");
    let text = |id: &str| -> Vec<String> {
        let mut sections = document.descendants();
        let section = sections.find(|node| node.attribute("id") == Some(id));
        let rows = section.expect("a section").descendants();
        let rows = rows.filter(|node| {
            node.has_tag_name((node.tag_name().namespace().unwrap_or_default(), "tr"))
        });
        rows.map(|row| {
            let cells = row.descendants().filter_map(|node| node.text());
            cells.collect::<Vec<&str>>().join(" ")
        })
        .collect()
    };
    let deviations = text("deviations");
    assert_eq!(deviations.len(), 2, "{deviations:?}");
    assert!(deviations[1].contains("every 2 ms / every 4 ms"), "{deviations:?}");
    assert!(text("meaning")[1].contains("less often"));
    assert_eq!(text("flows").len(), 7);
    assert!(text("findings")[1].contains("two <frames> & no more"));
    assert!(page.contains("FAIL: \u{2717} it deviates from the plan"));
    let same = html(&against(&plan(), &seen(PLAN, &[])), &imported);
    assert!(
        same.contains("PASS: \u{2713} all is as planned") && !same.contains("id=\"deviations\"")
    );
}
