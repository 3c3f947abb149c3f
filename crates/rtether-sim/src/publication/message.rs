//! RTPS datagrams in packets, and what their contents tell.

use alloc::sync::Arc;

use rtether_rtps::guid::{EntityId, Guid, GuidPrefix};
use rtether_rtps::wire::{self, Submessage};

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
    pub(super) writer: Option<Guid>,
}

impl Message {
    /// Parses a datagram sent by participant `from`.
    pub(super) fn new(octets: &[u8], from: GuidPrefix, dscp: u8, port: u16) -> Self {
        let mut message = Self {
            octets: Arc::from(octets),
            dscp,
            port,
            is_sample: false,
            writer: None,
        };
        let Ok(parsed) = wire::parse(octets) else {
            return message;
        };
        let mut to = from;
        for submessage in parsed.submessages().flatten() {
            match submessage {
                Submessage::InfoDestination(prefix) => to = prefix,
                Submessage::Data(data) => message.note(from, data.writer, true),
                Submessage::DataFrag(data) => message.note(from, data.writer, true),
                Submessage::Heartbeat(heartbeat) => message.note(from, heartbeat.writer, false),
                Submessage::HeartbeatFrag(heartbeat) => {
                    message.note(from, heartbeat.writer, false);
                }
                Submessage::Gap(gap) => message.note(from, gap.writer, false),
                Submessage::AckNack(acknowledgment) => {
                    message.note(to, acknowledgment.writer, false);
                }
                Submessage::NackFrag(acknowledgment) => {
                    message.note(to, acknowledgment.writer, false);
                }
                Submessage::InfoTimestamp(_)
                | Submessage::InfoSource(_)
                | Submessage::InfoReply { .. }
                | Submessage::Pad
                | Submessage::Unknown(_) => {}
            }
        }
        message
    }

    /// Returns the description for observers.
    pub(crate) fn datagram(&self) -> Datagram<'_> {
        Datagram {
            octets: &self.octets,
            ports: [frame::RTPS_PORT, self.port],
            dscp: self.dscp,
        }
    }

    fn note(&mut self, prefix: GuidPrefix, writer: EntityId, is_sample: bool) {
        if !writer.is_built_in() {
            self.writer = Some(Guid::new(prefix, writer));
            self.is_sample |= is_sample;
        }
    }
}
