//! Where a search begins: priorities in a known order, with and without queues and layers.
//!
//! Deadline-monotonic and rate-monotonic orders give flows priorities by deadline and by period, once a
//! level for each value as far as levels go, once as many flows to each level; in one class all flows have
//! the same. All of them are tried, so that what is found proves no less than the best of them.

use std::cmp::Reverse;

use rtether_model::flow::Traffic;
use rtether_model::quantity::Duration;

use super::space::{Point, Space};
use crate::scenario::{Freedom, Scenario};

/// Levels that the shortest values have for themselves.
const LEVELS: [usize; 2] = [7, 1];

/// Returns the points at which a search begins; numbers stay as they are at `from`.
pub(super) fn starts(scenario: &Scenario, space: &Space, from: &Point) -> Vec<Point> {
    let numbers = space.parameters.iter().zip(from);
    let written: Point =
        numbers.map(|(own, value)| if own.freedom.is_none() { *value } else { 0 }).collect();
    let mut orders = vec![written.clone()];
    orders.extend(by_order(scenario, space).iter().map(|ranks| ordered(space, &written, ranks)));
    let mut starts = Vec::new();
    for order in orders {
        for queues in [false, true] {
            for layers in [false, true] {
                let mut point = order.clone();
                if queues {
                    point = with_first(space, &point, Freedom::Queues);
                    point = with_first(space, &point, Freedom::Selection);
                }
                if layers {
                    point = with_first(space, &point, Freedom::Layers);
                }
                if !starts.contains(&point) {
                    starts.push(point);
                }
            }
        }
    }
    starts
}

/// Returns ranks of all flows, by order.
fn by_order(scenario: &Scenario, space: &Space) -> Vec<Vec<u8>> {
    let all = space.ranks();
    let Some((&lowest, above)) = all.split_last() else {
        return Vec::new();
    };
    let deadlines: Vec<_> = scenario.flows.iter().map(|flow| flow.deadline).collect();
    let periods = scenario.flows.iter().map(|flow| match flow.traffic {
        Traffic::Periodic { period, .. } => flow.deadline.and(Some(period)),
        Traffic::Sporadic { min_gap, .. } => flow.deadline.and(Some(min_gap)),
        Traffic::Poisson { .. }
        | Traffic::Flood { .. }
        | Traffic::Adaptive { .. }
        | Traffic::Bulk(_) => None,
    });
    let periods: Vec<_> = periods.collect();
    // What has no deadline has the lowest level for itself.
    let ranks = if deadlines.contains(&None) && !above.is_empty() { above } else { &all };
    let mut orders: Vec<Vec<u8>> = LEVELS
        .iter()
        .map(|most| by_value(&deadlines, &ranks[..ranks.len().min(*most)], lowest))
        .collect();
    orders.push(by_share(&deadlines, ranks, lowest));
    orders.push(by_value(&periods, ranks, lowest));
    orders.push(by_share(&periods, ranks, lowest));
    orders.push(vec![lowest; scenario.flows.len()]);
    orders
}

/// Returns a rank for each value, from the shortest on, as far as ranks go.
fn by_value(values: &[Option<Duration>], ranks: &[u8], lowest: u8) -> Vec<u8> {
    let mut sorted: Vec<Duration> = values.iter().copied().flatten().collect();
    sorted.sort_unstable();
    sorted.dedup();
    let ranks = values.iter().map(|own| {
        let own = (*own)?;
        let level = sorted.partition_point(|other| *other < own);
        ranks.get(level).or(ranks.last()).copied()
    });
    ranks.map(|own| own.unwrap_or(lowest)).collect()
}

/// Returns ranks with as many flows each, but for those of the same value.
fn by_share(values: &[Option<Duration>], ranks: &[u8], lowest: u8) -> Vec<u8> {
    let mut sorted: Vec<Duration> = values.iter().copied().flatten().collect();
    sorted.sort_unstable();
    let ranks = values.iter().map(|own| {
        let shorter = sorted.partition_point(|other| Some(*other) < *own);
        own.map_or(lowest, |_| ranks[shorter * ranks.len() / sorted.len()])
    });
    ranks.collect()
}

/// Returns a point in which flows have these ranks: by edits of many flows where these have the same.
fn ordered(space: &Space, point: &Point, ranks: &[u8]) -> Point {
    let own = space.parameters.iter().enumerate();
    let own = own.filter(|(_, own)| own.freedom == Some(Freedom::Pcp));
    let mut largest: Vec<usize> = own.map(|(number, _)| number).collect();
    largest.sort_by_key(|number| Reverse(space.parameters[*number].flows.len()));
    let mut is_set = vec![false; ranks.len()];
    let mut point = point.clone();
    for is_uniform in [true, false] {
        for &number in &largest {
            let own = &space.parameters[number];
            let urgent = own.flows.iter().map(|flow| ranks[*flow]).min();
            let Some(rank) = urgent else { continue };
            let is_meant = if is_uniform {
                own.flows.iter().all(|flow| ranks[*flow] == rank && !is_set[*flow])
            } else {
                !own.is_wide && own.flows.iter().any(|flow| !is_set[*flow])
            };
            if is_meant {
                point[number] = space.value_at(number, rank);
                own.flows.iter().for_each(|flow| is_set[*flow] = true);
            }
        }
    }
    point
}

/// Returns a point in which everything of a kind has its first other value: what is of several
/// elements first.
fn with_first(space: &Space, point: &Point, freedom: Freedom) -> Point {
    let parameters = &space.parameters;
    let has_wide = parameters.iter().any(|own| own.freedom == Some(freedom) && own.is_wide);
    let mut point = point.clone();
    for (number, own) in parameters.iter().enumerate() {
        let is_meant = own.is_wide || !has_wide || freedom != Freedom::Queues;
        if own.freedom == Some(freedom) && is_meant {
            point[number] = 1;
        }
    }
    point
}

#[cfg(test)]
mod tests {
    use super::*;

    fn times(list: &[i64]) -> Vec<Option<Duration>> {
        list.iter().map(|ms| (*ms > 0).then(|| Duration::from_ms(*ms))).collect()
    }

    /// Oracle: by hand; the shortest first, and what has no value at the lowest.
    #[test]
    fn orders_give_ranks_by_value_or_by_share() {
        let values = times(&[4, 1, 0, 2, 8, 2]);
        assert_eq!(by_value(&values, &[0, 1, 3], 7), [3, 0, 7, 1, 3, 1]);
        assert_eq!(by_share(&values, &[0, 1, 3], 7), [1, 0, 7, 0, 3, 0]);
        assert_eq!(by_share(&times(&[0, 0]), &[0], 7), [7, 7]);
    }
}
