//! What one Rust file says of other modules, read as text: no macro is expanded.

use std::collections::BTreeSet;

/// A piece of source that is neither comment nor literal.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Token<'a> {
    text: &'a str,
    line: usize,
}

/// A name that a `use` declaration brings in.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Use {
    /// The path as written; for a glob, that of the module.
    pub(super) path: Vec<String>,
    /// The name in this file; `*` for a glob.
    pub(super) name: String,
    /// Whether others may take it from here.
    pub(super) is_public: bool,
    pub(super) line: usize,
}

/// A path outside of `use` declarations.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Mention {
    pub(super) path: Vec<String>,
    pub(super) line: usize,
}

/// A file without its tests.
#[derive(Clone, Debug, Default)]
pub(super) struct Source {
    pub(super) uses: Vec<Use>,
    pub(super) mentions: Vec<Mention>,
    /// All names outside of `use` declarations.
    pub(super) names: BTreeSet<String>,
    /// Names defined at the level of the file.
    pub(super) items: BTreeSet<String>,
    /// Modules that only tests have.
    pub(super) test_modules: BTreeSet<String>,
}

impl Source {
    pub(super) fn read(text: &str) -> Self {
        let mut source = Self::default();
        let tokens = tokens(text);
        let mut rest = &tokens[..];
        let mut depth = 0_usize;
        while let Some(token) = rest.first() {
            rest = match token.text {
                "#" => source.take_attribute(rest),
                "use" => source.take_use(rest, false),
                "pub" => {
                    let after = after_visibility(rest);
                    match after.first() {
                        Some(next) if next.text == "use" => source.take_use(after, true),
                        _ => after,
                    }
                }
                "{" | "}" => {
                    depth = match token.text {
                        "{" => depth + 1,
                        _ => depth.saturating_sub(1),
                    };
                    &rest[1..]
                }
                _ if is_name(token.text) => source.take_path(rest, depth),
                _ => &rest[1..],
            };
        }
        source
    }

    /// Skips an attribute, and what only tests have after it.
    fn take_attribute<'a, 't>(&mut self, tokens: &'a [Token<'t>]) -> &'a [Token<'t>] {
        let start = tokens.iter().position(|token| token.text == "[");
        let Some(start) = start.filter(|start| *start <= 2) else {
            return &tokens[1..];
        };
        let end = start + group(&tokens[start..]);
        let inside = &tokens[start..end];
        let has = |name: &str| inside.iter().any(|token| token.text == name);
        let is_for_tests = has("cfg") && has("test") && !has("not") && !has("any");
        if !is_for_tests {
            return &tokens[end..];
        }
        let item = &tokens[end..];
        let length = item_length(item);
        let mut words = item[..length].iter().map(|token| token.text);
        if words.by_ref().find(|word| *word != "pub") == Some("mod") {
            self.test_modules.extend(words.next().map(str::to_owned));
        }
        &item[length..]
    }

    fn take_use<'a, 't>(&mut self, tokens: &'a [Token<'t>], is_public: bool) -> &'a [Token<'t>] {
        let end = tokens.iter().position(|token| token.text == ";");
        let end = end.unwrap_or(tokens.len() - 1);
        let mut tree = &tokens[1..end];
        if tree.first().is_some_and(|token| token.text == "::") {
            tree = &tree[1..];
        }
        self.take_tree(tree, &[], is_public);
        &tokens[end + 1..]
    }

    /// Takes one tree of a `use` declaration, below a path.
    fn take_tree(&mut self, tree: &[Token], above: &[String], is_public: bool) {
        let mut path = above.to_vec();
        let mut rest = tree;
        let Some(line) = tree.first().map(|token| token.line) else {
            return;
        };
        while let [first, more @ ..] = rest {
            match first.text {
                "::" => {}
                "{" => {
                    let inside = &rest[1..group(rest) - 1];
                    for branch in branches(inside) {
                        self.take_tree(branch, &path, is_public);
                    }
                    return;
                }
                "as" => {
                    let name = more.first().map_or("_", |token| token.text).to_owned();
                    self.add_use(path, name, is_public, line);
                    return;
                }
                "*" => {
                    self.add_use(path, "*".to_owned(), is_public, line);
                    return;
                }
                "self" if !path.is_empty() => {}
                name => path.push(name.to_owned()),
            }
            rest = more;
        }
        let name = path.last().cloned().unwrap_or_default();
        self.add_use(path, name, is_public, line);
    }

    fn add_use(&mut self, path: Vec<String>, name: String, is_public: bool, line: usize) {
        self.uses.push(Use { path, name, is_public, line });
    }

    /// Takes a path, or a definition.
    fn take_path<'a, 't>(&mut self, tokens: &'a [Token<'t>], depth: usize) -> &'a [Token<'t>] {
        const DEFINES: &[&str] = &[
            "const",
            "enum",
            "fn",
            "macro_rules",
            "mod",
            "static",
            "struct",
            "trait",
            "type",
            "union",
        ];
        let first = tokens[0].text;
        let line = tokens[0].line;
        let mut rest = &tokens[1..];
        if depth == 0 && DEFINES.contains(&first) {
            let name = rest.iter().find(|token| is_name(token.text));
            let name = name.map(|token| token.text.to_owned());
            // A module in a file of its own is not defined here.
            let is_elsewhere = first == "mod" && rest.get(1).is_some_and(|next| next.text == ";");
            self.items.extend(name.filter(|_| !is_elsewhere));
            return rest;
        }
        let mut path = vec![first.to_owned()];
        while let [colons, next, ..] = rest
            && colons.text == "::"
            && is_name(next.text)
        {
            path.push(next.text.to_owned());
            rest = &rest[2..];
        }
        self.names.extend(path.iter().cloned());
        self.mentions.push(Mention { path, line });
        rest
    }
}

/// Returns what follows `pub` and its restriction.
fn after_visibility<'a, 't>(tokens: &'a [Token<'t>]) -> &'a [Token<'t>] {
    match tokens {
        [_, open, what, ..]
            if open.text == "(" && matches!(what.text, "crate" | "super" | "in" | "self") =>
        {
            &tokens[1 + group(&tokens[1..])..]
        }
        _ => &tokens[1..],
    }
}

/// Returns the number of tokens of a group in brackets, with the brackets.
fn group(tokens: &[Token]) -> usize {
    let mut depth = 0_usize;
    for (index, token) in tokens.iter().enumerate() {
        match token.text {
            "(" | "[" | "{" => depth += 1,
            ")" | "]" | "}" => depth = depth.saturating_sub(1),
            _ => {}
        }
        if depth == 0 {
            return index + 1;
        }
    }
    tokens.len()
}

/// Returns the number of tokens of an item: up to its `;` or the end of its block.
fn item_length(tokens: &[Token]) -> usize {
    let mut index = 0;
    while let Some(token) = tokens.get(index) {
        match token.text {
            ";" => return index + 1,
            "}" | ")" | "]" => return index,
            "{" => {
                let end = index + group(&tokens[index..]);
                let is_use = tokens[..index].iter().any(|token| token.text == "use");
                if !is_use {
                    return end;
                }
                index = end;
            }
            "(" | "[" => index += group(&tokens[index..]),
            _ => index += 1,
        }
    }
    tokens.len()
}

/// Splits the inside of braces at its commas.
fn branches<'a, 't>(tokens: &'a [Token<'t>]) -> Vec<&'a [Token<'t>]> {
    let mut found = Vec::new();
    let (mut start, mut index) = (0, 0);
    while let Some(token) = tokens.get(index) {
        match token.text {
            "{" => index += group(&tokens[index..]),
            "," => {
                found.push(&tokens[start..index]);
                index += 1;
                start = index;
            }
            _ => index += 1,
        }
    }
    found.push(&tokens[start..]);
    found
}

fn is_name(text: &str) -> bool {
    text.starts_with(|c: char| c.is_alphabetic() || c == '_')
}

fn tokens(text: &str) -> Vec<Token<'_>> {
    let mut found = Vec::new();
    let (mut at, mut line) = (0, 1);
    while at < text.len() {
        let rest = &text[at..];
        let (length, is_token) = piece(rest);
        if is_token {
            let text = &rest[..length];
            found.push(Token { text, line });
        }
        line += rest[..length].matches('\n').count();
        at += length;
    }
    found
}

/// Returns the length of the next piece in octets, and whether it is a token.
fn piece(rest: &str) -> (usize, bool) {
    let until = |end: &str, from: usize| {
        let found = rest[from..].find(end);
        found.map_or(rest.len(), |at| from + at + end.len())
    };
    if rest.starts_with("//") {
        return (until("\n", 0), false);
    }
    if rest.starts_with("/*") {
        return (until("*/", 2), false);
    }
    if rest.starts_with("::") {
        return (2, true);
    }
    for prefix in ["r", "br"] {
        if let Some(raw) = rest.strip_prefix(prefix) {
            let hashes = raw.chars().take_while(|c| *c == '#').count();
            if raw[hashes..].starts_with('"') {
                let end = format!("\"{}", "#".repeat(hashes));
                return (until(&end, prefix.len() + hashes + 1), false);
            }
        }
    }
    let first = rest.chars().next().unwrap_or(' ');
    match first {
        '"' => (quoted(rest), false),
        '\'' => (apostrophe(rest), false),
        _ if first.is_alphanumeric() || first == '_' => {
            let end = rest.find(|c: char| !c.is_alphanumeric() && c != '_');
            let length = end.unwrap_or(rest.len());
            let is_prefix = matches!(&rest[..length], "b" | "c") && rest[length..].starts_with('"');
            let is_number = first.is_numeric();
            (length, !is_prefix && !is_number)
        }
        _ => (first.len_utf8(), !first.is_whitespace()),
    }
}

/// Returns the length of a string.
fn quoted(rest: &str) -> usize {
    let mut escaped = false;
    for (index, c) in rest.char_indices().skip(1) {
        match c {
            _ if escaped => escaped = false,
            '\\' => escaped = true,
            '"' => return index + 1,
            _ => {}
        }
    }
    rest.len()
}

/// Returns the length of a character or of a lifetime.
fn apostrophe(rest: &str) -> usize {
    let mut chars = rest.char_indices().skip(1);
    match (chars.next(), chars.next()) {
        (Some((_, '\\')), _) => {
            let end = rest[3..].find('\'');
            end.map_or(rest.len(), |end| 3 + end + 1)
        }
        (Some(_), Some((index, '\''))) => index + 1,
        _ => {
            let end = rest[1..].find(|c: char| !c.is_alphanumeric() && c != '_');
            end.map_or(rest.len(), |end| 1 + end.max(1))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn names_of(text: &str) -> Vec<String> {
        let source = Source::read(text);
        let uses = source.uses.iter();
        uses.map(|own| format!("{} = {} {}", own.name, own.path.join("::"), own.line)).collect()
    }

    #[test]
    fn trees_are_taken_apart() {
        let text = "use super::{a::{self, B as C}, d};\npub(crate) use crate::e::*;\nuse f as _;";
        assert_eq!(
            names_of(text),
            ["a = super::a 1", "C = super::a::B 1", "d = super::d 1", "* = crate::e 2", "_ = f 3",]
        );
        let source = Source::read(text);
        let public: Vec<bool> = source.uses.iter().map(|own| own.is_public).collect();
        assert_eq!(public, [false, false, false, true, false]);
    }

    #[test]
    fn comments_literals_and_tests_do_not_count() {
        let text = "// use a::A;\n/* use b::B; */ const T: &str = \"use c::C; \\\" x::y\";\n\
                    const C: char = '\"'; fn f<'a>(_: &'a str) { r#\"g::h\"# }\n\
                    #[cfg(test)]\nuse d::{D, E};\n#[cfg(all(test, unix))]\nmod checks;\n\
                    #[cfg(test)]\nmod tests { use super::*; fn g() { i::j(); } }\n\
                    #[cfg(not(test))]\nuse k::K;\n";
        assert_eq!(names_of(text), ["K = k::K 11"]);
        let source = Source::read(text);
        assert!(source.test_modules.contains("checks"));
        assert!(source.items.contains("f") && source.items.contains("C"));
        assert!(!source.names.contains("x") && !source.names.contains("i"));
    }

    #[test]
    fn paths_in_code_are_mentions() {
        let source = Source::read("mod m;\nfn f() -> super::T {\n    crate::a::b::<u8>(m::X)\n}");
        let found = source.mentions.iter().filter(|own| own.path.len() > 1);
        let found: Vec<String> =
            found.map(|own| format!("{} {}", own.path.join("::"), own.line)).collect();
        assert_eq!(found, ["super::T 2", "crate::a::b 3", "m::X 3"]);
        assert!(!source.items.contains("m"));
    }
}
