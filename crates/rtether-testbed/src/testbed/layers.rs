//! End-node layers of stations that are hosts: a shim on the device of each.

use std::sync::mpsc;
use std::thread::ScopedJoinHandle;

use rtether_live::namespace;
use rtether_live::shim::{self, Handle, Settings, Shim, Signal, Status};
use rtether_model::network::{EndStation, Link, Network, NodeId, NodeKind};
use rtether_proto::egress::{Comparison, replay};

use super::{DEVICE, Host, Options, Plan, TestbedError};
use rtether::report::text::{plain_line, time};
use rtether::scenario::Scenario;

/// Priority of a shim, which stands for a driver, above that of the stations; the emulator is
/// higher still.
const ABOVE: u8 = 2;
/// Recorded calls and decisions of a shim: 16 MB, about 50 000 frames.
const RECORDED: usize = 1 << 18;
/// The same for all shims together.
const RECORDED_ALL: usize = 1 << 21;

/// The layer of one station, with its results.
#[derive(Clone, Debug, PartialEq)]
pub struct HostLayer {
    /// The station.
    pub node: NodeId,
    /// Its queues, smoother and losses.
    pub status: Status,
    /// Result of the replay of its decisions.
    pub replayed: Replayed,
    /// Why it ended early.
    pub ended: Option<String>,
}

/// Result of replaying the recorded calls of a layer in a separate engine.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Replayed {
    /// Decisions replayed.
    pub decisions: u64,
    /// Whether one of them differed; the replay ends there.
    pub differs: bool,
    /// Calls and decisions not recorded for lack of room.
    pub unrecorded: u64,
}

/// Returns the stations whose layer is a shim, with its settings.
pub(super) fn settings(network: &Network, priority: Option<u8>) -> Vec<(NodeId, Settings)> {
    let nodes = network.iter_nodes();
    let settings = nodes.filter_map(|(id, node)| match &node.kind {
        NodeKind::EndStation(station) => Some((id, of_station(network, id, station, priority)?)),
        NodeKind::Switch(_) | NodeKind::Hub(_) => None,
    });
    settings.collect()
}

fn of_station(
    network: &Network,
    id: NodeId,
    station: &EndStation,
    priority: Option<u8>,
) -> Option<Settings> {
    let layer = station.layer.as_deref().filter(|_| !station.emulate)?;
    let is_own = |link: &&Link| link.ends.iter().any(|end| end.node == id);
    let link = network.links.iter().find(is_own)?;
    Some(Settings {
        signal: if network.is_half_duplex(link) { Signal::Reports } else { Signal::Port },
        priority: priority.map(|priority| priority + ABOVE),
        ..Settings::new(layer.clone(), link.rate)
    })
}

/// Returns whether a layer waits for reports of the emulated network about its frames.
pub(super) fn want_reports(network: &Network) -> bool {
    let all = settings(network, None);
    all.iter().any(|(_, settings)| settings.signal == Signal::Reports)
}

/// Returns why a shim cannot implement the layer of a station.
pub(super) fn refusal(network: &Network, id: NodeId, station: &EndStation) -> Option<String> {
    let settings = of_station(network, id, station, None)?;
    let refused = shim::check(&settings).err()?;
    Some(format!("has a layer that no shim supports: {refused}; or write `emulate: true` there"))
}

/// Runs `work` while the layers of all hosts are up; returns their results.
pub(super) fn with<T>(
    scenario: &Scenario,
    plan: &Plan,
    options: &Options,
    work: impl FnOnce() -> T,
) -> Result<(T, Vec<HostLayer>), TestbedError> {
    let settings = settings(&scenario.network, options.priority);
    let recorded = RECORDED.min(RECORDED_ALL / settings.len().max(1));
    std::thread::scope(|scope| {
        let mut layers = Vec::new();
        for (node, settings) in settings {
            let Some(host) = plan.host(node) else {
                continue;
            };
            let (tell, told) = mpsc::channel();
            let thread = scope.spawn(move || run(host, settings, recorded, &tell));
            layers.push(Running { node, thread, told });
        }
        let mut handles = Handles(Vec::new());
        let mut failed = false;
        for layer in &layers {
            match layer.told.recv() {
                Ok(handle) => handles.0.push(handle),
                // Its thread has ended; joining it below gives the reason.
                Err(mpsc::RecvError) => failed = true,
            }
        }
        let done = (!failed).then(work);
        drop(handles);
        let ended: Result<Vec<_>, _> =
            layers.into_iter().map(|layer| layer.join(scenario)).collect();
        let layers = ended?;
        done.map(|done| (done, layers)).ok_or(TestbedError::Interrupted)
    })
}

/// Shims that are stopped on drop, also in a panic.
struct Handles(Vec<Handle>);

impl Drop for Handles {
    fn drop(&mut self) {
        self.0.iter().for_each(Handle::stop);
    }
}

/// A shim in a thread.
struct Running<'scope> {
    node: NodeId,
    thread: ScopedJoinHandle<'scope, Result<HostLayer, LayerError>>,
    /// Delivers its handle once it is up.
    told: mpsc::Receiver<Handle>,
}

type LayerError = Box<dyn std::error::Error + Send + Sync>;

impl Running<'_> {
    fn join(self, scenario: &Scenario) -> Result<HostLayer, TestbedError> {
        let ended = self.thread.join();
        let ended = ended.unwrap_or_else(|panic| std::panic::resume_unwind(panic));
        ended.map_err(|source| TestbedError::Station {
            station: scenario.network.node(self.node).name.clone(),
            source,
        })
    }
}

/// Runs the shim of a host until it is stopped, in a separate thread.
fn run(
    host: &Host,
    settings: Settings,
    recorded: usize,
    tell: &mpsc::Sender<Handle>,
) -> Result<HostLayer, LayerError> {
    namespace::enter(&host.namespace)?;
    let mut shim = Shim::up_recorded(DEVICE, settings, recorded)?;
    let handle = shim.handle();
    // The receiver lives until this thread ends.
    let _ = tell.send(handle.clone());
    let ended = shim.run();
    // Frames that still wait are decided on as well.
    let flushed = shim.flush();
    let recording = shim.take_recording();
    // Report what was measured so far in every case.
    let ended = ended.and(flushed).and(shim.down().map(drop)).err();
    let status = handle.status();
    let replayed = recording.map(|(recording, layers)| {
        replay(&recording, &layers).map(|comparison| replayed(&comparison, recording.lost))
    });
    Ok(HostLayer {
        node: host.node,
        status,
        replayed: replayed.transpose()?.unwrap_or_default(),
        ended: ended.map(|error| error.to_string()),
    })
}

/// Describes how the layer of each host did, one line per host.
pub(super) fn said(scenario: &Scenario, layers: &[HostLayer]) -> Vec<String> {
    let line = |layer: &HostLayer| {
        let HostLayer { status, replayed, .. } = layer;
        let lost: u64 = status.drops.named().iter().map(|(_, count)| count).sum();
        let smoother = status.smoother.map(|smoother| {
            let statistics = smoother.statistics;
            format!(
                ", {} reports of congestion, bulk packets held for up to {}",
                statistics.reports,
                time(statistics.bulk.waited_max)
            )
        });
        format!(
            "{}: {} frames sent, {lost} dropped{}; {}",
            plain_line(&scenario.network.node(layer.node).name),
            status.transmitted.frames,
            smoother.unwrap_or_default(),
            replayed.words()
        )
    };
    layers.iter().map(line).collect()
}

impl Replayed {
    fn words(self) -> String {
        let Self { decisions, differs, unrecorded } = self;
        if differs {
            return format!("differs from its replay after {decisions} decisions");
        }
        let rest = match unrecorded {
            0 => String::new(),
            more => format!("; {more} more calls and decisions were not recorded"),
        };
        format!("all {decisions} decisions as in their replay{rest}")
    }
}

fn replayed(comparison: &Comparison, unrecorded: u64) -> Replayed {
    Replayed {
        decisions: comparison.decisions,
        differs: comparison.first_difference.is_some(),
        unrecorded,
    }
}
