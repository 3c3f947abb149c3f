//! Reports: table, JSON, CSV and one self-contained HTML page.
//!
//! Every report starts from a [`Checked`]: scenario, results, bounds and verdicts. Functions return text;
//! none of them prints or writes files. Equal outcomes give equal bytes on any machine.
//!
//! How it is drawn is in `rtether-report`, which knows no results: [`table`],
//! [`format`](mod@format), [`page`], [`chart`], [`topology`] and so on, re-exported here.

pub mod about;
pub mod checked;
mod counts;
pub mod csv;
pub mod gate;
mod headline;
pub mod html;
mod ingress;
pub mod json;
pub mod playground;
pub mod stages;
pub mod sums;
pub mod verdicts;
mod worst;

pub use checked::{Checked, Group, Judged, Note, Stream};
pub use rtether_report::{
    bars, chart, document, format, markup, number, page, table, text, topology,
};
pub use verdicts::Verdicts;
pub use worst::{worst, worst_with};
