//! Results that programs print, and their committed schemas.

use std::fs;
use std::path::Path;

use serde_json::{Value, json};

/// Returns the document in a text; a result follows its schema.
#[track_caller]
pub fn read_document(text: &str) -> Value {
    let document = serde_json::from_str(text);
    let document = document.unwrap_or_else(|error| panic!("{error}: {text}"));
    follows_schema(&document);
    document
}

/// Asserts that a result follows the schema of its format, and has no member that is not in it. What
/// is no result of ours passes.
#[track_caller]
pub fn follows_schema(document: &Value) {
    // `rtether.live/1` names its format in another member than the others.
    let name = document["schema"].as_str().or_else(|| document["format"].as_str());
    let format = name.and_then(|name| name.strip_prefix("rtether."));
    let Some((word, _)) = format.and_then(|format| format.split_once('/')) else {
        return;
    };
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/reference/results");
    let text = fs::read_to_string(folder.join(format!("{word}.schema.json")));
    let text = text.unwrap_or_else(|error| panic!("the schema of rtether.{word}: {error}"));
    let mut schema = serde_json::from_str(&text).expect("a schema");
    close(&mut schema, false);
    let errors = errors(&schema, document);
    assert!(errors.is_empty(), "rtether.{word}: {}", errors.join("\n"));
}

fn errors(schema: &Value, document: &Value) -> Vec<String> {
    let validator = jsonschema::validator_for(schema).expect("a schema");
    let errors = validator.iter_errors(document);
    errors.map(|error| format!("{}: {error}", error.instance_path())).collect()
}

/// Refuses members that a schema does not name. Users of one may ignore those that a later version
/// adds, so it permits them itself. Of alternatives, the whole refuses what none of them names.
fn close(schema: &mut Value, is_alternative: bool) {
    const ALTERNATIVES: [&str; 3] = ["allOf", "anyOf", "oneOf"];
    let Value::Object(own) = schema else { return };
    let names = ["properties"].into_iter().chain(ALTERNATIVES).any(|name| own.contains_key(name));
    let is_open = own.contains_key("additionalProperties");
    if names && !is_open && !is_alternative {
        own.insert("unevaluatedProperties".to_owned(), json!(false));
    }
    for name in ALTERNATIVES {
        for one in own.get_mut(name).and_then(Value::as_array_mut).into_iter().flatten() {
            close(one, true);
        }
    }
    for one in own.get_mut("properties").and_then(Value::as_object_mut).into_iter().flatten() {
        close(one.1, false);
    }
    for name in ["items", "additionalProperties"] {
        if let Some(inner) = own.get_mut(name) {
            close(inner, false);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Oracle: by hand. An unknown member is refused at each depth, also where a value may be `null`.
    #[test]
    fn unknown_members_are_refused() {
        let part = json!({ "type": "object", "properties": { "a": { "type": "integer" } } });
        let mut schema = json!({
            "properties": {
                "one": { "anyOf": [part, { "type": "null" }] },
                "all": { "type": "array", "items": part },
            },
        });
        let document = json!({ "one": { "a": 1 }, "all": [{ "a": 2 }, { "b": 3 }], "c": 4 });
        assert_eq!(errors(&schema, &document).len(), 0);
        close(&mut schema, false);
        assert_eq!(errors(&schema, &document).len(), 2);
        assert_eq!(errors(&schema, &json!({ "one": null, "all": [{ "a": 2 }] })).len(), 0);
        assert_eq!(errors(&schema, &json!({ "one": { "b": 1 }, "all": [] })).len(), 1);
    }
}
