//! The plant as the analysis sees it: places that serve packets one after the other, and the visits
//! of flows to them.
//!
//! A place is an egress port or a processor of a stack. A *visit* is one flow (to one listener, or
//! to all if it is multicast) at one place; its parent is the visit before it, so that the visits
//! of a multicast flow form a tree and frames are counted once where they are one frame. All work
//! is measured in picoseconds of the place that does it, so that every place has rate one.

use alloc::vec;
use alloc::vec::Vec;
use core::ops::Range;

use rtether_model::flow::{Flow, Traffic};
use rtether_model::network::{Network, NodeId, PortId, PortPlan};
use rtether_model::partition::LocalDeadlines;

use crate::analysis::{AccessObstacle, Reason};
use crate::connection::{self, Connection, Delayed};
use crate::discipline::{Discipline, deadline};
pub(crate) use crate::gap::Gap;
use crate::index::NONE;
use crate::output_limit::Limit;
use crate::passage::{Passage, RuleStep};
use crate::service_curve::ServiceCurve;
use crate::source::{INFINITE, Source, add, times};
use crate::stack::Service;

/// A place that serves packets one after the other; unless its curve pauses, it is never idle while
/// one waits.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Server {
    pub(crate) kind: ServerKind,
    /// Why the place has no bounds, if that is the case.
    pub(crate) obstacle: Option<Reason>,
    /// What its queues can count on together.
    pub(crate) curve: ServiceCurve,
    /// What interfaces at both ends of the link add per octet of the untagged frame.
    pub(crate) interface_per_octet: i64,
    /// By how much the latency of the switch behind the link varies.
    pub(crate) latency_jitter: i64,
    /// Whether the switch at the other end forwards after the header.
    pub(crate) is_cut_through: bool,
    /// Whether bit errors may destroy frames that it sends.
    pub(crate) is_lossy: bool,
    /// Whether packets leave it at least as far apart as their service lasts.
    pub(crate) spaces: bool,
    /// How its queues share the line, if it is a port of a switch that chooses among them.
    pub(crate) plan: Option<PortPlan>,
    pub(crate) discipline: Discipline,
}

/// Kind of a place.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ServerKind {
    /// Egress port of a switch.
    Switch(PortId),
    /// Port of an end station.
    Station(PortId),
    /// Processor of a stack.
    Stack { node: NodeId, is_receiver: bool },
    /// Processor of a router.
    Router(NodeId),
    /// Processor of the application tasks of a station.
    Tasks { node: NodeId },
    /// What keeps the gap of one flow of a station: packets leave when their service begins.
    Gap(NodeId),
    /// Smoother above the port of a station: packets wait for credits there, and then at the port.
    Smoother(PortId),
}

/// One flow at one place.
#[allow(clippy::struct_excessive_bools, reason = "facts that do not exclude each other")]
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Visit {
    pub(crate) flow: u32,
    pub(crate) server: u32,
    /// Egress queue, or its equivalent in an end station; zero if there is only one.
    pub(crate) queue: u8,
    /// Whether the packet is an answer that an application has just released.
    pub(crate) is_answer: bool,
    /// Whether it is an acknowledgement without data that an end of a connection has just released.
    pub(crate) is_pure: bool,
    /// Whether the packet was received by the station.
    pub(crate) is_inbound: bool,
    pub(crate) is_tagged: bool,
    pub(crate) service: Service,
    /// Time after its arrival at which a packet is due, at a port that selects by deadline; infinite
    /// elsewhere, and without a deadline.
    pub(crate) due: i64,
    /// Octets of the smallest and of the largest frame without tag.
    pub(crate) sizes: [i64; 2],
    /// Packets here per message: the fragments of a datagram, but one where a task has the whole
    /// message.
    pub(crate) frames: i64,
    /// The previous visit; [`NONE`] at the release.
    pub(crate) parent: u32,
    /// From the beginning of service at the parent to the arrival here.
    pub(crate) gap: Gap,
    /// Part of the gap that an application takes to answer.
    pub(crate) thinking: i64,
    /// Part of its service that the end of the stream takes off again ([`crate::split`]).
    pub(crate) twice: i64,
    /// If the packets arrive no denser than the parent's place lets them leave: how much work here
    /// a picosecond of service there may stand for, as a fixed-point number with 32 binary places,
    /// rounded up.
    pub(crate) ratio: Option<i128>,
    /// Shortest service at the parent, where packets keep their distance.
    pub(crate) spacing: i64,
    /// By how much packets on their way here may move towards each other.
    pub(crate) slack: i64,
    /// Number of the limit that an earlier place has put on the flow; [`NONE`] without one.
    pub(crate) limit: u32,
    /// Whether a policer on the way here may drop or demote the packet.
    pub(crate) is_policed: bool,
}

impl Visit {
    /// Returns whether two visits are equal apart from the numbers of flow, parent and limit.
    pub(crate) fn is_same(&self, other: &Self) -> bool {
        let without_numbers = |visit: &Self| Self { flow: 0, parent: 0, limit: 0, ..visit.clone() };
        without_numbers(self) == without_numbers(other)
    }
}

/// The end of one path: one flow at one listener, or back at its talker.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Stream {
    pub(crate) flow: u32,
    pub(crate) listener: NodeId,
    /// Last visit, and the time from the beginning of its service to the delivery.
    pub(crate) end: Result<(u32, Gap), Reason>,
}

/// Where visits and streams of a flow begin.
#[derive(Clone, Copy, Debug)]
pub(crate) struct First {
    pub(crate) visit: usize,
    pub(crate) stream: usize,
}

/// Everything the analysis needs, in flat arrays.
#[derive(Clone, Debug, Default)]
pub(crate) struct Plant {
    pub(crate) servers: Vec<Server>,
    pub(crate) visits: Vec<Visit>,
    pub(crate) streams: Vec<Stream>,
    /// Limits, each named by one visit.
    pub(crate) limits: Vec<Limit>,
    /// Connections whose messages leave at once, by flow and listener.
    pub(crate) connections: Vec<Connection>,
    /// Flows whose messages may be delayed by their connection, in order.
    pub(crate) delayed: Vec<Delayed>,
    /// Flows whose acknowledgements may not come in a pattern, in order.
    pub(crate) irregular: Vec<u32>,
    /// Frames at policers that are taken for kept, by flow.
    pub(crate) passages: Vec<Passage>,
    /// Policers that frames may exceed, in order.
    pub(crate) exceeded: Vec<RuleStep>,
    /// By flow.
    pub(crate) sources: Vec<Source>,
    /// Visits of each place, ordered by queue and parent's place.
    pub(crate) members: Rows,
    /// By visit: whether a delivery lies behind it. Flooded copies that reach no listener have
    /// none; they are not waited for.
    pub(crate) leads_on: Vec<bool>,
    /// By visit: work of the copies for further listeners that come at the same time and go behind;
    /// empty without such copies.
    pub(crate) behind: Vec<i64>,
}

/// A list for each index, in one array.
#[derive(Clone, Debug, Default)]
pub(crate) struct Rows {
    starts: Vec<u32>,
    items: Vec<u32>,
}

impl Rows {
    /// Collects `item`s by row; items with row [`NONE`] are left out.
    fn collect(
        rows: usize,
        row_of: impl Fn(u32) -> u32,
        items: impl Iterator<Item = u32> + Clone,
    ) -> Self {
        let mut starts = vec![0u32; rows + 1];
        for item in items.clone() {
            let row = row_of(item);
            if row != NONE {
                starts[row as usize + 1] += 1;
            }
        }
        for row in 0..rows {
            starts[row + 1] += starts[row];
        }
        let mut next = starts.clone();
        let mut sorted = vec![0; starts[rows] as usize];
        for item in items {
            let row = row_of(item);
            if row != NONE {
                sorted[next[row as usize] as usize] = item;
                next[row as usize] += 1;
            }
        }
        Self { starts, items: sorted }
    }

    /// Returns the list of an index.
    pub(crate) fn of(&self, row: u32) -> &[u32] {
        let row = row as usize;
        &self.items[self.starts[row] as usize..self.starts[row + 1] as usize]
    }
}

impl Plant {
    /// Adds everything that depends on several flows at once to the result of following each flow.
    pub(crate) fn complete(mut plant: Self, network: &Network, flows: &[Flow]) -> Self {
        plant.give_up_loops();
        plant.consider_interfaces();
        plant.sources = flows
            .iter()
            .zip(0u32..)
            .map(|(flow, index)| {
                let waits = matches!(flow.traffic, Traffic::Adaptive { .. });
                let round_trip = if waits { plant.round_trip_min(index) } else { 0 };
                if plant.is_prompt(index) {
                    Source::of_releases(&flow.traffic, round_trip)
                } else if connection::may_overtake(network, flow) {
                    Source::UNLIMITED
                } else {
                    Source::of(flow, round_trip)
                }
            })
            .collect();
        if let Some(deadlines) = deadline::local_deadlines(network, flows) {
            plant.put_due_flows_first(&deadlines, network.divides_anew());
        }
        let count = u32::try_from(plant.visits.len()).unwrap_or(NONE);
        let visits = &plant.visits;
        let members =
            Rows::collect(plant.servers.len(), |visit| visits[visit as usize].server, 0..count);
        plant.members = members;
        plant.leads_on = plant.find_ways();
        plant.expect_losses();
        plant.expect_copies();
        plant.find_copies();
        let (visits, starts) = (&plant.visits, &plant.members.starts);
        for pair in starts.windows(2) {
            let own = pair[0] as usize..pair[1] as usize;
            sort_members(visits, &mut plant.members.items[own]);
        }
        plant
    }

    /// Renews the member lists after visits were exchanged for as many new ones.
    pub(crate) fn exchange_members(&mut self, gone: Range<usize>, came: usize) {
        let end = gone.start + came;
        let server = |visit: usize| self.visits[visit].server;
        let mut new: Vec<(u32, u32)> = (gone.start..end)
            .map(|visit| (server(visit), u32::try_from(visit).unwrap_or(NONE)))
            .collect();
        new.sort_unstable();
        let [first, behind, end] =
            [gone.start, gone.end, end].map(|at| u32::try_from(at).unwrap_or(NONE));
        let old = core::mem::take(&mut self.members);
        let mut items = Vec::with_capacity(self.visits.len());
        let mut starts = Vec::with_capacity(old.starts.len());
        let mut new = new.into_iter().peekable();
        for row in (0u32..).take(self.servers.len()) {
            let start = items.len();
            starts.push(u32::try_from(start).unwrap_or(NONE));
            items.extend(old.of(row).iter().filter_map(|&visit| match visit {
                visit if visit < first => Some(visit),
                visit if visit < behind => None,
                visit => Some(visit - behind + end),
            }));
            let known = items.len();
            while let Some((_, visit)) = new.next_if(|own| own.0 == row) {
                items.push(visit);
            }
            if items.len() > known {
                sort_members(&self.visits, &mut items[start..]);
            }
        }
        starts.push(u32::try_from(items.len()).unwrap_or(NONE));
        self.members = Rows { starts, items };
    }

    /// Puts flows with a local deadline in a queue of their own, where the earliest goes first.
    /// If deadlines are divided anew while frames wait, nothing is known of their order.
    fn put_due_flows_first(&mut self, deadlines: &LocalDeadlines, is_divided_anew: bool) {
        for visit in &mut self.visits {
            let server = &self.servers[visit.server as usize];
            let (ServerKind::Switch(port) | ServerKind::Station(port), Discipline::Deadline) =
                (server.kind, &server.discipline)
            else {
                continue;
            };
            if let Some(due) = deadlines.at(visit.flow as usize, port) {
                visit.queue = deadline::DUE;
                visit.due =
                    if is_divided_anew { deadline::ANY_ORDER } else { due.as_ps().min(INFINITE) };
            }
        }
    }

    /// Returns whether its ways differ from those of a plant whose policers are kept, whose connections
    /// send at once, with acknowledgements in a pattern.
    pub(crate) const fn has_other_ways(&self) -> bool {
        !(self.delayed.is_empty() && self.irregular.is_empty() && self.exceeded.is_empty())
    }

    /// Marks all places as unbounded if copies of a frame circulate, or arrive twice and are
    /// answered twice, or if a frame is larger than an access scheme lets its station send, because
    /// these were not followed to their end.
    fn give_up_loops(&mut self) {
        let ends = self.streams.iter().map(|stream| &stream.end);
        let mut loops = ends.filter_map(|end| match end {
            Err(
                reason @ (Reason::FloodingLoop { .. }
                | Reason::Access { obstacle: AccessObstacle::Frame, .. }),
            ) => Some(reason),
            _ => None,
        });
        let Some(reason) = loops.next() else { return };
        for server in &mut self.servers {
            server.obstacle.get_or_insert_with(|| reason.clone());
        }
    }

    /// Widens the gaps behind links where interfaces cost time per octet: a frame there may have to
    /// wait for the last bit of a longer one before it, and packets move towards each other by as
    /// much as their costs differ. A switch whose latency varies does the same: frames keep their
    /// order there, and none that waits for an earlier one takes longer than the largest latency.
    ///
    /// Headers with and without a tag differ by four octets, which counts where a switch forwards
    /// after the header.
    fn consider_interfaces(&mut self) {
        let mut range = vec![(i64::MAX, 0); self.servers.len()];
        let mut tags = vec![[false; 2]; self.servers.len()];
        for visit in &self.visits {
            let (smallest, largest) = &mut range[visit.server as usize];
            *smallest = visit.sizes[0].min(*smallest);
            *largest = visit.sizes[1].max(*largest);
            tags[visit.server as usize][usize::from(visit.is_tagged)] = true;
        }
        let servers = &self.servers;
        let cost = |visit: &Visit| {
            let per_octet = servers[visit.server as usize].interface_per_octet;
            let (smallest, largest) = range[visit.server as usize];
            Gap::between(times(per_octet, smallest), times(per_octet, largest))
        };
        for index in 0..self.visits.len() {
            let visit = &self.visits[index];
            if visit.parent == NONE {
                continue;
            }
            let parent = &self.visits[visit.parent as usize];
            let (all, own) = (
                cost(parent),
                times(servers[parent.server as usize].interface_per_octet, parent.sizes[0]),
            );
            let server = &servers[parent.server as usize];
            let is_mixed = server.is_cut_through && tags[parent.server as usize] == [true; 2];
            let header = if is_mixed { 4 * server.curve.octet } else { 0 };
            let visit = &mut self.visits[index];
            visit.gap.min = add(visit.gap.min, own);
            visit.gap.max = add(visit.gap.max, add(all.max, server.latency_jitter));
            let spread = if all.max < INFINITE { all.max - all.min } else { INFINITE };
            let spread = add(spread, server.latency_jitter);
            visit.slack = add(visit.slack, add(spread, header));
        }
        for passage in &mut self.passages {
            let parent = &self.visits[passage.parent as usize];
            let server = &servers[parent.server as usize];
            let own = times(server.interface_per_octet, parent.sizes[0]);
            let most = add(cost(parent).max, server.latency_jitter);
            passage.gap.min = add(passage.gap.min, own);
            passage.gap.max = add(passage.gap.max, most);
        }
        for stream in &mut self.streams {
            if let Ok((last, gap)) = &mut stream.end {
                let visit = &self.visits[*last as usize];
                let per_octet = servers[visit.server as usize].interface_per_octet;
                gap.min = add(gap.min, times(per_octet, visit.sizes[0]));
                gap.max = add(gap.max, cost(visit).max);
            }
        }
    }

    /// Returns by visit whether a delivery lies behind it.
    fn find_ways(&self) -> Vec<bool> {
        let mut leads_on = vec![false; self.visits.len()];
        for stream in &self.streams {
            let mut at = stream.end.as_ref().map_or(NONE, |end| end.0);
            while at != NONE && !core::mem::replace(&mut leads_on[at as usize], true) {
                at = self.visits[at as usize].parent;
            }
        }
        leads_on
    }

    /// Returns where visits and streams of a flow begin; both are in the order of flows.
    pub(crate) fn first_of(&self, flow: u32) -> First {
        First {
            visit: self.visits.partition_point(|visit| visit.flow < flow),
            stream: self.streams.partition_point(|stream| stream.flow < flow),
        }
    }

    /// Returns the streams of each result: several are copies of one stream in two networks.
    pub(crate) fn results(&self) -> impl Iterator<Item = &[Stream]> {
        let is_same =
            |one: &Stream, other: &Stream| (one.flow, one.listener) == (other.flow, other.listener);
        self.streams.chunk_by(is_same)
    }

    /// Returns whether the messages of a flow are taken to leave at once.
    pub(crate) fn is_prompt(&self, flow: u32) -> bool {
        let at = self.connections.partition_point(|own| own.flow < flow);
        self.connections.get(at).is_some_and(|own| own.flow == flow)
    }

    /// Returns how many of some visits have a limit; limits are in the order of their visits.
    pub(crate) fn limits_of(&self, visits: core::ops::Range<usize>) -> usize {
        let visits = self.visits[visits].iter();
        visits.filter(|visit| visit.limit != NONE).count()
    }

    /// Returns the limit that an earlier place has put on a visit's flow.
    pub(crate) fn limit_of(&self, visit: &Visit) -> Option<&Limit> {
        self.limits.get(visit.limit as usize)
    }

    /// Finds the copies that a flow sends to several listeners one after the other.
    ///
    /// At the first place of a flow each visit without a parent is one copy, in the order of the
    /// list. Flows without a limit send more than copies from there.
    fn find_copies(&mut self) {
        let visits = &self.visits;
        let mut later: Option<(usize, i64)> = None;
        for (index, visit) in visits.iter().enumerate().rev() {
            // Copies that are held for an address come when it is known.
            let is_held = visit.gap.max > 0;
            if visit.parent != NONE || visit.frames != 1 || is_held {
                continue;
            }
            let is_limited = self.sources[visit.flow as usize].is_limited();
            let is_same = |copy: &Visit| {
                let ends = |visit: &Visit| (visit.flow, visit.server, visit.queue);
                is_limited && ends(copy) == ends(visit)
            };
            let behind = match later {
                Some((copy, behind)) if is_same(&visits[copy]) => {
                    add(behind, visits[copy].service.max())
                }
                _ => 0,
            };
            if behind > 0 {
                self.behind.resize(visits.len(), 0);
                self.behind[index] = behind;
            }
            later = Some((index, behind));
        }
    }

    /// Returns whether any flow sends copies.
    pub(crate) const fn has_copies(&self) -> bool {
        !self.behind.is_empty()
    }

    /// Returns the work of the copies that come with a visit and go behind.
    pub(crate) fn behind(&self, visit: u32) -> i64 {
        self.behind.get(visit as usize).copied().unwrap_or(0)
    }

    /// Assumes that flows that wait for answers give up, or retransmit, where bit errors or policers may
    /// destroy a packet on the path to a listener or back.
    fn expect_losses(&mut self) {
        for (visit, &leads_on) in self.visits.iter().zip(&self.leads_on) {
            let is_lossy = self.servers[visit.server as usize].is_lossy;
            if leads_on && (is_lossy || visit.is_policed) {
                self.sources[visit.flow as usize].closed = None;
            }
        }
    }

    /// Assumes nothing of flows that wait for answers in two networks: after an answer by one, copies
    /// of the request may still be on their way in the other.
    fn expect_copies(&mut self) {
        let copied = self.results().filter(|copies| copies.len() > 1);
        let flows: Vec<u32> = copied.map(|copies| copies[0].flow).collect();
        for flow in flows {
            self.sources[flow as usize].closed = None;
        }
    }

    /// Returns the least time from release to delivery, without any waiting.
    pub(crate) fn latency_min(&self, stream: &Stream) -> i64 {
        let end = stream.end.as_ref();
        end.map_or(0, |&end| self.least(end))
    }

    /// Returns the least time from the release to `gap` after the beginning of service at a visit.
    pub(crate) fn least(&self, (last, gap): (u32, Gap)) -> i64 {
        let gaps = self.way_to(last).map(|visit| visit.gap.min);
        gaps.fold(gap.min, add)
    }

    /// Returns the releases of a visit's flow.
    pub(crate) fn source_of(&self, visit: u32) -> &Source {
        &self.sources[self.visits[visit as usize].flow as usize]
    }

    /// Returns a visit and all visits before it, last first.
    pub(crate) fn way_to(&self, last: u32) -> impl Iterator<Item = &Visit> {
        core::iter::successors(self.visits.get(last as usize), |visit| {
            self.visits.get(visit.parent as usize)
        })
    }

    /// Returns how far packets are apart at least as they leave the place of a visit, if they are.
    pub(crate) fn spacing_behind(&self, visit: u32) -> Option<Service> {
        let visit = &self.visits[visit as usize];
        let spaces = self.servers[visit.server as usize].spaces;
        spaces.then_some(visit.service)
    }

    /// Returns the first of the visits that lead to a visit.
    pub(crate) fn first_visit(&self, visit: u32) -> u32 {
        let parent = |&at: &u32| {
            let parent = self.visits[at as usize].parent;
            (parent != NONE).then_some(parent)
        };
        core::iter::successors(Some(visit), parent).last().unwrap_or(visit)
    }

    /// Returns a lower bound on the time from a request to its answer.
    ///
    /// It is the minimum over all listeners: a request that is late on its way to one of them is
    /// followed after that listener's round trip, however long the others take.
    fn round_trip_min(&self, flow: u32) -> i64 {
        let own = self.first_of(flow).stream..self.first_of(flow + 1).stream;
        let own = self.streams[own].iter();
        own.map(|stream| self.latency_min(stream)).min().unwrap_or(0)
    }
}

/// Orders visits of a place by queue and by the place that limits them together.
fn sort_members(visits: &[Visit], members: &mut [u32]) {
    members.sort_unstable_by_key(|&member| {
        let visit = &visits[member as usize];
        (visit.queue, group_of(visits, visit), member)
    });
}

/// Returns the place that limits the packets of a visit together: the previous one, if it spaces
/// them.
pub(crate) fn group_of(visits: &[Visit], visit: &Visit) -> u32 {
    if visit.ratio.is_some() { visits[visit.parent as usize].server } else { NONE }
}
