//! Cells of the main table.

use rtether_model::admission::Refusal;
use rtether_model::quantity::Duration;
use rtether_model::record::{ChannelRecord, SampleRecord};

use super::super::checked::{Checked, Stream};
use super::super::text::{self, percent, time, time_or_dash};
use super::plain;
use crate::measured::{Measurement, WithStalls};
use crate::words::{Column, Standing};

/// The only standing shown as two words.
pub(super) const NOT_PROVED: &str = "not proved";

/// Returns a measured time; empty if nothing was measured.
pub(super) fn live(stream: &Stream<'_>, value: fn(&Measurement) -> Option<Duration>) -> String {
    slowest(std::iter::once(*stream), value)
}

pub(super) fn slowest<'a>(
    streams: impl Iterator<Item = Stream<'a>>,
    value: fn(&Measurement) -> Option<Duration>,
) -> String {
    let measured = streams.filter_map(|stream| stream.measured);
    let largest = measured.map(|measured| value(&measured)).max();
    largest.map_or_else(String::new, time_or_dash)
}

/// Returns the slowest figure of all delivered packets, where it is not that of those without stalls.
pub(super) fn with_stalls<'a>(
    streams: impl IntoIterator<Item = Stream<'a>>,
    without: fn(&Measurement) -> Option<Duration>,
    with: fn(&WithStalls) -> Option<Duration>,
) -> String {
    let (mut slowest, mut calm) = (None, None);
    for measured in streams.into_iter().filter_map(|stream| stream.measured) {
        slowest = slowest.max(with(&measured.with_stalls));
        calm = calm.max(without(&measured));
    }
    let differing = slowest.filter(|_| slowest != calm);
    differing.map_or_else(String::new, time)
}

/// Returns the number of measured packets that missed their deadline; empty without a deadline.
pub(super) fn live_missed<'a>(streams: impl IntoIterator<Item = Stream<'a>>) -> String {
    let streams = streams.into_iter();
    let judged = streams.filter(|stream| stream.flow.deadline.is_some());
    let measured = judged.filter_map(|stream| stream.measured);
    let missed = measured.map(|own| own.missed).reduce(|all, own| all + own);
    missed.map_or_else(String::new, |missed| missed.to_string())
}

/// Returns the number of packets that missed their deadline; empty without a deadline.
pub(super) fn missed<'a>(streams: impl Iterator<Item = Stream<'a>>) -> String {
    let judged = streams.filter(|stream| stream.flow.deadline.is_some());
    let missed: Option<u64> = judged.map(|s| s.record.missed).reduce(|a, b| a + b);
    missed.map_or_else(String::new, |missed| missed.to_string())
}

/// Returns the requests of these streams for channels together, each flow once; `None` if none asks.
pub(super) fn all_channels<'a>(streams: impl Iterator<Item = Stream<'a>>) -> Option<ChannelRecord> {
    let first = streams.filter(|s| s.flow.listeners.first() == Some(&s.record.listener_id()));
    let channels = first.filter_map(|stream| stream.record.channel);
    channels.reduce(|mut all, own| {
        all.merge(&own);
        all
    })
}

/// Returns what became of requests for channels; empty if none asks.
pub(super) fn channel(channel: Option<&ChannelRecord>) -> String {
    let Some(own) = channel else {
        return String::new();
    };
    let all = own.granted + own.refused.iter().sum::<u64>() + own.undecided;
    match (own.granted, own.refusal()) {
        (0, Some(refusal)) if all == 1 => format!("refused: {}", refusal.name()),
        (0, None) if all == 1 => "undecided".into(),
        (1, _) if all == 1 => format!("after {}", time(own.wait_max)),
        (granted, _) => format!("{granted} of {all}"),
    }
}

/// Returns the outcome of all requests, part by part.
pub(super) fn channels_line(all: &ChannelRecord) -> Vec<String> {
    let refused = Refusal::ALL.into_iter().filter_map(|reason| {
        let count = all.refused[reason.index()];
        (count > 0).then(|| format!("{count} refused ({})", reason.name()))
    });
    let undecided = (all.undecided > 0).then(|| format!("{} undecided", all.undecided));
    let wait = time(all.wait_max);
    let wait = (all.granted > 0).then(|| format!("at most {wait} from request to grant"));
    let granted = format!("{} granted", all.granted);
    let parts = std::iter::once(granted).chain(refused).chain(undecided);
    parts.chain(wait).collect()
}

/// Returns what became of the samples of these streams together; `None` without topics.
pub(super) fn all_samples<'a>(streams: impl Iterator<Item = Stream<'a>>) -> Option<SampleRecord> {
    let samples = streams.filter_map(|stream| stream.record.samples);
    samples.reduce(|mut all, own| {
        all.merge(&own);
        all
    })
}

/// Returns what became of all samples, part by part.
pub(super) fn samples_line(all: &SampleRecord) -> Vec<String> {
    let parts = [
        (all.lost, "lost"),
        (all.rejected, "rejected"),
        (all.replaced, "replaced"),
        (all.filtered, "filtered"),
        (all.expired, "expired"),
        (all.not_owed, "not owed"),
        (all.under_way, "under way"),
    ];
    let first = [(all.written, "written for readers"), (all.taken, "taken")];
    let parts = parts.into_iter().filter(|(count, _)| *count > 0);
    let parts = first.into_iter().chain(parts);
    parts.map(|(count, name)| format!("{count} {name}")).collect()
}

/// Returns the worst standing of several streams.
pub(super) fn worst_standing(standings: impl Iterator<Item = Standing>) -> Standing {
    standings.max_by_key(|s| s.rank()).unwrap_or_default()
}

/// Returns the standing of one column; empty if not judged.
pub(super) fn word(standing: Standing) -> String {
    standing.said().map_or_else(String::new, |_| shout(standing))
}

pub(super) fn worst_word(standings: impl Iterator<Item = Standing>) -> String {
    word(worst_standing(standings))
}

/// Failures are in capitals, so that they stand out without color.
pub(super) fn shout(standing: Standing) -> String {
    match standing {
        Standing::Late | Standing::Lost => standing.name().to_uppercase(),
        Standing::NotProved => NOT_PROVED.into(),
        Standing::NoDeadline => "no deadline".into(),
        Standing::Unjudged
        | Standing::Proved
        | Standing::Held { .. }
        | Standing::NoAnswer
        | Standing::NoBound => standing.name().into(),
        Standing::IfDelivered | Standing::IfNothingDropped => standing.name().replace('-', " "),
    }
}

pub(super) fn culprit(checked: &Checked, stream: &Stream<'_>) -> String {
    let Some(blame) = stream.assessment.responsible else {
        return "-".into();
    };
    let share = percent(text::share(blame.delay, blame.of));
    let of = match blame.column {
        Column::Bound => " of the bound:",
        Column::Simulated | Column::Measured => "",
    };
    plain(&format!("{share}{of} {}", checked.place_name(blame.place)))
}
