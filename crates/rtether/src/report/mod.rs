//! Results for people and programs: table, JSON, CSV and one self-contained HTML page.
//!
//! Everything starts from an [`Outcome`]: scenario, results and verdicts side by side. Nothing here
//! prints or writes files; functions return text. Equal outcomes give equal bytes on any machine.
//!
//! [`page`], [`chart`] and [`bars`] know nothing of outcomes, so that other reports use them too.

pub mod bars;
pub mod chart;
pub mod csv;
pub mod domain;
mod headline;
pub mod html;
pub mod json;
pub mod markup;
pub mod outcome;
pub mod page;
pub mod table;
pub mod text;
pub mod topology;

pub use outcome::{Group, Outcome, Stream};
