//! Makes a test bed, runs the stations, and takes it down.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Barrier, OnceLock};
use std::time::Duration as Span;

use rtether_live::clock::Clock;
use rtether_live::namespace::{self, CommandLine};
use rtether_live::stall::{Stalls, Watch};
use rtether_live::station::{Duties, Log, Station, StationError};
use rtether_live::thread::Placement;
use rtether_model::network::NodeId;
use rtether_model::quantity::Duration;

use super::duties::{self, GRACE};
use super::measured::{self, Measured, Oddities};
use super::{Host, Options, Plan, TestbedError};
use crate::scenario::Scenario;

/// From the last set-up command to the first release: bridges and sockets are ready by then.
const LEAD: Span = Span::from_millis(50);

/// Shared with a caller who wants to know how far a run is, or to stop it.
#[derive(Debug, Default)]
pub struct Progress {
    /// Set to end the run; what was measured counts.
    pub stop: AtomicBool,
    /// Commands of the set-up that are done.
    pub commands: AtomicUsize,
    /// Set when stations run.
    pub is_running: AtomicBool,
}

/// Takes the test bed down when dropped.
struct Standing<'a>(&'a [CommandLine]);

impl Drop for Standing<'_> {
    fn drop(&mut self) {
        for command in self.0 {
            // What was not made cannot be removed, and nobody is here to be told.
            drop(command.run());
        }
    }
}

/// Runs a scenario on this host and returns what was measured; nothing is left behind.
///
/// # Errors
/// If the test bed cannot be made, or no station could run.
pub fn run(
    scenario: &Scenario,
    plan: &Plan,
    options: &Options,
    progress: &Progress,
) -> Result<Measured, TestbedError> {
    super::clean()?;
    let standing = Standing(&plan.tear_down);
    for step in &plan.set_up {
        if progress.stop.load(Ordering::Relaxed) {
            break;
        }
        step.run()?;
        progress.commands.fetch_add(1, Ordering::Relaxed);
    }
    let duties = duties::duties(scenario, plan, options);
    let found = stations(scenario, plan, options, duties, progress)?;
    drop(standing);
    let warmup = warmup(options.duration);
    let mut oddities = Oddities::default();
    for (_, log) in &found.logs {
        oddities.foreign += log.oddities.foreign;
        oddities.unsent += log.oddities.unsent;
        oddities.unrecorded += log.oddities.unrecorded;
        oddities.clock_steps = Ord::max(oddities.clock_steps, log.oddities.clock_steps);
    }
    let stalls = &found.stalls;
    Ok(Measured {
        backend: plan.backend,
        duration: options.duration,
        warmup,
        streams: measured::streams(scenario, &found.logs, stalls, warmup),
        stalls: stalls.stalls.len(),
        longest_stall: stalls
            .stalls
            .iter()
            .map(|stall| stall.until - stall.from)
            .max(),
        watched_in_real_time: stalls.is_real_time,
        tolerance: Duration::ZERO,
        is_partial: progress.stop.load(Ordering::Relaxed),
        errors: found.errors,
        oddities,
    })
}

/// Returns the start of a run that does not count: connections, caches and learning bridges settle.
fn warmup(duration: Duration) -> Duration {
    Ord::min(duration / 10, Duration::from_secs(1))
}

/// What came of the stations.
struct Found {
    logs: Vec<(NodeId, Log)>,
    errors: Vec<String>,
    stalls: Stalls,
}

fn stations(
    scenario: &Scenario,
    plan: &Plan,
    options: &Options,
    mut duties: BTreeMap<NodeId, Duties>,
    progress: &Progress,
) -> Result<Found, TestbedError> {
    let hosts: Vec<(&Host, Duties)> = plan
        .hosts
        .iter()
        .filter_map(|host| Some((host, duties.remove(&host.node)?)))
        .collect();
    // All stations begin when the last of them has its sockets, on one clock.
    let (opened, begun) = (Barrier::new(hosts.len() + 1), Barrier::new(hosts.len() + 1));
    let clock: OnceLock<Clock> = OnceLock::new();
    let mut found = Found {
        logs: Vec::new(),
        errors: Vec::new(),
        stalls: Stalls::default(),
    };
    let outcomes = std::thread::scope(|scope| {
        let mut threads = Vec::new();
        for (host, duties) in hosts {
            let (opened, begun, clock) = (&opened, &begun, &clock);
            let thread = scope.spawn(move || {
                let station = open(host, duties, options);
                opened.wait();
                begun.wait();
                let clock = clock.get().copied().unwrap_or_else(Clock::start);
                station.map(|station| station.run(clock, &progress.stop))
            });
            threads.push((host.node, thread));
        }
        opened.wait();
        // Bridges learn their ports, and the first frames find everything settled.
        std::thread::sleep(LEAD);
        let clock = *clock.get_or_init(Clock::start);
        let watch = Watch::start(clock);
        progress.is_running.store(true, Ordering::Relaxed);
        begun.wait();
        let joined = threads
            .into_iter()
            .map(|(node, thread)| (node, thread.join()));
        let outcomes: Vec<_> = joined.collect();
        found.stalls = watch.finish();
        outcomes
    });
    let mut first_error = None;
    for (node, outcome) in outcomes {
        let name = || scenario.network.node(node).name.clone();
        match outcome {
            Ok(Ok((log, ended))) => {
                found
                    .errors
                    .extend(ended.map(|error| format!("{}: {error}", name())));
                found.logs.push((node, log));
            }
            Ok(Err(error)) => {
                found.errors.push(format!("{}: {error}", name()));
                first_error.get_or_insert_with(|| TestbedError::Station {
                    station: name(),
                    source: Box::new(error),
                });
            }
            Err(panic) => std::panic::resume_unwind(panic),
        }
    }
    match first_error {
        Some(error) if found.logs.is_empty() => Err(error),
        _ => Ok(found),
    }
}

/// Opens a station in its namespace.
fn open(host: &Host, duties: Duties, options: &Options) -> Result<Station, StationError> {
    namespace::enter(&host.namespace).map_err(|source| StationError::Socket {
        doing: format!("entering the namespace {}", host.namespace),
        source,
    })?;
    let placement = Placement {
        core: None,
        priority: options.priority,
        lock_memory: options.priority.is_some(),
    };
    placement.apply()?;
    Station::open(duties)
}

/// Returns how long a run takes, for progress.
pub fn length(options: &Options) -> Duration {
    options.duration + GRACE
}
