//! The counterpart of figure 3.

use std::collections::BTreeMap;

use super::{ALL_DOWN, ALL_UP, SCENARIO, Schedule, Streams};
use crate::observe::{Sample, Sampler, load, mean, run_one};
use crate::prelude::*;

/// Returns every packet of the tested PISA in one run, and whether it goes to the controller.
fn trace(progress: &Progress) -> Result<Vec<(bool, Sample)>, ReproduceError> {
    let set = ["run.for=6 s", "flows.upload.start=2 s", "flows.download.start=4 s"];
    let scenario = load("skeie-flat.yaml", SCENARIO, &set.map(String::from))?;
    let streams = Streams::new(&scenario)?;
    let Schedule { quiet, end, .. } = Schedule::FULL;
    let mut sampler = Sampler::new(&scenario, &[ALL_UP, ALL_DOWN], &[(quiet.0, end)]);
    run_one(&scenario, 1, progress, &mut sampler)?;
    let own = sampler.samples.into_iter();
    let own = own.filter(|sample| [streams.up, streams.down].contains(&sample.stream));
    Ok(own.map(|sample| (sample.stream == streams.up, sample)).collect())
}

/// Returns the paper's values for each direction: quiet, and with the transfer that affects it.
fn printed() -> ([Duration; 2], [Duration; 2]) {
    let values = reference::values("skeie-flat");
    let time = |subject: &str, is_quiet: bool| {
        let mut own = values.iter().filter(|value| value.subject == subject);
        let value = own.find(|value| (value.condition == "real-time traffic only") == is_quiet);
        value.and_then(Value::time).unwrap_or_default()
    };
    let (up, down) = ("pisa_to_controller, application", "controller_to_pisa, application");
    // The paper gives the second value as an increase.
    let quiet = time(down, true);
    ([time(up, true), time(up, false)], [quiet, quiet + time(down, false)])
}

/// Returns means over time slices.
fn means(
    samples: impl Iterator<Item = Sample>,
    slice: Duration,
) -> impl Iterator<Item = (Duration, Option<Duration>)> {
    let mut slices = BTreeMap::<i64, Vec<Duration>>::new();
    for sample in samples {
        let number = sample.released_at.as_ps() / slice.as_ps();
        slices.entry(number).or_default().push(sample.latency);
    }
    let slices = slices.into_iter();
    slices.map(move |(number, all)| (slice * number + slice / 2, mean(all)))
}

/// Draws the counterpart of figure 3 from the packets of one run.
pub(super) fn draw(page: &mut Page, progress: &Progress) -> Outcome {
    let trace = trace(progress)?;
    let direction = |name, is_up, slice| {
        let own = trace.iter().filter(move |(up, _)| *up == is_up);
        curve(name, Style::Line, means(own.map(|(_, sample)| *sample), slice))
    };
    let (up, down) = printed();
    // Drawn in the middle of the quiet second, and shortly after the start of the transfer.
    let paper = |name, times: [Duration; 2], at| {
        curve(name, Style::Markers, [(1.5, times[0]), (at, times[1])])
    };
    let ms = Duration::from_ms;
    page.lines(
        "The counterpart of figure 3.",
        ["Delay of the PISA with file transfers", "upload at 2 s, download at 4 s"],
        [Axis::time("time of the run"), Axis::time("delay")],
        vec![
            direction("PISA to controller, means of 20 ms", true, ms(20)),
            // The controller sends every 100 ms, so each packet is a point.
            direction("controller to PISA, each packet", false, ms(1)),
            paper("paper, PISA to controller", up, 2.01),
            paper("paper, controller to PISA", down, 4.01),
        ],
    );
    Ok(())
}
