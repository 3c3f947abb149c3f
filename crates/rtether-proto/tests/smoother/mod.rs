//! The traffic smoother, as seen by a driver.

mod arithmetic;
mod harness;
mod properties;
