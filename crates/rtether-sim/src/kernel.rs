//! The simulation: its elements, its event loop, and what happens at each event.
//!
//! An element (a port, a switch, a stack, a connection) owns its state and decides about it; it
//! knows neither other elements nor the simulation. [`Simulation`] composes them, and its fields
//! are visible in this module only: the modules below move packets from element to element, one for
//! each kind of element, with the same name. They call each other's methods, since a packet goes
//! from any of them to any other one.

mod access;
mod admission;
mod build;
mod bulk;
mod classify;
mod conversation;
mod delivery;
mod finish;
mod foreign;
mod fragments;
mod invariants;
mod layer;
mod loss;
mod mechanism;
mod media;
mod mirror;
mod port;
mod publication;
mod router;
mod station;
mod summation;
mod switch;

use alloc::boxed::Box;
use alloc::vec::Vec;

use rtether_model::flow::{Flow, FlowId};
use rtether_model::network::{Network, PortId};
use rtether_model::quantity::{Bytes, Instant};
use rtether_model::route::Routing;

use crate::admission::AdmissionState;
use crate::agenda::Agenda;
use crate::bulk::BulkFlow;
use crate::config::Config;
use crate::conversation::Conversation;
use crate::datagram::Message;
use crate::flow::{Carrier, FlowState};
use crate::fragments::{FragmentedFlow, Reassembly};
use crate::layer::LayerState;
use crate::mechanism::Mechanism;
use crate::observe::{NoObserver, Observer, PacketInfo};
use crate::packet::{ARP, GROUP, MIRRORED, NONE, Packet, Pool, REVERSE, TAGGED};
use crate::port::{Port, PortRest};
use crate::publication::Publications;
use crate::queues::EgressQueues;
use crate::servers::StackState;
use crate::shared::{Attachment, Shared};
use crate::station::Station;
use crate::stats::StreamStats;
use crate::switch::{Forwarding, SwitchState};
use crate::visitor::Visitor;

/// What a timer slot is for. Slots are laid out in this order, which is the order of simultaneous
/// events; those of one kind are ordered by the names of nodes and flows.
///
/// An instant has two phases. First comes all that takes no time: arrivals, ends of services, timers,
/// releases, until nothing is left at this time. Then each layer, and each port with several queues,
/// selects among all frames that the instant has brought. A transmission takes time, so no selection
/// makes a frame arrive in its own instant. Those at media select before the medium moves on: it
/// decides by itself what is simultaneous.
///
/// Frames of one queue keep the order of their events: by the names of the nodes that they come from.
#[derive(Clone, Copy)]
enum Action {
    /// A frame sent by this port arrives at the other end.
    Arrival(u32),
    /// The last bit arrives of a frame that a cut-through switch holds; the port that sent it.
    Stored(u32),
    /// A stack completes a packet: station, server.
    Stack(u32, u8),
    /// A router has decided about a packet: switch.
    Router(u32),
    /// A timer of a station's tasks or layer is due: station.
    Layer(u32),
    /// A mechanism of a station has something to do with what it holds: mechanism.
    Mechanism(u32),
    /// A message about a channel has not been answered, or a flow with one ends.
    Admission,
    /// A listener's application replies: flow.
    Reply(u32),
    /// The sender of a bulk flow wakes up.
    TcpSender(u32),
    /// The receiver of a bulk flow wakes up.
    TcpReceiver(u32),
    /// An end of a connection for messages wakes up: connection, end.
    TcpEnd(u32, u8),
    /// A timer of an RTPS participant is due.
    Party(u32),
    /// A flow releases: flow.
    Release(u32),
    /// Flows that share a timer release, in the same order: place of the first.
    ReleaseTogether(u32),
    /// A layer selects among what has come at this time: station. Those at media come here, all
    /// others after the media.
    Select(u32),
    /// A port with waiting frames becomes free, or selects among those that have come at this time;
    /// likewise.
    Wake(u32),
    /// A transmission on a shared medium starts or ends.
    Medium(u32),
    /// Stations of an access scheme hear something, or one has its turn: domain.
    Access(u32),
}

/// One run of one network.
pub struct Simulation {
    network: Network,
    flow_list: Vec<Flow>,
    routing: Routing,
    config: Config,
    /// Now, in picoseconds.
    now: i64,
    events: u64,
    agenda: Agenda,
    actions: Vec<Action>,
    /// Slot of the event that is handled, while it may bring more frames; [`NONE`] otherwise.
    bringing: u32,
    /// First slots of what selects at media, and of all other selections.
    selects_from: [u32; 2],
    /// Flows in the order of their names.
    release_order: Vec<u32>,
    /// A frame is handed over from outside: more may follow at this time.
    is_injecting: bool,
    pool: Pool,
    ports: Vec<Port>,
    port_rests: Vec<PortRest>,
    queues: Vec<EgressQueues>,
    shared: Vec<Shared>,
    attachments: Vec<Attachment>,
    stations: Vec<Station>,
    stacks: Vec<StackState>,
    /// Only for stations with tasks or a layer.
    layers: Vec<LayerState>,
    /// By station, level and flow.
    mechanisms: Vec<Mechanism>,
    /// If flows ask for channels.
    admission: Option<Box<AdmissionState>>,
    /// How often its manager had divided the deadlines when ports were told.
    divisions: u64,
    switches: Vec<SwitchState>,
    forwarding: Forwarding,
    flows: Vec<FlowState>,
    bulk: Vec<BulkFlow>,
    conversations: Vec<Conversation>,
    publications: Publications,
    fragmented: Vec<FragmentedFlow>,
    /// By station; empty without fragmented flows.
    reassemblies: Vec<Reassembly>,
    streams: Vec<StreamStats>,
    /// First of the groups that stand for broadcasts, which every switch floods: of frames from
    /// outside, or of requests for addresses. Each is that of the flow of a station, too.
    flooded_from: u32,
    /// Frames from outside, by number; empty in a simulation.
    visitors: Vec<Visitor>,
}

impl Simulation {
    /// Returns the time the run has reached.
    pub const fn now(&self) -> Instant {
        Instant::from_ps(self.now)
    }

    /// Returns the number of events so far. Frames that left in order of arrival without an observer
    /// count when their port is next used.
    pub const fn events(&self) -> u64 {
        self.events
    }

    /// Handles all events before `until` and advances the time to `until`, without an observer.
    ///
    /// Not generic, so that it is compiled with this crate and as fast, not with its caller.
    pub fn advance_to(&mut self, until: Instant) {
        self.run_until(until, &mut NoObserver);
    }

    /// Handles all events before `until` and advances the time to `until`.
    pub fn run_until<O: Observer>(&mut self, until: Instant, observer: &mut O) {
        self.run_before(until, 0, observer);
    }

    /// As [`Self::run_until`], and also handles the events at `until` whose slots are below `end`.
    pub(crate) fn run_before<O: Observer>(&mut self, until: Instant, end: u32, observer: &mut O) {
        let until = until.as_ps();
        for shared in &mut self.shared {
            shared.set_observed(O::ACTIVE);
        }
        loop {
            let (time, slot) = self.agenda.first();
            if time >= until && (time > until || slot >= end) {
                break;
            }
            debug_assert!(time >= self.now, "time runs backwards: {time} after {}", self.now);
            self.now = time;
            self.events += 1;
            match self.actions[slot as usize] {
                // One frame on its way, or what has waited: nothing comes after what it hands on.
                Action::Arrival(port) => self.arrive(port, observer),
                Action::Stored(port) => self.forward_stored(port, observer),
                Action::Stack(station, server) => self.complete_service(station, server, observer),
                Action::Router(switch) => self.complete_routing(switch, observer),
                Action::Wake(port) => self.wake_port(port, observer),
                Action::Release(flow) => self.release(flow, slot, observer),
                Action::Layer(station) => {
                    self.bring(slot, |own| own.layer_timeout(station, observer));
                }
                Action::Mechanism(number) => {
                    self.bring(slot, |own| own.wake_mechanism(number, observer));
                }
                Action::Admission => self.bring(slot, |own| own.wake_admission(observer)),
                Action::Reply(flow) => self.bring(slot, |own| own.send_due_answer(flow, observer)),
                Action::TcpSender(bulk) => self.bring(slot, |own| own.wake_sender(bulk, observer)),
                Action::TcpReceiver(bulk) => {
                    self.bring(slot, |own| own.wake_receiver(bulk, observer));
                }
                Action::TcpEnd(index, end) => {
                    self.bring(slot, |own| own.wake_end(index, end, observer));
                }
                Action::Party(party) => self.bring(slot, |own| own.wake_party(party, observer)),
                Action::ReleaseTogether(place) => {
                    self.bring(slot, |own| own.release_together(place, observer));
                }
                Action::Medium(domain) => self.bring(slot, |own| own.wake_medium(domain, observer)),
                Action::Access(domain) => self.bring(slot, |own| own.wake_access(domain, observer)),
                Action::Select(station) => {
                    self.bring(slot, |own| own.select_in_layer(station, observer));
                }
            }
        }
        self.now = self.now.max(until);
    }

    /// Handles an event that may bring several frames.
    #[inline]
    fn bring(&mut self, slot: u32, handle: impl FnOnce(&mut Self)) {
        self.bringing = slot;
        handle(self);
        self.bringing = NONE;
    }

    /// Returns whether more frames may come at this time before ports select, by this event or by
    /// another one.
    #[inline]
    const fn more_may_come(&self) -> bool {
        self.more_comes_before(self.selects_from[1])
    }

    /// As [`Self::more_may_come`], for ports at media.
    const fn more_may_come_to_medium(&self) -> bool {
        self.more_comes_before(self.selects_from[0])
    }

    /// Notes that the event brings nothing after what it now hands on.
    #[inline]
    const fn note_last(&mut self) {
        self.bringing = NONE;
    }

    #[inline]
    const fn more_comes_before(&self, end: u32) -> bool {
        let (time, slot) = self.agenda.first();
        (time <= self.now && slot < end) || self.bringing < end || self.is_injecting
    }

    /// Releases the frames of a flow.
    fn release<O: Observer>(&mut self, index: u32, slot: u32, observer: &mut O) {
        if self.admission.is_some() {
            let mut waits = false;
            self.bring(slot, |own| waits = own.waits_for_channel(index, observer));
            if waits {
                return;
            }
        }
        let flow = &mut self.flows[index as usize];
        let burst = flow.release(self.now, &mut self.agenda);
        if burst == 1 && flow.sends_one() {
            self.release_one(index, observer);
        } else {
            self.release_burst(index, burst, slot, observer);
        }
    }

    /// Not inlined, so that a single packet does not pay for it.
    #[inline(never)]
    fn release_burst<O: Observer>(&mut self, index: u32, burst: u32, slot: u32, observer: &mut O) {
        self.bring(slot, |own| (0..burst).for_each(|_| own.release_one(index, observer)));
    }

    /// Releases the frames of flows with one timer, in their order; `place` is that of the first.
    /// What a frame has caused at this time by an earlier timer comes before the next one, as if each
    /// flow had its own.
    fn release_together<O: Observer>(&mut self, place: u32, observer: &mut O) {
        let first = self.release_order[place as usize] as usize;
        let flow = &self.flows[first];
        let last = flow.together() - 1;
        let (mut released, slot) = flow.progress();
        while released < last {
            let index = self.release_order[(place + released) as usize];
            self.release_one(index, observer);
            released += 1;
            if self.agenda.first().1 != slot {
                self.flows[first].set_progress(released);
                return;
            }
            self.events += 1;
        }
        let flow = &mut self.flows[first];
        flow.set_progress(0);
        flow.release(self.now, &mut self.agenda);
        let index = self.release_order[(place + last) as usize];
        if self.flows[index as usize].sends_one() {
            self.note_last();
        }
        self.release_one(index, observer);
    }

    fn release_one<O: Observer>(&mut self, index: u32, observer: &mut O) {
        let carrier = self.flows[index as usize].carrier();
        if let Carrier::Publication(topic) = carrier
            && !self.publications.is_matched(topic)
        {
            return;
        }
        let is_counted = self.is_counted(self.now);
        let (number, copies) = self.flows[index as usize].begin_release(is_counted);
        match carrier {
            Carrier::Packets | Carrier::Bulk(_) | Carrier::Admission => {}
            Carrier::Publication(topic) => {
                self.publish(topic, number, observer);
                return;
            }
            Carrier::Conversation(first) => {
                let count = u32::try_from(copies).unwrap_or(u32::MAX);
                for index in first..first + count {
                    self.write_message(index, number, observer);
                }
                return;
            }
            Carrier::Fragments(position) => {
                self.release_datagrams(position, (index, number), copies, observer);
                return;
            }
        }
        for copy in 0..copies {
            let packet = self.new_packet(index, copy, number);
            let talker = packet.source;
            let id = self.pool.insert(packet);
            self.send(talker, id, observer);
        }
    }

    /// Creates the packet of a release for listener `copy`.
    #[inline]
    fn new_packet(&self, index: u32, copy: usize, number: u32) -> Packet {
        let is_counted = self.is_counted(self.now);
        self.flows[index as usize].packet(index, copy, number, self.now, is_counted)
    }

    /// Returns whether what is released at this time counts.
    #[inline]
    const fn is_counted(&self, released_at: i64) -> bool {
        released_at >= self.config.warmup.as_ps()
    }

    /// Returns the description of a packet for observers.
    pub(crate) fn info(&self, id: u32) -> PacketInfo {
        let packet = self.pool.get(id);
        let node_of = |station: u32| self.stations[station as usize].node();
        let is_unicast = packet.destination & GROUP == 0;
        let flow = &self.flows[packet.flow as usize];
        let segment = self.pool.segment(id).filter(|_| flow.is_tcp());
        let fragmented = flow.fragmented();
        PacketInfo {
            id,
            spent: packet.spent(),
            flow: FlowId(packet.flow),
            number: packet.number,
            is_reverse: packet.has(REVERSE),
            source: node_of(packet.source),
            destination: is_unicast.then(|| node_of(packet.destination)),
            released_at: Instant::from_ps(packet.released_at),
            frame_size: Bytes::new(packet.frame_size().unsigned_abs()),
            tag: packet.has(TAGGED).then_some((packet.pcp, packet.vid)),
            dscp: packet.given_dscp(),
            tcp: segment.copied(),
            is_mirrored: packet.has(MIRRORED),
            trailer: self.trailer_of(id),
            arp: packet.has(ARP).then(|| node_of(packet.number)),
            fragment: fragmented
                .and_then(|position| self.fragmented[position as usize].info(packet)),
        }
    }

    /// Tells the observer that a frame leaves a port, and what it carries.
    fn tell_transmitted<O: Observer>(&self, port: u32, id: u32, observer: &mut O) {
        if let Some(message) = self.carried(id) {
            observer.carries(&message.datagram());
        }
        observer.transmitted(self.now(), self.port_id(port), &self.info(id));
    }

    /// Returns the datagram of a packet of a flow over RTPS.
    fn message(&self, id: u32) -> Option<&Message> {
        // The slot may still hold the datagram of an earlier packet.
        let flow = &self.flows[self.pool.get(id).flow as usize];
        self.pool.message(id).filter(|_| flow.is_published())
    }

    /// Returns the octets that a packet carries, if they are known.
    fn carried(&self, id: u32) -> Option<&Message> {
        let flow = &self.flows[self.pool.get(id).flow as usize];
        let is_known = flow.is_published() || flow.carrier() == Carrier::Admission;
        self.pool.message(id).filter(|_| is_known)
    }

    /// Returns node and number of a port.
    fn port_id(&self, port: u32) -> PortId {
        self.port_rests[port as usize].id()
    }
}
