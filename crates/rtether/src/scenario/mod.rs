//! Scenario files: syntax, diagnostics and lowering to the model.

pub mod plan;

pub use plan::{Limit, Requirement, RunPlan, Scenario, Statistic};
