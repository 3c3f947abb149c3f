//! The counterparts of figures 5, 6 and 7.

use rtether_model::quantity::Duration;

use super::{BUCKET, Run, UPLOAD_AT, UPLOADER};
use crate::report::chart::{Axis, LineChart, Rule, RuleKind, Series, Style};
use crate::reproduce::Figure;

/// Returns the points of a curve in seconds.
fn points(curve: &[Duration]) -> Vec<(f64, f64)> {
    let at = (0i64..).map(|bucket| (BUCKET * bucket + BUCKET / 2).as_secs_f64());
    at.zip(curve.iter().map(|mean| mean.as_secs_f64()))
        .collect()
}

pub(super) fn figure(
    title: &str,
    run: &Run,
    classes: &[&'static str],
    paper_us: i64,
    counterpart: &str,
) -> Figure {
    let mut series: Vec<Series> = classes
        .iter()
        .map(|&class| Series {
            name: class.to_owned(),
            points: points(&run.curve(class)),
            style: Style::Line,
        })
        .collect();
    let paper = Duration::from_us(paper_us).as_secs_f64();
    series.push(Series {
        name: "paper, maximum without transfers".into(),
        points: vec![(0.0, paper), (160.0, paper)],
        style: Style::LineAndMarkers,
    });
    let chart = LineChart {
        title: title.into(),
        note: "means over the class and 1.6 s".into(),
        x: Axis::time("time of the run"),
        // The axis of the figure in the paper ends here or at 350 us.
        y: Axis::time("delay").between(100e-6, 250e-6),
        series,
        rules: vec![Rule {
            at: UPLOAD_AT.as_secs_f64(),
            label: "upload".into(),
            kind: RuleKind::Bound,
        }],
        bands: Vec::new(),
    };
    let caption = format!("The counterpart of {counterpart}, with file transfers.");
    Figure {
        caption,
        drawing: chart.render(),
    }
}

pub(super) fn slow_figure(fast: &Run, slow: &Run) -> Figure {
    let series = [("fast nodes", fast), ("slow nodes", slow)].map(|(name, run)| Series {
        name: name.into(),
        points: points(&run.curve(UPLOADER)),
        style: Style::Line,
    });
    let chart = LineChart {
        title: "Uploading CT/VT to Busbar".into(),
        note: "means over 1.6 s".into(),
        x: Axis::time("time of the run"),
        y: Axis::time("delay"),
        series: series.to_vec(),
        ..LineChart::default()
    };
    Figure {
        caption: "The counterpart of figure 7.".into(),
        drawing: chart.render(),
    }
}
