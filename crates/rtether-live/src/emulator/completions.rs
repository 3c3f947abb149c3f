//! When the frames of a host are sent or given up, and the reports its network card would give.
//!
//! A frame is sent when its last bit has reached the first station that receives it; on a shared
//! medium that is one propagation delay later than at the sender. A frame that the network refused
//! is given up at once.

use std::cmp::Reverse;
use std::collections::{BTreeMap, BinaryHeap};

use rtether_model::network::{Duplex, Network, NodeId, NodeKind};
use rtether_model::quantity::{BitRate, Instant};
use rtether_model::wire;
use rtether_sim::emulation::{Foreign, Output};
use rtether_sim::observe::DropReason;

/// A frame not yet reported to its station.
#[derive(Clone, Copy, Debug)]
struct Sending {
    /// Index in the ports.
    port: usize,
    /// The frame, with its size on the medium of its station.
    frame: Foreign,
    rate: BitRate,
    collisions: u32,
}

/// A frame that is sent or given up. Ordered by time.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Completion {
    /// Time of the report.
    at: Instant,
    /// Index of its sender in the ports.
    pub(super) port: usize,
    pub(super) attempts: u32,
    /// Start of the last attempt.
    pub(super) began: Instant,
    pub(super) is_given_up: bool,
}

/// Frames of stations on shared media, until they are complete.
#[derive(Debug, Default)]
pub(super) struct Completions {
    /// Rates of the media, by station.
    media: BTreeMap<NodeId, BitRate>,
    /// By token; as many as frames under way.
    sending: BTreeMap<u64, Sending>,
    /// Reports not yet due: success is known before the frame is sent.
    due: BinaryHeap<Reverse<Completion>>,
}

impl Completions {
    /// Finds the stations on a shared medium; none unless `wanted`.
    pub(super) fn new(network: &Network, wanted: bool) -> Self {
        let mut media = BTreeMap::new();
        for link in network.links.iter().filter(|_| wanted) {
            let is_hub = |node| matches!(network.node(node).kind, NodeKind::Hub(_));
            let is_shared =
                link.duplex == Duplex::Half || link.ends.iter().any(|end| is_hub(end.node));
            let stations = link.ends.iter().map(|end| end.node);
            let stations = stations.filter(|&node| network.end_station(node).is_some());
            media.extend(stations.filter(|_| is_shared).map(|node| (node, link.rate)));
        }
        Self { media, ..Self::default() }
    }

    /// Notes that a frame of a station has entered the network at a port.
    pub(super) fn sent(&mut self, station: NodeId, port: usize, frame: Foreign) {
        if let Some(&rate) = self.media.get(&station) {
            let collisions = 0;
            let sending = Sending { port, frame, rate, collisions };
            self.sending.insert(frame.token, sending);
        }
    }

    /// Notes that a frame of a station was refused by the network.
    pub(super) fn refused(&mut self, station: NodeId, port: usize, now: Instant) {
        if self.media.contains_key(&station) {
            self.due.push(Reverse(Completion {
                at: now,
                port,
                attempts: 0,
                began: now,
                is_given_up: true,
            }));
        }
    }

    /// Notes an output of the network.
    pub(super) fn note(&mut self, output: &Output, now: Instant) {
        let (token, at, is_given_up) = match *output {
            Output::Collision { token, .. } => {
                if let Some(sending) = self.sending.get_mut(&token) {
                    sending.collisions += 1;
                }
                return;
            }
            Output::Delivered { token, at, .. } => (token, at, false),
            Output::Dropped { token, at, reason, .. } => (token, at, is_senders(reason)),
            Output::Finished { token } => (token, now, false),
        };
        if let Some(sending) = self.sending.remove(&token) {
            self.due.push(Reverse(sending.complete(at, is_given_up)));
        }
    }

    /// Returns when the next report is due.
    pub(super) fn next(&self) -> Option<Instant> {
        self.due.peek().map(|Reverse(next)| next.at)
    }

    /// Returns the next report that is due.
    pub(super) fn poll(&mut self, now: Instant) -> Option<Completion> {
        self.next().filter(|&at| at <= now)?;
        self.due.pop().map(|Reverse(next)| next)
    }
}

impl Sending {
    fn complete(&self, at: Instant, is_given_up: bool) -> Completion {
        let tag = self.frame.tag.map_or(wire::PREAMBLE, |_| wire::TAG + wire::PREAMBLE);
        let length = self.rate.time_floor(self.frame.size + tag);
        Completion {
            port: self.port,
            at,
            attempts: self.collisions + u32::from(!is_given_up),
            // A last attempt that collided ends with the collision, so its length counts as zero.
            began: if is_given_up { at } else { at - length },
            is_given_up,
        }
    }
}

/// Returns whether the sender gives up.
const fn is_senders(reason: DropReason) -> bool {
    match reason {
        DropReason::ExcessiveCollisions
        | DropReason::LateCollision
        | DropReason::BufferFull
        | DropReason::StackFull
        | DropReason::LayerFull => true,
        DropReason::FrameError
        | DropReason::Filtered
        | DropReason::Garbled
        | DropReason::Rule(_)
        | DropReason::Unresolved => false,
    }
}

#[cfg(test)]
mod tests {
    use rtether_model::network::{Backoff, EndStation, Hub, Link, Node, PortId, Stack};
    use rtether_model::quantity::{Bytes, Duration};
    use rtether_sim::emulation::Destination;

    use super::*;

    fn at(us: i64) -> Instant {
        Instant::ZERO + Duration::from_us(us)
    }

    /// A hub, which is node 0, with a station; and two stations linked without a hub.
    fn network() -> Network {
        let node = |kind| Node { name: String::new(), kind };
        let station = || node(NodeKind::EndStation(EndStation::new(Stack::Zero)));
        let hub = NodeKind::Hub(Hub {
            rate: BitRate::from_mbps(10),
            delay: Duration::ZERO,
            backoff: Backoff::Standard,
            ports: 2,
        });
        let end = |node| PortId::first(NodeId(node));
        let link = |one, other| Link::new([end(one), end(other)], BitRate::from_mbps(10));
        Network {
            nodes: vec![node(hub), station(), station(), station()],
            links: vec![link(0, 1), link(2, 3)],
            ..Network::default()
        }
    }

    fn foreign(token: u64) -> Foreign {
        Foreign {
            size: Bytes::new(1_518),
            destination: Destination::All,
            tag: None,
            headers: rtether_sim::emulation::Headers::default(),
            token,
        }
    }

    /// Oracle: by hand; preamble and 1518 octets take 1220.8 us at 10 Mbit/s.
    #[test]
    fn frames_are_complete_once_and_when_they_are_out() {
        let mut completions = Completions::new(&network(), true);
        for token in [1, 2, 3] {
            completions.sent(NodeId(1), 7, foreign(token));
        }
        let collision = |token| Output::Collision { token, station: NodeId(1), at: at(50) };
        let delivered = |station| Output::Delivered {
            token: 1,
            station: NodeId(station),
            at: at(1_300),
            tag: None,
        };
        let dropped =
            |token, reason| Output::Dropped { token, node: NodeId(1), at: at(1_400), reason };
        completions.note(&collision(1), at(50));
        // Known in advance; a second copy adds nothing.
        completions.note(&delivered(2), at(60));
        completions.note(&delivered(3), at(60));
        completions.note(&Output::Finished { token: 1 }, at(1_300));
        assert_eq!(completions.next(), Some(at(1_300)));
        assert_eq!(completions.poll(at(1_299)), None);
        let first = completions.poll(at(1_300)).unwrap();
        assert_eq!((first.port, first.attempts, first.is_given_up), (7, 2, false));
        assert_eq!(first.began, at(1_300) - Duration::from_ns(1_220_800));
        assert_eq!(completions.next(), None);
        for _ in 0..16 {
            completions.note(&collision(2), at(50));
        }
        completions.note(&dropped(2, DropReason::ExcessiveCollisions), at(1_400));
        let second = completions.poll(at(1_400)).unwrap();
        assert_eq!((second.attempts, second.is_given_up), (16, true));
        // It was filtered everywhere, but it was on the medium.
        completions.note(&dropped(3, DropReason::Filtered), at(1_400));
        let third = completions.poll(at(1_400)).unwrap();
        assert_eq!((third.attempts, third.is_given_up), (1, false));
        completions.refused(NodeId(1), 7, at(1_500));
        let refused = completions.poll(at(1_500)).unwrap();
        assert_eq!((refused.attempts, refused.is_given_up), (0, true));
        assert!(completions.sending.is_empty());
    }

    #[test]
    fn only_stations_on_a_medium_are_told_and_only_if_wanted() {
        let mut completions = Completions::new(&network(), true);
        completions.sent(NodeId(2), 0, foreign(1));
        completions.refused(NodeId(3), 1, at(0));
        assert!(completions.sending.is_empty() && completions.next().is_none());
        let mut completions = Completions::new(&network(), false);
        completions.sent(NodeId(1), 0, foreign(1));
        completions.refused(NodeId(1), 0, at(0));
        assert!(completions.sending.is_empty() && completions.next().is_none());
    }
}
