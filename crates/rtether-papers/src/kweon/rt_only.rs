//! `kweon-linux-rtonly`: real-time messages alone (3.2).

use super::{Case, Scheme, measure};
use crate::prelude::*;

pub(crate) fn run(page: &mut Page, progress: &Progress) -> Outcome {
    page.title("Real-time messages alone on a hub");
    let measured = measure(&[Case::nongreedy(Scheme::None, 0)], progress)?;
    let point = &measured.pooled[0];
    measured.judge(page, |page, points| {
        page.check("C047", [points[0].miss], points[0].miss_words());
    });
    page.compare(reference::values("kweon-linux-rtonly"), |_| {
        Some(("miss ratio without bulk traffic", point.miss_words()))
    });
    page.note(format!(
        "The longest round trip is {}. The paper's 7e-5 is there without any load, so it \
         comes from its end systems, which take no time here.",
        point.messages.latency.max
    ));
    Ok(())
}
