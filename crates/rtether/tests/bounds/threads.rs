//! Bounds on several threads.

use rtether_bounds::{Methods, Workers, analyze, analyze_on};

use crate::bounds::for_each_case_of;
use crate::bounds::plant::{Plant, Variety};

const CASES: u64 = 256;

/// Carries out this many parts, the last one first.
struct Backwards(usize);

impl Workers for Backwards {
    fn count(&self) -> usize {
        self.0
    }

    fn map<T: Send>(&self, parts: usize, work: impl Fn(usize) -> T + Sync) -> Vec<T> {
        assert!(parts <= self.0);
        let mut all: Vec<T> = (0..parts).rev().map(work).collect();
        all.reverse();
        all
    }
}

/// Oracle: the analysis on one thread, equal in every field.
#[test]
fn threads_do_not_matter() {
    let mut streams = 0;
    for_each_case_of(CASES, "threads_do_not_matter", |number| {
        let plant = match number % 3 {
            0 => Plant::random(number, Variety::Full),
            1 => Plant::random(number, Variety::Plain),
            _ => Plant::random(number, Variety::Layered),
        };
        let alone = analyze(&plant.network, &plant.flows);
        streams += alone.streams.len();
        for threads in [2, 3, 7, 100] {
            let workers = Backwards(threads);
            let found = analyze_on(&plant.network, &plant.flows, Methods::All, &workers);
            assert_eq!(found, alone, "{threads} threads");
        }
    });
    assert!(streams > 1000, "{streams} streams");
}
