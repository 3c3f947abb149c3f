//! Gaps of flows: whether their stations can keep them.

use rtether_model::flow::Flow;

use super::{Plant, codes, quote};
use crate::diagnostic::Diagnostic;
use crate::reader::Reader;

/// Reports a flow whose station cannot keep its gap.
pub(super) fn check(reader: &mut Reader<'_>, plant: &Plant, index: usize, flow: &Flow) {
    let Some(obstacle) = flow.obstacle_to_gap(&plant.network) else {
        return;
    };
    let title = format!("flow {} cannot keep a gap", quote(&flow.name));
    reader.report(
        Diagnostic::new(&codes::CONFLICTING_KEYS, title, plant.flow_spans[index], obstacle)
            .help("remove `gap`, or what it cannot go with"),
    );
}
