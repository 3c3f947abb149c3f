//! A participant among attackers: it never panics, what it keeps and what it sends stays within limits,
//! and afterwards it still works.
//!
//! The published weaknesses of other implementations that lie in the reading of single messages are
//! tested next to the reader of messages; here are those that need a participant with endpoints.
#![allow(clippy::unwrap_used, reason = "a test that cannot go on may panic")]
#![allow(clippy::print_stdout, reason = "figures, and what repeats a failure")]

mod admission;
mod discovery;
mod filters;
mod fragments;
mod groups;
mod keys;
mod mutations;
mod protocol;
mod published;
mod sources;
mod world;
