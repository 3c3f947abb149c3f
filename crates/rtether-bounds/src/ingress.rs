//! Rules of switch ports for arriving frames: which of them decides, and whether frames may exceed
//! the limit of its policer.
//!
//! A policer holds `B` octets and gains `R` octets a picosecond; a frame that finds fewer than its
//! own does not conform, and is dropped or demoted.
//!
//! **What passes.** Conforming frames in a closed window of length `t` have at most `B + R t`
//! octets: what the policer held at its begin, and what it gained in it. This is a limit on all flows
//! that pass the policer together ([`crate::output_limit::Limit::of_policer`]), however many frames
//! arrive.
//!
//! **What conforms.** Let flow `i` have at most `n_i` frames of `s_i` octets at each point of a grid of
//! `P_i`, with the jitter `J_i` on arrival. If `sum n_i s_i / P_i <= R` and
//! `sum n_i s_i (1 + J_i / P_i) <= B`, every frame conforms. *Proof.* A frame that does not conform
//! ends a closed window, from when the policer was last full, in which it and the conforming frames
//! before it have more than `B + R t` octets. But all frames of the window have at most
//! `sum n_i s_i (floor((t + J_i) / P_i) + 1) <= sum n_i s_i (1 + J_i / P_i) + t sum n_i s_i / P_i`.
//! Behind the gap of a flow `n_i` is one, `P_i` its gap, and `J_i` the jitter since then.
//!
//! **Together with the waits.** The jitters come from bounds that take all policers for kept. They may:
//! take the first moment at which a frame exceeds one. All bounds hold until then, so do the jitters,
//! and the frame conforms: a contradiction. A policer that fails the test is taken to drop or demote
//! any of its frames in the next search, which begins with the new ways. A flow whose jitter is infinite
//! for lack of a bound elsewhere decides only if nothing else fails, since a limit closer to its
//! source may be what it lacks.

use alloc::collections::{BTreeMap, BTreeSet};
use alloc::vec::Vec;

use rtether_model::ingress::{IngressRule, Police};
use rtether_model::network::{NodeId, Pcp, Switch};

use crate::classify::Way;
use crate::curve::JITTER_MAX;
use crate::fraction::sum_up;
use crate::frame::{Frame, Kind};
use crate::output_limit::Limiter;
use crate::passage::{Passage, RuleStep};
use crate::plant::Plant;
use crate::solution::Solution;
use crate::source::{INFINITE, add};

/// Bits in an octet, for a second in picoseconds.
const OCTET: i128 = 8_000_000_000_000;

/// Returns period, packets at a time and jitter with which frames arrive; the jitter is infinite if it
/// is unknown. Behind a gap they come as it lets them out, unless they were sparser before.
fn arrivals(passage: &Passage, plant: &Plant, solution: &Solution) -> Option<[i64; 3]> {
    let source = &plant.sources[passage.flow as usize];
    let parent = passage.parent as usize;
    let after = |before: i64| {
        let sum = add(add(before, solution.wait[parent]), varies(passage));
        if sum > JITTER_MAX { INFINITE } else { sum }
    };
    let own = jitter(passage, plant, solution, after);
    let limit = plant.limit_of(&plant.visits[parent]);
    let gap = limit.filter(|limit| limit.by == Limiter::Gap);
    let spaced = gap.map(|gap| (gap.period, after(solution.drift[parent])));
    let is_sparse = |(period, jitter)| {
        source.burst <= 1 && source.period >= period && own <= jitter && source.is_limited()
    };
    match spaced.filter(|&spaced| !is_sparse(spaced)) {
        Some((period, jitter)) => Some([period, 1, jitter]),
        None => source.is_limited().then_some([source.period, source.burst, own]),
    }
}

/// Returns by how much the time from the place before a policer varies.
const fn varies(passage: &Passage) -> i64 {
    if passage.gap.max < INFINITE { passage.gap.max - passage.gap.min } else { INFINITE }
}

/// Returns the jitter of the releases of a flow at a policer.
fn jitter(
    passage: &Passage,
    plant: &Plant,
    solution: &Solution,
    after: impl Fn(i64) -> i64,
) -> i64 {
    let source = &plant.sources[passage.flow as usize];
    let [begin, end] = passage.visits.map(|visit| visit as usize);
    if source.closed.is_some() && plant.leads_on[begin..end].contains(&true) {
        // The next one comes after the answer to this one.
        return 0;
    }
    after(solution.jitter[passage.parent as usize])
}

/// What arrives at a policer. Flows that bring exactly its rate keep it: what they bring is added up as
/// fractions.
#[derive(Default)]
struct Arrivals {
    /// Octets of each flow in a period.
    flows: Vec<(i128, i128)>,
    /// Octets at once.
    at_once: i128,
    /// Octets times jitter of each flow, and its period.
    early: Vec<(i128, i128)>,
    has_unlimited: bool,
    has_unknown: bool,
}

/// Returns the steps of rules that may stop frames although they were taken to let them pass: at
/// first those that stop some however they arrive, since these change what comes to the others.
pub(crate) fn exceeded(plant: &Plant, solution: &Solution) -> Vec<RuleStep> {
    let surely = plant.passages.iter().filter(|passage| passage.police.is_none());
    let surely: BTreeSet<RuleStep> = surely.map(|passage| passage.step).collect();
    if !surely.is_empty() {
        return surely.into_iter().collect();
    }
    let mut offered: BTreeMap<RuleStep, (Police, Arrivals)> = BTreeMap::new();
    for passage in &plant.passages {
        let Some(police) = passage.police else { continue };
        let own = offered.entry(passage.step);
        let (_, own) = own.or_insert_with(|| (police, Arrivals::default()));
        let Some([period, burst, jitter]) = arrivals(passage, plant, solution) else {
            own.has_unlimited = true;
            continue;
        };
        if jitter >= INFINITE {
            own.has_unknown = true;
        } else {
            let frames = i128::from(burst) * i128::from(passage.frames);
            let octets = frames * i128::from(passage.size);
            let period = i128::from(period);
            own.flows.push((octets * OCTET, period));
            own.at_once += octets;
            own.early.push((octets * i128::from(jitter), period));
        }
    }
    let mut certain = Vec::new();
    let mut unknown = Vec::new();
    for (policer, (police, own)) in offered {
        let burst = own.at_once.saturating_add(sum_up(own.early.iter().copied()));
        let is_kept = sum_up(own.flows.iter().copied()) <= i128::from(police.rate.as_bps())
            && burst <= i128::from(police.burst.get());
        if own.has_unlimited || !is_kept {
            certain.push(policer);
        } else if own.has_unknown {
            unknown.push(policer);
        }
    }
    if certain.is_empty() { unknown } else { certain }
}

/// Whether a rule matches frames.
#[derive(PartialEq, Eq)]
enum Fit {
    No,
    /// The first fragment of each datagram, which alone has ports.
    First,
    Yes,
}

/// Returns the rules that decide on frames of one direction of a flow as they arrive, by their
/// number, `None` for no rule: several if fragments of a datagram differ.
pub(crate) fn deciding(
    switch: &Switch,
    rules: &[IngressRule],
    way: &Way<'_>,
    frame: &Frame,
) -> Vec<Option<usize>> {
    let mut found = Vec::new();
    if !(switch.icmp_unclassified && way.is_icmp()) {
        for (number, rule) in rules.iter().enumerate() {
            match fit(rule, way, frame) {
                Fit::No => {}
                Fit::First => found.push(Some(number)),
                Fit::Yes => {
                    found.push(Some(number));
                    return found;
                }
            }
        }
    }
    found.push(None);
    found
}

fn fit(rule: &IngressRule, way: &Way<'_>, frame: &Frame) -> Fit {
    let is_among = |stations: &[NodeId], own: Option<NodeId>| {
        stations.is_empty() || own.is_some_and(|own| stations.contains(&own))
    };
    let fits = rule.pcp.is_none_or(|pcp| pcp.get() == frame.pcp)
        && is_among(&rule.from, Some(way.from))
        && is_among(&rule.to, way.to)
        && way.fits(&rule.headers, frame);
    if !fits {
        Fit::No
    } else if rule.headers.names_port() && frame.kind == Kind::Datagram && frame.count > 1 {
        Fit::First
    } else {
        Fit::Yes
    }
}

/// Returns frames that keep the limit of a rule as it lets them go on.
pub(crate) fn marked(rule: &IngressRule, frame: &Frame) -> Frame {
    let mut marked = *frame;
    marked.pcp = rule.mark.map_or(frame.pcp, Pcp::get);
    marked.remarked = rule.mark_dscp.or(frame.remarked);
    marked
}
