//! Invariants for arbitrary octets received as a message or as discovery data.

use rtether_rtps::discovery::{self, EndpointData, ParticipantData};
use rtether_rtps::guid::GuidPrefix;
use rtether_rtps::matching::{mismatches, partitions_match};
use rtether_rtps::wire::{
    Builder, Content, DataFrag, InlineQos, ParameterList, Submessage, VENDOR, VERSION, parse,
};

/// Checks octets in each role that they may have.
///
/// # Panics
/// An invariant is violated.
pub(crate) fn check(octets: &[u8]) {
    message(octets);
    // A valid header, so that the fuzzer need not find it.
    let header = [&b"RTPS"[..], &VERSION, &VENDOR, &[7; 12]].concat();
    message(&[&header, octets].concat());
    for is_little_endian in [false, true] {
        if let Ok((list, rest)) = ParameterList::split(octets, is_little_endian) {
            assert!(rest.len() < octets.len());
            parameters(list);
        }
        let encapsulation = [0, if is_little_endian { 3 } else { 2 }, 0, 0];
        announcement(&[&encapsulation, octets].concat());
    }
}

fn message(octets: &[u8]) {
    let Ok(message) = parse(octets) else { return };
    let mut has_failed = false;
    for (count, part) in message.submessages().enumerate() {
        assert!(!has_failed, "nothing follows an error");
        // Each has a header of four octets.
        assert!(count < octets.len() / 4);
        match part {
            Ok(part) => submessage(&part),
            Err(_) => has_failed = true,
        }
    }
}

/// A value is written back as it was read; a slice into the datagram has the announced length.
fn submessage(part: &Submessage<'_>) {
    let mut buffer = Vec::new();
    let mut builder = Builder::new(&mut buffer, GuidPrefix::UNKNOWN, 1_000);
    let is_written = match part {
        Submessage::Data(data) => {
            assert!(data.sequence.is_valid());
            parameters(data.inline_qos);
            if let Content::Data(payload) | Content::Key(payload) = data.content {
                assert!(payload.len() >= 4);
                announcement(payload);
            }
            return;
        }
        Submessage::DataFrag(data) => return fragments(data),
        Submessage::InfoReply { unicast, multicast } => {
            assert!(unicast.iter().chain(multicast.iter()).count() <= 65_535 / 24);
            return;
        }
        Submessage::Heartbeat(heartbeat) => builder.heartbeat(heartbeat),
        Submessage::HeartbeatFrag(heartbeat) => builder.heartbeat_frag(heartbeat),
        Submessage::AckNack(ack_nack) => builder.ack_nack(ack_nack),
        Submessage::NackFrag(nack_frag) => builder.nack_frag(nack_frag),
        Submessage::Gap(gap) => {
            assert!(gap.start.0 <= gap.set.base());
            builder.gap(gap)
        }
        Submessage::InfoTimestamp(time) => builder.info_timestamp(*time),
        Submessage::InfoDestination(prefix) => builder.info_destination(*prefix),
        Submessage::InfoSource(_) | Submessage::Pad | Submessage::Unknown(_) => return,
    };
    assert!(is_written);
    let message = parse(&buffer).expect("what was written");
    let again: Vec<_> = message.submessages().collect();
    assert_eq!(format!("{again:?}"), format!("[Ok({part:?})]"));
}

fn fragments(data: &DataFrag<'_>) {
    let (size, count) = (usize::from(data.fragment_size), usize::from(data.fragments));
    let last = u64::from(data.first_fragment) - 1 + u64::from(data.fragments);
    assert!(data.payload.len() <= size * count);
    assert!(data.payload.len() > size * (count - 1));
    assert!(last <= u64::from(data.sample_size).div_ceil(u64::from(data.fragment_size)));
    parameters(data.inline_qos);
}

fn parameters(list: ParameterList<'_>) {
    for parameter in list {
        let parameter = parameter.expect("the list has been walked through");
        let _ = (parameter.u16(), parameter.i32(), parameter.duration());
        let _ = (parameter.locator(), parameter.guid(), parameter.is_true());
        if let Ok(octets) = parameter.octets() {
            assert!(octets.len() + 4 <= parameter.value.len());
        }
        if let Ok(text) = parameter.string() {
            assert!(text.len() <= parameter.value.len());
        }
    }
    let _ = InlineQos::read(list);
}

fn announcement(payload: &[u8]) {
    if let Ok(data) = ParticipantData::decode(payload) {
        let mut again = Vec::new();
        data.encode(&mut again);
        assert_eq!(discovery::decode_key(&again), Ok(data.guid()));
        assert_eq!(ParticipantData::decode(&again), Ok(data));
    }
    let [offered, requested] = [true, false].map(|is_writer| {
        let data = EndpointData::decode(payload, is_writer).ok()?;
        let mut again = Vec::new();
        data.encode(&mut again, is_writer);
        let read = EndpointData::decode(&again, is_writer).expect("what was written");
        assert_eq!(read.guid, data.guid);
        assert_eq!(read.qos.partitions, data.qos.partitions);
        Some(data.qos)
    });
    if let (Some(offered), Some(requested)) = (offered, requested) {
        let _ = mismatches(&offered, &requested);
        let _ = partitions_match(&offered.partitions, &requested.partitions);
    }
}
