//! Assembles the result of the analysis.

mod load;

use alloc::collections::BTreeSet;
use alloc::vec;
use alloc::vec::Vec;

use rtether_model::flow::{Flow, FlowId, Traffic};
use rtether_model::network::{Network, PortId};
use rtether_model::quantity::Duration;
use rtether_model::record::{Place, Segment};

use crate::analysis::{
    AccessObstacle, Analysis, Bound, Condition, Effort, FlowLimit, HopBound, Method, OpenFlow,
    PolicerBound, PortBound, Reason, StreamBound,
};
use crate::condition::{Conditions, conditions};
use crate::connection;
use crate::index::NONE;
use crate::memory::stores;
use crate::output_limit::Limiter;
use crate::passage::RuleStep;
use crate::plant::{Gap, Plant, Server, ServerKind, Stream, Visit};
use crate::solution::{Cause, Solution};
use crate::solve::{latency, loads_of};
use crate::source::Source;
use crate::split;
use crate::tandem::Refined;
use load::{PlaceLoad, by_queue, octets};

/// Returns the analysis that a solution gives.
pub(crate) fn report(
    network: &Network,
    plant: &Plant,
    solution: &Solution,
    refined: Option<&Refined>,
    flows: &[Flow],
) -> Analysis {
    let streams = plant.streams.iter().enumerate().map(|(index, stream)| {
        let mut found = stream_bound(plant, solution, stream, flows);
        if let (Ok(bound), Some(refined)) = (&mut found.bound, refined) {
            improve(bound, plant, refined, index);
        }
        found
    });
    let (mut ports, mut stacks) = (Vec::new(), Vec::new());
    let mut loads = Vec::new();
    for (index, server) in (0u32..).zip(&plant.servers) {
        loads_of(plant, (&solution.jitter, &solution.drift), index, &mut loads);
        let load = PlaceLoad::of(plant, solution, index, &mut loads);
        match server.kind {
            ServerKind::Switch(port) | ServerKind::Station(port) => ports.push(PortBound {
                port,
                utilization_ppm: load.utilization_ppm,
                backlog: load.backlog.map(|work| octets(plant, index, server, work)),
                queues: by_queue(plant, solution, server, &loads)
                    .map(|work| work.map(|work| octets(plant, index, server, work)))
                    .collect(),
                queueing: load.queueing,
            }),
            ServerKind::Stack { node, is_receiver } => {
                let segment =
                    if is_receiver { Segment::ReceiveStack } else { Segment::TalkerStack };
                stacks.push(load.processor(plant, node, segment, &mut loads));
            }
            ServerKind::Router(node) => {
                let segment = Segment::SwitchLatency;
                stacks.push(load.processor(plant, node, segment, &mut loads));
            }
            ServerKind::Tasks { node } => {
                let segment = Segment::Application;
                stacks.push(load.processor(plant, node, segment, &mut loads));
            }
            ServerKind::Smoother(_) | ServerKind::Gap(_) => {}
        }
    }
    let found = (&*ports, &*stacks);
    let stores = stores(network, flows, (plant, solution), found);
    let Conditions { droppers, streams: conditions } =
        conditions(network, flows.len(), plant, &stores);
    let streams = joined(streams);
    let conditions = of_bounds(conditions, &streams);
    Analysis {
        streams,
        memories: stores.iter().map(|store| store.memory).collect(),
        droppers,
        conditions,
        ports,
        stacks,
        open_flows: open_flows(plant),
        policers: policers(plant),
        effort: Effort {
            visits: plant.visits.len(),
            evaluations: solution.evaluations,
            is_cyclic: solution.is_cyclic,
        },
    }
}

/// Leaves out the conditions of streams that have no bound.
fn of_bounds(
    conditions: Vec<Option<Condition>>,
    streams: &[StreamBound],
) -> Vec<Option<Condition>> {
    let both = conditions.into_iter().zip(streams);
    both.map(|(condition, own)| condition.filter(|_| own.bound.is_ok())).collect()
}

/// Joins the copies of each stream in two networks: its bound is the largest of theirs, as that
/// holds with either network alone.
fn joined(copies: impl Iterator<Item = StreamBound>) -> Vec<StreamBound> {
    let mut streams: Vec<StreamBound> = Vec::new();
    for copy in copies {
        match streams.last_mut() {
            Some(last) if (last.flow, last.listener) == (copy.flow, copy.listener) => {
                last.bound = larger(last.bound.clone(), copy.bound);
            }
            _ => streams.push(copy),
        }
    }
    streams
}

fn larger(one: Result<Bound, Reason>, other: Result<Bound, Reason>) -> Result<Bound, Reason> {
    let (one, other) = (one?, other?);
    let latency_min = one.latency_min.min(other.latency_min);
    let larger = if other.latency > one.latency { other } else { one };
    Ok(Bound { latency_min, ..larger })
}

/// Returns the bound that the solution gives for one stream.
pub(crate) fn stream_bound(
    plant: &Plant,
    solution: &Solution,
    stream: &Stream,
    flows: &[Flow],
) -> StreamBound {
    StreamBound {
        flow: FlowId(stream.flow),
        listener: stream.listener,
        bound: bound(plant, solution, stream, &flows[stream.flow as usize]),
    }
}

/// Returns the policers that flows pass.
fn policers(plant: &Plant) -> Vec<PolicerBound> {
    let passed = plant.passages.iter().map(|passage| passage.step);
    let all: BTreeSet<RuleStep> = passed.chain(plant.exceeded.iter().copied()).collect();
    let all = all.into_iter().map(|policer| PolicerBound {
        port: policer.port,
        rule: policer.rule,
        cause: policer.cause,
        is_kept: !plant.exceeded.contains(&policer),
    });
    all.collect()
}

/// Returns what limits the flows with unlimited releases.
fn open_flows(plant: &Plant) -> Vec<OpenFlow> {
    let is_open = |&(_, source): &(u32, &Source)| !source.is_limited();
    let mut found: Vec<OpenFlow> = (0u32..)
        .zip(&plant.sources)
        .filter(is_open)
        .map(|(flow, source)| OpenFlow {
            flow: FlowId(flow),
            limit: if source.closed.is_some() { FlowLimit::Window } else { FlowLimit::Line },
        })
        .collect();
    // The first limit on the path counts, but a smoother goes before a stack.
    for visit in plant.visits.iter().filter(|visit| visit.limit != NONE) {
        let limit = &plant.limits[visit.limit as usize];
        let at = found.binary_search_by_key(&visit.flow, |open| open.flow.0);
        let (Ok(at), true) = (at, limit.begins) else {
            continue;
        };
        let node = |visit: &Visit| {
            let place = place(&plant.servers[visit.server as usize], visit);
            place.port.node
        };
        let before = &plant.visits[visit.parent as usize];
        let known = &mut found[at].limit;
        match (*known, limit.by) {
            (FlowLimit::Line | FlowLimit::Stack(_), Limiter::Smoother) => {
                *known = FlowLimit::Smoother(node(before));
            }
            // It stands in front of the port.
            (FlowLimit::Line, Limiter::Policer) => *known = FlowLimit::Policer(node(visit)),
            (FlowLimit::Line | FlowLimit::Stack(_), Limiter::Gap) => {
                *known = FlowLimit::Gap(node(before));
            }
            (FlowLimit::Line, Limiter::Stack) => *known = FlowLimit::Stack(node(before)),
            _ => {}
        }
    }
    found
}

fn bound(
    plant: &Plant,
    solution: &Solution,
    stream: &Stream,
    flow: &Flow,
) -> Result<Bound, Reason> {
    let (last, gap) = stream.end.clone()?;
    if let Some(reason) = special(plant, stream.flow, flow) {
        return Err(shared_medium(plant, last).unwrap_or(reason));
    }
    let Some(total) = latency(plant, solution, stream) else {
        return Err(reason(plant, solution, last, stream.flow));
    };
    let latency = Duration::from_ps(total);
    let method = if solution.is_cyclic { Method::FixedPoint } else { Method::TotalFlow };
    Ok(Bound {
        latency,
        latency_min: Duration::from_ps(plant.latency_min(stream)),
        hops: hops(plant, &solution.wait, last, gap),
        method,
        by_method: vec![(method, latency)],
        slack: flow.deadline.map(|deadline| deadline - latency),
    })
}

/// Returns why a flow whose packets are not its messages has no bound.
fn special(plant: &Plant, number: u32, flow: &Flow) -> Option<Reason> {
    let id = FlowId(number);
    if flow.connection.is_some() {
        if plant.is_prompt(number) {
            return None;
        }
        let known = plant.delayed.iter().find(|own| own.flow == number);
        let releases = || Reason::Connection { flow: id, obstacle: connection::obstacle_of(flow) };
        return Some(known.map_or_else(releases, |own| own.reason.clone()));
    }
    if flow.is_published() {
        return Some(Reason::Samples { flow: id });
    }
    matches!(flow.traffic, Traffic::Bulk(_)).then_some(Reason::Files { flow: id })
}

/// Replaces a stream's bound with the least bound of all methods.
fn improve(bound: &mut Bound, plant: &Plant, refined: &Refined, stream: usize) {
    let Ok((last, gap)) = plant.streams[stream].end else {
        return;
    };
    for &(method, latency) in &refined.latencies[stream] {
        bound.by_method.push((method, Duration::from_ps(latency)));
    }
    let least = bound.by_method.iter().min_by_key(|found| found.1);
    let Some(&(method, latency)) = least.filter(|found| found.1 < bound.latency) else {
        return;
    };
    bound.slack = bound.slack.map(|slack| slack + bound.latency - latency);
    (bound.method, bound.latency) = (method, latency);
    bound.hops = hops(plant, &refined.separated.wait, last, gap);
    share(&mut bound.hops, latency);
}

/// Scales the waits so that the hops add up to the latency.
fn share(hops: &mut [HopBound], latency: Duration) {
    let passages: Duration = hops.iter().map(|hop| hop.passage).sum();
    let waits: Duration = hops.iter().map(|hop| hop.queueing).sum();
    let (waits, mut left) = (waits.as_ps(), (latency - passages).as_ps());
    if waits == left {
        return;
    }
    let whole = i128::from(left);
    let count = hops.len();
    for (index, hop) in hops.iter_mut().enumerate() {
        let part = whole * i128::from(hop.queueing.as_ps()) / i128::from(waits.max(1));
        let part = i64::try_from(part).unwrap_or(left);
        let part = if index + 1 == count { left } else { part };
        hop.queueing = Duration::from_ps(part);
        left -= part;
    }
}

/// Returns the parts of a bound in the order of the path.
fn hops(plant: &Plant, waits: &[i64], last: u32, end: Gap) -> Vec<HopBound> {
    let mut hops = Vec::new();
    let (mut at, mut passage) = (last, split::shown(plant, last, end).max);
    while at != NONE {
        let visit = &plant.visits[at as usize];
        hops.push(HopBound {
            place: place(&plant.servers[visit.server as usize], visit),
            queueing: Duration::from_ps(waits[at as usize]),
            passage: Duration::from_ps(passage - visit.twice),
        });
        passage = visit.gap.max;
        if visit.is_answer && visit.thinking > 0 {
            passage -= visit.thinking;
            let at = place(&plant.servers[visit.server as usize], visit);
            hops.push(HopBound {
                place: Place { segment: Segment::Application, port: PortId::first(at.port.node) },
                queueing: Duration::ZERO,
                passage: Duration::from_ps(visit.thinking),
            });
        }
        at = visit.parent;
        if at == NONE && passage > 0 {
            hops.push(HopBound {
                place: held_at(plant, visit),
                queueing: Duration::ZERO,
                passage: Duration::from_ps(passage),
            });
        }
    }
    hops.reverse();
    hops
}

/// Returns where a packet was held for an address before its first visit.
pub(crate) fn held_at(plant: &Plant, visit: &Visit) -> Place {
    let at = place(&plant.servers[visit.server as usize], visit);
    Place { segment: Segment::TalkerStack, port: PortId::first(at.port.node) }
}

/// Returns where a visit is.
pub(crate) fn place(server: &Server, visit: &Visit) -> Place {
    match server.kind {
        ServerKind::Switch(port) => Place { segment: Segment::SwitchQueue, port },
        ServerKind::Station(port) | ServerKind::Smoother(port) => {
            Place { segment: Segment::DriverQueue, port }
        }
        ServerKind::Gap(node) => Place { segment: Segment::TalkerStack, port: PortId::first(node) },
        ServerKind::Router(node) => {
            Place { segment: Segment::SwitchLatency, port: PortId::first(node) }
        }
        ServerKind::Tasks { node } => {
            Place { segment: Segment::Application, port: PortId::first(node) }
        }
        ServerKind::Stack { node, .. } => Place {
            segment: if visit.is_inbound && visit.service.max() == 0 {
                Segment::ReceiveQueue
            } else if visit.is_inbound {
                Segment::ReceiveStack
            } else {
                Segment::TalkerStack
            },
            port: PortId::first(node),
        },
    }
}

/// Returns the shared medium on the path to a visit, which goes before all other reasons.
fn shared_medium(plant: &Plant, last: u32) -> Option<Reason> {
    let mut obstacles = plant.way_to(last).map(|visit| {
        let server = &plant.servers[visit.server as usize];
        server.obstacle.as_ref()
    });
    let shared = |obstacle: Option<&Reason>| {
        obstacle.filter(|own| matches!(own, Reason::SharedMedium { .. })).cloned()
    };
    obstacles.find_map(shared)
}

/// Returns why the path to a visit has no bound: the first cause on it.
pub(crate) fn reason(plant: &Plant, solution: &Solution, last: u32, flow: u32) -> Reason {
    if let Some(shared) = shared_medium(plant, last) {
        return shared;
    }
    let mut first = None;
    let mut at = last;
    while at != NONE {
        first = solution.cause[at as usize].or(first);
        at = plant.visits[at as usize].parent;
    }
    let place_of = |server: u32| {
        let visit = plant.members.of(server).first();
        let visit = visit.map_or(last, |&visit| visit);
        place(&plant.servers[server as usize], &plant.visits[visit as usize])
    };
    match first {
        Some(Cause::Obstacle(server)) => {
            let obstacle = plant.servers[server as usize].obstacle.clone();
            obstacle.unwrap_or(Reason::Access {
                port: place_of(server).port,
                obstacle: AccessObstacle::NoTurn,
            })
        }
        Some(Cause::Layer(server, part)) => {
            Reason::EndNodeLayer { node: place_of(server).port.node, part }
        }
        Some(Cause::Overload(server, utilization_ppm)) => {
            Reason::Overload { place: place_of(server), utilization_ppm }
        }
        Some(Cause::Flow(flow)) => Reason::UnlimitedArrivals { flow: FlowId(flow) },
        Some(Cause::Cycle(server)) => Reason::Cycle { place: place_of(server) },
        Some(Cause::OutOfRange) => Reason::OutOfRange,
        // All waits are finite, but their sum is not.
        None if plant.sources[flow as usize].is_limited() => Reason::OutOfRange,
        None => Reason::UnlimitedArrivals { flow: FlowId(flow) },
    }
}
