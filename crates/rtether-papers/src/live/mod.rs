//! Experiments measured on this host, between namespaces, over emulated networks.
//!
//! A modern host is not a PC of 2006: its stacks take a tenth of the time. Orders and ratios in the
//! claims can be compared; the papers' values are shown next to ours for reference.

mod bucket;
mod dolejs;
mod kakanakov;
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

/// Round trips that no stall of the host affected; all of them if stalls affected each.
#[derive(Clone, Copy, Debug, Default)]
struct Calm {
    count: u64,
    min: Duration,
    mean: Duration,
    median: Duration,
    p99: Duration,
    max: Duration,
    lost: u64,
    /// Round trips left out.
    stalled: u64,
    /// Whether stalls affected every round trip, so that none is left out.
    is_stalled: bool,
}

impl Calm {
    fn of(measurement: &Measurement) -> Result<Self, ReproduceError> {
        let nothing = || ReproduceError::Machine("no round trip came to its end".into());
        let calm = measurement.without_hit();
        let is_stalled = calm.is_none();
        let found = calm.or_else(|| measurement.all()).ok_or_else(nothing)?;
        Ok(Self {
            count: found.count,
            min: found.min,
            mean: found.mean,
            median: found.median,
            p99: found.percentiles[1],
            max: found.max,
            lost: measurement.counters.lost,
            stalled: measurement.samples.len() as u64 - found.count,
            is_stalled,
        })
    }

    fn words(&self) -> String {
        let stalls = if self.is_stalled {
            format!("stalls touched all {}", self.count)
        } else {
            let all = self.count + self.stalled;
            format!("{} of {all} left out: stalls", self.stalled)
        };
        format!(
            "mean {}, p50 {}, p99 {}, max {} ({stalls}; {} lost)",
            self.mean, self.median, self.p99, self.max, self.lost
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use rtether::meter::Stall;
    use rtether_model::quantity::Instant;
    use rtether_proto::probe::Sample;

    /// Oracle: by hand. Times and claims would rest on zeros if all round trips were left out.
    #[test]
    fn where_stalls_touch_every_round_trip_none_is_left_out() {
        let at = |ms: i64| Instant::ZERO + Duration::from_ms(ms);
        let sample = |sequence: u32, ms: i64| Sample {
            sequence,
            series: 0,
            sent_at: at(ms),
            round_trip: Duration::from_ms(1),
            is_reordered: false,
        };
        let stalled = |until: i64| Measurement {
            samples: vec![sample(0, 10), sample(1, 900)],
            gaps: std::iter::once(Stall { from: at(0), until: at(until) }).collect(),
            ..Measurement::default()
        };
        let some = Calm::of(&stalled(15)).expect("round trips");
        assert_eq!((some.count, some.stalled), (1, 1));
        let all = Calm::of(&stalled(950)).expect("round trips");
        assert_eq!((all.count, all.stalled), (2, 0));
        assert_eq!(all.median, Duration::from_ms(1));
        assert!(all.words().contains("stalls touched all 2"), "{}", all.words());
        Calm::of(&Measurement::default()).expect_err("nothing came back");
    }
}
