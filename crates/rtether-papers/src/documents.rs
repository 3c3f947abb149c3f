//! All documents of this crate, with their schemas.

use rtether::documents::Described;
use rtether::report::document::Document;
use schemars::JsonSchema;
use serde::Serialize;

use crate::beside::BesideJson;
use crate::output::{AloneJson, SCHEMA};

/// Every kind of document.
pub const ALL: &[Described] = &[Described::of::<ReproduceJson<'_>>()];

/// Experiments of the papers: one alone, or simulated and measured side by side.
#[derive(Serialize, JsonSchema)]
#[serde(untagged)]
#[allow(dead_code, reason = "it stands for its schema")]
enum ReproduceJson<'a> {
    Alone(AloneJson<'a>),
    Beside(BesideJson<'a>),
}

impl Document for ReproduceJson<'_> {
    const SCHEMA: &'static str = SCHEMA;
}
