//! Figures of miss ratios, burst times and throughput over the number of active nodes.

use std::sync::Arc;

use super::super::Figure;
use super::{Platform, Point, Scheme};
use rtether::report::chart::{Axis, LineChart, Series, Style};

/// A quantity drawn over the number of active nodes.
pub(super) struct Drawing<'a> {
    pub(super) title: &'a str,
    pub(super) caption: &'a str,
    pub(super) y: Axis,
    pub(super) value: fn(&Point) -> f64,
    pub(super) paper: Paper,
}

/// The paper's values: names, and points of (active nodes, value).
type Paper = Vec<(&'static str, Vec<(f64, f64)>)>;

impl<'a> Drawing<'a> {
    /// Miss ratios.
    pub(super) fn misses(caption: &'a str, paper: Paper) -> Self {
        Self {
            title: "Missed messages",
            caption,
            y: Axis::number("miss ratio").log().between(1e-5, 1.0),
            value: Point::miss_at_most,
            paper,
        }
    }

    /// Throughput of files as a fraction of the medium rate.
    pub(super) fn throughput(caption: &'a str, paper: Paper) -> Self {
        Self {
            title: "Throughput of files",
            caption,
            y: Axis::number("part of 10 Mbit/s"),
            value: |point| point.throughput,
            paper,
        }
    }
}

/// Draws one line per scheme.
pub(super) fn over_active(
    points: &[Arc<Point>],
    platform: Platform,
    schemes: &[Scheme],
    drawing: Drawing<'_>,
) -> Figure {
    let mut series: Vec<Series> = schemes
        .iter()
        .map(|&scheme| {
            let own = points
                .iter()
                .filter(|point| point.case.platform == platform && point.case.scheme == scheme);
            let mut values: Vec<(f64, f64)> = own
                .map(|point| (f64::from(point.case.active), (drawing.value)(point)))
                .filter(|(_, value)| value.is_finite())
                .collect();
            values.sort_by(|a, b| a.0.total_cmp(&b.0));
            values.dedup();
            Series {
                name: scheme.name().into(),
                points: values,
                style: Style::LineAndMarkers,
            }
        })
        .collect();
    series.extend(drawing.paper.into_iter().map(|(name, points)| Series {
        name: name.into(),
        points,
        style: Style::Markers,
    }));
    let chart = LineChart {
        title: drawing.title.into(),
        note: "over the number of active nodes".into(),
        x: Axis::number("active nodes"),
        y: drawing.y,
        series,
        rules: Vec::new(),
        bands: Vec::new(),
    };
    Figure {
        caption: drawing.caption.into(),
        drawing: chart.render(),
    }
}
