//! One plant under several access schemes.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on may panic")]

use rtether::compare::{SchemeKind, compare};
use rtether::run::Progress;
use rtether::scenario::load;
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

/// Oracle: by hand. 500 kB in one second are 4 Mbit/s under every scheme that has room for them. The
/// slots of TDMA are for frames of 1518 octets of the plc, and of 64 of drive and laptop, behind a Sync
/// frame: a cycle of 6.72 + 123.04 + 2 * 6.72 us. A frame waits for at most a cycle, and one more if
/// the Sync frame is lost.
#[test]
fn rates_and_delays_by_hand() {
    let scenario = load("test.yaml", PLANT).into_scenario().unwrap();
    let found = compare(&scenario, SchemeKind::ALL, &Progress::default()).unwrap();
    assert_eq!(found.rows.len(), SchemeKind::ALL.len());
    assert!(found.has_answer() && found.judged == 1);
    for row in &found.rows {
        assert_eq!(row.bulk, 4_000_000, "{}", row.scheme);
        // Where stations contend, the file captures the medium.
        let kept = usize::from(row.scheme != SchemeKind::CsmaCd.name());
        assert_eq!((row.kept, row.lost), (kept, 0), "{}", row.scheme);
    }
    let proved: Vec<usize> = found.rows.iter().map(|row| row.proved).collect();
    assert_eq!(proved, [0, 1, 1, 1, 1, 1, 1]);
    let cycle = Duration::from_ns(6_720 + 123_040 + 2 * 6_720);
    let frame = Duration::from_ns(5_760);
    let tdma = &found.rows[1];
    assert!(tdma.worst.unwrap() <= cycle + frame);
    let after = tdma.after_loss.unwrap();
    assert!(after.worst <= cycle * 2 + frame && after.missed == 0);
}

#[test]
fn a_plant_without_a_hub_has_nothing_to_compare() {
    let text = include_str!("../../../scenarios/substation.yaml");
    let scenario = load("substation.yaml", text).into_scenario().unwrap();
    assert!(compare(&scenario, SchemeKind::ALL, &Progress::default()).is_err());
}
