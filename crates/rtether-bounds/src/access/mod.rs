//! What a station of a shared medium can count on under an access scheme.
//!
//! **Turns.** A station has turns of latency `L` and interval `S` if this holds: let 0 be the last
//! time before which none of its frames waited; then its `n`-th frame from 0 on begins at
//! `L + (n - 1) S` at the latest. With frames that each bring the work `S` this is a service curve
//! of the whole rate and latency `L` ([`crate::service_curve`]), so that a frame begins at
//! `L + w` behind the work `w`. A scheme may have turns of its own for each class. Where classes share
//! them, a turn is for a real-time frame if one waits: such frames have all turns for themselves, and
//! ordinary ones wait behind them as behind frames of a higher priority
//! ([`crate::wait`], by priority). A turn that has just gone to an ordinary frame delays nobody more
//! than one that has just passed.
//!
//! One file for each scheme gives `L` and `S`, with the proof at its head; the engines that follow
//! the rules are those of `rtether_proto::access`, under the same names. All proofs assume that
//! every station on the medium follows the scheme, that no control frame is lost, and that
//! [`Access::check`] finds nothing.

mod demand_priority;
mod ftt;
mod polling;
mod powerlink;
mod summation;
mod tdma;
mod timed_token;
mod virtual_token;

use alloc::vec::Vec;

use rtether_model::access::{Access, CLASSES, Domain, Member, ORDINARY, REAL_TIME, Scheme};
use rtether_model::network::{Network, NodeId, NodeKind, PortId, Stack};
use rtether_model::quantity::{Bytes, Duration};

use crate::analysis::{AccessObstacle, Reason};

pub(crate) use summation::Carriage;

/// Turns of a station.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Turns {
    /// `L` of the theorem, in picoseconds.
    pub(crate) latency: i64,
    /// `S` of the theorem.
    pub(crate) interval: i64,
}

/// Turns of each class of a station.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct ByClass {
    pub(crate) turns: [Option<Turns>; CLASSES],
    /// Whether all turns are for any class, real-time frames first.
    pub(crate) is_shared: bool,
}

/// What stations of a domain can count on.
#[derive(Debug)]
pub(crate) struct Schemes<'a> {
    network: &'a Network,
    all: Vec<(&'a Access, Domain)>,
}

impl<'a> Schemes<'a> {
    pub(crate) fn new(network: &'a Network) -> Self {
        let all = network.access.iter();
        let all = all.filter_map(|own| Some((own, Domain::of(network, own.hub)?)));
        Self { network, all: all.collect() }
    }

    /// Returns the scheme of a hub's domain.
    fn of(&self, hub: NodeId) -> Option<&(&'a Access, Domain)> {
        self.all.iter().find(|(_, domain)| domain.hubs.contains(&hub))
    }

    /// Returns the turns of each class of a port at a hub; `None` without a scheme.
    pub(crate) fn turns(&self, port: PortId, hub: NodeId) -> Option<Result<ByClass, Reason>> {
        let (access, domain) = self.of(hub)?;
        let found = self
            .turns_in(access, domain, port)
            .map(|turns| ByClass { turns, is_shared: !access.scheme.has_turns_by_class() });
        Some(found.map_err(|obstacle| Reason::Access { port, obstacle }))
    }

    fn turns_in(
        &self,
        access: &Access,
        domain: &Domain,
        port: PortId,
    ) -> Result<[Option<Turns>; CLASSES], AccessObstacle> {
        let is_member = |node: &NodeId| access.members.iter().any(|own| own.node == *node);
        if !domain.nodes.iter().all(is_member) {
            return Err(AccessObstacle::Others);
        }
        let is_there = |member: &Member| domain.nodes.contains(&member.node);
        if !access.faults.is_empty() || !access.members.iter().all(is_there) {
            return Err(AccessObstacle::Faults);
        }
        access.check(domain).map_err(|_| AccessObstacle::Impossible)?;
        if !domain.nodes.iter().all(|&node| self.is_plain(node)) {
            return Err(AccessObstacle::Node);
        }
        self.is_in_order(port).ok_or(AccessObstacle::Queues)?;
        let own = access.members.iter().position(|own| own.node == port.node);
        let own = own.ok_or(AccessObstacle::Others)?;
        let turns = match &access.scheme {
            Scheme::Tdma(tdma) => {
                [ORDINARY, REAL_TIME].map(|class| tdma::turns(tdma, access, own, class))
            }
            Scheme::Polling(polling) => {
                [Some(polling::turns(polling, access, domain, own)); CLASSES]
            }
            Scheme::Powerlink(powerlink) => [
                Some(powerlink::ordinary(powerlink, access)),
                Some(powerlink::real_time(powerlink, access, domain, own)),
            ],
            Scheme::Ftt(ftt) => {
                [ftt::ordinary(ftt, access, domain), ftt::real_time(ftt, access, own)]
            }
            Scheme::TimedToken(token) => [
                timed_token::ordinary(token, access, domain),
                timed_token::real_time(token, access, domain, own),
            ],
            Scheme::VirtualToken(token) => {
                [Some(virtual_token::turns(token, access, domain)); CLASSES]
            }
            Scheme::DemandPriority(demand) => demand_priority::turns(demand, access, domain),
            Scheme::Summation(own_plan) => {
                [Some(summation::ordinary(own_plan, access)), summation::real_time(own_plan, own)]
            }
        };
        if turns.iter().all(Option::is_none) {
            return Err(AccessObstacle::NoTurn);
        }
        Ok(turns)
    }

    /// Returns whether frames take the same time to every node, however long others are.
    fn is_plain(&self, node: NodeId) -> bool {
        match &self.network.node(node).kind {
            NodeKind::EndStation(station) => match &station.stack {
                Stack::Linear(linear) => linear.interface.per_octet == Duration::ZERO,
                Stack::Zero | Stack::IpRate { .. } | Stack::Rtos(_) => true,
            },
            NodeKind::Switch(switch) => switch.latency_jitter == Duration::ZERO,
            NodeKind::Hub(_) => true,
        }
    }

    /// Returns whether a port sends the frames of each class in order of arrival.
    fn is_in_order(&self, port: PortId) -> Option<()> {
        let is_in_order = match &self.network.node(port.node).kind {
            NodeKind::EndStation(station) => {
                let layer = station.layer.as_deref();
                layer.is_none_or(|layer| layer.transmit.is_none() && layer.smoother.is_none())
            }
            NodeKind::Switch(_) => true,
            NodeKind::Hub(_) => false,
        };
        is_in_order.then_some(())
    }

    /// Returns the largest frame of each class that a node sends to a hub; `None` if it does not
    /// follow a scheme.
    pub(crate) fn largest(&self, node: NodeId, hub: NodeId) -> Option<[i64; CLASSES]> {
        let (access, _) = self.of(hub)?;
        let own = access.members.iter().find(|own| own.node == node)?;
        let octets = |size: Bytes| i64::try_from(size.get()).unwrap_or(i64::MAX);
        Some(own.largest.map(octets))
    }

    /// Returns how long the frames of a node are under way on the medium of a hub where frames pass
    /// through all stations.
    pub(crate) fn carriage(&self, node: NodeId, hub: NodeId) -> Option<Carriage> {
        let (access, domain) = self.of(hub)?;
        let Scheme::Summation(plan) = &access.scheme else {
            return None;
        };
        let own = access.members.iter().position(|own| own.node == node)?;
        Some(summation::carriage(plan, (access, domain), own))
    }

    /// Returns whether a link in the domain of a hub has bit errors.
    pub(crate) fn is_lossy(&self, hub: NodeId) -> bool {
        let Some((_, domain)) = self.of(hub) else {
            return false;
        };
        let links = self.network.links.iter();
        links
            .filter(|link| link.ends.iter().any(|end| domain.hubs.contains(&end.node)))
            .any(|link| link.errors_per_billion > 0)
    }
}

/// Returns turns with the same latency and interval.
const fn every(interval: i64) -> Turns {
    Turns { latency: interval, interval }
}
