//! The emulator of a test bed, and how it did.

use std::sync::atomic::AtomicBool;

use rtether_live::clock::Clock;
use rtether_live::emulator::{self, Emulator, EmulatorReport, Port};
use rtether_live::namespace;
use rtether_live::thread::Placement;
use rtether_live::wait::Waiting;
use rtether_model::quantity::Duration;

use super::{Options, Plan, TestbedError, duties};
use crate::scenario::Scenario;

/// So much more urgent than the stations is the emulator, which stands for hardware.
const ABOVE: u8 = 5;

/// How faithful the emulated network was.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Emulation {
    /// Frames that the stations sent.
    pub frames: u64,
    /// Frames whose fate differs from the replay of the recorded arrivals; `None` if there were
    /// more than are recorded.
    pub differing: Option<u64>,
    /// Frames that came after their time had passed, so that they were taken at once.
    pub late: u64,
    /// How far apart the times of the differing frames are: median.
    pub apart_p50: Option<Duration>,
    /// The same: the most.
    pub apart_max: Option<Duration>,
    /// How late frames left, in windows without a stall of the emulator: median.
    pub late_p50: Option<Duration>,
    /// The same: 99 % were not later.
    pub late_p99: Option<Duration>,
    /// The same: the latest.
    pub late_max: Duration,
    /// Frames that the emulated network dropped: full queues, excessive collisions, bit errors.
    pub dropped: u64,
    /// Frames that the emulator could not take or send.
    pub failed: u64,
    /// Collisions on shared media.
    pub collisions: u64,
    /// Times of 1 ms and more in which the emulator's thread did not run.
    pub stalls: u64,
}

impl Emulation {
    /// Returns what it may have added to a packet.
    pub(super) fn added_max(&self) -> Duration {
        self.late_max + self.apart_max.unwrap_or_default()
    }
}

/// Opens the emulator in its namespace.
pub(super) fn open(
    scenario: &Scenario,
    plan: &Plan,
    options: &Options,
) -> Result<Emulator, TestbedError> {
    let Some((name, devices)) = &plan.emulator else {
        unreachable!("only called for a test bed with an emulator");
    };
    let station = |source: Box<dyn std::error::Error + Send + Sync>| TestbedError::Station {
        station: "emulator".into(),
        source,
    };
    namespace::enter(name).map_err(|error| station(error.into()))?;
    let cores = std::thread::available_parallelism().map_or(1, std::num::NonZero::get);
    let placement = Placement {
        // The last core is the least busy one on most machines.
        core: options.priority.and(cores.checked_sub(1)),
        priority: options.priority.map(|priority| priority + ABOVE),
        lock_memory: options.priority.is_some(),
    };
    placement.apply().map_err(|error| station(error.into()))?;
    let ports: Vec<Port> = plan
        .hosts
        .iter()
        .zip(devices)
        .map(|(host, device)| Port {
            station: host.node,
            device: device.clone(),
            address: host.mac,
        })
        .collect();
    let mut how = emulator::Options::new(Clock::start(), options.seed);
    how.groups = duties::groups(scenario);
    // With one core, or without a real-time priority, spinning would only starve the stations.
    how.waiting = if cores > 1 && options.priority.is_some() {
        Waiting::Spin
    } else {
        Waiting::Block
    };
    Ok(Emulator::new(&scenario.network, &ports, how)?)
}

/// Runs it until `end`.
pub(super) fn run(mut emulator: Emulator, end: &AtomicBool) -> Result<Emulation, TestbedError> {
    emulator.run(end)?;
    Ok(said(&emulator.finish()?))
}

fn said(report: &EmulatorReport) -> Emulation {
    let counts = &report.counts;
    let calm = &report.departures.calm;
    let is_complete = report.recording.whole_before().is_none();
    let comparison = report.comparison.as_ref().filter(|_| is_complete);
    Emulation {
        frames: report.injected.injected,
        differing: comparison.map(|comparison| comparison.differing),
        late: report.injected.late,
        apart_p50: comparison.and_then(|comparison| comparison.apart.quantile(1, 2)),
        apart_max: comparison.and_then(|comparison| comparison.apart.quantile(1, 1)),
        late_p50: calm.quantile(1, 2),
        late_p99: calm.quantile(99, 100),
        late_max: calm.quantile(1, 1).unwrap_or(Duration::ZERO),
        dropped: counts.dropped.values().sum(),
        failed: counts.no_room + counts.overruns + counts.unsent + counts.long + counts.unstamped,
        collisions: counts.collisions,
        stalls: report.departures.stall_count,
    }
}
