//! Creates a test bed, runs the stations, and removes it.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Barrier, Mutex, OnceLock, PoisonError};
use std::thread::ScopedJoinHandle;
use std::time::Duration as Span;

use rtether_live::clock::Clock;
use rtether_live::emulator::offloads_off;
use rtether_live::namespace::{self, CommandLine};
use rtether_live::stall::{Stalls, Watcher};
use rtether_live::station::StationError;
use rtether_live::thread::{Placement, keep_cores_awake};
use rtether_model::network::NodeId;
use rtether_model::quantity::Duration;

use super::duties::{self, GRACE, HostDuties};
use super::emulation::{self, Emulation};
use super::measured::{Measured, Oddities};
use super::station_logs::StationLogs;
use super::streams;
use super::work::{Opened, Seen, Work};
use super::{Backend, DEVICE, Host, HostLayer, Options, Plan, TestbedError, layers};
use rtether::scenario::Scenario;

/// From the last set-up command to the first release: time for bridges and sockets to become ready.
const LEAD: Span = Span::from_millis(50);

/// Priority of the stall watchers, less one: above every other thread of a test bed.
const MOST_URGENT: u8 = 89;

/// Shared with the caller, to follow or stop a run.
#[derive(Debug, Default)]
pub struct Progress {
    /// Set to end the run; what was measured until then counts.
    pub stop: AtomicBool,
    /// Set-up commands completed.
    pub commands: AtomicUsize,
    /// Set once stations run.
    pub is_running: AtomicBool,
}

/// Removes the test bed when dropped.
struct Standing<'a>(&'a [CommandLine]);

impl Drop for Standing<'_> {
    fn drop(&mut self) {
        for command in self.0 {
            // Errors are ignored: what was not created cannot be removed.
            drop(command.run());
        }
    }
}

/// Result of the work on a test bed, and of the test bed itself.
#[derive(Clone, Debug)]
pub struct Stood<T> {
    /// What `work` returned.
    pub done: T,
    /// Results of the emulator, if there was one.
    pub emulation: Option<Emulation>,
    /// Results of the layers of hosts.
    pub layers: Vec<HostLayer>,
}

/// Creates a test bed, runs `work` on it, and removes it completely.
///
/// An emulator and the layers of hosts run meanwhile. If the emulator ends early, it sets
/// [`Progress::stop`], and [`Emulation::ended`] gives the reason. `work` enters the namespaces of
/// hosts itself, in separate threads.
///
/// # Errors
/// If the test bed cannot be created, or was stopped before it was ready.
pub fn stand<T>(
    scenario: &Scenario,
    plan: &Plan,
    options: &Options,
    progress: &Progress,
    work: impl FnOnce() -> T,
) -> Result<Stood<T>, TestbedError> {
    super::clean()?;
    let _standing = Standing(&plan.tear_down);
    set_up(plan, progress)?;
    drop(stay_awake(options));
    let (end, ready) = (AtomicBool::new(false), Barrier::new(2));
    std::thread::scope(|scope| {
        let emulator = plan
            .emulator
            .as_ref()
            .map(|_| scope.spawn(|| emulate(scenario, plan, options, progress, &ready, &end)));
        if emulator.is_some() {
            ready.wait();
        }
        let done = layers::with(scenario, plan, options, work);
        end.store(true, Ordering::Relaxed);
        let emulation = emulator.map(joined).transpose()?;
        let (done, layers) = done?;
        Ok(Stood { done, emulation, layers })
    })
}

/// Keeps cores awake for stations at a real-time priority; the error says why they are not.
fn stay_awake(options: &Options) -> Result<(), String> {
    match options.priority {
        Some(_) => keep_cores_awake().map_err(ToString::to_string),
        None => Err("stations have no real-time priority".into()),
    }
}

/// Runs the emulator: waits at `ready` once it receives, then runs until `end` or a failure.
fn emulate(
    scenario: &Scenario,
    plan: &Plan,
    options: &Options,
    progress: &Progress,
    ready: &Barrier,
    end: &AtomicBool,
) -> Result<Emulation, TestbedError> {
    // Without a network there is nothing to measure.
    let stop = || progress.stop.store(true, Ordering::Relaxed);
    let clock = Clock::start();
    let emulator = emulation::open(scenario, plan, options, clock);
    if emulator.is_err() {
        stop();
    }
    ready.wait();
    let emulation = emulation::run(emulator?, scenario, plan, end);
    if emulation.ended.is_some() {
        stop();
    }
    Ok(Emulation { clock: Some(clock), ..emulation })
}

/// Creates everything in a test bed except its stations and emulator.
fn set_up(plan: &Plan, progress: &Progress) -> Result<(), TestbedError> {
    let go_on = || {
        if progress.stop.load(Ordering::Relaxed) {
            return Err(TestbedError::Interrupted);
        }
        Ok(())
    };
    for step in &plan.set_up {
        go_on()?;
        step.run()?;
        progress.commands.fetch_add(1, Ordering::Relaxed);
    }
    for host in &plan.hosts {
        go_on()?;
        as_on_a_wire(host)?;
    }
    go_on()
}

/// Turns offloads off, so that a host sends frames as on a wire, checksums included.
fn as_on_a_wire(host: &Host) -> Result<(), TestbedError> {
    let failed = |source: Box<dyn std::error::Error + Send + Sync>| TestbedError::Station {
        station: host.namespace.clone(),
        source,
    };
    // A separate thread, since it cannot leave the namespace again.
    std::thread::scope(|scope| {
        joined(scope.spawn(|| {
            namespace::enter(&host.namespace).map_err(|error| failed(error.into()))?;
            offloads_off(DEVICE).map_err(|error| failed(error.into()))
        }))
    })
}

/// Runs the flows of a scenario on this host and returns the measurement; leaves nothing behind.
///
/// # Errors
/// If the test bed cannot be created, was stopped before it was ready, or no station could run.
pub fn run(
    scenario: &Scenario,
    plan: &Plan,
    options: &Options,
    progress: &Progress,
) -> Result<Measured, TestbedError> {
    let stood =
        stand(scenario, plan, options, progress, || stations(scenario, plan, options, progress))?;
    let is_partial = progress.stop.load(Ordering::Relaxed);
    let mut collected = stood.done?;
    for HostLayer { node, ended, .. } in &stood.layers {
        let name = &scenario.network.node(*node).name;
        let ended = ended.iter().map(|why| format!("{name}: {why}"));
        collected.errors.extend(ended);
    }
    let measured = put_together(scenario, options, collected, stood.emulation, is_partial);
    Ok(Measured { layers: stood.layers, ..measured })
}

/// Merges the findings of all stations into a measurement.
pub(super) fn put_together(
    scenario: &Scenario,
    options: &Options,
    collected: StationLogs,
    emulation: Option<Emulation>,
    is_partial: bool,
) -> Measured {
    let warmup = warmup(scenario.run.warmup, options.duration);
    let mut oddities = Oddities::default();
    for (_, log) in &collected.logs {
        oddities.foreign += log.oddities.foreign;
        oddities.unsent += log.oddities.unsent;
        oddities.unrecorded += log.oddities.unrecorded;
        oddities.clock_steps = Ord::max(oddities.clock_steps, log.oddities.clock_steps);
    }
    let stalls = collected.stalls.iter().flat_map(|(_, stalls)| &stalls.found);
    let own = emulation.as_ref().map(|own| own.stalls(collected.clock));
    let (streams, packets) = streams::streams(
        scenario,
        &collected,
        &own.unwrap_or_default(),
        [warmup, options.duration],
        options.seed,
    );
    let spans = stalls.clone().map(|stall| stall.until - stall.from);
    let added = emulation.as_ref().map_or(Duration::ZERO, Emulation::added_max);
    let late = streams.iter().map(|stream| stream.late_inside).max();
    let lost = emulation.as_ref().and_then(|own| own.ended.clone());
    // First, since it caused the errors of the stations.
    let errors = lost.into_iter().chain(collected.errors);
    Measured {
        backend: options.backend,
        duration: options.duration,
        warmup,
        streams,
        packets,
        stalls: stalls.count(),
        longest_stall: spans.max(),
        watched_in_real_time: options.priority.is_some(),
        awake: match options.backend {
            Backend::Kernel | Backend::Emulated => stay_awake(options),
            Backend::Ssh => {
                Err("each host for itself; `rtether doctor HOST` says whether it can".into())
            }
        },
        tolerance: added + late.unwrap_or_default(),
        emulation,
        is_partial,
        errors: errors.collect(),
        oddities,
        failures: collected.failures,
        layers: Vec::new(),
        hosts: Vec::new(),
    }
}

/// Returns the part of a run that does not count: as stated in the scenario, or else the time in
/// which connections, caches and learning bridges settle.
fn warmup(stated: Duration, duration: Duration) -> Duration {
    if stated > Duration::ZERO {
        return stated;
    }
    Ord::min(duration / 10, Duration::from_secs(1))
}

/// Outcome of a thread: what it saw, or why it could not begin.
type Outcome = Result<Seen, StationError>;

/// All threads begin once the last of them has opened its sockets, on one clock.
struct Meeting {
    opened: Barrier,
    begun: Barrier,
    clock: OnceLock<Clock>,
    /// Why some could not open their sockets.
    errors: Mutex<Vec<String>>,
}

impl Meeting {
    fn new(threads: usize) -> Self {
        Self {
            opened: Barrier::new(threads + 1),
            begun: Barrier::new(threads + 1),
            clock: OnceLock::new(),
            errors: Mutex::default(),
        }
    }

    /// Waits for the others; returns the clock if the run begins.
    fn join(&self, opened: &Result<Opened, StationError>) -> Option<Clock> {
        if let Err(error) = opened {
            let mut errors = self.errors.lock().unwrap_or_else(PoisonError::into_inner);
            errors.push(error.to_string());
        }
        self.opened.wait();
        self.begun.wait();
        self.clock.get().copied()
    }

    /// Waits until all threads are ready, and lets them begin if `begin` returns a clock.
    fn open(&self, begin: impl FnOnce(&[String]) -> Option<Clock>, watches: bool) -> Vec<Watcher> {
        self.opened.wait();
        let clock = begin(&self.errors.lock().unwrap_or_else(PoisonError::into_inner));
        let mut watchers = Vec::new();
        if let Some(clock) = clock {
            // The only place that sets it.
            self.clock.get_or_init(|| clock);
            let cores = std::thread::available_parallelism().map_or(1, std::num::NonZero::get);
            let cores = (0..cores).filter(|_| watches);
            watchers.extend(cores.map(|core| Watcher::start(above_all(core), clock)));
        }
        self.begun.wait();
        watchers
    }
}

/// Runs the flows of a scenario on an existing test bed, as load for another measurement.
///
/// # Errors
/// If a station cannot play its part.
pub fn run_load(
    scenario: &Scenario,
    plan: &Plan,
    options: &Options,
    progress: &Progress,
) -> Result<(), TestbedError> {
    stations(scenario, plan, options, progress).map(drop)
}

fn stations(
    scenario: &Scenario,
    plan: &Plan,
    options: &Options,
    progress: &Progress,
) -> Result<StationLogs, TestbedError> {
    let begin = |_: &[String]| {
        // Bridges learn their ports meanwhile, so the first frames find a settled network.
        std::thread::sleep(LEAD);
        progress.is_running.store(true, Ordering::Relaxed);
        Some(Clock::start())
    };
    let duties = duties::duties(scenario, plan, options);
    play(scenario, plan, duties, options, &progress.stop, true, begin)
}

/// Performs the duties of hosts, one thread per work item. Once all have opened their sockets or
/// failed, `begin` gets the errors and returns the clock of the run; without a clock nothing is
/// run.
pub(super) fn play(
    scenario: &Scenario,
    plan: &Plan,
    mut duties: BTreeMap<NodeId, HostDuties>,
    options: &Options,
    stop: &AtomicBool,
    watches: bool,
    begin: impl FnOnce(&[String]) -> Option<Clock>,
) -> Result<StationLogs, TestbedError> {
    let nodes = duties.keys().copied().collect();
    let hosts = plan.hosts.iter();
    let hosts = hosts.filter_map(|host| Some((host, duties.remove(&host.node)?)));
    let work = hosts.flat_map(|(host, own)| own.work().into_iter().map(move |work| (host, work)));
    let work: Vec<(&Host, Work)> = work.collect();
    let meeting = Meeting::new(work.len());
    let (outcomes, stalls) = std::thread::scope(|scope| {
        let meeting = &meeting;
        let threads: Vec<_> = work
            .into_iter()
            .map(|(host, work)| {
                let thread = scope.spawn(move || {
                    let opened = work.open(host, options);
                    let clock = meeting.join(&opened);
                    opened.map(|opened| match clock {
                        Some(clock) => opened.run(clock, options, stop),
                        None => Seen::default(),
                    })
                });
                (host.node, thread)
            })
            .collect();
        let watchers = meeting.open(begin, watches);
        let threads = threads.into_iter();
        let outcomes: Vec<_> = threads.map(|(node, thread)| (node, joined(thread))).collect();
        let mut stalls = Stalls::default();
        for watcher in watchers {
            stalls.extend(watcher.finish());
        }
        (outcomes, stalls)
    });
    let mut collected = collect(scenario, outcomes)?;
    collected.stalls.push((nodes, stalls));
    collected.clock = meeting.clock.get().copied();
    Ok(collected)
}

/// Placement of a watcher: what preempts it preempts every station on the core.
fn above_all(core: usize) -> Placement {
    Placement { core: Some(core), priority: Some(MOST_URGENT), lock_memory: false }
}

/// Joins a thread and propagates its panic.
fn joined<T>(thread: ScopedJoinHandle<'_, T>) -> T {
    thread.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic))
}

/// Merges the outcomes of stations; an error if none could run.
fn collect(
    scenario: &Scenario,
    outcomes: Vec<(NodeId, Outcome)>,
) -> Result<StationLogs, TestbedError> {
    let mut collected = StationLogs::default();
    let mut first_error = None;
    for (node, outcome) in outcomes {
        let name = || scenario.network.node(node).name.clone();
        match outcome {
            Ok(seen) => {
                let ended = seen.ended.map(|error| format!("{}: {error}", name()));
                collected.errors.extend(ended);
                if seen.refused > 0 {
                    let refused = seen.refused;
                    collected.failures.push(format!("{}: {refused} connections failed", name()));
                }
                collected.logs.push((node, seen.log));
                collected.files.extend(seen.files);
            }
            Err(error) => {
                collected.errors.push(format!("{}: {error}", name()));
                first_error.get_or_insert_with(|| TestbedError::Station {
                    station: name(),
                    source: Box::new(error),
                });
            }
        }
    }
    match first_error {
        Some(error) if collected.logs.is_empty() => Err(error),
        _ => Ok(collected),
    }
}

/// Returns how long a run takes, for progress.
pub fn length(options: &Options) -> Duration {
    options.duration + GRACE
}

#[cfg(test)]
mod tests {
    use rtether_live::stall::Stall;
    use rtether_live::station::{Arrived, Log, Sent};
    use rtether_model::quantity::Instant;

    use super::*;
    use rtether::scenario;

    fn at(ms: i64) -> Instant {
        Instant::ZERO + Duration::from_ms(ms)
    }

    /// Packets released at these milliseconds, each with its latency in microseconds.
    fn log(packets: &[(i64, i64)]) -> Log {
        let mut log = Log::default();
        for (number, &(ms, latency)) in (0..).zip(packets) {
            log.sent.push(Sent {
                stream: 0,
                number,
                at: at(ms),
                call: Duration::from_us(20),
                late: Duration::ZERO,
            });
            log.arrived.push(Arrived {
                stream: 0,
                number,
                released_at: at(ms),
                latency: Duration::from_us(latency),
                receive: Some(Duration::from_us(20)),
                is_answer: false,
            });
        }
        log
    }

    /// Oracle: by hand. Packets are released at 20, 40, 430 and 900 ms. The emulator alone stood still
    /// from 20 to 219 ms, which is felt until 418 ms, and in the windows whose departures do not count,
    /// until 618 ms; and for 1 ms at 1 s. The first packet once counted as slow with the host inside its
    /// profile, which contradicts a bound.
    #[test]
    fn a_stall_of_the_emulator_alone_is_not_held_against_a_bound() {
        let text = "
rtether: 1
stacks: { slow: { send: 50 us, receive: 50 us } }
nodes: { a: { stack: slow }, b: { stack: slow } }
links: [{ ends: [a, b], rate: 100 Mbit/s }]
flows: [{ name: f, from: a, to: b, period: 20 ms, size: 64 B, deadline: 1 ms }]
run: { for: 1200 ms, warmup: 1 ms }
";
        let scenario = scenario::load("test.yaml", text).scenario.expect("valid");
        let nodes: Vec<NodeId> = scenario.network.iter_nodes().map(|(id, _)| id).collect();
        let own = Clock::start();
        std::thread::sleep(Span::from_millis(1));
        let run = Clock::start();
        let shift = run.start_by(&own);
        let stall = |from, until| Stall { from: at(from) + shift, until: at(until) + shift };
        let emulation = Emulation {
            stood_still: vec![stall(20, 219), stall(1_000, 1_001)],
            clock: Some(own),
            ..Emulation::default()
        };
        let collected = StationLogs {
            logs: vec![(nodes[0], log(&[(20, 200_000), (40, 300), (430, 300), (900, 310)]))],
            stalls: vec![(nodes, Stalls::default())],
            clock: Some(run),
            ..StationLogs::default()
        };
        let options = Options {
            backend: Backend::Emulated,
            duration: scenario.run.duration,
            seed: 1,
            priority: None,
        };
        let measured = put_together(&scenario, &options, collected, Some(emulation), false);
        let stream = &measured.streams[0];
        assert_eq!((stream.delivered, stream.stalled), (4, 0));
        assert_eq!((stream.held_up, stream.outside), (3, 0));
        // What was measured stays so, a miss included.
        assert_eq!(stream.latency.count, 4);
        assert_eq!(stream.latency.max, Duration::from_ms(200));
        assert_eq!(stream.missed, 1);
        assert_eq!(stream.worst_inside.map(|worst| worst.at), Some(at(900)));
        let evidence = measured.evidence(&scenario);
        let bound = [Some(Duration::from_us(320))];
        let against =
            rtether::measured::contradictions(&bound, &evidence.streams, evidence.tolerance);
        assert_eq!(against, [0_usize; 0]);
    }

    /// A measurement of 50 packets, each 20 ms, with a deadline of 5 ms. The first `touched` take `us`
    /// each and meet a stall of 1 ms, which is felt for 2 ms; the others take 1 ms.
    fn stalled(touched: usize, us: i64, accept: &str) -> (Scenario, Measured) {
        let text = format!(
            "
rtether: 1
nodes: {{ a: {{ stack: zero }}, b: {{ stack: zero }} }}
links: [{{ ends: [a, b], rate: 100 Mbit/s }}]
flows: [{{ name: f, from: a, to: b, period: 20 ms, size: 64 B, deadline: 5 ms }}]
run: {{ for: 1200 ms, warmup: 1 ms }}
accept: {accept}
"
        );
        let scenario = scenario::load("test.yaml", &text).scenario.expect("valid");
        let nodes: Vec<NodeId> = scenario.network.iter_nodes().map(|(id, _)| id).collect();
        let mut stalls = Stalls::default();
        let packets = (1..=50).map(|number| {
            let is_touched = number <= i64::try_from(touched).expect("few");
            if is_touched {
                let from = at(20 * number) + Duration::from_us(100);
                stalls.look(from, from + Duration::from_ms(1), Duration::ZERO);
            }
            (20 * number, if is_touched { us } else { 1_000 })
        });
        let packets: Vec<(i64, i64)> = packets.collect();
        let collected = StationLogs {
            logs: vec![(nodes[0], log(&packets))],
            stalls: vec![(nodes, stalls)],
            clock: Some(Clock::start()),
            ..StationLogs::default()
        };
        let options = Options {
            backend: Backend::Emulated,
            duration: scenario.run.duration,
            seed: 1,
            priority: None,
        };
        let measured = put_together(&scenario, &options, collected, None, false);
        (scenario, measured)
    }

    /// Oracle: by hand. Packets that took 6 ms with a stall took 4 ms or more without it.
    #[test]
    fn packets_that_no_stall_touched_hold_nothing_alone() {
        use rtether::verdict::Standing;
        let standing = |touched, us, accept| {
            let (scenario, measured) = stalled(touched, us, accept);
            let all = measured.assess(&scenario);
            (all[0].measured, all[0].reasons.join(", "))
        };
        let held = Standing::Held { packets: 50 };
        let usual = "[{ flow: f, sim: deadline }]";
        // Of few packets the stall is taken off, and none is left out: what is late without is late.
        assert_eq!(standing(2, 6_000, usual).0, held);
        assert_eq!(standing(2, 7_500, usual).0, Standing::Late);
        // From one in twenty on, it holds with stalls, or nobody knows.
        let (said, why) = standing(3, 6_000, usual);
        assert_eq!(said, Standing::NoAnswer);
        assert!(why.contains("touched 6.0 % of the packets, and with them"), "{why}");
        assert_eq!(standing(3, 4_900, usual).0, held);
        assert_eq!(standing(30, 7_500, usual).0, Standing::Late);
        // Where each met a stall, nothing is judged, whatever is required.
        for accept in [usual, "[{ flow: f, lost: 100000 }]", "[{ flow: f, missed: 50 % }]"] {
            let (said, why) = standing(50, 4_000, accept);
            assert_eq!(said, Standing::NoAnswer, "{accept}");
            assert!(why.contains("all 50 packets"), "{why}");
        }
        // Of quantiles all packets count, too: the median without the 30 that were slow is 1 ms.
        let median = "[{ flow: f, live: { p50: 2 ms } }]";
        assert_eq!(standing(30, 9_000, median).0, Standing::Late);
        assert_eq!(standing(20, 9_000, median).0, held);
    }

    /// Oracle: by hand; 30 of 50 packets took 9 ms, which is longer than 5 even 2 ms earlier.
    #[test]
    fn figures_stand_with_and_without_stalls() {
        use rtether::report::format::{Format, Render};
        use rtether::report::table::Screen;
        let (scenario, measured) = stalled(30, 9_000, "[{ flow: f, sim: deadline }]");
        let of = measured.streams[0].measurement();
        let ms = Duration::from_ms;
        assert_eq!((of.stalled, of.missed, of.with_stalls.missed), (30, 30, 30));
        assert_eq!((of.p50, of.p99, of.max), (Some(ms(1)), Some(ms(1)), Some(ms(1))));
        assert_eq!((of.max_less_stalls, of.with_stalls.max), (Some(ms(7)), Some(ms(9))));
        assert_eq!((of.with_stalls.p50, of.with_stalls.p99), (Some(ms(9)), Some(ms(9))));
        assert_eq!(of.much_stalled(), Some(600));
        let assessments = measured.assess(&scenario);
        let run = super::super::Run {
            scenario: &scenario,
            measured: &measured,
            assessments: &assessments,
        };
        let table = run.render(Format::Table, Screen::default());
        assert!(table.contains("p50 with stalls") && table.contains("warning"), "{table}");
        let document: serde_json::Value = serde_json::from_str(&run.json()).expect("JSON");
        let stream = &document["streams"][0];
        assert_eq!(stream["with_stalls"]["p50_ns"], 9_000_000);
        assert_eq!(stream["latency_ns"]["p50"], 1_000_000);
        let calm = stalled(0, 0, "[{ flow: f, sim: deadline }]");
        let assessments = calm.1.assess(&calm.0);
        let run =
            super::super::Run { scenario: &calm.0, measured: &calm.1, assessments: &assessments };
        let table = run.render(Format::Table, Screen::default());
        assert!(!table.contains("warning"), "{table}");
    }

    /// Oracle: `run.warmup` in the reference, and the guide to `live`.
    #[test]
    fn the_scenario_says_how_long_the_warm_up_is() {
        let (ms, s) = (Duration::from_ms, Duration::from_secs);
        assert_eq!(warmup(s(3), s(10)), s(3));
        assert_eq!(warmup(ms(1), s(10)), ms(1));
        assert_eq!(warmup(Duration::ZERO, s(5)), ms(500));
        assert_eq!(warmup(Duration::ZERO, s(100)), s(1));
    }
}
