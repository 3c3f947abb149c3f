//! The traffic smoother as a driver sees it.

mod arithmetic;
mod harness;
mod properties;
