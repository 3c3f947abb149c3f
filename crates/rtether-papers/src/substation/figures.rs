//! Comparison with the paper, and the counterparts of figures 5 and 6.

use rtether::report::chart::{LineChart, Rule, RuleKind};

use super::{BUCKET, BUSBAR_TO_CB, CT_TO_BUSBAR, Plant, Run, UPLOAD_AT, UPLOADER};
use crate::prelude::*;

pub(super) fn compare(page: &mut Page, plant: &Plant) -> Outcome {
    let files = &plant.files;
    let [ct_to_pu, pu_to_cb, ct_to_busbar, busbar_to_cb] = plant.quiet;
    let inside = [0, 1].map(|at| plant.increases[at].stream);
    let (to_busbar, uploader) = (files.maximum(CT_TO_BUSBAR)?, files.maximum(UPLOADER)?);
    let from_busbar = files.maximum(BUSBAR_TO_CB)?;
    page.compare(reference::values("skeie-substation"), |value| {
        let subject = value.subject.split(", ").next().unwrap_or_default();
        let ours = match (subject, &*value.condition) {
            ("ctvt_pisa_to_protection_unit", _) => ct_to_pu.to_string(),
            ("protection_unit_to_cb_pisa", _) => pu_to_cb.to_string(),
            ("intrabay", "FTP") => format!("{}, {}", inside[0], inside[1]),
            ("ctvt_pisa_to_busbar", "no FTP") => ct_to_busbar.to_string(),
            ("busbar_to_cb_pisa", "no FTP") => busbar_to_cb.to_string(),
            ("ctvt_pisa_to_busbar", "FTP") => format!("{to_busbar} (uploading PISA {uploader})"),
            ("busbar_to_cb_pisa", "FTP") => from_busbar.to_string(),
            _ => return None,
        };
        let (subject, statistic) = (subject.replace('_', " "), &value.statistic);
        Some((format!("{subject} ({}, {statistic})", value.condition), ours))
    });
    Ok(())
}

/// Returns the means of a class over buckets, each in the middle of its bucket.
pub(super) fn points(run: &Run, class: &'static str) -> impl Iterator<Item = (Duration, Duration)> {
    let curve = run.curve(class).into_iter();
    curve.map(|(at, mean)| (at + BUCKET / 2, mean))
}

/// Draws the counterpart of a figure, with the largest delay it prints without transfers.
pub(super) fn draw(
    page: &mut Page,
    title: &str,
    run: &Run,
    classes: &[&'static str],
    counterpart: &str,
) {
    let place = counterpart.replace("figure", "Fig");
    let values = reference::values("skeie-substation").into_iter();
    let own = values.filter(|value| value.condition == "no FTP" && value.source.contains(&place));
    let paper = own.filter_map(|value| value.time()).max();
    let paper = paper.map(|paper| {
        let ends = [(0.0, paper), (160.0, paper)];
        curve("paper, maximum without transfers", Style::LineAndMarkers, ends)
    });
    let ours = classes.iter().map(|&class| curve(class, Style::Line, points(run, class)));
    let chart = LineChart {
        title: title.into(),
        note: "means over the class and 1.6 s".into(),
        x: Axis::time("time of the run"),
        // The axis of the paper's figure ends here or at 350 us.
        y: Axis::time("delay").between(100e-6, 250e-6),
        series: ours.chain(paper).collect(),
        rules: vec![Rule {
            at: UPLOAD_AT.as_secs_f64(),
            label: "upload".into(),
            kind: RuleKind::Bound,
        }],
        bands: Vec::new(),
    };
    let caption = format!("The counterpart of {counterpart}, with file transfers.");
    page.draw(caption, chart.render());
}
