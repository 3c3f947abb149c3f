//! The simulation: state, configuration and event loop.

use alloc::boxed::Box;
use alloc::vec::Vec;

use rtether_model::flow::{Flow, FlowId};
use rtether_model::network::{Network, PortId};
use rtether_model::quantity::{Bytes, Duration, Instant};
use rtether_model::route::{RouteError, Routing};
use thiserror::Error;

use crate::agenda::Agenda;
use crate::bulk::BulkFlow;
use crate::conversation::Conversation;
use crate::emulation::Visitor;
use crate::fragments::{FragmentedFlow, Reassembly};
use crate::layer::LayerState;
use crate::observe::{NoObserver, Observer, PacketInfo};
use crate::packet::{COUNTED, Fifo, GROUP, NONE, Packet, Pool, REVERSE, TAGGED};
use crate::port::{Port, PortRest};
use crate::publication::{Message, Publications};
use crate::queues::EgressQueues;
use crate::servers::StackState;
use crate::shared::{Attachment, Shared};
use crate::source::Source;
use crate::station::Station;
use crate::stats::StreamStats;
use crate::switch::{Forwarding, SwitchState};

/// Configuration of a run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Config {
    /// Seed of all random draws.
    pub seed: u64,
    /// Packets released before this time do not count.
    pub warmup: Duration,
    /// Length of the buckets of the time axis; zero for none.
    pub bucket: Duration,
}

/// Why a simulation cannot be built.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum BuildError {
    /// Frames cannot reach a listener, or answers the talker.
    #[error("flow `{flow}` has no route: {reason}")]
    NoRoute {
        /// Name of the flow.
        flow: alloc::string::String,
        /// Why none was found.
        reason: RouteError,
    },
    /// A talker or listener is not an end station.
    #[error("flow `{flow}` starts or ends at a switch")]
    NotAnEndStation {
        /// Name of the flow.
        flow: alloc::string::String,
    },
    /// An octet does not take a whole number of picoseconds on a link.
    #[error("link {link}: at {rate} an octet does not take a whole number of picoseconds")]
    Rate {
        /// Index of the link.
        link: usize,
        /// Its rate.
        rate: rtether_model::quantity::BitRate,
    },
    /// The tasks or the layer of an end station are invalid.
    #[error("end station `{station}`: {reason}")]
    Layer {
        /// Name of the station.
        station: alloc::string::String,
        /// What is wrong.
        reason: alloc::string::String,
    },
    /// A payload does not fit one frame, or a datagram 65 535 octets.
    #[error("a payload of flow `{flow}` does not fit one packet")]
    Payload {
        /// Name of the flow.
        flow: alloc::string::String,
    },
    /// A collision domain cannot be built.
    #[error("the shared medium at `{node}` cannot be built: {reason}")]
    Medium {
        /// Name of a hub, or of a node at a half-duplex link.
        node: alloc::string::String,
        /// What is wrong.
        reason: crate::medium::MediumError,
    },
    /// Joined hubs differ in rate or back-off.
    #[error("hub `{hub}` is linked to a hub with a different rate or back-off")]
    MixedHubs {
        /// Name of the hub.
        hub: alloc::string::String,
    },
    /// A link between hubs has bit errors, which all stations behind it would have to share.
    #[error(
        "the link between hubs `{}` and `{}` has bit errors, which are not modeled between hubs",
        hubs[0],
        hubs[1]
    )]
    ErrorsBetweenHubs {
        /// Names of the hubs.
        hubs: [alloc::string::String; 2],
    },
    /// A cut-through switch on a shared medium.
    #[error("switch `{switch}` is cut-through and attached to a shared medium")]
    CutThroughOnMedium {
        /// Name of the switch.
        switch: alloc::string::String,
    },
    /// Adaptive requests need answers, and the flow has no reply.
    #[error("flow `{flow}` sends adaptive requests but has no reply")]
    NoReply {
        /// Name of the flow.
        flow: alloc::string::String,
    },
    /// A flow would release endlessly at one instant, or its connections cannot work.
    #[error("flow `{flow}` cannot be simulated: {reason}")]
    Traffic {
        /// Name of the flow.
        flow: alloc::string::String,
        /// What is wrong.
        reason: &'static str,
    },
    /// The messages of a flow cannot travel over a TCP connection.
    #[error("flow `{flow}` cannot use a connection: {reason}")]
    Connection {
        /// Name of the flow.
        flow: alloc::string::String,
        /// Why not.
        reason: &'static str,
    },
    /// The samples of a flow cannot be published.
    #[error("flow `{flow}` cannot be published over RTPS: {reason}")]
    Publication {
        /// Name of the flow.
        flow: alloc::string::String,
        /// Why not.
        reason: &'static str,
    },
    /// Too many timers or ports to number.
    #[error("the network is too large")]
    TooLarge,
}

/// What a timer slot is for. Slots are laid out in this order, which is the order of simultaneous
/// events: a port that becomes free chooses last, so that all frames of the same picosecond take
/// part.
///
/// This holds for ports where frames wait. An idle port has no choice: of the frames that reach it
/// in the same picosecond, the one handled first is sent at once, regardless of its priority.
/// Arrivals are handled in the order of the ports that sent them, stacks in the order of stations,
/// releases in the order of flows. A port whose last frame ends in that very picosecond is idle if
/// none waits.
#[derive(Clone, Copy)]
pub(crate) enum Action {
    /// A frame sent by this port arrives at the other end.
    Arrival(u32),
    /// The last bit arrives of a frame that a cut-through switch holds; the port that sent it.
    Stored(u32),
    /// A stack completes a packet: station, server.
    Stack(u32, u8),
    /// A timer of a station's tasks or layer is due: station.
    Layer(u32),
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
    /// A flow releases.
    Release(u32),
    /// A transmission on a shared medium starts or ends.
    Medium(u32),
    /// A port with waiting frames becomes free.
    Wake(u32),
}

/// A flow as the kernel sees it, in two cache lines.
#[repr(align(64))]
pub(crate) struct FlowState {
    pub(crate) source: Source,
    pub(crate) slot: u32,
    /// Stations.
    pub(crate) talker: u32,
    pub(crate) listeners: Listeners,
    /// The number of its group is that of the flow.
    pub(crate) is_multicast: bool,
    pub(crate) first_stream: u32,
    /// Octets of the untagged frame.
    pub(crate) size: u16,
    pub(crate) reply: Option<Box<ReplyState>>,
    pub(crate) flags: u8,
    pub(crate) pcp: u8,
    pub(crate) vid: u16,
    /// Releases so far, and those after warm-up.
    pub(crate) number: u32,
    pub(crate) counted: u64,
    pub(crate) carrier: Carrier,
    /// Answers still missing for an adaptive flow to go on; zero for other flows.
    pub(crate) awaited: u32,
}
const _: () = assert!(size_of::<FlowState>() == 128, "a flow is two cache lines");

/// How the releases of a flow are carried.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Carrier {
    /// One packet each.
    Packets,
    /// Transfers over TCP: index of the bulk flow.
    Bulk(u32),
    /// Connections over TCP: index of the one with the first listener.
    Conversation(u32),
    /// Samples over RTPS: index of the topic.
    Publication(u32),
    /// Fragments of datagrams: index of the fragmented flow.
    Fragments(u32),
}

impl FlowState {
    /// Returns whether the flow is carried by RTPS participants.
    #[inline]
    pub(crate) const fn is_published(&self) -> bool {
        matches!(self.carrier, Carrier::Publication(_))
    }
}

/// Listening stations of a flow; a single one, the usual case, is stored in place.
pub(crate) enum Listeners {
    One(u32),
    Many(Box<[u32]>),
}

impl Listeners {
    pub(crate) fn new(listeners: Vec<u32>) -> Self {
        match listeners[..] {
            [listener] => Self::One(listener),
            _ => Self::Many(listeners.into_boxed_slice()),
        }
    }

    /// Returns all of them.
    #[inline]
    pub(crate) fn all(&self) -> &[u32] {
        match self {
            Self::One(listener) => core::slice::from_ref(listener),
            Self::Many(listeners) => listeners,
        }
    }
}

/// Replies of a flow's listeners, and the ones not due yet.
pub(crate) struct ReplyState {
    pub(crate) after: i64,
    /// Octets of the untagged frame.
    pub(crate) size: u16,
    pub(crate) pending: Fifo,
    pub(crate) slot: u32,
}

impl ReplyState {
    /// Creates the state of a flow with no pending replies; its slot is set later.
    pub(crate) fn new(after: Duration, size: u16) -> Self {
        Self {
            after: after.as_ps(),
            size,
            pending: Fifo::default(),
            slot: NONE,
        }
    }
}

/// One run of one network.
pub struct Simulation {
    pub(crate) network: Network,
    pub(crate) flow_list: Vec<Flow>,
    pub(crate) routing: Routing,
    pub(crate) config: Config,
    /// Now, in picoseconds.
    pub(crate) now: i64,
    pub(crate) events: u64,
    pub(crate) agenda: Agenda,
    pub(crate) actions: Vec<Action>,
    pub(crate) pool: Pool,
    pub(crate) ports: Vec<Port>,
    pub(crate) port_rests: Vec<PortRest>,
    pub(crate) queues: Vec<EgressQueues>,
    pub(crate) shared: Vec<Shared>,
    pub(crate) attachments: Vec<Attachment>,
    pub(crate) stations: Vec<Station>,
    pub(crate) stacks: Vec<StackState>,
    /// Only for stations with tasks or a layer.
    pub(crate) layers: Vec<LayerState>,
    pub(crate) switches: Vec<SwitchState>,
    pub(crate) forwarding: Forwarding,
    pub(crate) flows: Vec<FlowState>,
    pub(crate) bulk: Vec<BulkFlow>,
    pub(crate) conversations: Vec<Conversation>,
    pub(crate) publications: Publications,
    pub(crate) fragmented: Vec<FragmentedFlow>,
    /// By station; empty without fragmented flows.
    pub(crate) reassemblies: Vec<Reassembly>,
    pub(crate) streams: Vec<StreamStats>,
    /// First of the groups that stand for broadcasts, which every switch floods; in a simulation
    /// the first of the discovery groups, one for each RTPS participant.
    pub(crate) broadcasts_from: u32,
    /// Frames from outside, by number; empty in a simulation.
    pub(crate) visitors: Vec<Visitor>,
}

impl Simulation {
    /// Returns the time the run has reached.
    pub const fn now(&self) -> Instant {
        Instant::from_ps(self.now)
    }

    /// Returns the number of events so far.
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
        loop {
            let (time, slot) = self.agenda.first();
            if time >= until && (time > until || slot >= end) {
                break;
            }
            debug_assert!(
                time >= self.now,
                "time runs backwards: {time} after {}",
                self.now
            );
            self.now = time;
            self.events += 1;
            match self.actions[slot as usize] {
                Action::Arrival(port) => self.arrive(port, observer),
                Action::Stored(port) => self.forward_stored(port, observer),
                Action::Stack(station, server) => self.complete_service(station, server, observer),
                Action::Layer(station) => self.layer_timeout(station, observer),
                Action::Reply(flow) => self.send_replies(flow, observer),
                Action::TcpSender(bulk) => self.wake_sender(bulk, observer),
                Action::TcpReceiver(bulk) => self.wake_receiver(bulk, observer),
                Action::TcpEnd(index, end) => self.wake_end(index, end, observer),
                Action::Party(party) => self.wake_party(party, observer),
                Action::Release(flow) => self.release(flow, observer),
                Action::Medium(domain) => self.wake_medium(domain, observer),
                Action::Wake(port) => self.wake_port(port, observer),
            }
        }
        self.now = self.now.max(until);
    }

    /// Releases the frames of a flow.
    fn release<O: Observer>(&mut self, index: u32, observer: &mut O) {
        let flow = &mut self.flows[index as usize];
        let next = flow.source.next(self.now);
        let burst = flow.source.burst();
        self.agenda.set(flow.slot, next);
        for _ in 0..burst {
            self.release_one(index, observer);
        }
    }

    fn release_one<O: Observer>(&mut self, index: u32, observer: &mut O) {
        let carrier = self.flows[index as usize].carrier;
        if let Carrier::Publication(topic) = carrier
            && !self.is_matched(topic)
        {
            return;
        }
        let flow = &mut self.flows[index as usize];
        let number = flow.number;
        flow.number = flow.number.wrapping_add(1);
        let copies = if flow.is_multicast {
            1
        } else {
            flow.listeners.all().len()
        };
        let is_counted = self.now >= self.config.warmup.as_ps();
        if is_counted {
            flow.counted += 1;
        }
        if flow.source.is_adaptive() {
            flow.awaited = u32::try_from(flow.listeners.all().len()).unwrap_or(u32::MAX);
        }
        match carrier {
            Carrier::Packets | Carrier::Bulk(_) => {}
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
            let talker = self.flows[index as usize].talker;
            let id = self.pool.insert(packet);
            self.send(talker, id, observer);
        }
    }

    /// Creates the packet of a release for listener `copy`.
    #[inline]
    pub(crate) fn new_packet(&self, index: u32, copy: usize, number: u32) -> Packet {
        let flow = &self.flows[index as usize];
        let is_counted = self.now >= self.config.warmup.as_ps();
        Packet {
            released_at: self.now,
            flow: index,
            stream: flow.first_stream + u32::try_from(copy).unwrap_or(0),
            number,
            source: flow.talker,
            destination: if flow.is_multicast {
                GROUP | index
            } else {
                flow.listeners.all()[copy]
            },
            size: flow.size,
            vid: flow.vid,
            pcp: flow.pcp,
            flags: flow.flags | if is_counted { COUNTED } else { 0 },
            ..Packet::default()
        }
    }

    /// Returns the description of a packet for observers.
    pub(crate) fn info(&self, id: u32) -> PacketInfo {
        let packet = self.pool.get(id);
        let node_of = |station: u32| self.stations[station as usize].node;
        let is_unicast = packet.destination & GROUP == 0;
        let flow = &self.flows[packet.flow as usize];
        let is_tcp = matches!(flow.carrier, Carrier::Bulk(_) | Carrier::Conversation(_));
        PacketInfo {
            id,
            spent: packet.segments.map(Duration::from_ps),
            flow: FlowId(packet.flow),
            number: packet.number,
            is_reverse: packet.has(REVERSE),
            source: node_of(packet.source),
            destination: is_unicast.then(|| node_of(packet.destination)),
            released_at: Instant::from_ps(packet.released_at),
            frame_size: Bytes::new(packet.frame_size().unsigned_abs()),
            tag: packet.has(TAGGED).then_some((packet.pcp, packet.vid)),
            tcp: if is_tcp {
                self.pool.segment(id).copied()
            } else {
                None
            },
            fragment: match flow.carrier {
                Carrier::Fragments(position) => self.fragment_info(position, packet),
                Carrier::Packets
                | Carrier::Bulk(_)
                | Carrier::Conversation(_)
                | Carrier::Publication(_) => None,
            },
        }
    }

    /// Tells the observer that a frame leaves a port, and what it carries.
    pub(crate) fn tell_transmitted<O: Observer>(&self, port: u32, id: u32, observer: &mut O) {
        if let Some(message) = self.message(id) {
            observer.carries(&message.datagram());
        }
        observer.transmitted(self.now(), self.port_id(port), &self.info(id));
    }

    /// Returns whether any station takes part in RTPS.
    pub(crate) fn has_publications(&self) -> bool {
        !self.publications.parties.is_empty()
    }

    /// Returns the datagram of a packet of a flow over RTPS.
    pub(crate) fn message(&self, id: u32) -> Option<&Message> {
        // The slot may still hold the datagram of an earlier packet.
        let flow = &self.flows[self.pool.get(id).flow as usize];
        self.pool.message(id).filter(|_| flow.is_published())
    }

    /// Returns node and number of a port.
    pub(crate) fn port_id(&self, port: u32) -> PortId {
        self.port_rests[port as usize].id
    }
}
