//! The configuration file.

pub use rtether::scenario::shim::{Config, Loaded, load};
