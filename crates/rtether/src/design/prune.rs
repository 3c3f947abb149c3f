//! Takes edits back that no proof needs, and tries others in place of those that stay.
//!
//! A design from which no single edit can be left out may still cost more than another: edits are
//! taken back in several orders, and single edits are exchanged for others, and the cheapest design
//! stays. Of designs that cost the same, the one with the largest least margin.

use std::cmp::Reverse;
use std::collections::{BTreeSet, VecDeque};
use std::sync::Arc;

use super::search::Found;
use super::space::{Point, with};
use super::trial::{Halt, Judged, Trials};
use crate::dice::Dice;

/// Orders in which edits are taken back.
const ORDERS: usize = 6;
/// Designs that are tried at the same time.
const BATCH: usize = 16;
/// Sets of edits of the same cost that are looked at.
const MOST_EQUAL: usize = 40;

/// Takes back what nothing needs; `needed` is what stays proved.
pub(super) fn prune(
    trials: &mut Trials<'_>,
    found: &mut Found,
    needed: &Judged,
) -> Result<(), Halt> {
    if trials.space.has_many() {
        return halve(trials, found, needed);
    }
    let whole = found.clone();
    let mut dice = Dice::of(&[whole.point.len() as u64, 1]);
    for number in 0..ORDERS {
        let mut order = edits(&whole.point);
        match number {
            // What costs most first, then narrow edits before wide ones.
            0 => order.sort_by_key(|own| {
                let value = usize::from(whole.point[*own]);
                (Reverse(trials.space.parameters[*own].costs[value]), Reverse(*own))
            }),
            1 => {}
            _ => shuffle(&mut order, &mut dice),
        }
        let pruned = taken_back(trials, &whole, &order, needed)?;
        if is_cheaper(trials, &pruned, found) {
            *found = pruned;
        }
    }
    exchange(trials, found, needed)?;
    widen(trials, found, needed)
}

/// Takes many edits back at once, and the halves of those that something needs.
fn halve(trials: &mut Trials<'_>, found: &mut Found, needed: &Judged) -> Result<(), Halt> {
    let all: Vec<usize> = edits(&found.point).into_iter().rev().collect();
    let part = all.len().div_ceil(BATCH).max(1);
    let mut open: VecDeque<Vec<usize>> = all.chunks(part).map(<[usize]>::to_vec).collect();
    while !open.is_empty() {
        let batch: Vec<Vec<usize>> = open.drain(..open.len().min(BATCH)).collect();
        let points: Vec<Point> = batch.iter().map(|own| without(&found.point, own)).collect();
        let judged = trials.judge_all(&points)?;
        let mut idle = Vec::new();
        for (own, judged) in batch.into_iter().zip(judged) {
            if judged.keeps(needed) {
                idle.push(own);
            } else if own.len() > 1 {
                let (one, other) = own.split_at(own.len() / 2);
                open.extend([one.to_vec(), other.to_vec()]);
            }
        }
        open.extend(take_back(trials, found, needed, idle)?);
    }
    Ok(())
}

/// Takes sets of edits back, none of which anything needs: all of them, or else the first; returns the
/// others.
fn take_back(
    trials: &mut Trials<'_>,
    found: &mut Found,
    needed: &Judged,
    mut idle: Vec<Vec<usize>>,
) -> Result<Vec<Vec<usize>>, Halt> {
    if idle.is_empty() {
        return Ok(idle);
    }
    let point = without(&found.point, &idle.concat());
    let judged = trials.judge(&point)?;
    if judged.keeps(needed) {
        *found = Found { point, judged };
        return Ok(Vec::new());
    }
    let point = without(&found.point, &idle.remove(0));
    let judged = trials.judge(&point)?;
    *found = Found { point, judged };
    Ok(idle)
}

/// Returns a point without some of its edits.
fn without(point: &Point, edits: &[usize]) -> Point {
    let mut other = point.clone();
    for own in edits {
        other[*own] = 0;
    }
    other
}

/// Returns the parameters that a point edits.
pub(super) fn edits(point: &Point) -> Vec<usize> {
    (0..point.len()).filter(|number| point[*number] > 0).collect()
}

fn shuffle(order: &mut [usize], dice: &mut Dice) {
    for end in (1..order.len()).rev() {
        order.swap(end, dice.index(end + 1));
    }
}

/// Takes edits back in this order, again until none can be.
fn taken_back(
    trials: &mut Trials<'_>,
    from: &Found,
    order: &[usize],
    needed: &Judged,
) -> Result<Found, Halt> {
    let mut at = from.clone();
    loop {
        let before = edits(&at.point).len();
        for &number in order.iter().filter(|own| from.point[**own] > 0) {
            if at.point[number] == 0 {
                continue;
            }
            let point = with(&at.point, number, 0);
            let judged = trials.judge(&point)?;
            if judged.keeps(needed) {
                at = Found { point, judged };
            }
        }
        if edits(&at.point).len() == before {
            return Ok(at);
        }
    }
}

/// Exchanges single edits for others as long as a cheaper design comes of it, also by way of designs
/// that cost the same: first for edits of the same kind, then for any.
fn exchange(trials: &mut Trials<'_>, found: &mut Found, needed: &Judged) -> Result<(), Halt> {
    for is_any in [false, true] {
        // Of the same edits, other values are looked at where one edit is left out.
        let mut seen = BTreeSet::from([edits(&found.point)]);
        let mut open = VecDeque::from([found.clone()]);
        while let Some(from) = open.pop_front().filter(|_| seen.len() <= MOST_EQUAL) {
            for other in exchanged(trials, &from, needed, is_any)? {
                let order = edits(&other.point);
                let pruned = taken_back(trials, &other, &order, needed)?;
                let [own, best] = [&pruned, found].map(|own| trials.space.cost(&own.point));
                if own > best {
                    continue;
                }
                let is_new = seen.insert(edits(&pruned.point));
                if is_cheaper(trials, &pruned, found) {
                    *found = pruned.clone();
                }
                if own < best {
                    // What cost more than this leads nowhere.
                    open = VecDeque::from([pruned]);
                    break;
                }
                if is_new {
                    open.push_back(pruned);
                }
            }
        }
    }
    Ok(())
}

/// Returns the designs that come of exchanging one edit for another, of the same kind or of any, and
/// prove what is needed.
fn exchanged(
    trials: &mut Trials<'_>,
    from: &Found,
    needed: &Judged,
    is_any: bool,
) -> Result<Vec<Found>, Halt> {
    let parameters = &trials.space.parameters;
    let mut kept = Vec::new();
    // A wide edit changes more than single ones do.
    let mut order = edits(&from.point);
    order.sort_by_key(|own| !parameters[*own].is_wide);
    for number in order {
        let without = with(&from.point, number, 0);
        let mut others = trials.space.neighbors(&without, 0, |_| true);
        others.retain(|point| {
            let other = (0..point.len()).find(|own| point[*own] != without[*own]);
            let freedom = other.map(|own| parameters[own].freedom);
            *point != from.point && (freedom == Some(parameters[number].freedom)) != is_any
        });
        for batch in others.chunks(BATCH) {
            let judged = trials.judge_all(batch)?;
            let all = batch.iter().cloned().zip(judged);
            let own = all.filter(|(_, judged)| judged.keeps(needed));
            kept.extend(own.map(|(point, judged)| Found { point, judged }));
        }
    }
    Ok(kept)
}

/// Takes other values of the same parameters as long as the least margin grows.
fn widen(trials: &mut Trials<'_>, found: &mut Found, needed: &Judged) -> Result<(), Halt> {
    loop {
        let mut is_wider = false;
        // Numbers stay near to what is written.
        let own = edits(&found.point).into_iter();
        for number in own.filter(|own| trials.space.parameters[*own].grain == 0).collect::<Vec<_>>()
        {
            let values = 1..trials.space.parameters[number].values.len();
            let values = values.filter_map(|value| u8::try_from(value).ok());
            let points: Vec<Point> =
                values.map(|value| with(&found.point, number, value)).collect();
            let judged = trials.judge_all(&points)?;
            for (point, judged) in points.into_iter().zip(judged) {
                if judged.keeps(needed) && judged.tightest < found.judged.tightest {
                    *found = Found { point, judged };
                    is_wider = true;
                }
            }
        }
        if !is_wider {
            break;
        }
    }
    // With other values less may be needed.
    let order = edits(&found.point);
    *found = taken_back(trials, found, &order, needed)?;
    Ok(())
}

/// Returns whether a design costs less, or the same with a larger least margin.
fn is_cheaper(trials: &Trials<'_>, one: &Found, other: &Found) -> bool {
    let [one, other] = [one, other].map(|own| (trials.space.cost(&own.point), own.judged.tightest));
    one < other
}

/// Returns for each edit of a design what is no longer proved without it; an edit without which all is
/// proved is taken back.
pub(super) fn needs(
    trials: &mut Trials<'_>,
    found: &mut Found,
) -> Result<Vec<(usize, Vec<usize>)>, Halt> {
    loop {
        let edits = edits(&found.point);
        let points: Vec<Point> =
            edits.iter().map(|number| with(&found.point, *number, 0)).collect();
        let judged = trials.judge_all(&points)?;
        let lost: Vec<Vec<usize>> = judged.iter().map(|own| lost(&found.judged, own)).collect();
        let needs: Vec<(usize, Vec<usize>)> = edits.into_iter().zip(lost).collect();
        let idle = needs.iter().filter(|(_, lost)| lost.is_empty());
        let idle: Vec<Vec<usize>> = idle.map(|(edit, _)| vec![*edit]).collect();
        if idle.is_empty() {
            return Ok(needs);
        }
        let proved = Arc::clone(&found.judged);
        take_back(trials, found, &proved, idle)?;
    }
}

/// Returns the goals that one proves and another does not.
fn lost(one: &Arc<Judged>, other: &Judged) -> Vec<usize> {
    let both = one.proved.iter().zip(&other.proved).enumerate();
    both.filter(|(_, (own, other))| **own && !**other).map(|(goal, _)| goal).collect()
}
