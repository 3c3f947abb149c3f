//! The measurements of 000 Skeie, section IV: round trips of a small message through the stacks of
//! two real-time nodes, with FTP load and with priority queues in the node.
//!
//! The stack is fitted to the baseline: four passes through it take 404 of the 700 us, and their
//! jitter gives the standard deviation of 14 us. Load parameters that the paper leaves open are
//! fitted to table 1: TCP window, file size, and the rate of a received file (see
//! [`fitted`](super::fitted)). Tables 2 and 3 are predicted from these.

mod ablation;
#[cfg(target_os = "linux")]
pub(crate) mod live;
mod parts;
mod plant;
pub(crate) mod strip;
pub(crate) mod tables;
pub(crate) mod tasks;

use rayon::prelude::*;
use rtether_model::record::{LayerRecord, Record, StreamRecord};
use rtether_sim::observe::NoObserver;

use crate::observe::run_one;
use crate::prelude::*;
use plant::Setup;

/// Series of 200 samples; the paper has four per case.
const SERIES: u64 = 20;
const SAMPLES: i64 = 200;

/// Round trips of one case, with the paper's statistics.
#[derive(Clone, Debug)]
struct Case {
    /// All series together.
    all: StreamRecord,
    /// Root mean square of the standard deviations of the series (catalogue 0.2, `pooled_within`):
    /// the paper's combined value.
    deviation_us: f64,
    /// Octets of the file that arrived, over the time of all series.
    file: Bytes,
    time: Duration,
    /// Layer of the master, if it has one.
    layer: Option<LayerRecord>,
}

impl Case {
    /// Merges series.
    fn of(records: &[Record]) -> Self {
        let mut squares = 0.0;
        let mut merged: Option<Record> = None;
        for record in records {
            let series = &record.streams[plant::MESSAGE];
            let deviation = series.latency.standard_deviation().unwrap_or_default();
            squares += deviation.as_us_f64().powi(2);
            match &mut merged {
                None => merged = Some(record.clone()),
                Some(merged) => merged.merge(record),
            }
        }
        let merged = merged.unwrap_or_default();
        let file = merged.streams.get(plant::FILE);
        let master = merged.nodes.get(plant::MASTER.index());
        Self {
            all: merged.streams[plant::MESSAGE].clone(),
            deviation_us: (squares / count_f64(records.len() as u64)).sqrt(),
            file: Bytes::new(file.map_or(0, |stream| stream.payload_bytes)),
            time: merged.observed - merged.warmup * i64::from(merged.runs),
            layer: master.and_then(|master| master.layer.clone()),
        }
    }

    fn mean_us(&self) -> f64 {
        self.all.latency.mean().unwrap_or_default().as_us_f64()
    }

    fn max_us(&self) -> f64 {
        self.all.latency.max.as_us_f64()
    }

    fn min_us(&self) -> f64 {
        self.all.latency.min.as_us_f64()
    }

    /// Returns the rate of the file transfer in Mbit/s.
    fn file_mbps(&self) -> f64 {
        count_f64(self.file.get()) * 8.0 / self.time.as_secs_f64() / 1e6
    }

    /// Returns the number of frames promoted in the receive queues of the master.
    fn promoted(&self) -> u64 {
        let queues = self.layer.iter().flat_map(|layer| &layer.receive);
        queues.map(|queue| queue.promoted).sum()
    }

    /// Returns the frames that arrived at the highest and at the lower receive queues of the
    /// master.
    fn received(&self) -> (u64, u64) {
        let queues = self.layer.iter().flat_map(|layer| &layer.receive);
        let arrived: Vec<u64> = queues.map(|queue| queue.arrived).collect();
        let (high, low) = arrived.split_last().unwrap_or((&0, &[]));
        (*high, low.iter().sum())
    }

    fn words(&self) -> String {
        format!(
            "mean {:.1}, std {:.1}, max {:.1}, min {:.1} us",
            self.mean_us(),
            self.deviation_us,
            self.max_us(),
            self.min_us()
        )
    }

    /// Returns a statistic of the paper's tables by name.
    fn statistic(&self, name: &str) -> Option<f64> {
        match name {
            "mean" => Some(self.mean_us()),
            "std" => Some(self.deviation_us),
            "max" => Some(self.max_us()),
            "min" => Some(self.min_us()),
            _ => None,
        }
    }
}

/// Simulates one setup: series in parallel, one seed each.
fn measure(setup: &Setup, progress: &Progress) -> Result<Case, ReproduceError> {
    let scenario = plant::scenario(setup);
    let records = (1..=SERIES)
        .into_par_iter()
        .map(|seed| run_one(&scenario, seed, progress, &mut NoObserver))
        .collect::<Result<Vec<Record>, ReproduceError>>()?;
    Ok(Case::of(&records))
}
