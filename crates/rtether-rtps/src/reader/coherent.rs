//! Coherent sets (8.7.6): samples that a writer has written together, for readers that get either
//! all or none of them.
//!
//! A set is complete when its writer ends it or writes something else. A set with a lost part, or
//! one that began before the reader was there, is dropped. Sets of a publisher wait in `group` for
//! those of its other writers.

use alloc::vec::Vec;

use super::held::{HELD_OCTETS_MAX, OpenSet, Owned};
use super::{Arrived, Reader, WriterProxy};
use crate::sequence::SequenceNumber;
use crate::time::Instant;
use crate::wire::Status;

/// Maximum number of samples in a set.
const SAMPLES_MAX: usize = 4_096;

/// Returns whether it is only the end marker of a set.
pub(super) fn is_end(arrived: &Arrived<'_>) -> bool {
    arrived.inline.coherent_set == Some(SequenceNumber::UNKNOWN)
        && arrived.payload.is_empty()
        && arrived.inline.status == Status::default()
}

impl Reader {
    /// Accepts the next sample of a writer; returns whether it is done with. Otherwise a reliable
    /// writer keeps it and sends it again.
    pub(super) fn accept(&mut self, now: Instant, proxy: usize, arrived: &Arrived<'_>) -> bool {
        if self.qos.presentation.is_coherent {
            if !self.close_set(now, proxy, arrived) {
                return self.refuse(proxy);
            }
            if self.keep_in_set(proxy, arrived) || self.keep_for_group(proxy, arrived) {
                return true;
            }
        }
        is_end(arrived) || self.accept_one(now, proxy, arrived)
    }

    /// Delivers the preceding set if the sample does not belong to it; returns false if there is no
    /// room.
    fn close_set(&mut self, now: Instant, index: usize, arrived: &Arrived<'_>) -> bool {
        let waiting = self.queue.len();
        let is_grouped = self.is_grouped();
        let Some(proxy) = self.proxies.get_mut(index) else {
            return true;
        };
        let Some(open) = &proxy.set else {
            return true;
        };
        if arrived.inline.coherent_set == Some(open.start) {
            return true;
        }
        let is_whole = open.is_whole && open.lost == proxy.lost;
        if is_grouped && open.group.is_some() && proxy.remote.group.is_some() {
            if let Some(set) = proxy.set.take() {
                self.wait_for_group(index, set, is_whole, arrived);
            }
            return true;
        }
        if is_whole && self.depth.is_none() && waiting + open.samples.len() > self.samples_max {
            return false;
        }
        let Some(set) = proxy.set.take() else {
            return true;
        };
        if !is_whole {
            self.counters.incoherent += u64::try_from(set.samples.len()).unwrap_or(u64::MAX);
            return true;
        }
        for (sequence, sample) in &set.samples {
            // Samples beyond the limits of instances are counted there.
            self.accept_one(now, index, &sample.arrived(*sequence));
        }
        true
    }

    /// Returns the room for samples of all sets, in octets.
    pub(super) fn set_room(&self) -> usize {
        self.sample_max.saturating_mul(2).max(HELD_OCTETS_MAX)
    }

    /// Keeps a sample of a set until the set is complete; returns whether it belongs to a set.
    fn keep_in_set(&mut self, index: usize, arrived: &Arrived<'_>) -> bool {
        let start = arrived.inline.coherent_set;
        let Some(start) = start.filter(|start| *start != SequenceNumber::UNKNOWN) else {
            return false;
        };
        let samples_max = SAMPLES_MAX.min(self.samples_max);
        let kept: usize = self.proxies.iter().map(WriterProxy::set_octets).sum();
        let room = self.set_room();
        let is_room = kept.saturating_add(arrived.payload.len()) <= room;
        let Some(proxy) = self.proxies.get_mut(index) else {
            return false;
        };
        let lost = proxy.lost;
        let set = proxy.set.get_or_insert_with(|| OpenSet {
            start,
            group: arrived.inline.group_set,
            samples: Vec::new(),
            octets: 0,
            lost,
            is_whole: arrived.sequence == start,
        });
        if set.samples.len() >= samples_max || !is_room {
            set.is_whole = false;
            set.samples.clear();
            set.octets = 0;
            self.counters.rejected += 1;
        } else if set.is_whole {
            set.octets += arrived.payload.len();
            set.samples.push((arrived.sequence, Owned::new(arrived)));
        } else {
            self.counters.incoherent += 1;
        }
        true
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::guid::{EntityId, Guid, GuidPrefix};
    use crate::qos::{History, Liveliness, Presentation, Qos, Reliability};
    use crate::reader::{Pool, ReaderTiming, RemoteWriter};
    use crate::time::Duration;
    use crate::wire::InlineQos;
    use crate::writer::ChangeKind;

    const NOW: Instant = Instant::ZERO;

    fn writer() -> Guid {
        Guid::new(GuidPrefix([7; 12]), EntityId::writer(1, false))
    }

    fn reader(reliability: Reliability) -> Reader {
        let qos = Qos {
            history: History::KeepAll,
            reliability,
            presentation: Presentation { is_coherent: true, ..Presentation::default() },
            ..Qos::reader()
        };
        let entity = EntityId::reader(1, false);
        let mut reader =
            Reader::new(entity, qos, ReaderTiming::default(), None, 1_024, Pool::new(1 << 20));
        let remote = RemoteWriter {
            guid: writer(),
            group: None,
            is_reliable: reliability == Reliability::Reliable,
            strength: 0,
            deadline: Duration::INFINITE,
            lifespan: Duration::INFINITE,
            liveliness: Liveliness::default(),
            persistence: None,
            unicast: Vec::new(),
            is_proved: true,
        };
        assert!(reader.add_writer(NOW, remote));
        reader
    }

    /// Passes in a sample of a set; set 0 is the end marker, without payload.
    fn hand_in(reader: &mut Reader, sequence: i64, set: Option<i64>) {
        let is_end = set == Some(0);
        let end = SequenceNumber::UNKNOWN;
        let set = set.map(|set| if is_end { end } else { SequenceNumber(set) });
        let arrived = Arrived {
            sequence: SequenceNumber(sequence),
            kind: ChangeKind::Alive,
            payload: if is_end { &[] } else { &[0, 1, 0, 0] },
            inline: InlineQos { coherent_set: set, ..InlineQos::default() },
            time: None,
            at: NOW,
        };
        reader.on_data(NOW, writer(), &arrived);
    }

    fn taken(reader: &mut Reader) -> Vec<i64> {
        core::iter::from_fn(|| reader.take(NOW, |info, _, _| info.sequence.0)).collect()
    }

    #[test]
    fn a_set_comes_as_a_whole() {
        // Oracle: 8.7.6 by hand; a set ends by its marker, or when another sample follows.
        let mut reader = reader(Reliability::Reliable);
        hand_in(&mut reader, 1, Some(1));
        hand_in(&mut reader, 2, Some(1));
        assert_eq!(taken(&mut reader), []);
        hand_in(&mut reader, 3, Some(0));
        assert_eq!(taken(&mut reader), [1, 2]);
        hand_in(&mut reader, 4, Some(4));
        hand_in(&mut reader, 5, Some(5));
        assert_eq!(taken(&mut reader), [4]);
        hand_in(&mut reader, 6, None);
        assert_eq!(taken(&mut reader), [5, 6]);
    }

    #[test]
    fn a_part_of_a_set_never_comes() {
        // Oracle: 8.7.6 by hand; 3 is lost, as is the beginning of the first set.
        let mut reader = reader(Reliability::BestEffort);
        hand_in(&mut reader, 1, Some(1));
        hand_in(&mut reader, 2, Some(1));
        hand_in(&mut reader, 4, Some(1));
        hand_in(&mut reader, 5, Some(0));
        assert_eq!(taken(&mut reader), []);
        assert_eq!(reader.all_counters().incoherent, 3);
        hand_in(&mut reader, 7, Some(6));
        hand_in(&mut reader, 8, Some(8));
        hand_in(&mut reader, 9, Some(0));
        assert_eq!(taken(&mut reader), [8]);
    }

    #[test]
    fn sets_of_all_writers_share_the_room() {
        // Oracle: 8 MiB; nine writers with sets that never end stay within it.
        let mut reader = reader(Reliability::Reliable);
        let payload = alloc::vec![0; 1 << 20];
        for number in 1..=9 {
            let guid = Guid::new(GuidPrefix([number; 12]), EntityId::writer(1, false));
            let mut remote = reader.proxies[0].remote.clone();
            remote.guid = guid;
            reader.add_writer(NOW, remote);
            let arrived = Arrived {
                sequence: SequenceNumber(1),
                kind: ChangeKind::Alive,
                payload: &payload,
                inline: InlineQos { coherent_set: Some(SequenceNumber(1)), ..InlineQos::default() },
                time: None,
                at: NOW,
            };
            reader.on_data(NOW, guid, &arrived);
        }
        assert_eq!(reader.all_counters().rejected, 1);
    }

    #[test]
    fn a_sample_that_waited_for_others_expires_by_its_arrival() {
        // Oracle: a lifespan of 100 ms by hand; 2 waits 60 ms for 1 and is taken 50 ms later.
        let mut reader = reader(Reliability::Reliable);
        let hand_in = |reader: &mut Reader, sequence, ms| {
            let at = NOW + Duration::from_ms(ms);
            let arrived = Arrived {
                sequence: SequenceNumber(sequence),
                kind: ChangeKind::Alive,
                payload: &[0, 1, 0, 0],
                inline: InlineQos {
                    lifespan: Some(Duration::from_ms(100)),
                    ..InlineQos::default()
                },
                time: None,
                at,
            };
            reader.on_data(at, writer(), &arrived);
        };
        hand_in(&mut reader, 2, 0);
        hand_in(&mut reader, 1, 60);
        let late = NOW + Duration::from_ms(110);
        let numbers = core::iter::from_fn(|| reader.take(late, |info, _, _| info.sequence.0));
        assert_eq!(numbers.collect::<Vec<_>>(), [1]);
        assert_eq!(reader.all_counters().expired, 1);
    }
}
