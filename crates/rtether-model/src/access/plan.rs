//! The values of a scheme that a plant needs, where nobody gives others.

use alloc::vec::Vec;

use super::{
    Access, CLASSES, CONTROL, DemandPriority, Domain, Faults, Ftt, Member, ORDINARY, Polling,
    Powerlink, REAL_TIME, Scheme, SchemeKind, Slot, Summation, Tdma, TimedToken, VirtualToken,
    class_of,
};
use crate::flow::{Flow, Traffic};
use crate::network::{Network, NodeId};
use crate::quantity::{Bytes, Duration};
use crate::wire::{self, Encapsulation};

/// Time of the signalling before a frame of demand priority.
const SIGNALLING: Duration = Duration::from_us(1);
/// Time after which an ordinary frame is promoted: IEEE 802.12 has 200 to 300 ms.
const PROMOTION: Duration = Duration::from_ms(250);
/// Time in which a station answers, if none is given.
const RESPONSE: Duration = Duration::from_us(1);

impl Access {
    /// Returns the scheme of this kind for the domain of a hub, with the values that its frames
    /// need; `None` for CSMA/CD, or if the node is no hub. Members are in the order of nodes, and
    /// the first is the master unless another one is wanted.
    pub fn plan(
        kind: SchemeKind,
        (network, flows): (&Network, &[Flow]),
        hub: NodeId,
        wish: &Wish,
    ) -> Option<Self> {
        let domain = Domain::of(network, hub)?;
        let follows = |node: &&NodeId| !wish.others.contains(node);
        let members: Vec<Member> = domain
            .nodes
            .iter()
            .filter(follows)
            .map(|&node| Member { node, largest: largest(network, flows, node) })
            .collect();
        let position = |node: NodeId| {
            let found = members.iter().position(|own| own.node == node);
            found.and_then(|at| u32::try_from(at).ok())
        };
        let master = wish.master.and_then(position).unwrap_or(0);
        let backup = wish.backup.and_then(position);
        let response = wish.response.unwrap_or(RESPONSE);
        let scheme = match kind {
            SchemeKind::CsmaCd => return None,
            SchemeKind::Tdma => Scheme::Tdma(Tdma::plan(&domain, &members, master, backup)),
            SchemeKind::Polling => Scheme::Polling(Polling {
                cycle: Duration::ZERO,
                master,
                timeout: answer_time(&domain, &members, response),
                retries: 1,
            }),
            SchemeKind::Powerlink => {
                let mut plan = Powerlink {
                    cycle: Duration::ZERO,
                    master,
                    timeout: answer_time(&domain, &members, response),
                };
                plan.cycle = plan.shortest(&domain, &members, response);
                Scheme::Powerlink(plan)
            }
            SchemeKind::Ftt => Scheme::Ftt(Ftt::plan(&domain, &members, (master, response))),
            SchemeKind::TimedToken => {
                Scheme::TimedToken(TimedToken::plan(&domain, &members, response))
            }
            SchemeKind::VirtualToken => {
                Scheme::VirtualToken(VirtualToken { silence: (domain.gap() + domain.reach) * 2 })
            }
            SchemeKind::DemandPriority => Scheme::DemandPriority(DemandPriority {
                signalling: SIGNALLING,
                promotion: PROMOTION,
            }),
            SchemeKind::Summation => {
                Scheme::Summation(Summation::plan(&domain, &members, flows, master))
            }
        };
        Some(Self { hub, scheme, members, response, faults: Faults::default() })
    }
}

/// Returns the longest time from the last bit of a frame that asks a member to that of its answer.
fn answer_time(domain: &Domain, members: &[Member], response: Duration) -> Duration {
    let largest = members.iter().map(Member::largest_of_all);
    let largest = largest.fold(CONTROL, Bytes::max);
    response.max(domain.gap()) + domain.frame(largest) + domain.reach * 2
}

impl Powerlink {
    /// Returns the shortest cycle that has room for the largest frames of all members.
    pub fn shortest(&self, domain: &Domain, members: &[Member], response: Duration) -> Duration {
        let answered = response.max(domain.gap()) + domain.reach * 2 + domain.gap();
        let control = domain.frame(CONTROL);
        let mut cycle = control + domain.gap();
        for (member, own) in (0u32..).zip(members) {
            let largest = own.largest[usize::from(REAL_TIME)];
            if member != self.master {
                cycle += control + domain.frame(largest) + answered;
            } else if largest > Bytes::ZERO {
                cycle += domain.frame(largest) + domain.gap();
            }
        }
        cycle += control + domain.gap();
        let ordinary = members.iter().map(|own| own.largest[usize::from(ORDINARY)]);
        let ordinary = ordinary.fold(Bytes::ZERO, Bytes::max);
        if ordinary > Bytes::ZERO {
            cycle += answered - domain.gap() + domain.frame(ordinary);
        }
        cycle
    }
}

impl TimedToken {
    /// Returns the time from the end of one member's frames to the time at which the next may
    /// send.
    pub fn pass(domain: &Domain, response: Duration) -> Duration {
        domain.gap() + domain.frame(CONTROL) + domain.reach + response
    }

    /// Returns a cycle in which each member may send one real-time frame, and has the token once
    /// more, and one of them may send an ordinary frame then.
    pub fn plan(domain: &Domain, members: &[Member], response: Duration) -> Self {
        let pass = Self::pass(domain, response);
        let cost = |size| domain.frame(size) + domain.gap();
        let reservation = |own: &Member| {
            let size = own.largest[usize::from(REAL_TIME)];
            if size > Bytes::ZERO { cost(size) } else { Duration::ZERO }
        };
        let reservations: Vec<Duration> = members.iter().map(reservation).collect();
        let reserved = reservations.iter().filter(|own| **own > Duration::ZERO);
        let mut cycle: Duration = reserved.map(|own| *own + pass).sum();
        let ordinary = members.iter().map(|own| own.largest[usize::from(ORDINARY)]);
        let ordinary = ordinary.fold(CONTROL, Bytes::max);
        cycle += cost(ordinary) + pass;
        for _ in members {
            cycle += pass;
        }
        Self { cycle, reservations, timeout: answer_time(domain, members, response) }
    }
}

/// What is wanted of a scheme, where it can be chosen.
#[derive(Clone, Debug, Default)]
pub struct Wish {
    /// Stations that do not follow it.
    pub others: Vec<NodeId>,
    /// The master.
    pub master: Option<NodeId>,
    /// The backup master.
    pub backup: Option<NodeId>,
    /// [`Access::response`].
    pub response: Option<Duration>,
}

impl Tdma {
    /// Returns one slot for each member that sends, one after the other behind the Sync frame, or
    /// behind that of a backup master, in the shortest cycle.
    pub fn plan(domain: &Domain, members: &[Member], master: u32, backup: Option<u32>) -> Self {
        let step = |size| domain.frame(size) + domain.gap() + domain.reach;
        let mut next = step(CONTROL);
        let backup = backup.map(|member| {
            let offset = next;
            next += step(CONTROL);
            super::Backup { member, offset }
        });
        let mut slots = Vec::new();
        for (member, own) in (0u32..).zip(members) {
            let size = own.largest_of_all();
            if size == Bytes::ZERO {
                continue;
            }
            slots.push(Slot { member, offset: next, size, of: 1, turn: 0 });
            next += step(size);
        }
        Self { cycle: next, master, backup, slots }
    }
}

/// Returns the largest frame that a node sends by its port on a hub, by class.
pub(super) fn largest(network: &Network, flows: &[Flow], node: NodeId) -> [Bytes; CLASSES] {
    let mut found = [Bytes::ZERO; CLASSES];
    let is_switch = network.switch(node).is_some();
    for flow in flows {
        let own = &mut found[usize::from(class_of(flow))];
        let tag = if flow.tag.is_some() || is_switch { wire::TAG } else { Bytes::ZERO };
        if flow.talker == node || is_switch {
            *own = (*own).max(frame(flow, false) + tag);
        }
        let answers = flow.reply.is_some() || flow.is_acknowledged();
        if answers && (flow.listeners.contains(&node) || is_switch) {
            *own = (*own).max(frame(flow, true) + tag);
        }
    }
    found
}

/// Returns the largest frame of a flow, or of its answers.
fn frame(flow: &Flow, is_answer: bool) -> Bytes {
    let segment = |size| wire::frame_size(size, Encapsulation::Tcp);
    if let Some(tcp) = &flow.connection {
        return segment(tcp.segment);
    }
    if let Traffic::Bulk(bulk) = &flow.traffic {
        return if is_answer { wire::MIN_FRAME } else { segment(bulk.tcp.segment) };
    }
    if flow.is_published() {
        let most = Encapsulation::Udp.max_payload();
        return wire::frame_size(most, Encapsulation::Udp);
    }
    let payload = match flow.reply {
        Some(reply) if is_answer => reply.payload,
        _ => flow.payload,
    };
    let frames = flow.frames(payload);
    frames.full.max(frames.last)
}
