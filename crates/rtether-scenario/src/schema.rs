//! JSON Schema (draft 2020-12) of the format, for completion in editors, made from the table of
//! keys. It covers types, units and what one map alone tells, not whether a plant makes sense: what
//! takes a look at another place, such as the rate that a link needs unless it leads to a hub, or at
//! other files, such as flows that an included file has, is the loader's.

use serde_json::{Map, Value, json};

use super::keys::table::{
    PROFILE, PROFILE_SECTIONS, SCENARIO, SECTIONS, SHIM, SHIM_SECTIONS, STATISTIC,
};
use super::keys::{Key, Kind, Presence, Section, Texts};
use super::units::Quantity;

/// A number as accepted before a unit; no quantity is negative.
const NUMBER: &str = "\\+?([0-9][0-9_]*(\\.[0-9_]*)?|\\.[0-9][0-9_]*)([eE][+-]?[0-9]+)?";

/// Zero of any unit.
const ZERO: &str = "^\\+?[0_.]+([eE][+-]?[0-9]+)? *[^0-9_. ]*$";

/// Keys that may not be zero, with their sections.
const POSITIVE: [(&str, &str); 5] = [
    ("flow", "period"),
    ("flow", "min_gap"),
    ("flow", "deadline"),
    ("link", "rate"),
    ("hub", "rate"),
];

/// Returns the schema of scenarios.
pub fn schema() -> Value {
    schema_of(&SCENARIO, SECTIONS, "rtether scenario")
}

/// Returns the schema of shim configurations.
pub fn shim_schema() -> Value {
    schema_of(&SHIM, SHIM_SECTIONS, "rtether shim")
}

/// Returns the schema of profiles of devices.
pub fn profile_schema() -> Value {
    schema_of(&PROFILE, PROFILE_SECTIONS, "rtether profile")
}

fn schema_of(top: &Section, sections: &[&Section], title: &str) -> Value {
    let mut definitions = Map::new();
    for section in sections {
        definitions.insert(section.name.to_owned(), map_of(section));
    }
    for quantity in Quantity::ALL {
        definitions.insert(name_of(quantity).to_owned(), definition(quantity));
    }
    json!({
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "$id": format!("https://rtether.dev/schema/{}-1.json", top.name),
        "title": title,
        "$ref": format!("#/$defs/{}", top.name),
        "$defs": definitions,
    })
}

fn map_of(section: &Section) -> Value {
    let mut properties = Map::new();
    let mut required = Vec::new();
    for key in section.keys {
        let mut value = property(key);
        narrow(section, key, &mut value);
        properties.insert(key.name.to_owned(), value);
        if matches!(key.presence, Presence::Required) {
            required.push(key.name);
        }
    }
    // Nothing at all lacks what is required.
    let kinds = if required.is_empty() { json!(["object", "null"]) } else { json!("object") };
    let mut map = json!({
        "type": kinds,
        "description": section.description,
        "properties": properties,
        "additionalProperties": false,
    });
    if !required.is_empty() {
        map["required"] = json!(required);
    }
    if section.name == "flow" {
        map["allOf"] = what_a_flow_needs();
    }
    if section.is_file() {
        map["patternProperties"] = json!({ "^x-": {} });
    }
    map
}

/// Adds what holds for a key of this section beyond its kind.
fn narrow(section: &Section, key: &Key, value: &mut Value) {
    if POSITIVE.contains(&(section.name, key.name)) {
        value["not"] = json!({ "type": "string", "pattern": ZERO });
    }
    match (section.name, key.name) {
        ("link", "ends") => {
            value["minItems"] = json!(2);
            value["maxItems"] = json!(2);
        }
        ("flow", "name") => value["minLength"] = json!(1),
        _ => {}
    }
}

/// A size and a time between releases, unless it is a bulk transfer or says its kind.
fn what_a_flow_needs() -> Value {
    let any = |keys: &[&str], mut others: Vec<Value>| {
        others.extend(keys.iter().map(|key| json!({ "required": [key] })));
        json!({ "anyOf": others })
    };
    let is = |key: &str, word: &str| json!({ "required": [key], "properties": { key: { "const": word } } });
    json!([
        any(&["size", "total", "transfers", "bursts"], vec![is("over", "tcp"), is("kind", "bulk")]),
        any(
            &["period", "rate", "min_gap", "total", "transfers", "bursts", "kind"],
            vec![is("over", "tcp")]
        ),
    ])
}

fn property(key: &Key) -> Value {
    let mut value = shape(&key.kind);
    let default = match key.presence {
        Presence::Default(text) => format!(" Default: `{text}`."),
        Presence::Required | Presence::Optional => String::new(),
    };
    value["description"] = json!(format!("{}{default}", key.description));
    value["examples"] = json!([example(key)]);
    value
}

/// Returns the example as JSON if it parses as such, else as a string.
fn example(key: &Key) -> Value {
    serde_json::from_str(key.example).unwrap_or_else(|_| json!(key.example))
}

fn shape(kind: &Kind) -> Value {
    match kind {
        // YAML reads a name such as 12 as a number.
        Kind::Text | Kind::Name(_) => json!({ "type": ["string", "number"] }),
        Kind::Word(words) => json!({ "enum": words.texts() }),
        Kind::Flag => json!({ "type": "boolean" }),
        Kind::Count { min, max } => {
            let mut count = json!({ "type": "integer", "minimum": min });
            // Editors use doubles, which are exact only below 2^53.
            if *max < 1 << 53 {
                count["maximum"] = json!(max);
            }
            count
        }
        Kind::Quantity(quantity) => json!({ "$ref": format!("#/$defs/{}", name_of(*quantity)) }),
        Kind::TimeRange => {
            let time = pattern(Quantity::Time);
            json!({ "type": "string", "pattern": format!("^{time} *\\.\\. *{time}$") })
        }
        Kind::Cost => {
            let time = pattern(Quantity::Time);
            json!({ "type": "string", "pattern": format!("^{time}(/B)?( *\\+ *{time}(/B)?)*$") })
        }
        Kind::One(section) => json!({ "$ref": format!("#/$defs/{}", section.name) }),
        Kind::Named(section) => json!({
            "type": ["object", "null"],
            "additionalProperties": { "$ref": format!("#/$defs/{}", section.name) },
        }),
        Kind::List(section) => json!({
            "type": ["array", "null"],
            "items": { "$ref": format!("#/$defs/{}", section.name) },
        }),
        Kind::Values(kind) => json!({ "type": "array", "items": shape(kind) }),
        Kind::Any(kinds) => json!({ "anyOf": kinds.iter().map(form).collect::<Vec<_>>() }),
        Kind::Value => json!({}),
        Kind::Changes => json!({ "type": ["object", "null"] }),
        Kind::Statistics => {
            let names = STATISTIC.texts().join("|");
            let name = format!("^({names}|p[0-9]{{1,2}}(\\.[0-9]{{1,6}})?)$");
            let limit = [json!({ "const": "deadline" }), shape(&Kind::Quantity(Quantity::Time))];
            json!({
                "type": "object",
                "patternProperties": { name: { "anyOf": limit } },
                "additionalProperties": false,
            })
        }
    }
}

/// Returns the shape of one of several forms, of which a map is there.
fn form(kind: &Kind) -> Value {
    let mut value = shape(kind);
    if let Kind::One(_) = kind {
        value["type"] = json!("object");
    }
    value
}

const fn name_of(quantity: Quantity) -> &'static str {
    match quantity {
        Quantity::Time => "time",
        Quantity::BitRate => "bit-rate",
        Quantity::PacketRate => "packet-rate",
        Quantity::Size => "size",
        Quantity::Length => "length",
        Quantity::Ratio => "ratio",
    }
}

fn pattern(quantity: Quantity) -> String {
    let units: Vec<&str> = quantity.units().collect();
    format!("{NUMBER} *({})", units.join("|"))
}

fn definition(quantity: Quantity) -> Value {
    let text = json!({
        "type": "string",
        "pattern": format!("^{}$", pattern(quantity)),
        "description": format!("{}, for example `{}`", quantity.name(), quantity.example()),
    });
    if quantity == Quantity::Ratio {
        return json!({ "anyOf": [text, { "type": "number", "minimum": 0, "maximum": 1 }] });
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_reference_has_its_definition() {
        for schema in [schema(), shim_schema()] {
            let text = schema.to_string();
            for part in text.split("#/$defs/").skip(1) {
                let name = part.split('"').next().unwrap();
                assert!(schema["$defs"].get(name).is_some(), "{name}");
            }
        }
    }
}
