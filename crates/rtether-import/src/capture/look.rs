//! Frames one by one, as they come: what each says, and what a plant sends for a while.
//!
//! What compares traffic with a plan as it comes looks at frames as an import does. It keeps no
//! capture: a [`Learner`] takes frames for some time and says which streams became which flows, and
//! a [`Sight`] says to which stream a frame belongs.

use rtether_model::quantity::Bytes;
use rtether_model::wire::{Encapsulation, frame_size};

use super::draft::{self, Points};
use super::flows::{self, description};
use super::frame::{Frame, Over, Path, What, is_group};
use super::label;
use super::{Seen, plan};
use crate::options::Options;
use crate::plan::Plan;

/// Types of Ethernet that keep a network going: ARP, 802.1X, slow protocols, LLDP, PTP, media and
/// parallel redundancy, HSR.
const SERVICES: [u16; 8] = [0x0806, 0x888E, 0x8809, 0x88CC, 0x88F7, 0x88E3, 0x88FB, 0x892F];
/// Protocols over IP that do: options for routers, behind which groups of IPv6 are announced (RFC
/// 3810), IGMP, ICMP of version 6.
const IP_SERVICES: [u8; 3] = [0, 2, 58];

/// What tells the frames of a stream from others, besides their tag.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct StreamKey(Path);

impl StreamKey {
    /// Returns the hardware address of the talker.
    pub const fn talker(&self) -> [u8; 6] {
        self.0.source
    }

    /// Returns the hardware address of the listener; `None` for a group.
    pub fn listener(&self) -> Option<[u8; 6]> {
        (!is_group(self.0.destination)).then_some(self.0.destination)
    }
}

/// What a frame says.
#[derive(Clone, Copy, Debug)]
pub struct Sight<'a> {
    frame: Frame<'a>,
}

impl<'a> Sight<'a> {
    /// Reads a frame with `length` octets on the wire, of which not all may be there; `None` if its
    /// headers are not.
    pub fn read(octets: &'a [u8], length: usize) -> Option<Self> {
        Frame::read(octets, length).map(|frame| Self { frame })
    }

    /// Returns the stream.
    pub const fn stream(&self) -> StreamKey {
        StreamKey(self.frame.path)
    }

    /// Returns priority and VLAN of its tag.
    pub fn tag(&self) -> Option<(u8, u16)> {
        self.frame.tag.map(|tag| (tag.pcp, tag.vid))
    }

    /// Returns the octets of an untagged frame with its check sequence, or of a message that takes
    /// several.
    pub fn size(&self) -> Bytes {
        let size = Bytes::new(u64::try_from(self.frame.size).unwrap_or(u64::MAX));
        let over = self.encapsulation();
        if size <= over.max_payload() { frame_size(size, over) } else { size }
    }

    /// Returns its headers.
    pub const fn encapsulation(&self) -> Encapsulation {
        match self.frame.over {
            Over::Raw => Encapsulation::Raw,
            Over::Udp => Encapsulation::Udp,
            Over::Tcp => Encapsulation::Tcp,
            Over::Icmp => Encapsulation::Icmp,
            Over::Goose => Encapsulation::Goose,
            Over::SampledValues => Encapsulation::SampledValues,
            Over::Profinet => Encapsulation::Profinet,
        }
    }

    /// Returns the number of the event that a message of GOOSE reports, and of its repetition.
    pub const fn event(&self) -> Option<(u64, u64)> {
        if let What::Goose(goose) = self.frame.what {
            Some((goose.state, goose.sequence))
        } else {
            None
        }
    }

    /// Returns whether it belongs to a message that another frame begins, or acknowledges one.
    pub const fn is_part(&self) -> bool {
        if let What::Segment(segment) = self.frame.what {
            segment.size == 0
        } else {
            matches!(self.frame.what, What::Fragment)
        }
    }

    /// Returns whether it keeps the network going: ARP, LLDP, PTP, spanning tree, groups and the
    /// like. No plan has such frames.
    pub fn is_service(&self) -> bool {
        let path = &self.frame.path;
        let is_ip = path.ends.is_some();
        // Lengths in place of types are those of LLC, which spanning tree uses. A ring has each frame
        // twice, which only an import takes for one.
        let is_ring = self.frame.numbered.is_some_and(|own| own.is_ring);
        is_ring
            || path.ether_type == 0
            || SERVICES.contains(&path.ether_type)
            || (is_ip && IP_SERVICES.contains(&path.protocol))
    }

    /// Returns what tells its stream apart, in the words of an imported flow.
    pub fn description(&self) -> String {
        description(self.frame.over, &self.frame.path)
    }

    /// Returns what people call its stream.
    pub fn name(&self) -> String {
        let path = &self.frame.path;
        let ends = match path.ends {
            Some([from, to]) => format!("{} > {}", label::ip(from), label::ip(to)),
            None => format!("{} > {}", label::mac(path.source), label::mac(path.destination)),
        };
        format!("{ends} {}", label::protocol(self.frame.over, path))
    }
}

/// A stream that has become a flow.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Lesson {
    /// The stream.
    pub stream: StreamKey,
    /// Whether all its frames had one size.
    pub is_fixed: bool,
}

/// Learns what a plant sends.
#[derive(Debug, Default)]
pub struct Learner {
    seen: Seen,
}

impl Learner {
    /// Takes a frame that came at this time, in nanoseconds.
    pub fn take(&mut self, at: i64, sight: &Sight<'_>) {
        self.seen.packets += 1;
        self.seen.take(0, at, &sight.frame);
    }

    /// Returns the number of frames so far.
    pub const fn frames(&self) -> u64 {
        self.seen.packets
    }

    /// Returns the plan of what was seen, and the stream of each flow, in the order of the plan;
    /// `None` if there is no flow.
    pub fn plan(mut self, title: &str, options: &Options) -> Option<(Plan, Vec<Lesson>)> {
        for (mac, name) in std::mem::take(&mut self.seen.relations.names) {
            self.seen.streams.stations.entry(mac).or_default().name = Some(name);
        }
        let seen = self.seen;
        let found = flows::flows(&seen.streams, &seen.relations, &seen.connections);
        if found.flows.is_empty() {
            return None;
        }
        let points = Points { names: &[], ways: &seen.ways };
        let (streams, flows) = ((&seen.streams, &seen.copies), &found.flows);
        let draft = draft::draft(title.to_owned(), &points, streams, flows, options);
        let written = draft.write(options);
        let sizes = |path: &Path| {
            let same = seen.streams.all.iter().filter(|own| own.key.path == *path);
            let sizes = same.flat_map(|own| [own.least, own.most]);
            sizes.collect::<std::collections::BTreeSet<usize>>().len()
        };
        let lessons = flows
            .iter()
            .map(|flow| Lesson { stream: StreamKey(flow.path), is_fixed: sizes(&flow.path) == 1 });
        let lessons = lessons.collect();
        Some((plan(seen, &found, written), lessons))
    }
}
