//! Captures made by hand, and the frames in them.

/// A pcap file in nanoseconds, in the order of octets of network protocols.
pub(crate) fn pcap(frames: &[(u64, Vec<u8>)]) -> Vec<u8> {
    let mut out = Vec::new();
    for number in [0xA1B2_3C4D_u32, 0x0002_0004, 0, 0, 262_144, 1] {
        out.extend(number.to_be_bytes());
    }
    for (ns, frame) in frames {
        let length = u32::try_from(frame.len()).expect("it fits");
        let seconds = u32::try_from(ns / 1_000_000_000).expect("it fits");
        let rest = u32::try_from(ns % 1_000_000_000).expect("it fits");
        for number in [seconds, rest, length, length] {
            out.extend(number.to_be_bytes());
        }
        out.extend(frame);
    }
    out
}

/// A block of pcapng in little endian.
fn block(out: &mut Vec<u8>, kind: u32, body: &[u8]) {
    let length = u32::try_from(body.len() + 12).expect("it fits");
    out.extend(kind.to_le_bytes());
    out.extend(length.to_le_bytes());
    out.extend(body);
    out.extend(length.to_le_bytes());
}

/// A pcapng file whose interfaces have these names and exponents of resolution; frames name theirs,
/// with a stamp in its units.
pub(crate) fn pcapng(interfaces: &[(&str, u8)], frames: &[(u32, u64, Vec<u8>)]) -> Vec<u8> {
    let mut out = Vec::new();
    let mut section = 0x1A2B_3C4D_u32.to_le_bytes().to_vec();
    section.extend([1, 0, 0, 0]);
    section.extend([0xff; 8]);
    block(&mut out, 0x0A0D_0D0A, &section);
    for (name, resolution) in interfaces {
        let mut body = vec![1, 0, 0, 0, 0, 0, 0, 0, 2, 0];
        body.extend(u16::try_from(name.len()).expect("it fits").to_le_bytes());
        body.extend(name.as_bytes());
        body.resize(body.len().next_multiple_of(4), 0);
        body.extend([9, 0, 1, 0, *resolution, 0, 0, 0, 0, 0, 0, 0]);
        block(&mut out, 1, &body);
    }
    for (interface, stamp, frame) in frames {
        let mut body = interface.to_le_bytes().to_vec();
        let [a, b, c, d, high @ ..] = stamp.to_le_bytes();
        body.extend(high);
        body.extend([a, b, c, d]);
        let length = u32::try_from(frame.len()).expect("it fits").to_le_bytes();
        body.extend(length);
        body.extend(length);
        body.extend(frame);
        body.resize(body.len().next_multiple_of(4), 0);
        block(&mut out, 6, &body);
    }
    out
}

/// A frame from station `from` to `to`, or to a group if that is above 255.
pub(crate) fn ethernet(from: u8, to: u16, tag: Option<u16>, kind: u16, inside: &[u8]) -> Vec<u8> {
    let [high, low] = to.to_be_bytes();
    let mut out = vec![if high > 0 { 3 } else { 2 }, 0, 0, 0, high, low];
    out.extend([2, 0, 0, 0, 0, from]);
    if let Some(tag) = tag {
        out.extend(0x8100_u16.to_be_bytes());
        out.extend(tag.to_be_bytes());
    }
    out.extend(kind.to_be_bytes());
    out.extend(inside);
    let least = if tag.is_some() { 64 } else { 60 };
    out.resize(out.len().max(least), 0);
    out
}

/// IPv4 between 10.0.0.FROM and 10.0.0.TO.
pub(crate) fn ipv4(from: u8, to: u8, protocol: u8, inside: &[u8]) -> Vec<u8> {
    let total = u16::try_from(20 + inside.len()).expect("it fits").to_be_bytes();
    let mut out = vec![0x45, 0, total[0], total[1], 0, 0, 0, 0, 64, protocol, 0, 0];
    out.extend([10, 0, 0, from, 10, 0, 0, to]);
    out.extend(inside);
    out
}

/// UDP with this payload.
pub(crate) fn udp(from: u16, to: u16, payload: &[u8]) -> Vec<u8> {
    let mut out = from.to_be_bytes().to_vec();
    out.extend(to.to_be_bytes());
    out.extend(u16::try_from(8 + payload.len()).expect("it fits").to_be_bytes());
    out.extend([0, 0]);
    out.extend(payload);
    out
}

/// An element of BER.
pub(crate) fn element(tag: u8, content: &[u8]) -> Vec<u8> {
    let mut out = vec![tag];
    if content.len() > 127 {
        out.push(0x81);
    }
    out.push(u8::try_from(content.len()).expect("it fits"));
    out.extend(content);
    out
}

/// What GOOSE and sampled values have before their message.
pub(crate) fn iec61850(application: u16, message: &[u8]) -> Vec<u8> {
    let mut out = application.to_be_bytes().to_vec();
    out.extend(u16::try_from(8 + message.len()).expect("it fits").to_be_bytes());
    out.extend([0; 4]);
    out.extend(message);
    out
}

/// Sampled values: one unit with this name and 64 octets of data.
pub(crate) fn samples(id: &str, count: u16) -> Vec<u8> {
    let unit = [
        element(0x80, id.as_bytes()),
        element(0x82, &count.to_be_bytes()),
        element(0x83, &[0, 0, 0, 1]),
        element(0x85, &[2]),
        element(0x87, &[0; 64]),
    ];
    let units = element(0x30, &unit.concat());
    element(0x60, &[element(0x80, &[1]), element(0xA2, &units)].concat())
}

/// A message of GOOSE.
pub(crate) fn goose(id: &str, state: u8, sequence: u16) -> Vec<u8> {
    let parts = [
        element(0x80, b"Relay1LD0/LLN0$GO$gcb1"),
        element(0x81, &[0x07, 0xD0]),
        element(0x82, b"Relay1LD0/LLN0$ds1"),
        element(0x83, id.as_bytes()),
        element(0x84, &[0; 8]),
        element(0x85, &[state]),
        element(0x86, &sequence.to_be_bytes()),
        element(0xAB, &element(0x83, &[1])),
    ];
    element(0x61, &parts.concat())
}
