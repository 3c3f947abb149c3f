//! Requirements over several flows: sums of delays.

use rtether::check::{Options, check};
use rtether::fail::{self, Question, Which};
use rtether::measured::{Distribution, Evidence, Measurement, WithStalls};
use rtether::report::sums::Summed;
use rtether::report::{Verdicts, format::Render};
use rtether::run::Progress;
use rtether::scenario::{Scenario, load};
use rtether::verdict::{Column, Conclusion, Standing, Verdict};
use rtether::{Checked, report};
use rtether_model::quantity::Duration;
use rtether_model::record::Segment;
use rtether_testkit::read_document;

/// Two flows that share no port. By hand: a frame of 104 octets and its preamble take 8.96 us on each
/// of two links, the switch 10 us, and the stack of `c` 100 us.
fn scenario(accept: &str) -> Scenario {
    let text = format!(
        "rtether: 1
stacks: {{ slow: {{ rate: 10000 packets/s }} }}
nodes: {{ a: {{ stack: zero }}, b: {{ stack: zero }}, c: {{ stack: slow }} }}
switches: {{ sw: {{ ports: 3, latency: 10 us }} }}
links:
  - {{ ends: [a, \"sw:1\"], rate: 100 Mbit/s }}
  - {{ ends: [b, \"sw:2\"], rate: 100 Mbit/s }}
  - {{ ends: [c, \"sw:3\"], rate: 100 Mbit/s }}
flows:
  - {{ name: request, from: a, to: b, period: 2 ms, size: 58 B }}
  - {{ name: reply, from: b, to: c, period: 2 ms, size: 58 B }}
  - {{ name: never, from: b, to: c, period: 2 ms, size: 58 B, start: 1 s, stop: 2 s }}
accept:
{accept}run: {{ for: 20 ms }}
"
    );
    let loaded = load("test.yaml", &text).into_scenario();
    loaded.unwrap_or_else(|words| panic!("{words}"))
}

/// Judges one sum, with these measured maxima.
fn judge(names: &str, max: &str, measured: &[Option<i64>]) -> (Checked, Summed) {
    let scenario = scenario(&format!("  - {{ sum: [{names}], max: {max} }}\n"));
    let streams = measured.iter().map(|max| {
        let max = max.map(Duration::from_us);
        let measurement = Measurement {
            released: 10,
            max,
            max_less_stalls: max,
            with_stalls: WithStalls { max, ..WithStalls::default() },
            ..Measurement::default()
        };
        (measurement, Distribution::default())
    });
    let evidence = Evidence { streams: streams.collect(), ..Evidence::default() };
    let options = Options { evidence, ..Options::default() };
    let checked = check(&scenario, options).unwrap();
    let [sum] = checked.sums().try_into().unwrap();
    (checked, sum)
}

/// `request` takes 27.92 us, `reply` 127.92 us; each is alone on its ports, so bounds are the same.
const BOTH: Duration = Duration::from_ps(155_840_000);

#[test]
fn a_sum_by_hand() {
    let (checked, sum) = judge("request, reply", "155.84 us", &[]);
    assert_eq!(sum.simulated.value, Some(BOTH));
    assert_eq!(
        sum.bound.value,
        checked.stream(0).bound.zip(checked.stream(1).bound).map(|(a, b)| a + b)
    );
    assert!(sum.bound.value >= Some(BOTH));
    assert_eq!((sum.verdict, sum.margin), (Verdict::Ok, Some(Duration::ZERO)));
    assert_eq!(sum.measured.standing, Standing::Unjudged);
    assert_eq!(checked.conclusion, Conclusion::Met);
    let responsible = sum.responsible.unwrap();
    assert_eq!(responsible.flow, "reply");
    assert_eq!(responsible.hop.unwrap().place.segment, Segment::ReceiveStack);
    assert_eq!(responsible.hop.unwrap().delay, Duration::from_us(100));
}

#[test]
fn a_picosecond_more_is_late() {
    let (checked, sum) = judge("request, reply", "155839999 ps", &[]);
    assert_eq!((sum.verdict, sum.standing()), (Verdict::Late, Standing::Late));
    assert_eq!(sum.margin, Some(Duration::from_ps(-1)));
    assert_eq!((sum.failed, sum.bound.standing), (Some(Column::Simulated), Standing::NotProved));
    assert_eq!(checked.conclusion, Conclusion::Failed);
    assert!(checked.summary().contains(
        " The sum of request, reply is late: up to 155.8 us of 155.8 us; 82 % of it reply"
    ));
}

/// Oracle: the sum of the bounds.
#[test]
fn bounds_prove_a_sum() {
    let (_, sum) = judge("request, reply", "10 ms", &[]);
    assert_eq!((sum.bound.standing, sum.standing()), (Standing::Proved, Standing::Proved));
    // Named twice, it counts twice.
    let (_, twice) = judge("reply, reply, request", "10 ms", &[]);
    assert_eq!(twice.simulated.value, Some(BOTH + Duration::from_ps(127_920_000)));
}

/// Oracle: the sum in the column of a check, and by hand: twice 27.92 us.
#[test]
fn bounds_alone_are_judged() {
    let alone = |names: &str, max: &str| {
        let scenario = scenario(&format!("  - {{ sum: [{names}], max: {max} }}\n"));
        let analysis = rtether::bound::analyze(&scenario);
        let [sum] = rtether::sums::proved(&scenario, &analysis).try_into().unwrap();
        let text = rtether::bound::Bounds { scenario: &scenario, analysis: &analysis };
        (sum, text.json())
    };
    let (sum, document) = alone("request, request", "55.84 us");
    assert_eq!(sum.added.standing, Standing::Proved);
    assert_eq!(sum.margin(), Some(Duration::ZERO));
    let document = read_document(&document);
    assert_eq!(document["sums"][0]["bound_ns"], 55_840);
    assert_eq!(document["streams"][0]["bound_ns"], 27_920);
    let (sum, _) = alone("request, request", "55839999 ps");
    assert_eq!(sum.added.standing, Standing::NotProved);
    let (_, checked) = judge("request, reply", "10 ms", &[]);
    let (sum, _) = alone("request, reply", "10 ms");
    assert_eq!(sum.added, checked.bound);
}

/// Oracle: by hand.
#[test]
fn latencies_alone_are_judged() {
    let scenario = scenario("  - { sum: [reply, request], max: 100 us }\n");
    let judge = |latencies: [i64; 2]| {
        let streams = latencies.map(|us| ((us > 0).then_some(Duration::from_us(us)), 10));
        let [sum] = rtether::sums::observed(&scenario, &streams).try_into().unwrap();
        (sum.added.standing, sum.margin())
    };
    let left = |us| Some(Duration::from_us(us));
    assert_eq!(judge([60, 40]), (Standing::Held { packets: 20 }, left(0)));
    assert_eq!(judge([60, 41]), (Standing::Late, left(-1)));
    assert_eq!(judge([0, 41]), (Standing::NoAnswer, None));
}

/// Oracle: a flow that releases nothing says nothing.
#[test]
fn a_sum_with_nothing_delivered_has_no_answer() {
    let (checked, sum) = judge("request, never", "1 ms", &[]);
    assert_eq!((sum.verdict, sum.margin), (Verdict::NoAnswer, None));
    assert_eq!(checked.conclusion, Conclusion::NoAnswer);
}

/// Oracle: sums of the measured maxima.
#[test]
fn a_measured_sum_is_judged() {
    let (checked, held) = judge("request, reply", "300 us", &[Some(100), Some(200), None]);
    assert_eq!(held.measured.value, Some(Duration::from_us(300)));
    assert_eq!((held.verdict, checked.conclusion), (Verdict::Ok, Conclusion::Met));
    let (checked, late) = judge("request, reply", "300 us", &[Some(101), Some(200), None]);
    assert_eq!((late.failed, late.margin), (Some(Column::Measured), Some(Duration::from_us(-1))));
    let responsible = late.responsible.unwrap();
    assert_eq!((responsible.flow.as_str(), responsible.hop), ("reply", None));
    assert_eq!(checked.conclusion, Conclusion::Failed);
    let (_, open) = judge("request, reply", "300 us", &[Some(1), None, None]);
    assert_eq!(open.verdict, Verdict::NoAnswer);
}

/// Oracle: the figures of the sum itself.
#[test]
fn a_sum_is_in_every_format() {
    let (checked, _) = judge("request, reply", "100 us", &[]);
    let verdicts = Verdicts::from(&checked);
    let csv = verdicts.rows().csv();
    let last = csv.lines().last().unwrap();
    assert!(last.starts_with("\"sum of request, reply\",,,,late,100000,"), "{last}");
    let document = report::json::document(&checked, report::json::Options::default());
    let sum = &document["sums"][0];
    assert_eq!(sum["name"], "sum of request, reply");
    assert_eq!((&sum["sim"]["max_ns"], &sum["margin_ns"]), (&155_840.into(), &(-55_840).into()));
    assert_eq!((&sum["verdict"], &sum["basis"]["bound"]), (&"late".into(), &"not-proved".into()));
    assert_eq!(sum["responsible"]["place"], "receive stack of c");
    let markdown = verdicts.markdown();
    assert!(markdown.contains("| sum of request, reply |"), "{markdown}");
    let page = report::html::render(&checked);
    assert!(page.contains("Sums of delays") && page.contains("a sum of delays is late"));
    // In comparisons it is a stream without a listener.
    let (before, _) = judge("request, reply", "200 us", &[]);
    let before = report::json::document(&before, report::json::Options::default());
    let diff = rtether::diff::diff(&before, &document).unwrap();
    assert!(diff.conclusion() == Conclusion::Failed);
    assert_eq!(diff.differences[0].flow, "sum of request, reply");
    assert_eq!(diff.differences[0].gain(), Some(Duration::from_us(-100)));
}

/// Oracle: a switch more on the way of `request` after the failure, with its 10 us and 8.96 us.
#[test]
fn a_failure_makes_a_sum_late() {
    let text = "rtether: 1
nodes: { a: { stack: zero }, b: { stack: zero } }
switches: { s1: { ports: 3, latency: 10 us }, s2: { ports: 3, latency: 10 us }, s3: { ports: 3, latency: 10 us } }
links:
  - { ends: [a, \"s1:3\"], rate: 100 Mbit/s }
  - { ends: [b, \"s2:3\"], rate: 100 Mbit/s }
  - { ends: [\"s1:1\", \"s2:1\"], rate: 100 Mbit/s }
  - { ends: [\"s2:2\", \"s3:1\"], rate: 100 Mbit/s }
  - { ends: [\"s3:2\", \"s1:2\"], rate: 100 Mbit/s, standby: true }
flows:
  - { name: request, from: a, to: b, period: 2 ms, size: 58 B }
  - { name: reply, from: b, to: a, period: 2 ms, size: 58 B }
accept:
  - { sum: [request, reply], max: 100 us }
run: { for: 20 ms }
";
    let scenario = load("test.yaml", text).scenario.unwrap();
    let question = Question { which: Which::Trunks, recovery: None };
    let failures = fail::judge(&scenario, question, &Progress::default()).unwrap();
    let told = failures.rows.iter().map(|row| (row.late_sums, row.conclusion));
    // By hand: 2 x (3 x 8.96 + 2 x 10) us = 93.76 us, and 131.68 us through three switches.
    assert_eq!(
        told.collect::<Vec<_>>(),
        [(Some(0), Conclusion::Met), (Some(1), Conclusion::Failed), (Some(0), Conclusion::Met)]
    );
}
