//! Types of ROS 2 in `.msg` files, as far as topics carry them.
//!
//! The format is that of the ROS 2 documentation, *Interfaces*: a line is a field, a constant or a
//! comment. Types of other files are asked of the caller by package and name. On the wire a message
//! is a final structure in XCDR1, with the name `pkg::msg::dds_::Name_`; one without fields has a
//! single octet.

mod default;
mod line;
#[cfg(test)]
mod tests;

use std::collections::BTreeMap;
use std::sync::Arc;

use rtether_rtps::cdr::Extensibility;
use rtether_rtps::dynamic::{Member, Primitive, Structure, Type};

use rtether::scenario::{Diagnostic, Help, Label, Severity, Source, Span, quote};

use line::{Field, Line, Named};

/// Largest size of a file, in octets.
pub const FILE_MAX: usize = 1 << 20;
/// Largest number of files that a message consists of.
pub const FILES_MAX: usize = 256;
/// Deepest nesting of files.
const NESTED_MAX: usize = 16;
/// The field of a message that has none.
const EMPTY: &str = "structure_needs_at_least_one_member";

/// Messages that every other one may contain, without their files.
const KNOWN: [(&str, &str, &str); 3] = [
    ("builtin_interfaces", "Time", "int32 sec\nuint32 nanosec\n"),
    ("builtin_interfaces", "Duration", "int32 sec\nuint32 nanosec\n"),
    ("std_msgs", "Header", "builtin_interfaces/Time stamp\nstring frame_id\n"),
];

/// Name of a message.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Name {
    /// Its package, such as `std_msgs`.
    pub package: String,
    /// Its name in the package, such as `String`.
    pub message: String,
}

impl Name {
    /// Reads `pkg/Name` or `pkg/msg/Name`.
    pub fn parse(text: &str) -> Option<Self> {
        let (package, rest) = text.split_once('/')?;
        let message = rest.strip_prefix("msg/").unwrap_or(rest);
        let is_fit = line::is_name(package) && line::is_name(message);
        is_fit.then(|| Self { package: package.to_owned(), message: message.to_owned() })
    }

    /// Returns the type name on the wire.
    pub fn type_name(&self) -> String {
        format!("{}::msg::dds_::{}_", self.package, self.message)
    }
}

/// A mistake, and the files that it may point into.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Mistake {
    /// The mistake.
    pub diagnostic: Box<Diagnostic>,
    /// The files.
    pub sources: Vec<Source>,
}

/// Returns the type of a message; `load` returns the files of others, `None` if there is none.
///
/// # Errors
/// If a file is not as it should be, or uses what is not supported, or a type is not found;
/// [`rtether::scenario::render`] shows the place.
pub fn structure(
    name: &Name,
    source: Source,
    load: &mut dyn FnMut(&Name) -> Option<Source>,
) -> Result<Arc<Structure>, Mistake> {
    let mut reader = Reader { load, sources: Vec::new(), known: BTreeMap::new(), open: Vec::new() };
    let read = reader.message(name, source);
    read.map_err(|diagnostic| Mistake { diagnostic, sources: reader.sources })
}

type Parsed<T> = Result<T, Box<Diagnostic>>;

struct Reader<'a> {
    load: &'a mut dyn FnMut(&Name) -> Option<Source>,
    sources: Vec<Source>,
    known: BTreeMap<Name, Arc<Structure>>,
    /// Messages that are being read, for circles.
    open: Vec<Name>,
}

/// A place: file, first octet, octet after the last.
#[derive(Clone, Copy, Debug)]
struct Place {
    source: usize,
    range: (usize, usize),
}

impl Reader<'_> {
    fn message(&mut self, name: &Name, source: Source) -> Parsed<Arc<Structure>> {
        let text = source.text.clone();
        let at = self.sources.len();
        self.sources.push(source);
        if text.len() > FILE_MAX {
            let place = Place { source: at, range: (0, 0) };
            let what = format!("the file has {} octets", text.len());
            return Err(mistake("msg-too-large", what, place, "", "use at most 1 MiB"));
        }
        self.open.push(name.clone());
        let mut members = Vec::new();
        let mut begin = 0;
        for text in text.split_inclusive('\n') {
            let read = line::read(text);
            let read = read.map_err(|wrong| {
                let range = (begin + wrong.range.0, begin + wrong.range.1);
                let place = Place { source: at, range };
                mistake(wrong.code, wrong.what, place, "", wrong.help)
            })?;
            if let Line::Field(field) = read {
                let place = |range: (usize, usize)| Place {
                    source: at,
                    range: (begin + range.0, begin + range.1),
                };
                let kind = self.field(name, &field, place(field.place))?;
                let default = field.default.map(|(text, range)| {
                    default::value(text, &kind).ok_or_else(|| {
                        let what = format!("{} is no value of {}", quote(text), quote(field.name));
                        let why = "its default is given here";
                        mistake("msg-default", what, place(range), why, default::example(&kind))
                    })
                });
                let default = default.transpose()?;
                members.push(Member {
                    name: field.name.to_owned(),
                    id: u32::try_from(members.len()).unwrap_or(u32::MAX),
                    is_key: false,
                    kind,
                    default,
                });
            }
            begin += text.len();
        }
        self.open.pop();
        if members.is_empty() {
            members.push(Member {
                name: EMPTY.to_owned(),
                id: 0,
                is_key: false,
                kind: Type::Primitive(Primitive::Octet),
                default: None,
            });
        }
        let structure = Structure::new(name.type_name(), Extensibility::Final, members);
        let structure = structure.map_err(|error| {
            let place = Place { source: at, range: (0, 0) };
            let what = format!("{} is no type of a topic", quote(&name.message));
            let help = "the limits are those of the guide; shorten the message";
            mistake("msg-type", what, place, error.to_string(), help)
        })?;
        let structure = Arc::new(structure);
        self.known.insert(name.clone(), Arc::clone(&structure));
        Ok(structure)
    }

    fn field(&mut self, of: &Name, field: &Field<'_>, place: Place) -> Parsed<Type> {
        let element = match field.kind {
            Named::Primitive(primitive) => Type::Primitive(primitive),
            Named::Text(max) => Type::Text(max),
            Named::Message { package, name } => {
                let package =
                    package.unwrap_or(if name == "Header" { "std_msgs" } else { &of.package });
                let name = Name { package: package.to_owned(), message: name.to_owned() };
                Type::Structure(self.other(&name, place)?)
            }
        };
        Ok(match field.count {
            line::Count::One => element,
            line::Count::Array(len) => Type::Array(Arc::new(element), vec![len]),
            line::Count::Sequence(max) => Type::Sequence(Arc::new(element), max),
        })
    }

    /// Returns the type of a message in another file.
    fn other(&mut self, name: &Name, place: Place) -> Parsed<Arc<Structure>> {
        if let Some(known) = self.known.get(name) {
            return Ok(Arc::clone(known));
        }
        let full = format!("{}/{}", name.package, name.message);
        if self.open.contains(name) {
            let what = format!("{} contains itself", quote(&full));
            return Err(mistake("msg-type", what, place, "", "leave the field out"));
        }
        if self.sources.len() >= FILES_MAX || self.open.len() >= NESTED_MAX {
            let what = format!(
                "the message needs more than {FILES_MAX} files, or is nested deeper than \
                 {NESTED_MAX}"
            );
            return Err(mistake("msg-too-large", what, place, "", "shorten it"));
        }
        let source = (self.load)(name).or_else(|| known(name));
        let Some(source) = source else {
            let what = format!("there is no file of {}", quote(&full));
            let help = format!(
                "name the folder that contains `{}/msg/{}.msg` by `--msg-path`",
                name.package, name.message
            );
            return Err(mistake("msg-type", what, place, "", help));
        };
        self.message(name, source)
    }
}

/// Returns the definition of a message that is known without its file.
fn known(name: &Name) -> Option<Source> {
    let mut all = KNOWN.iter();
    let found =
        all.find(|(package, message, _)| name.package == *package && name.message == *message);
    found.map(|(package, message, text)| Source {
        name: format!("{package}/msg/{message}.msg"),
        text: (*text).to_owned(),
    })
}

fn mistake(
    code: &'static str,
    what: impl Into<String>,
    place: Place,
    why: impl Into<String>,
    help: impl Into<String>,
) -> Box<Diagnostic> {
    let at = |at: usize| u32::try_from(at).unwrap_or(u32::MAX);
    Box::new(Diagnostic {
        severity: Severity::Error,
        code,
        title: what.into(),
        primary: Label {
            span: Span {
                source: at(place.source),
                start: at(place.range.0),
                end: at(place.range.1),
            },
            text: why.into(),
        },
        secondary: Vec::new(),
        help: vec![Help::from(Into::<String>::into(help))],
    })
}
