//! Values of described types: read from YAML or JSON, written as JSON.

use std::fmt::Write;
use std::io::BufRead;
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::thread;

use rtether_rtps::dynamic::{Primitive, Structure, Type, Value};
use serde_json::{Map, Number, json};

use super::Member;
use rtether::scenario::{self, Data, Diagnostic, Span, nearest_name, quote};

/// Largest number of values in a file.
const VALUES_MAX: usize = 100_000;
/// Longest line, in octets.
const LINE_MAX: usize = 16 << 20;
/// Largest number of values waiting to be written; the feed blocks beyond it.
const WAITING_MAX: usize = 16;

/// Source of the values of a publication.
#[derive(Debug, Default)]
pub enum Values {
    /// Generated: moving shapes, counting numbers; what is not given for described types.
    #[default]
    Made,
    /// These, cyclically.
    Given(Vec<Value>),
    /// Values as they arrive, until the feed ends; an error ends it.
    Fed(Receiver<Result<Value, ValueError>>),
}

/// Why a text is not a value of a type.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{what}{place}; {help}")]
pub struct ValueError {
    what: String,
    /// Begins with ` at `, or is empty.
    place: String,
    help: String,
}

impl ValueError {
    fn new(what: impl Into<String>, help: impl Into<String>) -> Self {
        Self { what: what.into(), place: String::new(), help: help.into() }
    }

    fn of(mistake: &Diagnostic, text: &str) -> Self {
        let why = Some(mistake.primary.text.clone()).filter(|why| !why.is_empty());
        let help = mistake.help.first().map(ToString::to_string).or(why);
        let help = help.unwrap_or_else(|| "write YAML or JSON, such as `color: RED`".to_owned());
        Self::new(mistake.title.clone(), help).at(mistake.primary.span, text)
    }

    /// Adds the place, unless it is known already.
    fn at(mut self, span: Span, text: &str) -> Self {
        if self.place.is_empty() {
            let start = usize::try_from(span.start).unwrap_or(0);
            let before = text.as_bytes().get(..start).unwrap_or_default();
            let line = before.split(|octet| *octet == b'\n').count();
            let last = before.rsplit(|octet| *octet == b'\n').next();
            let column = 1 + last.map_or(0, <[u8]>::len);
            self.place = format!(" at line {line}, column {column}");
        }
        self
    }
}

/// Reads the values in a text: the members of one value, or a list of values. Braces around members
/// may be left out.
///
/// # Errors
/// If the text is not YAML, or its values are not of the type.
pub fn values_of(text: &str, structure: &Structure) -> Result<Vec<Value>, ValueError> {
    read_values(text, structure, false)
}

/// The same, but members may not be left out.
pub(super) fn whole_values_of(text: &str, structure: &Structure) -> Result<Vec<Value>, ValueError> {
    read_values(text, structure, true)
}

fn read_values(
    text: &str,
    structure: &Structure,
    is_whole: bool,
) -> Result<Vec<Value>, ValueError> {
    let first = text.trim_start();
    let is_inline = !first.contains('\n') && !first.starts_with(['{', '[', '-']);
    let braced = is_inline.then(|| format!("{{{text}}}"));
    let text = braced.as_deref().unwrap_or(text);
    let tree = scenario::tree(text).map_err(|mistake| ValueError::of(&mistake, text))?;
    let given = Given { text, is_whole };
    let read = |tree: &scenario::Value| read_structure(tree, structure, given);
    match &tree.data {
        Data::List(items) if items.is_empty() || items.len() > VALUES_MAX => {
            let what = format!("the list has {} values", items.len());
            let help = format!("write 1 to {VALUES_MAX}, or feed them by `--values -`");
            Err(ValueError::new(what, help))
        }
        Data::List(items) => items.iter().map(read).collect(),
        Data::Null | Data::Scalar(_) | Data::Map(_) => Ok(vec![read(&tree)?]),
    }
}

/// Reads values line by line in a separate thread, which ends with the input.
pub fn lines_of(mut input: impl BufRead + Send + 'static, structure: Structure) -> Values {
    let (sender, receiver) = sync_channel(WAITING_MAX);
    // Not joined: it may block on a line forever, and ends with the process.
    drop(thread::spawn(move || feed(&mut input, &structure, &sender)));
    Values::Fed(receiver)
}

fn feed(
    input: &mut impl BufRead,
    structure: &Structure,
    sender: &SyncSender<Result<Value, ValueError>>,
) {
    for number in 1_u64.. {
        let mut line = Vec::new();
        let limit = u64::try_from(LINE_MAX).unwrap_or(u64::MAX) + 1;
        let read = std::io::Read::take(&mut *input, limit).read_until(b'\n', &mut line);
        let value = match read {
            Ok(0) => return,
            Ok(len) if len > LINE_MAX => {
                let help = format!("write at most {LINE_MAX} octets");
                Err(ValueError::new(format!("line {number} is too long"), help))
            }
            Ok(_) if line.trim_ascii().is_empty() => continue,
            Ok(_) => line_of(&line, number, structure),
            Err(error) => {
                let what = format!("reading line {number}: {error}");
                Err(ValueError::new(what, "nothing more is written"))
            }
        };
        let is_over = value.is_err();
        // A closed channel means the publication has ended.
        if sender.send(value).is_err() || is_over {
            return;
        }
    }
}

fn line_of(line: &[u8], number: u64, structure: &Structure) -> Result<Value, ValueError> {
    let wrong = |what: &str, help: &str| {
        ValueError::new(format!("{what} in line {number} of the input"), help)
    };
    let line =
        str::from_utf8(line).map_err(|_| wrong("octets that are not UTF-8", "write UTF-8"))?;
    let values = values_of(line.trim(), structure);
    let values = values.map_err(|error| wrong(&error.what, &error.help))?;
    let count = values.len();
    let mut values = values.into_iter();
    match (values.next(), count) {
        (Some(value), 1) => Ok(value),
        _ => Err(wrong("a list of values", "write one value on each line")),
    }
}

/// What values are read from.
#[derive(Clone, Copy)]
struct Given<'a> {
    text: &'a str,
    /// Whether every member must be there.
    is_whole: bool,
}

fn read_structure(
    tree: &scenario::Value,
    structure: &Structure,
    given: Given<'_>,
) -> Result<Value, ValueError> {
    let wrong = |error: ValueError| error.at(tree.span, given.text);
    let entries = match &tree.data {
        Data::Map(entries) => entries.as_slice(),
        Data::Null => &[],
        Data::Scalar(_) | Data::List(_) => return Err(wrong(expected("members", "`name: value`"))),
    };
    // Members that are not given have their default, or are zero or empty, as when a reader receives an
    // older type.
    let mut value = structure.missing();
    let Value::Structure(members) = &mut value else {
        return Ok(value);
    };
    for entry in entries {
        let all = structure.members();
        let found = all.iter().zip(members.iter_mut());
        let mut found = found.filter(|(member, _)| member.name == entry.key);
        let Some((member, place)) = found.next() else {
            let what = format!("{} has no member {}", quote(structure.name()), quote(&entry.key));
            let names = all.iter().map(|member| member.name.as_str());
            let near = nearest_name(&entry.key, names.clone());
            let help = near.map_or_else(
                || format!("its members are {}", names.collect::<Vec<_>>().join(", ")),
                |near| format!("did you mean `{near}`?"),
            );
            return Err(ValueError::new(what, help).at(entry.key_span, given.text));
        };
        let read = read(&entry.value, &member.kind, given);
        *place = read.map_err(|mut error| {
            if !error.what.contains("member ") {
                error.what = format!("member {}: {}", quote(&entry.key), error.what);
            }
            error
        })?;
    }
    // Last, since a name that is misspelled says more than that it is missing.
    if given.is_whole {
        let is_given = |name: &str| entries.iter().any(|entry| entry.key == name);
        require(structure, is_given).map_err(wrong)?;
    }
    Ok(value)
}

/// Refuses a value without one of the members that have no default.
fn require(structure: &Structure, is_given: impl Fn(&str) -> bool) -> Result<(), ValueError> {
    let required = structure.members().iter();
    let required = required.filter(|member| member.default.is_none());
    let mut names = required.map(|member| &member.name);
    let Some(missing) = names.find(|name| !is_given(name)) else {
        return Ok(());
    };
    let what = format!("member {} is missing", quote(missing));
    let help = format!(
        "give {} all its members, or the member a default: `@default(...)` in IDL, behind its name in `.msg`",
        quote(structure.name())
    );
    Err(ValueError::new(what, help))
}

fn expected(what: &str, example: &str) -> ValueError {
    ValueError::new(format!("{what} expected"), format!("write {example}"))
}

fn read(tree: &scenario::Value, kind: &Type, given: Given<'_>) -> Result<Value, ValueError> {
    let read = match (kind, &tree.data) {
        (Type::Structure(structure), _) => return read_structure(tree, structure, given),
        (Type::Sequence(element, max), Data::List(items)) => {
            if items.len() > max.unwrap_or(usize::MAX) {
                let what = format!("{} elements", items.len());
                let help = format!("the type allows {}", max.unwrap_or_default());
                return Err(ValueError::new(what, help).at(tree.span, given.text));
            }
            return read_list(items.iter(), element, given);
        }
        (Type::Sequence(element, _), Data::Null) if !given.is_whole => {
            return read_list([].iter(), element, given);
        }
        (Type::Array(element, dimensions), Data::List(_)) => {
            let mut items = Vec::new();
            flatten(tree, dimensions, &mut items)
                .map_err(|error| error.at(tree.span, given.text))?;
            return read_list(items.into_iter(), element, given);
        }
        (Type::Sequence(..) | Type::Array(..), _) => Err(expected("a list", "`[1, 2, 3]`")),
        (Type::Text(max), Data::Scalar(word)) => read_text(word, *max),
        (Type::Text(_), Data::Null) if !given.is_whole => Ok(Value::Text(String::new())),
        (Type::Text(_), _) => Err(expected("a text", "`\"text\"`")),
        (Type::Enumeration(names), Data::Scalar(word)) => {
            let number = names.value_of(word).or_else(|| {
                let number = word.parse().ok();
                number.filter(|number| names.name_of(*number).is_some())
            });
            number.map(Value::Enumerator).ok_or_else(|| {
                let all = names.names().iter().map(|one| one.name.as_str());
                let what = format!("{} has no name {}", quote(names.name()), quote(word));
                ValueError::new(
                    what,
                    format!("write one of {}", all.collect::<Vec<_>>().join(", ")),
                )
            })
        }
        (Type::Enumeration(_), _) => Err(expected("a name", "a name of the enumeration")),
        (Type::Primitive(primitive), Data::Scalar(word)) => read_primitive(*primitive, word),
        (Type::Primitive(_), _) => Err(expected("a number", "a number, `true` or `false`")),
    };
    read.map_err(|error| error.at(tree.span, given.text))
}

fn read_text(word: &str, max: Option<usize>) -> Result<Value, ValueError> {
    if word.len() > max.unwrap_or(usize::MAX) {
        let what = format!("a text of {} octets", word.len());
        let help = format!("the type allows {}", max.unwrap_or_default());
        return Err(ValueError::new(what, help));
    }
    if word.contains('\0') {
        return Err(ValueError::new("a text with a zero", "leave it out: strings end with it"));
    }
    Ok(Value::Text(word.to_owned()))
}

/// Takes the elements of an array from nested lists, or from one flat list.
fn flatten<'a>(
    tree: &'a scenario::Value,
    dimensions: &[usize],
    out: &mut Vec<&'a scenario::Value>,
) -> Result<(), ValueError> {
    let Some((first, rest)) = dimensions.split_first() else {
        out.push(tree);
        return Ok(());
    };
    let Data::List(items) = &tree.data else {
        return Err(expected("a list", "a list for each dimension"));
    };
    let all = dimensions.iter().copied().fold(1, usize::saturating_mul);
    if items.len() == *first {
        return items.iter().try_for_each(|item| flatten(item, rest, out));
    }
    if items.len() == all {
        out.extend(items);
        return Ok(());
    }
    let what = format!("{} elements", items.len());
    Err(ValueError::new(what, format!("the array has {first}")))
}

fn read_list<'a>(
    items: impl Iterator<Item = &'a scenario::Value>,
    element: &Type,
    given: Given<'_>,
) -> Result<Value, ValueError> {
    let values = items.map(|item| read(item, element, given));
    let values = values.collect::<Result<Vec<_>, _>>()?;
    if *element != Type::Primitive(Primitive::Octet) {
        return Ok(Value::List(values));
    }
    let octets = values.iter().filter_map(|value| {
        let Value::Unsigned(octet) = value else {
            return None;
        };
        u8::try_from(*octet).ok()
    });
    Ok(Value::Octets(octets.collect()))
}

fn read_primitive(primitive: Primitive, word: &str) -> Result<Value, ValueError> {
    let unsigned = |max: u64| {
        let number = whole(word).and_then(|number| u64::try_from(number).ok());
        let number = number.filter(|number| *number <= max).map(Value::Unsigned);
        number.ok_or_else(|| {
            let what = format!("{} is not an integer from 0 to {max}", quote(word));
            ValueError::new(what, "write one")
        })
    };
    let signed = |max: i64| {
        let number = whole(word).and_then(|number| i64::try_from(number).ok());
        let number = number.filter(|number| (-max - 1..=max).contains(number));
        number.map(Value::Signed).ok_or_else(|| {
            let what = format!("{} is not an integer from {} to {max}", quote(word), -max - 1);
            ValueError::new(what, "write one")
        })
    };
    match primitive {
        Primitive::Boolean => match word {
            "true" => Ok(Value::Boolean(true)),
            "false" => Ok(Value::Boolean(false)),
            _ => Err(expected("a truth value", "`true` or `false`")),
        },
        Primitive::Character => {
            let mut characters = word.chars();
            match (characters.next(), characters.next()) {
                (Some(one), None) if u8::try_from(one).is_ok() => Ok(Value::Character(one)),
                _ => Err(expected("a character of one octet", "one character")),
            }
        }
        Primitive::Octet => unsigned(u8::MAX.into()),
        Primitive::Uint16 => unsigned(u16::MAX.into()),
        Primitive::Uint32 => unsigned(u32::MAX.into()),
        Primitive::Uint64 => unsigned(u64::MAX),
        Primitive::Int8 => signed(i8::MAX.into()),
        Primitive::Int16 => signed(i16::MAX.into()),
        Primitive::Int32 => signed(i32::MAX.into()),
        Primitive::Int64 => signed(i64::MAX),
        Primitive::Float32 => match word.parse() {
            Ok(number) => Ok(Value::Float(number)),
            Err(_) => Err(expected("a number", "a number, such as 1.5")),
        },
        Primitive::Float64 => match word.parse() {
            Ok(number) => Ok(Value::Double(number)),
            Err(_) => Err(expected("a number", "a number, such as 1.5")),
        },
    }
}

fn whole(word: &str) -> Option<i128> {
    match word.strip_prefix("0x") {
        Some(digits) => i128::from_str_radix(digits, 16).ok(),
        None => word.parse().ok(),
    }
}

/// Returns the members of a value for display; with `is_key` only those of the key.
pub(super) fn members(value: &Value, structure: &Structure, is_key: bool) -> Vec<Member> {
    let Value::Structure(values) = value else {
        return Vec::new();
    };
    let members = structure.members().iter().zip(values);
    let members = members.map(|(member, value)| {
        if is_key && !member.is_key {
            Member::Absent
        } else {
            Member::Tree(shown(value, &member.kind))
        }
    });
    members.collect()
}

fn shown(value: &Value, kind: &Type) -> serde_json::Value {
    match (value, kind) {
        (Value::Boolean(value), _) => json!(value),
        (Value::Signed(value), _) => json!(value),
        (Value::Unsigned(value), _) => json!(value),
        // The shortest digits that round-trip at this width.
        (Value::Float(value), _) => number(value.to_string().parse().unwrap_or(f64::NAN)),
        (Value::Double(value), _) => number(*value),
        (Value::Character(value), _) => json!(value),
        (Value::Text(value), _) => json!(value),
        (Value::Enumerator(number), Type::Enumeration(names)) => {
            names.name_of(*number).map_or_else(|| json!(number), |name| json!(name))
        }
        (Value::Enumerator(number), _) => json!(number),
        (Value::Octets(octets), Type::Array(_, dimensions)) => {
            nested(octets.iter().map(|octet| json!(octet)).collect(), dimensions)
        }
        (Value::Octets(octets), _) => json!(octets),
        (Value::List(values), Type::Array(element, dimensions)) => {
            nested(values.iter().map(|value| shown(value, element)).collect(), dimensions)
        }
        (Value::List(values), Type::Sequence(element, _)) => {
            values.iter().map(|value| shown(value, element)).collect()
        }
        (Value::Structure(values), Type::Structure(structure)) => {
            let members = structure.members().iter().zip(values);
            let members =
                members.map(|(member, value)| (member.name.clone(), shown(value, &member.kind)));
            serde_json::Value::Object(members.collect::<Map<_, _>>())
        }
        // Unreachable: a value that was read has the type of its member.
        (Value::List(_) | Value::Structure(_), _) => serde_json::Value::Null,
    }
}

/// Returns a JSON number; NaN and infinities, which JSON lacks, as texts that [`values_of`]
/// accepts.
fn number(value: f64) -> serde_json::Value {
    Number::from_f64(value).map_or_else(|| json!(value.to_string()), serde_json::Value::Number)
}

/// Writes a value that is shown as JSON, but numbers that JSON lacks as the words that Python and
/// JavaScript read: what is a text and what a number is then certain.
pub(super) fn write_with_words(shown: &serde_json::Value, kind: &Type, out: &mut String) {
    use serde_json::Value as Json;
    match (shown, kind) {
        (Json::String(text), Type::Primitive(Primitive::Float32 | Primitive::Float64)) => {
            out.push_str(match text.as_str() {
                "inf" => "Infinity",
                "-inf" => "-Infinity",
                _ => "NaN",
            });
        }
        (Json::Array(items), Type::Array(element, dimensions)) => {
            // A list for each dimension, then elements.
            let inner = Type::Array(element.clone(), dimensions.iter().skip(1).copied().collect());
            let kind = if dimensions.len() > 1 { &inner } else { element };
            write_list(items, kind, out);
        }
        (Json::Array(items), Type::Sequence(element, _)) => write_list(items, element, out),
        (Json::Object(members), Type::Structure(structure)) => {
            let of = |name: &str| structure.members().iter().find(|member| member.name == name);
            let members = members.iter();
            let members = members.filter_map(|(name, tree)| Some((name, tree, &of(name)?.kind)));
            out.push('{');
            for (index, (name, tree, kind)) in members.enumerate() {
                out.push_str(if index > 0 { "," } else { "" });
                _ = write!(out, "{}:", json!(name));
                write_with_words(tree, kind, out);
            }
            out.push('}');
        }
        _ => _ = write!(out, "{shown}"),
    }
}

fn write_list(items: &[serde_json::Value], kind: &Type, out: &mut String) {
    out.push('[');
    for (index, item) in items.iter().enumerate() {
        out.push_str(if index > 0 { "," } else { "" });
        write_with_words(item, kind, out);
    }
    out.push(']');
}

/// Returns the elements of an array as nested lists.
fn nested(mut elements: Vec<serde_json::Value>, dimensions: &[usize]) -> serde_json::Value {
    for dimension in dimensions.iter().skip(1).rev() {
        let chunks = elements.chunks((*dimension).max(1));
        elements = chunks.map(|chunk| json!(chunk)).collect();
    }
    json!(elements)
}

#[cfg(test)]
mod tests;
