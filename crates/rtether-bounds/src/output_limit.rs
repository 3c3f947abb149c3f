//! Limits that a place on the path puts on flows which have none themselves.
//!
//! Poisson arrivals, or a file that TCP moves at any rate, leave some places with a limit: a
//! smoother lets bulk packets out by a curve, a processor that takes `s` per packet lets one out
//! every `s`. From there on the flow is limited, however it was released.
//!
//! **Theorem.** If a closed window of length `t` holds at most `a(t)` packets as they leave a
//! place, and each of them takes at least `d` and at most `d + v` from there to another place, a
//! closed window of length `t` there holds at most `a(t + v)`. *Proof.* Those that arrive in
//! `[u, u + t]` left in `[u - d - v, u + t - d]`. So the *drift* `v` is passed on from place to
//! place like jitter: it grows by each wait and by the variation of each passage. Where several flows
//! share the limit, `d` is the least and `d + v` the largest delay of any of them: a short packet
//! that left late comes together with a long one that left early.
//!
//! **Processors.** A place that serves packets one after the other without preemption lets those of
//! a flow leave at least the shortest service `s` apart: `floor(t / s) + 1` packets. Several flows
//! share its time: all but one of the packets that leave in a window of length `t` were served in it,
//! so that their services sum up to at most `t + s`, with the longest `s` among them. For any `g`
//! this is at most `g (floor((t + s) / g) + 1)`: a staircase of the work `g` every `g` with the
//! jitter `s`, where each packet counts its least service.
//!
//! **Smoothers.** With a bucket of `D` octets, refreshes at least `P` apart and packets of at most
//! `M` octets (IP datagrams), at most `2 D - 1 + M + D floor(t / P)` octets of bulk packets leave
//! in any window of length `t`. *Proof.* The window starts with at most `D` credits, and each of
//! its at most `floor(t / P) + 1` refreshes adds at most `D`. Up to the last bulk packet every
//! octet took one credit, and before it one was left, so at most `D (floor(t / P) + 2) - 1` octets
//! left before it; it adds at most `M`. With `k = ceil(M / D)` this is at most
//! `k D (floor(t / (k P)) + 3)`, a staircase of steps `k D` every `k P` with the jitter `2 k P`:
//! `D floor(t / P)` is at most `k D floor(t / (k P)) + (k - 1) D`, and
//! `2 D + k D + (k - 1) D <= 3 k D`. Mode `nt` releases at most its largest depth at each service
//! and carries nothing over: `D (floor(t / P) + 2)`. All bulk flows of a smoother share the curve.
//! A smoother that forgives debt guarantees nothing.
//!
//! **Policers.** Conforming frames of all flows of a policer that holds `B` octets and gains `R` have at
//! most `B + R t` octets in any window of length `t` ([`crate::ingress`]). With steps of the longest
//! frame `A` every `P <= A / R`, rounded down, and the jitter `J >= B P / A` the staircase
//! `A (floor((t + J) / P) + 1) >= A (t + J) / P` is above it. Frames of one size `s` that are alone are
//! at most `floor((B + R t) / s)`, a staircase of single frames every `P <= s / R` with the jitter
//! `(B / s - 1) P`.
//!
//! **Address tables.** A switch that learns addresses floods a frame to an address from which none has
//! passed for its aging time `A`. Of a connection whose two directions pass it, with at most `N` segments
//! and acknowledgements under way ([`crate::window`]), at most `N (floor(t / A) + 1)` frames are flooded in
//! any window of length `t`. *Proof.* Take flooded frames to one end between which no frame from that
//! end passes the switch. Segments with data among them are not acknowledged until the last of them
//! has passed, since their acknowledgements would have to pass. Acknowledgements among them are for
//! segments that had passed before the first; those were not acknowledged then, since no earlier
//! acknowledgement of them had passed. So they are at most `N`. After the next frame from that end none
//! is flooded for `A`. So windows with frames of `n` such rounds are longer than `(n - 1) A`. QED A copy
//! gets to its first queue with the frame itself, within less than the least timeout of the connection, one
//! second at most, which is its jitter there. The limit holds as long as the number does; further switches
//! may flood copies again, which are the same ones.
//!
//! **Octets into work.** Packets of the flow lie between a smallest and a largest one. Work and
//! octets both grow linearly in between (or with a kink where padding ends, to the lower side), so
//! that the work per octet is largest at one end.
//!
//! **Acknowledgements.** A TCP listener sends at most one acknowledgement per segment received, at
//! the latest after the acknowledgement delay: at once for the segment that makes it due, or when
//! the timer fires that this segment started. So the limit of the segments also limits the
//! acknowledgements, with that delay added to the drift.

use alloc::vec::Vec;

use rtether_model::ingress::Police;
use rtether_model::smoother::{Config, Mode};
use rtether_model::wire::MAX_TAGGED_FRAME;

use crate::curve::{JITTER_MAX, Load};
use crate::index::NONE;
use crate::source::{FIRST_TIMEOUT, INFINITE, add};
use crate::stack::Service;

/// Bits in an octet, for a second in picoseconds.
const OCTET: i128 = 8_000_000_000_000;
/// Octets of the longest frame, tag included.
const FRAME_MAX: i64 = MAX_TAGGED_FRAME.get().cast_signed();
/// Rules of a port at most.
const MAX_RULES: usize = 256;

/// Who puts a limit on flows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Limiter {
    /// The processor of a stack.
    Stack,
    /// A smoother.
    Smoother,
    /// A policer of a switch.
    Policer,
    /// The gap of a flow.
    Gap,
    /// The address table of a switch, on the copies that it floods of a connection.
    Table,
}

/// At most `burst * (floor((t + ahead) / period) + 1)` packets in a closed window of length `t`.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Staircase {
    pub(crate) period: i64,
    pub(crate) burst: i64,
    pub(crate) ahead: i64,
}

/// A limit that travels with a flow. Times in picoseconds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Limit {
    /// Arrivals at each point of the grid: octets of IP datagrams, or packets.
    pub(crate) amount: i64,
    /// Interval of the grid.
    pub(crate) period: i64,
    /// How far the first packets may be ahead of the grid.
    pub(crate) jitter: i64,
    /// What the smallest and the largest packet count; one where packets are counted.
    pub(crate) charge: [i64; 2],
    /// Least distance of packets of a flow that is the only one with this limit at a place; zero if
    /// unknown.
    pub(crate) alone: i64,
    /// How far the first packets of this flow may be ahead of the grid of that distance.
    pub(crate) alone_ahead: i64,
    pub(crate) by: Limiter,
    /// Place that limits all its flows together; [`NONE`] if each flow has its own limit.
    pub(crate) shared: u32,
    /// Whether the step to this visit starts where the limit applies.
    pub(crate) begins: bool,
    /// Additional delay that packets may take on the step to this visit.
    pub(crate) delay: i64,
    /// Whether a timer releases the packets, whatever the flow does.
    pub(crate) is_timer: bool,
}

impl Limit {
    /// Returns the limit of a processor that takes at least `service` per packet.
    pub(crate) const fn spaced(service: i64) -> Self {
        Self {
            amount: 1,
            period: service,
            jitter: 0,
            charge: [1; 2],
            alone: 0,
            alone_ahead: 0,
            by: Limiter::Stack,
            shared: NONE,
            begins: true,
            delay: 0,
            is_timer: false,
        }
    }

    /// Returns the limit of a processor on its packets with these least services, together with the
    /// other flows there that have no limit; `grain` is the same for all of them.
    pub(crate) fn of_processor(services: [i64; 2], grain: i64, place: u32) -> Self {
        Self {
            amount: grain,
            period: grain,
            jitter: services[0].max(services[1]),
            charge: services,
            alone: services[0].min(services[1]),
            shared: place,
            ..Self::spaced(1)
        }
    }

    /// Returns whether the limit is an offered rate. The spacing that a stack enforces is far above
    /// what it is offered.
    pub(crate) fn is_rate(&self) -> bool {
        self.by != Limiter::Stack
    }

    /// Returns the limit of a policer on frames between two sizes; `None` if it never refills.
    /// `place` are the numbers of its port and rule.
    pub(crate) fn of_policer(
        police: Police,
        sizes: [i64; 2],
        (port, rule): (usize, u16),
    ) -> Option<Self> {
        let rate = i128::from(police.rate.as_bps());
        let burst = i128::from(police.burst.get());
        let period = |octets: i64| {
            let span = i128::from(octets) * OCTET / rate.max(1);
            i64::try_from(span.max(1)).ok()
        };
        let narrow = |span: i128| i64::try_from(span).ok().filter(|&span| span < INFINITE);
        let (grain, step) = (i128::from(FRAME_MAX), period(FRAME_MAX)?);
        let jitter = narrow((burst * i128::from(step) + grain - 1) / grain)?;
        let [small, large] = sizes.map(|size| size.max(1));
        let mut alone = [0; 2];
        if small == large {
            let (own, size) = (period(small)?, i128::from(small));
            let ahead = (burst - size).max(0) * i128::from(own);
            alone = [own, narrow((ahead + size - 1) / size)?];
        }
        let number = port.checked_mul(MAX_RULES)?.checked_add(rule.into())?;
        (rate > 0).then_some(Self {
            amount: FRAME_MAX,
            period: step,
            jitter,
            charge: [small, large],
            alone: alone[0],
            alone_ahead: alone[1],
            by: Limiter::Policer,
            shared: NONE - 1 - u32::try_from(number).ok()?,
            begins: true,
            delay: 0,
            is_timer: false,
        })
    }

    /// Returns the limit of a switch that forgets addresses after `aging` on the flooded copies of a
    /// connection with this many packets under way; `None` where it may forget too soon.
    pub(crate) fn of_table(aging: i64, in_flight: i64) -> Option<Self> {
        (aging > FIRST_TIMEOUT && in_flight > 0).then_some(Self {
            amount: in_flight,
            jitter: FIRST_TIMEOUT,
            by: Limiter::Table,
            ..Self::spaced(aging)
        })
    }

    /// Returns the limit of a timer that expires at least this much apart.
    pub(crate) const fn timed(distance: i64) -> Self {
        Self { is_timer: true, ..Self::spaced(distance) }
    }

    /// Returns the limit of the gap of a flow (`discipline::gap`).
    pub(crate) const fn of_gap(gap: i64) -> Self {
        Self { by: Limiter::Gap, ..Self::timed(gap) }
    }

    /// Returns whether releases behind a gap, with this burst, period and jitter, are below the limit at
    /// any time.
    pub(crate) const fn is_above(&self, drift: i64, [burst, period, jitter]: [i64; 3]) -> bool {
        let is_sparser = burst <= 1 && period >= self.period;
        matches!(self.by, Limiter::Gap) && is_sparser && jitter <= drift
    }

    /// Returns the staircase of packets of one flow alone behind the limit, before any drift; `None`
    /// where it counts octets, or holds only while the flow gets its answers and it may not.
    pub(crate) fn of_one_flow(&self, is_closed: bool) -> Option<Staircase> {
        let whole = Staircase { period: self.period, burst: self.amount, ahead: self.jitter };
        match self.by {
            Limiter::Stack if self.alone > 0 => {
                Some(Staircase { period: self.alone, burst: 1, ahead: self.alone_ahead })
            }
            Limiter::Stack | Limiter::Gap => Some(whole),
            Limiter::Table => is_closed.then_some(whole),
            Limiter::Smoother | Limiter::Policer => None,
        }
    }

    /// Returns the limit of a smoother on bulk packets between two sizes of IP datagrams; `None` if
    /// its mode guarantees nothing.
    pub(crate) fn of_smoother(config: &Config, sizes: [i64; 2], place: u32) -> Option<Self> {
        let octets = |size: rtether_model::quantity::Bytes| i64::try_from(size.get()).ok();
        let (depth, period) = match config.mode {
            Mode::None => return None,
            Mode::Adaptive(adaptive) if adaptive.forgive_debt => return None,
            Mode::Fixed(fixed) => (fixed.depth, fixed.period),
            Mode::Adaptive(adaptive) => (adaptive.depth, adaptive.period_min),
            Mode::Rtether(places) => (places.depth, places.period_min),
            Mode::Nt(nt) => (nt.depth_max, nt.period_min),
        };
        let (depth, period) = (octets(depth)?.max(1), period.as_ps().max(1));
        let (steps, ahead) = match config.mode {
            Mode::Nt(_) => (1, 1),
            Mode::None | Mode::Fixed(_) | Mode::Adaptive(_) | Mode::Rtether(_) => {
                ((octets(config.limits.mtu)?.max(1) - 1) / depth + 1, 2)
            }
        };
        let period = period.checked_mul(steps)?;
        Some(Self {
            amount: depth.checked_mul(steps)?,
            period,
            jitter: period.checked_mul(ahead)?,
            charge: sizes.map(|size| size.max(1)),
            alone: 0,
            alone_ahead: 0,
            by: Limiter::Smoother,
            shared: place,
            begins: true,
            delay: 0,
            is_timer: false,
        })
    }

    /// Returns the long-run time per packet of the largest size.
    pub(crate) fn distance(&self) -> i128 {
        i128::from(self.period) * i128::from(self.charge[1]) / i128::from(self.amount)
    }

    /// Returns the work and the packets at each point of the grid.
    fn step(&self, service: &Service) -> Option<(i64, i64)> {
        let most = |time: i64, charge: i64| {
            let work = i128::from(time) * i128::from(self.amount);
            (work + i128::from(charge) - 1) / i128::from(charge)
        };
        let small = most(service.small[1], self.charge[0]);
        let large = most(service.large[1], self.charge[1]);
        let work = i64::try_from(small.max(large)).ok()?;
        Some((work, (self.amount + self.charge[0] - 1) / self.charge[0]))
    }

    /// Returns the drift of a visit with this limit from drift and wait of its parent and the
    /// variation of the passage in between.
    pub(crate) fn drift_after(&self, drift: i64, wait: i64, varies: i64) -> i64 {
        if self.begins {
            return self.delay;
        }
        let sum = add(add(drift, wait), varies + self.delay);
        if sum > JITTER_MAX { INFINITE } else { sum }
    }
}

/// A load at a place with a limit on the way there.
#[derive(Clone, Copy)]
pub(crate) struct Limited<'a> {
    /// Number of the load.
    pub(crate) load: usize,
    pub(crate) limit: &'a Limit,
    pub(crate) service: &'a Service,
    pub(crate) queue: u8,
    pub(crate) drift: i64,
    /// Least delay since the limit.
    pub(crate) least: i64,
}

/// Applies limits to those of the loads of a place that have unlimited arrivals, are released by a
/// timer, or bring more to a policer than it lets through.
pub(crate) fn apply<'a>(limited: impl Iterator<Item = Limited<'a>> + Clone, loads: &mut [Load]) {
    let refused = above_policers(limited.clone(), loads);
    // The first of the flows that share a limit stands for all.
    let mut first: Vec<First> = Vec::new();
    for one in limited {
        let (index, limit) = (one.load, one.limit);
        let jitter = add(limit.jitter, one.drift);
        let (Some(step), true) = (limit.step(one.service), jitter < JITTER_MAX) else {
            continue;
        };
        let key = one.key(loads);
        let released = &loads[index];
        if limit.is_above(one.drift, [released.burst, released.period, released.jitter]) {
            continue;
        }
        if loads[index].jitter < JITTER_MAX && !limit.is_timer && !refused.contains(&key) {
            continue;
        }
        let known = first.iter_mut().find(|known| known.key == key);
        let known = known.filter(|_| limit.shared != NONE);
        let load = &mut loads[index];
        load.period = limit.period;
        load.jitter = jitter;
        load.is_of_limit = true;
        let delays = [one.least, add(one.least, one.drift)];
        let Some(known) = known else {
            take(load, step);
            let is_known_alone = limit.alone > 0;
            let together = is_known_alone.then_some(*load);
            if is_known_alone {
                (load.period, load.jitter) = (limit.alone, add(limit.alone_ahead, one.drift));
                (load.burst, load.packets) = (1, 1);
            }
            first.push(First { key, load: index, together, ahead: limit.jitter, delays });
            continue;
        };
        (load.burst, load.packets) = (0, 0);
        let has_window = load.in_flight > 0;
        let all = &mut loads[known.load];
        if let Some(together) = known.together.take() {
            *all = together;
        }
        // A window limits the packets of its own flow only, not those of others that it stands for.
        if !has_window {
            (all.in_flight, all.connection) = (0, NONE);
        }
        all.burst = all.burst.max(bundle(step.0, all.cost));
        all.packets = all.packets.max(step.1).max(all.burst);
        all.jitter = known.jitter_with(limit.jitter, delays);
    }
}

impl Limited<'_> {
    /// Returns what loads have in common that share a limit at a place.
    fn key(&self, loads: &[Load]) -> Key {
        let group = loads[self.load].group;
        ([self.limit.shared, self.queue.into(), group], self.limit.period)
    }
}

/// Returns the keys of policers to which their loads together bring more in the long run than they
/// let through. A load that has a limit of its own keeps it otherwise: either is a bound, and the one
/// that grows more slowly is the better one in the long run.
fn above_policers<'a>(limited: impl Iterator<Item = Limited<'a>>, loads: &[Load]) -> Vec<Key> {
    const PLACES: u32 = 40;
    let mut brought: Vec<(Key, &Limit, i128)> = Vec::new();
    for one in limited.filter(|one| one.limit.by == Limiter::Policer) {
        let (load, limit) = (&loads[one.load], one.limit);
        let octets = i128::from(load.burst) * i128::from(limit.charge[1]);
        let rate = (octets << PLACES) / i128::from(load.period) + 1;
        let rate = if load.jitter < JITTER_MAX { rate } else { i128::MAX };
        let key = one.key(loads);
        match brought.iter_mut().find(|known| known.0 == key) {
            Some(known) => known.2 = known.2.saturating_add(rate),
            None => brought.push((key, limit, rate)),
        }
    }
    let is_above = |limit: &Limit, rate: i128| {
        rate > (i128::from(limit.amount) << PLACES) / i128::from(limit.period)
    };
    let above = brought.into_iter();
    let above = above.filter(|&(_, limit, rate)| is_above(limit, rate));
    above.map(|(key, ..)| key).collect()
}

/// Limit, queue, group and period.
type Key = ([u32; 3], i64);

/// The first load of those that share a limit.
struct First {
    key: Key,
    load: usize,
    /// What it stands for as soon as there is a second one.
    together: Option<Load>,
    /// Jitter at the limit.
    ahead: i64,
    /// Least and largest delay since then.
    delays: [i64; 2],
}

impl First {
    /// Returns the jitter with another load.
    fn jitter_with(&mut self, ahead: i64, [least, most]: [i64; 2]) -> i64 {
        self.ahead = self.ahead.max(ahead);
        self.delays = [self.delays[0].min(least), self.delays[1].max(most)];
        add(self.ahead, self.delays[1] - self.delays[0])
    }
}

/// Gives a load the work and the packets of each point of its grid.
fn take(load: &mut Load, (work, packets): (i64, i64)) {
    load.burst = bundle(work, load.cost);
    load.packets = packets.max(load.burst);
}

/// Returns how many packets of this cost amount to at least `work`.
fn bundle(work: i64, cost: i64) -> i64 {
    let cost = cost.max(1);
    (work / cost + i64::from(work % cost > 0)).max(1)
}

#[cfg(test)]
mod tests {
    use super::*;
    use rtether_model::quantity::{Bytes, Duration};
    use rtether_model::smoother::{Adaptive, Fixed, Limits, Nt};

    fn fixed(depth: u64, mtu: u64) -> Config {
        let period = Duration::from_ps(100);
        let mode = Mode::Fixed(Fixed { depth: Bytes::new(depth), period });
        let limits = Limits { mtu: Bytes::new(mtu), ..Limits::default() };
        Config { mode, limits }
    }

    /// Oracle: the theorem in the documentation of the smoother, `2 D - 1 + M + D floor(t / P)`.
    #[test]
    fn a_staircase_is_above_the_curve_of_a_bucket() {
        for (depth, mtu) in [(1500, 1500), (1, 7), (4, 9), (5, 4), (700, 1500), (4000, 1500)] {
            let config = fixed(depth, mtu);
            let limit = Limit::of_smoother(&config, [40, 1500], 3).unwrap();
            let [depth, mtu] = [depth, mtu].map(|size| i64::try_from(size).unwrap());
            for time in 0..5_000 {
                let steps = (time + limit.jitter) / limit.period + 1;
                let curve = 2 * depth - 1 + mtu + depth * (time / 100);
                let found = limit.amount * steps;
                assert!(found >= curve, "{depth} {mtu} {time}: {found} < {curve}");
                // And at most three steps above.
                assert!(found <= curve + 3 * limit.amount, "{depth} {mtu} {time}");
            }
        }
    }

    /// Oracle: the documentation of the smoother, `D (floor(t / P) + 2)` for mode `nt`; forgiven
    /// debt guarantees nothing.
    #[test]
    fn modes_by_hand() {
        let nt = Config::new(Mode::Nt(Nt::paper(1)));
        let limit = Limit::of_smoother(&nt, [40, 1500], 3).unwrap();
        let period = Duration::from_ms(10).as_ps();
        assert_eq!(limit.amount, 4500);
        assert_eq!((limit.period, limit.jitter), (period, period));
        let literal = Mode::Adaptive(Adaptive { forgive_debt: true, ..Adaptive::HIMD });
        assert_eq!(Limit::of_smoother(&Config::new(literal), [40; 2], 3), None);
    }

    fn loaded(cost: i64) -> Load {
        Load { jitter: INFINITE, group: 7, ..Load::periodic(cost, 1) }
    }

    /// Oracle: by hand. A processor takes 10 for packets of 2 and 30 for packets of 8.
    #[test]
    fn flows_share_the_time_of_a_processor() {
        let limits = [10, 30].map(|service| Limit::of_processor([service; 2], 30, 3));
        let services = [2, 8].map(|cost| Service::fixed(cost, cost));
        let limited = |load: usize, drift, least| Limited {
            load,
            limit: &limits[load],
            service: &services[load],
            queue: 0,
            drift,
            least,
        };
        let mut alone = [loaded(2)];
        apply([limited(0, 5, 0)].into_iter(), &mut alone);
        assert_eq!((alone[0].period, alone[0].burst, alone[0].jitter), (10, 1, 5));
        let mut both = [loaded(2), loaded(8)];
        apply([limited(0, 5, 0), limited(1, 0, 40)].into_iter(), &mut both);
        // 30 are three short packets, which take 6, or a long one, which takes 8: four times 2.
        assert_eq!((both[0].period, both[0].burst, both[1].burst), (30, 4, 0));
        // Long packets come 40 after they left, short ones up to 5; and the longest service.
        assert_eq!(both[0].jitter, 30 + 40);
    }

    /// Oracle: by hand. The first flow stands for both, and has a window; the second one has none.
    #[test]
    fn a_window_limits_no_flow_that_shares_the_limit() {
        let limit = Limit::of_processor([10; 2], 10, 3);
        let service = Service::fixed(2, 2);
        let limited =
            |load| Limited { load, limit: &limit, service: &service, queue: 0, drift: 0, least: 0 };
        let windows = |own: [i64; 2]| {
            let mut loads = own.map(|in_flight| Load { in_flight, ..loaded(2) });
            apply([limited(0), limited(1)].into_iter(), &mut loads);
            loads.map(|load| load.in_flight)
        };
        assert_eq!(windows([5, 0]), [0, 0]);
        assert_eq!(windows([0, 5]), [0, 5]);
        assert_eq!(windows([5, 7]), [5, 7]);
    }

    /// Oracle: by hand. 1500 octets are 37.5 of the smallest packets of 40, which take 2 ps each;
    /// one of 1500 takes 60 ps.
    #[test]
    fn octets_are_the_work_of_the_costliest_packets() {
        let limit = Limit::of_smoother(&fixed(1500, 1500), [40, 1500], 3).unwrap();
        assert_eq!(limit.step(&Service::fixed(2, 60)), Some((75, 38)));
        assert_eq!(limit.step(&Service::fixed(1, 60)), Some((60, 38)));
        assert_eq!(Limit::spaced(7).step(&Service::fixed(2, 60)), Some((60, 1)));
    }
}
