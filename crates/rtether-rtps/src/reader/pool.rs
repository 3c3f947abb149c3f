//! Room for fragments shared by all readers of a participant.
//!
//! Each reader has a limit of its own, but there may be hundreds of readers.

use alloc::collections::BTreeMap;
use alloc::sync::Arc;
use alloc::vec::Vec;
use core::cmp::Reverse;
use core::sync::atomic::{AtomicUsize, Ordering};

use super::Reader;
use crate::guid::{Guid, GuidPrefix};
use crate::sequence::SequenceNumber;
use crate::time::{Duration, Instant};
use crate::wire::DataFrag;

/// One part in this many is reserved for discovery, and as much is freed at a time.
const PARTS: usize = 16;

#[derive(Debug)]
struct Room {
    max: usize,
    used: AtomicUsize,
}

/// The shared room.
#[derive(Clone, Debug)]
pub(crate) struct Pool(Arc<Room>);

/// A sample that received no fragment for this long is given up first.
pub(super) const STALE: Duration = Duration::from_ms(500);

/// A share of the room, freed on drop.
#[derive(Debug)]
pub(crate) struct Share {
    room: Arc<Room>,
    octets: usize,
}

impl Pool {
    /// Creates a room of `max` octets.
    pub(crate) fn new(max: usize) -> Self {
        let used = AtomicUsize::new(0);
        Self(Arc::new(Room { max, used }))
    }

    /// Returns the octets in use.
    pub(crate) fn used(&self) -> usize {
        self.0.used.load(Ordering::Relaxed)
    }

    /// Returns the octets left for samples of applications.
    pub(crate) fn left(&self) -> usize {
        self.left_for(false)
    }

    fn left_for(&self, is_built_in: bool) -> usize {
        let kept = if is_built_in { 0 } else { self.0.max / PARTS };
        (self.0.max - kept).saturating_sub(self.used())
    }

    /// Takes a share; `None` if there is not enough room.
    pub(super) fn take(&self, octets: usize, is_built_in: bool) -> Option<Share> {
        if octets > 0 && octets > self.left_for(is_built_in) {
            return None;
        }
        self.0.used.fetch_add(octets, Ordering::Relaxed);
        let room = Arc::clone(&self.0);
        Some(Share { room, octets })
    }
}

impl Share {
    pub(super) fn octets(&self) -> usize {
        self.octets
    }

    /// Merges another share of the same room.
    pub(super) fn add(&mut self, mut other: Self) {
        self.octets += core::mem::take(&mut other.octets);
    }
}

impl Drop for Share {
    fn drop(&mut self) {
        self.room.used.fetch_sub(self.octets, Ordering::Relaxed);
    }
}

/// An incomplete sample at one of the readers.
struct Incomplete {
    /// Order of giving up, ascending: best-effort samples, oldest first, then reliable ones, newest
    /// first.
    rank: (bool, i64),
    reader: usize,
    writer: Guid,
    sequence: SequenceNumber,
    octets: usize,
}

/// Incomplete samples by participant, except the one about to grow.
#[derive(Default)]
struct Census {
    stale: Vec<(Instant, Incomplete)>,
    fresh: BTreeMap<GuidPrefix, (usize, Vec<Incomplete>)>,
}

impl Census {
    fn take(readers: &[&mut Reader], now: Instant, from: Guid, frag: &DataFrag<'_>) -> Self {
        let mut this = Self::default();
        for (reader, one) in readers.iter().enumerate() {
            for proxy in &one.proxies {
                let writer = proxy.remote.guid;
                for partial in proxy.reassembly.partials() {
                    if (writer, partial.sequence) == (from, frag.sequence) {
                        let own = this.fresh.entry(writer.prefix).or_default();
                        own.0 += partial.octets.len();
                        continue;
                    }
                    let at = partial.touched_at.as_ns();
                    let is_reliable = proxy.remote.is_reliable;
                    let place = Incomplete {
                        rank: (is_reliable, if is_reliable { -at } else { at }),
                        reader,
                        writer,
                        sequence: partial.sequence,
                        octets: partial.octets.len(),
                    };
                    if now - partial.touched_at > STALE {
                        this.stale.push((partial.touched_at, place));
                    } else {
                        let (octets, places) = this.fresh.entry(writer.prefix).or_default();
                        *octets += place.octets;
                        places.push(place);
                    }
                }
            }
        }
        // Sorted so that the next one to give up is last.
        this.stale.sort_unstable_by_key(|(at, _)| Reverse(*at));
        for (_, places) in this.fresh.values_mut() {
            places.sort_unstable_by_key(|place| Reverse(place.rank));
        }
        this
    }

    /// Returns the next sample to give up for `need` octets of participant `own`: stale ones, then
    /// those of the participant with the most octets if it has more than `own` would have, then
    /// best-effort samples of `own`.
    fn next(&mut self, own: GuidPrefix, need: usize) -> Option<Incomplete> {
        if let Some((_, place)) = self.stale.pop() {
            return Some(place);
        }
        let mine = self.fresh.get(&own).map_or(0, |(octets, _)| *octets);
        let others = self.fresh.iter_mut();
        let others = others.filter(|(prefix, (_, places))| **prefix != own && !places.is_empty());
        let most = others.max_by_key(|(_, (octets, _))| *octets);
        let most = most.filter(|(_, (octets, _))| *octets > mine.saturating_add(need));
        if let Some((_, (octets, places))) = most {
            let place = places.pop()?;
            *octets -= place.octets;
            return Some(place);
        }
        let (_, places) = self.fresh.get_mut(&own)?;
        places.pop_if(|place| !place.rank.0)
    }
}

/// Makes room for the fragments that have arrived, and some more. If they still do not fit, they
/// are refused, and requested again if reliable. Returns the number of samples given up.
pub(crate) fn make_room(
    readers: &mut [&mut Reader],
    pool: &Pool,
    now: Instant,
    from: Guid,
    frag: &DataFrag<'_>,
) -> u64 {
    let need = readers.iter().map(|reader| reader.fragment_need(from, frag));
    let need: usize = need.sum();
    if need == 0 || need <= pool.left() {
        return 0;
    }
    let mut census = Census::take(readers, now, from, frag);
    let enough = need.saturating_add(pool.0.max / PARTS);
    let mut given_up = 0;
    while pool.left() < enough
        && let Some(place) = census.next(from.prefix, need)
    {
        if let Some(reader) = readers.get_mut(place.reader) {
            reader.give_up_partial(place.writer, place.sequence);
            given_up += 1;
        }
    }
    given_up
}
