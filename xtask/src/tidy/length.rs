//! Reports long files. One idea may need one; two ideas in a file do not. Tests do not count.

use crate::finding::Finding;
use crate::repo::TextFile;

/// Code lines from which a file is reported.
const LONG: usize = 400;

/// Checks every Rust file except tests.
pub(super) fn check(files: &[TextFile]) -> Vec<Finding> {
    let sources = files.iter().filter(|file| is_counted(&file.path));
    let long = sources.filter_map(|file| {
        let lines = code_lines(&file.text);
        let message = format!("{lines} code lines; is it one idea?");
        (lines >= LONG).then(|| Finding { path: file.path.clone(), line: None, message })
    });
    long.collect()
}

fn is_counted(path: &str) -> bool {
    let is_rust = path.rsplit_once('.').is_some_and(|(_, ending)| ending == "rs");
    is_rust && !path.split('/').any(|part| part == "tests" || part == "tests.rs")
}

/// Counts the lines before the test module that are neither blank nor comment.
fn code_lines(text: &str) -> usize {
    let mut lines = text.lines().map(str::trim).peekable();
    let mut count = 0;
    let mut in_comment = false;
    while let Some(line) = lines.next() {
        let opens_tests = line == "#[cfg(test)]"
            && lines.peek().is_some_and(|next| next.starts_with("mod ") && next.ends_with('{'));
        if opens_tests {
            break;
        }
        if in_comment || line.starts_with("/*") {
            in_comment = !line.contains("*/");
        } else if !line.is_empty() && !line.starts_with("//") {
            count += 1;
        }
    }
    count
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn blank_lines_comments_and_tests_do_not_count() {
        let text = "//! About.\n\n/* old\n text */\nfn a() {}\n    // why\nfn b() {}\n\
                    #[cfg(test)]\nmod tests {\n    fn c() {}\n}\n";
        assert_eq!(code_lines(text), 2);
    }

    #[test]
    fn only_the_test_module_ends_the_count() {
        let text = "#[cfg(test)]\nmod tests;\n#[cfg(test)]\nuse std::vec;\nfn a() {}\n";
        assert_eq!(code_lines(text), 5);
    }

    #[test]
    fn a_long_file_is_found_and_a_long_test_is_not() {
        let text = "fn a() {}\n".repeat(LONG);
        let file = |path: &str| TextFile { path: path.to_owned(), text: text.clone() };
        let found = check(&[file("a/src/b.rs"), file("a/tests/c.rs"), file("a/src/d/tests.rs")]);
        assert_eq!(found.len(), 1);
        assert_eq!(found[0].path, "a/src/b.rs");
    }
}
