//! Captures of traffic: pcap and pcapng, also in gzip, one file or several.
//!
//! `packets` reads files packet by packet, `frame` what each says, `streams` collects what belongs
//! together, with its times (`times`, and `grid` for a period); `ways` finds frames that were seen at
//! several points; `profinet` and `enip` read what
//! connections state, `flows` makes flows of all that, `label` names them, `network` and `stations` say where they run,
//! `draft` drafts the plant; `packets_of_ip` hands out packets for what looks at conversations.
//! Packets are read once and none is kept: memory grows with the number of streams only.

mod copies;
mod draft;
mod enip;
mod flows;
mod frame;
mod grid;
mod label;
mod link;
mod look;
mod network;
mod packets;
mod packets_of_ip;
mod profinet;
mod stations;
mod streams;
mod times;
mod ways;

use std::fmt;
use std::io::Read;

use rtether_model::quantity::Duration;

use copies::Copies;
use draft::Points;
use enip::Connections;
use flows::Found;
use frame::{Frame, What};
use link::Link;
use packets::{End, Format, Interface, Packets};
use profinet::Relations;
use streams::Streams;
use ways::Ways;

use crate::draft::head;
use crate::error::ImportError;
use crate::options::Options;
use crate::plan::{Assumption, Code, Count, Finding, Identified, Plan};
use crate::sheet::time;
use crate::text::plain;

pub use look::{Learner, Lesson, Sight, StreamKey};
pub(crate) use packets::is_capture;
pub use packets_of_ip::{IpPacket, ip_packets};

/// Longest span in nanoseconds that a duration can say.
const LONGEST: i64 = i64::MAX / 1_000;
/// Most findings that are kept.
const MAX_FINDINGS: usize = 2000;

/// A capture that is read piece by piece.
pub struct Source<'r> {
    /// Its name, for messages and for the title.
    pub name: String,
    /// Where its octets come from.
    pub reader: Box<dyn Read + 'r>,
}

impl fmt::Debug for Source<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Source").field("name", &self.name).finish()
    }
}

/// All that is known of the packets so far.
#[derive(Debug, Default)]
struct Seen {
    streams: Streams,
    relations: Relations,
    connections: Connections,
    ways: Ways,
    copies: Copies,
    /// Frames with more than one tag.
    tagged_twice: u64,
    packets: u64,
    /// Those that are neither of Ethernet nor have IP, and a link type of them.
    foreign: (u64, u16),
    /// Names of all interfaces.
    interfaces: Vec<String>,
    formats: Vec<Format>,
    findings: Vec<Finding>,
}

impl Seen {
    fn find(&mut self, packet: u64, code: Code, text: String) {
        if self.findings.len() < MAX_FINDINGS {
            let line = usize::try_from(packet.max(1)).unwrap_or(usize::MAX);
            self.findings.push(Finding { line, code, text });
        }
    }

    /// Reads all packets of a file.
    fn read(&mut self, name: &str, mut packets: Packets<'_>) -> Result<(), ImportError> {
        let first = self.interfaces.len();
        let before = self.packets;
        let mut others: Vec<[u64; 2]> = Vec::new();
        while let Some(packet) = packets.next() {
            self.packets += 1;
            let number = packet.interface;
            let (at, length, has_others) = (packet.at, packet.length, packet.has_others);
            let made;
            let (octets, length) = if packet.link == Link::Ethernet {
                (packet.octets, length)
            } else {
                others.resize(others.len().max(number + 1), [0; 2]);
                let Some((frame, length)) = packet.link.frame(packet.octets, length) else {
                    others[number][0] += 1;
                    continue;
                };
                others[number][1] += 1;
                made = frame;
                (made.as_slice(), length)
            };
            match Frame::read(octets, length) {
                Some(frame) => {
                    self.take(first + number, at, &frame);
                    if has_others {
                        self.ways.take(first + number, at, &frame);
                    }
                }
                None => self.streams.short += 1,
            }
        }
        self.ways.end_file();
        let names = packets.interfaces.iter().zip(first + 1..);
        self.interfaces.extend(names.map(|(interface, number)| match interface.name.as_str() {
            "" => format!("interface {number}"),
            name => plain(name, 40),
        }));
        self.formats.push(packets.format());
        let shown = plain(name, 80);
        if let End::Broken(why) = packets.end() {
            if self.packets == before {
                let remedy = "capture or copy it again";
                return Err(ImportError::new(name, None, why.clone(), remedy));
            }
            let text = format!("{shown} is read up to packet {}: {why}", self.packets - before);
            self.find(self.packets, Code::CutOff, text);
        }
        let interfaces = packets.interfaces.iter().zip(others);
        for (interface, counts) in interfaces {
            self.without_ethernet(interface, counts, (&shown, before + 1));
        }
        if packets.unstamped > 0 {
            let text = format!("{} packets of {shown} have no time", packets.unstamped);
            self.find(before + 1, Code::NotRead, text);
        }
        Ok(())
    }

    /// Notes packets without Ethernet: how many have no IP, and how many do. `shown` is the name of
    /// the file, beside its first packet.
    fn without_ethernet(
        &mut self,
        interface: &Interface,
        [skipped, read]: [u64; 2],
        (shown, first): (&str, u64),
    ) {
        let kind = interface.link_type;
        let named = plain(&interface.name, 40);
        if skipped > 0 {
            self.foreign = (self.foreign.0 + skipped, kind);
            let text = format!(
                "{skipped} packets of `{named}` in {shown} have link type {kind}, which is not Ethernet"
            );
            self.find(first, Code::NotRead, text);
        }
        if read > 0 {
            let text = format!(
                "{read} packets of `{named}` in {shown} have link type {kind}: hosts are told apart by their addresses over IP, and no tag is seen"
            );
            self.find(first, Code::NotRead, text);
        }
    }

    fn take(&mut self, interface: usize, at: i64, frame: &Frame<'_>) {
        let [from, to] = [frame.path.source, frame.path.destination];
        if let What::Rpc(octets) = frame.what {
            self.relations.read(octets, from, to, self.packets);
        } else if let What::Segment(segment) = frame.what
            && !segment.explicit.is_empty()
        {
            let data = segment.explicit;
            self.connections.read(data, [from, to], self.packets);
        }
        self.copies.note(from, frame.numbered);
        if let Some(own) = frame.numbered
            && self.copies.is_copy(interface, from, own)
        {
            return;
        }
        self.tagged_twice += u64::from(frame.inner_tags > 0);
        self.streams.take(interface, (self.packets, at), frame);
    }

    /// Notes what frames have more than those of a flow.
    fn longer_frames(&mut self) {
        let Copies { rings, twins, numbered, .. } = &self.copies;
        let notes = [
            (
                *numbered > 0,
                Code::Redundancy,
                format!(
                    "{numbered} frames have 6 octets more, of HSR or PRP; {rings} of them are copies in rings and {twins} in networks, which count once"
                ),
            ),
            (
                self.tagged_twice > 0,
                Code::NotRead,
                format!(
                    "{} frames have a second tag, and so 4 octets more than those of a flow",
                    self.tagged_twice
                ),
            ),
        ];
        for (is_found, code, text) in notes {
            if is_found {
                self.find(1, code, text);
            }
        }
    }

    /// Notes what was left out, and what a user should look at.
    fn conclude(&mut self, found: &Found) {
        self.longer_frames();
        let (rare, frames) = found.rare;
        let (unmarked, dscp) = found.unmarked;
        let (streams, gap) = found.cut;
        // Clocks that step back leave none.
        let gap = match gap {
            0 => String::new(),
            // Stamps may be any 64 bits: of longer gaps, what a span can say.
            gap if gap > LONGEST => format!(", of over {}", time(Duration::from_ns(LONGEST))),
            gap => format!(", of up to {}", time(Duration::from_ns(gap))),
        };
        let notes = [
            (
                unmarked > 0,
                Code::NotRead,
                format!(
                    "{unmarked} streams have a DSCP, such as {dscp}, which a flow has only over UDP, TCP or ICMP with IPv4"
                ),
            ),
            (
                rare > 0,
                Code::TooFew,
                format!("{rare} streams with {frames} frames in all are left out"),
            ),
            (
                found.dropped > 0,
                Code::TooMany,
                format!("{} flows with the fewest frames are left out", found.dropped),
            ),
            (
                self.streams.beyond > 0,
                Code::TooMany,
                format!("{} frames of further streams are left out", self.streams.beyond),
            ),
            (
                self.streams.short > 0,
                Code::CutOff,
                format!("{} frames are cut off within their headers", self.streams.short),
            ),
            (
                streams > 0,
                Code::Sessions,
                format!("{streams} streams have gaps that are no part of their traffic{gap}"),
            ),
        ];
        for (is_found, code, text) in notes {
            if is_found {
                self.find(1, code, text);
            }
        }
        for (packet, mac, count) in &found.shared {
            let text = format!("{count} stations send to `{}`", label::mac(*mac));
            self.find(*packet, Code::SharedAddress, text);
        }
        self.findings.sort();
    }
}

/// Reads captures that belong together.
pub(crate) fn import(sources: Vec<Source<'_>>, options: &Options) -> Result<Plan, ImportError> {
    let mut seen = Seen::default();
    let names: Vec<String> = sources.iter().map(|source| source.name.clone()).collect();
    for source in sources {
        let name = source.name.as_str();
        let packets = Packets::open(source.reader).map_err(|why| {
            let remedy = "give a capture of Ethernet (pcap or pcapng, also in gzip)";
            ImportError::new(name, None, why, remedy)
        })?;
        seen.read(name, packets)?;
    }
    for (mac, name) in std::mem::take(&mut seen.relations.names) {
        seen.streams.stations.entry(mac).or_default().name = Some(name);
    }
    let found = flows::flows(&seen.streams, &seen.relations, &seen.connections);
    let first = names.first().map_or("", String::as_str);
    if found.flows.is_empty() && seen.foreign.0 == seen.packets && seen.packets > 0 {
        let (packets, kind) = seen.foreign;
        let what = format!("its {packets} packets have link type {kind}, with no Ethernet or IP");
        let remedy = "capture on Ethernet, or on all devices of Linux (`-i any`)";
        return Err(ImportError::new(first, None, what, remedy));
    }
    if found.flows.is_empty() {
        let what = format!(
            "none of its {} packets belong to a flow: three frames of a stream show when it sends",
            seen.packets
        );
        let remedy = "capture longer, on Ethernet";
        return Err(ImportError::new(first, None, what, remedy));
    }
    seen.conclude(&found);
    let title = plain(first.split('.').next().unwrap_or(first), 80);
    let points = Points { names: &seen.interfaces, ways: &seen.ways };
    let sources = (&seen.streams, &seen.copies);
    let mut draft = draft::draft(title, &points, sources, &found.flows, options);
    let head = head(&names.join(", "), "a capture does not show");
    draft.head = head.iter().map(|line| plain(line, 200)).collect();
    Ok(plan(seen, &found, draft.write(options)))
}

fn plan(
    seen: Seen,
    found: &Found,
    (scenario, assumptions, identified): (String, Vec<Assumption>, Identified),
) -> Plan {
    let count = |name, title, number| Count { name, title, number };
    let ends = found.flows.iter().flat_map(|flow| [Some(flow.talker), flow.listener]);
    let stations: std::collections::BTreeSet<_> = ends.flatten().collect();
    let is_pcap = seen.formats.iter().all(|format| *format == Format::Pcap);
    Plan {
        format: format!("capture ({})", if is_pcap { "pcap" } else { "pcapng" }),
        scenario,
        assumptions,
        identified,
        counts: vec![
            count("packets", "packets", usize::try_from(seen.packets).unwrap_or(usize::MAX)),
            count("interfaces", "interfaces", seen.interfaces.len()),
            count("streams", "streams", seen.streams.all.len()),
            count("flows", "flows", found.flows.len()),
            count("stations", "stations", stations.len()),
        ],
        findings: seen.findings,
    }
}
