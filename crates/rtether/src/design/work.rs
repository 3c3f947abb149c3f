//! Work within deadlines: what one processor can do of it, whatever the order.
//!
//! Let the flows through the stack of a node be released so that a packet of each would come to it
//! at the same instant, if it met no other; flows whose phases are free may be. None comes earlier, and
//! the stack does one after the other, so that each packet has waited for the work of those before
//! it. A packet is in time only if its work ends within what its deadline leaves beside the least time
//! elsewhere. The order that ends most of them in time drops the longest where one is late (Moore
//! 1968): what it drops no design proves.

use std::collections::BTreeSet;

use rtether_bounds::Analysis;
use rtether_model::flow::{Flow, Phase, Traffic};
use rtether_model::network::{NodeId, NodeKind, Stack};
use rtether_model::quantity::Duration;
use rtether_report::text::{plural, time};

use super::obstacle::Obstacle;
use crate::scenario::Scenario;

/// A packet at a stack.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Job {
    /// When its work has to end.
    due: Duration,
    /// Its work.
    work: Duration,
    /// Position of its stream.
    stream: usize,
}

/// Returns the stacks that cannot do all work in time, of flows that `known` does not have.
pub(super) fn overdue(
    scenario: &Scenario,
    analysis: &Analysis,
    known: &[Obstacle],
) -> Vec<Obstacle> {
    let mut counted: BTreeSet<usize> = known.iter().flat_map(|own| own.streams.clone()).collect();
    let mut found = Vec::new();
    for (number, node) in (0u32..).zip(&scenario.network.nodes) {
        for jobs in jobs(scenario, analysis, NodeId(number)) {
            let jobs: Vec<Job> =
                jobs.into_iter().filter(|own| !counted.contains(&own.stream)).collect();
            let dropped = dropped(&jobs);
            if dropped == 0 {
                continue;
            }
            let total = jobs.iter().fold(Duration::ZERO, |all, own| all + own.work);
            counted.extend(jobs.iter().map(|own| own.stream));
            found.push(Obstacle {
                name: format!("all deadlines of {} through the stack of {}", plural(jobs.len(), "stream"), node.name),
                why: format!("if their packets meet there, they take {}, and {dropped} of them are late in any order", time(total)),
                streams: jobs.iter().map(|own| own.stream).collect(),
                count: dropped,
            });
        }
    }
    found
}

/// Returns how many jobs are late in the order that ends most in time.
fn dropped(jobs: &[Job]) -> usize {
    let mut jobs = jobs.to_vec();
    jobs.sort_unstable();
    let (mut total, mut kept, mut dropped) = (Duration::ZERO, Vec::new(), 0);
    for job in jobs {
        total += job.work;
        kept.push(job.work);
        if total > job.due {
            let longest = (0..kept.len()).max_by_key(|own| kept[*own]);
            let Some(longest) = longest else { continue };
            total -= kept.swap_remove(longest);
            dropped += 1;
        }
    }
    dropped
}

/// Returns the packets that each server of a stack may have to do at once.
fn jobs(scenario: &Scenario, analysis: &Analysis, node: NodeId) -> Vec<Vec<Job>> {
    let NodeKind::EndStation(station) = &scenario.network.node(node).kind else {
        return Vec::new();
    };
    let [sent, received] = [true, false].map(|is_sent| {
        let work = least_work(&station.stack, is_sent);
        let streams = analysis.streams.iter().enumerate();
        let jobs = streams.filter_map(|(stream, own)| {
            let flow = &scenario.flows[own.flow.index()];
            let end = if is_sent { flow.talker } else { own.listener };
            let bound = own.bound.as_ref().ok().filter(|_| end == node && is_free(flow))?;
            // What it takes elsewhere.
            let elsewhere = bound.latency_min - work;
            Some(Job { due: flow.deadline? - elsewhere, work, stream })
        });
        jobs.filter(|own| own.work > Duration::ZERO).collect::<Vec<Job>>()
    });
    match station.stack {
        Stack::Zero => Vec::new(),
        // One server for both directions.
        Stack::IpRate { .. } => vec![[sent, received].concat()],
        Stack::Linear(_) | Stack::Rtos(_) => vec![sent, received],
    }
}

/// Returns the least work of one packet.
const fn least_work(stack: &Stack, is_sent: bool) -> Duration {
    match stack {
        Stack::Zero => Duration::ZERO,
        Stack::IpRate { service } => *service,
        Stack::Linear(own) if is_sent => own.send.base,
        Stack::Linear(own) => own.receive.base,
        Stack::Rtos(own) => own.datagram.base,
    }
}

/// Returns whether a packet of a flow to one listener may come at any instant.
fn is_free(flow: &Flow) -> bool {
    let is_free = match flow.traffic {
        Traffic::Periodic { phase, .. } => phase == Phase::Random,
        Traffic::Sporadic { .. } => true,
        Traffic::Poisson { .. }
        | Traffic::Flood { .. }
        | Traffic::Adaptive { .. }
        | Traffic::Bulk(_) => false,
    };
    is_free
        && flow.listeners.len() == 1
        && flow.connection.is_none()
        && flow.stop.is_none()
        && flow.releases.is_empty()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn jobs(list: &[(i64, i64)]) -> Vec<Job> {
        let jobs = list.iter().enumerate();
        jobs.map(|(stream, (due, work))| Job {
            due: Duration::from_us(*due),
            work: Duration::from_us(*work),
            stream,
        })
        .collect()
    }

    /// Oracle: all orders, by hand for the first ones.
    #[test]
    fn as_few_as_possible_are_late() {
        assert_eq!(dropped(&jobs(&[(10, 5), (10, 5)])), 0);
        assert_eq!(dropped(&jobs(&[(9, 5), (9, 5)])), 1);
        // The long one alone makes two others late.
        assert_eq!(dropped(&jobs(&[(8, 8), (9, 4), (9, 5)])), 1);
        let mut dice = 7_u64;
        for _ in 0..500 {
            let list: Vec<(i64, i64)> = (0..6)
                .map(|_| {
                    dice = dice.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
                    let drawn = [(dice >> 33) % 30, (dice >> 41) % 9 + 1];
                    let [due, work] = drawn.map(|own| i64::try_from(own).unwrap());
                    (due, work)
                })
                .collect();
            assert_eq!(dropped(&jobs(&list)), fewest(&list), "{list:?}");
        }
    }

    /// Tries each set of jobs that are in time: by due time if at all.
    fn fewest(list: &[(i64, i64)]) -> usize {
        let mut sorted = list.to_vec();
        sorted.sort_unstable();
        let sets = (0..1_usize << sorted.len()).filter(|set| {
            let mut total = 0;
            sorted.iter().enumerate().filter(|(at, _)| set >> at & 1 == 1).all(
                |(_, (due, work))| {
                    total += work;
                    total <= *due
                },
            )
        });
        let most = sets.map(|set| set.count_ones() as usize).max();
        sorted.len() - most.unwrap_or(0)
    }
}
