//! What `rtether design` may change, and what it keeps.

use std::collections::BTreeSet;

use super::Plant;
use super::assumed::Names;
use crate::codes;
use crate::diagnostic::{Diagnostic, quote};
use crate::keys::Texts;
use crate::keys::table::{ALLOW, DESIGN};
use crate::overrides;
use crate::paths;
use crate::plan::{About, Cost, Design, Freedom, Priced};
use crate::reader::{Fields, Reader};
use crate::tree::{Data, Entry, Value};

/// Reads `design:`; `root` is the scenario after all changes.
pub(crate) fn design(
    reader: &mut Reader<'_>,
    top: &Fields<'_>,
    root: &Value,
    plant: &Plant,
) -> Design {
    let Some(fields) = reader.one(top, "design", &DESIGN) else {
        return Design::default();
    };
    let allow = fields.has(ALLOW.key).then(|| allowed(reader, &fields));
    let names = Names::new(root, plant);
    // Names that are missing because of another mistake would only be missed.
    let is_whole = reader.sink.errors() == 0;
    let mut keep = Vec::new();
    for item in reader.items(&fields, "keep") {
        let Data::Scalar(path) = &item.data else {
            reader.wrong_type(&fields, "keep", item, "a list of paths");
            continue;
        };
        let about = kept(root, &names, path);
        if is_whole && about.is_empty() {
            let title = format!("{} is no flow, node, stack or switch", quote(path));
            let label = "nothing would be kept";
            let help = "write a path such as `flows.trip`, `nodes.relay1` or `switches[*]`";
            let wrong = Diagnostic::new(&codes::UNKNOWN_PATH, title, item.span, label);
            reader.report(wrong.help(help));
        }
        keep.extend(about);
    }
    let costs = costs(reader, &fields, root);
    Design { allow, keep, costs }
}

/// Reads `cost:`.
fn costs(reader: &mut Reader<'_>, fields: &Fields<'_>, root: &Value) -> Vec<Cost> {
    let Some(entry) = fields.get("cost") else {
        return Vec::new();
    };
    let entries = match &entry.value.data {
        Data::Map(entries) => &entries[..],
        Data::Null => &[],
        Data::Scalar(_) | Data::List(_) => {
            reader.wrong_type(fields, "cost", &entry.value, "words or paths, and their costs");
            &[]
        }
    };
    let costs = entries.iter().filter_map(|own| {
        let found = cost(root, own);
        if let Err(why) = &found {
            let title = format!("no cost of {}", quote(&own.key));
            let wrong = Diagnostic::new(&codes::VALUE_OUT_OF_RANGE, title, own.value.span, *why);
            let help = "write `layers: 3`, or `stacks.busbar.rate: 10 per 10 %`";
            reader.report(wrong.help(help));
        }
        found.ok()
    });
    costs.collect()
}

/// Reads one cost; the error says why it is none.
fn cost(root: &Value, entry: &Entry) -> Result<Cost, &'static str> {
    const MOST: u64 = 1_000_000;
    let Data::Scalar(text) = &entry.value.data else {
        return Err("a number is needed here");
    };
    let (units, step) = match text.split_once(" per ") {
        Some((units, step)) => (units, Some(step)),
        None => (text.as_str(), None),
    };
    let units = units.trim().parse().ok().filter(|units| *units <= MOST);
    let units = units.ok_or("a whole number of at most a million is needed here")?;
    let of = match (ALLOW.means(&entry.key), step) {
        (Some(freedom), None) => Priced::Freedom(freedom),
        (Some(_), Some(_)) => return Err("an edit of this kind has no steps"),
        (None, None) => return Err("what is no word of `allow` needs a step, such as `per 10 %`"),
        (None, Some(step)) => {
            let percent = step.trim().strip_suffix('%').and_then(|own| own.trim().parse().ok());
            let percent = percent.filter(|own| (1..=1000).contains(own));
            let percent = percent.ok_or("a step is 1 % to 1000 %")?;
            let value = overrides::find(root, &entry.key).map(|own| &own.data);
            let Some(Data::Scalar(value)) = value else {
                return Err("no number is written at this path");
            };
            let (number, unit) = value.split_once(' ').unwrap_or((value, ""));
            let number = number.parse().ok().filter(|own: &u64| (1..1 << 40).contains(own));
            let number = number.ok_or("the value at this path is no whole number")?;
            Priced::Number { path: entry.key.clone(), number, unit: unit.to_owned(), percent }
        }
    };
    Ok(Cost { of, units })
}

/// Returns what a path is about; nothing if a part of it is no flow, node, stack or switch.
fn kept(root: &Value, names: &Names<'_>, path: &str) -> Vec<About> {
    let section = path.split(['.', '[']).next().unwrap_or("");
    if !["flows", "nodes", "stacks", "switches", "routers"].contains(&section) {
        return Vec::new();
    }
    let about: Vec<About> =
        paths::single(root, path).iter().map(|path| names.about(path)).collect();
    let is_known = about.iter().all(|own| match own {
        About::Nodes(nodes) => !nodes.is_empty(),
        About::Flow(_) => true,
        About::Plant => false,
    });
    if is_known { about } else { Vec::new() }
}

/// Reads the words of `allow`.
fn allowed(reader: &mut Reader<'_>, fields: &Fields<'_>) -> BTreeSet<Freedom> {
    let mut allowed = BTreeSet::new();
    for item in reader.items(fields, ALLOW.key) {
        let Data::Scalar(text) = &item.data else {
            reader.wrong_type(fields, ALLOW.key, item, "a list of words");
            continue;
        };
        match ALLOW.means(text) {
            Some(freedom) => {
                allowed.insert(freedom);
            }
            None => reader.unknown_item(ALLOW.key, text, item.span, &ALLOW.texts()),
        }
    }
    allowed
}
