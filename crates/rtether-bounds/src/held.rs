//! How long stations hold packets for the address of a neighbor, as far as it is known
//! ([`crate::arp`]).

use rtether_model::network::{Network, NodeId, Vid};

use crate::analysis::{Reason, ResolutionObstacle};

/// How long a station holds packets for a neighbor.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Resolution {
    pub(crate) from: NodeId,
    pub(crate) to: NodeId,
    pub(crate) vid: Option<Vid>,
    /// Longest time that packets are held.
    pub(crate) max: i64,
    /// Why that is not proved to be the end of it.
    pub(crate) obstacle: Option<ResolutionObstacle>,
}

/// What is known of packets from one station to another.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Held {
    /// Longest time that they are held.
    pub(crate) max: i64,
    /// Why they may be dropped instead.
    pub(crate) reason: Option<Unresolved>,
}

/// A neighbor that may not answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Unresolved {
    from: NodeId,
    to: NodeId,
    obstacle: ResolutionObstacle,
}

impl Unresolved {
    /// Returns why a flow to it has no bound.
    pub(crate) const fn reason(self) -> Reason {
        let Self { from, to, obstacle } = self;
        Reason::Resolution { from, to, obstacle }
    }
}

/// Returns how long packets from one station to another are held; `all` is ordered by both. A
/// station that does not resolve addresses holds none.
pub(crate) fn held(all: &[Resolution], network: &Network, from: NodeId, to: NodeId) -> Held {
    let mut held = Held { max: 0, reason: None };
    let Some(arp) = network.end_station(from).and_then(|station| station.arp) else {
        return held;
    };
    let first = all.partition_point(|own| (own.from, own.to) < (from, to));
    let own = all[first..].iter();
    let own = own.take_while(|own| (own.from, own.to) == (from, to));
    let mut is_known = false;
    for own in own {
        is_known = true;
        held.max = held.max.max(own.max);
        let reason = own.obstacle.map(|obstacle| Unresolved { from, to, obstacle });
        held.reason = held.reason.or(reason);
    }
    if !is_known {
        // Traffic that no flow is known to have.
        let obstacle = ResolutionObstacle::Unbounded;
        held.max = arp.held_max().as_ps();
        held.reason = Some(Unresolved { from, to, obstacle });
    }
    held
}
