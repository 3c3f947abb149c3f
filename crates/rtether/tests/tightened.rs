//! How tight bounds are: what is found is at most what is proved, and where the difference comes from.

use rtether::adversary::{Effort, Progress};
use rtether::tightness::{Tightness, tightness};
use rtether::verdict::Conclusion;
use rtether_model::quantity::Duration;

use super::adversary::{draw, load};

/// Plants drawn, in the ordinary run and with `RTETHER_NIGHTLY`.
const CASES: [u64; 2] = [12, 500];
/// Plants that a search tries.
const TRIES: u64 = 200;

/// Four stations at a switch. A frame of 16 octets takes 5.76 us on each of two links and 6.72 us of its
/// port, 5 us pass in the switch.
const STAR: &str = "rtether: 1
nodes: { a: { stack: zero }, b: { stack: zero }, c: { stack: zero }, d: { stack: zero } }
switches: { s: { ports: 4, latency: 5 us } }
links:
  - { ends: [a, \"s:1\"], rate: 100 Mbit/s }
  - { ends: [b, \"s:2\"], rate: 100 Mbit/s }
  - { ends: [c, \"s:3\"], rate: 100 Mbit/s }
  - { ends: [d, \"s:4\"], rate: 100 Mbit/s }
flows:
  - { name: f, from: a, to: b, period: 1 ms, size: 16 B }
  - { name: g, from: c, to: b, period: 1 ms, size: 16 B }
  - { name: h, from: d, to: b, kind: poisson, mean_gap: 1 ms, size: 16 B }
run: { for: 100 ms }
";

fn at_most(effort: u64) -> Progress {
    Progress::begin(Effort::Plants(effort))
}

fn assert_sound(found: &Tightness<'_>, text: &str) {
    assert_ne!(found.conclusion(), Conclusion::Contradiction, "{text}");
    for own in &found.streams {
        if own.lack.is_none() {
            assert!(own.found <= own.proved, "{own:?}\n{text}");
        }
        let Some(gap) = &own.gap else { continue };
        assert!(gap.found < gap.proved && !own.is_closed(), "{own:?}\n{text}");
    }
}

/// Oracle: by hand. With phases that are open, `f` waits for a frame of `g`; with fixed ones the two
/// never meet, and the bound, which holds for any phases, has the frame of `g` beyond what is found.
#[test]
fn what_never_meets_makes_the_gap() {
    let two = STAR.replace(
        "  - { name: h, from: d, to: b, kind: poisson, mean_gap: 1 ms, size: 16 B }\n",
        "",
    );
    let scenario = load(&two);
    let found = tightness(&scenario, &at_most(TRIES));
    let own = &found.streams[0];
    assert_eq!(own.proved, Some(Duration::from_ns(2 * 5_760 + 5_000 + 6_720)));
    assert!(own.is_closed() && own.gap.is_none(), "{own:?}");
    // What comes at the same time goes by name, so that `g` comes a picosecond before.
    assert_eq!(own.proved.zip(own.found).map(|(a, b)| (a - b).as_ps()), Some(1));
    assert!(found.summary().contains("2 streams to the nanosecond"), "{}", found.summary());

    let apart = two.replacen("size: 16 B", "size: 16 B, phase: 0 us", 1);
    let apart = apart.replace(
        "to: b, period: 1 ms, size: 16 B }",
        "to: b, period: 1 ms, size: 16 B, phase: 500 us }",
    );
    let scenario = load(&apart);
    let found = tightness(&scenario, &at_most(TRIES));
    let own = &found.streams[0];
    assert_eq!(own.found, Some(Duration::from_ns(2 * 5_760 + 5_000)));
    let gap = own.gap.as_ref().expect("a gap");
    assert_eq!(gap.place, "switch queue of s to b");
    assert_eq!(gap.proved - gap.found, Duration::from_ns(6_720));
    assert_eq!(gap.flow.map(|flow| scenario.flow_name(flow)), Some("g"));
}

/// Oracle: by hand. The bound of 29.96 us, with a frame of each other flow, is beyond the one deadline and within the other; a search that was
/// ended before it began has neither packets nor reasons, and says so.
#[test]
fn the_verdict_says_what_it_rests_on() {
    let text = STAR
        .replace("kind: poisson, mean_gap: 1 ms", "period: 1 ms")
        .replacen("size: 16 B }", "size: 16 B, deadline: 23 us }", 1)
        .replacen("size: 16 B }", "size: 16 B, deadline: 50 us }", 1);
    let scenario = load(&text);
    let found = tightness(&scenario, &at_most(20));
    assert_eq!(found.conclusion(), Conclusion::Failed);
    assert!(
        found.summary().contains(", 1 with a bound beyond the deadline."),
        "{}",
        found.summary()
    );
    let progress = at_most(20);
    progress.cancel();
    let cut = tightness(&scenario, &progress);
    assert!(cut.is_cut && cut.summary().contains("interrupted"), "{}", cut.summary());
    assert!(cut.streams.iter().all(|own| own.found.is_none() && own.gap.is_none()));
    assert!(cut.streams.iter().all(|own| own.proved.is_some()));
}

/// Oracle: Poisson arrivals have no bound, so that nothing behind their port has one.
#[test]
fn a_stream_without_a_bound_says_why() {
    let scenario = load(STAR);
    let found = tightness(&scenario, &at_most(20));
    for own in &found.streams {
        assert!(own.found.is_some() && own.proved.is_none() && own.gap.is_none());
        assert!(own.lack.as_ref().is_some_and(|lack| lack.contains("unlimited arrivals")));
    }
    assert!(found.summary().contains("3 without a bound"), "{}", found.summary());
}

/// Nothing is found beyond a proof, gaps are where less was found, and a number of plants gives the same on
/// any number of threads.
#[test]
fn found_is_at_most_proved() {
    let nightly = std::env::var_os("RTETHER_NIGHTLY").is_some();
    let (mut closed, mut gaps, mut all) = (0, 0, 0);
    for number in 0..CASES[usize::from(nightly)] {
        let text = draw(number);
        let scenario = load(&text);
        let found = tightness(&scenario, &at_most(TRIES));
        assert_sound(&found, &text);
        all += found.streams.iter().filter(|own| own.ratio().is_some()).count();
        closed += found.streams.iter().filter(|own| own.is_closed()).count();
        gaps += found.streams.iter().filter(|own| own.gap.is_some()).count();
        if number < 3 {
            let pool = rayon::ThreadPoolBuilder::new().num_threads(1).build().expect("a thread");
            let alone = pool.install(|| tightness(&scenario, &at_most(TRIES)));
            assert_eq!(format!("{:?}", alone.streams), format!("{:?}", found.streams), "{text}");
        }
    }
    println!("{all} streams with a bound, {closed} closed, {gaps} gaps explained");
    assert!(closed > 0 && gaps > 0);
    assert_eq!(closed + gaps, all, "every open interval has its reason");
}
