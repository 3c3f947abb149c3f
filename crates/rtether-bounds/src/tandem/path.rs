//! Consecutive ports on the path of one flow, and the flows that cross it.
//!
//! Work is measured in the time that it takes on the slowest of the links, so that a packet brings
//! the same work to every port.

use alloc::vec::Vec;

use crate::curve::{Affine, ONE};
use crate::index::NONE;
use crate::plant::{Plant, ServerKind, Visit};
use crate::source::{INFINITE, Source};
use crate::tandem::sfa::Separated;

/// Work in picoseconds, and rates with their binary places, beyond which sums might exceed 128
/// bits.
const WORK_MAX: i64 = 1 << 46;
const RATE_MAX: i128 = 1 << 52;

/// One port.
pub(crate) struct Port {
    /// Work per picosecond, rounded down.
    pub(crate) rate: i128,
    /// Work of the longest packet of a lower class, which may be in transmission.
    pub(crate) blocking: i128,
    /// Arrivals of higher classes.
    pub(crate) high: Affine,
}

/// A flow that crosses some of the ports, or the sum of such flows.
#[derive(Clone)]
pub(crate) struct Cross {
    /// Its first port.
    pub(crate) first: usize,
    /// Work that arrives at once at each of its ports.
    pub(crate) bursts: Vec<i128>,
    pub(crate) rate: i128,
    /// From the beginning of a transmission to the arrival at the next port, minimum and maximum.
    pub(crate) gaps: Vec<[i64; 2]>,
    /// Visit at its last port, and the work of one packet, which is the same at all its ports.
    visit: u32,
    cost: i64,
}

impl Cross {
    #[cfg(test)]
    pub(crate) fn new(first: usize, bursts: Vec<i128>, rate: i128, gaps: Vec<[i64; 2]>) -> Self {
        Self {
            first,
            bursts,
            rate,
            gaps,
            visit: NONE,
            cost: 0,
        }
    }

    /// Returns its part from `first` to `last`.
    pub(crate) fn part(&self, first: usize, last: usize) -> Self {
        let (from, to) = (first - self.first, last - self.first);
        Self {
            first,
            bursts: self.bursts[from..=to].to_vec(),
            rate: self.rate,
            gaps: self.gaps[from..to].to_vec(),
            visit: self.visit,
            cost: self.cost,
        }
    }

    /// Adds another cross flow with the same ports.
    pub(crate) fn add(&mut self, other: &Self) {
        for (own, other) in self.bursts.iter_mut().zip(&other.bursts) {
            *own += other;
        }
        for (own, other) in self.gaps.iter_mut().zip(&other.gaps) {
            *own = [own[0].min(other[0]), own[1].max(other[1])];
        }
        self.rate += other.rate;
    }

    pub(crate) fn last(&self) -> usize {
        self.first + self.bursts.len() - 1
    }
}

/// A run of ports with the packets of one flow.
pub(crate) struct Tandem {
    pub(crate) ports: Vec<Port>,
    /// Gaps of the flow itself from the beginning of a transmission to the arrival at the next
    /// port.
    pub(crate) gaps: Vec<[i64; 2]>,
    /// Cross flows of the flow's own class.
    pub(crate) equal: Vec<Cross>,
    /// Cross flows of its class or a higher one.
    pub(crate) any: Vec<Cross>,
    /// Whether all packets of the class stay in order from port to port.
    pub(crate) is_in_order: bool,
    /// Work of a packet of the flow.
    pub(crate) cost: i64,
    pub(crate) source: Source,
}

/// Returns whether a place can be part of a tandem: a port in order of arrival or by priority.
pub(crate) fn is_port(plant: &Plant, visit: u32) -> bool {
    let server = &plant.servers[plant.visits[visit as usize].server as usize];
    server.obstacle.is_none()
        && server.discipline.is_by_priority()
        && matches!(server.kind, ServerKind::Switch(_) | ServerKind::Station(_))
}

/// Returns whether other packets begin with a visit than came before it: an acknowledgement without
/// data, or an answer in fragments, or to fragments, which waits for the last one. The methods of this module take each packet at the
/// last port of a tandem for one that came to the first.
pub(crate) fn begins_anew(plant: &Plant, visit: u32) -> bool {
    let own = &plant.visits[visit as usize];
    let before = plant.visits.get(own.parent as usize);
    let is_of_several = || before.is_some_and(|before| before.frames.max(own.frames) > 1);
    own.is_pure || (own.is_answer && is_of_several())
}

impl Tandem {
    /// Collects the data of the ports of `run`; `None` if a flow there has no limit. `among` are the
    /// flows that count besides, in ascending order, if not all do; `slots` has room for all visits.
    pub(crate) fn new(
        plant: &Plant,
        known: &Separated,
        run: &[u32],
        among: Option<&[u32]>,
        slots: &mut [u32],
    ) -> Option<Self> {
        let octets = run.iter().map(|&visit| server(plant, visit).curve.octet);
        let builder = Builder {
            plant,
            known,
            run,
            among,
            octet: octets.max()?,
        };
        let visits = run.iter().map(|&visit| &plant.visits[visit as usize]);
        let costs: Option<Vec<i64>> = run.iter().map(|&visit| builder.cost(visit)).collect();
        let mut tandem = Self {
            ports: Vec::with_capacity(run.len()),
            gaps: visits
                .clone()
                .skip(1)
                .map(|v| [v.gap.min, v.gap.max])
                .collect(),
            equal: builder.crosses(slots, |other, own| other == own)?,
            any: Vec::new(),
            is_in_order: builder.is_in_order(),
            cost: costs?.into_iter().max()?,
            source: builder.source(run[0]),
        };
        tandem.any = if builder.has_higher() {
            builder.crosses(slots, |other, own| other >= own)?
        } else {
            tandem.equal.clone()
        };
        for position in 0..run.len() {
            tandem.ports.push(builder.port(position)?);
        }
        Some(tandem)
    }

    /// Returns the longest time that the packets in front of a packet take, counted from its latest
    /// arrival. `busy(work)` is the time after which this much of the flow's own work, and all that
    /// disturbs it, is done; it grows by at most `1 / rate` per unit of work.
    ///
    /// If the rate is not below the flow's own, the longest time is that of the first packet, or of
    /// the last of the packets that come at once or one period apart: each further period brings at
    /// most the work that is done in it.
    pub(crate) fn longest(&self, rate: i128, busy: impl Fn(i128) -> Option<i64>) -> Option<i64> {
        let Source {
            period,
            burst,
            jitter,
            ..
        } = self.source;
        let own = own_rate(self.cost, &self.source);
        if own > rate {
            return None;
        }
        let at_once = jitter / period + 1;
        let cases = [
            (0, 0),
            (burst * at_once - 1, 0),
            (burst * (at_once + 1) - 1, at_once * period - jitter),
        ];
        let mut longest = 0;
        for (packets, distance) in cases {
            let work = i128::from(packets) * i128::from(self.cost) * ONE;
            longest = longest.max(busy(work)? - distance);
        }
        (longest < INFINITE).then_some(longest)
    }
}

/// Returns the time that `work` takes at `rate`, rounded up.
pub(crate) fn time(work: i128, rate: i128) -> i64 {
    if work <= 0 {
        return 0;
    }
    i64::try_from((work + rate - 1) / rate).map_or(INFINITE, |time| time.min(INFINITE))
}

fn own_rate(cost: i64, source: &Source) -> i128 {
    let work = i128::from(cost) * i128::from(source.burst) * ONE;
    let period = i128::from(source.period);
    (work + period - 1) / period
}

fn server(plant: &Plant, visit: u32) -> &crate::plant::Server {
    &plant.servers[plant.visits[visit as usize].server as usize]
}

struct Builder<'a> {
    plant: &'a Plant,
    known: &'a Separated,
    run: &'a [u32],
    among: Option<&'a [u32]>,
    /// Of the slowest link.
    octet: i64,
}

impl Builder<'_> {
    fn visit(&self, visit: u32) -> &Visit {
        &self.plant.visits[visit as usize]
    }

    /// Returns the other visits at a port of the run.
    fn others(&self, position: usize) -> impl Iterator<Item = u32> {
        let own = self.run[position];
        let members = self.plant.members.of(self.visit(own).server).iter();
        let counts = move |visit: u32| {
            let flow = self.visit(visit).flow;
            let some = self.among;
            some.is_none_or(|flows| flows.binary_search(&flow).is_ok())
        };
        let others = members.copied();
        others.filter(move |&visit| visit != own && counts(visit))
    }

    /// Returns the releases of a visit's flow as packets there.
    fn source(&self, visit: u32) -> Source {
        let source = *self.plant.source_of(visit);
        Source {
            burst: source.burst * self.visit(visit).frames,
            ..source
        }
    }

    /// Returns the work of a packet of a visit; `None` if it is out of range.
    fn cost(&self, visit: u32) -> Option<i64> {
        let own = self.visit(visit).service.max() / server(self.plant, visit).curve.octet;
        let cost = own.checked_mul(self.octet)?;
        (cost < WORK_MAX).then_some(cost)
    }

    /// Returns burst and rate of a visit; `None` if it has no limit.
    fn curve(&self, visit: u32, cost: i64) -> Option<Affine> {
        let source = &self.source(visit);
        let jitter = self.known.jitter[visit as usize];
        let is_limited = jitter < INFINITE && source.is_limited();
        let rate = own_rate(cost, source);
        if cost.checked_mul(source.burst)? >= WORK_MAX || rate >= RATE_MAX {
            return None;
        }
        is_limited.then(|| Affine {
            burst: i128::from(cost) * i128::from(source.burst) * ONE + rate * i128::from(jitter),
            rate,
        })
    }

    fn has_higher(&self) -> bool {
        (0..self.run.len()).any(|position| {
            let own = self.visit(self.run[position]).queue;
            self.others(position)
                .any(|other| self.visit(other).queue > own)
        })
    }

    /// Returns the flows of the chosen classes, each from where it joins to where it leaves.
    fn crosses(&self, slots: &mut [u32], chosen: impl Fn(u8, u8) -> bool) -> Option<Vec<Cross>> {
        let mut all: Vec<Cross> = Vec::new();
        for position in 0..self.run.len() {
            let own = self.visit(self.run[position]).queue;
            for other in self.others(position) {
                let visit = self.visit(other);
                if !chosen(visit.queue, own) {
                    continue;
                }
                let cost = self.cost(other)?;
                let curve = self.curve(other, cost)?;
                let slot = slots.get(visit.parent as usize).copied().unwrap_or(NONE);
                // A flow whose packets change their size or number continues as another cross flow.
                let before = all.get_mut(slot as usize).filter(|cross| {
                    let is_next = cross.visit == visit.parent && cross.last() + 1 == position;
                    is_next && cross.cost == cost && !begins_anew(self.plant, other)
                });
                if let Some(cross) = before {
                    cross.bursts.push(curve.burst);
                    cross.gaps.push([visit.gap.min, visit.gap.max]);
                    cross.visit = other;
                    slots[other as usize] = slot;
                } else {
                    slots[other as usize] = u32::try_from(all.len()).ok()?;
                    all.push(Cross {
                        first: position,
                        bursts: alloc::vec![curve.burst],
                        rate: curve.rate,
                        gaps: Vec::new(),
                        visit: other,
                        cost,
                    });
                }
            }
        }
        Some(all)
    }

    fn port(&self, position: usize) -> Option<Port> {
        let own = self.run[position];
        let queue = self.visit(own).queue;
        let (mut high, mut longest) = (Affine::default(), 0);
        for other in self.others(position) {
            let cost = self.cost(other)?;
            if self.visit(other).queue > queue {
                let curve = self.curve(other, cost)?;
                high.burst += curve.burst;
                high.rate += curve.rate;
            } else if self.visit(other).queue < queue {
                longest = longest.max(cost);
            }
        }
        Some(Port {
            rate: i128::from(self.octet) * ONE / i128::from(server(self.plant, own).curve.octet),
            blocking: i128::from(longest) * ONE,
            high,
        })
    }

    /// Returns whether no packet can overtake another one between two ports: even if the next one
    /// begins when this one has been sent, this one arrives no later.
    fn is_in_order(&self) -> bool {
        let mut pairs = self.run.windows(2).zip(0..);
        pairs.all(|(pair, position)| {
            let here = self.visit(pair[0]).server;
            let both = self.others(position + 1).chain([pair[1]]);
            let both = both.filter_map(|next| {
                let next = self.visit(next);
                let before = self.plant.visits.get(next.parent as usize)?;
                (before.server == here).then(|| (next.gap, before.service.min()))
            });
            let (latest, first) = both
                .fold((i64::MIN, i64::MAX), |(late, first), (gap, service)| {
                    (late.max(gap.max - service), first.min(gap.min))
                });
            latest <= first
        })
    }
}
