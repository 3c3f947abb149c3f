//! Bounds of a scenario, on the threads of the current rayon pool.

use rayon::prelude::*;
use rtether_bounds::{Analysis, Methods, Workers};

use crate::scenario::Scenario;

/// Computes the bounds of all streams, in the order of a run's record, on the threads of the current
/// rayon pool; the result is the same for any number of them.
pub fn analyze(scenario: &Scenario) -> Analysis {
    analyze_with(scenario, Methods::All)
}

/// The same with the chosen methods.
pub fn analyze_with(scenario: &Scenario, methods: Methods) -> Analysis {
    rtether_bounds::analyze_on(&scenario.network, &scenario.flows, methods, &Pool)
}

/// The current rayon pool.
struct Pool;

impl Workers for Pool {
    fn count(&self) -> usize {
        rayon::current_num_threads()
    }

    fn map<T: Send>(&self, parts: usize, work: impl Fn(usize) -> T + Sync) -> Vec<T> {
        let parts = (0..parts).into_par_iter();
        parts.map(&work).collect()
    }
}
