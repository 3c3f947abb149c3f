//! How it is drawn: text, tables, charts, pages and topologies.
//!
//! The crate knows quantities and networks, and nothing of simulations, bounds or verdicts: who has
//! results turns them into a [`Table`](table::Table), a [`Page`](page::Page) or a drawing.
//! Functions return text; none prints or writes files, and equal input gives equal bytes.
//!
//! [`format`](mod@format) shows a result in every format; [`markup`] is the only place where text
//! becomes HTML or SVG, and [`sheet`] the only one where it becomes CSV.
//!
//! # Modules
//!
//! How results are drawn; `rtether` re-exports its modules in `rtether::report`, and
//! `rtether::sheet`.
//!
//! `table` is the one table of all results, for terminals, Markdown, CSV and pages, `format` names
//! the formats and shows any result in each, `document` gives results as JSON their schema, `text` and `number` are numbers for people and files,
//! `sheet` is CSV, `openmetrics` metrics, `markup` escaped HTML and SVG, `page` a file of sections,
//! `chart` and `bars` are pictures of numbers, `topology` one of a network.
//!
//! **Invariant:** it knows quantities and networks, not simulations, bounds or verdicts; functions
//! return text, and none prints or writes files.

pub mod bars;
pub mod chart;
pub mod document;
pub mod format;
pub mod markup;
pub mod number;
mod openmetrics;
pub mod page;
pub mod sheet;
pub mod table;
pub mod text;
pub mod topology;
