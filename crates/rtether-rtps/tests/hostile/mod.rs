//! A participant under attack: it never panics, memory and traffic stay within limits, and
//! afterwards it still works.
//!
//! The published weaknesses of other implementations in parsing single messages are tested next to
//! the parser; here are those that need a participant with endpoints.

mod admission;
mod amplification;
mod discovery;
mod filters;
mod fragments;
mod groups;
mod keys;
mod mutations;
mod protocol;
mod published;
mod reflection;
mod sources;
mod types;
mod world;
