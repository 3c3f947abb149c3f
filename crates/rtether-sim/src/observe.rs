//! Observers: typed events of a run for traces, per-packet files and fingerprints.
//!
//! The simulator is compiled for its observer; the empty one costs nothing.

use rtether_model::flow::FlowId;
use rtether_model::ingress::Cause;
use rtether_model::network::{NodeId, PortId, Redundancy};
use rtether_model::quantity::{Bytes, Duration, Instant};
use rtether_model::record::Segment;

use rtether_proto::access::Control;

use crate::tcp;

/// Description of a packet at an event.
#[derive(Clone, Copy, Debug)]
pub struct PacketInfo {
    /// Tells copies and packets in transit apart; a packet that has ended leaves its number to a
    /// later one.
    pub id: u32,
    /// Its flow.
    pub flow: FlowId,
    /// Number of the release within the flow, from zero; replies and acknowledgements repeat it. A
    /// segment of a connection for messages has the number of the message its first octet belongs
    /// to.
    pub number: u32,
    /// Travels from listener to talker: a reply or an acknowledgement.
    pub is_reverse: bool,
    /// Sending end station.
    pub source: NodeId,
    /// Receiving end station; `None` for multicast.
    pub destination: Option<NodeId>,
    /// When the talker's application released it.
    pub released_at: Instant,
    /// Octets from addresses to FCS, tag included.
    pub frame_size: Bytes,
    /// Priority and VLAN if the frame is tagged.
    pub tag: Option<(u8, u16)>,
    /// Code point of differentiated services that a switch has given; `None` for the sender's.
    pub dscp: Option<u8>,
    /// TCP header of a bulk flow or of messages over a connection.
    pub tcp: Option<tcp::Segment>,
    /// Which fragment of a datagram it is, if any.
    pub fragment: Option<FragmentInfo>,
    /// For a message of ARP, the station that it is about; a reply is reverse. Its flow is none of
    /// the scenario: there is one for each station behind them.
    pub arp: Option<NodeId>,
    /// A copy for the station behind a mirror port, which is no loss if it ends early.
    pub is_mirrored: bool,
    /// What a station in two networks has appended, until the frame is received.
    pub trailer: Option<Trailer>,
    /// Time spent so far, by [`Segment`]: at [`Observer::transmitted`] up to the first bit on the
    /// wire, at [`Observer::received`] up to the last.
    pub spent: [Duration; Segment::COUNT],
}

/// What a station in two networks appends to a frame, with which receivers recognize copies.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Trailer {
    /// How it is in two networks.
    pub redundancy: Redundancy,
    /// Number of the frame: among those of its station in PRP, of its flow from 1 to 255 in AFDX. The
    /// copy has the same.
    pub sequence: u16,
    /// Whether the copy is in the second network.
    pub is_in_second: bool,
}

/// A fragment of a datagram.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FragmentInfo {
    /// Number of the fragment, from zero.
    pub number: u32,
    /// Number of fragments of the datagram, at least two.
    pub count: u32,
}

/// An RTPS datagram over UDP, or a message about a channel in a frame.
#[derive(Clone, Copy, Debug)]
pub struct Datagram<'a> {
    /// Payload of UDP, or of the frame.
    pub octets: &'a [u8],
    /// Source and destination port.
    pub ports: [u16; 2],
    /// Differentiated services code point.
    pub dscp: u8,
    /// Whether it is discovery over RTPS: of no writer of an application.
    pub is_discovery: bool,
}

/// Work of the stack of an end station on one packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Service {
    /// The end station.
    pub station: NodeId,
    /// Server of the stack; the first sends where there are two.
    pub server: u8,
    /// When it begins.
    pub begin: Instant,
    /// When it ends.
    pub end: Instant,
}

/// A packet that reached its application.
#[derive(Clone, Copy, Debug)]
pub struct Delivery {
    /// Index in [`rtether_model::record::Record::streams`].
    pub stream: usize,
    /// Release to delivery.
    pub latency: Duration,
    /// The part of it between the stacks.
    pub ethernet: Duration,
    /// All parts, by [`Segment`].
    pub segments: [Duration; Segment::COUNT],
    /// The protocol's part of it, by where what the packet waited for was meanwhile.
    pub awaited: [Duration; Segment::COUNT],
    /// If it was answered over TCP or RTPS: from the release until the request was complete, and the
    /// time of the application that answered.
    pub answer: Option<[Duration; 2]>,
    /// Whether it was released after warm-up and counts in the record.
    pub is_counted: bool,
}

/// Why a packet ended before its destination.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum DropReason {
    /// The stack's queue was full.
    StackFull,
    /// The egress port's buffer, or the memory its switch shares, was full.
    BufferFull,
    /// The FCS was wrong, or the working counter of the summation frame that carried it was short.
    FrameError,
    /// Not a member of the VLAN, no port towards the destination, or not addressed to the station.
    Filtered,
    /// A queue of the layer between stack and driver was full, or its smoother refused the packet.
    LayerFull,
    /// The last attempt on a shared medium collided too.
    ExcessiveCollisions,
    /// A collision on a shared medium came after the slot time.
    LateCollision,
    /// The frame overlapped with another one on a shared medium without its sender noticing.
    Garbled,
    /// A rule of a switch stopped it.
    Rule(Cause),
    /// Nobody answered for its address, or too many others were held for it.
    Unresolved,
}

/// Receives the events of a run, in order of time.
pub trait Observer {
    /// An application released a packet, or TCP sent a segment.
    fn released(&mut self, now: Instant, packet: &PacketInfo) {
        let _ = (now, packet);
    }

    /// The RTPS datagram, or the message about a channel, in the frame that leaves a port next.
    fn carries(&mut self, datagram: &Datagram<'_>) {
        let _ = datagram;
    }

    /// The first bit of a frame leaves a port; on a shared medium the last bit, once the frame is
    /// known to have got through.
    fn transmitted(&mut self, now: Instant, port: PortId, packet: &PacketInfo) {
        let _ = (now, port, packet);
    }

    /// The last bit of a control frame of an access scheme has left a port; on its medium it may be
    /// lost.
    fn controlled(&mut self, now: Instant, port: PortId, control: &Control) {
        let _ = (now, port, control);
    }

    /// An intact frame is on a dedicated link to an end station and will be there, whole, at `due`.
    /// Not called on shared media, where a collision may intervene.
    fn landing(&mut self, due: Instant, station: NodeId, packet: &PacketInfo) {
        let _ = (due, station, packet);
    }

    /// The last bit of a frame has arrived at an end station it is addressed to, with the tag it
    /// carried.
    fn received(&mut self, now: Instant, station: NodeId, packet: &PacketInfo) {
        let _ = (now, station, packet);
    }

    /// The stack of an end station has begun with a received packet and will hand it to the
    /// application at `due`, regardless of later packets.
    fn serving(&mut self, due: Instant, station: NodeId, packet: &PacketInfo) {
        let _ = (due, station, packet);
    }

    /// A received packet leaves the last stage of an end station before the application, whether a
    /// sample, a request, an answer or a segment.
    fn reached(&mut self, now: Instant, station: NodeId, packet: &PacketInfo) {
        let _ = (now, station, packet);
    }

    /// A server of the stack of an end station works on a packet, on its way out or in, from `begin`
    /// to `end`. Stack instances that share a processor tell it at the end, as if the packet had
    /// been served last without a pause.
    fn served(&mut self, service: &Service, packet: &PacketInfo) {
        let _ = (service, packet);
    }

    /// One more copy of the packet with the number `original` is in transit. Each copy is received
    /// or dropped.
    fn copied(&mut self, now: Instant, original: u32, packet: &PacketInfo) {
        let _ = (now, original, packet);
    }

    /// A transmission on a shared medium collided; the last bit of the jam has left this port.
    fn collided(&mut self, now: Instant, port: PortId, packet: &PacketInfo) {
        let _ = (now, port, packet);
    }

    /// A packet of a stream was delivered; for round trips, its reply.
    fn delivered(&mut self, now: Instant, packet: &PacketInfo, delivery: &Delivery) {
        let _ = (now, packet, delivery);
    }

    /// A packet ended early, at this node.
    fn dropped(&mut self, now: Instant, node: NodeId, packet: &PacketInfo, reason: DropReason) {
        let _ = (now, node, packet, reason);
    }

    /// Whether the observer is called; `false` lets the compiler leave the calls out.
    const ACTIVE: bool = true;
}

/// Observes nothing.
#[derive(Clone, Copy, Debug, Default)]
pub struct NoObserver;

impl Observer for NoObserver {
    const ACTIVE: bool = false;
}

/// Hash of all events: two runs with the same fingerprint had the same trajectory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Fingerprint(u64);

impl Default for Fingerprint {
    fn default() -> Self {
        Self(0xcbf2_9ce4_8422_2325)
    }
}

impl Fingerprint {
    /// Returns the hash.
    pub const fn value(self) -> u64 {
        self.0
    }

    fn mix(&mut self, word: u64) {
        for byte in word.to_le_bytes() {
            self.0 = (self.0 ^ u64::from(byte)).wrapping_mul(0x0000_0100_0000_01b3);
        }
    }

    fn event(&mut self, kind: u64, now: Instant, place: u64, packet: &PacketInfo) {
        self.mix(kind);
        self.mix(now.as_ps().unsigned_abs());
        self.mix(place);
        self.mix(u64::from(packet.flow.0) << 32 | u64::from(packet.number));
        self.mix(packet.frame_size.get() << 1 | u64::from(packet.is_reverse));
    }
}

/// Returns the number of a reason in fingerprints, which never changes.
const fn code(reason: DropReason) -> u64 {
    match reason {
        DropReason::StackFull => 0,
        DropReason::BufferFull => 1,
        DropReason::FrameError => 2,
        DropReason::Filtered => 3,
        DropReason::LayerFull => 4,
        DropReason::ExcessiveCollisions => 5,
        DropReason::LateCollision => 6,
        DropReason::Garbled => 7,
        DropReason::Rule(Cause::Exceeded) => 8,
        DropReason::Unresolved => 9,
        // Causes that came later.
        DropReason::Rule(cause) => 9 + cause as u64,
    }
}

impl Observer for Fingerprint {
    fn released(&mut self, now: Instant, packet: &PacketInfo) {
        self.event(1, now, u64::from(packet.source.0), packet);
    }

    fn transmitted(&mut self, now: Instant, port: PortId, packet: &PacketInfo) {
        self.event(2, now, u64::from(port.node.0) << 16 | u64::from(port.port), packet);
    }

    fn delivered(&mut self, now: Instant, packet: &PacketInfo, delivery: &Delivery) {
        self.event(3, now, delivery.stream as u64, packet);
    }

    fn dropped(&mut self, now: Instant, node: NodeId, packet: &PacketInfo, reason: DropReason) {
        self.event(4 + code(reason), now, u64::from(node.0), packet);
    }
}

/// Two observers of the same events.
impl<A: Observer, B: Observer> Observer for (A, B) {
    const ACTIVE: bool = A::ACTIVE || B::ACTIVE;

    fn released(&mut self, now: Instant, packet: &PacketInfo) {
        self.0.released(now, packet);
        self.1.released(now, packet);
    }

    fn carries(&mut self, datagram: &Datagram<'_>) {
        self.0.carries(datagram);
        self.1.carries(datagram);
    }

    fn transmitted(&mut self, now: Instant, port: PortId, packet: &PacketInfo) {
        self.0.transmitted(now, port, packet);
        self.1.transmitted(now, port, packet);
    }

    fn landing(&mut self, due: Instant, station: NodeId, packet: &PacketInfo) {
        self.0.landing(due, station, packet);
        self.1.landing(due, station, packet);
    }

    fn received(&mut self, now: Instant, station: NodeId, packet: &PacketInfo) {
        self.0.received(now, station, packet);
        self.1.received(now, station, packet);
    }

    fn serving(&mut self, due: Instant, station: NodeId, packet: &PacketInfo) {
        self.0.serving(due, station, packet);
        self.1.serving(due, station, packet);
    }

    fn reached(&mut self, now: Instant, station: NodeId, packet: &PacketInfo) {
        self.0.reached(now, station, packet);
        self.1.reached(now, station, packet);
    }

    fn served(&mut self, service: &Service, packet: &PacketInfo) {
        self.0.served(service, packet);
        self.1.served(service, packet);
    }

    fn copied(&mut self, now: Instant, original: u32, packet: &PacketInfo) {
        self.0.copied(now, original, packet);
        self.1.copied(now, original, packet);
    }

    fn collided(&mut self, now: Instant, port: PortId, packet: &PacketInfo) {
        self.0.collided(now, port, packet);
        self.1.collided(now, port, packet);
    }

    fn delivered(&mut self, now: Instant, packet: &PacketInfo, delivery: &Delivery) {
        self.0.delivered(now, packet, delivery);
        self.1.delivered(now, packet, delivery);
    }

    fn dropped(&mut self, now: Instant, node: NodeId, packet: &PacketInfo, reason: DropReason) {
        self.0.dropped(now, node, packet, reason);
        self.1.dropped(now, node, packet, reason);
    }
}
