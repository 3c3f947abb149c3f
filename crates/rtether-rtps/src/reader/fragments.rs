//! Fragments at a reader; its writers share the room for them.

use core::cmp::Reverse;

use super::pool::STALE;
use super::{Arrived, Reader, kind};
use crate::guid::Guid;
use crate::sequence::SequenceNumber;
use crate::time::{Instant, WallTime};
use crate::wire::{DataFrag, InlineQos};

/// Room for fragments, in samples of maximum size.
const LONGEST: usize = 2;
/// Minimum room, in octets.
const ROOM_MIN: usize = 1 << 20;

/// The sample with the highest rank is given up first: stale ones, then those furthest ahead, then
/// those with the fewest octets.
type Rank = (bool, i64, Reverse<usize>);

impl Reader {
    /// Accepts fragments of a sample; returns false if the room shared by all readers is used up.
    pub(crate) fn on_data_frag(
        &mut self,
        now: Instant,
        from: Guid,
        frag: &DataFrag<'_>,
        time: Option<WallTime>,
    ) -> bool {
        let Ok(index) = self.find(from) else {
            return true;
        };
        // A long sample may take longer than a lease.
        self.touch(now, index);
        let Some(proxy) = self.proxies.get_mut(index) else {
            return true;
        };
        if proxy.has(frag.sequence) && !proxy.moves_back(frag.sequence) {
            self.counters.duplicates += 1;
            return true;
        }
        let Ok(inline) = InlineQos::read(frag.inline_qos) else {
            self.counters.malformed += 1;
            return true;
        };
        let size = usize::try_from(frag.sample_size).ok();
        let size = size.filter(|size| *size <= self.sample_max);
        let growth = size.and_then(|size| proxy.reassembly.growth(frag, size));
        let (Some(size), Some(growth)) = (size, growth) else {
            self.counters.rejected += 1;
            return true;
        };
        if growth > 0 && !self.make_room(now, index, frag.sequence, growth) {
            self.counters.rejected += 1;
            return true;
        }
        let Some(share) = self.pool.take(growth, self.entity.is_built_in()) else {
            self.counters.rejected += 1;
            return false;
        };
        let Some(proxy) = self.proxies.get_mut(index) else {
            return true;
        };
        proxy.is_fragmented = true;
        let is_reliable = proxy.remote.is_reliable;
        let reassembly = &mut proxy.reassembly;
        let Some(partial) = reassembly.take_in(now, frag, size, share, is_reliable) else {
            self.counters.rejected += 1;
            return true;
        };
        (partial.inline, partial.time) = (inline, time);
        let Some(whole) = reassembly.take_whole(frag.sequence) else {
            return true;
        };
        let arrived = Arrived {
            sequence: whole.sequence,
            kind: kind(whole.inline, whole.is_key),
            payload: &whole.octets,
            inline: whole.inline,
            time: whole.time,
            at: now,
        };
        self.on_data(now, from, &arrived);
        // The writer waits to learn that there is room again.
        if let Some(proxy) = self.proxies.get_mut(index)
            && proxy.remote.is_reliable
            && !proxy.is_missing()
        {
            proxy.ack_at = Some(now);
        }
        self.plan(index);
        true
    }

    /// Returns how many more octets fragments need.
    pub(super) fn fragment_need(&self, from: Guid, frag: &DataFrag<'_>) -> usize {
        let proxy = self.find(from).ok();
        let proxy = proxy.and_then(|index| self.proxies.get(index));
        let proxy = proxy.filter(|proxy| !proxy.has(frag.sequence));
        let size = usize::try_from(frag.sample_size).ok();
        let size = size.filter(|size| *size <= self.sample_max);
        let both = proxy.zip(size);
        let need = both.and_then(|(proxy, size)| proxy.reassembly.growth(frag, size));
        need.unwrap_or(0)
    }

    /// Gives up an incomplete sample.
    pub(super) fn give_up_partial(&mut self, writer: Guid, sequence: SequenceNumber) {
        if let Ok(index) = self.find(writer)
            && let Some(proxy) = self.proxies.get_mut(index)
            && proxy.reassembly.remove(sequence).is_some()
        {
            self.counters.rejected += 1;
        }
    }

    /// Returns the memory held for incomplete samples, in octets.
    pub(crate) fn fragment_octets(&self) -> usize {
        let partials = self.proxies.iter().flat_map(|one| one.reassembly.partials());
        partials.map(|one| one.octets.len()).sum()
    }

    fn room(&self) -> usize {
        self.sample_max.saturating_mul(LONGEST).max(ROOM_MIN)
    }

    /// Makes room for `growth` octets of a sample, by giving up samples of higher rank.
    fn make_room(
        &mut self,
        now: Instant,
        index: usize,
        sequence: SequenceNumber,
        growth: usize,
    ) -> bool {
        let rank = |next: SequenceNumber, sequence: SequenceNumber, at: Instant, arrived| -> Rank {
            let is_stale = now - at > STALE;
            (is_stale, sequence.0.saturating_sub(next.0), Reverse(arrived))
        };
        loop {
            if self.fragment_octets().saturating_add(growth) <= self.room() {
                return true;
            }
            let Some(own) = self.proxies.get(index) else {
                return false;
            };
            let arrived = own.reassembly.get(sequence).map_or(0, |one| one.arrived);
            let own = rank(own.next, sequence, now, arrived);
            let all = self.proxies.iter().enumerate();
            let all = all.flat_map(|(place, proxy)| {
                let partials = proxy.reassembly.partials().iter();
                let partials =
                    partials.filter(move |one| (place, one.sequence) != (index, sequence));
                partials.map(move |one| {
                    let rank = rank(proxy.next, one.sequence, one.touched_at, one.arrived);
                    (rank, place, one.sequence)
                })
            });
            let Some((_, place, given_up)) = all.max().filter(|(rank, ..)| *rank > own) else {
                return false;
            };
            if let Some(proxy) = self.proxies.get_mut(place) {
                proxy.reassembly.remove(given_up);
                self.counters.rejected += 1;
            }
        }
    }
}
