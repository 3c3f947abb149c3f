//! The layer between stack and port, as seen by a host.

mod arithmetic;
mod harness;
mod properties;
mod recording;
