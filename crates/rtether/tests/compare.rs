//! One plant under several access schemes.

use rtether::compare::{ByFlow, Candidate, Faults, SchemeKind, compare, html};
use rtether::report::format::Render;
use rtether::run::Progress;
use rtether::scenario::load;
use rtether::verdict::Conclusion;
use rtether_model::quantity::Duration;

const PLANT: &str = "rtether: 1
nodes: { plc: { stack: zero }, drive: { stack: zero }, laptop: { stack: zero } }
hubs: { hub: { ports: 3, rate: 100 Mbit/s } }
links:
  - { ends: [plc, \"hub:1\"] }
  - { ends: [drive, \"hub:2\"] }
  - { ends: [laptop, \"hub:3\"] }
flows:
  - { name: actual, from: drive, to: plc, period: 2 ms, size: 36 B, over: raw, deadline: 1 ms }
  - { name: file, from: plc, to: laptop, kind: bulk, total: 500 kB }
run: { for: 1 s, warmup: 0 s, seeds: 1 }
";

/// Oracle: by hand. 500 kB in one second are 4 Mbit/s under every scheme that has room for them.
/// The slots of TDMA are for frames of 1518 octets of the plc, and of 64 of drive and laptop,
/// behind a Sync frame: a cycle of 6.72 + 123.04 + 2 * 6.72 us. A frame waits for at most a cycle,
/// and one more if the Sync frame is lost.
#[test]
fn rates_and_delays_by_hand() {
    let scenario = load("test.yaml", PLANT).into_scenario().unwrap();
    let found = compare(&scenario, &Candidate::all(), &Progress::default()).unwrap();
    assert_eq!(found.rows.len(), SchemeKind::ALL.len() + 1);
    assert!(found.has_answer() && found.judged == 1);
    for row in &found.rows {
        assert_eq!(row.bulk, 4_000_000, "{}", row.scheme);
        // Where stations contend, the file captures the medium.
        let kept = usize::from(row.scheme != SchemeKind::CsmaCd.name());
        assert_eq!((row.kept, row.lost), (kept, 0), "{}", row.scheme);
    }
    let proved: Vec<usize> = found.rows.iter().map(|row| row.proved).collect();
    // Nothing is known of the memory that the file needs at the ports of switches.
    assert_eq!(proved, [0, 1, 1, 1, 1, 1, 1, 1, 1, 0]);
    let cycle = Duration::from_ns(6_720 + 123_040 + 2 * 6_720);
    let frame = Duration::from_ns(5_760);
    let tdma = &found.rows[1];
    assert!(tdma.latency.max <= cycle + frame);
    let after = tdma.faults.loss.unwrap();
    assert!(after.worst <= cycle * 2 + frame && after.missed == 0);
    // Each Sync frame takes 5.76 us of a cycle.
    let share = frame.as_secs_f64() / cycle.as_secs_f64();
    assert!((tdma.shares.control / share - 1.0).abs() < 1e-3, "{:?}", tdma.shares);
}

/// Oracle: by hand. The first packet is released after the run, so that no scheme has shown anything;
/// one that is due and too late for every scheme fails.
#[test]
fn without_a_packet_no_scheme_has_an_answer() {
    let cases = [("8 s", "1 ms", Conclusion::NoAnswer), ("0 s", "1 us", Conclusion::Failed)];
    for (phase, deadline, expected) in cases {
        let plant = PLANT
            .replace("period: 2 ms", &format!("period: 9 s, phase: {phase}"))
            .replace("deadline: 1 ms", &format!("deadline: {deadline}"));
        let scenario = load("test.yaml", &plant).into_scenario().unwrap();
        let found = compare(&scenario, &Candidate::all(), &Progress::default()).unwrap();
        assert_eq!(found.conclusion(), expected, "{}", found.summary());
        assert!(found.rows.iter().all(|row| row.kept == 0), "{phase}");
        let page = html(&found);
        assert!(page.contains(&format!("<strong>{}: ", expected.word())), "{phase}");
    }
}

/// Oracle: by hand. A frame takes 5.84 us on each link at full duplex, with its sequence number, 16 us in
/// the switch, and waits for at most one acknowledgement of the file, 65 octets with their gap. Twelve frames at once every 12 ms
/// leave a millisecond apart, as virtual links with the shortest gap.
#[test]
fn switches_take_the_place_of_hubs() {
    let scenario = load("test.yaml", PLANT).into_scenario().unwrap();
    let found = compare(&scenario, &[Candidate::VirtualLinks], &Progress::default()).unwrap();
    let [row] = &found.rows[..] else { panic!() };
    let actual = &row.streams[0];
    let least = Duration::from_ns(2 * 5_840 + 16_000);
    let bound = actual.bound.unwrap();
    assert_eq!(bound, least + Duration::from_ns(6_800));
    assert!(row.latency.min >= least && row.latency.max <= bound);
    assert_eq!((row.control, &row.faults), (0, &Faults::default()));
    // The file to the laptop, 342 segments of 1539 octets with preamble and gap, one of 759, and
    // one without data of 85.
    let octets = 342.0 * 1539.0 + 759.0 + 85.0;
    assert!((row.shares.data - octets * 8.0 / 1e8).abs() < 1e-9, "{:?}", row.shares);
    assert!(found.summary().contains("under AFDX"));
    let text = PLANT.replace("period: 2 ms,", "min_gap: 12 ms, burst: 12,");
    let text = text.replace("deadline: 1 ms", "deadline: 12 ms");
    let scenario = load("test.yaml", &text).into_scenario().unwrap();
    let found = compare(&scenario, &[Candidate::VirtualLinks], &Progress::default()).unwrap();
    let worst = found.rows[0].latency.max;
    let held = Duration::from_ms(11);
    assert!((held + least..=held + bound).contains(&worst), "{worst}");
    // Nothing is known of the memory that the file needs at the ports of switches.
    assert_eq!(found.rows[0].proved, 0);
    assert!(!found.rows[0].streams[0].is_proof);
}

/// Oracle: by hand. The master, which no flow needs, dies after half a second of one: packets at
/// 501 to 997 ms miss their deadline, and the listener waits for 500 ms, less the period and what
/// the last packet is short of it. Without the master, a ring goes on.
#[test]
fn a_dead_master_silences_the_others() {
    let text = PLANT.replace("laptop: {", "guest: { stack: zero }, laptop: {");
    let text = text
        .replace("ports: 3", "ports: 4")
        .replace("hub:3\"] }", "hub:3\"] }\n  - { ends: [guest, \"hub:4\"] }");
    let text = text.replace("from: drive, to: plc,", "from: drive, to: laptop, phase: 1 ms,");
    let text = text.replace(
        "from: plc, to: laptop, kind: bulk, total: 500 kB",
        "from: guest, to: laptop, kind: bulk, total: 500 kB",
    );
    let scenario = load("test.yaml", &text).into_scenario().unwrap();
    let kinds = [SchemeKind::Polling, SchemeKind::Powerlink, SchemeKind::VirtualToken];
    let kinds = kinds.map(Candidate::Scheme);
    let found = compare(&scenario, &kinds, &Progress::default()).unwrap();
    for row in &found.rows {
        let death = row.faults.death.unwrap();
        assert_eq!(row.faults.dead, ["plc"]);
        let silence = death.silence.unwrap();
        if row.scheme == SchemeKind::VirtualToken.name() {
            assert_eq!(death.missed, 0);
            assert!(silence < Duration::from_ms(1));
        } else {
            assert_eq!(death.missed, 249, "{}", row.scheme);
            let span = Duration::from_ms(497)..=Duration::from_ms(499);
            assert!(span.contains(&silence), "{}: {silence}", row.scheme);
        }
        let usual = row.faults.none.unwrap();
        assert!(usual.silence.unwrap() < Duration::from_ms(2) && usual.missed == 0);
    }
}

/// Oracle: the streams of the scenario, and the sums of each scheme.
#[test]
fn each_stream_is_shown_and_the_page_is_whole() {
    let scenario = load("test.yaml", PLANT).into_scenario().unwrap();
    let kinds = [SchemeKind::CsmaCd, SchemeKind::Tdma].map(Candidate::Scheme);
    let found = compare(&scenario, &kinds, &Progress::default()).unwrap();
    for row in &found.rows {
        let [actual, file] = &row.streams[..] else {
            panic!("two flows with a listener each");
        };
        assert_eq!((actual.flow.as_str(), actual.listener.as_str()), ("actual", "plc"));
        assert_eq!(actual.worst, Some(row.latency.max));
        assert_eq!(actual.is_kept(), Some(row.kept == 1));
        assert_eq!((file.rate, file.is_kept()), (row.bulk, None));
    }
    let rows = ByFlow(&found).rows().csv();
    assert_eq!(rows.lines().count(), 1 + 2 * 2);
    assert!(rows.contains("\ntdma,actual,plc,1000000"), "{rows}");
    let page = html(&found);
    for part in
        ["id=\"schemes\"", "id=\"delays\"", "id=\"faults\"", "id=\"flows\"", "tdma", "csma-cd"]
    {
        assert!(page.contains(part), "{part}");
    }
}

/// What is cut off at once has no figures of faults, and says so.
#[test]
fn an_interrupted_comparison_has_one_scheme() {
    let scenario = load("test.yaml", PLANT).into_scenario().unwrap();
    let progress = Progress::default();
    progress.cancel();
    let found = compare(&scenario, &Candidate::all(), &progress).unwrap();
    assert!(found.partial);
    assert_eq!(found.rows.len(), 1);
    assert_eq!(found.rows[0].faults, Faults::default());
    assert!(html(&found).contains("INTERRUPTED"));
}

#[test]
fn a_plant_without_a_hub_has_nothing_to_compare() {
    let text = include_str!("../../../scenarios/substation.yaml");
    let scenario = load("substation.yaml", text).into_scenario().unwrap();
    assert!(compare(&scenario, &Candidate::all(), &Progress::default()).is_err());
}
