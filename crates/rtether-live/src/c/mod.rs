//! C interface of publish-subscribe, modeled on the papers' skeletons (R137 to R147, D4).
//!
//! Types are registered with functions that serialize and deserialize their values; publications
//! have strength, persistence and a send callback with a period; subscriptions have a callback or
//! are pulled, and report missed deadlines. `cargo xtask generate` writes `include/rtether.h` from
//! these files: their doc comments become those of the header. `cargo xtask c-library` builds the
//! libraries.
//!
//! **Rules of the boundary.** Nothing unwinds into C: a panic becomes a status, and its domain
//! refuses further calls. A domain admits one thread at a time, which may call it again from
//! callbacks; no lock blocks. Handles are looked up and never dereferenced. Enumerations are passed
//! as integers and checked. Extensible structures begin with their size.
#![allow(unreachable_pub, reason = "what is public here is reached by its symbol, not by its path")]
#![allow(
    clippy::missing_safety_doc,
    reason = "callers are C programs; what they have to keep to is said once, in the header's preamble"
)]

mod cdr_read;
mod cdr_write;
mod dispatch;
mod domain;
mod event;
mod handle;
mod info;
mod instance_type;
mod memory;
mod monitor;
mod place;
mod policy;
mod publication;
mod reader;
mod status;
mod subscription;
mod table;
#[cfg(test)]
mod tests;
mod told;
mod values;
mod writer;
