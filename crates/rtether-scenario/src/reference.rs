//! Reference pages of the documentation, made from the tables of keys and codes.

use std::fmt::Write;

use super::codes;
use super::keys::table::{PROFILE_SECTIONS, SECTIONS, SHIM_SECTIONS};
use super::keys::{Key, Kind, Presence, Section};
use super::units::Quantity;
use crate::profiles::{PROFILES, Profile};

/// Returns the page of all scenario keys, in Markdown.
pub fn keys() -> String {
    let mut out = String::from(
        "# Scenario reference\n\n\
         <!-- Made from the table of keys in `crates/rtether-scenario/src/keys/`; \
         the tests `documents` of `rtether-scenario` renew it with `RTETHER_BLESS=1`. -->\n\n\
         A scenario is a YAML file.\n\
         Every quantity carries its unit; counts, ports and priorities are bare numbers.\n\
         The [guide](../guides/scenario.md) shows how the parts go together, \
         [diagnostics](diagnostics.md) explains every message.\n\n\
         ## Units\n\n| quantity | units | example |\n|---|---|---|\n",
    );
    for quantity in Quantity::ALL {
        let units: Vec<String> = quantity.units().map(|unit| format!("`{unit}`")).collect();
        let (name, units) = (quantity.name(), units.join(" "));
        let _ = writeln!(out, "| {name} | {units} | `{}` |", quantity.example());
    }
    out.push_str(
        "\nValues are exact: `0.3 ps` is an error, not zero.\n\
         The interval of a packet rate is rounded to the nearest picosecond.\n\
         A ratio may also be a bare number, `1e-9`.\n",
    );
    sections(&mut out, SECTIONS);
    out.push_str(
        "\n## Built-in stacks\n\n\
         Devices of papers; `stack: NAME` at a node, without a declaration.\n\n\
         | name | what it costs | source |\n|---|---|---|\n",
    );
    for Profile { name, description, source, .. } in PROFILES {
        let _ = writeln!(out, "| `{name}` | {description} | {source} |");
    }
    out
}

/// Returns the keys that limit a memory, or make one that is limited, with the name of their section:
/// a bound is a proof only if that memory suffices.
pub fn memory_keys() -> Vec<(&'static str, &'static str)> {
    let keys = SECTIONS.iter().flat_map(|section| {
        let own = section.keys.iter().filter(|key| key.is_memory);
        own.map(|key| (section.name, key.name))
    });
    keys.collect()
}

/// Returns the page of all keys of a shim configuration, in Markdown.
pub fn shim_keys() -> String {
    let mut out = String::from(
        "# Shim reference\n\n\
         <!-- Made from the table of keys in `crates/rtether-scenario/src/keys/`; \
         the tests `shim` of `rtether-scenario` renew it with `RTETHER_BLESS=1`. -->\n\n\
         The configuration of a shim is a YAML file with the [units](scenario.md#units) of scenarios.\n\
         The [guide](../guides/shim.md) shows how it is used, \
         [diagnostics](diagnostics.md) explains every message.\n",
    );
    sections(&mut out, SHIM_SECTIONS);
    out
}

/// Returns the page of all keys of a profile, in Markdown.
pub fn profile_keys() -> String {
    let mut out = String::from(
        "# Profile reference\n\n\
         <!-- Made from the table of keys in `crates/rtether-scenario/src/keys/`; \
         the tests `profile` of `rtether-scenario` renew it with `RTETHER_BLESS=1`. -->\n\n\
         The profile of a device is a YAML file with the [units](scenario.md#units) of scenarios.\n\
         The [guide](../guides/profiles.md) shows how it is used, \
         [diagnostics](diagnostics.md) explains every message.\n",
    );
    // What scenarios share is described with their keys.
    let own =
        PROFILE_SECTIONS.iter().copied().filter(|own| !SECTIONS.iter().any(|s| s.name == own.name));
    sections(&mut out, &own.collect::<Vec<_>>());
    out.replace("](#stack)", "](scenario.md#stack)")
}

fn sections(out: &mut String, sections: &[&Section]) {
    for section in sections {
        let _ = write!(out, "\n## {}\n\n{}\n\n", section.name, section.description);
        out.push_str("| key | type | default | |\n|---|---|---|---|\n");
        for key in section.keys {
            row(out, key);
        }
    }
}

fn row(out: &mut String, key: &Key) {
    let default = match key.presence {
        Presence::Required => "required".to_owned(),
        Presence::Default(text) => format!("`{text}`"),
        Presence::Optional => String::new(),
    };
    let kind = type_of(&key.kind);
    let (name, description, example) = (key.name, key.description, key.example);
    let _ = writeln!(
        out,
        "| `{name}` | {kind} | {default} | {description} Example: `{name}: {example}` |"
    );
}

fn type_of(kind: &Kind) -> String {
    match kind {
        Kind::Text => "text".into(),
        Kind::Name(what) => format!("name of a {what}"),
        Kind::Word(words) => {
            let words = words.texts().into_iter().map(|word| format!("`{word}`"));
            words.collect::<Vec<String>>().join(", ")
        }
        Kind::Flag => "`true`, `false`".into(),
        Kind::Count { min, max } if min == max => format!("`{min}`"),
        Kind::Count { min, max } if *max >= u64::MAX >> 1 => format!("number from {min}"),
        Kind::Count { min, max } => format!("number {min} to {max}"),
        Kind::Quantity(quantity) => quantity.name().trim_start_matches("a ").into(),
        Kind::TimeRange => "time .. time".into(),
        Kind::Cost => "time + time/B".into(),
        Kind::One(section) => format!("[{0}](#{0})", section.name),
        Kind::Named(section) => format!("map from names to [{0}](#{0})", section.name),
        Kind::List(section) => format!("list of [{0}](#{0})", section.name),
        Kind::Values(kind) => format!("list of: {}", type_of(kind)),
        Kind::Any(kinds) => {
            let kinds: Vec<String> = kinds.iter().map(type_of).collect();
            kinds.join("; or ")
        }
        Kind::Statistics => "map from statistics to a time or `deadline`".into(),
        Kind::Changes => "map from paths to values".into(),
        Kind::Value => "any value".into(),
    }
}

/// Returns the page of all diagnostics, in Markdown.
pub fn diagnostics() -> String {
    let mut out = String::from(
        "# Diagnostics\n\n\
         <!-- Made from `crates/rtether-scenario/src/codes.rs`; the tests `documents` of `rtether-scenario` renew it with `RTETHER_BLESS=1`. -->\n\n\
         All mistakes of a scenario are reported at once.\n\
         Codes are stable; with `--message-format json` each comes with its places.\n",
    );
    for code in codes::ALL {
        let _ = write!(
            out,
            "\n## {}\n\n{}: {}\n{}\n",
            code.name,
            code.severity.name(),
            code.summary,
            code.advice
        );
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Oracle: the words of the descriptions.
    #[test]
    fn a_key_that_limits_a_memory_is_marked() {
        for section in SECTIONS {
            for key in section.keys {
                let words = ["that may wait", "holds frames", "held for one neighbor"];
                let is_said = words.iter().any(|words| key.description.contains(words));
                // A maximum wait is no memory.
                let is_time = matches!(key.kind, Kind::Flag | Kind::Word(_));
                assert_eq!(
                    key.is_memory,
                    is_said && !is_time,
                    "`{}` of {}: {}",
                    key.name,
                    section.name,
                    key.description
                );
            }
        }
    }
}
