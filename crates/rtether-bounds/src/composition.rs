//! What a bound is composed of: at each place the contribution of each flow to the wait, and the
//! fixed times in between. Computed on demand, for one stream at a time.
//!
//! **Contribution.** A bound is a sum of waits and fixed times. A wait, at one place or over a run
//! of ports, is a function of the flows that come there. Take them one after the other: the flow
//! itself, then lower classes, its own class, others, longest frames first. Let `f(k)` be the wait
//! that the method finds if only the first `k` of them come, with the jitters of the solution, and
//! let `v(k)` be the largest of `f(1) .. f(k)`, but at most the wait `W` in the bound. The
//! contribution of flow `k` is `v(k) - v(k - 1)`, of the first one `v(1)`.
//!
//! **Theorem.** No contribution is negative, and all of them and `W - v(n)` add up to `W`. *Proof.*
//! `v` does not fall, since it is a largest value cut off at a constant, and it is at least zero and
//! at most `W`. So each difference and `W - v(n)` are at least zero, and their sum is
//! `v(1) + (v(2) - v(1)) + .. + (v(n) - v(n - 1)) + W - v(n) = W`.
//!
//! `W - v(n)` is [`ShareCause::Rounding`]: the searches of a fixed point and of separated flows stop
//! after some rounds, and what further ones could gain is still in the bound. Where packets of
//! several flows come from one link, they come one after the other, and only one of them delays the
//! packet by its whole length: this is counted for the first of them in the order above. So a
//! contribution tells what a flow adds to the others, not what the bound would lose without it.
//!
//! **Requests and replies.** Where a packet waits twice at one processor, both waits together are
//! less than their sum. The difference is taken off the later wait, and what exceeds it off the
//! waits before. The sum does not change.
//!
//! **Whole paths.** A method that looks at a run of ports, or at a port and the stack behind it, has
//! one wait for all of them, which it does not split: the contributions are those to the run.

mod place;
mod run;

use alloc::vec;
use alloc::vec::Vec;

use rtether_model::flow::{Flow, FlowId};
use rtether_model::network::{Network, NodeId, PortId};
use rtether_model::quantity::Duration;
use rtether_model::record::{Place, Segment};

use crate::analysis::{Analysis, Method, Reason};
use crate::gap::Gap;
use crate::index::NONE;
use crate::plant::Plant;
use crate::report::{held_at, place, report};
use crate::solution::Solution;
use crate::split;
use crate::tandem::{Refined, refine, runs, way_to};
use crate::workers::{Alone, Workers};
use place::At;

/// A bound with the contributions to it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Composition {
    /// The flow.
    pub flow: FlowId,
    /// The listener.
    pub listener: NodeId,
    /// The sum of all steps.
    pub latency: Duration,
    /// The method whose bound this is: that of the least bound, unless its waits cannot be split.
    pub method: Method,
    /// The steps, in the order in which a packet passes them.
    pub steps: Vec<Step>,
}

/// A wait, and the passage behind it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Step {
    /// Parts of the wait, none of them negative or zero.
    pub shares: Vec<Share>,
    /// The places that the packet passes, with fixed times: one, or all of a run.
    pub passages: Vec<Passage>,
}

/// Fixed times at one place.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Passage {
    /// A stack, a port, or an application that answers.
    pub place: Place,
    /// Longest time from the beginning of service to the arrival at the next place.
    pub time: Duration,
}

/// Part of a wait.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Share {
    /// The flow; `None` for rounding, and where many flows are taken together.
    pub flow: Option<FlowId>,
    /// Number of flows; zero for rounding.
    pub flows: u32,
    /// Whether its packets there are replies.
    pub is_reply: bool,
    /// How it delays the packet.
    pub cause: ShareCause,
    /// How long.
    pub time: Duration,
    /// Longest service of one of its packets; zero for rounding and over a run of ports.
    pub packet: Duration,
}

/// How packets delay another one.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum ShareCause {
    /// Earlier packets of the flow itself.
    Own,
    /// The place may pause while the packet waits.
    Pause,
    /// A packet of a lower class in service.
    Lower,
    /// Packets of its own class in front.
    SameClass,
    /// Packets of other queues in their turns.
    OtherQueue,
    /// Packets of higher classes.
    Higher,
    /// What further rounds of the search could gain.
    Rounding,
}

impl ShareCause {
    /// Returns the name used in tables and files.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Own => "own burst",
            Self::Pause => "pause",
            Self::Lower => "lower class",
            Self::SameClass => "same class",
            Self::OtherQueue => "other queue",
            Self::Higher => "higher class",
            Self::Rounding => "rounding",
        }
    }
}

impl Step {
    /// Returns the wait.
    pub fn wait(&self) -> Duration {
        self.shares.iter().map(|share| share.time).sum()
    }

    /// Returns the wait and the passages.
    pub fn time(&self) -> Duration {
        self.wait() + self.passages.iter().map(|own| own.time).sum()
    }
}

/// Keeps an analysis, to tell what its bounds are composed of.
pub struct Composer {
    plant: Plant,
    solution: Solution,
    refined: Refined,
    analysis: Analysis,
}

impl core::fmt::Debug for Composer {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        f.debug_tuple("Composer").field(&self.analysis).finish()
    }
}

impl Composer {
    /// Analyzes a plant as [`crate::analyze`] does.
    ///
    /// # Panics
    /// As [`crate::analyze`].
    pub fn new(network: &Network, flows: &[Flow]) -> Self {
        Self::new_on(network, flows, &Alone)
    }

    /// Like [`Self::new`], with whole paths on several threads.
    ///
    /// # Panics
    /// As [`crate::analyze`].
    pub fn new_on(network: &Network, flows: &[Flow], workers: &impl Workers) -> Self {
        let (plant, solution) = crate::whole::solve(network, flows);
        let all: Vec<usize> = (0..plant.streams.len()).collect();
        let refined = refine(&plant, &solution, &all, workers);
        let in_order = !crate::whole::has_own_flows(network);
        let analysis = report(network, &plant, &solution, in_order.then_some(&refined), flows);
        Self { plant, solution, refined, analysis }
    }

    /// Returns the analysis.
    pub const fn analysis(&self) -> &Analysis {
        &self.analysis
    }

    /// Tells what the bound of a stream is composed of; streams have the order of
    /// [`Analysis::streams`].
    ///
    /// # Errors
    /// If the stream has no bound.
    ///
    /// # Panics
    /// If there is no such stream.
    pub fn compose(&self, stream: usize) -> Result<Composition, Reason> {
        let own = &self.analysis.streams[stream];
        let bound = own.bound.as_ref().map_err(Reason::clone)?;
        let copies = self.plant.results().nth(stream).unwrap_or_default();
        let mut methods = bound.by_method.clone();
        methods.sort_by_key(|&(_, latency)| latency);
        let found = methods.into_iter().find_map(|(method, latency)| {
            let mut ends = copies.iter().filter_map(|copy| copy.end.as_ref().ok());
            ends.find_map(|&(last, end)| {
                let steps = self.steps(method, last, end)?;
                let sum: Duration = steps.iter().map(Step::time).sum();
                (sum == latency).then_some((method, latency, steps))
            })
        });
        let (method, latency, steps) = found.ok_or(Reason::OutOfRange)?;
        Ok(Composition { flow: own.flow, listener: own.listener, latency, method, steps })
    }

    /// Returns the steps of a method; `None` if its waits cannot be split.
    fn steps(&self, method: Method, last: u32, end: Gap) -> Option<Vec<Step>> {
        let way = way_to(&self.plant, last);
        let end = split::shown(&self.plant, last, end);
        let mut steps = Vec::new();
        let first = way.first().map(|&visit| &self.plant.visits[visit as usize]);
        if let Some(first) = first.filter(|first| first.gap.max > 0) {
            steps.push(Step {
                shares: Vec::new(),
                passages: vec![Passage {
                    place: held_at(&self.plant, first),
                    time: Duration::from_ps(first.gap.max),
                }],
            });
        }
        match method {
            Method::TotalFlow | Method::FixedPoint | Method::SeparatedFlow => {
                let at = At::new(self, method);
                for (&visit, next) in way.iter().zip(1..) {
                    let shares = at.shares(visit, 0);
                    self.extend(&mut steps, shares, &[visit], (way.get(next), end));
                }
            }
            Method::RequestAndReply => {
                let at = At::new(self, method);
                for ((&visit, less), next) in way.iter().zip(self.spared(&way)?).zip(1..) {
                    let shares = at.shares(visit, less);
                    self.extend(&mut steps, shares, &[visit], (way.get(next), end));
                }
            }
            Method::PortAndStack => {
                let at = At::new(self, Method::SeparatedFlow);
                let mut rest = &way[..];
                while let Some(&visit) = rest.first() {
                    let stack = rest.get(1);
                    let both = stack.and_then(|&stack| run::of_pair(self, [visit, stack]));
                    let (run, behind) = rest.split_at(if both.is_some() { 2 } else { 1 });
                    let shares = both.unwrap_or_else(|| at.shares(visit, 0));
                    self.extend(&mut steps, shares, run, (behind.first(), end));
                    rest = behind;
                }
            }
            Method::MultiplexingOnce | Method::LeastUpperDelay => {
                let mut next = 0;
                for own in runs(&self.plant, &way) {
                    next += own.len();
                    let shares = if own.len() > 1 {
                        run::shares(self, method, own)?
                    } else {
                        At::new(self, Method::SeparatedFlow).shares(own[0], 0)
                    };
                    self.extend(&mut steps, shares, own, (way.get(next), end));
                }
            }
        }
        Some(steps)
    }

    /// Returns by visit of a way what is taken off the wait there, since packets wait for no other
    /// one twice; `None` if it exceeds all waits.
    fn spared(&self, way: &[u32]) -> Option<Vec<i64>> {
        let exchanges = self.refined.exchanges.as_ref()?;
        let mut left = 0;
        let mut spared = vec![0; way.len()];
        for (less, &visit) in spared.iter_mut().zip(way).rev() {
            left += exchanges.spared(visit, NONE);
            *less = left.min(exchanges.wait[visit as usize]);
            left -= *less;
        }
        (left == 0).then_some(spared)
    }

    /// Appends a step, and the application behind it if the packet behind is an answer that takes
    /// time.
    fn extend(
        &self,
        steps: &mut Vec<Step>,
        shares: Vec<Share>,
        run: &[u32],
        (next, end): (Option<&u32>, Gap),
    ) {
        let visits = &self.plant.visits;
        let following = run[1..].iter().chain(next).copied();
        let mut passages = Vec::new();
        let mut following = following.map(|visit| &visits[visit as usize]);
        for &visit in run {
            let own = &visits[visit as usize];
            let next = following.next();
            let thinking = next.filter(|next| next.is_answer).map_or(0, |n| n.thinking);
            let time = next.map_or(end.max, |next| next.gap.max) - thinking - own.twice;
            passages.push(Passage {
                place: place(&self.plant.servers[own.server as usize], own),
                time: Duration::from_ps(time),
            });
            if let (Some(next), true) = (next, thinking > 0) {
                let from = place(&self.plant.servers[next.server as usize], next);
                let node = from.port.node;
                passages.push(Passage {
                    place: Place { segment: Segment::Application, port: PortId::first(node) },
                    time: Duration::from_ps(thinking),
                });
            }
        }
        steps.push(Step { shares, passages });
    }
}

/// A flow that may contribute, with what it takes to rank it and to show it.
#[derive(Clone, Copy)]
struct Candidate {
    /// What stands for it in the function of the wait: a position among members, or a flow.
    key: u32,
    flow: u32,
    is_reply: bool,
    cause: ShareCause,
    cost: i64,
}

/// Largest number of flows at one place that are taken one by one; further ones count together.
const SINGLE_MAX: usize = 48;

/// Splits `whole` among the flow itself and the candidates; `wait` is the function of the theorem,
/// for the flow itself and the candidates with these keys.
fn split(
    whole: i64,
    own: Candidate,
    mut others: Vec<Candidate>,
    mut wait: impl FnMut(&[u32]) -> Option<i64>,
) -> Vec<Share> {
    let mut shares = Vec::new();
    if whole == 0 {
        return shares;
    }
    others.sort_by_key(|other| (other.cause, core::cmp::Reverse(other.cost), other.key));
    let mut keys: Vec<u32> = Vec::with_capacity(others.len());
    let mut known = 0;
    let mut add = |keys: &[u32], of: Candidate, flows: u32| {
        let found = wait(keys).unwrap_or(whole).min(whole);
        if found > known {
            shares.push(Share {
                flow: (flows == 1).then_some(FlowId(of.flow)),
                flows,
                is_reply: of.is_reply,
                cause: of.cause,
                time: Duration::from_ps(found - known),
                packet: Duration::from_ps(of.cost),
            });
            known = found;
        }
        known < whole
    };
    let mut goes_on = add(&keys, own, 1);
    let (single, rest) = others.split_at(others.len().min(SINGLE_MAX));
    for &other in single {
        if !goes_on {
            break;
        }
        keys.push(other.key);
        goes_on = add(&keys, other, 1);
    }
    if let (true, Some(&first)) = (goes_on, rest.first()) {
        keys.extend(rest.iter().map(|other| other.key));
        add(&keys, first, u32::try_from(rest.len()).unwrap_or(u32::MAX));
    }
    if known < whole {
        shares.push(Share {
            flow: None,
            flows: 0,
            is_reply: false,
            cause: ShareCause::Rounding,
            time: Duration::from_ps(whole - known),
            packet: Duration::ZERO,
        });
    }
    shares
}
