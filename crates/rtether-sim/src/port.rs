//! Sending ports and the links behind them.
//!
//! A frame occupies the link for its wire size (preamble and gap included); it has reached the
//! other end when its last bit is there, or its header if the other end is a cut-through switch.
//! The latency of the switch at the other end is added to the flight, so that a hop is one event.

use rtether_model::network::{LinkId, PortId, QueueMap};
use rtether_model::quantity::{Bytes, Duration};
use rtether_model::record::{AccessRecord, PortRecord, Segment};
use rtether_model::wire;

use crate::agenda::{Agenda, NEVER};
use crate::due::DueQueue;
use crate::packet::{CORRUPTED, NONE, Packet, Pool, TAGGED};
use crate::queues::EgressQueues;
use crate::random::{Draw, Purpose, mix};

/// Octets after which a cut-through switch can forward: preamble and header.
const HEADER: i64 = 22;
/// Preamble; preamble and gap.
const PREAMBLE: i64 = 8;
const OVERHEAD: i64 = 20;
const _: () = assert!(
    wire::PREAMBLE.get() == 8 && wire::GAP.get() == 12 && wire::HEADER.get() == 14,
    "the constants above are those of the wire"
);

/// What a port belongs to.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Owner {
    /// A station, by number.
    Station(u32),
    /// A switch, by number.
    Switch(u32),
    /// A hub; its ports originate no frames.
    Hub,
}

impl Owner {
    /// Returns the segment in which a frame waits at a port of this owner.
    pub(crate) const fn waiting_place(self) -> Segment {
        match self {
            Self::Station(_) => Segment::DriverQueue,
            Self::Switch(_) | Self::Hub => Segment::SwitchQueue,
        }
    }
}

/// What an idle port does with a frame.
#[derive(Clone, Copy)]
enum WhenIdle {
    /// It sends it: the order of arrival decides.
    Passes,
    /// It sends the best of those that come at the same time.
    Chooses,
    /// It asks its transmission selection, which may let it wait.
    Asks,
}

impl WhenIdle {
    /// What is handed to a port by a driver that is told of completions has been chosen there, and
    /// the driver knows of each frame at once whether the port has taken it.
    fn of(queues: &EgressQueues, has_driver: bool) -> Self {
        if queues.is_asked_when_idle() {
            Self::Asks
        } else if queues.has_choice() && !has_driver {
            Self::Chooses
        } else {
            Self::Passes
        }
    }
}

/// The state of a sending port and the link behind it that every frame needs. Times in picoseconds.
///
/// In a large plant no state of a port is in a near cache when its next frame comes, so its cost is
/// the number of cache lines: these are two. State that only some frames need is in [`PortRest`]
/// and in the port's [`EgressQueues`].
#[repr(align(64))]
pub(crate) struct Port {
    owner: Owner,
    /// Port at the other end; [`NONE`] without a link in use.
    peer: u32,
    /// Owner of that port.
    peer_owner: Owner,
    line: Line,
    free_at: i64,
    /// When the last bit of the last frame reaches the other end, switch latency included.
    landed_at: i64,
    flying: DueQueue,
    wake_slot: u32,
    /// Number among the ports on shared media, or [`NONE`]. For [`Self::offer`] such a port is
    /// never free: the medium takes its frames.
    attachment: u32,
    /// The port wakes up, for waiting frames or to report a completion.
    is_wake_set: bool,
    when_idle: WhenIdle,
    has_one_queue: bool,
    /// The layer above is told when a frame has been sent; the port wakes up after every frame.
    reports_completion: bool,
    offered: u64,
    sent: u64,
    sent_octets: u64,
}
const _: () = assert!(size_of::<Port>() == 128, "a port is two cache lines");

/// The link behind a port. Times in picoseconds.
#[derive(Clone, Copy, Default)]
pub(crate) struct Line {
    /// Time per octet on the wire.
    pub(crate) octet: i64,
    /// Propagation, and what the network interfaces at both ends add, fixed and per octet.
    pub(crate) flight: i64,
    pub(crate) flight_per_octet: i64,
    /// Latency of the switch at the other end, the least if it varies.
    pub(crate) latency: i64,
    /// The other end is a cut-through switch.
    pub(crate) is_cut_through: bool,
    /// The latency of the switch at the other end varies.
    pub(crate) has_jitter: bool,
    /// [`PortRest`] has more to say: the link has bit errors, the latency varies, or a mirror port
    /// sends copies of what is sent here.
    pub(crate) is_special: bool,
}

/// The state of a port that few frames need.
pub(crate) struct PortRest {
    id: PortId,
    link: LinkId,
    map: QueueMap,
    errors_per_billion: u32,
    errors: Draw,
    /// Largest addition to the latency of the switch at the other end.
    latency_jitter: i64,
    latencies: Draw,
    /// Port that sends copies of what is sent here, or [`NONE`].
    mirror: u32,
    /// Frames from this port that a cut-through switch stores.
    held: DueQueue,
    dropped: u64,
    corrupted: u64,
}

impl Port {
    /// Creates an idle port without a link.
    pub(crate) fn new(owner: Owner, queues: &EgressQueues, reports_completion: bool) -> Self {
        Self {
            owner,
            peer: NONE,
            peer_owner: owner,
            line: Line::default(),
            free_at: 0,
            landed_at: 0,
            flying: DueQueue::default(),
            wake_slot: NONE,
            attachment: NONE,
            is_wake_set: false,
            when_idle: WhenIdle::of(queues, reports_completion),
            has_one_queue: queues.count() == 1,
            reports_completion,
            offered: 0,
            sent: 0,
            sent_octets: 0,
        }
    }

    /// Connects the port to another one.
    pub(crate) const fn connect(&mut self, peer: u32, peer_owner: Owner, line: Line) {
        self.peer = peer;
        self.peer_owner = peer_owner;
        self.line = line;
    }

    /// Attaches the port to a shared medium.
    pub(crate) const fn attach(&mut self, attachment: u32) {
        self.attachment = attachment;
        self.free_at = NEVER;
    }

    /// Gives the link the timer of its arrivals.
    pub(crate) const fn set_arrival_slot(&mut self, slot: u32) {
        self.flying.set_slot(slot);
    }

    /// Gives the port the timer with which it wakes up.
    pub(crate) const fn set_wake_slot(&mut self, slot: u32) {
        self.wake_slot = slot;
    }

    /// Returns what the port belongs to.
    #[inline]
    pub(crate) const fn owner(&self) -> Owner {
        self.owner
    }

    /// Returns the port at the other end; [`NONE`] without a link in use.
    #[inline]
    pub(crate) const fn peer(&self) -> u32 {
        self.peer
    }

    /// Returns what that port belongs to.
    #[inline]
    pub(crate) const fn peer_owner(&self) -> Owner {
        self.peer_owner
    }

    /// Returns its number among the ports on shared media, if it is one.
    #[inline]
    pub(crate) fn attachment(&self) -> Option<u32> {
        (self.attachment != NONE).then_some(self.attachment)
    }

    /// Returns whether it has a single queue.
    #[inline]
    pub(crate) const fn has_one_queue(&self) -> bool {
        self.has_one_queue
    }

    /// Returns whether it selects among frames that come at the same time.
    #[inline]
    pub(crate) const fn has_choice(&self) -> bool {
        matches!(self.when_idle, WhenIdle::Chooses)
    }

    /// Returns whether the other end is a cut-through switch.
    #[inline]
    pub(crate) const fn is_cut_through(&self) -> bool {
        self.line.is_cut_through
    }

    /// Returns whether [`PortRest`] has more to say about a frame that the port sends.
    #[inline]
    pub(crate) const fn is_special(&self) -> bool {
        self.line.is_special
    }

    /// Returns whether the layer above is told when a frame has been sent.
    #[inline]
    pub(crate) const fn reports_completion(&self) -> bool {
        self.reports_completion
    }

    /// Returns whether the link is faster than that of another port.
    pub(crate) const fn is_faster_than(&self, other: &Self) -> bool {
        self.line.octet < other.line.octet
    }

    /// Returns the time from the first bit of the preamble to the last bit of a frame.
    #[inline]
    pub(crate) const fn last_bit(&self, frame_size: i64) -> i64 {
        (frame_size + PREAMBLE) * self.line.octet
    }

    /// Returns how long an untagged frame of `size` octets flies: propagation, and what the
    /// network interfaces add.
    #[inline]
    pub(crate) const fn flight(&self, size: u16) -> i64 {
        self.line.flight + self.line.flight_per_octet * size as i64
    }

    /// Returns when the link is free again.
    #[inline]
    pub(crate) const fn free_at(&self) -> i64 {
        self.free_at
    }

    /// Counts a frame handed to the port, and returns whether it passes by the queues.
    #[inline]
    pub(crate) const fn offer(&mut self, now: i64) -> bool {
        self.offered += 1;
        !self.is_wake_set && now >= self.free_at && !matches!(self.when_idle, WhenIdle::Asks)
    }

    /// Makes the port wake up for the frames that wait.
    #[inline]
    pub(crate) fn wake_for_waiting(&mut self, now: i64, agenda: &mut Agenda) {
        if !self.is_wake_set || (matches!(self.when_idle, WhenIdle::Asks) && self.free_at <= now) {
            self.is_wake_set = true;
            agenda.set(self.wake_slot, self.free_at.max(now));
        }
    }

    /// Makes a port on a shared medium wake up at `time` for the frames that wait, or [`NEVER`].
    pub(crate) fn wake_at(&mut self, time: i64, agenda: &mut Agenda) {
        self.is_wake_set = time != NEVER;
        agenda.set(self.wake_slot, time);
    }

    /// Makes the port wake up when the link is free again, to report the completion.
    pub(crate) fn wake_when_sent(&mut self, agenda: &mut Agenda) {
        self.is_wake_set = true;
        agenda.set(self.wake_slot, self.free_at);
    }

    /// Sets or clears the timer after the port woke up; of frames that wait none may be sent
    /// before `not_before`.
    #[inline]
    pub(crate) fn has_woken(
        &mut self,
        now: i64,
        waits: bool,
        not_before: i64,
        agenda: &mut Agenda,
    ) {
        self.is_wake_set = waits || (self.reports_completion && self.free_at > now);
        let next = if self.is_wake_set { self.free_at.max(not_before) } else { NEVER };
        agenda.set(self.wake_slot, next);
    }

    /// Puts the first bit of a frame on the wire at `now`; `index` is that of the port.
    #[inline]
    pub(crate) const fn send(&mut self, index: u32, packet: &mut Packet, now: i64) {
        let size = packet.frame_size();
        let last_bit = self.last_bit(size);
        packet.tail = 0;
        if self.line.is_cut_through {
            let header = HEADER + if packet.has(TAGGED) { 4 } else { 0 };
            packet.tail = last_bit - header * self.line.octet;
        }
        let on_wire = last_bit + self.flight(packet.size) - packet.tail;
        packet.spend(Segment::Wire, index, on_wire);
        packet.spend(Segment::SwitchLatency, index, self.line.latency);
        packet.due = now + on_wire + self.line.latency;
        self.free_at = now + (size + OVERHEAD) * self.line.octet;
        self.count_sent(size);
    }

    /// Counts a frame that left by a medium, with its last bit at `now`.
    pub(crate) const fn sent_by_medium(&mut self, index: u32, packet: &mut Packet, now: i64) {
        let size = packet.frame_size();
        let waited = now - self.last_bit(size) - packet.mark;
        packet.spend(Segment::MediumAccess, index, waited);
        packet.tail = 0;
        self.count_sent(size);
    }

    /// Counts a frame that a summation frame has taken along.
    pub(crate) const fn carried(&mut self, packet: &mut Packet) {
        packet.tail = 0;
        self.count_sent(packet.frame_size());
    }

    /// Counts frames that a hub has repeated at this port, with their octets without preamble and
    /// gap.
    pub(crate) const fn repeated(&mut self, frames: u64, octets: u64) {
        self.offered += frames;
        self.sent += frames;
        self.sent_octets += octets + frames * OVERHEAD.unsigned_abs();
    }

    #[inline]
    const fn count_sent(&mut self, frame_size: i64) {
        self.sent += 1;
        self.sent_octets += (frame_size + OVERHEAD).unsigned_abs();
    }

    /// Books the latency of the switch behind the link, and returns it.
    pub(crate) const fn book_latency(&self, index: u32, packet: &mut Packet) -> i64 {
        packet.spend(Segment::SwitchLatency, index, self.line.latency);
        self.line.latency
    }

    /// Adds a frame to those in flight. It arrives when it is due, but not before an earlier one:
    /// interface costs per octet could let a short frame overtake a long one, and a latency that
    /// varies any frame.
    #[inline]
    pub(crate) fn launch(&mut self, index: u32, id: u32, pool: &mut Pool, agenda: &mut Agenda) {
        let packet = pool.get_mut(id);
        let held_up = self.landed_at - packet.due;
        if held_up > 0 {
            let segment = if self.line.has_jitter { Segment::SwitchLatency } else { Segment::Wire };
            packet.spend(segment, index, held_up);
            packet.due += held_up;
        }
        self.landed_at = packet.due + packet.tail;
        let due = packet.due;
        self.flying.push(pool, agenda, id, due);
    }

    /// Removes and returns the frame that arrives now.
    #[inline]
    pub(crate) fn land(&mut self, pool: &Pool, agenda: &mut Agenda) -> Option<u32> {
        self.flying.pop(pool, agenda)
    }

    /// Returns the frames in flight.
    pub(crate) fn flying<'a>(&self, pool: &'a Pool) -> impl Iterator<Item = u32> + use<'a> {
        self.flying.iter(pool)
    }

    /// Returns the number of frames handed to the port.
    pub(crate) const fn offered(&self) -> u64 {
        self.offered
    }

    /// Returns the number of frames that have reached the other end.
    pub(crate) fn landed(&self) -> u64 {
        self.sent - u64::from(self.flying.len())
    }

    /// Returns whether the port wakes up, for waiting frames or to report a completion.
    pub(crate) const fn is_wake_set(&self) -> bool {
        self.is_wake_set
    }

    /// Returns the counters at the end of a run.
    ///
    /// `access` is given for a port on a shared medium: its counters, and how many of its frames the
    /// medium holds.
    pub(crate) fn record(
        &self,
        rest: &PortRest,
        queues: &EgressQueues,
        access: Option<(AccessRecord, u64)>,
        now: i64,
    ) -> PortRecord {
        let mut records = queues.records();
        // Frames that wait on the link have not been sent.
        let (frames, octets) = queues.scheduled();
        let on_wire = i64::try_from(octets + frames * OVERHEAD.unsigned_abs()).unwrap_or(i64::MAX);
        let sent_octets = self.sent_octets - on_wire.unsigned_abs();
        let sent = self.sent - frames;
        if let [only] = &mut records[..] {
            only.sent = sent;
        }
        let busy = i64::try_from(sent_octets).unwrap_or(i64::MAX) * self.line.octet;
        let unfinished = if access.is_some() {
            0
        } else {
            (self.free_at - on_wire * self.line.octet - now).max(0)
        };
        PortRecord {
            port: rest.id,
            link: rest.link,
            offered: self.offered,
            sent,
            sent_wire: Bytes::new(sent_octets),
            dropped: rest.dropped,
            queued: u64::from(queues.waiting()) + access.map_or(0, |own| own.1),
            corrupted: rest.corrupted,
            busy: Duration::from_ps(busy - unfinished),
            backlog_max: queues.backlog_max(),
            queues: records,
            access: access.map(|(record, _)| record),
        }
    }

    /// Checks that frames are conserved: offered = sent + dropped + queued, in total and by queue;
    /// and that waiting frames do not wait forever. `held` is given for a port on a shared
    /// medium: how many of its frames the medium holds. `has_turns` if the port follows an access
    /// scheme, where frames may wait for a turn that never comes.
    pub(crate) fn invariants(
        &self,
        rest: &PortRest,
        queues: &EgressQueues,
        held: Option<u64>,
        has_turns: bool,
    ) -> Result<(), &'static str> {
        let queued = u64::from(queues.waiting()) + held.unwrap_or(0);
        let (ahead, _) = queues.scheduled();
        if self.offered + ahead != self.sent + rest.dropped + queued {
            return Err("frames at a port");
        }
        let is_served = match held {
            None => (queued == ahead) != self.is_wake_set || self.reports_completion,
            Some(held) => queues.is_empty() || held > 0 || self.is_wake_set || has_turns,
        };
        if !is_served {
            return Err("a wake-up for waiting frames");
        }
        let records = queues.records();
        let dropped: u64 = records.iter().map(|queue| queue.dropped).sum();
        let sent: u64 = records.iter().map(|queue| queue.sent).sum();
        // A port with one queue does not count sent frames there.
        if dropped == rest.dropped && (self.has_one_queue || sent == self.sent) {
            Ok(())
        } else {
            Err("counters of queues")
        }
    }
}

impl PortRest {
    /// Creates the rest of a port without a link; `map` has its queues.
    pub(crate) fn new(id: PortId, map: QueueMap) -> Self {
        Self {
            id,
            link: LinkId(NONE),
            map,
            errors_per_billion: 0,
            errors: Draw::new(0, "", Purpose::Errors),
            latency_jitter: 0,
            latencies: Draw::new(0, "", Purpose::Latency),
            mirror: NONE,
            held: DueQueue::default(),
            dropped: 0,
            corrupted: 0,
        }
    }

    /// Connects the port to a link.
    pub(crate) const fn connect(&mut self, link: LinkId, errors_per_billion: u32, errors: Draw) {
        self.link = link;
        self.errors_per_billion = errors_per_billion;
        self.errors = errors;
    }

    /// Lets the latency of the switch at the other end vary.
    pub(crate) const fn vary_latency(&mut self, jitter: i64, latencies: Draw) {
        self.latency_jitter = jitter;
        self.latencies = latencies;
    }

    /// Lets another port send copies of what is sent here.
    pub(crate) const fn look_at(&mut self, mirror: u32) {
        self.mirror = mirror;
    }

    /// Returns the port that sends copies of what is sent here, or [`NONE`].
    pub(crate) const fn mirror(&self) -> u32 {
        self.mirror
    }

    /// Returns whether the link has bit errors.
    pub(crate) const fn has_errors(&self) -> bool {
        self.errors_per_billion > 0
    }

    /// Gives the switch at the other end the timer of frames that it stores.
    pub(crate) const fn set_stored_slot(&mut self, slot: u32) {
        self.held.set_slot(slot);
    }

    /// Returns node and number of the port.
    #[inline]
    pub(crate) const fn id(&self) -> PortId {
        self.id
    }

    /// Returns the traffic class of a priority.
    #[inline]
    pub(crate) const fn class_of(&self, pcp: u8) -> u8 {
        self.map.queue_of_value(pcp)
    }

    /// Draws whether a bit error hits a frame on the link.
    pub(crate) fn maybe_corrupt(&mut self, packet: &mut Packet) {
        if self.errors.happens(self.errors_per_billion, 1_000_000_000) {
            packet.put(CORRUPTED, true);
            self.corrupted += 1;
        }
    }

    /// Draws how much longer than the least latency the switch at the other end takes; `index` is
    /// that of the port. With the seed of a frame from outside, the draw depends on the frame alone.
    pub(crate) fn delay_in_switch(&mut self, index: u32, packet: &mut Packet, seed: Option<u64>) {
        if self.latency_jitter == 0 {
            return;
        }
        if let Some(seed) = seed {
            self.latencies = Draw::seeded(mix(&[seed, index.into()]));
        }
        let more = self.latencies.up_to(self.latency_jitter);
        packet.spend(Segment::SwitchLatency, index, more);
        packet.due += more;
    }

    /// Stores a frame in the cut-through switch at the other end until its last bit is there, for
    /// the port `egress`.
    pub(crate) fn hold(
        &mut self,
        id: u32,
        egress: u32,
        now: i64,
        pool: &mut Pool,
        agenda: &mut Agenda,
    ) {
        let packet = pool.get_mut(id);
        let due = now + packet.tail;
        packet.due = due;
        packet.held_for = egress;
        self.held.push(pool, agenda, id, due);
    }

    /// Removes and returns the stored frame whose last bit has arrived.
    pub(crate) fn take_held(&mut self, pool: &Pool, agenda: &mut Agenda) -> Option<u32> {
        self.held.pop(pool, agenda)
    }

    /// Returns the stored frames.
    pub(crate) fn held<'a>(&self, pool: &'a Pool) -> impl Iterator<Item = u32> + use<'a> {
        self.held.iter(pool)
    }

    /// Counts a frame that found no room, or was given up.
    pub(crate) const fn note_dropped(&mut self) {
        self.dropped += 1;
    }

    /// Returns the number of frames dropped.
    pub(crate) const fn dropped(&self) -> u64 {
        self.dropped
    }
}
