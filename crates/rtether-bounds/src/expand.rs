//! Follows every flow through the network and records the places it visits.
//!
//! The rules are those of the plant, implemented independently from the standards: shortest paths,
//! VLANs and tags (IEEE 802.1Q-2022, 6.9 and 8.6), groups that reach only their listeners or are
//! flooded. A switch that learns addresses may flood any unicast frame, so it is assumed to flood
//! them all. Streams with a route, or whose VLAN leads them off the shortest path, have entries of
//! their own in every switch and are never flooded. Copies that circulate or reach a station twice are not followed further: no place of
//! such a plant has a bound.

mod acknowledgements;
mod discovery;
mod end_station;
mod link;
mod mechanism;
mod mirror;

use alloc::collections::BTreeSet;
use alloc::vec;
use alloc::vec::Vec;

use rtether_model::access::{ORDINARY, class_of};
use rtether_model::flow::{Delivery, Flow, FlowId, Traffic};
use rtether_model::network::{
    AddressTable, ForwardingMode, MulticastForwarding, Network, NodeId, NodeKind, PortId, Switch,
    Vid,
};
use rtether_model::route::Routing;
use rtether_model::unknown::{CostName, Unknown};

use crate::analysis::Reason;
use crate::classify::Way;
use crate::connection::{self, Unproved};
use crate::frame::{Frame, Kind};
use crate::held::{Resolution, Unresolved};
use crate::index::NONE;
use crate::output_limit::{Limit, Limiter};
use crate::passage::RuleStep;
use crate::plant::{Gap, Plant, Server, ServerKind, Stream, Visit};
use crate::servers::{Sites, gaps};
use crate::source::{Source, add};
use crate::split;
use crate::stack::{Service, service};
use mechanism::{Split, is_exchange};

/// Routes of a network and numbers for its places; independent of flows but for their gaps.
#[derive(Debug)]
pub(crate) struct Atlas {
    routing: Routing,
    sites: Sites,
    servers: Vec<Server>,
    /// By flow: where its talker keeps its gap; [`NONE`] without one, as behind the end.
    gaps: Vec<u32>,
    /// How long stations hold packets for an address.
    resolutions: Vec<Resolution>,
}

impl Atlas {
    /// Takes what is known of how long stations hold packets for an address.
    pub(crate) fn set_resolutions(&mut self, resolutions: Vec<Resolution>) {
        self.resolutions = resolutions;
    }

    /// Finds routes and numbers the places.
    pub(crate) fn new(network: &Network, flows: &[Flow]) -> Self {
        let routing = Routing::new(network);
        let mut servers = Vec::new();
        let sites = Sites::new(network, &routing, &mut servers);
        let gaps = gaps(network, flows, &mut servers);
        Self { routing, sites, servers, gaps, resolutions: Vec::new() }
    }

    /// Follows flows of the network, numbered from zero, and returns their visits; sources and
    /// member lists are added later.
    pub(crate) fn follow(&self, network: &Network, flows: &[Flow]) -> Plant {
        self.follow_without(network, flows, Unproved::default())
    }

    /// The same without what was found to lack a proof.
    pub(crate) fn follow_without(
        &self,
        network: &Network,
        flows: &[Flow],
        unproved: Unproved<'_>,
    ) -> Plant {
        let mut plant = Plant { servers: self.servers.clone(), ..Plant::default() };
        // Most paths are a station, two or three switches, and perhaps two stacks.
        plant.visits.reserve(4 * flows.len());
        let mut walker = Walker {
            network,
            routing: &self.routing,
            sites: &self.sites,
            plant,
            flow: 0,
            class: ORDINARY,
            is_open: false,
            is_prompt: false,
            is_regular: false,
            in_flight: 0,
            exceeded: unproved.exceeded,
            resolutions: &self.resolutions,
            gaps: &self.gaps,
            branches: 0,
            first_branch: 0,
            budget: 0,
        };
        for (index, flow) in (0u32..).zip(flows) {
            let delayed = unproved.delayed;
            let is_delayed = delayed.binary_search_by_key(&index, |own| own.flow).is_ok();
            walker.flow = index;
            walker.class = class_of(flow);
            walker.is_prompt = !is_delayed && connection::may_be_prompt(network, flow);
            walker.is_regular = unproved.irregular.binary_search(&index).is_err();
            walker.follow_flow(flow);
        }
        walker.plant
    }
}

/// A frame between two places.
#[derive(Clone, Copy)]
struct Token {
    visit: u32,
    /// From the beginning of service at `visit` to the current position.
    gap: Gap,
    /// Service at the place of `visit`, if packets leave that place at least this far apart.
    spacing: Option<[i64; 2]>,
    frame: Frame,
    /// Time per octet of the link it came by.
    octet: i64,
    /// From the header to the last bit on that link.
    tail: Gap,
    /// How much longer it takes if the master of a summation frame has to pass it on.
    relay: i64,
    thinking: i64,
    is_answer: bool,
    is_pure: bool,
    /// Limit that an earlier place has put on the flow.
    limit: Option<Limit>,
    /// Whether a policer on the way from `visit` may drop or demote the packet.
    is_policed: bool,
    /// Where its packets first took two queues.
    split: Option<Split>,
    /// A neighbor on the way that may not answer, so that the packet may be dropped.
    unresolved: Option<Unresolved>,
    /// Tells packets apart that have taken different queues.
    branch: u32,
}

impl Token {
    /// Returns a packet that an application has released.
    const fn released(frame: Frame) -> Self {
        Self {
            visit: NONE,
            gap: Gap::exact(0),
            spacing: None,
            frame,
            octet: 0,
            tail: Gap::exact(0),
            relay: 0,
            thinking: 0,
            is_answer: false,
            is_pure: false,
            limit: None,
            is_policed: false,
            split: None,
            unresolved: None,
            branch: 0,
        }
    }
}

impl Token {
    /// Returns the last visit and the time behind it, or why there is no bound for all packets.
    fn end(&self) -> Result<(u32, Gap), Reason> {
        let unresolved = self.unresolved.map(Unresolved::reason);
        let reason = self.split.map(Split::reason).or(unresolved);
        reason.map_or(Ok((self.visit, self.gap)), Err)
    }
}

/// Destination of a frame.
enum Target {
    One(NodeId),
    /// The listeners, and the ports that switches with group tables send it to.
    Group(Vec<NodeId>, BTreeSet<PortId>),
    /// All stations: a broadcast.
    All,
    /// The listeners of a stream with entries of its own, and the ports that all switches send it to.
    Stream(Vec<NodeId>, BTreeSet<PortId>),
}

impl Target {
    fn includes(&self, node: NodeId) -> bool {
        match self {
            Self::One(own) => *own == node,
            Self::All => true,
            Self::Group(listeners, _) | Self::Stream(listeners, _) => listeners.contains(&node),
        }
    }
}

struct Walker<'a> {
    network: &'a Network,
    routing: &'a Routing,
    sites: &'a Sites,
    plant: Plant,
    flow: u32,
    /// Class of its frames at shared media.
    class: u8,
    /// Whether its releases are unlimited.
    is_open: bool,
    /// Whether its messages go over a connection and leave at once.
    is_prompt: bool,
    /// Whether its acknowledgements come in a pattern.
    is_regular: bool,
    /// Packets under way of a connection whose releases are unlimited, else zero.
    in_flight: i64,
    /// Policers that frames may exceed.
    exceeded: &'a [RuleStep],
    resolutions: &'a [Resolution],
    /// Where talkers keep the gaps of flows.
    gaps: &'a [u32],
    /// Last number of a branch, and that of the packet handed to its station.
    branches: u32,
    first_branch: u32,
    /// Number of links that frames of one release may still pass.
    budget: usize,
}

type Deliveries = Vec<(NodeId, Token)>;

impl Walker<'_> {
    /// Returns the number of the visit that comes next.
    fn next_visit(&self) -> u32 {
        u32::try_from(self.plant.visits.len()).unwrap_or(NONE)
    }

    fn follow_flow(&mut self, flow: &Flow) {
        if is_exchange(flow) {
            return self.follow_exchange(flow);
        }
        let request =
            if self.is_prompt { Frame::parts(flow, false) } else { Frame::of(flow, false) };
        self.is_open = (flow.connection.is_some() && !self.is_prompt)
            || flow.is_published()
            || matches!(flow.traffic, Traffic::Bulk(_) | Traffic::Poisson { .. });
        let source = Source::of(flow, 0);
        let is_limited = source.is_limited() || self.is_prompt;
        self.in_flight = if is_limited { 0 } else { source.in_flight };
        let way = Way { flow, number: self.flow, from: flow.talker, to: None, is_answer: false };
        let arrived = match flow.delivery {
            Delivery::Multicast => match self.routing.flow_hops(self.network, flow) {
                Ok(hops) => {
                    let ports = hops.iter().map(|hop| hop.egress).collect();
                    let listeners = flow.listeners.clone();
                    let target = if flow.routes.is_empty() {
                        Target::Group(listeners, ports)
                    } else {
                        Target::Stream(listeners, ports)
                    };
                    self.send(&way, &target, Token::released(request))
                }
                Err(_) => Ok(Vec::new()),
            },
            Delivery::Unicast => {
                let mut all = Ok(Vec::new());
                for &listener in &flow.listeners {
                    let target = self.unicast(flow, [flow.talker, listener]);
                    let to = Some(listener);
                    let one = self.send(&Way { to, ..way }, &target, Token::released(request));
                    all = join(all, one);
                }
                all
            }
        };
        for &listener in &flow.listeners {
            if self.is_double(flow, listener) {
                self.follow_copies(flow, listener, arrived.as_ref());
                continue;
            }
            let mut stream = self.follow_answer(flow, listener, &arrived);
            if self.is_prompt {
                let all = arrived.iter().flatten();
                let mut there = all.filter(|(node, _)| *node == listener);
                let there = there.next().map(|(_, token)| (token.visit, token.gap));
                let back = stream.end.clone().ok();
                self.follow_acknowledgements(flow, listener, there, back);
            }
            stream.end = stream.end.map(|end| split::end(&self.plant, end));
            self.plant.streams.push(stream);
        }
        if flow.is_published() {
            self.follow_discovery(flow);
        }
    }

    /// Follows the answer of one listener, if there is one, and returns the stream.
    fn follow_answer(
        &mut self,
        flow: &Flow,
        listener: NodeId,
        arrived: &Result<Deliveries, Reason>,
    ) -> Stream {
        let mut stream = Stream { flow: self.flow, listener, end: Err(Reason::NotDelivered) };
        let tokens: Vec<&Token> = match arrived {
            Ok(all) => {
                let own = all.iter().filter(|(node, _)| *node == listener);
                own.map(|(_, token)| token).collect()
            }
            Err(reason) => {
                stream.end = Err(reason.clone());
                return stream;
            }
        };
        let Some((token, branches)) = tokens.split_first() else {
            if let Err(error) = self.routing.flow_path(self.network, flow, listener) {
                stream.end = Err(Reason::NoRoute(error));
            }
            return stream;
        };
        let Some(thinking) = self.thinking(flow) else {
            stream.end = token.end();
            return stream;
        };
        stream.end = self.send_answer(flow, listener, token, thinking);
        for branch in branches {
            // They disturb others; the flow has no bound.
            let found = self.send_answer(flow, listener, branch, thinking);
            stream.end = stream.end.and(found);
        }
        stream
    }

    /// Returns how long a listener takes to answer a message, if it does: up to a scan more than
    /// without scans.
    fn thinking(&self, flow: &Flow) -> Option<Gap> {
        match flow.reply {
            Some(reply) => Some(Gap::between(reply.after.as_ps(), reply.longest().as_ps())),
            None => (flow.is_acknowledged() && !self.is_prompt).then_some(Gap::exact(0)),
        }
    }

    /// Follows the answer to the packets of a token; returns its end.
    fn send_answer(
        &mut self,
        flow: &Flow,
        listener: NodeId,
        token: &Token,
        thinking: Gap,
    ) -> Result<(u32, Gap), Reason> {
        let back = self.answers(flow, listener, token, thinking)?;
        let (_, token) = back.first().ok_or(Reason::NotDelivered)?;
        token.end()
    }

    /// Follows the answer to the packets of a token; returns its deliveries.
    fn answers(
        &mut self,
        flow: &Flow,
        listener: NodeId,
        token: &Token,
        thinking: Gap,
    ) -> Result<Deliveries, Reason> {
        let answer = Token {
            gap: token.gap.then(thinking),
            spacing: None,
            frame: if is_exchange(flow) {
                // With the tag of the request.
                token.frame.without_priority()
            } else if self.is_prompt {
                Frame::parts(flow, true)
            } else {
                Frame::of(flow, true)
            },
            thinking: thinking.max,
            is_answer: true,
            limit: end_station::answer_limit(flow, token.limit),
            ..*token
        };
        let way =
            Way { flow, number: self.flow, from: listener, to: Some(flow.talker), is_answer: true };
        let target = self.unicast(flow, [listener, flow.talker]);
        self.send(&way, &target, answer)
    }

    /// Returns the destination of unicast frames of a flow, or of its answers.
    fn unicast(&self, flow: &Flow, [from, to]: [NodeId; 2]) -> Target {
        let is_routed = !flow.routes.is_empty();
        if !is_routed && !self.routing.has_vlans() {
            return Target::One(to);
        }
        let hops = if from == flow.talker {
            self.routing.flow_path(self.network, flow, to)
        } else {
            self.routing.answer_path(self.network, flow, from)
        };
        let usual = self.routing.path(self.network, from, to);
        match hops {
            Ok(hops) if is_routed || usual.as_ref() != Ok(&hops) => {
                Target::Stream(vec![to], hops.iter().map(|hop| hop.egress).collect())
            }
            // No switch knows the stream of a broken route.
            Err(_) if is_routed => Target::Stream(vec![to], BTreeSet::new()),
            Ok(_) | Err(_) => Target::One(to),
        }
    }

    /// Follows a packet that an application hands to its station; returns the deliveries.
    fn send(&mut self, way: &Way<'_>, to: &Target, token: Token) -> Result<Deliveries, Reason> {
        self.budget = self.links_max();
        (self.branches, self.first_branch) = (token.branch, token.branch);
        let mut deliveries = Vec::new();
        let network = self.network;
        let Some(station) = network.end_station(way.from) else {
            return Ok(deliveries);
        };
        let mut token = token;
        if !is_exchange(way.flow) {
            self.pass_tasks(way.from, station, &mut token, true);
            self.pass_stack(way.from, station, way, &mut token, true);
            if way.to == Some(way.from) {
                // It turns round at the bottom of the stack.
                self.pass_stack(way.from, station, way, &mut token, false);
                self.pass_tasks(way.from, station, &mut token, false);
                // A station that takes no time has no place where a packet could be.
                let is_somewhere = token.visit != NONE;
                deliveries.extend(is_somewhere.then_some((way.from, token)));
                return Ok(deliveries);
            }
        }
        let mut under_way = self.descend(station, way, token)?;
        while let Some((port, token)) = under_way.pop() {
            self.arrive(port, way, to, token, &mut under_way, &mut deliveries)?;
        }
        Ok(deliveries)
    }

    /// Returns more links than the copies of one packet pass unless they circulate.
    fn links_max(&self) -> usize {
        4 * self.sites.ports() + 16
    }

    /// Returns the reason for plants where copies of a packet arrive twice.
    const fn loops(&self) -> Reason {
        Reason::FloodingLoop { flow: FlowId(self.flow) }
    }

    /// Follows a frame that arrives at the other end of a link.
    fn arrive(
        &mut self,
        port: PortId,
        way: &Way<'_>,
        to: &Target,
        mut token: Token,
        under_way: &mut Vec<(PortId, Token)>,
        deliveries: &mut Deliveries,
    ) -> Result<(), Reason> {
        let network = self.network;
        match &network.node(port.node).kind {
            NodeKind::EndStation(station) => {
                if to.includes(port.node) {
                    let is_same = |(node, known): &(NodeId, Token)| {
                        *node == port.node && known.branch == token.branch
                    };
                    if deliveries.iter().any(is_same) {
                        return Err(self.loops());
                    }
                    self.take_off_trailer(way.from, &mut token);
                    self.pass_stack(port.node, station, way, &mut token, false);
                    if !is_exchange(way.flow) {
                        self.pass_tasks(port.node, station, &mut token, false);
                    }
                    deliveries.push((port.node, token));
                }
            }
            NodeKind::Hub(_) => {
                for egress in self.sites.ports_of(port.node).filter(|&p| p != port) {
                    self.emit(egress, 0, token, under_way)?;
                }
            }
            NodeKind::Switch(switch) => {
                let Some(vid) = token.frame.enter(switch, port.port) else {
                    return self.mirror_received(switch, port, &token, under_way);
                };
                self.mirror_received(switch, port, &token, under_way)?;
                let first = self.plant.passages.len();
                for token in self.treat(switch, port, way, token) {
                    self.forward(switch, (port, vid), to, &token, under_way)?;
                }
                let end = self.next_visit();
                for passage in &mut self.plant.passages[first..] {
                    passage.visits[1] = end;
                }
            }
        }
        Ok(())
    }

    /// Hands a frame that a switch has taken in at a port, in a VLAN, to its egress ports.
    fn forward(
        &mut self,
        switch: &Switch,
        (port, vid): (PortId, Vid),
        to: &Target,
        token: &Token,
        under_way: &mut Vec<(PortId, Token)>,
    ) -> Result<(), Reason> {
        let ways = self.ways(switch, port, to);
        let mut token = *token;
        if let Some(router) = switch.router.filter(|_| !ways.is_empty()) {
            let processor = self.sites.inside(port.node).stack(false);
            let unknown = Unknown { cost: CostName::Receive, more: router.unknown };
            let cost = service(&router.stack(), &[unknown], false, &token.frame);
            self.visit(&mut token, processor, 0, cost, false);
            token.gap = cost.gap();
        }
        for egress in ways {
            let Some(frame) = token.frame.leave(switch, egress.port, vid) else {
                continue;
            };
            let mut copy = Token { frame, ..token };
            if let Some(limit) = self.table_limit(switch, egress, to, &token) {
                copy.limit = Some(limit);
            }
            if self.is_held(switch, egress, &token) {
                copy.gap = copy.gap.then(token.tail);
                // The frame is held behind the policer.
                if let Some(limit) = copy.limit.as_mut().filter(|limit| limit.begins) {
                    limit.delay = add(limit.delay, token.tail.max);
                }
            }
            let queue = if switch.selection_at(egress.port).uses_queues() {
                switch.queues.queue_of_value(frame.pcp)
            } else {
                0
            };
            self.emit(egress, queue, copy, under_way)?;
        }
        Ok(())
    }

    /// Returns the limit on copies of a connection that a switch floods by a port off their way.
    fn table_limit(
        &self,
        switch: &Switch,
        egress: PortId,
        to: &Target,
        token: &Token,
    ) -> Option<Limit> {
        let (Target::One(station), AddressTable::Learning { aging }) = (to, switch.addresses)
        else {
            return None;
        };
        let is_copy = token.limit.is_some_and(|limit| limit.by == Limiter::Table);
        if is_copy || self.in_flight == 0 || switch.router.is_some() || self.routing.has_vlans() {
            return None;
        }
        let hop = self.routing.next_hop(self.network, egress.node, *station)?;
        let is_off = hop.egress != egress;
        Limit::of_table(aging.as_ps(), self.in_flight).filter(|_| is_off)
    }

    /// Returns whether a switch holds a frame until its last bit is there, for a faster port.
    fn is_held(&self, switch: &Switch, egress: PortId, token: &Token) -> bool {
        let wire = self.sites.wire(egress);
        let is_faster = wire.is_some_and(|wire| wire.octet < token.octet);
        switch.mode == ForwardingMode::CutThrough && is_faster
    }

    /// Returns the ports by which a switch forwards a frame received at `ingress`.
    fn ways(&self, switch: &Switch, ingress: PortId, to: &Target) -> Vec<PortId> {
        let node = ingress.node;
        let own = |table: &BTreeSet<PortId>| {
            let last = PortId { node, port: u16::MAX };
            let own = table.range(PortId::first(node)..=last);
            own.copied().collect()
        };
        let mut ways: Vec<PortId> = match to {
            Target::Stream(_, table) => own(table),
            Target::Group(_, table) if switch.multicast == MulticastForwarding::Managed => {
                own(table)
            }
            Target::One(station) if switch.addresses == AddressTable::Static => {
                let hop = self.routing.next_hop(self.network, node, *station);
                hop.map_or_else(Vec::new, |hop| vec![hop.egress])
            }
            Target::All if switch.router.is_some() => Vec::new(),
            Target::Group(..) | Target::One(_) | Target::All => self.sites.ports_of(node).collect(),
        };
        ways.retain(|&port| port != ingress && !switch.is_mirror(port.port));
        ways
    }

    /// Records a visit of the packet, whose token is at that place afterwards.
    fn visit(
        &mut self,
        token: &mut Token,
        server: u32,
        queue: u8,
        cost: Service,
        is_inbound: bool,
    ) {
        let ratio = token.spacing.and_then(|spacing| ratio(&cost, spacing));
        let id = self.next_visit();
        let place = &self.plant.servers[server as usize];
        let is_answer = core::mem::take(&mut token.is_answer);
        let is_pure = core::mem::take(&mut token.is_pure);
        let limit = token.limit.as_mut().map_or(NONE, |limit| {
            let number = u32::try_from(self.plant.limits.len()).unwrap_or(NONE);
            self.plant.limits.push(*limit);
            (limit.begins, limit.delay) = (false, 0);
            number
        });
        self.plant.visits.push(Visit {
            flow: self.flow,
            server,
            queue,
            is_answer,
            is_pure,
            is_inbound,
            is_tagged: token.frame.is_tagged,
            service: cost,
            due: crate::source::INFINITE,
            sizes: token.frame.sizes,
            frames: if matches!(place.kind, ServerKind::Tasks { .. })
                && token.frame.kind == Kind::Datagram
            {
                1
            } else {
                token.frame.count
            },
            parent: token.visit,
            gap: token.gap,
            thinking: core::mem::take(&mut token.thinking),
            twice: 0,
            ratio,
            spacing: token.spacing.map_or(0, |[small, large]| small.min(large)),
            slack: 0,
            limit,
            is_policed: core::mem::take(&mut token.is_policed),
        });
        token.spacing = place.spaces.then_some([cost.small[0], cost.large[0]]);
        token.visit = id;
    }
}

/// Returns the largest `cost / spacing` of one packet with 32 binary places, rounded up; `None` if
/// packets may follow each other without spacing.
///
/// Both are linear in the size of the packet (or maxima and minima of linear functions), so that
/// the largest quotient is at one end of the range of sizes.
fn ratio(cost: &Service, spacing: [i64; 2]) -> Option<i128> {
    let quotient = |most: i64, least: i64| {
        let (most, least) = (i128::from(most) << 32, i128::from(least));
        (least > 0).then(|| (most + least - 1) / least)
    };
    let small = quotient(cost.small[1], spacing[0])?;
    let large = quotient(cost.large[1], spacing[1])?;
    Some(small.max(large))
}

fn join(
    all: Result<Deliveries, Reason>,
    one: Result<Deliveries, Reason>,
) -> Result<Deliveries, Reason> {
    let mut all = all?;
    all.extend(one?);
    Ok(all)
}
