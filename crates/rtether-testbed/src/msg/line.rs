//! One line of a message.

use rtether_rtps::dynamic::Primitive;

use rtether::scenario::quote;

/// What a line says.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Line<'a> {
    /// Nothing, a comment, or a constant, which is not on the wire.
    Nothing,
    Field(Field<'a>),
}

/// A field.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Field<'a> {
    pub(super) name: &'a str,
    pub(super) kind: Named<'a>,
    pub(super) count: Count,
    /// Where its type is.
    pub(super) place: (usize, usize),
    /// The text of its default, and where it is.
    pub(super) default: Option<(&'a str, (usize, usize))>,
}

/// Type of a field, or of its elements.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Named<'a> {
    Primitive(Primitive),
    /// With the largest size, in octets.
    Text(Option<usize>),
    Message {
        package: Option<&'a str>,
        name: &'a str,
    },
}

/// How many elements a field has.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Count {
    One,
    Array(usize),
    Sequence(Option<usize>),
}

/// A mistake in a line, with its place there.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Wrong {
    pub(super) code: &'static str,
    pub(super) what: String,
    pub(super) range: (usize, usize),
    pub(super) help: &'static str,
}

/// Returns whether a text is the name of a package, a message or a field.
pub(super) fn is_name(text: &str) -> bool {
    let mut characters = text.chars();
    let first = characters.next();
    first.is_some_and(|first| first.is_ascii_alphabetic())
        && characters.all(|one| one.is_ascii_alphanumeric() || one == '_')
        && text.len() <= 255
}

/// Reads a line, with or without its end.
pub(super) fn read(text: &str) -> Result<Line<'_>, Wrong> {
    let said = text.split('#').next().unwrap_or("");
    let body = said.trim();
    if body.is_empty() {
        return Ok(Line::Nothing);
    }
    let begin = said.len() - said.trim_start().len();
    // A bound may have blanks around it: `string<= 10`.
    let Some(end) = body.find(|one: char| one.is_whitespace()) else {
        let what = format!("{} has no name", quote(body));
        let range = (begin, begin + body.len());
        let help = "write a type and a name, such as `int32 speed`";
        return Err(Wrong { code: "msg-syntax", what, range, help });
    };
    let (kind, rest) = body.split_at(end);
    let place = (begin, begin + kind.len());
    let (named, count) = type_of(kind, place)?;
    let name = rest.trim_start();
    let until = name.find(|one: char| one.is_whitespace() || one == '=');
    let (name, after) = name.split_at(until.unwrap_or(name.len()));
    let is_constant = after.trim_start().starts_with('=');
    if !is_name(name) {
        let from = begin + end + (rest.len() - rest.trim_start().len());
        let help = "write a name of letters, digits and `_` that begins with a letter";
        return Err(Wrong {
            code: "msg-syntax",
            what: format!("{} is no name", quote(name)),
            range: (from, from + name.len()),
            help,
        });
    }
    if is_constant {
        return Ok(Line::Nothing);
    }
    let default = Some(after.trim()).filter(|text| !text.is_empty());
    let default = default.map(|text| {
        let end = begin + body.len();
        (text, (end - text.len(), end))
    });
    Ok(Line::Field(Field { name, kind: named, count, place, default }))
}

/// Reads a type, such as `string<=10[<=5]`.
fn type_of(text: &str, place: (usize, usize)) -> Result<(Named<'_>, Count), Wrong> {
    let wrong = |what: String, help| Wrong { code: "msg-syntax", what, range: place, help };
    let (element, count) = match text.strip_suffix(']') {
        None => (text, Count::One),
        Some(inner) => {
            let (element, size) = inner
                .rsplit_once('[')
                .ok_or_else(|| wrong(format!("{} lacks a `[`", quote(text)), "write `T[N]`"))?;
            let number = |size: &str| {
                let help = "write `T[]`, `T[N]` or `T[<=N]` with a number";
                let size = size.parse::<usize>();
                size.map_err(|_| wrong(format!("{} has no size", quote(text)), help))
            };
            let count = match (size, size.strip_prefix("<=")) {
                ("", _) => Count::Sequence(None),
                (_, Some(max)) => Count::Sequence(Some(number(max)?)),
                (len, None) => Count::Array(number(len)?),
            };
            (element, count)
        }
    };
    Ok((named(element, place)?, count))
}

fn named(text: &str, place: (usize, usize)) -> Result<Named<'_>, Wrong> {
    let (name, bound) = match text.split_once("<=") {
        Some((name, bound)) => (name, Some(bound)),
        None => (text, None),
    };
    let wrong = |code, what: String, help| Wrong { code, what, range: place, help };
    if let Some(primitive) = primitive(name).filter(|_| bound.is_none()) {
        return Ok(Named::Primitive(primitive));
    }
    match (name, bound) {
        ("string", None) => return Ok(Named::Text(None)),
        ("string", Some(bound)) => {
            let help = "write a number of octets, such as `string<=10`";
            let max = bound.parse();
            let max = max
                .map_err(|_| wrong("msg-syntax", format!("{} has no bound", quote(text)), help))?;
            return Ok(Named::Text(Some(max)));
        }
        ("wstring", _) => {
            let help = "use `string`, which is UTF-8";
            let what = "wide strings are not supported".to_owned();
            return Err(wrong("msg-unsupported", what, help));
        }
        ("time" | "duration", None) => {
            let help = "write `builtin_interfaces/Time` or `builtin_interfaces/Duration`";
            let what = format!("{} is a type of ROS 1", quote(name));
            return Err(wrong("msg-unsupported", what, help));
        }
        _ => {}
    }
    let (package, message) = match text.split_once('/') {
        Some((package, rest)) => (Some(package), rest.strip_prefix("msg/").unwrap_or(rest)),
        None => (None, text),
    };
    if !is_name(message) || package.is_some_and(|package| !is_name(package)) {
        let help = "write a type such as `int32`, `string`, `Point` or `geometry_msgs/Point`";
        let what = format!("{} is no type", quote(text));
        return Err(wrong("msg-syntax", what, help));
    }
    Ok(Named::Message { package, name: message })
}

fn primitive(name: &str) -> Option<Primitive> {
    Some(match name {
        "bool" => Primitive::Boolean,
        // A character of ROS 2 is a number of eight bits.
        "byte" | "char" | "uint8" => Primitive::Octet,
        "int8" => Primitive::Int8,
        "int16" => Primitive::Int16,
        "uint16" => Primitive::Uint16,
        "int32" => Primitive::Int32,
        "uint32" => Primitive::Uint32,
        "int64" => Primitive::Int64,
        "uint64" => Primitive::Uint64,
        "float32" => Primitive::Float32,
        "float64" => Primitive::Float64,
        _ => return None,
    })
}
