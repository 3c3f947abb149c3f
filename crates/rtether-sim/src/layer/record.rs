//! Inspection of a layer: its packets, counters and invariants.

use alloc::vec::Vec;

use rtether_model::quantity::Instant;
use rtether_model::record::{ClassRecord, LayerRecord, NodeRecord, SmootherRecord};
use rtether_proto::endnode::{QueueStats, StackInstances};
use rtether_proto::smoother::{State, Statistics};

use super::LayerState;
use super::stack::StackSide;
use super::tasks::TaskProcessor;

impl LayerState {
    /// Visits every packet in the tasks, waiting for or in the stack, and between stack and port.
    pub(crate) fn for_each_packet(&self, mut visit: impl FnMut(u32)) {
        let tasks = self.tasks.iter().flat_map(TaskProcessor::packets);
        let sending = self.egress.frames().copied();
        let instantly = self.instantly.packets();
        tasks.chain(sending).chain(instantly).for_each(&mut visit);
        match &self.stack {
            None => {}
            Some(StackSide::Queues(queues)) => queues.packets().for_each(visit),
            Some(StackSide::Instances(instances)) => {
                let jobs = instances.engines().iter().flat_map(StackInstances::frames);
                jobs.for_each(|job| visit(job.id));
            }
        }
    }

    /// Visits the packets, in both directions, whose departure from the station's tasks can no
    /// longer change, with its time; without tasks, those in stack instances.
    pub(crate) fn for_each_certain(&self, mut visit: impl FnMut(u32, Instant)) {
        if let Some(tasks) = &self.tasks {
            tasks.certain().into_iter().for_each(|(id, due)| visit(id, due));
        } else if let Some(StackSide::Instances(instances)) = &self.stack {
            let jobs = instances.engines().iter();
            let jobs = jobs.filter_map(StackInstances::certain);
            jobs.for_each(|(job, due)| visit(job.id, due));
        }
    }

    /// Enters its counters in the record of its node, which has those of the stack. Busy times of
    /// stack instances are counted up to their last completions or interruptions.
    pub(crate) fn count_in(&self, record: &mut NodeRecord) {
        self.for_each_packet(|_| record.in_stack += 1);
        if let Some(StackSide::Instances(instances)) = &self.stack {
            let busy = instances.engines().iter().map(StackInstances::busy);
            record.stack_busy += busy.sum();
        }
        record.layer_dropped = self.dropped;
        record.layer = self.record();
    }

    /// Returns the state of the smoother, if there is one.
    pub(crate) fn smoother_state(&self) -> Option<State> {
        self.egress.smoother_state()
    }

    /// Returns the counters of the layer; `None` if the station has only tasks.
    fn record(&self) -> Option<LayerRecord> {
        self.is_layered.then(|| LayerRecord {
            receive: self.stack.as_ref().map_or_else(Vec::new, receive_records),
            transmit: self.egress.queues().map(|q| class_record(&q)).collect(),
            smoother: self.egress.smoother_statistics().map(smoother_record),
        })
    }

    /// Checks the engines, and returns the number of frames in the rings for comparison with the
    /// port.
    ///
    /// # Panics
    /// If an engine has lost or duplicated a packet.
    pub(crate) fn invariants(&self, now: Instant) -> usize {
        if let Some(tasks) = &self.tasks {
            tasks.invariants(now);
        }
        match &self.stack {
            None => {}
            Some(StackSide::Queues(queues)) => queues.invariants(),
            Some(StackSide::Instances(instances)) => {
                for engine in instances.engines() {
                    engine.invariants(now);
                }
            }
        }
        self.egress.invariants();
        self.egress.in_rings()
    }
}

fn receive_records(side: &StackSide) -> Vec<ClassRecord> {
    match side {
        StackSide::Queues(queues) => {
            let all = queues.stats().map(|(stats, refused)| {
                let record = class_record(&stats);
                ClassRecord {
                    arrived: record.arrived + refused,
                    dropped: record.dropped + refused,
                    ..record
                }
            });
            all.collect()
        }
        StackSide::Instances(instances) => {
            let mut sums: Vec<ClassRecord> = Vec::new();
            for engine in instances.engines() {
                sums.resize(usize::from(engine.count()), ClassRecord::default());
                for (class, sum) in (0u8..).zip(&mut sums) {
                    sum.merge(&class_record(&engine.stats(class)));
                }
            }
            sums
        }
    }
}

fn class_record(stats: &QueueStats) -> ClassRecord {
    ClassRecord {
        arrived: stats.accepted + stats.dropped,
        left: stats.released,
        dropped: stats.dropped,
        depth_max: stats.depth_max,
        waited_ps: stats.waited_ps,
        promoted: stats.promotions,
        idle_releases: stats.idle_releases,
    }
}

fn smoother_record(statistics: &Statistics) -> SmootherRecord {
    let Statistics { real_time, bulk, .. } = statistics;
    SmootherRecord {
        real_time: real_time.sent_size,
        bulk: bulk.sent_size,
        dropped: real_time.dropped + bulk.dropped,
        signals: statistics.reports,
        bulk_waited_ps: i128::from(bulk.waited.as_ps()),
        bulk_depth_max: u32::try_from(bulk.queued_max).unwrap_or(u32::MAX),
    }
}
