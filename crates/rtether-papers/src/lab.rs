//! Measured experiments: two hosts and an emulated network between them, on this machine.

use std::net::Ipv4Addr;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::sync::mpsc;

use rtether_live::namespace;
use rtether_model::flow::Flow;
use rtether_model::network::{Network, NodeId, NodeKind, Stack};

use rtether::meter::Measurement;
use rtether_testbed::testbed::{
    self, Backend, DEVICE, Emulation, Host, Measured, Options, Plan, TestbedError,
};
use rtether_testbed::{
    Config, EchoOptions, Interval, LiveError, PingOptions, Placement, Thread, Via, echo, ping,
};

use crate::plant;
use crate::prelude::*;

/// Real-time priority of the measuring threads.
pub(crate) const PRIORITY: u8 = 40;
/// Longer than any experiment: load runs until it is stopped.
const LONG: Duration = Duration::from_secs(3_600);
/// Interval at which a run checks for cancellation.
const LOOK: std::time::Duration = std::time::Duration::from_millis(50);
/// Load runs this long before a measurement.
const SETTLED: std::time::Duration = std::time::Duration::from_millis(300);

impl From<TestbedError> for ReproduceError {
    fn from(error: TestbedError) -> Self {
        if let TestbedError::Interrupted = error {
            Self::Interrupted
        } else {
            Self::Machine(error.to_string())
        }
    }
}

impl From<LiveError> for ReproduceError {
    fn from(error: LiveError) -> Self {
        Self::Machine(error.to_string())
    }
}

/// A running test bed.
pub(crate) struct Lab<'a> {
    plan: &'a Plan,
    progress: &'a Progress,
    standing: &'a testbed::Progress,
}

/// Runs the flows of a scenario over its emulated network, between hosts with this host's stacks;
/// layers are shims.
pub(crate) fn run(
    scenario: &Scenario,
    duration: Duration,
    seed: u64,
    progress: &Progress,
) -> Result<Measured, ReproduceError> {
    if progress.is_cancelled() {
        return Err(ReproduceError::Interrupted);
    }
    let plan = Plan::new(scenario, Backend::Emulated, &tag())?;
    let options = options(duration, seed);
    let standing = testbed::Progress::default();
    let (tell, over) = mpsc::channel::<()>();
    let measured = std::thread::scope(|scope| {
        // Watches for cancellation, so that a run of a minute ends at once.
        scope.spawn(|| {
            let over = over;
            while over.recv_timeout(LOOK) == Err(mpsc::RecvTimeoutError::Timeout) {
                if progress.is_cancelled() {
                    standing.stop.store(true, Ordering::Relaxed);
                }
            }
        });
        let measured = testbed::run(scenario, &plan, &options, &standing);
        drop(tell);
        measured
    })?;
    if progress.is_cancelled() {
        return Err(ReproduceError::Interrupted);
    }
    match measured.errors.first() {
        Some(error) => Err(ReproduceError::Machine(error.clone())),
        None => Ok(measured),
    }
}

const fn options(duration: Duration, seed: u64) -> Options {
    Options { backend: Backend::Emulated, duration, seed, priority: Some(PRIORITY) }
}

/// Returns two nodes by name.
pub(crate) fn ends(network: &Network, names: [&str; 2]) -> [NodeId; 2] {
    names.map(|name| network.find(name).expect("a node of this network"))
}

/// Returns a tag unique to a test bed.
fn tag() -> String {
    static NUMBER: AtomicU32 = AtomicU32::new(0);
    let number = NUMBER.fetch_add(1, Ordering::Relaxed);
    format!("{}-r{number}", std::process::id())
}

/// Emulates a network whose stations are hosts on this machine, runs `load` on it, and calls
/// `work`.
///
/// The stack costs of the experiment's stations are left out: this host's stacks take their place.
pub(crate) fn with<T>(
    mut network: Network,
    load: Vec<Flow>,
    progress: &Progress,
    work: impl FnOnce(&Lab<'_>) -> Result<T, ReproduceError>,
) -> Result<(T, Emulation), ReproduceError> {
    for node in &mut network.nodes {
        if let NodeKind::EndStation(station) = &mut node.kind {
            station.stack = Stack::Zero;
            station.tasks = None;
            station.layer = None;
        }
    }
    let scenario = plant::scenario("experiment", network, load, (LONG, Duration::ZERO));
    let plan = Plan::new(&scenario, Backend::Emulated, &tag())?;
    let options = options(LONG, 1);
    let standing = testbed::Progress::default();
    let lab = Lab { plan: &plan, progress, standing: &standing };
    let stood = testbed::stand(&scenario, &plan, &options, &standing, || {
        if scenario.flows.is_empty() {
            return work(&lab);
        }
        std::thread::scope(|scope| {
            let load = scope.spawn(|| testbed::run_load(&scenario, &plan, &options, &standing));
            std::thread::sleep(SETTLED);
            let done = work(&lab);
            standing.stop.store(true, Ordering::Relaxed);
            match load.join() {
                Ok(loaded) => loaded?,
                Err(panic) => std::panic::resume_unwind(panic),
            }
            done
        })
    })?;
    let emulation = stood.emulation.unwrap_or_default();
    match (stood.done, &emulation.ended) {
        (Err(ReproduceError::Interrupted), _) => Err(ReproduceError::Interrupted),
        (_, Some(why)) => Err(ReproduceError::Machine(why.clone())),
        (done, None) => Ok((done?, emulation)),
    }
}

/// Returns options for adaptive round trips in real time, sleeping while waiting.
pub(crate) fn round_trips(via: Via, payload: u64, samples: u32) -> PingOptions {
    PingOptions {
        via,
        device: Some(DEVICE.into()),
        config: Config {
            series: 1,
            samples,
            interval: Interval::Adaptive,
            pause: Duration::ZERO,
            timeout: Duration::from_secs(1),
        },
        payload: usize::try_from(payload).unwrap_or(0),
        thread: urgent(),
        ..PingOptions::default()
    }
}

/// Returns thread settings with real-time priority.
pub(crate) fn urgent() -> Thread {
    Thread {
        placement: Placement { priority: Some(PRIORITY), ..Placement::default() },
        ..Thread::default()
    }
}

impl Lab<'_> {
    /// Returns an error if measuring cannot continue.
    fn go_on(&self) -> Result<(), ReproduceError> {
        if self.progress.is_cancelled() {
            Err(ReproduceError::Interrupted)
        } else if self.standing.stop.load(Ordering::Relaxed) {
            Err(ReproduceError::Machine("the test bed has ended".into()))
        } else {
            Ok(())
        }
    }

    /// Measures round trips from one host to another, which answers with the options `far`.
    pub(crate) fn ping(
        &self,
        [from, to]: [NodeId; 2],
        options: &PingOptions,
        far: &EchoOptions,
    ) -> Result<Measurement, ReproduceError> {
        self.go_on()?;
        let (near, far_host) = (self.host(from), self.host(to));
        let target = match options.via {
            Via::Raw | Via::Xdp => far_host.mac.to_string(),
            Via::Udp | Via::Tcp | Via::Icmp | Via::Cndep | Via::Rtps => far_host.ip.to_string(),
        };
        let options = PingOptions { target, ..options.clone() };
        let (stop, is_over) = (AtomicBool::new(false), AtomicBool::new(false));
        std::thread::scope(|scope| {
            let (tell, ready) = mpsc::channel();
            let responder = scope.spawn(|| {
                enter(&far_host.namespace)?;
                if options.via == Via::Icmp {
                    // The kernel replies.
                    let _ = tell.send(());
                    return Ok(());
                }
                let answered = echo(far, &is_over, |_| {
                    let _ = tell.send(());
                });
                drop(tell);
                answered.map(drop).map_err(ReproduceError::from)
            });
            let (options, stop) = (&options, &stop);
            let meter = scope.spawn(move || {
                enter(&near.namespace)?;
                if ready.recv().is_err() {
                    return Ok(None);
                }
                let watch = |_: &_| {
                    if self.go_on().is_err() {
                        stop.store(true, Ordering::Relaxed);
                    }
                };
                let measured = ping(options, stop, watch);
                measured.map(Some).map_err(ReproduceError::from)
            });
            let measured = joined(meter);
            is_over.store(true, Ordering::Relaxed);
            joined(responder)?;
            self.go_on()?;
            let nothing = || ReproduceError::Machine("the other side did not begin".into());
            measured?.ok_or_else(nothing)
        })
    }

    fn host(&self, node: NodeId) -> &Host {
        self.plan.host(node).expect("a host of this network")
    }

    /// Returns the address of a host.
    pub(crate) fn address(&self, node: NodeId) -> Ipv4Addr {
        self.host(node).ip
    }

    /// Runs `work` inside a host, in a thread of its own.
    pub(crate) fn inside<T: Send>(
        &self,
        node: NodeId,
        work: impl FnOnce() -> Result<T, ReproduceError> + Send,
    ) -> Result<T, ReproduceError> {
        let host = self.host(node);
        std::thread::scope(|scope| {
            joined(scope.spawn(|| {
                enter(&host.namespace)?;
                work()
            }))
        })
    }
}

fn enter(name: &str) -> Result<(), ReproduceError> {
    let failed = |error| ReproduceError::Machine(format!("entering the namespace {name}: {error}"));
    namespace::enter(name).map_err(failed)
}

fn joined<T>(thread: std::thread::ScopedJoinHandle<'_, T>) -> T {
    thread.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic))
}

/// Returns options for an echo that replies at once, in real time.
pub(crate) fn answering(via: Via) -> EchoOptions {
    EchoOptions { via, device: Some(DEVICE.into()), thread: urgent(), ..EchoOptions::default() }
}

/// Reports how faithful the emulated networks of an experiment were.
pub(crate) fn fidelity(emulations: &[Emulation]) -> String {
    let sum = |count: fn(&Emulation) -> u64| emulations.iter().map(count).sum::<u64>();
    let late = emulations.iter().filter_map(|emulation| emulation.late_p99).max();
    format!(
        "Emulated networks between namespaces of this host: {} frames, {} of them decided otherwise \
         than in the replay of their arrivals; 99 % left at most {} late (the worst run).",
        sum(|emulation| emulation.frames),
        sum(|emulation| emulation.differing.unwrap_or(0)),
        late.unwrap_or_default()
    )
}

#[cfg(test)]
mod tests {
    use rtether_live::namespace::CommandLine;
    use rtether_testkit::is_root;

    use super::*;
    use rtether::scenario;

    const WIRE: &str = "
rtether: 1
nodes: { a: { stack: zero }, b: { stack: zero } }
switches: { sw: { ports: 2 } }
links:
  - { ends: [a, \"sw:1\"], rate: 100 Mbit/s }
  - { ends: [b, \"sw:2\"], rate: 100 Mbit/s }
flows: [{ name: f, from: a, to: b, period: 1 ms, size: 64 B }]
";

    /// Oracle: the device that the test itself removes. Round trips end as well: a thousand
    /// unanswered ones would take a second each.
    #[test]
    fn a_network_that_goes_away_is_an_error_of_the_experiment() {
        if !is_root() {
            return;
        }
        let network = scenario::load("wire.yaml", WIRE).scenario.unwrap().network;
        let ends = ["a", "b"].map(|name| network.find(name).unwrap());
        let progress = Progress::default();
        let outcome = with(network, Vec::new(), &progress, |lab| {
            let name = &lab.plan.host(ends[1]).unwrap().namespace;
            let removed = CommandLine::words(&format!("ip -n {name} link delete {DEVICE}")).run();
            removed.unwrap();
            lab.ping(ends, &round_trips(Via::Udp, 64, 1_000), &answering(Via::Udp))
        });
        let message = outcome.unwrap_err().to_string();
        assert!(message.contains("emulator, at `b`: device"), "{message}");
    }
}
