//! The stack of a station with classes: receive queues or stack instances.

use alloc::boxed::Box;
use alloc::vec::Vec;

use rtether_model::endnode::{Receive, ReceiveConfig, ReceiveSelection};
use rtether_model::network::{EndStation, Servers, Stack};
use rtether_model::quantity::{Duration, Instant};
use rtether_model::record::Segment;
use rtether_proto::endnode::{ConfigError, Event, MAX_CLASSES, ReceiveQueues, StackInstances};

use crate::kernel::Simulation;
use crate::observe::Observer;
use crate::packet::OUTBOUND;

/// Queueing discipline of the stack.
pub(super) enum StackSide {
    Queues(Box<Directions>),
    /// One processor for both directions, or one for each, the sending one first.
    Instances(Vec<StackInstances<Job>>),
}

/// A waiting packet, with its class on arrival.
#[derive(Clone, Copy)]
pub(super) struct Waiting {
    pub(super) id: u32,
    class: u8,
}

/// A packet in an instance, with its service time in picoseconds.
#[derive(Clone, Copy)]
pub(super) struct Job {
    pub(super) id: u32,
    cost: i64,
}

/// Direction through a stack.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Way {
    In = 0,
    Out = 1,
}

/// Packets waiting for a stack, in both directions.
pub(super) struct Directions {
    pub(super) inbound: ReceiveQueues<Waiting>,
    pub(super) outbound: ReceiveQueues<Waiting>,
    /// Waiting packets by direction and by class on arrival.
    counts: [[u32; MAX_CLASSES]; 2],
    /// Frames that found the input queue full, by class, which the engine does not count.
    pub(super) input_dropped: [u64; MAX_CLASSES],
    was_outbound: bool,
    /// Limit of waiting packets to be sent.
    limit: u64,
    lost: Vec<u32>,
}

impl StackSide {
    pub(super) fn new(receive: &Receive, station: &EndStation) -> Result<Self, ConfigError> {
        match receive {
            Receive::Queues(config) => {
                // One limit covers all classes; `queue_by_class` enforces it.
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
                engines.collect::<Result<_, _>>().map(Self::Instances)
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
            Self::Instances(engines) => {
                let due = engines.iter().filter_map(StackInstances::poll_timeout);
                due.map(|(due, _)| due).min()
            }
        }
    }
}

impl Directions {
    pub(super) fn waiting(&self) -> u64 {
        self.inbound.waiting() + self.outbound.waiting()
    }

    fn has_room(&self) -> bool {
        self.outbound.waiting() < self.limit
    }

    fn push(&mut self, now: Instant, id: u32, class: u8, way: Way) {
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

    /// Removes and returns the next packet for a server that serves these directions.
    fn select(&mut self, now: Instant, ways: &[Way]) -> Option<u32> {
        let top = |way: Way| {
            let counts = &self.counts[way as usize];
            let top = counts.iter().rposition(|&count| count > 0);
            top.filter(|_| ways.contains(&way))
        };
        let (inbound, outbound) = (top(Way::In), top(Way::Out));
        let is_outbound_first =
            outbound > inbound || (outbound.is_some() && outbound == inbound && !self.was_outbound);
        let order = if is_outbound_first {
            [Way::Out, Way::In]
        } else {
            [Way::In, Way::Out]
        };
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

    /// Stores packets refused by the engines for [`Simulation::lose_refused`].
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

impl Simulation {
    /// Passes a packet of class `class` to the stack, from above or from below.
    pub(super) fn pass_stack<O: Observer>(
        &mut self,
        index: u32,
        id: u32,
        class: u8,
        observer: &mut O,
    ) {
        let is_outbound = self.pool.get(id).has(OUTBOUND);
        let takes_time = self.stations[index as usize].servers > 0;
        match &self.layer(index).stack {
            None => self.enter_stack(index, id, observer),
            Some(StackSide::Queues(_)) if takes_time || !is_outbound => {
                self.queue_by_class(index, id, class, observer);
            }
            Some(StackSide::Instances(_)) if takes_time => {
                self.start_instance(index, id, class, observer);
            }
            Some(_) => self.leave_stack(index, id, observer),
        }
    }

    fn queue_by_class<O: Observer>(&mut self, index: u32, id: u32, class: u8, observer: &mut O) {
        let now = self.now();
        let packet = self.pool.get_mut(id);
        packet.mark = self.now;
        let is_outbound = packet.has(OUTBOUND);
        let stack = &self.stacks[index as usize];
        let (way, server) = if is_outbound {
            (Way::Out, 0)
        } else {
            (Way::In, stack.receiving_server())
        };
        let is_idle = stack.is_idle(server);
        let Some(StackSide::Queues(queues)) = &mut self.layer(index).stack else {
            return;
        };
        if is_outbound && !is_idle && !queues.has_room() {
            self.refuse(index, id, observer);
            return;
        }
        queues.push(now, id, class, way);
        self.lose_refused(index, observer);
        if is_idle {
            self.serve(index, server, observer);
        }
        let Some(StackSide::Queues(queues)) = &self.layer(index).stack else {
            return;
        };
        let waiting = u32::try_from(queues.waiting()).unwrap_or(u32::MAX);
        let stack = &mut self.stacks[index as usize];
        stack.waiting_max = stack.waiting_max.max(waiting);
    }

    /// Gives an idle server its next packet; a stack with zero processing time takes all it can
    /// get.
    fn serve<O: Observer>(&mut self, index: u32, server: u8, observer: &mut O) {
        let takes_time = self.stations[index as usize].servers > 0;
        while let Some(id) = self.select_packet(index, server, observer) {
            if takes_time {
                self.begin_service(index, server, id, observer);
                return;
            }
            let packet = self.pool.get_mut(id);
            let waited = self.now - packet.mark;
            packet.spend(Segment::ReceiveQueue, index, waited);
            self.leave_stack(index, id, observer);
        }
    }

    /// Chooses the next packet for a server; `None` also if the station has no receive queues.
    #[cold]
    pub(crate) fn select_packet<O: Observer>(
        &mut self,
        index: u32,
        server: u8,
        observer: &mut O,
    ) -> Option<u32> {
        let now = self.now();
        let servers = self.stations[index as usize].servers;
        let Some(StackSide::Queues(queues)) = &mut self.layer(index).stack else {
            return None;
        };
        let next = match (servers, server) {
            (2, 0) => queues.select(now, &[Way::Out]),
            (2, _) => queues.select(now, &[Way::In]),
            _ => queues.select(now, &[Way::In, Way::Out]),
        };
        self.lose_refused(index, observer);
        next
    }

    /// Drops the packets that the receive queues refused.
    fn lose_refused<O: Observer>(&mut self, index: u32, observer: &mut O) {
        while let Some(StackSide::Queues(queues)) = &mut self.layer(index).stack
            && let Some(id) = queues.lost.pop()
        {
            self.lose_in_layer(index, id, observer);
        }
    }

    fn start_instance<O: Observer>(&mut self, index: u32, id: u32, class: u8, observer: &mut O) {
        let now = self.now();
        let cost = self.stack_cost(index, id);
        let packet = self.pool.get_mut(id);
        packet.mark = self.now;
        let is_outbound = packet.has(OUTBOUND);
        let Some(StackSide::Instances(engines)) = &mut self.layer(index).stack else {
            return;
        };
        let processor = if is_outbound { 0 } else { engines.len() - 1 };
        let engine = &mut engines[processor];
        engine.handle_frame(now, Job { id, cost }, class, Duration::from_ps(cost));
        let mut is_refused = false;
        while let Some(event) = engine.poll_event() {
            is_refused |= matches!(event, Event::Dropped { .. });
        }
        if is_refused {
            self.lose_in_layer(index, id, observer);
        }
    }

    /// Completes the due packets of stack instances, or asks the receive queues of an idle stack
    /// again.
    pub(super) fn stack_timeout<O: Observer>(&mut self, index: u32, observer: &mut O) {
        let now = self.now();
        let stack = &self.stacks[index as usize];
        let server = stack.receiving_server();
        let is_idle = stack.is_idle(server);
        match &mut self.layer(index).stack {
            None => {}
            Some(StackSide::Queues(queues)) => {
                let due = queues.inbound.poll_timeout();
                if is_idle && due.is_some_and(|(due, _)| due <= now) {
                    queues.inbound.handle_timeout(now);
                    queues.drain();
                    self.lose_refused(index, observer);
                    self.serve(index, server, observer);
                }
            }
            Some(StackSide::Instances(engines)) => {
                for processor in 0..engines.len() {
                    self.complete_instances(index, processor, observer);
                }
            }
        }
    }

    fn complete_instances<O: Observer>(&mut self, index: u32, processor: usize, observer: &mut O) {
        let now = self.now();
        while let Some(StackSide::Instances(engines)) = &mut self.layer(index).stack
            && let Some(Job { id, cost }) = engines[processor].handle_timeout(now)
        {
            if O::ACTIVE {
                let server = u8::try_from(processor).unwrap_or(u8::MAX);
                self.tell_served(index, server, (self.now - cost, self.now), id, observer);
            }
            let packet = self.pool.get_mut(id);
            let spent = self.now - packet.mark;
            if packet.has(OUTBOUND) {
                packet.spend(Segment::TalkerStack, index, spent);
            } else {
                packet.spend(Segment::ReceiveQueue, index, spent - cost);
                packet.spend(Segment::ReceiveStack, index, cost);
            }
            self.leave_stack(index, id, observer);
        }
    }
}
