//! What a search for bad releases finds: only plants that the scenario allows, each with exactly the
//! delay that is claimed, the same on any number of threads.

use std::fmt::Write as _;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration as WallDuration;

use rtether::adversary::{self, Effort, Found, Hunt, Plant, Target, search};
use rtether::bound;
use rtether::run::{self, Progress};
use rtether::scenario::{Scenario, Written};
use rtether_model::flow::{Flow, Phase, Traffic};
use rtether_model::quantity::Duration;
use rtether_testkit::Dice;

/// Plants drawn, in the ordinary run and with `RTETHER_NIGHTLY`.
const CASES: [u64; 2] = [12, 2_000];
/// Plants tried by the search for each of them.
const TRIES: u64 = 150;

pub(super) fn load(text: &str) -> Scenario {
    let loaded = Written::from(text.to_owned()).load();
    loaded.into_scenario().unwrap_or_else(|words| panic!("{words}\n{text}"))
}

/// Draws a scenario: stations at a switch, two switches or a hub, and flows of all kinds.
pub(super) fn draw(number: u64) -> String {
    let mut dice = Dice::new(number ^ 0xad5e);
    let stacks =
        ["zero", "{ rate: 20000 packets/s }", "{ send: 20 us, receive: 30 us, jitter: 15 us }"];
    let stations = 3 + dice.index(3);
    let mut text = String::from("rtether: 1\nnodes:\n");
    for station in 0..stations {
        let stack = dice.pick(&stacks);
        writeln!(text, "  n{station}: {{ stack: {stack} }}").unwrap();
    }
    let is_hub = dice.chance(20);
    let count = if is_hub { 1 } else { 1 + dice.index(2) };
    let kind = if is_hub { "hubs" } else { "switches" };
    let rate = if is_hub { "rate: 10 Mbit/s, " } else { "" };
    writeln!(text, "{kind}:").unwrap();
    for switch in 0..count {
        writeln!(text, "  s{switch}: {{ {rate}ports: 8 }}").unwrap();
    }
    text.push_str("links:\n");
    for station in 0..stations {
        let switch = dice.index(count);
        let rate = if is_hub { "10 Mbit/s, duplex: half" } else { "100 Mbit/s" };
        writeln!(text, "  - {{ ends: [n{station}, \"s{switch}:{}\"], rate: {rate} }}", station + 1)
            .unwrap();
    }
    if count == 2 {
        text.push_str("  - { ends: [\"s0:8\", \"s1:8\"], rate: 100 Mbit/s }\n");
    }
    text.push_str("flows:\n");
    for flow in 0..4 + dice.index(5) {
        let line = draw_flow(&mut dice, stations, is_hub);
        writeln!(text, "  - {{ name: \"f {flow}\", {line} }}").unwrap();
    }
    let warmup = dice.pick(&["0 s", "3 ms", "41 ms"]);
    writeln!(text, "run: {{ for: 200 ms, warmup: {warmup}, seed: {number} }}").unwrap();
    text
}

fn draw_flow(dice: &mut Dice, stations: usize, is_hub: bool) -> String {
    let from = dice.index(stations);
    let to = (from + 1 + dice.index(stations - 1)) % stations;
    let size = dice.pick(&[16, 100, 700, 1400]);
    let period = dice.pick(&["1 ms", "2 ms", "5 ms"]);
    let start = dice.pick(&["", "", ", start: 4 ms", ", start: 1 ms, stop: 150 ms"]);
    let jitter = dice.pick(&["", "", ", jitter: 300 us", ", jitter: 900 us"]);
    let phase = dice.pick(&["", "", ", phase: 250 us", ", phase: synchronized"]);
    let ends = format!("from: n{from}, to: n{to}, size: {size} B, deadline: 20 ms");
    match dice.index(9) {
        0..4 => format!("{ends}, period: {period}{start}{jitter}{phase}"),
        4 => format!("{ends}, min_gap: 3 ms, mean_gap: 20 ms, burst: 2{start}"),
        5 => format!("{ends}, period: {period}{phase}, reply: {{ size: 60 B, after: 50 us }}"),
        6 => format!("{ends}, period: 10 ms, over: tcp"),
        7 if !is_hub => {
            let other = (0..stations).find(|own| *own != from && *own != to).unwrap();
            format!(
                "from: n{from}, to: [n{to}, n{other}], delivery: multicast, size: {size} B, \
                 deadline: 20 ms, period: {period}"
            )
        }
        _ => format!("from: n{from}, to: n{to}, over: tcp, total: 30 kB, start: 50 ms"),
    }
}

/// Returns whether a flow may release its first packets at these times: worked out from what the keys
/// of a scenario mean, apart from the product.
fn is_allowed(flow: &Flow, times: &[Duration]) -> bool {
    let ps: Vec<i64> = times.iter().map(|time| time.as_ps()).collect();
    let start = flow.start.as_ps();
    let stop = flow.stop.map_or(i64::MAX, Duration::as_ps);
    let in_order = ps.windows(2).all(|pair| pair[0] <= pair[1]);
    let is_within = ps.iter().all(|time| (start..stop).contains(time));
    let fits = match flow.traffic {
        Traffic::Periodic { period, phase, release_jitter } => {
            let (period, jitter) = (period.as_ps(), release_jitter.as_ps());
            // A grid that begins at `begin` has every release, none early and none later than the
            // jitter; the only grids to try are those on which some release is in time or latest.
            let fits = |begin: i64| {
                let in_first = match phase {
                    Phase::Fixed(phase) => begin == start + phase.as_ps(),
                    Phase::Random => (start..start + period).contains(&begin),
                };
                let points = (0i64..).map(|number| begin + number * period);
                in_first
                    && ps
                        .iter()
                        .zip(points)
                        .all(|(time, point)| (point..=point + jitter).contains(time))
            };
            let numbered = (0i64..).zip(&ps);
            let mut begins = vec![start, start + period - 1];
            if let Phase::Fixed(phase) = phase {
                begins.push(start + phase.as_ps());
            }
            begins.extend(numbered.flat_map(|(number, time)| {
                [time - number * period, time - number * period - jitter]
            }));
            begins.into_iter().any(fits)
        }
        Traffic::Sporadic { min_gap, .. } => {
            ps.windows(2).all(|pair| pair[1] - pair[0] >= min_gap.as_ps())
        }
        Traffic::Poisson { .. }
        | Traffic::Flood { .. }
        | Traffic::Adaptive { .. }
        | Traffic::Bulk(_) => false,
    };
    in_order && is_within && fits
}

/// Checks one result against the scenario it was found for.
fn check(text: &str, scenario: &Scenario, found: &Found, bound: Option<Duration>) {
    let written = Written::from(text.to_owned());
    let file =
        found.file(scenario, &written).unwrap_or_else(|| panic!("no file\n{text}\n{found:?}"));
    let loaded = load(&file);
    // Nothing but the releases differs.
    assert_eq!(loaded.network, scenario.network);
    assert_eq!(loaded.flows.len(), scenario.flows.len());
    for (own, other) in loaded.flows.iter().zip(&scenario.flows) {
        let without = Flow { releases: Vec::new(), ..own.clone() };
        assert_eq!(without, *other, "{file}");
        let fits = own.releases.is_empty() || is_allowed(other, &own.releases);
        assert!(fits, "{} is not released so\n{text}\n{file}", own.name);
    }
    assert!(loaded.run.duration <= scenario.run.duration, "{file}");
    assert_eq!(loaded.run.warmup, scenario.run.warmup);
    let record = run::simulate(&loaded, &Progress::default()).unwrap().record;
    let stream = found.target.index(&scenario.flows);
    let max = record.streams[stream].latency.max;
    if loaded.run.duration == found.until {
        assert_eq!(max, found.latency, "{file}");
    } else {
        // What begins later goes on, and may be slower still.
        assert!(max >= found.latency, "{file}");
    }
    if record.streams.iter().all(|stream| stream.dropped == 0)
        && let Some(bound) = bound
    {
        assert!(found.latency <= bound, "{} above the bound {bound}\n{file}", found.latency);
    }
}

/// Searches all streams of a scenario with this number of plants.
fn hunt(scenario: &Scenario, tries: u64) -> (u64, Vec<Option<Found>>) {
    let bounds = bound::latencies(&bound::analyze(scenario));
    let mut hunt = Hunt::new(Plant::of(scenario), &bounds, &[]);
    while hunt.tried() < tries && hunt.step(tries - hunt.tried(), &|| true) > 0 {}
    hunt.confirm(&|| true, &|| true);
    (hunt.tried(), hunt.results())
}

/// Oracle: what the keys of a scenario mean (`is_allowed`), the loader, and the simulator on the file
/// that was written; bounds where nothing was lost.
#[test]
fn what_is_found_is_allowed_and_takes_as_long_as_claimed() {
    let is_nightly = std::env::var("RTETHER_NIGHTLY").is_ok_and(|value| value == "1");
    let mut numbers = 0..CASES[usize::from(is_nightly)];
    if let Ok(case) = std::env::var("RTETHER_CASE") {
        let case: u64 = case.parse().expect("RTETHER_CASE is a number");
        numbers = case..case + 1;
    }
    let (mut results, mut later, mut drawn, mut overloaded) = (0, 0, 0, 0);
    for number in numbers {
        let text = draw(number);
        let repeat = Repeat(number);
        drawn += 1;
        let scenario = match Written::from(text.clone()).load().into_scenario() {
            Err(words) if words.contains("error[link-overload]") => {
                overloaded += 1;
                continue;
            }
            _ => load(&text),
        };
        let bounds = bound::latencies(&bound::analyze(&scenario));
        let ordinary = run::simulate(&scenario, &Progress::default()).unwrap().record;
        let (tried, found) = hunt(&scenario, TRIES);
        assert!(tried <= TRIES, "{tried} tried");
        for (index, found) in found.iter().enumerate() {
            let Some(found) = found else { continue };
            check(&text, &scenario, found, bounds[index]);
            results += 1;
            later += usize::from(found.latency > ordinary.streams[index].latency.max);
        }
        drop(repeat);
    }
    assert!(overloaded * 5 <= drawn, "{overloaded} of {drawn} plants are overloaded");
    // A search that finds nothing would pass all of the above.
    assert!(results > 0 && later * 3 > results, "{later} of {results} later than one run shows");
}

/// Prints how to repeat a case that failed.
struct Repeat(u64);

impl Drop for Repeat {
    #[allow(clippy::print_stderr, reason = "the message of a failed test")]
    fn drop(&mut self) {
        if std::thread::panicking() {
            eprintln!(
                "repeat with: RTETHER_CASE={} cargo test -p rtether --test it what_is_found",
                self.0
            );
        }
    }
}

/// Oracle: the same search on one thread.
#[test]
fn threads_change_nothing() {
    for number in [1, 2, 3] {
        let scenario = load(&draw(number));
        let on = |threads: usize| {
            let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
            pool.install(|| hunt(&scenario, 200))
        };
        assert_eq!(on(1), on(3), "case {number}");
    }
}

/// Oracle: the number of times that the search asks whether to go on. It asks before each plant, so that
/// one which must end after that many questions has tried fewer plants, and has confirmed nothing more.
#[test]
fn a_search_ends_within_a_batch() {
    let scenario = load(&draw(1));
    for most in [1, 100, 1_000] {
        let asked = AtomicU64::new(0);
        let goes_on = || asked.fetch_add(1, Ordering::Relaxed) < most;
        let mut hunt = Hunt::new(Plant::of(&scenario), &[], &[]);
        while hunt.step(u64::MAX, &goes_on) > 0 {}
        assert!(hunt.tried() <= most, "{} plants of {most}", hunt.tried());
        // One question more for each search of the batch that it leaves.
        let more = asked.load(Ordering::Relaxed) - most;
        assert!(more < 1_000, "{more} more questions");
        let waiting = hunt.unconfirmed();
        hunt.confirm(&|| false, &|| true);
        hunt.confirm(&|| true, &|| false);
        assert_eq!(hunt.unconfirmed(), waiting, "confirmed after the end");
    }
}

/// Oracle: the clock of the machine, which is given ten times as long. What is found after the time is
/// up would be found in minutes.
#[test]
fn a_time_holds() {
    let scenario = load(&draw(1));
    let limit = WallDuration::from_secs(1);
    let progress = adversary::Progress::begin(Effort::Time(limit));
    let outcome = adversary::attack(&scenario, (&[], &[]), &progress);
    assert!(progress.elapsed() < limit * 10, "{:?}", progress.elapsed());
    assert!(outcome.search.tried > 0 && !outcome.search.is_cut);
    let words = format!("{} plants tried", outcome.search.tried);
    assert!(outcome.search.words().starts_with(&words));
}

/// Oracle: by hand. `f` waits at the port to `b` for a frame of each of three others, which come from
/// stations of their own: 3 times (64 + 8 + 12) octets at 100 Mbit/s, 6.72 us each, on top of the way
/// of its own frame: 72 octets on two links, 5.76 us each, and 5 us in the switch.
#[test]
fn the_worst_case_of_one_port_is_found() {
    let text = "rtether: 1
nodes: { a: { stack: zero }, b: { stack: zero }, c: { stack: zero }, d: { stack: zero }, e: { stack: zero } }
switches: { s: { ports: 5, latency: 5 us } }
links:
  - { ends: [a, \"s:1\"], rate: 100 Mbit/s }
  - { ends: [b, \"s:2\"], rate: 100 Mbit/s }
  - { ends: [c, \"s:3\"], rate: 100 Mbit/s }
  - { ends: [d, \"s:4\"], rate: 100 Mbit/s }
  - { ends: [e, \"s:5\"], rate: 100 Mbit/s }
flows:
  - { name: f, from: a, to: b, period: 1 ms, size: 16 B }
  - { name: g, from: c, to: b, period: 2 ms, size: 16 B }
  - { name: h, from: d, to: b, period: 3 ms, size: 16 B }
  - { name: i, from: e, to: b, min_gap: 1 ms, mean_gap: 1 s, size: 16 B }
run: { for: 1 s }
";
    let scenario = load(text);
    let target = Target::all(&scenario.flows)[0];
    let found = search(Plant::of(&scenario), target, None, 200).unwrap();
    let expected = Duration::from_ns(3 * 6_720 + 2 * 5_760 + 5_000);
    // Each comes some picoseconds before the next one.
    let range = expected - Duration::from_ps(100)..=expected;
    assert!(range.contains(&found.latency), "{found:?}");
    check(text, &scenario, &found, None);
}
