//! Cancelled runs, and what is kept of them.

use std::sync::Arc;
use std::thread;
use std::time::{Duration, Instant};

use rtether::check::{self, Options};
use rtether::run::{Progress, Results, simulate};
use rtether::scenario::{Scenario, Written, load};
use rtether::verdict::Conclusion;

fn scenario(run: &str) -> Scenario {
    let loaded = load(
        "test.yaml",
        &format!(
            "rtether: 1
nodes: {{ a: {{ stack: zero }}, b: {{ stack: zero }} }}
links: [{{ ends: [a, b], rate: 1 Gbit/s }}]
flows: [{{ name: flow, from: a, to: b, period: 10 us, jitter: 1 us, size: 64 B }}]
run: {{ {run} }}
"
        ),
    )
    .into_scenario();
    loaded.unwrap_or_else(|words| panic!("{words}"))
}

/// Cancels a run after half a second; returns its results and how long it took to end.
fn cut(scenario: &Scenario) -> (Results, Duration) {
    let progress = Progress::default();
    thread::scope(|scope| {
        let run = scope.spawn(|| simulate(scenario, &progress).unwrap());
        thread::sleep(Duration::from_millis(500));
        progress.cancel();
        let asked = Instant::now();
        (run.join().unwrap(), asked.elapsed())
    })
}

/// Generous: a debug build on a machine with other load.
const SOON: Duration = Duration::from_secs(10);

/// Oracle: each run is of 100 packets; a million of them take minutes.
#[test]
fn runs_that_were_not_begun_are_left_out() {
    let scenario = scenario("for: 1 ms, seeds: 1000000, seed: 7");
    let (results, took) = cut(&scenario);
    assert!(took < SOON, "{took:?}");
    assert!(results.partial);
    assert!(results.seeds.len() < 1_000_000);
    assert_eq!(results.seeds.len(), results.record.runs as usize);
    assert!(results.seeds.is_sorted() && results.seeds[0] == 7);
}

/// Oracle: a thousandth of 100 hours is 36 million packets.
#[test]
fn a_long_run_ends_soon() {
    let (results, took) = cut(&scenario("for: 100 h"));
    assert!(took < SOON, "{took:?}");
    assert_eq!((results.partial, results.seeds.len()), (true, 1));
    assert!(results.record.events > 0);
}

/// Oracle: an interval over replications needs two complete ones; runs cut off at different times
/// do not count.
#[test]
fn runs_that_were_cut_off_are_no_replications() {
    let scenario = scenario("for: 1 h, seeds: 2");
    let (results, _) = cut(&scenario);
    assert!(results.partial && results.record.streams[0].delivered > 0);
    assert_eq!(results.confidence[0].mean, None);
}

/// Oracle: a packet every 10 us for 100 ms, three times.
#[test]
fn a_run_that_nobody_ends_is_whole() {
    let whole = simulate(&scenario("for: 100 ms, seeds: 3"), &Progress::default()).unwrap();
    assert_eq!(whole.seeds, [1, 2, 3]);
    assert_eq!(whole.record.runs, 3);
    assert!(!whole.partial && whole.confidence[0].mean.is_some());
    assert_eq!(whole.record.streams[0].released, 3 * 10_000);
}

/// Oracle: the run alone.
#[test]
fn who_does_not_wait_for_proofs_has_the_run() {
    let scenario = scenario("for: 10 ms");
    let results = simulate(&scenario, &Progress::default()).unwrap();
    for explains in [false, true] {
        let progress = Arc::new(Progress::default());
        progress.cancel();
        let options = Options { explains, progress, ..Options::default() };
        let checked = check::conclude(scenario.clone(), results.clone(), options);
        assert_eq!(checked.conclusion, Conclusion::Interrupted);
        assert!(checked.analysis.is_none() && checked.results.partial);
        assert_eq!(checked.results.record, results.record);
    }
}

/// Oracle: without a cancel, changes are tried.
#[test]
fn who_does_not_wait_for_help_has_the_verdict() {
    let text = "rtether: 1
nodes: { a: { stack: zero }, b: { stack: zero } }
links: [{ ends: [a, b], rate: 10 Mbit/s }]
flows: [{ name: flow, from: a, to: b, period: 10 ms, size: 1400 B, deadline: 100 us }]
";
    let loaded = load("test.yaml", text);
    let written = Written::of(&loaded, Vec::new());
    let scenario = loaded.scenario.expect("a plant");
    for is_cancelled in [false, true] {
        let mut checked = check::check(&scenario, Options::default()).unwrap();
        let progress = Arc::new(Progress::default());
        if is_cancelled {
            progress.cancel();
        }
        check::add_help_while(&mut checked, written.clone(), &progress);
        let help = checked.help.expect("something fails");
        assert_eq!((help.tried == 0, help.changes.is_none()), (is_cancelled, is_cancelled));
        assert_eq!(checked.conclusion, Conclusion::Failed);
    }
}
