//! Paper 003 live: senders on an emulated hub.

use super::super::hub;
use super::super::judge::Judge;
use super::super::{Comparison, ReproduceError, Reproduction};
use super::lab;
use rtether::report::text::plural;
use rtether::run::Progress;
use rtether_model::quantity::Duration;
use rtether_testbed::testbed::{self, Backend, Options, Plan, Progress as Standing};

/// Measuring time per load.
const DURATION: Duration = Duration::from_secs(3);
/// The paper's hub has 100 Mbit/s; rate and loads are divided by ten.
const SCALE: u32 = 10;

pub(super) fn hub(progress: &Progress) -> Result<Reproduction, ReproduceError> {
    let (mut comparisons, mut emulations) = (Vec::new(), Vec::new());
    for (load, scenario) in hub::live_scenarios(SCALE, DURATION) {
        if progress.is_cancelled() {
            return Err(ReproduceError::Interrupted);
        }
        let tag = format!("{}-hub{load}", std::process::id());
        let plan = Plan::new(&scenario, Backend::Emulated, &tag)?;
        let options = Options {
            backend: Backend::Emulated,
            duration: DURATION,
            seed: 1,
            priority: Some(lab::PRIORITY),
        };
        let measured = testbed::run(&scenario, &plan, &options, &Standing::default())?;
        if let Some(error) = measured.errors.first() {
            return Err(ReproduceError::Machine(error.clone()));
        }
        let mut all = rtether_model::histogram::Histogram::default();
        let (mut sent, mut lost, mut stalled) = (0, 0, 0);
        for stream in &measured.streams {
            all.merge(&stream.histogram);
            sent += stream.released;
            lost += stream.lost;
            stalled += stream.stalled;
        }
        let of = |part| all.quantile(part, 1_000).unwrap_or_default();
        comparisons.push(Comparison {
            quantity: format!("communication time, {load} packets/s on 10 Mbit/s"),
            paper: format!("at {} packets/s on 100 Mbit/s, see the simulated experiment", load * SCALE),
            ours: format!(
                "p10 {}, p50 {}, p95 {}, p99 {}; {} of {} lost or under way, {stalled} left out: stalls",
                of(100),
                of(500),
                of(950),
                of(990),
                lost,
                plural(usize::try_from(sent).unwrap_or(usize::MAX), "packet"),
            ),
            source: "003 Dolejs Fig. 2".into(),
        });
        emulations.extend(measured.emulation);
    }
    Ok(Reproduction {
        id: "dolejs-hub",
        title: "Ten senders on a hub, measured",
        mode: "live",
        comparisons,
        claims: Judge::new("dolejs-hub").finish(),
        figures: Vec::new(),
        notes: vec![
            lab::fidelity(&emulations),
            format!(
                "Rate and loads are a {SCALE}th of the paper's, so that times are {SCALE} times as long; \
                 Poisson arrivals, {DURATION} each. The claims are about the simulation and are \
                 not judged."
            ),
        ],
    })
}
