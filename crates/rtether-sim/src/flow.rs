//! Flows: when they release, what their packets have in common, and the answers to them.
//!
//! **Adaptive requests.** The next request is released once the last one has been answered. The
//! release timer serves two purposes: a request sets it to the time at which it is given up, the
//! last answer sets it to the end of the pause. A later answer counts as delivered and does not move
//! the timer.

use alloc::boxed::Box;
use alloc::vec::Vec;

use rtether_model::flow::{Delivery, Flow};
use rtether_model::quantity::Instant;
use rtether_model::record::Segment;

use crate::agenda::{Agenda, NEVER};
use crate::due::DueQueue;
use crate::packet::{COUNTED, GROUP, NONE, Packet, Pool, REVERSE, TAGGED};
use crate::source::Source;
use crate::thinking::Thinking;

/// A flow as the kernel sees it, in two cache lines.
#[repr(align(64))]
pub(crate) struct FlowState {
    source: Source,
    slot: u32,
    /// Stations.
    talker: u32,
    listeners: Listeners,
    /// The number of its group is that of the flow.
    is_multicast: bool,
    first_stream: u32,
    /// Octets of the untagged frame.
    size: u16,
    answers: Option<Box<Answers>>,
    flags: u8,
    pcp: u8,
    vid: u16,
    /// Releases so far, and those after warm-up.
    number: u32,
    counted: u64,
    carrier: Carrier,
    /// Answers still missing for an adaptive flow to go on; zero for other flows.
    awaited: u32,
    /// How many flows, from this one on, release by its timer; zero if by that of an earlier flow.
    together: u32,
    /// How many of them have released at this time.
    released: u32,
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
    /// Messages about channels.
    Admission,
}

/// Listening stations of a flow; a single one, the usual case, is stored in place.
enum Listeners {
    One(u32),
    Many(Box<[u32]>),
}

impl From<Vec<u32>> for Listeners {
    fn from(listeners: Vec<u32>) -> Self {
        match listeners[..] {
            [listener] => Self::One(listener),
            _ => Self::Many(listeners.into_boxed_slice()),
        }
    }
}

/// Answers of a flow's listeners, and the ones not due yet.
struct Answers {
    /// By listener; of one alone if all take the same time.
    thinking: Box<[Thinking]>,
    /// Octets of the untagged frame.
    size: u16,
    pending: DueQueue,
}

/// Numbers and sizes of a flow under construction.
pub(crate) struct Parts {
    /// Station of the talker, and those of the listeners.
    pub(crate) talker: u32,
    pub(crate) listeners: Vec<u32>,
    pub(crate) first_stream: u32,
    /// Octets of an untagged frame, and of that of an answer.
    pub(crate) size: u16,
    pub(crate) answer: Option<(Vec<Thinking>, u16)>,
    pub(crate) carrier: Carrier,
}

impl FlowState {
    /// Creates a flow that has released nothing; its slots are set later.
    pub(crate) fn new(flow: &Flow, seed: u64, parts: Parts) -> Self {
        let answers = parts.answer.map(|(mut thinking, size)| {
            if thinking.iter().all(|own| *own == thinking[0]) {
                thinking.truncate(1);
            }
            let thinking = thinking.into_boxed_slice();
            Box::new(Answers { thinking, size, pending: DueQueue::default() })
        });
        Self {
            source: Source::new(flow, seed),
            is_multicast: flow.delivery == Delivery::Multicast,
            first_stream: parts.first_stream,
            size: parts.size,
            answers,
            flags: if flow.tag.is_some() { TAGGED } else { 0 },
            pcp: flow.tag.map_or(0, |tag| tag.pcp.get()),
            vid: flow.tag.map_or(0, |tag| tag.vid.get()),
            carrier: parts.carrier,
            ..Self::silent(parts.talker, parts.listeners)
        }
    }

    /// Creates a multicast flow that never releases: frames from outside belong to it.
    pub(crate) fn silent(talker: u32, listeners: Vec<u32>) -> Self {
        Self {
            source: Source::silent(),
            slot: NONE,
            talker,
            listeners: listeners.into(),
            is_multicast: true,
            first_stream: 0,
            size: 0,
            answers: None,
            flags: 0,
            pcp: 0,
            vid: 0,
            number: 0,
            counted: 0,
            carrier: Carrier::Packets,
            awaited: 0,
            together: 0,
            released: 0,
        }
    }

    /// Gives the flow the timer of its releases.
    pub(crate) const fn set_slot(&mut self, slot: u32) {
        self.slot = slot;
    }

    /// Returns whether it releases at the same times as another flow.
    pub(crate) fn releases_as(&self, other: &Self) -> bool {
        self.source.is_in_step_with(&other.source)
    }

    /// Lets its timer stand for this many flows, itself included.
    pub(crate) const fn set_together(&mut self, together: u32) {
        self.together = together;
    }

    /// Returns for how many flows its timer stands.
    #[inline]
    pub(crate) const fn together(&self) -> u32 {
        self.together
    }

    /// Returns how many of these have released at this time, and the timer.
    #[inline]
    pub(crate) const fn progress(&self) -> (u32, u32) {
        (self.released, self.slot)
    }

    /// Notes how many of these have released at this time.
    pub(crate) const fn set_progress(&mut self, released: u32) {
        self.released = released;
    }

    /// Returns whether answers take time, so that they need a timer.
    pub(crate) fn answers_late(&self) -> bool {
        let answers = self.answers.as_ref();
        answers.is_some_and(|own| own.thinking.iter().any(|own| !own.is_nothing()))
    }

    /// Gives the flow the timer of its answers, if it has answers.
    pub(crate) fn set_answer_slot(&mut self, slot: u32) {
        if let Some(answers) = &mut self.answers {
            answers.pending.set_slot(slot);
        }
    }

    /// Returns the station of the talker.
    #[inline]
    pub(crate) const fn talker(&self) -> u32 {
        self.talker
    }

    /// Returns the stations of the listeners.
    #[inline]
    pub(crate) fn listeners(&self) -> &[u32] {
        match &self.listeners {
            Listeners::One(listener) => core::slice::from_ref(listener),
            Listeners::Many(listeners) => listeners,
        }
    }

    /// Returns whether a release is one packet.
    #[inline]
    pub(crate) const fn sends_one(&self) -> bool {
        let is_for_one = self.is_multicast || matches!(self.listeners, Listeners::One(_));
        is_for_one && matches!(self.carrier, Carrier::Packets)
    }

    /// Returns the index of the first listener's stream; those of the others follow.
    #[inline]
    pub(crate) const fn first_stream(&self) -> u32 {
        self.first_stream
    }

    /// Returns the index of a listener's stream.
    pub(crate) fn stream_of(&self, station: u32) -> u32 {
        let mut listeners = self.listeners().iter();
        let position = listeners.position(|&listener| listener == station);
        self.first_stream + u32::try_from(position.unwrap_or(0)).unwrap_or(0)
    }

    /// Returns how the releases are carried.
    #[inline]
    pub(crate) const fn carrier(&self) -> Carrier {
        self.carrier
    }

    /// Lets another carrier take the releases.
    pub(crate) const fn set_carrier(&mut self, carrier: Carrier) {
        self.carrier = carrier;
    }

    /// Returns whether the flow is carried by RTPS participants.
    #[inline]
    pub(crate) const fn is_published(&self) -> bool {
        matches!(self.carrier, Carrier::Publication(_))
    }

    /// Returns whether its packets are segments of TCP.
    pub(crate) const fn is_tcp(&self) -> bool {
        matches!(self.carrier, Carrier::Bulk(_) | Carrier::Conversation(_))
    }

    /// Returns the connection behind one of the flow's streams.
    pub(crate) fn conversation_of(&self, stream: u32) -> Option<u32> {
        let Carrier::Conversation(first) = self.carrier else {
            return None;
        };
        Some(first + (stream - self.first_stream))
    }

    /// Returns the position of its datagrams among the fragmented flows, if they are fragmented.
    #[inline]
    pub(crate) const fn fragmented(&self) -> Option<u32> {
        match self.carrier {
            Carrier::Fragments(position) => Some(position),
            Carrier::Packets
            | Carrier::Bulk(_)
            | Carrier::Conversation(_)
            | Carrier::Publication(_)
            | Carrier::Admission => None,
        }
    }

    /// Returns whether frames are tagged with a VLAN.
    pub(crate) const fn has_vlan(&self) -> bool {
        self.flags & TAGGED != 0 && self.vid != 0
    }

    /// Returns the number of counted releases.
    pub(crate) const fn counted(&self) -> u64 {
        self.counted
    }

    /// Sets the timer for the first release.
    pub(crate) fn start(&mut self, agenda: &mut Agenda) {
        agenda.set(self.slot, self.source.first());
    }

    /// Stops the timer of releases.
    pub(crate) fn rest(&self, agenda: &mut Agenda) {
        agenda.set(self.slot, NEVER);
    }

    /// Sets the timer for a first release at `now`; the grid of a periodic flow begins there.
    pub(crate) fn begin(&mut self, now: i64, agenda: &mut Agenda) {
        agenda.set(self.slot, self.source.begin(now));
    }

    /// Sets the timer for the next release, and returns how many frames the one at `now` has.
    #[inline]
    pub(crate) fn release(&mut self, now: i64, agenda: &mut Agenda) -> u32 {
        agenda.set(self.slot, self.source.next(now));
        self.source.burst()
    }

    /// Counts a release; returns its number, and to how many listeners it is sent one by one.
    #[inline]
    pub(crate) fn begin_release(&mut self, is_counted: bool) -> (u32, usize) {
        let number = self.number;
        self.number = number.wrapping_add(1);
        let copies = if self.is_multicast { 1 } else { self.listeners().len() };
        if is_counted {
            self.counted += 1;
        }
        if self.source.is_adaptive() {
            self.awaited = u32::try_from(self.listeners().len()).unwrap_or(u32::MAX);
        }
        (number, copies)
    }

    /// Creates the packet of a release for listener `copy`; `index` is that of the flow.
    #[inline]
    pub(crate) fn packet(
        &self,
        index: u32,
        copy: usize,
        number: u32,
        now: i64,
        is_counted: bool,
    ) -> Packet {
        let destination = if self.is_multicast { GROUP | index } else { self.listeners()[copy] };
        Packet {
            released_at: now,
            stream: self.first_stream + u32::try_from(copy).unwrap_or(0),
            number,
            size: self.size,
            flags: self.flags | if is_counted { COUNTED } else { 0 },
            ..self.frame(index, self.talker, destination)
        }
    }

    /// Returns what all frames of the flow from one station to another have in common.
    #[inline]
    pub(crate) fn frame(&self, index: u32, source: u32, destination: u32) -> Packet {
        Packet {
            flow: index,
            stream: self.first_stream,
            source,
            destination,
            vid: self.vid,
            pcp: self.pcp,
            flags: self.flags,
            ..Packet::default()
        }
    }

    /// Notes the answer to request `number` of an adaptive flow: after the last one it goes on. A
    /// flow with several listeners waits for all of them.
    #[inline]
    pub(crate) fn note_answer(&mut self, number: u32, now: i64, agenda: &mut Agenda) {
        // `awaited` is zero for flows that are not adaptive; answers to earlier requests do not
        // count.
        if self.awaited == 0 || number != self.number.wrapping_sub(1) {
            return;
        }
        self.awaited -= 1;
        if self.awaited == 0 {
            agenda.set(self.slot, self.source.after_answer(now));
        }
    }

    /// Returns whether listeners answer.
    #[inline]
    pub(crate) const fn is_answered(&self) -> bool {
        self.answers.is_some()
    }

    /// Turns a request that has reached `station` into its answer. Returns whether it is sent at
    /// once; otherwise it waits for its time.
    pub(crate) fn answer(
        &mut self,
        station: u32,
        id: u32,
        now: i64,
        pool: &mut Pool,
        agenda: &mut Agenda,
    ) -> bool {
        // Most answer alike, and are not looked for.
        let is_alike = self.answers.as_ref().is_none_or(|own| own.thinking.len() < 2);
        let mut listeners = self.listeners().iter();
        let place = if is_alike { None } else { listeners.position(|own| *own == station) };
        let Some(answers) = &mut self.answers else {
            return false;
        };
        let thinking = answers.thinking[place.unwrap_or(0)];
        let after = thinking.takes(Instant::from_ps(now)).as_ps();
        let packet = pool.get_mut(id);
        packet.spend(Segment::Application, station, after);
        packet.put(REVERSE, true);
        packet.put(TAGGED, self.flags & TAGGED != 0);
        packet.source = station;
        packet.destination = self.talker;
        packet.size = answers.size;
        packet.pcp = self.pcp;
        packet.vid = self.vid;
        packet.remarked = 0;
        if thinking.is_nothing() {
            return true;
        }
        packet.due = now + after;
        answers.pending.insert(pool, agenda, id);
        false
    }

    /// Removes and returns the answer that is due, and sets the timer for the next one.
    pub(crate) fn take_answer(&mut self, pool: &Pool, agenda: &mut Agenda) -> Option<u32> {
        self.answers.as_mut()?.pending.pop(pool, agenda)
    }

    /// Returns the answers that are not due yet.
    pub(crate) fn pending_answers<'a>(&'a self, pool: &'a Pool) -> impl Iterator<Item = u32> + 'a {
        let answers = self.answers.iter();
        answers.flat_map(|answers| answers.pending.iter(pool))
    }
}
