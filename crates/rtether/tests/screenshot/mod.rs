//! The page in a real browser: both color schemes, wide and narrow, with and without scripts, small and
//! large.
//!
//! Needs `chromium`; without it the tests report so and pass. Set `RTETHER_SCREENSHOTS` to a directory to
//! keep pages and pictures.

#![allow(
    clippy::unwrap_used,
    clippy::print_stdout,
    reason = "a test may panic and says when it is skipped"
)]

mod because;
mod browser;
mod look;
mod scale;

use rtether::report::{Checked, html};
use rtether::verdict::assess;

use crate::plants;

fn page(plant: &plants::Builder) -> String {
    let results = plant.results();
    let assessments = assess(&plant.scenario, &results);
    let checked = Checked::new(plant.scenario.clone(), results, assessments);
    html::render(&checked.with_source("name: made up\n"))
}
