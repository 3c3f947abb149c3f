//! Experiments measured on this host, between namespaces, over emulated networks.
//!
//! A modern host is not a PC of 2006: its stacks take a tenth of the time. Orders and ratios in the
//! claims can be compared; the papers' values are shown next to ours for reference.

mod bucket;
mod dolejs;
mod kakanakov;
pub(crate) mod lab;
mod orte;
mod prio;
mod valentim;

use rtether::meter::Measurement;

use crate::kweon::live as kweon;
use crate::prelude::*;
use crate::prio::live as tables;

/// The experiments that can be measured.
pub(crate) const AVAILABLE: &[(&str, super::Run)] = &[
    ("skeie-prio-table1", tables::run),
    ("skeie-prio-table2", tables::run),
    ("skeie-prio-table3", tables::run),
    ("skeie-prio-switch-strip", prio::strip),
    ("skeie-prio-taskprio", prio::tasks),
    ("kakanakov-icmp-a", kakanakov::run),
    ("kakanakov-icmp-b", kakanakov::run),
    ("kakanakov-icmp-c", kakanakov::run),
    ("kakanakov-icmp-d", kakanakov::run),
    ("kakanakov-icmp-e", kakanakov::run),
    ("kakanakov-cndep-a", kakanakov::run),
    ("kakanakov-cndep-b", kakanakov::run),
    ("kakanakov-cndep-c", kakanakov::run),
    ("kakanakov-cndep-d", kakanakov::run),
    ("kakanakov-cndep-e", kakanakov::run),
    ("kweon-bucket", bucket::run),
    ("kweon-linux-greedy", kweon::greedy),
    ("kweon-linux-nongreedy", kweon::nongreedy),
    ("kweon-linux-sequence", kweon::sequence),
    ("kweon-nt-greedy", kweon::nt),
    ("dolejs-hub", dolejs::hub),
    ("dolejs-orte-4nodes", orte::parts),
    ("dolejs-orte-loopback", orte::parts),
    ("dolejs-orte-repetition", orte::repetition),
    ("dolejs-orte-size", orte::size),
    ("dolejs-orte-surface", orte::surface),
    ("valentim-rtt", valentim::rtt),
    ("valentim-loopback", valentim::loopback),
    ("valentim-outliers", valentim::outliers),
    ("valentim-decomposition", valentim::decomposition),
    ("valentim-switch-hub", valentim::switch_hub),
];

/// Round trips that no stall of the host affected.
#[derive(Clone, Copy, Debug, Default)]
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
        let lost = measurement.counters.lost;
        let Some(found) = measurement.without_hit() else {
            return Self {
                lost,
                stalled: all,
                ..Self::default()
            };
        };
        Self {
            count: found.count,
            min: found.min,
            mean: found.mean,
            median: found.median,
            p99: found.percentiles[1],
            max: found.max,
            lost,
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
