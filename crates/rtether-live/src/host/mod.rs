//! What this host is and can do: facts without a judgment, which is the library's.

pub mod address;
pub mod clock;
pub mod device;
pub mod features;
pub mod files;
mod identity;
pub mod rights;
pub mod stall;
mod xdp;

pub use identity::{clock_error_us, clock_identity, identity, network_identity};
