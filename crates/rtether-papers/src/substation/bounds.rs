//! `skeie-bounds`: the methods surveyed in 000 Skeie II applied to the substation of its section
//! III (S12; R10 to R18).
//!
//! The paper names three ways to bound a delay without formulas; textbook forms are used:
//!
//! - network calculus (Cruz): every flow is a leaky bucket, the delay of a hop is the sum of
//!   bursts, and the burst of a flow grows by rate times delay;
//! - scheduling analysis (Tindell and Clark; order of arrival after George, Rivierre and Spuri):
//!   every flow is a staircase of period and jitter, each hop costs the longest wait in a busy
//!   period, and the wait is the jitter of the next hop;
//! - the hybrid of both (Koubaa and Song): the bounds of `rtether_bounds`, which combine the
//!   staircases of scheduling with the limits that links impose in network calculus.
//!
//! The first two are computed here from the places on each path alone, with [`textbook`].

mod textbook;

use std::time::Instant;

use rtether::bound;
use rtether::report::text::real_len;
use rtether_bounds::Analysis;

use super::{CLASSES, Run};
use crate::prelude::*;
use textbook::{Method, Plant};

/// Number of random phase draws.
const RUNS: u64 = 8;
const DURATION_S: i64 = 8;

const QUIET: &str = "generate.substation.files=false";
const VARIANTS: [(&str, &[&str]); 2] = [
    ("substation", &[QUIET]),
    (
        "slow nodes",
        &[
            QUIET,
            "generate.substation.pisa_rate=5000 packets/s",
            "generate.substation.busbar_rate=40000 packets/s",
        ],
    ),
];

/// Simulated maxima and three bounds of every stream of one plant.
struct PlantBounds {
    name: &'static str,
    classes: Vec<String>,
    simulated: Vec<Duration>,
    hybrid: Vec<Duration>,
    scheduling: Vec<Duration>,
    calculus: Vec<Duration>,
    /// What each of these took on this host, in that order.
    cost: [std::time::Duration; 4],
}

/// Returns a result, and how long it took.
fn timed<T>(work: impl FnOnce() -> T) -> (T, std::time::Duration) {
    let begin = Instant::now();
    let result = work();
    (result, begin.elapsed())
}

impl PlantBounds {
    fn new(
        name: &'static str,
        set: &[&str],
        runs: u64,
        progress: &Progress,
    ) -> Result<Self, ReproduceError> {
        let mut simulated: Vec<Duration> = Vec::new();
        let mut last = None;
        let mut runs_took = std::time::Duration::ZERO;
        // Seed zero has all phases equal, which is bad for most streams.
        for seed in 0..=runs {
            let together = ["generate.substation.phase=synchronized"];
            let more: &[&str] = if seed == 0 { &together } else { &[] };
            let run = || Run::new(seed, DURATION_S, &[set, more].concat(), progress);
            let (run, took) = timed(run);
            let run = run?;
            runs_took += took;
            let maxima = run.record.streams.iter().map(|stream| stream.latency.max);
            if simulated.is_empty() {
                simulated = maxima.collect();
            } else {
                let pairs = simulated.iter_mut().zip(maxima);
                pairs.for_each(|(most, max)| *most = max.max(*most));
            }
            last = Some(run);
        }
        let scenario = last.expect("at least one run").scenario;
        let (analysis, hybrid_took) = timed(|| bound::analyze(&scenario));
        let plant = Plant::new(&scenario, &analysis)
            .ok_or_else(|| ReproduceError::Scenario("a stream without a bound".into()))?;
        let solve = |method| {
            let endless = || ReproduceError::Scenario(format!("{method:?}: no fixed point"));
            let (found, took) = timed(|| plant.solve(method));
            Ok::<_, ReproduceError>((found.ok_or_else(endless)?, took))
        };
        let (scheduling, scheduling_took) = solve(Method::Scheduling)?;
        let (calculus, calculus_took) = solve(Method::NetworkCalculus)?;
        let flows = analysis.streams.iter();
        let classes = flows.map(|s| scenario.flows[s.flow.index()].class.clone());
        Ok(Self {
            name,
            classes: classes.collect(),
            simulated,
            hybrid: own_bounds(&analysis),
            scheduling,
            calculus,
            cost: [runs_took, hybrid_took, scheduling_took, calculus_took],
        })
    }

    fn all(&self) -> [&[Duration]; 4] {
        [&self.simulated, &self.hybrid, &self.scheduling, &self.calculus]
    }

    /// Returns the largest value of a class in each column.
    fn of_class(&self, class: &str) -> [Duration; 4] {
        self.all().map(|column| {
            let values = column.iter().zip(&self.classes);
            let own = values.filter(|(_, name)| *name == class);
            own.map(|(value, _)| *value).max().unwrap_or_default()
        })
    }

    /// Counts the streams for which one column is at most the other.
    fn ordered(&self, low: &[Duration], high: &[Duration]) -> usize {
        debug_assert_eq!(low.len(), self.classes.len());
        low.iter().zip(high).filter(|(low, high)| low <= high).count()
    }

    /// Returns the mean ratio of bound to simulated maximum for the three bounds.
    fn pessimism(&self) -> [f64; 3] {
        let [simulated, bounds @ ..] = self.all();
        bounds.map(|bounds| {
            let pairs = bounds.iter().zip(simulated);
            let quotients = pairs.map(|(bound, seen)| bound.as_secs_f64() / seen.as_secs_f64());
            quotients.sum::<f64>() / real_len(bounds.len())
        })
    }
}

fn own_bounds(analysis: &Analysis) -> Vec<Duration> {
    let bounds = bound::latencies(analysis);
    bounds.into_iter().map(Option::unwrap_or_default).collect()
}

pub(crate) fn run(page: &mut Page, progress: &Progress) -> Outcome {
    page.title("Three ways to bound the delays of a substation, against simulation");
    let found = VARIANTS.iter().map(|(name, set)| PlantBounds::new(name, set, RUNS, progress));
    let found = found.collect::<Result<Vec<_>, _>>()?;
    judge(page, &found);
    let mut pessimism = Vec::new();
    for one in &found {
        show(page, one);
        let [hybrid, scheduling, calculus] = one.pessimism();
        pessimism.push(format!(
            "{}: hybrid {hybrid:.2}, scheduling {scheduling:.2}, network calculus {calculus:.2}",
            one.name
        ));
    }
    page.note("Without file transfers: the arrivals of TCP have no limit.");
    page.note(
        "Computing cost is time on this host, another one in each run. The hybrid is the analysis of \
         rtether with all it finds, whole paths and memory too; the other two are the bare recursions.",
    );
    page.note(format!(
        "Mean over all streams of bound over largest latency of {RUNS} draws of the phases and \
         of one run with equal phases: {}. The \
         quotients are above the true pessimism, since no draw need hit the worst case.",
        pessimism.join("; ")
    ));
    page.note(
        "In order of arrival the staircase of a flow lies below its leaky bucket everywhere, so \
         that the minimum of both at each node, the hybrid of Koubaa and Song, is the \
         scheduling bound; the hybrid here adds what links let through.",
    );
    Ok(())
}

fn judge(page: &mut Page, found: &[PlantBounds]) {
    let (mut safe, mut ordered, mut tighter, mut proved, mut all) = (0, 0, 0, 0, 0);
    for one in found {
        all += one.classes.len();
        safe += one.ordered(&one.simulated, &one.scheduling);
        ordered += one.ordered(&one.scheduling, &one.calculus);
        let both = one.scheduling.iter().zip(&one.calculus);
        let least: Vec<Duration> = both.map(|(a, b)| *a.min(b)).collect();
        tighter += one.ordered(&one.hybrid, &least);
        proved += one.ordered(&one.simulated, &one.hybrid);
    }
    page.judge(
        "C003",
        safe == all && ordered == all,
        format!(
            "{safe} of {all} streams: simulation <= scheduling; {ordered}: scheduling <= network \
             calculus"
        ),
        "a stream is out of order",
    );
    page.judge(
        "C004",
        tighter == all && proved == all,
        format!("{tighter} of {all} streams: hybrid <= both; {proved}: simulation <= hybrid"),
        "the hybrid is not the least for every stream, or exceeded",
    );
}

/// Shows one plant as rows and as a figure.
fn show(page: &mut Page, found: &PlantBounds) {
    let name = found.name;
    let mut groups = Vec::new();
    for class in CLASSES {
        let values = found.of_class(class);
        let [simulated, hybrid, scheduling, calculus] = values;
        let ours = format!(
            "simulated {simulated}, hybrid {hybrid}, scheduling {scheduling}, network calculus \
             {calculus}"
        );
        page.row(format!("{class} ({name})"), "no number", ours, "000 II");
        // Four names must fit below the chart.
        let short = class.replace("protection unit", "PU").replace("circuit breaker", "CB");
        groups.push((short, values.map(|value| column(value, None)).into()));
    }
    let [runs, hybrid, scheduling, calculus] = found.cost.map(|took| took.as_secs_f64() * 1e3);
    page.row(
        format!("computing cost ({name})"),
        "no number",
        format!(
            "{} runs {runs:.0} ms, hybrid {hybrid:.1} ms, scheduling {scheduling:.1} ms, network \
             calculus {calculus:.1} ms",
            RUNS + 1
        ),
        "000 II",
    );
    page.columns(
        "The paper has no figure of it.",
        [&format!("Bounds and simulated maxima: {name}"), "worst stream of each class"],
        Axis::time("latency"),
        ["simulated maximum", "hybrid (rtether)", "scheduling", "network calculus"],
        groups,
    );
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Oracle: the order given by theory, and a simulator that shares no code with the bounds.
    #[test]
    fn the_order_of_the_survey_holds() {
        for (name, set) in VARIANTS {
            let found = PlantBounds::new(name, set, 1, &Progress::default()).expect("runs");
            let all = found.classes.len();
            assert!(all > 300, "{all} streams");
            for pair in found.all().windows(2) {
                assert_eq!(found.ordered(pair[0], pair[1]), all, "{name}");
            }
            assert!(found.cost.iter().all(|took| !took.is_zero()), "{name}");
            let [hybrid, scheduling, calculus] = found.pessimism();
            assert!(hybrid < scheduling && scheduling < calculus, "{name}");
        }
    }
}
