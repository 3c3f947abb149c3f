//! Defaults of fields: what stands behind the name of a field, as in `float64 w 1` or `int8[] codes
//! [1, 2]`.

use std::ops::RangeInclusive;

use rtether_rtps::dynamic::{Primitive, Type, Value};

use crate::idl::integer;

/// Returns the value that a text stands for.
pub(super) fn value(text: &str, kind: &Type) -> Option<Value> {
    match kind {
        Type::Primitive(primitive) => number(text, *primitive),
        Type::Text(max) => {
            let text = unquoted(text)?;
            let fits = text.len() <= max.unwrap_or(usize::MAX) && !text.contains('\0');
            fits.then_some(Value::Text(text))
        }
        Type::Sequence(element, max) => list(text, element, 0..=max.unwrap_or(usize::MAX)),
        Type::Array(element, dimensions) => {
            let len = dimensions.iter().product();
            list(text, element, len..=len)
        }
        // Messages have those of their own fields.
        Type::Structure(_) | Type::Enumeration(_) => None,
    }
}

/// Returns what to write for a default of this type.
pub(super) fn example(kind: &Type) -> String {
    match kind {
        Type::Primitive(Primitive::Boolean) => "write `true` or `false`".to_owned(),
        Type::Primitive(Primitive::Float32 | Primitive::Float64) => {
            "write a number, such as `2.5`".to_owned()
        }
        Type::Primitive(_) => "write a whole number that the type holds".to_owned(),
        Type::Text(Some(max)) => format!("write a text of at most {max} octets in quotes"),
        Type::Text(None) => "write a text in quotes".to_owned(),
        Type::Sequence(element, _) | Type::Array(element, _)
            if matches!(**element, Type::Primitive(_) | Type::Text(_)) =>
        {
            "write as many elements as the field may have, in brackets: `[1, 2]`".to_owned()
        }
        Type::Sequence(..) | Type::Array(..) => {
            "leave it out: elements that are messages have no default".to_owned()
        }
        Type::Structure(_) | Type::Enumeration(_) => {
            "leave it out, and give defaults to the fields of that message".to_owned()
        }
    }
}

fn number(text: &str, primitive: Primitive) -> Option<Value> {
    match primitive {
        Primitive::Boolean => match text.to_ascii_lowercase().as_str() {
            "true" | "1" => Some(Value::Boolean(true)),
            "false" | "0" => Some(Value::Boolean(false)),
            _ => None,
        },
        Primitive::Float32 => {
            text.parse().ok().filter(|number: &f32| number.is_finite()).map(Value::Float)
        }
        Primitive::Float64 => {
            text.parse().ok().filter(|number: &f64| number.is_finite()).map(Value::Double)
        }
        Primitive::Character
        | Primitive::Octet
        | Primitive::Int8
        | Primitive::Int16
        | Primitive::Uint16
        | Primitive::Int32
        | Primitive::Uint32
        | Primitive::Int64
        | Primitive::Uint64 => integer(primitive, text.parse().ok()?),
    }
}

fn list(text: &str, element: &Type, lens: RangeInclusive<usize>) -> Option<Value> {
    let inside = text.strip_prefix('[')?.strip_suffix(']')?;
    let values: Vec<Value> =
        elements(inside).into_iter().map(|one| value(one, element)).collect::<Option<_>>()?;
    if !lens.contains(&values.len()) {
        return None;
    }
    if *element != Type::Primitive(Primitive::Octet) {
        return Some(Value::List(values));
    }
    let octets = values.into_iter().map(|one| {
        let Value::Unsigned(octet) = one else { return None };
        u8::try_from(octet).ok()
    });
    octets.collect::<Option<_>>().map(Value::Octets)
}

/// Splits at commas outside of quotes.
fn elements(text: &str) -> Vec<&str> {
    if text.trim().is_empty() {
        return Vec::new();
    }
    let (mut all, mut begin) = (Vec::new(), 0);
    let (mut quote, mut before) = (None, ' ');
    for (at, one) in text.char_indices() {
        match (quote, one) {
            (None, '"' | '\'') => quote = Some(one),
            (Some(open), _) if one == open && before != '\\' => quote = None,
            (None, ',') => {
                all.extend(text.get(begin..at));
                begin = at + 1;
            }
            _ => {}
        }
        before = one;
    }
    all.extend(text.get(begin..));
    all.into_iter().map(str::trim).collect()
}

/// Returns a text without its quotes, if it has any; there only these may have a `\` before.
fn unquoted(text: &str) -> Option<String> {
    let quote = text.chars().next().filter(|first| matches!(first, '"' | '\''));
    let Some(quote) = quote else {
        return Some(text.to_owned());
    };
    let inside = text.strip_prefix(quote)?.strip_suffix(quote)?;
    let mut out = String::new();
    for one in inside.chars() {
        if one == quote && out.pop() != Some('\\') {
            return None;
        }
        out.push(one);
    }
    Some(out)
}
