//! How it is drawn: text, tables, charts, pages and topologies.
//!
//! The crate knows quantities and networks, and nothing of simulations, bounds or verdicts: who has
//! results turns them into a [`Table`](table::Table), a [`Page`](page::Page) or a drawing.
//! Functions return text; none prints or writes files, and equal input gives equal bytes.
//!
//! [`format`](mod@format) shows a result in every format; [`markup`] is the only place where text
//! becomes HTML or SVG, and [`sheet`] the only one where it becomes CSV.

pub mod bars;
pub mod chart;
pub mod format;
pub mod markup;
pub mod number;
mod openmetrics;
pub mod page;
pub mod sheet;
pub mod table;
pub mod text;
pub mod topology;
