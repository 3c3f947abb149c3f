//! The counterpart of figure 3.

use std::collections::BTreeMap;

use rtether_model::quantity::Duration;

use super::super::observe::{Sample, Sampler, load, mean, run_one};
use super::super::{Figure, ReproduceError, reference};
use super::{ALL_DOWN, ALL_UP, SCENARIO, Schedule, Streams};
use rtether::report::chart::{Axis, LineChart, Series, Style};
use rtether::run::Progress;

/// Returns every packet of the tested PISA in one run, and whether it goes to the controller.
pub(super) fn trace(progress: &Progress) -> Result<Vec<(bool, Sample)>, ReproduceError> {
    let set = [
        "run.for=6 s",
        "flows.upload.start=2 s",
        "flows.download.start=4 s",
    ];
    let scenario = load("skeie-flat.yaml", SCENARIO, &set.map(String::from))?;
    let streams = Streams::new(&scenario)?;
    let Schedule { quiet, end, .. } = Schedule::FULL;
    let mut sampler = Sampler::new(&scenario, &[ALL_UP, ALL_DOWN], &[(quiet.0, end)]);
    run_one(&scenario, 1, progress, &mut sampler)?;
    let own = sampler.samples.into_iter();
    let own = own.filter(|sample| [streams.up, streams.down].contains(&sample.stream));
    Ok(own
        .map(|sample| (sample.stream == streams.up, sample))
        .collect())
}

/// Returns the paper's values for each direction: quiet, and with the transfer that affects it.
fn printed() -> ([Duration; 2], [Duration; 2]) {
    let values = reference::values("skeie-flat");
    let time = |subject: &str, is_quiet: bool| {
        let mut own = values.iter().filter(|value| value.subject == subject);
        let value = own.find(|value| (value.condition == "real-time traffic only") == is_quiet);
        value.and_then(reference::Value::time).unwrap_or_default()
    };
    let (up, down) = (
        "pisa_to_controller, application",
        "controller_to_pisa, application",
    );
    // The paper gives the second value as an increase.
    let quiet = time(down, true);
    (
        [time(up, true), time(up, false)],
        [quiet, quiet + time(down, false)],
    )
}

/// Returns means over time slices, in seconds.
fn curve(samples: impl Iterator<Item = Sample>, slice: Duration) -> Vec<(f64, f64)> {
    let mut slices = BTreeMap::<i64, Vec<Duration>>::new();
    for sample in samples {
        let number = sample.released_at.as_ps() / slice.as_ps();
        slices.entry(number).or_default().push(sample.latency);
    }
    let place = |number: i64| (slice * number + slice / 2).as_secs_f64();
    let points = slices.into_iter();
    points
        .filter_map(|(number, all)| Some((place(number), mean(all)?.as_secs_f64())))
        .collect()
}

/// Draws the counterpart of figure 3 from the packets of one run.
pub(super) fn draw(trace: &[(bool, Sample)]) -> Figure {
    let direction = |is_up: bool| {
        let own = trace.iter().filter(move |(up, _)| *up == is_up);
        let own = own.map(|(_, sample)| *sample);
        // The controller sends every 100 ms, so each packet is a point.
        curve(
            own,
            if is_up {
                Duration::from_ms(20)
            } else {
                Duration::from_ms(1)
            },
        )
    };
    let ours = |name: &str, points| Series {
        name: name.into(),
        points,
        style: Style::Line,
    };
    let paper = |name: &str, points| Series {
        name: name.into(),
        points,
        style: Style::Markers,
    };
    let (up, down) = printed();
    // Drawn in the middle of the quiet second, and shortly after the start of the transfer.
    let quiet_and = |times: [Duration; 2], at: f64| {
        vec![(1.5, times[0].as_secs_f64()), (at, times[1].as_secs_f64())]
    };
    let chart = LineChart {
        title: "Delay of the PISA with file transfers".into(),
        note: "upload at 2 s, download at 4 s".into(),
        x: Axis::time("time of the run"),
        y: Axis::time("delay"),
        series: vec![
            ours("PISA to controller, means of 20 ms", direction(true)),
            ours("controller to PISA, each packet", direction(false)),
            paper("paper, PISA to controller", quiet_and(up, 2.01)),
            paper("paper, controller to PISA", quiet_and(down, 4.01)),
        ],
        ..LineChart::default()
    };
    Figure {
        caption: "The counterpart of figure 3.".into(),
        drawing: chart.render(),
    }
}
