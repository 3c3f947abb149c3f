//! Ownership changes and limits, at a reader without a participant.

use alloc::vec;
use alloc::vec::Vec;

use super::{Arrived, InstanceState, KeyOf, Pool, Reader, ReaderTiming, RemoteWriter};
use crate::guid::{EntityId, Guid, GuidPrefix};
use crate::qos::{History, Liveliness, Ownership, Qos, Reliability, ResourceLimits};
use crate::sequence::SequenceNumber;
use crate::time::{Duration, Instant};
use crate::wire::InlineQos;
use crate::writer::ChangeKind;

const KEY_OF: KeyOf = KeyOf::Function(|payload, _, key| {
    key.extend_from_slice(payload.get(4..5)?);
    Some([*payload.get(4)?; 16])
});

fn guid(number: u8) -> Guid {
    Guid::new(GuidPrefix([number; 12]), EntityId::writer(1, true))
}

fn at(ms: i64) -> Instant {
    Instant::ZERO + Duration::from_ms(ms)
}

struct Bed {
    reader: Reader,
    numbers: [i64; 4],
}

impl Bed {
    /// Writers 1 to 3 have strengths 1 to 3, and a persistence of 100 ms.
    fn new(limits: ResourceLimits) -> Self {
        Self::with(limits, Duration::ZERO)
    }

    fn with(limits: ResourceLimits, time_based_filter: Duration) -> Self {
        let qos = Qos {
            time_based_filter,
            history: History::KeepAll,
            ownership: Ownership::Exclusive,
            reliability: Reliability::Reliable,
            limits,
            ..Qos::reader()
        };
        let entity = EntityId::reader(1, true);
        let mut reader = Reader::new(
            entity,
            qos,
            ReaderTiming::default(),
            Some(KEY_OF),
            1_024,
            Pool::new(1 << 20),
        );
        for number in 1..=3 {
            let remote = RemoteWriter {
                guid: guid(number),
                group: None,
                is_reliable: true,
                strength: number.into(),
                deadline: Duration::from_ms(100),
                lifespan: Duration::INFINITE,
                liveliness: Liveliness::default(),
                persistence: None,
                unicast: Vec::new(),
                is_proved: true,
            };
            assert!(reader.add_writer(at(0), remote));
        }
        Self { reader, numbers: [0; 4] }
    }

    /// A writer writes a value of an instance, or ends it.
    fn write(&mut self, ms: i64, writer: u8, kind: ChangeKind, [key, value]: [u8; 2]) {
        let number = &mut self.numbers[usize::from(writer)];
        *number += 1;
        let arrived = Arrived {
            sequence: SequenceNumber(*number),
            kind,
            payload: &[0, 1, 0, 0, key, value],
            inline: InlineQos::default(),
            time: None,
            at: at(ms),
        };
        self.reader.on_data(at(ms), guid(writer), &arrived);
    }

    /// Takes the waiting samples: values, or else instance states.
    fn taken(&mut self, ms: i64) -> Vec<Result<u8, InstanceState>> {
        let next =
            || {
                self.reader.take(at(ms), |info, payload, _| {
                    if info.is_valid { Ok(payload[5]) } else { Err(info.state) }
                })
            };
        core::iter::from_fn(next).collect()
    }
}

#[test]
fn a_standby_takes_over_at_once_when_the_owner_ends() {
    // Oracle: D3 by hand; the last sample of the strongest standby is still valid.
    for (kind, ends) in [
        (ChangeKind::Unregistered, vec![]),
        (ChangeKind::DisposedUnregistered, vec![Err(InstanceState::Disposed)]),
    ] {
        let mut bed = Bed::new(ResourceLimits::default());
        bed.write(0, 3, ChangeKind::Alive, [1, 30]);
        bed.write(10, 1, ChangeKind::Alive, [1, 10]);
        bed.write(10, 2, ChangeKind::Alive, [1, 20]);
        assert_eq!(bed.taken(10), [Ok(30)]);
        bed.write(20, 3, kind, [1, 0]);
        let mut expected = ends;
        expected.push(Ok(20));
        assert_eq!(bed.taken(20), expected, "{kind:?}");
        // It is now the owner, and the instance is alive.
        bed.write(30, 1, ChangeKind::Alive, [1, 11]);
        assert_eq!(bed.taken(30), []);
        bed.write(40, 2, ChangeKind::Unregistered, [1, 0]);
        assert_eq!(bed.taken(40), [Ok(11)], "{kind:?}");
    }
}

#[test]
fn a_weaker_writer_ends_only_what_it_has_said() {
    // Oracle: exclusive ownership (DDS 1.4, 2.2.3.9.2) by hand: only the owner may change an instance.
    let mut bed = Bed::new(ResourceLimits::default());
    bed.write(0, 3, ChangeKind::Alive, [1, 30]);
    bed.write(10, 2, ChangeKind::Alive, [1, 20]);
    bed.write(20, 2, ChangeKind::Disposed, [1, 0]);
    assert_eq!(bed.taken(20), [Ok(30)]);
    bed.write(30, 3, ChangeKind::Unregistered, [1, 0]);
    assert_eq!(bed.taken(30), [], "what stood by was disposed of");
}

#[test]
fn what_comes_of_itself_stays_within_the_limits() {
    // Oracle: a limit of two samples; the third is of a standby that is due, and waits.
    let limits = ResourceLimits { samples: Some(2), ..ResourceLimits::default() };
    let mut bed = Bed::new(limits);
    bed.write(0, 3, ChangeKind::Alive, [1, 30]);
    bed.write(10, 2, ChangeKind::Alive, [1, 20]);
    bed.write(10, 3, ChangeKind::Alive, [2, 31]);
    let mut silent = Vec::new();
    bed.reader.handle_timeout(at(105), &mut silent);
    assert_eq!(bed.reader.waiting(), 2);
    // No timer is set until there is room.
    let due = bed.reader.timer_at;
    assert!(due.is_none_or(|due| due > at(105)), "{due:?}");
    assert_eq!(bed.taken(106), [Ok(30), Ok(31), Ok(20)]);
}

#[test]
fn what_waited_for_its_time_never_comes_behind_what_is_newer() {
    // Oracle: a separation of 50 ms by hand; the next value arrives exactly when it ends.
    let limits = ResourceLimits::default();
    let mut bed = Bed::with(limits, Duration::from_ms(50));
    bed.write(0, 3, ChangeKind::Alive, [1, 1]);
    bed.write(10, 3, ChangeKind::Alive, [1, 2]);
    bed.write(50, 3, ChangeKind::Alive, [1, 3]);
    let mut silent = Vec::new();
    bed.reader.handle_timeout(at(50), &mut silent);
    bed.reader.handle_timeout(at(99), &mut silent);
    assert_eq!(bed.taken(99), [Ok(1), Ok(3)]);
    bed.write(99, 3, ChangeKind::Alive, [1, 4]);
    bed.write(100, 3, ChangeKind::Disposed, [1, 0]);
    bed.reader.handle_timeout(at(150), &mut silent);
    assert_eq!(bed.taken(150), [Err(InstanceState::Disposed)]);
}

#[test]
fn a_writer_that_sends_no_heartbeat_is_asked_by_number() {
    // Oracle: 8.4.12.2, a writer sends what is requested. An empty request need not be answered
    // before the next periodic heartbeat. Ten requests in all.
    let mut bed = Bed::new(ResourceLimits::default());
    let timing = ReaderTiming::default();
    let proxy = &mut bed.reader.proxies[0];
    let mut asked = Vec::new();
    while let Some(due) = proxy.ack_at {
        let (ack, _) = proxy.acknowledge(due, EntityId::reader(1, true), 1, &timing);
        assert!(!ack.is_final);
        asked.push((due, ack.set.iter().collect::<Vec<_>>()));
    }
    let by_number = (1..10).map(|n| (at(250 * n), (1..=16).collect()));
    let mut expected = vec![(at(0), Vec::new())];
    expected.extend(by_number);
    expected.push((at(2_500), Vec::new()));
    assert_eq!(asked, expected);
}
