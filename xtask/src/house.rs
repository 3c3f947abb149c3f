//! `cargo xtask house`: figures of the code and its prose, of this checkout or of a commit.

use std::fmt::Write as _;
use std::fs;
use std::path::Path;
use std::process::{Command, Stdio};

use anyhow::{Context, Result, bail};

use crate::repo::Repo;

/// Where the files of a commit are unpacked.
const FOLDER: &str = "target/house";
/// Lines from which a function or file counts as long.
const LONG_FUNCTION: usize = 70;
const LONG_FILE: usize = 400;
/// Folders that hold no source of ours.
const SKIPPED: [&str; 3] = ["target", ".git", "corpus"];

/// What is counted.
#[derive(Debug, Default, PartialEq, Eq)]
struct House {
    code: usize,
    comments: usize,
    /// Lines of test modules and test files, blank ones left out, as everywhere.
    tests: usize,
    long_functions: usize,
    long_files: usize,
    closure_lets: usize,
    saturating: usize,
    binaries: usize,
    /// Octets of Markdown.
    by_hand: usize,
    /// Output of commands in pages, which tests compare and write.
    output: usize,
    generated: usize,
}

/// Prints the figures.
pub(crate) fn run(repo: &Repo, revision: Option<&str>) -> Result<bool> {
    let mut house = House::default();
    match revision {
        None => house.walk(&repo.root, "")?,
        Some(revision) => house.walk(&unpacked(repo, revision)?, "")?,
    }
    print!("{}", house.table());
    Ok(true)
}

/// Unpacks the files of a commit; returns their folder.
fn unpacked(repo: &Repo, revision: &str) -> Result<std::path::PathBuf> {
    let to = repo.root.join(FOLDER);
    if to.exists() {
        fs::remove_dir_all(&to).context("clearing the folder of an earlier commit")?;
    }
    fs::create_dir_all(&to).context("making a folder for the commit")?;
    let mut archive = Command::new("git")
        .args(["archive", revision])
        .current_dir(&repo.root)
        .stdout(Stdio::piped())
        .spawn()
        .context("starting git")?;
    let files = archive.stdout.take().context("git has no output")?;
    let is_unpacked = Command::new("tar")
        .arg("-x")
        .current_dir(&to)
        .stdin(files)
        .status()
        .context("starting tar")?
        .success();
    if !archive.wait()?.success() || !is_unpacked {
        bail!("there is no commit `{revision}`");
    }
    Ok(to)
}

impl House {
    /// Counts all files below a folder; `path` is that of the folder, with `/` behind it.
    fn walk(&mut self, folder: &Path, path: &str) -> Result<()> {
        for entry in fs::read_dir(folder).with_context(|| format!("reading {path}"))? {
            let entry = entry?;
            let name = entry.file_name().to_string_lossy().into_owned();
            let own = format!("{path}{name}");
            let kind = entry.file_type()?;
            if kind.is_dir() && !SKIPPED.contains(&name.as_str()) {
                self.walk(&entry.path(), &format!("{own}/"))?;
            } else if kind.is_file() {
                self.file(&own, &entry.path())?;
            }
        }
        Ok(())
    }

    fn file(&mut self, path: &str, from: &Path) -> Result<()> {
        let ending = path.rsplit_once('.').map_or("", |(_, ending)| ending);
        if !["rs", "md", "toml"].contains(&ending) {
            return Ok(());
        }
        let text = fs::read_to_string(from).with_context(|| format!("reading {path}"))?;
        match ending {
            "rs" => {
                self.rust(path, &text);
                let tests = from.ancestors().find(|folder| folder.ends_with("tests"));
                let is_joined = tests.is_some_and(|folder| folder.join("main.rs").exists());
                self.binaries += usize::from(is_binary(path, is_joined));
            }
            "md" => self.markdown(path, &text),
            _ => {
                // Tests that stand outside of `tests/`, such as validation, name their path.
                let outside = text.split("[[test]]").skip(1);
                self.binaries += outside.filter(|part| part.contains("path = \"../")).count();
            }
        }
        Ok(())
    }

    fn rust(&mut self, path: &str, text: &str) {
        let lines: Vec<&str> = text.lines().collect();
        let parts: Vec<&str> = path.split('/').collect();
        let is_test = parts.iter().any(|part| ["tests", "tests.rs"].contains(part));
        let first_test = if is_test { 0 } else { test_module(&lines) };
        let mut code = 0;
        let trimmed = lines.iter().map(|line| line.trim()).enumerate();
        for (index, line) in trimmed.filter(|(_, line)| !line.is_empty()) {
            if index >= first_test {
                self.tests += 1;
            } else if line.starts_with("//") {
                self.comments += 1;
            } else {
                code += 1;
            }
            self.closure_lets += usize::from(binds_closure(line));
            self.saturating += usize::from(saturates(line));
        }
        self.code += code;
        self.long_files += usize::from(code > LONG_FILE);
        self.long_functions += long_functions(&lines);
    }

    fn markdown(&mut self, path: &str, text: &str) {
        if path.starts_with("docs/reference/") || path == "docs/nightly.md" {
            self.generated += text.len();
            return;
        }
        let (mut is_generated, mut is_output) = (false, false);
        let mut before = "";
        for line in text.split_inclusive('\n') {
            is_generated |= line.starts_with("<!-- generated:");
            // Marks above a block say that it is not what a command printed.
            is_output |= line == "```text\n" && !before.starts_with("<!-- not ");
            let count = if is_generated {
                &mut self.generated
            } else if is_output {
                &mut self.output
            } else {
                &mut self.by_hand
            };
            *count += line.len();
            is_generated &= !line.starts_with("<!-- end:");
            is_output &= line != "```\n";
            before = line;
        }
    }

    fn table(&self) -> String {
        let all = self.code + self.comments + self.tests;
        let per_thousand = |count: usize| {
            let tenths = (count * 10_000).checked_div(all).unwrap_or(0);
            format!("{count} ({}.{} in 1000 lines)", tenths / 10, tenths % 10)
        };
        let rows = [
            ("Rust lines, none of them blank", all.to_string()),
            ("  code", self.code.to_string()),
            ("  comments outside of tests", self.comments.to_string()),
            ("  tests", self.tests.to_string()),
            ("functions over 70 lines", self.long_functions.to_string()),
            ("files over 400 lines of code", self.long_files.to_string()),
            ("closures bound by let", per_thousand(self.closure_lets)),
            ("conversions that saturate", per_thousand(self.saturating)),
            ("test binaries", self.binaries.to_string()),
            ("Markdown by hand, kB", (self.by_hand / 1000).to_string()),
            ("Markdown, output of commands, kB", (self.output / 1000).to_string()),
            ("Markdown generated, kB", (self.generated / 1000).to_string()),
        ];
        rows.iter().fold(String::new(), |mut text, (name, value)| {
            let _ = writeln!(text, "{name:<36}{value}");
            text
        })
    }
}

/// Returns the line on which the test module begins, or the number of lines.
fn test_module(lines: &[&str]) -> usize {
    lines
        .windows(2)
        .position(|pair| {
            pair[0] == "#[cfg(test)]" && pair[1].starts_with("mod ") && pair[1].ends_with('{')
        })
        .unwrap_or(lines.len())
}

/// Returns whether a line converts a number that may not fit to the nearest or any other.
pub(crate) fn saturates(line: &str) -> bool {
    line.contains("try_from") && line.contains("unwrap_or(")
}

/// Returns whether a line binds a closure to a name.
pub(crate) fn binds_closure(line: &str) -> bool {
    let value = line
        .strip_prefix("let ")
        .and_then(|rest| rest.split_once(" = "))
        .map(|(_, value)| value.strip_prefix("move ").unwrap_or(value));
    value.is_some_and(|value| value.starts_with('|'))
}

/// Counts functions of more than 70 lines, from the line with `fn` to that of the closing brace,
/// which a formatted file has at the same depth.
fn long_functions(lines: &[&str]) -> usize {
    let mut long = 0;
    for (begin, line) in lines.iter().enumerate() {
        let body = line.trim_start();
        if !begins_function(body) {
            continue;
        }
        let close = format!("{}}}", &line[..line.len() - body.len()]);
        let length = lines[begin..].iter().position(|own| *own == close);
        long += usize::from(length.is_some_and(|length| length + 1 > LONG_FUNCTION));
    }
    long
}

/// Returns whether a line begins a function that has a body.
fn begins_function(line: &str) -> bool {
    let is_qualifier = |word: &str| {
        ["pub", "const", "async", "unsafe", "extern", "\"C\""].contains(&word)
            || word.starts_with("pub(")
    };
    let first = line.split(' ').find(|word| !is_qualifier(word));
    first == Some("fn") && !line.ends_with(';')
}

/// Returns whether a file is the main file of a test program; `is_joined` if all tests of its package
/// are one, of `tests/main.rs`.
fn is_binary(path: &str, is_joined: bool) -> bool {
    let parts: Vec<&str> = path.split('/').collect();
    match parts[..] {
        ["crates", _, "tests", file] => {
            file == "main.rs"
                || !is_joined && file.rsplit_once('.').is_some_and(|(_, ending)| ending == "rs")
        }
        ["crates", _, "tests", _, "main.rs"] => !is_joined,
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    // Oracle of all: by eye.

    #[test]
    fn lines_are_told_apart() {
        let mut house = House::default();
        let text = "//! About.\n\nfn a() {\n    let b = |c| c;\n    let d = u8::try_from(e).unwrap_or(0);\n}\n\
                    #[cfg(test)]\nmod tests {\n}\n";
        house.rust("crates/a/src/lib.rs", text);
        let expected = House {
            code: 4,
            comments: 1,
            tests: 3,
            closure_lets: 1,
            saturating: 1,
            ..House::default()
        };
        assert_eq!(house, expected);
    }

    #[test]
    fn a_long_function_is_counted_once() {
        let text = format!(
            "impl A {{\n    pub(crate) fn b(\n        c: u8,\n    ) {{\n{}    }}\n}}\n",
            "        d();\n".repeat(70)
        );
        assert_eq!(long_functions(&text.lines().collect::<Vec<_>>()), 1);
        let text = format!("fn b() {{\n{}}}\n", "    d();\n".repeat(68));
        assert_eq!(long_functions(&text.lines().collect::<Vec<_>>()), 0);
    }

    #[test]
    fn test_programs_are_files_and_folders_of_tests() {
        for path in ["crates/a/tests/b.rs", "crates/a/tests/it/main.rs"] {
            assert!(is_binary(path, false) && !is_binary(path, true), "{path}");
        }
        assert!(is_binary("crates/a/tests/main.rs", true));
        for path in ["crates/a/tests/it/b.rs", "crates/a/src/tests.rs"] {
            assert!(!is_binary(path, false), "{path}");
        }
    }

    #[test]
    fn generated_parts_of_a_page_are_told_apart() {
        let mut house = House::default();
        house.markdown("a.md", "one\n<!-- generated: x -->\ntwo\n<!-- end: x -->\nsix\n");
        assert_eq!((house.by_hand, house.generated), (8, 42));
        house.markdown("b.md", "```text\nout\n```\n<!-- not run: x -->\n```text\nfile\n```\n");
        assert_eq!((house.by_hand, house.output), (8 + 37, 16));
    }
}
