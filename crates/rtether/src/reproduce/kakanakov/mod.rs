//! Round trips to four boards over a switch (001 Kakanakov 2 to 3, tables 1 and 2).
//!
//! Boards are calibrated on scenario a, the direct connection; b to e are predictions but for the
//! latency of the switch, which the minima of b decide.

mod boards;
mod claims;
mod matrix;
mod plant;
mod show;
mod stack;

pub(super) use boards::Protocol;
#[cfg(test)]
pub(super) use boards::{Board, calibrate};
pub(super) use matrix::Scenario;
pub(super) use show::run;
#[cfg(target_os = "linux")]
pub(super) use show::{experiment, live_cell, measured_average};
pub(super) use stack::run as run_stack;
#[cfg(test)]
pub(super) use stack::{HIGH, MEDIUM, stack_delays};
