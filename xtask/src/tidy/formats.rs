//! Every document that the program writes is described in `docs/reference/results.md`, with all its
//! members.

use std::collections::BTreeSet;

use crate::finding::Finding;
use crate::repo::TextFile;

const PAGE: &str = "docs/reference/results.md";

/// Looks in the sources of all crates for names of formats, such as `rtether.ping/1`, and in files
/// that write one for members.
pub(super) fn check(files: &[TextFile]) -> Vec<Finding> {
    let page = files.iter().find(|file| file.path == PAGE);
    let known = known(page.map_or("", |page| page.text.as_str()));
    let mut findings = Vec::new();
    for file in files.iter().filter(|file| is_source(&file.path)) {
        let text = without_tests(&file.text);
        let writes = text.lines().any(|line| quoted(line).any(is_format));
        for (index, line) in text.lines().enumerate() {
            let formats = quoted(line).filter(|word| is_format(word));
            let members = members(line).filter(|_| writes);
            findings.extend(formats.chain(members).filter(|word| !known.contains(word)).map(
                |word| Finding {
                    path: file.path.clone(),
                    line: Some(index + 1),
                    message: format!("`{word}` is not described in {PAGE}"),
                },
            ));
        }
    }
    findings
}

fn is_source(path: &str) -> bool {
    let (_, ending) = path.rsplit_once('.').unwrap_or_default();
    path.starts_with("crates/")
        && path.contains("/src/")
        && ending == "rs"
        && !path.ends_with("/tests.rs")
        && !path.contains("/tests/")
}

/// Returns what is before the tests, which quote documents of others.
fn without_tests(text: &str) -> &str {
    text.split("#[cfg(test)]\nmod ").next().unwrap_or(text)
}

/// Returns the words that the page has in backticks; of `hops[].waits` both.
fn known(page: &str) -> BTreeSet<&str> {
    let code = page.lines().flat_map(|line| line.split('`').skip(1).step_by(2));
    code.flat_map(|code| code.split(|c: char| !is_part(c) && !"./-".contains(c)))
        .flat_map(|word| [word, word.trim_start_matches('.')])
        .collect()
}

fn is_part(c: char) -> bool {
    c.is_ascii_alphanumeric() || c == '_'
}

/// Returns what stands between quotes in a line.
fn quoted(line: &str) -> impl Iterator<Item = &str> {
    line.split('"').skip(1).step_by(2)
}

/// Whether it is the name of a format with its version.
fn is_format(word: &str) -> bool {
    let parts = word.strip_prefix("rtether.").and_then(|rest| rest.split_once('/'));
    parts.is_some_and(|(name, version)| {
        let is_name = name.bytes().all(|octet| octet.is_ascii_lowercase() || octet == b'-');
        let is_version = version.bytes().all(|octet| octet.is_ascii_digit());
        is_name && is_version && !name.is_empty() && !version.is_empty()
    })
}

/// Returns the members that a line writes: `"name": value`.
fn members(line: &str) -> impl Iterator<Item = &str> {
    let ends = line.match_indices("\": ");
    ends.filter_map(|(end, _)| {
        let before = &line[..end];
        let start = before.rfind('"')? + 1;
        let word = &before[start..];
        (!word.is_empty() && word.chars().all(is_part)).then_some(word)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn file(path: &str, text: &str) -> TextFile {
        TextFile { path: path.to_owned(), text: text.to_owned() }
    }

    #[test]
    fn formats_and_their_members_are_described() {
        // Oracle: by eye. The page lacks `spy/1` and the member `missed`.
        let files = [
            file(PAGE, "| `rtether.ping/1` | `count`, `hops[].at_ns` |\n"),
            file(
                "crates/x/src/a.rs",
                "json!({\n\"schema\": \"rtether.ping/1\", \"count\": 1,\n\"at_ns\": 2,\n\"missed\": 3,\n",
            ),
            file("crates/x/src/b.rs", "const S: &str = \"rtether.spy/1\";\n"),
            // Neither writes one.
            file("crates/x/src/c.rs", "\"other\": 1\n"),
            file("crates/x/tests/d.rs", "\"rtether.none/1\"\n"),
            file("crates/x/src/e.rs", "\n#[cfg(test)]\nmod tests {\n\"rtether.none/1\"\n"),
        ];
        let found: Vec<String> = check(&files).iter().map(ToString::to_string).collect();
        assert_eq!(
            found,
            [
                format!("crates/x/src/a.rs:2: `schema` is not described in {PAGE}"),
                format!("crates/x/src/a.rs:4: `missed` is not described in {PAGE}"),
                format!("crates/x/src/b.rs:1: `rtether.spy/1` is not described in {PAGE}"),
            ]
        );
    }
}
