//! Type specifications of members, and integers.

use std::sync::Arc;

use rtether_rtps::dynamic::{Primitive, Type};

use super::lex::{TextRange, Token, TokenKind};
use super::parse::{Meaning, Parser, found};
use super::{NESTED_MAX, mistake};
use rtether::scenario::{Diagnostic, quote};

type Parsed<T> = Result<T, Box<Diagnostic>>;

impl<'a> Parser<'a> {
    /// Takes a type: one or several keywords, a string, a sequence, or a name.
    pub(super) fn specification(&mut self, depth: usize) -> Parsed<Type> {
        let token = self.peek();
        if depth >= NESTED_MAX {
            let what = format!("types are nested more than {NESTED_MAX} deep");
            let help = "give the inner ones names, or use a simpler type";
            return Err(mistake("idl-too-deep", what, token.place, "", help));
        }
        if token.kind == TokenKind::Word {
            if let Some(primitive) = self.primitive()? {
                return Ok(Type::Primitive(primitive));
            }
            match token.text {
                "string" => return self.string(),
                "sequence" => return self.sequence(depth),
                "struct" | "enum" | "union" => {
                    let what = format!("a `{}` is declared within a type", token.text);
                    let help = "declare it before, and write its name here";
                    return Err(mistake("idl-unsupported", what, token.place, "", help));
                }
                "wstring" | "wchar" | "map" | "fixed" | "any" | "Object" => {
                    return Err(unsupported(token.text, token.place));
                }
                _ => {}
            }
        } else if token.text != "::" {
            let help = "write a type, such as `long`, `string<16>` or the name of a structure";
            return Err(mistake("idl-syntax", found(token, "a type"), token.place, "", help));
        }
        let (name, meaning, place) = self.meaning()?;
        match meaning {
            Meaning::Type(kind) => Ok(kind),
            Meaning::Constant(_) => {
                let what = format!("{} is a constant, not a type", quote(&name));
                let help = "write the name of a type";
                Err(mistake("idl-name", what, place, "", help))
            }
            Meaning::Open => {
                let what = format!("{} has no end yet", quote(&name));
                let why = "a recursive type, or one whose body comes later";
                let help = "declare it before; types within themselves are not known here";
                Err(mistake("idl-recursion", what, place, why, help))
            }
        }
    }

    /// Takes the keywords of a number, Boolean or character, if they are next.
    fn primitive(&mut self) -> Parsed<Option<Primitive>> {
        let token = self.peek();
        let one = match token.text {
            "boolean" => Primitive::Boolean,
            "octet" | "uint8" => Primitive::Octet,
            "char" => Primitive::Character,
            "int8" => Primitive::Int8,
            "int16" | "short" => Primitive::Int16,
            "uint16" => Primitive::Uint16,
            "int32" => Primitive::Int32,
            "uint32" => Primitive::Uint32,
            "int64" => Primitive::Int64,
            "uint64" => Primitive::Uint64,
            "float" => Primitive::Float32,
            "double" => Primitive::Float64,
            "long" => {
                self.next();
                if self.peek().text == "double" {
                    return Err(unsupported("long double", token.place));
                }
                let is_double = self.eat("long");
                return Ok(Some(if is_double { Primitive::Int64 } else { Primitive::Int32 }));
            }
            "unsigned" => {
                self.next();
                let is_short = self.eat("short");
                let is_long = !is_short && self.eat("long");
                let is_double = is_long && self.eat("long");
                return match (is_short, is_long, is_double) {
                    (true, ..) => Ok(Some(Primitive::Uint16)),
                    (_, _, true) => Ok(Some(Primitive::Uint64)),
                    (_, true, _) => Ok(Some(Primitive::Uint32)),
                    _ => {
                        let token = self.peek();
                        let what = found(token, "`short` or `long`");
                        let help = "write `unsigned short`, `unsigned long` or \
                                    `unsigned long long`; an octet is `octet`";
                        Err(mistake("idl-syntax", what, token.place, "", help))
                    }
                };
            }
            _ => return Ok(None),
        };
        self.next();
        Ok(Some(one))
    }

    fn string(&mut self) -> Parsed<Type> {
        self.next();
        if !self.eat("<") {
            return Ok(Type::Text(None));
        }
        let bound = self.bound()?;
        self.expect(">", "the bound of the string ends")?;
        Ok(Type::Text(Some(bound)))
    }

    fn sequence(&mut self, depth: usize) -> Parsed<Type> {
        self.next();
        self.expect("<", "the type of the elements follows")?;
        let element = self.specification(depth + 1)?;
        let bound = if self.eat(",") { Some(self.bound()?) } else { None };
        self.expect(">", "the sequence ends")?;
        Ok(Type::Sequence(Arc::new(element), bound))
    }

    /// Takes a name and its dimensions.
    pub(super) fn declarator(&mut self, kind: &Type) -> Parsed<(Token<'a>, Type)> {
        let name = self.name()?;
        let mut dimensions = Vec::new();
        while self.eat("[") {
            dimensions.push(self.bound()?);
            self.expect("]", "the dimension ends")?;
            if dimensions.len() > NESTED_MAX {
                let what = format!("an array has more than {NESTED_MAX} dimensions");
                let help = "use a simpler type";
                return Err(mistake("idl-too-deep", what, name.place, "", help));
            }
        }
        let kind = if dimensions.is_empty() {
            kind.clone()
        } else if let Type::Array(element, inner) = kind {
            // An array of a typedef that is itself an array has the dimensions of both: Cyclone DDS
            // 0.10.2 does this in XCDR2, where it makes a difference.
            dimensions.extend(inner);
            Type::Array(Arc::clone(element), dimensions)
        } else {
            Type::Array(Arc::new(kind.clone()), dimensions)
        };
        Ok((name, kind))
    }

    /// Takes the size of an array or the bound of a sequence or string.
    fn bound(&mut self) -> Parsed<usize> {
        let (value, place) = self.number()?;
        let bound = u32::try_from(value).ok().filter(|bound| *bound > 0);
        let bound = bound.and_then(|bound| usize::try_from(bound).ok());
        bound.ok_or_else(|| {
            let what = format!("a bound is 1 to {}, found {value}", u32::MAX);
            mistake("idl-number", what, place, "", "write a number of elements")
        })
    }

    /// Takes an integer, or the name of a constant.
    pub(super) fn number(&mut self) -> Parsed<(i64, TextRange)> {
        let sign = self.peek();
        let is_negative = self.eat("-");
        let token = self.peek();
        let (value, place) = if token.kind == TokenKind::Number {
            self.next();
            let value = whole(token.text).ok_or_else(|| {
                let what = format!("{} is no whole number of 64 bits", quote(token.text));
                let help = "write digits, or `0x` and hexadecimal digits";
                mistake("idl-number", what, token.place, "", help)
            })?;
            (value, token.place)
        } else if token.kind == TokenKind::Word || token.text == "::" {
            let (name, meaning, place) = self.meaning()?;
            let Meaning::Constant(value) = meaning else {
                let what = format!("{} is no constant", quote(&name));
                return Err(mistake("idl-number", what, place, "", "write a number"));
            };
            (value, place)
        } else {
            let what = found(token, "a number");
            let help = "write a whole number, or the name of a constant";
            return Err(mistake("idl-number", what, token.place, "", help));
        };
        let value = if is_negative { value.saturating_neg() } else { value };
        if matches!(self.peek().text, "+" | "-" | "*" | "/") && self.peek().kind == TokenKind::Sign
        {
            let token = self.peek();
            let what = "an expression";
            let help = "write the result";
            return Err(mistake("idl-unsupported", what, token.place, "", help));
        }
        let start = if is_negative { sign.place.0 } else { place.0 };
        Ok((value, (start, place.1)))
    }
}

/// Reads a literal: decimal, hexadecimal after `0x`, octal after `0` (IDL 4.2, 7.2.6.1).
pub(super) fn whole(text: &str) -> Option<i64> {
    let lower = text.to_ascii_lowercase();
    if let Some(digits) = lower.strip_prefix("0x") {
        return i64::from_str_radix(digits, 16).ok();
    }
    if lower.len() > 1 && lower.starts_with('0') {
        return i64::from_str_radix(&lower, 8).ok();
    }
    lower.parse().ok()
}

fn unsupported(name: &str, place: TextRange) -> Box<Diagnostic> {
    let what = format!("`{name}` is not known here");
    let why = "types are numbers, strings of UTF-8, sequences, arrays, structures and enumerations";
    let help = "use one of these, if the other side may change as well";
    mistake("idl-unsupported", what, place, why, help)
}
