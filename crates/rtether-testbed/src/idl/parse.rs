//! Declarations: modules, typedefs, constants; see [`super::declare`] for types with a body.

use std::collections::BTreeMap;
use std::sync::Arc;

use rtether_rtps::dynamic::{Structure, Type};

use super::lex::{Keys, Lexed, TextRange, Token, TokenKind};
use super::{Library, NAMES_MAX, NESTED_MAX, mistake};
use rtether::scenario::{Diagnostic, quote};

/// What a name means.
#[derive(Clone, Debug)]
pub(super) enum Meaning {
    Type(Type),
    Constant(i64),
    /// A structure whose body is unfinished or still to come.
    Open,
}

/// An annotation: its name and its arguments.
#[derive(Clone)]
pub(super) struct Annotation<'a> {
    pub(super) name: &'a str,
    pub(super) arguments: Vec<Token<'a>>,
    pub(super) place: TextRange,
}

pub(super) struct Parser<'a> {
    tokens: Vec<Token<'a>>,
    at: usize,
    pub(super) keys: Vec<Keys<'a>>,
    /// The enclosing modules.
    pub(super) modules: Vec<&'a str>,
    pub(super) meanings: BTreeMap<String, Meaning>,
    structures: BTreeMap<String, Arc<Structure>>,
    names: Vec<String>,
}

type Parsed<T> = Result<T, Box<Diagnostic>>;

/// Parses all declarations.
pub(super) fn parse(lexed: Lexed<'_>) -> Parsed<Library> {
    let mut parser = Parser {
        tokens: lexed.tokens,
        at: 0,
        keys: lexed.keys,
        modules: Vec::new(),
        meanings: BTreeMap::new(),
        structures: BTreeMap::new(),
        names: Vec::new(),
    };
    while parser.peek().kind != TokenKind::End {
        parser.declaration()?;
    }
    if let Some(unused) = parser.keys.iter().find(|keys| !keys.is_used) {
        let what = format!("no structure is named {}", quote(unused.structure));
        let help = "name a structure of this file with its modules, such as `Cell::Axis`";
        return Err(mistake("idl-key", what, unused.place, "its keys are listed here", help));
    }
    Ok(Library { structures: parser.structures, names: parser.names })
}

impl<'a> Parser<'a> {
    pub(super) fn peek(&self) -> Token<'a> {
        // The last token is `End` and is never passed.
        let last = self.tokens.len().saturating_sub(1);
        let token = self.tokens.get(self.at.min(last)).copied();
        token.unwrap_or(Token { kind: TokenKind::End, text: "", place: (0, 0) })
    }

    pub(super) fn next(&mut self) -> Token<'a> {
        let token = self.peek();
        self.at += 1;
        token
    }

    /// Takes the sign or keyword `text` if it is next.
    pub(super) fn eat(&mut self, text: &str) -> bool {
        let token = self.peek();
        let is_there =
            token.text == text && matches!(token.kind, TokenKind::Sign | TokenKind::Word);
        if is_there {
            self.at += 1;
        }
        is_there
    }

    /// Takes a sign, or fails.
    pub(super) fn expect(&mut self, sign: &str, why: &str) -> Parsed<()> {
        if self.eat(sign) {
            return Ok(());
        }
        let token = self.peek();
        let help = format!("write `{sign}`");
        Err(mistake("idl-syntax", found(token, &format!("`{sign}`")), token.place, why, help))
    }

    /// Takes a new name.
    pub(super) fn name(&mut self) -> Parsed<Token<'a>> {
        let token = self.next();
        if token.kind == TokenKind::Word {
            // A leading underscore escapes a keyword (IDL 4.2, 7.2.3.2).
            let text = token.text.strip_prefix('_').unwrap_or(token.text);
            return Ok(Token { text, ..token });
        }
        let help = "write a name of letters, digits and `_`";
        Err(mistake("idl-syntax", found(token, "a name"), token.place, "", help))
    }

    /// Prefixes a name with the enclosing modules.
    pub(super) fn full(&self, name: &str) -> String {
        let mut full: String = self.modules.iter().flat_map(|module| [*module, "::"]).collect();
        full.push_str(name);
        full
    }

    /// Declares a name.
    pub(super) fn declare(&mut self, name: Token<'a>, meaning: Meaning) -> Parsed<()> {
        let full = self.full(name.text);
        if self.meanings.len() >= NAMES_MAX {
            let what = format!("the file declares more than {NAMES_MAX} names");
            let help = "write the types of the topic into a file of their own";
            return Err(mistake("idl-too-large", what, name.place, "", help));
        }
        let known = self.meanings.get(&full);
        if known.is_some_and(|known| !matches!(known, Meaning::Open)) {
            let what = format!("{} is declared twice", quote(&full));
            let help = "leave one out, or give it another name";
            return Err(mistake("idl-name", what, name.place, "the second is here", help));
        }
        self.meanings.insert(full, meaning);
        Ok(())
    }

    /// Enters a complete structure.
    pub(super) fn enter(&mut self, name: Token<'a>, structure: Structure) -> Parsed<()> {
        let structure = Arc::new(structure);
        self.declare(name, Meaning::Type(Type::Structure(Arc::clone(&structure))))?;
        let full = structure.name().to_owned();
        self.names.push(full.clone());
        self.structures.insert(full, structure);
        Ok(())
    }

    /// Takes a name (`A`, `A::B` or `::A`) and resolves it from the current module.
    pub(super) fn meaning(&mut self) -> Parsed<(String, Meaning, TextRange)> {
        let start = self.peek().place.0;
        let is_absolute = self.eat("::");
        let mut path = self.name()?.text.to_owned();
        while self.eat("::") {
            path.push_str("::");
            path.push_str(self.name()?.text);
        }
        let before = self.tokens.get(self.at.saturating_sub(1));
        let place = (start, before.map_or(start, |token| token.place.1));
        let around = if is_absolute { 0 } else { self.modules.len() };
        if let Some((full, meaning)) = self.found_from(&path, around) {
            return Ok((full, meaning.clone(), place));
        }
        let what = format!("nothing is named {}", quote(&path));
        let mut near = self.meanings.keys().map(String::as_str);
        let near = near.find(|known| {
            let last = known.rsplit("::").next().unwrap_or_default();
            last.eq_ignore_ascii_case(path.rsplit("::").next().unwrap_or_default())
        });
        let help = near.map_or_else(
            || "declare it before, or write one of the types that are built in".to_owned(),
            |near| format!("did you mean `{near}`?"),
        );
        let why = "names are declared before they are used";
        Err(mistake("idl-unknown-name", what, place, why, help))
    }

    /// Returns what a path means from within the first `around` modules, the inner ones first.
    pub(super) fn found_from(&self, path: &str, around: usize) -> Option<(String, &Meaning)> {
        (0..=around).rev().find_map(|depth| {
            let modules = self.modules.iter().take(depth);
            let mut full: String = modules.flat_map(|module| [*module, "::"]).collect();
            full.push_str(path);
            let meaning = self.meanings.get(&full)?;
            Some((full, meaning))
        })
    }

    /// Takes all annotations at this place.
    pub(super) fn annotations(&mut self) -> Parsed<Vec<Annotation<'a>>> {
        let mut all = Vec::new();
        while self.eat("@") {
            let name = self.name()?;
            let mut arguments = Vec::new();
            if self.eat("(") {
                while !self.eat(")") {
                    let token = self.next();
                    if token.kind == TokenKind::End {
                        let what = found(token, "`)`");
                        let help = "write `)` after the annotation";
                        return Err(mistake("idl-syntax", what, token.place, "", help));
                    }
                    arguments.push(token);
                }
            }
            all.push(Annotation { name: name.text, arguments, place: name.place });
        }
        Ok(all)
    }

    fn declaration(&mut self) -> Parsed<()> {
        let annotations = self.annotations()?;
        let token = self.next();
        if token.kind == TokenKind::Word && matches!(token.text, "module" | "typedef" | "const") {
            annotations.iter().try_for_each(Annotation::refuse_effect)?;
        }
        match (token.kind, token.text) {
            (TokenKind::Word, "module") => self.module()?,
            (TokenKind::Word, "struct") => self.structure(&annotations)?,
            (TokenKind::Word, "enum") => self.enumeration(&annotations)?,
            (TokenKind::Word, "typedef") => self.typedef()?,
            (TokenKind::Word, "const") => self.constant()?,
            // An empty declaration, as after the closing brace of a module.
            (TokenKind::Sign, ";") if annotations.is_empty() => return Ok(()),
            (
                TokenKind::Word,
                "union" | "bitmask" | "bitset" | "interface" | "valuetype" | "native",
            ) => {
                let what = format!("`{}` is not known here", token.text);
                let why = "types are structures and enumerations";
                let help = "use a structure, or leave it out if the topic does not need it";
                return Err(mistake("idl-unsupported", what, token.place, why, help));
            }
            _ => {
                let help = "write `module`, `struct`, `enum`, `typedef` or `const`";
                let what = found(token, "a declaration");
                return Err(mistake("idl-syntax", what, token.place, "", help));
            }
        }
        self.expect(";", "a declaration ends with it")
    }

    fn module(&mut self) -> Parsed<()> {
        let name = self.name()?;
        if self.modules.len() >= NESTED_MAX {
            let what = format!("more than {NESTED_MAX} modules are within each other");
            let help = "leave out modules";
            return Err(mistake("idl-too-deep", what, name.place, "", help));
        }
        self.expect("{", "the declarations of the module follow")?;
        self.modules.push(name.text);
        while !self.eat("}") {
            if self.peek().kind == TokenKind::End {
                let what = format!("module {} does not end", quote(name.text));
                let help = "write `};` at its end";
                return Err(mistake("idl-syntax", what, name.place, "it begins here", help));
            }
            self.declaration()?;
        }
        self.modules.pop();
        Ok(())
    }

    fn typedef(&mut self) -> Parsed<()> {
        let kind = self.specification(0)?;
        loop {
            let (name, kind) = self.declarator(&kind)?;
            self.declare(name, Meaning::Type(kind))?;
            if !self.eat(",") {
                return Ok(());
            }
        }
    }

    fn constant(&mut self) -> Parsed<()> {
        let place = self.peek().place;
        let kind = self.specification(0)?;
        if !is_whole(&kind) {
            let what = "a constant that is not a whole number";
            let why = "constants serve as bounds here";
            return Err(mistake("idl-unsupported", what, place, why, "leave it out"));
        }
        let name = self.name()?;
        self.expect("=", "the value of the constant follows")?;
        let (value, _) = self.number()?;
        self.declare(name, Meaning::Constant(value))
    }
}

/// Returns a text that says what was found instead of `expected`.
pub(super) fn found(token: Token<'_>, expected: &str) -> String {
    match token.kind {
        TokenKind::End => format!("the file ends where {expected} is expected"),
        TokenKind::Word
        | TokenKind::Number
        | TokenKind::Text
        | TokenKind::Character
        | TokenKind::Sign => format!("{} is found where {expected} is expected", quote(token.text)),
    }
}

/// Returns whether a type is an integer.
pub(super) const fn is_whole(kind: &Type) -> bool {
    use rtether_rtps::dynamic::Primitive::{
        Int8, Int16, Int32, Int64, Octet, Uint16, Uint32, Uint64,
    };
    matches!(kind, Type::Primitive(Octet | Int8 | Int16 | Uint16 | Int32 | Uint32 | Int64 | Uint64))
}
