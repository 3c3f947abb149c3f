//! A plant with as many switches as there may be.

use std::fmt::Write as _;

use rtether::check::{Options, check};
use rtether::scenario::load;
use rtether_model::quantity::Duration;

const SWITCHES: usize = 10_000;

/// Switches in a tree: each has three below it, a station, and one above it.
fn plant(switches: usize, flows: &[[usize; 2]]) -> String {
    let mut text = String::from("rtether: 1\nnodes:\n");
    for switch in 0..switches {
        let _ = writeln!(text, "  s{switch}: {{ stack: zero }}");
    }
    text.push_str("switches:\n");
    for switch in 0..switches {
        let _ = writeln!(text, "  w{switch}: {{ ports: 5, latency: 1 us }}");
    }
    text.push_str("links:\n");
    for switch in 0..switches {
        let _ = writeln!(text, "  - {{ ends: [s{switch}, \"w{switch}:5\"], rate: 100 Mbit/s }}");
    }
    for switch in 1..switches {
        let (above, port) = ((switch - 1) / 3, 1 + (switch - 1) % 3);
        let _ = writeln!(
            text,
            "  - {{ ends: [\"w{above}:{port}\", \"w{switch}:4\"], rate: 100 Mbit/s }}"
        );
    }
    text.push_str("flows:\n");
    for [from, to] in flows {
        let _ = writeln!(
            text,
            "  - {{ name: f{from}, from: s{from}, to: s{to}, period: 50 ms, size: 64 B }}"
        );
    }
    text.push_str("run: { for: 100 ms }\n");
    text
}

/// Counts the links between two switches.
fn distance([mut a, mut b]: [usize; 2]) -> i64 {
    let mut links = 0;
    while a != b {
        // The one with the larger number is not above the other.
        let lower = if a > b { &mut a } else { &mut b };
        *lower = (*lower - 1) / 3;
        links += 1;
    }
    links
}

/// Oracle: by hand. Each link takes 118 octets at 80 ns, each switch 1 us, and the flows are far
/// apart.
#[test]
fn ten_thousand_switches_are_crossed() {
    let flows = [[SWITCHES - 1, 3_333], [4_000, 4_001], [1, 9_000], [7_000, 0]];
    let loaded = load("tree.yaml", &plant(SWITCHES, &flows));
    let scenario = loaded.into_scenario().unwrap();
    let checked = check(&scenario, Options::default()).unwrap();
    for (stream, ends) in checked.streams().zip(flows) {
        let between = distance(ends);
        let expected = Duration::from_ns(9_440) * (between + 2) + Duration::from_us(between + 1);
        let least = stream.record.latency.min;
        assert_eq!(least, expected, "{ends:?}");
        assert!(stream.bound.unwrap() >= expected);
    }
    assert_eq!(checked.results.record.nodes.len(), 2 * SWITCHES);
}

#[test]
fn one_more_is_refused() {
    let loaded = load("tree.yaml", &plant(SWITCHES + 1, &[[0, 1]]));
    assert!(loaded.scenario.is_none());
    assert_eq!(loaded.diagnostics[0].code, "too-large");
}
