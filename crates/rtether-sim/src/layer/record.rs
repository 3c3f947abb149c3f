//! Inspection of a layer: its packets, counters and invariants.

use alloc::vec::Vec;

use rtether_model::quantity::{Duration, Instant};
use rtether_model::record::{ClassRecord, LayerRecord, SmootherRecord};
use rtether_proto::endnode::{QueueStats, StackInstances};
use rtether_proto::smoother::Statistics;

use super::LayerState;
use super::stack::StackSide;
use super::tasks::TaskProcessor;

impl LayerState {
    /// Visits every packet in the tasks, waiting for or in the stack, and between stack and port.
    pub(crate) fn for_each_packet(&self, mut visit: impl FnMut(u32)) {
        let tasks = self.tasks.iter().flat_map(TaskProcessor::packets);
        let sending = self.egress.frames().copied();
        tasks.chain(sending).for_each(&mut visit);
        match &self.stack {
            None => {}
            Some(StackSide::Queues(queues)) => {
                let both = queues.inbound.frames().chain(queues.outbound.frames());
                both.for_each(|waiting| visit(waiting.id));
            }
            Some(StackSide::Instances(engines)) => {
                let jobs = engines.iter().flat_map(StackInstances::frames);
                jobs.for_each(|job| visit(job.id));
            }
        }
    }

    /// Visits the packets, in both directions, whose departure from the station's tasks can no
    /// longer change, with its time; without tasks, those in stack instances.
    pub(crate) fn for_each_certain(&self, mut visit: impl FnMut(u32, Instant)) {
        if let Some(tasks) = &self.tasks {
            tasks
                .certain()
                .into_iter()
                .for_each(|(id, due)| visit(id, due));
        } else if let Some(StackSide::Instances(engines)) = &self.stack {
            let jobs = engines.iter().filter_map(StackInstances::certain);
            jobs.for_each(|(job, due)| visit(job.id, due));
        }
    }

    /// Returns how many packets [`Self::for_each_packet`] visits.
    pub(crate) fn occupancy(&self) -> u64 {
        let mut count = 0;
        self.for_each_packet(|_| count += 1);
        count
    }

    /// Returns the number of packets refused.
    pub(crate) const fn dropped(&self) -> u64 {
        self.dropped
    }

    /// Returns the busy time of stack instances, up to their last completions or interruptions.
    pub(crate) fn instances_busy(&self) -> Duration {
        match &self.stack {
            Some(StackSide::Instances(engines)) => engines.iter().map(StackInstances::busy).sum(),
            Some(StackSide::Queues(_)) | None => Duration::ZERO,
        }
    }

    /// Returns the counters of the layer; `None` if the station has only tasks.
    pub(crate) fn record(&self) -> Option<LayerRecord> {
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
            Some(StackSide::Queues(queues)) => {
                queues.inbound.invariants();
                queues.outbound.invariants();
            }
            Some(StackSide::Instances(engines)) => {
                for engine in engines {
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
            let all = (0..queues.inbound.count()).zip(&queues.input_dropped);
            all.map(|(queue, &refused)| {
                let record = class_record(&queues.inbound.stats(queue));
                ClassRecord {
                    arrived: record.arrived + refused,
                    dropped: record.dropped + refused,
                    ..record
                }
            })
            .collect()
        }
        StackSide::Instances(engines) => {
            let mut sums: Vec<ClassRecord> = Vec::new();
            for engine in engines {
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
    let Statistics {
        real_time, bulk, ..
    } = statistics;
    SmootherRecord {
        real_time: real_time.sent_size,
        bulk: bulk.sent_size,
        dropped: real_time.dropped + bulk.dropped,
        signals: statistics.reports,
        bulk_waited_ps: i128::from(bulk.waited.as_ps()),
        bulk_depth_max: u32::try_from(bulk.queued_max).unwrap_or(u32::MAX),
    }
}
