//! Proved upper bounds on the latency of every flow of a switched Ethernet plant.
//!
//! [`analyze`] takes a network and its flows and returns, for each flow and listener, the longest
//! time that a packet can take from application to application, or the reason why there is no
//! bound. The crate shares no code with the simulator, so that each checks the other: random plants
//! test that the largest simulated latency never exceeds the bound.
//!
//! # Method
//!
//! Network calculus on events. Staircases (period and jitter) and the rate of the previous link
//! bound the arrivals at a port or stack; the longest wait follows from these bounds and adds to
//! the jitter with which packets arrive at the next place. This is total flow analysis with line
//! shaping, packet term, last-packet gain and jitter propagation (Grieu 2004; Mifdaoui and Leydier
//! 2017; Mohammadpour, Stai and Le Boudec 2019; Thomas, Le Boudec and Mifdaoui 2019). Because its
//! curves are staircases, it is also the response-time analysis of holistic scheduling theory
//! (Tindell and Clark 1994), with the busy periods of George, Rivierre and Spuri (1996) and Davis
//! et al. (2007): the minimum of both is taken at each place, inside the curves rather than between
//! two results. For these curves, waits in order of arrival and by priority are exact to the
//! picosecond. The proofs are next to the code: `curve` (links), `wait` (queues), `window` (windows),
//! `discipline` (a file for each way to choose the next packet), `solve` (jitter and cycles),
//! `output_limit` (what smoothers, stacks and address tables let through), `prompt` (messages over TCP),
//! `offset` (their acknowledgements that do not meet them).
//!
//! Methods that look at whole paths then start from this result, and the least bound of each stream
//! counts: requests and replies taken together, separated flow, pay multiplexing only once, least
//! upper delay, and the last port together with the stack behind it, all for whole packets; `tandem`
//! has the proofs. [`Bound::by_method`] lists the result of each.
//!
//! # Scope and limitations
//!
//! - The bounds assume that no memory overflows. [`Analysis::memories`] has what each needs, and
//!   [`Analysis::conditions`] of which streams a bound is a proof only if nothing is dropped, and where
//!   (`condition` has the proof): a loss can make a flow that waits for answers give up, and a
//!   connection retransmit, which disturbs other flows.
//! - Bit errors may destroy frames on any link. A flow that waits for answers over a lossy link is
//!   assumed to give up, and the window of a connection over it limits nothing.
//! - A policer that frames may exceed is taken to drop or demote any of them: flows that wait for
//!   answers give up there, and a flow that it demotes has no bound ([`PolicerBound`]).
//! - Tasks, receive and transmit queues and smoothers of end stations are analyzed. Where they may
//!   hold packets back forever, the reason is a [`LayerPart`]: low frames that only high frames
//!   release; bulk packets under a detector that may report congestion again and again; strict
//!   transmit queues below a smoother; mode `rtether` above transmit queues that reorder.
//! - Where stations resolve addresses, packets may be held for as long as a request and its reply
//!   are proved to take (`arp`). Without such a proof flows to that neighbor have no bound.
//! - Where flows ask for channels, they are bounded as if all of them were granted, with what
//!   stations and manager send each other (`messages`).
//! - Messages over TCP have a bound if all of them are proved to leave at once and none is sent
//!   again; files over TCP and samples over RTPS have none. Acknowledgements without data count as
//!   far as they are not proved to travel with data.
//! - What waits of a connection at any place is at most its window and its acknowledgements, under the
//!   same conditions as below; also where frames are flooded, if the network has no VLANs.
//! - As a disturbance of other flows, segments of bulk TCP and of other messages over TCP count with
//!   whichever of these is proved: the window (as long as the bounds and the absence of bit errors
//!   rule out retransmissions), the curve of the smoother or of a policer, the spacing that a stack on
//!   the path enforces, or the rate of the link; [`OpenFlow`] says which. A flow that shares a queue with such
//!   a flow, behind none of these, has no bound.
//! - Jitter above 70 s, more than 1.1 s of work at once, and latencies above 13 days are
//!   [`Reason::OutOfRange`].
//! - Shared media have no bound where stations contend; under an access scheme that every station
//!   follows they have one (`access`). Sources may have any phase, even where the scenario fixes it.
//!
//! # Arithmetic
//!
//! Integers only: picoseconds, and work with 32 binary places in 128 bits. Each division rounds
//! towards the larger bound, and overflow saturates upwards.
//!
//! # Modules
//!
//! Proved upper bounds on the latency of every flow, or the reason why there is none.
//!
//! `expand` follows the flows and lists the places they visit, `source` and `curve` bound what
//! arrives there, `service_curve` what a queue can count on (rate, latency, pauses), `access` which
//! turns a station has on a shared medium, `wait` how long it waits in a queue (`wait::full` where
//! a place is exactly full, with rates as exact fractions, `fraction`), `discipline` what each way
//! to choose the next packet makes of it (one file each, its theorem and proof at the head),
//! `evaluate` asks it for one server, `classify` and `station` do the same for end nodes with tasks
//! and layers, `expand::mechanism` for what holds, drops or copies a frame on its way, one file each:
//! `arp` with the proof of how long packets are held for an address (`held`), `ingress` with that of
//! which policers are kept, `redundancy` makes a stream of each copy in two networks, `messages` what stations and the manager of
//! channels send each other, `whole` analyzes a plant from the beginning, `output_limit` tells what
//! these let through, `prompt` proves when messages over TCP leave at once and which
//! acknowledgements go alone (`connection`), `offset` which of these no message meets, `components`
//! orders the places, `solve` propagates the jitter and finds the fixed point where flows depend on
//! each other in a cycle, `tandem` then analyzes whole paths, on threads of the host (`workers`),
//! `report` takes the smallest of all bounds, `memory` finds what each memory needs, `condition`
//! what must drop nothing for a bound to be a proof, with the proof, `composition` tells on demand
//! what each flow adds to one of them, `claims` what is claimed of each visit for checkers of others, and
//! `diameter` what three numbers of the whole plant prove.
//!
//! `incremental` repeats the analysis after a change (`edit`), `incremental::in_place` where it
//! leaves all other flows as they are, and `inherit` tells which places have the same input as
//! before and what is kept of the `solution` there.
//!
//! **Invariant:** `no_std`, integers only, every division rounded towards the larger bound; it
//! depends only on `rtether-model` and shares no code with the simulator, whose maxima never exceed
//! its bounds (`crates/rtether/tests/bounds`).
#![no_std]

extern crate alloc;
#[cfg(test)]
extern crate std;

mod access;
mod analysis;
mod arp;
mod claims;
mod classify;
mod components;
mod composition;
mod condition;
mod connection;
mod curve;
mod diameter;
mod discipline;
mod edit;
mod evaluate;
mod expand;
mod fraction;
mod frame;
mod gap;
mod held;
mod incremental;
mod index;
mod ingress;
mod inherit;
mod memory;
mod messages;
mod offset;
mod output_limit;
mod passage;
mod plant;
mod prompt;
mod report;
mod servers;
mod service_curve;
mod solution;
mod solve;
mod source;
mod split;
mod stack;
mod station;
mod tandem;
mod wait;
mod whole;
mod window;
mod workers;

use alloc::vec::Vec;

use rtether_model::flow::Flow;
use rtether_model::network::Network;

pub use analysis::{
    AccessObstacle, Analysis, Bound, Condition, ConnectionObstacle, Dropper, Effect, Effort,
    FlowLimit, Holder, HopBound, IngressPart, LayerPart, Memory, Method, Methods, OpenFlow,
    PolicerBound, PortBound, Reason, ResolutionObstacle, StackBound, StreamBound,
};
pub use claims::{Arrivals, Choice, ClaimPlace, Claims, VisitClaim, claims, untagged_class};
pub use composition::{Composer, Composition, Passage, Share, ShareCause, Step};
pub use diameter::{Diameter, DiameterObstacle, diameter};
pub use incremental::{Analyzer, Changes, StreamChange};
pub use workers::{Alone, Workers};

/// Returns a bound for each flow and listener, flows in order, listeners in order.
///
/// Never fails as a whole: a stream without a bound carries its reason.
///
/// # Panics
/// If a flow or link names a node or link that does not exist, or a number of the scenario is
/// negative.
pub fn analyze(network: &Network, flows: &[Flow]) -> Analysis {
    analyze_with(network, flows, Methods::All)
}

/// Like [`analyze`], but only with the chosen methods.
///
/// # Panics
/// As [`analyze`].
pub fn analyze_with(network: &Network, flows: &[Flow], methods: Methods) -> Analysis {
    analyze_on(network, flows, methods, &Alone)
}

/// Like [`analyze_with`], with whole paths on several threads; the result is the same for any number
/// of them. Each takes about 100 octets for each place on the way of a flow, and as many again for
/// each class of packets that it delays at a port with a stack behind it.
///
/// # Panics
/// As [`analyze`].
pub fn analyze_on(
    network: &Network,
    flows: &[Flow],
    methods: Methods,
    workers: &impl Workers,
) -> Analysis {
    let (plant, solution) = whole::solve(network, flows);
    let in_order = !whole::has_own_flows(network);
    let chosen: Vec<usize> = match methods {
        Methods::All => (0..plant.streams.len()).collect(),
        Methods::TotalFlow => Vec::new(),
        Methods::UntilProved => tandem::late(&plant, &solution, flows),
    };
    let is_refined = in_order && !chosen.is_empty();
    let refined = is_refined.then(|| tandem::refine(&plant, &solution, &chosen, workers));
    report::report(network, &plant, &solution, refined.as_ref(), flows)
}
