//! Publish-subscribe over RTPS 2.5, sans-IO.
//!
//! Time and datagrams go in, datagrams and samples come out: no code here reads a clock, opens a
//! socket or starts a thread, so that the same engine runs in the simulator and on a wire (R70).
//!
//! Clauses are those of DDSI-RTPS 2.5 (OMG formal/2022-04-01) unless another standard is named.
//!
//! # Modules
//!
//! Publish-subscribe over RTPS 2.5, or 1.0 as of ORTE, sans-IO; an application can link it alone.
//!
//! `wire` reads and writes messages, `discovery` the descriptions of participants and their
//! endpoints, `matching` decides which endpoints match and why not, `cdr` turns values into octets
//! (`#[derive(Data)]` is in the second crate), `dynamic` does so for types described at run time,
//! `xtypes` reads and writes the descriptions that participants exchange (`engine::types` asks and
//! answers), `filter` is the language of content filters.
//!
//! `writer` is a history with the readers it knows (`cache`, `proxy`, `send`), `reader` the path of
//! samples from datagrams to the application (`proxy` orders them, `reassembly` reassembles
//! fragments, `accept` applies the policies, `instance` knows who may write), `engine` a
//! participant: discovery, leases, matching, and the calls of the host; `typed` are publications
//! and subscriptions of a type.
//!
//! RTPS 1.0 (`Protocol::Rtps1`) has its own messages (`wire::v1`), announcements (`discovery::v1`)
//! and members (`engine::v1`: managers, applications, what managers report); histories, matching,
//! arbitration, separation and deadlines are the same code.
//!
//! `application` is the interface for programs: callbacks and their periods, modes, patterns,
//! vetoes, all called only from `dispatch`.
//!
//! **Invariant:** `no_std`, no clock, no socket, no other crate of ours; every table has a limit;
//! malformed input from the network is counted and dropped.
//!
//! **Invariant:** messages in the name of a participant do not count if they come from an address
//! that it has not announced (`engine::sources`).
//!
//! **Invariant:** a participant never sends beyond the networks named by the host, even if a peer
//! announces such an address.
#![no_std]

extern crate alloc;
#[cfg(test)]
extern crate std;
// Code from `#[derive(Data)]` names the crate `rtether_rtps`, inside this crate too.
extern crate self as rtether_rtps;

pub mod application;
pub mod cdr;
pub mod described;
pub mod discovery;
pub mod dynamic;
pub mod engine;
pub mod filter;
pub mod guid;
pub mod locator;
pub mod matching;
pub mod qos;
pub mod reader;
pub mod sequence;
pub mod time;
pub mod typed;
pub mod types;
pub mod wire;
pub mod writer;
pub mod xtypes;
