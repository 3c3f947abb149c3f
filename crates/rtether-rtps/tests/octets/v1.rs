//! Invariants for arbitrary octets received as a message of RTPS 1.0.

use rtether_rtps::wire::v1::{Builder, Submessage, parse};

/// Checks octets as a message, and behind a valid header, so that the fuzzer need not find it.
/// Returns whether they are a whole message.
///
/// # Panics
/// An invariant is violated.
pub(crate) fn check(octets: &[u8]) -> bool {
    let header = b"RTPS\x01\x00\x00\x00\x0A\x4D\x00\x01\x00\x00\x07\x01";
    message(&[header.as_slice(), octets].concat());
    message(octets)
}

fn message(octets: &[u8]) -> bool {
    let Ok(message) = parse(octets) else {
        return false;
    };
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
    !has_failed
}

/// What is read is written, and read again as it was.
fn submessage(part: &Submessage<'_>) {
    match part {
        Submessage::Var(var) => {
            assert!(var.sequence.is_valid());
            for parameter in var.parameters.into_iter().flat_map(|list| list.iter()) {
                let _ = (parameter.u32(), parameter.string(), parameter.duration());
            }
        }
        Submessage::Issue(issue) => assert!(issue.sequence.is_valid()),
        Submessage::Heartbeat(heartbeat) => assert!(heartbeat.last.0 >= heartbeat.first.0 - 1),
        Submessage::Gap(gap) => assert!(gap.start.0 <= gap.set.base()),
        Submessage::Ack(ack) => {
            let missing = ack.missing();
            assert!(missing.iter().all(|number| !ack.set.contains(number)));
            assert_eq!(missing.base(), ack.set.base());
        }
        Submessage::InfoTimestamp(_)
        | Submessage::InfoSource { .. }
        | Submessage::InfoDestination(_)
        | Submessage::InfoReply { .. }
        | Submessage::Pad
        | Submessage::Unknown(_) => {}
    }
    let mut buffer = Vec::new();
    let header = parse(b"RTPS\x01\x00\x00\x00\x0A\x4D\x00\x01\x00\x00\x07\x01").expect("a header");
    let mut builder = Builder::new(&mut buffer, header.header().source, 70_000);
    if !write(&mut builder, part) {
        return;
    }
    let again: Vec<_> = parse(&buffer).expect("what was written").submessages().collect();
    assert_eq!(format!("{again:?}"), format!("[Ok({part:?})]"));
}

/// Writes a submessage as it was read; returns whether it is of a kind and byte order that this
/// implementation writes.
pub(crate) fn write(builder: &mut Builder<'_>, part: &Submessage<'_>) -> bool {
    match part {
        Submessage::Var(var) => builder.var(var),
        Submessage::Issue(issue) => builder.issue(issue),
        Submessage::Ack(ack) => builder.ack(ack),
        Submessage::Heartbeat(heartbeat) => builder.heartbeat(heartbeat),
        Submessage::Gap(gap) => builder.gap(gap),
        Submessage::InfoTimestamp(time) => builder.info_timestamp(*time),
        Submessage::InfoSource { address, header } => builder.info_source(*address, *header),
        Submessage::InfoDestination(to) => builder.info_destination(*to),
        Submessage::InfoReply { unicast, multicast } => builder.info_reply(*unicast, *multicast),
        Submessage::Pad | Submessage::Unknown(_) => false,
    }
}
