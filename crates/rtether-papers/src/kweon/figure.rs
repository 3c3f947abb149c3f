//! Figures of miss ratios, burst times and throughput over the number of active nodes.

use std::sync::Arc;

use super::{Point, Scheme};
use crate::prelude::*;

/// A quantity drawn over the number of active nodes.
pub(super) struct Drawing {
    pub(super) title: &'static str,
    pub(super) caption: &'static str,
    pub(super) y: Axis,
    pub(super) value: fn(&Point) -> f64,
    /// The paper's values: names, and points of (active nodes, value).
    pub(super) paper: Vec<(&'static str, Vec<(f64, f64)>)>,
}

impl Drawing {
    /// Miss ratios.
    pub(super) fn misses(caption: &'static str) -> Self {
        Self {
            title: "Missed messages",
            caption,
            y: Axis::number("miss ratio").log().between(1e-5, 1.0),
            value: Point::miss_at_most,
            paper: Vec::new(),
        }
    }

    /// Throughput of files as a fraction of the medium rate.
    pub(super) fn throughput(caption: &'static str) -> Self {
        Self {
            title: "Throughput of files",
            caption,
            y: Axis::number("part of 10 Mbit/s"),
            value: |point| point.throughput,
            paper: Vec::new(),
        }
    }

    /// Draws one line per scheme.
    pub(super) fn draw(self, page: &mut Page, points: &[Arc<Point>], schemes: &[Scheme]) {
        let ours = schemes.iter().map(|&scheme| {
            let own = points.iter().filter(|point| point.case.scheme == scheme);
            let values = own.map(|point| (f64::from(point.case.active), (self.value)(point)));
            curve(scheme.name(), Style::LineAndMarkers, values)
        });
        let paper = self.paper.into_iter();
        let paper = paper.map(|(name, points)| curve(name, Style::Markers, points));
        page.lines(
            self.caption,
            [self.title, "over the number of active nodes"],
            [Axis::number("active nodes"), self.y],
            ours.chain(paper).collect(),
        );
    }
}
