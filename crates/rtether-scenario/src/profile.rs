//! Profiles of devices: their file, and what scenarios take from it.
//!
//! A profile keeps round trips and not only figures: the least cost and quantiles are order
//! statistics, of which no summary is smaller than the sample, so that two series can be made one only
//! from their round trips.

mod stack;
mod text;
mod words;

pub use crate::device::{
    Bin, FIGURES, MAX_BINS, MAX_FRAME, MAX_SERIES, MAX_TEXT, MAX_TRIPS, Method, Misfit, NotKnown,
    Profile, Range, Series, Tail, Trial, Trips,
};
use crate::diagnostic::{Diagnostic, Sink, Source, Span};
use crate::keys::table::PROFILE;
use crate::reader::Reader;
use crate::tree::{self, Data, Value};
use crate::{codes, lower, render};

/// What is wrong with a profile, with places in its text.
#[derive(Clone, Debug)]
pub struct Diagnostics {
    /// In the order of the file.
    pub list: Vec<Diagnostic>,
    sources: [Source; 1],
}

impl Diagnostics {
    /// Returns all of them as text for a terminal.
    pub fn text(&self, style: render::Style) -> String {
        render::all(&self.list, &self.sources, style)
    }

    /// Returns all of them as one JSON array.
    pub fn json(&self) -> serde_json::Value {
        self.list.iter().map(|one| render::json(one, &self.sources)).collect()
    }
}

impl std::fmt::Display for Diagnostics {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&self.text(render::Style::Plain))
    }
}

impl std::error::Error for Diagnostics {}

impl Profile {
    /// Returns the file. It is read as the same profile, but for characters that nobody sees and
    /// texts of more than [`MAX_TEXT`] characters.
    pub fn to_yaml(&self) -> String {
        text::write(self)
    }

    /// Reads a file; `name` is shown in messages.
    ///
    /// # Errors
    /// Every mistake with its place.
    pub fn from_yaml(text: &str, name: &str) -> Result<Self, Box<Diagnostics>> {
        let sources = [Source { name: name.to_owned(), text: text.to_owned() }];
        let mut sink = Sink::default();
        let root = tree::parse(0, text, &mut sink);
        let mut reader = Reader::new(sink, &sources);
        let profile = root.and_then(|root| read(&mut reader, &root));
        let list = reader.sink.finish();
        match profile.filter(|_| list.is_empty()) {
            Some(profile) => Ok(profile),
            None => Err(Box::new(Diagnostics { list, sources })),
        }
    }

    /// Returns what verdicts rest on that take the stack from this profile, beyond its intervals:
    /// nothing if a series has confirmed it and no cost was divided without being known.
    pub fn assumptions(&self) -> Vec<String> {
        stack::assumptions(self)
    }
}

/// Reads a profile from its tree; `None` after a mistake.
pub(crate) fn read(reader: &mut Reader<'_>, root: &Value) -> Option<Profile> {
    let start = Span { end: root.span.start, ..root.span };
    if matches!(root.data, Data::Null) {
        let title = "the file is empty";
        let help = "`rtether identify HOST -o device.yaml` writes a profile";
        reader.report(Diagnostic::new(&codes::MISSING_KEY, title, start, "").help(help));
        return None;
    }
    let at = match &root.data {
        Data::Map(entries) => entries.first().map_or(start, |entry| entry.key_span),
        Data::Null | Data::Scalar(_) | Data::List(_) => start,
    };
    let top = reader.fields(root, &PROFILE, "the profile".into(), at)?;
    lower::profile(reader, &top)
}
