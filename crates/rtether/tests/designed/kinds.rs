//! Edits of each kind that no other test needs: on small plants where one of them is the only way.

use std::collections::BTreeSet;

use rtether::design::{End, Question};

use super::{designed, is_sound};

/// Two nodes at each of three switches in a ring; all that leaves the first takes one link.
fn ring(allow: &str) -> String {
    format!(
        "rtether: 1
design: {{ {allow} }}
nodes: {{ a: {{ stack: zero }}, b: {{ stack: zero }}, c: {{ stack: zero }}, d: {{ stack: zero }} }}
switches: {{ s1: {{ ports: 4 }}, s2: {{ ports: 4 }}, s3: {{ ports: 4 }} }}
links:
  - {{ ends: [a, \"s1:1\"], rate: 100 Mbit/s }}
  - {{ ends: [b, \"s1:2\"], rate: 100 Mbit/s }}
  - {{ ends: [c, \"s2:1\"], rate: 100 Mbit/s }}
  - {{ ends: [d, \"s2:2\"], rate: 100 Mbit/s }}
  - {{ ends: [\"s1:3\", \"s2:3\"], rate: 10 Mbit/s }}  # the slow one
  - {{ ends: [\"s2:4\", \"s3:1\"], rate: 100 Mbit/s }}
  - {{ ends: [\"s3:2\", \"s1:4\"], rate: 100 Mbit/s }}
flows:
  - {{ name: fast, from: a, to: c, period: 2 ms, size: 200 B, deadline: 300 us }}  # too late behind the other
  - {{ name: slow, from: b, to: d, period: 10 ms, size: 1400 B, deadline: 5 ms }}
run: {{ for: 1 s }}
"
    )
}

/// Oracle: of two packets at one port, one waits 1.2 ms for the other; around the ring nothing does.
#[test]
fn a_flow_goes_around_a_ring() {
    let text = ring("allow: [routes]");
    let found = designed(&text, Question::default());
    is_sound(&text, &found);
    assert_eq!((found.end, found.proved), (End::Proved, [1, 2]), "{}", found.headline());
    let [edit] = &found.edits[..] else { panic!("{:?}", found.edits) };
    assert_eq!((&edit.path[..], &edit.old[..]), ("flows.fast.route", "[a, s1, s2, c]"));
    assert_eq!(edit.new, "[a, s1, s3, s2, c]");
}

/// Oracle: at 100 Mbit/s both take 140 us at the link, at 1 Gbit/s less; what costs 5 is named so.
#[test]
fn a_faster_link_is_bought_where_it_has_a_price() {
    let text = ring("allow: [queues], cost: { links: 5 }");
    let found = designed(&text, Question::default());
    is_sound(&text, &found);
    assert_eq!((found.end, found.proved), (End::Proved, [1, 2]), "{}", found.headline());
    let [edit] = &found.edits[..] else { panic!("{:?}", found.edits) };
    assert_eq!((&edit.path[..], edit.cost), ("links.4.rate", 5));
    assert_eq!(edit.old, "10 Mbit/s");
    // Without a price and without the word it stays.
    let found = designed(&ring("allow: [queues]"), Question::default());
    assert_eq!(found.edits.len(), 0);
}

/// Oracle: a window of 30 kB lets 21 segments go at once, 2.5 ms at the port; a smoother lets two.
#[test]
fn a_smoother_spreads_a_window() {
    let text = "rtether: 1
design: { allow: [smoother] }
nodes: { a: { stack: zero }, b: { stack: { send: 1 us, receive: 1 us } }, c: { stack: zero } }
switches: { sw: { ports: 3 } }
links:
  - { ends: [a, \"sw:1\"], rate: 100 Mbit/s }
  - { ends: [b, \"sw:2\"], rate: 100 Mbit/s }
  - { ends: [c, \"sw:3\"], rate: 100 Mbit/s }
flows:
  - { name: command, from: a, to: c, period: 5 ms, size: 100 B, deadline: 600 us }
  - { name: file, from: b, to: c, over: tcp, total: 10 MB, tcp: { window: 30 kB } }  # a long one
run: { for: 1 s }
";
    let found = designed(text, Question::default());
    is_sound(text, &found);
    assert_eq!((found.end, found.proved), (End::Proved, [0, 1]), "{}", found.headline());
    let paths: BTreeSet<&str> = found.edits.iter().map(|own| own.path.as_str()).collect();
    assert_eq!(paths, BTreeSet::from(["nodes.b.smoother"]));
}
