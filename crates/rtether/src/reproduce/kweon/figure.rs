//! Figures of miss ratios, burst times and throughput over the number of active nodes.

use std::sync::Arc;

use super::super::Figure;
use super::{Platform, Point, Scheme};
use crate::report::chart::{Axis, LineChart, Series, Style};

/// What is drawn over the number of active nodes.
pub(super) struct Drawing<'a> {
    pub(super) title: &'a str,
    pub(super) caption: &'a str,
    pub(super) y: Axis,
    pub(super) value: fn(&Point) -> f64,
    /// The paper's values: name, and points of (active nodes, value).
    pub(super) paper: Vec<(&'static str, Vec<(f64, f64)>)>,
}

/// Draws one line for each scheme.
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
