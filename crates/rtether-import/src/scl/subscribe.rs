//! Who listens to which control block.

use std::collections::{BTreeMap, BTreeSet};

use super::model::{Block, BlockKey, Kind, Model};
use super::notes::Notes;
use super::xml::{Element, all, attribute, children, content, word};
use crate::plan::Code;
use crate::text::quote;

/// A listener: its device, and the access point that it names, if it names one.
pub(super) type Listener<'a> = (usize, Option<&'a str>);

/// Listeners of each control block.
pub(super) type Listeners<'a> = BTreeMap<BlockKey<'a>, BTreeSet<Listener<'a>>>;

/// Device, logical device and object of data, with the parts of its logical node.
type Source<'a> = (usize, [&'a str; 5]);

/// Control blocks whose data sets hold an object, with the attribute if only one is in the set.
type Holders<'a> = BTreeMap<Source<'a>, Vec<(BlockKey<'a>, Option<&'a str>)>>;

/// Most data set members that are looked at for one reference.
const MAX_HOLDERS: usize = 64;

/// Finds the listeners: by `ExtRef` of subscribers, and by `IEDName` of control blocks.
pub(super) fn listeners<'a>(model: &Model<'a>, notes: &mut Notes) -> Listeners<'a> {
    let mut found: Listeners<'a> = BTreeMap::new();
    for block in &model.blocks {
        found.entry(block.key()).or_default().extend(named(model, block, notes));
    }
    let holders = holders(model);
    for (device, own) in model.devices.iter().enumerate() {
        for point in children(own.element, "AccessPoint") {
            let listener = (device, attribute(point, "name"));
            for reference in all(point, "ExtRef") {
                for key in sources(model, &holders, device, reference, notes) {
                    if let Some(known) = found.get_mut(&key) {
                        known.insert(listener);
                    }
                }
            }
        }
    }
    found
}

/// Returns the listeners that a control block names.
fn named<'a>(model: &Model<'a>, block: &Block<'a>, notes: &mut Notes) -> Vec<Listener<'a>> {
    let mut listeners = Vec::new();
    let repeated = model.repeated.get(&block.key()).into_iter().flatten();
    let said = [&block.element].into_iter().chain(repeated);
    for element in said.flat_map(|block| children(*block, "IEDName")) {
        let name = content(element);
        match model.by_name.get(name) {
            Some(&device) if device == block.device => {}
            Some(&device) => listeners.push((device, attribute(element, "apRef"))),
            None => {
                let text = format!("the subscriber {} is not in the file", quote(name));
                notes.add(element, Code::UnknownDevice, text);
            }
        }
    }
    listeners
}

/// Returns the control blocks that a bound reference means; none if it is not bound, or bound to
/// data that travels in reports.
fn sources<'a>(
    model: &Model<'a>,
    holders: &Holders<'a>,
    subscriber: usize,
    reference: Element<'a>,
    notes: &mut Notes,
) -> Vec<BlockKey<'a>> {
    let Some(name) = attribute(reference, "iedName") else {
        return Vec::new();
    };
    let Some(&device) = model.by_name.get(name) else {
        if name != "@" {
            let text = format!("the publisher {} is not in the file", quote(name));
            notes.add(reference, Code::UnknownDevice, text);
        }
        return Vec::new();
    };
    if device == subscriber {
        return Vec::new();
    }
    let kinds: &[Kind] = match attribute(reference, "serviceType") {
        Some("GOOSE") => &[Kind::Goose],
        Some("SMV") => &[Kind::Samples],
        None => &[Kind::Goose, Kind::Samples],
        Some(_) => return Vec::new(),
    };
    let Some(block) = attribute(reference, "srcCBName") else {
        return by_data(holders, kinds, device, reference);
    };
    let logical = attribute(reference, "srcLDInst").unwrap_or_else(|| word(reference, "ldInst"));
    let keys = kinds.iter().map(|kind| (*kind, device, logical, block));
    let known: Vec<BlockKey<'a>> = keys.filter(|key| model.has(key)).collect();
    // Without a service type it may be the control block of a report.
    if known.is_empty() && attribute(reference, "serviceType").is_some() {
        let path = format!("{name}/{logical}/{block}");
        let text = format!("the control block {} of a reference is not in the file", quote(&path));
        notes.add(reference, Code::UnknownBlock, text);
    }
    known
}

/// Returns the control blocks that carry the data of a reference of the first edition, which names
/// no control block.
fn by_data<'a>(
    holders: &Holders<'a>,
    kinds: &[Kind],
    device: usize,
    reference: Element<'a>,
) -> Vec<BlockKey<'a>> {
    let part = attribute(reference, "daName");
    let found = holders.get(&(device, path(reference))).into_iter().flatten();
    let fits = |held: Option<&str>| part.is_none() || held.is_none() || part == held;
    found
        .filter(|(key, held)| kinds.contains(&key.0) && fits(*held))
        .map(|(key, _)| *key)
        .take(MAX_HOLDERS)
        .collect()
}

/// Returns the parts by which references and data sets name an object.
fn path(element: Element<'_>) -> [&str; 5] {
    ["ldInst", "prefix", "lnClass", "lnInst", "doName"].map(|name| word(element, name))
}

fn holders<'a>(model: &Model<'a>) -> Holders<'a> {
    let mut holders: Holders<'a> = BTreeMap::new();
    for block in &model.blocks {
        for member in model.members(block).into_iter().flatten() {
            let source = (block.device, path(member));
            let held = (block.key(), attribute(member, "daName"));
            holders.entry(source).or_default().push(held);
        }
    }
    holders
}
