//! Values of summation frames: what they carry, how long they take, and the shortest cycle.
//!
//! The octets are those of `EtherCAT` (IEC 61158-4-12): a frame has a header of 2 octets behind the
//! EtherType; a datagram has 10 in front and a working counter of 2 behind its data, which are 1486
//! at most if it is alone in its frame. Ordinary frames travel in mailboxes, in fragments of a
//! multiple of 32 octets, with 6 octets for the mailbox and 4 for the fragment (Ethernet over
//! `EtherCAT`).

use alloc::vec::Vec;

use super::check::at_least;
use super::{Access, Domain, Member, ORDINARY, Problem, REAL_TIME, Summation, class_of};
use crate::flow::{Flow, Traffic};
use crate::network::NodeId;
use crate::quantity::{Bytes, Duration};
use crate::wire::{self, Encapsulation};

/// How long a station holds a frame, on both ways together, if no other time is given.
const PASS: Duration = Duration::from_us(1);
/// Addresses, EtherType, header, datagram header, working counter, FCS.
const AROUND: u64 = wire::HEADER.get() + 2 + 10 + 2 + wire::FCS.get();
/// Most octets of data in a frame with one datagram.
const DATA_MAX: u64 = 1_486;
/// Headers of a mailbox and of a fragment.
const MAILBOX: u64 = 6 + 4;
/// Most octets of a frame in one fragment: a multiple of 32.
const FRAGMENT: u64 = (DATA_MAX - MAILBOX) / 32 * 32;

/// Returns the size of one frame that takes as long as those that carry these octets, with the gaps
/// between them.
fn burst(octets: u64, most: u64, around: u64) -> Bytes {
    let frame = |data: u64| (data + around).max(wire::MIN_FRAME.get());
    let (full, rest) = (octets / most, octets % most);
    let rest = (rest > 0 || full == 0).then(|| frame(rest));
    let count = full + u64::from(rest.is_some());
    let between = wire::OVERHEAD.get() * (count - 1);
    Bytes::new(full * frame(most) + rest.unwrap_or(0) + between)
}

impl Summation {
    /// Returns the size of the process data of a cycle as one frame; with more than 1486 octets
    /// these are several in a row.
    pub fn process(&self) -> Bytes {
        burst(self.octets.get(), DATA_MAX, AROUND)
    }

    /// Returns the size of what carries an ordinary frame in a mailbox, as one frame.
    pub fn mailbox(frame: Bytes) -> Bytes {
        // The FCS stays behind.
        let octets = frame.max(wire::MIN_FRAME).get() - wire::FCS.get();
        burst(octets, FRAGMENT, AROUND + MAILBOX)
    }

    /// Returns the time from the master's first bit to the same bit at a member: at the master
    /// itself, when it is back.
    pub fn way(&self, domain: &Domain, (member, members): (u32, usize)) -> Duration {
        let slaves = i64::try_from(members).unwrap_or(i64::MAX) - 1;
        let before = if member == self.master {
            slaves
        } else {
            i64::from(member) - i64::from(member > self.master)
        };
        domain.reach * (before + 1) + self.pass * before
    }

    /// Returns the shortest cycle: process data go round, then one ordinary frame of any member
    /// does, twice if the master may have to pass it on.
    pub fn shortest(&self, domain: &Domain, members: &[Member]) -> Duration {
        let back = self.way(domain, (self.master, members.len()));
        let round = |size| domain.frame(size) + back + domain.gap();
        let visit = |(member, own): (u32, &Member)| {
            let size = own.largest[usize::from(ORDINARY)];
            let times = 1 + i64::from(self.relays && member != self.master);
            (size > Bytes::ZERO).then(|| round(Self::mailbox(size)) * times)
        };
        let visit = (0u32..).zip(members).filter_map(visit).max();
        round(self.process()) + visit.unwrap_or(Duration::ZERO)
    }

    /// Returns places for all real-time frames that the flows bring in one period, and the shortest
    /// cycle.
    ///
    /// What a station sends has places of its own, as large as its largest frame without addresses,
    /// EtherType, padding and FCS; what the master passes on has a second place.
    pub fn plan(domain: &Domain, members: &[Member], flows: &[Flow], master: u32) -> Self {
        let node_of = |member: u32| members.get(member as usize).map(|own| own.node);
        let manager = node_of(master);
        let mut octets = 0;
        let mut places = Vec::new();
        let mut relays = false;
        for own in members {
            let sent = Sent::of(flows, own.node, manager);
            places.push(sent.places);
            let passed_on = if Some(own.node) == manager {
                0
            } else {
                relays |= sent.is_relayed;
                sent.passed_on
            };
            octets += u64::from(sent.places.saturating_add(passed_on)) * sent.largest;
        }
        let mut plan = Self {
            cycle: Duration::ZERO,
            master,
            pass: PASS,
            octets: Bytes::new(octets),
            places,
            relays,
        };
        plan.cycle = plan.shortest(domain, members);
        plan
    }

    pub(super) fn check(&self, access: &Access, domain: &Domain) -> Result<(), Problem> {
        let members = &access.members;
        if self.places.len() != members.len() {
            return Err(Problem::NoMember);
        }
        let follows = |node: &NodeId| members.iter().any(|own| own.node == *node);
        if domain.has_switch || !domain.nodes.iter().all(follows) {
            return Err(Problem::NotInLine);
        }
        at_least(self.cycle, self.shortest(domain, members))
    }
}

/// What a node sends in one period of each of its flows.
#[derive(Default)]
struct Sent {
    /// Real-time frames.
    places: u32,
    /// Those among them that are for others than the master.
    passed_on: u32,
    /// Octets of the largest one, behind the EtherType, without padding and FCS.
    largest: u64,
    /// Whether ordinary frames are for others than the master.
    is_relayed: bool,
}

impl Sent {
    fn of(flows: &[Flow], node: NodeId, manager: Option<NodeId>) -> Self {
        let mut sent = Self::default();
        for flow in flows {
            let is_other = |to: &NodeId| *to != node && Some(*to) != manager;
            if flow.talker == node {
                sent.add(flow, false, flow.listeners.iter().any(is_other));
            }
            let answers = flow.reply.is_some() || flow.is_acknowledged();
            if answers && flow.listeners.contains(&node) {
                let publishes = flow.is_published() && flow.listeners.iter().any(is_other);
                sent.add(flow, true, publishes || is_other(&flow.talker));
            }
        }
        sent
    }

    fn add(&mut self, flow: &Flow, is_answer: bool, is_for_others: bool) {
        if class_of(flow) != REAL_TIME {
            self.is_relayed |= is_for_others;
            return;
        }
        let (frames, content) = content(flow, is_answer);
        self.places = self.places.saturating_add(frames);
        if is_for_others {
            self.passed_on = self.passed_on.saturating_add(frames);
        }
        self.largest = self.largest.max(content);
    }
}

/// Returns the number of frames of a message of a flow, or of its answer, and the octets of the
/// largest behind the EtherType, without padding and FCS.
fn content(flow: &Flow, is_answer: bool) -> (u32, u64) {
    let tag = flow.tag.map_or(0, |_| wire::TAG.get());
    if flow.is_published() {
        return (1, wire::MAX_FRAME_PAYLOAD.get() + tag);
    }
    let payload = match flow.reply {
        Some(reply) if is_answer => reply.payload,
        _ => flow.payload,
    };
    let frames = flow.frames(payload);
    let whole = match (&flow.connection, &flow.traffic) {
        (Some(tcp), _) => Encapsulation::Tcp.header_size() + tcp.segment,
        (None, Traffic::Bulk(bulk)) => Encapsulation::Tcp.header_size() + bulk.tcp.segment,
        (None, _) if frames.count == 1 => flow.encapsulation.header_size() + payload,
        (None, _) => frames.full - wire::HEADER - wire::FCS,
    };
    (frames.count, whole.get() + tag)
}

#[cfg(test)]
mod tests {
    use alloc::collections::BTreeSet;
    use alloc::vec;

    use super::*;
    use crate::access::{Faults, Scheme};
    use crate::flow::Phase;
    use crate::quantity::BitRate;

    fn domain() -> Domain {
        Domain {
            nodes: (1..=3).map(NodeId).collect(),
            hubs: BTreeSet::from([NodeId(0)]),
            rate: BitRate::from_mbps(100),
            has_switch: false,
            reach: Duration::ZERO,
        }
    }

    fn summation(octets: u64) -> Summation {
        Summation {
            cycle: Duration::from_ms(1),
            master: 0,
            pass: PASS,
            octets: Bytes::new(octets),
            places: vec![1; 3],
            relays: false,
        }
    }

    /// Oracle: by hand. 12 octets are 44 with all headers, and 64 with padding; 1486 fill a frame of
    /// 1518, and one more needs a second one behind a gap of 12 and a preamble of 8. A frame of 1518
    /// octets has 1514 without FCS: fragments of 1472 and 42, with 42 octets around each.
    #[test]
    fn frames_and_fragments() {
        let sizes = [(12, 64), (32, 64), (33, 65), (1_486, 1_518), (1_487, 1_602)];
        for (octets, size) in sizes {
            assert_eq!(summation(octets).process(), Bytes::new(size), "{octets}");
        }
        let boxes = [(64, 102), (1_476, 1_514), (1_477, 1_598), (1_518, 1_618)];
        for (frame, size) in boxes {
            assert_eq!(Summation::mailbox(Bytes::new(frame)), Bytes::new(size));
        }
    }

    /// Oracle: the table computed elsewhere for N slaves with p octets each way, in places shared by
    /// both ways, at 100 Mbit/s: 42.00, 93.20 and 399.52 us, and 8.76 us for 3 slaves and 12 octets
    /// in all. A cycle has a gap of 0.96 us more.
    #[test]
    fn rounds_of_the_published_table() {
        let rounds = [(3, 12, 8_760), (10, 360, 42_000), (10, 1_000, 93_200)];
        for (slaves, octets, round) in rounds.into_iter().chain([(100, 3_600, 399_520)]) {
            let member =
                |node| Member { node: NodeId(node), largest: [Bytes::ZERO, Bytes::new(64)] };
            let members: Vec<Member> = (1..=slaves + 1).map(member).collect();
            let shortest = summation(octets).shortest(&domain(), &members);
            assert_eq!(shortest, Duration::from_ns(round + 960), "{slaves} slaves");
        }
    }

    /// Oracle: by hand. The master (1) sends 100 octets to both; 2 sends 30 to the master, and 2
    /// over UDP, 30 with headers, to 3, which need a place in two cycles; 3 answers 2 with 10 octets
    /// of UDP, 38 with headers, in two as well: 100 + 2 * 30 + 30 + 38 + 38 octets.
    #[test]
    fn places_of_a_plant() {
        let flow = |from, to: &[u32], size| {
            let to = to.iter().map(|node| NodeId(*node)).collect();
            let period = Traffic::periodic(Duration::from_ms(1), Phase::Fixed(Duration::ZERO));
            let size = Bytes::new(size);
            let mut flow = Flow::new("f".into(), NodeId(from), to, size, period);
            flow.encapsulation = Encapsulation::Raw;
            flow
        };
        let mut asked = flow(2, &[3], 2);
        asked.encapsulation = Encapsulation::Udp;
        asked.reply = Some(crate::flow::Reply::new(Bytes::new(10), Duration::ZERO));
        let flows = vec![flow(1, &[2, 3], 100), flow(2, &[1], 30), asked];
        let members: Vec<Member> = (1..=3)
            .map(|node| Member { node: NodeId(node), largest: [Bytes::ZERO, Bytes::new(118)] })
            .collect();
        let plan = Summation::plan(&domain(), &members, &flows, 0);
        assert_eq!(plan.places, [1, 2, 1]);
        assert_eq!(plan.octets, Bytes::new(100 + 2 * 30 + 30 + 38 + 38));
        assert!(!plan.relays);
        let access = |plan: &Summation| Access {
            hub: NodeId(0),
            scheme: Scheme::Summation(plan.clone()),
            members: members.clone(),
            response: Duration::ZERO,
            faults: Faults::default(),
        };
        assert_eq!(access(&plan).check(&domain()), Ok(()));
        let mut short = plan.clone();
        short.cycle -= Duration::from_ps(1);
        let least = plan.cycle;
        let problem = Problem::ShortCycle { least };
        assert_eq!(access(&short).check(&domain()), Err(problem));
        let mut switched = domain();
        switched.has_switch = true;
        assert_eq!(access(&plan).check(&switched), Err(Problem::NotInLine));
        let mut alone = access(&plan);
        alone.members.pop();
        let Scheme::Summation(own) = &mut alone.scheme else { unreachable!("it is one") };
        own.places.pop();
        assert_eq!(alone.check(&domain()), Err(Problem::NotInLine));
    }
}
