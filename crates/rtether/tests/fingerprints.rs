//! Every scenario of the repository has a fingerprint: a hash over all events of a short run.
//!
//! Oracle: the committed snapshot, and a second run. A changed fingerprint means that results may
//! change; record it in the changelog before accepting it.

use std::fmt::Write as _;
use std::path::Path;

use rtether::run::{Progress, simulate_seed};
use rtether::scenario::{Override, load_with};
use rtether_sim::observe::Fingerprint;

#[test]
fn trajectories_of_all_scenarios() {
    let directory = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../scenarios");
    let mut files: Vec<_> = std::fs::read_dir(&directory)
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .filter(|path| path.extension().is_some_and(|extension| extension == "yaml"))
        .collect();
    files.sort();
    assert!(files.len() >= 5, "scenarios are missing");
    let mut table = String::new();
    for path in files {
        let name = path.file_name().unwrap().to_string_lossy().into_owned();
        let text = std::fs::read_to_string(&path).unwrap();
        let set = ["run.for=1500 ms", "run.warmup=0 s", "run.bucket=100 ms"];
        let overrides = set.map(|set| Override::parse(set).unwrap());
        let scenario = load_with(&name, &text, &overrides).scenario.unwrap();
        let trajectory = |seed| {
            let mut fingerprint = Fingerprint::default();
            let record = simulate_seed(&scenario, seed, &Progress::default(), &mut fingerprint);
            (fingerprint.value(), record.unwrap())
        };
        let (first, record) = trajectory(1);
        let (second, again) = trajectory(1);
        assert_eq!((first, &record), (second, &again), "{name} differs between two runs");
        let delivered: u64 = record.streams.iter().map(|stream| stream.delivered).sum();
        writeln!(table, "{name}: {first:016x} {} events {delivered} delivered", record.events)
            .unwrap();
    }
    insta::assert_snapshot!(table);
}
