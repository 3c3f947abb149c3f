//! NED: modules, channels and connections, as far as a plant is in them.

use super::token::{Token, Word, tokens};
use crate::error::ImportError;
use crate::text::quote;

/// Most blocks inside each other.
const DEEPEST: usize = 50;

/// The words of an expression.
pub(super) type Expr<'t> = &'t [Token<'t>];

/// What a definition is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    /// A network, or a module with or without modules in it.
    Module {
        is_network: bool,
    },
    Channel,
    Interface,
}

/// A definition.
#[derive(Debug)]
pub(super) struct Type<'t> {
    pub(super) kind: Kind,
    pub(super) name: &'t str,
    pub(super) line: usize,
    /// What it extends, as it is written.
    pub(super) base: Option<String>,
    pub(super) parameters: Vec<Parameter<'t>>,
    pub(super) submodules: Vec<Submodule<'t>>,
    pub(super) connections: Vec<Connection<'t>>,
}

/// A parameter that has a value.
#[derive(Debug)]
pub(super) struct Parameter<'t> {
    pub(super) pattern: String,
    pub(super) value: Expr<'t>,
    pub(super) line: usize,
}

/// A module in a module.
#[derive(Debug)]
pub(super) struct Submodule<'t> {
    pub(super) name: &'t str,
    pub(super) line: usize,
    pub(super) size: Option<Expr<'t>>,
    pub(super) class: Class<'t>,
    pub(super) condition: Option<Expr<'t>>,
    pub(super) parameters: Vec<Parameter<'t>>,
}

/// The type of a module or channel.
#[derive(Clone, Debug)]
pub(super) enum Class<'t> {
    Named(String),
    /// What stands in `<...>`; `typename` has a value elsewhere if it is empty.
    Open(Expr<'t>),
}

/// A connection, once for each turn of its loops.
#[derive(Debug)]
pub(super) struct Connection<'t> {
    pub(super) line: usize,
    pub(super) turns: Vec<Turn<'t>>,
    pub(super) ends: [End<'t>; 2],
    /// Whether it has both directions.
    pub(super) is_duplex: bool,
    pub(super) channel: Option<Class<'t>>,
    pub(super) parameters: Vec<Parameter<'t>>,
}

/// A loop, or a condition.
#[derive(Clone, Copy, Debug)]
pub(super) enum Turn<'t> {
    For { name: &'t str, first: Expr<'t>, last: Expr<'t> },
    If(Expr<'t>),
}

/// An end of a connection.
#[derive(Debug)]
pub(super) struct End<'t> {
    /// The module and its index; `None` for a gate of the network itself.
    pub(super) module: Option<(&'t str, Option<Expr<'t>>)>,
    pub(super) gate: &'t str,
    /// `None` for the next gate, or the only one.
    pub(super) index: Option<Expr<'t>>,
}

/// A file.
#[derive(Debug)]
pub(super) struct Source<'t> {
    pub(super) name: &'t str,
    pub(super) text: &'t str,
    pub(super) words: Vec<Token<'t>>,
}

impl<'t> Source<'t> {
    pub(super) fn read(name: &'t str, text: &'t str) -> Result<Self, ImportError> {
        let words = tokens(text).map_err(|(line, what)| {
            let what = format!("it is not NED: {what}");
            ImportError::new(name, Some(line), what, "correct it")
        })?;
        Ok(Self { name, text, words })
    }

    /// Returns its definitions, also those inside of others.
    pub(super) fn types(&'t self) -> Result<Vec<Type<'t>>, ImportError> {
        let mut parser = Parser { source: self, at: 0, types: Vec::new() };
        while parser.peek().is_some() {
            parser.definition(0)?;
        }
        Ok(parser.types)
    }
}

/// Returns whether a text looks like NED: it begins with one of its words.
pub(super) fn is_ned(text: &str) -> bool {
    let mut lines = text.lines().map(str::trim);
    let first = lines.find(|line| !line.is_empty() && !line.starts_with("//"));
    let mut words = first.unwrap_or_default().split_ascii_whitespace();
    let begins = [
        "package",
        "import",
        "network",
        "module",
        "simple",
        "channel",
        "moduleinterface",
        "channelinterface",
    ];
    let is_begin = words.next().is_some_and(|word| begins.contains(&word));
    // YANG has modules, too, whose names have hyphens.
    let is_name = |word: &str| {
        let begins = word.starts_with(|c: char| c.is_ascii_alphabetic() || c == '_');
        begins && !word.contains('-')
    };
    is_begin && words.next().is_some_and(is_name) && text.contains(['{', ';'])
}

struct Parser<'t> {
    source: &'t Source<'t>,
    at: usize,
    types: Vec<Type<'t>>,
}

impl<'t> Parser<'t> {
    fn peek(&self) -> Option<Token<'t>> {
        self.source.words.get(self.at).copied()
    }

    fn is(&self, mark: &str) -> bool {
        self.peek().is_some_and(|token| token.is(mark))
    }

    fn is_word(&self, name: &str) -> bool {
        self.peek().is_some_and(|token| token.word == Word::Name(name))
    }

    /// Returns whether a section begins here.
    fn is_section(&self, name: &str) -> bool {
        let next = self.source.words.get(self.at + 1);
        self.is_word(name) && next.is_some_and(|token| token.is(":") || self.is_word("connections"))
    }

    fn take(&mut self, mark: &str) -> bool {
        let is_there = self.is(mark);
        self.at += usize::from(is_there);
        is_there
    }

    fn take_word(&mut self, name: &str) -> bool {
        let is_there = self.is_word(name);
        self.at += usize::from(is_there);
        is_there
    }

    fn line(&self) -> usize {
        let last = self.source.words.last();
        self.peek().as_ref().or(last).map_or(1, |token| token.line)
    }

    fn wrong<T>(&self, what: String) -> Result<T, ImportError> {
        let line = Some(self.line());
        let name = self.source.name;
        Err(ImportError::new(name, line, what, "correct it"))
    }

    fn missing<T>(&self, wanted: &str) -> Result<T, ImportError> {
        let found = match self.peek() {
            None => "the file ends".to_owned(),
            Some(token) => {
                let word = self.source.text.get(token.from..token.to);
                format!("there is {}", quote(word.unwrap_or_default()))
            }
        };
        self.wrong(format!("it is not NED: {found} where {wanted} is expected"))
    }

    fn expect(&mut self, mark: &str) -> Result<(), ImportError> {
        if self.take(mark) { Ok(()) } else { self.missing(&format!("`{mark}`")) }
    }

    fn name(&mut self) -> Result<&'t str, ImportError> {
        match self.peek().map(|token| token.word) {
            Some(Word::Name(name)) => {
                self.at += 1;
                Ok(name)
            }
            _ => self.missing("a name"),
        }
    }

    /// Reads a name with its package.
    fn dotted(&mut self) -> Result<String, ImportError> {
        let mut whole = self.name()?.to_owned();
        while self.take(".") {
            whole.push('.');
            whole.push_str(self.name()?);
        }
        Ok(whole)
    }

    /// Returns the words up to one of some marks that is not in brackets; a word of `words` ends it,
    /// too.
    fn until(&mut self, marks: &[&str], words: &[&str]) -> Result<Expr<'t>, ImportError> {
        let begin = self.at;
        let mut open = 0_usize;
        while let Some(token) = self.peek() {
            let is_end = match token.word {
                Word::Mark(mark) => marks.contains(&mark),
                Word::Name(name) => words.contains(&name),
                Word::Number(..) | Word::Text(_) => false,
            };
            if open == 0 && is_end {
                return Ok(self.source.words.get(begin..self.at).unwrap_or_default());
            }
            if ["(", "[", "{"].into_iter().any(|mark| token.is(mark)) {
                open += 1;
            } else if [")", "]", "}"].into_iter().any(|mark| token.is(mark)) {
                let Some(less) = open.checked_sub(1) else {
                    break;
                };
                open = less;
            }
            self.at += 1;
        }
        self.missing(&format!("`{}`", marks.join("` or `")))
    }

    /// Reads a definition, or passes over what says nothing of a plant.
    fn definition(&mut self, depth: usize) -> Result<(), ImportError> {
        if depth > DEEPEST {
            return self.wrong(format!("its modules are deeper than {DEEPEST}"));
        }
        let line = self.line();
        if self.take("@") || self.take(";") {
            if !self.source.words[self.at - 1].is(";") {
                self.property()?;
                self.take(";");
            }
            return Ok(());
        }
        let kind = match self.name()? {
            "package" | "import" | "property" => {
                self.until(&[";"], &[])?;
                return self.expect(";");
            }
            "network" => Kind::Module { is_network: true },
            "module" | "simple" => Kind::Module { is_network: false },
            "channel" => Kind::Channel,
            "moduleinterface" | "channelinterface" => Kind::Interface,
            _ => {
                self.at -= 1;
                return self.missing("a module, channel or network");
            }
        };
        let name = self.name()?;
        let mut base = None;
        if self.take_word("extends") {
            base = Some(self.dotted()?);
            while self.take(",") {
                self.dotted()?;
            }
        }
        if self.take_word("like") {
            self.until(&["{"], &[])?;
        }
        self.expect("{")?;
        let mut own = Type {
            kind,
            name,
            line,
            base,
            parameters: Vec::new(),
            submodules: Vec::new(),
            connections: Vec::new(),
        };
        self.body(&mut own, depth)?;
        self.types.push(own);
        Ok(())
    }

    /// Reads the sections of a definition.
    fn body(&mut self, own: &mut Type<'t>, depth: usize) -> Result<(), ImportError> {
        loop {
            if self.take("}") {
                self.take(";");
                return Ok(());
            } else if self.is_section("gates") {
                self.at += 2;
                self.gates()?;
            } else if self.is_section("types") {
                self.at += 2;
                while !self.is("}") && !self.is_any_section() {
                    self.definition(depth + 1)?;
                }
            } else if self.is_section("submodules") {
                self.at += 2;
                while !self.is("}") && !self.is_any_section() {
                    let submodule = self.submodule()?;
                    own.submodules.push(submodule);
                }
            } else if self.is_word("connections") {
                self.at += 1;
                self.take_word("allowunconnected");
                self.expect(":")?;
                while !self.is("}") && !self.is_any_section() {
                    self.connection(&mut own.connections, &[], depth)?;
                }
            } else {
                if self.is_section("parameters") {
                    self.at += 2;
                }
                self.parameters(&mut own.parameters)?;
            }
        }
    }

    fn is_any_section(&self) -> bool {
        let names = ["parameters", "gates", "types", "submodules", "connections"];
        names.into_iter().any(|name| self.is_section(name))
    }

    /// Passes over gates, which connections name.
    fn gates(&mut self) -> Result<(), ImportError> {
        while !self.is("}") && !self.is_any_section() {
            self.until(&[";"], &[])?;
            self.expect(";")?;
        }
        Ok(())
    }

    /// Passes over a property, behind its `@`.
    fn property(&mut self) -> Result<(), ImportError> {
        self.name()?;
        for (open, close) in [("[", "]"), ("(", ")")] {
            if self.take(open) {
                self.until(&[close], &[])?;
                self.expect(close)?;
            }
        }
        Ok(())
    }

    /// Reads parameters up to the next section.
    fn parameters(&mut self, all: &mut Vec<Parameter<'t>>) -> Result<(), ImportError> {
        while !self.is("}") && !self.is_any_section() {
            if self.take("@") {
                self.property()?;
                self.take(";");
                continue;
            }
            let line = self.line();
            let head = self.until(&["=", ";", "@"], &[])?;
            while self.take("@") {
                self.property()?;
            }
            if self.take("=") {
                let value = self.until(&[";"], &[])?;
                if let Some(pattern) = self.pattern(head) {
                    all.push(Parameter { pattern, value, line });
                }
            }
            self.expect(";")?;
        }
        Ok(())
    }

    /// Returns the pattern of a parameter without its type: `volatile double delay`.
    fn pattern(&self, head: Expr<'t>) -> Option<String> {
        let last = head.len().checked_sub(1)?;
        // Words that are not joined by a mark are types; the last of them begins the pattern.
        let is_name = |at: usize| {
            let token: Option<&Token<'_>> = head.get(at);
            token.is_some_and(|token| matches!(token.word, Word::Name(_)))
        };
        let types = (0..last).take_while(|at| is_name(*at) && is_name(at + 1));
        let begin = types.count();
        let is_wild = |token: &&Token<'_>| token.is("*") || token.is("**");
        let begin = if head.get(begin + 1).is_some_and(|token| is_wild(&token)) && begin > 0 {
            begin + 1
        } else {
            begin
        };
        let pattern = self.source.text.get(head.get(begin)?.from..head.get(last)?.to)?;
        Some(pattern.split_whitespace().collect())
    }

    fn submodule(&mut self) -> Result<Submodule<'t>, ImportError> {
        let line = self.line();
        let name = self.name()?;
        let size = self.bracketed()?;
        self.expect(":")?;
        let class = self.class()?;
        let condition = self.condition(&[";", "{"])?;
        let mut parameters = Vec::new();
        if self.take("{") {
            loop {
                if self.take("}") {
                    break;
                } else if self.is_section("gates") {
                    self.at += 2;
                    self.gates()?;
                } else if self.is_section("parameters") {
                    self.at += 2;
                } else if self.is_any_section() {
                    return self.missing("a parameter or a gate");
                } else {
                    self.parameters(&mut parameters)?;
                }
            }
            self.take(";");
        } else {
            self.expect(";")?;
        }
        Ok(Submodule { name, line, size, class, condition, parameters })
    }

    fn bracketed(&mut self) -> Result<Option<Expr<'t>>, ImportError> {
        if !self.take("[") {
            return Ok(None);
        }
        let inside = self.until(&["]"], &[])?;
        self.expect("]")?;
        Ok(Some(inside))
    }

    fn condition(&mut self, ends: &[&str]) -> Result<Option<Expr<'t>>, ImportError> {
        if !self.take_word("if") {
            return Ok(None);
        }
        self.until(ends, &[]).map(Some)
    }

    /// Reads a type: `Name`, or `<expression> like Name`.
    fn class(&mut self) -> Result<Class<'t>, ImportError> {
        if !self.take("<") {
            return self.dotted().map(Class::Named);
        }
        let inside = self.until(&[">"], &[])?;
        self.expect(">")?;
        if self.take_word("like") {
            self.dotted()?;
        }
        Ok(Class::Open(inside))
    }

    /// Reads a connection, or a group of them with its loops.
    fn connection(
        &mut self,
        all: &mut Vec<Connection<'t>>,
        outer: &[Turn<'t>],
        depth: usize,
    ) -> Result<(), ImportError> {
        if depth > DEEPEST || outer.len() > DEEPEST {
            return self.wrong(format!("its loops are deeper than {DEEPEST}"));
        }
        let mut turns = outer.to_vec();
        if self.is_word("for") || self.is_word("if") || self.is("{") {
            self.turns(&mut turns, &["{", ","])?;
            self.expect("{")?;
            while !self.take("}") {
                self.connection(all, &turns, depth + 1)?;
            }
            self.take(";");
            return Ok(());
        }
        let line = self.line();
        let one = self.end()?;
        let first = self.arrow()?;
        let mut channel = None;
        let mut parameters = Vec::new();
        let is_direct = self.is_end();
        if !is_direct {
            if !self.is("{") {
                channel = Some(self.channel()?);
            }
            if self.take("{") {
                self.parameters(&mut parameters)?;
                self.expect("}")?;
            }
            if self.arrow()? != first {
                return self.missing("the same arrow");
            }
        }
        let other = self.end()?;
        self.turns(&mut turns, &[";", ","])?;
        self.expect(";")?;
        all.push(Connection {
            line,
            turns,
            ends: [one, other],
            is_duplex: first == "<-->",
            channel,
            parameters,
        });
        Ok(())
    }

    /// Reads a channel, with or without a name of its own.
    fn channel(&mut self) -> Result<Class<'t>, ImportError> {
        let next = self.source.words.get(self.at + 1);
        if next.is_some_and(|token| token.is(":")) {
            self.name()?;
            self.expect(":")?;
        }
        self.class()
    }

    /// Returns whether an end of a connection is next, and no channel: it has a gate behind a dot,
    /// and no arrow follows. A gate of the network itself is taken for a channel, and refused.
    fn is_end(&self) -> bool {
        let words = self.source.words.get(self.at..).unwrap_or_default();
        let stops = |token: &&Token<'_>| {
            let ends = ["<-->", "-->", "<--", ";", "{"];
            ends.into_iter().any(|mark| token.is(mark))
        };
        words.iter().find(stops).is_some_and(|token| token.is(";"))
    }

    fn arrow(&mut self) -> Result<&'t str, ImportError> {
        match self.peek().map(|token| token.word) {
            Some(Word::Mark(mark @ ("<-->" | "-->" | "<--"))) => {
                self.at += 1;
                Ok(mark)
            }
            _ => self.missing("an arrow"),
        }
    }

    fn turns(&mut self, turns: &mut Vec<Turn<'t>>, ends: &[&str]) -> Result<(), ImportError> {
        loop {
            if self.take_word("for") {
                let name = self.name()?;
                self.expect("=")?;
                let first = self.until(&[".."], &[])?;
                self.expect("..")?;
                let last = self.until(ends, &["if", "for"])?;
                turns.push(Turn::For { name, first, last });
            } else if self.take_word("if") {
                turns.push(Turn::If(self.until(ends, &["for"])?));
            } else {
                return Ok(());
            }
            self.take(",");
        }
    }

    fn end(&mut self) -> Result<End<'t>, ImportError> {
        let name = self.name()?;
        let index = self.bracketed()?;
        if !self.take(".") {
            self.take("++");
            return Ok(End { module: None, gate: name, index });
        }
        let gate = self.name()?;
        let own = self.bracketed()?;
        self.take("++");
        Ok(End { module: Some((name, index)), gate, index: own })
    }
}
