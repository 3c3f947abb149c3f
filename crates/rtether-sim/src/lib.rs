//! Deterministic discrete-event simulation of switched Ethernet and its end nodes.
//!
//! A [`Simulation`] is built from a network, its flows and a [`Config`]; it runs in steps of any
//! length and ends in a [`rtether_model::record::Record`]. The same input gives the same bytes on
//! every machine: time is an integer, every purpose has its own random generator, and simultaneous
//! events have a fixed order (time, kind, node).
//!
//! **Scope.** Full-duplex links and shared media (hubs, half duplex); store-and-forward and
//! cut-through switches with VLANs, priorities and five transmission selections; end stations with
//! a protocol stack above a FIFO driver queue and, optionally, application tasks, priority queues
//! and a traffic smoother; UDP-like traffic with IP fragmentation, adaptive requests, files and
//! messages over TCP, samples over RTPS. Not modeled: gates, credit-based shaping, frame
//! preemption, clock drift.
//!
//! [`medium`] is a shared segment as a separate engine.
//!
//! [`emulation`] runs a network of switches and hubs on frames from outside, for live network
//! emulation.
//!
//! Ports, switches, stations and connections are elements that own their state and know nothing of
//! each other; `kernel` composes them and moves packets from one to the next. Path of a packet:
//! `flow` releases it, `station` passes it through the stack (and `layer` through tasks and
//! queues), `port` queues and sends it, `switch` forwards it, `station` receives it and `stats`
//! books it.
#![no_std]

extern crate alloc;
#[cfg(test)]
extern crate std;

mod access;
mod admission;
mod agenda;
mod arp;
mod bulk;
mod cause;
mod chain;
mod config;
mod conversation;
mod due;
pub mod emulation;
mod error;
mod flow;
mod fragments;
mod kernel;
mod kind;
mod layer;
pub mod medium;
mod message;
pub mod observe;
mod packet;
pub mod passages;
mod port;
mod publication;
mod queues;
mod random;
pub mod release;
mod servers;
mod shared;
mod source;
mod spacing;
mod station;
mod stats;
mod switch;
pub mod tcp;
pub mod timeline;
pub mod topic;
pub mod trace;
mod twins;
mod visitor;

pub use config::Config;
pub use error::BuildError;
pub use kernel::Simulation;
