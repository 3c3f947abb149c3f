//! The foundation of rtether: quantities, the network, its flows, and the record of a run.
//!
//! Everything here is plain data with integer arithmetic. The crate parses no files, knows no
//! protocol state, reads no clock and has no dependencies, so that the simulator and the bounds
//! engine share its types without sharing any algorithm.
//!
//! # Modules
//!
//! Vocabulary shared by all engines: `Instant`, `Duration`, `BitRate`, `Bytes`; the `Network` and
//! its `Flow`s; the parameters of the engines in end nodes (`endnode`, `smoother`), of switches
//! (`ingress`) and of shims (`shim`); the plan of a port, an algorithm for each queue (`PortPlan`); routes and shortest paths (`route`); the parts of a deadline
//! for each port (`partition`) with the test whether a port sends all in time (`demand`); what a
//! channel may be (`admission`); access schemes with their plan and check (`access`); VLANs that
//! ports register (`registration`); stations in two networks (`redundancy`, `second`); costs that
//! are not known (`unknown`); stalls of hosts and for how long they are felt (`stall`); the only
//! frame arithmetic of the product (`wire`); `Histogram` and `record`, one module for each kind of
//! counters.
//!
//! **Invariant:** it parses no files, knows no protocol state, has no dependencies, and no floats
//! in times, rates or sizes.
#![no_std]

extern crate alloc;
#[cfg(test)]
extern crate std;

pub mod access;
pub mod admission;
pub mod arp;
pub mod characters;
pub mod demand;
pub mod empirical;
pub mod endnode;
pub mod flow;
pub mod histogram;
mod index;
pub mod ingress;
pub mod mac;
pub mod network;
pub mod partition;
mod port_plan;
mod priority;
pub mod quantity;
pub mod record;
mod redundancy;
pub mod registration;
pub mod route;
mod scheme;
mod second;
mod selection;
pub mod shim;
pub mod smoother;
pub mod stall;
pub mod unknown;
pub mod wire;
