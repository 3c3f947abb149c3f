//! Bounds of a scenario, on the threads of the current rayon pool.

use rayon::prelude::*;
use rtether_bounds::{Analysis, Methods, Workers};

use crate::run::Progress;
use crate::scenario::Scenario;

/// Computes the bounds of all streams, in the order of a run's record, on the threads of the current
/// rayon pool; the result is the same for any number of them.
pub fn analyze(scenario: &Scenario) -> Analysis {
    analyze_with(scenario, Methods::All)
}

/// The same with the chosen methods.
pub fn analyze_with(scenario: &Scenario, methods: Methods) -> Analysis {
    rtether_bounds::analyze_on(&scenario.network, &scenario.flows, methods, &Pool::default())
}

/// As [`analyze`]; `None` if it was cancelled.
pub fn analyze_while(scenario: &Scenario, progress: &Progress) -> Option<Analysis> {
    analyze_with_while(scenario, Methods::All, progress)
}

/// As [`analyze_with`]; `None` if it was cancelled.
pub(crate) fn analyze_with_while(
    scenario: &Scenario,
    methods: Methods,
    progress: &Progress,
) -> Option<Analysis> {
    if progress.is_cancelled() {
        return None;
    }
    let Scenario { network, flows, .. } = scenario;
    let pool = Pool { progress: Some(progress) };
    let analysis = rtether_bounds::analyze_on(network, flows, methods, &pool);
    (!progress.is_cancelled()).then_some(analysis)
}

/// The current rayon pool, and what may cancel the analysis.
#[derive(Default)]
pub(crate) struct Pool<'a> {
    pub(crate) progress: Option<&'a Progress>,
}

impl Workers for Pool<'_> {
    fn count(&self) -> usize {
        rayon::current_num_threads()
    }

    fn map<T: Send>(&self, parts: usize, work: impl Fn(usize) -> T + Sync) -> Vec<T> {
        let parts = (0..parts).into_par_iter();
        parts.map(&work).collect()
    }

    fn is_cancelled(&self) -> bool {
        self.progress.is_some_and(Progress::is_cancelled)
    }
}
