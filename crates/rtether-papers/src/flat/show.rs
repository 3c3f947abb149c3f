//! Comparison with the paper, and the success criterion.

use super::{Packets, ethernet, latency, rise, sum};
use crate::observe::{mean, shown};
use crate::prelude::*;

/// Compares the paper's values with ours.
pub(super) fn compare(page: &mut Page, found: &Packets) {
    let (quiet_up, quiet_down) = (latency(&found.quiet_up), latency(&found.quiet_down));
    let upload = latency(&found.upload_up);
    page.compare(reference::values("skeie-flat"), |value| {
        let is_quiet = ["real-time traffic only", "no FTP"].contains(&&*value.condition);
        let ours = match (&*value.subject, is_quiet) {
            ("pisa_to_controller, application", true) => quiet_up,
            ("pisa_to_controller, application", false) => upload,
            ("controller_to_pisa, application", true) => quiet_down,
            ("controller_to_pisa, application", false) => {
                let buckets = [&found.bucket_download, &found.bucket_quiet];
                let [download, quiet] = buckets.map(|buckets| mean(buckets.iter().copied()));
                let packets = latency(&found.download_down);
                let packets = rise(packets, latency(&found.own_quiet_down));
                let words = format!(
                    "{} over two seconds, {} for packets that meet the download",
                    shown(rise(download, quiet)),
                    shown(packets)
                );
                return Some((value.name(), words));
            }
            ("round_trip, application", true) => sum(quiet_up, quiet_down),
            ("round_trip, application", false) => sum(upload, latency(&found.upload_down)),
            ("controller_to_pisa, ethernet", true) => ethernet(&found.quiet_down),
            ("controller_to_pisa, ethernet", false) => {
                let quiet = ethernet(&found.own_quiet_down);
                rise(ethernet(&found.download_down), quiet)
            }
            ("pisa_to_controller, ethernet", _) => {
                rise(ethernet(&found.upload_up), ethernet(&found.own_quiet_up))
            }
            _ => return None,
        };
        Some((value.name(), shown(ours)))
    });
}

/// Reports whether the experiment meets its success criterion: the paper's numbers within 20 %, the
/// peak under upload within 35 %, since the TCP window is not given.
pub(super) fn success(found: &Packets) -> String {
    let (up, down) = (latency(&found.quiet_up), latency(&found.quiet_down));
    let ours = [
        ("pisa_to_controller, application", true, up),
        ("controller_to_pisa, application", true, down),
        ("round_trip, application", true, sum(up, down)),
        ("controller_to_pisa, ethernet", true, ethernet(&found.quiet_down)),
        ("pisa_to_controller, application", false, latency(&found.upload_up)),
    ];
    let values = reference::values("skeie-flat");
    let words = ours.map(|(subject, is_quiet, ours)| {
        let mut own = values.iter().filter(|value| value.subject == subject);
        let quiet = ["real-time traffic only", "no FTP"];
        let paper = own.find(|value| quiet.contains(&value.condition.as_str()) == is_quiet);
        let paper = paper.and_then(Value::time);
        let off = paper.zip(ours).map(|(paper, ours)| ratio(ours, paper) - 1.0);
        let limit = if is_quiet { 0.2 } else { 0.35 };
        let verdict = match off {
            Some(off) if off.abs() <= limit => "met",
            Some(_) => "not met",
            None => "not judged",
        };
        let name = subject.replace('_', " ");
        let load = if is_quiet { "quiet" } else { "upload" };
        format!("{name}, {load}, {:+.0} %: {verdict}", off.unwrap_or(f64::NAN) * 100.0)
    });
    format!("Numbers within 20 %, the peak under upload within 35 %: {}.", words.join("; "))
}
