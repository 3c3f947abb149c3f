//! Collision domains: joined hubs, and half-duplex links without a hub.

use alloc::collections::{BTreeSet, VecDeque};
use alloc::vec::Vec;

use rtether_model::access::{Access, Domain, SchemeKind};
use rtether_model::network::{ForwardingMode, Hub, LinkId, Network, NodeId, NodeKind, PortId};
use rtether_model::quantity::{BitRate, Duration};
use rtether_model::route::{Hop, Routing};

use super::Numbers;
use super::ports::reports;
use crate::access::AccessState;
use crate::config::Config;
use crate::error::BuildError;
use crate::medium::{self, Backoff, Medium};
use crate::packet::NONE;
use crate::random::{Purpose, seed_of};
use crate::shared::{Attachment, HubState, Shared};

/// All collision domains and the ports on them.
#[derive(Default)]
pub(super) struct Media {
    pub(super) shared: Vec<Shared>,
    pub(super) attachments: Vec<Attachment>,
}

/// A port of a medium under construction.
struct Member {
    port: PortId,
    link: LinkId,
    /// Hub at the other end, if any.
    hub: Option<NodeId>,
}

pub(super) fn build_media(
    network: &Network,
    routing: &Routing,
    numbers: &Numbers,
    config: &Config,
) -> Result<Media, BuildError> {
    let mut media = Media::default();
    let mut placed: BTreeSet<NodeId> = BTreeSet::new();
    for (node, definition) in network.iter_nodes() {
        if let NodeKind::Hub(hub) = &definition.kind
            && !placed.contains(&node)
        {
            let hubs = joined_hubs(network, routing, node);
            placed.extend(&hubs);
            let builder = Builder { network, routing, numbers, config };
            builder.add_domain(&mut media, hub, &hubs)?;
        }
    }
    for (id, link) in network.iter_links() {
        let has_hub = link.ends.iter().any(|end| network.hub(end.node).is_some());
        if network.is_half_duplex(link) && !link.standby && !has_hub {
            let builder = Builder { network, routing, numbers, config };
            builder.add_link(&mut media, id)?;
        }
    }
    Ok(media)
}

/// Returns the hubs in the collision domain of `first`, with `first` in front.
fn joined_hubs(network: &Network, routing: &Routing, first: NodeId) -> Vec<NodeId> {
    let mut seen = BTreeSet::from([first]);
    let mut hubs = Vec::from([first]);
    let mut queue = VecDeque::from([first]);
    while let Some(node) = queue.pop_front() {
        for hop in routing.hops_from(network, node) {
            let next = hop.ingress.node;
            if network.hub(next).is_some() && seen.insert(next) {
                hubs.push(next);
                queue.push_back(next);
            }
        }
    }
    hubs
}

struct Builder<'a> {
    network: &'a Network,
    routing: &'a Routing,
    numbers: &'a Numbers,
    config: &'a Config,
}

impl Builder<'_> {
    fn add_domain(
        &self,
        media: &mut Media,
        first: &Hub,
        hubs: &[NodeId],
    ) -> Result<(), BuildError> {
        let mut members = Vec::new();
        for &hub in hubs {
            let own = self.network.hub(hub);
            if own.is_some_and(|own| own.rate != first.rate || own.backoff != first.backoff) {
                return Err(BuildError::MixedHubs { hub: self.network.node(hub).name.clone() });
            }
            for hop in self.routing.hops_from(self.network, hub) {
                if self.network.hub(hop.ingress.node).is_some() {
                    self.refuse_errors(hop.link, [hub, hop.ingress.node])?;
                } else {
                    members.push(Member { port: hop.ingress, link: hop.link, hub: Some(hub) });
                }
            }
        }
        // Order by node and port, independent of the order of hubs.
        members.sort_by_key(|member| member.port);
        let medium = self.medium_of_hubs(first, hubs, &members)?;
        let hubs = hubs.iter().map(|&hub| self.hub_state(hub, &members)).collect();
        self.finish(media, medium, hubs, &members)
    }

    fn medium_of_hubs(
        &self,
        first: &Hub,
        hubs: &[NodeId],
        members: &[Member],
    ) -> Result<Medium, BuildError> {
        let own = |member: &Member| self.network.links[member.link.index()].propagation;
        let hub_of = |member: &Member| member.hub.unwrap_or(hubs[0]);
        let to_first = |member: &Member| own(member) + self.between_hubs(hub_of(member), hubs[0]);
        let attached = self.attached(members, to_first);
        let parameters = parameters(first.rate, first.delay, first.backoff);
        let built = if let [_] = hubs {
            Medium::new(&parameters, &attached)
        } else {
            Medium::with_paths(&parameters, &attached, |from, to| {
                let (from, to) = (&members[from as usize], &members[to as usize]);
                let (a, b) = (hub_of(from), hub_of(to));
                let last = self.network.hub(b).map_or(Duration::ZERO, |hub| hub.delay);
                own(from) + self.between_hubs(a, b) + last + own(to)
            })
        };
        built.map_err(|reason| BuildError::Medium {
            node: self.network.node(hubs[0]).name.clone(),
            reason,
        })
    }

    /// Returns the delay from the entry of one hub to the entry of another.
    fn between_hubs(&self, from: NodeId, to: NodeId) -> Duration {
        let mut delay = Duration::ZERO;
        let mut at = from;
        while at != to {
            let Some(hop) = self.hop_towards(at, to) else {
                break;
            };
            delay += self.network.hub(at).map_or(Duration::ZERO, |hub| hub.delay);
            delay += self.network.links[hop.link.index()].propagation;
            at = hop.ingress.node;
        }
        delay
    }

    fn hop_towards(&self, from: NodeId, to: NodeId) -> Option<Hop> {
        let egress = self.routing.port_towards(from, to)?;
        self.routing.hops_from(self.network, from).find(|hop| hop.egress == egress)
    }

    fn hub_state(&self, hub: NodeId, members: &[Member]) -> HubState {
        let hops = || self.routing.hops_from(self.network, hub);
        let ingress = members.iter().map(|member| {
            let of_member = |hop: &Hop| hop.ingress == member.port;
            let entry = match member.hub {
                Some(own) if own != hub => self.hop_towards(hub, own),
                _ => hops().find(of_member),
            };
            entry.map_or(NONE, |hop| self.numbers.port(hop.egress))
        });
        let ports = hops().map(|hop| self.numbers.port(hop.egress));
        HubState::new(hub, ports.collect(), ingress.collect())
    }

    /// Adds a half-duplex link: a segment with two stations, each half the cable from its middle.
    fn add_link(&self, media: &mut Media, id: LinkId) -> Result<(), BuildError> {
        let link = &self.network.links[id.index()];
        let members = link.ends.map(|port| Member { port, link: id, hub: None });
        let half = link.propagation / 2;
        let rest = link.propagation - half;
        let first = members[0].port;
        let attached =
            self.attached(&members, |member| if member.port == first { half } else { rest });
        let parameters = parameters(link.rate, Duration::ZERO, Backoff::Standard);
        let medium = Medium::new(&parameters, &attached).map_err(|reason| BuildError::Medium {
            node: self.network.node(first.node).name.clone(),
            reason,
        })?;
        self.finish(media, medium, Vec::new(), &members)
    }

    fn attached(
        &self,
        members: &[Member],
        distance: impl Fn(&Member) -> Duration,
    ) -> Vec<medium::Attachment> {
        let attached = members.iter().map(|member| {
            let node = &self.network.node(member.port.node).name;
            let name = alloc::format!("{node} {}", member.port.port);
            medium::Attachment {
                distance: distance(member),
                seed: seed_of(self.config.seed, &name, Purpose::Backoff),
            }
        });
        attached.collect()
    }

    fn finish(
        &self,
        media: &mut Media,
        medium: Medium,
        hubs: Vec<HubState>,
        members: &[Member],
    ) -> Result<(), BuildError> {
        let domain = u32::try_from(media.shared.len()).map_err(|_| BuildError::TooLarge)?;
        let count = |media: &Media| u32::try_from(media.attachments.len());
        let first = count(media).map_err(|_| BuildError::TooLarge)?;
        for (station, member) in (0u32..).zip(members) {
            self.refuse_cut_through(member.port)?;
            let port = self.numbers.port(member.port);
            media.attachments.push(Attachment::new(port, domain, station));
        }
        let end = count(media).map_err(|_| BuildError::TooLarge)?;
        let mut shared = Shared::new(medium, first..end, hubs);
        let nodes: Vec<NodeId> = members.iter().map(|member| member.port.node).collect();
        let hub = members.iter().find_map(|member| member.hub);
        for access in &self.network.access {
            let domain = Domain::of(self.network, access.hub);
            let is_own = |domain: &Domain| hub.is_some_and(|hub| domain.hubs.contains(&hub));
            let Some(domain) = domain.filter(is_own) else {
                continue;
            };
            access.check(&domain).map_err(|problem| BuildError::Access {
                hub: self.network.node(access.hub).name.clone(),
                problem,
            })?;
            self.refuse_layers(access)?;
            shared.follow(AccessState::new(access, &domain, &nodes));
        }
        media.shared.push(shared);
        Ok(())
    }

    /// Refuses transmit queues and smoothers where a summation frame takes several frames at once.
    fn refuse_layers(&self, access: &Access) -> Result<(), BuildError> {
        if access.scheme.kind() != SchemeKind::Summation {
            return Ok(());
        }
        for own in &access.members {
            if self.network.end_station(own.node).is_some_and(reports) {
                return Err(BuildError::Layer {
                    station: self.network.node(own.node).name.clone(),
                    reason: "transmit queues or a smoother above a summation frame".into(),
                });
            }
        }
        Ok(())
    }

    /// Refuses bit errors between hubs: all stations behind the link would have to see the same
    /// ones, which is not modeled.
    fn refuse_errors(&self, link: LinkId, hubs: [NodeId; 2]) -> Result<(), BuildError> {
        if self.network.links[link.index()].errors_per_billion > 0 {
            let hubs = hubs.map(|hub| self.network.node(hub).name.clone());
            return Err(BuildError::ErrorsBetweenHubs { hubs });
        }
        Ok(())
    }

    /// Refuses a cut-through switch: it would forward collision fragments.
    fn refuse_cut_through(&self, port: PortId) -> Result<(), BuildError> {
        let switch = self.network.switch(port.node);
        if switch.is_some_and(|switch| switch.mode == ForwardingMode::CutThrough) {
            return Err(BuildError::CutThroughOnMedium {
                switch: self.network.node(port.node).name.clone(),
            });
        }
        Ok(())
    }
}

const fn parameters(rate: BitRate, delay: Duration, backoff: Backoff) -> medium::Config {
    medium::Config { rate, repeater_delay: delay, backoff }
}
