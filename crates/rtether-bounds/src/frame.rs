//! A frame on its path: size, tag and priority, and how each switch changes them (IEEE 802.1Q-2022,
//! 6.9 and 8.6).

use rtether_model::flow::{Flow, Traffic};
use rtether_model::network::{PortVlan, Switch, TagHandling, Vid};
use rtether_model::quantity::Bytes;
use rtether_model::wire::{self, Encapsulation};

/// Octets of an untagged frame around its IP datagram: header and frame check sequence.
pub(crate) const AROUND: i64 = 18;
/// Octets after which a cut-through switch knows the egress port: preamble and header (catalogue
/// 0.2).
pub(crate) const HEADER: i64 = 22;
/// Preamble and start frame delimiter.
pub(crate) const PREAMBLE: i64 = 8;
const OVERHEAD: i64 = 20;
const _: () = assert!(
    wire::PREAMBLE.get() == 8
        && wire::GAP.get() == 12
        && wire::HEADER.get() == 14
        && wire::MIN_FRAME.get() == 64,
    "the constants above are those of the wire"
);

/// Returns the octets for which a frame occupies a link.
pub(crate) const fn wire_octets(frame: i64) -> i64 {
    frame + OVERHEAD
}

/// Kind of packet by which a stack charges its costs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    /// Not TCP.
    Datagram,
    /// TCP segments of the talker of a file, with data or without.
    File,
    /// TCP acknowledgements of the listener of a file.
    Acknowledgement,
    /// TCP segments of a connection for messages, with data or without.
    Message,
    /// Segments with data of such a connection, where each message leaves at once.
    Part,
    /// Segments without data of such a connection, by its talker or not.
    Pure { is_of_talker: bool },
}

/// A frame of one direction of a flow, between its smallest and its largest size.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Frame {
    /// Octets of the smallest and of the largest frame without tag.
    pub(crate) sizes: [i64; 2],
    /// Frames sent at once: the fragments of a datagram, the segments of a message.
    pub(crate) count: i64,
    /// Whether packets may leave a task closer together than its work takes: fragments, and RTPS
    /// messages other than samples, which pass no task.
    pub(crate) overtakes_tasks: bool,
    pub(crate) kind: Kind,
    pub(crate) is_tagged: bool,
    pub(crate) pcp: u8,
    /// Code point of differentiated services that a rule has given.
    pub(crate) remarked: Option<u8>,
    vid: u16,
}

impl Frame {
    /// Returns the same without a tag.
    pub(crate) const fn untagged(self) -> Self {
        Self { is_tagged: false, ..self }
    }

    /// Returns the frame that the talker of a flow sends, or with which a listener answers.
    pub(crate) fn of(flow: &Flow, is_reply: bool) -> Self {
        let segments = |segment| {
            let largest = wire::frame_size(segment, Encapsulation::Tcp);
            [wire::MIN_FRAME, largest]
        };
        let mut count = 1;
        let (sizes, kind) = if let Some(tcp) = flow.connection {
            (segments(tcp.segment), Kind::Message)
        } else if let Traffic::Bulk(bulk) = &flow.traffic {
            if is_reply {
                ([wire::MIN_FRAME; 2], Kind::Acknowledgement)
            } else {
                (segments(bulk.tcp.segment), Kind::File)
            }
        } else if flow.is_published() {
            // Samples, heartbeats, acknowledgements, discovery.
            let most = Encapsulation::Udp.max_payload();
            let largest = wire::frame_size(most, Encapsulation::Udp);
            ([wire::MIN_FRAME, largest], Kind::Datagram)
        } else {
            let payload = match flow.reply {
                Some(reply) if is_reply => reply.payload,
                _ => flow.payload,
            };
            let frames = flow.frames(payload);
            count = i64::from(frames.count);
            let [full, last] = [frames.full, frames.last];
            ([full.min(last), full.max(last)], Kind::Datagram)
        };
        Self {
            sizes: sizes.map(octets),
            count,
            overtakes_tasks: count > 1 || flow.is_published(),
            kind,
            is_tagged: flow.tag.is_some(),
            pcp: flow.tag.map_or(0, |tag| tag.pcp.get()),
            remarked: None,
            vid: flow.tag.map_or(0, |tag| tag.vid.get()),
        }
    }

    /// Returns the segments of a message, or of its answer, that leave at once.
    pub(crate) fn parts(flow: &Flow, is_reply: bool) -> Self {
        let payload = match flow.reply {
            Some(reply) if is_reply => reply.payload,
            _ => flow.payload,
        };
        let frames = flow.frames(payload);
        Self {
            sizes: [frames.full.min(frames.last), frames.full].map(octets),
            count: i64::from(frames.count),
            overtakes_tasks: false,
            kind: Kind::Part,
            ..Self::of(flow, is_reply)
        }
    }

    /// Returns the acknowledgements without data for this many segments.
    pub(crate) fn pure(flow: &Flow, is_of_talker: bool, count: i64) -> Self {
        Self {
            sizes: [wire::MIN_FRAME; 2].map(octets),
            count,
            kind: Kind::Pure { is_of_talker },
            ..Self::of(flow, !is_of_talker)
        }
    }

    /// Returns the smallest frame, otherwise the same.
    pub(crate) const fn smallest(self) -> Self {
        Self { sizes: [64; 2], ..self }
    }

    /// Adds what a station in two networks appends.
    pub(crate) fn lengthen(&mut self, trailer: Bytes) {
        self.sizes = self.sizes.map(|size| size + octets(trailer));
    }

    /// Takes off what a station in two networks has appended.
    pub(crate) fn shorten(&mut self, trailer: Bytes) {
        self.sizes = self.sizes.map(|size| size - octets(trailer));
    }

    /// Returns the frame with priority zero.
    pub(crate) const fn without_priority(self) -> Self {
        Self { pcp: 0, ..self }
    }

    /// Returns the octets that the tag adds.
    pub(crate) const fn tag_octets(&self) -> i64 {
        if self.is_tagged { 4 } else { 0 }
    }

    /// Returns the sizes on the link behind a port, tag included.
    pub(crate) fn tagged_sizes(&self) -> [i64; 2] {
        self.sizes.map(|size| size + self.tag_octets())
    }

    /// Arrives at a port of a switch; returns its VLAN, or `None` if the port does not admit it.
    pub(crate) fn enter(&mut self, switch: &Switch, port: u16) -> Option<Vid> {
        if !is_vlan_aware(switch) {
            if !self.is_tagged {
                // A tag taken off by an earlier switch took its priority with it.
                self.pcp = 0;
            }
            return Some(Vid::DEFAULT);
        }
        let port = &switch.ports[usize::from(port)];
        if !self.is_tagged {
            self.pcp = port.default_pcp.get();
            self.vid = Vid::PRIORITY_ONLY.get();
        }
        let vid = if self.vid == Vid::PRIORITY_ONLY.get() {
            port.vlan.vid_of_untagged()?
        } else {
            Vid::new(self.vid)?
        };
        port.vlan.admits(vid).then_some(vid)
    }

    /// Goes to an egress port of a switch; returns the frame as it leaves, or `None` if the port
    /// does not admit its VLAN.
    pub(crate) fn leave(mut self, switch: &Switch, port: u16, vid: Vid) -> Option<Self> {
        if is_vlan_aware(switch) {
            let vlan = &switch.ports[usize::from(port)].vlan;
            if !vlan.admits(vid) {
                return None;
            }
            if let Some(is_tagged) = vlan.sends_tagged(vid) {
                self.is_tagged = is_tagged;
                self.vid = vid.get();
            }
        }
        if switch.tags == TagHandling::Strip {
            self.is_tagged = false;
        }
        Some(self)
    }
}

fn octets(size: Bytes) -> i64 {
    i64::try_from(size.get()).unwrap_or(i64::MAX >> 32)
}

fn is_vlan_aware(switch: &Switch) -> bool {
    let is_plain = |port: &rtether_model::network::SwitchPort| {
        port.vlan == PortVlan::Transparent && port.default_pcp.get() == 0
    };
    !switch.ports.iter().all(is_plain)
}
