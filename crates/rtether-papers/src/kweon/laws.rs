//! Compares all smoother laws: throughput, misses, Jain's index, and the worst station, with one to
//! ten PCs sending files.

use std::fmt::Write as _;

use rayon::prelude::*;
use rtether::stats;
use rtether_sim::observe::NoObserver;

use super::{Bulk, Case, Platform, Point, Scheme, plant, run_one};
use crate::prelude::*;

const LAWS: [(&str, Scheme); 7] = [
    ("`none`", Scheme::None),
    ("`fixed`", Scheme::Fixed),
    ("`himd`", Scheme::Himd),
    ("`slow-start`", Scheme::SlowStart),
    ("`linear`", Scheme::Linear),
    ("`nt`", Scheme::Nt),
    ("`rtether`", Scheme::Rtether),
];
const ACTIVE: std::ops::RangeInclusive<u16> = 1..=10;

/// Results of one point over all its runs.
struct Cell {
    throughput: Vec<f64>,
    missed: u64,
    messages: u64,
    /// Minimum over all runs: Jain's index, and rate of the worst station in Mbit/s.
    jain: f64,
    worst: f64,
    /// Mean time of a file in seconds.
    file: f64,
}

/// Returns the tables as Markdown: `seeds` runs of `seconds` simulated seconds per point.
///
/// # Errors
/// If it was interrupted.
pub fn tables(seeds: u64, seconds: i64, progress: &Progress) -> Result<String, ReproduceError> {
    let mut text = String::new();
    for (bulk, name) in [
        (Bulk::Greedy, "Files without a pause"),
        (Bulk::NonGreedy, "Files of 1 MB at random times, 25 s apart in the mean"),
    ] {
        let cases = ACTIVE.flat_map(|active| LAWS.map(|(_, scheme)| (active, scheme)));
        let cases: Vec<_> = cases.collect();
        let cells = cases
            .par_iter()
            .map(|&(active, scheme)| {
                let case = Case::new(Platform::Linux, scheme, bulk, active);
                cell(case, seeds, Duration::from_secs(seconds), progress)
            })
            .collect::<Result<Vec<_>, _>>()?;
        render(&mut text, name, &cells);
    }
    Ok(text)
}

fn cell(
    case: Case,
    seeds: u64,
    counted: Duration,
    progress: &Progress,
) -> Result<Cell, ReproduceError> {
    let (scenario, messages) = plant::lasting(case, counted);
    let mut all = Cell {
        throughput: Vec::new(),
        missed: 0,
        messages: 0,
        jain: 1.0,
        worst: f64::INFINITY,
        file: 0.0,
    };
    let (mut files, mut count) = (Duration::ZERO, 0);
    for seed in 1..=seeds {
        let record = run_one(&scenario, seed, progress, &mut NoObserver)?;
        let point = Point::new(case, &record, messages)?;
        let bulk = record.streams[messages..].iter();
        let worst = bulk.map(|stream| stream.payload_bytes).min().unwrap_or(0);
        all.throughput.push(point.throughput);
        all.missed += point.messages.missed;
        all.messages += point.messages.released;
        all.jain = all.jain.min(point.jain);
        let worst = count_f64(worst) * 8e-6 / counted.as_secs_f64();
        all.worst = all.worst.min(worst);
        (files, count) = (files + point.files.0, count + point.files.1);
    }
    all.file = if count > 0 { (files / count).as_secs_f64() } else { f64::NAN };
    Ok(all)
}

/// Returns the mean, and half of its two-sided 95 % interval over independent runs.
fn mean(values: &[f64]) -> (f64, f64) {
    let count = count_f64(values.len() as u64);
    let mean = values.iter().sum::<f64>() / count;
    let squares: f64 = values.iter().map(|value| (value - mean).powi(2)).sum();
    let error = (squares / (count - 1.0) / count).sqrt();
    let half = if values.len() > 1 {
        stats::student_quantile(count - 1.0, 0.025) * error
    } else {
        f64::NAN
    };
    (mean, half)
}

/// Formats a cell of a table.
type Words = fn(&Cell) -> String;

fn render(text: &mut String, name: &str, cells: &[Cell]) {
    let least = cells.iter().map(|cell| cell.messages).min().unwrap_or(0);
    let missed = format!("messages missed, of {least} or more");
    let all: [(&str, Words); 5] = [
        ("throughput in parts of 10 Mbit/s, with its 95 % interval over seeds", |cell| {
            let (mean, half) = mean(&cell.throughput);
            format!("{mean:.3} ±{half:.3}")
        }),
        (&missed, |cell| cell.missed.to_string()),
        ("Jain's index, the least of any seed", |cell| format!("{:.2}", cell.jain)),
        ("worst station in Mbit/s, the least of any seed", |cell| format!("{:.3}", cell.worst)),
        ("mean time of a file of 1 MB, in seconds", |cell| format!("{:.2}", cell.file)),
    ];
    for (what, words) in all {
        let _ = write!(text, "{name}: {what}.\n\n| active |");
        for (law, _) in LAWS {
            let _ = write!(text, " {law} |");
        }
        let _ = write!(text, "\n|--:|{}", "--:|".repeat(LAWS.len()));
        for (active, row) in ACTIVE.zip(cells.chunks(LAWS.len())) {
            let row: Vec<String> = row.iter().map(words).collect();
            let _ = write!(text, "\n| {active} | {} |", row.join(" | "));
        }
        text.push_str("\n\n");
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_mean_has_its_interval() {
        // Oracle: by hand: mean 2, standard deviation 1, t(2, 0.975) = 4.303: 4.303 / sqrt 3 = 2.484.
        let (mean, half) = mean(&[1.0, 2.0, 3.0]);
        assert!((mean - 2.0).abs() < 1e-12 && (half - 2.484).abs() < 1e-3, "{mean} {half}");
    }

    #[test]
    fn the_law_of_rtether_is_fair_and_gives_more() {
        // Oracle: the other laws in the same plant: ten greedy stations, two seeds of 60 s. No
        // station has less than with `fixed`, Jain's index is above 0.95, and both HIMD and linear
        // increase have less throughput, regardless of their misses.
        let of = |scheme| {
            cell(Case::greedy(scheme, 10), 2, Duration::from_secs(60), &Progress::default())
                .expect("runs")
        };
        let (own, fixed) = (of(Scheme::Rtether), of(Scheme::Fixed));
        assert!(own.jain >= 0.95, "Jain's index {}", own.jain);
        assert!(own.worst >= fixed.worst, "{} against {}", own.worst, fixed.worst);
        assert!(own.missed * 1000 <= own.messages, "{} missed", own.missed);
        for other in [Scheme::Himd, Scheme::Linear] {
            let (other, own) = (mean(&of(other).throughput).0, mean(&own.throughput).0);
            assert!(own > other, "{own} against {other}");
        }
    }
}
