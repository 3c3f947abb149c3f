//! Documents of results: JSON with a schema, both of the same structure.

use std::collections::BTreeMap;
use std::io::{self, Write};

use schemars::generate::SchemaSettings;
use schemars::transform::{RecursiveTransform, Transform};
use schemars::{JsonSchema, Schema};
use serde::{Serialize, Serializer};
use serde_json::{Map, Value, json};

use super::format::{indented, write_indented};

/// A result as one JSON object. The comments of its members are their meaning in the schema and on
/// the page about results.
pub trait Document: Serialize + JsonSchema {
    /// Name and version of the format, `rtether.bound/1`: the first member, which the structure does
    /// not have itself.
    const SCHEMA: &'static str;

    /// Members before those of the structure, always with the same text: the name of the format.
    const HEAD: &'static [(&'static str, &'static str)] = &[("schema", Self::SCHEMA)];
}

/// A document with its first members.
#[derive(Serialize)]
struct Named<'a, D> {
    #[serde(flatten)]
    head: Members<&'static str, &'static str>,
    #[serde(flatten)]
    members: &'a D,
}

fn named<D: Document>(members: &D) -> Named<'_, D> {
    Named { head: Members(D::HEAD.to_vec()), members }
}

/// Returns a document as indented text with a line end.
///
/// # Panics
/// If it has a map whose keys are no text.
pub fn text(document: &impl Document) -> String {
    indented(&named(document))
}

/// Returns a document on one line with a line end.
///
/// # Panics
/// If it has a map whose keys are no text.
pub fn line(document: &impl Document) -> String {
    serde_json::to_string(&named(document)).expect("names are text") + "\n"
}

/// Writes the same as [`text`], piece by piece.
///
/// # Errors
/// Those of `out`.
pub fn write(document: &impl Document, out: &mut dyn Write) -> io::Result<()> {
    write_indented(&named(document), out)
}

/// Returns a document as a tree of values.
///
/// # Panics
/// If it has a map whose keys are no text.
pub fn value(document: &impl Document) -> Value {
    serde_json::to_value(named(document)).expect("names are text")
}

/// Members whose names are not those of a structure, in this order.
#[derive(Clone, Debug, JsonSchema)]
#[schemars(transparent)]
pub struct Members<K, V>(#[schemars(with = "BTreeMap<String, V>")] pub Vec<(K, V)>);

impl<K: Serialize, V: Serialize> Serialize for Members<K, V> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_map(self.0.iter().map(|(name, value)| (name, value)))
    }
}

/// What is known of documents of one structure.
#[derive(Clone, Copy, Debug)]
pub struct Described {
    /// Name and version of the format.
    pub name: &'static str,
    /// Returns its JSON Schema.
    pub schema: fn() -> Value,
}

impl Described {
    /// Returns that of a structure.
    pub const fn of<D: Document>() -> Self {
        Self { name: D::SCHEMA, schema: schema::<D> }
    }
}

fn schema<D: Document>() -> Value {
    let settings = SchemaSettings::draft2020_12().for_serialize();
    // Each schema is read from top to bottom, without references.
    let settings = settings.with(|own| own.inline_subschemas = true);
    let mut schema = settings.into_generator().into_root_schema_for::<D>();
    RecursiveTransform(plain).transform(&mut schema);
    schema.insert("title".to_owned(), D::SCHEMA.into());
    let mut members: Map<String, Value> = D::HEAD.iter().map(fixed::<D>).collect();
    // Alternatives have no members of their own.
    let own = schema.remove("properties").and_then(|own| own.as_object().cloned());
    members.extend(own.unwrap_or_default());
    schema.insert("properties".to_owned(), members.into());
    let own = schema.remove("required").and_then(|own| own.as_array().cloned());
    let required = D::HEAD.iter().map(|(name, _)| Value::from(*name));
    schema.insert("required".to_owned(), required.chain(own.unwrap_or_default()).collect());
    schema.to_value()
}

/// Returns the schema of a member that is always the same.
fn fixed<D: Document>((name, text): &(&str, &str)) -> (String, Value) {
    let description = if *text == D::SCHEMA {
        "Name and version of this format".to_owned()
    } else {
        format!("Always `{text}`.")
    };
    ((*name).to_owned(), json!({ "description": description, "const": text }))
}

/// Joins the lines of a description, and leaves out how wide numbers are in memory.
fn plain(schema: &mut Schema) {
    schema.remove("format");
    if let Some(Value::String(text)) = schema.get_mut("description") {
        *text = text.split_whitespace().collect::<Vec<_>>().join(" ");
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::number::Ns;
    use rtether_model::quantity::Duration;

    /// What a test says.
    #[derive(Serialize, JsonSchema)]
    struct Said<'a> {
        /// Title of
        /// the scenario.
        scenario: &'a str,
        /// How long it takes.
        bound_ns: Option<Ns>,
        #[serde(skip_serializing_if = "Vec::is_empty")]
        parts: Vec<u32>,
    }

    impl Document for Said<'_> {
        const SCHEMA: &'static str = "rtether.said/1";
    }

    /// A line of several kinds.
    #[derive(Serialize, JsonSchema)]
    struct Last {
        /// How many there were.
        count: u8,
    }

    impl Document for Last {
        const SCHEMA: &'static str = "rtether.last/1";
        const HEAD: &'static [(&'static str, &'static str)] =
            &[("event", "last"), ("schema", Self::SCHEMA)];
    }

    /// Oracle: by hand.
    #[test]
    fn a_structure_is_document_and_schema() {
        let bound_ns = Some(Ns(Duration::from_ps(1_500)));
        let said = Said { scenario: "x", bound_ns, parts: Vec::new() };
        let expected = r#"{"schema":"rtether.said/1","scenario":"x","bound_ns":1.5}"#;
        assert_eq!(line(&said), format!("{expected}\n"));
        assert_eq!(value(&said).to_string(), expected);
        let schema = (Described::of::<Said<'_>>().schema)();
        assert_eq!(schema["title"], "rtether.said/1");
        assert_eq!(schema["required"], json!(["schema", "scenario", "bound_ns"]));
        let members = schema["properties"].as_object().expect("members");
        let names: Vec<&String> = members.keys().collect();
        assert_eq!(names, ["schema", "scenario", "bound_ns", "parts"]);
        assert_eq!(members["scenario"]["description"], "Title of the scenario.");
        assert_eq!(members["bound_ns"]["type"], json!(["number", "null"]));
    }

    /// Oracle: by hand.
    #[test]
    fn the_name_may_stand_behind_another_member() {
        assert_eq!(
            line(&Last { count: 3 }),
            "{\"event\":\"last\",\"schema\":\"rtether.last/1\",\"count\":3}\n"
        );
        let schema = (Described::of::<Last>().schema)();
        assert_eq!(schema["required"], json!(["event", "schema", "count"]));
        assert_eq!(schema["properties"]["event"]["const"], "last");
        assert_eq!(schema["properties"]["event"]["description"], "Always `last`.");
        assert_eq!(schema["properties"]["schema"]["const"], "rtether.last/1");
    }
}
