//! Every document that the program writes is a structure with a schema, from which its reference is
//! made.

use crate::finding::Finding;
use crate::repo::TextFile;

/// Folder of the schemas.
const SCHEMAS: &str = "docs/reference/results";

/// Formats of lines between two parts of the program, which nobody else reads.
const PROTOCOLS: [&str; 1] = ["rtether.agent/1"];

/// Sources that write objects of JSON without a structure, and what these are: no results. The list
/// may only shrink.
const BY_HAND: [(&str, &str); 12] = [
    ("crates/rtether-cli/src/terminal.rs", "messages, as diagnostics"),
    ("crates/rtether-report/src/document.rs", "parts of schemas"),
    ("crates/rtether-report/src/page/table.rs", "data of a script"),
    ("crates/rtether-scenario/src/render.rs", "diagnostics"),
    ("crates/rtether-scenario/src/schema.rs", "the schema of scenarios"),
    ("crates/rtether-testbed/src/shim/control.rs", "requests to a shim, and its answers"),
    ("crates/rtether-wasm/src/lib.rs", "answers to a page"),
    ("crates/rtether-wasm/src/work.rs", "answers to a page"),
    ("crates/rtether/src/export/saihu.rs", "files for Saihu"),
    ("crates/rtether/src/report/gate.rs", "SARIF"),
    ("crates/rtether/src/report/html/because.rs", "data of a script"),
    ("crates/rtether/src/report/html/topology.rs", "data of a script"),
];

/// Looks in the sources of all crates for formats, such as `rtether.ping/1`, that have no schema, and
/// for objects of JSON that are no structures.
pub(super) fn check(files: &[TextFile]) -> Vec<Finding> {
    let mut findings = Vec::new();
    for file in files.iter().filter(|file| is_source(&file.path)) {
        let is_listed = BY_HAND.iter().any(|(path, _)| *path == file.path);
        let mut is_by_hand = false;
        for (index, line) in without_tests(&file.text).lines().enumerate() {
            let unknown = quoted(line).filter(|word| is_format(word) && !is_known(word, files));
            let mut messages: Vec<String> =
                unknown.map(|word| format!("`{word}` has no schema in {SCHEMAS}")).collect();
            if line.contains("json!({") {
                is_by_hand = true;
                if !is_listed {
                    messages.push("write a structure with `Serialize` instead".to_owned());
                }
            }
            findings.extend(messages.into_iter().map(|message| Finding {
                path: file.path.clone(),
                line: Some(index + 1),
                message,
            }));
        }
        if is_listed && !is_by_hand {
            findings.push(Finding {
                path: file.path.clone(),
                line: None,
                message: "writes no JSON by hand any more; remove it from the list".to_owned(),
            });
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

/// Whether a format has a schema, whose title it is, or needs none.
fn is_known(format: &str, files: &[TextFile]) -> bool {
    let title = format!("\"title\": \"{format}\"");
    PROTOCOLS.contains(&format)
        || files.iter().any(|file| file.path.starts_with(SCHEMAS) && file.text.contains(&title))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn file(path: &str, text: &str) -> TextFile {
        TextFile { path: path.to_owned(), text: text.to_owned() }
    }

    #[test]
    fn formats_have_a_schema_and_are_not_written_by_hand() {
        // Oracle: by eye.
        let schema = "{\n  \"title\": \"rtether.ping/1\"\n}\n";
        let files = [
            file("docs/reference/results/ping.schema.json", schema),
            file(
                "crates/x/src/a.rs",
                "\"rtether.ping/1\"\n\"rtether.ping/2\"\n\"rtether.spy/1\"\n\"rtether.agent/1\"\n",
            ),
            file("crates/x/src/b.rs", "let x = json!({\n    \"a\": 1\n});\njson!(3)\n"),
            file("crates/rtether/src/report/gate.rs", "json!({ \"a\": 1 })\n"),
            file("crates/rtether-wasm/src/lib.rs", "json!(3)\n"),
            file("crates/x/tests/d.rs", "\"rtether.none/1\" json!({})\n"),
            file("crates/x/src/e.rs", "\n#[cfg(test)]\nmod tests {\n\"rtether.none/1\"\n"),
        ];
        let found: Vec<String> = check(&files).iter().map(ToString::to_string).collect();
        assert_eq!(
            found,
            [
                "crates/x/src/a.rs:2: `rtether.ping/2` has no schema in docs/reference/results",
                "crates/x/src/a.rs:3: `rtether.spy/1` has no schema in docs/reference/results",
                "crates/x/src/b.rs:1: write a structure with `Serialize` instead",
                "crates/rtether-wasm/src/lib.rs: writes no JSON by hand any more; remove it from \
                 the list",
            ]
        );
    }
}
