//! End of a run: packets still in transit, and the record.

use alloc::collections::BTreeSet;
use alloc::vec::Vec;

use rtether_model::network::{NodeId, NodeKind, PortId};
use rtether_model::quantity::Duration;
use rtether_model::record::{
    AccessRecord, NodeRecord, PortRecord, Record, Segment, StreamRecord, Tally,
};
use rtether_proto::smoother::State;

use super::Simulation;
use crate::agenda::Agenda;
use crate::packet::{COUNTED, NONE, PLACE_INDEX_BITS, TWIN};
use crate::servers::StackState;
use crate::station::Station;
use crate::switch::SwitchState;

impl Simulation {
    /// Ends the run and returns its record.
    pub fn finish(mut self) -> Record {
        self.settle();
        self.settle_media();
        self.book_overdue();
        let ports = self.port_records();
        let nodes = self.node_records();
        let media = self.shared.iter().map(|shared| {
            shared.record(|number| self.port_id(self.attachments[number as usize].port()))
        });
        let media = media.collect();
        self.count_files();
        for bulk in core::mem::take(&mut self.bulk) {
            let stream = self.flows[bulk.flow() as usize].first_stream();
            self.streams[stream as usize].set_transfers(bulk.finish());
        }
        Record {
            duration: Duration::from_ps(self.now),
            observed: Duration::from_ps(self.now),
            warmup: self.config.warmup,
            bucket: self.config.bucket,
            runs: 1,
            streams: self.stream_records(),
            ports,
            nodes,
            media,
            events: self.events,
        }
    }

    /// Returns what was counted of each stream so far, in the order of the record's streams.
    pub fn tallies(&self) -> Vec<Tally> {
        let released = self.released_by_stream();
        let both = self.streams.iter().zip(released);
        both.map(|(stats, released)| stats.tally(released)).collect()
    }

    /// Returns the state of the smoother of a station now; `None` if it has none.
    pub fn smoother(&self, station: NodeId) -> Option<State> {
        let mut stations = self.stations.iter();
        let layer = stations.find(|own| own.node() == station)?.layer()?;
        self.layers[layer as usize].smoother_state()
    }

    /// Returns the counted releases of the flow of each stream.
    fn released_by_stream(&self) -> impl Iterator<Item = u64> {
        let flows = self.flows.iter();
        flows.flat_map(|flow| flow.listeners().iter().map(|_| flow.counted()))
    }

    fn port_records(&self) -> Vec<PortRecord> {
        let rests = self.port_rests.iter().zip(&self.queues);
        let ports = self.ports.iter().zip(rests);
        let ports = ports.filter(|(port, _)| port.peer() != NONE);
        let mut records = Vec::with_capacity(ports.clone().count());
        records.extend(ports.map(|(port, (rest, queues))| {
            let access = port.attachment().map(|number| self.access(number));
            port.record(rest, queues, access, self.now)
        }));
        records
    }

    /// Turns the state of streams into records. They are the most memory of a large plant: what comes
    /// before them makes room.
    fn stream_records(&mut self) -> Vec<StreamRecord> {
        (self.agenda, self.actions) = (Agenda::new(0, [0, 0]), Vec::new());
        self.queues = Vec::new();
        let states = core::mem::take(&mut self.streams);
        let mut records = Vec::with_capacity(states.len());
        let seed = self.config.seed;
        let both = states.into_iter().zip(self.released_by_stream());
        let finished =
            both.map(|(stats, released)| stats.finish(seed, released, |code| self.place(code)));
        records.extend(finished.map(|stream| self.with_channel(stream)));
        for (stream, samples) in self.publications.samples() {
            records[stream].samples = Some(samples);
        }
        records
    }

    /// Adds what became of the request for a channel.
    fn with_channel(&self, stream: StreamRecord) -> StreamRecord {
        let admission = self.admission.as_ref();
        StreamRecord { channel: admission.and_then(|own| own.channel(stream.flow)), ..stream }
    }

    /// Returns the counters of a port on a shared medium, and how many of its frames the medium
    /// holds.
    fn access(&self, attachment: u32) -> (AccessRecord, u64) {
        let own = self.attachments[attachment as usize];
        let record = self.shared[own.domain() as usize].access(own.station());
        (record, self.held_by_medium(own))
    }

    /// Counts packets in transit for longer than their deadline as missed.
    fn book_overdue(&mut self) {
        let mut overdue = Vec::new();
        let mut known = BTreeSet::new();
        self.for_each_live(|id, place| {
            let packet = self.pool.get(id);
            let flow = &self.flows[packet.flow as usize];
            // Fragmented datagrams are counted from their own list below.
            if packet.has(COUNTED) && flow.fragmented().is_none() {
                let age = self.now - packet.released_at;
                let late = self.streams_towards(id, place).into_iter();
                let late = late.filter(|&stream| age > self.streams[stream].deadline());
                // Of two copies one is enough.
                let is_new = |&stream: &usize| {
                    !packet.has(TWIN)
                        || !self.is_taken(id, stream)
                            && known.insert((self.pool.twins_of(id), stream))
                };
                overdue.extend(late.filter(is_new));
            }
        });
        for conversation in &self.conversations {
            let stream = conversation.stream() as usize;
            let count = conversation.overdue(self.now, self.streams[stream].deadline());
            overdue.extend(core::iter::repeat_n(stream, count));
        }
        self.publications.overdue(
            self.now,
            |stream| self.streams[stream].deadline(),
            |stream, count| overdue.extend(core::iter::repeat_n(stream, count)),
        );
        for own in &self.fragmented {
            overdue.extend(own.overdue(self.now, |stream| self.streams[stream].deadline()));
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
            for id in queues.iter(pool).chain(port.flying(pool)) {
                visit(id, Some(index));
            }
            for id in self.port_rests[index as usize].held(pool) {
                visit(id, Some(pool.get(id).held_for));
            }
        }
        for attachment in &self.attachments {
            if let Some(id) = attachment.frame() {
                visit(id, Some(attachment.port()));
            }
        }
        self.for_each_carried(&mut visit);
        for (index, stack) in (0u32..).zip(&self.stacks) {
            for id in stack.packets(&self.pool) {
                visit(id, self.stack_place(index, id));
            }
        }
        for processor in self.switches.iter().filter_map(SwitchState::processor) {
            for id in processor.packets(&self.pool) {
                visit(id, Some(self.pool.get(id).held_for));
            }
        }
        for (index, station) in (0u32..).zip(&self.stations) {
            if let Some(layer) = station.layer() {
                let layer = &self.layers[layer as usize];
                layer.for_each_packet(|id| visit(id, self.stack_place(index, id)));
            }
        }
        self.for_each_held(|station, id| visit(id, self.stack_place(station, id)));
        for flow in &self.flows {
            for id in flow.pending_answers(&self.pool) {
                visit(id, None);
            }
        }
    }

    /// Returns the counters of all nodes, by number.
    pub(super) fn node_records(&self) -> Vec<NodeRecord> {
        let mut records = Vec::with_capacity(self.network.nodes.len());
        let (mut stations, mut switches) =
            ((0u32..).zip(self.stations.iter().zip(&self.stacks)), self.switches.iter());
        for (node, definition) in self.network.iter_nodes() {
            let mut record = empty(node);
            match definition.kind {
                NodeKind::Switch(_) => {
                    if let Some(switch) = switches.next() {
                        self.count_switch(switch, &mut record);
                    }
                }
                NodeKind::Hub(_) => {}
                NodeKind::EndStation(_) => {
                    if let Some((number, (station, stack))) = stations.next() {
                        self.count_station(station, stack, &mut record);
                        let admission = self.admission.as_ref();
                        record.admission = admission.and_then(|own| own.record(number));
                    }
                }
            }
            records.push(record);
        }
        for shared in &self.shared {
            shared.count_in(&mut records);
        }
        self.count_mechanisms(&mut records);
        self.count_held(&mut records);
        records
    }

    /// Counts packets that wait for the latency of the switch before them.
    fn count_held(&self, records: &mut [NodeRecord]) {
        for (port, rest) in self.ports.iter().zip(&self.port_rests) {
            if port.peer() != NONE {
                let node = self.port_id(port.peer()).node;
                let held = rest.held(&self.pool).count() as u64;
                if held > 0 && self.network.switch(node).is_some() {
                    records[node.index()].in_stack += held;
                }
            }
        }
    }

    fn count_switch(&self, switch: &SwitchState, record: &mut NodeRecord) {
        switch.count_in(record);
        if let Some(processor) = switch.processor() {
            processor.count_in(record, &self.pool, self.now);
        }
    }

    fn count_station(&self, station: &Station, stack: &StackState, record: &mut NodeRecord) {
        station.count_in(record);
        stack.count_in(record, &self.pool, self.now);
        if let Some(layer) = station.layer() {
            self.layers[layer as usize].count_in(record);
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
            Segment::SwitchLatency => PortId::first(self.peer_node(index)),
            Segment::TalkerStack
            | Segment::ReceiveQueue
            | Segment::ReceiveStack
            | Segment::Application
            | Segment::Protocol => PortId::first(self.stations[index as usize].node()),
        };
        (segment, port)
    }
}

/// Returns the record of a node that has done nothing.
fn empty(node: NodeId) -> NodeRecord {
    NodeRecord {
        node,
        released: 0,
        delivered: 0,
        arrived: 0,
        copied: 0,
        filtered: 0,
        discarded: 0,
        policed: 0,
        ingress: Vec::new(),
        stack_dropped: 0,
        in_stack: 0,
        stack_queue_max: 0,
        stack_busy: Duration::ZERO,
        layer_dropped: 0,
        layer: None,
        arp: None,
        admission: None,
    }
}
