//! Experiments measured on this host, between namespaces, over emulated networks.
//!
//! A modern host is not a PC of 2006: its stacks take a tenth of the time. Orders and ratios in the
//! claims can be compared; the papers' values are shown next to ours for reference.

mod bucket;
mod dolejs;
mod kakanakov;
pub(super) mod lab;
mod orte;
mod prio;
mod valentim;

use rtether_model::quantity::Duration;

use super::Run;
use super::kakanakov as tables;
use super::kweon::live as kweon;
use super::prio::live as tables_live;
use rtether::meter::Measurement;

/// The experiments that can be measured, in groups.
pub(super) const AVAILABLE: &[&[(&str, Run)]] = &[
    &[
        ("skeie-prio-table1", tables_live::table1),
        ("skeie-prio-table2", tables_live::table2),
        ("skeie-prio-table3", tables_live::table3),
        ("skeie-prio-switch-strip", prio::strip),
        ("skeie-prio-taskprio", prio::tasks),
    ],
    &tables::cells!(kakanakov::run),
    &[
        ("kweon-bucket", bucket::run),
        ("kweon-linux-greedy", kweon::greedy),
        ("kweon-linux-nongreedy", kweon::nongreedy),
        ("kweon-linux-sequence", kweon::sequence),
        ("kweon-nt-greedy", kweon::nt),
        ("dolejs-hub", dolejs::hub),
        ("dolejs-orte-4nodes", orte::run_four_nodes),
        ("dolejs-orte-loopback", orte::run_loopback),
        ("dolejs-orte-repetition", orte::run_repetition),
        ("dolejs-orte-size", orte::run_size),
        ("dolejs-orte-surface", orte::run_surface),
        ("valentim-rtt", valentim::rtt),
        ("valentim-loopback", valentim::loopback),
        ("valentim-outliers", valentim::outliers),
        ("valentim-decomposition", valentim::decomposition),
        ("valentim-switch-hub", valentim::switch_hub),
    ],
];

/// Round trips that no stall of the host affected.
#[derive(Clone, Copy, Debug)]
struct Calm {
    count: u64,
    min: Duration,
    mean: Duration,
    median: Duration,
    p99: Duration,
    max: Duration,
    lost: u64,
    stalled: u64,
}

impl Calm {
    fn of(measurement: &Measurement) -> Self {
        let all = measurement.samples.len() as u64;
        let Some(found) = measurement.without_hit() else {
            return Self {
                count: 0,
                min: Duration::ZERO,
                mean: Duration::ZERO,
                median: Duration::ZERO,
                p99: Duration::ZERO,
                max: Duration::ZERO,
                lost: measurement.counters.lost,
                stalled: all,
            };
        };
        Self {
            count: found.count,
            min: found.min,
            mean: found.mean,
            median: found.median,
            p99: found.percentiles[1],
            max: found.max,
            lost: measurement.counters.lost,
            stalled: all - found.count,
        }
    }

    fn words(&self) -> String {
        format!(
            "mean {}, p50 {}, p99 {}, max {} ({} of {} left out: stalls; {} lost)",
            self.mean,
            self.median,
            self.p99,
            self.max,
            self.stalled,
            self.count + self.stalled,
            self.lost
        )
    }
}
