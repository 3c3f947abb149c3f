//! rtether: know, prove, measure and control application-to-application delay over Ethernet.
//!
//! One scenario file describes the plant. [`scenario`] reads it and reports every mistake with its
//! place; [`check()`] simulates it, proves bounds and judges each stream against what the scenario accepts;
//! [`report`] writes tables, JSON, CSV and one HTML page; [`reproduce`] repeats the experiments of
//! the five papers that specify the product.
//!
//! The library does not print, exit or read arguments: that is left to the command line.

pub mod bound;
pub mod characters;
pub mod check;
mod csma;
pub mod limit;
#[cfg(target_os = "linux")]
pub mod live;
pub mod measured;
pub mod meter;
pub mod profiles;
pub mod report;
pub mod reproduce;
pub mod run;
pub mod scenario;
mod sheet;
#[cfg(target_os = "linux")]
pub mod shim;
pub mod stats;
pub mod trace;
pub mod verdict;

pub use check::check;
pub use report::Checked;
