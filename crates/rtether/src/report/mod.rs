//! Results for people and programs: table, JSON, CSV and one self-contained HTML page.
//!
//! Everything starts from a [`Checked`]: scenario, results, proof and verdicts. Nothing here
//! prints or writes files; functions return text. Equal outcomes give equal bytes on any machine.
//!
//! [`page`], [`chart`] and [`bars`] know nothing of outcomes, so that other reports use them too.

pub mod bars;
pub mod chart;
pub mod checked;
pub mod csv;
pub mod domain;
mod headline;
pub mod html;
pub mod json;
pub mod markup;
pub mod page;
pub mod table;
pub mod text;
pub mod topology;

pub use checked::{Checked, Group, Judged, Note, Stream};
