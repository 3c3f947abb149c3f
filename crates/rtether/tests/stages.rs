//! The stages of a run, apart.

use rtether::check::{Options, check};
use rtether::report::format::{Format, Render};
use rtether::report::json;
use rtether::report::table::Screen;
use rtether::report::{Checked, Verdicts};

use rtether::scenario;
use rtether_model::quantity::Duration;

/// `f` meets `g` at the port towards `b` in the second stage alone: both release together, and `g`
/// has 1000 octets of payload.
fn loaded(stages: &str) -> Checked {
    let text = format!(
        "rtether: 1\nname: two stages\n\
         nodes: {{ a: {{ stack: zero }}, b: {{ stack: zero }}, c: {{ stack: zero }} }}\n\
         switches: {{ sw: {{ ports: 3, latency: 0 us }} }}\n\
         links:\n\
         \x20 - {{ ends: [a, \"sw:1\"], rate: 100 Mbit/s }}\n\
         \x20 - {{ ends: [b, \"sw:2\"], rate: 100 Mbit/s }}\n\
         \x20 - {{ ends: [c, \"sw:3\"], rate: 100 Mbit/s }}\n\
         flows:\n\
         \x20 - {{ name: f, from: a, to: b, period: 1 ms, phase: 80 us, size: 60 B, deadline: 50 us }}\n\
         \x20 - {{ name: g, from: c, to: b, period: 1 ms, phase: 0 us, size: 1000 B, start: 4 ms }}\n\
         run: {{ for: 10 ms, warmup: 2 ms{stages} }}\n"
    );
    let scenario = scenario::load("two.yaml", &text).into_scenario().unwrap();
    check(&scenario, Options::default()).unwrap()
}

const STAGES: &str = ", stages: [{ name: quiet, from: 1 ms }, { name: loaded, from: 4 ms }]";

/// Oracle: by hand. A frame of 106 octets takes 9.12 us on each link, one of 1046 takes 84.32 us, and
/// 0.96 us lie between two frames. `g` is on the second link from 84.32 us to 168.64 us, `f` comes
/// there at 89.12 us and begins at 169.6 us.
#[test]
fn a_packet_belongs_to_the_stage_of_its_release() {
    let checked = loaded(STAGES);
    let [quiet, busy] = &checked.results.stages[..] else {
        panic!("two stages");
    };
    let ns = Duration::from_ns;
    // 2 and 3 ms after the warm-up; 4 to 9 ms.
    assert_eq!((quiet[0].released, quiet[0].latency.count), (2, 2));
    assert_eq!((busy[0].released, busy[0].latency.count), (6, 6));
    assert_eq!(quiet[0].latency.max, ns(18_240));
    assert_eq!(busy[0].latency.min, ns(169_600 - 80_000 + 9_120));
    assert_eq!((quiet[0].late, busy[0].late), (0, 6));
    assert_eq!((quiet[1].released, busy[1].released), (0, 6));
}

/// Oracle: the record of the whole run, and the same run without stages.
#[test]
fn stages_add_up_to_the_run_and_change_nothing() {
    let (checked, plain) = (loaded(STAGES), loaded(""));
    assert_eq!(checked.results.record, plain.results.record);
    assert!(plain.results.stages.is_empty());
    for (index, stream) in checked.results.record.streams.iter().enumerate() {
        let stages = checked.results.stages.iter().map(|stage| &stage[index]);
        let (mut count, mut most) = (0, Duration::ZERO);
        for stage in stages {
            count += stage.latency.count;
            most = most.max(stage.latency.max);
        }
        assert_eq!((count, most), (stream.latency.count, stream.latency.max));
    }
}

#[test]
fn every_format_tells_the_stages() {
    // Oracle: the figures of the test above.
    let checked = loaded(STAGES);
    let table = Verdicts::from(&checked).render(Format::Table, Screen::default());
    let has_row = |stage: &str, time: &str| {
        let mut lines = table.lines().map(str::split_whitespace);
        lines.any(|mut words| {
            words.next() == Some(stage)
                && words.next() == Some("f")
                && words.any(|word| word == time)
        })
    };
    assert!(has_row("quiet", "18.24"), "{table}");
    assert!(has_row("loaded", "98.72"), "{table}");
    let document = json::document(&checked, json::Options::default());
    assert_eq!(document["stages"][0]["name"], "quiet");
    assert_eq!(document["stages"][1]["from_ns"], 4_000_000);
    assert_eq!(document["stages"][1]["streams"][1]["max_ns"], 98_720);
    assert_eq!(document["stages"][1]["streams"][1]["late"], 6);
    assert!(json::document(&loaded(""), json::Options::default())["stages"].is_null());
    let page = rtether::report::html::render(&checked);
    assert!(page.contains("Stages of the run"));
}
