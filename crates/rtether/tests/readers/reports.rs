//! `JUnit`, SARIF and `OpenMetrics`. Oracle: junitparser, the schema of OASIS as models of pydantic, the
//! parser of Prometheus' client, and the verdicts and CSV of the same check.

use std::fmt::Write as _;
use std::path::Path;
use std::process::Command;

use rtether::check::{Options, check};
use rtether::report::format::{Format, Render};
use rtether::report::table::Screen;
use rtether::report::{Checked, Verdicts, gate};
use rtether::scenario::{Loaded, load};
use rtether::verdict::Verdict;
use rtether_testkit::{Dice, Folder};
use serde_json::{Value, json};

use super::{PLANTS, python, run};

/// What has a meaning in XML, JSON or a line of metrics.
const NAMES: [&str; 8] = [
    "a \"b\" & <c>",
    "back\\slash \\n",
    "]]> { x=\"1\" } 5",
    "größer als 1 µs",
    "# EOF",
    "it's -- so",
    "%25 :: 日本",
    "plain",
];

/// Draws a plant, some of whose flows are late and some of whose are not judged.
fn draw(number: u64) -> String {
    let mut dice = Dice::new(number ^ 0x0DD);
    let quoted = |text: &str| Value::from(text).to_string();
    let mut text = format!(
        "rtether: 1\nname: {}\nnodes: {{ a: {{ stack: zero }}, b: {{ stack: zero }}, \
         idle: {{ stack: zero }} }}\n\
         switches: {{ sw: {{ ports: 3 }} }}\nlinks:\n",
        quoted(dice.pick(&NAMES))
    );
    for (port, node) in ["a", "b", "idle"].iter().enumerate() {
        writeln!(text, "  - {{ ends: [{node}, \"sw:{}\"], rate: 10 Mbit/s }}", port + 1).unwrap();
    }
    text.push_str("flows:\n");
    for (flow, name) in NAMES.iter().enumerate().take(1 + dice.index(NAMES.len())) {
        let name = quoted(&format!("{flow} {name}"));
        let (from, to) = dice.pick(&[("a", "b"), ("b", "a"), ("a", "[b, idle]")]);
        let size = dice.between(1, 1_400);
        let class = quoted(dice.pick(&NAMES));
        let deadline = dice.pick(&["", ", deadline: 1 ms", ", deadline: 3 ms"]);
        writeln!(
            text,
            "  - {{ name: {name}, class: {class}, from: {from}, to: {to}, period: 10 ms, \
             size: {size} B{deadline} }}"
        )
        .unwrap();
    }
    text + "run: { for: 30 ms, warmup: 0 s }\n"
}

/// Writes what a check writes, and returns what must be read of it.
fn written(folder: &Path, text: &str) -> Value {
    let write = |name: &str, text: String| std::fs::write(folder.join(name), text).unwrap();
    let loaded = load("plant \"1\".yaml", text);
    let Some(plant) = &loaded.scenario else {
        let mistakes = gate::mistakes(&loaded);
        write("junit.xml", gate::junit_of_mistakes("plant \"1\"", &mistakes));
        write("out.sarif", gate::sarif(&mistakes));
        let errors = mistakes.iter().filter(|own| own.severity.name() == "error").map(|own| {
            let place = &own.places[0];
            let line = format!("{}:{}:{}", place.file, place.begin.0, place.begin.1);
            json!(["plant \"1\"", line, "error"])
        });
        let cases: Vec<Value> = errors.collect();
        assert!(!cases.is_empty(), "{text}");
        return json!({ "cases": cases, "results": results(&mistakes), "metrics": [] });
    };
    let checked = check(plant, Options::default()).unwrap();
    let findings = findings(&loaded, &checked);
    write("junit.xml", gate::junit(&checked));
    write("out.sarif", gate::sarif(&findings));
    let verdicts = Verdicts::from(&checked);
    let shown = |format| verdicts.render(format, Screen::default());
    write("out.prom", shown(Format::OpenMetrics));
    let cases = checked.streams().map(|stream| {
        let suite = &plant.name;
        let class = format!("{suite}.{}", stream.flow.class);
        let mut case = vec![class, checked.stream_name(&stream)];
        case.extend(match stream.assessment.verdict {
            Verdict::Ok => None,
            Verdict::Unjudged => Some("skipped".to_owned()),
            Verdict::NoAnswer => Some("error".to_owned()),
            Verdict::NotProved | Verdict::Lost | Verdict::Late => Some("failure".to_owned()),
        });
        case
    });
    let cases: Vec<Vec<String>> = cases.collect();
    json!({ "cases": cases, "results": results(&findings), "metrics": times(&shown(Format::Csv)) })
}

fn findings(loaded: &Loaded, checked: &Checked) -> Vec<gate::Finding> {
    let mut findings = gate::mistakes(loaded);
    findings.extend(gate::failures(loaded, checked));
    findings
}

fn results(findings: &[gate::Finding]) -> Vec<Value> {
    let rows = findings.iter().map(|own| {
        let mut row = vec![json!(own.code), json!(own.severity.name()), json!(own.message)];
        row.extend(own.places.first().map(|place| json!(place.begin.0)));
        Value::from(row)
    });
    rows.collect()
}

/// Returns the times of a CSV as samples: metric, flow, listener, and seconds.
fn times(csv: &str) -> Vec<Value> {
    let mut rows = csv::Reader::from_reader(csv.as_bytes());
    let names = rows.headers().unwrap().clone();
    let mut samples = Vec::new();
    for row in rows.records() {
        let row = row.unwrap();
        let cell = |wanted: &str| {
            let at = names.iter().position(|name| name == wanted).unwrap();
            row[at].to_owned()
        };
        let ends = [cell("flow"), cell("listener")];
        for (name, value) in names.iter().zip(&row) {
            if let (Some(base), Ok(ns)) = (name.strip_suffix("_ns"), value.parse::<f64>()) {
                let name = format!("rtether_result_{base}_seconds");
                samples.push(json!([name, ends, ns / 1e9]));
            }
        }
    }
    samples
}

/// Returns the times among the samples that were read.
fn read_times(metrics: &Value) -> Vec<Value> {
    let all = metrics.as_array().unwrap().iter();
    let times = all.filter(|own| own[0].as_str().unwrap().ends_with("_seconds"));
    let times = times.map(|own| {
        let labels = &own[1];
        json!([own[0], [labels["flow"], labels["listener"]], own[2]])
    });
    times.collect()
}

/// Returns samples in an order that both sides have, with times to the picosecond.
fn sorted(samples: Vec<Value>) -> Vec<String> {
    let lines = samples.into_iter().map(|own| {
        let seconds = own[2].as_f64().unwrap();
        format!("{} {} {seconds:.12}", own[0], own[1])
    });
    let mut lines: Vec<String> = lines.collect();
    lines.sort();
    lines
}

#[test]
fn reports_are_read_as_they_were_meant() {
    let Some(python) = python("readers-small") else {
        return;
    };
    let folder = Folder::new("reports");
    let plants = (0..PLANTS).map(|number| {
        let text = draw(number);
        // Every third has mistakes.
        let text = match number % 3 {
            0 => text.replace("period: 10 ms", "period: 10 \"<&>"),
            _ => text,
        };
        let own = folder.path().join(number.to_string());
        std::fs::create_dir(&own).unwrap();
        let expected = written(&own, &text);
        (own, text, expected)
    });
    let plants: Vec<_> = plants.collect();
    let script = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/readers/read.py");
    let said = run(Command::new(python).arg(script).args(plants.iter().map(|(own, ..)| own)));
    let mut counts = [0; 3];
    for (line, (_, text, expected)) in said.lines().zip(&plants) {
        let read: Value = serde_json::from_str(line).unwrap();
        assert_eq!(read["cases"], expected["cases"], "{text}");
        assert_eq!(read["results"], expected["results"], "{text}");
        let times = expected["metrics"].as_array().unwrap().clone();
        let count = |value: &Value| value.as_array().map_or(0, Vec::len);
        let found = [count(&read["cases"]), count(&read["results"]), times.len()];
        for (all, own) in counts.iter_mut().zip(found) {
            *all += own;
        }
        assert_eq!(sorted(read_times(&read["metrics"])), sorted(times), "{text}");
    }
    assert_eq!(said.lines().count(), plants.len());
    println!("cases, results, times: {counts:?}");
    assert!(counts.iter().all(|count| *count > 50), "{counts:?}");
}
