//! Access schemes: which station may send on a shared medium, and when.
//!
//! Without one, the stations of a collision domain contend by CSMA/CD. A scheme is given by its
//! rules and values; the engines that follow them are in `rtether_proto::access`, the proofs in
//! `rtether_bounds::access`, under the same names.

mod check;
mod domain;
mod ftt;
mod plan;
mod summation;

use crate::flow::Flow;

pub use crate::scheme::{
    Access, Backup, CLASSES, CONTROL, DemandPriority, Faults, Ftt, Member, ORDINARY, Polling,
    Powerlink, REAL_TIME, Scheme, SchemeKind, Slot, Summation, Synchronous, Tdma, TimedToken,
    VirtualToken,
};
pub use check::Problem;
pub use domain::Domain;
pub use plan::Wish;

/// Returns the class of the frames of a flow.
pub const fn class_of(flow: &Flow) -> u8 {
    if flow.is_real_time() { REAL_TIME } else { ORDINARY }
}
