//! An observer of transmissions that works out when each frame could have left its port.
//!
//! It looks only at transmissions. The one at the previous port determines when a frame reaches a
//! switch and with which priority; from that follows what a work-conserving port must do.

use std::collections::BTreeMap;

use rtether_model::network::{
    Feature, ForwardingMode, LinkId, NodeId, Pcp, PortId, Selection, Switch,
};
use rtether_model::partition::LocalDeadlines;
use rtether_model::quantity::{BitRate, Bytes, Duration, Instant};
use rtether_model::record::Record;
use rtether_model::wire;
use rtether_sim::observe::{DropReason, Observer, PacketInfo};

use super::path::{CUT_THROUGH_HEADER, Floors};
use crate::support::Plant;

/// Identity of a packet: flow, number, direction, ends, release, TCP sequence numbers.
type Key = (u32, u32, bool, NodeId, Option<NodeId>, Instant, (u64, u64, u32));

/// A frame that has reached a switch.
#[derive(Clone, Copy)]
struct Arrival {
    /// When a cut-through switch can forward it, and when any switch can.
    header: Instant,
    whole: Instant,
    rate: BitRate,
    pcp: Pcp,
}

/// A transmission of a frame.
#[derive(Clone, Copy)]
struct Sent {
    start: Instant,
    end: Instant,
    size: Bytes,
    /// At switches: when it was ready to be sent, and in which queue.
    ready: Option<(Instant, u8)>,
    /// Deadline relative to `ready`.
    local_deadline: Option<Duration>,
}

/// All frames on all wires.
pub(super) struct Wires<'a> {
    floors: Floors<'a>,
    /// Acknowledgements sent at the same instant may be identical; they keep their order.
    arrivals: BTreeMap<(NodeId, Key), Vec<Arrival>>,
    departures: BTreeMap<(PortId, Key), usize>,
    /// Last complete arrival over each link and direction.
    last: BTreeMap<PortId, Instant>,
    sent: BTreeMap<PortId, Vec<Sent>>,
    local_deadlines: LocalDeadlines,
}

impl<'a> Wires<'a> {
    pub(super) fn new(plant: &'a Plant) -> Self {
        let floors = Floors::new(&plant.network);
        Self {
            local_deadlines: LocalDeadlines::new(&plant.network, &plant.flows, &floors.routing),
            floors,
            arrivals: BTreeMap::new(),
            departures: BTreeMap::new(),
            last: BTreeMap::new(),
            sent: BTreeMap::new(),
        }
    }

    fn link(&self, port: PortId) -> LinkId {
        self.floors.routing.link_at(port).unwrap()
    }

    /// Notes when a frame sent now reaches the switch at the other end.
    fn fly(&mut self, now: Instant, port: PortId, packet: &PacketInfo) {
        let link = &self.floors.network.links[self.link(port).index()];
        let peer = link.peer_of(port).unwrap();
        let Some(switch) = self.floors.network.switch(peer.node) else {
            return;
        };
        let tag = if packet.tag.is_some() { wire::TAG } else { Bytes::ZERO };
        let untagged = Bytes::new(packet.frame_size.get() - tag.get());
        let flight = link.propagation + self.floors.interface(port.node, untagged) + switch.latency;
        let header = now + link.rate.time_ceil(CUT_THROUGH_HEADER + tag) + flight;
        let whole = now + wire::wire_time(packet.frame_size, link.rate) + flight;
        let tail = whole - header;
        // Frames do not overtake each other in a network interface.
        let behind = self.last.get(&port).copied().unwrap_or(Instant::ZERO);
        let arrival = if switch.mode == ForwardingMode::CutThrough {
            let header = header.max(behind);
            (header, header + tail)
        } else {
            (header, whole.max(behind))
        };
        self.last.insert(port, arrival.1);
        let untagged_pcp = switch.ports[usize::from(peer.port)].default_pcp;
        let pcp = packet.tag.map_or(untagged_pcp, |(pcp, _)| Pcp::new(pcp).unwrap());
        let arrival = Arrival { header: arrival.0, whole: arrival.1, rate: link.rate, pcp };
        let same = self.arrivals.entry((peer.node, key(packet))).or_default();
        same.push(arrival);
    }

    /// Returns when a frame that leaves a switch now was ready, and its queue.
    fn ready(&mut self, switch: &Switch, port: PortId, packet: &PacketInfo) -> (Instant, u8) {
        let departures = self.departures.entry((port, key(packet))).or_default();
        let arrival = self.arrivals[&(port.node, key(packet))][*departures];
        *departures += 1;
        let own_rate = self.floors.network.links[self.link(port).index()].rate;
        let cuts = switch.mode == ForwardingMode::CutThrough && own_rate <= arrival.rate;
        let at = if cuts { arrival.header } else { arrival.whole };
        let has_one = matches!(switch.selection, Selection::Fcfs | Selection::EarliestDeadline);
        let queue = if has_one { 0 } else { switch.queues.queue_of(arrival.pcp) };
        (at, queue)
    }

    /// Checks every port against the rules of its link and its transmission selection.
    pub(super) fn check(&self, record: &Record) {
        for port in &record.ports {
            let sent = self.sent.get(&port.port).map_or(&[][..], Vec::as_slice);
            assert_eq!(port.sent, sent.len() as u64, "frames of {:?}", port.port);
            let octets = sent.iter().map(|frame| wire::wire_size(frame.size).get());
            assert_eq!(port.sent_wire.get(), octets.sum::<u64>());
            assert_eq!(port.queues.iter().map(|queue| queue.sent).sum::<u64>(), port.sent);
            assert_eq!(port.offered, port.sent + port.dropped + port.queued);
            assert!(port.busy <= record.duration, "more than all of a link is used");
            for pair in sent.windows(2) {
                assert!(pair[0].end <= pair[1].start, "frames overlap at {:?}", port.port);
            }
            if let Some(switch) = self.floors.network.switch(port.port.node) {
                // Under a shaper frames may wait at an idle port.
                if !switch.plan().needs(Feature::Credits) {
                    check_work(sent, port.port);
                }
                check_order(sent, switch, port.port);
                let waited: i128 = port.queues.iter().map(|queue| queue.waited_ps).sum();
                let own = sent.iter().map(|f| i128::from((f.start - f.ready.unwrap().0).as_ps()));
                assert_eq!(waited, own.sum(), "waiting times at {:?}", port.port);
            }
        }
    }
}

/// Checks that a port with frames waiting sends.
fn check_work(sent: &[Sent], port: PortId) {
    let mut free = Instant::ZERO;
    for frame in sent {
        let (ready, _) = frame.ready.unwrap();
        assert_eq!(frame.start, ready.max(free), "a frame waits in vain at {port:?}");
        free = frame.end;
    }
}

/// Checks that no frame starts while one with an earlier deadline waits; equal deadlines go in
/// order of arrival.
fn check_deadlines(sent: &[Sent], port: PortId) {
    let due = |frame: &Sent| {
        let (ready, _) = frame.ready.unwrap();
        let due = frame.local_deadline.map(|local| ready + local);
        (due.is_none(), due, ready)
    };
    for (index, frame) in sent.iter().enumerate() {
        for later in sent[index + 1..].iter().take(50) {
            let was_there = later.ready.unwrap().0 < frame.start;
            assert!(
                !was_there || due(frame) <= due(later),
                "the earliest deadline waits at {port:?}"
            );
        }
    }
}

/// Checks first in, first out within a queue; with strict selection, no frame starts while a more
/// urgent one waits.
fn check_order(sent: &[Sent], switch: &Switch, port: PortId) {
    if switch.selection == Selection::EarliestDeadline {
        return check_deadlines(sent, port);
    }
    let strict_from = if switch.selection == Selection::StrictPriority {
        1
    } else if let Selection::StrictWrr { .. } = switch.selection {
        switch.queues.count() - 1
    } else {
        u8::MAX
    };
    let mut last = [Instant::ZERO; 8];
    for (index, frame) in sent.iter().enumerate() {
        let (ready, queue) = frame.ready.unwrap();
        let last = &mut last[usize::from(queue)];
        assert!(*last <= ready, "queue {queue} of {port:?} is not first in, first out");
        *last = ready;
        if queue < strict_from {
            continue;
        }
        let meanwhile = sent[..index].iter().rev().take_while(|other| other.start > ready);
        for other in meanwhile {
            assert!(other.ready.unwrap().1 >= queue, "a less urgent frame first at {port:?}");
        }
    }
}

fn key(packet: &PacketInfo) -> Key {
    let tcp = packet.tcp.map_or((0, 0, 0), |tcp| (tcp.seq, tcp.ack, tcp.len));
    let part = packet.fragment.map_or(tcp, |fragment| (u64::from(fragment.number), 0, 0));
    (
        packet.flow.0,
        packet.number,
        packet.is_reverse,
        packet.source,
        packet.destination,
        packet.released_at,
        part,
    )
}

impl Observer for Wires<'_> {
    fn transmitted(&mut self, now: Instant, port: PortId, packet: &PacketInfo) {
        let rate = self.floors.network.links[self.link(port).index()].rate;
        let switch = self.floors.network.switch(port.node);
        let ready = switch.map(|switch| self.ready(switch, port, packet));
        self.sent.entry(port).or_default().push(Sent {
            start: now,
            end: now + wire::occupancy(packet.frame_size, rate),
            size: packet.frame_size,
            ready,
            local_deadline: self.local_deadlines.at(packet.flow.index(), port),
        });
        self.fly(now, port, packet);
    }

    fn dropped(&mut self, now: Instant, node: NodeId, packet: &PacketInfo, reason: DropReason) {
        // A frame hit by a bit error never departs; a later one with the same key does.
        if reason == DropReason::FrameError && self.floors.network.switch(node).is_some() {
            let same = self.arrivals.get_mut(&(node, key(packet))).unwrap();
            let hit = same
                .iter()
                .position(|arrival| arrival.header == now || arrival.whole == now)
                .unwrap();
            same.remove(hit);
        }
    }
}
