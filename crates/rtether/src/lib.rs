//! rtether: know, prove, measure and control application-to-application delay over Ethernet.
//!
//! One scenario file describes the plant. [`scenario`] reads it and reports every mistake with its
//! place; [`check()`] simulates it, proves bounds and judges each stream against what the scenario accepts;
//! [`report`] writes tables, JSON, CSV and one HTML page.
//!
//! The library does not print, exit or read arguments: that is left to the command line.

pub mod adversary;
pub mod against;
pub mod assumed;
pub mod beneath;
pub mod bound;
pub mod check;
pub mod compare;
pub mod csma;
pub mod diff;
pub mod discovery;
pub mod export;
pub mod fail;
pub mod help;
pub mod import;
pub mod limit;
pub mod measured;
pub mod meter;
pub mod report;
pub mod run;
pub mod stages;
pub mod stats;
pub mod sums;
pub mod sweep;
mod touching;
pub mod trace;
pub mod verdict;
pub mod watch;
pub mod why;

pub use check::check;
pub use report::Checked;
pub use rtether_model::characters;
pub use rtether_report::sheet;
pub use rtether_scenario as scenario;
pub use rtether_scenario::profiles;
