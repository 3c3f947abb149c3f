//! Paper 003 live: senders on an emulated hub.

use rtether::report::text::plural;
use rtether_model::histogram::Histogram;

use crate::hub;
use crate::lab;
use crate::prelude::*;

/// Measuring time per load.
const DURATION: Duration = Duration::from_secs(3);
/// The paper's hub has 100 Mbit/s; rate and loads are divided by ten.
const SCALE: u32 = 10;

pub(crate) fn hub(page: &mut Page, progress: &Progress) -> Outcome {
    page.title("Ten senders on a hub, measured");
    let mut emulations = Vec::new();
    for (load, scenario) in hub::live_scenarios(SCALE, DURATION) {
        let measured = lab::run(&scenario, DURATION, 1, progress)?;
        let mut all = Histogram::default();
        let (mut sent, mut lost, mut stalled) = (0, 0, 0);
        for stream in &measured.streams {
            all.merge(&stream.histogram);
            sent += stream.released;
            lost += stream.lost;
            stalled += stream.stalled;
        }
        let of = |part| all.quantile(part, 1_000).unwrap_or_default();
        page.row(
            format!("communication time, {load} packets/s on 10 Mbit/s"),
            format!(
                "at {} packets/s on 100 Mbit/s, see the simulated experiment",
                load * SCALE
            ),
            format!(
                "p10 {}, p50 {}, p95 {}, p99 {}; {lost} of {} lost or under way, {stalled} left out: \
                 stalls",
                of(100),
                of(500),
                of(950),
                of(990),
                plural(usize::try_from(sent).unwrap_or(usize::MAX), "packet"),
            ),
            "003 Dolejs Fig. 2",
        );
        emulations.extend(measured.emulation);
    }
    page.note(lab::fidelity(&emulations));
    page.note(format!(
        "Rate and loads are a {SCALE}th of the paper's, so that times are {SCALE} times as long; \
         Poisson arrivals, {DURATION} each. The claims are about the simulation and are not judged."
    ));
    Ok(())
}
