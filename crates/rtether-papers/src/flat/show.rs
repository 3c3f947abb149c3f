//! Comparison with the paper, and the success criterion.

use super::super::observe::{mean, ratio, shown};
use super::super::{Comparison, reference};
use super::{Found, ethernet, latency, rise, sum};

/// Compares the paper's values with ours.
pub(super) fn comparisons(found: &Found) -> Vec<Comparison> {
    let (quiet_up, quiet_down) = (latency(&found.quiet_up), latency(&found.quiet_down));
    let upload = latency(&found.upload_up);
    let ours = |subject: &str, condition: &str| match (subject, condition) {
        ("pisa_to_controller, application", "real-time traffic only") => Some(shown(quiet_up)),
        ("controller_to_pisa, application", "real-time traffic only") => Some(shown(quiet_down)),
        ("round_trip, application", "real-time traffic only") => {
            Some(shown(sum(quiet_up, quiet_down)))
        }
        ("pisa_to_controller, application", _) => Some(shown(upload)),
        ("controller_to_pisa, application", _) => {
            let buckets = [&found.bucket_download, &found.bucket_quiet];
            let [download, quiet] = buckets.map(|buckets| mean(buckets.iter().copied()));
            let packets = rise(
                latency(&found.download_down),
                latency(&found.own_quiet_down),
            );
            Some(format!(
                "{} over two seconds, {} for packets that meet the download",
                shown(rise(download, quiet)),
                shown(packets)
            ))
        }
        ("round_trip, application", _) => Some(shown(sum(upload, latency(&found.upload_down)))),
        ("controller_to_pisa, ethernet", "no FTP") => Some(shown(ethernet(&found.quiet_down))),
        ("controller_to_pisa, ethernet", _) => {
            let quiet = ethernet(&found.own_quiet_down);
            Some(shown(rise(ethernet(&found.download_down), quiet)))
        }
        ("pisa_to_controller, ethernet", _) => {
            let quiet = ethernet(&found.own_quiet_up);
            Some(shown(rise(ethernet(&found.upload_up), quiet)))
        }
        _ => None,
    };
    let values = reference::values("skeie-flat").into_iter();
    let rows = values.filter_map(|value| {
        Some(Comparison {
            ours: ours(&value.subject, &value.condition)?,
            quantity: format!("{} ({})", value.subject.replace('_', " "), value.condition),
            paper: value.words(),
            source: value.source,
        })
    });
    rows.collect()
}

/// Reports whether the experiment meets its success criterion: the paper's numbers within 20 %, the
/// peak under upload within 35 %, since the TCP window is not given.
pub(super) fn success(found: &Found) -> String {
    let (up, down) = (latency(&found.quiet_up), latency(&found.quiet_down));
    let ours = [
        ("pisa_to_controller, application", true, up),
        ("controller_to_pisa, application", true, down),
        ("round_trip, application", true, sum(up, down)),
        (
            "controller_to_pisa, ethernet",
            true,
            ethernet(&found.quiet_down),
        ),
        (
            "pisa_to_controller, application",
            false,
            latency(&found.upload_up),
        ),
    ];
    let values = reference::values("skeie-flat");
    let words = ours.map(|(subject, is_quiet, ours)| {
        let mut own = values.iter().filter(|value| value.subject == subject);
        let quiet = ["real-time traffic only", "no FTP"];
        let paper = own.find(|value| quiet.contains(&value.condition.as_str()) == is_quiet);
        let off = paper
            .and_then(reference::Value::time)
            .zip(ours)
            .map(|(paper, ours)| ratio(ours, paper) - 1.0);
        let limit = if is_quiet { 0.2 } else { 0.35 };
        let verdict = match off {
            Some(off) if off.abs() <= limit => "met",
            Some(_) => "not met",
            None => "not judged",
        };
        let name = subject.replace('_', " ");
        let load = if is_quiet { "quiet" } else { "upload" };
        format!(
            "{name}, {load}, {:+.0} %: {verdict}",
            off.unwrap_or(f64::NAN) * 100.0
        )
    });
    format!(
        "Numbers within 20 %, the peak under upload within 35 %: {}.",
        words.join("; ")
    )
}
