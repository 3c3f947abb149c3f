//! Limits on run length and time-series resolution, set by memory and by the range of sums.

use rtether_model::network::{Duplex, NodeKind};
use rtether_model::quantity::Duration;

use super::codes;
use crate::diagnostic::Diagnostic;
use crate::help::Help;
use crate::lower::{Plant, RunPlaces};
use crate::plan::RunPlan;
use crate::reader::Reader;

/// Most times a record sums up in parallel: two servers of a stack and its instances.
const PARTS: usize = 10;

/// Checks `run:` against the plant. A default bucket is lengthened if there are many streams.
pub(crate) fn check(reader: &mut Reader<'_>, plant: &Plant, plan: &mut RunPlan, places: RunPlaces) {
    buckets(reader, plant, plan, places);
    stages(reader, plant, places);
    length(reader, plant, plan, places);
}

fn buckets(reader: &mut Reader<'_>, plant: &Plant, plan: &mut RunPlan, places: RunPlaces) {
    let streams: usize = plant.flows.iter().map(|flow| flow.listeners.len()).sum();
    if plan.points(streams) <= RunPlan::MOST_POINTS {
        return;
    }
    let each = RunPlan::MOST_POINTS / i64::try_from(streams.max(1)).unwrap_or(i64::MAX);
    let (most, length) = (each.max(1), plan.duration.as_ps());
    let shortest = Duration::from_ps(length / most + i64::from(length % most > 0));
    let Some(span) = places.bucket else {
        plan.bucket = shortest;
        return;
    };
    let rule = format!("at least {shortest} with {streams} streams");
    let found = plan.bucket.to_string();
    let why = "at most ten million time-series points in total";
    reader.out_of_range("bucket", span, &rule, &found, why);
}

/// Most records of stages: one for each stage and stream, with a histogram of some kilobytes, in
/// every run that goes on at once.
const MOST_OF_STAGES: usize = 100_000;

fn stages(reader: &mut Reader<'_>, plant: &Plant, places: RunPlaces) {
    let streams: usize = plant.flows.iter().map(|flow| flow.listeners.len()).sum();
    if let Some((span, count)) = places.stages
        && count * streams > MOST_OF_STAGES
    {
        let most = MOST_OF_STAGES / streams;
        let rule = format!("a list of at most {most} with {streams} streams");
        let why = "each stage keeps figures of every stream";
        reader.out_of_range("stages", span, &rule, &count.to_string(), why);
    }
}

/// Sums over all runs must fit 63 bits of picoseconds: time observed, time servers were busy, and
/// time all stations of a shared medium wasted on collisions.
fn length(reader: &mut Reader<'_>, plant: &Plant, plan: &RunPlan, places: RunPlaces) {
    let network = &plant.network;
    let at_hubs = network.iter_nodes().map(|(_, node)| match &node.kind {
        NodeKind::Hub(hub) => usize::from(hub.ports),
        NodeKind::EndStation(_) | NodeKind::Switch(_) => 0,
    });
    let half = network.links.iter().filter(|link| link.duplex == Duplex::Half);
    let sharing = at_hubs.sum::<usize>() + 2 * half.count();
    let parts = i64::try_from(PARTS.max(sharing)).unwrap_or(i64::MAX);
    let most = Duration::MAX / parts;
    let all = i128::from(plan.duration.as_ps()) * i128::from(plan.runs);
    if all <= i128::from(most.as_ps()) {
        return;
    }
    let Some(span) = places.length else { return };
    let title = format!(
        "{} runs of {} add up to more time than can be represented",
        plan.runs, plan.duration
    );
    let label = format!("at most {most} over all runs of this plant");
    let seconds = (most / i64::from(plan.runs)).as_ps() / Duration::from_secs(1).as_ps();
    let help = Help::write(format!("for: {seconds} s")).certain(false);
    reader.report(Diagnostic::new(&codes::VALUE_OUT_OF_RANGE, title, span, label).help(help));
}
