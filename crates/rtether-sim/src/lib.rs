//! Deterministic discrete-event simulation of switched Ethernet and its end nodes.
//!
//! A [`Simulation`] is built from a network, its flows and a [`Config`]; it is run in steps of any
//! length and ends in a [`rtether_model::record::Record`]. The same input gives the same bytes on
//! every machine: time is integer, every draw has its own generator, and simultaneous events have
//! an order (time, kind, node).
//!
//! **Scope.** Full-duplex links and shared media (hubs, half duplex), store-and-forward and
//! cut-through switches with VLANs, priorities and four transmission selections, end stations with
//! a protocol stack above a FIFO driver queue and, where wanted, application tasks, priority queues
//! and a traffic smoother, UDP-like traffic, adaptive requests, files and messages over TCP. Not
//! here: gates, credit-based shaping, frame preemption, IP fragmentation, clocks that drift.
//!
//! [`medium`] is a shared segment as an engine of its own; `shared` drives it.
//!
//! [`emulation`] runs a network of switches and hubs for frames from outside, as a live emulation
//! of a network needs it.
//!
//! How a packet travels: `source` releases it, `station` passes it through the stack (and `layer`
//! through tasks and queues), `port` queues and sends it, `switch` forwards it, `station` receives
//! it and `stats` books it.
#![no_std]

extern crate alloc;
#[cfg(test)]
extern crate std;

mod adaptive;
mod agenda;
mod build;
mod bulk;
mod conversation;
pub mod emulation;
mod finish;
mod fragments;
mod kernel;
mod layer;
mod loss;
pub mod medium;
pub mod observe;
mod packet;
mod port;
mod publication;
mod queues;
mod random;
pub mod release;
mod servers;
mod shared;
mod source;
mod station;
mod stats;
mod switch;
pub mod tcp;
pub mod trace;
mod whole;

pub use kernel::{BuildError, Config, Simulation};
