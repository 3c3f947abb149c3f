//! The stages of a run, each with its own statistics: quiet and loaded (R163).
//!
//! A packet belongs to the stage in which it was released.

use rtether_model::flow::Traffic;
use rtether_model::histogram::Histogram;
use rtether_model::quantity::{Duration, Instant};
use rtether_model::record::Summary;
use rtether_sim::observe::{Delivery, Observer, PacketInfo};

use crate::scenario::Scenario;

/// Packets of one stream that were released in one stage.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct StageStream {
    /// Latencies of those that arrived.
    pub latency: Summary,
    /// Their distribution.
    pub histogram: Histogram,
    /// Those that arrived late.
    pub late: u64,
    /// Packets released; zero where segments and datagrams are not packets: over TCP and RTPS.
    pub released: u64,
}

impl StageStream {
    fn merge(&mut self, other: &Self) {
        self.latency.merge(&other.latency);
        self.histogram.merge(&other.histogram);
        self.late += other.late;
        self.released += other.released;
    }

    /// Returns the packets that did not arrive: lost, or under way at the end of the run.
    pub const fn missing(&self) -> u64 {
        self.released.saturating_sub(self.latency.count)
    }
}

/// Statistics of each stage, by stream of the record; empty without stages.
pub type Stages = Vec<Vec<StageStream>>;

/// Adds the stages of another run.
pub(crate) fn merge(all: &mut Stages, run: Stages) {
    if all.is_empty() {
        *all = run;
        return;
    }
    for (all, run) in all.iter_mut().flatten().zip(run.iter().flatten()) {
        all.merge(run);
    }
}

/// What is known of a flow.
#[derive(Clone, Copy, Debug)]
struct Known {
    first_stream: usize,
    listeners: usize,
    deadline: Option<Duration>,
    /// Whether each release is one packet.
    is_counted: bool,
}

/// Records the packets of each stage.
#[derive(Debug)]
pub(crate) struct Log {
    /// Start of each stage, ascending.
    starts: Vec<Instant>,
    warmup: Instant,
    flows: Vec<Known>,
    pub(crate) found: Stages,
}

impl Log {
    pub(crate) fn new(scenario: &Scenario) -> Self {
        let mut streams = 0;
        let flows = scenario.flows.iter().map(|flow| {
            let first_stream = streams;
            streams += flow.listeners.len();
            Known {
                first_stream,
                listeners: flow.listeners.len(),
                deadline: flow.deadline,
                is_counted: !matches!(flow.traffic, Traffic::Bulk(_))
                    && flow.connection.is_none()
                    && !flow.is_published(),
            }
        });
        let flows = flows.collect();
        let at = |time: Duration| Instant::ZERO + time;
        Self {
            starts: scenario.stages.iter().map(|stage| at(stage.from)).collect(),
            warmup: at(scenario.run.warmup),
            flows,
            found: vec![vec![StageStream::default(); streams]; scenario.stages.len()],
        }
    }

    /// Returns the stage of a packet; `None` during warm-up and before the first stage.
    fn stage(&self, packet: &PacketInfo) -> Option<usize> {
        if packet.released_at < self.warmup {
            return None;
        }
        let begun = |&start: &Instant| start <= packet.released_at;
        self.starts.partition_point(begun).checked_sub(1)
    }
}

impl Observer for Log {
    fn released(&mut self, _: Instant, packet: &PacketInfo) {
        // Messages about channels belong to no flow of the scenario.
        let Some(&flow) = self.flows.get(packet.flow.index()) else {
            return;
        };
        if packet.is_reverse || !flow.is_counted {
            return;
        }
        if let Some(stage) = self.stage(packet) {
            for stream in &mut self.found[stage][flow.first_stream..][..flow.listeners] {
                stream.released += 1;
            }
        }
    }

    fn delivered(&mut self, _: Instant, packet: &PacketInfo, delivery: &Delivery) {
        if let Some(stage) = self.stage(packet) {
            let deadline = self.flows[packet.flow.index()].deadline;
            let stream = &mut self.found[stage][delivery.stream];
            stream.latency.record(delivery.latency);
            stream.histogram.record(delivery.latency);
            stream.late += u64::from(deadline.is_some_and(|most| delivery.latency > most));
        }
    }
}
