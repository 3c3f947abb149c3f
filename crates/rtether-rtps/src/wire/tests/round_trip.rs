//! Oracle: reading returns what was written.

use super::*;

fn entity() -> impl Strategy<Value = EntityId> {
    any::<[u8; 4]>().prop_map(EntityId)
}

fn number() -> impl Strategy<Value = SequenceNumber> {
    prop_oneof![1_i64..1_000, 1..=SequenceNumber::MAX.0].prop_map(SequenceNumber)
}

fn set(base: impl Strategy<Value = i64>) -> impl Strategy<Value = NumberSet> {
    (base, prop::collection::vec(0_i64..256, 0..20)).prop_map(|(base, offsets)| {
        let mut set = NumberSet::empty(base);
        for offset in offsets {
            assert!(set.insert(base + offset));
        }
        set
    })
}

fn qos() -> impl Strategy<Value = InlineQos> {
    let lifespan = prop::option::of((0_i64..1 << 60).prop_map(Duration::from_ns));
    let set = prop::option::of(prop_oneof![number(), Just(SequenceNumber::UNKNOWN)]);
    let numbers = (prop::option::of(number()), prop::option::of(number()));
    let octets = any::<(Option<[u8; 16]>, bool, bool, Option<[u8; 4]>)>();
    (octets, lifespan, set, numbers).prop_map(
        |(
            (key_hash, is_disposed, is_unregistered, group_digest),
            lifespan,
            coherent_set,
            numbers,
        )| InlineQos {
            key_hash,
            status: Status { is_disposed, is_unregistered },
            lifespan,
            coherent_set,
            group_sequence: numbers.0,
            group_set: numbers.1,
            group_digest,
        },
    )
}

/// Writes one submessage, checks that it is written only where it fits and that no truncation is
/// accepted, and passes it to `check`.
fn one(size: usize, write: impl Fn(&mut Builder<'_>) -> bool, check: impl Fn(Submessage<'_>)) {
    let mut buffer = Vec::with_capacity(HEADER_SIZE + size);
    let start = buffer.as_ptr();
    let mut short = Builder::new(&mut buffer, PREFIX, HEADER_SIZE + size - 1);
    assert!(!write(&mut short));
    assert!(short.is_empty());
    let mut builder = Builder::new(&mut buffer, PREFIX, HEADER_SIZE + size);
    assert!(write(&mut builder));
    assert_eq!((builder.room(), builder.len()), (0, HEADER_SIZE + size));
    assert!(!builder.info_timestamp(None));
    assert_eq!(buffer.as_ptr(), start, "nothing is allocated");
    check(only(&buffer).unwrap());
    for len in HEADER_SIZE + 1..buffer.len() {
        assert!(only(&buffer[..len]).is_err());
    }
}

proptest! {
    #[test]
    fn data_comes_back(
        (reader, writer, sequence) in (entity(), entity(), number()),
        qos in qos(),
        payload in prop::collection::vec(any::<u8>(), 4..60),
        kind in 0..3,
    ) {
        let content = match kind {
            0 => Content::None,
            1 => Content::Data(&payload),
            _ => Content::Key(&payload),
        };
        let len = if kind == 0 { 0 } else { payload.len() };
        one(
            data_size(&qos, len),
            |builder| builder.data(reader, writer, sequence, &qos, content),
            |part| {
                let Submessage::Data(data) = part else {
                    panic!("not DATA")
                };
                assert_eq!((data.reader, data.writer, data.sequence), (reader, writer, sequence));
                assert_eq!(InlineQos::read(data.inline_qos), Ok(qos));
                match (content, data.content) {
                    (Content::Data(sent), Content::Data(read))
                    | (Content::Key(sent), Content::Key(read)) => {
                        assert_eq!(&read[..sent.len()], sent);
                        assert!(read.len() < sent.len() + 4);
                    }
                    (sent, read) => assert_eq!(sent, read),
                }
            },
        );
    }

    #[test]
    fn fragments_come_back(
        (reader, writer, sequence) in (entity(), entity(), number()),
        qos in qos(),
        sample in prop::collection::vec(any::<u8>(), 4..60),
        size in 1_u16..20,
        is_key: bool,
    ) {
        let size = size.min(u16::try_from(sample.len()).unwrap());
        let mut joined = Vec::new();
        for number in 1.. {
            let fragment = Fragment { number, size, sample: &sample, is_key };
            let Some(octets) = fragment.octets() else { break };
            joined.extend_from_slice(octets);
            one(
                data_frag_size(&qos, octets.len()),
                |builder| builder.data_frag(reader, writer, sequence, &qos, fragment),
                |part| {
                    let Submessage::DataFrag(data) = part else {
                        panic!("not DATA_FRAG")
                    };
                    assert_eq!((data.reader, data.writer), (reader, writer));
                    assert_eq!(data.sequence, sequence);
                    assert_eq!((data.first_fragment, data.fragments), (number, 1));
                    assert_eq!(data.fragment_size, size);
                    assert_eq!(data.sample_size, u32::try_from(sample.len()).unwrap());
                    assert_eq!(InlineQos::read(data.inline_qos), Ok(qos));
                    assert_eq!((data.payload, data.is_key), (octets, is_key));
                },
            );
        }
        prop_assert_eq!(joined, sample);
    }

    #[test]
    fn heartbeats_come_back(
        (reader, writer, first) in (entity(), entity(), number()),
        more in -1_i64..1_000,
        (count, is_final, is_liveliness) in any::<(i32, bool, bool)>(),
        last_fragment in 1_u32..,
    ) {
        let last = SequenceNumber((first.0 + more).min(SequenceNumber::MAX.0));
        let sent = Heartbeat { reader, writer, first, last, count, is_final, is_liveliness };
        one(32, |builder| builder.heartbeat(&sent), |part| {
            assert!(matches!(part, Submessage::Heartbeat(read) if read == sent));
        });
        let sent = HeartbeatFrag { reader, writer, sequence: first, last_fragment, count };
        one(28, |builder| builder.heartbeat_frag(&sent), |part| {
            assert!(matches!(part, Submessage::HeartbeatFrag(read) if read == sent));
        });
    }

    #[test]
    fn answers_and_gaps_come_back(
        (reader, writer, sequence) in (entity(), entity(), number()),
        numbers in set(0..=SequenceNumber::MAX.0),
        fragments in set(1_i64..=i64::from(u32::MAX)),
        (count, is_final) in any::<(i32, bool)>(),
    ) {
        let words = 4 * numbers.words().len();
        let sent = AckNack { reader, writer, set: numbers, count, is_final };
        one(28 + words, |builder| builder.ack_nack(&sent), |part| {
            assert!(matches!(part, Submessage::AckNack(read) if read == sent));
        });
        let start = SequenceNumber(sequence.0.min(numbers.base()).max(1));
        let gap_set = if numbers.base() == 0 { NumberSet::empty(1) } else { numbers };
        let words = 4 * gap_set.words().len();
        let sent = Gap { reader, writer, start, set: gap_set };
        one(32 + words, |builder| builder.gap(&sent), |part| {
            assert!(matches!(part, Submessage::Gap(read) if read == sent));
        });
        let words = 4 * fragments.words().len();
        let sent = NackFrag { reader, writer, sequence, set: fragments, count };
        one(32 + words, |builder| builder.nack_frag(&sent), |part| {
            assert!(matches!(part, Submessage::NackFrag(read) if read == sent));
        });
    }

    #[test]
    fn times_and_destinations_come_back(ns in 0_i64..1 << 61, prefix: [u8; 12]) {
        let time = WallTime::from_ns(ns);
        one(12, |builder| builder.info_timestamp(Some(time)), |part| {
            assert!(matches!(part, Submessage::InfoTimestamp(Some(read)) if read == time));
        });
        one(16, |builder| builder.info_destination(GuidPrefix(prefix)), |part| {
            assert!(matches!(part, Submessage::InfoDestination(read) if read.0 == prefix));
        });
    }
}

#[test]
fn parts_follow_one_another() {
    let mut buffer = Vec::new();
    let mut builder = Builder::new(&mut buffer, PREFIX, 1_000);
    assert!(builder.info_timestamp(None));
    assert!(builder.info_destination(PREFIX));
    let content = Content::Data(&[0, 1, 0, 0, 1]);
    let qos = InlineQos::default();
    assert!(builder.data(READER, WRITER, SequenceNumber::FIRST, &qos, content));
    assert!(builder.data(READER, WRITER, SequenceNumber(2), &qos, Content::None));
    let parts = read(&buffer);
    assert_eq!(parts.len(), 4);
    assert!(parts.iter().all(Result::is_ok));
    // Content longer than the length field can express is not written.
    let mut builder = Builder::new(&mut buffer, PREFIX, 100_000);
    let long = std::vec![0; 70_000];
    assert!(!builder.data(READER, WRITER, SequenceNumber(2), &qos, Content::Data(&long)));
    assert!(builder.is_empty());
}
