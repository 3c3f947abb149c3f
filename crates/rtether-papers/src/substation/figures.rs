//! Comparison with the paper, and the counterparts of figures 5, 6 and 7.

use rtether_model::quantity::Duration;

use super::{BUCKET, BUSBAR_TO_CB, CT_TO_BUSBAR, Plant, Run, UPLOAD_AT, UPLOADER};
use crate::{Comparison, Figure, ReproduceError, reference};
use rtether::report::chart::{Axis, LineChart, Rule, RuleKind, Series, Style};

pub(super) fn comparisons(plant: &Plant) -> Result<Vec<Comparison>, ReproduceError> {
    let files = &plant.files;
    let [ct_to_pu, pu_to_cb, ct_to_busbar, busbar_to_cb] = plant.quiet;
    let inside = [0, 1].map(|at| plant.increases[at].stream);
    let loaded = [
        files.maximum(CT_TO_BUSBAR)?,
        files.maximum(UPLOADER)?,
        files.maximum(BUSBAR_TO_CB)?,
    ];
    let values = reference::values("skeie-substation").into_iter();
    let rows = values.filter_map(|value| {
        let subject = value.subject.split(", ").next().unwrap_or_default();
        let ours = match (subject, value.condition.as_str()) {
            ("ctvt_pisa_to_protection_unit", _) => ct_to_pu.to_string(),
            ("protection_unit_to_cb_pisa", _) => pu_to_cb.to_string(),
            ("intrabay", "FTP") => format!("{}, {}", inside[0], inside[1]),
            ("ctvt_pisa_to_busbar", "no FTP") => ct_to_busbar.to_string(),
            ("busbar_to_cb_pisa", "no FTP") => busbar_to_cb.to_string(),
            ("ctvt_pisa_to_busbar", "FTP") => {
                format!("{} (uploading PISA {})", loaded[0], loaded[1])
            }
            ("busbar_to_cb_pisa", "FTP") => loaded[2].to_string(),
            _ => return None,
        };
        Some(Comparison {
            quantity: format!(
                "{} ({}, {})",
                subject.replace('_', " "),
                value.condition,
                value.statistic
            ),
            paper: value.words(),
            ours,
            source: value.source,
        })
    });
    Ok(rows.collect())
}

/// Returns the points of a curve in seconds.
fn points(curve: &[(Duration, Duration)]) -> Vec<(f64, f64)> {
    let points = curve.iter();
    points
        .map(|(at, mean)| ((*at + BUCKET / 2).as_secs_f64(), mean.as_secs_f64()))
        .collect()
}

/// Returns the largest delay the paper prints for a figure without transfers.
fn printed(counterpart: &str) -> Option<Duration> {
    let values = reference::values("skeie-substation").into_iter();
    let place = counterpart.replace("figure", "Fig");
    let own = values.filter(|value| value.condition == "no FTP" && value.source.contains(&place));
    own.filter_map(|value| value.time()).max()
}

pub(super) fn figure(
    title: &str,
    run: &Run,
    classes: &[&'static str],
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
    let paper = printed(counterpart).map(Duration::as_secs_f64);
    series.extend(paper.map(|paper| Series {
        name: "paper, maximum without transfers".into(),
        points: vec![(0.0, paper), (160.0, paper)],
        style: Style::LineAndMarkers,
    }));
    let chart = LineChart {
        title: title.into(),
        note: "means over the class and 1.6 s".into(),
        x: Axis::time("time of the run"),
        // The axis of the paper's figure ends here or at 350 us.
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
