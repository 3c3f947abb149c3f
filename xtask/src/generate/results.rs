//! Tables of the page about results, made from the schemas.

use std::fmt::Write as _;

use anyhow::{Context as _, Result, ensure};
use serde_json::Value;

/// Returns the page with the table of each schema between its marks.
pub(super) fn page(text: String, schemas: &[(String, Value)]) -> Result<String> {
    schemas.iter().try_fold(text, |text, (name, schema)| {
        let format = schema["title"].as_str().context("a schema without a title")?;
        between(text, format, &section(name, format, schema)?)
    })
}

/// Returns the text with something new between the marks of `name`.
pub(super) fn between(mut text: String, name: &str, new: &str) -> Result<String> {
    let (begin, end) = (format!("<!-- generated: {name} -->\n"), format!("<!-- end: {name} -->\n"));
    let start = text.find(&begin).with_context(|| format!("no place for `{name}`"))? + begin.len();
    let length = text[start..].find(&end).with_context(|| format!("no end of `{name}`"))?;
    text.replace_range(start..start + length, new);
    Ok(text)
}

/// Returns what stands between the marks.
fn section(name: &str, format: &str, schema: &Value) -> Result<String> {
    let mut out = String::new();
    for one in alternatives(schema) {
        let about = one["description"].as_str().context("a document without a description")?;
        let about = about.trim_end_matches('.');
        let _ = write!(
            out,
            "\n{about} ([schema](results/{name}.schema.json)).\n\n\
             | member of `{format}` | type | meaning |\n|---|---|---|\n"
        );
        let mut rows = Rows::default();
        rows.members("", one)?;
        out.push_str(&rows.text);
    }
    out.push('\n');
    Ok(out)
}

/// Returns the schemas of which a document follows one.
fn alternatives(schema: &Value) -> Vec<&Value> {
    match schema["anyOf"].as_array() {
        Some(all) => all.iter().collect(),
        None => vec![schema],
    }
}

/// Rows of a table.
#[derive(Default)]
struct Rows<'a> {
    text: String,
    /// Objects whose members are there, with the path of each.
    known: Vec<(&'a Value, String)>,
}

impl<'a> Rows<'a> {
    /// Adds a row for each member, followed by those of its own members.
    fn members(&mut self, path: &str, schema: &'a Value) -> Result<()> {
        for (name, member) in schema["properties"].as_object().into_iter().flatten() {
            // It is said once for all documents.
            if path.is_empty() && name == "schema" {
                continue;
            }
            let is_always = schema["required"]
                .as_array()
                .is_some_and(|all| all.contains(&name.as_str().into()));
            let path = format!("{path}{name}");
            let meaning = member["description"].as_str().unwrap_or_default();
            ensure!(!meaning.is_empty(), "`{path}` has no comment that says what it is");
            let (below, inner) = inside(&path, member);
            let own = &inner["properties"];
            let known = self.known.iter().find(|(known, _)| *known == own && own.is_object());
            let same = known.map(|(_, path)| format!(" Its members are those of `{path}`."));
            let same = same.unwrap_or_default();
            let meaning = meaning.replace('|', "\\|");
            let kind = kind(member, is_always);
            let _ = writeln!(self.text, "| `{path}` | {kind} | {meaning}{same} |");
            if same.is_empty() {
                self.known.push((own, below.clone()));
                self.members(&format!("{below}."), inner)?;
            }
        }
        Ok(())
    }
}

/// Returns the path and the schema of what has members in a member: itself, or what it has many of.
fn inside<'a>(path: &str, member: &'a Value) -> (String, &'a Value) {
    let own = inner(member);
    if own["items"].is_object() {
        (format!("{path}[]"), inner(&own["items"]))
    } else if own["additionalProperties"].is_object() {
        (format!("{path}.*"), inner(&own["additionalProperties"]))
    } else {
        (path.to_owned(), own)
    }
}

/// Returns the schema of what is there if it is not `null`.
fn inner(schema: &Value) -> &Value {
    let not_null = |one: &&Value| one["type"] != "null";
    let one = schema["anyOf"].as_array().and_then(|all| all.iter().find(not_null));
    one.unwrap_or(schema)
}

/// Returns the type in words: `number or null`; what is not always there is never `null`.
fn kind(schema: &Value, is_always: bool) -> String {
    let own = inner(schema);
    let word = match word(own) {
        "list" => format!("list of {}", plural(&own["items"])),
        word => word.to_owned(),
    };
    let mut lists = ["type", "anyOf", "enum"].into_iter().filter_map(|key| schema[key].as_array());
    match (is_always, lists.any(|all| all.iter().any(is_null))) {
        (false, _) => format!("{word}, if any"),
        (true, true) => format!("{word} or `null`"),
        (true, false) => word,
    }
}

fn is_null(one: &Value) -> bool {
    one.is_null() || one == "null" || one["type"] == "null"
}

fn plural(schema: &Value) -> String {
    let word = word(inner(schema));
    match word {
        "yes or no" => "flags".to_owned(),
        "text" => "texts".to_owned(),
        "any" => "values".to_owned(),
        word => format!("{word}s"),
    }
}

/// Returns the type in a word, as people say it.
fn word(schema: &Value) -> &'static str {
    let own = &schema["type"];
    let own = match own.as_array() {
        Some(all) => all.iter().find(|one| **one != "null"),
        None => Some(own),
    };
    match own.and_then(Value::as_str) {
        Some("string") => "text",
        Some("number") => "number",
        Some("integer") => "integer",
        Some("boolean") => "yes or no",
        Some("array") => "list",
        Some("object") if schema["properties"].is_object() => "object",
        Some("object") => "map",
        None if schema["enum"].is_array() || schema["const"].is_string() => "text",
        _ => "any",
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    /// Oracle: by eye.
    #[test]
    fn rows_follow_the_schema() {
        let hop = json!({ "type": "object", "properties": {
            "place": { "type": "string", "description": "Where." },
        } });
        let schema = json!({
            "title": "rtether.x/1",
            "description": "A thing.",
            "required": ["schema", "bound_ns", "hops", "word"],
            "properties": {
                "schema": { "const": "rtether.x/1" },
                "bound_ns": { "type": ["number", "null"], "description": "A | B." },
                "hops": { "type": "array", "items": hop, "description": "All." },
                "by": { "type": "object", "additionalProperties": hop, "description": "Some." },
                "word": { "anyOf": [{ "enum": ["a"] }, { "type": "null" }], "description": "A." },
            },
        });
        let text = "a\n<!-- generated: rtether.x/1 -->\nold\n<!-- end: rtether.x/1 -->\nb\n";
        let page = page(text.to_owned(), &[("x".to_owned(), schema)]).expect("a page");
        let expected = "a\n<!-- generated: rtether.x/1 -->\n\n\
            A thing ([schema](results/x.schema.json)).\n\n\
            | member of `rtether.x/1` | type | meaning |\n|---|---|---|\n\
            | `bound_ns` | number or `null` | A \\| B. |\n\
            | `hops` | list of objects | All. |\n\
            | `hops[].place` | text, if any | Where. |\n\
            | `by` | map, if any | Some. Its members are those of `hops[]`. |\n\
            | `word` | text or `null` | A. |\n\
            \n<!-- end: rtether.x/1 -->\nb\n";
        assert_eq!(page, expected);
    }
}
