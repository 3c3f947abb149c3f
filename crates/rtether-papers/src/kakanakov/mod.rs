//! Round trips to four boards over a switch (001 Kakanakov 2 to 3, tables 1 and 2).
//!
//! Boards are calibrated on scenario a, the direct connection; b to e are predictions, except that
//! the minima of b set the latency of the switch.

mod boards;
mod claims;
mod matrix;
mod plant;
mod show;
pub(crate) mod stack;

#[cfg(test)]
pub(crate) use boards::calibrate;
#[cfg(any(test, target_os = "linux"))]
pub(crate) use boards::{Board, Protocol};
pub(crate) use show::run;
#[cfg(target_os = "linux")]
pub(crate) use {
    boards::measured,
    plant::{Load, Scenario, cell},
    show::of,
};
