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

use rtether_model::flow::Flow;
use rtether_model::quantity::{Bytes, Duration};
use rtether_model::wire::Frames;

use crate::observe::FragmentInfo;
use crate::packet::{Packet, REVERSE, frame_octets};

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

/// A datagram partially received.
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
pub(crate) enum Taken {
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

    fn frames(&self, packet: &Packet) -> &Frames {
        &self.frames[usize::from(packet.has(REVERSE))]
    }

    /// Returns the number of fragments of the datagram that a packet is or belongs to.
    pub(crate) fn count(&self, packet: &Packet) -> u32 {
        self.frames(packet).count
    }

    /// Returns one fragment of a datagram.
    pub(crate) fn fragment(&self, whole: &Packet, number: u32) -> Packet {
        let size = self.frames(whole).size_of(number);
        Packet {
            fragment: u8::try_from(number).unwrap_or(WHOLE),
            size: frame_octets(size).unwrap_or(u16::MAX),
            ..*whole
        }
    }

    /// Returns the description of a fragment for observers; `None` for a whole datagram.
    pub(crate) fn info(&self, packet: &Packet) -> Option<FragmentInfo> {
        let count = self.count(packet);
        let is_one = count == 1 || packet.fragment == WHOLE;
        (!is_one).then_some(FragmentInfo { number: u32::from(packet.fragment), count })
    }

    /// Returns the octets of the IP packet in a fragment, padding excluded.
    pub(crate) fn octets(&self, packet: &Packet, flow: &Flow) -> Bytes {
        let answer = flow.reply.filter(|_| packet.has(REVERSE));
        let payload = answer.map_or(flow.payload, |reply| reply.payload);
        let whole = flow.encapsulation.header_size() + payload;
        let frames = self.frames(packet);
        frames.octets_of(u32::from(packet.fragment), whole)
    }

    /// Notes that a counted datagram, or the answer to it, has been sent.
    pub(crate) fn set_out(&mut self, stream: u32, packet: &Packet) {
        let under_way = UnderWay {
            released_at: packet.released_at,
            is_answer: packet.has(REVERSE),
            is_lost: false,
            ended: 0,
        };
        self.under_way.insert((stream, packet.number), under_way);
    }

    /// Notes that a datagram has been received.
    pub(crate) fn arrive(&mut self, stream: u32, packet: &Packet) {
        self.under_way.remove(&(stream, packet.number));
    }

    /// Notes that a fragment of a datagram has been received or lost.
    pub(crate) fn note_end(&mut self, stream: u32, packet: &Packet) {
        let key = (stream, packet.number);
        let Some(under_way) = self.under_way.get_mut(&key) else {
            return;
        };
        let count = self.frames[usize::from(under_way.is_answer)].count;
        under_way.ended += if packet.fragment == WHOLE { count } else { 1 };
        if under_way.ended >= count {
            self.under_way.remove(&key);
        }
    }

    /// Notes that a datagram is lost; `true` if it counts and this is its first loss.
    #[must_use]
    pub(crate) fn lose(&mut self, stream: u32, number: u32) -> bool {
        let under_way = self.under_way.get_mut(&(stream, number));
        under_way.is_some_and(|own| !core::mem::replace(&mut own.is_lost, true))
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
    pub(crate) fn take(&mut self, now: i64, count: u32, packet: &Packet) -> Taken {
        let is_answer = packet.has(REVERSE);
        let key = (packet.flow, packet.source, is_answer, packet.number);
        let octets = u64::from(packet.size);
        let has_room = self.held + octets <= MEMORY;
        let number = if let Some(&number) = self.by_key.get(&key) {
            number
        } else if !has_room {
            return Taken::Refused;
        } else {
            self.begun += 1;
            self.by_key.insert(key, self.begun);
            let partial = Partial { key, stream: packet.stream, since: now, octets: 0, arrived: 0 };
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

    /// Removes a datagram that has waited too long, and returns its flow, stream and number.
    pub(crate) fn expire(&mut self, now: i64) -> Option<(u32, u32, u32)> {
        let (&number, oldest) = self.partial.first_key_value()?;
        if now - oldest.since <= TIMEOUT.as_ps() {
            return None;
        }
        let Partial { key, stream, .. } = self.forget(number)?;
        let (flow, .., number) = key;
        Some((flow, stream, number))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A fragment of datagram `number`.
    fn fragment(number: u32, fragment: u8, size: u16) -> Packet {
        Packet { number, size, fragment, ..Packet::default() }
    }

    /// Oracle: by hand: the limit, and the timeout.
    #[test]
    fn a_station_keeps_so_many_fragments_for_so_long() {
        let mut own = Reassembly::default();
        let room = u32::try_from(MEMORY / 1_518).unwrap();
        for number in 0..room {
            let taken = own.take(0, 2, &fragment(number, 0, 1_518));
            assert_eq!(taken, Taken::Waits);
        }
        let late = own.take(1, 2, &fragment(room, 0, 1_518));
        assert_eq!(late, Taken::Refused, "there is no room for another");
        // A datagram already begun may be completed, and frees memory.
        assert_eq!(own.take(1, 2, &fragment(7, 1, 64)), Taken::Completes);
        assert_eq!(own.take(1, 2, &fragment(room, 1, 64)), Taken::Waits);
        // A repeated fragment counts once.
        assert_eq!(own.take(1, 2, &fragment(room, 1, 64)), Taken::Waits);
        assert!(own.expire(TIMEOUT.as_ps()).is_none());
        let mut expired = 0;
        while let Some((.., number)) = own.expire(TIMEOUT.as_ps() + 1) {
            assert_ne!(number, room, "it began later");
            expired += 1;
        }
        assert_eq!(expired, room - 1);
        assert_eq!((own.held, own.partial.len(), own.by_key.len()), (64, 1, 1));
    }
}
