//! The configuration file.

pub use crate::scenario::shim::{Config, Loaded, load};
