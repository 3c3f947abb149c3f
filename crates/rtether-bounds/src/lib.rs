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
//! holistic scheduling theory (Tindell and Clark 1994), with the exact busy periods of George,
//! Rivierre and Spuri (1996) and Davis et al. (2007): a minimum of both at each place, taken
//! inside the curves and not between two results. Proofs stand where the code is: `curve` (links),
//! `wait` (queues), `closed` (windows), `place` (round robin), `solve` (jitter and cycles).
//!
//! From its result, methods over whole ways are tried, and the least bound of each stream counts:
//! separated flow, pay multiplexing only once, and least upper delay, all for whole packets; see
//! `tandem` with its proofs. [`Bound::by_method`] has what each found.
//!
//! # Scope and limitations
//!
//! - Nothing is lost for lack of memory: compare [`PortBound::backlog`] with the buffers.
//! - End stations with application tasks, a prioritized layer or a smoother, and connections for
//!   messages, have no bound; other flows keep theirs where a higher priority or the rate of a
//!   link shields them. Segments of bulk TCP have no bound reported; as a disturbance of others
//!   they count with their window, as long as the bounds rule out retransmissions.
//! - Shared media have none at all. Sources may have any phase, also those that a scenario fixes.
//!
//! # Arithmetic
//!
//! Integers only: picoseconds, work with 32 binary places in 128 bits, each division rounded
//! towards the larger bound.
#![no_std]

extern crate alloc;
#[cfg(test)]
extern crate std;

mod answer;
mod closed;
mod curve;
mod frame;
mod place;
mod plant;
mod report;
mod sites;
mod solve;
mod source;
mod stack;
mod tandem;
mod wait;
mod walk;

use rtether_model::flow::Flow;
use rtether_model::network::Network;

pub use answer::{
    Analysis, Bound, Effort, HopBound, Method, Methods, PortBound, Reason, StackBound, StreamBound,
};

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
