//! The emulator of a test bed, and its report.

use std::sync::atomic::AtomicBool;

use rtether_live::clock::Clock;
use rtether_live::emulator::{self, Emulator, EmulatorError, EmulatorReport, Port};
use rtether_live::namespace;
use rtether_live::stall::{Stall, Stalls};
use rtether_live::thread::Placement;
use rtether_live::wait::Waiting;
use rtether_model::quantity::Duration;

use super::{Options, Plan, TestbedError, duties, layers};
use rtether::scenario::Scenario;

/// Priority of the emulator, which stands for hardware, above that of the stations.
const ABOVE: u8 = 5;

/// Length of the windows of `DepartureErrors`: departures in the one in which a stall ends, and in the
/// next, are not in the statistics, so nothing limits how late they were.
const WINDOW: Duration = Duration::from_ms(100);

/// How faithful the emulated network was.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Emulation {
    /// Frames sent by the stations.
    pub frames: u64,
    /// Frames whose fate differs from the replay of the recorded arrivals; `None` if not all
    /// arrivals were recorded.
    pub differing: Option<u64>,
    /// Frames that arrived after their time had passed and were processed at once.
    pub late: u64,
    /// By how much the times of the differing frames differ: median.
    pub apart_p50: Option<Duration>,
    /// The same: maximum.
    pub apart_max: Option<Duration>,
    /// How late frames left, outside stalls of the emulator: median.
    pub late_p50: Option<Duration>,
    /// The same: 99th percentile.
    pub late_p99: Option<Duration>,
    /// The same: maximum.
    pub late_max: Duration,
    /// The same at the return of the sending call: by then the host has the frame.
    pub returned_max: Duration,
    /// Frames dropped by the emulated network: full queues, excessive collisions, bit errors.
    pub dropped: u64,
    /// Frames that the emulator failed to receive or send.
    pub failed: u64,
    /// Collisions on shared media.
    pub collisions: u64,
    /// Periods of 1 ms or more in which the emulator's thread did not run.
    pub stalls: u64,
    /// When the first of them were, by its clock.
    pub(super) stood_still: Vec<Stall>,
    /// Its clock.
    pub(super) clock: Option<Clock>,
    /// Why it ended early.
    pub ended: Option<String>,
}

impl Emulation {
    /// Returns the most it may have added to the delay of a packet.
    pub(super) fn added_max(&self) -> Duration {
        self.returned_max + self.apart_max.unwrap_or_default()
    }

    /// Returns its stalls by the clock of a run. The watchers of the host miss those in which only
    /// the emulator waited.
    pub(super) fn stalls(&self, run: Option<Clock>) -> Stalls {
        let mut stalls = Stalls::default();
        if let Some((own, run)) = self.clock.zip(run) {
            let shift = own.start_by(&run);
            for stall in &self.stood_still {
                // Felt for as long again, and so over both windows.
                let until = stall.until + shift + WINDOW;
                stalls.look(stall.from + shift, until, Duration::ZERO);
            }
        }
        stalls
    }
}

/// Opens the emulator in its namespace.
pub(super) fn open(
    scenario: &Scenario,
    plan: &Plan,
    options: &Options,
    clock: Clock,
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
        // On most machines the last core is the least busy.
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
    let mut how = emulator::Options::new(clock, options.seed);
    how.groups = duties::groups(scenario);
    how.reports_completions = layers::want_reports(&scenario.network);
    // With one core, or without a real-time priority, spinning would only starve the stations.
    how.waiting =
        if cores > 1 && options.priority.is_some() { Waiting::Spin } else { Waiting::Block };
    Ok(Emulator::new(&scenario.network, &ports, how)?)
}

/// Runs it until `end`, or until a device of a host disappears; reports on the run in both cases.
pub(super) fn run(
    mut emulator: Emulator,
    scenario: &Scenario,
    plan: &Plan,
    end: &AtomicBool,
) -> Emulation {
    let ended = emulator.run(end).err();
    let ended = ended.map(|error| why_ended(&error, scenario, plan));
    match emulator.finish() {
        Ok(report) => Emulation { ended, ..said(&report) },
        Err(error) => Emulation {
            ended: ended.or_else(|| Some(why_ended(&error, scenario, plan))),
            ..Emulation::default()
        },
    }
}

/// Describes the error, naming the station if its device caused it.
fn why_ended(error: &EmulatorError, scenario: &Scenario, plan: &Plan) -> String {
    let EmulatorError::Gone { device, .. } = error else {
        return format!("emulator: {error}");
    };
    let devices = plan.emulator.iter().flat_map(|(_, devices)| devices);
    let mut hosts = plan.hosts.iter().zip(devices);
    let host = hosts.find(|(_, own)| *own == device);
    let at = host.map(|(host, _)| scenario.network.node(host.node).name.as_str());
    format!("emulator, at `{}`: {error}", at.unwrap_or("?"))
}

fn said(report: &EmulatorReport) -> Emulation {
    let counts = &report.counts;
    let departures = &report.departures;
    let (calm, returned) = (&departures.calm, &departures.calm_returned);
    let stood_still = departures
        .stalls
        .iter()
        .map(|stall| Stall { from: stall.at, until: stall.at + stall.length });
    let stood_still: Vec<Stall> = stood_still.collect();
    // When further stalls were is not known, so any packet may have met one.
    let are_known = departures.stall_count == stood_still.len() as u64;
    let unknown = (!are_known).then(|| departures.all.quantile(1, 1));
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
        late_max: calm.quantile(1, 1).unwrap_or_default(),
        returned_max: Ord::max(returned.quantile(1, 1), unknown.flatten()).unwrap_or_default(),
        dropped: counts.dropped.values().sum(),
        failed: counts.no_room + counts.overruns + counts.unsent + counts.long + counts.unstamped,
        collisions: counts.collisions,
        stalls: departures.stall_count,
        stood_still,
        clock: None,
        ended: None,
    }
}

#[cfg(test)]
mod tests {
    use rtether_live::emulator::{Counts, DepartureErrors};
    use rtether_model::histogram::Histogram;
    use rtether_model::record::Record;
    use rtether_sim::emulation::{Counters, Recording};

    use super::*;

    /// Oracle: by hand; a frame sent 2 us late by a call of 7 us reaches its host 9 us late.
    #[test]
    fn how_late_a_host_has_a_frame_includes_the_call_that_sends() {
        let of = |us| {
            let mut histogram = Histogram::default();
            histogram.record(Duration::from_us(us));
            histogram
        };
        let report = EmulatorReport {
            counts: Counts::default(),
            injected: Counters::default(),
            departures: DepartureErrors {
                calm: of(2),
                calm_returned: of(9),
                ..DepartureErrors::default()
            },
            comparison: None,
            recording: Recording::new(0),
            record: Record::default(),
        };
        let said = said(&report);
        assert!(said.late_max < Duration::from_us(3), "{said:?}");
        assert!(said.returned_max >= Duration::from_us(9), "{said:?}");
    }
}
