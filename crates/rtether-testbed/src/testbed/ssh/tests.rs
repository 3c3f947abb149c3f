//! Parts of the coordinator and the agent. Whole runs are in the tests of the command line.

use std::io::{BufRead, BufReader, Read, Write};

use proptest::prelude::*;
use rtether_live::station::tcp::FileLog;
use rtether_live::station::{Answered, Arrived, Log, Sent};
use rtether_model::network::NodeId;
use rtether_model::quantity::{Duration, Instant};

use super::agent::{AgentError, serve};
use super::clocks::{Course, Estimate, Offset};
use super::hosts::Deployment;
use super::merge::{self, NodeClock};
use super::records::{self, Report};
use super::wire::{self, LINE_MAX, Lines, Order, Word};
use crate::testbed::measured::MeasuredStream;
use crate::testbed::station_logs::StationLogs;
use rtether::scenario::{self, Scenario};

const PLANT: &str = "
rtether: 1
nodes: { alpha: { stack: zero }, b: { stack: zero } }
switches: { sw: { ports: 2 } }
links:
  - { ends: [alpha, \"sw:1\"], rate: 100 Mbit/s }
  - { ends: [b, \"sw:2\"], rate: 100 Mbit/s }
flows:
  - { name: f, from: alpha, to: b, period: 2 ms, size: 64 B, deadline: 1 ms }
  - { name: g, from: alpha, to: b, period: 2 ms, size: 64 B, reply: { size: 64 B } }
  - { name: h, from: b, to: alpha, period: 2 ms, size: 64 B }
";

fn plant() -> Scenario {
    scenario::load("plant.yaml", PLANT).scenario.expect("no errors")
}

fn us(us: i64) -> Duration {
    Duration::from_us(us)
}

fn at(at: i64) -> Instant {
    Instant::ZERO + us(at)
}

fn reasons(hosts: &[&str]) -> String {
    let hosts: Vec<String> = hosts.iter().map(|&host| host.to_owned()).collect();
    let error = Deployment::new(&plant(), &hosts).expect_err("wrong");
    error.to_string()
}

#[test]
fn hosts_are_given_to_stations() {
    let hosts = ["b=root@10.0.0.2%eth1", "alpha=one"].map(str::to_owned);
    let deployment = Deployment::new(&plant(), &hosts).expect("right");
    let found: Vec<_> = deployment.hosts.iter().collect();
    assert_eq!((found[0].name.as_str(), found[1].name.as_str()), ("alpha", "b"));
    assert_eq!(found[1].target, "root@10.0.0.2");
    assert_eq!(found[1].device.as_deref(), Some("eth1"));
    assert_eq!(found[0].device, None);
    let script = deployment.to_string();
    let command = "-- root@10.0.0.2 rtether live-agent\n";
    assert!(script.contains("# plays `b` on eth1\nssh -o BatchMode=yes"), "{script}");
    assert!(script.ends_with(command), "{script}");
}

#[test]
fn all_that_is_wrong_with_hosts_is_said() {
    let all =
        reasons(&["alpa=x", "sw=x", "alpha", "alpha=-oProxyCommand=false", "alpha=x%", "b=x%a/b"]);
    for part in [
        "there is no node `alpa`; did you mean `alpha`?",
        "`sw` is not an end station",
        "`--host alpha`: write NODE=TARGET",
        "`-oProxyCommand=false` is no host",
        "`` is no name of a device",
        "`a/b` is no name of a device",
        "`alpha` has no host; add `--host alpha=TARGET%DEVICE`",
        "`b` has no host",
    ] {
        assert!(all.contains(part), "{part}: {all}");
    }
    let twice = reasons(&["alpha=x", "alpha=y", "b=z"]);
    assert!(twice.contains("`--host alpha=y`: `alpha` has a host already"));
}

/// Oracle: a round trip is the identity. Times are whole nanoseconds, as the clock's are.
#[test]
fn what_a_station_saw_is_told_whole() {
    let log = Log {
        sent: vec![Sent { stream: 7, number: u32::MAX, at: at(1), call: us(2), late: us(-3) }],
        // Takes more than one line.
        arrived: (0..600)
            .map(|number| Arrived {
                stream: 1,
                number,
                released_at: at(i64::from(number)),
                latency: us(50),
                receive: (number % 2 == 0).then_some(us(9)),
                is_answer: number % 3 == 0,
            })
            .collect(),
        answered: vec![Answered { stream: 2, number: 5, receive: None, call: us(4) }],
        ..Log::default()
    };
    let file = FileLog {
        stream: 3,
        number: 0,
        started_at: Some(at(10)),
        finished_at: None,
        delivered: 1 << 40,
        retransmissions: 2,
    };
    let mut collected = StationLogs::default();
    collected.logs.push((NodeId(0), log.clone()));
    collected.files.push(file);
    collected.errors.push("a\u{1b}[31mb".into());
    let mut all = rtether_live::stall::Stalls::default();
    all.look(at(5), at(5_000), Duration::ZERO);
    assert_eq!(all.found.len(), 1);
    collected.stalls.push((vec![NodeId(0)], all.clone()));

    let mut report = Report::default();
    let mut is_over = false;
    let said = records::say(&collected, |word| {
        let line = wire::line(word).ok_or("too long")?;
        let word: Word = wire::parse(&line).map_err(|_| "no word")?;
        is_over = report.take(word)?;
        Ok::<_, &str>(())
    });
    assert_eq!(said, Ok(()));
    assert!(is_over);
    assert_eq!(report.log, log);
    assert_eq!(report.files, [file]);
    assert_eq!(report.stalls, all);
    assert_eq!(report.errors, ["a [31mb"]);
}

#[test]
fn times_that_would_overflow_are_refused() {
    for word in [
        Word::Sent(vec![(0, 0, i64::MIN, 0, 0)]),
        Word::Arrived(vec![(0, 0, 0, i64::MAX, None, false)]),
        Word::Arrived(vec![(0, 0, 0, 0, Some(i64::MIN), false)]),
        Word::Files(vec![(0, 0, None, Some(i64::MAX), 0, 0)]),
        Word::Stalls(vec![(5, 4)]),
    ] {
        assert!(!word.is_sound(), "{word:?}");
        assert!(Report::default().take(word).is_err());
    }
}

/// Oracle: a refused word leaves nothing behind, while the other hosts of the run are still
/// awaited.
#[test]
fn a_host_that_has_said_its_end_says_no_more() {
    let end = || Word::End(wire::End { errors: vec!["x".to_owned(); 100], ..wire::End::default() });
    let mut report = Report::default();
    assert_eq!(report.take(end()), Ok(true));
    for more in [end(), Word::Sent(vec![(0, 0, 0, 0, 0)])] {
        assert_eq!(report.take(more), Err("something after its end"));
    }
    assert_eq!((report.errors.len(), report.log.sent.len()), (100, 0));
}

/// Oracle: the sum of two would be above 2^64.
#[test]
fn counts_that_would_overflow_are_refused() {
    let end = |foreign| Word::End(wire::End { foreign, ..wire::End::default() });
    let files = |octets, again| Word::Files(vec![(0, 0, None, Some(0), octets, again)]);
    for word in [end(u64::MAX), files(u64::MAX, 0), files(0, u64::MAX)] {
        assert!(Report::default().take(word).is_err());
    }
    for word in [end(1 << 40), files(1 << 40, 1 << 40)] {
        assert!(Report::default().take(word).is_ok());
    }
}

#[test]
fn lines_are_limited() {
    let long = format!("{}\n", "x".repeat(LINE_MAX - 1));
    let longer = format!("{}\n", "x".repeat(LINE_MAX));
    let mut lines = Lines::new(long.as_bytes());
    assert_eq!(lines.next().map(|line| line.map(|line| line.len())), Ok(Some(LINE_MAX)));
    assert_eq!(lines.next(), Ok(None));
    assert!(Lines::new(longer.as_bytes()).next().is_err());
    assert!(Lines::new(&b"\xff\n"[..]).next().is_err());
    // A truncated line is ignored.
    assert_eq!(Lines::new(&b"\"tick"[..]).next(), Ok(None));
    // The largest piece of a scenario fits, whatever its characters.
    let text = "\u{1}".repeat(wire::TEXT_MAX);
    assert!(wire::line(&Order::Text(text)).is_some());
    assert_eq!(wire::line(&"x".repeat(LINE_MAX)), None);
}

fn offset(ns: i64) -> Estimate {
    Estimate { exchanged: Offset { ns, error: 20_000, at: 0 }, synchronized: None }
}

fn course(before: i64, after: i64) -> Course {
    let mut later = offset(after);
    // A second after the first estimate.
    later.exchanged.at = 1_000_000_000;
    Course::new(offset(before), later, before, 0)
}

fn clock(node: u32, group: usize, course: Option<Course>) -> NodeClock {
    NodeClock { node: NodeId(node), group, course }
}

fn arrival(stream: u16, released_us: i64, latency_us: i64, is_answer: bool) -> Arrived {
    Arrived {
        stream,
        number: 0,
        released_at: at(released_us),
        latency: us(latency_us),
        receive: None,
        is_answer,
    }
}

/// Oracle: by hand. The clock of `b` gains 100 us in a second; after half a second it is 50 us
/// ahead of its assumed offset, so a delay to it seems 50 us too long, and one from it too short.
#[test]
fn delays_are_corrected_for_clocks_that_moved() {
    let clocks = [clock(0, 0, None), clock(1, 1, Some(course(7_000, 107_000)))];
    let mut ends = merge::ends(&plant());
    let report = |log| Report { log, ..Report::default() };
    let of_a = Log {
        arrived: vec![arrival(1, 500_000, 300, true), arrival(2, 500_000, 100, false)],
        ..Log::default()
    };
    let of_b = Log {
        sent: vec![Sent { stream: 2, number: 0, at: at(500_000), call: us(1), late: us(0) }],
        arrived: vec![arrival(0, 499_850, 150, false), arrival(0, 500_000, -80, false)],
        ..Log::default()
    };
    let mut report_of_b = report(of_b);
    let (from, until) = (at(500_000), at(500_500));
    report_of_b.stalls.look(from, until, Duration::ZERO);
    let reports = vec![(NodeId(0), report(of_a)), (NodeId(1), report_of_b)];
    let collected = merge::collect(reports, &clocks, &mut ends);
    let (of_a, of_b) = (&collected.logs[0].1, &collected.logs[1].1);
    // A stall is felt when it was, as long again afterwards.
    let felt = collected.stalls[1].1.felt();
    assert!(felt.touch(at(499_940), at(499_960)) && !felt.touch(at(500_960), at(500_990)));
    // A round trip is measured by one clock.
    assert_eq!(of_a.arrived[0], arrival(1, 500_000, 300, true));
    assert_eq!(of_a.arrived[1], arrival(2, 499_950, 150, false));
    assert_eq!(of_b.sent[0].at, at(499_950));
    assert_eq!(of_b.arrived[0], arrival(0, 499_850, 100, false));
    // 130 us before its release: the delay becomes zero, but is remembered.
    assert_eq!(of_b.arrived[1].latency, Duration::ZERO);
    let mut streams = vec![MeasuredStream::default(); 3];
    for (stream, latency) in streams.iter_mut().zip([us(100), us(300), us(150)]) {
        stream.latency.record(latency);
        stream.histogram.record(latency);
    }
    merge::withhold(&plant(), &mut streams, &ends, &clocks);
    let why = streams[0].withheld.as_deref().expect("a contradiction");
    assert!(why.contains("one would be -13"), "{why}");
    assert_eq!(streams[1].withheld, None, "a round trip");
}

/// Oracle: the rule. 20 us are not below a tenth of 100 us, but below a tenth of a millisecond.
#[test]
fn delays_between_clocks_need_a_tenth_of_the_deadline_or_median() {
    let clocks = [clock(0, 0, None), clock(1, 1, Some(course(0, 0)))];
    let one = |latency| {
        let mut stream = MeasuredStream {
            released: 3,
            delivered: 1,
            lost: 2,
            missed: 3,
            ..MeasuredStream::default()
        };
        stream.latency.record(latency);
        stream.histogram.record(latency);
        stream
    };
    let ends = merge::ends(&plant());
    let mut streams = vec![one(us(100)), one(us(100)), one(us(100))];
    merge::withhold(&plant(), &mut streams, &ends, &clocks);
    assert_eq!(streams[0].withheld, None, "the deadline is a millisecond");
    assert_eq!(streams[0].uncertainty, us(20));
    assert_eq!(streams[1].uncertainty, Duration::ZERO);
    let why = streams[2].withheld.as_deref().expect("no deadline");
    assert!(why.contains("up to 20 us") && why.contains("a tenth of the median"), "{why}");
    assert_eq!((streams[2].latency.count, streams[2].lost), (0, 2));
    // One host dropped out: nothing is known about what it was to receive.
    let mut streams = vec![one(us(100)), one(us(100)), one(us(100))];
    merge::withhold(&plant(), &mut streams, &ends, &clocks[..1]);
    assert_eq!((streams[0].released, streams[2].released), (0, 0));
    assert_eq!(streams[1].withheld, None, "its talker is there");
    let why = streams[0].withheld.as_deref().expect("fell out");
    assert!(why.contains("`b`"), "{why}");
}

/// What an agent sends on this input followed by end of file, and how it ends.
fn hear(input: &[u8]) -> (String, Result<(), AgentError>) {
    let (mut output, word) = std::io::pipe().expect("a pipe");
    let result = serve(std::io::Cursor::new(input.to_vec()), word);
    let mut said = String::new();
    output.read_to_string(&mut said).expect("text");
    (said, result)
}

#[test]
fn an_agent_refuses_what_is_no_order() {
    let long = "x".repeat(LINE_MAX + 1);
    for input in ["hello\n", "{\"role\":{}}\n", "\"report\"\n", "{\"start\":0}\n", &long] {
        let (said, result) = hear(input.as_bytes());
        assert!(matches!(result, Err(AgentError::Malformed(_))), "{input}");
        let last = said.lines().last().expect("a line");
        let Ok(Word::Failed { why, is_input }) = wire::parse(last) else {
            panic!("{said}");
        };
        assert!(is_input && why.contains("not from a coordinator"), "{why}");
    }
    let (said, result) = hear(b"\"tick\"\n\"tick\"\n");
    assert!(matches!(result, Err(AgentError::Closed)));
    assert_eq!(said.lines().count(), 1, "the greeting alone: {said}");
}

#[test]
fn an_agent_refuses_a_scenario_that_it_cannot_play() {
    let role =
        "{\"role\":{\"node\":NODE,\"device\":\"nosuch0\",\"priority\":null,\"changes\":[]}}\n";
    let text = |text: &str| wire::line(&Order::Text(text.into())).expect("short");
    let end = text("");
    for (node, plant, expected) in [
        ("0", "nodes: 3", "cannot read the scenario"),
        ("2", PLANT, "no end station has the number 2"),
        ("4294967295", PLANT, "no end station"),
        ("0", PLANT, "no network device `nosuch0`; there are"),
    ] {
        let input = role.replace("NODE", node) + &text(plant) + &end;
        let (said, result) = hear(input.as_bytes());
        let refused = matches!(&result, Err(AgentError::Refused { why, is_input: true })
            if why.contains(expected));
        assert!(refused, "{result:?}");
        assert!(said.contains("\"failed\""), "{said}");
    }
}

#[test]
fn an_agent_tells_its_clock_at_once() {
    let (input, mut order) = std::io::pipe().expect("a pipe");
    let (output, word) = std::io::pipe().expect("a pipe");
    let agent = std::thread::spawn(move || serve(input, word));
    let mut lines = BufReader::new(output).lines();
    let hello = lines.next().expect("a line").expect("text");
    assert!(hello.contains(wire::FORMAT), "{hello}");
    order.write_all(b"{\"clock\":3}\n").expect("it listens");
    let before = rtether_live::clock::monotonic_ns();
    let answer = lines
        .find(|line| line.as_ref().is_ok_and(|line| line.contains("clock")))
        .expect("a line")
        .expect("text");
    let Ok(Word::Clock(reading)) = wire::parse(&answer) else {
        panic!("{answer}");
    };
    assert_eq!(reading.number, 3);
    let apart = (reading.monotonic - before).abs();
    assert!(apart < 10_000_000_000, "the same clock: {apart}");
    drop(order);
    let result = agent.join().expect("no panic");
    assert!(matches!(result, Err(AgentError::Closed)));
}

proptest! {
    /// Oracle: no panic, and no line beyond the limit.
    #[test]
    fn any_octets_are_lines_words_or_errors(octets in prop::collection::vec(any::<u8>(), 0..400)) {
        let mut lines = Lines::new(&octets[..]);
        while let Ok(Some(line)) = lines.next() {
            prop_assert!(line.len() <= LINE_MAX);
            let word: Result<Word, _> = wire::parse(&line);
            let order: Result<Order, _> = wire::parse(&line);
            prop_assert!(word.is_err() || order.is_err());
        }
    }

    /// Oracle: no panic for any times a host may send.
    #[test]
    fn any_records_are_taken_or_refused(
        sent in prop::collection::vec(any::<(u16, u32, i64, i64, i64)>(), 0..4),
        small in prop::collection::vec((0u16..4, 0u32..9, -9_000_000_000i64..9_000_000_000,
            -9_000_000_000i64..9_000_000_000), 0..9),
        offsets in any::<(i64, i64)>(),
    ) {
        let mut report = Report::default();
        let _ = report.take(Word::Sent(sent));
        let rows = small.iter().map(|&(s, n, at, latency)| (s, n, at, latency, None, n == 0));
        prop_assert_eq!(report.take(Word::Arrived(rows.collect())), Ok(false));
        let course = course(offsets.0 / 2, offsets.1 / 2);
        let clocks = [clock(0, 0, None), clock(1, 1, Some(course))];
        let mut ends = merge::ends(&plant());
        let collected = merge::collect(vec![(NodeId(1), report)], &clocks, &mut ends);
        for arrived in collected.logs.iter().flat_map(|(_, log)| &log.arrived) {
            prop_assert!(arrived.is_answer || arrived.stream > 0
                || arrived.latency >= Duration::ZERO);
        }
    }
}
