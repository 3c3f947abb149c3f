//! Stacks that a scenario takes from profiles of devices: `stack: device.yaml`.
//!
//! The stack of the profile stands in place of its name before anything else reads it, so that changes
//! of its values are changes of the scenario, and the file stays as it was measured. Files are read by
//! the rules of `include`, each once.

use std::collections::BTreeMap;

use crate::codes;
use crate::device::{Place, Profile, is_file};
use crate::diagnostic::{Diagnostic, Sink, Source, Span, quote};
use crate::help::Help;
use crate::include::{Loader, begins_as_part, resolve};
use crate::profile;
use crate::reader::Reader;
use crate::tree::{self, Data, Entry, MAX_FILE_SIZE, MAX_VALUES, Value};

/// Most profiles of a scenario.
const MAX_PROFILES: usize = 1_000;
/// Keys of `reply` that a flow takes from the profile of its listener.
const REPLY_KEYS: [&str; 3] = ["after", "scan", "scan_phase"];

/// The profiles of a scenario, and who has them.
pub(crate) struct Taken<'r> {
    read: &'r Loader<'r>,
    devices: BTreeMap<String, Option<Device>>,
    /// By path of a stack: the file, and the stack as it was taken.
    places: BTreeMap<String, (String, Value)>,
    octets: usize,
    /// Values that may still be copied into the scenario.
    left: usize,
}

/// A profile that was read.
struct Device {
    profile: Profile,
    /// Number of its text.
    source: u32,
    stack: Option<Value>,
    reply: Option<Value>,
}

impl<'r> Taken<'r> {
    pub(crate) fn new(read: &'r Loader<'r>, root: &Value) -> Self {
        let left = MAX_VALUES.saturating_sub(root.count());
        Self { read, devices: BTreeMap::new(), places: BTreeMap::new(), octets: 0, left }
    }

    /// Returns the stacks that come from profiles, by path.
    pub(crate) fn places(&self) -> Vec<Place> {
        let places = self.places.iter().filter_map(|(path, (file, _))| {
            let source = self.devices.get(file)?.as_ref()?.source;
            Some(Place { path: path.clone(), file: file.clone(), source })
        });
        places.collect()
    }

    /// Adds to what a scenario assumes the stacks whose profiles assume something themselves. Such an
    /// assumption ends as any other if a change gives another value.
    pub(crate) fn assume(&self, root: &mut Value) {
        let mut more = Vec::new();
        for (path, (file, stack)) in &self.places {
            let device = self.devices.get(file).and_then(Option::as_ref);
            let reasons = device.map(|own| own.profile.assumptions()).unwrap_or_default();
            if reasons.is_empty() {
                continue;
            }
            let span = stack.span;
            let why = Data::Scalar(format!("{file}: {}", reasons.join("; ")));
            let parts = vec![entry("is", span, stack.data.clone()), entry("why", span, why)];
            more.push(entry(path, span, Data::Map(parts)));
        }
        let Data::Map(sections) = &mut root.data else { return };
        if more.is_empty() {
            return;
        }
        let span = more[0].value.span;
        let data = Data::Map(more);
        match sections.iter_mut().find(|own| own.key == "assumed").map(|own| &mut own.value.data) {
            None => {
                let value = Value { span, data };
                sections.push(Entry { key: "assumed".to_owned(), key_span: span, value });
            }
            Some(known @ Data::Null) => *known = data,
            Some(Data::Map(known)) => {
                let Data::Map(more) = data else { return };
                known.extend(more);
            }
            // It is reported when it is read.
            Some(Data::Scalar(_) | Data::List(_)) => {}
        }
    }

    /// Puts stacks in place of the files that nodes and stacks name.
    pub(crate) fn stacks(&mut self, root: &mut Value, sources: &mut Vec<Source>, sink: &mut Sink) {
        let declared = names(root, "stacks");
        for part in parts(root, "stacks") {
            let Data::Map(entries) = &mut part.value.data else { continue };
            if let Some(file) = self.within(entries, sources, sink) {
                self.note(format!("stacks.{}", part.key), file, part.value.clone());
            }
        }
        for part in parts(root, "nodes") {
            let Data::Map(entries) = &mut part.value.data else { continue };
            let Some(own) = entries.iter_mut().find(|own| own.key == "stack") else { continue };
            if let Some(file) = self.stand_for(&mut own.value, &declared, sources, sink) {
                self.note(format!("nodes.{}.stack", part.key), file, own.value.clone());
            }
        }
        // What is assumed of a node with a profile is compared with the node.
        for assumed in parts(root, "assumed") {
            let Some(is) = find(&mut assumed.value, "is") else { continue };
            if !assumed.key.starts_with("nodes.") {
                continue;
            }
            let stack = match assumed.key.rsplit_once('.') {
                Some((_, "stack")) => Some(is),
                _ => find(is, "stack"),
            };
            if let Some(own) = stack {
                self.stand_for(own, &declared, sources, sink);
            }
        }
    }

    /// Puts a stack in place of the profile of a node; returns the file.
    fn stand_for(
        &mut self,
        own: &mut Value,
        declared: &[String],
        sources: &mut Vec<Source>,
        sink: &mut Sink,
    ) -> Option<String> {
        let span = own.span;
        match &mut own.data {
            Data::Scalar(name) if is_file(name) && !declared.contains(name) => {
                let (file, stack) = self.stack(name, span, sources, sink)?;
                *own = stack;
                Some(file)
            }
            Data::Map(inner) => self.within(inner, sources, sink),
            Data::Null | Data::Scalar(_) | Data::List(_) => None,
        }
    }

    fn note(&mut self, path: String, file: String, stack: Value) {
        self.places.insert(path, (file, stack));
    }

    /// Completes a stack that is written out and names a profile; returns the file.
    fn within(
        &mut self,
        entries: &mut Vec<Entry>,
        sources: &mut Vec<Source>,
        sink: &mut Sink,
    ) -> Option<String> {
        let at = entries.iter().position(|own| own.key == "stack")?;
        let Data::Scalar(name) = &entries[at].value.data else { return None };
        if !is_file(name) {
            return None;
        }
        let (file, stack) = self.stack(name, entries[at].value.span, sources, sink)?;
        entries.remove(at);
        complete(entries, stack);
        Some(file)
    }

    /// Returns the file of a profile and its stack.
    fn stack(
        &mut self,
        name: &str,
        span: Span,
        sources: &mut Vec<Source>,
        sink: &mut Sink,
    ) -> Option<(String, Value)> {
        // What an option says is relative to the scenario.
        let by = sources.get(span.source as usize).filter(|own| !own.name.starts_with("--"));
        let base = by.or_else(|| sources.first()).map_or("", |own| own.name.as_str());
        let file = match resolve(base, name) {
            Ok(file) => file,
            Err(why) => {
                let title = format!("{} is no path of a profile", quote(name));
                sink.push(Diagnostic::new(&codes::UNREAD_FILE, title, span, why));
                return None;
            }
        };
        if !self.devices.contains_key(&file) {
            let device = self.open(&file, span, sources, sink);
            self.devices.insert(file.clone(), device);
        }
        let device = self.devices.get(&file)?.as_ref()?;
        let Some(stack) = device.stack.clone() else {
            let title = format!("{} states no stack", quote(&file));
            let why = device.profile.stack_from.as_deref().map_or_else(
                || "no series of it shows one".to_owned(),
                |series| format!("its series of {} has no fixed cost", quote(series)),
            );
            let wrong = Diagnostic::new(&codes::MISSING_KEY, title, span, why);
            let help = "ask the device again, or write `stack:` into the profile";
            sink.push(wrong.help(help));
            return None;
        };
        // It is there twice: as it is used, and as it was taken.
        let Some(left) = self.left.checked_sub(2 * stack.count()) else {
            let title = "the scenario gets too many values".to_owned();
            let label = "the stack of this profile is copied to each station";
            sink.push(Diagnostic::new(&codes::TOO_LARGE, title, span, label));
            return None;
        };
        self.left = left;
        Some((file, stack))
    }

    /// Reads a profile; what is wrong with it has places in its own text.
    fn open(
        &mut self,
        file: &str,
        span: Span,
        sources: &mut Vec<Source>,
        sink: &mut Sink,
    ) -> Option<Device> {
        if self.devices.len() >= MAX_PROFILES {
            let label = format!("a scenario may have {MAX_PROFILES}");
            let title = "too many profiles";
            sink.push(Diagnostic::new(&codes::TOO_LARGE, title, span, label));
            return None;
        }
        let text = match (self.read)(file) {
            Ok(text) => text,
            Err(why) => {
                let title = format!("{} cannot be read", quote(file));
                sink.push(Diagnostic::new(&codes::UNREAD_FILE, title, span, why));
                return None;
            }
        };
        self.octets = self.octets.saturating_add(text.len());
        if self.octets > MAX_FILE_SIZE {
            let title = "the profiles are too large together";
            let label = "with this one they have more than 64 MiB";
            sink.push(Diagnostic::new(&codes::TOO_LARGE, title, span, label));
            return None;
        }
        if !begins_as_part(&text) {
            let title = format!("{} is no profile", quote(file));
            let wrong = Diagnostic::new(
                &codes::UNREAD_FILE,
                title,
                span,
                "its first key is none of profiles",
            );
            sink.push(wrong.help("`rtether identify HOST -o device.yaml` writes a profile"));
            return None;
        }
        let source = u32::try_from(sources.len()).ok()?;
        let root = tree::parse(source, &text, sink);
        sources.push(Source { name: file.to_owned(), text });
        let root = root?;
        let mut reader = Reader::new(std::mem::take(sink), sources);
        let profile = profile::read(&mut reader, &root);
        *sink = reader.sink;
        let [stack, reply] = ["stack", "reply"].map(|key| part(&root, key).cloned());
        Some(Device { profile: profile?, source, stack, reply })
    }

    /// Completes replies of flows to devices with a profile, unless they say when answers leave.
    pub(crate) fn replies(&self, root: &mut Value, sink: &mut Sink) {
        let replies = self.by_node(root);
        if replies.is_empty() {
            return;
        }
        let Some(Data::List(flows)) = find(root, "flows").map(|own| &mut own.data) else { return };
        for flow in flows {
            let listeners = listeners(flow);
            let Some(reply) = find(flow, "reply") else { continue };
            let Data::Map(entries) = &mut reply.data else { continue };
            if entries.iter().any(|own| REPLY_KEYS.contains(&own.key.as_str())) {
                continue;
            }
            let mut found = listeners.iter().map(|name| replies.get(name.as_str()));
            let Some(first) = found.next() else { continue };
            if found.all(|other| other.map(|own| own.file) == first.map(|own| own.file)) {
                if let Some(Answer { value, .. }) = first {
                    complete(entries, (*value).clone());
                }
                continue;
            }
            let title = "listeners with different profiles answer one flow".to_owned();
            let label = "it is not clear whose scan this is";
            let wrong = Diagnostic::new(&codes::CONFLICTING_KEYS, title, reply.span, label);
            sink.push(wrong.help(Help::example("reply: { size: 60 B, after: 1 ms, scan: 10 ms }")));
        }
    }

    /// Returns when answers leave, by node whose profile says it.
    fn by_node(&self, root: &Value) -> BTreeMap<String, Answer<'_>> {
        let mut found = BTreeMap::new();
        let Data::Map(sections) = &root.data else { return found };
        let nodes = sections.iter().find(|own| own.key == "nodes");
        let Some(Data::Map(nodes)) = nodes.map(|own| &own.value.data) else { return found };
        for node in nodes {
            let own = format!("nodes.{}.stack", node.key);
            let stack = part(&node.value, "stack");
            let named = match stack.map(|own| &own.data) {
                Some(Data::Scalar(name)) => format!("stacks.{name}"),
                _ => own,
            };
            let Some((file, _)) = self.places.get(&named) else { continue };
            let device = self.devices.get(file).and_then(Option::as_ref);
            if let Some(value) = device.and_then(|own| own.reply.as_ref()) {
                found.insert(node.key.clone(), Answer { file, value });
            }
        }
        found
    }
}

/// When answers of a node leave.
struct Answer<'t> {
    file: &'t str,
    value: &'t Value,
}

/// Adds entries that are not there yet.
fn complete(entries: &mut Vec<Entry>, more: Value) {
    let Data::Map(more) = more.data else { return };
    for entry in more {
        if entries.iter().all(|own| own.key != entry.key) {
            entries.push(entry);
        }
    }
}

fn entry(key: &str, span: Span, data: Data) -> Entry {
    Entry { key: key.to_owned(), key_span: span, value: Value { span, data } }
}

fn find<'v>(root: &'v mut Value, key: &str) -> Option<&'v mut Value> {
    let Data::Map(entries) = &mut root.data else { return None };
    entries.iter_mut().find(|own| own.key == key).map(|own| &mut own.value)
}

fn part<'v>(root: &'v Value, key: &str) -> Option<&'v Value> {
    let Data::Map(entries) = &root.data else { return None };
    entries.iter().find(|own| own.key == key).map(|own| &own.value)
}

/// Returns what a section has by name.
fn parts<'v>(root: &'v mut Value, section: &str) -> &'v mut [Entry] {
    match find(root, section).map(|own| &mut own.data) {
        Some(Data::Map(parts)) => parts,
        _ => &mut [],
    }
}

fn names(root: &Value, section: &str) -> Vec<String> {
    match part(root, section).map(|own| &own.data) {
        Some(Data::Map(entries)) => entries.iter().map(|own| own.key.clone()).collect(),
        _ => Vec::new(),
    }
}

/// Returns the names of those that receive a flow.
fn listeners(flow: &Value) -> Vec<String> {
    match part(flow, "to") {
        Some(Value { data: Data::List(all), .. }) => all.iter().filter_map(scalar).collect(),
        Some(one) => scalar(one).into_iter().collect(),
        None => Vec::new(),
    }
}

fn scalar(value: &Value) -> Option<String> {
    match &value.data {
        Data::Scalar(text) => Some(text.clone()),
        Data::Null | Data::List(_) | Data::Map(_) => None,
    }
}
