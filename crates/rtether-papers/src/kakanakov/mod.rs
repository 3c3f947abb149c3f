//! Round trips to four boards over a switch (001 Kakanakov 2 to 3, tables 1 and 2).
//!
//! Boards are calibrated on scenario a, the direct connection; b to e are predictions, except that
//! the minima of b set the latency of the switch.

mod boards;
mod claims;
mod matrix;
mod plant;
mod show;
mod stack;

/// Calls `$run(protocol, scenario, progress)` for every cell of the tables, one experiment each.
macro_rules! cells {
    ($run:path) => {
        $crate::kakanakov::cells!(
            $run: Icmp Direct, Icmp Switch, Icmp OtherVlan, Icmp SharedPort, Icmp Priority,
            Cndep Direct, Cndep Switch, Cndep OtherVlan, Cndep SharedPort, Cndep Priority
        )
    };
    ($run:path: $($protocol:ident $scenario:ident),*) => {{
        use $crate::kakanakov::{Protocol, Scenario, experiment};
        [$((experiment(Protocol::$protocol, Scenario::$scenario), |progress| {
            $run(Protocol::$protocol, Scenario::$scenario, progress)
        })),*]
    }};
}

pub(super) use boards::Protocol;
#[cfg(test)]
pub(super) use boards::{Board, calibrate};
pub(super) use cells;
pub(super) use plant::Scenario;
pub(super) use show::experiment;
pub(super) use show::run;
#[cfg(target_os = "linux")]
pub(super) use show::{live_cell, measured_average};
pub(super) use stack::run as run_stack;
#[cfg(test)]
pub(super) use stack::{HIGH, MEDIUM, stack_delays};
