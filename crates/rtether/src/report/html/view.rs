//! Views for charts: one stream, or all streams of a class together.

use rtether_model::histogram::Histogram;
use rtether_model::quantity::Duration;
use rtether_model::record::{Bucket, Segment, Summary, Worst};

use super::super::checked::{Checked, Stream};
use super::super::text::{plural, time};
use super::super::verdicts::class_name;
use super::is_small;
use crate::measured::Distribution;

/// Most failed streams with their own charts in a large plant.
const MOST_FAILED: usize = 12;
/// Most deadlines drawn in one chart.
const MOST_DEADLINES: usize = 3;

/// The latency of one or more streams.
pub(super) struct View<'a> {
    pub(super) title: String,
    pub(super) note: String,
    pub(super) latency: Summary,
    pub(super) histogram: Histogram,
    /// Measured distribution, if there is one.
    pub(super) measured: Option<Distribution>,
    pub(super) segments_ps: [i128; Segment::COUNT],
    pub(super) worst: Option<&'a Worst>,
    /// Where the worst packet spent most of its time.
    pub(super) blame: String,
    /// Name and distribution of the worst of several streams.
    pub(super) worst_stream: Option<(String, Stream<'a>)>,
    pub(super) deadlines: Vec<Duration>,
    pub(super) bound: Option<Duration>,
    pub(super) buckets: Vec<Bucket>,
}

impl<'a> View<'a> {
    /// Returns the views, worst first: streams, or classes and the streams that failed.
    pub(super) fn all(checked: &'a Checked) -> Vec<Self> {
        let of_stream = |index: usize| {
            let stream = checked.stream(index);
            let path = checked.path_name(&stream);
            let title = checked.stream_name(&stream);
            let note = if path == title { String::new() } else { path };
            Self::new(checked, title, note, &[stream])
        };
        let order = checked.worst_first();
        let mut views: Vec<Self> = if is_small(checked) {
            order.into_iter().map(of_stream).collect()
        } else {
            let failed = |index: &usize| checked.stream(*index).verdict().is_failure();
            let failed = order.into_iter().filter(failed).take(MOST_FAILED).map(of_stream);
            let classes = checked.groups().into_iter().map(|group| {
                let streams: Vec<_> = group.streams.iter().map(|&i| checked.stream(i)).collect();
                let note = plural(streams.len(), "stream");
                Self::new(checked, class_name(&group.class).into(), note, &streams)
            });
            failed.chain(classes).collect()
        };
        views.retain(|view| view.latency.count > 0);
        views
    }

    fn new(checked: &'a Checked, title: String, note: String, streams: &[Stream<'a>]) -> Self {
        let mut view = Self {
            title,
            note,
            latency: Summary::default(),
            histogram: Histogram::default(),
            measured: None,
            segments_ps: [0; Segment::COUNT],
            worst: None,
            blame: String::new(),
            worst_stream: None,
            deadlines: Vec::new(),
            bound: None,
            buckets: Vec::new(),
        };
        for stream in streams {
            view.add(stream);
        }
        let slowest = streams.iter().max_by_key(|stream| (stream.max(), usize::MAX - stream.index));
        if let Some(stream) = slowest {
            view.worst = stream.record.worst.as_ref();
            view.blame = checked.worst_place(stream).unwrap_or_default();
            if streams.len() > 1 {
                view.worst_stream = Some((checked.stream_name(stream), *stream));
            }
        }
        view.deadlines.sort_unstable();
        view.deadlines.dedup();
        if view.deadlines.len() > MOST_DEADLINES {
            let ends = [view.deadlines[0], view.deadlines[view.deadlines.len() - 1]];
            view.deadlines = ends.to_vec();
        }
        view
    }

    fn add(&mut self, stream: &Stream<'a>) {
        let record = stream.record;
        self.latency.merge(&record.latency);
        self.histogram.merge(&record.histogram);
        if let Some(other) = stream.distribution.filter(|own| own.latency.count > 0) {
            let own = self.measured.get_or_insert_default();
            own.latency.merge(&other.latency);
            own.histogram.merge(&other.histogram);
        }
        for (own, others) in self.segments_ps.iter_mut().zip(record.segments_ps) {
            *own += others;
        }
        self.deadlines.extend(stream.flow.deadline);
        self.bound = self.bound.max(stream.bound);
        if record.buckets.len() > self.buckets.len() {
            self.buckets.resize(record.buckets.len(), Bucket::default());
        }
        for (own, other) in self.buckets.iter_mut().zip(&record.buckets) {
            *own = joined(own, other);
        }
    }

    /// Returns the mean time in each segment.
    pub(super) fn mean_segments(&self) -> [Duration; Segment::COUNT] {
        let count = i128::from(self.latency.count.max(1));
        self.segments_ps
            .map(|sum| Duration::from_ps(i64::try_from(sum / count).unwrap_or(i64::MAX)))
    }

    /// Returns the deadline in words.
    pub(super) fn deadline_words(&self) -> String {
        match self.deadlines.as_slice() {
            [] => String::new(),
            [one] => format!("deadline {}", time(*one)),
            [first, .., last] => format!("deadlines {} to {}", time(*first), time(*last)),
        }
    }
}

/// Merges two time buckets.
pub(super) fn joined(a: &Bucket, b: &Bucket) -> Bucket {
    Bucket { count: a.count + b.count, sum_ps: a.sum_ps + b.sum_ps, max: a.max.max(b.max) }
}
