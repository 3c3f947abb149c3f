//! RTPS datagrams in packets, and what their contents tell.

use alloc::sync::Arc;

use rtether_rtps::guid::{EntityId, Guid, GuidPrefix};
use rtether_rtps::wire::{self, Submessage, v1};

use crate::observe::Datagram;
use crate::trace::frame;

/// The datagram in a packet.
#[derive(Clone)]
pub(crate) struct Message {
    pub(crate) octets: Arc<[u8]>,
    /// Differentiated services code point.
    pub(crate) dscp: u8,
    /// Destination port.
    pub(crate) port: u16,
    /// Whether it carries a sample of an application, or a part of one.
    pub(crate) is_sample: bool,
    /// Application writer it is from or for; `None` in discovery.
    pub(crate) writer: Option<Guid>,
}

impl Message {
    /// Parses a datagram sent by a participant to another one; where the message itself names its
    /// destination, that counts.
    pub(crate) fn new(octets: &[u8], [from, to]: [GuidPrefix; 2], dscp: u8, port: u16) -> Self {
        let mut message =
            Self { octets: Arc::from(octets), dscp, port, is_sample: false, writer: None };
        if let Ok(parsed) = wire::parse(octets) {
            message.read(parsed, from, to);
        } else if let Ok(parsed) = v1::parse(octets) {
            message.read_v1(parsed, from, to);
        }
        message
    }

    /// Creates a message that is no datagram of RTPS.
    pub(crate) fn plain(octets: &[u8]) -> Self {
        Self { octets: Arc::from(octets), dscp: 0, port: 0, is_sample: false, writer: None }
    }

    fn read(&mut self, parsed: wire::Message<'_>, from: GuidPrefix, mut to: GuidPrefix) {
        for submessage in parsed.submessages().flatten() {
            match submessage {
                Submessage::InfoDestination(prefix) => to = prefix,
                Submessage::Data(data) => self.note(from, data.writer, true),
                Submessage::DataFrag(data) => self.note(from, data.writer, true),
                Submessage::Heartbeat(heartbeat) => self.note(from, heartbeat.writer, false),
                Submessage::HeartbeatFrag(heartbeat) => self.note(from, heartbeat.writer, false),
                Submessage::Gap(gap) => self.note(from, gap.writer, false),
                Submessage::AckNack(acknowledgment) => self.note(to, acknowledgment.writer, false),
                Submessage::NackFrag(acknowledgment) => self.note(to, acknowledgment.writer, false),
                Submessage::InfoTimestamp(_)
                | Submessage::InfoSource(_)
                | Submessage::InfoReply { .. }
                | Submessage::Pad
                | Submessage::Unknown(_) => {}
            }
        }
    }

    fn read_v1(&mut self, parsed: v1::Message<'_>, from: GuidPrefix, mut to: GuidPrefix) {
        for submessage in parsed.submessages().flatten() {
            match submessage {
                v1::Submessage::InfoDestination(source) => to = source.prefix(),
                v1::Submessage::Issue(issue) => self.note(from, issue.writer, true),
                v1::Submessage::Heartbeat(heartbeat) => self.note(from, heartbeat.writer, false),
                v1::Submessage::Gap(gap) => self.note(from, gap.writer, false),
                v1::Submessage::Ack(ack) => self.note(to, ack.writer, false),
                v1::Submessage::Var(_)
                | v1::Submessage::InfoTimestamp(_)
                | v1::Submessage::InfoSource { .. }
                | v1::Submessage::InfoReply { .. }
                | v1::Submessage::Pad
                | v1::Submessage::Unknown(_) => {}
            }
        }
    }

    /// Returns the description for observers.
    pub(crate) fn datagram(&self) -> Datagram<'_> {
        Datagram {
            octets: &self.octets,
            ports: [frame::RTPS_PORT, self.port],
            dscp: self.dscp,
            is_discovery: self.writer.is_none(),
        }
    }

    fn note(&mut self, prefix: GuidPrefix, writer: EntityId, is_sample: bool) {
        if !writer.is_built_in() {
            self.writer = Some(Guid::new(prefix, writer));
            self.is_sample |= is_sample;
        }
    }
}
