//! Reports: table, JSON, CSV and one self-contained HTML page.
//!
//! Every report starts from a [`Checked`]: scenario, results, bounds and verdicts. Functions return text;
//! none of them prints or writes files. Equal outcomes give equal bytes on any machine.
//!
//! [`table`], [`format`](mod@format), [`page`], [`chart`] and [`bars`] do not depend on outcomes, so that other
//! reports can use them.

pub mod about;
pub mod bars;
pub mod chart;
pub mod checked;
mod counts;
pub mod csv;
pub mod domain;
pub mod format;
mod headline;
pub mod html;
pub mod json;
pub mod markup;
pub(crate) mod number;
pub mod page;
pub mod place;
pub mod sums;
pub mod table;
pub mod text;
pub mod topology;
pub mod verdicts;

pub use checked::{Checked, Group, Judged, Note, Stream};
pub use verdicts::Verdicts;
