//! Structures and enumerations.

use rtether_rtps::cdr::Extensibility;
use rtether_rtps::dynamic::{Enumeration, Enumerator, Member, Structure, Type, TypeError};

use super::lex::{TextRange, TokenKind};
use super::mistake;
use super::parse::{Annotation, Meaning, Parser, found};
use rtether::scenario::{Diagnostic, quote};

type Parsed<T> = Result<T, Box<Diagnostic>>;

/// Annotations without effect on the wire.
const HARMLESS: [&str; 11] = [
    "topic",
    "nested",
    "default_nested",
    "unit",
    "min",
    "max",
    "range",
    "verbatim",
    "external",
    "data_representation",
    "ignore_literal_names",
];

/// Names and ids of members, with their places in the text.
type Places = Vec<(String, u32, TextRange)>;

/// What annotations say about a member.
#[derive(Default)]
struct OfMember<'a> {
    is_key: bool,
    id: Option<u32>,
    default: Option<Annotation<'a>>,
}

impl Parser<'_> {
    pub(super) fn structure(&mut self, annotations: &[Annotation<'_>]) -> Parsed<()> {
        let extensibility = extensibility(annotations)?;
        let name = self.name()?;
        let token = self.peek();
        if token.text == ":" {
            let what = format!("{} inherits from another structure", quote(name.text));
            let help = "write the members of the other one first, and its keys";
            return Err(mistake("idl-unsupported", what, token.place, "", help));
        }
        if token.text == ";" {
            // A forward declaration; the body may follow.
            return match self.meanings.get(&self.full(name.text)) {
                None => self.declare(name, Meaning::Open),
                Some(_) => Ok(()),
            };
        }
        self.declare(name, Meaning::Open)?;
        self.expect("{", "the members follow")?;
        let full = self.full(name.text);
        let (members, places) = self.members(name.text)?;
        let members = self.listed_keys(&full, name.text, members)?;
        let structure = Structure::new(full, extensibility, members);
        let structure = structure.map_err(|error| {
            let place = place_of(&error, &places).unwrap_or(name.place);
            refused(name.text, &error, place)
        })?;
        self.enter(name, structure)
    }

    fn members(&mut self, of: &str) -> Parsed<(Vec<Member>, Places)> {
        let (mut members, mut places) = (Vec::new(), Places::new());
        let mut next = 0_u32;
        while !self.eat("}") {
            let said = of_member(&self.annotations()?)?;
            let token = self.peek();
            if token.kind == TokenKind::End {
                let what = found(token, &format!("a member of {}", quote(of)));
                return Err(mistake("idl-syntax", what, token.place, "", "write `};`"));
            }
            let kind = self.specification(0)?;
            let mut given = said.id;
            loop {
                let (name, kind) = self.declarator(&kind)?;
                let default = said.default.as_ref();
                let default = default.map(|said| self.default(said, &kind)).transpose()?;
                let id = given.take().unwrap_or(next);
                next = id.saturating_add(1);
                places.push((name.text.to_owned(), id, name.place));
                members.push(Member {
                    name: name.text.to_owned(),
                    id,
                    is_key: said.is_key,
                    kind,
                    default,
                });
                if members.len() > rtether_rtps::dynamic::MEMBERS_MAX {
                    return Err(refused(of, &TypeError::Members, name.place));
                }
                if !self.eat(",") {
                    break;
                }
            }
            self.expect(";", "a member ends with it")?;
        }
        Ok((members, places))
    }

    /// Marks the members listed by a `#pragma keylist`.
    fn listed_keys(
        &mut self,
        full: &str,
        name: &str,
        mut members: Vec<Member>,
    ) -> Parsed<Vec<Member>> {
        let lists = self.keys.iter_mut();
        for list in lists.filter(|list| list.structure == full || list.structure == name) {
            list.is_used = true;
            for key in &list.members {
                let found = members.iter_mut().find(|member| member.name == *key);
                let Some(found) = found else {
                    let what = format!("{} has no member {}", quote(name), quote(key));
                    let help = if key.contains('.') {
                        "mark the member of the inner structure with `@key`, and list the outer one"
                    } else {
                        "list names of members"
                    };
                    return Err(mistake(
                        "idl-key",
                        what,
                        list.place,
                        "it is listed as a key",
                        help,
                    ));
                };
                found.is_key = true;
            }
        }
        Ok(members)
    }

    pub(super) fn enumeration(&mut self, annotations: &[Annotation<'_>]) -> Parsed<()> {
        extensibility(annotations)?;
        let name = self.name()?;
        self.expect("{", "the names follow")?;
        let mut names = Vec::new();
        let mut default = None;
        let mut next = 0_i64;
        loop {
            let annotations = self.annotations()?;
            let word = self.name()?;
            let mut value = next;
            for annotation in &annotations {
                match annotation.name {
                    "value" => value = i64::from(number(annotation)?),
                    "default_literal" if default.is_none() => default = Some(names.len()),
                    "default_literal" => {
                        let what = format!("{} is a second default", quote(word.text));
                        let help = "leave one `@default_literal` out";
                        return Err(mistake("idl-default", what, word.place, "", help));
                    }
                    other if HARMLESS.contains(&other) => {}
                    _ => return Err(unknown(annotation)),
                }
            }
            let value = i32::try_from(value).map_err(|_| {
                let what = format!("{} has the number {value}", quote(word.text));
                let why = "enumerations have 32 bits";
                mistake("idl-number", what, word.place, why, "give it a smaller number")
            })?;
            next = i64::from(value) + 1;
            names.push(Enumerator { name: word.text.to_owned(), value });
            let is_more = self.eat(",");
            if self.eat("}") {
                break;
            }
            if !is_more {
                let token = self.peek();
                let what = found(token, "`,` or `}`");
                return Err(mistake("idl-syntax", what, token.place, "", "write `,` or `}`"));
            }
        }
        let names = Enumeration::new(self.full(name.text), names);
        let names = names.map_err(|error| refused(name.text, &error, name.place))?;
        let names = names.with_default(default.unwrap_or(0));
        self.declare(name, Meaning::Type(Type::Enumeration(names.into())))
    }
}

fn refused(name: &str, error: &TypeError, place: TextRange) -> Box<Diagnostic> {
    let help = match error {
        TypeError::Empty => "give it a member",
        TypeError::Twice(_) => "give one of them another name or number",
        TypeError::NumberTwice(_) => "give one of them another number: `@id(N)`",
        TypeError::Number(_) => "choose a smaller number",
        TypeError::NoElements => "give it a dimension of at least 1",
        TypeError::Depth | TypeError::Members | TypeError::Octets | TypeError::Values => {
            "use a simpler type, or sequences instead of arrays"
        }
    };
    let what = format!("{} cannot be used: {error}", quote(name));
    mistake("idl-type", what, place, "", help)
}

/// Returns the place of the offending member: the last match, since it contradicts an earlier one.
fn place_of(error: &TypeError, places: &[(String, u32, TextRange)]) -> Option<TextRange> {
    let is_meant = |name: &str, id: u32| match error {
        TypeError::Twice(wrong) => wrong == name,
        TypeError::Number(wrong) | TypeError::NumberTwice(wrong) => *wrong == id,
        TypeError::Empty
        | TypeError::Members
        | TypeError::Depth
        | TypeError::NoElements
        | TypeError::Octets
        | TypeError::Values => false,
    };
    let found = places.iter().rfind(|(name, id, _)| is_meant(name, *id));
    found.map(|(_, _, place)| *place)
}

impl Annotation<'_> {
    /// Refuses it where it might have an effect, at a declaration on which it has none.
    pub(super) fn refuse_effect(&self) -> Parsed<()> {
        match self.name {
            "default" => {
                let what = "a default where there is no member";
                let help = "write `@default` in front of the members that have it";
                Err(mistake("idl-default", what, self.place, "", help))
            }
            "autoid" if is_sequential(self) => Ok(()),
            other if HARMLESS.contains(&other) => Ok(()),
            _ => Err(unknown(self)),
        }
    }
}

/// Returns the extensibility of a type.
fn extensibility(annotations: &[Annotation<'_>]) -> Parsed<Extensibility> {
    let mut said = Extensibility::Appendable;
    for annotation in annotations {
        let word = match annotation.name {
            "extensibility" => annotation.arguments.first().map_or("", |token| token.text),
            other => other,
        };
        said = match word.to_ascii_lowercase().as_str() {
            "final" => Extensibility::Final,
            "appendable" => Extensibility::Appendable,
            "mutable" => Extensibility::Mutable,
            "autoid" if is_sequential(annotation) => said,
            _ if HARMLESS.contains(&annotation.name) => said,
            _ => return Err(unknown(annotation)),
        };
    }
    Ok(said)
}

fn is_sequential(annotation: &Annotation<'_>) -> bool {
    let words: Vec<&str> = annotation.arguments.iter().map(|token| token.text).collect();
    words == ["SEQUENTIAL"]
}

fn of_member<'a>(annotations: &[Annotation<'a>]) -> Parsed<OfMember<'a>> {
    let mut said = OfMember::default();
    for annotation in annotations {
        match annotation.name {
            "key" => {
                let first = annotation.arguments.first().map(|token| token.text);
                said.is_key = first != Some("FALSE");
            }
            "id" => {
                let id = u32::try_from(number(annotation)?);
                said.id = Some(id.map_err(|_| unknown(annotation))?);
            }
            "default" => said.default = Some(annotation.clone()),
            other if HARMLESS.contains(&other) => {}
            _ => return Err(unknown(annotation)),
        }
    }
    Ok(said)
}

/// Returns the number between the parentheses of an annotation.
fn number(annotation: &Annotation<'_>) -> Parsed<i32> {
    let text: String = annotation.arguments.iter().map(|token| token.text).collect();
    let hexadecimal = text.strip_prefix("0x");
    let number = match hexadecimal {
        Some(digits) => i32::from_str_radix(digits, 16),
        None => text.parse(),
    };
    number.map_err(|_| {
        let what = format!("`@{}` needs a number, found {}", annotation.name, quote(&text));
        let help = format!("write `@{}(1)`", annotation.name);
        mistake("idl-number", what, annotation.place, "", help)
    })
}

fn unknown(annotation: &Annotation<'_>) -> Box<Diagnostic> {
    let what = format!("the annotation {} is not known here", quote(annotation.name));
    let why = "it may change what goes over the wire";
    let help = match annotation.name {
        "optional" => "members that may be absent are not known here; use a sequence of at most 1",
        "hashid" | "autoid" => "give each member its number: `@id(N)`",
        _ => "leave it out if the other side has the same octets without it",
    };
    mistake("idl-annotation", what, annotation.place, why, help)
}
