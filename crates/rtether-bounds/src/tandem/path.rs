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

/// The sum of the flows that cross the same of the ports.
#[derive(Clone)]
pub(crate) struct Cross {
    /// Their first port.
    pub(crate) first: usize,
    /// Work that arrives at once at each of their ports.
    pub(crate) bursts: Vec<i128>,
    pub(crate) rate: i128,
    /// Between each of their ports and the next.
    pub(crate) gaps: Vec<Gap>,
}

/// Time from the beginning of a transmission to the arrival at the next port.
#[derive(Clone, Copy, Default)]
pub(crate) struct Gap {
    pub(crate) longest: i64,
    /// Work that comes at the rate of each flow in its shortest such time, all flows together.
    pub(crate) early: i128,
}

impl Cross {
    #[cfg(test)]
    pub(crate) fn new(first: usize, bursts: Vec<i128>, rate: i128, gap: i64) -> Self {
        let gap = Gap { longest: gap, early: rate * i128::from(gap) };
        let gaps = alloc::vec![gap; bursts.len() - 1];
        Self { first, bursts, rate, gaps }
    }

    /// Returns no flows from one port to another.
    fn empty(first: usize, last: usize) -> Self {
        Self {
            first,
            bursts: alloc::vec![0; last - first + 1],
            rate: 0,
            gaps: alloc::vec![Gap::default(); last - first],
        }
    }

    /// Returns their part from `first` to `last`.
    pub(crate) fn part(&self, first: usize, last: usize) -> Self {
        let (from, to) = (first - self.first, last - self.first);
        Self {
            first,
            bursts: self.bursts[from..=to].to_vec(),
            rate: self.rate,
            gaps: self.gaps[from..to].to_vec(),
        }
    }

    /// Adds other flows with the same ports.
    pub(crate) fn add(&mut self, other: &Self) {
        for (own, other) in self.bursts.iter_mut().zip(&other.bursts) {
            *own += other;
        }
        for (own, other) in self.gaps.iter_mut().zip(&other.gaps) {
            own.longest = own.longest.max(other.longest);
            own.early += other.early;
        }
        self.rate += other.rate;
    }

    pub(crate) fn last(&self) -> usize {
        self.first + self.bursts.len() - 1
    }
}

/// Memory for [`Tandem::new`], which is called for each flow: nothing is allocated, and no quotient
/// computed, for each of the flows that cross it. It belongs to one plant and its known jitters.
pub(crate) struct Scratch {
    /// By visit: what its packets bring to a tandem, as it was last asked for.
    loads: Vec<Load>,
    /// By visit: number of its crossing.
    slots: Vec<u32>,
    met: Vec<Met>,
    crossings: Vec<Crossing>,
    /// By visit in `met`: number of its crossing.
    numbers: Vec<u32>,
}

impl Scratch {
    pub(crate) fn new(plant: &Plant) -> Self {
        Self {
            loads: alloc::vec![Load::default(); plant.visits.len()],
            slots: alloc::vec![NONE; plant.visits.len()],
            met: Vec::new(),
            crossings: Vec::new(),
            numbers: Vec::new(),
        }
    }
}

/// What the packets of a visit bring to a tandem whose slowest link takes this time for an octet.
#[derive(Clone, Copy, Default)]
struct Load {
    /// Zero if it was never asked for.
    octet: i64,
    /// Work of a packet; `None` if it is out of range.
    cost: Option<i64>,
    /// `None` without a limit.
    curve: Option<Affine>,
}

/// A visit of another flow at a port of the run, of the class of the flow there or a higher one.
struct Met {
    visit: u32,
    /// The visit whose packets it goes on with; [`NONE`] if it begins anew.
    before: u32,
    position: usize,
    /// Work of a packet.
    cost: i64,
    curve: Affine,
    gap: [i64; 2],
    is_equal: bool,
}

/// One flow, from where it joins to where it leaves.
struct Crossing {
    first: usize,
    last: usize,
    /// Visit at its last port, and the work of one packet, which is the same at all its ports.
    visit: u32,
    cost: i64,
    rate: i128,
    /// Position among the sums.
    sum: usize,
}

/// A run of ports with the packets of one flow.
pub(crate) struct Tandem {
    pub(crate) ports: Vec<Port>,
    /// Gaps of the flow itself from the beginning of a transmission to the arrival at the next
    /// port.
    pub(crate) gaps: Vec<[i64; 2]>,
    /// Cross flows of the flow's own class.
    pub(crate) equal: Vec<Cross>,
    /// Cross flows of its class or a higher one; `None` if these are `equal`.
    pub(crate) any: Option<Vec<Cross>>,
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
    /// flows that count besides, in ascending order, if not all do.
    pub(crate) fn new(
        plant: &Plant,
        known: &Separated,
        run: &[u32],
        among: Option<&[u32]>,
        scratch: &mut Scratch,
    ) -> Option<Self> {
        let octets = run.iter().map(|&visit| server(plant, visit).curve.octet);
        let builder = Builder { plant, known, run, among, octet: octets.max()? };
        let visits = run.iter().map(|&visit| &plant.visits[visit as usize]);
        let costs: Option<Vec<i64>> = run.iter().map(|&visit| builder.cost(visit)).collect();
        let mut tandem = Self {
            ports: Vec::with_capacity(run.len()),
            gaps: visits.skip(1).map(|v| [v.gap.min, v.gap.max]).collect(),
            equal: Vec::new(),
            any: None,
            is_in_order: true,
            cost: costs?.into_iter().max()?,
            source: builder.source(run[0]),
        };
        scratch.met.clear();
        for position in 0..run.len() {
            tandem.ports.push(builder.meet(position, scratch)?);
            tandem.is_in_order &= position == 0 || builder.is_in_order(position);
        }
        let has_higher = scratch.met.iter().any(|met| !met.is_equal);
        tandem.equal = crosses(scratch, run.len(), |met| met.is_equal)?;
        if has_higher {
            tandem.any = Some(crosses(scratch, run.len(), |_| true)?);
        }
        Some(tandem)
    }

    /// Returns the cross flows of the flow's own class or a higher one.
    pub(crate) fn any(&self) -> &[Cross] {
        self.any.as_ref().unwrap_or(&self.equal)
    }

    /// Returns the longest time that the packets in front of a packet take, counted from its latest
    /// arrival. `busy(work)` is the time after which this much of the flow's own work, and all that
    /// disturbs it, is done; it grows by at most `1 / rate` per unit of work.
    ///
    /// If the rate is not below the flow's own, the longest time is that of the first packet, or of
    /// the last of the packets that come at once or one period apart: each further period brings at
    /// most the work that is done in it.
    pub(crate) fn longest(&self, rate: i128, busy: impl Fn(i128) -> Option<i64>) -> Option<i64> {
        let Source { period, burst, jitter, .. } = self.source;
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
        Source { burst: source.burst * self.visit(visit).frames, ..source }
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

    /// Returns what the packets of a visit bring.
    fn load(&self, visit: u32, known: &mut [Load]) -> Load {
        let known = &mut known[visit as usize];
        if known.octet != self.octet {
            let cost = self.cost(visit);
            *known = Load {
                octet: self.octet,
                cost,
                curve: cost.and_then(|cost| self.curve(visit, cost)),
            };
        }
        *known
    }

    /// Collects the other flows at a port, and returns the port.
    fn meet(&self, position: usize, scratch: &mut Scratch) -> Option<Port> {
        let own = self.run[position];
        let queue = self.visit(own).queue;
        let (mut high, mut longest) = (Affine::default(), 0);
        for other in self.others(position) {
            let load = self.load(other, &mut scratch.loads);
            let cost = load.cost?;
            let visit = self.visit(other);
            if visit.queue < queue {
                longest = longest.max(cost);
                continue;
            }
            let curve = load.curve?;
            if visit.queue > queue {
                high.burst += curve.burst;
                high.rate += curve.rate;
            }
            let goes_on = position > 0 && !begins_anew(self.plant, other);
            scratch.met.push(Met {
                visit: other,
                before: if goes_on { visit.parent } else { NONE },
                position,
                cost,
                curve,
                gap: [visit.gap.min, visit.gap.max],
                is_equal: visit.queue == queue,
            });
        }
        Some(Port {
            rate: i128::from(self.octet) * ONE / i128::from(server(self.plant, own).curve.octet),
            blocking: i128::from(longest) * ONE,
            high,
        })
    }

    /// Returns whether no packet can overtake another one on the way to a port of the run: even if
    /// the next one begins when this one has been sent, this one arrives no later.
    fn is_in_order(&self, position: usize) -> bool {
        let here = self.visit(self.run[position - 1]).server;
        let both = self.others(position).chain([self.run[position]]);
        let both = both.filter_map(|next| {
            let next = self.visit(next);
            let before = self.plant.visits.get(next.parent as usize)?;
            (before.server == here).then(|| (next.gap, before.service.min()))
        });
        let (latest, first) = both.fold((i64::MIN, i64::MAX), |(late, first), (gap, service)| {
            // What is constant is that of the link, and the same for all of them.
            (late.max(gap.max - gap.constant - service), first.min(gap.min))
        });
        latest <= first
    }
}

/// Returns the sums of the chosen flows that a run meets, each flow from where it joins to where it
/// leaves.
fn crosses(
    scratch: &mut Scratch,
    ports: usize,
    chosen: impl Fn(&Met) -> bool,
) -> Option<Vec<Cross>> {
    let Scratch { slots, met, crossings, numbers, .. } = scratch;
    crossings.clear();
    numbers.clear();
    for met in met.iter().filter(|met| chosen(met)) {
        let slot = slots.get(met.before as usize).copied().unwrap_or(NONE);
        // A flow whose packets change their size or number continues as another cross flow.
        let before = crossings.get_mut(slot as usize).filter(|before| {
            let is_next = before.visit == met.before && before.last + 1 == met.position;
            is_next && before.cost == met.cost
        });
        let number = if let Some(before) = before {
            before.last = met.position;
            before.visit = met.visit;
            slot
        } else {
            crossings.push(Crossing {
                first: met.position,
                last: met.position,
                visit: met.visit,
                cost: met.cost,
                rate: met.curve.rate,
                sum: 0,
            });
            u32::try_from(crossings.len() - 1).ok()?
        };
        slots[met.visit as usize] = number;
        numbers.push(number);
    }
    let mut places = alloc::vec![usize::MAX; ports * ports];
    let mut all: Vec<Cross> = Vec::new();
    for crossing in &mut *crossings {
        let place = &mut places[crossing.first * ports + crossing.last];
        if *place == usize::MAX {
            *place = all.len();
            all.push(Cross::empty(crossing.first, crossing.last));
        }
        crossing.sum = *place;
    }
    let chosen = met.iter().filter(|met| chosen(met));
    for (met, &number) in chosen.zip(&*numbers) {
        let crossing = &crossings[number as usize];
        let sum = &mut all[crossing.sum];
        let at = met.position - crossing.first;
        sum.bursts[at] += met.curve.burst;
        if at == 0 {
            sum.rate += crossing.rate;
        } else {
            let gap = &mut sum.gaps[at - 1];
            gap.longest = gap.longest.max(met.gap[1]);
            gap.early += crossing.rate * i128::from(met.gap[0]);
        }
    }
    Some(all)
}
