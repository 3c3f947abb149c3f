//! UDP datagrams above one frame: IP fragments them, and the receiving stack reassembles them (RFC
//! 791, 2.3 and 3.2).
//!
//! Each fragment is a packet of its own to stacks, queues, links and switches. Application tasks
//! see the whole datagram: it is cut below the sending task, and reassembled before the receiving
//! one. All fragments of a datagram have its release time, so that the parts of the one that
//! completes it add up to the latency of the datagram.
//!
//! **Loss.** A lost fragment loses its datagram, which counts once. Fragments already received stay
//! with the receiver for [`TIMEOUT`]; a station has [`MEMORY`] for the fragments of all datagrams
//! and refuses further ones unless they complete a datagram.

use alloc::collections::BTreeMap;
use alloc::vec::Vec;

use rtether_model::flow::Flow;
use rtether_model::quantity::{Bytes, Duration};
use rtether_model::wire::Frames;

use crate::kernel::{Carrier, Simulation};
use crate::observe::{FragmentInfo, Observer};
use crate::packet::{COUNTED, GROUP, Packet, REVERSE};
use crate::station::frame_octets;

/// Value of [`Packet::fragment`] for a whole datagram, before cutting or after reassembly.
pub(crate) const WHOLE: u8 = u8::MAX;
/// How long fragments wait for the rest: `ipfrag_time` of Linux.
const TIMEOUT: Duration = Duration::from_secs(30);
/// Octets of frames waiting for reassembly in one station: `ipfrag_high_thresh` of Linux.
const MEMORY: u64 = 4 << 20;

/// The datagrams of one flow.
pub(crate) struct FragmentedFlow {
    /// Frames of a datagram, and of an answer.
    frames: [Frames; 2],
    /// Counted datagrams in transit, by stream and number: at least one fragment of each is in the
    /// network, or its answer is pending.
    under_way: BTreeMap<(u32, u32), UnderWay>,
}

/// A datagram, or the answer to it, in transit to one end.
struct UnderWay {
    released_at: i64,
    is_answer: bool,
    is_lost: bool,
    /// Number of fragments received or lost.
    ended: u32,
}

/// Key of a datagram: flow, sender, direction, number.
type Key = (u32, u32, bool, u32);

/// Datagrams partially received by a station.
#[derive(Default)]
pub(crate) struct Reassembly {
    held: u64,
    begun: u64,
    /// In the order of their first fragments.
    partial: BTreeMap<u64, Partial>,
    by_key: BTreeMap<Key, u64>,
}

struct Partial {
    key: Key,
    stream: u32,
    since: i64,
    octets: u64,
    /// Bit mask by fragment number.
    arrived: u64,
}

/// Effect of a fragment on its datagram.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Taken {
    Completes,
    Waits,
    Refused,
}

impl FragmentedFlow {
    pub(crate) fn new(flow: &Flow) -> Self {
        let answer = flow.reply.map_or(Bytes::ZERO, |reply| reply.payload);
        Self {
            frames: [flow.payload, answer].map(|payload| flow.frames(payload)),
            under_way: BTreeMap::new(),
        }
    }

    fn frames(&self, is_answer: bool) -> &Frames {
        &self.frames[usize::from(is_answer)]
    }

    /// Returns the streams of datagrams in transit for longer than their deadline.
    pub(crate) fn overdue(
        &self,
        now: i64,
        deadline: impl Fn(usize) -> i64,
    ) -> impl Iterator<Item = usize> {
        let all = self.under_way.iter().filter(|(_, one)| !one.is_lost);
        let late = move |&(&(stream, _), one): &(&(u32, u32), &UnderWay)| {
            now - one.released_at > deadline(stream as usize)
        };
        all.filter(late).map(|(&(stream, _), _)| stream as usize)
    }
}

impl Reassembly {
    /// Adds a fragment of a datagram with `count` fragments.
    fn take(&mut self, now: i64, key: Key, count: u32, packet: &Packet) -> Taken {
        let octets = u64::from(packet.size);
        let has_room = self.held + octets <= MEMORY;
        let number = if let Some(&number) = self.by_key.get(&key) {
            number
        } else if !has_room {
            return Taken::Refused;
        } else {
            self.begun += 1;
            self.by_key.insert(key, self.begun);
            let partial = Partial {
                key,
                stream: packet.stream,
                since: now,
                octets: 0,
                arrived: 0,
            };
            self.partial.insert(self.begun, partial);
            self.begun
        };
        let Some(partial) = self.partial.get_mut(&number) else {
            return Taken::Refused;
        };
        let arrived = partial.arrived | 1u64 << u32::from(packet.fragment).min(63);
        if arrived.count_ones() >= count {
            // The completing fragment need not be stored.
            self.forget(number);
            return Taken::Completes;
        }
        if !has_room {
            return Taken::Refused;
        }
        if arrived != partial.arrived {
            partial.arrived = arrived;
            partial.octets += octets;
            self.held += octets;
        }
        Taken::Waits
    }

    fn forget(&mut self, number: u64) -> Option<Partial> {
        let partial = self.partial.remove(&number)?;
        self.by_key.remove(&partial.key);
        self.held -= partial.octets;
        Some(partial)
    }

    /// Removes and returns a datagram that has waited too long.
    fn expire(&mut self, now: i64) -> Option<Partial> {
        let (&number, oldest) = self.partial.first_key_value()?;
        let is_over = now - oldest.since > TIMEOUT.as_ps();
        is_over.then(|| self.forget(number)).flatten()
    }
}

impl Simulation {
    /// Returns the fragmentation state of a flow, if it has one.
    #[inline]
    fn fragmented_of(&self, flow: u32) -> Option<u32> {
        match self.flows[flow as usize].carrier {
            Carrier::Fragments(position) => Some(position),
            Carrier::Packets
            | Carrier::Bulk(_)
            | Carrier::Conversation(_)
            | Carrier::Publication(_) => None,
        }
    }

    /// Returns the description of a fragment for observers.
    #[cold]
    pub(crate) fn fragment_info(&self, position: u32, packet: &Packet) -> Option<FragmentInfo> {
        let frames = self.fragmented[position as usize].frames(packet.has(REVERSE));
        let is_one = frames.count == 1 || packet.fragment == WHOLE;
        (!is_one).then_some(FragmentInfo {
            number: u32::from(packet.fragment),
            count: frames.count,
        })
    }

    /// Releases a datagram for each listener, or one for all of them.
    #[cold]
    pub(crate) fn release_datagrams<O: Observer>(
        &mut self,
        position: u32,
        (index, number): (u32, u32),
        copies: usize,
        observer: &mut O,
    ) {
        for copy in 0..copies {
            let packet = self.new_packet(index, copy, number);
            if packet.has(COUNTED) {
                let streams = if packet.destination & GROUP == 0 {
                    1
                } else {
                    self.flows[index as usize].listeners.all().len()
                };
                let streams = u32::try_from(streams).unwrap_or(u32::MAX);
                for stream in packet.stream..packet.stream + streams {
                    self.set_out(position, &packet, stream);
                }
            }
            let id = self.pool.insert(packet);
            self.send_datagram_of(position, packet.source, id, observer);
        }
    }

    /// Notes that a datagram or its answer has been sent.
    fn set_out(&mut self, position: u32, packet: &Packet, stream: u32) {
        let under_way = UnderWay {
            released_at: packet.released_at,
            is_answer: packet.has(REVERSE),
            is_lost: false,
            ended: 0,
        };
        let all = &mut self.fragmented[position as usize].under_way;
        all.insert((stream, packet.number), under_way);
    }

    /// Sends a datagram from its station: whole to a task, otherwise in fragments to the stack.
    pub(crate) fn send_datagram_of<O: Observer>(
        &mut self,
        position: u32,
        station: u32,
        id: u32,
        observer: &mut O,
    ) {
        if self.has_tasks(station) {
            self.pool.get_mut(id).fragment = WHOLE;
            self.send(station, id, observer);
            return;
        }
        let whole = *self.pool.get(id);
        let frames = *self.fragmented[position as usize].frames(whole.has(REVERSE));
        for number in 0..frames.count {
            let fragment = fragment_of(&whole, &frames, number);
            let id = if number == 0 {
                *self.pool.get_mut(id) = fragment;
                id
            } else {
                self.pool.insert(fragment)
            };
            self.send(station, id, observer);
        }
    }

    /// Cuts a packet that leaves its application task into fragments if it is a datagram. Returns
    /// the packets; the first one keeps its index.
    pub(crate) fn cut<O: Observer>(&mut self, station: u32, id: u32, observer: &mut O) -> Vec<u32> {
        let whole = *self.pool.get(id);
        let Some(position) = self.fragmented_of(whole.flow) else {
            return alloc::vec![id];
        };
        let frames = *self.fragmented[position as usize].frames(whole.has(REVERSE));
        let mut ids = Vec::new();
        for number in 0..frames.count {
            let fragment = fragment_of(&whole, &frames, number);
            if number == 0 {
                *self.pool.get_mut(id) = fragment;
                ids.push(id);
                continue;
            }
            let id = self.pool.insert(fragment);
            self.stations[station as usize].released += 1;
            if O::ACTIVE {
                observer.released(self.now(), &self.info(id));
            }
            ids.push(id);
        }
        ids
    }

    /// Returns whether a packet that leaves the stack of a station with tasks goes on to the
    /// application: a fragment that completes no datagram ends here.
    pub(crate) fn is_for_application<O: Observer>(
        &mut self,
        station: u32,
        id: u32,
        observer: &mut O,
    ) -> bool {
        let Some(position) = self.fragmented_of(self.pool.get(id).flow) else {
            return true;
        };
        self.tell_stream(station, id);
        if self.assemble(position, station, id) {
            self.pool.get_mut(id).fragment = WHOLE;
            return true;
        }
        let own = &mut self.stations[station as usize];
        own.delivered += 1;
        if O::ACTIVE {
            let node = own.node;
            observer.reached(self.now(), node, &self.info(id));
        }
        self.pool.remove(id);
        false
    }

    /// Handles a fragment, or a datagram from a task, that has reached the application.
    #[cold]
    pub(crate) fn deliver_fragment<O: Observer>(
        &mut self,
        position: u32,
        station: u32,
        id: u32,
        observer: &mut O,
    ) {
        let is_whole = self.pool.get(id).fragment == WHOLE;
        self.tell_stream(station, id);
        if !is_whole && !self.assemble(position, station, id) {
            self.pool.remove(id);
            return;
        }
        let packet = *self.pool.get(id);
        let own = &mut self.fragmented[position as usize];
        own.under_way.remove(&(packet.stream, packet.number));
        if self.flows[packet.flow as usize].reply.is_some() && !packet.has(REVERSE) {
            if packet.has(COUNTED) {
                let answer = Packet {
                    flags: packet.flags | REVERSE,
                    ..packet
                };
                self.set_out(position, &answer, packet.stream);
            }
            self.reply(packet.flow, station, id, observer);
        } else {
            self.note_answer(packet.flow, packet.number);
            self.book_delivery(id, None, observer);
        }
    }

    /// Sets the stream of a packet to a group to that of the listener.
    fn tell_stream(&mut self, station: u32, id: u32) {
        let packet = self.pool.get(id);
        if packet.destination & GROUP == 0 {
            return;
        }
        let flow = &self.flows[packet.flow as usize];
        let mut listeners = flow.listeners.all().iter();
        let position = listeners.position(|&listener| listener == station);
        let offset = u32::try_from(position.unwrap_or(0)).unwrap_or(0);
        let stream = flow.first_stream + offset;
        self.pool.get_mut(id).stream = stream;
    }

    /// Adds a fragment to its datagram; returns whether the datagram is complete.
    fn assemble(&mut self, position: u32, station: u32, id: u32) -> bool {
        let now = self.now;
        while let Some(partial) = self.reassemblies[station as usize].expire(now) {
            let (flow, .., number) = partial.key;
            if let Some(position) = self.fragmented_of(flow) {
                self.lose_datagram(position, partial.stream, number);
            }
        }
        let packet = *self.pool.get(id);
        let is_answer = packet.has(REVERSE);
        let count = self.fragmented[position as usize].frames(is_answer).count;
        if count == 1 {
            return true;
        }
        let key = (packet.flow, packet.source, is_answer, packet.number);
        let taken = self.reassemblies[station as usize].take(now, key, count, &packet);
        if taken == Taken::Refused {
            self.lose_datagram(position, packet.stream, packet.number);
        }
        if taken != Taken::Completes {
            self.note_end(position, packet.stream, &packet);
        }
        taken == Taken::Completes
    }

    /// Notes that a fragment of a datagram has been received or lost.
    fn note_end(&mut self, position: u32, stream: u32, packet: &Packet) {
        let own = &mut self.fragmented[position as usize];
        let key = (stream, packet.number);
        let Some(under_way) = own.under_way.get_mut(&key) else {
            return;
        };
        let count = own.frames[usize::from(under_way.is_answer)].count;
        under_way.ended += if packet.fragment == WHOLE { count } else { 1 };
        if under_way.ended >= count {
            own.under_way.remove(&key);
        }
    }

    /// Counts a datagram as lost, once.
    fn lose_datagram(&mut self, position: u32, stream: u32, number: u32) {
        let own = &mut self.fragmented[position as usize];
        let Some(under_way) = own.under_way.get_mut(&(stream, number)) else {
            return;
        };
        if !core::mem::replace(&mut under_way.is_lost, true) {
            self.book_lost_message(stream, true);
        }
    }

    /// Counts the loss of a fragment for these streams.
    #[cold]
    pub(crate) fn book_lost_fragment(&mut self, position: u32, id: u32, streams: &[usize]) {
        let packet = *self.pool.get(id);
        for &stream in streams {
            let stream = u32::try_from(stream).unwrap_or(u32::MAX);
            self.lose_datagram(position, stream, packet.number);
            self.note_end(position, stream, &packet);
        }
    }

    /// Returns the octets of the IP packet in a fragment, padding excluded.
    pub(crate) fn fragment_octets(&self, position: u32, packet: &Packet, flow: &Flow) -> Bytes {
        let is_answer = packet.has(REVERSE);
        let answer = flow.reply.filter(|_| is_answer);
        let payload = answer.map_or(flow.payload, |reply| reply.payload);
        let frames = self.fragmented[position as usize].frames(is_answer);
        let whole = flow.encapsulation.header_size() + payload;
        frames.octets_of(u32::from(packet.fragment), whole)
    }
}

/// Returns one fragment of a datagram.
fn fragment_of(whole: &Packet, frames: &Frames, number: u32) -> Packet {
    Packet {
        fragment: u8::try_from(number).unwrap_or(WHOLE),
        size: frame_octets(frames.size_of(number)).unwrap_or(u16::MAX),
        ..*whole
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn fragment(number: u8, size: u16) -> Packet {
        Packet {
            fragment: number,
            size,
            ..Packet::default()
        }
    }

    /// Oracle: by hand: the limit, and the timeout.
    #[test]
    fn a_station_keeps_so_many_fragments_for_so_long() {
        let mut own = Reassembly::default();
        let key = |number| (0, 0, false, number);
        let room = u32::try_from(MEMORY / 1_518).unwrap();
        for number in 0..room {
            let taken = own.take(0, key(number), 2, &fragment(0, 1_518));
            assert_eq!(taken, Taken::Waits);
        }
        let late = own.take(1, key(room), 2, &fragment(0, 1_518));
        assert_eq!(late, Taken::Refused, "there is no room for another");
        // A datagram already begun may be completed, and frees memory.
        assert_eq!(own.take(1, key(7), 2, &fragment(1, 64)), Taken::Completes);
        assert_eq!(own.take(1, key(room), 2, &fragment(1, 64)), Taken::Waits);
        // A repeated fragment counts once.
        assert_eq!(own.take(1, key(room), 2, &fragment(1, 64)), Taken::Waits);
        assert!(own.expire(TIMEOUT.as_ps()).is_none());
        let mut expired = 0;
        while let Some(partial) = own.expire(TIMEOUT.as_ps() + 1) {
            assert_eq!(partial.since, 0);
            expired += 1;
        }
        assert_eq!(expired, room - 1);
        assert_eq!((own.held, own.partial.len(), own.by_key.len()), (64, 1, 1));
    }
}
