//! Results that programs print, and their committed schemas.

use std::fs;
use std::path::Path;

use serde_json::Value;

/// Asserts that a result follows the schema of its format. Another document passes, and one of a
/// format without a schema.
#[track_caller]
pub fn follows_schema(document: &Value) {
    let format = document["schema"].as_str().and_then(|name| name.strip_prefix("rtether."));
    let Some((word, _)) = format.and_then(|format| format.split_once('/')) else {
        return;
    };
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/reference/results");
    let Ok(text) = fs::read_to_string(folder.join(format!("{word}.schema.json"))) else {
        return;
    };
    let schema = serde_json::from_str(&text).expect("a schema");
    let validator = jsonschema::validator_for(&schema).expect("a schema");
    let errors = validator.iter_errors(document);
    let errors: Vec<String> =
        errors.map(|error| format!("{}: {error}", error.instance_path())).collect();
    assert!(errors.is_empty(), "rtether.{word}: {}", errors.join("\n"));
}
