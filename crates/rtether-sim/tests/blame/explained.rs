//! Why a delay does not fall by half of what was blamed on a place that is free now.
//!
//! Each explanation is tried: without what is said to hold the packet up instead, the delay falls by
//! half. Places and frames are taken out of the plant; back-offs, and waits for timers and
//! acknowledgments, out of the delay as far as they are longer than before.

use rtether_model::network::NodeKind;
use rtether_model::record::{Place, Segment};

use super::{Kind, Outcome, draw, follow, free};
use crate::support::Plant;

/// What holds a packet up once the blamed place is free.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Reason {
    /// The next limit right behind: its own segments wait at this many other places, one after another.
    NextLimit(usize),
    /// Frames of other flows that had been behind.
    OtherFrames,
    /// Another back-off on a shared medium.
    OtherBackOff,
    /// Acknowledgments in another rhythm, or a timer.
    OtherAckClock,
    /// The layer of a station: a smoother that notices other congestion, or queues that choose another
    /// frame.
    OtherLayer,
}

/// Places behind the one that was blamed that are freed as well.
const MOST: usize = 6;

/// Returns the explanation; `None` if none holds.
pub(super) fn explain(kind: Kind, number: u64, outcome: &Outcome) -> Option<Reason> {
    let plant = draw(kind, number);
    let (before, _) = follow(&plant, number, outcome.released_at)?;
    let mut freed = plant;
    free(&mut freed, outcome.place);
    if let Some((after, _)) = follow(&freed, number, outcome.released_at) {
        for (segment, reason) in [
            (Segment::MediumAccess, Reason::OtherBackOff),
            (Segment::Protocol, Reason::OtherAckClock),
        ] {
            let [then, now] = [&before, &after].map(|parts| parts.by_segment[segment.index()]);
            if now > then && outcome.is_half(after.latency - (now - then)) {
                return Some(reason);
            }
        }
    }
    let places = next_limit(freed.clone(), number, outcome);
    match places {
        Some(count) if count > 1 && falls_alone(&freed, number, outcome) => {
            Some(Reason::OtherFrames)
        }
        Some(count) => Some(Reason::NextLimit(count)),
        None if falls_alone(&freed, number, outcome) => Some(Reason::OtherFrames),
        None => falls_without_layers(freed, number, outcome).then_some(Reason::OtherLayer),
    }
}

/// Returns whether the delay falls by half if there are no other flows.
fn falls_alone(freed: &Plant, number: u64, outcome: &Outcome) -> bool {
    let mut alone = freed.clone();
    alone.flows.truncate(1);
    let found = follow(&alone, number, outcome.released_at);
    found.is_some_and(|(parts, _)| outcome.is_half(parts.latency))
}

/// Returns whether the delay falls by half if no station has a layer.
fn falls_without_layers(mut freed: Plant, number: u64, outcome: &Outcome) -> bool {
    for node in &mut freed.network.nodes {
        if let NodeKind::EndStation(own) = &mut node.kind {
            own.layer = None;
            own.tasks = None;
        }
    }
    let found = follow(&freed, number, outcome.released_at);
    found.is_some_and(|(parts, _)| outcome.is_half(parts.latency))
}

/// Returns how many further places are to be free until the delay falls by half.
fn next_limit(mut freed: Plant, number: u64, outcome: &Outcome) -> Option<usize> {
    let mut known: Vec<Place> = vec![outcome.place];
    for count in 1..=MOST {
        let (_, next) = follow(&freed, number, outcome.released_at)?;
        let next = next.filter(|next| !known.contains(next))?;
        known.push(next);
        free(&mut freed, next);
        let (parts, _) = follow(&freed, number, outcome.released_at)?;
        if parts.latency < outcome.latency && outcome.is_half(parts.latency) {
            return Some(count);
        }
    }
    None
}
