//! Bounds on several threads.

use std::sync::atomic::{AtomicUsize, Ordering};

use rtether_bounds::{Method, Methods, StreamBound, Workers, analyze, analyze_on};

use crate::bounds::for_each_case_of;
use crate::bounds::plant::{Plant, Variety};

const CASES: u64 = 150;

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

/// Is cancelled when it is asked for the time after these; counts how often it is asked.
struct Impatient {
    patience: usize,
    asked: AtomicUsize,
}

impl Workers for Impatient {
    fn count(&self) -> usize {
        2
    }

    fn map<T: Send>(&self, parts: usize, work: impl Fn(usize) -> T + Sync) -> Vec<T> {
        (0..parts).map(work).collect()
    }

    fn is_cancelled(&self) -> bool {
        self.asked.fetch_add(1, Ordering::Relaxed) >= self.patience
    }
}

/// Returns whether a stream was looked at as a whole.
fn is_whole(own: &StreamBound) -> bool {
    let bound = own.bound.as_ref();
    bound.is_ok_and(|own| own.by_method.iter().any(|one| one.0 == Method::SeparatedFlow))
}

/// Oracle: the number of streams that were looked at as a whole, and the whole analysis, whose bounds are
/// no larger.
#[test]
fn after_a_cancel_no_stream_is_looked_at_as_a_whole() {
    let mut left_out = 0;
    for_each_case_of(CASES, "after_a_cancel_no_stream_is_looked_at_as_a_whole", |number| {
        let plant = Plant::random(number, Variety::Plain);
        let whole = analyze(&plant.network, &plant.flows);
        for patience in [0, 1, 3] {
            let workers = Impatient { patience, asked: AtomicUsize::new(0) };
            let found = analyze_on(&plant.network, &plant.flows, Methods::All, &workers);
            let count = found.streams.iter().filter(|own| is_whole(own)).count();
            assert!(count <= patience, "{count} of {patience}");
            left_out += whole.streams.iter().filter(|own| is_whole(own)).count() - count;
            for (own, best) in found.streams.iter().zip(&whole.streams) {
                let both = own.bound.as_ref().ok().zip(best.bound.as_ref().ok());
                assert_eq!(both.is_some(), best.bound.is_ok());
                assert!(both.is_none_or(|(own, best)| own.latency >= best.latency));
            }
        }
    });
    assert!(left_out > 1_000, "{left_out}");
}
