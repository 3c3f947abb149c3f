//! Measurement of a scenario, by stream.

use rtether_live::station::Arrived;
use rtether_model::histogram::Histogram;
use rtether_model::quantity::{Duration, Instant};
use rtether_model::record::{Record, StreamRecord, Summary, TransferRecord};

use super::Backend;
use super::emulation::Emulation;
use super::host_report::HostReport;
use super::layers::HostLayer;
use super::packets::Packets;
use rtether::measured::{Distribution, Measurement, WithStalls};
use rtether::scenario::Scenario;

/// Measurement of a scenario.
#[derive(Clone, Debug, PartialEq)]
pub struct Measured {
    /// What carried the frames.
    pub backend: Backend,
    /// Duration of the releases.
    pub duration: Duration,
    /// Start of the run left out of the statistics.
    pub warmup: Duration,
    /// Streams, in the order of the simulated record.
    pub streams: Vec<MeasuredStream>,
    /// Stalls of the host, on any core.
    pub stalls: usize,
    /// The longest of them.
    pub longest_stall: Option<Duration>,
    /// Whether stalls were watched at a real-time priority; otherwise ordinary waiting looks like a
    /// stall.
    pub watched_in_real_time: bool,
    /// Whether cores were kept out of deep sleep, or why not: packets then also wait for cores to
    /// wake.
    pub awake: Result<(), String>,
    /// Results of the emulator, if there was one.
    pub emulation: Option<Emulation>,
    /// What the test bed itself may add to the delay of a packet: largest departure error of the
    /// emulator, largest difference from its replay, and largest release delay. The kernel's links
    /// and switches are part of what is measured.
    pub tolerance: Duration,
    /// Whether the run was stopped early.
    pub is_partial: bool,
    /// The individual packets.
    pub packets: Packets,
    /// Errors that ended the emulator or a station, with their names.
    pub errors: Vec<String>,
    /// Failures that a station survived, with its name: connections that were not established.
    pub failures: Vec<String>,
    /// Anomalies, over all stations.
    pub oddities: Oddities,
    /// Results of the layers of hosts, in the order of nodes.
    pub layers: Vec<HostLayer>,
    /// Real hosts that took part, in the order of nodes; empty for test beds on this host.
    pub hosts: Vec<HostReport>,
}

/// Anomalies.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Oddities {
    /// Payloads without a stream.
    pub foreign: u64,
    /// Packets that the system refused.
    pub unsent: u64,
    /// Packets without a record.
    pub unrecorded: u64,
    /// How often the wall clock was set.
    pub clock_steps: u64,
}

/// One stream.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct MeasuredStream {
    /// Packets released after the warm-up.
    pub released: u64,
    /// Of these, those that arrived, or whose answer did.
    pub delivered: u64,
    /// Of these, those that did not.
    pub lost: u64,
    /// Packets that arrived more than once.
    pub duplicates: u64,
    /// Packets that arrived after one sent later.
    pub reordered: u64,
    /// Delivered packets touched by a stall of the host.
    pub stalled: u64,
    /// Latency of all delivered packets, as it was measured.
    pub with_stalls: Distribution,
    /// The same without the time for which stalls were felt on their way: what is judged, so that no
    /// packet is left out for having been under way for long.
    pub less_stalls: Distribution,
    /// Latency of packets that no stall touched, from the sending call to the receiving application.
    pub latency: Summary,
    /// Its distribution.
    pub histogram: Histogram,
    /// The slowest packet of them.
    pub worst: Option<Worst>,
    /// Packets lost, and packets later than the deadline even without the stalls that touched them.
    /// Zero without deadline.
    pub missed: u64,
    /// The same with all stalls.
    pub missed_with_stalls: u64,
    /// Delivered packets for which the end nodes took longer than the scenario permits, or it is not
    /// known how long: the host was not shown to be inside its profile.
    pub outside: u64,
    /// Delivered packets that were under way while the emulator stood still: measured, but no evidence
    /// against a bound.
    pub held_up: u64,
    /// The slowest of the others, without the time this host added to emulated stations.
    pub worst_inside: Option<Worst>,
    /// Largest release delay of delivered packets that no stall touched: the precision with which
    /// flows keep their contracts.
    pub late_inside: Duration,
    /// Part of the latency until the return of the sending call: the sending stack.
    pub send: Histogram,
    /// Part of the latency after the kernel's receive stamp: the receiving stack and the wake-up.
    pub receive: Histogram,
    /// How late packets were released.
    pub late: Histogram,
    /// Files of a bulk flow, in order.
    pub transfers: Vec<TransferRecord>,
    /// Largest error of the latencies, if talker and listener have different clocks.
    pub uncertainty: Duration,
    /// Why latencies are withheld although packets arrived.
    pub withheld: Option<String>,
}

/// What the latency of a packet says about a bound.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Evidence {
    /// All of it counts, except for what the host added: the result of `Profile::beyond`.
    Inside(Duration),
    /// Nothing: the host was not shown to be inside its profile.
    Outside,
    /// Nothing: the emulator stood still meanwhile.
    HeldUp,
}

/// A slow packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Worst {
    /// When it was released, from the start of the run.
    pub at: Instant,
    /// Its latency.
    pub latency: Duration,
}

impl Measured {
    /// Returns the measurement as a record of runs.
    pub fn record(&self, scenario: &Scenario) -> Record {
        self.record_of(scenario, |stream| (stream.distribution(), stream.missed))
    }

    /// Returns a record with a distribution of each stream, and how many packets missed their deadline.
    pub(super) fn record_of(
        &self,
        scenario: &Scenario,
        figures: fn(&MeasuredStream) -> (Distribution, u64),
    ) -> Record {
        let flows = (0u32..).zip(&scenario.flows);
        let ends = flows.flat_map(|(flow, f)| f.listeners.iter().map(move |node| (flow, node.0)));
        let streams = ends.zip(&self.streams).map(|((flow, listener), stream)| {
            let (distribution, missed) = figures(stream);
            StreamRecord {
                flow,
                listener,
                released: stream.released,
                delivered: stream.delivered,
                dropped: stream.lost,
                missed,
                latency: distribution.latency,
                histogram: distribution.histogram,
                transfers: stream.transfers.clone(),
                ..StreamRecord::default()
            }
        });
        Record {
            duration: self.duration,
            observed: self.duration,
            warmup: self.warmup,
            runs: 1,
            streams: streams.collect(),
            ..Record::default()
        }
    }
}

impl MeasuredStream {
    /// Returns the distribution of the latency.
    pub fn distribution(&self) -> Distribution {
        Distribution { latency: self.latency, histogram: self.histogram.clone() }
    }

    /// Returns the figures shown beside simulation and bound.
    pub fn measurement(&self) -> Measurement {
        Measurement {
            released: self.released,
            lost: self.lost,
            stalled: self.stalled,
            outside: self.outside,
            held_up: self.held_up,
            missed: self.missed,
            p50: self.quantile(1, 2),
            p99: self.quantile(99, 100),
            p999: self.quantile(999, 1_000),
            max: (self.latency.count > 0).then_some(self.latency.max),
            max_inside: self.worst_inside.map(|worst| worst.latency),
            max_less_stalls: self.less_stalls.max(),
            with_stalls: WithStalls {
                missed: self.missed_with_stalls,
                p50: self.with_stalls.quantile(1, 2),
                p99: self.with_stalls.quantile(99, 100),
                p999: self.with_stalls.quantile(999, 1_000),
                max: self.with_stalls.max(),
            },
        }
    }

    /// Returns a quantile of the latency, at most 0.8 % too high and never above the maximum.
    ///
    /// Samples touched by a stall do not count.
    pub fn quantile(&self, part: u64, whole: u64) -> Option<Duration> {
        let quantile = self.histogram.quantile(part, whole)?;
        Some(Ord::min(quantile, self.latency.max))
    }

    /// Records a packet.
    pub(super) fn arrive(&mut self, arrived: &Arrived, evidence: Evidence) {
        self.latency.record(arrived.latency);
        self.histogram.record(arrived.latency);
        let worst = Worst { at: arrived.released_at, latency: arrived.latency };
        keep_slower(&mut self.worst, worst);
        match evidence {
            Evidence::Inside(beyond) => {
                let latency = worst.latency - beyond;
                keep_slower(&mut self.worst_inside, Worst { latency, ..worst });
            }
            Evidence::Outside => self.outside += 1,
            Evidence::HeldUp => self.held_up += 1,
        }
    }
}

fn keep_slower(kept: &mut Option<Worst>, new: Worst) {
    if kept.is_none_or(|old| new.latency > old.latency) {
        *kept = Some(new);
    }
}
