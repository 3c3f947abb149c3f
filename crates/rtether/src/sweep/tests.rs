use super::*;
use crate::run::Progress;
use rtether_report::format::{Format, Render};
use rtether_report::table::Screen;
use rtether_scenario::Written;
use std::collections::BTreeSet;

const PLANT: &str = "rtether: 1
name: p
nodes: { a: { stack: zero }, b: { stack: zero } }
switches: { sw: { ports: 2, latency: 5 us } }
links:
  - { ends: [a, \"sw:1\"], rate: 100 Mbit/s }
  - { ends: [b, \"sw:2\"], rate: 100 Mbit/s }
flows:
  - { name: f, class: fast, from: a, to: b, period: 10 ms, size: 60 B, deadline: 1 ms }
run: { for: 100 ms, warmup: 0 s }
";

fn plant(text: &str) -> Written {
    Written::from(text.to_owned())
}

fn study(rest: &str) -> Study {
    Study::read("s.yaml", &format!("study: 1\nscenario: p.yaml\n{rest}")).unwrap()
}

fn mistake(text: &str) -> String {
    Study::read("s.yaml", text).unwrap_err().to_string()
}

#[test]
fn a_grid_has_every_combination_and_all_seeds_of_each() {
    let study = study(
        "parameters:\n  a: [1 ms, 2 ms]\n  b: { from: 0 us, to: 10 us, steps: 3 }\nseeds: 2\nseed: 7\n",
    );
    let points = study.points();
    assert_eq!(points.len(), 12);
    let values =
        |index: usize| (points[index].values[0].1.as_str(), points[index].values[1].1.as_str());
    assert_eq!((values(0), points[0].seed), (("1 ms", "0 us"), 7));
    assert_eq!((values(1), points[1].seed), (("1 ms", "0 us"), 8));
    assert_eq!(values(2), ("1 ms", "5 us"));
    assert_eq!(values(11), ("2 ms", "10 us"));
}

#[test]
fn a_latin_hypercube_draws_from_every_stratum_once() {
    let study = study(
        "parameters:\n  a: { from: 0, to: 100 }\n  b: { from: 1, to: 1000, scale: log }\n\
         sample: latin-hypercube\npoints: 50\n",
    );
    let points = study.points();
    let strata: BTreeSet<String> = points
        .iter()
        .map(|point| format!("{}", (point.values[0].1.parse::<f64>().unwrap() / 2.0).floor()))
        .collect();
    assert_eq!(strata.len(), 50);
    // Half of them are below the geometric mean.
    let small = points.iter().filter(|point| point.values[1].1.parse::<f64>().unwrap() < 31.62);
    assert_eq!(small.count(), 25);
    assert_eq!(points, study.points());
}

#[test]
fn a_further_parameter_leaves_the_draws_of_the_others() {
    let draw = |more: &str| {
        let study = study(&format!(
            "parameters:\n  a: {{ from: 0, to: 1 }}\n{more}sample: random\npoints: 9\n"
        ));
        let points = study.points().into_iter();
        points.map(|point| point.values[0].1.clone()).collect::<Vec<_>>()
    };
    assert_eq!(draw(""), draw("  b: { from: 3, to: 9, whole: true }\n"));
}

#[test]
fn the_name_of_a_point_changes_with_all_that_decides_its_result() {
    let one = study("parameters: { flows.f.period: [10 ms, 20 ms] }\nseeds: 2\n");
    let proved = study("parameters: { flows.f.period: [10 ms, 20 ms] }\nseeds: 2\nprove: true\n");
    let points = one.points();
    let mut names: BTreeSet<String> =
        points.iter().map(|point| point.name(&one, &plant(PLANT))).collect();
    names.insert(points[0].name(&one, &plant(&format!("{PLANT}\n"))));
    names.insert(points[0].name(&proved, &plant(PLANT)));
    assert_eq!(names.len(), 6);
    assert!(names.iter().all(|name| name.len() == 32));
}

/// Oracle: by hand. 60 octets with UDP (8), IP (20), Ethernet (18) and preamble (8) are 114 on the wire,
/// of 80 ns each at 100 Mbit/s and of 800 at 10.
#[test]
fn a_point_has_the_figures_of_its_run() {
    let study = study("parameters: { \"links[0].rate\": [100 Mbit/s, 10 Mbit/s] }\n");
    let run = |point: &Point| {
        let text = study.run(&plant(PLANT), point, &Progress::default()).unwrap();
        serde_json::from_str::<serde_json::Value>(&text).unwrap()
    };
    let points = study.points();
    let (fast, slow) = (run(&points[0]), run(&points[1]));
    assert_eq!(fast["groups"][0]["name"], "fast");
    assert_eq!(fast["groups"][0]["delivered_packets"], 10);
    assert_eq!(fast["conclusion"], "PASS");
    let max =
        |document: &serde_json::Value| document["groups"][0]["delay_max_ns"].as_f64().unwrap();
    let more = max(&slow) - max(&fast);
    assert!((more - 114.0 * 720.0).abs() < 1.0, "{more}");
    let used = fast["groups"][0]["deadline_used"].as_f64().unwrap();
    assert!((used - max(&fast) / 1e6).abs() < 1e-9, "{used}");
}

#[test]
fn a_point_that_cannot_be_run_says_why() {
    let study = study("parameters: { flows.f.period: [10 ms, 0 ms] }\n");
    let result = study.run(&plant(PLANT), &study.points()[1], &Progress::default());
    assert!(result.unwrap().contains("\"refused\":\"error"));
}

/// Oracle: by hand. The delay follows the rate alone, so that it explains everything.
#[test]
fn what_matters_is_told_from_what_does_not() {
    let study = study(
        "parameters:\n  \"links[0].rate\": [10 Mbit/s, 100 Mbit/s]\n  flows.f.period: [10 ms, 20 ms]\n",
    );
    let run = |point: Point| {
        let text = study.run(&plant(PLANT), &point, &Progress::default());
        (point, text.unwrap())
    };
    let answer = Answer::new(&study, study.points().into_iter().map(run)).unwrap();
    let csv = answer.sensitivity().csv();
    let row = |start: &str| csv.lines().find(|line| line.starts_with(start)).unwrap().to_owned();
    assert_eq!(row("fast,delay_max_ns,links[0].rate"), "fast,delay_max_ns,links[0].rate,1,-1");
    assert_eq!(row("fast,delay_max_ns,flows.f.period"), "fast,delay_max_ns,flows.f.period,0,0");
    let text = answer.render(Format::Table, Screen::default());
    assert!(text.starts_with("4 points\n") && text.contains("100.0 %"), "{text}");
    assert_eq!(answer.points().height(), 4);
    let quantiles = answer.quantiles().csv();
    assert!(quantiles.starts_with("group,measure,points,min,p5,"), "{quantiles}");
    let json: serde_json::Value = serde_json::from_str(&answer.json()).unwrap();
    assert_eq!((&json["points"], &json["refused"]), (&4.into(), &0.into()));
}

#[test]
fn mistakes_have_a_line_and_a_remedy() {
    let head = "study: 1\nscenario: p.yaml\n";
    let cases = [
        ("scenario: p.yaml\nparameters: { a: [1] }\n", "s.yaml:1: the first line"),
        ("study: 1\nparameters: { a: [1] }\n", "`scenario: plant.yaml` is missing"),
        (head, "`parameters` is missing"),
        ("study: 1\nscenario: p\nparameter: {}\n", "s.yaml:3: unknown key `parameter`"),
    ];
    for (text, expected) in cases {
        assert!(mistake(text).contains(expected), "{}", mistake(text));
    }
    let cases = [
        ("parameters: { a: { from: 1 ms, to: 2 s } }\n", "in the same unit"),
        ("parameters: { a: { from: 0 s, to: 2 s, scale: log } }\n", "above zero"),
        ("parameters: { a: { from: 1, to: 2 } }\n", "`a` needs `steps`"),
        ("parameters: { a: [] }\n", "values are expected"),
        ("parameters: { a: [1] }\npoints: 4\n", "leave `points` out"),
        ("parameters: { a: [1] }\nsample: random\n", "`points: 64` is missing"),
        ("parameters: { a: [1] }\nsample: sobol\n", "none of grid, random"),
        ("parameters: { a: { from: 0, to: 1, steps: 1000000 } }\nseeds: 2\n", "at most 1000000"),
        ("parameters: { a: [1] }\nseeds: -1\n", "from 1 to 100000"),
        ("parameters: [\n", "s.yaml:3"),
    ];
    for (rest, expected) in cases {
        let said = mistake(&format!("{head}{rest}"));
        assert!(said.contains(expected), "{rest}: {said}");
    }
}
