//! Repeats the analysis after a change, at a fraction of its cost.
//!
//! [`Analyzer`] keeps routes, the paths of all flows and the solution. After a change it follows
//! only the changed flows, evaluates the places whose input has changed (`solve` proves that the
//! others keep their waits), and recomputes the streams that pass one of these. Where flows affect
//! each other through the waits alone, an edit looks at no other flow (`in_place`); otherwise all
//! visits are completed and compared again.

mod in_place;

use alloc::vec::Vec;

use rtether_model::endnode::HeaderMatch;
use rtether_model::flow::{Flow, FlowId};
use rtether_model::network::{Network, NodeKind};

use crate::analysis::{Analysis, Effort, Reason, StreamBound};
use crate::edit::Edit;
use crate::expand::Atlas;
use crate::index::NONE;
use crate::plant::Plant;
use crate::prompt::solve_promptly;
use crate::report::{report, stream_bound};
use crate::solution::{Solution, Stage};
use crate::whole::{has_own_flows, solve_anew};

/// Keeps a plant and its bounds, and updates them when flows or the network change.
///
/// [`Analyzer::analysis`] always equals the result of [`crate::analyze_with`] for the same network
/// and flows with [`crate::Methods::TotalFlow`]; only [`Effort::evaluations`] counts the work of
/// the last change.
#[derive(Debug)]
pub struct Analyzer {
    network: Network,
    flows: Vec<Flow>,
    atlas: Atlas,
    /// Visits and streams as followed, without the effects of flows on each other, once an edit has
    /// needed them.
    ways: Option<Plant>,
    plant: Plant,
    stages: Vec<Stage>,
    streams: Vec<StreamBound>,
}

/// What a change of the plant did to the bounds.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Changes {
    /// Streams that were added, were removed, or have a new bound; in the order of the flows after
    /// the change, removed ones first.
    pub streams: Vec<StreamChange>,
    /// Work done.
    pub effort: Effort,
}

/// One stream before and after a change; at least one of the two is present.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StreamChange {
    /// Before the change, with the number its flow had then.
    pub before: Option<StreamBound>,
    /// After the change.
    pub after: Option<StreamBound>,
}

impl Analyzer {
    /// Analyzes a plant for the first time.
    ///
    /// # Panics
    /// As [`crate::analyze`]; so do all methods that change the plant.
    pub fn new(network: Network, flows: Vec<Flow>) -> Self {
        let (atlas, plant, stages) = solve_anew(&network, &flows);
        let mut analyzer =
            Self { network, flows, atlas, ways: None, plant, stages, streams: Vec::new() };
        let streams = 0..analyzer.plant.streams.len();
        analyzer.streams = streams.map(|index| analyzer.bound_of(index)).collect();
        analyzer
    }

    /// Returns the network.
    pub fn network(&self) -> &Network {
        &self.network
    }

    /// Returns the flows; their positions are their [`FlowId`]s.
    pub fn flows(&self) -> &[Flow] {
        &self.flows
    }

    /// Returns the bounds of all streams: flows in order, listeners in order, and one for each copy
    /// of a stream in two networks.
    pub fn streams(&self) -> &[StreamBound] {
        &self.streams
    }

    /// Returns the whole analysis; the loads of ports and stacks are computed anew.
    pub fn analysis(&self) -> Analysis {
        let mut analysis = report(&self.network, &self.plant, self.solution(), None, &self.flows);
        analysis.effort.evaluations = self.evaluations();
        analysis
    }

    /// Appends a flow.
    pub fn add(&mut self, flow: Flow) -> Changes {
        self.edit(self.flows.len(), 0, Some(flow))
    }

    /// Removes a flow; the flows behind it move up by one.
    ///
    /// # Panics
    /// If the flow does not exist; so does [`Analyzer::replace`].
    pub fn remove(&mut self, flow: FlowId) -> Changes {
        self.edit(flow.index(), 1, None)
    }

    /// Replaces a flow.
    pub fn replace(&mut self, flow: FlowId, by: Flow) -> Changes {
        self.edit(flow.index(), 1, Some(by))
    }

    /// Changes the network under the flows; nodes and links keep their numbers.
    ///
    /// Follows all flows again, but evaluates only places that have changed.
    pub fn set_network(&mut self, network: Network) -> Changes {
        if has_own_flows(&self.network) || has_own_flows(&network) {
            return self.begin_anew(network, &Edit::NOTHING);
        }
        self.atlas = Atlas::new(&network, &self.flows);
        self.network = network;
        self.ways = None;
        self.update(&Edit::NOTHING)
    }

    fn solution(&self) -> &Solution {
        let last = self.stages.last();
        &last.expect("a search has at least one stage").solution
    }

    fn evaluations(&self) -> u64 {
        let stages = self.stages.iter();
        stages.map(|stage| stage.solution.evaluations).sum()
    }

    /// Replaces `removed` flows with at most one flow.
    fn edit(&mut self, at: usize, removed: usize, by: Option<Flow>) -> Changes {
        let edit = Edit { flows: at..at + removed, added: usize::from(by.is_some()) };
        let mut all = self.flows.iter().chain(&by);
        let has_gaps = all.any(|flow| flow.gap.is_some());
        if has_gaps || has_own_flows(&self.network) {
            // Places of their own are numbered with the flows.
            self.flows.splice(edit.flows.clone(), by);
            let network = core::mem::take(&mut self.network);
            return self.begin_anew(network, &edit);
        }
        if looks_at_numbers(&self.network) {
            // The flows behind may match other rules than before.
            self.flows.splice(edit.flows.clone(), by);
            self.ways = None;
            return self.update(&edit);
        }
        if let Some(changes) = self.edit_in_place(&edit, by.as_ref()) {
            return changes;
        }
        if let Some(ways) = &mut self.ways {
            edit.apply(ways, self.atlas.follow(&self.network, by.as_slice()));
        }
        self.flows.splice(edit.flows.clone(), by);
        self.update(&edit)
    }

    /// Analyzes the edited flows over this network as if for the first time.
    fn begin_anew(&mut self, network: Network, edit: &Edit) -> Changes {
        let mut before = core::mem::take(&mut self.streams);
        *self = Self::new(network, core::mem::take(&mut self.flows));
        let is_before = |limit: usize| move |stream: &StreamBound| stream.flow.index() < limit;
        let behind = before.split_off(before.partition_point(is_before(edit.flows.end)));
        let gone = before.split_off(before.partition_point(is_before(edit.flows.start)));
        let (first, rest) = self.streams.split_at(before.len());
        let (own, last) = rest.split_at(rest.len() - behind.len());
        let changed = |old: Vec<StreamBound>, new: &[StreamBound]| {
            let pairs = old.into_iter().zip(new);
            let changed = pairs.filter(|(old, new)| !edit.keeps(old, new));
            let changed = changed
                .map(|(old, new)| StreamChange { before: Some(old), after: Some(new.clone()) });
            changed.collect::<Vec<_>>()
        };
        let mut streams = changed(before, first);
        streams.extend(paired(&gone, own));
        streams.extend(changed(behind, last));
        self.changes(streams)
    }

    /// Returns changes with the work of the last search.
    fn changes(&self, streams: Vec<StreamChange>) -> Changes {
        let effort = Effort {
            visits: self.plant.visits.len(),
            evaluations: self.evaluations(),
            is_cyclic: self.solution().is_cyclic,
        };
        Changes { streams, effort }
    }

    /// Solves the plant as it is now and returns what has changed.
    fn update(&mut self, edit: &Edit) -> Changes {
        let follow = || self.atlas.follow(&self.network, &self.flows);
        let ways = self.ways.get_or_insert_with(follow).clone();
        let plant = Plant::complete(ways, &self.network, &self.flows);
        let before = (&self.plant, &self.stages[..], edit);
        // Other ways than those of the plant before are searched from the beginning.
        let before = (!self.plant.has_other_ways()).then_some(before);
        let (plant, stages) =
            solve_promptly(plant, &self.atlas, &self.network, &self.flows, before);
        let has_same_ways = !(self.plant.has_other_ways() || plant.has_other_ways());
        let old_plant = core::mem::replace(&mut self.plant, plant);
        let old_stages = core::mem::replace(&mut self.stages, stages);
        let is_cyclic = |stages: &[Stage]| stages.last().is_some_and(|s| s.solution.is_cyclic);
        // Keeping a stream needs the same stages, compared place by place, and the same method.
        let may_keep = has_same_ways
            && old_stages.len() == self.stages.len()
            && is_cyclic(&old_stages) == is_cyclic(&self.stages);
        let streams = self.refresh(edit, |analyzer, index, old| {
            may_keep && analyzer.is_kept(index, &old_plant, old)
        });
        self.changes(streams)
    }

    /// Updates the bounds of the streams and returns those that have changed. Streams of which it is
    /// known that nothing has changed on their path keep their bound; they are asked for by their
    /// positions after and before the edit.
    fn refresh(
        &mut self,
        edit: &Edit,
        is_kept: impl Fn(&Self, usize, usize) -> bool,
    ) -> Vec<StreamChange> {
        let mut streams = core::mem::take(&mut self.streams);
        let first_of = |flow: usize| streams.partition_point(|own| own.flow.index() < flow);
        let old = first_of(edit.flows.start)..first_of(edit.flows.end);
        let end = self.plant.streams.len() - (streams.len() - old.end);
        let own: Vec<StreamBound> = (old.start..end).map(|index| self.bound_of(index)).collect();
        let gone: Vec<StreamBound> = streams.splice(old.clone(), own.iter().cloned()).collect();
        let mut changes = Vec::new();
        let mut look_again = |range: core::ops::Range<usize>, changes: &mut Vec<StreamChange>| {
            for index in range {
                let before = if index < end { index } else { index - end + old.end };
                let stream = &mut streams[index];
                if stream.bound.is_ok() && is_kept(self, index, before) {
                    stream.flow = FlowId(self.plant.streams[index].flow);
                } else {
                    changes.extend(self.look_again(edit, stream, index));
                }
            }
        };
        look_again(0..old.start, &mut changes);
        changes.extend(paired(&gone, &own));
        look_again(end..self.plant.streams.len(), &mut changes);
        self.streams = streams;
        changes
    }

    fn bound_of(&self, stream: usize) -> StreamBound {
        let stream = &self.plant.streams[stream];
        stream_bound(&self.plant, self.solution(), stream, &self.flows)
    }

    /// Updates one stream and returns what has changed.
    fn look_again(
        &self,
        edit: &Edit,
        stream: &mut StreamBound,
        index: usize,
    ) -> Option<StreamChange> {
        let after = self.bound_of(index);
        let before = core::mem::replace(stream, after.clone());
        (!edit.keeps(&before, &after))
            .then_some(StreamChange { before: Some(before), after: Some(after) })
    }

    /// Returns whether nothing has changed on the path of a stream.
    fn is_kept(&self, index: usize, old_plant: &Plant, old: usize) -> bool {
        let ends = [&self.plant.streams[index], &old_plant.streams[old]];
        let [Ok((last, gap)), Ok((_, old_gap))] = ends.map(|stream| &stream.end) else {
            return false;
        };
        let is_kept = &self.solution().is_kept;
        let mut way = self.plant.way_to(*last);
        gap == old_gap && way.all(|visit| is_kept[visit.server as usize])
    }
}

/// Returns whether any rule looks at what follows from the number of a flow: its ports, or the address
/// of its group.
fn looks_at_numbers(network: &Network) -> bool {
    let looks = |headers: &HeaderMatch| headers.names_port() || headers.destination.is_some();
    network.nodes.iter().any(|node| match &node.kind {
        NodeKind::EndStation(station) => {
            let layer = station.layer.as_ref();
            layer.is_some_and(|layer| layer.rules.iter().any(|rule| looks(&rule.headers)))
        }
        NodeKind::Switch(switch) => {
            let own = switch.ports.iter().filter_map(|port| port.ingress.as_ref());
            let mut rules = own.chain([&switch.ingress]).flatten();
            rules.any(|rule| looks(&rule.headers))
        }
        NodeKind::Hub(_) => false,
    })
}

/// Returns the changes from the streams of a flow to those of its replacement.
fn paired(gone: &[StreamBound], own: &[StreamBound]) -> Vec<StreamChange> {
    let find = |all: &[StreamBound], stream: &StreamBound| {
        let mut same = all.iter().filter(|other| other.listener == stream.listener);
        same.next().cloned()
    };
    let left = gone.iter().filter(|stream| find(own, stream).is_none());
    let left = left.map(|stream| StreamChange { before: Some(stream.clone()), after: None });
    let came = own
        .iter()
        .map(|stream| StreamChange { before: find(gone, stream), after: Some(stream.clone()) });
    let all = left.chain(came);
    all.filter(|change| change.before != change.after).collect()
}

impl Edit {
    /// Returns whether a stream has the same bound, or the same reason, as before.
    fn keeps(&self, before: &StreamBound, after: &StreamBound) -> bool {
        match (&before.bound, &after.bound) {
            (Ok(before), Ok(after)) => before == after,
            (Err(before), Err(after)) => self.renumbered(before) == *after,
            (Ok(_), Err(_)) | (Err(_), Ok(_)) => false,
        }
    }

    /// Returns a reason with the flow numbers after the edit.
    fn renumbered(&self, reason: &Reason) -> Reason {
        let mut reason = reason.clone();
        if let Reason::UnlimitedArrivals { flow }
        | Reason::FloodingLoop { flow }
        | Reason::Connection { flow, .. }
        | Reason::Files { flow }
        | Reason::Samples { flow } = &mut reason
        {
            flow.0 = self.renumber(flow.0);
        }
        reason
    }

    /// Replaces visits and streams of the edited flows with those of the added flows, which are
    /// numbered from zero.
    fn apply(&self, ways: &mut Plant, mut own: Plant) {
        let number = |position: usize| u32::try_from(position).unwrap_or(NONE);
        let first = number(self.flows.start);
        let (begin, end) = (ways.first_of(first), ways.first_of(number(self.flows.end)));
        let base = number(begin.visit);
        let limits = ways.limits_of(0..begin.visit);
        let limits = limits..limits + ways.limits_of(begin.visit..end.visit);
        for visit in &mut own.visits {
            visit.flow += first;
            visit.limit = moved(visit.limit, 0, limits.start);
            visit.parent = if visit.parent == NONE { NONE } else { visit.parent + base };
        }
        for stream in &mut own.streams {
            stream.flow += first;
            if let Ok((last, _)) = &mut stream.end {
                *last += base;
            }
        }
        for passage in &mut own.passages {
            *passage = passage.moved(passage.flow + first, |visit| visit + base);
        }
        for connection in &mut own.connections {
            *connection = connection.moved(connection.flow + first, |visit| visit + base);
        }
        // Those behind move up or down.
        let (from, to) = (number(end.visit), base + number(own.visits.len()));
        for visit in &mut ways.visits[end.visit..] {
            visit.flow = self.renumber(visit.flow);
            visit.parent = if visit.parent == NONE { NONE } else { visit.parent - from + to };
            let new_end = limits.start + own.limits.len();
            visit.limit = moved(visit.limit, limits.end, new_end);
        }
        for stream in &mut ways.streams[end.stream..] {
            stream.flow = self.renumber(stream.flow);
            if let Ok((last, _)) = &mut stream.end {
                *last = *last - from + to;
            }
        }
        let [gone, behind] = [self.flows.start, self.flows.end].map(|flow| {
            let flow = number(flow);
            ways.connections.partition_point(|own| own.flow < flow)
        });
        for connection in &mut ways.connections[behind..] {
            let flow = self.renumber(connection.flow);
            *connection = connection.moved(flow, |visit| visit - from + to);
        }
        let [left, right] = [self.flows.start, self.flows.end].map(|flow| {
            let flow = number(flow);
            ways.passages.partition_point(|own| own.flow < flow)
        });
        for passage in &mut ways.passages[right..] {
            let flow = self.renumber(passage.flow);
            *passage = passage.moved(flow, |visit| visit - from + to);
        }
        ways.passages.splice(left..right, own.passages);
        ways.connections.splice(gone..behind, own.connections);
        ways.limits.splice(limits, own.limits);
        ways.visits.splice(begin.visit..end.visit, own.visits);
        ways.streams.splice(begin.stream..end.stream, own.streams);
    }
}

/// Returns the number of a limit after the limits from `from` on have moved to begin at `to`.
fn moved(limit: u32, from: usize, to: usize) -> u32 {
    if limit == NONE {
        return NONE;
    }
    u32::try_from(limit as usize - from + to).unwrap_or(NONE)
}
