//! Shim configurations; they share reader, units and keys with scenarios.

use rtether_model::shim::{Backend, Settings};
use serde_json::Value as Json;

use super::diagnostic::{Diagnostic, Sink, Source, Span};
use super::keys::table::SHIM;
use super::reader::Reader;
use super::tree::{self, Data, Value};
use super::{Severity, codes, lower, render};

/// Configuration of a shim.
#[derive(Clone, Debug, PartialEq)]
pub struct Config {
    /// The back end.
    pub backend: Backend,
    /// The settings the back end applies.
    pub settings: Settings,
}

/// The result of reading a file.
#[derive(Clone, Debug)]
pub struct Loaded {
    /// The configuration; `None` if there are errors.
    pub config: Option<Config>,
    /// All diagnostics, in file order; a configuration can still have warnings.
    pub diagnostics: Vec<Diagnostic>,
    /// The text that spans point into.
    sources: [Source; 1],
    root: Option<Value>,
}

/// Reads a configuration. `name` is shown in diagnostics.
pub fn load(name: &str, text: &str) -> Loaded {
    let sources = [Source { name: name.to_owned(), text: text.to_owned() }];
    let mut sink = Sink::default();
    let root = tree::parse(0, text, &mut sink);
    let mut reader = Reader::new(sink, &sources);
    let lowered = root.as_ref().and_then(|root| lower_all(&mut reader, root));
    let is_sound = reader.sink.errors() == 0;
    let diagnostics = reader.sink.finish();
    let config = lowered.filter(|_| is_sound);
    Loaded {
        config: config.map(|(backend, settings)| Config { backend, settings }),
        diagnostics,
        sources,
        root,
    }
}

fn lower_all(reader: &mut Reader<'_>, root: &Value) -> Option<(Backend, Settings)> {
    let start = start_of(root);
    if matches!(root.data, Data::Null) {
        let title = "the file is empty";
        reader.report(
            Diagnostic::new(&codes::MISSING_KEY, title, start, "")
                .help("`rtether: 1` and `rate: 100 Mbit/s`, each on a line, are enough"),
        );
        return None;
    }
    let top = reader.fields(root, &SHIM, "the configuration".into(), start)?;
    lower::shim(reader, &top)
}

/// Returns where to point for the file as a whole: its first key.
fn start_of(root: &Value) -> Span {
    let start = Span { end: root.span.start, ..root.span };
    match &root.data {
        Data::Map(entries) => entries.first().map_or(start, |entry| entry.key_span),
        Data::Null | Data::Scalar(_) | Data::List(_) => start,
    }
}

impl Loaded {
    /// Returns the text of the file.
    pub fn source(&self) -> &str {
        &self.sources[0].text
    }

    /// Returns all diagnostics as text for a terminal.
    pub fn text(&self, style: render::Style) -> String {
        render::all(&self.diagnostics, &self.sources, style)
    }

    /// Returns all diagnostics as JSON, one object per line, without a trailing newline.
    pub fn json_lines(&self) -> String {
        let list = self.diagnostics.iter();
        let lines: Vec<String> =
            list.map(|diagnostic| render::json(diagnostic, &self.sources).to_string()).collect();
        lines.join("\n")
    }

    /// Returns all diagnostics as one JSON array.
    pub fn json(&self) -> Json {
        let list = self.diagnostics.iter();
        list.map(|diagnostic| render::json(diagnostic, &self.sources)).collect()
    }

    /// Returns whether any diagnostic is an error.
    pub fn has_errors(&self) -> bool {
        self.diagnostics.iter().any(|diagnostic| diagnostic.severity == Severity::Error)
    }

    /// Adds a back end's refusal of an option as a diagnostic at that option.
    pub fn refuse(&mut self, backend: Backend, option: &str, reason: &str) {
        let option = key_of(option);
        let backend = backend.name();
        let title = format!("the back end `{backend}` cannot do `{option}`");
        self.refuse_at(&option, title, reason);
    }

    /// Adds an error: the back end cannot change while a shim is running.
    pub fn refuse_backend(&mut self) {
        let title = "`backend` cannot change while the shim is at work".to_owned();
        self.refuse_at("backend", title, "take it down and up again");
    }

    fn refuse_at(&mut self, option: &str, title: String, reason: &str) {
        let root = self.root.as_ref();
        let written = root.and_then(|root| find(root, option));
        let place = written.or(root.map(start_of)).unwrap_or_default();
        let diagnostic = Diagnostic::new(&codes::BACKEND_CANNOT, title, place, reason);
        self.diagnostics.push(diagnostic);
        self.config = None;
    }
}

/// Returns the key path of an option, which back ends name as the model does.
fn key_of(option: &str) -> String {
    let (first, rest) = match option.split_once('.') {
        Some((first, rest)) => (first, format!(".{rest}")),
        None => (option, String::new()),
    };
    let first = match first {
        "receive" => "receive_queues",
        "transmit" => "transmit_queues",
        "detector" => "smoother.detector",
        other => other,
    };
    format!("{first}{rest}")
}

/// Returns the place of the longest prefix of a key path that was written.
fn find(root: &Value, path: &str) -> Option<Span> {
    let mut value = root;
    let mut place = None;
    for key in path.split('.') {
        let Data::Map(entries) = &value.data else {
            break;
        };
        let Some(entry) = entries.iter().find(|entry| entry.key == key) else {
            break;
        };
        place = Some(entry.key_span);
        value = &entry.value;
    }
    place
}
