//! Encoding of messages of the kernel's routing socket (`rtnetlink`, rtnetlink(7)).
//!
//! All numbers are in host byte order; attributes are aligned to four octets.

/// Length of the header: length, type, flags, sequence number, port.
pub(super) const HEADER: usize = 16;
/// Length of an attribute's header: length and type.
const ATTRIBUTE: usize = 4;
/// Mask for an attribute's type without its flags (`NLA_F_NESTED`, `NLA_F_NET_BYTEORDER`).
const TYPE_MASK: u16 = 0x3FFF;

/// `struct tcmsg`: the start of messages about queues, classes and filters.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Traffic {
    /// Number of the device.
    pub(super) device: i32,
    /// Handle of the object.
    pub(super) handle: u32,
    /// Handle of its parent.
    pub(super) parent: u32,
    /// For a filter: preference and protocol.
    pub(super) info: u32,
}

impl Traffic {
    const LENGTH: usize = 20;

    fn octets(self) -> [u8; Self::LENGTH] {
        let mut octets = [0; Self::LENGTH];
        octets[4..8].copy_from_slice(&self.device.to_ne_bytes());
        octets[8..12].copy_from_slice(&self.handle.to_ne_bytes());
        octets[12..16].copy_from_slice(&self.parent.to_ne_bytes());
        octets[16..].copy_from_slice(&self.info.to_ne_bytes());
        octets
    }

    /// Reads it from the body of a message; also returns the rest.
    pub(super) fn split(body: &[u8]) -> Option<(Self, &[u8])> {
        let (head, rest) = body.split_at_checked(Self::LENGTH)?;
        let this = Self {
            device: i32::from_ne_bytes(*head[4..].first_chunk()?),
            handle: number(head, 8)?,
            parent: number(head, 12)?,
            info: number(head, 16)?,
        };
        Some((this, rest))
    }
}

/// A message under construction.
#[derive(Clone, Debug)]
pub(super) struct Message(Vec<u8>);

impl Message {
    /// Starts a message.
    pub(super) fn new(kind: u16, flags: u16, body: &[u8]) -> Self {
        let mut octets = vec![0; HEADER];
        octets[4..6].copy_from_slice(&kind.to_ne_bytes());
        octets[6..8].copy_from_slice(&flags.to_ne_bytes());
        octets.extend(body);
        Self(octets)
    }

    /// Starts a message about queues, classes or filters.
    pub(super) fn traffic(kind: u16, flags: u16, about: Traffic) -> Self {
        Self::new(kind, flags, &about.octets())
    }

    /// Adds an attribute.
    pub(super) fn attribute(mut self, kind: u16, value: &[u8]) -> Self {
        self.begin(kind, value.len());
        self.0.extend(value);
        self.pad();
        self
    }

    /// Adds a text attribute.
    pub(super) fn text(self, kind: u16, text: &str) -> Self {
        let octets = [text.as_bytes(), &[0]].concat();
        self.attribute(kind, &octets)
    }

    /// Adds a nested attribute.
    pub(super) fn nest(mut self, kind: u16, inner: impl FnOnce(Self) -> Self) -> Self {
        let start = self.0.len();
        self.begin(kind, 0);
        let mut this = inner(self);
        let length = u16::try_from(this.0.len() - start).unwrap_or(u16::MAX);
        this.0[start..start + 2].copy_from_slice(&length.to_ne_bytes());
        this
    }

    fn begin(&mut self, kind: u16, length: usize) {
        let length = u16::try_from(ATTRIBUTE + length).unwrap_or(u16::MAX);
        self.0.extend(length.to_ne_bytes());
        self.0.extend(kind.to_ne_bytes());
    }

    fn pad(&mut self) {
        self.0.resize(self.0.len().next_multiple_of(4), 0);
    }

    /// Returns the octets, with this sequence number.
    pub(super) fn finish(mut self, sequence: u32) -> Vec<u8> {
        let length = u32::try_from(self.0.len()).unwrap_or(u32::MAX);
        self.0[..4].copy_from_slice(&length.to_ne_bytes());
        self.0[8..12].copy_from_slice(&sequence.to_ne_bytes());
        self.0
    }
}

/// A received message.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Received<'a> {
    pub(super) kind: u16,
    pub(super) sequence: u32,
    pub(super) body: &'a [u8],
}

/// Returns the messages of a datagram; a truncated one is left out.
pub(super) fn messages(mut octets: &[u8]) -> impl Iterator<Item = Received<'_>> {
    std::iter::from_fn(move || {
        let length = usize::try_from(number(octets, 0)?).ok()?;
        let kind = u16::from_ne_bytes(*octets.get(4..)?.first_chunk()?);
        let sequence = number(octets, 8)?;
        let body = octets.get(HEADER..length)?;
        octets = octets.get(length.next_multiple_of(4)..).unwrap_or_default();
        Some(Received { kind, sequence, body })
    })
}

/// Returns the value of the first attribute of this kind.
pub(super) fn find(attributes: &[u8], kind: u16) -> Option<&[u8]> {
    let mut rest = attributes;
    loop {
        let length = usize::from(u16::from_ne_bytes(*rest.first_chunk()?));
        let found = u16::from_ne_bytes(*rest.get(2..)?.first_chunk()?) & TYPE_MASK;
        let value = rest.get(ATTRIBUTE..length)?;
        if found == kind {
            return Some(value);
        }
        rest = rest.get(length.next_multiple_of(4)..)?;
    }
}

/// Returns the text of an attribute.
pub(super) fn text(value: &[u8]) -> String {
    let end = value.iter().position(|&octet| octet == 0);
    String::from_utf8_lossy(&value[..end.unwrap_or(value.len())]).into_owned()
}

/// Returns the 32-bit number at an offset.
pub(super) fn number(octets: &[u8], offset: usize) -> Option<u32> {
    let chunk = octets.get(offset..)?.first_chunk()?;
    Some(u32::from_ne_bytes(*chunk))
}

/// Returns the 64-bit number at an offset.
pub(super) fn long(octets: &[u8], offset: usize) -> Option<u64> {
    let chunk = octets.get(offset..)?.first_chunk()?;
    Some(u64::from_ne_bytes(*chunk))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_written_is_read() {
        // Oracle: rtnetlink(7), by hand: 16 + 20 + (4 + 3 + 1) + (4 + (4 + 4)) octets.
        let about = Traffic { device: 3, handle: 0x5254_0001, parent: 0xFFFF_FFFF, info: 7 };
        let message = Message::traffic(40, 5, about).text(1, "ab");
        let message = message.nest(2, |inner| inner.attribute(1, &9_u32.to_ne_bytes()));
        let octets = message.finish(77);
        assert_eq!(octets.len(), 16 + 20 + 8 + 12);
        let twice = [&octets[..], &octets[..], &octets[..20]].concat();
        let found: Vec<Received> = messages(&twice).collect();
        assert_eq!(found.len(), 2);
        assert_eq!((found[1].kind, found[1].sequence), (40, 77));
        let (seen, attributes) = Traffic::split(found[1].body).unwrap();
        assert_eq!(seen, about);
        assert_eq!(find(attributes, 1).map(text).as_deref(), Some("ab"));
        let inner = find(attributes, 2).unwrap();
        let value = find(inner, 1).and_then(|value| number(value, 0));
        assert_eq!(value, Some(9));
        assert_eq!(find(attributes, 3), None);
    }

    #[test]
    fn what_is_cut_off_is_not_read() {
        let octets = Message::traffic(40, 5, Traffic::default()).text(1, "abcdefg").finish(1);
        for length in 0..octets.len() {
            let cut = &octets[..length];
            assert_eq!(messages(cut).count(), 0);
            let attributes = cut.get(HEADER..).and_then(Traffic::split);
            let found = attributes.and_then(|(_, rest)| find(rest, 1));
            assert_eq!(found, None);
        }
        // A length of zero must not loop forever.
        assert_eq!(messages(&[0; 64]).count(), 0);
        assert_eq!(find(&[0; 64], 1), None);
    }
}
