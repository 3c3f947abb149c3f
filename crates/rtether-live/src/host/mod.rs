//! Properties and abilities of this host: facts only; the library judges them.

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
