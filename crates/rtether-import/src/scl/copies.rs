//! Several files of one plant: which one counts for a device, and where they contradict each other.
//!
//! A file of one device (CID) often holds others as far as it deals with them: publishers with the
//! control blocks it listens to, and their addresses. Such a copy adds what the device's own file
//! leaves out; where both say something, the own file counts.

use std::collections::BTreeMap;

use super::notes::Notes;
use super::xml::{Element, all, attribute, child, children, content, word};
use crate::plan::Code;
use crate::text::quote;

/// Most members of a data set: more do not fit a frame, since each takes an octet at least.
pub(super) const MAX_MEMBERS: usize = 1500;

/// What a control block publishes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Kind {
    Goose,
    Samples,
}

/// A file of SCL.
#[derive(Clone, Copy, Debug)]
pub(super) struct Source<'a> {
    pub(super) name: &'a str,
    pub(super) root: Element<'a>,
}

/// A device as the files tell it.
#[derive(Debug)]
pub(super) struct Told<'a> {
    pub(super) name: &'a str,
    /// Number of the file that counts, and the device there.
    pub(super) own: (usize, Element<'a>),
    /// The device in other files.
    pub(super) copies: Vec<(usize, Element<'a>)>,
}

/// Kind, logical device and name of a control block.
type Name<'a> = (Kind, &'a str, &'a str);

/// Returns the devices of all files, in order of the first file that holds each.
pub(super) fn devices<'a>(files: &[Source<'a>], notes: &mut Notes) -> Vec<Told<'a>> {
    let mut places: BTreeMap<&str, usize> = BTreeMap::new();
    let mut found: Vec<Vec<(usize, Element<'a>)>> = Vec::new();
    for (file, source) in files.iter().enumerate() {
        for element in children(source.root, "IED") {
            let name = word(element, "name");
            let place = *places.entry(name).or_insert(found.len());
            if place == found.len() {
                found.push(Vec::new());
            }
            if found[place].last().is_some_and(|(last, _)| *last == file) {
                let text = format!("a second device is named {}", quote(name));
                notes.add(element, Code::SameName, text);
            } else {
                found[place].push((file, element));
            }
        }
    }
    let alone = files.iter().map(|file| children(file.root, "IED").nth(1).is_none());
    let alone: Vec<bool> = alone.collect();
    let told = found.into_iter().filter_map(|mut copies| {
        let name = word(copies.first()?.1, "name");
        let own = copies.remove(own(files, &alone, name, &copies));
        Some(Told { name, own, copies })
    });
    told.collect()
}

/// Returns which of the copies counts: the one of the file that is named after the device, else of
/// one without other devices, else the largest.
fn own(files: &[Source<'_>], alone: &[bool], name: &str, copies: &[(usize, Element<'_>)]) -> usize {
    let is_named = |file: usize| {
        let own = files[file].name;
        let title = own.rsplit_once('.').map_or(own, |(title, _)| title);
        title.eq_ignore_ascii_case(name)
    };
    let named = copies.iter().position(|(file, _)| is_named(*file));
    let alone = || copies.iter().position(|(file, _)| alone[*file]);
    let largest = || {
        // The first of several, which is the last one that is looked at.
        let sized = copies.iter().enumerate().rev();
        sized.max_by_key(|(_, (_, element))| element.descendants().count())
    };
    let place = named.or_else(alone);
    place.unwrap_or_else(|| largest().map_or(0, |(place, _)| place))
}

/// A control block with its data set.
#[derive(Clone, Copy, Debug)]
pub(super) struct Sent<'a> {
    pub(super) element: Element<'a>,
    data: Option<Element<'a>>,
}

/// Returns the control blocks of a device.
pub(super) fn blocks(device: Element<'_>) -> BTreeMap<Name<'_>, Sent<'_>> {
    let mut found = BTreeMap::new();
    for logical in all(device, "LDevice") {
        for first in children(logical, "LN0") {
            let sets = children(first, "DataSet").map(|set| (word(set, "name"), set));
            let sets: BTreeMap<&str, Element<'_>> = sets.collect();
            let kinds = [(Kind::Goose, "GSEControl"), (Kind::Samples, "SampledValueControl")];
            for (kind, tag) in kinds {
                for element in children(first, tag) {
                    let key = (kind, word(logical, "inst"), word(element, "name"));
                    let data = sets.get(word(element, "datSet")).copied();
                    found.entry(key).or_insert(Sent { element, data });
                }
            }
        }
    }
    found
}

/// What both files say of a control block and what must not differ.
const SAID: &[&str] = &["datSet", "confRev", "appID", "smvID", "smpRate", "smpMod", "nofASDU"];

/// Notes where copies of devices have other control blocks than their own files.
pub(super) fn compare(files: &[Source<'_>], devices: &[Told<'_>], notes: &mut Notes) {
    for device in devices {
        let (file, own) = device.own;
        let counts = quote(files[file].name);
        if device.copies.is_empty() {
            continue;
        }
        let known = blocks(own);
        for (_, copy) in &device.copies {
            let here = blocks(*copy);
            for ((kind, logical, name), own) in &known {
                if let Some(block) = here.get(&(*kind, *logical, *name)) {
                    let path = quote(&format!("{}/{logical}/{name}", device.name));
                    compare_block(&path, [block, own], &counts, notes);
                }
            }
            for (key, block) in here {
                if !known.contains_key(&key) {
                    let path = quote(&format!("{}/{}/{}", device.name, key.1, key.2));
                    let text = format!("{path} is not in {counts}, the file of its device");
                    notes.add(block.element, Code::Contradiction, text);
                }
            }
        }
    }
}

fn compare_block(path: &str, [here, own]: [&Sent<'_>; 2], counts: &str, notes: &mut Notes) {
    for part in SAID {
        let said = [here, own].map(|one| attribute(one.element, part));
        differ(path, part, said, counts, here.element, notes);
    }
    if let (Some(first), Some(second)) = (here.data, own.data)
        && !members(first).eq(members(second))
    {
        let text =
            format!("the data set of {path} has other members than in {counts}, which counts");
        notes.add(here.element, Code::Contradiction, text);
    }
}

/// Returns what the members of a data set are, as many as a frame can hold.
fn members(set: Element<'_>) -> impl Iterator<Item = [&str; 8]> {
    let parts = ["ldInst", "prefix", "lnClass", "lnInst", "doName", "daName", "fc", "ix"];
    let members = children(set, "FCDA").take(MAX_MEMBERS);
    members.map(move |own| parts.map(|part| word(own, part)))
}

/// Notes that a copy says something else.
fn differ(
    path: &str,
    part: &str,
    [here, there]: [Option<&str>; 2],
    counts: &str,
    at: Element<'_>,
    notes: &mut Notes,
) {
    if let (Some(here), Some(there)) = (here, there)
        && here != there
    {
        let (here, there) = (quote(here), quote(there));
        let text = format!("{part} of {path} is {here} here and {there} in {counts}, which counts");
        notes.add(at, Code::Contradiction, text);
    }
}

/// What both files say of an address.
const PARAMETERS: &[&str] = &["MAC-Address", "APPID", "VLAN-ID", "VLAN-PRIORITY"];

/// Notes where a copy of a device (`here`) has another address for a control block.
pub(super) fn compare_address(
    path: &str,
    [here, own]: [Element<'_>; 2],
    counts: &str,
    notes: &mut Notes,
) {
    let (path, counts) = (quote(path), quote(counts));
    for part in PARAMETERS {
        let said = [here, own].map(|one| parameter(one, part));
        differ(&path, part, said, &counts, here, notes);
    }
}

/// Returns the value of a parameter of an address, such as `VLAN-ID`.
pub(super) fn parameter<'a>(published: Element<'a>, name: &str) -> Option<&'a str> {
    let address = child(published, "Address")?;
    let mut found = children(address, "P");
    let found = found.find(|parameter| attribute(*parameter, "type") == Some(name))?;
    Some(content(found)).filter(|text| !text.is_empty())
}
