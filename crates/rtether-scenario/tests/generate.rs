//! What generators make is there for changes, selectors and exports like what is written.

use rtether_scenario::{Override, Scenario, Written, load_with, render};

const PLANT: &str = "rtether: 1
nodes: { logger: { stack: zero } }
links: [{ ends: [logger, \"top:5\"], rate: 100 Mbit/s }]
flows: [{ name: log, from: busbar, to: logger, period: 1 s, size: 100 B }]
generate: { substation: { feeder_bays: 2, transformer_bays: 0, sample_rate: 1440 packets/s } }
run: { for: 8 s }
";

fn written(text: &str, changes: &[&str]) -> Written {
    let changes = changes.iter().map(|text| Override::parse(text).expect("a change"));
    Written {
        name: "plant.yaml".to_owned(),
        text: text.to_owned(),
        changes: changes.collect(),
        included: Vec::new(),
    }
}

fn read(text: &str, changes: &[&str]) -> Scenario {
    let loaded = written(text, changes).load();
    loaded.into_scenario().unwrap_or_else(|words| panic!("{words}"))
}

fn mistakes(text: &str, changes: &[&str]) -> String {
    let changes: Vec<Override> =
        changes.iter().map(|text| Override::parse(text).expect("a change")).collect();
    let loaded = load_with("plant.yaml", text, &changes);
    assert!(loaded.scenario.is_none(), "it is taken");
    loaded.text(render::Style::Plain)
}

/// Returns the names of flows with priority 5.
fn tagged(scenario: &Scenario) -> Vec<&str> {
    let tagged = scenario.flows.iter();
    let tagged = tagged.filter(|flow| flow.tag.is_some_and(|tag| tag.pcp.get() == 5));
    tagged.map(|flow| flow.name.as_str()).collect()
}

/// Oracle: the names that the reference gives; a bay has three CT/VT.
#[test]
fn selectors_meet_what_is_generated() {
    let scenario = read(PLANT, &["flows[class=ct-vt to busbar].pcp=5"]);
    let all: Vec<String> = (1..=2)
        .flat_map(|bay| (1..=3).map(move |ct| format!("bay0{bay}.ct{ct} > busbar")))
        .collect();
    assert_eq!(tagged(&scenario), all);
    let one = read(PLANT, &["flows.bay02.ct3 > busbar.pcp=5"]);
    assert_eq!(tagged(&one), ["bay02.ct3 > busbar"]);
    let own = format!("{PLANT}changes: {{ 'flows[from=bay01.ct1][to=busbar].pcp': 5 }}\n");
    assert_eq!(tagged(&read(&own, &[])), ["bay01.ct1 > busbar"]);
    let queues = read(PLANT, &["nodes[stack=pisa].receive_queues={ selection: instances }"]);
    let stations = queues.network.iter_nodes();
    let stations = stations.filter_map(|(id, _)| queues.network.end_station(id));
    assert_eq!(stations.filter(|station| station.layer.is_some()).count(), 2 * 9);
}

/// Oracle: the order that messages and guide promise.
#[test]
fn what_a_generator_reads_is_changed_before() {
    let change = ["flows[class=ct-vt to busbar].pcp=5", "generate.substation.feeder_bays=1"];
    let scenario = read(PLANT, &change);
    let all = ["bay01.ct1 > busbar", "bay01.ct2 > busbar", "bay01.ct3 > busbar"];
    assert_eq!(tagged(&scenario), all);
    // PISA k at 2k seconds, before the end.
    for (change, count) in [("run.for=8 s", 3), ("run.for=20 s", 9), ("run.for=2 s", 0)] {
        let flows = read(PLANT, &[change]).flows.into_iter();
        let files = flows.filter(|flow| flow.class == "file to pisa");
        assert_eq!(files.count(), count, "{change}");
    }
}

/// Oracle: the scenario of the file with `generate`.
#[test]
fn what_is_written_out_is_the_same_plant() {
    for changes in [
        &[][..],
        &["generate.substation.phase=synchronized", "run.for=30 s"],
        &["generate.substation.files=false"],
        &["generate.substation.file_every=1.5 s", "generate.substation.bay_file_at=1001 ns"],
        &["flows[class=exchange].pcp=2", "switches[name=bay*].queues=4"],
        &["generate.substation.ct_vt=0", "generate.substation.segment=536 B"],
        &["generate.substation.feeder_bays=0"],
    ] {
        let plant = written(PLANT, changes);
        let text = plant.whole().expect("a plant");
        assert!(!text.contains("generate"), "{text}");
        let own = Written { name: plant.name.clone(), ..Written::from(text) };
        let read_again = own.load().into_scenario().unwrap_or_else(|words| panic!("{words}"));
        let generated = plant.load().into_scenario().unwrap_or_else(|words| panic!("{words}"));
        assert_eq!(read_again, generated, "{changes:?}");
    }
}

/// Oracle: by eye; the place is what the user wrote.
#[test]
fn mistakes_point_at_what_was_written() {
    let twice = PLANT.replace("logger: { stack: zero }", "busbar: { stack: zero }");
    let twice = mistakes(&twice.replace("[logger,", "[busbar,").replace("logger", "busbar"), &[]);
    assert!(twice.contains("`busbar` is given twice"), "{twice}");
    assert!(twice.contains("plant.yaml:5:13"), "{twice}");
    let stacks = format!("{PLANT}stacks: {{ pisa: {{ rate: 5000 packets/s }} }}\n");
    assert!(mistakes(&stacks, &[]).contains("`pisa` is given twice"));
    let flow = PLANT.replace("name: log", "name: \"bay01.ct1 > busbar\"");
    assert!(mistakes(&flow, &[]).contains("two flows are named `bay01.ct1 > busbar`"));
    let class = mistakes(PLANT, &["flows[class=ct-vt to bus].pcp=5"]);
    assert!(class.contains("did you mean `ct-vt to busbar`?"), "{class}");
    // What was not generated is not missed elsewhere.
    let set = "flows[class=ct-vt to busbar].pcp=5";
    let wrong = mistakes(PLANT, &["generate.substation.ct_vt=many", set]);
    assert!(wrong.ends_with("\n1 error\n") || wrong.ends_with("\n1 error"), "{wrong}");
}

/// A value that is wrong for all that it is for is a mistake of its own place. Oracle: one message
/// for each value.
#[test]
fn a_wrong_value_is_reported_once() {
    for value in [
        "sample_size=70000 B",
        "sample_rate=0 packets/s",
        "deadline=1",
        "phase=sometimes",
        "window=100 B",
        "segment=2000 B",
        "link_rate=1 Tbit/s",
        "switch_latency=2 s",
        "pisa_rate=5000",
        "file_every=0 s",
        "upload_at=-1 s",
    ] {
        let change = format!("generate.substation.{value}");
        let words = mistakes(PLANT, &[&change]);
        assert!(words.trim_end().ends_with("\n1 error"), "{value}: {words}");
    }
}

/// Oracle: the text of the file.
#[test]
fn a_change_of_a_generated_value_edits_the_parameter() {
    let text = PLANT.replace("feeder_bays: 2", "feeder_bays: 2, busbar_rate: 40000 packets/s");
    let plant = written(&text, &[]);
    let change = Override::new("--set", "stacks.busbar.rate", "64000 packets/s");
    let edit = plant.edit(&change).expect("the value stands in the file");
    let edited = plant.replaced(&edit).expect("it is of this file");
    assert_eq!(edited.text, text.replace("40000 packets/s", "64000 packets/s"));
    let other = Override::new("--set", "flows.bay01.ct1 > busbar.pcp", "5");
    assert_eq!(plant.edit(&other), None, "no place of the file is this flow alone");
}

/// Oracle: the limit of values; they would take gigabytes.
#[test]
fn a_large_plant_is_refused_before_it_is_written() {
    let large = "rtether: 1\ngenerate: { substation: { feeder_bays: 500, transformer_bays: 300, \
        ct_vt: 100 } }\n";
    assert!(mistakes(large, &[]).contains("eight million values"));
}
