//! Replies as the echoes of their requests.
//!
//! **Theorem.** Let requests begin their service at a processor or port one after the other, each
//! service at least `s` long, and let each be followed by one reply, which comes to another place at
//! least `d` and at most `D` after the request has begun. If `c` is the longest work of a reply
//! there, a window of length `t` holds replies of at most `c + c / s (t + D - d)`.
//! *Proof.* The requests of these replies began in a window of length `t + D - d`, and all but the
//! last were served within it.
//!
//! This is the limit of a line ([`crate::curve`]) of which a whole round trip is a part: `D - d` is
//! its slack. Where all slaves are alike it is small, and their replies come as far apart as the
//! requests were sent, although each on its own may come at any time. It holds for any set of
//! flows from one place, so those with the same first place count as one group, and the usual
//! groups, by the previous place, are tried besides.

use alloc::vec;
use alloc::vec::Vec;

use crate::curve::{Load, ONE};
use crate::index::NONE;
use crate::plant::Plant;

use super::{least_delay, numbers};

/// By visit of a reply: the visit of its request to the first place that spaces requests.
pub(super) struct Echoes(Vec<u32>);

impl Echoes {
    pub(super) fn new(plant: &Plant) -> Self {
        let mut origins = vec![NONE; plant.visits.len()];
        let mut uses = vec![0u32; plant.visits.len()];
        for stream in &plant.streams {
            let Ok((last, _)) = stream.end else { continue };
            // Files may be acknowledged late, messages over TCP by any number of segments.
            if !plant.source_of(last).is_limited() {
                continue;
            }
            let way: Vec<u32> = numbers(plant, last).collect();
            let is_answer = |visit: &u32| plant.visits[*visit as usize].is_answer;
            let is_whole = |visit: &u32| plant.visits[*visit as usize].frames == 1;
            let Some(answer) = way.iter().position(is_answer) else {
                continue;
            };
            let (back, there) = way.split_at(answer + 1);
            let spaces = |visit: &&u32| {
                let visit = &plant.visits[**visit as usize];
                plant.servers[visit.server as usize].spaces && visit.service.min() > 0
            };
            let Some(&origin) = there.iter().rev().find(spaces) else {
                continue;
            };
            uses[origin as usize] += 1;
            if way.iter().all(is_whole) {
                for &visit in back {
                    origins[visit as usize] = origin;
                }
            }
        }
        // A request to a group has several replies.
        for origin in &mut origins {
            if uses.get(*origin as usize).is_some_and(|&uses| uses > 1) {
                *origin = NONE;
            }
        }
        Self(origins)
    }

    pub(super) fn is_empty(&self) -> bool {
        self.0.iter().all(|&origin| origin == NONE)
    }

    /// Returns whether echoes come to a place.
    pub(super) fn is_at(&self, members: &[u32]) -> bool {
        members.iter().any(|&visit| self.0[visit as usize] != NONE)
    }

    /// Returns loads in which echoes of one place form a group; `None` if there are none. `delay`
    /// is the longest time from the beginning of service at an origin to the arrival of its echo.
    pub(super) fn regroup(
        &self,
        plant: &Plant,
        members: &[u32],
        loads: &[Load],
        delay: impl Fn(u32, u32) -> Option<i64>,
    ) -> Option<Vec<Load>> {
        let mut all: Vec<Echo> = Vec::new();
        for (index, &visit) in members.iter().enumerate() {
            let origin = self.0[visit as usize];
            if origin == NONE {
                continue;
            }
            if let Some(most) = delay(visit, origin) {
                all.push(Echo {
                    load: index,
                    place: plant.visits[origin as usize].server,
                    least: least_delay(plant, visit, origin),
                    most,
                    service: plant.visits[origin as usize].service.min(),
                });
            }
        }
        all.sort_by_key(|echo| echo.place);
        let mut apart = loads.to_vec();
        for group in all.chunk_by(|a, b| a.place == b.place) {
            let least = group.iter().map(|echo| echo.least).min().unwrap_or(0);
            let most = group.iter().map(|echo| echo.most).max().unwrap_or(0);
            for echo in group {
                let load = &mut apart[echo.load];
                let work = i128::from(load.cost) * ONE;
                let service = i128::from(echo.service);
                // No place has this number.
                load.group = NONE - 1 - echo.place;
                load.ratio = (work + service - 1) / service;
                load.spacing = echo.service;
                load.slack = most - least;
            }
        }
        (!all.is_empty()).then_some(apart)
    }
}

/// A reply at a place.
struct Echo {
    load: usize,
    /// Where its request was spaced.
    place: u32,
    /// From the beginning of service there.
    least: i64,
    most: i64,
    service: i64,
}
