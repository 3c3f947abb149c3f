//! What lies between stack and port, as a host sees it.

mod arithmetic;
mod harness;
mod properties;
mod recording;
