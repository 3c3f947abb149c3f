//! Proved upper bounds on the latency of every flow of a switched Ethernet plant.
//!
//! [`analyze`] takes the network and its flows and says for each flow and listener how long a
//! packet can take at most from application to application, or why nobody can say. The crate
//! shares no code with the simulator, so that the two may contradict each other; that the largest
//! simulated latency never exceeds the bound is tested on random plants.
//!
//! # Method
//!
//! Network calculus on events. What arrives at a port or stack is bounded by staircases (period
//! and jitter) and by what the link before lets through; from them follows the longest wait; the
//! wait adds to the jitter with which packets arrive at the next place. This is total flow
//! analysis with line shaping, packet term, last-packet gain and jitter propagation (Grieu 2004;
//! Mifdaoui and Leydier 2017; Mohammadpour, Stai and Le Boudec 2019; Thomas, Le Boudec and Mifdaoui
//! 2019). Since its curves are staircases it is at the same time the response-time analysis of
//! holistic scheduling theory (Tindell and Clark 1994), with the busy periods of George, Rivierre
//! and Spuri (1996) and Davis et al. (2007): a minimum of both at each place, taken inside the
//! curves and not between two results. Waits in queues in order of arrival are exact for these
//! curves; where priorities meet lines they are rounded up by at most 1/128 of the span that is
//! searched, a few busy periods. Proofs stand where the code is: `curve` (links), `wait` (queues),
//! `closed` (windows), `place` (round robin), `edf` (earliest deadline first), `solve` (jitter and
//! cycles); in end stations `layer` (tasks, receive queues, stack instances), `driver` (transmit
//! queues), `smoother` (credits), `limit` (what smoothers and stacks let through).
//!
//! From its result, methods over whole ways are tried, and the least bound of each stream counts:
//! separated flow, pay multiplexing only once, and least upper delay, all for whole packets; see
//! `tandem` with its proofs. [`Bound::by_method`] has what each found.
//!
//! # Scope and limitations
//!
//! - Nothing is lost for lack of memory: compare [`PortBound::backlog`] with the buffers; with a
//!   buffer for all ports of a switch together, compare their sum. A loss can make a flow that waits
//!   for answers give up, and a connection send again, which other flows then feel.
//! - Bit errors may destroy frames anywhere. A flow that waits for answers over such a link is taken
//!   to give up, and the window of a connection over it limits nothing.
//! - Tasks, receive and transmit queues and smoothers of end stations are analyzed, and what they
//!   hold back without end has a [`LayerPart`] as its reason: low frames where nothing releases them
//!   but high ones; bulk packets where a detector may report congestion over and over; strict transmit
//!   queues below a smoother; mode `rtether` above transmit queues that reorder.
//! - Segments of bulk TCP and messages over TCP have no bound of their own. As a disturbance of
//!   others they count, whichever of these is proved, with the window (as long as the bounds and the
//!   absence of bit errors rule out retransmissions), the curve of the smoother, the distance that a
//!   stack on the way keeps, or the rate of the link: [`OpenFlow`] says which. In one queue with such
//!   a flow and behind none of these there is no bound.
//! - Jitter above 70 s, more than 1.1 s of work at once, and latencies above 13 days are
//!   [`Reason::OutOfRange`].
//! - Shared media have none at all. Sources may have any phase, also those that a scenario fixes.
//!
//! # Arithmetic
//!
//! Integers only: picoseconds, work with 32 binary places in 128 bits, each division rounded
//! towards the larger bound. What does not fit saturates upwards.
#![no_std]

extern crate alloc;
#[cfg(test)]
extern crate std;

mod answer;
mod classify;
mod closed;
mod components;
mod curve;
mod driver;
mod edf;
mod frame;
mod incremental;
mod keep;
mod layer;
mod limit;
mod place;
mod plant;
mod report;
mod sites;
mod smoother;
mod solve;
mod source;
mod stack;
mod station;
mod tandem;
mod wait;
mod walk;

use rtether_model::flow::Flow;
use rtether_model::network::Network;

pub use answer::{
    Analysis, Bound, Effort, FlowLimit, HopBound, LayerPart, Method, Methods, OpenFlow, PortBound,
    Reason, StackBound, StreamBound,
};
pub use incremental::{Analyzer, Changes, StreamChange};

/// Returns a bound for each flow and listener, flows in order, listeners in order.
///
/// Never fails as a whole: what has no bound says why.
///
/// # Panics
/// If a node or link that a flow or link names does not exist, or a number of the scenario is
/// negative.
pub fn analyze(network: &Network, flows: &[Flow]) -> Analysis {
    analyze_with(network, flows, Methods::All)
}

/// Returns the same by the chosen methods.
///
/// # Panics
/// As [`analyze`].
pub fn analyze_with(network: &Network, flows: &[Flow], methods: Methods) -> Analysis {
    let mut plant = plant::Plant::new(network, flows);
    let solution = solve::solve(&mut plant);
    let refined = (methods == Methods::All).then(|| tandem::refine(&plant, &solution));
    report::report(&plant, &solution, refined.as_ref(), flows)
}
