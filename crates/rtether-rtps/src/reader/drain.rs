//! The end of a writer that sends nothing more: what waited for earlier samples is delivered, and
//! what is missing is lost.
//!
//! A writer that is only reported to have ended may come back: what is missing of it is counted until
//! then (`proxy::gone`).

use super::{Gone, Reader};
use crate::guid::{Guid, GuidPrefix};
use crate::sequence::SequenceNumber;
use crate::time::Instant;

impl Reader {
    /// Returns whether a writer of the participant is matched.
    pub(crate) fn reads_from(&self, prefix: GuidPrefix) -> bool {
        self.proxies.iter().any(|proxy| proxy.remote.guid.prefix == prefix)
    }

    /// Drains all writers of a participant that has left.
    pub(crate) fn drain_all(&mut self, now: Instant, prefix: GuidPrefix) {
        let writers = self.proxies.iter().map(|proxy| proxy.remote.guid);
        let writers: alloc::vec::Vec<Guid> = writers.filter(|guid| guid.prefix == prefix).collect();
        for writer in writers {
            self.drain(now, writer);
        }
    }

    /// Delivers what came of a reliable writer, and gives up the rest of what it announced.
    pub(crate) fn drain(&mut self, now: Instant, writer: Guid) {
        let Ok(index) = self.find(writer) else {
            return;
        };
        if self.entity.is_built_in() {
            return;
        }
        while let Some(proxy) = self.proxies.get_mut(index) {
            if !proxy.remote.is_reliable {
                return;
            }
            let before = proxy.next;
            let is_held = proxy.give_up(proxy.end());
            self.deliver_held(now, index);
            let after = self.proxies.get(index).map(|proxy| proxy.next);
            if !is_held || after == Some(before) {
                break;
            }
        }
        // Those without room will not be sent again.
        while let Some(proxy) = self.proxies.get_mut(index) {
            if proxy.take_held().is_some() {
                self.counters.rejected += 1;
                proxy.advance(now);
            } else if !proxy.give_up(proxy.end()) {
                return;
            }
        }
    }

    /// Counts what is missing of all writers of a participant that is said to have left, until they are
    /// found anew.
    pub(crate) fn presume_all(&mut self, now: Instant, prefix: GuidPrefix) {
        if self.entity.is_built_in() {
            return;
        }
        let mut rejected = 0_u64;
        for proxy in self.of_participant(prefix).iter_mut().filter(|one| one.remote.is_reliable) {
            rejected = rejected.saturating_add(proxy.presume_gone(now));
        }
        self.counters.rejected = self.counters.rejected.saturating_add(rejected);
    }

    /// Returns the first sample of a writer, here or gone, that has no figure yet.
    pub(crate) fn accounted_to(&self, writer: Guid) -> SequenceNumber {
        let here = self.find(writer).ok();
        let here = here.and_then(|index| self.proxies.get(index));
        let here = here.map(|proxy| proxy.next);
        let gone = || self.gone.iter().find(|gone| gone.writer == writer);
        here.or_else(|| gone().map(Gone::accounted_to)).unwrap_or(SequenceNumber::FIRST)
    }

    /// Returns how many samples reliable writers are known to have that this reader still lacks, or
    /// that wait for such.
    pub(crate) fn lacking(&self) -> u64 {
        let reliable = self.proxies.iter().filter(|one| one.remote.is_reliable);
        let lacking = reliable.map(|proxy| proxy.end().0.saturating_sub(proxy.next.0).max(0));
        let lacking = lacking.map(i64::unsigned_abs);
        lacking.fold(0, u64::saturating_add)
    }
}

#[cfg(test)]
mod tests {
    use alloc::vec::Vec;

    use super::*;
    use crate::guid::EntityId;
    use crate::qos::{History, Liveliness, Qos, Reliability};
    use crate::reader::{Arrived, Pool, ReaderTiming, RemoteWriter};
    use crate::sequence::SequenceNumber;
    use crate::time::Duration;
    use crate::wire::{Heartbeat, InlineQos};
    use crate::writer::ChangeKind;

    const NOW: Instant = Instant::ZERO;

    fn writer() -> Guid {
        Guid::new(GuidPrefix([7; 12]), EntityId::writer(1, false))
    }

    /// A reader with room for `room` samples, to which a writer has sent 1, 3 and 4 of five.
    fn reader(room: u32) -> Reader {
        let mut reader = new(room);
        for sequence in [1, 3, 4] {
            send(&mut reader, sequence);
        }
        announce(&mut reader, 5);
        reader
    }

    fn new(room: u32) -> Reader {
        let mut qos =
            Qos { history: History::KeepAll, reliability: Reliability::Reliable, ..Qos::reader() };
        qos.limits.samples = Some(room);
        let (entity, timing) = (EntityId::reader(1, false), ReaderTiming::default());
        let mut reader = Reader::new(entity, qos, timing, None, 1_024, Pool::new(1 << 20));
        let remote = RemoteWriter {
            guid: writer(),
            group: None,
            is_reliable: true,
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

    fn send(reader: &mut Reader, sequence: i64) {
        let arrived = Arrived {
            sequence: SequenceNumber(sequence),
            kind: ChangeKind::Alive,
            payload: &[0, 1, 0, 0],
            inline: InlineQos::default(),
            time: None,
            at: NOW,
        };
        reader.on_data(NOW, writer(), &arrived);
    }

    fn announce(reader: &mut Reader, last: i64) {
        let heartbeat = Heartbeat {
            reader: reader.entity,
            writer: writer().entity,
            first: SequenceNumber::FIRST,
            last: SequenceNumber(last),
            count: 1,
            is_final: true,
            is_liveliness: false,
        };
        reader.on_heartbeat(NOW, writer(), &heartbeat);
    }

    fn taken(reader: &mut Reader) -> Vec<i64> {
        core::iter::from_fn(|| reader.take(NOW, |info, _, _| info.sequence.0)).collect()
    }

    #[test]
    fn what_waited_is_delivered_and_what_is_missing_is_lost() {
        // Oracle: by hand; 2 and 5 never came.
        let mut reader = reader(100);
        assert_eq!(reader.lacking(), 4, "2 to 5");
        reader.drain_all(NOW, writer().prefix);
        assert_eq!(reader.lacking(), 0);
        assert_eq!(taken(&mut reader), [1, 3, 4]);
        assert_eq!(reader.all_counters().lost, 2);
    }

    #[test]
    fn what_has_no_room_is_rejected() {
        // Oracle: by hand; two fit.
        let mut reader = reader(2);
        reader.drain_all(NOW, writer().prefix);
        assert_eq!(taken(&mut reader), [1, 3]);
        let counters = reader.all_counters();
        assert_eq!((counters.lost, counters.rejected), (2, 1));
    }

    #[test]
    fn what_is_missing_of_a_writer_that_may_come_back_is_counted_until_then() {
        // Oracle: by hand; 1 is delivered, 2 and 5 never came, and 3 and 4 waited for 2.
        let mut reader = reader(100);
        reader.presume_all(NOW, writer().prefix);
        let remote = reader.proxies.first().map(|proxy| proxy.remote.clone()).unwrap();
        assert!(reader.remove_writer(NOW, writer()));
        assert_eq!(taken(&mut reader), [1]);
        assert_eq!(reader.all_counters().lost, 4);
        assert_eq!(reader.accounted_to(writer()), SequenceNumber(6));
        // It continues where it was, and all come again.
        assert!(reader.add_writer(NOW, remote));
        assert_eq!(reader.all_counters().lost, 0);
        assert_eq!(reader.accounted_to(writer()), SequenceNumber(2));
        for sequence in 2..=5 {
            send(&mut reader, sequence);
        }
        assert_eq!(taken(&mut reader), [2, 3, 4, 5]);
        assert_eq!(reader.all_counters().ended(), 0);
    }

    #[test]
    fn what_has_no_room_is_rejected_until_its_writer_comes_back() {
        // Oracle: by hand; of five, four came, and two of them fit.
        let mut reader = new(2);
        for sequence in [1, 3, 4, 2] {
            send(&mut reader, sequence);
        }
        announce(&mut reader, 5);
        reader.presume_all(NOW, writer().prefix);
        let remote = reader.proxies.first().map(|proxy| proxy.remote.clone()).unwrap();
        assert!(reader.remove_writer(NOW, writer()));
        let counters = reader.all_counters();
        assert_eq!((counters.lost, counters.rejected), (1, 2));
        assert!(reader.add_writer(NOW, remote));
        let counters = reader.all_counters();
        assert_eq!((counters.lost, counters.rejected), (0, 0));
        assert_eq!(taken(&mut reader), [1, 2]);
        for sequence in 3..=5 {
            send(&mut reader, sequence);
            assert_eq!(taken(&mut reader), [sequence]);
        }
        assert_eq!(reader.all_counters().ended(), 0);
    }
}
