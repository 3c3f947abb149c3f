//! End of a run: packets still in transit, and the record.

use alloc::vec::Vec;

use rtether_model::network::{NodeId, NodeKind, PortId};
use rtether_model::quantity::Duration;
use rtether_model::record::{AccessRecord, NodeRecord, Record, Segment};

use crate::conversation::Conversation;
use crate::kernel::{Carrier, Simulation};
use crate::layer::LayerState;
use crate::packet::{COUNTED, NONE, PLACE_INDEX_BITS};
use crate::port::{Owner, Port, PortRest};
use crate::queues::EgressQueues;
use crate::servers::StackState;
use crate::station::Station;
use crate::switch::SwitchState;

impl Simulation {
    /// Ends the run and returns its record.
    pub fn finish(mut self) -> Record {
        self.book_overdue();
        let rests = self.port_rests.iter().zip(&self.queues);
        let ports = self.ports.iter().zip(rests);
        let ports = ports.filter(|(port, _)| port.peer != NONE);
        let ports = ports.map(|(port, (rest, queues))| {
            port.record(rest, queues, self.access(port.attachment), self.now)
        });
        let ports = ports.collect();
        let nodes = self.node_records();
        let media = self.shared.iter().map(|shared| {
            shared.record(|number| self.port_id(self.attachments[number as usize].port))
        });
        let media = media.collect();
        self.count_files();
        let bulk = core::mem::take(&mut self.bulk);
        let transfers: Vec<_> = bulk
            .into_iter()
            .map(|bulk| (bulk.flow, bulk.finish()))
            .collect();
        for (flow, records) in transfers {
            let stream = self.flows[flow as usize].first_stream;
            self.streams[stream as usize].rest.record.transfers = records;
        }
        let streams = core::mem::take(&mut self.streams);
        let seed = self.config.seed;
        let released = self.flows.iter();
        let released = released.flat_map(|flow| flow.listeners.all().iter().map(|_| flow.counted));
        let streams = streams.into_iter().zip(released);
        Record {
            duration: Duration::from_ps(self.now),
            observed: Duration::from_ps(self.now),
            warmup: self.config.warmup,
            bucket: self.config.bucket,
            runs: 1,
            streams: streams
                .map(|(stats, released)| stats.finish(seed, released, |code| self.place(code)))
                .collect(),
            ports,
            nodes,
            media,
            events: self.events,
        }
    }

    /// Returns the counters of a port on a shared medium, and whether the medium holds a frame of
    /// it.
    fn access(&self, attachment: u32) -> Option<(AccessRecord, bool)> {
        let own = self.attachments.get(attachment as usize)?;
        let record = self.shared[own.domain as usize].access(own.station);
        Some((record, own.frame != NONE))
    }

    /// Counts packets in transit for longer than their deadline as missed.
    fn book_overdue(&mut self) {
        let mut overdue = Vec::new();
        self.for_each_live(|id, place| {
            let packet = self.pool.get(id);
            let carrier = self.flows[packet.flow as usize].carrier;
            // Fragmented datagrams are counted from their own list below.
            if packet.has(COUNTED) && !matches!(carrier, Carrier::Fragments(_)) {
                let age = self.now - packet.released_at;
                let late = self.streams_towards(id, place).into_iter();
                overdue.extend(late.filter(|&stream| age > self.streams[stream].deadline));
            }
        });
        for conversation in &self.conversations {
            let stream = conversation.stream();
            let count = conversation.overdue(self.now, self.streams[stream].deadline);
            overdue.extend(core::iter::repeat_n(stream, count));
        }
        self.publications.overdue(
            self.now,
            |stream| self.streams[stream].deadline,
            |stream, count| overdue.extend(core::iter::repeat_n(stream, count)),
        );
        for own in &self.fragmented {
            overdue.extend(own.overdue(self.now, |stream| self.streams[stream].deadline));
        }
        for stream in overdue {
            self.streams[stream].note_missed();
        }
    }

    /// Visits every packet in transit with the port it waits at or left last; `None` inside its
    /// talker or listener.
    fn for_each_live(&self, mut visit: impl FnMut(u32, Option<u32>)) {
        for (index, port) in (0u32..).zip(&self.ports) {
            let pool = &self.pool;
            let queues = &self.queues[index as usize];
            for id in queues.iter(pool).chain(port.flying.iter(pool)) {
                visit(id, Some(index));
            }
            for id in self.port_rests[index as usize].held.iter(pool) {
                visit(id, Some(pool.get(id).held_for));
            }
        }
        for attachment in self.attachments.iter().filter(|own| own.frame != NONE) {
            visit(attachment.frame, Some(attachment.port));
        }
        for (index, stack) in (0u32..).zip(&self.stacks) {
            for server in &stack.server {
                let serving = (server.serving != NONE).then_some(server.serving);
                for id in serving.into_iter().chain(server.queue.iter(&self.pool)) {
                    visit(id, self.stack_place(index, id));
                }
            }
        }
        for (index, station) in (0u32..).zip(&self.stations) {
            if station.layer != NONE {
                let layer = &self.layers[station.layer as usize];
                layer.for_each_packet(|id| visit(id, self.stack_place(index, id)));
            }
        }
        for flow in &self.flows {
            let replies = flow.reply.iter();
            for id in replies.flat_map(|reply| reply.pending.iter(&self.pool)) {
                visit(id, None);
            }
        }
    }

    fn node_records(&self) -> Vec<NodeRecord> {
        let mut records = Vec::new();
        let (mut stations, mut switches) =
            (self.stations.iter().zip(&self.stacks), self.switches.iter());
        for (node, definition) in self.network.iter_nodes() {
            let record = match definition.kind {
                NodeKind::Switch(_) => switches.next().map(|switch| self.switch_record(switch)),
                NodeKind::Hub(_) => self.hub_record(node),
                NodeKind::EndStation(_) => stations
                    .next()
                    .map(|(station, stack)| self.station_record(station, stack)),
            };
            records.push(record.unwrap_or_else(|| empty(node)));
        }
        records
    }

    fn hub_record(&self, node: NodeId) -> Option<NodeRecord> {
        let mut hubs = self.shared.iter().flat_map(|shared| &shared.hubs);
        let hub = hubs.find(|hub| hub.node == node)?;
        Some(NodeRecord {
            arrived: hub.arrived,
            copied: hub.copied,
            filtered: hub.filtered,
            discarded: hub.discarded,
            ..empty(node)
        })
    }

    fn switch_record(&self, switch: &SwitchState) -> NodeRecord {
        let ports = self.ports.iter().zip(&self.port_rests);
        let held = ports
            .filter(|(port, _)| port.peer != NONE && self.port_id(port.peer).node == switch.node)
            .map(|(_, rest)| u64::from(rest.held.len()));
        NodeRecord {
            arrived: switch.arrived,
            copied: switch.copied,
            filtered: switch.filtered,
            discarded: switch.discarded,
            in_stack: held.sum(),
            ..empty(switch.node)
        }
    }

    fn station_record(&self, station: &Station, stack: &StackState) -> NodeRecord {
        let unfinished = stack.server.iter().filter(|server| server.serving != NONE);
        let ahead: i64 = unfinished
            .map(|server| self.pool.get(server.serving).due - self.now)
            .sum();
        let layer = (station.layer != NONE).then(|| &self.layers[station.layer as usize]);
        let instances_busy = layer.map_or(Duration::ZERO, LayerState::instances_busy);
        NodeRecord {
            released: station.released,
            delivered: station.delivered,
            arrived: station.arrived,
            filtered: station.filtered,
            discarded: station.discarded,
            stack_dropped: station.stack_dropped,
            in_stack: stack.occupancy() + layer.map_or(0, LayerState::occupancy),
            stack_queue_max: stack.waiting_max,
            stack_busy: Duration::from_ps(stack.busy - ahead) + instances_busy,
            layer_dropped: layer.map_or(0, LayerState::dropped),
            layer: layer.and_then(LayerState::record),
            ..empty(station.node)
        }
    }

    /// Decodes a place into its segment and port.
    fn place(&self, code: u32) -> (Segment, PortId) {
        let segment = Segment::ALL[(code >> PLACE_INDEX_BITS) as usize % Segment::COUNT];
        let index = code & ((1 << PLACE_INDEX_BITS) - 1);
        let port = match segment {
            Segment::DriverQueue | Segment::MediumAccess | Segment::Wire | Segment::SwitchQueue => {
                self.port_id(index)
            }
            Segment::SwitchLatency => PortId {
                node: self.peer_node(index),
                port: 0,
            },
            Segment::TalkerStack
            | Segment::ReceiveQueue
            | Segment::ReceiveStack
            | Segment::Application => PortId {
                node: self.stations[index as usize].node,
                port: 0,
            },
        };
        (segment, port)
    }

    /// Checks that packets are conserved at every port and node.
    ///
    /// For each port: offered = sent + dropped + queued. For each link: sent = arrived + in
    /// transit. For each station: released + arrived = handed to the port + delivered + filtered +
    /// discarded + dropped + dropped by the layer + in the stack and the layer. For each switch:
    /// arrived + copied = handed to ports + filtered + discarded + held. For each layer: the frames
    /// in its rings are those that its port queues or sends. For each queue of a port: sent and
    /// dropped frames add up to those of the port.
    /// and dropped adds up to what the port did.
    ///
    /// # Panics
    /// If an engine of a layer finds its own books unbalanced.
    pub fn invariants(&self) -> Result<(), &'static str> {
        let ensure = |holds: bool, what| if holds { Ok(()) } else { Err(what) };
        let records = self.node_records();
        let rests = self.port_rests.iter().zip(&self.queues);
        for (port, (rest, queues)) in self.ports.iter().zip(rests) {
            let access = self.access(port.attachment);
            let queued = u64::from(queues.waiting()) + u64::from(access.is_some_and(|a| a.1));
            ensure(
                port.offered == port.sent + rest.dropped + queued,
                "frames at a port",
            )?;
            let is_served = match access {
                None => queues.is_empty() != port.is_wake_set || port.reports_completion,
                Some((_, is_sending)) => queues.is_empty() || is_sending,
            };
            ensure(is_served, "a wake-up for waiting frames")?;
            ensure(queues_add_up(port, rest, queues), "counters of queues")?;
        }
        for record in &records {
            let ports = self.ports.iter().zip(&self.port_rests);
            let own = ports.filter(|(_, rest)| rest.id.node == record.node);
            let offered: u64 = own.map(|(port, _)| port.offered).sum();
            let dropped = record.stack_dropped + record.layer_dropped;
            let left = record.filtered + record.discarded + dropped + record.in_stack;
            let is_balanced = record.released + record.arrived + record.copied
                == offered + record.delivered + left;
            ensure(is_balanced, "packets at a node")?;
            let sent_here = self
                .ports
                .iter()
                .filter(|port| port.peer != NONE && self.port_id(port.peer).node == record.node);
            let landed: u64 = sent_here
                .map(|port| port.sent - u64::from(port.flying.len()))
                .sum();
            ensure(landed == record.arrived, "frames on links")?;
        }
        for shared in &self.shared {
            shared.medium.invariants()?;
        }
        for station in self.stations.iter().filter(|station| station.layer != NONE) {
            let in_rings = self.layers[station.layer as usize].invariants(self.now());
            let Some(port) = self.ports.get(station.port as usize) else {
                continue;
            };
            if port.reports_completion {
                let queued = self.queues[station.port as usize].waiting() as usize;
                let access = self.access(port.attachment);
                let is_sending = access.map_or(port.is_wake_set, |(_, is_sending)| is_sending);
                let sending = usize::from(is_sending);
                ensure(in_rings == queued + sending, "frames in rings")?;
            } else {
                ensure(in_rings == 0, "frames in unused rings")?;
            }
        }
        for (switch, number) in self.switches.iter().zip(0u32..) {
            let own = self
                .ports
                .iter()
                .zip(&self.queues)
                .filter(|(port, _)| port.owner == Owner::Switch(number));
            let backlog: u64 = own.map(|(_, queues)| queues.backlog()).sum();
            ensure(switch.shared_used == backlog, "memory shared by ports")?;
        }
        self.conversations
            .iter()
            .try_for_each(Conversation::invariants)
    }
}

/// Returns whether the frames sent and dropped by the queues add up to those of the port. A port
/// with one queue does not count sent frames there.
fn queues_add_up(port: &Port, rest: &PortRest, queues: &EgressQueues) -> bool {
    let records = queues.records();
    let dropped: u64 = records.iter().map(|queue| queue.dropped).sum();
    let sent: u64 = records.iter().map(|queue| queue.sent).sum();
    dropped == rest.dropped && (port.has_one_queue || sent == port.sent)
}

fn empty(node: NodeId) -> NodeRecord {
    NodeRecord {
        node,
        released: 0,
        delivered: 0,
        arrived: 0,
        copied: 0,
        filtered: 0,
        discarded: 0,
        stack_dropped: 0,
        in_stack: 0,
        stack_queue_max: 0,
        stack_busy: Duration::ZERO,
        layer_dropped: 0,
        layer: None,
    }
}
