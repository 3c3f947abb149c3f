//! `@default`: the value of a member that is not given (DDS-XTypes 1.3, 7.3.1.2.1.11).

use rtether_rtps::dynamic::{Primitive, Type, Value};

use super::lex::{Token, TokenKind};
use super::mistake;
use super::parse::{Annotation, Meaning, Parser};
use super::specs::whole;
use rtether::scenario::{Diagnostic, quote};

type Parsed<T> = Result<T, Box<Diagnostic>>;

impl Parser<'_> {
    /// Returns the value that an annotation gives a member of this type.
    pub(super) fn default(&self, said: &Annotation<'_>, kind: &Type) -> Parsed<Value> {
        let tokens = match said.arguments.as_slice() {
            [name, sign, rest @ ..] if name.text == "value" && sign.text == "=" => rest,
            all => all,
        };
        self.literal(tokens, kind).ok_or_else(|| {
            let words: Vec<&str> = tokens.iter().map(|token| token.text).collect();
            let what = format!("{} is no value of this member", quote(&words.concat()));
            let help = format!("write {}", example(kind));
            let (why, place) = ("the default is given here", said.place);
            mistake("idl-default", what, place, why, help)
        })
    }

    fn literal(&self, tokens: &[Token<'_>], kind: &Type) -> Option<Value> {
        match kind {
            Type::Primitive(Primitive::Boolean) => match one(tokens)?.text {
                "TRUE" => Some(Value::Boolean(true)),
                "FALSE" => Some(Value::Boolean(false)),
                _ => None,
            },
            Type::Primitive(Primitive::Character) => {
                let token = one(tokens).filter(|token| token.kind == TokenKind::Character)?;
                let text = unquoted(token.text)?;
                let character = text.chars().next()?;
                u8::try_from(character).ok()?;
                Some(Value::Character(character))
            }
            Type::Primitive(primitive @ (Primitive::Float32 | Primitive::Float64)) => {
                let (is_negative, token) = signed(tokens)?;
                // `f` and `d` are suffixes of other languages, not of this one.
                let is_number = token.kind == TokenKind::Number;
                let number: f64 = token.text.parse().ok().filter(|_| is_number)?;
                let number = if is_negative { -number } else { number };
                if *primitive == Primitive::Float64 {
                    return number.is_finite().then_some(Value::Double(number));
                }
                let number: f32 = token.text.parse().ok()?;
                let number = if is_negative { -number } else { number };
                number.is_finite().then_some(Value::Float(number))
            }
            Type::Primitive(primitive) => integer(*primitive, self.whole_number(tokens)?),
            Type::Enumeration(names) => {
                let last = tokens.last().filter(|last| last.kind == TokenKind::Word)?;
                names.value_of(last.text).map(Value::Enumerator)
            }
            Type::Text(max) => {
                let token = one(tokens).filter(|token| token.kind == TokenKind::Text)?;
                let text = unquoted(token.text)?;
                let fits = text.len() <= max.unwrap_or(usize::MAX) && !text.contains('\0');
                fits.then_some(Value::Text(text))
            }
            Type::Sequence(..) | Type::Array(..) | Type::Structure(_) => None,
        }
    }

    /// Returns a whole number: a literal, or the name of a constant.
    fn whole_number(&self, tokens: &[Token<'_>]) -> Option<i128> {
        if let Some((is_negative, token)) = signed(tokens)
            && token.kind == TokenKind::Number
        {
            // The largest of 64 bits without a sign is beyond those with one.
            let number = whole(token.text).map(i128::from);
            let number = number.or_else(|| token.text.parse().ok())?;
            return Some(if is_negative { -number } else { number });
        }
        let path: String = tokens.iter().map(|token| token.text).collect();
        let (path, around) = match path.strip_prefix("::") {
            Some(path) => (path, 0),
            None => (path.as_str(), self.modules.len()),
        };
        match self.found_from(path, around)?.1 {
            Meaning::Constant(number) => Some(i128::from(*number)),
            Meaning::Type(_) | Meaning::Open => None,
        }
    }
}

fn one<'a>(tokens: &[Token<'a>]) -> Option<Token<'a>> {
    match tokens {
        [one] => Some(*one),
        _ => None,
    }
}

/// Returns the token behind a sign, if there is one, and whether that is a minus.
fn signed<'a>(tokens: &[Token<'a>]) -> Option<(bool, Token<'a>)> {
    match tokens {
        [sign, one] if sign.text == "-" => Some((true, *one)),
        [sign, one] if sign.text == "+" => Some((false, *one)),
        [one] => Some((false, *one)),
        _ => None,
    }
}

/// Returns a value of a type of whole numbers, if it holds the number.
pub(crate) fn integer(primitive: Primitive, number: i128) -> Option<Value> {
    let signed = |max: i64| {
        let number = i64::try_from(number).ok();
        let number = number.filter(|number| (-max - 1..=max).contains(number));
        number.map(Value::Signed)
    };
    let unsigned = |max: u64| {
        let number = u64::try_from(number).ok();
        number.filter(|number| *number <= max).map(Value::Unsigned)
    };
    match primitive {
        Primitive::Int8 => signed(i8::MAX.into()),
        Primitive::Int16 => signed(i16::MAX.into()),
        Primitive::Int32 => signed(i32::MAX.into()),
        Primitive::Int64 => signed(i64::MAX),
        Primitive::Octet => unsigned(u8::MAX.into()),
        Primitive::Uint16 => unsigned(u16::MAX.into()),
        Primitive::Uint32 => unsigned(u32::MAX.into()),
        Primitive::Uint64 => unsigned(u64::MAX),
        Primitive::Boolean | Primitive::Character | Primitive::Float32 | Primitive::Float64 => None,
    }
}

/// Returns what is between quotes, with the escapes of IDL 4.2, 7.2.6.2 but those by number.
fn unquoted(text: &str) -> Option<String> {
    let inside = text.get(1..text.len().checked_sub(1)?)?;
    let mut out = String::new();
    let mut characters = inside.chars();
    while let Some(one) = characters.next() {
        if one != '\\' {
            out.push(one);
            continue;
        }
        out.push(match characters.next()? {
            'n' => '\n',
            't' => '\t',
            'r' => '\r',
            '0' => '\0',
            same @ ('\\' | '"' | '\'' | '?') => same,
            _ => return None,
        });
    }
    Some(out)
}

/// Returns an example of a default of this type.
fn example(kind: &Type) -> String {
    match kind {
        Type::Primitive(Primitive::Boolean) => "`@default(TRUE)` or `@default(FALSE)`".to_owned(),
        Type::Primitive(Primitive::Character) => "a character of one octet in quotes".to_owned(),
        Type::Primitive(Primitive::Float32 | Primitive::Float64) => {
            "a number, such as `@default(2.5)`".to_owned()
        }
        Type::Primitive(_) => "a whole number that the type holds".to_owned(),
        Type::Enumeration(names) => {
            let names: Vec<&str> = names.names().iter().map(|one| one.name.as_str()).collect();
            format!("one of {}", names.join(", "))
        }
        Type::Text(Some(max)) => format!("a text of at most {max} octets in quotes"),
        Type::Text(None) => "a text in quotes".to_owned(),
        Type::Sequence(..) | Type::Array(..) | Type::Structure(_) => {
            "defaults of its elements or members where these are declared, and leave it out here"
                .to_owned()
        }
    }
}
