//! The stack of a station with classes: receive queues or stack instances.

use alloc::boxed::Box;
use alloc::vec::Vec;

use rtether_model::endnode::{Receive, ReceiveConfig, ReceiveSelection};
use rtether_model::network::{EndStation, Servers, Stack};
use rtether_model::quantity::{Duration, Instant};
use rtether_proto::endnode::{
    ConfigError, Event, MAX_CLASSES, QueueStats, ReceiveQueues, StackInstances,
};

/// Queueing discipline of the stack.
pub(crate) enum StackSide {
    Queues(Box<Directions>),
    Instances(Instances),
}

/// Stack instances: one processor for both directions, or one for each, the sending one first.
pub(crate) struct Instances(Vec<StackInstances<Job>>);

/// A waiting packet, with its class on arrival.
#[derive(Clone, Copy)]
struct Waiting {
    id: u32,
    class: u8,
}

/// A packet in an instance, with its service time in picoseconds.
#[derive(Clone, Copy)]
pub(crate) struct Job {
    pub(crate) id: u32,
    pub(crate) cost: i64,
}

/// Direction through a stack.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Way {
    In = 0,
    Out = 1,
}

/// Packets waiting for a stack, in both directions.
pub(crate) struct Directions {
    inbound: ReceiveQueues<Waiting>,
    outbound: ReceiveQueues<Waiting>,
    /// Waiting packets by direction and by class on arrival.
    counts: [[u32; MAX_CLASSES]; 2],
    /// Frames that found the input queue full, by class, which the engine does not count.
    input_dropped: [u64; MAX_CLASSES],
    was_outbound: bool,
    /// Limit of waiting packets to be sent.
    limit: u64,
    lost: Vec<u32>,
}

impl StackSide {
    pub(super) fn new(receive: &Receive, station: &EndStation) -> Result<Self, ConfigError> {
        match receive {
            Receive::Queues(config) => {
                // One limit covers all classes; `has_room` tells whether it is reached.
                let outbound = ReceiveConfig {
                    input_limit: u32::MAX,
                    queue_limits: alloc::vec![u32::MAX; config.queue_limits.len()],
                    selection: ReceiveSelection::HighestFirst,
                };
                Ok(Self::Queues(Box::new(Directions {
                    inbound: ReceiveQueues::new(config)?,
                    outbound: ReceiveQueues::new(&outbound)?,
                    counts: [[0; MAX_CLASSES]; 2],
                    input_dropped: [0; MAX_CLASSES],
                    was_outbound: false,
                    limit: u64::from(station.stack_queue),
                    lost: Vec::new(),
                })))
            }
            Receive::Instances { queue_limits } => {
                let processors = match &station.stack {
                    Stack::Linear(linear) if linear.servers == Servers::PerDirection => 2,
                    Stack::Zero | Stack::IpRate { .. } | Stack::Linear(_) | Stack::Rtos(_) => 1,
                };
                // The packet in service does not wait, but the engine counts it.
                let limits = queue_limits.iter().map(|limit| limit.saturating_add(1));
                let limits: Vec<u32> = limits.collect();
                let engines = (0..processors).map(|_| StackInstances::new(&limits));
                let engines = engines.collect::<Result<_, _>>()?;
                Ok(Self::Instances(Instances(engines)))
            }
        }
    }

    /// Returns when the stack has to be polled without a packet coming or leaving.
    pub(super) fn due(&self, is_receiver_idle: bool) -> Option<Instant> {
        match self {
            Self::Queues(queues) if is_receiver_idle => {
                queues.inbound.poll_timeout().map(|(due, _)| due)
            }
            Self::Queues(_) => None,
            Self::Instances(Instances(engines)) => {
                let due = engines.iter().filter_map(StackInstances::poll_timeout);
                due.map(|(due, _)| due).min()
            }
        }
    }
}

impl Directions {
    /// Returns the number of waiting packets.
    pub(crate) fn waiting(&self) -> u64 {
        self.inbound.waiting() + self.outbound.waiting()
    }

    /// Returns whether another packet to be sent may wait.
    pub(crate) fn has_room(&self) -> bool {
        self.outbound.waiting() < self.limit
    }

    /// Adds a packet of this class. [`Self::refused`] has packets that find no room then.
    pub(crate) fn push(&mut self, now: Instant, id: u32, class: u8, is_outbound: bool) {
        let way = if is_outbound { Way::Out } else { Way::In };
        let class = class.min(self.inbound.count() - 1);
        self.counts[way as usize][usize::from(class)] += 1;
        let waiting = Waiting { id, class };
        match way {
            Way::In => {
                let dropped = self.inbound.input_stats().dropped;
                self.inbound.handle_frame(now, waiting, class);
                let more = self.inbound.input_stats().dropped - dropped;
                self.input_dropped[usize::from(class)] += more;
            }
            Way::Out => self.outbound.handle_frame(now, waiting, class),
        }
        self.drain();
    }

    /// Removes and returns the next packet for a server of `servers`. [`Self::refused`] has packets
    /// that are given up meanwhile.
    pub(crate) fn select(&mut self, now: Instant, servers: u8, server: u8) -> Option<u32> {
        let ways: &[Way] = match (servers, server) {
            (2, 0) => &[Way::Out],
            (2, _) => &[Way::In],
            _ => &[Way::In, Way::Out],
        };
        let top = |way: Way| {
            let counts = &self.counts[way as usize];
            let top = counts.iter().rposition(|&count| count > 0);
            top.filter(|_| ways.contains(&way))
        };
        let (inbound, outbound) = (top(Way::In), top(Way::Out));
        let is_outbound_first =
            outbound > inbound || (outbound.is_some() && outbound == inbound && !self.was_outbound);
        let order = if is_outbound_first { [Way::Out, Way::In] } else { [Way::In, Way::Out] };
        for way in order.into_iter().filter(|way| ways.contains(way)) {
            let engine = match way {
                Way::In => &mut self.inbound,
                Way::Out => &mut self.outbound,
            };
            let next = engine.select(now);
            self.drain();
            if let Some(Waiting { id, class }) = next {
                self.counts[way as usize][usize::from(class)] -= 1;
                self.was_outbound = way == Way::Out;
                return Some(id);
            }
        }
        None
    }

    /// Lets the receive queues do what is due; `true` if there was something.
    pub(crate) fn handle_timeout(&mut self, now: Instant) -> bool {
        let due = self.inbound.poll_timeout();
        let is_due = due.is_some_and(|(due, _)| due <= now);
        if is_due {
            self.inbound.handle_timeout(now);
            self.drain();
        }
        is_due
    }

    /// Removes and returns a packet that the engines refused.
    pub(crate) fn refused(&mut self) -> Option<u32> {
        self.lost.pop()
    }

    /// Returns the waiting packets.
    pub(super) fn packets(&self) -> impl Iterator<Item = u32> {
        let both = self.inbound.frames().chain(self.outbound.frames());
        both.map(|waiting| waiting.id)
    }

    /// Returns the counters of the received frames by class, and of each the number that found the
    /// input queue full.
    pub(super) fn stats(&self) -> impl Iterator<Item = (QueueStats, u64)> {
        let all = (0..self.inbound.count()).zip(&self.input_dropped);
        all.map(|(queue, &refused)| (self.inbound.stats(queue), refused))
    }

    /// Checks the engines.
    pub(super) fn invariants(&self) {
        self.inbound.invariants();
        self.outbound.invariants();
    }

    /// Stores packets refused by the engines for [`Self::refused`].
    fn drain(&mut self) {
        let ways = [(&mut self.inbound, Way::In), (&mut self.outbound, Way::Out)];
        for (engine, way) in ways {
            while let Some(event) = engine.poll_event() {
                if let Event::Dropped { frame, .. } = event {
                    self.counts[way as usize][usize::from(frame.class)] -= 1;
                    self.lost.push(frame.id);
                }
            }
        }
    }
}

impl Instances {
    /// Returns the number of processors.
    pub(crate) fn processors(&self) -> usize {
        self.0.len()
    }

    /// Starts an instance for a packet of this class; `false` if it is refused.
    pub(crate) fn start(&mut self, now: Instant, job: Job, class: u8, is_outbound: bool) -> bool {
        let processor = if is_outbound { 0 } else { self.0.len() - 1 };
        let engine = &mut self.0[processor];
        engine.handle_frame(now, job, class, Duration::from_ps(job.cost));
        let mut is_refused = false;
        while let Some(event) = engine.poll_event() {
            is_refused |= matches!(event, Event::Dropped { .. });
        }
        !is_refused
    }

    /// Returns a packet that a processor has completed.
    pub(crate) fn complete(&mut self, now: Instant, processor: usize) -> Option<Job> {
        self.0[processor].handle_timeout(now)
    }

    /// Returns the engines, one for each processor.
    pub(super) fn engines(&self) -> &[StackInstances<Job>] {
        &self.0
    }
}
