//! Where in the run a search looks: after warm-up and the start of all flows, and when files begin.

use rtether_model::flow::{Phase, Traffic};
use rtether_model::quantity::Duration;

use super::part::Part;
use super::trial::Window;
use crate::scenario::RunPlan;

/// Most windows at files.
const FILES: usize = 3;

/// Returns the windows of a search for a stream whose packets take about `span`.
pub(super) fn windows(part: &Part<'_>, run: RunPlan, span: Duration) -> Vec<Window> {
    let end = run.duration.as_ps();
    let span = span.as_ps().clamp(1, end.max(1));
    let warmup = run.warmup.as_ps();
    let starts = part.flows.iter().map(|flow| flow.start.as_ps());
    // Flows that begin late meet nobody before.
    let begin = starts.max().unwrap_or(0).max(warmup);
    let begin = if begin + 3 * span <= end { begin } else { warmup };
    let tail = span.max(longest_fixed(part)) + 1_000_000;
    let mut aims = vec![(begin + 2 * span, tail)];
    let mut files: Vec<i64> = part.files().map(Duration::as_ps).collect();
    files.sort_unstable();
    files.dedup();
    let is_inside = |start: &i64| *start >= warmup && start + 2 * span < end;
    let files = files.into_iter().filter(is_inside).take(FILES);
    aims.extend(files.map(|start| (start + span, 4 * tail)));
    let repeat = repeat(part, end);
    let window = |(aim, tail): (i64, i64)| {
        let aim = aim.min(end - 1);
        let skipped = repeat.map_or(0, |repeat| (aim - 2 * span).max(0) / repeat * repeat);
        Window {
            skipped,
            warmup: (warmup - skipped).max(0),
            aim: aim - skipped,
            until: (aim + tail).min(end) - skipped,
            end: end - skipped,
        }
    };
    aims.into_iter().map(window).collect()
}

/// Returns the longest period of a flow whose phase is fixed.
fn longest_fixed(part: &Part<'_>) -> i64 {
    let fixed = part.flows.iter().filter_map(|flow| {
        let Traffic::Periodic { period, phase: Phase::Fixed(_), .. } = flow.traffic else {
            return None;
        };
        Some(period.as_ps())
    });
    fixed.max().unwrap_or(0)
}

/// Returns the least common multiple of all periods, if it is at most `most`: what repeats may be
/// left out.
fn repeat(part: &Part<'_>, most: i64) -> Option<i64> {
    part.flows.iter().try_fold(1, |all: i64, flow| {
        let period = match &flow.traffic {
            Traffic::Periodic { period, .. } => period.as_ps(),
            Traffic::Flood { interval } => interval.as_ps(),
            Traffic::Bulk(_) | Traffic::Sporadic { .. } | Traffic::Poisson { .. } => 1,
            // Requests depend on all answers before.
            Traffic::Adaptive { .. } => return None,
        };
        let both = all.checked_mul(period / gcd(all, period))?;
        (both <= most).then_some(both)
    })
}

const fn gcd(mut a: i64, mut b: i64) -> i64 {
    while b != 0 {
        (a, b) = (b, a % b);
    }
    a
}
