//! Methods that look at the whole path of a flow instead of one place after the other.
//!
//! All start from valid waits and jitters, those of total flow analysis, and yield valid ones, so
//! that the least of them is a bound:
//!
//! - [`exchange`]: a reply follows its own request;
//! - [`sfa`]: the flow's own jitter counts once;
//! - [`pmoo`]: each cross flow's burst counts once, in any order of service;
//! - [`lud`]: the same in order of arrival, with what that gains;
//! - [`port_and_stack`]: the last port and the stack behind it serve one burst together.
//!
//! [`pmoo`] and [`lud`] take the longest runs of ports on the path, in order of arrival or with strict
//! priorities, that the same packets pass, and add the results of [`sfa`] for the places between:
//! stacks, and ports that take turns. All are relative to the latest arrival of a packet after its
//! release, so that they add up. A run ends where an answer in fragments, or to fragments, begins.
//!
//! **Whole packets.** The literature treats these two for fluid flows, which gives no bounds for
//! a store-and-forward network; subtracting the longest packet from the service of each port makes
//! them bounds, but poor ones. Here a packet counts as gone when its transmission begins. A port
//! then provides the service of a fluid one, and from there to the next port the packet has a fixed
//! delay.

pub(crate) mod exchange;
pub(crate) mod lud;
pub(crate) mod path;
pub(crate) mod pmoo;
pub(crate) mod port_and_stack;
pub(crate) mod sfa;

use alloc::vec;
use alloc::vec::Vec;

use rtether_model::flow::Flow;
use rtether_model::quantity::Duration;

use crate::analysis::Method;
use crate::index::NONE;
use crate::plant::{Plant, Stream};
use crate::solution::Solution;
use crate::solve::latency;
use crate::source::{INFINITE, add};
use crate::workers::Workers;
use exchange::Exchanges;
use path::{Scratch, Tandem, begins_anew, is_port};
use port_and_stack::Pairs;
use sfa::Separated;

/// Results of the methods of this module.
pub(crate) struct Refined {
    pub(crate) separated: Separated,
    pub(crate) exchanges: Option<Exchanges>,
    /// By stream: the latency of each method; none of those that were not chosen.
    pub(crate) latencies: Vec<Vec<(Method, i64)>>,
}

/// Returns the streams with a deadline that their latency in a solved plant exceeds.
pub(crate) fn late(plant: &Plant, solution: &Solution, flows: &[Flow]) -> Vec<usize> {
    let streams = plant.streams.iter().enumerate();
    let late = streams.filter(|(_, stream)| {
        let deadline = flows[stream.flow as usize].deadline.map(Duration::as_ps);
        deadline.zip(latency(plant, solution, stream)).is_some_and(|(limit, own)| own > limit)
    });
    late.map(|(number, _)| number).collect()
}

/// Applies the methods to these streams of a solved plant.
pub(crate) fn refine(
    plant: &Plant,
    solution: &Solution,
    chosen: &[usize],
    workers: &impl Workers,
) -> Refined {
    let exchanges = Exchanges::search(plant, solution);
    let separated = Separated::new(plant, solution, exchanges.as_ref());
    // Each thread has one part: what it finds about a crossing flow helps with the streams after it.
    let part = chosen.len().div_ceil(workers.count()).max(1);
    let parts: Vec<&[usize]> = chosen.chunks(part).collect();
    let found = workers.map(parts.len(), |number| {
        let mut scratch = Scratch::new(plant);
        let mut pairs = Pairs::new(plant, &separated);
        let streams = parts[number].iter().map(|stream| &plant.streams[*stream]);
        let all = streams.map(|stream| {
            if workers.is_cancelled() {
                return Vec::new();
            }
            let both = exchanges.as_ref().and_then(|found| found.latency(plant, stream));
            let both = both.map(|latency| (Method::RequestAndReply, latency));
            let whole = latencies(plant, &separated, stream, (&mut scratch, &mut pairs));
            both.into_iter().chain(whole).collect()
        });
        all.collect::<Vec<Vec<(Method, i64)>>>()
    });
    let mut latencies = vec![Vec::new(); plant.streams.len()];
    for (stream, own) in chosen.iter().zip(found.into_iter().flatten()) {
        latencies[*stream] = own;
    }
    Refined { separated, exchanges, latencies }
}

fn latencies(
    plant: &Plant,
    known: &Separated,
    stream: &Stream,
    (scratch, pairs): (&mut Scratch, &mut Pairs<'_>),
) -> Vec<(Method, i64)> {
    let Ok((last, end)) = &stream.end else {
        return Vec::new();
    };
    let way = way_to(plant, *last);
    // In the order of the methods below.
    let mut sums = [Some(0); 3];
    for run in runs(plant, &way) {
        let gap = plant.visits[run[0] as usize].gap.max;
        let alone = separately(plant, known, run);
        let tandem = (run.len() > 1).then(|| Tandem::new(plant, known, run, None, scratch));
        let [once, nested] = match &tandem {
            None => [alone; 2],
            Some(None) => [None; 2],
            Some(Some(tandem)) => [pmoo::once(tandem), lud::nested(tandem)],
        };
        for (sum, part) in sums.iter_mut().zip([alone, once, nested]) {
            let both = sum.zip(part).map(|(sum, part)| add(add(sum, gap), part));
            *sum = both.filter(|&sum| sum < INFINITE);
        }
    }
    let methods = [Method::SeparatedFlow, Method::MultiplexingOnce, Method::LeastUpperDelay];
    let found = methods.into_iter().zip(sums);
    let found = found.filter_map(|(method, sum)| Some((method, add(sum?, end.max))));
    let together = pairs.latency(&way, end.max);
    found.chain(together.map(|latency| (Method::PortAndStack, latency))).collect()
}

/// Returns the visits of a packet up to the last one, in their order.
pub(crate) fn way_to(plant: &Plant, last: u32) -> Vec<u32> {
    let mut way = Vec::new();
    let mut at = last;
    while at != NONE {
        way.push(at);
        at = plant.visits[at as usize].parent;
    }
    way.reverse();
    way
}

/// Splits a way into the runs of ports that are analyzed together, and single places.
pub(crate) fn runs<'a>(plant: &Plant, way: &'a [u32]) -> impl Iterator<Item = &'a [u32]> {
    let mut rest = way;
    core::iter::from_fn(move || {
        let &first = rest.first()?;
        let goes_on = |&&visit: &&u32| is_port(plant, visit) && !begins_anew(plant, visit);
        let ports = rest[1..].iter().take_while(goes_on).count();
        let (run, next) =
            if is_port(plant, first) { rest.split_at(1 + ports) } else { rest.split_at(1) };
        rest = next;
        Some(run)
    })
}

/// Returns the time from the arrival at the first place of a run to the beginning of service at the
/// last one, place by place.
fn separately(plant: &Plant, known: &Separated, run: &[u32]) -> Option<i64> {
    let waits = run.iter().map(|&visit| known.wait[visit as usize]);
    let gaps = run.iter().skip(1).map(|&visit| plant.visits[visit as usize].gap.max);
    let sum = waits.chain(gaps).fold(0, add);
    (sum < INFINITE).then_some(sum)
}

#[cfg(test)]
mod tests;
