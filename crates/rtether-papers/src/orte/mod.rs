//! Response time of publish-subscribe applications (003 Dolejs, 4.1, figures 9, 10, 12 to 14).
//!
//! Publication 1 on one node, subscription 2 and publication 2 on the other, subscription 1 on the
//! first: the response time is half the round trip. Over loopback all four are on one node, which
//! leaves only processing (catalogue, D6). The repetition time is the pause from a reply to the
//! next issue.

mod plant;
mod show;

use rtether_model::quantity::Duration;

use super::judge::Judge;
use super::observe::ratio;
use super::{Comparison, ReproduceError, Reproduction, reference};
pub(super) use plant::network;
use plant::simulate;
use rtether::meter::Statistics;
use rtether::run::Progress;

/// Octets of an issue (catalogue 4b, open points).
pub(super) const SIZES: [u64; 5] = [64, 128, 256, 512, 1024];
/// Repetition times in milliseconds; zero is as fast as possible.
pub(super) const REPETITIONS: [i64; 8] = [0, 1, 2, 5, 10, 20, 50, 100];
/// The paper's main operating point.
pub(super) const SIZE: u64 = 1024;
pub(super) const REPETITION: Duration = Duration::from_ms(10);
/// Issues in a series of the paper, and in one point of a simulated figure.
const ISSUES: u32 = 5_000;
const FEWER: u32 = 1_000;
/// Measured times within this ratio count as equal: repeated runs of one size differ as much.
const FLAT: f64 = 1.1;

/// One-way response times and their parts.
#[derive(Clone, Copy, Debug)]
pub(super) struct Series {
    pub(super) response: Statistics,
    pub(super) processing: Statistics,
    pub(super) communication: Statistics,
}

/// One point of figures 12 to 14.
#[derive(Clone, Copy, Debug)]
pub(super) struct Point {
    pub(super) size: u64,
    pub(super) repetition: Duration,
    pub(super) mean: Duration,
}

/// Returns points for these sizes and repetition times.
fn points(
    sizes: &[u64],
    repetitions: &[i64],
    progress: &Progress,
) -> Result<Vec<Point>, ReproduceError> {
    let mut all = Vec::new();
    for &size in sizes {
        for &ms in repetitions {
            let repetition = Duration::from_ms(ms);
            let found = simulate(size, repetition, FEWER, progress)?;
            all.push(Point {
                size,
                repetition,
                mean: found.response.mean,
            });
        }
    }
    Ok(all)
}

/// Judges the claims about four nodes and loopback; both experiments need both measurements.
pub(super) fn judge_parts(
    judge: &mut Judge,
    response: &Statistics,
    processing: &Statistics,
    communication: Option<&Statistics>,
) {
    if communication.is_some() {
        judge.leave_out(
            "C077",
            "processing is what a simulated response time spends outside the network, so that the \
             difference is the communication time by definition: C076 once more",
        );
    }
    if judge.has("C078") {
        let share = ratio(processing.mean, response.mean);
        judge.judge(
            "C078",
            share >= 0.7,
            format!("{:.0} % of {}", share * 100.0, response.mean),
            "processing is not 70 % of the response time",
        );
    }
    if judge.has("C079") {
        let (whole, alone) = (response.standard_deviation, processing.standard_deviation);
        let alike = ratio(whole, alone);
        // Without a communication measurement, network jitter is the difference of the variances.
        let rest = communication.map_or_else(
            || {
                let [whole, alone] = [whole, alone].map(|time| time.as_ns_floor().pow(2));
                Duration::from_ns((whole - alone).max(0).isqrt())
            },
            |own| own.standard_deviation,
        );
        judge.judge(
            "C079",
            (0.8..=1.25).contains(&alike) && ratio(rest, alone) <= 0.2,
            format!(
                "standard deviation: four nodes {whole}, processing {alone}, communication {rest}"
            ),
            "the jitter is not that of the processing",
        );
    }
}

/// Judges that the repetition time has little effect (C080).
pub(super) fn judge_repetition(judge: &mut Judge, points: &[Point]) {
    let (least, most) = extremes(points);
    let spread = ratio(most, least);
    judge.judge(
        "C080",
        spread <= 1.5,
        format!("{least} to {most}: {spread:.2}"),
        "means differ by more than half",
    );
}

/// Judges that the response time grows slowly with size (C081).
pub(super) fn judge_size(judge: &mut Judge, points: &[Point]) {
    let means: Vec<Duration> = points.iter().map(|point| point.mean).collect();
    let (Some(first), Some(last)) = (means.first(), means.last()) else {
        return;
    };
    let growth = ratio(*last, *first);
    let (least, most) = extremes(points);
    let is_flat = ratio(most, least) <= FLAT;
    let holds = (1.0..=2.0).contains(&growth) && means.is_sorted();
    let (holds, reason) = if is_flat && !holds {
        (None, "sizes differ by less than one does from run to run")
    } else {
        let reason = "does not grow everywhere, or by more than double";
        (Some(holds), reason)
    };
    let observed = format!("{first} to {last}: {growth:.2}");
    judge.decide("C081", holds, observed, reason);
}

/// Returns the smallest and largest time.
fn extremes(points: &[Point]) -> (Duration, Duration) {
    let means = points.iter().map(|point| point.mean);
    means.fold((Duration::MAX, Duration::ZERO), |(least, most), mean| {
        (least.min(mean), most.max(mean))
    })
}

fn parts(
    id: &'static str,
    title: &'static str,
    progress: &Progress,
    is_whole: bool,
) -> Result<Reproduction, ReproduceError> {
    let found = simulate(SIZE, REPETITION, ISSUES, progress)?;
    let mut judge = Judge::new(id);
    judge_parts(
        &mut judge,
        &found.response,
        &found.processing,
        Some(&found.communication),
    );
    let own = if is_whole {
        &found.response
    } else {
        &found.processing
    };
    Ok(Reproduction {
        id,
        title,
        mode: "sim",
        comparisons: show::values(id, own, &found),
        claims: judge.finish(),
        figures: vec![show::decomposition(&found)],
        notes: vec![show::note(&found)],
    })
}

pub(super) fn run_four_nodes(progress: &Progress) -> Result<Reproduction, ReproduceError> {
    let title = "Response time over a switch, four nodes";
    parts("dolejs-orte-4nodes", title, progress, true)
}

pub(super) fn run_loopback(progress: &Progress) -> Result<Reproduction, ReproduceError> {
    let title = "Response time within one node";
    parts("dolejs-orte-loopback", title, progress, false)
}

pub(super) fn run_repetition(progress: &Progress) -> Result<Reproduction, ReproduceError> {
    let found = points(&[SIZE], &REPETITIONS, progress)?;
    let mut judge = Judge::new("dolejs-orte-repetition");
    judge_repetition(&mut judge, &found);
    Ok(show::reproduction(
        "dolejs-orte-repetition",
        "Response time against repetition time",
        "sim",
        (&found, judge),
    ))
}

pub(super) fn run_size(progress: &Progress) -> Result<Reproduction, ReproduceError> {
    let found = points(&SIZES, &[REPETITION.as_ns_floor() / 1_000_000], progress)?;
    let mut judge = Judge::new("dolejs-orte-size");
    judge_size(&mut judge, &found);
    Ok(show::reproduction(
        "dolejs-orte-size",
        "Response time against size",
        "sim",
        (&found, judge),
    ))
}

pub(super) fn run_surface(progress: &Progress) -> Result<Reproduction, ReproduceError> {
    let found = points(&SIZES, &REPETITIONS, progress)?;
    let judge = Judge::new("dolejs-orte-surface");
    let mut all = show::reproduction(
        "dolejs-orte-surface",
        "Response time against size and repetition time",
        "sim",
        (&found, judge),
    );
    all.notes.push(
        "The paper's growth with the repetition time comes from caches that grow cold, which \
         the simulator does not model; `--live` measures it."
            .into(),
    );
    Ok(all)
}

/// Reports measured points.
pub(super) fn measured(
    id: &'static str,
    title: &'static str,
    points: &[Point],
    judge: Judge,
) -> Reproduction {
    show::reproduction(id, title, "live", (points, judge))
}

/// Compares the paper's values with these.
pub(super) fn values(id: &'static str, own: &Statistics) -> Vec<Comparison> {
    show::rows(id, own)
}

/// Returns the paper's value of a metric.
fn printed(id: &str, metric: &str) -> Option<Duration> {
    reference::times(id, metric).into_values().next()
}
