//! Oracle: octets assembled from the layouts of 9.4.5.

use super::*;

/// Reader, writer, and sequence number 5, big-endian.
const HEAD_BE: [u8; 16] = [0, 0, 1, 7, 0, 0, 2, 2, 0, 0, 0, 0, 0, 0, 0, 5];
/// The same, little-endian.
const HEAD_LE: [u8; 16] = [0, 0, 1, 7, 0, 0, 2, 2, 0, 0, 0, 0, 5, 0, 0, 0];

#[test]
fn header_says_who_sent_it() {
    let octets = message(&[]);
    let message = parse(&octets).unwrap();
    assert_eq!(message.header().prefix, PREFIX);
    assert_eq!(message.header().version, [2, 5]);
    assert_eq!(message.header().vendor, [1, 0xFE]);
    assert!(message.submessages().next().is_none());
    // Oracle: 8.6; a later minor version is accepted, another major version is not.
    let mut octets = octets.clone();
    octets[5] = 9;
    assert!(parse(&octets).is_ok());
    octets[4] = 1;
    let error = Malformed::Version { major: 1, minor: 9 };
    assert_eq!(parse(&octets).unwrap_err(), error);
    octets[0] = b'r';
    assert_eq!(parse(&octets).unwrap_err(), Malformed::NotRtps);
}

#[test]
fn big_endian_data_with_inline_qos() {
    let qos = [0, 0x71, 0, 4, 0, 0, 0, 3, 0, 0, 0, 4, 9, 9, 9, 9, 0, 1, 0, 0];
    let body = join(&[&[0, 0, 0, 16], &HEAD_BE, &qos, &[0, 1, 0, 0, 7, 8, 9, 0]]);
    let octets = message(&part(0x15, 0x02 | 0x08, &body));
    let Ok(Submessage::Data(data)) = only(&octets) else { panic!("not DATA") };
    assert_eq!((data.reader, data.writer), (READER, WRITER));
    assert_eq!(data.sequence, SequenceNumber(5));
    assert_eq!(data.content, Content::Key(&[0, 1, 0, 0, 7, 8, 9, 0]));
    let qos = InlineQos::read(data.inline_qos).unwrap();
    assert!(qos.status.is_disposed && qos.status.is_unregistered);
    assert_eq!(data.inline_qos.iter().count(), 1, "paddings are skipped");
}

#[test]
fn fields_of_later_versions_before_the_inline_qos_are_skipped() {
    let qos = [1, 0, 0, 0];
    let body = join(&[&[0, 0, 20, 0], &HEAD_LE, &[6; 4], &qos, &[0, 1, 0, 0]]);
    let octets = message(&part(0x15, 0x01 | 0x02 | 0x04, &body));
    let Ok(Submessage::Data(data)) = only(&octets) else { panic!("not DATA") };
    assert_eq!(data.content, Content::Data(&[0, 1, 0, 0]));
    assert!(data.inline_qos.is_empty());
}

#[test]
fn length_zero_reaches_to_the_end_save_for_pad_and_info_ts() {
    // Oracle: 9.4.5.1.3.
    let body = join(&[&[0, 0, 16, 0], &HEAD_LE, &[0, 1, 0, 0, 1, 2, 3, 4]]);
    let data = join(&[&[0x15, 0x05, 0, 0], &body]);
    let octets = message(&join(&[&[0x01, 1, 0, 0], &[0x09, 3, 0, 0], &data]));
    let parts: Vec<_> = parse(&octets).unwrap().submessages().collect();
    let [Ok(Submessage::Pad), Ok(Submessage::InfoTimestamp(None)), Ok(Submessage::Data(data))] =
        parts.as_slice()
    else {
        panic!("{parts:?}")
    };
    assert_eq!(data.content, Content::Data(&[0, 1, 0, 0, 1, 2, 3, 4]));
}

#[test]
fn all_ones_are_no_time() {
    // Oracle: 9.3.2, the invalid time.
    let octets = message(&part(0x09, 0, &[0xFF; 8]));
    assert!(matches!(only(&octets), Ok(Submessage::InfoTimestamp(None))));
}

#[test]
fn big_endian_fragments_lose_their_padding() {
    // Fragments 2 and 3 of a sample of 11 octets in fragments of 4: octets 4 to 10.
    let numbers = [0, 0, 0, 2, 0, 2, 0, 4, 0, 0, 0, 11];
    let body = join(&[&[0, 0, 0, 28], &HEAD_BE, &numbers, &[4, 5, 6, 7, 8, 9, 10, 0]]);
    let octets = message(&part(0x16, 0x04, &body));
    let Ok(Submessage::DataFrag(data)) = only(&octets) else { panic!("not DATA_FRAG") };
    assert_eq!((data.first_fragment, data.fragments), (2, 2));
    assert_eq!((data.fragment_size, data.sample_size), (4, 11));
    assert_eq!(data.payload, [4, 5, 6, 7, 8, 9, 10]);
    assert!(data.is_key);
}

#[test]
fn big_endian_protocol_parts() {
    let heartbeat = join(&[&HEAD_BE, &[0, 0, 0, 1, 0, 0, 0, 2, 0xFF, 0xFF, 0xFF, 0xFF]]);
    let octets = message(&part(0x07, 0x02 | 0x04, &heartbeat));
    let Ok(Submessage::Heartbeat(heartbeat)) = only(&octets) else { panic!("not HEARTBEAT") };
    assert_eq!(heartbeat.first, SequenceNumber(5));
    assert_eq!(heartbeat.last, SequenceNumber((1 << 32) + 2));
    assert_eq!(heartbeat.count, -1);
    assert!(heartbeat.is_final && heartbeat.is_liveliness);

    let set = [0, 0, 0, 33, 0x80, 0, 0, 1, 0x80, 0, 0, 0];
    let ack_nack = join(&[&HEAD_BE, &set, &[0, 0, 0, 9]]);
    let octets = message(&part(0x06, 0x02, &ack_nack));
    let Ok(Submessage::AckNack(ack_nack)) = only(&octets) else { panic!("not ACKNACK") };
    assert_eq!(ack_nack.set.iter().collect::<Vec<_>>(), [5, 36, 37]);
    assert_eq!((ack_nack.count, ack_nack.is_final), (9, true));

    let gap = join(&[&HEAD_BE, &[0, 0, 0, 0, 0, 0, 0, 8], &set]);
    let octets = message(&part(0x08, 0, &gap));
    let Ok(Submessage::Gap(gap)) = only(&octets) else { panic!("not GAP") };
    assert_eq!(gap.start, SequenceNumber(5));
    assert_eq!(gap.set.iter().collect::<Vec<_>>(), [8, 39, 40]);

    let nack = join(&[&HEAD_BE, &[0, 0, 0, 8], &set, &[0, 0, 0, 9]]);
    let octets = message(&part(0x12, 0, &nack));
    let Ok(Submessage::NackFrag(nack)) = only(&octets) else { panic!("not NACK_FRAG") };
    assert_eq!(nack.set.iter().collect::<Vec<_>>(), [8, 39, 40]);

    let frag = join(&[&HEAD_BE, &[0, 0, 0, 8], &[0, 0, 0, 9]]);
    let octets = message(&part(0x13, 0, &frag));
    let Ok(Submessage::HeartbeatFrag(frag)) = only(&octets) else { panic!("not HEARTBEAT_FRAG") };
    assert_eq!((frag.last_fragment, frag.count), (8, 9));
}

#[test]
fn big_endian_parts_of_the_interpreter() {
    let source = join(&[&[0; 4], &[2, 3], &[1, 16], &PREFIX.0]);
    let address = [0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 10, 0, 0, 1];
    let locator = join(&[&[0, 0, 0, 1, 0, 0, 0x1C, 0xF2], &address]);
    let foreign = join(&[&[0, 0, 0, 16, 0, 0, 0x1C, 0xF2], &address]);
    let reply = join(&[&[0, 0, 0, 2], &foreign, &locator, &[0, 0, 0, 0]]);
    let octets = message(&join(&[
        &part(0x09, 0, &[0, 0, 0, 1, 0x80, 0, 0, 0]),
        &part(0x0E, 0, &PREFIX.0),
        &part(0x0C, 0, &source),
        &part(0x0F, 0x02, &reply),
        &part(0x80, 0, &[1, 2, 3, 4]),
    ]));
    let parts: Vec<_> = parse(&octets).unwrap().submessages().collect();
    let [
        Ok(Submessage::InfoTimestamp(Some(time))),
        Ok(Submessage::InfoDestination(PREFIX)),
        Ok(Submessage::InfoSource(source)),
        Ok(Submessage::InfoReply { unicast, multicast }),
        Ok(Submessage::Unknown(0x80)),
    ] = parts.as_slice()
    else {
        panic!("{parts:?}")
    };
    assert_eq!(time.as_ns(), 1_500_000_000);
    assert_eq!((source.version, source.vendor), ([2, 3], [1, 16]));
    let locators: Vec<_> = unicast.iter().map(|l| std::format!("{l}")).collect();
    assert_eq!(locators, ["udp 10.0.0.1:7410"]);
    assert_eq!(multicast.iter().count(), 0);
}

#[test]
fn written_octets() {
    let mut buffer = Vec::new();
    let mut builder = Builder::new(&mut buffer, PREFIX, 200);
    assert!(builder.is_empty());
    assert!(builder.info_timestamp(Some(WallTime::from_ns(1_500_000_000))));
    let qos = InlineQos {
        status: Status { is_disposed: true, is_unregistered: false },
        lifespan: Some(Duration::from_ms(2_500)),
        ..InlineQos::default()
    };
    let content = Content::Data(&[0, 1, 0, 0, 42]);
    assert!(builder.data(READER, WRITER, SequenceNumber(5), &qos, content));
    assert!(!builder.is_empty());
    let expected = message(&join(&[
        &[0x09, 1, 8, 0, 1, 0, 0, 0, 0, 0, 0, 0x80],
        &[0x15, 0x07, 52, 0, 0, 0, 16, 0],
        &HEAD_LE,
        &[0x71, 0, 4, 0, 0, 0, 0, 1],
        &[0x2B, 0, 8, 0, 2, 0, 0, 0, 0, 0, 0, 0x80],
        &[1, 0, 0, 0],
        &[0, 1, 0, 0, 42, 0, 0, 0],
    ]));
    assert_eq!(buffer, expected);
}

#[test]
fn what_a_sample_is_to_its_group() {
    // Oracle: 9.6.4.2 to 9.6.4.5 by hand, little-endian; sequence numbers below 1 are invalid.
    let qos = InlineQos {
        coherent_set: Some(SequenceNumber::UNKNOWN),
        group_set: Some(SequenceNumber(0x1_0000_0002)),
        group_sequence: Some(SequenceNumber(3)),
        group_digest: Some([1, 2, 3, 4]),
        ..InlineQos::default()
    };
    let mut octets = Vec::new();
    let mut message = Builder::new(&mut octets, PREFIX, 1_000);
    let entity = EntityId::UNKNOWN;
    assert!(message.data(entity, entity, SequenceNumber(1), &qos, Content::None));
    let inline = [
        [0x56, 0, 8, 0, 0xFF, 0xFF, 0xFF, 0xFF, 0, 0, 0, 0],
        [0x63, 0, 8, 0, 1, 0, 0, 0, 2, 0, 0, 0],
        [0x64, 0, 8, 0, 0, 0, 0, 0, 3, 0, 0, 0],
        [0x65, 0, 4, 0, 1, 2, 3, 4, 1, 0, 0, 0],
    ];
    assert_eq!(octets[HEADER_SIZE + 24..], *inline.as_flattened());
    for (id, is_set) in [(0x63, true), (0x64, false)] {
        for (number, is_there) in [(0_u32, None), (1, Some(SequenceNumber(1)))] {
            let octets = [[id, 0, 8, 0], [0; 4], number.to_le_bytes(), [1, 0, 0, 0]];
            let (list, _) = ParameterList::split(octets.as_flattened(), true).unwrap();
            let read = InlineQos::read(list)
                .map(|qos| if is_set { qos.group_set } else { qos.group_sequence });
            match is_there {
                Some(_) => assert_eq!(read, Ok(is_there)),
                None => assert!(read.is_err(), "{id:#x}"),
            }
        }
    }
}
