//! Packets in transit: records without bytes, in one pool, chained into queues by index.

use alloc::vec::Vec;

use rtether_model::quantity::{Bytes, Duration};
use rtether_model::record::Segment;

use crate::cause::Cause;
use crate::datagram::Message;
use crate::tcp;
use crate::twins::Twins;

/// No packet.
pub(crate) const NONE: u32 = u32::MAX;
/// Added to a group number to tell it from a station number.
pub(crate) const GROUP: u32 = 1 << 31;
/// First of the groups by which RTPS participants find each other. It is far above the numbers of
/// flows, and so above the groups that stand for broadcasts: a switch must not take one for the other.
pub(crate) const DISCOVERY_FROM: u32 = 1 << 30;

/// The frame carries an IEEE 802.1Q tag.
pub(crate) const TAGGED: u8 = 1;
/// From listener to talker: a reply or an acknowledgement.
pub(crate) const REVERSE: u8 = 1 << 1;
/// Hit by a bit error.
pub(crate) const CORRUPTED: u8 = 1 << 2;
/// Released after warm-up, so it counts.
pub(crate) const COUNTED: u8 = 1 << 3;
/// In its station's stack on the way out.
pub(crate) const OUTBOUND: u8 = 1 << 4;
/// A copy for the station behind a mirror port.
pub(crate) const MIRRORED: u8 = 1 << 5;
/// A request or, with [`REVERSE`], a reply of ARP; its number is the station that it is about.
pub(crate) const ARP: u8 = 1 << 6;
/// Sent by a station in two networks, with its trailer.
pub(crate) const TWIN: u8 = 1 << 7;

/// A switch has given the packet a code point of differentiated services.
const REMARKED: u8 = 1 << 7;

/// One packet, from release to delivery. Times in picoseconds.
#[derive(Clone, Copy, Default)]
pub(crate) struct Packet {
    /// When the talker's application released it.
    pub(crate) released_at: i64,
    /// When it began to wait where it is.
    pub(crate) mark: i64,
    /// When its current step ends: arrival, or completion of service.
    pub(crate) due: i64,
    /// Time spent so far, by [`Segment`].
    pub(crate) segments: [i64; Segment::OF_PACKETS],
    /// Largest single contribution so far, and where.
    pub(crate) worst: i64,
    pub(crate) worst_place: u32,
    /// Next packet in the same queue.
    pub(crate) next: u32,
    pub(crate) flow: u32,
    /// Index of its stream; for multicast that of the first listener.
    pub(crate) stream: u32,
    /// Number of the release within its flow.
    pub(crate) number: u32,
    /// Sending station.
    pub(crate) source: u32,
    /// Receiving station, or [`GROUP`] plus a group.
    pub(crate) destination: u32,
    /// Egress port for which a cut-through switch stores the frame; in a router, the port that sent
    /// it there.
    pub(crate) held_for: u32,
    /// Time from arrival to the last bit if a cut-through switch is next, else zero.
    pub(crate) tail: i64,
    /// Octets from addresses to FCS, without tag.
    pub(crate) size: u16,
    pub(crate) vid: u16,
    pub(crate) pcp: u8,
    pub(crate) flags: u8,
    /// Number of the fragment in its datagram, if its flow is fragmented.
    pub(crate) fragment: u8,
    /// [`REMARKED`] and the code point that a switch has given; zero if none has.
    pub(crate) remarked: u8,
}
const _: () = assert!(size_of::<Packet>() == 152, "a packet has room for its parts");

impl Packet {
    /// Returns whether a flag is set.
    #[inline]
    pub(crate) const fn has(&self, flag: u8) -> bool {
        self.flags & flag != 0
    }

    /// Sets or clears a flag.
    #[inline]
    pub(crate) const fn put(&mut self, flag: u8, on: bool) {
        self.flags = if on { self.flags | flag } else { self.flags & !flag };
    }

    /// Returns the code point that a switch has given, if any.
    pub(crate) fn given_dscp(&self) -> Option<u8> {
        let is_given = self.remarked & REMARKED != 0;
        is_given.then_some(self.remarked & !REMARKED)
    }

    /// Gives it a code point of differentiated services.
    pub(crate) const fn remark(&mut self, dscp: u8) {
        self.remarked = REMARKED | dscp;
    }

    /// Returns octets from addresses to FCS, tag included.
    #[inline]
    pub(crate) const fn frame_size(&self) -> i64 {
        self.size as i64 + if self.has(TAGGED) { 4 } else { 0 }
    }

    /// Returns the time spent so far, by segment.
    pub(crate) fn spent(&self) -> [Duration; Segment::COUNT] {
        let part = |index: usize| self.segments.get(index).copied().unwrap_or(0);
        core::array::from_fn(|index| Duration::from_ps(part(index)))
    }

    /// Books time spent at a place: `index` is a port or a station.
    #[inline]
    pub(crate) const fn spend(&mut self, segment: Segment, index: u32, time: i64) {
        self.segments[segment.index()] += time;
        if time > self.worst {
            self.worst = time;
            self.worst_place = place_code(segment, index);
        }
    }
}

/// Returns a frame size as packets store it; `None` if it does not fit.
pub(crate) fn frame_octets(size: Bytes) -> Option<u16> {
    u16::try_from(size.get()).ok()
}

/// Bits of a place code that hold the index of a port or station.
pub(crate) const PLACE_INDEX_BITS: u32 = 28;

pub(crate) const fn place_code(segment: Segment, index: u32) -> u32 {
    ((segment as u32) << PLACE_INDEX_BITS) | index
}

/// All packets of a run.
#[derive(Default)]
pub(crate) struct Pool {
    packets: Vec<Packet>,
    /// TCP header of each packet; shorter than `packets` until TCP is used.
    segments: Vec<tcp::Segment>,
    /// Why each packet was sent; shorter than `packets` until messages travel over TCP.
    causes: Vec<Cause>,
    /// Datagram in each packet; shorter than `packets` until RTPS is used.
    messages: Vec<Option<Message>>,
    /// Frame of which each packet is a copy, and whether it is in the second network; shorter than
    /// `packets` until a station is in two.
    twin: Vec<(u32, bool)>,
    twins: Twins,
    free: Fifo,
}

impl Pool {
    /// Adds a packet and returns its index.
    #[inline]
    pub(crate) fn insert(&mut self, packet: Packet) -> u32 {
        let mut free = self.free;
        if let Some(id) = free.pop(self) {
            self.free = free;
            self.packets[id as usize] = packet;
            return id;
        }
        let id = u32::try_from(self.packets.len()).unwrap_or(NONE);
        assert!(id != NONE, "too many packets in transit");
        self.packets.push(packet);
        id
    }

    /// Frees the packet's place.
    #[inline]
    pub(crate) fn remove(&mut self, id: u32) {
        debug_assert!(!self.get(id).has(TWIN), "the others of its frame are not told");
        let mut free = self.free;
        free.push(self, id);
        self.free = free;
    }

    /// Copies a packet with its TCP header or its datagram.
    pub(crate) fn duplicate(&mut self, id: u32) -> u32 {
        let copy = self.insert(self.packets[id as usize]);
        if let Some(&segment) = self.segments.get(id as usize) {
            self.set_segment(copy, segment);
        }
        if let Some(&cause) = self.causes.get(id as usize) {
            self.set_cause(copy, cause);
        }
        if let Some(message) = self.message(id).cloned() {
            self.set_message(copy, message);
        }
        if self.get(id).has(TWIN) {
            let twin = self.twin[id as usize];
            self.twins.copy(twin.0);
            self.set_twin(copy, twin);
        }
        copy
    }

    /// Returns the packet.
    #[inline]
    pub(crate) fn get(&self, id: u32) -> &Packet {
        &self.packets[id as usize]
    }

    /// Returns the packet, mutable.
    #[inline]
    pub(crate) fn get_mut(&mut self, id: u32) -> &mut Packet {
        &mut self.packets[id as usize]
    }

    /// Returns the TCP header of a packet of a flow over TCP.
    pub(crate) fn segment(&self, id: u32) -> Option<&tcp::Segment> {
        self.segments.get(id as usize)
    }

    /// Returns why a packet of a message over TCP was sent.
    pub(crate) fn cause(&self, id: u32) -> Cause {
        self.causes.get(id as usize).copied().unwrap_or_default()
    }

    /// Tells why a packet is sent.
    pub(crate) fn set_cause(&mut self, id: u32, cause: Cause) {
        let needed = id as usize + 1;
        if self.causes.len() < needed {
            self.causes.resize(needed, Cause::default());
        }
        self.causes[id as usize] = cause;
    }

    /// Attaches a TCP header.
    pub(crate) fn set_segment(&mut self, id: u32, segment: tcp::Segment) {
        let needed = id as usize + 1;
        if self.segments.len() < needed {
            self.segments.resize(needed, tcp::Segment::default());
        }
        self.segments[id as usize] = segment;
    }
}

impl Pool {
    /// Makes a packet the first copy of a frame of a station in two networks.
    pub(crate) fn join_twins(&mut self, id: u32, sequence: u16) {
        let number = self.twins.add(sequence);
        self.set_twin(id, (number, false));
        self.get_mut(id).put(TWIN, true);
    }

    /// Puts a copy into the second network.
    pub(crate) fn put_into_second(&mut self, id: u32) {
        self.twin[id as usize].1 = true;
    }

    /// Returns whether a copy is in the second network.
    pub(crate) fn is_in_second(&self, id: u32) -> bool {
        self.twin[id as usize].1
    }

    /// Makes a packet that may be a copy one of its own.
    pub(crate) fn part_from_twins(&mut self, id: u32) {
        if !self.get(id).has(TWIN) {
            return;
        }
        let number = self.twins_of(id);
        self.twins.end(number);
        self.get_mut(id).put(TWIN, false);
    }

    fn set_twin(&mut self, id: u32, twin: (u32, bool)) {
        let needed = id as usize + 1;
        if self.twin.len() < needed {
            self.twin.resize(needed, (NONE, false));
        }
        self.twin[id as usize] = twin;
    }

    /// Returns the frame of which a packet is a copy.
    pub(crate) fn twins_of(&self, id: u32) -> u32 {
        self.twin[id as usize].0
    }

    /// Returns the frames of which several copies may be in transit.
    pub(crate) const fn twins(&self) -> &Twins {
        &self.twins
    }

    /// Returns them, mutable.
    pub(crate) const fn twins_mut(&mut self) -> &mut Twins {
        &mut self.twins
    }
}

impl Pool {
    /// Returns the datagram of a packet of a flow over RTPS.
    pub(crate) fn message(&self, id: u32) -> Option<&Message> {
        self.messages.get(id as usize)?.as_ref()
    }

    /// Attaches a datagram.
    pub(crate) fn set_message(&mut self, id: u32, message: Message) {
        let needed = id as usize + 1;
        if self.messages.len() < needed {
            self.messages.resize(needed, None);
        }
        self.messages[id as usize] = Some(message);
    }

    /// Takes the datagram out of a packet.
    pub(crate) fn take_message(&mut self, id: u32) -> Option<Message> {
        self.messages.get_mut(id as usize)?.take()
    }
}

/// A first-in, first-out queue of packets of one pool.
#[derive(Clone, Copy)]
pub(crate) struct Fifo {
    head: u32,
    tail: u32,
    len: u32,
}

impl Default for Fifo {
    fn default() -> Self {
        Self { head: NONE, tail: NONE, len: 0 }
    }
}

impl Fifo {
    /// Appends a packet.
    #[inline]
    pub(crate) fn push(&mut self, pool: &mut Pool, id: u32) {
        pool.get_mut(id).next = NONE;
        if self.len == 0 {
            self.head = id;
        } else {
            pool.get_mut(self.tail).next = id;
        }
        self.tail = id;
        self.len += 1;
    }

    /// Puts a packet before the first whose key is larger than `own`, else at the end.
    pub(crate) fn insert(
        &mut self,
        pool: &mut Pool,
        id: u32,
        own: i64,
        key: impl Fn(&Packet) -> i64,
    ) {
        let mut before = None;
        for other in self.iter(pool) {
            if key(pool.get(other)) > own {
                break;
            }
            before = Some(other);
        }
        match before {
            Some(last) if last == self.tail => self.push(pool, id),
            Some(before) => {
                let after = pool.get(before).next;
                pool.get_mut(id).next = after;
                pool.get_mut(before).next = id;
                self.len += 1;
            }
            None if self.len == 0 => self.push(pool, id),
            None => {
                pool.get_mut(id).next = self.head;
                self.head = id;
                self.len += 1;
            }
        }
    }

    /// Takes the oldest packet.
    #[inline]
    pub(crate) fn pop(&mut self, pool: &Pool) -> Option<u32> {
        if self.len == 0 {
            return None;
        }
        let id = self.head;
        self.head = pool.get(id).next;
        self.len -= 1;
        Some(id)
    }

    /// Returns the youngest packet.
    #[inline]
    pub(crate) fn tail(&self) -> Option<u32> {
        (self.len > 0).then_some(self.tail)
    }

    /// Returns the oldest packet.
    #[inline]
    pub(crate) fn head(&self) -> Option<u32> {
        (self.len > 0).then_some(self.head)
    }

    /// Returns the number of packets.
    #[inline]
    pub(crate) const fn len(&self) -> u32 {
        self.len
    }

    /// Returns all packets, oldest first.
    pub(crate) fn iter<'a>(&self, pool: &'a Pool) -> impl Iterator<Item = u32> + use<'a> {
        let first = self.head();
        core::iter::successors(first, |&id| Some(pool.get(id).next)).take(self.len as usize)
    }
}

/// What is kept of a packet.
#[derive(Clone, Copy)]
pub(crate) struct Way {
    pub(crate) begin: i64,
    pub(crate) segments: [i64; Segment::OF_PACKETS],
    pub(crate) worst: i64,
    pub(crate) worst_place: u32,
}

impl Way {
    pub(crate) const fn of(packet: &Packet) -> Self {
        Self {
            begin: packet.released_at,
            segments: packet.segments,
            worst: packet.worst,
            worst_place: packet.worst_place,
        }
    }
}
